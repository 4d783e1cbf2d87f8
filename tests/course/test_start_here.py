"""Test lesson 00: right answers to its exercise, and the claims of its prose."""

import inspect
import json
import re

import pytest
import torch

from utils import lessons
from utils.cli import reset
from utils.feedback.check import check
from utils.feedback.diagnose import TIME_LIMIT
from utils.notebook.warm_up import AT_MOST

RIGHT = {
    "row_sums": [
        lambda x: torch.einsum("ij->i", x),
        lambda x: x @ torch.ones(x.shape[1]),
        lambda x: torch.stack([sum(row) for row in x]),
    ],
}


def test_messages_for_the_two_wrong_answers_of_the_page(snapshot):
    def row_sums(x):
        return x.sum(dim=0)

    report = check(row_sums)
    assert report.misconception == "sums-columns" and report.message == snapshot
    quote = "You added down the columns"
    assert report.message.startswith(quote) and f"**{quote}.**" in lessons.find_lesson("00").read_text(encoding="utf-8")

    def row_sums(x):
        x.sum(dim=1)

    report = check(row_sums)
    assert report.reason == "structure" and report.message == snapshot

    def row_sums(x):
        raise NotImplementedError("row_sums")

    report = check(row_sums)
    assert report.status == "todo" and str(report) == snapshot


def test_quiz_and_prediction():
    assert torch.zeros(4, 7).sum(dim=0).shape == (7,)
    assert torch.zeros(4, 7).sum(dim=1).shape == (4,)
    assert torch.zeros(4, 7).sum(dim=0, keepdim=True).shape == (1, 7)
    assert sum([10, 20, 30]) == 60


def test_claims_about_time_limit_and_warm_up_and_reload():
    text = lessons.find_lesson("00").read_text(encoding="utf-8")
    assert f"a check stops automatically after about {TIME_LIMIT:.0f} seconds of work" in text
    assert "asks up to three earlier questions again" in text and AT_MOST == 3
    assert "*File ▸ Reload Notebook from Disk*" in text
    assert "File ▸ Reload Notebook from Disk" in inspect.getsource(reset)


def test_the_command_of_the_page_restores_a_deleted_cell(tmp_path):
    command = re.search(r"`!coginst reset (\S+) (\S+)`", lessons.find_lesson("00").read_text(encoding="utf-8"))
    course = tmp_path / "course"
    course.mkdir()
    notebook = course / "00_start_here.ipynb"
    complete = json.loads((lessons.ROOT / "course" / notebook.name).read_text(encoding="utf-8"))
    left = [cell for cell in complete["cells"] if "def row_sums" not in "".join(cell["source"])]
    notebook.write_text(json.dumps({**complete, "cells": left}), encoding="utf-8")
    reset.reset(*command.groups(), course=course, backup_folder=tmp_path / "kept")
    assert json.loads(notebook.read_text(encoding="utf-8"))["cells"] == complete["cells"] != left


def test_the_research_questions_are_lessons():
    """Lessons 09, 10 and 11: a sorter with 480 parameters, regression in context, and a volume as a score."""
    research = [lessons.read_lesson(lessons.find_lesson(number)) for number in ("09", "10", "11")]
    assert [lesson.name for lesson in research] == ["abc_sorter", "icl_regression", "gram_attention"]
    assert "480" in research[0].path.read_text(encoding="utf-8")


@pytest.mark.claim("If you add along the wrong axis, torch often gives wrong numbers and no error.")
@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (3, 5)])
@pytest.mark.parametrize("seed", range(3))
def test_a_sum_along_the_wrong_axis_raises_no_error(shape, seed):
    """Normalise a table with sums along each axis. Only with the other axis do the rows not sum to one."""
    x = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) + 0.1
    one = torch.ones(shape[0])
    assert torch.allclose((x / x.sum(dim=1, keepdim=True)).sum(dim=1), one)
    assert not torch.allclose((x / x.sum(dim=0, keepdim=True)).sum(dim=1), one, atol=1e-2)


def test_a_table_of_one_row_or_one_column_is_a_table(snapshot):
    def row_sums(x):
        return x.sum(dim=1, keepdim=True).squeeze()

    assert check(row_sums).misconception == "drops-the-row-axis"

    def row_sums(x):
        return x.sum(dim=1) if x.shape[1] > 1 else x

    report = check(row_sums)
    assert report.reason == "shape" and report.message == snapshot


def test_a_return_inside_the_loop():
    def row_sums(x):
        for row in x:
            return row.sum()

    assert check(row_sums).misconception == "first-row-only"
