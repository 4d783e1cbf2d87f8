# %% sample_regression wrong (misconception noise-not-scaled): the noise has the standard deviation noise_std, without the root of d
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * torch.randn(n, L, 1, generator=generator)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, torch.cat((x, y), dim=-1), x_q @ beta


# %% sample_regression wrong (property errors_from_the_generator): the noise is sampled without the generator
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta
    y = y + noise_std * d**0.5 * torch.randn_like(y)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, torch.cat((x, y), dim=-1), x_q @ beta


# %% sample_regression wrong (property drawn_otherwise): rescales each beta to the length root of d (subtle: the mean square of its entries is 1, but they are not normal)
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.randn(n, d, 1, generator=generator)
    beta = beta / beta.norm(dim=1, keepdim=True) * d**0.5
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, torch.cat((x, y), dim=-1), x_q @ beta


# %% sample_regression wrong (property draws_from_its_generator): without a generator, every call returns the same prompts (subtle: right with a generator)
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
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, torch.cat((x, y), dim=-1), x_q @ beta


# %% sample_regression wrong (property few_prompts): scales the noise by the measured spread of y instead of root d (subtle: nearly equal for many prompts, wrong for few, nan for a single example)
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.randn(n, d, 1, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    y = x @ beta
    y = y + noise_std * y.std() * torch.randn(n, L, 1, generator=generator)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, torch.cat((x, y), dim=-1), x_q @ beta


# %% sample_regression right (passed): randn, matrix products and cat
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y = x @ beta + noise
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, torch.cat((x, y), dim=-1), x_q @ beta


# %% sample_regression right (passed): normal_ fills tensors in place, beta first, and the question is sampled with the examples
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.empty(n, d).normal_(generator=generator)
    tokens = torch.zeros(n, L + 1, d + 1)
    tokens[..., :d] = torch.empty(n, L + 1, d).normal_(generator=generator)
    answers = torch.einsum("nld,nd->nl", tokens[..., :d], beta)
    errors = torch.empty(n, L).normal_(generator=generator) * (noise_std * d**0.5)
    tokens[:, :L, d] = answers[:, :L] + errors
    return tokens[:, L:].clone(), tokens[:, :L].clone(), answers[:, L:, None].clone()


# %% QueryAttention wrong (misconception scaled-by-all-heads): divides the scores by the root of n_embd * n_head
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q, k, v = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        root = k.shape[-1] ** 0.5
        q, k, v = (t.view(*t.shape[:2], self.n_head, self.n_embd).transpose(1, 2) for t in (q, k, v))
        weights = torch.softmax(q @ k.mT / root, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (misconception softmax-over-questions): softmax over the questions instead of the examples
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q, k, v = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        q, k, v = (t.view(*t.shape[:2], self.n_head, self.n_embd).transpose(1, 2) for t in (q, k, v))
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=2)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (misconception heads-not-moved-back): merges the heads without a transpose (subtle: right for one question or one head)
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
        q, k, v = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        q, k, v = (t.view(n, -1, self.n_head, self.n_embd).transpose(1, 2) for t in (q, k, v))
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).reshape(n, queries, self.n_head * self.n_embd))


# %% QueryAttention wrong (property finite_when_scaled): softmax by hand, minus the largest score of all (subtle: questions with far lower scores give nan)
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q, k, v = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        q, k, v = (t.view(*t.shape[:2], self.n_head, self.n_embd).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.mT / self.n_embd**0.5
        powers = torch.exp(scores - scores.max())
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (property lets_gradients_through): detaches the weights, so q_proj and k_proj are never trained (subtle: the output is right)
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q, k, v = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        q, k, v = (t.view(*t.shape[:2], self.n_head, self.n_embd).transpose(1, 2) for t in (q, k, v))
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1).detach()
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention right (passed): view, transpose, softmax, and back
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q, k, v = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        q, k, v = (t.view(*t.shape[:2], self.n_head, self.n_embd).transpose(1, 2) for t in (q, k, v))
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention right (passed): a loop over chunks of the projections, one head after the other, with einsum
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(n_embd, n_embd * n_head, bias=False))
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        queries = self.q_proj(z_q).split(self.n_embd, dim=-1)
        keys = self.k_proj(z).split(self.n_embd, dim=-1)
        values = self.v_proj(z).split(self.n_embd, dim=-1)
        mixed = []
        for query, key, value in zip(queries, keys, values):
            scores = torch.einsum("nqd,nld->nql", query * self.n_embd**-0.5, key)
            mixed.append(torch.einsum("nql,nld->nqd", scores.softmax(dim=-1), value))
        return self.o_proj(torch.cat(mixed, dim=-1))


# %% qk_circuit wrong (misconception wrong-side): W_Q W_K^T instead of W_Q^T W_K
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    w_q = model.q_proj.weight.view(-1, D, D)
    w_k = model.k_proj.weight.view(-1, D, D)
    return w_q @ w_k.mT / D**0.5


# %% qk_circuit wrong (misconception scaled-by-all-heads): divides by the root of D times the number of heads
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    w_q = model.q_proj.weight.view(-1, D, D)
    w_k = model.k_proj.weight.view(-1, D, D)
    return w_q.mT @ w_k / model.q_proj.out_features**0.5


# %% qk_circuit wrong (property state): remembers the result for each model (subtle: a second call after more training returns the old matrices)
from functools import lru_cache


@lru_cache
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    w_q = model.q_proj.weight.view(-1, D, D)
    w_k = model.k_proj.weight.view(-1, D, D)
    return w_q.mT @ w_k / D**0.5


# %% qk_circuit wrong (misconception last-row-emptied): sets the last row to 0 (subtle: the scores of questions (x_q, 0) stay the same, the matrix does not)
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    w_q = model.q_proj.weight.view(-1, D, D)
    w_k = model.k_proj.weight.view(-1, D, D)
    question = torch.ones(D, 1, device=w_q.device)
    question[-1] = 0
    return w_q.mT @ w_k / D**0.5 * question


# %% qk_circuit wrong (difference factor): divides by the root of 6 (subtle: right only for tokens of six numbers)
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    w_q, w_k = model.q_proj.weight, model.k_proj.weight
    D = w_q.shape[1]
    heads = len(w_q) // D
    return w_q.view(heads, D, D).mT @ w_k.view(heads, D, D) / 6**0.5


# %% qk_circuit right (passed): splits the rows into heads, transposes W_Q, and multiplies
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    w_q = model.q_proj.weight.view(-1, D, D)
    w_k = model.k_proj.weight.view(-1, D, D)
    return w_q.mT @ w_k / D**0.5


# %% qk_circuit right (passed): a loop over the heads' slices, with einsum
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    rows, D = model.q_proj.weight.shape
    circuits = []
    for start in range(0, rows, D):
        q = model.q_proj.weight[start : start + D]
        k = model.k_proj.weight[start : start + D]
        circuits.append(torch.einsum("oi,oj->ij", q, k).div(D**0.5))
    return torch.stack(circuits)


# %% ov_circuit wrong (misconception values-not-turned): does not transpose W_V
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    v = model.v_proj.weight.view(-1, D, D)
    o = model.o_proj.weight.T.reshape(-1, D, model.o_proj.out_features)
    return v @ o


# %% ov_circuit wrong (misconception scaled): divides by the root of D, as in QK
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    v = model.v_proj.weight.view(-1, D, D)
    o = model.o_proj.weight.T.reshape(-1, D, model.o_proj.out_features)
    return v.mT @ o / D**0.5


# %% ov_circuit wrong (misconception reshaped): reshapes W_O without transposing it (subtle: right for one output)
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    v = model.v_proj.weight.view(-1, D, D)
    o = model.o_proj.weight.view(-1, D, model.o_proj.out_features)
    return v.mT @ o


# %% ov_circuit wrong (misconception heads-cut-across): gives every n-th column of W_O to a head (subtle: right for one head)
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    v = model.v_proj.weight.view(-1, D, D)
    heads = len(v)
    return torch.stack([v[h].T @ model.o_proj.weight[:, h::heads].T for h in range(heads)])


# %% ov_circuit wrong (shape): always splits into two heads (subtle: right for two heads)
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    v_0, v_1 = model.v_proj.weight.chunk(2, dim=0)
    o_0, o_1 = model.o_proj.weight.chunk(2, dim=1)
    return torch.stack((v_0.T @ o_0.T, v_1.T @ o_1.T))


# %% ov_circuit right (passed): splits both matrices into heads and multiplies the transposes
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    v = model.v_proj.weight.view(-1, D, D)
    o = model.o_proj.weight.T.reshape(-1, D, model.o_proj.out_features)
    return v.mT @ o


# %% ov_circuit right (passed): one einsum over the split matrices
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    w_v, w_o = model.v_proj.weight, model.o_proj.weight
    D = w_v.shape[1]
    return torch.einsum("hmd,ohm->hdo", w_v.unflatten(0, (-1, D)), w_o.unflatten(1, (-1, D)))


# %% kernel_estimator wrong (difference milestone): divides the scores by the root of d as well
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT / x.shape[-1] ** 0.5
    answer = 0
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * torch.softmax(w_h * scores, dim=-1) @ y
    return answer


# %% kernel_estimator wrong (misconception averaged-heads): takes the mean over the heads instead of the sum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    return torch.stack([m * torch.softmax(a * scores, dim=-1) @ y for a, m in zip(w, mu)]).mean(dim=0)


# %% kernel_estimator wrong (misconception one-head-for-equal-w): collects the heads in a dict (subtle: of two heads with equal w, only the last one counts)
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    heads = dict(zip(w, mu))
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    return sum(mu_h * torch.softmax(w_h * scores, dim=-1) @ y for w_h, mu_h in heads.items())


# %% kernel_estimator wrong (difference milestone): one softmax over the examples of all questions together (subtle: right for one question)
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    answer = torch.zeros_like(z_q[..., :1])
    for w_h, mu_h in zip(w, mu):
        weights = torch.softmax((w_h * scores).flatten(1), dim=-1).view_as(scores)
        answer = answer + mu_h * (weights @ y)
    return answer


# %% kernel_estimator wrong (difference milestone): subtracts the mean of y first (subtle: cancels if the mu of all heads add up to 0)
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    y = y - y.mean(dim=1, keepdim=True)
    scores = x_q @ x.mT
    answer = torch.zeros_like(z_q[..., :1])
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * (torch.softmax(w_h * scores, dim=-1) @ y)
    return answer


# %% kernel_estimator right (passed): a loop over the heads
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    answer = torch.zeros_like(z_q[..., :1])
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * (torch.softmax(w_h * scores, dim=-1) @ y)
    return answer


# %% kernel_estimator right (passed): all heads at once with einsum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    d = z.shape[-1] - 1
    sharpness = torch.as_tensor(w, dtype=z.dtype, device=z.device)
    factor = torch.as_tensor(mu, dtype=z.dtype, device=z.device)
    scores = torch.einsum("h,nqd,nld->hnql", sharpness, z_q[..., :d], z[..., :d])
    weights = scores.softmax(dim=-1)
    return torch.einsum("h,hnql,nl->nq", factor, weights, z[..., d]).unsqueeze(-1)


# %% gradient_step_estimator wrong (misconception factor-two): takes the gradient of the mean square without the half, so the step is twice as long
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    gradient = -2 * x.mT @ y / x.shape[1]
    beta = -gradient
    return x_q @ beta


# %% gradient_step_estimator wrong (misconception centred): subtracts the mean of the examples' x, as the trained layer does
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    centred = x - x.mean(dim=1, keepdim=True)
    beta = centred.mT @ y / x.shape[1]
    return x_q @ beta


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): divides by the number of all examples in the batch (subtle: right for a single prompt)
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = (x * y).sum(dim=1, keepdim=True) / y.numel()
    return (beta * x_q).sum(dim=-1, keepdim=True)


# %% gradient_step_estimator wrong (misconception divided-by-40): always divides by 40 (subtle: right for prompts of forty examples)
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = x.mT @ y / 40
    return x_q @ beta


# %% gradient_step_estimator wrong (difference constant): answers the first question for all (subtle: right for one question in a prompt)
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[:, 0, :-1], z[..., :-1], z[..., -1]
    beta = torch.einsum("nld,nl->nd", x, y) / z.shape[1]
    answer = (x_q * beta).sum(dim=-1)
    return answer[:, None, None].expand(-1, z_q.shape[1], 1)


# %% gradient_step_estimator right (passed): beta is the mean of y x
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = (x * y).mean(dim=1)
    return torch.einsum("nqd,nd->nq", x_q, beta).unsqueeze(-1)


# %% gradient_step_estimator right (passed): like linear attention, the mean of the scores times y
def gradient_step_estimator(z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
                            ) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    d = z.size(-1) - 1
    scores = torch.bmm(z_q[:, :, :d], z[:, :, :d].transpose(1, 2))
    return torch.bmm(scores, z[:, :, d:]) / z.size(1)


