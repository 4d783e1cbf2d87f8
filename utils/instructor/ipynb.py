"""Notebooks as JSON, as the build, the solved run and the export for nbgrader write them; nbformat is not needed."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def cell_id(stem: str, index: int) -> str:
    """A cell's id, from its lesson and its place, so that building twice changes nothing."""
    return hashlib.sha256(f"{stem}:{index}".encode()).hexdigest()[:8]


def make_cell(kind: str, identity: str, metadata: dict[str, Any], source: str | list[str]) -> dict[str, Any]:
    """A cell that has not run."""
    made = {"cell_type": kind, "id": identity, "metadata": metadata, "source": source}
    return made | {"execution_count": None, "outputs": []} if kind == "code" else made


def make_notebook(cells: list[dict[str, Any]], **metadata: Any) -> dict[str, Any]:
    """A notebook of these cells, for the kernel that every lesson has; by ipykernel's name for it, or Jupyter would
    write that name, and take the page for changed, as soon as it opens it."""
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel, **metadata}, "nbformat": 4, "nbformat_minor": 5}


def notebook_text(notebook: dict[str, Any]) -> str:
    """What its file holds."""
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
