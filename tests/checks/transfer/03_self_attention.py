# %% mix_values/seq-first right: moves the batch to the front
def mix_values(x, W_query, W_key, W_value):
    texts = x.transpose(0, 1)
    q, k, v = texts @ W_query, texts @ W_key, texts @ W_value
    weights = torch.softmax(q @ k.mT / W_key.shape[1] ** 0.5, dim=-1)
    return (weights @ v).transpose(0, 1)
# %% mix_values/seq-first right: one text after the other
def mix_values(x, W_query, W_key, W_value):
    mixed = []
    for b in range(x.shape[1]):
        q, k, v = x[:, b] @ W_query, x[:, b] @ W_key, x[:, b] @ W_value
        mixed.append(torch.softmax(q @ k.T / k.shape[1] ** 0.5, dim=1) @ v)
    return torch.stack(mixed, dim=1)
# %% mix_values/seq-first right: with einsum
def mix_values(x, W_query, W_key, W_value):
    scores = torch.einsum("ibd,jbd->bij", x @ W_query, x @ W_key) * W_query.shape[-1] ** -0.5
    return torch.einsum("bij,jbd->ibd", scores.softmax(2), x @ W_value)
# %% mix_values/soft-cap right: with batched matrices
def mix_values(x, W_query, W_key, W_value):
    q, k, v = x @ W_query, x @ W_key, x @ W_value
    scores = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
    return torch.softmax(2 * torch.tanh(scores / 2), dim=-1) @ v
# %% mix_values/soft-cap right: tanh from sigmoids
def mix_values(x, W_query, W_key, W_value):
    root = W_key.shape[1] ** 0.5
    scores = (x @ W_query) @ (x @ W_key).mT / root
    capped = 4 * torch.sigmoid(scores) - 2
    return F.softmax(capped, dim=2) @ (x @ W_value)
# %% mix_values/soft-cap right: one text after the other
def mix_values(x, W_query, W_key, W_value):
    mixed = []
    for text in x:
        scores = (text @ W_query) @ (text @ W_key).T / W_query.shape[1] ** 0.5
        mixed.append((scores / 2).tanh().mul(2).softmax(1) @ (text @ W_value))
    return torch.stack(mixed)
# %% mix_values/log-length right: with batched matrices
def mix_values(x, W_query, W_key, W_value):
    q, k, v = x @ W_query, x @ W_key, x @ W_value
    factor = torch.log(torch.tensor(float(x.shape[1])))
    scores = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5 * factor
    return torch.softmax(scores, dim=-1) @ v
# %% mix_values/log-length right: with math.log, inside the queries
def mix_values(x, W_query, W_key, W_value):
    import math
    q = x @ W_query * math.log(x.shape[1])
    return F.scaled_dot_product_attention(q, x @ W_key, x @ W_value)
# %% mix_values/log-length right: one text after the other
def mix_values(x, W_query, W_key, W_value):
    mixed = []
    for text in x:
        scores = (text @ W_query) @ (text @ W_key).T / W_query.shape[1] ** 0.5
        scores = scores * torch.tensor(len(text)).log()
        mixed.append(scores.softmax(1) @ (text @ W_value))
    return torch.stack(mixed)
# %% mix_values/distances right: from the differences of all pairs
def mix_values(x, W_query, W_key, W_value):
    q, k, v = x @ W_query, x @ W_key, x @ W_value
    differences = q[:, :, None] - k[:, None]
    scores = -(differences ** 2).sum(dim=-1) / 2
    return torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1) @ v
# %% mix_values/distances right: without the length of the query, which all keys share
def mix_values(x, W_query, W_key, W_value):
    q, k, v = x @ W_query, x @ W_key, x @ W_value
    scores = q @ k.mT - k.square().sum(-1)[:, None] / 2
    return torch.softmax(scores / W_key.shape[1] ** 0.5, dim=-1) @ v
# %% mix_values/distances right: one query after the other
def mix_values(x, W_query, W_key, W_value):
    mixed = []
    for text in x:
        k, v = text @ W_key, text @ W_value
        rows = []
        for q in text @ W_query:
            scores = -0.5 * (k - q).pow(2).sum(1) / len(q) ** 0.5
            rows.append(scores.softmax(0) @ v)
        mixed.append(torch.stack(rows))
    return torch.stack(mixed)
