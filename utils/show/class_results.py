"""Draw the results of a class: the state of each exercise for each student, and how often each problem occurred."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from utils.show.arguments import parse_integer, parse_names
from utils.show.colours import BLUE, GREY, INK, MUTED, OCHRE, PAPER, PURPLE, TINTS, VERMILION
from utils.show.drawing_types import Axes
from utils.show.marks import draw_cell_borders, hide_frame
from utils.show.picture import Picture, course_theme, finish_picture, new_chart
from utils.show.sizes import PAD, SMALL, SMALLEST, WIDEST
from utils.show.text_format import text_width, token_label

# The states that a grader assigns to an exercise, from good to bad. Their colours differ in lightness.
STATES = {
    "passed": TINTS[0],
    "not attempted": GREY,
    "waits for another exercise": OCHRE,
    "failed": VERMILION,
    "stopped": PURPLE,
    "unreadable": INK,
    "absent": PAPER,
}
MOST_LINES = 60  # if there are more students, the table has no lines between cells and no names of students
TALLEST = 8.6  # inches


@course_theme()
def standing(
    states: Sequence[Sequence[str]],
    exercises: Sequence[str],
    students: Sequence[str] | None = None,
    title: str | None = None,
) -> Picture:
    """Draw a table of states: one row for each exercise and one column for each student, in the order given.

    Args:
        states: [exercises][students] strings, each a key of `STATES`.
        exercises: a name for each row.
        students: a name for each column; by default, columns have no names.
        title: by default, the percentage of passed exercises.

    Raises:
        ValueError: if rows differ in length, a state is unknown, or the number of names is wrong.
    """
    names = list(STATES)
    widths = {len(row) for row in states}
    if len(widths) != 1 or 0 in widths:
        raise ValueError("states must be rows of equal length: one row for each exercise, one state for each student.")
    if unknown := {state for row in states for state in row} - set(names):
        raise ValueError(f"states holds {min(unknown)!r}; expected one of {', '.join(names)}.")
    exercises = parse_names(exercises, len(states), "exercises", "rows")
    rows = [token_label(name, 34) for name in exercises]
    table = np.array([[names.index(state) for state in row] for row in states])
    n, m = table.shape
    if students is not None:
        students = [token_label(name, 24) for name in parse_names(students, m, "students", "columns")]

    from matplotlib.colors import ListedColormap

    tall = min(0.17, TALLEST / n)
    size = SMALL if tall >= 0.15 else min(SMALLEST, 72 * tall / 1.15)
    left = max(text_width(row, size) for row in rows) + 0.1
    cell = min(0.25, (WIDEST - 2 * PAD - left - 0.05) / m)
    figure, axes = new_chart(2.4, 0.7, cell * m, tall * n)
    colours = ListedColormap(list(STATES.values()))
    axes.imshow(table, cmap=colours, vmin=-0.5, vmax=len(names) - 0.5, aspect="auto")
    axes.set_yticks(range(n), rows, size=size)
    axes.set_xticks([])
    axes.tick_params(length=0, pad=3)
    if m <= MOST_LINES:
        draw_cell_borders(axes, table.shape, PAPER, 0.6)
        if students is not None:
            axes.set_xticks(range(m), students, size=min(SMALL, 72 * cell / 1.1), rotation=90)
    axes.spines[:].set(visible=True, color=MUTED, linewidth=0.6)
    counts = Counter(state for row in states for state in row)
    _draw_legend(axes, [name for name in names if counts[name]], left, cell * m, tall * n)
    default = f"{round(100 * counts['passed'] / table.size)} % of all exercises are passed"
    passed = sorted(zip(exercises, (table == 0).sum(axis=1)), key=lambda row: -row[1])
    first, last = (", ".join(f"{name} by {count}" for name, count in part) for part in (passed[:3], passed[-3:]))
    totals = ", ".join(f"{counts[name]} {name}" for name in names if counts[name])
    alt = f"Exercises down, students across: {n} by {m}. {totals}."
    most = f"\nPassed by most: {first}; by fewest: {last}." if n > 1 else ""
    return finish_picture(figure, title, default, alt + most)


def _draw_legend(axes: Axes, names: Sequence[str], left: float, width: float, height: float) -> None:
    """Draw a legend of the colours below the table, in as many lines as necessary."""
    from matplotlib.patches import Rectangle

    x, y, box = -left, -0.2, 0.11
    for name in names:
        room = box + 0.06 + text_width(name, SMALL) + 0.18
        if x > -left and x + room > width:
            x, y = -left, y - 0.2
        corner, place = (x / width, y / height), ((x + box + 0.06) / width, (y + box / 2) / height)
        look: dict[str, Any] = dict(
            facecolor=STATES[name], edgecolor=MUTED, linewidth=0.6, clip_on=False, transform=axes.transAxes
        )
        axes.add_patch(Rectangle(corner, box / width, box / height, **look))
        axes.text(*place, name, transform=axes.transAxes, va="center", size=SMALL)
        x += room


def _fit_label(label: str, room: float) -> str:
    """Return `label`, shortened until it fits into `room` inches."""
    most = len(label)
    while most > 1 and text_width(token_label(label, most), SMALL) > room:
        most -= 1
    return token_label(label, most)


@course_theme()
def counted(counts: Sequence[int], labels: Sequence[str], title: str | None = None) -> Picture:
    """Draw counts as horizontal bars with their numbers. There is room for long labels.

    Args:
        counts: n whole numbers of at least 0.
        labels: n strings, top to bottom.
        title: by default, the label with the largest count.

    Raises:
        ValueError: if `counts` is empty or contains a value that is not a whole number of at least 0, or if the number
            of labels is wrong.
    """
    numbers = [parse_integer(count, f"counts[{i}]", 0) for i, count in enumerate(counts)]
    if not numbers:
        raise ValueError("counts is empty; expected at least one whole number.")
    labels = parse_names(labels, len(numbers), "labels", "bars")
    texts = [_fit_label(label, 3.8) for label in labels]
    side = max(text_width(text, SMALL) for text in texts) + 0.1
    width, pitch = max(0.8, WIDEST - 2 * PAD - side - 0.35), 0.22
    figure, axes = new_chart(4.2, 1, width, pitch * len(numbers))
    axes.barh(range(len(numbers)), numbers, height=0.72, color=BLUE)
    axes.set(xlim=(0, max(*numbers, 1)), ylim=(len(numbers) - 0.45, -0.55))
    hide_frame(axes)
    axes.set_yticks(range(len(numbers)), texts, size=SMALL)
    axes.tick_params(length=0)
    for i, count in enumerate(numbers):
        axes.annotate(str(count), (count, i), (3, 0), textcoords="offset points", va="center", size=SMALL)
    largest = numbers.index(max(numbers))
    default = f"{labels[largest]}: {numbers[largest]}"
    return finish_picture(figure, title, default, ", ".join(f"{label} {n}" for label, n in zip(labels, numbers)) + ".")
