"""Draw arrows in the plane: vectors from the origin, and a weighted sum drawn tip to tail."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from utils.show.arguments import parse_names, parse_numbers, shape_text
from utils.show.colours import INK, MUTED, PAPER, SERIES
from utils.show.drawing_types import ArrayLike, Axes, Figure
from utils.show.marks import draw_origin_lines, draw_vector, mute_axes
from utils.show.picture import Picture, course_theme, finish_picture, new_axes, new_figure, separate_positions
from utils.show.sizes import PAD, SMALL, TEXT, WIDEST
from utils.show.text_format import number_text, text_width, token_label, vector_text


def _plane(figure: Figure, points: np.ndarray, side: float) -> tuple[Axes, float]:
    """Add axes, with equal aspect, around `points` [n, 2] and the origin. Return the axes and the inches per unit."""
    points = np.vstack([points, np.zeros(2)])
    low, high = points.min(axis=0), points.max(axis=0)
    span = high - low
    longest = float(span.max()) or 1.0
    wanted = np.maximum(span, 0.4 * longest)  # no side is very short, even if all points are on one line
    low, high = (low + high - wanted) / 2 - 0.06 * longest, (low + high + wanted) / 2 + 0.06 * longest
    inch = side / float((high - low).max())
    width, height = (high - low) * inch
    axes = new_axes(figure, 2.5, 2.5, width, height)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    draw_origin_lines(axes)
    mute_axes(axes)
    return axes, inch


def _label_tips(axes: Axes, inch: float, tips: Mapping[str, np.ndarray], colours: Sequence[str]) -> None:
    """Write a name beside each tip. If names would touch, move them apart and connect each moved name to its tip."""
    for right in (True, False):
        here = [(name, tip, colour) for (name, tip), colour in zip(tips.items(), colours) if (tip[0] >= 0) == right]
        for (name, tip, colour), y in zip(here, separate_positions([tip[1] for _, tip, _ in here], 0.19 / inch)):
            x = tip[0] + (0.1 if right else -0.1) / inch
            moved = abs(y - tip[1]) * inch > 0.04
            if moved:
                x += (0.12 if right else -0.12) / inch
                axes.plot([tip[0], x], [tip[1], y], color=colour, linewidth=0.6, clip_on=False)
            card = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.75, "pad": 1}
            side = "left" if right else "right"
            axes.text(x, y, token_label(name), color=colour, ha=side, va="center", weight="bold", bbox=card, zorder=5)


def _parse_pair(pair: Any, arrows: Mapping[str, np.ndarray], name: str) -> tuple[str, str]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(f"{name} must name two of the vectors, as in {name}=('a', 'b'); got {pair!r}.")
    for one in pair:
        if one not in arrows:
            raise ValueError(f"{name} names {one!r}, which is not among the vectors: {', '.join(map(repr, arrows))}.")
    return pair[0], pair[1]


def _parse_point(value: Any, name: str) -> np.ndarray:
    vector = parse_numbers(value, name, [1], "two numbers [x, y]")
    if len(vector) != 2:
        raise ValueError(
            f"{name} has {len(vector)} numbers; expected 2, because the picture is flat. Choose two, as in v[:2]."
        )
    return vector


@course_theme()
def vectors(
    vectors: Mapping[str, ArrayLike],
    title: str | None = None,
    angle: tuple[str, str] | None = None,
    projection: tuple[str, str] | None = None,
) -> Picture:
    """Draw arrows from the origin, each with its name at the tip.

    Args:
        vectors: {name: [x, y]}, with one to six names.
        title: by default, the dot product, if `angle` is given.
        angle: two names. Draw the angle between their vectors, and write the dot product below.
        projection: two names (a, b). Draw the projection of a onto the line of b, with a dashed line from the tip of a.

    Raises:
        ValueError: if a vector does not have two numbers, a pair contains an unknown name, or b has length 0 in
            `projection`.
    """
    if not isinstance(vectors, Mapping) or not 1 <= len(vectors) <= len(SERIES):
        raise ValueError(
            f"vectors must be a dict of 1 to {len(SERIES)} named vectors, as in {{'journey': [0.55, 0.87]}}."
        )
    arrows = {str(name): _parse_point(v, f"vectors[{name!r}]") for name, v in vectors.items()}
    pair = _parse_pair(angle, arrows, "angle") if angle is not None else None
    shadow = _parse_pair(projection, arrows, "projection") if projection is not None else None
    foot = _projection_foot(arrows[shadow[0]], arrows[shadow[1]], shadow[1]) if shadow else np.zeros(2)

    figure = new_figure()
    sides = [
        max((text_width(token_label(n), TEXT, bold=True) for n, v in arrows.items() if (v[0] >= 0) == right), default=0)
        for right in (0, 1)
    ]
    side = min(3.5, WIDEST - 2 * PAD - 1.0 - sum(sides))
    axes, inch = _plane(figure, np.vstack([*arrows.values(), foot]), side)
    colours = SERIES[: len(arrows)]
    of = dict(zip(arrows, colours))
    words = [f"{name} is {vector_text(tip)}, {number_text(math.hypot(*tip))} long." for name, tip in arrows.items()]
    below = []
    if shadow:
        tip, colour = arrows[shadow[0]], of[shadow[0]]
        axes.plot([0, foot[0]], [0, foot[1]], color=colour, linewidth=6, alpha=0.3, solid_capstyle="butt")
        axes.plot([tip[0], foot[0]], [tip[1], foot[1]], color=colour, linewidth=1.2, linestyle=(0, (4, 3)))
        onto = arrows[shadow[1]]
        length = float(tip @ onto / np.linalg.norm(onto))
        below.append(f"shadow of {token_label(shadow[0])} on {token_label(shadow[1])}: {number_text(length)}")
        away = f" and points away from {shadow[1]}" if length < 0 else ""
        words.append(f"The shadow of {shadow[0]} on {shadow[1]} is {number_text(abs(length))} long{away}.")
    for name, tip in arrows.items():
        draw_vector(axes, np.zeros(2), tip, of[name], 1.8, 12.6)
    default = "Arrows from the origin"
    if pair:
        a, b = (arrows[name] for name in pair)
        dot = float(a @ b)
        default = f"{pair[0]} · {pair[1]} = {number_text(dot)}"
        text = _draw_angle(axes, a, b, inch)
        below.insert(0, f"{token_label(pair[0])} · {token_label(pair[1])} = {text}{number_text(dot)}")
        words.append(f"{pair[0]} · {pair[1]} = {text}{number_text(dot)}.")
    _label_tips(axes, inch, arrows, colours)
    if below:
        axes.set_xlabel("\n".join(below), color=INK, linespacing=1.4)
    return finish_picture(figure, title, default, " ".join(words))


def _projection_foot(a: np.ndarray, b: np.ndarray, name: str) -> np.ndarray:
    if not b.any():
        raise ValueError(f"no vector can be projected on {name!r}, because its length is 0.")
    return b * (a @ b) / (b @ b)


def _draw_angle(axes: Axes, a: np.ndarray, b: np.ndarray, inch: float) -> str:
    """Draw the arc between two vectors.

    Return the text `|a| × |b| × cos θ = ` with numbers for |a|, |b| and θ, or '' if a length is 0.
    """
    from matplotlib.patches import Arc

    lengths = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if min(lengths) == 0:
        return ""
    cosine = float(np.clip(a @ b / (lengths[0] * lengths[1]), -1, 1))
    degrees = math.degrees(math.acos(cosine))
    start, end = (math.degrees(math.atan2(v[1], v[0])) for v in (a, b))
    if (end - start) % 360 > 180:
        start, end = end, start
    radius = min(0.45 / inch, 0.6 * min(lengths))
    axes.add_patch(Arc((0, 0), 2 * radius, 2 * radius, theta1=start, theta2=end, color=MUTED, linewidth=1))
    middle = math.radians(start + ((end - start) % 360) / 2)
    text = f"{degrees:.0f}°"
    far = max(radius + 0.2 / inch, 0.2 / inch / math.sin(math.radians(max(degrees, 1)) / 2))
    if far < 0.85 * max(lengths):  # a narrow angle has no room for its number, but the text below the axes shows it
        place = far * math.cos(middle), far * math.sin(middle)
        axes.text(*place, text, ha="center", va="center", size=SMALL, color=MUTED)
    return f"{number_text(lengths[0])} × {number_text(lengths[1])} × cos {text} = "


@course_theme()
def mixing(weights: ArrayLike, vectors: ArrayLike, labels: Sequence[str], title: str | None = None) -> Picture:
    """Draw a weighted sum of vectors tip to tail. The bold arrow is the result.

    Args:
        weights: [n] finite numbers.
        vectors: [n, d], d ≥ 2. The figure shows the first two coordinates, and the axes say so if d > 2.
        labels: n strings, at most 12.
        title: by default, the numbers of the result.

    Raises:
        ValueError: if there are more than 12 vectors, or the numbers of weights, labels and vectors differ.
    """
    w = parse_numbers(weights, "weights", [1], "one weight for each vector, [n]")
    v = parse_numbers(vectors, "vectors", [2], "one vector in each row, [n, d]")
    if len(w) != len(v):
        raise ValueError(f"{len(w)} weights were given for {len(v)} vectors; expected one for each.")
    if v.shape[1] < 2:
        raise ValueError(f"vectors has the shape {shape_text(v)}; expected rows of at least 2 numbers.")
    names = parse_names(labels, len(w), "labels", "vectors")
    if len(names) > 12:
        raise ValueError(f"mixing draws at most 12 vectors; got {len(names)}.")
    result = w @ v
    tips = np.vstack([np.zeros(2), np.cumsum(w[:, None] * v[:, :2], axis=0)])

    figure = new_figure()
    notes = [f"{number_text(weight)} × {token_label(name)}" for weight, name in zip(w, names)]
    axes, inch = _plane(figure, tips, min(3.3, WIDEST - 2 * PAD - 1.0 - max(text_width(note, TEXT) for note in notes)))
    middles = (tips[1:] + tips[:-1]) / 2
    x = axes.get_xlim()[1] + 0.1 / inch
    draw_vector(axes, np.zeros(2), tips[-1], INK, 3.2, 15.4)  # drawn first, below the small arrows
    for k, (note, y) in enumerate(zip(notes, separate_positions(list(middles[:, 1]), 0.2 / inch))):
        colour = SERIES[k % 5]
        draw_vector(axes, tips[k], tips[k + 1], colour, 1.8, 12.6)
        line = [middles[k, 0], x - 0.04 / inch], [middles[k, 1], y]
        axes.plot(*line, color=colour, linewidth=0.6, alpha=0.6, clip_on=False)
        axes.text(x, y, note, color=colour, va="center")
    d = v.shape[1]
    of, drawn = (f" of {d}", f" The figure shows the first two of {d} coordinates.") if d > 2 else ("", "")
    axes.set(xlabel=f"coordinate 1{of}", ylabel=f"coordinate 2{of}")
    total = vector_text(result, 4)
    parts = ", ".join(f"{number_text(weight)} × {name}" for weight, name in zip(w, names))
    alt = f"A weighted sum, drawn tip to tail: {parts}. The bold arrow is the result, {total}.{drawn}"
    return finish_picture(figure, title, f"The bold arrow is the sum: {total}", alt)
