"""Draw the opening figures of lesson 02: two translators, and the four variants of attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from utils.show.arguments import parse_names
from utils.show.colours import BLUE, FAINT, GREEN, INK, MUTED, NO, PAPER, SERIES, TINTS, VERMILION
from utils.show.drawing_types import Axes
from utils.show.marks import draw_arrow, draw_rounded_box
from utils.show.picture import Picture, course_theme, finish_picture, new_canvas
from utils.show.sizes import SMALL, TEXT
from utils.show.text_format import escape_invisible, fit_font_size, token_label

MOST_WORDS = 8
WIDE = 5.7  # inches, like all positions below
HIGH, UP, DOWN = 0.26, 0.48, 1.2  # height of a state's box; y of the encoder's boxes; y of the decoder's boxes
APART = 2.0  # the distance between the two translators


@course_theme()
def looking_back(
    read: Sequence[str], written: Sequence[str], asks: str, finds: str, title: str | None = None
) -> Picture:
    """Draw a translator that uses a single state and, below it, a translator that looks back at every state.

    Args:
        read: the words that the encoder reads, 2 to 8.
        written: the words that the decoder writes, 2 to 8.
        asks: the written word that looks back.
        finds: the word whose state `asks` needs most. The line from this state is wider.

    Raises:
        ValueError: if there are not 2 to 8 words, `asks` does not occur exactly once in `written`, or `finds` does not
            occur exactly once in `read`.
    """
    asks, finds = escape_invisible(asks), escape_invisible(finds)
    words = {"read": _parse_words(read, "read"), "written": _parse_words(written, "written")}
    for name, where, given in (("asks", "written", asks), ("finds", "read", finds)):
        if words[where].count(given) != 1:
            raise ValueError(f"{name} must be one of the {where} words and occur there once; got {given!r}.")
    source, target = words.values()
    at, found = target.index(asks), source.index(finds)
    figure, axes = new_canvas(0.5, 0.5, WIDE, 2 * APART - 0.4)
    end = len(source) - 1
    (*_, last), (first, *_) = _draw_translator(axes, 0, "One state for everything", source, target, end, VERMILION)
    turn = UP + HIGH + 0.13
    axes.plot([last, last, first], [UP + HIGH, turn, turn], color=VERMILION, linewidth=1.6)
    draw_arrow(axes, (first, turn), (first, DOWN), VERMILION, 1.6, 9)
    states, boxes = _draw_translator(axes, APART, "Looking back at every state", source, target, found, BLUE)
    for j, x in enumerate(states):
        width, alpha = (3.2, 1.0) if j == found else (0.9, 0.6)
        ends = [x, boxes[at]], [APART + UP + HIGH, APART + DOWN]
        axes.plot(*ends, color=BLUE, zorder=1, linewidth=width, alpha=alpha)
    alt = (
        f"Two translators, one above the other. Both read {' '.join(source)!r} and write {' '.join(target)!r}. "
        "The encoder keeps a state for each word that it reads, and each state is computed from the previous state. "
        "Above, only the last state reaches the decoder: one state for everything. Below, the decoder looks back: "
        f"lines lead from all {len(source)} states to the word {asks!r}, and the line from {finds!r} is the widest."
    )
    return finish_picture(figure, title, "The decoder gets one state, or looks back at all of them", alt)


def _parse_words(given: Any, name: str) -> list[str]:
    words = parse_names(given, None, name)
    if not 2 <= len(words) <= MOST_WORDS:
        raise ValueError(f"{name} must hold 2 to {MOST_WORDS} words; got {len(words)}.")
    return words


def _draw_translator(
    axes: Axes, y: float, title: str, source: Sequence[str], target: Sequence[str], marked: int, colour: str
) -> list[list[float]]:
    """Draw an encoder above a decoder, with one state marked. Return the x positions of the boxes in both rows."""
    axes.text(0, y + 0.1, title, weight="bold", va="center", size=TEXT)
    left, rows = 0.85, []
    for name, words, row, label, edge in (
        ("encoder", source, y + UP, -0.12, MUTED),
        ("decoder", target, y + DOWN, HIGH + 0.13, GREEN),
    ):
        middle, step = row + HIGH / 2, (WIDE - left) / len(words)
        axes.text(0, middle, name, va="center", size=SMALL, color=MUTED)
        half, places = step * 0.3, [left + (j + 0.5) * step for j in range(len(words))]
        for j, (word, x) in enumerate(zip(words, places)):
            heavy = words is source and j == marked
            look = {"linewidth": 1.6 if heavy else 1.0, "zorder": 3}
            fill = {VERMILION: TINTS[1], BLUE: TINTS[0]}[colour] if heavy else PAPER
            draw_rounded_box(axes, x - half, row, 2 * half, HIGH, fill, colour if heavy else edge, 0.05, **look)
            text = token_label(word)
            axes.text(x, row + label, text, ha="center", va="center", size=fit_font_size(text, SMALL, step - 0.05))
            if j:
                draw_arrow(axes, (places[j - 1] + half, middle), (x - half, middle), edge, 1.0)
        rows.append(places)
    return rows


STEPS = (
    ("simplified", "lesson 02", "each word looks at\nall words of its\nown sentence"),
    ("trainable", "lesson 03", "three matrices\ndecide what to\nlook for"),
    ("causal", "lesson 04", "no word sees the\nwords after it, so\nthe model can write"),
    ("multi-head", "lesson 05", "several heads\nlook for different\nthings at once"),
)


@course_theme()
def variants(title: str | None = None) -> Picture:
    """Draw the four variants of attention, each with a table of its visible keys and a note on what is new."""
    figure, axes = new_canvas(0.5, 0.5, WIDE, 1.95)
    pitch, top, side = WIDE / len(STEPS), 0.72, 0.6
    for k, (name, lesson, new) in enumerate(STEPS):
        left = k * pitch + 0.06
        axes.text(left, 0.1, f"{k + 1}  {name}", weight="bold", va="center")
        axes.text(left, 0.29, lesson, size=SMALL, color=MUTED, va="center")
        for back in (2, 1, 0) if k == 3 else (0,):
            shift = 0.11 * back
            _draw_attention_table(axes, left + shift, top - shift, side, TINTS[back], SERIES[back], causal=k >= 2)
        if k == 1:
            for row, matrix in enumerate(("W_query", "W_key", "W_value")):
                axes.text(left + side + 0.06, top + 0.1 + 0.2 * row, matrix, size=SMALL - 1.5, color=MUTED, va="center")
        axes.text(left, top + side + 0.12, new, size=SMALL - 0.5, color=INK, va="top", linespacing=1.3)
        if k:
            draw_arrow(axes, (left - 0.3, 0.1), (left - 0.08, 0.1), MUTED, 1.2, 9)
    parts = "; ".join(
        f"{k + 1}. {name} ({lesson}): {' '.join(new.split())}" for k, (name, lesson, new) in enumerate(STEPS)
    )
    alt = (
        f"Four variants of self-attention from left to right. {parts}. The first two are drawn as full tables of who "
        "looks at whom, the third as a lower triangle, the fourth as three lower triangles, one behind the other."
    )
    return finish_picture(figure, title, "Four steps lead to GPT's attention; each adds one thing", alt)


def _draw_attention_table(
    axes: Axes, x: float, y: float, side: float, fill: str, edge: str, causal: bool, n: int = 4
) -> None:
    """Draw a table of queries and keys. Visible keys are filled."""
    from matplotlib.patches import Rectangle

    cell = side / n
    axes.add_patch(Rectangle((x, y), side, side, facecolor=NO, edgecolor=FAINT, linewidth=0.8))
    for i in range(n):
        for j in range(i + 1 if causal else n):
            place = (x + j * cell, y + i * cell)
            axes.add_patch(Rectangle(place, cell, cell, facecolor=fill, edgecolor=edge, linewidth=0.8))
