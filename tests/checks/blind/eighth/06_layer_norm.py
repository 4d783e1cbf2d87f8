# %% normalised wrong (misconception divided-by-variance): divides by the variance instead of its square root
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
variance, mean = torch.var_mean(x, correction=0)
normalised = (x - mean) / variance

# %% normalised wrong (misconception unbiased): var_mean is called with its default, which divides by n - 1
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
variance, mean = torch.var_mean(x)
normalised = (x - mean) * variance.rsqrt()

# %% normalised wrong (misconception mean-alone-divided): parentheses are missing, so only the mean is divided
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = x - x.mean() / x.var(correction=0).sqrt()

# %% normalised wrong (property zero_and_one): divides first and then subtracts the mean of the undivided numbers
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
scaled = x / x.std(correction=0)
normalised = scaled - x.mean()

# %% normalised wrong (misconception unit-length): nn.functional.normalize makes the length one, not the variance
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = nn.functional.normalize(x - x.mean(), dim=0)

# %% normalised wrong (misconception mean-distance): divides by the mean distance from the mean instead of the standard deviation
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
centred = x - x.mean()
normalised = centred / centred.abs().mean()

# %% normalised wrong (property zero_and_one): divides by the root of the mean square of x, taken before the mean was subtracted
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = (x - x.mean()) / x.square().mean().sqrt()

# %% normalised wrong (misconception wrong-way-round): subtracts each number from the mean, so all signs are turned round
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = (x.mean() - x) / x.var(correction=0).sqrt()

# %% normalised wrong (shape): the result is a table with one row, not a vector of four numbers
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
row = x.unsqueeze(0)
normalised = (row - row.mean(dim=-1, keepdim=True)) / row.std(dim=-1, correction=0, keepdim=True)

# %% normalised wrong (structure): right numbers in a Python list, which has no mean and no var
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = [(number - 5) / 5**0.5 for number in x.tolist()]

# %% normalised right (passed): torch's layer_norm with an eps of 0
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
normalised = nn.functional.layer_norm(x, x.shape, eps=0.0)

# %% normalised right (passed): Python's statistics on the list of numbers, back into a tensor
import statistics

x = torch.tensor([2.0, 4.0, 6.0, 8.0])
numbers = x.tolist()
middle, spread = statistics.fmean(numbers), statistics.pstdev(numbers)
normalised = torch.tensor([(number - middle) / spread for number in numbers])

# %% normalised right (passed): a centring matrix, then the length is made the root of n
x = torch.tensor([2.0, 4.0, 6.0, 8.0])
n = x.numel()
centred = (torch.eye(n) - torch.full((n, n), 1 / n)) @ x
normalised = centred * n**0.5 / centred.norm()

# %% LayerNorm wrong (property mean_and_variance): mean and variance are taken over the tokens as well as the entries
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        axes = tuple(range(max(residual.dim() - 2, 0), residual.dim()))
        variance, mean = torch.var_mean(residual, dim=axes, correction=0, keepdim=True)
        return (residual - mean) / (variance + self.eps).sqrt() * self.w + self.b


# %% LayerNorm wrong (misconception along-axis-1): normalises along axis 1, which is the last axis only if there are two
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        centred = residual - residual.mean(1, keepdim=True)
        variance = centred.pow(2).mean(1, keepdim=True)
        return self.w * centred / torch.sqrt(variance + self.eps) + self.b


# %% LayerNorm wrong (misconception bias-before-weight): adds b before it multiplies by w
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        centred = residual - residual.mean(-1, keepdim=True)
        x_hat = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + self.eps)
        return (x_hat + self.b) * self.w


# %% LayerNorm wrong (structure): wraps torch's module, so the parameters are not called w and b
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.norm = nn.LayerNorm(d_model, eps=eps)

    def forward(self, residual):
        return self.norm(residual)


# %% LayerNorm wrong (structure): w and b hold a single number each
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.w = nn.Parameter(torch.ones(1))
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, residual):
        x = residual - residual.sum(-1, keepdim=True) / self.d_model
        x = x / ((x * x).sum(-1, keepdim=True) / self.d_model + self.eps).sqrt()
        return x * self.w + self.b


# %% LayerNorm wrong (misconception eps-of-torch): eps is stored but not passed to torch's function, which uses its own default
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        return nn.functional.layer_norm(residual, residual.shape[-1:], self.w, self.b)


# %% LayerNorm wrong (misconception eps-as-a-floor): eps is a lower limit of the variance instead of being added to it
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        mean = residual.mean(dim=-1, keepdim=True)
        variance = residual.var(dim=-1, correction=0, keepdim=True)
        return (residual - mean) / variance.clamp(min=self.eps).sqrt() * self.w + self.b


# %% LayerNorm wrong (property leaves_its_inputs): subtracts the mean in place in a view, which overwrites the input
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        flat = residual.view(-1, residual.shape[-1])
        flat -= flat.mean(dim=1, keepdim=True)
        flat = flat / (flat.square().mean(dim=1, keepdim=True) + self.eps).sqrt()
        return (flat * self.w + self.b).view(residual.shape)


# %% LayerNorm wrong (property far_from_zero): the input is rounded to float16, which is too coarse far from zero
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        x = residual.half().float()
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return torch.addcmul(self.b, (x - mean) / (variance + self.eps).sqrt(), self.w)


# %% LayerNorm wrong (property lets_gradients_through): w and b are used through detach, so they get no gradient and never learn
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        scale, shift = self.w.detach(), self.b.detach()
        centred = residual - residual.mean(-1, True)
        spread = torch.linalg.vector_norm(centred, dim=-1, keepdim=True) / residual.shape[-1] ** 0.5
        return centred / (spread**2 + self.eps) ** 0.5 * scale + shift


# %% LayerNorm wrong (difference milestone): squares eps under the root, as if it were added to the deviation
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        mean = torch.einsum("...d->...", residual)[..., None] / residual.shape[-1]
        centred = residual - mean
        deviation = centred.square().mean(-1, keepdim=True).sqrt()
        return centred / torch.hypot(deviation, torch.full_like(deviation, self.eps)) * self.w + self.b


# %% LayerNorm right (passed): squares summed by einsum, then rsqrt and addcmul
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        for name, start in (("w", 1.0), ("b", 0.0)):
            self.register_parameter(name, nn.Parameter(torch.full((d_model,), start)))

    def forward(self, residual):
        centred = residual - residual.mean(dim=-1, keepdim=True)
        power = torch.einsum("...d,...d->...", centred, centred) / centred.shape[-1]
        return torch.addcmul(self.b, centred * torch.rsqrt(power + self.eps)[..., None], self.w)


# %% LayerNorm right (passed): brings the entries to the front, so that no keepdim is needed
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.w, self.b = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, residual):
        entries = residual.movedim(-1, 0)
        variance, mean = torch.var_mean(entries, dim=0, correction=0)
        x_hat = ((entries - mean) / torch.sqrt(variance + self.eps)).movedim(0, -1)
        return self.w * x_hat + self.b


# %% LayerNorm right (passed): flattens the other axes and normalises row by row with a helper
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def _one(self, vector):
        vector = vector - vector.mean()
        return vector / ((vector * vector).sum() / len(vector) + self.eps).sqrt() * self.w + self.b

    def forward(self, residual):
        rows = residual.reshape(-1, residual.shape[-1])
        return torch.stack([self._one(row) for row in rows]).reshape(residual.shape)


# %% SelfAttentionLayer wrong (misconception sum-normed-and-added): the norm is applied to the sum of stream and attention, and the stream is added once more
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return src + self.norm1(src + self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (difference milestone): adds the attention's result to its own norm instead of adding src
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        out = self.self_attn(src, mask)
        return out + self.norm1(out)


# %% SelfAttentionLayer wrong (raised): unpacks the output as if weights came with it, which takes a batch of two apart
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        attended, _ = self.self_attn(src, mask=mask)
        return src + self.norm1(attended)


# %% SelfAttentionLayer wrong (misconception torchs-norm): uses torch's LayerNorm, whose eps is ten times as large and whose parameters have other names
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = nn.LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception sees-what-is-hidden): turns the mask round because torch's own layers hide where a mask is True
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        if mask is not None:
            mask = torch.logical_not(mask)
        return torch.add(src, self.norm1(self.self_attn(src, mask)))


# %% SelfAttentionLayer wrong (difference milestone): attends twice and adds both, with and without the norm
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        stream = src + self.self_attn(src, mask)
        return stream + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (property leaves_its_inputs): out is another name for src, so the sum overwrites the caller's stream
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        out = src
        added = self.norm1(self.self_attn(src, mask))
        out += added
        return out


# %% SelfAttentionLayer wrong (misconception causal-without-a-mask): without a mask it hides the future by itself
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        if mask is None:
            seq = src.shape[-2]
            mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        return src + self.norm1(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception another-norm): norm1 exists, but each call normalises with a new LayerNorm that has learned nothing
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.embed_dim = embed_dim
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        norm = LayerNorm(self.embed_dim).to(src.device)
        return src + norm(self.self_attn(src, mask))


# %% SelfAttentionLayer wrong (misconception mask-forgotten): the mask is used in training only
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        visible = mask if self.training else None
        return src + self.norm1(self.self_attn(src, visible))


# %% SelfAttentionLayer wrong (shape): a single text comes back with an extra batch axis
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        if src.dim() == 2:
            src = src[None]
        attended = self.self_attn(src, mask)
        return src + self.norm1(attended)


# %% SelfAttentionLayer wrong (property gradients): the stream is detached, so no gradient goes straight through the sum to earlier layers
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        stream = src.detach().clone()
        stream += self.norm1(self.self_attn(src, mask))
        return stream


# %% SelfAttentionLayer right (passed): a chain of two functions, then add
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        parts = {"self_attn": SingleHeadAttention, "norm1": LayerNorm}
        for name, make in parts.items():
            self.add_module(name, make(embed_dim))

    def forward(self, src, mask=None):
        from functools import partial, reduce

        steps = partial(self.self_attn, mask=mask), self.norm1
        return reduce(lambda value, step: step(value), steps, src).add(src)


# %% SelfAttentionLayer right (passed): texts are flattened to one batch axis and brought back afterwards
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.norm1 = LayerNorm(embed_dim)
        self.self_attn = SingleHeadAttention(embed_dim)

    def forward(self, src, mask=None):
        texts = src.reshape(-1, *src.shape[-2:])
        added = self.norm1(self.self_attn(texts, mask))
        return torch.stack((src, added.reshape(src.shape))).sum(dim=0)


# %% SelfAttentionLayer right (passed): asks for the weights too and drops them
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn, self.norm1 = SingleHeadAttention(embed_dim), LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        output, _weights = self.self_attn(src, mask, return_weights=True)
        change = self.norm1(output)
        out = src.clone()
        out += change
        return out
