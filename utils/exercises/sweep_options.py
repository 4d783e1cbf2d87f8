"""Derive cases for the sweeps from the options of an exercise: numbers, flags, counts, lists, texts, dtypes,
memory layouts.

`utils.exercises.sweep_cases` contains the sweeps over sizes and numbers, and the table of all sweeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from utils.exercises.case_changes import (
    argument_values,
    axis_sizes,
    constructor_arguments,
    map_tensors,
    setting_values,
    with_argument,
    with_settings,
    with_width,
)
from utils.exercises.exercise import Case, Exercise, Sampler
from utils.exercises.instantiate import copy_value
from utils.exercises.observe import collect_tensors, enlarge_output, is_float, watch_part
from utils.exercises.oracles import cached_oracle_observation

AXES = ("dim", "axis")  # arguments that select an axis
COUNT = 13  # a number of layers or heads that has two digits and exceeds the 12 of GPT-2
COUNTS = ("num_heads", "n_heads", "n_head", "n_layers", "num_layers")
POSITIVE = (0.03, 1.0, 2.5)  # values of an argument that must be above 0
VALUES = {"p": (0.0, 0.97), "eps": (0.0, 1e-9, 0.3)}  # values of the arguments with these names
RATES = ("dropout",)  # not varied: at 0, dropout changes nothing, and the exercise's own cases use other rates
WIDTH = 1040  # a width that is larger than every width in the lessons
SMALL = 1e-3  # the factor for the inputs; their variance becomes so small that adding eps changes the result
# Token ids. An answer that encodes a pair of ids as a * 256 + b confuses (1, 0) with (0, 256).
IDS = (0, 1, 2, 255, 256, 257, 512, 70_000)


def numbers(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Yield cases in which one float argument or float setting has another value."""
    for name, value in argument_values(exercise, case).items():
        if type(value) is float:
            for new in (*VALUES.get(name, POSITIVE), 0.7 * value + 0.0313):
                yield with_argument(exercise, case, name, new)
        elif type(value) is int and name == "base":
            yield with_argument(exercise, case, name, 0.7 * value + 0.0313 if value < 100 else 2.5)
    for name, value in setting_values(exercise, case).items():
        for new in VALUES.get(name, POSITIVE) if type(value) is float and name not in RATES else ():
            changed = with_settings(exercise, case, lambda n, v: new if n == name else v)  # noqa: B023
            yield changed
            yield from small_inputs(exercise, changed)


def ones(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Yield cases in which one integer argument above 1 is replaced by 1."""
    for name, value in _integers(exercise, case):
        if value > 1:
            yield with_argument(exercise, case, name, 1)


def zero_counts(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Yield cases in which one positive integer argument is replaced by 0."""
    for name, value in _integers(exercise, case):
        if value > 0:
            yield with_argument(exercise, case, name, 0)


def _integers(exercise: Exercise, case: Case) -> list[tuple[str, int]]:
    values = argument_values(exercise, case).items()
    return [(name, value) for name, value in values if type(value) is int and name not in (*COUNTS, *AXES)]


def options(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Invert flags, change counts, leave out the optional arguments, and combine these changes."""
    variants = [case]
    for name, value in argument_values(exercise, case).items():
        if type(value) is bool:
            variants.append(with_argument(exercise, case, name, not value))
        if type(value) is int and name in COUNTS:
            # A count may have to divide the size of a tensor.
            counts = (1,) if any(map(is_float, case.args)) else (1, COUNT - 1)
            variants += [with_argument(exercise, case, name, new) for new in counts]
    variants += [v for v in map(_without_options, variants) if v is not None]
    yield from variants[1:]
    has_counts = any(name in COUNTS and value != 1 for name, value in setting_values(exercise, case).items())
    flags = [name for name, value in setting_values(exercise, case).items() if type(value) is bool]
    for variant in variants if flags or has_counts else ():
        single = with_settings(exercise, variant, lambda n, v: 1 if n in COUNTS else v)
        many = with_settings(exercise, variant, lambda n, v: COUNT if n in COUNTS else v)
        for changed in (variant, single, many) if has_counts else (variant,):
            yield changed
            for flag in flags:
                yield with_settings(exercise, changed, lambda n, v: not v if n == flag else v)  # noqa: B023


def _without_options(case: Case) -> Case | None:
    return replace(case, kwargs={}) if case.kwargs else None


def widths(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Make the width of a module very large, if the module has no matrices."""
    if exercise.initial_parameters is None:
        return
    parameters = exercise.initial_parameters(**constructor_arguments(exercise, case)).values()
    for size in axis_sizes(case) if all(p.dim() < 2 for p in parameters) else ():  # large matrices take too long
        wide = with_width(exercise, case, size, WIDTH)
        if wide.init != case.init:
            yield wide


def dtypes(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Convert the inputs of a module to float64.

    The module gets the same dtype. No lesson promises that a function accepts float64, so functions are left out.
    """
    if exercise.kind == "module":
        yield replace(map_tensors(case, lambda t: t.double() if is_float(t) else t), note="in float64")


def layouts(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Store the inputs in a different order in memory, as after a transpose."""

    def change(tensor: Tensor) -> Tensor:
        axes = [*range(tensor.dim())][::-1]
        return tensor.permute(axes).contiguous().permute(axes)

    yield replace(map_tensors(case, change), note="with inputs in the memory layout of a transposed tensor")


def lists(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Replace each list of ids with a longer list, which can contain 0 and large ids.

    Replace each pair of ids with two ids from the longer list.
    """
    arguments = argument_values(exercise, case)
    if not any(_are_ids(value) and isinstance(value, list) for value in arguments.values()):
        return
    rand = Sampler("lists")
    for choice in (IDS, IDS[:3], IDS[:2] + IDS[3:5]):
        changed, ids = case, [choice[i] for i in rand.integers(40, high=len(choice)).tolist()]
        ids = [int(str(i)) for i in ids]  # separate objects, because an answer may compare ids with `is`
        for name, value in arguments.items():
            if _are_ids(value):
                new = ids if isinstance(value, list) else (ids[0] + 0, *ids[1 : len(value)])
                changed = with_argument(exercise, changed, name, new)
        yield changed


def reversed_dicts(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Reverse the order of the keys of each dict."""
    for name, value in argument_values(exercise, case).items():
        if isinstance(value, dict):
            yield with_argument(exercise, case, name, dict(reversed(value.items())))


def returns_floats(exercise: Exercise, case: Case) -> bool:
    """Tell whether the expected result contains a tensor of floats."""
    return any(map(is_float, collect_tensors(cached_oracle_observation(exercise, case, False).value)))


def large_outputs(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Multiply and shift the outputs of models, such as logits, if the result contains only ids or text."""
    if any(isinstance(a, nn.Module) for a in case.args) and not returns_floats(exercise, case):
        yield replace(
            case, args=tuple(map(_with_large_outputs, case.args)), note="with a model whose logits are far below 0"
        )


def _with_large_outputs(argument: Any) -> Any:
    if not isinstance(argument, nn.Module):
        return argument
    model = copy_value(argument)
    model.register_forward_hook(enlarge_output)
    return model


def _are_ids(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(type(v) is int for v in value)


def texts(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Change the texts among the arguments: white space, capitals, a long word, unusual characters, repetition."""
    for name, value in argument_values(exercise, case).items():
        if type(value) is str:
            for text in (
                f"  {value} \n",
                f"{value} unbelievably",
                f"{value} é🙂",
                "e\u0301" * 20,  # a letter with a separate accent
                f"{value}\n" * 20,
                value[:2],
                f"{value.upper()}{value} Aa AA!",
                f"{value}\r\n\t1 10 100",
                value * 20,
                "",
            ):
                yield with_argument(exercise, case, name, text)


def small_inputs(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Multiply the inputs by a small number, so that a constant such as eps visibly changes the result."""
    changed = map_tensors(case, lambda t: t * SMALL if is_float(t) else t)
    yield replace(changed, note=f"with inputs {SMALL:g} times as large")


def mixed_tokens(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Set about a third of the tokens to 0, the id that often has a special meaning."""

    def with_zeros(tensor: Tensor) -> Tensor:
        if is_float(tensor) or tensor.dtype == torch.bool or not tensor.dim():
            return tensor
        keep = Sampler("tokens").integers(*tensor.shape, high=3) > 0
        return tensor * keep

    changed = map_tensors(case, with_zeros)
    yield replace(changed, note="some tokens are 0")


def training_modes(exercise: Exercise, case: Case) -> Iterator[Case]:
    """Yield a case in training mode.

    If an argument is a model, also yield two other cases. In one, the model is in the opposite mode and has hooks. In
    the other, the model is trainable.
    """
    if exercise.kind == "module" and exercise.parse_result is None:
        yield replace(case, train=True, note="in training mode")
    if any(isinstance(a, nn.Module) for a in case.args):
        yield replace(
            case,
            args=tuple(map(_in_other_mode, case.args)),
            note="with a model that is in the other mode and has hooks",
        )
        yield replace(case, args=tuple(map(_with_gradients, case.args)), note="with a model that can be trained")


def _with_gradients(argument: Any) -> Any:
    """Return a copy of a model in which all parameters require gradients. Return other arguments unchanged."""
    return copy_value(argument).requires_grad_(True) if isinstance(argument, nn.Module) else argument


def _in_other_mode(argument: Any) -> Any:
    """Return a copy of a model in the opposite mode, with hooks on its parts. Return other arguments unchanged."""
    if not isinstance(argument, nn.Module):
        return argument
    model = copy_value(argument)
    for part in model.modules():
        part.register_forward_hook(watch_part)
        part.register_forward_pre_hook(watch_part)
    return model.train(not model.training)
