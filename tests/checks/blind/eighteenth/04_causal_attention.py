# %% get_mask wrong (misconception true-means-blocked): True marks the future (strict upper triangle), as in masks where True means hidden
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.triu(torch.ones(size, size), diagonal=1).bool()


# %% get_mask wrong (dtype): returns a table of float ones and zeros instead of booleans
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.tril(torch.ones(size, size))


# %% get_mask wrong (property sees_itself_and_its_past): (subtle) finds the row by multiplying by 1 / size in float32; for some sizes (41, 47, 55, 61) the first cell of some rows becomes False
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    cell = torch.arange(size * size)
    row = (cell * (1 / size)).long()
    column = cell - row * size
    return (column <= row).view(size, size)


# %% get_mask wrong (property sees_itself_and_its_past): (subtle) scales positions to 0 ... 1; with size 1 this is 0 / 0 and the only cell is False
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    place = torch.arange(size) / torch.tensor(size - 1)
    return place[:, None] >= place[None, :]


# %% get_mask wrong (structure): (subtle) keeps the largest mask so far and forgets to cut it; a smaller size after a larger one gets the larger mask
_largest = torch.zeros(0, 0, dtype=torch.bool)


def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    global _largest
    if size > len(_largest):
        _largest = torch.ones(size, size, dtype=torch.bool).tril()
    return _largest.clone()


# %% get_mask right (passed): compares the positions of rows and columns
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    position = torch.arange(size)
    return position[:, None] >= position


# %% get_mask right (passed): fills a table of False row by row
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size):
        mask[i, : i + 1] = True
    return mask


# %% masked_then_renormalised wrong (misconception keepdim-forgotten): forgets keepdim, so the sums are lined up with the columns
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    masked = weights * mask
    return masked / masked.sum(dim=-1)


# %% masked_then_renormalised wrong (misconception softmax-again): renormalises with a softmax over the masked weights, which gives hidden positions weight
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    return torch.softmax(weights * mask, dim=-1)


# %% masked_then_renormalised wrong (misconception one-minus-hidden): (subtle) divides by 1 minus the hidden weight; shows when the rows of weights do not sum to one
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    hidden = (weights * ~mask).sum(dim=-1, keepdim=True)
    return weights * mask / (1 - hidden)


# %% masked_then_renormalised wrong (property rows_sum_to_one): (subtle) adds 1e-8 to the sum; shows when the visible weights of a row are tiny
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    masked = weights.masked_fill(~mask, 0.0)
    return masked / (masked.sum(dim=-1, keepdim=True) + 1e-8)


# %% masked_then_renormalised wrong (misconception second-axis): (subtle) sums over axis 1, which is the queries when there is a batch axis in front
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    masked = weights * mask
    return masked / masked.sum(dim=1, keepdim=True)


# %% masked_then_renormalised right (passed): masked_fill, then divides by the row sums with keepdim
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    visible = weights.masked_fill(~mask, 0.0)
    return visible / visible.sum(dim=-1, keepdim=True)


# %% masked_then_renormalised right (passed): row sums by einsum with the mask, hides with torch.where
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """Keep the weights where mask is True, rescaled so that each row sums to one again."""
    total = torch.einsum("...qk,qk->...q", weights, mask.to(weights.dtype))
    return torch.where(mask, weights, torch.zeros_like(weights)) / total.unsqueeze(-1)


# %% causal_attn_weights wrong (misconception divided-by-d_k): divides by d_k instead of its square root
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(~mask, -torch.inf) / d_k, dim=-1)


# %% causal_attn_weights wrong (misconception zeros-hidden-too): multiplies by the mask and hides every score that is 0, also visible scores that are 0
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    scores = scores * get_mask(scores.shape[-1]).to(scores.device)
    scores = scores.masked_fill(scores == 0, -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (property finite): (subtle) subtracts one maximum of the whole table before exp; a row far below it becomes 0 / 0
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    scaled = scores.masked_fill(~mask, -torch.inf) / d_k**0.5
    powers = torch.exp(scaled - scaled.max())
    return powers / powers.sum(dim=-1, keepdim=True)


# %% causal_attn_weights wrong (misconception minus-a-billion): (subtle) hides with -10000 (fits into float16); shows when visible scores are about -10000 or lower
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(~mask, -10000.0) / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (property lets_gradients_through): (subtle) works on a detached copy, so no gradient flows to the scores
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    copy = scores.detach().clone()
    copy.masked_fill_(hidden, -torch.inf)
    return torch.softmax(copy / d_k**0.5, dim=-1)


# %% causal_attn_weights right (passed): masked_fill with -inf, division by the root, softmax
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    return (scores / d_k**0.5).masked_fill(hidden, -torch.inf).softmax(dim=-1)


# %% causal_attn_weights right (passed): torch.where on compared positions, then a softmax by hand that subtracts the maximum of each row
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Return, for each row, a softmax over its own position and the past, with exactly 0 on the future."""
    position = torch.arange(scores.shape[-1], device=scores.device)
    future = position > position[:, None]
    minus_inf = torch.full((), -torch.inf, dtype=scores.dtype, device=scores.device)
    scaled = torch.where(future, minus_inf, scores) / d_k**0.5
    top = scaled.detach().amax(dim=-1, keepdim=True)
    powers = torch.exp(scaled - top)
    return powers / powers.sum(dim=-1, keepdim=True)


# %% inverted_dropout wrong (misconception divided-by-p): divides by p instead of 1 - p (the same only for p = 0.5)
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x * keep / p


# %% inverted_dropout wrong (misconception not-scaled): forgets to enlarge the rest
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x.masked_fill(~keep, 0.0)


# %% inverted_dropout wrong (difference factor): (subtle) enlarges by a whole number, int(1 / (1 - p)); right for p = 0 and 0.5, wrong for 0.1 or 0.2
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    factor = int(1 / (1 - p))
    return torch.where(keep, x * factor, torch.zeros_like(x))


# %% inverted_dropout wrong (difference function): (subtle) hides with -inf and a relu, which also removes negative numbers that survive
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    return x.masked_fill(~keep, -torch.inf).relu() / (1 - p)


# %% inverted_dropout wrong (property lets_gradients_through): (subtle) fills a new tensor through .data, so no gradient flows to x
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    out = torch.zeros_like(x)
    out[keep] = x.data[keep] / (1 - p)
    return out


# %% inverted_dropout right (passed): torch.where, then the division (p = 1 keeps nothing)
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    kept = torch.where(keep, x, torch.zeros_like(x))
    return kept if p == 1 else kept / (1 - p)


# %% inverted_dropout right (passed): assigns the enlarged survivors to a tensor of zeros by boolean index
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Set x to 0 where keep is False; enlarge the rest so that the mean over many random keeps is x."""
    out = torch.zeros_like(x)
    out[keep] = x[keep] * (1 / (1 - p) if p < 1 else 1.0)
    return out


# %% CausalAttention wrong (misconception dropout-on-the-output): dropout acts on the context vectors instead of the weights
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
        scores = queries @ keys.transpose(1, 2)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(weights @ values)


# %% CausalAttention wrong (property moves_with_its_module): the mask is only assigned to self, so it does not move with the layer to another device
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
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        return weights @ values


# %% CausalAttention wrong (misconception drops-in-eval): (subtle) F.dropout without training=self.training keeps dropping after eval(); shows with dropout > 0
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = causal_attn_weights(queries @ keys.mT, keys.shape[-1])
        return F.dropout(weights, self.dropout.p) @ values


# %% CausalAttention wrong (structure): (subtle) W_value never gets a bias; shows with qkv_bias=True
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[-2]
        keys = self.W_key(x)
        scores = self.W_query(x) @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(~self.mask[:seq, :seq], -torch.inf), dim=-1)
        return self.dropout(weights) @ self.W_value(x)


# %% CausalAttention wrong (property finite_when_scaled): (subtle) masks after the softmax and renormalises; with large inputs a row becomes 0 / 0
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = torch.softmax(queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5, dim=-1)
        weights = weights * self.mask[:seq, :seq]
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return self.dropout(weights) @ values


# %% CausalAttention right (passed): keeps a buffer that is True where hidden, not saved, and cuts it to the length of the text
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("mask", hidden, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        return self.dropout(scores.softmax(dim=-1)) @ values


# %% CausalAttention right (passed): makes a mask in each call on the device of x, with einsum for scores and mix
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.d_out = d_out
        self.dropout = nn.Dropout(p=dropout)
        self.W_value, self.W_key, self.W_query = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        scores = torch.einsum("bqd,bkd->bqk", self.W_query(x) * self.d_out**-0.5, self.W_key(x))
        position = torch.arange(x.shape[1], device=x.device)
        scores = torch.where(position <= position[:, None], scores, -torch.inf)
        weights = self.dropout(F.softmax(scores, dim=-1))
        return torch.einsum("bqk,bkd->bqd", weights, self.W_value(x))


