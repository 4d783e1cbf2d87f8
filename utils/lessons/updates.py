"""Record which cells a new release changed, and find those that a learner's copy does not contain.

A learner pulls a release over edited notebooks. If the learner and the release have changed the same lines, the
learner's lines stay. Each release therefore contains a list of changed cells, beside the notebooks. Cells are compared
by their text, because a learner can move, copy and delete them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path

from utils.lessons.cells import parse_lesson, read_lesson
from utils.lessons.files import LessonError

UPDATES = ".updates.json"
Releases = Mapping[str, bytes]


@dataclass(frozen=True)
class Update:
    """A cell that a release changed: its text in an earlier release ("" if it is new), and its current text."""

    before: str
    after: str

    @property
    def name(self) -> str:
        """The exercise of the cell, in words, or else its first words."""
        if exercise := re.search(r"(?m)^check\((\w+)", self.after):
            return f"the cell of `{exercise[1]}`"
        first = re.sub(r"[*#`]", "", self.after.strip().split("\n")[0]).strip()
        return f"the cell that begins with “{first if len(first) <= 50 else first[:50].rsplit(' ', 1)[0] + ' …'}”"


def record_updates(before: Releases, after: Releases, earlier: bytes = b"") -> bytes:
    """Return the content of the file `UPDATES` of a new release.

    Args:
        before, after: the students' Markdown files of the last release and of the new one, by file name.
        earlier: the content of the file in the last release; empty if there was none.
    """
    known = _parse_updates(earlier)
    updates: dict[str, list[Update]] = {}
    for name in sorted(before.keys() & after.keys()):
        changed, old, new = known.get(name[:-3], []), _sources(name, before[name]), _sources(name, after[name])
        for tag, i, i_end, j, j_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag == "equal":
                continue
            for n in range(max(i_end - i, j_end - j)):
                was, now = "".join(old[i:i_end][n : n + 1]), "".join(new[j:j_end][n : n + 1])
                # Learners may have any earlier text of the cell. An empty `now` means that the cell was deleted.
                changed = [Update(u.before, now) if was and u.after == was else u for u in changed] + [Update(was, now)]
        kept = dict.fromkeys(update for update in changed if update.after and update.after != update.before)
        if kept:
            updates[name[:-3]] = list(kept)
    table = {stem: [asdict(update) for update in updates[stem]] for stem in updates}
    return (json.dumps(table, indent=1, ensure_ascii=False) + "\n").encode()


def find_outdated_cells(path: Path) -> list[Update]:
    """Return the cells of a lesson whose earlier text the learner's copy at `path` still contains."""
    try:
        updates = _parse_updates((path.parent / UPDATES).read_bytes()).get(path.stem, [])
        sources = [cell.source.strip() for cell in read_lesson(path).cells] if updates else []
    except (OSError, LessonError):
        return []
    return list({update.after: update for update in updates if _is_outdated(update, sources)}.values())


def _is_outdated(update: Update, sources: list[str]) -> bool:
    """Tell whether one of the learner's cells contains a line that the update removed, or lacks what it added."""
    before, after = update.before.strip(), update.after.strip()
    if after in sources:
        return False
    if before in sources:
        return True
    cell = get_close_matches(before or after, sources, n=1)
    if not cell:  # the learner deleted the cell, or replaced it; a new cell is missing
        return not before
    lines, old, new = (_lines_to_keep(text) for text in (cell[0], before, after))
    removed = old - new
    return bool(removed & lines) if removed else not new - old <= lines


def _lines_to_keep(text: str) -> set[str]:
    """Return the lines of a cell without empty lines and without gaps, which a learner replaces."""
    lines = {line.strip() for line in text.splitlines()} - {""}
    return {line for line in lines if not re.search(r"YOUR CODE HERE|raise NotImplementedError|= \.\.\.", line)}


def _parse_updates(content: bytes) -> dict[str, list[Update]]:
    """Return a dict from the stem of each lesson to its updates. It is empty if the content is damaged."""
    try:
        table = json.loads(content or b"{}")
        return {stem: [Update(**entry) for entry in entries] for stem, entries in table.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _sources(name: str, content: bytes) -> list[str]:
    return [cell.source for cell in parse_lesson(content.decode(), name).cells if cell.kind != "raw"]
