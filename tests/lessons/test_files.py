"""Test how files are written. test_lessons.py tests how lessons are found and read."""

import os
import stat
import threading
from unittest.mock import Mock

import pytest

from utils.lessons import hold_lock, write_atomically


@pytest.mark.parametrize("content", ["π and\nlines\n", b"\x00\xff\r\n", ""])
def test_a_file_is_replaced_whole(tmp_path, content):
    path = tmp_path / "page.md"
    path.write_text("old", encoding="utf-8")
    write_atomically(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert os.listdir(tmp_path) == ["page.md"]


def test_a_written_file_has_the_mode_of_any_other(tmp_path):
    (tmp_path / "usual").write_text("", encoding="utf-8")
    write_atomically(tmp_path / "new", "")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, UnicodeEncodeError])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step, error):
    def fail(*_):
        raise error

    path = tmp_path / "page.md"
    path.write_text("old", encoding="utf-8")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(error):
        write_atomically(path, "\ud800" if error is UnicodeEncodeError else "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["page.md"]


@pytest.mark.parametrize("path, error", [("nowhere/page.md", FileNotFoundError), ("folder", OSError), ("", OSError)])
def test_an_error_names_the_file_and_not_the_temporary_file(tmp_path, monkeypatch, path, error):
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as raised:
        write_atomically(path, "new")
    assert raised.value.filename == (path or ".") and os.listdir(tmp_path) == ["folder"]


def test_under_one_lock_one_is_at_work_and_a_late_one_may_give_up_or_go_on(tmp_path):
    lock, late = tmp_path / "lock", []
    with hold_lock(lock, 0, pytest.fail) as first:
        with (
            pytest.raises(ValueError, match="no patience"),
            hold_lock(lock, 0, Mock(side_effect=ValueError("no patience"))),
        ):
            pytest.fail("two are at work")
        with hold_lock(lock, 0, Mock(side_effect=TimeoutError)) as second:
            pass
        waits = threading.Thread(target=lambda: late.append(enter()))

        def enter():
            with hold_lock(lock, 0, waiting.set) as third:
                return third

        waiting = threading.Event()
        waits.start()
        waiting.wait()
        assert late == []
    waits.join()
    assert (first, second, late) == (True, False, [True])


def test_where_there_can_be_no_lock_the_block_runs_without(tmp_path):
    (tmp_path / "file").touch()
    with hold_lock(tmp_path / "file" / "lock", 600, pytest.fail) as alone:
        assert not alone
