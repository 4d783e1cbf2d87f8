"""Trace torch's operations while an answer runs: count them, and find the source of the first nan or inf."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def collect_tensors(value: Any) -> list[Tensor]:
    """Return every tensor in a result: the result itself, or the tensors in a tuple, list or dict."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in collect_tensors(v)]
    return []


class OperationCounter(TorchDispatchMode):
    """Counts the operations, and records the size of the largest tensor that an operation returned."""

    def __init__(self) -> None:
        super().__init__()
        self.operations, self.largest = 0, 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise torch imports its compiler; see utils.exercises.fake_device

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.operations += 1
        self.largest = max([self.largest, *(t.numel() for t in collect_tensors(result))])
        return result


@dataclass(frozen=True)
class NonfiniteOrigin:
    """The origin of the first nan, or of the first inf if no nan occurs: the cause and the learner's line."""

    cause: str
    line: int | None
    code: str


class FirstNonfinite(TorchDispatchMode):
    """A torch mode that finds the first operation that produces nan, and the first operation that produces inf.

    Only an inf that is computed counts. The mode ignores an inf that the learner writes, as in a mask or `torch.full`.

    Args:
        files: the names of the files that contain the learner's own code.
    """

    def __init__(self, files: set[str]) -> None:
        super().__init__()
        self.files = files
        self.nan: tuple[str, int | None] | None = None
        self.inf: tuple[str, int | None] | None = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise torch imports its compiler; see utils.exercises.fake_device

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        output = func(*args, **(kwargs or {}))
        if self.nan is None:
            inputs = [t for t in tree_leaves((args, kwargs)) if _is_float(t)]
            name = func.overloadpacket.__name__
            if name == "empty_like":  # dropout creates a tensor with arbitrary content, and fills it later
                return output
            for result in filter(_is_float, tree_leaves(output)):
                self._note(name, inputs, args, result)
        return output

    def _note(self, name: str, inputs: list[Tensor], args: tuple, result: Tensor) -> None:
        has_inf = any(t.isinf().any() for t in inputs) or any(isinstance(a, float) and math.isinf(a) for a in args)
        if result.isnan().any() and not any(t.isnan().any() for t in inputs):
            self.nan = _why_nan(name, inputs, args, result), self._line()
        elif self.inf is None and name in _WHY_INF and result.isinf().any() and not has_inf:
            self.inf = _WHY_INF[name], self._line()

    def _line(self) -> int | None:
        """Return the number of the learner's line that is running."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename not in self.files:
            frame = frame.f_back
        return frame.f_lineno if frame else None


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and not value.is_meta


_WHY_INF = {
    "exp": "exp of a number that is too large overflows to inf",
    "div": "a division by 0, or by a number that is too small, gives inf",
    "reciprocal": "a division by 0, or by a number that is too small, gives inf",
    "rsqrt": "a division by the square root of 0 gives inf",
    "pow": "a power that is too large, or 0 with a negative exponent, gives inf",
    "mul": "the product is too large for its dtype and gives inf",
    "log": "the logarithm of 0 is -inf",
    "sum": "the sum is too large for its dtype and gives inf",
}
_WHY_NAN = {
    "log": "the logarithm of a negative number is nan",
    "log2": "the logarithm of a negative number is nan",
    "sqrt": "the square root of a negative number is nan",
    "rsqrt": "the square root of a negative number is nan",
    "pow": "a negative number with an exponent that is not an integer gives nan",
    "sub": "inf - inf is nan",
    "add": "inf - inf is nan",
    "mul": "0 × inf is nan",
    "mm": "in a matrix product with inf, 0 × inf and inf - inf are nan",
    "bmm": "in a matrix product with inf, 0 × inf and inf - inf are nan",
    "acos": "the arccosine of a number outside -1 to 1 is nan",
    "empty": "`torch.empty` contains arbitrary numbers, not zeros",
    "std": "the standard deviation of a single number divides by n - 1 = 0, and 0 / 0 is nan",
    "var": "the variance of a single number divides by n - 1 = 0, and 0 / 0 is nan",
    "mean": "the mean of no numbers is nan",
}
_REDUCTION_NOUNS = {"std": "standard deviation", "var": "variance", "mean": "mean"}
CAUSES_OF_INF = frozenset(_WHY_INF.values())
CAUSES_IN_SOFTMAX = frozenset({_WHY_INF["exp"], "0 / 0 is nan", "inf / inf is nan"})


def _why_nan(name: str, inputs: list[Tensor], args: tuple, result: Tensor) -> str:
    if name in ("_softmax", "_log_softmax", "softmax"):
        axis = args[1] if len(args) > 1 and isinstance(args[1], int) else -1
        scores = inputs[0]
        if (scores == -torch.inf).all(axis).any():
            return "all scores along the axis of the softmax are -inf, so it has nothing to normalise"
        return "the softmax got a score of inf"
    if name in ("div", "true_divide"):
        is_zero = torch.as_tensor(args[0] == 0).expand_as(result)
        return "0 / 0 is nan" if (is_zero & result.isnan()).any() else "inf / inf is nan"
    if name in _REDUCTION_NOUNS and inputs and inputs[0].isinf().any():
        return f"the {_REDUCTION_NOUNS[name]} of numbers with inf can be nan, because inf - inf is nan"
    return _WHY_NAN.get(name, f"`{name}` gives nan")
