"""The judge's end of the sandbox: starts the warm process in bubblewrap, and opens a confined runner for each exercise.

Whatever a runner sends or does not send ends in a reply or in `Over`; a warm process that is gone is started anew.
"""

from __future__ import annotations

import json
import socket
import subprocess
import time
from typing import Any

from utils.grading.bubblewrap import (
    CURE,
    Isolation,
    SandboxError,
    fork_server_command,
    platform_problem,
    runner_environment,
)
from utils.grading.framing import FROM_RUNNER, Channel, ChannelClosed, ChannelTimeout, ProtocolError
from utils.grading.isolation import ProcessExit, ResourceLimits

START_TIMEOUT = 120.0  # seconds in which the warm process must be ready, on the busiest machine
WALL_CLOCK_FACTOR = 6.0  # times its CPU limit may an exercise take by the clock, as `utils.feedback.timeout` has it
GRACE = 10.0  # seconds more, until the judge gives up
PRELOAD_HINTS = {
    b"load_gpt2": "gpt2",
    b"optim": "optimisers",
    b"train": "optimisers",
}  # what a page with a word asks for


class RunnerStopped(BaseException):
    """A runner is over before it has answered. Like an interrupt, nothing that merely looks at results may catch it.

    Attributes:
        kind: "time", "memory", "processes" or "tampering".
        detail: one sentence.
        line, code: where the answer was, if it was interrupted in time.
    """

    def __init__(self, kind: str, detail: str, line: int | None = None, code: str = "") -> None:
        super().__init__(detail)
        self.kind, self.detail, self.line, self.code = kind, detail, line, code


class Sandbox:
    """A warm process, started when it is first needed and again after it has ended."""

    def __init__(self, isolation: Isolation = "bwrap") -> None:
        self.isolation: Isolation = isolation
        self._process: subprocess.Popen | None = None
        self._control: socket.socket | None = None
        self._before, self._now = 0.0, 0.0  # CPU seconds of earlier warm processes, and of this one

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds of its warm processes and of all that they started."""
        return self._before + self._now

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the warm process and everything that it started."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            try:
                self._process.wait(GRACE)  # it ends when the judge hangs up
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = self._control = None
        self._before, self._now = self.cpu_seconds, 0.0

    @property
    def fork_server_pid(self) -> int | None:
        """The process that the warm one was started as; None where none is running."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def open_session(self, limits: ResourceLimits, page: bytes = b"") -> Session:
        """A runner for one exercise, of this page. Raises `SandboxError`."""
        likely = sorted({what for word, what in PRELOAD_HINTS.items() if word in page})
        packet = json.dumps({"limits": limits._asdict(), "likely": likely}).encode()
        ours, theirs = socket.socketpair()
        with theirs:
            if not self._start_runner(packet, theirs):  # the warm process has ended since
                self.close()
                if not self._start_runner(packet, theirs):
                    self.close()
                    raise SandboxError(f"The sandbox ends as soon as it is asked for something. {CURE}")
        return Session(self, ours, limits)

    def _start_runner(self, packet: bytes, theirs: socket.socket) -> bool:
        """Whether the warm process is prepared for a page and starts a runner; the time that it takes is nobody's."""
        control = self._ensure_started()
        control.settimeout(START_TIMEOUT)
        try:
            socket.send_fds(control, [packet], [theirs.fileno()])
            return b"ready" in control.recv(1 << 16)
        except OSError:
            return False

    def wait_for_exit(self, kill: bool) -> ProcessExit:
        """How the last runner ended; with `at_once` it is made to."""
        control = self._control
        if control is None:
            return ProcessExit(-9, 0.0)
        try:
            if kill:
                control.send(b"{}")
            control.settimeout(GRACE)
            ended = ProcessExit(**json.loads(control.recv(1 << 16)))
            self._now = ended.total
            return ended
        except (OSError, ValueError, TypeError):  # the warm process is gone, or hangs: the next one starts afresh
            self.close()
            return ProcessExit(-9, 0.0)

    def _ensure_started(self) -> socket.socket:
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        self.close()
        if why := platform_problem():
            raise SandboxError(why)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        started = fork_server_command(self.isolation, theirs.fileno())
        with theirs:
            self._process = subprocess.Popen(
                started,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                env=runner_environment(),
                cwd="/",
            )
        self._control = ours
        ours.settimeout(START_TIMEOUT)
        try:
            said = ours.recv(1 << 16)
        except OSError:
            said = b""
        if b"ready" not in said:
            self._process.kill()
            assert self._process.stderr is not None
            lines = self._process.stderr.read().decode("utf-8", "replace").strip().splitlines()
            self.close()
            raise SandboxError(f"The sandbox does not start ({lines[-1] if lines else 'it says nothing'}). {CURE}")
        return ours


class Session:
    """One runner, as the judge speaks to it. Whatever ends it early raises `Over`."""

    def __init__(self, sandbox: Sandbox, connection: socket.socket, limits: ResourceLimits) -> None:
        self.sandbox, self.limits = sandbox, limits
        self.channel = Channel(connection, FROM_RUNNER)
        self.asked, self.notes = 0, []
        self.left = (
            limits.seconds * WALL_CLOCK_FACTOR + GRACE
        )  # seconds by the clock; what the judge works between is its own
        self.seconds = 0.0  # of CPU time, once it is closed
        self.over: RunnerStopped | None = None
        self._closed = False

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def ask(self, do: str, blob: bytes = b"", **message: Any) -> tuple[dict[str, Any], bytes]:
        """Ask the runner for something: its reply, and the bytes that came with it. Raises `Over`."""
        if self.over:
            raise self.over
        self.asked += 1
        try:
            if self.channel.has_unread_data():
                raise ProtocolError("a reply to what was not asked")
            reply, tensors = self._exchange({"id": self.asked, "do": do, **message}, blob)
            self._note(reply.get("notes"))
            if "stopped" in reply and reply.get("id") in (None, self.asked):
                raise self._end(_parse_stopped(reply["stopped"]))
            if type(reply.get("id")) is not int or reply["id"] != self.asked:
                raise ProtocolError("a reply to another question")
            if reply.get("memory") is True:
                raise self._end(
                    RunnerStopped("memory", f"It needed more than {_format_size(self.limits.memory)} of memory.")
                )
            if "large" in reply:
                raise self._end(RunnerStopped("memory", str(reply["large"])[:200]))
            return reply, tensors
        except ProtocolError as error:
            raise self.stop_tampered(str(error)) from None
        except ChannelTimeout:
            raise self._end(RunnerStopped("time", _TIME.format(self.limits.seconds))) from None
        except ChannelClosed:
            raise self._end(None) from None

    def _exchange(self, message: dict[str, Any], blob: bytes) -> tuple[dict[str, Any], bytes]:
        """Send a question and take its reply, in what is left of the time by the clock. Raises `Closed`, `Late` or
        `Broken`."""
        if self.left <= 0:
            raise ChannelTimeout
        began = time.monotonic()
        self.channel.send(message, blob, self.left)
        found = self.channel.receive(self.left)
        self.left -= time.monotonic() - began
        return found

    def stop_tampered(self, what: str) -> RunnerStopped:
        """The runner sent what it may not: it is ended, and this is to be raised."""
        return self._end(RunnerStopped("tampering", f"Its process sent {what}."))

    def close(self) -> None:
        """Hang up; the runner ends, and everything that it started."""
        if not self._closed:
            self._finish(at_once=bool(self.over) or self.channel.has_unread_data())

    def _finish(self, at_once: bool) -> ProcessExit:
        self._closed = True
        self.channel.connection.close()
        ended = self.sandbox.wait_for_exit(at_once)
        self.seconds = ended.seconds
        return ended

    def _end(self, over: RunnerStopped | None) -> RunnerStopped:
        """Close because of `over`, or because the process is gone."""
        ended = self._finish(at_once=over is not None)
        self.over = over or _explain_exit(ended, self.limits)
        return self.over

    def _note(self, notes: Any) -> None:
        if not isinstance(notes, list) or len(notes) > 100:
            raise ProtocolError("notes that are none")
        for note in notes:
            match note:
                case [str(kind), str(text)] if kind in ("network", "processes", "file", "tampering"):
                    self.notes.append((kind, text[:200].encode("utf-8", "replace").decode()))
                case _:
                    raise ProtocolError("notes that are none")


_TIME = "It had not ended after {:g} seconds and was stopped."


def _parse_stopped(where: Any) -> RunnerStopped:
    match where:
        case {"line": int(line), "code": str(code)} if 0 <= line < 10**7 and len(code) <= 10_000:
            return RunnerStopped(
                "time", f"It was stopped on line {line}.", line, code.encode("utf-8", "replace").decode()
            )
    return RunnerStopped("time", "It was stopped.")


def _explain_exit(ended: ProcessExit, limits: ResourceLimits) -> RunnerStopped:
    """What to say of a process that has ended before it answered."""
    if ended.seconds >= limits.seconds:
        return RunnerStopped("time", _TIME.format(limits.seconds))
    how = f"by signal {-ended.status}" if ended.status < 0 else f"with exit status {ended.status}"
    return RunnerStopped("processes", f"Its process ended {how} before there was a result.")


def _format_size(count: int) -> str:
    return f"{count / (1 << 30):g} GB" if count >= 1 << 30 else f"{count / (1 << 20):g} MB"
