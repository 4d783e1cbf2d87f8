# %% MultiHeadAttentionWrapper wrong (misconception in-a-plain-list): a plain Python list, so torch does not find the parameters of the heads
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception interleaved): stack on a last axis and flatten, which interleaves the entries of the heads
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.stack([head(x) for head in self.heads], dim=-1).flatten(-2)


# %% MultiHeadAttentionWrapper wrong (misconception never-a-bias): subtle: qkv_bias is not passed on, so with qkv_bias=True the heads have no biases
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


# %% MultiHeadAttentionWrapper wrong (misconception no-dropout): subtle: the heads get dropout 0.0 whatever was passed, shows in training with dropout > 0
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [
                CausalAttention(d_in, d_out, context_length, dropout=0.0, qkv_bias=qkv_bias)
                for _ in range(num_heads)
            ]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (shape): subtle: forward takes exactly the first and the last head, right only for two heads
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        first, last = self.heads[0](x), self.heads[-1](x)
        return torch.cat((first, last), dim=-1)


# %% MultiHeadAttentionWrapper right (passed): ModuleList and cat along the last axis
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): the list is filled in a loop; stack on an axis before the last one, then flatten both
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=qkv_bias))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        results = torch.stack([head(x) for head in self.heads], dim=-2)
        return results.flatten(start_dim=-2)


# %% split_heads wrong (misconception view-without-transpose): a plain view to the shape, which gives the heads whole positions
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (misconception interleaved): cuts into [d_head, num_heads], so each head gets every num_heads-th entry and not neighbours
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, d_out // num_heads, num_heads).permute(0, 3, 1, 2)


# %% split_heads wrong (misconception texts-and-heads-mixed): subtle: puts the heads side by side along the batch and cuts again, so with several texts the texts are mixed up
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    heads = torch.cat(x.chunk(num_heads, dim=-1), dim=0)
    return heads.view(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (property layouts): subtle: strides of a contiguous tensor, wrong if x is a transposed or sliced tensor
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    return x.as_strided((batch, num_heads, seq, d_head), (seq * d_out, d_head, d_out, 1))


# %% split_heads wrong (property lets_gradients_through): subtle: copies the numbers without their history, so no gradient flows
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    out = x.new_zeros(batch, num_heads, seq, d_head)
    for head in range(num_heads):
        out[:, head] = x.data[:, :, head * d_head : (head + 1) * d_head]
    return out


# %% split_heads right (passed): unflatten the last axis, then exchange positions and heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return x.unflatten(-1, (num_heads, x.shape[-1] // num_heads)).transpose(1, 2)


# %% split_heads right (passed): slices of neighbouring entries, stacked on a new axis
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    d_head = x.shape[-1] // num_heads
    slices = [x[..., head * d_head : (head + 1) * d_head] for head in range(num_heads)]
    return torch.stack(slices, dim=1)


# %% merge_heads wrong (misconception not-transposed): reshape without putting the positions before the heads
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (misconception interleaved): puts the heads last, which interleaves their entries
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.permute(0, 2, 3, 1).flatten(2)


# %% merge_heads wrong (misconception view-after-transpose): subtle: view after transpose, which works on the result of split_heads but raises an error on a fresh tensor
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.transpose(1, 2).view(batch, seq, num_heads * d_head)


# %% merge_heads wrong (difference rearranged): subtle: flattens texts and heads and cuts this axis into num_heads chunks, which mixes up the texts of a batch
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    num_heads = x.shape[1]
    return torch.cat(x.flatten(0, 1).chunk(num_heads, dim=0), dim=-1)


# %% merge_heads wrong (property lets_gradients_through): subtle: fills a table with detached numbers, so no gradient flows
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    out = x.new_empty(batch, seq, num_heads * d_head)
    for head in range(num_heads):
        out[:, :, head * d_head : (head + 1) * d_head] = x[:, head].detach()
    return out


# %% merge_heads right (passed): exchange heads and positions, then flatten the last two axes
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.transpose(1, 2).flatten(start_dim=2)


# %% merge_heads right (passed): takes the heads apart and puts them side by side
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat(x.unbind(dim=1), dim=-1)


# %% MultiHeadAttention wrong (misconception root-of-d_out): divides by the square root of d_out and not of the width of a head
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
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_out**0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (raised): assert raises an AssertionError, not a ValueError
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
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (property causal): subtle: fills with -1e9, so the future gets weight when inputs are near a million and scores far below -1e9
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
        scores = scores.masked_fill(~self.mask[:seq, :seq], -1e9)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (misconception mask-not-cut): subtle: the mask always has context_length rows, so a shorter text raises an error
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
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(~self.mask, -torch.inf)
        weights = self.dropout(torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (misconception drops-in-eval): subtle: functional dropout without training=, so weights are dropped after eval() too
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads, self.p = num_heads, dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        weights = nn.functional.dropout(weights, self.p)
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention right (passed): view and transpose, a buffer that is True where hidden
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if num_heads < 1 or d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_out} entries evenly")
        self.num_heads = num_heads
        self.d_head = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("mask", hidden, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        batch, seq, _ = x.shape
        shape = (batch, seq, self.num_heads, self.d_head)
        queries = self.W_query(x).view(shape).transpose(1, 2)
        keys = self.W_key(x).view(shape).transpose(1, 2)
        values = self.W_value(x).view(shape).transpose(1, 2)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_head**0.5, dim=-1))
        context = (weights @ values).transpose(1, 2).reshape(batch, seq, -1)
        return self.out_proj(context)


# %% MultiHeadAttention right (passed): one head after another on chunks of the width, with a mask made in each call
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if num_heads < 1 or d_out % num_heads:
            raise ValueError("the heads cannot share d_out evenly")
        self.width = d_out // num_heads
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.out_proj = nn.Linear(d_out, d_out, bias=True)
        self.attn_dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        place = torch.arange(x.shape[1], device=x.device)
        visible = place[:, None] >= place[None, :]
        cuts = (layer(x).split(self.width, dim=-1) for layer in (self.W_query, self.W_key, self.W_value))
        results = []
        for q, k, v in zip(*cuts):
            scores = torch.einsum("bqd,bkd->bqk", q, k) * self.width**-0.5
            weights = torch.where(visible, scores, -torch.inf).softmax(dim=-1)
            results.append(torch.einsum("bqk,bkd->bqd", self.attn_dropout(weights), v))
        return self.out_proj(torch.cat(results, dim=-1))


# %% all_head_patterns wrong (misconception no-biases): the biases are left out
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        scores = (x @ W_Q) @ (x @ W_K).T
        patterns.append(causal_attn_weights(scores, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception root-of-d_model): divides by the square root of d_model and not of the width of a head
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, x.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (difference): subtle: computes all heads and returns the last n_heads, right only if n_heads is the number of all heads
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(source.n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, W_K.shape[-1]))
    return torch.stack(patterns)[-n_heads:]


# %% all_head_patterns wrong (property state): subtle: remembers the result for a prompt without n_heads, so a second call with another n_heads is wrong
patterns_of = {}


def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    if prompt not in patterns_of:
        _, x = gpt2.get_pre_attn(prompt)
        patterns = []
        for head in range(n_heads):
            W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
            scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
            patterns.append(causal_attn_weights(scores, W_K.shape[-1]))
        patterns_of[prompt] = torch.stack(patterns)
    return patterns_of[prompt]


# %% all_head_patterns wrong (shape): subtle: tidies the whitespace of the prompt, so prompts with spaces or newlines at an end, or double spaces, get other tokens
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(" ".join(prompt.split()))
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns right (passed): a loop over the heads, then stack
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, d_k=keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns right (passed): stacks the matrices of all heads, then one einsum for each step
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    x = gpt2.get_pre_attn(prompt)[1]
    parts = zip(*(gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)))
    W_Q, W_K, b_Q, b_K = (torch.stack(part) for part in parts)
    queries = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q.unsqueeze(1)
    keys = torch.einsum("sm,hmd->hsd", x, W_K) + b_K.unsqueeze(1)
    scores = torch.einsum("hqd,hkd->hqk", queries, keys)
    return causal_attn_weights(scores, W_K.shape[-1])


# %% head_kind wrong (property means): takes the means over all rows, rows 0 and 1 included
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = len(pattern)
    means = {
        "previous": pattern.diagonal(-1).mean().item(),
        "current": pattern.diagonal().mean().item(),
        "first": pattern[:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(seq)) / seq
    kind = max(means, key=means.get)
    return kind if means[kind] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception next-for-previous): the diagonal above and not below, so "previous" reads the weight on the next position, which is 0
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = len(pattern)
    means = {
        "previous": pattern.diagonal(1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    kind = max(means, key=means.get)
    return kind if means[kind] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception row-2-lost-for-previous): subtle: the diagonal below starts at row 1, so [2:] leaves out row 2; wrong if this row decides, and for 3 rows
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = len(pattern)
    means = {
        "previous": pattern.diagonal(-1)[2:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    kind = max(means, key=means.get)
    return kind if means[kind] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception first-over-the-bar): subtle: returns the first kind that reaches the threshold, wrong if a later kind has a larger mean
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = range(2, len(pattern))
    uniform = sum(1 / (i + 1) for i in rows) / len(rows)
    if sum(pattern[i, i - 1].item() for i in rows) / len(rows) >= 1.4 * uniform:
        return "previous"
    if sum(pattern[i, i].item() for i in rows) / len(rows) >= 1.4 * uniform:
        return "current"
    if sum(pattern[i, 0].item() for i in rows) / len(rows) >= 1.4 * uniform:
        return "first"
    return "other"


# %% head_kind wrong (misconception uniform-of-the-mean-row): subtle: uniform mean as 1 over the mean length of a row and not the mean of 1 / (i + 1), which is too small; wrong near the threshold
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = len(pattern)
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = 1 / torch.arange(3.0, seq + 1).mean().item()
    kind = max(means, key=means.get)
    return kind if means[kind] >= 1.4 * uniform else "other"


# %% head_kind right (passed): diagonals and a column, the uniform mean from a table of equal weights
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    names = ("previous", "current", "first")
    means = torch.stack((pattern.diagonal(-1)[1:].mean(), pattern.diagonal()[2:].mean(), pattern[2:, 0].mean()))
    uniform = (1 / torch.arange(3, len(pattern) + 1)).mean().to(means.device)
    best = means.argmax().item()
    return names[best] if means[best] >= 1.4 * uniform else "other"


# %% head_kind right (passed): sums over the rows in a loop of Python numbers
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    sums = {"previous": 0.0, "current": 0.0, "first": 0.0}
    uniform = 0.0
    for i, row in enumerate(pattern.tolist()):
        if i < 2:
            continue
        sums["previous"] += row[i - 1]
        sums["current"] += row[i]
        sums["first"] += row[0]
        uniform += 1 / (i + 1)
    largest = max(sums.values())
    if largest < 1.4 * uniform:
        return "other"
    return next(name for name, total in sums.items() if total == largest)


