"""Test the checks with mutants: change each reference answer in one place, and see whether its check notices.

A mutant is the answer's source with one change that a learner could make: a different operator or axis, a missing line,
swapped arguments. When the check rejects a mutant, the message names a misconception, explains the fault, or only says
that numbers differ. If a mutant passes, it is compared with the reference answer on cases that the check does not use.
If the results differ, the check has a gap.

One worker process runs all mutants. If a mutant does not terminate, the process is killed and replaced.
"""

from __future__ import annotations

import ast
import contextlib
import io
import multiprocessing
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from utils import lessons
from utils.exercises.compare import observations_agree
from utils.exercises.exercise import Case, Exercise, all_exercises, family_members, find_exercise
from utils.exercises.observe import is_float, preserve_global_state
from utils.exercises.oracles import observe_answer, observe_oracle
from utils.feedback.diagnose import diagnose
from utils.feedback.report import Report
from utils.instructor.answers import AnswerFactory, reference_source
from utils.instructor.mutations import Mutant, make_mutants
from utils.lessons.files import write_atomically

TABLE = lessons.ROOT / "docs" / "mutants.md"
PAGE = Path(__file__).parent / "templates" / "mutants.md"  # the text around the table
# Wall-clock limit for a mutant that hangs. The check itself stops an answer after `diagnose.TIME_LIMIT` CPU seconds.
SECONDS = 60.0
SEEDS = range(2, 7)  # seeds for additional cases, which test the mutants that pass; the check uses seeds 0 and 1
MEMORY = 4 << 30  # additional bytes that the worker may allocate, in case a mutant builds an endless list

NAMED, EXPLAINED, STOPPED, PLAIN = "named", "explained", "stopped", "plain"  # outcomes of rejected mutants
ENDLESS, EQUAL, WRONG = "endless", "equal", "wrong"
OUTCOMES = (WRONG, PLAIN, EQUAL, EXPLAINED, STOPPED, NAMED, ENDLESS)


@dataclass
class MutantTally:
    """The mutants of one exercise's reference answer, and the check's outcome for each mutant."""

    exercise: str
    lesson: str
    outcomes: list[tuple[Mutant, str, str]] = field(default_factory=list)  # mutant, outcome, message

    def count(self, *outcomes: str) -> int:
        return sum(outcome in outcomes for _, outcome, _ in self.outcomes)


def judge_mutant(answers: AnswerFactory, source: str) -> tuple[str, str]:
    """Return `(outcome, message)` for one mutant, or `("", error)` if the mutant does not define an answer."""
    try:
        answer = answers.make_answer(source)
    except Exception as error:
        return "", f"{type(error).__name__}: {error}"
    report = diagnose(answers.exercise, answer)
    if report:
        gap = find_difference(answers, answer)
        return (WRONG, gap) if gap else (EQUAL, "")
    return _classify_report(report), report.message


def _classify_report(report: Report) -> str:
    """Return the outcome for a mutant that the check rejected, based on the check's report."""
    if report.reason == "difference":
        return EXPLAINED if report.relation or report.trace else PLAIN
    return {"misconception": NAMED, "raised": STOPPED}.get(report.reason, EXPLAINED)


# --- comparison on cases that the check does not use ----------------------------------------------------


def find_difference(answers: AnswerFactory, answer: Any) -> str:
    """Return the name of a case on which a passing answer differs from the reference, or "" if there is none.

    These cases use seeds that the check does not use. Some of them also have other sizes, or larger or smaller numbers.
    """
    exercise = answers.exercise
    if exercise.kind == "value":
        return ""
    reference = answers.make_answer(answers.source)
    with preserve_global_state():
        for label, case in iter_unseen_cases(exercise):
            try:
                reference_observation = observe_answer(exercise, reference, case)
                if reference_observation.failure and reference_observation.failure.type != "ValueError":
                    continue
                if not observations_agree(
                    reference_observation,
                    observe_oracle(exercise, case),
                    exercise.atol,
                    exercise.dtypes,
                    exercise.requires_gradients,
                ):
                    continue  # skip the case: the exercise does not define a result for it
                observation = observe_answer(exercise, answer, case)
                if not observations_agree(
                    observation, reference_observation, 10 * exercise.atol, exercise.dtypes, exercise.requires_gradients
                ):
                    return label
            except Exception:
                continue
    return ""


def iter_unseen_cases(exercise: Exercise) -> Iterator[tuple[str, Case]]:
    """Yield cases that the check does not use: cases from other seeds, and cases with one property changed."""
    for seed in SEEDS if exercise.has_random_cases else ():
        for i, case in enumerate(exercise.sample_cases(seed)):
            yield f"seed {seed}, case {i}", case
    for i, case in enumerate(exercise.sample_cases(SEEDS[-1] + 1)):
        for label, varied in _iter_variants(case):
            yield f"case {i} with {label}", varied


def _iter_variants(case: Case) -> Iterator[tuple[str, Case]]:
    floats = [i for i, a in enumerate(case.args) if is_float(a)]

    def change(places: list[int], turn: Callable[[Any], Any]) -> Case:
        return replace(case, args=tuple(turn(a) if i in places else a for i, a in enumerate(case.args)))

    if floats:
        yield "numbers ten times as large", change(floats, lambda t: t * 10)
        yield "numbers a hundredth as large", change(floats, lambda t: t * 0.01)
        yield "other memory layout", change(floats, lambda t: t.mT.contiguous().mT if t.dim() > 1 else t)
        for i in floats:
            yield f"argument {i} negated", change([i], torch.neg)
    for i, a in enumerate(case.args):
        if type(a) is int:
            for other in sorted({a + 1, a - 1, a + 5, 1, 2} - {a}):
                yield f"argument {i} = {other}", change([i], lambda n, other=other: other)
        elif isinstance(a, (str, list)) and a:
            yield f"argument {i} reversed", change([i], lambda s: s[::-1])
            yield f"argument {i} twice", change([i], lambda s: s + s)
            yield f"argument {i} cut", change([i], lambda s: s[:1])
    if isinstance(case.init, tuple):
        for i, a in enumerate(case.init):
            if type(a) is int:
                for step in (1, a):
                    yield (
                        f"built with {a + step} for {a}",
                        replace(case, init=tuple(n + step if j == i else n for j, n in enumerate(case.init))),
                    )
    if case.init:
        yield "the other mode", replace(case, train=not case.train)
        yield "the parameters as made" if case.fill else "parameters filled", replace(case, fill=not case.fill)


# --- the worker ---------------------------------------------------------------------------------------


def _serve_worker(pipe: Any) -> None:
    """Judge mutants until the pipe closes: receive `(exercise, source)`, and send `(outcome, message)`.

    If the source is None, use the reference answer.
    """
    os.environ["COURSE_GPT2"] = "bundled"
    with contextlib.suppress(ImportError, ValueError):
        import resource

        statm = Path("/proc/self/statm")
        pages = int(statm.read_text(encoding="utf-8").split()[0]) if statm.exists() else 0
        used = pages * os.sysconf("SC_PAGE_SIZE") or 8 << 30
        resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 30) + MEMORY, resource.RLIM_INFINITY))
    torch.set_num_threads(1)
    factories: dict[str, AnswerFactory] = {}
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt), contextlib.redirect_stdout(io.StringIO()):
        while True:
            name, source = pipe.recv()
            if name not in factories:
                factories[name] = AnswerFactory.from_exercise(find_exercise(name))
            pipe.send(judge_mutant(factories[name], source if source is not None else factories[name].source))


class Worker:
    """A process that judges one mutant at a time. It is replaced if a mutant does not terminate."""

    def __init__(self) -> None:
        self._running: tuple[BaseProcess, Any] | None = None  # the process and its pipe

    def judge(self, name: str, source: str | None, seconds: float) -> tuple[str, str]:
        if self._running and self._running[0].is_alive():
            pipe = self._running[1]
        else:
            pipe = self._start()
            pipe.send((name, None))  # do the imports first, so that they do not count towards the mutant's time
            pipe.recv()
        pipe.send((name, source))
        try:
            if pipe.poll(seconds):
                return pipe.recv()
        except EOFError:
            pass
        self.close()
        return ENDLESS, f"The answer had not ended after {seconds:.0f} seconds."

    def _start(self) -> Any:
        context = multiprocessing.get_context("spawn")
        pipe, worker_pipe = context.Pipe()
        process = context.Process(target=_serve_worker, args=(worker_pipe,), daemon=True)
        process.start()
        worker_pipe.close()
        self._running = process, pipe
        return pipe

    def close(self) -> None:
        if self._running:
            process, pipe = self._running
            process.kill()
            process.join()
            pipe.close()
            self._running = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def run_mutants(
    names: Sequence[str] = (), on_tally: Callable[[MutantTally], None] = lambda tally: None
) -> list[MutantTally]:
    """Return the tallies of the named exercises (by default, all). Call `on_tally` with each finished tally.

    The tally of a family of transfer exercises counts the mutants of all its members.

    Raises:
        ValueError: a reference answer does not pass its own check.
    """
    tallies = []
    with Worker() as worker:
        for name in names or list(all_exercises()):
            exercise = find_exercise(name)
            tally = MutantTally(name, exercise.lesson)
            for member in (exercise,) if "/" in name else family_members(exercise):
                tally.outcomes += _run_mutants_of(worker, member)
            tallies.append(tally)
            on_tally(tally)
    return tallies


def _run_mutants_of(worker: Worker, exercise: Exercise) -> Iterator[tuple[Mutant, str, str]]:
    """Yield each mutant of the reference answer, its outcome and the message.

    Raises:
        ValueError: the reference answer does not pass its own check.
    """
    name, source = exercise.full_name, reference_source(exercise)
    worker.judge(name, None, 120)  # load the exercise and its reference answer
    outcome, message = worker.judge(name, ast.unparse(ast.parse(source)), 120)
    if outcome != EQUAL:
        raise ValueError(f"{name}: the reference answer does not pass its own check: {message}")
    for mutant in make_mutants(source):
        outcome, message = worker.judge(name, mutant.source, SECONDS)
        if outcome:
            yield mutant, outcome, message


# --- the table ----------------------------------------------------------------------------------------

COLUMNS = ("mutants", "rejected", "named", "explained", "stopped", "plain", "endless", "equal", "passed wrongly")
ROW = re.compile(r"^\| `?(\w[\w ]*)`? \|" + r" (\d+) \|" * len(COLUMNS) + r" (\d+) % \|$", re.MULTILINE)


def table_row(tally: MutantTally) -> tuple[int, ...]:
    """Return the row of the table for one exercise."""
    rejected = [tally.count(o) for o in (NAMED, EXPLAINED, STOPPED, PLAIN)]
    return (len(tally.outcomes), sum(rejected), *rejected, tally.count(ENDLESS), tally.count(EQUAL), tally.count(WRONG))


def explained_percent(row: Sequence[int]) -> int:
    """Return the percentage of rejected mutants with the outcome NAMED, EXPLAINED or STOPPED, rounded down.

    A result of 100 therefore means that every message explains the fault.
    """
    return 100 * sum(row[2:5]) // row[1] if row[1] else 100


def explained_percent_of_ran(row: Sequence[int]) -> int:
    """Return the percentage of rejected mutants with the outcome NAMED or EXPLAINED, rounded down.

    STOPPED mutants do not count, because torch explains their errors. For all other mutants, only the check can explain
    the fault.
    """
    ran = row[2] + row[3] + row[5]
    return 100 * (row[2] + row[3]) // ran if ran else 100


def format_table(rows: Mapping[str, Sequence[int]]) -> str:
    """Return the table as Markdown: one row for each exercise, and a row with the totals."""
    names = [*(f"`{name}`" for name in rows), "all"]
    lines = [f"| exercise | {' | '.join(COLUMNS)} | specific message |", "|---|" + "---:|" * (len(COLUMNS) + 1)]
    for name, row in zip(names, [*rows.values(), _sum_rows(rows)]):
        lines.append(f"| {name} | {' | '.join(map(str, row))} | {explained_percent(row)} % |")
    return "\n".join(lines)


def _sum_rows(rows: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*rows.values())))


def read_table(path: Path | None = None) -> dict[str, tuple[int, ...]]:
    """Return the rows of the table in `docs/mutants.md`, by exercise. The key "all" contains the totals."""
    rows = ROW.findall((path or TABLE).read_text(encoding="utf-8"))
    return {name: tuple(map(int, row[:-1])) for name, *row in rows}


def update_table(tallies: Sequence[MutantTally], path: Path | None = None) -> dict[str, tuple[int, ...]]:
    """Update the rows of these exercises in `docs/mutants.md`, and return all rows of the table.

    Rows of other exercises stay unchanged. Rows of exercises that no longer exist are removed. A new row follows the
    other rows of its lesson.

    Raises:
        ValueError: a tally belongs to a single task of a transfer exercise, which has no row.
    """
    path = path or TABLE
    if members := [tally.exercise for tally in tallies if "/" in tally.exercise]:
        raise ValueError(f"{path.name} has no rows for single tasks. Write {members[0].partition('/')[0]} instead.")
    known = read_table(path) | {tally.exercise: table_row(tally) for tally in tallies}
    stems = {name: lessons.find_lesson(each.lesson).stem for name, each in all_exercises().items()}
    rows = {name: known[name] for name in sorted(filter(stems.get, known), key=lambda name: stems[name])}
    text = PAGE.read_text(encoding="utf-8").format(
        table=format_table(rows), ran=explained_percent_of_ran(_sum_rows(rows))
    )
    write_atomically(path, text)
    return rows
