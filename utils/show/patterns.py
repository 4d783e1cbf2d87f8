"""Draw attention patterns of several heads: with circuitsvis if its script can run, otherwise as small tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from utils.show.arguments import parse_names, parse_numbers, parse_title, require_unit_interval, shape_text
from utils.show.circuitsvis import AttentionHeadsPicture
from utils.show.colours import INK, SEQUENTIAL
from utils.show.drawing_types import ArrayLike
from utils.show.marks import draw_colour_bar, write_numbers
from utils.show.picture import Picture, course_theme, finish_picture, new_axes, new_figure
from utils.show.sizes import BENCH, MOST_NUMBERS, PAD, SMALL, SMALLEST, WIDEST
from utils.show.text_format import (
    count_text,
    distinguish_names,
    fit_font_size,
    number_text,
    text_width,
    token_label,
    truncate_text,
)

MOST_HEADS, MOST_TOKENS = 32, 64
ACROSS = 4  # the number of small tables in a row


@course_theme()
def _draw_heads(names: list[str], called: list[str], values: np.ndarray, title: str) -> Picture:
    heads, n = values.shape[:2]
    across = 3 if heads in (5, 6, 9) else min(ACROSS, heads)
    texts = [token_label(name, 13) for name in names]
    size = SMALL if n <= 8 else SMALLEST
    left = max(text_width(text, size) for text in texts) + 0.3
    gap, above = 0.16, 0.26
    side = (WIDEST - 2 * PAD - left - 0.5 - gap * (across - 1)) / across
    side = min(side, 0.34 * n if heads > 1 else 0.5 * n, 3.6)
    step = max(1, math.ceil(size * 1.1 / 72 / (side / n)))
    figure = new_figure()
    top = BENCH - 1
    for k in range(heads):
        row, column = divmod(k, across)
        axes = new_axes(figure, 1 + left + column * (side + gap), top - side - row * (side + above), side, side)
        axes.imshow(values[k], cmap=SEQUENTIAL, vmin=0, vmax=1, aspect="auto")
        if heads > 1:
            label = token_label(called[k], 26)
            axes.set_title(label, size=fit_font_size(label, SMALL, side + gap - 0.06), color=INK, pad=3)
        axes.tick_params(length=0, pad=2)
        axes.set_yticks(range(0, n, step) if column == 0 else [], texts[::step] if column == 0 else [], size=size)
        lowest = k + across >= heads  # no other table is below this one
        axes.set_xticks(range(0, n, step) if lowest else [], texts[::step] if lowest else [], size=size, rotation=90)
        if column == 0:
            axes.set_ylabel("query (asks)" if side > 0.9 else "query", size=SMALL, labelpad=2)
        if lowest:
            axes.set_xlabel("key (answers)" if side > 0.9 else "key", size=SMALL, labelpad=2)
        axes.spines[:].set_visible(False)
        if n <= MOST_NUMBERS and side / n >= 0.28:
            write_numbers(axes, values[k], side / n)
    tall = min(side, 1.6)
    image = figure.axes[-1].images[0]
    draw_colour_bar(image, 1 + left + across * (side + gap), top - tall, 0.1, tall, [0, 0.5, 1], ["0", "0.5", "1"])
    what = f"Attention weights of {count_text(heads, 'head')} over {count_text(n, 'token')}, queries down, keys across."
    texts = [f"{head}: {text}" for head, text in zip(called, _describe_heads(names, values))]
    return finish_picture(figure, title, "", "\n".join([what, *texts]))


def _describe_heads(names: Sequence[str], values: np.ndarray) -> list[str]:
    """Describe the largest weight of each query, for each head.

    If there are more than 8 tokens, give three average weights instead: on the previous token, on the query's own token
    and on the first token. These averages leave out the queries at positions 0 and 1. Also name the key with the
    largest average weight, and give the largest weight.
    """
    lines, unique = [], distinguish_names(names)
    for table in values:
        if len(names) <= 8:
            favourites = zip(unique, table.argmax(axis=1), table.max(axis=1))
            tops = [f"{name} → {unique[j]} {number_text(weight)}" for name, j, weight in favourites]
            lines.append(f"{', '.join(tops)}.")
        else:
            mean = table.mean(axis=0)
            j, (a, b) = int(mean.argmax()), _largest(table)
            previous, own, first = (x.mean() for x in (table.diagonal(-1)[1:], table.diagonal()[2:], table[2:, 0]))
            lines.append(
                f"on average {number_text(previous)} on the previous token, {number_text(own)} on the token itself and "
                f"{number_text(first)} on the first; "
                f"attends most to {names[j]} (position {j}), {number_text(mean[j])} on average; "
                f"its largest weight is {unique[a]} → {unique[b]}, {number_text(table[a, b])}."
            )
    return lines


def _largest(values: np.ndarray) -> tuple[int, ...]:
    """Return the position of the largest weight. Ignore the first query if it sees only itself: its weight is 1."""
    is_alone = values.shape[-2] > 1 and not values[..., 0, 1:].any()
    later = values[..., 1:, :] if is_alone else values
    at = [int(i) for i in np.unravel_index(later.argmax(), later.shape)]
    at[-2] += values.shape[-2] - later.shape[-2]
    return tuple(at)


def attention(
    tokens: Sequence[str], patterns: ArrayLike, title: str | None = None, heads: Sequence[str] | None = None
) -> AttentionHeadsPicture:
    """Draw every head's attention pattern.

    A notebook shows a circuitsvis figure, in which the reader can choose a head and point at its weights. If
    circuitsvis cannot run, the notebook shows small tables.

    Args:
        tokens: seq strings, at most 64.
        patterns: [heads, seq, seq] weights between 0 and 1, or [seq, seq] for one head; at most 32 heads.
        title: by default, the largest weight.
        heads: a unique name for each head; by default head 0, head 1, …

    Raises:
        ValueError: if `patterns` has the wrong shape or contains nan or a number outside 0…1, or if the number of
            tokens or the names of heads are wrong.
    """
    expected = "[heads, seq, seq], or [seq, seq] for one head"
    values = parse_numbers(patterns, "patterns", [2, 3], expected)
    values = values[None] if values.ndim == 2 else values
    count, n, m = values.shape
    if n != m:
        square = "as many keys (across) as queries (down)"
        raise ValueError(f"patterns has the shape {shape_text(values)}; expected {expected}: {square}.")
    if count > MOST_HEADS:
        raise ValueError(f"attention draws at most {MOST_HEADS} heads; got {count}. Draw some, as in patterns[:12].")
    if n > MOST_TOKENS:
        raise ValueError(f"attention draws at most {MOST_TOKENS} tokens; got {n}. Choose a shorter text.")
    require_unit_interval(values, "patterns", "Are these scores? Take their softmax.", tolerance=1e-4)
    values = values.clip(0, 1)
    names = parse_names(tokens, n, "tokens", "positions")
    called = parse_names([f"head {k}" for k in range(count)] if heads is None else heads, count, "heads", "patterns")
    if len(set(called)) < count:
        raise ValueError(f"the names in heads must differ, so that you can choose a head; got {', '.join(called)}.")
    k, i, j = _largest(values)
    default = f"The largest weight: {names[i]!r} → {names[j]!r}, {number_text(values[k, i, j])}"
    title = parse_title(title, default if count == 1 else f"{default} in {called[k]}")
    picture = _draw_heads(names, called, values, title)
    props = {
        "tokens": [truncate_text(name, 24) for name in names],
        "attention": values.round(4).tolist(),
        "attentionHeadNames": called,
        "descriptions": _describe_heads(names, values),
        "minValue": 0,
        "maxValue": 1,
        "maskUpperTri": False,  # so that weights of 0 have a colour, as in the static picture
    }
    return AttentionHeadsPicture(picture.figure, picture.alt, title, props)
