"""How far estimates are off: on one set of prompts, and over lengths with the spread of repeated draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from utils.models.icl_regression.data import Prompts, draw
from utils.models.icl_regression.estimators import Estimator


def mean_squared_error(estimator: Estimator, prompts: Prompts, chunk_size: int = 20_000) -> float:
    """The mean of (estimate − y_q)² over all questions; models and estimators are called alike.

    Raises:
        ValueError: the estimates have another shape than y_q, which would be stretched over it in silence.
    """
    total = torch.zeros((), dtype=torch.float64, device=prompts.y_q.device)
    with torch.no_grad():
        for z_q, z, y_q in prompts.split(chunk_size):
            estimate = estimator(z_q, z)
            if estimate.shape != y_q.shape:
                raise ValueError(
                    f"the estimates have shape {list(estimate.shape)} and the answers {list(y_q.shape)}; an estimator"
                    " gives the answers' shape."
                )
            total += (estimate - y_q).double().square().sum()
    return (total / prompts.y_q.numel()).item()


@dataclass(frozen=True)
class ErrorCurves:
    """Errors over lengths: `errors[name]` is [repeats, lengths]."""

    lengths: tuple[int, ...]
    errors: Mapping[str, Tensor]

    def mean(self, name: str) -> Tensor:
        """[lengths], over the repeats."""
        return self.errors[name].mean(dim=0)

    def band(self, name: str) -> tuple[Tensor, Tensor]:
        """The lowest and the highest of the repeats, [lengths] each."""
        return self.errors[name].amin(dim=0), self.errors[name].amax(dim=0)


def error_curves(
    methods: Mapping[str, Estimator],
    lengths: Sequence[int] = (5, 10, 20, 40, 80, 160, 320),
    d: int = 5,
    noise_std: float = 0.01,
    n: int = 2000,
    repeats: int = 5,
    seed: int = 0,
) -> ErrorCurves:
    """Mean squared error of each method on `n` prompts of each length, `repeats` times. All methods see the same
    prompts.

    Raises:
        ValueError: no methods, no lengths, or a size that is not positive.
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
