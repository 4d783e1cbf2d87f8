"""Write `class.html`: the mistakes of the class, without students' names unless they are requested."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from utils import show
from utils.grading.reports.html_parts import format_count, format_percent, render_page
from utils.grading.reports.learning.suppression import SMALLEST
from utils.grading.reports.redact import redact_name
from utils.grading.reports.tally import WRONG, Mistake, Tally
from utils.grading.reports.transfer_table import count_noted_cases

MOST_BARS = 15
OTHER_STATES = ("not attempted", "waits for another exercise", "stopped", "unreadable", "absent")
MEANINGS = {  # explanations of the columns in the table of exercises
    "Pass rate": "of the students whose answer passed, failed or was stopped, the share whose answer passed. If there"
    f" are fewer than {SMALLEST} such students, the numbers of students.",
    "Most common mistake": "the mistake that most students made, and their number. Empty if several mistakes are"
    " equally common, or if no two students made the same mistake.",
    "Failed": "students whose answer is wrong.",
    "Not attempted": "students who handed the lesson in, but did not change the gap, or whose notebook does not define"
    " the exercise at the top level of a cell.",
    "Waits for another exercise": "students whose answer uses an exercise that does not pass yet.",
    "Stopped": "students whose answer exceeded a limit or crashed.",
    "Unreadable": "students whose file cannot be read or graded.",
    "Absent": "students who did not hand in the lesson.",
}


@dataclass
class ExerciseCounts:
    """The results of a class in one exercise.

    Attributes:
        counts: the number of students in each state.
        mistakes: the most common first.
    """

    name: str
    lesson: str
    counts: Counter[str]
    mistakes: list[Mistake]

    @property
    def wrong(self) -> int:
        """The number of wrong answers."""
        return sum(self.counts[state] for state in WRONG)

    @property
    def tried(self) -> int:
        """The total number of right and wrong answers."""
        return self.counts["passed"] + self.wrong

    @property
    def commonest(self) -> Mistake | None:
        """The most common mistake; None if several are equally common, or if no two students made the same mistake."""
        first, second = ([len(mistake.students) for mistake in self.mistakes] + [1, 1])[:2]
        return self.mistakes[0] if first > second else None


def class_page(tally: Tally, clusters: Sequence[tuple[Mistake, str]], names: bool = False) -> str:
    """Return the HTML page of a class.

    Args:
        clusters: the clusters of failures that match no misconception, each with the path of its example file or "".
        names: whether the page names students.
    """
    counts = [Counter(states) for states in zip(*tally.states)]
    incidents: dict[str, set[str]] = defaultdict(set)
    for student, _, incident in tally.incidents:
        incidents[incident.kind].add(student.id)
    return render_page(
        "class_page.html",
        "What the class got wrong",
        "sort_tables.js",
        names=names,
        redact=(lambda text, student: text) if names else redact_name,
        smallest=SMALLEST,
        meanings=MEANINGS,
        format_rate=format_rate,
        summary=_summarise(tally),
        overview=_draw_overview(tally, names),
        common_mistakes=_draw_common_mistakes(tally),
        states=["failed"] + [state for state in OTHER_STATES if any(state in row for row in tally.states)],
        exercises=[
            ExerciseCounts(column.exercise, column.lesson, count, tally.mistakes_in(column.exercise))
            for column, count in zip(tally.columns, counts)
        ],
        families=[family for family in tally.mistake_families() if len(family.students) > 1],
        clusters=sorted(clusters, key=lambda cluster: len(cluster[0].students) == 1),
        tries=[row for row in tally.median_tries() if row[1] > 1],
        transfer_cases=count_noted_cases(tally),
        incident_counts={kind: len(students) for kind, students in incidents.items()},
    )


def format_rate(part: int, whole: int) -> str:
    """Return a share such as "75 %". If `whole` is small, return counts such as "3 of 4" instead.

    With fewer than five students, a single student would change a percentage by more than 20 points.
    """
    return format_percent(part, whole) if whole >= SMALLEST or not whole else f"{part} of {whole}"


def _summarise(tally: Tally) -> str:
    states = [state for row in tally.states for state in row if state != "absent"]
    present = sum(any(state != "absent" for state in row) for row in tally.states)
    wrong = sum(state in WRONG for state in states)
    named = sum(len(mistake.students) for mistake in tally.mistakes.values() if mistake.id)
    text = (
        f"{present} of {format_count(len(tally.students), 'student')} handed in work, from"
        f" {format_count(len(tally.points_by_lesson), 'lesson')}."
        f" {format_percent(states.count('passed'), len(states))} of their"
        f" {format_count(len(states), 'exercise')} passed."
    )
    if wrong:
        text += (
            f" {format_count(wrong, 'answer is wrong', 'answers are wrong')};"
            f" {format_percent(named, wrong)} of the wrong answers show a known misconception."
        )
    return text


def display_order(tally: Tally) -> tuple[list[int], list[int]]:
    """Return the order of the exercises and of the students in the overview.

    The exercises are ordered by pass rate. The pass rate ignores students who did not hand in the lesson. The students
    are ordered by the number of exercises that they passed. If all students find the same exercises hard, a slanting
    line separates the cells of passed exercises from all other cells. An instructor should examine the cells on the
    wrong side of this line.

    Returns:
        The indices of `tally.columns` and the indices of `tally.students`.
    """
    students = len(tally.students)
    ease = [
        tally.count_students(n, "passed") / max(1, students - tally.count_students(n, "absent"))
        for n in range(len(tally.columns))
    ]
    columns = sorted(range(len(ease)), key=lambda column: (-ease[column], column))
    rows = sorted(range(len(tally.states)), key=lambda row: (-tally.states[row].count("passed"), row))
    return columns, rows


def _draw_overview(tally: Tally, names: bool) -> Markup:
    columns, rows = display_order(tally)
    picture = show.standing(
        [[tally.states[row][column] for row in rows] for column in columns],
        [f"{tally.columns[c].exercise} {tally.columns[c].lesson[:2]}" for c in columns],
        [tally.students[row].name for row in rows] if names else None,
        title="Each exercise of each student",
    )
    return Markup(picture.html())


def _draw_common_mistakes(tally: Tally) -> Markup:
    """Return a bar chart of the most common mistakes, or "" if no two students made the same mistake."""
    mistakes = tally.commonest_mistakes()[:MOST_BARS]
    counts = [len(mistake.students) for mistake in mistakes]
    if not counts or counts[0] == 1:
        return Markup("")
    tied = counts.count(counts[0])
    title = f"{tied} mistakes were made by {counts[0]} students each" if tied > 1 else None
    labels = [f"{mistake.exercise}: {mistake.name}" for mistake in mistakes]
    return Markup(show.counted(counts, labels, title=title).html())
