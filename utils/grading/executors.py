"""Provide executors for grading tasks: this process, worker processes of this machine, or a Dask cluster."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any
from urllib.parse import urlsplit

from utils.grading.judge.submissions import GradingError


def local_executor(jobs: int) -> Executor:
    """Return an executor for this machine: this process if `jobs` is 1, otherwise `jobs` worker processes."""
    return _InlineExecutor() if jobs == 1 else ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


@contextlib.contextmanager
def dask_executor(address: str, unencrypted: bool = False) -> Iterator[tuple[Executor, int]]:
    """Yield the executor of a Dask cluster and the number of tasks that it runs at once.

    Args:
        address: the address of the scheduler. The certificates for tls:// come from Dask's own configuration.
        unencrypted: whether an unencrypted connection to another machine is permitted.

    Raises:
        GradingError: Dask is not installed, no scheduler answers at `address`, the scheduler has no workers, or the
            connection is not encrypted.
    """
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme not in ("tls", "wss") and not unencrypted and not _is_this_machine(parts.hostname or ""):
        raise GradingError(
            f"The connection to {address} is not encrypted, so everyone on the network can run code as you. Start the"
            " scheduler and the workers with TLS, and pass its address, tls://…; docs/grading.md shows how. If you"
            " trust the whole network, pass --unencrypted."
        )
    try:
        from distributed import Client  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise GradingError('--dask needs Dask. Run pip install -e ".[grade]" here and on every worker.') from None
    try:
        client = Client(address, timeout=20)
    except (OSError, ValueError) as error:
        raise GradingError(f"No Dask scheduler answers at {address} ({error}).") from None
    with client:
        threads: Any = client.nthreads()  # Dask's annotation says that this may be a coroutine.
        if not threads:
            raise GradingError(f"The Dask scheduler at {address} has no workers yet. Start workers, and try again.")
        yield client.get_executor(pure=False), sum(threads.values())


def _is_this_machine(host: str) -> bool:
    """Return whether an address belongs to this machine, that is, whether a server can listen on it."""
    try:
        with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            return True
    except OSError:
        return False


class _InlineExecutor(Executor):
    """Runs each task in this process, when it is submitted."""

    def submit(self, fn, /, *args, **kwargs):
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
