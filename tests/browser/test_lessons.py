"""Every solved lesson in a real browser, with the outputs of the run that the book also uses.

nbval runs every untouched lesson; test_lab.py runs an untouched lesson in Lab and fills its gaps.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import harness as browser
from tests.browser.widgets import calls, executed, too_wide, use, widgets_are_there
from utils import lessons
from utils.exercises.exercise import all_exercises

STEMS = [path.stem for path in lessons.all_lessons()]
ASK_THE_KERNEL = ("sentence",)  # explorers that need it; test_notebook7.py uses them
# These lessons are examined in both themes: their texts and outputs are of every kind that the course has. The other
# lessons are examined in one theme, light if their number is even.
IN_BOTH_THEMES = ("00", "02", "05", "13")


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


def themes(stem: str) -> tuple[str, ...]:
    """Return the themes in which a lesson is examined."""
    return browser.THEMES if stem[:2] in IN_BOTH_THEMES else (browser.THEMES[int(stem[:2]) % 2],)


def solved(notebook: browser.Notebook, stem: str) -> None:
    """Every check passes, every widget answers without a kernel, and the page fits into half a window and is
    accessible."""
    page = notebook.page
    used, checked = calls(stem), notebook.check_outputs()
    widgets_are_there(notebook, used)
    assert len(checked) == exercises(stem)
    assert all("passed" in output for output in checked)
    for number in calls(stem, "show", "attention"):
        choose_heads(notebook.code_cells().nth(number))
    answers = {
        number: use(notebook.code_cells().nth(number), call)
        for number, call in used.items()
        if call.func.attr not in ASK_THE_KERNEL
    }
    left_as_it_was(notebook, answers)
    assert notebook.errors() == []

    browser.toggle_file_list(page)
    browser.screenshot(page, f"{stem}-wide")
    wide = too_wide(notebook)
    page.set_viewport_size(browser.HALF_WINDOW)
    browser.set_theme(page, themes(stem)[-1])
    if browser.screenshots_enabled():
        whole(page, f"{stem}-narrow")
    narrow = too_wide(notebook)
    assert (wide, narrow, notebook.accessibility_violations(themes(stem))) == ([], [], [])
    browser.toggle_file_list(page)


@pytest.mark.parametrize("stem", STEMS)
def test_a_solved_lesson(lab: browser.Lab, tmp_path: Path, stem: str) -> None:
    lab.replace_notebooks([executed(stem, tmp_path)], trusted=True)
    page, notebook = lab.page, lab.open_notebook(stem)
    with browser.screenshot_on_failure(page, f"{stem}-failure"):
        solved(notebook, stem)
        browser.close_notebook(page)
