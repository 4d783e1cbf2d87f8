"""Provide the clock of reviews and sittings. Tests pass another clock instead."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the current time in UTC, to the second."""
    return datetime.now(timezone.utc).replace(microsecond=0)
