"""From what an LMS packed to `handed-in/ID/NN_stem.ipynb`, with every oddity in `intake.csv`.

What was collected before stays: it takes part as one more source, so that one lesson's zip can follow another's, and
collecting the same files again changes nothing. All is written to a folder beside its place, which then takes the
place: the old intake or the new one is there, never a half.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path, PurePosixPath

from utils import lessons
from utils.grading import archives, lesson_detection, results
from utils.grading.archives import ArchiveError, File
from utils.grading.folders import replacing, write_text
from utils.grading.roster import Student, read_roster, roster_text
from utils.grading.spreadsheet import table_text, without_guard
from utils.grading.submission_owner import Owners
from utils.grading.versions import Version, code_digest, versions_of

INTAKE, ROSTER, OLDER, PROGRESS = "intake.csv", "roster.csv", "older", "progress.json"

ABSENT = "absent"
STRANGER = "not on the roster"
OTHER_NAME = "another name"
NO_LESSON = "no lesson in it"
REFUSED = "refused"
UNREADABLE = "unreadable"
RENAMED = "renamed"
OLD_VERSION = "older version"
SAME_FILE = "same file as another's"
WORKED_OUT = (ABSENT, OLD_VERSION, SAME_FILE, UNREADABLE)  # follow from what lies there; the others from a source

_LESSON_FILE = re.compile(r"(?P<half>.+\.(?:ipynb|md|markdown))(?:\.(?:txt|json))?", re.IGNORECASE)
_COPY = re.compile(r"[ (_-](\d{1,3})\)?$")  # "02_lesson (1)", "02_lesson-2": a browser's or Canvas's number of the copy


class CollectError(ValueError):
    """Nothing was collected, and nothing was written; the message says why."""


@dataclass(frozen=True)
class Row:
    """A line of `intake.csv`: something that an instructor should know of.

    Attributes:
        id, name: the student's, or "" and what the file calls them.
        lesson: the stem, or "".
        what: one of this module's words, such as "older version".
        file: the source and the path in it.
        explanation: a sentence: what was found, and what was done.
    """

    id: str
    name: str
    lesson: str
    what: str
    file: str
    explanation: str


@dataclass
class Collected:
    """What a call of `collect` did: the folder, its students and lessons, and the rows of `intake.csv`."""

    folder: Path
    students: list[Student]
    lessons: list[str]
    files: int
    rows: list[Row] = field(default_factory=list)

    @property
    def oddities(self) -> Counter[str]:
        """How often each of them occurs."""
        return Counter(row.what for row in self.rows)


def collect(sources: Sequence[str | Path], roster: str | Path, out: str | Path) -> Collected:
    """Collect what `sources`, folders or zips, hold of the students in the file `roster` into the folder `out`.

    Raises:
        CollectError: `out` lies in a source, or what lies there is of somebody who is not on the roster.
        FolderError: `out` is something else.
        RosterError: the roster cannot be used.
        ArchiveError: a source cannot be read at all. (A single file that cannot is a row of the intake.)
    """
    out = Path(out)
    students = read_roster(roster)
    _refuse_nesting(out, [Path(source) for source in sources])
    with replacing(out, INTAKE) as tree, tempfile.TemporaryDirectory(dir=tree.parent) as content:
        intake = _Intake(students, Path(content))
        for source in sources:
            intake.take(source)
        intake.keep(out)
        return intake.write(tree, out)


def _refuse_nesting(out: Path, sources: Sequence[Path]) -> None:
    for source in sources:
        if source.resolve() == out.resolve() or source.resolve() in out.resolve().parents:
            raise CollectError(f"{out} lies in {source}, which is to be collected; name a folder beside it.")


class _Intake:
    """The versions that were found, and what there is to say of the files."""

    def __init__(self, students: list[Student], content: Path) -> None:
        self.students, self.content = students, content
        self.owners, self.known = Owners(students), lesson_detection.known_lessons()
        self.versions: list[Version] = []
        self.rows: list[Row] = []
        self.seen: set[str] = set()  # the places of the files of this run
        self.unclear: set[Student] = set()  # who may have handed in what nobody's name is on

    # --- sources ------------------------------------------------------------------------------------

    def take(self, source: str | Path) -> None:
        """All files of a source. In one that Canvas packed, times are those of packing, and the upload's number tells
        the order."""
        start = len(self.versions)
        for file in archives.files(source):
            self.seen.add(file.place)
            self._file(file)
        found = self.versions[start:]
        if any(version.number[0] for version in found):
            packed = max(version.time for version in found)
            self.versions[start:] = [replace(version, time=packed) for version in found]

    def _file(self, file: File) -> None:
        owner = self.owners.of(file.path)
        half = _LESSON_FILE.fullmatch(owner.file)
        name = half["half"] if half else owner.file
        stem = lesson_detection.named(name, self.known)
        student = owner.student
        say = lambda what, why: self._say(student, owner.called, stem or "", what, file.place, why)
        if file.refused and not (half and student and stem):
            say(REFUSED, file.refused)
            return
        if owner.file.endswith(PROGRESS) and student:
            self._tries(student, file)
            return
        if half is None:
            say(NO_LESSON, "a lesson is a .ipynb or .md file; this was left where it is.")
            return
        if student is None:
            self.unclear.update(owner.among)
            say(STRANGER, f"{owner.why} The file was left where it is.")
            return
        if owner.why:
            say(OTHER_NAME, f"{owner.why} It was collected as theirs; is the roster of another assignment?")
        suffix = ".ipynb" if name.lower().endswith(".ipynb") else ".md"
        try:
            if file.refused:
                raise ArchiveError(file.refused)
            content = file.read()
        except ArchiveError as error:
            say(REFUSED, str(error))
            if stem is None:
                return
            # The student did hand something in: the lesson is there, and cannot be read.
            content = f"{results.NOT_COLLECTED}{error}".encode()
        else:
            called, stem = stem, self._lesson_of(content, stem, suffix)
            if stem is None:
                like = (
                    f"it is called like lesson {called[:2]} and has no exercise of it"
                    if called
                    else "it has no exercise of a lesson"
                )
                say(NO_LESSON, f"{like}; it was left where it is.")
                return
        if not _usual(name, stem):
            say(RENAMED, f"recognised by its exercises as {stem}.")
        copy = _COPY.search(PurePosixPath(name).stem)
        number = (owner.upload, int(copy[1]) if copy else 0)
        self._add(student, stem, suffix, content, file.place, file.time, number)

    def _lesson_of(self, content: bytes, called: str | None, suffix: str) -> str | None:
        """The lesson that a file holds. Its name counts where the file cannot be read, or has one exercise at least."""
        text = content.decode("utf-8", "replace")
        if found := lesson_detection.recognise(text, self.known):
            return found
        broken = code_digest(content, f"lesson{suffix}") is None
        return called if called and (broken or lesson_detection.mentions(text, called, self.known)) else None

    def _tries(self, student: Student, file: File) -> None:
        """Keep what `progress()` knows of a student's tries; one that cannot be read is worth no word."""
        with contextlib.suppress(ArchiveError):
            kept = self.content / f"{student.folder}.{PROGRESS}"
            if not kept.exists() or kept.stat().st_mtime <= file.time:
                kept.write_bytes(file.read())
                os.utime(kept, (file.time, file.time))

    def _say(self, student: Student | None, called: str, stem: str, what: str, place: str, why: str) -> None:
        self.rows.append(
            Row(student.id if student else "", student.name if student else called, stem, what, place, why)
        )

    def _add(
        self,
        student: Student,
        stem: str,
        suffix: str,
        content: bytes,
        place: str,
        when: float,
        number: tuple[int, int] = (0, 0),
    ) -> None:
        path = self.content / str(len(self.versions))
        path.write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        code = code_digest(content, f"{stem}{suffix}")
        self.versions.append(Version(student, stem, suffix, path, place, when, number, digest, code))

    # --- what was collected before ----------------------------------------------------------------------

    def keep(self, out: Path) -> None:
        """What lies in `out` takes part again, and what was said of files that did not come again is said again."""
        by_folder = {student.folder: student for student in self.students}
        for folder in sorted(out.iterdir()) if out.is_dir() else ():
            found, student = _lesson_files(folder), by_folder.get(folder.name)
            if student is None:
                if found:
                    raise CollectError(f"{folder} was collected, and its student is not on this roster; add the line.")
                continue
            for path in found:
                stem = path.name.split(".")[0]
                place = f"{out.name}: {path.relative_to(out).as_posix()}"
                current = (0, int(path.parent == folder))  # of two files of one second, the one that counted
                self._add(student, stem, path.suffix, path.read_bytes(), place, path.stat().st_mtime, current)
            for path in folder.glob(PROGRESS):
                kept = PurePosixPath(folder.name, PROGRESS)
                self._tries(student, File(out.name, kept, path.stat().st_mtime, "", path.read_bytes))
        told = _read_rows(out / INTAKE)
        self.rows += [row for row in told if row.file not in self.seen and row.what not in WORKED_OUT]

    # --- the folder -----------------------------------------------------------------------------------

    def write(self, tree: Path, out: Path) -> Collected:
        """Write the new folder; `out` is what it will be called."""
        files = 0
        for (folder, stem), versions in versions_of(self.versions).items():
            current, *older = versions
            place = tree / folder
            (place / OLDER if older else place).mkdir(parents=True, exist_ok=True)
            _copy(current, place / f"{stem}{current.suffix}")
            files += 1
            if current.code is None:
                empty = not current.content.read_bytes().strip()
                why = "it is empty" if empty else "it cannot be read as a notebook"
                self._about(current, UNREADABLE, f"{why}; it is graded as unreadable.")
            for version in older:
                kept = f"{stem}.{_stamp(version.time)}.{version.digest[:8]}{version.suffix}"
                _copy(version, place / OLDER / kept)
                why = "is newer" if version.code is not None else "can be read, and this one cannot"
                self._about(version, OLD_VERSION, f"another {why}; this one is kept as {folder}/{OLDER}/{kept}.")
        for student in self.students:
            tries = self.content / f"{student.folder}.{PROGRESS}"
            if tries.exists() and (tree / student.folder).is_dir():
                shutil.copy2(tries, tree / student.folder / PROGRESS)
        self.rows += _same_files(self.versions)
        present = {version.student for version in self.versions}
        absent = [student for student in self.students if student not in present]
        unclear = "nothing was collected: a file may be theirs, see “not on the roster”."
        words = dict.fromkeys(self.unclear, unclear)
        self.rows += [Row(s.id, s.name, "", ABSENT, "", words.get(s, "handed in no lesson.")) for s in absent]
        order = {student.id: n for n, student in enumerate(self.students)}
        rows = sorted(
            dict.fromkeys(_strangers(self.rows)), key=lambda row: (order.get(row.id, len(order)), astuple(row))
        )
        write_text(tree / INTAKE, table_text([f.name for f in fields(Row)], map(astuple, rows)))
        write_text(tree / ROSTER, roster_text(self.students))
        stems = sorted({version.stem for version in self.versions})
        return Collected(out, [s for s in self.students if s in present], stems, files, rows)

    def _about(self, version: Version, what: str, why: str) -> None:
        # What was kept before is named by where it lies, so that a second intake says the same.
        student = version.student
        self.rows.append(Row(student.id, student.name, version.stem, what, "", why))


def _same_files(versions: Sequence[Version]) -> Iterator[Row]:
    """A row for each file that several students handed in byte for byte, untouched copies of the course aside."""
    owners: dict[tuple[str, str, str], dict[str, Student]] = {}
    for version in versions:
        if version.code is not None:
            key = (version.stem, version.digest, version.code)
            owners.setdefault(key, {})[version.student.id] = version.student
    shared = {key: found for key, found in owners.items() if len(found) > 1}
    untouched = _untouched() if shared else set()
    for (stem, _, code), found in sorted(shared.items()):
        for student in found.values() if code not in untouched else ():
            others = _listed(sorted(id for id in found if id != student.id))
            why = f"byte for byte the file of {others}; of a short lesson that may be chance."
            yield Row(student.id, student.name, stem, SAME_FILE, "", why)


def _untouched() -> set[str | None]:
    """The code of the copies as they are handed out."""
    copies = (lessons.ROOT / "course").glob("[0-9][0-9]_*.*")
    return {code_digest(path.read_bytes(), path.name) for path in copies}


def _listed(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _strangers(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows with one for each person who is not on the roster, instead of one for each of their files."""
    files: dict[str, list[Row]] = {}
    for row in rows:
        if row.what == STRANGER:
            files.setdefault(row.name, []).append(row)
        else:
            yield row
    for found in files.values():
        first, *others = found
        more = f" {len(others)} more files likewise." if others else ""
        yield Row(first.id, first.name, "", STRANGER, first.file, first.explanation + more)


def _usual(name: str, stem: str) -> bool:
    """Whether a file is called like its lesson, a number of the copy aside."""
    return _COPY.sub("", PurePosixPath(name).stem).strip().casefold() == stem.casefold()


def _lesson_files(folder: Path) -> list[Path]:
    """The versions that lie in a student's folder, older ones among them."""
    return sorted(p for p in (*folder.glob("[0-9][0-9]_*.*"), *folder.glob(f"{OLDER}/[0-9][0-9]_*.*")) if p.is_file())


def _stamp(when: float) -> str:
    return time.strftime("%Y-%m-%d-%H%M%S", time.localtime(when))


def _copy(version: Version, path: Path) -> None:
    shutil.copyfile(version.content, path)
    os.utime(path, (version.time, version.time))


def _read_rows(path: Path) -> list[Row]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        found = [[without_guard(cell) for cell in row] for row in csv.reader(file)]
    return [Row(*cells) for cells in found[1:] if len(cells) == len(fields(Row))]
