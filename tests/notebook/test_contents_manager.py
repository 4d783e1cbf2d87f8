"""A notebook that `coginst lab` opens names this Python, so that opening it changes nothing."""

import asyncio
import platform
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from nbformat.v4 import new_notebook

from utils.lessons import ROOT
from utils.notebook.contents_manager import CourseContentsManager


@pytest.fixture
def read(tmp_path):
    """Read a file of the folder as Jupyter does, in a thread because the main one may run a browser's event loop."""
    contents = CourseContentsManager(root_dir=str(tmp_path))
    with ThreadPoolExecutor(1) as aside:
        yield lambda name, **how: aside.submit(asyncio.run, contents.get(name, **how)).result()


def test_a_page_names_the_python_that_will_run_it(tmp_path, read):
    handed_out = (ROOT / "course" / "00_start_here.ipynb").read_bytes()
    (tmp_path / "00.ipynb").write_bytes(handed_out)
    metadata = read("00.ipynb")["content"]["metadata"]
    assert metadata["language_info"]["version"] == platform.python_version()
    assert metadata["kernelspec"]["display_name"] == "Python 3 (ipykernel)"
    assert (tmp_path / "00.ipynb").read_bytes() == handed_out


def test_a_page_of_another_kernel_is_handed_out_as_it_is(tmp_path, read):
    nbformat.write(new_notebook(metadata={"kernelspec": {"name": "ir", "display_name": "R"}}), tmp_path / "r.ipynb")
    nbformat.write(new_notebook(), tmp_path / "none.ipynb")
    assert "language_info" not in read("r.ipynb")["content"]["metadata"]
    assert "language_info" not in read("none.ipynb")["content"]["metadata"]


def test_what_is_no_page_is_handed_out_as_it_is(tmp_path, read):
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    assert read("a.txt")["content"] == "a" and read("a.txt", content=False)["content"] is None
    assert [entry["name"] for entry in read("", content=True)["content"]] == ["a.txt"]
