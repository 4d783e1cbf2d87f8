# %% sample_regression wrong (misconception noise-not-scaled): forgets the root of d in the noise
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * torch.randn(n, L, 1, generator=generator)
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression wrong (misconception one-beta-for-all): one beta for all prompts
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(d, 1, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression wrong (misconception noisy-answer): the answer has noise too; shows when noise_std is not 0
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L + 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L + 1, 1, generator=generator)
    z = torch.cat((x[:, :L], y[:, :L]), dim=-1)
    z_q = torch.cat((x[:, L:], torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, y[:, L:]


# %% sample_regression wrong (property errors_from_the_generator): samples the noise without the generator; shows when a seeded call with noise is repeated
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta
    y = y + noise_std * d**0.5 * torch.randn_like(y)
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression wrong (misconception x_q-from-the-examples): the question's x is a copy of the last example's x; each part alone looks right
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    x_q = x[:, -1:]
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z = torch.cat((x, y), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression right (passed): separate samples, matmul and cat
def sample_regression(n, L, d, noise_std, generator=None):
    beta = torch.randn(n, d, 1, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z = torch.cat((x, x @ beta + noise), dim=-1)
    z_q = torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1)
    return z_q, z, x_q @ beta


# %% sample_regression right (passed): samples all x at once, products and sums, pad for the question's 0
def sample_regression(n, L, d, noise_std, generator=None):
    every_x = torch.randn((n, L + 1, d), generator=generator)
    beta = torch.randn((n, 1, d), generator=generator)
    every_y = (every_x * beta).sum(dim=-1, keepdim=True)
    errors = torch.randn((n, L, 1), generator=generator) * (noise_std * d**0.5)
    z = torch.zeros(n, L, d + 1)
    z[..., :d] = every_x[:, 1:]
    z[..., d:] = every_y[:, 1:] + errors
    z_q = nn.functional.pad(every_x[:, :1], (0, 1))
    return z_q, z, every_y[:, :1]


# %% QueryAttention wrong (misconception scaled-by-all-heads): divides the scores by the root of n_embd * n_head
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.transpose(-2, -1) / (self.n_embd * self.n_head) ** 0.5
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(z_q.shape[0], z_q.shape[1], -1)
        return self.o_proj(out)


# %% QueryAttention wrong (misconception softmax-over-questions): softmax over the questions instead of the examples
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.transpose(-2, -1) / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-2)
        out = (weights @ v).transpose(1, 2).reshape(z_q.shape[0], z_q.shape[1], -1)
        return self.o_proj(out)


# %% QueryAttention wrong (misconception heads-not-moved-back): joins the heads without moving the head axis back; shows with several questions and several heads
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.transpose(-2, -1) / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ v).reshape(z_q.shape[0], z_q.shape[1], -1)
        return self.o_proj(out)


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
        return x.view(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.transpose(-2, -1) / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(z_q.shape[0], z_q.shape[1], -1)
        return self.o_proj(out)


# %% QueryAttention wrong (property finite_when_scaled): softmax by hand without subtracting the maximum; shows when large scores overflow
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.transpose(-2, -1) / self.n_embd**0.5
        powers = scores.exp()
        weights = powers / powers.sum(dim=-1, keepdim=True)
        out = (weights @ v).transpose(1, 2).reshape(z_q.shape[0], z_q.shape[1], -1)
        return self.o_proj(out)


# %% QueryAttention right (passed): views with a head axis, matmul and softmax
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(z)), self.split(self.v_proj(z))
        scores = q @ k.transpose(-2, -1) / self.n_embd**0.5
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(z_q.shape[0], z_q.shape[1], -1)
        return self.o_proj(out)


# %% QueryAttention right (passed): unflatten, and torch's scaled_dot_product_attention with its default scale
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        wide = n_embd * n_head
        self.q_proj = nn.Linear(n_embd, wide, bias=False)
        self.k_proj = nn.Linear(n_embd, wide, bias=False)
        self.v_proj = nn.Linear(n_embd, wide, bias=False)
        self.o_proj = nn.Linear(wide, n_out, bias=False)

    def forward(self, z_q, z):
        q = self.q_proj(z_q).unflatten(-1, (self.n_head, self.n_embd)).movedim(2, 1)
        k = self.k_proj(z).unflatten(-1, (self.n_head, self.n_embd)).movedim(2, 1)
        v = self.v_proj(z).unflatten(-1, (self.n_head, self.n_embd)).movedim(2, 1)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.o_proj(mixed.movedim(1, 2).flatten(2))


# %% qk_circuit wrong (misconception question-and-example-swapped): W_K^T W_Q, the transpose of each matrix
def qk_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_q = model.q_proj.weight.view(heads, D, D)
    W_k = model.k_proj.weight.view(heads, D, D)
    return W_k.mT @ W_q / D**0.5


# %% qk_circuit wrong (misconception not-scaled): forgets to divide by the root of D
def qk_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_q = model.q_proj.weight.view(heads, D, D)
    W_k = model.k_proj.weight.view(heads, D, D)
    return W_q.mT @ W_k


# %% qk_circuit wrong (misconception heads-cut-across): takes every n_head-th row for a head; shows with more than one head
def qk_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_q = model.q_proj.weight.view(D, heads, D).transpose(0, 1)
    W_k = model.k_proj.weight.view(D, heads, D).transpose(0, 1)
    return W_q.mT @ W_k / D**0.5


# %% qk_circuit wrong (difference factor): always divides by the root of 6; shows when D is not 6
def qk_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_q = model.q_proj.weight.view(heads, D, D)
    W_k = model.k_proj.weight.view(heads, D, D)
    return W_q.mT @ W_k / 6**0.5


# %% qk_circuit wrong (misconception scaled-by-all-heads): divides by the root of the number of rows of W_Q, D times the heads; shows with more than one head
def qk_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_q = model.q_proj.weight.view(heads, D, D)
    W_k = model.k_proj.weight.view(heads, D, D)
    return W_q.mT @ W_k / model.q_proj.weight.shape[0] ** 0.5


# %% qk_circuit right (passed): views with a head axis, matmul
def qk_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_q = model.q_proj.weight.view(heads, D, D)
    W_k = model.k_proj.weight.view(heads, D, D)
    return W_q.mT @ W_k / D**0.5


# %% qk_circuit right (passed): a loop over the heads with slices and einsum
def qk_circuit(model):
    D = model.n_embd
    circuits = []
    for h in range(model.n_head):
        rows = slice(h * D, (h + 1) * D)
        query, key = model.q_proj.weight[rows], model.k_proj.weight[rows]
        circuits.append(torch.einsum("oi,oj->ij", query * D**-0.5, key))
    return torch.stack(circuits)


# %% ov_circuit wrong (misconception values-not-turned): does not transpose W_V
def ov_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_v = model.v_proj.weight.view(heads, D, D)
    W_o = model.o_proj.weight.T.reshape(heads, D, -1)
    return W_v @ W_o


# %% ov_circuit wrong (misconception heads-cut-across): takes every n_head-th column of W_O for a head
def ov_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_v = model.v_proj.weight.view(heads, D, D)
    W_o = model.o_proj.weight.T.reshape(D, heads, -1).transpose(0, 1)
    return W_v.mT @ W_o


# %% ov_circuit wrong (difference milestone): reads W_O as [heads, n_out, D] without moving the axes; shows with several outputs and heads
def ov_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_v = model.v_proj.weight.view(heads, D, D)
    W_o = model.o_proj.weight.reshape(heads, -1, D)
    return W_v.mT @ W_o.mT


# %% ov_circuit wrong (shape): uses only the first output; shows when n_out is not 1
def ov_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_v = model.v_proj.weight.view(heads, D, D)
    W_o = model.o_proj.weight[0].view(heads, D, 1)
    return W_v.mT @ W_o


# %% ov_circuit wrong (shape): always cuts the weights into two heads; shows when n_head is not 2
def ov_circuit(model):
    values = model.v_proj.weight.chunk(2, dim=0)
    outputs = model.o_proj.weight.chunk(2, dim=1)
    return torch.stack([W_v.T @ W_o.T for W_v, W_o in zip(values, outputs)])


# %% ov_circuit right (passed): a list over the heads with split
def ov_circuit(model):
    D = model.n_embd
    values = model.v_proj.weight.split(D, dim=0)
    outputs = model.o_proj.weight.split(D, dim=1)
    return torch.stack([W_v.T @ W_o.T for W_v, W_o in zip(values, outputs)])


# %% ov_circuit right (passed): one einsum over weights with a head axis
def ov_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_v = model.v_proj.weight.unflatten(0, (heads, D))
    W_o = model.o_proj.weight.unflatten(1, (heads, D))
    return torch.einsum("hki,ohk->hio", W_v, W_o)


# %% kernel_estimator wrong (difference milestone): divides the scores by the root of d too, which w already contains
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT / x.shape[-1] ** 0.5
    return sum(m * torch.softmax(a * scores, dim=-1) @ y for a, m in zip(w, mu))


# %% kernel_estimator wrong (misconception averaged-heads): the mean over the heads instead of the sum
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    answers = [m * torch.softmax(a * scores, dim=-1) @ y for a, m in zip(w, mu)]
    return torch.stack(answers).mean(dim=0)


# %% kernel_estimator wrong (difference milestone): the straight line in place of the softmax; shows when w times the scores is not small
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    scores = scores - scores.mean(dim=-1, keepdim=True)
    return sum(m * ((1 + a * scores) / z.shape[1]) @ y for a, m in zip(w, mu))


# %% kernel_estimator wrong (property sizes): x is always the first five entries; shows when d is larger than 5
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[..., :5], z[..., :5], z[..., -1:]
    scores = x_q @ x.mT
    return sum(m * torch.softmax(a * scores, dim=-1) @ y for a, m in zip(w, mu))


# %% kernel_estimator wrong (difference constant): gives every question the answer of the first; shows with several questions
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[:, 0, :-1], z[..., :-1], z[..., -1]
    scores = (x * x_q[:, None]).sum(dim=-1)
    answer = sum(m * (torch.softmax(a * scores, dim=-1) * y).sum(dim=-1) for a, m in zip(w, mu))
    return answer[:, None, None].expand(-1, z_q.shape[1], 1)


# %% kernel_estimator right (passed): a loop over the heads
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    answer = torch.zeros_like(z_q[..., :1])
    for a, m in zip(w, mu):
        answer = answer + m * (torch.softmax(a * scores, dim=-1) @ y)
    return answer


# %% kernel_estimator right (passed): all heads at once on a head axis, with einsum
def kernel_estimator(z_q, z, w, mu):
    d = z.shape[-1] - 1
    rates = torch.as_tensor(w, dtype=z.dtype, device=z.device)
    factors = torch.as_tensor(mu, dtype=z.dtype, device=z.device)
    scores = torch.einsum("nqd,nld->nql", z_q[..., :d], z[..., :d])
    weights = (rates[:, None, None, None] * scores).softmax(dim=-1)
    return torch.einsum("h,hnql,nl->nq", factors, weights, z[..., d]).unsqueeze(-1)


# %% gradient_step_estimator wrong (misconception not-divided): the sum over the examples instead of the mean
def gradient_step_estimator(z_q, z):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = x.mT @ y
    return x_q @ beta


# %% gradient_step_estimator wrong (misconception factor-two): forgets the half in the loss, so the step is twice as long
def gradient_step_estimator(z_q, z):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    gradient = -2 * (x.mT @ y) / z.shape[1]
    return x_q @ (0 - gradient)


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): takes the mean over all prompts of the batch too; shows with more than one prompt
def gradient_step_estimator(z_q, z):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = x.mT @ y / y.numel()
    return x_q @ beta


# %% gradient_step_estimator wrong (misconception divided-by-40): always divides by 40; shows when L is not 40
def gradient_step_estimator(z_q, z):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    return x_q @ (x.mT @ y) / 40


# %% gradient_step_estimator wrong (misconception centred): subtracts the mean of the examples' x; shows when this mean is not 0
def gradient_step_estimator(z_q, z):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    centred = x - x.mean(dim=1, keepdim=True)
    return x_q @ (centred * y).mean(dim=1).unsqueeze(-1)


# %% gradient_step_estimator right (passed): beta is the mean of y times x
def gradient_step_estimator(z_q, z):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = (x * y).mean(dim=1)
    return x_q @ beta.unsqueeze(-1)


# %% gradient_step_estimator right (passed): like attention, dot products of question and examples weight the y
def gradient_step_estimator(z_q, z):
    d, L = z.shape[-1] - 1, z.shape[1]
    dots = torch.einsum("nqd,nld->nql", z_q[..., :d], z[..., :d])
    return torch.einsum("nql,nl->nq", dots, z[..., d])[..., None] / L
