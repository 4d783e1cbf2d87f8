"""Draw how entries are split into heads, how one matrix computes all heads' queries, and GPT-2's `c_attn`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from utils.show.arguments import parse_integer
from utils.show.colours import INK, MUTED, PAPER, TINTS
from utils.show.drawing_types import Figure
from utils.show.marks import draw_cell_borders, hide_frame
from utils.show.picture import Picture, course_theme, finish_picture, new_axes, new_chart, new_figure
from utils.show.sizes import SMALL, TEXT, WIDEST
from utils.show.text_format import fit_font_size, token_label

CELL, GAP = 0.19, 0.3  # inches: the side of a cell, and the space for the operator between two tables


@course_theme()
def cuts(
    ways: Mapping[str, Callable[[Float[Tensor, "1 seq d_out"], int], Float[Tensor, "1 num_heads seq d_head"]]],
    seq: int = 4,
    d_out: int = 4,
    num_heads: int = 2,
    title: str | None = None,
) -> Picture:
    """Draw a table of positions and entries for each way to split the entries into heads. Each cell names its head.

    Args:
        ways: {name: function}, one to three; each function takes x [1, seq, d_out] and num_heads, and returns [1,
            num_heads, seq, d_head].
        seq, d_out, num_heads: at most 8 positions, 8 entries and 6 heads.

    Raises:
        ValueError: if a size does not fit, or a function returns the wrong shape, or loses or repeats an entry.
    """
    if not isinstance(ways, Mapping) or not 1 <= len(ways) <= 3:
        raise ValueError("ways must be a dict of one to three functions, as in {'split_heads': split_heads}.")
    if not (1 <= seq <= 8 and 1 <= d_out <= 8 and 1 <= num_heads <= len(TINTS)) or d_out % num_heads:
        raise ValueError(
            f"cuts draws up to 8 × 8 cells, divided equally among up to {len(TINTS)} heads; got {seq} × {d_out} cells"
            f" and {num_heads} heads."
        )
    from matplotlib.colors import ListedColormap

    numbered = torch.arange(seq * d_out, dtype=torch.float32).view(1, seq, d_out)
    figure, words, cell = new_figure(), [], min(0.5, 2.2 / d_out)
    for k, (name, split) in enumerate(ways.items()):
        given = _entries_per_head(name, split(numbered.clone(), num_heads), num_heads, seq * d_out)
        owner = np.empty(seq * d_out, dtype=int)
        for head, cells in enumerate(given):
            owner[cells] = head
        owner = owner.reshape(seq, d_out)
        axes = new_axes(figure, 2 + k * (cell * d_out + 0.55), 2, cell * d_out, cell * seq)
        axes.imshow(owner, cmap=ListedColormap(TINTS[:num_heads]), vmin=-0.5, vmax=num_heads - 0.5, aspect="auto")
        for (i, j), head in np.ndenumerate(owner):
            axes.text(j, i, f"h{head}", ha="center", va="center", size=SMALL, color=INK)
        axes.set_xticks(range(d_out), [str(j) for j in range(d_out)], size=SMALL)
        axes.set_yticks(range(seq), [f"position {i}" for i in range(seq)] if k == 0 else [""] * seq, size=SMALL)
        axes.set_xlabel("entry")
        axes.tick_params(length=0)
        draw_cell_borders(axes, owner.shape, PAPER, 1.5)
        axes.spines[:].set_visible(False)
        axes.set_title(token_label(name, 28), size=SMALL + 1, weight="bold", pad=6)
        rows = (f"the entries of position {i} go to heads {', '.join(map(str, row))}" for i, row in enumerate(owner))
        words.append(f"{name}: {'; '.join(rows)}.")
    return finish_picture(figure, title, "Which head gets which entry", "\n".join(words))


def _entries_per_head(name: str, heads: Any, num_heads: int, total: int) -> list[list[int]]:
    """Return the entries that each head gets.

    Raises:
        ValueError: the result has the wrong shape, or an entry belongs to no head or to two heads.
    """
    if not isinstance(heads, Tensor) or heads.dim() != 4 or heads.shape[:2] != (1, num_heads):
        shape = list(heads.shape) if isinstance(heads, Tensor) else type(heads).__name__
        raise ValueError(f"{name!r} returned {shape}; expected [1, {num_heads}, seq, d_head].")
    cells = heads[0].flatten(1).int().tolist()
    if sorted(cell for head in cells for cell in head) != list(range(total)):
        raise ValueError(f"{name!r} must give every entry to exactly one head.")
    return cells


@course_theme()
def one_matrix(seq: int = 6, d_in: int = 3, d_head: int = 2, num_heads: int = 2, title: str | None = None) -> Picture:
    """Draw two ways to compute the queries of several heads: one product for each head, or one for all heads.

    Each head has its own tint.

    Args:
        seq, d_in, d_head: at most 8 each.
        num_heads: 2 or 3; num_heads · d_head must be at most 8.

    Raises:
        ValueError: if a size does not fit.
    """
    if not (1 <= seq <= 8 and 1 <= d_in <= 8 and 2 <= num_heads <= 3 and 1 <= d_head <= 8 // num_heads):
        raise ValueError(
            f"one_matrix draws 2 or 3 heads in up to 8 × 8 cells; got {seq=}, {d_in=}, {d_head=}, {num_heads=}."
        )
    figure, tall = new_figure(), CELL * max(seq, d_in) + 0.55
    right = 1 + CELL * (d_in + 2 * d_head) + 2 * GAP + 0.7
    for head in range(num_heads):
        name = f"wrapper: {num_heads} products" if head == 0 else ""
        _draw_product(figure, 1, 8 - head * tall, (seq, d_in), [head] * d_head, f"_{head}", name)
    every = [head for head in range(num_heads) for _ in range(d_head)]
    _draw_product(figure, right, 8 - (num_heads - 1) * tall / 2, (seq, d_in), every, "", "one product, then cut")
    alt = (
        f"Left, the wrapper: {num_heads} products of x [{seq}, {d_in}], each with its own W_query [{d_in}, {d_head}],"
        f" give {num_heads} results [{seq}, {d_head}]. Right: one W_query [{d_in}, {len(every)}] has the same columns"
        f" side by side; one product gives [{seq}, {len(every)}], and its first {d_head} columns are the queries of"
        " head 0."
    )
    return finish_picture(figure, title, "The same columns, side by side in one matrix", alt)


def _draw_product(
    figure: Figure, x: float, y: float, size: tuple[int, int], owners: list[int], suffix: str, title: str
) -> None:
    """Draw x @ W = Q as tables of cells. W and Q have one column for each item in `owners`."""
    from matplotlib.colors import to_rgba_array

    seq, d_in = size
    tables = (("x", seq, [-1] * d_in), (f"W_query{suffix}", d_in, owners), (f"Q{suffix}", seq, owners))
    for (name, rows, columns), sign in zip(tables, "@= "):
        width = CELL * len(columns)
        axes = new_axes(figure, x, y + CELL * (seq - rows) / 2, width, CELL * rows)
        axes.imshow(to_rgba_array([TINTS[owner] for owner in columns] * rows).reshape(rows, -1, 4), aspect="auto")
        hide_frame(axes)
        draw_cell_borders(axes, (rows, len(columns)), PAPER, 1.2)
        axes.set_xlabel(f"{name}\n[{rows}, {len(columns)}]", size=SMALL - 1, labelpad=3)
        axes.text(1 + GAP / 2 / width, 0.5, sign, ha="center", va="center", size=TEXT, transform=axes.transAxes)
        if name == "x":
            axes.set_title(title, size=SMALL + 1, weight="bold", loc="left", pad=6)
        x += width + GAP


@course_theme()
def packed(n_heads: int, d_model: int, head: int = 0, title: str | None = None) -> Picture:
    """Draw GPT-2's `c_attn`, [d_model, 3 d_model], with one head outlined.

    The query columns of all heads come first, then the key columns, then the value columns.

    Args:
        n_heads: at most 25.
        d_model: divisible by n_heads.
        head: the head to outline.

    Raises:
        ValueError: if `n_heads` or `head` is out of range, or `d_model` is not divisible by `n_heads`.
    """
    n_heads = parse_integer(n_heads, "n_heads", 1, 25)
    head = parse_integer(head, "head", 0, n_heads - 1)
    d_model = parse_integer(d_model, "d_model", n_heads)
    if d_model % n_heads:
        raise ValueError(f"d_model is {d_model} and n_heads is {n_heads}; d_model must be divisible by n_heads.")
    from matplotlib.patches import Rectangle

    d_head = d_model // n_heads
    figure, axes = new_chart(2, 2, WIDEST - 1.0, 0.8)
    axes.set(xlim=(0, 3 * n_heads), ylim=(0, 1))
    hide_frame(axes)
    size = fit_font_size("00", SMALL, 0.9 * (WIDEST - 1.0) / (3 * n_heads), bold=True)
    for part, name in enumerate(("queries", "keys", "values")):
        left = part * n_heads
        for h in range(n_heads):
            weight = "bold" if h == head else "normal"
            axes.add_patch(Rectangle((left + h, 0), 1, 1, facecolor=TINTS[part], edgecolor=PAPER, linewidth=1))
            axes.text(left + h + 0.5, 0.5, str(h), size=size, weight=weight, ha="center", va="center")
        outline: dict[str, Any] = dict(fill=False, edgecolor=INK, linewidth=1.8, clip_on=False, zorder=3)
        axes.add_patch(Rectangle((left + head, 0), 1, 1, **outline))
        axes.text(left + n_heads / 2, 1.08, name, ha="center", va="bottom", size=TEXT)
        axes.text(left + 0.05, -0.08, f"column {part * d_model}", va="top", size=SMALL - 1, color=MUTED)
    axes.set_ylabel(f"{d_model} rows", size=SMALL)
    alt = (
        f"c_attn has {d_model} rows and {3 * d_model} columns: {d_model} for the queries, then {d_model} for the keys,"
        f" then {d_model} for the values. In each third, every head has {d_head} neighbouring columns. The columns of"
        f" head {head} begin at {', '.join(str(part * d_model + head * d_head) for part in range(3))}."
    )
    return finish_picture(figure, title, f"Head {head} owns three blocks of columns", alt)
