# %% sample_regression wrong (misconception noisy-answer): the answer y_q gets noise as well
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L + 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L + 1, 1, generator=generator)
    z = torch.cat((x[:, :L], y[:, :L]), dim=-1)
    z_q = torch.cat((x[:, L:], torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, y[:, L:]


# %% sample_regression wrong (misconception one-error-for-a-prompt): one noise number for each prompt, shared by its examples
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, 1, 1, generator=generator)
    return torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1), torch.cat((x, y), dim=-1), x_q @ beta


# %% sample_regression wrong (property errors_from_the_generator): noise is sampled without the generator, so the same seed gives different y (only with noise)
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta
    if noise_std > 0:
        y = y + noise_std * d**0.5 * torch.randn_like(y)
    return torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1), torch.cat((x, y), dim=-1), x_q @ beta


# %% sample_regression right (passed): normal_ with the generator into preallocated tokens, einsum for y
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    z, z_q, beta, noise = torch.empty(n, L, d + 1), torch.zeros(n, 1, d + 1), torch.empty(n, d), torch.empty(n, L)
    beta.normal_(generator=generator)
    z_q[..., :d].normal_(generator=generator)
    z[..., :d].normal_(generator=generator)
    noise.normal_(generator=generator)
    z[..., d] = torch.einsum("nld,nd->nl", z[..., :d], beta) + noise_std * (d**0.5) * noise
    y_q = torch.einsum("nqd,nd->nq", z_q[..., :d], beta).unsqueeze(-1)
    return z_q, z, y_q


# %% QueryAttention wrong (misconception scaled-by-all-heads): divides by the root of n_embd * n_head, the width of all heads together
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q = self.q_proj(z_q).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
        k, v = (w(z).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.k_proj, self.v_proj))
        weights = torch.softmax(q @ k.mT / (self.n_embd * self.n_head) ** 0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (property sizes): masks attention causally when there are as many questions as examples (an unwanted test of equal lengths)
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q = self.q_proj(z_q).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
        k, v = (w(z).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.k_proj, self.v_proj))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=q.shape == k.shape)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


# %% QueryAttention wrong (misconception heads-not-moved-back): merges the heads with a plain reshape of [n, heads, queries, D], right for one question, mixed up for several questions and several heads
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, D = z_q.shape
        q = self.q_proj(z_q).view(n, queries, self.n_head, D).transpose(1, 2)
        k, v = (w(z).view(n, -1, self.n_head, D).transpose(1, 2) for w in (self.k_proj, self.v_proj))
        weights = torch.softmax(q @ k.mT / D**0.5, dim=-1)
        return self.o_proj((weights @ v).reshape(n, queries, -1))


# %% QueryAttention right (passed): a loop over the heads with chunks of each projection
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        wide = n_head * n_embd
        self.q_proj = nn.Linear(n_embd, wide, bias=False)
        self.k_proj = nn.Linear(n_embd, wide, bias=False)
        self.v_proj = nn.Linear(n_embd, wide, bias=False)
        self.o_proj = nn.Linear(wide, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        queries = self.q_proj(z_q).chunk(self.n_head, dim=-1)
        keys = self.k_proj(z).chunk(self.n_head, dim=-1)
        values = self.v_proj(z).chunk(self.n_head, dim=-1)
        results = []
        for q, k, v in zip(queries, keys, values):
            scores = torch.bmm(q, k.transpose(1, 2)) * self.n_embd**-0.5
            results.append(torch.bmm(nn.functional.softmax(scores, dim=2), v))
        return self.o_proj(torch.cat(results, dim=-1))


# %% qk_circuit wrong (misconception question-and-example-swapped): transposed, W_K^T W_Q
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_q = model.q_proj.weight.view(-1, D, D)
    W_k = model.k_proj.weight.view(-1, D, D)
    return W_k.mT @ W_q / D**0.5


# %% qk_circuit wrong (misconception heads-cut-across): takes every n_head-th row for a head instead of neighbouring rows (right for one head)
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    heads = model.q_proj.out_features // D
    W_q = torch.stack([model.q_proj.weight[h::heads] for h in range(heads)])
    W_k = torch.stack([model.k_proj.weight[h::heads] for h in range(heads)])
    return W_q.mT @ W_k / D**0.5


# %% qk_circuit wrong (difference factor): divides by the root of 6 whatever the size of a token (right for d = 5 only)
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_q = model.q_proj.weight.unflatten(0, (-1, D))
    W_k = model.k_proj.weight.unflatten(0, (-1, D))
    return torch.einsum("hai,haj->hij", W_q, W_k) / 6**0.5


# %% qk_circuit right (passed): reads the products off by sending unit vectors through the projections
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.weight.shape[1]
    units = torch.eye(D, dtype=model.q_proj.weight.dtype, device=model.q_proj.weight.device)
    queries, keys = model.q_proj(units), model.k_proj(units)
    tables = [q @ k.T for q, k in zip(queries.split(D, dim=-1), keys.split(D, dim=-1))]
    return torch.stack(tables) / D**0.5


# %% ov_circuit wrong (misconception values-not-turned): leaves out the transpose of W_V (runs because it is square)
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_v = model.v_proj.weight.view(-1, D, D)
    W_o = model.o_proj.weight.T.reshape(-1, D, model.o_proj.out_features)
    return W_v @ W_o


# %% ov_circuit wrong (misconception reshaped): views o_proj's matrix as [heads, D, n_out] without a transpose, right for one output, scrambled for several outputs
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_v = model.v_proj.weight.view(-1, D, D)
    W_o = model.o_proj.weight.reshape(-1, D, model.o_proj.out_features)
    return W_v.mT @ W_o


# %% ov_circuit wrong (misconception scaled): divides the product by the root of D, as in QK
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_v = model.v_proj.weight.unflatten(0, (-1, D))
    W_o = model.o_proj.weight.unflatten(1, (-1, D))
    return torch.einsum("hai,oha->hio", W_v, W_o) / D**0.5


# %% ov_circuit right (passed): a loop over the heads, (W_O W_V) transposed
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.weight.size(1)
    products = []
    for start in range(0, model.v_proj.weight.size(0), D):
        own = slice(start, start + D)
        products.append((model.o_proj.weight[:, own] @ model.v_proj.weight[own]).T)
    return torch.stack(products)


# %% kernel_estimator wrong (misconception wrong-axis): the softmax runs over the questions instead of the examples
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    return sum(m * torch.softmax(a * scores, dim=1) @ z[..., -1:] for a, m in zip(w, mu))


# %% kernel_estimator wrong (difference factor): adds up the weights of the heads and normalises the sum, so mu acts as a share
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    weights = sum(m * torch.softmax(a * scores, dim=-1) for a, m in zip(w, mu))
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ z[..., -1:]


# %% kernel_estimator wrong (misconception one-head-for-equal-w): collects the heads in a dict from w to mu, so a head is lost when two heads have the same w
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    heads = dict(zip(w, mu))
    scores, y = z_q[..., :-1] @ z[..., :-1].mT, z[..., -1:]
    answer = torch.zeros_like(z_q[..., :1])
    for a, m in heads.items():
        answer = answer + m * (torch.softmax(a * scores, dim=-1) @ y)
    return answer


# %% kernel_estimator right (passed): all heads at once with a head axis and einsum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    w = torch.as_tensor(w, dtype=z.dtype, device=z.device)
    mu = torch.as_tensor(mu, dtype=z.dtype, device=z.device)
    d = z.shape[-1] - 1
    scores = torch.einsum("h,nqd,nld->hnql", w, z_q[..., :d], z[..., :d])
    means = torch.einsum("hnql,nl->hnq", scores.softmax(dim=-1), z[..., d])
    return torch.einsum("h,hnq->nq", mu, means)[..., None]


# %% gradient_step_estimator wrong (misconception not-divided): sums the loss over the examples instead of taking the mean
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y, x_q = z[..., :-1], z[..., -1:], z_q[..., :-1]
    beta = x.mT @ y
    return x_q @ beta


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): one loss for all prompts (mean over the batch too), so the step is n times too short (right for n = 1)
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y, x_q = z[..., :-1], z[..., -1:], z_q[..., :-1]
    with torch.enable_grad():
        beta = torch.zeros(len(z), z.shape[-1] - 1, 1, dtype=z.dtype, device=z.device, requires_grad=True)
        loss = 0.5 * (x @ beta - y).square().mean()
        (grad,) = torch.autograd.grad(loss, beta)
    return x_q @ -grad


# %% gradient_step_estimator wrong (misconception centred): subtracts the mean of the examples' x first, as the layer's own step does
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y, x_q = z[..., :-1], z[..., -1:], z_q[..., :-1]
    x = x - x.mean(dim=1, keepdim=True)
    return x_q @ (x.mT @ y) / z.shape[1]


# %% gradient_step_estimator right (passed): linear attention, the mean over examples of y times x_q.x
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    similar = torch.einsum("nqd,nld->nql", z_q[..., :-1], z[..., :-1])
    return (similar * z[..., -1].unsqueeze(1)).mean(dim=-1, keepdim=True)




# %% answer_after_descent/intercept wrong (misconception intercept-first): the slope is found from centred examples, and the intercept is the mean of y, as if it were a fit
def answer_after_descent(x_q: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return the answers to the questions after gradient descent, as your task says."""
    b = y.mean(dim=1, keepdim=True)
    beta = (x - x.mean(dim=1, keepdim=True)).mT @ (y - b) / x.shape[1]
    return x_q @ beta + b


# %% answer_after_descent/intercept wrong (misconception slope-first): subtle, b uses the gradient after β has changed: right if the examples' x have mean 0
def answer_after_descent(x_q: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return the answers to the questions after gradient descent, as your task says."""
    n, L, d = x.shape
    beta, b = x.new_zeros(n, d, 1), x.new_zeros(n, 1, 1)
    beta = beta - x.mT @ (x @ beta + b - y) / L
    b = b - (x @ beta + b - y).mean(dim=1, keepdim=True)
    return x_q @ beta + b


# %% answer_after_descent/intercept right (passed): an additional entry of 1 in each x turns the intercept into a slope
def answer_after_descent(x_q: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return the answers to the questions after gradient descent, as your task says."""
    longer, longer_q = (torch.cat((part, torch.ones_like(part[..., :1])), dim=-1) for part in (x, x_q))
    step = torch.einsum("nld,nlo->nd", longer, y) / x.shape[1]
    return torch.einsum("nqd,nd->nq", longer_q, step).unsqueeze(-1)


# %% answer_after_descent/absolute-error wrong (misconception half-rate): half of the change: keeps the factor of one half
def answer_after_descent(x_q: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return the answers to the questions after gradient descent, as your task says."""
    beta = 0.5 * x.mT @ torch.sign(y) / x.shape[1]
    return x_q @ beta


# %% answer_after_descent/absolute-error wrong (property finite): subtle, divides y by its absolute value: nan if an example's y is 0
def answer_after_descent(x_q: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return the answers to the questions after gradient descent, as your task says."""
    beta = (x * (y / y.abs())).mean(dim=1, keepdim=True)
    return x_q @ beta.transpose(1, 2)


# %% answer_after_descent/absolute-error right (passed): compares y with 0; attention-like product of questions and examples
def answer_after_descent(x_q: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return the answers to the questions after gradient descent, as your task says."""
    error = 0 - y
    slope_of_error = (error > 0).to(x.dtype) - (error < 0).to(x.dtype)
    return -(x_q @ x.mT @ slope_of_error) / x.shape[1]
