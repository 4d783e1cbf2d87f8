"""Draw the parallelepiped of query, key and reference. Its squared volume is the determinant of their Gram matrix."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show.arguments import parse_numbers, shape_text
from utils.show.colours import BLUE, FAINT, GREEN, INK, MUTED, PAPER, VERMILION
from utils.show.drawing_types import ArrayLike, Axes, Figure
from utils.show.marks import draw_vector
from utils.show.picture import Picture, course_theme, finish_picture, new_axes, new_chart, separate_positions
from utils.show.sizes import PAD, SMALL, TEXT, WIDEST
from utils.show.text_format import number_text, text_width, vector_text

NAMES, COLOURS = ("query", "key", "reference"), (BLUE, VERMILION, GREEN)
SIDE, HIGH, WORDS = 3.0, 2.7, 2.45  # inches: the body's maximum width and height; the width of the text lines
TURN, TILT = math.radians(-68), math.radians(24)  # the viewing direction
RIGHT = np.array([-math.sin(TURN), math.cos(TURN), 0.0])
UP = np.array([-math.sin(TILT) * math.cos(TURN), -math.sin(TILT) * math.sin(TURN), math.cos(TILT)])
TOWARDS = np.cross(RIGHT, UP)


def align_to_floor(query: np.ndarray, key: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return query, key and reference as rows [3, 3], with z = 0 for query and reference and z ≥ 0 for the key.

    The change of coordinates keeps lengths and angles, so the Gram matrix stays the same. A height counts as 0 if it is
    less than 1e-9 times the length of the vector.
    """
    axes: list[np.ndarray] = []
    rows = {}
    for name, given in (("query", query), ("reference", reference), ("key", key)):
        length, rest = float(np.linalg.norm(given)), given
        for _ in range(2):  # the second pass removes the rounding error of the first
            for axis in axes:
                rest = rest - (rest @ axis) * axis
        size = float(np.linalg.norm(rest))
        if length > 0 and size > 1e-9 * length:
            axes.append(rest / size)
        rows[name] = [float(given @ axis) for axis in axes] + [0.0] * (3 - len(axes))
    return np.array([rows[name] for name in NAMES])


@course_theme()
def volume(query: ArrayLike, key: ArrayLike, reference: ArrayLike, title: str | None = None) -> Picture:
    """Draw three vectors and the body that they span, with their Gram matrix, the volume and the score −volume².

    Query and reference span the base. The volume is the area of the base times the height of the key above the base.

    Args:
        query, key, reference: [d] finite numbers each, with the same d.
        title: by default, the volume and the score.

    Raises:
        ValueError: if the vectors differ in shape, contain nan or inf, or are so long that the volume is infinite.
    """
    vectors = [
        parse_numbers(given, name, [1], "one vector, [d]") for name, given in zip(NAMES, (query, key, reference))
    ]
    if len({one.shape for one in vectors}) > 1:
        shapes = ", ".join(map(shape_text, vectors))
        raise ValueError(f"query, key and reference have the shapes {shapes}; expected equal shapes.")
    with np.errstate(over="ignore", invalid="ignore"):
        rows = align_to_floor(*vectors)
        table, size = np.stack(vectors) @ np.stack(vectors).T, abs(float(np.linalg.det(rows)))
    if not np.isfinite([*table.flat, size * size]).all():
        raise ValueError(
            "these vectors are so long that their squared volume is infinite; divide all three by the same number."
        )
    score = -(size**2) + 0.0
    body = np.array(list(itertools.product((0, 1), repeat=3))) @ rows

    low, high = np.minimum(_project(body).min(0), 0), np.maximum(_project(body).max(0), 0)
    tips, pitch = _project(rows), _column_width(table)
    side, inch, wide, tall, right = SIDE, 1.0, 0.0, 0.0, 0.0
    for _ in range(4):  # names extend beyond the tips, so the body shrinks until they fit
        inch = min(side / max((high - low)[0], 1e-9), HIGH / max((high - low)[1], 1e-9), 1e12)
        wide, tall = np.maximum((high - low) * inch, 0.3)
        edges = [_label_extent(name, tip, inch) for name, tip in zip(NAMES, tips)]
        left = min(0.0, *(a - low[0] * inch for a, _ in edges))
        right = max(wide, *(b - low[0] * inch for _, b in edges)) + 0.75
        side -= max(0.0, right - left + max(3 * pitch, WORDS - 0.3) - (WIDEST - 2 * PAD))
    figure, axes = new_chart(2, 2.1 if tall > 2.4 else 3.3 - tall / 2, wide, tall)
    axes.set(xlim=(low[0], low[0] + wide / inch), ylim=(low[1], low[1] + tall / inch))
    axes.axis("off")
    _draw_body(axes, rows, size > 0)
    if size > 0:  # a vertical line from the key's tip to the base plane
        foot = _project(np.stack([rows[1] * (1, 1, 0), rows[1]]))
        axes.plot(*foot.T, color=VERMILION, linewidth=1.3, linestyle=(0, (1, 1.3)), zorder=5, clip_on=False)
        axes.plot(*foot[0], marker="o", color=VERMILION, markersize=2.5, zorder=5, clip_on=False)
    for row, colour in zip(rows, COLOURS):
        draw_vector(axes, (0, 0), _project(row), colour, 2.2, 12.0, zorder=6)
    _draw_labels(axes, tips, inch)
    area = abs(float(np.linalg.det(rows[[0, 2], :2])))
    results = {"area of q and r": area, "height of k": float(rows[1, 2]), "volume": size, "score": score}
    _draw_gram_matrix(figure, 2 + right, table, pitch, results)

    flat = "Flat: the volume is 0, and the score 0 is the highest possible"
    default = f"Volume {number_text(size)}, score {number_text(score)}" if size else flat
    given = "; ".join(f"{name} {vector_text(one, 4)}" for name, one in zip(NAMES, vectors))
    gram = "; ".join(", ".join(map(number_text, row)) for row in table)
    alt = (
        f"The body that three vectors span: {given}. The key is"
        f" {number_text(rows[1, 2])} above the plane of query and reference. Gram matrix: {gram}."
        f" Its determinant, the squared volume, is {number_text(size**2)}; the volume is {number_text(size)},"
        f" the score {number_text(score)}."
    )
    return finish_picture(figure, title, default, alt)


def _project(points: np.ndarray) -> np.ndarray:
    return np.stack([points @ RIGHT, points @ UP], axis=-1)


def _draw_body(axes: Axes, rows: np.ndarray, solid: bool) -> None:
    """Draw the base that query and reference span, and also the body's faces if `solid`; hidden edges are dashed."""
    query, key, reference = rows
    floor = _project(_corners(np.zeros(3), query, reference))
    axes.fill(*floor.T, facecolor=GREEN, alpha=0.16, edgecolor=GREEN, linewidth=0.8, zorder=1, clip_on=False)
    if not solid:
        return
    faces = []
    for moved, a, b in ((key, query, reference), (reference, query, key), (query, key, reference)):
        normal = np.cross(a, b)
        outward = normal if normal @ moved > 0 else -normal
        for start, sign in ((np.zeros(3), -1), (moved, 1)):
            faces.append((bool(sign * outward @ TOWARDS > 0), _corners(start, a, b)))
    scale = np.abs(rows).max()
    shown = {_edge(face / scale, i) for front, face in faces for i in range(4) if front}
    for front, face in faces:
        if front:
            axes.fill(*_project(face).T, facecolor=BLUE, alpha=0.09, linewidth=0, zorder=2, clip_on=False)
        for i in range(4):
            seen = _edge(face / scale, i) in shown
            ends = _project(face[[i, (i + 1) % 4]])
            line = {"linewidth": 0.9, "linestyle": "-"} if seen else {"linewidth": 0.7, "linestyle": (0, (3, 3))}
            axes.plot(*ends.T, color=MUTED, zorder=3, clip_on=False, **line)


def _corners(start: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.stack([start, start + a, start + a + b, start + b])


def _edge(face: np.ndarray, i: int) -> frozenset:
    return frozenset(tuple(np.round(face[j % 4], 6) + 0.0) for j in (i, i + 1))


def _label_extent(name: str, tip: np.ndarray, inch: float) -> tuple[float, float]:
    """Return the x positions where a vector's name starts and ends, in inches from the origin.

    The name is to the right of the tip, or to the left if the tip is far left.
    """
    width, x = text_width(name, TEXT, bold=True), float(tip[0]) * inch
    return (x - 0.06 - width, x - 0.06) if x < -0.4 else (x + 0.06, x + 0.06 + width)


def _draw_labels(axes: Axes, tips: np.ndarray, inch: float) -> None:
    """Write a name beyond each tip. If names would touch, move them apart."""
    card = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.6, "alpha": 0.8}
    away = np.array([-0.14, 0.14, 0.14]) / inch  # only the query's name is below its tip
    for tip, y, name, colour in zip(tips, separate_positions(list(tips[:, 1] + away), 0.18 / inch), NAMES, COLOURS):
        x = _label_extent(name, tip, inch)[0] / inch
        axes.text(x, y, name, color=colour, va="center", weight="bold", bbox=card, zorder=9)


def _column_width(table: np.ndarray) -> float:
    return max(0.52, max(text_width(number_text(value), TEXT, bold=True) for value in table.flat) + 0.14)


def _draw_gram_matrix(figure: Figure, x: float, table: np.ndarray, pitch: float, results: dict[str, float]) -> None:
    """Draw the Gram matrix with letters for its rows and columns, and the results below it."""
    axes = new_axes(figure, x, 3.35, 3 * pitch, 0.9)
    axes.set(xlim=(-0.5, 2.5), ylim=(2.5, -0.5))
    axes.axis("off")
    for (i, j), value in np.ndenumerate(table):
        bold = "bold" if i == j else "normal"
        axes.text(j, i, number_text(value), ha="center", va="center", color=COLOURS[i] if i == j else INK, weight=bold)
    start = -0.5 - 0.3 / pitch
    for i, (letter, colour) in enumerate(zip("qkr", COLOURS)):
        axes.text(start, i, letter, va="center", color=colour, weight="bold")
        axes.text(i, -0.85, letter, ha="center", va="center", color=colour, weight="bold")
    for edge in (-0.5, 2.5):
        axes.plot([edge, edge], [-0.5, 2.5], color=FAINT, linewidth=1.2, clip_on=False)
    axes.text(start, -1.6, "dot products", color=MUTED, size=SMALL, va="center")
    how = {"volume": "volume = area × height", "score": "score = −volume²"}
    for i, (name, value) in enumerate(results.items()):
        last: dict[str, Any] = dict(weight="bold" if name == "score" else "normal", va="center")
        axes.text(start, 3.5 + 0.8 * i, how.get(name, name), color=INK if name in how else MUTED, **last)
        axes.text(start + WORDS / pitch, 3.5 + 0.8 * i, number_text(value), color=INK, ha="right", **last)


@course_theme()
def sarrus(names: Sequence[Sequence[str]], title: str | None = None) -> Picture:
    """Draw a 3 × 3 table with its first two columns repeated, and the six diagonals of its determinant.

    Sarrus' rule adds the products along the three falling diagonals, and subtracts those along the three rising ones.

    Args:
        names: three rows of three names.

    Raises:
        ValueError: if `names` is not three rows of three.
    """
    rows = [[str(name) for name in row] for row in names]
    if [len(row) for row in rows] != [3, 3, 3]:
        raise ValueError(f"sarrus draws three rows of three names; got rows of {[len(row) for row in rows]} names.")
    figure, axes = new_chart(2, 2, 3.9, 2.6)
    axes.set(xlim=(-0.6, 5.0), ylim=(2.7, -0.7))
    axes.axis("off")
    words = []
    for sign, colour, dashes, order in (("+", BLUE, "-", (0, 1, 2)), ("−", VERMILION, (0, (4, 3)), (2, 1, 0))):
        for first in range(3):
            low, high = order[0], order[2]
            ends = (first - 0.35, first + 2.4), (low + 0.175 * (low - high), high + 0.2 * (high - low))
            axes.plot(*ends, color=colour, linestyle=dashes, linewidth=1.6, zorder=1)
            axes.text(first + 2.55, high + 0.275 * (high - low), sign, color=colour, weight="bold", va="center")
            words.append(f"{sign} " + " · ".join(rows[order[k]][(first + k) % 3] for k in range(3)))
    box = {"boxstyle": "circle,pad=0.25", "facecolor": PAPER, "edgecolor": FAINT}
    for i, row in enumerate(rows):
        for j, name in enumerate(row + row[:2]):
            axes.text(j, i, name, ha="center", va="center", color=INK if j < 3 else MUTED, bbox=box, zorder=2)
    return finish_picture(figure, title, "The determinant of three rows", f"Six products: {'; '.join(words)}.")
