"""Write `transfer.csv`: each student's task in the transfer exercises, and notes for the instructor."""

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
    """A student's result in a transfer exercise. `note` says what an instructor should look at, and may be ""."""

    student: Student
    lesson: str
    result: ExerciseResult
    note: str

    @property
    def has_own_code(self) -> bool:
        """Whether the page shows a task code that only one learner should have."""
        return bool(self.result.task_code) and not self.result.task_code.startswith(FIXED)


def transfer_rows(tally: Tally) -> list[TransferRow]:
    """Return one row for each transfer exercise that a student handed in.

    If the pages of several students show the same task code, the note says so. Learners can have the same code without
    copying, for example if they use the same account.
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


def count_noted_cases(tally: Tally) -> int:
    """Count the cases that an instructor should look at. Answers with the same task code are one case."""
    noted = (row for row in transfer_rows(tally) if row.note)
    return len({(row.lesson, row.result.task_code if row.has_own_code else row.student) for row in noted})


def transfer_csv(tally: Tally) -> str:
    """Return `transfer.csv`: one row for each transfer exercise that a student handed in."""
    rows = []
    for row in transfer_rows(tally):
        result = row.result
        member = result.member if result.task_code else ""  # without a code, the student's task is unknown
        task = [row.lesson, result.name, result.task_code, member]
        rows.append([row.student.id, row.student.name, *task, result.state, row.note])
    return format_csv(["id", "name", "lesson", "exercise", "task code", "task", "state", "note"], rows)
