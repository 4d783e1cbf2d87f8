"""Test that docs/grading.md is correct: its commands exist, and its tables, states and limits match the program."""

import ast
import re

from torch import Generator
from typer.main import get_command
from typer.testing import CliRunner

from utils.cli.commands import app
from utils.exercises.side_effects import values_identical
from utils.grading.intake import archives, collect, roster
from utils.grading.judge import results
from utils.grading.judge.submissions import exercises_by_lesson
from utils.grading.judge.verdicts import with_seed
from utils.grading.reports import tally
from utils.grading.runner.isolation import ResourceLimits
from utils.lessons import ROOT

PAGE = (ROOT / "docs" / "grading.md").read_text(encoding="utf-8")
COMMANDS = get_command(app).commands


def call(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.stdout


def rows(first):
    """Return the first column of the table whose header begins with `first`."""
    table = re.search(rf"(?m)^\| {first}.*\n\|[-|]+\|\n((?:\|.*\n)+)", PAGE)[1]
    return [line.split("|")[1].strip() for line in table.splitlines()]


def test_every_command_exists_with_its_options():
    lines = re.findall(r"coginst ([a-z][^`\n]*)", PAGE)
    assert {line.split()[0] for line in lines} >= {"collect", "grade", "report", "misconception", "doctor"}
    for line in lines:
        name, *words = line.partition("  ")[0].split()
        known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
        assert all(word in known for word in words if word.startswith("-")), line
    options = {option for name in ("collect", "grade", "report") for p in COMMANDS[name].params for option in p.opts}
    assert set(re.findall(r"`(--?[a-z][\w-]*)", PAGE)) <= options


def test_the_commands_follow_each_other(tmp_path):
    """Each command ends with the next command to type, also if the first one writes to another folder."""
    (tmp_path / "zip" / "anna").mkdir(parents=True)
    (tmp_path / "roster.csv").write_text("id,name\nanna,Anna A\n", encoding="utf-8")
    out = tmp_path / "week 1" / "handed-in"
    said = call("collect", tmp_path / "zip", "--roster", tmp_path / "roster.csv", "--out", out)
    assert said.endswith(f"Next: coginst grade '{out}'\n")
    (out / "anna").mkdir()
    said = call("grade", out, "00", "--isolation", "none", "--quiet")  # The lesson is absent, so nothing runs.
    assert said.endswith(f"Next: coginst report '{out.parent / 'results'}'\n")
    call("report", out.parent / "results")
    assert (out.parent / "report" / "class.html").is_file()
    default = lambda name, option: next(str(p.default) for p in COMMANDS[name].params if p.name == option)
    assert default("collect", "out") == default("grade", "handed_in") == "handed-in"
    assert default("report", "results") == "results"


def test_the_table_of_oddities_is_the_program_s():
    words = {value for name, value in vars(collect).items() if name.isupper() and isinstance(value, str)}
    files = {collect.INTAKE, collect.ROSTER, collect.OLDER, collect.PROGRESS, collect.FILE_NAME}
    assert {*rows("what")} == {*words} - files


def test_the_table_of_roster_columns_is_the_program_s():
    cells = [line.split("|")[1:3] for line in re.findall(r"(?m)^\| `.*", PAGE[PAGE.index("| column of the roster") :])]
    table = [[re.findall("`([^`]+)`", cell) for cell in line] for line in cells[: len(rows("column of the roster"))]]
    known = lambda name: roster.COLUMN[name.replace(" ", "")]
    for names, others in table:
        assert {known(other) for other in others} <= {known(name) for name in names}
    assert {known(name) for names, _ in table for name in names} == roster.HEADERS.keys()


def test_the_table_of_states_is_the_program_s():
    told = [state.strip() for cell in rows("state") for state in cell.split(",")]
    assert sorted(told) == sorted(results.STATES)


def test_the_limits_are_the_program_s():
    limits = ResourceLimits()
    assert f"{limits.seconds:.0f} seconds of CPU time or {limits.memory >> 30} GB" in PAGE
    assert f"more than {archives.MAX_FILE // archives.MEGABYTE} MB" in PAGE
    assert tally.WRONG == ("failed", "stopped")


def test_its_programs_parse():
    programs = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)
    assert len(programs) == 2 and all(ast.parse(program) for program in programs)


def test_its_links_lead_somewhere_and_it_is_linked_to():
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", PAGE):
        assert (ROOT / "docs" / link).exists(), link
    assert "](grading.md)" in (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")


def test_every_exercise_that_stays_the_same_for_every_seed_is_named():
    """An exercise must be named if at least half of its cases are equal for two seeds."""
    paragraph = PAGE.partition("**The seed.**")[2].partition("\n**")[0]
    for stem, exercises in exercises_by_lesson().items():
        for name, exercise in exercises.items():
            one, two = ([c for s in (0, 1) for c in with_seed(exercise, seed).sample_cases(s)] for seed in (1, 2))
            same = [any(_cases_equal(case, other) for other in two) for case in one]
            if 2 * sum(same) >= len(same):
                assert f"`{name}`" in paragraph or (stem[:2] == "01" and "texts of lesson 01" in paragraph), name


def _cases_equal(case, other):
    seeds = [[a.initial_seed() for a in c.args if isinstance(a, Generator)] for c in (case, other)]
    values = ((c.args, dict(c.kwargs), c.init) for c in (case, other))
    return seeds[0] == seeds[1] and all(map(values_identical, *values))
