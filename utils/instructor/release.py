"""Pack the zip for students: the course without its answers, ready for `make lab` after unzipping.

The release builds the lessons in memory from `solutions/`, so it contains no outdated build and no executed notebook.
It packs other files only if git tracks them or `release.txt` names them, so private files are left out. Then the
release opens the zip again and searches it for answers. The zip gets its final name only if it contains no answer.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from string import Template

from utils import lessons
from utils.instructor.build import BuildError, student_files
from utils.instructor.html_text import extract_text
from utils.instructor.leaks import find_leaks, find_markers, find_short_answers, find_whole_answers
from utils.instructor.strip import MarkerError, StrippedLesson, strip_answers, strip_notes
from utils.learning.forms import pack_form, packed_path
from utils.lessons import ROOT, Lesson

COPIED_FILES = ("LICENSE", "environment.yml", "postBuild", "pyproject.toml", "requirements.lock")
INITIAL_LESSONS = "utils/assets/first"  # copies of the lessons; `coginst reset` restores a lesson from them
FROM_TEMPLATES = ("Makefile", "AGENTS.md")
# Files that may contain markers: the template for a new lesson, and the page that explains markers.
WITH_MARKERS = ("utils/instructor/templates/lesson/lesson.md", "book/CONTRIBUTING.html")
TEMPLATES = Path(__file__).parent / "templates" / "release"
FORMS = "utils/learning/items/*.yaml"  # the concept inventory, which a release contains in compressed form
MANIFEST = "release.txt"  # one path per line: the additional files to pack, or all files to pack if there is no git
_FOR_STUDENTS = re.compile(r"(?s)<!-- for students too -->(.*?)<!-- until here -->")  # in README.md
_LINK = re.compile(r"\]\(([\w./-]+)\)")


class ReleaseError(ValueError):
    """The release cannot be created. No zip was written; the message has one line for each reason."""


@dataclass
class ReleaseSummary:
    """The zip, the names of its files, the lessons with answers, and the untracked files that were left out."""

    path: Path
    file_names: list[str]
    solved_lessons: list[str]
    untracked_files: list[str] = field(default_factory=list)


def release(
    out: str | Path,
    with_solutions: Iterable[str] = (),
    replace: bool = False,
    root: Path = ROOT,
    book: Path | None = None,
) -> ReleaseSummary:
    """Pack the student's course into the zip `out`.

    Args:
        with_solutions: the lessons whose answers the zip contains.
        replace: overwrite an existing `out`.
        book: the folder with the web site from `coginst book`; None for a release without the site.

    Raises:
        ReleaseError: `out` cannot be written or would contain an answer, `book` contains no site, or neither git nor a
            manifest lists the files of the course.
        MarkerError, BuildError, LessonError: same as in a build.
    """
    out = Path(out)
    if out.suffix != ".zip":
        raise ReleaseError(f"{out} is not the name of a zip file. Name it {out.name}.zip.")
    if not out.parent.is_dir():
        raise ReleaseError(f"There is no folder {out.parent} for {out.name}. Create it first.")
    _require_writable(out, replace)
    solved = sorted({lessons.find_lesson(name, root / "solutions").stem for name in with_solutions})
    tracked, left_out = _known_files(root)
    files = _release_files(root, solved, tracked, _read_site(book))
    half = out.with_name(f"{out.name}.{os.urandom(4).hex()}.tmp")  # the zip gets its final name only after the check
    try:
        _pack(half, out.stem, files)
        if faults := audit_zip(half, solved, root):
            raise ReleaseError("\n".join(f"{out}!{fault}" for fault in faults))
        _require_writable(out, replace)  # another release may have written `out` in the meantime
        os.replace(half, out)
    finally:
        half.unlink(missing_ok=True)
    return ReleaseSummary(out, sorted(files), solved, left_out)


def _require_writable(out: Path, replace: bool) -> None:
    if out.is_dir():
        raise ReleaseError(f"{out} is a folder. Choose another name for the zip file.")
    if out.exists() and not replace:
        raise ReleaseError(f"{out} already exists. Add --replace to overwrite it.")


# --- contents of the zip --------------------------------------------------------------------------------


def _known_files(root: Path) -> tuple[set[str], list[str]]:
    """Return the files that may be packed, and the files in `utils` that may not be packed.

    Files may be packed if git tracks them or the manifest names them.

    Raises:
        ReleaseError: there is neither git nor a manifest, or a file in the manifest does not exist.
    """
    manifest = root / MANIFEST
    lines = manifest.read_text(encoding="utf-8").splitlines() if manifest.is_file() else []
    named = {line.strip() for line in lines if line.strip() and not line.startswith("#")}
    if missing := sorted(name for name in named if not (root / name).is_file()):
        raise ReleaseError("\n".join(f"{manifest}: the file {name} does not exist." for name in missing))
    tracked = _git(root, "ls-files", "-z")
    if tracked is None and not named:
        raise ReleaseError(
            f"{root} is not a git clone, so the files of the course are unknown. Pack from a clone, or list the files"
            f" in {MANIFEST}, one path per line."
        )
    others = _git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", "utils") or []
    # git also lists tracked files that were deleted.
    return named | {name for name in tracked or () if (root / name).is_file()}, sorted({*others} - named)


def _git(root: Path, *arguments: str) -> list[str] | None:
    """Return the paths that git lists, or None if git is not installed or `root` is not a clone."""
    command = ["git", "-c", "safe.directory=*", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return [name for name in done.stdout.split("\0") if name]


def _read_site(book: Path | None) -> dict[str, bytes]:
    """Return the content of each file of the web site, by its path in the zip.

    Raises:
        ReleaseError: the folder has no `index.html`.
    """
    if book is None:
        return {}
    if not (book / "index.html").is_file():
        raise ReleaseError(f"{book} has no index.html. Build the web site first with `coginst book`.")
    paths = [path for path in book.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {f"book/{path.relative_to(book).as_posix()}": path.read_bytes() for path in paths}


def _release_files(root: Path, solved: list[str], tracked: set[str], site: dict[str, bytes]) -> dict[str, bytes]:
    """Return the content of each file to pack, by its path in the zip."""
    pairs = student_files(root / "solutions")
    files = {f"course/{name}": content for name, content in pairs.items()}
    files |= {f"{INITIAL_LESSONS}/{name}": content for name, content in pairs.items() if name.endswith(".md")}
    files |= {name: (root / name).read_bytes() for name in tracked if name.startswith("utils/")}
    for name in [name for name in files if PurePosixPath(name).match(FORMS)]:
        files[packed_path(PurePosixPath(name)).as_posix()] = pack_form(files.pop(name))
    files |= {name: (root / name).read_bytes() for name in COPIED_FILES}
    files |= {name: (TEMPLATES / name).read_bytes() for name in FROM_TEMPLATES}
    page = _readme((root / "README.md").read_text(encoding="utf-8"), solved, with_site=bool(site))
    files["README.md"] = page.encode()
    for link in _LINK.findall(page):
        if link.startswith("docs/") and link in tracked:
            files[link] = (root / link).read_bytes()
    if solved:
        files["solutions/__init__.py"] = (root / "solutions" / "__init__.py").read_bytes()
    for stem in solved:
        path = root / "solutions" / f"{stem}.md"
        files[f"solutions/{stem}.md"] = strip_notes(lessons.read_text(path), path).encode()
    return files | site


def _readme(text: str, solved: list[str], with_site: bool) -> str:
    """Return the student's README: a template, filled with the parts of README.md that are marked for students.

    Raises:
        ReleaseError: the course's own README marks no part for students.
    """
    parts = [part.strip() for part in _FOR_STUDENTS.findall(text)]
    if not parts:
        raise ReleaseError(
            "README.md marks no part with <!-- for students too -->, so the students' README would be empty."
        )
    course, *sections = parts
    answers = (
        f"The answers to {_list_lessons(solved)} are in `solutions/`, and `solution(...)` shows them."
        if solved
        else "This copy does not contain the answers; the last hint of `hint(...)` is almost the code."
    )
    if with_site:
        course += "\n\nTo read lessons and try their explorers without an installation, open `book/index.html`."
    template = Template((TEMPLATES / "README.md").read_text(encoding="utf-8"))
    return template.substitute(course=course, answers=answers, sections="\n\n".join(sections))


def _list_lessons(stems: list[str]) -> str:
    numbers = [stem[:2] for stem in stems]
    return f"lesson {numbers[0]}" if len(numbers) == 1 else f"lessons {', '.join(numbers[:-1])} and {numbers[-1]}"


def _pack(path: Path, folder: str, files: dict[str, bytes]) -> None:
    """Write the zip. All files get the same timestamp, because jupytext rejects a .md that is older than its .ipynb."""
    now = time.localtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", now)
            entry.external_attr, entry.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
            packed.writestr(entry, files[name])


# --- check of the zip -----------------------------------------------------------------------------------


def audit_zip(path: str | Path, solved: Iterable[str] = (), root: Path = ROOT) -> list[str]:
    """Return one line `file:line: description` for each fault in the students' zip.

    The audit reads only the bytes in the zip. It looks for files that do not belong in a student's copy, for markers,
    for outputs, and for paths of this machine. In files that students read, it looks for lines and names from answers.
    In all other files, it looks for whole answers and for several short answers. If the zip contains lessons with
    answers, the audit also builds these lessons, and compares the result with the students' copies.

    Args:
        solved: the lessons whose answers the zip contains.
    """
    solved = set(solved)
    try:
        with zipfile.ZipFile(path) as packed:
            if broken := packed.testzip():
                return [f"{broken}:1: this file is damaged."]
            contents = {name: packed.read(name) for name in packed.namelist() if not name.endswith("/")}
    except (zipfile.BadZipFile, OSError) as error:
        return [f":1: this is not a readable zip file ({error})."]
    tops = {PurePosixPath(name).parts[0] for name in contents}
    if len(tops) != 1 or any(".." in name or name.startswith("/") or "\\" in name for name in contents):
        return [":1: all files must be in one folder, so that unzipping does not write files elsewhere."]
    files = {name.partition("/")[2]: content for name, content in contents.items()}
    faults = [
        f"{name}:1: this file does not belong in a student's copy." for name in files if not _is_allowed(name, solved)
    ]
    faults += _find_answers(files, solved, root)
    for name, content in files.items():
        text = _readable_text(name, content)
        if not (name in WITH_MARKERS or name.startswith("solutions/")):
            faults += [f"{name}:{line}: this line contains a marker ({marker})." for line, marker in find_markers(text)]
        faults += [
            f"{name}:1: this file contains a path of this machine, {place}."
            for place in _local_paths(root)
            if place in text
        ]
        if name.endswith(".ipynb"):
            faults += [
                f"{name}:1: a cell of this notebook has outputs."
                for cell in json.loads(text)["cells"]
                if cell.get("outputs")
            ][:1]
    faults += _find_stale_copies(files, solved)
    return sorted(set(faults))


def _is_allowed(name: str, solved: set[str]) -> bool:
    folder, _, rest = name.partition("/")
    if folder == "course":
        return bool(lessons.FILE_NAME.fullmatch(rest))
    if name.startswith(f"{INITIAL_LESSONS}/"):
        return bool(lessons.FILE_NAME.fullmatch(name.removeprefix(f"{INITIAL_LESSONS}/")))
    if folder == "solutions":
        return rest == "__init__.py" if not rest.endswith(".md") else rest[:-3] in solved
    if lessons.FILE_NAME.fullmatch(PurePosixPath(name).name) or PurePosixPath(name).match(FORMS):
        return False
    return folder in ("utils", "docs", "book") or name in (*COPIED_FILES, *FROM_TEMPLATES, "README.md")


def _find_answers(files: dict[str, bytes], solved: set[str], root: Path) -> list[str]:
    """Return one line for each answer, or part of an answer, that the zip must not contain."""
    sources: list[tuple[Lesson, StrippedLesson]] = []
    for path in lessons.all_lessons(root / "solutions"):
        sources.append((Lesson(path.stem, path.relative_to(root), []), strip_answers(lessons.read_text(path), path)))
    read, site, rest = {}, {}, {}
    for name, content in files.items():
        text = _readable_text(name, content)
        if name.startswith("book/"):
            site[name] = text
        elif name.startswith("course/"):
            read[name] = json.loads(text) if name.endswith(".ipynb") else text
        elif "/" not in name or name.startswith("docs/"):
            read[name] = text
        else:
            rest[name] = text
    secret = [source for source in sources if source[0].stem not in solved]
    remedy = "Remove it, or also add that lesson to --with-solutions."
    whole_answers = [
        fault.replace("Remove it.", remedy) if fault.startswith("solutions/") else fault
        for fault in find_whole_answers(secret, rest) + find_short_answers(secret, rest)
    ]
    return find_leaks(sources, read) + find_leaks(secret, site) + whole_answers


def _readable_text(name: str, content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    return extract_text(text) if name.endswith(".html") else text


def _local_paths(root: Path) -> list[str]:
    home = str(Path.home())
    return [place for place in {str(root), f"{home}{os.sep}"} if len(place) > 5]


def _find_stale_copies(files: dict[str, bytes], solved: set[str]) -> list[str]:
    """Return one line for each student copy in the zip that a build by `make lab` would change."""
    if not solved:
        return []
    with tempfile.TemporaryDirectory() as folder:
        for stem in solved:
            if f"solutions/{stem}.md" not in files:
                return [f"solutions/{stem}.md:1: this file is missing."]
            (Path(folder) / f"{stem}.md").write_bytes(files[f"solutions/{stem}.md"])
        try:
            built = student_files(Path(folder))
        except (MarkerError, BuildError) as error:
            return [
                f"solutions:1: the lessons with answers cannot be built without the others: {error}".replace(
                    f"{folder}{os.sep}", ""
                )
            ]
    return [
        f"course/{name}:1: this copy differs from what a build of its lesson in solutions/ makes."
        for name, content in built.items()
        if files.get(f"course/{name}") != content
    ]
