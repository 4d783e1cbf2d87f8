"""A notebook that `coginst lab` opens names this Python, so that opening it changes nothing."""

import asyncio
import platform
import shutil
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
