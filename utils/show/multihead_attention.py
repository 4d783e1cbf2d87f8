"""Which head gets which entry: ways to cut a tensor into heads, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from utils.show.colours import INK, PAPER, TINTS
from utils.show.marks import lines_between_cells
from utils.show.page import Picture, finish, new_axes, new_page, themed
from utils.show.sizes import SMALL
from utils.show.words import token_label


@themed
def cuts(
    ways: Mapping[str, Callable[[torch.Tensor, int], torch.Tensor]],
    seq: int = 4,
    d_out: int = 4,
    num_heads: int = 2,
    title: str | None = None,
) -> Picture:
    """For each way to split heads, a table of positions and entries in which each cell names the head that got it.

    Args:
        ways: {name: function of (x [1, seq, d_out], num_heads) that gives [1, num_heads, seq, d_head]}, one to three.
        seq, d_out, num_heads: at most 8 positions, 8 entries and 6 heads.
    """
    if not isinstance(ways, Mapping) or not 1 <= len(ways) <= 3:
        raise ValueError("ways must be a dict of one to three functions, as in {'split_heads': split_heads}.")
    if not (1 <= seq <= 8 and 1 <= d_out <= 8 and 1 <= num_heads <= len(TINTS)) or d_out % num_heads:
        raise ValueError(
            f"cuts draws up to 8 × 8 cells shared evenly by up to {len(TINTS)} heads; got {seq} × {d_out} and"
            f" {num_heads}."
        )
    from matplotlib.colors import ListedColormap

    numbered = torch.arange(seq * d_out, dtype=torch.float32).view(1, seq, d_out)
    figure, words, cell = new_page(), [], min(0.5, 2.2 / d_out)
    for k, (name, split) in enumerate(ways.items()):
        given = _cells(name, split(numbered.clone(), num_heads), num_heads, seq * d_out)
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
        lines_between_cells(axes, owner.shape, PAPER, 1.5)
        axes.spines[:].set_visible(False)
        axes.set_title(token_label(name, 28), size=SMALL + 1, weight="bold", pad=6)
        rows = (f"position {i} goes to heads {', '.join(map(str, row))}" for i, row in enumerate(owner))
        words.append(f"{name}: {'; '.join(rows)}.")
    return finish(figure, title, "Which head gets which entry", "\n".join(words))


def _cells(name: str, heads: Any, num_heads: int, total: int) -> list[list[int]]:
    """The numbers that each head was given; together each of them once."""
    if not isinstance(heads, torch.Tensor) or heads.dim() != 4 or heads.shape[:2] != (1, num_heads):
        shape = list(heads.shape) if isinstance(heads, torch.Tensor) else type(heads).__name__
        raise ValueError(f"{name!r} gave {shape}; expected [1, {num_heads}, seq, d_head].")
    cells = [[int(value) for value in head.flatten()] for head in heads[0]]
    if sorted(cell for head in cells for cell in head) != list(range(total)):
        raise ValueError(f"{name!r} does not hand out every entry once.")
    return cells
