"""Every piece of HTML that says something in words: a card with a coloured edge, a line, a table of cells.

Cards have no background and take the page's own text colour, so that they are legible in light and dark. Reports are
built on this module, and `from utils import check` must stay fast: it imports the standard library alone.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Sequence

from utils.show.colours import ACCENT

MARK = {"passed": "✓", "failed": "✗", "todo": "○"}
TEXT_COLOUR = "color:var(--jp-ui-font-color1,inherit)"
MEASURE = "line-height:1.5;max-width:46em"  # a line that the eye can follow back


def escape(text: str) -> str:
    """Plain text as HTML."""
    return html.escape(text)


def inline_html(text: str) -> str:
    """Plain text as HTML: escaped, and what stands between backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text)).replace("\n", "<br>")


def text_line(content: str) -> str:
    """HTML as a line of text of a readable width."""
    return f'<div style="{MEASURE}">{content}</div>'


def card(content: str, state: str = "todo", wide_content: str = "", status: bool = False) -> str:
    """HTML in a card whose edge has the colour of a state ("passed", "failed" or "todo").

    Args:
        inside: the text, held to a readable width.
        wide: what stands below the text and may be wider: a table, code.
        status: whether a screen reader announces it when it appears.
    """
    role = ' role="status"' if status else ""
    style = f"border-left:4px solid {ACCENT[state]};padding:4px 12px;margin:4px 0;{TEXT_COLOUR}"
    return f'<div{role} style="{style}">{text_line(content)}{wide_content}</div>'


def status_mark(state: str) -> str:
    """The sign of a state, in the colour of the text around it, which is read in light and dark."""
    return f"<span>{MARK[state]}</span>"


def code_block(text: str) -> str:
    """Code that scrolls sideways instead of wrapping."""
    return f'<pre style="margin:4px 0;white-space:pre;overflow-x:auto">{escape(text)}</pre>'


def table(caption: str, rows: Sequence[Sequence[str]], outlined: Collection[tuple[int, int]] = ()) -> str:
    """Rows of text as a table that others can stand beside; the cells at `wrong` (row, column) are outlined."""

    def cell(text: str, differs: bool) -> str:
        title = ' title="differs"' if differs else ""
        outline = f"outline:2px solid {ACCENT['failed']};font-weight:600;" if differs else ""
        style = f"{outline}text-align:right;padding:1px 6px;font-family:var(--jp-code-font-family,monospace)"
        return f'<td{title} style="{style}">{escape(text)}</td>'

    body = "".join(
        f"<tr>{''.join(cell(text, (i, j) in outlined) for j, text in enumerate(row))}</tr>"
        for i, row in enumerate(rows)
    )
    style = "display:inline-table;vertical-align:top;white-space:nowrap;margin:6px 24px 0 0"
    style += ";border-collapse:separate;border-spacing:3px"
    title = f'<caption style="caption-side:top;text-align:left;color:inherit">{escape(caption)}</caption>'
    return f'<table style="{style}">{title}{body}</table>'


def side_by_side(*tables: str) -> str:
    """Tables in one row, one below the other where the page is narrow; one that is wider than the page scrolls."""
    return f'<div style="overflow-x:auto;white-space:normal">{"".join(tables)}</div>'
