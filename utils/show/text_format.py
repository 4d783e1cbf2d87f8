"""Words and numbers as figures and their alt texts say them: short, visible, and in letters that the font has."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np

HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # Unicode categories that draw nothing, or turn the line around


@functools.cache
def course_font():
    from matplotlib.font_manager import findfont, get_font

    return get_font(findfont("DejaVu Sans"))


def escape_undrawable(text: str) -> str:
    """Characters that are hidden, or that the font lacks, as escapes: no empty boxes, no warnings."""

    def fine(char: str) -> bool:
        return unicodedata.category(char) not in HIDDEN and bool(course_font().get_char_index(ord(char)))

    return "".join(c if fine(c) or c == "\n" else c.encode("unicode_escape").decode("ascii") for c in text)


def escape_invisible(token: str) -> str:
    """A token in words: spaces at its ends as dots, control characters as escapes, an empty one as quotes."""
    core = token.strip(" \u00a0")
    start = len(token) - len(token.lstrip(" \u00a0")) if core else len(token)
    dotted = "·" * start + core + "·" * (len(token) - start - len(core))
    return (
        "".join(c.encode("unicode_escape").decode() if unicodedata.category(c) in HIDDEN else c for c in dotted) or "''"
    )


def token_label(token: str, max_length: int = 12) -> str:
    """A token as it is drawn: visible, in letters that the font has, shortened."""
    text = escape_undrawable(escape_invisible(token))
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


def number_text(x: float) -> str:
    """A number in about five characters: two decimals, fewer for large ones; an exact 0 is bare."""
    if np.isneginf(x):
        return "−∞"
    if x == 0:
        return "0"
    size = abs(x)
    text = f"{x:.2f}" if size < 9.995 else f"{x:.1f}" if size < 99.95 else f"{x:.0f}" if size < 9999.5 else f"{x:.0e}"
    return (text if float(text) else text.lstrip("-")).replace("-", "−")


def list_values(names: Sequence[str], values: Iterable[float]) -> str:
    return ", ".join(f"{name} {number_text(value)}" for name, value in zip(names, values))


def vector_text(vector: Sequence[float], max_entries: int | None = None) -> str:
    """A vector in brackets; of a long one the first `most` numbers."""
    cut = vector[:max_entries]
    return f"({', '.join([*map(number_text, cut), *(['…'] if len(cut) < len(vector) else [])])})"


@functools.lru_cache(maxsize=4096)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """The width of `text` in inches."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    font = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    return RendererAgg(1, 1, 72).get_text_width_height_descent(text, font, False)[0] / 72


def fit_font_size(text: str, size: float, width: float, bold: bool = False) -> float:
    """`size` in points, or what of it lets `text` fit into `room` inches."""
    return min(size, size * width / text_width(text, size, bold))


def wrap_text(text: str, width: float, size: float, bold: bool = False) -> list[str]:
    """`text` in lines of at most `width` inches; a word that is wider is cut."""
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
