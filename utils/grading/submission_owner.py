"""Whose a file is: read off the names that an LMS gives to what it packs, or off a folder called like the student."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from utils.grading.roster import Student, name_key

# Moodle: "Ada Lovelace_1234_assignsubmission_file_/x.ipynb", or in one folder
# "Ada Lovelace_1234_assignsubmission_file_x.ipynb". The number is that of the participation, not of the student.
MOODLE = re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)", re.DOTALL)
# Canvas: "lovelaceada_LATE_123_456_x.ipynb": the sortable name in small letters, the student, the upload.
CANVAS = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<number>\d+)_(?P<upload>\d+)_(?P<file>.+)", re.DOTALL)


@dataclass(frozen=True)
class Owner:
    """Who handed a file in.

    Attributes:
        student: None where nobody, or more than one, on the roster can be meant.
        called: what the file's name calls them.
        file: the file's own name, as they uploaded it.
        upload: Canvas's number of the upload, which grows with time; 0 elsewhere.
        why: where there is no student, a sentence that says why; where there is one by a number and the file's name
            calls them otherwise, that.
        among: where several are called so, these.
    """

    student: Student | None
    claimed_name: str
    file_name: str
    upload_number: int = 0
    reason: str = ""
    candidates: tuple[Student, ...] = ()


class OwnerLookup:
    """Finds the student of a path."""

    def __init__(self, students: Sequence[Student]) -> None:
        self._by = {
            what: _group_students(students, what, key)
            for what, key in (("canvas", str), ("moodle", str), ("name", name_key))
        }
        self._plain: dict[str, list[Student]] = {}
        for student in students:
            for known in {student.id, student.folder, student.email, student.login} - {""}:
                self._plain.setdefault(known.casefold(), []).append(student)

    def find_owner(self, path: PurePosixPath) -> Owner:
        """The owner of the file at `path` in what an LMS packed, or in folders that are called like students."""
        for part in path.parts:
            if found := MOODLE.fullmatch(part):
                file = found["file"] if part == path.name else path.name
                return self._match_lms_name(found["name"], found["number"], "moodle", file or path.name)
        if found := CANVAS.fullmatch(path.name):
            return self._match_lms_name(found["name"], found["number"], "canvas", found["file"], int(found["upload"]))
        for part in path.parts[:-1]:
            if owner := self._match_name(part, path.name):
                return owner
        # A file of its own, "s1234_02.ipynb" or "s1234.ipynb".
        for end in re.finditer(r"[_. -]", path.name):
            if owner := self._match_name(path.name[: end.start()], path.name[end.end() :]):
                return owner
        called = path.parts[0] if len(path.parts) > 1 else path.stem
        return Owner(None, called, path.name, reason="its name says no student: no id, email or name of the roster.")

    def _match_lms_name(self, name: str, number: str, system: str, file: str, upload: int = 0) -> Owner:
        """By the system's number where the roster knows it, else by the name."""
        if found := self._by[system].get(number):
            other = name_key(name) != name_key(found[0].name)
            why = f"{number} is the number of {found[0].name}, and the file's name says {name}." if other else ""
            return Owner(found[0], name, file, upload, why)
        found = self._by["name"].get(name_key(name), [])
        if len(found) == 1:
            return Owner(found[0], name, file, upload)
        called = f"{name} ({number})"
        if not found:
            return Owner(None, called, file, upload, f"nobody on the roster is called {name}.")
        cure = f"give the roster a column “canvas id” with {number}"
        if system == "moodle":  # whose numbers are other ones in each assignment
            cure = "collect this assignment by itself, with its own grading worksheet as the roster"
        ids = " and ".join(student.id for student in found)
        return Owner(None, called, file, upload, f"{ids} are both called so; {cure}.", tuple(found))

    def _match_name(self, text: str, file: str) -> Owner | None:
        """By an id, an email address or a whole name."""
        found = self._plain.get(text.casefold()) or self._by["name"].get(name_key(text), [])
        if not text or not found:
            return None
        if len(found) == 1:
            return Owner(found[0], text, file)
        ids = " and ".join(student.id for student in found)
        return Owner(
            None, text, file, reason=f"{ids} are both called so; name the folder by the id.", candidates=tuple(found)
        )


def _group_students(students: Sequence[Student], what: str, key) -> dict[str, list[Student]]:
    groups: dict[str, list[Student]] = {}
    for student in students:
        if value := key(getattr(student, what)):
            groups.setdefault(value, []).append(student)
    return groups
