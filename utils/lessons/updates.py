"""Record which cells a new release changed, and find the changes that are missing from a learner's copy.

A learner pulls a release over edited notebooks. If the learner and the release have changed the same lines, the
learner's lines stay. Each release therefore contains a list of changed cells, beside the notebooks. Cells are compared
by their text, because a learner can move, copy and delete them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from pathlib import Path

from utils.lessons.cells import parse_lesson, read_lesson
from utils.lessons.files import LessonError
from utils.lessons.stubs import PROSE, TODO

UPDATES = ".updates.json"
Releases = Mapping[str, bytes]
Lines = dict[str, None]  # distinct lines, in order
_GAP = re.compile(rf"{TODO}|{re.escape(PROSE)}|raise NotImplementedError|= \.\.\.")
_MOST = 0.6  # a copy contains at least this share of the original's words (the cutoff of difflib.get_close_matches)


@dataclass(frozen=True)
class Update:
    """A cell that a release changed: its text in an earlier release ("" for a new cell), and its current text."""

    before: str
    after: str

    @property
    def name(self) -> str:
        """A description that names the cell's exercise. Without an exercise, it quotes the cell's first words."""
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
                # A learner's copy may contain any earlier text of the cell. If `now` is empty, the cell was deleted.
                changed = [Update(u.before, now) if was and u.after == was else u for u in changed] + [Update(was, now)]
        kept = dict.fromkeys(update for update in changed if update.after and update.after != update.before)
        if kept:
            updates[name[:-3]] = list(kept)
    table = {stem: [asdict(update) for update in updates[stem]] for stem in updates}
    return (json.dumps(table, indent=1, ensure_ascii=False) + "\n").encode()


def find_outdated_cells(path: Path) -> list[Update]:
    """Return the updates that are missing from `path`, the learner's copy of a lesson."""
    try:
        updates = _parse_updates((path.parent / UPDATES).read_bytes()).get(path.stem, [])
        sources = [cell.source.strip() for cell in read_lesson(path).cells] if updates else []
    except (OSError, LessonError):
        return []
    return list({update.after: update for update in updates if _is_outdated(update, sources)}.values())


def _is_outdated(update: Update, sources: list[str]) -> bool:
    """Tell whether the learner's copy contains an old version of the cell, or lacks a new cell."""
    before, after = update.before.strip(), update.after.strip()
    if after in sources:
        return False
    old, new = _lines_to_keep(before), _lines_to_keep(after)
    if old.keys() == new.keys():  # only stubs, empty lines or the order of lines changed
        return before in sources
    found = [_find_copy(lines, sources) for lines in (old, new)]
    # If the learner has duplicated the cell, a pull changes only one of the two cells.
    cells = [_lines_to_keep(cell) for cell in found if cell]
    return all(_lacks_change(old, new, cell) for cell in cells) if cells else not before


def _lacks_change(old: Lines, new: Lines, own: Lines) -> bool:
    """Tell whether a learner's cell lacks a change. The learner may have edited any of its lines.

    Each line of the learner's cell is matched with the most similar old or new line. The change is missing in three
    cases: an added line matches no line of the learner's cell; the cell still contains a removed line; or it contains
    an edited form of a removed line that has no replacement.
    """
    added, removed = new.keys() - old.keys(), old.keys() - new.keys()
    known = {**old, **new}
    origins = {line if line in known else _find_origin(line, known) for line in own}
    replaced = {line for line in removed if _find_origin(line, added)}
    return bool(added - origins or removed & own.keys() or (removed - replaced) & origins)


def _find_copy(lines: Lines, sources: list[str]) -> str | None:
    """Return the learner's cell that is most similar to a release's cell, or None if no cell is similar."""
    original = "\n".join(lines)
    best = max(sources, key=lambda source: _resemblance(original, source), default="")
    return best if _resemblance(original, best) else None


def _find_origin(line: str, originals: Collection[str]) -> str | None:
    """Return the item in `originals` that is most similar to `line`, or None if no item is similar.

    In a tie, return the first of these items.
    """
    best = max(originals, key=lambda original: _resemblance(original, line), default="")
    return best if _resemblance(best, line) else None


def _resemblance(original: str, copy: str) -> int:
    """Measure how much of an original a copy contains.

    Find the runs of words that both texts contain. The result is the sum of length² over these runs. It is 0 if the
    copy contains less than the share `_MOST` of the original's words. The learner's own words in the copy do not count.
    """
    words, own = (re.findall(r"\w+|[^\w\s]", text) for text in (original, copy))
    if (Counter(words) & Counter(own)).total() < _MOST * len(words):
        return 0  # The slower comparison below cannot find more common words than this count.
    runs = [run.size for run in SequenceMatcher(None, words, own, autojunk=False).get_matching_blocks()]
    return sum(size**2 for size in runs) if sum(runs) >= _MOST * len(words) else 0


def _lines_to_keep(text: str) -> Lines:
    """Return the lines of a cell. Leave out empty lines and the stubs, which a learner replaces."""
    lines = [line.strip() for line in text.splitlines()]
    return dict.fromkeys(line for line in lines if line and not _GAP.search(line))


def _parse_updates(content: bytes) -> dict[str, list[Update]]:
    """Map the stem of each lesson to its updates. The dict is empty if the content is damaged."""
    try:
        table = json.loads(content or b"{}")
        return {stem: [Update(**entry) for entry in entries] for stem, entries in table.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _sources(name: str, content: bytes) -> list[str]:
    return [cell.source for cell in parse_lesson(content.decode(), name).cells if cell.kind != "raw"]
