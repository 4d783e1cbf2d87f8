"""Generate the numbers in README.md: the minutes of each lesson, and the counts of mutants and blind answers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from utils import lessons
from utils.instructor import mutation_testing
from utils.instructor.blind_answers import read_blind_answers
from utils.instructor.lesson_time import stated_minutes
from utils.lessons import ROOT


def generate_counts(root: Path = ROOT) -> dict[str, str]:
    """Return the generated parts of README.md, by pattern. Each part replaces the text that matches its pattern."""
    mutants = mutation_testing.read_table(root / "docs" / "mutants.md")["all"]
    blind = Counter(answer.kind for answers in read_blind_answers(root).values() for answer in answers)
    parts = {
        r"(?<=Of \[)[\d,]+(?= mutants\])": f"{mutants[0]:,}",
        r"\d+(?= % of the rejected mutants)": str(mutation_testing.explained_percent(mutants)),
        r"[\d,]+ wrong and [\d,]+ right answers": f"{blind['wrong']:,} wrong and {blind['right']:,} right answers",
    }
    for path in lessons.all_lessons(root / "solutions"):
        row = rf"(?<=\(course/{path.stem}\.md\))(.*\| )\d+(?= \|\n)"
        parts[row] = rf"\g<1>{stated_minutes(lessons.read_lesson(path))}"
    return parts


def insert_counts(text: str, parts: dict[str, str]) -> str:
    """Insert the generated parts into the text of README.md, and return the text.

    Raises:
        ValueError: README has no place for a part, for example because it does not list a lesson.
    """
    for pattern, part in parts.items():
        text, count = re.subn(pattern, part, text)
        if count != 1:
            raise ValueError(f"README.md should contain one text that matches {pattern}, but it contains {count}.")
    return text


def write_counts(root: Path = ROOT) -> bool:
    """Write the generated parts to README.md, and return whether the file changed. Raises `ValueError`."""
    path = root / "README.md"
    old = path.read_text(encoding="utf-8")
    new = insert_counts(old, generate_counts(root))
    if new != old:
        lessons.write_atomically(path, new)
    return new != old
