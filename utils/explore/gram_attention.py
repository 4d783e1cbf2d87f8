"""The body of query, key and reference under sliders: the key rises, grows, and the score follows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from utils import show
from utils.explore.panel import explorer, slider, two

LONGEST = 2.0


def volume() -> Any:
    """A query and a reference of length 1 and a key between them, with sliders; live volume, score and dot product.

    The static twin is `show.volume(query, key, reference)`.

    Returns:
        A box with `.rise`, `.length`, `.angle`, `.readout` and `.picture`.
    """
    rise = slider("IntSlider", "key rises by, °", value=30, min=0, max=90, step=5)
    length = slider("FloatSlider", "length of key", value=1.5, min=0.0, max=LONGEST, step=0.1)
    angle = slider("IntSlider", "query to ref., °", value=90, min=0, max=120, step=10)

    def draw() -> tuple[show.Picture, dict[str, str], str]:
        query, key, reference = arrows(rise.value, length.value, angle.value)
        size = length.value * math.sin(math.radians(rise.value)) * math.sin(math.radians(angle.value))
        score = -(size**2)
        facts = {
            "volume": two(size),
            "score": two(score).replace("-", "−"),
            "dot product of query and key": two(query @ key),
        }
        if length.value == 0:
            remark = "A key of length 0 spans nothing: no volume, and the highest score there is, whatever it means."
        elif angle.value == 0:
            remark = "Query and reference point the same way: they span no plane, so every key is flat and gets 0."
        elif rise.value == 0:
            remark = (
                "In the plane of query and reference there is no volume. The score stays 0 at any length; the dot"
                " product does not."
            )
        else:
            remark = (
                f"Twice as long would be twice the volume and four times the score: {two(4 * score).replace('-', '−')}."
            )
        return show.volume(query, key, reference, limit=LONGEST), facts, remark

    about = (
        "Explorer: the body that query, key and reference span; sliders for how far the key rises from their plane, its"
        " length, and their angle."
    )
    return explorer([rise, length, angle], draw, about, rise=rise, length=length, angle=angle)


def arrows(rise: float, length: float, angle: float) -> np.ndarray:
    """Query and reference of length 1, `angle` degrees apart, and a key above the middle between them; [3, 3]: query,
    key, reference."""
    up, half, apart = math.radians(rise), math.radians(angle / 2), math.radians(angle)
    key = length * np.array([math.cos(up) * math.cos(half), math.cos(up) * math.sin(half), math.sin(up)])
    rows = np.array([[1.0, 0.0, 0.0], key, [math.cos(apart), math.sin(apart), 0.0]])
    return rows.round(12) + 0.0  # cos 90° is 6e-17 on a computer
