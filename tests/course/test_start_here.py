"""Lesson 00: right answers of its exercise, and what its prose says."""

import inspect
import json
import re

import torch

from utils import lessons
from utils.cli import reset
from utils.feedback.check import check
from utils.feedback.diagnose import TIME_LIMIT
from utils.notebook.calibration import WARM_UP

RIGHT = {
    "row_sums": [
        lambda x: torch.einsum("ij->i", x),
        lambda x: x @ torch.ones(x.shape[1]),
        lambda x: torch.stack([sum(row) for row in x]),
    ],
}


def test_the_two_wrong_answers_of_the_page_read_as_it_says():
    def row_sums(x):
        return x.sum(dim=0)

    assert check(row_sums).message.startswith("You added down the columns")

    def row_sums(x):
        x.sum(dim=1)

    assert check(row_sums).message.endswith("returned None. Did you forget `return`?")

    def row_sums(x):
        raise NotImplementedError("row_sums")

    assert str(check(row_sums)) == "○ row_sums: not attempted yet. `hint(row_sums)` gives a nudge."


def test_quiz_and_prediction():
    assert torch.zeros(4, 7).sum(dim=0).shape == (7,)
    assert torch.zeros(4, 7).sum(dim=1).shape == (4,)
    assert torch.zeros(4, 7).sum(dim=0, keepdim=True).shape == (1, 7)
    assert sum([10, 20, 30]) == 60


def test_what_the_page_says_of_stopping_getting_back_and_coming_back():
    text = lessons.find_lesson("00").read_text(encoding="utf-8")
    assert f"a check stops by itself after {TIME_LIMIT:.0f} seconds" in text
    assert "asks three predictions or quizzes once more" in text and WARM_UP == 3
    assert "*File ▸ Reload Notebook from Disk*" in text
    assert "File ▸ Reload Notebook from Disk" in inspect.getsource(reset)


def test_a_cell_is_had_back_as_the_page_says(tmp_path):
    """`coginst reset 00 row_sums` where the exercise's cell is gone."""
    said = re.search(r"`!coginst reset (\S+) (\S+)`", lessons.find_lesson("00").read_text(encoding="utf-8"))
    course = tmp_path / "course"
    course.mkdir()
    notebook = course / "00_start_here.ipynb"
    whole = json.loads((lessons.ROOT / "course" / notebook.name).read_text(encoding="utf-8"))
    left = [cell for cell in whole["cells"] if "def row_sums" not in "".join(cell["source"])]
    notebook.write_text(json.dumps({**whole, "cells": left}), encoding="utf-8")
    reset.reset(*said.groups(), course=course, backup_folder=tmp_path / "kept")
    assert json.loads(notebook.read_text(encoding="utf-8"))["cells"] == whole["cells"] != left


def test_the_research_questions_are_lessons():
    """A sorter of 480 parameters, regression in context, and a volume as a score."""
    ends = [lessons.read_lesson(lessons.find_lesson(number)) for number in ("09", "10", "11")]
    assert [lesson.name for lesson in ends] == ["abc_sorter", "icl_regression", "gram_attention"]
    assert "480" in ends[0].path.read_text(encoding="utf-8")


def test_a_sum_along_the_wrong_axis_raises_no_error():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.sum(dim=0).shape == x.sum(dim=1).shape and not torch.equal(x.sum(dim=0), x.sum(dim=1))


def test_a_table_of_one_row_or_one_column_is_a_table():
    def row_sums(x):
        return x.sum(dim=1, keepdim=True).squeeze()

    assert check(row_sums).misconception == "drops-the-row-axis"

    def row_sums(x):
        return x.sum(dim=1) if x.shape[1] > 1 else x

    assert "[3, 1]" in check(row_sums).message


def test_a_return_inside_the_loop():
    def row_sums(x):
        for row in x:
            return row.sum()

    assert check(row_sums).misconception == "first-row-only"
