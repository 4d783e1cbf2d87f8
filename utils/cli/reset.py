"""A lesson, or the cell of one exercise, as the learner first got it; what stood there is kept aside."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

from utils import lessons
from utils.instructor import build, ipynb
from utils.instructor.release import INITIAL_LESSONS
from utils.lessons import ROOT, write_atomically

BACKUP_FOLDER = ROOT / "build" / "reset"
Page = dict[str, Any]


def reset(
    name: str, exercise: str | None = None, course: Path | None = None, backup_folder: Path = BACKUP_FOLDER
) -> list[str]:
    """Put a lesson's notebook, or the cell of one exercise in it, back to what the learner first got.

    Args:
        name: a lesson, by its number, stem or file.
        course: the folder of the notebook; where none is named the current one if it has the lesson, else the course's.

    Returns:
        Sentences: what was done, and where the notebook as it was lies now.

    Raises:
        ValueError: there is no such lesson or exercise, or nothing to make the lesson anew from.
        OSError: a file cannot be read or written; the notebook is then as it was.
    """
    course = course or _find_folder(name)
    stem = lessons.find_lesson(name, course).stem
    path, text = course / f"{stem}.ipynb", course / f"{stem}.md"
    first = _initial_text(stem, course)
    fresh, said = _make_notebook(first, stem), [f"{path.name} is as you first got it."]
    before = path.read_bytes() if path.is_file() else b""
    if exercise:
        fresh, said = _restore_cell(_parse_notebook(before, path), fresh, exercise), [f"`{exercise}` is to do again."]
    if before:
        aside = backup_folder / f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.ipynb"
        backup_folder.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(before)
        said.append(f"The notebook as it was is {aside}.")
    write_atomically(path, ipynb.notebook_text(fresh))
    if text.is_file():  # Jupyter reads the cells from it, and refuses one that is older than the notebook
        write_atomically(text, _to_markdown(fresh) if exercise else first)
    return [*said, "If it is open in JupyterLab, choose File ▸ Reload Notebook from Disk."]


def _find_folder(name: str) -> Path:
    """The folder that the command runs in, if the lesson's notebook is there; else the course's own."""
    try:
        here = lessons.find_lesson(name, Path.cwd())  # its text, where both are there
    except (lessons.LessonError, OSError):
        return ROOT / "course"
    return here.parent if here.with_suffix(".ipynb").is_file() else ROOT / "course"


def _initial_text(stem: str, course: Path) -> str:
    """The lesson's text as it was handed out: made from its solution, else from the copy that a release carries, else
    the text beside the notebook, where that has not changed."""
    if (ROOT / "solutions" / f"{stem}.md").is_file():
        return build.student_files(ROOT / "solutions")[f"{stem}.md"].decode()
    for text, unchanged in ((ROOT / INITIAL_LESSONS / f"{stem}.md", True), (course / f"{stem}.md", None)):
        if text.is_file() and (unchanged or not build.is_changed(text)):
            return lessons.read_text(text)
    raise ValueError(
        f"Nothing is here to make {stem} anew from. Take {stem}.ipynb from the course as you were handed it."
    )


def _make_notebook(text: str, stem: str) -> Page:
    """The notebook that the build makes of a lesson's text."""
    cells = [
        ipynb.make_cell(
            cell.kind, ipynb.cell_id(stem, cell.index), cell.metadata, cell.source.splitlines(keepends=True)
        )
        for cell in lessons.parse_lesson(text, Path(f"{stem}.md")).cells
        if cell.kind != "raw" or cell.line != 1
    ]
    return ipynb.make_notebook(cells, jupytext={"formats": "ipynb,md"})


def _to_markdown(page: Page) -> str:
    """A notebook as Jupyter pairs it."""
    import jupytext
    import nbformat

    cells = [{**cell, "source": "".join(cell["source"])} for cell in page["cells"]]
    return jupytext.writes(nbformat.from_dict({**page, "cells": cells}), fmt="md")


def _parse_notebook(content: bytes, path: Path) -> Page:
    try:
        page = json.loads(content)
        assert isinstance(page["cells"], list)
        return page
    except (ValueError, KeyError, TypeError, AssertionError):
        raise ValueError(
            f"{path.name} is missing or no notebook, so one cell cannot be put back: reset the whole lesson, without"
            " naming an exercise."
        ) from None


def _restore_cell(page: Page, fresh: Page, exercise: str) -> Page:
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
