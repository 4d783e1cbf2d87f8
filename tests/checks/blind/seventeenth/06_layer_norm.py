# %% normalised wrong (misconception unbiased): std divides by n - 1, so that the variance of the result is 0.75
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.std()


# %% normalised wrong (misconception divided-by-variance): divides by the variance instead of its square root
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0)


# %% normalised wrong (misconception wrong-way-round): subtracts the numbers from the mean, so that every sign is wrong
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x.mean() - x) / x.var(correction=0).sqrt()


# %% normalised wrong (misconception mean-distance): divides by the mean distance from the mean, 2, instead of the standard deviation, 2.2361
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / centred.abs().mean()


# %% normalised wrong (property zero_and_one): typed from paper, with two digits of the last number exchanged
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = torch.tensor([-1.3416, -0.4472, 0.4472, 1.3146])


# %% normalised right (passed): subtracts the mean and divides by the root of the variance with correction=0
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0).sqrt()


# %% normalised right (passed): scales the centred vector to the length of the square root of 4
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.sum() / len(x)
normalised = centred / centred.norm() * len(x) ** 0.5


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
        return (residual - mean) / torch.sqrt(var + self.eps) * self.w + self.b


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
        return (residual - mean) / (std + self.eps) * self.w + self.b


# %% LayerNorm wrong (property far_from_zero): the variance is the mean of the squares minus the squared mean; rounding ruins it far from zero
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        var = (residual**2).mean(dim=-1, keepdim=True) - mean**2
        return (residual - mean) / torch.sqrt(var + self.eps) * self.w + self.b


# %% LayerNorm wrong (misconception eps-as-a-floor): eps is the least variance instead of an addition to it; shows for variances near eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.mean(dim=-1, keepdim=True)
        var = centred.pow(2).mean(dim=-1, keepdim=True).clamp(min=self.eps)
        return centred / var.sqrt() * self.w + self.b


# %% LayerNorm wrong (misconception eps-of-torch): stores eps but lets torch use its own 1e-5; shows for a large eps or a small variance
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return nn.functional.layer_norm(residual, self.w.shape, self.w, self.b)


# %% LayerNorm right (passed): var_mean along the last axis, then one division, one product and one sum
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        var, mean = torch.var_mean(residual, dim=-1, correction=0, keepdim=True)
        return (residual - mean) / torch.sqrt(var + self.eps) * self.w + self.b


# %% LayerNorm right (passed): the mean of the squares of the centred vector, by einsum, and addcmul at the end
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.b = nn.Parameter(torch.zeros(d_model))
        self.w = nn.Parameter(torch.ones(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.sum(dim=-1, keepdim=True) / self.d_model
        variance = torch.einsum("...d,...d->...", centred, centred).unsqueeze(-1) / self.d_model
        return torch.addcmul(self.b, centred * (variance + self.eps).rsqrt(), self.w)


# %% SelfAttentionLayer wrong (misconception post-norm): post-norm, which normalises the sum of the stream and attention
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.norm1(src + self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception no-residual): forgets to add the stream
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception mask-forgotten): does not pass the mask to attention; shows with a mask
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        attended = self.self_attn(src)
        return src + self.norm1(attended)


# %% SelfAttentionLayer wrong (property leaves_its_inputs): adds into src itself, so that the caller's stream is changed
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


# %% SelfAttentionLayer wrong (misconception torchs-norm): torch's LayerNorm instead of one's own: no w and b, and eps is 1e-5
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


# %% SelfAttentionLayer right (passed): asks attention for its weights too and drops them, then adds the stream last
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.norm1 = LayerNorm(d_model=embed_dim)
        self.self_attn = SingleHeadAttention(d_model=embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        collected, _weights = self.self_attn(src, mask=mask, return_weights=True)
        update = self.norm1(collected)
        return torch.add(update, src)


