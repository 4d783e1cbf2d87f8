"""Create notebooks as JSON for the build, the solved notebooks and the export to nbgrader, without nbformat."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def cell_id(stem: str, index: int) -> str:
    """Return a cell's id. It depends only on the lesson and the cell's position, so every build creates the same id."""
    return hashlib.sha256(f"{stem}:{index}".encode()).hexdigest()[:8]


def make_cell(kind: str, identity: str, metadata: dict[str, Any], source: str | list[str]) -> dict[str, Any]:
    """Return a cell without outputs."""
    cell = {"cell_type": kind, "id": identity, "metadata": metadata, "source": source}
    return cell | {"execution_count": None, "outputs": []} if kind == "code" else cell


def make_notebook(cells: list[dict[str, Any]], **metadata: Any) -> dict[str, Any]:
    """Return a notebook that contains these cells, for the kernel that every lesson uses.

    The kernel's display name is the one that ipykernel uses. If it were different, Jupyter would replace it when it
    opens the notebook, and would treat the notebook as changed.
    """
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel, **metadata}, "nbformat": 4, "nbformat_minor": 5}


def notebook_text(notebook: dict[str, Any]) -> str:
    """Return the content of the notebook's file."""
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
