"""Read the submissions of a class from the folder that `coginst collect` wrote.

The code calls a submitted notebook a page. A page may also be a Markdown lesson.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from utils import lessons
from utils.exercises.exercise import Exercise, all_exercises
from utils.learning.sharing import FILE_NAME

LARGEST = 20 * 10**6  # maximum size of a notebook, in bytes; notebooks with pictures usually have a few megabytes
NOT_COLLECTED = "This file was not collected: "  # `collect` replaces a refused file with a text that begins like this
_YOURS = re.compile(rb"yours\(\s*\\?[\"'](\w+)")


class GradingError(ValueError):
    """A class cannot be graded as requested; the message says why and what to do."""


@dataclass(frozen=True)
class Submission:
    """One student's notebook for one lesson, with the earlier lessons that it may depend on.

    Attributes:
        student: the student's id.
        lesson: the lesson's stem, such as "05_multihead_attention".
        pages: the bytes of the notebook and of earlier notebooks, by file name, such as "05_multihead_attention.ipynb".
        key: the key of the result; a result with the same key is reused.
    """

    student: str
    lesson: str
    pages: Mapping[str, bytes]
    key: str

    @property
    def page_hash(self) -> str:
        """The `page_hash` of the lesson's own notebook, or "" if it was not handed in."""
        own = next((content for name, content in self.pages.items() if Path(name).stem == self.lesson), None)
        return "" if own is None else page_hash(own)


@functools.lru_cache(maxsize=1)
def exercises_by_lesson() -> dict[str, dict[str, Exercise]]:
    """Map the stem of each lesson to a dict of its exercises, in the order of the lesson."""
    by_lesson: dict[str, dict[str, Exercise]] = {}
    pages = {p.stem: p for folder in ("course", "solutions") for p in lessons.all_lessons(lessons.ROOT / folder)}
    for stem in sorted(pages):
        cells = [(cell.index, lessons.parse_cell(cell)) for cell in lessons.read_lesson(pages[stem]).cells]
        bound = {name: index for index, tree in cells[::-1] if tree for name in lessons.bound_names(tree)}
        found = [e for e in all_exercises().values() if e.lesson == stem[3:]]
        by_lesson[stem] = {e.name: e for e in sorted(found, key=lambda e: bound.get(e.name, 10**6))}
    return by_lesson


@functools.lru_cache(maxsize=1)
def lessons_by_exercise() -> dict[str, str]:
    """Return a dict from the name of each exercise to the stem of its lesson."""
    return {name: stem for stem, exercises in exercises_by_lesson().items() for name in exercises}


def student_folders(folder: Path) -> list[str]:
    """Return the names of the students' folders. Leave out students who handed in `learning.json` but no lesson.

    Raises:
        GradingError: the folder does not exist or contains no student's folder.
    """
    if not folder.is_dir():
        raise GradingError(f"The folder {folder} does not exist. `coginst collect` creates it from the submissions.")
    folders = (p for p in folder.iterdir() if p.is_dir() and not p.is_symlink() and p.name[0] not in "._")
    names = sorted(p.name for p in folders if {file.name for file in p.iterdir()} != {FILE_NAME})
    if not names:
        raise GradingError(
            f"{folder} contains no lesson of a student. `coginst collect` creates a folder for each student."
        )
    return names


def submitted_lessons(folder: Path) -> list[str]:
    """Return the stems of the submitted lessons that contain exercises. Raises `GradingError`."""
    there = {path.stem for student in student_folders(folder) for path in lessons.all_lessons(folder / student)}
    return [stem for stem, exercises in exercises_by_lesson().items() if exercises and stem in there]


def resolve_stems(names: Iterable[str]) -> list[str]:
    """Convert the numbers, names or stems of lessons to stems.

    Raises:
        GradingError: a lesson is unknown or has no exercises.
    """
    known = [stem for stem, exercises in exercises_by_lesson().items() if exercises]
    stems = []
    for name in names:
        stem = next((stem for stem in known if name in (stem, stem[:2], stem[3:])), None)
        if stem is None:
            raise GradingError(f"No lesson {name!r} has exercises. These lessons have exercises: {', '.join(known)}.")
        stems.append(stem)
    return stems


def required_lessons(stem: str, files: dict[str, Path]) -> list[str]:
    """Return the stems of a lesson and of the earlier lessons in `files` that it needs.

    A lesson needs the lessons whose answers it requests with `yours`, and the lessons that those lessons need.
    Only the text of the files is searched; nothing is parsed.
    """
    needed, pending = [stem], [stem]
    while pending:
        current = pending.pop()
        for name in _YOURS.findall(read_page(files[current])):
            lesson = lessons_by_exercise().get(name.decode(), "99")
            if lesson < current and lesson in files and lesson not in needed:
                needed.append(lesson)
                pending.append(lesson)
    return needed


def read_page(path: Path) -> bytes:
    """Return at most `LARGEST` + 1 bytes of a notebook.

    If the path is a link, or not a regular file, return no bytes.
    """
    try:
        with open_untrusted(path) as file:
            return file.read(LARGEST + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return b""


def page_hash(content: bytes) -> str:
    """Return a hash of a notebook's file, to recognise the version that was graded."""
    return hashlib.sha256(content).hexdigest()[:32]


def open_untrusted(path: Path) -> BinaryIO:
    """Open a file for reading. Links are not followed, and opening a pipe does not block. Raises `OSError`."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return open(os.open(path, flags), "rb")
