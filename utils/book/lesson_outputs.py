"""The outputs of the lessons with their answers in, widgets included, kept by what they depend on.

A lesson runs again when its code, what other lessons hand to it, the course's own modules or a library change: not for
a word of prose, and not for what an explorer does in the page, which is no output of a kernel.
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
from utils.explore.widget import build_es_module, read_asset
from utils.instructor.solved_notebooks import SolveError, execute_lesson, solved_cells
from utils.lessons import ROOT, Lesson, write_atomically

EXPLORERS = ROOT / "utils" / "explore"
CACHE_FOLDER = ROOT / "build" / "book-outputs"
# What no notebook imports.
_ASIDE = ("book", "cli", "grading", "instructor")
_LIBRARIES = ("torch", "numpy", "transformers", "tokenizers", "matplotlib", "circuitsvis", "ipykernel", "anywidget")
_DEFINES = ("def ", "class ", "COGINST", "COGLINE", "COGSTUB")

Outputs = dict[str, Any]  # {"outputs": for each solved cell its outputs, "widgets": as `_live` gives them}


class BookError(ValueError):
    """The book cannot be made; the message says of what, and what to do."""


def collect_outputs(
    chosen_lessons: Iterable[Lesson],
    log: Callable[[str], None],
    cache_folder: Path = CACHE_FOLDER,
    workers: int = 2,
) -> dict[str, Outputs]:
    """For each lesson, by its stem, the outputs of its solved run; `said` hears a line about each that had to run.

    Raises:
        BookError: a lesson does not run to its end with its own answers.
    """
    every, course = lessons.all_lessons(), environment_fingerprint()
    found: dict[str, Outputs] = {}
    waiting: list[tuple[Lesson, Path]] = []
    for lesson in chosen_lessons:
        earlier = [lessons.read_lesson(path) for path in every if path.stem < lesson.stem]
        path = cache_folder / f"{lesson.stem}-{outputs_key(lesson, earlier, course)}.json"
        if path.is_file():
            found[lesson.stem] = json.loads(path.read_bytes())
        else:
            waiting.append((lesson, path))
    if waiting:
        cache_folder.mkdir(parents=True, exist_ok=True)
        _run_lessons(waiting, found, log, workers)
    return found


def _run_lessons(
    waiting: list[tuple[Lesson, Path]], found: dict[str, Outputs], said: Callable[[str], None], workers: int
) -> None:
    """Run the lessons beside each other, the longest first, and keep each as soon as it is done."""
    order = sorted(waiting, key=lambda each: -sum(len(cell.source) for cell in each[0].cells))
    with ProcessPoolExecutor(max_workers=min(workers, len(order)), mp_context=get_context("spawn")) as pool:
        running = {pool.submit(run_lesson, lesson.path): (lesson, path) for lesson, path in order}
        try:
            for number, future in enumerate(as_completed(running), 1):
                lesson, path = running[future]
                found[lesson.stem], seconds = future.result()
                for old in path.parent.glob(f"{lesson.stem}-*.json"):
                    old.unlink()
                write_atomically(path, json.dumps(found[lesson.stem]))
                said(f"[{number}/{len(order)}] {lesson.stem} ran, {seconds:.0f} s")
        except BookError:
            pool.shutdown(cancel_futures=True)
            raise


def outputs_key(lesson: Lesson, earlier: Iterable[Lesson], course: str) -> str:
    """A name for everything that the outputs of a lesson follow from."""
    own = [cell.source for cell in solved_cells(lesson) if cell.kind == "code"]
    handed_on = [
        cell.source
        for other in earlier
        for cell in other.cells
        if cell.kind == "code" and any(word in cell.source for word in _DEFINES)
    ]
    return hashlib.sha256(json.dumps([course, own, handed_on]).encode()).hexdigest()[:16]


def environment_fingerprint(root: Path = ROOT) -> str:
    """A name for the course's own modules and data, Python, and the libraries that lessons run on."""
    digest = hashlib.sha256(platform.python_version().encode())
    for library in _LIBRARIES:
        digest.update(f"{library} {version(library)}".encode())
    for path in sorted((root / "utils").rglob("*")):
        room = path.relative_to(root / "utils").parts[0]
        if path.is_file() and room not in _ASIDE and path.suffix not in (".pyc", ".js", ".css", ".md"):
            digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def run_lesson(path: Path) -> tuple[Outputs, float]:
    """Execute a lesson with its answers in a kernel of its own: its outputs, and the seconds that it took.

    Raises:
        BookError: a cell failed, or a check did not pass.
    """
    begun = time.monotonic()
    try:
        notebook = execute_lesson(path, ROOT / "course", store_widget_state=True)
    except SolveError as error:
        raise BookError(str(error)) from None
    saved = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
    outputs = [cell.get("outputs", []) if cell.cell_type == "code" else [] for cell in notebook.cells]
    return {"outputs": outputs, "widgets": _widget_states(saved.get("state", {}))}, time.monotonic() - begun


def _widget_states(saved: dict[str, Any]) -> dict[str, Any]:
    """Of each widget its kind ("" where it is none of ours), what it starts from, its state, and its bytes in base64.

    Its module is not kept: the page takes the one of the day.
    """
    own = {
        path.stem: build_es_module(path.stem).removeprefix(read_asset("page.js"))
        for path in EXPLORERS.glob("*.js")
        if path.stem != "page"
    }
    made = {}
    for name, model in saved.items():
        state = model["state"]
        source = state.get("_esm")
        data = [each["data"] for each in model.get("buffers", []) if each["path"] == ["data"]]
        made[name] = {
            "kind": next((kind for kind, text in own.items() if source and source.endswith(text)), ""),
            "start": state.get("start", {}),
            "state": state.get("state", {}),
            "data": "".join(data).strip(),
        }
    return made
