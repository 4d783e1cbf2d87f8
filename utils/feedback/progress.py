"""What a learner has passed, kept in one small file on this machine and nowhere else.

The file is `.progress.json` beside the course, or where COURSE_PROGRESS points ("off" keeps nothing). It is replaced
whole, so a crash leaves the old one or the new one. Writers take turns under a lock that the operating system gives
back when a process dies. What cannot be read is set aside, not overwritten.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from utils import lessons
from utils.lessons.files import write_atomically

LOCK_PATIENCE = 2.0  # seconds; a turn takes milliseconds, so whoever holds it longer hangs
STATES = ("passed", "failed", "todo")
Kept = dict[str, dict[str, dict[str, Any]]]


def store() -> Path | None:
    """Where progress is kept, or None when it is switched off."""
    place = os.environ.get("COURSE_PROGRESS")
    if place == "off":
        return None
    return Path(place) if place else lessons.ROOT / ".progress.json"


def read() -> Kept:
    """`{lesson: {exercise: {"status", "tries", "when"}}}`; empty when there is nothing, or nothing readable."""
    path = store()
    try:
        return _read(path) if path else {}
    except (OSError, ValueError):
        return {}


def record(lesson: str, exercise: str, status: str) -> None:
    """Note the outcome of a check. Once passed stays passed. Never fails: progress is not worth an error."""
    path = store()
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            try:
                kept = _read(path)
            except ValueError:
                os.replace(path, path.with_name(path.name + ".damaged"))
                kept = {}
            entry = kept.setdefault(lesson, {}).setdefault(exercise, {"status": "todo", "tries": 0, "when": ""})
            entry["tries"] += status != "todo"
            entry["status"] = "passed" if "passed" in (status, entry["status"]) else status
            entry["when"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
            write_atomically(path, json.dumps(kept, indent=1, sort_keys=True))


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Be the only one who writes `path`, or after LOCK_PATIENCE seconds write all the same: one entry is at stake."""
    from filelock import FileLock, Timeout  # not before there is something to write: `check` is to be imported fast

    with contextlib.ExitStack() as held:
        with contextlib.suppress(Timeout, OSError, NotImplementedError):  # the last two: a disk that knows no locks
            held.enter_context(FileLock(path.with_name(path.name + ".lock"), timeout=LOCK_PATIENCE))
            for unfinished in path.parent.glob(f"{path.name}.*.new"):  # its writer was killed: nobody else writes now
                unfinished.unlink()
        yield


def _read(path: Path) -> Kept:
    """What the file holds, without entries that are none.

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
    tables = {lesson: entries for lesson, entries in kept.items() if isinstance(entries, dict)}
    return {
        lesson: {name: entry for name, entry in entries.items() if _is_entry(entry)}
        for lesson, entries in tables.items()
    }


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or entry.get("status") not in STATES:
        return False
    return isinstance(entry.get("tries"), int) and isinstance(entry.get("when"), str)
