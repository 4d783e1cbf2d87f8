"""The home view in a real browser: it reads in light and dark, and its links open the lesson at the exercise."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import harness as browser
from utils.feedback.progress import record

COURSE = browser.ROOT / "course"


def test_its_links_lead_to_where_one_stopped(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As Lab comes: it draws what is in view, and jumps as a learner's does.
    monkeypatch.setitem(browser.SETTINGS, "notebook-extension/tracker", {})
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    record("start_here", "row_sums", "passed")
    for name in ("attn_scores_2", "attn_weights_2", "context_vec_2"):
        record("simplified_attention", name, "passed")
    record("simplified_attention", "softmax", "failed")
    lessons = [COURSE / "00_start_here.ipynb", COURSE / "02_simplified_attention.ipynb"]
    with browser.serve(tmp_path / "served", lessons) as url:
        # Where a machine is so busy that a page opens slowly, Lab forgets where it was to jump: then once more.
        assert any(follow_the_link(chromium, url) for _ in range(3))


def follow_the_link(chromium: Browser, url: str) -> bool:
    """Open lesson 00, look at the home view, and follow its link; whether that ends at the exercise."""
    with browser.open_lab(chromium, url) as page:
        notebook = browser.Notebook(page)
        page.get_by_role("link", name="How far you are").click()  # from the top of the page
        expect(page.get_by_role("heading", name="How far you are")).to_be_in_viewport()
        cell = notebook.panel.locator(".jp-CodeCell", has_text="progress()")
        expect(cell).to_be_in_viewport()
        shown = notebook.run(cell)
        assert "4 of" in shown and not notebook.errors()
        assert "Go on with lesson 02, Attention without training: softmax" in shown
        area = cell.locator(".jp-OutputArea")
        assert area.evaluate("area => area.scrollWidth <= area.clientWidth"), "the table is wider than the page"
        browser.screenshot(area, "home-light")
        browser.theme(page, "Dark")
        browser.screenshot(area, "home-dark")
        browser.theme(page, "Light")

        cell.get_by_role("link", name=re.compile("^lesson 02, ")).click()
        expect(page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")).to_contain_text("Attention without training")
        gap = browser.Notebook(page).panel.locator(".jp-CodeCell", has_text="check(softmax)")
        try:
            expect(gap).to_be_in_viewport(timeout=40_000)
        except AssertionError:
            return False
        page.wait_for_timeout(1000)  # what stands above it may be drawn now, and move it
        expect(gap).to_be_in_viewport()
        browser.screenshot(page, "home-arrived")
        return True
