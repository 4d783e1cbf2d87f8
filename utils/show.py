"""Every static figure of the course, one function per kind.

Each function returns a `Picture`, which a notebook shows as an image with alt text and a terminal prints as that text.
Rows are queries, columns are keys. Arguments may be tensors (also ones that require grad), arrays or nested lists;
what cannot be drawn is refused with a ValueError that says what was given and what was expected.
"""

from __future__ import annotations

import base64
import functools
import html
import io
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

# ---------------------------------------------------------------- the one theme

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
def _theme():
    """matplotlib's defaults and ours, whatever style the reader has set; theirs comes back afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(THEME)
        yield


def _themed(draw):
    @functools.wraps(draw)
    def inner(*args, **kwargs):
        with _theme():
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
        with _theme():
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
        with _theme():
            self.figure.savefig(path, dpi=PNG_DPI, metadata=stamps[path.suffix])
        return path


# ---------------------------------------------------------------- reading what was given


def _plain(value: Any) -> Any:
    """`value` with every tensor and array in it as nested lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple, range)):
        return [_plain(item) for item in value]
    return value


def _shape(array: np.ndarray) -> str:
    return "[" + ", ".join(map(str, array.shape)) + "]"


def _array(value: Any, name: str, dims: Sequence[int], expected: str) -> np.ndarray:
    if value is ...:
        # The word Ellipsis is what utils.calm knows an unfilled value by.
        raise ValueError(f"{name} is still `...` (Ellipsis): fill in the exercise that makes it, then draw it.")
    plain = _plain(value)
    try:
        array = np.asarray(plain)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; expected {expected}.") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} holds something other than numbers ({type(value).__name__}); expected {expected}.")
    if array.ndim not in dims:
        cure = f" Draw one at a time, for example {name}[0]." if array.ndim > max(dims) else ""
        raise ValueError(f"{name} has the shape {_shape(array)}; expected {expected}.{cure}")
    if array.size == 0:
        raise ValueError(f"{name} is empty (shape {_shape(array)}); expected {expected}.")
    return array


def _numbers(value: Any, name: str, dims: Sequence[int], expected: str, blocked: bool = False) -> np.ndarray:
    """`value` as float64. NaN is refused, infinity too, but -inf is let through where `blocked`."""
    array = _array(value, name, dims, expected).astype(np.float64)
    if np.isnan(array).any():
        where = ", ".join(str(int(i)) for i in np.argwhere(np.isnan(array))[0])
        raise ValueError(f"{name}[{where}] is nan, which cannot be drawn; look for the step that made it.")
    bad = array == np.inf if blocked else np.isinf(array)
    if bad.any():
        where = ", ".join(str(int(i)) for i in np.argwhere(bad)[0])
        raise ValueError(f"{name}[{where}] is infinite; expected finite numbers{' or -inf' if blocked else ''}.")
    return array


def _names(given: Any, count: int, name: str, what: str) -> list[str]:
    """`given` as `count` strings, one for each of `what`."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"{name} must be a list of strings, one for each of {count} {what}; got {given!r}.")
    names = [_visible(str(item)) for item in given]
    if len(names) != count:
        raise ValueError(f"{len(names)} {name} were given for {count} {what}; expected one for each.")
    return names


def _title(title: Any, default: str) -> str:
    if title is None:
        return default
    if not isinstance(title, str):
        raise ValueError(f"title must be a string; got {type(title).__name__}.")
    return title


# ---------------------------------------------------------------- words and numbers in a figure


@functools.cache
def _font():
    from matplotlib.font_manager import findfont, get_font

    return get_font(findfont("DejaVu Sans"))


def _drawable(text: str) -> str:
    """Characters that are hidden, or that the font lacks, as escapes: no empty boxes, no warnings."""

    def fine(char: str) -> bool:
        return unicodedata.category(char) not in HIDDEN and bool(_font().get_char_index(ord(char)))

    return "".join(c if fine(c) or c == "\n" else c.encode("unicode_escape").decode("ascii") for c in text)


def _visible(token: str) -> str:
    """A token in words: spaces at its ends as dots, control characters as escapes, an empty one as quotes."""
    core = token.strip(" \u00a0")
    start = len(token) - len(token.lstrip(" \u00a0")) if core else len(token)
    dotted = "·" * start + core + "·" * (len(token) - start - len(core))
    return (
        "".join(c.encode("unicode_escape").decode() if unicodedata.category(c) in HIDDEN else c for c in dotted) or "''"
    )


def _label(token: str, longest: int = 12) -> str:
    """A token as it is drawn: visible, in letters that the font has, shortened."""
    text = _drawable(_visible(token))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _number(x: float) -> str:
    """A number in about five characters: two decimals, fewer for large ones; an exact 0 is bare."""
    if np.isneginf(x):
        return "−∞"
    if x == 0:
        return "0"
    size = abs(x)
    text = f"{x:.2f}" if size < 9.995 else f"{x:.1f}" if size < 99.95 else f"{x:.0f}" if size < 9999.5 else f"{x:.0e}"
    return (text if float(text) else text.lstrip("-")).replace("-", "−")


def _listed(names: Sequence[str], values: Iterable[float]) -> str:
    return ", ".join(f"{name} {_number(value)}" for name, value in zip(names, values))


def _readable_on(rgba: Sequence[float]) -> str:
    """Black or white, whichever has the higher WCAG contrast on the colour: 4.58 at least, at luminance 0.179."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgba[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#ffffff" if luminance < 0.179 else "#000000"


@functools.lru_cache(maxsize=4096)
def _width(text: str, size: float, bold: bool = False) -> float:
    """The width of `text` in inches."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.font_manager import FontProperties

    font = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    return RendererAgg(1, 1, 72).get_text_width_height_descent(text, font, False)[0] / 72


def _wrap(text: str, width: float, size: float, bold: bool = False) -> list[str]:
    """`text` in lines of at most `width` inches; a word that is wider is cut."""
    lines = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            joined = f"{line} {word}" if line else word
            if _width(joined, size, bold) <= width:
                line = joined
                continue
            if line:
                lines.append(line)
            while _width(word, size, bold) > width:
                cut = max(n for n in range(1, len(word)) if n == 1 or _width(word[:n], size, bold) <= width)
                lines.append(word[:cut])
                word = word[cut:]
            line = word
        lines.append(line)
    return lines


def _balanced(title: str, width: float) -> list[str]:
    """`title` in as few lines as fit, of about the same length: no last line of one word."""
    lines = _wrap(title, width, TITLE, bold=True)
    for share in (0.9, 0.8, 0.7, 0.6):
        narrower = _wrap(title, width * share, TITLE, bold=True)
        if len(narrower) > len(lines):
            break
        lines = narrower
    return lines


def _spread(wanted: Sequence[float], gap: float) -> list[float]:
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

_BENCH = 10.0  # inches: the scratch size on which axes are placed before the figure is cut to what is on it


def _page():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_BENCH, _BENCH), dpi=CSS_DPI)
    FigureCanvasAgg(figure)
    return figure


def _axes(figure: Any, x: float, y: float, width: float, height: float) -> Any:
    """Axes at a place of the scratch page, in inches."""
    return figure.add_axes([x / _BENCH, y / _BENCH, width / _BENCH, height / _BENCH])


def _finish(figure: Any, title: str, alt: str) -> Picture:
    """Cut the page to what is on it, with the title above: nothing can be cut off. Gives alt text after the title."""
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    places = {axes: axes.get_position() for axes in figure.axes}
    width = max(NARROWEST, box.width + 2 * PAD)
    lines = _balanced(_drawable(title), width - 2 * PAD) if title else []
    above = len(lines) * TITLE * 1.35 / 72 + 0.1 if lines else 0.0
    height = box.height + 2 * PAD + above
    dx, dy = (width - box.width) / 2 - box.x0, PAD - box.y0
    figure.set_size_inches(width, height)
    for axes, place in places.items():
        x, y, w, h = (_BENCH * side for side in place.bounds)
        axes.set_position([(x + dx) / width, (y + dy) / height, w / width, h / height])
    if lines:
        text = "\n".join(lines)
        figure.text(PAD / width, 1 - PAD / height, text, size=TITLE, weight="bold", va="top", linespacing=1.2)
    stop = "" if title.endswith((".", "?", "!", ":")) else "."
    return Picture(figure, f"{title}{stop} {alt}" if title else alt)


# ---------------------------------------------------------------- tables: queries down, keys across


def _table(
    values: np.ndarray, rows: Sequence[str] | None, columns: Sequence[str], cmap: Any, limits: tuple[float, float]
) -> tuple[Any, Any, float]:
    """Coloured cells with token strings on both sides; gives figure, axes and the side of a cell in inches."""
    n, m = values.shape
    row_size, column_size = (SMALL if k <= 16 else SMALLEST for k in (n, m))
    row_texts = [_label(row) for row in rows] if rows is not None else []
    column_texts = [_label(column) for column in columns]
    left = max((_width(text, row_size) for text in row_texts), default=0.0) + 0.35
    cell = min(0.52, (WIDEST - 2 * PAD - left - 0.55) / m, 6.0 / n)

    figure = _page()
    axes = _axes(figure, 2.0, 1.0, cell * m, cell * n)
    axes.imshow(values, cmap=cmap, vmin=limits[0], vmax=limits[1], aspect="auto", interpolation="nearest")
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0, pad=3, labelbottom=False, labeltop=True)
    # Beyond what can be read, every second (third …) position is named.
    row_step, column_step = (max(1, math.ceil(size * 1.1 / 72 / cell)) for size in (row_size, column_size))
    axes.set_xticks(range(0, m, column_step), column_texts[::column_step], size=column_size)
    axes.set_yticks(range(0, n, row_step) if rows is not None else [], row_texts[::row_step], size=row_size)
    if max(_width(text, column_size) for text in column_texts) > cell * 0.94:
        steep = 90 if cell < 0.3 else 45
        anchor = {"ha": "left", "va": "center"} if steep == 90 else {"ha": "left", "va": "baseline"}
        for text in axes.get_xticklabels():
            text.set(rotation=steep, rotation_mode="anchor", **anchor)
    axes.set_xlabel("key (answers)")
    if rows is not None:
        axes.set_ylabel("query (asks)" if n * cell > 0.9 else "query")
    for spine in axes.spines.values():
        spine.set_visible(False)
    if max(n, m) <= 24:  # lines between the cells
        axes.set_xticks(np.arange(m + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(n + 1) - 0.5, minor=True)
        axes.grid(which="minor", color=PAPER, linewidth=1.2)
        axes.tick_params(which="minor", length=0)
    return figure, axes, cell


def _write(axes: Any, values: np.ndarray, cell: float) -> None:
    """The numbers into the cells."""
    image = axes.images[0]
    for (i, j), value in np.ndenumerate(values):
        text, colour = _number(value), _readable_on(image.to_rgba(value) if np.isfinite(value) else (1, 1, 1))
        size = min(TEXT, TEXT * cell * 0.9 / _width(text, TEXT))
        axes.text(j, i, text, ha="center", va="center", color=colour, size=size)


def _scale(figure: Any, axes: Any, ticks: Sequence[float]) -> None:
    """A thin bar of colours on the right of a table that has no numbers."""
    x, y, w, h = (_BENCH * side for side in axes.get_position().bounds)
    tall = min(h, 2.0)
    bar = figure.colorbar(axes.images[0], cax=_axes(figure, x + w + 0.12, y + h - tall, 0.11, tall), ticks=ticks)
    bar.ax.set_yticklabels([_number(tick) for tick in ticks], size=SMALL - 1)
    bar.ax.tick_params(length=0, pad=2)
    bar.outline.set_visible(False)


def _sides(values: np.ndarray, tokens: Any, keys: Any) -> tuple[np.ndarray, list[str] | None, list[str]]:
    """`values` as a table, with the names of its rows (None for a single unnamed query) and columns."""
    if values.ndim == 1:
        single = None if keys is None else _names([tokens] if isinstance(tokens, str) else tokens, 1, "tokens", "query")
        columns = tokens if keys is None else keys
        return values[None], single, _names(columns, len(values), "tokens" if keys is None else "keys", "keys")
    if keys is None and values.shape[0] != values.shape[1]:
        raise ValueError(
            f"a {values.shape[0]} × {values.shape[1]} table needs keys= for its columns, tokens for its rows."
        )
    rows = _names(tokens, values.shape[0], "tokens", "queries (rows)")
    return values, rows, rows if keys is None else _names(keys, values.shape[1], "keys", "keys (columns)")


def _rows_in_words(values: np.ndarray, rows: Sequence[str] | None, columns: Sequence[str]) -> str:
    """Every number of a small table; of a larger one each row's largest; of a very large one the largest of all."""
    n, m = values.shape
    heads = [f"{row}: " for row in rows] if rows is not None else [""] * n
    if n <= MOST_NUMBERS and m <= MOST_NUMBERS:
        return "\n".join(f"{head}{_listed(columns, row)}." for head, row in zip(heads, values))
    if n <= 16:
        tops = values.argmax(axis=1)
        return "\n".join(f"{heads[i]}largest at {columns[j]}, {_number(values[i, j])}." for i, j in enumerate(tops))
    i, j = np.unravel_index(values.argmax(), values.shape)
    return f"The largest is {_number(values[i, j])}: row {i} ({rows[i]}), column {j} ({columns[j]})."


def _size_in_words(values: np.ndarray, rows: Sequence[str] | None) -> str:
    n, m = values.shape
    return f"1 query, {m} keys" if rows is None else f"{n} {'query' if n == 1 else 'queries'} down, {m} keys across"


@_themed
def grid(tokens: Sequence[str], title: str | None = None) -> Picture:
    """An empty table for the reader to complete: each row asks, each column answers.

    Args:
        tokens: seq strings.
        title: what to do; by default a question.
    """
    names = _names(tokens, len(list(tokens)) if isinstance(tokens, Iterable) else 0, "tokens", "positions")
    if not names:
        raise ValueError("tokens is empty; expected at least one string.")
    n = len(names)
    from matplotlib.colors import ListedColormap

    figure, axes, _ = _table(np.zeros((n, n)), names, names, ListedColormap([PAPER]), (0, 1))
    axes.grid(visible=False, which="minor")
    for edge in range(n + 1):
        axes.plot([-0.5, n - 0.5], [edge - 0.5] * 2, color=MUTED, linewidth=0.8, clip_on=False)
        axes.plot([edge - 0.5] * 2, [-0.5, n - 0.5], color=MUTED, linewidth=0.8, clip_on=False)
    alt = f"An empty table, {n} rows by {n} columns, {n * n} cells. Rows ask, columns answer: {', '.join(names)}."
    return _finish(figure, _title(title, "Row asks, column answers: which cells are yes?"), alt)


@_themed
def mask(mask: Any, tokens: Sequence[str], title: str | None = None, keys: Sequence[str] | None = None) -> Picture:
    """A table of yes (✓, may attend) and no (×).

    Args:
        mask: bool[queries, keys], True = may attend.
        tokens: a string for each query, and for each key unless `keys` names those.
        title: by default the number of yes cells.

    Raises:
        ValueError: not bool, not 2-D, or the wrong number of tokens.
    """
    values = _array(mask, "mask", [2], "a bool table [queries, keys]")
    if values.dtype != bool:
        raise ValueError(f"mask holds {_kind(mask, values)}; expected bool, True where a query may attend to a key.")
    values, rows, columns = _sides(values, tokens, keys)
    from matplotlib.colors import ListedColormap

    figure, axes, cell = _table(values.astype(float), rows, columns, ListedColormap([NO, YES]), (0, 1))
    n, m = values.shape
    if max(n, m) <= 16:
        for (i, j), yes in np.ndenumerate(values):
            mark, colour = ("✓", "#004c77") if yes else ("×", "#6e7781")
            axes.text(j, i, mark, ha="center", va="center", size=min(TEXT + 2, cell * 45), color=colour)
    else:  # thousands of letters would be slow to draw and too small to read
        axes.plot(*np.argwhere(values)[:, ::-1].T, "o", color="#004c77", markersize=cell * 18, markeredgewidth=0)
    note = "✓ may attend   × may not" if max(n, m) <= 16 else "● may attend   empty: may not"
    axes.text(0, -0.12 / (cell * n), note, transform=axes.transAxes, size=SMALL, color=MUTED, va="top")
    yes_of = lambda row: [column for column, yes in zip(columns, row) if yes]
    default = f"{int(values.sum())} of {values.size} cells are yes"
    if n <= 16 and m <= 16:
        words = "\n".join(
            f"{name} may attend to: {', '.join(yes_of(row)) or 'nothing'}." for name, row in zip(rows, values)
        )
    else:
        words = f"Row by row, the number of yes cells is {', '.join(str(int(row.sum())) for row in values)}."
    return _finish(figure, _title(title, default), f"A mask, {n} queries down, {m} keys across; {default}.\n{words}")


def _kind(given: Any, array: np.ndarray) -> str:
    return str(getattr(given, "dtype", array.dtype)).replace("torch.", "")


@_themed
def weights(
    weights: Any, tokens: Sequence[str], title: str | None = None, keys: Sequence[str] | None = None
) -> Picture:
    """Attention weights on one scale from 0 to 1; the numbers are printed up to 8 × 8.

    Args:
        weights: [queries, keys], or [keys] for a single query; between 0 and 1.
        tokens: a string for each query, and for each key unless `keys` names those.
            For a single query `tokens` names the keys; or give the query's name as `tokens` and the rest as `keys`.
        title: by default the largest weight.

    Raises:
        ValueError: wrong shape, wrong number of tokens, nan, or a number outside 0…1.
    """
    values = _numbers(weights, "weights", [1, 2], "a table [queries, keys] or one row [keys]")
    if values.min() < -1e-6 or values.max() > 1 + 1e-6:
        wrong = values.min() if values.min() < 0 else values.max()
        raise ValueError(f"weights must lie between 0 and 1; found {_number(wrong)}. Draw scores with show.scores.")
    values, rows, columns = _sides(values, tokens, keys)
    figure, axes, cell = _table(values, rows, columns, SEQUENTIAL, (0, 1))
    if max(values.shape) <= MOST_NUMBERS:
        _write(axes, values, cell)
    else:
        _scale(figure, axes, [0, 0.5, 1])
    i, j = np.unravel_index(values.argmax(), values.shape)
    whom = f"{rows[i]!r} → {columns[j]!r}" if rows is not None else repr(columns[j])
    default = f"The largest weight: {whom}, {_number(values[i, j])}"
    if np.ptp(values) < 1e-9:
        default = f"Every weight is {_number(values[0, 0])}"
    sums = values.sum(axis=1)
    ones = np.allclose(sums, 1, atol=1e-3)
    total = "Every row sums to 1." if ones else f"Row sums run from {_number(sums.min())} to {_number(sums.max())}."
    alt = f"Attention weights, {_size_in_words(values, rows)}. {total}\n{_rows_in_words(values, rows, columns)}"
    return _finish(figure, _title(title, default), alt)


@_themed
def scores(scores: Any, tokens: Sequence[str], title: str | None = None, keys: Sequence[str] | None = None) -> Picture:
    """Scores, before softmax: red above 0, blue below; blocked ones (-inf) are grey. Numbers up to 8 × 8.

    Args:
        scores: [queries, keys], or [keys] for a single query; finite or -inf.
        tokens, keys: as in `weights`.
        title: by default the largest score.

    Raises:
        ValueError: wrong shape, wrong number of tokens, nan or +inf.
    """
    values = _numbers(scores, "scores", [1, 2], "a table [queries, keys] or one row [keys]", blocked=True)
    values, rows, columns = _sides(values, tokens, keys)
    finite = values[np.isfinite(values)]
    limit = float(np.abs(finite).max()) if finite.size else 0.0
    limit = limit or 1.0
    shown = np.ma.masked_invalid(values)
    figure, axes, cell = _table(shown, rows, columns, DIVERGING, (-limit, limit))
    axes.set_facecolor("#e4e7eb")  # shows through where a score is blocked
    if max(values.shape) <= MOST_NUMBERS:
        _write(axes, values, cell)
    else:
        _scale(figure, axes, [-limit, 0, limit])
    i, j = np.unravel_index(values.argmax(), values.shape)
    whom = f"{rows[i]!r} → {columns[j]!r}" if rows is not None else repr(columns[j])
    default = f"The highest score: {whom}, {_number(values[i, j])}"
    blocked = values.size - finite.size
    note = f" {blocked} are blocked (−∞)." if blocked else ""
    alt = f"Scores, {_size_in_words(values, rows)}.{note}\n{_rows_in_words(values, rows, columns)}"
    return _finish(figure, _title(title, default), alt)


# ---------------------------------------------------------------- bars


@_themed
def bars(
    values: Any,
    labels: Sequence[str],
    title: str | None = None,
    reference: float | tuple[str, float] | None = None,
    same_scale: bool = False,
    limit: float | None = None,
) -> Picture:
    """One group of horizontal bars, or two side by side that share their labels; each bar ends in its number.

    Args:
        values: numbers [n], or {"scores": [n], "weights": [n]} for one or two named groups; finite.
        labels: n strings, top to bottom.
        title: by default the longest bar.
        reference: a number, or ("uniform", number), drawn as a dashed line in the last group.
        same_scale: draw two groups on one scale (a guess beside the truth, not scores beside weights).
        limit: where the last group's scale ends at least (an explorer's bars should move, not their scale).
    """
    groups = dict(values) if isinstance(values, Mapping) else {"": values}
    if not 1 <= len(groups) <= 2:
        raise ValueError(f"bars draws one or two groups; got {len(groups)}.")
    arrays = {
        str(k): _numbers(v, f"values[{k!r}]" if k else "values", [1], "a row of numbers") for k, v in groups.items()
    }
    names = _names(labels, len(next(iter(arrays.values()))), "labels", "bars")
    for group, array in arrays.items():
        if len(array) != len(names):
            raise ValueError(
                f"values[{group!r}] has {len(array)} numbers for {len(names)} labels; expected one for each."
            )
    if len(names) > 40:
        raise ValueError(f"bars draws at most 40 bars; got {len(names)}.")
    mark = _reference(reference)

    figure = _page()
    pitch = 0.3 if len(names) <= 16 else 0.16
    size = TEXT if pitch == 0.3 else 7.5
    texts = [_label(name, 16) for name in names]
    side = max(_width(text, size) for text in texts) + 0.1
    gap = 0.3
    width = min(4.2, (WIDEST - 2 * PAD - side - gap * (len(arrays) - 1)) / len(arrays))
    for k, (group, array) in enumerate(arrays.items()):
        axes = _axes(figure, 2 + k * (width + gap), 2, width, pitch * len(names))
        together = np.concatenate(list(arrays.values())) if same_scale else array
        if k == len(arrays) - 1:
            together = np.concatenate([together, [mark[1]] if mark else [], [limit] if limit is not None else []])
        _bar_group(axes, array, together, SERIES[k], pitch, size, width)
        axes.set_yticks(range(len(names)), texts if k == 0 else [""] * len(names), size=size)
        if group:
            axes.text(0, 1, _label(group, 26), transform=axes.transAxes, va="bottom", color=SERIES[k], weight="bold")
    if mark is not None:
        x = mark[1]
        axes.axvline(x, color=MUTED, linestyle=(0, (4, 3)), linewidth=1)
        left, right = axes.get_xlim()
        anchor = (
            "center" if 0.25 < (x - left) / (right - left) < 0.75 else "left" if (x - left) < (right - x) else "right"
        )
        note = _mark_label(mark)
        axes.text(x, len(names) - 0.42, note, ha=anchor, va="top", size=SMALL, color=MUTED)
    first = next(iter(arrays.values()))
    default = f"{names[int(first.argmax())]!r} has the largest, {_number(first.max())}"
    words = "\n".join(f"{group or 'Bars'}: {_listed(names, array)}." for group, array in arrays.items())
    note = f"\nDashed line: {mark[0]} {_number(mark[1])}." if mark is not None else ""
    return _finish(figure, _title(title, default), words + note)


def _reference(reference: Any) -> tuple[str, float] | None:
    if reference is None:
        return None
    name, value = reference if isinstance(reference, tuple) and len(reference) == 2 else ("reference", reference)
    return str(name), float(_numbers(value, "reference", [0], "a number or a (name, number) pair"))


def _bar_group(
    axes: Any, array: np.ndarray, together: np.ndarray, colour: str, pitch: float, size: float, width: float
) -> None:
    texts = [_number(x) for x in array]
    low, high = min(0.0, together.min()), max(0.0, together.max())
    room = (max(_width(text, size) for text in texts) + 0.1) / width  # for the numbers at the ends, as a share
    left_room, right_room = (room if low < 0 else 0.0), room
    span = (high - low or 1.0) / (1 - left_room - right_room)
    axes.set_xlim(low - left_room * span, low - left_room * span + span)
    axes.set_ylim(len(array) - 0.45, -0.55)
    axes.barh(range(len(array)), array, height=0.72, color=colour)
    axes.axvline(0, color=MUTED, linewidth=0.8)
    for i, (x, text) in enumerate(zip(array, texts)):
        shift, anchor = (-3, "right") if x < 0 else (3, "left")
        card = {"facecolor": PAPER, "edgecolor": "none", "pad": 0.8}
        axes.annotate(
            text, (x, i), (shift, 0), textcoords="offset points", ha=anchor, va="center", size=size, bbox=card, zorder=5
        )
    axes.tick_params(length=0)
    axes.set_xticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


# ---------------------------------------------------------------- arrows in the plane


def _plane(figure: Any, points: np.ndarray, side: float, limit: float | None = None) -> tuple[Any, float]:
    """Equal-aspect axes that hold `points` [n, 2] and the origin; gives the inches of one unit too."""
    points = np.vstack([points, np.zeros(2)])
    low, high = (points.min(axis=0), points.max(axis=0)) if limit is None else (np.full(2, -limit), np.full(2, limit))
    span = high - low
    longest = float(span.max()) or 1.0
    wanted = np.maximum(span, 0.4 * longest)  # a flat picture still needs some height
    low, high = (low + high - wanted) / 2 - 0.06 * longest, (low + high + wanted) / 2 + 0.06 * longest
    inch = side / float((high - low).max())
    width, height = (high - low) * inch
    axes = _axes(figure, 2.5, 2.5, width, height)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.locator_params(nbins=5)
    axes.tick_params(colors=MUTED, length=2)
    for spine in axes.spines.values():
        spine.set_color(FAINT)
    return axes, inch


def _arrow(axes: Any, start: np.ndarray, end: np.ndarray, colour: str, width: float = 1.8) -> None:
    if np.allclose(start, end):
        axes.plot(*end, marker="o", color=colour, markersize=4)
        return
    # A short arrow gets a small head, so that head and shaft both show.
    x0, y0, x1, y1 = *axes.transData.transform(start), *axes.transData.transform(end)
    head = min(9 + 2 * width, max(3.0, 0.45 * math.hypot(x1 - x0, y1 - y0)))
    style = {
        "arrowstyle": "-|>",
        "mutation_scale": head,
        "shrinkA": 0,
        "shrinkB": 0,
        "color": colour,
        "linewidth": width,
    }
    axes.annotate("", end, start, arrowprops=style)


def _at_tips(axes: Any, inch: float, tips: Mapping[str, np.ndarray], colours: Sequence[str]) -> None:
    """A name beside each tip, moved apart where they would touch, with a hair line where it was moved."""
    for right in (True, False):
        here = [(name, tip, colour) for (name, tip), colour in zip(tips.items(), colours) if (tip[0] >= 0) == right]
        for (name, tip, colour), y in zip(here, _spread([tip[1] for _, tip, _ in here], 0.19 / inch)):
            x = tip[0] + (0.1 if right else -0.1) / inch
            moved = abs(y - tip[1]) * inch > 0.04
            if moved:
                x += (0.12 if right else -0.12) / inch
                axes.plot([tip[0], x], [tip[1], y], color=colour, linewidth=0.6, clip_on=False)
            card = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.75, "pad": 1}
            text = _label(name)
            axes.text(
                x,
                y,
                text,
                color=colour,
                ha="left" if right else "right",
                va="center",
                weight="bold",
                bbox=card,
                zorder=5,
            )


def _pair(pair: Any, arrows: Mapping[str, np.ndarray], name: str) -> tuple[str, str]:
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(f"{name} must name two of the vectors, as in {name}=('a', 'b'); got {pair!r}.")
    for one in pair:
        if one not in arrows:
            raise ValueError(f"{name} names {one!r}, which is not among the vectors: {', '.join(map(repr, arrows))}.")
    return pair[0], pair[1]


def _flat(value: Any, name: str) -> np.ndarray:
    vector = _numbers(value, name, [1], "two numbers [x, y]")
    if len(vector) != 2:
        raise ValueError(
            f"{name} has {len(vector)} numbers; expected 2, as the picture is flat. Choose two, as in v[:2]."
        )
    return vector


@_themed
def vectors(
    vectors: Mapping[str, Any],
    title: str | None = None,
    angle: tuple[str, str] | None = None,
    projection: tuple[str, str] | None = None,
    limit: float | None = None,
) -> Picture:
    """Arrows from the origin, each with its name at the tip.

    Args:
        vectors: {name: [x, y]}, one to six of them.
        title: by default the dot product, if `angle` is given.
        angle: two names; the angle between them is drawn, their dot product written below.
        projection: two names (a, b); the shadow of a on the line of b is drawn, its foot dashed.
        limit: fix both axes to -limit … limit (an explorer's arrows should move, not its axes).
    """
    if not isinstance(vectors, Mapping) or not 1 <= len(vectors) <= len(SERIES):
        raise ValueError(
            f"vectors must be a dict of 1 to {len(SERIES)} named vectors, as in {{'journey': [0.55, 0.87]}}."
        )
    arrows = {str(name): _flat(v, f"vectors[{name!r}]") for name, v in vectors.items()}
    pair = _pair(angle, arrows, "angle") if angle is not None else None
    shadow = _pair(projection, arrows, "projection") if projection is not None else None
    foot = _foot(arrows[shadow[0]], arrows[shadow[1]], shadow[1]) if shadow else np.zeros(2)

    figure = _page()
    sides = [
        max((_width(_label(n), TEXT, bold=True) for n, v in arrows.items() if (v[0] >= 0) == right), default=0)
        for right in (0, 1)
    ]
    side = min(3.5, WIDEST - 2 * PAD - 1.0 - sum(sides))
    axes, inch = _plane(figure, np.vstack([*arrows.values(), foot]), side, limit)
    colours = SERIES[: len(arrows)]
    of = dict(zip(arrows, colours))
    words = [
        f"{name} is ({_number(x)}, {_number(y)}), {_number(math.hypot(x, y))} long." for name, (x, y) in arrows.items()
    ]
    below = []
    if shadow:
        tip, colour = arrows[shadow[0]], of[shadow[0]]
        axes.plot([0, foot[0]], [0, foot[1]], color=colour, linewidth=6, alpha=0.3, solid_capstyle="butt")
        axes.plot([tip[0], foot[0]], [tip[1], foot[1]], color=colour, linewidth=1.2, linestyle=(0, (4, 3)))
        onto = arrows[shadow[1]]
        length = float(tip @ onto / np.linalg.norm(onto))
        below.append(f"shadow of {_label(shadow[0])} on {_label(shadow[1])}: {_number(length)}")
        words.append(f"The shadow of {shadow[0]} on {shadow[1]} is {_number(length)} long.")
    for name, tip in arrows.items():
        _arrow(axes, np.zeros(2), tip, of[name])
    default = "Arrows from the origin"
    if pair:
        a, b = (arrows[name] for name in pair)
        dot = float(a @ b)
        default = f"{pair[0]} · {pair[1]} = {_number(dot)}"
        text = _angle(axes, a, b, inch)
        below.insert(0, f"{_label(pair[0])} · {_label(pair[1])} = {text}{_number(dot)}")
        words.append(f"{pair[0]} · {pair[1]} = {text}{_number(dot)}.")
    _at_tips(axes, inch, arrows, colours)
    if below:
        axes.set_xlabel("\n".join(below), color=INK, linespacing=1.4)
    return _finish(figure, _title(title, default), " ".join(words))


def _foot(a: np.ndarray, b: np.ndarray, name: str) -> np.ndarray:
    if not b.any():
        raise ValueError(f"nothing can be projected on {name!r}: it has length 0.")
    return b * (a @ b) / (b @ b)


def _angle(axes: Any, a: np.ndarray, b: np.ndarray, inch: float) -> str:
    """Draw the arc between two vectors; gives `|a| × |b| × cos θ = ` in numbers ('' if one has no length)."""
    from matplotlib.patches import Arc

    lengths = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    if min(lengths) == 0:
        return ""
    cosine = float(np.clip(a @ b / (lengths[0] * lengths[1]), -1, 1))
    degrees = math.degrees(math.acos(cosine))
    start, end = (math.degrees(math.atan2(v[1], v[0])) for v in (a, b))
    if (end - start) % 360 > 180:
        start, end = end, start
    radius = min(0.45 / inch, 0.6 * min(lengths))
    axes.add_patch(Arc((0, 0), 2 * radius, 2 * radius, theta1=start, theta2=end, color=MUTED, linewidth=1))
    middle = math.radians(start + ((end - start) % 360) / 2)
    text = f"{degrees:.0f}°"
    far = max(radius + 0.2 / inch, 0.2 / inch / math.sin(math.radians(max(degrees, 1)) / 2))
    if far < 0.85 * max(lengths):  # a narrow wedge has no room for its number, which the line below gives too
        axes.text(
            far * math.cos(middle), far * math.sin(middle), text, ha="center", va="center", size=SMALL, color=MUTED
        )
    return f"{_number(lengths[0])} × {_number(lengths[1])} × cos {text} = "


@_themed
def mixing(weights: Any, vectors: Any, labels: Sequence[str], title: str | None = None) -> Picture:
    """A weighted sum of vectors, walked tip to tail; the result is the bold arrow.

    Args:
        weights: [n] finite numbers.
        vectors: [n, d], d ≥ 2; the first two coordinates are drawn, and the axes say so when d > 2.
        labels: n strings, at most 12.
        title: by default the result's numbers.
    """
    w = _numbers(weights, "weights", [1], "one weight for each vector, [n]")
    v = _numbers(vectors, "vectors", [2], "one vector in each row, [n, d]")
    if len(w) != len(v):
        raise ValueError(f"{len(w)} weights were given for {len(v)} vectors; expected one for each.")
    if v.shape[1] < 2:
        raise ValueError(f"vectors has the shape {_shape(v)}; expected rows of at least 2 numbers.")
    names = _names(labels, len(w), "labels", "vectors")
    if len(names) > 12:
        raise ValueError(f"mixing draws at most 12 vectors; got {len(names)}.")
    result = w @ v
    tips = np.vstack([np.zeros(2), np.cumsum(w[:, None] * v[:, :2], axis=0)])

    figure = _page()
    notes = [f"{_number(weight)} × {_label(name)}" for weight, name in zip(w, names)]
    axes, inch = _plane(figure, tips, min(3.3, WIDEST - 2 * PAD - 1.0 - max(_width(note, TEXT) for note in notes)))
    middles = (tips[1:] + tips[:-1]) / 2
    x = axes.get_xlim()[1] + 0.1 / inch
    _arrow(axes, np.zeros(2), tips[-1], INK, width=3.2)  # first, so that the small arrows lie on it
    for k, (note, y) in enumerate(zip(notes, _spread(list(middles[:, 1]), 0.2 / inch))):
        colour = SERIES[k % 5]
        _arrow(axes, tips[k], tips[k + 1], colour)
        axes.plot(
            [middles[k, 0], x - 0.04 / inch], [middles[k, 1], y], color=colour, linewidth=0.6, alpha=0.6, clip_on=False
        )
        axes.text(x, y, note, color=colour, va="center")
    axes.set(xlabel="coordinate 1", ylabel="coordinate 2")
    d = v.shape[1]
    drawn = f" Drawn are the first two of {d} coordinates." if d > 2 else ""
    if d > 2:
        axes.set(xlabel=f"coordinate 1 of {d}", ylabel=f"coordinate 2 of {d}")
    total = "(" + ", ".join([*map(_number, result[:4]), *(["…"] if d > 4 else [])]) + ")"
    parts = ", ".join(f"{_number(weight)} × {name}" for weight, name in zip(w, names))
    alt = f"A weighted sum walked tip to tail: {parts}. The bold arrow is the result, {total}.{drawn}"
    return _finish(figure, _title(title, f"The bold arrow is the sum: {total}"), alt)


# ---------------------------------------------------------------- one query's way through attention


@_themed
def steps(
    inputs: Any,
    tokens: Sequence[str],
    query: int | str,
    W_query: Any = None,
    W_key: Any = None,
    W_value: Any = None,
    title: str | None = None,
) -> Picture:
    """One query's way to its context vector, with the real shapes and numbers, in two decimals.

    Without the three matrices: inputs → scores → weights → context, as in simplified attention.
    With them: query, keys and values are made first, and scores are divided by √d_k before the softmax.

    Args:
        inputs: [seq, d_in], seq from 1 to 8.
        tokens: seq strings.
        query: which position asks: its index, or its token if that is there once.
        W_query, W_key: [d_in, d_k]; W_value: [d_in, d_v]. All three or none. Of an `nn.Linear` pass `.weight.T`.
    """
    x = _numbers(inputs, "inputs", [2], "one vector in each row, [seq, d_in]")
    n, d_in = x.shape
    if n > MOST_NUMBERS:
        raise ValueError(
            f"steps draws at most {MOST_NUMBERS} tokens; got {n}. Choose some, as in inputs[:{MOST_NUMBERS}]."
        )
    names = _names(tokens, n, "tokens", "inputs (rows)")
    at = _position(query, names)
    given = {"W_query": W_query, "W_key": W_key, "W_value": W_value}
    missing = [name for name, W in given.items() if W is None]
    if len(missing) in (1, 2):
        raise ValueError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; give all three matrices or none."
        )
    if missing:
        q, keys, values, scale = x[at], x, x, 1.0
    else:
        W = {name: _numbers(one, name, [2], f"[d_in, d_out], here [{d_in}, …]") for name, one in given.items()}
        for name, one in W.items():
            if len(one) != d_in:
                raise ValueError(
                    f"{name} has the shape {_shape(one)}; its first side must be d_in = {d_in} "
                    "(of an nn.Linear pass .weight.T)."
                )
        if W["W_query"].shape != W["W_key"].shape:
            raise ValueError(
                f"W_query has the shape {_shape(W['W_query'])} and W_key {_shape(W['W_key'])}; "
                "their dot product needs the same."
            )
        q, keys, values = x[at] @ W["W_query"], x @ W["W_key"], x @ W["W_value"]
        scale = math.sqrt(len(q))
    points = keys @ q
    pattern = np.exp(points / scale - (points / scale).max())
    pattern /= pattern.sum()
    context = pattern @ values

    flow = _Flow(n, names, at)
    flow.vectors("inputs", "one vector per token", x)
    if not missing:
        flow.vectors("keys", "inputs @ W_key", keys)
        flow.beside("query", "@ W_query", q)
    flow.numbers("scores", "query · each key" if not missing else "query · each input", points)
    softmax = "softmax(scores)" if missing else f"softmax(scores / √{len(q)})"
    flow.numbers("weights", softmax, pattern, coloured=True)
    if not missing:
        flow.vectors("values", "inputs @ W_value", values, linked="×")
    flow.result("context", "sum of weight × " + ("input" if missing else "value"), context)
    flow.close()
    default = f"How {names[at]!r} gets its context vector"
    route = (
        "inputs → scores → weights → context"
        if missing
        else "inputs → query, keys, values → scores → weights → context"
    )
    alt = "\n".join([f"A flow from top to bottom for the query {names[at]!r}: {route}.", *flow.words])
    return _finish(flow.figure, _title(title, default), alt)


def _position(query: Any, names: Sequence[str]) -> int:
    if isinstance(query, str):
        query = _visible(query)
        if names.count(query) != 1:
            raise ValueError(
                f"the query {query!r} is in the tokens {names.count(query)} times; give its index instead."
            )
        return names.index(query)
    if not hasattr(query, "__index__") or not 0 <= int(query) < len(names):
        raise ValueError(f"query must be a token or an index from 0 to {len(names) - 1}; got {query!r}.")
    return int(query)


class _Flow:
    """Boxes of numbers in rows, one column per token, drawn from top to bottom in inches."""

    LINE, GAP, LEFT = 0.165, 0.34, 1.42

    def __init__(self, n: int, names: Sequence[str], at: int) -> None:
        self.n, self.names, self.at = n, names, at
        self.figure = _page()
        self.axes = _axes(self.figure, 1, 1, 5.7, 8)
        self.axes.set(xlim=(0, 5.7), ylim=(8, 0))
        self.axes.axis("off")
        self.step = min(0.72, (5.7 - self.LEFT - 0.2) / (n + 1))
        self.y = 0.25  # the lower edge of what is drawn so far
        self.bus: tuple[float, float] | None = None  # where the query's line starts
        self.words: list[str] = []
        for j, name in enumerate(names):
            colour, weight = (VERMILION, "bold") if j == at else (INK, "normal")
            text = _label(name, 9)
            size = min(SMALL, SMALL * (self.step - 0.04) / _width(text, SMALL, weight == "bold"))
            self.axes.text(self.x(j), 0.2, text, ha="center", va="bottom", size=size, color=colour, weight=weight)

    def x(self, j: float) -> float:
        return self.LEFT + (j + 0.5) * self.step

    def _lines(self, values: np.ndarray) -> list[str]:
        """A vector's numbers, one a line; of a long one the first three and the last."""
        texts = [_number(value) for value in values]
        return texts if len(texts) <= 5 else [*texts[:3], "⋮", texts[-1]]

    def _box(self, x: float, y: float, lines: Sequence[str], fill: Any, edge: str, heavy: bool = False) -> float:
        from matplotlib.patches import FancyBboxPatch

        height, width = self.LINE * len(lines) + 0.06, self.step - 0.08
        style = f"round,pad=0,rounding_size={min(0.05, width / 4)}"
        box = FancyBboxPatch(
            (x - width / 2, y),
            width,
            height,
            boxstyle=style,
            facecolor=fill,
            edgecolor=edge,
            linewidth=1.6 if heavy else 0.8,
        )
        self.axes.add_patch(box)
        colour = _readable_on(fill) if not isinstance(fill, str) else INK
        size = min(SMALL, SMALL * (width - 0.04) / max(_width(line, SMALL) for line in lines))
        for k, line in enumerate(lines):
            self.axes.text(x, y + 0.03 + self.LINE * (k + 0.5), line, ha="center", va="center", size=size, color=colour)
        return y + height

    def _name(self, y: float, name: str, how: str, shape: Sequence[int]) -> None:
        self.axes.text(0, y, f"{name} {list(shape)}", weight="bold", va="center")
        self.axes.text(0, y + 0.17, how, size=SMALL - 0.5, color=MUTED, va="center")

    def _link(self, x0: float, y0: float, x1: float, y1: float, colour: str = MUTED, width: float = 0.9) -> None:
        style = {
            "arrowstyle": "-|>",
            "mutation_scale": 7,
            "shrinkA": 0,
            "shrinkB": 0,
            "color": colour,
            "linewidth": width,
        }
        self.axes.annotate("", (x1, y1), (x0, y0), arrowprops=style)

    def vectors(self, name: str, how: str, rows: np.ndarray, linked: str = "") -> None:
        first = not self.words
        top = self.y if first else self.y + self.GAP
        for j, row in enumerate(rows):
            heavy = first and j == self.at
            bottom = self._box(self.x(j), top, self._lines(row), "#f6f8fa", VERMILION if heavy else MUTED, heavy)
            if linked:
                self.axes.text(self.x(j), top - self.GAP / 2, linked, ha="center", va="center", color=MUTED)
            elif not first:
                self._link(self.x(j), self.y, self.x(j), top)
        if first:
            self.bus = (self.x(self.at), bottom)
        self._name((top + bottom) / 2 - 0.08, name, how, rows.shape)
        self.top, self.above, self.y = top, self.y, bottom
        cells = "; ".join(f"{token} ({', '.join(map(_number, row))})" for token, row in zip(self.names, rows))
        self.words.append(f"{name} {list(rows.shape)}, {how}: {cells}.")

    def beside(self, name: str, how: str, vector: np.ndarray) -> None:
        """The query in a column of its own, on the right, fed by the asking token's input."""
        x, turn = self.x(self.n) + 0.12, self.above + 0.12
        self.axes.plot([self.x(self.at), self.x(self.at), x], [self.above, turn, turn], color=VERMILION, linewidth=1.4)
        self._link(x, turn, x, self.top, VERMILION, 1.4)
        self.axes.text(
            x, turn - 0.2, f"{name} {[len(vector)]}", ha="center", va="bottom", weight="bold", color=VERMILION
        )
        self.axes.text(x, turn - 0.05, how, size=SMALL - 0.5, color=MUTED, ha="center", va="bottom")
        bottom = self._box(x, self.top, self._lines(vector), "#fff1e8", VERMILION, heavy=True)
        self.bus = (x, bottom)
        self.words.append(f"{name} {[len(vector)]}, {self.names[self.at]} {how}: ({', '.join(map(_number, vector))}).")

    def numbers(self, name: str, how: str, values: np.ndarray, coloured: bool = False) -> None:
        from matplotlib import colormaps

        top = self.y + self.GAP
        if self.bus is not None:  # the query's line runs past every column and meets each key there
            (x, y), turn = self.bus, self.y + 0.13
            ends = [self.x(0), self.x(self.n - 1), x]
            self.axes.plot([x, x], [y, turn], color=VERMILION, linewidth=1.4)
            self.axes.plot([min(ends), max(ends)], [turn, turn], color=VERMILION, linewidth=1.4)
            for j in range(self.n):
                self.axes.plot(self.x(j), turn, marker="o", markersize=4, color=VERMILION)
            self.bus = None
        for j, value in enumerate(values):
            fill = colormaps[SEQUENTIAL](float(value)) if coloured else "#f6f8fa"
            self._link(self.x(j), self.y, self.x(j), top)
            bottom = self._box(self.x(j), top, [_number(value)], fill, MUTED)
        self._name((top + bottom) / 2 - 0.08, name, how, values.shape)
        self.y = bottom
        self.words.append(f"{name} {list(values.shape)}, {how}: {_listed(self.names, values)}.")

    def close(self) -> None:
        """Cut the axes off below the last box."""
        self.axes.set_ylim(self.y + 0.02, 0)
        self.axes.set_position([0.1, 0.1, 5.7 / _BENCH, (self.y + 0.02) / _BENCH])

    def result(self, name: str, how: str, vector: np.ndarray) -> None:
        middle, top = self.x((self.n - 1) / 2), self.y + self.GAP + 0.12
        meet = self.y + 0.18
        for j in range(self.n):
            self.axes.plot([self.x(j), self.x(j)], [self.y, meet], color=MUTED, linewidth=0.9)
        self.axes.plot([self.x(0), self.x(self.n - 1)], [meet, meet], color=MUTED, linewidth=0.9)
        self._link(middle, meet, middle, top)
        bottom = self._box(middle, top, self._lines(vector), "#e7f5ef", GREEN, heavy=True)
        self._name((top + bottom) / 2 - 0.08, name, how, vector.shape)
        self.y = bottom
        self.words.append(f"{name} {list(vector.shape)}, {how}: ({', '.join(map(_number, vector))}).")


# ---------------------------------------------------------------- lines, and the study of 1/√d_k


@_themed
def lines(
    x: Any,
    series: Mapping[str, Any],
    title: str | None = None,
    xlabel: str = "",
    ylabel: str = "",
    logx: bool = False,
    reference: float | tuple[str, float] | None = None,
) -> Picture:
    """A line chart with each line's name at its end.

    Args:
        x: [n] numbers, increasing.
        series: {name: [n] numbers}, one to six lines.
        logx: a base-2 logarithmic x axis, ticked at the points.
        reference: a number, or ("uniform", number), drawn as a dashed line.
    """
    xs, ys = _series(x, series, logx)
    mark = _reference(reference)
    figure = _page()
    _draw_lines(_axes(figure, 2, 2, *_chart_size(ys, mark, 2.6)), xs, ys, xlabel, ylabel, logx, mark)
    words = _lines_in_words(xs, ys, xlabel or "x", mark)
    return _finish(figure, _title(title, ""), f"{ylabel or 'Lines'} against {xlabel or 'x'}.\n{words}")


def _series(x: Any, series: Any, logx: bool) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    xs = _numbers(x, "x", [1], "a row of numbers")
    if (np.diff(xs) <= 0).any():
        raise ValueError("x must increase from each number to the next.")
    if logx and xs[0] <= 0:
        raise ValueError(f"x starts at {_number(xs[0])}; a logarithmic axis needs numbers above 0.")
    if not isinstance(series, Mapping) or not 1 <= len(series) <= len(SERIES):
        raise ValueError(f"series must be a dict of 1 to {len(SERIES)} named lines, as in {{'loss': [1.0, 0.5]}}.")
    ys = {str(name): _numbers(y, f"series[{name!r}]", [1], "a row of numbers") for name, y in series.items()}
    for name, y in ys.items():
        if len(y) != len(xs):
            raise ValueError(f"series[{name!r}] has {len(y)} numbers for {len(xs)} of x; expected one for each.")
    return xs, ys


def _chart_size(names: Iterable[str], mark: tuple[str, float] | None, height: float) -> tuple[float, float]:
    """The inches that remain for the lines beside their names."""
    ends = [_end_label(name) for name in names] + ([_mark_label(mark)] if mark else [])
    return WIDEST - 2 * PAD - 0.85 - max(_width(text, TEXT, bold=True) for text in ends), height


def _end_label(name: str) -> str:
    return _label(name, 22)


def _mark_label(mark: tuple[str, float]) -> str:
    return f"{_end_label(mark[0])} {_number(mark[1])}"


def _draw_lines(
    axes: Any,
    xs: np.ndarray,
    ys: Mapping[str, np.ndarray],
    xlabel: str,
    ylabel: str,
    logx: bool,
    mark: tuple[str, float] | None,
    bottom: float | None = None,
) -> None:
    styles = zip(SERIES, ("-", "--", "-.", ":", "-", "--"), "osD^vP")  # a line is told by more than its colour
    height = _BENCH * axes.get_position().height
    for (name, y), (colour, dash, marker) in zip(ys.items(), styles):
        axes.plot(
            xs, y, color=colour, linestyle=dash, linewidth=1.8, marker=marker if len(xs) <= 24 else None, markersize=4.5
        )
    if logx:
        axes.set_xscale("log", base=2)
    if logx and len(xs) <= 12:
        axes.set_xticks(xs, [f"{x:g}" for x in xs])
        axes.minorticks_off()
    ends = [(float(y[-1]), _end_label(name), colour) for (name, y), colour in zip(ys.items(), SERIES)]
    if mark:
        axes.axhline(mark[1], color=MUTED, linewidth=1, linestyle=(0, (2, 3)), zorder=0)
        ends.append((mark[1], _mark_label(mark), MUTED))
    axes.set_ylim(bottom=bottom)
    low, high = axes.get_ylim()
    inch = height / (high - low)
    for (y, text, colour), at in zip(ends, _spread([end[0] for end in ends], 0.18 / inch)):
        place = (1, (at - low) / (high - low))
        axes.annotate(
            text, place, (6, 0), "axes fraction", textcoords="offset points", va="center", color=colour, weight="bold"
        )
    axes.set_ylim(low, high)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)


def _lines_in_words(xs: np.ndarray, ys: Mapping[str, np.ndarray], xname: str, mark: tuple[str, float] | None) -> str:
    if len(xs) <= 12:
        at = lambda y: ", ".join(f"{_number(value)} at {x:g}" for x, value in zip(xs, y))
    else:
        at = lambda y: (
            f"from {_number(y[0])} at {xname} {xs[0]:g} to {_number(y[-1])} at {xs[-1]:g}, "
            f"lowest {_number(y.min())}, highest {_number(y.max())}"
        )
    words = [f"{name}: {at(y)}." for name, y in ys.items()]
    return "\n".join([*words, f"Dashed line: {mark[0]} {_number(mark[1])}."] if mark else words)


def entropy(weights: torch.Tensor) -> torch.Tensor:
    """Entropy in nats of weights [..., n]: 0 for one-hot, log n for uniform. Gives [...]."""
    return torch.special.entr(weights).sum(-1)


def jacobian_norm(weights: torch.Tensor) -> torch.Tensor:
    """Frobenius norm of the softmax's Jacobian diag(w) − w wᵀ where it gave the weights [..., n]. Gives [...]."""
    squares = weights.pow(2).sum(-1)
    return (squares - 2 * weights.pow(3).sum(-1) + squares.pow(2)).clamp_min(0).sqrt()


def saturation_study(
    d_ks: Sequence[int] = (2, 8, 32, 128, 512), seq: int = 6, draws: int = 2000, seed: int = 0
) -> dict[str, torch.Tensor]:
    """What softmax makes of dot products of random queries and keys, with and without the division by √d_k.

    For each d_k, `draws` queries [d_k] each meet `seq` keys [d_k] of their own; all entries are standard normal.
    The scaled and the unscaled numbers come from the same draws, and those of one d_k do not depend on the other d_ks.

    Returns:
        A dict of float64 tensors [len(d_ks)], each a mean over the draws, "_unscaled" and "_scaled" of:
        `spread` the standard deviation of the scores, `largest` the largest weight of a row, `entropy` of a row in
        nats, `gradient` the Frobenius norm of the softmax's Jacobian at that row. And `d_k`, int64.
    """
    for name, value in {"seq": seq, "draws": draws, **{f"d_ks[{i}]": d for i, d in enumerate(d_ks)}}.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}.")
    if not d_ks:
        raise ValueError("d_ks is empty; expected at least one size.")
    rows: dict[str, list[float]] = {}
    for d_k in d_ks:
        generator = torch.Generator().manual_seed(seed)
        q = torch.randn(draws, 1, d_k, generator=generator, dtype=torch.float64)
        k = torch.randn(draws, seq, d_k, generator=generator, dtype=torch.float64)
        dots = (q * k).sum(-1)
        for how, scores_ in (("unscaled", dots), ("scaled", dots / d_k**0.5)):
            w = scores_.softmax(-1)
            facts = {"largest": w.max(-1).values, "entropy": entropy(w), "gradient": jacobian_norm(w)}
            rows.setdefault(f"spread_{how}", []).append(scores_.std(correction=0).item())
            for fact, value in facts.items():
                rows.setdefault(f"{fact}_{how}", []).append(value.mean().item())
    return {
        "d_k": torch.tensor(list(d_ks)),
        **{name: torch.tensor(row, dtype=torch.float64) for name, row in rows.items()},
    }


@_themed
def saturation(
    d_ks: Sequence[int] = (2, 8, 32, 128, 512),
    scaled: Sequence[bool] = (False, True),
    seq: int = 6,
    draws: int = 2000,
    seed: int = 0,
    title: str | None = None,
) -> Picture:
    """The numbers of `saturation_study` against d_k: largest weight, entropy and gradient of the softmax.

    Args:
        scaled: which lines to draw: scores as they are (False), divided by √d_k (True), or both.
    """
    study = saturation_study(d_ks, seq, draws, seed)
    lines_ = [{False: ("not scaled", "unscaled"), True: ("÷ √d_k", "scaled")}[bool(one)] for one in scaled]
    if not lines_:
        raise ValueError("scaled is empty; expected False, True or both.")
    uniform = torch.full((seq,), 1 / seq, dtype=torch.float64)
    panels = {
        "largest": ("largest weight", 1 / seq),
        "entropy": ("entropy, nats", entropy(uniform).item()),
        "gradient": ("size of the gradient", jacobian_norm(uniform).item()),
    }
    figure, words = _page(), []
    for k, (fact, (ylabel, at_uniform)) in enumerate(panels.items()):
        xs, ys = _series(d_ks, {label: study[f"{fact}_{how}"] for label, how in lines_}, logx=True)
        mark = ("uniform", at_uniform)
        axes = _axes(figure, 2, 6 - 1.65 * k, *_chart_size(ys, mark, 1.35))
        _draw_lines(axes, xs, ys, "d_k" if k == 2 else "", ylabel, True, mark, bottom=0)
        axes.yaxis.set_label_coords(-0.42 / (_BENCH * axes.get_position().width), 0.5)
        if k < 2:
            axes.tick_params(labelbottom=False)
        words.append(f"Mean {ylabel}.\n{_lines_in_words(xs, ys, 'd_k', mark)}")
    default = {
        (False,): "Unscaled scores saturate the softmax as d_k grows",
        (True,): "Divided by √d_k, scores leave the softmax as it is at any d_k",
    }.get(tuple(map(bool, scaled)), "Unscaled scores saturate the softmax as d_k grows; divided by √d_k they do not")
    head = f"Three charts against d_k for {seq} random keys per query."
    return _finish(figure, _title(title, default), "\n".join([head, *words]))
