# %% normalised wrong (misconception unbiased): divides by the standard deviation of torch's std, which uses n - 1
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.std()


# %% normalised wrong (misconception divided-by-variance): divides by the variance, without the square root
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0)


# %% normalised wrong (misconception wrong-way-round): subtracts the numbers from the mean, so that every sign is reversed (mean 0 and variance 1 are right)
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x.mean() - x) / x.var(correction=0).sqrt()


# %% normalised wrong (misconception mean-distance): divides by the mean absolute distance from the mean, 2, instead of 2.2361; the variance is 1.25
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.mean()
normalised = centred / centred.abs().mean()


# %% normalised wrong (property zero_and_one): rounded to one decimal, the variance is 0.925
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = torch.tensor([-1.3, -0.4, 0.4, 1.3])


# %% normalised right (passed): the two steps with var(correction=0)
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
normalised = (x - x.mean()) / x.var(correction=0).sqrt()


# %% normalised right (passed): the variance by hand, as the mean of the squares of the centred numbers
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
# The vector with mean 0 and variance 1.
centred = x - x.sum() / len(x)
variance = (centred @ centred) / len(x)
normalised = centred * variance**-0.5


# %% LayerNorm wrong (misconception unbiased): the variance divides by n - 1
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        mean = residual.mean(dim=-1, keepdim=True)
        variance = residual.var(dim=-1, keepdim=True)
        return (residual - mean) / (variance + self.eps).sqrt() * self.w + self.b


# %% LayerNorm wrong (misconception bias-before-weight): adds b before the multiplication with w
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        mean = residual.mean(dim=-1, keepdim=True)
        variance = residual.var(dim=-1, keepdim=True, correction=0)
        return self.w * ((residual - mean) / torch.sqrt(variance + self.eps) + self.b)


# %% LayerNorm wrong (misconception eps-outside-the-root): eps is added to the standard deviation, outside the root; shows when the variance is not far above eps
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        mean = residual.mean(dim=-1, keepdim=True)
        spread = residual.var(dim=-1, keepdim=True, correction=0).sqrt()
        return (residual - mean) / (spread + self.eps) * self.w + self.b


# %% LayerNorm wrong (property far_from_zero): variance as mean of squares minus square of mean, which loses its digits far from zero
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        mean = residual.mean(dim=-1, keepdim=True)
        variance = ((residual**2).mean(dim=-1, keepdim=True) - mean**2).clamp(min=0)
        return (residual - mean) / torch.sqrt(variance + self.eps) * self.w + self.b


# %% LayerNorm wrong (property leaves_its_inputs): subtracts the mean in place, so that the input changes (the output is right)
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        residual -= residual.mean(dim=-1, keepdim=True)
        variance = residual.pow(2).mean(dim=-1, keepdim=True)
        return residual / torch.sqrt(variance + self.eps) * self.w + self.b


# %% LayerNorm right (passed): mean and var(correction=0) along the last axis
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        mean = residual.mean(dim=-1, keepdim=True)
        variance = residual.var(dim=-1, keepdim=True, correction=0)
        return (residual - mean) / torch.sqrt(variance + self.eps) * self.w + self.b


# %% LayerNorm right (passed): centres first, then einsum for the sum of squares and rsqrt
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.b = nn.Parameter(torch.full((d_model,), 0.0))
        self.w = nn.Parameter(torch.full((d_model,), 1.0))

    def forward(self, residual):
        centred = residual - residual.sum(dim=-1, keepdim=True) / self.d_model
        variance = torch.einsum("...d,...d->...", centred, centred) / self.d_model
        scale = torch.rsqrt(variance + self.eps).unsqueeze(-1)
        return torch.addcmul(self.b, centred * scale, self.w)


# %% SelfAttentionLayer wrong (misconception post-norm): normalises the sum (post-norm)
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        return self.norm1(src + self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception sees-what-is-hidden): inverts the mask, as if True meant hidden
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        if mask is not None:
            mask = ~mask
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception torchs-norm): torch's nn.LayerNorm instead of the page's, with eps 1e-5 and other names; shows when attention returns tiny numbers
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = nn.LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (property leaves_its_inputs): adds to src in place, so that the caller's stream changes (the output is right)
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        added = self.norm1(self.self_attn(src, mask))
        src += added
        return src


# %% SelfAttentionLayer wrong (raised): goes through the texts one by one, which fails for a single text without a batch axis
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        attended = torch.stack([self.self_attn(text, mask) for text in src])
        return src + self.norm1(attended)


# %% SelfAttentionLayer right (passed): as the formula says
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer right (passed): makes one batch axis of all axes before seq, and restores them at the end
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.norm1 = LayerNorm(d_model=embed_dim)
        self.self_attn = SingleHeadAttention(embed_dim)

    def forward(self, src, mask=None):
        texts = src.reshape(-1, *src.shape[-2:])
        attended = self.self_attn(texts, mask)
        added = self.norm1(attended).reshape(src.shape)
        return torch.add(src, added)


