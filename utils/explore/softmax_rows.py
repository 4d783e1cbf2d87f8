"""Provide an explorer for the softmax: multiply and shift a row of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from utils.show.arguments import parse_names, parse_numbers
from utils.show.widget import Widget, make_widget


def softmax(scores: Any, labels: Sequence[str]) -> Widget:
    """Show a row of scores and its softmax, with a slider that multiplies the scores and a slider that shifts them.

    The static version is `show.bars({"scores": …, "weights": …}, labels)`.

    Args:
        scores: [n] finite numbers, at most 16.
        labels: n strings.

    Returns:
        A widget whose `state` has `factor` and `shift`.

    Raises:
        ValueError: `scores` is not a row of at most 16 finite numbers, or the number of labels is wrong.
    """
    values = parse_numbers(scores, "scores", [1], "a row of numbers")
    names = parse_names(labels, len(values), "labels", "scores")
    if len(values) > 16:
        raise ValueError(f"softmax shows at most 16 scores; got {len(values)}.")
    words = "Explorer: a row of scores and its softmax, with sliders that multiply and shift the scores."
    return make_widget(__file__, words, {"scores": values.tolist(), "labels": names}, {"factor": 4.0, "shift": 2.0})
