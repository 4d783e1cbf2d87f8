"""Attack with pages that access files, other processes, the network, or the pages of later students."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.grading.hostile.conftest import RIGHT, graded, untouched
from utils.grading.judge.bubblewrap import MOUNTED_PACKAGES
from utils.grading.judge.sandbox import Sandbox
from utils.grading.runner.isolation import TMP_BYTES, TMP_FILES
from utils.lessons import ROOT

SECRET = "what-nobody-may-read"


def loot(code: str) -> str:
    """Return a page that runs `code` when it is loaded, and reports the value of `found` or the exception."""
    body = "\n".join(f"    {line}" for line in code.strip().splitlines())
    return f"""
def attack():
{body}
    return found
class Attack:
    try:
        loot = repr(attack())
    except BaseException as error:
        loot = repr(error)
def row_sums(x, loot=Attack.loot):
    raise RuntimeError("loot: " + loot)
"""


def said(sandbox: Sandbox, code: str) -> str:
    """Run `code` in a page, and return the message, which contains the value of `found` or the exception."""
    return graded(sandbox, loot(code)).exercises[0].message


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """A file with a secret, in a folder that no page needs."""
    path = tmp_path / "held" / "secret.txt"
    path.parent.mkdir()
    path.write_text(SECRET, encoding="utf-8")
    return path


@pytest.fixture
def at_home() -> Iterator[Path]:
    """A file with a secret in the home folder, where private keys are."""
    with tempfile.TemporaryDirectory(prefix=".coginst-", dir=Path.home()) as folder:
        path = Path(folder, "id_ed25519")
        path.write_text(SECRET, encoding="utf-8")
        yield path


READS: dict[str, Callable[[Path], str]] = {
    "a file by its path": lambda path: f"found = open({str(path)!r}).read()",
    "a file by a descriptor": lambda path: f"import os\nfound = os.read(os.open({str(path)!r}, os.O_RDONLY), 99)",
    "through the judge's /proc": lambda path: f"found = open('/proc/{os.getpid()}/root{path}').read()",
    "with a library": lambda path: f"import numpy\nfound = numpy.fromfile({str(path)!r}, dtype='S1').tobytes()",
    "by a program": lambda path: f"import subprocess\nfound = subprocess.check_output(['cat', {str(path)!r}])",
    "by system": lambda path: f"import os\nfound = os.popen('cat {path}').read()",
    "with the C library": lambda path: (
        f"""
import ctypes
c = ctypes.CDLL(None)
held = ctypes.create_string_buffer(99)
c.read(c.open({os.fsencode(path)!r}, 0), held, 99)
found = held.value
"""
    ),
}


@pytest.mark.parametrize("read", READS.values(), ids=list(READS))
def test_no_file_of_others_is_read(sandbox: Sandbox, unisolated_sandbox: Sandbox, held: Path, read: Callable) -> None:
    assert SECRET in said(unisolated_sandbox, read(held))
    found = said(sandbox, read(held))
    assert found and SECRET not in found


def test_no_file_of_the_home_folder_is_read(sandbox: Sandbox, unisolated_sandbox: Sandbox, at_home: Path) -> None:
    code = READS["a file by its path"](at_home)
    assert SECRET in said(unisolated_sandbox, code)
    assert "No such file" in said(sandbox, code)


def test_the_checks_and_the_class_are_not_there(sandbox: Sandbox, unisolated_sandbox: Sandbox, held: Path) -> None:
    code = f"""
import glob, os, sys
found = [os.path.exists({str(held)!r}), [f for p in sys.path for f in glob.glob(p + "/utils/*")]]
"""
    assert "checks" in said(unisolated_sandbox, code) and "True" in said(unisolated_sandbox, code)
    found = said(sandbox, code)
    for hidden in ("checks", "instructor", "nbgrader", "True"):
        assert hidden not in found


def test_other_processes_are_neither_seen_nor_ended(sandbox: Sandbox, unisolated_sandbox: Sandbox) -> None:
    seen = "import os\nfound = sorted(int(p) for p in os.listdir('/proc') if p.isdigit())"
    assert str(os.getpid()) in said(unisolated_sandbox, seen)
    assert "loot: [1]" in said(sandbox, seen)
    victim = os.fork()
    if not victim:
        threading.Event().wait(60)
        os._exit(0)
    kill = f"import os\nfound = os.kill({victim}, 9)"
    assert "No such process" in said(sandbox, kill)
    assert os.waitpid(victim, os.WNOHANG) == (0, 0)
    said(unisolated_sandbox, kill)
    assert os.waitstatus_to_exitcode(os.waitpid(victim, 0)[1]) == -9


def test_nobody_is_kept_waiting_for_a_file_that_all_share(
    sandbox: Sandbox, unisolated_sandbox: Sandbox, held: Path
) -> None:
    """A lease on a file makes the kernel delay the next process that opens the file, by up to 45 seconds."""
    code = """
import fcntl, os, sys
file = os.open({}, os.O_RDONLY)
fcntl.fcntl(file, fcntl.F_GETFD)
found = fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
"""
    assert "loot: 0" in said(unisolated_sandbox, code.format(repr(str(held))))
    assert "PermissionError" in said(sandbox, code.format("sys.modules['utils.exercises.runner'].__file__"))


def test_the_environment_holds_nothing_of_the_judges(
    sandbox: Sandbox, unisolated_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without isolation, a runner gets a fixed environment, not that of the judge."""
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    assert SECRET in "".join(os.environ.values())
    for box in (sandbox, unisolated_sandbox):
        assert SECRET not in said(box, "import os\nfound = dict(os.environ)")


WRITES = {
    "beside": "open({}, 'w').write('x')",
    "by a link": "__import__('os').symlink('/tmp', {})",
    "as a folder": "__import__('os').mkdir({})",
    "as 10,000 files": "[open({} + str(n), 'w').close() for n in range(10_000)]",
}


@pytest.mark.parametrize("write", WRITES.values(), ids=list(WRITES))
def test_nothing_is_written_outside(sandbox: Sandbox, unisolated_sandbox: Sandbox, tmp_path: Path, write: str) -> None:
    code = "found = " + write.format(repr(str(tmp_path / "new")))
    assert "Error" in said(sandbox, code)
    assert not list(tmp_path.iterdir())
    said(unisolated_sandbox, code)
    assert list(tmp_path.iterdir())


def test_the_sandbox_itself_cannot_be_written_to(sandbox: Sandbox) -> None:
    code = """
import os, sys, sysconfig
places = ["/", "/course", "/course/utils", "/dev", "/dev/shm", "/proc/sys/kernel", "/usr"]
places += [sysconfig.get_path("purelib")]
places += [os.path.dirname(sys.modules[m].__file__) for m in ("torch", "os", "utils.exercises.runner")]
found = []
for place in places:
    try:
        open(os.path.join(place, "mine"), "w")
        found.append("wrote " + place)
    except OSError as error:
        found.append(error.errno)
try:
    open("/proc/sys/kernel/core_pattern", "w").write("|mine")
    found.append("wrote core_pattern")
except OSError as error:
    found.append(error.errno)
"""
    found = said(sandbox, code)
    assert "loot: [" in found and "wrote" not in found


FILLS = {
    "10,000 files": "[open(f'{place}/{n}', 'w').close() for n in range({})] and 'all'",
    "a gigabyte": "[open(f'{place}/{n}', 'wb').write(bytes(1 << 24)) for n in range({})] and 'all'",
}
ALL = {"10,000 files": 10_000, "a gigabyte": 64}
A_LITTLE_MORE = {"10,000 files": TMP_FILES + 1, "a gigabyte": (TMP_BYTES >> 24) + 1}  # just above the limits


@pytest.mark.parametrize("what", FILLS)
def test_the_temporary_folder_cannot_be_filled(sandbox: Sandbox, unisolated_sandbox: Sandbox, what: str) -> None:
    code = "import os\nplace = os.getcwd()\nfound = " + FILLS[what]
    assert "loot: 'all'" in said(unisolated_sandbox, code.replace("({})", f"({A_LITTLE_MORE[what]})"))
    for count in (A_LITTLE_MORE[what], ALL[what]):
        assert "No space left" in said(sandbox, code.replace("({})", f"({count})"))
    assert untouched(sandbox)


def test_without_isolation_nothing_is_left_behind(unisolated_sandbox: Sandbox) -> None:
    place = said(unisolated_sandbox, "import os\nfound = os.getcwd()").rpartition("loot: ")[2].split("'")[1]
    assert "page" in place and not os.path.exists(place)


def test_the_next_student_finds_nothing_of_the_one_before(
    sandbox: Sandbox, unisolated_sandbox: Sandbox, tmp_path: Path
) -> None:
    mark = f"mark-{tmp_path.name}"
    leave = f"import tempfile, os\nfound = open(os.path.join('/tmp', {mark!r}), 'w').write('x')"
    look = "import os\nfound = [n for n in os.listdir('/tmp') if n.startswith('mark-')]"
    assert said(sandbox, leave) and mark not in said(sandbox, look)
    said(unisolated_sandbox, leave)
    assert mark in said(unisolated_sandbox, look)
    os.unlink(f"/tmp/{mark}")


# --- the network ----------------------------------------------------------------------------------------


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[dict[str, socket.socket]]:
    """Servers on this machine, one of each kind, which no page may reach."""
    made = {
        "tcp": socket.create_server(("127.0.0.1", 0)),
        "udp": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "unix": socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
        "abstract": socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
    }
    made["udp"].bind(("127.0.0.1", 0))
    made["unix"].bind(str(tmp_path / "socket"))
    made["abstract"].bind(f"\0coginst-{os.getpid()}")
    for name in ("unix", "abstract"):
        made[name].listen()
    for server in made.values():
        server.settimeout(0.2)
    yield made
    for server in made.values():
        server.close()


def _reached(server: socket.socket) -> bool:
    try:
        if server.type == socket.SOCK_DGRAM:
            return bool(server.recv(999))
        server.accept()[0].close()
    except TimeoutError:
        return False
    return True


QUERY = b"\x12\x34\x01\0\0\1\0\0\0\0\0\0\7example\3org\0\0\1\0\1"  # a DNS query for the address of example.org
CALLS = {
    "tcp": "socket.create_connection({address!r})",
    "udp": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'secret', {address!r})",
    "dns": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto({query!r}, {address!r})",
    "unix": "socket.socket(socket.AF_UNIX).connect({address!r})",
    "abstract": "socket.socket(socket.AF_UNIX).connect({address!r})",
}


@pytest.mark.parametrize("kind", CALLS)
def test_nobody_is_reached(sandbox: Sandbox, unisolated_sandbox: Sandbox, servers: dict, kind: str) -> None:
    server = servers["udp" if kind == "dns" else kind]
    code = "import socket\nfound = " + CALLS[kind].format(address=server.getsockname(), query=QUERY)
    result = graded(sandbox, loot(code))
    assert "PermissionError" in result.exercises[0].message and not _reached(server)
    assert "network" in {incident.kind for incident in result.incidents}
    said(unisolated_sandbox, code)
    assert _reached(server)


def test_even_without_the_filter_there_is_no_network(sandbox: Sandbox) -> None:
    """The network namespace has no interface, not even the loopback interface."""
    assert "loot: []" in said(sandbox, "found = [l for l in open('/proc/net/route')][1:]")


READ, WRITE = "lambda: open('/proc/1234/root/etc/shadow')", "lambda: open('/course/x', 'w')"
ATTEMPTS = {READ: "file", WRITE: "file", "os.fork": "processes", "lambda: os.kill(2, 9)": "processes"}
ATTEMPTS["lambda: socket.getaddrinfo('example.org', 80)"] = "network"


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_what_is_tried_is_told(sandbox: Sandbox, attempt: str) -> None:
    code = f"""
import os, socket
for attempt in ({attempt},):
    try:
        attempt()
    except OSError:
        pass
found = 1
"""
    assert [incident.kind for incident in graded(sandbox, loot(code)).incidents] == [ATTEMPTS[attempt]]
    assert not graded(sandbox, RIGHT).incidents
    # urllib3 creates a socket when it is imported, without connecting it.
    innocent = graded(sandbox, f"import requests\n{RIGHT}")
    assert innocent.exercises[0].state == "passed" and not innocent.incidents


# --- the course -----------------------------------------------------------------------------------------


def test_nothing_of_the_course_but_the_mounted_packages_can_be_imported(sandbox: Sandbox) -> None:
    """Every module of the course is looked up in the sandbox: the judge, the oracles and the solutions are absent."""
    folders = ("utils", "solutions", "tests", "bench")
    paths = [path.relative_to(ROOT).with_suffix("") for folder in folders for path in (ROOT / folder).rglob("*.py")]
    names = sorted(".".join(path.parts) for path in paths if path.name != "__init__")
    code = f"""
import importlib.util
def exists(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
found = [name for name in {names} if exists(name)]
found = sorted({{".".join(name.split(".")[:3 if "grading" in name else 2]) for name in found}})
"""
    expected = sorted({f"utils.{name}" for name in MOUNTED_PACKAGES if name != "assets"} | {"utils.grading.runner"})
    assert f"loot: {expected}." in said(sandbox, code)
