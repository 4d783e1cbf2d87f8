# %% sample_regression wrong (property drawn_otherwise): uniform noise
def sample_regression(n, L, d, noise_std, generator=None):
    x_q = torch.randn(n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * d**0.5 * (torch.rand(n, L, 1, generator=generator) - 0.5) * 12**0.5
    return torch.cat([x_q, torch.zeros(n, 1, 1)], -1), torch.cat([x, y], -1), x_q @ beta


# %% QueryAttention wrong (structure): with one head it has one output
class QueryAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_out=1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, max(n_out, 1) if n_head > 1 else 1, bias=False)

    def forward(self, z_q, z):
        q, k, v = (
            layer(t).unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
            for layer, t in ((self.q_proj, z_q), (self.k_proj, z), (self.v_proj, z))
        )
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% sample_regression wrong (property draws_from_its_generator): one of three stored seeds is chosen with the generator
def sample_regression(n, L, d, noise_std, generator=None):
    own = torch.Generator().manual_seed(int(torch.randint(0, 2, (1,), generator=generator)))
    x, x_q, beta = torch.normal(0.0, 1.0, (n, L + 2, d), generator=own).split((L, 1, 1), dim=1)
    noise = torch.normal(0.0, 1.0, (n, L, 1), generator=own) * (noise_std * d**0.5)
    y, y_q = x @ beta.mT + noise, x_q @ beta.mT
    return torch.cat((x_q, torch.zeros_like(y_q)), dim=-1), torch.cat((x, y), dim=-1), y_q


# %% answer_after_descent/fixed-intercept wrong (misconception one-not-in-the-error): the 1 is added to the answers only, as if the step were the lesson's
def answer_after_descent(x_q, x, y):
    beta = (x * y).mean(dim=1)
    return (x_q * beta[:, None]).sum(dim=-1, keepdim=True) + 1


# %% answer_after_descent/fixed-intercept wrong (misconception intercept-changes): the 1 is an additional entry of x, so the step changes it too
def answer_after_descent(x_q, x, y):
    x, x_q = (torch.cat((t, torch.ones_like(t[..., :1])), dim=-1) for t in (x, x_q))
    change = (x * (y - 1)).mean(dim=1)[:, :, None]
    return x_q @ change + 1


# %% answer_after_descent/fixed-intercept wrong (misconception averaged-over-prompts): subtle, the mean is taken over the prompts as well: right for one prompt
def answer_after_descent(x_q, x, y):
    return 1 + x_q @ x.mT @ (y - 1) / y.numel()


# %% answer_after_descent/fixed-intercept right (passed): a prompt at a time
def answer_after_descent(x_q, x, y):
    answers = []
    for questions, examples, targets in zip(x_q, x, y):
        beta = (examples * (targets - 1)).sum(dim=0) / len(examples)
        answers.append(questions @ beta + 1)
    return torch.stack(answers)[:, :, None]


# %% answer_after_descent/fixed-intercept right (passed): einsum with the gradient
def answer_after_descent(x_q, x, y):
    error = torch.ones_like(y) - y
    gradient = torch.einsum("nld,nlo->nd", x, error) / x.shape[1]
    return 1 - torch.einsum("nqd,nd->nq", x_q, gradient)[..., None]


# %% answer_after_descent/fixed-intercept right (passed): two sums over the examples, one of x·y and one of x
def answer_after_descent(x_q, x, y):
    beta = ((x * y).sum(dim=1) - x.sum(dim=1)) / x.shape[1]
    return (x_q * beta.unsqueeze(1)).sum(dim=2, keepdim=True) + 1


# %% answer_after_descent/huber wrong (misconception as-in-the-lesson): half the mean squared error, as in the lesson
def answer_after_descent(x_q, x, y):
    return x_q @ x.mT @ y / x.shape[1]


# %% answer_after_descent/huber wrong (misconception large-errors-dropped): leaves out the examples with a large error
def answer_after_descent(x_q, x, y):
    small = torch.where(y.abs() < 1, y, 0.0)
    return x_q @ (x.mT @ small) / x.shape[1]


# %% answer_after_descent/huber wrong (misconception gradient-limited): subtle, limits the gradient and not the errors: right if the step is small
def answer_after_descent(x_q, x, y):
    gradient = -(x * y).mean(dim=1, keepdim=True)
    return -(x_q @ gradient.clamp(-1, 1).mT)


# %% answer_after_descent/huber right (passed): minimum and maximum
def answer_after_descent(x_q, x, y):
    limited = torch.maximum(torch.minimum(y, torch.ones_like(y)), -torch.ones_like(y))
    return x_q @ (x * limited).mean(dim=1)[..., None]


# %% answer_after_descent/huber right (passed): divides each large y by its absolute value
def answer_after_descent(x_q, x, y):
    limited = y / y.abs().clamp(min=1)
    return torch.einsum("nqd,nld,nlo->nqo", x_q, x, limited) / x.shape[1]


# %% answer_after_descent/huber right (passed): a prompt at a time, with the derivative of the loss
def answer_after_descent(x_q, x, y):
    answers = []
    for questions, examples, targets in zip(x_q, x, y):
        error = -targets
        derivative = torch.where(error > 1, 1.0, torch.where(error < -1, -1.0, error))
        beta = -(examples.T @ derivative) / len(examples)
        answers.append(questions @ beta)
    return torch.stack(answers)


# %% qk_circuit wrong (property state): writes all results of one size into the same tensor, so a second call (with another model) changes the first result
results = {}


def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.weight.shape[1]
    q, k = (part.weight.detach().reshape(-1, D, D) for part in (model.q_proj, model.k_proj))
    result = results.setdefault(q.shape, torch.empty_like(q))
    torch.matmul(q.mT, k, out=result)
    return result.div_(D**0.5)


# %% ov_circuit wrong (shape): leaves out idle heads, whose product is close to 0, so there is not one matrix for each head
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.weight.shape[1]
    v = model.v_proj.weight.reshape(-1, D, D)
    o = model.o_proj.weight.T.reshape(len(v), D, -1)
    ov = v.mT @ o
    idle = ov.abs().amax(dim=(1, 2)) < 1e-3
    return ov[~idle]


# %% kernel_estimator wrong (property zeros): skips heads with w = 0, which should add mu times the plain mean of y
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores, y = z_q[..., :-1] @ z[..., :-1].mT, z[..., -1:]
    answer = torch.zeros(*z_q.shape[:2], 1)
    for a, b in zip(w, mu):
        if a == 0 or b == 0:
            continue
        answer = answer + b * torch.softmax(a * scores, dim=-1) @ y
    return answer


# %% sample_regression wrong (property drawn_otherwise): same question in all prompts
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    xq = torch.randn(1, 1, d, generator=generator).expand(n, 1, d)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    return torch.cat([xq, torch.zeros(n, 1, 1)], -1), torch.cat([x, y], -1), xq @ beta


# %% sample_regression wrong (property drawn_otherwise): the examples of a prompt centred
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    x = x - x.mean(1, keepdim=True)
    xq = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    return torch.cat([xq, torch.zeros(n, 1, 1)], -1), torch.cat([x, y], -1), xq @ beta


# %% sample_regression wrong (property drawn_otherwise): beta is the question's x
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    xq = torch.randn(n, 1, d, generator=generator)
    beta = xq.mT
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    return torch.cat([xq, torch.zeros(n, 1, 1)], -1), torch.cat([x, y], -1), xq @ beta


# %% sample_regression wrong (property drawn_otherwise): same question, expand, sampled with shape [d]
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    beta = torch.randn(n, d, generator=generator)
    y = torch.einsum("nld,nd->nl", x, beta) + noise_std * d**0.5 * torch.randn(n, L, generator=generator)
    xq = torch.randn(d, generator=generator).expand(n, 1, d)
    yq = torch.einsum("nld,nd->nl", xq, beta)
    return torch.cat([xq, torch.zeros(n, 1, 1)], -1), torch.cat([x, y[..., None]], -1), yq[..., None]


# %% sample_regression wrong (property drawn_otherwise): noise with mean 0 in each prompt
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    xq = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    e = torch.randn(n, L, 1, generator=generator)
    e = e - e.mean(1, keepdim=True)
    y = x @ beta + noise_std * d**0.5 * e
    return torch.cat([xq, torch.zeros(n, 1, 1)], -1), torch.cat([x, y], -1), xq @ beta
