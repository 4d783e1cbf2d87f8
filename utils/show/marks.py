"""Draw the elements that several figures share: arrows, rounded boxes, numbers in cells, colour bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show.colours import FAINT, MUTED, text_colour_on
from utils.show.drawing_types import Axes, AxesImage
from utils.show.picture import axes_bounds_inches, new_axes
from utils.show.sizes import SMALL, TEXT
from utils.show.text_format import fit_font_size, number_text

Point = Sequence[float] | np.ndarray


def draw_arrow(axes: Axes, start: Point, end: Point, colour: str, width: float, head: float = 7.0, **more: Any) -> None:
    """Draw an arrow between two points of the axes. `width` (of the line) and `head` are in typographic points."""
    style = {"arrowstyle": "-|>", "mutation_scale": head, "shrinkA": 0, "shrinkB": 0, "color": colour}
    axes.annotate("", (end[0], end[1]), (start[0], start[1]), arrowprops={**style, "linewidth": width}, **more)


def draw_vector(axes: Axes, start: Point, end: Point, colour: str, width: float, head: float, **more: Any) -> None:
    """Draw an arrow of any length. A short arrow has a smaller head, and a very short arrow becomes a dot."""
    x, y = axes.transData.transform(end) - axes.transData.transform(start)
    length = math.hypot(x, y)
    if length < 2:
        axes.plot(*end, marker="o", color=colour, markersize=4, clip_on=False, **more)
    else:
        draw_arrow(axes, start, end, colour, width, min(head, max(3.0, 0.45 * length)), **more)


def draw_origin_lines(axes: Axes) -> None:
    """Draw thin lines through the origin, behind everything else."""
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.axvline(0, color=FAINT, linewidth=0.8, zorder=0)


def mute_axes(axes: Axes) -> None:
    """Reduce the axes of a plane to a few ticks and pale edges."""
    axes.locator_params(nbins=5)
    axes.tick_params(colors=MUTED, length=2)
    axes.spines[:].set_color(FAINT)


def draw_rounded_box(
    axes: Axes, x: float, y: float, width: float, height: float, fill: Any, edge: str, radius: float, **more: Any
) -> None:
    """Draw a box with round corners. A narrow box has smaller corners."""
    from matplotlib.patches import FancyBboxPatch

    style = f"round,pad=0,rounding_size={min(radius, width / 4)}"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, facecolor=fill, edgecolor=edge, **more))


def hide_frame(axes: Axes) -> None:
    """Remove ticks and spines."""
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def write_numbers(axes: Axes, values: np.ndarray, cell: float, size: float = TEXT) -> None:
    """Write all unmasked numbers into the cells of the newest image, in legible colours.

    Args:
        values: [rows, columns], one number for each cell of the image.
        cell: the width of a cell, in inches.

    Raises:
        ValueError: `values` does not have the shape of the image.
    """
    image = axes.images[-1]
    rows, columns = image.get_size()
    if values.shape != (rows, columns):
        raise ValueError(f"the numbers have the shape {list(values.shape)}; expected {[rows, columns]}, as the image.")
    left, right, bottom, top = image.get_extent()
    for (i, j), value in np.ma.ndenumerate(values):
        text, x, y = (
            number_text(value),
            left + (j + 0.5) / columns * (right - left),
            top + (i + 0.5) / rows * (bottom - top),
        )
        colour = text_colour_on(tuple(image.to_rgba(value)) if np.isfinite(value) else (1, 1, 1))
        fitting = fit_font_size(text, size, cell * 0.9)
        axes.text(x, y, text, ha="center", va="center", color=colour, size=fitting)


def draw_cell_borders(axes: Axes, shape: tuple[int, ...], colour: str, width: float) -> None:
    """Draw lines between the cells of a table whose `shape` is [rows, columns]."""
    axes.set_xticks(np.arange(shape[1] + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(shape[0] + 1) - 0.5, minor=True)
    axes.grid(which="minor", color=colour, linewidth=width)
    axes.tick_params(which="minor", length=0)


def draw_colour_bar(
    image: AxesImage,
    x: float,
    y: float,
    width: float,
    height: float,
    ticks: Sequence[float],
    labels: Sequence[str] | None = None,
) -> None:
    """Draw a thin colour bar for an image. Position and size are in inches on the scratch page."""
    low, high = image.get_clim()
    bar = new_axes(image.axes.figure.figure, x, y, width, height)
    shades = np.linspace(low, high, 64)[:, None]
    bar.imshow(shades, cmap=image.cmap, vmin=low, vmax=high, aspect="auto", origin="lower", extent=(0, 1, low, high))
    hide_frame(bar)
    bar.yaxis.tick_right()
    bar.set_yticks(ticks, labels or [number_text(tick) for tick in ticks], size=SMALL - 1)
    bar.tick_params(length=0, pad=2)


def draw_colour_bar_beside(axes: Axes, ticks: Sequence[float], tallest: float = math.inf) -> None:
    """Draw a colour bar for the image in `axes`, to the right of the image and at most `tallest` inches high."""
    x, y, w, h = axes_bounds_inches(axes)
    tall = min(h, tallest)
    draw_colour_bar(axes.images[0], x + w + 0.12, y + h - tall, 0.11, tall, ticks)
