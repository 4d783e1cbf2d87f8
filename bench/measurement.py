"""What a benchmark gives back: rows of numbers, less being better; and the words for a machine."""

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
    """What was measured, in `unit`: a number for each round, or for each thing that `names` names.

    Attributes:
        theirs: what `beside` took in the same run: a number for each of ours, measured by turns with it, or one for
            all; none where there is nothing to compare with.
        bar: what the course asks for, in words.
        headline: whether README shows it, too.
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
        """Ours divided by theirs."""
        theirs = list(self.theirs) * (len(self.ours) if len(self.theirs) == 1 else 1)
        return [mine / other for mine, other in zip(self.ours, theirs)]

    @property
    def ratio(self) -> float:
        """The median ratio."""
        return statistics.median(self.ratios)


def run_benchmark(benchmark: str) -> list[Row]:
    """Measure: what the benchmark's module gives."""
    return importlib.import_module(f"bench.{benchmark}").rows()


def describe_machine() -> str:
    """The machine in words: processor, cores, memory, system, Python, torch and GPU; no name of a host."""
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
    """What a program takes in seconds of CPU, its own children included; it is run in the repository.

    Raises:
        RuntimeError: it failed; the message ends as its own does.
    """
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, **{"cwd": ROOT, "capture_output": True, "encoding": "utf-8"} | options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{(done.stderr or done.stdout or '')[-2000:]}")
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


def last_printed_line(*arguments: str | Path) -> str:
    """The last line that a new Python prints, run in the repository."""
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    return done.stdout.splitlines()[-1]


NBGRADER = ROOT / "build" / "nbgrader" / "bin" / "python"


def time_nbgrader_command(*arguments: str, cwd: Path, path: Path = ROOT) -> float:
    """Seconds of CPU of an nbgrader command in the course folder `cwd`, with the course's modules in `path`.

    Raises:
        RuntimeError: it failed, or nbgrader is not there.
    """
    if not NBGRADER.exists():
        raise RuntimeError("nbgrader is not in build/nbgrader; `make bench` and `make test-nbgrader` put it there.")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COURSE_")}
    environment |= {"PATH": f"{NBGRADER.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(cwd)}
    environment |= {"PYTHONPATH": str(path)}
    return cpu_seconds(NBGRADER, "-m", "nbgrader", *arguments, cwd=cwd, env=environment)
