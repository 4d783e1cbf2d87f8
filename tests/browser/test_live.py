"""Explorers, predictions and quizzes in JupyterLab: with a busy kernel, after a restart, and without a kernel."""

from __future__ import annotations

from pathlib import Path

import ipywidgets
import nbformat
import pytest
from ipywidgets.embed import dependency_state
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Page, expect

from tests.browser import harness as browser

WIDGETS = [
    "from utils import explore",
    "explore.predict('How many?', answer=60)",
    "explore.quiz('Which?', {'red': 'Red is hot.', 'blue': 'Blue is far.'}, 'blue')",
    "explore.causal([[0.0, 1.0], [0.0, 0.0]], ['a', 'b'], position=0)",
]
# These widgets contain a model's parameters, as bytes.
WRITER = """from solutions import toy_transformer
from utils import load_cogmodel
explore.writer(*load_cogmodel(build=toy_transformer.CogModel), "strawberry upper")"""
SORTER = """from solutions import abc_sorter as lesson
from utils.models import abc_sorter
model = abc_sorter.Sorter(lesson.DeepQKVAttention(6, 2, 7))
log = abc_sorter.load_usual(model)
explore.sorter(model, "bca")"""
ENDLESS = "while True: pass"
CELLS = [*WIDGETS, WRITER, SORTER, ENDLESS]
NO_KERNELS = """async () => {
    const {kernels} = window.jupyterapp.serviceManager;
    await kernels.refreshRunning();
    return [...kernels.running()].length === 0;
}"""

# JupyterLab ignores a command to save until the last save has made its checkpoint.
SLOW_CHECKPOINTS = """() => {
    const {contents} = window.jupyterapp.serviceManager, create = contents.createCheckpoint.bind(contents);
    contents.createCheckpoint = path => new Promise(done => setTimeout(done, 1000)).then(() => create(path));
}"""


@pytest.fixture
def page_of_widgets(tmp_path: Path) -> Path:
    path = tmp_path / "00_live.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in CELLS], metadata=browser.KERNEL), path)
    return path


def run(notebook: browser.Notebook, sources: list[str]) -> None:
    for source in sources:
        notebook.run(notebook.cell(source))


def guess_60(notebook: browser.Notebook) -> None:
    box = notebook.panel.get_by_role("textbox", name="Your guess: How many?")
    box.press_sequentially("60", delay=0)
    box.press("Enter")


def try_everything(notebook: browser.Notebook) -> None:
    """Use the prediction, the quiz and the explorer, and wait for their answers."""
    guess_60(notebook)
    expect(notebook.panel).to_contain_text("Right. Your guess: 60")
    notebook.panel.get_by_role("button", name="B blue").click()
    expect(notebook.panel).to_contain_text("Right. Blue is far.")
    notebook.panel.get_by_role("checkbox", name="mask on").check()
    expect(notebook.panel).to_contain_text("may use 1 of 2")


def compute(notebook: browser.Notebook) -> None:
    """Type into the writer and the sorter, and wait for the answers of their models."""
    for cell, text, answer in ((WRITER, "journal echo", "journal echo journal"), (SORTER, "cab", "cab becomes abc.")):
        box = notebook.cell(cell).locator("input[type=text]")
        box.fill(text)
        box.press("Enter")
        expect(notebook.panel).to_contain_text(answer)


def busy(page: Page, notebook: browser.Notebook) -> None:
    notebook.cell(ENDLESS).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'busy'"
    )


def widgets_are_saved(saved: dict) -> None:
    """Check that the file contains the state of every widget that its outputs show."""
    view = "application/vnd.jupyter.widget-view+json"
    outputs = [output.get("data", {}) for cell in saved["cells"] for output in cell.get("outputs", ())]
    shown = {data[view]["model_id"] for data in outputs if view in data}
    states = saved["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    assert len(shown) == len(WIDGETS) + 1 and shown <= states.keys()


def test_a_guess_is_judged_while_the_kernel_is_busy(lab: browser.Lab, page_of_widgets: Path) -> None:
    lab.replace_notebooks([page_of_widgets])
    page, notebook = lab.page, lab.open_notebook(page_of_widgets.name)
    with browser.screenshot_on_failure(page, "live-failure"):
        run(notebook, WIDGETS)
        busy(page, notebook)
        try_everything(notebook)
        browser.close_notebook(page)


def test_a_page_works_without_its_kernel(lab: browser.Lab, page_of_widgets: Path) -> None:
    """Without a kernel, every widget works and none looks broken; a saved page is restored as it was left."""
    lab.replace_notebooks([page_of_widgets])
    page, notebook = lab.page, lab.open_notebook(page_of_widgets.name)
    with browser.screenshot_on_failure(page, "live-failure"):
        run(notebook, [*WIDGETS, WRITER, SORTER])
        guess_60(notebook)
        widgets_are_saved(notebook.save(lab.folder / page_of_widgets.name))
        page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
        assert notebook.count_disconnected_widgets() == 0
        notebook.panel.get_by_role("button", name="B blue").click()
        expect(notebook.panel).to_contain_text("Right. Blue is far.")
        browser.choose_menu_item(page, "Kernel", "Shut Down All Kernels…")
        page.locator(".jp-Dialog .jp-mod-accept").click()
        page.wait_for_function(NO_KERNELS)
        notebook.panel.get_by_role("checkbox", name="mask on").check()
        expect(notebook.panel).to_contain_text("may use 1 of 2")
        assert notebook.count_disconnected_widgets() == 0

        notebook = browser.open_in_reloaded_page(page, lab.notebook_url(page_of_widgets.name))
        expect(notebook.panel).to_contain_text("Right. Your guess: 60")
        notebook.panel.get_by_role("button", name="B blue").click()
        expect(notebook.panel).to_contain_text("Right. Blue is far.")
        notebook.panel.get_by_role("checkbox", name="mask on").check()
        expect(notebook.panel).to_contain_text("may use 1 of 2")
        compute(notebook)
        page.keyboard.type("dd")  # typing in a widget must not trigger Lab's shortcuts
        expect(notebook.code_cells()).to_have_count(len(CELLS))
        assert notebook.count_disconnected_widgets() == 0
        browser.screenshot(page, "live-reopened")
        browser.close_notebook(page)


def test_a_lesson_keeps_its_widgets_when_it_is_saved_after_a_restart(
    lab: browser.Lab, page_of_widgets: Path, tmp_path: Path
) -> None:
    """JupyterLab itself saves only widgets that are connected to the kernel. A lesson that was opened again, and whose
    kernel was then restarted, is saved twice; its explorers are still there when it is opened a third time."""
    lesson = page_of_widgets.rename(tmp_path / "00_start_here.ipynb")
    lab.replace_notebooks([lesson])
    page, notebook = lab.page, lab.open_notebook(lesson.name)
    with browser.screenshot_on_failure(page, "restart-failure"):
        run(notebook, [*WIDGETS, WRITER, SORTER])
        guess_60(notebook)
        widgets_are_saved(notebook.save(lab.folder / lesson.name))
        notebook = browser.open_in_reloaded_page(page, lab.notebook_url(lesson.name))
        page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
        browser.await_ready(page)
        page.evaluate(SLOW_CHECKPOINTS)
        for source in ("x = 1", "x = 2"):
            notebook.type(notebook.code_cells().last, source)
            widgets_are_saved(notebook.save(lab.folder / lesson.name))
        notebook = browser.open_in_reloaded_page(page, lab.notebook_url(lesson.name))
        expect(notebook.panel).to_contain_text("Right. Your guess: 60")
        notebook.panel.get_by_role("checkbox", name="mask on").check()
        expect(notebook.panel).to_contain_text("may use 1 of 2")
        assert notebook.count_disconnected_widgets() == 0
        browser.close_notebook(page)


def test_two_tabs_on_one_lesson(lab: browser.Lab, page_of_widgets: Path) -> None:
    """The second tab must choose a version when it saves. If it loads the saved version, it shows the answers of the
    first tab, and both tabs follow each other's answers."""
    lab.replace_notebooks([page_of_widgets])
    first = lab.open_notebook(page_of_widgets.name)
    page = lab.page.context.new_page()
    with browser.screenshot_on_failure(page, "tabs-failure"):
        second = browser.open_in_reloaded_page(page, lab.notebook_url(page_of_widgets.name))
        run(first, WIDGETS)
        guess_60(first)
        first.save(lab.folder / page_of_widgets.name)
        second.type(second.cell(ENDLESS), "x = 1")
        page.keyboard.press("ControlOrMeta+s")
        expect(page.locator(".jp-Dialog")).to_contain_text("File Changed")
        page.get_by_role("button", name="Revert").click()
        expect(second.panel).to_contain_text("Right. Your guess: 60")
        second.panel.get_by_role("button", name="B blue").click()
        expect(first.panel).to_contain_text("Right. Blue is far.")
    page.close()
    browser.close_notebook(lab.page)


def test_a_cell_that_is_run_too_early_shows_no_error(lab: browser.Lab) -> None:
    """The kernel has not imported the course yet. A name that no cell above defines is still an error."""
    lesson = browser.ROOT / "course" / "02_simplified_attention.ipynb"
    lab.replace_notebooks([lesson, lesson.with_suffix(".md")])
    page, notebook = lab.page, lab.open_notebook(lesson.name)
    with browser.screenshot_on_failure(page, "early-failure"):
        output = notebook.run(notebook.cell("check(softmax)"))
        assert "Run All Above Selected Cell" in output
        assert notebook.errors() == []
        cell = notebook.cell("check(softmax)")
        notebook.type(cell, "print(undefined)")
        assert "NameError: name 'undefined' is not defined" in notebook.run(cell)
        browser.close_notebook(page)


def test_an_old_notebook_still_opens(lab: browser.Lab, tmp_path: Path) -> None:
    """A notebook that was saved when predictions and explorers were ipywidgets still shows them."""
    box = ipywidgets.VBox([ipywidgets.Text("60", description="guess"), ipywidgets.HTML("<b>Right.</b> Your guess: 60")])
    view = {"model_id": box.model_id, "version_major": 2, "version_minor": 0}
    shown = new_output("display_data", {"text/plain": "A box.", "application/vnd.jupyter.widget-view+json": view})
    state = {"version_major": 2, "version_minor": 0, "state": dependency_state(box)}
    old = new_notebook(
        cells=[new_code_cell("explore.predict('How many?', answer=60)", outputs=[shown], execution_count=1)],
        metadata={**browser.KERNEL, "widgets": {"application/vnd.jupyter.widget-state+json": state}},
    )
    path = tmp_path / "00_old.ipynb"
    nbformat.write(old, path)
    lab.replace_notebooks([path], trusted=True)  # it is the learner's own notebook
    notebook = lab.open_notebook(path.name)
    expect(notebook.panel).to_contain_text("Right. Your guess: 60")
    expect(notebook.panel.get_by_role("textbox", name="guess")).to_have_value("60")
    assert notebook.errors() == []
    browser.close_notebook(lab.page)
