# %% MultiHeadAttentionWrapper wrong (misconception in-a-plain-list): the heads sit in a plain Python list, so they are no parts of the module (no parameters, no move to a GPU, no eval)
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)

# %% MultiHeadAttentionWrapper wrong (misconception one-head-repeated): one head listed num_heads times, so the heads share their weights and all say the same
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)] * num_heads)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)

# %% MultiHeadAttentionWrapper wrong (misconception in-a-row): put one after the other along the positions instead of the last axis
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

# %% MultiHeadAttentionWrapper wrong (misconception split-d_out): d_out is divided among the heads, but each should have the full d_out
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        d_head = d_out // num_heads
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_head, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)

# %% MultiHeadAttentionWrapper wrong (misconception never-a-bias): qkv_bias is taken and never handed on, so the heads have no biases when asked for them
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        results = []
        for head in self.heads:
            results.append(head(x))
        return torch.cat(results, dim=-1)

# %% MultiHeadAttentionWrapper wrong (misconception dropout-and-bias-swapped): dropout and qkv_bias handed on in the wrong order; it shows only when one of them is not 0 or False
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, qkv_bias, dropout) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)

# %% MultiHeadAttentionWrapper wrong (misconception interleaved): stacked on a new last axis and flattened, so the heads' entries alternate; the shape is right, but the first head's are not in front
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

# %% MultiHeadAttentionWrapper wrong (misconception averaged): the heads' results are averaged instead of put side by side
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.num_heads = num_heads
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        out = 0
        for head in self.heads:
            out = out + head(x)
        return out / self.num_heads

# %% MultiHeadAttentionWrapper right (passed): an empty ModuleList that grows, keyword arguments, and a result that grows by cat
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
        result = self.heads[0](x)
        for head in self.heads[1:]:
            result = torch.cat((result, head(x)), dim=2)
        return result

# %% MultiHeadAttentionWrapper right (passed): nn.Sequential as a mere container that is looped over; stack in front of the width, then flatten
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        args = (d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.Sequential(*(CausalAttention(*args) for _ in range(num_heads)))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.stack([head(x) for head in self.heads], dim=-2).flatten(start_dim=-2)

# %% MultiHeadAttentionWrapper right (passed): slices of an output made beforehand are filled head by head
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.d_out = d_out
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        n_texts, n_positions, _ = x.shape
        out = x.new_zeros(n_texts, n_positions, len(self.heads) * self.d_out)
        for number, head in enumerate(self.heads):
            begin = number * self.d_out
            out[:, :, begin : begin + self.d_out] = head(x)
        return out

# %% MultiHeadAttentionWrapper right (passed): the heads' parameters stacked, and all heads run at once by vmap over functional_call
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        each = [dict(head.named_parameters()) for head in self.heads]
        stacked = {name: torch.stack([params[name] for params in each]) for name in each[0]}

        def one(params):
            return torch.func.functional_call(self.heads[0], params, (x,))

        return torch.vmap(one, out_dims=-2, randomness="different")(stacked).flatten(-2)

# %% split_heads wrong (misconception view-without-transpose): a view straight to the right shape, so head 0 gets whole positions
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, num_heads, seq, d_out // num_heads)

# %% split_heads wrong (misconception not-transposed): cut and not turned, so positions stand before heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    b, t, d = x.shape
    return x.view(b, t, num_heads, d // num_heads)

# %% split_heads wrong (misconception interleaved): every num_heads-th entry goes to a head, so neighbouring entries belong to different heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    b, t, d = x.shape
    return x.reshape(b, t, d // num_heads, num_heads).permute(0, 3, 1, 2)

# %% split_heads wrong (misconception num_heads-and-d_head-swapped): torch.split takes the size of a piece, not the number of pieces; right only where num_heads equals d_head
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return torch.stack(torch.split(x, num_heads, dim=-1), dim=1)

# %% split_heads wrong (misconception texts-and-heads-mixed): stacked with the heads in front of the batch and then viewed; with more than one text, texts and heads are mixed up
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    parts = torch.stack(x.chunk(num_heads, dim=-1))
    return parts.view(batch, num_heads, seq, d_out // num_heads)

# %% split_heads wrong (property lets_gradients_through): the right numbers, copied without gradients, which the text asks to flow through
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    out = torch.zeros(batch, num_heads, seq, d_head)
    for h in range(num_heads):
        out[:, h] = x.data[:, :, h * d_head : (h + 1) * d_head]
    return out

# %% split_heads wrong (misconception width-before-positions): turned as keys are for the scores, so the last two axes are [d_head, seq] instead of [seq, d_head]
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    b, t, d = x.shape
    return x.view(b, t, num_heads, d // num_heads).permute(0, 2, 3, 1)

# %% split_heads wrong (raised): seq and d_out read off the shape in the wrong order; right only where they are equal
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, d_out, seq = x.shape
    d_head = d_out // num_heads
    return x.reshape(batch, seq, num_heads, d_head).transpose(1, 2)

# %% split_heads right (passed): an explicit loop over heads and slices, then stack
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    d_head = x.shape[2] // num_heads
    per_head = []
    for h in range(num_heads):
        per_head.append(x[:, :, h * d_head : (h + 1) * d_head])
    return torch.stack(per_head, dim=1)

# %% split_heads right (passed): windows by Tensor.unfold, step equal to the window's size
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    d_head = x.size(-1) // num_heads
    return x.unfold(-1, d_head, d_head).movedim(-2, 1)

# %% split_heads right (passed): turned first, cut in the width that now stands in front, and turned back
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return x.mT.unflatten(1, (num_heads, x.shape[-1] // num_heads)).mT

# %% split_heads right (passed): a table of indices, one row a head, taken by advanced indexing
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    width = x.shape[-1]
    which = torch.arange(width, device=x.device).view(num_heads, width // num_heads)
    return torch.einsum("bthk->bhtk", x[..., which])

# %% merge_heads wrong (misconception not-transposed): reshaped without bringing positions before heads again, so positions and heads are mixed up
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.reshape(batch, seq, num_heads * d_head)

# %% merge_heads wrong (misconception view-after-transpose): view after transpose; it works on what comes straight from split_heads, and raises on the contiguous result of a mix
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.transpose(1, 2).view(batch, seq, num_heads * d_head)

# %% merge_heads wrong (misconception interleaved): heads go last, so their entries alternate instead of standing in blocks
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.permute(0, 2, 3, 1).reshape(batch, seq, num_heads * d_head)

# %% merge_heads wrong (misconception strung-along-the-positions): the heads are put one after the other along the positions
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=1)

# %% merge_heads wrong (misconception added): the heads are summed instead of put side by side, so the width is d_head
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    return x.sum(dim=1)

# %% merge_heads wrong (shape): a squeeze at the end takes the batch axis away when there is one text (and the position axis when there is one position)
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    return x.transpose(1, 2).flatten(2).squeeze()

# %% merge_heads wrong (misconception texts-side-by-side): walks over the texts instead of the heads; the shape is right where there are as many of both
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    return torch.cat([head for head in x], dim=-1)

# %% merge_heads wrong (property lets_gradients_through): the right numbers under no_grad, so gradients do not flow through
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    with torch.no_grad():
        x = x.transpose(1, 2).contiguous()
    return x.view(x.shape[0], x.shape[1], -1)

# %% merge_heads right (passed): unbind the heads and concatenate along the third axis with dstack
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    return torch.dstack(x.unbind(dim=1))

# %% merge_heads right (passed): heads and widths side by side first, flattened there, then turned
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    return x.mT.flatten(1, 2).mT

# %% merge_heads right (passed): einsum as a permutation, then reshape with all sizes written out
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    n, h, t, k = x.size()
    positions_first = torch.einsum("nhtk->nthk", x)
    return positions_first.reshape(n, t, h * k)

# %% merge_heads right (passed): entry by entry in plain loops, each column stacked
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    columns = []
    for head in range(x.shape[1]):
        for entry in range(x.shape[3]):
            columns.append(x[:, head, :, entry])
    return torch.stack(columns, dim=2)

# %% MultiHeadAttention wrong (misconception root-of-d_out): scores divided by the root of d_out instead of the root of the head's width
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.d_out = d_out
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        weights = causal_attn_weights(q @ k.transpose(2, 3), self.d_out)
        return self.out_proj(merge_heads(self.dropout(weights) @ v))

# %% MultiHeadAttention wrong (raised): refuses an uneven d_out with an assert, an AssertionError where the text asks for a ValueError
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
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        b, num_tokens, _ = x.shape
        keys = self.W_key(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        queries = self.W_query(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        values = self.W_value(x).view(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
        attn_scores = queries @ keys.transpose(2, 3)
        attn_scores = attn_scores.masked_fill(self.mask.bool()[:num_tokens, :num_tokens], -torch.inf)
        attn_weights = torch.softmax(attn_scores / self.head_dim**0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)
        context_vec = (attn_weights @ values).transpose(1, 2).contiguous().view(b, num_tokens, -1)
        return self.out_proj(context_vec)

# %% MultiHeadAttention wrong (property moves_with_its_module): the mask is only assigned to self, so it does not move with the layer to a GPU
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_out}")
        self.num_heads = num_heads
        self.d_head = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.mask = get_mask(context_length)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        scores = (q @ k.mT) / self.d_head**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(scores.softmax(dim=-1))
        return self.out_proj(merge_heads(weights @ v))

# %% MultiHeadAttention wrong (property finite_when_scaled): softmax over everything, then masked and renormalised; with large scores a row's visible part is 0 and 0 / 0 is nan
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("the heads cannot share d_out evenly")
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
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.d_head**0.5, dim=-1)
        weights = weights * self.mask[:seq, :seq]
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return self.out_proj(merge_heads(self.dropout(weights) @ v))

# %% MultiHeadAttention wrong (property made_in_order): the layers are made in another order (query, value, key), so a seed does not give the printed weights
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        weights = causal_attn_weights(q @ k.transpose(2, 3), q.shape[-1])
        return self.out_proj(merge_heads(self.dropout(weights) @ v))

# %% MultiHeadAttention wrong (misconception out_proj-asks-qkv_bias): out_proj gets bias=qkv_bias, but it is always to have a bias
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
        self.out_proj = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        weights = causal_attn_weights(q @ k.transpose(2, 3), q.shape[-1])
        return self.out_proj(merge_heads(self.dropout(weights) @ v))

# %% MultiHeadAttention wrong (misconception drops-in-eval): F.dropout without training=self.training, so weights are dropped after eval() too
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.d_head = d_out // num_heads
        self.p = dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        weights = causal_attn_weights(q @ k.transpose(2, 3), self.d_head)
        weights = nn.functional.dropout(weights, self.p)
        return self.out_proj(merge_heads(weights @ v))

# %% MultiHeadAttention wrong (misconception merged-without-transpose): merged by reshape without the transpose back, so positions are mixed up and the future leaks
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
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        b, t, _ = x.shape
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        scores = (q @ k.transpose(2, 3)).masked_fill(~self.mask[:t, :t], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_head**0.5, dim=-1))
        return self.out_proj((weights @ v).reshape(b, t, -1))

# %% MultiHeadAttention right (passed): the lesson's own pieces, with the mask made anew by causal_attn_weights
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.d_head, left_over = divmod(d_out, num_heads)
        if left_over:
            raise ValueError(f"d_out = {d_out} cannot be shared evenly by {num_heads} heads")
        self.num_heads = num_heads
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        def ask(layer):
            return split_heads(layer(x), self.num_heads)

        weights = causal_attn_weights(ask(self.W_query) @ ask(self.W_key).transpose(-2, -1), self.d_head)
        return self.out_proj(merge_heads(self.dropout(weights) @ ask(self.W_value)))

# %% MultiHeadAttention right (passed): torch's scaled_dot_product_attention does mask, softmax, dropout and mix
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        if d_out % num_heads != 0:
            raise ValueError("num_heads must divide d_out")
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        p = self.dropout.p if self.dropout.training else 0.0
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.out_proj(mixed.transpose(1, 2).flatten(2))

# %% MultiHeadAttention right (passed): no mask at all, loops over heads and positions, each position a softmax over the slice of its past
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out != num_heads * (d_out // num_heads):
            raise ValueError("the heads cannot share d_out evenly")
        self.width = d_out // num_heads
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=True)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        rows = []
        for position in range(x.shape[1]):
            found = []
            for head in range(self.num_heads):
                own = slice(head * self.width, (head + 1) * self.width)
                query = queries[:, position, own]
                past_keys = keys[:, : position + 1, own]
                past_values = values[:, : position + 1, own]
                scores = (past_keys * query[:, None, :]).sum(dim=-1) * self.width**-0.5
                weights = self.drop(torch.softmax(scores, dim=-1))
                found.append((weights[:, :, None] * past_values).sum(dim=1))
            rows.append(torch.cat(found, dim=-1))
        return self.out_proj(torch.stack(rows, dim=1))

# %% MultiHeadAttention right (passed): one product for queries, keys and values, heads folded into the batch, and a table of 0 and -inf added by baddbmm
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads > 0:
            raise ValueError(f"{d_out} is no multiple of {num_heads}")
        self.h, self.k = num_heads, d_out // num_heads
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.out_proj = nn.Linear(d_out, d_out)
        self.attn_dropout = nn.Dropout(dropout)
        hidden = torch.full((context_length, context_length), float("-inf")).triu(1)
        self.register_buffer("hidden", hidden, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        b, t, _ = x.shape
        layers = (self.W_query, self.W_key, self.W_value)
        weight = torch.cat([layer.weight for layer in layers])
        bias = None if layers[0].bias is None else torch.cat([layer.bias for layer in layers])
        qkv = nn.functional.linear(x, weight, bias).view(b, t, 3, self.h, self.k)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).reshape(3, b * self.h, t, self.k)
        scores = torch.baddbmm(self.hidden[:t, :t], q, k.transpose(1, 2), alpha=self.k**-0.5)
        out = torch.bmm(self.attn_dropout(scores.softmax(-1)), v)
        return self.out_proj(out.view(b, self.h, t, self.k).transpose(1, 2).reshape(b, t, self.h * self.k))

# %% all_head_patterns wrong (misconception no-biases): the biases are left out, so these are not the model's own patterns
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        scores = (x @ W_Q) @ (x @ W_K).T
        patterns.append(causal_attn_weights(scores, W_K.shape[1]))
    return torch.stack(patterns)

# %% all_head_patterns wrong (misconception root-of-d_model): d_k is d_model instead of d_head, so the weights are too flat
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries = x @ W_Q + b_Q
        keys = x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, W_Q.shape[0]))
    return torch.stack(patterns)

# %% all_head_patterns wrong (misconception scaled-twice): scores are divided by the root of d_head before causal_attn_weights, which divides once more
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        d_head = W_Q.shape[-1]
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T / d_head**0.5
        patterns.append(causal_attn_weights(scores, d_head))
    return torch.stack(patterns)

# %% all_head_patterns wrong (misconception query-and-key-swapped): queries and keys change places, so the scores are transposed before the mask
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        q = x @ W_Q + b_Q
        k = x @ W_K + b_K
        patterns.append(causal_attn_weights(k @ q.T, q.shape[-1]))
    return torch.stack(patterns)

# %% all_head_patterns wrong (misconception all-heads): n_heads is ignored, and all heads of the model come back
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(source.n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, W_Q.shape[-1]))
    return torch.stack(patterns)

# %% all_head_patterns wrong (misconception biases-swapped): the two biases are unpacked in the wrong order, so queries get the keys' bias and keys the queries'
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    result = []
    for i in range(n_heads):
        W_Q, W_K, b_K, b_Q = gpt2.get_split_l0_heads(i, bias=True)
        q, k = x @ W_Q + b_Q, x @ W_K + b_K
        result.append(causal_attn_weights(q @ k.T, k.shape[-1]))
    return torch.stack(result)

# %% all_head_patterns wrong (structure): a list of tables comes back instead of one tensor
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, W_Q.shape[1]))
    return patterns

# %% all_head_patterns wrong (misconception one-head-late): the heads are counted from 1, so head 0 is missing and the last one asked for may not exist
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(1, n_heads + 1):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, W_Q.shape[1]))
    return torch.stack(patterns)

# %% all_head_patterns right (passed): weights and biases of all heads stacked, one einsum for each of queries, keys and scores
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    x = gpt2.get_pre_attn(prompt)[1]
    W_Q, W_K, b_Q, b_K = map(torch.stack, zip(*(gpt2.get_split_l0_heads(h, bias=True) for h in range(n_heads))))
    q = torch.einsum("sm,hmk->hsk", x, W_Q) + b_Q[:, None]
    k = torch.einsum("sm,hmk->hsk", x, W_K) + b_K[:, None]
    return causal_attn_weights(torch.einsum("hqk,hsk->hqs", q, k), d_k=W_Q.shape[-1])

# %% all_head_patterns right (passed): torch's attention with the identity as values hands the weights out
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    identity = torch.eye(len(x), dtype=x.dtype, device=x.device)[None]

    def pattern(head):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        q, k = torch.addmm(b_Q, x, W_Q)[None], torch.addmm(b_K, x, W_K)[None]
        return nn.functional.scaled_dot_product_attention(q, k, identity, is_causal=True)

    return torch.cat([pattern(head) for head in range(n_heads)])

# %% all_head_patterns right (passed): a column of ones at x takes in the biases, and queries and keys become one bilinear form a head
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    x1 = torch.cat((x, torch.ones_like(x[:, :1])), dim=-1)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        circuit = torch.cat((W_Q, b_Q[None])) @ torch.cat((W_K, b_K[None])).T
        patterns.append(causal_attn_weights(x1 @ circuit @ x1.T, W_Q.shape[1]))
    return torch.stack(patterns)

# %% all_head_patterns right (passed): mask and softmax by hand; the keys' bias adds the same number to a whole row, so the softmax does not see it and it is left out
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    words, x = gpt2.get_pre_attn(prompt)
    n = x.shape[0]
    future = torch.ones(n, n, device=x.device).triu(1).bool()
    table = []
    for number in range(n_heads):
        w_query, w_key, b_query, _ = gpt2.get_split_l0_heads(number, bias=True)
        logits = (x @ w_query + b_query) @ (x @ w_key).transpose(0, 1)
        logits = (logits / w_query.shape[1] ** 0.5).masked_fill(future, float("-inf"))
        table.append((logits - torch.logsumexp(logits, dim=1, keepdim=True)).exp())
    return torch.stack(table, dim=0)

# %% head_kind wrong (property means): the means are taken over all rows, also rows 0 and 1, in which the three places are not distinct
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1).mean().item(),
        "current": pattern.diagonal().mean().item(),
        "first": pattern[:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(seq)) / seq
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"

# %% head_kind wrong (misconception row-2-lost-for-previous): the diagonal below starts in row 1, so [2:] on it drops row 2 as well
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1)[2:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"

# %% head_kind wrong (property means): the uniform head's mean takes in rows 0 and 1 (1 and 1/2), so the bar is far too high
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    rows = range(2, seq)
    previous = sum(pattern[i, i - 1].item() for i in rows) / len(rows)
    current = sum(pattern[i, i].item() for i in rows) / len(rows)
    first = sum(pattern[i, 0].item() for i in rows) / len(rows)
    uniform = (1 / torch.arange(1, seq + 1)).mean().item()
    value, name = max((previous, "previous"), (current, "current"), (first, "first"))
    if value >= 1.4 * uniform:
        return name
    return "other"

# %% head_kind wrong (misconception first-over-the-bar): the first habit that passes the bar gives the name, though another may be larger
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    rows = torch.arange(2, seq)
    previous = pattern[rows, rows - 1].mean()
    current = pattern[rows, rows].mean()
    first = pattern[rows, 0].mean()
    bar = 1.4 * (1 / (rows + 1)).mean()
    if previous >= bar:
        return "previous"
    elif current >= bar:
        return "current"
    elif first >= bar:
        return "first"
    else:
        return "other"

# %% head_kind wrong (misconception looks-down-the-columns): rows and columns change places, so it reads the next position and row 0, which a causal head leaves empty
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    seq = len(pattern)
    rows = range(2, seq)
    means = {
        "previous": sum(pattern[i - 1, i].item() for i in rows) / len(rows),
        "current": sum(pattern[i, i].item() for i in rows) / len(rows),
        "first": sum(pattern[0, i].item() for i in rows) / len(rows),
    }
    uniform = sum(1 / (i + 1) for i in rows) / len(rows)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"

# %% head_kind wrong (misconception never-other): no bar at all, so no head is ever "other"
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    names = ["previous", "current", "first"]
    means = torch.stack([
        pattern.diagonal(-1)[1:].mean(),
        pattern.diagonal()[2:].mean(),
        pattern[2:, 0].mean(),
    ])
    return names[means.argmax().item()]

# %% head_kind wrong (property means): rows vote by their largest weight instead of the mean weights being compared
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    votes = {"previous": 0, "current": 0, "first": 0, "other": 0}
    for i in range(2, pattern.shape[0]):
        j = pattern[i].argmax().item()
        if j == i - 1:
            votes["previous"] += 1
        elif j == i:
            votes["current"] += 1
        elif j == 0:
            votes["first"] += 1
        else:
            votes["other"] += 1
    return max(votes, key=votes.get)

# %% head_kind wrong (misconception bar-one-over-seq): a uniform head's mean is taken to be 1 / seq, the last row's weight, so the bar is too low
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 / seq else "other"

# %% head_kind right (passed): plain Python lists and loops
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    table = pattern.tolist()
    previous = current = first = uniform = 0.0
    count = 0
    for i in range(2, len(table)):
        previous += table[i][i - 1]
        current += table[i][i]
        first += table[i][0]
        uniform += 1 / (i + 1)
        count += 1
    largest = max(previous, current, first)
    if largest / count < 1.4 * (uniform / count):
        return "other"
    if largest == previous:
        return "previous"
    if largest == current:
        return "current"
    return "first"

# %% head_kind right (passed): advanced indexing with a table of columns, one row a habit
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    rows = torch.arange(2, pattern.shape[-1], device=pattern.device)
    columns = torch.stack((rows - 1, rows, torch.zeros_like(rows)))
    means = pattern[rows, columns].mean(dim=1)
    value, which = means.max(dim=0)
    bar = 1.4 * (1 / (rows + 1)).mean()
    return ("previous", "current", "first")[int(which)] if bool(value >= bar) else "other"

# %% head_kind right (passed): a uniform pattern is built and measured with the same helper as the head
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""

    def habits(table):
        below = table[2:]
        return {
            "previous": below.diagonal(1).mean().item(),
            "current": below.diagonal(2).mean().item(),
            "first": below[:, 0].mean().item(),
        }

    flat = torch.ones_like(pattern).tril()
    flat = flat / flat.sum(dim=-1, keepdim=True)
    found, expected = habits(pattern), habits(flat)
    name = sorted(found, key=found.get)[-1]
    return name if found[name] >= 1.4 * expected[name] else "other"

# %% head_kind right (passed): numpy, and "other" as a fourth candidate whose score is the bar, last so that a tie goes to the name
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    import numpy as np

    p = pattern.detach().cpu().double().numpy()
    i = np.arange(2, len(p))
    scores = {
        "previous": np.trace(p[2:, 1:-1]),
        "current": np.trace(p[2:, 2:]),
        "first": p[2:, 0].sum(),
        "other": 1.4 * (1.0 / (i + 1)).sum(),
    }
    return max(scores, key=scores.get)
