"""What a learner has passed, kept in one small file on this machine and nowhere else.

The file is `.progress.json` beside the course, or where COURSE_PROGRESS points ("off" keeps nothing). It is written whole
beside the old one, which it then replaces, so a crash leaves one or the other. Writers take turns under a lock on the folder
that the operating system gives back when a process dies. What cannot be read is set aside, not overwritten.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Iterator

if TYPE_CHECKING:
    from utils.home import Home

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

LOCK_PATIENCE = 2.0  # seconds; a turn takes milliseconds, so whoever holds it longer hangs or is gone
_LEFT_BEHIND = 60.0  # seconds; an unfinished file that is older belongs to a crash
_STATES = ("passed", "failed", "todo")


def store() -> Path | None:
    """Where progress is kept, or None when it is switched off."""
    place = os.environ.get("COURSE_PROGRESS")
    if place == "off":
        return None
    return Path(place) if place else Path(__file__).resolve().parent.parent / ".progress.json"


def read() -> dict[str, dict[str, dict]]:
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
    with contextlib.suppress(OSError), _turn(path):
        try:
            kept = _read(path)
        except ValueError:
            os.replace(path, path.with_name(path.name + ".damaged"))
            kept = {}
        entry = kept.setdefault(lesson, {}).setdefault(exercise, {"status": "todo", "tries": 0, "when": ""})
        entry["tries"] += status != "todo"
        entry["status"] = "passed" if "passed" in (status, entry["status"]) else status
        entry["when"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
        _replace(path, json.dumps(kept, indent=1, sort_keys=True))


def _read(path: Path) -> dict[str, dict[str, dict]]:
    """What the file holds, without entries that are none. Raises ValueError when it is damaged, OSError when it cannot be read."""
    try:
        kept = json.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return {}
    if not isinstance(kept, dict):
        raise ValueError(f"{path} holds no table of lessons")
    lessons = {lesson: entries for lesson, entries in kept.items() if isinstance(entries, dict)}
    return {lesson: {name: entry for name, entry in entries.items() if _is_entry(entry)} for lesson, entries in lessons.items()}


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict) and entry.get("status") in _STATES
        and isinstance(entry.get("tries"), int) and isinstance(entry.get("when"), str)
    )


def _replace(path: Path, text: str) -> None:
    """Write the whole new file beside the old one, then put it in its place."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".", suffix=".new")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())  # else a power cut may leave the new name on an empty file
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise


@contextlib.contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Be the only one who writes `path`, or after LOCK_PATIENCE seconds write all the same: one entry is at stake, not the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    give_up = time.monotonic() + LOCK_PATIENCE
    with contextlib.ExitStack() as held:
        try:
            _lock_folder(path.parent, give_up, held)
        except OSError:  # no such lock on this system, or on this disk
            _lock_file(path.with_name(path.name + ".lock"), give_up, held)
        for old in path.parent.glob(f"{path.name}.*.new"):
            with contextlib.suppress(OSError):
                if time.time() - old.stat().st_mtime > _LEFT_BEHIND:
                    old.unlink()
        yield


def _lock_folder(folder: Path, give_up: float, held: contextlib.ExitStack) -> None:
    """Lock the folder itself: no file is left over, and a process that dies gives it back. Raises OSError where that cannot be done."""
    if fcntl is None:
        raise OSError("this system locks no folders")
    handle = os.open(folder, os.O_RDONLY)
    held.callback(os.close, handle)
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up:
                return
            time.sleep(0.005)


def _lock_file(lock: Path, give_up: float, held: contextlib.ExitStack) -> None:
    """Make the file `lock`, which only one can; one that has stood for longer than LOCK_PATIENCE was left behind by a crash."""
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            held.callback(lock.unlink, missing_ok=True)
            return
        except (FileExistsError, PermissionError):  # the latter on Windows, while another removes it
            with contextlib.suppress(OSError):
                if time.time() - lock.stat().st_mtime > LOCK_PATIENCE:
                    lock.unlink()
                    continue
            if time.monotonic() > give_up:
                return
            time.sleep(0.005)


def progress() -> "Home":
    """All lessons and exercises with what this machine knows of them, and a link to where to go on."""
    from utils.home import home

    return home()
