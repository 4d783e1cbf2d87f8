"""Turn the observations of an answer into a report: not attempted, wrong (`failure_report`), or passed."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from utils.exercises.cell_code import CellCode
from utils.exercises.compare import observations_agree, values_equal
from utils.exercises.exercise import Case, Exercise
from utils.exercises.observe import build_failure, preserve_global_state
from utils.exercises.oracles import parse_observation
from utils.exercises.probe import Probe, Trial, repeats_results
from utils.exercises.runner import InProcessRunner, Runner
from utils.exercises.timeout import Timeout
from utils.feedback.difference import select_reported_trial
from utils.feedback.failure_report import report_failure
from utils.feedback.phrases import call_text, change_text, kept_text
from utils.feedback.properties import report_broken_property
from utils.feedback.report import Report
from utils.feedback.sweeps import Finding, find_condition, run_sweeps, with_sweep_tolerance
from utils.lessons.stubs import has_code_above_stub, has_code_after_stub

SECOND_SEED = 1  # an answer that passes with the first seed must also pass with this seed
TIME_LIMIT = 10.0  # seconds of CPU time for the check of an answer that runs in this process
NOTIFY_AFTER = 3.0  # seconds of CPU time after which the notebook shows WAIT_MESSAGE
WAIT_MESSAGE = (
    f"The check is still running. It stops automatically after about {TIME_LIMIT:.0f} seconds of work; press ■ above to"
    " stop it now."
)


def diagnose(exercise: Exercise, answer: Any, cell: CellCode | None = None) -> Report:
    """Check an answer in this process. This function raises no exception, whatever the answer does.

    For a value, `cell` is the code that computed it, so that the report can name the wrong step.

    An answer is interrupted after `TIME_LIMIT` seconds, unless the learner interrupts it earlier. In both cases, the
    reason in the report is "stopped". The status is "failed" after a timeout, and "todo" if the learner interrupted the
    check.
    """
    notebook_output = sys.stdout  # sys.stdout is redirected while an answer runs
    timeout = Timeout(TIME_LIMIT, NOTIFY_AFTER, lambda: print(WAIT_MESSAGE, file=notebook_output, flush=True))
    try:
        with timeout:
            return diagnose_with_runner(exercise, InProcessRunner(exercise.signature, answer, cell))
    except KeyboardInterrupt as interrupt:
        timeout.stop()
        stopped_at = build_failure(interrupt, answer)
        if not timeout.fired:
            where = _line_text(stopped_at.line, stopped_at.code)
            message = f"you interrupted the check{where} before it reached a verdict."
            return Report(exercise.name, "todo", message, reason="stopped")
        return timeout_report(exercise, TIME_LIMIT, stopped_at.line, stopped_at.code)


def timeout_report(exercise: Exercise, seconds: float, line: int | None = None, code: str = "") -> Report:
    """Return the report on an answer that was stopped after `seconds`, on line `line` of the learner's code."""
    where = _line_text(line, code)
    message = f"Your code was still running after {seconds:.0f} seconds and was stopped{where}. Does every loop end?"
    return Report(exercise.name, "failed", message, reason="stopped")


def _line_text(line: int | None, code: str) -> str:
    return f" on line {line} (`{code}`)" if line and code else ""


def diagnose_with_runner(exercise: Exercise, runner: Runner) -> Report:
    """Check the answer that `runner` runs."""
    with preserve_global_state():
        try:
            return _diagnose(exercise, runner)
        except Exception as error:  # the result may be an object that raises when it is compared or displayed
            summary = f"{type(error).__name__}: {error}"
            message = f"Your result cannot be compared with the expected result ({summary})."
            return Report(exercise.name, "failed", message, reason="structure")


def _diagnose(exercise: Exercise, runner: Runner) -> Report:
    probe = Probe.from_runner(exercise, runner, seed=0)
    report = _verdict(exercise, runner, probe)
    report.printed = (report.trial or _first_wrong_trial(probe)).yours.printed
    return report


def _verdict(exercise: Exercise, runner: Runner, probe: Probe) -> Report:
    todo = _todo_message(probe)
    if todo:
        return Report(exercise.name, "todo", todo, reason="todo")
    if not _all_right(probe, gradients=exercise.requires_gradients):
        report = _with_condition(probe, report_failure(probe))
        if report.reason in ("difference", "shape") and not report.trace:
            report.message += _kept_text(probe, [trial.case for trial in probe.trials])
        return report
    # The second run finds hard-coded results. The first run has already checked the gradients.
    second = (
        Probe.from_runner(exercise, runner, seed=SECOND_SEED, gradients=False) if exercise.has_random_cases else probe
    )
    if not _all_right(second, gradients=False):
        report = report_failure(second.with_gradients())
        has_plain_result = not (exercise.view or exercise.parse_result)
        if report.misconception is None and has_plain_result and not _is_nearly_right(second):
            start = "Your result is right for one set of numbers and wrong for another set"
            report.message = f"{start}{_repetition_text(probe, second)} {report.message}"
        return report
    broken = report_broken_property(probe)
    if broken is not None:  # `if broken` would be wrong, because a failed report is falsy
        return broken
    finding = run_sweeps(exercise, runner)
    if finding is not None:
        return _sweep_report(exercise, probe, finding)
    return Report(exercise.name, "passed", _praise(probe), reason="passed")


def _sweep_report(exercise: Exercise, probe: Probe, finding: Finding) -> Report:
    """Report the fault that a sweep found. A wrong trial is explained as if its case belonged to the exercise."""
    if finding.trial is None:
        return Report(exercise.name, "failed", finding.message, reason="property", property=finding.sweep)
    # A property may compare cases, so the correct cases are needed too.
    tolerant = with_sweep_tolerance(exercise, finding.scale)
    trials = [t for t in probe.trials if t.is_correct(tolerant)]
    report = report_failure(Probe(tolerant, probe.runner, [*trials, finding.trial]))
    if report.reason == "difference":
        report = report_failure(Probe(replace(tolerant, properties=()), probe.runner, [finding.trial]))
        report.reason, report.property, report.relation = "property", finding.sweep, None
    if finding.base is not None and report.reason == "property":
        report.message = _derivation_text(exercise, probe.runner, finding.base, finding.trial) + report.message
    return report


def _with_condition(probe: Probe, report: Report) -> Report:
    """If the report only shows numbers, look for a condition under which the answer is wrong, and add it to the report.

    If every wrong case has a note, such as "with large numbers", the note already states the condition.
    """
    exercise, runner = probe.exercise, probe.runner
    says_why = report.reason != "difference" or report.relation or report.trace
    if says_why or exercise.kind == "value" or all(t.case.note for t in probe.trials if not t.is_correct(exercise)):
        return report
    found = find_condition(exercise, runner)
    if found and found[0].is_correct(exercise):
        report.message = _derivation_text(exercise, runner, found[0].case, found[1]) + report.message
    elif found and (change := change_text(exercise, found[0].case, found[1].case)):
        call = call_text(exercise, found[0].case)
        start = "In the same call," if call in report.message else f"{call} is wrong, but"
        report.message += f" {start} the answer is right when {change}."
    return report


def _derivation_text(exercise: Exercise, runner: Runner, base: Case, trial: Trial) -> str:
    """Say how a wrong case differs from a correct case, and whether the answer ignores this difference."""
    change = change_text(exercise, base, trial.case)
    if not change:
        return ""
    value = parse_observation(exercise, base, runner.run(base)).value
    same = values_equal(value, trial.yours.value, exercise.atol, "any")
    unchanged = values_equal(value, trial.expected.value, exercise.atol, "any")
    ignored = " Your result is the same as before this change." if same and not unchanged else ""
    return f"{call_text(exercise, base)} is right, but the answer is wrong when {change}.{ignored} "


def _repetition_text(probe: Probe, second: Probe) -> str:
    """Return the end of a sentence about an answer that is right for only one set of numbers."""
    if not repeats_results(probe, second):
        return "."
    kept = _kept_text(probe, [trial.case for trial in (*probe.trials, *second.trials)])
    return f": it stays the same.{kept}" if kept else ": is it hard-coded instead of computed?"


def _kept_text(probe: Probe, cases: list[Case]) -> str:
    """Run the cases in sequence, and name the variables that keep values between calls (see `kept_text`)."""
    return kept_text(next((o.kept for o in reversed(probe.runner.run_in_sequence(cases)) if o.kept), ()))


def _praise(probe: Probe) -> str:
    if probe.exercise.kind == "value":
        return "passed, the value is right."
    tried = len(probe.trials) * (2 if probe.exercise.has_random_cases else 1)  # random cases run with two seeds
    return f"passed, right on all {tried} inputs tried."


def _todo_message(probe: Probe) -> str | None:
    """Return a message if the answer, or a part of it, is unfinished; return None if it is complete."""
    name = probe.exercise.name
    unfinished = [f.todo for t in probe.trials if (f := t.yours.failure) and f.todo is not None]
    if not unfinished:
        return None
    owner, _, method = unfinished[0].partition(".")
    if owner not in ("", name):
        return f"it needs `{owner}`, which has not been attempted yet."
    handle = f'"{name}"' if probe.exercise.kind == "value" else name
    source, line = probe.runner.inspect_code().source, f'raise NotImplementedError("{unfinished[0]}")'
    if has_code_above_stub(source, unfinished[0]):
        return f"`{line}` still ends the function after your code: delete this line."
    if has_code_after_stub(source, unfinished[0]):
        return f"`{line}` still ends the function, so your code below it never runs: delete this line."
    start = f"`{method}` has not been attempted yet." if method not in ("", "__init__") else "not attempted yet."
    if not probe.exercise.hints:
        return f'{start} `task("{name}")` shows your task.'
    return f"{start} `hint({handle})` gives a nudge."


def _all_right(probe: Probe, gradients: bool) -> bool:
    exercise = probe.exercise
    return all(observations_agree(t.yours, t.expected, exercise.atol, exercise.dtypes, gradients) for t in probe.trials)


def _is_nearly_right(probe: Probe) -> bool:
    """Tell whether the results are almost right. With other inputs, such a small difference could go unnoticed."""
    atol = 100 * probe.exercise.atol
    return all(values_equal(t.yours.value, t.expected.value, atol, probe.exercise.dtypes) for t in probe.trials)


def _first_wrong_trial(probe: Probe) -> Trial:
    """Return the wrong trial that a report would show, or the first trial if none is wrong."""
    wrong = [t for t in probe.trials if not t.is_correct(probe.exercise)]
    return select_reported_trial(wrong) if wrong else probe.trials[0]
