# %% get_mask wrong (misconception blind-to-itself): leaves out the diagonal, so that no position sees itself
def get_mask(size):
    return torch.ones(size, size, dtype=torch.bool).tril(diagonal=-1)


# %% get_mask wrong (misconception sees-the-future): upper triangle, each position sees itself and the future
def get_mask(size):
    return torch.triu(torch.ones(size, size)).bool()


# %% get_mask wrong (property state): cuts the mask from a table of 1024 positions; too small when size is larger than 1024
_FULL_MASK = torch.tril(torch.ones(1024, 1024, dtype=torch.bool))


def get_mask(size):
    return _FULL_MASK[:size, :size]


# %% get_mask wrong (shape): keeps the mask of the first call and cuts later masks from it; shows when a later size is larger
_saved = {}


def get_mask(size):
    if "mask" not in _saved:
        _saved["mask"] = torch.tril(torch.ones(size, size, dtype=torch.bool))
    return _saved["mask"][:size, :size].clone()


# %% get_mask wrong (shape): steps of 1 / size from 0 to 1 round to one position too many for some sizes (49, for example)
def get_mask(size):
    place = torch.arange(0, 1, 1 / size)
    return place[:, None] >= place[None, :]


# %% get_mask right (passed): compares row numbers with column numbers
def get_mask(size):
    positions = torch.arange(size)
    return positions.unsqueeze(1) >= positions.unsqueeze(0)


# %% get_mask right (passed): fills the rows one by one in a loop
def get_mask(size):
    mask = torch.zeros(size, size, dtype=torch.bool)
    for row in range(size):
        mask[row, : row + 1] = True
    return mask


# %% masked_then_renormalised wrong (misconception keepdim-forgotten): no keepdim, so the sums line up with the columns
def masked_then_renormalised(weights, mask):
    masked = weights * mask
    return masked / masked.sum(dim=-1)


# %% masked_then_renormalised wrong (misconception softmax-again): takes a softmax of the masked weights instead of dividing by their sum
def masked_then_renormalised(weights, mask):
    return torch.softmax(weights * mask, dim=-1)


# %% masked_then_renormalised wrong (misconception second-axis): sums over axis 1, which is the axis of the queries as soon as there is a batch
def masked_then_renormalised(weights, mask):
    masked = weights.masked_fill(~mask, 0.0)
    return masked / masked.sum(dim=1, keepdim=True)


# %% masked_then_renormalised wrong (misconception always-causal): ignores the mask and always hides the future; shows for masks that are not causal
def masked_then_renormalised(weights, mask):
    masked = torch.tril(weights)
    return masked / masked.sum(dim=-1, keepdim=True)


# %% masked_then_renormalised wrong (property rows_sum_to_one): adds 1e-6 to the sum; rows whose visible weights are tiny do not sum to one
def masked_then_renormalised(weights, mask):
    masked = weights * mask
    return masked / (masked.sum(dim=-1, keepdim=True) + 1e-6)


# %% masked_then_renormalised right (passed): where, then divides by the row sums
def masked_then_renormalised(weights, mask):
    kept = torch.where(mask, weights, torch.zeros_like(weights))
    return kept / kept.sum(-1, keepdim=True)


# %% masked_then_renormalised right (passed): einsum for the sum of the visible weights, row by row in a list
def masked_then_renormalised(weights, mask):
    visible = mask.to(weights.dtype)
    rows = []
    for i in range(weights.shape[-2]):
        row = weights[..., i, :]
        total = torch.einsum("...k,k->...", row, visible[i])
        rows.append(row * visible[i] / total[..., None])
    return torch.stack(rows, dim=-2)


# %% causal_attn_weights wrong (misconception mask-after-softmax): hides the future after the softmax and does not renormalise
def causal_attn_weights(scores, d_k):
    weights = torch.softmax(scores / d_k**0.5, dim=-1)
    return weights * get_mask(scores.shape[-1]).to(scores.device)


# %% causal_attn_weights wrong (misconception divided-by-d_k): divides by d_k instead of its square root
def causal_attn_weights(scores, d_k):
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf) / d_k, dim=-1)


# %% causal_attn_weights wrong (misconception minus-a-billion): hides with -1e9; the future gets weight when visible scores are lower than that
def causal_attn_weights(scores, d_k):
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    return torch.softmax(scores.masked_fill(hidden, -1e9) / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (raised): takes the mask's size from axis 1; right for [seq, seq] and [batch, seq, seq], not for [batch, heads, seq, seq]
def causal_attn_weights(scores, d_k):
    hidden = ~get_mask(scores.shape[1]).to(scores.device)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf) / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (property gradients): the sum is detached, so the weights are right and their gradients are wrong
def causal_attn_weights(scores, d_k):
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    scaled = (scores / d_k**0.5).masked_fill(hidden, -torch.inf)
    powers = torch.exp(scaled - scaled.amax(dim=-1, keepdim=True).detach())
    return powers / powers.sum(dim=-1, keepdim=True).detach()


# %% causal_attn_weights right (passed): exponentials by hand, after subtracting the largest visible score of each row
def causal_attn_weights(scores, d_k):
    visible = get_mask(scores.shape[-1]).to(scores.device)
    scaled = torch.where(visible, scores / d_k**0.5, -torch.inf)
    powers = torch.exp(scaled - scaled.amax(dim=-1, keepdim=True).detach())
    return powers / powers.sum(dim=-1, keepdim=True)


# %% causal_attn_weights right (passed): softmax over the visible part of each row, then zeros are appended
def causal_attn_weights(scores, d_k):
    seq = scores.shape[-1]
    rows = []
    for i in range(seq):
        visible = torch.softmax(scores[..., i, : i + 1] / d_k**0.5, dim=-1)
        rows.append(F.pad(visible, (0, seq - 1 - i)))
    return torch.stack(rows, dim=-2)


# %% inverted_dropout wrong (misconception multiplied): multiplies the survivors by 1 - p instead of dividing
def inverted_dropout(x, keep, p):
    return x * keep * (1 - p)


# %% inverted_dropout wrong (misconception by-what-happened): divides by the share that happened to survive instead of 1 - p
def inverted_dropout(x, keep, p):
    return x * keep / keep.float().mean()


# %% inverted_dropout wrong (misconception divided-by-p): divides by p; right for p = 0.5 only
def inverted_dropout(x, keep, p):
    return x.masked_fill(~keep, 0.0) / p


# %% inverted_dropout wrong (property gradients): the gradient skips the dropout, as if every entry was kept as it is; the values are right
def inverted_dropout(x, keep, p):
    dropped = torch.where(keep, x / (1 - p), 0.0)
    return x + (dropped - x).detach()


# %% inverted_dropout wrong (raised): goes through rows and columns, which works for tables but not for vectors or batches
def inverted_dropout(x, keep, p):
    rows = []
    for i in range(x.shape[0]):
        rows.append(torch.stack([x[i, j] / (1 - p) if keep[i, j] else x[i, j] * 0 for j in range(x.shape[1])]))
    return torch.stack(rows)


# %% inverted_dropout right (passed): masked_fill, then divides by 1 - p
def inverted_dropout(x, keep, p):
    survivors = x.masked_fill(~keep, 0.0)
    return survivors / (1 - p) if p < 1 else survivors


# %% inverted_dropout right (passed): writes only the surviving entries into a table of zeros
def inverted_dropout(x, keep, p):
    out = torch.zeros_like(x)
    out[keep] = x[keep] / (1.0 - p)
    return out


# %% CausalAttention wrong (misconception root-of-the-length): divides by the root of the number of tokens (axis 1 of the keys) instead of the root of d_out
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        seq = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2) / keys.shape[1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ values


# %% CausalAttention wrong (misconception mask-not-cut): does not cut the mask to the length of the text, so that shorter texts fail
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(self.mask, -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_out**0.5, dim=-1))
        return weights @ values


# %% CausalAttention wrong (misconception dropout-of-the-values): drops entries of the values instead of weights; the same after eval() or with dropout 0
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x):
        seq = x.shape[-2]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(~self.mask[:seq, :seq], -torch.inf), dim=-1)
        return weights @ self.dropout(values)


# %% CausalAttention wrong (property moves_with_its_module): the mask is only assigned, so it stays on the CPU when the layer moves to another device
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.mask = get_mask(context_length)

    def forward(self, x):
        seq = x.shape[-2]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(~self.mask[:seq, :seq], -torch.inf), dim=-1)
        return self.dropout(weights) @ values


# %% CausalAttention wrong (property causal): hides with -10000, so the future leaks when the numbers of the text are large
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        seq = x.shape[-2]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(~self.mask[:seq, :seq], -1e4), dim=-1)
        return self.dropout(weights) @ values


# %% CausalAttention right (passed): buffer with True for hidden, cut to the text, product with bmm-like @
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.triu(torch.ones(context_length, context_length, dtype=torch.bool), diagonal=1)
        self.register_buffer("mask", hidden)

    def forward(self, x):
        seq = x.shape[-2]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / self.d_out**0.5, dim=-1)
        return self.dropout(weights) @ values


# %% CausalAttention right (passed): a new mask in each call on the device of x, einsum for both products, values made first
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(p=dropout)
        self.scale = d_out**0.5

    def forward(self, x):
        place = torch.arange(x.shape[-2], device=x.device)
        future = place[None, :] > place[:, None]
        scores = torch.einsum("...qd,...kd->...qk", self.W_query(x), self.W_key(x)) / self.scale
        scores = torch.where(future, -torch.inf, scores)
        weights = self.dropout(scores.softmax(dim=-1))
        return torch.einsum("...qk,...kd->...qd", weights, self.W_value(x))


