# %% gram_determinant wrong (misconception cross-term-once): counts the mixed product once instead of twice
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, qr = (q * k).sum(-1), (k * r).sum(-1), (q * r).sum(-1)
    return qq * kk * rr + qk * kr * qr - qr**2 * kk - kr**2 * qq - qk**2 * rr


# %% gram_determinant wrong (misconception cross-term-forgotten): subtracts the key's components along q and along r as if these were perpendicular (right when q.r = 0, as on the page's body)
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, qr = (q * k).sum(-1), (k * r).sum(-1), (q * r).sum(-1)
    return (qq * rr - qr**2) * kk - qk**2 * rr - kr**2 * qq


# %% gram_determinant wrong (misconception singular-values-of-a-plane): product of the squared singular values, which is the squared area (not 0) when the vectors have only two entries
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    return torch.linalg.svdvals(torch.stack((q, k, r), dim=-2)).square().prod(dim=-1)


# %% gram_determinant right (passed): Gram matrix by matmul, then cofactors along its first row
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    three = torch.stack(torch.broadcast_tensors(q, k, r), dim=-2)
    G = three @ three.mT

    def minor(a, b, c, d):
        return G[..., 1, a] * G[..., 2, b] - G[..., 1, c] * G[..., 2, d]

    return G[..., 0, 0] * minor(1, 2, 2, 1) - G[..., 0, 1] * minor(0, 2, 2, 0) + G[..., 0, 2] * minor(0, 1, 1, 0)


# %% gram_scores wrong (misconception reference-of-the-key): uses the reference of the key's position j instead of the query's position i
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(-1)[..., :, None]
    kk, rr, kr = (k * k).sum(-1)[..., None, :], (r * r).sum(-1)[..., None, :], (k * r).sum(-1)[..., None, :]
    qk, qr = q @ k.mT, q @ r.mT
    return -(qq * kk * rr + 2 * qk * kr * qr - qr**2 * kk - kr**2 * qq - qk**2 * rr)


# %% gram_scores wrong (difference milestone): adds 1e-6 to the squared lengths that it divides by, which is not small for short queries and references (shows for a q or r of length 0.001 with long keys)
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(-1, keepdim=True)
    rest = r - (q * r).sum(-1, keepdim=True) / (qq + 1e-6) * q
    pp = (rest * rest).sum(-1, keepdim=True)
    kk = (k * k).sum(-1)[..., None, :]
    height = kk - (q @ k.mT) ** 2 / (qq + 1e-6) - (rest @ k.mT) ** 2 / (pp + 1e-6)
    return -(qq * pp * height)


# %% gram_scores wrong (property lets_gradients_through): replaces nan by 0 with where() after the division, so the scores are right but gradients are nan when a query or reference has length 0
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = (q * q).sum(-1, keepdim=True)
    rest = r - (q * r).sum(-1, keepdim=True) / qq * q
    pp = (rest * rest).sum(-1, keepdim=True)
    kk = (k * k).sum(-1)[..., None, :]
    height = kk - (q @ k.mT) ** 2 / qq - (rest @ k.mT) ** 2 / pp
    area = qq * pp
    return torch.where(area > 0, -area * height, torch.zeros_like(height))


# %% gram_scores right (passed): projects references and keys away from the query; a 2 x 2 determinant of what remains, and no division by the remainder
def gram_scores(
    q: Float[Tensor, "batch heads seq d_head"],
    k: Float[Tensor, "batch heads seq d_head"],
    r: Float[Tensor, "batch heads seq d_head"],
) -> Float[Tensor, "batch heads query key"]:
    """Return scores; entry [i, j] is minus the Gram determinant of query i, key j and reference i."""
    q, k, r = gram_attention.upcast(q, k, r)
    # Formulas on vectors, for all pairs at once.
    qq = q.square().sum(dim=-1, keepdim=True)
    safe = torch.where(qq > 0, qq, torch.ones_like(qq))
    rest = r - (q * r).sum(dim=-1, keepdim=True) / safe * q
    rest_squared = rest.square().sum(dim=-1, keepdim=True)
    key_squared = k.square().sum(dim=-1).unsqueeze(-2) - torch.matmul(q, k.transpose(-1, -2)).square() / safe
    across = torch.matmul(rest, k.transpose(-1, -2)).square()
    return qq * (across - rest_squared * key_squared)


# %% TripleProductAttention wrong (misconception zero-mask): sets the scores of the future to 0, the highest possible score
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("heads must have an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        weights = torch.softmax(scores.tril(), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (property refuses): tests whether d_model is even instead of the width of a head, so d_model 6 with 2 heads is accepted
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or d_model % 2:
            raise ValueError("heads must have an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention wrong (misconception reference-not-turned): rotates queries and keys only, not the references
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("heads must have an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        scores = gram_scores(apply_rope(q), apply_rope(k), r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights.to(v.dtype) @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% TripleProductAttention right (passed): reshape and permute, rotates queries, keys and references as one stacked tensor, where() for the mask
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        d_head, left_over = divmod(d_model, n_head)
        if left_over != 0 or d_head % 2 == 1:
            raise ValueError(f"{d_model} entries cannot be divided into {n_head} heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_head, max_len
        for name in ("W_q", "W_k", "W_r", "W_v", "W_o"):
            self.add_module(name, nn.Linear(d_model, d_model, bias=False))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError(f"{seq} tokens, but max_len is {self.max_len}")

        def heads(t):
            return t.reshape(batch, seq, self.n_head, self.d_head).permute(0, 2, 1, 3)

        turned = apply_rope(torch.stack([heads(w(x)) for w in (self.W_q, self.W_k, self.W_r)]))
        scores = gram_scores(turned[0], turned[1], turned[2]) / self.d_head**1.5
        scores = scores.clamp(min=torch.finfo(scores.dtype).min)
        place = torch.arange(seq, device=x.device)
        scores = torch.where(place[:, None] >= place, scores, scores.new_tensor(-torch.inf))
        weights = nn.functional.softmax(scores, dim=-1)
        v = heads(self.W_v(x))
        mixed = torch.einsum("bhqk,bhkd->bqhd", weights.to(v.dtype), v)
        out = self.W_o(mixed.reshape(batch, seq, d_model))
        if return_weights:
            return out, weights
        return out


# %% copy_batch wrong (misconception token-by-token): writes each token twice in a row instead of the half twice
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat_interleave(2, dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (difference fact): samples without replacement when the vocabulary is large enough, so no token occurs twice in a half (not independent)
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    n = seq_len // 2
    if vocab_size >= n:
        half = torch.rand(batch_size, vocab_size, generator=generator).argsort(dim=1)[:, :n]
    else:
        half = torch.randint(vocab_size, (batch_size, n), generator=generator)
    text = torch.cat((half, half), dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch wrong (difference fact): rounds random floats, so the first and the last token are half as likely as the others (not uniform)
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = (torch.rand(batch_size, seq_len // 2, generator=generator) * (vocab_size - 1)).round().long()
    text = torch.cat((half, half), dim=1)
    return text[:, :-1], text[:, 1:]


# %% copy_batch right (passed): multinomial over equal chances, the text by positions modulo half
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Return random texts whose second half repeats the first half, as (inputs, targets)."""
    n, odd = divmod(seq_len, 2)
    if odd:
        raise ValueError(f"seq_len must be even, got {seq_len}")
    drawn = torch.multinomial(torch.ones(vocab_size), batch_size * n, replacement=True, generator=generator)
    text = drawn.view(batch_size, n)[:, torch.arange(seq_len) % n]
    return text[:, : seq_len - 1].clone(), text[:, 1:].clone()




# %% span_scores/key-reference wrong (misconception as-in-the-lesson): the reference comes from the position of the query, as in the lesson
def span_scores(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """Return the scores of all pairs, as your task says."""
    qq, rr, qr = (q * q).sum(-1)[..., None], (r * r).sum(-1)[..., None], (q * r).sum(-1)[..., None]
    kk = (k * k).sum(-1)[:, None]
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - rr * qk**2 - kk * qr**2)


# %% span_scores/key-reference wrong (raised): subtle, the volume from a cross product: right for d = 3 only
def span_scores(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """Return the scores of all pairs, as your task says."""
    normal = torch.linalg.cross(k, r, dim=-1)
    return -((q @ normal.mT) ** 2)


# %% span_scores/key-reference right (passed): five terms; the products with r of the key's position lie along the columns
def span_scores(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """Return the scores of all pairs, as your task says."""
    qq = q.square().sum(-1).unsqueeze(2)
    kk, rr, kr = (x.sum(-1).unsqueeze(1) for x in (k * k, r * r, k * r))
    qk, qr = q @ k.mT, q @ r.mT
    return -(qq * kk * rr + 2 * qk * kr * qr - qq * kr * kr - kk * qr * qr - rr * qk * qk)


# %% span_scores/shared-reference wrong (misconception as-in-the-lesson): uses the reference of each query, without the mean
def span_scores(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """Return the scores of all pairs, as your task says."""
    qq, rr, qr = (q * q).sum(-1)[..., None], (r * r).sum(-1)[..., None], (q * r).sum(-1)[..., None]
    kk = (k * k).sum(-1)[:, None]
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - rr * qk**2 - kk * qr**2)


# %% span_scores/shared-reference wrong (misconception mean-over-texts): subtle, one mean for all texts: right for a batch of one text
def span_scores(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """Return the scores of all pairs, as your task says."""
    r = r.mean(dim=(0, 1)).expand_as(q)
    qq, rr, qr = (q * q).sum(-1)[..., None], (r * r).sum(-1)[..., None], (q * r).sum(-1)[..., None]
    kk = (k * k).sum(-1)[:, None]
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - rr * qk**2 - kk * qr**2)


# %% span_scores/shared-reference right (passed): Gram matrices of all triples, determinant by rows
def span_scores(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """Return the scores of all pairs, as your task says."""
    batch, seq, d = q.shape
    reference = r.mean(dim=1)[:, None, None].expand(batch, seq, seq, d)
    triples = torch.stack((q[:, :, None].expand_as(reference), k[:, None].expand_as(reference), reference), dim=-2)
    g = triples @ triples.mT
    det = (
        g[..., 0, 0] * (g[..., 1, 1] * g[..., 2, 2] - g[..., 1, 2] * g[..., 2, 1])
        - g[..., 0, 1] * (g[..., 1, 0] * g[..., 2, 2] - g[..., 1, 2] * g[..., 2, 0])
        + g[..., 0, 2] * (g[..., 1, 0] * g[..., 2, 1] - g[..., 1, 1] * g[..., 2, 0])
    )
    return -det


# %% span_scores/seq-first wrong (misconception text-last): returns the scores in the order [query, key, batch], not with the text first
def span_scores(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """Return the scores of all pairs, as your task says."""
    q, k, r = (x.transpose(0, 1) for x in (q, k, r))
    qq, rr, qr = (q * q).sum(-1)[..., None], (r * r).sum(-1)[..., None], (q * r).sum(-1)[..., None]
    kk = (k * k).sum(-1)[:, None]
    qk, rk = q @ k.mT, r @ k.mT
    scores = -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - rr * qk**2 - kk * qr**2)
    return scores.permute(1, 2, 0)


# %% span_scores/seq-first wrong (property finite): subtle, divides by the lengths of the query and of the remainder of the reference: nan if one of them is zero
def span_scores(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """Return the scores of all pairs, as your task says."""
    q, k, r = (x.transpose(0, 1) for x in (q, k, r))
    length = q.norm(dim=-1, keepdim=True)
    along = q / length
    rest = r - (r * along).sum(-1, keepdim=True) * along
    width = rest.norm(dim=-1, keepdim=True)
    across = rest / width
    height = k.square().sum(-1)[:, None] - (along @ k.mT) ** 2 - (across @ k.mT) ** 2
    return -((length * width) ** 2 * height)


# %% span_scores/seq-first right (passed): einsum for the six products, from the axes as they are
def span_scores(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """Return the scores of all pairs, as your task says."""
    qq, rr, qr = (torch.einsum("ibd,ibd->bi", a, b)[:, :, None] for a, b in ((q, q), (r, r), (q, r)))
    kk = torch.einsum("jbd,jbd->bj", k, k)[:, None, :]
    qk, rk = torch.einsum("ibd,jbd->bij", q, k), torch.einsum("ibd,jbd->bij", r, k)
    return qq * rk.square() + rr * qk.square() + kk * qr.square() - qq * kk * rr - 2 * qk * rk * qr
