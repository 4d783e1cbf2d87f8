"""The course in a real browser: what a learner does, and what they then read on the page."""

from pathlib import Path

import browser
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook that has one of everything that the harness must tell apart."""
    cells = [new_markdown_cell("# A small one"), new_code_cell("import sys, utils\nprint(sys.prefix)"), new_code_cell("1 / 0", metadata={"tags": ["raises-exception"]})]
    cells += [new_code_cell(f"print('line', {n})") for n in range(60)] + [new_code_cell("x = 1")]
    path = tmp_path_factory.mktemp("source") / "00_small.ipynb"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), path)
    return path


def test_the_harness_sees_what_a_reader_sees(tmp_path: Path, small: Path) -> None:
    import sys

    with browser.serve(tmp_path, [small]) as url, browser.open_lab(url) as page:
        notebook = browser.Notebook(page)
        notebook.run_all()
        assert sys.prefix in notebook.outputs(notebook.cell("sys.prefix")), "the kernel is another Python"
        assert "line 59" in notebook.outputs(notebook.cell("'line', 59"))
        assert len(notebook.errors()) == 1 and "ZeroDivisionError" in notebook.errors()[0]
        cell = notebook.cell("x = 1")
        notebook.type(cell, "def f():\n    return 'typed'\n\nf()")
        assert "typed" in notebook.run(cell)
        browser.theme(page, "Dark")
        browser.screenshot(page, "harness-dark")
        browser.theme(page, "Light")
        browser.screenshot(page, "harness-light")
