"""Tables of points: our own, and those that Canvas, Moodle and Gradescope read.

Canvas's `lib/gradebook_importer.rb` wants Student, ID, SIS User ID, SIS Login ID and Section first, then a column for
each assignment, and reads "Points Possible" off the second row; an empty cell changes nothing. Moodle's
`grade/import/csv` maps a column to a user and the others to grades; a row whose user column is empty goes to the user
above it, so a column that is empty anywhere must not be there. Gradescope reads a `results.json` from an autograder.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from utils.grading.csv_tables import format_csv
from utils.grading.reports.html_parts import format_number
from utils.grading.reports.student_page import describe_states
from utils.grading.reports.tally import NOT_GRADED, Column, Tally, lesson_title
from utils.grading.results import ExerciseResult
from utils.grading.roster import Student


def grades_csv(tally: Tally) -> str:
    """`grades.csv`: for each student the points, then the state of every exercise in words."""
    stems = tally.points_by_lesson
    header = ["id", "name", "email", "section", f"points of {format_number(sum(stems.values()))}"]
    header += [f"{stem[:2]} points of {format_number(most)}" for stem, most in stems.items()]
    header += [f"{column.lesson[:2]} {column.exercise}" for column in tally.columns]
    rows = []
    for student, states, points in zip(tally.students, tally.states, tally.points):
        per_lesson = [_lesson_points(stem, tally.columns, states, points) for stem in stems]
        known = [student.id, student.name, student.email, student.section]
        none = all(state in NOT_GRADED for state in states)
        rows.append([*known, "" if none else format_number(sum(points)), *per_lesson, *states])
    return format_csv(header, rows)


def _lesson_points(stem: str, columns: Sequence[Column], states: Sequence[str], points: Sequence[float]) -> str:
    """The points in a lesson; its state where it could not be graded."""
    found = [(state, earned) for column, state, earned in zip(columns, states, points) if column.lesson == stem]
    if all(state in NOT_GRADED for state, _ in found):
        return found[0][0]
    return format_number(sum(earned for _, earned in found))


def incidents_csv(tally: Tally) -> str:
    """`incidents.csv`: what submissions did and may not do, and the limits that they met."""
    rows = (
        [student.id, student.name, stem, incident.exercise, incident.kind, incident.detail]
        for student, stem, incident in tally.incidents
    )
    return format_csv(["id", "name", "lesson", "exercise", "kind", "what happened"], rows)


def canvas_csv(tally: Tally) -> str:
    """For Canvas: Grades → Import. What was not graded is left empty, and stays there as it is."""
    stems = tally.points_by_lesson
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *map(lesson_title, stems)]
    rows: list[list[str]] = [["    Points Possible", "", "", "", "", *map(format_number, stems.values())]]
    for student, points in _lesson_points_by_student(tally):
        known = [student.name, student.canvas, student.sis or student.id, student.login, student.section]
        rows.append([*known, *points])
    return format_csv(header, rows)


def moodle_csv(tally: Tally) -> str:
    """For Moodle: Grades → Import → CSV file, mapped from "ID number". What was not graded is left empty."""
    header = ["ID number", "Full name"]
    mail = all(student.email for student in tally.students)
    rows = []
    for student, points in _lesson_points_by_student(tally):
        rows.append([student.id, student.name, *([student.email] if mail else []), *points])
    return format_csv([*header, *(["Email address"] if mail else []), *map(lesson_title, tally.points_by_lesson)], rows)


def _lesson_points_by_student(tally: Tally) -> list[tuple[Student, list[str]]]:
    """Each student with the points of every lesson, "" where it could not be graded."""
    rows = []
    for student, states, points in zip(tally.students, tally.states, tally.points):
        found = [_lesson_points(stem, tally.columns, states, points) for stem in tally.points_by_lesson]
        rows.append((student, ["" if cell in NOT_GRADED else cell for cell in found]))
    return rows


def gradescope_json(stem: str, results: Sequence[ExerciseResult]) -> str:
    """One student's lesson as the `results.json` of an autograder."""
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
