# %% MultiHeadAttentionWrapper wrong (misconception in-a-plain-list): a plain Python list, whose parameters torch does not find
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception in-a-row): puts the results one after another along the positions (dim=1)
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=1)


# %% MultiHeadAttentionWrapper wrong (misconception one-head-repeated): the list holds the same layer num_heads times, so the heads share their parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)] * num_heads)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception never-a-bias): does not pass qkv_bias on, so there are no biases when qkv_bias is true
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (shape): forward joins the first and the last head only, right only for two heads
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat((self.heads[0](x), self.heads[-1](x)), dim=2)


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


# %% MultiHeadAttentionWrapper right (passed): appends in a loop; stacks the heads before the last axis and flattens
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            head = CausalAttention(
                d_in=d_in, d_out=d_out, context_length=context_length, dropout=dropout, qkv_bias=qkv_bias
            )
            self.heads.append(head)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        results = []
        for head in self.heads:
            results.append(head(x))
        return torch.stack(results, dim=-2).flatten(start_dim=-2)


# %% split_heads wrong (misconception view-without-transpose): a view directly to the final shape
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (misconception interleaved): head h gets every num_heads-th entry instead of neighbouring entries
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return torch.stack([x[:, :, h::num_heads] for h in range(num_heads)], dim=1)


# %% split_heads wrong (misconception num_heads-and-d_head-swapped): x.split(num_heads) makes parts of num_heads entries, right only if d_head equals num_heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


# %% split_heads wrong (shape): with a single head it returns x as it is, without the axis of the heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    if num_heads == 1:
        return x  # nothing to split
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, num_heads, d_out // num_heads).transpose(1, 2)


# %% split_heads wrong (property lets_gradients_through): copies the numbers through x.data, so no gradient flows
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    heads = x.new_empty(batch, num_heads, seq, d_head)
    for h in range(num_heads):
        heads[:, h] = x.data[:, :, h * d_head : (h + 1) * d_head]
    return heads


# %% split_heads right (passed): unflatten the last axis, then move the heads before the positions
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return x.unflatten(-1, (num_heads, x.shape[-1] // num_heads)).movedim(2, 1)


# %% split_heads right (passed): slices of the last axis, stacked along a new axis 1
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    d_head = x.size(2) // num_heads
    return torch.stack([x[..., h * d_head : (h + 1) * d_head] for h in range(num_heads)], dim=1)


# %% merge_heads wrong (misconception not-transposed): reshapes without moving the heads back behind the positions
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (misconception interleaved): moves the heads to the last axis, so the entries of the heads alternate
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.permute(0, 2, 3, 1).flatten(2)


# %% merge_heads wrong (shape): joins the first and the last head only, right only for two heads
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat((x[:, 0], x[:, -1]), dim=-1)


# %% merge_heads wrong (shape): squeeze(0) removes the axis of the batch if there is only one text
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    merged = [torch.cat(list(text), dim=-1) for text in x]
    return torch.stack(merged).squeeze(0)


# %% merge_heads wrong (property lets_gradients_through): builds a new tensor from the list of numbers, so no gradient flows
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    rows = x.transpose(1, 2).tolist()
    merged = torch.tensor(rows, dtype=x.dtype, device=x.device)
    return merged.view(batch, seq, num_heads * d_head)


# %% merge_heads right (passed): swaps the axes, makes the memory contiguous, then a view
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.permute(0, 2, 1, 3).contiguous().view(batch, seq, num_heads * d_head)


# %% merge_heads right (passed): joins the heads along the last axis
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat(x.unbind(dim=1), dim=-1)


# %% MultiHeadAttention wrong (misconception root-of-d_out): divides the scores by the root of d_out instead of the root of a head's width
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
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        weights = causal_attn_weights(q @ k.transpose(2, 3), self.d_out)
        return self.out_proj(merge_heads(self.dropout(weights) @ v))


# %% MultiHeadAttention wrong (misconception out_proj-asks-qkv_bias): out_proj has a bias only if qkv_bias is true
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{d_out} entries cannot be shared by {num_heads} heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        weights = causal_attn_weights(q @ k.transpose(-2, -1), q.shape[-1])
        return self.out_proj(merge_heads(self.dropout(weights) @ v))


# %% MultiHeadAttention wrong (raised): an assert instead of a ValueError when d_out cannot be divided
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
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        b, seq, _ = x.shape
        queries = self.W_query(x).view(b, seq, self.num_heads, self.d_head).transpose(1, 2)
        keys = self.W_key(x).view(b, seq, self.num_heads, self.d_head).transpose(1, 2)
        values = self.W_value(x).view(b, seq, self.num_heads, self.d_head).transpose(1, 2)
        scores = (queries @ keys.transpose(2, 3)).masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_head**0.5, dim=-1))
        return self.out_proj((weights @ values).transpose(1, 2).reshape(b, seq, -1))


# %% MultiHeadAttention wrong (misconception drops-in-eval): torch's function gets dropout_p in evaluation too, so it still drops weights after eval()
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

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.p)
        return self.out_proj(merge_heads(mixed))


# %% MultiHeadAttention wrong (property moves_with_its_module): keeps the mask of the first text, so a later text of another length raises an error
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
        self.hidden = None

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        if self.hidden is None:
            self.hidden = ~get_mask(x.shape[1]).to(x.device)
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        scores = (q @ k.mT / self.d_head**0.5).masked_fill(self.hidden, -torch.inf)
        return self.out_proj(merge_heads(self.dropout(scores.softmax(dim=-1)) @ v))


# %% MultiHeadAttention right (passed): split_heads, causal_attn_weights and merge_heads
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"d_out = {d_out} is not divisible by num_heads = {num_heads}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        weights = self.dropout(causal_attn_weights(q @ k.transpose(-2, -1), k.shape[-1]))
        return self.out_proj(merge_heads(weights @ v))


# %% MultiHeadAttention right (passed): einsum with an axis for the heads, a buffer that is True where hidden
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads, self.d_head = num_heads, d_out // num_heads
        if self.heads * self.d_head != d_out:
            raise ValueError("the heads cannot share d_out evenly")
        for name in ("W_query", "W_key", "W_value"):
            self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.out_proj = nn.Linear(d_out, d_out, bias=True)
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(context_length)
        self.register_buffer("mask", position[None, :] > position[:, None], persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        q = self.W_query(x).unflatten(2, (self.heads, self.d_head)) / self.d_head**0.5
        k = self.W_key(x).unflatten(2, (self.heads, self.d_head))
        v = self.W_value(x).unflatten(2, (self.heads, self.d_head))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
        weights = scores.masked_fill(self.mask[:seq, :seq], -torch.inf).softmax(dim=-1)
        mixed = torch.einsum("bhqk,bkhd->bqhd", self.dropout(weights), v)
        return self.out_proj(mixed.flatten(2))


# %% all_head_patterns wrong (misconception no-biases): leaves out the biases
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        patterns.append(causal_attn_weights((x @ W_Q) @ (x @ W_K).T, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception root-of-d_model): passes the width of x (d_model) as d_k
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, x.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception all-heads): always returns all heads of the model, whatever n_heads says
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(source.n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, source.d_head))
    return torch.stack(patterns)


# %% all_head_patterns wrong (shape): squeeze removes the axis of the heads if n_heads is 1
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)

    def pattern(head):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        return causal_attn_weights((x @ W_Q + b_Q) @ (x @ W_K + b_K).T, W_Q.shape[1])

    return torch.stack([pattern(head) for head in range(n_heads)]).squeeze(0)


# %% all_head_patterns wrong (property state): remembers the patterns of a prompt, so a second call with another n_heads gets the old number of heads
remembered = {}


def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    if prompt not in remembered:
        _, x = gpt2.get_pre_attn(prompt)
        patterns = []
        for head in range(n_heads):
            W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
            patterns.append(causal_attn_weights((x @ W_Q + b_Q) @ (x @ W_K + b_K).T, W_Q.shape[1]))
        remembered[prompt] = torch.stack(patterns)
    return remembered[prompt]


# %% all_head_patterns right (passed): one head after another, with causal_attn_weights
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries = x @ W_Q + b_Q
        keys = x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, W_K.shape[1]))
    return torch.stack(patterns, dim=0)


# %% all_head_patterns right (passed): stacks the matrices of the heads; einsum; masks and takes the softmax itself
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    x = gpt2.get_pre_attn(prompt)[1]
    parts = zip(*(gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)))
    W_Q, W_K, b_Q, b_K = (torch.stack(part) for part in parts)
    queries = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q[:, None, :]
    keys = torch.einsum("sm,hmd->hsd", x, W_K) + b_K[:, None, :]
    scores = torch.einsum("hqd,hkd->hqk", queries, keys) / W_Q.shape[-1] ** 0.5
    position = torch.arange(x.shape[0], device=x.device)
    return torch.softmax(scores.masked_fill(position > position[:, None], -torch.inf), dim=-1)


# %% head_kind wrong (property means): takes the means over all rows, also rows 0 and 1
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1).mean().item(),
        "current": pattern.diagonal().mean().item(),
        "first": pattern[:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(seq)) / seq
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception next-for-previous): offset=1 takes the diagonal above, which is the next position
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(offset=1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception first-over-the-bar): returns the first kind that reaches the threshold, even if another mean is larger
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = range(2, len(pattern))
    threshold = 1.4 * sum(1 / (i + 1) for i in rows) / len(rows)
    if sum(pattern[i, i - 1].item() for i in rows) / len(rows) >= threshold:
        return "previous"
    if sum(pattern[i, i].item() for i in rows) / len(rows) >= threshold:
        return "current"
    if sum(pattern[i, 0].item() for i in rows) / len(rows) >= threshold:
        return "first"
    return "other"


# %% head_kind wrong (misconception bar-one-over-seq): takes 1 / seq for the uniform head, which is too low; heads just below the threshold still get a name
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    rows = torch.arange(2, seq)
    means = torch.stack([pattern[rows, rows - 1].mean(), pattern[rows, rows].mean(), pattern[rows, 0].mean()])
    if means.max() < 1.4 / seq:
        return "other"
    return ("previous", "current", "first")[means.argmax().item()]


# %% head_kind wrong (property means): the kind that wins most rows gets the name instead of the kind with the largest mean
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = range(2, len(pattern))
    three = torch.stack([pattern[i, [i - 1, i, 0]] for i in rows])
    uniform = sum(1 / (i + 1) for i in rows) / len(rows)
    winner = three.argmax(dim=1).bincount(minlength=3).argmax().item()
    if three[:, winner].mean() < 1.4 * uniform:
        return "other"
    return ("previous", "current", "first")[winner]


# %% head_kind right (passed): diagonals of the rows from 2 on
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(offset=-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = (1 / torch.arange(3, seq + 1)).mean().item()
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind right (passed): plain Python sums in a loop over the rows
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    table = pattern.tolist()
    previous = current = first = uniform = 0.0
    for i in range(2, len(table)):
        previous += table[i][i - 1]
        current += table[i][i]
        first += table[i][0]
        uniform += 1 / (i + 1)
    largest, name = max((previous, "previous"), (current, "current"), (first, "first"))
    if largest < 1.4 * uniform:
        return "other"
    return name
