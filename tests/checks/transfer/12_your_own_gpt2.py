# %% attend_new/window right: with the distances between positions
def attend_new(q, k, v, past_k, past_v):
    k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
    back = torch.arange(past_k.shape[2], k.shape[2])[:, None] - torch.arange(k.shape[2])
    scores = (q @ k.mT / k.shape[3] ** 0.5).masked_fill((back < 0) | (back > 2), -torch.inf)
    return scores.softmax(dim=-1) @ v
# %% attend_new/window right: one new position after the other
def attend_new(q, k, v, past_k, past_v):
    keys, values = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
    results = []
    for i in range(q.shape[2]):
        end = past_k.shape[2] + i + 1
        near = slice(max(end - 3, 0), end)
        scores = q[:, :, i : i + 1] @ keys[:, :, near].transpose(2, 3) / q.shape[3] ** 0.5
        results.append(scores.softmax(3) @ values[:, :, near])
    return torch.cat(results, dim=2)
# %% attend_new/window right: cuts the rows of a mask of all positions
def attend_new(q, k, v, past_k, past_v):
    k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
    total = k.shape[2]
    sees = torch.ones(total, total, dtype=torch.bool).tril().triu(-2)[-q.shape[2] :]
    return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=sees)
# %% attend_new/penalty right: with the distances between positions
def attend_new(q, k, v, past_k, past_v):
    k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
    back = torch.arange(past_k.shape[2], k.shape[2])[:, None] - torch.arange(k.shape[2])
    scores = (q @ k.mT / k.shape[3] ** 0.5 - back / 2).masked_fill(back < 0, -torch.inf)
    return scores.softmax(dim=-1) @ v
# %% attend_new/penalty right: one new position after the other
def attend_new(q, k, v, past_k, past_v):
    keys, values = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
    results = []
    for i in range(q.shape[2]):
        n = past_k.shape[2] + i + 1
        scores = q[:, :, i : i + 1] @ keys[:, :, :n].transpose(2, 3) / q.shape[3] ** 0.5
        scores = scores - 0.5 * torch.arange(n - 1, -1, -1)
        results.append(scores.softmax(3) @ values[:, :, :n])
    return torch.cat(results, dim=2)
# %% attend_new/penalty right: the penalty as a mask of torch's attention
def attend_new(q, k, v, past_k, past_v):
    k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
    places = torch.arange(k.shape[2], dtype=q.dtype)
    bias = (places - places[:, None]) * 0.5
    bias = bias.masked_fill(bias > 0, -torch.inf)[past_k.shape[2] :]
    return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
# %% attend_new/newest-first right: a mirrored mask
def attend_new(q, k, v, past_k, past_v):
    k, v = torch.cat([k, past_k], dim=2), torch.cat([v, past_v], dim=2)
    later = torch.arange(q.shape[2])[:, None] > torch.arange(k.shape[2])
    scores = (q @ k.mT / k.shape[3] ** 0.5).masked_fill(later, -torch.inf)
    return scores.softmax(dim=-1) @ v
# %% attend_new/newest-first right: turns everything around
def attend_new(q, k, v, past_k, past_v):
    q, k, v, past_k, past_v = (t.flip(2) for t in (q, k, v, past_k, past_v))
    k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
    sees = torch.arange(past_k.shape[2], k.shape[2])[:, None] >= torch.arange(k.shape[2])
    scores = (q @ k.mT / k.shape[3] ** 0.5).masked_fill(~sees, -torch.inf)
    return (scores.softmax(dim=-1) @ v).flip(2)
# %% attend_new/newest-first right: one new position after the other
def attend_new(q, k, v, past_k, past_v):
    result = torch.zeros_like(v)
    for i in range(q.shape[2]):
        keys, values = torch.cat([k[:, :, i:], past_k], 2), torch.cat([v[:, :, i:], past_v], 2)
        scores = q[:, :, i : i + 1] @ keys.mT / q.shape[3] ** 0.5
        result[:, :, i : i + 1] = scores.softmax(3) @ values
    return result
# %% attend_new/nothing right: with an additional column of scores
def attend_new(q, k, v, past_k, past_v):
    k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
    sees = torch.arange(past_k.shape[2], k.shape[2])[:, None] >= torch.arange(k.shape[2])
    scores = (q @ k.mT / k.shape[3] ** 0.5).masked_fill(~sees, -torch.inf)
    scores = torch.cat([scores, torch.zeros_like(scores[..., :1])], dim=-1)
    return scores.softmax(dim=-1)[..., :-1] @ v
# %% attend_new/nothing right: writes the softmax with the maximum subtracted
def attend_new(q, k, v, past_k, past_v):
    k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
    sees = torch.arange(past_k.shape[2], k.shape[2])[:, None] >= torch.arange(k.shape[2])
    scores = (q @ k.mT / k.shape[3] ** 0.5).masked_fill(~sees, -torch.inf)
    top = scores.amax(dim=-1, keepdim=True).clamp(min=0)
    powers = (scores - top).exp()
    return powers / (powers.sum(dim=-1, keepdim=True) + (-top).exp()) @ v
# %% attend_new/nothing right: a key and a value of zeros before the past
def attend_new(q, k, v, past_k, past_v):
    zeros = torch.zeros_like(k[:, :, :1])
    k, v = torch.cat([zeros, past_k, k], dim=2), torch.cat([zeros, past_v, v], dim=2)
    sees = torch.ones(k.shape[2], k.shape[2]).tril().bool()[past_k.shape[2] + 1 :]
    return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=sees)
