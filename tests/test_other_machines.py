"""Test the behaviour on other machines: another operating system, another clone, read-only or full disks."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
import typer
from typer.testing import CliRunner

from tests.fresh_python import environment_without, run_python
from utils import lessons
from utils.book import landing, site
from utils.cli.app import report_errors
from utils.cli.commands import app
from utils.grading.judge.bubblewrap import SandboxError
from utils.grading.judge.sandbox import Sandbox
from utils.grading.runner.isolation import ResourceLimits
from utils.instructor.build import build, find_drift
from utils.instructor.solved_notebooks import solved_cells
from utils.learner_data import progress
from utils.lessons import ROOT, hold_lock
from utils.notebook.progress_view import ProgressView

TEXT_MODE = re.compile(r"\btext=(?:True)\b")  # passed as an argument, so that this line does not match its own pattern
AT_ONCE = re.compile(r"^(?:import|from) (?:resource|fcntl|pwd|grp|termios|pty|tty|curses)\b", re.MULTILINE)


def test_no_module_imports_at_once_what_only_unix_has() -> None:
    """An import that fails on Windows must be inside a function, or inside an `if` that tests the system."""
    files = (ROOT / "utils").rglob("*.py")
    assert not [path.name for path in files if AT_ONCE.search(path.read_text(encoding="utf-8"))]


def test_what_a_process_says_is_read_as_utf_8() -> None:
    """Other systems use another default encoding. For files, ruff's PLW1514 checks the same."""
    files = [path for room in ("utils", "tests", "bench") for path in (ROOT / room).rglob("*.py")]
    assert not [path.name for path in files if TEXT_MODE.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("isolation", ["bwrap", "none"])
def test_elsewhere_than_on_linux_nothing_is_graded_and_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, isolation: str
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SandboxError, match="on Linux only, and this is win32"), Sandbox(isolation) as box:
        box.open_session(ResourceLimits())


def test_line_ends_of_another_system_are_no_change(tmp_path: Path) -> None:
    source, out = tmp_path / "solutions", tmp_path / "course"
    source.mkdir()
    lesson = source / "00_start_here.md"
    shutil.copy(ROOT / "solutions" / lesson.name, lesson)
    build(source, out)
    for path in (lesson, *out.iterdir()):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert find_drift(source, out) == [] and not build(source, out).kept


@pytest.mark.parametrize("is_own", [True, False])
def test_lab_starts_where_the_home_folder_cannot_be_written(tmp_path: Path, is_own: bool) -> None:
    """The home folder does not even exist here. Jupyter's folders are then created beside the notebooks, or in a
    temporary folder."""
    temporary = tmp_path / "tmp"
    for name in ("tmp", "course"):
        (tmp_path / name).mkdir()
    folder = tmp_path / ("course" if is_own else "not there")
    code = (
        "import sys; from pathlib import Path; from utils.cli import lab; lab._prepare_environment(Path(sys.argv[1]))"
    )
    code += "; from jupyter_core import paths; import IPython.paths"
    code += "; print(paths.jupyter_data_dir(), paths.jupyter_runtime_dir(), IPython.paths.get_ipython_dir(), sep='\\n')"
    home = {name: str(tmp_path / "gone") for name in ("HOME", "USERPROFILE")} | {"TMPDIR": str(temporary)}
    done = run_python("-c", code, folder, env=environment_without("JUPYTER", "IPYTHON", "XDG", "MPL") | home)
    (place,) = {Path(line).parent for line in done.stdout.splitlines()}
    assert place == folder / ".home" if is_own else place.parent == temporary, done.stderr


# --- a full disk ----------------------------------------------------------------------------------------


FULL = os.strerror(errno.ENOSPC)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """After this call, writing any file fails because the disk is full."""

    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, FULL)

    return lambda: monkeypatch.setattr(os, "fsync", refuse)


def test_a_build_on_a_full_disk_changes_nothing_and_says_one_sentence(tmp_path: Path, full: Callable) -> None:
    source, out = tmp_path / "solutions", tmp_path / "course"
    source.mkdir()
    lesson = source / "00_start_here.md"
    shutil.copy(ROOT / "solutions" / lesson.name, lesson)
    build(source, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    lesson.write_text(lesson.read_text(encoding="utf-8").replace("# Start", "# Begin"), encoding="utf-8")
    full()
    done = CliRunner().invoke(app, ["build", "--source", str(source), "--out", str(out)])
    assert done.exit_code == 2 and "The disk is full." in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_on_a_full_disk_a_check_is_complete_and_says_once_that_it_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, full: Callable
) -> None:
    store = tmp_path / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(store))
    progress.record_attempt("start_here", "row_sums", "failed")
    before = store.read_bytes()
    full()
    for _ in range(3):
        progress.record_attempt("start_here", "row_sums", "passed")
    said = capsys.readouterr().out
    assert said == f"Your progress is not saved, because {store} cannot be written: {FULL}.\n"
    assert store.read_bytes() == before and [path.name for path in tmp_path.glob("*.new")] == []


def test_on_a_full_disk_a_page_is_not_saved_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture, full: Callable
) -> None:
    page = tmp_path / "my_course.html"
    page.write_text("as it was", encoding="utf-8")
    full()
    ProgressView([]).save(path=page)
    assert f"{page} cannot be written: {FULL}." in capsys.readouterr().out
    assert page.read_text(encoding="utf-8") == "as it was"


def test_on_a_full_disk_the_last_book_stays_and_the_next_one_holds_no_half_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Execute a lesson without outputs, and let Sphinx write its files."""
    nothing = {"outputs": [[] for _ in solved_cells(lessons.read_lesson(lessons.find_lesson("00")))], "widgets": {}}
    monkeypatch.setattr(landing, "render_wrong_answers", str)  # this step and the next take seconds
    monkeypatch.setattr(site, "find_site_leaks", lambda *_: [])
    monkeypatch.setattr(site, "collect_outputs", lambda course, *_: {lesson.stem: nothing for lesson in course})
    out, work, found = tmp_path / "out", tmp_path / "work", []

    def writes(text: str, warning: str, *arguments: list[str]) -> int:
        page = work / "html" / "index.html"
        found.append(page.read_text(encoding="utf-8") if page.exists() else None)
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
        print(warning)
        return 2 if warning else 0

    def book(text: str, warning: str = "") -> str:
        monkeypatch.setattr("sphinx.cmd.build.build_main", partial(writes, text, warning))
        with contextlib.suppress(typer.Exit), report_errors():
            site.build_book(out, ["00"], work_folder=work)
        assert (out / "index.html").read_text(encoding="utf-8") == "first"
        return capsys.readouterr().err

    assert book("first") == ""
    full = book("sec", f"WARNING: error writing file: [Errno 28] {FULL}\n" * 100)
    assert full.startswith("The disk is full.") and full.count("\n") == 1
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", Mock(side_effect=OSError(errno.ENOSPC, FULL)))
        assert book("second") == full
    assert book("first") == "" and found == [None, "first", None, "second"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "work"]


# --- two processes at the same time ----------------------------------------------------------------------


def test_a_second_book_says_what_it_waits_for(tmp_path: Path) -> None:
    class Said(Exception): ...

    said = Mock(side_effect=Said)
    with hold_lock(tmp_path / "lock", 0, pytest.fail), pytest.raises(Said):
        site.build_book(tmp_path / "out", ["00"], log=said, work_folder=tmp_path)
    said.assert_called_once_with(f"Waiting for another `coginst book`, which is using {tmp_path}")
