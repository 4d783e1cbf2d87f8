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
# %% attend_in_heads/shared-keys right: with a head axis
def attend_in_heads(q, k, v, n_heads, mask):
    batch, seq, d = q.shape
    q, k, v = (part.view(batch, seq, n_heads, d // n_heads).transpose(1, 2) for part in (q, k, v))
    scores = q @ k[:, :1].transpose(2, 3) / (d // n_heads) ** 0.5
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    return (weights @ v).transpose(1, 2).reshape(batch, seq, d)
# %% attend_in_heads/shared-keys right: one head after the other
def attend_in_heads(q, k, v, n_heads, mask):
    results = []
    shared = k.chunk(n_heads, dim=2)[0]
    for q_h, v_h in zip(q.chunk(n_heads, dim=2), v.chunk(n_heads, dim=2)):
        scores = q_h @ shared.mT / q_h.shape[2] ** 0.5
        results.append(scores.masked_fill(~mask, -torch.inf).softmax(2) @ v_h)
    return torch.cat(results, dim=2)
# %% attend_in_heads/shared-keys right: repeats the keys, and uses the functions of the lesson and torch's attention
def attend_in_heads(q, k, v, n_heads, mask):
    k = k[..., : k.shape[-1] // n_heads].repeat(1, 1, n_heads)
    q, k, v = (split_heads(part, n_heads) for part in (q, k, v))
    return merge_heads(torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask))
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
