# %% get_mask wrong (misconception sees-the-future): True above the diagonal, so it shows the future and hides the past
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.triu(torch.ones(size, size, dtype=torch.bool))


# %% get_mask wrong (misconception blind-to-itself): leaves out the diagonal, a position cannot see itself
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.ones(size, size, dtype=torch.bool).tril(diagonal=-1)


# %% get_mask wrong (dtype): subtle, returns floats instead of booleans, so ~mask fails
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.tril(torch.ones(size, size))


# %% get_mask wrong (structure): subtle, keeps the largest mask so far and returns it uncut when a smaller size follows a larger one
_largest = torch.ones(1, 1, dtype=torch.bool)


def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    global _largest
    if len(_largest) < size:
        _largest = torch.ones(size, size, dtype=torch.bool).tril()
    return _largest


# %% get_mask wrong (property sees_itself_and_its_past): subtle, a position sees at most 64 positions, which shows only for sizes above 64
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    distance = torch.arange(size)[:, None] - torch.arange(size)
    return (distance >= 0) & (distance < 64)


# %% get_mask right (passed): compares row numbers with column numbers
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    positions = torch.arange(size)
    return positions[:, None] >= positions[None, :]


# %% get_mask right (passed): fills a table of False row by row
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    mask = torch.zeros(size, size, dtype=torch.bool)
    for row in range(size):
        mask[row, : row + 1] = True
    return mask


# %% masked_then_renormalised wrong (misconception wrong-axis): divides by the sums of the columns
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    kept = weights * mask
    return kept / kept.sum(dim=-2, keepdim=True)


# %% masked_then_renormalised wrong (misconception weights-taken-for-scores): takes a softmax of the visible weights instead of dividing by their sum
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    return torch.softmax(weights.masked_fill(~mask, -torch.inf), dim=-1)


# %% masked_then_renormalised wrong (property rows_sum_to_one): subtle, adds 1e-6 to the sum, so rows whose visible weights are tiny do not sum to one
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    kept = weights * mask
    return kept / (kept.sum(dim=-1, keepdim=True) + 1e-6)


# %% masked_then_renormalised wrong (misconception one-minus-hidden): subtle, divides by 1 minus the hidden weights, wrong if a row did not sum to one or if nearly all of it is hidden
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    lost = (weights * ~mask).sum(dim=-1, keepdim=True)
    return weights * mask / (1 - lost)


# %% masked_then_renormalised wrong (raised): subtle, puts the sums' new axis in the second place, which is wrong with a batch axis
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    kept = weights * mask
    return kept / kept.sum(dim=-1)[:, None]


# %% masked_then_renormalised right (passed): masked_fill, then divides by the row sums
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    kept = weights.masked_fill(~mask, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


# %% masked_then_renormalised right (passed): the row sums as an einsum of weights and mask
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    visible = mask.to(weights.dtype)
    totals = torch.einsum("...qk,qk->...q", weights, visible)
    return torch.einsum("...qk,qk->...qk", weights, visible) / totals.unsqueeze(-1)


# %% causal_attn_weights wrong (misconception mask-after-softmax): sets the future to 0 after the softmax and does not renormalise
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    weights = torch.softmax(scores / d_k**0.5, dim=-1)
    return weights * get_mask(scores.shape[-1]).to(scores.device)


# %% causal_attn_weights wrong (misconception divided-by-d_k): divides by d_k instead of its square root
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf) / d_k, dim=-1)


# %% causal_attn_weights wrong (misconception minus-a-billion): subtle, hides with -10000, so the future gets weight when visible scores are very negative
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax((scores / d_k**0.5).masked_fill(hidden, -10000.0), dim=-1)


# %% causal_attn_weights wrong (property finite): subtle, a softmax by hand that subtracts the largest score of all rows, nan in a row far below it
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    scaled = (scores / d_k**0.5).masked_fill(hidden, -torch.inf)
    powers = torch.exp(scaled - scaled.max())
    return powers / powers.sum(dim=-1, keepdim=True)


# %% causal_attn_weights wrong (property lets_gradients_through): subtle, fills a copy made with .detach(), so no gradient reaches the scores
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    scaled = scores.clone().detach() / d_k**0.5
    scaled.masked_fill_(~get_mask(scores.shape[-1]).to(scores.device), -torch.inf)
    return torch.softmax(scaled, dim=-1)


# %% causal_attn_weights right (passed): adds a table with -inf above the diagonal and zeros elsewhere
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    size = scores.shape[-1]
    bias = torch.zeros(size, size, dtype=scores.dtype, device=scores.device)
    bias = bias.masked_fill(~get_mask(size).to(scores.device), -torch.inf)
    return torch.softmax(scores / d_k**0.5 + bias, dim=-1)


# %% causal_attn_weights right (passed): one row at a time, a softmax over the visible slice, then zeros for the future
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    size = scores.shape[-1]
    rows = []
    for i in range(size):
        visible = torch.softmax(scores[..., i, : i + 1] / d_k**0.5, dim=-1)
        rows.append(F.pad(visible, (0, size - i - 1)))
    return torch.stack(rows, dim=-2)


# %% inverted_dropout wrong (misconception not-scaled): does not enlarge what survives
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x * keep


# %% inverted_dropout wrong (misconception by-what-happened): divides by the share that this keep happens to keep, not by 1 - p
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x * keep / keep.float().mean()


# %% inverted_dropout wrong (misconception divided-by-p): subtle, divides by p, which is right only for p = 0.5
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return torch.where(keep, x / p, torch.zeros_like(x))


# %% inverted_dropout wrong (property numbers): subtle, never divides by less than 0.1, which is wrong for p above 0.9
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x * keep / max(1 - p, 0.1)


# %% inverted_dropout wrong (property lets_gradients_through): subtle, makes the result from x.data, so gradients do not flow
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    result = x.data.clone()
    result[~keep] = 0.0
    return result / (1 - p)


# %% inverted_dropout right (passed): masked_fill, then one factor for all entries
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    scale = 1 / (1 - p) if p < 1 else 0.0
    return x.masked_fill(~keep, 0.0) * scale


# %% inverted_dropout right (passed): multiplies by a table of factors, 0 or 1 / (1 - p)
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    factors = torch.zeros_like(x)
    if p < 1:
        factors[keep] = 1 / (1 - p)
    return x * factors


# %% CausalAttention wrong (misconception root-of-d_in): divides the scores by the square root of d_in
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.d_in = d_in
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        scores = self.W_query(x) @ self.W_key(x).transpose(-2, -1)
        weights = self.dropout(causal_attn_weights(scores, self.d_in))
        return weights @ self.W_value(x)


# %% CausalAttention wrong (misconception drops-in-eval): F.dropout without self.training, so it drops weights after eval() too
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        keys = self.W_key(x)
        scores = self.W_query(x) @ keys.transpose(-2, -1)
        weights = F.dropout(causal_attn_weights(scores, keys.shape[-1]), self.dropout.p)
        return weights @ self.W_value(x)


# %% CausalAttention wrong (property moves_with_its_module): subtle, the mask is assigned and not a buffer, so it stays behind when the layer moves
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.mask = get_mask(context_length)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        seq = x.shape[1]
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ values


# %% CausalAttention wrong (structure): subtle, W_value never gets a bias, which shows only with qkv_bias=True
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        keys = self.W_key(x)
        scores = self.W_query(x) @ keys.transpose(-2, -1)
        return self.dropout(causal_attn_weights(scores, keys.shape[-1])) @ self.W_value(x)


# %% CausalAttention wrong (property causal): subtle, hides with -1e9, so the future leaks when the inputs are large and visible scores lie below -1e9
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
        seq = x.shape[1]
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -1e9)
        return self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)) @ values


# %% CausalAttention right (passed): uses causal_attn_weights and keeps no mask
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        scores = self.W_query(x) @ self.W_key(x).transpose(-2, -1)
        return self.dropout(causal_attn_weights(scores, self.d_out)) @ self.W_value(x)


# %% CausalAttention right (passed): einsum, an unsaved buffer that is True where hidden, scaled queries, layers in another order
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("mask", hidden, persistent=False)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[-2]
        queries = self.W_query(x) * self.W_query.out_features**-0.5
        scores = torch.einsum("bqd,bkd->bqk", queries, self.W_key(x))
        scores = torch.where(self.mask[:seq, :seq], float("-inf"), scores)
        weights = self.drop(scores.softmax(dim=-1))
        return torch.einsum("bqk,bkd->bqd", weights, self.W_value(x))


