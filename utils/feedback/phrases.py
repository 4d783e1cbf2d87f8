"""Turn calls, shapes, positions and values into text for messages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from utils.exercises.case_changes import argument_values, setting_values
from utils.exercises.compare import is_number
from utils.exercises.exercise import Case, Exercise, Spec
from utils.exercises.observe import Failure
from utils.exercises.op_trace import CAUSES_IN_SOFTMAX, CAUSES_OF_INF, NonfiniteOrigin

MOST_CHARACTERS = 80  # in characters; longer values are truncated
LAMBDA_MESSAGE = (
    "A lambda has no name, so its exercise is unknown: use `def` to define a function that has the exercise's name."
)


def library_answer_message(answer: Any) -> str:
    """Return a message if the answer is a function of Python or torch, not of the learner; otherwise return ""."""
    is_library = getattr(answer, "__module__", None) in ("builtins", "torch", "torch.nn.functional")
    if not inspect.isbuiltin(answer) and not (is_library and callable(answer)):
        return ""
    name = getattr(answer, "__name__", "")
    return f"`{name}` is part of Python or torch, not your answer: pass the function that you wrote."


def call_text(exercise: Exercise, case: Case) -> str:
    """Write a call as a learner would: "get_mask(5)", "softmax(x, dim=-1) with x of shape [2, 3]"."""
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
    callee = exercise.name if exercise.kind == "function" else constructor_text(exercise, case)
    with_shapes = f" with {' and '.join(shapes)}" if shapes else ""
    return f"{callee}({', '.join(shown)}){with_shapes}{f' ({case.note})' if case.note else ''}"


def constructor_text(exercise: Exercise, case: Case) -> str:
    """Write the call that builds a case's object: "CausalAttention(3, 2, 6, 0.0)"."""
    if isinstance(case.init, dict):
        return f"{exercise.name}({', '.join(f'{k}={v!r}' for k, v in case.init.items())})"
    return f"{exercise.name}({', '.join(map(repr, case.init))})"


def inputs_text(exercise: Exercise, case: Case) -> str:
    """List the tensors of a case: "x of shape [2, 3] and mask of shape [3, 3]"."""
    named = exercise.signature.bind_arguments(case.args, case.kwargs)
    return " and ".join(f"{n} of shape {shape_text(v.shape)}" for n, v in named.items() if isinstance(v, Tensor))


def result_text(exercise: Exercise, case: Case, part: int) -> str:
    """Name a result, or one part of it: "The result of get_mask(5)", "`weights` of …"."""
    if exercise.kind == "value":
        return f"`{exercise.name}`"
    if isinstance(exercise.returns, tuple) and exercise.returns[part].name:
        return f"`{exercise.returns[part].name}` of {call_text(exercise, case)}"
    return f"The result of {call_text(exercise, case)}"


def part_text(spec: Spec | None, part: int) -> str:
    """Name a part of a result, by its number if it has no name."""
    return f"`{spec.name}`" if spec and spec.name else f"part {part}"


def returns_text(exercise: Exercise) -> str:
    """List what an answer should return: "(output, weights)"."""
    if not isinstance(exercise.returns, tuple):
        return "what the exercise asks for"
    return "(" + ", ".join(s.name or f"[{', '.join(s.axes)}]" for s in exercise.returns if not s.is_facts) + ")"


# --- shapes and positions -----------------------------------------------------------------------------


def shape_text(shape: Iterable[int]) -> str:
    """Write a shape: "[2, 3]"."""
    return "[" + ", ".join(map(str, shape)) + "]"


def named_shape_text(shape: Sequence[int], spec: Spec | None) -> str:
    """Write a shape with the names of its axes: "[seq = 2, d_out = 3]"."""
    names = axis_names(len(shape), spec)
    if not names:
        return shape_text(shape) if len(shape) else "a single number (shape [])"
    shown = [str(n) if name.startswith("axis ") else f"{name} = {n}" for name, n in zip(names, shape)]
    return f"[{', '.join(shown)}]"


def position_text(index: Sequence[int], spec: Spec | None) -> str:
    """Format a position in a tensor: "row 1, column 0", "batch 0, seq 1, d_out 2", "index [0, 1, 2]"."""
    if len(index) == 1:
        return f"entry {index[0]}"
    if len(index) == 2:
        return f"row {index[0]}, column {index[1]}"
    names = axis_names(len(index), spec)
    if not names or any(name.startswith("axis ") for name in names):
        return f"index {list(index)}"
    return ", ".join(f"{name} {i}" for name, i in zip(entry_names(names), index))


def entry_names(axes: Sequence[str]) -> tuple[str, ...]:
    """Return what a single entry along each of these axes is called: "head" for the axis "n_heads"."""
    return tuple(
        {"heads": "head", "n_heads": "head", "num_heads": "head", "n": "item"}.get(axis, axis) for axis in axes
    )


def axis_names(count: int, spec: Spec | None) -> list[str]:
    """Return a name for each of `count` axes, or an empty list if the specification has a different number of axes.

    In a specification, `...` stands for any number of axes, and `1` marks an axis without a name.
    """
    axes = spec.axes if spec else ()
    if axes[:1] == ("...",):
        axes = ("1",) * (count - len(axes) + 1) + axes[1:]
    return [f"axis {i}" if name == "1" else name for i, name in enumerate(axes)] if len(axes) == count else []


# --- values -------------------------------------------------------------------------------------------


def name_list_text(names: Iterable[str]) -> str:
    """List names in backticks, at most six of them: "`a`, `b` and 5 more"."""
    names = list(names)
    more = f" and {len(names) - 5} more" if len(names) > 6 else ""
    return ", ".join(f"`{n}`" for n in (names[:5] if more else names)) + more


def kept_text(names: Sequence[str]) -> str:
    """Name the variables in which an answer keeps values between calls, in a sentence with a leading space."""
    return f" Your code keeps values from call to call in {name_list_text(names)}." if names else ""


def article(noun: str) -> str:
    """Put "a" or "an" before a noun."""
    return f"{'an' if noun[:1].lower() in 'aeiou' or noun == 'ndarray' else 'a'} {noun}"


def type_text(value: Any) -> str:
    """Describe the type of a value: "a tensor", "a tuple of 2 items", "an int"."""
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return "a tensor" if value.dim() else "a tensor with a single number"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)} item{'s' * (len(value) != 1)}"
    return "a function" if _is_function(value) else article(type(value).__name__)


def _is_function(value: Any) -> bool:
    # If a result is a function, the grader receives only the name of its type.
    return type(value).__name__ in ("function", "method", "builtin_function_or_method")


def type_cause_text(value: Any) -> str:
    """Return the likely cause of an unexpected type in a sentence with a leading space; "" if the cause is unknown."""
    if _is_function(value):
        return " To call a function, write parentheses after its name."
    if isinstance(value, tuple) and len(value) == 1:
        return " A comma at the end of a line makes a tuple."
    return ""


def comparable_type(value: Any) -> type:
    """Return the type to use in comparisons: Tensor for any tensor, dict for a Counter, and float for an int."""
    if isinstance(value, Tensor):
        return Tensor
    if isinstance(value, dict):
        return dict
    return float if is_number(value) else type(value)


def value_text(value: Any) -> str:
    """Return the repr of a value, truncated to `MOST_CHARACTERS` characters."""
    text = repr(value.tolist() if isinstance(value, Tensor) else value)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


def dtype_name(tensor: Tensor) -> str:
    """Return the name of a tensor's dtype without "torch."."""
    return str(tensor.dtype).removeprefix("torch.")


def dtype_reason_text(yours: Tensor, expected: Tensor, input_dtypes: Collection[torch.dtype]) -> str:
    """Explain why the dtype matters, in a sentence with a leading space; "" if there is nothing to explain.

    `input_dtypes` are the dtypes of the floating-point inputs.
    """
    if expected.dtype == torch.bool:
        return " `masked_fill` needs a boolean tensor, and `~` inverts only a boolean tensor."
    if expected.dtype in input_dtypes and yours.is_floating_point():
        return " Keep the dtype of the input; otherwise, the next layer gets numbers of the wrong dtype."
    return ""


def actual_parameters_text(yours: dict, extra: list[str]) -> str:
    """Describe the parameters of an object that lacks an expected parameter.

    Name its unexpected parameters. If it has none, name all its parameters.
    """
    if extra:
        return f"it has {name_list_text(extra)} instead"
    if yours:
        return f"it has {name_list_text(yours)}" if len(yours) <= 6 else "it has all the other expected parameters"
    return "it has no parameters at all: training changes only an nn.Parameter or a layer on self, not a plain tensor"


def missing_parameters_text(missing: list[str], yours: Collection[str], expected: Collection[str]) -> str:
    """Explain why torch may not find the layers in a list, in a sentence with a leading space.

    Return "" if the object has an unexpected parameter, or if no layer in a list has lost all its parameters.
    """
    if not set(yours) <= set(expected):
        return ""
    items = {match[0] for name in missing if (match := re.match(r".*?\.\d+\.", name))}
    if not any(all(not name.startswith(item) for name in yours) for item in items):
        return ""
    return (
        " torch ignores layers in a plain list, and counts a layer only once even if an nn.ModuleList contains it"
        " twice: use an nn.ModuleList, and create each layer separately."
    )


def expected_parameters_text(expected: dict, extra: list[str]) -> str:
    """Name the expected parameters of a module that has the unexpected parameters `extra`.

    Suggest a buffer, unless the unexpected parameters belong to an additional layer.
    """
    listed = f"It should have only {name_list_text(expected)}" if expected else "It should have none"
    if expected and all("." in name for name in extra):  # a dotted name belongs to an additional layer
        return f"{listed}."
    return f"{listed}: a tensor that is not trained should be a buffer (register_buffer), not an nn.Parameter."


def error_summary(failure: Failure) -> str:
    """Return a colon and the first line of an error's text; "" if the error has no text."""
    lines = failure.text.strip().splitlines()
    return f": {lines[0]}" if lines else ""


def origin_text(origin: NonfiniteOrigin | None, source: str) -> str:
    """Explain where nan or inf comes from, in sentences with a leading space; "" if the origin is unknown.

    `source`, the answer's code, decides whether a remark about softmax is added.
    """
    if origin is None:
        return ""
    place = f"line {origin.line} (`{origin.code}`)" if origin.line and origin.code else ""
    kind = "inf" if origin.cause in CAUSES_OF_INF else "nan"
    cause = f"{origin.cause[0].upper()}{origin.cause[1:]}"
    text = f" The first {kind} appears on {place}: {origin.cause}." if place else f" {cause}."
    if "exp(" in source and "sum(" in source and origin.cause in CAUSES_IN_SOFTMAX:
        return text + " torch's own softmax subtracts the largest score of each row before it takes exp."
    if origin.cause.startswith("0 / 0") and "softmax" in source and "mask" in source:
        return text + " A mask or dropout after the softmax can leave rows that sum to 0."
    return text


_OPERATIONS = {
    "matmul": "the matrix product", "mm": "the matrix product", "bmm": "the matrix product",
    "rmatmul": "the matrix product", "linear": "the linear layer",
    "div": "the division", "truediv": "the division", "rdiv": "the division", "rtruediv": "the division",
    "mul": "the multiplication", "rmul": "the multiplication", "add": "the addition", "radd": "the addition",
    "sub": "the subtraction", "rsub": "the subtraction", "pow": "the power", "rpow": "the power",
    "neg": "the minus sign", "getitem": "the indexing", "setitem": "the assignment",
}  # fmt: skip


def operation_text(name: str) -> str:
    """Name a torch function as an engineer would: "the division", or "`softmax`"."""
    name = name.strip("_")
    return _OPERATIONS.get(name) or _OPERATIONS.get(name.removeprefix("i")) or f"`{name}`"


def change_text(exercise: Exercise, before: Case, after: Case) -> str:
    """Name the arguments that differ between two calls, as in "`eps` is 0.0 instead of 1e-06"."""
    values = [{**setting_values(exercise, case), **argument_values(exercise, case)} for case in (before, after)]
    changes = []
    for name in dict.fromkeys([*values[0], *values[1]]):
        old, new = (v.get(name) for v in values)
        if isinstance(old, Tensor) and isinstance(new, Tensor):
            if old.shape != new.shape:
                changes.append(f"`{name}` has the shape {shape_text(new.shape)} instead of {shape_text(old.shape)}")
        elif isinstance(old, Tensor) and new is None:
            changes.append(f"`{name}` is not passed")
        elif isinstance(new, _PLAIN) and type(old) is type(new) and old != new:
            changes.append(f"`{name}` is {value_text(new)} instead of {value_text(old)}")
    if after.note and after.note != before.note:
        changes.append(f"it runs {after.note}" if after.note.split()[0] in ("with", "in") else after.note)
    return " and ".join(changes)


_PLAIN = (bool, int, float, str)
