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
from utils.grading.archives import ArchiveError, SourceFile
from utils.grading.csv_tables import format_csv, unguard_formula
from utils.grading.folders import replace_folder, write_text
from utils.grading.roster import Student, format_roster, read_roster
from utils.grading.submission_owner import OwnerLookup
from utils.grading.versions import SubmissionVersion, code_digest, group_versions

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
class IntakeRow:
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
class CollectSummary:
    """What a call of `collect` did: the folder, its students and lessons, and the rows of `intake.csv`."""

    folder: Path
    students: list[Student]
    lessons: list[str]
    file_count: int
    rows: list[IntakeRow] = field(default_factory=list)

    @property
    def oddity_counts(self) -> Counter[str]:
        """How often each of them occurs."""
        return Counter(row.what for row in self.rows)


def collect(sources: Sequence[str | Path], roster: str | Path, out: str | Path) -> CollectSummary:
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
    with replace_folder(out, INTAKE) as tree, tempfile.TemporaryDirectory(dir=tree.parent) as content:
        intake = _Intake(students, Path(content))
        for source in sources:
            intake.add_source(source)
        intake.add_previous_intake(out)
        return intake.write(tree, out)


def _refuse_nesting(out: Path, sources: Sequence[Path]) -> None:
    for source in sources:
        if source.resolve() == out.resolve() or source.resolve() in out.resolve().parents:
            raise CollectError(f"{out} lies in {source}, which is to be collected; name a folder beside it.")


class _Intake:
    """The versions that were found, and what there is to say of the files."""

    def __init__(self, students: list[Student], content: Path) -> None:
        self.students, self.content = students, content
        self.owners, self.known = OwnerLookup(students), lesson_detection.known_lessons()
        self.versions: list[SubmissionVersion] = []
        self.rows: list[IntakeRow] = []
        self.seen: set[str] = set()  # the places of the files of this run
        self.unclear: set[Student] = set()  # who may have handed in what nobody's name is on

    # --- sources ------------------------------------------------------------------------------------

    def add_source(self, source: str | Path) -> None:
        """All files of a source. In one that Canvas packed, times are those of packing, and the upload's number tells
        the order."""
        start = len(self.versions)
        for file in archives.iter_files(source):
            self.seen.add(file.location)
            self._add_file(file)
        found = self.versions[start:]
        if any(version.upload_order[0] for version in found):
            packed = max(version.mtime for version in found)
            self.versions[start:] = [replace(version, mtime=packed) for version in found]

    def _add_file(self, file: SourceFile) -> None:
        owner = self.owners.find_owner(file.path)
        half = _LESSON_FILE.fullmatch(owner.file_name)
        name = half["half"] if half else owner.file_name
        stem = lesson_detection.lesson_from_name(name, self.known)
        student = owner.student
        say = lambda what, why: self._add_row(student, owner.claimed_name, stem or "", what, file.location, why)
        if file.refusal and not (half and student and stem):
            say(REFUSED, file.refusal)
            return
        if owner.file_name.endswith(PROGRESS) and student:
            self._keep_progress(student, file)
            return
        if half is None:
            say(NO_LESSON, "a lesson is a .ipynb or .md file; this was left where it is.")
            return
        if student is None:
            self.unclear.update(owner.candidates)
            say(STRANGER, f"{owner.reason} The file was left where it is.")
            return
        if owner.reason:
            say(OTHER_NAME, f"{owner.reason} It was collected as theirs; is the roster of another assignment?")
        suffix = ".ipynb" if name.lower().endswith(".ipynb") else ".md"
        try:
            if file.refusal:
                raise ArchiveError(file.refusal)
            content = file.read()
        except ArchiveError as error:
            say(REFUSED, str(error))
            if stem is None:
                return
            # The student did hand something in: the lesson is there, and cannot be read.
            content = f"{results.NOT_COLLECTED}{error}".encode()
        else:
            called, stem = stem, self._detect_lesson(content, stem, suffix)
            if stem is None:
                like = (
                    f"it is called like lesson {called[:2]} and has no exercise of it"
                    if called
                    else "it has no exercise of a lesson"
                )
                say(NO_LESSON, f"{like}; it was left where it is.")
                return
        if not _has_usual_name(name, stem):
            say(RENAMED, f"recognised by its exercises as {stem}.")
        copy = _COPY.search(PurePosixPath(name).stem)
        number = (owner.upload_number, int(copy[1]) if copy else 0)
        self._add_version(student, stem, suffix, content, file.location, file.mtime, number)

    def _detect_lesson(self, content: bytes, called: str | None, suffix: str) -> str | None:
        """The lesson that a file holds. Its name counts where the file cannot be read, or has one exercise at least."""
        text = content.decode("utf-8", "replace")
        if found := lesson_detection.detect_lesson(text, self.known):
            return found
        broken = code_digest(content, f"lesson{suffix}") is None
        return called if called and (broken or lesson_detection.mentions_lesson(text, called, self.known)) else None

    def _keep_progress(self, student: Student, file: SourceFile) -> None:
        """Keep what `progress()` knows of a student's tries; one that cannot be read is worth no word."""
        with contextlib.suppress(ArchiveError):
            kept = self.content / f"{student.folder}.{PROGRESS}"
            if not kept.exists() or kept.stat().st_mtime <= file.mtime:
                kept.write_bytes(file.read())
                os.utime(kept, (file.mtime, file.mtime))

    def _add_row(self, student: Student | None, called: str, stem: str, what: str, place: str, why: str) -> None:
        self.rows.append(
            IntakeRow(student.id if student else "", student.name if student else called, stem, what, place, why)
        )

    def _add_version(
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
        self.versions.append(SubmissionVersion(student, stem, suffix, path, place, when, number, digest, code))

    # --- what was collected before ----------------------------------------------------------------------

    def add_previous_intake(self, out: Path) -> None:
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
                self._add_version(student, stem, path.suffix, path.read_bytes(), place, path.stat().st_mtime, current)
            for path in folder.glob(PROGRESS):
                kept = PurePosixPath(folder.name, PROGRESS)
                self._keep_progress(student, SourceFile(out.name, kept, path.stat().st_mtime, "", path.read_bytes))
        told = _read_rows(out / INTAKE)
        self.rows += [row for row in told if row.file not in self.seen and row.what not in WORKED_OUT]

    # --- the folder -----------------------------------------------------------------------------------

    def write(self, tree: Path, out: Path) -> CollectSummary:
        """Write the new folder; `out` is what it will be called."""
        files = 0
        for (folder, stem), versions in group_versions(self.versions).items():
            current, *older = versions
            place = tree / folder
            (place / OLDER if older else place).mkdir(parents=True, exist_ok=True)
            _copy_version(current, place / f"{stem}{current.suffix}")
            files += 1
            if current.code_digest is None:
                empty = not current.content_path.read_bytes().strip()
                why = "it is empty" if empty else "it cannot be read as a notebook"
                self._add_version_row(current, UNREADABLE, f"{why}; it is graded as unreadable.")
            for version in older:
                kept = f"{stem}.{_format_time(version.mtime)}.{version.file_digest[:8]}{version.suffix}"
                _copy_version(version, place / OLDER / kept)
                why = "is newer" if version.code_digest is not None else "can be read, and this one cannot"
                self._add_version_row(
                    version, OLD_VERSION, f"another {why}; this one is kept as {folder}/{OLDER}/{kept}."
                )
        for student in self.students:
            tries = self.content / f"{student.folder}.{PROGRESS}"
            if tries.exists() and (tree / student.folder).is_dir():
                shutil.copy2(tries, tree / student.folder / PROGRESS)
        self.rows += _shared_file_rows(self.versions)
        present = {version.student for version in self.versions}
        absent = [student for student in self.students if student not in present]
        unclear = "nothing was collected: a file may be theirs, see “not on the roster”."
        words = dict.fromkeys(self.unclear, unclear)
        self.rows += [IntakeRow(s.id, s.name, "", ABSENT, "", words.get(s, "handed in no lesson.")) for s in absent]
        order = {student.id: n for n, student in enumerate(self.students)}
        rows = sorted(
            dict.fromkeys(_merge_stranger_rows(self.rows)),
            key=lambda row: (order.get(row.id, len(order)), astuple(row)),
        )
        write_text(tree / INTAKE, format_csv([f.name for f in fields(IntakeRow)], map(astuple, rows)))
        write_text(tree / ROSTER, format_roster(self.students))
        stems = sorted({version.stem for version in self.versions})
        return CollectSummary(out, [s for s in self.students if s in present], stems, files, rows)

    def _add_version_row(self, version: SubmissionVersion, what: str, why: str) -> None:
        # What was kept before is named by where it lies, so that a second intake says the same.
        student = version.student
        self.rows.append(IntakeRow(student.id, student.name, version.stem, what, "", why))


def _shared_file_rows(versions: Sequence[SubmissionVersion]) -> Iterator[IntakeRow]:
    """A row for each file that several students handed in byte for byte, untouched copies of the course aside."""
    owners: dict[tuple[str, str, str], dict[str, Student]] = {}
    for version in versions:
        if version.code_digest is not None:
            key = (version.stem, version.file_digest, version.code_digest)
            owners.setdefault(key, {})[version.student.id] = version.student
    shared = {key: found for key, found in owners.items() if len(found) > 1}
    untouched = _handout_digests() if shared else set()
    for (stem, _, code), found in sorted(shared.items()):
        for student in found.values() if code not in untouched else ():
            others = _join_names(sorted(id for id in found if id != student.id))
            why = f"byte for byte the file of {others}; of a short lesson that may be chance."
            yield IntakeRow(student.id, student.name, stem, SAME_FILE, "", why)


def _handout_digests() -> set[str | None]:
    """The code of the copies as they are handed out."""
    copies = (lessons.ROOT / "course").glob("[0-9][0-9]_*.*")
    return {code_digest(path.read_bytes(), path.name) for path in copies}


def _join_names(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _merge_stranger_rows(rows: Iterable[IntakeRow]) -> Iterator[IntakeRow]:
    """The rows with one for each person who is not on the roster, instead of one for each of their files."""
    files: dict[str, list[IntakeRow]] = {}
    for row in rows:
        if row.what == STRANGER:
            files.setdefault(row.name, []).append(row)
        else:
            yield row
    for found in files.values():
        first, *others = found
        more = f" {len(others)} more files likewise." if others else ""
        yield IntakeRow(first.id, first.name, "", STRANGER, first.file, first.explanation + more)


def _has_usual_name(name: str, stem: str) -> bool:
    """Whether a file is called like its lesson, a number of the copy aside."""
    return _COPY.sub("", PurePosixPath(name).stem).strip().casefold() == stem.casefold()


def _lesson_files(folder: Path) -> list[Path]:
    """The versions that lie in a student's folder, older ones among them."""
    return sorted(p for p in (*folder.glob("[0-9][0-9]_*.*"), *folder.glob(f"{OLDER}/[0-9][0-9]_*.*")) if p.is_file())


def _format_time(when: float) -> str:
    return time.strftime("%Y-%m-%d-%H%M%S", time.localtime(when))


def _copy_version(version: SubmissionVersion, path: Path) -> None:
    shutil.copyfile(version.content_path, path)
    os.utime(path, (version.mtime, version.mtime))


def _read_rows(path: Path) -> list[IntakeRow]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        found = [[unguard_formula(cell) for cell in row] for row in csv.reader(file)]
    return [IntakeRow(*cells) for cells in found[1:] if len(cells) == len(fields(IntakeRow))]
