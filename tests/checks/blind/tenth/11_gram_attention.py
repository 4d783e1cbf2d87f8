# %% gram_determinant wrong (misconception cross-term-once): counts the mixed product once instead of twice
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    dot = lambda a, b: (a * b).sum(dim=-1)
    qq, kk, rr, qk, qr, kr = dot(q, q), dot(k, k), dot(r, r), dot(q, k), dot(q, r), dot(k, r)
    return qq * kk * rr + qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2


# %% gram_determinant wrong (misconception volume): returns the volume, the root of the determinant
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    dot = lambda a, b: (a * b).sum(dim=-1)
    qq, kk, rr, qk, qr, kr = dot(q, q), dot(k, k), dot(r, r), dot(q, k), dot(q, r), dot(k, r)
    det = qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2
    return det.clamp(min=1e-12).sqrt()


# %% gram_determinant wrong (raised): subtle, uses the cross product, which exists only for three entries
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    return (torch.linalg.cross(q, r, dim=-1) * k).sum(dim=-1) ** 2


# %% gram_determinant wrong (property finite): subtle, divides by |q|^2 and by the squared remainder of r: nan if q is 0 or r is on its line
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    dot = lambda a, b: (a * b).sum(dim=-1, keepdim=True)
    rest = r - dot(r, q) / dot(q, q) * q
    height2 = dot(k, k) - dot(k, q) ** 2 / dot(q, q) - dot(k, rest) ** 2 / dot(rest, rest)
    return (dot(q, q) * dot(rest, rest) * height2).squeeze(-1)


# %% gram_determinant right (passed): the five terms from six dot products
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    dot = lambda a, b: (a * b).sum(dim=-1)
    qq, kk, rr, qk, qr, kr = dot(q, q), dot(k, k), dot(r, r), dot(q, k), dot(q, r), dot(k, r)
    return qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2


# %% gram_determinant right (passed): stacks the vectors, forms G, and expands along its first row
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    rows = torch.stack((q, k, r), dim=-2)
    G = torch.einsum("...id,...jd->...ij", rows, rows)
    minor = lambda a, b: G[..., 1, a] * G[..., 2, b] - G[..., 1, b] * G[..., 2, a]
    return G[..., 0, 0] * minor(1, 2) - G[..., 0, 1] * minor(0, 2) + G[..., 0, 2] * minor(0, 1)


# %% gram_scores wrong (misconception not-negative): returns the determinant itself, without the minus
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq, rr, qr = ((a * b).sum(dim=-1, keepdim=True) for a, b in ((q, q), (r, r), (q, r)))
    kk = (k * k).sum(dim=-1).unsqueeze(-2)
    qk, rk = q @ k.mT, r @ k.mT
    det = qq * rr * kk + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2
    return det


# %% gram_scores wrong (misconception reference-of-the-key): the reference comes from the key's position j instead of from i
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(dim=-1, keepdim=True)
    kk, rr, kr = ((a * b).sum(dim=-1).unsqueeze(-2) for a, b in ((k, k), (r, r), (k, r)))
    qk, qr = q @ k.mT, q @ r.mT
    return -(qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores wrong (property lets_gradients_through): subtle, area times height, repaired with nan_to_num: scores are right, but gradients are nan if q is 0
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    dot = lambda a, b: (a * b).sum(dim=-1, keepdim=True)
    qq = dot(q, q)
    rest = r - dot(r, q) / qq * q
    ee = dot(rest, rest)
    height2 = dot(k, k).mT - (q @ k.mT) ** 2 / qq - (rest @ k.mT) ** 2 / ee
    return torch.nan_to_num(-(qq * ee * height2))


# %% gram_scores wrong (property has_room): subtle, converts the scores back to the dtype of the input, where they can overflow; shows for float16
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    dtype = q.dtype
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq, rr, qr = ((a * b).sum(dim=-1, keepdim=True) for a, b in ((q, q), (r, r), (q, r)))
    kk = (k * k).sum(dim=-1).unsqueeze(-2)
    qk, rk = q @ k.mT, r @ k.mT
    det = qq * rr * kk + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2
    return -det.to(dtype)


# %% gram_scores right (passed): the five terms
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq, rr, qr = ((a * b).sum(dim=-1, keepdim=True) for a, b in ((q, q), (r, r), (q, r)))
    kk = (k * k).sum(dim=-1).unsqueeze(-2)
    qk, rk = q @ k.mT, r @ k.mT
    det = qq * rr * kk + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2
    return -det


# %% gram_scores right (passed): area times height, with safe divisors
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    dot = lambda a, b: (a * b).sum(dim=-1, keepdim=True)
    qq = dot(q, q)
    safe_qq = torch.where(qq > 0, qq, torch.ones_like(qq))
    rest = r - dot(r, q) / safe_qq * q
    ee = dot(rest, rest)
    safe_ee = torch.where(ee > 0, ee, torch.ones_like(ee))
    height2 = dot(k, k).mT - (q @ k.mT) ** 2 / safe_qq - (rest @ k.mT) ** 2 / safe_ee
    return -(qq * ee * height2)


# %% TripleProductAttention wrong (misconception reference-not-turned): the references are not rotated
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, self.d_head)).transpose(1, 2)
            for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), r) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (misconception scaled-by-the-root): divides the scores by the root of d_head, like the standard layer
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, self.d_head)).transpose(1, 2)
            for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**0.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property causal): subtle, hides the future with -1e9; with large inputs the scores are lower, and the future shows
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, self.d_head)).transpose(1, 2)
            for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -1e9), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property refuses): subtle, accepts heads of an odd width
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0:
            raise ValueError("d_model must be divisible by n_head")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, self.d_head)).transpose(1, 2)
            for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): the standard layer with references and Gram scores
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, self.d_head)).transpose(1, 2)
            for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): view and permute, positions compared, a boolean where
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        width, rest = divmod(d_model, n_head)
        if rest != 0 or width % 2 != 0:
            raise ValueError(f"{d_model} cannot be divided into {n_head} heads of even width")
        for name in "qkrvo":
            setattr(self, f"W_{name}", nn.Linear(d_model, d_model, bias=False))
        self.n_head, self.d_head, self.max_len = n_head, width, max_len

    def split(self, x):
        return x.reshape(*x.shape[:2], self.n_head, self.d_head).permute(0, 2, 1, 3)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError(f"{seq} tokens, at most {self.max_len} fit")
        turned = [apply_rope(self.split(layer(x))) for layer in (self.W_q, self.W_k, self.W_r)]
        at = torch.arange(seq, device=x.device)
        seen = at[None, :] <= at[:, None]
        scores = gram_scores(*turned) * self.d_head**-1.5
        weights = torch.where(seen, scores, torch.full_like(scores, -torch.inf)).softmax(dim=-1)
        mixed = torch.einsum("bhij,bhjd->bihd", weights.type_as(x), self.split(self.W_v(x)))
        out = self.W_o(mixed.reshape(batch, seq, d_model))
        if return_weights:
            return out, weights
        return out


# %% copy_batch wrong (property few_and_odd): no error for an odd length
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat((half, half), dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (misconception shifted-backwards): inputs and targets are exchanged
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat((half, half), dim=1)
    return text[:, 1:], text[:, :-1]


# %% copy_batch wrong (misconception one-token-missing): subtle, the last token of the vocabulary is never sampled
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size - 1, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat((half, half), dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (difference fact): subtle, samples without replacement, so no token repeats within a half
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    order = torch.rand(batch_size, max(vocab_size, seq_len // 2), generator=generator).argsort(dim=1)
    half = order[:, : seq_len // 2] % vocab_size
    text = torch.cat((half, half), dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): randint and cat
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat((half, half), dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): samples all halves flat, then indexes modulo half the length
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    half, rest = divmod(seq_len, 2)
    if rest:
        raise ValueError(f"an odd length: {seq_len}")
    flat = torch.randint(0, vocab_size, (batch_size * half,), generator=generator)
    rows = flat.reshape(batch_size, half)
    inputs = rows[:, torch.arange(seq_len - 1) % half]
    targets = rows[:, torch.arange(1, seq_len) % half]
    return inputs, targets
