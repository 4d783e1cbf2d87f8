"""Run a new Python process with this clone's packages."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from utils.lessons import ROOT


def run_python(
    *arguments: object, cwd: Path = ROOT, env: Mapping[str, str] | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments until it ends. Return its exit status and output."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, encoding="utf-8", timeout=600, **more)


def printed_output(code: str, env: Mapping[str, str] | None = None) -> str:
    """Run code that must succeed, and return its output without the final newline."""
    done = run_python("-c", code, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def environment_without(*beginnings: str) -> dict[str, str]:
    """Return this process's environment without variables that start with one of these prefixes."""
    return {name: value for name, value in os.environ.items() if not name.startswith(beginnings)}


def isolated_jupyter_environment(folder: Path) -> dict[str, str]:
    """Return variables that make Jupyter store its files in `folder` instead of the user's folders."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    return {name: str(folder / name.lower()) for name in names}
