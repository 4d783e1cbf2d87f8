# %% gram_determinant wrong (misconception cross-term-once): counts the term (q.k)(k.r)(r.q) only once
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, qr = (q * k).sum(-1), (k * r).sum(-1), (q * r).sum(-1)
    return qq * kk * rr + qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2


# %% gram_determinant wrong (misconception volume): returns the volume, not its square
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, qr = (q * k).sum(-1), (k * r).sum(-1), (q * r).sum(-1)
    det = qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2
    return det.clamp(min=0).sqrt()


# %% gram_determinant wrong (shape): (subtle) stacks along axis 0, right for single vectors, wrong if there are axes before the last
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack((q, k, r))
    return torch.linalg.det(vectors @ vectors.mT)


# %% gram_determinant wrong (property finite): (subtle) normalises the vectors first, so a vector of length 0 gives nan instead of 0
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    lengths = [v.norm(dim=-1) for v in (q, k, r)]
    q, k, r = (v / length[..., None] for v, length in zip((q, k, r), lengths))
    a, b, c = (q * k).sum(-1), (k * r).sum(-1), (q * r).sum(-1)
    return (1 + 2 * a * b * c - a**2 - b**2 - c**2) * (lengths[0] * lengths[1] * lengths[2]) ** 2


# %% gram_determinant right (passed): five terms from six dot products
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, qr = (q * k).sum(-1), (k * r).sum(-1), (q * r).sum(-1)
    return qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2


# %% gram_determinant right (passed): the Gram matrix with einsum, then an expansion along its first row
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    body = torch.stack([q, k, r], dim=-2)
    g = torch.einsum("...id,...jd->...ij", body, body)
    total = 0
    for column in range(3):
        a, b = (column + 1) % 3, (column + 2) % 3
        minor = g[..., 1, a] * g[..., 2, b] - g[..., 1, b] * g[..., 2, a]
        total = total + g[..., 0, column] * minor
    return total


# %% gram_scores wrong (misconception reference-of-the-key): takes the reference of the key's position instead of the query's
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1)[..., :, None]
    kk, rr, kr = ((a * b).sum(-1)[..., None, :] for a, b in ((k, k), (r, r), (k, r)))
    qk, qr = q @ k.mT, q @ r.mT
    return -(qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores wrong (misconception rows-and-columns-swapped): rows are keys and columns are queries, the table is transposed
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq, rr, qr = ((a * b).sum(-1)[..., None, :] for a, b in ((q, q), (r, r), (q, r)))
    kk = (k * k).sum(-1)[..., :, None]
    qk, kr = k @ q.mT, k @ r.mT
    return -(qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores wrong (property lets_gradients_through): (subtle) hides a division by 0 with torch.where after it: scores are right, but gradients become nan if a query has length 0
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True)
    share = torch.where(qq > 0, (q * r).sum(-1, keepdim=True) / qq, 0.0)
    rest = r - share * q
    tt = (rest * rest).sum(-1, keepdim=True)
    kk = (k * k).sum(-1)[..., None, :]
    return -(qq * tt * kk - tt * (q @ k.mT) ** 2 - qq * (rest @ k.mT) ** 2)


# %% gram_scores wrong (difference milestone): (subtle) adds 1e-6 to the squared length of the query, which is wrong for short queries
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True) + 1e-6
    rest = r - (q * r).sum(-1, keepdim=True) / qq * q
    tt = (rest * rest).sum(-1, keepdim=True)
    kk = (k * k).sum(-1)[..., None, :]
    return -(qq * tt * kk - tt * (q @ k.mT) ** 2 - qq * (rest @ k.mT) ** 2)


# %% gram_scores right (passed): five terms with broadcast row and column vectors
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq, rr, qr = ((a * b).sum(-1, keepdim=True) for a, b in ((q, q), (r, r), (q, r)))
    kk = (k * k).sum(-1).unsqueeze(-2)
    qk, rk = q @ k.mT, r @ k.mT
    return qq * rk**2 + kk * qr**2 + rr * qk**2 - qq * rr * kk - 2 * qk * rk * qr


# %% gram_scores right (passed): area squared times height squared, multiplied out, with a safe division
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = torch.einsum("bhsd,bhsd->bhs", q, q).unsqueeze(-1)
    qr = torch.einsum("bhsd,bhsd->bhs", q, r).unsqueeze(-1)
    rest = r - qr / torch.where(qq > 0, qq, torch.ones_like(qq)) * q
    tt = rest.square().sum(-1, keepdim=True)
    kk = k.square().sum(-1).unsqueeze(-2)
    along_q = torch.einsum("bhid,bhjd->bhij", q, k)
    along_rest = torch.einsum("bhid,bhjd->bhij", rest, k)
    return tt * along_q**2 + qq * along_rest**2 - qq * tt * kk


# %% TripleProductAttention wrong (misconception scaled-by-the-root): divides the scores by the root of d_head instead of d_head ** 1.5
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % (2 * n_head):
            raise ValueError("d_model must be a multiple of 2 * n_head")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**0.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (misconception reference-not-turned): forgets to rotate the references
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("each head needs an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (raised): (subtle) raises for a text of exactly max_len tokens
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("each head needs an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] >= self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property refuses): (subtle) tests whether d_model is even, not the width of a head, so 6 in 2 heads of 3 raises no ValueError in __init__
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or d_model % 2:
            raise ValueError("each head needs an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): generator expressions as in StandardAttention
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % (2 * n_head):
            raise ValueError("d_model must be a multiple of 2 * n_head")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError(f"{x.shape[1]} tokens are more than {self.max_len}")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): positions compared for the mask, view and einsum for the mixing
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        d_head, rest = divmod(d_model, n_head)
        if rest != 0 or d_head % 2 == 1:
            raise ValueError(f"{d_model} cannot be divided into {n_head} heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_head, max_len
        for name in "qkrvo":
            setattr(self, f"W_{name}", nn.Linear(d_model, d_model, bias=False))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError("the text is too long")

        def heads(layer):
            return layer(x).view(batch, seq, self.n_head, self.d_head).permute(0, 2, 1, 3)

        rotated = [apply_rope(heads(layer)) for layer in (self.W_q, self.W_k, self.W_r)]
        scores = gram_scores(*rotated) / (self.d_head * self.d_head**0.5)
        place = torch.arange(seq, device=x.device)
        scores = torch.where(place[:, None] >= place, scores, -torch.inf)
        weights = scores.softmax(dim=-1)
        values = heads(self.W_v)
        mixed = torch.einsum("bhij,bhjd->bihd", weights.to(values.dtype), values)
        out = self.W_o(mixed.reshape(batch, seq, d_model))
        if return_weights:
            return out, weights
        return out


# %% copy_batch wrong (misconception token-by-token): repeats each token twice in a row instead of repeating the half
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat_interleave(2, dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (misconception one-token-missing): randint up to vocab_size - 1, so the last token never occurs
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size - 1, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (property few_and_odd): (subtle) no ValueError for an odd length, it makes a text that is one token shorter
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    half = torch.randint(0, vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (difference fact): (subtle) samples without replacement if the vocabulary is large enough, so no token occurs twice in a half
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    size = seq_len // 2
    chances = torch.ones(batch_size, vocab_size)
    half = torch.multinomial(chances, size, replacement=vocab_size < size, generator=generator)
    text = half.repeat(1, 2)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): randint and cat
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): an index that runs through the half twice picks inputs and targets
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    half, odd = divmod(seq_len, 2)
    if odd:
        raise ValueError(f"a text of {seq_len} tokens has no two equal halves")
    tokens = torch.empty(batch_size, half, dtype=torch.long).random_(0, vocab_size, generator=generator)
    where = torch.arange(seq_len) % half
    return tokens[:, where[:-1]], tokens[:, where[1:]]
