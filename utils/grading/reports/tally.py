"""What a class did, counted: read once, student by student, so that only the counts stay in memory."""

from __future__ import annotations

import functools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import cast

from utils import lessons
from utils.grading.results import ExerciseResult, Incident, Kind, LessonResult, read_result
from utils.grading.roster import Student

WRONG = ("failed", "stopped")  # states in which an answer was given and did not pass
NOT_GRADED = ("absent", "unreadable")  # where all is so there are no points, not 0: what that is worth is for people
MAX_TRIES = 10_000  # what a student's own file may claim


class ReportError(ValueError):
    """There is nothing to report on; the message says what to run first."""


@dataclass(frozen=True)
class Column:
    """An exercise of the course: its lesson's stem, its name, and what can be earned."""

    lesson: str
    exercise: str
    max_points: float


@dataclass
class Mistake:
    """One way in which an exercise was answered wrongly, and who did so.

    Attributes:
        id: the misconception's, or "" where it has no name.
        reason: as in a report, "misconception" or "raised".
        message: what its authors read, the first of them.
        example: an answer that makes it, the shortest, and whose it is.
        fingerprint: of the wrong results, where it has no name.
    """

    exercise: str
    lesson: str
    id: str
    reason: str
    message: str
    fingerprint: str = ""
    students: list[Student] = field(default_factory=list)
    example: str = ""
    author: Student | None = None

    def add_student(self, student: Student, answer: str) -> None:
        """One more who made it."""
        self.students.append(student)
        answer = answer.strip("\n")
        if answer and (not self.example or (len(answer), answer) < (len(self.example), self.example)):
            self.example, self.author = answer, student

    @property
    def name(self) -> str:
        """The id in words, or why it failed."""
        return self.id.replace("-", " ") if self.id else REASONS.get(self.reason, self.reason)


# What a failure without a name is called: the word of its report in a learner's language.
REASONS = {
    "raised": "an error",
    "structure": "another kind of result",
    "shape": "a wrong shape",
    "dtype": "another type of numbers",
    "device": "another device",
    "property": "a broken property",
    "difference": "other numbers",
    "stopped": "stopped",
}


@dataclass
class MistakeFamily:
    """A mistake that was made in several lessons: one id and alike words, an entry for each exercise."""

    id: str
    mistakes: list[Mistake]

    @property
    def students(self) -> list[Student]:
        """Everybody who made it anywhere, each once."""
        return list(dict.fromkeys(student for mistake in self.mistakes for student in mistake.students))


@dataclass
class Tally:
    """The counts of a class: rows are students in the roster's order, columns exercises in the course's."""

    students: list[Student]
    columns: list[Column]
    states: list[list[str]] = field(default_factory=list)
    points: list[list[float]] = field(default_factory=list)
    mistakes: dict[tuple[str, str], Mistake] = field(default_factory=dict)
    incidents: list[tuple[Student, str, Incident]] = field(default_factory=list)
    tries: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    @property
    def points_by_lesson(self) -> dict[str, float]:
        """Each lesson's stem with what can be earned in it."""
        found: dict[str, float] = {}
        for column in self.columns:
            found[column.lesson] = found.get(column.lesson, 0.0) + column.max_points
        return found

    def add_student(
        self, student: Student, results: dict[str, LessonResult], tries: dict[str, int]
    ) -> list[ExerciseResult]:
        """Count one student; gives a result for every column, "absent" where the lesson was not handed in."""
        row = [self._find_result(column, results) for column in self.columns]
        self.students.append(student)
        self.states.append([result.state for result in row])
        self.points.append([result.points for result in row])
        for column, result in zip(self.columns, row):
            if result.state in WRONG:
                self._get_mistake(column, result).add_student(student, result.answer)
            if result.state == "passed" and tries.get(result.name):
                self.tries[result.name].append(tries[result.name])
        for stem, result in results.items():
            self.incidents += [(student, stem, incident) for incident in merge_incidents(result.incidents)]
        return row

    def _find_result(self, column: Column, results: dict[str, LessonResult]) -> ExerciseResult:
        lesson = results.get(column.lesson)
        found = next((e for e in lesson.exercises if e.name == column.exercise), None) if lesson else None
        return found or ExerciseResult(column.exercise, "absent", 0.0, column.max_points)

    def _get_mistake(self, column: Column, result: ExerciseResult) -> Mistake:
        kind = result.misconception or result.fingerprint or f"{result.reason}: {result.message}"
        key = (column.exercise, kind)
        if key not in self.mistakes:
            named = result.misconception or ""
            fingerprint = "" if named else result.fingerprint
            reason = result.reason or result.state
            self.mistakes[key] = Mistake(column.exercise, column.lesson, named, reason, result.message, fingerprint)
        return self.mistakes[key]

    # --- what is asked of it ----------------------------------------------------------------------------

    def count_students(self, column: int, *states: str) -> int:
        """How many students are in one of these states in an exercise."""
        return sum(row[column] in states for row in self.states)

    def mistakes_in(self, exercise: str) -> list[Mistake]:
        """The mistakes in an exercise, the commonest first."""
        return _commonest_first(m for m in self.mistakes.values() if m.exercise == exercise)

    def commonest_mistakes(self) -> list[Mistake]:
        """All mistakes that have a name, the commonest first."""
        return _commonest_first(m for m in self.mistakes.values() if m.id)

    def mistake_families(self) -> list[MistakeFamily]:
        """The mistakes that were made in several lessons, those of most students first."""
        by_id: dict[str, list[Mistake]] = defaultdict(list)
        for mistake in self.mistakes.values():
            if mistake.id:
                by_id[mistake.id].append(mistake)
        order = {column.exercise: n for n, column in enumerate(self.columns)}
        families = [
            MistakeFamily(id, sorted(group, key=lambda m: order[m.exercise]))
            for id, found in by_id.items()
            for group in _group_similar(found)
            if len({mistake.lesson for mistake in group}) > 1
        ]
        return sorted(families, key=lambda family: (-len(family.students), family.id))

    def failure_clusters(self) -> list[Mistake]:
        """The failures without a name, each with all who gave the same wrong results, the largest first."""
        return _commonest_first(m for m in self.mistakes.values() if not m.id and m.reason != "stopped")

    def median_tries(self) -> list[tuple[str, float, int]]:
        """Where tries are known: exercise, their median until it passed, and of how many students; the most first."""
        found = [(name, float(median(tries)), len(tries)) for name, tries in self.tries.items()]
        return sorted(found, key=lambda row: (-row[1], -row[2], row[0]))


ABOUT = {
    "network": "It reached for the network",
    "processes": "It reached for processes",
    "file": "It reached for files outside its folder",
    "tampering": "It changed what the checks run on",
}  # what a note tells of, in words; a limit's own words are a sentence
MOST_DETAILS = 3


def merge_incidents(incidents: Iterable[Incident]) -> list[Incident]:
    """One incident for all of a kind in an exercise, and for all exercises where the same happened."""
    details: dict[tuple[str, str], list[str]] = defaultdict(list)
    for incident in incidents:
        details[incident.kind, incident.exercise].append(incident.detail)
    exercises: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (kind, exercise), found in details.items():
        exercises[kind, _describe_details(kind, list(dict.fromkeys(found)))].append(exercise)
    return [Incident(cast(Kind, kind), ", ".join(where), told) for (kind, told), where in exercises.items()]


def _describe_details(kind: str, details: Sequence[str]) -> str:
    if kind not in ABOUT:
        return " ".join(details)
    more = f", and {len(details) - MOST_DETAILS} more" if len(details) > MOST_DETAILS else ""
    return f"{ABOUT[kind]}: {', '.join(details[:MOST_DETAILS])}{more}"


def _group_similar(mistakes: Sequence[Mistake]) -> list[list[Mistake]]:
    """Mistakes of one id in groups that speak of the same: an id is short, and "not-scaled" is said of scores and of
    dropout. Two belong together where their messages share a quarter of their longer words."""
    groups: list[list[Mistake]] = []
    for mistake in mistakes:
        near = [group for group in groups if any(_share_words(mistake.message, other.message) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([mistake, *(other for group in near for other in group)])
    return groups


def _share_words(one: str, other: str) -> bool:
    first, second = ({word for word in re.findall("[a-z]+", text.lower()) if len(word) > 4} for text in (one, other))
    return 4 * len(first & second) >= max(1, min(len(first), len(second)))


def _commonest_first(mistakes: Iterable[Mistake]) -> list[Mistake]:
    return sorted(mistakes, key=lambda m: (-len(m.students), m.lesson, m.exercise, m.id, m.message))


# --- reading --------------------------------------------------------------------------------------------


def read_columns(results: Path) -> list[Column]:
    """The exercises of every lesson of which there is a result, in the course's order.

    Raises:
        ReportError: there is none.
        ResultError: a file is no result.
    """
    found: dict[str, LessonResult] = {}
    for path in sorted(results.glob("*/[0-9][0-9]_*.json")):
        # Each student's has the same exercises; one that could not be read may have none.
        if path.stem not in found or not found[path.stem].exercises:
            found[path.stem] = read_result(path)
    if not found:
        raise ReportError(f"{results} holds no result; `coginst grade` writes them.")
    return [Column(stem, e.name, e.max_points) for stem in sorted(found) for e in found[stem].exercises]


def read_student_results(results: Path, student: Student) -> dict[str, LessonResult]:
    """One student's results by lesson. Raises `ResultError`."""
    return {path.stem: read_result(path) for path in sorted((results / student.folder).glob("[0-9][0-9]_*.json"))}


def read_tries(handed_in: Path, student: Student) -> dict[str, int]:
    """How often a student tried each exercise, as their own `.progress.json` has it; empty where it says nothing."""
    path = handed_in / student.folder / "progress.json"
    try:
        kept = json.loads(path.read_bytes())
        return {
            name: entry["tries"]
            for entries in kept.values()
            for name, entry in entries.items()
            if isinstance(entry["tries"], int) and 0 < entry["tries"] <= MAX_TRIES
        }
    except (OSError, ValueError, AttributeError, TypeError, KeyError, RecursionError):
        return {}


def unknown_students(results: Path, students: Sequence[Student]) -> list[str]:
    """The folders of results of which no student is on the roster."""
    known = {student.folder for student in students}
    return sorted({path.parent.name for path in results.glob("*/[0-9][0-9]_*.json")} - known)


@functools.cache
def lesson_title(stem: str) -> str:
    """A lesson's number and heading, or its stem where the course has no such lesson (any more)."""
    try:
        return f"{stem[:2]} {lessons.read_lesson(lessons.find_lesson(stem)).title}"
    except lessons.LessonError:
        return stem
