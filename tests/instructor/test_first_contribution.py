"""Carry out CONTRIBUTING.md, "A new exercise in ten minutes", on a copy of the repository."""

import re
import shlex
import shutil
import subprocess

import pytest

from tests.fresh_python import environment_without, run_python
from utils.lessons import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = re.search(r"(?ms)^## A new exercise in ten minutes\n(.*?)^## ", PAGE)[1]
COMMANDS = [line.partition("#")[0].strip() for block in re.findall(r"(?ms)^```bash\n(.*?)^```$", SECTION)
            for line in block.splitlines()]  # fmt: skip
# `make format` is run on the copy with ruff alone, because make would create an environment there.
PROGRAMS = {"coginst": ["-m", "utils.cli"], "make format": ["-m", "ruff", "format", "."]}


@pytest.fixture
def checkout(tmp_path):
    """Return a copy of the files that git tracks or would track, as a repository of its own."""
    listed = "git ls-files --cached --others --exclude-standard".split()
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout.splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    for command in ("git init -q", "git add ."):
        subprocess.run(command.split(), cwd=tmp_path, check=True)
    return tmp_path


def run(root, command):
    """Run a command of CONTRIBUTING.md in the copy, with the copy's own packages."""
    beginning = next(name for name in PROGRAMS if command.startswith(name))
    arguments = [*PROGRAMS[beginning], *shlex.split(command.removeprefix(beginning))]
    environment = environment_without("PYTEST_", "COURSE_") | {"PYTHONPATH": str(root)}
    return run_python(*arguments, cwd=root, env=environment)


def changed_files(root):
    command = "git diff --name-only".split()
    return set(subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=True).stdout.split())


def test_the_ten_minutes_lead_to_passing_tests(checkout):
    new, formatting, ready = COMMANDS
    done = run(checkout, new)
    assert done.returncode == 0, done.stdout + done.stderr
    written = changed_files(checkout)
    assert written == {"solutions/06_layer_norm.md", "utils/checks/layer_norm.py", "tests/course/test_layer_norm.py"}
    done = run(checkout, formatting)
    assert done.returncode == 0 and changed_files(checkout) == written, done.stdout + done.stderr

    # The maintainer replaces the example by an exercise of their own.
    sources = {name: (checkout / name).read_text(encoding="utf-8") for name in written}
    for name, text in sources.items():
        text = text.replace("where does each token look?", "where does each token look most?")
        (checkout / name).write_text(text, encoding="utf-8")

    done = run(checkout, ready)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "most_attended: ask somebody who has not seen the check" in done.stdout
    generated = {
        "course/.coginst.json",
        "course/06_layer_norm.md",
        "course/06_layer_norm.ipynb",
        "tests/solved/06_layer_norm.ipynb",
        "docs/mutants.md",
        "README.md",
        "tests/checks/blind/pending.txt",
    }
    changed = changed_files(checkout)
    assert generated <= changed and all(name in done.stdout for name in changed - written)
