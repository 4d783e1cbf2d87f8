"""Derive cases for the sweeps from an exercise's own cases: different sizes, special numbers, sequences of calls.

The oracle decides whether a derived case is valid: its result must contain a finite number.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from utils.exercises.case_changes import (
    CAPACITIES,
    argument_values,
    axis_sizes,
    map_tensors,
    resize,
    tensors_of,
    with_argument,
    with_capacity,
    with_settings,
    with_width,
    works,
)
from utils.exercises.compare import values_equal
from utils.exercises.exercise import Case, Exercise
from utils.exercises.instantiate import copy_value
from utils.exercises.observe import is_float
from utils.exercises.oracles import cached_cases, cached_oracle_gradients, cached_oracle_observation
from utils.exercises.side_effects import values_identical
from utils.exercises.sweep_options import (
    AXES,
    COUNT,
    COUNTS,
    SMALL,
    WIDTH,
    dtypes,
    large_outputs,
    layouts,
    lists,
    mixed_tokens,
    numbers,
    ones,
    options,
    returns_floats,
    reversed_dicts,
    small_inputs,
    texts,
    training_modes,
    widths,
    zero_counts,
)

TOLERANCE = 1e-3  # loose, because large numbers increase rounding errors; sweeps look for gross differences
LARGE = 66  # larger than every size in the lessons and in the other cases; even, because some widths must be even
# Even sizes n for which n * (1 / n) is not exactly 1 in some dtype: they reveal answers that round positions wrongly.
INEXACT = (82, 94, 98, 110, 122)
BEYOND_GPT2 = 1100  # more than the 1024 positions of GPT-2
BEYOND_BYTES = 260  # too large for int8 and uint8, but small enough to fill a table of this size one entry at a time
# The inputs are multiplied by these numbers. Scores then exceed any limit that an answer may set, such as 10,000.
# They also exceed 88, the largest integer for which exp does not overflow in float32.
FACTORS = (10.0, 1e6)
LENGTHS = {
    **dict.fromkeys(("n", "n_tokens", "seq_len", "L", "max_len", "d_model"), LARGE),
    "size": BEYOND_BYTES,
    "position": BEYOND_GPT2,
}


def _cached(function: Callable[..., list]) -> Callable[..., list]:
    """Cache the results of a function whose first argument is an exercise, until the exercise's `cache_key` changes."""
    cache = functools.lru_cache(maxsize=256)(lambda exercise, key, *rest: function(exercise, *rest))

    @functools.wraps(function)
    def cached(exercise: Exercise, *rest: Any) -> list:
        return cache(exercise, exercise.cache_key and exercise.cache_key(), *rest)

    return cached


@_cached
def base_cases(exercise: Exercise) -> list[Case]:
    """Return the first case of each kind.

    Cases of the same kind pass the same arguments, and each argument has the same number of axes in all of them. Cases
    in training mode, cases with `fill=False`, and cases that the oracle rejects are left out.
    """
    kinds: dict[Hashable, Case] = {}
    for case in cached_cases(exercise, 0):
        usable = case.fill and not case.train and cached_oracle_observation(exercise, case).failure is None
        tensors = tuple(a.dim() if isinstance(a, Tensor) else type(a) for a in case.args)
        if usable:
            kinds.setdefault((tuple(sorted(case.kwargs)), tensors), case)
    return list(kinds.values())[:5]


@_cached
def free_sizes(exercise: Exercise, case: Case) -> list[int]:
    """Return the sizes that the caller may choose: each size n for which the oracle also accepts n + 1."""
    if "sizes" in exercise.unswept:
        return []
    roomy = with_capacity(exercise, case, max([0, *axis_sizes(case)]) + 1)
    return [n for n in axis_sizes(case) if works(exercise, resize(roomy, n, n + 1))]


def _sizes(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Set one size at a time to 1 and to a large number, then make two sizes equal.

    Also change integer arguments that set a size, an axis or a count.
    """
    for name, value in argument_values(exercise, case).items():
        if type(value) is int and name in LENGTHS:
            lengths = (LENGTHS[name], *INEXACT) if name in ("size", "d_model") else (LENGTHS[name],)
            yield from (with_argument(exercise, case, name, length) for length in lengths)
        if type(value) is int and name in AXES:
            dims = tensors_of(case)[0].dim()
            yield from (with_argument(exercise, case, name, axis) for axis in range(-dims, dims))
    yield from _other_ranks(exercise, case)
    free = free_sizes(exercise, case)
    for size in free:
        larger = resize(case, size, LARGE)
        yield (
            larger
            if _is_limited(exercise, case) and works(exercise, larger)
            else with_capacity(exercise, larger, LARGE)
        )
        yield resize(case, size, 1)
    yield from (resize(case, size, other) for size, other in itertools.combinations(free, 2))
    for size in axis_sizes(case) if exercise.kind == "module" else ():
        if size not in free:
            yield from (with_width(exercise, case, size, new) for new in (LARGE, 1))
    for count in COUNTS if exercise.kind == "module" else ():
        yield with_settings(exercise, case, lambda name, value: COUNT if name == count else value)  # noqa: B023
    yield with_settings(
        exercise, case, lambda name, value: COUNT if name in COUNTS else 2 * COUNT if name == "d_out" else value
    )


def _is_limited(exercise: Exercise, case: Case) -> bool:
    """Tell whether the oracle rejects inputs that are longer than the constructor allows."""
    smallest = with_settings(exercise, case, lambda name, value: 1 if name in CAPACITIES else value)
    return smallest.init != case.init and not works(exercise, smallest)


def _other_ranks(exercise: Exercise, case: Case) -> Iterator[Case]:
    """If the exercise does not name the result's axes, yield a case with an additional axis and a case without axes."""
    if exercise.specs and not exercise.specs[0].axes:
        yield map_tensors(case, lambda t: t[None].expand(2, *t.shape).clone() if t.dim() else t)
        if not set(AXES) & set(exercise.signature.arguments):
            yield map_tensors(case, lambda t: t.flatten()[0])


def _zeros(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Yield cases in which every second number, the first row, the last row, or half of a model is 0."""

    def every_second(tensor: Tensor) -> Tensor:
        keep = (torch.arange(tensor.numel()) % 2).view(tensor.shape)
        return tensor * keep.to(tensor.dtype) if is_float(tensor) else tensor

    def without_row(row: int, tensor: Tensor) -> Tensor:
        if not is_float(tensor) or tensor.dim() < 2:
            return tensor
        result = tensor.clone()
        result.select(-2, row).zero_()
        return result

    yield replace(map_tensors(case, every_second), note="every second number is 0")
    for row, name in ((0, "first"), (-1, "last")):
        yield replace(map_tensors(case, functools.partial(without_row, row)), note=f"the {name} row is 0")
    for name, value in argument_values(exercise, case).items():
        if isinstance(value, list) and value and all(type(v) is float for v in value):
            yield with_argument(exercise, case, name, [0.0, *value[1:]])
    if any(isinstance(a, nn.Module) for a in case.args) and returns_floats(exercise, case):
        note = "with a model in which half of the numbers are 0"
        yield replace(case, args=tuple(map(_with_zero_rows, case.args)), note=note)


def _with_zero_rows(argument: Any) -> Any:
    """Return a copy of a model in which the first half of each parameter is 0. Return other arguments unchanged."""
    model = copy_value(argument)
    for parameter in model.parameters() if isinstance(model, nn.Module) else ():
        parameter.data[: (len(parameter) + 1) // 2] = 0
    return model


def _ties(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Yield cases with equal rows, with two equal numbers in each row, and with tokens that are all 0."""

    def equal_rows(tensor: Tensor) -> Tensor:
        if tensor.dtype == torch.bool or tensor.dim() < 1 or not tensor.numel():
            return tensor
        axis = -2 if is_float(tensor) and tensor.dim() > 1 else -1
        return tensor.narrow(axis, 0, 1).expand_as(tensor).clone()

    def equal_columns(tensor: Tensor) -> Tensor:
        if not is_float(tensor) or not tensor.dim() or tensor.shape[-1] < 2:
            return tensor
        mean = tensor[..., :2].mean(dim=-1, keepdim=True)  # keeps the sum of each row
        return torch.cat([mean, mean, tensor[..., 2:]], dim=-1)

    yield replace(map_tensors(case, equal_rows), note="all rows are equal")
    yield replace(map_tensors(case, equal_columns), note="the first two numbers of each row are equal")
    for name, value in argument_values(exercise, case).items():
        if isinstance(value, list) and len(value) > 1 and all(type(v) is float for v in value):
            yield with_argument(exercise, case, name, value[:1] * len(value))
    yield replace(map_tensors(case, lambda t: t if is_float(t) or t.dtype == torch.bool else t * 0), note="zeros")


def _large(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Multiply the inputs by large factors, so that scores exceed limits that an answer may hard-code."""
    for factor in FACTORS if case is base_cases(exercise)[0] else FACTORS[:1]:
        changed = map_tensors(case, lambda t: t * factor if is_float(t) else t)  # noqa: B023
        if factor == FACTORS[0] or _ignores_rounding(exercise, changed):
            yield replace(changed, note=f"with inputs {factor:,.0f} times as large")


def _ignores_rounding(exercise: Exercise, case: Case) -> bool:
    """Tell whether rounding errors in the inputs hardly change the oracle's result. They change sin(1e6)."""

    def change(tensor: Tensor) -> Tensor:
        errors = 1 + 1e-6 * (-1.0) ** torch.arange(tensor.numel()).view(tensor.shape)
        return tensor * errors if is_float(tensor) else tensor

    if not (works(exercise, case) and works(exercise, rounded := map_tensors(case, change))):
        return False
    exact, inexact = (cached_oracle_observation(exercise, c, False).value for c in (case, rounded))
    return values_equal(inexact, exact, TOLERANCE, "any")


def _signs(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Reverse the signs of the inputs."""
    yield map_tensors(case, lambda t: -t if is_float(t) else t)


def _hidden_rows(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Yield a case in which one row of the mask hides every position."""

    def hide_second(tensor: Tensor) -> Tensor:
        if tensor.dtype != torch.bool or tensor.dim() < 2 or tensor.shape[-2] < 2:
            return tensor
        result = tensor.clone()
        result.select(-2, 1).fill_(False)
        return result

    if any(t.dtype == torch.bool for t in tensors_of(case)):
        yield replace(map_tensors(case, hide_second), note="all entries in row 1 of the mask are False")


def _without_influence(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Make the numbers that do not influence the result, such as hidden scores, larger than all others."""
    gradients = cached_oracle_gradients(exercise, case)
    for name, value in argument_values(exercise, case).items():
        gradient = gradients.get(f"`{name}`")
        if gradient is None or bool(gradient.all()):
            continue
        changed = with_argument(exercise, case, name, torch.where(gradient == 0, value + FACTORS[-1], value))
        before, after = (cached_oracle_observation(exercise, c, False).value for c in (case, changed))
        if values_equal(after, before, TOLERANCE, "any"):
            yield replace(changed, note=f"the numbers of `{name}` that must not count are a million larger")


class Sweep(NamedTuple):
    """A sweep over derived cases: its description for the table of sweeps, and the function that derives the cases."""

    what: str
    vary: Callable[[Exercise, Case], Iterator[Case]]


CASE_SWEEPS = {
    "sizes": Sweep(f"each size that the caller may choose is 1, then {LARGE}; then two sizes are equal", _sizes),
    "zeros": Sweep("every second number, or a row, is exactly 0", _zeros),
    "ties": Sweep("all rows or tokens are equal, or all tokens are 0", _ties),
    "large": Sweep("inputs are " + " or ".join(f"{n:,.0f}" for n in FACTORS) + " times as large", _large),
    "hidden numbers": Sweep("numbers without influence on the result are a million larger", _without_influence),
    "layouts": Sweep("inputs have the memory layout of a transposed tensor", layouts),
    "small": Sweep(f"inputs are {SMALL:g} times as large", small_inputs),
    "signs": Sweep("inputs have the opposite sign", _signs),
    "tokens": Sweep("some tokens are 0", mixed_tokens),
    "numbers": Sweep("float arguments and settings have other values, such as 0 and 1", numbers),
    "ones": Sweep("integer arguments are 1", ones),
    "zero counts": Sweep("integer arguments are 0", zero_counts),
    "options": Sweep(f"flags are reversed, optional arguments are missing, and counts are 1 or {COUNT}", options),
    "widths": Sweep(f"modules without matrices are {WIDTH} entries wide", widths),
    "dtypes": Sweep("a module and its inputs are float64", dtypes),
    "lists": Sweep("lists of ids contain 0, equal ids and large ids", lists),
    "dicts": Sweep("the keys of dicts are in reverse order", reversed_dicts),
    "outputs": Sweep("the logits of a model are far below 0, and far apart", large_outputs),
    "texts": Sweep("texts have white space, long words, other letters, or no letters", texts),
    "training": Sweep("training mode, and models in the other mode with hooks", training_modes),
    "hidden rows": Sweep("one row of the mask hides every position", _hidden_rows),
}


def _two_kinds(bases: list[Case]) -> list[Case]:
    """Return the first base case, and the base case with the most arguments and axes.

    Using all base cases would take too long.
    """
    most = max(bases, key=lambda case: (len(case.kwargs), sum(t.dim() for t in tensors_of(case))), default=None)
    return [case for case in bases if case is bases[0] or case is most]


_NUMBER_SWEEPS = ("zeros", "ties", "large", "small", "signs")  # two base cases are enough for these sweeps


def _is_same(a: Case, b: Case) -> bool:
    """Tell whether two cases have the same arguments, dtypes, layouts, constructor arguments and training mode."""
    values = values_identical((a.args, dict(a.kwargs)), (b.args, dict(b.kwargs)))
    return values and _form(a) == _form(b) and (a.init, a.train) == (b.init, b.train)


def _form(case: Case) -> tuple[list, ...]:
    """Return dtypes, memory layouts, key orders and `requires_grad`, because `values_identical` ignores them."""
    models = [a for a in case.args if isinstance(a, nn.Module)]
    return (
        [(t.dtype, t.stride()) for t in tensors_of(case)],
        [[*arg] for arg in case.args if isinstance(arg, dict)],
        [p.requires_grad for model in models for p in model.parameters()],
    )


@_cached
def derived_pairs(exercise: Exercise, name: str) -> list[tuple[Case, Case]]:
    """Return (base case, derived case) for each valid case of one sweep. Leave out cases that equal their base case."""
    cases, bases = [], base_cases(exercise)
    chosen = bases[:1] if name == "layouts" else _two_kinds(bases) if name in _NUMBER_SWEEPS else bases
    for base in chosen:
        for case in CASE_SWEEPS[name].vary(exercise, base):
            if not _is_same(base, case) and works(exercise, case):
                cases.append((base, case))
    return cases


def derived_cases(exercise: Exercise, name: str) -> list[Case]:
    """Return the valid cases of one sweep."""
    return [case for _, case in derived_pairs(exercise, name)]


@_cached
def call_sequences(exercise: Exercise) -> list[list[Case]]:
    """Return sequences of calls to one object.

    Each sequence starts with one case and continues with other sizes or arguments. At the end, the first
    case is called twice more, or once more if the exercise has a `parse_result`. Before the last call, the result of
    the previous call is overwritten.
    """
    sequences = []
    bases = base_cases(exercise)
    for base in _two_kinds(bases):
        sizes = free_sizes(exercise, base)
        first = with_capacity(exercise, base, max([0, *sizes]) + 1)
        steps = [resize(first, n, m) for n in sizes for m in (n - 1, n + 1)]
        steps += [map_tensors(first, lambda t: t.flip(0) if t.dim() else t)]
        if exercise.kind != "module":
            steps += [other for other in bases if other is not base][:1]
            steps += [replace(first, args=tuple(map(_with_other_numbers, first.args)))]
        else:  # add an object of the class that is built with other constructor arguments, preferably with many
            others = (c for c in cached_cases(exercise, 0) if c.fill and not c.train and c.init != base.init)
            steps += sorted(others, key=lambda c: len(c.init), reverse=True)[:1]
            # Each call gets different parameters, as after a training step.
            steps = [replace(step, seed=step.seed + i + 1) for i, step in enumerate(steps)]
        steps = [replace(first, kwargs={}), *steps] if first.kwargs else steps  # without the optional arguments
        end = [first] if exercise.parse_result else [first, first]
        sequence = [first, *(step for step in steps if works(exercise, step)), *end]
        changes = exercise.view is not None or cached_oracle_observation(exercise, first, False).changed
        sequences.append([_with_own_modules(step) for step in sequence] if changes else sequence)
    return sequences


def _with_other_numbers(argument: Any) -> Any:
    """Return a copy of a model with different parameters, as after training. Return other arguments unchanged."""
    if not isinstance(argument, nn.Module):
        return argument
    module = copy_value(argument)
    with torch.no_grad():
        for tensor in filter(is_float, (*module.parameters(), *module.buffers())):
            tensor.copy_(1.5 * (tensor.flip(0) if tensor.dim() else tensor))
    return module


def _with_own_modules(case: Case) -> Case:
    """Return the case with copies of its modules, so that a call cannot change the original modules."""
    args = tuple(copy_value(a) if isinstance(a, nn.Module) else a for a in case.args)
    return replace(case, args=args)


def cases_without_generator(exercise: Exercise) -> list[Case]:
    """Return cases that pass None as the optional generator. The answer should then use torch's global generator."""
    optional = exercise.kind == "function" and [
        n for n, p in inspect.signature(exercise.oracle).parameters.items() if n == "generator" and p.default is None
    ]
    return [with_argument(exercise, base, "generator", None) for base in base_cases(exercise)[:1]] if optional else []
