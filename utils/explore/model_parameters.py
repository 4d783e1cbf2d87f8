"""A model's parameters on their way into a page: taken by their names, and sent once as float32 bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


def require_parameters(model: Any, shapes: Mapping[str, Sequence[int]], what: str) -> dict[str, Tensor]:
    """The parameters of the given names and shapes, in their order.

    Raises:
        ValueError: `model` is no torch module, or has another parameter or shape; `what` says which model is expected.
    """
    if not isinstance(model, torch.nn.Module):
        raise ValueError(f"model must be {what}, a torch module; got {type(model).__name__}.")
    own = dict(model.named_parameters())
    for name, shape in shapes.items():
        found = list(own[name].shape) if name in own else "missing"
        if found != list(shape):
            raise ValueError(
                f"model must be {what}, with a parameter {name} of the shape {list(shape)}; it is {found}."
            )
    strange = sorted(own.keys() - shapes.keys())
    if strange:
        raise ValueError(f"model must be {what}; this one has a parameter {strange[0]}, which that does not have.")
    return {name: own[name] for name in shapes}


def pack_tables(tables: Mapping[str, Tensor]) -> tuple[list[tuple[str, list[int]]], bytes]:
    """The shapes and the bytes that `float32Tables` of page.js reads.

    The shapes are pairs, for a saved notebook keeps the order of a list, and sorts the keys of a dict.
    """
    arrays = {name: table.detach().float().cpu().contiguous().numpy().astype("<f4") for name, table in tables.items()}
    return [(name, list(array.shape)) for name, array in arrays.items()], b"".join(a.tobytes() for a in arrays.values())
