# %% MultiHeadAttentionWrapper wrong (misconception in-a-row): the results are concatenated along dim=1 (the positions) instead of the last axis, so the shape is [batch, heads * seq, d_out]
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
        return torch.cat([head(x) for head in self.heads], dim=1)


# %% MultiHeadAttentionWrapper wrong (misconception split-d_out): each head gets the width d_out // num_heads, although each layer should return d_out entries; the result has d_out entries instead of num_heads * d_out
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        d_head = d_out // num_heads
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_head, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception dropout-and-bias-swapped): dropout and qkv_bias are exchanged in the call of CausalAttention; unnoticed with dropout 0.0 and qkv_bias False, but qkv_bias=True drops every weight in training and dropout > 0 gives biases and no dropout
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, qkv_bias, dropout) for _ in range(num_heads)
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception one-head-repeated): [layer] * num_heads puts the same layer in the list several times, so all heads share their parameters and give the same result
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)] * num_heads)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        results = [head(x) for head in self.heads]
        return torch.cat(results, dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception interleaved): the results are stacked along a new last axis and flattened, so the entries of the heads alternate (entry 0 of all heads, then entry 1 of all heads) instead of head after head; right only for d_out = 1 or one head
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
        results = torch.stack([head(x) for head in self.heads], dim=-1)
        return results.flatten(start_dim=-2)


# %% MultiHeadAttentionWrapper right (passed): nn.ModuleList from a comprehension, torch.cat along the last axis
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
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): the list is filled with append in a loop; the results are stacked in front of the entries and flattened
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            layer = CausalAttention(
                d_in=d_in, d_out=d_out, context_length=context_length, dropout=dropout, qkv_bias=qkv_bias
            )
            self.heads.append(layer)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        outputs = []
        for layer in self.heads:
            outputs.append(layer(x))
        return torch.stack(outputs, dim=2).flatten(2)


# %% split_heads wrong (misconception not-transposed): the heads are not moved in front of the positions: the shape is [batch, seq, num_heads, d_head]
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch_size, seq, d_out = x.shape
    return x.reshape(batch_size, seq, num_heads, d_out // num_heads)


# %% split_heads wrong (misconception interleaved): the width is cut into [d_head, num_heads] instead of [num_heads, d_head], so head h gets the entries h, h + num_heads, h + 2 * num_heads, ... and not neighbouring entries
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    b, seq, d_out = x.shape
    x = x.reshape(b, seq, d_out // num_heads, num_heads)
    return x.permute(0, 3, 1, 2)


# %% split_heads wrong (misconception num_heads-and-d_head-swapped): x.split(num_heads) makes pieces of num_heads entries instead of num_heads pieces; right only if num_heads equals d_head (for example 2 heads of 2)
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    pieces = x.split(num_heads, dim=-1)
    return torch.stack(pieces, dim=1)


# %% split_heads wrong (difference rearranged): positions and entries are exchanged first and the result is reshaped to [.., seq, d_head]; each head holds its own numbers, but they are in the wrong cells (right only for d_head = 1 or seq = 1)
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch_size, seq, d_out = x.shape
    return x.transpose(1, 2).reshape(batch_size, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (property lets_gradients_through): the split is done in numpy on a detached array, so the values are right but no gradient flows back to x
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    import numpy as np

    heads = np.split(x.detach().numpy(), num_heads, axis=-1)
    return torch.from_numpy(np.stack(heads, axis=1))


# %% split_heads right (passed): unflatten the last axis, then transpose heads and positions
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return x.unflatten(-1, (num_heads, x.shape[-1] // num_heads)).transpose(1, 2)


# %% split_heads right (passed): a loop slices the entries of each head, and torch.stack puts the heads on a new axis 1
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    width = x.shape[2] // num_heads
    heads = []
    for h in range(num_heads):
        heads.append(x[:, :, h * width : (h + 1) * width])
    return torch.stack(heads, dim=1)


# %% merge_heads wrong (misconception not-transposed): reshape without moving the heads behind the positions first, so each output row mixes numbers of several positions of one head; the shape is right
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    b, num_heads, seq, d_head = x.shape
    return x.reshape(b, seq, num_heads * d_head)


# %% merge_heads wrong (misconception strung-along-the-positions): the heads are concatenated along the positions (dim=1 of each head), so the shape is [batch, num_heads * seq, d_head]
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=1)


# %% merge_heads wrong (misconception view-after-transpose): view on a transposed tensor: it works on the direct result of split_heads, but raises a RuntimeError for a contiguous x such as weights @ values, because the transpose is then not contiguous
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    b, num_heads, seq, d_head = x.shape
    return x.transpose(1, 2).view(b, seq, num_heads * d_head)


# %% merge_heads wrong (misconception interleaved): permute puts the heads last, so the entries of the heads alternate in each row instead of standing head after head; right only for d_head = 1 or one head
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.permute(0, 2, 3, 1).flatten(start_dim=2)


# %% merge_heads wrong (shape): squeeze() without an axis removes every axis of size 1, not only the heads' axis: with a batch of one text (or one position) the result lacks an axis
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    heads = [piece.squeeze() for piece in x.split(1, dim=1)]
    return torch.cat(heads, dim=-1)


# %% merge_heads right (passed): transpose heads and positions, then flatten the last two axes
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.transpose(1, 2).flatten(2)


# %% merge_heads right (passed): unbind the heads and concatenate them along the last axis
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    each_head = torch.unbind(x, dim=1)
    return torch.cat(each_head, dim=-1)


# %% MultiHeadAttention wrong (misconception root-of-d_out): the scores are divided by the square root of d_out (all heads together) instead of the width of one head; right only for one head
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
        weights = causal_attn_weights(queries @ keys.transpose(2, 3), self.d_out)
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention wrong (misconception merged-without-transpose): after the heads have mixed their values, the result is reshaped to [batch, seq, d_out] without moving the heads behind the positions, so out_proj gets numbers of other positions (later ones too)
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        if d_out % num_heads:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        b, seq, _ = x.shape
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        weights = self.dropout(causal_attn_weights(q @ k.mT, self.d_head))
        context = (weights @ v).reshape(b, seq, self.num_heads * self.d_head)
        return self.out_proj(context)


# %% MultiHeadAttention wrong (misconception out_proj-asks-qkv_bias): out_proj is made with bias=qkv_bias, so by default it has no bias, although it should always have one
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_out} entries evenly")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        weights = causal_attn_weights(queries @ keys.transpose(-2, -1), keys.shape[-1])
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention wrong (property finite_when_scaled): the softmax is computed as exp(score) / sum without subtracting a maximum, so large inputs overflow to inf / inf or 0 / 0 = nan; small inputs are right
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
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
        # Split, attend in each head, merge, mix.
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(2, 3) / self.d_head**0.5
        powers = torch.exp(scores.masked_fill(~self.mask[:seq, :seq], -torch.inf))
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention wrong (property moves_with_its_module): the kept mask is only assigned to self, not registered as a buffer, so it stays on the CPU when the layer moves to another device
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.mask = ~get_mask(context_length)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        n = x.shape[1]
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        scores = (q @ k.transpose(2, 3)).masked_fill(self.mask[:n, :n], -torch.inf)
        weights = self.dropout(torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ v))


# %% MultiHeadAttention right (passed): uses split_heads, causal_attn_weights and merge_heads, without a kept mask
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        weights = self.dropout(causal_attn_weights(q @ k.transpose(-2, -1), q.shape[-1]))
        return self.out_proj(merge_heads(weights @ v))


# %% MultiHeadAttention right (passed): a buffer for the mask, unflatten instead of split_heads, einsum for scores and mixing, heads kept behind the positions
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        d_head, rest = divmod(d_out, num_heads)
        if rest:
            raise ValueError(f"d_out = {d_out} cannot be shared evenly by {num_heads} heads")
        self.shape = (num_heads, d_head)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("mask", hidden, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        seq = x.shape[1]
        queries = self.W_query(x).unflatten(-1, self.shape)
        keys = self.W_key(x).unflatten(-1, self.shape)
        values = self.W_value(x).unflatten(-1, self.shape)
        scores = torch.einsum("bqhd,bkhd->bhqk", queries, keys) / self.shape[1] ** 0.5
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(scores.softmax(dim=-1))
        mixed = torch.einsum("bhqk,bkhd->bqhd", weights, values)
        return self.out_proj(mixed.flatten(2))


# %% all_head_patterns wrong (misconception no-biases): the biases are left out: queries are x @ W_Q and keys are x @ W_K
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        queries, keys = x @ W_Q, x @ W_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception query-and-key-swapped): the scores are keys @ queries.T instead of queries @ keys.T, so the table of scores is transposed before the mask and the softmax
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries = x @ W_Q + b_Q
        keys = x @ W_K + b_K
        patterns.append(causal_attn_weights(keys @ queries.T, keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception biases-swapped): the two biases are unpacked in the wrong order, so the queries get the keys' bias and the keys get the queries' bias
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_K, b_Q = gpt2.get_split_l0_heads(head, bias=True)
        queries = x @ W_Q + b_Q
        keys = x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (difference): causal_attn_weights gets the square root of d_head as d_k and takes the root again, so the scores are divided by the fourth root and the patterns are too sharp
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = torch.zeros(n_heads, len(tokens), len(tokens))
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns[head] = causal_attn_weights(scores, W_K.shape[-1] ** 0.5)
    return patterns


# %% all_head_patterns wrong (raised): the list of patterns lies outside the function and is never emptied, so a second call also returns the patterns of the first (or fails in torch.stack if the texts have different lengths)
collected = []


def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        collected.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(collected)


# %% all_head_patterns right (passed): a loop over the heads collects the patterns, which are stacked at the end
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns right (passed): the matrices and biases of all heads are stacked first, then one einsum each for queries, keys and scores
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    x = gpt2.get_pre_attn(prompt)[1]
    parts = [gpt2.get_split_l0_heads(h, bias=True) for h in range(n_heads)]
    W_Q, W_K, b_Q, b_K = (torch.stack(tensors_of_heads) for tensors_of_heads in zip(*parts))
    queries = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q[:, None, :]
    keys = torch.einsum("sm,hmd->hsd", x, W_K) + b_K[:, None, :]
    scores = torch.einsum("hqd,hkd->hqk", queries, keys)
    return causal_attn_weights(scores, d_k=W_K.shape[-1])


# %% head_kind wrong (misconception next-for-previous): "previous" is measured on diagonal(1), the position after the row's own, which is always hidden; a previous-token head is never found
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = len(pattern)
    means = {
        "previous": pattern.diagonal(1)[1:].mean(),
        "current": pattern.diagonal()[2:].mean(),
        "first": pattern[2:, 0].mean(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception against-the-second): the largest mean is compared with 1.4 times the second largest mean instead of 1.4 times the mean of a uniform head
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    ranked = sorted(means, key=means.get, reverse=True)
    if means[ranked[0]] >= 1.4 * means[ranked[1]]:
        return ranked[0]
    return "other"


# %% head_kind wrong (misconception first-over-the-bar): the kinds are tested one after another and the first one over the threshold is returned, not the largest; if two are over it, "previous" wins over a larger "current" or "first"
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = range(2, len(pattern))
    previous = sum(pattern[i, i - 1] for i in rows) / len(rows)
    current = sum(pattern[i, i] for i in rows) / len(rows)
    first = sum(pattern[i, 0] for i in rows) / len(rows)
    threshold = 1.4 * sum(1 / (i + 1) for i in rows) / len(rows)
    if previous >= threshold:
        return "previous"
    elif current >= threshold:
        return "current"
    elif first >= threshold:
        return "first"
    return "other"


# %% head_kind wrong (property means): the mean of the uniform head is taken over all rows, 0 and 1 included, so the threshold is too high and weaker heads become "other"; the three means are right
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1)[1:].mean(),
        "current": pattern.diagonal()[2:].mean(),
        "first": pattern[2:, 0].mean(),
    }
    uniform = (1 / torch.arange(1, seq + 1)).mean()
    kind = max(means, key=means.get)
    return kind if means[kind] >= 1.4 * uniform else "other"


# %% head_kind wrong (property means): diagonal(-1)[2:] begins at row 3, because the diagonal below the main one already begins at row 1, so the mean for "previous" lacks row 2 (and is nan for three rows)
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    n = len(pattern)
    previous = pattern.diagonal(offset=-1)[2:].mean()
    current = pattern.diagonal(offset=0)[2:].mean()
    first = pattern[2:, 0].mean()
    uniform = (1 / torch.arange(3, n + 1)).mean()
    means = torch.stack((previous, current, first))
    if means.max() < 1.4 * uniform:
        return "other"
    return ("previous", "current", "first")[means.argmax()]


# %% head_kind right (passed): diagonals and a column, cut to rows from 2 on, in a dictionary; max with a key
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


# %% head_kind right (passed): indexing with a tensor of row numbers, then argmax over a stacked tensor of three means
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = torch.arange(2, pattern.shape[0])
    looked_at = torch.stack((pattern[rows, rows - 1], pattern[rows, rows], pattern[rows, 0]))
    previous_current_first = looked_at.mean(dim=1)
    threshold = 1.4 * (1 / (rows + 1)).mean()
    if previous_current_first.max() < threshold:
        return "other"
    return ["previous", "current", "first"][previous_current_first.argmax().item()]
