"""Write all reports on a folder of results into one folder, without running any answer."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from utils.grading.intake.collect import OLDER
from utils.grading.intake.folders import replace_folder, write_text
from utils.grading.intake.roster import read_roster
from utils.grading.intake.versions import format_time, is_certainly_newer
from utils.grading.judge.results import ungraded_result
from utils.grading.reports import grade_exports
from utils.grading.reports.class_page import class_page
from utils.grading.reports.redact import redact_name
from utils.grading.reports.student_page import student_page
from utils.grading.reports.tally import (
    Mistake,
    ReportError,
    Tally,
    complete_results,
    read_columns,
    read_student_results,
    read_tries,
    unknown_students,
)
from utils.grading.reports.transfer_table import transfer_csv

SIGN = "grades.csv"
TABLES = {
    SIGN: grade_exports.grades_csv,
    "incidents.csv": grade_exports.incidents_csv,
    "transfer.csv": transfer_csv,
    "canvas.csv": grade_exports.canvas_csv,
    "moodle.csv": grade_exports.moodle_csv,
}


@dataclass
class ReportSummary:
    """The outcome of `write_reports`: the folder, the counts, and result folders of students not on the roster."""

    folder: Path
    tally: Tally
    unknown_students: list[str] = field(default_factory=list)


def write_reports(
    results: str | Path,
    handed_in: str | Path | None = None,
    out: str | Path = "report",
    names: bool = False,
) -> ReportSummary:
    """Write all reports on the results into the folder `out`, and replace older reports there.

    Args:
        handed_in: the folder that `coginst collect` wrote, with the roster; by default `handed-in` next to the results.
        names: whether the class page names students.

    Raises:
        ReportError: there are no results, or no roster.
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
            versions = describe_versions(handed_in / student.folder)
            found = read_student_results(results, handed_in, student, tally.columns)
            try:
                page = student_page(student, complete_results(tally.columns, student, found), versions)
            except Exception as error:  # One student's result must not prevent the reports on other students.
                why = f"its page cannot be written ({type(error).__name__}: {error})"
                absent = complete_results(tally.columns, student, {})
                found = {lesson.lesson: ungraded_result(lesson, why) for lesson in absent if lesson.lesson in found}
                page = student_page(student, complete_results(tally.columns, student, found), versions)
            write_text(folder / "students" / f"{student.folder}.html", page)
            lessons = tally.add_student(student, found, read_tries(handed_in, student))
            for lesson in lessons:
                if lesson.is_handed_in:
                    path = folder / "gradescope" / lesson.lesson / f"{student.folder}.json"
                    write_text(path, grade_exports.gradescope_json(lesson))
        for name, format_table in TABLES.items():
            write_text(folder / name, format_table(tally))
        clusters = _write_clusters(folder, out, tally)
        write_text(folder / "class.html", class_page(tally, clusters, names))
    return ReportSummary(out, tally, unknown_students(results, students))


def describe_versions(folder: Path) -> dict[str, str]:
    """Return a text about the graded version for each lesson that a student handed in more than once.

    Args:
        folder: the student's folder, which `coginst collect` wrote.
    """
    older: dict[str, list[float]] = defaultdict(list)
    for path in folder.glob(f"{OLDER}/[0-9][0-9]_*"):
        older[path.name.split(".")[0]].append(path.stat().st_mtime)
    sentences = {}
    for stem, mtimes in older.items():
        graded = [path.stat().st_mtime for path in folder.glob(f"{stem}.*")]
        is_newest = graded and is_certainly_newer(graded[0], max(mtimes))
        which = f"The version of {format_time(graded[0])} was graded." if is_newest else "One of them was graded."
        sentences[stem] = (
            f"You handed in {len(mtimes) + 1} versions of this lesson. {which} If it is the wrong version, tell your"
            " instructor."
        )
    return sentences


def _write_clusters(folder: Path, out: Path, tally: Tally) -> list[tuple[Mistake, str]]:
    """Write an example answer for each cluster of failures that match no misconception.

    Returns:
        Each cluster with the final path of its example, or "" if it has no example.
    """
    clusters: list[tuple[Mistake, str]] = []
    numbers = itertools.count(1)
    for mistake in tally.failure_clusters():
        path = ""
        if mistake.example:
            name = f"clusters/{next(numbers):03d}-{mistake.exercise}.py"
            write_text(folder / name, redact_name(mistake.example, mistake.author) + "\n")
            path = (out / name).as_posix()
        clusters.append((mistake, path))
    return clusters
