"""The one training loop: a progress bar, a schedule, Ctrl-C that keeps what is done."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Callable

import torch
from torch import Tensor

Schedule = Callable[[int, int], float]


@dataclass
class History:
    """What a training run saw: `losses[i]` is the loss of step `steps[i]`, before that step changed anything."""

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    done: int = 0
    seconds: float = 0.0
    interrupted: bool = False


def constant(step: int, steps: int) -> float:
    """The full rate all the way."""
    return 1.0


def cosine(step: int, steps: int) -> float:
    """From the full rate at the first step towards 0 after the last, along half a cosine."""
    return 0.5 * (1 + math.cos(math.pi * step / steps))


def one_cycle(step: int, steps: int, warmup: float = 0.1) -> float:
    """Up in a line over the first part of the steps, then down along half a cosine."""
    rising = max(1, round(warmup * steps))
    if step < rising:
        return (step + 1) / rising
    return cosine(step - rising, max(1, steps - rising))


def train(
    step_loss: Callable[[int], Tensor],
    optimiser: torch.optim.Optimizer,
    steps: int,
    schedule: Schedule = constant,
    clip: float | None = None,
    log_every: int = 10,
    progress: bool = True,
    title: str = "training",
) -> History:
    """Make `steps` steps of `optimiser` down the loss that `step_loss(step)` returns.

    Args:
        step_loss: draws the data of this step and returns the loss, one number.
        schedule: `(step, steps) -> factor` on the rates that the optimiser came with, each group keeping its own.
        clip: the largest norm of all gradients together.
        log_every: how often the loss is read, which on a GPU makes the program wait; the last one always is.
        progress: False for silence.

    Ctrl-C ends the run after what is done, and the history says so.

    Raises:
        ValueError: the loss is not one number, or no longer finite.
    """
    history, began = History(), time.perf_counter()
    rates = [group["lr"] for group in optimiser.param_groups]
    parameters = [p for group in optimiser.param_groups for p in group["params"]]
    bar = _bar(steps, title) if progress else None
    try:
        for step in range(steps):
            factor = schedule(step, steps)
            for group, rate in zip(optimiser.param_groups, rates):
                group["lr"] = rate * factor
            optimiser.zero_grad(set_to_none=True)
            loss = step_loss(step)
            if loss.numel() != 1:
                raise ValueError(f"step_loss returned a tensor of shape {list(loss.shape)}; the loss is one number. Take its mean.")
            loss.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(parameters, clip)
            if step % log_every == 0 or step == steps - 1:
                value = loss.item()
                if not math.isfinite(value):
                    raise ValueError(f"The loss is {value} at step {step}. A smaller learning rate, or a warm-up, often helps.")
                history.steps.append(step)
                history.losses.append(value)
                if bar:
                    bar.set_postfix(loss=f"{value:.4f}", refresh=False)
            optimiser.step()
            history.done = step + 1
            if bar:
                bar.update()
    except KeyboardInterrupt:
        history.interrupted = True
    finally:
        for group, rate in zip(optimiser.param_groups, rates):
            group["lr"] = rate
        optimiser.zero_grad(set_to_none=True)
        if bar:
            bar.close()
    history.seconds = time.perf_counter() - began
    return history


def _bar(steps: int, title: str):
    from tqdm.auto import tqdm

    return tqdm(total=steps, desc=title, unit="step")
