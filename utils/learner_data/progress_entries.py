"""Name the tables of the progress file, and recognise valid entries. Damaged or edited entries are ignored."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from typing import Any

STATES = ("passed", "failed", "todo")
# Keys of the file that are not names of lessons. LAST_ATTEMPT is the key of the last attempt's time. The log does not
# contain this time: it contains only the minutes between attempts.
ANSWERS, REVIEWS, SITTINGS, LEARNER, LAST_ATTEMPT = "answers", "reviews", "inventory", "learner", "last_attempt"


def open_table(content: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a table of the file. If it is missing or damaged, add an empty table first."""
    if not isinstance(content.get(name), dict):
        content[name] = {}
    return content[name]


def get_seed(content: dict[str, Any]) -> str | None:
    """Return the learner's seed in the content of a file, or None if it contains no valid seed."""
    table = content.get(LEARNER)
    seed = table.get("seed") if isinstance(table, dict) else None
    is_valid = isinstance(seed, str) and len(seed) == 6 and seed.isascii() and seed.isalnum() and seed.isupper()
    return seed if is_valid else None


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


OTHER_TABLES = {ANSWERS: is_answer, REVIEWS: is_review, SITTINGS: is_sitting}  # functions that recognise a valid entry
