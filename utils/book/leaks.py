"""Whether anything of the answers stands in the built site: in its pages, its scripts, its search index."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from utils import lessons
from utils.instructor.html_text import text_of
from utils.instructor.leaks import leaks, markers_in, whole_answers
from utils.instructor.strip import Stripped, strip
from utils.lessons import ROOT, Lesson

READ = (".html", ".json", ".js", ".css", ".txt", ".xml", ".inv", ".svg", ".ipynb", ".md")
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
