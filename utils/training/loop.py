"""Provide the training loop for all lessons, with a progress display and schedules.

Ctrl-C keeps the completed steps.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from utils.training.training_display import open_training_display

Schedule = Callable[[int, int], float]
SMALL = 1_000_000  # number of parameters; for a smaller model, a second thread does not speed up a step


@dataclass
class History:
    """The record of a training run. `losses[i]` is the loss at step `steps[i]`, measured before the update."""

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    done: int = 0
    seconds: float = 0.0
    interrupted: bool = False


def constant_schedule(step: int, steps: int) -> float:
    """Keep the full rate."""
    return 1.0


def cosine_schedule(step: int, steps: int) -> float:
    """Decay along half a cosine, from the full rate at the first step to 0 after the last step."""
    return 0.5 * (1 + math.cos(math.pi * step / steps))


def one_cycle_schedule(step: int, steps: int, warmup: float = 0.1) -> float:
    """Rise linearly over the first part of the steps, then decay along half a cosine."""
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
    before_step: Callable[[int], None] | None = None,
    use_cuda_graph: bool = False,
) -> History:
    """Train with `optimiser` on the loss that `step_loss(step)` returns, for `steps` steps.

    Ctrl-C ends the run, keeps the completed steps, and sets `interrupted` in the history. A model with fewer than a
    million parameters is trained on one thread.

    Args:
        step_loss: samples the data for a step and returns the loss, a single number.
        optimiser: one optimiser, or several with disjoint parameters.
        schedule: `(step, steps) -> factor`, which multiplies the initial rate of each parameter group.
        clip: the maximum norm of the gradient of all parameters.
        log_every: the number of steps between two readings of the loss. Each reading makes the program wait for a GPU.
            The last loss is always read.
        progress: False shows nothing; True shows a live display in a notebook and a bar in a terminal.
        before_step: called before each step with the step's number, to sample data or take readings.
        use_cuda_graph: True records one step as a CUDA graph and replays it. A small model has dozens of tiny kernels,
            which take longer to launch than to run. `step_loss` is called only in the first few steps, so it must not
            depend on the step or on the CPU. The rates must be tensors on the GPU, and Adam needs `capturable=True`.

    Raises:
        ValueError: the loss is not a single number, or is not finite.
    """
    history, began = History(), time.perf_counter()
    optimisers = [optimiser] if isinstance(optimiser, torch.optim.Optimizer) else list(optimiser)
    groups = [group for each in optimisers for group in each.param_groups]
    rates = [float(group["lr"]) for group in groups]
    shown = open_training_display(steps, title) if progress else None
    make_step = (GraphStep if use_cuda_graph else EagerStep)(step_loss, optimisers, clip)

    def look(step: int, loss: Tensor) -> None:
        """Log the loss if logging is due at this step.

        In eager steps, this happens before the update: if the loss of a logged step is the first that is nan, the
        weights are still finite.

        Raises:
            ValueError: the loss is not finite.
        """
        if step % log_every and step != steps - 1:
            return
        value = loss.item()
        if not math.isfinite(value):
            raise ValueError(f"The loss is {value} at step {step}. Try a smaller learning rate or a warm-up.")
        history.steps.append(step)
        history.losses.append(value)

    small = sum(p.numel() for group in groups for p in group["params"]) < SMALL
    try:
        with one_thread() if small else contextlib.nullcontext():
            for step in range(steps):
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
    """Run the block on one torch thread.

    Threads that share a small tensor mostly wait for each other. With two threads instead of one, a training
    step of the course's models needs twice as much CPU time on an idle machine. On a busy machine, the step takes ten
    times as long.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


Look = Callable[[int, Tensor], None]


@dataclass
class EagerStep:
    """A step that runs its operations eagerly: zero the gradients, compute the loss, backpropagate, clip, update."""

    step_loss: Callable[[int], Tensor]
    optimisers: list[torch.optim.Optimizer]
    clip: float | None

    def __call__(self, step: int, look: Look) -> Tensor:
        for each in self.optimisers:
            each.zero_grad(set_to_none=True)
        loss = self.step_loss(step)
        if loss.numel() != 1:
            raise ValueError(
                f"step_loss returned a tensor of shape {list(loss.shape)}; the loss must be one number. Take its mean."
            )
        loss.backward()
        if self.clip is not None:
            groups = [group for each in self.optimisers for group in each.param_groups]
            torch.nn.utils.clip_grad_norm_([p for group in groups for p in group["params"]], self.clip)
        look(step, loss)
        for each in self.optimisers:
            each.step()
        return loss.detach()


@dataclass
class GraphStep(EagerStep):
    """A training step on a GPU. The step is recorded as a CUDA graph and then replayed.

    A few eager steps run first, on a separate stream, as torch requires.
    """

    warm_up: int = 3
    stream: torch.cuda.Stream = field(default_factory=lambda: torch.cuda.Stream())
    graph: torch.cuda.CUDAGraph | None = None
    loss: Tensor = field(init=False)  # the loss of the recorded step

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
            with torch.cuda.graph(self.graph):  # only records the step; the replay below runs it
                self.loss = super().__call__(step, lambda step, loss: None)
        self.graph.replay()
        look(step, self.loss)
        return self.loss


def _set_rate(group: dict, rate: float) -> None:
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(rate)  # in place, because a recorded CUDA graph reads this tensor
    else:
        group["lr"] = rate
