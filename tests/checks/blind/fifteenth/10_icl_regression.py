# %% sample_regression wrong (misconception one-beta-for-all): one beta for all prompts
def sample_regression(n, L, d, noise_std, generator=None):
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


# %% sample_regression wrong (misconception answer-given-away): puts the answer instead of 0 into the question
def sample_regression(n, L, d, noise_std, generator=None):
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y = x @ beta + noise
    y_q = x_q @ beta
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, y_q), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (property errors_from_the_generator): samples the noise without the generator; shows when two calls with the same seed are compared and noise_std is not 0
def sample_regression(n, L, d, noise_std, generator=None):
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


# %% sample_regression wrong (misconception one-error-for-a-prompt): one noise for all examples of a prompt; shows when noise_std is not 0
def sample_regression(n, L, d, noise_std, generator=None):
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, 1, 1, generator=generator)
    y = x @ beta + noise
    y_q = x_q @ beta
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (misconception noise-not-scaled): forgets the factor of the root of d in the noise; shows when noise_std is not 0 and d is not 1
def sample_regression(n, L, d, noise_std, generator=None):
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


# %% sample_regression right (passed): randn, matmul and cat
def sample_regression(n, L, d, noise_std, generator=None):
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


# %% sample_regression right (passed): fills empty tensors with normal_, sums products, and writes into tensors of zeros
def sample_regression(n, L, d, noise_std, generator=None):
    """Return (z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    def normal(*shape):
        return torch.empty(shape).normal_(generator=generator)

    beta = normal(n, d)
    z_q, z = torch.zeros(n, 1, d + 1), torch.zeros(n, L, d + 1)
    z_q[:, :, :d] = normal(n, 1, d)
    z[:, :, :d] = normal(n, L, d)
    z[:, :, d] = torch.einsum("nld,nd->nl", z[:, :, :d], beta) + noise_std * (d ** 0.5) * normal(n, L)
    y_q = (z_q[:, :, :d] * beta[:, None, :]).sum(dim=-1, keepdim=True)
    return z_q, z, y_q


# %% QueryAttention wrong (misconception scaled-by-all-heads): divides the scores by the root of n_embd times n_head
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, t):
        return t.view(t.shape[0], t.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        weights = torch.softmax(q @ k.mT / (self.n_embd * self.n_head) ** 0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (misconception sees-itself): the questions attend to themselves too
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, t):
        return t.view(t.shape[0], t.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        z = torch.cat((z, z_q), dim=1)
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (difference milestone): splits the queries into heads with view alone, without a transpose; shows with several questions and several heads
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, t):
        return t.view(t.shape[0], t.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        q, k, v = self.q_proj(z_q).view(z_q.shape[0], self.n_head, z_q.shape[1], self.n_embd), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (property finite_when_scaled): subtracts the largest score of the whole batch before exp; shows (nan) when one row's scores are far below another's
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, t):
        return t.view(t.shape[0], t.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.mT / self.n_embd**0.5
        powers = torch.exp(scores - scores.max())
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (difference milestone): divides by the root of 6, the page's n_embd; shows for another n_embd
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, t):
        return t.view(t.shape[0], t.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        weights = torch.softmax(q @ k.mT / 6**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention right (passed): view and transpose, softmax, matmul
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, t):
        return t.view(t.shape[0], t.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention right (passed): a loop over the heads with slices of the projections, queries scaled first
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(n_embd, n_head * n_embd, bias=False))
        self.o_proj = nn.Linear(n_head * n_embd, n_out, bias=False)

    def forward(self, z_q, z):
        queries, keys, values = self.q_proj(z_q) * self.n_embd**-0.5, self.k_proj(z), self.v_proj(z)
        heads = []
        for q, k, v in zip(*(t.split(self.n_embd, dim=-1) for t in (queries, keys, values))):
            scores = torch.einsum("nqd,nld->nql", q, k)
            weights = torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))
            heads.append(torch.einsum("nql,nld->nqd", weights, v))
        return self.o_proj(torch.cat(heads, dim=-1))


# %% qk_circuit wrong (misconception wrong-side): the transpose is on W_K instead of W_Q
def qk_circuit(model):
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D, heads = model.n_embd, model.n_head
    W_Q = model.q_proj.weight.view(heads, D, D)
    W_K = model.k_proj.weight.view(heads, D, D)
    return W_Q @ W_K.mT / D**0.5


# %% qk_circuit wrong (misconception not-scaled): forgets to divide by the root of D
def qk_circuit(model):
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D, heads = model.n_embd, model.n_head
    W_Q = model.q_proj.weight.view(heads, D, D)
    W_K = model.k_proj.weight.view(heads, D, D)
    return W_Q.mT @ W_K


# %% qk_circuit wrong (misconception scaled-by-all-heads): divides by the root of the width of all heads together; shows with two or more heads
def qk_circuit(model):
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D, heads = model.n_embd, model.n_head
    W_Q = model.q_proj.weight.view(heads, D, D)
    W_K = model.k_proj.weight.view(heads, D, D)
    return W_Q.mT @ W_K / model.q_proj.out_features**0.5


# %% qk_circuit wrong (misconception heads-cut-across): takes every n_head-th row as one head, not D neighbouring rows; shows with two or more heads
def qk_circuit(model):
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D, heads = model.n_embd, model.n_head
    W_Q = model.q_proj.weight.view(D, heads, D).transpose(0, 1)
    W_K = model.k_proj.weight.view(D, heads, D).transpose(0, 1)
    return W_Q.mT @ W_K / D**0.5


# %% qk_circuit wrong (shape): always splits into two heads; shows when n_head is not 2
def qk_circuit(model):
    """Return each head's W_Q^T W_K, divided by the root of D."""
    pairs = zip(model.q_proj.weight.chunk(2), model.k_proj.weight.chunk(2))
    return torch.stack([W_Q.T @ W_K for W_Q, W_K in pairs]) / model.n_embd**0.5


# %% qk_circuit right (passed): view into heads, a batch of matrix products
def qk_circuit(model):
    """Return each head's W_Q^T W_K, divided by the root of D."""
    D, heads = model.n_embd, model.n_head
    W_Q = model.q_proj.weight.view(heads, D, D)
    W_K = model.k_proj.weight.view(heads, D, D)
    return W_Q.mT @ W_K / D**0.5


# %% qk_circuit right (passed): a loop over slices of rows, einsum over the rows
def qk_circuit(model):
    """Return each head's W_Q^T W_K, divided by the root of D."""
    W_Q, W_K = model.q_proj.weight, model.k_proj.weight
    D = W_Q.shape[1]
    products = []
    for start in range(0, W_Q.shape[0], D):
        rows = slice(start, start + D)
        products.append(torch.einsum("ra,rb->ab", W_Q[rows], W_K[rows]) * D**-0.5)
    return torch.stack(products)


# %% ov_circuit wrong (misconception values-not-turned): does not transpose W_V
def ov_circuit(model):
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D, heads = model.n_embd, model.n_head
    W_V = model.v_proj.weight.view(heads, D, D)
    W_O = model.o_proj.weight.view(-1, heads, D).transpose(0, 1)
    return W_V @ W_O.mT


# %% ov_circuit wrong (misconception scaled): divides by the root of D, as in QK
def ov_circuit(model):
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D, heads = model.n_embd, model.n_head
    W_V = model.v_proj.weight.view(heads, D, D)
    W_O = model.o_proj.weight.view(-1, heads, D).transpose(0, 1)
    return W_V.mT @ W_O.mT / D**0.5


# %% ov_circuit wrong (misconception reshaped): reshapes o_proj's weight straight into [heads, D, n_out]; shows when n_out is not 1
def ov_circuit(model):
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D, heads = model.n_embd, model.n_head
    W_V = model.v_proj.weight.view(heads, D, D)
    W_O = model.o_proj.weight.reshape(heads, D, -1)
    return W_V.mT @ W_O


# %% ov_circuit wrong (misconception heads-cut-across): takes every n_head-th column of o_proj as one head; shows with two or more heads
def ov_circuit(model):
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D, heads = model.n_embd, model.n_head
    W_V = model.v_proj.weight.view(heads, D, D)
    W_O = model.o_proj.weight.view(-1, D, heads).permute(2, 0, 1)
    return W_V.mT @ W_O.mT


# %% ov_circuit wrong (shape): returns only the first output; shows when n_out is not 1
def ov_circuit(model):
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D, heads = model.n_embd, model.n_head
    W_V = model.v_proj.weight.view(heads, D, D)
    W_O = model.o_proj.weight[:1].view(-1, heads, D).transpose(0, 1)
    return W_V.mT @ W_O.mT


# %% ov_circuit right (passed): views of both weights, a batch of matrix products
def ov_circuit(model):
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D, heads = model.n_embd, model.n_head
    W_V = model.v_proj.weight.view(heads, D, D)
    W_O = model.o_proj.weight.view(-1, heads, D).transpose(0, 1)
    return W_V.mT @ W_O.mT


# %% ov_circuit right (passed): chunks of rows and columns, one product for each head, transposed at the end
def ov_circuit(model):
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.in_features
    rows = torch.split(model.v_proj.weight, D, dim=0)
    columns = torch.split(model.o_proj.weight, D, dim=1)
    return torch.stack([(W_O @ W_V).T for W_V, W_O in zip(rows, columns)])


# %% kernel_estimator wrong (difference milestone): divides the scores by the root of the number of entries of x
def kernel_estimator(z_q, z, w, mu):
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT / x.shape[-1] ** 0.5
    return sum(m * (torch.softmax(a * scores, dim=-1) @ y) for a, m in zip(w, mu))


# %% kernel_estimator wrong (misconception one-softmax): adds the heads' scores and takes one softmax
def kernel_estimator(z_q, z, w, mu):
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    return sum(mu) * (torch.softmax(sum(w) * scores, dim=-1) @ y)


# %% kernel_estimator wrong (misconception one-head-for-equal-w): keeps w and mu in a dictionary; shows when two heads have the same w
def kernel_estimator(z_q, z, w, mu):
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    return sum(m * (torch.softmax(a * scores, dim=-1) @ y) for a, m in dict(zip(w, mu)).items())


# %% kernel_estimator wrong (shape): takes the first five entries as x and the sixth as y; shows when D is not 6
def kernel_estimator(z_q, z, w, mu):
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :5], z[..., :5], z[..., 5:6]
    scores = x_q @ x.mT
    return sum(m * (torch.softmax(a * scores, dim=-1) @ y) for a, m in zip(w, mu))


# %% kernel_estimator wrong (difference constant): uses only the first question of each prompt and repeats its answer; shows with several questions
def kernel_estimator(z_q, z, w, mu):
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = (x_q[:, :1] * x).sum(dim=-1).unsqueeze(1)
    total = sum(m * (torch.softmax(a * scores, dim=-1) @ y) for a, m in zip(w, mu))
    return total.expand(-1, z_q.shape[1], -1)


# %% kernel_estimator right (passed): a sum over heads of softmax and matmul
def kernel_estimator(z_q, z, w, mu):
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    return sum(m * (torch.softmax(a * scores, dim=-1) @ y) for a, m in zip(w, mu))


# %% kernel_estimator right (passed): all heads in one tensor, einsum
def kernel_estimator(z_q, z, w, mu):
    """Return the sum over heads of mu times the softmax-weighted mean of y."""
    d = z.shape[-1] - 1
    w_all, mu_all = (torch.as_tensor(t, dtype=z.dtype, device=z.device) for t in (w, mu))
    scores = torch.einsum("nqd,nld,h->nhql", z_q[..., :d], z[..., :d], w_all)
    weights = scores.softmax(dim=-1)
    return torch.einsum("nhql,nl,h->nq", weights, z[..., d], mu_all).unsqueeze(-1)


# %% gradient_step_estimator wrong (misconception not-divided): the sum over the examples instead of the mean
def gradient_step_estimator(z_q, z):
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = x.mT @ y
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception factor-two): forgets the half in the loss, so the step is twice as long
def gradient_step_estimator(z_q, z):
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = 2 * x.mT @ y / x.shape[1]
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception centred): subtracts the mean of the examples' x; shows when this mean is not 0
def gradient_step_estimator(z_q, z):
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    x = x - x.mean(dim=1, keepdim=True)
    beta = x.mT @ y / x.shape[1]
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): averages the loss over the prompts too, so each step is n times too short; shows when n is not 1
def gradient_step_estimator(z_q, z):
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1].detach(), z[..., -1:].detach()
    with torch.enable_grad():
        beta = torch.zeros(z.shape[0], x.shape[-1], 1, dtype=z.dtype, device=z.device, requires_grad=True)
        loss = 0.5 * (x @ beta - y).square().mean()
        (gradient,) = torch.autograd.grad(loss, beta)
    return z_q[..., :-1] @ -gradient


# %% gradient_step_estimator wrong (misconception divided-by-40): divides by 40, the page's number of examples; shows for another number
def gradient_step_estimator(z_q, z):
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = x.mT @ y / 40
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator right (passed): the gradient at 0 as a matrix product, then the dot product
def gradient_step_estimator(z_q, z):
    """Return the answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = x.mT @ y / x.shape[1]
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator right (passed): the mean of y times the dot product, without beta
def gradient_step_estimator(z_q, z):
    """Return the answer after one step of gradient descent from beta = 0."""
    d = z.shape[-1] - 1
    similar = torch.einsum("nqd,nld->nql", z_q[..., :d], z[..., :d])
    return (similar * z[..., d].unsqueeze(1)).mean(dim=-1, keepdim=True)


