"""The home view: every lesson with its stated time, its exercises with their state, and where to go on."""

from __future__ import annotations

from pathlib import Path

from utils import lessons
from utils.notebook.answered import SURE, Calibration, WarmUp, calibration, warm_up
from utils.notebook.pages import WORD, Item, Page, pages
from utils.notebook.showcase import NAME, showcase, without_code
from utils.show.html import TEXT_COLOUR, escape, inline, mark

SHOWN = "progress().save() makes my_course.html, a page that shows what you built."


class Home:
    """What `progress()` shows: plain text in a terminal, a list with links in a notebook."""

    def __init__(self, pages: list[Page], answers: Calibration | None = None):
        self.pages = pages
        self.answers = answers or Calibration(dict.fromkeys(SURE, (0, 0)))

    def warm_up(self) -> WarmUp:
        """Three predictions or quizzes once more: those that were answered longest ago."""
        return warm_up()

    def save(self, who: str = "", path: str | Path = NAME) -> None:
        """Write `my_course.html`, a page that shows what you built, and say where it is.

        Args:
            who: a name for its title.
            path: the file to write; one that is there is replaced.
        """
        path = Path(path)
        try:
            lessons.write_atomically(path, showcase(self.pages, who))
        except OSError as error:
            print(f"{path} cannot be written: {error.strerror}. Name another place: progress().save(path=...).")
            return
        print(f"Written: {path.name}. Open it from the list of files.")
        if missing := without_code(self.pages):
            print(f"Without the code of {', '.join(missing)}: save those notebooks, then write the page again.")

    @property
    def passed(self) -> int:
        return sum(page.done for page in self.pages)

    @property
    def total(self) -> int:
        return sum(len(page.items) for page in self.pages)

    @property
    def resume(self) -> tuple[Page, Item] | None:
        """Where to go on: the first exercise to do in the lesson last worked on, else in a later one, else in any; None
        at the end."""
        tried = [(item.when, n) for n, page in enumerate(self.pages) for item in page.items if item.tries]
        last = max(tried)[1] if tried else 0
        open_ = [
            (page, item)
            for page in self.pages[last:] + self.pages[:last]
            for item in page.items
            if item.state != "passed"
        ]
        return open_[0] if open_ else None

    def _headline(self) -> str:
        said = f"{self.passed} of {self.total} exercises passed"
        minutes = sum(page.minutes or 0 for page in self.pages)
        return f"{said}; the whole course takes about {minutes / 60:.0f} hours" if minutes >= 90 else said

    def _verb(self) -> str:
        return "Go on with" if any(item.tries for page in self.pages for item in page.items) else "Begin with"

    def __repr__(self) -> str:
        lines = [self._headline() + "."]
        if self.resume:
            page, item = self.resume
            lines.append(
                f"{self._verb()} {item.name} in lesson {page.stem[:2]},"
                f" {page.title}{f' ({page.path.name})' if page.path else ''}."
            )
        elif self.total:
            lines.append("Every exercise is passed.")
        for page in self.pages:
            facts = [f"{page.stem[:2]} {page.title}", f"{page.minutes} minutes" if page.minutes else "", page.summary]
            lines += [" · ".join(filter(None, facts)), *(f"  {item}" for item in page.items)]
        if self.answers.total:
            lines += [str(self.answers), "progress().warm_up() asks three of them again."]
        if self.passed:
            lines.append(SHOWN)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        go_on = "<b>Every exercise is passed.</b>" if self.total else ""
        if self.resume:
            page, item = self.resume
            where = f"lesson {page.stem[:2]}, {escape(page.title)}: <code>{escape(item.name)}</code>"
            go_on = f"<b>{self._verb()} {_anchor(page.link(item), where)}</b>"
        rows = "".join(_row(page) for page in self.pages)
        key = " · ".join(f"{mark(state)} {word}" for state, word in WORD.items())
        parts = [f"<div>{self._headline()}.</div>", f"<div>{go_on}</div>"]
        parts += [f'<div role="list" style="margin:6px 0">{rows}</div>', f"<div>{key}</div>"]
        if self.answers.total:
            parts.append(self.answers.html() + "<div><code>progress().warm_up()</code> asks three of them again.</div>")
        if self.passed:
            parts.append(f"<div>{inline(SHOWN.replace('progress().save()', '`progress().save()`'))}</div>")
        return f'<div style="line-height:1.6;{TEXT_COLOUR}">{"".join(parts)}</div>'


def _row(page: Page) -> str:
    """A lesson: its number, title, minutes and summary, and its exercises beside them, or below where the page is
    narrow."""
    minutes = f"{page.minutes}&nbsp;min" if page.minutes else ""
    items = " ".join(_chip(page, item) for item in page.items)
    columns = [
        ("0 0 2em", page.stem[:2]),
        ("1", _anchor(page.link(), escape(page.title))),
        ("0 0 4em;text-align:right", minutes),
        ("0 0 5em;padding-left:10px", page.summary),
    ]
    facts = "".join(f'<span style="flex:{style}">{inside}</span>' for style, inside in columns)
    return (
        '<div role="listitem" style="display:flex;flex-wrap:wrap;padding:2px 0">'
        f'<div style="flex:0 1 29em;display:flex">{facts}</div>'
        f'<div style="flex:1 1 18em;padding-left:2em">{items}</div></div>'
    )


def _chip(page: Page, item: Item) -> str:
    """An exercise in its lesson's row: its mark, and its name as a link to its heading; the state in words for who
    hovers or listens."""
    told = ", ".join(filter(None, [WORD[item.state], item.tried]))
    name = _anchor(page.link(item), f"<code>{escape(item.name)}</code>")
    return f'<span title="{told}" style="white-space:nowrap;margin-right:8px">{mark(item.state)}&nbsp;{name}</span>'


def _anchor(address: str | None, inside: str) -> str:
    return f'<a href="{escape(address)}" style="text-decoration:underline">{inside}</a>' if address else inside


def progress() -> Home:
    """All lessons and exercises with what this machine knows of them, and a link to where to go on."""
    return Home(pages(), calibration())
