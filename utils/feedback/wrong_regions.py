"""Find the region of a table that contains all wrong numbers, such as the diagonal or the first column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from utils.exercises.compare import difference_mask, is_number, values_equal
from utils.exercises.observe import is_float


@dataclass(frozen=True)
class ResultPair:
    """A wrong result and the expected result, both as float64, with the inputs of the call."""

    yours: Tensor
    expected: Tensor
    axes: list[str]  # the names of the expected result's axes; empty if they have no names
    inputs: dict[str, Any]  # the arguments of the call and of the constructor, by name
    atol: float
    is_bool: bool = False

    def is_equal(self, a: Tensor, b: Tensor) -> bool:
        return a.shape == b.shape and values_equal(a, b, 10 * self.atol, "any")

    def input_tensors(self) -> dict[str, Tensor]:
        """Return the floating-point tensors among the inputs."""
        return {name: value.double() for name, value in self.inputs.items() if is_float(value)}

    def named_sizes(self) -> dict[str, int]:
        """Map names to sizes above 1: the sizes of the axes of the result and of the inputs, and integer inputs."""
        sizes = {name: n for name, n in zip(self.axes, self.expected.shape) if name.isidentifier()}
        sizes |= {name: value for name, value in self.inputs.items() if is_number(value) and isinstance(value, int)}
        for name, value in self.inputs.items():
            if isinstance(value, Tensor):
                sizes |= {f"size of axis {axis} of `{name}`": n for axis, n in enumerate(value.shape)}
        return {name: n for name, n in sizes.items() if n > 1}


Pairs = list[ResultPair]


def places(pairs: Pairs) -> str:
    """Name the first region that fits every result, or return "" if no region fits.

    A region fits only if it contains all wrong numbers and more than half of its numbers are wrong.
    """
    wrong = [difference_mask(p.yours, p.expected, p.atol) for p in pairs]
    for name, region in _regions(pairs):
        inside = [region(w) for w in wrong]
        if _is_rest_informative(pairs, inside) and all(
            not (w & ~r).any() and w[r].double().mean() > 0.5 for w, r in zip(wrong, inside)
        ):
            zero = all(bool((p.yours[r & w] == 0).all()) for p, w, r in zip(pairs, wrong, inside))
            empty = "False" if pairs[0].is_bool else "0"
            difference = f"is {empty} where it should not be" if zero else "differs"
            return f"Only {name} {difference}; all other entries are right."
    return ""


def _is_rest_informative(pairs: Pairs, inside: list[Tensor]) -> bool:
    """Tell whether correct numbers outside a region are evidence that only the region is wrong.

    Numbers that are 0, infinite or all equal prove nothing, because they often have these values by construction.
    Examples are the weights above the diagonal and the first row of causal weights.
    """
    rest = torch.cat([p.expected[~r] for p, r in zip(pairs, inside)])
    if pairs[0].is_bool:
        return bool(rest.numel())
    return len(rest[rest.isfinite() & (rest != 0)].unique()) > 1


Region = Callable[[Tensor], Tensor]


def _regions(pairs: Pairs) -> Iterator[tuple[str, Region]]:
    """Yield (name, function that creates the mask) for each region of a table, the diagonal first."""
    dims = {p.expected.dim() for p in pairs}
    if len(dims) > 1 or 0 in dims:
        return
    full = lambda w: torch.ones_like(w)
    if min(dims) > 1 and all(p.expected.shape[-1] == p.expected.shape[-2] for p in pairs):
        yield "the diagonal", lambda w: full(w).tril() & full(w).triu()
        yield "the part above the diagonal", lambda w: full(w).triu(1)
        yield "the part below the diagonal", lambda w: full(w).tril(-1)
        yield "the part on and above the diagonal", lambda w: full(w).triu()
        yield "the part on and below the diagonal", lambda w: full(w).tril()
    for axis in range(-1, -1 - min(dims), -1):
        name = _axis_word(pairs[0], axis)
        yield f"the first {name}", lambda w, axis=axis: _slices(w, axis, slice(0, 1))
        yield f"the last {name}", lambda w, axis=axis: _slices(w, axis, slice(-1, None))
    for axis in range(-1, -1 - min(dims), -1):
        name = _axis_word(pairs[0], axis)
        yield f"the part after the first {name}", lambda w, axis=axis: _slices(w, axis, slice(1, None))
        yield f"the part before the last {name}", lambda w, axis=axis: _slices(w, axis, slice(0, -1))


def _axis_word(pair: ResultPair, axis: int) -> str:
    if pair.expected.dim() == 1:
        return "entry"
    if axis > -3 and pair.expected.dim() == 2:
        return {-1: "column", -2: "row"}[axis]
    name = pair.axes[axis] if pair.axes else ""
    return f"place along `{name}`" if name.isidentifier() else f"place along axis {pair.expected.dim() + axis}"


def _slices(wrong: Tensor, axis: int, which: slice) -> Tensor:
    mask = torch.zeros_like(wrong)
    mask.movedim(axis, 0)[which] = True
    return mask
