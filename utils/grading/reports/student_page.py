"""Write a student's page: the verdicts, with the messages and tables that the notebook shows.

The page contains no scripts and no other student's data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from utils.grading.intake.roster import Student
from utils.grading.judge.results import NOT_GRADED, ExerciseResult, LessonResult
from utils.grading.reports.html_parts import render_page
from utils.grading.reports.tally import lesson_title
from utils.show.html import MARK, card, inline_html

# Maps the state of a result to a notebook status. The page shows the state in the colour and with the symbol of that
# status. All other states look like "todo".
LIKE = {"passed": "passed", "failed": "failed", "stopped": "failed", "unreadable": "failed"}
MESSAGES = {  # texts for results without a message; for all other states, the name of the state is shown
    "waits for another exercise": "This answer uses `{0.waits_for}`, which must pass first.",
    "absent": "You did not hand in this lesson.",
    "not attempted": "You did not attempt this exercise.",
}


def student_page(student: Student, lessons: Sequence[LessonResult], versions: Mapping[str, str]) -> str:
    """Return the HTML page of one student, who may have handed in only some of the lessons.

    Args:
        versions: by lesson, a text about the graded version, if the student handed in several versions.
    """
    graded = [result for lesson in lessons for result in lesson.exercises if result.state not in NOT_GRADED]
    points = f"{sum(r.points for r in graded):g} of {sum(r.max_points for r in graded):g} points" if graded else ""
    return render_page(
        "student_page.html",
        f"{student.name}: {points or 'no graded lesson'}",
        student=student,
        points=points,
        lessons=lessons,
        versions=versions,
        lesson_title=lesson_title,
        describe_states=describe_states,
        message_card=_message_card,
    )


def describe_states(results: Sequence[ExerciseResult]) -> str:
    """Return how many results are in each state, such as "5 passed, 1 failed".

    If all results are absent, or all are unreadable, return only that word.
    """
    counts = Counter(result.state for result in results)
    if len(counts) == 1 and results[0].state in NOT_GRADED:
        return results[0].state
    return ", ".join(f"{count} {state}" for state, count in counts.items())


def _message_card(result: ExerciseResult) -> Markup:
    like = LIKE.get(result.state, "todo")
    message = result.message or MESSAGES.get(result.state, result.state).format(result)
    return Markup(card(f'<span aria-hidden="true">{MARK[like]} </span>{inline_html(message)}', like))
