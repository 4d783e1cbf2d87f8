"""Provide an explorer for the dot product: rotate and stretch two arrows."""

from __future__ import annotations

from utils.show.widget import Widget, make_widget


def dot_product() -> Widget:
    """Show the dot product, the cosine and the angle of two arrows. Learners drag the arrows or use sliders.

    The static version is `show.vectors({"a": …, "b": …}, angle=("a", "b"))`.

    Returns:
        A widget whose `state` has `angle_a` and `angle_b` in degrees, and `length_a` and `length_b`.
    """
    words = "Explorer: two arrows to drag, with sliders for their angles and lengths, and their dot product."
    return make_widget(__file__, words, {}, {"angle_a": 20, "length_a": 1.5, "angle_b": 80, "length_b": 1.0})
