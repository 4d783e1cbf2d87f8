"""Write CSV tables that are safe to open in a spreadsheet: no cell is interpreted as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

# The characters that can begin a formula, according to OWASP. Some spreadsheets treat the full-width characters like
# the corresponding ASCII characters.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
GUARD = "'"  # marks a cell as text


def format_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a header and rows as CSV. Text that could be interpreted as a formula is escaped; numbers stay numbers."""
    out = io.StringIO()
    # Lines end with "\r\n" (RFC 4180). With "\n", Python would not quote a "\r" in a cell, and the line would break.
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([guard_formula(cell) for cell in header])
    writer.writerows(
        [cell if isinstance(cell, (int, float)) else guard_formula(str(cell)) for cell in row] for row in rows
    )
    return out.getvalue()


def guard_formula(text: str) -> str:
    """Return the text, prefixed with a guard if a spreadsheet could interpret it as a formula."""
    text = text.replace("\0", "")
    return GUARD + text if text.lstrip(" ").startswith(FORMULA) else text


def unguard_formula(text: str) -> str:
    """Remove the guard that `guard_formula` added."""
    return text[1:] if text.startswith(GUARD) and text[1:].lstrip(" ").startswith(FORMULA) else text
