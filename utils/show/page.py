"""What every figure is made on: the one theme, the `Picture`, and how arguments are read and words are set."""

from __future__ import annotations

import base64
import functools
import html
import io
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

PAPER, INK, MUTED, FAINT = "#ffffff", "#1f2328", "#57606a", "#d0d7de"
# Okabe and Ito's colours, darkened where they would be too light for text on paper.
BLUE, VERMILION, GREEN, PURPLE, BROWN, BLACK = "#0072b2", "#c24e00", "#00795a", "#8c4a86", "#7a5c00", "#1f2328"
SERIES = (BLUE, VERMILION, GREEN, PURPLE, BROWN, BLACK)
YES, NO = "#cfe8f7", "#f3f4f6"
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"

NARROWEST, WIDEST = 4.0, 6.0  # inches; one inch is 100 CSS pixels in a notebook
CSS_DPI, PNG_DPI = 100, 200
PAD, TEXT, SMALL, SMALLEST, TITLE = 0.12, 9.5, 8.5, 6.5, 11.0  # inches, then points
MOST_NUMBERS = 8  # tables up to 8 × 8 have their numbers printed

HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # Unicode categories that draw nothing, or turn the line around

THEME = {
    "font.family": "DejaVu Sans",  # ships with matplotlib, so every machine draws the same letters
    "font.size": TEXT,
    "text.color": INK,
    "text.parse_math": False,  # a token may hold a $
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.labelsize": TEXT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "svg.hashsalt": "attention",  # the same SVG for the same figure
}


@contextmanager
def theme():
    """matplotlib's defaults and ours, whatever style the reader has set; theirs comes back afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(THEME)
        yield


def themed(draw):
    @functools.wraps(draw)
    def inner(*args, **kwargs):
        with theme():
            return draw(*args, **kwargs)

    return inner


class Picture:
    """A matplotlib figure together with the words that say the same.

    Args:
        figure: a `matplotlib.figure.Figure`; it is not known to pyplot, so a notebook shows it once.
        alt: what is to be seen, with the numbers.
    """

    def __init__(self, figure: Any, alt: str) -> None:
        self.figure, self.alt = figure, alt

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.alt, "text/html": self.html()}

    def png(self, dpi: int = PNG_DPI) -> bytes:
        """The figure as the bytes of a PNG file."""
        buffer = io.BytesIO()
        with theme():
            self.figure.savefig(buffer, format="png", dpi=dpi)
        return buffer.getvalue()

    def html(self, dpi: int = PNG_DPI) -> str:
        """An `<img>` that carries its own data: a light card, legible on a light or a dark page."""
        data = base64.b64encode(self.png(dpi)).decode("ascii")
        alt = html.escape(" ".join(self.alt.split()), quote=True)
        width = round(self.figure.get_figwidth() * CSS_DPI)
        style = f"background:{PAPER};border:1px solid {FAINT};border-radius:6px;max-width:100%;height:auto"
        return f'<img alt="{alt}" width="{width}" style="{style}" src="data:image/png;base64,{data}">'

    def save(self, path: str | Path) -> Path:
        """Write the figure to `path` (.png, .svg or .pdf); give the path back."""
        path = Path(path)
        stamps = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        if path.suffix not in stamps:
            raise ValueError(f"cannot save a picture as {path.name!r}: the name must end in .png, .svg or .pdf.")
        with theme():
            self.figure.savefig(path, dpi=PNG_DPI, metadata=stamps[path.suffix])
        return path


# ---------------------------------------------------------------- reading what was given


def as_lists(value: Any) -> Any:
    """`value` with every tensor and array in it as nested lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple, range)):
        return [as_lists(item) for item in value]
    return value


def shape_text(array: np.ndarray) -> str:
    return "[" + ", ".join(map(str, array.shape)) + "]"


def read_array(value: Any, name: str, dims: Sequence[int], expected: str) -> np.ndarray:
    if value is ...:
        # The word Ellipsis is what utils.calm knows an unfilled value by.
        raise ValueError(f"{name} is still `...` (Ellipsis): fill in the exercise that makes it, then draw it.")
    plain = as_lists(value)
    try:
        array = np.asarray(plain)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; expected {expected}.") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} holds something other than numbers ({type(value).__name__}); expected {expected}.")
    if array.ndim not in dims:
        cure = f" Draw one at a time, for example {name}[0]." if array.ndim > max(dims) else ""
        raise ValueError(f"{name} has the shape {shape_text(array)}; expected {expected}.{cure}")
    if array.size == 0:
        raise ValueError(f"{name} is empty (shape {shape_text(array)}); expected {expected}.")
    return array


def read_numbers(value: Any, name: str, dims: Sequence[int], expected: str, blocked: bool = False) -> np.ndarray:
    """`value` as float64. NaN is refused, infinity too, but -inf is let through where `blocked`."""
    array = read_array(value, name, dims, expected).astype(np.float64)
    if np.isnan(array).any():
        where = ", ".join(str(int(i)) for i in np.argwhere(np.isnan(array))[0])
        raise ValueError(f"{name}[{where}] is nan, which cannot be drawn; look for the step that made it.")
    bad = array == np.inf if blocked else np.isinf(array)
    if bad.any():
        where = ", ".join(str(int(i)) for i in np.argwhere(bad)[0])
        raise ValueError(f"{name}[{where}] is infinite; expected finite numbers{' or -inf' if blocked else ''}.")
    return array


def read_names(given: Any, count: int, name: str, what: str) -> list[str]:
    """`given` as `count` strings, one for each of `what`."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"{name} must be a list of strings, one for each of {count} {what}; got {given!r}.")
    names = [visible(str(item)) for item in given]
    if len(names) != count:
        raise ValueError(f"{len(names)} {name} were given for {count} {what}; expected one for each.")
    return names


def read_title(title: Any, default: str) -> str:
    if title is None:
        return default
    if not isinstance(title, str):
        raise ValueError(f"title must be a string; got {type(title).__name__}.")
    return title


# ---------------------------------------------------------------- words and numbers in a figure


@functools.cache
def course_font():
    from matplotlib.font_manager import findfont, get_font

    return get_font(findfont("DejaVu Sans"))


def drawable(text: str) -> str:
    """Characters that are hidden, or that the font lacks, as escapes: no empty boxes, no warnings."""

    def fine(char: str) -> bool:
        return unicodedata.category(char) not in HIDDEN and bool(course_font().get_char_index(ord(char)))

    return "".join(c if fine(c) or c == "\n" else c.encode("unicode_escape").decode("ascii") for c in text)


def visible(token: str) -> str:
    """A token in words: spaces at its ends as dots, control characters as escapes, an empty one as quotes."""
    core = token.strip(" \u00a0")
    start = len(token) - len(token.lstrip(" \u00a0")) if core else len(token)
    dotted = "·" * start + core + "·" * (len(token) - start - len(core))
    return (
        "".join(c.encode("unicode_escape").decode() if unicodedata.category(c) in HIDDEN else c for c in dotted) or "''"
    )


def token_label(token: str, longest: int = 12) -> str:
    """A token as it is drawn: visible, in letters that the font has, shortened."""
    text = drawable(visible(token))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def number_text(x: float) -> str:
    """A number in about five characters: two decimals, fewer for large ones; an exact 0 is bare."""
    if np.isneginf(x):
        return "−∞"
    if x == 0:
        return "0"
    size = abs(x)
    text = f"{x:.2f}" if size < 9.995 else f"{x:.1f}" if size < 99.95 else f"{x:.0f}" if size < 9999.5 else f"{x:.0e}"
    return (text if float(text) else text.lstrip("-")).replace("-", "−")


def listed(names: Sequence[str], values: Iterable[float]) -> str:
    return ", ".join(f"{name} {number_text(value)}" for name, value in zip(names, values))


def readable_on(rgba: Sequence[float]) -> str:
    """Black or white, whichever has the higher WCAG contrast on the colour: 4.58 at least, at luminance 0.179."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgba[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#ffffff" if luminance < 0.179 else "#000000"


@functools.lru_cache(maxsize=4096)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """The width of `text` in inches."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    font = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    return RendererAgg(1, 1, 72).get_text_width_height_descent(text, font, False)[0] / 72


def wrap(text: str, width: float, size: float, bold: bool = False) -> list[str]:
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


def balanced(title: str, width: float) -> list[str]:
    """`title` in as few lines as fit, of about the same length: no last line of one word."""
    lines = wrap(title, width, TITLE, bold=True)
    for share in (0.9, 0.8, 0.7, 0.6):
        narrower = wrap(title, width * share, TITLE, bold=True)
        if len(narrower) > len(lines):
            break
        lines = narrower
    return lines


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """The positions nearest to `wanted`, in the same order, that are at least `gap` apart."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[tuple[float, int]] = []  # the centre and the size of runs of touching labels
    for i in order:
        blocks.append((wanted[i], 1))
        while len(blocks) > 1:
            (low, n), (high, m) = blocks[-2:]
            if high - low >= gap * (n + m) / 2:
                break
            blocks[-2:] = [((low * n + high * m) / (n + m), n + m)]
    placed = [centre + gap * (k - (n - 1) / 2) for centre, n in blocks for k in range(n)]
    return [y for _, y in sorted(zip(order, placed))]


# ---------------------------------------------------------------- the page

BENCH = 10.0  # inches: the scratch size on which axes are placed before the figure is cut to what is on it


def new_page():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(BENCH, BENCH), dpi=CSS_DPI)
    FigureCanvasAgg(figure)
    return figure


def new_axes(figure: Any, x: float, y: float, width: float, height: float) -> Any:
    """Axes at a place of the scratch page, in inches."""
    return figure.add_axes([x / BENCH, y / BENCH, width / BENCH, height / BENCH])


def finish(figure: Any, title: str, alt: str) -> Picture:
    """Cut the page to what is on it, with the title above: nothing can be cut off. Gives alt text after the title."""
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    places = {axes: axes.get_position() for axes in figure.axes}
    width = max(NARROWEST, box.width + 2 * PAD)
    lines = balanced(drawable(title), width - 2 * PAD) if title else []
    above = len(lines) * TITLE * 1.35 / 72 + 0.1 if lines else 0.0
    height = box.height + 2 * PAD + above
    dx, dy = (width - box.width) / 2 - box.x0, PAD - box.y0
    figure.set_size_inches(width, height)
    for axes, place in places.items():
        x, y, w, h = (BENCH * side for side in place.bounds)
        axes.set_position([(x + dx) / width, (y + dy) / height, w / width, h / height])
    if lines:
        text = "\n".join(lines)
        figure.text(PAD / width, 1 - PAD / height, text, size=TITLE, weight="bold", va="top", linespacing=1.2)
    stop = "" if title.endswith((".", "?", "!", ":")) else "."
    return Picture(figure, f"{title}{stop} {alt}" if title else alt)
