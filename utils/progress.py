"""What a learner has passed, kept in one small file on this machine and nowhere else.

The file is `.progress.json` beside the course, or where COURSE_PROGRESS points ("off" keeps nothing).
Writes go to a new file that replaces the old one, under a lock, so that a crash or a second notebook loses nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Iterator

LOCK_PATIENCE = 2.0  # seconds; a lock that is older was left behind by a crash


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
        kept = json.loads(path.read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def record(lesson: str, exercise: str, status: str) -> None:
    """Note the outcome of a check. Once passed stays passed. Never fails: progress is not worth an error."""
    path = store()
    if path is None:
        return
    with contextlib.suppress(OSError), _locked(path):
        kept = read()
        entry = kept.setdefault(lesson, {}).setdefault(exercise, {"status": "todo", "tries": 0})
        entry["tries"] += status != "todo"
        entry["status"] = "passed" if "passed" in (status, entry["status"]) else status
        entry["when"] = datetime.now(timezone.utc).isoformat(timespec="seconds")
        _replace(path, json.dumps(kept, indent=1, sort_keys=True))


def _replace(path: Path, text: str) -> None:
    """Write the whole new file beside the old one, then put it in its place."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file beside `path`: made exclusively, which every operating system can do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(path.name + ".lock")
    give_up = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            if time.monotonic() > give_up:
                lock.unlink(missing_ok=True)  # left behind by a crash
            time.sleep(0.005)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


class Progress:
    """A table of lessons and exercises with their state; plain text in a terminal, HTML in a notebook."""

    def __init__(self, rows: list[tuple[str, str, str, int]]):
        self.rows = rows

    @property
    def passed(self) -> int:
        return sum(state == "passed" for _, _, state, _ in self.rows)

    def __repr__(self) -> str:
        from utils.report import MARK

        lines = [f"{self.passed} of {len(self.rows)} exercises passed"]
        lesson = None
        for row_lesson, name, state, tries in self.rows:
            if row_lesson != lesson:
                lines.append(row_lesson)
                lesson = row_lesson
            lines.append(f"  {MARK[state]} {name}{_tries(tries)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        from utils.report import ACCENT, MARK

        body, lesson = "", None
        for row_lesson, name, state, tries in self.rows:
            head = "" if row_lesson == lesson else f"<b>{escape(row_lesson)}</b>"
            lesson = row_lesson
            body += (
                f'<tr><td style="text-align:left">{head}</td><td style="text-align:left;color:{ACCENT[state]}">{MARK[state]} {state}</td>'
                f'<td style="text-align:left"><code>{escape(name)}</code>{_tries(tries)}</td></tr>'
            )
        return f"<div>{self.passed} of {len(self.rows)} exercises passed</div><table>{body}</table>"


def _tries(count: int) -> str:
    return f" ({count} {'try' if count == 1 else 'tries'})" if count else ""


def progress() -> Progress:
    """All exercises of the course with what this machine knows of them: passed, failed or still to do."""
    from utils.exercise import all_exercises

    kept = read()
    rows = []
    for exercise in all_exercises().values():
        entry = kept.get(exercise.lesson, {}).get(exercise.name, {})
        rows.append((exercise.lesson, exercise.name, entry.get("status", "todo"), entry.get("tries", 0)))
    return Progress(rows)
