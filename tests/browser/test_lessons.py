"""Every lesson in a real browser: as a learner first opens it, and then with its answers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import harness as browser
from tests.browser.widgets import NARROW, WIDE, calls, too_wide, unrun, use, widgets_are_there
from utils import lessons
from utils.feedback.exercise import all_exercises

STEMS = [path.stem for path in lessons.all_lessons()]
THEMES = ("Light", "Dark")  # even lessons are untouched in the first and solved in the second, odd ones the other way


@pytest.fixture(scope="module")
def unrun_lessons(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """All lessons with their answers, of which no cell was run: one builds on another."""
    folder = tmp_path_factory.mktemp("unrun")
    return [unrun(stem, folder) for stem in STEMS]


def choose_heads(cell: Locator) -> None:
    """Point at the last small head of circuitsvis, then go from the first to the second with an arrow key: the large
    table, the last canvas, shows each of them."""
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


def left_as_it_was(notebook: browser.Notebook, said: dict[int, str]) -> None:
    """The cells say what their widgets answered."""
    for number, words in said.items():
        expect(notebook.code_cells().nth(number)).to_contain_text(words, use_inner_text=True)


def widgets_are_saved(saved: dict) -> None:
    """The file holds the state of every widget that an output of it shows."""
    view = "application/vnd.jupyter.widget-view+json"
    outputs = [output.get("data", {}) for cell in saved["cells"] for output in cell.get("outputs", ())]
    shown = {data[view]["model_id"] for data in outputs if view in data}
    assert shown <= saved["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"].keys()


def whole(page: Page, name: str) -> None:
    """Keep a picture of the whole notebook."""
    outer = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer")
    height = min(16_000, outer.evaluate("it => it.scrollHeight") + 150)
    page.set_viewport_size({**page.viewport_size, "height": height})
    outer.evaluate("it => it.scrollTo(0, 0)")
    page.wait_for_timeout(200)
    browser.screenshot(page, name)


def exercises(stem: str) -> int:
    return len([e for e in all_exercises().values() if e.lesson == stem[3:]])


def untouched(notebook: browser.Notebook, stem: str, theme: str) -> None:
    """Run All is calm: nothing is red, each check says that there is something to do, and everybody can read it."""
    assert not notebook.has_unsaved_changes(), "Jupyter takes the page for changed although nobody touched it"
    notebook.run_all()
    assert notebook.errors() == []
    checked = notebook.check_outputs()
    assert len(checked) == exercises(stem)
    assert all("not attempted yet" in said for said in checked)
    browser.set_theme(notebook.page, theme)
    browser.screenshot(notebook.page, f"{stem}-untouched")
    assert notebook.accessibility_violations() == []


def solved(notebook: browser.Notebook, stem: str, theme: str) -> None:
    """Run All is green and each widget answers; all fits into half a window and can be read by everybody."""
    page = notebook.page
    notebook.run_all()
    used, checked = calls(stem), notebook.check_outputs()
    widgets_are_there(notebook, used)
    assert len(checked) == exercises(stem)
    assert all("passed" in output for output in checked)
    for number in calls(stem, "show", "attention"):
        choose_heads(notebook.code_cells().nth(number))
    said = {number: use(notebook.code_cells().nth(number), call) for number, call in used.items()}
    left_as_it_was(notebook, said)
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
def test_a_lesson_is_calm_and_then_answers(lab: browser.Lab, unrun_lessons: list[Path], stem: str) -> None:
    """First untouched, then with its answers in the same kernel, as when a learner has filled the gaps.

    The saved file has all that a page needs to come back as it was left; that it does is seen in test_live.py.
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
