"""Test `coginst --help` and `coginst --version`."""

import re

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from utils.cli.app import INSTRUCTORS, LEARNERS, MAINTAINERS
from utils.cli.commands import app
from utils.lessons import ROOT, course_version

GROUPS = (LEARNERS, INSTRUCTORS, MAINTAINERS)


def read_help():
    """Return the first text of the help, and the commands of each group."""
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "100", "TERM": "dumb"}).stdout
    before, *boxes = re.split(r"(?m)^╭─ ([\w ]+?) ─+╮$", text)
    names = {title: re.findall(r"(?m)^│ ([a-z][\w-]*) ", box) for title, box in zip(boxes[::2], boxes[1::2])}
    return before, names


def test_the_help_groups_the_commands_by_reader_and_tells_learners_where_to_stop():
    before, names = read_help()
    assert "Learners need only the first group" in before
    assert [title for title in names if title != "Options"] == list(GROUPS)
    assert sorted(name for title in GROUPS for name in names[title]) == sorted(get_command(app).commands)
    assert set(names[LEARNERS]) == {"lab", "configure", "reset", "fetch", "doctor", "progress"}


def test_grading_commands_are_in_the_order_in_which_they_are_run():
    instructors = read_help()[1][INSTRUCTORS]
    assert [name for name in instructors if name in ("grade", "report", "collect")] == ["collect", "grade", "report"]


@pytest.mark.parametrize("command", ["--version", "doctor"])
def test_the_version_and_the_folder_of_the_course_are_shown(command):
    shown = CliRunner().invoke(app, [command], env={"COLUMNS": "200"}).stdout
    assert f"{course_version()}, in {ROOT}" in shown


def test_the_version_is_read_from_the_files_of_the_course(tmp_path):
    assert course_version(tmp_path) == ""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "9.8.7rc1"\n', encoding="utf-8")
    assert course_version(tmp_path) == "9.8.7rc1"
