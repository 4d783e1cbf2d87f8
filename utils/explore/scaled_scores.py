"""Explorer of the division by √d_k: random scores of wide and narrow keys."""

from __future__ import annotations

from typing import Any

import torch

from utils.explore.widget import make_widget
from utils.show.arguments import parse_integer

WIDTHS = [2**k for k in range(11)]


def scaling(seq: int = 6, seed: int = 29) -> Any:
    """The softmax of one row of random scores against d_k, with and without the division by √d_k.

    The query and the `seq` keys have standard normal entries; a smaller d_k uses their first entries, so that moving
    the slider changes d_k and not the luck of the draw. The default seed's draw goes the way that the mean of many
    goes. Later draws are made in the page. The static twin is `show.saturation()`.

    Returns:
        A widget whose `state` has `d_k`, `divide` and `draw`, the number of times that "New draw" was pressed.
    """
    parse_integer(seq, "seq", 2, 16)
    parse_integer(seed, "seed", 0, 2**31 - 1)
    words = (
        "Explorer: the softmax of one row of random scores, a slider for d_k, and the division by √d_k to switch on."
    )
    start = {"widths": WIDTHS, "seed": seed, "first": sample_scores(seq, seed).tolist()}
    return make_widget("scaled_scores", words, start, {"d_k": 128, "divide": False, "draw": 0})


def sample_scores(seq: int, seed: int) -> torch.Tensor:
    """[widths, seq] dot products of a random query with random keys, of the first d_k entries for each width."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(seq + 1, WIDTHS[-1], generator=generator, dtype=torch.float64)
    return torch.stack([rows[1:, :d_k] @ rows[0, :d_k] for d_k in WIDTHS])
