# %% normalised wrong (misconception unbiased): torch's std with its default, which divides by n - 1
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.std()


# %% normalised wrong (misconception divided-by-variance): divides by the variance instead of its square root
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0)


# %% normalised wrong (misconception wrong-way-round): subtracts x from the mean, so that every sign is reversed
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x.mean() - x) / x.var(correction=0).sqrt()


# %% normalised wrong (misconception mean-distance): divides by the mean distance from the mean, 2, instead of the standard deviation, 2.2361; the variance is 1.25
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / centred.abs().mean()


# %% normalised wrong (misconception unit-length): gives the centred vector the length 1, so that the variance is 1/4
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / centred.norm()


# %% normalised right (passed): the mean of the squares of the centred numbers, and its square root
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / (centred**2).mean().sqrt()


# %% normalised right (passed): std with correction=0
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = x.sub(x.mean()).div(x.std(correction=0))


# %% LayerNorm wrong (misconception unbiased): torch's var with its default, which divides by n - 1
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        variance = residual.var(dim=-1, keepdim=True)
        return (residual - mean) / torch.sqrt(variance + self.eps) * self.w + self.b


# %% LayerNorm wrong (misconception over-everything): takes mean and variance over the whole tensor instead of each token's vector
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.mean()
        return centred / torch.sqrt(residual.var(correction=0) + self.eps) * self.w + self.b


# %% LayerNorm wrong (misconception eps-outside-the-root): adds eps after the square root; shows when the variance is small or eps is large
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        std = residual.std(dim=-1, keepdim=True, correction=0)
        return (residual - mean) / (std + self.eps) * self.w + self.b


# %% LayerNorm wrong (property far_from_zero): the mean of the squares minus the square of the mean; far from zero, rounding destroys the variance
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        variance = (residual**2).mean(dim=-1, keepdim=True) - mean**2
        return (residual - mean) / torch.sqrt(variance.clamp(min=0) + self.eps) * self.w + self.b


# %% LayerNorm wrong (misconception eps-fixed): stores eps but computes with 1e-6; shows only with another eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.mean(dim=-1, keepdim=True)
        variance = (centred**2).mean(dim=-1, keepdim=True)
        return self.w * centred / (variance + 1e-6) ** 0.5 + self.b


# %% LayerNorm right (passed): centres, then divides by the root of the mean of the squares plus eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.mean(dim=-1, keepdim=True)
        variance = centred.pow(2).mean(dim=-1, keepdim=True)
        return torch.addcmul(self.b, centred * torch.rsqrt(variance + self.eps), self.w)


# %% LayerNorm right (passed): torch's function layer_norm with the stored eps, w and b
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.w, self.b = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return nn.functional.layer_norm(residual, (self.d_model,), self.w, self.b, self.eps)


# %% SelfAttentionLayer wrong (misconception post-norm): normalises the sum (post-norm) instead of what attention returns
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.norm1(src + self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception pre-norm): normalises what attention reads (pre-norm) instead of what it returns
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.self_attn(self.norm1(src), mask)


# %% SelfAttentionLayer wrong (misconception mask-forgotten): does not pass the mask to attention; shows only with a mask that hides something
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src))


# %% SelfAttentionLayer wrong (misconception eps-of-torch): gives the norm an eps of 1e-5 instead of its default; shows when the results of attention are nearly constant
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim, eps=1e-5)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (raised): expects exactly one axis before seq; fails for a single text and for two axes in front
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        batch, seq, embed_dim = src.shape
        attended = self.self_attn(src, mask)
        normed = self.norm1(attended.reshape(batch * seq, embed_dim))
        return src + normed.reshape(batch, seq, embed_dim)


# %% SelfAttentionLayer right (passed): in one line, as the formula says
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer right (passed): flattens the axes before seq to one, step by step, and restores them before the sum
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.norm1 = LayerNorm(d_model=embed_dim)
        self.self_attn = SingleHeadAttention(d_model=embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        texts = src.reshape(-1, *src.shape[-2:])
        update = self.norm1(self.self_attn(texts, mask=mask))
        return torch.add(update.reshape(src.shape), src)


