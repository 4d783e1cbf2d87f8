"""The plain difference between results and the expected ones: one wrong number in words, and a table beside it."""

from __future__ import annotations

import difflib

from utils.feedback import phrases, report
from utils.feedback.compare import difference_mask, values_equal
from utils.feedback.observe import collect_tensors, is_float
from utils.feedback.probe import Probe, ResultPart, Trial


def describe_difference(probe: Probe, wrong: list[Trial]) -> str:
    """How many of the trials are wrong, and the first wrong number of the one to speak of."""
    trial = select_reported_trial(wrong) if wrong else probe.trials[0]
    said = _first_difference(probe, trial)
    if len(probe.trials) == 1:
        return said
    smallest = not trial.case.page_example and all(_numbers_in(trial) <= _numbers_in(other) for other in wrong)
    which = "the smallest" if smallest else "one of them"
    return f"In {len(wrong)} of {len(probe.trials)} cases the result differs; {which}: {said}"


def select_reported_trial(wrong: list[Trial]) -> Trial:
    """The wrong trial to speak of: the page's own example, else the one with the fewest numbers to look at; one with
    nan in its result last."""
    # What a case is remarked on (its loud numbers, say) is news only where the plain ones are right.
    return min(wrong, key=lambda t: (_has_nan(t), not t.case.page_example, bool(t.case.note), _numbers_in(t)))


def _has_nan(trial: Trial) -> bool:
    return any(is_float(t) and not t.is_meta and bool(t.isnan().any()) for t in collect_tensors(trial.yours.value))


def _numbers_in(trial: Trial) -> int:
    """How many numbers there are to look at in a case."""
    return sum(t.numel() for t in collect_tensors([trial.expected.value, *trial.case.args]))


def _differing(probe: Probe, trial: Trial) -> list[ResultPart]:
    """The parts that differ; of a tuple the last one first, for weights stand last and tell more."""
    parts = [p for p in probe.result_parts(trial) if p.yours.shape == p.expected.shape]
    parts = parts if isinstance(trial.expected.value, dict) else parts[::-1]
    return [p for p in parts if difference_mask(p.yours, p.expected, probe.exercise.atol).any()]


def _first_difference(probe: Probe, trial: Trial) -> str:
    exercise, yours, wanted = probe.exercise, trial.yours.value, trial.expected.value
    call = "" if exercise.kind == "value" else f"{phrases.call_text(exercise, trial.case)}: "
    for part in _differing(probe, trial):
        index = tuple(difference_mask(part.yours, part.expected, exercise.atol).nonzero()[0].tolist())
        mine, right = part.yours[index].item(), part.expected[index].item()
        meaning = exercise.explain_entry(index, mine, right) if exercise.explain_entry else ""
        if part.spec and part.spec.is_facts and meaning:
            return f"{call}{part.spec.name}: {meaning}."
        name = f"{phrases.part_text(part.spec, part.index)}, " if isinstance(exercise.returns, tuple) else ""
        if isinstance(wanted, dict):
            name = f"`{list(wanted)[part.index]}`, "
        where = f"{name}{phrases.position_text(index, part.spec)} is " if index else "it is "
        numbers = f"{report.format_number(mine)}, expected {report.format_number(right)}"
        return f"{call}{where}{numbers}{f'; {meaning}' if meaning else ''}."
    if isinstance(yours, dict) and isinstance(wanted, dict):
        return call + _dict_difference(yours, wanted, exercise.atol)
    return f"{call}yours is {phrases.value_text(yours)}, expected {phrases.value_text(wanted)}."


def _dict_difference(yours: dict, wanted: dict, atol: float) -> str:
    extra = [key for key in yours if key not in wanted]
    for key in wanted:
        if key not in yours:
            close = difflib.get_close_matches(str(key), map(str, extra), n=1)
            return f"the key {key!r} is missing{f'; there is {close[0]!r} instead' if close else ''}."
        if not values_equal(yours[key], wanted[key], atol, "wider"):
            return (
                f"at key {key!r} yours is {phrases.value_text(yours[key])}, expected {phrases.value_text(wanted[key])}."
            )
    return f"the key {extra[0]!r} should not be there."


def build_table(probe: Probe, trial: Trial | None, include_call: bool = False) -> report.Table | None:
    """Yours beside the expected in a case, with the small inputs that it was made from; where words beside the table do
    not say which case it is, it is `named`."""
    part = trial and _find_table_part(probe, trial)
    if not trial or not part:
        return None
    axes, name = (part.spec.axes, part.spec.name) if part.spec else ((), "")
    keys = list(trial.expected.value) if isinstance(trial.expected.value, dict) else []
    name = str(keys[part.index]) if keys else name
    table = report.comparison_table(part.yours, part.expected, probe.exercise.atol, axes, name)
    if table and probe.exercise.kind == "function":
        table.inputs = (
            [] if trial.case.page_example else report.input_rows(probe.bind_arguments(trial.case))
        )  # the page shows its own
    if table and probe.exercise.kind != "value":
        call = phrases.call_text(probe.exercise, trial.case) if include_call and not (table.inputs or keys) else ""
        table.caption = ", ".join(filter(None, (trial.case.page_example or call, table.caption)))
    return table


def _find_table_part(probe: Probe, trial: Trial) -> ResultPart | None:
    """What differs in a case and can be shown as a table."""
    parts = (p for p in _differing(probe, trial) if p.yours.dim() and not (p.spec and p.spec.is_facts))
    return next(parts, None)


def select_table_trial(probe: Probe, max_size: int = 0) -> Trial | None:
    """The failing case of which there is a table: the one to speak of, or, except for the page's own example, the
    largest of at most `up_to` rows and columns."""
    found = [(trial, part) for trial in probe.trials if (part := _find_table_part(probe, trial))]
    if not found:
        return None
    first = select_reported_trial([trial for trial, _ in found])
    fitting = [trial for trial, part in found if max(part.yours.shape[-2:]) <= max_size]
    return first if first.case.page_example or not fitting else max(fitting, key=_numbers_in)
