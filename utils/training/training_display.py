"""Show a training run while it happens: as a live chart in a notebook, or as a progress bar elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from utils.show.widget import make_widget

PAUSE = 0.1  # seconds between two messages to the browser
POINTS = 400  # the loss curve has at most this many points
LINES = 14  # the display shows about this many of the model's answers


@dataclass(frozen=True)
class WritingSample:
    """A prompt that the model answers at regular intervals during training.

    `write()` returns the model's answer; `expected` is the correct answer.
    """

    prompt: str
    expected: str
    write: Callable[[], str]


def open_training_display(
    steps: int, title: str = "training", sample: WritingSample | None = None
) -> NotebookDisplay | TerminalDisplay:
    """Return the display for a training run of `steps` steps.

    Call `update(done, loss)` after each step, and `close()` at the end.
    """
    return (NotebookDisplay if is_in_notebook() else TerminalDisplay)(steps, title, sample)


def is_in_notebook() -> bool:
    """Return True in a notebook, and False in a script or in an IPython session in a terminal."""
    ipython = sys.modules.get("IPython")
    return hasattr(ipython.get_ipython() if ipython else None, "kernel")


class TerminalDisplay:
    """A tqdm bar with the latest loss, for a terminal."""

    def __init__(self, steps: int, title: str, sample: WritingSample | None = None) -> None:
        from tqdm import tqdm

        self._bar = tqdm(total=steps, desc=title, unit="step", dynamic_ncols=True)

    def update(self, done: int, loss: float | None = None) -> None:
        if loss is not None:
            self._bar.set_postfix(loss=f"{float(loss):.4f}", refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class NotebookDisplay:
    """A display for a notebook: the loss curve, and the model's answers line by line. It appears after the first step.

    The saved notebook keeps the last state, which shows whether the training was stopped early.

    Attributes:
        widget: None before the first step. Its `state` has `done`, `loss`, `losses` (pairs of step and loss), `lines`
            (pairs of step and text) and `running`.
    """

    def __init__(self, steps: int, title: str, sample: WritingSample | None = None) -> None:
        self.steps, self.sample = steps, sample
        self.start = {"steps": steps, "title": title, "first": 0}
        if sample:
            self.start |= {"prompt": sample.prompt, "right": sample.expected, "lines": min(steps, LINES) + 1}
        self.done, self.loss, self.losses, self.lines = 0, None, [], []
        self.widget: Any = None
        self.began, self.sent = time.monotonic(), 0.0

    def update(self, done: int, loss: float | None = None) -> None:
        """Record that `done` steps are complete. `loss` is the loss of the last step, or None if it was not read."""
        self.done = done
        if loss is not None:
            self._record_loss(float(loss))
        every = max(1, round(self.steps / LINES))
        if self.sample and (done in (1, self.steps) or done % every == 0):
            self.lines.append([done, self.sample.write()])
        if self.widget is None:
            self._create_widget()
        elif time.monotonic() - self.sent >= PAUSE:
            self._send(running=True)

    def close(self) -> None:
        """Show that the training has ended or was stopped."""
        if self.widget is None:
            return
        if self.sample and self.lines[-1][0] != self.done:
            self.lines.append([self.done, self.sample.write()])
        self._send(running=False)
        self.widget.words = self._words()
        self._display.update(self.widget)

    def _record_loss(self, loss: float) -> None:
        self.loss = round(loss, 6) if math.isfinite(loss) else str(loss)
        apart = math.ceil(self.steps / POINTS)
        if math.isfinite(loss) and (not self.losses or self.done - self.losses[-1][0] >= apart):
            self.losses.append([self.done, self.loss])

    def _state(self, running: bool) -> dict[str, Any]:
        state = {"done": self.done, "loss": self.loss, "losses": [*self.losses], "lines": [*self.lines]}
        if running:  # the final state has no remaining time, so it does not depend on the speed
            share = (self.steps - self.done) / self.done
            state["left"] = round((time.monotonic() - self.began) * share, 1)
        return {**state, "running": running}

    def _create_widget(self) -> None:
        from IPython.display import DisplayHandle

        self.widget, self._display = (
            make_widget(__file__, self._words(), self.start, self._state(True)),
            DisplayHandle(),
        )
        self._display.display(self.widget)
        self.sent = time.monotonic()

    def _send(self, running: bool) -> None:
        self.widget.state = self._state(running)
        self.sent = time.monotonic()

    def _words(self) -> str:
        """Return the fallback text for places that cannot show the widget."""
        stopped = f"{self.done} of {self.steps} steps; the model is only partly trained"
        extent = stopped if self.done < self.steps else f"all {self.steps} steps are done"
        return f"Training ({self.start['title']}): {extent}."
