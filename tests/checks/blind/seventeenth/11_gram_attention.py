# %% gram_determinant wrong (property volumes): returns the volume, not its square
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack([q, k, r], dim=-2)
    gram = vectors @ vectors.mT
    return torch.linalg.det(gram).clamp(min=0).sqrt()


# %% gram_determinant wrong (misconception cross-term-once): the product (q.k)(k.r)(r.q) is added once instead of twice
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    return qq * kk * rr + qk * kr * rq - qq * kr**2 - kk * rq**2 - rr * qk**2


# %% gram_determinant wrong (property finite): subtle, area times height divides by |q|^2 and by the area, so it is nan if q is 0 or if q and r are on one line
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""

    def dot(a, b):
        return (a * b).sum(dim=-1, keepdim=True)

    rest = r - dot(r, q) / dot(q, q) * q
    height = k - dot(k, q) / dot(q, q) * q
    height = height - dot(height, rest) / dot(rest, rest) * rest
    return (dot(q, q) * dot(rest, rest) * dot(height, height)).squeeze(-1)


# %% gram_determinant wrong (misconception singular-values-of-a-plane): subtle, the product of the singular values, which is not 0 for vectors of one or two entries
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    body = torch.stack([q, k, r], dim=-2)
    return torch.linalg.svdvals(body).prod(dim=-1) ** 2


# %% gram_determinant wrong (property gradients): subtle, the base is detached, so only the key's gradient is right; those of q and r are wrong
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    base = (qq * rr - rq**2).detach()
    return base * kk + 2 * qk * kr * rq - qq * kr**2 - rr * qk**2


# %% gram_determinant right (passed): adds up the five terms of the determinant
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    return qq * kk * rr + 2 * qk * kr * rq - qq * kr**2 - kk * rq**2 - rr * qk**2


# %% gram_determinant right (passed): the whole Gram matrix from one product, then Sarrus' diagonals in a loop
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    body = torch.stack([q, k, r], dim=-2)
    gram = torch.einsum("...id,...jd->...ij", body, body)
    total = 0
    for start in range(3):
        down = gram[..., 0, start] * gram[..., 1, (start + 1) % 3] * gram[..., 2, (start + 2) % 3]
        up = gram[..., 2, start] * gram[..., 1, (start + 1) % 3] * gram[..., 0, (start + 2) % 3]
        total = total + down - up
    return total


# %% gram_scores wrong (property one_at_a_time): the reference is taken from the key's position j instead of the query's position i in the product with the key's table
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
    qk = q @ k.mT
    rk = k @ r.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores wrong (misconception not-negative): forgets the minus sign
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = q.square().sum(-1, keepdim=True)
    rr = r.square().sum(-1, keepdim=True)
    qr = (q * r).sum(-1, keepdim=True)
    kk = k.square().sum(-1).unsqueeze(-2)
    qk, rk = q @ k.mT, r @ k.mT
    return kk * (qq * rr - qr**2) + 2 * qk * rk * qr - qq * rk**2 - rr * qk**2


# %% gram_scores wrong (property lets_gradients_through): subtle, torch.where hides the division by 0 in the result, but the gradients become nan if a query has length 0 or q and r are on one line
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True)
    rest = r - (r * q).sum(-1, keepdim=True) / qq * q
    rest2 = (rest * rest).sum(-1, keepdim=True)
    kk = (k * k).sum(-1).unsqueeze(-2)
    height2 = kk - (q @ k.mT) ** 2 / qq - (rest @ k.mT) ** 2 / rest2
    area2 = qq * rest2
    return torch.where(area2 > 0, -area2 * height2, 0.0)


# %% gram_scores wrong (property has_room): subtle, converts the scores back to the dtype of the inputs, so float16 vectors give float16 scores, which overflow
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    dtype = q.dtype
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1)[..., None]
    rr = (r * r).sum(-1)[..., None]
    qr = (q * r).sum(-1)[..., None]
    kk = (k * k).sum(-1)[..., None, :]
    qk, rk = q @ k.mT, r @ k.mT
    det = qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2
    return (-det).to(dtype)


# %% gram_scores wrong (property by_matrix_products): subtle, the numbers are right, but vectors are expanded and multiplied for each pair, which holds a vector for each pair
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    q, r, k = q.unsqueeze(-2), r.unsqueeze(-2), k.unsqueeze(-3)
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    return -(qq * kk * rr + 2 * qk * kr * rq - qq * kr**2 - kk * rq**2 - rr * qk**2)


# %% gram_scores right (passed): the five terms, with tables only for the two products that depend on the pair
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
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores right (passed): area times height, with the remainder of the reference; the only division is by |q|^2, replaced by 1 where it is 0
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = torch.einsum("bhid,bhid->bhi", q, q).unsqueeze(-1)
    safe = torch.where(qq > 0, qq, torch.ones_like(qq))
    rest = r - (r * q).sum(-1, keepdim=True) / safe * q
    rest2 = torch.einsum("bhid,bhid->bhi", rest, rest).unsqueeze(-1)
    kk = torch.einsum("bhjd,bhjd->bhj", k, k).unsqueeze(-2)
    along_q = torch.einsum("bhid,bhjd->bhij", q, k)
    along_rest = torch.einsum("bhid,bhjd->bhij", rest, k)
    # area^2 * height^2, multiplied out: no division by the length of the remainder
    return qq * along_rest.square() + rest2 * along_q.square() - qq * rest2 * kk


# %% TripleProductAttention wrong (misconception reference-not-turned): the references are not rotated
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0 or (d_model // n_head) % 2 != 0:
            raise ValueError("d_model must give heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(5)
        )

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (misconception scaled-by-the-root): divides by the root of d_head, as for the standard scores
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("d_model must give heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**0.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property causal): subtle, masks with -1e9, so a text with large values gives weight to the future
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("d_model must give heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(5)
        )

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -1e9), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property refuses): subtle, tests whether d_model is even instead of the width of a head, so 12 with 4 heads raises no error
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0 or d_model % 2 != 0:
            raise ValueError(f"{d_model} cannot be divided into {n_head} heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(5)
        )

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError(f"{seq} tokens, but max_len is {self.max_len}")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property finite_when_scaled): subtle, exponentials without subtracting the largest score ("scores are never positive"): with large values a row becomes 0 / 0
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % (2 * n_head):
            raise ValueError("every head needs an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(5)
        )

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        powers = torch.exp(scores.masked_fill(future, -torch.inf))
        weights = powers / powers.sum(dim=-1, keepdim=True)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): the standard layer with a fifth matrix and Gram scores
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0 or (d_model // n_head) % 2 != 0:
            raise ValueError(f"{d_model} cannot be divided into {n_head} heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(5)
        )

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError(f"{seq} tokens, but max_len is {self.max_len}")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): views, positions compared for the mask, torch.where, einsum for the values
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        width, rest = divmod(d_model, n_head)
        if rest or width % 2 == 1:
            raise ValueError("the heads need the same even width")
        self.n_head = n_head
        self.d_head = width
        self.max_len = max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def cut(self, y):
        batch, seq, _ = y.shape
        return y.view(batch, seq, self.n_head, self.d_head).permute(0, 2, 1, 3)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError("the text is longer than max_len")
        query = apply_rope(self.cut(self.W_q(x)))
        key = apply_rope(self.cut(self.W_k(x)))
        reference = apply_rope(self.cut(self.W_r(x)))
        value = self.cut(self.W_v(x))
        scores = gram_scores(query, key, reference) * self.d_head**-1.5
        place = torch.arange(seq, device=x.device)
        visible = place[None, :] <= place[:, None]
        hidden = torch.full((), -torch.inf, dtype=scores.dtype, device=x.device)
        weights = torch.where(visible, scores, hidden).softmax(dim=-1).to(value.dtype)
        mixed = torch.einsum("bhij,bhjd->bihd", weights, value).reshape(batch, seq, d_model)
        out = self.W_o(mixed)
        if return_weights:
            return out, weights
        return out


# %% copy_batch wrong (misconception shifted-backwards): returns targets and inputs in exchanged order
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, 1:], text[:, :-1]


# %% copy_batch wrong (property draws_from_its_generator): the generator is not passed on
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size, (batch_size, seq_len // 2))
    text = half.repeat(1, 2)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (misconception one-token-missing): subtle, the upper limit is vocab_size - 1, so the last token never occurs
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size - 1, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (shape): subtle, samples the first half without repetition, so its tokens are not independent (and too few if the half is longer than the vocabulary)
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.rand(batch_size, vocab_size, generator=generator).argsort(dim=1)[:, : seq_len // 2]
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (property draws_from_its_generator): subtle, makes a generator with a fixed seed if it is None, so repeated calls give the same texts
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


# %% copy_batch right (passed): one call of randint, joined to itself
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): samples position by position with multinomial and equal weights, then indexes with positions modulo the half
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    half_len, odd = divmod(seq_len, 2)
    if odd:
        raise ValueError(f"an odd length: {seq_len}")
    even = torch.ones(vocab_size)
    columns = [
        torch.multinomial(even, batch_size, replacement=True, generator=generator) for _ in range(half_len)
    ]
    first = torch.stack(columns, dim=1)
    place = torch.arange(seq_len - 1)
    return first[:, place % half_len], first[:, (place + 1) % half_len]


