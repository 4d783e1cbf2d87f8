# %% MultiHeadAttentionWrapper wrong (misconception in-a-plain-list): self.heads is a plain Python list, so torch does not find the parameters of the heads and the wrapper has none
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


# %% MultiHeadAttentionWrapper wrong (misconception in-a-row): joins the results along dim=1, the axis of the positions, so they stand below each other and not side by side
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


# %% MultiHeadAttentionWrapper wrong (misconception one-head-repeated): multiplies a list of one layer by num_heads, so all heads are the same layer and share one set of parameters
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


# %% MultiHeadAttentionWrapper wrong (misconception interleaved): stacks the results on a new last axis before flattening, so the entries of the heads alternate; right only for d_out = 1 or one head
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        results = [head(x) for head in self.heads]
        return torch.stack(results, dim=-1).flatten(-2)


# %% MultiHeadAttentionWrapper wrong (misconception dropout-and-bias-swapped): passes qkv_bias and dropout in exchanged order, so dropout=0.5 gives layers with biases and no dropout, and qkv_bias=True drops every weight; right only for 0.0 and False
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, qkv_bias, dropout) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): an nn.ModuleList from a comprehension with keyword arguments, torch.cat along the last axis
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length=context_length, dropout=dropout, qkv_bias=qkv_bias)
            for _ in range(num_heads)
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): appends the layers in a loop; stacks the results on an axis before the entries and flattens both
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        results = []
        for layer in self.heads:
            results.append(layer(x))
        return torch.stack(results, dim=2).flatten(start_dim=2)


# %% split_heads wrong (misconception not-transposed): forgets to move the heads in front of the positions and returns [batch, seq, num_heads, d_head]
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, num_heads, d_out // num_heads)


# %% split_heads wrong (misconception interleaved): cuts the width into [d_head, num_heads], so head h gets every num_heads-th entry instead of neighbouring entries
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, d_out // num_heads, num_heads).permute(0, 3, 1, 2)


# %% split_heads wrong (misconception num_heads-and-d_head-swapped): x.split(num_heads) makes pieces of num_heads entries instead of num_heads pieces, right only if d_head equals num_heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


# %% split_heads wrong (misconception texts-and-heads-mixed): puts the heads' pieces one after another along the batch axis and then views as [batch, heads, ...], so texts and heads are mixed up when the batch has more than one text
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    pieces = torch.cat(x.chunk(num_heads, dim=-1), dim=0)
    return pieces.view(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (property lets_gradients_through): goes through numpy with detach(), so the numbers are right but no gradient flows back to x
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    array = x.detach().numpy().reshape(batch, seq, num_heads, d_out // num_heads)
    return torch.from_numpy(array.transpose(0, 2, 1, 3))


# %% split_heads right (passed): unflatten the last axis, then transpose positions and heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


# %% split_heads right (passed): slices the entries of each head in a loop and stacks the slices on axis 1
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    d_head = x.shape[-1] // num_heads
    heads = []
    for h in range(num_heads):
        heads.append(x[:, :, h * d_head : (h + 1) * d_head])
    return torch.stack(heads, dim=1)


# %% merge_heads wrong (misconception not-transposed): reshapes without moving the heads behind the positions, so each position gets entries of other positions; right only for one head or one position
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (misconception view-after-transpose): calls view after transpose; for a contiguous x, such as weights @ values, the transposed tensor is not contiguous and view raises a RuntimeError; it works directly after split_heads
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.transpose(1, 2).view(batch, seq, num_heads * d_head)


# %% merge_heads wrong (misconception interleaved): puts the axis of the heads last before flattening, so the entries of the heads alternate; right only for d_head = 1 or one head
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.permute(0, 2, 3, 1).flatten(2)


# %% merge_heads wrong (shape): reads the sizes in the old order, so the result is [batch, num_heads, seq * d_head]; right only if seq equals num_heads
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    swapped = x.transpose(1, 2)
    return swapped.reshape(x.shape[0], x.shape[1], -1)


# %% merge_heads wrong (shape): a squeeze() at the end removes every axis of size 1, so a batch of one text loses its batch axis
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    heads = torch.split(x, 1, dim=1)
    return torch.cat(heads, dim=-1).squeeze()


# %% merge_heads right (passed): transposes heads and positions, then flattens the last two axes
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.transpose(1, 2).flatten(start_dim=2)


# %% merge_heads right (passed): takes the heads apart with unbind and concatenates them along the last axis
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat(x.unbind(dim=1), dim=-1)


# %% MultiHeadAttention wrong (misconception root-of-d_out): divides the scores by the root of d_out, the width of all heads together, instead of the root of d_head
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.d_out = d_out
        self.num_heads = num_heads
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
        weights = causal_attn_weights(queries @ keys.transpose(-2, -1), d_k=self.d_out)
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention wrong (misconception merged-without-transpose): the context is reshaped to [batch, seq, d_out] without transposing heads and positions back, so entries land at wrong positions when there are several heads
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
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        batch, seq, _ = x.shape
        queries = self.W_query(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        keys = self.W_key(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        values = self.W_value(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        scores = queries @ keys.transpose(2, 3) / self.d_head**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        context = (weights @ values).reshape(batch, seq, -1)
        return self.out_proj(context)


# %% MultiHeadAttention wrong (misconception out_proj-asks-qkv_bias): out_proj gets bias=qkv_bias, so by default it has no bias although it should always have one
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
        self.out_proj = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        weights = causal_attn_weights(queries @ keys.transpose(-2, -1), self.d_head)
        context = self.dropout(weights) @ values
        return self.out_proj(merge_heads(context))


# %% MultiHeadAttention wrong (property causal): hidden scores become -1e9 instead of -inf, so with inputs near a million, where visible scores fall far below -1e9, the future gets weight
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        if d_out % num_heads:
            raise ValueError(f"{d_out} entries cannot be shared by {num_heads} heads")
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
        queries, keys, values = (
            split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value)
        )
        scores = queries @ keys.transpose(-2, -1) / self.d_head**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -1e9)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (raised): uses assert for the divisibility, so an uneven d_out raises an AssertionError instead of a ValueError
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
        self.num_heads = num_heads
        self.d_head = d_out // num_heads
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


# %% MultiHeadAttention right (passed): split_heads, causal_attn_weights and merge_heads of the earlier exercises
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
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        weights = causal_attn_weights(queries @ keys.transpose(-2, -1), d_k=keys.shape[-1])
        context = self.dropout(weights) @ values
        return self.out_proj(merge_heads(context))


# %% MultiHeadAttention right (passed): self-contained with a buffer of hidden positions; the heads stay behind the positions and einsum does the products
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        self.n_heads, self.d_head = num_heads, d_out // num_heads
        if self.n_heads * self.d_head != d_out:
            raise ValueError(f"d_out = {d_out} is not a multiple of num_heads = {num_heads}")
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=True)
        self.drop = nn.Dropout(dropout)
        future = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("future", future, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        b, n, _ = x.shape
        q = self.W_query(x).reshape(b, n, self.n_heads, self.d_head)
        k = self.W_key(x).reshape(b, n, self.n_heads, self.d_head)
        v = self.W_value(x).reshape(b, n, self.n_heads, self.d_head)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / self.d_head**0.5
        weights = scores.masked_fill(self.future[:n, :n], float("-inf")).softmax(dim=-1)
        mixed = torch.einsum("bhqk,bkhd->bqhd", self.drop(weights), v)
        return self.out_proj(mixed.reshape(b, n, self.n_heads * self.d_head))


# %% all_head_patterns wrong (misconception no-biases): leaves out the biases of queries and keys, so the patterns are not the model's own
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        queries, keys = x @ W_Q, x @ W_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception one-head-late): counts the heads from 1 to n_heads, so head 0 is missing, every pattern is one head off, and all heads of the model ask for a head that does not exist
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(1, n_heads + 1):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries = x @ W_Q + b_Q
        keys = x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception all-heads): loops over all heads of the model (source.n_heads) and ignores n_heads, so it is right only if all heads are asked for
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(source.n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, d_k=source.d_head))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception scaled-twice): divides the scores by the root of d_head before causal_attn_weights divides them again, so the weights are too even
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        q, k = x @ W_Q + b_Q, x @ W_K + b_K
        d_k = k.shape[-1]
        scores = q @ k.T / d_k**0.5
        patterns.append(causal_attn_weights(scores, d_k))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception biases-swapped): unpacks the biases in the wrong order (b_K, b_Q), so the queries get the bias of the keys and the keys that of the queries; the shapes fit
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_K, b_Q = gpt2.get_split_l0_heads(head, bias=True)
        queries = x @ W_Q + b_Q
        keys = x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.transpose(-2, -1), W_K.shape[1]))
    return torch.stack(patterns)


# %% all_head_patterns right (passed): a loop over the heads, one pattern at a time, then torch.stack
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


# %% all_head_patterns right (passed): stacks the queries and keys of all heads first, then computes all scores in one einsum
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    x = gpt2.get_pre_attn(prompt)[1]
    parts = [gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)]
    q = torch.stack([x @ W_Q + b_Q for W_Q, _, b_Q, _ in parts])
    k = torch.stack([x @ W_K + b_K for _, W_K, _, b_K in parts])
    scores = torch.einsum("hqd,hkd->hqk", q, k)
    return causal_attn_weights(scores, q.shape[-1])


# %% head_kind wrong (misconception next-for-previous): takes the diagonal above the main one as "previous", which is the weight on the next position, so a previous-token head is never found
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    n = len(pattern)
    means = {
        "previous": pattern.diagonal(1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, n)) / (n - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (property means): takes all means over every row instead of the rows from 2 on, so rows 0 and 1, where the positions coincide, count too
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    n = len(pattern)
    means = {
        "previous": pattern.diagonal(-1).mean().item(),
        "current": pattern.diagonal().mean().item(),
        "first": pattern[:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(n)) / n
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (property means): the mean on the previous position is cut with [2:] although the lower diagonal begins at row 1, so row 2 is left out there; with three rows it is nan
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    previous = pattern.diagonal(offset=-1)[2:].mean()
    current = pattern.diagonal()[2:].mean()
    first = pattern[2:, 0].mean()
    uniform = (1 / torch.arange(3, len(pattern) + 1)).mean()
    means = torch.stack((previous, current, first))
    best = means.argmax().item()
    if means[best] < 1.4 * uniform:
        return "other"
    return ("previous", "current", "first")[best]


# %% head_kind wrong (misconception bar-one-over-seq): takes 1 / seq, the uniform weight of the last row only, as the mean of a uniform head, so the threshold is too low in texts of more than three tokens
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    n = len(pattern)
    rows = range(2, n)
    means = {
        "previous": sum(pattern[i, i - 1].item() for i in rows) / len(rows),
        "current": sum(pattern[i, i].item() for i in rows) / len(rows),
        "first": sum(pattern[i, 0].item() for i in rows) / len(rows),
    }
    uniform = 1 / n
    name = max(means, key=means.get)
    return name if means[name] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception first-over-the-bar): returns the first kind that reaches the threshold in the order previous, current, first instead of the largest, so two kinds above the threshold can give the smaller one
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    n = pattern.shape[0]
    threshold = 1.4 * sum(1 / (i + 1) for i in range(2, n)) / (n - 2)
    if pattern.diagonal(-1)[1:].mean() >= threshold:
        return "previous"
    if pattern.diagonal()[2:].mean() >= threshold:
        return "current"
    if pattern[2:, 0].mean() >= threshold:
        return "first"
    return "other"


# %% head_kind right (passed): means from diagonals and a column, compared with torch's argmax
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = torch.stack((pattern.diagonal(-1)[1:].mean(), pattern.diagonal()[2:].mean(), pattern[2:, 0].mean()))
    uniform = (1 / torch.arange(3, seq + 1)).mean().item()
    best = int(means.argmax())
    if means[best].item() >= 1.4 * uniform:
        return ["previous", "current", "first"][best]
    return "other"


# %% head_kind right (passed): a plain Python loop over the rows that sums the three weights and the uniform weight
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    sums = {"previous": 0.0, "current": 0.0, "first": 0.0}
    uniform = 0.0
    for i in range(2, len(pattern)):
        row = pattern[i].tolist()
        sums["previous"] += row[i - 1]
        sums["current"] += row[i]
        sums["first"] += row[0]
        uniform += 1 / (i + 1)
    kind, largest = max(sums.items(), key=lambda item: item[1])
    return kind if largest >= 1.4 * uniform else "other"
