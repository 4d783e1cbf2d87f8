"""The two numbers of a pair of heads under one's hands, and what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from utils import show
from utils.explore.panel import explorer, slider, two

D, L, N = 5, 40, 4000
CURVE = np.geomspace(0.04, 0.6, 25)


def regression() -> Any:
    """Sliders for w and μ of a pair of opposite heads, and the mean squared error on 4,000 prompts beside the best one.

    The static twin is `show.valley`.

    Returns:
        A box with `.w`, `.mu`, `.readout` and `.picture`.
    """
    from utils.models import icl_regression as lab

    prompts = lab.draw(N, L, D, generator=torch.Generator().manual_seed(1))
    mus = [lab.best_mu(float(w), prompts)[0] for w in CURVE]
    lowest = min(lab.best_mu(float(w), prompts)[1] for w in CURVE[:8])
    w = slider("FloatSlider", "w", value=0.3, min=0.04, max=0.6, step=0.01)
    mu = slider("FloatSlider", "μ", value=4.0, min=0.0, max=11.0, step=0.05)

    def draw() -> tuple[show.Picture, dict[str, str], str]:
        error = lab.mean_squared_error(lab.kernel((w.value, -w.value), (mu.value, -mu.value)), prompts)
        best, least = lab.best_mu(w.value, prompts)
        facts = {
            "error": f"{error:.3f}",
            "lowest for this w": f"{least:.3f} at μ {two(best)}",
            "lowest of all": f"{lowest:.3f}",
            "2wμ": two(2 * w.value * mu.value),
        }
        if error < lowest + 0.01:
            remark = "On the curve, and w is small: this pair is one step of gradient descent."
        elif error < least + 0.02:
            remark = "On the curve. A smaller w with a larger μ would be better still."
        elif mu.value > best:
            remark = "Above the curve: the answers are too large."
        else:
            remark = "Below the curve: the answers are too small."
        yours = {"your pair": [(w.value, mu.value)]}
        return show.valley(CURVE, mus, yours, title="Two heads, ±w and ±μ"), facts, remark

    about = "Explorer: the error of a pair of opposite heads, with sliders for w and μ."
    return explorer([w, mu], draw, about, w=w, mu=mu)
