"""Define `grade`, which graded cells call: `grade(get_mask)`. An exercise gets points only if it passes its check.

nbgrader runs the notebook again, so the outputs no longer show which transfer task the student got. Therefore, an
answer gets the points if it solves any task of the family, and the cell prints the name of this task.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

from utils.exercises.exercise import UnknownExercise, family_members, find_exercise
from utils.feedback.check import CheckFailed, check
from utils.feedback.diagnose import diagnose
from utils.feedback.report import Report


def grade(*answers: Any, **values: Any) -> None:
    """Print a message if the exercise passes. Otherwise, raise an error. The arguments are the same as for `check`.

    nbgrader gives no points to a cell that raises an error or writes to stderr, so the answer's stderr is discarded.

    Raises:
        NotImplementedError: the exercise has not been attempted. A notebook shows this error as a single line.
        CheckFailed: the exercise does not pass. The error has the check's message.
    """
    with contextlib.redirect_stderr(io.StringIO()):
        report = _grade_any_task(answers[0]) if answers else None
        report = report or check(*answers, **values)
    if report.status == "todo":
        raise NotImplementedError(report.name)
    if not report:
        raise CheckFailed(str(report))
    print(f"{report.name} passes.")


def _grade_any_task(answer: Any) -> Report | None:
    """Return the report of the first task in the family that the answer solves, or None if it solves no task.

    The report contains the task's full name.
    """
    try:
        exercise = find_exercise(getattr(answer, "__name__", ""))
    except UnknownExercise:
        return None
    for member in family_members(exercise) if exercise.member else ():
        if report := diagnose(member, answer):
            report.name = member.full_name
            return report
    return None
