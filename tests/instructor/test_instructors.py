"""docs/instructors.md: its commands exist, its links lead somewhere, and its program does what it says."""

import contextlib
import io
import re
import shutil

from typer.main import get_command

from utils.cli.commands import app
from utils.feedback.exercise import all_exercises
from utils.lessons import ROOT

PAGE = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")


def test_every_command_on_the_page_exists_with_its_options():
    commands = get_command(app).commands
    lines = re.findall(r"(?m)^coginst (.+?)(?:\s{2,}#.*)?$", PAGE)
    assert {line.split()[0] for line in lines} == {"doctor", "build", "solve", "new", "release", "export-nbgrader"}
    for line in lines:
        name, *words = line.split()
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert all(word in known for word in words if word.startswith("--")), line
    targets = re.findall(r"\bmake ([\w-]+)", re.sub(r"(?s)~~~.*?~~~", "", PAGE))
    rules = re.findall(r"(?m)^([\w-]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert {"lab", "test", "test-nbgrader"} <= set(targets) <= set(rules)


def test_its_links_lead_somewhere_and_readme_links_to_it():
    assert all((ROOT / "docs" / link).exists() for link in re.findall(r"\]\(([^)]+)\)", PAGE))
    assert "](docs/instructors.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_program_checks_what_was_handed_in(tmp_path, monkeypatch):
    folder = tmp_path / "handed-in" / "ada"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "solved" / "04_causal_attention.ipynb", folder)
    shutil.copy(ROOT / "course" / "06_layer_norm.ipynb", folder)
    monkeypatch.chdir(tmp_path)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(re.search(r"(?ms)^```python\n(.*?)^```$", PAGE)[1], {})
    asked = [e for e in all_exercises().values() if e.kind != "value"]
    passed, todo = ([e.name for e in asked if e.lesson == lesson] for lesson in ("causal_attention", "layer_norm"))
    assert (
        re.findall(r"(?m)^✓ (\w+)", said.getvalue()) == passed and re.findall(r"(?m)^○ (\w+)", said.getvalue()) == todo
    )
