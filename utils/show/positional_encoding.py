"""Draw positional encodings: a heat map, and a rotating pair of entries."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from utils.show.arguments import parse_numbers, shape_text
from utils.show.colours import DIVERGING, FAINT, MUTED, SERIES
from utils.show.drawing_types import ArrayLike
from utils.show.marks import draw_arrow, draw_colour_bar_beside, draw_origin_lines, mute_axes
from utils.show.picture import Picture, course_theme, finish_picture, new_chart
from utils.show.sizes import PAD, TEXT, WIDEST
from utils.show.text_format import number_text, vector_text


@course_theme()
def heat(values: ArrayLike, title: str | None = None, rows: str = "position", columns: str = "entry") -> Picture:
    """Draw signed numbers as colours: red above 0, blue below. Use `heat` if a table is too large to show numbers.

    Args:
        values: [n, m] finite numbers, at most 512 × 512.
        rows, columns: what the axes count, in the singular.

    Raises:
        ValueError: if `values` is not such a table.
    """
    table = parse_numbers(values, "values", [2], "a table [rows, columns]")
    if max(table.shape) > 512:
        raise ValueError(f"heat draws at most 512 × 512 numbers; got {shape_text(table)}.")
    n, m = table.shape
    limit = float(np.abs(table).max()) or 1.0
    width = WIDEST - 2 * PAD - 1.15
    figure, axes = new_chart(2, 2, width, min(3.4, max(1.2, width * n / m)))
    axes.imshow(table, cmap=DIVERGING, vmin=-limit, vmax=limit, aspect="auto")
    axes.set(xlabel=columns, ylabel=rows)
    axes.tick_params(length=2, colors=MUTED)
    axes.spines[:].set_visible(False)
    draw_colour_bar_beside(axes, [-limit, 0, limit])
    words = [f"A heat map of {n} rows ({rows}) by {m} columns ({columns})."]
    for i in sorted({0, n // 2, n - 1}):
        words.append(f"{rows} {i}: {', '.join(map(number_text, table[i, :6]))}{' …' if m > 6 else ''}.")
    return finish_picture(figure, title, f"{n} × {m} numbers", "\n".join(words))


@course_theme()
def turning(pair: Sequence[float], positions: Sequence[int], speed: float, title: str | None = None) -> Picture:
    """Draw one pair of entries at several positions, as arrows that rotate by `speed` radians per position.

    Args:
        pair: [a, b], not both 0.
        positions: up to eight whole numbers.
        speed: radians per position.

    Raises:
        ValueError: if `pair` is not two numbers, both numbers are 0, or there are more than eight positions.
    """
    start = parse_numbers(pair, "pair", [1], "two numbers [a, b]")
    if start.shape != (2,) or not start.any():
        raise ValueError(f"pair must be two numbers, not both 0; got {pair!r}.")
    steps = parse_numbers(positions, "positions", [1], "a row of positions")
    if len(steps) > 8:
        raise ValueError(f"turning draws at most 8 positions; got {len(steps)}.")
    rate = float(parse_numbers(speed, "speed", [0], "a number"))
    length = math.hypot(*start)
    figure, axes = new_chart(2, 2, 3.0, 3.0)
    reach = 1.28 * length
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="first entry of the pair", ylabel="second entry")
    circle = np.linspace(0, 2 * math.pi, 181)
    axes.plot(length * np.cos(circle), length * np.sin(circle), color=FAINT, linewidth=1)
    draw_origin_lines(axes)
    mute_axes(axes)
    words = []
    for k, position in enumerate(steps):
        angle = math.atan2(start[1], start[0]) + rate * position
        tip = length * np.array([math.cos(angle), math.sin(angle)])
        colour = SERIES[k % 5]
        draw_arrow(axes, (0, 0), tip, colour, 1.8, TEXT)
        name = f"{position:g}"
        axes.text(tip[0] * 1.14, tip[1] * 1.14, name, color=colour, weight="bold", ha="center", va="center", size=TEXT)
        words.append(f"position {position:g}: {vector_text(tip)}")
    default = f"The pair rotates by {math.degrees(rate):.3g}° per position and keeps its length"
    what = f"Arrows of length {number_text(length)}, rotated by {number_text(rate)} radians per position."
    return finish_picture(figure, title, default, f"{what} {'; '.join(words)}.")
