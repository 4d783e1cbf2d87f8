# %% normalised wrong (misconception unbiased): x.std() divides by n - 1
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.std()


# %% normalised wrong (misconception divided-by-variance): divides by the variance, without the square root
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0)


# %% normalised wrong (property zero_and_one): (subtle) rounds the standard deviation to 2.2, so the variance is 1.03
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
deviation = round(x.var(correction=0).item() ** 0.5, 1)
normalised = (x - x.mean()) / deviation


# %% normalised wrong (misconception wrong-way-round): (subtle) subtracts x from the mean: mean 0 and variance 1, but every sign is reversed
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x.mean() - x) / x.var(correction=0).sqrt()


# %% normalised wrong (misconception mean-distance): (subtle) divides by the mean distance from the mean, 2, instead of the standard deviation; the variance is 1.25
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / centred.abs().mean()


# %% normalised right (passed): subtracts the mean, divides by the root of the variance with correction=0
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0).sqrt()


# %% normalised right (passed): by hand with sums and len
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.sum() / len(x)
normalised = centred * (len(x) / centred.dot(centred)) ** 0.5


# %% LayerNorm wrong (misconception unbiased): var without correction=0 divides by n - 1
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        var = residual.var(dim=-1, keepdim=True)
        return (residual - mean) / (var + self.eps).sqrt() * self.w + self.b


# %% LayerNorm wrong (misconception eps-outside-the-root): adds eps to the standard deviation, outside the square root
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


# %% LayerNorm wrong (property far_from_zero): (subtle) variance as the mean of the squares minus the square of the mean; loses its digits far from zero
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        var = (residual**2).mean(dim=-1, keepdim=True) - mean**2
        return (residual - mean) / (var.clamp(min=0) + self.eps).sqrt() * self.w + self.b


# %% LayerNorm wrong (misconception eps-as-a-floor): (subtle) uses eps as a lower limit of the variance instead of adding it; shows when the variance is not far above eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.mean(dim=-1, keepdim=True)
        var = centred.pow(2).mean(dim=-1, keepdim=True)
        return centred / var.clamp(min=self.eps).sqrt() * self.w + self.b


# %% LayerNorm wrong (misconception eps-fixed): (subtle) stores eps but always uses 1e-6; shows when another eps is passed
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.mean(dim=-1, keepdim=True)
        var = residual.var(dim=-1, keepdim=True, correction=0)
        return self.w * (centred / torch.sqrt(var + 1e-6)) + self.b


# %% LayerNorm right (passed): mean and var with keepdim and correction=0
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        var = residual.var(dim=-1, keepdim=True, correction=0)
        return (residual - mean) / (var + self.eps).sqrt() * self.w + self.b


# %% LayerNorm right (passed): centres first, then rsqrt of the mean square by einsum
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.b = nn.Parameter(torch.zeros(d_model))
        self.w = nn.Parameter(torch.ones(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        d_model = residual.shape[-1]
        centred = residual - residual.sum(dim=-1, keepdim=True) / d_model
        var = torch.einsum("...d,...d->...", centred, centred)[..., None] / d_model
        return torch.addcmul(self.b, centred * torch.rsqrt(var + self.eps), self.w)


# %% SelfAttentionLayer wrong (misconception post-norm): normalises the sum of stream and attention (post-norm)
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.norm1(src + self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception mask-forgotten): does not pass the mask on
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src))


# %% SelfAttentionLayer wrong (misconception eps-of-torch): (subtle) norm1 has an eps of 1e-5 (torch's default) instead of the default of LayerNorm; shows when attention's result varies little
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim, 1e-5)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (raised): (subtle) expects exactly one batch axis; raises an error for [seq, embed_dim] or for two axes before seq
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


# %% SelfAttentionLayer wrong (property leaves_its_inputs): (subtle) src += changes src in place, which the page forbids
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


# %% SelfAttentionLayer right (passed): one line, the stream plus the norm of attention
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask=mask))


# %% SelfAttentionLayer right (passed): step by step with return_weights, adds the stream to the new tensor of the norm
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.norm1 = LayerNorm(d_model=embed_dim)
        self.self_attn = SingleHeadAttention(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        context, _ = self.self_attn(src, mask, return_weights=True)
        update = self.norm1(context)
        return torch.add(update, src)


