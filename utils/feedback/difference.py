"""The plain difference between results and the expected ones: one wrong number in words, and a table beside it."""

from __future__ import annotations

import difflib

from utils.feedback import report, words
from utils.feedback.compare import different, same
from utils.feedback.observe import tensors
from utils.feedback.probe import Part, Probe, Trial


def difference(probe: Probe, wrong: list[Trial]) -> str:
    """How many of the trials are wrong, and the first wrong number of the one to speak of."""
    trial = spoken_of(wrong) if wrong else probe.trials[0]
    said = _first_difference(probe, trial)
    if len(probe.trials) == 1:
        return said
    which = "one of them" if trial.case.own else "the smallest"
    return f"In {len(wrong)} of {len(probe.trials)} cases the result differs; {which}: {said}"


def spoken_of(wrong: list[Trial]) -> Trial:
    """The wrong trial to speak of: the page's own example, else the one with the fewest numbers to look at."""
    # What a case is remarked on (its loud numbers, say) is news only where the plain ones are right.
    return min(wrong, key=lambda trial: (not trial.case.own, bool(trial.case.note), _numbers_in(trial)))


def _numbers_in(trial: Trial) -> int:
    """How many numbers there are to look at in a case."""
    return sum(t.numel() for t in tensors([trial.expected.value, *trial.case.args]))


def _differing(probe: Probe, trial: Trial) -> list[Part]:
    """The parts that differ; of a tuple the last one first, for weights stand last and tell more."""
    parts = [p for p in probe.parts(trial) if p.yours.shape == p.expected.shape]
    parts = parts if isinstance(trial.expected.value, dict) else parts[::-1]
    return [p for p in parts if different(p.yours, p.expected, probe.exercise.atol).any()]


def _first_difference(probe: Probe, trial: Trial) -> str:
    exercise, yours, wanted = probe.exercise, trial.yours.value, trial.expected.value
    call = "" if exercise.kind == "value" else f"{words.call_text(exercise, trial.case)}: "
    for part in _differing(probe, trial):
        index = tuple(different(part.yours, part.expected, exercise.atol).nonzero()[0].tolist())
        mine, right = part.yours[index].item(), part.expected[index].item()
        meaning = exercise.meaning(index, mine, right) if exercise.meaning else ""
        if part.spec and part.spec.facts and meaning:
            return f"{call}{part.spec.name}: {meaning}."
        name = f"{words.part_text(part.spec, part.index)}, " if isinstance(exercise.returns, tuple) else ""
        if isinstance(wanted, dict):
            name = f"`{list(wanted)[part.index]}`, "
        where = f"{name}{words.position(index, part.spec)} is " if index else "it is "
        numbers = f"{report.number_text(mine)}, expected {report.number_text(right)}"
        return f"{call}{where}{numbers}{f'; {meaning}' if meaning else ''}."
    if isinstance(yours, dict) and isinstance(wanted, dict):
        return call + _dict_difference(yours, wanted, exercise.atol)
    return f"{call}yours is {words.short(yours)}, expected {words.short(wanted)}."


def _dict_difference(yours: dict, wanted: dict, atol: float) -> str:
    extra = [key for key in yours if key not in wanted]
    for key in wanted:
        if key not in yours:
            close = difflib.get_close_matches(str(key), map(str, extra), n=1)
            return f"the key {key!r} is missing{f'; there is {close[0]!r} instead' if close else ''}."
        if not same(yours[key], wanted[key], atol, "wider"):
            return f"at key {key!r} yours is {words.short(yours[key])}, expected {words.short(wanted[key])}."
    return f"the key {extra[0]!r} should not be there."


def table_of(probe: Probe, up_to: int = 0) -> report.Table | None:
    """Yours beside the expected, with the small inputs that it was made from."""
    if not (found := shown(probe, up_to)):
        return None
    part, trial = found
    axes, name = (part.spec.axes, part.spec.name) if part.spec else ((), "")
    table = report.table(part.yours, part.expected, probe.exercise.atol, axes, name)
    if table and probe.exercise.kind == "function":
        table.caption = ", ".join(filter(None, (table.caption, trial.case.own)))
        table.given = [] if trial.case.own else report.given_rows(probe.named(trial.case))  # the page shows its own
    return table


def shown(probe: Probe, up_to: int) -> tuple[Part, Trial] | None:
    """The failing case to be shown and what differs in it: the page's own example, else the smallest, or the largest of
    at most `up_to` rows and columns."""
    found = []
    for trial in probe.trials:
        parts = [p for p in _differing(probe, trial) if p.yours.dim() and not (p.spec and p.spec.facts)]
        found += [(_numbers_in(trial), part, trial) for part in parts[:1]]
    if not found:
        return None
    if own := [three for three in found if three[2].case.own]:
        return own[0][1:]
    found.sort(key=lambda three: three[0])
    fitting = [three for three in found if max(three[1].yours.shape[-2:]) <= up_to]
    return (fitting or found[:1])[-1][1:]
