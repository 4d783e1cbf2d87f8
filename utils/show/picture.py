"""Provide what every figure needs: the theme, the `Picture` class, and a page that is cropped to its content."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from utils.show.arguments import parse_title
from utils.show.colours import INK, MUTED, PAPER
from utils.show.drawing_types import Axes, Figure
from utils.show.sizes import BENCH, CSS_DPI, HEADLINE, NARROWEST, PAD, PNG_DPI, SMALL, TEXT, TITLE
from utils.show.text_format import escape_undrawable, wrap_text

THEME: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # ships with matplotlib, so every machine draws the same letters
    "font.size": TEXT,
    "text.color": INK,
    "text.parse_math": False,  # a token may contain a $
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
    "axes.facecolor": "none",
    "image.interpolation": "none",  # cells keep sharp edges
    "svg.hashsalt": "attention",  # for reproducible SVG
}


@contextmanager
def course_theme() -> Iterator[None]:
    """Apply the course's theme to matplotlib's defaults inside a `with` block or a decorated function."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(THEME)
        yield


class Picture:
    """A matplotlib figure and a text with the same content.

    Args:
        figure: a `matplotlib.figure.Figure` that is not registered with pyplot, so a notebook shows it only once.
        alt: a description of the figure, with its numbers.
    """

    def __init__(self, figure: Figure, alt: str) -> None:
        self.figure, self.alt = figure, alt

    def __repr__(self) -> str:
        return self.alt

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.alt, "text/html": self.html()}

    def png(self, dpi: int = PNG_DPI) -> bytes:
        """Return the figure as the bytes of a PNG file."""
        buffer = io.BytesIO()
        with course_theme():
            self.figure.savefig(buffer, format="png", dpi=dpi)
        return buffer.getvalue()

    def html(self) -> str:
        """Return an `<svg>` that follows the page's light or dark colours and is never wider than the page."""
        from utils.show.svg import render_svg

        with course_theme():
            return render_svg(self.figure, self.alt)

    def save(self, path: str | Path) -> Path:
        """Write the figure with a white background to `path` (.png, .svg or .pdf) and return the path.

        Raises:
            ValueError: `path` has a different suffix.
        """
        path = Path(path)
        stamps = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        if path.suffix not in stamps:
            raise ValueError(f"cannot save a picture as {path.name!r}: the name must end in .png, .svg or .pdf.")
        with course_theme():
            self.figure.savefig(path, dpi=PNG_DPI, metadata=stamps[path.suffix])
        return path


def balance_lines(title: str, width: float) -> list[str]:
    """Split `title` into as few lines as possible, with similar lengths, so that the last line is not a single word."""
    lines = wrap_text(title, width, TITLE, bold=True)
    for share in (0.9, 0.8, 0.7, 0.6):
        narrower = wrap_text(title, width * share, TITLE, bold=True)
        if len(narrower) > len(lines):
            break
        lines = narrower
    return lines


def separate_positions(positions: Sequence[float], gap: float) -> list[float]:
    """Move positions until they are at least `gap` apart. Keep their order, and move them as little as possible."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    blocks: list[tuple[float, int]] = []  # the centre and the length of each group of touching positions
    for i in order:
        blocks.append((positions[i], 1))
        while len(blocks) > 1:
            (low, n), (high, m) = blocks[-2:]
            if high - low >= gap * (n + m) / 2:
                break
            blocks[-2:] = [((low * n + high * m) / (n + m), n + m)]
    placed = [centre + gap * (k - (n - 1) / 2) for centre, n in blocks for k in range(n)]
    return [y for _, y in sorted(zip(order, placed))]


# ---------------------------------------------------------------- the page


def new_figure() -> Figure:
    """Return an empty figure with a scratch page of `BENCH` × `BENCH` inches. It is not registered with pyplot."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(BENCH, BENCH), dpi=CSS_DPI)
    FigureCanvasAgg(figure)
    return figure


def new_axes(figure: Figure, x: float, y: float, width: float, height: float) -> Axes:
    """Add axes to the scratch page. Their position and size are in inches."""
    return figure.add_axes((x / BENCH, y / BENCH, width / BENCH, height / BENCH))


def new_chart(x: float, y: float, width: float, height: float) -> tuple[Figure, Axes]:
    """Return a new figure and its axes. The position and size of the axes are in inches on the scratch page."""
    figure = new_figure()
    return figure, new_axes(figure, x, y, width, height)


def new_canvas(x: float, y: float, width: float, height: float) -> tuple[Figure, Axes]:
    """Return a new figure, and axes without a frame. The axes' units are inches, and y increases downwards."""
    figure, axes = new_chart(x, y, width, height)
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def axes_bounds_inches(axes: Axes) -> list[float]:
    """Return x, y, width and height of axes on the scratch page, in inches."""
    return [BENCH * side for side in axes.get_position().bounds]


def finish_picture(figure: Figure, title: str | None, default: str, alt: str) -> Picture:
    """Crop the page to its content, add the title above, and return the picture. The alt text starts with the title.

    Args:
        title: the title argument of the figure. None draws `default`; "" draws no title.
    """
    title = parse_title(title, default)
    box = figure.get_tightbbox()
    places = {axes: axes_bounds_inches(axes) for axes in figure.axes}
    width = max(NARROWEST, box.width + 2 * PAD)
    lines = balance_lines(escape_undrawable(title), min(width, HEADLINE) - 2 * PAD) if title else []
    above = len(lines) * TITLE * 1.35 / 72 + 0.1 if lines else 0.0
    height = box.height + 2 * PAD + above
    dx, dy = (width - box.width) / 2 - box.x0, PAD - box.y0
    figure.set_size_inches(width, height)
    for axes, (x, y, w, h) in places.items():
        axes.set_position(((x + dx) / width, (y + dy) / height, w / width, h / height))
    if lines:
        text = "\n".join(lines)
        figure.text(PAD / width, 1 - PAD / height, text, size=TITLE, weight="bold", va="top", linespacing=1.2)
    stop = "" if title.endswith((".", "?", "!", ":")) else "."
    return Picture(figure, f"{title}{stop} {alt}" if title else alt)
