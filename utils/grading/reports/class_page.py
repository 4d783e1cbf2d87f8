"""Write `class.html`: the mistakes of the class, without students' names unless they are requested."""

from __future__ import annotations

from collections.abc import Sequence

from utils import show
from utils.grading.intake.roster import Student
from utils.grading.reports.html_parts import format_count, format_number, format_percent, html_document, html_table
from utils.grading.reports.redact import redact_name
from utils.grading.reports.tally import WRONG, Mistake, Tally
from utils.show.html import code_block, escape, inline_html

MOST_BARS = 15
OTHER_STATES = ("not attempted", "waits for another exercise", "stopped", "unreadable", "absent")

# A click on a column heading sorts the table by that column; a second click reverses the order.
SORT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => head.querySelector("button")?.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "descending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "ascending" : "descending");
    const text = row => row.cells[column].textContent.trim();
    const rows = [...body.rows].sort((a, b) => text(b).localeCompare(text(a), "en", {numeric: true}));
    body.append(...(down ? rows.reverse() : rows));
  }));
}
"""


def class_page(tally: Tally, files: dict[str, str], names: bool = False) -> str:
    """Return the HTML page of a class.

    Args:
        files: the example file of each cluster of unnamed failures, by the key from `cluster_key`.
        names: whether the page names students.
    """
    parts = [
        "<h1>What the class got wrong</h1>",
        _summary(tally),
        _standing(tally, names),
        _exercises(tally),
        _families(tally, names),
        _clusters(tally, files, names),
        _mistakes(tally, names),
        _tries(tally),
        _incidents(tally),
    ]
    return html_document("What the class got wrong", "\n".join(filter(None, parts)), SORT)


def _summary(tally: Tally) -> str:
    states = [state for row in tally.states for state in row if state != "absent"]
    present = sum(any(state != "absent" for state in row) for row in tally.states)
    passed = states.count("passed")
    wrong = sum(state in WRONG for state in states)
    named = sum(len(mistake.students) for mistake in tally.mistakes.values() if mistake.id)
    lessons = format_count(len(tally.points_by_lesson), "lesson")
    text = (
        f"{present} of {format_count(len(tally.students), 'student')} handed in work, from {lessons}."
        f" {format_percent(passed, len(states))} of their {format_count(len(states), 'exercise')} passed."
    )
    if wrong:
        text += (
            f" {format_count(wrong, 'answer is wrong', 'answers are wrong')};"
            f" {format_percent(named, wrong)} of the wrong answers show a known misconception."
        )
    return f"<p>{text}</p>"


# --- the overview -----------------------------------------------------------------------------------------


def display_order(tally: Tally) -> tuple[list[int], list[int]]:
    """Return the order of the exercises and of the students in the overview.

    Exercises are ordered by pass rate among the students who handed the lesson in, and students by the number of
    exercises that they passed. If the same exercises are hard for all students, the passed cells then form
    a region with a single slanting edge, and cells on the wrong side of this edge deserve a closer look.

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


def _standing(tally: Tally, names: bool) -> str:
    columns, rows = display_order(tally)
    picture = show.standing(
        [[tally.states[row][column] for row in rows] for column in columns],
        [f"{tally.columns[c].exercise} {tally.columns[c].lesson[:2]}" for c in columns],
        [tally.students[row].name for row in rows] if names else None,
        title="Each exercise of each student",
    )
    caption = (
        "Each row is an exercise, and each column is a student. The exercise with the highest pass rate is at the top,"
        " and the student who passed most exercises is on the left. If the edge is ragged, some students passed hard"
        " exercises but not easier ones."
    )
    return f'<h2>Who passed what</h2><p class="quiet">{caption}</p><figure>{picture.html()}</figure>'


# --- the exercises ----------------------------------------------------------------------------------------


def _exercises(tally: Tally) -> str:
    shown = [state for state in OTHER_STATES if any(state in row for row in tally.states)]
    rows = []
    for n, column in enumerate(tally.columns):
        mistakes = tally.mistakes_in(column.exercise)
        commonest = ""
        if mistakes and len(mistakes[0].students) > (len(mistakes[1].students) if mistakes[1:] else 1):
            commonest = f"{escape(mistakes[0].name)} ({len(mistakes[0].students)})"
        link = f'<a href="#{_anchor(column.exercise)}">' if mistakes else ""
        rows.append(
            [
                column.lesson[:2],
                f"{link}<code>{escape(column.exercise)}</code>{'</a>' if link else ''}",
                format_percent(tally.count_students(n, "passed"), _attempts(tally, n)),
                commonest,
                str(tally.count_students(n, "failed")),
                *(str(tally.count_students(n, state)) for state in shown),
            ]
        )
    header = ["Lesson", "Exercise", "Pass rate", "Most common mistake", "Failed", *map(str.capitalize, shown)]
    numbers = (0, 2, *range(4, 5 + len(shown)))
    return f"<h2>The exercises</h2>{html_table(header, rows, numbers, sort=True)}"


def _attempts(tally: Tally, column: int) -> int:
    return tally.count_students(column, "passed", *WRONG)


def _anchor(exercise: str) -> str:
    return f"e-{exercise}"


def _mistakes(tally: Tally, names: bool) -> str:
    """Return all exercises with their mistakes; each mistake has its message and one student's answer."""
    parts = ["<h2>Exercise by exercise</h2>"]
    for n, column in enumerate(tally.columns):
        mistakes, tried = tally.mistakes_in(column.exercise), _attempts(tally, n)
        if not mistakes:
            continue
        wrong = tally.count_students(n, *WRONG)
        count = format_count(tried, "answer is wrong", "answers are wrong")
        head = f"<code>{escape(column.exercise)}</code>, lesson {column.lesson[:2]}: {wrong} of {count}"
        mistakes_html = "".join(_mistake(mistake, tried, names) for mistake in mistakes)
        parts.append(f'<details id="{_anchor(column.exercise)}"><summary>{head}</summary>{mistakes_html}</details>')
    return "\n".join(parts) if len(parts) > 1 else ""


def _mistake(mistake: Mistake, tried: int, names: bool) -> str:
    count = len(mistake.students)
    width = round(12 * count / tried, 1) if tried else 0
    head = (
        f"{escape(mistake.name)}: {format_count(count, 'student')}, {format_percent(count, tried)} of those who tried"
    )
    bar = f'<span class="bar" style="width:{width}em" aria-hidden="true"></span>'
    details = f"<p>{_message(mistake, names)}</p>{_student_names(mistake.students, names)}{_example(mistake, names)}"
    return f"<h3>{bar}{head}</h3>{details}"


def _message(mistake: Mistake, names: bool) -> str:
    # A message may quote the student's code, which may contain the student's name.
    author = None if names else (mistake.students[0] if mistake.students else None)
    return inline_html(redact_name(mistake.message, author))


def _example(mistake: Mistake, names: bool) -> str:
    if not mistake.example:
        return ""
    return code_block(redact_name(mistake.example, None if names else mistake.author))


def _student_names(students: Sequence[Student], names: bool) -> str:
    if not names:
        return ""
    return f'<p class="quiet">{escape(", ".join(student.name for student in students))}</p>'


# --- across exercises -------------------------------------------------------------------------------------


def _families(tally: Tally, names: bool) -> str:
    families = [family for family in tally.mistake_families() if len(family.students) > 1]
    parts = []
    commonest = tally.commonest_mistakes()[:MOST_BARS]
    if commonest and len(commonest[0].students) > 1:
        labels = [f"{mistake.exercise}: {mistake.name}" for mistake in commonest]
        counts = [len(mistake.students) for mistake in commonest]
        tied = counts.count(counts[0])
        title = f"{tied} mistakes were made by {counts[0]} students each" if tied > 1 else None
        picture = show.counted(counts, labels, title=title)
        parts.append(f"<h2>The most common mistakes</h2><figure>{picture.html()}</figure>")
    if families:
        rows = []
        for family in families:
            where = ", ".join(
                f'<a href="#{_anchor(m.exercise)}"><code>{escape(m.exercise)}</code></a> {len(m.students)}'
                for m in family.mistakes
            )
            name = escape(family.id.replace("-", " "))
            rows.append([name, str(len(family.students)), str(len(family.mistakes)), where])
            if names:
                rows[-1].append(escape(", ".join(student.name for student in family.students)))
        header = ["Mistake", "Students", "Exercises", "Students in each exercise", *(["Names"] if names else [])]
        text = "These mistakes occurred in more than one lesson, so they are worth ten minutes in class."
        parts.append(f"<h2>The same mistake in several lessons</h2><p class='quiet'>{text}</p>")
        parts.append(html_table(header, rows, (1, 2), sort=True))
    return "\n".join(parts)


def _clusters(tally: Tally, files: dict[str, str], names: bool) -> str:
    clusters = tally.failure_clusters()
    if not clusters:
        return ""
    several = [mistake for mistake in clusters if len(mistake.students) > 1]
    single = [mistake for mistake in clusters if len(mistake.students) == 1]
    text = (
        "No misconception describes these wrong answers yet. The answers in a group gave the same wrong results on the"
        " same cases, or failed with the same kind of error. The command turns a group into a misconception with a"
        " message of its own; without <code>--id</code> it only shows the message that these students get now."
    )
    parts = [f"<h2>Failures without a name</h2><p>{text}</p>"]
    parts += [f"<h3>{_head(mistake)}</h3>{_cluster(mistake, files, names)}" for mistake in several]
    parts += [
        f"<details><summary>{_head(mistake)}</summary>{_cluster(mistake, files, names)}</details>" for mistake in single
    ]
    return "\n".join(parts)


def _head(mistake: Mistake) -> str:
    description = f"<code>{escape(mistake.exercise)}</code>, lesson {mistake.lesson[:2]}: {escape(mistake.name)}"
    return f"{format_count(len(mistake.students), 'student')}: {description}"


def _cluster(mistake: Mistake, files: dict[str, str], names: bool) -> str:
    """Return the message of a cluster, an example answer, and the command that turns it into a misconception."""
    path = files.get(cluster_key(mistake))
    command = code_block(f"coginst misconception {mistake.exercise} {path} --id what-is-wrong") if path else ""
    return (
        f"<p>{_message(mistake, names)}</p>{_student_names(mistake.students, names)}{_example(mistake, names)}{command}"
    )


def cluster_key(mistake: Mistake) -> str:
    """Return the key that identifies a cluster."""
    return f"{mistake.exercise}:{mistake.fingerprint or mistake.message}"


def _tries(tally: Tally) -> str:
    rows = [
        [f"<code>{escape(name)}</code>", format_number(middle), str(count)]
        for name, middle, count in tally.median_tries()
        if count > 1
    ]
    if not rows:
        return ""
    text = "The number of checks that students ran, for those who passed and handed in their progress.json."
    header = ["Exercise", "Median tries", "Students"]
    return f"<h2>The exercises with the most tries</h2><p class='quiet'>{text}</p>" + html_table(
        header, rows, (1, 2), sort=True
    )


def _incidents(tally: Tally) -> str:
    if not tally.incidents:
        return ""
    kinds: dict[str, set[str]] = {}
    for student, _, incident in tally.incidents:
        kinds.setdefault(incident.kind, set()).add(student.id)
    rows = [[escape(kind), str(len(who))] for kind, who in sorted(kinds.items())]
    text = (
        "Some answers exceeded a limit or attempted something forbidden. <code>incidents.csv</code> lists the students"
        " and exercises."
    )
    return f"<h2>Incidents</h2><p>{text}</p>" + html_table(["Kind", "Students"], rows, (1,))
