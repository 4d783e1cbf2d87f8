"""All reports of a folder of results, written as one: nothing is run, and nothing outside the folder is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from utils.grading.folders import replacing, write_text
from utils.grading.reports import gradebook
from utils.grading.reports.class_page import class_page, cluster_key
from utils.grading.reports.redact import without_name
from utils.grading.reports.student_page import student_page
from utils.grading.reports.tally import ReportError, Tally, columns_of, results_of, tries_of, unknown_students
from utils.grading.results import ExerciseResult
from utils.grading.roster import Student, read_roster

SIGN = "grades.csv"


@dataclass
class Reported:
    """What was written: the folder, and the counts in words."""

    folder: Path
    tally: Tally
    unknown: list[str] = field(default_factory=list)


def report(
    results: str | Path,
    handed_in: str | Path | None = None,
    out: str | Path = "report",
    names: bool = False,
) -> Reported:
    """Write every report on the results in the folder `results` into the folder `out`, in the place of older ones.

    Args:
        handed_in: what `coginst collect` wrote, with the roster; by default `handed-in` beside the results.
        names: whether the page of the class names students.

    Raises:
        ReportError: there are no results, or no roster.
        ResultError, RosterError: a file is not what it should be.
        FolderError: `out` holds other things.
    """
    results, out = Path(results), Path(out)
    handed_in = results.parent / "handed-in" if handed_in is None else Path(handed_in)
    roster = handed_in / "roster.csv"
    if not roster.is_file():
        raise ReportError(f"{roster} is not there: name the folder that `coginst collect` wrote, with --handed-in.")
    students = read_roster(roster)
    tally = Tally([], columns_of(results))
    with replacing(out, SIGN) as folder:
        for student in students:
            found = results_of(results, student)
            row = tally.add(student, found, tries_of(handed_in, student))
            page = student_page(student, tally.columns, row)
            write_text(folder / "students" / f"{student.folder}.html", page)
            _for_gradescope(folder / "gradescope", student, tally, row)
        for name, text in _tables(tally):
            write_text(folder / name, text)
        files = _clusters(folder, out, tally)
        write_text(folder / "class.html", class_page(tally, files, names))
    return Reported(out, tally, unknown_students(results, students))


def _tables(tally: Tally) -> Iterator[tuple[str, str]]:
    yield SIGN, gradebook.grades(tally)
    yield "incidents.csv", gradebook.incidents(tally)
    yield "canvas.csv", gradebook.canvas(tally)
    yield "moodle.csv", gradebook.moodle(tally)


def _for_gradescope(folder: Path, student: Student, tally: Tally, row: list[ExerciseResult]) -> None:
    for stem in tally.lessons:
        results = [result for column, result in zip(tally.columns, row) if column.lesson == stem]
        if any(result.state != "absent" for result in results):
            write_text(folder / stem / f"{student.folder}.json", gradebook.gradescope(stem, results))


def _clusters(folder: Path, out: Path, tally: Tally) -> dict[str, str]:
    """Write an example of each failure without a name; for each the path at which it will lie."""
    files: dict[str, str] = {}
    for n, mistake in enumerate((m for m in tally.clusters() if m.example), 1):
        name = f"clusters/{n:03d}-{mistake.exercise}.py"
        write_text(folder / name, without_name(mistake.example, mistake.author) + "\n")
        files[cluster_key(mistake)] = f"{(out / name).as_posix()}"
    return files
