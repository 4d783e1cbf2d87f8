"""Change a case: its tensors, sizes, arguments and settings. The sweeps derive their cases with these functions."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from utils.exercises.exercise import Case, Exercise, Sampler
from utils.exercises.observe import collect_tensors, is_float
from utils.exercises.oracles import cached_cases, cached_oracle_observation

CAPACITIES = ("context_length", "max_len", "max_seq_len", "n_ctx", "block_size", "n_positions")


def map_tensors(case: Case, change: Callable[[Tensor], Tensor]) -> Case:
    """Return the case with `change` applied to each tensor argument."""
    args = tuple(change(a) if isinstance(a, Tensor) else a for a in case.args)
    return replace(
        case, args=args, kwargs={n: change(a) if isinstance(a, Tensor) else a for n, a in case.kwargs.items()}
    )


def tensors_of(case: Case) -> list[Tensor]:
    """Return the arguments of a case that are tensors."""
    return [a for a in (*case.args, *case.kwargs.values()) if isinstance(a, Tensor)]


def axis_sizes(case: Case) -> list[int]:
    """Return the axis sizes of a case's tensors in ascending order, without duplicates and without 1."""
    return sorted({size for tensor in tensors_of(case) for size in tensor.shape if size > 1})


def resize(case: Case, old: int, new: int) -> Case:
    """Give every axis of size `old` the size `new`.

    Additional entries are copies of earlier entries with slightly different numbers. They go before the last entry,
    because the last column of an input can have a special meaning. The case loses its note, which may state a size.
    """
    rand = Sampler(f"resize:{old}:{new}")
    extra = rand.integers(max(new - old, 0), low=0, high=max(old - 1, 1))
    index = torch.cat([torch.arange(min(old, new) - 1), extra, torch.tensor([old - 1])])

    def resized(tensor: Tensor) -> Tensor:
        result = tensor.detach()
        for axis in (i for i, size in enumerate(tensor.shape) if size == old):
            result = result.index_select(axis, index)
            if is_float(result) and new > old:
                variation = 1 + 0.3 * rand(*result.shape).clamp(-2, 2)
                variation.narrow(axis, 0, old - 1).fill_(1.0)
                variation.narrow(axis, new - 1, 1).fill_(1.0)
                result = result * variation.to(result.dtype)
        return result

    return replace(map_tensors(case, resized), note="")


def with_settings(exercise: Exercise, case: Case, change: Callable[[str, Any], Any]) -> Case:
    """In the constructor's arguments, replace each number or bool with `change(name, value)`, and return the case.

    Also change the fields of configurations, and the defaults of arguments that are not passed.
    """

    def changed(name: str, value: Any) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return replace(
                value, **{f.name: changed(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)}
            )
        return change(name, value) if type(value) in (int, float, bool) else value

    if exercise.initial_parameters is None:
        return case
    init = constructor_arguments(exercise, case)
    new = {name: changed(name, value) for name, value in init.items()}
    given = case.init if isinstance(case.init, dict) else list(init)[: len(case.init)]
    last = max((i for i, name in enumerate(init) if name in given or new[name] != init[name]), default=-1)
    kept = dict(list(new.items())[: last + 1])
    return replace(case, init=kept if isinstance(case.init, dict) else tuple(kept.values()))


def constructor_arguments(exercise: Exercise, case: Case) -> dict[str, Any]:
    """Return the arguments of a module's constructor by name; {} for a function.

    An argument that this case does not pass gets its default value. The dict leaves out
    each parameter to which no case passes a value, because only the oracle has such parameters.
    """
    if exercise.initial_parameters is None:
        return {}
    parameters = inspect.signature(exercise.initial_parameters).parameters
    inits = [c.init for c in cached_cases(exercise, 0)]
    passed = {n for init in inits for n in (init if isinstance(init, dict) else [*parameters][: len(init)])}
    given = case.init if isinstance(case.init, dict) else dict(zip(parameters, case.init))
    return {n: given.get(n, p.default) for n, p in parameters.items() if n in given or n in passed}


def setting_values(exercise: Exercise, case: Case) -> dict[str, Any]:
    """Return a module's constructor arguments by name. A configuration is replaced with its fields."""
    values: dict[str, Any] = {}
    for name, value in constructor_arguments(exercise, case).items():
        is_configuration = dataclasses.is_dataclass(value) and not isinstance(value, type)
        values |= vars(value) if is_configuration else {name: value}
    return values


def with_capacity(exercise: Exercise, case: Case, size: int) -> Case:
    """Raise the constructor's length limits to at least `size`, and return the case."""
    return with_settings(exercise, case, lambda name, value: max(value, size) if name in CAPACITIES else value)


def with_width(exercise: Exercise, case: Case, old: int, new: int) -> Case:
    """Change the size `old` to `new` in the inputs and in the module's settings."""
    return with_settings(
        exercise, resize(case, old, new), lambda name, value: new if value == old and name not in CAPACITIES else value
    )


def argument_values(exercise: Exercise, case: Case) -> dict[str, Any]:
    """Return the arguments of a call by name, with default values for arguments that are not passed."""
    parameters = inspect.signature(exercise.oracle).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    return {**defaults, **exercise.signature.bind_arguments(case.args, case.kwargs)}


def with_argument(exercise: Exercise, case: Case, name: str, value: Any) -> Case:
    """Return the case with a different value for the argument `name`."""
    index = exercise.signature.arguments.index(name)
    if index < len(case.args):
        return replace(case, args=(*case.args[:index], value, *case.args[index + 1 :]))
    return replace(case, kwargs={**case.kwargs, name: value})


def works(exercise: Exercise, case: Case) -> bool:
    """Tell whether the oracle works on a case. If its result contains floats, at least one must be finite."""
    try:
        expected = cached_oracle_observation(exercise, case, False)
    except Exception:  # the exercise's parse_result may fail on an unusual result
        return False
    floats = [t for t in collect_tensors(expected.value) if is_float(t)]
    return expected.failure is None and (not floats or any(bool(t.isfinite().any()) for t in floats))
