"""Enforce the timeout of a check: interrupt an answer that runs too long, as a learner would do by hand."""

from __future__ import annotations

import _thread
import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable
from types import TracebackType

INTERRUPT_INTERVAL = 1.0  # seconds until the next interrupt, if the answer catches the first
POLL_INTERVAL = 0.1  # seconds between two readings of the clock
IDLE_FACTOR = 6  # the wall-time limit as a multiple of the CPU-time limit; it stops answers that sleep, for example


class Timeout:
    """A context manager that raises a KeyboardInterrupt in the main thread after `seconds` of work.

    It measures the CPU time of this process, because wall time would penalise a correct answer on a busy machine.
    Outside the main thread it does nothing, because Python delivers interrupts only to the main thread. `fired` tells
    whether it has interrupted the block.

    Args:
        seconds: CPU time until the interrupt.
        notify_after: CPU time until `notify` is called.
        notify: a function that is called once, in another thread.
    """

    def __init__(
        self, seconds: float, notify_after: float = math.inf, notify: Callable[[], None] = lambda: None
    ) -> None:
        self.seconds, self.fired, self._previous_handler = seconds, False, None
        self.notify_after, self.notify = notify_after, notify
        self._ended, self._interrupt_lock = threading.Event(), threading.Lock()

    def __enter__(self) -> Timeout:
        if threading.current_thread() is threading.main_thread():
            # Restore the default handler: a background process may ignore interrupts, or an event loop may handle them.
            self._previous_handler = signal.signal(signal.SIGINT, signal.default_int_handler)
            threading.Thread(target=self._watch, name="check-timeout", daemon=True).start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Send no further interrupts, and catch an interrupt that is already on its way."""
        with contextlib.suppress(KeyboardInterrupt):
            with self._interrupt_lock:
                self._ended.set()
            time.sleep(0)
        self._ended.set()
        if self._previous_handler is not None:
            signal.signal(signal.SIGINT, self._previous_handler)

    def _watch(self) -> None:
        cpu_start, start = time.process_time(), time.monotonic()
        has_notified = False
        while time.process_time() - cpu_start < self.seconds and time.monotonic() - start < IDLE_FACTOR * self.seconds:
            if self._ended.wait(min(POLL_INTERVAL, self.seconds)):
                return
            if not has_notified and time.process_time() - cpu_start > self.notify_after:
                has_notified = True
                self.notify()
        while not self._ended.is_set():
            with self._interrupt_lock:
                if not self._ended.is_set():
                    self.fired = True
                    _interrupt()
            self._ended.wait(INTERRUPT_INTERVAL)


def _interrupt() -> None:
    if hasattr(signal, "pthread_kill"):  # unlike interrupt_main, a signal also wakes a sleeping thread
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()
