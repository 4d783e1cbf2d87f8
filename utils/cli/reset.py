"""Restore a lesson, or the cell of one exercise, to its original state, and keep a backup."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from utils import lessons
from utils.instructor import build, ipynb
from utils.instructor.release import INITIAL_LESSONS
from utils.learner_data.folder import learner_folder, notebook_folder
from utils.lessons import ROOT, write_atomically

Page = dict[str, Any]


def reset(
    name: str, exercise: str | None = None, course: Path | None = None, backup_folder: Path | None = None
) -> list[str]:
    """Restore the notebook of a lesson, or the cell of one exercise, to its original state, and keep copies.

    Args:
        name: the number, stem or file of the lesson.
        course: the folder of the notebook. Default: the current folder if it contains the lesson, otherwise the folder
            with the learner's lessons, such as `course/`.
        backup_folder: the folder of the backups. Default: `build/reset`, or a folder of the learner's data if the
            installation cannot be changed, as on a hub.

    Returns:
        Sentences that say what was done, and where the backup is.

    Raises:
        ValueError: there is no such lesson or exercise, or no original to restore it from.
        OSError: a file cannot be read or written. The notebook is then unchanged.
    """
    course = course or _find_folder(name)
    stem = _find_stem(name, course)
    path, text = course / f"{stem}.ipynb", course / f"{stem}.md"
    first = _initial_text(stem, course)
    fresh, messages = _make_notebook(first, stem), [f"{path.name} is in its original state again."]
    before = path.read_bytes() if path.is_file() else b""
    if exercise:
        fresh = _restore_cell(_with_newer_text(_parse_notebook(before, path), path, text), fresh, exercise)
        messages = [f"The cell of `{exercise}` is in its original state again."]
    backup = (backup_folder or _backup_folder(course)) / f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    with _explain_refused_write(course):
        kept = [_keep(file, backup.with_suffix(file.suffix)) for file in (path, text) if file.is_file()]
        if kept:
            messages.append(f"Your version is kept as {' and '.join(map(str, kept))}.")
        write_atomically(path, ipynb.notebook_text(fresh))
        if text.is_file():  # Jupyter reads the cells from this file, and rejects the file if the notebook is newer
            write_atomically(text, _to_markdown(fresh) if exercise else first)
    return [*messages, "If the notebook is open in JupyterLab, choose File ▸ Reload Notebook from Disk."]


def _find_stem(name: str, course: Path) -> str:
    """Return the stem of a lesson. The learner's files may be gone, if the course contains the original.

    Raises:
        LessonError: there is no such lesson.
    """
    for folder in (ROOT / "solutions", ROOT / INITIAL_LESSONS):
        with contextlib.suppress(lessons.LessonError):
            return lessons.find_lesson(name, folder).stem
    return lessons.find_lesson(name, course).stem


@contextlib.contextmanager
def _explain_refused_write(course: Path) -> Iterator[None]:
    """Say what to do if the block may not write a file. The command has no option for another folder."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        raise OSError(
            f"{error.filename} cannot be written: {error.strerror}. Copy {course} to a folder where you can write, and"
            " run the command in this folder."
        ) from None


def _backup_folder(course: Path) -> Path:
    return ROOT / "build" / "reset" if os.access(ROOT, os.W_OK) else learner_folder(course) / ".reset"


def _keep(file: Path, backup: Path) -> Path:
    """Copy a file that will be overwritten, and return the path of the copy."""
    backup.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(backup, file.read_bytes())
    return backup


def _find_folder(name: str) -> Path:
    """Return the current folder if it contains the learner's copy of the lesson, otherwise the learner's folder."""
    try:
        here = lessons.find_lesson(name, Path.cwd()).parent
    except (lessons.LessonError, OSError):
        return notebook_folder()
    return ROOT / "course" if here == ROOT / "solutions" else here


def _initial_text(stem: str, course: Path) -> str:
    """Return the original text of a lesson.

    Use the first source that exists: the solution, the copy in a release, or the .md file next to the notebook. The
    .md file counts only if it is unchanged.
    """
    if (ROOT / "solutions" / f"{stem}.md").is_file():
        return build.student_files(ROOT / "solutions")[f"{stem}.md"].decode()
    for text, unchanged in ((ROOT / INITIAL_LESSONS / f"{stem}.md", True), (course / f"{stem}.md", None)):
        if text.is_file() and (unchanged or not build.is_changed(text)):
            return lessons.read_text(text)
    raise ValueError(
        f"There is no original of {stem} to restore. Copy {stem}.ipynb from the course as you received it."
    )


def _make_notebook(text: str, stem: str) -> Page:
    """Build the notebook of a lesson from its text, as `coginst build` does."""
    cells = [
        ipynb.make_cell(
            cell.kind, ipynb.cell_id(stem, cell.index), cell.metadata, cell.source.splitlines(keepends=True)
        )
        for cell in lessons.parse_lesson(text, Path(f"{stem}.md")).cells
        if cell.kind != "raw" or cell.line != 1
    ]
    return ipynb.make_notebook(cells, jupytext={"formats": "ipynb,md"})


def _to_markdown(page: Page) -> str:
    """Convert a notebook to the paired markdown text."""
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
            f"{path.name} is missing or not a notebook, so a single cell cannot be restored. Reset the whole lesson:"
            " do not name an exercise."
        ) from None


def _with_newer_text(page: Page, path: Path, text: Path) -> Page:
    """Return the notebook as JupyterLab would open it: with the cells of the paired text if the text is newer."""
    if not text.is_file() or text.stat().st_mtime_ns <= path.stat().st_mtime_ns:
        return page
    import jupytext
    import nbformat
    from jupytext.combine import combine_inputs_with_outputs

    source = jupytext.reads(lessons.read_text(text), fmt="md")
    combined = combine_inputs_with_outputs(source, nbformat.reads(json.dumps(page), nbformat.NO_CONVERT), fmt="md")
    return json.loads(nbformat.writes(combined, nbformat.NO_CONVERT))


def _restore_cell(page: Page, fresh: Page, exercise: str) -> Page:
    """Restore the exercise's cell. If the cell was deleted, insert the original after the preceding cell.

    In a notebook whose cells have no ids, as in notebooks of an older format, the cell is found by its check.
    """
    first = fresh["cells"]
    asks = re.compile(rf"(?m)^check\({re.escape(exercise)}\b")
    places = [n for n, cell in enumerate(first) if cell["cell_type"] == "code" and asks.search("".join(cell["source"]))]
    if not places:
        names = [m[1] for cell in first for m in re.finditer(r"(?m)^check\((\w+)", "".join(cell["source"]))]
        raise ValueError(f"This lesson has no exercise {exercise!r}. It has: {', '.join(dict.fromkeys(names))}.")
    ids = {cell["id"]: n for n, cell in enumerate(page["cells"]) if "id" in cell}
    cells, place = list(page["cells"]), places[0]
    original = first[place] if ids else {key: value for key, value in first[place].items() if key != "id"}
    own = [n for n, cell in enumerate(cells) if cell["cell_type"] == "code" and asks.search("".join(cell["source"]))]
    if first[place]["id"] in ids:
        cells[ids[first[place]["id"]]] = original
    elif own and not ids:
        cells[own[0]] = original
    elif above := [ids[cell["id"]] for cell in first[:place] if cell["id"] in ids]:
        cells.insert(max(above) + 1, original)
    else:
        raise ValueError(
            f"The notebook does not show where the cell of `{exercise}` belongs, because all cells above it are gone."
            " Reset the whole lesson: do not name an exercise."
        )
    return {**page, "cells": cells}
