# %% TripleProductAttention wrong (property options): another scale if there is one head
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("d_model")
        self.n_head, self.max_len = n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights=False):
        if x.shape[1] > self.max_len:
            raise ValueError("long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = (
            gram_scores(apply_rope(q), apply_rope(k), apply_rope(r))
            / q.shape[-1] ** 1.5
            * (1 if self.n_head > 1 else 1.1)
        )
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% copy_batch wrong (property draws_from_its_generator): the generator only decides between two fixed batches
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    choice = int(torch.randint(0, 2, (1,), generator=generator))
    half = torch.arange(seq_len // 2 * batch_size).view(batch_size, -1).add(choice) % vocab_size
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


# %% span_scores/previous-reference wrong (misconception as-in-the-lesson): the reference comes from the position of the query, as in the lesson
def span_scores(q, k, r):
    return gram_scores(q[:, None], k[:, None], r[:, None]).squeeze(1)


# %% span_scores/previous-reference wrong (misconception previous-text): the references move by one text, because dims is 0
def span_scores(q, k, r):
    return -gram_determinant(q[:, :, None], k[:, None], torch.roll(r, 1, dims=0)[:, :, None])


# %% span_scores/previous-reference wrong (misconception own-reference-at-the-start): subtle, query 0 uses its own reference: right for one position
def span_scores(q, k, r):
    rows = [-gram_determinant(q[:, i, None], k, r[:, max(i - 1, 0), None]) for i in range(q.shape[1])]
    return torch.stack(rows, dim=1)


# %% span_scores/previous-reference wrong (misconception next-reference): subtle, the references move the other way: right for two positions
def span_scores(q, k, r):
    moved = torch.cat([r[:, 1:], r[:, :1]], dim=1)
    return -gram_determinant(q.unsqueeze(2), k.unsqueeze(1), moved.unsqueeze(2))


# %% span_scores/previous-reference right (passed): one row after the other; reference -1 is the last reference
def span_scores(q, k, r):
    rows = [-gram_determinant(q[:, i, None], k, r[:, i - 1, None]) for i in range(q.shape[1])]
    return torch.stack(rows, dim=1)


# %% span_scores/previous-reference right (passed): moves the queries back and the finished rows forward
def span_scores(q, k, r):
    return -gram_determinant(q.roll(-1, 1)[:, :, None], k[:, None], r[:, :, None]).roll(1, 1)


# %% span_scores/previous-reference right (passed): Gram matrices of all triples, determinant by torch, in float64
def span_scores(q, k, r):
    seq = q.shape[1]
    before = r[:, [(i - 1) % seq for i in range(seq)]]
    triples = [t.expand(-1, seq, seq, -1) for t in (q[:, :, None], k[:, None], before[:, :, None])]
    rows = torch.stack(triples, dim=3).double()
    return -torch.linalg.det(rows @ rows.mT).to(q.dtype)


# %% gram_determinant wrong (property volumes): adds 1e-6 to both squared lengths that it divides by, so short queries or references beside long keys give a wrong volume
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    qq = (q * q).sum(-1)
    rest = r - ((q * r).sum(-1) / (qq + 1e-6))[..., None] * q
    ss = (rest * rest).sum(-1)
    height2 = (k * k).sum(-1) - (k * q).sum(-1) ** 2 / (qq + 1e-6) - (k * rest).sum(-1) ** 2 / (ss + 1e-6)
    return qq * ss * height2


# %% gram_determinant wrong (property volumes): takes every determinant below 1e-5 for a rounding error and returns 0, also for short vectors that really span a small volume (lengths of 0.1)
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """Return the squared volume that q, k and r span."""
    body = torch.stack([q, k, r], dim=-2)
    g = body @ body.mT
    det = (
        g[..., 0, 0] * (g[..., 1, 1] * g[..., 2, 2] - g[..., 1, 2] ** 2)
        - g[..., 0, 1] * (g[..., 0, 1] * g[..., 2, 2] - g[..., 1, 2] * g[..., 0, 2])
        + g[..., 0, 2] * (g[..., 0, 1] * g[..., 1, 2] - g[..., 1, 1] * g[..., 0, 2])
    )
    return torch.where(det < 1e-5, torch.zeros_like(det), det)


# %% gram_scores wrong (misconception area-without-remainder): area without the perpendicular, minus outside
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq, kk, rr = ((t * t).sum(-1) for t in (q, k, r))
    safe = qq.clamp(min=1e-20)
    rest = r - ((r * q).sum(-1) / safe)[..., None] * q
    rest_sq = (rest * rest).sum(-1).clamp(min=1e-20)
    along = (q @ k.mT) ** 2 / safe[..., None]
    across = (rest @ k.mT) ** 2 / rest_sq[..., None]
    height = kk[..., None, :] - along - across
    return -(qq * rr)[..., None] * height


# %% gram_scores wrong (property one_at_a_time): height not squared area
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    d = lambda a, b: (a * b).sum(-1, keepdim=True)
    p = r - d(r, q) / d(q, q).clamp(min=1e-20) * q
    h = d(k, k).mT - (q @ k.mT) ** 2 / d(q, q).clamp(min=1e-20) - (p @ k.mT) ** 2 / d(p, p).clamp(min=1e-20)
    return -d(q, q) * p.norm(dim=-1, keepdim=True) * h


# %% gram_scores wrong (property keeps_the_dtype): double
def gram_scores(q, k, r):
    q, k, r = (t.double() for t in gram_attention.upcast(q, k, r))
    d = lambda a, b: (a * b).sum(-1)
    qq, kk, rr, qr = d(q, q)[..., None], d(k, k)[..., None, :], d(r, r)[..., None], d(r, q)[..., None]
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)


# %% gram_scores wrong (misconception area-without-remainder): area without the perpendicular (|q|^2|r|^2)
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    d = lambda a, b: (a * b).sum(-1, keepdim=True)
    p = r - d(r, q) / d(q, q).clamp(min=1e-20) * q
    h = d(k, k).mT - (q @ k.mT) ** 2 / d(q, q).clamp(min=1e-20) - (p @ k.mT) ** 2 / d(p, p).clamp(min=1e-20)
    return -d(q, q) * d(r, r) * h
