"""Sinusoids under one's hands: how base and width decide which positions look alike."""

from __future__ import annotations

from typing import Any

import torch

from utils import show
from utils.explore.panel import explorer, slider

SEQ = 64


def positions() -> Any:
    """The dot product of position 0's encoding with every other one, with sliders for the base and the width.

    The static twin is `show.lines(distances, {"dot product": …})`.

    Returns:
        A box with `.base`, `.width`, `.readout` and `.picture`.
    """
    bases = [(text, float(text)) for text in ("2", "10", "100", "1000", "10000", "100000")]
    base = slider("SelectionSlider", "base", value=100.0, options=bases)
    width = slider("SelectionSlider", "d_model", value=64, options=[2, 4, 8, 16, 64, 256, 512])

    def draw() -> tuple[show.Picture, dict[str, str], str]:
        speed = base.value ** (-torch.arange(0, width.value, 2, dtype=torch.float64) / width.value)
        distance = torch.arange(SEQ, dtype=torch.float64)
        likeness = torch.cos(distance[:, None] * speed).mean(-1)  # of a pair: cos(distance × speed)
        nearest = likeness[1:].max().item()
        half = next((i for i, value in enumerate(likeness.tolist()) if value < 0.5), None)
        longest = 2 * torch.pi / speed[-1].item()
        facts = {
            "longest wave": f"{longest:,.0f} positions",
            "below one half from distance": "never" if half is None else str(half),
            "most alike of the others": f"{nearest:.2f}",
        }
        back = (likeness[2:] > likeness[1:-1]).any() and likeness[10:].max().item() > 0.9
        remark = (
            "Far positions look like near ones again: with so few or so fast waves the pattern repeats."
            if back
            else "Near positions are alike, far ones are not: the waves of many speeds cancel out with distance."
        )
        title = f"Base {base.value:g}, width {width.value}: how alike two positions are"
        axes = {"xlabel": "distance in positions", "ylabel": "dot product ÷ its largest"}
        return show.lines(range(SEQ), {"likeness": likeness}, title=title, **axes), facts, remark

    about = (
        "Explorer: how alike the encodings of two positions are, against their distance, with sliders for base and"
        " width."
    )
    return explorer([base, width], draw, about, base=base, width=width)
