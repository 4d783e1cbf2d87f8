"""Read and write rosters: the students of a class as CSV, exported by an LMS or typed by hand."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from utils.grading.intake.csv_tables import format_csv, unguard_formula
from utils.grading.runner.framing import clean_text

# The accepted names of each column in English and German, in lower case, without spaces, dots, hyphens or underscores.
HEADERS = {
    "id": "id studentid studentnumber studentno sid matriculationnumber matrikelnummer username anmeldename",
    "id number": "idnumber idnummer",  # a grading worksheet may also have a column "ID", which lists participants
    "name": "name fullname student studentname displayname vollständigername",
    "first": "firstname first givenname vorname",
    "last": "lastname last surname familyname nachname",
    "email": "email emailaddress mail emailadresse",
    "section": "section sections group groups gruppe gruppen",
    "canvas": "canvasid canvasuserid",
    "sis": "sisuserid sisid",
    "login": "sisloginid loginid login",
    "moodle": "moodleid moodlenumber identifier participant",
    "hub": "hubuser hubusername hub jupyterhub jupyterhubuser",
}
COLUMN = {spelling: column for column, spellings in HEADERS.items() for spelling in spellings.split()}
DELIMITERS = ",;\t"
# Moodle's grading worksheet can contain values such as "Participant 1234" in its "ID" column.
PARTICIPANT = re.compile(r"(Participant|Teilnehmer/in) ?\d+")
# names that Windows reserves, and names that could clash with a table such as roster.csv
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?|.*\.csv")


class RosterError(ValueError):
    """The roster cannot be used; the message says where the problem is and what to do."""


@dataclass(frozen=True)
class Student:
    """One row of the roster.

    Attributes:
        id: the unique id of the student at the university or in the LMS.
        name: the name as written in the roster, such as "Ada Lovelace" or "Lovelace, Ada".
        email: the email address; "" if the roster has none.
        section: the section or group; "" if the roster has none.
        canvas: Canvas's internal number of the student, which is part of the file names in its downloads.
        sis: Canvas's "SIS User ID".
        login: Canvas's "SIS Login ID".
        moodle: the number in Moodle's downloads (1234 for "Participant 1234" in a grading worksheet).
        hub: the user name on JupyterHub, if it differs from the id, the login and the email address.
    """

    id: str
    name: str
    email: str = ""
    section: str = ""
    canvas: str = ""
    sis: str = ""
    login: str = ""
    moodle: str = ""
    hub: str = ""

    @property
    def folder(self) -> str:
        """The name of the student's folder: the id if every system accepts it, otherwise a safe form of the id."""
        return safe_file_name(self.id)


def safe_file_name(text: str) -> str:
    """Return a file name that is valid on every system: `text` itself, or its plain letters and a hash of `text`."""
    if re.fullmatch(r"[A-Za-z0-9]([\w.@+-]{0,62}[\w@+-])?", text, re.ASCII) and not RESERVED.fullmatch(text):
        return text
    harmless = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:24]
    return f"{harmless or 'student'}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"


def name_keys(name: str) -> frozenset[str]:
    """Return keys of a name. Two spellings of a name share a key: "Ada O'Neill", "O’Neill, Ada" and "oneillada".

    One key is the sorted words. The other is for spellings without spaces: if the last name moves to the front, the
    letters are rotated, so the key is the first of all rotations in alphabetical order.
    """
    plain = re.sub(r"['’`]|[^\w\s,.\-“”\"]", "", unicodedata.normalize("NFKD", name).casefold())
    words = re.findall(r"[^\W_]+", plain)
    letters = "".join(words)
    rotation = min((letters[i:] + letters[:i] for i in range(len(letters))), default="")
    return frozenset((" ".join(sorted(words)), rotation))


def read_roster(path: str | Path) -> list[Student]:
    """Return the students in a roster, in its order.

    A roster is a comma-, semicolon- or tab-separated table with a header. It has the columns `id` and `name`, or the
    columns of an export from Canvas (gradebook), Moodle (participants, grades or grading worksheet) or Gradescope
    (roster). If a student has no id, the email address is used.

    Raises:
        RosterError: the file cannot be read or lacks these columns, or two students have the same id.
    """
    path = Path(path)
    (_, header), *rows = _rows(path)
    columns = _find_columns(header, path)
    students = []
    for number, row in rows:
        cells = {column: unguard_formula(row[i].strip()) for column, i in columns.items() if i < len(row)}
        if not any(cells.values()) or cells.get("name", "") in ("Points Possible", "Student, Test"):
            continue  # Canvas's gradebook has rows that are not students.
        students.append(_student(cells, f"{path}:{number}"))
    if not students:
        raise RosterError(f"{path} has a header but no students. Add a line for each student.")
    _require_unique_ids(students, path)
    return students


def format_roster(students: Iterable[Student]) -> str:
    """Return the students as CSV that `read_roster` can read."""
    students = list(students)
    spelling = {column: spellings.split()[0] for column, spellings in HEADERS.items()}
    shown = [f.name for f in fields(Student) if f.name in ("id", "name") or any(getattr(s, f.name) for s in students)]
    return format_csv([spelling[name] for name in shown], ([getattr(s, name) for name in shown] for s in students))


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows of the table with their line numbers; the first row is the header.

    Raises:
        RosterError: the file cannot be read, is not UTF-8, is not a CSV table or is empty.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RosterError(f"{path}: the roster cannot be read ({error.strerror}).") from None
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        raise RosterError(f"{path} is not UTF-8. Save it from the spreadsheet as “CSV UTF-8”.") from None
    text = unicodedata.normalize("NFC", clean_text(text))
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(DELIMITERS, key=first.count)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise RosterError(f"{path} is not a CSV table ({error}). Save the roster as CSV.") from None
    if not rows:
        raise RosterError(f"{path} is empty. A roster has a header such as id,name,email and a line for each student.")
    return rows


def _find_columns(header: list[str], path: Path) -> dict[str, int]:
    """Return the index of each known column.

    Raises:
        RosterError: the columns for the id or for the name are missing.
    """
    spelled = [re.sub(r"[\s._-]+", "", cell.casefold()) for cell in header]
    columns: dict[str, int] = {}
    for i, spelling in enumerate(spelled):
        if spelling in COLUMN:
            columns.setdefault(COLUMN[spelling], i)
    if "sis" in columns or "login" in columns:  # In Canvas's gradebook, "ID" is Canvas's internal number.
        columns |= {"canvas": columns.pop("id")} if "id" in columns and "canvas" not in columns else {}
    named = "name" in columns or "last" in columns
    if not named or not columns.keys() & {"id", "id number", "email", "canvas", "sis", "login"}:
        cells = ", ".join(repr(cell.strip()) for cell in header)
        raise RosterError(
            f"{path}: a roster needs the columns id and name (email, section and others are optional). Its first line"
            f" contains {cells}."
        )
    return columns


def _student(cells: Mapping[str, str], place: str) -> Student:
    if PARTICIPANT.fullmatch(cells.get("id", "")):
        cells = {**cells, "id": "", "moodle": cells["id"]}
    # Keep only the number in Moodle's "Participant 1234".
    numbers = re.findall(r"\d+", cells.get("moodle", ""))
    known = {column: cells.get(column, "") for column in ("email", "section", "canvas", "sis", "login", "hub")}
    ids = (cells.get("id"), cells.get("id number"), *(known[column] for column in ("sis", "login", "canvas", "email")))
    id = next(filter(None, ids), "")
    name = cells.get("name") or f"{cells.get('first', '')} {cells.get('last', '')}".strip()
    if not id or not name:
        lacking = "id" if not id else "name"
        raise RosterError(
            f"{place}: this student has no {lacking} ({id or name}). Add the {lacking} or delete the line."
        )
    return Student(id, name, **known, moodle=numbers[-1] if numbers else "")


def _require_unique_ids(students: list[Student], path: Path) -> None:
    """Check that all ids differ, even on a file system that ignores case.

    Raises:
        RosterError: two ids are equal or differ only in upper and lower case.
    """
    counts = Counter(student.folder.casefold() for student in students)
    twins = [student for student in students if counts[student.folder.casefold()] > 1]
    if twins:
        listing = "; ".join(f"{student.id} ({student.name})" for student in twins[:6])
        raise RosterError(f"{path}: ids must differ in more than upper and lower case. These do not: {listing}.")
