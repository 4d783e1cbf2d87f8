# %% sample_regression wrong (misconception one-beta-for-all): one beta for all prompts
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.randn(d, 1, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, torch.cat([x, y], dim=-1), x_q @ beta


# %% sample_regression wrong (misconception noise-not-scaled): the noise is not multiplied by the root of d
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.randn(n, d, 1, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    y = x @ beta + noise_std * torch.randn(n, L, 1, generator=generator)
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, torch.cat([x, y], dim=-1), x_q @ beta


# %% sample_regression wrong (property errors_from_the_generator): (subtle) the noise is sampled without the generator, so the same seed gives other y if noise_std > 0
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.randn(n, d, 1, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    clean = x @ beta
    y = clean + noise_std * d**0.5 * torch.randn_like(clean)
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, torch.cat([x, y], dim=-1), x_q @ beta


# %% sample_regression wrong (property draws_from_its_generator): (subtle) without a generator it makes one with a fixed seed, so each call gives the same prompts
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    if generator is None:
        generator = torch.Generator().manual_seed(0)
    beta = torch.randn(n, d, 1, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, torch.cat([x, y], dim=-1), x_q @ beta


# %% sample_regression right (passed): matrix products and cat
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.randn(n, d, 1, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, torch.cat([x, x @ beta + noise], dim=-1), x_q @ beta


# %% sample_regression right (passed): samples all x at once, torch.normal, and writes into zeros
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    tokens = torch.zeros(n, L + 1, d + 1)
    tokens[..., :d] = torch.normal(0.0, 1.0, (n, L + 1, d), generator=generator)
    slopes = torch.normal(0.0, 1.0, (n, 1, d), generator=generator)
    y = (tokens[..., :d] * slopes).sum(dim=-1)
    noise = torch.normal(0.0, 1.0, (n, L), generator=generator)
    tokens[:, 1:, d] = y[:, 1:] + noise * (noise_std * d**0.5)
    return tokens[:, :1], tokens[:, 1:], y[:, :1, None]


# %% QueryAttention wrong (difference milestone): divides by the root of n_embd // n_head, as if the heads shared n_embd
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
        k = self.k_proj(z).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
        v = self.v_proj(z).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / (self.n_embd // self.n_head) ** 0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (misconception softmax-over-questions): softmax over the questions instead of over the examples
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
        k = self.k_proj(z).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
        v = self.v_proj(z).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=2)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (difference milestone): (subtle) a plain view cuts the queries and merges the results, right only for one question
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
        q = self.q_proj(z_q).reshape(n, self.n_head, queries, D)
        k = self.k_proj(z).reshape(n, -1, self.n_head, D).transpose(1, 2)
        v = self.v_proj(z).reshape(n, -1, self.n_head, D).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).reshape(n, queries, self.n_head * D))


# %% QueryAttention wrong (property finite_when_scaled): (subtle) softmax by hand without subtracting the maximum: large scores overflow to nan
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
        k = self.k_proj(z).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
        v = self.v_proj(z).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
        powers = torch.exp(q @ k.mT / self.n_embd**0.5)
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention right (passed): scaled_dot_product_attention on split heads
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        def heads(t):
            return t.unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)

        mixed = nn.functional.scaled_dot_product_attention(
            heads(self.q_proj(z_q)), heads(self.k_proj(z)), heads(self.v_proj(z))
        )
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


# %% QueryAttention right (passed): a loop over heads with slices, summing each head's part of o_proj
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(n_embd, n_head * n_embd, bias=False))
        self.o_proj = nn.Linear(n_head * n_embd, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        queries, keys, values = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        results = []
        for h in range(self.n_head):
            part = slice(h * self.n_embd, (h + 1) * self.n_embd)
            scores = torch.einsum("nqd,nld->nql", queries[..., part], keys[..., part]) / self.n_embd**0.5
            results.append(torch.einsum("nql,nld->nqd", scores.softmax(dim=-1), values[..., part]))
        return self.o_proj(torch.cat(results, dim=-1))


# %% qk_circuit wrong (misconception question-and-example-swapped): key matrix on the left, which gives the transpose
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q, W_K = model.q_proj.weight.view(-1, D, D), model.k_proj.weight.view(-1, D, D)
    return W_K.mT @ W_Q / D**0.5


# %% qk_circuit wrong (misconception not-scaled): forgets the division by the root of D
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q, W_K = model.q_proj.weight.view(-1, D, D), model.k_proj.weight.view(-1, D, D)
    return W_Q.mT @ W_K


# %% qk_circuit wrong (property leaves_its_inputs): (subtle) divides the model's own weights in place, so the model changes and the second call differs
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q, W_K = model.q_proj.weight.data.view(-1, D, D), model.k_proj.weight.data.view(-1, D, D)
    W_Q /= D**0.5
    return W_Q.mT @ W_K


# %% qk_circuit wrong (difference factor): (subtle) the root of 6 is written as a number, right only for tokens of six numbers
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    W_Q = model.q_proj.weight.unflatten(0, (model.n_head, -1))
    W_K = model.k_proj.weight.unflatten(0, (model.n_head, -1))
    return W_Q.mT @ W_K / 6**0.5


# %% qk_circuit right (passed): view into heads and a batched product
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q, W_K = model.q_proj.weight.reshape(-1, D, D), model.k_proj.weight.reshape(-1, D, D)
    return W_Q.mT @ W_K / D**0.5


# %% qk_circuit right (passed): a loop over pairs of row blocks, einsum
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.weight.shape[1]
    blocks = zip(model.q_proj.weight.split(D), model.k_proj.weight.split(D))
    return torch.stack([torch.einsum("oi,oj->ij", q, k) / D**0.5 for q, k in blocks])


# %% ov_circuit wrong (misconception values-not-turned): does not transpose the value matrix
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_V = model.v_proj.weight.reshape(-1, D, D)
    W_O = model.o_proj.weight.unflatten(1, (-1, D)).transpose(0, 1)
    return W_V @ W_O.mT


# %% ov_circuit wrong (misconception heads-cut-across): takes every n_head-th column of o_proj instead of D neighbouring columns
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D, heads = model.n_embd, model.n_head
    V = model.v_proj.weight
    O = model.o_proj.weight
    return torch.stack([V[h * D:(h + 1) * D].T @ O[:, h::heads].T for h in range(heads)])


# %% ov_circuit wrong (misconception reshaped): (subtle) cuts o_proj.weight with a plain reshape to [heads, D, n_out], right only for n_out = 1
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_V = model.v_proj.weight.reshape(-1, D, D)
    W_O = model.o_proj.weight.reshape(-1, D, model.o_proj.out_features)
    return W_V.mT @ W_O


# %% ov_circuit wrong (shape): (subtle) chunks into two heads always, right only for n_head = 2
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    V = model.v_proj.weight.chunk(2, dim=0)
    O = model.o_proj.weight.chunk(2, dim=1)
    return torch.stack([v.T @ o.T for v, o in zip(V, O)])


# %% ov_circuit right (passed): the transposed o_proj cut into blocks of D rows
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_V = model.v_proj.weight.reshape(-1, D, D)
    W_O = model.o_proj.weight.T.reshape(-1, D, model.o_proj.out_features)
    return W_V.mT @ W_O


# %% ov_circuit right (passed): one einsum over heads
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.weight.shape[1]
    V = model.v_proj.weight.unflatten(0, (-1, D))
    O = model.o_proj.weight.unflatten(1, (-1, D))
    return torch.einsum("hvi,ohv->hio", V, O)


# %% kernel_estimator wrong (misconception wrong-axis): softmax over the questions instead of over the examples
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    return sum(m * torch.softmax(a * scores, dim=1) @ z[..., -1:] for a, m in zip(w, mu))


# %% kernel_estimator wrong (misconception scaled-again): divides the scores by the root of D once more
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT / z.shape[-1] ** 0.5
    return sum(m * torch.softmax(a * scores, dim=-1) @ z[..., -1:] for a, m in zip(w, mu))


# %% kernel_estimator wrong (shape): (subtle) x is always the first five entries and y entry 5, right only for D = 6
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :5] @ z[..., :5].mT
    return sum(m * torch.softmax(a * scores, dim=-1) @ z[..., 5:6] for a, m in zip(w, mu))


# %% kernel_estimator wrong (property leaves_its_inputs): (subtle) empties the caller's lists w and mu, so a second call with the same lists gives 0
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores, y = z_q[..., :-1] @ z[..., :-1].mT, z[..., -1:]
    answer = 0 * z_q[..., -1:]
    while w:
        answer = answer + mu.pop() * torch.softmax(w.pop() * scores, dim=-1) @ y
    return answer


# %% kernel_estimator right (passed): a sum over heads of softmax times y
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    answer = torch.zeros_like(z_q[..., -1:])
    for a, m in zip(w, mu):
        answer = answer + m * torch.softmax(a * scores, dim=-1) @ z[..., -1:]
    return answer


# %% kernel_estimator right (passed): all heads at once with einsum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    d = z.shape[-1] - 1
    widths = torch.as_tensor(w, dtype=z.dtype, device=z.device)
    heights = torch.as_tensor(mu, dtype=z.dtype, device=z.device)
    scores = torch.einsum("nqd,nld->nql", z_q[..., :d], z[..., :d])
    weights = (widths[:, None, None, None] * scores).softmax(dim=-1)
    return torch.einsum("h,hnql,nl->nq", heights, weights, z[..., d]).unsqueeze(-1)


# %% gradient_step_estimator wrong (misconception factor-two): forgets the half in the loss, so the step is twice as long
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = 2 * (x * y).mean(dim=1)
    return z_q[..., :-1] @ beta[..., None]


# %% gradient_step_estimator wrong (misconception centred): subtracts the mean of the examples' x, as a pair of heads does, but the plain step does not
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    x = x - x.mean(dim=1, keepdim=True)
    beta = (x * y).mean(dim=1)
    return z_q[..., :-1] @ beta[..., None]


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): (subtle) the loss is also averaged over the prompts, so the step is n times too short if n > 1
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    with torch.enable_grad():
        beta = torch.zeros(z.shape[0], z.shape[2] - 1, 1, dtype=z.dtype, device=z.device, requires_grad=True)
        loss = 0.5 * (x @ beta - y).square().mean()
        (gradient,) = torch.autograd.grad(loss, beta)
    return z_q[..., :-1] @ (beta - gradient).detach()


# %% gradient_step_estimator wrong (misconception divided-by-40): (subtle) divides by 40 instead of by the number of examples, right only for L = 40
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    return scores @ z[..., -1:] / 40


# %% gradient_step_estimator right (passed): beta is the mean of y times x
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = (x * y).mean(dim=1)
    return z_q[..., :-1] @ beta[..., None]


# %% gradient_step_estimator right (passed): einsum, scores first, then the mean over the examples
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    d = z.shape[-1] - 1
    scores = torch.einsum("nqd,nld->nql", z_q[..., :d], z[..., :d])
    return (scores * z[..., d].unsqueeze(1)).mean(dim=-1, keepdim=True)
