"""Another process, as tests start one: a Python of its own with this checkout's packages."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from utils.lessons import ROOT


def run_python(
    *arguments: object, cwd: Path = ROOT, env: Mapping[str, str] | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a Python with these arguments, to its end: how it ended, and what it wrote."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", timeout=600, **more)


def printed_output(code: str, env: Mapping[str, str] | None = None) -> str:
    """What a piece of code prints, its last line end apart; it must not fail."""
    done = run_python("-c", code, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def environment_without(*beginnings: str) -> dict[str, str]:
    """This process's environment without the variables whose names begin so."""
    return {name: value for name, value in os.environ.items() if not name.startswith(beginnings)}


def isolated_jupyter_environment(folder: Path) -> dict[str, str]:
    """Variables that let Jupyter keep its things in `folder`, away from the user's."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    return {name: str(folder / name.lower()) for name in names}
