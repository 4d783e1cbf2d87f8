"""Show circuitsvis figures in a notebook without internet access.

circuitsvis itself loads its library from the internet for every figure, or embeds 1.3 MB in every figure. Here, only
one output in the notebook contains the compressed library. All other figures take a few kilobytes and wait for the
library. `LibraryTracker` decides which output contains it.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import html
import importlib.util
import json
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from utils.show.colours import SEQUENTIAL
from utils.show.drawing_types import Figure
from utils.show.picture import Picture

# circuitsvis uses the words destination and source; the course uses query and key. In circuitsvis, readers can choose a
# head only with the mouse; in the course, they can also use the keyboard. circuitsvis adds a number to each token's
# label; the course removes it.
WORDS = {
    '"Destination Token"': '"query (asks)"',
    '"Source Token"': '"key (answers)"',
    "`Src: ${": "`key: ${",
    "`Dest: ${": "`query: ${",
    "`Val: ${": "`weight: ${",
    '" Zoomed"': '""',
    '"Head Selector (hover to view, click to lock)"': '"Choose a head to see it"',
    "ticks:{display:!0": "ticks:{color:courseInk,callback:courseToken,autoSkip:!1,display:!0",
    "title:{display:!0": "title:{color:courseInk,display:!0",
}
# For smaller weights, circuitsvis mixes a colour with more white. The course uses one colour scale for all weights.
MIXED = re.compile(r'return (\w)>=0\?(\w+)\(\w\)\.mix\(\2\("white"\),Math\.min\(Math\.max\(1-\1/(\w),0\),1\)\):')
OURS = r"return \1>=0?\2(courseShade(\1/\3)):"
# When the reader chooses a head, circuitsvis redraws the large table, and also the small tables of all heads. With
# React's memo, it redraws only the large table, because the arguments of the small tables have not changed.
SMALL_TABLE = re.compile(r"(\w+\.default)\.createElement\((\w+),(?=\{attention:\w+,tokens:\w+,showAxisLabels:!1,)")
DRAWN_ONCE = r"\1.createElement(courseMemo(\1,\2),"
_HELPERS = """var courseMemo = (react, table) => (table.memo ||= react.memo(table));
var courseInk = context => getComputedStyle(context.chart.canvas).color;
var courseToken = function (value) { return this.getLabelForValue(value).replace(/ \\(\\d+\\)$/, ""); };
var courseShades = "SHADES";
var courseShade = share => "#" + courseShades.substr(6 * Math.round(255 * Math.min(Math.max(share, 0), 1)), 6);
"""
TRUST = (
    "To choose a head and point at its weights, run this cell; or trust the notebook: "
    "View → Activate Command Palette, then Trust Notebook."
)
MISSING = "To choose a head and point at its weights, run this cell again."
UNSUPPORTED = (
    "You cannot choose a head in this figure, because the course cannot adapt the installed version of circuitsvis"
    " ({version}); version 1.43.3 works."
)

# This script draws a figure into each box that has the figure's content key, unless another script has claimed the box.
# This works for identical figures, for two views of one notebook, and wherever the script is on the page. The script
# creates the ids of the figures, so the notebook stores no ids. Once the figure is drawn, only screen readers and print
# use the static picture.
_FIGURE = """<script>(() => {
const props = PROPS;
const boxes = [...document.querySelectorAll('[data-attention="KEY"]')].filter(box => !box.dataset.claimed);
for (const box of boxes) {
  box.dataset.claimed = "yes";
  const words = box.querySelector("[data-words]"), place = box.querySelector("[data-place]");
  let drawn = false;
  const named = () => {
    const heads = [...place.querySelectorAll("h4")], chosen = place.querySelectorAll("h3")[1]?.textContent;
    const group = heads[0]?.parentElement.parentElement.parentElement.parentElement;
    group?.setAttribute("role", "radiogroup");
    group?.setAttribute("aria-label", "heads");
    heads.forEach((head, i) => {
      const one = head.parentElement.parentElement, on = head.textContent === chosen;
      one.setAttribute("role", "radio");
      one.setAttribute("aria-label", head.textContent);
      one.setAttribute("aria-description", props.descriptions?.[i] ?? "");
      one.setAttribute("aria-checked", on);
      one.tabIndex = on ? 0 : -1;
      one.onkeydown = event => {
        const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, " ": 0, Enter: 0}[event.key];
        if (step === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        const next = heads[(i + step + heads.length) % heads.length].parentElement.parentElement;
        next.click();
        next.focus();
      };
    });
    for (const canvas of place.querySelectorAll("canvas")) canvas.setAttribute("aria-hidden", "true");
  };
  const draw = () => {
    if (!window.CircuitsVis) return;
    drawn = true;
    const live = document.createElement("div");
    window.courseFigures = (window.courseFigures || 0) + 1;
    live.id = "course-figure-" + window.courseFigures;
    place.replaceChildren(live);
    window.CircuitsVis.render(live.id, window.CircuitsVis.AttentionHeads, props);
    words.remove();
    box.dataset.drawn = "yes";
  };
  // After a touch, the label of a cell stays: scrolling or a touch elsewhere hides it.
  const leave = event => {
    for (const canvas of place.querySelectorAll("canvas"))
      if (canvas !== event.target) canvas.dispatchEvent(new MouseEvent("mouseout"));
  };
  for (const sign of ["scroll", "touchstart"]) window.addEventListener(sign, leave, {capture: true, passive: true});
  new MutationObserver(named).observe(place, {childList: true, subtree: true, characterData: true});
  draw();
  if (!drawn) window.addEventListener("course-circuitsvis", draw, {once: true});
  const themes = new MutationObserver(() => {
    if (!box.isConnected) themes.disconnect();
    else if (drawn) requestAnimationFrame(draw);
  });
  for (const [node, sign] of [[document.body, "data-jp-theme-light"], [document.documentElement, "data-theme"]])
    themes.observe(node, {attributeFilter: [sign]});
  setTimeout(() => { if (!drawn) words.textContent = MISSING; }, 4000);
}
})()</script>"""

# This script unpacks the library and dispatches an event. If the page already has the library, the script does nothing.
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

# circuitsvis sets colours and sizes in inline styles, so our rules need !important.
_STYLE = """<style>
.course-attention {max-width: 600px; position: relative; font-size: 14px; line-height: 1.5}
.course-attention :is(h2, h3, h4) {color: inherit; line-height: 1.3; font-weight: 600; margin: 0 !important}
.course-attention h3 {font-size: 14px; padding: 4px 0}
.course-attention h2 {display: none}
.course-attention h4 {position: static !important; background: none !important; color: inherit !important;
  font-size: 12px; padding: 0 2px !important}
.course-attention [role=radiogroup] > div {
  flex: 0 0 max(var(--across), 72px) !important; max-width: max(var(--across), 72px) !important}
.course-attention [role=radio] {cursor: pointer; border-radius: 4px; border: 2px solid transparent}
.course-attention [role=radio] > div {border-color: transparent !important; box-shadow: none !important}
.course-attention [role=radio][aria-checked=true] {border-color: currentcolor}
.course-attention [role=radio]:focus-visible {outline: 2px solid currentcolor; outline-offset: 2px}
.course-attention[data-alone] :is(h3, [role=radiogroup]) {display: none !important}
.course-attention [data-title] {display: none; font-weight: 700; font-size: 15px}
.course-attention[data-drawn] [data-title] {display: block}
.course-attention [data-title] small {font-weight: 400; white-space: nowrap; margin-left: 1em}
.course-attention [data-title] i {
  display: inline-block; width: 6em; height: 0.7em; background: linear-gradient(90deg, STOPS)}
@media print {.course-attention :is([data-place], [data-title]) {display: none !important}}
@media screen {.course-attention[data-drawn] [data-twin] {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)}}
</style>"""


def script_json(value: Any) -> str:
    """Return `value` as JSON that is safe in a <script>: ASCII, without characters that are special in HTML."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def interactive_html(picture: str, title: str, props: dict[str, Any], with_library: bool) -> str:
    """Return a picture as HTML with a script. If scripts may run, the script replaces the picture with circuitsvis."""
    library = compressed_library()
    if library is None:
        is_installed = importlib.util.find_spec("circuitsvis") is not None
        return picture + (f"<div>{UNSUPPORTED.format(version=version('circuitsvis'))}</div>" if is_installed else "")
    data = script_json(props)
    key = hashlib.sha256(data.encode("ascii")).hexdigest()[:12]
    heads = len(props["attention"])
    look = f' style="--across:{"16.6%" if heads > 4 else "25%"}"' + (' data-alone=""' if heads == 1 else "")
    box = (
        f'<div class="course-attention" data-attention="{key}"{look}><div data-twin="">{picture}</div>'
        f'<div data-words="">{html.escape(TRUST)}</div>'
        f'<div data-title="" aria-hidden="true">{html.escape(title)}<small>0 <i></i> 1</small></div>'
        '<div data-place=""></div></div>'
    )
    stops = ", ".join(f"#{_shades()[k : k + 6]}" for k in range(0, 6 * 256, 6 * 51))
    script = _FIGURE.replace("KEY", key).replace("MISSING", script_json(MISSING)).replace("PROPS", data)
    return box + _STYLE.replace("STOPS", stops) + script + (_LIBRARY.replace("PACKED", library) if with_library else "")


@functools.cache
def compressed_library() -> str | None:
    """Return circuitsvis's browser library, changed by `adapt_library`, gzipped and base64-encoded.

    Return None if circuitsvis is not installed, or if its library lacks the code that the course replaces.
    """
    found = importlib.util.find_spec("circuitsvis")  # importing circuitsvis would also load torch
    path = Path(found.origin).parent / "dist" / "cdn" / "iife.js" if found and found.origin else None
    text = adapt_library(path.read_text(encoding="utf-8")) if path and path.is_file() else None
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii") if text else None


def adapt_library(text: str) -> str | None:
    """Replace the parts of circuitsvis that the course changes. Return None if a part is missing."""
    text = text.split("//# sourceMappingURL=")[0]  # the page must not request the source map
    for theirs, ours in WORDS.items():
        if theirs not in text:
            return None
        text = text.replace(theirs, ours)
    for pattern, ours in ((MIXED, OURS), (SMALL_TABLE, DRAWN_ONCE)):
        text, n_found = pattern.subn(ours, text)
        if n_found != 1:
            return None
    return _HELPERS.replace("SHADES", _shades()) + text


@functools.cache
def _shades() -> str:
    """Return the course's colour scale for weights from 0 to 1: 256 colours of six hexadecimal digits each."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return "".join(to_hex(colormaps[SEQUENTIAL](k))[1:] for k in range(256))


class LibraryTracker:
    """Decide which output of a notebook contains the library.

    The first figure that a kernel shows contains the library, and the tracker remembers its cell. If that cell runs
    again, its new output replaces the old one and therefore contains the library. If the cell then shows no figure, or
    if it is deleted, the next figure contains the library. A newly loaded page has a new session and may lack the
    library, so the first figure in the new session also contains it. Therefore, if a figure lacks the library, running
    its cell again adds the library.
    """

    def __init__(self) -> None:
        self.cell: str | None = None  # the cell whose output contains the library, or None
        self.session: str | None = None
        self.execution_count: int | None = None
        self.shell: Any = None  # the shell whose cells the tracker watches

    def claim_library(self) -> bool:
        """Return True if the figure to be shown next must contain the library."""
        shell = _shell()
        if shell is None:  # outside a notebook, every figure is a separate page
            return True
        self._watch(shell)
        cell, session, _ = _request_info(shell)
        run = shell.execution_count
        if self.cell is not None and (self.session, self.cell, self.execution_count) == (session, cell, run):
            return False  # an earlier figure in this output contains the library
        due = self.cell is None or session != self.session  # on_pre_run_cell resets self.cell if that cell runs again
        if due:
            self.cell, self.session, self.execution_count = cell, session, run
        return due

    def _watch(self, shell: Any) -> None:
        if self.shell is not shell:
            self.shell, self.cell = shell, None
            shell.events.register("pre_run_cell", self.on_pre_run_cell)

    def on_pre_run_cell(self, info: Any = None) -> None:
        """Forget `self.cell` if this cell is deleted or runs again, because its output disappears."""
        cell, _, deleted = _request_info(self.shell, info)
        if self.cell in (cell, *deleted):
            self.cell = None


def _shell() -> Any:
    """Return the shell of the running kernel, or None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if getattr(shell, "kernel", None) is not None else None


def _request_info(shell: Any, info: Any = None) -> tuple[str, str, list[str]]:
    """Return the id of the running cell, the session and the ids of the deleted cells.

    If the running cell has no id, return a hash of its source instead of the id.
    """
    parent = (shell.get_parent() if hasattr(shell, "get_parent") else None) or {}
    about = parent.get("metadata") or {}
    source = getattr(info, "raw_cell", None) or (parent.get("content") or {}).get("code") or ""
    cell = about.get("cellId") or hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()
    return cell, (parent.get("header") or {}).get("session") or "", list(about.get("deletedCells") or [])


_library_tracker = LibraryTracker()


class AttentionHeadsPicture(Picture):
    """A static picture of all heads. In a notebook, an interactive figure replaces it if scripts may run.

    Args:
        figure, alt: see `Picture`.
        title: the title of the picture and of the interactive figure.
        props: the properties for circuitsvis's AttentionHeads. `descriptions` has a text for each head, which a screen
            reader reads after the name of the head.
    """

    def __init__(self, figure: Figure, alt: str, title: str, props: dict[str, Any]) -> None:
        super().__init__(figure, alt)
        self.title, self.props = title, props

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {
            "text/plain": self.alt,
            "text/html": interactive_html(self.html(), self.title, self.props, _library_tracker.claim_library()),
        }
