"""Attention patterns of several heads: small tables that are always there, and circuitsvis to hover over where it can run.

circuitsvis asks the internet on every display, or puts its 1.3 MB into every figure. Here the library travels in the
notebook itself, once, compressed; every other figure is a few kilobytes that wait for it. See `_Bundle` for which
output carries it.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import html
import importlib.util
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from utils.show.page import (
    BENCH, BLUE, FAINT, INK, MOST_NUMBERS, PAD, PAPER, SEQUENTIAL, SMALL, SMALLEST, WIDEST, Picture, finish, new_axes,
    new_page, number_text, read_names, read_numbers, read_title, shape_text, text_width, themed, token_label,
)
from utils.show.tables import _write as write

MOST_HEADS, MOST_TOKENS = 32, 64
ACROSS = 4  # small tables in a row


class Heads(Picture):
    """A picture of every head that a notebook also shows interactively.

    Args:
        figure, alt: as for `Picture`.
        props: what circuitsvis draws.
    """

    def __init__(self, figure: Any, alt: str, props: dict[str, Any]) -> None:
        super().__init__(figure, alt)
        self.props = props

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.alt, "text/html": interactive(self.html(), self.props, _bundle.is_due())}


@themed
def _draw(names: list[str], values: np.ndarray, title: str) -> Picture:
    heads, n = values.shape[:2]
    across = 3 if heads in (5, 6, 9) else min(ACROSS, heads)
    down = math.ceil(heads / across)
    texts = [token_label(name, 13) for name in names]
    size = SMALL if n <= 8 else SMALLEST
    left = max(text_width(text, size) for text in texts) + 0.3
    gap, above = 0.16, 0.26
    side = (WIDEST - 2 * PAD - left - 0.5 - gap * (across - 1)) / across
    side = min(side, 0.34 * n if heads > 1 else 0.5 * n, 3.6)
    step = max(1, math.ceil(size * 1.1 / 72 / (side / n)))
    figure = new_page()
    top = BENCH - 1
    for k in range(heads):
        row, column = divmod(k, across)
        axes = new_axes(figure, 1 + left + column * (side + gap), top - side - row * (side + above), side, side)
        image = axes.imshow(values[k], cmap=SEQUENTIAL, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        if heads > 1:
            axes.set_title(f"head {k}", size=SMALL, color=INK, pad=3)
        axes.tick_params(length=0, pad=2)
        axes.set_yticks(range(0, n, step) if column == 0 else [], texts[::step] if column == 0 else [], size=size)
        lowest = k + across >= heads  # no table below it
        axes.set_xticks(range(0, n, step) if lowest else [], texts[::step] if lowest else [], size=size, rotation=90)
        if column == 0:
            axes.set_ylabel("query (asks)" if side > 0.9 else "query", size=SMALL, labelpad=2)
        if lowest:
            axes.set_xlabel("key (answers)" if side > 0.9 else "key", size=SMALL, labelpad=2)
        for spine in axes.spines.values():
            spine.set_visible(False)
        if n <= MOST_NUMBERS and side / n >= 0.28:
            write(axes, values[k], side / n)
    bar = new_axes(figure, 1 + left + across * (side + gap), top - min(side, 1.6), 0.1, min(side, 1.6))
    scale = figure.colorbar(image, cax=bar, ticks=[0, 0.5, 1])
    scale.ax.set_yticklabels(["0", "0.5", "1"], size=SMALL - 1)
    scale.ax.tick_params(length=0, pad=2)
    scale.outline.set_visible(False)
    several = f"{heads} heads" if heads > 1 else "1 head"
    alt = f"Attention weights of {several} over {n} tokens, queries down, keys across.\n{_in_words(names, values)}"
    return finish(figure, title, alt)


def _in_words(names: Sequence[str], values: np.ndarray) -> str:
    """For each head: where each query looks most, or of many tokens where the head looks on average."""
    lines = []
    for k, table in enumerate(values):
        if len(names) <= 8:
            tops = [f"{name} → {names[j]} {number_text(row[j])}" for name, row in zip(names, table) for j in [int(row.argmax())]]
            lines.append(f"head {k}: {', '.join(tops)}.")
        else:
            mean = table.mean(axis=0)
            j, (a, b) = int(mean.argmax()), _largest(table)
            lines.append(
                f"head {k}: most to {names[j]} (position {j}), {number_text(mean[j])} on average; "
                f"its largest weight is {names[a]} → {names[b]}, {number_text(table[a, b])}."
            )
    return "\n".join(lines)


def _largest(values: np.ndarray) -> tuple[int, ...]:
    """Where the largest weight is; the first query is left out, which under a causal mask has no choice."""
    later = values[..., 1:, :] if values.shape[-2] > 1 else values
    at = [int(i) for i in np.unravel_index(later.argmax(), later.shape)]
    at[-2] += values.shape[-2] - later.shape[-2]
    return tuple(at)


def attention(tokens: Sequence[str], patterns: Any, title: str | None = None) -> Heads:
    """Every head's attention pattern: small tables, and beside them circuitsvis, to hover over heads and weights.

    Args:
        tokens: seq strings, at most 64.
        patterns: [heads, seq, seq] weights between 0 and 1, or [seq, seq] for one head; at most 32 heads.
        title: by default the largest weight.

    Raises:
        ValueError: another shape, another number of tokens, nan, or a number outside 0…1.
    """
    expected = "[heads, seq, seq], or [seq, seq] for one head"
    values = read_numbers(patterns, "patterns", [2, 3], expected)
    values = values[None] if values.ndim == 2 else values
    heads, n, m = values.shape
    if n != m:
        raise ValueError(
            f"patterns has the shape {shape_text(values)}; expected {expected}: as many keys (across) as queries (down)."
        )
    if heads > MOST_HEADS:
        raise ValueError(f"attention draws at most {MOST_HEADS} heads; got {heads}. Draw some, as in patterns[:12].")
    if n > MOST_TOKENS:
        raise ValueError(f"attention draws at most {MOST_TOKENS} tokens; got {n}. Choose a shorter text.")
    if values.min() < -1e-6 or values.max() > 1 + 1e-4:
        wrong = values.min() if values.min() < 0 else values.max()
        cure = "Are these scores? Take their softmax."
        raise ValueError(f"patterns must lie between 0 and 1; found {number_text(wrong)}. {cure}")
    values = values.clip(0, 1)
    names = read_names(tokens, n, "tokens", "positions")
    k, i, j = _largest(values)
    default = f"The largest weight: {names[i]!r} → {names[j]!r}, {number_text(values[k, i, j])}"
    picture = _draw(names, values, read_title(title, default if heads == 1 else f"{default} in head {k}"))
    props = {
        "tokens": [name if len(name) <= 24 else name[:23] + "…" for name in names],
        "attention": values.round(4).tolist(),
        "attentionHeadNames": [f"head {k}" for k in range(heads)],
        "minValue": 0,
        "maxValue": 1,
        "positiveColor": BLUE,
        "maskUpperTri": bool(n > 1 and not np.triu(values, 1).any()),
    }
    return Heads(picture.figure, picture.alt, props)


# ---------------------------------------------------------------- in a notebook

# circuitsvis speaks of destinations and sources; the course of queries and keys.
WORDS = {
    '"Destination Token"': '"query (asks)"',
    '"Source Token"': '"key (answers)"',
    "`Src: ${": "`key: ${",
    "`Dest: ${": "`query: ${",
    "`Val: ${": "`weight: ${",
    '" Zoomed"': '""',
}
TRUST = (
    "To hover over heads and weights, run this cell; or trust the notebook: "
    "View → Activate Command Palette, then Trust Notebook."
)
MISSING = "To hover over heads and weights, run this cell again."

# A figure draws itself into every box of its content that no script has claimed: that is right for equal figures, for
# two views of one notebook, and wherever the script itself ends up. Ids are made on the page, so none is stored.
_FIGURE = """<script>(() => {
const props = PROPS;
const boxes = [...document.querySelectorAll('[data-attention="KEY"]')].filter(box => !box.dataset.claimed);
for (const box of boxes) {
  box.dataset.claimed = "yes";
  const words = box.querySelector("[data-words]"), place = box.querySelector("[data-place]");
  let drawn = false;
  const draw = () => {
    if (drawn || !window.CircuitsVis) return;
    drawn = true;
    window.courseFigures = (window.courseFigures || 0) + 1;
    place.id = "course-figure-" + window.courseFigures;
    place.style.cssText = "CARD";
    window.CircuitsVis.render(place.id, window.CircuitsVis.AttentionHeads, props);
    words.remove();
  };
  words.textContent = "";
  draw();
  window.addEventListener("course-circuitsvis", draw, {once: true});
  setTimeout(() => { draw(); if (!drawn) words.textContent = MISSING; }, 4000);
}
})()</script>"""

# The library unpacks itself and says so. A page that has it already does nothing.
_LIBRARY = """<script>(async () => {
if (window.CircuitsVis || window.courseCircuitsVis) return;
window.courseCircuitsVis = "on its way";
try {
  const bytes = Uint8Array.from(atob("PACKED"), letter => letter.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const script = document.createElement("script");
  script.textContent = text + "\\n;window.CircuitsVis = CircuitsVis;";
  document.head.append(script);
  window.dispatchEvent(new Event("course-circuitsvis"));
} finally { window.courseCircuitsVis = ""; }
})()</script>"""

_CARD = (
    f"background:{PAPER};color:{INK};border:1px solid {FAINT};border-radius:6px;max-width:540px;margin-top:8px;"
    "padding:8px 4px;box-sizing:border-box;overflow:hidden"
)
_STYLE = """<style>
.course-attention h2, .course-attention h3, .course-attention h4 {color: inherit; line-height: 1.2; font-weight: 600}
.course-attention [data-place] > div > h3 + div > div {flex: 0 0 16.6% !important; max-width: 16.6% !important}
.course-attention h2 {font-size: 14px} .course-attention h3 {font-size: 13px} .course-attention h4 {font-size: 9px}
</style>"""


def script_json(value: Any) -> str:
    """JSON that may stand in a <script>: ASCII, and nothing in it that HTML would read."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def interactive(picture: str, props: dict[str, Any], with_library: bool) -> str:
    """The picture in a light card, with a place for circuitsvis and the script that fills it."""
    library = packed_library()
    if library is None:  # circuitsvis is not installed: the picture says it all
        return picture
    data = script_json(props)
    key = hashlib.sha256(data.encode("ascii")).hexdigest()[:12]
    words = f'<div data-words="" style="line-height:1.5;max-width:46em">{html.escape(TRUST)}</div>'
    box = f'<div class="course-attention" data-attention="{key}">{picture}{words}<div data-place=""></div></div>'
    script = _FIGURE.replace("KEY", key).replace("MISSING", script_json(MISSING)).replace("CARD", _CARD).replace("PROPS", data)
    return box + _STYLE + script + (_LIBRARY.replace("PACKED", library) if with_library else "")


@functools.cache
def packed_library() -> str | None:
    """circuitsvis for the browser, gzipped, in base64 (0.5 MB instead of 1.3); None where it is not installed."""
    found = importlib.util.find_spec("circuitsvis")  # importing it would import torch and more
    path = Path(found.origin).parent / "dist" / "cdn" / "iife.js" if found and found.origin else None
    if path is None or not path.is_file():
        return None
    text = path.read_text(encoding="utf-8").split("//# sourceMappingURL=")[0]  # a page must not ask for the map
    for theirs, ours in WORDS.items():
        text = text.replace(theirs, ours)
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")


class _Bundle:
    """Which output carries the library: one per notebook, and such that a figure can always draw.

    The first figure that a kernel shows carries it, and its cell is remembered. That cell carries it again whenever it
    runs again, because its new output replaces the old one. When it runs without a figure, or is deleted, the next
    figure takes over; so does the first figure that a newly loaded page asks for (Lab's session is another one), which
    may not have the library: running the cell of any figure that misses it therefore brings it.
    """

    def __init__(self) -> None:
        self.cell: str | None = None  # None: no output has it
        self.session: str | None = None
        self.run: int | None = None
        self.watched: Any = None  # the shell whose cells are watched

    def is_due(self) -> bool:
        """Whether the figure that is shown now is to carry the library."""
        shell = _shell()
        if shell is None:  # no notebook: every figure is a page of its own
            return True
        self._watch(shell)
        cell, session, _ = _asked(shell)
        run = shell.execution_count
        if self.cell is not None and (self.session, self.cell, self.run) == (session, cell, run):
            return False  # it stands above, in this same output
        due = self.cell is None or session != self.session  # its own cell forgets it before it runs
        if due:
            self.cell, self.session, self.run = cell, session, run
        return due

    def _watch(self, shell: Any) -> None:
        if self.watched is not shell:
            self.watched, self.cell = shell, None
            shell.events.register("pre_run_cell", self.before)

    def before(self, info: Any = None) -> None:
        """A cell is about to run: is the one with the library among those that lose their outputs?"""
        cell, session, deleted = _asked(self.watched, info)
        if self.cell in (cell, *deleted):
            self.cell = None


def _shell() -> Any:
    """The running kernel's shell, or None."""
    import sys

    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if getattr(shell, "kernel", None) is not None else None


def _asked(shell: Any, info: Any = None) -> tuple[str, str, list[str]]:
    """The cell that runs (its id, or its source where the page tells no id), the page's session, and deleted cells."""
    parent = (shell.get_parent() if hasattr(shell, "get_parent") else None) or {}
    about = parent.get("metadata") or {}
    source = getattr(info, "raw_cell", None) or (parent.get("content") or {}).get("code") or ""
    cell = about.get("cellId") or hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()
    return cell, (parent.get("header") or {}).get("session") or "", list(about.get("deletedCells") or [])


_bundle = _Bundle()
