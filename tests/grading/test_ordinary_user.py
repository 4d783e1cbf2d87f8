"""Test grading as an ordinary user without special rights, for whom bubblewrap works differently than for root."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.grading.student_notebooks import notebook
from utils.grading.judge.bubblewrap import find_bwrap
from utils.grading.judge.results import read_results
from utils.lessons import ROOT

NOBODY = "65534"


@pytest.fixture
def home() -> Iterator[Path]:
    """A home folder for the ordinary user."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def outermost_closed_folder(place: Path) -> Path | None:
    """Return the outermost folder that other users may not enter: one above `place`, or `place` itself."""
    return next((folder for folder in (*reversed(place.parents), place) if not may_enter(folder)), None)


def may_enter(folder: Path) -> bool:
    """Tell whether other users may enter a folder."""
    return bool(folder.stat().st_mode & 0o001)


def as_an_ordinary_user(home: Path) -> list[str]:
    """Return the command prefix that runs a command as an ordinary user; it is empty unless this process is root.

    Other users may not enter some folders, such as root's home folder or a folder of mktemp. If Python or the course is
    in such a folder, the prefix replaces it with one that contains only Python and the course.
    """
    if os.getuid():
        return []
    bwrap = find_bwrap()
    assert bwrap
    places = sorted({Path(sys.base_prefix), Path(sys.prefix), ROOT})
    words = [bwrap, "--dev-bind", "/", "/"]
    for closed in sorted({folder for place in places if (folder := outermost_closed_folder(place))}):
        shown = [place for place in places if place.is_relative_to(closed)]
        above = sorted({p for place in shown for p in place.parents if p.is_relative_to(closed)})
        words += ["--tmpfs", closed]
        words += [word for place in above[1:] for word in ("--perms", "0755", "--dir", place)]
        open_places = [part for place in shown for part in ([place] if may_enter(place) else sorted(place.iterdir()))]
        words += [word for place in open_places for word in ("--ro-bind", place, place)]
    words += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--setenv", "HOME", home, "--"]
    words += ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps=-all"]
    for folder in (home, *home.rglob("*")):
        os.chown(folder, int(NOBODY), int(NOBODY))
    return [*map(str, words)]


def test_an_ordinary_user_grades(sandbox: object, home: Path) -> None:
    """The `sandbox` fixture skips this test if isolation does not work here."""
    for student, axis in {"anna": 1, "ben": 0}.items():
        (home / "in" / student).mkdir(parents=True)
        page = notebook([f"def row_sums(x):\n    return x.sum(dim={axis})"])
        (home / "in" / student / "00_start_here.ipynb").write_bytes(page)
    grade = [sys.executable, "-m", "utils.cli", "grade", home / "in", "--out", home / "out", "--quiet"]
    code = "import os; print(os.getuid()); print(open('/proc/self/status').read().split('CapEff:')[1].split()[0])"
    before = as_an_ordinary_user(home)
    asked = [*before, sys.executable, "-c", code]
    who = subprocess.run(asked, capture_output=True, encoding="utf-8", check=True).stdout
    assert int(who.split()[0]) and not int(who.split()[1], 16)
    done = subprocess.run([*before, *map(str, grade)], cwd=ROOT, capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    states = {r.student: [e.state for e in r.exercises] for r in read_results(home / "out")}
    assert states == {"anna": ["passed"], "ben": ["failed"]}
