# %% sample_regression wrong (misconception one-beta-for-all): one beta for all prompts
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
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    z = torch.cat((x, y), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (misconception noise-times-d): the noise is noise_std times d instead of the root of d; right for d = 1
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d * torch.randn(n, L, 1, generator=generator)
    y = x @ beta + noise
    y_q = x_q @ beta
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    z = torch.cat((x, y), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (property errors_from_the_generator): subtle, the noise does not use the generator; shows if noise_std is not 0 and the same seed is used twice
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
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    z = torch.cat((x, y), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (misconception one-error-for-a-prompt): subtle, all examples of a prompt get the same noise; shows if noise_std is not 0 and L is larger than 1
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, 1, 1, generator=generator)
    y = x @ beta + noise
    y_q = x_q @ beta
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    z = torch.cat((x, y), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (misconception noisy-answer): subtle, the answer has noise too; hardly visible with the page's noise of 0.01
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
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    z = torch.cat((x, y), dim=-1)
    return z_q, z, y_q


# %% sample_regression right (passed): randn and matrix products
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
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    z = torch.cat((x, y), dim=-1)
    return z_q, z, y_q


# %% sample_regression right (passed): one table of L + 1 points filled with normal_, einsum, slices of tables of zeros
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    points = torch.empty(n, L + 1, d).normal_(generator=generator)
    beta = torch.empty(n, d).normal_(generator=generator)
    y = torch.einsum("nld,nd->nl", points, beta)
    y_q = y[:, L:, None].clone()
    disturbance = torch.empty(n, L).normal_(generator=generator).mul_(noise_std * d**0.5)
    z = points.new_zeros(n, L, d + 1)
    z[:, :, :d] = points[:, :L]
    z[:, :, d] = y[:, :L] + disturbance
    z_q = points.new_zeros(n, 1, d + 1)
    z_q[:, :, :d] = points[:, L:]
    return z_q, z, y_q


# %% QueryAttention wrong (misconception softmax-over-questions): the softmax runs over the questions instead of the examples
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        L = z.size(1)
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        scores = q @ k.mT / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-2)
        out = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(out)


# %% QueryAttention wrong (misconception scaled-by-all-heads): divides by the root of n_embd * n_head; right with one head
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        L = z.size(1)
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        scores = q @ k.mT / (self.n_embd * self.n_head) ** 0.5
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(out)


# %% QueryAttention wrong (property finite_when_scaled): subtle, subtracts the maximum of all scores; a question whose scores are far lower becomes 0 / 0
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        L = z.size(1)
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        scores = q @ k.mT / self.n_embd**0.5
        powers = torch.exp(scores - scores.max())
        weights = powers / powers.sum(dim=-1, keepdim=True)
        out = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(out)


# %% QueryAttention wrong (difference milestone): subtle, one softmax over the examples of all questions together; right with one question
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        L = z.size(1)
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        scores = q @ k.mT / self.n_embd**0.5
        weights = torch.softmax(scores.flatten(2), dim=-1).view_as(scores)
        out = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(out)


# %% QueryAttention wrong (structure): subtle, o_proj always has one output; shows if n_out is not 1
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, 1, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        L = z.size(1)
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        scores = q @ k.mT / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(out)


# %% QueryAttention right (passed): all heads at once with view and transpose
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        L = z.size(1)
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        scores = q @ k.mT / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(out)


# %% QueryAttention right (passed): a loop over the heads that adds each head's share of the output, einsum with slices of the weights
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        width = n_embd * n_head
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(n_embd, width, bias=False))
        self.o_proj = nn.Linear(width, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        answer = 0.0
        for h in range(self.n_head):
            part = slice(h * self.n_embd, (h + 1) * self.n_embd)
            query = torch.einsum("nqd,ed->nqe", z_q, self.q_proj.weight[part])
            key = torch.einsum("nld,ed->nle", z, self.k_proj.weight[part])
            value = torch.einsum("nld,ed->nle", z, self.v_proj.weight[part])
            scores = torch.einsum("nqe,nle->nql", query, key).div(self.n_embd**0.5)
            mixture = torch.einsum("nql,nle->nqe", scores.softmax(dim=2), value)
            answer = answer + mixture @ self.o_proj.weight[:, part].T
        return answer


# %% qk_circuit wrong (misconception question-and-example-swapped): the transposed product, W_K^T W_Q
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q = model.q_proj.weight.view(-1, D, D)
    W_K = model.k_proj.weight.view(-1, D, D)
    return W_K.mT @ W_Q / D**0.5


# %% qk_circuit wrong (misconception wrong-side): the transpose on the other matrix, W_Q W_K^T
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q = model.q_proj.weight.view(-1, D, D)
    W_K = model.k_proj.weight.view(-1, D, D)
    return W_Q @ W_K.mT / D**0.5


# %% qk_circuit wrong (property leaves_its_inputs): subtle, divides the model's own query weights in place; the first result is right, but the model has changed
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    with torch.no_grad():
        W_Q = model.q_proj.weight.view(-1, D, D)
        W_K = model.k_proj.weight.view(-1, D, D)
        W_Q /= D**0.5
        return W_Q.mT @ W_K


# %% qk_circuit wrong (misconception heads-cut-across): subtle, takes every n_head-th row for a head instead of D rows in a block; right with one head
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q = model.q_proj.weight.view(D, -1, D)
    W_K = model.k_proj.weight.view(D, -1, D)
    return torch.einsum("khi,khj->hij", W_Q, W_K) / D**0.5


# %% qk_circuit wrong (difference factor): subtle, always divides by the root of 6; right only for D = 6
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q = model.q_proj.weight.view(-1, D, D)
    W_K = model.k_proj.weight.view(-1, D, D)
    return W_Q.mT @ W_K / 6**0.5


# %% qk_circuit right (passed): view as heads, then a batched product
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_Q = model.q_proj.weight.view(-1, D, D)
    W_K = model.k_proj.weight.view(-1, D, D)
    return W_Q.mT @ W_K / D**0.5


# %% qk_circuit right (passed): a loop over blocks of D rows, einsum, stack
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    size = model.k_proj.weight.shape[1]
    products = []
    for query_rows, key_rows in zip(model.q_proj.weight.split(size), model.k_proj.weight.split(size)):
        products.append(torch.einsum("ei,ej->ij", query_rows, key_rows) / size**0.5)
    return torch.stack(products)


# %% ov_circuit wrong (misconception values-not-turned): forgets to transpose W_V
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_V = model.v_proj.weight.view(-1, D, D)
    W_O = model.o_proj.weight.view(-1, W_V.size(0), D).transpose(0, 1)
    return W_V @ W_O.mT


# %% ov_circuit wrong (misconception scaled): divides by the root of D, as in QK
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_V = model.v_proj.weight.view(-1, D, D)
    W_O = model.o_proj.weight.view(-1, W_V.size(0), D).transpose(0, 1)
    return W_V.mT @ W_O.mT / D**0.5


# %% ov_circuit wrong (misconception reshaped): subtle, reshapes the output weights to heads, D, n_out without a transpose; right for n_out = 1
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_V = model.v_proj.weight.view(-1, D, D)
    W_O = model.o_proj.weight.reshape(W_V.size(0), D, -1)
    return W_V.mT @ W_O


# %% ov_circuit wrong (shape): subtle, always cuts into two heads; fails with one, four or eight heads
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    values = model.v_proj.weight.chunk(2, dim=0)
    outputs = model.o_proj.weight.chunk(2, dim=1)
    return torch.stack([W_V.T @ W_O.T for W_V, W_O in zip(values, outputs)])


# %% ov_circuit wrong (misconception heads-cut-across): subtle, takes every n_head-th column of the output weights for a head; right with one head
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_V = model.v_proj.weight.view(-1, D, D)
    W_O = model.o_proj.weight.view(-1, D, W_V.size(0))
    return torch.einsum("hkd,okh->hdo", W_V, W_O)


# %% ov_circuit right (passed): view and einsum
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    W_V = model.v_proj.weight.view(-1, D, D)
    W_O = model.o_proj.weight.view(-1, W_V.size(0), D)
    return torch.einsum("hkd,ohk->hdo", W_V, W_O)


# %% ov_circuit right (passed): a loop over the heads with slices
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    width, D = model.v_proj.weight.shape
    circuits = []
    for start in range(0, width, D):
        values = model.v_proj.weight[start : start + D]
        outputs = model.o_proj.weight[:, start : start + D]
        circuits.append((outputs @ values).T)
    return torch.stack(circuits)


# %% kernel_estimator wrong (misconception scaled-again): divides the scores by the root of D, as in attention
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT / z.size(-1) ** 0.5
    answer = torch.zeros_like(z_q[..., :1])
    for a, m in zip(w, mu):
        answer = answer + m * torch.softmax(a * scores, dim=-1) @ y
    return answer


# %% kernel_estimator wrong (difference milestone): w and mu are swapped in the loop
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    answer = torch.zeros_like(z_q[..., :1])
    for a, m in zip(mu, w):
        answer = answer + m * torch.softmax(a * scores, dim=-1) @ y
    return answer


# %% kernel_estimator wrong (shape): subtle, takes the first five entries as x; right only for D = 6
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :5], z[..., :5], z[..., 5:]
    scores = x_q @ x.mT
    answer = torch.zeros_like(z_q[..., :1])
    for a, m in zip(w, mu):
        answer = answer + m * torch.softmax(a * scores, dim=-1) @ y
    return answer


# %% kernel_estimator wrong (misconception one-head-for-equal-w): subtle, pairs w with mu in a dictionary; of heads with equal w only the last one counts
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    answer = torch.zeros_like(z_q[..., :1])
    for a, m in dict(zip(w, mu)).items():
        answer = answer + m * torch.softmax(a * scores, dim=-1) @ y
    return answer


# %% kernel_estimator wrong (difference constant): subtle, all questions get the answer of the first question; right with one question per prompt
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q[:, :1] @ x.mT
    answer = torch.zeros_like(z_q[..., :1])
    for a, m in zip(w, mu):
        answer = answer + m * torch.softmax(a * scores, dim=-1) @ y
    return answer


# %% kernel_estimator right (passed): a loop over the heads
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    answer = torch.zeros_like(z_q[..., :1])
    for a, m in zip(w, mu):
        answer = answer + m * torch.softmax(a * scores, dim=-1) @ y
    return answer


# %% kernel_estimator right (passed): all heads at once, elementwise products and einsum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    strength = torch.tensor(w, dtype=z.dtype, device=z.device).view(-1, 1, 1, 1)
    height = torch.tensor(mu, dtype=z.dtype, device=z.device)
    products = (z_q[:, :, None, :-1] * z[:, None, :, :-1]).sum(dim=-1)
    weights = (strength * products).softmax(dim=-1)
    return torch.einsum("h,hnql,nl->nq", height, weights, z[:, :, -1]).unsqueeze(-1)


# %% gradient_step_estimator wrong (misconception factor-two): forgets the half in the loss, so the step is twice as long
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = 2 * x.mT @ y / z.size(1)
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (difference factor): divides by the number of prompts, z.size(0), instead of the number of examples
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = x.mT @ y / z.size(0)
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): subtle, autograd on the mean over all prompts together, so each gradient is n times too small; right with one prompt
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    with torch.enable_grad():
        beta = torch.zeros(z.size(0), z.size(2) - 1, 1, dtype=z.dtype, device=z.device, requires_grad=True)
        loss = 0.5 * (x @ beta - y).square().mean()
        (gradient,) = torch.autograd.grad(loss, beta)
    return z_q[..., :-1] @ (beta.detach() - gradient)


# %% gradient_step_estimator wrong (misconception divided-by-40): subtle, always divides by 40 examples; right only for L = 40
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = x.mT @ y / 40
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (difference constant): subtle, the einsum adds up the questions of a prompt; right with one question
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1]
    beta = torch.einsum("nld,nl->nd", x, y) / z.size(1)
    answer = torch.einsum("nqd,nd->n", z_q[..., :-1], beta)
    return answer[:, None, None].expand(-1, z_q.size(1), 1)


# %% gradient_step_estimator right (passed): beta is the mean of y times x, as a matrix product
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = x.mT @ y / z.size(1)
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator right (passed): writes out the step, with residuals at beta = 0 and the mean of residual times x
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    examples, targets = z[:, :, :-1], z[:, :, -1]
    beta = examples.new_zeros(examples.size(0), examples.size(2))
    residuals = torch.einsum("nld,nd->nl", examples, beta) - targets
    gradient = (residuals.unsqueeze(-1) * examples).mean(dim=1)
    beta = beta - 1.0 * gradient
    return (z_q[:, :, :-1] * beta.unsqueeze(1)).sum(dim=-1, keepdim=True)


