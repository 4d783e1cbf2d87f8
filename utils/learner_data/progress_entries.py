"""Recognise valid entries of the progress file. Entries that were damaged or edited are ignored."""

from __future__ import annotations

import math
from datetime import datetime, timezone

STATES = ("passed", "failed", "todo")


def is_answer(entry: object) -> bool:
    """Tell whether the value is a recorded answer to a prediction or a quiz."""
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("start"), dict)
        or not isinstance(entry.get("kind"), str)
    ):
        return False
    answers = [entry, entry["last"]] if "last" in entry else [entry]
    return all(
        isinstance(answer, dict)
        and isinstance(answer.get("right"), bool)
        and isinstance(answer.get("sure"), str)
        and isinstance(answer.get("when"), str)
        for answer in answers
    )


def is_entry(entry: object) -> bool:
    """Tell whether the value is the state of an exercise."""
    if not isinstance(entry, dict) or entry.get("status") not in STATES:
        return False
    return isinstance(entry.get("tries"), int) and isinstance(entry.get("when"), str)


def is_review(entry: object) -> bool:
    """Tell whether the value is the schedule of a question."""
    if not isinstance(entry, dict) or not all(_is_amount(entry.get(name)) for name in ("stability", "difficulty")):
        return False
    return entry["stability"] > 0 and all(is_time(entry.get(name)) for name in ("due", "when"))


def is_sitting(entry: object) -> bool:
    """Tell whether the value is a sitting of the concept inventory."""
    if not isinstance(entry, dict) or not isinstance(entry.get("done"), bool) or not is_time(entry.get("when")):
        return False
    return (
        isinstance(entry.get("seed"), int)
        and isinstance(entry.get("items"), list)
        and all(map(_is_item, entry["items"]))
    )


def _is_item(item: object) -> bool:
    if not isinstance(item, dict) or item.get("sitting") not in (1, 2, 3) or not _is_amount(item.get("minutes")):
        return False
    return item.get("form") in ("a", "b") and all(isinstance(item.get(name), str) for name in ("item", "choice"))


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


def is_time(value: object) -> bool:
    """Tell whether the value is a string with a UTC time in ISO 8601 format."""
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo == timezone.utc
    except ValueError:
        return False
