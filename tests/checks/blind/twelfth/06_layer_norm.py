# %% normalised wrong (misconception unbiased): x.std() divides by n - 1
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.std()


# %% normalised wrong (misconception divided-by-variance): divides by the variance instead of its square root
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0)


# %% normalised wrong (misconception wrong-way-round): subtle, subtracts x from the mean, so mean 0 and variance 1 hold but every sign is flipped
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x.mean() - x) / x.var(correction=0).sqrt()


# %% normalised wrong (shape): subtle, the right numbers as a table of shape [1, 4] instead of a vector
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = nn.LayerNorm(4, eps=0.0)(x.unsqueeze(0)).detach()


# %% normalised right (passed): mean and var with correction=0
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0).sqrt()


# %% normalised right (passed): the mean of the squares of the centred numbers, to the power -0.5
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.sum() / len(x)
normalised = centred * centred.square().mean() ** -0.5


# %% LayerNorm wrong (misconception unbiased): the variance divides by n - 1
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


# %% LayerNorm wrong (misconception not-parameters): w and b are plain tensors, not parameters
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = torch.ones(d_model)
        self.b = torch.zeros(d_model)

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        variance = residual.var(dim=-1, keepdim=True, correction=0)
        return (residual - mean) / torch.sqrt(variance + self.eps) * self.w + self.b


# %% LayerNorm wrong (property far_from_zero): subtle, variance as mean of squares minus square of the mean, breaks far from zero
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        variance = (residual**2).mean(dim=-1, keepdim=True) - mean**2
        return (residual - mean) / torch.sqrt(variance + self.eps) * self.w + self.b


# %% LayerNorm wrong (misconception eps-outside-the-root): subtle, eps is added outside the square root, shows if the variance is not far above eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        deviation = residual.std(dim=-1, keepdim=True, correction=0)
        return self.w * (residual - mean) / (deviation + self.eps) + self.b


# %% LayerNorm right (passed): mean, var with correction=0, eps under the root
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        variance = residual.var(dim=-1, keepdim=True, correction=0)
        return (residual - mean) / torch.sqrt(variance + self.eps) * self.w + self.b


# %% LayerNorm right (passed): variance as an einsum of the centred vector with itself, rsqrt and addcmul
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.b = nn.Parameter(torch.zeros(d_model))
        self.w = nn.Parameter(torch.ones(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        centred = residual - residual.sum(dim=-1, keepdim=True) / self.d_model
        variance = torch.einsum("...d,...d->...", centred, centred)[..., None] / self.d_model
        return torch.addcmul(self.b, centred * (variance + self.eps).rsqrt(), self.w)


# %% SelfAttentionLayer wrong (misconception post-norm): post-norm, the norm acts on the sum
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.norm1(src + self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception mask-forgotten): forgets to pass the mask on
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src))


# %% SelfAttentionLayer wrong (raised): subtle, unpacks exactly three axes, fails for one text without a batch axis and for more axes
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
        normed = self.norm1(attended.reshape(batch * seq, embed_dim))  # each token on its own
        return src + normed.reshape(batch, seq, embed_dim)


# %% SelfAttentionLayer wrong (misconception torchs-norm): subtle, torch's nn.LayerNorm instead of LayerNorm, other eps (1e-5) and other parameter names, shows for small variances and in the state dict
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = nn.LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer right (passed): one line as in the formula
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer right (passed): step by step, norm created first, mask by keyword, asks for the weights and drops them
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.norm1 = LayerNorm(d_model=embed_dim)
        self.self_attn = SingleHeadAttention(d_model=embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        attended, _ = self.self_attn(src, mask=mask, return_weights=True)
        out = self.norm1(attended)
        out = torch.add(out, src)
        return out
