"""Read the title and the duration of each lesson on this machine, and the states of its exercises.

The title and the duration come from the lesson's first readable file. The current folder is searched first, then
`course/`, then `solutions/`. States come from `utils.learner_data.progress`.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from utils import lessons
from utils.exercises.exercise import all_exercises
from utils.learner_data.progress import read_progress
from utils.lessons.updates import Update, find_outdated_cells
from utils.show.html import MARK

WORD = {"passed": "passed", "failed": "tried", "todo": "to do"}


@dataclass(frozen=True)
class ExerciseProgress:
    """The progress in one exercise.

    It has a state ("passed", "failed", "todo"), a number of tries, the time of the last try, and the id of the cell
    that contains its heading.
    """

    name: str
    state: str = "todo"
    tries: int = 0
    last_attempt: str = ""
    heading_cell_id: str = ""

    @property
    def tries_text(self) -> str:
        """The number of tries in words, or "" if there were no tries."""
        return f"{self.tries} {'try' if self.tries == 1 else 'tries'}" if self.tries else ""

    def __str__(self) -> str:
        return f"{MARK[self.state]} {self.name}{f' ({self.tries_text})' if self.tries else ''}"


@dataclass(frozen=True)
class LessonProgress:
    """The progress in one lesson.

    It has a stem, a title, a duration in minutes (None if unknown), the file to open, its exercises in order, and the
    cells that are newer in the course than in this file.
    """

    stem: str
    title: str
    minutes: int | None = None
    path: Path | None = None
    exercises: list[ExerciseProgress] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)

    @property
    def n_passed(self) -> int:
        return sum(item.state == "passed" for item in self.exercises)

    @property
    def summary(self) -> str:
        """The progress in words: "done", "3 of 7", or "" if no exercise was tried."""
        if self.exercises and self.n_passed == len(self.exercises):
            return "done"
        return f"{self.n_passed} of {len(self.exercises)}" if any(item.tries for item in self.exercises) else ""

    def link_address(self, item: ExerciseProgress | None = None) -> str | None:
        """Return the address of the lesson, or of an exercise in it, relative to the current folder."""
        if self.path is None:
            return None
        try:
            address = Path(os.path.relpath(self.path)).as_posix()
        except (ValueError, OSError):  # the lesson is not on the current folder's drive, or this folder was deleted
            return None
        # The link uses the cell's id, not its heading. JupyterLab renders a cell only when it comes into view, and
        # finds only rendered headings. In a notebook that is already open, JupyterLab scrolls to the cell but does
        # not activate it, because its `setFragment` activates only cells that are not rendered yet.
        # Notebook 7 opens the notebook at the top.
        return quote(address) + (f"#cell-id={quote(item.heading_cell_id)}" if item and item.heading_cell_id else "")


def load_progress() -> list[LessonProgress]:
    """Return the progress in all lessons, in the order of the course."""
    records = read_progress()
    names: dict[str, list[str]] = {}
    for exercise in all_exercises().values():
        names.setdefault(exercise.lesson, []).append(exercise.name)
    return [
        _load_lesson_progress(stem, paths, names.get(stem[3:], []), records.get(stem[3:], {}))
        for stem, paths in _lesson_files().items()
    ]


def _lesson_files() -> dict[str, list[Path]]:
    """Map the stem of each lesson to the lesson's files. The file that the learner works in comes first."""
    own = [lessons.ROOT / "course", lessons.ROOT / "solutions"]
    stems = sorted({path.stem for folder in own for path in lessons.all_lessons(folder)})
    try:
        folders = [Path.cwd(), *own]
    except OSError:  # the current folder was deleted
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


def _load_lesson_progress(stem: str, paths: list[Path], names: list[str], records: dict[str, dict]) -> LessonProgress:
    """Read one lesson from the first readable file.

    If no file is readable, the title comes from the stem, and the duration is unknown.
    """
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
        entry = records.get(name, {})
        items.append(
            ExerciseProgress(
                name, entry.get("status", "todo"), entry.get("tries", 0), entry.get("when", ""), places.get(name, "")
            )
        )
    updates = find_outdated_cells(paths[0]) if paths else []
    return LessonProgress(stem, title, minutes, paths[0] if paths else None, items, updates)


def _heading_cells(lesson: lessons.Lesson, names: list[str]) -> dict[str, str]:
    """Return {exercise: id of the cell that contains its heading}, in lesson order. A .md file contains no ids."""
    ids = {}
    if lesson.path.suffix == ".ipynb":
        ids = {n: cell.get("id", "") for n, cell in enumerate(json.loads(lessons.read_text(lesson.path))["cells"])}
    headings, heading = {}, ""
    for cell in lesson.cells:
        if cell.kind == "markdown" and re.search(r"(?m)^#+ ", cell.source):
            heading = ids.get(cell.index, "")
        elif cell.kind == "code":
            for name in re.findall(r"(?m)^check\((\w+)", cell.source):
                if name in names:
                    headings.setdefault(name, heading)
    return headings
