"""Provide an explorer for in-context regression: set w and μ for a pair of heads, and see the error."""

from __future__ import annotations

import functools
from typing import Any

import torch

from utils.show.widget import Widget, make_widget

D, L, N = 5, 40, 4000
LOWEST, STEP, COUNT = 0.04, 0.01, 57  # w runs from 0.04 to 0.6
HIGHEST = 11.0  # the largest value of μ on the slider


def regression() -> Widget:
    """Show the mean squared error of a pair of opposite heads on 4,000 prompts, with sliders for w and μ.

    For a given w, the error is a parabola in μ. The browser receives the parabola's coefficients for every w on the
    slider, so the error that it shows is exact for the 4,000 prompts. Learners can also drag the point
    (w, μ). The static version is `show.valley`.

    Returns:
        A widget whose `state` has `w` and `mu`.
    """
    words = "Explorer: the error of a pair of opposite heads, with sliders for w and μ."
    return make_widget(__file__, words, parabolas(), {"w": 0.3, "mu": 4.0})


@functools.cache
def parabolas() -> dict[str, Any]:
    """Return the means of y², y·k and k² over the prompts.

    y is the right answer to a prompt, and k is the estimate for μ = 1. The means of y·k and k² are lists
    with one number for each w. The error is mean(y²) − 2μ · mean(y·k) + μ² · mean(k²).
    """
    from utils.models import icl_regression as lab

    z_q, z, y_q = (t.double() for t in lab.draw(N, L, D, generator=torch.Generator().manual_seed(1)))
    answers, y = y_q.flatten(), z[..., -1]
    scores = (z[..., :-1] @ z_q[:, 0, :-1, None]).squeeze(-1)
    up, factor = (LOWEST * scores).exp(), (STEP * scores).exp()  # every score is far below 100, so exp cannot overflow
    linear, square = [], []
    for _ in range(COUNT):
        down = 1 / up
        k = (up * y).sum(-1) / up.sum(-1) - (down * y).sum(-1) / down.sum(-1)
        linear.append((answers @ k).item() / N)
        square.append((k @ k).item() / N)
        up *= factor
    return {
        "w": [round(LOWEST + STEP * i, 2) for i in range(COUNT)],
        "highest": HIGHEST,
        "constant": (answers @ answers).item() / N,
        "linear": linear,
        "square": square,
    }
