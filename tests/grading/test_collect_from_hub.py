"""Test collecting from the homes of a hub, where each user can write files and links, and from nbgrader's exchange."""

import errno
import json
import os

import pytest
from typer.testing import CliRunner

from tests.grading.submission_files import SOFTMAX, edited_copy, intake_rows, lesson_files_in, student_copy
from tests.instructor.small_course import git, write_small_course
from utils.cli.commands import app
from utils.grading.intake.archives import ArchiveError
from utils.grading.intake.collect import collect
from utils.instructor.publish import publish
from utils.lessons import ROOT

ROSTER = "id,name,hub user\ns1,Ada Lovelace,ada\ns2,Alan Turing,\n"
MINE, OTHER, THIRD = (edited_copy(words=words) for words in ("mine", "other", "third"))
HOUR = 3600


@pytest.fixture
def hub(tmp_path):
    """Return a function that writes homes, {path: content}, and collects the lessons in `course`."""
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")

    def run(files, pattern="home/*/attention/course"):
        write_files(tmp_path, files)
        return collect([], tmp_path / "roster.csv", tmp_path / "handed-in", [str(tmp_path / pattern)])

    return run


def write_files(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def lesson_at(home, name=f"{SOFTMAX}.ipynb"):
    return f"home/{home}/attention/course/{name}"


def test_each_home_belongs_to_a_student(hub):
    """The roster names Ada's user; Alan's user name is his id."""
    done = hub({lesson_at("ada"): MINE, lesson_at("s2"): OTHER})
    assert lesson_files_in(done.folder) == {f"s1/{SOFTMAX}.ipynb": MINE, f"s2/{SOFTMAX}.ipynb": OTHER}
    assert intake_rows(done) == []


def test_the_name_of_a_home_may_be_longer_than_the_user_s(hub):
    """The Littlest JupyterHub calls the home of its user ada jupyter-ada."""
    done = hub({lesson_at("jupyter-ada"): MINE, lesson_at("root"): OTHER}, "home/jupyter-*/attention/course")
    assert lesson_files_in(done.folder) == {f"s1/{SOFTMAX}.ipynb": MINE}


def test_a_pattern_may_name_one_lesson(hub):
    files = {lesson_at("ada"): MINE, lesson_at("ada", "04_causal_attention.ipynb"): edited_copy("04_causal_attention")}
    done = hub(files, f"home/*/attention/course/{SOFTMAX[:2]}_*.ipynb")
    assert list(lesson_files_in(done.folder)) == [f"s1/{SOFTMAX}.ipynb"]


def test_lessons_without_a_change_were_not_handed_in(hub):
    """A pull puts every lesson into every home. A run of the cells changes outputs, but no cell."""
    notebook = student_copy()
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["execution_count"] = 1
    text = (ROOT / "course" / f"{SOFTMAX}.md").read_bytes()
    done = hub({
        lesson_at("ada"): json.dumps(notebook).encode(), lesson_at("ada", f"{SOFTMAX}.md"): text, lesson_at("s2"): MINE
    })  # fmt: skip
    assert lesson_files_in(done.folder) == {f"s2/{SOFTMAX}.ipynb": MINE}
    assert intake_rows(done) == [("s1", "", "absent")]


@pytest.mark.parametrize("known", [True, False])
def test_unchanged_lessons_of_an_earlier_release_were_not_handed_in(hub, tmp_path, monkeypatch, known):
    """Ada did not pull the second release. Without its history, her copy would differ from the lesson."""
    clone = tmp_path / "clone"
    write_small_course(clone)
    for name, value in {"user.name": "Ada", "user.email": "ada@example.org"}.items():
        git(clone, "config", name, value)
    path, first = clone / "solutions" / f"{SOFTMAX}.md", (ROOT / "solutions" / f"{SOFTMAX}.md").read_text("utf-8")
    for text in (first, first.replace("## Recap", "## Recap\n\nA sentence of the second release.")):
        path.write_text(text, encoding="utf-8")
        if known or text != first:
            publish("hub", root=clone)
    monkeypatch.setattr("utils.lessons.ROOT", clone)
    done = hub({lesson_at("ada"): json.dumps(student_copy()).encode(), lesson_at("s2"): MINE})
    assert list(lesson_files_in(done.folder)) == [*([] if known else [f"s1/{SOFTMAX}.ipynb"]), f"s2/{SOFTMAX}.ipynb"]


def test_of_a_course_folder_only_lessons_and_progress_are_collected(hub):
    others = (".updates.json", ".workspaces/lab.json", "data.csv", "picture.png", ".backup/02_simplified_attention.md")
    files = {lesson_at("ada", name): MINE for name in others}
    done = hub({lesson_at("ada"): MINE, lesson_at("ada", ".progress.json"): b"{}"} | files)
    assert lesson_files_in(done.folder) == {f"s1/{SOFTMAX}.ipynb": MINE, "s1/progress.json": b"{}"}
    assert intake_rows(done) == [("s2", "", "absent")]


def test_a_file_that_names_another_student_belongs_to_its_home(hub):
    """Everywhere else, such a name comes from an LMS. In a home, it comes from the home's user."""
    exchange = "s2+02+2026-03-01 12:00:00 UTC"
    names = (f"alanturing_9_9_{SOFTMAX}.ipynb", f"s2_{SOFTMAX}.ipynb", f"s2/{SOFTMAX}.ipynb", f"{exchange}/x.ipynb")
    done = hub({lesson_at("ada", name): edited_copy(words=name) for name in names})
    assert {name.split("/")[0] for name in lesson_files_in(done.folder)} == {"s1"}


def test_a_user_who_is_not_on_the_roster_is_one_row(hub, snapshot):
    done = hub({lesson_at("eve"): MINE, lesson_at("eve", "04_causal_attention.ipynb"): MINE})
    assert lesson_files_in(done.folder) == {}
    assert [(row.name, row.explanation) for row in done.rows if row.what == "not on the roster"] == snapshot


@pytest.mark.parametrize("link", ["home/ada/attention", "home/ada/attention/course", lesson_at("ada")])
def test_a_link_to_the_work_of_another_user_is_refused(hub, tmp_path, link):
    write_files(tmp_path, {lesson_at("s2"): MINE})
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(tmp_path / link.replace("ada", "s2"))
    done = hub({})
    collected = lesson_files_in(done.folder)
    assert collected.pop(f"s2/{SOFTMAX}.ipynb") == MINE and MINE not in collected.values()
    assert ("s1", "refused") in [(id, what) for id, _, what in intake_rows(done)]


def test_homes_on_another_disk_are_collected(hub, tmp_path):
    """The folder of all homes may be a link. Only links that a user can write are refused."""
    (tmp_path / "disk" / "home").mkdir(parents=True)
    (tmp_path / "home").symlink_to(tmp_path / "disk" / "home")
    assert lesson_files_in(hub({lesson_at("ada"): MINE}).folder) == {f"s1/{SOFTMAX}.ipynb": MINE}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can write files of two users")
def test_a_file_of_another_user_is_refused(hub, tmp_path, snapshot):
    """While root reads the homes, a user may replace a folder by a link. Then root reads a file of another user."""
    write_files(tmp_path, {lesson_at("ada"): MINE})
    os.chown(tmp_path / "home" / "ada", 4711, 4711)
    done = hub({})
    assert MINE not in lesson_files_in(done.folder).values()
    assert [row.explanation for row in done.rows if row.what == "refused"] == snapshot


def test_a_folder_that_cannot_be_read_does_not_stop_the_class(hub, tmp_path, monkeypatch):
    """Root may not read each folder of a network disk."""
    scandir, locked = os.scandir, tmp_path / "home" / "ada" / "attention" / "course"

    def refuse(folder):
        if folder == locked:
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    done = hub({lesson_at("ada"): MINE, lesson_at("s2"): OTHER})
    assert lesson_files_in(done.folder) == {f"s2/{SOFTMAX}.ipynb": OTHER}
    assert ("s1", "", "refused") in intake_rows(done)


@pytest.mark.parametrize("pattern", ["home/ada/attention/course", "home/*-*/course", "home/*/none"])
def test_a_pattern_without_users_gets_a_message(hub, pattern, tmp_path, snapshot):
    with pytest.raises(ArchiveError) as error:
        hub({lesson_at("ada"): MINE}, pattern)
    assert str(error.value).replace(str(tmp_path), "TMP") == snapshot


def test_the_command_collects_homes(tmp_path, snapshot):
    write_files(tmp_path, {lesson_at("ada"): MINE, "roster.csv": ROSTER.encode()})
    words = ["--roster", str(tmp_path / "roster.csv"), "--out", str(tmp_path / "handed-in")]
    done = CliRunner().invoke(app, ["collect", "--homes", str(tmp_path / "home/*/attention/course"), *words])
    assert done.exit_code == 0 and (tmp_path / "handed-in" / "s1" / f"{SOFTMAX}.ipynb").is_file()
    done = CliRunner().invoke(app, ["collect", *words])
    assert done.exit_code == 2 and done.stderr == snapshot


# --- nbgrader's exchange ------------------------------------------------------------------------------


def test_the_exchange_is_collected(hub, tmp_path):
    """The newest submission counts by the time in its name, because a student may hand in an older file."""
    inbound = tmp_path / "exchange" / "course101" / "inbound"
    first, last = "ada+ps2+2026-03-01 12:00:00.000001 UTC", "ada+ps2+2026-03-01 12:00:01.5 UTC+aB3_-="
    other = "s2+ps2+2026-03-01 12:00:00 UTC"
    write_files(inbound, {f"{name}/timestamp.txt": b"2026" for name in (first, last, other)})
    write_files(
        inbound, {f"{first}/{SOFTMAX}.ipynb": MINE, f"{last}/{SOFTMAX}.ipynb": OTHER, f"{other}/x.ipynb": THIRD}
    )
    now = (inbound / first).stat().st_mtime
    os.utime(inbound / last / f"{SOFTMAX}.ipynb", (now - HOUR, now - HOUR))
    done = collect([inbound], tmp_path / "roster.csv", tmp_path / "handed-in")
    files = lesson_files_in(done.folder)
    assert files[f"s1/{SOFTMAX}.ipynb"] == OTHER and files[f"s2/{SOFTMAX}.ipynb"] == THIRD
    assert sorted(intake_rows(done)) == [("s1", SOFTMAX, "older version"), ("s2", SOFTMAX, "renamed")]
