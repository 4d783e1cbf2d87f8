"""Compare the minutes that a lesson states with an estimate from its length."""

from __future__ import annotations

import re
from pathlib import Path

from utils import lessons
from utils.exercises.exercise import all_exercises
from utils.lessons import Cell, Lesson, markers

WORDS_PER_MINUTE = 150
LINES_PER_MINUTE = 15  # lines of code
MINUTES_PER_EXERCISE = 3
MINUTES_PER_TRANSFER_EXERCISE = 6
MINUTES_PER_QUESTION = 1  # a prediction or a quiz
STEP = 5  # A lesson states its time as a multiple of five minutes.

# An optional section ends at the next `##` heading or at the line that begins with `**Next:**`.
_OPTIONAL = re.compile(r"(?ms)^## [^\n]*\(optional\)$.*?(?=^## |^\*\*Next:\*\*|\Z)")
_PROGRESS = re.compile(r"(?m)^progress\(\)")
_STATED = re.compile(r"(?<=\*\*Time:\*\* )\d+(?= minutes)")


def shows_progress(cell: Cell) -> bool:
    """Tell whether a cell calls `progress()`. Such a cell is about the learner, not about the subject of the lesson."""
    return cell.kind == "code" and bool(_PROGRESS.search(cell.source))


def visible_code(lesson: Lesson) -> list[list[str]]:
    """Return the lines of each code cell except blank lines and markers. Leave out cells that call `progress()`."""
    cells = [cell.source.splitlines() for cell in lesson.cells if cell.kind == "code" and not shows_progress(cell)]
    return [[line for line in lines if line.strip() and not markers.looks_like_marker(line)] for lines in cells]


def prose(lesson: Lesson) -> str:
    """Return the text of all Markdown cells."""
    return "\n\n".join(cell.source for cell in lesson.cells if cell.kind == "markdown")


def count_words(text: str) -> int:
    """Count the words and numbers in a text."""
    return len(re.findall(r"\w[\w'’.-]*", text))


def needed_minutes(lesson: Lesson) -> float:
    """Estimate the minutes that a lesson takes, from its length and its number of exercises. Do not round the result.

    Sections whose headings end with "(optional)" do not count.
    """
    lines = [line for cell in visible_code(lesson) for line in cell]
    questions = sum(line.startswith(("explore.predict(", "explore.quiz(")) for line in lines)
    exercises = [exercise for exercise in all_exercises().values() if exercise.lesson == lesson.name]
    minutes = [MINUTES_PER_TRANSFER_EXERCISE if each.member else MINUTES_PER_EXERCISE for each in exercises]
    return (
        count_words(_OPTIONAL.sub("", prose(lesson))) / WORDS_PER_MINUTE
        + len(lines) / LINES_PER_MINUTE
        + sum(minutes)
        + questions * MINUTES_PER_QUESTION
    )


def stated_minutes(lesson: Lesson) -> int:
    """Return the minutes that the lesson states.

    Raises:
        ValueError: the lesson states no time.
    """
    if stated := _STATED.search(prose(lesson)):
        return int(stated[0])
    raise ValueError(f"{lesson.path.name} does not state its time. Write **Time:** 30 minutes below the title.")


def is_stated_right(lesson: Lesson) -> bool:
    """Tell whether the stated minutes equal the estimate, rounded to a multiple of `STEP`."""
    return abs(stated_minutes(lesson) - needed_minutes(lesson)) <= STEP / 2


def write_stated_time(path: Path) -> bool:
    """Correct the stated minutes of a lesson in `solutions/`, if they are wrong. Return whether the file changed."""
    lesson = lessons.read_lesson(path)
    if is_stated_right(lesson):
        return False
    minutes = STEP * round(needed_minutes(lesson) / STEP)
    lessons.write_atomically(path, _STATED.sub(str(minutes), lessons.read_text(path), count=1))
    return True
