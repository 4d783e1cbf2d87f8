# %% MultiHeadAttentionWrapper wrong (misconception in-a-plain-list): a plain Python list, in which torch finds no parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception interleaved): stacks along a new last axis and flattens, so that the heads' entries alternate
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


# %% MultiHeadAttentionWrapper wrong (misconception never-a-bias): does not pass on qkv_bias; shows only with qkv_bias=True
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)])

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (property sizes): goes through the heads by their names, sorted as text; with more than ten heads, "10" comes before "2"
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        by_name = dict(self.heads.named_children())
        return torch.cat([by_name[name](x) for name in sorted(by_name)], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception no-dropout): passes a dropout of 0.0 to every head; shows only in training with dropout > 0
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout=0.0, qkv_bias=qkv_bias))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=2)


# %% MultiHeadAttentionWrapper right (passed): a ModuleList and cat along the last axis
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): appends the layers in a loop; stacks the results before the last axis and flattens
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


# %% split_heads wrong (misconception view-without-transpose): a view directly to the shape, which cuts along the positions
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (misconception interleaved): splits the width into d_head x num_heads, so that head h gets every num_heads-th entry
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, d_out // num_heads, num_heads).permute(0, 3, 1, 2)


# %% split_heads wrong (property layouts): as_strided with the strides of a contiguous tensor; wrong for x that is transposed or sliced
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    return x.as_strided((batch, num_heads, seq, d_head), (seq * d_out, d_head, d_out, 1))


# %% split_heads wrong (misconception num_heads-and-d_head-swapped): calls split with the number of heads, but split expects the size of a piece; right only if d_head equals num_heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


# %% split_heads wrong (misconception texts-and-heads-mixed): puts all positions of all texts in one axis before moving the heads to the front; mixes texts if batch > 1
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    by_head = x.reshape(batch * seq, num_heads, d_out // num_heads).transpose(0, 1)
    return by_head.reshape(batch, num_heads, seq, d_out // num_heads)


# %% split_heads right (passed): unflatten the width, then swap positions and heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return x.unflatten(-1, (num_heads, x.shape[-1] // num_heads)).transpose(1, 2)


# %% split_heads right (passed): slices the entries of each head and stacks the slices along axis 1
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    d_head = x.shape[2] // num_heads
    return torch.stack([x[:, :, h * d_head : (h + 1) * d_head] for h in range(num_heads)], dim=1)


# %% merge_heads wrong (misconception not-transposed): reshapes without moving the heads back behind the positions
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (misconception interleaved): moves the heads to the last axis, so that the entries of the heads alternate
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.permute(0, 2, 3, 1).flatten(2)


# %% merge_heads wrong (misconception view-after-transpose): view after the transpose; works on what split_heads returns, fails on a newly computed tensor
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.transpose(1, 2).view(batch, seq, num_heads * d_head)


# %% merge_heads wrong (difference rearranged): puts the heads of all texts side by side, then cuts; mixes texts if batch > 1
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    side_by_side = torch.cat(tuple(x.flatten(0, 1)), dim=-1)
    return side_by_side.reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (property lets_gradients_through): copies the heads into a new tensor through .data, so that no gradient flows
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    out = x.new_zeros(batch, seq, num_heads * d_head)
    for h in range(num_heads):
        out[..., h * d_head : (h + 1) * d_head] = x.data[:, h]
    return out


# %% merge_heads right (passed): swaps heads and positions, then flattens the last two axes
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.transpose(1, 2).flatten(start_dim=2)


# %% merge_heads right (passed): takes the heads apart and puts them side by side with cat
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
        self.d_out, self.num_heads = d_out, num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        batch, seq, _ = x.shape
        queries, keys, values = (
            layer(x).view(batch, seq, self.num_heads, -1).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        hidden = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        scores = (queries @ keys.transpose(2, 3)).masked_fill(hidden, -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_out**0.5, dim=-1))
        return self.out_proj((weights @ values).transpose(1, 2).reshape(batch, seq, self.d_out))


# %% MultiHeadAttention wrong (misconception out_proj-asks-qkv_bias): out_proj has a bias only if qkv_bias is true
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("the heads cannot share d_out evenly")
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.ones(context_length, context_length).triu(1).bool()
        self.register_buffer("mask", hidden, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        batch, seq, _ = x.shape
        queries = self.W_query(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        keys = self.W_key(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        values = self.W_value(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        scores = queries @ keys.transpose(2, 3) / self.d_head**0.5
        weights = torch.softmax(scores.masked_fill(self.mask[:seq, :seq], -torch.inf), dim=-1)
        return self.out_proj((self.dropout(weights) @ values).transpose(1, 2).flatten(2))


# %% MultiHeadAttention wrong (property moves_with_its_module): assigns the mask to self without a buffer, so that it does not move with the layer to another device
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{d_out} cannot be divided among {num_heads} heads")
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.mask = torch.ones(context_length, context_length).tril().bool()

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        batch, seq, _ = x.shape
        queries = self.W_query(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        keys = self.W_key(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        values = self.W_value(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        scores = queries @ keys.transpose(2, 3) / self.d_head**0.5
        weights = torch.softmax(scores.masked_fill(~self.mask[:seq, :seq], -torch.inf), dim=-1)
        return self.out_proj((self.dropout(weights) @ values).transpose(1, 2).flatten(2))


# %% MultiHeadAttention wrong (property finite_when_scaled): a softmax by hand without subtracting the maximum; large inputs give inf / inf = nan
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

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = (
            layer(x).unflatten(-1, (self.num_heads, self.d_head)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        hidden = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        powers = torch.exp((queries @ keys.mT / self.d_head**0.5).masked_fill(hidden, -torch.inf))
        weights = self.dropout(powers / powers.sum(dim=-1, keepdim=True))
        return self.out_proj((weights @ values).transpose(1, 2).flatten(2))


# %% MultiHeadAttention wrong (misconception any-width-accepted): raises the ValueError only if there are more heads than entries; 6 entries and 4 heads are accepted
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out < num_heads:
            raise ValueError("there are more heads than entries")
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).tril())

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        batch, seq, _ = x.shape
        queries = self.W_query(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        keys = self.W_key(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        values = self.W_value(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        scores = queries @ keys.transpose(2, 3) / self.d_head**0.5
        weights = torch.softmax(scores.masked_fill(~self.mask[:seq, :seq], -torch.inf), dim=-1)
        return self.out_proj((self.dropout(weights) @ values).transpose(1, 2).flatten(2))


# %% MultiHeadAttention right (passed): one product for all heads, a buffer for the mask that is not saved
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out = {d_out} cannot be divided evenly among {num_heads} heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("mask", hidden, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries, keys, values = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(self.mask[:seq, :seq], -torch.inf), dim=-1)
        context = self.dropout(weights) @ values
        return self.out_proj(context.transpose(1, 2).flatten(2))


# %% MultiHeadAttention right (passed): cuts the heads with a reshape and uses einsum without transposing; a mask from position numbers in each call
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.num_heads = num_heads
        self.d_head, rest = divmod(d_out, num_heads)
        if rest:
            raise ValueError("the heads cannot share d_out evenly")
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.out_proj = nn.Linear(d_out, d_out, bias=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        batch, seq, _ = x.shape
        shape = (batch, seq, self.num_heads, self.d_head)
        queries = self.W_query(x).reshape(shape) / self.d_head**0.5
        keys = self.W_key(x).reshape(shape)
        values = self.W_value(x).reshape(shape)
        position = torch.arange(seq, device=x.device)
        future = position[None, :] > position[:, None]
        scores = torch.einsum("bqhd,bkhd->bhqk", queries, keys).masked_fill(future, float("-inf"))
        weights = self.dropout(scores.softmax(-1))
        context = torch.einsum("bhqk,bkhd->bqhd", weights, values)
        return self.out_proj(context.reshape(batch, seq, -1))


# %% all_head_patterns wrong (misconception no-biases): leaves out the biases
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        patterns.append(causal_attn_weights((x @ W_Q) @ (x @ W_K).T, d_k=W_Q.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception root-of-d_model): scales by the width of x (d_model) instead of the head's width
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, d_k=x.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception all-heads): always returns the patterns of all heads of the model, also if n_heads is smaller
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(source.n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (shape): keeps each head's pattern for the next call, and so returns the first prompt's patterns for a second prompt
seen_patterns = {}


def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    for head in range(n_heads):
        if head not in seen_patterns:
            _, x = gpt2.get_pre_attn(prompt)
            W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
            scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
            seen_patterns[head] = causal_attn_weights(scores, W_Q.shape[1])
    return torch.stack([seen_patterns[head] for head in range(n_heads)])


# %% all_head_patterns wrong (shape): strips the prompt; a prompt that starts or ends with a space has other tokens
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    tokens, x = gpt2.get_pre_attn(prompt.strip())
    patterns = torch.zeros(n_heads, len(tokens), len(tokens))
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        patterns[head] = causal_attn_weights((x @ W_Q + b_Q) @ (x @ W_K + b_K).T, W_K.shape[-1])
    return patterns


# %% all_head_patterns right (passed): one head after another, stacked
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).transpose(0, 1)
        patterns.append(causal_attn_weights(scores, d_k=W_K.shape[-1]))
    return torch.stack(patterns, dim=0)


# %% all_head_patterns right (passed): stacks the matrices of all heads, one einsum for all, with a softmax of its own
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    x = gpt2.get_pre_attn(prompt)[1]
    parts = [gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)]
    W_Q, W_K, b_Q, b_K = (torch.stack(tensors) for tensors in zip(*parts))
    queries = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q.reshape(n_heads, 1, -1)
    keys = torch.einsum("sm,hmd->hsd", x, W_K) + b_K.reshape(n_heads, 1, -1)
    scores = torch.einsum("hqd,hkd->hqk", queries, keys) / W_Q.shape[-1] ** 0.5
    future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)


# %% head_kind wrong (misconception never-other): never compares with a uniform head, and so never returns "other"
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = range(2, pattern.shape[0])
    means = {
        "previous": sum(pattern[i, i - 1].item() for i in rows),
        "current": sum(pattern[i, i].item() for i in rows),
        "first": sum(pattern[i, 0].item() for i in rows),
    }
    return max(means, key=means.get)


# %% head_kind wrong (misconception next-for-previous): takes the diagonal above the main diagonal for the previous position; it holds the next position
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception bar-one-over-seq): takes 1 / seq for the mean of a uniform head, which is too small; shows with means a little above it
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 / pattern.shape[0] else "other"


# %% head_kind wrong (property means): counts row 1 in the mean on the previous position; shows when the means are close
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = {
        "previous": torch.diagonal(pattern, offset=-1).mean(),
        "current": torch.diagonal(pattern)[2:].mean(),
        "first": pattern[2:, 0].mean(),
    }
    uniform = (1 / torch.arange(3, seq + 1)).mean()
    best = max(means, key=lambda kind: means[kind])
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception first-over-the-bar): returns the first kind that reaches the threshold, not the largest; shows when two means reach it
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = torch.arange(2, pattern.shape[0])
    threshold = 1.4 * (1 / (rows + 1)).mean()
    if pattern[rows, rows - 1].mean() >= threshold:
        return "previous"
    if pattern[rows, rows].mean() >= threshold:
        return "current"
    if pattern[rows, 0].mean() >= threshold:
        return "first"
    return "other"


# %% head_kind right (passed): diagonals, without rows 0 and 1
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind right (passed): picks the cells by number, argmax over the three means, compares with a uniform pattern
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    i = torch.arange(2, len(pattern), device=pattern.device)
    cells = torch.stack([pattern[i, i - 1], pattern[i, i], pattern[i, torch.zeros_like(i)]])
    means = cells.mean(dim=1)
    uniform = (1 / (i + 1.0)).mean()
    if means.max() < 1.4 * uniform:
        return "other"
    return ("previous", "current", "first")[means.argmax().item()]


