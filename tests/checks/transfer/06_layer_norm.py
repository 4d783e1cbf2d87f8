# %% norm_vectors/features-first right: along axis 1
def norm_vectors(x, w, eps):
    centred = x - x.mean(dim=1, keepdim=True)
    variance = x.var(dim=1, keepdim=True, correction=0)
    return centred / (variance + eps).sqrt() * w[:, None]
# %% norm_vectors/features-first right: moves the features to the end
def norm_vectors(x, w, eps):
    rows = x.transpose(1, 2)
    rows = (rows - rows.mean(-1, keepdim=True)) / torch.sqrt(rows.var(-1, keepdim=True, correction=0) + eps)
    return (rows * w).transpose(1, 2)
# %% norm_vectors/features-first right: one token after the other
def norm_vectors(x, w, eps):
    texts = []
    for text in x:
        tokens = []
        for i in range(text.shape[1]):
            vector = text[:, i] - text[:, i].mean()
            tokens.append(vector / ((vector ** 2).mean() + eps) ** 0.5 * w)
        texts.append(torch.stack(tokens, dim=1))
    return torch.stack(texts)
# %% norm_vectors/rms right: the mean of the squares
def norm_vectors(x, w, eps):
    square = (x ** 2).mean(dim=-1, keepdim=True)
    return x / (square + eps).sqrt() * w
# %% norm_vectors/rms right: multiplies by the inverse root
def norm_vectors(x, w, eps):
    return w * x * torch.rsqrt(x.pow(2).mean(-1)[..., None] + eps)
# %% norm_vectors/rms right: from the length of the vectors
def norm_vectors(x, w, eps):
    square = x.norm(dim=2, keepdim=True) ** 2 / x.shape[2]
    return x * w / torch.sqrt(square + eps)
# %% norm_vectors/rms right: from the variance and the mean
def norm_vectors(x, w, eps):
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    return x / (variance + mean ** 2 + eps).sqrt() * w
# %% norm_vectors/range right: the largest minus the smallest entry
def norm_vectors(x, w, eps):
    centred = x - x.mean(dim=-1, keepdim=True)
    spread = x.amax(dim=-1, keepdim=True) - x.amin(dim=-1, keepdim=True)
    return centred / (spread + eps) * w
# %% norm_vectors/range right: from the sorted entries
def norm_vectors(x, w, eps):
    ordered = x.sort(dim=2).values
    spread = ordered[..., -1:] - ordered[..., :1]
    return w * (x - x.mean(2, keepdim=True)) / (eps + spread)
# %% norm_vectors/range right: one token after the other
def norm_vectors(x, w, eps):
    result = torch.empty_like(x)
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            vector = x[b, i]
            result[b, i] = (vector - vector.mean()) / (max(vector) - min(vector) + eps)
    return result * w
# %% norm_vectors/mean-distance right: the mean of the absolute differences
def norm_vectors(x, w, eps):
    centred = x - x.mean(dim=-1, keepdim=True)
    distance = centred.abs().mean(dim=-1, keepdim=True)
    return centred / (distance + eps) * w
# %% norm_vectors/mean-distance right: divides the sum by d
def norm_vectors(x, w, eps):
    d = x.shape[2]
    mean = x.sum(2, keepdim=True) / d
    return w * (x - mean) / ((x - mean).abs().sum(2, keepdim=True) / d + eps)
# %% norm_vectors/mean-distance right: one token after the other
def norm_vectors(x, w, eps):
    result = torch.empty_like(x)
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            vector = x[b, i] - x[b, i].mean()
            result[b, i] = w * vector / (vector.abs().mean() + eps)
    return result
