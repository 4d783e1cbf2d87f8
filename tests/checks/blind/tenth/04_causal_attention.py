# %% get_mask wrong (misconception sees-the-future): the upper triangle, which shows the future and hides the past
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.triu(torch.ones(size, size, dtype=torch.bool))


# %% get_mask wrong (misconception blind-to-itself): leaves out the diagonal, so no position sees itself
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    position = torch.arange(size)
    return position[:, None] > position[None, :]


# %% get_mask wrong (dtype): subtle, the numbers 1.0 and 0.0 instead of booleans; shows when the mask is used with ~ or its dtype is read
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.tril(torch.ones(size, size))


# %% get_mask wrong (shape): subtle, cut out of a table of 32 positions; shows for size above 32
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    largest = torch.ones(32, 32, dtype=torch.bool).tril()
    return largest[:size, :size]


# %% get_mask right (passed): compares positions
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    position = torch.arange(size)
    return position.unsqueeze(0) <= position.unsqueeze(1)


# %% get_mask right (passed): not the upper triangle above the diagonal
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return ~torch.ones(size, size).triu(diagonal=1).bool()


# %% masked_then_renormalised wrong (misconception not-renormalised): masks but does not rescale
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    return weights * mask


# %% masked_then_renormalised wrong (misconception softmax-again): a second softmax instead of the division, so hidden positions get weight again
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    return torch.softmax(weights * mask, dim=-1)


# %% masked_then_renormalised wrong (misconception second-axis): subtle, sums along axis 1; shows when there is a batch axis in front
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    masked = weights * mask
    return masked / masked.sum(dim=1, keepdim=True)


# %% masked_then_renormalised wrong (misconception one-minus-hidden): subtle, divides by 1 minus the hidden weight; shows when the rows did not sum to one before
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    hidden = (weights * ~mask).sum(dim=-1, keepdim=True)
    return weights * mask / (1 - hidden)


# %% masked_then_renormalised right (passed): masked_fill, then the division
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    kept = weights.masked_fill(mask.logical_not(), 0.0)
    return kept.div(kept.sum(dim=-1, keepdim=True))


# %% masked_then_renormalised right (passed): einsum for the row sums
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    row_sums = torch.einsum("...qk,qk->...q", weights, mask.to(weights.dtype))
    return torch.where(mask, weights, torch.zeros_like(weights)) / row_sums[..., None]


# %% causal_attn_weights wrong (misconception hidden-with-zero): hidden scores become 0 before the softmax
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(~mask, 0.0) / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (misconception not-scaled): forgets the division by the square root
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)


# %% causal_attn_weights wrong (misconception minus-a-billion): subtle, fills with -1e9; shows when visible scores are lower than that
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(~mask, -1e9) / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (property leaves_its_inputs): subtle, masks the caller's scores in place; shows when the scores are used again or need a gradient
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    scores.masked_fill_(~mask, -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)


# %% causal_attn_weights right (passed): where after the division
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    visible = get_mask(scores.shape[-1]).to(scores.device)
    scaled = scores / d_k**0.5
    return torch.where(visible, scaled, -torch.inf).softmax(dim=-1)


# %% causal_attn_weights right (passed): one row at a time, softmax over the visible part, zeros behind it
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    size = scores.shape[-1]
    rows = []
    for i in range(size):
        visible = torch.softmax(scores[..., i, : i + 1] / d_k**0.5, dim=-1)
        rows.append(F.pad(visible, (0, size - i - 1)))
    return torch.stack(rows, dim=-2)


# %% inverted_dropout wrong (misconception not-scaled): does not enlarge the rest
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x * keep


# %% inverted_dropout wrong (misconception by-what-happened): divides by the share that was kept this time instead of 1 - p
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x * keep / keep.float().mean()


# %% inverted_dropout wrong (misconception divided-by-p): subtle, divides by p; right only for p = 0.5
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return torch.where(keep, x / p, 0.0)


# %% inverted_dropout wrong (property lets_gradients_through): subtle, works on a detached copy, so no gradient flows
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    result = x.detach().clone()
    result[~keep] = 0.0
    return result / (1 - p)


# %% inverted_dropout right (passed): masked_fill, then a factor; p = 1 gives zeros
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    factor = 1 / (1 - p) if p < 1 else 0.0
    return x.masked_fill(~keep, 0.0) * factor


# %% inverted_dropout right (passed): where with zeros, then the division; p = 1 gives zeros
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    survivors = torch.where(keep, x, torch.zeros_like(x))
    return survivors if p >= 1 else survivors.div(1 - p)


# %% CausalAttention wrong (misconception wrong-axis): softmax along axis 1 of [batch, query, key], over the queries
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=1)) @ values


# %% CausalAttention wrong (misconception dropout-on-the-output): dropout on the context vectors instead of the weights
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1) @ values)


# %% CausalAttention wrong (property moves_with_its_module): subtle, the mask is only assigned to self; shows when the layer moves to another device
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.mask = get_mask(context_length)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ values


# %% CausalAttention wrong (misconception drops-in-eval): subtle, F.dropout without training=, so dropout goes on after eval(); shows with dropout above 0
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return F.dropout(torch.softmax(scores, dim=-1), self.dropout.p) @ values


# %% CausalAttention right (passed): a buffer that is True where hidden and not saved, bmm for the products
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", hidden, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        seq = x.shape[-2]
        queries = self.W_query(x) / self.W_query.out_features**0.5
        scores = torch.bmm(queries, self.W_key(x).mT)
        scores.masked_fill_(self.mask[:seq, :seq], -torch.inf)
        return torch.bmm(self.dropout(scores.softmax(dim=-1)), self.W_value(x))


# %% CausalAttention right (passed): a new mask in each call, on the device of x, and einsum
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(p=dropout)
        self.root = d_out**0.5

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        position = torch.arange(x.shape[1], device=x.device)
        visible = position[:, None] >= position
        scores = torch.einsum("bqd,bkd->bqk", self.W_query(x), self.W_key(x)) / self.root
        weights = torch.where(visible, scores, -torch.inf).softmax(dim=2)
        return torch.einsum("bqk,bkd->bqd", self.dropout(weights), self.W_value(x))
