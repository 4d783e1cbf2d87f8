# %% normalised wrong (misconception mean-alone-divided): brackets are missing, so only the mean is divided by the standard deviation and the result is x minus a constant
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = x - x.mean() / x.var(correction=0).sqrt()


# %% normalised wrong (misconception divided-by-variance): divides by the variance 5 instead of its square root, so the variance of the result is 0.2
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0)


# %% normalised wrong (misconception mean-distance): divides by the mean of the absolute distances (2) instead of the root of the mean square, so the variance is 1.25
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / centred.abs().mean()


# %% normalised wrong (misconception unit-length): divides by the length of the centred vector, the root of the sum instead of the mean of the squares, so the variance is 1/4
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / centred.norm()


# %% normalised wrong (property zero_and_one): takes the mean square of x itself (30) and not of the centred numbers (5), so the variance of the result is 1/6
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
variance = (x**2).mean()
normalised = (x - x.mean()) / variance.sqrt()


# %% normalised right (passed): the centred vector, divided by the root of the mean of its squares
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / torch.sqrt((centred**2).mean())


# %% normalised right (passed): plain Python numbers in list comprehensions, then torch.tensor
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
numbers = x.tolist()
mean = sum(numbers) / len(numbers)
spread = (sum((number - mean) ** 2 for number in numbers) / len(numbers)) ** 0.5
normalised = torch.tensor([(number - mean) / spread for number in numbers])


# %% LayerNorm wrong (misconception over-everything): mean and variance are taken over the whole tensor instead of the last axis, so tokens and texts affect each other
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
        return (residual - mean) / (variance + self.eps).sqrt() * self.w + self.b


# %% LayerNorm wrong (misconception unbiased): var without correction=0 divides by n - 1, so every number is too small by the root of (n - 1) / n
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
        variance = residual.var(dim=-1, keepdim=True)
        normalised = (residual - mean) / torch.sqrt(variance + self.eps)
        return self.w * normalised + self.b


# %% LayerNorm wrong (misconception bias-before-weight): adds b before multiplying by w, so b is scaled too; shows only when w is not 1 and b is not 0
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
        normalised = (residual - mean) / (variance + self.eps).sqrt()
        return self.w * (normalised + self.b)


# %% LayerNorm wrong (property far_from_zero): computes the variance as mean of squares minus square of the mean, which loses its digits far from zero, as for 3000, 3001, 3002 and 3005
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
        normalised = (residual - mean) / torch.sqrt(variance + self.eps)
        return normalised * self.w + self.b


# %% LayerNorm wrong (property leaves_its_inputs): subtracts the mean with -=, which changes the caller's input in place
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        # The number eps, and two parameters with d_model entries each.
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # Normalise along the last axis, then scale and shift.
        residual -= residual.mean(dim=-1, keepdim=True)
        variance = residual.pow(2).mean(dim=-1, keepdim=True)
        return residual / torch.sqrt(variance + self.eps) * self.w + self.b


# %% LayerNorm right (passed): centres first, then the mean of the squares and rsqrt
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
        variance = centred.pow(2).mean(dim=-1, keepdim=True)
        return centred * torch.rsqrt(variance + self.eps) * self.w + self.b


# %% LayerNorm right (passed): torch's functional layer_norm with its own w, b and eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        # The number eps, and two parameters with d_model entries each.
        self.d_model = d_model
        self.eps = eps
        self.w, self.b = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # Normalise along the last axis, then scale and shift.
        return nn.functional.layer_norm(residual, (self.d_model,), weight=self.w, bias=self.b, eps=self.eps)


# %% SelfAttentionLayer wrong (misconception post-norm): normalises the sum (post-norm) instead of the result of attention only, so the stream itself is rescaled
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


# %% SelfAttentionLayer wrong (misconception no-residual): returns only the normalised result of attention; the stream src is not added
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
        attended = self.self_attn(src, mask=mask)
        return self.norm1(attended)


# %% SelfAttentionLayer wrong (raised): unpacks the result of attention as if it were (output, weights); with two texts it silently adds the first text's result to both, and unless the first axis has size 2 it crashes
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
        attended, _ = self.self_attn(src, mask)
        return src + self.norm1(attended)


# %% SelfAttentionLayer wrong (misconception sees-what-is-hidden): inverts the mask before passing it on, so attention sees what should be hidden; shows only when a mask is given
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
        if mask is not None:
            mask = ~mask
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception torchs-norm): norm1 is torch's nn.LayerNorm (eps 1e-5, parameters weight and bias) instead of the learner's own LayerNorm with eps 1e-6
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        # Attention and a norm.
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = nn.LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        # The stream plus the normalised result of attention.
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer right (passed): one line, src plus the norm of attention with the mask
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


# %% SelfAttentionLayer right (passed): step by step; asks attention for its weights too and ignores them, then torch.add
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
        collected, _weights = self.self_attn(src, mask=mask, return_weights=True)
        rescaled = self.norm1(collected)
        return torch.add(src, rescaled)
