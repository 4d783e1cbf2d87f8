"""Progress: one small file that survives a crash and two notebooks writing at once."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from utils.progress import read, record

MODULE = "utils.progress"  # the package's name is the function
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def store(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    return path


def writer(code: str) -> subprocess.Popen:
    """A second notebook: a process of its own that writes to the same file. It says a line when it has begun."""
    code = "from utils.progress import *\nfrom utils.progress import _turn, store\nimport time\n" + code
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_it_is_kept_and_once_passed_stays_passed(store):
    record("start_here", "row_sums", "todo")
    assert read()["start_here"]["row_sums"]["tries"] == 0
    record("start_here", "row_sums", "failed")
    record("start_here", "row_sums", "passed")
    record("start_here", "row_sums", "failed")
    entry = json.loads(store.read_text())["start_here"]["row_sums"]
    assert (entry["status"], entry["tries"]) == ("passed", 3)


@pytest.mark.parametrize("text", [b"", b"{half", b"[1, 2]", b"\x00\xff"])
def test_a_damaged_file_is_no_error_and_is_set_aside(store, text):
    store.parent.mkdir()
    store.write_bytes(text)
    assert read() == {}
    record("start_here", "row_sums", "passed")
    assert read()["start_here"]["row_sums"]["status"] == "passed"
    assert store.with_name("progress.json.damaged").read_bytes() == text


@pytest.mark.parametrize("entry", [[], None, {}, {"status": "great", "tries": 1, "when": ""}, {"status": "todo", "tries": "2", "when": ""}])
def test_an_entry_that_is_none_costs_only_itself(store, entry):
    record("simplified_attention", "softmax", "passed")
    kept = json.loads(store.read_text())
    kept |= {"start_here": {"row_sums": entry}, "self_attention": entry and [entry]}
    store.write_text(json.dumps(kept))
    record("start_here", "row_sums", "failed")
    assert read()["start_here"]["row_sums"]["status"] == "failed" and read()["simplified_attention"]["softmax"]["status"] == "passed"


def test_a_file_that_cannot_be_read_now_is_not_replaced(store, monkeypatch):
    record("start_here", "row_sums", "passed")
    before = store.read_text()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda self: (_ for _ in ()).throw(PermissionError("another program has it open")))
        record("simplified_attention", "softmax", "passed")
        assert read() == {}
    assert store.read_text() == before


def test_off_and_unwritable_keep_nothing_and_raise_nothing(store, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROGRESS", "off")
    record("start_here", "row_sums", "passed")
    assert read() == {} and not store.exists()
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setenv("COURSE_PROGRESS", str(blocked / "progress.json"))
    record("start_here", "row_sums", "passed")
    assert blocked.read_text() == ""


@pytest.mark.parametrize("locks", ["folder", "file"])
def test_two_notebooks_writing_at_once_lose_nothing(store, locks):
    """Both ways of taking turns: what the operating system locks, and the file that stands in for it (Windows, some disks)."""
    without = "import sys; sys.modules['utils.progress'].fcntl = None\n" if locks == "file" else ""
    loop = "for i in range(60): record('start_here', f'exercise_{%d}_{i}', 'passed')"
    both = [writer(without + loop % n) for n in (0, 1)]
    seen, damaged = 0, 0
    while any(process.poll() is None for process in both):
        try:  # meanwhile a third one reads, and always finds a whole file
            now = len(json.loads(store.read_bytes())["start_here"])
        except FileNotFoundError:
            continue
        except ValueError:
            damaged += 1
            continue
        assert now >= seen
        seen = now
        time.sleep(0.002)
    assert [process.wait() for process in both] == [0, 0] and damaged == 0
    assert len(read()["start_here"]) == 120 and [p.name for p in store.parent.iterdir()] == [store.name]


def test_killed_while_writing_it_keeps_all_that_was_recorded(store):
    """Again and again a process is killed in the middle of its loop; each entry that it had reported is there, and others go on at once."""
    for n in range(5):
        process = writer(f"for i in range(10_000): record('start_here', f'exercise_{n}_{{i}}', 'passed'); print(i, flush=True)")
        reported = [process.stdout.readline() for _ in range(10 + 7 * n)]
        process.kill()
        process.wait()
        process.stdout.close()
        begin = time.monotonic()
        record("simplified_attention", f"after_{n}", "passed")
        assert time.monotonic() - begin < 1, "a lock was left behind"
        kept = json.loads(store.read_text())
        assert {f"exercise_{n}_{int(i)}" for i in reported} <= set(kept["start_here"]) and f"after_{n}" in kept["simplified_attention"]


def test_killed_between_two_files_it_leaves_the_old_one_and_no_litter(store, monkeypatch):
    record("start_here", "row_sums", "passed")
    process = writer("import os, signal\nos.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nrecord('start_here', 'softmax', 'passed')")
    assert process.wait() == -signal.SIGKILL
    (left,) = [p for p in store.parent.iterdir() if p != store]
    assert list(read()["start_here"]) == ["row_sums"]
    record("start_here", "soon", "passed")
    assert left.exists(), "so fresh a file may belong to a notebook that is writing"
    os.utime(left, (0, 0))
    record("start_here", "later", "passed")
    assert [p.name for p in store.parent.iterdir()] == [store.name] and set(read()["start_here"]) == {"row_sums", "soon", "later"}


def test_one_that_hangs_with_the_lock_does_not_stop_the_others(store, monkeypatch):
    record("start_here", "row_sums", "passed")
    process = writer("with _turn(store()): print('mine', flush=True); time.sleep(60)")
    try:
        assert process.stdout.readline() == "mine\n"
        monkeypatch.setattr(sys.modules[MODULE], "LOCK_PATIENCE", 0.2)
        begin = time.monotonic()
        record("start_here", "other", "passed")
        assert 0.2 <= time.monotonic() - begin < 1 and "other" in read()["start_here"]
    finally:
        process.kill()
        process.wait()


def test_a_lock_file_left_by_a_crash_is_removed_and_a_fresh_one_is_waited_for(store, monkeypatch):
    monkeypatch.setattr(sys.modules[MODULE], "fcntl", None)
    monkeypatch.setattr(sys.modules[MODULE], "LOCK_PATIENCE", 0.3)
    store.parent.mkdir()
    lock = store.with_name(store.name + ".lock")
    lock.touch()
    begin = time.monotonic()
    record("start_here", "row_sums", "passed")
    assert 0.25 <= time.monotonic() - begin < 1 and not lock.exists()
    lock.touch()
    os.utime(lock, (0, 0))
    begin = time.monotonic()
    record("start_here", "row_sums", "passed")
    assert time.monotonic() - begin < 0.2 and not lock.exists() and read()["start_here"]["row_sums"]["tries"] == 2


def test_a_disk_that_is_full_leaves_the_old_file(store, monkeypatch):
    record("start_here", "row_sums", "passed")
    before = store.read_text()
    monkeypatch.setattr(os, "fsync", lambda *_: (_ for _ in ()).throw(OSError("no space left on device")))
    record("simplified_attention", "softmax", "passed")
    assert store.read_text() == before and [p.name for p in store.parent.iterdir()] == [store.name]
