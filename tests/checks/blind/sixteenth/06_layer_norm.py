# %% normalised wrong (misconception divided-by-variance): divides by the variance and not by its square root
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0)


# %% normalised wrong (misconception not-centred): forgets to subtract the mean
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = x / x.std(correction=0)


# %% normalised wrong (misconception unbiased): subtle: the standard deviation divides by n - 1, so the variance is 0.75
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.std()


# %% normalised wrong (misconception wrong-way-round): subtle: the numbers are subtracted from the mean, so mean and variance are right, but every sign is flipped
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x.mean() - x) / x.var(correction=0).sqrt()


# %% normalised wrong (property zero_and_one): subtle: rounded to one decimal, so the variance is 0.925
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = torch.tensor([-1.3, -0.4, 0.4, 1.3])


# %% normalised right (passed): minus the mean, divided by the square root of var with correction=0
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0).sqrt()


# %% normalised right (passed): the mean square by a dot product of the centred vector with itself
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.sum() / len(x)
variance = centred @ centred / len(x)
normalised = centred * variance**-0.5


# %% LayerNorm wrong (misconception unbiased): var divides by n - 1
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        variance = residual.var(dim=-1, keepdim=True)
        return (residual - mean) / (variance + self.eps).sqrt() * self.w + self.b


# %% LayerNorm wrong (misconception over-everything): mean and variance of the whole tensor and not of each token
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean()
        variance = residual.var(correction=0)
        return (residual - mean) / (variance + self.eps).sqrt() * self.w + self.b


# %% LayerNorm wrong (misconception eps-outside-the-root): subtle: eps is added to the standard deviation, outside the root; shows for tiny variances or a large eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        spread = (residual - mean).square().mean(dim=-1, keepdim=True).sqrt()
        return (residual - mean) / (spread + self.eps) * self.w + self.b


# %% LayerNorm wrong (property far_from_zero): subtle: variance as the mean square minus the squared mean, inexact far from zero
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        variance = (residual**2).mean(dim=-1, keepdim=True) - mean**2
        return (residual - mean) / (variance + self.eps).sqrt() * self.w + self.b


# %% LayerNorm wrong (misconception along-axis-1): subtle: axis 1 and not the last axis, right only for two axes
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=1, keepdim=True)
        variance = residual.var(dim=1, correction=0, keepdim=True)
        return (residual - mean) / (variance + self.eps).sqrt() * self.w + self.b


# %% LayerNorm right (passed): mean and var with correction=0 along the last axis
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        variance = residual.var(dim=-1, correction=0, keepdim=True)
        return (residual - mean) / torch.sqrt(variance + self.eps) * self.w + self.b


# %% LayerNorm right (passed): the mean square of the centred vector by einsum, then rsqrt
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.w = nn.Parameter(torch.full((d_model,), 1.0))
        self.b = nn.Parameter(torch.full((d_model,), 0.0))
        self.eps = eps

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        width = residual.shape[-1]
        centred = residual - residual.sum(dim=-1, keepdim=True) / width
        variance = torch.einsum("...d,...d->...", centred, centred) / width
        x_hat = centred * torch.rsqrt(variance + self.eps).unsqueeze(-1)
        return torch.addcmul(self.b, x_hat, self.w)


# %% SelfAttentionLayer wrong (misconception post-norm): post-norm: normalises the sum and not the result of attention
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.norm1(src + self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (property leaves_its_inputs): adds in place, which changes src
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        src += self.norm1(self.self_attn(src, mask))
        return src


# %% SelfAttentionLayer wrong (misconception mask-forgotten): subtle: does not pass the mask on, right only without a mask
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src))


# %% SelfAttentionLayer wrong (raised): subtle: goes through the texts one by one, which fails for a single text [seq, embed_dim] without a batch axis
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


# %% SelfAttentionLayer wrong (misconception torchs-norm): subtle: norm1 is torch's LayerNorm, without w and b and with eps 1e-5; numbers differ when attention returns tiny ones
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = nn.LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask))


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


# %% SelfAttentionLayer right (passed): step by step, mask by name, and the sum as a sum over a new axis
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.norm1 = LayerNorm(d_model=embed_dim)
        self.self_attn = SingleHeadAttention(d_model=embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        collected = self.self_attn(src, mask=mask)
        update = self.norm1(collected)
        return torch.stack((src, update), dim=0).sum(dim=0)


