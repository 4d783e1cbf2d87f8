# %% gram_determinant wrong (property volumes): returns the volume, not the squared volume
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack([q, k, r], dim=-2)
    return torch.linalg.det(vectors @ vectors.mT).sqrt()


# %% gram_determinant wrong (raised): triple product with the cross product, which exists only in three dimensions
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    normal = torch.linalg.cross(q, r, dim=-1)
    return (normal * k).sum(dim=-1) ** 2


# %% gram_determinant wrong (misconception cross-term-once): the term (q·k)(k·r)(r·q) is added once instead of twice; right when two of the vectors are perpendicular
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    return qq * kk * rr + qk * kr * rq - qq * kr**2 - kk * rq**2 - rr * qk**2


# %% gram_determinant wrong (property finite): builds unit vectors by dividing by lengths; nan if q has length 0 or r is parallel to q
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    first = q / q.norm(dim=-1, keepdim=True)
    rest = r - (r * first).sum(-1, keepdim=True) * first
    second = rest / rest.norm(dim=-1, keepdim=True)
    height = k - (k * first).sum(-1, keepdim=True) * first - (k * second).sum(-1, keepdim=True) * second
    return (q * q).sum(-1) * (rest * rest).sum(-1) * (height * height).sum(-1)


# %% gram_determinant wrong (property volumes): adds 0.0001 to the diagonal "for stability"; far too large for short vectors (lengths of about 0.01)
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack([q, k, r], dim=-2)
    gram = vectors @ vectors.mT
    return torch.linalg.det(gram + 1e-4 * torch.eye(3, dtype=gram.dtype, device=gram.device))


# %% gram_determinant right (passed): the six dot products and Sarrus
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""

    def dot(a, b):
        return torch.einsum("...d,...d->...", a, b)

    qq, kk, rr, qk, kr, rq = dot(q, q), dot(k, k), dot(r, r), dot(q, k), dot(k, r), dot(r, q)
    return qq * kk * rr + 2 * qk * kr * rq - qq * kr**2 - kk * rq**2 - rr * qk**2


# %% gram_determinant right (passed): the Gram matrix by a matrix product; its determinant as first row times the cross product of the other rows
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack((q, k, r), dim=-2)
    gram = vectors @ vectors.transpose(-1, -2)
    top, middle, bottom = gram.unbind(dim=-2)
    return (top * torch.linalg.cross(middle, bottom, dim=-1)).sum(dim=-1)


# %% gram_scores wrong (misconception reference-of-the-key): takes the reference of the key's position instead of the query's position
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1).unsqueeze(-1)
    kk = (k * k).sum(-1).unsqueeze(-2)
    rr = (r * r).sum(-1).unsqueeze(-2)
    kr = (k * r).sum(-1).unsqueeze(-2)
    qk, qr = q @ k.mT, q @ r.mT
    return -(qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores wrong (misconception rows-and-columns-swapped): the axes of queries and keys are swapped, [key, query]
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1).unsqueeze(-2)
    rr = (r * r).sum(-1).unsqueeze(-2)
    qr = (q * r).sum(-1).unsqueeze(-2)
    kk = (k * k).sum(-1).unsqueeze(-1)
    kq, kr = k @ q.mT, k @ r.mT
    return -(qq * kk * rr + 2 * kq * kr * qr - qq * kr**2 - kk * qr**2 - rr * kq**2)


# %% gram_scores wrong (property lets_gradients_through): removes nan from the result only; the scores are 0 but the gradients are nan if a query has length 0
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True)
    rest = r - (r * q).sum(-1, keepdim=True) / qq * q
    ss = (rest * rest).sum(-1, keepdim=True)
    height = (k * k).sum(-1).unsqueeze(-2) - (q @ k.mT) ** 2 / qq - (rest @ k.mT) ** 2 / ss
    return (-qq * ss * height).nan_to_num(0.0)


# %% gram_scores wrong (difference milestone): adds 1e-4 to the squared lengths before dividing; wrong for short queries or references (length 0.01)
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    eps = 1e-4
    qq = (q * q).sum(-1, keepdim=True)
    rest = r - (r * q).sum(-1, keepdim=True) / (qq + eps) * q
    ss = (rest * rest).sum(-1, keepdim=True)
    height = (k * k).sum(-1).unsqueeze(-2) - (q @ k.mT) ** 2 / (qq + eps) - (rest @ k.mT) ** 2 / (ss + eps)
    return -qq * ss * height


# %% gram_scores wrong (property has_room): the squared lengths are computed before upcast; in float16 they overflow for lengths over 255
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    qq = (q * q).sum(-1).unsqueeze(-1)
    kk = (k * k).sum(-1).unsqueeze(-2)
    rr = (r * r).sum(-1).unsqueeze(-1)
    q, k, r = gram_attention.upcast(q, k, r)
    qr = (q * r).sum(-1).unsqueeze(-1)
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores right (passed): five terms, with einsum
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq, kk, rr = (torch.einsum("bhsd,bhsd->bhs", x, x) for x in (q, k, r))
    qr = torch.einsum("bhsd,bhsd->bhs", q, r)[..., None]
    qk = torch.einsum("bhid,bhjd->bhij", q, k)
    rk = torch.einsum("bhid,bhjd->bhij", r, k)
    qq, rr, kk = qq[..., None], rr[..., None], kk[..., None, :]
    positive = qq * kk * rr + 2 * qk * rk * qr
    negative = qq * rk.square() + kk * qr.square() + rr * qk.square()
    return negative - positive


# %% gram_scores right (passed): area times height, with divisors replaced by 1 where they are 0
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)

    def unit(x):
        squared = (x * x).sum(dim=-1, keepdim=True)
        empty = squared == 0
        length = torch.where(empty, torch.ones_like(squared), squared).sqrt()
        return x / length, squared

    along, qq = unit(q)
    rest = r - (r * along).sum(dim=-1, keepdim=True) * along
    across, ss = unit(rest)
    kk = (k * k).sum(dim=-1)[..., None, :]
    height = kk - torch.matmul(along, k.transpose(-2, -1)) ** 2 - torch.matmul(across, k.transpose(-2, -1)) ** 2
    return height * (qq * ss) * -1


# %% TripleProductAttention wrong (misconception reference-not-turned): the references are not rotated by RoPE
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must be divisible into heads of even width")
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
        scores = gram_scores(apply_rope(q), apply_rope(k), r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (misconception scaled-by-the-root): divides by the square root of d_head, as the standard layer does
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must be divisible into heads of even width")
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


# %% TripleProductAttention wrong (property finite_when_scaled): softmax by hand without subtracting the maximum; 0 / 0 when all visible scores are very negative
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must be divisible into heads of even width")
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
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        powers = torch.exp(scores.masked_fill(future, -torch.inf))
        weights = powers / powers.sum(dim=-1, keepdim=True)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property moves_with_its_module): the mask is created on the CPU, so the layer fails on another device
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must be divisible into heads of even width")
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
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property refuses): tests that d_model is even instead of the width of a head; 6 in 2 heads of width 3 gives no ValueError
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0 or d_model % 2 != 0:
            raise ValueError("d_model must be even and divisible by n_head")
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
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): like the standard layer, with W_r
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must be divisible into heads of even width")
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
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): view and permute, a comparison of positions as mask, log-softmax, einsum
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        width, rest = divmod(d_model, n_head)
        if rest != 0 or width % 2 == 1:
            raise ValueError(f"{d_model} cannot be divided into {n_head} heads of even width")
        self.heads, self.width, self.max_len = n_head, width, max_len
        for name in ("W_q", "W_k", "W_r", "W_v", "W_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError(f"{seq} tokens are more than {self.max_len}")

        def heads(layer):
            return layer(x).reshape(batch, seq, self.heads, self.width).permute(0, 2, 1, 3)

        q, k, r = (apply_rope(heads(layer)) for layer in (self.W_q, self.W_k, self.W_r))
        scores = gram_scores(q, k, r) * self.width**-1.5
        place = torch.arange(seq, device=x.device)
        visible = place[:, None] >= place[None, :]
        hidden = torch.full_like(scores, float("-inf"))
        weights = torch.where(visible, scores, hidden).log_softmax(dim=-1).exp()
        mixed = torch.einsum("bhij,bhjd->bihd", weights.to(x.dtype), heads(self.W_v))
        out = self.W_o(mixed.reshape(batch, seq, d_model))
        if return_weights:
            return out, weights
        return out


# %% copy_batch wrong (misconception one-text-for-all): one first half is sampled for all texts of the batch
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (1, seq_len // 2), generator=generator).expand(batch_size, -1)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (misconception token-by-token): each token is written twice in a row instead of the half being repeated
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat_interleave(2, dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (property draws_from_its_generator): without a generator a new torch.Generator is made, which always has the same seed: every call gives the same texts
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    generator = generator or torch.Generator()
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (difference fact): each half is a random order of different tokens, so its tokens are not independent (no token occurs twice)
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    rounds = -(-(seq_len // 2) // vocab_size)
    rows = []
    for _ in range(batch_size):
        orders = [torch.randperm(vocab_size, generator=generator) for _ in range(rounds)]
        rows.append(torch.cat(orders)[: seq_len // 2])
    half = torch.stack(rows)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (difference fact): rounds random numbers between 0 and vocab_size - 1, so the first and the last token get half of their share
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = (torch.rand(batch_size, seq_len // 2, generator=generator) * (vocab_size - 1)).round().long()
    text = torch.cat([half, half], dim=1)
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


# %% copy_batch right (passed): random_ in place, repeat, narrow
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    n, rest = divmod(seq_len, 2)
    if rest != 0:
        raise ValueError(f"a text of {seq_len} tokens has no two equal halves")
    half = torch.empty(batch_size, n, dtype=torch.int64).random_(0, vocab_size, generator=generator)
    text = half.repeat(1, 2)
    return text.narrow(1, 0, seq_len - 1), text.narrow(1, 1, seq_len - 1)


