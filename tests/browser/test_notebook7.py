"""A lesson in Jupyter Notebook 7, which uses JupyterLab's components in another frame."""

from pathlib import Path

from playwright.sync_api import Browser

from tests.browser import harness as browser
from tests.browser.widgets import calls, too_wide, unrun, use, widgets_are_there
from utils.exercises.exercise import all_exercises

STEM = "01_tokenization"  # has predictions, quizzes, an explorer without a kernel and two that use the kernel


def test_a_lesson_answers_in_notebook_7(chromium: Browser, tmp_path: Path) -> None:
    """Every check passes, every widget answers, and no output is an error or crosses the edge."""
    with (
        browser.serve_jupyter(tmp_path / "served", [unrun(STEM, tmp_path)], program=browser.NOTEBOOK) as url,
        browser.open_lab(chromium, url) as page,
    ):
        notebook = browser.Notebook(page)
        notebook.run_all()
        used, checked = calls(STEM), notebook.check_outputs()
        widgets_are_there(notebook, used)
        assert len(checked) == len([e for e in all_exercises().values() if e.lesson == STEM[3:]])
        assert all("passed" in output for output in checked)
        for number, call in used.items():
            use(notebook.code_cells().nth(number), call)
        assert (notebook.errors(), notebook.count_disconnected_widgets()) == ([], 0)
        wide = too_wide(notebook)
        page.set_viewport_size(browser.HALF_WINDOW)
        browser.screenshot(page, f"{STEM}-notebook7")
        assert (wide, too_wide(notebook)) == ([], [])
