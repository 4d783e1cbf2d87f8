"""From what an answer did to what its author should read: the first question that fires speaks.

Not attempted → a known misconception agrees on every case → the questions of `utils.feedback.diagnostics`, in their order
→ a broken property → the plain difference. A misconception that agrees in every respect (shape and exceptions included)
speaks before the general complaints, because its words are the better ones.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from utils.feedback.compare import Dtypes, observations_agree, values_equal
from utils.feedback.diagnostics import DIAGNOSTICS
from utils.feedback.difference import build_table, describe_difference, select_reported_trial, select_table_trial
from utils.feedback.exercise import Case, Exercise, Misconception
from utils.feedback.observe import Observation, build_failure, preserve_global_state
from utils.feedback.probe import Probe
from utils.feedback.relations import find_relation
from utils.feedback.report import Report
from utils.feedback.runner import (
    InProcessRunner,
    Runner,
    cached_misconception_result,
    misconception_answer,
    observe_answer,
)
from utils.feedback.source_lint import find_lint
from utils.feedback.timeout import Timeout
from utils.lessons.stubs import has_code_after_stub

SECOND_SEED = 1  # the second seed, with which an answer that passes once must pass again
TIME_LIMIT = 10.0  # seconds of work that the check of an answer of this process may take
NOTIFY_AFTER = 3.0  # seconds of work after which the page says that it waits
WAIT_MESSAGE = (
    f"check is still running. It stops by itself after about {TIME_LIMIT:.0f} seconds of work; ■ above stops it now."
)
TABLE_SIZE = 6  # a recognised mistake is shown on the largest failing case up to this many rows


def diagnose(exercise: Exercise, answer: Any) -> Report:
    """Check an answer of this process and say what is to be said. Never raises because of what the answer does.

    What has not ended after `LIMIT` seconds is interrupted, as a learner may do it sooner; either way the report's
    reason is "stopped". It is "failed" where the clock did it, and "todo" where nothing was decided.
    """
    shown = sys.stdout  # while an answer runs, what it prints goes elsewhere
    alarm = Timeout(TIME_LIMIT, NOTIFY_AFTER, lambda: print(WAIT_MESSAGE, file=shown, flush=True))
    try:
        with alarm:
            return diagnose_with_runner(exercise, InProcessRunner(exercise.signature, answer))
    except KeyboardInterrupt as interrupt:
        alarm.stop()
        at = build_failure(interrupt, answer)
        if not alarm.fired:
            where = _line_text(at.line, at.code)
            return Report(exercise.name, "todo", f"interrupted{where}; nothing was decided.", reason="stopped")
        return timeout_report(exercise, TIME_LIMIT, at.line, at.code)


def timeout_report(exercise: Exercise, seconds: float, line: int | None = None, code: str = "") -> Report:
    """The report on an answer that had not ended after so many seconds, on this line of its own code."""
    where = _line_text(line, code)
    message = f"It had not ended after {seconds:.0f} seconds and was stopped{where}. Does every loop come to an end?"
    return Report(exercise.name, "failed", message, reason="stopped")


def _line_text(line: int | None, code: str) -> str:
    return f" on line {line} (`{code}`)" if line and code else ""


def diagnose_with_runner(exercise: Exercise, runner: Runner) -> Report:
    """Check the answer that `runner` runs."""
    with preserve_global_state():
        try:
            return _diagnose(exercise, runner)
        except Exception as error:  # an object that fails when it is merely compared or shown
            what = f"{type(error).__name__}: {error}"
            message = f"It returns something that cannot be compared with the expected result ({what})."
            return Report(exercise.name, "failed", message, reason="structure")


def _diagnose(exercise: Exercise, runner: Runner) -> Report:
    probe = Probe.from_runner(exercise, runner, seed=0)
    found = _verdict(exercise, runner, probe)
    found.printed = _printed_text(probe, found)
    return found


def _verdict(exercise: Exercise, runner: Runner, probe: Probe) -> Report:
    todo = _todo_message(probe)
    if todo:
        return Report(exercise.name, "todo", todo, reason="todo")
    if not _all_right(probe, gradients=exercise.requires_gradients):
        return _failure_report(probe)
    # Written-down results show in the results: how gradients flow was seen the first time.
    again = (
        Probe.from_runner(exercise, runner, seed=SECOND_SEED, gradients=False) if exercise.has_random_cases else probe
    )
    if not _all_right(again, gradients=False):
        found = _failure_report(again.with_gradients())
        if found.misconception is None and not (exercise.view or exercise.parse_result) and not _is_nearly_right(again):
            found.message = (
                "Right for one set of numbers and wrong for another: is a result written down instead of computed? "
                + found.message
            )
        return found
    broken = _broken_property(probe)
    if broken is not None:  # a report that is not passed is false
        return broken
    return Report(exercise.name, "passed", _praise(probe), reason="passed")


def _praise(probe: Probe) -> str:
    if probe.exercise.kind == "value":
        return "passed, the value is right."
    tried = len(probe.trials) * (2 if probe.exercise.has_random_cases else 1)  # drawn once more, with other numbers
    return f"passed, right on all {tried} inputs tried."


def _todo_message(probe: Probe) -> str | None:
    """What to read where something is not attempted yet."""
    name = probe.exercise.name
    unfinished = [f.todo for t in probe.trials if (f := t.yours.failure) and f.todo is not None]
    if not unfinished:
        return None
    owner, _, method = unfinished[0].partition(".")
    if owner not in ("", name):
        return f"it needs `{owner}`, and that is not attempted yet."
    handle = f'"{name}"' if probe.exercise.kind == "value" else name
    if has_code_after_stub(probe.runner.inspect_code().source, unfinished[0]):
        line = f'raise NotImplementedError("{unfinished[0]}")'
        return f"Something is written below `{line}`, and that line still ends the function: delete it."
    start = f"`{method}` is not attempted yet." if method not in ("", "__init__") else "not attempted yet."
    return f"{start} `hint({handle})` gives a nudge."


def _all_right(probe: Probe, gradients: bool) -> bool:
    exercise = probe.exercise
    return all(observations_agree(t.yours, t.expected, exercise.atol, exercise.dtypes, gradients) for t in probe.trials)


def _is_nearly_right(probe: Probe) -> bool:
    """Whether it is off by so little that another set of numbers may hide it."""
    atol = 100 * probe.exercise.atol
    return all(values_equal(t.yours.value, t.expected.value, atol, probe.exercise.dtypes) for t in probe.trials)


def _printed_text(probe: Probe, found: Report) -> str:
    """What the answer printed on the case that is spoken of, else the one of the report's table, else the first."""
    wrong = [t for t in probe.trials if not t.is_correct(probe.exercise)]
    seen = select_table_trial(probe, TABLE_SIZE if found.misconception else 0) if found.table else None
    seen = None if found.reason == "difference" else seen
    return (seen or (select_reported_trial(wrong) if wrong else probe.trials[0])).yours.printed


# --- what is wrong ------------------------------------------------------------------------------------


def _failure_report(probe: Probe) -> Report:
    """What is wrong, and what the code shows besides: an argument that it never reads, a slip."""
    found = _explain_failure(probe)
    idle = probe.runner.inspect_code().unused_arguments
    if idle and found.reason in ("difference", "shape", "property"):
        found.message += f" Its argument `{idle[0]}` is never used."
    if slip := find_lint(probe.runner.inspect_code().source):
        found.message += f" {slip}"
        if found.reason == "difference":
            found.relation = found.relation or "slip"
    return found


def _explain_failure(probe: Probe) -> Report:
    name, mistake = probe.exercise.name, find_misconception(probe)
    if mistake:
        table = build_table(probe, select_table_trial(probe, TABLE_SIZE), include_call=True)
        return Report(name, "failed", mistake.message, mistake.id, table, reason="misconception")
    for question in DIAGNOSTICS:
        for trial in probe.trials:
            if message := question.diagnose(probe, trial):
                return Report(name, "failed", message, reason=question.reason, property=question.property)
    broken = _broken_property(probe)
    if broken is not None:
        broken.table = build_table(probe, select_table_trial(probe), include_call=True)
        return broken
    wrong = [t for t in probe.trials if not t.is_correct(probe.exercise)]
    found = find_relation(probe, wrong)
    message = describe_difference(probe, wrong) + (f" {found.sentence}" if found and found.sentence else "")
    if changed := next((t.yours.changed for t in wrong if t.yours.changed and not t.expected.changed), ()):
        message += f" It also changed its input `{changed[0]}`: is that used again after it was written into?"
    table = build_table(probe, select_reported_trial(wrong)) if wrong else None
    return Report(name, "failed", message, table=table, reason="difference", relation=found.name if found else None)


def find_misconception(probe: Probe) -> Misconception | None:
    """The misconception that agrees with the learner's answer on every case; exact types are preferred."""
    exercise, trials = probe.exercise, probe.trials

    exact: tuple[Dtypes, ...] = ("same", "any")
    for dtypes in exact:
        alike = functools.partial(observations_agree, atol=exercise.atol, dtypes=dtypes)
        for index, wrong in enumerate(exercise.misconceptions):
            # Case after case, and gradients last: most mistakes differ from the learner's in the first result.
            if not all(
                alike(t.yours, cached_misconception_result(exercise, index, t.case), gradients=False) for t in trials
            ):
                continue
            observed = [_observe_misconception(exercise, index, t.case) for t in trials]
            if not all(alike(t.yours, o, gradients=exercise.requires_gradients) for t, o in zip(trials, observed)):
                continue
            telling = any(o.failure is None for o in observed)  # a mistake that only ever raises recognises nothing
            if telling and not all(
                alike(o, t.expected, gradients=exercise.requires_gradients) for t, o in zip(trials, observed)
            ):
                return wrong
    return None


def _observe_misconception(exercise: Exercise, index: int, case: Case) -> Observation:
    """What a misconception does on a case, with its gradients where they count."""
    if not exercise.requires_gradients:
        return cached_misconception_result(exercise, index, case)
    return observe_answer(exercise, misconception_answer(exercise, exercise.misconceptions[index]), case)


def _broken_property(probe: Probe) -> Report | None:
    if any(t.yours.failure and not t.expected.failure for t in probe.trials):
        return None
    ran = [t for t in probe.trials if not t.yours.failure]  # a case that is rightly refused has no result to ask about
    asked = Probe(probe.exercise, probe.runner, ran)
    for broken in probe.exercise.properties if ran else ():
        name = broken.__qualname__.partition(".")[0].lstrip("_")  # of a closure the function that made it
        try:
            message = broken(asked)
        except Exception as error:  # the answer runs behind the Runner, so this is no mistake of the learner's
            message = (
                f"The check itself failed, in {name} ({type(error).__name__}: {error}). Tell whoever made the course."
            )
        if message:
            return Report(probe.exercise.name, "failed", message, reason="property", property=name)
    return None
