"""Provide an explorer for the causal mask: move along a sequence and see which positions each query may attend to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from utils.show.arguments import parse_integer
from utils.show.causal_attention import parse_scores
from utils.show.widget import Widget, make_widget


def causal(scores: Any, tokens: Sequence[str], position: int = 1, masked: bool = False) -> Widget:
    """Show the weights of one position, with a slider for the position and a switch for the mask.

    The static version is `show.causal(scores, tokens, position)`.

    Args:
        scores: [seq, seq] scores, already scaled, before the softmax; finite; 2 to 16 positions.
        tokens: seq strings.
        position: the initial position of the slider.
        masked: whether the mask is on at the start.

    Returns:
        A widget whose `state` has `position` and `mask`.

    Raises:
        ValueError: `scores` is not as described, or the number of tokens or the position does not fit it.
    """
    values, names = parse_scores(scores, tokens)
    position = parse_integer(position, "position", 0, len(names) - 1)
    words = "Explorer: the attention weights of one position, with a slider for the position and a switch for the mask."
    start = {"scores": values.tolist(), "tokens": names}
    return make_widget(__file__, words, start, {"position": position, "mask": bool(masked)})
