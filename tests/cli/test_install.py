"""`make lab` and `make test`: which packages are installed, with which program, and what the user sees meanwhile."""

import ast
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from utils.cli import install
from utils.lessons import ROOT

PIP_LOG = """\
Obtaining file:///course
Collecting torch>=2.6
  Downloading torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl (192.4 MB)
Collecting numpy>=2.0
  Downloading numpy-2.4.6-cp311-cp311-manylinux.whl.metadata (6.6 kB)
Requirement already satisfied: pip in .venv/lib/python3.11/site-packages
"""


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment in a folder of this test. Its log is empty."""
    folder = tmp_path / ".venv"
    monkeypatch.setattr(install, "VENV", folder)
    install.packages_folder().mkdir(parents=True)
    monkeypatch.setattr(install, "LOG", folder / "install.log")
    monkeypatch.setattr(install, "ROOT", tmp_path)
    (tmp_path / "requirements.lock").write_text("torch==2.13.0\nruff==0.17.6  # dev\n# note\n", encoding="utf-8")
    install.LOG.touch()
    return folder


@pytest.fixture
def commands(venv: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[list[str]]]:
    """A function that runs the installation, in which only these programs succeed, and returns the commands."""

    def run(extras: str = "", uv: str | None = None, succeeds: tuple[str, ...] = ("uv", "pip")) -> list[list[str]]:
        started: list[list[str]] = []
        monkeypatch.setattr(install.shutil, "which", lambda name: uv)
        monkeypatch.setattr(install.subprocess, "run", lambda command, **_: started.append(command))
        monkeypatch.setattr(
            install,
            "run_logged",
            lambda command, expected: started.append(command) or ("uv" if command[0] == uv else "pip") in succeeds,
        )
        install.main(extras)
        return started

    return run


def test_a_learner_gets_no_developer_tools_and_a_developer_gets_everything(
    commands: Callable, venv: Path, capsys: pytest.CaptureFixture
) -> None:
    make, pip, configure = commands()
    assert make[1:] == ["-m", "venv", str(venv)] and configure[1:] == ["-m", "utils.cli", "configure"]
    assert pip[1:8] == ["-m", "pip", "install", "-c", "requirements.lock", "-e", "."]
    assert capsys.readouterr().out.splitlines()[0].startswith("Installing about 1 packages")
    assert (venv / ".ready").exists() and not (venv / ".ready-dev").exists()
    assert ".[dev,book]" in commands("dev,book")[1] and (venv / ".ready-dev").exists()
    assert capsys.readouterr().out.splitlines()[0].startswith("Installing about 2 packages")


def test_uv_is_used_where_it_is_and_pip_where_uv_fails(commands: Callable) -> None:
    assert [command[0] for command in commands(uv="/bin/uv")][1:-1] == ["/bin/uv"]
    uv, pip = commands(uv="/bin/uv", succeeds=("pip",))[1:-1]
    assert uv[1:7] == ["pip", "install", "-c", "requirements.lock", "-e", "."] and uv[-1] == pip[0]
    assert pip[1:3] == ["-m", "pip"]


def test_a_failure_shows_the_end_of_the_log_and_marks_nothing(
    commands: Callable, venv: Path, capsys: pytest.CaptureFixture
) -> None:
    install.LOG.write_text("".join(f"line {n}\n" for n in range(100)), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"could not be installed.*install\.log"):
        commands(succeeds=())
    assert capsys.readouterr().err.splitlines() == [f"line {n}" for n in range(80, 100)] + [""]
    assert not (venv / ".ready").exists()


def test_the_bar_follows_the_log_of_pip(venv: Path) -> None:
    assert install.describe_progress(4).startswith(f"[{'':30}]   0 %")
    install.LOG.write_text(PIP_LOG, encoding="utf-8")
    assert install.describe_progress(6) == f"[{'#' * 7:30}]  25 %  downloading torch (192.4 MB)"
    install.LOG.write_text(f"{PIP_LOG}Installing collected packages: numpy, torch\n", encoding="utf-8")
    assert "]  50 %" in install.describe_progress(6)
    for name in ("numpy-2.4.6", "torch-2.13.0", "pip-25.0"):
        (install.packages_folder() / f"{name}.dist-info").mkdir()
    assert install.describe_progress(6) == f"[{'#' * 22:30}]  75 %  installing"
    assert "] 100 %" in install.describe_progress(2), "more packages than expected"


def test_the_bar_follows_the_log_of_uv(venv: Path) -> None:
    install.LOG.write_text("Resolved 131 packages in 2.1s\nDownloading torch (183.5MiB)\n", encoding="utf-8")
    assert install.describe_progress(4) == f"[{'#' * 15:30}]  50 %  downloading torch (183.5MiB)"


def test_a_command_writes_its_output_into_the_log(venv: Path, capsys: pytest.CaptureFixture) -> None:
    says = "import sys; print('one'); print('two', file=sys.stderr); sys.exit(int(sys.argv[1]))"
    assert install.run_logged([sys.executable, "-c", says, "0"], 1) is True
    assert sorted(install.LOG.read_text(encoding="utf-8").split()) == ["one", "two"]
    assert install.run_logged([sys.executable, "-c", says, "3"], 1) is False
    assert capsys.readouterr().out == "", "only a terminal shows the progress"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals on Windows")
def test_a_terminal_shows_the_progress(venv: Path) -> None:
    import pty

    says = f"""
import pathlib, time
print("Collecting torch", flush=True)
while not pathlib.Path({str(venv / "seen")!r}).exists(): time.sleep(0.01)
"""
    code = f"""
import sys
from pathlib import Path
from utils.cli import install
install.VENV, install.LOG = Path({str(venv)!r}), Path({str(venv / "install.log")!r})
assert install.run_logged([sys.executable, "-c", {says!r}], 2)
"""
    reader, terminal = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=terminal)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # Linux reports the end of the terminal as an error
        while part := os.read(reader, 4096):
            shown += part
            if b" 25 %" in shown:
                (venv / "seen").touch()  # the command may end
    os.close(reader)
    lines = shown.decode().split("\r")
    assert process.wait() == 0 and lines[-1] == "" and lines[-2].strip() == ""
    assert any(line.startswith("[#######") and " 25 %" in line for line in lines)


def test_a_python_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch, venv: Path) -> None:
    monkeypatch.setattr(install.sys, "version_info", (3, 8, 10))
    with pytest.raises(
        SystemExit, match=r"needs Python 3\.10 or later, and .* is 3\.8\. .* make lab PYTHON=python3\.12"
    ):
        install.main()
    source = (ROOT / "utils" / "cli" / "install.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 6))  # a syntax error would be all that an old Python says
    program = ast.parse(source)
    imported = {a.name for node in ast.walk(program) if isinstance(node, ast.Import) for a in node.names}
    assert imported <= sys.stdlib_module_names


def test_make_installs_with_this_file() -> None:
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target, extras in (("$(READY)", ""), ("$(DEV)", " dev,book")):
        assert f"{target}: requirements.lock pyproject.toml\n\t@$(PYTHON) utils/cli/install.py{extras}\n" in rules
