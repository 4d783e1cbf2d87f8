"""Show the home view: every lesson with its duration, the state of each exercise, and the next exercise."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utils import lessons
from utils.learning.clock import Clock, utc_now
from utils.learning.inventory import ask_inventory
from utils.notebook.calibration import Calibration, load_calibration
from utils.notebook.lesson_progress import WORD, ExerciseProgress, LessonProgress, load_progress
from utils.notebook.showcase import NAME, exercises_without_code, showcase_html
from utils.notebook.warm_up import AT_MOST, WarmUp, due_sentence, load_warm_up
from utils.show.html import TEXT_COLOUR, escape, inline_html, status_mark

if TYPE_CHECKING:
    from utils.learning.sharing import Share

UPDATED = "A new release of the course changed these cells. Your copy does not contain the new text:"
NEW_TEXT = "Click a cell to see its new text, and copy what you need into your lesson."
SHOWN = "progress().save() writes my_course.html, a page that shows what you built."


class ProgressView:
    """The result of `progress()`: plain text in a terminal, a list with links in a notebook."""

    def __init__(self, pages: list[LessonProgress] | None = None, clock: Clock = utc_now):
        self.clock = clock
        if pages is not None:
            self.pages = pages

    @cached_property
    def pages(self) -> list[LessonProgress]:
        """All lessons. Lesson files are read only on first use, because `due()` works without the lessons."""
        return load_progress()

    @cached_property
    def answers(self) -> Calibration:
        """How often the learner's first answers were right, for each level of confidence."""
        return load_calibration()

    def warm_up(self, n: int = AT_MOST) -> WarmUp:
        """Repeat up to `n` predictions and quizzes that are due for review.

        Raises:
            ValueError: `n` is not a positive whole number.
        """
        return load_warm_up(n, self.clock)

    def due(self) -> None:
        """Print how many questions are due for review."""
        print(due_sentence(self.clock))

    def inventory(self) -> Any:
        """Show the form of the concept inventory that is due, or print why none is due."""
        asked = ask_inventory(self.clock)
        if not isinstance(asked, str):
            return asked
        print(asked)
        return None

    def save(self, who: str = "", path: str | Path = NAME) -> None:
        """Write `my_course.html`, a page that shows what you built.

        Args:
            who: a name for the title of the page.
            path: the file to write; an existing file is replaced.
        """
        path = Path(path)
        try:
            lessons.write_atomically(path, showcase_html(self.pages, who))
        except OSError as error:
            print(f"{path} cannot be written: {error.strerror}. Choose another file: progress().save(path=...).")
            return
        print(f"Your page is {path.name}. Open it from the list of files.")
        if missing := exercises_without_code(self.pages):
            again = "save your notebooks, then run progress().save() again"
            print(f"The page lacks your code for {', '.join(missing)}: {again}.")

    def share(self, write: bool = False, path: str | Path = "learning.json") -> Share:
        """Show the data about your learning that you may hand in. With `write=True`, also write a file.

        Args:
            write: False only shows the data.
            path: the file to write; an existing file is replaced.
        """
        from utils.learning import sharing  # imported late, so that `progress()` does not need msgspec

        return sharing.share(write, path)

    @property
    def n_passed(self) -> int:
        return sum(page.n_passed for page in self.pages)

    @property
    def n_exercises(self) -> int:
        return sum(len(page.exercises) for page in self.pages)

    @property
    def next_exercise(self) -> tuple[LessonProgress, ExerciseProgress] | None:
        """The next open exercise, or None if every exercise has been passed.

        Prefer the lesson of the last try, then later lessons, then earlier lessons. A try in the future, from a time
        when the clock was wrong, counts as the first try.
        """
        now = self.clock().isoformat()
        tried = [
            (item.last_attempt if item.last_attempt <= now else "", n)
            for n, page in enumerate(self.pages)
            for item in page.exercises
            if item.tries
        ]
        last = max(tried)[1] if tried else 0
        open_ = [
            (page, item)
            for page in self.pages[last:] + self.pages[:last]
            for item in page.exercises
            if item.state != "passed"
        ]
        return open_[0] if open_ else None

    def _headline(self) -> str:
        passed = f"{self.n_passed} of {self.n_exercises} exercises passed"
        minutes = sum(page.minutes or 0 for page in self.pages)
        return f"{passed}; the whole course takes about {minutes / 60:.0f} hours" if minutes >= 90 else passed

    def _verb(self) -> str:
        return "Continue with" if any(item.tries for page in self.pages for item in page.exercises) else "Start with"

    def __repr__(self) -> str:
        lines = [self._headline() + "."]
        if self.next_exercise:
            page, item = self.next_exercise
            lines.append(
                f"{self._verb()} {item.name} in lesson {page.stem[:2]},"
                f" {page.title}{f' ({page.path.name})' if page.path else ''}."
            )
        elif self.n_exercises:
            lines.append("You have passed every exercise.")
        updates = [f"  {page.stem[:2]} {update.name}" for page in self.pages for update in page.updates]
        lines += [UPDATED, *updates] if updates else []
        for page in self.pages:
            facts = [f"{page.stem[:2]} {page.title}", f"{page.minutes} minutes" if page.minutes else "", page.summary]
            lines += [" · ".join(filter(None, facts)), *(f"  {item}" for item in page.exercises)]
        if self.answers.n_answers:
            lines += [str(self.answers), due_sentence(self.clock)]
        if self.n_passed:
            lines.append(SHOWN)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        go_on = "<b>You have passed every exercise.</b>" if self.n_exercises else ""
        if self.next_exercise:
            page, item = self.next_exercise
            where = f"lesson {page.stem[:2]}, {escape(page.title)}: <code>{escape(item.name)}</code>"
            go_on = f"<b>{self._verb()} {_link_html(page.link_address(item), where)}</b>"
        rows = "".join(_row(page) for page in self.pages)
        key = " · ".join(f"{status_mark(state)} {word}" for state, word in WORD.items())
        parts = [f"<div>{self._headline()}.</div>", f"<div>{go_on}</div>"]
        if any(page.updates for page in self.pages):
            parts += [f"<div>{UPDATED}</div>", *(_updates_html(page) for page in self.pages), f"<div>{NEW_TEXT}</div>"]
        parts += [f'<div role="list" style="margin:6px 0">{rows}</div>', f"<div>{key}</div>"]
        if self.answers.n_answers:
            parts += [self.answers.html(), f"<div>{_mark_calls(due_sentence(self.clock))}</div>"]
        if self.n_passed:
            parts.append(f"<div>{_mark_calls(SHOWN)}</div>")
        return f'<div style="line-height:1.6;{TEXT_COLOUR}">{"".join(parts)}</div>'


def _updates_html(page: LessonProgress) -> str:
    """Return the changed cells of a lesson. The learner can open each cell and copy its new text."""
    lesson = _link_html(page.link_address(), f"lesson {page.stem[:2]}")
    text = '<pre style="margin:4px 0;white-space:pre-wrap">{}</pre>'  # Lines wrap, because each paragraph is one line.
    return "".join(
        f"<details><summary>{lesson}: {inline_html(update.name)}</summary>{text.format(escape(update.after))}</details>"
        for update in page.updates
    )


def _row(page: LessonProgress) -> str:
    """Return a lesson's row: number, title, minutes, summary and exercises."""
    minutes = f"{page.minutes}&nbsp;min" if page.minutes else ""
    items = " ".join(_exercise_chip(page, item) for item in page.exercises)
    columns = [
        ("0 0 2em", page.stem[:2]),
        ("1", _link_html(page.link_address(), escape(page.title))),
        ("0 0 4em;text-align:right", minutes),
        ("0 0 5em;padding-left:10px", page.summary),
    ]
    facts = "".join(f'<span style="flex:{style}">{inside}</span>' for style, inside in columns)
    return (
        '<div role="listitem" style="display:flex;flex-wrap:wrap;padding:2px 0">'
        f'<div style="flex:0 1 29em;display:flex">{facts}</div>'
        f'<div style="flex:1 1 18em;padding-left:2em">{items}</div></div>'
    )


def _exercise_chip(page: LessonProgress, item: ExerciseProgress) -> str:
    """Return an exercise as a link with its mark and its name. The tooltip describes its state in words."""
    state = ", ".join(filter(None, [WORD[item.state], item.tries_text]))
    name = _link_html(page.link_address(item), f"<code>{escape(item.name)}</code>", state)
    style = "white-space:nowrap;margin-right:8px"
    return f'<span title="{state}" style="{style}">{status_mark(item.state)}&nbsp;{name}</span>'


def _mark_calls(text: str) -> str:
    """Return the text as HTML, and format calls such as `progress().save()` as code."""
    return inline_html(re.sub(r"progress\(\)\.\w+\(\)", r"`\g<0>`", text))


def _link_html(address: str | None, inside: str, title: str = "") -> str:
    """Return a link, or only its text if there is no address. Screen readers say the title after the text."""
    if not address:
        return inside
    titled = f' title="{title}"' if title else ""
    return f'<a href="{escape(address)}"{titled} style="text-decoration:underline">{inside}</a>'


def progress() -> ProgressView:
    """Show your progress in all lessons and exercises, with a link to the next exercise."""
    return ProgressView()
