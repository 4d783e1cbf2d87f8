"""Render two parts of the first page: the wrong answers that readers can try, and the map of the lessons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from utils import lessons
from utils.exercises.exercise import all_exercises
from utils.instructor.answers import AnswerFactory
from utils.lessons import ROOT, Lesson
from utils.show import html

EXERCISE = "softmax"
_ROW = re.compile(r"(?m)^\| (\d\d) \| \[[^\]]+\]\(course/\w+\.md\)(?:: ([^|]+))? \| (\d+) \|$")
_USED = re.compile(r'yours\("(\w+)"\)')


class WrongAnswer(NamedTuple):
    """A wrong answer that readers can choose: its name on the page, a description, its source and its misconception."""

    name: str
    description: str
    source: str
    misconception: str


WRONG = (
    WrongAnswer(
        "formula",
        "the formula from textbooks",
        "def softmax(x, dim):\n    return x.exp() / x.exp().sum(dim, keepdim=True)\n",
        "overflows",
    ),
    WrongAnswer(
        "one-maximum",
        "first subtract the largest number",
        "def softmax(x, dim):\n    x = (x - x.max()).exp()\n    return x / x.sum(dim, keepdim=True)\n",
        "one-maximum-for-all",
    ),
    WrongAnswer(
        "last-axis",
        "let torch do it",
        "def softmax(x, dim):\n    return torch.softmax(x, dim=-1)\n",
        "ignores-dim",
    ),
    WrongAnswer(
        "everything",
        "divide by the sum of everything",
        "def softmax(x, dim):\n    e = torch.exp(x - x.max())\n    return e / e.sum()\n",
        "over-everything",
    ),
    WrongAnswer(
        "absolute",
        "make all numbers positive, then normalise",
        "def softmax(x, dim):\n    return x.abs() / x.abs().sum(dim, keepdim=True)\n",
        "share-of-absolute-values",
    ),
)


def render_wrong_answers() -> str:
    """Return Markdown that shows each wrong answer, followed by the report of the course's own check."""
    answers = AnswerFactory.from_name(EXERCISE)
    choices, panels = [], []
    for number, wrong in enumerate(WRONG):
        checked = " checked" if number == 0 else ""
        choices.append(
            f'<label><input type="radio" name="wrong-answer" value="{wrong.name}"{checked}> {wrong.description}</label>'
        )
        report = answers.judge(wrong.source)._repr_html_().replace("as in this lesson", "as in lesson 02")
        code = f"```python\n{wrong.source}\ncheck(softmax)\n```"
        panels.append(f'<div class="wrong-answer" data-answer="{wrong.name}">\n\n{code}\n\n{report}\n\n</div>')
    legend = "<legend>Choose an answer</legend>"
    return (
        f'<div class="wrong-answers">\n<fieldset>{legend}{"".join(choices)}</fieldset>\n\n<div aria-live="polite">\n\n'
        + "\n\n".join(panels)
        + "\n\n</div>\n\n</div>"
    )


def render_lesson_map(course: Sequence[Lesson]) -> str:
    """Return HTML that lists each lesson with its title, topic, time, number of exercises and prerequisites."""
    readme = lessons.read_text(ROOT / "README.md")
    topics = {number: (about, minutes) for number, about, minutes in _ROW.findall(readme)}
    items = []
    for lesson in course:
        about, minutes = topics.get(lesson.stem[:2], ("", ""))
        count = sum(each.lesson == lesson.name for each in all_exercises().values())
        facts = [f"{minutes} minutes"] * bool(minutes) + [f"{count} exercise{'s' * (count != 1)}"]
        builds_on = [f'<a href="course/{stem}.html">{stem[:2]}</a>' for stem in _earlier_lessons(lesson, course)]
        if builds_on:
            facts.append(f"builds on {', '.join(builds_on)}")
        items.append(
            f'<li><a class="title" href="course/{lesson.stem}.html"><span>{lesson.stem[:2]}</span>'
            f" {html.escape(lesson.title)}</a><p>{html.inline_html(about)}</p>"
            f'<p class="facts">{" · ".join(facts)}</p></li>'
        )
    return f'<ol class="lesson-map">{"".join(items)}</ol>'


def _earlier_lessons(lesson: Lesson, course: Sequence[Lesson]) -> list[str]:
    """Return the stems of the earlier lessons whose exercises `lesson` uses."""
    stems = {each.name: each.stem for each in course}
    names = [name for cell in lesson.cells for name in _USED.findall(cell.source)]
    homes = {all_exercises()[name].lesson for name in names if name in all_exercises()}
    return sorted(stems[home] for home in homes if home in stems and home != lesson.name)
