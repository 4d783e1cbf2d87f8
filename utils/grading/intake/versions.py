"""Choose which version of a lesson counts if a student handed in several."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from utils import lessons
from utils.grading.intake.roster import Student

# The clock of zip files begins in 1980. If a program does not know the time of a file, it stores the beginning of 1980.
NO_TIME_BEFORE = 315_705_600  # 1980-01-03, because of time zones


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
            _known_time(self.mtime),
            self.upload_order,
            self.suffix == ".ipynb",
            self.file_digest,
        )


def group_versions(versions: Iterable[SubmissionVersion]) -> dict[tuple[str, str], list[SubmissionVersion]]:
    """Group the distinct versions by student folder and lesson, and sort each group by descending rank.

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


def explain_choice(current: SubmissionVersion, other: SubmissionVersion, kept: str) -> tuple[bool, str]:
    """Return whether it is clear that `current` counts and `other` does not, and an explanation.

    Args:
        kept: the path under which `other` is kept.
    """
    if other.code_digest is None:
        return True, f"This version cannot be read, and another version counts. This one is kept as {kept}."
    if is_certainly_newer(current.mtime, other.mtime):
        times = format_time(current.mtime), format_time(other.mtime)
        return True, "The version of {} counts. This one, of {}, is kept as {}.".format(*times, kept)
    if current.upload_order[0] > other.upload_order[0] > 0:
        return True, f"The version with the later upload number in its file name counts. This one is kept as {kept}."
    counts = f"{other.student.folder}/{other.stem}{current.suffix}"
    return False, (
        f"The times of the files do not show which version is newer. {counts} counts, and this one is kept"
        f" as {kept}. To grade this one instead, overwrite {counts} with it."
    )


def is_certainly_newer(mtime: float, other: float) -> bool:
    """Return whether both times are known, and `mtime` is later than `other`."""
    return 0 < _known_time(other) < _known_time(mtime)


def format_time(mtime: float) -> str:
    """Return a time such as "2026-03-01 12:00:00", in the time zone of this machine."""
    return datetime.fromtimestamp(mtime).isoformat(" ", "seconds")


def _known_time(mtime: float) -> int:
    """Return a time in whole seconds; 0 if the time is unknown."""
    return round(mtime) if mtime >= NO_TIME_BEFORE else 0


def code_digest(content: bytes, name: str) -> str | None:
    """Return a hash of a lesson's code, or None if the content cannot be read as a lesson."""
    try:
        lesson = lessons.parse_lesson(content.decode("utf-8-sig").replace("\r\n", "\n"), name)
        code = "\0".join(cell.source.strip() for cell in lesson.cells if cell.kind == "code")
    except (ValueError, RecursionError):  # not JSON, not a notebook, not UTF-8, or nested too deeply
        return None
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()
