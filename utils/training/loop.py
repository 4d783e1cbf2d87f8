"""The one training loop: a picture of its progress, a schedule, Ctrl-C that keeps what is done."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from utils.explore.training_display import open_training_display

Schedule = Callable[[int, int], float]
SMALL = 1_000_000  # parameters; a step of a model below this gains nothing from a second thread


@dataclass
class History:
    """What a training run saw: `losses[i]` is the loss of step `steps[i]`, before that step changed anything."""

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    done: int = 0
    seconds: float = 0.0
    interrupted: bool = False


def constant_schedule(step: int, steps: int) -> float:
    """The full rate all the way."""
    return 1.0


def cosine_schedule(step: int, steps: int) -> float:
    """From the full rate at the first step towards 0 after the last, along half a cosine."""
    return 0.5 * (1 + math.cos(math.pi * step / steps))


def one_cycle_schedule(step: int, steps: int, warmup: float = 0.1) -> float:
    """Up in a line over the first part of the steps, then down along half a cosine."""
    rising = max(1, round(warmup * steps))
    if step < rising:
        return (step + 1) / rising
    return cosine_schedule(step - rising, max(1, steps - rising))


SCHEDULES: dict[str, Schedule] = {
    "cosine": cosine_schedule,
    "constant": constant_schedule,
    "one_cycle": one_cycle_schedule,
}


def train(
    step_loss: Callable[[int], Tensor],
    optimiser: torch.optim.Optimizer | Sequence[torch.optim.Optimizer],
    steps: int,
    schedule: Schedule = constant_schedule,
    clip: float | None = None,
    log_every: int = 10,
    progress: bool = True,
    title: str = "training",
    first_step: int = 0,
    before_step: Callable[[int], None] | None = None,
    use_cuda_graph: bool = False,
) -> History:
    """Make the steps from `first` to `steps` of `optimiser` down the loss that `step_loss(step)` returns.

    Args:
        step_loss: draws the data of this step and returns the loss, one number.
        optimiser: one, or several that share the parameters out among them.
        schedule: `(step, steps) -> factor` on the rates that the optimiser came with, each group keeping its own.
        clip: the largest norm of all gradients together.
        log_every: how often the loss is read, which on a GPU makes the program wait; the last one always is.
        progress: False for silence; else a live page in a notebook, and a bar in a terminal.
        first: where to begin, for a run that is taken up again; the schedule goes by the whole.
        before: called with each step's number before it, to draw data or to take readings.
        graph: record one step as a CUDA graph and replay it: launching the dozens of tiny kernels of a small model
            takes longer than running them. `step_loss` is then called for the first few steps only, so nothing in it
            may depend on the step or on the CPU; rates are tensors on the GPU, and Adam is told `capturable=True`.

    Ctrl-C ends the run after what is done, and the history says so. A model of fewer than a million parameters is
    trained on one thread.

    Raises:
        ValueError: the loss is not one number, or no longer finite.
    """
    history, began = History(), time.perf_counter()
    optimisers = [optimiser] if isinstance(optimiser, torch.optim.Optimizer) else list(optimiser)
    groups = [group for each in optimisers for group in each.param_groups]
    rates = [float(group["lr"]) for group in groups]
    shown = open_training_display(steps, title, first_step) if progress else None
    make_step = (GraphStep if use_cuda_graph else EagerStep)(step_loss, optimisers, clip)
    history.done = first_step

    def look(step: int, loss: Tensor) -> None:
        """On steps that are logged; before the step changes anything, so that a loss that is no number spoils no
        weights."""
        if step % log_every and step != steps - 1:
            return
        value = loss.item()
        if not math.isfinite(value):
            raise ValueError(f"The loss is {value} at step {step}. A smaller learning rate, or a warm-up, often helps.")
        history.steps.append(step)
        history.losses.append(value)

    small = sum(p.numel() for group in groups for p in group["params"]) < SMALL
    try:
        with one_thread() if small else contextlib.nullcontext():
            for step in range(first_step, steps):
                if before_step:
                    before_step(step)
                factor = schedule(step, steps)
                for group, rate in zip(groups, rates):
                    _set_rate(group, rate * factor)
                make_step(step, look)
                history.done = step + 1
                if shown:
                    shown.update(history.done, history.losses[-1] if history.steps[-1:] == [step] else None)
    except KeyboardInterrupt:
        history.interrupted = True
    finally:
        for group, rate in zip(groups, rates):
            _set_rate(group, rate)
        for each in optimisers:
            each.zero_grad(set_to_none=True)
        if shown:
            shown.close()
    history.seconds = time.perf_counter() - began
    return history


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run the block on one thread of torch's.

    Threads that share out a small tensor wait for each other most of the time: with two, a step of the course's models
    takes twice the work on a quiet machine, and ten times the time on a busy one.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


Look = Callable[[int, Tensor], None]


class EagerStep:
    """Zero the gradients, compute the loss, go backwards, clip, and step, one operation after the other."""

    def __init__(
        self, step_loss: Callable[[int], Tensor], optimisers: list[torch.optim.Optimizer], clip: float | None
    ) -> None:
        self.step_loss, self.optimisers, self.clip = step_loss, optimisers, clip

    def __call__(self, step: int, look: Look) -> Tensor:
        for each in self.optimisers:
            each.zero_grad(set_to_none=True)
        loss = self.step_loss(step)
        if loss.numel() != 1:
            raise ValueError(
                f"step_loss returned a tensor of shape {list(loss.shape)}; the loss is one number. Take its mean."
            )
        loss.backward()
        if self.clip is not None:
            torch.nn.utils.clip_grad_norm_(
                [p for each in self.optimisers for group in each.param_groups for p in group["params"]], self.clip
            )
        look(step, loss)
        for each in self.optimisers:
            each.step()
        return loss.detach()


class GraphStep(EagerStep):
    """On a GPU: a few eager steps, on a stream of their own as torch asks; then one that is recorded as a CUDA graph,
    and replayed from there on."""

    def __init__(self, *parts) -> None:
        super().__init__(*parts)
        self.warm_up, self.stream, self.graph, self.loss = 3, torch.cuda.Stream(), None, None

    def __call__(self, step: int, look: Look) -> Tensor:
        if self.warm_up:
            self.warm_up -= 1
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                loss = super().__call__(step, look)
            torch.cuda.current_stream().wait_stream(self.stream)
            return loss
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):  # this records the step; the replay below makes it
                self.loss = super().__call__(step, lambda step, loss: None)
        self.graph.replay()
        look(step, self.loss)
        return self.loss


def _set_rate(group: dict, rate: float) -> None:
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)  # in place: a recorded step reads this tensor
    else:
        group["lr"] = rate
