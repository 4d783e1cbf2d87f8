# %% span_scores/key-reference right: with the determinant of the lesson, for all pairs
def span_scores(q, k, r):
    return -gram_determinant(q.unsqueeze(2), k.unsqueeze(1), r.unsqueeze(1))
# %% span_scores/key-reference right: the five terms of the determinant
def span_scores(q, k, r):
    qq = (q * q).sum(-1)[:, :, None]
    kk, rr, kr = ((a * b).sum(-1)[:, None] for a, b in ((k, k), (r, r), (k, r)))
    qk, qr = q @ k.mT, q @ r.mT
    return qk**2 * rr + qr**2 * kk + kr**2 * qq - qq * kk * rr - 2 * qk * kr * qr
# %% span_scores/key-reference right: the roles of query and key exchanged
def span_scores(q, k, r):
    base = torch.linalg.det(torch.stack([torch.stack([(a * b).sum(-1) for b in (k, r)], -1) for a in (k, r)], -2))
    unit = nn.functional.normalize(k, dim=-1)
    rest = nn.functional.normalize(r - (r * unit).sum(-1, keepdim=True) * unit, dim=-1)
    height = (q * q).sum(-1)[:, :, None] - (q @ unit.mT) ** 2 - (q @ rest.mT) ** 2
    return -base[:, None] * height
# %% span_scores/shared-reference right: with the determinant of the lesson, for all pairs
def span_scores(q, k, r):
    mean = r.mean(dim=1)[:, None, None]
    return -gram_determinant(q.unsqueeze(2), k.unsqueeze(1), mean)
# %% span_scores/shared-reference right: the five terms of the determinant
def span_scores(q, k, r):
    mean = r.mean(dim=1, keepdim=True)
    qq, qr = (q * q).sum(-1)[:, :, None], (q * mean).sum(-1)[:, :, None]
    kk, kr = (k * k).sum(-1)[:, None], (k * mean).sum(-1)[:, None]
    rr = (mean * mean).sum(-1)[:, None]
    qk = q @ k.mT
    return qk**2 * rr + qr**2 * kk + kr**2 * qq - qq * kk * rr - 2 * qk * kr * qr
# %% span_scores/shared-reference right: with the scores of the lesson, with one head
def span_scores(q, k, r):
    mean = r.mean(1, keepdim=True).expand(-1, r.shape[1], -1)
    return gram_scores(q[:, None], k[:, None], mean[:, None])[:, 0]
# %% span_scores/shared-reference right: one text after the other
def span_scores(q, k, r):
    scores = []
    for queries, keys, references in zip(q, k, r):
        mean = references.sum(0) / len(references)
        scores.append(-gram_determinant(queries[:, None], keys[None], mean[None, None]))
    return torch.stack(scores)
# %% span_scores/seq-first right: with the determinant of the lesson, then moves the axes
def span_scores(q, k, r):
    return -gram_determinant(q[:, None], k[None], r[:, None]).permute(2, 0, 1)
# %% span_scores/seq-first right: turns the inputs, then adds the five terms
def span_scores(q, k, r):
    q, k, r = (t.transpose(0, 1) for t in (q, k, r))
    qq, rr, qr = ((a * b).sum(-1)[:, :, None] for a, b in ((q, q), (r, r), (q, r)))
    kk = (k * k).sum(-1)[:, None]
    qk, rk = q @ k.mT, r @ k.mT
    return qk**2 * rr + qr**2 * kk + rk**2 * qq - qq * kk * rr - 2 * qk * rk * qr
# %% span_scores/seq-first right: with einsum on the inputs as they are
def span_scores(q, k, r):
    qk, rk = torch.einsum("ibd,jbd->bij", q, k), torch.einsum("ibd,jbd->bij", r, k)
    qq, rr, qr = ((a * b).sum(2).T[:, :, None] for a, b in ((q, q), (r, r), (q, r)))
    kk = k.square().sum(2).T[:, None]
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)
# %% span_scores/previous-reference right: with the determinant of the lesson, for all pairs
def span_scores(q, k, r):
    return -gram_determinant(q.unsqueeze(2), k.unsqueeze(1), r.roll(1, dims=1).unsqueeze(2))
# %% span_scores/previous-reference right: joins the references in the new order, and uses the scores of the lesson
def span_scores(q, k, r):
    moved = torch.cat([r[:, -1:], r[:, :-1]], dim=1)
    return gram_scores(q[:, None], k[:, None], moved[:, None])[:, 0]
# %% span_scores/previous-reference right: the five terms of the determinant
def span_scores(q, k, r):
    r = r[:, torch.arange(r.shape[1]) - 1]
    qq, rr, qr = ((a * b).sum(-1)[:, :, None] for a, b in ((q, q), (r, r), (q, r)))
    kk = (k * k).sum(-1)[:, None]
    qk, rk = q @ k.mT, r @ k.mT
    return qk**2 * rr + qr**2 * kk + rk**2 * qq - qq * kk * rr - 2 * qk * rk * qr
