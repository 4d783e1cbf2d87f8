"""Write all reports on a folder of results into one folder, without running any answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from utils.grading.intake.folders import replace_folder, write_text
from utils.grading.intake.roster import Student, read_roster
from utils.grading.judge.results import ExerciseResult
from utils.grading.reports import grade_exports
from utils.grading.reports.class_page import class_page, cluster_key
from utils.grading.reports.redact import redact_name
from utils.grading.reports.student_page import student_page
from utils.grading.reports.tally import (
    ReportError,
    Tally,
    read_columns,
    read_student_results,
    read_tries,
    unknown_students,
)

SIGN = "grades.csv"


@dataclass
class ReportSummary:
    """The outcome of `write_reports`: the folder, the counts, and result folders without a student on the roster."""

    folder: Path
    tally: Tally
    unknown_students: list[str] = field(default_factory=list)


def write_reports(
    results: str | Path,
    handed_in: str | Path | None = None,
    out: str | Path = "report",
    names: bool = False,
) -> ReportSummary:
    """Write all reports on the results in `results` into the folder `out`, and replace older reports there.

    Args:
        handed_in: the folder that `coginst collect` wrote, with the roster; by default `handed-in` next to the results.
        names: whether the class page names students.

    Raises:
        ReportError: there are no results, or no roster.
        ResultError: a file is not a result.
        RosterError: the roster cannot be used.
        FolderError: `out` contains other files.
    """
    results, out = Path(results), Path(out)
    handed_in = results.parent / "handed-in" if handed_in is None else Path(handed_in)
    roster = handed_in / "roster.csv"
    if not roster.is_file():
        raise ReportError(f"{roster} does not exist. Pass the folder that `coginst collect` wrote with --handed-in.")
    students = read_roster(roster)
    tally = Tally([], read_columns(results))
    with replace_folder(out, SIGN) as folder:
        for student in students:
            student_results = read_student_results(results, student)
            row = tally.add_student(student, student_results, read_tries(handed_in, student))
            page = student_page(student, tally.columns, row)
            write_text(folder / "students" / f"{student.folder}.html", page)
            _write_gradescope(folder / "gradescope", student, tally, row)
        for name, text in _iter_tables(tally):
            write_text(folder / name, text)
        files = _write_clusters(folder, out, tally)
        write_text(folder / "class.html", class_page(tally, files, names))
    return ReportSummary(out, tally, unknown_students(results, students))


def _iter_tables(tally: Tally) -> Iterator[tuple[str, str]]:
    yield SIGN, grade_exports.grades_csv(tally)
    yield "incidents.csv", grade_exports.incidents_csv(tally)
    yield "canvas.csv", grade_exports.canvas_csv(tally)
    yield "moodle.csv", grade_exports.moodle_csv(tally)


def _write_gradescope(folder: Path, student: Student, tally: Tally, row: list[ExerciseResult]) -> None:
    for stem in tally.points_by_lesson:
        results = [result for column, result in zip(tally.columns, row) if column.lesson == stem]
        if any(result.state != "absent" for result in results):
            write_text(folder / stem / f"{student.folder}.json", grade_exports.gradescope_json(stem, results))


def _write_clusters(folder: Path, out: Path, tally: Tally) -> dict[str, str]:
    """Write an example answer for each cluster of unnamed failures; return the final paths by cluster key."""
    files: dict[str, str] = {}
    for n, mistake in enumerate((m for m in tally.failure_clusters() if m.example), 1):
        name = f"clusters/{n:03d}-{mistake.exercise}.py"
        write_text(folder / name, redact_name(mistake.example, mistake.author) + "\n")
        files[cluster_key(mistake)] = f"{(out / name).as_posix()}"
    return files
