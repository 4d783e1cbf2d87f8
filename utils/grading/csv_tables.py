"""Tables as CSV that a spreadsheet opens without running what somebody wrote into them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

# What a spreadsheet takes for the start of a formula, as OWASP lists it: the wide forms are what some of them fold to
# the narrow ones.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
GUARD = "'"  # a cell that begins with it is text


def format_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A header and its rows as CSV. Text that would be a formula is guarded; numbers stay numbers."""
    out = io.StringIO()
    # As RFC 4180 ends lines: with "\n" alone Python would leave a "\r" in a cell unquoted, where a line seems to end.
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([guard_formula(cell) for cell in header])
    writer.writerows(
        [cell if isinstance(cell, (int, float)) else guard_formula(str(cell)) for cell in row] for row in rows
    )
    return out.getvalue()


def guard_formula(text: str) -> str:
    """Text that every spreadsheet shows as text."""
    text = text.replace("\0", "")
    return GUARD + text if text.lstrip(" ").startswith(FORMULA) else text


def unguard_formula(text: str) -> str:
    """The text that was guarded."""
    return text[1:] if text.startswith(GUARD) and text[1:].lstrip(" ").startswith(FORMULA) else text
