# %% normalised wrong (misconception unbiased): std() with torch's n - 1; the page wants correction=0, so the variance is 0.75 instead of 1
normalised = (x - x.mean()) / x.std()

# %% normalised wrong (misconception divided-by-variance): divides by the variance and not by its root, so the variance comes out as 0.2
centred = x - x.mean()
normalised = centred / x.var(correction=0)

# %% normalised wrong (misconception mean-alone-divided): brackets forgotten, only the mean is divided; neither mean 0 nor variance 1
normalised = x - x.mean() / x.std(correction=0)

# %% normalised wrong (property zero_and_one): divides first and then subtracts the mean of the undivided vector, so the mean is not 0
scaled = x / x.var(correction=0).sqrt()
normalised = scaled - x.mean()

# %% normalised wrong (misconception unit-length): made to length 1 instead of variance 1 (variance 0.25)
centred = x - x.mean()
normalised = centred / centred.norm()

# %% normalised wrong (misconception wrong-way-round): subtracts x from the mean, so every sign is flipped though mean and variance are right
normalised = (x.mean() - x) / x.var(correction=0).sqrt()

# %% normalised wrong (property zero_and_one): worked out on paper and rounded to one digit, the variance is 0.925
normalised = torch.tensor([-1.3, -0.4, 0.4, 1.3])

# %% normalised wrong (misconception mean-distance): divides by the mean distance from the mean (2) instead of the standard deviation (root of 5)
centred = x - x.mean()
normalised = centred / centred.abs().mean()

# %% normalised right (passed): plain Python numbers and the statistics module
import statistics

numbers = x.tolist()
middle, spread = statistics.fmean(numbers), statistics.pstdev(numbers)
normalised = torch.tensor([(number - middle) / spread for number in numbers])

# %% normalised right (passed): torch's own layer norm without eps
normalised = nn.functional.layer_norm(x, x.shape, eps=0.0)

# %% normalised right (passed): a centring matrix, then stretched to the length root of n
n = len(x)
centring = torch.eye(n) - torch.full((n, n), 1 / n)
direction = nn.functional.normalize(centring @ x, dim=0)
normalised = n**0.5 * direction

# %% normalised right (passed): in double precision, through var_mean and rsqrt
variance, mean = torch.var_mean(x.double(), correction=0)
normalised = (x.double() - mean) * variance.rsqrt()

# %% LayerNorm wrong (property far_from_zero): variance as mean of squares minus square of the mean, which loses all digits far from zero (3000, 3001, 3002, 3005)
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(dim=-1, keepdim=True)
        variance = (residual.pow(2).mean(dim=-1, keepdim=True) - mean.pow(2)).clamp(min=0)
        return (residual - mean) / torch.sqrt(variance + self.eps) * self.w + self.b

# %% LayerNorm wrong (misconception eps-outside-the-root): eps is added to the standard deviation, outside the root; the formula has it inside
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(-1, keepdim=True)
        std = residual.std(-1, keepdim=True, correction=0)
        return self.w * (residual - mean) / (std + self.eps) + self.b

# %% LayerNorm wrong (raised): normalises over all axes but the first, so the tokens of a text are mixed; the page wants each token by itself
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        normed = nn.functional.layer_norm(residual, residual.shape[1:], eps=self.eps)
        return normed * self.w + self.b

# %% LayerNorm wrong (property gradients): mean and variance are taken without gradient, so the gradient to the input is not that of the formula
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        with torch.no_grad():
            mean = residual.mean(-1, keepdim=True)
            root = (residual.var(-1, keepdim=True, correction=0) + self.eps).sqrt()
        return (residual - mean) / root * self.w + self.b

# %% LayerNorm wrong (property leaves_its_inputs): subtracts the mean in place and so changes the caller's stream
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        residual -= residual.mean(-1, keepdim=True)
        variance = residual.pow(2).mean(-1, keepdim=True)
        return residual / (variance + self.eps).sqrt() * self.w + self.b

# %% LayerNorm wrong (misconception eps-of-torch): keeps eps but never uses it; torch's default of 1e-5 does the work
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return nn.functional.layer_norm(residual, (self.d_model,), self.w, self.b)

# %% LayerNorm wrong (misconception not-parameters): w and b are buffers and not nn.Parameters, so they are never learned
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.register_buffer("w", torch.ones(d_model))
        self.register_buffer("b", torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(-1, keepdim=True)
        variance = residual.var(-1, keepdim=True, correction=0)
        return (residual - mean) / torch.sqrt(variance + self.eps) * self.w + self.b

# %% LayerNorm wrong (misconception bias-before-weight): b is added before w multiplies, so with w = 2 and b = 10 the mean is 20 and not 10
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        mean = residual.mean(-1, keepdim=True)
        variance = residual.var(-1, keepdim=True, correction=0)
        normed = (residual - mean) / torch.sqrt(variance + self.eps)
        return self.w * (normed + self.b)

# %% LayerNorm right (passed): torch's functional layer norm with everything handed over
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w, self.b = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return nn.functional.layer_norm(residual, self.w.shape, self.w, self.b, self.eps)

# %% LayerNorm right (passed): one vector at a time, by recursion over the axes in front
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.d_model = d_model
        self.eps = eps
        self.b = nn.Parameter(torch.zeros(d_model))
        self.w = nn.Parameter(torch.ones(d_model))

    def one_vector(self, vector):
        mean = sum(vector) / self.d_model
        from_mean = [entry - mean for entry in vector]
        variance = sum(entry * entry for entry in from_mean) / self.d_model
        root = (variance + self.eps) ** 0.5
        return torch.stack([entry / root for entry in from_mean]) * self.w + self.b

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        if residual.dim() == 1:
            return self.one_vector(residual)
        return torch.stack([self.forward(part) for part in residual])

# %% LayerNorm right (passed): einsum for the squares, in double precision, back to the type that came in
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.register_parameter("w", nn.Parameter(torch.full((d_model,), 1.0)))
        self.register_parameter("b", nn.Parameter(torch.full((d_model,), 0.0)))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        wide = residual.double()
        d = wide.shape[-1]
        wide = wide - torch.einsum("...d->...", wide)[..., None] / d
        variance = torch.einsum("...d,...d->...", wide, wide)[..., None] / d
        return (wide * torch.rsqrt(variance + self.eps) * self.w + self.b).to(residual.dtype)

# %% LayerNorm right (passed): geometry; the centred vector's length, lengthened by hypot with root of d times eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        d = residual.size(-1)
        arrow = residual - residual.mean(-1, keepdim=True)
        length = torch.linalg.vector_norm(arrow, dim=-1, keepdim=True)
        longer = torch.hypot(length, torch.full_like(length, (d * self.eps) ** 0.5))
        return torch.addcmul(self.b, self.w, arrow * (d**0.5) / longer)

# %% SelfAttentionLayer wrong (misconception sees-what-is-hidden): turns the mask around, as if True meant hidden; the page says True means may attend
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

# %% SelfAttentionLayer wrong (misconception causal-without-a-mask): makes a causal mask where none was given; the mask should go on as it comes, and None hides nothing
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        seq = src.shape[-2]
        if mask is None:
            mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        return src + self.norm1(self.self_attn(src, mask))

# %% SelfAttentionLayer wrong (misconception pre-norm): the norm stands in front of attention (pre-norm) and not on what attention brings
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.self_attn(self.norm1(src), mask)

# %% SelfAttentionLayer wrong (misconception torchs-norm): norm1 is torch's nn.LayerNorm (no w and b, another eps) and not the learner's LayerNorm
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = nn.LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(self.self_attn(src, mask))

# %% SelfAttentionLayer wrong (property leaves_its_inputs): adds in place, so the caller's src is overwritten (and the backward pass fails)
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        attended = self.self_attn(src, mask)
        src += self.norm1(attended)
        return src

# %% SelfAttentionLayer wrong (property gradients): attention gets a detached copy, so no gradient flows back through attention to earlier layers
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        stream = src.clone().detach()
        return src + self.norm1(self.self_attn(stream, mask))

# %% SelfAttentionLayer wrong (shape): flattens the axes in front and never restores them; right for [batch, seq, embed_dim] only
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        src = src.reshape(-1, src.shape[-2], src.shape[-1])
        return src + self.norm1(self.self_attn(src, mask))

# %% SelfAttentionLayer wrong (misconception mask-forgotten): the mask is taken but not handed on to attention
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

# %% SelfAttentionLayer right (passed): the formula in one line
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.norm1 = LayerNorm(embed_dim)
        self.self_attn = SingleHeadAttention(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.norm1(self.self_attn(src, mask)) + src

# %% SelfAttentionLayer right (passed): every text alone in a loop, then stacked and shaped back
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        done = []
        for text in src.reshape(-1, *src.shape[-2:]):
            found = self.self_attn(text, mask)
            rows = [token + self.norm1(news) for token, news in zip(text, found)]
            done.append(torch.stack(rows))
        return torch.stack(done).reshape(src.shape)

# %% SelfAttentionLayer right (passed): attention under torch.utils.checkpoint, which computes it again in the backward pass to save memory
from torch.utils.checkpoint import checkpoint


class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def branch(self, src, mask):
        return self.norm1(self.self_attn(src, mask))

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + checkpoint(self.branch, src, mask, use_reentrant=False)

# %% SelfAttentionLayer right (passed): a pipeline of steps over a copy of the stream, parts registered by add_module
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        for name, part in (("self_attn", SingleHeadAttention), ("norm1", LayerNorm)):
            self.add_module(name, part(embed_dim))

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        value = src
        for step in (lambda stream: self.self_attn(stream, mask), self.norm1):
            value = step(value)
        out = src.clone()
        out.add_(value)
        return out

