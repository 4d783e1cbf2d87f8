"""Progress: one small file that survives a crash and two notebooks writing at once."""

import json
import multiprocessing
import os
import sys

import pytest

from utils.progress import Progress, progress, read, record


@pytest.fixture
def store(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    return path


def test_it_is_kept_and_once_passed_stays_passed(store):
    record("start_here", "row_sums", "todo")
    assert read()["start_here"]["row_sums"]["tries"] == 0
    record("start_here", "row_sums", "failed")
    record("start_here", "row_sums", "passed")
    record("start_here", "row_sums", "failed")
    entry = json.loads(store.read_text())["start_here"]["row_sums"]
    assert (entry["status"], entry["tries"]) == ("passed", 3)


def test_the_table(store):
    assert progress().passed == 0
    record("start_here", "row_sums", "passed")
    shown = progress()
    assert shown.passed == 1
    assert "✓ row_sums (1 try)" in repr(shown) and "○ softmax" in repr(shown)
    assert "passed</td>" in shown._repr_html_() and "<script" not in Progress([("a", "<script>", "todo", 0)])._repr_html_()


def test_lessons_stand_in_the_order_of_the_course(store):
    order = list(dict.fromkeys(row[0] for row in progress().rows))
    assert order.index("start_here") < order.index("simplified_attention") < order.index("self_attention")


@pytest.mark.parametrize("text", ["", "{half", "[1, 2]", "\x00\xff"])
def test_a_damaged_file_is_no_error(store, text):
    store.parent.mkdir()
    store.write_text(text)
    assert read() == {}
    record("start_here", "row_sums", "passed")
    assert read()["start_here"]["row_sums"]["status"] == "passed"


def test_off_and_unwritable_keep_nothing_and_raise_nothing(store, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROGRESS", "off")
    record("start_here", "row_sums", "passed")
    assert read() == {} and not store.exists()
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setenv("COURSE_PROGRESS", str(blocked / "progress.json"))
    record("start_here", "row_sums", "passed")
    assert blocked.read_text() == ""


def test_a_lock_left_by_a_crash_is_broken(store, monkeypatch):
    monkeypatch.setattr(sys.modules["utils.progress"], "LOCK_PATIENCE", 0.05)  # the package's name is the function
    store.parent.mkdir()
    store.with_name(store.name + ".lock").touch()
    record("start_here", "row_sums", "passed")
    assert read()["start_here"]["row_sums"]["status"] == "passed"


def test_a_crash_while_writing_leaves_the_old_file(store, monkeypatch):
    record("start_here", "row_sums", "passed")
    before = store.read_text()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("the power went")))
    record("simplified_attention", "softmax", "passed")
    assert store.read_text() == before and [p.name for p in store.parent.iterdir()] == [store.name]


def _write(worker):
    for i in range(20):
        record("start_here", f"exercise_{worker}_{i}", "passed")


def test_two_notebooks_writing_at_once_lose_nothing(store):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(_write, [0, 1])
    assert len(read()["start_here"]) == 40
    assert [p.name for p in store.parent.iterdir()] == [store.name]
