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
