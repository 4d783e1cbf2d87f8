"""Sample prompts for linear regression, many at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from utils.models.icl_regression.config import RegressionConfig, require_positive_integers

if TYPE_CHECKING:
    from jaxtyping import Float


class Prompts(NamedTuple):
    """The questions z_q, the examples z and the correct answers y_q. Each token in z_q and z has D = d + 1 entries."""

    z_q: Float[Tensor, "n queries D"]
    z: Float[Tensor, "n L D"]
    y_q: Float[Tensor, "n queries 1"]

    @property
    def d(self) -> int:
        """The number of entries in each vector x."""
        return self.z.shape[-1] - 1

    def split(self, size: int) -> Iterator[Prompts]:
        """Split the prompts into parts of at most `size`."""
        return (Prompts(*part) for part in zip(*(t.split(size) for t in self)))

    def to(self, device: torch.device | str) -> Prompts:
        """Copy the prompts to a device."""
        return Prompts(*(t.to(device) for t in self))


def draw(
    n: int,
    L: int,
    d: int,
    noise_std: float = 0.01,
    queries: int = 1,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
    scales: Sequence[float] | None = None,
) -> Prompts:
    """Sample `n` prompts, each with its own β: x, x_q, β ~ N(0, I_d), y_i = β·x_i + noise, y_q = β·x_q without noise.

    `noise_std` is relative to the standard deviation √d of β·x: the noise has the standard deviation noise_std · √d.
    `scales` contains one factor for each entry of x and x_q, so that some entries can vary more than others.

    Raises:
        ValueError: a size is not positive, `noise_std` is negative, or `scales` does not have `d` positive numbers.
    """
    require_positive_integers(n=n, L=L, d=d, queries=queries)
    if not noise_std >= 0:
        raise ValueError(f"noise_std must be 0 or larger; got {noise_std!r}.")
    if device is None and generator is not None:
        device = generator.device
    if scales is not None and not (len(scales) == d and all(scale > 0 for scale in scales)):
        raise ValueError(f"scales must be {d} positive numbers, one for each entry of x; got {scales!r}.")
    points = torch.randn(n, L + queries + 1, d, generator=generator, device=device)
    x, beta = points[:, :-1], points[:, -1:]
    if scales is not None:
        x = x * torch.tensor(scales, device=device)
    tokens = torch.cat((x, x @ beta.mT), dim=-1)
    z, z_q = tokens[:, :L].clone(), tokens[:, L:].clone()
    z[..., -1] += math.sqrt(d) * noise_std * torch.randn(n, L, generator=generator, device=device)
    y_q = z_q[..., -1:].clone()
    z_q[..., -1] = 0
    return Prompts(z_q, z, y_q)


class PromptBuffer:
    """A buffer of prompts for training. It samples many batches at a time and returns one batch for each step.

    Each refill has its own seed, so the prompts of a step do not depend on earlier steps. The position in the buffer is
    a tensor on the device. A recorded CUDA graph (see `utils.training.loop`) can therefore move to the next batch
    without the CPU.
    """

    def __init__(self, config: RegressionConfig, device: torch.device, bulk: int = 32) -> None:
        self.config, self.device, self.bulk = config, device, bulk
        self.generator = torch.Generator(device)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.buffered: Prompts | None = None

    def refill(self, step: int) -> None:
        """Prepare for step `step`. Sample new batches if the buffer is used up, or if a run starts."""
        if self.buffered is not None and step % self.bulk:
            return
        c = self.config
        self.generator.manual_seed(c.seed * 1_000_003 + step // self.bulk)
        fresh = draw(self.bulk * c.batch_size, c.length, c.d, c.noise_std, c.queries, self.generator, scales=c.scales)
        fresh = Prompts(*(t.view(self.bulk, c.batch_size, *t.shape[1:]) for t in fresh))
        if self.buffered is None:
            self.buffered = fresh
        else:
            for old, new in zip(self.buffered, fresh):
                old.copy_(new)  # in place, because a recorded CUDA graph reads only these tensors
        self.position.fill_(step % self.bulk)

    def next_batch(self) -> Prompts:
        """Return the next batch. `refill` must be called first."""
        assert self.buffered is not None
        batch = Prompts(*(t.index_select(0, self.position)[0] for t in self.buffered))
        self.position += 1
        return batch
