# %% sample_regression wrong (misconception noise-not-scaled): the noise has standard deviation noise_std, the factor sqrt(d) is forgotten; shows for d other than 1
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * torch.randn(n, L, 1, generator=generator)
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression wrong (misconception answer-given-away): the question's token contains its answer y_q in the last entry instead of 0
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y_q = x_q @ beta
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, y_q), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (misconception one-beta-for-all): one beta is sampled for the whole batch instead of one for each prompt; shows for n > 1
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y, y_q = x @ beta + noise, x_q @ beta
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros_like(y_q)), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (property errors_from_the_generator): the noise is sampled with randn_like, without the generator, so two calls with generators of the same seed give different y
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta
    y = y + noise_std * d**0.5 * torch.randn_like(y)
    y_q = x_q @ beta
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (misconception one-error-for-a-prompt): the noise has shape [n, 1, 1], so all examples of a prompt get the same noise; shows for L > 1 and noise_std > 0
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.randn(n, d, 1, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    noise = torch.randn(n, 1, 1, generator=generator) * noise_std * d**0.5
    y = x @ beta + noise
    y_q = x_q @ beta
    return torch.cat((x_q, 0 * y_q), dim=-1), torch.cat((x, y), dim=-1), y_q


# %% sample_regression right (passed): randn with shapes [n, L, d], [n, 1, d], [n, d, 1], matmul and torch.cat
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y_q = x_q @ beta
    z = torch.cat((x, x @ beta + noise), dim=-1)
    z_q = torch.cat((x_q, torch.zeros_like(y_q)), dim=-1)
    return z_q, z, y_q


# %% sample_regression right (passed): all L + 1 points sampled at once, sums of products instead of matmul, tables of zeros filled by slices
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    slopes = torch.normal(0.0, 1.0, (n, 1, d), generator=generator)
    points = torch.normal(0.0, 1.0, (n, L + 1, d), generator=generator)
    exact = (points * slopes).sum(dim=-1)
    errors = torch.normal(0.0, 1.0, (n, L), generator=generator) * (noise_std * d**0.5)
    z_q = torch.zeros(n, 1, d + 1)
    z_q[:, :, :d] = points[:, :1]
    z = torch.zeros(n, L, d + 1)
    z[:, :, :d] = points[:, 1:]
    z[:, :, d] = exact[:, 1:] + errors
    return z_q, z, exact[:, :1].unsqueeze(-1)


# %% QueryAttention wrong (misconception softmax-over-questions): the softmax runs along the axis of the questions instead of the examples, so with one question every example has weight 1
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
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.n_embd**0.5, dim=-2)
        mixed = (weights @ v).transpose(1, 2).reshape(n, queries, -1)
        return self.o_proj(mixed)


# %% QueryAttention wrong (misconception sees-itself): keys and values come from the examples and the questions together, so a question also attends to itself and to the other questions
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
        tokens = torch.cat((z, z_q), dim=1)
        heads = (self.n_head, self.n_embd)
        q = self.q_proj(z_q).unflatten(-1, heads).transpose(1, 2)
        k = self.k_proj(tokens).unflatten(-1, heads).transpose(1, 2)
        v = self.v_proj(tokens).unflatten(-1, heads).transpose(1, 2)
        weights = (q @ k.mT / self.n_embd**0.5).softmax(dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (misconception scaled-by-all-heads): the scores are divided by the square root of n_embd * n_head, the width of the projection, instead of n_embd; right for one head only
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        width = n_embd * n_head
        self.q_proj = nn.Linear(n_embd, width, bias=False)
        self.k_proj = nn.Linear(n_embd, width, bias=False)
        self.v_proj = nn.Linear(n_embd, width, bias=False)
        self.o_proj = nn.Linear(width, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q, k, v = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        scale = q.shape[-1] ** 0.5
        heads = (self.n_head, self.n_embd)
        q, k, v = (part.unflatten(-1, heads).transpose(1, 2) for part in (q, k, v))
        weights = torch.softmax(q @ k.mT / scale, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (property finite_when_scaled): the scores are clamped to -30..30 before exp to prevent an overflow, so all scores above 30 get the same weight; shows only with large scores
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, x):
        return x.unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.mT / self.n_embd**0.5
        powers = scores.clamp(-30, 30).exp()
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (misconception heads-not-moved-back): the heads' results [n, heads, queries, D] are reshaped to [n, queries, heads * D] without exchanging axes 1 and 2; right for a single question, but several questions and heads are mixed up
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
        k = self.k_proj(z).view(n, -1, self.n_head, D).transpose(1, 2)
        v = self.v_proj(z).view(n, -1, self.n_head, D).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / D**0.5, dim=-1)
        mixed = (weights @ v).reshape(n, queries, self.n_head * D)
        return self.o_proj(mixed)


# %% QueryAttention right (passed): view and transpose into heads, matmul, torch.softmax along the examples, transpose back
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
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, queries, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, self.n_embd).transpose(1, 2)
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.n_embd**0.5, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(n, queries, self.n_head * self.n_embd)
        return self.o_proj(mixed)


# %% QueryAttention right (passed): unflatten in a helper and nn.functional.scaled_dot_product_attention, whose default scale is the root of the head's width n_embd
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        width = n_embd * n_head
        self.q_proj = nn.Linear(n_embd, width, bias=False)
        self.k_proj = nn.Linear(n_embd, width, bias=False)
        self.v_proj = nn.Linear(n_embd, width, bias=False)
        self.o_proj = nn.Linear(width, n_out, bias=False)

    def by_head(self, x):
        return x.unflatten(-1, (self.n_head, self.n_embd)).movedim(2, 1)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        result = nn.functional.scaled_dot_product_attention(
            self.by_head(self.q_proj(z_q)), self.by_head(self.k_proj(z)), self.by_head(self.v_proj(z))
        )
        return self.o_proj(result.movedim(1, 2).flatten(start_dim=2))


# %% qk_circuit wrong (misconception wrong-side): the transposes are exchanged, W_Q W_K^T instead of W_Q^T W_K, so the product runs over the token entries instead of the query entries
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_q = model.q_proj.weight.view(-1, D, D)
    W_k = model.k_proj.weight.view(-1, D, D)
    return W_q @ W_k.transpose(1, 2) / D**0.5


# %% qk_circuit wrong (misconception not-scaled): the division by the root of D is forgotten
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_q = model.q_proj.weight.view(-1, D, D)
    W_k = model.k_proj.weight.view(-1, D, D)
    return W_q.transpose(1, 2) @ W_k


# %% qk_circuit wrong (difference milestone): the weights are transposed before they are cut into heads, so reshape(heads, D, D) takes rows of W^T that belong to several heads; right for one head only
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    heads = model.q_proj.out_features // D
    q = model.q_proj.weight.T.reshape(heads, D, D)
    k = model.k_proj.weight.T.reshape(heads, D, D)
    return q @ k.transpose(1, 2) / D**0.5


# %% qk_circuit wrong (misconception scaled-by-all-heads): divides by the root of q_proj.out_features, which is heads * D, instead of the root of D; right for one head only
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    q_heads = model.q_proj.weight.split(D)
    k_heads = model.k_proj.weight.split(D)
    products = torch.stack([q.T @ k for q, k in zip(q_heads, k_heads)])
    return products / model.q_proj.out_features**0.5


# %% qk_circuit wrong (property leaves_its_inputs): divides the model's own query weights in place (weight.data is a view), so the first result is right but the model is changed and a second call gives a smaller result
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    W_q = model.q_proj.weight.data.view(-1, D, D)
    W_k = model.k_proj.weight.data.view(-1, D, D)
    W_q /= D**0.5
    return W_q.mT @ W_k


# %% qk_circuit right (passed): a loop over the heads with slices of D rows, stacked
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    products = []
    for start in range(0, model.q_proj.out_features, D):
        W_q = model.q_proj.weight[start : start + D]
        W_k = model.k_proj.weight[start : start + D]
        products.append(W_q.T @ W_k / D**0.5)
    return torch.stack(products)


# %% qk_circuit right (passed): unflatten into heads and one einsum over the query entries
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    width = model.q_proj.weight.shape[1]
    queries = model.q_proj.weight.unflatten(0, (-1, width))
    keys = model.k_proj.weight.unflatten(0, (-1, width))
    return torch.einsum("hia,hib->hab", queries, keys) * width**-0.5


# %% ov_circuit wrong (misconception values-not-turned): W_V is not transposed, W_V W_O^T instead of W_V^T W_O^T, so the product runs over the token entries instead of the value entries
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    products = []
    for start in range(0, model.v_proj.out_features, D):
        W_v = model.v_proj.weight[start : start + D]
        W_o = model.o_proj.weight[:, start : start + D]
        products.append(W_v @ W_o.T)
    return torch.stack(products)


# %% ov_circuit wrong (shape): multiplies the whole matrices, so all heads are summed into one [D, n_out] matrix instead of one matrix for each head
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    return model.v_proj.weight.T @ model.o_proj.weight.T


# %% ov_circuit wrong (misconception reshaped): o_proj.weight [n_out, heads * D] is reshaped directly to [heads, D, n_out] without a transpose; right for n_out = 1, scrambled for several outputs
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    heads = model.v_proj.out_features // D
    n_out = model.o_proj.out_features
    W_v = model.v_proj.weight.reshape(heads, D, D)
    W_o = model.o_proj.weight.reshape(heads, D, n_out)
    return W_v.mT @ W_o


# %% ov_circuit wrong (misconception heads-cut-across): the columns of o_proj are read as interleaved (column j belongs to head j % heads) instead of D neighbouring columns for each head; right for one head only
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    heads = model.v_proj.out_features // D
    W_v = model.v_proj.weight.view(heads, D, D)
    W_o = model.o_proj.weight.view(-1, D, heads).permute(2, 1, 0)
    return W_v.transpose(1, 2) @ W_o


# %% ov_circuit wrong (difference places): head h's rows of v_proj start at h instead of h * D, so head 0 is right and every later head uses the wrong rows
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    products = []
    for h in range(model.v_proj.out_features // D):
        W_v = model.v_proj.weight[h : h + D]
        W_o = model.o_proj.weight[:, h * D : (h + 1) * D]
        products.append(W_v.T @ W_o.T)
    return torch.stack(products)


# %% ov_circuit right (passed): split of rows and columns, a list comprehension, stacked
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    rows = model.v_proj.weight.split(D, dim=0)
    columns = model.o_proj.weight.split(D, dim=1)
    return torch.stack([W_v.T @ W_o.T for W_v, W_o in zip(rows, columns)])


# %% ov_circuit right (passed): both weights unflattened into heads, one einsum over the value entries
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    size = model.v_proj.weight.shape[1]
    values = model.v_proj.weight.unflatten(0, (-1, size))
    outputs = model.o_proj.weight.unflatten(1, (-1, size))
    return torch.einsum("hia,ohi->hao", values, outputs)


# %% kernel_estimator wrong (misconception scaled-again): the scores are also divided by the square root of the token size, although the formula has only w times x_q . x
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x, y = z[..., :-1], z[..., -1:]
    scores = z_q[..., :-1] @ x.transpose(1, 2) / z.shape[-1] ** 0.5
    answer = 0
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * (torch.softmax(w_h * scores, dim=-1) @ y)
    return answer


# %% kernel_estimator wrong (misconception averaged-heads): takes the mean over the heads instead of the sum; right for one head only
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    heads = [m * (torch.softmax(a * scores, dim=-1) @ z[..., -1:]) for a, m in zip(w, mu)]
    return torch.stack(heads).mean(dim=0)


# %% kernel_estimator wrong (difference milestone): only the first and the last head are summed (written for a pair); one head counts twice, and of four or eight heads the middle ones are left out
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    y = z[..., -1:]
    scores = z_q[..., :-1] @ z[..., :-1].mT
    first = mu[0] * (torch.softmax(w[0] * scores, dim=-1) @ y)
    second = mu[-1] * (torch.softmax(w[-1] * scores, dim=-1) @ y)
    return first + second


# %% kernel_estimator wrong (property leaves_its_inputs): sets the y entries of z to 0 in place before the scores are computed (after copying y), so the answer is right but the caller's examples are destroyed and a second call gives 0
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    y = z[..., -1:].clone()
    z[..., -1] = 0
    scores = z_q @ z.mT
    return sum(m * (torch.softmax(a * scores, dim=-1) @ y) for a, m in zip(w, mu))


# %% kernel_estimator wrong (raised): y has shape [n, L] and is multiplied with weights [n, queries, L], so y's prompt axis lines up with the questions; right for a single prompt, wrong values, a wrong shape or a crash for several prompts
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    y = z[..., -1]
    scores = z_q[..., :-1] @ z[..., :-1].mT
    total = 0
    for a, m in zip(w, mu):
        weights = torch.softmax(a * scores, dim=-1)
        total = total + m * (weights * y).sum(dim=-1, keepdim=True)
    return total


# %% kernel_estimator right (passed): a loop over the heads that adds mu times the weighted mean
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x, y = z[..., :-1], z[..., -1:]
    scores = z_q[..., :-1] @ x.transpose(1, 2)
    answer = torch.zeros_like(z_q[..., -1:])
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * (torch.softmax(w_h * scores, dim=-1) @ y)
    return answer


# %% kernel_estimator right (passed): all heads at once with a head axis, einsum for the scores and for the sum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    d = z.shape[-1] - 1
    sharpness = torch.tensor(w, dtype=z.dtype, device=z.device)
    size = torch.tensor(mu, dtype=z.dtype, device=z.device)
    scores = torch.einsum("h,nqd,nld->nhql", sharpness, z_q[..., :d], z[..., :d])
    weights = scores.softmax(dim=-1)
    return torch.einsum("h,nhql,nl->nq", size, weights, z[..., d])[..., None]


# %% gradient_step_estimator wrong (misconception uphill): goes up the gradient instead of down, so every answer has the wrong sign
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = torch.zeros(z.shape[0], x.shape[-1], 1, dtype=z.dtype, device=z.device)
    gradient = x.transpose(1, 2) @ (x @ beta - y) / z.shape[1]
    beta = beta + gradient
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception factor-two): ignores the factor one half in the loss, so the gradient and every answer are twice as large
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    gradient = -2 * (y * x).mean(dim=1, keepdim=True)
    beta = -gradient
    return z_q[..., :-1] @ beta.transpose(1, 2)


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): autograd on the mean over all prompts and examples instead of one loss for each prompt, so the step is n times too short; right for a single prompt
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = z.new_zeros(z.shape[0], x.shape[-1], 1).requires_grad_()
    with torch.enable_grad():
        loss = 0.5 * (x @ beta - y).square().mean()
        (gradient,) = torch.autograd.grad(loss, beta)
    return z_q[..., :-1] @ (beta - gradient).detach()


# %% gradient_step_estimator wrong (misconception centred): subtracts the mean of the examples' x first, as the layer does, although the plain step does not centre; nearly right for many examples, clearly wrong if the mean of x is not 0
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    x = x - x.mean(dim=1, keepdim=True)
    beta = x.mT @ y / z.shape[1]
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (shape): x and y are cut at the fixed place 5 (z[..., :5] and z[..., 5:]), right only for tokens of six numbers; with another d the answers or their shape are wrong
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :5], z[..., 5:]
    beta = x.transpose(1, 2) @ y / z.shape[1]
    return z_q[..., :5] @ beta


# %% gradient_step_estimator right (passed): beta is the mean of y times x, in closed form, then a matmul with the questions
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = (x * y).mean(dim=1)
    return z_q[..., :-1] @ beta.unsqueeze(-1)


# %% gradient_step_estimator right (passed): a loop over the prompts with beta, residual, gradient and step written out
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    answers = []
    for question, examples in zip(z_q, z):
        x, y = examples[:, :-1], examples[:, -1]
        beta = torch.zeros_like(x[0])
        residual = x @ beta - y
        gradient = x.T @ residual / len(examples)
        beta = beta - 1.0 * gradient
        answers.append(question[:, :-1] @ beta)
    return torch.stack(answers).unsqueeze(-1)
