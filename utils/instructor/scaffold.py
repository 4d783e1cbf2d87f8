"""Create the text, the checks and the test of a new lesson, or add an exercise to a lesson.

The templates are in `templates/lesson/`. They contain the exercise from CONTRIBUTING.md. A new lesson passes all tests.
Every sentence in a new lesson is a placeholder for the author to replace, and passes `tests/course/test_voice.py`.
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from string import Template

from utils import lessons
from utils.lessons import ROOT

TEMPLATES = Path(__file__).parent / "templates" / "lesson"
EXERCISE = "most_attended"  # the name in CONTRIBUTING.md


class ScaffoldError(ValueError):
    """The lesson cannot be created. Nothing was written."""


def create_lesson(name: str, title: str | None = None, exercise: str | None = None, root: Path = ROOT) -> list[Path]:
    """Write the three files of a new lesson, and return their paths.

    Args:
        name: the lesson's name, such as "flash_attention" (it gets the next free number) or "12_flash_attention".
        title: the lesson's title; by default, derived from the name.
        exercise: the name of its exercise.

    Raises:
        ScaffoldError: a name is invalid, or the lesson, the exercise or one of the files already exists.
        OSError: a file cannot be written. The files written before it are removed.
    """
    number, stem = _search(r"(?s)\A(?:(\d\d)_)?(.*)\Z", name).groups()
    _require_name(stem, "A lesson")
    taken = {path.stem[:2]: path.stem for path in lessons.all_lessons(root / "solutions")}
    number = number or f"{max(map(int, taken), default=-1) + 1:02d}"
    if stem in (other[3:] for other in taken.values()):
        raise ScaffoldError(f"The lesson {stem} already exists. Choose another name.")
    if number in taken:
        raise ScaffoldError(
            f"{taken[number]} already has the number {number}. Leave the number out to get the next free one."
        )
    exercise = exercise or EXERCISE
    _require_new_exercise(exercise, root)
    texts = _render_templates(number, stem, title or stem.replace("_", " ").capitalize(), exercise, root)
    existing = [str(path.relative_to(root)) for path in texts if path.exists()]
    if existing:
        raise ScaffoldError(
            f"{' and '.join(existing)} already {'exists' if len(existing) == 1 else 'exist'}. Choose another name."
        )
    written: list[Path] = []
    try:
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except OSError:  # keep either all three files or none
        for path in written:
            path.unlink()
        raise
    return written


def add_exercise(lesson: str, exercise: str, root: Path = ROOT) -> list[Path]:
    """Add the example from CONTRIBUTING.md, renamed to `exercise`, to the files of a lesson. Return their paths.

    Raises:
        ScaffoldError: the name is invalid or taken, or a file of the lesson has no place for the exercise.
        LessonError: there is no such lesson.
        OSError: a file cannot be written. No file is then changed.
    """
    _require_new_exercise(exercise, root)
    path = lessons.find_lesson(lesson, root / "solutions")
    number, stem = path.stem[:2], path.stem[3:]
    templates = _render_templates(number, stem, "", exercise, root)
    page, checks, test = templates.values()
    gap = _search(r"(?ms)^### Exercise.*?^```python\n.*?^```\n", page)[0]
    declaration = checks[checks.index("exercise(\n") :]
    answers = _search(r"(?ms)^RIGHT = \{\n(.*?)^\}$", test)[1]

    paths = list(templates)
    old_page, old_checks, old_test = map(lessons.read_text, paths)
    texts = (
        _extend_import(_replace_line(old_page, paths[0], "## Recap", f"{gap}\n## Recap"), "jaxtyping", page),
        _extend_import(old_checks, "utils.exercises.exercise", checks) + f"\n\n{declaration}",
        _replace_line(old_test, paths[2], "RIGHT = {", f"RIGHT = {{\n{answers}".rstrip("\n")),
    )
    old = {place: place.read_bytes() for place in paths}
    try:
        for place, text in zip(paths, texts):
            lessons.write_atomically(place, text)
    except OSError:  # change either all three files or none
        for place in paths:
            if place.read_bytes() != old[place]:
                place.write_bytes(old[place])
        raise
    return paths


def _search(pattern: str, text: str) -> re.Match[str]:
    """Return the first match of the pattern, which must occur in the text."""
    match = re.search(pattern, text)
    assert match, pattern
    return match


def _replace_line(text: str, path: Path, line: str, new: str) -> str:
    """Return the text with `new` instead of `line`.

    Raises:
        ScaffoldError: the text does not contain the line exactly once.
    """
    if text.count(f"\n{line}\n") != 1:
        raise ScaffoldError(f"{path.name} should contain the line {line} once, because the new exercise goes there.")
    return text.replace(f"\n{line}\n", f"\n{new}\n")


def _extend_import(text: str, module: str, template: str) -> str:
    """Add the names that the template imports from `module` to the imports in `text`, and return the text."""
    line = re.compile(rf"(?m)^from {re.escape(module)} import (\w.*)$")
    names = set(_search(line.pattern, template)[1].split(", "))
    if found := line.search(text):
        names |= set(found[1].split(", "))
        return text[: found.start(1)] + ", ".join(sorted(names)) + text[found.end(1) :]
    return re.sub(r"(?m)^(?=import|from)", f"from {module} import {', '.join(sorted(names))}\n", text, count=1)


def _require_new_exercise(exercise: str, root: Path) -> None:
    _require_name(exercise, "An exercise")
    for path in sorted((root / "utils" / "checks").rglob("*.py")):
        if re.search(rf'(?m)^(exercise|transfer_family)\(\s*"{exercise}"', path.read_text(encoding="utf-8")):
            raise ScaffoldError(
                f"{path.relative_to(root)} already has an exercise {exercise}. Choose another name with --exercise."
            )


def _require_name(name: str, kind: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise ScaffoldError(
            f"{kind} cannot be called {name!r}. Use lower-case letters, digits and _, as in flash_attention."
        )


def _render_templates(number: str, stem: str, title: str, exercise: str, root: Path) -> dict[Path, str]:
    values = {"number": number, "stem": stem, "title": title, "exercise": exercise}
    paths = {
        "lesson.md": root / "solutions" / f"{number}_{stem}.md",
        "checks.py.txt": root / "utils" / "checks" / f"{stem}.py",
        "test.py.txt": root / "tests" / "course" / f"test_{stem}.py",
    }
    return {
        place: Template((TEMPLATES / name).read_text(encoding="utf-8")).substitute(values)
        for name, place in paths.items()
    }
