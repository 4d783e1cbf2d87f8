"""The lessons with their answers, executed: what nbval compares a run with."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from utils import lessons
from utils.instructor import ipynb
from utils.lessons import ROOT, Cell, Lesson, LessonError

SOLVED = ROOT / "tests" / "solved"
TIMEOUT = 600  # seconds for one cell: for what hangs

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


class SolveError(ValueError):
    """A lesson does not run to its end with its own answers; the message names the cell's line."""


def solved_cells(lesson: Lesson) -> list[Cell]:
    """The lesson's cells with answers in, and marker lines and instructors' notes out."""
    cells: list[Cell] = []
    for cell in lesson.cells:
        source = lessons.solved_source(cell)
        if source.strip() or not cell.source.strip():
            cells.append(replace(cell, source=source, index=len(cells)))
    return cells


def solved_notebook(path: str | Path) -> dict:
    """The solved notebook of a lesson, not executed, as JSON. Raises `LessonError`."""
    lesson = lessons.read_lesson(path)
    return ipynb.make_notebook(
        [
            ipynb.make_cell(cell.kind, ipynb.cell_id(lesson.stem, cell.index), cell.metadata, cell.source)
            for cell in solved_cells(lesson)
        ]
    )


def solve_lessons(names: list[str], source: str | Path | None = None, out: str | Path | None = None) -> list[Path]:
    """Execute the named lessons (all when none is named) and write them to `out`, `tests/solved` by default: all, or
    none.

    Only text is kept of the outputs. Checks are strict: one that does not pass stops the lesson.

    Raises:
        LessonError: there is no such lesson.
        SolveError: a cell failed.
    """
    source = ROOT / "solutions" if source is None else Path(source)
    out = SOLVED if out is None else Path(out)
    paths = [lessons.find_lesson(name, source) for name in names] or lessons.all_lessons(source)
    if not paths:
        raise LessonError(f"There is no lesson in {source}.")
    out.mkdir(parents=True, exist_ok=True)
    texts = {
        out / f"{path.stem}.ipynb": ipynb.notebook_text(_keep_text_outputs(execute_lesson(path, out))) for path in paths
    }
    for target, text in texts.items():
        lessons.write_atomically(target, text)
    return list(texts)


def execute_lesson(path: Path, folder: Path, **options: Any) -> Any:
    """Execute a lesson with its answers in a kernel of its own, as the suite does: strict checks, the small GPT-2, and
    nothing that the author or another lesson has passed. Gives nbformat's notebook, with all outputs.

    Args:
        folder: where the kernel runs.
        options: further ones of nbclient's `NotebookClient`, as `store_widget_state=True`.

    Raises:
        SolveError: a cell failed; the message names its line.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    notebook: Any = nbformat.from_dict(solved_notebook(path))
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        coalesce_streams=True,  # how a cell's text came in pieces hangs on the moment
        extra_arguments=["--log-level=ERROR"],
        shutdown_kernel="immediate",  # after its last cell; to take torch down in order costs half a second
        **{"store_widget_state": False, **options},
    )
    try:
        with tempfile.TemporaryDirectory() as scratch:
            progress = os.path.join(scratch, "progress.json")
            course = {"COURSE_CHECKS": "strict", "COURSE_PROGRESS": progress, "COURSE_GPT2": "bundled"}
            client.execute(
                env={"OMP_WAIT_POLICY": "PASSIVE", **os.environ, **course, "PYTHONPATH": paths, "NO_COLOR": "1"}
            )
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        failed = [i for i, cell in enumerate(notebook.cells) if _has_failed(cell)]
        ran = [i for i, cell in enumerate(notebook.cells) if cell.get("execution_count")]
        index = (failed[:1] or ran[-1:] or [0])[0]
        line = solved_cells(lessons.read_lesson(path))[index].line
        why = f"{error.ename}: {error.evalue}" if isinstance(error, CellExecutionError) else str(error).splitlines()[0]
        raise SolveError(
            f"{path}:{line}: this cell fails with the lesson's own answers: {_ANSI.sub('', why)}"
        ) from None
    return notebook


def _keep_text_outputs(notebook: Any) -> Any:
    """The notebook with the text of its outputs, and without what another run would write otherwise."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [kept for output in cell.outputs if (kept := _text_output(output))]
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    return notebook


def _has_failed(cell: dict) -> bool:
    return any(output["output_type"] == "error" for output in cell.get("outputs", []))


def _text_output(output: dict) -> dict | None:
    """The output with its text alone, or None when it has none."""
    if output["output_type"] == "stream":
        return {**output, "text": _normalise_text(output["text"])}
    text = output.get("data", {}).get("text/plain")
    if text is None or output["output_type"] == "error" or "application/vnd.jupyter.widget-view+json" in output["data"]:
        return None
    return {**output, "data": {"text/plain": _normalise_text(text)}, "metadata": {}}


def _normalise_text(text: str) -> str:
    """Text that is the same on every machine: no colours, no addresses, no folder of ours."""
    text = _ADDRESS.sub("0x000000", _ANSI.sub("", text))
    return text.replace(str(ROOT), ".").replace(str(Path.home()), "~")
