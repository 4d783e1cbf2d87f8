"""Store each student's `progress.json` and `learning.json` in the folder with the student's lessons.

Grading does not read these files. `progress.json` contains the number of tries. `learning.json` is here only if the
student chose to hand it in.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from utils.grading.intake.roster import Student
from utils.learning.sharing import FILE_NAME

PROGRESS = "progress.json"
# Browsers and Canvas add numbers to copies.
_SHARED = re.compile(r"learning(?:[ (_-]+\d{1,3}\)?)?\.json", re.IGNORECASE)


def record_name(file: str) -> str | None:
    """Return the name under which a learner's record is stored; None if the file is not such a record."""
    if file.endswith(PROGRESS):
        return PROGRESS
    return FILE_NAME if _SHARED.fullmatch(file) else None


class LearnerRecords:
    """The newest file of each kind for each student.

    Args:
        content: a folder for temporary copies.
    """

    def __init__(self, content: Path) -> None:
        self._content = content
        self._ranks: dict[Path, tuple[int, int]] = {}

    def add(self, student: Student, name: str, content: bytes, mtime: float, upload_number: int = 0) -> None:
        """Keep a file unless a newer file of the same kind is already kept.

        Args:
            name: the result of `record_name`.
            upload_number: Canvas's number of the upload, which decides between files with the same time.
        """
        path, rank = self._path(student, name), (round(mtime), upload_number)
        if rank >= self._ranks.get(path, rank):
            path.write_bytes(content)
            os.utime(path, (mtime, mtime))
            self._ranks[path] = rank

    def write(self, students: Iterable[Student], tree: Path) -> int:
        """Copy the files into the students' folders. Return the number of students with a `learning.json`.

        A `progress.json` is copied only if the student has handed in a lesson.
        """
        shared_count = 0
        for student in students:
            shared, progress = self._path(student, FILE_NAME), self._path(student, PROGRESS)
            if progress.exists() and (tree / student.folder).is_dir():
                shutil.copy2(progress, tree / student.folder / PROGRESS)
            if shared.exists():
                (tree / student.folder).mkdir(exist_ok=True)
                shutil.copy2(shared, tree / student.folder / FILE_NAME)
                shared_count += 1
        return shared_count

    def _path(self, student: Student, name: str) -> Path:
        return self._content / f"{student.folder}.{name}"
