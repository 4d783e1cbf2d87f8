"""A box to type three letters into: the sorter writes its answer, and shows how."""

from __future__ import annotations

from typing import Any

import torch

from utils.explore.model_parameters import pack_tables, require_parameters
from utils.explore.widget import make_widget
from utils.models import abc_sorter as sorting

WHAT = "lesson 09's Sorter around a DeepQKVAttention"
NORMS = ("norm1", "norm2", "final_norm")


def sorter(model: Any, letters: str = "cab") -> Any:
    """Type three letters; see them sorted one by one, with the probabilities and where each head looked; switch heads
    off.

    The page computes it from the model's parameters. The static twin is `show.trace(sorting.trace(model, letters))`.
    In a terminal, `python -m utils.models.abc_sorter` asks for letters.

    Args:
        model: a trained `utils.models.abc_sorter.Sorter` around lesson 09's `DeepQKVAttention`, the learner's own
            or the course's; its parameters are taken by their names.
        letters: what the box holds at first.

    Returns:
        A widget whose `state` has `letters`, and `head_0`, `head_1`, …: whether what a head finds is passed on.

    Raises:
        ValueError: the letters are not three of a, b, c; or the model lacks a parameter, or has one more.
    """
    sorting.encode(letters)
    parameters = require_parameters(model, _shapes(model), WHAT)
    sequences = sorting.all_sequences()[:, :-1]
    with torch.no_grad():
        sample = model(sequences.to(next(model.parameters()).device))
    shapes, data = pack_tables({**parameters, "sample": sample})
    heads = len(parameters["attention.qA"])
    start = {
        "shapes": shapes,
        "heads": heads,
        "temp": float(getattr(model.attention, "temp", 1.0)),
        "eps": {name: float(getattr(model, name).eps) for name in NORMS},
        "vocab": list(sorting.VOCAB),
        "sequences": sequences.tolist(),
    }
    words = (
        "Explorer: type three of the letters a, b, c; the sorter writes its answer, and shows where each head looks."
    )
    state = {"letters": letters, **{f"head_{i}": True for i in range(heads)}}
    return make_widget("abc_sorter", words, start, state, data)


def _shapes(model: Any) -> dict[str, list[int]]:
    """The parameters of a sorter with as many heads, of the same rank, with bases or without, as this one."""
    own = dict(model.named_parameters()) if isinstance(model, torch.nn.Module) else {}
    try:
        heads, width, rank = own["attention.qA"].shape
    except (KeyError, ValueError):
        raise ValueError(
            f"model must be {WHAT}, with a parameter attention.qA [heads, embed_dim, rank]; got {type(model).__name__}."
        ) from None
    if heads < 1 or width % heads:
        raise ValueError(f"attention.qA has {heads} heads, which do not share out a width of {width}.")
    shapes = {"token_embed.weight": [len(sorting.VOCAB), width], "pos_embed.weight": [sorting.LENGTH, width]}
    for n in "qkv":
        shapes |= {f"attention.{n}A": [heads, width, rank], f"attention.{n}B": [heads, rank, width // heads]}
        if "attention.q_base" in own:
            shapes[f"attention.{n}_base"] = [heads, width, width // heads]
    shapes |= {f"{name}.{part}": [width] for name in NORMS for part in ("weight", "bias")}
    return shapes | {name: [width, width] for name in ("attention.o.weight", "mlp.0.weight", "mlp.2.weight")}
