"""Create the page of a lesson: its cells with unfilled gaps, the outputs of a run with answers, and folded hints.

The page is a notebook that Sphinx reads. Each explorer, prediction or quiz becomes a container with its initial values.
`static/live.js` builds the widget in this container, without a kernel or a widget manager.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from utils import lessons
from utils.book.lesson_outputs import BookError, Outputs
from utils.exercises.exercise import Exercise, all_exercises
from utils.instructor import ipynb
from utils.instructor.solved_notebooks import solved_cells
from utils.instructor.strip import strip_cell
from utils.lessons import ROOT, Cell, Lesson, markers
from utils.show import html

WIDGET = "application/vnd.jupyter.widget-view+json"
GRADES = ("a nudge", "the idea", "almost the code")
GAP = "gap"  # the tag of a cell that a learner fills in
# In a notebook, the first circuitsvis figure contains the library. In the book, all pages share one file instead.
LIBRARY = re.compile(r"<script>(\(async \(\) => \{\nif \(window\.CircuitsVis \|\|.*?)</script>", re.DOTALL)
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_CHECKED = re.compile(r"(?m)^check\((\w+)")
_PROGRESS = re.compile(r"(?m)^progress\(\)(?:\.(\w+)\(\))?$")
# For each call to `progress()`, the text that the book shows instead of the solved run's output. If the text is empty,
# the book leaves out the cell. The book contains none of the questions in the concept inventory.
IN_LAB = {
    None: "In JupyterLab, this shows every lesson with its time and every exercise with its state, and leads to the"
    " place where you stopped. This page stores nothing about you.",
    "inventory": "In JupyterLab, this asks the twelve questions of the concept inventory. This page stores nothing"
    " about you, so it does not contain them.",
    "due": "",
}
_ANCHOR = re.compile(r"\]\(#([^)\s]+)\)")


def make_lesson_page(lesson: Lesson, outputs: Outputs, intro: str, with_answers: bool = False) -> dict[str, Any]:
    """Return the notebook of a lesson's page as JSON.

    Args:
        outputs: the outputs of the lesson's solved run.
        intro: Markdown to insert below the lesson's title.
        with_answers: show the answers instead of the gaps.

    Raises:
        BookError: a cell shows a widget that is not one of the course's.
    """
    cells, hinted = [], set()
    for cell, shown in _with_outputs(lesson, outputs):
        source = lessons.solved_source(cell) if with_answers else strip_cell(markers.parse_markers(cell)).source
        if cell.kind == "raw" or not source.strip():
            continue
        if cell.kind == "markdown":
            cells.append(_markdown_cell(lesson, cell, source, intro if not cells else ""))
            continue
        is_gap = source != lessons.solved_source(cell)
        if call := _PROGRESS.search(source):  # the output would show the solved run's progress, not the reader's
            if not IN_LAB[call[1]]:
                continue
            shown = [_card_output(IN_LAB[call[1]])]
        page_outputs = [_page_output(each, outputs["widgets"], lesson) for each in shown]
        cells.append(_code_cell(lesson, cell, source, page_outputs, is_gap))
        for exercise in _checked_exercises(lesson, cell):
            if exercise.name not in hinted:
                hinted.add(exercise.name)
                identity = ipynb.cell_id(f"{lesson.stem}:hints", cell.index)
                cells.append(ipynb.make_cell("markdown", identity, {}, render_hints(exercise)))
    return ipynb.make_notebook(cells)


def _with_outputs(lesson: Lesson, outputs: Outputs) -> Iterator[tuple[Cell, list[dict[str, Any]]]]:
    """Yield the lesson's cells, each with its outputs from the solved run.

    Raises:
        BookError: the outputs in the cache belong to a different version of the lesson.
    """
    solved = solved_cells(lesson)
    if len(solved) != len(outputs["outputs"]):
        raise BookError(
            f"{lesson.path}: the cached outputs belong to another version. Delete build/book-outputs and try again."
        )
    places = {cell.line: outputs["outputs"][cell.index] for cell in solved}
    for cell in lesson.cells:
        yield cell, places.get(cell.line, [])


def _markdown_cell(lesson: Lesson, cell: Cell, source: str, intro: str) -> dict[str, Any]:
    # JupyterLab's anchors keep upper-case letters; Sphinx's do not.
    source = _ANCHOR.sub(lambda found: f"](#{found[1].lower()})", source)
    if intro:
        title, _, rest = source.partition("\n")
        source = f"{title}\n\n{intro}\n{rest}"
    return ipynb.make_cell("markdown", ipynb.cell_id(lesson.stem, cell.index), {}, source)


def _code_cell(lesson: Lesson, cell: Cell, source: str, outputs: list[dict[str, Any]], is_gap: bool) -> dict[str, Any]:
    tags = [GAP] * is_gap
    if cell.metadata.get("jupyter", {}).get("source_hidden"):
        tags.append("remove-input")
    page_cell = ipynb.make_cell("code", ipynb.cell_id(lesson.stem, cell.index), {"tags": tags} if tags else {}, source)
    return page_cell | {"outputs": outputs}


def _checked_exercises(lesson: Lesson, cell: Cell) -> list[Exercise]:
    """Return the exercises of this lesson that a cell checks and that have hints."""
    named = (all_exercises().get(name) for name in _CHECKED.findall(cell.source))
    return [exercise for exercise in named if exercise and exercise.hints and exercise.lesson == lesson.name]


def render_hints(exercise: Exercise) -> str:
    """Return HTML with the three hints of an exercise, each folded."""
    folded = "".join(
        f"<details><summary>Hint {number}: {grade}</summary><p>{html.inline_html(hint)}</p></details>"
        for number, (grade, hint) in enumerate(zip(GRADES, exercise.hints), 1)
    )
    return f'<div class="hints" role="group" aria-label="Hints for {exercise.name}">{folded}</div>'


# --- outputs --------------------------------------------------------------------------------------------


def _card_output(text: str) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {"text/html": html.card(text)}, "metadata": {}}


def _page_output(output: Mapping[str, Any], widgets: Mapping[str, Any], lesson: Lesson) -> dict[str, Any]:
    """Convert an output to the form that the page shows, such as text or HTML."""
    if output["output_type"] == "stream":
        return {**output, "text": _normalise_text(output["text"])}
    if output["output_type"] == "error":
        return {**output, "traceback": [_normalise_text(line) for line in output["traceback"]]}
    data = output["data"]
    if WIDGET in data:
        shown = {"text/html": _widget_html(data, widgets, lesson)}
    elif "text/html" in data:
        shown = {"text/html": share_library(_normalise_text("".join(data["text/html"])))}
    else:
        shown = {kind: _normalise_text("".join(text)) if kind == "text/plain" else text for kind, text in data.items()}
    page_output = {"output_type": "display_data", "data": shown, "metadata": {}}
    if output["output_type"] == "execute_result":
        page_output |= {"output_type": "execute_result", "execution_count": output.get("execution_count")}
    return page_output


def _normalise_text(text: str) -> str:
    """Return the text without terminal colours, memory addresses and paths on this machine."""
    text = _ADDRESS.sub("0x000000", _ANSI.sub("", text))
    return text.replace(str(ROOT), ".").replace(str(Path.home()), "~")


def share_library(text: str) -> str:
    """Replace the circuitsvis library in a figure's HTML by a reference to the file that all pages share."""
    return LIBRARY.sub('<script src="../_static/circuitsvis.js" defer></script>', text)


def _widget_html(data: Mapping[str, Any], widgets: Mapping[str, Any], lesson: Lesson) -> str:
    """Return a live widget's container, with the widget's initial values and a text for browsers without scripts.

    Raises:
        BookError: the widget is not one of the course's.
    """
    model = widgets.get(data[WIDGET]["model_id"], {"kind": ""})
    if not model["kind"]:
        raise BookError(
            f"{lesson.path}: {''.join(data.get('text/plain', 'a widget'))[:80]!r} is not a widget of"
            " utils.show.widget. Only these widgets work without a kernel."
        )
    traits = {name: model[name] for name in ("start", "state", "data")}
    text = html.escape("".join(data["text/plain"]))
    return (
        f'<div class="live" data-kind="{model["kind"]}"><p class="live-words">{text}</p>'
        f'<script type="application/json">{script_json(traits)}</script></div>'
    )


def script_json(value: Any) -> str:
    """Return JSON that is safe inside a `<script>` element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
