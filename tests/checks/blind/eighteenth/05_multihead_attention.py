# %% MultiHeadAttentionWrapper wrong (misconception in-a-plain-list): keeps the heads in a plain Python list, so torch does not find their parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception one-head-repeated): makes one layer and repeats it, so all heads share their parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)] * num_heads)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception never-a-bias): (subtle) does not pass qkv_bias on; shows with qkv_bias=True
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (structure): (subtle) makes d_out layers instead of num_heads; right when both are 2, as in the example
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(d_out):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (property sizes): (subtle) sorts the heads by their names as strings; with more than 10 heads, head 10 comes before head 2
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        layers = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        self.heads = nn.ModuleList(layers)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        results = {name: head(x) for name, head in self.heads.named_children()}
        return torch.cat([results[name] for name in sorted(results)], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): a ModuleList and torch.cat along the last axis
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): appends to a ModuleList; stacks the results before the last axis and flattens the last two axes
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        results = []
        for head in self.heads:
            results.append(head(x))
        return torch.stack(results, dim=-2).flatten(start_dim=-2)


# %% split_heads wrong (misconception num_heads-and-d_head-swapped): x.split(num_heads) makes pieces of width num_heads instead of num_heads pieces
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


# %% split_heads wrong (misconception interleaved): cuts the width as [d_head, num_heads], so each head gets every num_heads-th entry
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, d_out // num_heads, num_heads).permute(0, 3, 1, 2)


# %% split_heads wrong (property layouts): (subtle) as_strided with the strides of a contiguous tensor; shows when x is a transposed view or a slice of a wider tensor
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    return x.as_strided((batch, num_heads, seq, d_head), (seq * d_out, d_head, d_out, 1))


# %% split_heads wrong (misconception texts-and-heads-mixed): (subtle) treats all texts as one long text, moves the heads to the front, then cuts; mixes the texts of a batch of 2 or more
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    rows = x.reshape(batch * seq, num_heads, d_out // num_heads)
    return rows.transpose(0, 1).reshape(batch, num_heads, seq, -1)


# %% split_heads wrong (property lets_gradients_through): (subtle) fills a new tensor from x.data, so no gradient flows to x
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    out = torch.zeros(batch, num_heads, seq, d_head, dtype=x.dtype, device=x.device)
    for h in range(num_heads):
        out[:, h] = x.data[:, :, h * d_head : (h + 1) * d_head]
    return out


# %% split_heads right (passed): reshapes the last axis to [num_heads, d_head] and swaps positions and heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, num_heads, d_out // num_heads).transpose(1, 2)


# %% split_heads right (passed): slices the entries of each head in a loop and stacks the heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    d_head = x.shape[-1] // num_heads
    heads = [x[:, :, h * d_head : (h + 1) * d_head] for h in range(num_heads)]
    return torch.stack(heads, dim=1)


# %% merge_heads wrong (misconception view-after-transpose): view after a transpose raises an error unless the memory happens to fit (as it does straight after split_heads)
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.transpose(1, 2).view(batch, seq, num_heads * d_head)


# %% merge_heads wrong (misconception interleaved): moves the heads to the last axis, so the entries of the heads alternate
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.permute(0, 2, 3, 1).flatten(start_dim=2)


# %% merge_heads wrong (difference rearranged): (subtle) puts the positions before the texts and then reshapes; mixes the texts of a batch of 2 or more
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.permute(2, 0, 1, 3).reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (shape): (subtle) joins the heads in pairs, again and again; zip drops the last head of an odd number
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    parts = list(x.unbind(dim=1))
    while len(parts) > 1:
        parts = [torch.cat(pair, dim=-1) for pair in zip(parts[0::2], parts[1::2])]
    return parts[0]


# %% merge_heads wrong (property lets_gradients_through): (subtle) detaches, so no gradient flows
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat([head.detach() for head in x.unbind(dim=1)], dim=-1)


# %% merge_heads right (passed): swaps the axes back and reshapes
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, seq, num_heads * d_head)


# %% merge_heads right (passed): puts the heads side by side with torch.cat
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=-1)


# %% MultiHeadAttention wrong (misconception root-of-d_out): divides the scores by the root of d_out instead of the root of the head's width
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.d_out, self.num_heads = d_out, num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        queries, keys, values = (
            split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value)
        )
        weights = causal_attn_weights(queries @ keys.transpose(2, 3), self.d_out)
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention wrong (raised): an assert raises an AssertionError, not a ValueError
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.num_heads = num_heads
        self.head_dim = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        weights = causal_attn_weights(queries @ keys.transpose(2, 3), self.head_dim)
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention wrong (property causal): (subtle) hides with -1e9; with inputs up to a million, visible scores can be far lower than that
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
        scores = queries @ keys.transpose(2, 3) / keys.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(~self.mask[:seq, :seq], -1e9), dim=-1)
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention wrong (misconception mask-not-cut): (subtle) does not cut the mask; shows when a text is shorter than context_length
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_out} entries evenly")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("hidden", ~get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(self.hidden, -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention wrong (property drops_weights): (subtle) dropout acts on the scores before the mask and the softmax; shows in training with dropout > 0
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
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = self.dropout(queries @ keys.transpose(2, 3))
        weights = causal_attn_weights(scores, keys.shape[-1])
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention right (passed): split_heads, a buffer cut to the length of the text, merge_heads
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.d_head = d_out // num_heads
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
        scores = queries @ keys.transpose(2, 3) / self.d_head**0.5
        weights = torch.softmax(scores.masked_fill(~self.mask[:seq, :seq], -torch.inf), dim=-1)
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention right (passed): unflatten and einsum without moving axes, a mask made in each call on the device of x
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        d_head, rest = divmod(d_out, num_heads)
        if rest:
            raise ValueError(f"d_out = {d_out} cannot be divided evenly among {num_heads} heads")
        self.shape = (num_heads, d_head)
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.out_proj = nn.Linear(d_out, d_out, bias=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        queries = self.W_query(x).unflatten(-1, self.shape)
        keys = self.W_key(x).unflatten(-1, self.shape)
        values = self.W_value(x).unflatten(-1, self.shape)
        scores = torch.einsum("bqhd,bkhd->bhqk", queries, keys) * self.shape[1] ** -0.5
        seq = x.shape[1]
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = self.dropout(scores.masked_fill(future, float("-inf")).softmax(dim=-1))
        context = torch.einsum("bhqk,bkhd->bqhd", weights, values)
        return self.out_proj(context.flatten(-2))


# %% all_head_patterns wrong (misconception no-biases): leaves the biases out
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        patterns.append(causal_attn_weights((x @ W_Q) @ (x @ W_K).T, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception root-of-d_model): divides by the root of d_model, the width of x, instead of the width of the head
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, d_k=x.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception all-heads): (subtle) ignores n_heads and always returns all heads of the model; shows when n_heads is smaller
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(source.n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, source.d_head))
    return torch.stack(patterns)


# %% all_head_patterns wrong (shape): (subtle) keeps results by prompt only; a later call for more heads of the same prompt returns too few
_seen = {}


def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    if prompt not in _seen:
        _, x = gpt2.get_pre_attn(prompt)
        patterns = []
        for head in range(n_heads):
            W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
            patterns.append(causal_attn_weights((x @ W_Q + b_Q) @ (x @ W_K + b_K).T, W_K.shape[-1]))
        _seen[prompt] = torch.stack(patterns)
    return _seen[prompt][:n_heads].clone()


# %% all_head_patterns wrong (shape): (subtle) tidies the spaces of the prompt first; shows for prompts with double, leading or trailing spaces or line breaks
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(" ".join(prompt.split()))
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.mT, keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns right (passed): one head after another, then torch.stack
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries = x @ W_Q + b_Q
        keys = x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns right (passed): stacks the matrices of all heads and computes all scores at once with einsum
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    x = gpt2.get_pre_attn(prompt)[1]
    parts = zip(*(gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)))
    W_Q, W_K, b_Q, b_K = (torch.stack(part) for part in parts)
    queries = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q[:, None, :]
    keys = torch.einsum("sm,hmd->hsd", x, W_K) + b_K[:, None, :]
    return causal_attn_weights(torch.einsum("hqd,hkd->hqk", queries, keys), W_K.shape[-1])


# %% head_kind wrong (property means): takes the means over all rows, also rows 0 and 1 (row 0 has no previous position)
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1).mean().item(),
        "current": pattern.diagonal().mean().item(),
        "first": pattern[:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(seq)) / seq
    kind = max(means, key=means.get)
    return kind if means[kind] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception bar-one-over-seq): takes 1 / seq as the mean of a uniform head, as if there were no causal mask
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = len(pattern)
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    kind = max(means, key=means.get)
    return kind if means[kind] >= 1.4 / seq else "other"


# %% head_kind wrong (misconception first-over-the-bar): (subtle) returns the first kind that reaches the threshold, not the largest; shows when two kinds reach it
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = torch.arange(2, len(pattern))
    uniform = (1 / (rows + 1)).mean()
    for kind, columns in (("previous", rows - 1), ("current", rows), ("first", 0 * rows)):
        if pattern[rows, columns].mean() >= 1.4 * uniform:
            return kind
    return "other"


# %% head_kind wrong (misconception uniform-of-the-mean-row): (subtle) takes 1 / (mean row length) as the uniform mean, which is too small for 4 rows or more; shows near the threshold
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = torch.arange(2, len(pattern))
    uniform = 1 / (rows + 1.0).mean().item()
    names = ("previous", "current", "first")
    means = [pattern[rows, columns].mean().item() for columns in (rows - 1, rows, 0 * rows)]
    largest = max(means)
    return names[means.index(largest)] if largest >= 1.4 * uniform else "other"


# %% head_kind wrong (property means): (subtle) each row votes for its largest of the three weights and the most votes win; shows when one row decides the mean
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = torch.arange(2, len(pattern))
    three = torch.stack((pattern[rows, rows - 1], pattern[rows, rows], pattern[rows, 0]))
    winner = three.argmax(dim=0).mode().values.item()
    uniform = (1 / (rows + 1)).mean()
    if three[winner].mean() < 1.4 * uniform:
        return "other"
    return ("previous", "current", "first")[winner]


# %% head_kind right (passed): diagonals and the first column, as tensors
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = (1 / torch.arange(3, len(pattern) + 1)).mean().item()
    kind = max(means, key=means.get)
    return kind if means[kind] >= 1.4 * uniform else "other"


# %% head_kind right (passed): adds the weights row by row in a loop and compares them with the uniform head's sum
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    sums, uniform = [0.0, 0.0, 0.0], 0.0
    for i, row in enumerate(pattern.tolist()):
        if i < 2:
            continue
        for kind, position in enumerate((i - 1, i, 0)):
            sums[kind] += row[position]
        uniform += 1 / (i + 1)
    best = sums.index(max(sums))
    if sums[best] < 1.4 * uniform:
        return "other"
    return ["previous", "current", "first"][best]


