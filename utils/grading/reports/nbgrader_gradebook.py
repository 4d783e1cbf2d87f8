"""Write the points of results into nbgrader's gradebook, for instructors who use its form grader.

nbgrader is not in requirements.lock, so it is imported only when it is needed. No student code runs here.
"""

from __future__ import annotations

import contextlib
import sqlite3
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.grading.judge.results import ExerciseResult, LessonResult

UNDECIDED = ("waits for another exercise", "stopped", "unreadable")  # In these states, the instructor sets the points.
WIDTH = 88  # maximum number of characters in a line of a comment; feedback pages do not wrap lines


class GradebookError(ValueError):
    """The gradebook cannot be used; the message says why and what to do."""


@dataclass
class GradebookSummary:
    """The outcome of `record_points`.

    Attributes:
        submission_count: the number of submissions written.
        undecided_count: the number of exercises that still need a decision by the instructor.
        without_cell: the exercises without a cell in the gradebook, such as "02_simplified_attention softmax".
    """

    submission_count: int = 0
    undecided_count: int = 0
    without_cell: list[str] = field(default_factory=list)


def check_gradebook(path: Path, stems: Iterable[str]) -> None:
    """Check, before grading, that the gradebook has an assignment for each of these lessons.

    Raises:
        GradebookError: nbgrader is not installed, `path` is not a gradebook, or it lacks the assignment of a lesson.
    """
    with _open_gradebook(path) as (book, missing):
        lacking = []
        for stem in stems:
            try:
                book.find_notebook(stem, stem)
            except missing:
                lacking.append(stem)
    if lacking:
        raise GradebookError(
            f"{path} has no assignment {', '.join(lacking)}. Write it to a folder with `coginst export-nbgrader`, and"
            f" add it to the gradebook with `nbgrader generate_assignment {lacking[0]}` in that folder. Or name only"
            " lessons that the gradebook has."
        )


def record_points(
    path: Path, results: Iterable[LessonResult], ids: Mapping[str, str] | None = None
) -> GradebookSummary:
    """Write the points of each result into the cells `points-NAME` of its assignment.

    Writing the same results again changes nothing. Points that a person gave in the form grader are never changed. If
    the automatic points change for a cell that a person has graded, the cell is marked for manual grading. Lessons that
    a student did not hand in are left out.

    Args:
        path: the gradebook; call `check_gradebook` first.
        ids: the gradebook's student ids by folder name, for students whose gradebook id differs from the folder name.

    Raises:
        GradebookError: see `check_gradebook`.
    """
    summary = GradebookSummary()
    without_cell: dict[str, None] = {}
    with _open_gradebook(path) as (book, missing):
        for result in results:
            if not result.is_handed_in:
                continue
            student = (ids or {}).get(result.student, result.student)
            notebook = _submission_notebook(book, missing, student, result.lesson)
            grades = {grade.name: grade for grade in notebook.grades}
            comments = {comment.name: comment for comment in notebook.comments}
            for exercise in result.exercises:
                grade = grades.get(f"points-{exercise.name}")
                if grade is None:
                    without_cell[f"{result.lesson} {exercise.name}"] = None
                    continue
                _set_score(grade, exercise)
                summary.undecided_count += grade.auto_score is None and grade.manual_score is None
                if (comment := comments.get(f"answer-{exercise.name}")) is not None:
                    comment.auto_comment = _comment_text(exercise)
            book.db.commit()
            summary.submission_count += 1
    summary.without_cell = list(without_cell)
    return summary


def _submission_notebook(book: Any, missing: type[Exception], student: str, stem: str) -> Any:
    """Return the notebook of a student's submission; create the student and the submission if necessary."""
    try:
        book.find_submission(stem, student)
    except missing:
        book.update_or_create_student(student)
        with book.db.no_autoflush:  # With autoflush, nbgrader's code would cause a warning from SQLAlchemy.
            book.add_submission(stem, student)
    return book.find_submission_notebook(stem, stem, student)


def _set_score(grade: Any, exercise: ExerciseResult) -> None:
    """Set the points in proportion to the cell's maximum. If the state is undecided, request a manual grade instead."""
    earned = None if exercise.state in UNDECIDED else grade.max_score * exercise.points / exercise.max_points
    if grade.manual_score is None:
        grade.needs_manual_grade = earned is None
    elif grade.auto_score != earned:
        grade.needs_manual_grade = True
    grade.auto_score = earned


def _comment_text(exercise: ExerciseResult) -> str | None:
    """Return the comment on an answer, or None if the answer passed."""
    if exercise.state == "passed":
        return None
    # nbgrader renders comments as Markdown with HTML. Indented text is code, in which tags and links have no effect.
    lines = [part for line in exercise.message.splitlines() for part in textwrap.wrap(line, WIDTH) or [""]]
    return f"{exercise.state}\n\n" + "\n".join(f"    {line}" for line in lines) if lines else exercise.state


@contextlib.contextmanager
def _open_gradebook(path: Path) -> Iterator[tuple[Any, type[Exception]]]:
    """Open the gradebook. Yield the gradebook, and the exception type that it raises for missing entries.

    Raises:
        GradebookError: nbgrader is not installed, `path` is not a gradebook, or it cannot be written.
    """
    try:
        from nbgrader.api import Gradebook, MissingEntry  # pyright: ignore[reportMissingImports]
        from sqlalchemy.exc import SQLAlchemyError  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise GradebookError(
            f'--nbgrader needs nbgrader ({error}). Run pip install -e ".[nbgrader]" in a separate environment; see'
            " docs/instructors.md."
        ) from None
    course = _course_id(path)
    try:
        with Gradebook(f"sqlite:///{path.resolve()}", course) as book:
            yield book, MissingEntry
    except SQLAlchemyError as error:
        raise GradebookError(f"{path} cannot be written: {str(error).splitlines()[0]}") from None


def _course_id(path: Path) -> str:
    """Return the id of the gradebook's course.

    nbgrader itself would create a missing gradebook. For an unknown id, it would create a second course.

    Raises:
        GradebookError: the gradebook does not exist, or the file is not a gradebook of nbgrader.
    """
    if not path.is_file():
        raise GradebookError(
            f"The gradebook {path} does not exist. `nbgrader generate_assignment` creates it in the course's folder."
        )
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            courses: Sequence[tuple[str]] = database.execute("SELECT id FROM course").fetchall()
    except sqlite3.Error as error:
        raise GradebookError(f"{path} is not a gradebook of nbgrader ({error}).") from None
    return courses[0][0] if courses else "default_course"
