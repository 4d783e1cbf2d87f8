"""The lessons as they lie on this machine: their titles and minutes, and their exercises with their state and place.

They are read off the pages that the learner has (the folder of the notebook, then `course/`, then `solutions/`) and
`utils.feedback.progress`.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from utils import lessons
from utils.feedback.exercise import all_exercises
from utils.feedback.progress import read_progress
from utils.show.html import MARK

WORD = {"passed": "passed", "failed": "tried", "todo": "to do"}


@dataclass(frozen=True)
class ExerciseProgress:
    """One exercise: its state ("passed", "failed", "todo"), how often it was tried, when last, and the id of the cell
    with its heading."""

    name: str
    state: str = "todo"
    tries: int = 0
    last_attempt: str = ""
    heading_cell_id: str = ""

    @property
    def tries_text(self) -> str:
        """ "2 tries", or nothing."""
        return f"{self.tries} {'try' if self.tries == 1 else 'tries'}" if self.tries else ""

    def __str__(self) -> str:
        return f"{MARK[self.state]} {self.name}{f' ({self.tries_text})' if self.tries else ''}"


@dataclass(frozen=True)
class LessonProgress:
    """One lesson: its stem, title and stated minutes (None where it states none), the file to open, its exercises in
    order."""

    stem: str
    title: str
    minutes: int | None = None
    path: Path | None = None
    exercises: list[ExerciseProgress] = field(default_factory=list)

    @property
    def n_passed(self) -> int:
        return sum(item.state == "passed" for item in self.exercises)

    @property
    def summary(self) -> str:
        """ "done", "3 of 7", or nothing where nothing was tried."""
        if self.exercises and self.n_passed == len(self.exercises):
            return "done"
        return f"{self.n_passed} of {len(self.exercises)}" if any(item.tries for item in self.exercises) else ""

    def link_address(self, item: ExerciseProgress | None = None) -> str | None:
        """The address of the page, or of an exercise on it, from the folder that the notebook runs in."""
        if self.path is None:
            return None
        try:
            address = Path(os.path.relpath(self.path)).as_posix()
        except (ValueError, OSError):  # another drive; a folder that is gone
            return None
        # Lab draws cells as they come into view, and finds one that it has not drawn by its id alone, not by its
        # heading. On a page that is open already it scrolls there and leaves another cell active: its `setFragment`
        # selects a cell only where it was not drawn yet, and an address can ask for no more. Notebook 7 opens the page
        # at its top.
        return quote(address) + (f"#cell-id={quote(item.heading_cell_id)}" if item and item.heading_cell_id else "")


def load_progress() -> list[LessonProgress]:
    """All lessons, in order."""
    kept = read_progress()
    names: dict[str, list[str]] = {}
    for exercise in all_exercises().values():
        names.setdefault(exercise.lesson, []).append(exercise.name)
    return [
        _load_lesson_progress(stem, paths, names.get(stem[3:], []), kept.get(stem[3:], {}))
        for stem, paths in _lesson_files().items()
    ]


def _lesson_files() -> dict[str, list[Path]]:
    """For each lesson of the course by its stem, in order, the files that may be it: first the one that the learner
    works in."""
    own = [lessons.ROOT / "course", lessons.ROOT / "solutions"]
    stems = sorted({path.stem for folder in own for path in lessons.all_lessons(folder)})
    try:
        folders = [Path.cwd(), *own]
    except OSError:  # the folder was deleted under the notebook
        folders = own
    return {
        stem: [
            path
            for folder in dict.fromkeys(folders)
            for end in ("ipynb", "md")
            if (path := folder / f"{stem}.{end}").is_file()
        ]
        for stem in stems
    }


def _load_lesson_progress(stem: str, paths: list[Path], names: list[str], kept: dict[str, dict]) -> LessonProgress:
    """One lesson; a page that cannot be read is passed over for the next, and only its facts are missing in the end."""
    title, minutes, places = stem[3:].replace("_", " "), None, {}
    for path in paths:
        try:
            lesson = lessons.read_lesson(path)
        except lessons.LessonError:
            continue
        text = "\n".join(cell.source for cell in lesson.cells if cell.kind == "markdown")
        stated = re.search(r"\*\*Time:\*\* (\d+) minutes", text)
        title, minutes, places = lesson.title, int(stated[1]) if stated else None, _heading_cells(lesson, names)
        break
    items = []
    for name in sorted(names, key=lambda name: list(places).index(name) if name in places else len(places)):
        entry = kept.get(name, {})
        items.append(
            ExerciseProgress(
                name, entry.get("status", "todo"), entry.get("tries", 0), entry.get("when", ""), places.get(name, "")
            )
        )
    return LessonProgress(stem, title, minutes, paths[0] if paths else None, items)


def _heading_cells(lesson: lessons.Lesson, names: list[str]) -> dict[str, str]:
    """For each exercise, as they follow each other on the page, the id of the cell with its heading; in markdown cells
    have none."""
    ids = {}
    if lesson.path.suffix == ".ipynb":
        ids = {n: cell.get("id", "") for n, cell in enumerate(json.loads(lessons.read_text(lesson.path))["cells"])}
    found, heading = {}, ""
    for cell in lesson.cells:
        if cell.kind == "markdown" and re.search(r"(?m)^#+ ", cell.source):
            heading = ids.get(cell.index, "")
        elif cell.kind == "code":
            for name in re.findall(r"(?m)^check\((\w+)", cell.source):
                if name in names:
                    found.setdefault(name, heading)
    return found
