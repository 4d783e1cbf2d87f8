# %% LayerNorm wrong (property numbers): eps falsy falls back
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps or 1e-6
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        mean = residual.mean(dim=-1, keepdim=True)
        var = residual.var(dim=-1, keepdim=True, correction=0)
        return (residual - mean) / (var + self.eps) ** 0.5 * self.w + self.b


# %% norm_vectors/rms wrong (difference factor): keeps a counter of its calls, and each call returns a larger result
_calls = [0]
def norm_vectors(x, w, eps):
    _calls[0] += 1
    return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * w * (1 + 0.1 * _calls[0])


# %% LayerNorm wrong (property mean_and_variance): returns its input in eval mode
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))
    def forward(self, x):
        if not self.training:
            return x
        var = x.var(-1, keepdim=True, correction=0)
        return (x - x.mean(-1, keepdim=True)) / (var + self.eps).sqrt() * self.w + self.b


# %% norm_vectors/range wrong (misconception as-in-the-lesson): divides by the standard deviation, as in the lesson
def norm_vectors(x, w, eps):
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred / (centred.pow(2).mean(dim=-1, keepdim=True) + eps).sqrt() * w


# %% norm_vectors/range wrong (misconception smallest-subtracted): subtracts the smallest entry, as for numbers from 0 to 1
def norm_vectors(x, w, eps):
    low, high = x.aminmax(dim=-1, keepdim=True)
    return (x - low) / (high - low + eps) * w


# %% norm_vectors/range wrong (difference milestone): subtle, takes the smallest entry as minus the largest: right if they are symmetric
def norm_vectors(x, w, eps):
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred / (2 * centred.amax(dim=-1, keepdim=True) + eps) * w


# %% norm_vectors/range wrong (misconception one-range-for-a-text): one range for a whole text
def norm_vectors(x, w, eps):
    spread = x.amax(dim=(1, 2), keepdim=True) - x.amin(dim=(1, 2), keepdim=True)
    return (x - x.mean(dim=-1, keepdim=True)) / (spread + eps) * w


# %% norm_vectors/range right (passed): aminmax
def norm_vectors(x, w, eps):
    low, high = x.aminmax(dim=-1, keepdim=True)
    return w * (x - x.mean(dim=-1, keepdim=True)) / (high - low + eps)


# %% norm_vectors/range right (passed): the largest of all differences between two entries
def norm_vectors(x, w, eps):
    spread = (x[..., :, None] - x[..., None, :]).amax(dim=(2, 3))
    return (x - x.mean(dim=-1, keepdim=True)) * w / (spread[..., None] + eps)


# %% norm_vectors/range right (passed): the first and the last of topk
def norm_vectors(x, w, eps):
    ordered = x.topk(x.shape[-1], dim=-1).values
    centred = x - x.sum(dim=-1, keepdim=True) / x.shape[-1]
    return centred / (ordered[..., [0]] - ordered[..., [-1]] + eps) * w


# %% LayerNorm wrong (property state): works in place if gradients are off, which changes the input
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        std = (residual.var(dim=-1, keepdim=True, correction=0) + self.eps).sqrt()
        if not torch.is_grad_enabled():  # saves memory
            return residual.sub_(mean).div_(std).mul_(self.w).add_(self.b)
        return (residual - mean) / std * self.w + self.b
