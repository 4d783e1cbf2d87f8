"""Write a student's page: the verdicts with the notebook's messages and tables.

The page contains no scripts and no other student's data.
"""

from __future__ import annotations

from collections.abc import Sequence

from utils.grading.intake.roster import Student
from utils.grading.judge.results import ExerciseResult
from utils.grading.reports.html_parts import format_count, format_number, html_document, html_table
from utils.grading.reports.tally import NOT_GRADED, Column, lesson_title
from utils.show.html import MARK, card, escape, inline_html

# The notebook status for each state, which sets its colour and sign; "todo" for other states.
LIKE = {"passed": "passed", "failed": "failed", "stopped": "failed", "unreadable": "failed"}


def student_page(student: Student, columns: Sequence[Column], row: Sequence[ExerciseResult]) -> str:
    """Return the HTML page of one student; `row` has one result for each column."""
    stems = list(dict.fromkeys(column.lesson for column in columns))
    by_lesson = {stem: [result for column, result in zip(columns, row) if column.lesson == stem] for stem in stems}
    graded = [result for result in row if result.state not in NOT_GRADED]
    earned, most = sum(result.points for result in graded), sum(result.max_points for result in graded)
    title, sentence = f"{format_number(earned)} of {format_number(most)} points", "You have {}."
    if _is_ungraded(row):
        title, sentence = "no graded lesson", "No lesson could be graded."
    overview = html_table(
        ["Lesson", "Points", "Maximum", "Exercises"],
        [
            [
                _lesson_link(stem, by_lesson[stem]),
                "–"
                if _is_ungraded(by_lesson[stem])
                else format_number(sum(result.points for result in by_lesson[stem])),
                format_number(sum(result.max_points for result in by_lesson[stem])),
                escape(describe_states(by_lesson[stem])),
            ]
            for stem in stems
        ],
        numbers=(1, 2),
    )
    parts = [
        f"<h1>{escape(student.name)}</h1>",
        f'<p class="quiet">{escape(student.id)}</p>',
        f"<p><b>{sentence.format(title)}</b></p>",
        overview,
        *(_lesson(stem, by_lesson[stem]) for stem in stems if _is_handed_in(by_lesson[stem])),
    ]
    return html_document(f"{student.name}: {title}", "\n".join(parts))


def describe_states(results: Sequence[ExerciseResult]) -> str:
    """Return how many results are in each state, such as "5 passed, 1 failed".

    If all are absent or all are unreadable, return only that word.
    """
    states = list(dict.fromkeys(result.state for result in results))
    if len(states) == 1 and states[0] in ("absent", "unreadable"):
        return states[0]
    return ", ".join(f"{sum(r.state == state for r in results)} {state}" for state in states)


def _is_ungraded(results: Sequence[ExerciseResult]) -> bool:
    return all(result.state in NOT_GRADED for result in results)


def _is_handed_in(results: Sequence[ExerciseResult]) -> bool:
    return any(result.state != "absent" for result in results)


def _lesson_link(stem: str, results: Sequence[ExerciseResult]) -> str:
    title = escape(lesson_title(stem))
    return f'<a href="#l{stem[:2]}">{title}</a>' if _is_handed_in(results) else title


def _lesson(stem: str, results: Sequence[ExerciseResult]) -> str:
    head = f'<h2 id="l{stem[:2]}">{escape(lesson_title(stem))}</h2>'
    if _is_ungraded(results):  # All exercises of an ungraded lesson have the same reason.
        return head + _card(results[0])
    return "\n".join([head, *map(_exercise, results)])


def _exercise(result: ExerciseResult) -> str:
    points = f"{format_number(result.points)} of {format_points(result.max_points)}"
    head = f"<h3><code>{escape(result.name)}</code>: {escape(result.state)}, {points}</h3>"
    return head + (result.html or _card(result))


def _card(result: ExerciseResult) -> str:
    like = LIKE.get(result.state, "todo")
    words = result.message or _without_a_message(result)
    return card(f'<span aria-hidden="true">{MARK[like]} </span>{inline_html(words)}', like)


def format_points(points: float) -> str:
    """Return points with their noun, such as "1 point" or "2.5 points"."""
    return format_count(int(points), "point") if points == int(points) else f"{format_number(points)} points"


def _without_a_message(result: ExerciseResult) -> str:
    if result.state == "waits for another exercise":
        return f"This answer uses `{result.waits_for}`, which must pass first."
    return {
        "absent": "You did not hand in this lesson.",
        "not attempted": "You did not attempt this exercise.",
    }.get(result.state, result.state)
