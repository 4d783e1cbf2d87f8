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
