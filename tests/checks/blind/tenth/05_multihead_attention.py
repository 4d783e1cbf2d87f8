# %% MultiHeadAttentionWrapper wrong (misconception one-head-repeated): one layer repeated, so all heads share their parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)] * num_heads)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception in-a-plain-list): a plain Python list, so torch does not find the parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception never-a-bias): subtle, does not pass on qkv_bias; shows with qkv_bias=True
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList(CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (shape): subtle, joins exactly two heads; shows when num_heads is not 2
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        return torch.cat((self.heads[0](x), self.heads[-1](x)), dim=-1)


# %% MultiHeadAttentionWrapper right (passed): append in a loop, stack and flatten
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=qkv_bias))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        return torch.stack([head(x) for head in self.heads], dim=-2).flatten(start_dim=-2)


# %% MultiHeadAttentionWrapper right (passed): grows the result head by head
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        settings = (d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList(CausalAttention(*settings) for _ in range(num_heads))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        result = self.heads[0](x)
        for head in self.heads[1:]:
            result = torch.cat((result, head(x)), dim=2)
        return result


# %% split_heads wrong (misconception view-without-transpose): the trap, a plain reshape to the final shape
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (misconception interleaved): deals the entries out in turn, so that neighbours go to different heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, d_out // num_heads, num_heads).permute(0, 3, 1, 2)


# %% split_heads wrong (misconception num_heads-and-d_head-swapped): subtle, cuts pieces of width num_heads instead of num_heads pieces; right only when d_head equals num_heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


# %% split_heads wrong (property lets_gradients_through): subtle, copies x.data into a new tensor, so no gradient flows
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    heads = x.new_empty(batch, num_heads, seq, d_head)
    for h in range(num_heads):
        heads[:, h] = x.data[:, :, h * d_head : (h + 1) * d_head]
    return heads


# %% split_heads right (passed): unflatten and transpose
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


# %% split_heads right (passed): slices of the last axis, stacked
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    d_head = x.shape[-1] // num_heads
    return torch.stack([x[..., h * d_head : (h + 1) * d_head] for h in range(num_heads)], dim=1)


# %% merge_heads wrong (misconception not-transposed): a reshape without a transpose
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (misconception interleaved): the axis of the heads comes last, so the entries of the heads alternate
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.permute(0, 2, 3, 1).flatten(2)


# %% merge_heads wrong (shape): subtle, squeeze removes axes of size 1; shows for one text or one position
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat(x.chunk(x.shape[1], dim=1), dim=-1).squeeze()


# %% merge_heads wrong (property lets_gradients_through): subtle, detaches before it copies, so no gradient flows
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.detach().transpose(1, 2).contiguous().view(batch, seq, num_heads * d_head)


# %% merge_heads right (passed): cat of the heads
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat(x.unbind(dim=1), dim=-1)


# %% merge_heads right (passed): einsum to swap the axes, then flatten
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.einsum("bhsd->bshd", x).flatten(start_dim=2)


# %% MultiHeadAttention wrong (misconception root-of-d_out): divides by the root of d_out, the width of all heads together
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.d_out, self.num_heads = d_out, num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        weights = self.dropout(causal_attn_weights(queries @ keys.mT, self.d_out))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (misconception merged-without-transpose): merges by a view without moving the heads behind the positions
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        weights = self.dropout(causal_attn_weights(queries @ keys.mT, self.d_head))
        contexts = weights @ values
        return self.out_proj(contexts.contiguous().view(x.shape[0], x.shape[1], -1))


# %% MultiHeadAttention wrong (property causal): subtle, hidden scores become -1e9; with inputs of up to a million, visible scores can be lower
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(2, 3) / self.d_head**0.5
        scores = scores.masked_fill(~self.mask[: x.shape[1], : x.shape[1]], -1e9)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (raised): subtle, an assert instead of a ValueError; shows when d_out cannot be divided evenly
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        weights = self.dropout(causal_attn_weights(queries @ keys.mT, self.d_head))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention right (passed): a buffer that is True where hidden, views and transposes in the class
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        if d_out % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_out} entries evenly")
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", ~get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        batch, seq, _ = x.shape
        cut = (batch, seq, self.num_heads, self.d_head)
        queries = self.W_query(x).view(cut).transpose(1, 2)
        keys = self.W_key(x).view(cut).transpose(1, 2)
        values = self.W_value(x).view(cut).transpose(1, 2)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_head**0.5, dim=-1))
        return self.out_proj((weights @ values).transpose(1, 2).reshape(batch, seq, -1))


# %% MultiHeadAttention right (passed): one head at a time over chunks, a new mask in each call
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        self.d_head, rest = divmod(d_out, num_heads)
        if rest != 0:
            raise ValueError("num_heads must divide d_out")
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        projections = (layer(x).split(self.d_head, dim=-1) for layer in (self.W_query, self.W_key, self.W_value))
        position = torch.arange(x.shape[1], device=x.device)
        visible = position <= position[:, None]
        results = []
        for q, k, v in zip(*projections):
            scores = torch.einsum("bqd,bkd->bqk", q, k) / self.d_head**0.5
            weights = torch.where(visible, scores, -torch.inf).softmax(dim=-1)
            results.append(self.dropout(weights) @ v)
        return self.out_proj(torch.cat(results, dim=-1))


# %% all_head_patterns wrong (misconception no-biases): leaves out the biases
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        patterns.append(causal_attn_weights((x @ W_Q) @ (x @ W_K).T, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception root-of-d_model): takes d_k from the width of x, d_model, instead of the width of a head
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, x.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception all-heads): subtle, always returns all heads of the layer; shows when n_heads is smaller
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(gpt2.source().n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (shape): subtle, squeeze removes the axis of the heads when n_heads is 1
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, W_K.shape[-1]))
    return torch.stack(patterns).squeeze()


# %% all_head_patterns right (passed): stacks the scores of all heads, one softmax
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    x = gpt2.get_pre_attn(prompt)[1]
    scores = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores.append(torch.einsum("qd,kd->qk", x @ W_Q + b_Q, x @ W_K + b_K))
    return causal_attn_weights(torch.stack(scores), d_k=W_Q.shape[1])


# %% all_head_patterns right (passed): stacks the matrices and biases, multiplies all heads at once
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    parts = zip(*(gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)))
    W_Q, W_K, b_Q, b_K = (torch.stack(part) for part in parts)
    queries, keys = x @ W_Q + b_Q[:, None], x @ W_K + b_K[:, None]
    return causal_attn_weights(queries @ keys.transpose(1, 2), keys.shape[-1])


# %% head_kind wrong (misconception never-other): never says other, the comparison with a uniform head is forgotten
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = torch.arange(2, len(pattern))
    means = {
        "previous": pattern[rows, rows - 1].mean(),
        "current": pattern[rows, rows].mean(),
        "first": pattern[rows, 0].mean(),
    }
    return max(means, key=means.get)


# %% head_kind wrong (misconception next-for-previous): takes the diagonal above for previous, which is the next position
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(1)[1:].mean(),
        "current": pattern.diagonal()[2:].mean(),
        "first": pattern[2:, 0].mean(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, len(pattern))) / (len(pattern) - 2)
    kind = max(means, key=means.get)
    return kind if means[kind] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception first-over-the-bar): subtle, returns the first kind that passes the threshold; shows when a later kind has a larger mean
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = torch.arange(2, len(pattern))
    uniform = (1 / (rows + 1)).mean()
    if pattern[rows, rows - 1].mean() >= 1.4 * uniform:
        return "previous"
    if pattern[rows, rows].mean() >= 1.4 * uniform:
        return "current"
    if pattern[rows, 0].mean() >= 1.4 * uniform:
        return "first"
    return "other"


# %% head_kind wrong (misconception uniform-of-the-mean-row): subtle, the uniform mean is 1 / (mean number of visible positions), which is too small; shows for means between 1.4 times one and the other
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = torch.arange(2, len(pattern))
    means = {
        "previous": pattern[rows, rows - 1].mean(),
        "current": pattern[rows, rows].mean(),
        "first": pattern[rows, 0].mean(),
    }
    uniform = 1 / (rows + 1).float().mean()
    kind = max(means, key=means.get)
    return kind if means[kind] >= 1.4 * uniform else "other"


# %% head_kind right (passed): diagonals
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    three = [pattern.diagonal(-1)[1:], pattern.diagonal()[2:], pattern[2:, 0]]
    three = torch.stack([numbers.mean() for numbers in three])
    uniform = (1 / torch.arange(3, seq + 1)).mean()
    if three.max() < 1.4 * uniform:
        return "other"
    return ("previous", "current", "first")[int(three.argmax())]


# %% head_kind right (passed): plain Python sums in a loop
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    totals = {"previous": 0.0, "current": 0.0, "first": 0.0}
    uniform = 0.0
    for i in range(2, len(pattern)):
        totals["previous"] += float(pattern[i, i - 1])
        totals["current"] += float(pattern[i, i])
        totals["first"] += float(pattern[i, 0])
        uniform += 1 / (i + 1)
    name, total = max(totals.items(), key=lambda item: item[1])
    return name if total >= 1.4 * uniform else "other"
