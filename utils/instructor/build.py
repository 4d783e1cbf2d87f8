"""Build the student files `course/NN_stem.md` and `.ipynb` from the lessons in `solutions/NN_stem.md`.

The build first creates all files in memory. It writes the changed files to a staging folder in `course/`, and renames
this folder when it is complete. If the build is killed after the renaming, the next build finishes the work. A lock
prevents two simultaneous builds of the same folder. `.coginst.json` stores the hash of each file that the build wrote.
If a file has a different hash, a learner changed it, and the build keeps it.
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
LOCK_PATIENCE = 60.0  # seconds; a build takes 1 or 2 s, so a build that holds the lock this long is stuck

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
    """The build cannot do what was requested. Nothing was written."""


@dataclass
class BuildSummary:
    """The result of a build: names of files, and a sentence for each lesson whose files the build kept."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def build(source: str | Path | None = None, out: str | Path | None = None) -> BuildSummary:
    """Create the student files in `out` from the lessons in `source`. If anything is wrong, write nothing.

    A lesson has a pair of files (.md and .ipynb). If a file has changed since the last build, a learner changed it. The
    build then keeps the pair, and reports this in `BuildSummary.kept`.

    Raises:
        BuildError: the folders cannot be used, two lessons have the same number or name, or another build of `out`
            hangs.
        MarkerError: markers are wrong, or a student file contains an answer; the message has a line for each fault.
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
    """Return one line for each file in `out` that a build of `source` would change.

    Raises the same errors as `build`.
    """
    source, out = _resolve_folders(source, out)
    files = student_files(source)
    plan = _Plan(files, out)
    drift = [
        f"{out / name}: missing" if not (out / name).exists() else f"{out / name}: differs"
        for name in files
        if plan.found.get(name) != _hash(files[name])
    ]
    drift += [
        f"{out / name}: its lesson no longer exists in {source}"
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
    """Build now and after every change of a lesson, until Ctrl-C.

    Args:
        report: called with the outcome of each build.
        interval: seconds between two checks for changes.
    """
    source, out = _resolve_folders(source, out)
    built_state = None
    try:
        while True:
            state = {
                path: (stat.st_mtime_ns, stat.st_size) for path in source.glob("*.md") if (stat := _stat_or_none(path))
            }
            if state != built_state:
                built_state = state
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
    """Return the source folder and the output folder. The defaults are the course's own folders.

    Raises:
        BuildError: there is no folder `source`, `out` is a file, or `out` is in `source`.
    """
    source = ROOT / "solutions" if source is None else Path(source)
    out = ROOT / "course" if out is None else Path(out)
    if not source.is_dir():
        raise BuildError(
            f"There is no folder {source} to build from. Name the folder with the lessons: --source solutions."
        )
    if out.exists() and not out.is_dir():
        raise BuildError(f"{out} is a file, but the students' copies need a folder. Name a folder with --out.")
    if out.resolve() == source.resolve() or source.resolve() in out.resolve().parents:
        raise BuildError(
            f"{out} cannot be the output folder, because {source} contains the answers. Name another folder with --out."
        )
    return source, out


def _lock_path(out: Path) -> Path:
    """Return the path of the lock file for builds of a folder.

    The file is in the system's temporary folder, because a build that fails must not create anything, not even `out`.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0  # users cannot open each other's lock files
    return Path(tempfile.gettempdir()) / f"coginst-build-{user}-{_hash(os.fsencode(out.resolve()))[:16]}.lock"


def _raise_busy(out: Path) -> None:
    raise BuildError(
        f"Another build of {out} has been running for {LOCK_PATIENCE:.0f} seconds. Wait until it ends, or stop it,"
        " and build again."
    )


# --- the students' files --------------------------------------------------------------------------------


def student_files(source: Path) -> dict[str, bytes]:
    """Return the content of every file in the build, by file name.

    Raises:
        BuildError: there is no lesson, a file name is invalid, or two lessons have the same number or name.
        MarkerError: a lesson cannot be read, its markers are wrong, or a file of the build would contain part of an
            answer.
    """
    paths = sorted(path for path in source.glob("[0-9]*.md") if path.is_file())
    if not paths:
        raise BuildError(f"There is no lesson in {source}. A lesson is a file such as 02_simplified_attention.md.")
    for path in paths:
        if not lessons.FILE_NAME.fullmatch(path.name):
            raise BuildError(
                f"{path} is not a valid name of a lesson. Rename it to NN_stem.md, such as 02_simplified_attention.md."
            )
    for label, part in (("number", slice(0, 2)), ("name", slice(3, None))):
        for value, times in Counter(path.stem[part].lower() for path in paths).items():
            if times > 1:
                clashing = " and ".join(str(path) for path in paths if path.stem[part].lower() == value)
                raise BuildError(f"{clashing} have the same {label}. Rename one of them.")
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
    """Return the student's Markdown and notebook, which contain the same cells.

    Tag the cells that cannot run before the learner has answered an exercise.

    Raises:
        MarkerError: without its answers, the lesson would be split into different cells.
    """
    lesson = lessons.parse_lesson(stripped.text, path)
    if [cell.source for cell in lesson.cells] != [cell.source for cell in stripped.cells]:
        raise MarkerError(
            f"{path}:1: without its answers, the lesson would split into different cells. Do not put markers next to"
            " the blank lines between cells."
        )
    lines = stripped.text.splitlines()
    blocked = mark_blocked_cells(zip(lesson.cells, [cell.unset_names for cell in stripped.cells]))
    notebook_cells = []
    for cell, needed in zip(lesson.cells, blocked):
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
    """Write the cell's metadata into its opening fence, after the language."""
    magic = lines[cell.line - 1].startswith("```")  # the opening fence of a `%%bash` cell is its first line
    row = cell.line - 1 if magic else cell.line - 2
    opening = re.match(r"(`+)\s*(\S+)", lines[row])
    assert opening  # every code cell has an opening fence
    fence, language = opening.groups()
    arguments = cell.source.split("\n")[0].partition(" ")[2] if magic else ""
    options = metadata | {"magic_args": arguments} if arguments else metadata
    lines[row] = " ".join(
        [fence + language, *(key if value is None else f"{key}={json.dumps(value)}" for key, value in options.items())]
    )


def student_metadata(metadata: dict, is_blocked: bool) -> dict:
    """Return the cell's metadata without the tags meant for the solved notebooks. Tag the cell if it cannot run yet."""
    tags = [tag for tag in metadata.get("tags", []) if not tag.startswith("nbval-")]
    if is_blocked and "raises-exception" not in tags:
        tags.append("raises-exception")
    rest = {key: value for key, value in metadata.items() if key != "tags"}
    return rest | {"tags": tags} if tags else rest


# --- writing --------------------------------------------------------------------------------------------


class _Plan:
    """Decides which files in `out` to write, delete or keep, based on the hashes of the existing files."""

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
                    f"{change} {'has' if len(theirs) == 1 else 'have'} changed since the last build, so the build kept"
                    f" {'it' if len(theirs) == 1 else 'them'}. To get the current version, move"
                    f" {'it' if len(theirs) == 1 else 'them'} away and build again."
                )
            elif pair[0] not in files:
                self.delete |= set(pair) & set(self.found)
            elif any(self.found.get(name) != new[name] for name in pair):
                self.write |= set(pair)  # both files, because jupytext rejects a .md that is older than its .ipynb
        self.manifest = (json.dumps({"files": dict(sorted(new.items()))}, indent=1) + "\n").encode()
        self.current = _read_bytes(out / MANIFEST)

    def is_done(self) -> bool:
        return not self.write and not self.delete and self.current == self.manifest


def _stage_files(out: Path, plan: _Plan) -> None:
    """Write the plan's files into a staging folder in `out`, and rename the folder when all of them are on disk.

    Raises:
        OSError: a file cannot be written. The staging folder is removed.
    """
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
        shutil.rmtree(stage, ignore_errors=True)  # the disk may be full, so free the space
        raise
    os.rename(stage, out / _COMMIT)


def _apply_stage(out: Path) -> None:
    """Move the files of a complete staging folder to their places, the manifest last.

    If this function is killed, the next call finishes its work.
    """
    commit = out / _COMMIT
    shutil.rmtree(out / _STAGE, ignore_errors=True)
    if not commit.is_dir():
        return
    old = _read_manifest(out / MANIFEST)
    new = _read_manifest(commit / MANIFEST)
    if (commit / MANIFEST).exists():
        for staged in sorted(commit.iterdir()):
            content = _read_bytes(out / staged.name)
            # If a learner changed a file after the build was killed, keep the learner's version.
            if staged.name != MANIFEST and (content is None or _hash(content) == old.get(staged.name)):
                os.replace(staged, out / staged.name)
        for name in set(old) - set(new):
            content = _read_bytes(out / name)
            if content is not None and _hash(content) == old[name]:
                (out / name).unlink()
        os.replace(commit / MANIFEST, out / MANIFEST)
    shutil.rmtree(commit)


def _read_manifest(path: Path) -> dict[str, str]:
    """Return the hashes of the files that the build wrote, by name; empty if the manifest cannot be read."""
    try:
        files = json.loads(path.read_bytes())["files"]
        return {name: value for name, value in files.items() if lessons.FILE_NAME.fullmatch(name)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def is_changed(path: Path) -> bool:
    """Return whether a student's file differs from the build's version.

    A file that is not in the manifest counts as unchanged.
    """
    built_hash = _read_manifest(path.parent / MANIFEST).get(path.name)
    return built_hash is not None and built_hash != _hash(path.read_bytes())


def _read_bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _hash(content: bytes) -> str:
    """Return the hash of a file's content. Line endings are normalised, because git and editors change them."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()
