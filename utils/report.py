"""What a learner reads after `check`: one report, as plain text and as HTML that says the same."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import Any

import torch

MAX_CELLS = 8  # rows and columns of a table that are shown

# Mid-tone accents keep a contrast of 3:1 and more on JupyterLab's light and dark backgrounds;
# text keeps the theme's own colour.
ACCENT = {"passed": "#2a8f5b", "failed": "#d1543a", "todo": "#7a7f8a"}
MARK = {"passed": "✓", "failed": "✗", "todo": "○"}


@dataclass
class Table:
    """A result beside the expected one, as rows of text; `wrong` are the cells that differ."""

    yours: list[list[str]]
    expected: list[list[str]]
    wrong: set[tuple[int, int]]
    caption: str = ""


@dataclass
class Report:
    """The answer to `check(...)`. `bool(report)` is whether the exercise is passed.

    Attributes:
        name: the exercise.
        status: "passed", "failed" or "todo".
        message: what to read, plain text.
        misconception: the id of the mistake that was recognised, or None.
        table: the learner's result beside the expected one, or None.
    """

    name: str
    status: str
    message: str
    misconception: str | None = None
    table: Table | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return self.status == "passed"

    def __str__(self) -> str:
        lines = [f"{MARK[self.status]} {self.name}: {self.message}"]
        if self.table:
            lines += ["", *_text_table(self.table)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = _html_table(self.table) if self.table else ""
        return (
            f'<div role="status" style="border-left:4px solid {ACCENT[self.status]};{_CARD}">'
            f'<div style="{_MEASURE}"><b><span aria-hidden="true">{MARK[self.status]} </span><code>{html.escape(self.name)}</code></b>: '
            f"{inline(self.message)}</div>{shown}</div>"
        )


# No background and the theme's own text colour, so that a card reads in light and dark.
_CARD = "padding:4px 12px;margin:4px 0;line-height:1.5;color:var(--jp-ui-font-color1,inherit)"
_MEASURE = "max-width:46em"  # a line that the eye can follow back


def inline(text: str) -> str:
    """Plain text as HTML: escaped, and what stands between backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text)).replace("\n", "<br>")


def card(text: str) -> str:
    """A calm line of its own, as HTML."""
    return f'<div style="border-left:4px solid {ACCENT["todo"]};{_CARD};{_MEASURE}">{inline(text)}</div>'


def table(yours: Any, expected: Any, atol: float, axes: tuple[str, ...] = (), name: str = "") -> Table | None:
    """Two tensors of one shape as a `Table`: the matrix that holds the first difference, cut to 8 × 8 around it.

    `axes` and `name` are what the exercise calls the result's axes and, where there are several results, this one.
    """
    if not isinstance(yours, torch.Tensor) or not isinstance(expected, torch.Tensor):
        return None
    if yours.shape != expected.shape or yours.dim() == 0 or yours.numel() == 0:
        return None
    yours, expected = yours.detach().cpu(), expected.detach().cpu()
    wrong = different(yours, expected, atol)
    captions = [name] if name else []
    if yours.dim() > 2:
        index = tuple((wrong.nonzero()[0] if wrong.any() else torch.zeros(yours.dim(), dtype=int)).tolist()[:-2])
        yours, expected, wrong = yours[index], expected[index], wrong[index]
        labels = axes if len(axes) == len(index) + 2 else ("item",) * len(index)
        captions += [f"{label} {i}" for label, i in zip(labels, index)]
    yours, expected, wrong = (torch.atleast_2d(t) for t in (yours, expected, wrong))
    rows, columns = (_window(wrong, axis) for axis in (0, 1))
    if (len(rows), len(columns)) != tuple(yours.shape):
        captions.append(f"rows {rows[0]}–{rows[-1]}, columns {columns[0]}–{columns[-1]} of {yours.shape[0]} × {yours.shape[1]}")
    cut = lambda t: t[rows[0]: rows[-1] + 1, columns[0]: columns[-1] + 1]  # noqa: E731
    text = lambda t: [[_number(v) for v in row] for row in cut(t).tolist()]  # noqa: E731
    return Table(text(yours), text(expected), {tuple(i) for i in cut(wrong).nonzero().tolist()}, ", ".join(captions))


def different(yours: torch.Tensor, expected: torch.Tensor, atol: float) -> torch.Tensor:
    """Where two tensors of one shape differ by more than `atol`, relative to 1 or to the expected number."""
    yours, expected = (t.detach().cpu().to(torch.float64) for t in (yours, expected))
    return ~torch.isclose(yours, expected, rtol=atol, atol=atol, equal_nan=True)


def _window(wrong: torch.Tensor, axis: int) -> range:
    """At most MAX_CELLS indices along an axis that include the first wrong one."""
    size = wrong.shape[axis]
    hit = wrong.any(dim=1 - axis).nonzero()
    first = int(hit[0]) if len(hit) else 0
    start = max(0, min(first - MAX_CELLS // 2, size - MAX_CELLS)) if size > MAX_CELLS else 0
    return range(start, min(size, start + MAX_CELLS))


def _number(value: Any) -> str:
    if isinstance(value, float):
        value = 0.0 if abs(value) < 5e-5 else value  # no -0.0000
        return f"{value:.4f}" if abs(value) < 1e4 else f"{value:.3g}"
    return str(value)


def _text_table(table: Table) -> list[str]:
    """Side by side, wrong cells in [brackets]."""
    def block(title, rows, wrong):
        cells = [[f"[{v}]" if (i, j) in wrong else f" {v} " for j, v in enumerate(row)] for i, row in enumerate(rows)]
        width = max(len(v) for row in cells for v in row)
        return [title, *(" ".join(v.rjust(width) for v in row) for row in cells)]

    left = block("yours", table.yours, table.wrong)
    right = block("expected", table.expected, set())
    width = max(map(len, left))
    lines = [f"{a.ljust(width)}   {b}".rstrip() for a, b in zip(left, right)]
    return [f"({table.caption})", *lines] if table.caption else lines


def _html_table(table: Table) -> str:
    def block(title, rows, wrong):
        body = "".join(
            "<tr>" + "".join(_cell(v, (i, j) in wrong) for j, v in enumerate(row)) + "</tr>" for i, row in enumerate(rows)
        )
        return (
            f'<table style="display:inline-table;margin:6px 24px 0 0;border-collapse:separate;border-spacing:3px">'
            f'<caption style="caption-side:top;text-align:left;color:inherit">{title}</caption>{body}</table>'
        )

    of = f" ({html.escape(table.caption)})" if table.caption else ""
    pair = block(f"yours{of}", table.yours, table.wrong) + block("expected", table.expected, set())
    return f'<div style="overflow-x:auto;white-space:nowrap">{pair}</div>'


def _cell(value: str, wrong: bool) -> str:
    outline = f"outline:2px solid {ACCENT['failed']};font-weight:600;" if wrong else ""
    label = ' title="differs"' if wrong else ""
    return (
        f'<td{label} style="{outline}text-align:right;padding:1px 6px;font-family:var(--jp-code-font-family,monospace)">'
        f"{html.escape(value)}</td>"
    )


@dataclass
class Note:
    """A sentence or a piece of code to read: what `hint` and `solution` return."""

    title: str
    text: str
    code: bool = False

    def __str__(self) -> str:
        return f"{self.title}\n{self.text}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = f'<pre style="margin:4px 0;white-space:pre;overflow-x:auto">{html.escape(self.text)}</pre>' if self.code else f"<div>{inline(self.text)}</div>"
        return f'<div style="border-left:4px solid {ACCENT["todo"]};{_CARD}{"" if self.code else ";" + _MEASURE}"><b>{html.escape(self.title)}</b>{body}</div>'
