"""The body of query, key and reference in one's hands: the key rises, grows, and the score follows."""

from __future__ import annotations

from typing import Any

from utils.explore.widget import make_widget

START = {"longest": 2, "widest": 120}
STATE = {"rise": 30, "length": 1.5, "angle": 90, "turn": -23, "tilt": 24}


def volume() -> Any:
    """A query and a reference of length 1 and a key between them, with sliders; live volume, score and dot product.

    The body can be turned, too: by dragging it, or with two more sliders. The static twin is
    `show.volume(query, key, reference)`.

    Returns:
        A widget whose `state` has `rise` (of the key above the plane of the others, degrees), `length` (of the key),
        `angle` (from query to reference, degrees), and from where one looks: `turn` and `tilt`, degrees.
    """
    words = (
        "Explorer: the body that query, key and reference span; sliders for how far the key rises from their plane, its"
        " length, and their angle."
    )
    return make_widget("gram_attention", words, START, STATE)
