# %% gram_determinant wrong (shape): the dot products use .sum() without dim=-1, so all axes are added; right for three single vectors, one number and wrong as soon as there are axes before the last
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(), (k * k).sum(), (r * r).sum()
    qk, qr, kr = (q * k).sum(), (q * r).sum(), (k * r).sum()
    return qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2


# %% gram_determinant wrong (property volumes): returns the square root of the determinant, the volume instead of the squared volume; the body of the page gives 0.8 and not 0.64
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, qr, kr = (q * k).sum(-1), (q * r).sum(-1), (k * r).sum(-1)
    det = qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2
    return torch.sqrt(det)


# %% gram_determinant wrong (misconception cross-term-once): the product of the three mixed dot products is added once instead of twice; hidden whenever one of them is 0, as in the page's printed examples where q and r are perpendicular
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    dot = lambda a, b: (a * b).sum(dim=-1)
    down = dot(q, q) * dot(k, k) * dot(r, r) + dot(q, k) * dot(k, r) * dot(r, q)
    up = dot(q, q) * dot(k, r) ** 2 + dot(k, k) * dot(q, r) ** 2 + dot(r, r) * dot(q, k) ** 2
    return down - up


# %% gram_determinant wrong (property lets_gradients_through): the determinant is computed by numpy on a detached Gram matrix; the numbers are right but no gradient flows to q, k or r
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    import numpy as np

    vectors = torch.stack([q, k, r], dim=-2)
    gram = vectors @ vectors.transpose(-2, -1)
    return torch.as_tensor(np.linalg.det(gram.detach().numpy()))


# %% gram_determinant wrong (property volumes): the height subtracts the components of k along q and along r itself, not along the part of r perpendicular to q; right only if q and r are perpendicular
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    area = qq * rr - (q * r).sum(-1) ** 2
    height = kk - (k * q).sum(-1) ** 2 / qq - (k * r).sum(-1) ** 2 / rr
    return area * height


# %% gram_determinant right (passed): six dot products along the last axis, then the five terms
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, qr, kr = (q * k).sum(-1), (q * r).sum(-1), (k * r).sum(-1)
    return qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2


# %% gram_determinant right (passed): the Gram matrix by einsum, then the three falling and three rising diagonals in a loop
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack([q, k, r], dim=-2)
    g = torch.einsum("...id,...jd->...ij", vectors, vectors)
    volume = 0
    for i in range(3):
        j, n = (i + 1) % 3, (i + 2) % 3
        volume = volume + g[..., 0, i] * g[..., 1, j] * g[..., 2, n]
        volume = volume - g[..., 2, i] * g[..., 1, j] * g[..., 0, n]
    return volume


# %% gram_scores wrong (misconception not-negative): the minus sign is forgotten, so the determinant itself is returned; keys far from the plane get the highest scores
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(-1)[..., :, None]
    rr = (r * r).sum(-1)[..., :, None]
    qr = (q * r).sum(-1)[..., :, None]
    kk = (k * k).sum(-1)[..., None, :]
    qk, rk = q @ k.mT, r @ k.mT
    return qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2


# %% gram_scores wrong (misconception reference-of-the-key): the reference is taken from the key's position j and not from the query's position i (rr and kr lie along the key axis, qr is a table of pairs)
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(-1)[..., :, None]
    kk = (k * k).sum(-1)[..., None, :]
    rr = (r * r).sum(-1)[..., None, :]
    kr = (k * r).sum(-1)[..., None, :]
    qk, qr = q @ k.mT, q @ r.mT
    det = qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2
    return -det


# %% gram_scores wrong (property by_matrix_products): broadcasts q, k and r to all pairs and calls gram_determinant; the scores are right, but its products are tensors [batch, heads, query, key, d_head], a vector for each pair
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    q, k, r = torch.broadcast_tensors(q[..., :, None, :], k[..., None, :, :], r[..., :, None, :])
    return -gram_determinant(q, k, r)


# %% gram_scores wrong (property lets_gradients_through): divides by |q|² and the remainder's |s|² without a guard and replaces the nan by torch.where at the end; the score is 0 if q or r is 0, but the gradients become nan
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(-1, keepdim=True)
    s = r - (r * q).sum(-1, keepdim=True) / qq * q
    ss = (s * s).sum(-1, keepdim=True)
    height = (k * k).sum(-1)[..., None, :] - (q @ k.mT) ** 2 / qq - (s @ k.mT) ** 2 / ss
    scores = -qq * ss * height
    return torch.where(qq * ss > 0, scores, torch.zeros_like(scores))


# %% gram_scores wrong (property has_room): the scores are converted back to the dtype of the inputs, not kept in the dtype that upcast returns; float16 vectors give float16 scores, -inf for lengths of 7
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    dtype = q.dtype
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(-1)[..., :, None]
    rr = (r * r).sum(-1)[..., :, None]
    qr = (q * r).sum(-1)[..., :, None]
    kk = (k * k).sum(-1)[..., None, :]
    qk, rk = q @ k.mT, r @ k.mT
    det = qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2
    return -det.to(dtype)


# %% gram_scores right (passed): the five terms, with the dot products of i as columns and those of j as rows
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(-1)[..., :, None]
    rr = (r * r).sum(-1)[..., :, None]
    qr = (q * r).sum(-1)[..., :, None]
    kk = (k * k).sum(-1)[..., None, :]
    qk, rk = q @ k.mT, r @ k.mT
    det = qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2
    return -det


# %% gram_scores right (passed): the remainder of the reference perpendicular to the query, area times height squared multiplied out so that only |q|² divides, guarded before the division; einsum
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    q_squared = torch.einsum("bhid,bhid->bhi", q, q).unsqueeze(-1)
    divisor = torch.where(q_squared > 0, q_squared, torch.ones_like(q_squared))
    rest = r - torch.einsum("bhid,bhid->bhi", r, q).unsqueeze(-1) / divisor * q
    rest_squared = torch.einsum("bhid,bhid->bhi", rest, rest).unsqueeze(-1)
    k_squared = torch.einsum("bhjd,bhjd->bhj", k, k).unsqueeze(-2)
    along_q = torch.einsum("bhid,bhjd->bhij", q, k)
    along_rest = torch.einsum("bhid,bhjd->bhij", rest, k)
    return rest_squared * along_q**2 + q_squared * along_rest**2 - q_squared * rest_squared * k_squared


# %% TripleProductAttention wrong (misconception scaled-by-the-root): the scores are divided by the square root of d_head as in standard attention, not by d_head ** 1.5
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % n_head != 0 or (d_model // n_head) % 2 != 0:
            raise ValueError("d_model must split into heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        layers = (self.W_q, self.W_k, self.W_r, self.W_v)
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in layers)
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**0.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (misconception reference-not-turned): RoPE is applied to queries and keys only, the references are not rotated
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % n_head != 0 or (d_model // n_head) % 2 != 0:
            raise ValueError("d_model must split into heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        layers = (self.W_q, self.W_k, self.W_r, self.W_v)
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in layers)
        scores = gram_scores(apply_rope(q), apply_rope(k), r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (misconception turned-before-the-split): RoPE is applied before the heads are split, so the speeds are those of d_model and not of d_head; right with one head, wrong with several
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % n_head != 0 or (d_model // n_head) % 2 != 0:
            raise ValueError("d_model must split into heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def split(self, x):
        return x.unflatten(-1, (self.n_head, self.d_head)).transpose(1, 2)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        q, k, r = (self.split(apply_rope(w(x))) for w in (self.W_q, self.W_k, self.W_r))
        v = self.split(self.W_v(x))
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property causal): the future is filled with -1e9 instead of minus infinity; with large inputs the scores of visible keys lie below -1e9 and the future gets the weight
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % n_head != 0 or (d_model // n_head) % 2 != 0:
            raise ValueError("d_model must split into heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        layers = (self.W_q, self.W_k, self.W_r, self.W_v)
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in layers)
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -1e9), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property refuses): __init__ tests whether d_model is even instead of whether the head's width is even; d_model 6 with 2 heads (width 3) raises no ValueError
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % n_head != 0 or d_model % 2 != 0:
            raise ValueError("d_model must split into heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        layers = (self.W_q, self.W_k, self.W_r, self.W_v)
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in layers)
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): the standard layer of the page with a fifth matrix and gram_scores
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % n_head != 0 or (d_model // n_head) % 2 != 0:
            raise ValueError(f"{d_model} cannot be divided into {n_head} heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        if x.shape[1] > self.max_len:
            raise ValueError(f"a text of {x.shape[1]} tokens is longer than {self.max_len}")
        layers = (self.W_q, self.W_k, self.W_r, self.W_v)
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in layers)
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): five separate assignments, view and permute for the heads, a mask from compared positions, einsum for the mix
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        width, left_over = divmod(d_model, n_head)
        if left_over:
            raise ValueError("d_model cannot be divided among the heads")
        if width % 2 == 1:
            raise ValueError("RoPE needs heads of even width")
        self.n_head = n_head
        self.d_head = width
        self.max_len = max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def heads(self, x):
        batch, seq, _ = x.shape
        return x.reshape(batch, seq, self.n_head, self.d_head).permute(0, 2, 1, 3)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError("the text is longer than max_len")
        queries = apply_rope(self.heads(self.W_q(x)))
        keys = apply_rope(self.heads(self.W_k(x)))
        references = apply_rope(self.heads(self.W_r(x)))
        values = self.heads(self.W_v(x))
        scores = gram_scores(queries, keys, references) / (self.d_head * self.d_head**0.5)
        place = torch.arange(seq, device=x.device)
        scores = scores.masked_fill(place[None, :] > place[:, None], float("-inf"))
        weights = scores.softmax(dim=-1)
        mixed = torch.einsum("bhij,bhjd->bihd", weights.to(values.dtype), values)
        out = self.W_o(mixed.reshape(batch, seq, d_model))
        if return_weights:
            return out, weights
        return out


# %% copy_batch wrong (shape): the two halves are joined along axis 0 and not along axis 1; the result has twice the texts, each half as long, and nothing repeats within a text
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half])
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (misconception token-by-token): repeat_interleave doubles each token in place (7 7 2 2 9 9) instead of repeating the whole half (7 2 9 7 2 9)
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat_interleave(2, dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (shape): the first half is the start of a random permutation of the vocabulary, so no token occurs twice in it and tokens are not independent; too short if half the length exceeds vocab_size
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.rand(batch_size, vocab_size, generator=generator).argsort(dim=1)[:, : seq_len // 2]
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (misconception one-token-missing): randint gets vocab_size - 1 as its upper limit, which is already exclusive, so the last token of the vocabulary never occurs
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size - 1, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (misconception one-text-for-all): one half is sampled and expanded to all texts, so every text of the batch is the same; shows for batch_size above 1
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (seq_len // 2,), generator=generator)
    text = torch.cat([half, half]).expand(batch_size, seq_len)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): one randint for all first halves, joined with itself along axis 1
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError(f"the length must be even, not {seq_len}")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): a loop that samples one text at a time and repeats it, then stack
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    n, odd = divmod(seq_len, 2)
    if odd:
        raise ValueError("an odd text has no two equal halves")
    texts = []
    for _ in range(batch_size):
        first = torch.randint(low=0, high=vocab_size, size=(n,), generator=generator)
        texts.append(first.repeat(2))
    texts = torch.stack(texts)
    inputs = texts.narrow(1, 0, seq_len - 1)
    targets = texts.narrow(1, 1, seq_len - 1)
    return inputs, targets
