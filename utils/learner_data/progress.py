"""Store a learner's progress in one file on this machine only: exercises, questions, reviews and the inventory.

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
from utils.learner_data.attempt_log import append_attempt, log_path, merge_logs
from utils.learner_data.folder import belongs_to_user, learner_folder
from utils.learner_data.progress_entries import STATES, is_answer, is_entry, is_review, is_sitting
from utils.lessons.files import hold_lock, write_atomically

LOCK_TIMEOUT = 2.0  # seconds; a write takes milliseconds, so a process that holds the lock for longer must be stuck
NAME = ".progress.json"
# Keys of the file that are not names of lessons. LAST_ATTEMPT is the key of the last attempt's time. The log does not
# contain this time: it contains only the minutes between attempts.
ANSWERS, REVIEWS, SITTINGS, LEARNER, LAST_ATTEMPT = "answers", "reviews", "inventory", "learner", "last_attempt"
_OTHER_TABLES = {ANSWERS: is_answer, REVIEWS: is_review, SITTINGS: is_sitting}  # functions that recognise a valid entry
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
        if lesson not in (LEARNER, *_OTHER_TABLES)
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
    is_valid = _OTHER_TABLES[table]
    return {name: entry for name, entry in entries.items() if is_valid(entry)} if isinstance(entries, dict) else {}


def record_attempt(
    lesson: str, exercise: str, status: str, answer: str = "", findings: Mapping[str, str] | None = None
) -> None:
    """Record the outcome of a check. A passed exercise stays passed. This function raises no exception.

    A check counts as a try if the exercise has not been passed and the answer has changed since the last check. Each
    try is also added to the log of attempts.

    Args:
        lesson, exercise: the names of the lesson and the exercise.
        status: a status of a report; "todo" is not a try.
        answer: a text that identifies the answer. Only its checksum is stored. Without this text, every check counts.
        findings: further fields of the log, such as the reason. Without them, the attempt is not logged.
    """
    checksum = f"{zlib.crc32(answer.encode(errors='replace')):08x}"

    def update(content: dict[str, Any]) -> dict[str, Any] | None:
        entries = _table(content, lesson)
        if not is_entry(entries.get(exercise)):
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
        answers, question = _table(content, ANSWERS), start["question"]
        entry = {"kind": kind, "start": dict(start)}
        first = answers.get(question)
        answers[question] = {**first, **entry, "last": answer} if is_answer(first) else {**entry, **answer}

    _update_file(update)


def stored_seed(new_seed: str) -> str | None:
    """Return the learner's seed. If the file contains no seed, store `new_seed` first.

    Return None if progress is disabled or the file cannot be written. Without a stored seed, every call would return a
    different seed.
    """
    seed = _read_seed()
    if seed is None:
        _update_file(lambda content: _keep_or_set_seed(content, new_seed))
        seed = _read_seed()
    return seed


def _keep_or_set_seed(content: dict[str, Any], new_seed: str) -> None:
    if not _is_seed(_table(content, LEARNER).get("seed")):  # another process may have stored a seed
        content[LEARNER]["seed"] = new_seed


def _read_seed() -> str | None:
    table = _load_or_empty().get(LEARNER)
    seed = table.get("seed") if isinstance(table, dict) else None
    return seed if _is_seed(seed) else None


def _is_seed(value: object) -> bool:
    return isinstance(value, str) and len(value) == 6 and value.isascii() and value.isalnum() and value.isupper()


def record_review(question: str, schedule: Mapping[str, Any]) -> None:
    """Record when a question is due next; see `read_reviews`. Never raises."""
    _update_file(lambda content: _table(content, REVIEWS).__setitem__(question, dict(schedule)))


def record_sitting(sitting: int, entry: Mapping[str, Any]) -> None:
    """Record a sitting of the inventory; see `read_sittings`. A complete sitting never changes. Never raises."""

    def update(content: dict[str, Any]) -> None:
        sittings = _table(content, SITTINGS)
        earlier = sittings.get(str(sitting), {})
        if not (is_sitting(earlier) and earlier["done"]):
            sittings[str(sitting)] = dict(entry)

    _update_file(update)


def merge_progress(source: Path) -> int:
    """Add the content of another progress file to this one. Return the number of newly passed exercises.

    An exercise counts as passed if either file says so. Merging a file with the same entries changes nothing. If the
    other file has a log of attempts, its attempts are added to this learner's log.

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
    if other is None or not _is_progress(other):
        raise ValueError(f"{source} is damaged or not a progress file. The name of such a file is {NAME}.")
    before = _count_passed()
    _replace_content(path, lambda content: _merge_tables(content, other))
    with _exclusive_access(path):
        merge_logs(log_path(path), log_path(source))
    return _count_passed() - before


def _is_progress(content: dict[str, Any]) -> bool:
    """Tell whether a file is empty, or contains a table of a progress file or the entry of an exercise."""
    tables = {name: table for name, table in content.items() if isinstance(table, dict)}
    has_entry = any(is_entry(entry) for table in tables.values() for entry in table.values())
    return not content or has_entry or LAST_ATTEMPT in content or bool(tables.keys() & {LEARNER, *_OTHER_TABLES})


def _count_passed() -> int:
    return sum(entry["status"] == "passed" for entries in read_progress().values() for entry in entries.values())


def _merge_tables(content: dict[str, Any], other: dict[str, Any]) -> None:
    """Add the tables of `other` to `content`. Of two entries with the same name, the later entry wins.

    For a sitting of the inventory, a complete record wins over an incomplete record. If both records are complete, the
    earlier record wins, because the later record repeats it. Of two answers to a question, the earlier is the first
    answer, and the later is the last.
    """
    times = [each[LAST_ATTEMPT] for each in (content, other) if isinstance(each.get(LAST_ATTEMPT), str)]
    if times:
        content[LAST_ATTEMPT] = max(times)
    for table, theirs in other.items():
        if not isinstance(theirs, dict):
            content.setdefault(table, theirs)
            continue
        mine = _table(content, table)
        for name, entry in theirs.items():
            is_valid = _OTHER_TABLES.get(table, is_entry)
            both = [each for each in (mine.get(name), entry) if isinstance(each, dict) and is_valid(each)]
            complete = [each for each in both if table == SITTINGS and each["done"]]
            if complete:
                mine[name] = dict(min(complete, key=lambda each: each["when"]))
                continue
            if table == ANSWERS and both:
                mine[name] = _merge_answers(both)
                continue
            mine[name] = dict(max(both, key=lambda each: each["when"])) if both else mine.get(name, entry)
            if both and table not in _OTHER_TABLES:
                mine[name]["status"] = min((each["status"] for each in both), key=STATES.index)
                mine[name]["tries"] = max(each["tries"] for each in both)


def _merge_answers(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Combine the records of one question: keep the first answer, and add the last answer if there are several."""
    first = min(entries, key=lambda each: each["when"])
    answers = [{name: each[name] for name in ("right", "sure", "when")} for each in entries]
    last = max((*answers, *(each["last"] for each in entries if "last" in each)), key=lambda each: each["when"])
    return dict(first) if last["when"] == first["when"] else {**first, "last": last}


@functools.cache
def _migrate_old_files(path: Path) -> None:
    """Move this user's progress file and example sentence out of the folder that older versions of the course used."""
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
    except (TypeError, ValueError):  # the earlier time is missing or was edited
        return None
    minutes = round(pause.total_seconds() / 60, 1)
    return minutes if 0 <= minutes <= LONGEST_PAUSE else None


def _table(content: dict[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(content.get(name), dict):
        content[name] = {}
    return content[name]


def _load_or_empty() -> dict[str, Any]:
    try:
        path = progress_path()
        return _load(path) if path else {}
    except (OSError, ValueError):
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
            os.replace(path, path.with_name(path.name + ".damaged"))
            content = {}
        attempt = change(content)
        text = json.dumps(content, sort_keys=True)  # with `indent`, json is slow
        if attempt:
            append_attempt(path, attempt)  # first, because appending is slower after the file is written
        write_atomically(path, text)


@functools.cache
def _warn_not_saved(path: str, why: str) -> None:
    print(f"Your progress is not saved, because {path} cannot be written: {why}.")


@contextlib.contextmanager
def _exclusive_access(path: Path) -> Iterator[None]:
    """Hold the lock of `path`.

    If it is not free within LOCK_TIMEOUT seconds, continue without it. One entry may then be lost.
    """

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
