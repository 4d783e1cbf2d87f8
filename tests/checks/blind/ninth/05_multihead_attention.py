# %% MultiHeadAttention wrong (property made_in_order): makes W_query, W_value, W_key in this order, so a seed gives other values than the page prints
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        weights = self.dropout(causal_attn_weights(q @ k.mT, self.d_head))
        return self.out_proj(merge_heads(weights @ v))

# %% MultiHeadAttention wrong (difference places): divides the scores by the root of the number of heads, not of the head's width
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{d_out} entries cannot be shared by {num_heads} heads")
        self.h = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.h)
        keys = split_heads(self.W_key(x), self.h)
        values = split_heads(self.W_value(x), self.h)
        scores = torch.einsum("bhqd,bhkd->bhqk", queries, keys) / self.h**0.5
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = self.drop(scores.softmax(dim=-1))
        return self.out_proj(merge_heads(weights @ values))

# %% MultiHeadAttention wrong (misconception dropout-on-the-output): the dropout is on the layer's result after out_proj, not on the weights
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.d_head, rest = divmod(d_out, num_heads)
        if rest:
            raise ValueError("uneven heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        context = causal_attn_weights(q @ k.transpose(2, 3), self.d_head) @ v
        return self.dropout(self.out_proj(merge_heads(context)))

# %% MultiHeadAttention wrong (property causal): takes the last rows of the mask for a text shorter than context_length, so positions see later ones
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out must be a multiple of num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x):
        t = x.size(-2)
        q, k, v = [split_heads(w(x), self.num_heads) for w in (self.W_query, self.W_key, self.W_value)]
        visible = self.mask[-t:, :t]
        scores = (q @ k.mT / q.size(-1) ** 0.5).masked_fill(~visible, float("-inf"))
        return self.out_proj(merge_heads(self.dropout(torch.softmax(scores, -1)) @ v))

# %% MultiHeadAttention wrong (property drops_weights): nn.Dropout2d removes the whole table of a head in training, not single weights
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.d_head = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout2d(dropout)  # the tables are two-dimensional

    def forward(self, x):
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        weights = causal_attn_weights(q @ k.transpose(-2, -1), self.d_head)
        return self.out_proj(merge_heads(self.dropout(weights) @ v))

# %% MultiHeadAttention wrong (property state): keeps the mask of the first text that it sees, so a later and longer text fails
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads, self.scale = num_heads, (d_out // num_heads) ** -0.5
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", None, persistent=False)

    def forward(self, x):
        seq = x.shape[1]
        if self.mask is None:
            self.mask = get_mask(seq).to(x.device)
        q, k, v = (split_heads(f(x), self.num_heads) for f in (self.W_query, self.W_key, self.W_value))
        scores = (q * self.scale) @ k.mT
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return self.out_proj(merge_heads(self.dropout(scores.softmax(-1)) @ v))

# %% MultiHeadAttention right (passed): torch's scaled_dot_product_attention, with the dropout only in training
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"d_out = {d_out} cannot be divided evenly among {num_heads} heads")
        self.num_heads = num_heads
        self.dropout = nn.Dropout(dropout)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x):
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        rate = self.dropout.p if self.training else 0.0
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=rate, is_causal=True)
        return self.out_proj(merge_heads(mixed))

# %% MultiHeadAttention right (passed): a loop over the heads with column chunks and an additive mask of -inf
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = num_heads
        self.width, remainder = divmod(d_out, num_heads)
        if remainder > 0:
            raise ValueError("the heads would have different widths")
        for name in ("W_query", "W_key", "W_value"):
            self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.add_module("out_proj", nn.Linear(d_out, d_out, bias=True))
        self.drop = nn.Dropout(p=dropout)

    def forward(self, x):
        seq = x.shape[-2]
        hidden = torch.full((seq, seq), -torch.inf, device=x.device, dtype=x.dtype).triu(diagonal=1)
        results = []
        pieces = (layer(x).split(self.width, dim=-1) for layer in (self.W_query, self.W_key, self.W_value))
        for q, k, v in zip(*pieces):
            scores = torch.einsum("bqd,bkd->bqk", q, k) * self.width**-0.5
            results.append(self.drop(torch.softmax(scores + hidden, dim=-1)) @ v)
        return self.out_proj(torch.cat(results, dim=-1))

# %% split_heads wrong (misconception num_heads-and-d_head-swapped): num_heads is used as the width of a piece, so there are d_head heads
def split_heads(x, num_heads):
    return torch.stack(x.split(num_heads, dim=-1), dim=1)

# %% split_heads wrong (misconception width-before-positions): stops at [batch, heads, d_head, seq], the last transpose is forgotten
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    batch, seq, d_out = x.shape
    columns = x.transpose(1, 2)  # [batch, d_out, seq]
    return columns.reshape(batch, num_heads, d_out // num_heads, seq)

# %% split_heads wrong (difference places): the windows move by one entry, so the heads overlap
def split_heads(x, num_heads):
    d_head = x.shape[-1] // num_heads
    windows = x.unfold(-1, d_head, 1)[:, :, :num_heads]  # [batch, seq, heads, d_head]
    return windows.transpose(1, 2)

# %% split_heads wrong (shape): with a single head the axis of the heads is squeezed away
def split_heads(x, num_heads):
    parts = x.chunk(num_heads, dim=-1)
    return torch.stack(parts, dim=1).squeeze(1)

# %% split_heads wrong (property leaves_its_inputs): gives the caller's own tensor an extra axis
def split_heads(x, num_heads):
    x.unsqueeze_(1)  # [batch, 1, seq, d_out]
    return torch.cat(x.chunk(num_heads, dim=-1), dim=1)

# %% split_heads right (passed): windows of d_head entries that move by d_head
def split_heads(x, num_heads):
    d_head = x.shape[-1] // num_heads
    return x.unfold(-1, d_head, d_head).permute(0, 2, 1, 3)

# %% split_heads right (passed): a table of entry numbers indexes the last axis
def split_heads(x, num_heads):
    entries = torch.arange(x.shape[-1], device=x.device).view(num_heads, -1)
    return x[..., entries].movedim(2, 1)

# %% head_kind wrong (property means): a uniform head's row i is taken as 1 / i
def head_kind(pattern):
    n = len(pattern)
    rows = torch.arange(2, n)
    means = {
        "previous": pattern[rows, rows - 1].mean().item(),
        "current": pattern[rows, rows].mean().item(),
        "first": pattern[rows, 0].mean().item(),
    }
    uniform = (1 / rows).mean().item()
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"

# %% head_kind wrong (property means): the rows vote, and the kind that wins most rows is the name
def head_kind(pattern):
    votes = Counter()
    total, uniform = {"previous": 0.0, "current": 0.0, "first": 0.0}, 0.0
    for i in range(2, len(pattern)):
        row = {"previous": pattern[i, i - 1].item(), "current": pattern[i, i].item(), "first": pattern[i, 0].item()}
        votes[max(row, key=row.get)] += 1
        uniform += 1 / (i + 1)
        for kind in row:
            total[kind] += row[kind]
    winner = votes.most_common(1)[0][0]
    return winner if total[winner] >= 1.4 * uniform else "other"

# %% head_kind wrong (misconception first-over-the-bar): returns the first kind that passes 1.4, although another mean may be larger
def head_kind(pattern):
    n = pattern.shape[0]
    uniform = sum(1 / (i + 1) for i in range(2, n)) / (n - 2)
    if pattern.diagonal(-1)[1:].mean() >= 1.4 * uniform:
        return "previous"
    if pattern.diagonal()[2:].mean() >= 1.4 * uniform:
        return "current"
    if pattern[2:, 0].mean() >= 1.4 * uniform:
        return "first"
    return "other"

# %% head_kind wrong (property means): rounds the means to two decimals before they are compared
def head_kind(pattern):
    i = range(2, len(pattern))
    mean = lambda numbers: round(float(sum(numbers)) / len(i), 2)
    previous, current, first = mean(pattern[r, r - 1] for r in i), mean(pattern[r, r] for r in i), mean(pattern[r, 0] for r in i)
    uniform = mean(1 / (r + 1) for r in i)
    largest = max(previous, current, first)
    if largest < 1.4 * uniform:
        return "other"
    return {previous: "previous", current: "current", first: "first"}[largest]

# %% head_kind wrong (property means): leaves out the last row of the pattern
def head_kind(pattern):
    seq = pattern.size(0)
    looked = torch.tensor([[pattern[i, i - 1], pattern[i, i], pattern[i, 0], 1 / (i + 1)] for i in range(2, seq - 1)])
    previous, current, first, uniform = looked.reshape(-1, 4).mean(dim=0).tolist()
    mean, kind = max((previous, "previous"), (current, "current"), (first, "first"))
    return kind if mean >= 1.4 * uniform else "other"

# %% head_kind wrong (raised): a pattern of three rows loses an axis in squeeze and fails
def head_kind(pattern):
    rows = pattern[2:].squeeze()
    i = torch.arange(2, pattern.shape[-1], device=pattern.device)
    previous = rows.gather(1, (i - 1)[:, None]).mean()
    current = rows.gather(1, i[:, None]).mean()
    first = rows[:, 0].mean()
    means = torch.stack((previous, current, first))
    if means.max() < 1.4 * (1 / (i + 1)).mean():
        return "other"
    return ("previous", "current", "first")[means.argmax()]

# %% head_kind right (passed): Python lists and sums, the number of rows cancels
def head_kind(pattern):
    table = pattern.tolist()
    rows = range(2, len(table))
    sums = {
        "previous": sum(table[i][i - 1] for i in rows),
        "current": sum(table[i][i] for i in rows),
        "first": sum(table[i][0] for i in rows),
    }
    kind, most = max(sums.items(), key=lambda item: item[1])
    return kind if most >= 1.4 * sum(1 / (i + 1) for i in rows) else "other"

# %% head_kind right (passed): diagonals of the lower part, against a uniform head made as a pattern
def head_kind(pattern):
    def looks(table):
        below = table[2:]
        return torch.stack((below.diagonal(1).mean(), below.diagonal(2).mean(), below[:, 0].mean()))

    ones = torch.ones_like(pattern).tril()
    uniform = looks(ones / ones.sum(dim=1, keepdim=True))
    mine = looks(pattern)
    best = int(mine.argmax())
    return ["previous", "current", "first"][best] if mine[best] >= 1.4 * uniform[best] else "other"

# %% split_heads right (passed): fills a float32 table; the page promises nothing for float64
def split_heads(x, num_heads):
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    out = torch.zeros(batch, num_heads, seq, d_head, device=x.device)
    for h in range(num_heads):
        out[:, h] = x[:, :, h * d_head : (h + 1) * d_head]
    return out
