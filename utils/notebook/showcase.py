"""Write `my_course.html`: a page with everything that a learner has built."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from utils import lessons
from utils.notebook.lesson_progress import ExerciseProgress, LessonProgress
from utils.show.html import escape

NAME = "my_course.html"
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 56em; margin: 2em auto; padding: 0 1em; }
h1, h2 { line-height: 1.25; }
h2 { margin-top: 2em; border-bottom: 1px solid; }
pre { overflow-x: auto; padding: 0.7em 1em; border: 1px solid; border-radius: 6px; font-size: 0.85em; }
summary { cursor: pointer; }
""".strip()


def showcase_html(pages: list[LessonProgress], who: str = "") -> str:
    """Return the page: each lesson with its passed exercises, and the learner's code if it can be read."""
    title = f"{who}: what I built" if who else "What I built"
    passed, total = sum(page.n_passed for page in pages), sum(len(page.exercises) for page in pages)
    summary = f"{passed} of {total} exercises passed in a course on attention, from byte pairs to a GPT-2."
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{summary}</p>"]
    parts += [_lesson(page) for page in pages if page.n_passed]
    parts.append(f"<p><small>{date.today().isoformat()}</small></p>")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n'
        + "\n".join(filter(None, parts))
        + "\n</body></html>\n"
    )


def _lesson(page: LessonProgress) -> str:
    passed = [item for item in page.exercises if item.state == "passed"]
    head = f"<h2>{page.stem[:2]} {escape(page.title)}</h2>"
    return head + "".join(_exercise(page, item) for item in passed)


def _exercise(page: LessonProgress, item: ExerciseProgress) -> str:
    name, code = f"<code>{escape(item.name)}</code>", _code(page.path, item.name)
    return f"<details><summary>{name}</summary><pre>{escape(code)}</pre></details>" if code else f"<p>{name}</p>"


def exercises_without_code(pages: list[LessonProgress]) -> list[str]:
    """Return the passed exercises whose code is not in the saved notebook."""
    return [
        item.name
        for page in pages
        for item in page.exercises
        if item.state == "passed" and not _code(page.path, item.name)
    ]


def _code(path: Path | None, name: str) -> str:
    """Return the learner's code from the saved notebook, or "" if it contains no code or only the stub."""
    if path is None or path.parent == lessons.ROOT / "solutions":
        return ""
    try:
        code = lessons.definition_source(path, name)
    except (lessons.LessonError, RecursionError):  # the name is missing, or the code is nested too deeply
        return ""
    return "" if "YOUR CODE HERE" in code else code
