# %% sample_regression wrong (property drawn_otherwise): the root covers noise_std too
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = torch.randn(n, L, 1, generator=generator) * (noise_std * d) ** 0.5
    return torch.cat([x_q, torch.zeros(n, 1, 1)], -1), torch.cat([x, x @ beta + noise], -1), x_q @ beta

# %% kernel_estimator wrong (misconception weights-averaged): the weights of the heads are averaged first, then y is mixed once
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    weights = sum(torch.softmax(a * scores, dim=-1) for a in w) / len(w)
    return sum(mu) * weights @ z[..., -1:]

# %% gradient_step_estimator wrong (misconception divided-by-d): divides by the number of entries of x and not by the number of examples
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = x.mT @ y / x.shape[-1]
    return z_q[..., :-1] @ beta

# %% kernel_estimator right (passed): the question's 0 makes the y of the examples drop out of the scores
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    w, mu = torch.tensor(w), torch.tensor(mu)
    scores = torch.einsum("nqd,nld,h->nhql", z_q, z, w)
    return torch.einsum("nhql,nl,h->nq", scores.softmax(-1), z[..., -1], mu).unsqueeze(-1)

# %% gradient_step_estimator right (passed): autograd takes the step
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = torch.zeros(len(z), x.shape[-1], 1, requires_grad=True)
    loss = ((x @ beta - y) ** 2).mean(dim=1).sum() / 2
    (grad,) = torch.autograd.grad(loss, beta)
    return z_q[..., :-1] @ (beta - grad)
