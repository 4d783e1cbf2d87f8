"""Choose which version of a lesson counts if a student handed in several."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from utils import lessons
from utils.grading.intake.roster import Student


@dataclass(frozen=True)
class SubmissionVersion:
    """A student's version of a lesson; `content_path` is a temporary copy of the file."""

    student: Student
    stem: str
    suffix: str
    content_path: Path
    location: str
    mtime: float
    upload_order: tuple[int, int] = (0, 0)  # Canvas's upload number and the browser's copy number
    file_digest: str = ""  # a hash of the whole file
    code_digest: str | None = None  # a hash of the code only; None if the file cannot be read as a lesson

    @property
    def rank(self) -> tuple:
        """The sort key; the version with the highest rank is used.

        A readable version ranks above a damaged version, a newer version above an older version, and .ipynb above .md.
        """
        return (
            self.code_digest is not None,
            round(self.mtime),
            self.upload_order,
            self.suffix == ".ipynb",
            self.file_digest,
        )


def group_versions(versions: Iterable[SubmissionVersion]) -> dict[tuple[str, str], list[SubmissionVersion]]:
    """Return the distinct versions of each lesson in each student's folder, highest rank first.

    Of several versions with the same code, only the one with the highest rank is kept.
    """
    groups: dict[tuple[str, str], list[SubmissionVersion]] = {}
    for version in sorted(versions, key=lambda version: version.rank, reverse=True):
        group = groups.setdefault((version.student.folder, version.stem), [])
        if all(
            (version.code_digest or version.file_digest) != (other.code_digest or other.file_digest) for other in group
        ):
            group.append(version)
    return groups


def code_digest(content: bytes, name: str) -> str | None:
    """Return a hash of a lesson's code, or None if the content cannot be read as a lesson."""
    try:
        lesson = lessons.parse_lesson(content.decode("utf-8-sig").replace("\r\n", "\n"), name)
        code = "\0".join(cell.source.strip() for cell in lesson.cells if cell.kind == "code")
    except (ValueError, RecursionError):  # not JSON, not a notebook, not UTF-8, or nested too deeply
        return None
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()
