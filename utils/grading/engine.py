"""Grade a folder of submissions and write the results into another folder, on one machine or many.

Each submission is one task and produces one file. A result that already exists under the same key is reused, so an
interrupted run can be resumed, and a later run grades only what is new. A task contains everything that it needs, so
the same function runs in this process, in worker processes and on a Dask cluster.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import platform
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import torch

from utils import lessons
from utils.exercises.exercise import find_exercise
from utils.feedback.report import Report
from utils.grading.executors import local_executor
from utils.grading.judge.bubblewrap import MOUNTED_PACKAGES, Isolation, SandboxError, isolation_problem
from utils.grading.judge.container import container_problem
from utils.grading.judge.results import (
    SCHEMA,
    LessonResult,
    ResultError,
    read_result,
    result_path,
    ungraded_result,
    write_result,
)
from utils.grading.judge.sandbox import Sandbox
from utils.grading.judge.shared_folder import SubmissionLocks
from utils.grading.judge.submissions import (
    GradingError,
    Submission,
    exercises_by_lesson,
    lessons_by_exercise,
    read_page,
    required_lessons,
    resolve_stems,
    student_folders,
    submitted_lessons,
)
from utils.grading.judge.verdicts import Judge, absent_result, solution_notebook
from utils.grading.runner.isolation import ResourceLimits

# the folders of `utils` whose code can affect a verdict
VERDICT_FOLDERS = (*MOUNTED_PACKAGES, "checks", "grading/judge", "grading/runner")
ATTEMPTS = 3  # maximum number of attempts for a submission whose worker process dies
LIMITS = ResourceLimits()
POLL_INTERVAL = 0.5  # seconds between checks for results from other processes
END: Any = object()
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)  # These affect all results.


@dataclass(frozen=True)
class Settings:
    """The settings with which the submissions of a class are graded.

    Attributes:
        limits: the resource limits for one exercise.
        isolation: "bwrap", "container" with an `image`, or "none" for answers that are trusted.
        with_answers: the stems of the lessons whose answers the students have received.
        seed: the instructor's seed for the numbers in random cases; None for the numbers of the release.
        image: the image of the container in which answers run; "" for the other isolations.
    """

    limits: ResourceLimits = LIMITS
    isolation: Isolation = "bwrap"
    with_answers: tuple[str, ...] = ()
    seed: int | None = None
    image: str = ""


@dataclass
class GradingSummary:
    """The outcome of a grading run.

    Attributes:
        reused_count: the number of results that already existed.
        graded_count: the number of results that this run produced.
        state_counts: the number of exercises of the new results in each state.
        wait_counts: the number of exercises of the new results that wait for an earlier lesson, by the number of that
            lesson.
        lost_submissions: the submissions that could not be graded, and the error for each.
    """

    reused_count: int = 0
    graded_count: int = 0
    state_counts: Counter[str] = field(default_factory=Counter)
    wait_counts: Counter[str] = field(default_factory=Counter)
    lost_submissions: list[str] = field(default_factory=list)


# --- finding submissions --------------------------------------------------------------------------------


def iter_submissions(folder: Path, stems: Sequence[str], settings: Settings) -> Iterator[Submission]:
    """Yield one submission for each student and lesson; it has no notebooks if the lesson was not handed in.

    Raises:
        GradingError: the folder does not exist, or contains no student.
    """
    for student in student_folders(folder):
        for stem in stems:
            yield read_submission(folder, student, stem, settings)


def read_submission(folder: Path, student: str, stem: str, settings: Settings) -> Submission:
    """Return a student's submission of one lesson."""
    files = {path.stem: path for path in lessons.all_lessons(folder / student)}
    if stem not in files:
        return Submission(student, stem, {}, "absent")
    pages = {files[name].name: read_page(files[name]) for name in required_lessons(stem, files)}
    return Submission(student, stem, pages, result_key(stem, pages, settings))


def result_key(stem: str, pages: dict[str, bytes], settings: Settings) -> str:
    """Return a hash of everything that the verdicts on a submission depend on."""
    page_hashes = {name: hashlib.sha256(text).hexdigest() for name, text in sorted(pages.items())}
    answers = sorted(settings.with_answers)
    parts = [SCHEMA, course_version(), stem, page_hashes, list(settings.limits), answers, settings.seed]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


@functools.lru_cache(maxsize=1)
def course_version(root: Path = lessons.ROOT) -> str:
    """Return a hash of torch's version and of the code that judges and runs answers.

    Code that only collects, reports or writes files is excluded, so that changes to it do not invalidate results.
    """
    digest = hashlib.sha256(torch.__version__.encode())
    for path in [path for folder in VERDICT_FOLDERS for path in sorted((root / "utils" / folder).rglob("*.py"))]:
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


# --- grading --------------------------------------------------------------------------------------------


def grade_submission(submission: Submission, settings: Settings) -> LessonResult:
    """Grade one submission with the judge of this process.

    Raises:
        SandboxError: this machine cannot run answers; the message names the machine.
    """
    with _one_at_a_time:  # A judge changes global state, such as torch's seed and sys.stdout.
        try:
            return _get_judge(settings).grade(submission)
        except SandboxError as error:
            raise SandboxError(f"On the machine {platform.node()}: {error}") from None
        finally:
            if settings.isolation == "container":  # Each submission has its own container.
                close_judges()


def report_answer(name: str, source: str) -> Report:
    """Run `check` on one answer, and return its report. All other exercises have their reference answers.

    The answer runs in the sandbox, because the instructor has not read it yet.

    Args:
        name: the name of the exercise; for a transfer exercise, its name and member, such as `attend/keys-first`.
        source: the code of the answer.

    Raises:
        UnknownExercise: no exercise has this name.
        LessonError: the solutions are not available.
        SandboxError: this machine cannot isolate the answer.
    """
    exercise = find_exercise(name)
    stem = lessons_by_exercise()[exercise.name]
    own = lessons.definition_source(lessons.find_lesson(stem), exercise.name)
    pages = {f"{other}.ipynb": solution_notebook(other) for other in exercises_by_lesson() if other < stem}
    pages[f"{stem}.ipynb"] = solution_notebook(stem, lambda text: text.replace(own, source))
    with _one_at_a_time:
        return _get_judge(Settings()).report_exercise(Submission("", stem, pages, ""), exercise)


_one_at_a_time = threading.Lock()


def _get_judge(settings: Settings) -> Judge:
    """Return the judge of this process; its fork server keeps running for the next submission."""
    if settings not in _judges:
        close_judges()
        os.environ["COURSE_GPT2"] = "bundled"  # Verdicts must not depend on the GPT-2 weights that a machine has.
        sandbox = Sandbox(settings.isolation, settings.image)
        _judges[settings] = Judge(sandbox, settings.limits, settings.with_answers, settings.seed)
    return _judges[settings]


def close_judges() -> None:
    """Close the sandboxes of all judges of this process."""
    while _judges:
        _judges.popitem()[1].sandbox.close()


_judges: dict[Settings, Judge] = {}
Finalize(None, close_judges, exitpriority=1)  # Unlike atexit, this also runs when a worker process of a pool ends.


def grade(
    folder: Path,
    out: Path,
    names: Sequence[str] = (),
    settings: Settings | None = None,
    executor: Executor | None = None,
    jobs: int = 1,
    progress: bool = False,
) -> GradingSummary:
    """Grade the submissions of a class, and write a result for each student and lesson into `out`.

    Args:
        folder: the folder that `coginst collect` wrote, with `NN_stem.ipynb` or `.md` in a folder for each student.
        names: numbers, names or stems of lessons; by default all lessons that at least one student handed in.
        executor: where tasks run; by default `jobs` processes on this machine.
        jobs: how many tasks may run at once.
        progress: whether to show a progress bar.

    Raises:
        GradingError: there is nothing to grade.
        SandboxError: `settings` request an isolation that this machine does not support.
    """
    settings = settings or Settings()
    problems = {"bwrap": isolation_problem, "container": lambda: container_problem(settings.image)}
    if settings.isolation in problems and executor is None and (why := problems[settings.isolation]()):
        raise SandboxError(why)
    stems = resolve_stems(names) or submitted_lessons(folder)
    if not stems:
        raise GradingError(f"No student in {folder} handed in a lesson with exercises.")
    summary = GradingSummary()
    pending = deque((student, stem) for student in student_folders(folder) for stem in stems)
    total = len(pending)
    from tqdm import tqdm

    with tqdm(total=total, unit="page", disable=not progress) as bar, SubmissionLocks(out) as locks:
        todo = _lock_submissions(folder, out, pending, settings, locks, summary)
        for result in _grade_all(todo, settings, executor, jobs):
            is_graded = _write(out, result, summary)
            locks.release(result.student, result.lesson)
            if not is_graded:
                continue
            summary.graded_count += 1
            summary.state_counts.update(e.state for e in result.exercises)
            earlier = (lessons_by_exercise()[e.waits_for] for e in result.exercises if e.waits_for)
            summary.wait_counts.update(stem[:2] for stem in earlier if stem != result.lesson)
            bar.update(summary.reused_count + summary.graded_count + len(summary.lost_submissions) - bar.n)
        bar.update(summary.reused_count + summary.graded_count + len(summary.lost_submissions) - bar.n)
    return summary


def _write(out: Path, result: LessonResult, done: GradingSummary) -> bool:
    """Write a result, and return whether the submission was graded. If not, add it to `done.lost_submissions`.

    Raises:
        OSError: the disk is full or defective, so other results could not be written either.
    """  # noqa: DOC501  (a ValueError is never re-raised)
    why = next((incident.detail for incident in result.incidents if incident.kind == "grading"), "")
    try:
        write_result(out, result)
    except (OSError, ValueError) as error:
        if getattr(error, "errno", None) in DISK_ERRORS:
            raise
        why = f"{type(error).__name__}: {error}"
    if why:
        done.lost_submissions.append(ascii(f"{result.student}, {result.lesson}: {why}")[1:-1])
    return not why


def _lock_submissions(
    folder: Path,
    out: Path,
    pending: deque[tuple[str, str]],
    settings: Settings,
    locks: SubmissionLocks,
    done: GradingSummary,
) -> Iterator[Submission | None]:
    """Lock and yield the submissions that have no valid result.

    If other processes have locked all pending submissions, yield None. While the caller waits, these submissions may
    get results, or a process may die and release its locks.
    """
    refused = 0
    while pending:
        student, stem = pending.popleft()
        task = read_submission(folder, student, stem, settings)
        if _has_result(out, task, done):
            refused = 0
        elif not locks.take(student, stem):
            pending.append((student, stem))
            refused += 1
            if refused >= len(pending):
                refused = 0
                yield None
        elif _has_result(out, task, done):  # Another process wrote the result before it released its lock.
            locks.release(student, stem)
        else:
            refused = 0
            yield task


def _has_result(out: Path, task: Submission, done: GradingSummary) -> bool:
    """Return whether a result with the submission's key already exists. If so, count the result in `done`."""
    try:
        exists = read_result(result_path(out, task.student, task.lesson)).key == task.key
    except ResultError:
        return False
    done.reused_count += exists
    return exists


def _grade_all(
    todo: Iterator[Submission | None], settings: Settings, executor: Executor | None, jobs: int
) -> Iterator[LessonResult]:
    """Yield the results in the order in which they are finished.

    At most `2 * jobs` tasks exist at any time, however large the class is. If a worker dies, the tasks that were
    running are retried one at a time. This identifies the task that kills its worker.

    Args:
        todo: the submissions to grade. An item is None while other processes have locked all remaining submissions.

    Raises:
        SandboxError: the sandbox does not work, so no answer can be judged.
    """
    retries: list[tuple[Submission, int]] = []
    running: dict[Future, tuple[Submission, int]] = {}
    pool = executor or local_executor(jobs)
    try:
        while True:
            new: Any = None
            while len(running) < (1 if retries else 2 * jobs):
                task, attempt = retries.pop() if retries else (new := next(todo, END), 0)
                if task in (None, END):
                    break
                if not task.pages:
                    yield absent_result(task.student, task.lesson, task.key)
                    continue
                running[pool.submit(grade_submission, task, settings)] = task, attempt
                if attempt:
                    break
            if not running and new is END:
                return
            if not running:
                time.sleep(POLL_INTERVAL)
                continue
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                task, attempt = running.pop(future)
                try:
                    yield future.result()
                except SandboxError:
                    raise
                except Exception as error:  # A worker died. A local pool loses all tasks; Dask loses only this one.
                    if attempt + 1 < ATTEMPTS:
                        retries.append((task, attempt + 1))
                    else:
                        absent = absent_result(task.student, task.lesson)
                        yield ungraded_result(absent, f"{type(error).__name__}: {error}")
                    if isinstance(error, BrokenExecutor) and executor is None:
                        retries += running.values()
                        running.clear()
                        pool = local_executor(jobs)
                        break
    finally:
        if executor is None:
            pool.shutdown(cancel_futures=True)
