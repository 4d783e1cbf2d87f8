"""Test that no text, name, reply or fault of one submission stops the grading or the report of the class."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.grading.hostile.conftest import RIGHT, SHORT, WRONG
from tests.grading.student_notebooks import notebook
from tests.grading.submission_files import read_tree
from tests.grading.test_any_reply import ANYTHING
from tests.grading.test_engine import PAGE, Counting, hand_in, states
from utils.cli.commands import app
from utils.grading import engine
from utils.grading.intake.folders import write_text
from utils.grading.intake.roster import Student, format_roster, read_roster
from utils.grading.judge.results import read_results
from utils.grading.judge.sandbox import Session
from utils.grading.judge.verdicts import Judge
from utils.grading.reports.report_writer import write_reports
from utils.grading.runner.framing import FROM_RUNNER, parse_json
from utils.grading.runner.isolation import ProcessExit, ResourceLimits

ODD = ["\ud800", "\0", "\u202etxt", "\x1b[2J", "<script>", "=1+1", "`", "{0}", "a\r\nb", "x" * 20_000, "{{ 1 }}"]
TEXTS = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=()), max_size=20)
FAILURES = st.fixed_dictionaries(
    {"type": TEXTS, "text": TEXTS},
    optional={"line": st.none() | st.integers(), "code": TEXTS, "todo": st.none() | TEXTS},
).map(lambda fields: {"is": "record", "of": fields})
FOREIGN = st.fixed_dictionaries({"is": st.just("foreign"), "type": TEXTS, "shown": TEXTS})
RUNS = st.fixed_dictionaries({}, optional={"value": TEXTS | FOREIGN | ANYTHING, "failure": FAILURES, "printed": TEXTS})
RESULTS = RUNS.map(lambda fields: {"is": "record", "of": fields}) | ANYTHING
OUTCOMES = st.one_of(
    st.builds(lambda result: {"type": "Done", "result": result}, RESULTS),
    st.builds(lambda name, text: {"type": "Raised", "name": name, "text": text}, TEXTS, TEXTS),
    st.builds(lambda m, f: {"type": "AnswerMissing", "message": m, "failure": f}, TEXTS, st.none() | FAILURES),
    st.builds(lambda code: {"type": "TimeUp", "line": 3, "code": code}, TEXTS),
    st.builds(lambda detail: {"type": "OutOfMemory", "detail": detail}, TEXTS),
)
NOTES = st.lists(st.tuples(st.sampled_from(["file", "network", "tampering"]), TEXTS), max_size=2)


class Liar:
    """A sandbox whose runners parse the page as usual, and then send the given outcomes."""

    def __init__(self, source: str, notes: list, outcomes: list) -> None:
        self.source, self.notes, self.outcomes = source, notes, outcomes

    def wait_for_exit(self, kill: bool) -> ProcessExit:
        return ProcessExit(0, 0.0)

    def open_session(self, limits: ResourceLimits, page: bytes = b"") -> Session:
        ours, _ = socket.socketpair()
        session = Session(self, ours, limits)  # pyright: ignore[reportArgumentType]
        outcomes = iter(self.outcomes)

        def reply(request: Any, blob: bytes) -> tuple[Any, bytes]:
            data: Any = {"id": request.id, "notes": self.notes, "outcome": {"type": "Done", "result": None}}
            if request.method == "parse_page":
                of = {"answers": {"is": "dict", "of": [["row_sums", {"is": "tuple", "of": [self.source, []]}]]}}
                data["outcome"]["result"] = {"is": "record", "of": of}
            elif request.method != "write_pages":
                data["outcome"] = next(outcomes, data["outcome"])
            return parse_json(json.dumps(data).encode(), FROM_RUNNER), b""

        session._send_and_receive = reply
        return session


@settings(max_examples=40)
@given(TEXTS, TEXTS, NOTES, st.lists(OUTCOMES, min_size=1, max_size=3))
@example("a", "def row_sums(x): ...", [], [{"type": "AnswerMissing", "message": "\ud800", "failure": None}])
def test_any_texts_and_replies_become_a_result_and_a_report(name: str, source: str, notes: list, outcomes: list):
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        folder = Path(place)
        liar: Any = Liar(source, notes, outcomes)
        patch.setattr(engine, "_get_judge", lambda settings: Judge(liar, ResourceLimits()))
        patch.setattr(engine, "isolation_problem", lambda: None)
        students = [Student(f"{name} 1", f"{name} b"), Student("zoe", "Zoe Z")]
        write_text(folder / "handed-in" / "roster.csv", format_roster(students))
        students = read_roster(folder / "handed-in" / "roster.csv")
        hand_in(folder / "handed-in", {f"{student.folder}/{PAGE}": notebook([RIGHT]) for student in students})
        engine.grade(folder / "handed-in", folder / "results")
        assert len(list(read_results(folder / "results"))) == 2
        done = write_reports(folder / "results", out=folder / "report", names=True)
        assert not done.unknown_students and "absent" not in [state for (state,) in done.tally.states]
        for path in (folder / "report").rglob("*.*"):
            assert not set(path.read_text(encoding="utf-8")) & set("\u202e\x1b\ud800"), path


def test_a_name_that_is_not_utf8_costs_only_its_own_submission(tmp_path):
    folder = hand_in(tmp_path / "in", {f"anna/{PAGE}": notebook([RIGHT]), f"zoe\udcff/{PAGE}": notebook([RIGHT])})
    done = engine.grade(folder, tmp_path / "out", executor=Counting())
    assert states(tmp_path / "out") == {"anna 00": ["passed"]}
    assert ["zoe\\udcff, 00_start_here" in line for line in done.lost_submissions] == [True]


def test_a_result_that_cannot_be_written_costs_only_its_own_submission(tmp_path):
    folder = hand_in(tmp_path / "handed-in", {f"{name}/{PAGE}": notebook([RIGHT]) for name in ("anna", "zoe")})
    (folder / "roster.csv").write_text("id,name\nanna,A\nzoe,Z\nyan,Y\n", encoding="utf-8")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "anna").write_text("a file, not a folder", encoding="utf-8")
    done = engine.grade(folder, tmp_path / "results", executor=Counting())
    assert states(tmp_path / "results") == {"zoe 00": ["passed"]}
    assert ["anna" in line for line in done.lost_submissions] == [True]
    tally = write_reports(tmp_path / "results", out=tmp_path / "report").tally
    assert tally.states == [["unreadable"], ["passed"], ["absent"]]
    assert [(student.id, incident.kind) for student, _, incident in tally.incidents] == [("anna", "grading")]


def test_a_damaged_result_costs_only_its_own_student(tmp_path):
    folder = hand_in(tmp_path / "handed-in", {f"{name}/{PAGE}": notebook([RIGHT]) for name in ("anna", "zoe")})
    (folder / "roster.csv").write_text("id,name\nanna,A\nzoe,Z\n", encoding="utf-8")
    engine.grade(folder, tmp_path / "results", executor=Counting())
    (tmp_path / "results" / "anna" / "00_start_here.json").write_bytes(b'{"schema": 1')
    tally = write_reports(tmp_path / "results", out=tmp_path / "report").tally
    assert tally.states == [["unreadable"], ["passed"]]
    assert "anna" in (tmp_path / "report" / "incidents.csv").read_text(encoding="utf-8")
    assert str(tmp_path) not in (tmp_path / "report" / "students" / "anna.html").read_text(encoding="utf-8")


def test_a_page_that_cannot_be_reported_costs_only_its_own_student(tmp_path, monkeypatch):
    from utils.grading.reports import report_writer

    folder = hand_in(tmp_path / "handed-in", {f"{name}/{PAGE}": notebook([RIGHT]) for name in ("anna", "zoe")})
    (folder / "roster.csv").write_text("id,name\nanna,A\nzoe,Z\n", encoding="utf-8")
    engine.grade(folder, tmp_path / "results", executor=Counting())
    page = report_writer.student_page

    def fails(student, lessons, versions):
        if student.id == "anna" and lessons[0].exercises[0].state == "passed":
            raise RecursionError
        return page(student, lessons, versions)

    monkeypatch.setattr(report_writer, "student_page", fails)
    assert write_reports(tmp_path / "results", out=tmp_path / "report").tally.states == [["unreadable"], ["passed"]]


def test_a_disk_that_fills_up_during_report_leaves_the_old_report(tmp_path, monkeypatch):
    """The disk becomes full at each write of the report, one after the other."""
    folder = hand_in(tmp_path / "handed-in", {f"{name}/{PAGE}": notebook([RIGHT]) for name in ("anna", "zoe")})
    (folder / "roster.csv").write_text("id,name\nanna,A\nzoe,Z\n", encoding="utf-8")
    engine.grade(folder, tmp_path / "results", executor=Counting())
    write_reports(tmp_path / "results", out=tmp_path / "report")
    old, there = read_tree(tmp_path / "report"), sorted(path.name for path in tmp_path.iterdir())
    (folder / "roster.csv").write_text("id,name\nanna,Another name\nzoe,Z\n", encoding="utf-8")
    write, room = Path.write_bytes, iter(())

    def write_until_full(path: Path, content: bytes) -> int:
        if next(room, None) is None:
            write(path, content[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", write_until_full)
    for count in range(len(old)):
        room = iter(range(count))
        done = CliRunner().invoke(app, ["report", str(tmp_path / "results")])
        assert done.exit_code == 2 and "disk is full" in done.stderr and "unchanged" in done.stderr
        assert read_tree(tmp_path / "report") == old
        assert sorted(path.name for path in tmp_path.iterdir()) == there
    room = iter(range(len(old)))
    assert CliRunner().invoke(app, ["report", str(tmp_path / "results")]).exit_code == 0
    assert b"Another name" in read_tree(tmp_path / "report")["students/anna.html"]


# --- a submission that changes after `collect` ---------------------------------------------------------------


def _replace_by_link(path: Path, secret: Path) -> None:
    path.unlink()
    path.symlink_to(secret)


def _replace_by_pipe(path: Path, secret: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _replace_by_folder(path: Path, secret: Path) -> None:
    path.unlink()
    path.mkdir()


CHANGES: dict[str, tuple[Callable[[Path, Path], Any], str]] = {
    "another answer": (lambda path, secret: path.write_bytes(notebook([WRONG])), "failed"),
    "another lesson": (lambda path, secret: path.write_bytes(notebook(["x = 1"])), "not attempted"),
    "half of it": (lambda path, secret: path.write_bytes(path.read_bytes()[:50]), "unreadable"),
    "deleted": (lambda path, secret: path.unlink(), "absent"),
    "the whole folder deleted": (lambda path, secret: shutil.rmtree(path.parent), "absent"),
    "not readable": (lambda path, secret: path.write_bytes(b""), "unreadable"),
    "a link to another student": (_replace_by_link, "unreadable"),
    "a pipe": (_replace_by_pipe, "absent"),
    "a folder": (_replace_by_folder, "absent"),
}


@pytest.mark.parametrize("when", ["before", "during"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_submission_that_changes_after_collect_is_graded_as_it_is_then(sandbox, tmp_path, monkeypatch, change, when):
    """The file changes before `grade` starts, or after `grade` has listed the students."""
    folder = hand_in(tmp_path / "handed-in", {f"{name}/{PAGE}": notebook([RIGHT]) for name in ("anna", "zoe")})
    (folder / "roster.csv").write_text("id,name\nanna,A\nzoe,Z\n", encoding="utf-8")
    monkeypatch.setattr(engine, "_get_judge", lambda settings: Judge(sandbox, SHORT))
    path, (edit, state) = folder / "anna" / PAGE, CHANGES[change]
    list_students = engine.student_folders

    def list_and_change(folder: Path) -> list[str]:
        names = list_students(folder)
        edit(path, folder / "zoe" / PAGE)
        return names

    if when == "during":
        monkeypatch.setattr(engine, "student_folders", list_and_change)
    else:
        edit(path, folder / "zoe" / PAGE)
    engine.grade(folder, tmp_path / "results")
    expected = {"zoe 00": ["passed"], "anna 00": [state]}
    if when == "before" and change == "the whole folder deleted":
        del expected["anna 00"]  # Without a folder, no result is written, and the report shows the student as absent.
    assert states(tmp_path / "results") == expected
    assert write_reports(tmp_path / "results", out=tmp_path / "report").tally.states == [[state], ["passed"]]
