"""Collect `learning.json`: a good file is stored beside the lessons, a hostile one is reported, neither is graded."""

import json

import pytest
from typer.testing import CliRunner

from tests.grading.submission_files import (
    ADAS,
    MASK,
    ROSTER,
    SOFTMAX,
    edited_copy,
    intake_rows,
    read_tree,
    write_zip,
)
from utils.cli.commands import app
from utils.grading import engine
from utils.grading.intake.collect import CollectError, collect
from utils.grading.judge.submissions import student_folders
from utils.learning.sharing import MAX_BYTES, parse_shared

MINE = edited_copy()
EARLY, LATE = (2026, 3, 1, 12, 0, 0), (2026, 3, 2, 12, 0, 0)


def shared_file(course="0.3.0"):
    return json.dumps({"format": 1, "course": course, "attempts": [], "questions": [], "inventory": []}).encode()


GOOD, NEWER = shared_file(), shared_file("0.3.1")
HOSTILE = {
    "a wrong value": shared_file("=cmd|' /C calc'!A0"),
    "no JSON": b"PK\x03\x04",
    "a bomb": b"[" * MAX_BYTES,
    "too large": b" " * (MAX_BYTES + 1),
}


@pytest.fixture
def intake(tmp_path):
    """Return a function that collects files, {name in the zip: content}, into tmp_path/handed-in."""
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")

    def run(files):
        source = write_zip(tmp_path / "moodle.zip", files) if isinstance(files, dict) else files
        return collect([source], tmp_path / "roster.csv", tmp_path / "handed-in")

    return run


def shared_in(done):
    """Return the collected files, by student."""
    tree = read_tree(done.folder)
    return {name.split("/")[0]: content for name, content in tree.items() if name.endswith("/learning.json")}


@pytest.mark.parametrize(
    "name",
    [
        f"{ADAS}learning.json",
        f"{ADAS}course/learning.json",
        "lovelaceada_123_456_learning.json",
        "lovelaceada_123_456_learning-2.json",
        "s1/learning (1).json",
        "s1_learning.json",
        "s1/Learning.JSON",
    ],
)
def test_it_goes_to_its_student_beside_the_lessons(intake, name):
    done = intake({name: GOOD, f"{ADAS}{SOFTMAX}.ipynb": MINE})
    assert shared_in(done) == {"s1": GOOD} and done.shared_count == 1
    assert intake_rows(done) == [("s2", "", "absent"), ("s3", "", "absent")]


@pytest.mark.parametrize("name", ["machine_learning.json", "learning.json.bak", "deep-learning.json", "learning.jsonl"])
def test_other_names_are_not_taken_for_it(intake, name):
    done = intake({f"{ADAS}{name}": GOOD})
    assert shared_in(done) == {} and "no lesson in it" in [what for _, _, what in intake_rows(done)]


@pytest.mark.parametrize("content", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_file_is_reported_with_the_student_and_stops_nothing(intake, snapshot, content):
    done = intake({
        f"{ADAS}learning.json": content, f"{ADAS}{SOFTMAX}.ipynb": MINE, "s2/learning.json": GOOD, f"s3/{MASK}.md": b""
    })  # fmt: skip
    assert shared_in(done) == {"s2": GOOD} and f"s1/{SOFTMAX}.ipynb" in read_tree(done.folder)
    (row,) = [row for row in done.rows if row.what == "refused"]
    assert (row.id, row.name) == ("s1", "Ada Lovelace") and row.explanation == snapshot


def test_the_newest_valid_file_counts(intake):
    assert shared_in(intake({f"{ADAS}learning.json": (NEWER, LATE)})) == {"s1": NEWER}
    assert shared_in(intake({f"{ADAS}learning.json": (GOOD, EARLY)})) == {"s1": NEWER}
    assert shared_in(intake({f"{ADAS}learning.json": (b"{}", (2026, 3, 3, 0, 0, 0))})) == {"s1": NEWER}
    numbered = {f"lovelaceada_1_{n}_learning.json": (file, LATE) for n, file in ((9, GOOD), (8, NEWER))}
    assert shared_in(intake(numbered)) == {"s1": GOOD}, (
        "Canvas packs all files at one time; the upload's number decides"
    )


def test_again_changes_nothing(intake):
    files = {f"{ADAS}learning.json": GOOD, f"s2/{SOFTMAX}.ipynb": MINE, "s2/learning.json": b"{}"}
    first = read_tree(intake(files).folder)
    assert read_tree(intake(files).folder) == first
    done = intake({f"s3/{SOFTMAX}.ipynb": MINE})
    assert read_tree(done.folder)["s1/learning.json"] == GOOD and ("s2", "", "refused") in intake_rows(done)


def test_without_an_owner_it_is_not_collected_and_said(intake):
    done = intake({"Eve_1_assignsubmission_file_/learning.json": GOOD, f"s1/{SOFTMAX}.ipynb": MINE})
    assert shared_in(done) == {} and ("", "", "not on the roster") in intake_rows(done)


def test_a_file_of_a_student_who_left_the_roster_is_not_dropped(intake, tmp_path):
    done = intake({f"{ADAS}learning.json": GOOD})
    (tmp_path / "roster.csv").write_text("id,name\ns9,Eve\n", encoding="utf-8")
    with pytest.raises(CollectError, match="this roster has no such student"):
        intake({f"s9/{SOFTMAX}.ipynb": MINE})
    assert shared_in(done) == {"s1": GOOD}


def test_from_homes_and_from_the_exchange(tmp_path):
    (tmp_path / "roster.csv").write_text("id,name,hub user\ns1,Ada Lovelace,ada\ns2,Alan Turing,\n", encoding="utf-8")
    files = {
        "home/ada/attention/course/learning.json": GOOD,
        f"home/ada/attention/course/{SOFTMAX}.ipynb": MINE,
        "home/ada/attention/course/data.json": GOOD,
        "home/s2/attention/course/learning.json": b"[]",
        "inbound/s2+ps1+2026-03-01 12:00:00 UTC/learning.json": NEWER,
        "inbound/s2+ps2+2026-03-02 12:00:00 UTC/learning.json": GOOD,
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    homes = [str(tmp_path / "home/*/attention/course")]
    done = collect([tmp_path / "inbound"], tmp_path / "roster.csv", tmp_path / "handed-in", homes)
    assert shared_in(done) == {"s1": GOOD, "s2": GOOD}
    assert ("s2", "", "refused") in intake_rows(done)


def test_a_link_in_a_home_is_not_followed(tmp_path):
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")
    (tmp_path / "secret.json").write_bytes(GOOD)
    (tmp_path / "home" / "s1").mkdir(parents=True)
    (tmp_path / "home" / "s1" / "learning.json").symlink_to(tmp_path / "secret.json")
    done = collect([], tmp_path / "roster.csv", tmp_path / "handed-in", [str(tmp_path / "home/*")])
    assert shared_in(done) == {} and ("s1", "", "refused") in intake_rows(done)


def test_grading_ignores_it(intake, tmp_path):
    """Collect a class with and without these files. The submissions that are graded are the same."""
    lessons = {f"s1/{SOFTMAX}.ipynb": MINE, f"s2/{MASK}.ipynb": edited_copy(MASK)}
    stems = [SOFTMAX, MASK]
    without = list(engine.iter_submissions(intake(lessons).folder, stems, engine.Settings()))
    done = intake({f"s{n}/learning.json": GOOD for n in (1, 2, 3)})
    assert list(shared_in(done)) == ["s1", "s2", "s3"] and student_folders(done.folder) == ["s1", "s2"]
    assert list(engine.iter_submissions(done.folder, stems, engine.Settings())) == without
    assert ("s3", "", "absent") in intake_rows(done)


def test_the_command_says_how_many(intake, tmp_path):
    intake({f"{ADAS}learning.json": GOOD, f"{ADAS}{SOFTMAX}.ipynb": MINE})
    arguments = [str(tmp_path / "moodle.zip"), "--roster", str(tmp_path / "roster.csv"), "--out", str(tmp_path / "new")]
    said = CliRunner().invoke(app, ["collect", *arguments]).stdout
    assert "1 student handed in learning.json.\n" in said and "Next: coginst grade" in said
    intake({f"{ADAS}learning.json": GOOD})
    said = CliRunner().invoke(app, ["collect", *arguments[:-1], str(tmp_path / "other" / "handed-in")]).stdout
    assert f"Next: coginst report {tmp_path / 'other' / 'results'} --learning\n" in said


def test_what_is_stored_can_be_read_again(intake):
    done = intake({f"{ADAS}learning.json": NEWER})
    assert parse_shared((done.folder / "s1" / "learning.json").read_bytes()).course == "0.3.1"
