"""Write tables of points: `grades.csv`, and exports for Canvas, Moodle and Gradescope.

In Canvas, `lib/gradebook_importer.rb` requires the columns Student, ID, SIS User ID, SIS Login ID and Section. They
must be followed by a column for each assignment. Canvas reads the row "Points Possible" below the header, and ignores
empty cells. Moodle's `grade/import/csv` maps one column to the user and the others to grades. If a row's user cell is
empty, Moodle assigns the row to the user of the row above. The user column must therefore have no empty cells.
Gradescope reads a `results.json` from an autograder.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from utils.grading.intake.csv_tables import format_csv
from utils.grading.judge.results import ExerciseResult, LessonResult
from utils.grading.reports.student_page import describe_states
from utils.grading.reports.tally import Tally, lesson_title


def grades_csv(tally: Tally) -> str:
    """Return `grades.csv`: each student's points, followed by the state of every exercise."""
    lessons = tally.points_by_lesson
    header = ["id", "name", "email", "section", f"points of {sum(lessons.values()):g}"]
    header += [f"{stem[:2]} points of {most:g}" for stem, most in lessons.items()]
    header += [f"{column.lesson[:2]} {column.exercise}" for column in tally.columns]
    rows = []
    for student, states, scores in zip(tally.students, tally.states, tally.scores):
        points = [score for score in scores if not isinstance(score, str)]
        known = [student.id, student.name, student.email, student.section, f"{sum(points):g}" if points else ""]
        rows.append([*known, *(score if isinstance(score, str) else f"{score:g}" for score in scores), *states])
    return format_csv(header, rows)


def incidents_csv(tally: Tally) -> str:
    """Return `incidents.csv`: forbidden actions by students' answers, and submissions that could not be graded."""
    rows = (
        [student.id, student.name, stem, incident.exercise, incident.kind, incident.detail]
        for student, stem, incident in tally.incidents
    )
    return format_csv(["id", "name", "lesson", "exercise", "kind", "what happened"], rows)


def canvas_csv(tally: Tally) -> str:
    """Return the table for Canvas (Grades → Import).

    The cells of ungraded lessons are empty, so that an import does not change the grades of these lessons.
    """
    lessons = tally.points_by_lesson
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *map(lesson_title, lessons)]
    rows = [["    Points Possible", "", "", "", "", *(f"{most:g}" for most in lessons.values())]]
    for student, scores in zip(tally.students, tally.scores):
        known = [student.name, student.canvas, student.sis or student.id, student.login, student.section]
        rows.append(known + _points_or_empty(scores))
    return format_csv(header, rows)


def moodle_csv(tally: Tally) -> str:
    """Return the table for Moodle (Grades → Import → CSV file, mapped from "ID number" or "Email address").

    If all students have an email address, and it is the only id of some students, the table has no column "ID number".
    The cells of ungraded lessons are empty.
    """
    emails = all(student.email for student in tally.students)
    numbers = not emails or all(student.id != student.email for student in tally.students)
    columns = {"ID number": "id"} if numbers else {}
    columns |= {"Full name": "name"} | ({"Email address": "email"} if emails else {})
    rows = (
        [getattr(student, name) for name in columns.values()] + _points_or_empty(scores)
        for student, scores in zip(tally.students, tally.scores)
    )
    return format_csv([*columns, *map(lesson_title, tally.points_by_lesson)], rows)


def _points_or_empty(scores: Sequence[float | str]) -> list[str]:
    return ["" if isinstance(score, str) else f"{score:g}" for score in scores]


def _state_and_message(exercise: ExerciseResult) -> str:
    """Return the state and the message. If the message already starts with the state, return only the message."""
    is_named = exercise.message.startswith(f"{exercise.state},")
    return exercise.message if is_named else f"{exercise.state}. {exercise.message}".strip()


def gradescope_json(result: LessonResult) -> str:
    """Return one student's results in a lesson, in the format of Gradescope's `results.json`."""
    tests = [
        {
            "name": exercise.name,
            "score": exercise.points,
            "max_score": exercise.max_points,
            "status": "passed" if exercise.state == "passed" else "failed",
            "output": _state_and_message(exercise),
            "output_format": "text",
            "visibility": "visible",
        }
        for exercise in result.exercises
    ]
    output = f"{lesson_title(result.lesson)}: {describe_states(result.exercises)}"
    return json.dumps({"score": result.points, "output": output, "tests": tests}, ensure_ascii=False, indent=1) + "\n"
