"""Run the lessons with their answers, and cache their outputs, including widgets.

A lesson runs again after a change to its code, to a definition in an earlier lesson, to the course's own modules or to
a library. Changes to the prose do not matter. Changes to an explorer's JavaScript do not matter either, because the
JavaScript runs in the page, not in the kernel.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from utils import lessons
from utils.instructor.solved_notebooks import SolveError, execute_lesson, solved_cells
from utils.lessons import ROOT, Lesson, write_atomically
from utils.show.widget import read_script

# The scripts of all kinds of widgets.
SCRIPTS = [
    path for name in ("explore", "learning", "training") for path in sorted((ROOT / "utils" / name).glob("*.js"))
]
CACHE_FOLDER = ROOT / "build" / "book-outputs"
# Notebooks import none of these packages, but these two modules run the lessons.
_NOT_IN_NOTEBOOKS = ("book", "cli", "grading", "instructor")
_RUN_LESSONS = ("book/lesson_outputs.py", "instructor/solved_notebooks.py")
_LIBRARIES = ("torch", "numpy", "transformers", "tokenizers", "matplotlib", "circuitsvis", "ipykernel", "anywidget")
_DEFINES = ("def ", "class ", "COGINST", "COGLINE", "COGSTUB")

Outputs = dict[str, Any]  # {"outputs": the outputs of each solved cell, "widgets": the result of `_widget_states`}


class BookError(ValueError):
    """The book cannot be built. The message gives the reason and the remedy."""


def collect_outputs(
    chosen_lessons: Iterable[Lesson],
    log: Callable[[str], None],
    cache_folder: Path = CACHE_FOLDER,
    workers: int = 2,
) -> dict[str, Outputs]:
    """Return a dict from lesson stems to outputs.

    If a lesson has no cached outputs, it runs first, with its answers.

    Args:
        log: called with one line for each lesson that had to run.
        cache_folder: the folder in which outputs are cached.
        workers: the number of lessons that run at the same time.

    Raises:
        BookError: a lesson fails although it has its reference answers.
    """
    every, course = lessons.all_lessons(), environment_fingerprint()
    outputs: dict[str, Outputs] = {}
    waiting: list[tuple[Lesson, Path]] = []
    for lesson in chosen_lessons:
        earlier = [lessons.read_lesson(path) for path in every if path.stem < lesson.stem]
        path = cache_folder / f"{lesson.stem}-{outputs_key(lesson, earlier, course)}.json"
        if path.is_file():
            outputs[lesson.stem] = json.loads(path.read_bytes())
        else:
            waiting.append((lesson, path))
    if waiting:
        cache_folder.mkdir(parents=True, exist_ok=True)
        _run_lessons(waiting, outputs, log, workers)
    return outputs


def _run_lessons(
    waiting: list[tuple[Lesson, Path]], outputs: dict[str, Outputs], log: Callable[[str], None], workers: int
) -> None:
    """Run lessons in parallel, the longest first. Write the outputs of each finished lesson to the cache.

    Raises:
        BookError: a lesson fails. Lessons that have not started are cancelled.
    """
    order = sorted(waiting, key=lambda each: -sum(len(cell.source) for cell in each[0].cells))
    with ProcessPoolExecutor(max_workers=min(workers, len(order)), mp_context=get_context("spawn")) as pool:
        running = {pool.submit(run_lesson, lesson.path): (lesson, path) for lesson, path in order}
        try:
            for number, future in enumerate(as_completed(running), 1):
                lesson, path = running[future]
                outputs[lesson.stem], seconds = future.result()
                for old in path.parent.glob(f"{lesson.stem}-*.json"):
                    old.unlink(missing_ok=True)
                write_atomically(path, json.dumps(outputs[lesson.stem]))
                log(f"[{number}/{len(order)}] {lesson.stem} ran, {seconds:.0f} s")
        except BookError:
            pool.shutdown(cancel_futures=True)
            raise


def outputs_key(lesson: Lesson, earlier: Iterable[Lesson], course: str) -> str:
    """Return a lesson's cache key: a hash of everything that can change its outputs."""
    own = [cell.source for cell in solved_cells(lesson) if cell.kind == "code"]
    handed_on = [
        cell.source
        for other in earlier
        for cell in other.cells
        if cell.kind == "code" and any(word in cell.source for word in _DEFINES)
    ]
    return hashlib.sha256(json.dumps([course, own, handed_on]).encode()).hexdigest()[:16]


def environment_fingerprint(root: Path = ROOT) -> str:
    """Return a hash of the course's own modules and data, and of the versions of Python and the libraries."""
    digest = hashlib.sha256(platform.python_version().encode())
    for library in _LIBRARIES:
        digest.update(f"{library} {version(library)}".encode())
    for path in sorted((root / "utils").rglob("*")):
        name = path.relative_to(root / "utils").as_posix()
        counts = name.partition("/")[0] not in _NOT_IN_NOTEBOOKS or name in _RUN_LESSONS
        if path.is_file() and counts and path.suffix not in (".pyc", ".js", ".css", ".md"):
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def run_lesson(path: Path) -> tuple[Outputs, float]:
    """Run a lesson with its answers in a new kernel. Return its outputs, and the duration of the run in seconds.

    Raises:
        BookError: a cell failed, or a check did not pass.
    """
    begun = time.monotonic()
    try:
        notebook = execute_lesson(path, store_widget_state=True)
    except SolveError as error:
        raise BookError(str(error)) from None
    saved = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
    outputs = [cell.get("outputs", []) if cell.cell_type == "code" else [] for cell in notebook.cells]
    return {"outputs": outputs, "widgets": _widget_states(saved.get("state", {}))}, time.monotonic() - begun


def _widget_states(saved: dict[str, Any]) -> dict[str, Any]:
    """Return each widget's kind, initial values, state and binary data (in base64).

    The kind is "" if the widget does not belong to the course. The widget's JavaScript module is not stored, because
    the page uses the current one.
    """
    own = {path.stem: read_script(path) for path in SCRIPTS}
    states = {}
    for name, model in saved.items():
        state = model["state"]
        source = state.get("_esm")
        data = [each["data"] for each in model.get("buffers", []) if each["path"] == ["data"]]
        states[name] = {
            "kind": next((kind for kind, text in own.items() if source and source.endswith(text)), ""),
            "start": state.get("start", {}),
            "state": state.get("state", {}),
            "data": "".join(data).strip(),
        }
    return states
