"""A learner's progress: passed exercises and answered questions, stored in one small file on this machine only.

The file is `.progress.json` in the folder that `learner_folder` chooses, or the path in COURSE_PROGRESS ("off" disables
progress). A write replaces the whole file, so a crash leaves either the old file or the new one. Writers hold a lock,
which the operating system releases when a process dies. A damaged file is renamed, not overwritten. The log of attempts
(`attempt_log.py`) is a second file, written under the same lock.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from utils import lessons
from utils.feedback.attempt_log import append_attempt, log_path, merge_logs
from utils.feedback.learner_data import belongs_to_user, learner_folder
from utils.lessons.files import hold_lock, write_atomically

LOCK_TIMEOUT = 2.0  # seconds; a write takes milliseconds, so a process that holds the lock for longer must be stuck
STATES = ("passed", "failed", "todo")
NAME = ".progress.json"
ANSWERS = "answers"  # a key beside the names of the lessons; no lesson has this name
INVENTORY = "inventory"  # the key of the list of answers to the concept inventory
LAST_ATTEMPT = "last_attempt"  # the key of the time of the last attempt; the log contains only minutes between attempts
LONGEST_PAUSE = 60  # minutes; after a longer pause, the log does not say how long the learner was away
ProgressTable = dict[str, dict[str, dict[str, Any]]]


def progress_path() -> Path | None:
    """Return the path of the progress file, or None if progress is disabled."""
    setting = os.environ.get("COURSE_PROGRESS")
    if setting == "off":
        return None
    if setting:
        return Path(setting)
    path = learner_folder() / NAME
    _migrate_old_files(path)
    return path


def sentence_path() -> Path | None:
    """Return the path of the learner's sentence, or None if progress is disabled."""
    path = progress_path()
    return path and path.with_name(f"{path.name}.sentence")


def read_progress() -> ProgressTable:
    """Return `{lesson: {exercise: {"status", "tries", "when", "answer"}}}`; empty if there is no readable file."""
    tables = {lesson: entries for lesson, entries in _load_or_empty().items() if isinstance(entries, dict)}
    return {
        lesson: {name: entry for name, entry in entries.items() if _is_entry(entry)}
        for lesson, entries in tables.items()
        if lesson != ANSWERS
    }


def read_inventory() -> list[Any]:
    """Return the stored answers to the concept inventory, one for each item of each completed sitting."""
    entries = _load_or_empty().get(INVENTORY)
    return entries if isinstance(entries, list) else []


def read_answers() -> dict[str, dict[str, Any]]:
    """Return `{question: {"kind", "start", "right", "sure", "when"}}` of predictions and quizzes, the oldest first.

    `start` contains the arguments that created the question, so that it can be repeated.
    """
    table = _load_or_empty().get(ANSWERS)
    answers = table if isinstance(table, dict) else {}
    valid = {question: entry for question, entry in answers.items() if _is_answer(entry)}
    return dict(sorted(valid.items(), key=lambda pair: pair[1]["when"]))


def record_attempt(
    lesson: str, exercise: str, status: str, answer: str = "", findings: Mapping[str, str] | None = None
) -> None:
    """Record the outcome of a check. A passed exercise stays passed. Never raises, so it cannot break a check.

    A check counts as a try if the exercise has not been passed and the answer has changed since the last check. A try
    is also an attempt, which is added to the log.

    Args:
        lesson, exercise: the names of the lesson and the exercise.
        status: a status of a report; "todo" is not a try.
        answer: a text that identifies the answer. Only its checksum is stored. Without this text, every check counts.
        findings: further fields of the log, such as the reason. Without them, the attempt is not logged.
    """
    checksum = f"{zlib.crc32(answer.encode(errors='replace')):08x}"

    def update(content: dict[str, Any]) -> dict[str, Any] | None:
        entries = _table(content, lesson)
        if not _is_entry(entries.get(exercise)):
            entries[exercise] = {"status": "todo", "tries": 0, "when": ""}
        entry = entries[exercise]
        is_new = entry["status"] != "passed" and (not answer or entry.get("answer") != checksum)
        is_attempt = is_new and status != "todo"
        entry["tries"] += is_attempt
        entry["answer"] = checksum
        entry["status"] = "passed" if "passed" in (status, entry["status"]) else status
        entry["when"] = _now()
        if not is_attempt or findings is None:
            return None
        minutes = _minutes_between(content.get(LAST_ATTEMPT), entry["when"])
        content[LAST_ATTEMPT] = entry["when"]
        attempt = {"lesson": lesson, "exercise": exercise, "status": status, **findings}
        return {**attempt, "attempt": entry["tries"], "minutes": minutes}

    _update_file(update)


def record_answer(kind: str, start: Mapping[str, Any], right: bool, sure: str) -> None:
    """Record the answer to a prediction or a quiz. It replaces an earlier answer to the same question. Never raises.

    Args:
        kind: the kind of question, such as "predictions".
        start: the arguments that created the question, including its text under "question".
        right: whether the answer was correct.
        sure: how sure the learner was.
    """
    entry = {"kind": kind, "start": dict(start), "right": right, "sure": sure, "when": _now()}
    _update_file(lambda content: _table(content, ANSWERS).__setitem__(start["question"], entry))


def merge_progress(source: Path) -> int:
    """Add the content of another progress file to this one. Return how many exercises are passed that were not before.

    An exercise is passed if either file says so. A merge of files with the same entries changes nothing. If a log of
    attempts is beside the other file, its attempts are added to the log here.

    Raises:
        ValueError: `source` is damaged, or progress is disabled.
        OSError: a file cannot be read or written.
    """
    path = progress_path()
    if path is None:
        raise ValueError("Progress is disabled, because COURSE_PROGRESS is off. Remove this variable.")
    if not source.is_file():
        raise ValueError(f"There is no file {source}. Name a progress file: its name is usually {NAME}.")
    try:
        other = _load(source)
    except ValueError:
        raise ValueError(f"{source} is damaged or not a progress file. The name of such a file is {NAME}.") from None
    before = _count_passed()
    _replace_content(path, lambda content: _merge_tables(content, other))
    with _exclusive_access(path):
        merge_logs(log_path(path), log_path(source))
    return _count_passed() - before


def _count_passed() -> int:
    return sum(entry["status"] == "passed" for entries in read_progress().values() for entry in entries.values())


def _merge_tables(content: dict[str, Any], other: dict[str, Any]) -> None:
    """Add the tables of `other` to `content`. Of two entries with the same name, the later one wins."""
    times = [each[LAST_ATTEMPT] for each in (content, other) if isinstance(each.get(LAST_ATTEMPT), str)]
    if times:
        content[LAST_ATTEMPT] = max(times)
    for table, theirs in other.items():
        if not isinstance(theirs, dict):
            content.setdefault(table, theirs)
            continue
        mine = _table(content, table)
        for name, entry in theirs.items():
            is_valid = _is_answer if table == ANSWERS else _is_entry
            both = [each for each in (mine.get(name), entry) if isinstance(each, dict) and is_valid(each)]
            mine[name] = dict(max(both, key=lambda each: each["when"])) if both else mine.get(name, entry)
            if both and table != ANSWERS:
                mine[name]["status"] = min((each["status"] for each in both), key=STATES.index)
                mine[name]["tries"] = max(each["tries"] for each in both)


@functools.cache
def _migrate_old_files(path: Path) -> None:
    """Move progress and the sentence from the folder where older versions stored them, if they belong to this user."""
    old = lessons.ROOT / NAME
    sentence = old.with_name(f"{NAME}.sentence")
    with contextlib.suppress(OSError, ValueError):
        if belongs_to_user(old):
            content = _load(old)
            _replace_content(path, lambda mine: _merge_tables(mine, content))
            old.unlink()
            old.with_name(f"{NAME}.lock").unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        new = path.with_name(sentence.name)
        if belongs_to_user(sentence) and not new.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(new, sentence.read_bytes())
            sentence.unlink()


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _minutes_between(earlier: object, later: str) -> float | None:
    """Return the minutes between two times. Return None if there is no earlier time, or the pause is too long."""
    try:
        pause = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):  # there is no earlier time, or it was edited
        return None
    minutes = round(pause.total_seconds() / 60, 1)
    return minutes if 0 <= minutes <= LONGEST_PAUSE else None


def _table(content: dict[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(content.get(name), dict):
        content[name] = {}
    return content[name]


def _load_or_empty() -> dict[str, Any]:
    path = progress_path()
    try:
        return _load(path) if path else {}
    except (OSError, ValueError):
        return {}


def _update_file(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Apply `change` to the content of the file. Print a warning, once per process, if it cannot be written."""
    path = progress_path()
    if path is None:
        return
    try:
        _replace_content(path, change)
    except OSError as error:
        _warn_not_saved(path, error.strerror or str(error))


def _replace_content(path: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Read the file, apply `change`, and replace the file, while holding its lock if possible. Rename a damaged file.

    If `change` returns an attempt, add the attempt to the log.

    Raises:
        OSError: the file cannot be read or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _exclusive_access(path):
        try:
            content = _load(path)
        except ValueError:
            os.replace(path, path.with_name(path.name + ".damaged"))
            content = {}
        attempt = change(content)
        write_atomically(path, json.dumps(content, sort_keys=True))  # with `indent`, json is slow
        if attempt:
            append_attempt(log_path(path), attempt)


@functools.cache
def _warn_not_saved(path: Path, why: str) -> None:
    print(f"Your progress is not saved, because {path} cannot be written: {why}.")


@contextlib.contextmanager
def _exclusive_access(path: Path) -> Iterator[None]:
    """Hold the lock of `path`. After LOCK_TIMEOUT seconds, continue without it; at most one entry can then be lost."""

    def continue_without_lock() -> None:
        raise TimeoutError

    with hold_lock(path.with_name(path.name + ".lock"), LOCK_TIMEOUT, continue_without_lock) as has_lock:
        if has_lock:
            for unfinished in path.parent.glob(f"{path.name}.*.new"):  # left by a process that was killed while writing
                unfinished.unlink()
        yield


def _load(path: Path) -> dict[str, Any]:
    """Return the content of the file; empty if there is no file.

    Raises:
        ValueError: the file is damaged.
        OSError: the file cannot be read.
    """
    try:
        content = json.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return {}
    if not isinstance(content, dict):
        raise ValueError(f"{path} contains no table of lessons")
    return content


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
