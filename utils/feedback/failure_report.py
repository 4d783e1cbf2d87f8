"""Explain a wrong answer. The first step that finds something supplies the message:

1. A misconception agrees with the answer on every case, including shapes and exceptions.
2. A diagnostic of `utils.feedback.diagnostics` finds a fault. The diagnostics run in the order of `DIAGNOSTICS`.
3. A property is broken.
4. The results differ from the expected ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from utils.exercises.compare import unexpected_changes
from utils.exercises.exercise import Case
from utils.exercises.observe import Observation
from utils.exercises.oracles import cached_misconception_result, cached_oracle_observation, parse_observation
from utils.exercises.probe import Probe, Trial
from utils.exercises.source_lint import find_lint
from utils.feedback.diagnostics import DIAGNOSTICS, changed_mode_text
from utils.feedback.difference import (
    build_table,
    describe_difference,
    differs_only_in_facts,
    fact_text,
    select_reported_trial,
    select_table_trial,
)
from utils.feedback.influence import influence_text
from utils.feedback.misconceptions import find_misconception
from utils.feedback.phrases import call_text
from utils.feedback.properties import report_broken_property
from utils.feedback.relations import find_relation
from utils.feedback.report import Report, comparison_table
from utils.feedback.wrong_step.departure import find_departure
from utils.feedback.wrong_step.departure_text import Departure

# Reports for these properties do not name a wrong step. The first two properties concern initial parameters, and the
# report on the last property already names the line that gives nan.
WITHOUT_DEPARTURE = ("made_in_order", "starts_as_linear", "finite")
TABLE_SIZE = 6  # for a misconception, show the largest failing case with at most this many rows and columns


def _with_table(probe: Probe, broken: Report) -> Report:
    """Add a table of the first case that leads to the same message about the broken property."""
    shown = select_table_trial(probe)
    for trial in probe.trials if shown else ():
        alone = report_broken_property(Probe(probe.exercise, probe.runner, [trial]))
        if alone is not None and alone.message == broken.message:
            shown = trial
            break
    broken.trial, broken.table = shown, build_table(probe, shown, include_call=True)
    return broken


def report_failure(probe: Probe) -> Report:
    """Report what is wrong; then add the wrong step, any unused argument and any lint finding."""
    report, wrong = _find_known_mistake(probe), [t for t in probe.trials if not t.is_correct(probe.exercise)]
    has_steps = report is None or (report.reason in ("shape", "property") and report.property not in WITHOUT_DEPARTURE)
    found = find_departure(probe, wrong) if has_steps else None
    report = _report_difference(probe, wrong, found) if report is None else report  # a failed report is falsy
    if _is_right_in_training(probe, report.misconception):
        report.message = _MODES[report.reason == "property"].format(message=report.message)
    if has_steps:
        _add_departure(report, probe, wrong, found)
    if report.reason in ("difference", "shape", "raised", "dtype"):
        report.message += _side_effect_text(probe)
    unused = probe.runner.inspect_code().unused_arguments
    if unused and report.reason in ("difference", "shape", "property"):
        report.message += f" Your code never uses its argument `{unused[0]}`."
    if lint := find_lint(probe.runner.inspect_code().source):
        report.message += f" {lint}"
        if report.reason == "difference":
            report.relation = report.relation or "slip"
    return report


def _is_right_in_training(probe: Probe, misconception: str | None) -> bool:
    """Tell whether a module is wrong only in eval mode, and right on the same cases in training mode.

    Return False if the reported misconception also depends on the mode, because its message explains the mode.
    """
    exercise = probe.exercise
    wrong = [t.case for t in probe.trials if not t.is_correct(exercise)]
    if exercise.kind != "module" or not wrong or any(case.train for case in wrong):
        return False
    cases = [replace(case, train=True) for case in wrong]

    def is_right(run: Callable[[Case], Observation]) -> bool:
        pairs = ((case, run(case), cached_oracle_observation(exercise, case, False)) for case in cases)
        return all(Trial(*pair).is_correct(exercise) for pair in pairs)

    if not is_right(lambda case: parse_observation(exercise, case, probe.runner.run(case))):
        return False
    same = next((i for i, each in enumerate(exercise.misconceptions) if each.id == misconception), None)
    return same is None or not is_right(lambda case: cached_misconception_result(exercise, same, case))


# The first message is for wrong results. The second is for a broken property, which need not depend on the mode.
_MODES = (
    "In training mode, your result is right, so the mistake depends on the mode. This is wrong in eval mode: {message}",
    "{message} In training mode, your results are right, so at least one mistake depends on the mode.",
)


def _side_effect_text(probe: Probe) -> str:
    """Return a sentence about a side effect of a wrong answer, with a leading space; "" if there is none."""
    for trial in probe.trials:
        if trial.is_correct(probe.exercise):
            continue
        if not differs_only_in_facts(probe, trial) and (fact := fact_text(probe, trial)):
            return f" In addition, {fact}."
        if mode := changed_mode_text(probe, trial):
            return f" In addition, {mode}"
        if extra := unexpected_changes(trial.yours, trial.expected):
            return f" Your code also changed its input `{extra[0]}`: does it use `{extra[0]}` again after that?"
    return ""


def _add_departure(report: Report, probe: Probe, wrong: list[Trial], found: tuple[Trial, Departure] | None) -> None:
    """Add to the report the step at which the answer departs from the expected computation, if it is known."""
    says_little = report.relation in (None, "factor") if found is None else found[1].is_vague
    if report.reason == "difference" and says_little and (text := influence_text(probe, wrong)):
        report.message, report.relation = report.message + text, report.relation or "influence"
        return
    if found is None:
        return
    trial, departure = found
    report.message += f" {departure.sentence}"
    report.trace, report.milestone, report.departure = departure.lines, departure.furthest, departure.name
    if departure.yours is not None:
        report.trial = trial
        report.table = comparison_table(
            departure.yours, departure.expected, probe.exercise.atol, name=departure.name or ""
        )
        if report.table and len(probe.trials) > 1 and report.reason != "difference":  # its message names the call
            report.table.caption = f"{call_text(probe.exercise, trial.case)}: {report.table.caption}"


def _find_known_mistake(probe: Probe) -> Report | None:
    """Report a misconception, the finding of a diagnostic, or a broken property."""
    name, misconception, side_effect = probe.exercise.name, find_misconception(probe), ""
    if not misconception and (misconception := find_misconception(probe.without_side_effects())):
        side_effect = _side_effect_text(probe)
    if misconception:
        trial = select_table_trial(probe, TABLE_SIZE)
        table, message = build_table(probe, trial, include_call=True), misconception.message + side_effect
        return Report(name, "failed", message, misconception.id, table, reason="misconception", trial=trial)
    for diagnostic in DIAGNOSTICS:
        for trial in probe.trials:
            if message := diagnostic.diagnose(probe, trial):
                return Report(
                    name, "failed", message, reason=diagnostic.reason, property=diagnostic.property, trial=trial
                )
    broken = report_broken_property(probe)
    return None if broken is None else _with_table(probe, broken)


def _report_difference(probe: Probe, wrong: list[Trial], found: tuple[Trial, Departure] | None) -> Report:
    """Report one wrong number, of the case whose step will be shown if there is one."""
    name, relation = probe.exercise.name, find_relation(probe, wrong)
    trial = select_reported_trial(wrong) if wrong else None
    if found and found[1].yours is not None:
        trial = found[0]
    sentence = f" {relation.sentence}" if relation and relation.sentence else ""
    message = describe_difference(probe, wrong, trial or probe.trials[0]) + sentence
    table, relation_name = build_table(probe, trial), relation.name if relation else None
    return Report(name, "failed", message, table=table, reason="difference", relation=relation_name, trial=trial)
