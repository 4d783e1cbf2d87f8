"""`coginst doctor` reports what the course needs, what is missing, and how to fix it. It works offline."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from utils import lessons
from utils.cli.configure import is_configured
from utils.learner_data.folder import home_folder

PACKAGES = (
    "torch",
    "numpy",
    "transformers",
    "tokenizers",
    "safetensors",
    "jupyterlab",
    "jupytext",
    "ipywidgets",
    "matplotlib",
    "circuitsvis",
)
INSTALL = "pip install -c requirements.lock -e ."
KERNEL = "python -m ipykernel install --sys-prefix"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True)
class Finding:
    """One line of the report: what was examined, the result and, if there is a problem, the remedy.

    `is_required` is False if a learner can work without the examined item.
    """

    subject: str
    result: str
    remedy: str = ""
    is_required: bool = True

    @property
    def is_ok(self) -> bool:
        return not self.remedy


def status_symbols(encoding: str | None) -> str:
    """Return the symbols for "ok", "wrong", "missing" and "do this": ✓✗–→, or ASCII if `encoding` lacks these."""
    try:
        "✓✗–→".encode(encoding or "ascii")
    except (UnicodeError, LookupError):
        return "+x->"
    return "✓✗–→"


def collect_findings() -> list[Finding]:
    """Examine everything that a learner or an instructor may need."""
    return [
        _course(),
        _python(),
        *_packages(),
        _device(),
        _gpt2(),
        _kernel(),
        _settings(),
        _lessons(),
        _sandbox(),
        _browser(),
    ]


def _course() -> Finding:
    return Finding("course", f"{lessons.course_version() or 'unknown version'}, in {lessons.ROOT}")


def _python() -> Finding:
    version = platform.python_version()
    return Finding(
        "Python",
        version,
        "" if sys.version_info >= (3, 10) else "Python 3.10 or later is needed: make lab PYTHON=python3.12",
    )


def _packages() -> list[Finding]:
    findings, tested = [], _pinned_versions()
    for name in PACKAGES:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            findings.append(Finding(name, "not installed", INSTALL))
            continue
        pinned = tested.get(name, version)
        same = version.split("+")[0] == pinned  # 2.13.0+cpu counts as 2.13.0
        findings.append(
            Finding(name, version)
            if same
            else Finding(name, f"{version}; the course is tested with {pinned}", INSTALL, is_required=False)
        )
    return findings


def _pinned_versions() -> dict[str, str]:
    """Return the versions that requirements.lock pins for this version of Python and this system."""
    from packaging.requirements import Requirement

    lock = lessons.ROOT / "requirements.lock"
    lines = lock.read_text(encoding="utf-8").splitlines() if lock.exists() else []
    pinned = [Requirement(line) for line in (line.partition("#")[0].strip() for line in lines) if line]
    return {r.name: str(r.specifier).removeprefix("==") for r in pinned if r.marker is None or r.marker.evaluate()}


def _device() -> Finding:
    try:
        import torch
    except Exception as error:  # not only ImportError: a missing system library raises OSError
        return Finding("device", f"torch cannot be imported ({error})", INSTALL)
    if torch.cuda.is_available():
        return Finding("device", f"{torch.cuda.get_device_name(0)}, and {os.cpu_count()} CPU cores")
    metal = ", and Metal" if getattr(torch.backends, "mps", None) and torch.backends.mps.is_available() else ""
    return Finding("device", f"{os.cpu_count()} CPU cores{metal}; no CUDA (not needed)")


def _gpt2() -> Finding:
    try:
        from utils.gpt2.layer0 import get_pre_attn
        from utils.gpt2.sources import find_source

        source = find_source()
        with contextlib.redirect_stdout(io.StringIO()):
            get_pre_attn("Mary", path=source.path)
    except ImportError as error:
        return Finding("GPT-2", str(error), INSTALL)
    except ValueError as error:
        return Finding("GPT-2", "cannot be used", str(error))
    more = (
        f" ({_short_path(source.path)})"
        if source.real
        else ""
        if source.is_explicit
        else "; `coginst fetch gpt2` gets the real one (550 MB)"
    )
    return Finding("GPT-2", f"{source.name}, {source.n_layers} layers, width {source.d_model}: {source.reason}{more}")


def _short_path(path: Path) -> str:
    """Abbreviate the home folder in a path to `~`."""
    home = home_folder()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path)


def _kernel() -> Finding:
    try:
        from jupyter_client.kernelspec import KernelSpecManager

        program = KernelSpecManager().get_kernel_spec("python3").argv[0]
    except Exception as error:
        return Finding("kernel", f"no python3 kernel ({type(error).__name__})", KERNEL)
    if shutil.which(program) is None:
        return Finding("kernel", f"the python3 kernel starts {program}, which does not exist", KERNEL)
    return Finding("kernel", "python3")


def _settings() -> Finding:
    if is_configured():
        return Finding("Jupyter", "configured for the course")
    return Finding("Jupyter", "has its own settings", "coginst configure", is_required=False)


def _lessons() -> Finding:
    course, answers = (lessons.all_lessons(lessons.ROOT / folder) for folder in ("course", "solutions"))
    if not course:
        return Finding("lessons", "course/ is empty", "coginst build")
    return Finding("lessons", f"{len(course)} in course/, {'answers in solutions/' if answers else 'no answers here'}")


def _sandbox() -> Finding:
    from utils.grading.judge import bubblewrap

    if why := bubblewrap.isolation_problem():
        return Finding("sandbox", "not available; only `coginst grade` needs it", why, is_required=False)
    return Finding("sandbox", f"bubblewrap ({bubblewrap.find_bwrap()}): `coginst grade` can isolate answers")


def _browser() -> Finding:
    names = [os.environ.get("CHROMIUM", ""), *BROWSERS]
    found = next((name for name in names if name and shutil.which(name)), None)
    if found:
        return Finding("Chromium", found)
    return Finding(
        "Chromium", "not found; only the browser tests need it", "bash .ci/install-browser", is_required=False
    )
