"""Provide an explorer for the Gram score: move the key, and see the volume spanned by key, query and reference."""

from __future__ import annotations

from utils.show.widget import Widget, make_widget

START = {"longest": 2, "widest": 120}
STATE = {"rise": 30, "length": 1.5, "angle": 90, "turn": -23, "tilt": 24}


def volume() -> Widget:
    """Show the volume, the score and the dot product for a key. The query and the reference have length 1.

    Sliders move the vectors. To rotate the view, drag the picture or use the two view sliders. The static version is
    `show.volume(query, key, reference)`.

    Returns:
        A widget. Its `state` has these angles in degrees: `rise` (the key's angle above the plane of query and
        reference), `angle` (between query and reference), and `turn` and `tilt` (of the view). It also has `length` (of
        the key).
    """
    words = (
        "Explorer: the body that query, key and reference span, with sliders for the key's angle above the plane of"
        " query and reference, its length, and the angle between query and reference."
    )
    return make_widget(__file__, words, START, STATE)
