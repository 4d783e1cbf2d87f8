"""Sample the inputs of cases and the parameters of modules, with a fixed seed."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Sequence

import torch


class Sampler:
    """Samples numbers of order one for cases, with a fixed seed: `rand(6, 3)` is a float32 tensor of shape [6, 3]."""

    def __init__(self, seed: str):
        self.generator = torch.Generator().manual_seed(zlib.crc32(seed.encode()))

    def __call__(self, *shape: int, scale: float = 1.0, dtype=torch.float32) -> torch.Tensor:
        return (torch.randn(shape, generator=self.generator, dtype=torch.float64) * scale).to(dtype)

    def integers(self, *shape: int, low: int = 0, high: int = 10) -> torch.Tensor:
        """Sample integers from `low` to `high - 1` as an int64 tensor."""
        return torch.randint(low, high, shape, generator=self.generator)

    def mask(self, *shape: int, fraction: float = 0.5) -> torch.Tensor:
        """Sample a bool tensor. The diagonal is True; each other entry is True with probability `fraction`."""
        sampled = torch.rand(*shape, generator=self.generator) < fraction
        return sampled | torch.eye(*shape[-2:], dtype=torch.bool)


def sample_parameter(name: str, shape: Sequence[int], seed: int) -> torch.Tensor:
    """Sample values of order one for the parameter `name`, with the seed of the case.

    In a matrix with n entries, each entry is divided by n ** 0.25. The standard deviation of attention scores is then
    near one.
    """
    return _sample_parameter(name, tuple(shape), seed).clone()


@functools.lru_cache(maxsize=1024)  # every run builds a new module and fills its parameters
def _sample_parameter(name: str, shape: tuple[int, ...], seed: int) -> torch.Tensor:
    values = Sampler(f"{seed}:{name}")(*shape)
    return values / values.numel() ** 0.25 if values.dim() > 1 else values
