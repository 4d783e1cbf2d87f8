"""Compare intermediate values of an answer with milestones. The order of the axes may differ."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from utils.exercises.call_trace import CallRecorder
from utils.exercises.compare import difference_mask
from utils.exercises.observe import collect_tensors, is_float, record_run
from utils.exercises.oracles import to_learner_answer
from utils.exercises.probe import Probe, Trial
from utils.exercises.runner import RESULT_ONLY

ATOL = 1e-4
NEAR_ZERO = 1e-6  # the tolerance near zero; it is small, because a later division may enlarge a small difference
MOST_LEAF_CALLS = 10
FEWEST = 6  # the fewest numbers for `similarity`; two random tensors with 6 numbers have a mean absolute cosine of 0.34
UNRELATED = 0.3  # a bound of `similarity`
Match = Literal["same", "transposed"]


class Milestone(NamedTuple):
    """An intermediate value of the expected computation.

    Attributes:
        label: a phrase for learners, such as "the scaled scores".
        value: the numbers.
        is_optional: whether a correct computation may skip this value.
        is_leaf: whether no other milestone is needed to compute the value.
        is_constant: whether the value does not depend on arguments and parameters.
        parents: the indices of the milestones that the expected computation combines to get this value.
    """

    label: str
    value: Tensor
    is_optional: bool = False
    is_leaf: bool = False
    is_constant: bool = False
    parents: frozenset[int] = frozenset()


def is_telling(value: Tensor) -> bool:
    """Tell whether a tensor has enough distinct numbers that no other tensor equals it by coincidence."""
    if not is_float(value):
        return False
    finite = value[value.isfinite()]
    return finite.unique().numel() > 2 or (value.numel() <= 2 and bool(((finite != 0) & (finite != 1)).any()))


def same_numbers(a: Tensor, b: Tensor, atol: float) -> bool:
    """Tell whether two tensors have the same numbers in the same order. Their shapes may differ.

    Rounding errors grow with the largest numbers of a tensor, so the tolerance near zero grows with them.
    """
    if a.numel() != b.numel() or is_float(a) != is_float(b):
        return False
    first, second = (tensor.detach().flatten().cpu().to(torch.float64) for tensor in (a, b))
    largest = float(second.nan_to_num(0.0, 0.0, 0.0).abs().max()) if second.numel() else 0.0
    near_zero = min(atol, NEAR_ZERO) * max(1.0, largest)
    return bool(torch.isclose(first, second, rtol=atol, atol=near_zero, equal_nan=True).all())


def match(value: Tensor, milestone: Tensor, atol: float = ATOL) -> Match | None:
    """Compare a value with a milestone. The order of axes may differ, and axes may be split or merged.

    Returns:
        "same" or "transposed" if the numbers agree, otherwise None. "transposed" means that the value has the
        milestone's shape, but its numbers agree only after a permutation of axes.
    """
    if value.numel() != milestone.numel() or not value.numel() or not (is_float(value) and is_float(milestone)):
        return None
    if _ranges_differ(value, milestone, atol):  # much faster than comparing all orders of the axes
        return None
    value, milestone = value.squeeze(), milestone.squeeze()
    orders = itertools.permutations(range(milestone.dim())) if milestone.dim() <= 4 else [tuple(range(milestone.dim()))]
    for order in orders:
        ordered = milestone.permute(order)
        fits = _splits_or_merges(value.shape, ordered.shape) and _merges_in_order(value.shape, ordered.shape, order)
        if fits and same_numbers(value, ordered, atol):
            is_turned = value.shape == milestone.shape and not same_numbers(value, milestone, atol)
            return "transposed" if is_turned else "same"
    return None


def _ranges_differ(value: Tensor, milestone: Tensor, atol: float) -> bool:
    """Tell whether the smallest or the largest numbers differ; if so, no permutation makes the tensors equal."""
    ranges = ([float(x) for x in tensor.detach().aminmax()] for tensor in (value, milestone))
    (low, high), (expected_low, expected_high) = ranges
    margin = atol * (1 + max(abs(expected_low), abs(expected_high)))
    return abs(low - expected_low) > margin or abs(high - expected_high) > margin  # False if a number is nan


def _splits_or_merges(a: Sequence[int], b: Sequence[int]) -> bool:
    """Tell whether splitting or merging neighbouring axes turns one shape into the other."""
    products = [set(itertools.accumulate(shape, lambda x, y: x * y)) for shape in (a, b)]
    return products[0] <= products[1] or products[1] <= products[0]


def _merges_in_order(shape: Sequence[int], ordered: Sequence[int], order: Sequence[int]) -> bool:
    """Tell whether merged axes are in the milestone's order, for example the heads before the entries of each head."""
    axes = iter(zip(ordered, order))
    for size in shape:
        product, last = 1, -1
        while product < size:
            length, axis = next(axes, (size, len(order)))
            if axis < last and product > 1:
                return False
            product, last = product * length, axis
    return True


def matching_slices(value: Tensor, milestone: Tensor, atol: float) -> set[tuple[int, int]]:
    """Return (axis, index) for each slice of a milestone that equals a value. The value's axes may be permuted."""
    if not is_float(milestone) or value.numel() < 2:
        return set()
    axes = [axis for axis, n in enumerate(milestone.shape) if n > 1 and value.numel() * n == milestone.numel()]
    if not axes or not is_telling(value):
        return set()
    slices = ((axis, i) for axis in axes for i in range(milestone.shape[axis]))
    return {(axis, i) for axis, i in slices if match(value, milestone.select(axis, i), atol)}


def is_slice_size(value: Tensor, milestone: Tensor) -> bool:
    """Tell whether a value has the same number of entries as a milestone, or as a slice of the milestone."""
    return any(value.numel() * size == milestone.numel() for size in (1, *milestone.shape))


def has_slice_shape(value: Tensor, milestone: Tensor) -> bool:
    """Tell whether a value has as many entries as a milestone, or the shape of a slice of the milestone.

    The axes of the slice may be in a different order, and axes of size 1 do not count.
    """
    sizes = sorted(size for size in value.shape if size > 1)
    shapes = [milestone.shape, *(milestone.select(axis, 0).shape for axis in range(milestone.dim()))]
    return value.numel() == milestone.numel() or any(sizes == sorted(n for n in shape if n > 1) for shape in shapes)


def share_of_equal_numbers(value: Tensor | None, milestone: Tensor) -> float:
    """Return the share of a milestone's finite numbers that equal the value's numbers; 0 if the shapes differ.

    Numbers close to 0 or 1 are left out, because saturated weights and masks contain them too.
    """
    if value is None or value.shape != milestone.shape or not is_float(value):
        return 0.0
    compared = milestone.isfinite() & (milestone.abs() > 1e-3) & ((milestone - 1).abs() > 1e-3)
    equal = ~difference_mask(value, milestone, ATOL) & compared
    return float(equal.sum() / compared.sum().clamp(min=1))


def similarity(value: Tensor | None, milestone: Tensor) -> float:
    """Return the absolute cosine between two tensors, ignoring nan and inf.

    Return 0 if the shapes differ, or if the tensors are so small that a high cosine proves nothing.
    """
    if value is None or value.shape != milestone.shape or not is_float(value) or value.numel() < FEWEST:
        return 0.0
    finite = value.isfinite() & milestone.isfinite()
    pair = (tensor.detach()[finite].to(torch.float64) for tensor in (value, milestone))
    return float(torch.cosine_similarity(*pair, dim=0).abs())


def is_multiple(value: Tensor | None, milestone: Tensor) -> bool:
    """Tell whether a value is a milestone times a positive factor."""
    is_parallel = similarity(value, milestone) > 1 - 1e-6
    return value is not None and is_parallel and float((value * milestone).sum()) > 0


def is_unrelated(value: Tensor, milestone: Tensor) -> bool:
    """Tell whether a value has the shape of a milestone, but its numbers are not similar."""
    return value.shape == milestone.shape and value.numel() >= FEWEST and similarity(value, milestone) < UNRELATED


def has_same_axes(value: Tensor | None, expected: Tensor | None) -> bool:
    """Tell whether two tensors have the same axes, apart from axes of size 1."""
    return value is not None and expected is not None and value.squeeze().shape == expected.squeeze().shape


def changes_nothing(value: Tensor | None, source: Tensor | None) -> bool:
    """Tell whether a step returned its input unchanged."""
    if value is None or source is None or not is_float(value):
        return False
    return value.shape == source.shape and torch.equal(value, source)


class ExpectedValues(NamedTuple):
    """The correct values of a case: the milestones, and other values that a correct computation can contain.

    The other values are the results of the calls that compute the milestones, and the arguments of the case. Each
    result comes with the name of the torch function that returns it, and each argument with the name "".
    """

    milestones: list[Milestone]
    others: list[tuple[str, Tensor]]


def expected_values(probe: Probe, trial: Trial) -> ExpectedValues | None:
    """Return the values of the expected computation on a case, or None if the case cannot tell the milestones apart.

    A case cannot tell milestones apart if two required milestones have the same numbers, or if a required milestone
    could equal a line's result by coincidence. Also return None if the exercise has no milestones.
    """
    exercise = probe.exercise
    if exercise.milestones is None:
        return None
    recorder = CallRecorder(None)
    answer = exercise.milestones if exercise.kind == "value" else to_learner_answer(exercise, exercise.milestones)
    form = replace(exercise.signature, view=None)
    values = record_run(form, answer, trial.case, RESULT_ONLY, recorder).value or {}
    expected = trial.expected.value[0] if isinstance(trial.expected.value, tuple) else trial.expected.value
    comparable = is_float(expected) and exercise.parse_result is None and exercise.view is None
    if comparable and not (values and match(list(values.values())[-1].detach(), expected.detach())):
        values = {**values, "the result": expected}
    arguments = [tensor for tensor in collect_tensors(list(trial.case.args)) if is_float(tensor)]
    # An argument, such as the values in attend(q, k, v), is no step of the computation.
    given = {k for k, v in values.items() if recorder.index_of(v) is None and any(torch.equal(v, a) for a in arguments)}
    values = {label: value for label, value in values.items() if label not in given}
    indices = {label: recorder.index_of(value) for label, value in values.items()}
    order = {index: k for k, index in enumerate(indices.values()) if index is not None}
    inputs = [call.inputs for call in recorder.calls]
    milestones = []
    for label, value in values.items():
        index = indices[label]
        origins = trace_back(inputs, [] if index is None else [index])
        is_separate = not origins & {i for name, i in indices.items() if name != label}
        # An oracle may compute a late value without using the earlier values. Such a value takes many calls, so it
        # does not count as a leaf.
        is_leaf = is_separate and len(origins) <= MOST_LEAF_CALLS and label != list(values)[-1]
        is_constant = bool(origins) and not any(recorder.calls[i].has_other_inputs for i in origins)
        name, is_optional = label.rstrip("?"), label.endswith("?")
        direct = trace_back(inputs, [] if index is None else inputs[index], order)
        parents = frozenset(order[i] for i in direct if i in order)
        milestones.append(Milestone(name, value.detach(), is_optional, is_leaf, is_constant, parents))
    required = [m for m in milestones if not m.is_optional]
    if not required or not all(is_telling(m.value) for m in required):
        return None
    if any(match(a.value, b.value) for a, b in itertools.combinations(required, 2)):
        return None
    # One or two numbers that also occur in an argument do not prove that a line computed them.
    if any(m.value.numel() <= 2 and match(a, m.value) for m in required for a in arguments):
        return None
    milestones = _without_untelling(milestones, [a for a in arguments if a.numel() > 2])
    steps = [(call.name, call.value) for call in recorder.calls if call.value is not None]
    return ExpectedValues(milestones, [*(("", argument) for argument in arguments), *steps])


def ambiguity(trial: Trial) -> tuple:
    """Return a sort key. It is low for trials on which different computations probably give different results."""
    tensors = collect_tensors([*trial.case.args, trial.expected.value])
    sizes = [size for tensor in tensors for size in set(tensor.shape)]
    equal_axes = sum(tensor.dim() - len(set(tensor.shape)) for tensor in tensors)
    return sizes.count(1), bool(trial.case.note), equal_axes, sum(t.numel() for t in tensors)


def float_result(trial: Trial) -> Tensor | None:
    """Return the answer's result, or the first part of a tuple; None if it is not a tensor of floats."""
    value = trial.yours.value
    result = value[0] if isinstance(value, tuple) else value
    return result if is_float(result) else None


def trace_back(inputs: Sequence[Sequence[int]], starts: Iterable[int], stops: Container[int] = ()) -> set[int]:
    """Return the calls in `starts`, and all calls whose results they use, directly or indirectly.

    Args:
        inputs: for each call, the calls whose results it uses.
        starts: the calls to begin with.
        stops: calls whose inputs are left out.
    """
    waiting, found = list(starts), set()
    while waiting:
        i = waiting.pop()
        if i not in found:
            found.add(i)
            waiting += () if i in stops else inputs[i]
    return found


def _without_untelling(milestones: list[Milestone], arguments: list[Tensor]) -> list[Milestone]:
    """Remove milestones that an unrelated value could match by coincidence.

    Remove them from `parents` too. Also remove optional milestones that equal an argument, because no line needs to
    compute them.
    """
    is_given = [m.is_optional and any(match(a, m.value) for a in arguments) for m in milestones]
    kept = [k for k, m in enumerate(milestones) if is_telling(m.value) and not is_given[k]]
    number = {k: new for new, k in enumerate(kept)}
    parents = (frozenset(number[p] for p in milestones[k].parents if p in number) for k in kept)
    return [milestones[k]._replace(parents=p) for k, p in zip(kept, parents)]
