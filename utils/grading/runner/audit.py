"""Keep a log of a notebook's suspicious actions in the runner, so that the instructor can read it.

The log is for information only, because a malicious notebook can suppress entries. The sandbox enforces the limits.
"""

from __future__ import annotations

import builtins
import os
import re
import socket
import sys
import threading
from types import FrameType
from typing import Any, Literal

import torch

MOST = 20  # maximum number of entries between two calls of `drain`
LONGEST = 200  # maximum number of characters in an entry

AuditKind = Literal["network", "processes", "file", "tampering"]

# Python's audit events, grouped by the kind of incident (docs.python.org/3/library/audit_events.html). They are logged
# only if the notebook's own code causes them, because libraries also start programs, open connections and set traces.
_EVENTS: dict[AuditKind, str] = {
    "network": "socket.connect socket.bind socket.sendto socket.sendmsg socket.getaddrinfo socket.gethostbyname"
    " socket.gethostbyaddr socket.__new__",
    "processes": "os.fork os.forkpty os.kill os.killpg",
    "tampering": "sys.settrace",
}
_KINDS: dict[str, AuditKind] = {event: kind for kind, events in _EVENTS.items() for event in events.split()}
_LOOKS = {"open", "os.listdir", "os.scandir", "os.chdir"}
_WRITES = {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.truncate"}
_PATHS = {"shutil.rmtree", "shutil.copyfile"} | _LOOKS | _WRITES
# Paths that no honest answer needs: keys, other processes, answers, checks and grades.
_SECRET = re.compile(
    r"/proc/\d|/(\.ssh|\.aws|\.gnupg|\.kube|\.netrc|\.git-credentials|shadow|solutions|utils/checks|handed-in|gradebook\.db)"
    r"(/|$)"
)
_HARMLESS = ("__repr__", "__str__", "print", "input")  # honest notebooks also replace functions with these names


class AuditLog:
    """A log of suspicious events since the call to `start`.

    Args:
        own: folders in which a notebook may read and write anything.
    """

    def __init__(self, own: tuple[str, ...]) -> None:
        self.own = (*own, "/tmp/")
        libraries = (sys.base_prefix, os.path.dirname(os.__file__), *(os.path.realpath(p) for p in sys.path if p))
        self.libraries = ("/usr/", "/lib", "<frozen", *libraries)
        self.kept: list[tuple[AuditKind, str]] = []
        self.busy = threading.local()
        self.before: dict[tuple[str, str], Any] = {}

    def start(self) -> None:
        """Take a snapshot of the modules that checks rely on, and install the audit hook."""
        self.before = _snapshot_modules()
        sys.addaudithook(self._on_audit_event)

    def record_replacements(self) -> None:
        """Log changes since `start`: replaced callables in watched modules, and new callables in modules of `utils`."""
        now = _snapshot_modules()
        owners = {owner for owner, _ in self.before if owner.startswith("utils.")}
        added = [(owner, name) for owner, name in now.keys() - self.before.keys() if owner in owners]
        for owner, name in (*self.before, *sorted(added)):
            other = now.get((owner, name))
            if other is self.before.get((owner, name)) or name in _HARMLESS or self._is_of_a_library(other):
                continue
            self._add_entry("tampering", f"{owner}.{name} was replaced")

    def _is_of_a_library(self, value: Any) -> bool:
        # torch replaces some of its functions at run time.
        code = getattr(value, "__code__", None)
        return code is not None and code.co_filename.startswith(self.libraries)

    def drain(self) -> list[tuple[AuditKind, str]]:
        """Return the entries of the log as (kind, description), and empty the log."""
        notes, self.kept = self.kept, []
        return notes

    def _on_audit_event(self, event: str, arguments: tuple) -> None:
        if (event not in _KINDS and event not in _PATHS) or getattr(self.busy, "now", False):
            return
        self.busy.now = True
        try:
            if event in _KINDS:
                restarts = event == "os.kill" and arguments[0] == os.getpid()  # a harmless way to restart the kernel
                if restarts or not self._is_caused_by_page(sys._getframe(1)):
                    return
                shown = ", ".join(ascii(a) for a in arguments if isinstance(a, (str, bytes, int, tuple)))
                self._add_entry(_KINDS[event], f"{event}({shown})")
            elif arguments and isinstance(arguments[0], (str, bytes, os.PathLike)):
                self._check_path(event, arguments)
        finally:
            self.busy.now = False

    def _check_path(self, event: str, arguments: tuple) -> None:
        path = os.path.abspath(os.fsdecode(arguments[0]))
        flags = arguments[2] if event == "open" and isinstance(arguments[2], int) else 0
        writes = event not in _LOOKS or bool(flags & (os.O_WRONLY | os.O_RDWR))
        if path.startswith(self.own) or not (_SECRET.search(path) or (writes and path.startswith(self.libraries))):
            return
        self._add_entry("file", f"{event}({path!a}{', to write' if writes else ''})")

    def _is_caused_by_page(self, frame: FrameType | None) -> bool:
        """Return whether code outside the libraries caused an event. Frames of the module `socket` are skipped."""
        while frame is not None and frame.f_code.co_filename == socket.__file__:
            frame = frame.f_back
        return frame is not None and not frame.f_code.co_filename.startswith(self.libraries)

    def _add_entry(self, kind: AuditKind, text: str) -> None:
        if len(self.kept) < MOST:
            self.kept.append((kind, text[:LONGEST]))


def _snapshot_modules() -> dict[tuple[str, str], Any]:
    """Return the callables in the modules that the checks use, keyed by module and name."""
    modules: dict[str, Any] = {
        n: m for n, m in sys.modules.items() if n.startswith(("utils.feedback", "utils.exercises", "utils.lessons"))
    }
    for module in list(modules.values()):
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ in modules:
                modules[f"{value.__module__}.{value.__name__}"] = value
    modules |= {"builtins": builtins, "torch": torch, "torch.nn.functional": torch.nn.functional}
    modules["torch.Tensor"] = torch.Tensor
    return {
        (title, name): value
        for title, module in modules.items()
        for name, value in vars(module).items()
        if callable(value)
    }
