# %% normalised wrong (misconception unbiased): x.std() divides by n - 1
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.std()


# %% normalised wrong (misconception divided-by-variance): divides by the variance instead of its square root
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0)


# %% normalised wrong (misconception wrong-way-round): subtracts the numbers from the mean, so mean and variance are right but every sign is wrong
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x.mean() - x) / x.var(correction=0).sqrt()


# %% normalised wrong (shape): the right numbers as a table of shape [1, 4], not a vector
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
row = x[None]
normalised = (row - row.mean(dim=1, keepdim=True)) / row.std(dim=1, correction=0, keepdim=True)


# %% normalised wrong (structure): the right numbers in a Python list, which has no mean() and no var()
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = [(number - 5) / 5**0.5 for number in x.tolist()]


# %% normalised right (passed): var with correction=0
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0).sqrt()


# %% normalised right (passed): the mean of the squares by hand
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - sum(x) / len(x)
normalised = centred * (centred @ centred / len(x)) ** -0.5


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


# %% LayerNorm wrong (misconception over-everything): one mean and one variance for the whole tensor instead of one for each token
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.mean()
        return centred / (residual.var(correction=0) + self.eps).sqrt() * self.w + self.b


# %% LayerNorm wrong (misconception eps-outside-the-root): eps is added outside the root; shows when the variance is small or eps is large
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


# %% LayerNorm wrong (property far_from_zero): the variance is the mean square minus the squared mean, which is lost in rounding far from zero
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        var = (residual**2).mean(dim=-1, keepdim=True) - mean**2
        return (residual - mean) * torch.rsqrt(var + self.eps) * self.w + self.b


# %% LayerNorm wrong (misconception bias-before-weight): adds b before multiplying by w, right only where w is 1 or b is 0
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        var = residual.var(dim=-1, keepdim=True, correction=0)
        normalised = (residual - mean) / (var + self.eps).sqrt()
        return (normalised + self.b) * self.w


# %% LayerNorm right (passed): mean and variance along the last axis, eps inside the root
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        var, mean = torch.var_mean(residual, dim=-1, correction=0, keepdim=True)
        return torch.addcmul(self.b, (residual - mean) / torch.sqrt(var + self.eps), self.w)


# %% LayerNorm right (passed): centres first and takes the mean of the squares
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.w = nn.Parameter(torch.full((d_model,), 1.0))
        self.b = nn.Parameter(torch.full((d_model,), 0.0))
        self.eps = eps

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.sum(dim=-1, keepdim=True) / residual.shape[-1]
        variance = centred.pow(2).mean(-1).unsqueeze(-1)
        return self.w * (centred * (variance + self.eps).rsqrt()) + self.b


# %% SelfAttentionLayer wrong (misconception post-norm): post-norm, the norm is applied to the sum
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.norm1(src + self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception pre-norm): pre-norm, attention reads the normalised stream
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.self_attn(self.norm1(src), mask)


# %% SelfAttentionLayer wrong (misconception mask-forgotten): does not pass the mask on, right only if there is none
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


# %% SelfAttentionLayer wrong (property leaves_its_inputs): the result is right, but += changes the caller's src
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        src += self.norm1(self.self_attn(src.clone(), mask))
        return src


# %% SelfAttentionLayer wrong (misconception torchs-norm): torch's nn.LayerNorm with eps 1e-5 and the names weight and bias; shows when the results of attention hardly differ
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = nn.LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer right (passed): one line, the mask passed by name
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.norm1 = LayerNorm(embed_dim)
        self.self_attn = SingleHeadAttention(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask=mask))


# %% SelfAttentionLayer right (passed): asks for the weights too, and adds to a copy of src
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        attended, _ = self.self_attn(src, mask, return_weights=True)
        stream = src.clone()
        stream += self.norm1(attended)
        return stream
