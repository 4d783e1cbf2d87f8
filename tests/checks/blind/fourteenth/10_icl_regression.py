# %% sample_regression wrong (misconception noise-not-scaled): the noise has standard deviation noise_std, without the root of d
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


# %% sample_regression wrong (misconception one-beta-for-all): samples one beta for all prompts
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


# %% sample_regression wrong (property errors_from_the_generator): samples the noise without the generator; shows when the same seed should give the same prompts
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


# %% sample_regression wrong (misconception noisy-answer): adds noise to the answer too; shows when noise_std is not tiny
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


# %% sample_regression wrong (property draws_from_its_generator): replaces None by a new generator, which always starts with the same seed, so each call without a generator gives the same prompts
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    if generator is None:
        generator = torch.Generator()
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y = x @ beta + noise
    y_q = x_q @ beta
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, y_q


# %% sample_regression right (passed): randn for each part, matmul for y, cat for the tokens
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


# %% sample_regression right (passed): fills tokens of zeros in place with normal_ and takes sums of products
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    z = torch.zeros(n, L, d + 1)
    z_q = torch.zeros(n, 1, d + 1)
    beta = torch.empty(n, 1, d).normal_(0.0, 1.0, generator=generator)
    z_q[:, :, :d].normal_(generator=generator)
    z[:, :, :d].normal_(generator=generator)
    noise = torch.empty(n, L).normal_(generator=generator) * (noise_std * d**0.5)
    z[:, :, d] = (z[:, :, :d] * beta).sum(dim=-1) + noise
    y_q = torch.einsum("nqd,nqd->nq", z_q[:, :, :d], beta).unsqueeze(-1)
    return z_q, z, y_q


# %% QueryAttention wrong (misconception scaled-by-a-part): divides the scores by the root of n_embd / n_head, as if the heads shared the width
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.transpose(-2, -1) / (self.n_embd / self.n_head) ** 0.5
        weights = torch.softmax(scores, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(n, queries, -1)
        return self.o_proj(mixed)


# %% QueryAttention wrong (misconception sees-itself): the keys and values come from the examples and the questions
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        tokens = torch.cat((z, z_q), dim=1)
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(tokens)), self.split(self.v_proj(tokens))
        scores = q @ k.transpose(-2, -1) / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(n, queries, -1)
        return self.o_proj(mixed)


# %% QueryAttention wrong (misconception heads-not-moved-back): joins the heads without moving their axis next to D; shows with several questions and several heads
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.transpose(-2, -1) / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-1)
        mixed = (weights @ v).reshape(n, queries, -1)
        return self.o_proj(mixed)


# %% QueryAttention wrong (property finite_when_scaled): subtracts the maximum of all scores instead of each row's, so rows far below it become nan
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.transpose(-2, -1) / self.n_embd**0.5
        powers = torch.exp(scores - scores.max())
        weights = powers / powers.sum(dim=-1, keepdim=True)
        mixed = (weights @ v).transpose(1, 2).reshape(n, queries, -1)
        return self.o_proj(mixed)


# %% QueryAttention wrong (structure): o_proj always has one output; shows when n_out is not 1
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, 1, bias=False)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.transpose(-2, -1) / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(n, queries, -1)
        return self.o_proj(mixed)


# %% QueryAttention right (passed): splits into heads with reshape and transpose, softmax, and joins the heads again
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, queries, _ = z_q.shape
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.transpose(-2, -1) / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(n, queries, -1)
        return self.o_proj(mixed)


# %% QueryAttention right (passed): loops over the heads with slices, and adds up each head's part of o_proj
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        width = n_embd * n_head
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(n_embd, width, bias=False))
        self.o_proj = nn.Linear(width, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        D = self.n_embd
        answer = 0
        for h in range(self.n_head):
            part = slice(h * D, (h + 1) * D)
            q = torch.einsum("nqi,oi->nqo", z_q, self.q_proj.weight[part])
            k = torch.einsum("nli,oi->nlo", z, self.k_proj.weight[part])
            v = torch.einsum("nli,oi->nlo", z, self.v_proj.weight[part])
            scores = torch.einsum("nqo,nlo->nql", q, k) * D**-0.5
            powers = (scores - scores.amax(dim=-1, keepdim=True)).exp()
            weights = powers / powers.sum(dim=-1, keepdim=True)
            answer = answer + torch.bmm(weights, v) @ self.o_proj.weight[:, part].T
        return answer


# %% qk_circuit wrong (misconception wrong-side): multiplies W_Q by the transpose of W_K
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    heads, D = model.n_head, model.n_embd
    W_q = model.q_proj.weight.view(heads, D, D)
    W_k = model.k_proj.weight.view(heads, D, D)
    return W_q @ W_k.transpose(1, 2) / D**0.5


# %% qk_circuit wrong (misconception not-scaled): forgets to divide by the root of D
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    heads, D = model.n_head, model.n_embd
    W_q = model.q_proj.weight.view(heads, D, D)
    W_k = model.k_proj.weight.view(heads, D, D)
    return W_q.transpose(1, 2) @ W_k


# %% qk_circuit wrong (misconception question-and-example-swapped): W_K^T W_Q, the transpose of each product; shows unless the products are symmetric
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    heads, D = model.n_head, model.n_embd
    W_q = model.q_proj.weight.view(heads, D, D)
    W_k = model.k_proj.weight.view(heads, D, D)
    return W_k.mT @ W_q / D**0.5


# %% qk_circuit wrong (misconception heads-cut-across): takes every n_head-th row for a head instead of a block of rows; right for one head only
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    heads, D = model.n_head, model.n_embd
    W_q = model.q_proj.weight.view(D, heads, D).transpose(0, 1)
    W_k = model.k_proj.weight.view(D, heads, D).transpose(0, 1)
    return W_q.mT @ W_k / D**0.5


# %% qk_circuit wrong (misconception scaled-by-all-heads): divides by the root of the number of rows of q_proj's weight, heads times D; right for one head only
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    heads, D = model.n_head, model.n_embd
    W_q = model.q_proj.weight.view(heads, D, D)
    W_k = model.k_proj.weight.view(heads, D, D)
    return torch.einsum("hoi,hoj->hij", W_q, W_k) / model.q_proj.weight.shape[0] ** 0.5


# %% qk_circuit right (passed): views the weights as one matrix for each head, and multiplies in a batch
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    heads, D = model.n_head, model.n_embd
    W_q = model.q_proj.weight.view(heads, D, D)
    W_k = model.k_proj.weight.view(heads, D, D)
    return W_q.transpose(1, 2) @ W_k / D**0.5


# %% qk_circuit right (passed): loops over blocks of rows and stacks the products
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    products = []
    for W_q, W_k in zip(model.q_proj.weight.split(D, dim=0), model.k_proj.weight.split(D, dim=0)):
        products.append(torch.einsum("oi,oj->ij", W_q, W_k) * D**-0.5)
    return torch.stack(products)


# %% ov_circuit wrong (misconception values-not-turned): does not transpose W_V
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    heads, D = model.n_head, model.n_embd
    W_v = model.v_proj.weight.view(heads, D, D)
    W_o = model.o_proj.weight.view(-1, heads, D).transpose(0, 1)
    return W_v @ W_o.mT


# %% ov_circuit wrong (misconception output-side-first): returns W_O W_V, of shape [heads, n_out, D]
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    heads, D = model.n_head, model.n_embd
    W_v = model.v_proj.weight.view(heads, D, D)
    W_o = model.o_proj.weight.view(-1, heads, D).transpose(0, 1)
    return W_o @ W_v


# %% ov_circuit wrong (difference milestone): views the columns of o_proj as [heads, n_out, D]; right for one output or one head only
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    heads, D = model.n_head, model.n_embd
    W_v = model.v_proj.weight.view(heads, D, D)
    W_o = model.o_proj.weight.view(heads, -1, D)
    return W_v.transpose(1, 2) @ W_o.transpose(1, 2)


# %% ov_circuit wrong (shape): uses only the first output; shows when n_out is more than 1
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.n_embd
    columns = []
    for h in range(model.n_head):
        W_v = model.v_proj.weight[h * D : (h + 1) * D]
        w_o = model.o_proj.weight[0, h * D : (h + 1) * D]
        columns.append((w_o @ W_v).unsqueeze(-1))
    return torch.stack(columns)


# %% ov_circuit wrong (shape): cuts the weights into two heads, whatever n_head is
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    values = model.v_proj.weight.chunk(2, dim=0)
    outputs = model.o_proj.weight.chunk(2, dim=1)
    return torch.stack([W_v.T @ W_o.T for W_v, W_o in zip(values, outputs)])


# %% ov_circuit right (passed): an einsum over views of both weights
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    heads, D = model.n_head, model.n_embd
    W_v = model.v_proj.weight.view(heads, D, D)
    W_o = model.o_proj.weight.view(-1, heads, D)
    return torch.einsum("hvi,ohv->hio", W_v, W_o)


# %% ov_circuit right (passed): loops over the heads and multiplies slices of the two matrices
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    products = []
    for start in range(0, model.v_proj.out_features, D):
        W_v = model.v_proj.weight[start : start + D]
        W_o = model.o_proj.weight[:, start : start + D]
        products.append((W_o @ W_v).T)
    return torch.stack(products, dim=0)


# %% kernel_estimator wrong (misconception scaled-again): divides the scores by the root of D, although w already contains it
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT / z.shape[-1] ** 0.5
    return sum(b * (torch.softmax(a * scores, dim=-1) @ y) for a, b in zip(w, mu))


# %% kernel_estimator wrong (misconception wrong-axis): softmax along the questions instead of the examples
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    return sum(b * (torch.softmax(a * scores, dim=1) @ y) for a, b in zip(w, mu))


# %% kernel_estimator wrong (shape): always takes five entries as x; right for D = 6 only
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :5], z[..., :5], z[..., 5:6]
    scores = x_q @ x.mT
    return sum(b * (torch.softmax(a * scores, dim=-1) @ y) for a, b in zip(w, mu))


# %% kernel_estimator wrong (shape): answers only the first question of each prompt; shows with several questions
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[:, :1, :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    return sum(b * (torch.softmax(a * scores, dim=-1) @ y) for a, b in zip(w, mu))


# %% kernel_estimator wrong (misconception one-head-for-equal-w): stores the heads in a dict, so of several heads with the same w only the last one counts
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].transpose(1, 2)
    heads = dict(zip(w, mu))
    answer = torch.zeros_like(z_q[..., :1])
    for a, b in heads.items():
        weights = torch.softmax(a * scores, dim=-1)
        answer = answer + b * (weights @ z[..., -1:])
    return answer


# %% kernel_estimator right (passed): a loop over the heads that adds up weighted means
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].transpose(1, 2)
    answer = torch.zeros_like(z_q[..., :1])
    for a, b in zip(w, mu):
        weights = torch.softmax(a * scores, dim=-1)
        answer = answer + b * (weights @ z[..., -1:])
    return answer


# %% kernel_estimator right (passed): all heads at once along a new axis, with tensors of w and mu and one einsum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    w = torch.as_tensor(w, dtype=z.dtype, device=z.device)
    mu = torch.as_tensor(mu, dtype=z.dtype, device=z.device)
    x, y = z.split([z.shape[-1] - 1, 1], dim=-1)
    scores = torch.einsum("h,nqd,nld->hnql", w, z_q[..., : x.shape[-1]], x)
    weights = torch.log_softmax(scores, dim=3).exp()
    return torch.einsum("h,hnql,nlo->nqo", mu, weights, y)


# %% gradient_step_estimator wrong (misconception not-divided): sums over the examples instead of taking the mean
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y, x_q = z[..., :-1], z[..., -1:], z_q[..., :-1]
    beta = x.mT @ y
    return x_q @ beta


# %% gradient_step_estimator wrong (misconception factor-two): forgets the one half in the loss, so the step is twice as long
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y, x_q = z[..., :-1], z[..., -1:], z_q[..., :-1]
    beta = 2 * (x.mT @ y) / z.shape[1]
    return x_q @ beta


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): the loss is the mean over all prompts too, so each step is n times too short; right for one prompt
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y, x_q = z[..., :-1], z[..., -1:], z_q[..., :-1]
    with torch.enable_grad():
        beta = torch.zeros(z.shape[0], x.shape[-1], 1, dtype=z.dtype, device=z.device, requires_grad=True)
        loss = 0.5 * (x @ beta - y).square().mean()
        (gradient,) = torch.autograd.grad(loss, beta)
    return x_q @ (beta - gradient).detach()


# %% gradient_step_estimator wrong (misconception centred): subtracts the mean of x from the examples first; right only if this mean is 0
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y, x_q = z[..., :-1], z[..., -1:], z_q[..., :-1]
    x = x - x.mean(dim=1, keepdim=True)
    beta = x.mT @ y / z.shape[1]
    return x_q @ beta


# %% gradient_step_estimator wrong (shape): squeezes beta and so loses the axis of x when x has one entry; shows for D = 2 and several prompts
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y, x_q = z[..., :-1], z[..., -1:], z_q[..., :-1]
    beta = (x.mT @ y / z.shape[1]).squeeze()
    return x_q @ beta.unsqueeze(-1)


# %% gradient_step_estimator right (passed): the mean of y times x, multiplied by the question's x
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y, x_q = z[..., :-1], z[..., -1:], z_q[..., :-1]
    beta = (y * x).mean(dim=1)
    return torch.einsum("nqd,nd->nq", x_q, beta).unsqueeze(-1)


# %% gradient_step_estimator right (passed): for each prompt, writes out the residual, the gradient and the step
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    answers = []
    for question, examples in zip(z_q, z):
        x, y = examples[:, :-1], examples[:, -1]
        beta = torch.zeros_like(x[0])
        residual = x @ beta - y
        gradient = x.T @ residual / len(x)
        beta = beta - 1.0 * gradient
        answers.append((question[:, :-1] @ beta).unsqueeze(-1))
    return torch.stack(answers)


