"""Draw how one query gets its context vector, step by step, from top to bottom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show.arguments import parse_names, parse_numbers, parse_position, shape_text
from utils.show.causal_attention import prefix_softmax
from utils.show.colours import GREEN, INK, MUTED, SEQUENTIAL, SHADE, TINTS, VERMILION, text_colour_on
from utils.show.drawing_types import ArrayLike
from utils.show.marks import draw_arrow, draw_rounded_box
from utils.show.picture import Picture, course_theme, finish_picture, new_canvas
from utils.show.sizes import BENCH, MOST_NUMBERS, SMALL
from utils.show.text_format import fit_font_size, list_values, number_text, token_label, vector_text


@course_theme()
def steps(
    inputs: ArrayLike,
    tokens: Sequence[str],
    query: int | str,
    W_query: ArrayLike | None = None,
    W_key: ArrayLike | None = None,
    W_value: ArrayLike | None = None,
    title: str | None = None,
) -> Picture:
    """Draw how one query gets its context vector, with actual shapes and with numbers rounded to two decimals.

    Without the three matrices, the steps are inputs → scores → weights → context, as in simplified attention.
    With the matrices, query, keys and values are computed first, and scores are divided by √d_k before the softmax.

    Args:
        inputs: [seq, d_in], seq from 1 to 8.
        tokens: seq strings.
        query: the position of the query: its index, or its token if the token occurs once.
        W_query, W_key: [d_in, d_k]; W_value: [d_in, d_v]. Pass all three or none. For an `nn.Linear`, pass `.weight.T`.

    Raises:
        ValueError: if a shape does not fit, only some matrices are given, or `query` is not one of the tokens.
    """
    x = parse_numbers(inputs, "inputs", [2], "one vector in each row, [seq, d_in]")
    n, d_in = x.shape
    if n > MOST_NUMBERS:
        cure = f"Choose some, as in inputs[:{MOST_NUMBERS}]."
        raise ValueError(f"steps draws at most {MOST_NUMBERS} tokens; got {n}. {cure}")
    names = parse_names(tokens, n, "tokens", "inputs (rows)")
    at = parse_position(query, names)
    given = {"W_query": W_query, "W_key": W_key, "W_value": W_value}
    missing = [name for name, W in given.items() if W is None]
    if len(missing) in (1, 2):
        are = "is" if len(missing) == 1 else "are"
        raise ValueError(f"{' and '.join(missing)} {are} missing; give all three matrices or none.")
    if missing:
        q, keys, values, scale = x[at], x, x, 1.0
    else:
        W = {name: parse_numbers(one, name, [2], f"[d_in, d_out], here [{d_in}, …]") for name, one in given.items()}
        for name, one in W.items():
            if len(one) != d_in:
                raise ValueError(
                    f"{name} has the shape {shape_text(one)}; its first dimension must be d_in = {d_in} "
                    "(for an nn.Linear, pass .weight.T)."
                )
        if W["W_query"].shape != W["W_key"].shape:
            raise ValueError(
                f"W_query has the shape {shape_text(W['W_query'])} and W_key {shape_text(W['W_key'])}; "
                "the dot product of query and key needs equal shapes."
            )
        q, keys, values = x[at] @ W["W_query"], x @ W["W_key"], x @ W["W_value"]
        scale = math.sqrt(len(q))
    points = keys @ q
    pattern = prefix_softmax(points / scale, n)
    context = pattern @ values

    flow = _Flow(n, names, at)
    flow.draw_vectors("inputs", "one vector per token", x)
    if not missing:
        flow.draw_vectors("keys", "inputs @ W_key", keys)
        flow.draw_query("query", "@ W_query", q)
    flow.draw_numbers("scores", "query · each key" if not missing else "query · each input", points)
    softmax = "softmax(scores)" if missing else f"softmax(scores / √{len(q)})"
    flow.draw_numbers("weights", softmax, pattern, coloured=True)
    if not missing:
        flow.draw_vectors("values", "inputs @ W_value", values, linked="×")
    flow.draw_result("context", "sum of weight × " + ("input" if missing else "value"), context)
    flow.crop_axes()
    default = f"How {names[at]!r} gets its context vector"
    route = f"inputs → {'' if missing else 'query, keys, values → '}scores → weights → context"
    alt = "\n".join([f"A flow chart from top to bottom for the query {names[at]!r}: {route}.", *flow.words])
    return finish_picture(flow.figure, title, default, alt)


class _Flow:
    """Rows of number boxes, with one column per token, drawn from top to bottom; all positions are in inches."""

    LINE, GAP, LEFT = 0.165, 0.34, 1.42

    def __init__(self, n: int, names: Sequence[str], at: int) -> None:
        self.n, self.names, self.at = n, names, at
        self.figure, self.axes = new_canvas(1, 1, 5.7, 8)
        self.step = min(0.72, (5.7 - self.LEFT - 0.2) / (n + 1))
        self.y = 0.25  # the lower edge of the drawing so far
        self.bus: tuple[float, float] | None = None  # start of the line that connects the query to the keys
        self.words: list[str] = []
        for j, name in enumerate(names):
            colour, weight = (VERMILION, "bold") if j == at else (INK, "normal")
            text = token_label(name, 9)
            size = fit_font_size(text, SMALL, self.step - 0.04, j == at)
            self.axes.text(self.x(j), 0.2, text, ha="center", va="bottom", size=size, color=colour, weight=weight)

    def x(self, j: float) -> float:
        return self.LEFT + (j + 0.5) * self.step

    def _lines(self, values: np.ndarray) -> list[str]:
        """Return a vector's numbers, one per line; for more than five numbers, only the first three and the last."""
        texts = [number_text(value) for value in values]
        return texts if len(texts) <= 5 else [*texts[:3], "⋮", texts[-1]]

    def _box(self, x: float, y: float, lines: Sequence[str], fill: Any, edge: str, heavy: bool = False) -> float:
        height, width = self.LINE * len(lines) + 0.06, self.step - 0.08
        linewidth = 1.6 if heavy else 0.8
        draw_rounded_box(self.axes, x - width / 2, y, width, height, fill, edge, 0.05, linewidth=linewidth)
        colour = text_colour_on(fill) if not isinstance(fill, str) else INK
        size = min(fit_font_size(line, SMALL, width - 0.04) for line in lines)
        for k, line in enumerate(lines):
            self.axes.text(x, y + 0.03 + self.LINE * (k + 0.5), line, ha="center", va="center", size=size, color=colour)
        return y + height

    def _name(self, y: float, name: str, how: str, shape: Sequence[int]) -> None:
        self.axes.text(0, y, f"{name} {list(shape)}", weight="bold", va="center")
        self.axes.text(0, y + 0.17, how, size=SMALL - 0.5, color=MUTED, va="center")

    def draw_vectors(self, name: str, how: str, rows: np.ndarray, linked: str = "") -> None:
        first = not self.words
        top = bottom = self.y if first else self.y + self.GAP
        for j, row in enumerate(rows):
            heavy = first and j == self.at
            bottom = self._box(self.x(j), top, self._lines(row), SHADE, VERMILION if heavy else MUTED, heavy)
            if linked:
                self.axes.text(self.x(j), top - self.GAP / 2, linked, ha="center", va="center", color=MUTED)
            elif not first:
                draw_arrow(self.axes, (self.x(j), self.y), (self.x(j), top), MUTED, 0.9)
        if first:
            self.bus = (self.x(self.at), bottom)
        self._name((top + bottom) / 2 - 0.08, name, how, rows.shape)
        self.top, self.above, self.y = top, self.y, bottom
        cells = "; ".join(f"{token} {vector_text(row)}" for token, row in zip(self.names, rows))
        self.words.append(f"{name} {list(rows.shape)}, {how}: {cells}.")

    def draw_query(self, name: str, how: str, vector: np.ndarray) -> None:
        """Draw the query in a separate column on the right, with an arrow from the query token's input."""
        x, turn = self.x(self.n) + 0.12, self.above + 0.12
        self.axes.plot([self.x(self.at), self.x(self.at), x], [self.above, turn, turn], color=VERMILION, linewidth=1.4)
        draw_arrow(self.axes, (x, turn), (x, self.top), VERMILION, 1.4)
        place: dict[str, Any] = dict(ha="center", va="bottom")
        self.axes.text(x, turn - 0.2, f"{name} {[len(vector)]}", weight="bold", color=VERMILION, **place)
        self.axes.text(x, turn - 0.05, how, size=SMALL - 0.5, color=MUTED, **place)
        bottom = self._box(x, self.top, self._lines(vector), TINTS[1], VERMILION, heavy=True)
        self.bus = (x, bottom)
        self.words.append(f"{name} {[len(vector)]}, {self.names[self.at]} {how}: {vector_text(vector)}.")

    def draw_numbers(self, name: str, how: str, values: np.ndarray, coloured: bool = False) -> None:
        from matplotlib import colormaps

        top = bottom = self.y + self.GAP
        if self.bus is not None:  # the query's line crosses all columns, with a dot at each key
            (x, y), turn = self.bus, self.y + 0.13
            ends = [self.x(0), self.x(self.n - 1), x]
            self.axes.plot([x, x], [y, turn], color=VERMILION, linewidth=1.4)
            self.axes.plot([min(ends), max(ends)], [turn, turn], color=VERMILION, linewidth=1.4)
            for j in range(self.n):
                self.axes.plot(self.x(j), turn, marker="o", markersize=4, color=VERMILION)
            self.bus = None
        for j, value in enumerate(values):
            fill = colormaps[SEQUENTIAL](float(value)) if coloured else SHADE
            draw_arrow(self.axes, (self.x(j), self.y), (self.x(j), top), MUTED, 0.9)
            bottom = self._box(self.x(j), top, [number_text(value)], fill, MUTED)
        self._name((top + bottom) / 2 - 0.08, name, how, values.shape)
        self.y = bottom
        self.words.append(f"{name} {list(values.shape)}, {how}: {list_values(self.names, values)}.")

    def crop_axes(self) -> None:
        """Remove the empty space below the last box."""
        self.axes.set_ylim(self.y + 0.02, 0)
        self.axes.set_position((0.1, 0.1, 5.7 / BENCH, (self.y + 0.02) / BENCH))

    def draw_result(self, name: str, how: str, vector: np.ndarray) -> None:
        middle, top = self.x((self.n - 1) / 2), self.y + self.GAP + 0.12
        meet = self.y + 0.18
        for j in range(self.n):
            self.axes.plot([self.x(j), self.x(j)], [self.y, meet], color=MUTED, linewidth=0.9)
        self.axes.plot([self.x(0), self.x(self.n - 1)], [meet, meet], color=MUTED, linewidth=0.9)
        draw_arrow(self.axes, (middle, meet), (middle, top), MUTED, 0.9)
        bottom = self._box(middle, top, self._lines(vector), TINTS[2], GREEN, heavy=True)
        self._name((top + bottom) / 2 - 0.08, name, how, vector.shape)
        self.y = bottom
        self.words.append(f"{name} {list(vector.shape)}, {how}: {vector_text(vector)}.")
