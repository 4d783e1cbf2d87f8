"""Sort the files of an LMS export into `handed-in/ID/NN_stem.ipynb`, and list every irregularity in `intake.csv`.

Files of earlier runs are kept, because the previous folder counts as an additional source. The zips of different
lessons can therefore be collected one after the other, and collecting the same files again changes nothing. The new
folder is written next to the old folder and then replaces it, so an interrupted run leaves the old folder unchanged.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path, PurePosixPath

from utils.grading.intake import archives, lesson_detection
from utils.grading.intake.archives import ArchiveError, SourceFile
from utils.grading.intake.csv_tables import format_csv, unguard_formula
from utils.grading.intake.folders import replace_folder, write_text
from utils.grading.intake.identical_files import changed_cells, find_identical_files
from utils.grading.intake.learner_records import PROGRESS, LearnerRecords, record_name
from utils.grading.intake.roster import Student, format_roster, read_roster
from utils.grading.intake.submission_owner import OwnerLookup
from utils.grading.intake.versions import (
    SubmissionVersion,
    code_digest,
    explain_choice,
    group_versions,
)
from utils.grading.judge import submissions
from utils.learning.sharing import FILE_NAME, SharedFileError, parse_shared

INTAKE, ROSTER, OLDER = "intake.csv", "roster.csv", "older"

ABSENT = "absent"
STRANGER = "not on the roster"
OTHER_NAME = "another name"
NO_LESSON = "no lesson in it"
REFUSED = "refused"
UNREADABLE = "unreadable"
RENAMED = "renamed"
OLD_VERSION = "older version"
UNCLEAR = "unclear version"
SAME_FILE = "same file as another's"
WORKED_OUT = (ABSENT, OLD_VERSION, UNCLEAR, SAME_FILE, UNREADABLE)  # derived from the collected files on every run

_LESSON_FILE = re.compile(r"(?P<half>.+\.(?:ipynb|md|markdown))(?:\.(?:txt|json))?", re.IGNORECASE)
_COPY = re.compile(r"[ (_-](\d{1,3})\)?$")  # "02_lesson (1)", "02_lesson-2": browsers and Canvas add numbers to copies


class CollectError(ValueError):
    """The files cannot be collected, and nothing was written; the message says why."""


@dataclass(frozen=True)
class IntakeRow:
    """A row of `intake.csv`: something that an instructor should know.

    Attributes:
        id: the student's id; "" if the student is unknown.
        name: the student's name; the name in the file's path if the student is unknown.
        lesson: the lesson's stem, or "".
        what: the category, one of this module's constants, such as "older version".
        file: the source and the path in it.
        explanation: a sentence on what was found and what was done with it.
    """

    id: str
    name: str
    lesson: str
    what: str
    file: str
    explanation: str


@dataclass
class CollectSummary:
    """The outcome of `collect`: the folder, the students and lessons in it, and the rows of `intake.csv`.

    `file_count` is the number of lesson files, and `shared_count` the number of `learning.json` files.
    """

    folder: Path
    students: list[Student]
    lessons: list[str]
    file_count: int
    shared_count: int
    rows: list[IntakeRow] = field(default_factory=list)

    @property
    def oddity_counts(self) -> Counter[str]:
        """The number of rows of `intake.csv` in each category."""
        return Counter(row.what for row in self.rows)


def collect(
    sources: Sequence[str | Path], roster: str | Path, out: str | Path, homes: Sequence[str] = ()
) -> CollectSummary:
    """Collect the lessons of a class into the folder `out`.

    Args:
        sources: folders or zips with the students' files.
        roster: a CSV file with the students.
        homes: the paths of the lessons in the homes of a hub, such as "/home/*/attention/course".

    Raises:
        CollectError: `out` is inside a source, or contains a student who is not on the roster.
        FolderError: `out` is a file, or a folder with other contents.
        RosterError: the roster cannot be used.
        ArchiveError: a source cannot be read at all. (A single unreadable file only becomes a row of `intake.csv`.)
    """
    out = Path(out)
    students = read_roster(roster)
    _refuse_nesting(out, [Path(source) for source in sources])
    with replace_folder(out, INTAKE) as tree, tempfile.TemporaryDirectory(dir=tree.parent) as content:
        intake = _Intake(students, Path(content))
        for source in sources:
            intake.add_source(archives.iter_files(source))
        for pattern in homes:
            intake.add_source(archives.iter_homes(pattern))
        intake.add_previous_intake(out)
        return intake.write(tree, out)


def _refuse_nesting(out: Path, sources: Sequence[Path]) -> None:
    for source in sources:
        if source.resolve() == out.resolve() or source.resolve() in out.resolve().parents:
            raise CollectError(f"{out} is inside {source}, which you collect from. Name a folder outside of it.")


class _Intake:
    """One run of `collect`: the versions of lessons found so far, and the rows of `intake.csv`."""

    def __init__(self, students: list[Student], content: Path) -> None:
        self.students, self.content = students, content
        self.owners, self.known = OwnerLookup(students), lesson_detection.known_lessons()
        self.versions: list[SubmissionVersion] = []
        self.records = LearnerRecords(content)
        self.rows: list[IntakeRow] = []
        self.previous_rows: list[IntakeRow] = []
        self.seen: set[str] = set()  # the locations of all files that this run has read
        self.unclear: set[Student] = set()  # each is one of several possible owners of a file

    # --- sources ------------------------------------------------------------------------------------

    def add_source(self, files: Iterable[SourceFile]) -> None:
        """Add all files of a source."""
        start = len(self.versions)
        for file in files:
            self.seen.add(file.location)
            self._add_file(file)
        added = self.versions[start:]
        # Canvas gives all files of a zip the time at which the zip was made. Only the upload numbers show their order.
        if any(version.upload_order[0] for version in added):
            packed = max(version.mtime for version in added)
            self.versions[start:] = [replace(version, mtime=packed) for version in added]

    def _add_file(self, file: SourceFile) -> None:
        owner = self.owners.find_user(file.user, file.path.name) if file.user else self.owners.find_owner(file.path)
        lesson_file, record = _LESSON_FILE.fullmatch(owner.file_name), record_name(owner.file_name)
        name = lesson_file["half"] if lesson_file else owner.file_name
        stem = lesson_detection.lesson_from_name(name, self.known)
        student = owner.student

        def add_row(what: str, why: str) -> None:
            id, shown = (student.id, student.name) if student else ("", owner.claimed_name)
            self.rows.append(IntakeRow(id, shown, stem or "", what, file.location, why))

        if file.refusal and not (lesson_file and student and stem):
            add_row(REFUSED, file.refusal)
            return
        mtime = file.mtime if owner.mtime is None else owner.mtime
        if record and student:
            try:
                content = file.read()
                if record == FILE_NAME:
                    parse_shared(content)
                self.records.add(student, record, content, mtime, owner.upload_number)
            except (ArchiveError, SharedFileError) as error:
                if record == FILE_NAME:  # students do not know that they hand in progress.json
                    add_row(REFUSED, f"{error} This file was not collected.")
            return
        if lesson_file is None and record != FILE_NAME:
            add_row(NO_LESSON, "A lesson is a .ipynb or .md file. This file was not collected.")
            return
        if student is None:
            self.unclear.update(owner.candidates)
            add_row(STRANGER, f"{owner.reason} The file was not collected.")
            return
        if owner.reason:
            add_row(
                OTHER_NAME,
                f"{owner.reason} It was collected for {student.name}. Does the roster belong to another assignment?",
            )
        suffix = ".ipynb" if name.lower().endswith(".ipynb") else ".md"
        try:
            if file.refusal:
                raise ArchiveError(file.refusal)
            content = file.read()
        except ArchiveError as error:
            add_row(REFUSED, str(error))
            if stem is None:
                return
            # The student handed something in, so the lesson must count as unreadable, not as absent.
            content = f"{submissions.NOT_COLLECTED}{error}".encode()
        else:
            stem_in_name, stem = stem, self._detect_lesson(content, stem, suffix)
            if stem is None:
                why = (
                    f"Its name is that of lesson {stem_in_name[:2]}, but it contains no exercise of that lesson."
                    if stem_in_name
                    else "It contains no exercise of any lesson."
                )
                add_row(NO_LESSON, f"{why} The file was not collected.")
                return
        if not _has_usual_name(name, stem):
            add_row(RENAMED, f"Its contents show that it is {stem}.")
        copy = _COPY.search(PurePosixPath(name).stem)
        number = (owner.upload_number, int(copy[1]) if copy else 0)
        self._add_version(student, stem, suffix, content, file.location, mtime, number)
        added = self.versions[-1]
        if file.user and added.code_digest is not None and not changed_cells(added):
            self.versions.pop()  # Each home contains all lessons. An unchanged lesson does not count as handed in.

    def _detect_lesson(self, content: bytes, called: str | None, suffix: str) -> str | None:
        """Return the stem of the lesson in a file, or None.

        If the content does not identify the lesson, the file's name decides. A readable file must then also mention an
        exercise of that lesson.
        """
        text = content.decode("utf-8", "replace")
        if stem := lesson_detection.detect_lesson(text, self.known):
            return stem
        broken = code_digest(content, f"lesson{suffix}") is None
        return called if called and (broken or lesson_detection.mentions_lesson(text, called, self.known)) else None

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
        """Add the files in `out`, and the rows of its `intake.csv` about files that the new sources do not contain.

        Raises:
            CollectError: `out` contains a student who is not on the roster.
        """
        by_folder = {student.folder: student for student in self.students}
        for folder in sorted(out.iterdir()) if out.is_dir() else ():
            paths, student = _lesson_files(folder), by_folder.get(folder.name)
            records = [path for name in (PROGRESS, FILE_NAME) if (path := folder / name).is_file()]
            if student is None:
                if paths or records:
                    raise CollectError(
                        f"{folder} was collected earlier, but this roster has no such student. Add the student to the"
                        " roster, or collect into another folder."
                    )
                continue
            for path in paths:
                stem = path.name.split(".")[0]
                place = f"{out.name}: {path.relative_to(out).as_posix()}"
                # If the times are equal, the previously chosen version is kept.
                current = (0, int(path.parent == folder))
                self._add_version(student, stem, path.suffix, path.read_bytes(), place, path.stat().st_mtime, current)
            for path in records:
                self.records.add(student, path.name, path.read_bytes(), path.stat().st_mtime)
        self.previous_rows = _read_rows(out / INTAKE)
        self.rows += [row for row in self.previous_rows if row.file not in self.seen and row.what not in WORKED_OUT]

    # --- the folder -----------------------------------------------------------------------------------

    def write(self, tree: Path, out: Path) -> CollectSummary:
        """Write the new intake into the folder `tree`, which will be renamed to `out`."""
        files = 0
        for (folder, stem), versions in group_versions(self.versions).items():
            current, *older = versions
            place = tree / folder
            (place / OLDER if older else place).mkdir(parents=True, exist_ok=True)
            _copy_version(current, place / f"{stem}{current.suffix}")
            files += 1
            if current.code_digest is None:
                why = f"{_unreadable_reason(current.content_path.read_bytes())}, and will be graded as unreadable."
                self.rows.append(_student_row(current.student, stem, UNREADABLE, why))
            for version in older:
                when = time.strftime("%Y-%m-%d-%H%M%S", time.localtime(version.mtime))
                kept = f"{stem}.{when}.{version.file_digest[:8]}{version.suffix}"
                _copy_version(version, place / OLDER / kept)
                self.rows.append(_version_row(current, version, f"{folder}/{OLDER}/{kept}", self.previous_rows))
        shared_count = self.records.write(self.students, tree)
        for version, why in find_identical_files(self.versions):
            self.rows.append(_student_row(version.student, version.stem, SAME_FILE, why))
        present = {version.student for version in self.versions}
        ambiguous = "No lesson was collected. A file may belong to this student; see the rows “not on the roster”."
        for student in self.students:
            if student not in present:
                why = ambiguous if student in self.unclear else "Handed in no lesson."
                self.rows.append(_student_row(student, "", ABSENT, why))
        order = {student.id: n for n, student in enumerate(self.students)}
        rows = sorted(
            dict.fromkeys(_merge_stranger_rows(self.rows)),
            key=lambda row: (order.get(row.id, len(order)), astuple(row)),
        )
        write_text(tree / INTAKE, format_csv([f.name for f in fields(IntakeRow)], map(astuple, rows)))
        write_text(tree / ROSTER, format_roster(self.students))
        stems = sorted({version.stem for version in self.versions})
        return CollectSummary(out, [s for s in self.students if s in present], stems, files, shared_count, rows)


def _unreadable_reason(content: bytes) -> str:
    try:
        content.decode()
    except UnicodeDecodeError:
        return "Its encoding is not UTF-8"
    return "It cannot be read as a lesson" if content.strip() else "It is empty"


def _student_row(student: Student, stem: str, what: str, why: str) -> IntakeRow:
    # The row contains no file name. A second run reads the version from another file, in `out`, but should write the
    # same row.
    return IntakeRow(student.id, student.name, stem, what, "", why)


def _version_row(current: SubmissionVersion, other: SubmissionVersion, kept: str, known: list[IntakeRow]) -> IntakeRow:
    """Return the row of `intake.csv` for a version that is kept but not graded.

    Args:
        known: the rows of an earlier intake. Its sources may have shown which version is newer.
    """
    is_clear, why = explain_choice(current, other, kept)
    if not is_clear and (earlier := [row for row in known if row.what == OLD_VERSION and kept in row.explanation]):
        return earlier[0]
    return _student_row(other.student, other.stem, OLD_VERSION if is_clear else UNCLEAR, why)


def _merge_stranger_rows(rows: Iterable[IntakeRow]) -> Iterator[IntakeRow]:
    """Yield the rows, but only one row for all files of a person who is not on the roster."""
    files: dict[str, list[IntakeRow]] = defaultdict(list)
    for row in rows:
        if row.what == STRANGER:
            files[row.name].append(row)
        else:
            yield row
    for first, *others in files.values():
        count = f"{len(others)} other file" + ("s have" if len(others) > 1 else " has")
        more = f" {count} the same problem." if others else ""
        yield replace(first, lesson="", explanation=first.explanation + more)


def _has_usual_name(name: str, stem: str) -> bool:
    """Return whether a file has its lesson's name, ignoring a copy number."""
    return _COPY.sub("", PurePosixPath(name).stem).strip().casefold() == stem.casefold()


def _lesson_files(folder: Path) -> list[Path]:
    """Return the lesson files in a student's folder, including older versions."""
    return sorted(p for p in (*folder.glob("[0-9][0-9]_*.*"), *folder.glob(f"{OLDER}/[0-9][0-9]_*.*")) if p.is_file())


def _copy_version(version: SubmissionVersion, path: Path) -> None:
    shutil.copyfile(version.content_path, path)
    os.utime(path, (version.mtime, version.mtime))


def _read_rows(path: Path) -> list[IntakeRow]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = [[unguard_formula(cell) for cell in row] for row in csv.reader(file)]
    return [IntakeRow(*cells) for cells in rows[1:] if len(cells) == len(fields(IntakeRow))]
