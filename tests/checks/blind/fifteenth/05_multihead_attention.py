# %% MultiHeadAttentionWrapper wrong (misconception in-a-plain-list): the layers are in a Python list, so torch does not find their parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception in-a-row): puts the results one after another along the positions
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=1)


# %% MultiHeadAttentionWrapper wrong (misconception never-a-bias): subtle, does not pass qkv_bias on, which shows only with qkv_bias=True
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (raised): subtle, uses only heads 0 and 1, which is right for two heads
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat((self.heads[0](x), self.heads[1](x)), dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception no-dropout): subtle, builds the layers with dropout 0, which shows only in training with dropout above 0
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, 0.0, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): a ModuleList and cat
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


# %% MultiHeadAttentionWrapper right (passed): stacks the results on a new axis before the entries, then flattens the last two axes
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
        return torch.stack(results, dim=-2).flatten(-2)


# %% split_heads wrong (misconception view-without-transpose): a view directly to the final shape
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (misconception interleaved): deals the entries out in turn, so neighbouring entries go to different heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, d_out // num_heads, num_heads).permute(0, 3, 1, 2)


# %% split_heads wrong (misconception num_heads-and-d_head-swapped): subtle, torch.split with num_heads as the size of a piece, right only if num_heads equals d_head
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


# %% split_heads wrong (misconception texts-and-heads-mixed): subtle, moves the heads in front of the batch and reshapes, which mixes texts and heads if there are several texts
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    heads = x.reshape(batch, seq, num_heads, d_out // num_heads).permute(2, 0, 1, 3)
    return heads.reshape(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (property lets_gradients_through): subtle, copies the slices of a detached x, so no gradient flows
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    out = torch.empty(batch, num_heads, seq, d_head, dtype=x.dtype, device=x.device)
    for h in range(num_heads):
        out[:, h] = x.detach()[:, :, h * d_head : (h + 1) * d_head]
    return out


# %% split_heads right (passed): unflatten and transpose
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return x.unflatten(-1, (num_heads, x.shape[-1] // num_heads)).transpose(1, 2)


# %% split_heads right (passed): slices each head's entries and stacks them
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    d_head = x.shape[-1] // num_heads
    return torch.stack([x[:, :, h * d_head : (h + 1) * d_head] for h in range(num_heads)], dim=1)


# %% merge_heads wrong (misconception not-transposed): reshapes without putting the positions before the heads
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (raised): calls view after a transpose, which raises an error for several heads and positions
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.contiguous().transpose(1, 2).view(batch, seq, num_heads * d_head)


# %% merge_heads wrong (raised): subtle, puts only the first two heads side by side, right for two heads
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat((x[:, 0], x[:, 1]), dim=-1)


# %% merge_heads wrong (difference rearranged): subtle, moves the positions in front of the batch, which mixes the texts if there are several
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.permute(2, 0, 1, 3).reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (property lets_gradients_through): subtle, makes a new tensor from Python numbers, so no gradient flows
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    rows = torch.tensor(x.transpose(1, 2).tolist(), dtype=x.dtype, device=x.device)
    return rows.flatten(2)


# %% merge_heads right (passed): transpose and flatten
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.transpose(1, 2).flatten(start_dim=2)


# %% merge_heads right (passed): unbinds the heads and concatenates them
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat(x.unbind(dim=1), dim=-1)


# %% MultiHeadAttention wrong (misconception root-of-d_out): divides the scores by the square root of d_out instead of the head's width
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

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        weights = self.dropout(causal_attn_weights(q @ k.transpose(-2, -1), self.d_out))
        return self.out_proj(merge_heads(weights @ v))


# %% MultiHeadAttention wrong (misconception dropout-before-out_proj): applies dropout to the merged results instead of the weights
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
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        weights = causal_attn_weights(q @ k.transpose(-2, -1), k.shape[-1])
        return self.out_proj(self.dropout(merge_heads(weights @ v)))


# %% MultiHeadAttention wrong (raised): subtle, an assert instead of a ValueError if the heads cannot share d_out evenly
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        weights = self.dropout(causal_attn_weights(q @ k.transpose(-2, -1), self.d_head))
        return self.out_proj(merge_heads(weights @ v))


# %% MultiHeadAttention wrong (structure): subtle, W_query and W_key never get a bias, which shows only with qkv_bias=True
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        weights = self.dropout(causal_attn_weights(q @ k.transpose(-2, -1), self.d_head))
        return self.out_proj(merge_heads(weights @ v))


# %% MultiHeadAttention wrong (property finite_when_scaled): subtle, softmax over all scores, then mask and renormalise, nan for large inputs
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        seq = x.shape[1]
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.d_head**0.5, dim=-1) * self.mask[:seq, :seq]
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return self.out_proj(merge_heads(self.dropout(weights) @ v))


# %% MultiHeadAttention right (passed): split_heads, causal_attn_weights and merge_heads
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_out} entries evenly")
        self.num_heads = num_heads
        self.d_head = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        weights = causal_attn_weights(queries @ keys.transpose(-2, -1), self.d_head)
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention right (passed): einsum over [batch, seq, heads, d_head], with a buffer for the mask
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        d_head, rest = divmod(d_out, num_heads)
        if rest != 0:
            raise ValueError("d_out must be a multiple of num_heads")
        self.cut = (num_heads, d_head)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=True)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.triu(torch.ones(context_length, context_length, dtype=torch.bool), diagonal=1)
        self.register_buffer("mask", hidden, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        batch, seq, _ = x.shape
        queries = self.W_query(x).reshape(batch, seq, *self.cut)
        keys = self.W_key(x).reshape(batch, seq, *self.cut)
        values = self.W_value(x).reshape(batch, seq, *self.cut)
        scores = torch.einsum("bqhd,bkhd->bhqk", queries, keys) / self.cut[1] ** 0.5
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        mixed = torch.einsum("bhqk,bkhd->bqhd", weights, values)
        return self.out_proj(mixed.reshape(batch, seq, -1))


# %% all_head_patterns wrong (misconception no-biases): leaves out the biases
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        patterns.append(causal_attn_weights((x @ W_Q) @ (x @ W_K).T, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception one-head-late): counts the heads from 1, so head 0 is missing and each row shows the next head
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(1, n_heads + 1):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head % source.n_heads, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (difference): subtle, takes d_model // n_heads for the head's width, right only if all heads are asked for
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    d_head = x.shape[-1] // n_heads
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, d_head))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception all-heads): subtle, returns the patterns of all heads of the model, also if fewer are asked for
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(source.n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, W_Q.shape[1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (shape): subtle, remembers results by n_heads alone, so a second prompt gets the patterns of the first
_remembered = {}


def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    if n_heads not in _remembered:
        _, x = gpt2.get_pre_attn(prompt)
        patterns = []
        for head in range(n_heads):
            W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
            queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
            patterns.append(causal_attn_weights(queries @ keys.T, W_Q.shape[1]))
        _remembered[n_heads] = torch.stack(patterns)
    return _remembered[n_heads]


# %% all_head_patterns right (passed): one head after another
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries = x @ W_Q + b_Q
        keys = x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, d_k=keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns right (passed): stacks the matrices of the heads and computes all scores with einsum
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    x = gpt2.get_pre_attn(prompt)[1]
    parts = zip(*(gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)))
    W_Q, W_K, b_Q, b_K = (torch.stack(part) for part in parts)
    queries = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q[:, None, :]
    keys = torch.einsum("sm,hmd->hsd", x, W_K) + b_K[:, None, :]
    return causal_attn_weights(torch.einsum("hqd,hkd->hqk", queries, keys), W_Q.shape[-1])


# %% head_kind wrong (property means): uses all rows, also rows 0 and 1
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


# %% head_kind wrong (misconception bar-of-one): forgets the factor 1.4
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = len(pattern)
    rows = torch.arange(2, seq)
    means = {
        "previous": pattern[rows, rows - 1].mean().item(),
        "current": pattern[rows, rows].mean().item(),
        "first": pattern[rows, 0].mean().item(),
    }
    uniform = (1 / (rows + 1)).mean().item()
    best = max(means, key=means.get)
    return best if means[best] >= uniform else "other"


# %% head_kind wrong (misconception first-over-the-bar): subtle, returns the first mean that reaches the threshold, not the largest, wrong if two reach it
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = len(pattern)
    rows = torch.arange(2, seq)
    threshold = 1.4 * (1 / (rows + 1)).mean()
    if pattern[rows, rows - 1].mean() >= threshold:
        return "previous"
    if pattern[rows, rows].mean() >= threshold:
        return "current"
    if pattern[rows, 0].mean() >= threshold:
        return "first"
    return "other"


# %% head_kind wrong (property means): subtle, the mean for the previous position includes row 1, which can change the kind in short texts
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = len(pattern)
    means = {
        "previous": pattern.diagonal(-1).mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (property means): subtle, the uniform head's mean is always 7 / 24, which is right for four tokens only
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * 7 / 24 else "other"


# %% head_kind right (passed): diagonals of the pattern
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = len(pattern)
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind right (passed): adds up row by row and compares sums, which differ from the means by the same factor
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    previous = current = first = uniform = 0.0
    for i in range(2, pattern.shape[0]):
        row = pattern[i]
        previous += float(row[i - 1])
        current += float(row[i])
        first += float(row[0])
        uniform += 1 / (i + 1)
    largest, name = max((previous, "previous"), (current, "current"), (first, "first"))
    if largest < 1.4 * uniform:
        return "other"
    return name


