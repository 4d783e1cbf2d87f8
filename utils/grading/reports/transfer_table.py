"""Write `transfer.csv`: the task of each student in the transfer exercises, and what an instructor should look at."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from utils.grading.intake.csv_tables import format_csv
from utils.grading.intake.roster import Student
from utils.grading.judge.results import ExerciseResult
from utils.grading.reports.tally import Tally
from utils.learner_data.seed import FIXED


@dataclass(frozen=True)
class TransferRow:
    """A student's result in a transfer exercise, and a note that is empty if there is nothing to look at."""

    student: Student
    lesson: str
    result: ExerciseResult
    note: str


def transfer_rows(tally: Tally) -> list[TransferRow]:
    """Return one row for each transfer exercise that a student handed in.

    The note says if pages of several students show the same task code. Learners can share a code without copying, for
    example if they work in one account.
    """
    owners: dict[tuple[str, str], list[Student]] = defaultdict(list)
    for student, lesson, result in tally.transfer:
        if result.task_code and not result.task_code.startswith(FIXED):
            owners[lesson, result.task_code].append(student)
    rows = []
    for student, lesson, result in tally.transfer:
        others = [other.id for other in owners[lesson, result.task_code] if other.id != student.id]
        shared = f"The same task code is in the page of {', '.join(others)}." if others else ""
        rows.append(TransferRow(student, lesson, result, " ".join(filter(None, (result.note, shared)))))
    return rows


def transfer_csv(tally: Tally) -> str:
    """Return `transfer.csv`: one row for each transfer exercise that a student handed in."""
    rows = []
    for row in transfer_rows(tally):
        result = row.result
        task = [row.lesson, result.name, result.task_code, result.member]
        rows.append([row.student.id, row.student.name, *task, result.state, row.note])
    return format_csv(["id", "name", "lesson", "exercise", "task code", "task", "state", "note"], rows)
