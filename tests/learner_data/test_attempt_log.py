"""The log of attempts: what is logged, that no code and no time of day is, and that no fault stops a check."""

import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.feedback.answers import with_name
from utils.cli.commands import app
from utils.exercises.exercise import all_exercises
from utils.feedback.check import check
from utils.feedback.report import REASONS
from utils.instructor.answers import AnswerFactory
from utils.instructor.blind_answers import read_blind_answers
from utils.learner_data import attempt_log, progress
from utils.learner_data.attempt_log import log_path, merge_logs, read_log
from utils.learner_data.progress import read_progress, record_attempt
from utils.lessons import ROOT

FIELDS = ["lesson", "exercise", "status", "member", "reason", "misconception", "milestone", "attempt", "minutes"]
CHECKS = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "utils" / "checks").glob("*.py"))
WORDS_OF_THE_CHECKS = set(re.findall(r"\w+", CHECKS)) | {"result"}
FINDINGS = {"member": "", "reason": "difference", "misconception": "", "milestone": ""}


@pytest.fixture
def store(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    return path


@pytest.fixture
def clock(monkeypatch):
    """Return a function that sets the time, in minutes after a fixed moment."""

    def set_minutes(minutes):
        seconds = round(60 * minutes)
        now = f"2026-03-01T{9 + seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}+00:00"
        monkeypatch.setattr(progress, "_now", lambda: now)

    set_minutes(0)
    return set_minutes


def logged(store):
    """Return the lines of the log without their ids."""
    return [{name: value for name, value in entry.items() if name != "id"} for entry in read_log(log_path(store))]


# --- what is logged -----------------------------------------------------------------------------------


def test_an_attempt_is_a_changed_answer_up_to_the_first_pass(store, clock):
    def row_sums(x):
        raise NotImplementedError("row_sums")

    wrong, other, right = (
        with_name("row_sums", answer) for answer in (lambda x: x.sum(0), lambda x: x.sum(), lambda x: x.sum(dim=1))
    )
    for answer in (row_sums, wrong, row_sums, wrong, wrong, other, right, right, wrong):
        check(answer)
    entries = logged(store)
    assert all(list(entry) == FIELDS for entry in entries)
    assert [(e["status"], e["reason"], e["misconception"], e["attempt"]) for e in entries] == [
        ("failed", "misconception", "sums-columns", 1),
        ("failed", "misconception", "sums-columns", 2),  # in between, the learner had restored the empty gap
        ("failed", "misconception", "sums-everything", 3),
        ("passed", "passed", "", 4),
    ]
    assert {(e["lesson"], e["exercise"], e["member"], e["milestone"]) for e in entries} == {
        ("start_here", "row_sums", "", "")
    }
    assert read_progress()["start_here"]["row_sums"]["tries"] == 4


def test_the_furthest_milestone_is_logged(store):
    def simple_attention(inputs):
        scores = inputs @ inputs.T
        weights = torch.softmax(scores**3, dim=-1)
        return weights @ inputs, weights

    check(simple_attention)
    assert [(entry["reason"], entry["milestone"]) for entry in logged(store)] == [("difference", "the scores")]


def test_minutes_since_the_last_attempt_in_the_course(store, clock):
    def attempt(minutes, exercise, status="failed", answer=None):
        clock(minutes)
        record_attempt("start_here", exercise, status, answer or f"{minutes}", FINDINGS)

    attempt(0, "row_sums")
    attempt(1.5, "softmax")
    attempt(3, "softmax", "todo")  # no attempt
    attempt(4, "softmax", answer="1.5")
    attempt(5, "softmax", answer="1.5")  # the same answer again
    attempt(64, "row_sums")
    attempt(124.1, "row_sums")
    attempt(120, "row_sums")  # the clock was corrected
    attempt(120.5, "row_sums")
    assert [entry["minutes"] for entry in logged(store)] == [None, 1.5, 2.5, 60.0, None, None, 0.5]


@pytest.mark.parametrize("when", ["yesterday", 7, None, ["2026-03-01T09:00:00+00:00"], "2026-03-01T09:00:00"])
def test_an_edited_time_of_the_last_attempt_is_no_error(store, clock, when):
    store.parent.mkdir()
    store.write_text(json.dumps({"last_attempt": when}), encoding="utf-8")
    record_attempt("start_here", "row_sums", "failed", "x", FINDINGS)
    assert [entry["minutes"] for entry in logged(store)] == [None]


LESSONS = "start_here", "self_attention", "causal_attention", "multihead_attention"


def some_failing_answers():
    """Return two wrong answers to each exercise; if possible, the report on the first of them names the wrong step."""
    chosen = {}
    for answer in itertools.chain(*read_blind_answers().values()):
        name = answer.exercise.partition("/")[0]  # a learner's own transfer task depends on the seed
        if answer.kind == "wrong" and name == answer.exercise and all_exercises()[name].lesson in LESSONS:
            chosen.setdefault(answer.exercise, []).append(answer)
    for answers in chosen.values():
        answers.sort(key=lambda answer: answer.verdict != "difference milestone")
    return [answer for answers in chosen.values() for answer in answers[:2]]


def test_a_line_contains_only_words_of_the_course_and_numbers(store):
    """Check real wrong answers. Each logged value must be in the vocabulary of its field."""
    factories = {name: AnswerFactory.from_name(name) for name in {each.exercise for each in some_failing_answers()}}
    for answer in some_failing_answers():
        try:
            made = factories[answer.exercise].make_answer(answer.source)
        except Exception:  # the answer cannot even be defined, so a learner sees Python's error instead
            continue
        is_value = all_exercises()[answer.exercise].kind == "value"
        check(**{answer.exercise: made}) if is_value else check(made)
    entries = logged(store)
    assert len(entries) > 25 and len({entry["reason"] for entry in entries}) > 3
    assert sum(bool(entry["milestone"]) for entry in entries) > 1
    for entry in entries:
        exercise = all_exercises()[entry["exercise"]]
        assert list(entry) == FIELDS
        assert (entry["lesson"], entry["member"], entry["status"]) == (exercise.lesson, "", "failed")
        assert entry["attempt"] in (1, 2)
        assert entry["reason"] in REASONS
        assert entry["misconception"] in {"", *(m.id for m in exercise.misconceptions)}
        assert set(re.findall(r"[^\W\d]+", entry["milestone"])) <= WORDS_OF_THE_CHECKS
        assert len(entry["milestone"]) < 60 and entry["milestone"].isprintable()
        assert entry["minutes"] is None or 0 <= entry["minutes"] <= 60


# --- faults -------------------------------------------------------------------------------------------


def log_without_a_fault(store, n=1):
    for i in range(n):
        record_attempt("start_here", "row_sums", "failed", f"{i}", FINDINGS)


def test_off_logs_nothing(store, monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_PROGRESS", "off")
    log_without_a_fault(store)
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("fault", ["it is a folder", "the disk is full"])
def test_a_log_that_cannot_be_written_is_said_once_and_progress_is_saved(store, capsys, fault):
    store.parent.mkdir()
    path = log_path(store)
    if fault == "it is a folder":
        path.mkdir()
    elif Path("/dev/full").exists():
        path.symlink_to("/dev/full")
    else:
        pytest.skip("this system has no device that is full")
    for answer in (lambda x: x.sum(0), lambda x: x.sum()):
        check(with_name("row_sums", answer))
    (said,) = capsys.readouterr().out.splitlines()
    assert said.startswith(f"Your attempts are not logged, because {path} cannot be written: ")
    assert read_progress()["start_here"]["row_sums"]["tries"] == 2


def test_a_full_log_keeps_its_lines_and_progress_goes_on(store, monkeypatch):
    log_without_a_fault(store, 3)
    before = log_path(store).read_bytes()
    monkeypatch.setattr(attempt_log, "MAX_BYTES", len(before) + 10)
    record_attempt("start_here", "row_sums", "passed", "right", FINDINGS)
    assert log_path(store).read_bytes() == before
    assert read_progress()["start_here"]["row_sums"] | {"when": "", "answer": ""} == {
        "status": "passed",
        "tries": 4,
        "when": "",
        "answer": "",
    }


damaged_lines = st.one_of(
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"").replace(b"\r", b"")),
    st.sampled_from([b"[" * 10_000, b"{}", b'{"id": 7}', b"null", b'{"id":"1","lesson":', b"1" * 5_000]),
)


@given(damaged=st.lists(st.tuples(st.integers(0, 3), damaged_lines), max_size=5))
def test_damaged_lines_cost_only_themselves(tmp_path_factory, damaged):
    path = tmp_path_factory.mktemp("log") / "log"
    lines = [json.dumps({"id": f"{n}", "lesson": "x"}).encode() for n in range(3)]
    for place, line in damaged:
        lines.insert(place, line)
    path.write_bytes(b"\n".join(lines))
    assert [entry["id"] for entry in read_log(path)] == ["0", "1", "2"]


def test_after_a_line_that_was_cut_off_the_next_attempt_is_whole(store):
    log_without_a_fault(store, 2)
    path = log_path(store)
    path.write_bytes(path.read_bytes()[:-20])
    record_attempt("start_here", "row_sums", "failed", "third", FINDINGS)
    assert [entry["attempt"] for entry in logged(store)] == [1, 3]


# --- two notebooks ------------------------------------------------------------------------------------


def start_writer(code):
    imports = "import os\nfrom pathlib import Path\nfrom utils.learner_data import attempt_log, progress\n"
    imports += "progress.LOCK_TIMEOUT = 600\n"  # a busy machine may need it
    return subprocess.Popen([sys.executable, "-c", imports + code], cwd=ROOT)


def test_two_notebooks_writing_at_once_lose_no_attempt(store):
    record = f"progress.record_attempt('start_here', 'shared', 'failed', str((os.getpid(), i)), {FINDINGS})"
    writers = [start_writer(f"for i in range(60): {record}") for _ in range(2)]
    assert [process.wait() for process in writers] == [0, 0]
    entries = read_log(log_path(store))
    assert [entry["attempt"] for entry in entries] == list(range(1, 121))
    assert len({entry["id"] for entry in entries}) == 120
    assert len(log_path(store).read_bytes().split(b"\n")[1:]) == 120


def test_lines_of_two_processes_do_not_mix_even_without_a_lock(store):
    """Some network disks have no locks."""
    store.parent.mkdir()
    append = f"attempt_log.append_attempt(Path({str(store)!r}), {{'by': os.getpid(), 'n': i}})"
    writers = [start_writer(f"for i in range(400): {append}") for _ in range(2)]
    assert [process.wait() for process in writers] == [0, 0]
    entries = read_log(log_path(store))
    assert Counter(entry["by"] for entry in entries) == {process.pid: 400 for process in writers}
    for process in writers:
        assert [entry["n"] for entry in entries if entry["by"] == process.pid] == list(range(400))


# --- two machines -------------------------------------------------------------------------------------


def write_machine(folder, ids):
    """Write the progress and the log of a machine, and return the path of the progress file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ".progress.json"
    path.write_text(json.dumps({"last_attempt": f"2026-03-0{len(ids)}T00:00:00+00:00"}), encoding="utf-8")
    lines = [json.dumps({"id": name, "exercise": "row_sums"}) + "\n" for name in ids]
    log_path(path).write_text("".join(lines), encoding="utf-8")
    return path


def ids_in(path):
    return [entry["id"] for entry in read_log(log_path(path))]


def test_merged_logs_contain_each_attempt_once_and_a_second_merge_changes_nothing(tmp_path, monkeypatch):
    here, there = write_machine(tmp_path / "here", "ABxyz"), write_machine(tmp_path / "there", "ABpq")
    for mine, theirs, expected in ((here, there, "ABxyzpq"), (there, here, "ABpqxyz")):
        monkeypatch.setenv("COURSE_PROGRESS", str(mine))
        for _ in range(2):
            assert CliRunner().invoke(app, ["progress", "merge", str(theirs)]).exit_code == 0
            assert ids_in(mine) == list(expected)
    assert json.loads(here.read_bytes())["last_attempt"] == "2026-03-05T00:00:00+00:00"
    assert json.loads(there.read_bytes())["last_attempt"] == "2026-03-05T00:00:00+00:00"
    assert {path.name for path in here.parent.iterdir()} == {here.name, log_path(here).name, here.name + ".lock"}


def test_a_merge_needs_no_log(tmp_path, monkeypatch):
    here, there = write_machine(tmp_path / "here", "AB"), write_machine(tmp_path / "there", "")
    log_path(there).unlink()
    monkeypatch.setenv("COURSE_PROGRESS", str(here))
    progress.merge_progress(there)
    assert ids_in(here) == ["A", "B"]
    monkeypatch.setenv("COURSE_PROGRESS", str(there))
    progress.merge_progress(here)
    assert ids_in(there) == ["A", "B"]


def test_a_merge_stops_at_the_bound_with_whole_lines(tmp_path, monkeypatch):
    here, there = write_machine(tmp_path / "here", "AB"), write_machine(tmp_path / "there", "xyz")
    line = len(log_path(here).read_bytes()) // 2
    monkeypatch.setattr(attempt_log, "MAX_BYTES", 4 * line + 3)
    merge_logs(log_path(here), log_path(there))
    assert len(log_path(here).read_bytes().split(b"\n")[1:]) == 4 and ids_in(here) == ["A", "B", "x", "y"]
