"""Grade a student's notebook: each exercise runs in a separate runner, and its observations are judged here.

The judge uses oracles, cases and misconceptions, and never executes student code.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from utils import lessons
from utils.exercises.exercise import Exercise, Sampler
from utils.exercises.oracles import cached_cases
from utils.exercises.runner import Runner
from utils.feedback.diagnose import diagnose_with_runner, timeout_report
from utils.feedback.report import Report
from utils.feedback.torch_errors import explain_further
from utils.grading.judge.remote_runner import RemoteRunner
from utils.grading.judge.results import ExerciseResult, Incident, LessonResult, State
from utils.grading.judge.sandbox import WALL_CLOCK_FACTOR, RemoteAnswerNotFound, RunnerStopped, Sandbox, Session
from utils.grading.judge.shown_tasks import choose_result, read_shown_task
from utils.grading.judge.submissions import LARGEST, NOT_COLLECTED, Submission, exercises_by_lesson, lessons_by_exercise
from utils.grading.runner.isolation import ResourceLimits
from utils.grading.runner.protocol import ParsedPage
from utils.lessons.answers import solved_source

T = TypeVar("T")
OUT_OF_MEMORY = "It requested more memory than the limit allows."
POINTS = 1.0  # points for an exercise, as in the assignments for nbgrader


@dataclass(frozen=True)
class Verdict:
    """The verdict on an answer.

    Attributes:
        fingerprint: a digest of the wrong results; "" if there are none.
        may_be_blocked: whether the answer may have failed only because another exercise does not pass yet.
    """

    report: Report
    state: State
    fingerprint: str = ""
    may_be_blocked: bool = False


@functools.cache  # Oracle results are cached by exercise object, so equal calls must return the same object.
def with_seed(exercise: Exercise, seed: int | None) -> Exercise:
    """Return the exercise with different numbers in its random cases, so that stored results do not pass."""
    cases = exercise.cases
    if seed is None or not callable(cases):
        return exercise
    return dataclasses.replace(exercise, cases=lambda rand: cases(Sampler(f"{seed}:{rand.generator.initial_seed()}")))


class BoundedCache(dict[str, T]):
    """A dict that keeps only the newest entries. The next lesson of the same student needs these entries again."""

    MAX_ENTRIES = 512

    def store(self, key: str, value: T) -> T:
        """Store a value and return it."""
        self[key] = value
        if len(self) > self.MAX_ENTRIES:
            del self[next(iter(self))]
        return value


class Judge:
    """Grades submissions one after the other in a sandbox.

    Args:
        sandbox: where the answers run.
        limits: the resource limits for one exercise.
        with_answers: the stems of the lessons whose answers the students have received. If a student's own answer to
            an exercise of these lessons does not pass, `yours` returns the reference answer.
        seed: the seed of the numbers in random cases; None for the numbers that every learner's notebook uses.
    """

    def __init__(
        self, sandbox: Sandbox, limits: ResourceLimits, with_answers: tuple[str, ...] = (), seed: int | None = None
    ) -> None:
        self.sandbox, self.limits, self.with_answers, self.seed = sandbox, limits, with_answers, seed
        self.exercises = {
            stem: {name: with_seed(exercise, seed) for name, exercise in exercises.items()}
            for stem, exercises in exercises_by_lesson().items()
        }
        self.reads = BoundedCache[ParsedPage]()  # keys: the lesson and the hash of the notebook
        self.passed = BoundedCache[bool]()  # keys: the exercise and the hashes of all notebooks that it may depend on

    def grade(self, submission: Submission, only: str | None = None) -> LessonResult:
        """Grade a submission. Student code cannot cause an exception here.

        Args:
            only: the only exercise to grade, on the assumption that the answers it depends on pass.

        Raises:
            SandboxError: the sandbox cannot run answers.
        """
        return _Grading(self, submission, only).result()

    def report_exercise(self, submission: Submission, exercise: Exercise) -> Report:
        """Return the report on one exercise, on the assumption that the answers it depends on pass.

        Raises:
            SandboxError: the sandbox cannot run answers.
        """
        grading = _Grading(self, submission, exercise.name)
        stem = submission.lesson
        return grading.verdict(stem, with_seed(exercise, self.seed), grading.yours(stem))[0].report


class _Grading:
    """The grading of one submission. If `only` is an exercise, only that exercise is graded."""

    def __init__(self, judge: Judge, submission: Submission, only: str | None = None) -> None:
        self.judge, self.submission, self.only = judge, submission, only
        self.pages = {Path(name).stem: name for name in submission.pages}
        self.exercises = judge.exercises
        self.incidents: list[Incident] = []
        # All stopped answers share this wall-clock time (in seconds). When it is used up, the wall-clock limit for each
        # further answer equals the CPU limit.
        self.wall_left = 2 * WALL_CLOCK_FACTOR * judge.limits.seconds
        self.hashes = {stem: hashlib.sha256(submission.pages[name]).hexdigest() for stem, name in self.pages.items()}

    def result(self) -> LessonResult:
        stem = self.submission.lesson
        page = self.read(stem)
        results: dict[str, ExerciseResult] = {}
        for name, exercise in self.exercises[stem].items():
            if self.only not in (None, name):
                continue
            if page.unreadable_reason is not None:
                results[name] = ExerciseResult(name, "unreadable", 0.0, POINTS, message=page.unreadable_reason)
            else:
                grade = self.transfer_exercise if exercise.member else self.exercise
                results[name] = grade(stem, exercise, results)
                self.judge.passed.store(self._dependency_key(stem, name), results[name].state == "passed")
        result = LessonResult(self.submission.student, stem, self.submission.key, tuple(results.values()))
        incidents = tuple(dict.fromkeys(self.incidents))
        return dataclasses.replace(result, incidents=incidents, page=self.submission.page_hash)

    # --- a notebook -----------------------------------------------------------------------------------------

    def read(self, stem: str) -> ParsedPage:
        """Parse a notebook. This happens in a runner, because the notebook is not trusted."""
        known = self.judge.reads
        key = f"{stem} {self.hashes[stem]}"
        return known[key] if key in known else known.store(key, self._parse_page(stem))

    def _dependency_key(self, stem: str, name: str) -> str:
        """Return a cache key: the exercise's name, and the hashes of all notebooks that the exercise may depend on."""
        pages, waiting = {stem}, [stem]
        while waiting:
            current = waiting.pop()
            earlier = {lessons_by_exercise().get(asked, "99") for asked in self.read(current).requested}
            new = {other for other in earlier if other < current and other in self.pages} - pages
            pages |= new
            waiting += new
        return f"{name} " + " ".join(f"{page} {self.hashes[page]}" for page in sorted(pages))

    def _parse_page(self, stem: str) -> ParsedPage:
        page = self.pages[stem]
        text = self.submission.pages[page]
        if not text.strip():
            return ParsedPage(unreadable_reason=f"{page} is empty.")
        if text.startswith(NOT_COLLECTED.encode()):
            reason = text[:1000].decode("utf-8", "replace").removeprefix(NOT_COLLECTED)
            return ParsedPage(unreadable_reason=f"{page} was not collected. {reason}")
        if len(text) > LARGEST:
            return ParsedPage(
                unreadable_reason=f"{page} exceeds the limit of {LARGEST // 10**6} MB. Clear its outputs."
            )
        kinds = {e.name: e.kind for e in self.exercises[stem].values()}
        try:
            with self.judge.sandbox.open_session(self.judge.limits) as session:
                session.call("write_pages", {page: text})
                return session.call("parse_page", page, kinds)
        except RunnerStopped as over:
            self._note_stop(over, "")
            return ParsedPage(unreadable_reason=f"{page} could not be read. {over.detail}")

    def yours(self, stem: str) -> dict[str, str]:
        """Map the exercises that a lesson loads with `yours`, directly or indirectly, to notebooks with their answers.

        If the student's own answer does not pass, use the notebook with the reference answers. If the students have
        not received these reference answers, leave out the exercise.
        """
        sources: dict[str, str] = {}
        for name in self.read(stem).requested:
            earlier = lessons_by_exercise().get(name, "99")
            if earlier >= stem:
                continue
            if earlier in self.pages and self.passes(name):
                sources |= {**self.yours(earlier), name: self.pages[earlier]}
            elif earlier in self.judge.with_answers:
                sources[name] = f"{earlier}_answers.ipynb"
        return sources

    def passes(self, name: str) -> bool:
        """Return whether the student's own answer to an exercise of an earlier lesson passes."""
        if self.only is not None:
            return True
        stem = lessons_by_exercise()[name]
        key, known = self._dependency_key(stem, name), self.judge.passed
        if key not in known:
            here, before = self.read(stem).unreadable_reason is None, list(self.incidents)
            known.store(key, here and self.exercise(stem, self.exercises[stem][name], {}).state == "passed")
            self.incidents = before  # The result of the earlier lesson reports these incidents.
        return known[key]

    # --- an exercise ------------------------------------------------------------------------------------

    def exercise(self, stem: str, exercise: Exercise, before: Mapping[str, ExerciseResult]) -> ExerciseResult:
        """Grade the answer to one exercise.

        Args:
            before: the results of the earlier exercises in the same notebook.
        """
        name = exercise.name
        answers = self.read(stem).answers
        if name not in answers:
            return _exercise_result(_todo_report(name, f"{self.pages[stem]} defines no `{name}`."), "not attempted")
        source, uses = answers[name]
        if stuck := next((n for n in uses if n in before and before[n].state == "stopped"), None):
            # Loading the notebook would exceed the same limit again.
            return self._waiting_result(_exercise_result(_todo_report(name, ""), "failed", source), stuck)
        yours = self.yours(stem)
        verdict, seconds = self.verdict(stem, exercise, yours)
        result = _exercise_result(verdict.report, verdict.state, source, seconds, verdict.fingerprint)
        waits = (n for n in uses if verdict.may_be_blocked and _is_pending(n, stem, yours, before))
        return next((self._waiting_result(result, n) for n in waits), result)

    def transfer_exercise(self, stem: str, exercise: Exercise, before: Mapping[str, ExerciseResult]) -> ExerciseResult:
        """Grade the answer to the task that the notebook shows; without a valid task code, try the tasks in order."""
        shown, results = read_shown_task(self.submission.pages[self.pages[stem]], exercise), []
        for member in shown.members:
            result = self.exercise(stem, with_seed(member, self.judge.seed), before)
            results.append(dataclasses.replace(result, member=member.member))
            if result.state != "failed":
                break
        result, note = choose_result(shown, results)
        return dataclasses.replace(result, task_code=shown.code, note=note)

    def _waiting_result(self, result: ExerciseResult, name: str) -> ExerciseResult:
        """Return the result of an answer that cannot be graded until the exercise `name` passes."""
        stem = lessons_by_exercise()[name]
        why = f"which does not pass yet. It can be graded when `{name}` passes."
        if stem not in self.pages:
            why = (
                f"which belongs to lesson {stem[:2]}, and you did not hand in that lesson."
                f" It can be graded when you hand in the lesson and `{name}` passes."
            )
        report = _todo_report(result.name, f"This answer uses `{name}`, {why}")
        shown = _exercise_result(report, "waits for another exercise", result.answer, result.seconds)
        return dataclasses.replace(shown, reason="", waits_for=name)

    def verdict(self, stem: str, exercise: Exercise, yours: dict[str, str]) -> tuple[Verdict, float]:
        """Run an answer in a new runner, and judge it. Return the verdict and the CPU seconds of the runner."""
        page = self.submission.pages[self.pages[stem]]
        began = time.monotonic()
        with self.judge.sandbox.open_session(self.judge.limits, page) as session:
            session.left = max(self.judge.limits.seconds, min(session.left, self.wall_left))
            verdict = self._judge_answer(session, stem, exercise, yours)
        if verdict.state == "stopped":
            self.wall_left -= time.monotonic() - began
        self.incidents += [Incident(kind, exercise.name, text) for kind, text in session.notes]
        return verdict, session.seconds

    def _judge_answer(self, session: Session, stem: str, exercise: Exercise, yours: dict[str, str]) -> Verdict:
        """Load the notebook in the session's runner, and judge the answer."""
        name, remote = exercise.name, RemoteRunner(session, exercise.signature)
        try:
            own = self.submission.pages
            pages = {self.pages[stem], *yours.values()}
            contents = {
                page: own[page] if page in own else solution_notebook(page.removesuffix("_answers.ipynb"))
                for page in pages
            }
            session.call("write_pages", contents)
            remote.load_answer(self.pages[stem], yours)
            report = diagnose_with_runner(exercise, cast(Runner, remote))
            # Only right answers are checked, because a wrong answer may return an argument without computing anything.
            if report and remote.has_impossible_count:
                raise session.stop_tampered("a number of operations that its result contradicts")
        except RunnerStopped as over:
            # An answer that exceeds the memory limit in every case can also run out of time. Report the memory limit.
            stop = RunnerStopped("memory", OUT_OF_MEMORY) if remote.out_of_memory else over
            self._note_stop(stop, name)
            report = self._stopped_report(exercise, stop, session.seconds)
            return Verdict(report, "stopped", may_be_blocked=True)
        except RemoteAnswerNotFound as missing:
            return _missing_verdict(name, missing)
        except Exception as error:  # The runner raised the exception, for example while it loaded the notebook.
            what = f"{type(error).__name__}: {error}"
            return Verdict(Report(name, "failed", what, reason="raised"), "failed", may_be_blocked=True)
        if report:
            return Verdict(report, "passed")
        if remote.out_of_memory:
            return Verdict(report, "stopped", may_be_blocked=True)
        if report.reason == "todo":
            return Verdict(report, "not attempted", may_be_blocked=remote.unfinished not in ("", name))
        first = remote.fingerprints[: len(cached_cases(exercise, 0))]
        wrong = hashlib.sha256(json.dumps([name, first]).encode()).hexdigest()[:16]
        return Verdict(report, "failed", wrong, may_be_blocked=True)

    def _note_stop(self, stop: RunnerStopped, exercise: str) -> None:
        """Record an incident if the runner violated the protocol. Other stops, such as a crash, can be accidents."""
        if stop.kind == "tampering":
            self.incidents.append(Incident("tampering", exercise, stop.detail))

    def _stopped_report(self, exercise: Exercise, over: RunnerStopped, cpu_seconds: float) -> Report:
        """Return the report on an answer that was stopped after it used `cpu_seconds`."""
        if over.kind == "time":
            report = timeout_report(exercise, self.judge.limits.seconds, over.line, over.code)
            if cpu_seconds < self.judge.limits.seconds / 2:
                where = f" on line {over.line} (`{over.code}`)" if over.line and over.code else ""
                report.message = (
                    f"Your code waited{where} instead of computing, and was stopped. What does it wait for?"
                )
            return report
        return Report(exercise.name, "failed", over.detail, reason="stopped")


def _is_pending(name: str, stem: str, yours: Mapping[str, str], before: Mapping[str, ExerciseResult]) -> bool:
    """Return whether an answer must wait for the exercise `name`, because that exercise does not pass yet."""
    lesson = lessons_by_exercise().get(name, "99")
    if lesson == stem:
        return name in before and before[name].state != "passed"
    return lesson < stem and name not in yours


def _missing_verdict(name: str, missing: RemoteAnswerNotFound) -> Verdict:
    """Judge a missing answer.

    If there was no exception, or a stub raised it, the state is "not attempted". Otherwise, the state is "failed".
    """
    failure = missing.failure
    if failure is None or failure.todo is not None:
        return Verdict(_todo_report(name, str(missing)), "not attempted", may_be_blocked=failure is not None)
    if failure.type == "NotADefinition":
        return Verdict(Report(name, "failed", str(missing), reason="structure"), "failed")
    # As in the notebook, the explanation of an error follows the error's own text.
    text = str(missing) if str(missing).endswith((".", "!", "?")) else f"{missing}."
    words = explain_further(failure)
    message = f"{text} This means: {words}" if words else text
    return Verdict(Report(name, "failed", message, reason="raised"), "failed", may_be_blocked=True)


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


def absent_result(student: str, lesson: str, key: str = "") -> LessonResult:
    """Return the result of a lesson that a student did not hand in."""
    none = tuple(ExerciseResult(name, "absent", 0.0, POINTS) for name in exercises_by_lesson()[lesson])
    return LessonResult(student, lesson, key, none)


@functools.lru_cache(maxsize=4)
def solution_notebook(stem: str, edit: Callable[[str], str] = str) -> bytes:
    """Return a lesson with the reference answers, as a notebook that contains only the code cells.

    Args:
        edit: a function that may change the source of each cell.

    Raises:
        LessonError: the solutions are not available.
    """
    cells = [
        {"cell_type": "code", "source": edit(solved_source(cell)), "metadata": {}}
        for cell in lessons.read_lesson(lessons.find_lesson(stem)).cells
        if cell.kind == "code"
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()
