"""Find a simple relation between wrong and expected numbers, because such a relation suggests the mistake.

Each finder gets all wrong results of an answer. It returns a sentence only if its relation holds for all of them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from utils.exercises.probe import Probe, ResultPart, Trial
from utils.feedback.difference import differing_parts, select_reported_trial
from utils.feedback.phrases import axis_names, part_text
from utils.feedback.sequence_relations import find_sequence_relation
from utils.feedback.wrong_regions import Pairs, ResultPair, places


class Relation(NamedTuple):
    """A relation: a name for tests and tables, and a sentence for the learner."""

    name: str
    sentence: str


def find_relation(probe: Probe, wrong: list[Trial]) -> Relation | None:
    """Return the first relation that holds for every wrong result, or None."""
    reported = select_reported_trial(wrong) if wrong else None  # in a sentence, "this case" means the first pair
    wrong = sorted(wrong, key=lambda trial: trial is not reported)
    parts = [(trial, part) for trial in wrong for part in _wrong_parts(probe, trial)]
    if parts and all(part.spec and part.spec.is_facts for _, part in parts):
        return Relation("fact", "")  # the message already describes this difference in words
    if len({id(trial) for trial, _ in parts}) < len(wrong) or any(
        part.spec and part.spec.is_facts for _, part in parts
    ):
        sequence_relation = find_sequence_relation([(trial.yours.value, trial.expected.value) for trial in wrong])
        return Relation(*sequence_relation) if sequence_relation else None
    if isinstance(probe.exercise.returns, tuple) and len({part.index for _, part in parts}) > 1:
        return None  # the sentence would be about different parts in different cases
    pairs = [_pair(probe, trial, part) for trial, part in parts]
    finders = _OF_BOOLS if parts[0][1].yours.dtype == torch.bool else _OF_NUMBERS
    if all(p.is_equal(p.yours, p.expected) for p in pairs):
        finders = _OF_NEARLY_EQUAL
    for find in finders:
        if sentence := find(pairs):
            several = isinstance(probe.exercise.returns, tuple)
            of = f" (of {part_text(parts[0][1].spec, parts[0][1].index)})" if several else ""
            end = sentence[-1]
            return Relation(find.__name__.lstrip("_"), sentence.removesuffix(end) + of + end)
    return None


def _wrong_parts(probe: Probe, trial: Trial) -> list[ResultPart]:
    """Return the part that the message describes, or all wrong parts of a dict; [] if any part has a wrong shape."""
    if any(part.yours.shape != part.expected.shape for part in probe.result_parts(trial)):
        return []
    parts = differing_parts(probe, trial)
    return parts if isinstance(trial.expected.value, dict) else parts[:1]


def _pair(probe: Probe, trial: Trial, part: ResultPart) -> ResultPair:
    case, exercise = trial.case, probe.exercise
    built = case.init
    if not isinstance(built, dict) and exercise.initial_parameters is not None:
        built = dict(zip(inspect.signature(exercise.initial_parameters).parameters, built))
    given = {**(built if isinstance(built, dict) else {}), **probe.bind_arguments(case)}
    yours, expected = (t.detach().cpu().double() for t in (part.yours, part.expected))
    is_bool = part.expected.dtype == torch.bool
    return ResultPair(yours, expected, axis_names(expected.dim(), part.spec), given, exercise.atol, is_bool)


# --- the whole ----------------------------------------------------------------------------------------


def _transpose(pairs: Pairs) -> str:
    turned = all(p.yours.dim() > 1 and p.is_equal(p.yours.mT, p.expected) for p in pairs)
    return "It is the transpose of what is expected: rows and columns are swapped." if turned else ""


def _factor(pairs: Pairs) -> str:
    if not all(p.expected.abs().max() > 1e-3 and p.yours.isfinite().all() for p in pairs):
        return ""
    found = [float((p.yours * p.expected).sum() / (p.expected**2).sum()) for p in pairs]
    if not all(abs(f) > 1e-6 and p.is_equal(p.yours, p.expected * f) for f, p in zip(found, pairs)):
        return ""
    if any(bool(((p.yours == 0) & (p.expected.abs() > 1e-6 * p.expected.abs().max())).any()) for p in pairs):
        return ""  # if a number is wrongly 0, the result is not a multiple of the expected result
    constant = max(found) - min(found) < 1e-3
    if constant and abs(found[0] - 1) < 1e-3:
        return "The numbers are almost right. Is something small added during the computation, or are numbers rounded?"
    if constant and abs(found[0] + 1) < 1e-3:
        return "All numbers have the wrong sign."
    named = _power_of_a_size(found, pairs)
    alone = all(p.expected.numel() == 1 for p in pairs)
    if alone and not named and (len(pairs) == 1 or not constant):
        return ""  # a single number is always a multiple of the expected number
    if constant:
        named = f": {named}" if named else _as_power(found[0])
        return f"{'The' if alone else 'Every'} number is {found[0]:.4g} times the expected one{named}."
    shown = ", ".join(f"{f:.4g}" for f in found)
    return f"In each case, your numbers are the expected numbers times one factor: {named or shown}."


_POWERS = {-1.0: "1/{}", 1.0: "{}", -0.5: "1/√{}", 0.5: "√{}", 2.0: "{}²", -2.0: "1/{}²"}


def _power_of_a_size(factors: list[float], pairs: Pairs) -> str:
    """Describe factors that are a power of a named size, as in "1/√3, and `d_in` is 3"; return "" for other factors."""
    found = []
    for power, form in _POWERS.items():
        for name in pairs[0].named_sizes():
            sizes = [p.named_sizes().get(name, 0) for p in pairs]
            if all(n > 1 and math.isclose(n**power, f, rel_tol=1e-3) for n, f in zip(sizes, factors)):
                said = f"the {name}" if name.startswith("size of") else f"`{name}`"
                found.append((form, f"{form.format(sizes[0])}, and {said} is {sizes[0]}"))
    if len({form for form, _ in found}) != 1:
        return ""  # 0.5 is both 1/2 and 1/√4: if 2 and 4 both occur, the cause is ambiguous
    return found[0][1] + (" here" if len(set(factors)) > 1 else "")


def _as_power(factor: float) -> str:
    """Write a factor as " (1/n)", " (1/√n)" or " (√n)". Return "" if it is an integer or no small integer n fits."""
    if math.isclose(factor, round(factor), rel_tol=1e-4):
        return ""
    for power, form in ((-1.0, "1/{}"), (-0.5, "1/√{}"), (0.5, "√{}")):
        for n in range(2, 17):
            if math.isclose(n**power, factor, rel_tol=1e-4):
                return f" ({form.format(n)})"
    return ""


def _rounded(pairs: Pairs) -> str:
    for digits in range(5):
        if all(bool((p.yours - p.expected.round(decimals=digits)).abs().max() < 1e-6) for p in pairs):
            return f"It equals the expected result, rounded to {digits or 'no'} decimal{'s' * (digits != 1)}."
    return ""


def _offset(pairs: Pairs) -> str:
    errors = [p.yours - p.expected for p in pairs]
    found = [float(error.mean()) for error in errors]
    # If the offset is near the tolerance, `is_equal` proves little. So each error must also be close to the offset: the
    # difference must be less than 5 % of the offset.
    if not all(
        p.expected.numel() > 1 and p.is_equal(p.yours, p.expected + o) and float((error - o).abs().max()) < abs(o) / 20
        for o, p, error in zip(found, pairs, errors)
    ):
        return ""
    return f"Every number is off by the same amount, {found[0]:+.4g} in this case."


def _argument(pairs: Pairs) -> str:
    """Detect that the result is an argument, or the expected result plus, minus or times an argument."""
    forms: tuple[tuple[str, Callable[[Tensor, Tensor], Tensor]], ...] = (
        ("It is the argument `{}`, unchanged.", lambda e, a: a),
        ("It is the argument `{}`, repeated.", lambda e, a: a.expand_as(e)),
        ("It is the expected result with `{}` added to it.", lambda e, a: e + a),
        ("It is the expected result minus `{0}`: is `{0}` missing from a sum, or subtracted?", lambda e, a: e - a),
        ("It is the expected result times `{}`.", lambda e, a: e * a),
    )
    for words, made in forms:
        for name in pairs[0].input_tensors():
            if all(_argument_form_matches(p, made, name) for p in pairs):
                return words.format(name)
    return ""


def _argument_form_matches(p: ResultPair, made: Callable[[Tensor, Tensor], Tensor], name: str) -> bool:
    given = p.input_tensors().get(name)
    if given is None or given.dim() > p.expected.dim() or given.dim() == 0:
        return False
    try:
        return p.is_equal(p.yours, made(p.expected, given))
    except RuntimeError:  # the sizes of the argument and the result do not match
        return False


_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "the softmax along the last axis": lambda t: t.softmax(-1),
    "the softmax along the second-to-last axis": lambda t: t.softmax(-2),
    "exp": torch.exp,
    "the logarithm": torch.log,
    "the square": torch.square,
    "the square root": torch.sqrt,
    "the reciprocal": torch.reciprocal,
    "the absolute value": torch.abs,
    "relu": torch.relu,
    "1 minus each number": lambda t: 1 - t,
}


def _function(pairs: Pairs) -> str:
    """Detect that the answer lacks a last step, such as softmax, or has one step too many."""
    for name, f in _FUNCTIONS.items():
        if "second-to-last" in name and any(p.expected.dim() < 2 for p in pairs):
            continue
        if any(p.expected.dim() == 0 for p in pairs):
            continue
        if all(p.is_equal(p.yours, f(p.expected)) for p in pairs):
            return f"It is {name} of the expected result: is there one step too many?"
        if all(p.is_equal(f(p.yours), p.expected) for p in pairs):
            return f"The expected result is {name} of your result: is a step missing?"
    return ""


def _moved(pairs: Pairs) -> str:
    """Detect rows, columns or other slices that are shifted by one position or reversed."""
    for axis in range(-1, -1 - min(p.expected.dim() for p in pairs), -1):
        what = {-1: "columns", -2: "rows"}.get(axis, "slices") if pairs[0].expected.dim() > 1 else "numbers"
        name = pairs[0].axes[axis] if pairs[0].axes else ""
        along = f" along `{name}`" if name.isidentifier() else ""
        if not all(p.expected.shape[axis] > 1 for p in pairs):
            continue
        if all(p.expected.shape[axis] == 2 and p.is_equal(p.yours, p.expected.flip(axis)) for p in pairs):
            return f"The two {what} are swapped{along}."
        for steps in (1, -1):
            if all(p.is_equal(p.yours, p.expected.roll(steps, axis)) for p in pairs):
                where, rest = ("after", "the last comes first") if steps == 1 else ("before", "the first comes last")
                return f"The {what} are right, but one position {where} their correct position{along}, and {rest}."
        if all(p.is_equal(p.yours, p.expected.flip(axis)) for p in pairs):
            return f"The {what} are right, but in reverse order{along}."
    return ""


def _rearranged(pairs: Pairs) -> str:
    for p in pairs:
        if p.expected.numel() < 4 or not p.is_equal(p.yours.flatten().sort()[0], p.expected.flatten().sort()[0]):
            return ""
    if all(len(p.expected.unique()) < p.expected.numel() / 2 for p in pairs):
        return ""  # tables of zeros and ones contain the same numbers by chance
    if any(p.expected.dim() == 1 for p in pairs):
        return "All numbers are correct, but they are in a different order."
    return (
        "All numbers are correct, but they are in the wrong places: is the order of the axes right, for example before"
        " a reshape?"
    )


def _constant(pairs: Pairs) -> str:
    if all(p.yours.numel() > 1 and bool((p.yours == p.yours.flatten()[0]).all()) for p in pairs):
        values = {p.yours.flatten()[0].item() + 0.0 for p in pairs}  # adding 0.0 turns -0.0 into 0.0
        return f"Every number in it is {values.pop():.6g}." if len(values) == 1 else "All its numbers are the same."
    for axis in range(-2, -1 - min(p.expected.dim() for p in pairs), -1):
        if all(p.yours.shape[axis] > 1 and p.is_equal(p.yours, _first_for_all(p.yours, axis)) for p in pairs):
            if all(p.is_equal(p.expected, _first_for_all(p.expected, axis)) for p in pairs):
                continue  # the expected numbers do not change along this axis either
            name = pairs[0].axes[axis] if pairs[0].axes else ""
            what = f"along `{name}`" if name.isidentifier() else f"along axis {pairs[0].expected.dim() + axis}"
            return f"Its numbers are all the same {what}."
    return ""


def _first_for_all(table: Tensor, axis: int) -> Tensor:
    return table.narrow(axis, 0, 1).expand_as(table)


def _everywhere(pairs: Pairs) -> str:
    values = {bool(value) for p in pairs for value in p.yours.unique()}
    has_several = any(p.yours.numel() > 1 for p in pairs)
    return f"It is {values.pop()} everywhere." if has_several and len(values) == 1 else ""


def _opposite(pairs: Pairs) -> str:
    has_both = any(p.expected.unique().numel() > 1 for p in pairs)
    inverted = has_both and all(bool((p.yours != p.expected).all()) for p in pairs)
    return "It is inverted: each True should be False, and each False should be True." if inverted else ""


Finder = Callable[[Pairs], str]
_OF_NUMBERS: tuple[Finder, ...] = (
    _transpose,
    _constant,
    _rounded,
    _factor,
    _offset,
    _argument,
    _function,
    places,
    _moved,
    _rearranged,
)
_OF_NEARLY_EQUAL: tuple[Finder, ...] = (_rounded, _factor)  # other finders would treat these results as right
_OF_BOOLS: tuple[Finder, ...] = (_opposite, _everywhere, _transpose, places, _moved)
