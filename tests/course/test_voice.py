"""Check the form of every lesson: its size, its rhythm, and a voice without filler."""

import re
import statistics

import pytest

from utils import lessons
from utils.exercises.exercise import all_exercises
from utils.instructor.lesson_time import (
    count_words,
    is_stated_right,
    needed_minutes,
    prose,
    shows_progress,
    visible_code,
)
from utils.learning import inventory
from utils.lessons import markers

LESSONS = [lessons.read_lesson(path) for path in lessons.all_lessons()]


def exercises(lesson):
    return [e for e in all_exercises().values() if e.lesson == lesson.name]


each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.stem for lesson in LESSONS])


@each_lesson
def test_size(lesson):
    sizes = [len(lines) for lines in visible_code(lesson)]
    assert (
        sum(not shows_progress(cell) for cell in lesson.cells) <= 60
        and statistics.median(sizes) <= 6
        and max(sizes) <= 25
    )


@pytest.mark.parametrize("lesson", LESSONS[1:], ids=[lesson.stem for lesson in LESSONS[1:]])
def test_balance_of_prose_and_code(lesson):
    """Lesson 00 is the guide to the others and is mostly prose."""
    said, lines = count_words(prose(lesson)), sum(map(len, visible_code(lesson)))
    assert 6 * lines <= said <= 12 * lines, f"{said} words to {lines} lines of code; 6 to 12 a line are wanted"


@each_lesson
def test_the_stated_time_follows_from_the_page(lesson):
    minutes = needed_minutes(lesson)
    assert is_stated_right(lesson), f"{minutes:.1f} by the rule: `coginst ready {lesson.stem[:2]}` writes it"


@each_lesson
def test_it_opens_and_closes_as_every_lesson_does(lesson):
    text = prose(lesson)
    assert lesson.cells[0].kind == "markdown" and lesson.cells[0].source.startswith("# ")
    assert "**After this" in text and "**Next:**" in text
    if lesson.name != "start_here":
        assert lesson.cells[0].source.count("<summary>") == 2 and "\n## Recap\n" in f"\n{text}\n"
    assert any(line.startswith("explore.quiz(") for cell in visible_code(lesson) for line in cell)


@each_lesson
def test_the_last_line_leads_to_the_next_lesson(lesson):
    """A learner clicks on it."""
    said = re.search(r"(?m)^\*\*Next:\*\* (.*)$", prose(lesson))[1]
    after = [path for path in lessons.all_lessons() if path.stem > lesson.path.stem][:1]
    if said.startswith("lesson "):
        title = lessons.read_lesson(after[0]).title
        assert said.startswith(f"lesson {after[0].stem[:2]}, [*{title}*]({after[0].stem}.ipynb), ")
    else:
        assert not after, f"lesson {after[0].stem[:2]} follows: let the last line of {lesson.stem} lead there"


@each_lesson
def test_the_last_cell_says_how_many_questions_are_due(lesson):
    assert lesson.cells[-2].source.splitlines()[-1].startswith(("**Next:**", "progress().inventory()"))
    assert lesson.cells[-1].source == "from utils import progress\n\nprogress().due()"
    assert sum("progress().due()" in cell.source for cell in lesson.cells) == 1


def test_the_inventory_is_offered_in_the_lessons_that_decide_which_form_is_due():
    offered = [lesson for lesson in LESSONS if any("progress().inventory()" in c.source for c in lesson.cells)]
    assert [lesson.name for lesson in offered] == [inventory.FIRST_LESSON, inventory.LAST_LESSON]
    for lesson in offered:
        assert "course (optional)\n" in prose(lesson)
        assert f"The questions take an extra {'ten' if inventory.MINUTES == 10 else ''} minutes." in prose(lesson)


@each_lesson
def test_every_exercise_is_checked_where_it_stands_and_explained(lesson):
    cells = [c.source for c in lesson.cells]
    for exercise in exercises(lesson):
        call = f"check({exercise.name}={exercise.name})" if exercise.kind == "value" else f"check({exercise.name})"
        place = [i for i, source in enumerate(cells) if call in source.splitlines()]
        assert len(place) == 1, f"{call} stands in {len(place)} cells"
        assert any(region.kind != markers.NOTE for region in markers.parse_markers(lesson.cells[place[0]]).regions)
        if exercise.member:  # the cell before shows the task
            assert cells[place[0] - 2].startswith("## Transfer\n")
        else:
            assert "### Exercise" in cells[place[0] - 1]


@each_lesson
def test_voice(lesson):
    text = re.sub(r"`[^`]*`|\$[^$]*\$", "", prose(lesson))
    for banned in (
        r"!",
        r"\bsimply\b",
        r"\bjust\b",
        r"in this (section|lesson),? we",
        r"\beasy\b",
        r"\bobviously\b",
        r"\bof course\b",
        r"\bawesome\b",
    ):
        found = re.search(banned, text, re.IGNORECASE)
        assert not found, f"...{text[max(0, found.start() - 40) : found.end() + 20]}..."


@each_lesson
def test_no_remote_images_and_no_style_in_lessons(lesson):
    everything = "\n".join(c.source for c in lesson.cells)
    assert "<img" not in everything and not re.search(r"!\[[^]]*\]\(", everything)
    assert "matplotlib" not in everything and "plt." not in everything


@each_lesson
def test_guesses_come_before_answers(lesson):
    """A prediction or a quiz holds its answer in its source, which is folded away; other code needs no scrolling."""
    for cell in lesson.cells:
        asks = cell.source.startswith(("explore.predict(", "explore.quiz("))
        if cell.kind == "code":
            assert asks == bool(cell.metadata.get("jupyter", {}).get("source_hidden")), cell.source
            assert not asks or cell.source.splitlines()[0] in (
                "explore.predict(",
                "explore.quiz(",
            ), "a fold shows the first line"
            assert asks or max(map(len, cell.source.splitlines())) <= 120, cell.source


@each_lesson
def test_only_plain_text_is_compared(lesson):
    """Reports, figures and widgets differ between machines in their HTML; CI compares what cells print."""
    for cell in lesson.cells:
        if "nbval-check-output" in cell.metadata.get("tags", []):
            assert "print(" in cell.source and not re.search(r"(?m)^(check|show|explore)\b", cell.source), cell.source


@each_lesson
def test_what_a_message_suggests_is_at_hand(lesson):
    """Checks say hint(...); it must not be a NameError."""
    imported = "\n".join(line for cell in visible_code(lesson) for line in cell if line.startswith("from utils import"))
    assert all(re.search(rf"\b{name}\b", imported) for name in ("check", "hint", "solution"))


def test_the_lessons_in_the_readme_have_their_titles_and_stems():
    rows = re.findall(
        r"(?m)^\| (\d\d) \| \[(.+?)\]\(course/(\w+)\.md\).* \| \d+ \|$",
        (lessons.ROOT / "README.md").read_text(encoding="utf-8"),
    )
    assert [(f"{number}_{stem[3:]}", title) for number, title, stem in rows] == [
        (lesson.stem, lesson.title) for lesson in LESSONS
    ]
