"""What a learner has passed and answered, kept in one small file on this machine and nowhere else.

The file is `.progress.json` beside the course, or where COURSE_PROGRESS points ("off" keeps nothing). It is replaced
whole, so a crash leaves the old one or the new one. Writers take turns under a lock that the operating system gives
back when a process dies. What cannot be read is set aside, not overwritten.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from utils import lessons
from utils.lessons.files import hold_lock, write_atomically

LOCK_TIMEOUT = 2.0  # seconds; a turn takes milliseconds, so whoever holds it longer hangs
STATES = ("passed", "failed", "todo")
ANSWERS = "answers"  # beside the lessons' names, of which none is this
ProgressTable = dict[str, dict[str, dict[str, Any]]]


def progress_path() -> Path | None:
    """Where progress is kept, or None when it is switched off."""
    place = os.environ.get("COURSE_PROGRESS")
    if place == "off":
        return None
    return Path(place) if place else lessons.ROOT / ".progress.json"


def read_progress() -> ProgressTable:
    """`{lesson: {exercise: {"status", "tries", "when"}}}`; empty when there is nothing, or nothing readable."""
    tables = {lesson: entries for lesson, entries in _load_or_empty().items() if isinstance(entries, dict)}
    return {
        lesson: {name: entry for name, entry in entries.items() if _is_entry(entry)}
        for lesson, entries in tables.items()
        if lesson != ANSWERS
    }


def read_answers() -> dict[str, dict[str, Any]]:
    """`{question: {"kind", "start", "right", "sure", "when"}}` of predictions and quizzes, the oldest first.

    `start` is what the question was made from, so that it can be asked again.
    """
    kept = _load_or_empty().get(ANSWERS)
    answers = kept if isinstance(kept, dict) else {}
    whole = {question: entry for question, entry in answers.items() if _is_answer(entry)}
    return dict(sorted(whole.items(), key=lambda pair: pair[1]["when"]))


def record_attempt(lesson: str, exercise: str, status: str) -> None:
    """Note the outcome of a check. Once passed stays passed. Never fails: progress is not worth an error."""

    def note(kept: dict[str, Any]) -> None:
        entries = _table(kept, lesson)
        if not _is_entry(entries.get(exercise)):
            entries[exercise] = {"status": "todo", "tries": 0, "when": ""}
        entry = entries[exercise]
        entry["tries"] += status != "todo"
        entry["status"] = "passed" if "passed" in (status, entry["status"]) else status
        entry["when"] = _now()

    _update_file(note)


def record_answer(kind: str, start: Mapping[str, Any], right: bool, sure: str) -> None:
    """Note the first answer to a prediction or a quiz, in place of an older one. Never fails."""
    entry = {"kind": kind, "start": dict(start), "right": right, "sure": sure, "when": _now()}
    _update_file(lambda kept: _table(kept, ANSWERS).__setitem__(start["question"], entry))


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _table(kept: dict[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(kept.get(name), dict):
        kept[name] = {}
    return kept[name]


def _load_or_empty() -> dict[str, Any]:
    path = progress_path()
    try:
        return _load(path) if path else {}
    except (OSError, ValueError):
        return {}


def _update_file(change: Callable[[dict[str, Any]], None]) -> None:
    """Read the file, change what it holds, and replace it, alone; a file that cannot be understood is set aside.

    Where it cannot be written, one sentence says so, once.
    """
    path = progress_path()
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _exclusive_access(path):
            try:
                kept = _load(path)
            except ValueError:
                os.replace(path, path.with_name(path.name + ".damaged"))
                kept = {}
            change(kept)
            write_atomically(path, json.dumps(kept, indent=1, sort_keys=True))
    except OSError as error:
        _warn_not_saved(path, error.strerror or str(error))


@functools.cache
def _warn_not_saved(path: Path, why: str) -> None:
    print(f"progress() will not know of this, because {path} cannot be written: {why}.")


@contextlib.contextmanager
def _exclusive_access(path: Path) -> Iterator[None]:
    """Be the only one who writes `path`, or after LOCK_PATIENCE seconds write all the same: one entry is at stake."""

    def write_all_the_same() -> None:
        raise TimeoutError

    with hold_lock(path.with_name(path.name + ".lock"), LOCK_TIMEOUT, write_all_the_same) as alone:
        if alone:
            for unfinished in path.parent.glob(f"{path.name}.*.new"):  # its writer was killed: nobody else writes now
                unfinished.unlink()
        yield


def _load(path: Path) -> dict[str, Any]:
    """What the file holds.

    Raises:
        ValueError: it is damaged.
        OSError: it cannot be read.
    """
    try:
        kept = json.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return {}
    if not isinstance(kept, dict):
        raise ValueError(f"{path} holds no table of lessons")
    return kept


def _is_answer(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("start"), dict)
        and isinstance(entry.get("right"), bool)
        and all(isinstance(entry.get(name), str) for name in ("kind", "sure", "when"))
    )


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or entry.get("status") not in STATES:
        return False
    return isinstance(entry.get("tries"), int) and isinstance(entry.get("when"), str)
