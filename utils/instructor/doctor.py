"""`coginst doctor`: what this machine has for the course, and what to do about what it lacks. Asks no network."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from importlib import metadata

PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "jupyterlab", "jupytext", "ipywidgets", "matplotlib", "circuitsvis")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, what was found, and what cures it where something is wrong.

    `needed` says whether a learner can do without.
    """

    what: str
    found: str
    cure: str = ""
    needed: bool = True

    @property
    def well(self) -> bool:
        return not self.cure


def examine() -> list[Finding]:
    """Everything that a learner or an instructor may need."""
    return [_python(), *_packages(), _device(), _gpt2(), _kernel(), _lessons(), _browser()]


def _python() -> Finding:
    version = platform.python_version()
    return Finding("Python", version, "" if sys.version_info >= (3, 10) else "Python 3.10 or later is needed: make lab PYTHON=python3.12")


def _packages() -> list[Finding]:
    findings = []
    for name in PACKAGES:
        try:
            findings.append(Finding(name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            findings.append(Finding(name, "not installed", "pip install -r requirements.lock -e ."))
    return findings


def _device() -> Finding:
    try:
        import torch
    except ImportError:
        return Finding("device", "unknown without torch", "pip install -r requirements.lock -e .")
    if torch.cuda.is_available():
        return Finding("device", f"{torch.cuda.get_device_name(0)}, and {os.cpu_count()} CPU cores")
    metal = ", and Metal" if getattr(torch.backends, "mps", None) and torch.backends.mps.is_available() else ""
    return Finding("device", f"{os.cpu_count()} CPU cores{metal}; no CUDA, and none is needed")


def _gpt2() -> Finding:
    try:
        from utils.gpt2.layer0 import get_pre_attn
        from utils.gpt2.sources import resolve

        found = resolve()
        _silently(lambda: get_pre_attn("Mary", path=found.path))
    except ImportError as error:
        return Finding("GPT-2", str(error), "pip install -r requirements.lock -e .")
    except ValueError as error:
        return Finding("GPT-2", "cannot be used", str(error))
    more = "" if found.real else "; `coginst fetch gpt2` gets the real one (550 MB)"
    return Finding("GPT-2", f"{found.name}, {found.n_layers} layers, width {found.d_model}: {found.why}{more}")


def _silently(act) -> None:
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        act()


def _kernel() -> Finding:
    try:
        from jupyter_client.kernelspec import KernelSpecManager

        KernelSpecManager().get_kernel_spec("python3")
    except Exception as error:
        return Finding("kernel", f"no python3 kernel ({type(error).__name__})", "python -m ipykernel install --sys-prefix")
    return Finding("kernel", "python3")


def _lessons() -> Finding:
    from utils import lessons

    course = lessons.all_lessons(lessons.ROOT / "course")
    answers = lessons.all_lessons(lessons.ROOT / "solutions")
    if not course:
        return Finding("lessons", "course/ is empty", "coginst build")
    return Finding("lessons", f"{len(course)} in course/, {'answers in solutions/' if answers else 'no answers here'}")


def _browser() -> Finding:
    names = [os.environ.get("CHROMIUM", ""), *BROWSERS]
    found = next((name for name in names if name and shutil.which(name)), None)
    if found:
        return Finding("Chromium", found)
    return Finding("Chromium", "not found; only the browser tests need it", "bash .ci/install-browser", needed=False)
