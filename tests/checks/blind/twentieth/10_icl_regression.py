# %% sample_regression wrong (misconception one-beta-for-all): beta is sampled once with shape [d, 1], so all n prompts share one function instead of each having its own
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
    z = torch.cat([x, y], dim=-1)
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (misconception answer-given-away): the question token contains its answer y_q in the last place instead of 0, so it gives the answer away
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
    return torch.cat([x_q, y_q], dim=-1), torch.cat([x, y], dim=-1), y_q


# %% sample_regression wrong (misconception one-error-for-a-prompt): the noise has shape [n, 1, 1], so all examples of a prompt get the same noise instead of their own; shows when noise_std is not 0
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.randn(n, d, 1, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    noise = torch.randn(n, 1, 1, generator=generator) * noise_std * d**0.5
    z = torch.cat([x, x @ beta + noise], dim=-1)
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression wrong (misconception noise-times-d): the noise's standard deviation is noise_std times d instead of noise_std times the root of d; right only for d = 1 or without noise
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, 1, d, generator=generator)
    noise = noise_std * d * torch.randn(n, L, 1, generator=generator)
    y = (x * beta).sum(dim=-1, keepdim=True) + noise
    y_q = (x_q * beta).sum(dim=-1, keepdim=True)
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros_like(y_q)), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (property draws_from_its_generator): without a generator it makes one with the fixed seed 0, so every call with generator=None returns the same prompts
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    if generator is None:
        generator = torch.Generator().manual_seed(0)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y_q = x_q @ beta
    z = torch.cat([x, y], dim=-1)
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, z, y_q


# %% sample_regression right (passed): torch.randn for each part, matrix products, torch.cat
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
    z = torch.cat([x, y], dim=-1)
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, z, y_q


# %% sample_regression right (passed): normal_ in place on empty tensors, einsum, preallocated tokens that are filled in
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.empty(n, d).normal_(generator=generator)
    points = torch.empty(n, L, d).normal_(generator=generator)
    question = torch.empty(n, d).normal_(generator=generator)
    error = torch.empty(n, L).normal_(generator=generator) * (noise_std * d**0.5)
    z = torch.zeros(n, L, d + 1)
    z[:, :, :d] = points
    z[:, :, d] = torch.einsum("nld,nd->nl", points, beta) + error
    z_q = torch.zeros(n, 1, d + 1)
    z_q[:, 0, :d] = question
    y_q = torch.einsum("nd,nd->n", question, beta).reshape(n, 1, 1)
    return z_q, z, y_q


# %% QueryAttention wrong (misconception softmax-over-questions): the softmax runs over the questions (dim=-2) instead of the examples; with one question every weight is 1, so values are summed instead of averaged
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        # Three attributes and four layers.
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        # Queries come from z_q, keys and values from z.
        n, queries, _ = z_q.shape
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-2)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (raised): splits n_embd among the heads as in lesson 05: the projections have n_embd outputs instead of n_embd * n_head, and each head is n_embd / n_head wide; shows with more than one head
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        # Three attributes and four layers.
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.o_proj = nn.Linear(n_embd, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        # Queries come from z_q, keys and values from z.
        d_head = self.n_embd // self.n_head
        q = self.q_proj(z_q).unflatten(-1, (self.n_head, d_head)).transpose(1, 2)
        k = self.k_proj(z).unflatten(-1, (self.n_head, d_head)).transpose(1, 2)
        v = self.v_proj(z).unflatten(-1, (self.n_head, d_head)).transpose(1, 2)
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (difference milestone): the queries are viewed directly as [n, heads, queries, D] without a transpose; right for one question (or one head), but several questions and heads get mixed up
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        # Three attributes and four layers.
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        # Queries come from z_q, keys and values from z.
        n, queries, _ = z_q.shape
        L = z.shape[1]
        q = self.q_proj(z_q).reshape(n, self.n_head, queries, self.n_embd)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(out)


# %% QueryAttention wrong (property made_in_order): o_proj is created before v_proj, so the order of the layers is q, k, o, v and the same seed gives other initial weights
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        # Three attributes and four layers.
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        width = n_embd * n_head
        self.q_proj = nn.Linear(n_embd, width, bias=False)
        self.k_proj = nn.Linear(n_embd, width, bias=False)
        self.o_proj = nn.Linear(width, n_out, bias=False)
        self.v_proj = nn.Linear(n_embd, width, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        # Queries come from z_q, keys and values from z.
        heads = (self.n_head, self.n_embd)
        q = self.q_proj(z_q).unflatten(-1, heads).transpose(1, 2)
        k = self.k_proj(z).unflatten(-1, heads).transpose(1, 2)
        v = self.v_proj(z).unflatten(-1, heads).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (difference milestone): the heads' results are interleaved (entry 0 of every head, then entry 1, ...) instead of side by side before o_proj; shows with more than one head
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        # Three attributes and four layers.
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        # Queries come from z_q, keys and values from z.
        n, queries, _ = z_q.shape
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        mixed = (weights @ v).permute(0, 2, 3, 1).reshape(n, queries, -1)
        return self.o_proj(mixed)


# %% QueryAttention right (passed): view and transpose, softmax of scaled scores, heads side by side
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        # Three attributes and four layers.
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        # Queries come from z_q, keys and values from z.
        n, queries, _ = z_q.shape
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(out)


# %% QueryAttention right (passed): a loop over the heads with slices of the projections and torch.cat
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        # Three attributes and four layers.
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        wide = n_head * n_embd
        self.q_proj = nn.Linear(n_embd, wide, bias=False)
        self.k_proj = nn.Linear(n_embd, wide, bias=False)
        self.v_proj = nn.Linear(n_embd, wide, bias=False)
        self.o_proj = nn.Linear(wide, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        # Queries come from z_q, keys and values from z.
        all_q = self.q_proj(z_q).split(self.n_embd, dim=-1)
        all_k = self.k_proj(z).split(self.n_embd, dim=-1)
        all_v = self.v_proj(z).split(self.n_embd, dim=-1)
        results = []
        for q, k, v in zip(all_q, all_k, all_v):
            scores = torch.einsum("nqd,nld->nql", q, k) / self.n_embd**0.5
            results.append(torch.einsum("nql,nld->nqd", scores.softmax(dim=-1), v))
        return self.o_proj(torch.cat(results, dim=-1))


# %% qk_circuit wrong (misconception wrong-side): transposes the wrong matrix: W_Q W_K^T instead of W_Q^T W_K
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.n_embd
    W_Q = model.q_proj.weight.view(model.n_head, D, D)
    W_K = model.k_proj.weight.view(model.n_head, D, D)
    return W_Q @ W_K.transpose(1, 2) / D**0.5


# %% qk_circuit wrong (misconception scaled-twice): divides by D instead of the root of D, so every entry is too small by the factor root of D
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.n_embd
    W_Q = model.q_proj.weight.view(model.n_head, D, D)
    W_K = model.k_proj.weight.view(model.n_head, D, D)
    return W_Q.transpose(1, 2) @ W_K / D


# %% qk_circuit wrong (property leaves_its_inputs): divides a view of q_proj.weight in place, so each call shrinks the model's own query weights; the first result is right, the model and a second call are not
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.n_embd
    W_Q = model.q_proj.weight.data.view(model.n_head, D, D)
    W_K = model.k_proj.weight.data.view(model.n_head, D, D)
    W_Q /= D**0.5
    return W_Q.mT @ W_K


# %% qk_circuit wrong (misconception scaled-by-all-heads): divides by the root of the number of rows of q_proj.weight, n_head * D, instead of the root of D; right for one head only
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    W_Q, W_K = model.q_proj.weight, model.k_proj.weight
    scale = W_Q.shape[0] ** 0.5
    pairs = zip(W_Q.chunk(model.n_head), W_K.chunk(model.n_head))
    return torch.stack([q.T @ k / scale for q, k in pairs])


# %% qk_circuit wrong (misconception heads-cut-across): splits the rows as [D, heads] instead of [heads, D], so a head gets every n_head-th row instead of D neighbouring rows; right for one head only
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.n_embd
    W_Q = model.q_proj.weight.view(D, model.n_head, D).transpose(0, 1)
    W_K = model.k_proj.weight.view(D, model.n_head, D).transpose(0, 1)
    return W_Q.mT @ W_K / D**0.5


# %% qk_circuit right (passed): view as [heads, D, D] and a batched matrix product
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.n_embd
    W_Q = model.q_proj.weight.view(model.n_head, D, D)
    W_K = model.k_proj.weight.view(model.n_head, D, D)
    return W_Q.transpose(1, 2) @ W_K / D**0.5


# %% qk_circuit right (passed): a loop over the heads with row slices and einsum, stacked at the end
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    width = model.q_proj.in_features
    matrices = []
    for start in range(0, model.q_proj.out_features, width):
        rows = slice(start, start + width)
        product = torch.einsum("oi,oj->ij", model.q_proj.weight[rows], model.k_proj.weight[rows])
        matrices.append(product * width**-0.5)
    return torch.stack(matrices)


# %% ov_circuit wrong (misconception values-not-turned): W_V is not transposed: W_V W_O^T instead of W_V^T W_O^T
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.n_embd
    products = []
    for h in range(model.n_head):
        W_V = model.v_proj.weight[h * D : (h + 1) * D]
        W_O = model.o_proj.weight[:, h * D : (h + 1) * D]
        products.append(W_V @ W_O.T)
    return torch.stack(products)


# %% ov_circuit wrong (misconception scaled): divides by the root of D as in QK, although OV has no such factor
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.n_embd
    W_V = model.v_proj.weight.view(model.n_head, D, D)
    W_O = model.o_proj.weight.view(-1, model.n_head, D).transpose(0, 1)
    return W_V.mT @ W_O.mT / D**0.5


# %% ov_circuit wrong (difference milestone): views o_proj.weight [n_out, heads * D] directly as [heads, n_out, D] without a transpose; right for one output (or one head), mixes outputs and heads otherwise
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.n_embd
    W_V = model.v_proj.weight.view(model.n_head, D, D)
    W_O = model.o_proj.weight.view(model.n_head, model.n_out, D)
    return W_V.mT @ W_O.mT


# %% ov_circuit wrong (misconception heads-cut-across): the columns of o_proj are taken as [D, heads] instead of [heads, D], so a head gets every n_head-th column instead of its D neighbouring columns; right for one head only
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D, heads = model.n_embd, model.n_head
    W_V = model.v_proj.weight.view(heads, D, D)
    W_O = model.o_proj.weight.view(model.n_out, D, heads)
    return torch.einsum("hoi,noh->hin", W_V, W_O)


# %% ov_circuit wrong (difference places): the columns of o_proj start at h instead of h * D; head 0 is right, every later head h uses columns h to h + D - 1, which are not its own
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.n_embd
    products = []
    for h in range(model.n_head):
        W_V = model.v_proj.weight[h * D : (h + 1) * D]
        W_O = model.o_proj.weight[:, h : h + D]
        products.append(W_V.T @ W_O.T)
    return torch.stack(products)


# %% ov_circuit right (passed): a loop over the heads, rows of v_proj and columns of o_proj
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.n_embd
    products = []
    for h in range(model.n_head):
        W_V = model.v_proj.weight[h * D : (h + 1) * D]
        W_O = model.o_proj.weight[:, h * D : (h + 1) * D]
        products.append(W_V.T @ W_O.T)
    return torch.stack(products)


# %% ov_circuit right (passed): one einsum over both weights, viewed with a heads axis
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    values = model.v_proj.weight.unflatten(0, (model.n_head, model.n_embd))
    outputs = model.o_proj.weight.unflatten(1, (model.n_head, model.n_embd))
    return torch.einsum("hvd,ohv->hdo", values, outputs)


# %% kernel_estimator wrong (difference milestone): divides the scores by the root of d, although the formula has only w * x_q.x
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT / x.shape[-1] ** 0.5
    return sum(m * (torch.softmax(a * scores, dim=-1) @ y) for a, m in zip(w, mu))


# %% kernel_estimator wrong (misconception averaged-heads): takes the mean over the heads instead of the sum; too small by the number of heads, right for one head only
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    heads = [m * (torch.softmax(a * scores, dim=-1) @ y) for a, m in zip(w, mu)]
    return torch.stack(heads).mean(dim=0)


# %% kernel_estimator wrong (shape): answers only the first question of each prompt and returns [n, 1, 1]; shows with several questions
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[:, 0, :-1], z[:, :, :-1], z[:, :, -1]
    scores = torch.einsum("nd,nld->nl", x_q, x)
    answer = torch.zeros(z.shape[0], device=z.device)
    for a, m in zip(w, mu):
        answer = answer + m * (torch.softmax(a * scores, dim=-1) * y).sum(dim=-1)
    return answer[:, None, None]


# %% kernel_estimator wrong (shape): x is always the first five entries and y the rest, so it works only for tokens of six numbers, not for another d
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :5] @ z[..., :5].mT
    y = z[..., 5:]
    answer = 0
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * torch.softmax(w_h * scores, dim=-1) @ y
    return answer


# %% kernel_estimator wrong (difference milestone): uses the straight line (1 + w (s - mean s)) / L instead of the softmax; nearly right for small w, clearly wrong for large w
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    centred = scores - scores.mean(dim=-1, keepdim=True)
    answer = 0
    for w_h, mu_h in zip(w, mu):
        weights = (1 + w_h * centred) / z.shape[1]
        answer = answer + mu_h * weights @ y
    return answer


# %% kernel_estimator right (passed): a loop over the heads that adds mu times the weighted mean
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    answer = torch.zeros_like(z_q[..., -1:])
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * (torch.softmax(w_h * scores, dim=-1) @ y)
    return answer


# %% kernel_estimator right (passed): all heads at once, with w and mu as tensors and einsum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    d = z.shape[-1] - 1
    slopes = torch.tensor(w, dtype=z.dtype, device=z.device)
    sizes = torch.tensor(mu, dtype=z.dtype, device=z.device)
    similar = torch.einsum("nqd,nld->nql", z_q[:, :, :d], z[:, :, :d])
    weights = torch.einsum("h,nql->hnql", slopes, similar).softmax(dim=-1)
    return torch.einsum("h,hnql,nl->nq", sizes, weights, z[:, :, d]).unsqueeze(-1)


# %% gradient_step_estimator wrong (misconception not-divided): sums y x over the examples without dividing by their number L, so the answer is L times too large
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = x.mT @ y
    return x_q @ beta


# %% gradient_step_estimator wrong (misconception uphill): steps up instead of down: beta becomes plus the gradient, so every answer has the wrong sign
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = torch.zeros(z.shape[0], x.shape[-1], 1, dtype=z.dtype, device=z.device)
    gradient = x.mT @ (x @ beta - y) / x.shape[1]
    beta = beta + gradient
    return x_q @ beta


# %% gradient_step_estimator wrong (misconception divided-by-40): divides by the constant 40 instead of the number of examples; right only for prompts of forty examples
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = (x * y).sum(dim=1, keepdim=True) / 40
    return (x_q * beta).sum(dim=-1, keepdim=True)


# %% gradient_step_estimator wrong (misconception centred): subtracts the mean of the examples' x first, as the layer's step does; the step on the given loss does not centre x
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    x = x - x.mean(dim=1, keepdim=True)
    beta = x.mT @ y / x.shape[1]
    return x_q @ beta


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): autograd on the mean over all prompts and examples, so each prompt's gradient is divided by n as well; right for a single prompt only
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = torch.zeros(z.shape[0], x.shape[-1], 1, dtype=z.dtype, device=z.device, requires_grad=True)
    loss = 0.5 * ((x @ beta - y) ** 2).mean()
    (gradient,) = torch.autograd.grad(loss, beta)
    return x_q @ (beta - gradient).detach()


# %% gradient_step_estimator right (passed): beta is the mean of y x, by a matrix product
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = x.mT @ y / x.shape[1]
    return x_q @ beta


# %% gradient_step_estimator right (passed): the step written out: error at beta = 0, gradient by einsum, one step, dot products
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    d = z.shape[-1] - 1
    points, targets = z[:, :, :d], z[:, :, d]
    beta = torch.zeros_like(points[:, 0])
    error = torch.einsum("nld,nd->nl", points, beta) - targets
    gradient = torch.einsum("nl,nld->nd", error, points) / z.shape[1]
    beta = beta - 1.0 * gradient
    return torch.einsum("nqd,nd->nq", z_q[:, :, :d], beta).unsqueeze(-1)
