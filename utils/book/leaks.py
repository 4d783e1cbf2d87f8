"""Whether anything of the answers stands in the built site: in its pages, its scripts, its search index."""

from __future__ import annotations

from collections.abc import Collection
from html.parser import HTMLParser
from pathlib import Path

from utils import lessons
from utils.instructor.leaks import leaks, markers_in, whole_answers
from utils.instructor.strip import Stripped, strip
from utils.lessons import ROOT, Lesson

READ = (".html", ".json", ".js", ".css", ".txt", ".xml", ".inv", ".svg", ".ipynb", ".md")
# What stands within a word or a line of code; every other tag begins a new one.
WITHIN = {"a", "b", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "sub", "sup"}
WITH_MARKERS = "CONTRIBUTING.html"  # the page that explains them


def answers_in(site: Path, shown: Collection[str] = ()) -> list[str]:
    """One line `file:line: what` for each answer, name of an answer or marker in the site; `shown` are the stems of the
    lessons whose answers may stand there."""
    sources: list[tuple[Lesson, Stripped]] = []
    for path in lessons.all_lessons(ROOT / "solutions"):
        if path.stem not in shown:
            sources.append((Lesson(path.stem, path.relative_to(ROOT), []), strip(lessons.read_text(path), path)))
    pages, rest = {}, {}
    for path in sorted(site.rglob("*")):
        if path.is_file() and path.suffix in READ:
            name, text = path.relative_to(site).as_posix(), path.read_text(encoding="utf-8", errors="replace")
            if path.suffix == ".html":
                pages[name] = text_of(text)
            else:
                rest[name] = text
    faults = leaks(sources, pages | rest) + whole_answers(sources, rest)
    for name, text in pages.items():
        if name != WITH_MARKERS:
            faults += [f"{name}:1: a marker of ours stands here ({what})." for _, what in markers_in(text)]
    return sorted(set(faults))


def text_of(page: str) -> str:
    """Everything in a page that a reader or a program can read: its text as it stands there, whatever tags are in it,
    its attributes, and its scripts."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return "".join(reader.text) + "\n" + "\n".join(reader.attributes)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self.attributes: list[str] = []

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.text.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [value for _, value in attrs if value]
        self._mark(tag)

    def handle_endtag(self, tag: str) -> None:
        self._mark(tag)

    def _mark(self, tag: str) -> None:
        """What a tag means for the text: inline code is as its author wrote it, between backticks."""
        if tag == "code":
            self.text.append("`")
        elif tag not in WITHIN:
            self.text.append("\n")
