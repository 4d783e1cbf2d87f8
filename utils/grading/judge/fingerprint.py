"""Compute a short digest of an observation, so that equal wrong results can be grouped.

Two implementations of the same mistake return numbers that differ in their last digits. Rounding each number separately
would not help: among many numbers, some are always close to a rounding boundary, and a number that should be 0 consists
only of rounding error. Therefore two weighted sums are computed from each tensor. The sums are rounded with a step
that is relative to the largest number of the tensor. The weights are irrational. With rational weights, sums of round
numbers could lie exactly on rounding boundaries.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from utils.exercises.observe import Observation

MOST = 4096  # maximum number of elements used from a tensor
TEXT = 1000  # maximum length of the text that describes everything except numbers
SUMS = 2  # number of weighted sums of each tensor
STEP = 1e-3  # the rounding step of a sum, relative to the largest number
LEAST, HUGE = 1e-3, 1e100  # the smallest scale for rounding; numbers of magnitude HUGE or more count as 0


def fingerprint_observation(observation: Observation) -> str:
    """Return a digest of a result's shapes, dtypes and numbers. If the run failed, return the type of its exception."""
    if observation.failure:
        return observation.failure.type
    parts = list(_parts(observation.value))
    text = "".join(part for part in parts if isinstance(part, str))[:TEXT]
    numbers = torch.tensor([part for part in parts if isinstance(part, float)], dtype=torch.float64)
    tensors = [numbers, *(part for part in parts if isinstance(part, Tensor))]
    summaries = [[list(t.shape), str(t.dtype), tensor_summary(t)] for t in tensors]
    return hashlib.sha256(json.dumps([text, summaries]).encode()).hexdigest()[:16]


def _parts(value: Any) -> Iterator[Tensor | float | str]:
    """Yield the tensors and floats in a value, and a string for each container and each other object."""
    if isinstance(value, (Tensor, float)):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        yield f"{type(value).__name__}("
        for part in [part for pair in value.items() for part in pair] if isinstance(value, dict) else value:
            yield from _parts(part)
        yield ")"
    else:
        yield repr(value) + ","


def tensor_summary(tensor: Tensor) -> list[int]:
    """Summarise a tensor as a few integers that rounding errors do not change."""
    if tensor.is_meta or not tensor.numel():
        return []
    flat = tensor.detach().flatten()[:MOST]
    flat = (torch.view_as_real(flat).flatten() if flat.is_complex() else flat).double()
    odd = [int(flat.isnan().sum()), int((flat == math.inf).sum()), int((flat == -math.inf).sum())]
    flat = flat.where(flat.abs() < HUGE, 0.0)
    # The largest number is often exactly 1. The factor 1.37 moves it away from a power of two.
    size = 2.0 ** math.frexp(1.37 * max(flat.abs().max().item(), LEAST))[1]
    places = torch.arange(1, len(flat) + 1, dtype=torch.float64)
    sums = [(flat * torch.cos(math.sqrt(2 + k) * places)).sum().item() / len(flat) ** 0.5 for k in range(SUMS)]
    return [*odd, math.frexp(size)[1], *(round(s / size / STEP) for s in sums)]
