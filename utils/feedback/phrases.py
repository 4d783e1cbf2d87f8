"""How calls, shapes, places and values are put into words."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from utils.feedback.compare import is_number
from utils.feedback.exercise import Case, Exercise, Spec
from utils.feedback.observe import Failure
from utils.feedback.op_trace import NonfiniteOrigin

LONGEST = 80  # characters of a value that is quoted
LAMBDA_MESSAGE = "A lambda has no name to be found by: define a function with `def` and the exercise's name."


def library_answer_message(answer: Any) -> str:
    """Why what comes with Python or torch is no answer; "" of anything else."""
    there = getattr(answer, "__module__", None) in ("builtins", "torch", "torch.nn.functional")
    if not inspect.isbuiltin(answer) and not (there and callable(answer)):
        return ""
    name = getattr(answer, "__name__", "")
    return f"`{name}` comes with Python or torch and is not an answer: pass the function that you wrote."


def call_text(exercise: Exercise, case: Case) -> str:
    """The call as a learner would write it: `get_mask(5)`, `softmax(x, dim=-1) with x of shape [2, 3]`."""
    if exercise.kind == "value":
        return exercise.name
    shown, shapes = [], []
    for name, value in exercise.signature.bind_arguments(case.args, case.kwargs).items():
        if isinstance(value, Tensor) and value.dim():
            shapes.append(f"{name} of shape {shape_text(value.shape)}")
            shown.append(name)
        elif isinstance(value, Tensor):
            shown.append(f"{value.item():.4g}")
        elif value is None or (isinstance(value, (int, float, str, tuple, list)) and len(repr(value)) < 40):
            shown.append(f"{name}={value!r}" if name in case.kwargs else repr(value))
        else:
            shown.append(name)
    made = exercise.name if exercise.kind == "function" else constructor_text(exercise, case)
    with_shapes = f" with {' and '.join(shapes)}" if shapes else ""
    return f"{made}({', '.join(shown)}){with_shapes}{f' ({case.note})' if case.note else ''}"


def constructor_text(exercise: Exercise, case: Case) -> str:
    """How a case builds its object: `CausalAttention(3, 2, 6, 0.0)`."""
    if isinstance(case.init, dict):
        return f"{exercise.name}({', '.join(f'{k}={v!r}' for k, v in case.init.items())})"
    return f"{exercise.name}({', '.join(map(repr, case.init))})"


def inputs_text(exercise: Exercise, case: Case) -> str:
    """A case's tensors: "x of shape [2, 3] and mask of shape [3, 3]"."""
    named = exercise.signature.bind_arguments(case.args, case.kwargs)
    return " and ".join(f"{n} of shape {shape_text(v.shape)}" for n, v in named.items() if isinstance(v, Tensor))


def result_text(exercise: Exercise, case: Case, part: int) -> str:
    """Which result it is about: "The result of get_mask(5)", "`weights` of …"."""
    if exercise.kind == "value":
        return f"`{exercise.name}`"
    if isinstance(exercise.returns, tuple) and exercise.returns[part].name:
        return f"`{exercise.returns[part].name}` of {call_text(exercise, case)}"
    return f"The result of {call_text(exercise, case)}"


def part_text(spec: Spec | None, part: int) -> str:
    """A part of a result by its name, or by its number where it has none."""
    return f"`{spec.name}`" if spec and spec.name else f"part {part}"


def returns_text(exercise: Exercise) -> str:
    """What is to be returned: "(output, weights)"."""
    if not isinstance(exercise.returns, tuple):
        return "what the exercise asks for"
    return "(" + ", ".join(s.name or f"[{', '.join(s.axes)}]" for s in exercise.returns if not s.is_facts) + ")"


# --- shapes and places --------------------------------------------------------------------------------


def shape_text(shape: Iterable[int]) -> str:
    """A shape: "[2, 3]"."""
    return "[" + ", ".join(map(str, shape)) + "]"


def named_shape_text(shape: Sequence[int], spec: Spec | None) -> str:
    """A shape in the axes' names: "[seq = 2, d_out = 3]"."""
    names = axis_names(len(shape), spec)
    if not names:
        return shape_text(shape) if len(shape) else "a single number (shape [])"
    shown = [str(n) if name.startswith("axis ") else f"{name} = {n}" for name, n in zip(names, shape)]
    return f"[{', '.join(shown)}]"


def position_text(index: Sequence[int], spec: Spec | None) -> str:
    """A place in a tensor: "row 1, column 0", "batch 0, seq 1, d_out 2"."""
    if len(index) == 1:
        return f"entry {index[0]}"
    if len(index) == 2:
        return f"row {index[0]}, column {index[1]}"
    names = axis_names(len(index), spec) or [f"axis {i}" for i in range(len(index))]
    return ", ".join(f"{n} at {i}" if n.startswith("axis ") else f"{n} {i}" for n, i in zip(names, index))


def axis_names(count: int, spec: Spec | None) -> list[str]:
    """A name for each of `count` axes; none where the specification has another number of them.

    In a specification `...` stands for any number of axes, and `1` is no name.
    """
    axes = spec.axes if spec else ()
    if axes[:1] == ("...",):
        axes = ("1",) * (count - len(axes) + 1) + axes[1:]
    return [f"axis {i}" if name == "1" else name for i, name in enumerate(axes)] if len(axes) == count else []


# --- values -------------------------------------------------------------------------------------------


def name_list_text(names: Iterable[str], at_most: int = 6) -> str:
    """Names in backticks, the last of many left out: "`a`, `b` and 5 more"."""
    names = list(names)
    more = f" and {len(names) - at_most + 1} more" if len(names) > at_most else ""
    return ", ".join(f"`{n}`" for n in (names[: at_most - 1] if more else names)) + more


def article(noun: str) -> str:
    """The noun with "a" or "an"."""
    return f"{'an' if noun[:1].lower() in 'aeiou' or noun == 'ndarray' else 'a'} {noun}"


def type_text(value: Any) -> str:
    """What a value is: "a tensor", "a tuple of 2", "an int"."""
    if isinstance(value, Tensor):
        return "a tensor" if value.dim() else "a tensor with a single number"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    return "a function" if _is_function(value) else article(type(value).__name__)


def _is_function(value: Any) -> bool:
    """By the name of its type, which is what a grader has of it."""
    return type(value).__name__ in ("function", "method", "builtin_function_or_method")


def type_cause_text(value: Any) -> str:
    """How a value came to be of its kind, as a sentence with a space before it; empty where that is open."""
    if _is_function(value):
        return " Without brackets behind its name a function is not called."
    if isinstance(value, tuple) and len(value) == 1:
        return " A comma at the end of a line makes a tuple."
    return ""


def comparable_type(value: Any) -> type:
    """The type that counts: every tensor is a Tensor, a Counter is a dict, an int will do for a float."""
    if isinstance(value, Tensor):
        return Tensor
    if isinstance(value, dict):
        return dict
    return float if is_number(value) else type(value)


def value_text(value: Any) -> str:
    """A value as Python shows it, cut where it is long."""
    text = repr(value.tolist() if isinstance(value, Tensor) else value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def dtype_name(tensor: Tensor) -> str:
    """A tensor's dtype without "torch."."""
    return str(tensor.dtype).removeprefix("torch.")


def dtype_reason_text(yours: Tensor, expected: Tensor) -> str:
    """Why the type of the numbers matters, as a sentence with a space before it; empty where there is none."""
    if expected.dtype == torch.bool:
        return " `masked_fill` and `~` want True and False."
    if expected.is_floating_point() and yours.is_floating_point():
        return " Keep the type of the input: what changes it does not fit with its neighbours."
    return ""


def actual_parameters_text(yours: dict, extra: list[str]) -> str:
    """What an object has where a parameter is missing: those that should not be there first."""
    if extra:
        return f"it has {name_list_text(extra)} instead"
    if yours:
        return f"it has {name_list_text(yours)}" if len(yours) <= 6 else "it has the others"
    return (
        "it has none: a plain tensor stored on self is not trained, only an nn.Parameter is, or a layer that holds some"
    )


def missing_parameters_text(missing: list[str]) -> str:
    """Why layers in a list may not be found, as a sentence with a space before it; empty for other parameters."""
    if not any(part.isdigit() for name in missing for part in name.split(".")):
        return ""
    return (
        " What stands in a plain list is not found, and one object that stands twice in an nn.ModuleList counts once:"
        " make each layer anew."
    )


def expected_parameters_text(wanted: dict, extra: list[str]) -> str:
    """What is expected where there is a parameter too many."""
    expected = f"Expected are {name_list_text(wanted)}" if wanted else "None is expected"
    if wanted and all("." in name for name in extra):  # a layer too many
        return f"{expected}."
    return (
        f"{expected}: what training must leave alone is no nn.Parameter, and what only moves along is a buffer"
        " (register_buffer)."
    )


def error_summary(failure: Failure) -> str:
    """The first line of an error's text, with a colon before it; empty where it says nothing."""
    lines = failure.text.strip().splitlines()
    return f": {lines[0]}" if lines else ""


def origin_text(origin: NonfiniteOrigin | None, source: str) -> str:
    """What made nan or inf, as sentences with a space before them; empty where nothing is known.

    `source` is the answer's code: it tells what else may be said.
    """
    if origin is None:
        return ""
    place = f" on line {origin.line} (`{origin.code}`)" if origin.line and origin.code else ""
    words = f" It begins{place}: {origin.cause}." if place else f" {origin.cause[0].upper()}{origin.cause[1:]}."
    if "exp(" in source and "tanh" not in source:
        return words + " torch's own softmax takes the largest score of each row away before it takes exp."
    if origin.cause.startswith("0 / 0") and "softmax" in source:
        return words + " What is hidden after a softmax may leave nothing to divide by: hide the scores before it."
    return words
