# %% gram_determinant wrong (raised): squares the determinant of the three stacked vectors themselves, which is a square matrix only in three dimensions; crashes for any other width (64 in the next cell)
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack([q, k, r], dim=-2)
    return torch.linalg.det(vectors) ** 2


# %% gram_determinant wrong (shape): dot products sum over axis 0 instead of the last axis; right for single vectors, wrong numbers and shape as soon as there is an axis before the vectors
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(dim=0), (k * k).sum(dim=0), (r * r).sum(dim=0)
    qk, qr, kr = (q * k).sum(dim=0), (q * r).sum(dim=0), (k * r).sum(dim=0)
    return qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2


# %% gram_determinant wrong (misconception cross-term-once): the product (q.k)(k.r)(r.q) is added once instead of twice; shows only if none of the three dot products is 0 (query and reference of the page are perpendicular)
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""

    def dot(a, b):
        return (a * b).sum(dim=-1)

    down = dot(q, q) * dot(k, k) * dot(r, r) + dot(q, k) * dot(k, r) * dot(r, q)
    up = dot(q, q) * dot(k, r) ** 2 + dot(k, k) * dot(q, r) ** 2 + dot(r, r) * dot(q, k) ** 2
    return down - up


# %% gram_determinant wrong (property volumes): the three subtracted squares are not multiplied by the squared length of the third vector; right only where these lengths are 1 or the dot product is 0, as in the page's example
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qk = (q * k).sum(dim=-1)
    qr = (q * r).sum(dim=-1)
    kr = (k * r).sum(dim=-1)
    lengths = q.square().sum(dim=-1) * k.square().sum(dim=-1) * r.square().sum(dim=-1)
    return lengths + 2 * qk * kr * qr - qk**2 - qr**2 - kr**2


# %% gram_determinant wrong (property lets_gradients_through): the vectors are detached before the Gram matrix is built, so the numbers are right but no gradient flows (the next cell's backward fails)
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack([q.detach(), k.detach(), r.detach()], dim=-2)
    gram = vectors @ vectors.mT
    return torch.linalg.det(gram)


# %% gram_determinant right (passed): six dot products along the last axis and the five terms written out
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, qr, kr = (q * k).sum(-1), (q * r).sum(-1), (k * r).sum(-1)
    return qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2


# %% gram_determinant right (passed): the Gram matrix as a product of the stacked vectors with their transpose, and torch.linalg.det
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack((q, k, r), dim=-2)
    return torch.linalg.det(vectors @ vectors.transpose(-2, -1))


# %% gram_scores wrong (misconception not-negative): returns the determinant itself, without the minus sign, so keys far from the plane get the highest score
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(-1).unsqueeze(-1)
    rr = (r * r).sum(-1).unsqueeze(-1)
    qr = (q * r).sum(-1).unsqueeze(-1)
    kk = (k * k).sum(-1).unsqueeze(-2)
    qk = q @ k.mT
    rk = r @ k.mT
    return qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2


# %% gram_scores wrong (misconception key-norms-along-rows): the squared key lengths are kept as a column like those of queries and references, so the length of key i instead of key j is used in row i; shows if keys differ in length
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(dim=-1, keepdim=True)
    kk = (k * k).sum(dim=-1, keepdim=True)
    rr = (r * r).sum(dim=-1, keepdim=True)
    qr = (q * r).sum(dim=-1, keepdim=True)
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores wrong (property one_at_a_time): the table of k.r is computed as k @ r.mT, so entry [i, j] holds key i with reference j (transposed); shows as soon as there is more than one position
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = q.pow(2).sum(-1)[..., :, None]
    rr = r.pow(2).sum(-1)[..., :, None]
    qr = (q * r).sum(-1)[..., :, None]
    kk = k.pow(2).sum(-1)[..., None, :]
    qk = q @ k.mT
    kr = k @ r.mT
    det = qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2
    return -det


# %% gram_scores wrong (property lets_gradients_through): divides by the lengths of query and remainder without a guard and replaces the nan with torch.where afterwards; the scores are right, but if query or reference has length 0 the gradients are nan
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    along = q / q.square().sum(-1, keepdim=True).sqrt()
    rest = r - (r * along).sum(-1, keepdim=True) * along
    across = rest / rest.square().sum(-1, keepdim=True).sqrt()
    area2 = q.square().sum(-1, keepdim=True) * rest.square().sum(-1, keepdim=True)
    height2 = k.square().sum(-1)[..., None, :] - (along @ k.mT) ** 2 - (across @ k.mT) ** 2
    scores = -area2 * height2
    return torch.where(area2 > 0, scores, torch.zeros_like(scores))


# %% gram_scores wrong (property by_matrix_products): right numbers, but q * k and r * k are built as [batch, heads, query, key, d_head] tensors, which hold a vector for each pair; the page forbids that (memory d_head times too large)
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    q, r = q[:, :, :, None, :], r[:, :, :, None, :]
    k = k[:, :, None, :, :]
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, rk, qr = (q * k).sum(-1), (r * k).sum(-1), (q * r).sum(-1)
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores right (passed): the five terms, with columns for query and reference, a row for the keys and two matrix products
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq, rr, qr = ((a * b).sum(-1)[..., :, None] for a, b in ((q, q), (r, r), (q, r)))
    kk = (k * k).sum(-1)[..., None, :]
    qk, rk = q @ k.mT, r @ k.mT
    return qq * rk**2 + kk * qr**2 + rr * qk**2 - qq * kk * rr - 2 * qk * rk * qr


# %% gram_scores right (passed): area times height, with F.normalize for the two directions (0 stays 0) and einsum for the components
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    first = nn.functional.normalize(q, dim=-1)
    remainder = r - (r * first).sum(dim=-1, keepdim=True) * first
    second = nn.functional.normalize(remainder, dim=-1)
    area_squared = q.square().sum(dim=-1) * remainder.square().sum(dim=-1)
    in_plane = sum(torch.einsum("bhid,bhjd->bhij", unit, k).square() for unit in (first, second))
    height_squared = k.square().sum(dim=-1).unsqueeze(-2) - in_plane
    return -area_squared.unsqueeze(-1) * height_squared


# %% TripleProductAttention wrong (misconception reference-not-turned): RoPE is applied to queries and keys only, not to the references
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % n_head != 0 or (d_model // n_head) % 2 != 0:
            raise ValueError("d_model must give n_head heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (misconception scaled-by-the-root): the scores are divided by the square root of d_head, as in the standard layer, instead of d_head to the power 1.5
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give n_head heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(5)
        )

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**0.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property finite): masks every score that equals 0 after tril, so an allowed key whose score is exactly 0 is hidden too; a zero vector in the text gives a row of nan
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError(f"{d_model} cannot be divided into {n_head} heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        for name in ("W_q", "W_k", "W_r", "W_v", "W_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError(f"{seq} positions are more than {self.max_len}")

        def heads(layer):
            return layer(x).view(batch, seq, self.n_head, self.d_head).transpose(1, 2)

        q, k, r = apply_rope(heads(self.W_q)), apply_rope(heads(self.W_k)), apply_rope(heads(self.W_r))
        scores = gram_scores(q, k, r) / self.d_head**1.5
        scores = torch.tril(scores)
        scores = scores.masked_fill(scores == 0, float("-inf"))
        weights = scores.softmax(dim=-1)
        mixed = (weights @ heads(self.W_v)).transpose(1, 2).reshape(batch, seq, d_model)
        out = self.W_o(mixed)
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (misconception turned-before-the-split): RoPE rotates the whole d_model-wide vectors before they are split into heads, so the speeds are base ** (-2i / d_model) and run on from head to head instead of starting at 1 in each head with d_head; right with one head
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError(f"{d_model} cannot be divided into {n_head} heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = apply_rope(self.W_q(x)), apply_rope(self.W_k(x)), apply_rope(self.W_r(x)), self.W_v(x)
        q, k, r, v = (t.unflatten(-1, (self.n_head, self.d_head)).transpose(1, 2) for t in (q, k, r, v))
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.triu(torch.ones(seq, seq, device=x.device), diagonal=1).bool()
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property refuses): __init__ tests whether d_model is even instead of whether the width of a head is even, so d_model 12 with 4 heads of width 3 raises no ValueError in __init__
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % n_head != 0:
            raise ValueError("d_model cannot be divided into n_head heads")
        if d_model % 2 != 0:
            raise ValueError("RoPE needs an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(5)
        )

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): written like StandardAttention, with gram_scores and a mask made on the input's device
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError(f"d_model {d_model} cannot be divided into {n_head} heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(5)
        )

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError(f"a text of {seq} tokens is longer than {self.max_len}")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): layers made in a loop, a non-persistent buffer as mask, a helper that splits the heads, and einsum for the mix
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        # Test d_model; then make the five layers.
        if d_model % (2 * n_head) != 0:
            raise ValueError("every head needs the same, even width")
        self.n_head = n_head
        self.d_head = d_model // n_head
        self.max_len = max_len
        for name in ("q", "k", "r", "v", "o"):
            self.add_module(f"W_{name}", nn.Linear(d_model, d_model, bias=False))
        allowed = torch.tril(torch.ones(max_len, max_len)).bool()
        self.register_buffer("allowed", allowed, persistent=False)

    def split(self, x):
        batch, seq, _ = x.shape
        return x.reshape(batch, seq, self.n_head, self.d_head).permute(0, 2, 1, 3)

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        # Test the length; then rotate, score, mask and mix.
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError("this text is too long")
        queries = apply_rope(self.split(self.W_q(x)))
        keys = apply_rope(self.split(self.W_k(x)))
        references = apply_rope(self.split(self.W_r(x)))
        values = self.split(self.W_v(x))
        scores = gram_scores(queries, keys, references) / self.d_head**1.5
        scores = scores.masked_fill(~self.allowed[:seq, :seq], float("-inf"))
        weights = nn.functional.softmax(scores, dim=-1).to(values.dtype)
        mixed = torch.einsum("bhij,bhjd->bihd", weights, values).reshape(batch, seq, d_model)
        out = self.W_o(mixed)
        if return_weights:
            return out, weights
        return out


# %% copy_batch wrong (misconception token-by-token): repeat_interleave doubles each token in place (7 7 2 2 9 9) instead of repeating the whole half (7 2 9 7 2 9)
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat_interleave(2, dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (misconception one-token-missing): randint's upper end is exclusive, but vocab_size - 1 is passed, so the last token is never sampled
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size - 1, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (misconception one-text-for-all): one half is sampled and used for every text of the batch, so all texts are the same; right for a batch of one
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 == 1:
        raise ValueError(f"{seq_len} is odd")
    half = torch.randint(vocab_size, (seq_len // 2,), generator=generator)
    text = half.repeat(batch_size, 2)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (property draws_from_its_generator): if no generator is given, a new one with seed 0 is made in every call, so each call without a generator returns the same texts
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    if generator is None:
        generator = torch.Generator().manual_seed(0)
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat(1, 2)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (difference fact): scales uniform numbers to 0 .. vocab_size - 1 and rounds them, so the first and the last token are only half as frequent as the others; ranges and shapes are right
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("the length must be even")
    half = (torch.rand(batch_size, seq_len // 2, generator=generator) * (vocab_size - 1)).round().long()
    text = torch.cat((half, half), dim=-1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): randint with the generator, and cat
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError(f"the length must be even, not {seq_len}")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): random_ on an empty integer tensor, and the positions modulo the half as an index
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    middle, rest = divmod(seq_len, 2)
    if rest != 0:
        raise ValueError("a text of odd length has no two halves")
    first = torch.empty(batch_size, middle, dtype=torch.long).random_(0, vocab_size, generator=generator)
    places = torch.arange(seq_len) % middle
    inputs = first[:, places[:-1]]
    targets = first[:, places[1:]]
    return inputs, targets
