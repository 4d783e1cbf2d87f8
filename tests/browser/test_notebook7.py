"""A lesson in Jupyter Notebook 7, which is JupyterLab's parts in another frame: it answers there as well."""

from pathlib import Path

from playwright.sync_api import Browser

from tests.browser import harness as browser
from tests.browser.widgets import NARROW, calls, too_wide, unrun, use, widgets_are_there
from utils.feedback.exercise import all_exercises

STEM = "01_tokenization"  # predictions, quizzes, an explorer of the page alone and two that ask the kernel


def test_a_lesson_answers_in_notebook_7(chromium: Browser, tmp_path: Path) -> None:
    """Every check passes and each widget follows the hand; nothing is red, or reaches over the edge."""
    with (
        browser.serve_jupyter(tmp_path / "served", [unrun(STEM, tmp_path)], program=browser.NOTEBOOK) as url,
        browser.open_lab(chromium, url) as page,
    ):
        notebook = browser.Notebook(page)
        notebook.run_all()
        used, checked = calls(STEM), notebook.check_outputs()
        widgets_are_there(notebook, used)
        assert len(checked) == len([e for e in all_exercises().values() if e.lesson == STEM[3:]])
        assert all("passed" in said for said in checked)
        for number, call in used.items():
            use(notebook.code_cells().nth(number), call)
        assert (notebook.errors(), notebook.count_disconnected_widgets()) == ([], 0)
        wide = too_wide(notebook)
        page.set_viewport_size(NARROW)
        browser.screenshot(page, f"{STEM}-notebook7")
        assert (wide, too_wide(notebook)) == ([], [])
