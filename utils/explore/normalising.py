"""Shift and stretch the input of a layer norm, and see what is left of it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional as F

from utils import show
from utils.explore.panel import explorer, slider
from utils.show.words import number_text

VECTOR = (-1.2, -0.4, 0.1, 0.3, 1.6, -0.9, 0.8, -0.3)  # eight numbers of mean 0 and variance near 0.8


def layer_norm() -> Any:
    """One vector of eight numbers before and after layer norm, with sliders for its shift, its scale and eps.

    The static twin is `show.bars({"before": x, "after": LayerNorm(8)(x)}, labels, same_scale=True)`.

    Returns:
        A box with `.shift`, `.scale`, `.eps`, `.readout` and `.picture`.
    """
    shift = slider("FloatSlider", "add", value=2.0, min=-5.0, max=5.0, step=0.5)
    choices = lambda *texts: [(text, float(text)) for text in texts]
    factors = choices("0.0001", "0.001", "0.01", "0.1", "0.5", "1", "2", "3")
    scale = slider("SelectionSlider", "multiply by", value=2.0, options=factors)
    eps = slider("SelectionSlider", "eps", value=1e-6, options=choices("0.000001", "0.001", "0.1"))
    base = torch.tensor(VECTOR, dtype=torch.float64)

    def draw() -> tuple[show.Picture, dict[str, str], str]:
        before = base * scale.value + shift.value
        after = F.layer_norm(before, (8,), eps=eps.value)
        facts = {
            "mean before": number_text(before.mean().item()),
            "variance before": f"{before.var(correction=0).item():.2g}",
            "mean after": number_text(round(after.mean().item(), 6)),
            "variance after": f"{after.var(correction=0).item():.2f}",
        }
        small = after.var(correction=0).item() < 0.99
        remark = (
            "The variance is not much larger than eps, so eps holds the result back: noise this small is not blown up."
            if small
            else "Whatever you add and multiply by, the result is the same: only the pattern of the numbers is left."
        )
        title = f"Added {shift.value:g}, times {scale.value:g}: variance {facts['variance after']} after the norm"
        names = [f"entry {i}" for i in range(8)]
        groups, limit = {"before": before, "after": after}, math.ceil(max(3.0, before.abs().max().item()))
        return show.bars(groups, names, title=title, same_scale=True, limit=limit), facts, remark

    about = (
        "Explorer: a vector of eight numbers before and after layer norm, with sliders that shift and stretch it, and"
        " eps."
    )
    return explorer([shift, scale, eps], draw, about, shift=shift, scale=scale, eps=eps)
