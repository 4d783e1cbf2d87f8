"""Draw in-context regression: prompts as points, the products of the heads' weights, and the curve of the best μ."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from utils.show.arguments import parse_names, parse_numbers, shape_text
from utils.show.colours import DIVERGING, FAINT, INK, MUTED, PAPER, SERIES, VERMILION
from utils.show.drawing_types import ArrayLike, Axes
from utils.show.marks import write_numbers
from utils.show.picture import Picture, course_theme, finish_picture, new_axes, new_canvas, new_chart, new_figure
from utils.show.sizes import BENCH, PAD, SMALL, TEXT, WIDEST
from utils.show.text_format import count_text, number_text

DASHED: dict[str, Any] = {"color": MUTED, "linewidth": 0.9, "linestyle": (0, (3, 2))}


@course_theme()
def prompts(z_q: ArrayLike, z: ArrayLike, y_q: ArrayLike, title: str | None = None) -> Picture:
    """Draw prompts of one-dimensional regression side by side.

    Dots are the examples. The dashed line is the question's x, and the ring is its answer.

    Args:
        z_q: [n, 1, 2], the questions (x, 0); at most 4 prompts.
        z: [n, L, 2], the examples (x, y).
        y_q: [n, 1, 1], the answers.

    Raises:
        ValueError: if a shape does not fit, or there are more than 4 prompts.
    """
    asked, shown, answers = (
        parse_numbers(t, name, [3], form)
        for t, name, form in ((z_q, "z_q", "[n, 1, 2]"), (z, "z", "[n, L, 2]"), (y_q, "y_q", "[n, 1, 1]"))
    )
    n = len(shown)
    if shown.shape[-1] != 2 or asked.shape != (n, 1, 2) or answers.shape != (n, 1, 1) or n > 4:
        raise ValueError(
            f"prompts draws up to 4 prompts with one-dimensional x; got z_q {shape_text(asked)}, z {shape_text(shown)},"
            f" y_q {shape_text(answers)}."
        )
    figure, words = new_figure(), []
    side = (WIDEST - 2 * PAD - 0.4) / max(3, len(shown)) - 0.15
    drawn = np.concatenate([shown.reshape(-1, 2), np.stack([asked[..., 0].ravel(), answers.ravel()], 1)])
    reach = np.abs(drawn).max(0) * 1.15
    for k, (points, question, answer) in enumerate(zip(shown, asked[:, 0, 0], answers[:, 0, 0])):
        axes = new_axes(figure, 2 + k * (side + 0.15), 5, side, side)
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
        axes.axvline(question, color=VERMILION, linewidth=1.2, linestyle=(0, (3, 3)), zorder=1)
        axes.plot(*points.T, "o", color=SERIES[0], markersize=4.5)
        ring = {"markerfacecolor": "none", "markeredgecolor": VERMILION, "markeredgewidth": 2}
        axes.plot(question, answer, "o", markersize=9, **ring)
        axes.set(xlim=(-reach[0], reach[0]), ylim=(-reach[1], reach[1]), xlabel="x")
        axes.tick_params(length=2, colors=MUTED)
        axes.set(**({"yticklabels": []} if k else {"ylabel": "y"}))
        x, y = number_text(question), number_text(answer)
        words.append(
            f"Prompt {k}: {count_text(len(points), 'example')} as dots; the question is x = {x}, and its answer is {y}."
        )
    return finish_picture(figure, title, "Each prompt has its own line", "\n".join(words))


@course_theme()
def circuits(
    qk: ArrayLike, ov: ArrayLike | None = None, names: Sequence[str] | None = None, title: str | None = None
) -> Picture:
    """Draw each head's QK product as a square and, beside it, its OV product as a column.

    Rows of QK are the entries of the question, and columns are the entries of an example. Dashed lines separate x from
    y.

    Args:
        qk: [n, D, D], drawn four per row, or [rows, columns, D, D], where each row is a head. D is 2 to 8, and there
            are at most 24 squares.
        ov: [n, D], a column for each of n squares; only for a single row of squares.
        names: a string for each square, or for each column if `qk` has four dimensions.

    Raises:
        ValueError: if a shape does not fit, there are too many squares, or the number of names is wrong.
    """
    squares = parse_numbers(qk, "qk", [3, 4], "[n, D, D] or [rows, columns, D, D]")
    by_head = squares.ndim == 4
    grid = squares if by_head else squares[None]
    rows, columns, D, last = grid.shape
    if last != D or not 2 <= D <= 8 or rows * columns > 24:
        raise ValueError(f"circuits draws at most 24 squares of 2 × 2 to 8 × 8; got {shape_text(squares)}.")
    sides = None if ov is None else parse_numbers(ov, "ov", [2], "[n, D]")
    if sides is not None and (rows > 1 or sides.shape != (columns, D)):
        raise ValueError(
            f"ov has the shape {shape_text(sides)}; expected [{columns}, {D}]: one column for each square, and only"
            " one row of squares."
        )
    names = [f"head {k}" for k in range(columns)] if names is None else names
    called = parse_names(names, columns, "names", "columns")
    across = columns if by_head else min(columns, 4)
    numbers = rows == 1 and columns <= 2
    cell = 0.36 if numbers else min(0.17 if sides is None else 0.15, (WIDEST - 1.0) / across / (D + 1.4))
    between = 0.25 if sides is None else 0.75 if numbers else 0.3
    limit, side_limit = float(np.abs(grid).max()) or 1.0, 1.0 if sides is None else float(np.abs(sides).max()) or 1.0
    labels = [f"x{i + 1}" for i in range(D - 1)] + ["y"] if D * cell > 1.3 else None
    wide = D * cell + between + (cell if sides is not None else 0)
    high = D * cell + (0.15 if by_head else 0.4)
    right = (across - 1) * wide + D * cell + (cell + 0.12 if sides is not None else 0)
    bottom = (math.ceil(len(grid) * columns / across) - 1) * high + D * cell
    figure, axes = new_canvas(1, 1, right, bottom)
    words, write = [], functools.partial(axes.text, color=MUTED, size=SMALL)
    for k, square in enumerate(grid.reshape(-1, D, D)):
        i, j = divmod(k, across)
        x, y = j * wide, i * high
        _draw_cells(axes, x, y, cell, square, limit, numbers)
        axes.plot([x + (D - 1) * cell] * 2, [y, y + D * cell], **DASHED)
        for n, label in enumerate(labels or []):
            middle = (n + 0.5) * cell
            write(x + middle, y - 0.03, label, ha="center", va="bottom", size=SMALL - 1, color=INK)
            write(x - 0.03, y + middle, label, ha="right", va="center", size=SMALL - 1, color=INK)
        if not (by_head and i):
            above = y - (0.22 if labels else 0.07)
            write(x + D * cell / 2, above, called[k], color=INK, weight="bold", ha="center", va="bottom")
        if rows > 1 and j == 0:
            colour, middle = SERIES[i % len(SERIES)], y + D * cell / 2
            write(x - 0.08, middle, f"head {i}", color=colour, weight="bold", ha="right", va="center", rotation=90)
        if sides is not None:
            _draw_cells(axes, x + D * cell + 0.12, y, cell, sides[k][:, None], side_limit, numbers)
            write(x + D * cell + 0.12 + cell / 2, y - 0.07, "OV", ha="center", va="bottom")
        name = f"{called[j]}, head {i}" if rows > 1 else called[k]
        words.append(_describe_head(name, square, None if sides is None else sides[k]))
    return finish_picture(figure, title, "The products of each head's weights", "\n".join(words))


@course_theme()
def dynamics(
    steps: ArrayLike | Mapping[str, ArrayLike],
    w: ArrayLike | Mapping[str, ArrayLike],
    mu: ArrayLike | Mapping[str, ArrayLike],
    title: str | None = None,
    loss: Mapping[str, ArrayLike] | None = None,
) -> Picture:
    """Draw how each head's w and μ change during training, and the loss. A head has the same colour in both charts.

    Args:
        steps: {name: [readings]}, the increasing training steps of one to three runs, or [readings] for a single run.
        w: {name: [readings, heads]}, or [readings, heads].
        mu: the same form as `w`.
        loss: {name: [losses]}, evenly spaced from the first step to the last; None draws no losses.

    Raises:
        ValueError: if names, readings or heads differ between the arguments, or there are more than three runs.
    """
    given = [t if isinstance(t, Mapping) else {"": t} for t in (steps, w, mu)]
    names = list(given[0])
    if not 1 <= len(names) <= 3 or any(list(t) != names for t in (*given, loss or names)):
        raise ValueError("dynamics draws one to three runs; steps, w, mu and loss must have the same names.")
    figure, words = new_figure(), []
    wide, high = 1.4 if loss else 2.3, 1.9 if len(names) == 1 else 1.15
    for i, name in enumerate(names):
        xs = parse_numbers(given[0][name], "steps", [1], "a row of numbers")
        tables = [parse_numbers(t[name], what, [2], "[readings, heads]") for t, what in zip(given[1:], ("w", "mu"))]
        if any(len(t) != len(xs) for t in tables) or tables[0].shape != tables[1].shape:
            raise ValueError(
                f"{name or 'the run'}: w and mu need one row for each of {len(xs)} steps and the same number of heads."
            )
        whats = ["w", "μ"]
        if loss:
            losses = parse_numbers(loss[name], "loss", [1], "a row of numbers")
            tables, whats = [*tables, losses[:, None]], [*whats, "loss"]
        for j, (table, what) in enumerate(zip(tables, whats)):
            axes = new_axes(figure, 2 + j * (wide + 0.55), BENCH - 2 - i * (high + 0.5) - high, wide, high)
            axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
            for h, line in enumerate(table.T):
                colour = INK if what == "loss" else SERIES[h % len(SERIES)]
                along = np.linspace(xs[0], xs[-1], len(line))
                axes.plot(
                    along if what == "loss" else xs, line, color=colour, linestyle="-" if h < len(SERIES) else "--"
                )
            axes.set_title(f"{what} {f'with {name}' if name else 'of each head'}", size=TEXT, color=INK, weight="bold")
            axes.tick_params(length=2, colors=MUTED)
            if i == len(names) - 1:
                axes.set_xlabel("step")
            ends = ", ".join(number_text(v) for v in table[-1])
            if what == "loss":
                words.append(f"loss, {name}: it goes from {number_text(table[0, 0])} to {ends}.")
                continue
            words.append(f"{what}{f', {name}' if name else ''}: at step {xs[-1]:g}, the heads have the values {ends}.")
    return finish_picture(figure, title, "How each head changes during training", "\n".join(words))


@course_theme()
def against(x: ArrayLike, y: ArrayLike, xlabel: str, ylabel: str, title: str | None = None) -> Picture:
    """Draw a scatter plot of two answers to each question, with the line where both answers are equal.

    Args:
        x, y: [n] numbers each, at least two.

    Raises:
        ValueError: if x and y differ in length or contain fewer than two numbers.
    """
    xs, ys = parse_numbers(x, "x", [1], "a row of numbers"), parse_numbers(y, "y", [1], "a row of numbers")
    if len(xs) != len(ys) or len(xs) < 2:
        raise ValueError(
            f"against needs two rows of the same length, with at least 2 numbers; got {len(xs)} and {len(ys)} numbers."
        )
    reach = 1.08 * float(np.abs([xs, ys]).max())
    figure, axes = new_chart(2, 2, 3.4, 3.4)
    axes.plot([-reach, reach], [-reach, reach], color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    axes.plot(xs, ys, "o", color=SERIES[0], markersize=3.5, alpha=0.5, markeredgewidth=0)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel=xlabel, ylabel=ylabel)
    axes.tick_params(length=2, colors=MUTED)
    apart = number_text(float(np.sqrt(np.mean((xs - ys) ** 2))))
    words = f"{len(xs)} questions; the root mean square difference of {xlabel} and {ylabel} is {apart}."
    return finish_picture(figure, title, "Two answers to each question", words)


def _draw_cells(axes: Axes, x: float, y: float, cell: float, values: np.ndarray, limit: float, numbers: bool) -> None:
    """Draw signed numbers as coloured cells, with a dashed line above the last row.

    The top left corner is at (x, y), in inches.
    """
    n, m = values.shape
    right, bottom = x + m * cell, y + n * cell
    axes.imshow(values, cmap=DIVERGING, vmin=-limit, vmax=limit, aspect="auto", extent=(x, right, bottom, y))
    axes.plot([x, right, right, x, x], [y, y, bottom, bottom, y], color=FAINT, linewidth=0.8, clip_on=False)
    axes.plot([x, right], [bottom - cell] * 2, **DASHED)
    if numbers:
        write_numbers(axes, values, cell, SMALL - 1)


def _describe_head(name: str, square: np.ndarray, side: np.ndarray | None) -> str:
    d = len(square) - 1
    diagonal = np.diag(square)[:d]
    rest = np.abs(square[:d] - np.eye(d, d + 1) * diagonal[:, None]).max()
    low, high, other = map(number_text, (diagonal.min(), diagonal.max(), rest))
    words = (
        f"{name}: the diagonal of QK in the rows of x runs from {low} to {high}, "
        f"and the other entries of these rows are at most {other} in size"
    )
    if side is not None:
        words += f"; OV is {number_text(side[-1])} at y, and at most {number_text(np.abs(side[:d]).max())} in size at x"
    return f"{words}."


@course_theme()
def valley(
    w: ArrayLike, mu: ArrayLike, points: Mapping[str, Sequence[tuple[float, float]]], title: str | None = None
) -> Picture:
    """Draw the best μ for each w as a curve, and pairs (w, μ) as points.

    Args:
        w: [n] positive numbers, increasing.
        mu: [n] numbers.
        points: {name: [(w, μ), …]}, one to five names.

    Raises:
        ValueError: if `w` is not positive and increasing, `mu` has a different length, or `points` is not such a dict.
    """
    ws, mus = parse_numbers(w, "w", [1], "a row of numbers"), parse_numbers(mu, "mu", [1], "a row of numbers")
    if len(ws) != len(mus) or (np.diff(ws) <= 0).any() or ws[0] <= 0:
        raise ValueError("w must be positive and increasing, with one mu for each w.")
    if not isinstance(points, Mapping) or not 1 <= len(points) <= 5:
        raise ValueError("points must be a dict of one to five named lists of (w, mu) pairs.")
    figure, axes = new_chart(2, 2, 4.2, 2.7)
    axes.plot(ws, mus, color=MUTED, linewidth=1.8, zorder=1)
    place = (ws[-1], mus[-1]), (0, 16), "data", "offset points"
    axes.annotate("best μ for each w", *place, color=MUTED, weight="bold", ha="right")
    some = list(zip(ws, mus))[:: max(1, len(ws) // 8)]
    words = [f"The curve: {', '.join(f'μ {number_text(b)} at w {a:g}' for a, b in some)}."]
    low = np.zeros(2)
    for (name, pairs), colour, marker in zip(points.items(), SERIES, "osD^v"):
        table = parse_numbers(pairs, f"points[{name!r}]", [2], "a list of (w, mu) pairs")
        if table.shape[1] != 2:
            raise ValueError(f"points[{name!r}] has the shape {shape_text(table)}; expected a list of (w, mu) pairs.")
        low = np.minimum(low, 1.1 * table.min(0))
        axes.plot(*table.T, marker, color=colour, markersize=7, label=name, zorder=3, markeredgecolor=PAPER)
        words.append(f"{name}: " + ", ".join(f"(w {number_text(a)}, μ {number_text(b)})" for a, b in table) + ".")
    axes.set(xlabel="w", ylabel="μ", xlim=(low[0], None), ylim=(low[1], None))
    axes.grid(color=FAINT, linewidth=0.5)
    axes.legend(frameon=False, fontsize=TEXT - 0.5, loc="upper right", handletextpad=0.3)
    return finish_picture(figure, title, "Where trained pairs end up", "\n".join(words))
