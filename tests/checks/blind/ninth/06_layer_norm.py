# %% LayerNorm wrong (misconception bias-before-weight): adds b before it multiplies by w
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        var, mean = torch.var_mean(residual, dim=-1, keepdim=True, correction=0)
        normalised = (residual - mean) / torch.sqrt(var + self.eps)
        return (normalised + self.b) * self.w

# %% LayerNorm wrong (difference milestone): normalises over all axes but the first, so the tokens of a text share mean and variance
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.w, self.b = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, residual):
        shape = residual.shape[1:] if residual.ndim > 1 else residual.shape
        return nn.functional.layer_norm(residual, shape, eps=self.eps) * self.w + self.b

# %% LayerNorm wrong (property mean_and_variance): divides by the mean distance from the mean, not by the root of the mean square
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        distance = residual - residual.mean(dim=-1, keepdim=True)
        variance = distance.abs().mean(dim=-1, keepdim=True) ** 2
        return distance / (variance + self.eps).sqrt() * self.w + self.b

# %% LayerNorm wrong (misconception eps-as-a-floor): eps is a lower limit of the variance and is not added to it
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        centred = residual - residual.mean(-1, keepdim=True)
        variance = centred.pow(2).mean(-1, keepdim=True).clamp(min=self.eps)
        return torch.addcmul(self.b, centred * variance.rsqrt(), self.w)

# %% LayerNorm wrong (raised): flattens the leading axes, and a single vector has none
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        rows = residual.flatten(0, -2)  # [tokens, d_model]
        rows = (rows - rows.mean(1, keepdim=True)) / (rows.var(1, correction=0, keepdim=True) + self.eps).sqrt()
        return (rows * self.w + self.b).reshape(residual.shape)

# %% LayerNorm right (passed): torch's functional layer norm, which gets the shape from w
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.register_parameter("w", nn.Parameter(torch.ones(d_model)))
        self.register_parameter("b", nn.Parameter(torch.zeros(d_model)))

    def forward(self, residual):
        return nn.functional.layer_norm(residual, self.w.shape, self.w, self.b, self.eps)

# %% LayerNorm right (passed): the root of variance + eps as the length of a hypotenuse
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.full((d_model,), 1.0))
        self.b = nn.Parameter(torch.full((d_model,), 0.0))

    def forward(self, residual):
        apart = residual - residual.mean(dim=-1, keepdim=True)
        spread = torch.linalg.vector_norm(apart, dim=-1, keepdim=True) / apart.shape[-1] ** 0.5
        return self.w * (apart / torch.hypot(spread, torch.full_like(spread, self.eps**0.5))) + self.b

# %% SelfAttentionLayer wrong (misconception norm-on-the-stream): adds the norm of src to the result of attention
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        attended = self.self_attn(src, mask)
        return attended + self.norm1(src)

# %% SelfAttentionLayer wrong (raised): asks for the truth value of a mask, which has many entries
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        if mask:
            out = self.self_attn(src, mask)
        else:
            out = self.self_attn(src)
        return src + self.norm1(out)

# %% SelfAttentionLayer wrong (misconception normed-before-and-after): normalises what attention reads as well
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn, self.norm1 = SingleHeadAttention(embed_dim), LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        return src + self.norm1(self.self_attn(self.norm1(src), mask))

# %% SelfAttentionLayer wrong (property state): a call without a mask uses the mask of the call before
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)
        self.mask = None

    def forward(self, src, mask=None):
        if mask is not None:
            self.mask = mask
        return src + self.norm1(self.self_attn(src, self.mask))

# %% SelfAttentionLayer wrong (shape): a text without a batch comes back with an extra axis in front
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        if src.ndim == 2:
            src = src[None]
        return src + self.norm1(self.self_attn(src, mask))

# %% SelfAttentionLayer wrong (property draws_nothing): drops a tenth of the added numbers in training
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)
        self.dropout = nn.Dropout(0.1)

    def forward(self, src, mask=None):
        return src + self.dropout(self.norm1(self.self_attn(src, mask)))

# %% SelfAttentionLayer right (passed): all leading axes become one batch and are restored at the end
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.add_module("self_attn", SingleHeadAttention(embed_dim))
        self.add_module("norm1", LayerNorm(d_model=embed_dim))

    def forward(self, src, mask=None):
        texts = src.reshape(-1, src.shape[-2], src.shape[-1])
        added = self.norm1(self.self_attn(texts, mask=mask))
        return torch.add(src, added.reshape(src.shape))

# %% SelfAttentionLayer right (passed): asks for the attention weights too and drops them
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.norm1 = LayerNorm(embed_dim)
        self.self_attn = SingleHeadAttention(embed_dim)

    def forward(self, src, mask=None):
        out, _ = self.self_attn(src, mask, return_weights=True)
        out = self.norm1(out)
        return out + src

# %% LayerNorm wrong (property state): eps belongs to the class, so a module made later changes it for all
class LayerNorm(nn.Module):
    eps = 1e-6

    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        LayerNorm.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        mean = residual.mean(dim=-1, keepdim=True)
        variance = residual.var(dim=-1, keepdim=True, correction=0)
        return (residual - mean) / torch.sqrt(variance + self.eps) * self.w + self.b
