"""Build the HTML of report pages: a self-contained document with a light and a dark theme, and parts of it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence

from utils.show.colours import ACCENT, FAINT, INK, PAPER
from utils.show.html import escape

STYLE = f"""
:root {{ color-scheme: light dark; --ink: {INK}; --paper: {PAPER}; --line: {FAINT}; --quiet: #57606a; --shade: #f6f8fa;
  --link: #0550ae; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6edf3; --paper: #0d1117; --line: #3d444d; --quiet: #9da7b1;
  --shade: #161b22; --link: #79b8ff; }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; padding: 1rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }}
h1 {{ font-size: 1.7rem; line-height: 1.2; }} h2 {{ margin-top: 2.4rem; border-bottom: 1px solid var(--line); }}
h3 {{ margin: 1.4rem 0 0.3rem; font-size: 1.05rem; }}
a {{ color: var(--link); }}
p {{ max-width: 46em; }}
.quiet {{ color: var(--quiet); }}
.wide {{ overflow-x: auto; }}
table.data {{ border-collapse: collapse; font-size: 0.93rem; }}
table.data th, table.data td {{ border-bottom: 1px solid var(--line); padding: 0.25rem 0.5rem; text-align: left;
  vertical-align: top; }}
table.data .number {{ text-align: right; font-variant-numeric: tabular-nums; }}
table.data td.number {{ white-space: nowrap; }}
table.data td:not(.number) {{ min-width: 9em; }}
table.data thead th {{ vertical-align: bottom; font-size: 0.86em; }}
th button {{ font: inherit; font-weight: 600; color: inherit; background: none; border: 0; padding: 0; cursor: pointer;
  text-align: inherit; text-decoration: underline dotted; }}
code, pre {{ font-family: ui-monospace, monospace; font-size: 0.92em; }}
pre {{ background: var(--shade); padding: 0.6rem; overflow-x: auto; border-radius: 6px; }}
details {{ border-top: 1px solid var(--line); padding: 0.4rem 0; }}
details > summary {{ cursor: pointer; }}
.bar {{ display: block; height: 0.35em; background: {ACCENT["failed"]}; margin-bottom: 0.3em; min-width: 1px; }}
figure {{ margin: 1rem 0; }} img {{ max-width: 100%; height: auto; }}
@media print {{ details > summary {{ list-style: none; }} }}
"""


def html_document(title: str, body: str, script: str = "") -> str:
    """Return a complete HTML document. Its security policy blocks all loading and every script except `script`."""
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f" script-src 'sha256-{hashed}';" if script else ""
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:;{allowed} base-uri 'none'; form-action 'none'"
    )
    ending = f"<script>{script}</script>" if script else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{escape(title)}</title>\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n{body}\n{ending}</body>\n</html>\n"
    )


def html_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = (), sort: bool = False
) -> str:
    """Return a table of HTML cells.

    Args:
        numbers: the indices of the columns to align on the right.
        sort: whether the headings are buttons, so that a script can sort the table.
    """
    align = lambda i: ' class="number"' if i in numbers else ""
    heads = (f'<button type="button">{cell}</button>' if sort and cell else cell for cell in header)
    head = "".join(f'<th scope="col"{align(i)}>{cell}</th>' for i, cell in enumerate(heads))
    body = "".join(f"<tr>{''.join(f'<td{align(i)}>{c}</td>' for i, c in enumerate(row))}</tr>\n" for row in rows)
    kind = "data sortable" if sort else "data"
    return (
        f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'
    )


def format_number(value: float) -> str:
    """Format a number of points without trailing zeros, such as 3 or 2.5."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def format_percent(part: int, whole: int) -> str:
    """Return a share such as "75 %", or a dash if `whole` is 0."""
    return f"{round(100 * part / whole)} %" if whole else "–"


def format_count(count: int, what: str, plural: str = "") -> str:
    """Return a count with its noun, such as "1 student" or "3 students"."""
    return f"{count:,} {what if count == 1 else plural or what + 's'}"
