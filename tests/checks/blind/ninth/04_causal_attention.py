# %% causal_attn_weights wrong (difference slip): writes the root as d_k ** 1/2, which is half of d_k
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    masked = scores.masked_fill(hidden, -torch.inf)
    scale = d_k ** 1/2
    return torch.softmax(masked / scale, dim=-1)


# %% causal_attn_weights wrong (property finite): masks by arithmetic, and 0 times -inf is nan
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    m = get_mask(scores.shape[-1]).to(scores)
    masked = scores * m + (1 - m) * -torch.inf
    return (masked / d_k**0.5).softmax(dim=-1)


# %% causal_attn_weights wrong (misconception mirror-image): mixes up rows and columns, so a position sees itself and the future
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    position = torch.arange(scores.size(-1), device=scores.device)
    visible = position[None, :] >= position[:, None]
    return F.softmax(torch.where(visible, scores / d_k**0.5, -torch.inf), dim=-1)


# %% causal_attn_weights wrong (difference places): hides with the lowest score less 1000 before the division, so a large d_k leaves the future some weight
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    low = scores.min().item() - 1000
    future = torch.ones_like(scores, dtype=torch.bool).triu(diagonal=1)
    return torch.softmax(scores.masked_fill(future, low) / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (property lets_gradients_through): hides the future after exp, which may be inf there, so the weights are right and the gradients nan
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    visible = get_mask(scores.shape[-1]).to(scores.device)
    scaled = scores / d_k**0.5
    top = scaled.detach().masked_fill(~visible, -torch.inf).amax(dim=-1, keepdim=True)
    powers = torch.where(visible, torch.exp(scaled - top), 0.0)
    return powers / powers.sum(dim=-1, keepdim=True)


# %% causal_attn_weights wrong (property leaves_its_inputs): divides in place, which changes the caller's scores and fails on a leaf that needs a gradient
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    scores /= d_k**0.5
    hidden = get_mask(scores.shape[-1]).logical_not().to(scores.device)
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1)


# %% causal_attn_weights right (passed): a softmax over the visible part of each row, padded with zeros
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    n = scores.shape[-1]
    rows = []
    for i in range(n):
        seen = scores[..., i, : i + 1] / d_k**0.5
        rows.append(F.pad(seen.softmax(dim=-1), (0, n - 1 - i)))
    return torch.stack(rows, dim=-2)


# %% causal_attn_weights right (passed): adds a triangle of -inf and takes exp of log_softmax
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    n = scores.size(-1)
    wall = scores.new_full((n, n), -torch.inf).triu(1)
    return torch.log_softmax(scores * d_k**-0.5 + wall, dim=-1).exp()


# %% CausalAttention wrong (misconception keep-rate): takes dropout for the share that survives
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(1 - dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        n = x.shape[1]
        scores = self.W_query(x) @ self.W_key(x).mT / self.W_key.out_features**0.5
        weights = scores.masked_fill(~self.mask[:n, :n], -torch.inf).softmax(dim=-1)
        return self.dropout(weights) @ self.W_value(x)


# %% CausalAttention wrong (misconception root-of-the-length): divides by the root of keys.shape[1], which is the number of tokens in a batch
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / keys.shape[1] ** 0.5, dim=-1)
        return self.dropout(weights) @ values


# %% CausalAttention wrong (raised): cuts the mask to len(x), which is the number of texts, not of tokens
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        n = len(x)
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:n, :n], -torch.inf)
        return self.dropout(scores.softmax(-1)) @ v


# %% CausalAttention wrong (misconception drops-in-eval): makes a new nn.Dropout in each forward, which is always in training mode, also after eval
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.p = dropout
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        _, seq, _ = x.shape
        keys = self.W_key(x)
        scores = self.W_query(x) @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        scores = torch.where(self.mask[:seq, :seq], scores, -torch.inf)
        weights = nn.Dropout(self.p)(torch.softmax(scores, dim=-1))
        return weights @ self.W_value(x)


# %% CausalAttention wrong (property state): keeps the mask of the first text it gets, so a longer text later does not fit
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", None, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        n = x.size(1)
        if self.mask is None:
            self.mask = get_mask(n).to(x.device)
        q, k, v = (layer(x) for layer in (self.W_query, self.W_key, self.W_value))
        scores = q @ k.mT / q.size(-1) ** 0.5
        scores = scores.masked_fill(~self.mask[:n, :n], -torch.inf)
        return self.dropout(scores.softmax(dim=-1)) @ v


# %% CausalAttention wrong (misconception dropout-before-renormalising): rescales each row to sum to one after the dropout
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", ~get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        n = x.shape[-2]
        queries = self.W_query(x)
        scores = queries @ self.W_key(x).mT / queries.shape[-1] ** 0.5
        weights = scores.masked_fill(self.mask[:n, :n], -torch.inf).softmax(dim=-1)
        weights = F.normalize(self.dropout(weights), p=1, dim=-1)
        return weights @ self.W_value(x)


# %% CausalAttention right (passed): no buffer, positions are compared in each call on the device of x
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        for name in ("W_value", "W_key", "W_query"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        place = torch.arange(x.shape[-2], device=x.device)
        later = place > place.unsqueeze(1)
        q, k = self.W_query(x), self.W_key(x)
        scores = torch.einsum("...id,...jd->...ij", q / q.shape[-1] ** 0.5, k)
        weights = self.drop(scores.masked_fill(later, -torch.inf).softmax(dim=-1))
        return torch.einsum("...ij,...jd->...id", weights, self.W_value(x))


# %% CausalAttention right (passed): cuts the unsaved mask from its lower right corner, which is the same triangle
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.dropout = nn.Dropout(p=dropout)
        triangle = torch.ones(context_length, context_length, dtype=torch.bool).tril()
        self.register_buffer("mask", triangle, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        n = x.size(1)
        scores = torch.bmm(self.W_query(x), self.W_key(x).transpose(1, 2)) / self.W_query.out_features**0.5
        visible = self.mask[-n:, -n:].expand_as(scores)
        weights = torch.where(visible, scores, torch.full_like(scores, -torch.inf)).log_softmax(2).exp()
        return torch.bmm(self.dropout(weights), self.W_value(x))
