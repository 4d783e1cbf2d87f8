"""Ways to answer a question from its examples. Each is a function of (z_q, z) that gives the shape of y_q, [n, queries,
1]."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Estimator = Callable[[Tensor, Tensor], Tensor]


def _split_prompts(z_q: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x_q [n, queries, d], x [n, L, d], y [n, L, 1]."""
    return z_q[..., :-1], z[..., :-1], z[..., -1:]


def kernel(w: float | Sequence[float], mu: float | Sequence[float]) -> Estimator:
    """Σ_h μ_h · Σ_i softmax_i(w_h · x_q·x_i) · y_i: what a layer of such heads computes, from 2H numbers.

    Raises:
        ValueError: as many w as μ are needed.
    """
    w, mu = ([float(v) for v in torch.as_tensor(values).flatten()] for values in (w, mu))
    if len(w) != len(mu):
        raise ValueError(f"each head has one w and one mu; got {len(w)} of w and {len(mu)} of mu.")

    def estimate(z_q: Tensor, z: Tensor) -> Tensor:
        x_q, x, y = _split_prompts(z_q, z)
        scores = x_q @ x.mT
        return sum(m * (torch.softmax(a * scores, dim=-1) @ y) for a, m in zip(w, mu))

    return estimate


def gradient_step(rate: float = 1.0) -> Estimator:
    """One step of gradient descent from β = 0 on the squared error of the examples: rate/L · Σ_i y_i · x_i·x_q."""
    return lambda z_q, z: rate / z.shape[-2] * (z_q[..., :-1] @ (z[..., :-1].mT @ z[..., -1:]))


def centred_step(rate: float = 1.0) -> Estimator:
    """The same with x_i − x̄ for x_i: what a pair of heads becomes as w goes to 0, with the rate 2wμ."""

    def estimate(z_q: Tensor, z: Tensor) -> Tensor:
        x_q, x, y = _split_prompts(z_q, z)
        return rate / x.shape[-2] * (x_q @ ((x - x.mean(dim=-2, keepdim=True)).mT @ y))

    return estimate


def ridge(strength: float) -> Estimator:
    """β = (XᵀX + strength · I)⁻¹ Xᵀ y. With strength = d · noise_std², the variance of the noise, no estimator has a
    smaller expected squared error on these prompts, because β ~ N(0, I) (Garg et al., "What Can Transformers Learn
    In-Context?", 2022).
    """
    if not strength > 0:
        raise ValueError(f"strength must be positive; got {strength!r}. For none at all there is least_squares.")

    def estimate(z_q: Tensor, z: Tensor) -> Tensor:
        x_q, x, y = _split_prompts(z_q, z)
        gram = x.mT @ x + strength * torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
        return x_q @ torch.linalg.solve(gram, x.mT @ y)

    return estimate


def least_squares(z_q: Tensor, z: Tensor) -> Tensor:
    """The β of the smallest squared error on the examples, and of these the shortest one."""
    x_q, x, y = _split_prompts(z_q, z)
    return x_q @ (torch.linalg.pinv(x) @ y)


def gradient_step_loss(rate: float, L: int, d: int, noise_std: float = 0.01) -> float:
    """The expected squared error of `gradient_step(rate)`: d · (1 − 2·rate + rate²·(1 + (d + 1 + d·noise_std²)/L)).

    From E[S] = I and E[S²] = (1 + (d + 1)/L) · I for S = XᵀX/L with Gaussian x, and the noise's own d·noise_std²/L.
    It is smallest at rate = 1/(1 + (d + 1 + d·noise_std²)/L).
    """
    return d * (1 - 2 * rate + rate**2 * (1 + (d + 1 + d * noise_std**2) / L))


def best_mu(w: float, prompts, heads: int = 2) -> tuple[float, float]:
    """The μ that serves `kernel((w, −w), (μ, −μ))` best on these prompts, or for one head `kernel(w, μ)`, and its mean
    squared error.

    The error is a parabola in μ: its lowest point is at Σ y_q·k / Σ k², with k the estimate for μ = 1.
    """
    if heads not in (1, 2):
        raise ValueError(f"heads must be 1, or 2 for a pair of opposite ones; got {heads!r}.")
    made = kernel(w, 1.0) if heads == 1 else kernel((w, -w), (1.0, -1.0))
    estimate, y = made(prompts.z_q, prompts.z).double(), prompts.y_q.double()
    if not estimate.any():
        raise ValueError("with w = 0 the two heads cancel: every estimate is 0, whatever μ is.")
    mu = (y * estimate).sum() / estimate.square().sum()
    return mu.item(), (y - mu * estimate).square().mean().item()
