"""Regression in context: prompts as points on a line, what a head's weights amount to, and the curve that trained heads lie on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from utils.show.page import (
    BENCH, DIVERGING, FAINT, INK, MUTED, PAD, SERIES, SMALL, SMALLEST, TEXT, VERMILION, WIDEST, Picture, finish, new_axes, new_page,
    number_text, read_names, read_numbers, read_title, readable_on, shape_text, text_width, themed,
)


@themed
def prompts(z_q: Any, z: Any, y_q: Any, title: str | None = None) -> Picture:
    """Prompts of one-dimensional regression, side by side: examples as dots, the question as a dashed line, its answer as a ring.

    Args:
        z_q: [n, 1, 2], the questions (x, 0).
        z: [n, L, 2], the examples (x, y). At most 4 prompts.
        y_q: [n, 1, 1], the answers.
    """
    asked, shown, answers = (read_numbers(t, name, [3], form) for t, name, form in (
        (z_q, "z_q", "[n, 1, 2]"), (z, "z", "[n, L, 2]"), (y_q, "y_q", "[n, 1, 1]")))
    if shown.shape[-1] != 2 or asked.shape[1:] != (1, 2) or answers.shape[1:] != (1, 1) or not len(asked) == len(shown) == len(answers) <= 4:
        raise ValueError(f"prompts draws up to 4 prompts with one-dimensional x; got z_q {shape_text(asked)}, z {shape_text(shown)}, y_q {shape_text(answers)}.")
    figure, words = new_page(), []
    side = (WIDEST - 2 * PAD - 0.4) / max(3, len(shown)) - 0.15
    reach = np.abs(np.concatenate([shown.reshape(-1, 2), np.stack([asked[..., 0].ravel(), answers.ravel()], 1)])).max(0) * 1.15
    for k, (points, question, answer) in enumerate(zip(shown, asked[:, 0, 0], answers[:, 0, 0])):
        axes = new_axes(figure, 2 + k * (side + 0.15), 5, side, side)
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
        axes.axvline(question, color=VERMILION, linewidth=1.2, linestyle=(0, (3, 3)), zorder=1)
        axes.plot(*points.T, "o", color=SERIES[0], markersize=4.5)
        axes.plot(question, answer, "o", markerfacecolor="none", markeredgecolor=VERMILION, markeredgewidth=2, markersize=9)
        axes.set(xlim=(-reach[0], reach[0]), ylim=(-reach[1], reach[1]), xlabel="x")
        axes.tick_params(length=2, colors=MUTED)
        if k:
            axes.set_yticklabels([])
        else:
            axes.set_ylabel("y")
        words.append(f"Prompt {k}: {len(points)} dots, asked at x = {number_text(question)}, the answer is {number_text(answer)}.")
    return finish(figure, read_title(title, "Each prompt has a line of its own"), "\n".join(words))


@themed
def circuits(qk: Any, ov: Any = None, names: Sequence[str] | None = None, title: str | None = None) -> Picture:
    """What heads amount to: each head's QK product as a square, and beside it its OV product as a column.

    Rows of QK are what the question holds, columns what an example holds; a dashed line parts x from y.

    Args:
        qk: [n, D, D] or [rows, columns, D, D], with D at most 8; at most 24 squares.
        ov: [n, D], beside a single row of squares.
        names: n strings, or one for each column.
    """
    squares = read_numbers(qk, "qk", [3, 4], "[n, D, D] or [rows, columns, D, D]")
    grid = squares if squares.ndim == 4 else squares[None]
    rows, columns, D, last = grid.shape
    if D != last or D > 8 or rows * columns > 24:
        raise ValueError(f"circuits draws at most 24 squares of at most 8 × 8; got {shape_text(squares)}.")
    sides = None if ov is None else read_numbers(ov, "ov", [2], "[n, D]")
    if sides is not None and (rows > 1 or sides.shape != (columns, D)):
        raise ValueError(f"ov has the shape {shape_text(sides)}; expected [{columns}, {D}], one column for each square of a single row.")
    called = read_names(names if names is not None else [f"head {k}" for k in range(columns)], columns, "names", "columns")
    numbers = rows == 1 and columns <= 2
    cell = 0.36 if numbers else min(0.17, (WIDEST - 1.0) / columns / (D + 1.4))
    between = 0.75 if sides is not None else 0.25
    limit, side_limit = float(np.abs(grid).max()) or 1.0, 1.0 if sides is None else float(np.abs(sides).max()) or 1.0
    labels = [f"x{i + 1}" for i in range(D - 1)] + ["y"]
    figure, words = new_page(), []
    wide = D * cell + between + (cell if sides is not None else 0)
    for (i, j), _ in np.ndenumerate(np.empty((rows, columns))):
        x, y = 1.5 + j * wide, BENCH - 1.5 - (i + 1) * (D * cell + 0.15)
        axes = _square(figure, x, y, cell, grid[i, j], limit, numbers, labels if D * cell > 1.3 else None)
        axes.axvline(D - 1.5, color=MUTED, linewidth=0.9, linestyle=(0, (3, 2)))
        if i == 0:
            axes.set_title(called[j], size=SMALL, color=INK, weight="bold", pad=16 if D * cell > 1.3 else 5)
        if rows > 1 and j == 0:
            axes.set_ylabel(f"head {i}", color=SERIES[i % len(SERIES)], weight="bold")
        if sides is not None:
            column = _square(figure, x + D * cell + 0.12, y, cell, sides[j][:, None], side_limit, numbers, None)
            column.set_title("OV", size=SMALL, color=MUTED, pad=5)
        words.append(_in_words(f"{called[j]}{f', head {i}' if rows > 1 else ''}", grid[i, j], None if sides is None else sides[j]))
    return finish(figure, read_title(title, "What each head's weights amount to"), "\n".join(words))


def _square(figure: Any, x: float, y: float, cell: float, values: np.ndarray, limit: float, numbers: bool, labels: list[str] | None) -> Any:
    n, m = values.shape
    axes = new_axes(figure, x, y, m * cell, n * cell)
    axes.imshow(values, cmap=DIVERGING, vmin=-limit, vmax=limit, aspect="auto")
    for spine in axes.spines.values():
        spine.set(visible=True, color=FAINT)
    axes.axhline(n - 1.5, color=MUTED, linewidth=0.9, linestyle=(0, (3, 2)))
    axes.set_xticks([])
    axes.set_yticks([])
    if labels:
        axes.xaxis.tick_top()
        axes.set_xticks(range(m), labels, size=SMALL - 1)
        axes.set_yticks(range(n), labels, size=SMALL - 1)
        axes.tick_params(length=0, pad=2)
    if numbers:
        for (i, j), value in np.ndenumerate(values):
            text = number_text(value)
            size = max(SMALLEST - 1, min(SMALL - 1, (SMALL - 1) * cell * 0.9 / text_width(text, SMALL - 1)))
            axes.text(j, i, text, ha="center", va="center", size=size, color=readable_on(axes.images[0].to_rgba(value)))
    return axes


def _in_words(name: str, square: np.ndarray, side: np.ndarray | None) -> str:
    d = len(square) - 1
    diagonal = np.diag(square)[:d]
    rest = np.abs(square[:d] - np.eye(d, d + 1) * diagonal[:, None]).max()
    words = f"{name}: QK's diagonal on x runs from {number_text(diagonal.min())} to {number_text(diagonal.max())}, its largest other entry in the rows of x is {number_text(rest)}"
    return words + ("." if side is None else f"; OV has {number_text(side[-1])} at y, and at most {number_text(np.abs(side[:d]).max())} at x.")


@themed
def valley(w: Any, mu: Any, points: Mapping[str, Sequence[tuple[float, float]]], title: str | None = None) -> Picture:
    """The best μ for each w as a curve, and pairs (w, μ) on or off it.

    Args:
        w: [n] positive numbers, increasing.
        mu: [n] numbers.
        points: {name: [(w, μ), …]}, one to five names.
    """
    ws, mus = read_numbers(w, "w", [1], "a row of numbers"), read_numbers(mu, "mu", [1], "a row of numbers")
    if len(ws) != len(mus) or (np.diff(ws) <= 0).any() or ws[0] <= 0:
        raise ValueError("w must be positive and increase, with one mu for each.")
    if not isinstance(points, Mapping) or not 1 <= len(points) <= 5:
        raise ValueError("points must be a dict of one to five named lists of (w, mu) pairs.")
    figure = new_page()
    axes = new_axes(figure, 2, 2, 4.2, 2.7)
    axes.plot(ws, mus, color=MUTED, linewidth=1.8, zorder=1)
    axes.annotate("best μ for each w", (ws[-1], mus[-1]), (0, 16), textcoords="offset points", ha="right", color=MUTED, weight="bold")
    words = ["The curve: " + ", ".join(f"μ {number_text(b)} at w {a:g}" for a, b in list(zip(ws, mus))[:: max(1, len(ws) // 8)]) + "."]
    for (name, pairs), colour, marker in zip(points.items(), SERIES, "osD^v"):
        table = read_numbers(list(map(list, pairs)), f"points[{name!r}]", [2], "a list of (w, mu) pairs")
        axes.plot(table[:, 0], table[:, 1], marker, color=colour, markersize=7, label=name, zorder=3, markeredgecolor="white")
        words.append(f"{name}: " + ", ".join(f"(w {number_text(a)}, μ {number_text(b)})" for a, b in table) + ".")
    axes.set(xlabel="w", ylabel="μ", xlim=(0, None), ylim=(0, None))
    axes.grid(color=FAINT, linewidth=0.5)
    axes.legend(frameon=False, fontsize=TEXT - 0.5, loc="upper right", handletextpad=0.3)
    return finish(figure, read_title(title, "Where trained pairs end up"), "\n".join(words))
