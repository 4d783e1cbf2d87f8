"""Define the result of `check`: a report, rendered as plain text and as HTML with the same content."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from utils.exercises.compare import difference_mask
from utils.exercises.probe import Trial
from utils.show import html

MAX_CELLS = 8  # a table shows at most this many rows and columns
MAX_GIVEN = 36  # inputs with more numbers than this are not shown next to the result
PRINTED = "Your code printed:"
REASONS = (
    "passed",
    "todo",
    "misconception",
    "raised",
    "structure",
    "shape",
    "dtype",
    "device",
    "property",
    "difference",
    "stopped",
)


@dataclass
class Table:
    """A result next to the expected result, as rows of text.

    Attributes:
        yours: the learner's result.
        expected: the expected result.
        wrong: the cells (row, column) that differ.
        caption: text above the table.
        inputs: the inputs of the call that are small enough to show, as (name, rows).
    """

    yours: list[list[str]]
    expected: list[list[str]]
    wrong: set[tuple[int, int]]
    caption: str = ""
    inputs: list[tuple[str, list[list[str]]]] = field(default_factory=list)


class TraceLine(NamedTuple):
    """A line of an answer in a trace.

    Attributes:
        line: the number of the line.
        code: its text.
        note: the expected values that the line gives, or the value that it should give but does not.
        state: "right", "wrong", or "" if the line gives no expected result.
    """

    line: int
    code: str
    note: str
    state: str


@dataclass
class Report:
    """The result of `check(...)`. `bool(report)` is True if the exercise is passed.

    Attributes:
        name: the name of the exercise.
        status: "passed", "failed" or "todo".
        message: the message to the learner, as plain text.
        misconception: the id of the misconception that matches the answer, or None.
        table: the learner's result next to the expected result, or None.
        reason: the kind of verdict, one of `REASONS`.
        property: the broken property, such as "rows_sum_to_one", if the reason is "property"; otherwise None.
        relation: for the reason "difference", the relation between the numbers and the expected numbers ("factor",
            "transpose" …), or "slip" if only a lint finding explains the difference; otherwise None.
        trial: the case that the report shows, with both results, or None.
        printed: what the answer printed on this case.
        milestone: the furthest intermediate value that a line gives, such as "the scores", or None if it is unknown.
        departure: the intermediate value that no line gives, such as "the scaled scores", or None if it is unknown.
        trace: the lines of the answer up to the step at which its computation goes wrong.
    """

    name: str
    status: str
    message: str
    misconception: str | None = None
    table: Table | None = field(default=None, repr=False)
    reason: str = field(kw_only=True)
    property: str | None = None
    relation: str | None = None
    trial: Trial | None = field(default=None, repr=False)
    printed: str = field(default="", repr=False)
    milestone: str | None = None
    departure: str | None = None
    trace: list[TraceLine] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        if self.reason not in REASONS:
            raise ValueError(f"the reason of a report must be one of {', '.join(REASONS)}; got {self.reason!r}.")

    def __bool__(self) -> bool:
        return self.status == "passed"

    def __str__(self) -> str:
        lines = [f"{html.MARK[self.status]} {self.name}: {self.message}"]
        if self.trace:
            lines += ["", *_text_trace(self.trace)]
        if self.table:
            lines += ["", *_text_table(self.table)]
        if self.printed:
            lines += ["", PRINTED, *self.printed.splitlines()]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        sign, name = f'<span aria-hidden="true">{html.MARK[self.status]} </span>', html.escape(self.name)
        message = f"<b>{sign}<code>{name}</code></b>: {html.inline_html(self.message)}"
        wide = (
            html.code_lines([(_TRACE_MARK[t.state], *t[:3], t.state == "wrong") for t in self.trace])
            if self.trace
            else ""
        )
        wide += _html_table(self.table) if self.table else ""
        if self.printed:
            wide += html.text_line(PRINTED) + html.code_block(self.printed)
        return html.card(message, self.status, wide_content=wide, status=True)


def comparison_table(
    yours: Any, expected: Any, atol: float, axes: tuple[str, ...] = (), name: str = ""
) -> Table | None:
    """Build a `Table` of two tensors of the same shape: at most 8 × 8 cells around the first difference.

    Args:
        yours: the learner's result.
        expected: the expected result.
        atol: the largest difference that counts as equal.
        axes: the names of the result's axes, for the caption.
        name: the name of the result if the exercise has several, for the caption.

    Returns:
        The table, or None unless both results are non-empty tensors of the same shape.
    """
    if not isinstance(yours, torch.Tensor) or not isinstance(expected, torch.Tensor):
        return None
    if yours.shape != expected.shape or yours.dim() == 0 or yours.numel() == 0:
        return None
    yours, expected = yours.detach().cpu(), expected.detach().cpu()
    wrong = difference_mask(yours, expected, atol)
    captions = [name] if name else []
    if yours.dim() > 2:
        index = tuple(
            (wrong.nonzero()[0] if wrong.any() else torch.zeros(yours.dim(), dtype=torch.int64)).tolist()[:-2]
        )
        yours, expected, wrong = yours[index], expected[index], wrong[index]
        labels = axes[:-2] if len(axes) == len(index) + 2 else [f"axis {k}" for k in range(len(index))]
        labels = [name + ":" if name.startswith("axis ") else name for name in labels]
        labels = ["item"] if labels == ["axis 0:"] else labels
        captions += [f"{label} {i}" for label, i in zip(labels, index)]
    yours, expected, wrong = (torch.atleast_2d(t) for t in (yours, expected, wrong))
    first = wrong.nonzero()[0].tolist() if wrong.any() else (0, 0)
    rows, columns = (_window(*pair) for pair in zip(first, yours.shape))
    if (len(rows), len(columns)) != tuple(yours.shape):
        captions.append(
            f"rows {rows[0]}–{rows[-1]}, columns {columns[0]}–{columns[-1]} of {yours.shape[0]} × {yours.shape[1]}"
        )
    cut = lambda t: t[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    cells = {tuple(i) for i in cut(wrong).nonzero().tolist()}
    # Use as many decimals as necessary to make every difference visible.
    for digits in (4, 6, 8):
        text = lambda t, digits=digits: [[format_number(v, digits) for v in row] for row in cut(t).tolist()]
        left, right = text(yours), text(expected)
        if all(left[i][j] != right[i][j] for i, j in cells):
            break
    return Table(left, right, cells, ", ".join(captions))


def input_rows(named: Mapping[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """Return the tensors of a call as (name, rows of text); an empty list if a tensor is too large to show."""
    tensors = {name: value for name, value in named.items() if isinstance(value, torch.Tensor)}
    if any(t.dim() > 2 or not 0 < t.numel() <= MAX_GIVEN for t in tensors.values()):
        return []
    rows = {name: torch.atleast_2d(t.detach().cpu()).tolist() for name, t in tensors.items()}
    return [(name, [[format_number(v) for v in row] for row in table]) for name, table in rows.items()]


def _window(index: int, size: int) -> range:
    """Return at most MAX_CELLS indices of an axis, around `index`."""
    start = max(0, min(index - MAX_CELLS // 2, size - MAX_CELLS))
    return range(start, min(size, start + MAX_CELLS))


def format_number(value: Any, digits: int = 4) -> str:
    """Write a number of a result with `digits` decimals; a bool or an int is written unchanged."""
    if isinstance(value, float):
        value = 0.0 if abs(value) < 0.5 * 10**-digits else value  # avoids printing -0.0000
        return f"{value:.{digits}f}" if abs(value) < 1e4 else f"{value:.{digits - 1}g}"
    return str(value)


_TRACE_MARK = {"right": "✓", "wrong": "✗", "": " "}


def _text_trace(trace: Sequence[TraceLine]) -> list[str]:
    """Write the lines of a trace with their numbers and notes."""
    width = max(len(t.code) for t in trace)
    numbered = ((t, f"{_TRACE_MARK[t.state]} {t.line:>3}  {t.code}") for t in trace)
    return [f"{text.ljust(width + 7)}  # {t.note}" if t.note else text for t, text in numbered]


def _text_table(table: Table) -> list[str]:
    """Write both results next to each other, with wrong cells in [brackets]."""

    def block(title: str, rows: list[list[str]], wrong: Collection[tuple[int, int]] = ()) -> list[str]:
        cells = [[f"[{v}]" if (i, j) in wrong else f" {v} " for j, v in enumerate(row)] for i, row in enumerate(rows)]
        width = max(len(v) for row in cells for v in row)
        return [title, *(" ".join(v.rjust(width) for v in row) for row in cells)]

    left = block("yours", table.yours, table.wrong)
    right = block("expected", table.expected)
    width = max(map(len, left))
    lines = [f"{a.ljust(width)}   {b}".rstrip() for a, b in zip(left, right)]
    for name, rows in table.inputs:
        lines += ["", *block(f"input {name}", rows)]
    return [f"({table.caption})", *lines] if table.caption else lines


def _html_table(table: Table) -> str:
    caption = html.text_line(f"({html.escape(table.caption)})") if table.caption else ""
    inputs = [html.table(f"input {name}", rows) for name, rows in table.inputs]
    return caption + html.side_by_side(
        html.table("yours", table.yours, table.wrong, table.expected), html.table("expected", table.expected), *inputs
    )


@dataclass
class Note:
    """A text or a piece of code that `hint` or `solution` returns."""

    title: str
    text: str
    code: bool = False

    def __str__(self) -> str:
        return f"{self.title}\n{self.text}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title = f"<b>{html.escape(self.title)}</b>"
        if self.code:
            return html.card(title, wide_content=html.code_block(self.text), status=True)
        return html.card(f"{title}<div>{html.inline_html(self.text)}</div>", status=True)
