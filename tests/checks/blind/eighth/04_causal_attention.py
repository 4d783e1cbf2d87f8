# %% get_mask wrong (misconception sees-the-future): the cumulative sum of the identity runs along the rows, so the upper triangle is True
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.eye(size).cumsum(dim=1).bool()


# %% get_mask wrong (property sees_itself_and_its_past): the loop stops before the last row, which stays all False
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size - 1):
        mask[i, : i + 1] = True
    return mask


# %% get_mask wrong (misconception one-step-ahead): the diagonal of triu is one too far, so each position also sees the next one
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    future = torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=2)
    return ~future


# %% get_mask wrong (dtype): the table holds the integers 0 and 1 instead of booleans
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    table = []
    for row in range(size):
        table.append([1] * (row + 1) + [0] * (size - row - 1))
    return torch.tensor(table)


# %% get_mask wrong (misconception blind-to-itself): the column of positions is compared with strictly smaller, so a position does not see itself
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    position = torch.arange(size)
    return position.unsqueeze(0) < position.unsqueeze(1)


# %% get_mask wrong (property sees_itself_and_its_past): positions further back than nine are hidden, which small tables do not show
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    position = torch.arange(size)
    distance = position[:, None] - position[None, :]
    return (distance >= 0) & (distance < 10)


# %% get_mask wrong (shape): a table of size 1 loses both axes through squeeze
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    rows, columns = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    return torch.ge(rows, columns).squeeze()


# %% get_mask wrong (property sees_itself_and_its_past): bfloat16 positions above 256 are rounded, so some rows of a long table see a later position
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    position = torch.arange(size).to(torch.bfloat16)
    return position[:, None] >= position[None, :]


# %% get_mask right (passed): cumulative sum of the boolean identity down the columns
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    return torch.eye(size, dtype=torch.bool).cumsum(dim=0) > 0


# %% get_mask right (passed): writes True at the indices of the lower triangle
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    mask = torch.full((size, size), False)
    rows, columns = torch.tril_indices(size, size)
    mask[rows, columns] = True
    return mask


# %% get_mask right (passed): flat cell numbers, divided into row and column
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    cell = torch.arange(size * size)
    row = cell // max(size, 1)
    return (cell - row * size <= row).reshape(size, size)


# %% masked_then_renormalised wrong (misconception dealt-out-equally): shares the lost weight equally among the visible positions instead of rescaling
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    kept = weights.masked_fill(~mask, 0.0)
    lost = 1 - kept.sum(dim=-1, keepdim=True)
    return kept + mask * lost / mask.sum(dim=-1, keepdim=True)


# %% masked_then_renormalised wrong (misconception weights-taken-for-scores): takes a softmax of the visible weights as if they were scores
def masked_then_renormalised(weights, mask):
    return F.softmax(torch.where(mask, weights, torch.tensor(float("-inf"))), dim=-1)


# %% masked_then_renormalised wrong (misconception length-of-one): F.normalize with its default makes the length of each row one, not its sum
def masked_then_renormalised(weights, mask):
    return F.normalize(weights * mask, dim=-1)


# %% masked_then_renormalised wrong (misconception divided-by-the-count): divides by the number of visible positions
def masked_then_renormalised(weights, mask):
    visible = torch.einsum("qk->q", mask.to(weights.dtype))
    return weights * mask / visible[:, None]


# %% masked_then_renormalised wrong (misconception keepdim-forgotten): the sums lose their axis and line up with the columns
def masked_then_renormalised(weights, mask):
    kept = torch.mul(weights, mask)
    return kept / kept.sum(-1)


# %% masked_then_renormalised wrong (misconception one-minus-hidden): takes the row sum as one minus the hidden part, which holds only if rows summed to one
def masked_then_renormalised(weights, mask):
    hidden = (weights * ~mask).sum(dim=-1, keepdim=True)
    return weights * mask / (1 - hidden)


# %% masked_then_renormalised wrong (property rows_sum_to_one): each row is divided by its sum over all texts of the batch
def masked_then_renormalised(weights, mask):
    kept = weights * mask
    rows = [kept[..., i, :] / kept[..., i, :].sum() for i in range(mask.shape[0])]
    return torch.stack(rows, dim=-2)


# %% masked_then_renormalised wrong (property rows_sum_to_one): sums are limited from below to 0.001, so rows with little visible weight stay below one
def masked_then_renormalised(weights, mask):
    kept = weights.masked_fill(mask.logical_not(), 0)
    return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-3)


# %% masked_then_renormalised wrong (raised): the loop counts keys instead of queries, so a table that is not square comes out wrong
def masked_then_renormalised(weights, mask):
    kept = weights * mask
    out = []
    for i in range(weights.shape[-1]):
        row = kept[..., i, :]
        out.append(row / row.sum(dim=-1, keepdim=True))
    return torch.stack(out, dim=-2)


# %% masked_then_renormalised wrong (misconception second-axis): sums along axis 1, which is the query axis when there is a batch axis
def masked_then_renormalised(weights, mask):
    kept = torch.where(mask, weights, torch.zeros_like(weights))
    return kept / torch.sum(kept, 1, keepdim=True)


# %% masked_then_renormalised right (passed): row sums by einsum, hidden cells by where
def masked_then_renormalised(weights, mask):
    sums = torch.einsum("...qk,qk->...q", weights, mask.to(weights.dtype))
    return torch.where(mask, weights / sums.unsqueeze(-1), torch.zeros_like(weights))


# %% masked_then_renormalised right (passed): moves the keys to the front so that the sums line up without keepdim
def masked_then_renormalised(weights, mask):
    by_key = weights.masked_fill(~mask, 0.0).movedim(-1, 0)
    return (by_key / by_key.sum(dim=0)).movedim(0, -1)


# %% masked_then_renormalised right (passed): row by row with a helper, any number of axes in front
def masked_then_renormalised(weights, mask):
    def rescale(row, visible):
        row = row * visible
        return row / row.sum(dim=-1).unsqueeze(-1)

    return torch.stack([rescale(weights[..., q, :], mask[q]) for q in range(len(mask))], dim=-2)


# %% causal_attn_weights wrong (misconception root-of-the-length): divides by the square root of the number of positions instead of d_k
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    seq = scores.shape[-1]
    hidden = ~get_mask(seq)
    return torch.softmax(scores.masked_fill(hidden, -torch.inf) / seq**0.5, dim=-1)


# %% causal_attn_weights wrong (difference milestone): floor division by the square root
def causal_attn_weights(scores, d_k):
    scaled = scores // d_k**0.5
    return F.softmax(scaled.masked_fill(~get_mask(scores.size(-1)), float("-inf")), dim=-1)


# %% causal_attn_weights wrong (misconception scaled-too-late): the square root divides the weights after the softmax
def causal_attn_weights(scores, d_k):
    n = scores.shape[-1]
    weights = torch.where(get_mask(n), scores, -torch.inf).softmax(dim=-1)
    return weights / torch.sqrt(torch.tensor(d_k))


# %% causal_attn_weights wrong (misconception wrong-axis): the softmax runs down the columns
def causal_attn_weights(scores, d_k):
    masked = scores.masked_fill(~get_mask(scores.shape[-1]), -torch.inf)
    return (masked * d_k**-0.5).softmax(-2)


# %% causal_attn_weights wrong (misconception zeros-hidden-too): every score that is exactly 0 is taken for a hidden one
def causal_attn_weights(scores, d_k):
    lower = torch.tril(scores)
    lower = lower.masked_fill(lower == 0, -torch.inf)
    return torch.softmax(lower / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (difference places): hidden scores lie only 50 below the smallest score, so the future gets a little weight
def causal_attn_weights(scores, d_k):
    floor = scores.min().item() - 50
    masked = torch.where(get_mask(scores.shape[-1]), scores, torch.full_like(scores, floor))
    return torch.softmax(masked / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (property finite): subtracts the largest visible score of the whole table, so a row of far smaller scores is 0 / 0
def causal_attn_weights(scores, d_k):
    mask = get_mask(scores.shape[-1])
    scaled = (scores / d_k**0.5).masked_fill(~mask, -torch.inf)
    e = torch.exp(scaled - scaled.max())
    return e / e.sum(dim=-1, keepdim=True)


# %% causal_attn_weights wrong (property finite_when_scaled): scores are clamped to 50 on both sides, which makes large scores equal
def causal_attn_weights(scores, d_k):
    safe = (scores / d_k**0.5).clamp(-50, 50)
    return safe.masked_fill(~get_mask(safe.shape[-1]), -torch.inf).softmax(dim=-1)


# %% causal_attn_weights wrong (property lets_gradients_through): rebuilds the table from Python numbers, so no gradient reaches the scores
def causal_attn_weights(scores, d_k):
    def rows(table):
        if table and isinstance(table[0][0], list):
            return [rows(t) for t in table]
        n = len(table)
        result = []
        for i in range(n):
            seen = [s / d_k**0.5 for s in table[i][: i + 1]]
            top = max(seen)
            e = [2.718281828459045 ** (s - top) for s in seen]
            result.append([v / sum(e) for v in e] + [0.0] * (n - i - 1))
        return result

    return torch.tensor(rows(scores.tolist()), dtype=scores.dtype)


# %% causal_attn_weights wrong (misconception mask-as-long-as-the-batch): takes the size of the mask from the first axis, which is the batch when there is one
def causal_attn_weights(scores, d_k):
    n = len(scores)
    return torch.softmax((scores / d_k**0.5).masked_fill(~get_mask(n), -torch.inf), dim=-1)


# %% causal_attn_weights right (passed): a softmax over each row's visible part, padded with zeros
def causal_attn_weights(scores, d_k):
    n = scores.shape[-1]
    rows = []
    for i in range(n):
        visible = torch.softmax(scores[..., i, : i + 1] / d_k**0.5, dim=-1)
        rows.append(F.pad(visible, (0, n - 1 - i)))
    return torch.stack(rows, dim=-2)


# %% causal_attn_weights right (passed): adds a table of 0 and -inf made by triu
def causal_attn_weights(scores, d_k):
    n = scores.size(-1)
    bias = torch.triu(torch.full((n, n), -torch.inf, dtype=scores.dtype, device=scores.device), diagonal=1)
    return F.softmax(torch.add(bias, scores, alpha=d_k**-0.5), dim=-1)


# %% causal_attn_weights right (passed): the exponential of the masked scores minus their logsumexp
def causal_attn_weights(scores, d_k):
    hidden = ~get_mask(scores.shape[-1]).to(scores.device)
    logits = scores.div(d_k**0.5).masked_fill(hidden, -torch.inf)
    return (logits - logits.logsumexp(dim=-1, keepdim=True)).exp()


# %% inverted_dropout wrong (misconception one-plus-p): enlarges by the factor 1 + p
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    return x * keep * (1 + p)


# %% inverted_dropout wrong (misconception multiplied): multiplies the survivors by 1 - p
def inverted_dropout(x, keep, p):
    survivors = torch.where(keep, x, torch.zeros_like(x))
    return survivors.mul(1 - p)


# %% inverted_dropout wrong (difference milestone): numbers that are not kept stay as they are instead of becoming 0
def inverted_dropout(x, keep, p):
    return torch.where(keep, x / (1 - p), x)


# %% inverted_dropout wrong (misconception draws-its-own): calls torch's dropout, which makes its own random choice
def inverted_dropout(x, keep, p):
    return F.dropout(x, p=p, training=True)


# %% inverted_dropout wrong (misconception rows-keep-their-sum): rescales so that each row keeps its old sum
def inverted_dropout(x, keep, p):
    kept = x * keep
    return kept * x.sum(dim=-1, keepdim=True) / kept.sum(dim=-1, keepdim=True)


# %% inverted_dropout wrong (misconception by-what-happened): divides by the share that survived this time, not by 1 - p
def inverted_dropout(x, keep, p):
    share = keep.to(x.dtype).mean()
    return x.masked_fill(~keep, 0.0) / share


# %% inverted_dropout wrong (difference factor): floor division rounds the factor down, which is wrong unless 1 / (1 - p) is a whole number
def inverted_dropout(x, keep, p):
    factor = 1 // (1 - p)
    return x * keep.type_as(x) * factor


# %% inverted_dropout wrong (raised): the loops expect exactly two axes
def inverted_dropout(x, keep, p):
    rows = []
    for i in range(x.shape[0]):
        rows.append(torch.stack([x[i, j] / (1 - p) if keep[i, j] else x[i, j] * 0 for j in range(x.shape[1])]))
    return torch.stack(rows)


# %% inverted_dropout wrong (property leaves_its_inputs): writes into x, which a leaf that needs a gradient does not allow
def inverted_dropout(x, keep, p):
    x[~keep] = 0
    return x / (1 - p)


# %% inverted_dropout wrong (property gradients): right numbers, but the gradient is 1 everywhere, even where a number was dropped
def inverted_dropout(x, keep, p):
    dropped = torch.where(keep, x / (1 - p), 0.0)
    return x + (dropped - x).detach()


# %% inverted_dropout right (passed): scatters the enlarged survivors into zeros
def inverted_dropout(x, keep, p):
    return torch.zeros_like(x).masked_scatter(keep, x[keep] / (1 - p))


# %% inverted_dropout right (passed): multiplies by a table of factors made from keep
def inverted_dropout(x, keep, p):
    factors = torch.zeros_like(x).masked_fill(keep, 1 / (1 - p) if p < 1 else 0.0)
    return torch.mul(factors, x)


# %% CausalAttention wrong (misconception root-of-d_in): scales by the square root of d_in
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        _, seq, d = x.shape
        scores = self.W_query(x) @ self.W_key(x).mT / d**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return self.dropout(scores.softmax(dim=-1)) @ self.W_value(x)


# %% CausalAttention wrong (misconception query-and-key-swapped): the einsum puts the keys before the queries, so the table of scores is transposed
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1).bool())

    def forward(self, x):
        n = x.shape[1]
        scores = torch.einsum("bqd,bkd->bkq", self.W_query(x), self.W_key(x))
        scores = scores.masked_fill(self.mask[:n, :n], float("-inf"))
        weights = self.dropout(torch.softmax(scores / self.d_out**0.5, dim=-1))
        return torch.einsum("bqk,bkd->bqd", weights, self.W_value(x))


# %% CausalAttention wrong (structure): the value layer always has a bias because its argument was forgotten
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.transpose(1, 2)).masked_fill(hidden, -torch.inf)
        return self.dropout(torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1)) @ v


# %% CausalAttention wrong (misconception dropout-of-the-values): dropout acts on the values, not on the weights
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x):
        seq = x.size(1)
        q, k, v = self.W_query(x), self.W_key(x), self.dropout(self.W_value(x))
        scores = torch.bmm(q, k.mT).masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return torch.bmm(F.softmax(scores / q.size(-1) ** 0.5, dim=-1), v)


# %% CausalAttention wrong (misconception keys-as-values): copy-paste slip, the values come from W_key and W_value is never used
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        b, seq, _ = x.shape
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_key(x)
        scores = queries @ keys.transpose(-2, -1)
        scores.masked_fill_(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        return weights @ values


# %% CausalAttention wrong (property causal): a shorter text gets the last rows of the mask, which hide too little
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
        visible = self.mask[-n:, :n]
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2) / self.W_key.out_features**0.5
        weights = torch.where(visible, scores, -torch.inf).softmax(dim=-1)
        return self.dropout(weights) @ self.W_value(x)


# %% CausalAttention wrong (misconception drops-in-eval): forward makes a new dropout in training mode, so eval does not switch it off
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.p = dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        seq = x.shape[-2]
        scores = self.W_query(x) @ self.W_key(x).mT
        masked = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(masked / scores.new_tensor(self.W_query.out_features).sqrt(), -1)
        return nn.Dropout(self.p)(weights) @ self.W_value(x)


# %% CausalAttention wrong (difference milestone): all texts are compared with the keys of the first text
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        seq = x.shape[1]
        scores = self.W_query(x) @ self.W_key(x)[0].T
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_out**0.5, dim=-1))
        return weights @ self.W_value(x)


# %% CausalAttention wrong (property finite_when_scaled): exponentials by hand overflow to inf / inf when the numbers of the text are large
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = (layer(x) for layer in (self.W_query, self.W_key, self.W_value))
        e = torch.tril(torch.exp(q @ k.mT / q.shape[-1] ** 0.5))
        return self.dropout(e / e.sum(dim=-1, keepdim=True)) @ v


# %% CausalAttention wrong (property moves_with_its_module): masks are kept by length in a dictionary, which does not move with the module after a first call
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.hidden = {}

    def forward(self, x):
        n = x.shape[1]
        if n not in self.hidden:
            self.hidden[n] = ~get_mask(n).to(x.device)
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(self.hidden[n], -torch.inf)
        return self.dropout(scores.softmax(-1)) @ v


# %% CausalAttention wrong (property finite): the weights are rescaled to sum to one after dropout, which shows in training only
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
        scores = self.W_query(x) @ self.W_key(x).mT / self.W_key.out_features**0.5
        weights = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf).softmax(dim=-1)
        weights = self.dropout(weights)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return weights @ self.W_value(x)


# %% CausalAttention wrong (property state): the mask is made for the length of the first text and reused, so a longer text fails later
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", None)

    def forward(self, x):
        seq = x.shape[1]
        if self.mask is None:
            self.mask = get_mask(seq).to(x.device)
        scores = self.W_query(x) @ self.W_key(x).mT / self.W_query.out_features**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ self.W_value(x)


# %% CausalAttention right (passed): layers made in a loop, positions compared in each call, einsum throughout
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        for name in ("W_value", "W_key", "W_query"):
            self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.drop = nn.Dropout(p=dropout)

    def forward(self, x):
        place = torch.arange(x.shape[1], device=x.device)
        scores = torch.einsum("bqe,bke->bqk", self.W_query(x), self.W_key(x)) * self.W_key.out_features**-0.5
        scores = torch.where(place[:, None] >= place, scores, -torch.inf)
        return torch.einsum("bqk,bke->bqe", self.drop(scores.softmax(-1)), self.W_value(x))


# %% CausalAttention right (passed): baddbmm with a table of 0 and -inf made from a buffer of hidden cells
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("mask", hidden, persistent=False)

    def forward(self, x):
        n = x.shape[1]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        bias = q.new_zeros(n, n).masked_fill(self.mask[:n, :n], -torch.inf)
        scores = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=q.shape[-1] ** -0.5)
        return torch.bmm(self.dropout(F.softmax(scores, dim=2)), v)


# %% CausalAttention right (passed): each position in turn attends to the prefix of the text that ends at it
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.scale = d_out**0.5
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        out = []
        for i in range(x.shape[1]):
            past = slice(0, i + 1)
            scores = queries[:, i : i + 1] @ keys[:, past].mT / self.scale
            out.append(self.dropout(scores.softmax(dim=-1)) @ values[:, past])
        return torch.cat(out, dim=1)
