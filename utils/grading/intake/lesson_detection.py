"""Detect the lesson in a file by its cell ids and exercises, even if the file is renamed or damaged."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from utils import lessons
from utils.instructor.ipynb import cell_id

ENOUGH_CELLS = 3  # this many cell ids identify a lesson; one id may match by chance or because a cell was copied
_CHECKED = re.compile(r"\bcheck\(\s*(\w+)")
_DEFINED = re.compile(r"\b(?:def|class)\s+(\w+)|\b(\w+)\s*=(?!=)")
_IDS = re.compile(r'"id":\s*"([0-9a-f]{8})"')
_NUMBERED = re.compile(r"(?<!\d)(\d\d)[_ -]?([a-z]\w*)?", re.IGNORECASE)


@dataclass(frozen=True)
class KnownLesson:
    """The signature of a lesson: the exercises that the lesson checks, and the ids of its cells."""

    stem: str
    exercises: frozenset[str]
    cell_ids: frozenset[str]


def known_lessons(folder: str | Path | None = None) -> list[KnownLesson]:
    """Return the signatures of all lessons.

    Args:
        folder: where the lessons are; by default `solutions/`. If it contains none, `course/` is used.
    """
    paths = lessons.all_lessons(folder) or lessons.all_lessons(lessons.ROOT / "course")
    known: list[KnownLesson] = []
    taken: set[str] = set()  # An exercise belongs to the first lesson that checks it.
    for path in paths:
        checked, cells = _lesson_signature(path, path.stat().st_mtime_ns)
        known.append(KnownLesson(path.stem, checked - taken, cells))
        taken |= checked
    return known


@functools.lru_cache(maxsize=64)
def _lesson_signature(path: Path, age: int) -> tuple[frozenset[str], frozenset[str]]:
    """Return a lesson's exercises and cell ids; `age` is a cache key that changes when the file changes."""
    lesson = lessons.read_lesson(path)
    code = "\n".join(cell.source for cell in lesson.cells if cell.kind == "code")
    return frozenset(_CHECKED.findall(code)), frozenset(cell_id(path.stem, n) for n in range(len(lesson.cells)))


def detect_lesson(text: str, known: Sequence[KnownLesson]) -> str | None:
    """Return the stem of the lesson to which a file's text belongs, or None.

    The text may be JSON or markdown, and it may be truncated: a damaged notebook must still be assigned to its lesson.
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
        # At least half of a lesson's exercises must occur in the text, because notes may mention single exercises.
        if 2 * len(lesson.exercises & named) >= max(len(lesson.exercises), 1)
    }
    return max(shares, key=lambda stem: shares[stem]) if shares else None


def mentions_lesson(text: str, stem: str, known: Sequence[KnownLesson]) -> bool:
    """Return whether a file's text checks or defines an exercise of this lesson."""
    return any(lesson.exercises & _mentioned_names(text)[1] for lesson in known if lesson.stem == stem)


def _mentioned_names(text: str) -> tuple[set[str], set[str]]:
    """Return the set of checked exercises, and a larger set that also contains all defined names."""
    text = text.replace("\\n", "\n")  # JSON escapes line breaks.
    checked = set(_CHECKED.findall(text))
    return checked, checked | {name for pair in _DEFINED.findall(text) for name in pair}


def lesson_from_name(file: str, known: Sequence[KnownLesson]) -> str | None:
    """Return the stem of the lesson that a file name such as "02_simplified_attention (1).ipynb" suggests, or None."""
    for lesson in known:
        if lesson.stem.lower() in file.lower():
            return lesson.stem
    for number, word in _NUMBERED.findall(file):
        for lesson in known:
            if lesson.stem.startswith(f"{number}_") and word and lesson.stem[3:].startswith(word.lower()):
                return lesson.stem
    return None
