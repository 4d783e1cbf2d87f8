"""Define estimators, which answer a question from its examples.

Each estimator is a function of (z_q, z) and returns a tensor with the shape of y_q, [n, queries, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from utils.models.icl_regression.data import Prompts

Estimator = Callable[[Tensor, Tensor], Tensor]


def _split_prompts(z_q: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Split tokens into x_q [n, queries, d], x [n, L, d] and y [n, L, 1]."""
    return z_q[..., :-1], z[..., :-1], z[..., -1:]


def kernel(w: float | Sequence[float], mu: float | Sequence[float]) -> Estimator:
    """Return the estimator Σ_h μ_h · Σ_i softmax_i(w_h · x_q·x_i) · y_i.

    A layer computes this function if two numbers, w_h and μ_h, describe each of its heads completely.

    Raises:
        ValueError: `w` and `mu` have different lengths.
    """
    scales, factors = (torch.as_tensor(values).flatten().tolist() for values in (w, mu))
    if len(scales) != len(factors):
        raise ValueError(f"each head needs one w and one mu; got {len(scales)} of w and {len(factors)} of mu.")
    heads = list(zip(scales, factors))

    def estimate(z_q: Tensor, z: Tensor) -> Tensor:
        x_q, x, y = _split_prompts(z_q, z)
        scores = x_q @ x.mT
        terms = (m * (torch.softmax(a * scores, dim=-1) @ y) for a, m in heads)
        return sum(terms, start=torch.zeros_like(x_q[..., :1]))

    return estimate


def gradient_step(rate: float = 1.0) -> Estimator:
    """Return the estimator that takes one gradient step from β = 0 on the squared error of the examples.

    The step predicts rate/L · Σ_i y_i · x_i·x_q.
    """
    return lambda z_q, z: rate / z.shape[-2] * (z_q[..., :-1] @ (z[..., :-1].mT @ z[..., -1:]))


def centred_step(rate: float = 1.0) -> Estimator:
    """Return `gradient_step` with x_i − x̄ instead of x_i.

    As w goes to 0, a pair of opposite heads approaches this estimator; the rate of the step is then 2wμ.
    """

    def estimate(z_q: Tensor, z: Tensor) -> Tensor:
        x_q, x, y = _split_prompts(z_q, z)
        return rate / x.shape[-2] * (x_q @ ((x - x.mean(dim=-2, keepdim=True)).mT @ y))

    return estimate


def ridge(strength: float) -> Estimator:
    """Return the estimator with β = (XᵀX + strength · I)⁻¹ Xᵀ y.

    If strength = d · noise_std² (the variance of the noise), no estimator has a smaller expected squared error on
    prompts with β ~ N(0, I) (Garg et al., "What Can Transformers Learn In-Context?", 2022).

    Raises:
        ValueError: `strength` is not positive.
    """
    if not strength > 0:
        raise ValueError(f"strength must be positive; got {strength!r}. Without regularisation, use least_squares.")

    def estimate(z_q: Tensor, z: Tensor) -> Tensor:
        x_q, x, y = _split_prompts(z_q, z)
        gram = x.mT @ x + strength * torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
        return x_q @ torch.linalg.solve(gram, x.mT @ y)

    return estimate


def least_squares(z_q: Tensor, z: Tensor) -> Tensor:
    """Estimate with the shortest β that minimises the squared error on the examples."""
    x_q, x, y = _split_prompts(z_q, z)
    return x_q @ (torch.linalg.pinv(x) @ y)


def gradient_step_loss(rate: float, L: int, d: int, noise_std: float = 0.01) -> float:
    """Return the expected squared error of `gradient_step(rate)`: d · (1 − 2·rate + rate²·(1 + (d + 1 +
    d·noise_std²)/L)).

    The formula follows from E[S] = I and E[S²] = (1 + (d + 1)/L) · I for S = XᵀX/L with Gaussian x; the noise adds
    d·noise_std²/L. The minimum is at rate = 1/(1 + (d + 1 + d·noise_std²)/L).
    """
    return d * (1 - 2 * rate + rate**2 * (1 + (d + 1 + d * noise_std**2) / L))


def best_mu(w: float, prompts: Prompts, heads: int = 2) -> tuple[float, float]:
    """Return the best μ for the estimator `kernel((w, −w), (μ, −μ))`, and the error with this μ.

    The best μ minimises the mean squared error on `prompts`. With `heads=1`, the estimator is `kernel(w, μ)`. The error
    is a parabola in μ with its minimum at Σ y_q·k / Σ k², where k is the estimate for μ = 1.

    Raises:
        ValueError: `heads` is neither 1 nor 2, or all estimates are 0.
    """
    if heads not in (1, 2):
        raise ValueError(f"heads must be 1, or 2 for a pair of opposite ones; got {heads!r}.")
    estimator = kernel(w, 1.0) if heads == 1 else kernel((w, -w), (1.0, -1.0))
    estimate, y = estimator(prompts.z_q, prompts.z).double(), prompts.y_q.double()
    if not estimate.any():
        raise ValueError("every estimate is 0 for every μ, so no μ is best. With w = 0 the two heads cancel.")
    mu = (y * estimate).sum() / estimate.square().sum()
    return mu.item(), (y - mu * estimate).square().mean().item()
