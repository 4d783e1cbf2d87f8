"""A new lesson that passes from its first minute: its page, its checks and its test, around the exercise that
CONTRIBUTING.md shows.

The three stand in `templates/lesson/`. Every sentence of the page says what belongs in its place, and keeps to what
`tests/course/test_voice.py` asks of a lesson.
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from string import Template

from utils import lessons
from utils.lessons import ROOT

TEMPLATES = Path(__file__).parent / "templates" / "lesson"
EXERCISE = "most_attended"  # what CONTRIBUTING.md calls it


class ScaffoldError(ValueError):
    """The lesson cannot be made; nothing was written."""


def create_lesson(name: str, title: str | None = None, exercise: str | None = None, root: Path = ROOT) -> list[Path]:
    """Write the three files of a lesson called `name` ("flash_attention", or "12_flash_attention"); the number is the
    next free one.

    Raises:
        ScaffoldError: the name is not one, or something of it is there already.
    """
    number, stem = re.fullmatch(r"(?:(\d\d)_)?(.*)", name, re.DOTALL).groups()
    _require_name(stem, "A lesson")
    taken = {path.stem[:2]: path.stem for path in lessons.all_lessons(root / "solutions")}
    number = number or f"{max(map(int, taken), default=-1) + 1:02d}"
    if stem in (of[3:] for of in taken.values()):
        raise ScaffoldError(f"There is a lesson {stem} already; choose another name.")
    if number in taken:
        raise ScaffoldError(f"Number {number} is taken by {taken[number]}; leave it out for the next free one.")
    exercise = exercise or EXERCISE
    _require_name(exercise, "An exercise")
    for path in sorted((root / "utils" / "checks").glob("*.py")):
        if re.search(rf'(?m)^exercise\(\s*"{exercise}"', path.read_text(encoding="utf-8")):
            raise ScaffoldError(
                f"There is an exercise {exercise} in {path.relative_to(root)} already; name yours with --exercise."
            )
    texts = _render_templates(number, stem, title or stem.replace("_", " ").capitalize(), exercise, root)
    there = [str(path.relative_to(root)) for path in texts if path.exists()]
    if there:
        raise ScaffoldError(
            f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} there already; choose another name."
        )
    made: list[Path] = []
    try:
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:
                made.append(path)
                file.write(text)
    except OSError:  # all three, or none
        for path in made:
            path.unlink()
        raise
    return made


def _require_name(name: str, what: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise ScaffoldError(
            f"{what} cannot be called {name!r}; use small letters, digits and _, as in flash_attention."
        )


def _render_templates(number: str, stem: str, title: str, exercise: str, root: Path) -> dict[Path, str]:
    words = {"number": number, "stem": stem, "title": title, "exercise": exercise}
    places = {
        "lesson.md": root / "solutions" / f"{number}_{stem}.md",
        "checks.py.txt": root / "utils" / "checks" / f"{stem}.py",
        "test.py.txt": root / "tests" / "course" / f"test_{stem}.py",
    }
    return {
        place: Template((TEMPLATES / name).read_text(encoding="utf-8")).substitute(words)
        for name, place in places.items()
    }
