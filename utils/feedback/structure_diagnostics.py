"""Define diagnostics for the structure of a result: its type, its items and the shapes of its tensors."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

from torch import Size, Tensor

from utils.exercises.compare import values_equal
from utils.exercises.exercise import Case, Spec
from utils.exercises.probe import Probe, ResultPart, Trial
from utils.feedback.phrases import (
    axis_names,
    call_text,
    comparable_type,
    named_shape_text,
    part_text,
    result_text,
    returns_text,
    shape_text,
    type_cause_text,
    type_text,
)
from utils.feedback.size_hints import constant_axis_hint, fixed_axis_hint, has_hard_coded_size


def diagnose_structure(probe: Probe, trial: Trial) -> str | None:
    """Check the type of the result and, for a tuple, the number, order and types of its items."""
    if trial.expected.failure or trial.yours.failure:
        return None
    yours, expected = trial.yours.value, _without_facts(probe, trial)
    is_value = probe.exercise.kind == "value"
    call = call_text(probe.exercise, trial.case)
    if expected is None:
        return None if yours is None else f"{call} returned {type_text(yours)}, but should return nothing."
    if yours is None:
        if is_value:
            return f"`{call}` is None. Does the line that assigns it end with a call that returns nothing?"
        return f"{call} returned None. Did you forget `return`?"
    if (
        isinstance(expected, tuple)
        and isinstance(yours, (tuple, list))
        and (message := _tuple_message(probe, call, yours, expected))
    ):
        return message
    if comparable_type(yours) != comparable_type(expected):
        is_listed = isinstance(expected, tuple) and isinstance(probe.exercise.returns, tuple)
        listed = f": {returns_text(probe.exercise)}" if is_listed else ""
        verbs = (f"`{call}` is", "should be") if is_value else (f"{call} returned", "should return")
        return f"{verbs[0]} {type_text(yours)}, but {verbs[1]} {type_text(expected)}{listed}.{type_cause_text(yours)}"
    return None


def _tuple_message(probe: Probe, call: str, yours: tuple | list, expected: tuple) -> str | None:
    """Describe what is wrong with the items of a tuple: their number, their order or a type."""
    exercise = probe.exercise
    if len(yours) != len(expected):
        return f"{call} returned {len(yours)} values, but should return {len(expected)}: {returns_text(exercise)}."
    permuted = any(values_equal(yours, order, exercise.atol, "wider") for order in itertools.permutations(expected))
    if permuted and not values_equal(yours, expected, exercise.atol, "wider"):
        return f"The values are right, but their order is not: return {returns_text(exercise)}, in this order."
    for i, (item, expected_item) in enumerate(zip(yours, expected)):
        if comparable_type(item) != comparable_type(expected_item):
            name = part_text(probe.spec(i), i)
            return (
                f"{call} returned {type_text(item)} as {name}, but should return {type_text(expected_item)}."
                f"{type_cause_text(item)}"
            )
    return None


def _without_facts(probe: Probe, trial: Trial) -> Any:
    """Return the expected result.

    Its last item, the facts, is left out if no facts could be computed from the answer's result.
    """
    yours, expected, specs = trial.yours.value, trial.expected.value, probe.exercise.specs
    if not isinstance(expected, tuple) or len(specs) < 2 or not specs[-1].is_facts:
        return expected
    if not isinstance(yours, tuple) or len(yours) != len(expected) or not isinstance(yours[-1], Tensor):
        return expected[:-1]
    return expected if yours[-1].shape == expected[-1].shape else expected[:-1]


def diagnose_shape(probe: Probe, trial: Trial) -> str | None:
    """Check the shape of each tensor. If several cases are wrong, report only a case with the fewest axes of size 1."""
    counts = {id(t): _size_one_axes(probe, t) for t in probe.trials if _has_wrong_shape(probe, t)}
    if counts and counts.get(id(trial)) != min(counts.values()):
        return None
    for part in probe.result_parts(trial):
        yours, expected = part.yours.shape, part.expected.shape
        if yours == expected:
            continue
        where = part_name(probe, trial, part)
        same_part = [p for t in probe.trials for p in probe.result_parts(t) if p.index == part.index]
        if len({p.yours.shape for p in same_part}) == 1 and len({p.expected.shape for p in same_part}) > 1:
            fixed = f"has shape {shape_text(yours)} for every input" if len(yours) else "is a single number"
            message = f"{where} {fixed}; here {named_shape_text(expected, part.spec)} is expected."
            return message + (_fixed_shape_hint(probe, yours) or constant_axis_hint(probe))
        swapped = min(len(yours), len(expected)) > 1 and yours == part.expected.mT.shape
        with_axes = " (the sizes of its last two axes are swapped)" if swapped else ""
        message = f"{where} has shape {shape_text(yours)}{with_axes}, expected {named_shape_text(expected, part.spec)}."
        relation = "" if swapped else shape_relation_text(yours, expected, part.spec)
        hint = fixed_axis_hint(probe, trial) or constant_axis_hint(probe) or relation
        return message + (hint or _right_case_text(probe, trial))
    return None


def _has_wrong_shape(probe: Probe, trial: Trial) -> bool:
    return any(part.yours.shape != part.expected.shape for part in probe.result_parts(trial))


def _size_one_axes(probe: Probe, trial: Trial) -> int:
    """Count the axes of size 1 in the expected result. An axis of size 1 makes the cause of a wrong shape ambiguous."""
    return sum(part.expected.shape.count(1) for part in probe.result_parts(trial))


def _right_case_text(probe: Probe, wrong: Trial) -> str:
    """Name a call whose result is correct, in a sentence with a leading space; "" if there is none."""
    right = (t.case for t in probe.trials if t.is_correct(probe.exercise) and not t.case.note)
    calls = (call_text(probe.exercise, case) for case in right)
    first = next((call for call in calls if call != call_text(probe.exercise, wrong.case)), None)
    return "" if first is None else f" {first} is right."


def part_name(probe: Probe, trial: Trial, part: ResultPart) -> str:
    """Name a part of a result: by its key in a dict, its name in a tuple, or its number in a list."""
    expected = trial.expected.value
    if isinstance(expected, dict):
        return f"The entry {list(expected)[part.index]!r} of {_call_or_value(probe, trial.case)}"
    if isinstance(expected, (list, tuple)) and not (part.spec and part.spec.name):
        return f"Item {part.index} of the result of {_call_or_value(probe, trial.case)}"
    return result_text(probe.exercise, trial.case, part.index)


def _call_or_value(probe: Probe, case: Case) -> str:
    return f"`{probe.exercise.name}`" if probe.exercise.kind == "value" else call_text(probe.exercise, case)


_FULL_REDUCTION = re.compile(r"\.(sum|mean|max|min|prod|norm|var|std)\(\s*\)|torch\.(sum|mean|max|prod)\(\s*[^,()]+\)")


def _fixed_shape_hint(probe: Probe, shape: Size) -> str:
    """Explain why the code always gives the same shape, in a sentence with a leading space; "" if unknown."""
    traits = probe.runner.inspect_code()
    if not shape and (match := _FULL_REDUCTION.search(traits.source)):
        return f" Without a `dim`, `{match[1] or match[2]}` reduces the whole tensor to a single number."
    if has_hard_coded_size(traits.source, shape):
        return " Is a size hard-coded that should come from the argument?"
    return ""


_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def shape_relation_text(yours: Sequence[int], expected: Sequence[int], spec: Spec | None) -> str:
    """Describe a simple difference between two shapes in a sentence with a leading space; "" for other differences."""
    names = _names(len(expected), spec)
    if len(yours) == len(expected) + 1:
        extra = next((i for i in range(len(yours)) if [*yours[:i], *yours[i + 1 :]] == list(expected)), None)
        if extra is not None:
            size = f"size {yours[extra]}"
            advice = " Does `keepdim`, `unsqueeze`, `None` or a slice add it?" if yours[extra] == 1 else ""
            return f" It has one axis too many: its {_ORDINALS[extra]} axis, of {size}.{advice}"
    if len(yours) < len(expected) - 1 and [*yours] == [size for size in expected if size != 1]:
        return " All its axes of size 1 are missing. Does `squeeze` remove them?"
    if joined := _joined_axes(yours, expected):
        axes = " and ".join([names[joined[0]], *(f"{names[i][0].lower()}{names[i][1:]}" for i in joined[1:])])
        return f" {axes} are joined into one axis of size {yours[joined[0]]}."
    if len(yours) == len(expected) - 1:
        candidates = [i for i in range(len(expected)) if [*expected[:i], *expected[i + 1 :]] == list(yours)]
        if len(candidates) > 1:
            return f" One of its axes, of size {expected[candidates[0]]}, is missing."
        for missing in candidates:
            advice = (
                " Does `squeeze`, `reshape`, an index or a sum remove it?"
                if expected[missing] == 1
                else " Is it summed or indexed?"
            )
            return f" {names[missing]}, of size {expected[missing]}, is missing.{advice}"
    if len(yours) == len(expected):
        if sorted(yours) == sorted(expected):
            return " The sizes are right, but the axes are in a different order."
        wrong = [i for i, (a, b) in enumerate(zip(yours, expected)) if a != b]
        if len(wrong) == 1:
            return _wrong_size_text(yours[wrong[0]], expected, wrong[0], names)
    return ""


def _joined_axes(yours: Sequence[int], expected: Sequence[int]) -> list[int]:
    """Return the neighbouring axes of `expected` that `yours` merges into one axis.

    The merged axes must all be longer than 1. If there are none, return [].
    """
    for start, end in itertools.combinations(range(len(expected) + 1), 2):
        sizes, joined = expected[start:end], [*expected[:start], math.prod(expected[start:end]), *expected[end:]]
        if len(sizes) > 1 and min(sizes) > 1 and [*yours] == joined:
            return [*range(start, end)]
    return []


def _names(count: int, spec: Spec | None) -> list[str]:
    names = axis_names(count, spec) or [f"axis {i}" for i in range(count)]
    return [
        f"The {_ORDINALS[i]} axis" if name.startswith("axis ") else f"The axis `{name}`" for i, name in enumerate(names)
    ]


def _wrong_size_text(size: int, expected: Sequence[int], axis: int, names: Sequence[str]) -> str:
    """Describe one wrong size, for example one entry too many, or twice the expected size."""
    right = expected[axis]
    if abs(size - right) == 1:
        return f" {names[axis]} has one entry too {'many' if size > right else 'few'}."
    if size == 1:
        return f" {names[axis]} has a single entry: is something computed once instead of for each entry?"
    if right and size % right == 0:
        return f" {names[axis]} is {size // right} times as long as it should be."
    return ""
