"""Provide an explorer for the ABC sorter: type three letters to see how the model sorts them."""

from __future__ import annotations

from typing import Any

import torch

from utils.explore.model_parameters import pack_tables, require_parameters
from utils.models import abc_sorter as sorting
from utils.show.widget import Widget, make_widget

EXPECTED = "lesson 09's Sorter around a DeepQKVAttention"
NORMS = ("norm1", "norm2", "final_norm")


def sorter(model: Any, letters: str = "cab") -> Widget:
    """Show how the model sorts three letters step by step: the probabilities, and the attention weights of each head.

    Each head can be switched off. The browser computes everything from the model's parameters. The static version is
    `show.trace(sorting.trace(model, letters))`. In a terminal, `python -m utils.models.abc_sorter` asks for letters.

    Args:
        model: a trained `utils.models.abc_sorter.Sorter` with lesson 09's `DeepQKVAttention`, written by the learner or
            by the course. Its parameters are read by name.
        letters: the initial content of the text box.

    Returns:
        A widget. Its `state` has `letters` and a bool for each head: `head_0` says whether head 0's output is used.

    Raises:
        ValueError: `letters` is not three letters from a, b and c, or a model parameter is missing or unexpected.
    """
    sorting.encode(letters)
    parameters = require_parameters(model, _shapes(model), EXPECTED)
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
        "Explorer: type three of the letters a, b, c. The model sorts them, and the page shows where each head looks."
    )
    state = {"letters": letters, **{f"head_{i}": True for i in range(heads)}}
    return make_widget(__file__, words, start, state, data)


def _shapes(model: Any) -> dict[str, list[int]]:
    """Return the parameter shapes of a sorter that has the sizes (heads, rank, bases) of `model`.

    Raises:
        ValueError: the model is not a sorter, or its number of heads does not divide its width.
    """
    own = dict(model.named_parameters()) if isinstance(model, torch.nn.Module) else {}
    try:
        heads, width, rank = own["attention.qA"].shape
    except (KeyError, ValueError):
        raise ValueError(
            f"model must be {EXPECTED}, with a parameter attention.qA [heads, embed_dim, rank];"
            f" got {type(model).__name__}."
        ) from None
    if heads < 1 or width % heads:
        raise ValueError(f"attention.qA has {heads} heads; their number must divide the width, {width}.")
    shapes = {"token_embed.weight": [len(sorting.VOCAB), width], "pos_embed.weight": [sorting.LENGTH, width]}
    for n in "qkv":
        shapes |= {f"attention.{n}A": [heads, width, rank], f"attention.{n}B": [heads, rank, width // heads]}
        if "attention.q_base" in own:
            shapes[f"attention.{n}_base"] = [heads, width, width // heads]
    shapes |= {f"{name}.{part}": [width] for name in NORMS for part in ("weight", "bias")}
    return shapes | {name: [width, width] for name in ("attention.o.weight", "mlp.0.weight", "mlp.2.weight")}
