"""Find the number or the axis in a learner's code that explains a wrong size."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from utils.exercises.observe import Failure, collect_tensors
from utils.exercises.probe import Probe, Trial
from utils.feedback.failing_line import parse_source
from utils.feedback.phrases import inputs_text

_AXIS_CALLS = {"transpose", "permute", "swapaxes", "movedim", "unsqueeze", "squeeze", "softmax", "sum", "mean", "size"}
_INDEX_ERROR = re.compile(r"index -?\d+ is out of bounds for dimension \d+ with size (\d+)")


# --- hard-coded sizes ----------------------------------------------------------------------------------


def hard_coded_size_hint(probe: Probe, failed_trial: Trial) -> str:
    """Ask about a number in the code if it is also a size in the error and a size in a successful case.

    Returns a sentence with a leading space, or "" if no number in the code can be the cause of the error.
    """
    failure = failed_trial.yours.failure
    if failure is None or "Dimension out of range" in failure.text:
        return ""
    sizes, limits = _literals(probe.runner.inspect_code().source)
    if match := _INDEX_ERROR.search(failure.text):
        size = int(match[1])
        in_error = sizes & {size} | {n for n in limits if n > size}
    else:
        in_error = (sizes | limits) & {int(n) for n in re.findall(r"(?<![-\w.])\d+(?![\w.])", failure.text)}
    candidates = in_error - _sizes(probe, failed_trial)
    for trial in probe.trials:
        matching = _sizes(probe, trial) & candidates
        shown = inputs_text(probe.exercise, trial.case)
        if trial.yours.failure is None and matching and shown:
            return (
                f" It does run for {shown}: is the {min(matching)} in your code a size that should come from the input?"
            )
    return ""


def has_hard_coded_size(source: str, shape: Sequence[int]) -> bool:
    """Tell whether one of the sizes above 2 in `shape` is hard-coded in the source."""
    return bool({n for n in shape if n > 2} & _literals(source)[0])


def _literals(source: str) -> tuple[set[int], set[int]]:
    """Collect the integers above 2 in the code, in two sets: possible sizes, and limits of `range` calls.

    Factors (as in `4 * d`), axis numbers and default values are left out.
    """
    tree = parse_source(source)
    sizes, limits = set(), set()
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)} if tree else {}
    for node in parents:
        if not isinstance(node, ast.Constant) or type(node.value) is not int or node.value <= 2:
            continue
        parent, called = parents[node], ""
        while isinstance(parent, (ast.Tuple, ast.List)):
            parent = parents[parent]
        if isinstance(parent, ast.Call):
            called = ast.unparse(parent.func).rpartition(".")[2]
        is_axis = isinstance(parent, ast.keyword) and parent.arg in ("dim", "axis", "dims", "decimals")
        if called in ("range", "arange"):
            limits.add(node.value)
        elif (
            not is_axis
            and called not in _AXIS_CALLS
            and not isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.arguments, ast.Subscript))
        ):
            sizes.add(node.value)
    return sizes, limits


def _sizes(probe: Probe, trial: Trial) -> set[int]:
    """Return the sizes in a case: those of its tensors, and all integer arguments."""
    init = trial.case.init
    plain = [*probe.bind_arguments(trial.case).values(), *(init.values() if isinstance(init, dict) else init)]
    tensors = collect_tensors([*probe.bind_arguments(trial.case).values()])
    return {n for t in tensors for n in t.shape} | {n for n in plain if type(n) is int}


# --- a fixed axis -----------------------------------------------------------------------------------------


def fixed_axis_hint(probe: Probe, reported: Trial) -> str:
    """Ask whether a size in the code, such as `len(x)`, should be another size, if this explains every wrong shape.

    `len(x)` is the size of axis 0 of x. In each failing case, the wrong size must equal the size of this axis, and the
    expected size must equal the size of another axis of x. If the wrong size is the same in all failing cases, it must
    also change when the axis gets longer.

    Returns "" or a sentence with a leading space that names the sizes in the reported trial.
    """
    mismatches = [(trial, pair) for trial in probe.trials if (pair := _mismatch(probe, trial))]
    if reported not in [trial for trial, _ in mismatches]:
        return ""
    source = probe.runner.inspect_code().source
    for text, name, axis in _size_expressions(source):
        if re.search(rf"\b{name}\.(shape|size)\S*\s*[<>]=?\s*{name}\.(shape|size)", source):
            continue  # the code compares two sizes of this argument
        others = [_other_axis(probe, trial, name, axis, pair) for trial, pair in mismatches]
        if None in others or len(set(others)) > 1:
            continue
        wrong_sizes = {probe.bind_arguments(trial.case)[name].shape[axis] for trial, _ in mismatches}
        if len(wrong_sizes) > 1 or _follows_axis(probe, reported, name, axis):
            shape, other = probe.bind_arguments(reported.case)[name].shape, others[0] or 0
            return (
                f" `{text}` is the size of axis {axis} of `{name}` ({shape[axis]} here): should it be the size of axis"
                f" {other} ({shape[other]} here)?"
            )
    return ""


def _mismatch(probe: Probe, trial: Trial) -> set[int] | None:
    """Return two sizes that should be equal.

    They come from torch's error, or from the only wrong axis of the result.
    """
    if trial.yours.failure:
        return None if trial.expected.failure else _sizes_in_error(trial.yours.failure)
    for part in probe.result_parts(trial):
        yours, expected = part.yours.shape, part.expected.shape
        pairs = {(a, b) for a, b in zip(yours, expected) if a != b}
        if len(yours) == len(expected) and len(pairs) == 1:
            return set(*pairs)
    return None


def _sizes_in_error(failure: Failure | None) -> set[int] | None:
    pattern = r"size of (?:the )?tensor (?:a )?\((\d+)\) must match the (?:existing )?size.*?\((\d+)\)"
    match = failure and re.search(pattern, failure.text)
    return {int(match[1]), int(match[2])} if match else None


def _follows_axis(probe: Probe, trial: Trial, name: str, axis: int) -> bool:
    """Make `axis` of the argument `name` longer, and tell whether a size in the error grows with it."""
    value = probe.bind_arguments(trial.case)[name]
    size, before = value.shape[axis], _sizes_in_error(trial.yours.failure)
    if not size or not before:
        return False
    new_size = size + 1 if size + 1 not in before else size + 2  # if the sizes became equal, there would be no error
    longer = torch.cat([value] * 3, axis).narrow(axis, 0, new_size)
    args = tuple(longer if arg is value else arg for arg in trial.case.args)
    if all(arg is not longer for arg in args):
        return False
    after = _sizes_in_error(probe.run(replace(trial.case, args=args)).failure)
    return after == before - {size} | {new_size}


def _size_expressions(source: str) -> Iterator[tuple[str, str, int]]:
    """Yield (text, argument, axis) for each `len(x)`, `x.shape[0]` and `x.size(0)` in the code."""
    tree = parse_source(source)
    for node in ast.walk(tree) if tree else ():
        match = re.fullmatch(r"len\((\w+)\)|(\w+)\.(?:shape\[(\d)\]|size\((\d)\))", ast.unparse(node))
        if match:
            yield match[0], match[1] or match[2], int(match[3] or match[4] or 0)


def _other_axis(probe: Probe, trial: Trial, name: str, axis: int, pair: set[int]) -> int | None:
    """Return the axis of the argument that has the expected size.

    Return None if there is not exactly one such axis, or if `axis` does not have the wrong size.
    """
    value = probe.bind_arguments(trial.case).get(name)
    if not isinstance(value, Tensor) or axis >= value.dim():
        return None
    shape = list(value.shape)
    rest = pair - {shape[axis]}
    if len(rest) != 1 or shape.count(shape[axis]) > 1 or shape.count(right := min(rest)) != 1:
        return None
    return shape.index(right)


def constant_axis_hint(probe: Probe) -> str:
    """Explain that an axis such as `dim=1` is the last axis of some inputs, but not of others.

    The hint applies only if the answer is correct in every case where this axis is the last axis of the first tensor,
    and wrong in every other case.

    Returns a sentence with a leading space, or "".
    """
    by_dims: dict[int, set[bool]] = {}
    first = ""
    for trial in probe.trials:
        tensors = {name: v for name, v in probe.bind_arguments(trial.case).items() if isinstance(v, Tensor)}
        if not tensors or next(iter(tensors)) != (first or next(iter(tensors))):
            return ""
        first = next(iter(tensors))
        by_dims.setdefault(tensors[first].dim(), set()).add(trial.is_correct(probe.exercise))
    right = [dims for dims, verdicts in by_dims.items() if verdicts == {True}]
    if len(right) != 1 or len(by_dims) < 2 or any(len(verdicts) > 1 for verdicts in by_dims.values()):
        return ""
    axis = right[0] - 1
    match = re.search(
        rf"\b(?:dim|axis)\s*=\s*{axis}\b|\.(?:softmax|sum|mean|argmax|cumsum)\({axis}\)",
        probe.runner.inspect_code().source,
    )
    if axis < 1 or not match:
        return ""
    return (
        f" Your code is right for each tested `{first}` with {axis + 1} axes, and wrong whenever `{first}` has a"
        f" different number of axes: axis {axis} (`{match[0].lstrip('.')}`) is the last axis only if the tensor has"
        f" {axis + 1} axes."
    )
