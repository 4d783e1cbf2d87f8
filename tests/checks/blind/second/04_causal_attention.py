# %% get_mask wrong (misconception sees-the-future): upper triangle, so each position sees itself and the future instead of the past
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.triu(torch.ones(size, size, dtype=torch.bool))

# %% get_mask wrong (misconception blind-to-itself): the diagonal is left out, so a position cannot see itself and row 0 is empty
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.tril(torch.ones(size, size), diagonal=-1).bool()

# %% get_mask wrong (misconception one-step-ahead): off by one, each row also sees the next position (0 … i + 1)
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size):
        mask[i, : i + 2] = True
    return mask

# %% get_mask wrong (dtype): ones and zeros as floats, although the signature promises booleans
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.tril(torch.ones(size, size))

# %% get_mask wrong (property sees_itself_and_its_past): the loop ends one row early, so the last position sees nothing
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(1, size):
        mask[i - 1, :i] = True
    return mask

# %% get_mask wrong (misconception true-means-blocked): the other convention, True marks what is hidden
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.triu(torch.ones(size, size), diagonal=1).bool()

# %% get_mask wrong (structure): a list of lists of bools, not a tensor as the signature promises
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return [[j <= i for j in range(size)] for i in range(size)]

# %% get_mask wrong (structure): cut out of a table for six words, so any larger size comes back as 6 by 6
causal_table = torch.tril(torch.ones(6, 6)).bool()


def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return causal_table[:size, :size]

# %% get_mask right (passed): tril of boolean ones
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.ones(size, size, dtype=torch.bool).tril()

# %% get_mask right (passed): broadcast comparison of positions
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    position = torch.arange(size)
    asks, answers = position.unsqueeze(1), position.unsqueeze(0)
    return asks.ge(answers)

# %% get_mask right (passed): plain Python, a flat list cell by cell
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    cells = []
    for row in range(size):
        for column in range(size):
            cells.append(not column > row)
    return torch.tensor(cells, dtype=torch.bool).reshape(size, size)

# %% get_mask right (passed): the identity, accumulated down the rows
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.eye(size, dtype=torch.int64).cumsum(dim=0).bool()

# %% masked_then_renormalised wrong (misconception not-renormalised): forgets to renormalise, so rows fall short of one
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, and each row sums to one again."""
    return weights * mask

# %% masked_then_renormalised wrong (property rows_sum_to_one): adds 1e-5 to the sum, so rows with little visible weight are far from summing to one
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, and each row sums to one again."""
    masked = weights * mask
    return masked / (masked.sum(dim=-1, keepdim=True) + 1e-5)

# %% masked_then_renormalised wrong (misconception keepdim-forgotten): no keepdim, so row sums line up with the columns
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, and each row sums to one again."""
    masked = weights * mask.float()
    return masked / masked.sum(dim=-1)

# %% masked_then_renormalised wrong (misconception weights-taken-for-scores): a second softmax over weights, rows sum to one but the proportions are lost
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, and each row sums to one again."""
    return torch.softmax(weights.masked_fill(~mask, -torch.inf), dim=-1)

# %% masked_then_renormalised wrong (misconception second-axis): sums along axis 1, which with a batch in front is the query axis
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, and each row sums to one again."""
    masked = weights.masked_fill(~mask, 0.0)
    row_sums = masked.sum(dim=1, keepdim=True)
    return masked / row_sums

# %% masked_then_renormalised wrong (misconception always-causal): ignores the mask given and takes the causal one, though any mask is allowed
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, and each row sums to one again."""
    masked = torch.tril(weights)
    return masked / masked.sum(dim=-1, keepdim=True)

# %% masked_then_renormalised wrong (misconception dealt-out-equally): deals what is missing out in equal shares, not by scaling, so the proportions change
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, and each row sums to one again."""
    masked = weights * mask
    missing = 1 - masked.sum(dim=-1, keepdim=True)
    share = missing / mask.sum(dim=-1, keepdim=True)
    return (masked + share) * mask

# %% masked_then_renormalised wrong (raised): indexes with a mask of two axes, which raises as soon as there is a batch axis
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, and each row sums to one again."""
    masked = weights.clone()
    masked[~mask] = 0.0
    return masked / masked.sum(dim=-1, keepdim=True)

# %% masked_then_renormalised right (passed): multiply and divide by the row sums
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, and each row sums to one again."""
    kept = weights * mask
    return kept / kept.sum(-1, keepdim=True)

# %% masked_then_renormalised right (passed): einsum for both steps
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, and each row sums to one again."""
    visible = mask.to(weights.dtype)
    left = torch.einsum("...qk,qk->...q", weights, visible)
    return torch.einsum("...qk,qk,...q->...qk", weights, visible, left.reciprocal())

# %% masked_then_renormalised right (passed): row by row in a loop over all texts
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, and each row sums to one again."""
    n_query, n_key = weights.shape[-2:]
    nothing = torch.zeros((), dtype=weights.dtype, device=weights.device)
    result = []
    for table in weights.reshape(-1, n_query, n_key):
        rows = []
        for row, seen in zip(table, mask):
            row = torch.where(seen, row, nothing)
            rows.append(row / row.sum())
        result.append(torch.stack(rows))
    return torch.stack(result).reshape(weights.shape)

# %% masked_then_renormalised right (passed): row sums as a product with a column of ones
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, and each row sums to one again."""
    w = weights.where(mask, weights.new_zeros(()))
    return w.div(w @ w.new_ones(w.size(-1), 1))

# %% causal_attn_weights wrong (misconception divided-by-d_k): divides by d_k, not by its root
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Each row a softmax over its own position and the past; exactly 0 on the future."""
    masked = scores.masked_fill(~get_mask(scores.shape[-1]).to(scores.device), -torch.inf)
    return torch.softmax(masked / d_k, dim=-1)

# %% causal_attn_weights wrong (misconception shared-out-before-hiding): softmax over everything, then mask and renormalise, which gives nan when a hidden score is far above
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Each row a softmax over its own position and the past; exactly 0 on the future."""
    weights = torch.softmax(scores / d_k**0.5, dim=-1)
    return masked_then_renormalised(weights, get_mask(scores.shape[-1]).to(scores.device))

# %% causal_attn_weights wrong (misconception minus-a-billion): fills with -1e9, which float16 lacks and which is no longer lowest beside scores of any size
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Each row a softmax over its own position and the past; exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    scaled = scores / d_k**0.5
    return torch.softmax(scaled.masked_fill(~mask, -1e9), dim=-1)

# %% causal_attn_weights wrong (property finite): softmax by hand without taking off the maximum, so large scores overflow to nan and very low ones give 0 / 0
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Each row a softmax over its own position and the past; exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    e = torch.exp(scores / d_k**0.5).masked_fill(~mask, 0.0)
    return e / e.sum(dim=-1, keepdim=True)

# %% causal_attn_weights wrong (property lets_gradients_through): computed under no_grad, so no gradient passes
@torch.no_grad()
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Each row a softmax over its own position and the past; exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(~mask, -torch.inf) / d_k**0.5, dim=-1)

# %% causal_attn_weights wrong (property leaves_its_inputs): hides in place, which overwrites the caller's scores and raises for scores that want a gradient
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Each row a softmax over its own position and the past; exactly 0 on the future."""
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    scores.masked_fill_(hidden, -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)

# %% causal_attn_weights wrong (structure): scales by the lesson's d_out and ignores d_k
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Each row a softmax over its own position and the past; exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    masked = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(masked / d_out**0.5, dim=-1)

# %% causal_attn_weights wrong (misconception second-axis): softmax along axis 1, which is the key axis only where there is no batch
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Each row a softmax over its own position and the past; exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    masked = scores.masked_fill(mask == 0, float("-inf"))
    return F.softmax(masked / d_k**0.5, dim=1)

# %% causal_attn_weights right (passed): -inf, root, softmax
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Each row a softmax over its own position and the past; exactly 0 on the future."""
    hidden = ~get_mask(scores.size(-1)).to(scores.device)
    return (scores.masked_fill(hidden, -torch.inf) / d_k**0.5).softmax(dim=-1)

# %% causal_attn_weights right (passed): each row's softmax over its own slice, padded with zeros
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Each row a softmax over its own position and the past; exactly 0 on the future."""
    seq = scores.shape[-1]
    rows = []
    for i in range(seq):
        seen = scores[..., i, : i + 1] / d_k**0.5
        rows.append(F.pad(torch.softmax(seen, dim=-1), (0, seq - i - 1)))
    return torch.stack(rows, dim=-2)

# %% causal_attn_weights right (passed): softmax by hand, with the maximum of the visible scores taken off
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Each row a softmax over its own position and the past; exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).to(scores.device)
    low = torch.tensor(float("-inf"), dtype=scores.dtype, device=scores.device)
    visible = torch.where(mask, scores / d_k**0.5, low)
    top = visible.max(dim=-1, keepdim=True).values.detach()
    numerators = (visible - top).exp()
    return numerators / numerators.sum(dim=-1, keepdim=True)

# %% causal_attn_weights right (passed): torch's own attention with the identity as keys and as values
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """Each row a softmax over its own position and the past; exactly 0 on the future."""
    one = torch.eye(scores.shape[-1], dtype=scores.dtype, device=scores.device).expand_as(scores)
    return F.scaled_dot_product_attention(scores, one, one, is_causal=True, scale=d_k**-0.5)

# %% inverted_dropout wrong (misconception not-scaled): drops but does not enlarge, so the mean shrinks
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged, so that the mean over many draws is x."""
    return x.masked_fill(~keep, 0.0)

# %% inverted_dropout wrong (misconception divided-by-p): divides by p, which is right for one half only
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged, so that the mean over many draws is x."""
    return x * keep / p

# %% inverted_dropout wrong (misconception by-what-happened): divides by the share that this draw happened to keep, not by 1 - p
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged, so that the mean over many draws is x."""
    survived = keep.float().mean()
    return x * keep / survived

# %% inverted_dropout wrong (misconception draws-its-own): makes a draw of its own and ignores keep
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged, so that the mean over many draws is x."""
    return nn.Dropout(p)(x)

# %% inverted_dropout wrong (misconception doubled): always doubles, whatever p is
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged, so that the mean over many draws is x."""
    return torch.where(keep, 2 * x, torch.zeros_like(x))

# %% inverted_dropout wrong (misconception one-plus-p): enlarges by 1 + p instead of 1 / (1 - p), close for small p
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged, so that the mean over many draws is x."""
    return x * keep * (1 + p)

# %% inverted_dropout wrong (shape): selects the survivors, so the result is flat and shorter than x
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged, so that the mean over many draws is x."""
    return x[keep] / (1 - p)

# %% inverted_dropout wrong (property lets_gradients_through): works on a detached copy, so no gradient passes
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged, so that the mean over many draws is x."""
    out = x.detach().clone()
    out[~keep] = 0.0
    return out / (1 - p)

# %% inverted_dropout right (passed): product and quotient
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged, so that the mean over many draws is x."""
    return keep * x / (1 - p)

# %% inverted_dropout right (passed): number by number in a loop
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged, so that the mean over many draws is x."""
    numbers, survives = x.reshape(-1), keep.reshape(-1).tolist()
    result = torch.zeros_like(numbers)
    for i, alive in enumerate(survives):
        if alive:
            result[i] = numbers[i] / (1 - p)
    return result.reshape(x.shape)

# %% inverted_dropout right (passed): scatters the enlarged survivors into zeros
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged, so that the mean over many draws is x."""
    return torch.zeros_like(x).masked_scatter(keep, x[keep] / (1 - p))

# %% inverted_dropout right (passed): the kernel that torch itself uses for the backward pass of dropout
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged, so that the mean over many draws is x."""
    scale = 1 / (1 - p) if p < 1 else 0.0
    return torch.ops.aten.native_dropout_backward(x, keep, scale)

# %% CausalAttention wrong (property moves_with_its_module): the mask is a plain attribute and no buffer, so it stays behind when the layer moves
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.mask = get_mask(context_length)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / self.d_out**0.5, dim=-1)
        return self.dropout(weights) @ values

# %% CausalAttention wrong (misconception dropout-on-the-output): dropout falls on the context vectors after the mix, not on the weights
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / self.d_out**0.5, dim=-1)
        return self.dropout(weights @ self.W_value(x))

# %% CausalAttention wrong (misconception mask-not-cut): the mask is not cut to the text's length, so a shorter text raises
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        masked = scores.masked_fill(~self.mask, -torch.inf)
        weights = self.dropout(torch.softmax(masked / self.d_out**0.5, dim=-1))
        return weights @ values

# %% CausalAttention wrong (misconception root-of-d_in): divides by the root of d_in instead of d_out, the width of queries and keys
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        _, seq, d = x.shape
        scores = self.W_query(x) @ self.W_key(x).mT / d**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(scores.softmax(dim=-1))
        return weights @ self.W_value(x)

# %% CausalAttention wrong (misconception never-a-bias): qkv_bias is ignored, the layers never have biases
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(weights) @ values

# %% CausalAttention wrong (misconception drops-in-eval): F.dropout without the training flag drops after eval() too, and there is no nn.Dropout
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.d_out = d_out
        self.p = dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / self.d_out**0.5, dim=-1)
        weights = F.dropout(weights, p=self.p)
        return weights @ self.W_value(x)

# %% CausalAttention wrong (property finite_when_scaled): masks after the softmax and renormalises, which gives nan for large numbers
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2) / self.d_out**0.5
        weights = masked_then_renormalised(torch.softmax(scores, dim=-1), self.mask[:seq, :seq])
        return self.dropout(weights) @ values

# %% CausalAttention wrong (property moves_with_its_module): registers the buffer but masks with a new table on the CPU, so it fails where the layer was moved
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2)
        visible = torch.tril(torch.ones(x.shape[1], x.shape[1])).bool()
        weights = torch.softmax(scores.masked_fill(~visible, -torch.inf) / self.d_out**0.5, dim=-1)
        return self.dropout(weights) @ self.W_value(x)

# %% CausalAttention right (passed): step by step with the buffer cut to the text
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[-2]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(self.mask[:seq, :seq].logical_not(), -torch.inf)
        return self.dropout(scores.softmax(dim=-1)) @ values

# %% CausalAttention right (passed): loops over texts and positions, each with a slice of its own past
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.register_buffer("mask", get_mask(context_length))
        self.drop = nn.Dropout(dropout)
        for name in ("W_value", "W_key", "W_query"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.root = d_out**0.5

    def one_text(self, text):
        queries, keys, values = self.W_query(text), self.W_key(text), self.W_value(text)
        answers = []
        for i, query in enumerate(queries):
            scores = (keys[: i + 1] * query).sum(dim=1) / self.root
            weights = self.drop(F.softmax(scores, dim=0))
            answers.append((weights.unsqueeze(1) * values[: i + 1]).sum(dim=0))
        return torch.stack(answers)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        return torch.stack([self.one_text(text) for text in x])

# %% CausalAttention right (passed): torch's fused attention whenever nothing is to be dropped
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.attn_dropout = nn.Dropout(dropout)
        self.scale = d_out**-0.5
        table = torch.ones(context_length, context_length, dtype=torch.bool).tril()
        self.register_buffer("mask", table, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        may = self.mask[: x.size(1), : x.size(1)]
        if not self.attn_dropout.training or self.attn_dropout.p == 0:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=may, scale=self.scale)
        bias = torch.zeros_like(may, dtype=q.dtype).masked_fill(~may, float("-inf"))
        attn = torch.softmax(torch.baddbmm(bias.expand(x.size(0), -1, -1), q, k.mT, alpha=self.scale), dim=-1)
        return torch.bmm(self.attn_dropout(attn), v)

# %% CausalAttention right (passed): one joint projection, and tables laid out keys by queries
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(p=dropout)
        self.register_buffer("mask", get_mask(context_length))

    def projected(self, x):
        parts = [self.W_query, self.W_key, self.W_value]
        weight = torch.cat([part.weight for part in parts])
        bias = None if self.W_query.bias is None else torch.cat([part.bias for part in parts])
        return F.linear(x, weight, bias).chunk(3, dim=-1)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        n = x.shape[1]
        q, k, v = self.projected(x)
        table = torch.einsum("bqd,bkd->bkq", q, k) * q.shape[-1] ** -0.5
        hidden = ~self.mask[:n, :n].T
        table = self.dropout(table.masked_fill(hidden, -torch.inf).softmax(dim=1))
        return torch.einsum("bkq,bkd->bqd", table, v)
