"""The versions of a lesson that one student handed in, and which of them counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from utils import lessons
from utils.grading.roster import Student


@dataclass(frozen=True)
class SubmissionVersion:
    """A file that is some student's version of a lesson; `content` lies among the files being collected."""

    student: Student
    stem: str
    suffix: str
    content_path: Path
    location: str
    mtime: float
    upload_order: tuple[int, int] = (0, 0)  # Canvas's of the upload, a browser's of the copy
    file_digest: str = ""  # of the whole file
    code_digest: str | None = None  # of its code alone; None where it is no notebook that can be read

    @property
    def rank(self) -> tuple:
        """The one that ranks highest counts: readable before broken, then new before old, then .ipynb before .md."""
        return (
            self.code_digest is not None,
            round(self.mtime),
            self.upload_order,
            self.suffix == ".ipynb",
            self.file_digest,
        )


def group_versions(versions: Iterable[SubmissionVersion]) -> dict[tuple[str, str], list[SubmissionVersion]]:
    """For each student and lesson the versions that differ, best first. Two of the same code are one, the better."""
    groups: dict[tuple[str, str], list[SubmissionVersion]] = {}
    for version in sorted(versions, key=lambda version: version.rank, reverse=True):
        group = groups.setdefault((version.student.folder, version.stem), [])
        if all(
            (version.code_digest or version.file_digest) != (other.code_digest or other.file_digest) for other in group
        ):
            group.append(version)
    return groups


def code_digest(content: bytes, name: str) -> str | None:
    """A hash of a lesson's code; None where it cannot be read as one."""
    try:
        lesson = lessons.parse_lesson(content.decode("utf-8-sig").replace("\r\n", "\n"), name)
        code = "\0".join(cell.source.strip() for cell in lesson.cells if cell.kind == "code")
    except (ValueError, RecursionError):  # no JSON, no notebook, not UTF-8; JSON that is nested too deeply
        return None
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()
