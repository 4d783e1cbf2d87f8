"""Provide an explorer for layer norm: shift and scale the input, and see how the output changes."""

from __future__ import annotations

from utils.show.widget import Widget, make_widget

VECTOR = (-1.2, -0.4, 0.1, 0.3, 1.6, -0.9, 0.8, -0.3)  # eight numbers with mean 0 and a variance of about 0.7


def layer_norm() -> Widget:
    """Show a vector of eight numbers before and after layer norm, with sliders for its shift, its scale and eps.

    The static version is `show.bars({"before": x, "after": LayerNorm(8)(x)}, labels, same_scale=True)`.

    Returns:
        A widget whose `state` has `shift`, `scale` and `eps`.
    """
    words = "Explorer: a vector of eight numbers before and after layer norm, with sliders for shift, scale and eps."
    return make_widget(__file__, words, {"vector": list(VECTOR)}, {"shift": 2.0, "scale": 2.0, "eps": 1e-6})
