"""circuitsvis in a notebook, without the internet.

circuitsvis asks the internet on every display, or puts its 1.3 MB into every figure. Here the library travels in the
notebook itself, once, compressed; every other figure is a few kilobytes that wait for it. See `Bundle` for which
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
import sys
from pathlib import Path
from typing import Any

from utils.show.colours import FAINT, INK, PAPER
from utils.show.page import Picture

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
    script = (
        _FIGURE.replace("KEY", key)
        .replace("MISSING", script_json(MISSING))
        .replace("CARD", _CARD)
        .replace("PROPS", data)
    )
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


class Bundle:
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
        cell, _, deleted = _asked(self.watched, info)
        if self.cell in (cell, *deleted):
            self.cell = None


def _shell() -> Any:
    """The running kernel's shell, or None."""
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


_bundle = Bundle()


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
