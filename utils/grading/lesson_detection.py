"""Which lesson a file is: read off its exercises and its cells' ids, whatever the file is called and however broken."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from utils import lessons
from utils.instructor.ipynb import cell_id

ENOUGH_CELLS = 3  # ids that a notebook shares with a lesson: one may be chance, or a cell that was copied
_CHECKED = re.compile(r"\bcheck\(\s*(\w+)")
_DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)|\b(\w+)\s*=(?!=)")
_IDS = re.compile(r'"id":\s*"([0-9a-f]{8})"')
_NUMBERED = re.compile(r"(?<!\d)(\d\d)[_ -]?([a-z]\w*)?", re.IGNORECASE)


@dataclass(frozen=True)
class KnownLesson:
    """A lesson of the course, by what its copies hold: the exercises that it checks, and its cells' ids."""

    stem: str
    exercises: frozenset[str]
    cell_ids: frozenset[str]


def known_lessons(folder: str | Path | None = None) -> list[KnownLesson]:
    """The course's lessons, from `folder`, `solutions/`, or the students' copies where there are no solutions."""
    paths = lessons.all_lessons(folder) or lessons.all_lessons(lessons.ROOT / "course")
    known: list[KnownLesson] = []
    taken: set[str] = set()  # an exercise belongs to the lesson that checks it first
    for path in paths:
        checked, cells = _lesson_signature(path, path.stat().st_mtime_ns)
        known.append(KnownLesson(path.stem, checked - taken, cells))
        taken |= checked
    return known


@functools.lru_cache(maxsize=64)
def _lesson_signature(path: Path, age: int) -> tuple[frozenset[str], frozenset[str]]:
    """What a lesson checks, and the ids of its cells; read again when it has changed."""
    lesson = lessons.read_lesson(path)
    code = "\n".join(cell.source for cell in lesson.cells if cell.kind == "code")
    return frozenset(_CHECKED.findall(code)), frozenset(cell_id(path.stem, n) for n in range(len(lesson.cells)))


def detect_lesson(text: str, known: Sequence[KnownLesson]) -> str | None:
    """The stem of the lesson that a file's text is a copy of, or None.

    The text is that of the file, JSON or markdown, whole or cut off: a notebook that cannot be opened any more is still
    somebody's lesson.
    """
    ids = Counter(set(_IDS.findall(text)))
    cells = {lesson.stem: sum(ids[id] for id in lesson.cell_ids) for lesson in known}
    best = max(cells, key=lambda stem: cells[stem], default=None)
    if best is not None and cells[best] >= ENOUGH_CELLS:
        return best
    checked, named = _mentioned_names(text)
    shares = {
        lesson.stem: (len(lesson.exercises & checked), len(lesson.exercises & named))
        for lesson in known
        if 2 * len(lesson.exercises & named) >= max(len(lesson.exercises), 1)  # notes that mention one are no copy
    }
    return max(shares, key=lambda stem: shares[stem]) if shares else None


def mentions_lesson(text: str, stem: str, known: Sequence[KnownLesson]) -> bool:
    """Whether a file's text checks or defines an exercise of this lesson."""
    return any(lesson.exercises & _mentioned_names(text)[1] for lesson in known if lesson.stem == stem)


def _mentioned_names(text: str) -> tuple[set[str], set[str]]:
    """The names that a file's text checks, and these with those that it defines."""
    text = text.replace("\\n", "\n")  # as JSON writes the end of a line
    checked = set(_CHECKED.findall(text))
    return checked, checked | {name for pair in _DEFINED.findall(text) for name in pair}


def lesson_from_name(file: str, known: Sequence[KnownLesson]) -> str | None:
    """The stem that a file's name gives, as far as names can be trusted: "02_simplified_attention (1).ipynb"."""
    for lesson in known:
        if lesson.stem.lower() in file.lower():
            return lesson.stem
    for number, word in _NUMBERED.findall(file):
        for lesson in known:
            if lesson.stem.startswith(f"{number}_") and word and lesson.stem[3:].startswith(word.lower()):
                return lesson.stem
    return None
