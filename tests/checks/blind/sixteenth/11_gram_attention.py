# %% gram_determinant wrong (misconception cross-term-once): adds the product of the three mixed dot products once instead of twice
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, qr, kr = (q * k).sum(-1), (q * r).sum(-1), (k * r).sum(-1)
    return qq * kk * rr + qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2


# %% gram_determinant wrong (shape): sums the dot products over all axes, so a batch of vectors gives a single number
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq = (q * q).sum()
    kk = (k * k).sum()
    rr = (r * r).sum()
    qk = (q * k).sum()
    qr = (q * r).sum()
    kr = (k * r).sum()
    return qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2


# %% gram_determinant wrong (misconception query-reference-forgotten): (subtle) leaves out the terms with q.r, which is right only if query and reference are perpendicular
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, rk = (q * k).sum(-1), (r * k).sum(-1)
    # base area squared times height squared
    return qq * rr * kk - rr * qk**2 - qq * rk**2


# %% gram_determinant wrong (property lets_gradients_through): (subtle) takes the root for the volume and squares it again, so the gradient is nan where the volume is 0
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, qr, kr = (q * k).sum(-1), (q * r).sum(-1), (k * r).sum(-1)
    det = qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2
    volume = torch.sqrt(det.clamp(min=0))
    return volume**2


# %% gram_determinant wrong (property finite): (subtle) divides by q.q without protection, so a query of length 0 gives nan instead of 0
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq = (q * q).sum(-1, keepdim=True)
    k_rest = k - (k * q).sum(-1, keepdim=True) / qq * q
    r_rest = r - (r * q).sum(-1, keepdim=True) / qq * q
    area = (k_rest * k_rest).sum(-1) * (r_rest * r_rest).sum(-1) - (k_rest * r_rest).sum(-1) ** 2
    return qq[..., 0] * area


# %% gram_determinant right (passed): stacks the vectors, makes the Gram matrix with a product and takes its determinant with torch.linalg.det
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack([q, k, r], dim=-2)
    return torch.linalg.det(vectors @ vectors.mT)


# %% gram_determinant right (passed): dot products with einsum, then expands the determinant along the first row
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    def dot(a, b):
        return torch.einsum("...d,...d->...", a, b)

    qk, qr, kr = dot(q, k), dot(q, r), dot(k, r)
    kk, rr = dot(k, k), dot(r, r)
    first = dot(q, q) * (kk * rr - kr * kr)
    second = qk * (qk * rr - kr * qr)
    third = qr * (qk * kr - kk * qr)
    return first - second + third


# %% gram_scores wrong (misconception reference-of-the-key): takes the reference from the position of the key instead of the position of the query
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1)[..., :, None]
    kk = (k * k).sum(-1)[..., None, :]
    rr = (r * r).sum(-1)[..., None, :]
    kr = (k * r).sum(-1)[..., None, :]
    qk, qr = q @ k.mT, q @ r.mT
    return -(qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores wrong (misconception reference-as-it-is): subtracts the key's component along the reference itself instead of along the remainder
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1)[..., :, None]
    rr = (r * r).sum(-1)[..., :, None]
    qr = (q * r).sum(-1)[..., :, None]
    kk = (k * k).sum(-1)[..., None, :]
    area2 = qq * rr - qr**2
    safe_qq = torch.where(qq > 0, qq, torch.ones_like(qq))
    safe_rr = torch.where(rr > 0, rr, torch.ones_like(rr))
    height2 = kk - (q @ k.mT) ** 2 / safe_qq - (r @ k.mT) ** 2 / safe_rr
    return -area2 * height2


# %% gram_scores wrong (property lets_gradients_through): (subtle) replaces the nan of a query of length 0 or a reference on its line at the end, so the gradient is nan there
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True)
    rest = r - (q * r).sum(-1, keepdim=True) / qq * q
    rest2 = (rest * rest).sum(-1, keepdim=True)
    kk = (k * k).sum(-1)[..., None, :]
    height2 = kk - (q @ k.mT) ** 2 / qq - (rest @ k.mT) ** 2 / rest2
    scores = -qq * rest2 * height2
    return torch.where(torch.isnan(scores), torch.zeros_like(scores), scores)


# %% gram_scores wrong (property has_room): (subtle) converts the scores back to the dtype of the inputs, so float16 overflows (the page: keep the dtype of upcast)
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    dtype = q.dtype
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1)[..., :, None]
    rr = (r * r).sum(-1)[..., :, None]
    qr = (q * r).sum(-1)[..., :, None]
    kk = (k * k).sum(-1)[..., None, :]
    qk, rk = q @ k.mT, r @ k.mT
    det = qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2
    return (-det).to(dtype)


# %% gram_scores wrong (difference milestone): (subtle) adds 1e-6 to each squared length that divides, so short queries (or short remainders) give clearly wrong scores
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    eps = 1e-6
    qq = (q * q).sum(-1, keepdim=True)
    rest = r - (q * r).sum(-1, keepdim=True) / (qq + eps) * q
    rest2 = (rest * rest).sum(-1, keepdim=True)
    kk = (k * k).sum(-1)[..., None, :]
    height2 = kk - (q @ k.mT) ** 2 / (qq + eps) - (rest @ k.mT) ** 2 / (rest2 + eps)
    return -qq * rest2 * height2


# %% gram_scores right (passed): adds up the five terms of the determinant
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1).unsqueeze(-1)
    rr = (r * r).sum(-1).unsqueeze(-1)
    qr = (q * r).sum(-1).unsqueeze(-1)
    kk = (k * k).sum(-1).unsqueeze(-2)
    qk, rk = q @ k.mT, r @ k.mT
    return qq * rk**2 + kk * qr**2 + rr * qk**2 - qq * kk * rr - 2 * qk * rk * qr


# %% gram_scores right (passed): area times height, multiplied out so that only q.q divides, and that only where it is above 0
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = torch.einsum("bhid,bhid->bhi", q, q)
    qr = torch.einsum("bhid,bhid->bhi", q, r)
    share = qr / qq.masked_fill(qq == 0, 1)
    rest = r - share[..., None] * q
    rest2 = torch.einsum("bhid,bhid->bhi", rest, rest)
    kk = torch.einsum("bhjd,bhjd->bhj", k, k)
    along_q = torch.einsum("bhid,bhjd->bhij", q, k)
    along_rest = torch.einsum("bhid,bhjd->bhij", rest, k)
    area2 = qq * rest2
    lost = rest2[..., None] * along_q**2 + qq[..., None] * along_rest**2
    return lost - area2[..., None] * kk[..., None, :]


# %% TripleProductAttention wrong (misconception reference-not-turned): does not rotate the references
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give every head an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        layers = (self.W_q, self.W_k, self.W_r, self.W_v)
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in layers)
        scores = gram_scores(apply_rope(q), apply_rope(k), r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (misconception scaled-by-the-root): divides the scores by the root of d_head, as the standard layer does
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0:
            raise ValueError("d_model cannot be divided into n_head heads")
        if (d_model // n_head) % 2 != 0:
            raise ValueError("RoPE needs an even width for each head")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is longer than max_len")
        layers = (self.W_q, self.W_k, self.W_r, self.W_v)
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in layers)
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**0.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property causal): (subtle) masks with -1e9, so the future gets weight if the inputs are large and the scores are below -1e9
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give every head an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        layers = (self.W_q, self.W_k, self.W_r, self.W_v)
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in layers)
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        visible = torch.tril(torch.ones(seq, seq, device=x.device))
        weights = torch.softmax(scores.masked_fill(visible == 0, -1e9), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property refuses): (subtle) tests that d_model is even, not that the width of a head is even: d_model 6 with 2 heads raises no ValueError
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % 2 != 0 or d_model % n_head != 0:
            raise ValueError("d_model must be even, and the heads must share it evenly")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        layers = (self.W_q, self.W_k, self.W_r, self.W_v)
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in layers)
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property moves_with_its_module): (subtle) makes the mask on the CPU, so the layer fails if its input is on another device
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give every head an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        layers = (self.W_q, self.W_k, self.W_r, self.W_v)
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in layers)
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), diagonal=1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): like the standard layer, with a boolean mask and torch.softmax
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give each of the n_head heads an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError(f"{seq} positions are more than {self.max_len}")
        layers = (self.W_q, self.W_k, self.W_r, self.W_v)
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in layers)
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): view and permute, torch.where on position numbers, a softmax by hand after subtracting the maximum, einsum
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % (2 * n_head) != 0:
            raise ValueError("d_model must be a multiple of twice the number of heads")
        self.n_head = n_head
        self.d_head = d_model // n_head
        self.max_len = max_len
        for name in ("W_q", "W_k", "W_r", "W_v", "W_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    def heads(self, x):
        batch, seq, _ = x.shape
        return x.view(batch, seq, self.n_head, self.d_head).permute(0, 2, 1, 3)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        batch, seq, width = x.shape
        if seq > self.max_len:
            raise ValueError("the text is longer than max_len")
        q = apply_rope(self.heads(self.W_q(x)))
        k = apply_rope(self.heads(self.W_k(x)))
        r = apply_rope(self.heads(self.W_r(x)))
        v = self.heads(self.W_v(x))
        scores = gram_scores(q, k, r) * self.d_head**-1.5
        place = torch.arange(seq, device=x.device)
        hidden = torch.full_like(scores, float("-inf"))
        scores = torch.where(place[:, None] >= place[None, :], scores, hidden)
        powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        weights = (powers / powers.sum(dim=-1, keepdim=True)).to(v.dtype)
        mixed = torch.einsum("bhij,bhjd->bihd", weights, v).reshape(batch, seq, width)
        out = self.W_o(mixed)
        if return_weights:
            return out, weights
        return out


# %% copy_batch wrong (misconception token-by-token): repeats each token next to itself instead of repeating the whole half
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat_interleave(2, dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (property draws_from_its_generator): forgets to pass the generator
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size, (batch_size, seq_len // 2))
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (difference fact): (subtle) rounds random numbers, so the first and the last token are half as likely as the others
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    numbers = torch.rand(batch_size, seq_len // 2, generator=generator)
    half = (numbers * (vocab_size - 1)).round().long()
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (property draws_from_its_generator): (subtle) without a generator it makes a new one with seed 0, so every call returns the same texts
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    if generator is None:
        generator = torch.Generator().manual_seed(0)
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (shape): (subtle) draws the tokens of a half without replacement: no token occurs twice, and a half longer than the vocabulary fails
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.rand(batch_size, vocab_size, generator=generator).argsort(dim=1)[:, : seq_len // 2]
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): randint for the half, then cat with itself
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError(f"seq_len must be even, not {seq_len}")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): fills an empty table with random_, then repeats it along the text with repeat
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    n, rest = divmod(seq_len, 2)
    if rest == 1:
        raise ValueError("an odd text has no two halves")
    first = torch.empty(batch_size, n, dtype=torch.long)
    first.random_(0, vocab_size, generator=generator)
    text = first.repeat(1, 2)
    inputs = text.narrow(1, 0, seq_len - 1).clone()
    targets = text.narrow(1, 1, seq_len - 1).clone()
    return inputs, targets


