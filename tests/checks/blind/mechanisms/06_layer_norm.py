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
