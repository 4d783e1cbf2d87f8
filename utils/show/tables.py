"""Tables of queries (rows) and keys (columns): an empty grid, a mask, weights, scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from utils.show.page import (
    BENCH, DIVERGING, MOST_NUMBERS, MUTED, NO, PAD, PAPER, SEQUENTIAL, SMALL, SMALLEST, TEXT, WIDEST, YES,
    Picture, finish, listed, new_axes, new_page, number_text, read_array, read_names, read_numbers,
    read_title, readable_on, text_width, themed, token_label,
)


def _table(
    values: np.ndarray, rows: Sequence[str] | None, columns: Sequence[str], cmap: Any, limits: tuple[float, float]
) -> tuple[Any, Any, float]:
    """Coloured cells with token strings on both sides; gives figure, axes and the side of a cell in inches."""
    n, m = values.shape
    row_size, column_size = (SMALL if k <= 16 else SMALLEST for k in (n, m))
    row_texts = [token_label(row) for row in rows] if rows is not None else []
    column_texts = [token_label(column) for column in columns]
    left = max((text_width(text, row_size) for text in row_texts), default=0.0) + 0.35
    cell = min(0.52, (WIDEST - 2 * PAD - left - 0.55) / m, 6.0 / n)

    figure = new_page()
    axes = new_axes(figure, 2.0, 1.0, cell * m, cell * n)
    axes.imshow(values, cmap=cmap, vmin=limits[0], vmax=limits[1], aspect="auto", interpolation="nearest")
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0, pad=3, labelbottom=False, labeltop=True)
    # Beyond what can be read, every second (third …) position is named.
    row_step, column_step = (max(1, math.ceil(size * 1.1 / 72 / cell)) for size in (row_size, column_size))
    axes.set_xticks(range(0, m, column_step), column_texts[::column_step], size=column_size)
    axes.set_yticks(range(0, n, row_step) if rows is not None else [], row_texts[::row_step], size=row_size)
    if max(text_width(text, column_size) for text in column_texts) > cell * 0.94:
        steep = 90 if cell < 0.3 else 45
        anchor = {"ha": "left", "va": "center"} if steep == 90 else {"ha": "left", "va": "baseline"}
        for text in axes.get_xticklabels():
            text.set(rotation=steep, rotation_mode="anchor", **anchor)
    axes.set_xlabel("key (answers)")
    if rows is not None:
        axes.set_ylabel("query (asks)" if n * cell > 0.9 else "query")
    for spine in axes.spines.values():
        spine.set_visible(False)
    if max(n, m) <= 24:  # lines between the cells
        axes.set_xticks(np.arange(m + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(n + 1) - 0.5, minor=True)
        axes.grid(which="minor", color=PAPER, linewidth=1.2)
        axes.tick_params(which="minor", length=0)
    return figure, axes, cell


def _write(axes: Any, values: np.ndarray, cell: float) -> None:
    """The numbers into the cells."""
    image = axes.images[0]
    for (i, j), value in np.ndenumerate(values):
        text, colour = number_text(value), readable_on(image.to_rgba(value) if np.isfinite(value) else (1, 1, 1))
        size = min(TEXT, TEXT * cell * 0.9 / text_width(text, TEXT))
        axes.text(j, i, text, ha="center", va="center", color=colour, size=size)


def _scale(figure: Any, axes: Any, ticks: Sequence[float]) -> None:
    """A thin bar of colours on the right of a table that has no numbers."""
    x, y, w, h = (BENCH * side for side in axes.get_position().bounds)
    tall = min(h, 2.0)
    bar = figure.colorbar(axes.images[0], cax=new_axes(figure, x + w + 0.12, y + h - tall, 0.11, tall), ticks=ticks)
    bar.ax.set_yticklabels([number_text(tick) for tick in ticks], size=SMALL - 1)
    bar.ax.tick_params(length=0, pad=2)
    bar.outline.set_visible(False)


def _sides(values: np.ndarray, tokens: Any, keys: Any) -> tuple[np.ndarray, list[str] | None, list[str]]:
    """`values` as a table, with the names of its rows (None for a single unnamed query) and columns."""
    if values.ndim == 1:
        single = None if keys is None else read_names([tokens] if isinstance(tokens, str) else tokens, 1, "tokens", "query")
        columns = tokens if keys is None else keys
        return values[None], single, read_names(columns, len(values), "tokens" if keys is None else "keys", "keys")
    if keys is None and values.shape[0] != values.shape[1]:
        raise ValueError(
            f"a {values.shape[0]} × {values.shape[1]} table needs keys= for its columns, tokens for its rows."
        )
    rows = read_names(tokens, values.shape[0], "tokens", "queries (rows)")
    return values, rows, rows if keys is None else read_names(keys, values.shape[1], "keys", "keys (columns)")


def _rows_in_words(values: np.ndarray, rows: Sequence[str] | None, columns: Sequence[str]) -> str:
    """Every number of a small table; of a larger one each row's largest; of a very large one the largest of all."""
    n, m = values.shape
    heads = [f"{row}: " for row in rows] if rows is not None else [""] * n
    if n <= MOST_NUMBERS and m <= MOST_NUMBERS:
        return "\n".join(f"{head}{listed(columns, row)}." for head, row in zip(heads, values))
    if n <= 16:
        tops = values.argmax(axis=1)
        return "\n".join(f"{heads[i]}largest at {columns[j]}, {number_text(values[i, j])}." for i, j in enumerate(tops))
    i, j = np.unravel_index(values.argmax(), values.shape)
    return f"The largest is {number_text(values[i, j])}: row {i} ({rows[i]}), column {j} ({columns[j]})."


def _size_in_words(values: np.ndarray, rows: Sequence[str] | None) -> str:
    n, m = values.shape
    return f"1 query, {m} keys" if rows is None else f"{n} {'query' if n == 1 else 'queries'} down, {m} keys across"


@themed
def grid(tokens: Sequence[str], title: str | None = None) -> Picture:
    """An empty table for the reader to complete: each row asks, each column answers.

    Args:
        tokens: seq strings.
        title: what to do; by default a question.
    """
    names = read_names(tokens, len(list(tokens)) if isinstance(tokens, Iterable) else 0, "tokens", "positions")
    if not names:
        raise ValueError("tokens is empty; expected at least one string.")
    n = len(names)
    from matplotlib.colors import ListedColormap

    figure, axes, _ = _table(np.zeros((n, n)), names, names, ListedColormap([PAPER]), (0, 1))
    axes.grid(visible=False, which="minor")
    for edge in range(n + 1):
        axes.plot([-0.5, n - 0.5], [edge - 0.5] * 2, color=MUTED, linewidth=0.8, clip_on=False)
        axes.plot([edge - 0.5] * 2, [-0.5, n - 0.5], color=MUTED, linewidth=0.8, clip_on=False)
    alt = f"An empty table, {n} rows by {n} columns, {n * n} cells. Rows ask, columns answer: {', '.join(names)}."
    return finish(figure, read_title(title, "Row asks, column answers: which cells are yes?"), alt)


@themed
def mask(mask: Any, tokens: Sequence[str], title: str | None = None, keys: Sequence[str] | None = None) -> Picture:
    """A table of yes (✓, may attend) and no (×).

    Args:
        mask: bool[queries, keys], True = may attend.
        tokens: a string for each query, and for each key unless `keys` names those.
        title: by default the number of yes cells.

    Raises:
        ValueError: not bool, not 2-D, or the wrong number of tokens.
    """
    values = read_array(mask, "mask", [2], "a bool table [queries, keys]")
    if values.dtype != bool:
        raise ValueError(f"mask holds {_kind(mask, values)}; expected bool, True where a query may attend to a key.")
    values, rows, columns = _sides(values, tokens, keys)
    from matplotlib.colors import ListedColormap

    figure, axes, cell = _table(values.astype(float), rows, columns, ListedColormap([NO, YES]), (0, 1))
    n, m = values.shape
    if max(n, m) <= 16:
        for (i, j), yes in np.ndenumerate(values):
            mark, colour = ("✓", "#004c77") if yes else ("×", "#6e7781")
            axes.text(j, i, mark, ha="center", va="center", size=min(TEXT + 2, cell * 45), color=colour)
    else:  # thousands of letters would be slow to draw and too small to read
        axes.plot(*np.argwhere(values)[:, ::-1].T, "o", color="#004c77", markersize=cell * 18, markeredgewidth=0)
    note = "✓ may attend   × may not" if max(n, m) <= 16 else "● may attend   empty: may not"
    axes.text(0, -0.12 / (cell * n), note, transform=axes.transAxes, size=SMALL, color=MUTED, va="top")
    yes_of = lambda row: [column for column, yes in zip(columns, row) if yes]
    default = f"{int(values.sum())} of {values.size} cells are yes"
    if n <= 16 and m <= 16:
        words = "\n".join(
            f"{name} may attend to: {', '.join(yes_of(row)) or 'nothing'}." for name, row in zip(rows, values)
        )
    else:
        words = f"Row by row, the number of yes cells is {', '.join(str(int(row.sum())) for row in values)}."
    return finish(figure, read_title(title, default), f"A mask, {n} queries down, {m} keys across; {default}.\n{words}")


def _kind(given: Any, array: np.ndarray) -> str:
    return str(getattr(given, "dtype", array.dtype)).replace("torch.", "")


@themed
def weights(
    weights: Any, tokens: Sequence[str], title: str | None = None, keys: Sequence[str] | None = None
) -> Picture:
    """Attention weights on one scale from 0 to 1; the numbers are printed up to 8 × 8.

    Args:
        weights: [queries, keys], or [keys] for a single query; between 0 and 1.
        tokens: a string for each query, and for each key unless `keys` names those.
            For a single query `tokens` names the keys; or give the query's name as `tokens` and the rest as `keys`.
        title: by default the largest weight.

    Raises:
        ValueError: wrong shape, wrong number of tokens, nan, or a number outside 0…1.
    """
    values = read_numbers(weights, "weights", [1, 2], "a table [queries, keys] or one row [keys]")
    if values.min() < -1e-6 or values.max() > 1 + 1e-6:
        wrong = values.min() if values.min() < 0 else values.max()
        raise ValueError(f"weights must lie between 0 and 1; found {number_text(wrong)}. Draw scores with show.scores.")
    values, rows, columns = _sides(values, tokens, keys)
    figure, axes, cell = _table(values, rows, columns, SEQUENTIAL, (0, 1))
    if max(values.shape) <= MOST_NUMBERS:
        _write(axes, values, cell)
    else:
        _scale(figure, axes, [0, 0.5, 1])
    i, j = np.unravel_index(values.argmax(), values.shape)
    whom = f"{rows[i]!r} → {columns[j]!r}" if rows is not None else repr(columns[j])
    default = f"The largest weight: {whom}, {number_text(values[i, j])}"
    if np.ptp(values) < 1e-9:
        default = f"Every weight is {number_text(values[0, 0])}"
    sums = values.sum(axis=1)
    ones = np.allclose(sums, 1, atol=1e-3)
    total = "Every row sums to 1." if ones else f"Row sums run from {number_text(sums.min())} to {number_text(sums.max())}."
    alt = f"Attention weights, {_size_in_words(values, rows)}. {total}\n{_rows_in_words(values, rows, columns)}"
    return finish(figure, read_title(title, default), alt)


@themed
def scores(scores: Any, tokens: Sequence[str], title: str | None = None, keys: Sequence[str] | None = None) -> Picture:
    """Scores, before softmax: red above 0, blue below; blocked ones (-inf) are grey. Numbers up to 8 × 8.

    Args:
        scores: [queries, keys], or [keys] for a single query; finite or -inf.
        tokens, keys: as in `weights`.
        title: by default the largest score.

    Raises:
        ValueError: wrong shape, wrong number of tokens, nan or +inf.
    """
    values = read_numbers(scores, "scores", [1, 2], "a table [queries, keys] or one row [keys]", blocked=True)
    values, rows, columns = _sides(values, tokens, keys)
    finite = values[np.isfinite(values)]
    limit = float(np.abs(finite).max()) if finite.size else 0.0
    limit = limit or 1.0
    shown = np.ma.masked_invalid(values)
    figure, axes, cell = _table(shown, rows, columns, DIVERGING, (-limit, limit))
    axes.set_facecolor("#e4e7eb")  # shows through where a score is blocked
    if max(values.shape) <= MOST_NUMBERS:
        _write(axes, values, cell)
    else:
        _scale(figure, axes, [-limit, 0, limit])
    i, j = np.unravel_index(values.argmax(), values.shape)
    whom = f"{rows[i]!r} → {columns[j]!r}" if rows is not None else repr(columns[j])
    default = f"The highest score: {whom}, {number_text(values[i, j])}"
    blocked = values.size - finite.size
    note = f" {blocked} are blocked (−∞)." if blocked else ""
    alt = f"Scores, {_size_in_words(values, rows)}.{note}\n{_rows_in_words(values, rows, columns)}"
    return finish(figure, read_title(title, default), alt)
