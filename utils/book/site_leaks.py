"""Find parts of answers in the built site: in its pages, its scripts and its search index."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from utils import lessons
from utils.instructor.html_text import extract_text
from utils.instructor.leaks import find_leaks, find_markers, find_whole_answers
from utils.instructor.strip import strip_answers
from utils.lessons import ROOT, Lesson

READ = (".html", ".json", ".js", ".css", ".txt", ".xml", ".inv", ".svg", ".ipynb", ".md")
WITH_MARKERS = "CONTRIBUTING.html"  # the page that explains the markers


def find_site_leaks(site: Path, shown_stems: Collection[str] = ()) -> list[str]:
    """Return one line `file:line: description` for each marker and each part of an answer in the site.

    Args:
        shown_stems: the stems of the lessons whose answers the site may show.
    """
    sources = [
        (Lesson(path.stem, path.relative_to(ROOT), []), strip_answers(lessons.read_text(path), path))
        for path in lessons.all_lessons(ROOT / "solutions")
        if path.stem not in shown_stems
    ]
    pages, rest = {}, {}
    for path in sorted(site.rglob("*")):
        if path.is_file() and path.suffix in READ:
            name, text = path.relative_to(site).as_posix(), path.read_text(encoding="utf-8", errors="replace")
            if path.suffix == ".html":
                pages[name] = extract_text(text)
            else:
                rest[name] = text
    faults = find_leaks(sources, pages | rest) + find_whole_answers(sources, rest)
    for name, text in pages.items():
        if name != WITH_MARKERS:
            faults += [f"{name}:1: this page contains a marker ({marker})." for _, marker in find_markers(text)]
    return sorted(set(faults))
