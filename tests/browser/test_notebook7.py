"""Two lessons in Jupyter Notebook 7, which is JupyterLab's parts in another frame: they answer there as well."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser import harness as browser
from tests.browser.widgets import NARROW, calls, too_wide, unrun, use, widgets_are_there
from utils.feedback.exercise import all_exercises

STEMS = ["02_simplified_attention", "05_multihead_attention"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the first of the lessons opens."""
    source, folder = tmp_path_factory.mktemp("unrun"), tmp_path_factory.mktemp("served")
    with browser.serve(folder, [unrun(stem, source) for stem in STEMS], program=browser.NOTEBOOK) as url:
        yield url


@pytest.mark.parametrize("stem", STEMS)
def test_a_lesson_answers_in_notebook_7(chromium: Browser, address: str, stem: str) -> None:
    """Every check passes and each widget follows the hand; nothing is red, or reaches over the edge."""
    with browser.open_lab(chromium, address.replace(STEMS[0], stem)) as page:
        notebook = browser.Notebook(page)
        notebook.run_all()
        used, checked = calls(stem), notebook.checked()
        widgets_are_there(notebook, used)
        assert len(checked) == len([e for e in all_exercises().values() if e.lesson == stem[3:]])
        assert all("passed" in said for said in checked)
        for number, call in used.items():
            use(notebook.code_cells().nth(number), call)
        assert (notebook.errors(), notebook.disconnected()) == ([], 0)
        wide = too_wide(notebook)
        page.set_viewport_size(NARROW)
        browser.screenshot(page, f"{stem}-notebook7")
        assert (wide, too_wide(notebook)) == ([], [])
