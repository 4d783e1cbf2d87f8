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


# %% sample_regression wrong (misconception noise-not-scaled): the noise is scaled by noise_std without the root of d
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


# %% sample_regression wrong (property errors_from_the_generator): subtle, the noise is sampled without the generator; shows in repeated calls with noise
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1)
    z = torch.cat((x, x @ beta + noise), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression wrong (misconception one-error-for-a-prompt): subtle, all examples of a prompt get the same noise
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


# %% sample_regression right (passed): randn, matmul and cat
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


# %% sample_regression right (passed): fills empty tokens, einsum for the answers
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    z_q, z = torch.zeros(n, 1, d + 1), torch.empty(n, L, d + 1)
    beta = torch.empty(n, d).normal_(generator=generator)
    z_q[..., :d].normal_(generator=generator)
    z.normal_(generator=generator)
    z[..., d] = torch.einsum("nld,nd->nl", z[..., :d], beta) + z[..., d] * (noise_std * d**0.5)
    y_q = (z_q[:, 0, :d] * beta).sum(dim=-1)
    return z_q, z, y_q[:, None, None]


# %% QueryAttention wrong (misconception not-scaled): forgets to divide the scores by the root of n_embd
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        split = lambda x: x.unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
        q, k, v = split(self.q_proj(z_q)), split(self.k_proj(z)), split(self.v_proj(z))
        scores = q @ k.mT
        weights = torch.softmax(scores, dim=-1)
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
        split = lambda x: x.unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
        q, k, v = split(self.q_proj(z_q)), split(self.k_proj(z)), split(self.v_proj(z))
        scores = q @ k.mT / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-2)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (misconception heads-not-moved-back): subtle, merges the heads without the transpose; right with one question or one head
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        split = lambda x: x.unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
        q, k, v = split(self.q_proj(z_q)), split(self.k_proj(z)), split(self.v_proj(z))
        scores = q @ k.mT / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-1)
        return self.o_proj((weights @ v).reshape(z_q.shape[0], z_q.shape[1], -1))


# %% QueryAttention wrong (property finite_when_scaled): subtle, the softmax without its maximum subtracted overflows for large scores
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        split = lambda x: x.unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
        q, k, v = split(self.q_proj(z_q)), split(self.k_proj(z)), split(self.v_proj(z))
        scores = q @ k.mT / self.n_embd**0.5
        powers = scores.exp()
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention right (passed): split, softmax, merge
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        split = lambda x: x.unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
        q, k, v = split(self.q_proj(z_q)), split(self.k_proj(z)), split(self.v_proj(z))
        scores = q @ k.mT / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention right (passed): one head after the other, with einsum
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        D, results = self.n_embd, []
        for h in range(self.n_head):
            q = self.q_proj(z_q)[..., h * D : (h + 1) * D]
            k = self.k_proj(z)[..., h * D : (h + 1) * D]
            v = self.v_proj(z)[..., h * D : (h + 1) * D]
            scores = torch.einsum("nqd,nld->nql", q * D**-0.5, k)
            results.append(torch.einsum("nql,nld->nqd", scores.softmax(dim=2), v))
        return self.o_proj(torch.cat(results, dim=-1))


# %% qk_circuit wrong (misconception wrong-side): multiplies W_Q by the transpose of W_K, the layout of a matrix [in, out]
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.n_embd
    W_Q = model.q_proj.weight.view(model.n_head, D, D)
    W_K = model.k_proj.weight.view(model.n_head, D, D)
    return W_Q @ W_K.mT / D**0.5


# %% qk_circuit wrong (misconception not-scaled): forgets to divide by the root of D
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.n_embd
    W_Q = model.q_proj.weight.view(model.n_head, D, D)
    W_K = model.k_proj.weight.view(model.n_head, D, D)
    return W_Q.mT @ W_K


# %% qk_circuit wrong (difference factor): subtle, divides by the root of 6, the page's D, for every width
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.n_embd
    W_Q = model.q_proj.weight.view(model.n_head, D, D)
    W_K = model.k_proj.weight.view(model.n_head, D, D)
    return W_Q.mT @ W_K / 6**0.5


# %% qk_circuit wrong (shape): subtle, always splits the rows into two heads; wrong with any other number of heads
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.n_embd
    W_Q = model.q_proj.weight.unflatten(0, (2, -1))
    W_K = model.k_proj.weight.unflatten(0, (2, -1))
    return W_Q.mT @ W_K / D**0.5


# %% qk_circuit right (passed): view, transpose, batched product
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D = model.n_embd
    W_Q = model.q_proj.weight.view(model.n_head, D, D)
    W_K = model.k_proj.weight.view(model.n_head, D, D)
    return W_Q.mT @ W_K / D**0.5


# %% qk_circuit right (passed): chunks of rows, one product for each head
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Return each head's W_Q^T W_K, divided by the root of D."""
    pairs = zip(model.q_proj.weight.chunk(model.n_head, dim=0), model.k_proj.weight.chunk(model.n_head, dim=0))
    return torch.stack([torch.einsum("oi,oj->ij", W_q, W_k) * W_q.shape[1] ** -0.5 for W_q, W_k in pairs])


# %% ov_circuit wrong (misconception values-not-turned): W_V is not transposed
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.n_embd
    W_V = model.v_proj.weight.view(model.n_head, D, D)
    W_O = model.o_proj.weight.T.reshape(model.n_head, D, -1)
    return W_V @ W_O


# %% ov_circuit wrong (misconception heads-summed): multiplies the whole matrices and gives every head the sum of all heads
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    whole = model.v_proj.weight.T @ model.o_proj.weight.T
    return whole.expand(model.n_head, -1, -1)


# %% ov_circuit wrong (misconception reshaped): subtle, reshapes the weight of o_proj without the transpose; right with one output
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.n_embd
    W_V = model.v_proj.weight.view(model.n_head, D, D)
    W_O = model.o_proj.weight.reshape(model.n_head, D, -1)
    return W_V.mT @ W_O


# %% ov_circuit wrong (misconception heads-cut-across): subtle, takes every n_head-th column of o_proj for a head; right with one head
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.n_embd
    W_V = model.v_proj.weight.view(model.n_head, D, D)
    W_O = model.o_proj.weight.T.reshape(D, model.n_head, -1).transpose(0, 1)
    return W_V.mT @ W_O


# %% ov_circuit right (passed): view and transpose, batched product
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.n_embd
    W_V = model.v_proj.weight.view(model.n_head, D, D)
    W_O = model.o_proj.weight.T.reshape(model.n_head, D, -1)
    return W_V.mT @ W_O


# %% ov_circuit right (passed): a loop with slices
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D, found = model.n_embd, []
    for h in range(model.n_head):
        part = slice(h * D, (h + 1) * D)
        found.append((model.o_proj.weight[:, part] @ model.v_proj.weight[part]).T)
    return torch.stack(found)


# %% kernel_estimator wrong (misconception w-after-the-softmax): multiplies by w after the softmax
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    return sum(m * (a * torch.softmax(scores, dim=-1)) @ z[..., -1:] for a, m in zip(w, mu))


# %% kernel_estimator wrong (misconception averaged-heads): the mean over the heads instead of their sum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    return sum(m * torch.softmax(a * scores, dim=-1) @ z[..., -1:] for a, m in zip(w, mu)) / len(w)


# %% kernel_estimator wrong (shape): subtle, x is always the first five entries; wrong for another d
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :5] @ z[..., :5].mT
    return sum(m * torch.softmax(a * scores, dim=-1) @ z[..., 5:] for a, m in zip(w, mu))


# %% kernel_estimator wrong (difference constant): subtle, answers only the first question and repeats its answer; right with one question
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[:, :1, :-1] @ z[..., :-1].mT
    answer = sum(m * torch.softmax(a * scores, dim=-1) @ z[..., -1:] for a, m in zip(w, mu))
    return answer.expand(-1, z_q.shape[1], -1)


# %% kernel_estimator right (passed): a sum over the heads
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    scores = z_q[..., :-1] @ z[..., :-1].mT
    return sum(m * torch.softmax(a * scores, dim=-1) @ z[..., -1:] for a, m in zip(w, mu))


# %% kernel_estimator right (passed): all heads at once with einsum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    slopes, factors = z.new_tensor(w), z.new_tensor(mu)
    scores = torch.einsum("h,nqd,nld->hnql", slopes, z_q[..., :-1], z[..., :-1])
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("h,hnql,nl->nq", factors, weights, z[..., -1]).unsqueeze(-1)


# %% gradient_step_estimator wrong (misconception not-divided): the sum over the examples instead of the mean
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = x.mT @ y
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception factor-two): forgets the half in the loss, so the step is twice as long
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = 2 * x.mT @ y / z.shape[1]
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception divided-by-40): subtle, divides by 40, the page's number of examples
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = x.mT @ y / 40
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): subtle, autograd on a loss that is averaged over the prompts too; right with one prompt
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = torch.zeros(z.shape[0], x.shape[-1], 1, dtype=z.dtype, device=z.device, requires_grad=True)
    with torch.enable_grad():
        loss = 0.5 * (x @ beta - y).square().mean()
        (gradient,) = torch.autograd.grad(loss, beta)
    return z_q[..., :-1] @ -gradient


# %% gradient_step_estimator right (passed): the closed form
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = x.mT @ y / z.shape[1]
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator right (passed): residuals at beta = 0, gradient, step, answer, with einsum
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1]
    beta = torch.zeros_like(x[:, 0])
    error = torch.einsum("nd,nld->nl", beta, x) - y
    gradient = (error[..., None] * x).mean(dim=1)
    beta = beta - 1.0 * gradient
    return torch.einsum("nqd,nd->nq", z_q[..., :-1], beta)[..., None]
