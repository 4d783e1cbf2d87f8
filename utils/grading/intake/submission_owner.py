"""Find the student who owns a file, by the file's name in an LMS export or by a folder named after the student."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath

from utils.grading.intake.roster import Student, name_keys

# Moodle: "Ada Lovelace_1234_assignsubmission_file_/x.ipynb", or without folders
# "Ada Lovelace_1234_assignsubmission_file_x.ipynb". The number belongs to the participation, not to the student.
MOODLE = re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)", re.DOTALL)
# Canvas: "lovelaceada_LATE_123_456_x.ipynb", with the sortable name in lower case, the number of the student and the
# number of the upload.
CANVAS = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<number>\d+)_(?P<upload>\d+)_(?P<file>.+)", re.DOTALL)
# nbgrader's exchange: "ada+ps2+2026-03-01 12:00:00.123456 UTC", followed by "+" and random letters if the name
# must not be guessable.
NBGRADER = re.compile(r"(?P<name>.+)\+[^+]+\+(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[^+]*(\+[^+]*)?")


@dataclass(frozen=True)
class Owner:
    """The student who handed a file in.

    Attributes:
        student: the student; None if no student on the roster matches, or several students match.
        claimed_name: the student's name in the file's path.
        file_name: the file's name as the student uploaded it.
        upload_number: Canvas's number of the upload, which grows with time; 0 for other systems.
        reason: a sentence that says why there is no student, or how the name in the path differs from the student's.
        candidates: the students who match, if there are several.
        mtime: when the file was handed in, in seconds since 1970, if the path contains this time.
    """

    student: Student | None
    claimed_name: str
    file_name: str
    upload_number: int = 0
    reason: str = ""
    candidates: tuple[Student, ...] = ()
    mtime: float | None = None


class OwnerLookup:
    """Finds the student who owns the file at a path."""

    def __init__(self, students: Sequence[Student]) -> None:
        self._by = {
            "canvas": _group((s.canvas, s) for s in students),
            "moodle": _group((s.moodle, s) for s in students),
            "name": _group((key, s) for s in students for key in name_keys(s.name)),
        }
        self._plain = _group(
            (word.casefold(), s) for s in students for word in {s.id, s.folder, s.email, s.login, s.hub}
        )

    def find_owner(self, path: PurePosixPath) -> Owner:
        """Return the owner of the file at `path`, a path relative to the source."""
        for part in path.parts[:-1]:
            if match := NBGRADER.fullmatch(part):
                when = datetime.fromisoformat(f"{match['time']}+00:00").timestamp()
                return replace(self.find_user(match["name"], path.name), mtime=when)
        for part in path.parts:
            if match := MOODLE.fullmatch(part):
                file = match["file"] if part == path.name else path.name
                return self._match_lms_name(match["name"], match["number"], "moodle", file or path.name)
        if match := CANVAS.fullmatch(path.name):
            return self._match_lms_name(match["name"], match["number"], "canvas", match["file"], int(match["upload"]))
        for part in path.parts[:-1]:
            if owner := self._match_name(part, path.name):
                return owner
        # The file name itself may start with the id: "s1234_02.ipynb" or "s1234.ipynb".
        for end in re.finditer(r"[_. -]", path.name):
            if owner := self._match_name(path.name[: end.start()], path.name[end.end() :]):
                return owner
        called = path.parts[0] if len(path.parts) > 1 else path.stem
        return Owner(None, called, path.name, reason="Its path contains no id, email address or name from the roster.")

    def find_user(self, user: str, file: str) -> Owner:
        """Find the owner of a file by a user name on JupyterHub."""
        reason = f"The roster has no user {user}. Add a column “hub user” with the user names of the hub."
        return self._match_name(user, file) or Owner(None, user, file, reason=reason)

    def _named(self, name: str) -> list[Student]:
        """Return the students with this name."""
        return list(dict.fromkeys(s for key in sorted(name_keys(name)) for s in self._by["name"].get(key, ())))

    def _match_lms_name(self, name: str, number: str, system: str, file: str, upload: int = 0) -> Owner:
        """Find the student by the LMS's number if the roster contains this number, otherwise by the name."""
        if students := self._by[system].get(number):
            other = not name_keys(name) & name_keys(students[0].name)
            reason = f"The file's path names {name}, but {number} is the number of {students[0].name}." if other else ""
            return Owner(students[0], name, file, upload, reason)
        students = self._named(name)
        if len(students) == 1:
            return Owner(students[0], name, file, upload)
        called = f"{name} ({number})"
        if not students:
            return Owner(None, called, file, upload, f"Nobody on the roster has the name {name}.")
        cure = f"Add a column “canvas id” with {number} to the roster."
        if system == "moodle":  # Moodle assigns new numbers in each assignment.
            cure = "Collect this assignment separately, with its own grading worksheet as the roster."
        return _ambiguous_owner(students, called, file, cure, upload)

    def _match_name(self, text: str, file: str) -> Owner | None:
        """Find the student by an id, an email address, a login or a full name."""
        students = self._plain.get(text.casefold()) or self._named(text)
        if not text or not students:
            return None
        if len(students) == 1:
            return Owner(students[0], text, file)
        return _ambiguous_owner(students, text, file, "Name the folder after the id.")


def _ambiguous_owner(students: Sequence[Student], called: str, file: str, cure: str, upload: int = 0) -> Owner:
    ids = " and ".join(student.id for student in students)
    return Owner(None, called, file, upload, f"The students {ids} have the same name. {cure}", tuple(students))


def _group(pairs: Iterable[tuple[str, Student]]) -> Mapping[str, list[Student]]:
    """Group students by the text that is paired with each of them, and leave out empty texts."""
    groups: dict[str, list[Student]] = defaultdict(list)
    for text, student in pairs:
        if text:
            groups[text].append(student)
    return groups
