"""Describe how a wrong shape differs from the expected shape: an axis too many, a missing axis, a wrong size."""

from __future__ import annotations

from collections.abc import Sequence

from utils.exercises.exercise import Spec
from utils.feedback.phrases import axis_names

_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def shape_relation_text(yours: Sequence[int], expected: Sequence[int], spec: Spec | None) -> str:
    """Return the difference between two shapes in a sentence with a leading space, or "" if it is not simple."""
    names = _names(len(expected), spec)
    if len(yours) == len(expected) + 1:
        extra = next((i for i in range(len(yours)) if [*yours[:i], *yours[i + 1 :]] == list(expected)), None)
        if extra is not None:
            size = f"size {yours[extra]}"
            advice = " Does `keepdim`, `unsqueeze` or a slice add it?" if yours[extra] == 1 else ""
            return f" It has one axis too many: its {_ORDINALS[extra]} axis, of {size}.{advice}"
    if len(yours) == len(expected) - 1:
        missing = next((i for i in range(len(expected)) if [*expected[:i], *expected[i + 1 :]] == list(yours)), None)
        if missing is not None:
            advice = (
                " Does `squeeze`, an index or a sum remove it?"
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


def _names(count: int, spec: Spec | None) -> list[str]:
    names = axis_names(count, spec) or [f"axis {i}" for i in range(count)]
    return [
        f"The {_ORDINALS[i]} axis" if name.startswith("axis ") else f"The axis `{name}`" for i, name in enumerate(names)
    ]


def _wrong_size_text(size: int, expected: Sequence[int], axis: int, names: Sequence[str]) -> str:
    """Describe one wrong size: by how much it differs, or which other size it equals."""
    right = expected[axis]
    if abs(size - right) == 1:
        return f" {names[axis]} has one entry too {'many' if size > right else 'few'}."
    if size == 1:
        return f" {names[axis]} has a single entry: is something computed once instead of for each entry?"
    if right and size % right == 0:
        return f" {names[axis]} is {size // right} times as long as it should be."
    return f" Only the size of {names[axis][0].lower()}{names[axis][1:]} is wrong."
