"""Distributions: what a layer norm makes of numbers, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from utils.show.arguments import read_numbers
from utils.show.colours import MUTED, PAPER, SERIES
from utils.show.page import Picture, finish, new_axes, new_page, themed
from utils.show.sizes import PAD, SMALL, WIDEST
from utils.show.words import number_text, token_label


@themed
def distributions(groups: Mapping[str, Any], title: str | None = None, limit: float | None = None) -> Picture:
    """Histograms side by side on one scale, each with its mean and standard deviation.

    Args:
        groups: {name: numbers of any shape}, one to three of them; all numbers of a group are counted together.
        limit: fix the scale to -limit … limit (an explorer's numbers should move, not their scale).
    """
    if not isinstance(groups, Mapping) or not 1 <= len(groups) <= 3:
        raise ValueError(
            "groups must be a dict of one to three named groups of numbers, as in {'before': x, 'after': y}."
        )
    arrays = {
        str(name): read_numbers(values, f"groups[{name!r}]", range(1, 5), "numbers of any shape").ravel()
        for name, values in groups.items()
    }
    together = np.concatenate(list(arrays.values()))
    low, high = (together.min(), together.max()) if limit is None else (-limit, limit)
    if low == high:
        low, high = low - 1, high + 1
    edges = np.linspace(low, high, 49)
    counts = {name: np.histogram(a, edges)[0] / len(a) / (edges[1] - edges[0]) for name, a in arrays.items()}
    tallest = max(float(c.max()) for c in counts.values()) or 1.0
    gap = 0.35
    width = (WIDEST - 2 * PAD - 0.3 - gap * (len(arrays) - 1)) / len(arrays)
    figure, words = new_page(), []
    for k, (name, a) in enumerate(arrays.items()):
        axes = new_axes(figure, 2 + k * (width + gap), 2, width, 1.6)
        look = {"align": "edge", "color": SERIES[k], "edgecolor": PAPER, "linewidth": 0.3}
        axes.bar(edges[:-1], counts[name], width=np.diff(edges), **look)
        axes.axvline(0, color=MUTED, linewidth=0.8, linestyle=(0, (2, 3)), zorder=0)
        axes.set(xlim=(low, high), ylim=(0, tallest * 1.08), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.locator_params(axis="x", nbins=5)
        mean, spread = float(a.mean()), float(a.std())
        axes.text(0, 1.16, token_label(name, 26), transform=axes.transAxes, color=SERIES[k], weight="bold", va="bottom")
        facts = f"mean {number_text(mean)}, standard deviation {number_text(spread)}"
        axes.text(0, 1.02, facts, transform=axes.transAxes, color=MUTED, size=SMALL - (len(arrays) > 2), va="bottom")
        words.append(f"{name}: {len(a)} numbers, {facts}, from {number_text(a.min())} to {number_text(a.max())}.")
    return finish(figure, title, "How the numbers are spread", "\n".join(["Histograms on one scale.", *words]))
