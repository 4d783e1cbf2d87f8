# %% get_mask wrong (misconception true-means-blocked): triu(diagonal=1) gives the table of the hidden positions: True is on the future, False on itself and the past (the whole table is inverted)
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)


# %% get_mask wrong (misconception only-the-last-three): the mask is True from two positions before to the row itself (a window of three) instead of the whole past; correct up to size 3, row 3 and later miss the early positions
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size):
        mask[i, max(0, i - 2) : i + 1] = True
    return mask


# %% get_mask wrong (dtype): the table holds floats 1.0 and 0.0, not booleans, so ~get_mask(n) raises a TypeError later
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.tril(torch.ones(size, size))


# %% get_mask wrong (property sees_itself_and_its_past): the loop over the rows starts at 1, so row 0 has no True at all (position 0 cannot see itself); the other rows are right
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    mask = torch.zeros(size, size).bool()
    for row in range(1, size):
        for column in range(row + 1):
            mask[row, column] = True
    return mask


# %% get_mask wrong (shape): the table of the first call is kept and only sliced later, so a later call with a larger size returns a table that is too small
kept_mask = {}


def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    if "mask" not in kept_mask:
        kept_mask["mask"] = torch.ones(size, size).tril().bool()
    return kept_mask["mask"][:size, :size]


# %% get_mask right (passed): compares row numbers with column numbers by broadcasting
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    positions = torch.arange(size)
    return positions[None, :] <= positions[:, None]


# %% get_mask right (passed): a loop over the rows fills the first i + 1 cells of a boolean table
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    table = torch.zeros((size, size), dtype=torch.bool)
    for i in range(size):
        table[i, : i + 1] = True
    return table


# %% masked_then_renormalised wrong (misconception not-renormalised): the two steps are in the wrong order: the rows are divided by their sum before the masking, so after it they sum to less than one
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights * mask


# %% masked_then_renormalised wrong (misconception weights-taken-for-scores): a second softmax over the visible weights instead of a division by their sum; the rows sum to one, but the visible weights lose their proportions (they become too equal)
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    visible = weights.masked_fill(~mask, -torch.inf)
    return torch.softmax(visible, dim=-1)


# %% masked_then_renormalised wrong (raised): the argument mask is ignored and get_mask is used, so every mask that is not causal gives the wrong result
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    masked = weights * get_mask(weights.shape[-1])
    return masked / masked.sum(dim=-1, keepdim=True)


# %% masked_then_renormalised wrong (misconception second-axis): the sum is over dim=1, which is the keys in a single table but the queries in a batch, so with a batch axis the columns are normalised and the rows do not sum to one
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    masked = weights * mask
    row_sums = masked.sum(dim=1, keepdim=True)
    return masked / row_sums


# %% masked_then_renormalised wrong (property rows_sum_to_one): the row sums are clamped to at least 0.01, so a row whose visible weights add up to less than 0.01 does not sum to one afterwards
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    masked = weights * mask.float()
    total = masked.sum(dim=-1, keepdim=True).clamp(min=0.01)  # never divide by zero
    return masked / total


# %% masked_then_renormalised right (passed): torch.where sets the hidden weights to 0, then each row is divided by its sum with keepdim
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    kept = torch.where(mask, weights, torch.zeros_like(weights))
    return kept / kept.sum(dim=-1, keepdim=True)


# %% masked_then_renormalised right (passed): masked_fill, then the row sums by einsum, with a new last axis for the division
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    visible = weights.masked_fill(~mask, 0.0)
    totals = torch.einsum("...qk->...q", visible)
    return visible / totals.unsqueeze(-1)


# %% causal_attn_weights wrong (misconception wrong-axis): the softmax runs over dim=-2 (down the columns), so the columns sum to one and not the rows
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    masked = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(masked / d_k**0.5, dim=-2)


# %% causal_attn_weights wrong (misconception scaled-too-late): the division by the square root of d_k comes after the softmax, so each row sums to 1 / sqrt(d_k) and the scores are not scaled (right only for d_k = 1)
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    masked = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(masked, dim=-1) / d_k**0.5


# %% causal_attn_weights wrong (misconception zeros-hidden-too): hidden positions are recognised by a product of 0 with the mask, so a visible score that is exactly 0 is hidden too (nan in row 0 if its score is 0)
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    masked = scores * get_mask(scores.shape[-1]).to(scores.device)
    masked = masked.masked_fill(masked == 0, -torch.inf)
    return torch.softmax(masked / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (property finite): softmax by hand that subtracts the largest score of the whole tensor, hidden scores included, instead of each row's largest visible score; a row far below this maximum underflows to 0 / 0 = nan
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    scaled = scores / d_k**0.5
    powers = torch.exp(scaled - scaled.max()) * mask
    return powers / powers.sum(dim=-1, keepdim=True)


# %% causal_attn_weights wrong (property leaves_its_inputs): scores /= ... scales the argument in place, so the caller's scores change (a second call gives other weights) and scores that require a gradient raise a RuntimeError
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    scores /= d_k**0.5
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)


# %% causal_attn_weights right (passed): torch.where puts -inf on the future, then scale and softmax method
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    visible = get_mask(scores.size(-1)).to(scores.device)
    scaled = scores / d_k**0.5
    return torch.where(visible, scaled, torch.full_like(scaled, -torch.inf)).softmax(dim=-1)


# %% causal_attn_weights right (passed): adds a table of 0 and -inf, and computes the softmax as exp(score - logsumexp)
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    seq = scores.shape[-1]
    wall = scores.new_zeros(seq, seq).masked_fill(~get_mask(seq).to(scores.device), -torch.inf)
    logits = scores * d_k**-0.5 + wall
    return (logits - logits.logsumexp(dim=-1, keepdim=True)).exp()


# %% inverted_dropout wrong (difference milestone): the brackets around 1 - p are missing, so the result is x * keep - p: nothing is enlarged and p is subtracted everywhere
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x * keep / 1 - p


# %% inverted_dropout wrong (misconception keeps-the-dropped): keep is read the wrong way round: the entries where keep is True become 0, and the others are kept and enlarged
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    dropped = x.masked_fill(keep, 0.0)
    return dropped / (1 - p)


# %% inverted_dropout wrong (misconception by-what-happened): divides by the share of True in this keep instead of by 1 - p, so the factor depends on the random choice (and an all-False keep gives nan)
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    survived = keep.float().mean()
    return torch.where(keep, x / survived, torch.zeros_like(x))


# %% inverted_dropout wrong (raised): divides by p instead of by 1 - p, which is the same only for p = 0.5
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    scale = 1 / p
    return x * keep * scale


# %% inverted_dropout wrong (property lets_gradients_through): the values are right, but the result is a new tensor built from Python floats, so no gradient flows back to x
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    values = []
    for number, survives in zip(x.flatten().tolist(), keep.flatten().tolist()):
        values.append(number / (1 - p) if survives else 0.0)
    return torch.tensor(values).reshape(x.shape)


# %% inverted_dropout right (passed): masked_fill with 0 where keep is False, then a division by 1 - p
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x.masked_fill(~keep, 0.0) / (1 - p)


# %% inverted_dropout right (passed): builds a tensor of factors, 0 or 1 / (1 - p), and multiplies x by it
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    survival = 1.0 - p
    factors = keep.to(x.dtype) / survival
    return torch.mul(x, factors)


# %% CausalAttention wrong (misconception dropout-on-the-output): dropout acts on the context vectors (after the product with the values) instead of on the weights; visible only in training mode with dropout > 0
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        return self.dropout(weights @ values)


# %% CausalAttention wrong (misconception wrong-axis): softmax over dim=1, which in a batch is the axis of the queries, so the columns and not the rows of the weights sum to one
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
        n = x.shape[1]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = q @ k.transpose(1, 2)
        masked = scores.masked_fill(~self.mask[:n, :n], -torch.inf)
        weights = torch.softmax(masked / k.shape[-1] ** 0.5, dim=1)
        return self.dropout(weights) @ v


# %% CausalAttention wrong (misconception drops-in-eval): forward calls F.dropout(weights, p) without the training flag, so weights are dropped after eval() too
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        seq = x.shape[-2]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = F.dropout(torch.softmax(scores, dim=-1), self.dropout.p)
        return weights @ values


# %% CausalAttention wrong (misconception root-of-d_in): the scores are divided by the square root of d_in (the width of x) instead of d_out (the width of the keys); right only if d_in equals d_out
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", ~get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        batch_size, seq, d_k = x.shape
        scores = self.W_query(x) @ self.W_key(x).transpose(-2, -1)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / d_k**0.5, dim=-1)
        return self.dropout(weights) @ self.W_value(x)


# %% CausalAttention wrong (property causal): hidden scores become -1e9 instead of -inf; with large inputs visible scores can lie below -1e9, and then the weight goes to the future
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -1e9)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(weights) @ values


# %% CausalAttention right (passed): a buffer of hidden positions cut to the length of the text, masked_fill with -inf, products by einsum
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(diagonal=1).bool())

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        seq = x.shape[1]
        scores = torch.einsum("bqd,bkd->bqk", self.W_query(x), self.W_key(x))
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_out**0.5, dim=-1))
        return torch.einsum("bqk,bkd->bqd", weights, self.W_value(x))


# %% CausalAttention right (passed): no buffer; forward makes a mask on the device of x at each call and uses torch.where
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers, dropout, and a mask if the layer keeps one.
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # From the inputs to the context vectors, with the mask and dropout.
        q, k, v = (layer(x) for layer in (self.W_query, self.W_key, self.W_value))
        scaled = q @ k.mT / k.shape[-1] ** 0.5
        visible = get_mask(x.shape[-2]).to(x.device)
        masked = torch.where(visible, scaled, torch.full_like(scaled, float("-inf")))
        return self.dropout(masked.softmax(dim=-1)) @ v
