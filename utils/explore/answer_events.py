"""What a learner answered to a prediction or a quiz goes into the same local file as the exercises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from utils.feedback import progress


def handle_answer_event(widget: Any, message: Any) -> None:
    """Keep a first answer: `{"event": "answered", "right", "sure", "said"}` from the page; all else is passed over."""
    if not isinstance(message, Mapping) or message.get("event") != "answered":
        return
    progress.record_answer(
        widget.kind, dict(widget.start), right=message.get("right") is True, sure=message.get("sure", "")
    )
