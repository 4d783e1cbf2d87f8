"""Progress: one small file that survives a crash and two notebooks writing at once."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from filelock import FileLock
from typer.testing import CliRunner

from tests.feedback.answers import with_name
from utils.cli.commands import app
from utils.feedback.check import check
from utils.learner_data import progress
from utils.learner_data.progress import read_answers, read_progress, record_answer, record_attempt
from utils.lessons import ROOT


@pytest.fixture
def store(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    return path


def writer(code: str) -> subprocess.Popen:
    """Start a second notebook: another process that writes to the same file."""
    imports = (
        "import time\nfrom filelock import FileLock\n"
        "from utils.learner_data.progress import progress_path, record_attempt\n"
    )
    return subprocess.Popen([sys.executable, "-c", imports + code], cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8")


def files_beside(store):
    """Return the names of the other files in the folder of the progress file, except its lock."""
    return {p.name for p in store.parent.iterdir()} - {store.name, store.name + ".lock"}


def test_a_passed_exercise_stays_passed(store):
    record_attempt("start_here", "row_sums", "todo")
    assert read_progress()["start_here"]["row_sums"]["tries"] == 0
    record_attempt("start_here", "row_sums", "failed")
    record_attempt("start_here", "row_sums", "passed")
    record_attempt("start_here", "row_sums", "failed")
    entry = json.loads(store.read_text(encoding="utf-8"))["start_here"]["row_sums"]
    assert (entry["status"], entry["tries"]) == ("passed", 2)


def test_an_attempt_is_a_changed_answer_up_to_the_first_pass(store):
    wrong, other, right = (
        with_name("row_sums", answer) for answer in (lambda x: x.sum(0), lambda x: x.sum(), lambda x: x.sum(dim=1))
    )
    for answer, tries in ((wrong, 1), (wrong, 1), (other, 2), (wrong, 3), (right, 4), (right, 4), (wrong, 4)):
        check(answer)
        assert read_progress()["start_here"]["row_sums"]["tries"] == tries
    for value, tries in ((torch.zeros(6), 1), (torch.zeros(6), 1), (torch.ones(6), 2)):
        check(attn_scores_2=value)
        assert read_progress()["simplified_attention"]["attn_scores_2"]["tries"] == tries


@pytest.mark.parametrize("text", [b"", b"{half", b"[1, 2]", b"\x00\xff", b"[" * 200_000])
def test_a_damaged_file_is_said_once_and_set_aside(store, text, capsys):
    store.parent.mkdir()
    for name in ("progress.json.damaged", "progress.json.damaged-2"):
        store.write_bytes(text + b" " * (name == "progress.json.damaged-2"))
        assert read_progress() == {}
        record_attempt("start_here", "row_sums", "passed")
        assert read_progress()["start_here"]["row_sums"]["status"] == "passed"
        (said,) = capsys.readouterr().out.splitlines()
        assert f"{store} is damaged" in said and f" {name} " in said
    assert files_beside(store) == {"progress.json.damaged", "progress.json.damaged-2"}
    assert store.with_name("progress.json.damaged").read_bytes() == text


def test_a_file_saved_with_a_byte_order_mark_is_not_damaged(store):
    """Windows Notepad can add this mark."""
    record_attempt("start_here", "row_sums", "passed")
    store.write_bytes(b"\xef\xbb\xbf" + store.read_bytes())
    assert "row_sums" in read_progress()["start_here"]


@pytest.mark.parametrize(
    "entry", [[], None, {}, {"status": "great", "tries": 1, "when": ""}, {"status": "todo", "tries": "2", "when": ""}]
)
def test_an_invalid_entry_costs_only_itself(store, entry):
    record_attempt("simplified_attention", "softmax", "passed")
    kept = json.loads(store.read_text(encoding="utf-8"))
    kept |= {"start_here": {"row_sums": entry}, "self_attention": entry and [entry]}
    store.write_text(json.dumps(kept), encoding="utf-8")
    record_attempt("start_here", "row_sums", "failed")
    assert (
        read_progress()["start_here"]["row_sums"]["status"] == "failed"
        and read_progress()["simplified_attention"]["softmax"]["status"] == "passed"
    )


def test_a_file_that_cannot_be_read_now_is_not_replaced(store, monkeypatch):
    record_attempt("start_here", "row_sums", "passed")
    before = store.read_text(encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(
            Path, "read_bytes", lambda self: (_ for _ in ()).throw(PermissionError("another program has it open"))
        )
        record_attempt("simplified_attention", "softmax", "passed")
        assert read_progress() == {}
    assert store.read_text(encoding="utf-8") == before


def test_off_and_unwritable_keep_nothing_and_raise_nothing(store, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROGRESS", "off")
    record_attempt("start_here", "row_sums", "passed")
    assert read_progress() == {} and not store.exists()
    blocked = tmp_path / "a file"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("COURSE_PROGRESS", str(blocked / "progress.json"))
    record_attempt("start_here", "row_sums", "passed")
    assert blocked.read_text(encoding="utf-8") == ""


@pytest.mark.parametrize("lock", ["FileLock", "SoftFileLock"])
def test_two_notebooks_writing_at_once_lose_nothing(store, lock):
    """There are two kinds of locks: those of the operating system and, on some disks, a file that replaces them."""
    using = f"import filelock; filelock.FileLock = filelock.{lock}\n"
    using += "from utils.learner_data import progress; progress.LOCK_TIMEOUT = 600\n"  # a busy machine may need it
    loop = "for i in range(60): record_attempt('start_here', f'exercise_{%d}_{i}', 'passed')"
    writers = [writer(using + loop % n) for n in (0, 1)]
    previous, damaged = 0, 0
    while any(process.poll() is None for process in writers):
        try:  # meanwhile this process reads the file, which must always be complete
            count = len(json.loads(store.read_bytes())["start_here"])
        except FileNotFoundError:
            continue
        except ValueError:
            damaged += 1
            continue
        assert count >= previous
        previous = count
        time.sleep(0.002)
    assert [process.wait() for process in writers] == [0, 0] and damaged == 0
    assert len(read_progress()["start_here"]) == 120 and files_beside(store) == set()


def test_killed_while_writing_it_keeps_all_that_was_recorded(store):
    """A process is killed in its loop, several times. Every entry that it reported is in the file, and other processes
    can write at once."""
    for n in range(5):
        record = f"record_attempt('start_here', f'exercise_{n}_{{i}}', 'passed')"
        process = writer(f"for i in range(10_000): {record}; print(i, flush=True)")
        reported = [process.stdout.readline() for _ in range(10 + 7 * n)]
        process.kill()
        process.wait()
        process.stdout.close()
        FileLock(store.with_name(store.name + ".lock")).acquire(blocking=False).lock.release()  # the lock is free again
        record_attempt("simplified_attention", f"after_{n}", "passed")
        kept = json.loads(store.read_text(encoding="utf-8"))
        assert {f"exercise_{n}_{int(i)}" for i in reported} <= set(kept["start_here"]) and f"after_{n}" in kept[
            "simplified_attention"
        ]


def test_killed_between_two_files_it_leaves_the_old_one_and_no_litter(store, monkeypatch):
    record_attempt("start_here", "row_sums", "passed")
    process = writer(
        "import os, signal\nos.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nrecord_attempt('start_here',"
        " 'softmax', 'passed')"
    )
    assert process.wait() == -signal.SIGKILL
    (unfinished,) = files_beside(store)
    assert list(read_progress()["start_here"]) == ["row_sums"]
    record_attempt("start_here", "soon", "passed")
    assert files_beside(store) == {unfinished}, "another process may still be writing this file"
    old = time.time() - 3600
    os.utime(store.with_name(unfinished), (old, old))
    record_attempt("start_here", "later", "passed")
    assert files_beside(store) == set() and set(read_progress()["start_here"]) == {"row_sums", "soon", "later"}


def test_a_process_that_hangs_with_the_lock_does_not_stop_others(store, monkeypatch):
    record_attempt("start_here", "row_sums", "passed")
    lock = 'FileLock(progress_path().with_name(progress_path().name + ".lock"))'
    process = writer(f"with {lock}: print('mine', flush=True); time.sleep(600)")
    try:
        assert process.stdout.readline() == "mine\n"
        monkeypatch.setattr(progress, "LOCK_TIMEOUT", 0.2)
        record_attempt("start_here", "other", "passed")
        assert process.poll() is None and "other" in read_progress()["start_here"]
    finally:
        process.kill()
        process.wait()


def test_a_lock_file_left_by_a_crash_is_no_lock(store, monkeypatch):
    monkeypatch.setattr(progress, "LOCK_TIMEOUT", 600)
    store.parent.mkdir()
    store.with_name(store.name + ".lock").touch()
    record_attempt("start_here", "row_sums", "passed")
    assert read_progress()["start_here"]["row_sums"]["tries"] == 1


def test_a_disk_that_is_full_leaves_the_old_file(store, monkeypatch):
    record_attempt("start_here", "row_sums", "passed")
    before = store.read_text(encoding="utf-8")
    monkeypatch.setattr(os, "fsync", lambda *_: (_ for _ in ()).throw(OSError("no space left on device")))
    record_attempt("simplified_attention", "softmax", "passed")
    assert store.read_text(encoding="utf-8") == before and files_beside(store) == set()


# --- predictions and quizzes --------------------------------------------------------------------------


def question_start(question):
    return {"question": question, "kind": "number", "answer": 3}


def test_answers_are_kept_beside_the_exercises(store):
    record_attempt("start_here", "row_sums", "passed")
    record_answer("predictions", question_start("How many?"), right=False, sure="certain")
    record_answer("predictions", question_start("How many?"), right=True, sure="guessing")
    record_attempt("start_here", "row_sums", "failed")
    (entry,) = read_answers().values()
    assert (entry["kind"], entry["right"], entry["sure"]) == ("predictions", False, "certain")  # the first answer stays
    assert (entry["last"]["right"], entry["last"]["sure"]) == (True, "guessing")
    assert entry["start"] == question_start("How many?") and list(read_progress()) == ["start_here"]


def test_answers_come_oldest_first_and_whole(store):
    for question in ("First?", "Second?", "Third?"):
        record_answer("quizzes", question_start(question), right=True, sure="certain")
    kept = json.loads(store.read_text(encoding="utf-8"))
    for day, question in enumerate(("Second?", "Third?", "First?"), 1):
        kept["answers"][question]["when"] = f"2026-01-0{day}T00:00:00+00:00"
    kept["answers"]["Damaged?"] = {"right": "yes"}
    store.write_text(json.dumps(kept), encoding="utf-8")
    assert list(read_answers()) == ["Second?", "Third?", "First?"]
    kept["answers"] = "none"
    store.write_text(json.dumps(kept), encoding="utf-8")
    assert read_answers() == {}
    record_answer("quizzes", question_start("New?"), right=True, sure="certain")
    assert list(read_answers()) == ["New?"]


# --- files from two machines --------------------------------------------------------------------------


def entry(status, tries, when):
    return {"status": status, "tries": tries, "when": f"2026-01-{when}T00:00:00+00:00", "answer": f"{tries:08x}"}


def test_two_files_are_combined_and_a_second_merge_changes_nothing(store, tmp_path):
    here = {"start_here": {"row_sums": entry("failed", 3, "05"), "only_here": entry("failed", 1, "01")}}
    there = {"start_here": {"row_sums": entry("passed", 5, "04"), "only_there": entry("passed", 1, "02")}}
    here["answers"] = {"One?": {"kind": "quizzes", "start": {}, "right": True, "sure": "", "when": "2026-01-02"}}
    there["answers"] = {"One?": {"kind": "quizzes", "start": {}, "right": False, "sure": "", "when": "2026-01-01"}}
    there |= {"self_attention": {"damaged": {"status": "great"}}, "version": 2}
    store.parent.mkdir()
    store.write_text(json.dumps(here), encoding="utf-8")
    other = tmp_path / "other.json"
    other.write_text(json.dumps(there), encoding="utf-8")
    assert progress.merge_progress(other).n_passed == 2
    expected = {
        "row_sums": entry("failed", 3, "05") | {"status": "passed", "tries": 5},
        "only_here": entry("failed", 1, "01"),
        "only_there": entry("passed", 1, "02"),
    }
    assert read_progress()["start_here"] == expected
    (answer,) = read_answers().values()
    assert (answer["right"], answer["last"]["right"]) == (False, True)
    before = store.read_bytes()
    assert progress.merge_progress(other).n_passed == 0 and store.read_bytes() == before
    other.write_bytes(before)
    store.write_text(json.dumps(there), encoding="utf-8")
    progress.merge_progress(other)
    assert read_progress()["start_here"] == expected, "the order of the files matters"


@pytest.mark.parametrize("arguments, words", [(["gone.json"], "There is no file"), (["a.json"], "damaged")])
def test_a_file_that_cannot_be_combined_is_one_sentence(store, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text("{half", encoding="utf-8")
    done = CliRunner().invoke(app, ["progress", "merge", *arguments])
    assert done.exit_code == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1
    assert not store.exists()


def test_a_folder_in_place_of_the_own_file_is_one_sentence(store, tmp_path):
    store.mkdir(parents=True)
    other = tmp_path / "other.json"
    other.write_text("{}", encoding="utf-8")
    done = CliRunner().invoke(app, ["progress", "merge", str(other)])
    assert done.exit_code == 2 and done.stderr.startswith(f"{store} cannot be read or written: Is a directory.")


NO_PROGRESS = [
    {"format": 1, "attempts": [], "questions": [], "inventory": []},
    {"cells": [], "metadata": {"kernelspec": {}}},
]


@pytest.mark.parametrize("content", NO_PROGRESS)
def test_another_json_file_is_not_combined(store, tmp_path, content):
    """Such as learning.json, or a notebook."""
    other = tmp_path / "other.json"
    other.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match="not a progress file"):
        progress.merge_progress(other)
    assert not store.exists()


def test_the_command_says_what_is_new_and_where_it_is(store, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"start_here": {"row_sums": entry("passed", 1, "01")}}), encoding="utf-8")
    said = [CliRunner().invoke(app, ["progress", "merge", str(other)]).stdout for _ in range(2)]
    assert said[0] == f"1 further exercise is passed. Your progress is in {store}.\n"
    assert said[1] == f"No further exercises are passed. Your progress is in {store}.\n"
