"""A lesson, or the cell of one exercise, as the learner first got it; what stood there is kept aside."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

from utils import lessons
from utils.lessons import ROOT, write_atomically

KEPT = ROOT / "build" / "reset"
Page = dict[str, Any]


def reset(name: str, exercise: str | None = None, course: Path = ROOT / "course", kept: Path = KEPT) -> list[str]:
    """Put a lesson's notebook, or the cell of one exercise in it, back to what the learner first got.

    Returns:
        Sentences: what was done, and where the notebook as it was lies now.

    Raises:
        ValueError: there is no such lesson or exercise, or nothing to make the lesson anew from.
        OSError: a file cannot be read or written; the notebook is then as it was.
    """
    stem = lessons.find(name, course).stem
    path, fresh = course / f"{stem}.ipynb", _fresh(stem, course)
    said = [f"{path.name} is as you first got it."]
    before = path.read_bytes() if path.is_file() else b""
    if exercise:
        fresh, said = _with_one_cell(_read(before, path), fresh, exercise), [f"`{exercise}` is to do again."]
    if before:
        aside = kept / f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.ipynb"
        kept.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(before)
        said.append(f"The notebook as it was is {aside}.")
    from utils.instructor import ipynb

    write_atomically(path, ipynb.text(fresh))
    return [*said, "If it is open in JupyterLab, choose File ▸ Reload Notebook from Disk."]


def _fresh(stem: str, course: Path) -> Page:
    """The lesson's notebook as the build makes it: from its solution, else from the text beside it."""
    from utils.instructor import build, ipynb

    if (ROOT / "solutions" / f"{stem}.md").is_file():
        return json.loads(build.student_files(ROOT / "solutions")[f"{stem}.ipynb"])
    text = course / f"{stem}.md"
    if not text.is_file() or build.changed(text):
        raise ValueError(
            f"{text.name}, from which the lesson could be made anew, is missing or was changed. Take {stem}.ipynb from"
            " the course as you were handed it."
        )
    lesson = lessons.read(text)
    cells = [
        ipynb.cell(cell.kind, ipynb.cell_id(stem, n), cell.metadata, cell.source.splitlines(keepends=True))
        for n, cell in enumerate(lesson.cells)
    ]
    return ipynb.notebook(cells, jupytext={"formats": "ipynb,md"})


def _read(content: bytes, path: Path) -> Page:
    try:
        page = json.loads(content)
        assert isinstance(page["cells"], list)
        return page
    except (ValueError, KeyError, TypeError, AssertionError):
        raise ValueError(
            f"{path.name} is missing or no notebook, so one cell cannot be put back: reset the whole lesson, without"
            " naming an exercise."
        ) from None


def _with_one_cell(page: Page, fresh: Page, exercise: str) -> Page:
    """The page with the exercise's cell as it first was: in its place or, where it is gone, after what preceded it."""
    first = fresh["cells"]
    asks = re.compile(rf"(?m)^check\({re.escape(exercise)}\b")
    places = [n for n, cell in enumerate(first) if cell["cell_type"] == "code" and asks.search("".join(cell["source"]))]
    if not places:
        names = [m[1] for cell in first for m in re.finditer(r"(?m)^check\((\w+)", "".join(cell["source"]))]
        raise ValueError(f"This lesson has no exercise {exercise!r}. It has: {', '.join(dict.fromkeys(names))}.")
    ids = {cell.get("id"): n for n, cell in enumerate(page["cells"])}
    cells, place = list(page["cells"]), places[0]
    if first[place]["id"] in ids:
        cells[ids[first[place]["id"]]] = first[place]
    else:
        above = [ids[cell["id"]] for cell in first[:place] if cell["id"] in ids]
        cells.insert(max(above, default=-1) + 1, first[place])
    return {**page, "cells": cells}
