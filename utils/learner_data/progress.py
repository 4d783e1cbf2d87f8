"""Store a learner's progress in one file on this machine only: exercises, questions, reviews and the inventory.

The file is `.progress.json` in the folder that `learner_folder` chooses, or the path in COURSE_PROGRESS ("off" disables
progress). A write replaces the whole file, so a crash leaves either the old file or the new one. Writers hold a lock,
which the operating system releases when a process dies. A damaged file is renamed, not overwritten, and the learner is
told. The log of attempts
(`attempt_log.py`) is a second file, written under the same lock.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from utils import lessons
from utils.learner_data.attempt_log import append_attempt, log_path, merge_logs
from utils.learner_data.folder import belongs_to_user, learner_folder
from utils.learner_data.merging import Merged, is_progress, merge_tables
from utils.learner_data.progress_entries import (
    ANSWERS,
    LAST_ATTEMPT,
    LEARNER,
    OTHER_TABLES,
    REVIEWS,
    SITTINGS,
    get_seed,
    is_answer,
    is_entry,
    is_sitting,
    open_table,
)
from utils.lessons.files import hold_lock, write_atomically

LOCK_TIMEOUT = 2.0  # seconds; a write takes milliseconds, so a process that holds the lock for longer must be stuck
LONGEST_WRITE = 60  # seconds; on a busy machine with a slow disk, a write without the lock may take this long
NAME = ".progress.json"
LONGEST_PAUSE = 60  # minutes; after a longer pause, the log does not say how long the learner was away
ProgressTable = dict[str, dict[str, dict[str, Any]]]


def progress_path() -> Path | None:
    """Return the path of the progress file, or None if progress is disabled.

    Raises:
        OSError: the user has no home folder, and the notebooks are not in a folder of the user.
    """
    setting = os.environ.get("COURSE_PROGRESS")
    if setting == "off":
        return None
    if setting:
        return Path(setting)
    path = learner_folder() / NAME
    _migrate_old_files(path)
    return path


def sentence_path() -> Path | None:
    """Return the path of the file with the learner's own example sentence, or None if progress is disabled."""
    path = progress_path()
    return path and path.with_name(f"{path.name}.sentence")


def read_progress() -> ProgressTable:
    """Return `{lesson: {exercise: {"status", "tries", "when", "answer"}}}`; empty if there is no readable file."""
    tables = {lesson: entries for lesson, entries in _load_or_empty().items() if isinstance(entries, dict)}
    return {
        lesson: {name: entry for name, entry in entries.items() if is_entry(entry)}
        for lesson, entries in tables.items()
        if lesson not in (LEARNER, *OTHER_TABLES)
    }


def read_answers() -> dict[str, dict[str, Any]]:
    """Return `{question: {"kind", "start", "right", "sure", "when"}}` of predictions and quizzes, oldest first.

    `start` contains the arguments that created the question, so that the question can be repeated. `right`, `sure` and
    `when` belong to the first answer. If the question was answered again in its lesson, `last` has these entries of the
    last answer.
    """
    return dict(sorted(_valid_entries(ANSWERS).items(), key=lambda pair: pair[1]["when"]))


def read_reviews() -> dict[str, dict[str, Any]]:
    """Return `{question: {"stability", "difficulty", "due", "when"}}`, the schedule of questions to ask again."""
    return _valid_entries(REVIEWS)


def read_sittings() -> dict[int, dict[str, Any]]:
    """Return `{sitting: {"seed", "done", "when", "items"}}` for all sittings of the concept inventory, complete or not.

    `items` has one entry for each answered or skipped item: `{"form", "sitting", "item", "choice", "minutes"}`.
    """
    return {int(name): entry for name, entry in _valid_entries(SITTINGS).items() if name in ("1", "2", "3")}


def _valid_entries(table: str) -> dict[str, dict[str, Any]]:
    entries = _load_or_empty().get(table)
    is_valid = OTHER_TABLES[table]
    return {name: entry for name, entry in entries.items() if is_valid(entry)} if isinstance(entries, dict) else {}


def record_attempt(
    lesson: str, exercise: str, status: str, answer: str = "", findings: Mapping[str, str] | None = None
) -> None:
    """Record the outcome of a check. A passed exercise stays passed. This function raises no exception.

    A check counts as a try if the exercise has not been passed and the answer has changed since the last check. Only a
    try changes the time of the exercise, and each try is also added to the log of attempts.

    Args:
        lesson, exercise: the names of the lesson and the exercise.
        status: a status of a report; "todo" is not a try.
        answer: a text that identifies the answer. Only its checksum is stored. Without this text, every check counts.
        findings: further fields of the log, such as the reason. Without them, the attempt is not logged.
    """
    checksum = f"{zlib.crc32(answer.encode(errors='replace')):08x}"

    def update(content: dict[str, Any]) -> dict[str, Any] | None:
        entries = open_table(content, lesson)
        if not is_entry(entries.get(exercise)):
            entries[exercise] = {"status": "todo", "tries": 0, "when": ""}
        entry = entries[exercise]
        is_new = entry["status"] != "passed" and (not answer or entry.get("answer") != checksum)
        is_attempt = is_new and status != "todo"
        entry["tries"] += is_attempt
        entry["answer"] = checksum
        entry["status"] = "passed" if "passed" in (status, entry["status"]) else status
        if is_attempt:
            entry["when"] = _now()
        if not is_attempt or findings is None:
            return None
        minutes = _minutes_between(content.get(LAST_ATTEMPT), entry["when"])
        content[LAST_ATTEMPT] = entry["when"]
        attempt = {"lesson": lesson, "exercise": exercise, "status": status, **findings}
        return {**attempt, "attempt": entry["tries"], "minutes": minutes}

    _update_file(update)


def record_answer(kind: str, start: Mapping[str, Any], right: bool, sure: str) -> None:
    """Record the answer to a prediction or a quiz. Never raises.

    The first answer to a question stays. A later answer is added under "last"; it only changes when the question is
    asked again.

    Args:
        kind: the kind of question, such as "predictions".
        start: the arguments that created the question, including its text under "question".
        right: whether the answer was correct.
        sure: the confidence that the learner stated, such as "certain", or "".
    """
    answer = {"right": right, "sure": sure, "when": _now()}

    def update(content: dict[str, Any]) -> None:
        answers, question = open_table(content, ANSWERS), start["question"]
        entry = {"kind": kind, "start": dict(start)}
        first = answers.get(question, {})
        answers[question] = {**first, **entry, "last": answer} if is_answer(first) else {**entry, **answer}

    _update_file(update)


def stored_seed(new_seed: str) -> str | None:
    """Return the learner's seed. If the file contains no seed, store `new_seed` first.

    Return None if progress is disabled or the file cannot be written. Without a stored seed, every call would return a
    different seed.
    """
    seed = get_seed(_load_or_empty())
    if seed is None:
        _update_file(lambda content: _keep_or_set_seed(content, new_seed))
        seed = get_seed(_load_or_empty())
    return seed


def _keep_or_set_seed(content: dict[str, Any], new_seed: str) -> None:
    if get_seed(content) is None:  # another process may have stored a seed
        open_table(content, LEARNER)["seed"] = new_seed


def record_review(question: str, schedule: Mapping[str, Any]) -> None:
    """Record when a question is due next; see `read_reviews`. Never raises."""
    _update_file(lambda content: open_table(content, REVIEWS).__setitem__(question, dict(schedule)))


def record_sitting(sitting: int, entry: Mapping[str, Any]) -> None:
    """Record a sitting of the inventory; see `read_sittings`. A complete sitting never changes. Never raises."""

    def update(content: dict[str, Any]) -> None:
        sittings = open_table(content, SITTINGS)
        earlier = sittings.get(str(sitting), {})
        if not (is_sitting(earlier) and earlier["done"]):
            sittings[str(sitting)] = dict(entry)

    _update_file(update)


def merge_progress(source: Path, transfer: Collection[str] = ()) -> Merged:
    """Add the content of another progress file to this one.

    An exercise counts as passed if either file says so. Merging a file with the same entries changes nothing. If the
    other file has a log of attempts, its attempts are added to this learner's log.

    Args:
        source: the other file.
        transfer: the names of all transfer exercises. If only the other file has passed one of them, its seed replaces
            this learner's seed; see `merge_tables`.

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
        other = None
    if other is None or not is_progress(other):
        raise ValueError(f"{source} is damaged or not a progress file. The name of such a file is {NAME}.")
    before, seeds = _count_passed(), [get_seed(_load_or_empty()), get_seed(other)]
    _replace_content(path, lambda content: merge_tables(content, other, transfer))
    with _exclusive_access(path):
        merge_logs(log_path(path), log_path(source))
    return Merged(_count_passed() - before, *seeds)


def _count_passed() -> int:
    return sum(entry["status"] == "passed" for entries in read_progress().values() for entry in entries.values())


@functools.cache
def _migrate_old_files(path: Path) -> None:
    """Move this user's progress file and example sentence out of the folder that older versions of the course used."""
    old = lessons.ROOT / NAME
    sentence = old.with_name(f"{NAME}.sentence")
    with contextlib.suppress(OSError, ValueError):
        if belongs_to_user(old):
            content = _load(old)
            _replace_content(path, lambda mine: merge_tables(mine, content))
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
    except (TypeError, ValueError):  # the earlier time is missing or was edited
        return None
    minutes = round(pause.total_seconds() / 60, 1)
    return minutes if 0 <= minutes <= LONGEST_PAUSE else None


def _load_or_empty() -> dict[str, Any]:
    """Return the content of the file; empty if it cannot be read. If it is damaged, say so."""
    path = None
    try:
        path = progress_path()
        return _load(path) if path else {}
    except OSError:
        return {}
    except ValueError:
        if path:
            _warn_damaged(path, _backup_path(path))
        return {}


def _update_file(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Apply `change` to the content of the file. Print a warning, once per process, if the file cannot be written."""
    place = NAME
    try:
        if path := progress_path():
            place = str(path)
            _replace_content(path, change)
    except OSError as error:
        _warn_not_saved(place, error.strerror or str(error))


def _replace_content(path: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Read the file, apply `change`, and replace the file. Rename a damaged file.

    This function holds the file's lock while it works, if possible. If `change` returns an attempt, add the attempt to
    the log. The attempt stays in the log even if the file cannot be written afterwards.

    Raises:
        OSError: the file cannot be read or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _exclusive_access(path):
        try:
            content = _load(path)
        except ValueError:
            backup = _backup_path(path)
            _warn_damaged(path, backup)
            os.replace(path, backup)
            content = {}
        attempt = change(content)
        text = json.dumps(content, sort_keys=True)  # with `indent`, json is slow
        if attempt:
            append_attempt(path, attempt)  # first, because appending is slower after the file is written
        write_atomically(path, text)


@functools.cache
def _warn_not_saved(path: str, why: str) -> None:
    print(f"Your progress is not saved, because {path} cannot be written: {why}.")


def _backup_path(path: Path) -> Path:
    """Return the path to which a damaged file is renamed. Earlier damaged files stay."""
    names = (f"{path.name}.damaged{f'-{n}' if n > 1 else ''}" for n in itertools.count(1))
    return next(backup for name in names if not (backup := path.with_name(name)).exists())


@functools.cache
def _warn_damaged(path: Path, backup: Path) -> None:
    print(
        f"Your progress cannot be read, because {path} is damaged: the course keeps this file as {backup.name} and"
        " starts a new one. If you have a copy, add it with `coginst progress merge COPY`."
    )


@contextlib.contextmanager
def _exclusive_access(path: Path) -> Iterator[None]:
    """Hold the lock of `path`.

    If it is not free within LOCK_TIMEOUT seconds, continue without it. One entry may then be lost.
    """

    def continue_without_lock() -> None:
        raise TimeoutError

    with hold_lock(path.with_name(path.name + ".lock"), LOCK_TIMEOUT, continue_without_lock) as has_lock:
        if has_lock:
            _delete_unfinished(path)
        yield


def _delete_unfinished(path: Path) -> None:
    """Delete files that were left by processes that were killed while writing.

    A young file may belong to another process, which writes without the lock.
    """
    for unfinished in path.parent.glob(f"{path.name}.*.new"):
        with contextlib.suppress(FileNotFoundError):  # the other process has just finished this file
            if time.time() - unfinished.stat().st_mtime > LONGEST_WRITE:
                unfinished.unlink()


def _load(path: Path) -> dict[str, Any]:
    """Return the content of the file; empty if there is no file.

    Raises:
        ValueError: the file is damaged.
        OSError: the file cannot be read.
    """
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except RecursionError:
        raise ValueError(f"{path} contains tables nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} contains no table of lessons")
    return content
