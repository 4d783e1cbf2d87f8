"""Write lessons for tests."""

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
FIRST = HEADER.count("\n") + 1  # the line in the file where the text of a lesson starts


def write_lesson(folder: Path, stem: str, body: str) -> Path:
    """Write a lesson with this text as a .md file into `folder`."""
    path = folder / f"{stem}.md"
    path.write_text(HEADER + body, encoding="utf-8")
    return path


def write_notebook(folder: Path, stem: str, *sources: str) -> Path:
    """Write a lesson with these code cells as an .ipynb file into `folder`."""
    cells = [
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
        for source in sources
    ]
    path = folder / f"{stem}.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}), encoding="utf-8")
    return path
