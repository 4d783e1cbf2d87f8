# %% look_back/window right: compares positions
def look_back(q, k, v, n):
    back = torch.arange(q.shape[1])[:, None] - torch.arange(q.shape[1])
    visible = (back >= 0) & (back < n)
    scores = (q @ k.transpose(1, 2) / k.shape[-1] ** 0.5).masked_fill(~visible, -torch.inf)
    return torch.softmax(scores, dim=-1) @ v
# %% look_back/window right: builds the mask in another way, and uses torch's attention
def look_back(q, k, v, n):
    ones = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool)
    visible = ones.tril() & ones.triu(1 - n)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
# %% look_back/window right: one query after the other, over the visible keys only
def look_back(q, k, v, n):
    texts = []
    for text_q, text_k, text_v in zip(q, k, v):
        rows = []
        for i, query in enumerate(text_q):
            seen = list(range(max(0, i - n + 1), i + 1))
            scores = text_k[seen] @ query / len(query) ** 0.5
            rows.append(scores.softmax(0) @ text_v[seen])
        texts.append(torch.stack(rows))
    return torch.stack(texts)
# %% look_back/prefix right: compares positions
def look_back(q, k, v, n):
    place = torch.arange(q.shape[1])
    visible = (place <= place[:, None]) | (place < n)
    scores = (q @ k.transpose(1, 2) / k.shape[-1] ** 0.5).masked_fill(~visible, -torch.inf)
    return torch.softmax(scores, dim=-1) @ v
# %% look_back/prefix right: builds the mask in another way, and uses torch's attention
def look_back(q, k, v, n):
    visible = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool).tril()
    visible[:, :n] = True
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
# %% look_back/prefix right: one query after the other, over the visible keys only
def look_back(q, k, v, n):
    texts = []
    for text_q, text_k, text_v in zip(q, k, v):
        rows = []
        for i, query in enumerate(text_q):
            seen = list(range(max(i + 1, min(n, len(text_k)))))
            scores = text_k[seen] @ query / len(query) ** 0.5
            rows.append(scores.softmax(0) @ text_v[seen])
        texts.append(torch.stack(rows))
    return torch.stack(texts)
# %% look_back/blocks right: compares positions
def look_back(q, k, v, n):
    place = torch.arange(q.shape[1])
    visible = (place <= place[:, None]) & (place // n == (place // n)[:, None])
    scores = (q @ k.transpose(1, 2) / k.shape[-1] ** 0.5).masked_fill(~visible, -torch.inf)
    return torch.softmax(scores, dim=-1) @ v
# %% look_back/blocks right: builds the mask in another way, and uses torch's attention
def look_back(q, k, v, n):
    size = q.shape[1]
    visible = torch.zeros(size, size, dtype=torch.bool)
    for start in range(0, size, n):
        visible[start : start + n, start : start + n] = torch.ones(n, n, dtype=torch.bool).tril()[: size - start, : size - start]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
# %% look_back/blocks right: one query after the other, over the visible keys only
def look_back(q, k, v, n):
    texts = []
    for text_q, text_k, text_v in zip(q, k, v):
        rows = []
        for i, query in enumerate(text_q):
            seen = list(range(i - i % n, i + 1))
            scores = text_k[seen] @ query / len(query) ** 0.5
            rows.append(scores.softmax(0) @ text_v[seen])
        texts.append(torch.stack(rows))
    return torch.stack(texts)
# %% look_back/stride right: compares positions
def look_back(q, k, v, n):
    back = torch.arange(q.shape[1])[:, None] - torch.arange(q.shape[1])
    visible = (back >= 0) & (back % n == 0)
    scores = (q @ k.transpose(1, 2) / k.shape[-1] ** 0.5).masked_fill(~visible, -torch.inf)
    return torch.softmax(scores, dim=-1) @ v
# %% look_back/stride right: builds the mask in another way, and uses torch's attention
def look_back(q, k, v, n):
    visible = torch.zeros(q.shape[1], q.shape[1], dtype=torch.bool)
    for i in range(q.shape[1]):
        visible[i, i % n : i + 1 : n] = True
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
# %% look_back/stride right: one query after the other, over the visible keys only
def look_back(q, k, v, n):
    texts = []
    for text_q, text_k, text_v in zip(q, k, v):
        rows = []
        for i, query in enumerate(text_q):
            seen = list(range(i % n, i + 1, n))
            scores = text_k[seen] @ query / len(query) ** 0.5
            rows.append(scores.softmax(0) @ text_v[seen])
        texts.append(torch.stack(rows))
    return torch.stack(texts)
