"""The concept inventory and the warm-up in JupyterLab, with a kernel that scores, stores and repeats."""

import json
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, expect

from tests.browser import harness as browser
from utils import explore
from utils.learner_data.progress import read_reviews
from utils.learning.inventory import read_inventory

QUESTION = "Why was one layer not enough here for words of different lengths?"  # a quiz of lesson 08
CELLS = ["from utils import progress\n\nprogress().inventory()", "progress().warm_up()"]


def test_the_kernel_scores_a_sitting_and_repeats_a_question_that_fails(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "progress.json"
    start = dict(explore.quiz(QUESTION, {"wrong": "No.", "right": "Yes."}, "right").start)
    answer = {"kind": "quizzes", "start": start, "right": True, "sure": "", "when": "2026-01-01T00:00:00+00:00"}
    path.write_text(json.dumps({"answers": {QUESTION: answer}}), encoding="utf-8")
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    lesson = tmp_path / "08_toy_transformer.ipynb"
    nbformat.write(
        nbformat.v4.new_notebook(metadata=browser.KERNEL, cells=list(map(nbformat.v4.new_code_cell, CELLS))), lesson
    )
    with browser.serve_jupyter(tmp_path / "served", [lesson]) as url, browser.open_lab(chromium, url) as page:
        notebook = browser.Notebook(page)
        notebook.run_all()
        sitting, warm_up = (notebook.code_cells().nth(number) for number in range(2))
        sitting.get_by_role("button", name="Begin").click()
        for _ in range(12):
            sitting.get_by_role("button", name="Skip").click()
        sitting.get_by_role("button", name="Finish").click()
        expect(sitting).to_contain_text("0 of 12 answers were right.", use_inner_text=True)
        expect(sitting.get_by_role("group", name="Result")).to_be_focused()
        assert len(read_inventory()) == 12

        choices = warm_up.locator("button.choice")
        expect(choices).to_have_count(2)
        choices.nth(0).click()
        expect(choices).to_have_count(4)
        choices.nth(3).click()
        expect(warm_up).to_contain_text("Right. Yes.")
        expect(choices).to_have_count(4)
        assert list(read_reviews()) == [QUESTION] and notebook.errors() == []
        browser.screenshot(page, "inventory")
