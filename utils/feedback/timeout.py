"""The clock that a check runs against: an answer that does not end is interrupted, as a learner would do it by hand."""

from __future__ import annotations

import _thread
import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable
from types import TracebackType

INTERRUPT_INTERVAL = 1.0  # seconds until the next interrupt, where the answer has caught one
POLL_INTERVAL = 0.1  # seconds between two looks at the clock
IDLE_FACTOR = 6  # times as long may an answer take that waits and computes nothing, such as one that sleeps


class Timeout:
    """Interrupts the block after `seconds` of work: a KeyboardInterrupt in the main thread. `rung` says whether it has.

    What counts is this process's own CPU time: on a busy machine a right answer in slow style takes long by any other
    clock. In another thread, where Python delivers no interrupts, it does nothing.

    Args:
        seconds: of work, until it rings.
        patience: of work, until `say` is called, once, in another thread.
    """

    def __init__(
        self, seconds: float, notify_after: float = math.inf, notify: Callable[[], None] = lambda: None
    ) -> None:
        self.seconds, self.fired, self._before = seconds, False, None
        self.notify_after, self.notify = notify_after, notify
        self._ended, self._ringing = threading.Event(), threading.Lock()

    def __enter__(self) -> Timeout:
        if threading.current_thread() is threading.main_thread():
            # A process that was started in the background may ignore interrupts, and an event loop handle them.
            self._before = signal.signal(signal.SIGINT, signal.default_int_handler)
            threading.Thread(target=self._watch, name="check-timeout", daemon=True).start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Ring no more, and let an interrupt that is on its way arrive here, where it harms nobody."""
        with contextlib.suppress(KeyboardInterrupt):
            with self._ringing:
                self._ended.set()
            time.sleep(0)
        self._ended.set()
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _watch(self) -> None:
        worked, began = time.process_time(), time.monotonic()
        said = False
        while time.process_time() - worked < self.seconds and time.monotonic() - began < IDLE_FACTOR * self.seconds:
            if self._ended.wait(min(POLL_INTERVAL, self.seconds)):
                return
            if not said and time.process_time() - worked > self.notify_after:
                said = True
                self.notify()
        while not self._ended.is_set():
            with self._ringing:
                if not self._ended.is_set():
                    self.fired = True
                    _interrupt()
            self._ended.wait(INTERRUPT_INTERVAL)


def _interrupt() -> None:
    if hasattr(signal, "pthread_kill"):  # a signal wakes a thread that sleeps, too
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()
