"""Where progress is stored: beside the learner's own notebooks, and never in a folder that two users share."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fresh_python import environment_without
from utils.learner_data import folder as learner_data
from utils.learner_data import progress
from utils.lessons import ROOT

NOTEBOOK = "02_simplified_attention.ipynb"
PASSES = """
import torch
from utils import check
def softmax(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)
print(check(softmax).status)
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A folder with one lesson, outside the installation."""
    folder = tmp_path / "attention" / "course"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "course" / NOTEBOOK, folder)
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of the learner. Here, the variable that the test suite sets for progress is missing."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    for name in ("COURSE_PROGRESS", "JPY_SESSION_NAME", "JUPYTERHUB_USER", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    progress._migrate_old_files.cache_clear()
    return folder


def test_it_is_beside_the_notebooks_of_this_process(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(course.parent)
    assert learner_data.notebook_folder() == ROOT / "course"
    monkeypatch.setenv("JPY_SESSION_NAME", str(course / NOTEBOOK))
    assert learner_data.learner_folder() == course
    monkeypatch.delenv("JPY_SESSION_NAME")
    monkeypatch.chdir(course)
    assert learner_data.learner_folder() == course
    monkeypatch.chdir(ROOT / "solutions")  # a part of the installation
    assert learner_data.notebook_folder() == ROOT / "course"


def test_a_folder_of_another_project_is_not_used(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (course / NOTEBOOK).rename(course / "02_other.ipynb")
    monkeypatch.chdir(course)
    assert learner_data.notebook_folder() == ROOT / "course"


@pytest.mark.skipif(sys.platform == "win32", reason="files on Windows have no user number")
def test_a_folder_of_another_user_is_not_used(course: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(course)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert home in learner_data.learner_folder().parents


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no list of users")
def test_without_a_home_folder_a_learner_is_told_that_nothing_is_saved(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a container whose user id is not in the list of users."""
    import pwd

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.chdir(course)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("HOME")
    progress._warn_not_saved.cache_clear()
    progress.record_attempt("start_here", "row_sums", "passed")
    assert "there is no home folder for your data" in capsys.readouterr().out
    assert progress.read_progress() == {} and not learner_data.home_folder().exists()


@pytest.mark.parametrize("sign", ["hub", "windows"])
def test_where_user_numbers_say_nothing_the_folder_must_be_in_the_home(
    course: Path, home: Path, monkeypatch: pytest.MonkeyPatch, sign: str
) -> None:
    monkeypatch.chdir(course)
    if sign == "hub":
        monkeypatch.setenv("JUPYTERHUB_USER", "ada")
    else:
        monkeypatch.setattr(learner_data.sys, "platform", "win32")
    assert not learner_data.belongs_to_user(course)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(course.parent.parent))
    assert learner_data.belongs_to_user(course)


def test_old_files_move_and_are_added_to_newer_ones(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"status": "passed", "tries": 2, "when": "2026-01-01T00:00:00+00:00"}
    monkeypatch.setattr(progress.lessons, "ROOT", tmp_path)
    (tmp_path / ".progress.json").write_text(json.dumps({"start_here": {"row_sums": entry}}), encoding="utf-8")
    (tmp_path / ".progress.json.sentence").write_text("The cat sat", encoding="utf-8")
    monkeypatch.setenv("COURSE_PROGRESS", str(course / ".progress.json"))
    progress.record_attempt("start_here", "row_sums", "failed")
    monkeypatch.delenv("COURSE_PROGRESS")
    monkeypatch.setattr(progress, "learner_folder", lambda: course)
    assert progress.read_progress()["start_here"]["row_sums"]["status"] == "passed"
    assert progress.sentence_path() == course / ".progress.json.sentence"
    assert (course / ".progress.json.sentence").read_text(encoding="utf-8") == "The cat sat"
    assert not list(tmp_path.glob(".progress.json*"))


# --- several users of one installation -----------------------------------------------------------------

root_only = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can start processes of other users"
)


@pytest.fixture(scope="module")
def installation() -> Iterator[Path]:
    """An installation that only root can write to, in a folder that every user can read.

    The folder is not one of pytest's: each new session of pytest hides the folders of all sessions from other users.
    """
    with tempfile.TemporaryDirectory(prefix="coginst-installation-") as name:
        Path(name).chmod(0o755)
        folder = Path(name) / "installation"
        folder.mkdir()
        shutil.copytree(ROOT / "utils", folder / "utils", ignore=shutil.ignore_patterns("__pycache__"))
        copy_lessons(folder / "course")
        yield folder


def copy_lessons(folder: Path) -> None:
    """Copy the lessons into a new folder, without other files that programs create beside them."""
    folder.mkdir()
    for path in (ROOT / "course").glob("[0-9]*"):
        shutil.copy(path, folder)


# Other users may not be able to read this Python, so everything is imported before the process changes its user.
CHANGE_USER = """
import os, sys
import filelock, platformdirs
sys.stdout = open(os.devnull, "w")
exec(sys.argv[2])
sys.stdout = sys.__stdout__
del os.environ["COURSE_PROGRESS"]
os.setgroups([]), os.setgid(int(sys.argv[1])), os.setuid(int(sys.argv[1]))
exec(sys.argv[3])
"""


def run_as(user: int, installation: Path, home: Path, code: str, **more: str) -> str:
    """Run code as a user with this number and home folder, with the packages of the installation."""
    environment = environment_without("COURSE_", "JUPYTER", "XDG_", "PYTHONPATH", "PYTEST_") | more
    environment |= {"HOME": str(home), "PYTHONPATH": str(installation), "COURSE_PROGRESS": "off"}
    folder = environment.pop("FOLDER", str(installation / "course"))
    command = [sys.executable, "-B", "-c", CHANGE_USER, str(user), PASSES, code]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def make_home(folder: Path, user: int) -> Path:
    folder.mkdir(mode=0o700)
    os.chown(folder, user, user)
    return folder


@root_only
def test_two_users_of_one_installation_share_no_file(installation: Path) -> None:
    homes = {user: make_home(installation.parent / f"home-{user}", user) for user in (61001, 61002)}
    before = set(installation.rglob("*"))
    for user, home in homes.items():
        assert run_as(user, installation, home, PASSES) == "passed\n"
    stored = {user: [path for path in home.rglob("*") if path.is_file()] for user, home in homes.items()}
    for user, home in homes.items():
        file = home / ".local" / "share" / "coginst" / ".progress.json"
        assert json.loads(file.read_text(encoding="utf-8"))["simplified_attention"]["softmax"]["status"] == "passed"
        assert {path.stat().st_uid for path in stored[user]} == {user}
    assert set(installation.rglob("*")) == before


@root_only
def test_progress_that_others_stored_in_the_installation_stays_theirs(installation: Path) -> None:
    old = installation / ".progress.json"
    entry = {"status": "passed", "tries": 1, "when": "2026-01-01T00:00:00+00:00"}
    text = json.dumps({"start_here": {"row_sums": entry}})
    old.write_text(text, encoding="utf-8")
    old.chmod(0o666)
    home = make_home(installation.parent / "home-61003", 61003)
    try:
        said = run_as(
            61003, installation, home, "from utils.learner_data import progress; print(progress.read_progress())"
        )
        assert said == "{}\n" and old.read_text(encoding="utf-8") == text
    finally:
        old.unlink()


@root_only
def test_a_copy_of_the_notebooks_contains_the_progress(installation: Path) -> None:
    home = make_home(installation.parent / "home-61004", 61004)
    copy_lessons(home / "course")
    for path in (home / "course", *(home / "course").rglob("*")):
        os.chown(path, 61004, 61004)
    run_as(61004, installation, home, PASSES, FOLDER=str(home / "course"), JUPYTERHUB_USER="ada")
    assert not (home / ".local").exists()
    shutil.move(home / "course", home / "elsewhere")
    told = "from utils.learner_data import progress; print(progress.read_progress()['simplified_attention']['softmax'])"
    assert "passed" in run_as(61004, installation, home, told, FOLDER=str(home / "elsewhere"))


@root_only
@pytest.mark.parametrize("state", ["full", "read-only"])
def test_a_home_that_cannot_be_written_gives_one_sentence(installation: Path, state: str) -> None:
    home = make_home(installation.parent / f"home-{state}", 61005)
    code = PASSES + "print(check(softmax).status)"
    if state == "read-only":
        os.chown(home, 0, 0)
        home.chmod(0o755)
        expected = "Permission denied"
    else:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=2", "tmpfs", home], check=False)
        if mounted.returncode:
            pytest.skip("a small file system cannot be mounted here")
        home.chmod(0o777)
        expected = "No space left on device"
    try:
        said = run_as(61005, installation, home, code)
    finally:
        if state == "full":
            subprocess.run(["umount", home], check=True)
    (sentence,) = [line for line in said.splitlines() if not line.startswith("passed")]
    assert sentence.startswith("Your progress is not saved") and expected in sentence
    assert [line for line in said.splitlines() if line.startswith("passed")] == ["passed", "passed"]
