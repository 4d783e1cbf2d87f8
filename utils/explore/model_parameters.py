"""Collect a model's parameters by name, and pack them as float32 bytes for the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


def require_parameters(model: Any, shapes: Mapping[str, Sequence[int]], expected: str) -> dict[str, Tensor]:
    """Return the model's parameters in the order of `shapes`.

    Args:
        model: the module that contains the parameters.
        shapes: the names and shapes of all its parameters.
        expected: a description of the expected model, for the error message.

    Raises:
        ValueError: `model` is not a torch module, or the names or shapes of its parameters differ from `shapes`.
    """
    if not isinstance(model, torch.nn.Module):
        raise ValueError(f"model must be {expected}, a torch module; got {type(model).__name__}.")
    own = dict(model.named_parameters())
    for name, shape in shapes.items():
        if name not in own:
            raise ValueError(f"model must be {expected}, with a parameter {name}; got a model without it.")
        actual = list(own[name].shape)
        if actual != list(shape):
            raise ValueError(f"model must be {expected}: its {name} has shape {actual}, expected {list(shape)}.")
    additional = sorted(own.keys() - shapes.keys())
    if additional:
        raise ValueError(f"model must be {expected}; got a model with an additional parameter, {additional[0]}.")
    return {name: own[name] for name in shapes}


def pack_tables(tables: Mapping[str, Tensor]) -> tuple[list[tuple[str, list[int]]], bytes]:
    """Convert tables to shapes and bytes, in the format that `float32Tables` in page.js reads.

    The shapes are a list of pairs, because a saved notebook keeps the order of a list but sorts the keys of a dict.
    """
    arrays = {name: table.detach().float().cpu().contiguous().numpy().astype("<f4") for name, table in tables.items()}
    return [(name, list(array.shape)) for name, array in arrays.items()], b"".join(a.tobytes() for a in arrays.values())
