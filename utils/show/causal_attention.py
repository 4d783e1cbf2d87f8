"""Draw causal attention: the weights of one position with and without the mask, and the effect of dropout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show.arguments import parse_integer, parse_names, parse_numbers
from utils.show.colours import BLUE, FAINT, MUTED, NO, PAPER, SEQUENTIAL, VERMILION
from utils.show.drawing_types import ArrayLike
from utils.show.marks import draw_cell_borders, write_numbers
from utils.show.picture import Picture, course_theme, finish_picture, new_axes, new_chart, new_figure
from utils.show.sizes import MOST_NUMBERS, PAD, SMALL, TEXT, WIDEST
from utils.show.text_format import escape_invisible, fit_font_size, list_values, number_text, text_width, token_label

MOST_POSITIONS = 16


def parse_scores(scores: Any, tokens: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Return `scores` as a square table of 2 to `MOST_POSITIONS` positions, and the names of its positions.

    Raises:
        ValueError: if `scores` is not such a table, or the number of tokens is wrong.
    """
    values = _parse_square(scores, "scores", "a table of scores [seq, seq], before the softmax", MOST_POSITIONS)
    return values, parse_names(tokens, len(values), "tokens", "positions")


def _parse_square(table: Any, name: str, expected: str, most: int) -> np.ndarray:
    """Return `table` as a square array of finite numbers with 2 to `most` positions.

    Raises:
        ValueError: if it is not such a table.
    """
    values = parse_numbers(table, name, [2], expected)
    if values.shape[0] != values.shape[1] or not 2 <= len(values) <= most:
        shape = f"{values.shape[0]} × {values.shape[1]}"
        raise ValueError(f"{name} is {shape}; expected a square table of 2 to {most} positions.")
    return values


def prefix_softmax(row: np.ndarray, n_visible: int) -> np.ndarray:
    """Return the softmax of the first `n_visible` scores of a row, followed by zeros."""
    powers = np.exp(np.where(np.arange(len(row)) < n_visible, row, -np.inf) - row[:n_visible].max())
    return powers / powers.sum()


@course_theme()
def causal(
    scores: ArrayLike, tokens: Sequence[str], position: int | str, masked: bool = True, title: str | None = None
) -> Picture:
    """Draw the weights that one position gives to the sequence.

    The past and the position itself are blue; the future is orange. With the mask on, × marks the future, and dashed
    outlines show the weights without the mask.

    Args:
        scores: [seq, seq] finite scores, already scaled, before the softmax; at most 16 positions.
        tokens: seq strings.
        position: the position of the query, as a number or as a token (the first match).
        masked: hide the positions after `position`.
        title: by default, the total weight of the future positions.

    Raises:
        ValueError: if `scores` has the wrong shape or contains a number that is not finite, if the number of tokens is
            wrong, or if `position` is unknown.
    """
    values, names = parse_scores(scores, tokens)
    at = _parse_position(position, names)
    n = len(names)
    free = prefix_softmax(values[at], n)
    weights = prefix_softmax(values[at], at + 1) if masked else free

    labels = [token_label(name) for name in names]
    widest = max(text_width(label, SMALL) for label in labels)
    slot = min(0.78, (WIDEST - 2 * PAD - 0.4) / n)
    steep = widest > slot * 0.94
    if steep:  # slanted names need room on the left
        slot = min(slot, (WIDEST - 2 * PAD - max(0.4, text_width(labels[0], SMALL) * 0.75)) / n)
    figure, axes = new_chart(2, 2, slot * n, 2.0)
    axes.set(xlim=(-0.5, n - 0.5), ylim=(0, 1.14))
    if at < n - 1:
        axes.axvspan(at + 0.5, n - 0.5, color=NO, zorder=0)
        notes = ["hidden (dashed: without the mask)", "hidden (dashed: before)", "hidden"]
        notes = notes if masked else ["not written yet", "ahead"]
        fitting = [note for note in notes if text_width(note, SMALL) <= slot * (n - 1 - at) - 0.1]
        if fitting:
            axes.text(at + 0.5 + 0.06 / slot, 1.1, fitting[0], va="top", size=SMALL, color=MUTED)
    colours = [BLUE if j <= at else VERMILION for j in range(n)]
    axes.bar(range(n), weights, width=0.72, color=colours, zorder=2)
    if masked and at < n - 1:
        dashed = {"linestyle": (0, (3, 2)), "linewidth": 1.2, "zorder": 3}
        axes.bar(range(at + 1, n), free[at + 1 :], width=0.72, fill=False, edgecolor=MUTED, **dashed)
        axes.hlines(free[: at + 1], np.arange(at + 1) - 0.34, np.arange(at + 1) + 0.34, color=PAPER, **dashed)
    size = fit_font_size("0.00", TEXT, slot * 0.92)
    for j, weight in enumerate(weights):
        hidden = masked and j > at
        text, colour = ("×", MUTED) if hidden else (number_text(weight), colours[j])
        top = max(weight, free[j]) if masked else weight
        above = {"textcoords": "offset points", "ha": "center", "va": "bottom", "zorder": 4}
        axes.annotate(text, (j, top), (0, 2), size=size, color=colour, **above)
    axes.set_xticks(range(n), labels, size=SMALL)
    if steep:
        for text in axes.get_xticklabels():
            text.set(rotation=45, rotation_mode="anchor", ha="right", va="center")
    axes.get_xticklabels()[at].set(weight="bold", color=BLUE)
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"], size=SMALL)
    axes.set_ylabel(f"weight that {labels[at]} gives")
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)

    ahead = float(weights[at + 1 :].sum())
    may = ", ".join(names[: at + 1] if masked else names)
    default = f"{names[at]!r} gives {number_text(ahead)} of its weight to the future"
    alt = f"The query is {names[at]}; it may attend to: {may}. Weights: {list_values(names, weights)}."
    if masked and at < n - 1:
        alt += f"\nWithout the mask (dashed): {list_values(names, free)}."
    return finish_picture(figure, title, default, alt)


@course_theme()
def dropped(weights: ArrayLike, after: ArrayLike, tokens: Sequence[str], title: str | None = None) -> Picture:
    """Draw causal weights before and after dropout, side by side, with the sum of each row; × marks a dropped weight.

    Args:
        weights: [seq, seq] weights before dropout, at most 8 positions.
        after: [seq, seq] weights after dropout; a positive weight that is 0 here was dropped.
        tokens: seq strings.

    Raises:
        ValueError: if the tables are not square, differ in shape or are too large, or the number of tokens is wrong.
    """
    expected = "a table of weights [seq, seq]"
    before = _parse_square(weights, "weights", expected, MOST_NUMBERS)
    left_over = _parse_square(after, "after", expected, MOST_NUMBERS)
    if before.shape != left_over.shape:
        raise ValueError(f"weights has {len(before)} positions, but after has {len(left_over)}.")
    names = parse_names(tokens, len(before), "tokens", "positions")
    figure, n, gone = new_figure(), len(names), (left_over == 0) & (before > 0)
    labels = [token_label(name) for name in names]
    side = min(0.36, (WIDEST - 2 * PAD - 1.6 - max(text_width(label, SMALL) for label in labels)) / (2 * n))
    for k, (name, values) in enumerate((("weights", before), ("after dropout", left_over))):
        axes = new_axes(figure, 2 + k * (side * n + 0.75), 2, side * n, side * n)
        kept = np.ma.masked_equal(values, 0)
        axes.imshow(kept, cmap=SEQUENTIAL, vmin=0, vmax=max(1, left_over.max()), aspect="auto")
        write_numbers(axes, kept, side)
        axes.set_title(name, size=SMALL + 1, weight="bold", pad=6)
        axes.set_yticks(range(n), labels if k == 0 else [""] * n, size=SMALL)
        axes.set_xticks(range(n), labels, size=SMALL, rotation=90)
        axes.tick_params(length=0)
        draw_cell_borders(axes, values.shape, PAPER, 1.2)
        axes.spines[:].set_visible(False)
        for i, total in enumerate(values.sum(axis=1)):
            axes.text(n - 0.4, i, number_text(total), va="center", size=SMALL, color=MUTED)
        axes.text(n - 0.4, -0.75, "sum", va="center", size=SMALL, color=MUTED)
        if k:
            for i, j in zip(*gone.nonzero()):
                axes.text(j, i, "×", ha="center", va="center", size=TEXT + 2, weight="bold", color=VERMILION)
    lost = (f"{names[i]} loses {', '.join(names[j] for j in row.nonzero()[0]) or 'none'}" for i, row in enumerate(gone))
    sums = list_values(names, left_over.sum(axis=1))
    count = f"Dropout removes {int(gone.sum())} of {int((before > 0).sum())} weights"
    alt = f"{count}: {'; '.join(lost)}.\nRow sums after dropout: {sums}."
    return finish_picture(figure, title, "Which weights dropout removes, and which it enlarges", alt)


def _parse_position(position: Any, names: Sequence[str]) -> int:
    if isinstance(position, str):
        name = escape_invisible(position)
        if name not in names:
            raise ValueError(f"no token is {name!r}; the tokens are: {', '.join(names)}.")
        return names.index(name)
    return parse_integer(position, "position", 0, len(names) - 1, what="a token or a number")
