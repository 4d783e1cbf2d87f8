# %% get_mask wrong (misconception sees-the-future): comparison turned round, so row i sees itself and the future (transposed table)
def get_mask(size):
    rows = torch.arange(size)[:, None]
    columns = torch.arange(size)[None, :]
    return rows <= columns

# %% get_mask wrong (misconception blind-to-itself): off by one, range(i) leaves out the position itself, so the diagonal is False and row 0 is empty
def get_mask(size):
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size):
        for j in range(i):
            mask[i, j] = True
    return mask

# %% get_mask wrong (dtype): a float table of ones and zeros, the signature promises Bool
def get_mask(size):
    return torch.tril(torch.ones(size, size))

# %% get_mask wrong (misconception one-step-ahead): diagonal=1 lets each position see one step into the future
def get_mask(size):
    return torch.ones(size, size, dtype=torch.bool).tril(diagonal=1)

# %% get_mask wrong (misconception true-means-blocked): the other convention, True where a position is hidden, the docstring wants True where it may attend
def get_mask(size):
    mask = torch.triu(torch.ones(size, size), diagonal=1)
    return mask.bool()

# %% get_mask wrong (shape): two axes too many in front, as in GPT code, the signature promises [size, size]
def get_mask(size):
    return torch.tril(torch.ones(size, size)).bool().view(1, 1, size, size)

# %% get_mask wrong (dtype): an additive table of 0 and -inf instead of True and False
def get_mask(size):
    mask = torch.full((size, size), float("-inf"))
    return torch.triu(mask, diagonal=1)

# %% get_mask wrong (misconception blind-after-row-0): strictly the past, and only row 0 is patched to see itself; rows 1 and on miss the diagonal
def get_mask(size):
    mask = torch.tril(torch.ones(size, size), diagonal=-1).bool()
    mask[0, 0] = True
    return mask

# %% get_mask right (passed): nested list comprehension in plain Python
def get_mask(size):
    table = [[column <= row for column in range(size)] for row in range(size)]
    return torch.tensor(table, dtype=torch.bool).reshape(size, size)

# %% get_mask right (passed): True written at the indices of the lower triangle
def get_mask(size):
    allowed = torch.zeros((size, size), dtype=torch.bool)
    r, c = torch.tril_indices(size, size)
    allowed[r, c] = True
    return allowed

# %% get_mask right (passed): the identity, summed up down the rows
def get_mask(size):
    return torch.eye(size).cumsum(dim=0) > 0.5

# %% get_mask right (passed): torch's own additive causal mask of nn.Transformer, compared with 0
def get_mask(size):
    return nn.Transformer.generate_square_subsequent_mask(size) == 0

# %% masked_then_renormalised wrong (misconception keepdim-forgotten): keepdim forgotten, each column is divided by a row sum (and a batch does not fit)
def masked_then_renormalised(weights, mask):
    kept = weights * mask
    return kept / kept.sum(dim=-1)

# %% masked_then_renormalised wrong (misconception second-axis): dim=1 is the key axis only without a batch; with one the columns are normalised
def masked_then_renormalised(weights, mask):
    kept = weights.masked_fill(~mask, 0.0)
    return kept / kept.sum(dim=1, keepdim=True)

# %% masked_then_renormalised wrong (misconception weights-taken-for-scores): a second softmax over the weights; rows sum to one, but the weights are no longer in proportion
def masked_then_renormalised(weights, mask):
    return torch.softmax(weights.masked_fill(~mask, -torch.inf), dim=-1)

# %% masked_then_renormalised wrong (raised): ignores the mask that is given and always uses the causal one
def masked_then_renormalised(weights, mask):
    causal = get_mask(weights.shape[-1])
    kept = weights * causal
    return kept / kept.sum(dim=-1, keepdim=True)

# %% masked_then_renormalised wrong (misconception not-renormalised): the row sum is taken before masking, so the rows do not sum to one afterwards
def masked_then_renormalised(weights, mask):
    row_sums = weights.sum(dim=-1, keepdim=True)
    masked = weights * mask
    return masked / row_sums

# %% masked_then_renormalised wrong (misconception length-of-one): F.normalize makes the length of a row one (L2), not its sum
def masked_then_renormalised(weights, mask):
    return F.normalize(weights * mask.float(), dim=-1)

# %% masked_then_renormalised wrong (misconception true-means-blocked): mask the wrong way round, keeps what is False and removes what is True
def masked_then_renormalised(weights, mask):
    kept = weights.masked_fill(mask, 0)
    return kept / kept.sum(dim=-1, keepdim=True)

# %% masked_then_renormalised wrong (property rows_sum_to_one): a constant against division by zero is added to the sum, so a row whose visible weights are tiny does not sum to one
def masked_then_renormalised(weights, mask):
    kept = weights * mask
    return kept / (kept.sum(dim=-1, keepdim=True) + 1e-6)

# %% masked_then_renormalised right (passed): explicit loops over all tables and rows
def masked_then_renormalised(weights, mask):
    n_query, n_key = mask.shape
    tables = []
    for table in weights.reshape(-1, n_query, n_key):
        rows = []
        for row, allowed in zip(table, mask):
            row = torch.where(allowed, row, torch.zeros_like(row))
            rows.append(row / row.sum())
        tables.append(torch.stack(rows))
    return torch.stack(tables).reshape(weights.shape)

# %% masked_then_renormalised right (passed): einsum for the row sums
def masked_then_renormalised(weights, mask):
    visible = mask.to(weights.dtype)
    totals = torch.einsum("...qk,qk->...q", weights, visible)
    return torch.einsum("...qk,qk->...qk", weights, visible) / totals[..., None]

# %% masked_then_renormalised right (passed): a copy with the hidden cells set to 0 by boolean index, sum by matrix product with ones
def masked_then_renormalised(weights, mask):
    out = weights.clone()
    out[..., ~mask] = 0.0
    ones = torch.ones(mask.shape[-1], 1, dtype=out.dtype, device=out.device)
    return out.div(out @ ones)

# %% masked_then_renormalised right (passed): torch.masked.sum for the denominator
def masked_then_renormalised(weights, mask):
    import torch.masked

    total = torch.masked.sum(weights, dim=-1, keepdim=True, mask=mask.expand_as(weights))
    return weights.masked_fill(~mask, 0.0) / total

# %% causal_attn_weights wrong (misconception divided-by-d_k): divides by d_k instead of its root
def causal_attn_weights(scores, d_k):
    mask = get_mask(scores.shape[-1])
    masked = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(masked / d_k, dim=-1)

# %% causal_attn_weights wrong (misconception second-axis): softmax over dim=1, which is the query axis once a batch stands in front; rows no longer sum to one
def causal_attn_weights(scores, d_k):
    mask = get_mask(scores.shape[-1])
    masked = scores.masked_fill(~mask, -torch.inf) / d_k**0.5
    return torch.softmax(masked, dim=1)

# %% causal_attn_weights wrong (misconception shared-out-before-hiding): softmax first, then mask and renormalise; nan where a hidden score is far above the visible ones
def causal_attn_weights(scores, d_k):
    weights = torch.softmax(scores / d_k**0.5, dim=-1)
    return masked_then_renormalised(weights, get_mask(scores.shape[-1]))

# %% causal_attn_weights wrong (misconception zeros-hidden-too): hides every zero after multiplying with the mask, so a visible score of exactly 0 is hidden as well
def causal_attn_weights(scores, d_k):
    masked = scores * get_mask(scores.shape[-1])
    masked = masked.masked_fill(masked == 0, float("-inf"))
    return torch.softmax(masked / d_k**0.5, dim=-1)

# %% causal_attn_weights wrong (misconception minus-a-billion): fills with -1e9, which float16 lacks: scores in half precision raise
def causal_attn_weights(scores, d_k):
    hidden = ~get_mask(scores.shape[-1])
    scaled = scores / d_k**0.5
    return torch.softmax(scaled.masked_fill(hidden, -1e9), dim=-1)

# %% causal_attn_weights wrong (structure): scales by the lesson's global d_out and ignores the argument d_k
def causal_attn_weights(scores, d_k):
    n = scores.shape[-1]
    masked = scores.masked_fill(~get_mask(n), -torch.inf)
    return torch.softmax(masked / d_out**0.5, dim=-1)

# %% causal_attn_weights wrong (property leaves_its_inputs): masked_fill_ writes -inf into the caller's scores, which the page goes on to use unmasked
def causal_attn_weights(scores, d_k):
    mask = get_mask(scores.shape[-1])
    scores.masked_fill_(~mask, -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)

# %% causal_attn_weights wrong (misconception scaled-too-late): divides by the root after the softmax, so rows sum to 1 / root of d_k and no softmax saw scaled scores
def causal_attn_weights(scores, d_k):
    masked = scores.masked_fill(~get_mask(scores.size(-1)), -torch.inf)
    return torch.softmax(masked, dim=-1) / d_k**0.5

# %% causal_attn_weights right (passed): row by row, a softmax over the visible part alone, padded with zeros
def causal_attn_weights(scores, d_k):
    n = scores.shape[-1]
    rows = []
    for i in range(n):
        past = scores[..., i, : i + 1] / d_k**0.5
        rows.append(F.pad(past.softmax(dim=-1), (0, n - i - 1)))
    return torch.stack(rows, dim=-2)

# %% causal_attn_weights right (passed): exp of the difference to logsumexp, future set to -inf by torch.where
def causal_attn_weights(scores, d_k):
    import math

    z = scores * (1.0 / math.sqrt(d_k))
    z = torch.where(get_mask(z.shape[-1]), z, z.new_tensor(-math.inf))
    return (z - z.logsumexp(dim=-1, keepdim=True)).exp()

# %% causal_attn_weights right (passed): torch's fused attention on an identity as keys and as values returns its weights
def causal_attn_weights(scores, d_k):
    eye = torch.eye(scores.shape[-1], dtype=scores.dtype, device=scores.device).expand_as(scores)
    return F.scaled_dot_product_attention(scores, eye, eye, is_causal=True, scale=d_k**-0.5)

# %% causal_attn_weights right (passed): handwritten stable softmax, the maximum taken over visible scores, exp only of these
def causal_attn_weights(scores, d_k):
    visible = get_mask(scores.shape[-1])
    scaled = scores / d_k**0.5
    top = scaled.masked_fill(~visible, -torch.inf).amax(dim=-1, keepdim=True)
    shifted = (scaled - top).masked_fill(~visible, 0.0)
    raised = shifted.exp().masked_fill(~visible, 0.0)
    return raised / raised.sum(dim=-1, keepdim=True)

# %% inverted_dropout wrong (misconception divided-by-p): divides by p, the probability of being dropped, instead of 1 - p (the same only at p = 0.5)
def inverted_dropout(x, keep, p):
    return x * keep / p

# %% inverted_dropout wrong (misconception by-what-happened): divides by the share that this draw happened to keep, not by 1 - p
def inverted_dropout(x, keep, p):
    dropped = x.masked_fill(~keep, 0.0)
    return dropped / keep.float().mean()

# %% inverted_dropout wrong (misconception draws-its-own): ignores keep and draws anew
def inverted_dropout(x, keep, p):
    return F.dropout(x, p=p, training=True)

# %% inverted_dropout wrong (misconception rows-renormalised-or-0): makes the rows sum to one again instead of dividing by 1 - p
def inverted_dropout(x, keep, p):
    kept = x * keep
    return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-9)

# %% inverted_dropout wrong (property leaves_its_inputs): zeroes the caller's tensor in place; the page uses the weights again afterwards, and passes an expanded tensor, where one zero lands in all rows
def inverted_dropout(x, keep, p):
    x[~keep] = 0
    return x / (1 - p)

# %% inverted_dropout wrong (misconception doubled): doubles whatever p is
def inverted_dropout(x, keep, p):
    return torch.where(keep, 2 * x, torch.zeros_like(x))

# %% inverted_dropout wrong (misconception keeps-the-dropped): reads keep as drop, the survivors are zeroed
def inverted_dropout(x, keep, p):
    return x.masked_fill(keep, 0.0) / (1 - p)

# %% inverted_dropout wrong (shape): returns the survivors only, a flat tensor without the zeros
def inverted_dropout(x, keep, p):
    return x[keep] / (1 - p)

# %% inverted_dropout right (passed): one torch.where
def inverted_dropout(x, keep, p):
    return torch.where(keep, x / (1 - p), torch.zeros_like(x))

# %% inverted_dropout right (passed): number by number in a loop over the flattened tensors
def inverted_dropout(x, keep, p):
    keep = keep.expand(x.shape)
    out = []
    for value, survives in zip(x.reshape(-1), keep.reshape(-1).tolist()):
        out.append(value / (1 - p) if survives else torch.zeros_like(value))
    if not out:
        return x.clone()
    return torch.stack(out).reshape(x.shape)

# %% inverted_dropout right (passed): writes the enlarged survivors into a table of zeros
def inverted_dropout(x, keep, p):
    keep = keep.expand_as(x)
    result = torch.zeros_like(x)
    result[keep] = x[keep].div(1.0 - p)
    return result

# %% inverted_dropout right (passed): torch's own kernel for the backward pass of dropout is mask times scale
def inverted_dropout(x, keep, p):
    factor = 1.0 / (1.0 - p) if p < 1 else 0.0
    return torch.ops.aten.native_dropout_backward(x, keep, factor)

# %% CausalAttention wrong (property moves_with_its_module): the mask is a plain attribute and no buffer, so it does not move with the module
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.mask = get_mask(context_length)

    def forward(self, x):
        n = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(~self.mask[:n, :n], -torch.inf)
        weights = torch.softmax(scores / self.d_out**0.5, dim=-1)
        return self.dropout(weights) @ values

# %% CausalAttention wrong (misconception dropout-on-the-output): dropout acts on the context vectors after the mix, not on the weights
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        b, n, _ = x.shape
        q = self.W_query(x)
        k = self.W_key(x)
        v = self.W_value(x)
        scores = q @ k.transpose(1, 2)
        scores = scores.masked_fill(~self.mask[:n, :n], -torch.inf)
        weights = torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1)
        context = weights @ v
        return self.dropout(context)

# %% CausalAttention wrong (misconception drops-in-eval): F.dropout without training=self.training, so it goes on dropping after eval(), and there is no nn.Dropout
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.p = dropout
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x):
        n = x.shape[-2]
        keys = self.W_key(x)
        scores = self.W_query(x) @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        weights = scores.masked_fill(~self.mask[:n, :n], -torch.inf).softmax(dim=-1)
        weights = F.dropout(weights, self.p)
        return weights @ self.W_value(x)

# %% CausalAttention wrong (misconception never-a-bias): qkv_bias is ignored, the layers never have a bias
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        n = x.shape[1]
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(~self.mask[:n, :n], float("-inf"))
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(weights) @ values

# %% CausalAttention wrong (misconception root-of-d_in): scores are divided by the root of d_in, the width of x, instead of d_out
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        batch_size, seq, d_k = x.shape
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1) / d_k**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return self.dropout(scores.softmax(dim=-1)) @ values

# %% CausalAttention wrong (property causal): cuts the last rows and first columns of the mask, so a text shorter than context_length sees its future
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        n = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        mask = self.mask[-n:, :n]
        scores = (queries @ keys.transpose(1, 2)).masked_fill(~mask, -torch.inf)
        weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        return weights @ values

# %% CausalAttention wrong (property lets_gradients_through): the no_grad of the page's demonstration is copied into forward, so W_query and W_key can never be trained
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        n = x.shape[1]
        with torch.no_grad():
            queries, keys = self.W_query(x), self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(~self.mask[:n, :n], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        weights = self.dropout(weights)
        return weights @ values

# %% CausalAttention right (passed): the buffer is registered and forward uses causal_attn_weights, which makes its mask anew and brings it to the scores
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1)
        weights = causal_attn_weights(scores, d_k=keys.shape[-1])
        return self.dropout(weights) @ values

# %% CausalAttention right (passed): text by text and position by position, each with its own softmax over its past
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        texts = []
        for text in x:
            n = len(text)
            queries, keys, values = self.W_query(text), self.W_key(text), self.W_value(text)
            contexts = []
            for i in range(n):
                scores = keys @ queries[i] / queries.shape[-1] ** 0.5
                scores = scores.masked_fill(~self.mask[i, :n], -torch.inf)
                weights = self.drop(torch.softmax(scores, dim=0))
                contexts.append(weights @ values)
            texts.append(torch.stack(contexts))
        return torch.stack(texts)

# %% CausalAttention right (passed): einsum with the tables turned, keys in rows and queries in columns, softmax down the columns
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.scale = d_out**-0.5
        self.register_buffer("mask", torch.ones(context_length, context_length).tril().bool())
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.attn_dropout = nn.Dropout(dropout)

    def forward(self, x):
        n = x.size(1)
        by_key = torch.einsum("bqd,bkd->bkq", self.W_query(x) * self.scale, self.W_key(x))
        visible = self.mask[:n, :n].T
        by_key = by_key.where(visible, by_key.new_tensor(float("-inf")))
        shares = self.attn_dropout(by_key.softmax(dim=1))
        return torch.einsum("bkq,bkd->bqd", shares, self.W_value(x))

# %% CausalAttention right (passed): one fused projection, weights from torch's fused attention with an identity as values, then dropout and mix
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        layers = (self.W_query, self.W_key, self.W_value)
        weight = torch.cat([layer.weight for layer in layers])
        bias = None if layers[0].bias is None else torch.cat([layer.bias for layer in layers])
        q, k, v = F.linear(x, weight, bias).chunk(3, dim=-1)
        n = x.shape[-2]
        eye = torch.eye(n, dtype=x.dtype, device=x.device).expand(*x.shape[:-2], n, n)
        attn = F.scaled_dot_product_attention(q, k, eye, attn_mask=self.mask[:n, :n])
        return self.dropout(attn) @ v

# %% CausalAttention right (passed): helper method, additive bias with baddbmm, unsaved buffer cut from its end, layers made in another order
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        steps = torch.arange(context_length)
        self.register_buffer("mask", steps.unsqueeze(1).ge(steps), persistent=False)
        self.weights_dropout = nn.Dropout(p=dropout)

    def attention(self, q, k):
        n, d_k = q.shape[-2:]
        bias = q.new_zeros(n, n).masked_fill(self.mask[-n:, -n:].logical_not(), -torch.inf)
        return torch.baddbmm(bias.expand(len(q), n, n), q, k.mT, alpha=d_k**-0.5).softmax(-1)

    def forward(self, x):
        shares = self.attention(self.W_query(x), self.W_key(x))
        return torch.bmm(self.weights_dropout(shares), self.W_value(x))
