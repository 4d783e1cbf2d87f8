"""Render a figure as a small inline SVG: letters as paths, and colours that follow the page's light or dark theme.

matplotlib's own SVG is several times as large, contains metadata and has fixed colours.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import io
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D, Transform

from utils.show.colours import PALETTE
from utils.show.drawing_types import ArrayLike, Figure
from utils.show.sizes import CSS_DPI

UNIT = 10  # units per CSS pixel, so that coordinates can be whole numbers
DPI = UNIT * CSS_DPI
EM = 500  # the font size, in the units of a glyph's outline
# JupyterLab, VS Code and Sphinx mark a page as light or dark. Without such a mark, the page's `color-scheme` decides;
# it may follow the reader's system (prefers-color-scheme). Without a mark or a `color-scheme`, the figure is light.
# Printed figures are always light.
_THEME = (
    "@supports(color:light-dark(red,red)){.course-figure{VARIABLES}}"
    "[data-theme=light] .course-figure,[data-jp-theme-light=true] .course-figure{color-scheme:light}"
    "[data-theme=dark] .course-figure,[data-jp-theme-light=false] .course-figure,.vscode-dark .course-figure"
    "{color-scheme:dark}"
    "@media print{.course-figure{color-scheme:light!important}}"
)
_NAMED = {light: name for name, (light, _) in PALETTE.items()}
_PREFIX = "\N{SECTION SIGN}"  # a placeholder for the hash; no text in an SVG contains this character


def render_svg(figure: Figure, alt: str) -> str:
    """Return a matplotlib figure as an `<svg>` for a page. Screen readers read `alt`.

    In an untrusted notebook, the drawing is removed and only the text is shown.
    """
    width, height = (round(side * DPI) for side in figure.get_size_inches())
    dpi, paper = figure.dpi, figure.patch.get_visible()
    try:
        figure.dpi = DPI
        figure.patch.set_visible(False)
        drawing = SvgRenderer(width, height)
        figure.draw(drawing)
    finally:
        figure.dpi = dpi
        figure.patch.set_visible(paper)
    body = drawing.markup()
    used = sorted(set(re.findall(r"var\(--([\w-]+)", body)) | {"ink"})
    variables = ";".join(f"--{name}:light-dark({','.join(PALETTE[name])})" for name in used)
    words = html.escape(" ".join(alt.split()), quote=False)
    said = words.replace('"', "&quot;")
    style = "display:block;max-width:100%;height:auto"
    head = (
        f'<svg class="course-figure" role="img" aria-label="{said}" viewBox="0 0 {width} {height}" '
        f'width="{round(figure.get_figwidth() * CSS_DPI)}" style="{style}" fill="{css_colour(PALETTE["ink"][0])}">'
        f"<style>{_THEME.replace('VARIABLES', variables)}</style><desc>{words}</desc>"
    )
    mark = "f" + hashlib.sha256(body.encode()).hexdigest()[:6]
    return f"{head}{body.replace(_PREFIX, mark)}</svg>"


def css_colour(colour: Any) -> str:
    """Return a palette colour as a CSS variable with the light tone as fallback, and other colours in hexadecimal."""
    if not isinstance(colour, str):
        colour = "#%02x%02x%02x" % tuple(round(255 * part) for part in colour[:3])  # noqa: UP031
    return f"var(--{_NAMED[colour]},{colour})" if colour in _NAMED else colour


def format_decimal(x: float, digits: int = 2) -> str:
    """Return a number with at most `digits` decimals, in as few characters as possible."""
    text = f"{round(x, digits) + 0.0:.{digits}f}".rstrip("0").rstrip(".")
    return re.sub(r"^(-?)0\.", r"\1.", text)


def join_numbers(numbers: Iterable[int]) -> str:
    """Join whole numbers with spaces. A minus sign needs no space before it."""
    return " ".join(map(str, numbers)).replace(" -", "-")


_LETTERS = {Path.LINETO: "l", Path.CURVE3: "q", Path.CURVE4: "c"}
_LONG = {Path.LINETO: 1, Path.CURVE3: 2, Path.CURVE4: 3}


def path_data(points: np.ndarray, codes: np.ndarray) -> str:
    """Return the data of an SVG path. Each subpath starts at absolute coordinates; other coordinates are relative."""
    places, kinds = np.rint(points).astype(int).tolist(), codes.tolist()
    parts, last, at, i = [], "", (0, 0), 0
    while i < len(kinds):
        code = kinds[i]
        if code == Path.MOVETO:
            at = places[i]
            parts.append(f"M{join_numbers(at)}")
            last, i = "M", i + 1
        elif code == Path.CLOSEPOLY:
            parts.append("z")
            last, i = "z", i + 1
        elif code == Path.STOP:
            break
        else:
            n = _LONG[code]
            moved = [place - origin for point in places[i : i + n] for place, origin in zip(point, at)]
            at, i = places[i + n - 1], i + n
            if n == 1 and moved == [0, 0] and last == "l":
                continue
            text = join_numbers(moved)
            letter = _LETTERS[code]
            parts.append(letter + text if letter != last else text if text[0] == "-" else f" {text}")
            last = letter
    return "".join(parts)


@functools.lru_cache(maxsize=4096)
def layout_glyphs(font_file: str, text: str) -> tuple[tuple[str, int], ...]:
    """Return the name and the x position of each glyph of a text. The unit of x is the font size divided by EM."""
    font = get_font(font_file)
    font.set_size(text_to_path.FONT_SCALE, 72)
    glyphs, outlines, _ = text_to_path.get_glyphs_with_font(font, text)
    scale = EM / text_to_path.FONT_SCALE
    placed = []
    for name, x, _, _ in glyphs:
        if name not in _GLYPHS:
            points, codes = outlines[name]
            _GLYPHS[name] = path_data(np.asarray(points) * (scale, -scale), np.asarray(codes)) if len(points) else ""
        placed.append((name, round(x * scale)))
    return tuple(placed)


_GLYPHS: dict[str, str] = {}


class SvgRenderer(RendererBase):
    """A matplotlib renderer that draws a figure as compact SVG."""

    def __init__(self, width: int, height: int) -> None:
        super().__init__()
        self.width, self.height = width, height
        self.flip = Affine2D().scale(1, -1).translate(0, height)
        self.parts: list[str] = []
        self.shapes: dict[str, str] = {}  # {path data: id} for paths that may be drawn more than once
        self.clips: dict[str, str] = {}  # {path data: id} for clip paths
        self.lines: tuple[str, str] | None = None  # SVG attributes and path data of lines that are not written yet

    # ---------------------------------------------------------------- methods that matplotlib calls

    def get_canvas_width_height(self) -> tuple[float, float]:
        return self.width, self.height

    def points_to_pixels(self, points: Any) -> Any:
        return points * DPI / 72

    def option_scale_image(self) -> bool:
        return True

    # ---------------------------------------------------------------- pieces

    def markup(self) -> str:
        self._flush_lines()
        kept = [f'<path id="{name}" d="{data}"/>' for data, name in self.shapes.items()]
        kept += [f'<clipPath id="{name}"><path d="{data}"/></clipPath>' for data, name in self.clips.items()]
        return (f"<defs>{''.join(kept)}</defs>" if kept else "") + "".join(self.parts)

    def _shape(self, data: str) -> str:
        """Return the id of a path that may be drawn more than once."""
        return self.shapes.setdefault(data, f"{_PREFIX}{len(self.shapes):x}")

    def _add(self, element: str) -> None:
        self._flush_lines()
        self.parts.append(element)

    def _flush_lines(self) -> None:
        if self.lines is not None:
            look, data = self.lines
            self.lines = None
            self.parts.append(f'<path d="{data}"{look}/>')

    def _look(self, gc: GraphicsContextBase, face: Any) -> str:
        """Return the attributes of a path's fill and stroke; '' if both are invisible."""
        alphas = (
            (gc.get_alpha(),) * 2
            if gc.get_forced_alpha()
            else (face[3] if face is not None and len(face) > 3 else 1.0, gc.get_rgb()[3])
        )
        if face is None or alphas[0] == 0:
            look = ' fill="none"'
        else:
            look = f' fill="{css_colour(face)}"'
            look += f' fill-opacity="{format_decimal(alphas[0])}"' if alphas[0] < 1 else ""
        width = self.points_to_pixels(gc.get_linewidth())
        if width and alphas[1]:
            look += f' stroke="{css_colour(gc.get_rgb())}" stroke-width="{format_decimal(width, 1)}"'
            look += f' stroke-opacity="{format_decimal(alphas[1])}"' if alphas[1] < 1 else ""
            offset, dashes = gc.get_dashes()
            if lengths := [] if dashes is None else [round(self.points_to_pixels(dash)) for dash in np.asarray(dashes)]:
                look += f' stroke-dasharray="{join_numbers(lengths)}"'
                look += f' stroke-dashoffset="{round(self.points_to_pixels(offset))}"' if offset else ""
            cap = {"projecting": "square"}.get(gc.get_capstyle(), gc.get_capstyle())
            look += f' stroke-linecap="{cap}"' if cap != "butt" else ""
            look += f' stroke-linejoin="{gc.get_joinstyle()}"' if gc.get_joinstyle() != "miter" else ""
        elif look == ' fill="none"':
            return ""
        return look

    def _clip(self, gc: GraphicsContextBase, low: np.ndarray, high: np.ndarray) -> str:
        """Return the attribute that clips a path to its axes, or '' if the whole path is inside the axes."""
        box = gc.get_clip_rectangle()
        if box is None:
            return ""
        (left, bottom), (right, top) = self.flip.transform(box.get_points())
        if left - 2 <= low[0] and high[0] <= right + 2 and top - 2 <= low[1] and high[1] <= bottom + 2:
            return ""
        data = f"M{round(left)} {round(top)}H{round(right)}V{round(bottom)}H{round(left)}z"
        return f' clip-path="url(#{self.clips.setdefault(data, f"{_PREFIX}c{len(self.clips)}")})"'

    def _transform_path(self, path: Path, transform: Transform, simplify: bool) -> tuple[np.ndarray, np.ndarray]:
        cleaned = path.cleaned(transform=transform + self.flip, remove_nans=True, simplify=simplify, curves=True)
        return np.asarray(cleaned.vertices), np.asarray(cleaned.codes)

    # ---------------------------------------------------------------- paths, markers, images, text

    def draw_path(self, gc: GraphicsContextBase, path: Path, transform: Transform, rgbFace: Any = None) -> None:
        look = self._look(gc, rgbFace)
        points, codes = self._transform_path(path, transform, path.should_simplify and rgbFace is None)
        drawn = points[codes != Path.STOP]
        if not look or len(drawn) == 0:
            return
        look += self._clip(gc, drawn.min(axis=0), drawn.max(axis=0))
        data = path_data(points, codes)
        joinable = look.startswith(' fill="none"') and "opacity" not in look
        if joinable and self.lines is not None and self.lines[0] == look:
            self.lines = (look, self.lines[1] + data)
            return
        self._flush_lines()
        self.lines = (look, data)
        if not joinable:
            self._flush_lines()

    def draw_markers(
        self,
        gc: GraphicsContextBase,
        marker_path: Path,
        marker_trans: Transform,
        path: Path,
        trans: Transform,
        rgbFace: Any = None,
    ) -> None:
        if np.size(path.vertices) < 6:
            super().draw_markers(gc, marker_path, marker_trans, path, trans, rgbFace)
            return
        look = self._look(gc, rgbFace)
        points, codes = self._transform_path(marker_path, marker_trans + Affine2D().translate(0, self.height), False)
        name = self._shape(path_data(points, codes))
        places = (trans + self.flip).transform(path.vertices)
        box = gc.get_clip_rectangle()
        # Like matplotlib's Agg, draw the whole marker if its centre is inside the axes. Otherwise, draw nothing.
        if box is not None:
            (left, bottom), (right, top) = self.flip.transform(box.get_points())
            inside = (places[:, 0] >= left - 1) & (places[:, 0] <= right + 1)
            places = places[inside & (places[:, 1] >= top - 1) & (places[:, 1] <= bottom + 1)]
        uses = "".join(f'<use href="#{name}" x="{round(x)}" y="{round(y)}"/>' for x, y in places)
        self._add(f"<g{look}>{uses}</g>")

    def draw_image(self, gc: GraphicsContextBase, x: float, y: float, im: ArrayLike, transform: Any = None) -> None:
        im = np.asarray(im)
        rows, columns = im.shape[:2]
        whole = Affine2D().scale(1 / columns, 1 / rows) + transform + Affine2D().translate(x, y) + self.flip
        (left, top), (right, bottom) = whole.transform([[0, 0], [columns, rows]])
        im = im[:, ::-1] if right < left else im
        im = im[::-1] if bottom < top else im
        left, right, top, bottom = *sorted((left, right)), *sorted((top, bottom))
        cells = [["#%02x%02x%02x" % tuple(cell[:3]) for cell in row] for row in im.tolist()] if im.size <= 4096 else []  # noqa: UP031
        if cells and {cell for row in cells for cell in row} <= _NAMED.keys():
            self._add(render_cells(cells, left, top, (right - left) / columns, (bottom - top) / rows))
            return
        self._add(
            f'<image x="{round(left)}" y="{round(top)}" width="{round(right - left)}" height="{round(bottom - top)}" '
            f'preserveAspectRatio="none" style="image-rendering:pixelated" '
            f'href="data:image/png;base64,{png_base64(im)}"/>'
        )

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,
        mtext: Any = None,
    ) -> None:
        scale = self.points_to_pixels(prop.get_size_in_points()) / EM
        turn = f"rotate({format_decimal(-angle)})" if angle else ""
        uses = ""
        for name, at in layout_glyphs(findfont(prop), s):
            if data := _GLYPHS[name]:
                across = f' x="{at}"' if at else ""
                uses += f'<use href="#{self._shape(data)}"{across}/>'
        colour, alpha = css_colour(gc.get_rgb()), gc.get_rgb()[3] if not gc.get_forced_alpha() else gc.get_alpha()
        look = "" if colour == css_colour(PALETTE["ink"][0]) else f' fill="{colour}"'
        look += f' fill-opacity="{format_decimal(alpha)}"' if alpha < 1 else ""
        place = f"translate({join_numbers((round(x), round(y)))}){turn}scale({format_decimal(scale, 4)})"
        self._add(f'<g transform="{place}"{look}>{uses}</g>')


def render_cells(cells: list[list[str]], left: float, top: float, wide: float, high: float) -> str:
    """Return cells in palette colours as SVG. If neighbours in a row have the same colour, they form one rectangle."""
    paths: dict[str, str] = {}
    for i, row in enumerate(cells):
        start = 0
        for j in range(1, len(row) + 1):
            if j < len(row) and row[j] == row[start]:
                continue
            x, y = round(left + start * wide), round(top + i * high)
            size = f"h{round(left + j * wide) - x}v{round(top + (i + 1) * high) - y}"
            paths[row[start]] = f"{paths.get(row[start], '')}M{x} {y}{size}H{x}z"
            start = j
    return "".join(f'<path d="{data}" fill="{css_colour(colour)}"/>' for colour, data in paths.items())


def png_base64(image: np.ndarray) -> str:
    """Return cells as a PNG with one pixel per cell, encoded in base64."""
    from PIL import Image

    opaque = image[..., :3] if (image[..., 3] == 255).all() else image
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(opaque)).save(buffer, format="png", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode("ascii")
