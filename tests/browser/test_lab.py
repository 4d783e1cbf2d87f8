"""The course in a real browser: what a learner does and then reads on the page."""

import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from playwright.sync_api import Page, expect

from tests.browser import harness as browser
from utils.cli.reset import reset
from utils.exercises.exercise import all_exercises, find_exercise

STUDENTS = browser.ROOT / "course" / "02_simplified_attention.ipynb"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook with one cell of each kind that the harness must distinguish."""
    cells = [
        new_markdown_cell("# A small notebook"),
        new_code_cell("import sys, utils\nprint(sys.prefix)"),
        new_code_cell("1 / 0", metadata={"tags": ["raises-exception"]}),
        *(new_code_cell(f"print('line', {n})") for n in range(60)),
        new_code_cell("x = 1"),
    ]
    path = tmp_path_factory.mktemp("source") / "00_small.ipynb"
    nbformat.write(new_notebook(cells=cells, metadata=browser.KERNEL), path)
    return path


def test_the_harness_reads_what_the_page_shows(lab: browser.Lab, small: Path) -> None:
    lab.replace_notebooks([small])
    page, notebook = lab.page, lab.open_notebook(small.name)
    with browser.screenshot_on_failure(page, "harness-failure"):
        notebook.run_all()
        assert sys.prefix in notebook.outputs(notebook.cell("sys.prefix")), "the kernel is another Python"
        assert "line 59" in notebook.outputs(notebook.cell("'line', 59"))
        assert len(notebook.errors()) == 1 and "ZeroDivisionError" in notebook.errors()[0]
        notebook.type(notebook.cell("'line', 3)"), "0 / 0")
        with pytest.raises(AssertionError, match=r"Run All did not get past '0 / 0'.*ZeroDivisionError"):
            notebook.run_all()
        cell = notebook.cell("x = 1")
        notebook.type(cell, "def f():\n    return 'typed'\n\nf()")
        assert "typed" in notebook.run(cell)
        browser.set_theme(page, "Dark")
        browser.screenshot(page, "harness-dark")
        browser.set_theme(page, "Light")
        browser.screenshot(page, "harness-light")
        browser.close_notebook(page)


def test_the_harness_waits_for_a_slow_server(lab: browser.Lab, small: Path) -> None:
    """Lab shows an empty notebook that is "idle" until the file's cells arrive, and drops cells that run before the
    kernel is ready."""
    lab.replace_notebooks([small])
    network = lab.page.context.new_cdp_session(lab.page)
    slow = {"offline": False, "latency": 250, "downloadThroughput": -1, "uploadThroughput": -1}
    network.send("Network.emulateNetworkConditions", slow)
    notebook = browser.open_in_reloaded_page(lab.page, lab.notebook_url(small.name))
    assert len(notebook.sources()) == 63
    assert "line 59" in notebook.run(notebook.cell("'line', 59"))
    network.detach()  # restores the fast network
    browser.close_notebook(lab.page)


def message(exercise: str, misconception: str) -> str:
    """Return the message of a misconception."""
    (text,) = [wrong.message for wrong in find_exercise(exercise).misconceptions if wrong.id == misconception]
    return text


def answer(notebook: browser.Notebook, exercise: str, body: str) -> str:
    """Replace the exercise's stub with `body`, run the cell, and return its output."""
    (source,) = [
        cell.source for cell in nbformat.read(STUDENTS, as_version=4).cells if f"check({exercise})" in cell.source
    ]
    stub = f'    # YOUR CODE HERE\n    raise NotImplementedError("{exercise}")\n'
    assert stub in source
    cell = notebook.cell(f"check({exercise})")
    notebook.type(cell, source.replace(stub, body))
    return notebook.run(cell)


def test_a_learner_in_lesson_02(lab: browser.Lab, tmp_path: Path) -> None:
    """Run All on the untouched copy shows no error, a misconception gets its own message, a right answer passes, and
    after a reset the exercise is open again."""
    lab.replace_notebooks([STUDENTS, STUDENTS.with_suffix(".md")])
    page, notebook = lab.page, lab.open_notebook(STUDENTS.name)
    with browser.screenshot_on_failure(page, "02-failure"):
        assert not notebook.has_unsaved_changes()
        notebook.run_all()
        assert notebook.errors() == []
        checked = notebook.check_outputs()
        assert len(checked) == len([e for e in all_exercises().values() if e.lesson == "simplified_attention"])
        assert all("not attempted yet" in output for output in checked)
        show(page, notebook, "softmax", "untouched")

        output = answer(notebook, "softmax", "    return torch.exp(x) / torch.exp(x).sum(dim, keepdim=True)\n")
        assert message("softmax", "overflows") in output
        output = answer(
            notebook,
            "softmax",
            "    e = (x - x.amax(dim, keepdim=True)).exp()\n    return e / e.sum(dim, keepdim=True)\n",
        )
        assert "passed" in output.lower()
        show(page, notebook, "softmax", "passed")

        wrong = "    weights = torch.softmax(inputs @ inputs.T, dim=0)\n    return weights @ inputs, weights\n"
        assert message("simple_attention", "wrong-axis") in answer(notebook, "simple_attention", wrong)
        for name in ("Dark", "Light"):
            browser.set_theme(page, name)
            show(page, notebook, "simple_attention", f"diagnosis-{name.lower()}")
        assert notebook.accessibility_violations() == []
        browser.set_theme(page, "Light")
        assert "passed" in answer(notebook, "simple_attention", wrong.replace("dim=0", "dim=-1")).lower()
        assert notebook.errors() == []

        path = lab.folder / STUDENTS.name
        notebook.save(path)
        reset("02", "softmax", course=path.parent, backup_folder=tmp_path / "kept")
        browser.choose_menu_item(page, "File", "Reload Notebook from Disk")
        softmax = notebook.panel.locator(".jp-CodeCell", has_text="check(softmax)")
        expect(softmax).to_contain_text("YOUR CODE HERE")
        assert "not attempted yet" in notebook.run(softmax)
        assert "passed" in notebook.outputs(notebook.cell("check(simple_attention)"))
        notebook.save(path)  # Jupyter must not ask which of two versions to keep
        browser.set_theme(page, "Light")
        browser.close_notebook(page)


def show(page: Page, notebook: browser.Notebook, exercise: str, name: str) -> None:
    """Save a picture of the window, and one of the exercise's cell."""
    cell = notebook.cell(f"check({exercise})")
    cell.scroll_into_view_if_needed()
    browser.screenshot(page, f"02-{name}")
    browser.screenshot(cell, f"02-{name}-cell")
