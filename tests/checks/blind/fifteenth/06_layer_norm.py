# %% normalised wrong (misconception unbiased): the standard deviation divides by n - 1
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.std()


# %% normalised wrong (misconception mean-alone-divided): no parentheses, so only the mean is divided
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = x - x.mean() / x.var(correction=0).sqrt()


# %% normalised wrong (misconception wrong-way-round): subtle, mean minus x, so every sign is flipped
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x.mean() - x) / x.var(correction=0).sqrt()


# %% normalised wrong (misconception mean-distance): subtle, divides by the mean absolute distance, 2, instead of the root of 5
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / centred.abs().mean()


# %% normalised wrong (property zero_and_one): subtle, subtracts torch's median, which is 4, so the mean is not 0
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.median()) / x.std(correction=0)


# %% normalised right (passed): mean and variance with correction=0
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0).sqrt()


# %% normalised right (passed): the centred vector divided by its length, times the root of 4
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.sum() / len(x)
normalised = centred / centred.norm() * len(x) ** 0.5


# %% LayerNorm wrong (misconception unbiased): the variance divides by n - 1
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        var = residual.var(dim=-1, keepdim=True)
        return (residual - mean) / torch.sqrt(var + self.eps) * self.w + self.b


# %% LayerNorm wrong (misconception along-axis-1): normalises along axis 1, which is the last axis only for a table
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=1, keepdim=True)
        var = residual.var(dim=1, keepdim=True, correction=0)
        return (residual - mean) / torch.sqrt(var + self.eps) * self.w + self.b


# %% LayerNorm wrong (misconception eps-outside-the-root): subtle, adds eps to the standard deviation, which shows when the variance is small
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        std = residual.std(dim=-1, keepdim=True, correction=0)
        return self.w * (residual - mean) / (std + self.eps) + self.b


# %% LayerNorm wrong (misconception eps-fixed): subtle, stores eps but computes with 1e-6, which shows with another eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        var, mean = torch.var_mean(residual, dim=-1, keepdim=True, correction=0)
        return (residual - mean) * torch.rsqrt(var + 1e-6) * self.w + self.b


# %% LayerNorm wrong (property far_from_zero): subtle, the variance as the mean of the squares minus the square of the mean, inexact far from zero
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        var = ((residual**2).mean(dim=-1, keepdim=True) - mean**2).clamp(min=0)
        return (residual - mean) / torch.sqrt(var + self.eps) * self.w + self.b


# %% LayerNorm right (passed): centres first, then takes the mean of the squares
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred / (variance + self.eps).sqrt() * self.w + self.b


# %% LayerNorm right (passed): torch's functional layer norm with the own parameters and eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.b = nn.Parameter(torch.zeros(d_model))
        self.w = nn.Parameter(torch.ones(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return nn.functional.layer_norm(residual, self.w.shape, weight=self.w, bias=self.b, eps=self.eps)


# %% SelfAttentionLayer wrong (misconception post-norm): normalises the sum (post-norm)
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.norm1(src + self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception mask-forgotten): forgets to pass the mask to attention
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src))


# %% SelfAttentionLayer wrong (difference milestone): subtle, norm1 has eps 1e-4 instead of the default, which shows when attention's result has a small variance
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim, eps=1e-4)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (property state): subtle, keeps the last mask and uses it again in a later call without a mask
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)
        self.mask = None

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        if mask is not None:
            self.mask = mask
        return src + self.norm1(self.self_attn(src, self.mask))


# %% SelfAttentionLayer wrong (raised): subtle, attends text by text along the first axis, which fails for a single text without a batch axis
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        attended = torch.stack([self.self_attn(text, mask) for text in src])
        return src + self.norm1(attended)


# %% SelfAttentionLayer right (passed): the formula in one line
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer right (passed): step by step, with the mask as a keyword, the norm first, and torch.add
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.norm1 = LayerNorm(embed_dim)
        self.self_attn = SingleHeadAttention(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        attended, _ = self.self_attn(src, mask=mask, return_weights=True)
        change = self.norm1(attended)
        return torch.add(change, src)


