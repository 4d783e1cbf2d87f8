# %% normalised wrong (misconception unbiased): x.std() divides by n - 1, so the variance with n is 3/4 and not 1
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = (x - x.mean()) / x.std()

# %% normalised wrong (misconception divided-by-variance): divides by the variance and forgets the root
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = (x - x.mean()) / x.var(correction=0)

# %% normalised wrong (misconception mean-alone-divided): brackets forgotten, only the mean is divided, so neither mean nor variance is right
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = x - x.mean() / x.std(correction=0)

# %% normalised wrong (misconception unit-length): makes the vector one of length 1, its variance is 1/4
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
centred = x - x.mean()
normalised = centred / centred.norm()

# %% normalised wrong (misconception mean-distance): divides by the mean absolute distance (2) instead of the standard deviation (2.2361)
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
centred = x - x.mean()
normalised = centred / centred.abs().mean()

# %% normalised wrong (misconception not-centred): divides without subtracting the mean, variance 1 but mean 2.24
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = x / x.var(correction=0).sqrt()

# %% normalised wrong (misconception minus-one-to-one): stretches to the range from -1 to 1, the mean is 0 but the variance 0.56
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = 2 * (x - x.min()) / (x.max() - x.min()) - 1

# %% normalised wrong (raised): divides by the method sqrt instead of calling it (raises)
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = (x - x.mean()) / x.var(correction=0).sqrt

# %% normalised right (passed): Python's statistics module and a list
import statistics

x = torch.tensor([2.0, 4.0, 6.0, 8.0])
numbers = x.tolist()
middle, spread = statistics.fmean(numbers), statistics.pstdev(numbers)
normalised = torch.tensor([(number - middle) / spread for number in numbers])

# %% normalised right (passed): torch's layer_norm without eps
import torch.nn.functional as F

x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = F.layer_norm(x, x.shape, eps=0.0)

# %% normalised right (passed): a direction of length 1, stretched to the length that variance 1 has, the root of n
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = nn.functional.normalize(x - x.mean(), dim=0) * x.numel() ** 0.5

# %% normalised right (passed): centring as a matrix, the variance as a dot product
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
n = len(x)
centring = torch.eye(n) - torch.full((n, n), 1 / n)
deviation = centring @ x
normalised = deviation * torch.rsqrt(deviation @ deviation / n)

# %% LayerNorm wrong (misconception unbiased): var with its default divides by n - 1, the page wants the variance with n
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

# %% LayerNorm wrong (misconception eps-outside-the-root): eps is added to the standard deviation, outside the root; tiny differences come out in another size
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        std = residual.std(dim=-1, correction=0, keepdim=True)
        return self.w * (residual - mean) / (std + self.eps) + self.b

# %% LayerNorm wrong (misconception along-axis-1): normalises along axis 1, which is the last one for a table but the tokens of a batch of texts
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=1, keepdim=True)
        var = residual.var(dim=1, correction=0, keepdim=True)
        return (residual - mean) / (var + self.eps).sqrt() * self.w + self.b

# %% LayerNorm wrong (misconception bias-before-weight): adds b before it multiplies by w; at the start nothing shows, later b comes out multiplied
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        var = residual.var(dim=-1, correction=0, keepdim=True)
        normalised = (residual - mean) / (var + self.eps).sqrt()
        return self.w * (normalised + self.b)

# %% LayerNorm wrong (misconception eps-fixed): keeps self.eps but computes with 1e-6, another eps given to the constructor has no effect
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        var = residual.var(dim=-1, correction=0, keepdim=True)
        return (residual - mean) / (var + 1e-6).sqrt() * self.w + self.b

# %% LayerNorm wrong (property leaves_its_inputs): subtracts the mean and divides in place, so the caller's own tensor is changed (the page prints it as "before" afterwards)
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        residual -= residual.mean(dim=-1, keepdim=True)
        residual /= (residual.var(dim=-1, correction=0, keepdim=True) + self.eps).sqrt()
        return residual * self.w + self.b

# %% LayerNorm wrong (structure): w and b are one number for the whole vector, the page wants one for each entry
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(1))
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        var = residual.var(dim=-1, correction=0, keepdim=True)
        return (residual - mean) / (var + self.eps).sqrt() * self.w + self.b

# %% LayerNorm wrong (raised): forgets keepdim, the means do not line up with the vectors (raises for most shapes, mixes tokens for square ones)
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1)
        var = residual.var(dim=-1, correction=0)
        return (residual - mean) / (var + self.eps).sqrt() * self.w + self.b

# %% LayerNorm right (passed): var_mean, rsqrt and addcmul
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.w, self.b, self.eps = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model)), eps

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        spread, centre = torch.var_mean(residual, dim=-1, correction=0, keepdim=True)
        return torch.addcmul(self.b, (residual - centre) * torch.rsqrt(spread + self.eps), self.w)

# %% LayerNorm right (passed): torch's functional layer_norm with its own w, b and eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.b = nn.Parameter(torch.zeros(d_model))
        self.w = nn.Parameter(torch.ones(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return nn.functional.layer_norm(residual, self.w.shape, self.w, self.b, self.eps)

# %% LayerNorm right (passed): a loop over the vectors with a helper that only adds and multiplies
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.n = d_model
        self.eps = eps
        self.w = nn.Parameter(torch.full((d_model,), 1.0))
        self.b = nn.Parameter(torch.full((d_model,), 0.0))

    def one_vector(self, v):
        average = sum(v[i] for i in range(self.n)) / self.n
        away = v - average
        variance = sum(away[i] * away[i] for i in range(self.n)) / self.n
        return away / (variance + self.eps) ** 0.5 * self.w + self.b

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        vectors = residual.reshape(-1, self.n)
        return torch.stack([self.one_vector(v) for v in vectors]).reshape(residual.shape)

# %% LayerNorm right (passed): a group norm with one group over a flat list of vectors
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.register_parameter("w", nn.Parameter(torch.ones(d_model)))
        self.register_parameter("b", nn.Parameter(torch.zeros(d_model)))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        flat = residual.reshape(-1, residual.shape[-1])
        return torch.group_norm(flat, 1, self.w, self.b, self.eps).reshape(residual.shape)

# %% SelfAttentionLayer wrong (misconception post-norm): post-norm, the norm stands around the sum and rescales the stream
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.norm1(src + self.self_attn(src, mask))

# %% SelfAttentionLayer wrong (misconception mask-forgotten): the mask is not handed on to attention, so it has no effect
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src))

# %% SelfAttentionLayer wrong (misconception both-normed): normalises first and adds to the normalised stream, so the stream as it was is lost
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.norm1(src) + self.norm1(self.self_attn(src, mask))

# %% SelfAttentionLayer wrong (misconception torchs-norm): torch's nn.LayerNorm, with another eps and other names, where the page asks for your own
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = nn.LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask))

# %% SelfAttentionLayer wrong (property leaves_its_inputs): += changes the caller's src, so that layer(src) - src on the page is nothing but zeros
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

# %% SelfAttentionLayer wrong (misconception another-norm): forward makes a new LayerNorm in each call and leaves norm1 unused, its w and b have no effect and never learn
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.embed_dim = embed_dim
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        norm = LayerNorm(self.embed_dim)
        return src + norm(self.self_attn(src, mask))

# %% SelfAttentionLayer wrong (misconception sees-what-is-hidden): turns the mask round as torch's own attention module would want it, but here True means may
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
        return src + self.norm1(self.self_attn(src, mask=mask))

# %% SelfAttentionLayer wrong (raised): asks for the weights too and gives the pair of output and weights to the norm (raises)
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        attended = self.self_attn(src, mask, return_weights=True)
        return src + self.norm1(attended)

# %% SelfAttentionLayer right (passed): step by step with names, weights asked for and thrown away
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.norm1 = LayerNorm(d_model=embed_dim)
        self.self_attn = SingleHeadAttention(d_model=embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        attended, _unused = self.self_attn(src, mask=mask, return_weights=True)
        brought = self.norm1(attended)
        return torch.add(src, brought)

# %% SelfAttentionLayer right (passed): the sum is written into the fresh output of the norm, src itself stays untouched
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn, self.norm1 = SingleHeadAttention(embed_dim), LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.norm1(self.self_attn(src, mask)).add_(src)

# %% SelfAttentionLayer right (passed): the three layers of self_attn used directly with torch's attention function
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        head = self.self_attn
        seen = nn.functional.scaled_dot_product_attention(
            head.q_layer(src), head.k_layer(src), head.v_layer(src), attn_mask=mask
        )
        return src + self.norm1(seen)

# %% SelfAttentionLayer right (passed): one text at a time, by recursion over the leading axes
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.add_module("self_attn", SingleHeadAttention(embed_dim))
        self.add_module("norm1", LayerNorm(embed_dim))

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        if src.dim() > 2:
            return torch.stack([self.forward(text, mask) for text in src])
        return src + torch.stack([self.norm1(token) for token in self.self_attn(src, mask)])
