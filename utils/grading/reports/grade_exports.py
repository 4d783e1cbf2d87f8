"""Write tables of points: `grades.csv`, and exports for Canvas, Moodle and Gradescope.

Canvas's `lib/gradebook_importer.rb` requires the columns Student, ID, SIS User ID, SIS Login ID and Section, then a
column for each assignment. It reads the row "Points Possible" below the header, and ignores empty cells. Moodle's
`grade/import/csv` maps one column to the user and the others to grades. If the user cell of a row is empty, it assigns
the row to the user of the row above, so a column for users must have no empty cells. Gradescope reads a `results.json`
from an autograder.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from utils.grading.intake.csv_tables import format_csv
from utils.grading.intake.roster import Student
from utils.grading.judge.results import ExerciseResult
from utils.grading.reports.html_parts import format_number
from utils.grading.reports.student_page import describe_states
from utils.grading.reports.tally import NOT_GRADED, Column, Tally, lesson_title


def grades_csv(tally: Tally) -> str:
    """Return `grades.csv`: each student's points, followed by the state of every exercise."""
    stems = tally.points_by_lesson
    header = ["id", "name", "email", "section", f"points of {format_number(sum(stems.values()))}"]
    header += [f"{stem[:2]} points of {format_number(most)}" for stem, most in stems.items()]
    header += [f"{column.lesson[:2]} {column.exercise}" for column in tally.columns]
    rows = []
    for student, states, points in zip(tally.students, tally.states, tally.points):
        per_lesson = [_lesson_points(stem, tally.columns, states, points) for stem in stems]
        known = [student.id, student.name, student.email, student.section]
        ungraded = all(state in NOT_GRADED for state in states)
        rows.append([*known, "" if ungraded else format_number(sum(points)), *per_lesson, *states])
    return format_csv(header, rows)


def _lesson_points(stem: str, columns: Sequence[Column], states: Sequence[str], points: Sequence[float]) -> str:
    """Return the points in a lesson, or its state if the lesson could not be graded."""
    graded = [(state, earned) for column, state, earned in zip(columns, states, points) if column.lesson == stem]
    if all(state in NOT_GRADED for state, _ in graded):
        return graded[0][0]
    return format_number(sum(earned for _, earned in graded))


def incidents_csv(tally: Tally) -> str:
    """Return `incidents.csv`: forbidden actions of submissions, and exceeded limits."""
    rows = (
        [student.id, student.name, stem, incident.exercise, incident.kind, incident.detail]
        for student, stem, incident in tally.incidents
    )
    return format_csv(["id", "name", "lesson", "exercise", "kind", "what happened"], rows)


def canvas_csv(tally: Tally) -> str:
    """Return the table for Canvas (Grades → Import). Ungraded lessons are empty, so Canvas does not change them."""
    stems = tally.points_by_lesson
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *map(lesson_title, stems)]
    rows: list[list[str]] = [["    Points Possible", "", "", "", "", *map(format_number, stems.values())]]
    for student, points in _lesson_points_by_student(tally):
        known = [student.name, student.canvas, student.sis or student.id, student.login, student.section]
        rows.append([*known, *points])
    return format_csv(header, rows)


def moodle_csv(tally: Tally) -> str:
    """Return the table for Moodle (Grades → Import → CSV file, mapped from "ID number"). Ungraded lessons are empty."""
    header = ["ID number", "Full name"]
    mail = all(student.email for student in tally.students)
    rows = []
    for student, points in _lesson_points_by_student(tally):
        rows.append([student.id, student.name, *([student.email] if mail else []), *points])
    return format_csv([*header, *(["Email address"] if mail else []), *map(lesson_title, tally.points_by_lesson)], rows)


def _lesson_points_by_student(tally: Tally) -> list[tuple[Student, list[str]]]:
    """Return each student with the points of every lesson, "" for a lesson that could not be graded."""
    rows = []
    for student, states, points in zip(tally.students, tally.states, tally.points):
        cells = [_lesson_points(stem, tally.columns, states, points) for stem in tally.points_by_lesson]
        rows.append((student, ["" if cell in NOT_GRADED else cell for cell in cells]))
    return rows


def gradescope_json(stem: str, results: Sequence[ExerciseResult]) -> str:
    """Return one student's results in a lesson, in the format of Gradescope's `results.json`."""
    tests = [
        {
            "name": result.name,
            "score": result.points,
            "max_score": result.max_points,
            "status": "passed" if result.state == "passed" else "failed",
            "output": f"{result.state}. {result.message}".strip(),
            "output_format": "text",
            "visibility": "visible",
        }
        for result in results
    ]
    whole = {
        "score": sum(r.points for r in results),
        "output": f"{lesson_title(stem)}: {describe_states(results)}",
        "tests": tests,
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"
