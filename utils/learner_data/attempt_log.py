"""Write and read the log of attempts: a file beside the progress file, with one line of JSON for each attempt.

A line says which exercise was attempted, and what the check found. It contains no code and no time of day. Lines are
only appended. An attempt that would make the file longer than `MAX_BYTES` is not logged. `utils.learner_data.progress`
appends the lines while it holds the lock of the progress file, so two kernels never write at the same time.

Each line begins with a line break, instead of ending with one. If a crash or a full disk cuts off a line, the next line
is still complete, and the writer never has to read the end of the file.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from utils.lessons.files import write_atomically

SUFFIX = ".attempts"
MAX_BYTES = 1_000_000  # about 5,000 attempts; a learner needs a few hundred for the whole course
_encode_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode  # `json.dumps` takes twice as long


def log_path(progress: Path) -> Path:
    """Return the path of the log that belongs to a progress file."""
    return Path(f"{progress}{SUFFIX}")


def append_attempt(progress: Path, attempt: Mapping[str, Any]) -> None:
    """Append an attempt to the log that belongs to a progress file, unless the log is full.

    Print a warning, once per process, if the log cannot be written. Each line gets a random id, so that
    `merge_logs` can recognise a line that both logs contain.
    """
    line = _format_line({"id": os.urandom(8).hex(), **attempt})
    path = f"{progress}{SUFFIX}"  # a string, because creating a Path would take a tenth of this function's time
    try:
        with open(path, "ab", buffering=0) as file:  # an unbuffered file writes the line in one call
            if file.tell() + len(line) <= MAX_BYTES:
                file.write(line)
    except OSError as error:
        _warn_not_logged(path, error.strerror or str(error))


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the objects in the log, in the order in which they were written. Ignore damaged lines.

    The fields are not checked here; `utils.learning.attempts` checks them.
    """
    try:
        with open(path, "rb") as file:
            lines = file.read(MAX_BYTES).splitlines()
    except OSError:
        return []
    return [entry for line in lines if (entry := _parse_line(line)) is not None]


def merge_logs(path: Path, source: Path) -> None:
    """Append the missing attempts from the log `source` to the log `path`, up to `MAX_BYTES`.

    Raises:
        OSError: the log cannot be written.
    """
    mine = read_log(path)
    known = {entry["id"] for entry in mine}
    new = [entry for entry in read_log(source) if entry["id"] not in known]
    if not new:
        return
    content = b""
    for line in map(_format_line, [*mine, *new]):
        if len(content) + len(line) > MAX_BYTES:
            break
        content += line
    write_atomically(path, content)


def _format_line(entry: Mapping[str, Any]) -> bytes:
    return b"\n" + _encode_json(entry).encode()


def _parse_line(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) and isinstance(entry.get("id"), str) else None


@functools.cache
def _warn_not_logged(path: str, why: str) -> None:
    print(f"Your attempts are not logged, because {path} cannot be written: {why}.")
