"""Test that opening a lesson changes nothing, and that saving a lesson keeps its widgets."""

import asyncio
import json
import platform
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from utils.lessons import ROOT
from utils.notebook.contents_manager import CourseContentsManager
from utils.notebook.widget_states import STATES, VIEW, widget_states


@pytest.fixture
def contents(tmp_path):
    """Call a method of the contents manager as Jupyter does, in a thread because the main one may run a browser's event
    loop.
    """
    manager = CourseContentsManager(root_dir=str(tmp_path))
    with ThreadPoolExecutor(1) as aside:
        yield lambda method, *words, **how: aside.submit(asyncio.run, getattr(manager, method)(*words, **how)).result()


@pytest.fixture
def read(contents):
    """Read a file of the folder."""
    return partial(contents, "get")


def notebook_with_widgets(shown, saved):
    """Return a notebook whose outputs show some widgets, and that contains the states of others.

    Each widget has a layout, which is a widget of its own.
    """
    states = {}
    for name in saved:
        states |= {name: {"model_name": "AnyModel", "state": {"layout": f"IPY_MODEL_{name}0"}}}
        states |= {f"{name}0": {"model_name": "LayoutModel", "state": {}}}
    widgets = {STATES: {"version_major": 2, "version_minor": 0, "state": states}}
    outputs = [new_output("display_data", {"text/plain": "An explorer.", VIEW: {"model_id": name}}) for name in shown]
    return new_notebook(cells=[new_code_cell("x", outputs=outputs)], metadata={"widgets": widgets})


@pytest.mark.parametrize("name, kept", [("00_start_here", True), ("notes", False)])
def test_a_saved_lesson_keeps_the_widgets_that_it_shows(tmp_path, contents, name, kept):
    """The kernel has restarted, and one explorer ran again: JupyterLab sends only the state of that one."""
    path = tmp_path / f"{name}.ipynb"
    nbformat.write(notebook_with_widgets(["a", "b", "c"], ["a", "b", "c"]), path)
    sent = {"type": "notebook", "format": "json", "content": notebook_with_widgets(["a", "d"], ["d"])}
    contents("save", sent, path.name)
    assert set(widget_states(json.loads(path.read_text("utf-8")))) == {"d", "d0"} | ({"a", "a0"} if kept else set())


@pytest.mark.parametrize("old", [None, "no JSON", "[1]", '{"metadata": {"widgets": 3}}'])
def test_a_lesson_without_a_readable_earlier_version_is_saved_as_it_is(tmp_path, contents, old):
    path = tmp_path / "00_start_here.ipynb"
    if old is not None:
        path.write_text(old, encoding="utf-8")
    contents("save", {"type": "notebook", "format": "json", "content": notebook_with_widgets(["a"], [])}, path.name)
    assert widget_states(json.loads(path.read_text("utf-8"))) == {}


def test_if_jupyter_saves_no_states_none_are_added(tmp_path, contents):
    path = tmp_path / "00_start_here.ipynb"
    nbformat.write(notebook_with_widgets(["a"], ["a"]), path)
    sent = notebook_with_widgets(["a"], [])
    del sent["metadata"]["widgets"]
    contents("save", {"type": "notebook", "format": "json", "content": sent}, path.name)
    assert "widgets" not in json.loads(path.read_text("utf-8"))["metadata"]


def test_a_page_names_the_python_that_will_run_it(tmp_path, read):
    handed_out = (ROOT / "course" / "00_start_here.ipynb").read_bytes()
    (tmp_path / "00_start_here.ipynb").write_bytes(handed_out)
    metadata = read("00_start_here.ipynb")["content"]["metadata"]
    assert metadata["language_info"]["version"] == platform.python_version()
    assert metadata["kernelspec"]["display_name"] == "Python 3 (ipykernel)"
    assert (tmp_path / "00_start_here.ipynb").read_bytes() == handed_out


def test_a_lesson_is_listed_once_and_text_without_a_notebook_is_listed(tmp_path, read):
    for name in ("00_start_here.ipynb", "00_start_here.md", "01_tokenization.md", "notes.ipynb", "notes.md"):
        shutil.copy(ROOT / "course" / "00_start_here.md", tmp_path / name)
    names = {entry["name"] for entry in read("")["content"]}
    assert names == {"00_start_here.ipynb", "01_tokenization.md", "notes.ipynb", "notes.md"}


def test_a_page_of_another_kernel_is_handed_out_as_it_is(tmp_path, read):
    pair, other = {"jupytext": {"formats": "ipynb,md"}}, {"kernelspec": {"name": "ir", "display_name": "R"}}
    python = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    for metadata, name in ((pair | other, "00_start_here"), (pair, "01_tokenization"), (python, "02_self_attention")):
        nbformat.write(new_notebook(metadata=metadata), tmp_path / f"{name}.ipynb")
        assert "language_info" not in read(f"{name}.ipynb")["content"]["metadata"]
    nbformat.write(new_notebook(metadata=pair | python), tmp_path / "notes.ipynb")
    assert "language_info" not in read("notes.ipynb")["content"]["metadata"]


def test_what_is_no_page_is_handed_out_as_it_is(tmp_path, read):
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    assert read("a.txt")["content"] == "a" and read("a.txt", content=False)["content"] is None
    assert [entry["name"] for entry in read("", content=True)["content"]] == ["a.txt"]
