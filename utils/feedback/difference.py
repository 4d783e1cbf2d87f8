"""Describe how results differ from the expected results: a sentence about one wrong number, and a table."""

from __future__ import annotations

import difflib

from utils.exercises.compare import difference_mask, values_equal
from utils.exercises.observe import collect_tensors, is_float
from utils.exercises.probe import Probe, ResultPart, Trial
from utils.feedback import phrases, report


def describe_difference(probe: Probe, wrong: list[Trial], trial: Trial) -> str:
    """Say how many trials are wrong, and describe the first wrong number of `trial`."""
    difference = _first_difference(probe, trial)
    if len(probe.trials) == 1:
        return difference
    smallest = not trial.case.page_example and all(_numbers_in(trial) <= _numbers_in(other) for other in wrong)
    which = "the smallest" if smallest else "one of them"
    return f"In {len(wrong)} of {len(probe.trials)} cases the result differs; {which}: {difference}"


def fact_text(probe: Probe, trial: Trial) -> str:
    """Return a clause about the first wrong fact (see `Facts`) of a trial, or "" if there is no such clause."""
    explain, atol = probe.exercise.explain_entry, probe.exercise.atol
    for part in differing_parts(probe, trial):
        if explain and part.spec and part.spec.is_facts:
            index = tuple(difference_mask(part.yours, part.expected, atol).nonzero()[0].tolist())
            return explain(index, part.yours[index].item(), part.expected[index].item())
    return ""


def differs_only_in_facts(probe: Probe, trial: Trial) -> bool:
    """Tell whether a trial's numbers are right, and only facts about its result or call are wrong (see `Facts`)."""
    return all(part.spec and part.spec.is_facts for part in differing_parts(probe, trial))


def select_reported_trial(wrong: list[Trial]) -> Trial:
    """Return the failing trial to report: the lesson's example if it fails, otherwise the one with the fewest numbers.

    A trial whose result contains nan is reported only if all wrong trials contain nan.
    """
    # A case with a note (for example, "with large numbers") is reported only if the ordinary cases are correct.
    return min(wrong, key=lambda t: (_has_nan(t), not t.case.page_example, bool(t.case.note), _numbers_in(t)))


def _has_nan(trial: Trial) -> bool:
    return any(is_float(t) and not t.is_meta and bool(t.isnan().any()) for t in collect_tensors(trial.yours.value))


def _numbers_in(trial: Trial) -> int:
    """Count the numbers in the arguments and the expected result of a case."""
    return sum(t.numel() for t in collect_tensors([trial.expected.value, *trial.case.args]))


def differing_parts(probe: Probe, trial: Trial) -> list[ResultPart]:
    """Return the parts of a result that differ from the expected result.

    The last part of a tuple comes first: it usually contains the attention weights, which explain a mistake better than
    the other parts. Facts come last, because they may be consequences of wrong numbers.
    """
    parts = [p for p in probe.result_parts(trial) if p.yours.shape == p.expected.shape]
    parts = parts if isinstance(trial.expected.value, dict) else parts[::-1]
    parts = [p for p in parts if difference_mask(p.yours, p.expected, probe.exercise.atol).any()]
    return sorted(parts, key=lambda part: bool(part.spec and part.spec.is_facts))


def _first_difference(probe: Probe, trial: Trial) -> str:
    exercise, yours, expected = probe.exercise, trial.yours.value, trial.expected.value
    call = "" if exercise.kind == "value" else f"{phrases.call_text(exercise, trial.case)}: "
    for part in differing_parts(probe, trial):
        index = tuple(difference_mask(part.yours, part.expected, exercise.atol).nonzero()[0].tolist())
        number, expected_number = part.yours[index].item(), part.expected[index].item()
        meaning = exercise.explain_entry(index, number, expected_number) if exercise.explain_entry else ""
        if part.spec and part.spec.is_facts and meaning:
            return f"{call}{meaning}."
        name = f"{phrases.part_text(part.spec, part.index)}, " if isinstance(exercise.returns, tuple) else ""
        if isinstance(expected, dict):
            name = f"`{list(expected)[part.index]}`, "
        where = f"{name}{phrases.position_text(index, part.spec)} is " if index else f"{name.rstrip(', ') or 'it'} is "
        numbers = _numbers_text(number, expected_number)
        return f"{call}{where}{numbers}{f'; {meaning}' if meaning else ''}."
    if isinstance(yours, dict) and isinstance(expected, dict):
        return call + _dict_difference(yours, expected, exercise.atol)
    if isinstance(expected, tuple) and isinstance(yours, (tuple, list)) and len(yours) == len(expected):
        for i, (item, expected_item) in enumerate(zip(yours, expected)):
            if not values_equal(item, expected_item, exercise.atol, "any"):
                name = phrases.part_text(probe.spec(i), i)
                return f"{call}{name} is {phrases.value_text(item)}, expected {phrases.value_text(expected_item)}."
    return f"{call}yours is {phrases.value_text(yours)}, expected {phrases.value_text(expected)}."


def _numbers_text(number: float, expected: float) -> str:
    """Write two different numbers with enough decimals to make the difference visible."""
    texts = report.format_number(number), report.format_number(expected)
    if texts[0] == texts[1]:
        texts = f"{number:.8g}", f"{expected:.8g}"
    return f"{texts[0]}, expected {texts[1]}"


def _dict_difference(yours: dict, expected: dict, atol: float) -> str:
    extra = [key for key in yours if key not in expected]
    for key in expected:
        if key not in yours:
            names = {str(other): other for other in extra}
            close = difflib.get_close_matches(str(key), names, n=1)
            return f"the key {key!r} is missing{f'; there is {names[close[0]]!r} instead' if close else ''}."
        if not values_equal(yours[key], expected[key], atol, "wider"):
            values = phrases.value_text(yours[key]), phrases.value_text(expected[key])
            return f"at key {key!r} yours is {values[0]}, expected {values[1]}."
    return f"the key {extra[0]!r} should not be there."


def build_table(probe: Probe, trial: Trial | None, include_call: bool = False) -> report.Table | None:
    """Build the table of a trial: the learner's result next to the expected result, with the inputs if they are small.

    Args:
        probe: the answer under test.
        trial: the trial to show, or None.
        include_call: whether the caption names the call; necessary if the message does not.

    Returns:
        The table, or None if there is no trial, or if no part of the trial can be shown as a table.
    """
    part = trial and _find_table_part(probe, trial)
    if not trial or not part:
        return None
    axes, name = phrases.axis_names(part.yours.dim(), part.spec), part.spec.name if part.spec else ""
    keys = list(trial.expected.value) if isinstance(trial.expected.value, dict) else []
    name = str(keys[part.index]) if keys else name
    table = report.comparison_table(part.yours, part.expected, probe.exercise.atol, phrases.entry_names(axes), name)
    if table and probe.exercise.kind == "function":
        # The inputs of the lesson's example are omitted, because the lesson itself shows them.
        table.inputs = [] if trial.case.page_example else report.input_rows(probe.bind_arguments(trial.case))
    if table and probe.exercise.kind != "value":
        call = phrases.call_text(probe.exercise, trial.case) if include_call and not (table.inputs or keys) else ""
        table.caption = ", ".join(filter(None, (trial.case.page_example or call, table.caption)))
    return table


def _find_table_part(probe: Probe, trial: Trial) -> ResultPart | None:
    """Return the first part of a trial that differs and can be shown as a table."""
    parts = (p for p in differing_parts(probe, trial) if p.yours.dim() and not (p.spec and p.spec.is_facts))
    return next(parts, None)


def select_table_trial(probe: Probe, max_size: int = 0) -> Trial | None:
    """Return the failing trial whose table is shown.

    Prefer the lesson's example if it fails, otherwise the largest trial with at most `max_size` rows and columns. If no
    trial is that small, return the trial from `select_reported_trial`.
    """
    candidates = [(trial, part) for trial in probe.trials if (part := _find_table_part(probe, trial))]
    if not candidates:
        return None
    first = select_reported_trial([trial for trial, _ in candidates])
    fitting = [trial for trial, part in candidates if max(part.yours.shape[-2:]) <= max_size]
    return first if first.case.page_example or not fitting else max(fitting, key=_numbers_in)
