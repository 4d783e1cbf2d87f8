"""What students are handed: a zip with the course, without the answers, that works with `make lab` where it is
unzipped.

The lessons are worked out in memory from `solutions/`, so that neither a build that was forgotten nor a notebook that
was tried out gets in. Of all else only what git tracks gets in, or what `release.txt` names: a copy that somebody put
aside does not. The zip is then opened again and looked through as a student would, and only a clean one gets its name.
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
from utils.lessons import ROOT, Lesson

COPIED_FILES = ("LICENSE", "environment.yml", "pyproject.toml", "requirements.lock")
INITIAL_LESSONS = (
    "utils/assets/first"  # the lessons' texts once more, from which `coginst reset` makes a spoilt one anew
)
FROM_TEMPLATES = ("Makefile", "AGENTS.md")
# What a new lesson starts from, and the page that explains it.
WITH_MARKERS = ("utils/instructor/templates/lesson/lesson.md", "book/CONTRIBUTING.html")
TEMPLATES = Path(__file__).parent / "templates" / "release"
MANIFEST = "release.txt"  # the paths of more files to pack, one a line; of all where there is no git
_FOR_STUDENTS = re.compile(r"(?s)<!-- for students too -->(.*?)<!-- until here -->")  # in README.md
_LINK = re.compile(r"\]\(([\w./-]+)\)")


class ReleaseError(ValueError):
    """Nothing to hand out was made; a line for each reason."""


@dataclass
class ReleaseSummary:
    """The zip, the names of its files, the lessons whose answers it holds, and what was left out, unknown to git."""

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
    """Pack the student's course in the zip `out`, with the answers of the lessons named in `with_solutions`, and with
    the web site that `coginst book` made in the folder `book`.

    Raises:
        ReleaseError: `out` cannot be written, an answer would be in it, `book` holds no site, or nothing says which
            files belong to the course.
        MarkerError, BuildError, LessonError: as a build.
    """
    out = Path(out)
    if out.suffix != ".zip":
        raise ReleaseError(f"{out} is to be a zip file; name it {out.name}.zip.")
    if not out.parent.is_dir():
        raise ReleaseError(f"There is no folder {out.parent} to write {out.name} in; make it first.")
    _require_writable(out, replace)
    solved = sorted({lessons.find_lesson(name, root / "solutions").stem for name in with_solutions})
    tracked, left_out = _known_files(root)
    files = _release_files(root, solved, tracked, _read_site(book))
    half = out.with_name(f"{out.name}.{os.urandom(4).hex()}.tmp")  # it is looked through before it gets its name
    try:
        _pack(half, out.stem, files)
        if faults := audit_zip(half, solved, root):
            raise ReleaseError("\n".join(f"{out}!{fault}" for fault in faults))
        _require_writable(out, replace)  # another may have been made meanwhile
        os.replace(half, out)
    finally:
        half.unlink(missing_ok=True)
    return ReleaseSummary(out, sorted(files), solved, left_out)


def _require_writable(out: Path, replace: bool) -> None:
    if out.exists() and not replace:
        raise ReleaseError(f"{out} is there already; --replace puts the new one in its place.")


# --- what goes in ---------------------------------------------------------------------------------------


def _known_files(root: Path) -> tuple[set[str], list[str]]:
    """What may be packed, what git tracks and what the manifest names, and the files of `utils` that are neither.

    Raises:
        ReleaseError: there is neither git nor a manifest, or the manifest names what is not there.
    """
    manifest = root / MANIFEST
    lines = manifest.read_text(encoding="utf-8").splitlines() if manifest.is_file() else []
    named = {line.strip() for line in lines if line.strip() and not line.startswith("#")}
    if missing := sorted(name for name in named if not (root / name).is_file()):
        raise ReleaseError("\n".join(f"{manifest}: there is no file {name}." for name in missing))
    tracked = _git(root, "ls-files", "-z")
    if tracked is None and not named:
        raise ReleaseError(
            f"{root} is no git checkout, so nothing says which files belong to the course: pack from a clone, or name"
            f" them in {MANIFEST}, one path a line."
        )
    others = _git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", "utils") or []
    # What was deleted and is tracked still is not there to be packed.
    return named | {name for name in tracked or () if (root / name).is_file()}, sorted({*others} - named)


def _git(root: Path, *arguments: str) -> list[str] | None:
    """The paths that git lists; None where it is not there, or this is no checkout."""
    command = ["git", "-c", "safe.directory=*", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return [name for name in done.stdout.split("\0") if name]


def _read_site(book: Path | None) -> dict[str, bytes]:
    """Name and content of each file of the web site that comes along; none without one."""
    if book is None:
        return {}
    if not (book / "index.html").is_file():
        raise ReleaseError(f"{book} holds no index.html; make the web site first, with `coginst book`.")
    paths = [path for path in book.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {f"book/{path.relative_to(book).as_posix()}": path.read_bytes() for path in paths}


def _release_files(root: Path, solved: list[str], tracked: set[str], site: dict[str, bytes]) -> dict[str, bytes]:
    """Name and content of each file of the zip."""
    pairs = student_files(root / "solutions")
    files = {f"course/{name}": content for name, content in pairs.items()}
    files |= {f"{INITIAL_LESSONS}/{name}": content for name, content in pairs.items() if name.endswith(".md")}
    files |= {name: (root / name).read_bytes() for name in tracked if name.startswith("utils/")}
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
    """The student's page: the marked parts of the course's own, and between the first and the others what a student
    does."""
    parts = [part.strip() for part in _FOR_STUDENTS.findall(text)]
    if not parts:
        raise ReleaseError("README.md marks no part as for students too, and their page is made of those.")
    course, *sections = parts
    answers = (
        f"The answers of {_list_lessons(solved)} are in `solutions/`, and `solution(...)` shows them."
        if solved
        else "The answers are not part of this copy; `hint(...)` comes close to them."
    )
    if with_site:
        course += "\n\nTo read all of it, and move what moves in it, with nothing installed, open `book/index.html`."
    template = Template((TEMPLATES / "README.md").read_text(encoding="utf-8"))
    return template.substitute(course=course, answers=answers, sections="\n\n".join(sections))


def _list_lessons(stems: list[str]) -> str:
    numbers = [stem[:2] for stem in stems]
    return f"lesson {numbers[0]}" if len(numbers) == 1 else f"lessons {', '.join(numbers[:-1])} and {numbers[-1]}"


def _pack(path: Path, folder: str, files: dict[str, bytes]) -> None:
    """Write the zip. All files get one time, because jupytext refuses a .md that is older than its .ipynb."""
    now = time.localtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", now)
            entry.external_attr, entry.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
            packed.writestr(entry, files[name])


# --- whether it is clean --------------------------------------------------------------------------------


def audit_zip(path: str | Path, solved: Iterable[str] = (), root: Path = ROOT) -> list[str]:
    """One line `file:line: what` for each thing in a zip that a student must not get; `solved` are the lessons handed
    out with answers.

    Looked at are the bytes in the zip, whatever made it: its names; each line and name of the answers in what students
    read; whole answers, and several short ones, in all the rest; markers, outputs, places on this machine; and that a
    handed-out lesson makes the student's copy that is there.
    """
    solved = set(solved)
    try:
        with zipfile.ZipFile(path) as packed:
            if broken := packed.testzip():
                return [f"{broken}:1: damaged."]
            contents = {name: packed.read(name) for name in packed.namelist() if not name.endswith("/")}
    except (zipfile.BadZipFile, OSError) as error:
        return [f":1: it cannot be read as a zip ({error})."]
    tops = {PurePosixPath(name).parts[0] for name in contents}
    if len(tops) != 1 or any(".." in name or name.startswith("/") or "\\" in name for name in contents):
        return [":1: everything is to lie in one folder, so that unzipping spills nothing."]
    files = {name.partition("/")[2]: content for name, content in contents.items()}
    faults = [f"{name}:1: this does not belong in a student's copy." for name in files if not _is_allowed(name, solved)]
    faults += _find_answers(files, solved, root)
    for name, content in files.items():
        text = _readable_text(name, content)
        if not (name in WITH_MARKERS or name.startswith("solutions/")):
            faults += [f"{name}:{line}: a marker of ours stands here ({what})." for line, what in find_markers(text)]
        faults += [
            f"{name}:1: it names a place on this machine, {place}." for place in _local_paths(root) if place in text
        ]
        if name.endswith(".ipynb"):
            faults += [f"{name}:1: a cell has outputs." for cell in json.loads(text)["cells"] if cell.get("outputs")][
                :1
            ]
    faults += _find_stale_copies(files, solved)
    return sorted(set(faults))


def _is_allowed(name: str, solved: set[str]) -> bool:
    room, _, rest = name.partition("/")
    if room == "course":
        return bool(lessons.FILE_NAME.fullmatch(rest))
    if name.startswith(f"{INITIAL_LESSONS}/"):
        return bool(lessons.FILE_NAME.fullmatch(name.removeprefix(f"{INITIAL_LESSONS}/")))
    if room == "solutions":
        return rest == "__init__.py" if not rest.endswith(".md") else rest[:-3] in solved
    if lessons.FILE_NAME.fullmatch(PurePosixPath(name).name):
        return False
    return room in ("utils", "docs", "book") or name in (*COPIED_FILES, *FROM_TEMPLATES, "README.md")


def _find_answers(files: dict[str, bytes], solved: set[str], root: Path) -> list[str]:
    """What survives of the answers: a line or a name in what students read, a whole answer anywhere else."""
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
    handed_on = "take it out, or hand that lesson out too, with --with-solutions"
    whole = [
        fault.replace("take it out", handed_on) if fault.startswith("solutions/") else fault
        for fault in find_whole_answers(secret, rest) + find_short_answers(secret, rest)
    ]
    return find_leaks(sources, read) + find_leaks(secret, site) + whole


def _readable_text(name: str, content: bytes) -> str:
    """What there is to read in a file."""
    text = content.decode("utf-8", "replace")
    return extract_text(text) if name.endswith(".html") else text


def _local_paths(root: Path) -> list[str]:
    home = str(Path.home())
    return [place for place in {str(root), f"{home}{os.sep}"} if len(place) > 5]


def _find_stale_copies(files: dict[str, bytes], solved: set[str]) -> list[str]:
    """Whether `make lab`, which builds where there are solutions, would make the copies that are there."""
    if not solved:
        return []
    with tempfile.TemporaryDirectory() as folder:
        for stem in solved:
            if f"solutions/{stem}.md" not in files:
                return [f"solutions/{stem}.md:1: missing."]
            (Path(folder) / f"{stem}.md").write_bytes(files[f"solutions/{stem}.md"])
        try:
            made = student_files(Path(folder))
        except (MarkerError, BuildError) as error:
            return [
                f"solutions:1: the lessons handed out cannot be built by themselves: {error}".replace(
                    f"{folder}{os.sep}", ""
                )
            ]
    return [
        f"course/{name}:1: not what the handed-out lesson makes."
        for name, content in made.items()
        if files.get(f"course/{name}") != content
    ]
