# %% SelfAttention_v2 wrong (property lets_gradients_through): the key's matrix is read through .data, so it never gets a gradient
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        queries, values = self.W_query(x), self.W_value(x)
        keys = F.linear(x, self.W_key.weight.data, self.W_key.bias)
        return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1) @ values

# %% causal_attn_weights wrong (property gradients): the normaliser is detached, so the weights are right but their gradients ignore that a row sums to one
def causal_attn_weights(scores, d_k):
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    scaled = scores.masked_fill(hidden, -torch.inf) / d_k**0.5
    return torch.exp(scaled - torch.logsumexp(scaled, dim=-1, keepdim=True).detach())

# %% merge_heads wrong (property lets_gradients_through): the heads are merged in numpy, so no gradient comes back
def merge_heads(x):
    batch, heads, seq, width = x.shape
    merged = x.detach().cpu().numpy().swapaxes(1, 2).reshape(batch, seq, heads * width)
    return torch.from_numpy(merged).to(x.device)

# %% LayerNorm wrong (property gradients): mean and variance are computed under no_grad, so the gradient of the input treats them as constants
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        with torch.no_grad():
            mean = residual.mean(dim=-1, keepdim=True)
            scale = (residual.var(dim=-1, correction=0, keepdim=True) + self.eps).sqrt()
        return (residual - mean) / scale * self.w + self.b

# %% apply_rope wrong (property gradients): the rotated numbers are written into .data of a copy, so the gradient comes back unrotated
def apply_rope(x, base=10000.0):
    d_head = x.shape[-1]
    speed = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angle = torch.arange(x.shape[-2], device=x.device)[:, None] * speed
    cos, sin = angle.cos(), angle.sin()
    first, second = x.detach()[..., 0::2], x.detach()[..., 1::2]
    out = x.clone()
    out.data[..., 0::2] = first * cos - second * sin
    out.data[..., 1::2] = first * sin + second * cos
    return out

# %% answer_loss wrong (property lets_gradients_through): losses are collected with .item() and wrapped in a new tensor; backward runs, but reaches no logits
def answer_loss(logits, tokens, asked):
    losses = []
    for scores, text, wanted in zip(logits, tokens, asked):
        for i in wanted.nonzero().flatten().tolist():
            losses.append(F.cross_entropy(scores[i - 1], text[i]).item())
    return torch.tensor(sum(losses) / len(losses), requires_grad=True)

# %% training_step wrong (misconception clipped): gradients longer than 1 are shortened before the step, so it is not the optimizer's step down this loss
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()

# %% DeepQKVAttention wrong (property lets_gradients_through): each made weight is wrapped in a new nn.Parameter, so no gradient reaches A, B or the bases
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp = temp

        def small(*shape):
            weight = torch.empty(num_heads, *shape)
            for head in weight:
                nn.init.xavier_uniform_(head)
            return nn.Parameter(weight)

        for name in "qkv":
            setattr(self, name + "A", small(embed_dim, rank))
            setattr(self, name + "B", small(rank, d_head))
            if not strict:
                setattr(self, name + "_base", small(embed_dim, d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        made = [
            make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
            for n in "qkv"
        ]
        queries, keys, values = (x.unsqueeze(1) @ nn.Parameter(weight) for weight in made)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.o((weights @ values).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (property lets_gradients_through): the references are made under no_grad, so W_r is never trained
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must be divisible into heads of even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def cut(self, x):
        return x.unflatten(-1, (self.n_head, -1)).transpose(1, 2)

    def forward(self, x, return_weights=False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        q, k, v = self.cut(self.W_q(x)), self.cut(self.W_k(x)), self.cut(self.W_v(x))
        with torch.no_grad():
            r = self.cut(self.W_r(x))
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% GPT wrong (property gradients): the head uses the embeddings detached, so wte learns nothing from the output side
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.detach().T

# %% causal_attn_weights right (passed): only the maximum is detached, and it cancels, so values and gradients are those of the softmax
def causal_attn_weights(scores, d_k):
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    scaled = scores.masked_fill(hidden, -torch.inf) / d_k**0.5
    powers = torch.exp(scaled - scaled.detach().amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)

# %% apply_rope right (passed): the rotated pairs are written in place into a new empty tensor, which autograd follows
def apply_rope(x, base=10000.0):
    d_head = x.shape[-1]
    speed = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angle = torch.arange(x.shape[-2], device=x.device)[:, None] * speed
    cos, sin = angle.cos(), angle.sin()
    out = torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out

# %% training_step right (passed): the old gradients are removed by hand, without zero_grad
def training_step(model, optimizer, batch):
    tokens, asked = batch
    for parameter in model.parameters():
        parameter.grad = None
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return float(loss.detach())

# %% gram_scores wrong (property lets_gradients_through): the volume is computed with a root and squared, so that gradients are nan where it is 0
def gram_scores(q, k, r):
    squared = gram_determinant(q[..., :, None, :], k[..., None, :, :], r[..., :, None, :]).clamp(min=0)
    return -(squared.sqrt() ** 2)


# %% causal_attn_weights wrong (property lets_gradients_through): the scores pass through sign and root, so that the gradient of a score of 0 is nan
def causal_attn_weights(scores, d_k):
    scores = scores.sign() * scores.abs().sqrt() ** 2
    scores = scores.masked_fill(~get_mask(scores.shape[-1]).to(scores.device), -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)


# %% split_heads wrong (property lets_gradients_through): the numbers pass through logarithms, so that the gradient of a 0 is nan
def split_heads(x, n_heads):
    batch, seq, width = x.shape
    x = x.sign() * torch.exp(torch.log(x.abs()))
    return x.view(batch, seq, n_heads, width // n_heads).transpose(1, 2)


# %% apply_rope wrong (property lets_gradients_through): rotates in polar coordinates with a root, so that the gradient of a pair of zeros is nan
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    a, b = x[..., 0::2], x[..., 1::2]
    angle = torch.arange(seq, device=x.device)[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    length, old = (a**2 + b**2).sqrt(), torch.atan2(b, a)
    return torch.stack([length * torch.cos(old + angle), length * torch.sin(old + angle)], dim=-1).flatten(-2)
