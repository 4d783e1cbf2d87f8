"""Every lesson as a learner first opens it in a real browser: Run All is calm, nothing is red, nothing leaves the machine."""

from pathlib import Path

import browser
import pytest
from playwright.sync_api import expect

from utils import lessons
from utils.exercise import all_exercises

STEMS = [path.stem for path in lessons.all_lessons()]
SOLVED = browser.ROOT / "tests" / "solved"


@pytest.mark.parametrize("stem", [stem for stem in STEMS if not stem.startswith("02")])  # lesson 02 has a test of its own
def test_an_untouched_lesson_runs_to_its_end(tmp_path: Path, stem: str) -> None:
    with browser.serve(tmp_path, [browser.ROOT / "course" / f"{stem}.ipynb"]) as url, browser.open_lab(url) as page:
        notebook = browser.Notebook(page)
        notebook.run_all()
        assert notebook.errors() == []
        checks = [notebook.code_cells().nth(n) for n, source in enumerate(notebook.sources()) if "\ncheck(" in source]
        assert len(checks) == len([e for e in all_exercises().values() if e.lesson == stem[3:]])
        for cell in checks:
            assert "not attempted yet" in notebook.outputs(cell)
        browser.screenshot(page, f"{stem}-untouched")


def test_the_sorter_answers_what_is_typed_on_the_page(tmp_path: Path) -> None:
    """Lesson 09, solved: the text box sorts "cab"."""
    with browser.serve(tmp_path, [SOLVED / "09_abc_sorter.ipynb"]) as url, browser.open_lab(url) as page:
        notebook = browser.Notebook(page)
        notebook.run_all()
        assert notebook.errors() == []
        cell = notebook.cell("explore.sorter(")
        cell.scroll_into_view_if_needed()
        expect(cell).to_contain_text("bca becomes abc", timeout=20_000)
        box = cell.locator("input[type='text']")
        box.fill("cab")
        box.press("Enter")
        expect(cell).to_contain_text("cab becomes abc", timeout=20_000)
        box.fill("cax")
        box.press("Enter")
        expect(cell).to_contain_text("three letters from a, b, c are needed")
        browser.screenshot(page, "09-typed")
