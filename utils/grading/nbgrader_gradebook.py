"""Points of `results` in the gradebook of nbgrader, for those who use its form grader.

nbgrader is not in the lock: it is imported when it is asked for. Nothing of a student's is run, by us or by nbgrader.
"""

from __future__ import annotations

import contextlib
import sqlite3
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.grading.results import ExerciseResult, LessonResult

UNDECIDED = ("waits for another exercise", "stopped", "unreadable")  # no points, and no zero: somebody decides
WIDTH = 88  # of a comment's lines, which a page of feedback does not break


class GradebookError(ValueError):
    """A gradebook cannot be written; the message says why, and what to do. What was in it stays."""


@dataclass
class GradebookSummary:
    """What was written: how many submissions, how many points somebody has to decide on, and the exercises that have no
    cell in the gradebook ("02_simplified_attention softmax")."""

    submission_count: int = 0
    undecided_count: int = 0
    without_cell: list[str] = field(default_factory=list)


def check_gradebook(path: Path, stems: Iterable[str]) -> None:
    """Check that points of these lessons can be written, before a class is graded.

    Raises:
        GradebookError: nbgrader is not installed, `path` is no gradebook, or lacks the assignment of a lesson.
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
            f"{path} has no assignment {', '.join(lacking)}. `coginst export-nbgrader` writes it to a folder,"
            f" and there `nbgrader generate_assignment {lacking[0]}` puts it into the gradebook. Or name the lessons to"
            " grade."
        )


def record_points(
    path: Path, results: Iterable[LessonResult], ids: Mapping[str, str] | None = None
) -> GradebookSummary:
    """Write the points of each result into the cells `points-NAME` of its assignment. Doing so again changes nothing.

    What a person gave in the form grader is never changed; where the points below it did change, it is marked to be
    looked at again. Nothing is written for a lesson that was not handed in.

    Args:
        path: the gradebook; `ready` has been asked.
        ids: what students are called in the gradebook, by the names of their folders; where they differ.

    Raises:
        GradebookError: as `ready`.
    """
    done = GradebookSummary()
    with _open_gradebook(path) as (book, missing):
        for result in results:
            if all(e.state == "absent" for e in result.exercises):
                continue
            student = (ids or {}).get(result.student, result.student)
            notebook = _submission_notebook(book, missing, student, result.lesson)
            grades = {grade.name: grade for grade in notebook.grades}
            comments = {comment.name: comment for comment in notebook.comments}
            for exercise in result.exercises:
                grade = grades.get(f"points-{exercise.name}")
                if grade is None:
                    _append_once(done.without_cell, f"{result.lesson} {exercise.name}")
                    continue
                _set_score(grade, exercise)
                done.undecided_count += grade.auto_score is None and grade.manual_score is None
                if (comment := comments.get(f"answer-{exercise.name}")) is not None:
                    comment.auto_comment = _comment_text(exercise)
            book.db.commit()
            done.submission_count += 1
    return done


def _submission_notebook(book: Any, missing: type[Exception], student: str, stem: str) -> Any:
    """The notebook of a student's submission; the student and the submission are made where they are not there."""
    try:
        book.find_submission(stem, student)
    except missing:
        book.update_or_create_student(student)
        with book.db.no_autoflush:  # SQLAlchemy warns where nbgrader makes it
            book.add_submission(stem, student)
    return book.find_submission_notebook(stem, stem, student)


def _set_score(grade: Any, exercise: ExerciseResult) -> None:
    """The share of the cell's points that was earned; none, and a person's decision, where that is not known."""
    earned = None if exercise.state in UNDECIDED else grade.max_score * exercise.points / exercise.max_points
    if grade.manual_score is None:
        grade.needs_manual_grade = earned is None
    elif grade.auto_score != earned:
        grade.needs_manual_grade = True
    grade.auto_score = earned


def _comment_text(exercise: ExerciseResult) -> str | None:
    """What stands beside the answer. nbgrader takes a comment for Markdown and lets HTML through; indented it is code,
    so that nothing in what a student's error said is a tag or a link."""
    if exercise.state == "passed":
        return None
    lines = [part for line in exercise.message.splitlines() for part in textwrap.wrap(line, WIDTH) or [""]]
    return f"{exercise.state}\n\n" + "\n".join(f"    {line}" for line in lines) if lines else exercise.state


def _append_once(found: list[str], name: str) -> None:
    if name not in found:
        found.append(name)


@contextlib.contextmanager
def _open_gradebook(path: Path) -> Iterator[tuple[Any, type[Exception]]]:
    """The gradebook, and the error that it raises for what is not in it. Raises `GradebookError`."""
    try:
        from nbgrader.api import Gradebook, MissingEntry  # pyright: ignore[reportMissingImports]
        from sqlalchemy.exc import SQLAlchemyError  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise GradebookError(
            f'--nbgrader needs nbgrader ({error}): pip install -e ".[nbgrader]", in an environment of its own, as'
            " docs/instructors.md says."
        ) from None
    course = _course_id(path)
    try:
        with Gradebook(f"sqlite:///{path.resolve()}", course) as book:
            yield book, MissingEntry
    except SQLAlchemyError as error:
        raise GradebookError(f"{path} cannot be written: {str(error).splitlines()[0]}") from None


def _course_id(path: Path) -> str:
    """The course that a gradebook is of; nbgrader would make a file, or a second course, for one that is not there."""
    if not path.is_file():
        raise GradebookError(
            f"There is no gradebook {path}; `nbgrader generate_assignment` makes it, in the folder of the course."
        )
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as held:
            courses: Sequence[tuple[str]] = held.execute("SELECT id FROM course").fetchall()
    except sqlite3.Error as error:
        raise GradebookError(f"{path} is no gradebook of nbgrader ({error}).") from None
    return courses[0][0] if courses else "default_course"
