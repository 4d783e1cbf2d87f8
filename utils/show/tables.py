"""Draw tables of queries (rows) and keys (columns): an empty grid, a mask, weights, scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show.arguments import parse_array, parse_names, parse_numbers, require_unit_interval
from utils.show.colours import BLOCKED, DIVERGING, INK, MUTED, NO, PAPER, SEQUENTIAL, YES
from utils.show.drawing_types import ArrayLike, Axes, Figure
from utils.show.marks import draw_cell_borders, draw_colour_bar_beside, write_numbers
from utils.show.picture import Picture, course_theme, finish_picture, new_chart
from utils.show.sizes import MOST_NUMBERS, PAD, SMALL, SMALLEST, TEXT, WIDEST
from utils.show.text_format import count_text, distinguish_names, list_values, number_text, text_width, token_label


def _draw_table(
    values: np.ndarray, rows: Sequence[str] | None, columns: Sequence[str], cmap: Any, limits: tuple[float, float]
) -> tuple[Figure, Axes, float]:
    """Draw coloured cells with tokens on both sides. Return the figure, the axes and the side of a cell in inches."""
    n, m = values.shape
    row_size, column_size = (SMALL if k <= 16 else SMALLEST for k in (n, m))
    row_texts = [token_label(row) for row in rows] if rows is not None else []
    column_texts = [token_label(column) for column in columns]
    left = max((text_width(text, row_size) for text in row_texts), default=0.0) + 0.35
    cell = min(0.52, (WIDEST - 2 * PAD - left - 0.55) / m, 6.0 / n)

    figure, axes = new_chart(2.0, 1.0, cell * m, cell * n)
    axes.imshow(values, cmap=cmap, vmin=limits[0], vmax=limits[1], aspect="auto")
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0, pad=3, labelbottom=False, labeltop=True)
    # If not all names fit, only every second (third …) position gets a name.
    row_step, column_step = (max(1, math.ceil(size * 1.1 / 72 / cell)) for size in (row_size, column_size))
    axes.set_xticks(range(0, m, column_step), column_texts[::column_step], size=column_size)
    axes.set_yticks(range(0, n, row_step) if rows is not None else [], row_texts[::row_step], size=row_size)
    if max(text_width(text, column_size) for text in column_texts) > cell * 0.94:
        steep = 90 if cell < 0.3 else 45
        for text in axes.get_xticklabels():
            text.set(rotation=steep, rotation_mode="anchor", ha="left", va="center" if steep == 90 else "baseline")
    axes.set_xlabel("key (answers)")
    if rows is not None:
        axes.set_ylabel("query (asks)" if n * cell > 0.9 else "query")
    axes.spines[:].set_visible(False)
    if max(n, m) <= 24:  # larger tables have no lines between cells
        draw_cell_borders(axes, values.shape, PAPER, 1.2)
    return figure, axes, cell


def draw_signed_table(
    values: np.ndarray, rows: Sequence[str] | None, columns: Sequence[str], limit: float
) -> tuple[Figure, Axes, float]:
    """Draw cells that are red above 0 and blue below. Return the figure, the axes and the side of a cell in inches."""
    return _draw_table(values, rows, columns, DIVERGING, (-limit, limit))


def _draw_numbers_or_scale(
    axes: Axes, values: np.ndarray, cell: float, ticks: Sequence[float], scale: bool = False
) -> None:
    """Write the numbers into the cells of a small table. For a larger table, or with `scale`, draw a colour scale."""
    if max(values.shape) <= MOST_NUMBERS:
        write_numbers(axes, values, cell)
        if not scale:
            return
    draw_colour_bar_beside(axes, ticks, tallest=2.0)


def _largest(values: np.ndarray, rows: Sequence[str] | None, columns: Sequence[str]) -> str:
    i, j = divmod(int(values.argmax()), values.shape[1])
    whom = f"{rows[i]!r} → {columns[j]!r}" if rows is not None else repr(columns[j])
    return f"{whom}, {number_text(values[i, j])}"


def _parse_labels(values: np.ndarray, tokens: Any, keys: Any) -> tuple[np.ndarray, list[str] | None, list[str]]:
    """Return `values` as a table, the names of its rows and the names of its columns.

    For a single query without a name, the names of the rows are None.

    Raises:
        ValueError: the table is not square, and `keys` is None.
    """
    if values.ndim == 1 and keys is None:
        return values[None], None, parse_names(tokens, len(values), "tokens", "keys")
    if values.ndim == 1:
        single = parse_names([tokens] if isinstance(tokens, str) else tokens, 1, "tokens", "query")
        return values[None], single, parse_names(keys, len(values), "keys", "keys")
    if keys is None and values.shape[0] != values.shape[1]:
        raise ValueError(
            f"a {values.shape[0]} × {values.shape[1]} table needs tokens for its rows and keys= for its columns."
        )
    rows = parse_names(tokens, values.shape[0], "tokens", "queries (rows)")
    return values, rows, rows if keys is None else parse_names(keys, values.shape[1], "keys", "keys (columns)")


def _describe_rows(values: np.ndarray, rows: Sequence[str] | None, columns: Sequence[str]) -> str:
    """Describe a small table by all its numbers, and a larger table by the two largest numbers in each row.

    Describe a very large table only by its largest number.
    """
    n, m = values.shape
    heads = [f"{row}: " for row in distinguish_names(rows)] if rows is not None else [""] * n
    if n <= MOST_NUMBERS and m <= MOST_NUMBERS:
        return "\n".join(f"{head}{list_values(columns, row)}." for head, row in zip(heads, values))
    if n <= 16:
        return "\n".join(
            f"{head}{list_largest(distinguish_names(columns), row, row)}." for head, row in zip(heads, values)
        )
    i, j = divmod(int(values.argmax()), m)
    return (
        f"The largest is {number_text(values[i, j])}: row {i} ({rows[i] if rows else ''}), column {j} ({columns[j]})."
    )


def list_largest(names: Sequence[str], row: np.ndarray, sizes: np.ndarray) -> str:
    """Name the two columns with the largest `sizes` in a row.

    A single column would say little, because the largest number in a row is often on the diagonal.
    """
    tops = [f"{names[j]}, {number_text(float(row[j]))}" for j in np.argsort(-sizes, kind="stable")[:2]]
    return f"largest at {', then '.join(tops)}"


def _describe_size(values: np.ndarray, rows: Sequence[str] | None) -> str:
    n, m = values.shape
    keys, queries = count_text(m, "key"), count_text(n, "query")
    return f"1 query, {keys}" if rows is None else f"{queries} down, {keys} across"


@course_theme()
def grid(tokens: Sequence[str], title: str | None = None) -> Picture:
    """Draw an empty table for the reader to complete: each row is a query, each column a key.

    Args:
        tokens: seq strings.
        title: the task for the reader; by default, a question.

    Raises:
        ValueError: if `tokens` is empty or not a list.
    """
    names = parse_names(tokens, None, "tokens")
    n = len(names)
    if not names:
        raise ValueError("tokens is empty; expected at least one string.")
    from matplotlib.colors import ListedColormap

    figure, axes, _ = _draw_table(np.zeros((n, n)), names, names, ListedColormap([PAPER]), (0, 1))
    axes.grid(visible=False, which="minor")
    for edge in range(n + 1):
        axes.plot([-0.5, n - 0.5], [edge - 0.5] * 2, color=MUTED, linewidth=0.8, clip_on=False)
        axes.plot([edge - 0.5] * 2, [-0.5, n - 0.5], color=MUTED, linewidth=0.8, clip_on=False)
    size = f"{count_text(n, 'row')} by {count_text(n, 'column')}, {count_text(n * n, 'cell')}"
    alt = f"An empty table, {size}. Rows ask, columns answer: {', '.join(names)}."
    return finish_picture(figure, title, "Row asks, column answers: which cells are yes?", alt)


@course_theme()
def mask(
    mask: ArrayLike, tokens: Sequence[str], title: str | None = None, keys: Sequence[str] | None = None
) -> Picture:
    """Draw a mask as a table of yes (✓, may attend) and no (×).

    Args:
        mask: bool[queries, keys], True = may attend.
        tokens: a string for each query. Without `keys`, the same strings name the keys.
        title: by default, the number of yes cells.
        keys: a string for each key.

    Raises:
        ValueError: if `mask` is not a two-dimensional bool table, or the number of tokens is wrong.
    """
    values = parse_array(mask, "mask", [2], "a bool table [queries, keys]")
    if values.dtype != bool:
        dtype = str(getattr(mask, "dtype", values.dtype)).replace("torch.", "")
        raise ValueError(f"mask holds {dtype}; expected bool, True where a query may attend to a key.")
    values, rows, columns = _parse_labels(values, tokens, keys)
    from matplotlib.colors import ListedColormap

    figure, axes, cell = _draw_table(values.astype(float), rows, columns, ListedColormap([NO, YES]), (0, 1))
    n, m = values.shape
    if max(n, m) <= 16:
        for (i, j), yes in np.ndenumerate(values):
            mark, colour = ("✓", INK) if yes else ("×", MUTED)
            axes.text(j, i, mark, ha="center", va="center", size=min(TEXT + 2, cell * 45), color=colour)
    else:  # thousands of marks would be slow to draw and too small to read
        axes.plot(*np.argwhere(values)[:, ::-1].T, "o", color=INK, markersize=cell * 18, markeredgewidth=0)
    note = "✓ may attend   × may not" if max(n, m) <= 16 else "● may attend   empty: may not"
    axes.text(0, -0.12 / (cell * n), note, transform=axes.transAxes, size=SMALL, color=MUTED, va="top")
    default = f"{int(values.sum())} of {values.size} cells are yes"
    if max(n, m) <= 16:
        allowed = [[column for column, yes in zip(distinguish_names(columns), row) if yes] for row in values]
        named = zip(distinguish_names(rows or []), allowed)  # a mask has two dimensions, so `rows` is not None
        words = "\n".join(f"{name} may attend to: {', '.join(yes) or 'nothing'}." for name, yes in named)
    else:
        words = f"Row by row, the number of yes cells is {', '.join(str(int(row.sum())) for row in values)}."
    return finish_picture(figure, title, default, f"A mask, {_describe_size(values, rows)}; {default}.\n{words}")


@course_theme()
def weights(
    weights: ArrayLike, tokens: Sequence[str], title: str | None = None, keys: Sequence[str] | None = None
) -> Picture:
    """Draw attention weights as colours from 0 to 1. Tables up to 8 × 8 also show the numbers.

    If no weight is above 0.5, the colours run from the smallest weight to the largest, and a scale shows the range.

    Args:
        weights: [queries, keys], or [keys] for a single query; between 0 and 1.
        tokens: a string for each query. Without `keys`, the same strings name the keys. For a single query without
            `keys`, `tokens` names only the keys.
        title: by default, the largest weight.
        keys: a string for each key.

    Raises:
        ValueError: if `weights` has the wrong shape or contains nan or a number outside 0…1, or the number of tokens is
            wrong.
    """
    expected = "a table [queries, keys] or one row [keys]"
    values = parse_numbers(weights, "weights", [1, 2], expected)
    require_unit_interval(values, "weights", "Draw scores with show.scores.")
    values, rows, columns = _parse_labels(values, tokens, keys)
    low, high = float(values.min()), float(values.max())
    if whole := high > 0.5 or high - low < 1e-3:
        low, high = 0.0, 1.0
    figure, axes, cell = _draw_table(values, rows, columns, SEQUENTIAL, (low, high))
    _draw_numbers_or_scale(axes, values, cell, [0, 0.5, 1] if whole else [low, high], scale=not whole)
    default = f"The largest weight: {_largest(values, rows, columns)}"
    if np.ptp(values) < 1e-9:
        default = f"Every weight is {number_text(values[0, 0])}"
    sums = values.sum(axis=1)
    least, most = number_text(sums.min()), number_text(sums.max())
    total = f"Row sums run from {least} to {most}."
    if least == most:
        total = f"Every row sums to {'1' if most == '1.00' else most}."
    colours = "" if whole else f" The colours run from {number_text(low)} to {number_text(high)}."
    what = f"Attention weights, {_describe_size(values, rows)}. {total}{colours}"
    return finish_picture(figure, title, default, f"{what}\n{_describe_rows(values, rows, columns)}")


@course_theme()
def scores(
    scores: ArrayLike, tokens: Sequence[str], title: str | None = None, keys: Sequence[str] | None = None
) -> Picture:
    """Draw scores before the softmax: red above 0, blue below, grey if blocked (-inf); small tables show numbers.

    Args:
        scores: [queries, keys], or [keys] for a single query; finite or -inf.
        tokens, keys: see `weights`.
        title: by default, the highest score.

    Raises:
        ValueError: if `scores` has the wrong shape or contains nan or +inf, or the number of tokens is wrong.
    """
    values = parse_numbers(scores, "scores", [1, 2], "a table [queries, keys] or one row [keys]", allow_neg_inf=True)
    values, rows, columns = _parse_labels(values, tokens, keys)
    finite = values[np.isfinite(values)]
    limit = float(np.abs(finite).max(initial=0)) or 1.0
    figure, axes, cell = draw_signed_table(np.ma.masked_invalid(values), rows, columns, limit)
    axes.set_facecolor(BLOCKED)  # shows in the cells of blocked scores, because these cells are transparent
    _draw_numbers_or_scale(axes, values, cell, [-limit, 0, limit])
    default = f"The highest score: {_largest(values, rows, columns)}"
    blocked = values.size - finite.size
    note = f" Blocked (−∞): {blocked} of {values.size}." if blocked else ""
    alt = f"Scores, {_describe_size(values, rows)}.{note}\n{_describe_rows(values, rows, columns)}"
    return finish_picture(figure, title, default, alt)
