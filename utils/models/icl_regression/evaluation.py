"""Measure the errors of estimators, on one set of prompts or on repeated samples with several prompt lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.models.icl_regression.data import Prompts, draw
from utils.models.icl_regression.estimators import Estimator

if TYPE_CHECKING:
    from jaxtyping import Float


def mean_squared_error(estimator: Estimator, prompts: Prompts, chunk_size: int = 20_000) -> float:
    """Return the mean of (estimate − y_q)² over all questions. `estimator` may also be a model.

    Raises:
        ValueError: the estimates and y_q differ in shape. (Broadcasting would hide this.)
    """
    total = torch.zeros((), dtype=torch.float64, device=prompts.y_q.device)
    with torch.no_grad():
        for z_q, z, y_q in prompts.split(chunk_size):
            estimate = estimator(z_q, z)
            if estimate.shape != y_q.shape:
                raise ValueError(
                    f"the estimates have shape {list(estimate.shape)} and the answers {list(y_q.shape)}; an estimator"
                    " must return the shape of the answers."
                )
            total += (estimate - y_q).double().square().sum()
    return (total / prompts.y_q.numel()).item()


@dataclass(frozen=True)
class ErrorCurves:
    """Each method's errors for several prompt lengths."""

    lengths: tuple[int, ...]
    errors: Mapping[str, Float[Tensor, "repeats lengths"]]

    def mean(self, name: str) -> Float[Tensor, "lengths"]:
        """Return the mean over the repeats."""
        return self.errors[name].mean(dim=0)


def error_curves(
    methods: Mapping[str, Estimator],
    lengths: Sequence[int] = (5, 10, 20, 40, 80, 160, 320),
    d: int = 5,
    noise_std: float = 0.01,
    n: int = 2000,
    repeats: int = 5,
    seed: int = 0,
) -> ErrorCurves:
    """Measure the mean squared error of each method on `n` prompts of each length, `repeats` times.

    All methods get the same prompts.

    Raises:
        ValueError: there are no methods or no lengths, or a size is not positive.
    """
    if not methods or not lengths:
        raise ValueError("at least one method and one length are needed.")
    generator = torch.Generator().manual_seed(seed)
    errors = {name: torch.zeros(repeats, len(lengths)) for name in methods}
    for repeat in range(repeats):
        for place, length in enumerate(lengths):
            prompts = draw(n, int(length), d, noise_std, generator=generator)
            for name, method in methods.items():
                errors[name][repeat, place] = mean_squared_error(method, prompts)
    return ErrorCurves(tuple(int(length) for length in lengths), errors)
