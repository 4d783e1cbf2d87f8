"""From a student's page to its result: each exercise is run in a runner of its own, and judged here.

The judge holds oracles, cases and misconceptions, and runs nothing that a student wrote.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from utils import lessons
from utils.feedback.diagnose import diagnose_with_runner, timeout_report
from utils.feedback.exercise import Exercise, all_exercises
from utils.feedback.report import Report
from utils.feedback.runner import cached_cases
from utils.grading.isolation import ResourceLimits
from utils.grading.remote_runner import RemoteAnswerNotFound, RemoteRunner
from utils.grading.results import NOT_COLLECTED, ExerciseResult, Incident, LessonResult, State
from utils.grading.sandbox import RunnerStopped, Sandbox, Session
from utils.lessons.answers import solved_source

T = TypeVar("T")
POINTS = 1.0  # of an exercise, as in the assignments for nbgrader
LARGEST = 20 << 20  # bytes of a page


@dataclass(frozen=True)
class Submission:
    """What one student handed in for one lesson, and the earlier lessons that it may build on.

    Attributes:
        student: the id.
        lesson: the lesson's stem, "05_multihead_attention".
        pages: the bytes of the student's pages by file name, "05_multihead_attention.ipynb": this and earlier ones.
        key: what the result is kept under.
    """

    student: str
    lesson: str
    pages: Mapping[str, bytes]
    key: str


@dataclass
class ParsedPage:
    """A page as the runner read it, without running it: source and uses of each answer, and what `yours` is asked for.

    `unreadable` says why there is none of this.
    """

    answers: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    requested: list[str] = field(default_factory=list)
    unreadable_reason: str | None = None


@dataclass(frozen=True)
class Verdict:
    """What became of an answer; `elsewhere` says that another exercise may be what is in its way."""

    report: Report
    state: State
    fingerprint: str = ""
    may_be_blocked: bool = False


class BoundedCache(dict[str, T]):
    """What was found out last, the oldest of it forgotten: a student's next lesson asks for it again."""

    MAX_ENTRIES = 512

    def store(self, key: str, value: T) -> T:
        """Keep a value, and give it."""
        self[key] = value
        if len(self) > self.MAX_ENTRIES:
            del self[next(iter(self))]
        return value


@functools.lru_cache(maxsize=1)
def exercises_by_lesson() -> dict[str, dict[str, Exercise]]:
    """The exercises of each lesson by its stem, in the order of the page."""
    by_lesson: dict[str, dict[str, Exercise]] = {}
    pages = {p.stem: p for folder in ("course", "solutions") for p in lessons.all_lessons(lessons.ROOT / folder)}
    for stem in sorted(pages):
        bound = {n: cell.index for cell in lessons.read_lesson(pages[stem]).cells[::-1] for n in _bound_names(cell)}
        found = [e for e in all_exercises().values() if e.lesson == stem[3:]]
        by_lesson[stem] = {e.name: e for e in sorted(found, key=lambda e: bound.get(e.name, 10**6))}
    return by_lesson


def _bound_names(cell: lessons.Cell) -> list[str]:
    tree = lessons.parse_cell(cell)
    return [name for node in tree.body for name in lessons.bound_names(node)] if tree else []


class Judge:
    """Grades submissions, one after the other, in a sandbox.

    Args:
        with_answers: the stems of lessons whose answers have been handed out: `yours` falls back on these.
    """

    def __init__(self, sandbox: Sandbox, limits: ResourceLimits, with_answers: tuple[str, ...] = ()) -> None:
        self.sandbox, self.limits, self.with_answers = sandbox, limits, with_answers
        self.reads = BoundedCache[ParsedPage]()  # by the bytes of a page
        self.passed = BoundedCache[bool]()  # by an exercise and the bytes of all pages that it may build on

    def grade(self, submission: Submission) -> LessonResult:
        """The verdicts on a submission. Raises `SandboxError`; nothing that a student wrote raises here."""
        return _Grading(self, submission).result()

    def grade_exercise(self, submission: Submission, exercise: str) -> LessonResult:
        """The same of one exercise alone; what it builds on is taken to pass."""
        return _Grading(self, submission, exercise).result()

    def report_exercise(self, submission: Submission, exercise: str) -> Report:
        """What the author of one exercise's answer reads; what it builds on is taken to pass. Raises `SandboxError`."""
        grading = _Grading(self, submission, exercise)
        stem = submission.lesson
        return grading.verdict(stem, grading.exercises[stem][exercise], grading.yours(stem))[0].report


class _Grading:
    """One submission's way through the judge."""

    def __init__(self, judge: Judge, submission: Submission, only: str | None = None) -> None:
        self.judge, self.submission, self.only = judge, submission, only
        self.pages = {Path(name).stem: name for name in submission.pages}
        self.exercises = exercises_by_lesson()
        self.lesson_of = {name: stem for stem, found in self.exercises.items() for name in found}
        self.incidents: list[Incident] = []
        self.hashes = {stem: hashlib.sha256(submission.pages[name]).hexdigest() for stem, name in self.pages.items()}

    def result(self) -> LessonResult:
        stem = self.submission.lesson
        read = self.read(stem)
        results: dict[str, ExerciseResult] = {}
        for name, exercise in self.exercises[stem].items():
            if self.only not in (None, name):
                continue
            if read.unreadable_reason is not None:
                results[name] = _unreadable_result(name, read.unreadable_reason)
            else:
                results[name] = self.exercise(stem, exercise, results)
                self.judge.passed.store(self._dependency_key(stem, name), results[name].state == "passed")
        found = LessonResult(self.submission.student, stem, self.submission.key, tuple(results.values()))
        return dataclasses.replace(found, incidents=tuple(dict.fromkeys(self.incidents)))

    # --- a page -----------------------------------------------------------------------------------------

    def read(self, stem: str) -> ParsedPage:
        """What a page answers; it is read in a runner, for it may be anything."""
        known = self.judge.reads
        key = f"{stem} {self.hashes[stem]}"
        return known[key] if key in known else known.store(key, self._parse_page(stem))

    def _dependency_key(self, stem: str, name: str) -> str:
        """An exercise and the pages that it may build on."""
        pages, waiting = {stem}, [stem]
        while waiting:
            now = waiting.pop()
            earlier = {self.lesson_of.get(asked, "99") for asked in self.read(now).requested}
            new = {other for other in earlier if other < now and other in self.pages} - pages
            pages |= new
            waiting += new
        return f"{name} " + " ".join(f"{page} {self.hashes[page]}" for page in sorted(pages))

    def _parse_page(self, stem: str) -> ParsedPage:
        page = self.pages[stem]
        text = self.submission.pages[page]
        if not text.strip():
            return ParsedPage(unreadable_reason=f"{page} is empty.")
        if text.startswith(NOT_COLLECTED.encode()):
            why = text[:1000].decode("utf-8", "replace").removeprefix(NOT_COLLECTED)
            return ParsedPage(unreadable_reason=f"{page} was not read: {why}")
        if len(text) > LARGEST:
            return ParsedPage(
                unreadable_reason=f"{page} has more than {LARGEST >> 20} MB, and no more is read. Clear its outputs."
            )
        kinds = {e.name: e.kind for e in self.exercises[stem].values()}
        try:
            with self.judge.sandbox.open_session(self.judge.limits) as session:
                self._send_pages(session, [page])
                reply, _ = session.ask("parse_page", page=page, exercises=kinds)
                return _parse_read_reply(reply.get("done"), page)
        except RunnerStopped as over:
            self.incidents.append(Incident(_kind(over.kind), "", over.detail))
            return ParsedPage(unreadable_reason=f"{page} could not be read: {over.detail}")

    def _send_pages(self, session: Session, pages: list[str], more: Mapping[str, bytes] | None = None) -> None:
        """Put pages of the student, and some of the course, into the runner's folder."""
        held = {page: self.submission.pages[page] for page in pages} | dict(more or {})
        sizes = [[page, len(text)] for page, text in held.items()]
        session.ask("write_pages", b"".join(held.values()), pages=sizes)

    def yours(self, stem: str) -> dict[str, str]:
        """The file from which `yours` takes each exercise that a page asks for, and what these ask for in turn."""
        found: dict[str, str] = {}
        for name in self.read(stem).requested:
            earlier = self.lesson_of.get(name, "99")
            if earlier >= stem:
                continue
            if earlier in self.pages and self.passes(name):
                found |= {**self.yours(earlier), name: self.pages[earlier]}
            elif earlier in self.judge.with_answers:
                found[name] = f"{earlier}_answers.ipynb"
        return found

    def passes(self, name: str) -> bool:
        """Whether the student's own answer to an exercise of an earlier lesson passes."""
        if self.only is not None:
            return True
        stem = self.lesson_of[name]
        key, known = self._dependency_key(stem, name), self.judge.passed
        if key not in known:
            here, before = self.read(stem).unreadable_reason is None, list(self.incidents)
            known.store(key, here and self.exercise(stem, self.exercises[stem][name], {}).state == "passed")
            self.incidents = before  # they belong to the lesson's own result
        return known[key]

    # --- an exercise ------------------------------------------------------------------------------------

    def exercise(self, stem: str, exercise: Exercise, before: Mapping[str, ExerciseResult]) -> ExerciseResult:
        """The verdict on an answer; `before` has those on the exercises that stand before it on the page."""
        name = exercise.name
        answers = self.read(stem).answers
        if name not in answers:
            return _exercise_result(_todo_report(name, f"{self.pages[stem]} defines no `{name}`."), "not attempted")
        source, uses = answers[name]
        if stuck := next((n for n in uses if n in before and before[n].state == "stopped"), None):
            return self._waiting_result(
                _exercise_result(_todo_report(name, ""), "failed", source), stuck
            )  # it would be stopped there again
        yours = self.yours(stem)
        verdict, seconds = self.verdict(stem, exercise, yours)
        done = _exercise_result(verdict.report, verdict.state, source, seconds, verdict.fingerprint)
        waits = (n for n in uses if verdict.may_be_blocked and _is_pending(n, stem, yours, before, self.lesson_of))
        return next((self._waiting_result(done, n) for n in waits), done)

    def _waiting_result(self, result: ExerciseResult, name: str) -> ExerciseResult:
        """The result of an answer that cannot be judged until another one passes."""
        stem, why = self.lesson_of[name], "does not pass yet. It is judged once that does."
        if stem not in self.pages:
            why = f"belongs to lesson {stem[:2]}, and that was not handed in. It is judged once that is, and passes."
        report = _todo_report(result.name, f"It builds on `{name}`, which {why}")
        shown = _exercise_result(report, "waits for another exercise", result.answer, result.seconds)
        return dataclasses.replace(shown, reason="", waits_for=name)

    def verdict(self, stem: str, exercise: Exercise, yours: dict[str, str]) -> tuple[Verdict, float]:
        """What becomes of an answer in a runner of its own, and the CPU seconds that it took."""
        page = self.submission.pages[self.pages[stem]]
        with self.judge.sandbox.open_session(self.judge.limits, page) as session:
            found = self._judge_answer(session, stem, exercise, yours)
        self.incidents += [Incident(_kind(kind), exercise.name, text) for kind, text in session.notes]
        return found, session.seconds

    def _judge_answer(self, session: Session, stem: str, exercise: Exercise, yours: dict[str, str]) -> Verdict:
        """What becomes of the answer that a session's runner makes of a page."""
        name, remote = exercise.name, RemoteRunner(session, exercise.signature)
        try:
            own = [page for page in {self.pages[stem], *yours.values()} if page in self.submission.pages]
            answers = {page: _cached_solution(page[: -len("_answers.ipynb")]) for page in {*yours.values()} - {*own}}
            self._send_pages(session, own, answers)
            remote.load_answer(self.pages[stem], yours)
            report = diagnose_with_runner(exercise, remote)
        except RunnerStopped as over:
            # One that meets that limit on every case takes its time over it.
            met = (
                RunnerStopped("memory", "It asked for more memory than it may have.") if remote.out_of_memory else over
            )
            self.incidents.append(Incident(_kind(met.kind), name, met.detail))
            return Verdict(self._stopped_report(exercise, met), "stopped", may_be_blocked=True)
        except RemoteAnswerNotFound as missing:
            return _missing_verdict(name, missing)
        except Exception as error:  # of the runner's own part, while it loaded the page
            what = f"{type(error).__name__}: {error}"
            return Verdict(Report(name, "failed", what, reason="raised"), "failed", may_be_blocked=True)
        if report:
            return Verdict(report, "passed")
        if remote.out_of_memory:
            self.incidents.append(Incident("memory", name, "It asked for more memory than it may have."))
            return Verdict(report, "stopped", may_be_blocked=True)
        if report.reason == "todo":
            return Verdict(report, "not attempted", may_be_blocked=remote.unfinished not in ("", name))
        first = remote.fingerprints[: len(cached_cases(exercise, 0))]
        wrong = hashlib.sha256(json.dumps([name, first]).encode()).hexdigest()[:16]
        return Verdict(report, "failed", wrong, may_be_blocked=True)

    def _stopped_report(self, exercise: Exercise, over: RunnerStopped) -> Report:
        if over.kind == "time":
            return timeout_report(exercise, self.judge.limits.seconds, over.line, over.code)
        return Report(exercise.name, "failed", over.detail, reason="stopped")


def _parse_read_reply(done: Any, page: str) -> ParsedPage:
    """What a runner says that it read. It ran nothing of the page, but its parsers may have met their match."""
    match done:
        case {"unreadable": str(why)}:
            return ParsedPage(unreadable_reason=why or f"{page} lies too deep in itself to be read.")
        case {"answers": dict(answers), "asked": list(asked)}:
            found: dict[str, tuple[str, list[str]]] = {}
            for name, entry in answers.items():
                match entry:
                    case [str(source), list(uses)] if all(isinstance(used, str) for used in uses):
                        found[name] = source.encode("utf-8", "replace").decode(), uses
            return ParsedPage(found, [name for name in asked if isinstance(name, str)])
    return ParsedPage(unreadable_reason=f"{page} could not be read.")


def _is_pending(
    name: str, stem: str, yours: Mapping[str, str], before: Mapping[str, ExerciseResult], lesson_of: Mapping[str, str]
) -> bool:
    """Whether an exercise that an answer uses has still to pass."""
    if lesson_of.get(name) == stem:
        return name in before and before[name].state != "passed"
    return lesson_of.get(name, "99") < stem and name not in yours


def _missing_verdict(name: str, missing: RemoteAnswerNotFound) -> Verdict:
    """What to say where a page has no answer: it is not attempted, or something stopped it."""
    failure = missing.failure
    if failure is None or failure.todo is not None:
        return Verdict(_todo_report(name, str(missing)), "not attempted", may_be_blocked=failure is not None)
    reason = "structure" if failure.type == "NotADefinition" else "raised"
    return Verdict(Report(name, "failed", str(missing), reason=reason), "failed", may_be_blocked=reason == "raised")


def _todo_report(name: str, message: str) -> Report:
    return Report(name, "todo", message, reason="todo")


def _exercise_result(
    report: Report, state: State, source: str = "", seconds: float = 0.0, fingerprint: str = ""
) -> ExerciseResult:
    return ExerciseResult(
        name=report.name,
        state=state,
        points=POINTS if state == "passed" else 0.0,
        max_points=POINTS,
        reason=report.reason,
        misconception=report.misconception,
        message=report.message,
        html=report._repr_html_(),
        seconds=round(seconds, 3),
        answer=source,
        fingerprint=fingerprint,
    )


def _unreadable_result(name: str, why: str) -> ExerciseResult:
    return ExerciseResult(name, "unreadable", 0.0, POINTS, message=why)


def absent_result(student: str, lesson: str, key: str = "") -> LessonResult:
    """The result of a lesson that a student has not handed in."""
    none = tuple(ExerciseResult(name, "absent", 0.0, POINTS) for name in exercises_by_lesson()[lesson])
    return LessonResult(student, lesson, key, none)


def _kind(kind: str) -> Any:
    return kind  # `sandbox` and `notes` take no other


@functools.lru_cache(maxsize=4)
def _cached_solution(stem: str) -> bytes:
    return solution_notebook(stem)


def solution_notebook(stem: str, edit: Callable[[str], str] = str) -> bytes:
    """The course's own lesson with its answers, as a notebook of its cells of code; `changed` may change their text.
    Raises `LessonError` where the solutions are not here."""
    cells = [
        {"cell_type": "code", "source": edit(solved_source(cell)), "metadata": {}}
        for cell in lessons.read_lesson(lessons.find_lesson(stem)).cells
        if cell.kind == "code"
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()
