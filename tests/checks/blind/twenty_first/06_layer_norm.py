# %% normalised wrong (misconception divided-by-variance): the centred numbers are divided by the variance 5 instead of its square root, so the variance of the result is 0.2
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0)


# %% normalised wrong (misconception mean-alone-divided): the brackets around x - mean are missing, so only the mean is divided by the standard deviation: x - 5 / 2.236; the mean of the result is not 0
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = x - x.mean() / x.var(correction=0).sqrt()


# %% normalised wrong (property zero_and_one): ** 1/2 is read as (** 1) / 2, so the centred numbers are divided by 5 and then by 2 instead of by the square root of 5
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / x.var(correction=0) ** 1/2


# %% normalised wrong (misconception unit-length): divides by the norm (the root of the sum of the squares) instead of the root of their mean, so the variance is 1/4
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / centred.norm()


# %% normalised wrong (misconception mean-distance): divides by the mean absolute distance from the mean (2) instead of the standard deviation, so the variance is 1.25
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
distance = (x - x.mean()).abs().mean()
normalised = (x - x.mean()) / distance


# %% normalised right (passed): mean, and var with correction=0, in one line
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0).sqrt()


# %% normalised right (passed): step by step, the variance as the mean of the squares of the centred numbers
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
mean = sum(x) / len(x)
shifted = x - mean
variance = (shifted * shifted).mean()
normalised = shifted / variance**0.5


# %% LayerNorm wrong (misconception over-everything): mean and variance are taken over the whole tensor (no dim), so all tokens share one mean and one variance; right only for a single vector
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        # The number eps, and two parameters with d_model entries each.
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # Normalise along the last axis, then scale and shift.
        mean = residual.mean()
        variance = residual.var(correction=0)
        return (residual - mean) / torch.sqrt(variance + self.eps) * self.w + self.b


# %% LayerNorm wrong (misconception unbiased): the variance divides by n - 1 (correction=0 is missing), so the results are too small by the factor sqrt((n - 1) / n)
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
        variance = residual.var(dim=-1, keepdim=True)
        return self.w * centred / (variance + self.eps).sqrt() + self.b


# %% LayerNorm wrong (misconception eps-outside-the-root): eps is added to the standard deviation, outside the square root, instead of to the variance; visible if the variance is not far above eps or eps is large
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


# %% LayerNorm wrong (misconception bias-before-weight): b is added before the multiplication by w, so the result is (normalised + b) * w; the same as long as w is 1 or b is 0
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
        variance = (centred**2).mean(dim=-1, keepdim=True)
        normalised = centred / torch.sqrt(variance + self.eps)
        return (normalised + self.b) * self.w


# %% LayerNorm wrong (property far_from_zero): the variance is computed as mean of squares minus square of mean, which loses its digits far from zero in float32 (3000, 3001, 3002, 3005 give a wrong result or nan)
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
        variance = (residual**2).mean(dim=-1, keepdim=True) - mean**2
        return (residual - mean) / torch.sqrt(variance + self.eps) * self.w + self.b


# %% LayerNorm right (passed): mean and var with correction=0 along the last axis, with keepdim
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
        variance = residual.var(dim=-1, keepdim=True, correction=0)
        return (residual - mean) / (variance + self.eps).sqrt() * self.w + self.b


# %% LayerNorm right (passed): torch's function layer_norm with the own w, b and eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        # The number eps, and two parameters with d_model entries each.
        self.w, self.b = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # Normalise along the last axis, then scale and shift.
        return nn.functional.layer_norm(residual, self.w.shape, weight=self.w, bias=self.b, eps=self.eps)


# %% SelfAttentionLayer wrong (misconception post-norm): the sum is normalised, norm(src + attention(src)) (post-norm), instead of only the result of attention
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


# %% SelfAttentionLayer wrong (misconception mask-forgotten): the mask is not passed on to self_attn, so every position sees all positions even if a mask is given
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
        attended = self.self_attn(src)
        return src + self.norm1(attended)


# %% SelfAttentionLayer wrong (property leaves_its_inputs): src += ... adds in place, so the caller's src is changed
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
        src += self.norm1(self.self_attn(src, mask))
        return src


# %% SelfAttentionLayer wrong (misconception eps-of-torch): norm1 gets eps=1e-5 instead of LayerNorm's default 1e-6; visible if the result of attention has a small variance
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        # Attention and a norm.
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim, eps=1e-5)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        # The stream plus the normalised result of attention.
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception causal-without-a-mask): if no mask is given, the layer makes a causal mask of its own instead of letting every position see all positions
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
        if mask is None:
            seq = src.shape[-2]
            mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer right (passed): the formula in one line
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
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer right (passed): step by step, mask by keyword, the norm made first, and torch.add for the sum
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
        collected = self.self_attn(src, mask=mask)
        update = self.norm1(collected)
        return torch.add(src, update)
