# %% sample_regression wrong (misconception noise-not-scaled): forgets the root of d in the noise
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * torch.randn(n, L, 1, generator=generator)
    y = x @ beta + noise
    y_q = x_q @ beta
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (misconception one-beta-for-all): samples one beta and uses it in all prompts
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y = x @ beta + noise
    y_q = x_q @ beta
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (property errors_from_the_generator): subtle, the noise does not get the generator; shows when the same seed is used twice with noise
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1)
    y = x @ beta + noise
    y_q = x_q @ beta
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (misconception noisy-answer): subtle, adds noise to y_q as well; shows when noise_std is not 0
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y = x @ beta + noise
    y_q = x_q @ beta + noise_std * d**0.5 * torch.randn(n, 1, 1, generator=generator)
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (property draws_from_its_generator): subtle, without a generator it makes one with seed 0; shows when it is called twice: the prompts are the same
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    if generator is None:
        generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y = x @ beta + noise
    y_q = x_q @ beta
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, y_q


# %% sample_regression right (passed): randn for each part, matrix products with beta
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y = x @ beta + noise
    y_q = x_q @ beta
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, y_q


# %% sample_regression right (passed): torch.normal for all x of a prompt at once, einsum, writes y into a table of zeros
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    inputs = torch.normal(0.0, 1.0, size=(n, L + 1, d), generator=generator)
    beta = torch.normal(0.0, 1.0, size=(n, d), generator=generator)
    outputs = torch.einsum("nld,nd->nl", inputs, beta)
    y_q = outputs[:, :1, None].clone()
    table = torch.zeros(n, L + 1, d + 1)
    table[:, :, :d] = inputs
    errors = torch.empty(n, L).normal_(generator=generator) * (noise_std * d**0.5)
    table[:, 1:, d] = outputs[:, 1:] + errors
    return table[:, :1], table[:, 1:], y_q


# %% QueryAttention wrong (misconception sees-itself): keys and values also come from the question, so it attends to itself
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
        z = torch.cat((z, z_q), dim=1)
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(mixed)


# %% QueryAttention wrong (misconception scaled-by-all-heads): divides the scores by the root of the width of all heads together
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
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / (self.n_embd * self.n_head) ** 0.5, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(mixed)


# %% QueryAttention wrong (misconception heads-not-moved-back): subtle, merges the heads with reshape only, without transpose; shows with several questions and heads
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
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        mixed = (weights @ v).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(mixed)


# %% QueryAttention wrong (property finite_when_scaled): subtle, subtracts the maximum of all scores instead of each row's; rows of much lower scores become 0 / 0
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
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        scores = q @ k.mT / self.n_embd**0.5
        powers = torch.exp(scores - scores.max())
        weights = powers / powers.sum(dim=-1, keepdim=True)
        mixed = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(mixed)


# %% QueryAttention wrong (property moves_with_its_module): subtle, collects the answers in a tensor that is always on the CPU; fails on a GPU
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
        q = self.q_proj(z_q).split(D, dim=-1)
        k = self.k_proj(z).split(D, dim=-1)
        v = self.v_proj(z).split(D, dim=-1)
        mixed = torch.zeros(n, queries, self.n_head * D)
        for head in range(self.n_head):
            weights = torch.softmax(q[head] @ k[head].mT / D**0.5, dim=-1)
            mixed[..., head * D : (head + 1) * D] = weights @ v[head]
        return self.o_proj(mixed)


# %% QueryAttention right (passed): view and transpose to split the heads, softmax, transpose and reshape to merge
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
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(mixed)


# %% QueryAttention right (passed): einsum with unflattened heads, and log_softmax followed by exp
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        width = n_head * n_embd
        for name in ("q_proj", "k_proj", "v_proj"):
            self.add_module(name, nn.Linear(n_embd, width, bias=False))
        self.o_proj = nn.Linear(width, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        split = (self.n_head, self.n_embd)
        q = self.q_proj(z_q).unflatten(-1, split)
        k = self.k_proj(z).unflatten(-1, split)
        v = self.v_proj(z).unflatten(-1, split)
        scores = torch.einsum("nqhd,nlhd->nhql", q, k) * self.n_embd**-0.5
        weights = scores.log_softmax(dim=-1).exp()
        mixed = torch.einsum("nhql,nlhd->nqhd", weights, v)
        return self.o_proj(mixed.flatten(start_dim=2))


# %% qk_circuit wrong (misconception question-and-example-swapped): puts the transpose in the wrong place: W_K^T W_Q, the transpose of QK
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q = model.q_proj.weight.view(-1, D, D)
    W_K = model.k_proj.weight.view(-1, D, D)
    return W_K.mT @ W_Q / D**0.5


# %% qk_circuit wrong (misconception not-scaled): does not divide by the root of D
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q = model.q_proj.weight.view(-1, D, D)
    W_K = model.k_proj.weight.view(-1, D, D)
    return W_Q.mT @ W_K


# %% qk_circuit wrong (property state): subtle, remembers the result of each model; shows when the model's weights have changed since the first call
import functools


@functools.lru_cache
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q = model.q_proj.weight.view(-1, D, D)
    W_K = model.k_proj.weight.view(-1, D, D)
    return W_Q.mT @ W_K / D**0.5


# %% qk_circuit wrong (shape): subtle, assumes two heads; shows with any other number of heads
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q, W_K = model.q_proj.weight, model.k_proj.weight
    first = W_Q[:D].T @ W_K[:D]
    second = W_Q[D:].T @ W_K[D:]
    return torch.stack((first, second)) / D**0.5


# %% qk_circuit wrong (difference factor): subtle, always divides by the root of 6, the D of the page's model; shows for other sizes
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q = model.q_proj.weight.view(-1, D, D)
    W_K = model.k_proj.weight.view(-1, D, D)
    return W_Q.mT @ W_K / 6**0.5


# %% qk_circuit right (passed): weights split into heads with view, W_Q.mT @ W_K
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q = model.q_proj.weight.view(-1, D, D)
    W_K = model.k_proj.weight.view(-1, D, D)
    return W_Q.mT @ W_K / D**0.5


# %% qk_circuit right (passed): sends an identity matrix through both layers, then einsum over each head's outputs
@torch.no_grad()
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    tokens = torch.eye(D, dtype=model.q_proj.weight.dtype, device=model.q_proj.weight.device)
    queries = model.q_proj(tokens).unflatten(1, (-1, D))
    keys = model.k_proj(tokens).unflatten(1, (-1, D))
    return torch.einsum("iho,jho->hij", queries, keys) * D**-0.5


# %% ov_circuit wrong (misconception values-not-turned): does not transpose W_V
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_V = model.v_proj.weight.view(-1, D, D)
    W_O = model.o_proj.weight.unflatten(1, (-1, D)).transpose(0, 1)
    return W_V @ W_O.mT


# %% ov_circuit wrong (misconception scaled): divides by the root of D, as in QK
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_V = model.v_proj.weight.view(-1, D, D)
    W_O = model.o_proj.weight.unflatten(1, (-1, D)).transpose(0, 1)
    return W_V.mT @ W_O.mT / D**0.5


# %% ov_circuit wrong (misconception reshaped): subtle, reshapes W_O to [heads, D, n_out] instead of transposing it; shows when n_out is not 1
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D, n_out = model.v_proj.in_features, model.o_proj.out_features
    W_V = model.v_proj.weight.reshape(-1, D, D)
    W_O = model.o_proj.weight.reshape(-1, D, n_out)
    return W_V.transpose(1, 2) @ W_O


# %% ov_circuit wrong (misconception heads-cut-across): subtle, takes every n_head-th column of W_O for a head, not D neighbouring columns; shows with more than one head
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_V = model.v_proj.weight.view(-1, D, D)
    W_O = model.o_proj.weight.unflatten(1, (D, -1)).permute(2, 0, 1)
    return W_V.mT @ W_O.mT


# %% ov_circuit wrong (shape): subtle, assumes two heads; shows with any other number of heads
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    values = model.v_proj.weight.chunk(2, dim=0)
    outputs = model.o_proj.weight.chunk(2, dim=1)
    return torch.stack([(O @ V).T for V, O in zip(values, outputs)])


# %% ov_circuit right (passed): splits both weights into heads, W_V.mT @ W_O.mT
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_V = model.v_proj.weight.view(-1, D, D)
    W_O = model.o_proj.weight.unflatten(1, (-1, D)).transpose(0, 1)
    return W_V.mT @ W_O.mT


# %% ov_circuit right (passed): a loop over the heads with slices, (W_O W_V)^T
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    W_V, W_O = model.v_proj.weight, model.o_proj.weight
    D = W_V.shape[1]
    circuits = []
    for start in range(0, W_V.shape[0], D):
        head = slice(start, start + D)
        circuits.append((W_O[:, head] @ W_V[head]).T)
    return torch.stack(circuits)


# %% kernel_estimator wrong (misconception scaled-again): divides the scores by the root of D, although w already contains this factor
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT / z.shape[-1] ** 0.5
    answer = 0
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * (torch.softmax(w_h * scores, dim=-1) @ y)
    return answer


# %% kernel_estimator wrong (misconception wrong-axis): softmax over the questions instead of the examples
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    answer = 0
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * (torch.softmax(w_h * scores, dim=1) @ y)
    return answer


# %% kernel_estimator wrong (property sizes): subtle, x is always the first five entries, as on the page; shows for other sizes of a token
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :5], z[..., :5], z[..., -1:]
    scores = x_q @ x.mT
    answer = 0
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * (torch.softmax(w_h * scores, dim=-1) @ y)
    return answer


# %% kernel_estimator wrong (raised): subtle, takes x_q.x by multiplying entry by entry, which broadcasts only one question; shows with several questions
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = (x_q * x).sum(dim=-1, keepdim=True)
    answer = 0
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * (torch.softmax(w_h * scores, dim=1) * y).sum(dim=1, keepdim=True)
    return answer


# %% kernel_estimator wrong (difference milestone): subtle, takes the second head as the mirror image of the first and ignores its numbers; right only for a pair ±w, ±mu
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    difference = torch.softmax(w[0] * scores, dim=-1) - torch.softmax(-w[0] * scores, dim=-1)
    return mu[0] * (difference @ y)


# %% kernel_estimator right (passed): a loop over the heads, softmax @ y
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    answer = 0
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * (torch.softmax(w_h * scores, dim=-1) @ y)
    return answer


# %% kernel_estimator right (passed): all heads at once with einsum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    d = z.shape[-1] - 1
    slopes, factors = z.new_tensor(w), z.new_tensor(mu)
    scores = torch.einsum("h,nqd,nld->nhql", slopes, z_q[:, :, :d], z[:, :, :d])
    weights = scores.softmax(dim=3)
    return torch.einsum("h,nhql,nl->nq", factors, weights, z[:, :, d]).unsqueeze(-1)


# %% gradient_step_estimator wrong (misconception not-divided): takes the sum over the examples, not the mean
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = x.mT @ y
    return x_q @ beta


# %% gradient_step_estimator wrong (misconception factor-two): forgets the half in the loss, so the step is twice as long
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = 2 * x.mT @ y / z.shape[1]
    return x_q @ beta


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): subtle, takes one mean over the examples of all prompts, so each step is n times too short; shows with more than one prompt
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    with torch.enable_grad():
        beta = torch.zeros(z.shape[0], x.shape[-1], 1, device=z.device, requires_grad=True)
        loss = 0.5 * (x @ beta - y).square().mean()
        (gradient,) = torch.autograd.grad(loss, beta)
    return x_q @ (beta - gradient).detach()


# %% gradient_step_estimator wrong (difference constant): subtle, adds the answers of all questions of a prompt together; shows with several questions
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = (x * y).mean(dim=1, keepdim=True)
    answer = (beta * x_q).sum(dim=(1, 2))
    return answer[:, None, None].expand(-1, z_q.shape[1], 1)


# %% gradient_step_estimator wrong (misconception divided-by-40): subtle, always divides by 40, the number of examples on the page; shows with another number of examples
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = x.mT @ y / 40
    return x_q @ beta


# %% gradient_step_estimator right (passed): beta is the mean of y x; matrix products
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = x.mT @ y / z.shape[1]
    return x_q @ beta


# %% gradient_step_estimator right (passed): computes each prompt's loss and lets autograd take the step
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1]
    with torch.enable_grad():
        beta = torch.zeros_like(x[:, 0]).requires_grad_()
        errors = torch.einsum("nld,nd->nl", x, beta) - y
        losses = 0.5 * errors.square().mean(dim=1)
        (gradient,) = torch.autograd.grad(losses.sum(), beta, create_graph=True)
    beta = beta.detach() - 1.0 * gradient
    return torch.einsum("nqd,nd->nq", x_q, beta).unsqueeze(-1)
