"""Who is in the class: a roster as an LMS exports it, or as somebody typed it."""

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

from utils.grading.csv_tables import format_csv, unguard_formula

# What each column may be called, in English or German, in small letters and without blanks, dots or hyphens.
HEADERS = {
    "id": "id studentid studentnumber studentno idnumber idnummer sid matriculationnumber matrikelnummer username"
    " anmeldename",
    "name": "name fullname student studentname displayname vollständigername",
    "first": "firstname first givenname vorname",
    "last": "lastname last surname familyname nachname",
    "email": "email emailaddress mail emailadresse",
    "section": "section sections group groups gruppe gruppen",
    "canvas": "canvasid canvasuserid",
    "sis": "sisuserid sisid",
    "login": "sisloginid loginid login",
    "moodle": "moodleid moodlenumber identifier participant",
}
COLUMN = {spelling: column for column, spellings in HEADERS.items() for spelling in spellings.split()}
DELIMITERS = ",;\t"
PARTICIPANT = re.compile(r"(Participant|Teilnehmer/in) ?\d+")  # Moodle's grading worksheet, which has it under "ID" too
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?|.*\.csv")  # names that are no folder on Windows; ours


class RosterError(ValueError):
    """The roster cannot be used; the message says where and what to do."""


@dataclass(frozen=True)
class Student:
    """One line of the roster.

    Attributes:
        id: what the university or the LMS calls the student; unique.
        name: as it is written there, "Ada Lovelace" or "Lovelace, Ada".
        email, section: empty where the roster has none.
        canvas: Canvas's own number of the student, which stands in the names of its downloads.
        sis: Canvas's "SIS User ID".
        login: Canvas's "SIS Login ID".
        moodle: the number that Moodle's downloads give the student ("Participant 1234" of a grading worksheet).
    """

    id: str
    name: str
    email: str = ""
    section: str = ""
    canvas: str = ""
    sis: str = ""
    login: str = ""
    moodle: str = ""

    @property
    def folder(self) -> str:
        """The id as the name of a folder on every system: itself where it can be one."""
        return safe_file_name(self.id)


def safe_file_name(text: str) -> str:
    """`text` as the name of a file or a folder: itself, or its harmless letters and a hash of the whole."""
    if re.fullmatch(r"[A-Za-z0-9]([\w.@+-]{0,62}[\w@+-])?", text, re.ASCII) and not RESERVED.fullmatch(text):
        return text
    harmless = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:24]
    return f"{harmless or 'student'}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"


def name_key(name: str) -> str:
    """What is the same of a name however it is ordered and joined: "Ada O'Neill", "O’Neill, Ada" and "oneillada"."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(sorted(letter for letter in plain if letter.isalnum()))


def read_roster(path: str | Path) -> list[Student]:
    """The students in a roster, in its order.

    A roster is a table with a header in comma-, semicolon- or tab-separated text: columns `id` and `name`, or what an
    export of Canvas's gradebook, of Moodle's participants, grades or grading worksheet, or of Gradescope's roster calls
    them. Without an id the email address is one.

    Raises:
        RosterError: it cannot be read, has no such columns, or two students have one id.
    """
    path = Path(path)
    header, *rows = _rows(path)
    columns = _find_columns(header, path)
    students = []
    for number, row in rows:
        cells = {column: unguard_formula(row[i].strip()) for column, i in columns.items() if i < len(row)}
        if not any(cells.values()) or cells.get("name", "") in ("Points Possible", "Student, Test"):
            continue  # Canvas's rows that are no student
        students.append(_student(cells, f"{path}:{number}"))
    if not students:
        raise RosterError(f"{path} has a header and no student below it.")
    _require_unique_ids(students, path)
    return students


def format_roster(students: Iterable[Student]) -> str:
    """A roster that `read_roster` reads, as CSV."""
    students = list(students)
    spelling = {column: spellings.split()[0] for column, spellings in HEADERS.items()}
    shown = [f.name for f in fields(Student) if f.name in ("id", "name") or any(getattr(s, f.name) for s in students)]
    return format_csv([spelling[name] for name in shown], ([getattr(s, name) for name in shown] for s in students))


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """The lines of the table with their numbers, the header first."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RosterError(f"{path}: the roster cannot be read ({error.strerror}).") from None
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        raise RosterError(f"{path} is not UTF-8: in the spreadsheet, save it as “CSV UTF-8”.") from None
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(DELIMITERS, key=first.count)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise RosterError(f"{path} is no table of text ({error}); save the roster as CSV.") from None
    if not rows:
        raise RosterError(f"{path} is empty; a roster has a header such as id,name,email and a line for each student.")
    return rows


def _find_columns(header: tuple[int, list[str]], path: Path) -> dict[str, int]:
    """Where each column stands."""
    spelled = [re.sub(r"[\s._-]+", "", cell.casefold()) for cell in header[1]]
    columns: dict[str, int] = {}
    for i, spelling in enumerate(spelled):
        if spelling in COLUMN:
            columns.setdefault(COLUMN[spelling], i)
    if "sis" in columns or "login" in columns:  # Canvas's gradebook: its "ID" is its own
        columns |= {"canvas": columns.pop("id")} if "id" in columns and "canvas" not in columns else {}
    named = "name" in columns or "last" in columns
    if not named or not columns.keys() & {"id", "email", "canvas", "sis", "login"}:
        found = ", ".join(repr(cell.strip()) for cell in header[1])
        raise RosterError(
            f"{path}: a roster has the columns id and name (email, section and others may follow); the first line has"
            f" {found}."
        )
    return columns


def _student(cells: Mapping[str, str], place: str) -> Student:
    if PARTICIPANT.fullmatch(cells.get("id", "")):
        cells = {**cells, "id": "", "moodle": cells["id"]}
    # Of Moodle's "Participant 1234" the number.
    numbers = re.findall(r"\d+", cells.get("moodle", ""))
    known = {column: cells.get(column, "") for column in ("email", "section", "canvas", "sis", "login")}
    id = cells.get("id") or known["sis"] or known["login"] or known["canvas"] or known["email"]
    name = cells.get("name") or f"{cells.get('first', '')} {cells.get('last', '')}".strip()
    if not id or not name:
        lacking = "id" if not id else "name"
        raise RosterError(f"{place}: this student has no {lacking} ({id or name}); add it, or take the line out.")
    return Student(id, name, **known, moodle=numbers[-1] if numbers else "")


def _require_unique_ids(students: list[Student], path: Path) -> None:
    """Ids that a file system may take for one are one."""
    counts = Counter(student.folder.casefold() for student in students)
    twins = [student for student in students if counts[student.folder.casefold()] > 1]
    if twins:
        told = "; ".join(f"{student.id} ({student.name})" for student in twins[:6])
        raise RosterError(f"{path}: ids must differ, and in more than capital letters. These do not: {told}.")
