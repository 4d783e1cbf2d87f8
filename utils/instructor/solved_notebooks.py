"""Run the lessons with their answers. The tests compare later runs with the resulting notebooks."""

from __future__ import annotations

import json
import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from utils import lessons
from utils.instructor import ipynb
from utils.lessons import ROOT, Cell, Lesson, LessonError

TIMEOUT = 600  # seconds for one cell, in case it hangs

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")


class SolveError(ValueError):
    """A lesson fails even with its reference answers. The message names the line of the failed cell."""


def solved_cells(lesson: Lesson) -> list[Cell]:
    """Return the lesson's cells with answers, but without marker lines and instructors' notes."""
    cells: list[Cell] = []
    for cell in lesson.cells:
        source = lessons.solved_source(cell)
        if source.strip() or not cell.source.strip():
            cells.append(replace(cell, source=source, index=len(cells)))
    return cells


def solved_notebook(path: str | Path) -> dict:
    """Return the solved notebook of a lesson as JSON, without running it. Raises `LessonError`."""
    lesson = lessons.read_lesson(path)
    return ipynb.make_notebook(
        [
            ipynb.make_cell(cell.kind, ipynb.cell_id(lesson.stem, cell.index), cell.metadata, cell.source)
            for cell in solved_cells(lesson)
        ]
    )


def solve_lessons(names: list[str], out: str | Path, source: str | Path | None = None) -> list[Path]:
    """Run the named lessons (by default, all lessons) and write their notebooks to the folder `out`.

    If one lesson fails, nothing is written. Only the text of the outputs is stored. Checks are strict: the first
    exercise that does not pass stops the lesson.

    Raises:
        LessonError: there is no such lesson.
        SolveError: a cell failed.
    """
    source = ROOT / "solutions" if source is None else Path(source)
    out = Path(out)
    paths = [lessons.find_lesson(name, source) for name in names] or lessons.all_lessons(source)
    if not paths:
        raise LessonError(f"There is no lesson in {source}.")
    out.mkdir(parents=True, exist_ok=True)
    texts = {
        out / f"{path.stem}.ipynb": ipynb.notebook_text(_keep_text_outputs(execute_lesson(path))) for path in paths
    }
    for target, text in texts.items():
        lessons.write_atomically(target, text)
    return list(texts)


def find_stale(folder: Path, source: Path = ROOT / "solutions") -> list[str]:
    """Return the stems of the lessons whose solved notebook in `folder` is missing or has outdated cells."""
    stale = []
    for path in lessons.all_lessons(source):
        stored = folder / f"{path.stem}.ipynb"
        cells = json.loads(stored.read_text(encoding="utf-8"))["cells"] if stored.exists() else None
        if cells is None or list(map(_cell_input, cells)) != list(map(_cell_input, solved_notebook(path)["cells"])):
            stale.append(path.stem)
    return stale


def _cell_input(cell: dict) -> tuple:
    """Return a cell's content without its outputs or anything else that a run writes."""
    return cell["id"], cell["cell_type"], "".join(cell["source"]), cell["metadata"]


def execute_lesson(path: Path, **options: Any) -> Any:
    """Run a lesson with its answers in a new kernel, and return nbformat's notebook with all outputs.

    The kernel has strict checks, a new progress file, and the small GPT-2, as in a new clone on a new machine. It runs
    in the lesson's folder, where `yours` finds the answers of earlier lessons, and so does not use the work in
    `course/`.

    Args:
        options: further options of nbclient's `NotebookClient`, such as `store_widget_state=True`.

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
        resources={"metadata": {"path": str(path.parent)}},
        coalesce_streams=True,  # merge the pieces of printed text, because their number depends on timing
        extra_arguments=["--log-level=ERROR"],
        shutdown_kernel="immediate",  # an orderly shutdown of torch takes half a second
        **{"store_widget_state": False, **options},
    )
    try:
        with tempfile.TemporaryDirectory() as scratch:
            progress = os.path.join(scratch, "progress.json")
            course = {"COURSE_CHECKS": "strict", "COURSE_PROGRESS": progress}
            # Neither this variable nor the cache names a GPT-2, so the announcement of the model suits every reader.
            course |= {"COURSE_GPT2": "", "HF_HUB_CACHE": scratch, "COURSE_SEED": "fixed"}
            client.execute(
                env={"OMP_WAIT_POLICY": "PASSIVE", **os.environ, **course, "PYTHONPATH": paths, "NO_COLOR": "1"}
            )
    except AssertionError as error:  # nbclient cannot clean up if Ctrl-C stops it while the kernel starts
        raise error.__context__ if isinstance(error.__context__, KeyboardInterrupt) else error from None
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        failed = [i for i, cell in enumerate(notebook.cells) if _has_failed(cell)]
        ran = [i for i, cell in enumerate(notebook.cells) if cell.get("execution_count")]
        index = (failed[:1] or ran[-1:] or [0])[0]
        line = solved_cells(lessons.read_lesson(path))[index].line
        cause = (
            f"{error.ename}: {error.evalue}" if isinstance(error, CellExecutionError) else str(error).splitlines()[0]
        )
        raise SolveError(
            f"{path}:{line}: this cell fails with the lesson's own answers: {_ANSI.sub('', cause)}"
        ) from None
    return notebook


def _keep_text_outputs(notebook: Any) -> Any:
    """Keep only the text of the notebook's outputs, and remove everything that differs between runs."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = text_outputs(cell.outputs)
    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    return notebook


def text_outputs(outputs: list[dict]) -> list[dict]:
    """Return the text of a cell's outputs, without everything that differs between runs."""
    return [kept for output in outputs if (kept := _text_output(output))]


def _has_failed(cell: dict) -> bool:
    return any(output["output_type"] == "error" for output in cell.get("outputs", []))


def _text_output(output: dict) -> dict | None:
    """Return the output reduced to its text, or None if it has no text."""
    if output["output_type"] == "stream":
        return {**output, "text": _normalise_text(output["text"])}
    text = output.get("data", {}).get("text/plain")
    if text is None or output["output_type"] == "error" or "application/vnd.jupyter.widget-view+json" in output["data"]:
        return None
    return {**output, "data": {"text/plain": _normalise_text(text)}, "metadata": {}}


def _normalise_text(text: str) -> str:
    """Remove colours from the text, and replace memory addresses and local folders with fixed texts."""
    text = _ADDRESS.sub("0x000000", _ANSI.sub("", text))
    return text.replace(str(ROOT), ".").replace(str(Path.home()), "~")
