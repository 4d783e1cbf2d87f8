# %% QueryAttention wrong (misconception scaled-by-all-heads): divides the scores by the root of the whole projection's width, n_embd times n_head
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        width = n_embd * n_head
        self.q_proj = nn.Linear(n_embd, width, bias=False)
        self.k_proj = nn.Linear(n_embd, width, bias=False)
        self.v_proj = nn.Linear(n_embd, width, bias=False)
        self.o_proj = nn.Linear(width, n_out, bias=False)

    def forward(self, z_q, z):
        queries, keys, values = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        results = []
        for q, k, v in zip(queries.chunk(self.n_head, -1), keys.chunk(self.n_head, -1), values.chunk(self.n_head, -1)):
            scores = q @ k.transpose(1, 2) / queries.shape[-1] ** 0.5
            results.append(scores.softmax(-1) @ v)
        return self.o_proj(torch.cat(results, -1))

# %% QueryAttention wrong (misconception heads-cut-across-positions): views the projections straight as heads by positions without a transpose, so tokens are cut apart
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

    def forward(self, z_q, z):
        n = len(z)
        q = self.q_proj(z_q).view(n, self.n_head, -1, self.n_embd)
        k = self.k_proj(z).view(n, self.n_head, -1, self.n_embd)
        v = self.v_proj(z).view(n, self.n_head, -1, self.n_embd)
        attn = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((attn @ v).transpose(1, 2).reshape(n, -1, self.n_head * self.n_embd))

# %% QueryAttention wrong (misconception softmax-over-heads): takes the softmax over the heads instead of over the examples
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(n_embd, n_embd * n_head, bias=False) for _ in range(3))
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        split = lambda t: t.unflatten(-1, (self.n_head, self.n_embd))
        q, k, v = split(self.q_proj(z_q)), split(self.k_proj(z)), split(self.v_proj(z))
        scores = torch.einsum("nqhd,nlhd->nhql", q, k) * self.n_embd**-0.5
        weights = scores.softmax(dim=1)
        return self.o_proj(torch.einsum("nhql,nlhd->nqhd", weights, v).flatten(2))

# %% QueryAttention wrong (property finite_when_scaled): subtracts one maximum of the whole tensor before exp, so rows far below it become 0 / 0
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def heads(self, t):
        return t.unflatten(-1, (self.n_head, -1)).transpose(1, 2)

    def forward(self, z_q, z):
        q, k, v = self.heads(self.q_proj(z_q)), self.heads(self.k_proj(z)), self.heads(self.v_proj(z))
        scores = q @ k.mT / self.n_embd**0.5
        e = torch.exp(scores - scores.max())
        weights = e / e.sum(dim=-1, keepdim=True)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))

# %% QueryAttention wrong (difference milestone): one softmax over all questions and examples together, right only for a single question
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        lin = lambda i, o: nn.Linear(i, o, bias=False)
        self.q_proj = lin(n_embd, n_embd * n_head)
        self.k_proj = lin(n_embd, n_embd * n_head)
        self.v_proj = lin(n_embd, n_embd * n_head)
        self.o_proj = lin(n_embd * n_head, n_out)

    def forward(self, z_q, z):
        q = self.q_proj(z_q).unflatten(-1, (self.n_head, self.n_embd)).movedim(2, 1)
        k = self.k_proj(z).unflatten(-1, (self.n_head, self.n_embd)).movedim(2, 1)
        v = self.v_proj(z).unflatten(-1, (self.n_head, self.n_embd)).movedim(2, 1)
        scores = q @ k.mT / self.n_embd**0.5
        weights = scores.flatten(2).softmax(-1).view_as(scores)
        return self.o_proj((weights @ v).movedim(1, 2).flatten(2))

# %% QueryAttention wrong (property made_in_order): creates k_proj before q_proj, so a seed gives the layers other weights than in the stated order
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        inner = n_embd * n_head
        # from the examples
        self.k_proj = nn.Linear(n_embd, inner, bias=False)
        self.v_proj = nn.Linear(n_embd, inner, bias=False)
        # from the question
        self.q_proj = nn.Linear(n_embd, inner, bias=False)
        self.o_proj = nn.Linear(inner, n_out, bias=False)

    def forward(self, z_q, z):
        q, k, v = (
            layer(t).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
            for layer, t in ((self.q_proj, z_q), (self.k_proj, z), (self.v_proj, z))
        )
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))

# %% QueryAttention right (passed): einsum over the weights themselves, each head added to the output on its own
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        for name in ("q_proj", "k_proj", "v_proj"):
            self.add_module(name, nn.Linear(n_embd, n_embd * n_head, bias=False))
        self.add_module("o_proj", nn.Linear(n_embd * n_head, n_out, bias=False))

    def forward(self, z_q, z):
        rows = (self.n_head, self.n_embd)
        W_q, W_k, W_v = (layer.weight.unflatten(0, rows) for layer in (self.q_proj, self.k_proj, self.v_proj))
        W_o = self.o_proj.weight.unflatten(1, rows)
        scores = torch.einsum("nqa,hca,hcb,nlb->nhql", z_q, W_q, W_k, z) / self.n_embd**0.5
        weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
        return torch.einsum("nhql,nlb,hcb,ohc->nqo", weights, z, W_v, W_o)

# %% QueryAttention right (passed): heads folded into the batch axis, bmm, and the scale put on the queries
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = [
            nn.Linear(i, o, bias=False) for i, o in [(n_embd, n_embd * n_head)] * 3 + [(n_embd * n_head, n_out)]
        ]

    def forward(self, z_q, z):
        def fold(t):
            return torch.cat(t.split(self.n_embd, dim=-1), dim=0)  # [heads * n, length, n_embd]

        q = fold(self.q_proj(z_q)) * self.n_embd**-0.5
        mixed = torch.bmm(nn.functional.softmax(torch.bmm(q, fold(self.k_proj(z)).mT), dim=2), fold(self.v_proj(z)))
        return self.o_proj(torch.cat(mixed.chunk(self.n_head, dim=0), dim=-1))

# %% kernel_estimator wrong (misconception distance-kernel): scores by minus half the squared distance, as in the usual kernel regression, not by the dot product
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    half = -0.5 * (x_q[:, :, None] - x[:, None]).square().sum(-1)
    answer = 0
    for a, m in zip(w, mu):
        answer = answer + m * torch.softmax(a * half, dim=-1) @ y
    return answer

# %% kernel_estimator wrong (misconception averaged-heads): takes the mean over the heads instead of the sum
def kernel_estimator(z_q, z, w, mu):
    s = z_q[..., :-1] @ z[..., :-1].mT
    y = z[..., -1:]
    per_head = torch.stack([m * (s * a).softmax(-1) @ y for a, m in zip(w, mu)])
    return per_head.mean(dim=0)

# %% kernel_estimator wrong (difference milestone): unpacks the zipped numbers in the wrong order, so mu sharpens and w multiplies
def kernel_estimator(z_q, z, w, mu):
    x, y = z[:, :, :-1], z[:, :, -1:]
    scores = torch.einsum("nqd,nld->nql", z_q[:, :, :-1], x)
    return sum(m * torch.einsum("nql,nlo->nqo", torch.softmax(a * scores, 2), y) for m, a in zip(w, mu))

# %% kernel_estimator wrong (misconception one-head-for-equal-w): puts the heads in a dict by their w, so of several heads with the same w only the last counts
def kernel_estimator(z_q, z, w, mu):
    roles = dict(zip(w, mu))
    x, y = z.split([z.shape[-1] - 1, 1], dim=-1)
    scores = z_q[..., :-1] @ x.mT
    answer = torch.zeros_like(z_q[..., :1])
    for slope, factor in roles.items():
        answer = answer + factor * (torch.softmax(slope * scores, dim=-1) @ y)
    return answer

# %% kernel_estimator wrong (shape): cuts every token after five entries, which is right only for the page's d = 5
def kernel_estimator(z_q, z, w, mu):
    scores = z_q[..., :5] @ z[..., :5].mT
    y = z[..., 5:]
    out = 0
    for head in range(len(w)):
        out = out + mu[head] * torch.softmax(w[head] * scores, dim=-1) @ y
    return out

# %% kernel_estimator wrong (property leaves_its_inputs): sets the y of the caller's examples to 0 to keep them out of the scores
def kernel_estimator(z_q, z, w, mu):
    y = z[..., -1:].clone()
    z[..., -1] = 0.0
    scores = z_q @ z.mT
    return sum(m * torch.softmax(a * scores, dim=-1) @ y for a, m in zip(w, mu))

# %% kernel_estimator right (passed): all heads at once by one einsum over a stacked softmax
def kernel_estimator(z_q, z, w, mu):
    slopes, factors = z.new_tensor(w), z.new_tensor(mu)
    dots = torch.einsum("nqd,nld->nql", z_q[..., :-1], z[..., :-1])
    weights = torch.einsum("h,nql->hnql", slopes, dots).softmax(dim=-1)
    return torch.einsum("h,hnql,nl->nq", factors, weights, z[..., -1])[..., None]

# %% kernel_estimator right (passed): recursion over the heads, with the softmax written as exp of a shifted logit
def kernel_estimator(z_q, z, w, mu):
    if not len(w):
        return z_q.new_zeros(*z_q.shape[:-1], 1)
    logits = w[0] * torch.matmul(z_q[:, :, :-1], z[:, :, :-1].transpose(1, 2))
    weights = torch.exp(logits - torch.logsumexp(logits, dim=2, keepdim=True))
    mean_y = (weights * z[:, :, -1].unsqueeze(1)).sum(dim=2, keepdim=True)
    return mu[0] * mean_y + kernel_estimator(z_q, z, w[1:], mu[1:])

# %% ov_circuit wrong (misconception values-not-turned): multiplies the value weights without transposing them
def ov_circuit(model: nn.Module):
    D = model.v_proj.in_features
    out = []
    for h in range(model.v_proj.out_features // D):
        W_v = model.v_proj.weight[h * D : (h + 1) * D]
        W_o = model.o_proj.weight[:, h * D : (h + 1) * D]
        out.append(W_v @ W_o.T)
    return torch.stack(out)

# %% ov_circuit wrong (misconception heads-cut-across): cuts the columns of o_proj as if the heads were interleaved
def ov_circuit(model: nn.Module):
    D, H = model.n_embd, model.n_head
    W_v = model.v_proj.weight.view(H, D, D)
    W_o = model.o_proj.weight.view(-1, D, H)
    return torch.einsum("hcd,och->hdo", W_v, W_o)

# %% ov_circuit wrong (misconception scaled): divides by the root of D, copied from qk_circuit
def ov_circuit(model: nn.Module):
    """Return each head's W_V^T W_O^T, which maps a token to the outputs."""
    D = model.v_proj.weight.shape[1]
    W_v = model.v_proj.weight.unflatten(0, (-1, D))
    W_o = model.o_proj.weight.unflatten(1, (-1, D)).transpose(0, 1)
    return W_v.mT @ W_o.mT / D**0.5

# %% ov_circuit wrong (shape): reads only the first output of o_proj, right for one output
def ov_circuit(model: nn.Module):
    width = model.n_embd
    values = model.v_proj.weight.reshape(model.n_head, width, width)
    reads = model.o_proj.weight[0].reshape(model.n_head, width, 1)
    return values.transpose(1, 2) @ reads

# %% ov_circuit wrong (difference rearranged): multiplies in the other order and reshapes instead of transposing, right only for one output
def ov_circuit(model: nn.Module):
    D = model.n_embd
    pieces = zip(model.o_proj.weight.split(D, dim=1), model.v_proj.weight.split(D, dim=0))
    return torch.stack([(o @ v).reshape(D, -1) for o, v in pieces])

# %% ov_circuit wrong (shape): assumes two heads, so with four heads it joins heads in pairs
def ov_circuit(model: nn.Module):
    v0, v1 = model.v_proj.weight.chunk(2, dim=0)
    o0, o1 = model.o_proj.weight.chunk(2, dim=1)
    return torch.stack((v0.T @ o0.T, v1.T @ o1.T))

# %% ov_circuit right (passed): pushes the unit tokens through v_proj and each head's columns of o_proj
def ov_circuit(model: nn.Module):
    W_v, W_o = model.v_proj.weight, model.o_proj.weight
    D = W_v.shape[1]
    values = model.v_proj(torch.eye(D, dtype=W_v.dtype, device=W_v.device))
    return torch.stack([nn.functional.linear(v, o) for v, o in zip(values.split(D, dim=-1), W_o.split(D, dim=-1))])

# %% ov_circuit right (passed): one bmm over views of the transposed weights
def ov_circuit(model: nn.Module):
    n_out, inner = model.o_proj.weight.shape
    D = model.v_proj.weight.size(1)
    heads = inner // D
    left = model.v_proj.weight.t().reshape(D, heads, D).transpose(0, 1)
    right = model.o_proj.weight.t().reshape(heads, D, n_out)
    return torch.bmm(left, right)
