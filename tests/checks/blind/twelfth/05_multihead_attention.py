# %% MultiHeadAttentionWrapper wrong (misconception in-a-plain-list): an ordinary Python list, torch finds no parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception interleaved): stacks along a new last axis and flattens, so the heads' entries alternate
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.stack([head(x) for head in self.heads], dim=-1).flatten(-2)


# %% MultiHeadAttentionWrapper wrong (misconception never-a-bias): subtle, qkv_bias is not passed on, shows only with qkv_bias=True
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception no-dropout): subtle, the heads always get dropout 0.0, shows in training with dropout above 0
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, 0.0, qkv_bias=qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=2)


# %% MultiHeadAttentionWrapper right (passed): ModuleList and cat along the last axis
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): append in a loop, stack before the width and flatten
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(
                CausalAttention(
                    d_in=d_in, d_out=d_out, context_length=context_length, dropout=dropout, qkv_bias=qkv_bias
                )
            )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        results = []
        for head in self.heads:
            results.append(head(x))
        return torch.stack(results, dim=-2).flatten(start_dim=-2)


# %% split_heads wrong (misconception view-without-transpose): a plain view to the shape, heads get whole positions
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (misconception interleaved): cuts to [d_head, num_heads], so each head gets every num_heads-th entry
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, d_out // num_heads, num_heads).permute(0, 3, 1, 2)


# %% split_heads wrong (misconception num_heads-and-d_head-swapped): subtle, split takes the size of a piece and not their number, right only if d_head equals num_heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


# %% split_heads wrong (property lets_gradients_through): subtle, right numbers, but copied from x.data, so no gradient flows
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    heads = x.new_empty(batch, num_heads, seq, d_head)
    for h in range(num_heads):
        heads[:, h] = x.data[:, :, h * d_head : (h + 1) * d_head]
    return heads


# %% split_heads right (passed): view and transpose
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, num_heads, d_out // num_heads).transpose(1, 2)


# %% split_heads right (passed): slices of the width, stacked along a new axis 1
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    d_head = x.shape[-1] // num_heads
    pieces = [x[..., h * d_head : (h + 1) * d_head] for h in range(num_heads)]
    return torch.stack(pieces, dim=1)


# %% merge_heads wrong (misconception not-transposed): reshapes without moving the heads behind the positions first
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (misconception interleaved): moves the heads to the very end, so the entries of the heads alternate
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.permute(0, 2, 3, 1).flatten(2)


# %% merge_heads wrong (misconception view-after-transpose): subtle, view after transpose, works on the result of split_heads, raises an error on a contiguous tensor such as weights @ values
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.transpose(1, 2).view(batch, seq, num_heads * d_head)


# %% merge_heads wrong (shape): subtle, squeezes, shows for a batch of one text or a text of one position
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    heads = x.split(1, dim=1)
    return torch.cat(heads, dim=-1).squeeze()


# %% merge_heads right (passed): transpose and flatten
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.transpose(1, 2).flatten(2)


# %% merge_heads right (passed): cat of the heads along the last axis
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat(x.unbind(dim=1), dim=-1)


# %% MultiHeadAttention wrong (raised): assert instead of ValueError when the heads cannot share d_out
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(2, 3)
        scores.masked_fill_(self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (misconception root-of-d_out): divides by the root of d_out instead of the root of a head's width
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads, self.d_out = num_heads, d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(2, 3) / self.d_out**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (property finite_when_scaled): subtle, its own softmax subtracts the largest score of the whole table, rows far below it become nan with large inputs
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_out} entries")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        powers = torch.exp(scores - scores.max())  # no overflow
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention wrong (misconception dropout-on-the-output): subtle, dropout acts on the result and not on the weights, shows in training with dropout above 0
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        context = merge_heads(torch.softmax(scores, dim=-1) @ values)
        return self.dropout(self.out_proj(context))


# %% MultiHeadAttention right (passed): causal_attn_weights on all heads at once, no stored mask
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        queries, keys, values = (
            split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value)
        )
        weights = causal_attn_weights(queries @ keys.transpose(-2, -1), d_k=keys.shape[-1])
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention right (passed): one head after another on slices of the width, buffer of True for hidden
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.d_head, rest = divmod(d_out, num_heads)
        if rest:
            raise ValueError(f"d_out = {d_out} cannot be divided among {num_heads} heads")
        self.n_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("hidden", hidden, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        contexts = []
        for h in range(self.n_heads):
            mine = slice(h * self.d_head, (h + 1) * self.d_head)
            scores = torch.einsum("bqd,bkd->bqk", q[..., mine], k[..., mine]) * self.d_head**-0.5
            weights = scores.masked_fill(self.hidden[:seq, :seq], -torch.inf).softmax(dim=-1)
            contexts.append(self.dropout(weights).bmm(v[..., mine]))
        return self.out_proj(torch.cat(contexts, dim=-1))


# %% all_head_patterns wrong (misconception no-biases): leaves the biases out
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        patterns.append(causal_attn_weights((x @ W_Q) @ (x @ W_K).T, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception scaled-twice): scales the scores before causal_attn_weights scales them again
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries = x @ W_Q + b_Q
        keys = x @ W_K + b_K
        d_k = keys.shape[-1]
        scores = queries @ keys.T / d_k**0.5
        patterns.append(causal_attn_weights(scores, d_k))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception all-heads): subtle, ignores n_heads and returns all heads of the model, shows if n_heads is smaller
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(source.n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, d_k=W_K.shape[1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (raised): subtle, collects in a list outside the function, a second call returns the patterns of the first call too or fails
collected = []


def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    tokens, x = gpt2.get_pre_attn(prompt)
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        collected.append(causal_attn_weights(scores, d_k=W_K.shape[1]))
    return torch.stack(collected)


# %% all_head_patterns right (passed): one head at a time, stacked
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns right (passed): stacks the parameters of all heads and computes all scores in one einsum
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    x = gpt2.get_pre_attn(prompt)[1]
    parts = zip(*(gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)))
    W_Q, W_K, b_Q, b_K = (torch.stack(list(part)) for part in parts)
    queries = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q.unsqueeze(1)
    keys = torch.einsum("sm,hmd->hsd", x, W_K) + b_K.unsqueeze(1)
    return causal_attn_weights(torch.einsum("hqd,hkd->hqk", queries, keys), queries.shape[-1])


# %% head_kind wrong (property means): takes the means over all rows, rows 0 and 1 included
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = len(pattern)
    means = {
        "previous": pattern.diagonal(-1).mean(),
        "current": pattern.diagonal().mean(),
        "first": pattern[:, 0].mean(),
    }
    uniform = sum(1 / (i + 1) for i in range(seq)) / seq
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception bar-one-over-seq): a uniform head's mean is taken as 1 / seq
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    rows = torch.arange(2, seq)
    names = ["previous", "current", "first"]
    means = torch.stack([pattern[rows, rows - 1].mean(), pattern[rows, rows].mean(), pattern[2:, 0].mean()])
    if means.max() < 1.4 / seq:
        return "other"
    return names[means.argmax()]


# %% head_kind wrong (property means): subtle, the limit is computed for 14 tokens only, shows for other lengths
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, 14)) / 12
    name, largest = max(means.items(), key=lambda item: item[1])
    return name if largest >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception first-over-the-bar): subtle, returns the first kind that reaches the limit instead of the largest, shows if two kinds reach it
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = range(2, len(pattern))
    limit = 1.4 * sum(1 / (i + 1) for i in rows) / len(rows)
    if sum(pattern[i, i - 1] for i in rows) / len(rows) >= limit:
        return "previous"
    if sum(pattern[i, i] for i in rows) / len(rows) >= limit:
        return "current"
    if sum(pattern[i, 0] for i in rows) / len(rows) >= limit:
        return "first"
    return "other"


# %% head_kind right (passed): diagonals cut to the rows from 2 on, and a dictionary
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = (1 / torch.arange(3.0, len(pattern) + 1)).mean().item()
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind right (passed): sums in a loop over the rows, compared with 1.4 times the sum of a uniform head
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    previous = current = first = uniform = 0.0
    for i, row in enumerate(pattern.tolist()):
        if i >= 2:
            previous += row[i - 1]
            current += row[i]
            first += row[0]
            uniform += 1 / (i + 1)
    largest, name = max((previous, "previous"), (current, "current"), (first, "first"))
    return name if largest >= 1.4 * uniform else "other"
