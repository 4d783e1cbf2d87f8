"""Combine the contents of two progress files, such as those of two machines."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from utils.learner_data.progress_entries import (
    ANSWERS,
    LAST_ATTEMPT,
    LEARNER,
    OTHER_TABLES,
    SITTINGS,
    STATES,
    get_seed,
    is_entry,
    open_table,
)


class Merged(NamedTuple):
    """The result of a merge.

    Attributes:
        n_passed: the number of newly passed exercises.
        own_seed, other_seed: the seeds of the two files before the merge; None if a file contained no seed.
    """

    n_passed: int
    own_seed: str | None
    other_seed: str | None


def is_progress(content: dict[str, Any]) -> bool:
    """Tell whether a file is empty, or contains a table of a progress file or the entry of an exercise."""
    tables = {name: table for name, table in content.items() if isinstance(table, dict)}
    has_entry = any(is_entry(entry) for table in tables.values() for entry in table.values())
    return not content or has_entry or LAST_ATTEMPT in content or bool(tables.keys() & {LEARNER, *OTHER_TABLES})


def merge_tables(content: dict[str, Any], other: dict[str, Any], transfer: Collection[str] = ()) -> None:
    """Add the tables of `other` to `content`. Of two entries with the same name, the later entry wins.

    For a sitting of the inventory, a complete record wins over an incomplete record. If both records are complete, the
    earlier record wins, because the later record repeats it. Of two answers to a question, the earlier is the first
    answer, and the later is the last.

    Of two seeds, the seed of `content` stays, unless only `other` has passed a transfer exercise: the answer to this
    exercise is right only for the seed of `other`.

    Args:
        content, other: the contents of two progress files. `content` is changed.
        transfer: the names of all transfer exercises.
    """
    seeds = [get_seed(content), get_seed(other)]
    if _has_passed(other, transfer) and not _has_passed(content, transfer):
        seeds.reverse()
    if seed := seeds[0] or seeds[1]:
        open_table(content, LEARNER)["seed"] = seed
    times = [each[LAST_ATTEMPT] for each in (content, other) if isinstance(each.get(LAST_ATTEMPT), str)]
    if times:
        content[LAST_ATTEMPT] = max(times)
    for table, theirs in other.items():
        if not isinstance(theirs, dict):
            content.setdefault(table, theirs)
            continue
        mine = open_table(content, table)
        for name, entry in theirs.items():
            is_valid = OTHER_TABLES.get(table, is_entry)
            both = [each for each in (mine.get(name), entry) if isinstance(each, dict) and is_valid(each)]
            complete = [each for each in both if table == SITTINGS and each["done"]]
            if complete:
                mine[name] = dict(min(complete, key=lambda each: each["when"]))
                continue
            if table == ANSWERS and both:
                mine[name] = _merge_answers(both)
                continue
            mine[name] = dict(max(both, key=lambda each: each["when"])) if both else mine.get(name, entry)
            if both and table not in OTHER_TABLES:
                mine[name]["status"] = min((each["status"] for each in both), key=STATES.index)
                mine[name]["tries"] = max(each["tries"] for each in both)


def _has_passed(content: dict[str, Any], exercises: Collection[str]) -> bool:
    """Tell whether one of the exercises has been passed."""
    tables = [table for table in content.values() if isinstance(table, dict)]
    entries = [table[name] for table in tables for name in exercises if name in table]
    return any(is_entry(entry) and entry["status"] == "passed" for entry in entries)


def _merge_answers(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Combine the records of one question: keep the first answer, and add the last answer if there are several."""
    first = min(entries, key=lambda each: each["when"])
    answers = [{name: each[name] for name in ("right", "sure", "when")} for each in entries]
    last = max((*answers, *(each["last"] for each in entries if "last" in each)), key=lambda each: each["when"])
    return dict(first) if last["when"] == first["when"] else {**first, "last": last}
