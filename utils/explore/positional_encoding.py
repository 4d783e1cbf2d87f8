"""Sinusoids under one's hands: how base and width decide which positions look alike."""

from __future__ import annotations

from typing import Any

from utils.explore.widget import make_widget

START = {
    "positions": 64,
    "bases": [2, 10, 100, 1000, 10000, 100000],
    "widths": [2, 4, 8, 16, 64, 256, 512],
}


def positions() -> Any:
    """The dot product of position 0's encoding with every other one, with sliders for the base and the width.

    The static twin is `show.lines(distances, {"dot product": …})`.

    Returns:
        A widget whose `state` has `base` and `width`.
    """
    words = (
        "Explorer: how alike the encodings of two positions are, against their distance, with sliders for base and"
        " width."
    )
    return make_widget("positional_encoding", words, START, {"base": 100, "width": 64})
