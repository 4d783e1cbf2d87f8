# %% gram_determinant wrong (misconception cross-term-once): adds the product of the three mixed dot products once instead of twice
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, qr = (q * k).sum(-1), (k * r).sum(-1), (q * r).sum(-1)
    return qq * kk * rr + qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2


# %% gram_determinant wrong (shape): sums the products over all axes, so a batch of vectors gives one number
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(), (k * k).sum(), (r * r).sum()
    qk, kr, qr = (q * k).sum(), (k * r).sum(), (q * r).sum()
    return qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2


# %% gram_determinant wrong (property gradients): subtle, detaches the plane of query and reference: values and the key's gradient are right, query and reference get no gradient through the plane's directions
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, rr, qr = (q * q).sum(-1), (r * r).sum(-1), (q * r).sum(-1)
    area = qq * rr - qr**2
    basis, _ = torch.linalg.qr(torch.stack([q, r], dim=-1).detach())
    height = k - (basis @ (basis.mT @ k.unsqueeze(-1))).squeeze(-1)
    return area * (height * height).sum(-1)


# %% gram_determinant wrong (property finite): subtle, divides by q·q: nan instead of 0 if the query has length 0
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq = (q * q).sum(-1, keepdim=True)
    k_left = k - (k * q).sum(-1, keepdim=True) / qq * q
    r_left = r - (r * q).sum(-1, keepdim=True) / qq * q
    kk, rr, kr = (k_left * k_left).sum(-1), (r_left * r_left).sum(-1), (k_left * r_left).sum(-1)
    return qq.squeeze(-1) * (kk * rr - kr**2)


# %% gram_determinant wrong (misconception singular-values-of-a-plane): subtle, squared product of the singular values: with d = 1 or d = 2 there are fewer than three, and the result is not 0
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack([q, k, r], dim=-2)
    return torch.linalg.svdvals(vectors).prod(dim=-1) ** 2


# %% gram_determinant right (passed): the five terms, from six dot products
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""

    def dot(a, b):
        return torch.einsum("...d,...d->...", a, b)

    qk, kr, qr = dot(q, k), dot(k, r), dot(q, r)
    qq, kk, rr = dot(q, q), dot(k, k), dot(r, r)
    return qq * kk * rr + 2 * qk * kr * qr - qq * kr.square() - kk * qr.square() - rr * qk.square()


# %% gram_determinant right (passed): the whole Gram matrix, two columns repeated, products along the six diagonals
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack((q, k, r), dim=-2)
    gram = vectors @ vectors.transpose(-2, -1)
    wide = torch.cat((gram, gram[..., :2]), dim=-1)
    total = 0
    for start in range(3):
        down = wide[..., 0, start] * wide[..., 1, start + 1] * wide[..., 2, start + 2]
        up = wide[..., 2, start] * wide[..., 1, start + 1] * wide[..., 0, start + 2]
        total = total + down - up
    return total


# %% gram_scores wrong (misconception key-norms-along-rows): the squared lengths of the keys stand in a column, so row i uses the length of key i instead of key j
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True)
    kk = (k * k).sum(-1, keepdim=True)
    rr = (r * r).sum(-1, keepdim=True)
    qr = (q * r).sum(-1, keepdim=True)
    qk, rk = q @ k.mT, r @ k.mT
    det = qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2
    return -det


# %% gram_scores wrong (property by_matrix_products): broadcasts the vectors, which creates tensors with a vector for each pair
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    q, k, r = q[:, :, :, None, :], k[:, :, None, :, :], r[:, :, :, None, :]
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, qr = (q * k).sum(-1), (k * r).sum(-1), (q * r).sum(-1)
    return -(qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores wrong (property lets_gradients_through): subtle, replaces the nan of a missing plane by 0 afterwards: the score is right, but the gradients are nan
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True)
    rest = r - (q * r).sum(-1, keepdim=True) / qq * q
    pp = (rest * rest).sum(-1, keepdim=True)
    kk = (k * k).sum(-1).unsqueeze(-2)
    height2 = kk - (q @ k.mT) ** 2 / qq - (rest @ k.mT) ** 2 / pp
    area2 = qq * pp
    scores = -area2 * height2
    return torch.where(area2 > 0, scores, torch.zeros_like(scores))


# %% gram_scores wrong (property has_room): subtle, converts the scores back to the dtype of the arguments: float16 scores overflow and have the wrong dtype
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    dtype = q.dtype
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True)
    rr = (r * r).sum(-1, keepdim=True)
    qr = (q * r).sum(-1, keepdim=True)
    kk = (k * k).sum(-1).unsqueeze(-2)
    qk, rk = q @ k.mT, r @ k.mT
    det = qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2
    return (-det).to(dtype)


# %% gram_scores wrong (difference constant): subtle, treats every squared area up to 0.001 as no plane: short queries and references with long keys get 0
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True)
    rr = (r * r).sum(-1, keepdim=True)
    qr = (q * r).sum(-1, keepdim=True)
    kk = (k * k).sum(-1).unsqueeze(-2)
    qk, rk = q @ k.mT, r @ k.mT
    det = qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2
    no_plane = qq * rr - qr**2 <= 1e-3
    return (-det).masked_fill(no_plane, 0.0)


# %% gram_scores right (passed): the five terms, columns for the query's position and a row for the keys
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq, rr, qr = (q * q).sum(-1)[..., None], (r * r).sum(-1)[..., None], (q * r).sum(-1)[..., None]
    kk = (k * k).sum(-1)[..., None, :]
    qk, rk = q @ k.mT, r @ k.mT
    return qq * rk.square() + rr * qk.square() + kk * qr.square() - qq * kk * rr - 2 * qk * rk * qr


# %% gram_scores right (passed): area times height, with a unit query, and multiplied out so that nothing is divided by the area
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    unit = nn.functional.normalize(q, dim=-1)  # stays 0 for a query of length 0
    rest = r - torch.einsum("bhid,bhid->bhi", unit, r).unsqueeze(-1) * unit
    qq = torch.einsum("bhid,bhid->bhi", q, q)
    pp = torch.einsum("bhid,bhid->bhi", rest, rest)
    kk = torch.einsum("bhjd,bhjd->bhj", k, k)
    along_q = torch.einsum("bhid,bhjd->bhij", q, k)
    along_rest = torch.einsum("bhid,bhjd->bhij", rest, k)
    whole = torch.einsum("bhi,bhj->bhij", qq * pp, kk)
    return pp.unsqueeze(-1) * along_q**2 + qq.unsqueeze(-1) * along_rest**2 - whole


# %% TripleProductAttention wrong (misconception reference-not-turned): rotates queries and keys, but not the references
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give n_head heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is longer than max_len")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        q, k = apply_rope(q), apply_rope(k)
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (misconception scaled-by-the-root): divides by the square root of d_head, as in the standard layer
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give n_head heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is longer than max_len")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        q, k, r = apply_rope(q), apply_rope(k), apply_rope(r)
        scores = gram_scores(q, k, r) / self.d_head**0.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property causal): subtle, masks with -1e9: shows with large inputs, whose scores are lower than this number
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give n_head heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is longer than max_len")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        q, k, r = apply_rope(q), apply_rope(k), apply_rope(r)
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -1e9), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property refuses): subtle, tests whether d_model is even instead of the width of a head: shows with d_model 12 and 4 heads
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0 or d_model % 2 != 0:
            raise ValueError("d_model must give n_head heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is longer than max_len")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        q, k, r = apply_rope(q), apply_rope(k), apply_rope(r)
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property moves_with_its_module): subtle, makes the mask on the CPU: shows when the layer and its input are on another device
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give n_head heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is longer than max_len")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        q, k, r = apply_rope(q), apply_rope(k), apply_rope(r)
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): like the standard layer, with the references and gram_scores
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must give n_head heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is longer than max_len")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        q, k, r = apply_rope(q), apply_rope(k), apply_rope(r)
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): one head after another, positions compared for the mask, results put side by side
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0:
            raise ValueError(f"{d_model} cannot be divided into {n_head} heads")
        width = d_model // n_head
        if width % 2 == 1:
            raise ValueError(f"heads of width {width} have no pairs to rotate")
        self.n_head, self.width, self.max_len = n_head, width, max_len
        for name in ("W_q", "W_k", "W_r", "W_v", "W_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        batch, seq, _ = x.shape
        if seq > self.max_len:
            raise ValueError(f"{seq} positions, but at most {self.max_len} are possible")
        queries, keys, references, values = self.W_q(x), self.W_k(x), self.W_r(x), self.W_v(x)
        position = torch.arange(seq, device=x.device)
        may_look = position[:, None] >= position[None, :]
        results, patterns = [], []
        for head in range(self.n_head):
            part = slice(head * self.width, (head + 1) * self.width)
            q = apply_rope(queries[..., part]).unsqueeze(1)
            k = apply_rope(keys[..., part]).unsqueeze(1)
            r = apply_rope(references[..., part]).unsqueeze(1)
            scores = gram_scores(q, k, r).squeeze(1) / self.width**1.5
            scores = torch.where(may_look, scores, torch.full_like(scores, float("-inf")))
            pattern = nn.functional.softmax(scores, dim=-1).to(values.dtype)
            patterns.append(pattern)
            results.append(torch.einsum("bij,bjd->bid", pattern, values[..., part]))
        out = self.W_o(torch.cat(results, dim=-1))
        if return_weights:
            return out, torch.stack(patterns, dim=1)
        return out


# %% copy_batch wrong (misconception token-by-token): repeats each token directly after itself instead of the whole half
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    first = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = first.repeat_interleave(2, dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (misconception shifted-backwards): exchanges inputs and targets
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, 1:], text[:, :-1]


# %% copy_batch wrong (property draws_from_its_generator): subtle, makes a fresh generator if there is none: every call without a generator returns the same texts
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    if generator is None:
        generator = torch.Generator()
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat((half, half), dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (difference fact): subtle, rounds random numbers between 0 and vocab_size - 1: the first and the last token come half as often as the others
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    random = torch.rand(batch_size, seq_len // 2, generator=generator)
    half = (random * (vocab_size - 1)).round().long()
    text = torch.cat((half, half), dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (difference fact): subtle, the tokens of a half are all different whenever the vocabulary is large enough, so they are not independent
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


# %% copy_batch right (passed): randint for the first half, repeated along the text
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    half, rest = divmod(seq_len, 2)
    if rest:
        raise ValueError(f"a text of {seq_len} tokens has no two equal halves")
    text = torch.randint(vocab_size, (batch_size, half), generator=generator).repeat(1, 2)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): draws with multinomial, fills a table, and cuts inputs and targets by position
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2 == 1:
        raise ValueError("the length must be even")
    half = seq_len // 2
    chances = torch.ones(vocab_size)
    drawn = torch.multinomial(chances, batch_size * half, replacement=True, generator=generator)
    text = torch.empty(batch_size, seq_len, dtype=torch.long)
    text[:, :half] = drawn.view(batch_size, half)
    text[:, half:] = text[:, :half]
    return text.narrow(1, 0, seq_len - 1).clone(), text.narrow(1, 1, seq_len - 1).clone()


