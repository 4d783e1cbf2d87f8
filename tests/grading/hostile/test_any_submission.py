"""Test that no text, name, reply or fault of one submission stops the grading or the report of the class."""

from __future__ import annotations

import json
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.grading.hostile.conftest import RIGHT
from tests.grading.student_notebooks import notebook
from tests.grading.test_any_reply import ANYTHING
from tests.grading.test_engine import PAGE, Counting, hand_in, states
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

    def fails(student, lessons):
        if student.id == "anna" and lessons[0].exercises[0].state == "passed":
            raise RecursionError
        return page(student, lessons)

    monkeypatch.setattr(report_writer, "student_page", fails)
    assert write_reports(tmp_path / "results", out=tmp_path / "report").tally.states == [["unreadable"], ["passed"]]
