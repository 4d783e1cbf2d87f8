# %% gram_scores wrong (misconception key-norms-along-rows): puts the squared length of the keys on the query axis
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq, kk, rr, qr = ((a * b).sum(-1)[..., None] for a, b in ((q, q), (k, k), (r, r), (q, r)))
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)

# %% gram_scores wrong (property one_at_a_time): multiplies each squared dot product by the squared length of one of its own two vectors
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq = torch.einsum("bhid,bhid->bhi", q, q)[..., None]
    kk = torch.einsum("bhjd,bhjd->bhj", k, k)[:, :, None]
    rr = torch.einsum("bhid,bhid->bhi", r, r)[..., None]
    qr = torch.einsum("bhid,bhid->bhi", q, r)[..., None]
    qk = torch.einsum("bhid,bhjd->bhij", q, k)
    rk = torch.einsum("bhid,bhjd->bhij", r, k)
    det = qq * kk * rr + 2 * qk * rk * qr - qq * qk.square() - kk * rk.square() - rr * qr.square()
    return -det

# %% gram_scores wrong (property one_at_a_time): computes r dot k with the keys on the rows, so the entry belongs to the swapped pair
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    length = lambda v: v.square().sum(-1)
    qq, rr = length(q).unsqueeze(-1), length(r).unsqueeze(-1)
    kk = length(k).unsqueeze(-2)
    qr = (q * r).sum(-1, keepdim=True)
    qk = torch.matmul(q, k.transpose(-2, -1))
    kr = torch.matmul(k, r.transpose(-2, -1))
    return qq * kr**2 + kk * qr**2 + rr * qk**2 - qq * kk * rr - 2 * qk * kr * qr

# %% gram_scores wrong (difference milestone): adds a fixed small number to the denominators, which falsifies the scores of short queries and references
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    eps = 1e-5
    qq = q.square().sum(-1, keepdim=True)
    rest = r - (r * q).sum(-1, keepdim=True) / (qq + eps) * q
    ss = rest.square().sum(-1, keepdim=True)
    height = k.square().sum(-1).unsqueeze(-2) - (q @ k.mT) ** 2 / (qq + eps) - (rest @ k.mT) ** 2 / (ss + eps)
    return -qq * ss * height

# %% gram_scores wrong (property gradients): detaches the two unit vectors, so the gradients for queries and references are not those of the score
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    one = nn.functional.normalize(q, dim=-1).detach()
    rest = r - (r * one).sum(-1, keepdim=True) * one
    two = nn.functional.normalize(rest, dim=-1).detach()
    area2 = q.square().sum(-1, keepdim=True) * rest.square().sum(-1, keepdim=True)
    height2 = k.square().sum(-1)[..., None, :] - (one @ k.mT).square() - (two @ k.mT).square()
    return -area2 * height2

# %% gram_scores wrong (property by_matrix_products): subtracts from each key its parts in the plane, which holds a vector for every pair
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    q, r, k = q.unsqueeze(-2), r.unsqueeze(-2), k.unsqueeze(-3)

    def along(v, u):
        uu = (u * u).sum(-1, keepdim=True)
        return (v * u).sum(-1, keepdim=True) / torch.where(uu > 0, uu, 1.0) * u

    rest = r - along(r, q)
    up = k - along(k, q) - along(k, rest)
    return -(q * q).sum(-1) * (rest * rest).sum(-1) * (up * up).sum(-1)

# %% gram_scores right (passed): for each position the d by d matrix of the quadratic form, flattened and multiplied with k times k
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    outer = lambda a, b: a.unsqueeze(-1) * b.unsqueeze(-2)
    dot = lambda a, b: (a * b).sum(-1)[..., None, None]
    qq, rr, qr = dot(q, q), dot(r, r), dot(q, r)
    eye = torch.eye(q.shape[-1], dtype=q.dtype, device=q.device)
    form = (qq * rr - qr * qr) * eye - rr * outer(q, q) - qq * outer(r, r) + qr * (outer(q, r) + outer(r, q))
    return -(form.flatten(-2) @ outer(k, k).flatten(-2).mT)

# %% gram_scores right (passed): the squared length of the keys times the squared area, and the plane's part by addcmul
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq, rr = torch.linalg.vecdot(q, q).unsqueeze(-1), torch.linalg.vecdot(r, r).unsqueeze(-1)
    qr, kk = torch.linalg.vecdot(q, r).unsqueeze(-1), torch.linalg.vecdot(k, k).unsqueeze(-2)
    by_q, by_r = torch.matmul(q, k.mT), torch.matmul(r, k.mT)
    plane = by_q * (rr * by_q - qr * by_r)
    plane = torch.addcmul(plane, by_r, qq * by_r - qr * by_q)
    return torch.addcmul(plane, kk, qq * rr - qr * qr, value=-1)

# %% TripleProductAttention wrong (misconception turned-before-the-split): applies RoPE to the whole vectors before they are split into heads
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = apply_rope(self.W_q(x)), apply_rope(self.W_k(x)), apply_rope(self.W_r(x)), self.W_v(x)
        q, k, r, v = (t.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for t in (q, k, r, v))
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (misconception scaled-by-d-model): divides the scores by d_model to the power 1.5
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % (2 * n_head) != 0:
            raise ValueError(f"{d_model} does not split into {n_head} heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.scale = d_model**1.5
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, return_weights: bool = False):
        batch, seq, d = x.shape
        if seq > self.max_len:
            raise ValueError(f"{seq} > {self.max_len}")
        heads = lambda w: w(x).view(batch, seq, self.n_head, self.d_head).transpose(1, 2)
        scores = gram_scores(apply_rope(heads(self.W_q)), apply_rope(heads(self.W_k)), apply_rope(heads(self.W_r)))
        causal = torch.ones(seq, seq, device=x.device).tril().bool()
        weights = (scores / self.scale).masked_fill(~causal, float("-inf")).softmax(-1).type_as(x)
        out = self.W_o((weights @ heads(self.W_v)).transpose(1, 2).reshape(batch, seq, d))
        if return_weights:
            return out, weights
        return out

# %% TripleProductAttention wrong (property causal): sets the future's weights to 0 after the softmax without making the rows sum to 1 again
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0 or d_model // n_head % 2 != 0:
            raise ValueError("heads")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        for name in "qkrvo":
            setattr(self, f"W_{name}", nn.Linear(d_model, d_model, bias=False))

    def forward(self, x, return_weights: bool = False):
        if x.size(1) > self.max_len:
            raise ValueError("too long")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        q, k, r = map(apply_rope, (q, k, r))
        weights = torch.softmax(gram_scores(q, k, r) / self.d_head**1.5, dim=-1).tril().to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (property finite_when_scaled): shifts by the row's maximum before the future is removed, so rows whose best key lies in the future become 0 / 0 for large inputs
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model does not fit n_head")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("too long")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        shares = torch.exp(scores - scores.amax(dim=-1, keepdim=True)).tril()
        weights = (shares / shares.sum(dim=-1, keepdim=True)).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (raised): refuses a text of exactly max_len tokens
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        width, left = divmod(d_model, n_head)
        if left or width % 2:
            raise ValueError("d_model must be n_head times an even number")
        self.n_head, self.d_head, self.max_len = n_head, width, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = [nn.Linear(d_model, d_model, bias=False) for _ in range(5)]

    def forward(self, x, return_weights: bool = False):
        seq = x.shape[1]
        if not seq < self.max_len:
            raise ValueError(f"a text of {seq} tokens does not fit in {self.max_len}")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        mask = torch.full((seq, seq), -torch.inf, device=x.device, dtype=scores.dtype).triu(1)
        weights = torch.softmax(scores + mask, dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (property refuses): tests whether d_model is even, not whether a head's width is even
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0:
            raise ValueError("d_model is no multiple of n_head")
        if d_model % 2 != 0:
            raise ValueError("RoPE needs pairs")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text longer than max_len")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention right (passed): a mask kept as a buffer outside the state dict, and einsum for the values
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % (2 * n_head):
            raise ValueError(f"d_model = {d_model} gives no {n_head} heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        for letter in "qkrvo":
            self.add_module("W_" + letter, nn.Linear(d_model, d_model, bias=False))
        self.register_buffer("future", torch.ones(max_len, max_len, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x, return_weights: bool = False):
        n = x.shape[1]
        if n > self.max_len:
            raise ValueError(f"{n} tokens, at most {self.max_len}")

        def heads(layer):
            return torch.stack(layer(x).split(self.d_head, dim=-1), dim=1)

        scores = gram_scores(*(apply_rope(heads(layer)) for layer in (self.W_q, self.W_k, self.W_r)))
        weights = (scores * self.d_head**-1.5).masked_fill(self.future[:n, :n], -torch.inf).softmax(-1).to(x.dtype)
        mixed = torch.einsum("bhij,bhjd->bihd", weights, heads(self.W_v))
        out = self.W_o(mixed.reshape(x.shape))
        return (out, weights) if return_weights else out

# %% TripleProductAttention right (passed): one stacked RoPE call, positions compared for the mask, and a softmax through log_softmax
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        if self.n_head * self.d_head != d_model or self.d_head & 1:
            raise ValueError("d_model must be n_head times an even width")
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights: bool = False):
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError("the text is longer than max_len")
        parts = torch.stack([layer(x) for layer in (self.W_q, self.W_k, self.W_r, self.W_v)])
        parts = parts.reshape(4, batch, seq, self.n_head, self.d_head).permute(0, 1, 3, 2, 4)
        q, k, r = apply_rope(parts[:3]).unbind(0)
        scores = gram_scores(q, k, r).div(self.d_head * self.d_head**0.5)
        at = torch.arange(seq, device=x.device)
        scores = torch.where(at[None, :] <= at[:, None], scores, scores.new_full((), -torch.inf))
        weights = scores.log_softmax(-1).exp().to(x.dtype)
        out = self.W_o(torch.matmul(weights, parts[3]).permute(0, 2, 1, 3).reshape(batch, seq, d_model))
        return (out, weights) if return_weights else out
