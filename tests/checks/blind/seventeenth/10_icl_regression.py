# %% sample_regression wrong (misconception one-beta-for-all): one beta for all prompts
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z = torch.cat((x, x @ beta + noise), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression wrong (misconception noise-not-scaled): the noise is not multiplied by the root of d
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * torch.randn(n, L, 1, generator=generator)
    z = torch.cat((x, x @ beta + noise), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression wrong (misconception one-error-for-a-prompt): subtle, all examples of a prompt get the same noise; it shows when noise_std is above 0 and L above 1
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, 1, 1, generator=generator)
    z = torch.cat((x, x @ beta + noise), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression wrong (property errors_from_the_generator): subtle, the noise is sampled without the generator; it shows when two calls with the same seed and with noise are compared
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta
    y = y + noise_std * d**0.5 * torch.randn_like(y)
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression wrong (property drawn_otherwise): subtle, beta is uniform with mean 0 and variance 1, not normal; it shows in the distribution: no slope is above 1.74
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = (torch.rand(n, d, 1, generator=generator) - 0.5) * 12**0.5
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z = torch.cat((x, x @ beta + noise), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression right (passed): randn and matrix products
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z = torch.cat((x, x @ beta + noise), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression right (passed): beta first, one call for all x, einsum, zeros filled in afterwards
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.empty(n, d).normal_(generator=generator)
    points = torch.empty(n, L + 1, d).normal_(generator=generator)
    values = torch.einsum("nld,nd->nl", points, beta)
    tokens = torch.zeros(n, L + 1, d + 1)
    tokens[:, :, :d] = points
    noise = torch.randn(n, L, generator=generator) * (noise_std * torch.tensor(float(d)).sqrt().item())
    tokens[:, :L, d] = values[:, :L] + noise
    return tokens[:, L:], tokens[:, :L], values[:, L:].unsqueeze(-1)


# %% QueryAttention wrong (raised): the heads share n_embd entries, as in lesson 05, instead of n_embd entries for each head
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.o_proj = nn.Linear(n_embd, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        shape = (self.n_head, self.n_embd // self.n_head)
        q = self.q_proj(z_q).unflatten(-1, shape).transpose(1, 2)
        k = self.k_proj(z).unflatten(-1, shape).transpose(1, 2)
        v = self.v_proj(z).unflatten(-1, shape).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (misconception softmax-over-questions): the softmax runs over the questions instead of the examples
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        shape = (self.n_head, self.n_embd)
        q = self.q_proj(z_q).unflatten(-1, shape).transpose(1, 2)
        k = self.k_proj(z).unflatten(-1, shape).transpose(1, 2)
        v = self.v_proj(z).unflatten(-1, shape).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-2)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (difference milestone): subtle, the queries are split by a view without a transpose; it shows with several questions
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        q = self.q_proj(z_q).view(n, self.n_head, queries, self.n_embd)
        k = self.k_proj(z).unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
        v = self.v_proj(z).unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (property finite_when_scaled): subtle, scores are clamped to -80 ... 80 so that exp does not overflow; it shows when a score is outside
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        shape = (self.n_head, self.n_embd)
        q = self.q_proj(z_q).unflatten(-1, shape).transpose(1, 2)
        k = self.k_proj(z).unflatten(-1, shape).transpose(1, 2)
        v = self.v_proj(z).unflatten(-1, shape).transpose(1, 2)
        powers = torch.exp((q @ k.mT / self.n_embd**0.5).clamp(-80, 80))
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (structure): subtle, o_proj always has one output; it shows when n_out is not 1
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, 1, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        shape = (self.n_head, self.n_embd)
        q = self.q_proj(z_q).unflatten(-1, shape).transpose(1, 2)
        k = self.k_proj(z).unflatten(-1, shape).transpose(1, 2)
        v = self.v_proj(z).unflatten(-1, shape).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention right (passed): scaled_dot_product_attention of torch
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q, k, v = (
            part.unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
            for part in (self.q_proj(z_q), self.k_proj(z), self.v_proj(z))
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


# %% QueryAttention right (passed): one head after another, einsum, each head's columns of o_proj added up
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q = self.q_proj(z_q).split(self.n_embd, dim=-1)
        k = self.k_proj(z).split(self.n_embd, dim=-1)
        v = self.v_proj(z).split(self.n_embd, dim=-1)
        o = self.o_proj.weight.split(self.n_embd, dim=1)
        answer = 0
        for h in range(self.n_head):
            scores = torch.einsum("nqd,nld->nql", q[h] / self.n_embd**0.5, k[h])
            weights = nn.functional.softmax(scores, dim=2)
            answer = answer + torch.einsum("nql,nld,od->nqo", weights, v[h], o[h])
        return answer


# %% qk_circuit wrong (misconception not-scaled): not divided by the root of D
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    W_Q = model.q_proj.weight.view(model.n_head, model.n_embd, model.n_embd)
    W_K = model.k_proj.weight.view(model.n_head, model.n_embd, model.n_embd)
    return W_Q.mT @ W_K


# %% qk_circuit wrong (misconception wrong-side): W_Q W_K^T, the transpose is at the wrong matrix
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    W_Q = model.q_proj.weight.view(model.n_head, model.n_embd, model.n_embd)
    W_K = model.k_proj.weight.view(model.n_head, model.n_embd, model.n_embd)
    return W_Q @ W_K.mT / model.n_embd**0.5


# %% qk_circuit wrong (misconception question-and-example-swapped): subtle, W_K^T W_Q, so each matrix is transposed; it shows when the product is not symmetric
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    W_Q = model.q_proj.weight.view(model.n_head, model.n_embd, model.n_embd)
    W_K = model.k_proj.weight.view(model.n_head, model.n_embd, model.n_embd)
    return W_K.mT @ W_Q / model.n_embd**0.5


# %% qk_circuit wrong (difference factor): subtle, always divides by the root of 6; it shows when D is not 6
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    W_Q = model.q_proj.weight.unflatten(0, (model.n_head, model.n_embd))
    W_K = model.k_proj.weight.unflatten(0, (model.n_head, model.n_embd))
    return W_Q.mT @ W_K / 6**0.5


# %% qk_circuit wrong (shape): subtle, always cuts the rows into two heads; it shows when n_head is not 2
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    W_Q = torch.stack(model.q_proj.weight.chunk(2, dim=0))
    W_K = torch.stack(model.k_proj.weight.chunk(2, dim=0))
    return W_Q.transpose(1, 2) @ W_K / model.n_embd**0.5


# %% qk_circuit right (passed): einsum over the outputs of each head
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    W_Q = model.q_proj.weight.unflatten(0, (model.n_head, -1))
    W_K = model.k_proj.weight.unflatten(0, (model.n_head, -1))
    return torch.einsum("hoi,hoj->hij", W_Q, W_K) / model.n_embd**0.5


# %% qk_circuit right (passed): sends the unit vectors through both layers and multiplies the results of each head
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.weight.shape[1]
    unit = torch.eye(D, dtype=model.q_proj.weight.dtype, device=model.q_proj.weight.device)
    queries = model.q_proj(unit).split(D, dim=1)
    keys = model.k_proj(unit).split(D, dim=1)
    return torch.stack([q @ k.T for q, k in zip(queries, keys)]) * D**-0.5


# %% ov_circuit wrong (misconception values-not-turned): W_V is not transposed
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    W_V = model.v_proj.weight.view(model.n_head, model.n_embd, model.n_embd)
    W_O = model.o_proj.weight.unflatten(1, (model.n_head, model.n_embd))
    return W_V @ W_O.permute(1, 2, 0)


# %% ov_circuit wrong (misconception scaled): divides by the root of D, as in QK
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    W_V = model.v_proj.weight.view(model.n_head, model.n_embd, model.n_embd)
    W_O = model.o_proj.weight.unflatten(1, (model.n_head, model.n_embd))
    return W_V.mT @ W_O.permute(1, 2, 0) / model.n_embd**0.5


# %% ov_circuit wrong (misconception reshaped): subtle, o_proj's weight gets its shape by a view without a transpose; it shows when n_out is above 1
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    W_V = model.v_proj.weight.view(model.n_head, model.n_embd, model.n_embd)
    W_O = model.o_proj.weight.view(model.n_head, model.n_embd, -1)
    return W_V.mT @ W_O


# %% ov_circuit wrong (misconception heads-cut-across): subtle, head h gets every n_head-th column of o_proj; it shows when there is more than one head
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    H = model.n_head
    W_V = model.v_proj.weight.view(H, model.n_embd, model.n_embd)
    return torch.stack([W_V[h].T @ model.o_proj.weight[:, h::H].T for h in range(H)])


# %% ov_circuit wrong (shape): subtle, returns the products of the first two heads; it shows when n_head is not 2
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.n_embd
    products = []
    for h in range(2):
        rows = slice(h * D, (h + 1) * D)
        products.append(model.v_proj.weight[rows].T @ model.o_proj.weight[:, rows].T)
    return torch.stack(products)


# %% ov_circuit right (passed): einsum over the entries of a head
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    W_V = model.v_proj.weight.unflatten(0, (model.n_head, model.n_embd))
    W_O = model.o_proj.weight.unflatten(1, (model.n_head, model.n_embd))
    return torch.einsum("hkd,ohk->hdo", W_V, W_O)


# %% ov_circuit right (passed): sends the unit vectors through v_proj, keeps the entries of one head, and sends them through o_proj
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D, weight = model.n_embd, model.v_proj.weight
    values = model.v_proj(torch.eye(D, dtype=weight.dtype, device=weight.device))
    head_of = torch.arange(values.shape[1], device=weight.device) // D
    return torch.stack([model.o_proj(values * (head_of == h)) for h in range(model.n_head)])


# %% kernel_estimator wrong (difference milestone): divides the scores by the root of d again
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    d = z.shape[-1] - 1
    scores = z_q[..., :-1] @ z[..., :-1].mT / d**0.5
    y = z[..., -1:]
    return sum(m * torch.softmax(a * scores, dim=-1) @ y for a, m in zip(w, mu))


# %% kernel_estimator wrong (misconception averaged-heads): takes the mean over the heads instead of the sum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    y = z[..., -1:]
    heads = [m * (torch.softmax(a * scores, dim=-1) @ y) for a, m in zip(w, mu)]
    return torch.stack(heads).mean(dim=0)


# %% kernel_estimator wrong (raised): subtle, one score for each example by broadcasting the question; it shows when there are several questions
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = (z_q[..., :-1] * z[..., :-1]).sum(dim=-1)
    y = z[..., -1]
    answer = 0
    for a, m in zip(w, mu):
        answer = answer + m * (torch.softmax(a * scores, dim=-1) * y).sum(dim=-1)
    return answer[:, None, None]


# %% kernel_estimator wrong (shape): subtle, always takes five entries as x; it shows when d is not 5
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :5] @ z[..., :5].mT
    y = z[..., 5:6]
    answer = torch.zeros(*z_q.shape[:2], 1)
    for a, m in zip(w, mu):
        answer = answer + m * (torch.softmax(a * scores, dim=-1) @ y)
    return answer


# %% kernel_estimator wrong (misconception one-softmax-for-heads-and-examples): subtle, one softmax over the examples of all heads together; it shows when there is more than one head
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    L = z.shape[1]
    all_weights = torch.softmax(torch.cat([a * scores for a in w], dim=-1), dim=-1)
    y = z[..., -1:]
    return sum(m * weights @ y for m, weights in zip(mu, all_weights.split(L, dim=-1)))


# %% kernel_estimator right (passed): a sum over the heads, matrix products
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    y = z[..., -1:]
    answer = torch.zeros_like(z_q[..., :1])
    for a, m in zip(w, mu):
        answer = answer + m * (torch.softmax(a * scores, dim=-1) @ y)
    return answer


# %% kernel_estimator right (passed): all heads at once with einsum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x, y = z.split((z.shape[-1] - 1, 1), dim=-1)
    factors, sizes = z.new_tensor(w), z.new_tensor(mu)
    scores = torch.einsum("h,nqd,nld->nhql", factors, z_q[..., : x.shape[-1]], x)
    weights = nn.functional.softmax(scores, dim=3)
    return torch.einsum("h,nhql,nlo->nqo", sizes, weights, y)


# %% gradient_step_estimator wrong (misconception factor-two): forgets the half in the loss, so the step is twice as long
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    gradient = -2 * (x.mT @ y) / z.shape[1]
    beta = -gradient
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception centred): subtracts the mean of the examples' x, as the pair of heads does
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    x = x - x.mean(dim=1, keepdim=True)
    beta = x.mT @ y / z.shape[1]
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): subtle, the gradient of the mean loss over all prompts; it shows when there is more than one prompt
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    with torch.enable_grad():
        beta = torch.zeros(z.shape[0], x.shape[-1], 1, requires_grad=True)
        loss = 0.5 * (x @ beta - y).square().mean()
        (gradient,) = torch.autograd.grad(loss, beta)
    return z_q[..., :-1] @ -gradient


# %% gradient_step_estimator wrong (misconception divided-by-40): subtle, always divides by 40 examples; it shows when L is not 40
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = (x * y).sum(dim=1, keepdim=True) / 40
    return (z_q[..., :-1] * beta).sum(dim=-1, keepdim=True)


# %% gradient_step_estimator wrong (shape): subtle, answers only the first question of each prompt; it shows when there are several questions
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1]
    beta = (x * y[..., None]).mean(dim=1)
    return (beta * z_q[:, 0, :-1]).sum(dim=-1)[:, None, None]


# %% gradient_step_estimator right (passed): einsum in the form of a kernel, without beta
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1]
    similar = torch.einsum("nqd,nld->nql", z_q[..., :-1], x)
    return torch.einsum("nql,nl->nq", similar, y).unsqueeze(-1) / x.shape[1]


# %% gradient_step_estimator right (passed): autograd of the sum of the prompts' losses at beta = 0
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    with torch.enable_grad():
        beta = torch.zeros_like(x[:, 0]).requires_grad_()
        losses = 0.5 * (x @ beta.unsqueeze(-1) - y).square().mean(dim=(1, 2))
        (gradient,) = torch.autograd.grad(losses.sum(), beta, create_graph=True)
        after = beta - gradient
        answer = z_q[..., :-1] @ after.unsqueeze(-1)
    return answer if torch.is_grad_enabled() else answer.detach()


