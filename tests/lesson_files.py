"""Lessons as tests write them."""

import json
from pathlib import Path

HEADER = """\
---
jupyter:
  kernelspec:
    display_name: Python 3
    language: python
    name: python3
---

"""
FIRST = HEADER.count("\n") + 1  # the line of the file on which a lesson's text starts


def write_lesson(folder: Path, stem: str, body: str) -> Path:
    """The lesson with this text, as a .md file in `folder`."""
    path = folder / f"{stem}.md"
    path.write_text(HEADER + body, encoding="utf-8")
    return path


def write_notebook(folder: Path, stem: str, *sources: str) -> Path:
    """The lesson with these code cells, as an .ipynb file in `folder`."""
    cells = [
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
        for source in sources
    ]
    path = folder / f"{stem}.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}), encoding="utf-8")
    return path
