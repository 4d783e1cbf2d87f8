"""Draw charts: horizontal bars, lines, lines in separate strips, and bands around the mean of several runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from utils.show.arguments import parse_names, parse_numbers
from utils.show.colours import FAINT, MUTED, PAPER, SERIES
from utils.show.drawing_types import ArrayLike, Axes
from utils.show.marks import hide_frame
from utils.show.picture import (
    Picture,
    course_theme,
    finish_picture,
    new_axes,
    new_chart,
    new_figure,
    separate_positions,
)
from utils.show.sizes import BENCH, PAD, SMALL, TEXT, WIDEST
from utils.show.text_format import list_values, number_text, text_width, token_label

LEADER = 0.25  # inches: the width of the thin connectors between lines and their names


@course_theme()
def bars(
    values: ArrayLike | Mapping[str, ArrayLike],
    labels: Sequence[str],
    title: str | None = None,
    reference: float | tuple[str, float] | None = None,
    same_scale: bool = False,
    limit: float | None = None,
) -> Picture:
    """Draw one group of horizontal bars, or two groups side by side with shared labels; each bar shows its number.

    Args:
        values: finite numbers: [n], or {"scores": [n], "weights": [n]} for one or two named groups.
        labels: n strings, top to bottom.
        title: by default, the label of the largest value.
        reference: a number, or ("uniform", number), drawn as a dashed line in the last group.
        same_scale: draw two groups on one scale; useful to compare a guess with the truth, but not scores with weights.
        limit: extend the scale of the last group (of both groups if `same_scale`) at least to this number; for
            example, to 1 for probabilities.

    Raises:
        ValueError: if there are more than two groups or 40 bars, or if numbers, labels or `reference` are invalid.
    """
    groups = dict(values) if isinstance(values, Mapping) else {"": values}
    if not 1 <= len(groups) <= 2:
        raise ValueError(f"bars draws one or two groups; got {len(groups)}.")
    arrays = {
        str(k): parse_numbers(v, f"values[{k!r}]" if k else "values", [1], "a row of numbers")
        for k, v in groups.items()
    }
    first = next(iter(arrays.values()))
    names = parse_names(labels, len(first), "labels", "bars")
    for group, array in arrays.items():
        if len(array) != len(names):
            raise ValueError(
                f"values[{group!r}] has {len(array)} numbers for {len(names)} labels; expected one for each."
            )
    if len(names) > 40:
        raise ValueError(f"bars draws at most 40 bars; got {len(names)}.")
    mark = _parse_reference(reference)

    figure = new_figure()
    pitch = 0.3 if len(names) <= 16 else 0.16
    size = TEXT if pitch == 0.3 else 7.5
    texts = [token_label(name, 16) for name in names]
    side = max(text_width(text, size) for text in texts) + 0.1
    gap = 0.3
    width = min(4.2, (WIDEST - 2 * PAD - side - gap * (len(arrays) - 1)) / len(arrays))
    for k, (group, array) in enumerate(arrays.items()):
        axes = new_axes(figure, 2 + k * (width + gap), 2, width, pitch * len(names))
        together = np.concatenate(list(arrays.values())) if same_scale else array
        if same_scale or k == len(arrays) - 1:
            together = np.concatenate([together, [mark[1]] if mark else [], [limit] if limit is not None else []])
        _bar_group(axes, array, together, SERIES[k], size, width)
        axes.set_yticks(range(len(names)), texts if k == 0 else [""] * len(names), size=size)
        if group:
            text, place = token_label(group, 26), axes.transAxes
            axes.text(0, 1, text, transform=place, va="bottom", color=SERIES[k], weight="bold")
    if mark is not None:
        axes, x = figure.axes[-1], mark[1]
        axes.axvline(x, color=MUTED, linestyle=(0, (4, 3)), linewidth=1)
        left, right = axes.get_xlim()
        share = (x - left) / (right - left)
        anchor = "center" if 0.25 < share < 0.75 else "left" if share < 0.5 else "right"
        axes.text(x, len(names) - 0.42, _mark_label(mark), ha=anchor, va="top", size=SMALL, color=MUTED)
    default = f"{names[int(first.argmax())]!r} has the largest value, {number_text(first.max())}"
    words = "\n".join(f"{group or 'Bars'}: {list_values(names, array)}." for group, array in arrays.items())
    note = f"\nDashed line: {mark[0]} {number_text(mark[1])}." if mark is not None else ""
    return finish_picture(figure, title, default, words + note)


def _parse_reference(reference: Any) -> tuple[str, float] | None:
    if reference is None:
        return None
    name, value = reference if isinstance(reference, tuple) and len(reference) == 2 else ("reference", reference)
    return str(name), float(parse_numbers(value, "reference", [0], "a number or a (name, number) pair"))


def _bar_group(axes: Axes, array: np.ndarray, together: np.ndarray, colour: str, size: float, width: float) -> None:
    texts = [number_text(x) for x in array]
    low, high = min(0.0, together.min()), max(0.0, together.max())
    room = (max(text_width(text, size) for text in texts) + 0.1) / width  # the numbers need this fraction of the width
    left_room = room if low < 0 else 0.0
    span = (high - low or 1.0) / (1 - left_room - room)
    axes.set_xlim(low - left_room * span, low - left_room * span + span)
    axes.set_ylim(len(array) - 0.45, -0.55)
    axes.barh(range(len(array)), array, height=0.72, color=colour)
    axes.axvline(0, color=MUTED, linewidth=0.8)
    card = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.8}
    for i, (x, text) in enumerate(zip(array, texts)):
        shift, anchor = (-3, "right") if x < 0 else (3, "left")
        place = (x, i), (shift, 0), "data", "offset points"
        axes.annotate(text, *place, ha=anchor, va="center", size=size, bbox=card, zorder=5)
    axes.tick_params(length=0)
    hide_frame(axes)


@course_theme()
def lines(
    x: ArrayLike,
    series: Mapping[str, ArrayLike],
    title: str | None = None,
    xlabel: str = "",
    ylabel: str = "",
    logx: bool = False,
    reference: float | tuple[str, float] | None = None,
) -> Picture:
    """Draw a line chart with each line's name at its end.

    Args:
        x: [n] numbers, increasing.
        series: {name: [n] numbers}, one to six lines.
        logx: use a base-2 logarithmic x axis. With up to 12 points, each point has a tick.
        reference: a number, or ("uniform", number), drawn as a dashed line.
    """
    return _line_chart(x, series, {}, title, xlabel, ylabel, logx, reference)


@course_theme()
def curves(
    x: ArrayLike,
    runs: Mapping[str, ArrayLike],
    title: str | None = None,
    xlabel: str = "",
    ylabel: str = "",
    logx: bool = False,
    reference: float | tuple[str, float] | None = None,
) -> Picture:
    """For each name in `runs`, draw a band from the lowest to the highest run, and the mean of the runs as a line.

    Args:
        x: [n] numbers, increasing.
        runs: {name: [runs, n] numbers}, one to six names. The number of runs may differ between names.
        logx: use a base-2 logarithmic x axis. With up to 12 points, each point has a tick.
        reference: a number, or ("chance", number), drawn as a dashed line.

    Raises:
        ValueError: `runs` is not a dict, or a value does not have the expected form.
    """
    if not isinstance(runs, Mapping) or not 1 <= len(runs) <= len(SERIES):
        raise ValueError(
            f"runs must be a dict of 1 to {len(SERIES)} named tables [runs, n], as in {{'standard': accuracy}}."
        )
    tables = {
        str(name): parse_numbers(rows, f"runs[{name!r}]", [2], "a row for each run, [runs, n]")
        for name, rows in runs.items()
    }
    means = {name: rows.mean(0) for name, rows in tables.items()}
    return _line_chart(x, means, tables, title, xlabel, ylabel, logx, reference)


def _line_chart(
    x: Any,
    series: Mapping[str, Any],
    runs: Mapping[str, np.ndarray],
    title: str | None,
    xlabel: str,
    ylabel: str,
    logx: bool,
    reference: Any,
) -> Picture:
    """Draw lines. If a line is a mean of runs, draw a band around it."""
    xs, ys = parse_series(x, series, logx, "runs" if runs else "series")
    mark = _parse_reference(reference)
    figure, axes = new_chart(2, 2, *chart_size(ys, mark, 2.6))
    for rows, colour in zip(runs.values(), SERIES):
        axes.fill_between(xs, rows.min(0), rows.max(0), color=colour, alpha=0.18, linewidth=0)
    draw_lines(axes, xs, ys, xlabel, ylabel, logx, mark)
    what = f"{ylabel or 'Lines'} against {xlabel or 'x'}{', means of runs' if runs else ''}."
    bands = [_describe_band(name, xs, rows) for name, rows in runs.items()]
    return finish_picture(figure, title, "", "\n".join([what, describe_lines(xs, ys, xlabel or "x", mark), *bands]))


def _describe_band(name: str, xs: np.ndarray, rows: np.ndarray) -> str:
    if len(rows) == 1:
        return f"{name}: 1 run."
    i = int(np.ptp(rows, axis=0).argmax())
    low, high = (number_text(end) for end in (rows[:, i].min(), rows[:, i].max()))
    if low == high:
        return f"{name}: {len(rows)} runs, all alike."
    return f"{name}: {len(rows)} runs; they differ most at {xs[i]:g}, from {low} to {high}."


def parse_series(x: Any, series: Any, logx: bool, argument: str = "series") -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the x values [n] and the y values {name: [n]} of a line chart. Error messages call `series` `argument`.

    Raises:
        ValueError: if x does not increase, if x is not positive with `logx`, if there are not 1 to 6 lines, or if a
            line does not have one y for each x.
    """
    xs = parse_numbers(x, "x", [1], "a row of numbers")
    if (np.diff(xs) <= 0).any():
        raise ValueError("x must increase from each number to the next.")
    if logx and xs[0] <= 0:
        raise ValueError(f"x starts at {number_text(xs[0])}; a logarithmic axis needs numbers above 0.")
    if not isinstance(series, Mapping) or not 1 <= len(series) <= len(SERIES):
        raise ValueError(f"series must be a dict of 1 to {len(SERIES)} named lines, as in {{'loss': [1.0, 0.5]}}.")
    ys = {str(name): parse_numbers(y, f"series[{name!r}]", [1], "a row of numbers") for name, y in series.items()}
    for name, y in ys.items():
        if len(y) != len(xs):
            raise ValueError(
                f"{argument}[{name!r}] has {len(y)} numbers, but x has {len(xs)}; expected one for each x."
            )
    return xs, ys


def chart_size(names: Iterable[str], mark: tuple[str, float] | None, height: float) -> tuple[float, float]:
    """Return the width and height of a chart's plotting area, in inches. The lines' names are beside this area."""
    ends = [_end_label(name) for name in names] + ([_mark_label(mark)] if mark else [])
    beside = max(text_width(text, TEXT, bold=True) for text in ends) + (LEADER if len(ends) > 1 else 0)
    return WIDEST - 2 * PAD - 0.85 - beside, height


def _end_label(name: str) -> str:
    return token_label(name, 22)


def _mark_label(mark: tuple[str, float]) -> str:
    return f"{_end_label(mark[0])} {number_text(mark[1])}"


def draw_lines(
    axes: Axes,
    xs: np.ndarray,
    ys: Mapping[str, np.ndarray],
    xlabel: str,
    ylabel: str,
    logx: bool,
    mark: tuple[str, float] | None,
    bottom: float | None = None,
) -> None:
    """Draw lines, each named at its end, and a reference line `mark` (name, y). Start the y axis at `bottom`."""
    # The lines also differ in dashes and markers, for readers who cannot distinguish the colours.
    styles = zip(SERIES, ("-", "--", "-.", ":", "-", "--"), "osD^vP")
    height = BENCH * axes.get_position().height
    for y, (colour, dash, marker) in zip(ys.values(), styles):
        marked = {"marker": marker, "markersize": 4.5} if len(xs) <= 24 else {}
        axes.plot(xs, y, color=colour, linestyle=dash, linewidth=1.8, **marked)
    if logx:
        axes.set_xscale("log", base=2)
        if len(xs) <= 12:
            axes.set_xticks(xs, [f"{x:g}" for x in xs])
            axes.minorticks_off()
    elif len(xs) <= 3 or (len(xs) <= 12 and (np.diff(xs) == 1).all()):
        axes.set_xticks(xs)  # avoids ticks between the points, such as 2.5 layers
    ends = [(float(y[-1]), _end_label(name), colour) for (name, y), colour in zip(ys.items(), SERIES)]
    if mark:
        axes.axhline(mark[1], color=MUTED, linewidth=1, linestyle=(0, (2, 3)), zorder=0)
        ends.append((mark[1], _mark_label(mark), MUTED))
    axes.set_ylim(bottom=bottom)
    low, high = axes.get_ylim()
    _label_line_ends(axes, float(xs[-1]), ends, height / (high - low))
    axes.set_ylim(low, high)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)


def _label_line_ends(axes: Axes, x: float, ends: Sequence[tuple[float, str, str]], inch: float) -> None:
    """Write the names on the right. If a name is far from its line, connect all names to their lines.

    Args:
        x: the x coordinate where the lines end.
        ends: (y, name, colour) for the end of each line.
        inch: inches per unit of y.
    """
    places = separate_positions([y for y, _, _ in ends], 0.18 / inch)
    far = any(abs(at - y) * inch > 0.1 for (y, _, _), at in zip(ends, places))
    to_axes = (axes.transData + axes.transAxes.inverted()).transform
    right = 1 + (LEADER if far else 0) / (BENCH * axes.get_position().width)
    for (y, text, colour), at in zip(ends, places):
        place = (right, to_axes((x, at))[1])
        _write_end_label(axes, text, place, colour)
        if far:
            start = (1, to_axes((x, y))[1]) if colour == MUTED else to_axes((x, y))
            axes.plot(*zip(start, place), transform=axes.transAxes, color=colour, linewidth=0.7, clip_on=False)


def _write_end_label(axes: Axes, text: str, place: tuple[float, float], colour: str) -> None:
    """Write a name to the right of `place`, a position in axes coordinates (0 to 1)."""
    axes.annotate(text, place, (6, 0), "axes fraction", "offset points", va="center", color=colour, weight="bold")


@course_theme()
def strips(
    x: ArrayLike, series: Mapping[str, ArrayLike], title: str | None = None, xlabel: str = "", ylabel: str = ""
) -> Picture:
    """Draw a line chart with a separate strip for each line, one below another, all on one scale.

    Use strips if the lines would cross too often in one chart.

    Args:
        x: [n] numbers, increasing.
        series: {name: [n] numbers}, one to six lines.
    """
    xs, ys = parse_series(x, series, False)
    figure, (wide, high) = new_figure(), chart_size(ys, None, 0.62)
    low, top = min(y.min() for y in ys.values()), max(y.max() for y in ys.values())
    room = 0.08 * (top - low) or 1.0
    pitch, whole = high + 0.14, high * len(ys) + 0.14 * (len(ys) - 1)
    for k, ((name, y), colour) in enumerate(zip(ys.items(), SERIES)):
        axes = new_axes(figure, 2, 8 - k * pitch, wide, high)
        axes.plot(xs, y, color=colour, linewidth=1.8)
        axes.set_ylim(low - room, top + room)
        axes.locator_params(axis="y", nbins=3)
        axes.grid(axis="y", color=FAINT, linewidth=0.5)
        axes.set_axisbelow(True)
        axes.tick_params(labelbottom=k == len(ys) - 1, length=2)
        _write_end_label(axes, _end_label(name), (1, 0.5), colour)
        if k == 0:
            axes.set_ylabel(ylabel)
            axes.yaxis.set_label_coords(-0.5 / wide, 1 - whole / high / 2)
    figure.axes[-1].set_xlabel(xlabel)
    what = f"{ylabel or 'Lines'} against {xlabel or 'x'}, a strip for each line."
    return finish_picture(figure, title, "", f"{what}\n{describe_lines(xs, ys, xlabel or 'x', None)}")


def describe_lines(xs: np.ndarray, ys: Mapping[str, np.ndarray], xname: str, mark: tuple[str, float] | None) -> str:
    """Describe each line of a chart by all its numbers, in a separate row of text.

    If a line has more than 12 numbers, include only the first, the last, the smallest and the largest.
    """

    def describe(y: np.ndarray) -> str:
        if len(xs) <= 12:
            return ", ".join(f"{number_text(value)} at {x:g}" for x, value in zip(xs, y))
        ends = f"from {number_text(y[0])} at {xname} {xs[0]:g} to {number_text(y[-1])} at {xs[-1]:g}"
        return f"{ends}, lowest {number_text(y.min())}, highest {number_text(y.max())}"

    words = [f"{name}: {describe(y)}." for name, y in ys.items()]
    return "\n".join([*words, f"Dashed line: {mark[0]} {number_text(mark[1])}."] if mark else words)
