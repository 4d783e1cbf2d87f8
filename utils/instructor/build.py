"""From `solutions/NN_stem.md` to the students' pairs `course/NN_stem.md` and `.ipynb`.

Everything is worked out in memory first. What differs is written to a folder beside its place, which is renamed when it
is complete: from then on the build can only go forward, and the next one finishes what a killed one left. Builds of one
folder take turns. `.coginst.json` holds the hash of each file that the build made, so a file that a learner changed is
known, and kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from utils import lessons
from utils.instructor import ipynb
from utils.instructor.blocked_cells import mark_blocked_cells
from utils.instructor.leaks import find_leaks
from utils.instructor.strip import StrippedLesson, strip_answers
from utils.lessons import ROOT, Cell, Lesson, LessonError, hold_lock
from utils.lessons.markers import MarkerError

MANIFEST = ".coginst.json"
_STAGE, _COMMIT = ".coginst-stage", ".coginst-commit"
LOCK_PATIENCE = 60.0  # seconds; a build takes one or two, so whoever holds the lock for longer hangs

HEADER = """\
---
jupyter:
  jupytext:
    formats: ipynb,md
    text_representation:
      extension: .md
      format_name: markdown
      format_version: '1.3'
  kernelspec:
    display_name: Python 3 (ipykernel)
    language: python
    name: python3
---
"""


class BuildError(ValueError):
    """The build was asked for something that it cannot do; nothing was written."""


@dataclass
class BuildSummary:
    """What a build did: names of files, and a sentence for each lesson that it left as it was."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def build(source: str | Path | None = None, out: str | Path | None = None) -> BuildSummary:
    """Make the student pairs in `out` from the lessons in `source`: all of them, or none when anything is wrong.

    A file that differs from what the last build wrote is a learner's: it and its pair are kept, and named in
    `Built.kept`.

    Raises:
        BuildError: the folders cannot be used, lessons clash, or another build of `out` hangs.
        MarkerError: markers are wrong, or an answer survives; a line for each fault.
    """
    source, out = _resolve_folders(source, out)
    with hold_lock(_lock_path(out), LOCK_PATIENCE, partial(_raise_busy, out)):
        files = student_files(source)
        _apply_stage(out)
        plan = _Plan(files, out)
        if not plan.is_done():
            _stage_files(out, plan)
            _apply_stage(out)
    return BuildSummary(sorted(plan.write), sorted(plan.delete), plan.kept)


def find_drift(source: str | Path | None = None, out: str | Path | None = None) -> list[str]:
    """One line for each file in `out` that is not what `source` makes; nothing is written. Raises as `build` does."""
    source, out = _resolve_folders(source, out)
    files = student_files(source)
    plan = _Plan(files, out)
    drift = [
        f"{out / name}: missing" if not (out / name).exists() else f"{out / name}: differs"
        for name in files
        if plan.found.get(name) != _hash(files[name])
    ]
    drift += [
        f"{out / name}: its lesson is gone from {source}"
        for name in plan.old
        if name not in files and name in plan.found
    ]
    if not drift and _hash(plan.manifest) != _hash(_read_bytes(out / MANIFEST) or b""):
        drift.append(f"{out / MANIFEST}: differs")
    return sorted(drift)


def watch(
    source: str | Path | None = None,
    out: str | Path | None = None,
    report: Callable[[BuildSummary | Exception], None] = lambda outcome: None,
    interval: float = 0.3,
) -> None:
    """Build now and whenever a lesson changes, handing each outcome to `report`, until Ctrl-C. Looks every `every`
    seconds."""
    source, out = _resolve_folders(source, out)
    seen = None
    try:
        while True:
            now = {
                path: (stat.st_mtime_ns, stat.st_size) for path in source.glob("*.md") if (stat := _stat_or_none(path))
            }
            if now != seen:
                seen = now
                try:
                    report(build(source, out))
                except (ValueError, OSError) as error:
                    report(error)
            time.sleep(interval)
    except KeyboardInterrupt:
        pass


def _stat_or_none(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _resolve_folders(source: str | Path | None, out: str | Path | None) -> tuple[Path, Path]:
    """The two folders; the course's own where none is named."""
    source = ROOT / "solutions" if source is None else Path(source)
    out = ROOT / "course" if out is None else Path(out)
    if not source.is_dir():
        raise BuildError(
            f"There is no folder {source} to build from; name the one with the lessons: --source solutions."
        )
    if out.exists() and not out.is_dir():
        raise BuildError(f"{out} is a file, and the students' copies need a folder; name another with --out.")
    if out.resolve() == source.resolve() or source.resolve() in out.resolve().parents:
        raise BuildError(
            f"{out} lies in {source}, whose answers students must not get; name another folder with --out."
        )
    return source, out


def _lock_path(out: Path) -> Path:
    """The file under which a user's builds of a folder take turns. It lies among the temporary ones: a build that fails
    makes nothing, not even the folder."""
    user = os.getuid() if hasattr(os, "getuid") else 0  # another's lock could not be opened
    return Path(tempfile.gettempdir()) / f"coginst-build-{user}-{_hash(os.fsencode(out.resolve()))[:16]}.lock"


def _raise_busy(out: Path) -> None:
    raise BuildError(
        f"Another build of {out} has been at work for {LOCK_PATIENCE:.0f} seconds: wait until it has ended, or stop it,"
        " and build again."
    )


# --- what students get ----------------------------------------------------------------------------------


def student_files(source: Path) -> dict[str, bytes]:
    """The name and content of every file to make. Raises `BuildError` and `MarkerError`."""
    paths = sorted(path for path in source.glob("[0-9]*.md") if path.is_file())
    if not paths:
        raise BuildError(f"There is no lesson in {source}; a lesson is a file such as 02_simplified_attention.md.")
    for path in paths:
        if not lessons.FILE_NAME.fullmatch(path.name):
            raise BuildError(f"{path} is not named as a lesson is; call it NN_stem.md, as 02_simplified_attention.md.")
    for what, part in (("number", slice(0, 2)), ("name", slice(3, None))):
        for value, times in Counter(path.stem[part].lower() for path in paths).items():
            if times > 1:
                both = " and ".join(str(path) for path in paths if path.stem[part].lower() == value)
                raise BuildError(f"{both} have the same {what}; rename one.")
    sources: list[tuple[Lesson, StrippedLesson]] = []
    faults: list[str] = []
    for path in paths:
        try:
            text = lessons.read_text(path)
            sources.append((Lesson(path.stem, path, []), strip_answers(text, path)))
        except (LessonError, MarkerError) as error:
            faults.append(str(error))
    if faults:
        raise MarkerError("\n".join(faults))
    files: dict[str, bytes] = {}
    copies: dict[str, object] = {}
    for lesson, stripped in sources:
        text, notebook = _student_pair(stripped, lesson.path)
        copies |= {f"{lesson.stem}.md": text, f"{lesson.stem}.ipynb": notebook}
        files[f"{lesson.stem}.ipynb"] = ipynb.notebook_text(notebook).encode()
        files[f"{lesson.stem}.md"] = text.encode()
    if faults := find_leaks(sources, copies):
        raise MarkerError("\n".join(faults))
    return files


def _student_pair(stripped: StrippedLesson, path: Path) -> tuple[str, dict]:
    """The student's markdown and notebook: the same cells, with the tags that an untouched lesson needs."""
    lesson = lessons.parse_lesson(stripped.text, path)
    if [cell.source for cell in lesson.cells] != [cell.source for cell in stripped.cells]:
        raise MarkerError(
            f"{path}:1: without its answers the lesson falls into other cells; keep markers away from the blank lines"
            " between cells."
        )
    lines = stripped.text.splitlines()
    needs = mark_blocked_cells(zip(lesson.cells, [cell.unset_names for cell in stripped.cells]))
    notebook_cells = []
    for cell, needed in zip(lesson.cells, needs):
        metadata = student_metadata(cell.metadata, needed)
        if metadata != cell.metadata and cell.kind == "code":
            _write_options(lines, cell, metadata)
        source = cell.source.splitlines(keepends=True)
        notebook_cells.append(ipynb.make_cell(cell.kind, ipynb.cell_id(path.stem, cell.index), metadata, source))
    start = next(row for row, line in enumerate(lines[1:], 1) if line.rstrip() == "---") + 1
    first = lesson.cells[0]
    front = first.source.split("\n")[1:-1] if (first.kind, first.line) == ("raw", 1) else []
    header = HEADER.replace("---\n", "\n".join(["---", *front, ""]), 1)
    text = header + "\n".join(lines[start:]) + "\n"
    return text, ipynb.make_notebook(notebook_cells, jupytext={"formats": "ipynb,md"})


def _write_options(lines: list[str], cell: Cell, metadata: dict) -> None:
    """Write the cell's metadata behind the language of its opening fence."""
    magic = lines[cell.line - 1].startswith("```")  # then the cell's `%%bash` line is the fence's
    row = cell.line - 1 if magic else cell.line - 2
    fence, language = re.match(r"(`+)\s*(\S+)", lines[row]).groups()
    arguments = cell.source.split("\n")[0].partition(" ")[2] if magic else ""
    options = metadata | {"magic_args": arguments} if arguments else metadata
    lines[row] = " ".join(
        [fence + language, *(key if value is None else f"{key}={json.dumps(value)}" for key, value in options.items())]
    )


def student_metadata(metadata: dict, is_blocked: bool) -> dict:
    """The cell's metadata without what serves the solved notebooks, and tagged when it cannot run yet."""
    tags = [tag for tag in metadata.get("tags", []) if not tag.startswith("nbval-")]
    if is_blocked and "raises-exception" not in tags:
        tags.append("raises-exception")
    rest = {key: value for key, value in metadata.items() if key != "tags"}
    return rest | {"tags": tags} if tags else rest


# --- writing --------------------------------------------------------------------------------------------


class _Plan:
    """What to write and delete in `out`, and what to leave, worked out from the hashes there."""

    def __init__(self, files: dict[str, bytes], out: Path) -> None:
        self.files = files
        self.old = _read_manifest(out / MANIFEST)
        names = {*files, *self.old}
        self.found = {name: _hash(content) for name in names if (content := _read_bytes(out / name)) is not None}
        new = {name: _hash(content) for name, content in files.items()}
        self.write: set[str] = set()
        self.delete: set[str] = set()
        self.kept: list[str] = []
        for stem in sorted({Path(name).stem for name in names}):
            pair = [name for name in (f"{stem}.ipynb", f"{stem}.md") if name in names]
            theirs = [
                name
                for name in pair
                if name in self.found and self.found[name] not in (new.get(name), self.old.get(name))
            ]
            if theirs:
                new |= {name: self.old[name] for name in pair if name in self.old}
                for name in pair:
                    if name not in self.old:
                        new.pop(name, None)
                change = " and ".join(str(out / name) for name in theirs)
                self.kept.append(
                    f"{change} changed since the last build and stays as it is; to start afresh, move it away and build"
                    " again."
                )
            elif pair[0] not in files:
                self.delete |= set(pair) & set(self.found)
            elif any(self.found.get(name) != new[name] for name in pair):
                self.write |= set(pair)  # both, for jupytext refuses a .md that is older than its .ipynb
        self.manifest = (json.dumps({"files": dict(sorted(new.items()))}, indent=1) + "\n").encode()
        self.current = _read_bytes(out / MANIFEST)

    def is_done(self) -> bool:
        return not self.write and not self.delete and self.current == self.manifest


def _stage_files(out: Path, plan: _Plan) -> None:
    """Write the plan's files into a folder in `out`, and rename it when all of them are on disk."""
    out.mkdir(parents=True, exist_ok=True)
    stage = out / _STAGE
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir()
    now = time.time()
    try:
        for name, content in {**{name: plan.files[name] for name in plan.write}, MANIFEST: plan.manifest}.items():
            with open(stage / name, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.utime(stage / name, (now, now))
    except OSError:
        shutil.rmtree(stage, ignore_errors=True)  # on a full disk it is in the way
        raise
    os.rename(stage, out / _COMMIT)


def _apply_stage(out: Path) -> None:
    """Put the files of a complete stage in their places, the manifest last; safe to be killed in, and to be done
    again."""
    commit = out / _COMMIT
    shutil.rmtree(out / _STAGE, ignore_errors=True)
    if not commit.is_dir():
        return
    old = _read_manifest(out / MANIFEST)
    new = _read_manifest(commit / MANIFEST)
    if (commit / MANIFEST).exists():
        for staged in sorted(commit.iterdir()):
            found = _read_bytes(out / staged.name)
            # A learner may have written here since the build was killed; then the file is theirs.
            if staged.name != MANIFEST and (found is None or _hash(found) == old.get(staged.name)):
                os.replace(staged, out / staged.name)
        for name in set(old) - set(new):
            found = _read_bytes(out / name)
            if found is not None and _hash(found) == old[name]:
                (out / name).unlink()
        os.replace(commit / MANIFEST, out / MANIFEST)
    shutil.rmtree(commit)


def _read_manifest(path: Path) -> dict[str, str]:
    """Name to hash of the files that the build made; a manifest that cannot be read vouches for none."""
    try:
        files = json.loads(path.read_bytes())["files"]
        return {name: value for name, value in files.items() if lessons.FILE_NAME.fullmatch(name)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def is_changed(path: Path) -> bool:
    """Whether a student's file is another than the build made; one of which no manifest tells is taken as it is."""
    made = _read_manifest(path.parent / MANIFEST).get(path.name)
    return made is not None and made != _hash(path.read_bytes())


def _read_bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _hash(content: bytes) -> str:
    """Of a file's content, whatever ends its lines: a checkout or an editor may have changed these."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()
