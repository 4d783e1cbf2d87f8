# %% attend_in_heads/true-hides right: with a head axis
def attend_in_heads(q, k, v, n_heads, mask):
    batch, seq, d = q.shape
    q, k, v = (part.view(batch, seq, n_heads, d // n_heads).transpose(1, 2) for part in (q, k, v))
    scores = q @ k.transpose(2, 3) / (d // n_heads) ** 0.5
    weights = torch.softmax(scores.masked_fill(mask, -torch.inf), dim=-1)
    return (weights @ v).transpose(1, 2).reshape(batch, seq, d)
# %% attend_in_heads/true-hides right: one head after the other
def attend_in_heads(q, k, v, n_heads, mask):
    results = []
    for q_h, k_h, v_h in zip(*(part.chunk(n_heads, dim=2) for part in (q, k, v))):
        scores = q_h @ k_h.mT / q_h.shape[2] ** 0.5
        results.append(scores.masked_fill(mask, -torch.inf).softmax(2) @ v_h)
    return torch.cat(results, dim=2)
# %% attend_in_heads/true-hides right: with the functions of the lesson and torch's attention
def attend_in_heads(q, k, v, n_heads, mask):
    q, k, v = (split_heads(part, n_heads) for part in (q, k, v))
    return merge_heads(torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=~mask))
# %% attend_in_heads/interleaved right: with a head axis
def attend_in_heads(q, k, v, n_heads, mask):
    batch, seq, d = q.shape
    q, k, v = (part.view(batch, seq, d // n_heads, n_heads).permute(0, 3, 1, 2) for part in (q, k, v))
    scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)
    mixed = scores.softmax(-1) @ v
    return mixed.permute(0, 2, 3, 1).reshape(batch, seq, d)
# %% attend_in_heads/interleaved right: one head after the other, with steps of n_heads
def attend_in_heads(q, k, v, n_heads, mask):
    result = torch.zeros_like(v)
    for h in range(n_heads):
        q_h, k_h, v_h = q[..., h::n_heads], k[..., h::n_heads], v[..., h::n_heads]
        scores = (q_h @ k_h.mT / q_h.shape[2] ** 0.5).masked_fill(~mask, -torch.inf)
        result[..., h::n_heads] = scores.softmax(2) @ v_h
    return result
# %% attend_in_heads/interleaved right: sorts the entries first, and sorts them back in the end
def attend_in_heads(q, k, v, n_heads, mask):
    order = torch.arange(q.shape[2]).view(-1, n_heads).T.flatten()
    q, k, v = (split_heads(part[..., order], n_heads) for part in (q, k, v))
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return merge_heads(mixed)[..., order.argsort()]
# %% attend_in_heads/averaged-weights right: with a head axis
def attend_in_heads(q, k, v, n_heads, mask):
    batch, seq, d = q.shape
    q, k, v = (part.view(batch, seq, n_heads, d // n_heads).transpose(1, 2) for part in (q, k, v))
    scores = q @ k.transpose(2, 3) / (d // n_heads) ** 0.5
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    weights = weights.mean(dim=1, keepdim=True)
    return (weights @ v).transpose(1, 2).reshape(batch, seq, d)
# %% attend_in_heads/averaged-weights right: one head after the other
def attend_in_heads(q, k, v, n_heads, mask):
    weights = 0
    for q_h, k_h in zip(q.chunk(n_heads, dim=2), k.chunk(n_heads, dim=2)):
        scores = (q_h @ k_h.mT / q_h.shape[2] ** 0.5).masked_fill(~mask, -torch.inf)
        weights = weights + scores.softmax(2) / n_heads
    return weights @ v
# %% attend_in_heads/averaged-weights right: with einsum
def attend_in_heads(q, k, v, n_heads, mask):
    batch, seq, d = q.shape
    q, k = (part.reshape(batch, seq, n_heads, -1) for part in (q, k))
    scores = torch.einsum("bihe,bjhe->hbij", q, k) / q.shape[3] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(3)
    return torch.einsum("hbij,bjd->bid", weights, v) / n_heads
# %% attend_in_heads/summed right: with a head axis
def attend_in_heads(q, k, v, n_heads, mask):
    batch, seq, d = q.shape
    q, k, v = (part.view(batch, seq, n_heads, d // n_heads).transpose(1, 2) for part in (q, k, v))
    scores = q @ k.transpose(2, 3) / (d // n_heads) ** 0.5
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    return (weights @ v).sum(dim=1)
# %% attend_in_heads/summed right: one head after the other
def attend_in_heads(q, k, v, n_heads, mask):
    results = []
    for q_h, k_h, v_h in zip(*(part.chunk(n_heads, dim=2) for part in (q, k, v))):
        scores = q_h @ k_h.mT / q_h.shape[2] ** 0.5
        results.append(scores.masked_fill(~mask, -torch.inf).softmax(2) @ v_h)
    return sum(results)
# %% attend_in_heads/summed right: with the functions of the lesson and torch's attention
def attend_in_heads(q, k, v, n_heads, mask):
    q, k, v = (split_heads(part, n_heads) for part in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).sum(1)
