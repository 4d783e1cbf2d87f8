# %% normalised wrong (misconception unbiased): divides by the standard deviation with n - 1
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.std()


# %% normalised wrong (misconception divided-by-variance): divides by the variance and forgets the square root
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0)


# %% normalised wrong (misconception wrong-way-round): subtle, subtracts x from the mean, so mean 0 and variance 1 hold but all signs are reversed
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x.mean() - x) / x.var(correction=0).sqrt()


# %% normalised wrong (property zero_and_one): subtle, a standard deviation rounded to 2.24, so the variance is 0.9965
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - 5) / 2.24


# %% normalised right (passed): centres first, then divides by the root mean square
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.sum() / len(x)
normalised = centred / (centred @ centred / len(x)) ** 0.5


# %% normalised right (passed): rescales the result that divides by n - 1
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = torch.stack([(entry - x.mean()) / x.std() for entry in x]) * (4 / 3) ** 0.5


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


# %% LayerNorm wrong (misconception eps-outside-the-root): eps is added to the standard deviation, outside of the root
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


# %% LayerNorm wrong (property far_from_zero): subtle, the variance is mean(x^2) - mean(x)^2, which loses its digits far from zero
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        var = ((residual**2).mean(dim=-1, keepdim=True) - mean**2).clamp(min=0)
        return (residual - mean) / (var + self.eps).sqrt() * self.w + self.b


# %% LayerNorm wrong (misconception eps-as-a-floor): subtle, eps is a lower limit of the variance and is not added; shows when the variance is near eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.mean(dim=-1, keepdim=True)
        var = centred.pow(2).mean(dim=-1, keepdim=True).clamp(min=self.eps)
        return centred * var.rsqrt() * self.w + self.b


# %% LayerNorm right (passed): torch's layer_norm with w, b and eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return nn.functional.layer_norm(residual, self.w.shape, self.w, self.b, self.eps)


# %% LayerNorm right (passed): centres, then squares and means by hand
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w, self.b = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.mean(dim=-1, keepdim=True)
        variance = (centred * centred).mean(dim=-1, keepdim=True)
        return torch.addcmul(self.b, centred / torch.sqrt(variance + self.eps), self.w)


# %% SelfAttentionLayer wrong (misconception pre-norm): pre-norm, the norm is applied to what attention reads
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.self_attn(self.norm1(src), mask)


# %% SelfAttentionLayer wrong (misconception sees-what-is-hidden): inverts the mask, as if True meant hidden
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        if mask is not None:
            mask = ~mask
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (property leaves_its_inputs): subtle, adds in place, so src is changed
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        added = self.norm1(self.self_attn(src, mask))
        src += added
        return src


# %% SelfAttentionLayer wrong (misconception eps-of-torch): subtle, the norm gets torch's eps 1e-5; shows when attention's output has a small variance
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim, eps=1e-5)

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


# %% SelfAttentionLayer right (passed): asks for the weights too, drops them, and adds src to the new tensor
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.norm1 = LayerNorm(d_model=embed_dim)
        self.self_attn = SingleHeadAttention(d_model=embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        mixed, _ = self.self_attn(src, mask=mask, return_weights=True)
        return torch.add(self.norm1(mixed), src)
