"""What a score by volume costs: the number format that it needs, time, and memory."""

from __future__ import annotations

import functools
import math
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


def upcast(*vectors: Tensor) -> list[Tensor]:
    """The vectors [..., d] of a volume, in float32 at least: a score multiplies six lengths, and float16 ends at
    65,504.

    Raises:
        ValueError: the sixth power of their lengths is too large for that as well.
    """
    vectors = [x.float() if x.dtype.itemsize < 4 else x for x in vectors]
    if not vectors[0].is_meta:  # a tensor without numbers has no lengths
        longest = [float(x.detach().norm(dim=-1).amax()) for x in vectors]
        if not math.prod(longest) ** 2 < torch.finfo(vectors[0].dtype).max:
            lengths = ", ".join(f"{length:.3g}" for length in longest)
            raise ValueError(
                f"query, key and reference have lengths up to {lengths}: their squared volume does not fit in"
                f" {vectors[0].dtype}. Scale them down."
            )
    return vectors


@dataclass(frozen=True)
class Cost:
    """The seconds of the fastest call, and the bytes that it held at the most beyond what was there before."""

    seconds: float
    peak: int


@torch.no_grad()
def cost(call: Callable[[], object], repeats: int = 5) -> Cost:
    """Time and memory of `call()`, without gradients. On one core of the CPU: there several would wait for each other
    in so short a call."""
    cores, times = torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        call()
        for _ in range(repeats):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
    finally:
        torch.set_num_threads(cores)
    with _ledger_type()() as ledger:
        call()
    return Cost(min(times), ledger.peak)  # other work on the machine only makes a call slower


@functools.cache
def _ledger_type() -> type:
    """Made on first use: torch's dispatch modes are slow to import."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Ledger(TorchDispatchMode):
        """Adds up the storages that operations make, and takes away those whose last tensor has gone."""

        def __init__(self) -> None:
            super().__init__()
            self.now = self.peak = 0
            self.users: dict[int, int] = {}  # how many tensors use a storage; 0 stands for what was there before
            self.before: set[int] = set()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            for given in tree_leaves((args, kwargs)):
                if isinstance(given, Tensor) and (key := self._key(given)) not in self.users:
                    self.before.add(key)
            made = func(*args, **(kwargs or {}))
            for tensor in tree_leaves(made):
                if isinstance(tensor, Tensor) and (key := self._key(tensor)) not in self.before:
                    if key not in self.users:
                        self.users[key] = 0
                        self.now += tensor.untyped_storage().nbytes()
                        self.peak = max(self.peak, self.now)
                    self.users[key] += 1
                    weakref.finalize(tensor, self._gone, key, tensor.untyped_storage().nbytes()).atexit = False
            return made

        @staticmethod
        def _key(tensor: Tensor) -> int:
            return tensor.untyped_storage()._cdata

        def _gone(self, key: int, size: int) -> None:
            self.users[key] -= 1
            if not self.users[key]:
                del self.users[key]
                self.now -= size

    return Ledger
