"""Provide an explorer for the division by √d_k: the softmax of random scores for narrow and wide keys."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from utils.show.arguments import parse_integer
from utils.show.widget import Widget, make_widget

WIDTHS = [2**k for k in range(11)]


def scaling(seq: int = 6, seed: int = 29) -> Widget:
    """Show the softmax of one row of random scores, with a slider for d_k and a switch for the division by √d_k.

    The query and the `seq` keys have standard normal entries. Only the first d_k entries of each vector are used,
    so the slider does not change the sample. With the default seed, the first sample behaves like the mean of many
    samples. The browser itself draws all later samples. The static version is `show.saturation()`.

    Returns:
        A widget whose `state` has `d_k`, `divide` and `draw`, which counts how often "New sample" was pressed.

    Raises:
        ValueError: `seq` is not in the range 2 to 16, or `seed` is out of range.
    """
    seq = parse_integer(seq, "seq", 2, 16)
    seed = parse_integer(seed, "seed", 0, 2**31 - 1)
    words = "Explorer: the softmax of one row of random scores, with a slider for d_k and a switch to divide by √d_k."
    start = {"widths": WIDTHS, "seed": seed, "first": sample_scores(seq, seed).tolist()}
    return make_widget(__file__, words, start, {"d_k": 128, "divide": False, "draw": 0})


def sample_scores(seq: int, seed: int) -> Float[Tensor, "widths seq"]:
    """Truncate a random query and random keys to each width, and return their dot products."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(seq + 1, WIDTHS[-1], generator=generator, dtype=torch.float64)
    return torch.stack([rows[1:, :d_k] @ rows[0, :d_k] for d_k in WIDTHS])
