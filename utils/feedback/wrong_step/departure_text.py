"""Describe the milestones that an answer reaches, for a report on its first wrong step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from utils.exercises.compare import difference_mask
from utils.exercises.observe import is_float
from utils.feedback.phrases import operation_text
from utils.feedback.report import TraceLine
from utils.feedback.wrong_step.computation import Computation
from utils.feedback.wrong_step.milestones import has_same_axes

MOST_NOTES = 4  # the maximum number of values that a report names for one line
MOST_LINES = 12  # the maximum number of lines that a report quotes


@dataclass(frozen=True)
class Departure:
    """The step at which a computation departs from the expected computation.

    Attributes:
        sentence: says what is correct and what is not.
        lines: the lines of the answer that compute something, with their milestones.
        yours, expected: the wrong intermediate value and the milestone that should follow, or None.
        name: the milestone that should follow, or None.
        furthest: the last required milestone that a line gives, or None.
        is_vague: whether the sentence only says that a value is missing, and no line gives another expected value.
    """

    sentence: str
    lines: list[TraceLine] = field(default_factory=list)
    yours: Tensor | None = None
    expected: Tensor | None = None
    name: str | None = None
    furthest: str | None = None
    is_vague: bool = False


def label_text(computation: Computation, i: int) -> str:
    """Name the milestone that a call reaches."""
    k, kind = computation.reached[i], computation.kinds[i]
    label = "" if k is None else computation.milestones[k].label
    return f"{label}, transposed" if kind == "transposed" else label


def operation_name(computation: Computation, i: int) -> str:
    """Name the operation of a call, or the layer or function that makes the call."""
    call = computation.calls[i]
    return operation_text(call.name) if call.is_direct else f"`{call.function}`" if call.function else "a function"


def line_text(computation: Computation, i: int, with_operation: bool = False) -> str:
    """Name the line of a call, such as "line 3 (`y = x + 1`)"."""
    text = f"line {computation.calls[i].line} (`{computation.calls[i].code}`)"
    return f"{operation_name(computation, i)} on {text}" if with_operation else text


def region_text(computation: Computation, first: int, last: int, follows: bool) -> str:
    """Name the lines or operations between two calls.

    `follows` tells whether the previous sentence names the same line.
    """
    calls, line, operation = computation.calls, partial(line_text, computation), operation_name(computation, last)
    goes_on = computation.continues_on_its_line(last)
    if calls[first].line != calls[last].line:
        return f"the computation from {line(first)} to {line(last, goes_on)}"
    if first != last and not computation.is_one_function(first, last):
        if follows:
            steps = f"from there to {operation}" if goes_on else "after that"
            return f"the steps {steps} on the same line"
        return f"the computation up to {line(last, True)}" if goes_on else line(last)
    if follows:
        return f"{operation} on the same line"
    return line(last, goes_on or (calls[last].is_direct and computation.has_other_steps(last)))


def source_text(computation: Computation, source: int, k: int) -> tuple[str, str]:
    """Return two texts, such as "Line 3 gives the scores" and ", as it should".

    The second text is "" if it is uncertain whether the value is right.
    """
    where = line_text(computation, source, computation.continues_on_its_line(source))
    start, milestone = f"{where} gives {label_text(computation, source)}", computation.milestones[k]
    is_arranged = has_same_axes(computation.calls[source].value, milestone.value)
    is_sure = computation.kinds[source] == "same" and is_arranged and not milestone.is_optional
    return sentence_case(start), ", as it should" if is_sure else ""


def trace_lines(computation: Computation, wrong_line: int | None, expected: str | None) -> list[TraceLine]:
    """Return the lines that compute something. A milestone is noted only on the first line that reaches it."""
    first_line: dict[int, int] = {}
    notes: dict[int, list[str]] = {}
    code = {call.line: call.code for call in computation.calls}
    # Another function that a line calls may compute more values than it returns. Only returned values are noted.
    calls = computation.calls
    given = {j for call, used in zip(calls, computation.inputs) for j in used if calls[j].line != call.line}
    sure: set[int] = set()  # lines that give a required value; optional values prove little
    for i, call in enumerate(computation.calls):
        k, line_notes = computation.reached[i], notes.setdefault(call.line, [])
        if k is not None and not computation.milestones[k].is_optional and computation.kinds[i] == "same":
            sure.add(call.line)
        if (
            k is not None
            and (call.is_direct or i in given or call is computation.calls[-1])
            and first_line.setdefault(k, call.line) == call.line
            and label_text(computation, i) not in line_notes
        ):
            line_notes.append(label_text(computation, i))
    sure -= {call.line for i, call in enumerate(computation.calls) if not computation.is_right(i)}
    if wrong_line is not None and expected:
        notes[wrong_line].append(f"does not give {expected}")
    lines = [
        TraceLine(
            n,
            code[n],
            ", ".join(notes[n][-MOST_NOTES:]),
            "wrong" if n == wrong_line else "right" if n in sure else "",
        )
        for n in sorted(notes)
    ]
    at = next((i for i, line in enumerate(lines) if line.line == wrong_line), 0)
    start = max(0, min(at - MOST_LINES // 2, len(lines) - MOST_LINES))
    return lines[start : start + MOST_LINES]


def other_value_text(value: Tensor | None, expected: Tensor, atol: float) -> str:
    """Describe a wrong value. If it has the expected shape, name a constant factor, or say whether a part is right."""
    if value is None or value.shape != expected.shape or not is_float(value):
        return "a different result"
    if factor := constant_factor(value, expected):
        return f"{factor:.4g} times these numbers"
    # A count would be confusing, because this case may be larger than the case that the message describes.
    all_differ = bool(difference_mask(value, expected, atol).all())
    return "different numbers" if all_differ else "a result in which only some of the numbers are right"


def constant_factor(value: Tensor, expected: Tensor) -> float | None:
    """Return the factor if a tensor is a multiple of another tensor of its shape, else None.

    At least two numbers must be different from 0. An infinite number must be infinite in both.
    """
    yours, right = (tensor.detach().cpu().double() for tensor in (value, expected))
    finite = right.isfinite()
    if not torch.equal(yours[~finite], right[~finite]) or not yours[finite].isfinite().all():
        return None
    yours, right = yours[finite], right[finite]
    if int((right.abs() > 1e-3).sum()) < 2:
        return None
    factor = float(yours @ right / (right @ right))
    is_other = abs(factor) > 1e-3 and abs(factor - 1) > 1e-3
    return factor if is_other and torch.allclose(yours, factor * right, rtol=1e-3, atol=1e-6) else None


def list_text(labels: Sequence[str]) -> str:
    """Join labels with commas and "and"."""
    return " and ".join(filter(None, (", ".join(labels[:-1]), labels[-1])))


def sentence_case(text: str) -> str:
    """Begin a text with a capital letter."""
    return text[0].upper() + text[1:]
