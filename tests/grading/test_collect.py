"""Test `collect`: the owner, lesson and version of each file, and a row of `intake.csv` for each oddity."""

import json
import os
import re
import unicodedata

import pytest
from typer.testing import CliRunner

from tests.grading.submission_files import (
    ADAS,
    CANVAS,
    MASK,
    ROSTER,
    SOFTMAX,
    edited_copy,
    intake_rows,
    lesson_files_in,
    read_tree,
    student_copy,
    write_zip,
)
from utils.cli.commands import app
from utils.grading.intake import archives
from utils.grading.intake import collect as collector
from utils.grading.intake.archives import ArchiveError
from utils.grading.intake.collect import CollectError, collect
from utils.grading.intake.folders import FolderError
from utils.grading.intake.lesson_detection import detect_lesson, known_lessons
from utils.grading.intake.roster import RosterError, Student, format_roster, read_roster
from utils.lessons import ROOT

KNOWN = known_lessons()
MINE, OTHER = edited_copy(), edited_copy(words="other")
ABSENT = [("s2", "", "absent"), ("s3", "", "absent")]


@pytest.fixture
def intake(tmp_path):
    """Return a function that collects files, {name in the zip: content}, into tmp_path/handed-in."""
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")

    def run(files, roster="roster.csv", **more):
        source = write_zip(tmp_path / "moodle.zip", files, **more) if isinstance(files, dict) else files
        return collect([source], tmp_path / roster, tmp_path / "handed-in")

    return run


# --- owners -------------------------------------------------------------------------------------------


def explanations(done, what):
    """Return the explanations of all rows with one category."""
    return [row.explanation for row in done.rows if row.what == what]


@pytest.mark.parametrize(
    "name",
    [
        f"Ada Lovelace_4711_assignsubmission_file_/{SOFTMAX}.ipynb",
        f"Ada Lovelace_4711_assignsubmission_file/{SOFTMAX}.ipynb",
        f"Ada Lovelace_4711_assignsubmission_file_{SOFTMAX}.ipynb",
        f"Lovelace Ada_4711_assignsubmission_file_/deeper/{SOFTMAX}.ipynb",
        f"lovelaceada_123_456_{SOFTMAX}.ipynb",
        f"lovelaceada_LATE_123_456_{SOFTMAX}.ipynb",
        f"submissions/lovelaceada_123_456_{SOFTMAX}.ipynb",
        f"s1/{SOFTMAX}.ipynb",
        f"week 2/S1/{SOFTMAX}.ipynb",
        f"Ada Lovelace/{SOFTMAX}.ipynb",
        f"s1_{SOFTMAX}.ipynb",
    ],
)
def test_a_file_goes_to_its_student(intake, name):
    done = intake({name: MINE})
    assert lesson_files_in(done.folder) == {f"s1/{SOFTMAX}.ipynb": MINE} and intake_rows(done) == ABSENT


def test_numbers_of_the_roster_come_before_names(intake, tmp_path):
    """Two students have the same name, so only the numbers of Canvas and Moodle identify them."""
    (tmp_path / "two.csv").write_text("id,name,canvas id,moodle id\ns1,Ada,1,71\ns2,Ada,2,72\n", encoding="utf-8")
    files = {f"ada_2_9_{SOFTMAX}.ipynb": MINE, f"Ada_71_assignsubmission_file_/{SOFTMAX}.ipynb": OTHER}
    assert lesson_files_in(intake(files, "two.csv").folder) == {
        f"s1/{SOFTMAX}.ipynb": OTHER,
        f"s2/{SOFTMAX}.ipynb": MINE,
    }


def test_two_students_of_one_name_are_not_guessed_at(intake, tmp_path, snapshot):
    (tmp_path / "two.csv").write_text('id,name\ns1,Ada Lovelace\ns2,"Lovelace, Ada"\n', encoding="utf-8")
    done = intake({f"{ADAS}{SOFTMAX}.ipynb": MINE}, "two.csv")
    assert lesson_files_in(done.folder) == {}
    assert explanations(done, collector.STRANGER) == snapshot
    assert explanations(done, collector.ABSENT) == snapshot
    (tmp_path / "worksheet.csv").write_text(
        "id,name,moodle id\ns1,Ada Lovelace,4711\ns2,Ada Lovelace,4712\n", encoding="utf-8"
    )
    again = intake({f"{ADAS}{SOFTMAX}.ipynb": MINE}, "worksheet.csv")
    assert list(lesson_files_in(again.folder)) == [f"s1/{SOFTMAX}.ipynb"]


def test_a_number_whose_student_has_another_name_is_reported(intake, tmp_path, snapshot):
    """The roster is the worksheet of another assignment, so its numbers belong to other students."""
    (tmp_path / "other.csv").write_text("id,name,moodle id\ns1,Ada Lovelace,1\ns2,Jürgen Groß,4711\n", encoding="utf-8")
    done = intake({f"{ADAS}{SOFTMAX}.ipynb": MINE}, "other.csv")
    (row,) = [row for row in done.rows if row.what == collector.OTHER_NAME]
    assert (row.id, row.lesson) == ("s2", SOFTMAX) and row.explanation == snapshot


def test_a_person_who_is_not_on_the_roster_is_one_row(intake, snapshot):
    name = "Eve_1_assignsubmission_file_/{}.ipynb"
    done = intake({name.format(SOFTMAX): MINE, name.format(MASK): edited_copy(MASK), "loose.ipynb": MINE})
    assert lesson_files_in(done.folder) == {}
    assert {row.name: row.explanation for row in done.rows if row.what == collector.STRANGER} == snapshot


# --- lessons ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lesson", KNOWN, ids=lambda lesson: lesson.stem)
def test_every_lesson_is_known_by_its_cells_and_by_its_exercises(lesson):
    text = (ROOT / "course" / f"{lesson.stem}.ipynb").read_text(encoding="utf-8")
    assert detect_lesson(text, KNOWN) == lesson.stem
    cells = json.loads(text)["cells"]
    without_ids = json.dumps([{"source": cell["source"]} for cell in cells])
    assert detect_lesson(without_ids, KNOWN) == lesson.stem
    assert detect_lesson((ROOT / "course" / f"{lesson.stem}.md").read_text(encoding="utf-8"), KNOWN) == lesson.stem
    assert detect_lesson(text[: 2 * len(text) // 3], KNOWN) == lesson.stem, "cut off"


def test_a_notebook_is_its_cells_though_it_holds_other_exercises():
    """A student copied answers of lesson 04 into the notebook of lesson 02."""
    notebook = json.loads(edited_copy())
    for cell in notebook["cells"]:
        cell["source"] = ""
    notebook["cells"][1]["source"] = (ROOT / "course" / f"{MASK}.md").read_text(encoding="utf-8")
    assert detect_lesson(json.dumps(notebook), KNOWN) == SOFTMAX


@pytest.mark.parametrize("text", ["", "{}", "check(row", "# My notes\nThen I ran check(softmax)."])
def test_what_is_no_lesson_is_none(text):
    assert detect_lesson(text, KNOWN) is None


@pytest.mark.parametrize(
    "name, odd",
    [
        (f"{SOFTMAX}.ipynb", False),
        (f"{SOFTMAX} (1).ipynb", False),
        (f"{SOFTMAX}-2.ipynb", False),
        (f"{SOFTMAX}.ipynb.txt", False),
        ("homework final.ipynb", True),
        ("04_causal_attention.ipynb", True),
    ],
)
def test_a_lesson_is_its_content_whatever_it_is_called(intake, name, odd):
    done = intake({f"{ADAS}{name}": edited_copy(ids=False)})
    assert list(lesson_files_in(done.folder)) == [f"s1/{SOFTMAX}.ipynb"]
    assert [row[2] for row in intake_rows(done) if row[0] == "s1"] == ["renamed"] * odd


def test_another_course_s_notebook_with_the_name_of_a_lesson_is_not_collected(intake, snapshot):
    notebook = student_copy()
    notebook["cells"] = [{"cell_type": "code", "metadata": {}, "source": "titanic = 1", "outputs": []}]
    named = f"{ADAS}{SOFTMAX}.ipynb"
    done = intake({named: json.dumps(notebook).encode()})
    assert lesson_files_in(done.folder) == {}
    (row,) = [row for row in done.rows if row.what == collector.NO_LESSON]
    assert row.id == "s1" and row.explanation == snapshot
    notebook["cells"][0]["source"] += "\n\ndef softmax(x, dim): ..."  # one of the six exercises
    done = intake({named: json.dumps(notebook).encode()})
    assert list(lesson_files_in(done.folder)) == [f"s1/{SOFTMAX}.ipynb"] and intake_rows(done) == ABSENT


def test_markdown_is_a_lesson_too(intake):
    text = (ROOT / "course" / f"{SOFTMAX}.md").read_bytes() + b"\nMine.\n"
    done = intake({f"{ADAS}02.md": text})
    assert lesson_files_in(done.folder) == {f"s1/{SOFTMAX}.md": text}


def test_files_without_a_lesson_are_not_collected(intake, snapshot):
    done = intake({f"{ADAS}report.pdf": b"%PDF", f"{ADAS}notes.md": b"# Notes", f"{ADAS}onlinetext.html": b"x"})
    assert lesson_files_in(done.folder) == {}
    assert sorted(row[2] for row in intake_rows(done)) == ["absent"] * 3 + ["no lesson in it"] * 3
    assert set(explanations(done, collector.NO_LESSON)) == snapshot


# --- versions -----------------------------------------------------------------------------------------

EARLY, LATE = (2026, 3, 1, 12, 0, 0), (2026, 3, 2, 12, 0, 0)


@pytest.mark.parametrize("swapped", [False, True])
def test_the_newer_version_counts_and_the_older_is_kept(intake, swapped):
    """The time decides, not the number in the file name."""
    times = (LATE, EARLY) if swapped else (EARLY, LATE)
    names = (f"{ADAS}{SOFTMAX}{more}.ipynb" for more in ("", " (1)"))
    done = intake({name: (content, time) for name, content, time in zip(names, (OTHER, MINE), times)})
    newer, older = (OTHER, MINE) if swapped else (MINE, OTHER)
    found = lesson_files_in(done.folder)
    assert found.pop(f"s1/{SOFTMAX}.ipynb") == newer and list(found.values()) == [older]
    assert next(iter(found)).startswith(f"s1/older/{SOFTMAX}.2026-03-01-120000.")
    assert ("s1", SOFTMAX, "older version") in intake_rows(done)


def test_of_canvas_s_the_later_upload_counts(intake):
    """All files in a zip of Canvas have the time of packing."""
    first, second = (f"lovelaceada_123_{upload}_{SOFTMAX}.ipynb" for upload in (999, 1000))
    done = intake({second: (MINE, EARLY), first: (OTHER, LATE)})
    assert lesson_files_in(done.folder)[f"s1/{SOFTMAX}.ipynb"] == MINE


def version_rows(done):
    """Return the rows about versions that do not count: (category, explanation without hashes)."""
    rows = [row for row in done.rows if row.what in ("older version", "unclear version")]
    return [(row.what, re.sub(r"\.[0-9a-f]{8}\.", ".HASH.", row.explanation)) for row in rows]


LOST = (1980, 1, 1, 0, 0, 0)  # programs that do not know a file's time store this one
PAIRS = {
    "the times differ": {f"{ADAS}a.ipynb": (MINE, LATE), f"{ADAS}b.ipynb": (OTHER, EARLY)},
    "equal times": {f"{ADAS}a (2).ipynb": (MINE, LATE), f"{ADAS}a (1).ipynb": (OTHER, LATE)},
    "one time is lost": {f"{ADAS}a.ipynb": (MINE, LATE), f"{ADAS}b.ipynb": (OTHER, LOST)},
    "both times are lost": {f"{ADAS}a (1).ipynb": (MINE, LOST), f"{ADAS}a.ipynb": (OTHER, (1980, 1, 1, 1, 0, 0))},
    "numbers of Canvas": {"lovelaceada_123_8_a.ipynb": (MINE, EARLY), "lovelaceada_123_7_a.ipynb": (OTHER, EARLY)},
}


@pytest.mark.parametrize("case", PAIRS)
def test_the_intake_says_which_version_counts_and_whether_that_is_certain(intake, tmp_path, case, snapshot):
    """It says the same after another source was collected, which does not contain these files."""
    done = intake(PAIRS[case])
    assert lesson_files_in(done.folder)[f"s1/{SOFTMAX}.ipynb"] == MINE
    (row,) = version_rows(done)
    assert row == snapshot
    mask = write_zip(tmp_path / "next.zip", {f"{ADAS}{MASK}.ipynb": edited_copy(MASK)})
    assert version_rows(intake(mask)) == [row]
    assert version_rows(intake(PAIRS[case])) == [row]


def test_overwriting_the_counted_version_as_the_row_says_settles_it(intake, tmp_path):
    done = intake(PAIRS["equal times"])
    (kept,) = (done.folder / "s1" / "older").iterdir()
    os.replace(kept, done.folder / "s1" / f"{SOFTMAX}.ipynb")
    mask = write_zip(tmp_path / "next.zip", {f"{ADAS}{MASK}.ipynb": edited_copy(MASK)})
    done = intake(mask)
    assert lesson_files_in(done.folder)[f"s1/{SOFTMAX}.ipynb"] == OTHER and version_rows(done) == []


def test_a_copy_s_number_decides_where_times_do_not(intake):
    done = intake({f"{ADAS}{SOFTMAX} (2).ipynb": MINE, f"{ADAS}{SOFTMAX} (1).ipynb": OTHER})
    assert lesson_files_in(done.folder)[f"s1/{SOFTMAX}.ipynb"] == MINE


def test_a_pair_of_one_code_is_one_version(intake):
    """A release contains each lesson as a notebook and as markdown; the notebook counts because it has outputs."""
    files = {f"{ADAS}{SOFTMAX}{end}": (ROOT / "course" / f"{SOFTMAX}{end}").read_bytes() for end in (".md", ".ipynb")}
    done = intake(files)
    assert list(lesson_files_in(done.folder)) == [f"s1/{SOFTMAX}.ipynb"] and intake_rows(done) == ABSENT


BROKEN = {
    "cut off": MINE[: len(MINE) // 2],
    "empty": b"",
    "not UTF-8": MINE.replace(b"Attention", b"Attenti\xf3n"),
    "nested deeply": b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "another format": b'{"nbformat": 3, "worksheets": []}',
    "no JSON": b"PK\x03\x04 nonsense",
    "cells that are none": b'{"nbformat": 4, "cells": [1, null]}',
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_collected_and_reported_as_unreadable(intake, case, snapshot):
    done = intake({f"{ADAS}{SOFTMAX}.ipynb": BROKEN[case]})
    assert lesson_files_in(done.folder) == {f"s1/{SOFTMAX}.ipynb": BROKEN[case]}
    assert intake_rows(done) == [("s1", SOFTMAX, "unreadable"), *ABSENT]
    assert explanations(done, collector.UNREADABLE) == snapshot


def test_a_readable_version_counts_before_a_newer_unreadable_one(intake, snapshot):
    done = intake({f"{ADAS}{SOFTMAX}.ipynb": (MINE, EARLY), f"{ADAS}{SOFTMAX} (1).ipynb": (b"{", LATE)})
    assert lesson_files_in(done.folder)[f"s1/{SOFTMAX}.ipynb"] == MINE
    (row,) = [row for row in done.rows if row.what == "older version"]
    assert re.sub(r"\d{4}-[-\d]+\.[0-9a-f]+", "TIME.HASH", row.explanation) == snapshot


def test_a_file_that_is_too_large_is_handed_in_and_unreadable(intake, monkeypatch, snapshot):
    """The student must not count as absent, and the row must give the reason."""
    monkeypatch.setattr(archives, "MAX_FILE", 1_000_000)
    done = intake({f"{ADAS}{SOFTMAX}.ipynb": bytes(2_000_000)})
    assert intake_rows(done) == [("s1", SOFTMAX, "refused"), ("s1", SOFTMAX, "unreadable"), *ABSENT]
    (content,) = lesson_files_in(done.folder).values()
    assert content.decode() == snapshot


# --- oddities -----------------------------------------------------------------------------------------


def test_equal_files_of_two_students_are_reported_unless_they_are_untouched(intake, snapshot):
    untouched = (ROOT / "course" / f"{MASK}.ipynb").read_bytes()
    files = {}
    for id in ("s1", "s2"):
        files |= {f"{id}/{SOFTMAX}.ipynb": MINE, f"{id}/{MASK}.ipynb": untouched}
    done = intake({**files, f"s3/{SOFTMAX}.ipynb": OTHER})
    assert intake_rows(done) == [(id, SOFTMAX, "same file as another's") for id in ("s1", "s2")]
    assert done.rows[0].explanation == snapshot


def test_an_equal_file_that_was_replaced_is_called_an_older_version(intake):
    """Alan hands in Ada's file, and later a file of his own."""
    intake({f"{id}/{SOFTMAX}.ipynb": MINE for id in ("s1", "s2")})
    later = intake({f"s2/{SOFTMAX}.ipynb": OTHER}, time=(2026, 3, 2, 12, 0, 0))
    ada, alan = explanations(later, collector.SAME_FILE)
    assert ada.startswith("It is byte for byte the same as the file of s2 (an older version), ")
    assert alan.startswith("An older version is byte for byte the same as the file of s1, ")


CLASS = [f"s{n}" for n in range(40)]
WORDS = {  # the words that each student of a class of forty adds to a lesson, and who is reported
    "a copied file": ({"s3": "rare", "s7": "rare"}, ["s3", "s7"]),
    "a file that three students share": (dict.fromkeys(CLASS[5:8], "rare"), ["s5", "s6", "s7"]),
    "the same answer of nearly everyone": (dict.fromkeys(CLASS[5:], "common"), []),
}


@pytest.mark.parametrize("case", WORDS)
def test_equal_files_are_reported_only_where_that_is_unusual(intake, tmp_path, case):
    words, reported = WORDS[case]
    (tmp_path / "class.csv").write_text("id,name\n" + "".join(f"{id},N {id}\n" for id in CLASS), encoding="utf-8")
    files = {f"{id}/{SOFTMAX}.ipynb": edited_copy(words=words.get(id, id)) for id in CLASS}
    assert [row.id for row in intake(files, "class.csv").rows if row.what == "same file as another's"] == reported


@pytest.mark.parametrize("share", [2, 10])
def test_two_students_may_choose_the_same_usual_answers(intake, tmp_path, share):
    """Each of three cells has an answer that one student in `share` writes; two students hand in all three."""
    (tmp_path / "class.csv").write_text("id,name\n" + "".join(f"{id},N {id}\n" for id in CLASS), encoding="utf-8")
    files = {}
    for number, id in enumerate(CLASS):
        words = [1 if number < 2 or (number + 3 * cell) % share == 0 else (number, cell) for cell in range(3)]
        notebook = json.loads(edited_copy(words=words[0]))
        notebook["cells"] += [notebook["cells"][-1] | {"source": f"y{n} = {words[n]!r}"} for n in (1, 2)]
        if number > 1:
            notebook["cells"].append(notebook["cells"][-1] | {"source": f"# {id}"})
        files[f"{id}/{SOFTMAX}.ipynb"] = json.dumps(notebook).encode()
    reported = [row.id for row in intake(files, "class.csv").rows if row.what == "same file as another's"]
    assert reported == ([] if share == 2 else ["s0", "s1"])


AWKWARD = {
    "../../etc": "Up",
    "a/b\\c": "Slash",
    '"; DROP TABLE': 'He said "no"',
    "=HYPERLINK(1)": '=HYPERLINK("http://x")',
    "<script>alert(1)</script>": "<img src=x onerror=alert(1)>",
    "x" * 300: "N" * 300,
    "line\nend": "Two\nlines",
}


def test_ids_and_names_that_mean_harm_do_none(intake, tmp_path):
    students = [Student(id, name) for id, name in AWKWARD.items()]
    (tmp_path / "awkward.csv").write_bytes(format_roster(students).encode())
    files = {f"{student.folder}/{SOFTMAX}.ipynb": edited_copy(words=student.id) for student in students}
    done = intake(files, "awkward.csv")
    inside = {path.split("/")[0] for path in lesson_files_in(done.folder)}
    assert inside == {student.folder for student in students} and len(inside) == len(AWKWARD)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["awkward.csv", "handed-in", "moodle.zip", "roster.csv"]
    assert read_roster(done.folder / "roster.csv") == students


def test_the_tables_hold_no_formula(intake, tmp_path):
    (tmp_path / "roster.csv").write_text("id,name\n=1+1,=HYPERLINK(1)\n", encoding="utf-8")
    done = intake({"=cmd_1_assignsubmission_file_/x.ipynb": b"x"})
    for name in ("intake.csv", "roster.csv"):
        text = (done.folder / name).read_text(encoding="utf-8")
        assert "=" in text and not [cell for line in text.splitlines() for cell in line.split(",") if cell[:1] == "="]


def test_progress_is_kept_for_the_reports(intake):
    done = intake({f"{ADAS}.progress.json": b"{}", f"{ADAS}{SOFTMAX}.ipynb": MINE})
    assert read_tree(done.folder)["s1/progress.json"] == b"{}" and intake_rows(done) == ABSENT


# --- the folder ---------------------------------------------------------------------------------------


def test_again_changes_nothing(intake):
    files = {
        f"{ADAS}{SOFTMAX}.ipynb": (MINE, LATE),
        f"{ADAS}old.ipynb": (OTHER, EARLY),
        f"{ADAS}x.pdf": b"x",
        f"{ADAS}progress.json": b"{}",
        "Eve_1_assignsubmission_file_/x.ipynb": MINE,
        f"s2/{SOFTMAX}.ipynb": b"{",
    }
    first = read_tree(intake(files).folder)
    assert read_tree(intake(files).folder) == first and len(first) == 6


def test_a_second_source_adds_to_the_first(intake, tmp_path):
    name = ADAS + "{}.ipynb"
    intake({name.format(SOFTMAX): (MINE, EARLY), "x/none.pdf": b""})
    mask = write_zip(tmp_path / "next.zip", {name.format(MASK): edited_copy(MASK)})
    done = intake(mask)
    assert list(lesson_files_in(done.folder)) == [f"s1/{SOFTMAX}.ipynb", f"s1/{MASK}.ipynb"]
    assert ("", "", "no lesson in it") in intake_rows(done), "the row about the first zip is kept"
    newer = write_zip(tmp_path / "third.zip", {name.format(SOFTMAX): (OTHER, LATE)})
    assert lesson_files_in(intake(newer).folder)[f"s1/{SOFTMAX}.ipynb"] == OTHER
    older = write_zip(
        tmp_path / "fourth.zip", {name.format(SOFTMAX): (edited_copy(words="oldest"), (2026, 2, 1, 0, 0, 0))}
    )
    assert lesson_files_in(intake(older).folder)[f"s1/{SOFTMAX}.ipynb"] == OTHER


def test_a_row_goes_when_its_reason_is_gone(intake, tmp_path):
    name = {"Eve_1_assignsubmission_file_/" + f"{SOFTMAX}.ipynb": MINE}
    assert "not on the roster" in dict.fromkeys(row[2] for row in intake_rows(intake(name)))
    (tmp_path / "roster.csv").write_text(ROSTER + "s4,Eve\n", encoding="utf-8")
    done = intake(name)
    assert f"s4/{SOFTMAX}.ipynb" in lesson_files_in(done.folder)
    assert "not on the roster" not in [row[2] for row in intake_rows(done)]


def test_nothing_is_written_when_something_stops_it(intake, tmp_path, snapshot):
    done = intake({f"s1/{SOFTMAX}.ipynb": MINE})
    before = read_tree(tmp_path)
    (tmp_path / "bad.zip").write_bytes(b"no zip")
    for sources, error in (
        ([tmp_path / "moodle.zip", tmp_path / "bad.zip"], ArchiveError),
        ([tmp_path / "none.zip"], ArchiveError),
        ([tmp_path], CollectError),
    ):
        with pytest.raises(error):
            collect(sources, tmp_path / "roster.csv", done.folder)
    (tmp_path / "other.csv").write_text("id,name\ns9,Eve\n", encoding="utf-8")
    with pytest.raises(CollectError) as error:
        collect([tmp_path / "moodle.zip"], tmp_path / "other.csv", done.folder)
    assert str(error.value).replace(str(tmp_path), "TMP") == snapshot
    with pytest.raises(RosterError):
        collect([tmp_path / "moodle.zip"], tmp_path / "none.csv", done.folder)
    for path in (tmp_path / "bad.zip", tmp_path / "other.csv"):
        path.unlink()
    assert read_tree(tmp_path) == before


def test_a_folder_with_other_contents_is_not_replaced(intake, tmp_path, snapshot):
    (tmp_path / "handed-in").mkdir()
    (tmp_path / "handed-in" / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(FolderError) as error:
        intake({f"s1/{SOFTMAX}.ipynb": MINE})
    assert str(error.value).replace(str(tmp_path), "TMP") == snapshot
    assert read_tree(tmp_path / "handed-in") == {"thesis.tex": b"years of work"}
    with pytest.raises(FolderError) as error:
        collect([tmp_path / "moodle.zip"], tmp_path / "roster.csv", tmp_path / "roster.csv")
    assert str(error.value).replace(str(tmp_path), "TMP") == snapshot


def test_a_crash_while_it_takes_its_place_leaves_the_old_one(intake, tmp_path, monkeypatch):
    first = read_tree(intake({f"s1/{SOFTMAX}.ipynb": MINE}).folder)
    real = os.replace
    calls = []

    def replace(old, new):
        calls.append(new)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        real(old, new)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="No space"):
        intake({f"s2/{SOFTMAX}.ipynb": OTHER})
    assert read_tree(tmp_path / "handed-in") == first and len(calls) == 3
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_command_says_what_it_did(tmp_path):
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")
    source = write_zip(tmp_path / "m.zip", {CANVAS.format(name="turingalan", file=f"{SOFTMAX}.ipynb"): MINE})
    run = lambda *more: CliRunner().invoke(app, ["collect", *map(str, more), "--out", str(tmp_path / "in")])
    done = run(source, "--roster", tmp_path / "roster.csv")
    assert done.exit_code == 0, done.output
    assert str(tmp_path / "in") in done.stdout and "absent 2" in done.stderr
    refused = run(tmp_path / "none.zip", "--roster", tmp_path / "roster.csv")
    assert refused.exit_code == 2 and len(refused.stderr.splitlines()) == 1 and "none.zip" in refused.stderr


def test_names_that_a_mac_has_decomposed_are_found(intake, tmp_path):
    """macOS writes "ö" as "o" and a separate mark; the roster has one character."""
    (tmp_path / "umlaut.csv").write_text("id,name\njörg,J. Müller\n", encoding="utf-8")
    folder = unicodedata.normalize("NFD", "jörg")
    done = intake({f"{folder}/02_simplified_attention.ipynb": MINE}, roster=tmp_path / "umlaut.csv")
    assert [student.id for student in done.students] == ["jörg"]
