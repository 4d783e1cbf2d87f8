"""Several runs of each of a few ways: the mean as a line, the lowest and the highest as a band around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from utils.show.charts import _reference, chart_size, draw_lines, lines_in_words, read_series
from utils.show.page import SERIES, Picture, finish, new_axes, new_page, number_text, read_numbers, read_title, themed


@themed
def curves(
    x: Any, runs: Mapping[str, Any], title: str | None = None, xlabel: str = "", ylabel: str = "", logx: bool = False,
    reference: float | tuple[str, float] | None = None,
) -> Picture:
    """A line for the mean of each way's runs, in a band from the lowest run to the highest.

    Args:
        x: [n] numbers, increasing.
        runs: {name: [runs, n] numbers}, one to six names; each may have its own number of runs.
        logx: a base-2 logarithmic x axis, ticked at the points.
        reference: a number, or ("chance", number), drawn as a dashed line.
    """
    if not isinstance(runs, Mapping):
        raise ValueError(f"runs must be a dict of named tables [runs, n], as in {{'standard': accuracy}}; got {type(runs).__name__}.")
    tables = {str(name): read_numbers(rows, f"runs[{name!r}]", [2], "a row for each run, [runs, n]") for name, rows in runs.items()}
    xs, means = read_series(x, {name: rows.mean(0) for name, rows in tables.items()}, logx)
    mark = _reference(reference)
    figure = new_page()
    axes = new_axes(figure, 2, 2, *chart_size(means, mark, 2.6))
    for rows, colour in zip(tables.values(), SERIES):
        axes.fill_between(xs, rows.min(0), rows.max(0), color=colour, alpha=0.18, linewidth=0)
    draw_lines(axes, xs, means, xlabel, ylabel, logx, mark)
    bands = []
    for name, rows in tables.items():
        if len(rows) == 1:
            bands.append(f"{name}: 1 run.")
            continue
        i = int((rows.max(0) - rows.min(0)).argmax())
        bands.append(f"{name}: {len(rows)} runs, furthest apart at {xs[i]:g} from {number_text(rows[:, i].min())} to {number_text(rows[:, i].max())}.")
    words = lines_in_words(xs, means, xlabel or "x", mark)
    return finish(figure, read_title(title, ""), f"{ylabel or 'Lines'} against {xlabel or 'x'}, means of runs.\n{words}\n" + "\n".join(bands))
