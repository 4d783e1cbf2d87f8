"""Run the fork server: a process that has imported everything a notebook needs, and forks a child for each exercise.

The fork server never runs a notebook. For each exercise, the judge sends three things to the fork server: the child's
end of a connection, the resource limits, and the names of optional preloads, such as "plots". The notebook may need
these preloads. The fork server starts a confined child, which answers the judge on this connection. Then the fork
server waits for the child to exit, and reports the exit status to the judge. Only one child runs at a time.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import pkgutil
import re
import select
import socket
import sys
import tempfile
from pathlib import Path

import torch

import utils.gpt2
import utils.models
import utils.test_doubles
from utils.grading.runner import server
from utils.grading.runner.framing import FROM_JUDGE, Channel
from utils.grading.runner.isolation import Isolation, ProcessExit, ResourceLimits, fork_child, kill_child

LARGE_PAGE, COLLAPSE = 2 << 20, 25  # bytes; MADV_COLLAPSE of asm-generic/mman-common.h
READY = b'{"ready": true}'
ALSO = ("jaxtyping", "torch.nn.functional", "utils.gpt2", "tokenizers", "utils.training.loop", "utils.training.corpus")
ALSO += ("encodings.utf_8_sig", "numpy.random", "numpy.ctypeslib", "torch._subclasses.schema_check_mode")


def main(number: int, isolation: Isolation) -> None:
    """Serve the judge on the file descriptor `number` until the judge closes the connection."""
    _serve(socket.socket(fileno=number), isolation)


def main_in_container(path: str) -> None:
    """Serve the judge on the socket at `path`, because docker passes no file descriptors to a container."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.connect(path)
    _serve(control, "container")


def _serve(control: socket.socket, isolation: Isolation) -> None:
    _preload()
    control.send(READY)
    while True:
        packet, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 1)
        if not packet:
            return
        if not descriptors:
            continue  # The judge asked to end a child that has already ended.
        request = json.loads(packet)
        for hint in request["likely"]:
            _preload_optional(hint)
        control.send(READY)
        limits = ResourceLimits(**request["limits"])
        control.send(json.dumps(_run_child(control, descriptors[0], limits, isolation)._asdict()).encode())


def _preload() -> None:
    """Import the modules that every notebook needs."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    for room in (utils.test_doubles, utils.models):
        for module in pkgutil.iter_modules(room.__path__):
            importlib.import_module(f"{room.__name__}.{module.name}")
    for name in ALSO:
        importlib.import_module(name)
    with contextlib.suppress(utils.gpt2.WeightsError):
        utils.gpt2.source()  # The first call prints a line, so it must happen before any answer runs.
    _freeze_memory()


@functools.cache
def _preload_optional(what: str) -> None:
    """Load "optimisers", "gpt2" or "plots" once for all children. This saves each notebook about a second."""
    with contextlib.suppress(Exception):  # A notebook that needs the module gets the same error again.
        if what == "plots":
            importlib.import_module("matplotlib.pyplot")
            importlib.import_module("matplotlib.font_manager")  # runs other programs to list the fonts
        else:
            importlib.import_module("torch._dynamo")  # Creating an optimiser imports this module.
        if what == "gpt2":
            utils.gpt2.load_gpt2()
    _freeze_memory()


def _freeze_memory() -> None:
    """Prepare the memory so that children share most of its pages instead of copying them.

    A fork takes longer if the process has more memory pages. If the kernel supports it (Linux 6.1), small pages are
    therefore merged into large pages.
    """
    gc.collect()
    gc.freeze()
    advise = ctypes.CDLL(None).madvise
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"(\w+)-(\w+) rw-p \S+ 00:00 0\s*(\[heap\])?$", line):
            first, last = -(-int(match[1], 16) // LARGE_PAGE), int(match[2], 16) // LARGE_PAGE
            for number in range(first, last):
                advise(ctypes.c_void_p(number * LARGE_PAGE), ctypes.c_size_t(LARGE_PAGE), COLLAPSE)


def _run_child(control: socket.socket, connection: int, limits: ResourceLimits, isolation: Isolation) -> ProcessExit:
    """Run one child until it ends or the judge asks to end it."""
    with tempfile.TemporaryDirectory(prefix="pages-", ignore_cleanup_errors=True) as place:

        def work() -> None:
            control.close()
            server.silence_output()
            # In bubblewrap, the child has its own /tmp.
            folder = Path(tempfile.mkdtemp(prefix="page-", dir=None if isolation == "bwrap" else place))
            server.RunnerServer(Channel(socket.socket(fileno=connection), FROM_JUDGE), limits, folder).serve()

        child = fork_child(work, limits, isolation)
        os.close(connection)
        return _wait_for_child(control, child, isolation)


def _wait_for_child(control: socket.socket, child: int, isolation: Isolation) -> ProcessExit:
    """Wait until the child ends or the judge asks to end it. Return how the child ended."""
    watched = os.pidfd_open(child)
    try:
        while watched not in (ready := select.select([control, watched], [], [])[0]):
            if control in ready:
                hung_up = not control.recv(1 << 16)
                kill_child(child, isolation)
                if hung_up:
                    sys.exit()
        kill_child(child, isolation)  # The child's own children may still be running.
        _, status, used = os.wait4(child, 0)
    finally:
        os.close(watched)
    times = os.times()
    return ProcessExit(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, sum(times[:4]))
