"""Test docs/sources.md: each item of the five source documents has a lesson and a heading, or a reason."""

import re

import pytest

from utils import lessons
from utils.lessons import ROOT

LESSONS = {path.stem: lessons.read_lesson(path) for path in lessons.all_lessons()}
SECTIONS = dict(
    part.partition("\n")[::2] for part in (ROOT / "docs" / "sources.md").read_text(encoding="utf-8").split("\n## ")[1:]
)


def rows(section: str) -> list[list[str]]:
    """Return the cells of the table in a section, row by row, without the header."""
    table = [line for line in section.splitlines() if line.startswith("|")]
    assert table[:2] == ["| item | lesson | heading |", "|---|---|---|"]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[2:]]


def items(section: str) -> list[str]:
    """Return the items of the table in a section. A row may contain several items, one per line."""
    return [item for row in rows(section) for item in row[0].split("<br>")]


def headings(lesson) -> set[str]:
    prose = "\n".join(cell.source for cell in lesson.cells if cell.kind == "markdown")
    return set(re.findall(r"(?m)^#+ (.+)$", prose))


HEADINGS = {stem: headings(lesson) for stem, lesson in LESSONS.items()}
ROWS = [row for section in SECTIONS.values() for row in rows(section)]


def test_five_documents_are_listed_and_no_item_twice():
    assert len(SECTIONS) == 5 and all(len(items(section)) >= 20 for section in SECTIONS.values())
    for title, section in SECTIONS.items():
        assert sorted(items(section)) == sorted(set(items(section))), title


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_each_item_has_a_lesson_with_that_heading_or_a_reason(row):
    item, lesson, target = row
    assert all(item.split("<br>"))
    if lesson == "-":
        assert len(target.split()) >= 3, "Say why the course leaves this item out."
    else:
        assert target in HEADINGS[lesson], f"{lesson} has no heading {target!r}"


@pytest.mark.parametrize(
    "mistake",
    [
        "the code omits it in `compute_attn_weights` and `SingleHeadAttention`",
        "slices along the batch axis",
        "`positional_encoding` uses only the length of its argument",
        "256 ASCII characters",
        "described as an upper triangle and returns the lower one, always on `cuda:0`",
        "softmax twice, and computes the product with V twice",
        "the first position may attend to nothing",
        "`extract_ov` of the causal class returns None",
        "`QK_mat_stack` uses a list that does not exist",
        "are not added to a stream",
        "SGD is given Adam's betas",
        "`evaluate_errors` needs a GPU",
        "`noise_std` is not the standard deviation",
        "`train_comparison` and never defines it",
        "The rotated halves are concatenated",
        "`Text.on_submit`, which is deprecated",
        "the loss includes the input letters",
        "Batches built in a Python loop",
        "`trace` allows the separator",
    ],
)
def test_each_known_mistake_of_a_source_has_one_row(mistake):
    """The mistakes were found by running the documents; the list is kept here, independently of the page."""
    assert sum(mistake in item for section in SECTIONS.values() for item in items(section)) == 1
