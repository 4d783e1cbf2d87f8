"""Count the results of a class, one student at a time, so that only the counts stay in memory."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import cast

from utils import lessons
from utils.grading.intake.roster import Student
from utils.grading.judge.results import (
    ExerciseResult,
    Incident,
    Kind,
    LessonResult,
    ResultError,
    read_result,
    ungraded_result,
)
from utils.grading.judge.submissions import page_hash, read_page
from utils.instructor.misconception import parse_answer

WRONG = ("failed", "stopped")  # states of an answer that exists but does not pass
MAX_TRIES = 10_000  # Larger numbers in a student's own progress file are ignored.


class ReportError(ValueError):
    """The results or the roster are missing; the message says what to run first."""


@dataclass(frozen=True)
class Column:
    """An exercise of the course: its lesson's stem, its name, and the points that can be earned."""

    lesson: str
    exercise: str
    max_points: float


@dataclass
class Mistake:
    """A mistake in an exercise, and the students who made it.

    Attributes:
        id: the id of the misconception; "" for a failure without a name.
        reason: the reason in the report, such as "misconception" or "raised".
        message: the message to the first of these students.
        fingerprint: the fingerprint of the wrong results, for a failure without a name.
        example: the shortest answer with this mistake.
        author: the student who wrote the example.
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
        """Add a student who made the mistake."""
        self.students.append(student)
        answer = answer.strip("\n")
        if answer and (not self.example or (len(answer), answer) < (len(self.example), self.example)):
            self.example, self.author = answer, student

    @property
    def has_valid_example(self) -> bool:
        """Whether the example is valid Python. A missing example also counts as valid."""
        try:
            parse_answer(self.example)
        except ValueError:
            return False
        return True

    @property
    def name(self) -> str:
        """The id with spaces instead of hyphens, or a description of the reason."""
        return self.id.replace("-", " ") if self.id else REASONS.get(self.reason, self.reason)


# Descriptions of failures that match no misconception, by the reason in the report.
REASONS = {
    "raised": "an error",
    "structure": "a wrong kind of result",
    "shape": "a wrong shape",
    "dtype": "a wrong dtype",
    "device": "a wrong device",
    "property": "a violated property",
    "difference": "wrong numbers",
    "stopped": "stopped",
}


@dataclass
class MistakeFamily:
    """A mistake that occurs in several lessons: one `Mistake` per exercise, with equal ids and similar messages."""

    id: str
    mistakes: list[Mistake]

    @property
    def students(self) -> list[Student]:
        """All students who made the mistake, without duplicates."""
        return list(dict.fromkeys(student for mistake in self.mistakes for student in mistake.students))


@dataclass
class Tally:
    """The counts of a class. Rows are students in the roster's order, columns are exercises in the course's order.

    Attributes:
        states: for each student, the state of every exercise.
        scores: for each student, the points in every lesson, or the lesson's state if it could not be graded.
        mistakes: by exercise and kind of mistake.
        incidents: each with its student and lesson.
        tries: by exercise, the numbers of tries of the students who passed.
        transfer: the results of transfer exercises, each with its student and lesson.
    """

    students: list[Student]
    columns: list[Column]
    states: list[list[str]] = field(default_factory=list)
    scores: list[list[float | str]] = field(default_factory=list)
    mistakes: dict[tuple[str, str], Mistake] = field(default_factory=dict)
    incidents: list[tuple[Student, str, Incident]] = field(default_factory=list)
    tries: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    transfer: list[tuple[Student, str, ExerciseResult]] = field(default_factory=list)

    @property
    def points_by_lesson(self) -> dict[str, float]:
        """The points that can be earned in each lesson, by stem."""
        points: dict[str, float] = defaultdict(float)
        for column in self.columns:
            points[column.lesson] += column.max_points
        return points

    def add_student(
        self, student: Student, results: dict[str, LessonResult], tries: dict[str, int]
    ) -> list[LessonResult]:
        """Count one student.

        Returns:
            The student's results in every lesson; a lesson that was not handed in is "absent".
        """
        complete = complete_results(self.columns, student, results)
        for column, result in zip(self.columns, (result for lesson in complete for result in lesson.exercises)):
            if result.state in WRONG:
                self._get_mistake(column, result).add_student(student, result.answer)
            if result.state == "passed" and tries.get(result.name):
                self.tries[result.name].append(tries[result.name])
        self.students.append(student)
        self.states.append([result.state for lesson in complete for result in lesson.exercises])
        self.scores.append([lesson.points if lesson.is_graded else lesson.exercises[0].state for lesson in complete])
        for stem, result in results.items():
            self.transfer += [(student, stem, each) for each in result.exercises if each.member]
            self.incidents += [(student, stem, incident) for incident in merge_incidents(result.incidents)]
        return complete

    def _get_mistake(self, column: Column, result: ExerciseResult) -> Mistake:
        kind = result.misconception or result.fingerprint or f"{result.reason}: {result.message}"
        key = (column.exercise, kind)
        if key not in self.mistakes:
            named = result.misconception or ""
            fingerprint = "" if named else result.fingerprint
            reason = result.reason or result.state
            self.mistakes[key] = Mistake(column.exercise, column.lesson, named, reason, result.message, fingerprint)
        return self.mistakes[key]

    # --- queries ----------------------------------------------------------------------------------------

    def count_students(self, column: int, *states: str) -> int:
        """Return how many students have one of these states in an exercise."""
        return sum(row[column] in states for row in self.states)

    def mistakes_in(self, exercise: str) -> list[Mistake]:
        """Return the mistakes in an exercise, the most common first."""
        return _commonest_first(m for m in self.mistakes.values() if m.exercise == exercise)

    def commonest_mistakes(self) -> list[Mistake]:
        """Return all mistakes that have a name, the most common first."""
        return _commonest_first(m for m in self.mistakes.values() if m.id)

    def mistake_families(self) -> list[MistakeFamily]:
        """Return the mistakes that occur in several lessons, the most common first."""
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
        """Return the failures that match no misconception, grouped by equal wrong results or errors.

        The largest group is first. Answers that are not valid Python are left out, because they cannot become
        misconceptions.
        """
        return _commonest_first(
            m for m in self.mistakes.values() if not m.id and m.reason != "stopped" and m.has_valid_example
        )

    def median_tries(self) -> list[tuple[str, float, int]]:
        """Return (exercise, median tries, number of students) for all exercises with known tries, most tries first.

        Students who did not pass the exercise are left out.
        """
        rows = [(name, float(median(tries)), len(tries)) for name, tries in self.tries.items()]
        return sorted(rows, key=lambda row: (-row[1], -row[2], row[0]))


# For each kind of incident, the text that introduces its entries from the audit log. Details from other sources are
# whole sentences, and need no introduction.
ATTEMPTS = {
    "network": "The answer tried to use the network",
    "processes": "The answer tried to start or stop processes",
    "file": "The answer tried to access files outside its folder",
    "tampering": "The answer interfered with the code of the checks",
}
MOST_DETAILS = 3


def merge_incidents(incidents: Iterable[Incident]) -> list[Incident]:
    """Merge all incidents of the same kind in an exercise. Then merge equal incidents of several exercises."""
    details: dict[tuple[str, str], list[str]] = defaultdict(list)
    for incident in incidents:
        details[incident.kind, incident.exercise].append(incident.detail)
    exercises: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (kind, exercise), found in details.items():
        exercises[kind, _describe_details(kind, list(dict.fromkeys(found)))].append(exercise)
    return [Incident(cast(Kind, kind), ", ".join(names), detail) for (kind, detail), names in exercises.items()]


def _describe_details(kind: str, details: Sequence[str]) -> str:
    sentences = [detail for detail in details if kind not in ATTEMPTS or detail.endswith(".")]
    if entries := [detail for detail in details if detail not in sentences]:
        more = f", and {len(entries) - MOST_DETAILS} more" if len(entries) > MOST_DETAILS else ""
        sentences.insert(0, f"{ATTEMPTS[kind]}: {', '.join(entries[:MOST_DETAILS])}{more}.")
    return " ".join(sentences)


def _group_similar(mistakes: Sequence[Mistake]) -> list[list[Mistake]]:
    """Group mistakes that have the same id and similar messages.

    The id alone is ambiguous: for example, "not-scaled" can refer to scores or to dropout.
    """
    groups: list[list[Mistake]] = []
    for mistake in mistakes:
        similar = [group for group in groups if any(share_words(mistake.message, other.message) for other in group)]
        groups = [group for group in groups if group not in similar]
        groups.append([mistake, *(other for group in similar for other in group)])
    return groups


def share_words(one: str, other: str) -> bool:
    """Return whether two messages have at least a quarter of their longer words (five letters or more) in common."""
    first, second = ({word for word in re.findall("[a-z]+", text.lower()) if len(word) > 4} for text in (one, other))
    return 4 * len(first & second) >= max(1, min(len(first), len(second)))


def _commonest_first(mistakes: Iterable[Mistake]) -> list[Mistake]:
    return sorted(mistakes, key=lambda m: (-len(m.students), m.lesson, m.exercise, m.id, m.message))


# --- reading --------------------------------------------------------------------------------------------


def read_columns(results: Path) -> list[Column]:
    """Return the exercises of every lesson that has a result, in the course's order.

    Raises:
        ReportError: there are no results.
    """
    results_by_stem: dict[str, LessonResult] = {}
    for path in sorted(results.glob("*/[0-9][0-9]_*.json")):
        # All results of a lesson have the same exercises, except that an unreadable page may have none.
        if path.stem not in results_by_stem or not results_by_stem[path.stem].exercises:
            with contextlib.suppress(ResultError):  # `read_student_results` reports this error.
                results_by_stem[path.stem] = read_result(path)
    if not results_by_stem:
        raise ReportError(f"{results} contains no results. `coginst grade` writes them.")
    return [
        Column(stem, e.name, e.max_points) for stem in sorted(results_by_stem) for e in results_by_stem[stem].exercises
    ]


def complete_results(
    columns: Sequence[Column], student: Student, results: Mapping[str, LessonResult]
) -> list[LessonResult]:
    """Return a student's results in every lesson. An exercise without a result gets the state "absent"."""
    by_name = {(stem, e.name): e for stem, lesson in results.items() for e in lesson.exercises}
    by_lesson: dict[str, list[ExerciseResult]] = defaultdict(list)
    for column in columns:
        absent = ExerciseResult(column.exercise, "absent", 0.0, column.max_points)
        by_lesson[column.lesson].append(by_name.get((column.lesson, column.exercise), absent))
    return [LessonResult(student.folder, stem, "", tuple(found)) for stem, found in by_lesson.items()]


def read_student_results(
    results: Path, handed_in: Path, student: Student, columns: Sequence[Column]
) -> dict[str, LessonResult]:
    """Read one student's results, by lesson.

    If a lesson was handed in and its result is damaged, missing or of another version, the lesson counts as ungraded.
    """
    found: dict[str, LessonResult] = {}
    for absent in complete_results(columns, student, {}):
        path = results / student.folder / f"{absent.lesson}.json"
        current = next((handed_in / student.folder).glob(f"{absent.lesson}.*"), None)
        try:
            found[absent.lesson] = read_result(path)
            if current and _is_other_version(found[absent.lesson], current):
                why = "its newest version has not been graded; `coginst grade` grades it"
                found[absent.lesson] = ungraded_result(absent, why)
        except ResultError as error:
            if path.exists():
                found[absent.lesson] = ungraded_result(absent, str(error).replace(f"{results}{os.sep}", ""))
            elif current:
                found[absent.lesson] = ungraded_result(absent, "it has no result; `coginst grade` writes one")
    return found


def _is_other_version(result: LessonResult, current: Path) -> bool:
    """Tell whether a result is about another version of the lesson than `current`, or says that there was none."""
    # Results of older versions of the course do not say which file was graded.
    is_known = bool(result.page) or not result.is_handed_in
    content = read_page(current)  # empty if it is a pipe, a folder or a link
    return is_known and bool(content) and result.page != page_hash(content)


def read_tries(handed_in: Path, student: Student) -> dict[str, int]:
    """Return the number of tries for each exercise in the student's `progress.json`. Leave out unknown numbers."""
    path = handed_in / student.folder / "progress.json"
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    tables = [table for table in kept.values() if isinstance(table, dict)] if isinstance(kept, dict) else []
    counts = {name: entry.get("tries") for table in tables for name, entry in table.items() if isinstance(entry, dict)}
    return {name: count for name, count in counts.items() if isinstance(count, int) and 0 < count <= MAX_TRIES}


def unknown_students(results: Path, students: Sequence[Student]) -> list[str]:
    """Return the result folders of students who are not on the roster."""
    known = {student.folder for student in students}
    return sorted({path.parent.name for path in results.glob("*/[0-9][0-9]_*.json")} - known)


@functools.cache
def lesson_title(stem: str) -> str:
    """Return a lesson's number and title, or its stem if the course no longer has this lesson."""
    try:
        return f"{stem[:2]} {lessons.read_lesson(lessons.find_lesson(stem)).title}"
    except lessons.LessonError:
        return stem
