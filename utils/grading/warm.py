"""The warm process: it has imported what every page needs, and starts a confined child for each exercise.

It never runs a page. The judge sends it, over a socket of packets, the end of a connection and the limits; it starts a
child that answers on that connection, and tells the judge how the child ended. No two children run at once.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import tempfile
from pathlib import Path

import torch

import utils.models
import utils.stand_ins
from utils.grading import confine, runner
from utils.grading.wire import FROM_JUDGE, Channel

READY = b'{"ready": true}'
ALSO = ("jaxtyping", "torch.nn.functional", "utils.gpt2", "tokenizers", "utils.training.loop", "utils.training.corpus")


def main(number: int, confined: bool) -> None:
    """Serve the judge on the file descriptor `number` until it hangs up."""
    control = socket.socket(fileno=number)
    _warm()
    control.send(READY)
    while True:
        packet, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 1)
        if not packet:
            return
        if not descriptors:
            continue  # to end a child that has ended
        limits = confine.Limits(**json.loads(packet)["limits"])
        control.send(json.dumps(_run(control, descriptors[0], limits, confined)._asdict()).encode())


def _warm() -> None:
    """Import what a page is going to need, before there is any page."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    for room in (utils.stand_ins, utils.models):
        for module in pkgutil.iter_modules(room.__path__):
            importlib.import_module(f"{room.__name__}.{module.name}")
    for name in ALSO:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # children share these pages of memory as long as nobody writes to them


def _run(control: socket.socket, connection: int, limits: confine.Limits, confined: bool) -> confine.Ended:
    """Run one child until it has ended by itself, or the judge says that it has to."""

    def work() -> None:
        control.close()
        runner.silence()
        folder = Path(tempfile.mkdtemp(prefix="page-"))
        runner.Served(Channel(socket.socket(fileno=connection), FROM_JUDGE), limits, folder).serve()

    child = confine.apart(work, limits, confined)
    os.close(connection)
    watched = os.pidfd_open(child)
    try:
        while watched not in (ready := select.select([control, watched], [], [])[0]):
            if control in ready:
                if not control.recv(1 << 16):
                    sys.exit()
                os.kill(child, signal.SIGTERM)
        _, status, used = os.wait4(child, 0)
    finally:
        os.close(watched)
    times = os.times()
    return confine.Ended(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, sum(times[:4]))
