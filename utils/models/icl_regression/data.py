"""Prompts of linear regression, drawn in bulk."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor


class Prompts(NamedTuple):
    """Questions z_q [n, queries, d + 1], examples z [n, L, d + 1] and the right answers y_q [n, queries, 1]."""

    z_q: Tensor
    z: Tensor
    y_q: Tensor

    @property
    def d(self) -> int:
        """How many entries an x has."""
        return self.z.shape[-1] - 1

    def split(self, size: int) -> Iterator["Prompts"]:
        """The same prompts, at most `size` at a time."""
        return (Prompts(*part) for part in zip(*(t.split(size) for t in self)))

    def to(self, device: torch.device | str) -> "Prompts":
        """The same prompts on a device."""
        return Prompts(*(t.to(device) for t in self))


def draw(
    n: int,
    L: int,
    d: int,
    noise_std: float = 0.01,
    queries: int = 1,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
) -> Prompts:
    """`n` prompts, each with a β of its own: x, x_q, β ~ N(0, I_d), y_i = β·x_i + noise, y_q = β·x_q without noise.

    `noise_std` is relative: the noise has the standard deviation noise_std · √d, since β·x has √d.

    Raises:
        ValueError: a size that is not positive, or a negative noise.
    """
    for name, size in (("n", n), ("L", L), ("d", d), ("queries", queries)):
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"{name} must be a whole number of at least 1; got {size!r}.")
    if not noise_std >= 0:
        raise ValueError(f"noise_std must not be negative; got {noise_std!r}.")
    device = device if device is not None else generator.device if generator is not None else None
    points = torch.randn(n, L + queries + 1, d, generator=generator, device=device)
    x, beta = points[:, :-1], points[:, -1:]
    tokens = torch.cat((x, x @ beta.mT), dim=-1)
    z, z_q = tokens[:, :L].clone(), tokens[:, L:].clone()
    z[..., -1] += math.sqrt(d) * noise_std * torch.randn(n, L, generator=generator, device=device)
    y_q = z_q[..., -1:].clone()
    z_q[..., -1] = 0
    return Prompts(z_q, z, y_q)


class PromptBuffer:
    """Prompts for training: drawn many batches at a time, dealt out one a step.

    Each bulk has a seed of its own, so that a run can be taken up at any step. The place in it is a tensor
    on the device, so that a captured step (see `utils.training.loop`) finds the next batch by itself.
    """

    def __init__(self, config, device: torch.device, bulk: int = 32) -> None:
        self.config, self.device, self.bulk = config, device, bulk
        self.generator = torch.Generator(device)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.buffered: Prompts | None = None

    def refill(self, step: int) -> None:
        """Before step `step`: draw anew where a bulk begins, or where a run is taken up."""
        if self.buffered is not None and step % self.bulk:
            return
        c = self.config
        self.generator.manual_seed(c.seed * 1_000_003 + step // self.bulk)
        fresh = draw(self.bulk * c.batch_size, c.length, c.d, c.noise_std, c.queries, self.generator)
        fresh = Prompts(*(t.view(self.bulk, c.batch_size, *t.shape[1:]) for t in fresh))
        if self.buffered is None:
            self.buffered = fresh
        else:
            for old, new in zip(self.buffered, fresh):
                old.copy_(new)  # in place: a captured step reads these tensors and no others
        self.position.fill_(step % self.bulk)

    def next_batch(self) -> Prompts:
        """The next batch."""
        batch = Prompts(*(t.index_select(0, self.position)[0] for t in self.buffered))
        self.position += 1
        return batch
