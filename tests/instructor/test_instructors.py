"""Test docs/instructors.md: its commands exist, and its links have targets."""

import re

from typer.main import get_command

from utils.cli.commands import app
from utils.lessons import ROOT

PAGE = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")


def test_every_command_on_the_page_exists_with_its_options():
    commands = get_command(app).commands
    lines = re.findall(r"(?m)^coginst (.+?)(?:\s{2,}#.*)?$", PAGE)
    expected = {"book", "doctor", "build", "solve", "new", "release", "collect", "grade", "report", "export-nbgrader"}
    assert {line.split()[0] for line in lines} == expected
    for line in lines:
        name, *words = line.split()
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert all(word in known for word in words if word.startswith("--")), line
    targets = re.findall(r"\bmake ([\w-]+)", re.sub(r"(?s)~~~.*?~~~", "", PAGE))
    rules = re.findall(r"(?m)^([\w-]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert {"lab", "test", "test-nbgrader"} <= set(targets) <= set(rules)


def test_its_links_have_targets_and_readme_links_to_it():
    assert all((ROOT / "docs" / link).exists() for link in re.findall(r"\]\(([^)#]+)", PAGE))
    assert "](docs/instructors.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
