"""Provide an explorer for sinusoidal encodings: see how base and width determine which positions look similar."""

from __future__ import annotations

from utils.show.widget import Widget, make_widget

START = {"positions": 64, "bases": [2, 10, 100, 1000, 10000, 100000], "widths": [2, 4, 8, 16, 64, 256, 512]}


def positions() -> Widget:
    """Show the dot product of each position's encoding with the encoding of position 0. Sliders set base and width.

    The static version is `show.lines(distances, {"dot product": …})`.

    Returns:
        A widget whose `state` has `base` and `width`.
    """
    words = (
        "Explorer: the similarity of two positions' encodings against their distance, with sliders for base and width."
    )
    return make_widget(__file__, words, START, {"base": 100, "width": 64})
