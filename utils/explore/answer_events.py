"""Record the answers to predictions and quizzes in the progress file, next to the results of the exercises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from utils.learner_data import progress
from utils.show.widget import Widget


def handle_answer_event(widget: Widget, message: Any) -> None:
    """Record the message `{"event": "answered", "right", "sure", "said"}`. Ignore all other messages."""
    if not isinstance(message, Mapping) or message.get("event") != "answered":
        return
    progress.record_answer(
        widget.kind, dict(widget.start), right=message.get("right") is True, sure=message.get("sure", "")
    )
