"""Define the result of a benchmark: rows of numbers (lower is better), and the description of the machine."""

from __future__ import annotations

import importlib
import os
import platform
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Row:
    """One measurement in `unit`: a number for each round, or for each item of `names`.

    Attributes:
        theirs: the results of the compared method `beside` in the same run. It contains one number for each number of
            `ours` (both methods are measured in turn), or a single number for all of them. It is empty if there is no
            comparison.
        bar: the highest ratio that the course accepts, or the highest result with its unit.
        headline: whether README also shows this row.
    """

    what: str
    ours: Sequence[float]
    unit: str = ""
    beside: str = ""
    theirs: Sequence[float] = ()
    names: Sequence[str] = ()
    bar: str = ""
    headline: bool = False

    @property
    def ratios(self) -> list[float]:
        """Our results divided by theirs."""
        theirs = list(self.theirs) * (len(self.ours) if len(self.theirs) == 1 else 1)
        return [mine / other for mine, other in zip(self.ours, theirs)]

    @property
    def ratio(self) -> float:
        """The median ratio."""
        return statistics.median(self.ratios)


def run_benchmark(benchmark: str) -> list[Row]:
    """Run a benchmark and return its rows."""
    return importlib.import_module(f"bench.{benchmark}").rows()


def describe_machine() -> str:
    """Describe the machine: processor, cores, memory, system, Python, torch and GPU, but no host name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        system = f"{platform.system()} {platform.release()}"
    return ", ".join(
        [
            models[0] if models else platform.processor() or platform.machine(),
            f"{os.cpu_count()} cores",
            f"{psutil.virtual_memory().total / 2**30:.0f} GB of memory",
            system,
            f"Python {platform.python_version()}",
            f"torch {version('torch')}",
            _gpu(),
        ]
    )


def _gpu() -> str:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"


def cpu_seconds(*command: str | Path, **options) -> float:
    """Run a program in the repository, and return its CPU time, child processes included.

    Raises:
        RuntimeError: the program failed. The message ends with the program's own error.
    """
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, **{"cwd": ROOT, "capture_output": True, "encoding": "utf-8"} | options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{(done.stderr or done.stdout or '')[-2000:]}")
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


def last_printed_line(*arguments: str | Path) -> str:
    """Run code in a new Python in the repository, and return the last line that it prints."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return done.stdout.splitlines()[-1]


NBGRADER = ROOT / "build" / "nbgrader" / "bin" / "python"


def time_nbgrader_command(*arguments: str, cwd: Path, path: Path = ROOT) -> float:
    """Run an nbgrader command in the course folder `cwd`, with the course's modules in `path`, and return its CPU time.

    Raises:
        RuntimeError: the command failed, or nbgrader is not installed.
    """
    if not NBGRADER.exists():
        raise RuntimeError(
            "nbgrader is not installed in build/nbgrader; `make bench` and `make test-nbgrader` install it."
        )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COURSE_")}
    environment |= {"PATH": f"{NBGRADER.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(cwd)}
    environment |= {"PYTHONPATH": str(path)}
    return cpu_seconds(NBGRADER, "-m", "nbgrader", *arguments, cwd=cwd, env=environment)
