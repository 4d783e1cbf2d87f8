"""A spoilt lesson, or one cell of it, is put back; nothing that a learner wrote is lost."""

import errno
import json
import os
import shutil
from unittest.mock import Mock

import pytest

from utils.cli import reset as module
from utils.cli.reset import reset
from utils.lessons import ROOT

STEM = "02_simplified_attention"


@pytest.fixture
def course(tmp_path):
    """A learner's folder with lesson 02, as they first got it."""
    folder = tmp_path / "course"
    folder.mkdir()
    for name in (f"{STEM}.ipynb", f"{STEM}.md", ".coginst.json"):
        shutil.copy(ROOT / "course" / name, folder)
    return folder


@pytest.fixture(params=["from the solutions", "from the text", "from the release"])
def again(request, course, tmp_path, monkeypatch):
    """Resets with the answers at hand, and as a student who has none; the last has saved the page, and its text."""
    if request.param != "from the solutions":
        monkeypatch.setattr(module, "ROOT", tmp_path / "nowhere")
    if request.param == "from the release":
        first = tmp_path / "nowhere" / module.INITIAL_LESSONS
        first.mkdir(parents=True)
        shutil.move(course / f"{STEM}.md", first)
        (course / f"{STEM}.md").write_text("what Jupyter wrote when the page was saved", encoding="utf-8")
    return lambda *what: reset(*what, course=course, backup_folder=tmp_path / "kept")


def cells(course):
    return json.loads((course / f"{STEM}.ipynb").read_text(encoding="utf-8"))["cells"]


def write(course, cells):
    path = course / f"{STEM}.ipynb"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), "cells": cells}), encoding="utf-8")


def place(cells, name):
    return next(n for n, cell in enumerate(cells) if f"check({name}" in "".join(cell["source"]))


def test_a_whole_lesson(course, again, tmp_path):
    first = (course / f"{STEM}.ipynb").read_bytes()
    write(course, cells(course)[:3])
    spoilt = (course / f"{STEM}.ipynb").read_bytes()
    said = again("02")
    assert (course / f"{STEM}.ipynb").read_bytes() == first
    (kept,) = (tmp_path / "kept").glob("*.ipynb")
    assert kept.read_bytes() == spoilt and str(kept) in said[1]


@pytest.mark.parametrize("name", ["02", f"{STEM}.ipynb"])
@pytest.mark.parametrize("gone", ["ipynb", "*"])
def test_a_lesson_that_is_gone(course, again, name, gone):
    if gone == "*" and not any((module.ROOT / place).is_dir() for place in ("solutions", module.INITIAL_LESSONS)):
        pytest.skip("the only original is gone too")
    first = (course / f"{STEM}.ipynb").read_bytes()
    for path in course.glob(f"{STEM}.{gone}"):
        path.unlink()
    again(name)
    assert (course / f"{STEM}.ipynb").read_bytes() == first


def test_one_exercise_and_nothing_else(course, again):
    page = cells(course)
    at, other = place(page, "softmax"), place(page, "simple_attention")
    stub = page[at]["source"]
    page[at] = {**page[at], "source": "spoilt", "execution_count": 4}
    page[other]["source"] = "my answer"
    write(course, page)
    again(STEM, "softmax")
    assert cells(course)[at]["source"] == stub and cells(course)[at]["execution_count"] is None
    assert cells(course)[other]["source"] == "my answer"
    text = (course / f"{STEM}.md").read_text(encoding="utf-8")  # Jupyter reads the cells from it
    assert "".join(stub) in text and "my answer" in text and "spoilt" not in text
    assert (course / f"{STEM}.md").stat().st_mtime_ns >= (course / f"{STEM}.ipynb").stat().st_mtime_ns


def test_a_cell_that_was_deleted_comes_back_where_it_was(course, again):
    page = cells(course)
    at = place(page, "softmax")
    mine = {"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "my notes"}
    write(course, [*page[: at - 1], mine, *page[at + 1 :]])  # the cell above it is gone, too
    again("02", "softmax")
    back = [cell["id"] for cell in cells(course)]
    assert back[at - 2 : at + 1] == [page[at - 2]["id"], page[at]["id"], "mine"] and len(back) == len(page)


def test_a_notebook_without_ids(course, again):
    """An older notebook format has no ids. The cell is restored in its place, and not added at the top."""
    bare = [{key: value for key, value in cell.items() if key != "id"} for cell in cells(course)]
    at = place(bare, "softmax")
    bare[at]["source"] = ["def softmax(x, dim=-1):\n", "    return x\n", "\n", "check(softmax)"]
    write(course, bare)
    again("02", "softmax")
    restored = cells(course)
    assert len(restored) == len(bare) and place(restored, "softmax") == at and "id" not in restored[at]
    assert "NotImplementedError" in "".join(restored[at]["source"])


def test_a_cell_without_a_place_is_refused(course, again):
    write(course, [{"cell_type": "markdown", "id": "mine", "metadata": {}, "source": ["notes"]}])
    with pytest.raises(ValueError, match="all cells above it are gone"):
        again("02", "softmax")


def test_the_paired_text_is_kept_too(course, tmp_path):
    text = course / f"{STEM}.md"
    text.write_text(text.read_text(encoding="utf-8") + "\nPRECIOUS\n", encoding="utf-8")
    said = reset("02", "softmax", course=course, backup_folder=tmp_path / "kept")
    kept = [path for path in (tmp_path / "kept").iterdir() if "PRECIOUS" in path.read_text(encoding="utf-8")]
    assert len(kept) == 1 and str(kept[0]) in said[1]


def test_newer_cells_of_the_paired_text_stay(course, tmp_path):
    """A learner wrote an answer in the text, with another editor. JupyterLab would show it."""
    path, text = course / f"{STEM}.ipynb", course / f"{STEM}.md"
    page = cells(course)
    page[place(page, "softmax")]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "ran"}]
    ids = [cell["id"] for cell in page]
    write(course, page)
    text.write_text(
        text.read_text(encoding="utf-8").replace("check(simple_attention)", "mine = 1\ncheck(simple_attention)")
    )
    os.utime(text, ns=(path.stat().st_mtime_ns + 1,) * 2)
    reset("02", "softmax", course=course, backup_folder=tmp_path / "kept")
    page = cells(course)
    assert "mine = 1" in "".join(page[place(page, "simple_attention")]["source"]) and "mine = 1" in text.read_text()
    assert [cell["id"] for cell in page] == ids and page[place(page, "softmax")]["outputs"] == []


def test_where_the_installation_is_read_only_the_backup_is_with_the_learner(course, monkeypatch):
    monkeypatch.setattr(module.os, "access", lambda path, mode: path != module.ROOT)
    said = reset("02", course=course)
    assert str(course / ".reset") in said[1] and len([*(course / ".reset").iterdir()]) == 2


def test_a_lesson_that_is_gone_comes_back_in_the_folder_of_the_others(course, tmp_path, monkeypatch):
    shutil.copy(ROOT / "course" / "03_self_attention.ipynb", course)
    for path in course.glob(f"{STEM}.*"):
        path.unlink()
    monkeypatch.chdir(course)
    reset("02", backup_folder=tmp_path / "kept")
    assert cells(course)


@pytest.mark.parametrize("number, words", [(errno.EROFS, "Copy"), (errno.EACCES, "Copy"), (errno.ENOSPC, "")])
def test_a_failed_backup_leaves_no_file_and_names_the_reason(course, tmp_path, monkeypatch, number, words):
    before = (course / f"{STEM}.ipynb").read_bytes()
    error = OSError(number, os.strerror(number))
    monkeypatch.setattr(os, "fsync", Mock(side_effect=error))
    with pytest.raises(OSError, match=f"{words}.*") as raised:
        reset("02", course=course, backup_folder=tmp_path / "kept")
    assert STEM in str(raised.value) and ".new" not in str(raised.value)
    assert not [*(tmp_path / "kept").iterdir()] and (course / f"{STEM}.ipynb").read_bytes() == before


@pytest.mark.parametrize(
    "what, words",
    [
        (("02", "sofmax"), "no exercise 'sofmax'. It has: .*softmax"),
        (("77",), "77"),
    ],
)
def test_what_there_is_not(course, again, what, words):
    before = (course / f"{STEM}.ipynb").read_bytes()
    with pytest.raises(ValueError, match=words):
        again(*what)
    assert (course / f"{STEM}.ipynb").read_bytes() == before


def test_nothing_to_make_it_from(course, tmp_path, monkeypatch, snapshot):
    monkeypatch.setattr(module, "ROOT", tmp_path / "nowhere")
    with open(course / f"{STEM}.md", "a", encoding="utf-8") as text:
        text.write("mine")
    with pytest.raises(ValueError) as error:
        reset("02", course=course, backup_folder=tmp_path / "kept")
    assert str(error.value) == snapshot


def test_a_page_that_is_no_notebook(course, again, snapshot):
    (course / f"{STEM}.ipynb").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError) as error:
        again("02", "softmax")
    assert str(error.value) == snapshot
    again("02")
    assert cells(course)


@pytest.mark.parametrize("later", [f"{STEM}.ipynb", f"{STEM}.md"])
def test_the_notebook_of_the_folder_one_is_in_goes_first(course, tmp_path, monkeypatch, later):
    """Whichever of the pair was written last."""
    monkeypatch.setattr(module, "ROOT", tmp_path / "the course's own")
    monkeypatch.chdir(course)
    write(course, cells(course)[:3])
    os.utime(course / later, (2e9, 2e9))
    said = reset("02", backup_folder=tmp_path / "kept")
    assert len(cells(course)) > 3 and f"{STEM}.ipynb" in said[0]
