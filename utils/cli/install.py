"""Create .venv, install the packages of the course in it, and configure Jupyter. `make lab` and `make test` run this.

This file runs before any package is installed, and with any Python that a user may have. So it uses only the standard
library, and only syntax that an outdated Python can parse.

Usage: python utils/cli/install.py [EXTRAS]
EXTRAS is a list such as dev,book. Without it, only the packages that a learner needs are installed.
"""

import glob
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
LOG = VENV / "install.log"
OLDEST = (3, 10)


def main(extras: str = "") -> None:
    """Install the course and the packages of `extras`. On failure, show the end of the log and exit with status 1."""
    if sys.version_info < OLDEST:
        sys.exit(
            "This course needs Python {}.{} or later, and {} is {}.{}. Name a newer one: make lab"
            " PYTHON=python3.12".format(*OLDEST, Path(sys.executable).name, *sys.version_info[:2])
        )
    subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    python = str(VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
    expected, start = count_locked(bool(extras)), time.monotonic()
    print(f"Installing about {expected} packages in .venv. The log is {LOG.relative_to(ROOT)}.", flush=True)
    # The lock file only constrains versions, so the same file works for every selection of packages.
    request = ["install", "-c", "requirements.lock", "-e", f".[{extras}]" if extras else "."]
    pip = [python, "-m", "pip", *request, "--disable-pip-version-check", "--no-input", "--progress-bar=off"]
    uv = shutil.which("uv")
    commands = ([[uv, "pip", *request, "--python", python]] if uv else []) + [pip]
    if not any(run_logged(command, expected) for command in commands):
        print("".join(LOG.read_text(encoding="utf-8", errors="replace").splitlines(True)[-20:]), file=sys.stderr)
        sys.exit(f"The packages could not be installed. The complete log is {LOG}.")
    print(f"Installed in {time.monotonic() - start:.0f} s.")
    subprocess.run([python, "-m", "utils.cli", "configure"], cwd=ROOT, check=True)
    for name in [".ready", ".ready-dev"] if extras else [".ready"]:
        (VENV / name).touch()


def count_locked(with_developers: bool) -> int:
    """Return the number of packages in the lock file. Count lines with `# dev` only if `with_developers` is true."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    return len({line.partition("==")[0] for line in lines if "==" in line and (with_developers or "# dev" not in line)})


def run_logged(command: list, expected: int) -> bool:
    """Run a command with its output in the log. On a terminal, show its progress. Return whether it succeeded."""
    with open(LOG, "wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        while process.poll() is None:
            if sys.stdout.isatty():
                print(f"\r{describe_progress(expected):79.79}", end="", flush=True)
            time.sleep(0.2)
    if sys.stdout.isatty():
        print(f"\r{'':79}\r", end="")
    return process.returncode == 0


def packages_folder() -> Path:
    """Return the folder in which the environment stores its packages."""
    scheme = "nt" if sys.platform == "win32" else "posix_prefix"
    return Path(sysconfig.get_path("purelib", scheme, {"base": str(VENV)}))


def describe_progress(expected: int) -> str:
    """Return a progress bar. Its first half fills as packages are found, its second half as they are installed."""
    text = LOG.read_text(encoding="utf-8", errors="replace")
    found = len(set(re.findall(r"(?m)^(?:Collecting|Requirement already satisfied:) ([\w.-]+)", text)))
    if re.search(r"(?m)^Installing collected|^Resolved \d+ packages", text):  # the output of pip and of uv
        found = expected
    installed = len(glob.glob(str(packages_folder() / "*.dist-info"))) if found == expected else 0
    done = min(found, expected) + min(installed, expected)
    downloads = re.findall(r"(?m)^ *Downloading ([\w.]+).*(\(\d[\d.]* ?[MG]i?B\))", text)
    action = f"downloading {' '.join(downloads[-1])}" if downloads and not installed else "installing"
    bar = "#" * (30 * done // (2 * expected))
    return f"[{bar:30}] {100 * done // (2 * expected):3d} %  {action}"


if __name__ == "__main__":
    main(*sys.argv[1:])
