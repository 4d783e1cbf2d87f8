"""Draw the letter sorter: how its weights are computed, and how it writes an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show.arguments import parse_numbers, require_unit_interval, shape_text
from utils.show.colours import DIVERGING, INK, MUTED, SEQUENTIAL, SERIES, VERMILION
from utils.show.drawing_types import ArrayLike
from utils.show.marks import hide_frame, write_numbers
from utils.show.picture import Picture, course_theme, finish_picture, new_axes, new_figure
from utils.show.sizes import BENCH, SMALL, TEXT
from utils.show.text_format import list_values, number_text, token_label

CELL = 0.36  # inches


@course_theme()
def gates(gate: ArrayLike, base: ArrayLike | None = None, title: str | None = None) -> Picture:
    """Draw the equation gate × base = weight, with one row for each head.

    Without `base`, draw only the gate.

    Args:
        gate: [heads, embed_dim, d_head] numbers between 0 and 1; at most 4 heads of 8 × 8.
        base: [heads, embed_dim, d_head] numbers, or None for the strict variant.

    Raises:
        ValueError: if `gate` or `base` has the wrong shape, or `gate` contains a number outside 0…1.
    """
    shares = parse_numbers(gate, "gate", [3], "[heads, embed_dim, d_head]")
    require_unit_interval(shares, "gate", "")
    if len(shares) > 4 or max(shares.shape[1:]) > 8:
        raise ValueError(f"gates draws at most 4 heads of 8 × 8; got {shape_text(shares)}.")
    tables = [("gate: softmax(A @ B)", shares)]
    if base is not None:
        free = parse_numbers(base, "base", [3], "[heads, embed_dim, d_head]")
        if free.shape != shares.shape:
            raise ValueError(
                f"base has the shape {shape_text(free)} and gate {shape_text(shares)}; expected equal shapes."
            )
        tables += [("base", free), ("weight = gate × base", shares * free)]
    limit = max([float(np.abs(values).max()) for _, values in tables[1:]] or [1.0])
    heads, rows, columns = shares.shape
    width, height = columns * CELL, rows * CELL
    figure, words = new_figure(), []
    for h in range(heads):
        y = BENCH - 1 - (h + 1) * height - h * 0.3
        for k, (name, values) in enumerate(tables):
            axes = new_axes(figure, 2 + k * (max(width, 1.35) + 0.45), y, width, height)
            low, high, colours = (-limit, limit, DIVERGING) if k else (0, 1, SEQUENTIAL)
            axes.imshow(values[h], cmap=colours, vmin=low, vmax=high, aspect="auto")
            write_numbers(axes, values[h], CELL, SMALL)
            hide_frame(axes)
            if h == 0:
                axes.set_title(name, size=SMALL, color=MUTED, pad=5)
            if k == 0:
                axes.set_ylabel(f"head {h}", color=SERIES[h], weight="bold")
            else:
                place: dict[str, Any] = dict(
                    transform=axes.transAxes, ha="center", va="center", size=TEXT + 3, color=MUTED
                )
                axes.text(-0.22 / width, 0.5, " ×="[k], **place)
            flat = "; ".join(", ".join(map(number_text, row)) for row in values[h])
            words.append(f"Head {h}, {name}: {flat}.")
    whole = "Without a base, the gate itself is the weight"
    default = whole if base is None else "A gate lets a fraction of the base through"
    return finish_picture(figure, title, default, "\n".join(words))


@course_theme()
def trace(steps: Sequence[Any], title: str | None = None) -> Picture:
    """Draw how the sorter writes its answer: each row shows one letter, the weights of all heads and the probabilities.

    Args:
        steps: the result of `utils.models.abc_sorter.trace(model, letters)`; each step has `.prefix`, `.probs`,
            `.weights` and `.chosen`.

    Raises:
        ValueError: if `steps` is empty or not such a result, or the weights of a step are not a table of numbers.
    """
    steps = list(steps)
    if not steps or not all(hasattr(step, "prefix") and hasattr(step, "weights") for step in steps):
        raise ValueError(f"steps must be the result of utils.models.abc_sorter.trace(model, letters); got {steps!r}.")
    longest = max(len(step.prefix) for step in steps)
    figure, words = new_figure(), []
    side, bars, gap, pitch = CELL, 1.55, 0.55, 1.12
    for k, step in enumerate(steps):
        y = BENCH - 1 - (k + 1) * pitch
        weights = parse_numbers(step.weights, "weights", [2], "[heads, seq]")
        heads, seq = weights.shape
        axes = new_axes(figure, 2, y + (0.72 - heads * side) / 2 + 0.06, longest * side, heads * side)
        padded = np.pad(weights, ((0, 0), (0, longest - seq)), constant_values=np.nan)
        shown = np.ma.masked_invalid(padded)  # a masked cell has no colour and no number
        axes.imshow(shown, cmap=SEQUENTIAL, vmin=0, vmax=1, aspect="auto")
        write_numbers(axes, shown, side, SMALL - 1)
        hide_frame(axes)
        axes.set_yticks(range(heads), [f"head {h}" for h in range(heads)], size=SMALL)
        axes.xaxis.tick_top()
        axes.set_xticks(range(len(step.prefix)), list(step.prefix), size=TEXT + 1, weight="bold")
        axes.tick_params(length=0, pad=2)
        chart = new_axes(figure, 2 + longest * side + gap, y + 0.06, bars, 0.72)
        names, values = list(step.probs), list(step.probs.values())
        colours = [VERMILION if name == step.chosen else MUTED for name in names]
        chart.barh(range(len(names)), values, height=0.66, color=colours)
        chart.set(xlim=(0, 1.32), ylim=(len(names) - 0.5, -0.5))
        for i, value in enumerate(values):
            chart.text(value + 0.04, i, f"{value:.3f}", va="center", size=SMALL, color=INK)
        hide_frame(chart)
        chart.set_yticks(range(len(names)), [f"p({token_label(name)})" for name in names], size=SMALL)
        chart.tick_params(length=0)
        large: dict[str, Any] = dict(
            size=TEXT + 3, weight="bold", color=VERMILION, transform=chart.transAxes, va="center"
        )
        chart.text(1.06, 0.5, f"→ {step.chosen}", **large)
        looked = "; ".join(f"head {h}: {list_values(list(step.prefix), row)}" for h, row in enumerate(weights))
        chances = ", ".join(f"p({name}) {value:.3f}" for name, value in step.probs.items())
        words.append(f"Step {k + 1}: sees {step.prefix}, {chances}, writes {step.chosen}. {looked}.")
    asked = steps[0].prefix.rstrip("·")
    answer = "".join(step.chosen for step in steps)
    return finish_picture(figure, title, f"{asked} becomes {answer}, one letter at a time", "\n".join(words))
