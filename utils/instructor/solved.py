"""The lessons with their answers, executed: what nbval compares a run with."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path

from utils import lessons
from utils.instructor.build import cell_id
from utils.lessons import ROOT, Cell, Lesson, LessonError

SOLVED = ROOT / "tests" / "solved"
TIMEOUT = 120  # seconds for one cell

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_PROSE_MARKER = re.compile(r" {0,3}</?COGINST>\s*")


class SolveError(ValueError):
    """A lesson does not run to its end with its own answers; the message names the cell's line."""


def solved_cells(lesson: Lesson) -> list[Cell]:
    """The lesson's cells with answers in, and marker lines and instructors' notes out."""
    cells = []
    for cell in lesson.cells:
        source = lessons.without_markers(cell.source) if cell.kind == "code" else _prose(cell.source) if cell.kind == "markdown" else cell.source
        if source.strip() or not cell.source.strip():
            cells.append(Cell(cell.kind, source, cell.line, cell.metadata, len(cells)))
    return cells


def _prose(source: str) -> str:
    outside = dict(lessons.prose_lines(source))
    kept, note = [], False
    for row, line in enumerate(source.split("\n")):
        mark = outside.get(row, "").strip()
        note = mark == "<COGNOTE>" or note and mark != "</COGNOTE>"
        if not note and mark != "</COGNOTE>" and not _PROSE_MARKER.fullmatch(outside.get(row, "")):
            kept.append(line)
    return "\n".join(kept)


def solved_notebook(path: str | Path) -> dict:
    """The solved notebook of a lesson, not executed, as JSON. Raises `LessonError`."""
    lesson = lessons.read(path)
    cells = []
    for cell in solved_cells(lesson):
        made = {"cell_type": cell.kind, "id": cell_id(lesson.stem, cell.index), "metadata": cell.metadata, "source": cell.source}
        cells.append(made | {"execution_count": None, "outputs": []} if cell.kind == "code" else made)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def solve(names: list[str], source: str | Path | None = None, out: str | Path | None = None) -> list[Path]:
    """Execute the named lessons (all when none is named) and write them to `out`, `tests/solved` by default: all, or none.

    Only text is kept of the outputs. Checks are strict: one that does not pass stops the lesson.

    Raises:
        LessonError: there is no such lesson.
        SolveError: a cell failed.
    """
    source = ROOT / "solutions" if source is None else Path(source)
    out = SOLVED if out is None else Path(out)
    paths = [lessons.find(name, source) for name in names] or lessons.all_lessons(source)
    if not paths:
        raise LessonError(f"There is no lesson in {source}.")
    out.mkdir(parents=True, exist_ok=True)
    texts = {out / f"{path.stem}.ipynb": _text(_execute(path, out)) for path in paths}
    for target, text in texts.items():
        target.with_suffix(".tmp").write_text(text, encoding="utf-8")
    for target in texts:
        os.replace(target.with_suffix(".tmp"), target)
    return list(texts)


def _text(notebook: dict) -> str:
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _execute(path: Path, folder: Path) -> dict:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook = nbformat.from_dict(solved_notebook(path))
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        with tempfile.TemporaryDirectory() as scratch:  # what the author or another lesson has passed is not to show
            progress = os.path.join(scratch, "progress.json")
            course = {"COURSE_CHECKS": "strict", "COURSE_PROGRESS": progress, "COURSE_GPT2": "bundled"}  # as the suite runs it
            client.execute(env={"OMP_WAIT_POLICY": "PASSIVE", **os.environ, **course, "PYTHONPATH": paths, "NO_COLOR": "1"})
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        failed = next((i for i, cell in enumerate(notebook.cells) if any(o.output_type == "error" for o in cell.get("outputs", []))), None)
        ran = [i for i, cell in enumerate(notebook.cells) if cell.get("execution_count")]
        index = failed if failed is not None else (ran[-1] if ran else 0)
        line = solved_cells(lessons.read(path))[index].line
        why = f"{error.ename}: {error.evalue}" if isinstance(error, CellExecutionError) else str(error).splitlines()[0]
        raise SolveError(f"{path}:{line}: this cell fails with the lesson's own answers: {_ANSI.sub('', why)}") from None
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [kept for output in cell.outputs if (kept := _text_of(output))]
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    return notebook


def _text_of(output: dict) -> dict | None:
    """The output with its text alone, or None when it has none."""
    if output["output_type"] == "stream":
        return {**output, "text": _calm(output["text"])}
    text = output.get("data", {}).get("text/plain")
    if text is None or output["output_type"] == "error" or "application/vnd.jupyter.widget-view+json" in output["data"]:
        return None
    return {**output, "data": {"text/plain": _calm(text)}, "metadata": {}}


def _calm(text: str) -> str:
    """Text that is the same on every machine: no colours, no addresses, no folder of ours."""
    text = _ADDRESS.sub("0x000000", _ANSI.sub("", text))
    return text.replace(str(ROOT), ".").replace(str(Path.home()), "~")
