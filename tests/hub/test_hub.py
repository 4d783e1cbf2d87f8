"""Test a class on a real hub: learners log in with a browser, pull the lessons, and solve exercises of lesson 02."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, expect

from tests.browser import harness as browser
from tests.hub.running_hub import FULL, PASSWORD, Hub, find_obstacle, run_hub
from utils.exercises.exercise import find_exercise
from utils.notebook.progress_view import UPDATED

LESSON = "02_simplified_attention"
COURSE = Path("attention", "course")
STUB = '    # YOUR CODE HERE\n    raise NotImplementedError("softmax")\n'
RIGHT = "    e = (x - x.amax(dim, keepdim=True)).exp()\n    return e / e.sum(dim, keepdim=True)\n"
WRONG = "    return torch.exp(x) / torch.exp(x).sum(dim, keepdim=True)\n"

if obstacle := find_obstacle():
    pytest.skip(obstacle, allow_module_level=True)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with run_hub(tmp_path_factory.mktemp("hub")) as running:
        yield running


@contextlib.contextmanager
def log_in(chromium: Browser, user: str, url: str) -> Iterator[browser.Notebook]:
    """Follow a link as a user who must first log in, and yield the notebook that it opens."""
    window = chromium.new_context(viewport=browser.WINDOW)
    page = window.new_page()
    page.set_default_timeout(60_000)
    with browser.screenshot_on_failure(page, f"hub-{user}"):
        page.goto(url)
        page.fill("#username_input", user)
        page.fill("#password_input", PASSWORD)
        page.click("#login_submit")
        browser.await_ready(page)
        yield browser.Notebook(page)
    window.close()


def answer(notebook: browser.Notebook, body: str) -> str:
    """Run the cell with the imports, replace the stub of softmax, run its cell, and return the output."""
    notebook.run(notebook.cell("from utils import"))
    cell = notebook.cell("check(softmax)")
    (source,) = [text for text in sources(browser.ROOT / "course") if "check(softmax)" in text]
    notebook.type(cell, source.replace(STUB, body))
    return notebook.run(cell)


def sources(course: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(course / f"{LESSON}.ipynb", as_version=4).cells]


def progress(home: Path) -> dict:
    """Return the state of softmax in the home's progress file."""
    content = json.loads((home / COURSE / ".progress.json").read_text(encoding="utf-8"))
    return content["simplified_attention"]["softmax"]["status"]


def snapshot_files(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*")}


def test_a_class_of_two(hub: Hub, chromium: Browser) -> None:
    """Ada is right and Bob is wrong. Their servers stop, and a new release that changes their cell reaches them. Their
    answers survive, and nobody writes into the shared installation. Cem only pulls the first release, so the instructor
    collects nothing from him.
    """
    installed = snapshot_files(hub.installation)
    homes = {user: hub.homes / user for user in ("ada", "bob")}
    (message,) = [wrong.message for wrong in find_exercise("softmax").misconceptions if wrong.id == "overflows"]
    for user, body, result in (("ada", RIGHT, "passed"), ("bob", WRONG, message)):
        with log_in(chromium, user, hub.pull_link("02")) as notebook:
            assert result in answer(notebook, body)
            assert notebook.errors() == []
            notebook.save(homes[user] / COURSE / f"{LESSON}.ipynb")
    assert (progress(homes["ada"]), progress(homes["bob"])) == ("passed", "failed")
    assert [(home / "attention").stat().st_mode & 0o077 for home in homes.values()] == [0, 0], "others can read it"

    clone = ["git", "clone", "--quiet", "--branch", "hub", f"file://{hub.source}", hub.homes / "cem" / "attention"]
    subprocess.run(clone, check=True)
    path = hub.source / "solutions" / f"{LESSON}.md"
    first = path.read_text(encoding="utf-8")
    (docstring,) = re.findall(r'def softmax\(.*\n    """(.+)"""', first)
    second = (
        first.replace(docstring, "Positive numbers, in another sentence.") + "\nA sentence of the second release.\n"
    )
    path.write_text(second, encoding="utf-8")
    hub.publish()
    for user, body in (("ada", RIGHT), ("bob", WRONG)):
        hub.stop_idle_servers(user)
        with log_in(chromium, user, hub.pull_link("02")) as notebook:
            expect(notebook.panel).to_contain_text("A sentence of the second release.")
            assert body.strip() in "\n".join(notebook.sources())
            if user == "ada":
                notebook.run(notebook.cell("from utils import"))
                assert "passed" in notebook.run(notebook.cell("check(softmax)"))
                overview = notebook.cell("progress().due()")
                notebook.type(overview, "from utils import progress\nprint(progress())")
                shown = notebook.run(overview)
                assert UPDATED in shown and "02 the cell of `softmax`" in shown
        assert body in "\n".join(sources(homes[user] / COURSE))
    assert (progress(homes["ada"]), progress(homes["bob"])) == ("passed", "failed")
    assert snapshot_files(hub.installation) == installed
    assert collect(hub) == {"ada": [LESSON], "bob": [LESSON]}


def collect(hub: Hub) -> dict[str, list[str]]:
    """Collect the homes from the instructor's clone, and return the lessons of each student."""
    (hub.source / "roster.csv").write_text("id,name\nada,Ada\nbob,Bob\ncem,Cem\n", encoding="utf-8")
    pattern = str(hub.homes / "*" / COURSE)
    command = [sys.executable, "-m", "utils.cli", "collect", "--homes", pattern, "--roster", "roster.csv"]
    subprocess.run(command, cwd=hub.source, check=True, capture_output=True)
    found = {}
    for path in sorted((hub.source / "handed-in").glob("*/*.ipynb")):
        found.setdefault(path.parent.name, []).append(path.stem)
    return found


def test_a_full_home(hub: Hub, chromium: Browser) -> None:
    """The home of this user is a disk of 1 MB without free space. A check works, and one sentence says what is lost."""
    url = f"{hub.url}/hub/user-redirect/lab/tree/course/{LESSON}.ipynb"
    with log_in(chromium, FULL, url) as notebook:
        output = answer(notebook, RIGHT)
        assert "passed" in output and output.count("Your progress is not saved") == 1
        assert "passed" in notebook.run(notebook.cell("check(softmax)"))
        assert notebook.errors() == []
