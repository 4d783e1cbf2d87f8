"""Start the fork server in bubblewrap and, for each exercise, open a session with a confined runner.

Every request ends with a reply or with `RunnerStopped`, whatever the runner sends. If the fork server has ended, it is
started again.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import secrets
import select
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Literal, get_type_hints

from utils.exercises.observe import Failure
from utils.exercises.runner import Runner
from utils.grading.judge.bubblewrap import (
    CURE,
    Isolation,
    SandboxError,
    fork_server_command,
    platform_problem,
    runner_environment,
)
from utils.grading.judge.container import SOCKET, container_command, kill_container
from utils.grading.runner.framing import (
    FROM_RUNNER,
    Channel,
    ChannelClosed,
    ChannelTimeout,
    ProtocolError,
    clean_texts,
)
from utils.grading.runner.isolation import ProcessExit, ResourceLimits
from utils.grading.runner.protocol import (
    AnswerMissing,
    AuditNote,
    Done,
    OutOfMemory,
    Raised,
    Reply,
    Request,
    TimeUp,
    convert,
    decode_result,
    encode_call,
)
from utils.grading.runner.server import PageLoader

StopKind = Literal["time", "memory", "ended", "tampering"]
START_TIMEOUT = 120.0  # time limit in seconds for the start of the fork server, long enough for a very busy machine
WALL_CLOCK_FACTOR = 6.0  # wall-clock limit, in multiples of the CPU limit; see IDLE_FACTOR in utils.exercises.timeout
PIPES: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
GRACE = 10.0  # additional seconds before the judge stops waiting
PRELOAD_HINTS = {  # maps a word to what the fork server preloads for a notebook with this word
    b"load_gpt2": "gpt2",
    b"optim": "optimisers",
    b"train": "optimisers",
    b"matplotlib": "plots",
}


class RunnerStopped(BaseException):
    """A runner has ended before it replied.

    It is a BaseException, like KeyboardInterrupt, so that code that inspects results does not catch it by accident.

    Attributes:
        detail: one sentence.
        line: the line at which the answer was interrupted, if the runner reported it.
        code: the code on this line, if the runner reported it.
    """

    def __init__(self, kind: StopKind, detail: str, line: int | None = None, code: str = "") -> None:
        super().__init__(detail)
        self.kind: StopKind = kind
        self.detail, self.line, self.code = detail, line, code


class RemoteAnswerNotFound(Exception):
    """The notebook has no answer to the exercise.

    Attributes:
        failure: the exception that is the reason, or None.
    """

    def __init__(self, message: str, failure: Failure | None) -> None:
        super().__init__(message)
        self.failure = failure


# for each method of the runner, the type that its result must have
RESULT_TYPES: dict[str, Any] = {
    name: get_type_hints(method)["return"]
    for interface in (PageLoader, Runner)
    for name, method in vars(interface).items()
    if inspect.isfunction(method) and not name.startswith("_")
}


class Sandbox(contextlib.AbstractContextManager):
    """A fork server, which starts when it is first needed and restarts after it has ended.

    Args:
        image: the image for the isolation "container".
    """

    def __init__(self, isolation: Isolation = "bwrap", image: str = "") -> None:
        self.isolation: Isolation = isolation
        self.image, self._container = image, ""
        self._process: subprocess.Popen | None = None
        self._control: socket.socket | None = None
        self._before, self._now = 0.0, 0.0  # CPU seconds of earlier fork servers, and of the current one

    @property
    def cpu_seconds(self) -> float:
        """The CPU seconds of this sandbox's fork servers and all their children."""
        return self._before + self._now

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the fork server and everything that it started."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            try:
                self._process.wait(GRACE)  # The fork server ends when its connection is closed.
            except subprocess.TimeoutExpired:
                self._kill()
        self._process = self._control = None
        self._before, self._now = self.cpu_seconds, 0.0

    def _kill(self) -> None:
        if self._container:
            kill_container(self._container)
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def fork_server_pid(self) -> int | None:
        """The PID of the fork server's process; None if it is not running."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def open_session(self, limits: ResourceLimits, page: bytes = b"") -> Session:
        """Start a runner for one exercise.

        Args:
            page: the bytes of the notebook, which are only searched for preload hints.

        Raises:
            SandboxError: the fork server does not start, or ends at once.
        """
        likely = sorted({what for word, what in PRELOAD_HINTS.items() if word in page})
        packet = json.dumps({"limits": limits._asdict(), "likely": likely}).encode()
        ours, theirs = socket.socketpair()
        with theirs:
            if not self._start_runner(packet, theirs):  # The fork server has ended since the last session.
                self.close()
                if not self._start_runner(packet, theirs):
                    self.close()
                    raise SandboxError(f"The sandbox process ends when it should start an answer. {CURE}")
        return Session(self, ours, limits)

    def _start_runner(self, packet: bytes, theirs: socket.socket) -> bool:
        """Ask the fork server to prepare for a notebook and to start a runner. Return whether the runner started.

        The time that this takes does not count towards the limits of the exercise.
        """
        control = self._ensure_started()
        control.settimeout(START_TIMEOUT)
        try:
            socket.send_fds(control, [packet], [theirs.fileno()])
            return b"ready" in control.recv(1 << 16)
        except OSError:
            return False

    def wait_for_exit(self, kill: bool) -> ProcessExit:
        """Wait until the last runner has ended, and return how it ended. If `kill` is true, end it first."""
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
        except (OSError, ValueError, TypeError):  # The fork server has ended or hangs, so the next session restarts it.
            self.close()
            return ProcessExit(-9, 0.0)

    def _ensure_started(self) -> socket.socket:
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        self.close()
        if why := platform_problem():
            raise SandboxError(why)
        ours = self._start_container() if self.isolation == "container" else self._start_process()
        self._control = ours
        ours.settimeout(START_TIMEOUT)
        try:
            reply = ours.recv(1 << 16)
        except OSError:
            reply = b""
        if b"ready" not in reply:
            self._kill()
            assert self._process is not None and self._process.stderr is not None
            lines = self._process.stderr.read().decode("utf-8", "replace").strip().splitlines()
            self.close()
            why = f"The sandbox does not start ({lines[-1] if lines else 'no error message'})."
            raise SandboxError(f"{why} {CURE}" if self.isolation == "bwrap" else why)
        return ours

    def _start_process(self) -> socket.socket:
        """Start the fork server on this machine, in bubblewrap or without isolation."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = fork_server_command(self.isolation, theirs.fileno())
        with theirs:
            self._process = subprocess.Popen(
                command, **PIPES, pass_fds=[theirs.fileno()], env=runner_environment(), cwd="/"
            )
        return ours

    def _start_container(self) -> socket.socket:
        """Start the fork server in a new container. The fork server connects to a socket of the judge."""
        with tempfile.TemporaryDirectory() as private, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            folder = Path(private, "judge")
            folder.mkdir()
            folder.chmod(0o711)  # The container's user may enter; the parent folder keeps other users out.
            listener.bind(str(folder / SOCKET))
            (folder / SOCKET).chmod(0o666)
            listener.listen(1)
            self._container = f"coginst-{secrets.token_hex(8)}"
            self._process = subprocess.Popen(container_command(self.image, self._container, folder), **PIPES)
            ended = os.pidfd_open(self._process.pid)
            try:
                if listener in select.select([listener, ended], [], [], START_TIMEOUT)[0]:
                    return listener.accept()[0]
            finally:
                os.close(ended)
        ours, theirs = socket.socketpair()
        theirs.close()
        return ours  # A closed connection tells the judge that the fork server has ended.


class Session(contextlib.AbstractContextManager):
    """The judge's connection to one runner. If the runner ends early, the session's methods raise `RunnerStopped`."""

    def __init__(self, sandbox: Sandbox, connection: socket.socket, limits: ResourceLimits) -> None:
        self.sandbox, self.limits = sandbox, limits
        self.channel = Channel(connection, FROM_RUNNER)
        self.request_count, self.notes = 0, list[AuditNote]()
        # The wall-clock seconds that remain. The judge's own work between two requests does not count.
        self.left = limits.seconds * WALL_CLOCK_FACTOR + GRACE
        self.seconds = 0.0  # CPU seconds of the runner, known when the session is closed
        self.over: RunnerStopped | None = None
        self._closed = False

    def __exit__(self, *error: object) -> None:
        self.close()

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the runner's `PageLoader` or `Runner`, and return its result.

        Raises:
            RunnerStopped: the runner ended, exceeded a limit or violated the protocol.
            RemoteAnswerNotFound: the notebook has no answer to the exercise.
            Exception: the runner's code raised an exception; it is raised here under the same name.
        """  # noqa: DOC501  (ruff takes `_rebuild_exception` for the name of an exception)
        request, tensors = encode_call(self.request_count + 1, method, args, kwargs)
        outcome, blob = self.exchange(request, tensors)
        try:
            if isinstance(outcome, Raised):
                raise _rebuild_exception(outcome)
            bounds = self.channel.bounds
            if isinstance(outcome, AnswerMissing):
                failure = decode_result(outcome.failure, blob, Failure | None, bounds)
                raise RemoteAnswerNotFound(outcome.message, failure)
            return decode_result(outcome.result, blob, RESULT_TYPES[method], bounds)
        except ProtocolError as error:
            raise self.stop_tampered(str(error)) from None

    def exchange(self, request: Request, blob: bytes = b"") -> tuple[Done | Raised | AnswerMissing, bytes]:
        """Send a request, and return the outcome and its tensors.

        Raises:
            RunnerStopped: the runner ended, exceeded a limit or violated the protocol.
        """  # noqa: DOC501  (the ProtocolError is caught in the function)
        if self.over:
            raise self.over
        self.request_count += 1
        try:
            if self.channel.has_unread_data():
                raise ProtocolError("a reply without a request")
            data, tensors = self._send_and_receive(request, blob)
            reply = convert(clean_texts(data), Reply)
            self.notes += [(kind, text[:200]) for kind, text in reply.notes]
            outcome = reply.outcome
            if isinstance(outcome, TimeUp) and reply.id in (None, request.id):
                where = "." if outcome.line is None else f" on line {outcome.line}."
                raise self._end(RunnerStopped("time", f"It was stopped{where}", outcome.line, outcome.code))
            if reply.id != request.id or isinstance(outcome, TimeUp):
                raise ProtocolError("a reply to another request")
            if isinstance(outcome, OutOfMemory):
                detail = f"It needed more than {_format_size(self.limits.memory)} of memory."
                raise self._end(RunnerStopped("memory", outcome.detail[:200] or detail))
            return outcome, tensors
        except ProtocolError as error:
            raise self.stop_tampered(str(error)) from None
        except ChannelTimeout:
            raise self._end(RunnerStopped("time", _TIME.format(self.limits.seconds))) from None
        except ChannelClosed:
            raise self._end(None) from None

    def _send_and_receive(self, message: Request, blob: bytes) -> tuple[Any, bytes]:
        """Send a request and receive the reply within the remaining wall-clock time.

        Raises:
            ChannelClosed: the runner has closed the connection.
            ChannelTimeout: the remaining time has elapsed.
            ProtocolError: the reply is not a valid frame.
        """
        if self.left <= 0:
            raise ChannelTimeout
        began = time.monotonic()
        self.channel.send(message, blob, self.left)
        reply = self.channel.receive(self.left)
        self.left -= time.monotonic() - began
        return reply

    def stop_tampered(self, what: str) -> RunnerStopped:
        """End the runner because it violated the protocol, and return the exception to raise."""
        return self._end(RunnerStopped("tampering", f"Its process sent {what}."))

    def close(self) -> None:
        """Close the connection and wait until the runner, and everything that it started, has ended."""
        if not self._closed:
            self._finish(at_once=bool(self.over) or self.channel.has_unread_data())

    def _finish(self, at_once: bool) -> ProcessExit:
        self._closed = True
        self.channel.connection.close()
        ended = self.sandbox.wait_for_exit(at_once)
        self.seconds = ended.seconds
        return ended

    def _end(self, over: RunnerStopped | None) -> RunnerStopped:
        """Close the session. Return the exception to raise: `over`, or an exception that explains the exit status."""
        ended = self._finish(at_once=over is not None)
        self.over = over or _explain_exit(ended, self.limits)
        return self.over


_TIME = "It did not finish within {:g} seconds and was stopped."


def _rebuild_exception(raised: Raised) -> Exception:
    """Return an exception with the type name and the text that a runner sent."""
    return type(raised.name if raised.name.isidentifier() else "Exception", (Exception,), {})(raised.text)


def _explain_exit(ended: ProcessExit, limits: ResourceLimits) -> RunnerStopped:
    """Explain the exit status of a process that ended before it replied."""
    if ended.seconds >= limits.seconds:
        return RunnerStopped("time", _TIME.format(limits.seconds))
    how = f"by signal {-ended.status}" if ended.status < 0 else f"with exit status {ended.status}"
    return RunnerStopped("ended", f"Its process ended {how} before it returned a result.")


def _format_size(count: int) -> str:
    return f"{count / (1 << 30):g} GB" if count >= 1 << 30 else f"{count / (1 << 20):g} MB"
