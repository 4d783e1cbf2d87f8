"""Compare intermediate values of an answer with milestones: whether they have the same numbers in any order of axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from utils.feedback.compare import difference_mask
from utils.feedback.observe import is_float

ATOL = 1e-4


class Milestone(NamedTuple):
    """An intermediate value. An optional one may be left out."""

    label: str
    value: Tensor
    is_optional: bool


def is_telling(value: Tensor) -> bool:
    """Tell whether a tensor has enough different numbers that equality with another tensor is no coincidence."""
    if not is_float(value):
        return value.dtype == torch.bool and value.numel() > 3
    finite = value[value.isfinite()]
    return finite.unique().numel() > 2 or (value.numel() <= 2 and bool(((finite != 0) & (finite != 1)).any()))


def same_numbers(a: Tensor, b: Tensor) -> bool:
    """Tell whether two tensors have the same numbers in the same order, up to their shapes."""
    if a.numel() != b.numel() or is_float(a) != is_float(b):
        return False
    return not difference_mask(a.flatten(), b.flatten(), ATOL).any()


def _axis_orders(value: Tensor) -> Iterator[Tensor]:
    """Yield the tensor with its axes in every order."""
    value = value.squeeze()
    orders = itertools.permutations(range(value.dim())) if value.dim() <= 4 else [tuple(range(value.dim()))]
    for order in orders:
        yield value.permute(order)


def is_rearranged(value: Tensor, milestone: Tensor) -> bool:
    """Tell whether a value is a milestone, up to a transpose or a reshape."""
    if value.numel() != milestone.numel() or is_float(value) != is_float(milestone):
        return False
    return any(same_numbers(value, order) for order in _axis_orders(milestone))


def matching_slices(value: Tensor, milestone: Tensor) -> set[tuple[int, int]]:
    """Return the slices (axis, index) of a milestone that a value equals, up to a transpose."""
    if not is_float(value) or not is_float(milestone) or not is_telling(value):
        return set()
    return {
        (axis, i)
        for axis, size in enumerate(milestone.shape)
        if size > 1 and value.numel() * size == milestone.numel()
        for i in range(size)
        if is_rearranged(value, milestone.select(axis, i))
    }


def share_of_equal_numbers(value: Tensor | None, milestone: Tensor) -> float:
    """Return which share of the finite numbers of two tensors of one shape are equal; 0 for other shapes."""
    if value is None or value.shape != milestone.shape or not is_float(value):
        return 0.0
    compared = milestone.isfinite() & (milestone != 0)
    equal = ~difference_mask(value, milestone, ATOL) & compared
    return float(equal.sum() / compared.sum().clamp(min=1))
