# %% get_mask wrong (misconception true-means-blocked): True on the future (upper triangle without the diagonal) instead of on the past and itself, so the whole table is inverted
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.triu(torch.ones(size, size), diagonal=1).bool()


# %% get_mask wrong (misconception sees-the-future): rows and columns exchanged (meshgrid with indexing="xy" makes i the column), so each position sees itself and the future, not the past
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    positions = torch.arange(size)
    i, j = torch.meshgrid(positions, positions, indexing="xy")
    return j <= i


# %% get_mask wrong (dtype): the pattern is right but the table holds the integers 0 and 1 instead of booleans, so ~mask gives -1 and -2 and masked_fill refuses it
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.tril(torch.ones(size, size, dtype=torch.int))


# %% get_mask wrong (property sees_itself_and_its_past): the loop starts at row 1, so row 0 stays all False and position 0 cannot see itself
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(1, size):
        mask[i, : i + 1] = True
    return mask


# %% get_mask wrong (structure): the table of the first call is kept and sliced in later calls, so a later call with a larger size returns a table that is too small
saved_mask = None


def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    global saved_mask
    if saved_mask is None:
        saved_mask = torch.tril(torch.ones(size, size, dtype=torch.bool))
    return saved_mask[:size, :size]


# %% get_mask right (passed): compares a column of positions with a row of positions by broadcasting
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    positions = torch.arange(size)
    return positions.unsqueeze(1) >= positions.unsqueeze(0)


# %% get_mask right (passed): fills a table of False row by row in a loop
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    may_look = torch.full((size, size), False)
    for row in range(size):
        may_look[row, : row + 1] = True
    return may_look


# %% masked_then_renormalised wrong (misconception wrong-axis): divides by the sums of the columns (dim=-2) instead of the rows, so columns sum to one and rows do not
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    kept = weights * mask
    return kept / kept.sum(dim=-2, keepdim=True)


# %% masked_then_renormalised wrong (misconception weights-taken-for-scores): applies a second softmax to the visible weights instead of dividing by their sum; rows sum to one but the proportions change
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    kept = weights.masked_fill(~mask, -torch.inf)
    return torch.softmax(kept, dim=-1)


# %% masked_then_renormalised wrong (raised): ignores the argument mask and always uses the causal mask get_mask, so every other mask (or a table that is not square) gives wrong weights
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    visible = get_mask(weights.shape[-1])
    kept = weights.masked_fill(~visible, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


# %% masked_then_renormalised wrong (property rows_sum_to_one): adds 1e-6 to the row sum, so rows whose visible weights are tiny (1e-6 or less) sum to a half or less instead of one
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    kept = torch.where(mask, weights, torch.zeros_like(weights))
    return kept / (kept.sum(dim=-1, keepdim=True) + 1e-6)


# %% masked_then_renormalised wrong (raised): lines up rows and sums with .T, which reverses all axes, so it is right for one table and crashes or mixes texts with a batch axis
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    kept = weights * mask
    row_sums = kept.sum(dim=-1)
    return (kept.T / row_sums).T


# %% masked_then_renormalised right (passed): torch.where for the mask, then the division by the row sums with keepdim
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    visible = torch.where(mask, weights, torch.zeros_like(weights))
    totals = visible.sum(dim=-1, keepdim=True)
    return visible / totals


# %% masked_then_renormalised right (passed): the row sums by einsum over weights and mask, then unsqueeze
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    m = mask.to(weights.dtype)
    total = torch.einsum("...qk,qk->...q", weights, m)
    return weights * m / total.unsqueeze(-1)


# %% causal_attn_weights wrong (misconception divided-by-d_k): divides by d_k instead of the square root of d_k, so the weights are too even for every d_k except 1
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf) / d_k, dim=-1)


# %% causal_attn_weights wrong (misconception wrong-axis): softmax along dim=-2, so the columns sum to one instead of the rows
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    scaled = scores / d_k**0.5
    return torch.softmax(scaled.masked_fill(hidden, -torch.inf), dim=-2)


# %% causal_attn_weights wrong (misconception shared-out-before-hiding): softmax over all scores first, then the mask and a renormalisation, so a hidden score that is far higher than the visible ones gives 0 / 0 = nan
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    weights = torch.softmax(scores / d_k**0.5, dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True)


# %% causal_attn_weights wrong (misconception minus-a-billion): fills hidden scores with -1e4 instead of -inf, so when the visible scores are below -1e4 the future gets the weight
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    visible = get_mask(scores.shape[-1]).to(scores.device)
    scaled = scores / d_k**0.5
    scaled = torch.where(visible, scaled, torch.full_like(scaled, -1e4))
    return torch.softmax(scaled, dim=-1)


# %% causal_attn_weights wrong (property lets_gradients_through): computes the right numbers inside torch.no_grad(), so no gradient flows back to the scores
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    with torch.no_grad():
        hidden = ~get_mask(scores.shape[-1]).to(scores.device)
        masked = scores.masked_fill(hidden, -torch.inf)
        weights = torch.softmax(masked / d_k**0.5, dim=-1)
    return weights


# %% causal_attn_weights right (passed): adds a table of 0 and -inf to the scaled scores before the softmax
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    seq = scores.shape[-1]
    hidden = ~get_mask(seq).to(scores.device)
    penalty = torch.zeros(seq, seq, dtype=scores.dtype, device=scores.device).masked_fill(hidden, -torch.inf)
    return F.softmax(scores / d_k**0.5 + penalty, dim=-1)


# %% causal_attn_weights right (passed): a loop over the rows; each softmax runs over the visible part only and is padded with zeros
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    n = scores.size(-1)
    rows = []
    for i in range(n):
        visible = scores[..., i, : i + 1] / d_k**0.5
        rows.append(F.pad(visible.softmax(dim=-1), (0, n - i - 1)))
    return torch.stack(rows, dim=-2)


# %% inverted_dropout wrong (misconception keeps-the-dropped): keep is used the wrong way round, so the numbers that should survive become 0 and the dropped ones stay
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x.masked_fill(keep, 0.0) / (1 - p)


# %% inverted_dropout wrong (difference milestone): the brackets around 1 - p are missing, so it divides by 1 and subtracts p from every entry
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x * keep / 1 - p


# %% inverted_dropout wrong (misconception divided-by-p): divides by p instead of 1 - p, which is right only for p = 0.5
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return torch.where(keep, x / p, torch.zeros_like(x))


# %% inverted_dropout wrong (misconception by-what-happened): divides by the share that happened to survive in this keep instead of 1 - p, so the factor changes from call to call and is nan if nothing survives
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    survived = keep.float().mean()
    return x * keep / survived


# %% inverted_dropout wrong (property leaves_its_inputs): sets the dropped entries to 0 in the caller's own x in place; this overwrites the input and raises an error when x is a leaf that needs a gradient
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    x[~keep] = 0.0
    return x / (1 - p)


# %% inverted_dropout right (passed): multiplies by keep and divides by 1 - p
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x * keep / (1 - p)


# %% inverted_dropout right (passed): torch.where chooses between the enlarged number and 0
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    share_kept = 1.0 - p
    enlarged = x / share_kept
    return torch.where(keep, enlarged, torch.zeros_like(enlarged))


# %% CausalAttention wrong (misconception always-a-bias): qkv_bias is never passed to the linear layers, so they have a bias even when qkv_bias is False
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(weights) @ values


# %% CausalAttention wrong (misconception wrong-axis): softmax over dim=1, which is the axis of the queries in a batch, so the columns sum to one instead of the rows
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
        weights = self.dropout(torch.softmax(scores, dim=1))
        return weights @ values


# %% CausalAttention wrong (misconception drops-in-eval): calls F.dropout without training=self.training, so weights are dropped after eval() too
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.p = dropout
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        n = x.shape[-2]
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        scores = (q @ k.mT) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:n, :n], -torch.inf)
        weights = F.dropout(torch.softmax(scores, dim=-1), self.p)
        return weights @ v


# %% CausalAttention wrong (raised): slices the mask to x.shape[0], the number of texts; with one text the mask is a single True and hides nothing, with other batch sizes it crashes unless batch equals seq
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
        num_tokens = x.shape[0]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(~self.mask[:num_tokens, :num_tokens], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        weights = self.dropout(weights)
        return weights @ values


# %% CausalAttention wrong (property finite_when_scaled): masks after the softmax and renormalises, so with large numbers a row whose hidden scores are far higher becomes 0 / 0 = nan
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
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        weights = masked_then_renormalised(torch.softmax(scores, dim=-1), self.mask[:seq, :seq])
        return self.dropout(weights) @ values


# %% CausalAttention right (passed): a buffer that is True where hidden and is not saved, sliced to the text, filled with -inf
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.triu(torch.ones(context_length, context_length, dtype=torch.bool), diagonal=1)
        self.register_buffer("mask", hidden, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        seq = x.shape[-2]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(weights) @ values


# %% CausalAttention right (passed): no buffer; makes the mask in each call on the device of x, products by einsum, a stored scale
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.drop = nn.Dropout(p=dropout)
        self.scale = d_out**-0.5

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        n = x.size(1)
        position = torch.arange(n, device=x.device)
        future = position[None, :] > position[:, None]
        e = torch.einsum("bqd,bkd->bqk", self.W_query(x), self.W_key(x)) * self.scale
        alpha = F.softmax(e.masked_fill(future, float("-inf")), dim=-1)
        return torch.einsum("bqk,bkd->bqd", self.drop(alpha), self.W_value(x))
