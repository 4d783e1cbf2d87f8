"""Prevent overflow when scores are volumes, and measure the time and the memory that a call needs."""

from __future__ import annotations

import functools
import math
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.training.loop import one_thread

if TYPE_CHECKING:
    from jaxtyping import Float


def upcast(*vectors: Float[Tensor, "*batch d"]) -> list[Float[Tensor, "*batch d"]]:
    """Convert the vectors that span a volume to float32 if their dtype is smaller.

    A score can be as large as a product of six lengths, but the largest number in float16 is 65,504.

    Raises:
        ValueError: the lengths are so large that the squared volume overflows in the converted dtype, or they are not
            finite.
    """
    converted = [x.float() if x.dtype.itemsize < 4 else x for x in vectors]
    if not converted[0].is_meta:  # a meta tensor has no values
        longest = [float(x.detach().norm(dim=-1).amax()) for x in converted]
        volume = math.prod(longest)
        if not volume * volume < torch.finfo(converted[0].dtype).max:
            lengths = ", ".join(f"{length:.3g}" for length in longest)
            raise ValueError(
                f"query, key and reference have lengths up to {lengths}: their squared volume does not fit in"
                f" {converted[0].dtype}. Scale them down."
            )
    return converted


@dataclass(frozen=True)
class Cost:
    """The cost of a call.

    Attributes:
        seconds: the time of the fastest call.
        peak: the maximum number of bytes that the call used at once, excluding memory that was already in use.
    """

    seconds: float
    peak: int


@torch.no_grad()
def cost(call: Callable[[], object], repeats: int = 5) -> Cost:
    """Measure the time and the memory of `call()`, without gradients, on one CPU thread.

    In short calls, several threads would mostly wait for each other.
    """
    times = []
    with one_thread():
        call()
        for _ in range(repeats):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
    with _ledger_type()() as ledger:
        call()
    return Cost(min(times), ledger.peak)  # the fastest call was disturbed least by other programs


@functools.cache
def _ledger_type() -> type:
    """Define the class on first use, because torch's dispatch modes are slow to import."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Ledger(TorchDispatchMode):
        """Counts the bytes of the tensor storages that operations allocate.

        When all tensors of a storage have been freed, its bytes no longer count.
        """

        def __init__(self) -> None:
            super().__init__()
            self.now = self.peak = 0
            self.users: dict[int, int] = {}  # maps a storage to the number of tensors that use it
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
