"""From a folder of submissions to a folder of results, on one machine or many.

One submission is one task, and one file. A result that is there under the same key is not made again, so a run that was
stopped goes on where it was, and one with a new submission in it grades that one. Tasks hold what they need and give
back a result: the same function runs here, in processes, and on a Dask cluster.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
import os
import re
import stat
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from utils import lessons
from utils.feedback.report import Report
from utils.grading.bubblewrap import MOUNTED_MODULES, Isolation, SandboxError, isolation_problem
from utils.grading.isolation import ResourceLimits
from utils.grading.judge import LARGEST, Judge, Submission, absent_result, exercises_by_lesson
from utils.grading.results import SCHEMA, LessonResult, ResultError, read_result, result_path, write_result
from utils.grading.sandbox import Sandbox

JUDGE_PACKAGES = ("checks", "feedback", "lessons", "test_doubles", "models", "gpt2")  # rooms that a verdict hangs on
JUDGE_MODULES = (
    *MOUNTED_MODULES,
    "bubblewrap",
    "fingerprint",
    "judge",
    "remote_runner",
    "sandbox",
)  # and of this room these alone
ATTEMPTS = 3  # at a submission whose worker dies
LIMITS = ResourceLimits()
_YOURS = re.compile(rb"yours\(\s*\\?[\"'](\w+)")


@dataclass(frozen=True)
class Settings:
    """How a class is graded.

    Attributes:
        limits: of one exercise.
        isolation: "bwrap", or "none" for answers that are trusted.
        with_answers: stems of lessons whose answers have been handed out.
    """

    limits: ResourceLimits = LIMITS
    isolation: Isolation = "bwrap"
    with_answers: tuple[str, ...] = ()


@dataclass
class GradingSummary:
    """What a run did: how many results were there already, and the states of the exercises of those that it made.

    `waits` counts those of them that wait for an earlier lesson, by its number; `lost` names the submissions that no
    worker came back from.
    """

    reused_count: int = 0
    graded_count: int = 0
    state_counts: Counter[str] = field(default_factory=Counter)
    wait_counts: Counter[str] = field(default_factory=Counter)
    lost_submissions: list[str] = field(default_factory=list)


class GradingError(ValueError):
    """A class cannot be graded as was asked; the message says why, and what to do."""


# --- what there is to do --------------------------------------------------------------------------------


def iter_submissions(folder: Path, stems: Sequence[str], settings: Settings) -> Iterator[Submission]:
    """What each student handed in for each of these lessons, one after the other; without pages where it is nothing.

    Raises:
        GradingError: there is no such folder, or no student in it.
    """
    students = _student_folders(folder)
    for student in students:
        files = {path.stem: path for path in lessons.all_lessons(folder / student)}
        for stem in stems:
            if stem not in files:
                yield Submission(student, stem, {}, "absent")
                continue
            pages = {files[name].name: read_page(files[name]) for name in _required_lessons(stem, files)}
            yield Submission(student, stem, pages, result_key(stem, pages, settings))


def _student_folders(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise GradingError(f"There is no folder {folder}; `coginst collect` makes it of what a class handed in.")
    found = sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.is_symlink() and p.name[0] not in "._")
    if not found:
        raise GradingError(f"{folder} holds no student's folder; `coginst collect` makes one for each.")
    return found


def submitted_lessons(folder: Path) -> list[str]:
    """The lessons with exercises that somebody handed in, by their stems. Raises `GradingError`."""
    there = {path.stem for student in _student_folders(folder) for path in lessons.all_lessons(folder / student)}
    return [stem for stem, exercises in exercises_by_lesson().items() if exercises and stem in there]


def resolve_stems(names: Iterable[str]) -> list[str]:
    """The stems of lessons that are named by number, name or stem. Raises `GradingError`."""
    known = [stem for stem, exercises in exercises_by_lesson().items() if exercises]
    found = []
    for name in names:
        stem = next((stem for stem in known if name in (stem, stem[:2], stem[3:])), None)
        if stem is None:
            raise GradingError(f"There is no lesson {name!r} with exercises. There are: {', '.join(known)}.")
        found.append(stem)
    return found


def _required_lessons(stem: str, files: dict[str, Path]) -> list[str]:
    """A lesson and those earlier ones that it asks `yours` for, and these in turn; told by their text alone."""
    lesson_of = {name: lesson for lesson, found in exercises_by_lesson().items() for name in found}
    needed, waiting = [stem], [stem]
    while waiting:
        now = waiting.pop()
        for name in _YOURS.findall(read_page(files[now])):
            lesson = lesson_of.get(name.decode(), "99")
            if lesson < now and lesson in files and lesson not in needed:
                needed.append(lesson)
                waiting.append(lesson)
    return needed


def read_page(path: Path) -> bytes:
    """The bytes of a page, one more than the largest that is read at most; none where it is no plain file."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return b""
    with open(number, "rb") as file:
        return file.read(LARGEST + 1) if stat.S_ISREG(os.fstat(number).st_mode) else b""


def result_key(stem: str, pages: dict[str, bytes], settings: Settings) -> str:
    """A hash of what the verdicts on a submission depend on."""
    held = {name: hashlib.sha256(text).hexdigest() for name, text in sorted(pages.items())}
    answers = sorted(settings.with_answers)
    parts = [SCHEMA, course_version(), stem, held, list(settings.limits), answers]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


@functools.lru_cache(maxsize=1)
def course_version(root: Path = lessons.ROOT) -> str:
    """A hash of the code that judges and runs, and of torch's version. What collects, reports or writes files is not
    part of it: a report with other words is no reason to grade a class again."""
    found = hashlib.sha256(torch.__version__.encode())
    rooms = [path for room in JUDGE_PACKAGES for path in sorted((root / "utils" / room).rglob("*.py"))]
    for path in [*rooms, *(root / "utils" / "grading" / f"{name}.py" for name in JUDGE_MODULES)]:
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


# --- doing it -------------------------------------------------------------------------------------------


def grade_submission(submission: Submission, settings: Settings) -> LessonResult:
    """The result of one submission, made by this process's own judge. Raises `SandboxError`."""
    with _one_at_a_time:  # a judge seeds torch and silences the process
        return _get_judge(settings).grade(submission)


def report_exercise(submission: Submission, exercise: str, settings: Settings) -> Report:
    """What the author of one exercise's answer reads. Raises `SandboxError`."""
    with _one_at_a_time:
        return _get_judge(settings).report_exercise(submission, exercise)


_one_at_a_time = threading.Lock()


def _get_judge(settings: Settings) -> Judge:
    """This process's judge, whose sandbox stays warm for the next submission."""
    if settings not in _judges:
        close_judges()
        os.environ["COURSE_GPT2"] = "bundled"  # as in the runner: no verdict is to hang on what a machine has
        _judges[settings] = Judge(Sandbox(settings.isolation), settings.limits, settings.with_answers)
    return _judges[settings]


def close_judges() -> None:
    while _judges:
        _judges.popitem()[1].sandbox.close()


_judges: dict[Settings, Judge] = {}
atexit.register(close_judges)


def local_executor(jobs: int) -> Executor:
    """An executor of this machine: this very process for one job, processes for more."""
    return _InlineExecutor() if jobs == 1 else ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


@contextlib.contextmanager
def dask_executor(address: str) -> Iterator[tuple[Executor, int]]:
    """The executor of a Dask cluster, and how many tasks it runs at once. Raises `GradingError`."""
    try:
        from distributed import Client  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise GradingError('--dask needs Dask: pip install -e ".[grade]", here and on every worker.') from None
    try:
        client = Client(address, timeout=20)
    except (OSError, ValueError) as error:
        raise GradingError(f"No Dask scheduler answers at {address} ({error}).") from None
    with client:
        threads: Any = client.nthreads()  # a coroutine too, as Dask declares it
        yield client.get_executor(pure=False), max(1, sum(threads.values()))


class _InlineExecutor(Executor):
    """Runs each task in this process, when it is submitted."""

    def submit(self, fn, /, *args, **kwargs):
        done: Future = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


def grade(
    folder: Path,
    out: Path,
    names: Sequence[str] = (),
    settings: Settings | None = None,
    executor: Executor | None = None,
    jobs: int = 1,
    progress: bool = False,
) -> GradingSummary:
    """Grade what a class handed in, and write a result for each student and lesson into `out`.

    Args:
        folder: what `coginst collect` made: a folder a student, with `NN_stem.ipynb` or `.md`.
        names: numbers or names of lessons; all that somebody handed in, when left out.
        executor: where tasks run; `jobs` processes of this machine, when left out.
        jobs: how many tasks may run at once.

    Raises:
        GradingError: there is nothing to grade.
        SandboxError: this machine cannot isolate what students wrote, and `settings` ask for it.
    """
    settings = settings or Settings()
    if settings.isolation == "bwrap" and executor is None and (why := isolation_problem()):
        raise SandboxError(why)
    stems = resolve_stems(names) or submitted_lessons(folder)
    if not stems:
        raise GradingError(f"Nobody in {folder} has handed in a lesson with exercises.")
    done = GradingSummary()
    todo = (task for task in iter_submissions(folder, stems, settings) if not _has_result(out, task, done))
    total = len(_student_folders(folder)) * len(stems)
    lesson_of = {name: stem for stem, found in exercises_by_lesson().items() for name in found}
    from tqdm import tqdm

    with tqdm(total=total, unit="page", disable=not progress) as bar:
        for result in _grade_all(todo, settings, executor, jobs, done):
            write_result(out, result)
            done.graded_count += 1
            done.state_counts.update(e.state for e in result.exercises)
            earlier = (lesson_of[e.waits_for] for e in result.exercises if e.waits_for)
            done.wait_counts.update(stem[:2] for stem in earlier if stem != result.lesson)
            bar.update(done.reused_count + done.graded_count + len(done.lost_submissions) - bar.n)
        bar.update(done.reused_count + done.graded_count + len(done.lost_submissions) - bar.n)
    return done


def _has_result(out: Path, task: Submission, done: GradingSummary) -> bool:
    """Whether the result of a submission is there, under its key."""
    try:
        there = read_result(result_path(out, task.student, task.lesson)).key == task.key
    except ResultError:
        return False
    done.reused_count += there
    return there


def _grade_all(
    todo: Iterator[Submission], settings: Settings, executor: Executor | None, jobs: int, done: GradingSummary
) -> Iterator[LessonResult]:
    """The results, as they come. Twice as many tasks as jobs are held at once, however large the class is; one that was
    there when a worker died is alone the next time, so that it is known which one it was."""
    again: list[tuple[Submission, int]] = []
    running: dict[Future, tuple[Submission, int]] = {}
    pool = executor or local_executor(jobs)
    try:
        while True:
            while len(running) < (1 if again else 2 * jobs) and (task := again.pop() if again else _next_task(todo)):
                if not task[0].pages:
                    yield absent_result(task[0].student, task[0].lesson, task[0].key)
                    continue
                running[pool.submit(grade_submission, task[0], settings)] = task
                if task[1]:
                    break
            if not running:
                return
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                task, attempt = running.pop(future)
                try:
                    yield future.result()
                except SandboxError:
                    raise
                except Exception as error:  # a worker that died: of a pool all that it held, of Dask one task
                    if attempt + 1 < ATTEMPTS:
                        again.append((task, attempt + 1))
                    else:
                        done.lost_submissions.append(f"{task.student}, {task.lesson}: {type(error).__name__}: {error}")
                    if isinstance(error, BrokenExecutor) and executor is None:
                        again += running.values()
                        running.clear()
                        pool = local_executor(jobs)
                        break
    finally:
        if executor is None:
            pool.shutdown(cancel_futures=True)


def _next_task(todo: Iterator[Submission]) -> tuple[Submission, int] | None:
    task = next(todo, None)
    return task and (task, 0)


def parse_limits(text: str) -> ResourceLimits:
    """Limits as they are written: "10s,2G", "30s", "500M". Raises `GradingError`."""
    seconds, memory = LIMITS
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smMG])\s*", part)
        number = float(match[1]) if match else 0.0
        if match is None or not number:
            raise GradingError(f"--limit is like 10s,2G: seconds of CPU time, and memory in M or G; got {text!r}.")
        if match[2] in "sm":
            seconds = number * (60 if match[2] == "m" else 1)
        else:
            memory = int(number * (1 << (30 if match[2] == "G" else 20)))
    return ResourceLimits(seconds, memory)
