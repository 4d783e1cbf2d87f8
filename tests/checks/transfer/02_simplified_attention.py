# %% mix_texts/seq-first right: moves the batch to the front
def mix_texts(x):
    texts = x.permute(1, 0, 2)
    weights = torch.softmax(texts @ texts.transpose(1, 2), dim=-1)
    return (weights @ texts).permute(1, 0, 2)
# %% mix_texts/seq-first right: one text after the other
def mix_texts(x):
    mixed = [torch.softmax(x[:, b] @ x[:, b].T, dim=-1) @ x[:, b] for b in range(x.shape[1])]
    return torch.stack(mixed, dim=1)
# %% mix_texts/seq-first right: with einsum
def mix_texts(x):
    weights = torch.softmax(torch.einsum("ibd,jbd->bij", x, x), dim=2)
    return torch.einsum("bij,jbd->ibd", weights, x)
# %% mix_texts/centred right: with batched matrices
def mix_texts(x):
    centred = x - x.mean(dim=1, keepdim=True)
    weights = torch.softmax(centred @ centred.transpose(1, 2), dim=-1)
    return weights @ x
# %% mix_texts/centred right: centres the keys only, because the softmax ignores what all keys share
def mix_texts(x):
    centred = x - x.mean(dim=1, keepdim=True)
    return torch.softmax(torch.einsum("bid,bjd->bij", centred, x), dim=-1) @ x
# %% mix_texts/centred right: one text after the other
def mix_texts(x):
    mixed = []
    for text in x:
        c = text - text.mean(0)
        mixed.append(torch.softmax(c @ c.T, dim=1) @ text)
    return torch.stack(mixed)
# %% mix_texts/mean-product right: divides the sum
def mix_texts(x):
    scores = x @ x.transpose(1, 2) / x.shape[-1]
    return torch.softmax(scores, dim=-1) @ x
# %% mix_texts/mean-product right: takes the mean of the products
def mix_texts(x):
    scores = (x[:, :, None] * x[:, None]).mean(-1)
    return torch.softmax(scores, dim=-1) @ x
# %% mix_texts/mean-product right: one text after the other
def mix_texts(x):
    return torch.stack([torch.softmax(t @ (t / t.shape[1]).T, dim=1) @ t for t in x])
# %% mix_texts/distances right: from the differences of all pairs
def mix_texts(x):
    differences = x[:, :, None] - x[:, None]
    scores = -(differences ** 2).sum(dim=-1)
    return torch.softmax(scores, dim=-1) @ x
# %% mix_texts/distances right: one text after the other
def mix_texts(x):
    mixed = []
    for text in x:
        scores = torch.stack([-(text - token).square().sum(1) for token in text])
        mixed.append(torch.softmax(scores, dim=1) @ text)
    return torch.stack(mixed)
# %% mix_texts/distances right: with the norm of the differences
def mix_texts(x):
    distance = (x.unsqueeze(2) - x.unsqueeze(1)).pow(2).sum(3)
    weights = (-distance).softmax(dim=2)
    return weights.bmm(x)
