"""Format words and numbers for figures and alt texts: shorten them, and escape characters that cannot be drawn."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # Unicode categories with invisible characters or characters that reverse text


@functools.cache
def course_font() -> FT2Font:
    """Return the font for all figures, DejaVu Sans."""
    from matplotlib.font_manager import findfont, get_font

    return get_font(findfont("DejaVu Sans"))


def escape_undrawable(text: str) -> str:
    """Return `text` with escapes for hidden characters and for characters that the font lacks."""

    def fine(char: str) -> bool:
        return unicodedata.category(char) not in HIDDEN and bool(course_font().get_char_index(ord(char)))

    return "".join(c if fine(c) or c == "\n" else c.encode("unicode_escape").decode("ascii") for c in text)


def escape_invisible(token: str) -> str:
    """Return a token as visible text.

    Leading and trailing spaces become dots, control characters become escapes, and an empty token becomes quotes.
    """
    core = token.strip(" \u00a0")
    start = len(token) - len(token.lstrip(" \u00a0")) if core else len(token)
    dotted = "·" * start + core + "·" * (len(token) - start - len(core))
    return (
        "".join(c.encode("unicode_escape").decode() if unicodedata.category(c) in HIDDEN else c for c in dotted) or "''"
    )


def token_label(token: str, max_length: int = 12) -> str:
    """Return a token as figures show it: shortened, with escapes for characters that cannot be drawn."""
    return truncate_text(escape_undrawable(escape_invisible(token)), max_length)


def truncate_text(text: str, max_length: int) -> str:
    """Return the text. A text longer than `max_length` characters is cut and ends with an ellipsis."""
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


def number_text(x: float) -> str:
    """Return a number in about five characters: two decimals, fewer decimals if it is large, and "0" for exactly 0."""
    if np.isneginf(x):
        return "−∞"
    if x == 0:
        return "0"
    size = abs(x)
    text = f"{x:.2f}" if size < 9.995 else f"{x:.1f}" if size < 99.95 else f"{x:.0f}" if size < 9999.5 else f"{x:.0e}"
    return (text if float(text) else text.lstrip("-")).replace("-", "−")


def count_text(count: int, noun: str) -> str:
    """Return a number and a noun, such as "1,200 tokens" or "2 queries". The noun is singular if the number is 1."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def list_values(names: Sequence[str], values: Iterable[float]) -> str:
    """Return names with their values in one line, such as "the 0.50, cat 0.25"."""
    return ", ".join(f"{name} {number_text(value)}" for name, value in zip(names, values))


def distinguish_names(names: Sequence[str]) -> list[str]:
    """Return the names. A name that occurs more than once is followed by its position, as in "the (3)"."""
    return [f"{name} ({k})" if names.count(name) > 1 else name for k, name in enumerate(names)]


def vector_text(vector: Sequence[float] | np.ndarray, max_entries: int | None = None) -> str:
    """Return a vector in brackets. A long vector is cut after `max_entries` numbers."""
    cut = vector[:max_entries]
    return f"({', '.join([*map(number_text, cut), *(['…'] if len(cut) < len(vector) else [])])})"


@functools.lru_cache(maxsize=4096)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of `text` in inches, for a font size in points."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    font = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    return RendererAgg(1, 1, 72).get_text_width_height_descent(text, font, False)[0] / 72


def fit_font_size(text: str, size: float, width: float, bold: bool = False) -> float:
    """Return `size` in points, or a smaller size at which `text` fits into `width` inches."""
    return min(size, size * width / text_width(text, size, bold))


def wrap_text(text: str, width: float, size: float, bold: bool = False) -> list[str]:
    """Split `text` into lines of at most `width` inches. A word that is wider than a line is cut."""
    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            joined = f"{line} {word}" if line else word
            if text_width(joined, size, bold) <= width:
                line = joined
                continue
            if line:
                lines.append(line)
            while text_width(word, size, bold) > width:
                cut = max(n for n in range(1, len(word)) if n == 1 or text_width(word[:n], size, bold) <= width)
                lines.append(word[:cut])
                word = word[cut:]
            line = word
        lines.append(line)
    return lines
