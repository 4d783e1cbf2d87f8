# %% gram_determinant wrong (property volumes): returns the volume, not the squared volume (takes the square root of the determinant)
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack((q, k, r), dim=-2)
    gram = vectors @ vectors.mT
    return torch.linalg.det(gram).clamp(min=0).sqrt()


# %% gram_determinant wrong (misconception cross-term-once): adds the product (qk)(kr)(rq) only once instead of twice
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(dim=-1), (k * k).sum(dim=-1), (r * r).sum(dim=-1)
    qk, kr, rq = (q * k).sum(dim=-1), (k * r).sum(dim=-1), (r * q).sum(dim=-1)
    return qq * kk * rr + qk * kr * rq - qq * kr**2 - kk * rq**2 - rr * qk**2


# %% gram_determinant wrong (property finite): area times height with an unprotected division; nan if q is zero, or r is zero or parallel to q
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq = (q * q).sum(dim=-1, keepdim=True)
    rest = r - (r * q).sum(dim=-1, keepdim=True) / qq * q
    rest2 = (rest * rest).sum(dim=-1, keepdim=True)
    height = k - (k * q).sum(dim=-1, keepdim=True) / qq * q - (k * rest).sum(dim=-1, keepdim=True) / rest2 * rest
    return (qq * rest2)[..., 0] * (height * height).sum(dim=-1)


# %% gram_determinant wrong (property gradients): the squared length of r is computed without gradient, so the gradient for r misses a term; values and the gradients for q and k are right
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk = q.pow(2).sum(-1), k.pow(2).sum(-1)
    with torch.no_grad():
        rr = r.pow(2).sum(-1)
    qk, qr, kr = (q * k).sum(-1), (q * r).sum(-1), (k * r).sum(-1)
    return qq * (kk * rr - kr**2) - qk * (qk * rr - kr * qr) + qr * (qk * kr - kk * qr)


# %% gram_determinant wrong (shape): flattens the leading axes and never restores them; right with no leading axis or one, a flat result with two or more
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    single = q.dim() == 1
    q, k, r = (v.reshape(-1, v.shape[-1]) for v in (q, k, r))
    dot = lambda a, b: torch.einsum("nd,nd->n", a, b)
    det = (
        dot(q, q) * dot(k, k) * dot(r, r)
        + 2 * dot(q, k) * dot(k, r) * dot(r, q)
        - dot(q, q) * dot(k, r) ** 2
        - dot(k, k) * dot(r, q) ** 2
        - dot(r, r) * dot(q, k) ** 2
    )
    return det[0] if single else det


# %% gram_determinant right (passed): the five terms from six dot products along the last axis
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(dim=-1), (k * k).sum(dim=-1), (r * r).sum(dim=-1)
    qk, kr, rq = (q * k).sum(dim=-1), (k * r).sum(dim=-1), (r * q).sum(dim=-1)
    return qq * kk * rr + 2 * qk * kr * rq - qq * kr**2 - kk * rq**2 - rr * qk**2


# %% gram_determinant right (passed): the Gram matrix from one product, then the sum over the six permutations with their signs
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack(torch.broadcast_tensors(q, k, r), dim=-2)
    gram = torch.einsum("...id,...jd->...ij", vectors, vectors)
    signs = {(0, 1, 2): 1, (1, 2, 0): 1, (2, 0, 1): 1, (2, 1, 0): -1, (1, 0, 2): -1, (0, 2, 1): -1}
    total = 0
    for (a, b, c), sign in signs.items():
        total = total + sign * gram[..., 0, a] * gram[..., 1, b] * gram[..., 2, c]
    return total


# %% gram_scores wrong (misconception key-norms-along-rows): puts the squared length of the key on the axis of the queries, so |k_i|² is used for key j
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq, kk, rr = ((v * v).sum(dim=-1, keepdim=True) for v in (q, k, r))
    qr = (q * r).sum(dim=-1, keepdim=True)
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores wrong (misconception reference-of-the-key): takes the reference from the position of the key instead of the position of the query
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(dim=-1)[..., :, None]
    kk = (k * k).sum(dim=-1)[..., None, :]
    rr = (r * r).sum(dim=-1)[..., None, :]
    kr = (k * r).sum(dim=-1)[..., None, :]
    qk, qr = q @ k.mT, q @ r.mT
    det = qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2
    return -det


# %% gram_scores wrong (property lets_gradients_through): replaces nan by 0 with torch.where after the division; the scores are right, but the gradients are nan if a query, or a reference, has length 0
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(dim=-1, keepdim=True)
    rest = r - (q * r).sum(dim=-1, keepdim=True) / qq * q
    rest2 = (rest * rest).sum(dim=-1, keepdim=True)
    kk = (k * k).sum(dim=-1)[..., None, :]
    height = kk - (q @ k.mT) ** 2 / qq - (rest @ k.mT) ** 2 / rest2
    scores = -qq * rest2 * height
    return torch.where(scores.isnan(), torch.zeros_like(scores), scores)


# %% gram_scores wrong (difference places): takes area² below 1e-6 for "no plane", whatever the lengths; short queries or references that do span a plane get 0 for every key
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq, rr = (q * q).sum(dim=-1, keepdim=True), (r * r).sum(dim=-1, keepdim=True)
    qr = (q * r).sum(dim=-1, keepdim=True)
    kk = (k * k).sum(dim=-1)[..., None, :]
    qk, rk = q @ k.mT, r @ k.mT
    area2 = qq * rr - qr**2
    det = kk * area2 + 2 * qk * rk * qr - qq * rk**2 - rr * qk**2
    return -det.masked_fill(area2 < 1e-6, 0.0)


# %% gram_scores wrong (property has_room): converts the scores back to the dtype of the inputs; float16 vectors of length 7 give -inf
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    given = q.dtype
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq, rr = q.square().sum(-1).unsqueeze(-1), r.square().sum(-1).unsqueeze(-1)
    qr = (q * r).sum(-1).unsqueeze(-1)
    kk = k.square().sum(-1).unsqueeze(-2)
    qk, rk = q @ k.mT, r @ k.mT
    det = qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2
    return (-det).to(given)


# %% gram_scores right (passed): the five terms of the determinant, each dot product on its axis
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq, rr = (q * q).sum(dim=-1, keepdim=True), (r * r).sum(dim=-1, keepdim=True)
    qr = (q * r).sum(dim=-1, keepdim=True)
    kk = (k * k).sum(dim=-1)[..., None, :]
    qk, rk = q @ k.mT, r @ k.mT
    return qq * rk**2 + kk * qr**2 + rr * qk**2 - qq * kk * rr - 2 * qk * rk * qr


# %% gram_scores right (passed): area times height; the reference without its component along the query, divided by 1 where the query has length 0, then no further division
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = torch.einsum("bhid,bhid->bhi", q, q)
    qr = torch.einsum("bhid,bhid->bhi", q, r)
    share = qr / torch.where(qq > 0, qq, torch.ones_like(qq))
    rest = r - share.unsqueeze(-1) * q
    rest2 = torch.einsum("bhid,bhid->bhi", rest, rest)
    kk = torch.einsum("bhjd,bhjd->bhj", k, k).unsqueeze(-2)
    along_q = torch.einsum("bhid,bhjd->bhij", q, k)
    along_rest = torch.einsum("bhid,bhjd->bhij", rest, k)
    qq, rest2 = qq.unsqueeze(-1), rest2.unsqueeze(-1)
    return rest2 * along_q**2 + qq * along_rest**2 - qq * rest2 * kk


# %% TripleProductAttention wrong (misconception scaled-by-the-root): divides the scores by the square root of d_head, as standard attention does
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give n_head heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**0.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (misconception reference-not-turned): applies RoPE to queries and keys only, not to references
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0 or d_model // n_head % 2 != 0:
            raise ValueError("bad d_model")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property causal): masks the future with -1e9; with large inputs the scores are below -1e9 and the future gets the weight
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give n_head heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError(f"{seq} positions are more than {self.max_len}")

        def heads(w):
            return w(x).view(batch, seq, self.n_head, self.d_head).transpose(1, 2)

        q, k, r = (apply_rope(heads(w)) for w in (self.W_q, self.W_k, self.W_r))
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, -1e9).softmax(dim=-1).to(x.dtype)
        out = self.W_o((weights @ heads(self.W_v)).transpose(1, 2).reshape(batch, seq, d_model))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property moves_with_its_module): makes the mask without a device, so it stays on the CPU when the layer and its input are on another device
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give n_head heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        visible = torch.tril(torch.ones(seq, seq)).bool()
        weights = torch.softmax(scores.masked_fill(~visible, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property refuses): tests whether d_model is even, not whether the width of a head is; d_model 12 with 4 heads of 3 gives no ValueError in __init__
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0 or d_model % 2 != 0:
            raise ValueError("d_model must be even and divisible by n_head")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): the standard layer with W_r and gram_scores
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if n_head < 1 or d_model % n_head or (d_model // n_head) % 2:
            raise ValueError(f"{d_model} numbers cannot be divided into {n_head} heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError(f"{x.shape[1]} positions, at most {self.max_len} are allowed")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): scales each of the three vectors by d_head ** -0.25 before the scores; mask from positions; einsum for the mix
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if n_head <= 0 or d_model % (2 * n_head) != 0:
            raise ValueError("d_model must be a multiple of 2 * n_head")
        self.n_head = n_head
        self.d_head = d_model // n_head
        self.max_len = max_len
        for name in ("W_q", "W_k", "W_r", "W_v", "W_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError("the text is longer than max_len")

        def heads(rows):
            return rows.reshape(batch, seq, self.n_head, self.d_head).permute(0, 2, 1, 3)

        scale = self.d_head**-0.25
        q, k, r = (apply_rope(heads(layer(x))) * scale for layer in (self.W_q, self.W_k, self.W_r))
        place = torch.arange(seq, device=x.device)
        hidden = place[None, :] > place[:, None]
        scores = gram_scores(q, k, r)
        scores = torch.where(hidden, torch.full_like(scores, -torch.inf), scores)
        weights = scores.softmax(dim=-1).to(x.dtype)
        mixed = torch.einsum("bhij,bhjd->bihd", weights, heads(self.W_v(x)))
        out = self.W_o(mixed.reshape(batch, seq, d_model))
        if return_weights:
            return out, weights
        return out


# %% copy_batch wrong (misconception one-token-missing): off by one, vocab_size - 1 as the exclusive upper limit, so the last token never occurs
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size - 1, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat((half, half), dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (misconception token-by-token): repeat_interleave writes each token twice in a row instead of the half twice
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat_interleave(2, dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (property draws_from_its_generator): without a generator it makes a new one with seed 0, so every call with None returns the same texts
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    generator = generator or torch.Generator().manual_seed(0)
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat(1, 2)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (property draws_from_its_generator): samples from a fresh copy with the generator's initial seed, so the generator never advances and a second call repeats the first
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 == 1:
        raise ValueError(f"odd length {seq_len}")
    if generator is not None:
        generator = torch.Generator().manual_seed(generator.initial_seed())
    half = torch.randint(0, vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=-1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (difference fact): where the half fits into the vocabulary it draws without replacement, so no token of a half occurs twice; longer halves are right
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    n = seq_len // 2
    if n <= vocab_size:
        half = torch.rand(batch_size, vocab_size, generator=generator).argsort(dim=1)[:, :n]
    else:
        half = torch.randint(vocab_size, (batch_size, n), generator=generator)
    text = torch.cat((half, half), dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): randint for the half, cat, and two slices
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError(f"seq_len must be even, not {seq_len}")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat((half, half), dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): random_ on an empty tensor; position modulo half says which token to take
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    half, odd = divmod(seq_len, 2)
    if odd:
        raise ValueError("the length must be even")
    first = torch.empty(batch_size, half, dtype=torch.long).random_(0, vocab_size, generator=generator)
    place = torch.arange(seq_len) % half
    inputs = first[:, place[: seq_len - 1]]
    targets = first[:, place[1:]]
    return inputs, targets


