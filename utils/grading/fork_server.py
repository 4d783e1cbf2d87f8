"""The warm process: it has imported what every page needs, and starts a confined child for each exercise.

It never runs a page. The judge sends it, over a socket of packets, the end of a connection, the limits, and what this
page is likely to ask for besides; it starts a child that answers on that connection, and tells the judge how the child
ended. No two children run at once.
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
from utils.grading import isolation, runner_server
from utils.grading.framing import FROM_JUDGE, Channel

LARGE_PAGE, COLLAPSE = 2 << 20, 25  # bytes; MADV_COLLAPSE of asm-generic/mman-common.h
READY = b'{"ready": true}'
ALSO = ("jaxtyping", "torch.nn.functional", "utils.gpt2", "tokenizers", "utils.training.loop", "utils.training.corpus")
ALSO += ("encodings.utf_8_sig", "numpy.random", "numpy.ctypeslib", "torch._subclasses.schema_check_mode")


def main(number: int, confined: bool) -> None:
    """Serve the judge on the file descriptor `number` until it hangs up."""
    control = socket.socket(fileno=number)
    _preload()
    control.send(READY)
    while True:
        packet, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 1)
        if not packet:
            return
        if not descriptors:
            continue  # to end a child that has ended
        asked = json.loads(packet)
        for what in asked["likely"]:
            _preload_optional(what)
        control.send(READY)
        limits = isolation.ResourceLimits(**asked["limits"])
        control.send(json.dumps(_run_child(control, descriptors[0], limits, confined)._asdict()).encode())


def _preload() -> None:
    """Import what a page is going to need, before there is any page."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    for room in (utils.test_doubles, utils.models):
        for module in pkgutil.iter_modules(room.__path__):
            importlib.import_module(f"{room.__name__}.{module.name}")
    for name in ALSO:
        importlib.import_module(name)
    _freeze_memory()


@functools.cache
def _preload_optional(what: str) -> None:
    """Do, once, what takes a page a second or more: "optimisers" or "gpt2"."""
    with contextlib.suppress(Exception):  # a page that asks for it hears why
        importlib.import_module("torch._dynamo")  # as making an optimiser does
        if what == "gpt2":
            utils.gpt2.load_gpt2()
    _freeze_memory()


def _freeze_memory() -> None:
    """Have children share what there is now, as long as they do not write to it.

    Starting one costs by the number of its pages of memory, so these are made large where the kernel can (Linux 6.1).
    """
    gc.collect()
    gc.freeze()
    advise = ctypes.CDLL(None).madvise
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"(\w+)-(\w+) rw-p \S+ 00:00 0\s*(\[heap\])?$", line):
            first, last = -(-int(found[1], 16) // LARGE_PAGE), int(found[2], 16) // LARGE_PAGE
            for number in range(first, last):
                advise(ctypes.c_void_p(number * LARGE_PAGE), ctypes.c_size_t(LARGE_PAGE), COLLAPSE)


def _run_child(
    control: socket.socket, connection: int, limits: isolation.ResourceLimits, confined: bool
) -> isolation.ProcessExit:
    """Run one child until it has ended by itself, or the judge says that it has to."""
    with tempfile.TemporaryDirectory(prefix="pages-", ignore_cleanup_errors=True) as place:

        def work() -> None:
            control.close()
            runner_server.silence_output()
            folder = Path(tempfile.mkdtemp(prefix="page-", dir=None if confined else place))  # or it has its own /tmp
            runner_server.RunnerServer(Channel(socket.socket(fileno=connection), FROM_JUDGE), limits, folder).serve()

        child = isolation.fork_child(work, limits, confined)
        os.close(connection)
        return _wait_for_child(control, child, confined)


def _wait_for_child(control: socket.socket, child: int, confined: bool) -> isolation.ProcessExit:
    """How a child ended: by itself, or because the judge said so."""
    watched = os.pidfd_open(child)
    try:
        while watched not in (ready := select.select([control, watched], [], [])[0]):
            if control in ready:
                hung_up = not control.recv(1 << 16)
                isolation.kill_child(child, confined)
                if hung_up:
                    sys.exit()
        isolation.kill_child(child, confined)  # what it has left behind
        _, status, used = os.wait4(child, 0)
    finally:
        os.close(watched)
    times = os.times()
    return isolation.ProcessExit(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, sum(times[:4]))
