"""The home view in a real browser: it is readable in both themes, and its links open the lesson at the exercise."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import harness as browser
from utils.learner_data.progress import record_attempt

HOME = re.compile(r"progress\(\)(?!\.)")  # the call of the cell that shows the home view
COURSE = browser.ROOT / "course"


def test_its_links_lead_to_the_next_exercise(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Use Lab's default, which renders only the cells in view, as for a learner.
    monkeypatch.setitem(browser.SETTINGS, "notebook-extension/tracker", {})
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    record_attempt("start_here", "row_sums", "passed")
    for name in ("attn_scores_2", "attn_weights_2", "context_vec_2"):
        record_attempt("simplified_attention", name, "passed")
    record_attempt("simplified_attention", "softmax", "failed")
    lessons = [COURSE / "00_start_here.ipynb", COURSE / "02_simplified_attention.ipynb"]
    with (
        browser.serve_jupyter(tmp_path / "served", lessons) as url,
        browser.open_lab(chromium, url) as page,
    ):
        cell = look_at_the_home_view(page)
        # On a busy machine, the lesson opens slowly and Lab may forget to jump to the exercise: then try again.
        assert any(follow_the_link(page, cell) for _ in range(3))
        page.wait_for_timeout(1000)  # Lab may now render cells above it, which moves it
        expect(gap(page)).to_be_in_viewport()
        browser.screenshot(page, "home-arrived")


def look_at_the_home_view(page: Page) -> Locator:
    """Run the cell of lesson 00 that shows the home view, look at it in both themes, and return the cell."""
    notebook = browser.Notebook(page)
    page.get_by_role("link", name="How far you are").click()  # from the top of the page
    expect(page.get_by_role("heading", name="How far you are")).to_be_in_viewport()
    cell = notebook.panel.locator(".jp-CodeCell", has_text=HOME)
    expect(cell).to_be_in_viewport()
    shown = notebook.run(cell)
    assert "4 of" in shown and not notebook.errors()
    assert "lesson 02, Attention without training: softmax" in shown
    area = cell.locator(".jp-OutputArea")
    assert area.evaluate("area => area.scrollWidth <= area.clientWidth"), "the table is wider than the page"
    browser.screenshot(area, "home-light")
    browser.set_theme(page, "Dark")
    browser.screenshot(area, "home-dark")
    browser.set_theme(page, "Light")
    return page.locator(".jp-CodeCell", has_text=HOME)


def gap(page: Page) -> Locator:
    """Return the cell of the next exercise."""
    return browser.Notebook(page).panel.locator(".jp-CodeCell", has_text="check(softmax)")


def follow_the_link(page: Page, cell: Locator) -> bool:
    """Click the link in the tab of lesson 00, and tell whether the exercise comes into view."""
    page.locator(".lm-TabBar-tab", has_text="00_start_here").first.click()
    cell.get_by_role("link", name=re.compile("^lesson 02, ")).click()
    expect(browser.Notebook(page).panel).to_contain_text("Attention without training")
    try:
        expect(gap(page)).to_be_in_viewport(timeout=40_000)
    except AssertionError:
        return False
    return True
