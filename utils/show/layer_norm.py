"""Draw how a layer norm changes numbers, and where in a layer it can be placed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from utils.show.arguments import parse_names, parse_numbers
from utils.show.colours import BLUE, GREEN, MUTED, PAPER, SERIES, TINTS, VERMILION
from utils.show.drawing_types import ArrayLike, Axes
from utils.show.marks import draw_arrow, draw_rounded_box
from utils.show.picture import Picture, course_theme, finish_picture, new_axes, new_canvas, new_figure
from utils.show.sizes import PAD, SMALL, TEXT, WIDEST
from utils.show.text_format import number_text, token_label


@course_theme()
def distributions(groups: Mapping[str, ArrayLike], title: str | None = None) -> Picture:
    """Draw histograms side by side on one scale, each with its mean and standard deviation.

    Args:
        groups: {name: numbers of any shape}, one to three groups. A histogram counts all numbers in its group.

    Raises:
        ValueError: if there are not one to three groups, or a group is empty or contains nan or inf.
    """
    if not isinstance(groups, Mapping) or not 1 <= len(groups) <= 3:
        raise ValueError(
            "groups must be a dict of one to three named groups of numbers, as in {'before': x, 'after': y}."
        )
    arrays = {
        str(name): parse_numbers(values, f"groups[{name!r}]", range(65), "numbers of any shape").ravel()
        for name, values in groups.items()
    }
    together = np.concatenate(list(arrays.values()))
    low, high = together.min(), together.max()
    if low == high:
        low, high = low - 1, high + 1
    edges = np.linspace(low, high, 49)
    counts = {name: np.histogram(a, edges)[0] / len(a) / (edges[1] - edges[0]) for name, a in arrays.items()}
    tallest = max(float(c.max()) for c in counts.values())
    gap = 0.35
    width = (WIDEST - 2 * PAD - 0.3 - gap * (len(arrays) - 1)) / len(arrays)
    figure, words = new_figure(), ["Histograms on one scale."]
    for k, (name, a) in enumerate(arrays.items()):
        axes = new_axes(figure, 2 + k * (width + gap), 2, width, 1.6)
        look = {"align": "edge", "color": SERIES[k], "edgecolor": PAPER, "linewidth": 0.3}
        axes.bar(edges[:-1], counts[name], width=np.diff(edges), **look)
        axes.axvline(0, color=MUTED, linewidth=0.8, linestyle=(0, (2, 3)), zorder=0)
        axes.set(xlim=(low, high), ylim=(0, tallest * 1.08), yticks=[])
        axes.spines["left"].set_visible(False)
        axes.locator_params(axis="x", nbins=5)
        place, facts = axes.transAxes, f"mean {number_text(a.mean())}, standard deviation {number_text(a.std())}"
        axes.text(0, 1.16, token_label(name, 26), transform=place, color=SERIES[k], weight="bold", va="bottom")
        axes.text(0, 1.02, facts, transform=place, color=MUTED, size=SMALL - (len(arrays) > 2), va="bottom")
        words.append(f"{name}: {len(a)} numbers, {facts}, from {number_text(a.min())} to {number_text(a.max())}.")
    return finish_picture(figure, title, "How the numbers are distributed", "\n".join(words))


# Each layout has three tuples of parts. The first tuple contains the parts on the branch. If there is no branch, the
# second contains the parts on the stream. The third contains the parts after the sum.
PLACES = {
    "only attention": ((), ("attention",), ()),
    "no norm": (("attention",), (), ()),
    "post-norm": (("attention",), (), ("norm",)),
    "pre-norm": (("norm", "attention"), (), ()),
    "this lesson": (("attention", "norm"), (), ()),
}
IN_WORDS = {
    "only attention": "attention replaces the stream, and nothing is added",
    "no norm": "the output of attention is added to the stream",
    "post-norm": "the output of attention is added, and then the sum is normalised",
    "pre-norm": "attention reads the normalised stream, and its output is added to the stream before normalisation",
    "this lesson": "the output of attention is normalised and then added to the stream",
}
COLUMN, STREAM, BRANCH, BOX = 1.14, 0.24, 0.72, (0.72, 0.24)  # inches, like all positions below


@course_theme()
def norm_places(names: Sequence[str] | None = None, title: str | None = None) -> Picture:
    """Draw a layer once for each placement of the norm. The stream runs from top to bottom, left of the branch.

    Args:
        names: some of "only attention", "no norm", "post-norm", "pre-norm" and "this lesson"; by default, all.

    Raises:
        ValueError: if `names` is empty or contains an unknown name.
    """
    names = parse_names(PLACES if names is None else names, None, "names")
    if not names or not set(names) <= set(PLACES):
        raise ValueError(f"names must be some of {', '.join(PLACES)}; got {names!r}.")
    wide, high = COLUMN * len(names), 2.2
    figure, axes = new_canvas(2, 2, wide, high)
    for k, name in enumerate(names):
        _layer(axes, COLUMN * k, high, name, *PLACES[name])
    words = ["The stream runs from top to bottom.", *(f"{name}: {IN_WORDS[name]}." for name in names)]
    return finish_picture(figure, title, "Where the norm may be in a layer", "\n".join(words))


def _layer(axes: Axes, left: float, high: float, name: str, branch: Any, instead: Any, after: Any) -> None:
    stream, side, start, out, back = left + STREAM, left + BRANCH, 0.3, 0.46, 1.5
    axes.text(left + 0.06, 0.1, name, weight="bold", va="center", size=SMALL)
    axes.plot([stream, stream], [start, high - 0.1], color=TINTS[1], linewidth=7, zorder=1, solid_capstyle="butt")
    draw_arrow(axes, (stream, high - 0.2), (stream, high), VERMILION, 1.2, 9, zorder=2)
    if branch:
        way = [(stream, out), (side, out), (side, back), (stream + 0.08, back)]
        axes.plot(*zip(*way), color=BLUE, linewidth=1.3, zorder=2)
        draw_arrow(axes, (stream + 0.2, back), (stream + 0.07, back), BLUE, 1.3, 8, zorder=2)
        axes.plot([stream], [out], "o", color=BLUE, markersize=4, zorder=3)
        axes.plot([stream], [back], "o", color=PAPER, markeredgecolor=BLUE, markersize=11, zorder=3)
        axes.text(stream, back, "+", color=BLUE, weight="bold", ha="center", va="center_baseline", size=TEXT, zorder=4)
    for i, part in enumerate(branch):
        _box(axes, side, out + (back - out) * (i + 1) / (len(branch) + 1), part)
    for part in instead:
        _box(axes, left + BOX[0] / 2 + 0.02, (out + back) / 2, part)
    for part in after:
        _box(axes, left + BOX[0] / 2 + 0.02, 1.82, part)


def _box(axes: Axes, x: float, y: float, part: str) -> None:
    width, height = BOX
    edge = {"attention": BLUE, "norm": GREEN}[part]
    draw_rounded_box(axes, x - width / 2, y - height / 2, width, height, PAPER, edge, 0.06, linewidth=1.3, zorder=4)
    axes.text(x, y, part, ha="center", va="center_baseline", size=SMALL, zorder=5)
