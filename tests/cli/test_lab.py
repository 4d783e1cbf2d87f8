"""`coginst lab`: what it starts, where it listens, what it prints, how it ends."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.browser.harness import serve_jupyter
from tests.fresh_python import printed_output, run_python
from utils.cli import lab
from utils.lessons import ROOT


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    path = tmp_path / "00_start_here.ipynb"
    nbformat.write(nbformat.v4.new_notebook(), path)
    return path


def get(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=6000) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, b""


def test_it_serves_lesson_00_on_loopback_behind_a_token_and_is_quiet(tmp_path: Path, notebook: Path) -> None:
    with serve_jupyter(tmp_path / "lab", [notebook]) as url:
        address = urlsplit(url)
        assert address.hostname == "127.0.0.1" and address.path == "/lab/tree/00_start_here.ipynb"
        (token,) = parse_qs(address.query)["token"]
        site = f"http://{address.netloc}"
        assert get(f"{site}/api/contents?token={token}")[0] == 200
        assert get(f"{site}/api/contents")[0] == 403


def test_open_tabs_are_remembered_with_the_course(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another project's tabs, with their kernels, would come up in the course."""
    for name in ("JUPYTER_PREFER_ENV_PATH", "JUPYTERLAB_WORKSPACES_DIR"):
        monkeypatch.setenv(name, "")  # restored afterwards
    monkeypatch.delenv("JUPYTERLAB_WORKSPACES_DIR")
    lab._prepare_environment(tmp_path)
    told = "from jupyterlab.labapp import LabApp; print(LabApp().workspaces_dir)"
    assert Path(printed_output(told)) == tmp_path / ".workspaces"


def test_what_another_editor_saved_is_brought_into_the_text(tmp_path: Path) -> None:
    """Jupytext reads a pair's sources from the text, and refuses to where the notebook is newer."""
    for suffix in (".md", ".ipynb"):
        shutil.copy(ROOT / "course" / f"02_simplified_attention{suffix}", tmp_path)
    text, path = tmp_path / "02_simplified_attention.md", tmp_path / "02_simplified_attention.ipynb"
    before, stub = text.read_text(encoding="utf-8"), 'raise NotImplementedError("softmax")'
    os.utime(text, (0, 0))
    lab.sync_paired_text(tmp_path)
    assert text.read_text(encoding="utf-8") == before, "it says the same, and only looks older"
    path.write_text(path.read_text(encoding="utf-8").replace(json.dumps(stub)[1:-1], "return x"), encoding="utf-8")
    lab.sync_paired_text(tmp_path)
    after = text.read_text(encoding="utf-8")
    assert re.sub(r"      jupytext_version: .*\n", "", after) == before.replace(stub, "return x") != before
    text.write_text("mine", encoding="utf-8")
    os.utime(text, (0, 0))
    path.write_text("{", encoding="utf-8")  # damaged, and newer
    lab.sync_paired_text(tmp_path)
    os.utime(path, (0, 0))
    lab.sync_paired_text(tmp_path)
    assert text.read_text(encoding="utf-8") == "mine"


def test_a_taken_port_moves_on(tmp_path: Path, notebook: Path) -> None:
    with (
        serve_jupyter(tmp_path / "one", [notebook]) as first,
        serve_jupyter(tmp_path / "two", [notebook], port=urlsplit(first).port) as second,
    ):
        assert urlsplit(second).port > urlsplit(first).port
        assert get(first)[0] == get(second)[0] == 200


def test_one_interrupt_ends_it_cleanly(tmp_path: Path, notebook: Path) -> None:
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\nfrom utils.cli.lab import"
        " lab; lab(browser=False, course=sys.argv[1])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=ROOT, encoding="utf-8", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        said = ""
        while not said.rstrip().endswith("Ctrl-C stops it."):
            line = process.stdout.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=6000)
    finally:
        process.kill()
    assert process.returncode == 0 and "Traceback" not in rest
    assert said.count("token=") == 1, "the address is printed once, on a line of its own"


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_port_that_is_none_is_named(port: int, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(lab.LabError) as error:
        lab.lab(port=port, browser=False)
    assert str(error.value) == snapshot


@pytest.mark.parametrize("name", ["", "no such folder"])
def test_a_folder_without_notebooks_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(lab.LabError, match=r"00_start_here\.ipynb"):
        lab.lab(browser=False, course=tmp_path / name)


def test_all_ports_taken_is_one_sentence(tmp_path: Path, notebook: Path, snapshot: SnapshotAssertion) -> None:
    code = (
        "import sys; from utils.cli.lab import lab, LabError\ntry: lab(port=65535, browser=False,"
        " course=sys.argv[1])\nexcept LabError as error: print(error)"
    )
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 65535))
        taken.listen()
        done = run_python("-c", code, tmp_path)
    assert done.stdout == snapshot


@pytest.mark.parametrize(
    "platform, environment, shows",
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("darwin", {}, True),
        ("darwin", {"SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"}, False),
        ("win32", {}, True),
    ],
)
def test_a_browser_opens_where_there_is_a_display(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict, shows: bool
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr("webbrowser.get", lambda: object())
    assert lab.can_show_browser() is shows


def test_root_is_allowed_to_only_when_it_is_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for user, allowed in ((0, True), (1000, False)):
        monkeypatch.setattr("os.geteuid", lambda user=user: user, raising=False)
        assert f"--ServerApp.allow_root={allowed}" in lab._arguments(
            tmp_path, "x.ipynb", 8888, browser=False, token="t"
        )


def test_it_opens_the_learners_own_copy_in_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, notebook: Path
) -> None:
    monkeypatch.setattr("utils.instructor.build.build", lambda: pytest.fail("the copy needs no build"))
    monkeypatch.chdir(tmp_path)
    assert lab._own_course() == tmp_path
    notebook.rename(tmp_path / "00_other.ipynb")
    monkeypatch.setattr(lab.os, "access", lambda *_: False)
    assert lab._own_course() == ROOT / "course", "an installation that cannot be written is not built"


def test_a_folder_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lab, "is_configured", lambda: True)
    assert lab.find_problems(tmp_path) == []
    monkeypatch.setattr(lab.os, "access", lambda *_: False)
    (problem,) = lab.find_problems(tmp_path)
    assert str(tmp_path) in problem and "Copy this folder" in problem
