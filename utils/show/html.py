"""Build the HTML of text messages: cards with a coloured edge, lines of text, tables.

Cards have no background and use the page's text colour, so they are legible in light and dark themes. This module
imports only the standard library and the colours, because `from utils import check` imports it and must be fast.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from html import escape

from utils.show.colours import ACCENT

MARK = {"passed": "✓", "failed": "✗", "todo": "○"}
TEXT_COLOUR = "color:var(--jp-ui-font-color1,inherit)"
MEASURE = "line-height:1.5;max-width:46em"  # longer lines are hard to read


def inline_html(text: str) -> str:
    """Return plain text as escaped HTML, with text in backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text)).replace("\n", "<br>")


def text_line(content: str) -> str:
    """Wrap HTML content in a line of text with a readable width."""
    return f'<div style="{MEASURE}">{content}</div>'


def card(content: str, state: str = "todo", wide_content: str = "", status: bool = False) -> str:
    """Wrap HTML content in a card whose edge colour shows a state ("passed", "failed" or "todo").

    Args:
        content: the text, limited to a readable width.
        wide_content: content below the text that may be wider, such as a table or code.
        status: whether a screen reader announces the text, but not the wide content, when the card appears.
    """
    role = ' role="status"' if status else ""
    style = f"border-left:4px solid {ACCENT[state]};padding:4px 12px;margin:4px 0;{TEXT_COLOUR}"
    return f'<div style="{style}"><div{role} style="{MEASURE}">{content}</div>{wide_content}</div>'


def status_mark(state: str) -> str:
    """Return the symbol for a state. It has the colour of the surrounding text, so it is legible in all themes."""
    return f"<span>{MARK[state]}</span>"


def code_block(text: str) -> str:
    """Return code as HTML that scrolls horizontally instead of wrapping."""
    return f'<pre {_scrolling("Code")} style="margin:4px 0;white-space:pre;overflow-x:auto">{escape(text)}</pre>'


def _scrolling(name: str) -> str:
    """Return attributes that make a scrolling element reachable by keyboard in every browser."""
    return f'tabindex="0" role="group" aria-label="{name}"'


def code_lines(lines: Iterable[tuple[str, int, str, str, bool]]) -> str:
    """Return numbered lines of code as HTML, each with a mark and a note. A highlighted line has a bar on the left.

    Args:
        lines: for each line: its mark, number, code and note, and whether it is highlighted.
    """

    def row(mark: str, number: int, code: str, note: str, highlighted: bool) -> str:
        bar = f"border-left:3px solid {ACCENT['failed']};font-weight:600;" if highlighted else ""
        cells = (mark, str(number), code, note)
        styles = ("", "text-align:right;", "white-space:pre;font-family:var(--jp-code-font-family,monospace);", "")
        columns = (f'<td style="text-align:left;padding:1px 6px;{s}">{escape(c)}</td>' for s, c in zip(styles, cells))
        return f'<tr style="{bar}">{"".join(columns)}</tr>'

    rows = "".join(row(*line) for line in lines)
    lines_table = f'<table style="border-collapse:collapse;margin:4px 0">{rows}</table>'
    return f'<div {_scrolling("Code")} style="overflow-x:auto">{lines_table}</div>'


def table(
    caption: str,
    rows: Sequence[Sequence[str]],
    outlined: Collection[tuple[int, int]] = (),
    expected: Sequence[Sequence[str]] = (),
) -> str:
    """Return rows of text as an inline table with a caption. The cells in `outlined` (row, column) have an outline.

    If `expected` is given, a screen reader reads three things for each cell: its text, the expected text, and "right"
    or "wrong".
    """
    wanted = {(i, j): text for i, row in enumerate(expected) for j, text in enumerate(row)}

    def cell(text: str, place: tuple[int, int]) -> str:
        differs = place in outlined
        words = f"{caption} {text}, expected {wanted.get(place, '')}, {'wrong' if differs else 'right'}"
        title = f' aria-label="{escape(words)}"' if place in wanted else ""
        outline = f"outline:2px solid {ACCENT['failed']};font-weight:600;" if differs else ""
        style = f"{outline}text-align:right;padding:1px 6px;font-family:var(--jp-code-font-family,monospace)"
        return f'<td{title} style="{style}">{escape(text)}</td>'

    body = "".join(
        f"<tr>{''.join(cell(text, (i, j)) for j, text in enumerate(row))}</tr>" for i, row in enumerate(rows)
    )
    style = "display:inline-table;vertical-align:top;white-space:nowrap;margin:6px 24px 0 0"
    style += ";border-collapse:separate;border-spacing:3px"
    title = f'<caption style="caption-side:top;text-align:left;color:inherit">{escape(caption)}</caption>'
    return f'<table style="{style}">{title}{body}</table>'


def side_by_side(*tables: str) -> str:
    """Return tables in one row. On a narrow page, the row wraps, and a table that is too wide scrolls."""
    return f'<div {_scrolling("Tables")} style="overflow-x:auto;white-space:normal">{"".join(tables)}</div>'
