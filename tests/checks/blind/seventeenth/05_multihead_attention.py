# %% MultiHeadAttentionWrapper wrong (misconception in-a-plain-list): keeps the layers in a plain list, where torch cannot find their parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception one-head-repeated): repeats one layer in the list, so that all heads share their parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)] * num_heads)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception never-a-bias): does not pass qkv_bias on; shows for qkv_bias=True
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


# %% MultiHeadAttentionWrapper wrong (misconception no-dropout): gives every layer a dropout of 0.0; shows in training for dropout above 0
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout=0.0, qkv_bias=qkv_bias))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (shape): puts only the first two heads together; shows for more than two heads
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        first, *others = self.heads
        result = first(x)
        for head in others:
            return torch.cat((result, head(x)), dim=-1)
        return result


# %% MultiHeadAttentionWrapper right (passed): a ModuleList, and one cat of all results along the last axis
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


# %% MultiHeadAttentionWrapper right (passed): appends the layers in a loop; stacks the results, then joins the last two axes
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            layer = CausalAttention(
                d_in=d_in, d_out=d_out, context_length=context_length, dropout=dropout, qkv_bias=qkv_bias
            )
            self.heads.append(layer)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        results = []
        for layer in self.heads:
            results.append(layer(x))
        return torch.stack(results, dim=2).flatten(start_dim=2)


# %% split_heads wrong (misconception view-without-transpose): a view directly to the final shape, which gives whole positions to the heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (misconception interleaved): deals the entries out in turn, so that neighbouring entries go to different heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, d_out // num_heads, num_heads).permute(0, 3, 1, 2)


# %% split_heads wrong (misconception num_heads-and-d_head-swapped): makes heads of num_heads entries; right only for as many heads as entries in a head
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


# %% split_heads wrong (misconception texts-and-heads-mixed): puts the heads before the texts and then reshapes; right only for a batch of one text
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    heads = torch.stack([x[..., h * d_head : (h + 1) * d_head] for h in range(num_heads)])
    return heads.reshape(batch, num_heads, seq, d_head)


# %% split_heads wrong (property lets_gradients_through): copies the numbers without their history, so that no gradient flows
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    result = x.new_zeros(batch, num_heads, seq, d_head)
    for h in range(num_heads):
        result[:, h] = x.data[:, :, h * d_head : (h + 1) * d_head]
    return result


# %% split_heads right (passed): cuts the last axis in two, then moves the heads before the positions
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return x.unflatten(-1, (num_heads, x.shape[-1] // num_heads)).transpose(1, 2)


# %% split_heads right (passed): slices each head's entries and stacks them on a new axis 1
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    d_head = x.shape[-1] // num_heads
    return torch.stack([x[:, :, h * d_head : (h + 1) * d_head] for h in range(num_heads)], dim=1)


# %% merge_heads wrong (misconception not-transposed): reshapes without moving the heads behind the positions
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (misconception interleaved): puts the heads last, so that the entries of different heads alternate
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.permute(0, 2, 3, 1).flatten(2)


# %% merge_heads wrong (misconception view-after-transpose): view after transpose; works on the result of split_heads, raises an error on a new tensor
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.transpose(1, 2).view(batch, seq, num_heads * d_head)


# %% merge_heads wrong (difference rearranged): moves the positions before the texts, then reshapes; right only for a batch of one text
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.permute(2, 0, 1, 3).reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (property lets_gradients_through): fills a new tensor inside no_grad, so that no gradient flows
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    merged = torch.empty(batch, seq, num_heads * d_head, device=x.device, dtype=x.dtype)
    with torch.no_grad():
        for h in range(num_heads):
            merged[..., h * d_head : (h + 1) * d_head] = x[:, h]
    return merged


# %% merge_heads right (passed): moves the heads behind the positions, then joins the last two axes
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.transpose(1, 2).flatten(start_dim=2)


# %% merge_heads right (passed): takes the heads apart and puts them side by side with cat
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat(x.unbind(dim=1), dim=-1)


# %% MultiHeadAttention wrong (misconception root-of-d_out): divides the scores by the square root of d_out instead of the width of a head
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
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool(), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = (split_heads(W(x), self.num_heads) for W in (self.W_query, self.W_key, self.W_value))
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_out**0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (misconception merged-without-transpose): reshapes the mixed values without moving the heads back behind the positions
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.d_out, self.num_heads, self.d_head = d_out, num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool(), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        batch, seq, _ = x.shape
        queries = self.W_query(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        keys = self.W_key(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        values = self.W_value(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_head**0.5, dim=-1))
        context = (weights @ values).reshape(batch, seq, self.d_out)
        return self.out_proj(context)


# %% MultiHeadAttention wrong (property causal): hides with -1e9; inputs near a million have scores far below that
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
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(self.mask[:seq, :seq] == 0, -1e9)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (property drops_weights): a second dropout on the output, as in GPT-2; shows in training for dropout above 0
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
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool(), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = (split_heads(W(x), self.num_heads) for W in (self.W_query, self.W_key, self.W_value))
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        return self.dropout(self.out_proj(merge_heads(weights @ values)))


# %% MultiHeadAttention wrong (raised): assert raises an AssertionError, not a ValueError; shows if d_out cannot be divided
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
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool(), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = (split_heads(W(x), self.num_heads) for W in (self.W_query, self.W_key, self.W_value))
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention right (passed): split_heads and merge_heads around -inf, scale, softmax and dropout, with a buffer
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out = {d_out} cannot be divided among {num_heads} heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("mask", future, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention right (passed): einsum over [batch, seq, heads, d_head], with a mask made in each call
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.d_head, rest = divmod(d_out, num_heads)
        if rest:
            raise ValueError("the heads cannot share d_out evenly")
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.out_proj = nn.Linear(d_out, d_out, bias=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q, k, v = (W(x).unflatten(-1, (-1, self.d_head)) for W in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / self.d_head**0.5
        place = torch.arange(x.shape[1], device=scores.device)
        visible = place[:, None] >= place
        scores = torch.where(visible, scores, torch.full_like(scores, -torch.inf))
        weights = self.dropout(scores.softmax(dim=-1))
        mixed = torch.einsum("bhqk,bkhd->bqhd", weights, v)
        return self.out_proj(mixed.flatten(2))


# %% all_head_patterns wrong (misconception no-biases): leaves out the biases of queries and keys
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        patterns.append(causal_attn_weights((x @ W_Q) @ (x @ W_K).T, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception root-of-d_model): passes the width of the stream as d_k instead of the width of a head
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, x.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception all-heads): always returns all heads of the model; shows if n_heads is smaller
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(source.n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (property state): remembers each prompt's result; shows in a later call with another n_heads
seen_prompts = {}


def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    if prompt not in seen_prompts:
        _, x = gpt2.get_pre_attn(prompt)
        patterns = []
        for head in range(n_heads):
            W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
            queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
            patterns.append(causal_attn_weights(queries @ keys.T, W_K.shape[-1]))
        seen_prompts[prompt] = torch.stack(patterns)
    return seen_prompts[prompt]


# %% all_head_patterns wrong (shape): joins the words with single spaces; shows for a prompt with line breaks or more spaces
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(" ".join(prompt.split()))
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns right (passed): one head after another in a loop, stacked at the end
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, d_k=keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns right (passed): stacks the heads' matrices first, then computes all scores with einsum
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    tokens, x = gpt2.get_pre_attn(prompt)
    parts = [gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)]
    W_Q, W_K, b_Q, b_K = (torch.stack(list(part)) for part in zip(*parts))
    queries = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q[:, None, :]
    keys = torch.einsum("sm,hmd->hsd", x, W_K) + b_K[:, None, :]
    scores = torch.einsum("hqd,hkd->hqk", queries, keys)
    return causal_attn_weights(scores, W_Q.shape[-1])


# %% head_kind wrong (property means): takes the means over all rows, including rows 0 and 1
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = len(pattern)
    means = {
        "previous": pattern.diagonal(-1).mean().item(),
        "current": pattern.diagonal().mean().item(),
        "first": pattern[:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(seq)) / seq
    name = max(means, key=means.get)
    return name if means[name] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception bar-one-over-seq): compares with 1.4 / seq, as if each row of a uniform head saw all positions
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    name = max(means, key=means.get)
    return name if means[name] >= 1.4 / len(pattern) else "other"


# %% head_kind wrong (misconception first-over-the-bar): returns the first kind above the threshold, not the largest; shows if two kinds are above it
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = torch.arange(2, len(pattern))
    threshold = 1.4 * (1 / (rows + 1)).mean()
    if pattern[rows, rows - 1].mean() >= threshold:
        return "previous"
    if pattern[rows, rows].mean() >= threshold:
        return "current"
    if pattern[rows, 0].mean() >= threshold:
        return "first"
    return "other"


# %% head_kind wrong (misconception row-2-lost-for-previous): cuts all three by [2:], so that "previous" misses row 2; shows if row 2 differs or is the last
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(-1)[2:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, len(pattern))) / (len(pattern) - 2)
    name = max(means, key=means.get)
    return name if means[name] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception mean-of-ratios): averages each row's ratio to a uniform head; shows if early and late rows differ
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = torch.arange(2, len(pattern))
    ratios = pattern * torch.arange(1, len(pattern) + 1)[:, None]
    means = {
        "previous": ratios[rows, rows - 1].mean().item(),
        "current": ratios[rows, rows].mean().item(),
        "first": ratios[rows, 0].mean().item(),
    }
    name = max(means, key=means.get)
    return name if means[name] >= 1.4 else "other"


# %% head_kind right (passed): diagonals and the first column from row 2 on, and the mean of a uniform head
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, len(pattern))) / (len(pattern) - 2)
    name = max(means, key=means.get)
    return name if means[name] >= 1.4 * uniform else "other"


# %% head_kind right (passed): one loop over the rows adds up three sums and the sum of a uniform head
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    previous = current = first = uniform = 0.0
    for i in range(2, pattern.shape[0]):
        row = pattern[i].tolist()
        previous += row[i - 1]
        current += row[i]
        first += row[0]
        uniform += 1 / (i + 1)
    largest = max(previous, current, first)
    if largest < 1.4 * uniform:
        return "other"
    if largest == previous:
        return "previous"
    return "current" if largest == current else "first"


