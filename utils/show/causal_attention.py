"""One position among the others: what it may use, how it shares its unit of attention, and what the mask changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show.arguments import read_names, read_numbers, read_whole
from utils.show.colours import BLUE, FAINT, MUTED, NO, PAPER, VERMILION
from utils.show.page import Picture, finish, new_axes, new_page, themed
from utils.show.sizes import PAD, SMALL, TEXT, WIDEST
from utils.show.words import fitting_size, listed, number_text, text_width, token_label

MOST_POSITIONS = 16


def read_scores(scores: Any, tokens: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """A square table of finite scores and the names of its positions."""
    values = read_numbers(scores, "scores", [2], "a table of scores [seq, seq], before the softmax")
    if values.shape[0] != values.shape[1] or not 2 <= len(values) <= MOST_POSITIONS:
        shape = f"{values.shape[0]} × {values.shape[1]}"
        raise ValueError(f"scores is {shape}; expected a square table of 2 to {MOST_POSITIONS} positions.")
    return values, read_names(tokens, len(values), "tokens", "positions")


def shares(row: np.ndarray, seen: int) -> np.ndarray:
    """The softmax of the first `seen` scores of a row, and 0 for the rest."""
    powers = np.exp(np.where(np.arange(len(row)) < seen, row, -np.inf) - row[:seen].max())
    return powers / powers.sum()


@themed
def causal(
    scores: Any, tokens: Sequence[str], position: int | str, masked: bool = True, title: str | None = None
) -> Picture:
    """The weights of one position over the sequence: past and itself in blue, the future in orange or, masked, struck
    out.

    With the mask on, dashed outlines show the weights without it.

    Args:
        scores: [seq, seq] scores, already scaled, before the softmax; finite; at most 16 positions.
        tokens: seq strings.
        position: the position that asks, by number or by its token (the first that matches).
        masked: hide what comes after `position`.
        title: by default how much of the unit the future gets.

    Raises:
        ValueError: wrong shape, a score that is not finite, the wrong number of tokens, an unknown position.
    """
    values, names = read_scores(scores, tokens)
    at = _read_position(position, names)
    n = len(names)
    free = shares(values[at], n)
    weights = shares(values[at], at + 1) if masked else free

    figure = new_page()
    labels = [token_label(name) for name in names]
    widest = max(text_width(label, SMALL) for label in labels)
    slot = min(0.78, (WIDEST - 2 * PAD - 0.4) / n)
    steep = widest > slot * 0.94
    if steep:  # names that lean to the left need room there
        slot = min(slot, (WIDEST - 2 * PAD - max(0.4, text_width(labels[0], SMALL) * 0.75)) / n)
    axes = new_axes(figure, 2, 2, slot * n, 2.0)
    axes.set_xlim(-0.5, n - 0.5)
    axes.set_ylim(0, 1.14)
    if at < n - 1:
        axes.axvspan(at + 0.5, n - 0.5, color=NO, zorder=0)
        notes = (
            ("hidden (dashed: without the mask)", "hidden (dashed: before)", "hidden")
            if masked
            else ("not written yet", "ahead")
        )
        fitting = [note for note in notes if text_width(note, SMALL) <= slot * (n - 1 - at) - 0.1]
        if fitting:
            axes.text(at + 0.5 + 0.06 / slot, 1.1, fitting[0], va="top", size=SMALL, color=MUTED)
    colours = [BLUE if j <= at else VERMILION for j in range(n)]
    axes.bar(range(n), weights, width=0.72, color=colours, zorder=2)
    if masked and at < n - 1:
        dashed = {"linestyle": (0, (3, 2)), "linewidth": 1.2, "zorder": 3}
        axes.bar(range(at + 1, n), free[at + 1 :], width=0.72, fill=False, edgecolor=MUTED, **dashed)
        axes.hlines(free[: at + 1], np.arange(at + 1) - 0.34, np.arange(at + 1) + 0.34, color=PAPER, **dashed)
    size = fitting_size("0.00", TEXT, slot * 0.92)
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
    alt = f"{names[at]} asks and may use: {may}. Weights: {listed(names, weights)}."
    if masked and at < n - 1:
        alt += f"\nDashed, without the mask: {listed(names, free)}."
    return finish(figure, title, default, alt)


def _read_position(position: Any, names: Sequence[str]) -> int:
    if isinstance(position, str):
        if position not in names:
            raise ValueError(f"no token is {position!r}; there are: {', '.join(names)}.")
        return names.index(position)
    return read_whole(position, "position", 0, len(names) - 1, what="a token or a number")
