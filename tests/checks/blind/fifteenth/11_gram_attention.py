# %% gram_determinant wrong (misconception cross-term-once): the two mixed diagonals are counted once instead of twice
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    return qq * kk * rr + qk * kr * rq - qq * kr**2 - kk * rq**2 - rr * qk**2


# %% gram_determinant wrong (property volumes): returns the volume, the root of the determinant, not the volume squared
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    v = torch.stack([q, k, r], dim=-2)
    return torch.linalg.det(v @ v.mT).clamp(min=0).sqrt()


# %% gram_determinant wrong (difference milestone): takes the absolute value of the mixed product; wrong when (q.k)(k.r)(r.q) is negative
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    return qq * kk * rr + 2 * (qk * kr * rq).abs() - qq * kr**2 - kk * rq**2 - rr * qk**2


# %% gram_determinant wrong (property gradients): normalises the vectors and multiplies by detached lengths; right values, but the gradient misses the part along each vector
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    scale = (q.norm(dim=-1) * k.norm(dim=-1) * r.norm(dim=-1)).detach() ** 2
    q, k, r = (nn.functional.normalize(x, dim=-1) for x in (q, k, r))
    a, b, c = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    return scale * (1 + 2 * a * b * c - a**2 - b**2 - c**2)


# %% gram_determinant wrong (misconception singular-values-of-a-plane): product of the squared singular values of [3, d]; for d = 1 or 2 there are fewer than three, and the result is not 0
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    vectors = torch.stack([q, k, r], dim=-2)
    return torch.linalg.svdvals(vectors).square().prod(dim=-1)


# %% gram_determinant right (passed): rule of Sarrus written out with six dot products
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    return qq * kk * rr + 2 * qk * kr * rq - qq * kr**2 - kk * rq**2 - rr * qk**2


# %% gram_determinant right (passed): Leibniz formula over the Gram matrix, with a loop over the six permutations
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    from itertools import permutations

    vectors = torch.stack([q, k, r], dim=-2)
    gram = torch.einsum("...ad,...bd->...ab", vectors, vectors)
    total = 0
    for order in permutations(range(3)):
        swaps = sum(order[a] > order[b] for a in range(3) for b in range(a + 1, 3))
        term = gram[..., 0, order[0]] * gram[..., 1, order[1]] * gram[..., 2, order[2]]
        total = total + (-1) ** swaps * term
    return total


# %% gram_scores wrong (misconception not-negative): forgets the minus sign: returns the determinant itself
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
    return (qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores wrong (property one_at_a_time): k @ r.mT instead of r @ k.mT: the product of key and reference is transposed
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
    qk, rk = q @ k.mT, k @ r.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores wrong (property lets_gradients_through): divides by the lengths and repairs nan afterwards; if query and reference span no plane, the gradients become nan
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    u = q / q.norm(dim=-1, keepdim=True)
    rest = r - (r * u).sum(-1, keepdim=True) * u
    w = rest / rest.norm(dim=-1, keepdim=True)
    area2 = (q.square().sum(-1) * rest.square().sum(-1))[..., None]
    height2 = k.square().sum(-1)[..., None, :] - (u @ k.mT) ** 2 - (w @ k.mT) ** 2
    return -(area2 * height2).nan_to_num(nan=0.0)


# %% gram_scores wrong (property has_room): casts the result back to the dtype of the inputs; float16 vectors of length 7 give -inf
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
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2).to(dtype)


# %% gram_scores wrong (difference constant): sets the score to 0 where the area squared is below 0.001; wrong for short queries or references with long keys
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    qq, rr, kk = (x.square().sum(-1) for x in (q, r, k))
    qr = (q * r).sum(-1)
    flat = (qq * rr - qr**2 < 1e-3)[..., None]
    qk, rk = q @ k.mT, r @ k.mT
    qq, rr, qr, kk = qq[..., None], rr[..., None], qr[..., None], kk[..., None, :]
    det = qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2
    return -det.masked_fill(flat, 0.0)


# %% gram_scores right (passed): the five terms, with broadcasting
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


# %% gram_scores right (passed): area times height; the length of the remainder cancels, and normalize protects a query of length 0
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    along = nn.functional.normalize(q, dim=-1)
    rest = r - (r * along).sum(-1, keepdim=True) * along
    base = q.square().sum(-1)[..., None]
    side = rest.square().sum(-1)[..., None]
    length = k.square().sum(-1).unsqueeze(-2)
    return -base * (side * (length - (along @ k.mT) ** 2) - (rest @ k.mT) ** 2)


# %% TripleProductAttention wrong (misconception scaled-by-the-root): keeps the scale of the standard layer, the square root of d_head
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("d_model must be divisible into n_head heads of even width")
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


# %% TripleProductAttention wrong (misconception reference-not-turned): forgets RoPE on the references
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("d_model must be divisible into n_head heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("the text is too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property causal): masks the future with -1e9; for large inputs the scores of the past are lower, and the future gets weight
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("d_model must be divisible into n_head heads of even width")
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
        weights = torch.softmax(scores.masked_fill(future, -1e9), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property refuses): tests only that d_model is divisible by n_head; no ValueError for heads of odd width
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head:
            raise ValueError("d_model must be divisible into n_head heads of even width")
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


# %% TripleProductAttention wrong (misconception reference-made-before-the-output): creates the layers in the order q, k, v, r, o; a seed gives different weights, all else is right
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("d_model must be divisible into n_head heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_v, self.W_r, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

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


# %% TripleProductAttention right (passed): like the standard layer, with a boolean triangle and masked_fill
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("d_model must be divisible into n_head heads of even width")
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


# %% TripleProductAttention right (passed): layers made in a loop, one head after the other, mask from a comparison of positions
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        width, left = divmod(d_model, n_head)
        if left != 0:
            raise ValueError(f"{d_model} entries cannot be shared by {n_head} heads")
        if width % 2 == 1:
            raise ValueError("RoPE needs heads of even width")
        self.n_head = n_head
        self.d_head = width
        self.max_len = max_len
        for letter in "qkrvo":
            setattr(self, f"W_{letter}", nn.Linear(d_model, d_model, bias=False))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        seq = x.size(1)
        if seq > self.max_len:
            raise ValueError(f"at most {self.max_len} positions, not {seq}")
        parts = [w(x).split(self.d_head, dim=-1) for w in (self.W_q, self.W_k, self.W_r, self.W_v)]
        places = torch.arange(seq, device=x.device)
        past = places[:, None] >= places
        mixed, all_weights = [], []
        for q, k, r, v in zip(*parts):
            q, k, r = (apply_rope(t).unsqueeze(1) for t in (q, k, r))
            scores = gram_scores(q, k, r).squeeze(1) * self.d_head**-1.5
            low = torch.full_like(scores, -torch.inf)
            weights = torch.where(past, scores, low).softmax(dim=-1).to(v.dtype)
            mixed.append(torch.einsum("bij,bjd->bid", weights, v))
            all_weights.append(weights)
        out = self.W_o(torch.cat(mixed, dim=-1))
        if return_weights:
            return out, torch.stack(all_weights, dim=1)
        return out


# %% copy_batch wrong (misconception shifted-backwards): swaps the two results: inputs without the first token, targets without the last
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, 1:], text[:, :-1]


# %% copy_batch wrong (misconception token-by-token): repeat_interleave writes each token twice in a row instead of the half twice
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat_interleave(2, dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (misconception one-token-missing): upper bound vocab_size - 1, which randint excludes; the last token never occurs
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size - 1, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (property draws_from_its_generator): without a generator it makes one with a fixed seed; repeated calls give the same texts
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    if generator is None:
        generator = torch.Generator().manual_seed(0)
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (property few_and_odd): tests the length with assert; an odd length raises AssertionError, not ValueError
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    assert seq_len % 2 == 0, "seq_len must be even"
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): randint and cat
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): multinomial draws with replacement, then indexes the half with positions modulo its length
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    half, odd = divmod(seq_len, 2)
    if odd:
        raise ValueError(f"the length {seq_len} is odd")
    rows = []
    for _ in range(batch_size):
        rows.append(torch.multinomial(torch.ones(vocab_size), half, replacement=True, generator=generator))
    text = torch.stack(rows)[:, torch.arange(seq_len) % half]
    return text.narrow(1, 0, seq_len - 1), text.narrow(1, 1, seq_len - 1)


