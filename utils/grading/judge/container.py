"""Build the command that starts the fork server in an unprivileged container, for machines without bubblewrap.

The container has no network and no capabilities, and its root is read-only. Of the course, it contains only the files
that a runner needs. It cannot create namespaces of its own, so it is used for one submission only. podman and docker
take the same options.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from utils.grading.judge.bubblewrap import COURSE, SandboxError, course_mounts, runner_environment
from utils.grading.runner.isolation import TMP_BYTES

PROGRAMS = ("podman", "docker")
JUDGE = "/judge"  # the folder in the container that contains the judge's socket
SOCKET = "control"
NOBODY = "65534:65534"
OPTIONS = (
    "--rm --network none --read-only --cap-drop ALL --security-opt no-new-privileges --security-opt label=disable"
    f" --pids-limit 256 --hostname runner --workdir / --user {NOBODY} --tmpfs /tmp:rw,nosuid,nodev,size={TMP_BYTES}"
)


def container_problem(image: str) -> str | None:
    """Return None if this machine can isolate answers in containers, otherwise the problem and the remedy."""
    program = _find_program()
    if program is None:
        return "Neither podman nor docker is installed. Install podman, or use --isolation bwrap."
    if not image:
        return "--isolation container needs an image. docs/grading.md shows how to build one; pass it with --image."
    found = subprocess.run([program, "image", "inspect", image], capture_output=True, encoding="utf-8")
    if found.returncode:
        why = (found.stderr.strip() or "no error message").splitlines()[-1]
        return f"{Path(program).name} has no image {image} ({why}). docs/grading.md shows how to build it."
    return None


def container_command(image: str, name: str, folder: Path) -> list[str]:
    """Return the command that starts the fork server in a new container.

    Args:
        image: an image with `python3` and the packages of requirements.lock.
        name: the name of the container.
        folder: the folder with the judge's socket.

    Raises:
        SandboxError: neither podman nor docker is installed.
    """
    program = _find_program()
    if program is None:
        raise SandboxError(str(container_problem(image)))
    environment = [
        f"--env={variable}={value}" for variable, value in runner_environment().items() if variable != "PATH"
    ]
    mounts = [f"--volume={source}:{target}:ro" for source, target in course_mounts()]
    code = (
        f"import sys; sys.path.insert(0, {COURSE!r}); from utils.grading.runner import fork_server;"
        f" fork_server.main_in_container({f'{JUDGE}/{SOCKET}'!r})"
    )
    start = [image, "python3", "-I", "-B", "-c", code]
    return [
        program,
        "run",
        "--name",
        name,
        *OPTIONS.split(),
        *environment,
        *mounts,
        f"--volume={folder}:{JUDGE}",
        *start,
    ]


def kill_container(name: str) -> None:
    """Kill a container if it is still running. Killing the program that started it is not enough."""
    subprocess.run([_find_program() or PROGRAMS[0], "kill", name], capture_output=True)


def _find_program() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
