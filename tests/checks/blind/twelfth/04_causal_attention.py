# %% get_mask wrong (misconception sees-the-future): triu instead of tril, a position sees itself and the future
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.triu(torch.ones(size, size)).bool()


# %% get_mask wrong (misconception blind-to-itself): strictly below the diagonal, a position does not see itself
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    places = torch.arange(size)
    return places[None, :] < places[:, None]


# %% get_mask wrong (property sees_itself_and_its_past): subtle, hides the future only up to column 5 (hard-coded 6), shows for sizes above 6
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    mask = torch.ones(size, size, dtype=torch.bool)
    for i in range(size):
        mask[i, i + 1 : 6] = False
    return mask


# %% get_mask wrong (property sees_itself_and_its_past): subtle, positions are stored as int8 and wrap around, shows for sizes above 128
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    places = torch.arange(size).to(torch.int8)  # small whole numbers are enough
    return places[:, None] >= places[None, :]


# %% get_mask right (passed): tril of a table of True
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.ones(size, size, dtype=torch.bool).tril()


# %% get_mask right (passed): two loops over a table of False
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    mask = torch.zeros((size, size), dtype=torch.bool)
    for row in range(size):
        for column in range(row + 1):
            mask[row, column] = True
    return mask


# %% masked_then_renormalised wrong (misconception keepdim-forgotten): the sums have no keepdim, so columns are divided by the sums of rows
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    masked = weights * mask
    return masked / masked.sum(dim=-1)


# %% masked_then_renormalised wrong (misconception always-causal): ignores the mask and always cuts off everything above the diagonal
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    masked = torch.tril(weights)
    return masked / masked.sum(dim=-1, keepdim=True)


# %% masked_then_renormalised wrong (misconception one-minus-hidden): subtle, divides by one minus the hidden weight, shows for weights whose rows do not sum to one
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    lost = (weights * ~mask).sum(dim=-1, keepdim=True)
    return weights * mask / (1 - lost)


# %% masked_then_renormalised wrong (misconception second-axis): subtle, sums along dim=1, which is the row only without a batch axis
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    masked = weights.masked_fill(~mask, 0.0)
    return masked / masked.sum(dim=1, keepdim=True)


# %% masked_then_renormalised right (passed): multiply by the mask, divide by the row sums
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    masked = weights * mask
    return masked / masked.sum(dim=-1, keepdim=True)


# %% masked_then_renormalised right (passed): torch.where, and the row sums as an einsum
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    kept = torch.where(mask, weights, torch.zeros_like(weights))
    totals = torch.einsum("...qk->...q", kept)
    return kept / totals[..., None]


# %% causal_attn_weights wrong (misconception divided-by-d_k): divides by d_k instead of its square root
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(~mask, -torch.inf) / d_k, dim=-1)


# %% causal_attn_weights wrong (misconception hidden-with-zero): multiplies the scores by the mask, so hidden scores are 0 and get weight
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    hidden = scores * get_mask(scores.shape[-1])
    return torch.softmax(hidden / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (misconception minus-a-billion): subtle, hides with -1e9, shows for visible scores near or below -1e9 (and in float16)
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(~mask, -1e9) / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (raised): subtle, takes the size from axis 1, which fails with two axes in front (batch, heads)
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    seq = scores.shape[1]
    hidden = ~get_mask(seq).to(scores.device)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf) / d_k**0.5, dim=-1)


# %% causal_attn_weights right (passed): masked_fill with -inf, divide, softmax
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    return scores.masked_fill(~mask, float("-inf")).div(d_k**0.5).softmax(dim=-1)


# %% causal_attn_weights right (passed): scales first, adds a table of 0 and -inf, and subtracts the logsumexp of each row
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    scaled = scores * d_k**-0.5
    future = torch.full(scores.shape[-2:], -torch.inf, dtype=scores.dtype, device=scores.device).triu(diagonal=1)
    logits = scaled + future
    return torch.exp(logits - torch.logsumexp(logits, dim=-1, keepdim=True))


# %% inverted_dropout wrong (misconception divided-by-p): subtle, divides by p instead of 1 - p, shows for p other than 0.5
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x * keep / p


# %% inverted_dropout wrong (misconception multiplied): multiplies the rest by 1 - p instead of dividing
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x * keep * (1 - p)


# %% inverted_dropout wrong (misconception not-scaled): only drops, the rest is not enlarged
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return torch.where(keep, x, 0.0)


# %% inverted_dropout wrong (property lets_gradients_through): subtle, right numbers, but detached from x, so no gradient flows
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    out = x.detach().clone()  # so that x itself is not changed
    out[~keep] = 0.0
    return out / (1 - p)


# %% inverted_dropout right (passed): multiply by keep, divide by 1 - p
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x * keep / (1 - p)


# %% inverted_dropout right (passed): masked_fill on the enlarged numbers
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    share_kept = 1.0 - p
    return x.div(share_kept).masked_fill(keep.logical_not(), 0.0)


# %% CausalAttention wrong (misconception mask-not-cut): the mask is not cut to the length of the text, shorter texts raise an error
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        scores = scores.masked_fill(~self.mask, -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(weights) @ values


# %% CausalAttention wrong (property moves_with_its_module): the mask is an ordinary attribute and stays on the CPU when the layer moves
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.mask = get_mask(context_length)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(weights) @ values


# %% CausalAttention wrong (misconception drops-in-eval): subtle, F.dropout without training=self.training, still drops after eval() if dropout is above 0
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = F.dropout(torch.softmax(scores, dim=-1), self.dropout.p)
        return weights @ values


# %% CausalAttention wrong (property causal): subtle, hides with -1e9, large inputs can have visible scores far below that and then see the future
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        batch, seq, d_in = x.shape
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        scores.masked_fill_(self.mask[:seq, :seq], -1e9)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(weights) @ values


# %% CausalAttention right (passed): buffer with True for hidden, in place fill, cut to the text
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length, dtype=torch.bool), diagonal=1))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        scores.masked_fill_(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(weights) @ values


# %% CausalAttention right (passed): no stored mask, layers made in another order, einsum, queries are scaled before the product
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        for name in ("W_value", "W_key", "W_query"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.drop = nn.Dropout(dropout)
        self.scale = d_out**-0.5

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        positions = torch.arange(x.size(-2), device=x.device)
        visible = positions[:, None] >= positions
        scores = torch.einsum("bqd,bkd->bqk", self.W_query(x) * self.scale, self.W_key(x))
        scores = torch.where(visible, scores, torch.full_like(scores, -torch.inf))
        return torch.einsum("bqk,bkd->bqd", self.drop(F.softmax(scores, dim=2)), self.W_value(x))
