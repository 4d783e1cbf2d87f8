"""Draw a table of effects: how much the answer changes when one component of the model is modified."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from utils.show.arguments import parse_names, parse_numbers
from utils.show.drawing_types import ArrayLike
from utils.show.marks import draw_colour_bar_beside, write_numbers
from utils.show.picture import Picture, course_theme, finish_picture
from utils.show.tables import draw_signed_table, list_largest
from utils.show.text_format import number_text


@course_theme()
def effects(
    values: ArrayLike, rows: Sequence[str], columns: Sequence[str], title: str | None = None, xlabel: str = "position"
) -> Picture:
    """Draw a table of effects, with layers as rows and positions or heads as columns: red above 0, blue below.

    In tables with up to 16 columns, each cell shows its number.

    Args:
        values: [layers, n] finite numbers.
        rows, columns: a string for each layer and for each column.
        title: by default, the largest effect.
        xlabel: what the columns count.

    Raises:
        ValueError: if `values` has the wrong shape or contains nan or inf, or the number of names is wrong.
    """
    table = parse_numbers(values, "values", [2], "a table [layers, positions]")
    down = parse_names(rows, table.shape[0], "rows", "layers (rows)")
    across = parse_names(columns, table.shape[1], "columns", "columns")
    limit = float(np.abs(table).max()) or 1.0
    figure, axes, cell = draw_signed_table(table, down, across, limit)
    axes.set(xlabel=xlabel, ylabel="")
    if table.shape[1] <= 16:
        write_numbers(axes, table.round(2) + 0.0, cell)
    else:
        draw_colour_bar_beside(axes, [-limit, 0, limit])
    i, j = divmod(int(np.abs(table).argmax()), table.shape[1])
    default = f"The largest effect: {down[i]}, {across[j]}: {number_text(table[i, j])}"
    words = [f"A table of effects, {table.shape[0]} rows by {table.shape[1]} columns ({xlabel})."]
    places = [name if name == str(k) else f"{name} ({k})" for k, name in enumerate(across)]
    for name, row in zip(down, table):
        words.append(f"{name}: {list_largest(places, row, np.abs(row))}.")
    return finish_picture(figure, title, default, "\n".join(words))
