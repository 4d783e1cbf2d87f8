"""Find identical files of several students, except files that are probably identical by chance."""

from __future__ import annotations

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from utils import lessons
from utils.grading.intake.versions import SubmissionVersion, group_versions
from utils.instructor.publish import iter_published_copies

MOST_IDS = 5  # maximum number of students that an explanation lists


def find_identical_files(versions: Sequence[SubmissionVersion]) -> Iterator[tuple[SubmissionVersion, str]]:
    """Yield (version, explanation) for each version that equals another student's, unless this is likely by chance."""
    current = {(group[0].student.id, group[0].file_digest) for group in group_versions(versions).values()}
    by_lesson: dict[str, list[SubmissionVersion]] = defaultdict(list)
    for version in versions:
        if version.code_digest is not None:
            by_lesson[version.stem].append(version)
    for _, readable in sorted(by_lesson.items()):
        groups: dict[str, dict[str, SubmissionVersion]] = defaultdict(dict)
        for version in readable:
            groups[version.file_digest][version.student.id] = version
        shared = [group for _, group in sorted(groups.items()) if len(group) > 1]
        cells: dict[str, set[str]] = defaultdict(set)
        for version in readable if shared else ():
            cells[version.student.id] |= changed_cells(version)
        for group in shared:
            if not _is_usual(changed_cells(next(iter(group.values()))), set(group), cells):
                older = {id for id, version in group.items() if (id, version.file_digest) not in current}
                for id, version in group.items():
                    yield version, _explain(id, sorted(group.keys() - {id}), older)


def _is_usual(changed: set[str], owners: set[str], cells: dict[str, set[str]]) -> bool:
    """Return whether it is plausible that several students wrote the same file independently.

    A file is usual if the expected number of pairs of students who have it by chance is at least 1. The estimate treats
    the changed cells as independent. The probability of a cell is its frequency among students with other files.

    Args:
        changed: the cells of the file that differ from the lesson as students receive it.
        owners: the ids of the students with this file.
        cells: the changed cells of each student.
    """
    others = cells.keys() - owners
    if not changed or len(owners) > max(3, len(others)):  # The file is untouched, or most students have it.
        return True
    counts = Counter(cell for id in others for cell in cells[id])
    chance = math.prod(counts[cell] / max(1, len(others)) for cell in changed)
    return math.comb(len(cells), 2) * chance >= 1


def _explain(id: str, others: list[str], older: set[str]) -> str:
    """Explain that a student's file equals those of `others`.

    `older` contains the ids of the students whose file is an older version.
    """
    more = f" and {len(others) - MOST_IDS} more" if len(others) > MOST_IDS else ""
    ids = ", ".join(f"{other} (an older version)" if other in older else other for other in others[:MOST_IDS])
    file = "An older version" if id in older else "It"
    return f"{file} is byte for byte the same as the file of {ids}{more}, and few other students wrote these answers."


def changed_cells(version: SubmissionVersion) -> set[str]:
    """Return the cells of a version that occur neither in the current release of the lesson nor in an earlier one."""
    cells = _read_cells(version.content_path.read_bytes(), f"{version.stem}{version.suffix}")
    return cells - _released_cells(version.stem, lessons.ROOT)


@functools.cache
def _released_cells(stem: str, root: Path) -> set[str]:
    """Return the cells of the current and of all earlier releases of a lesson."""
    current = ((path.name, path.read_bytes()) for path in (root / "course").glob(f"{stem}.*"))
    copies = dict.fromkeys((*current, *iter_published_copies(stem, root)))
    return {cell for name, content in copies for cell in _read_cells(content, name)}


def _read_cells(content: bytes, name: str) -> set[str]:
    """Return the source of each cell."""
    lesson = lessons.parse_lesson(content.decode("utf-8-sig").replace("\r\n", "\n"), name)
    return {cell.source.strip() for cell in lesson.cells}
