"""Test how rosters from people and LMSs are read, which ones are refused, and how ids become safe file names."""

import csv
import io
import re

import pytest

from utils.grading.intake.csv_tables import format_csv, guard_formula, unguard_formula
from utils.grading.intake.roster import RosterError, Student, format_roster, name_keys, read_roster, safe_file_name

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,Essay (771),Final Score
    Points Possible,,,,,10,(read only)
"Lovelace, Ada",123,u77,ada,A 1,7,90
"Turing, Alan",124,,alan,A 1,,
"Student, Test",125,,x,A 1,,
"""
MOODLE = """Identifier,Full name,ID number,Email address,Status,Grade
Participant 4711,Ada Lovelace,u77,ada@x.org,Submitted,
Participant 4712,Alan Turing,u78,alan@x.org,,
"""
GRADESCOPE = "First Name,Last Name,SID,Email,Sections\nAda,Lovelace,u77,ada@x.org,A\n"
READ = {
    "our own": ("id,name\nu77,Ada Lovelace\n", [Student("u77", "Ada Lovelace")]),
    "semicolons, a BOM and blanks": ("\ufeffID ; Name;E-Mail\nu77; Ada ;a@x\n\n;;\n", [Student("u77", "Ada", "a@x")]),
    "tabs": ("Id\tFull Name\nu77\tAda\n", [Student("u77", "Ada")]),
    "Canvas": (
        CANVAS,
        [
            Student("u77", "Lovelace, Ada", section="A 1", canvas="123", sis="u77", login="ada"),
            Student("alan", "Turing, Alan", section="A 1", canvas="124", login="alan"),
        ],
    ),
    "Moodle": (
        MOODLE,
        [
            Student("u77", "Ada Lovelace", "ada@x.org", moodle="4711"),
            Student("u78", "Alan Turing", "alan@x.org", moodle="4712"),
        ],
    ),
    "Moodle's participants, in German": (
        "Vorname;Nachname;ID-Nummer;E-Mail-Adresse;Gruppen\nAda;Lovelace;u77;ada@x.org;A\n",
        [Student("u77", "Ada Lovelace", "ada@x.org", "A")],
    ),
    "Moodle's grading worksheet, in German": (
        'ID,"Vollständiger Name",E-Mail-Adresse,Status\n"Teilnehmer/in 4711","Ada Lovelace",ada@x.org,-\n',
        [Student("ada@x.org", "Ada Lovelace", "ada@x.org", moodle="4711")],
    ),
    "Moodle's grading worksheet with ID numbers, in German": (
        'ID,"Vollständiger Name",ID-Nummer,E-Mail-Adresse\n"Teilnehmer/in 4711","Ada Lovelace",u77,ada@x.org\n',
        [Student("u77", "Ada Lovelace", "ada@x.org", moodle="4711")],
    ),
    "Gradescope": (GRADESCOPE, [Student("u77", "Ada Lovelace", "ada@x.org", "A")]),
    "an address for an id": ("name,email\nAda,ada@x.org\n", [Student("ada@x.org", "Ada", "ada@x.org")]),
}
REFUSED = {
    "no header": "u77,Ada\nu78,Alan\n",
    "no name": "id,email\nu77,a@x\n",
    "nobody": "id,name\n",
    "empty": "",
    "one id twice": "id,name\nu77,Ada\nU77,Alan\n",
    "a student without an id": "id,name\nu77,Ada\n,Alan\n",
    "a student without a name": "id,name\nu77,\n",
    "a cell too long for a table": "id,name\nu77," + "x" * 200_000,
    "not UTF-8": "id;name\nu77;Zoë\n".encode("cp1252"),
}


def write(tmp_path, content):
    path = tmp_path / "roster.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("case", READ)
def test_what_people_and_systems_export_is_read(tmp_path, case):
    text, students = READ[case]
    assert read_roster(write(tmp_path, text)) == students
    assert read_roster(write(tmp_path, text.lstrip("\ufeff").encode("utf-16"))) == students, "as Excel's Unicode text"


@pytest.mark.parametrize("case", READ)
def test_what_is_written_is_read_again(tmp_path, case):
    students = READ[case][1]
    assert read_roster(write(tmp_path, format_roster(students))) == students


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_roster_is_refused_in_a_line(tmp_path, case, snapshot):
    with pytest.raises(RosterError) as error:
        read_roster(write(tmp_path, REFUSED[case]))
    message = str(error.value).replace(str(tmp_path), "TMP")
    message = message.replace("field larger than field limit (131072)", "REASON")  # Python's own text
    assert "\n" not in message and message == snapshot


def test_a_missing_file_is_refused(tmp_path, snapshot):
    with pytest.raises(RosterError) as error:
        read_roster(tmp_path / "none.csv")
    assert str(error.value).replace(str(tmp_path), "TMP") == snapshot


AWKWARD = (
    "../../etc/passwd", "..", "a/b", "a\\b", ".hidden", '"quoted"', "=HYPERLINK(1)", "<b>x</b>", "x" * 300, "CON",
    "nul.txt", "roster.csv", "intake.csv", "ends.", "a b", "ü", "李", "a\nb", "a\0b", "-rf", "_", "",
)  # fmt: skip


def test_ids_make_folders_that_every_system_has():
    folders = [safe_file_name(id) for id in AWKWARD]
    for folder in folders:
        assert re.fullmatch(r"[A-Za-z0-9][\w.@+-]*[\w@+-]", folder, re.ASCII) and len(folder) <= 64
        assert folder.upper() not in ("CON", "NUL") and not folder.lower().endswith(".csv")
    assert len({folder.lower() for folder in folders}) == len(AWKWARD)


@pytest.mark.parametrize("id", ["s1234", "ada.lovelace", "ada@x.org", "A-1_b+c", "x" * 64, "7"])
def test_an_id_that_can_be_a_folder_is_one(id):
    assert safe_file_name(id) == id


@pytest.mark.parametrize(
    "other", ["Lovelace, Ada King", "lovelaceadaking", "KING Ada-Lovelace", "Ada “King” Lovelace", "Áda Kíng Lovelace"]
)
def test_one_name_is_the_same_however_a_system_writes_it(other):
    # NFKD makes an accent a separate character, which is removed together with the punctuation.
    assert name_keys(other) & name_keys("Ada King Lovelace") and not name_keys(other) & name_keys("Ada Kong Lovelace")


@pytest.mark.parametrize("one, other", [("Amira Khan", "Maria Khan"), ("Leo Nadim", "Noel Madi"), ("Ada O'Neill", "")])
def test_an_anagram_is_another_name(one, other):
    assert not name_keys(one) & name_keys(other)


@pytest.mark.parametrize("other", ["O’Neill, Ada", "oneillada", "ada-oneill", "ONeill Ada"])
def test_an_apostrophe_does_not_divide_a_name(other):
    assert name_keys("Ada O'Neill") & name_keys(other)


FORMULAS = ("=HYPERLINK(1)", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "  =1", "\uff1d1", "\uff201")


def read_back(text):
    """Write a table with one cell, and return the cells of its row when it is read again."""
    _, *rows = csv.reader(io.StringIO(format_csv(["x"], [[text]]), newline=""))
    assert len(rows) == 1
    return rows[0]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_is_a_formula(text):
    row = read_back(text)
    assert row[0].startswith("'") and unguard_formula(row[0]) == text


@pytest.mark.parametrize("text", ["Ada", "3.5", "O'Neill", "'quoted'", "", "a=b", 'say "x",\nnow'])
def test_other_cells_stay_as_they_are(text):
    assert (read_back(text) or [""]) == [text] and guard_formula(text) == text == unguard_formula(text)


def test_numbers_stay_numbers():
    assert format_csv(["x"], [[-1], [0.5]]) == "x\r\n-1\r\n0.5\r\n"
