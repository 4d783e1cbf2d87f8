"""Every lesson in a real browser: first untouched, then with its answers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import harness as browser
from tests.browser.widgets import NARROW, WIDE, calls, too_wide, unrun, use, widgets_are_there
from utils import lessons
from utils.feedback.exercise import all_exercises

STEMS = [path.stem for path in lessons.all_lessons()]
THEMES = ("Light", "Dark")  # even lessons: untouched in the first, solved in the second; odd lessons: reversed


@pytest.fixture(scope="module")
def unrun_lessons(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """All lessons with their answers and without outputs; later lessons use earlier ones."""
    folder = tmp_path_factory.mktemp("unrun")
    return [unrun(stem, folder) for stem in STEMS]


def choose_heads(cell: Locator) -> None:
    """Point at the last small head of circuitsvis, then move from the first to the second with an arrow key.

    The large table, the last canvas, must show the chosen head each time.
    """
    heads = cell.locator("[data-place] [role=radio]")
    expect(heads.last).to_be_visible(timeout=20_000)
    shows(cell, heads.last, heads.last.hover)
    cell.page.mouse.move(0, 0)
    shows(cell, heads.nth(1), lambda: heads.first.press("ArrowRight"))


def shows(cell: Locator, head: Locator, choose: Callable[[], None]) -> None:
    place = cell.locator("[data-place]")
    before = place.locator("canvas").last.evaluate("canvas => canvas.toDataURL()")
    choose()
    expect(place.locator("h3").nth(1)).to_have_text(head.get_attribute("aria-label"))
    expect(head).to_have_attribute("aria-checked", "true")
    drawn = "([place, before]) => [...place.querySelectorAll('canvas')].at(-1).toDataURL() !== before"
    cell.page.wait_for_function(drawn, arg=[place.element_handle(), before])


def left_as_it_was(notebook: browser.Notebook, answers: dict[int, str]) -> None:
    """Check that the cells still show the answers of their widgets."""
    for number, words in answers.items():
        expect(notebook.code_cells().nth(number)).to_contain_text(words, use_inner_text=True)


def widgets_are_saved(saved: dict) -> None:
    """Check that the file contains the state of every widget that its outputs show."""
    view = "application/vnd.jupyter.widget-view+json"
    outputs = [output.get("data", {}) for cell in saved["cells"] for output in cell.get("outputs", ())]
    shown = {data[view]["model_id"] for data in outputs if view in data}
    assert shown <= saved["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"].keys()


def whole(page: Page, name: str) -> None:
    """Save a picture of the whole notebook."""
    outer = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer")
    height = min(16_000, outer.evaluate("it => it.scrollHeight") + 150)
    page.set_viewport_size({**page.viewport_size, "height": height})
    outer.evaluate("it => it.scrollTo(0, 0)")
    page.wait_for_timeout(200)
    browser.screenshot(page, name)


def exercises(stem: str) -> int:
    return len([e for e in all_exercises().values() if e.lesson == stem[3:]])


def untouched(notebook: browser.Notebook, stem: str, theme: str) -> None:
    """Run All shows no error, every check says that its exercise is open, and the page is accessible."""
    assert not notebook.has_unsaved_changes(), "Jupyter shows an untouched notebook as changed"
    notebook.run_all()
    assert notebook.errors() == []
    checked = notebook.check_outputs()
    assert len(checked) == exercises(stem)
    assert all("not attempted yet" in output for output in checked)
    browser.set_theme(notebook.page, theme)
    browser.screenshot(notebook.page, f"{stem}-untouched")
    assert notebook.accessibility_violations() == []


def solved(notebook: browser.Notebook, stem: str, theme: str) -> None:
    """Every check passes, every widget answers, and the page fits into half a window and is accessible."""
    page = notebook.page
    notebook.run_all()
    used, checked = calls(stem), notebook.check_outputs()
    widgets_are_there(notebook, used)
    assert len(checked) == exercises(stem)
    assert all("passed" in output for output in checked)
    for number in calls(stem, "show", "attention"):
        choose_heads(notebook.code_cells().nth(number))
    answers = {number: use(notebook.code_cells().nth(number), call) for number, call in used.items()}
    left_as_it_was(notebook, answers)
    assert notebook.errors() == []

    browser.toggle_file_list(page)
    browser.screenshot(page, f"{stem}-wide")
    wide = too_wide(notebook)
    page.set_viewport_size(NARROW)
    browser.set_theme(page, theme)
    if browser.screenshots_enabled():
        whole(page, f"{stem}-narrow")
    narrow = too_wide(notebook)
    page.set_viewport_size(WIDE)
    assert (wide, narrow, notebook.accessibility_violations()) == ([], [], [])
    browser.toggle_file_list(page)


@pytest.mark.parametrize("stem", STEMS)
def test_a_lesson_untouched_and_solved(lab: browser.Lab, unrun_lessons: list[Path], stem: str) -> None:
    """Run the untouched lesson, then its answers in the same kernel, as when a learner has filled the gaps.

    The saved file must contain everything that restores the page; test_live.py checks that Lab restores it.
    """
    lab.replace_notebooks(browser.ROOT / "course" / f"{each}.ipynb" for each in STEMS)
    page, notebook = lab.page, lab.open_notebook(stem)
    first, second = THEMES if int(stem[:2]) % 2 == 0 else reversed(THEMES)
    with browser.screenshot_on_failure(page, f"{stem}-failure"):
        untouched(notebook, stem, first)
        lab.replace_notebooks(unrun_lessons)
        notebook.revert_to_file()
        solved(notebook, stem, second)
        widgets_are_saved(notebook.save(lab.folder / f"{stem}.ipynb"))
        browser.close_notebook(page)
