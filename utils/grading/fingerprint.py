"""What an answer gave, as a short text that is the same for the same wrong numbers.

The same mistake, written in two ways, gives numbers that differ in their last digits. So no number is rounded by
itself, for one of many always lies where rounding goes either way, and one that ought to be 0 is nothing but rounding:
of each tensor two weighted sums are rounded, and by the size of its largest number. The weights are irrational, or
round numbers would lie on the edge.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from utils.feedback.observe import Observation

MOST = 4096  # numbers of a tensor that are looked at
TEXT = 1000  # characters of what is no number
SUMS = 2
STEP = 1e-3  # of the largest number, in which a sum is counted
LEAST, HUGE = 1e-3, 1e100  # what is smaller by far than the one is 0, and from the other on all is alike


def fingerprint_observation(observation: Observation) -> str:
    """The digest of what a run gave: of its failure's type, or of the shapes, types and numbers of its value."""
    if observation.failure:
        return observation.failure.type
    parts = list(_parts(observation.value))
    text = "".join(part for part in parts if isinstance(part, str))[:TEXT]
    numbers = torch.tensor([part for part in parts if isinstance(part, float)], dtype=torch.float64)
    tensors = [numbers, *(part for part in parts if isinstance(part, Tensor))]
    found = [[list(t.shape), str(t.dtype), tensor_summary(t)] for t in tensors]
    return hashlib.sha256(json.dumps([text, found]).encode()).hexdigest()[:16]


def _parts(value: Any) -> Iterator[Tensor | float | str]:
    """The tensors and numbers in a value, and as texts what holds them and what else there is."""
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
    """A few whole numbers that say what a tensor holds: the same for numbers that differ by rounding errors."""
    if tensor.is_meta or not tensor.numel():
        return []
    flat = tensor.detach().flatten()[:MOST]
    flat = (torch.view_as_real(flat).flatten() if flat.is_complex() else flat).double()
    odd = [int(flat.isnan().sum()), int((flat == math.inf).sum()), int((flat == -math.inf).sum())]
    flat = flat.where(flat.abs() < HUGE, 0.0)
    size = 2.0 ** math.frexp(1.37 * max(flat.abs().max().item(), LEAST))[1]  # 1.37, for the largest is often just 1
    places = torch.arange(1, len(flat) + 1, dtype=torch.float64)
    sums = [(flat * torch.cos(math.sqrt(2 + k) * places)).sum().item() / len(flat) ** 0.5 for k in range(SUMS)]
    return [*odd, math.frexp(size)[1], *(round(s / size / STEP) for s in sums)]
