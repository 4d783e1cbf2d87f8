"""A lesson without what is for instructors' eyes alone: `<COGNOTE>` regions go, answers and their markers stay."""

from __future__ import annotations

import re
from pathlib import Path

from utils.instructor.strip import strip

# A private character hides the other markers from the stripper, so that it obeys the notes alone.
_HIDDEN = "\ue000"
_OTHERS = re.compile(r"<(/?)COG(INST|LINE|STUB)>")


def without_notes(text: str, path: str | Path) -> str:
    """The lesson's markdown without its notes. Raises `MarkerError` as `strip` does."""
    hidden = _OTHERS.sub(lambda match: f"<{match[1]}{_HIDDEN}{match[2]}>", text)
    return re.sub(rf"<(/?){_HIDDEN}(INST|LINE|STUB)>", r"<\1COG\2>", strip(hidden, path).text)
