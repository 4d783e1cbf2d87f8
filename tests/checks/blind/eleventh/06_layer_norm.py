# %% normalised wrong (misconception unbiased): torch's std divides by n - 1
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.std()


# %% normalised wrong (misconception divided-by-variance): divides by the variance instead of its square root
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0)


# %% normalised wrong (misconception mean-distance): divides by the mean distance from the mean, which is 2, so the variance becomes 1.25
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / centred.abs().mean()


# %% normalised right (passed): scales the centred vector to length 1, then by the root of 4
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.sum() / len(x)
normalised = centred / centred.norm() * len(x) ** 0.5


# %% LayerNorm wrong (misconception eps-outside-the-root): adds eps after the square root
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        # The number eps, and two parameters with d_model entries each.
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # Normalise along the last axis, then scale and shift.
        mean = residual.mean(dim=-1, keepdim=True)
        spread = residual.var(dim=-1, keepdim=True, correction=0).sqrt()
        return (residual - mean) / (spread + self.eps) * self.w + self.b


# %% LayerNorm wrong (misconception eps-as-a-floor): eps is a lower limit of the variance and is not added; shows when the variance is about as large as eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        # The number eps, and two parameters with d_model entries each.
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # Normalise along the last axis, then scale and shift.
        centred = residual - residual.mean(dim=-1, keepdim=True)
        variance = centred.pow(2).mean(dim=-1, keepdim=True).clamp(min=self.eps)
        return centred / variance.sqrt() * self.w + self.b


# %% LayerNorm right (passed): var_mean and rsqrt, with addcmul at the end
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        # The number eps, and two parameters with d_model entries each.
        self.eps = eps
        self.w = nn.Parameter(torch.full((d_model,), 1.0))
        self.b = nn.Parameter(torch.full((d_model,), 0.0))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # Normalise along the last axis, then scale and shift.
        variance, mean = torch.var_mean(residual, dim=-1, keepdim=True, correction=0)
        return torch.addcmul(self.b, (residual - mean) * torch.rsqrt(variance + self.eps), self.w)


# %% SelfAttentionLayer wrong (misconception post-norm): post-norm, the norm of the sum
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        # Attention and a norm.
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        # The stream plus the normalised result of attention.
        return self.norm1(src + self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception pre-norm): pre-norm, the norm before attention
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        # Attention and a norm.
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        # The stream plus the normalised result of attention.
        return src + self.self_attn(self.norm1(src), mask)


# %% SelfAttentionLayer wrong (misconception mask-forgotten): uses the mask in training only, as later tokens do not exist when a model writes; shows after eval()
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        # Attention and a norm.
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        # The stream plus the normalised result of attention.
        if not self.training:
            mask = None
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer right (passed): takes the output from the pair with the weights, and adds with torch.add
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        # Attention and a norm.
        self.norm1 = LayerNorm(d_model=embed_dim)
        self.self_attn = SingleHeadAttention(d_model=embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        # The stream plus the normalised result of attention.
        collected, _ = self.self_attn(src, mask=mask, return_weights=True)
        return torch.add(self.norm1(collected), src)


# %% norm_vectors/features-first wrong (misconception normalised-along-the-tokens): normalises along the last axis, as in the lesson: the positions of one feature
def norm_vectors(x: Tensor, w: Tensor, eps: float) -> Tensor:
    """Return the normalised vectors, times w, as your task says."""
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, correction=0, keepdim=True)
    return (x - mean) / (variance + eps).sqrt() * w[:, None]


# %% norm_vectors/features-first wrong (misconception eps-outside-the-root): subtle, adds eps to the standard deviation, outside the root: shows unless eps is tiny beside the variance
def norm_vectors(x: Tensor, w: Tensor, eps: float) -> Tensor:
    """Return the normalised vectors, times w, as your task says."""
    mean = x.mean(dim=1, keepdim=True)
    spread = x.std(dim=1, correction=0, keepdim=True)
    return (x - mean) / (spread + eps) * w[:, None]


# %% norm_vectors/features-first right (passed): moves the features to the end, uses torch's layer norm, and moves them back
def norm_vectors(x: Tensor, w: Tensor, eps: float) -> Tensor:
    """Return the normalised vectors, times w, as your task says."""
    last = x.transpose(1, 2)
    return nn.functional.layer_norm(last, (x.shape[1],), weight=w, eps=eps).transpose(1, 2)


# %% norm_vectors/rms wrong (difference milestone): subtracts the mean before it divides
def norm_vectors(x: Tensor, w: Tensor, eps: float) -> Tensor:
    """Return the normalised vectors, times w, as your task says."""
    size = (x.pow(2).mean(dim=-1, keepdim=True) + eps).sqrt()
    return (x - x.mean(dim=-1, keepdim=True)) / size * w


# %% norm_vectors/rms wrong (difference milestone): subtle, eps is a lower limit instead of a summand: shows when the mean square is not much larger than eps
def norm_vectors(x: Tensor, w: Tensor, eps: float) -> Tensor:
    """Return the normalised vectors, times w, as your task says."""
    size = x.pow(2).mean(dim=-1, keepdim=True).clamp(min=eps).sqrt()
    return x / size * w


# %% norm_vectors/rms right (passed): einsum for the squares, rsqrt
def norm_vectors(x: Tensor, w: Tensor, eps: float) -> Tensor:
    """Return the normalised vectors, times w, as your task says."""
    squares = torch.einsum("bsd,bsd->bs", x, x) / x.shape[2]
    return w * x * torch.rsqrt(squares + eps).unsqueeze(-1)


# %% norm_vectors/mean-distance wrong (misconception as-in-the-lesson): divides by the standard deviation, as in the lesson
def norm_vectors(x: Tensor, w: Tensor, eps: float) -> Tensor:
    """Return the normalised vectors, times w, as your task says."""
    difference = x - x.mean(dim=-1, keepdim=True)
    return difference / (difference.square().mean(dim=-1, keepdim=True) + eps).sqrt() * w


# %% norm_vectors/mean-distance wrong (misconception distance-from-zero): subtle, the mean of the absolute entries instead of differences: right for vectors with mean 0
def norm_vectors(x: Tensor, w: Tensor, eps: float) -> Tensor:
    """Return the normalised vectors, times w, as your task says."""
    distance = x.abs().mean(dim=-1, keepdim=True)
    return (x - x.mean(dim=-1, keepdim=True)) / (distance + eps) * w


# %% norm_vectors/mean-distance right (passed): the sum of the absolute values as a norm, divided by d
def norm_vectors(x: Tensor, w: Tensor, eps: float) -> Tensor:
    """Return the normalised vectors, times w, as your task says."""
    d = x.shape[-1]
    difference = x - (x.sum(dim=-1) / d)[..., None]
    distance = torch.where(difference < 0, -difference, difference).sum(dim=-1) / d
    return w * difference / (distance + eps)[..., None]
