# %% MultiHeadAttentionWrapper wrong (misconception interleaved): the outputs are stacked on a last axis and flattened, so the heads' entries alternate
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.stack([head(x) for head in self.heads], dim=-1).flatten(start_dim=2)


# %% MultiHeadAttentionWrapper wrong (misconception split-d_out): each head gets only d_out // num_heads entries
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        d_head = d_out // num_heads
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_head, context_length, dropout, qkv_bias))

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (raised): each head reads the output of the head before it instead of x
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        outputs = []
        for head in self.heads:
            x = head(x)
            outputs.append(x)
        return torch.cat(outputs, dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception never-a-bias): qkv_bias is not passed on, so the heads never have a bias
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)]
        )

    def forward(self, x):
        return torch.concat(tuple(map(lambda head: head(x), self.heads)), dim=2)


# %% MultiHeadAttentionWrapper wrong (difference milestone): each new result is put in front, so the last head comes first
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        result = self.heads[0](x)
        for head in self.heads[1:]:
            result = torch.cat((head(x), result), dim=-1)
        return result


# %% MultiHeadAttentionWrapper wrong (property moves_with_its_module): the list of results lives on the module and is never emptied, so a second call is wider
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )
        self.results = []

    def forward(self, x):
        for head in self.heads:
            self.results.append(head(x))
        return torch.cat(self.results, dim=-1)


# %% MultiHeadAttentionWrapper wrong (property lets_gradients_through): the heads are joined in numpy, so no gradient reaches their parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        import numpy as np

        return torch.from_numpy(np.concatenate([head(x).detach().numpy() for head in self.heads], axis=-1))


# %% MultiHeadAttentionWrapper wrong (property causal): stacks the heads before the positions and reshapes without bringing them back
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        batch, seq, _ = x.shape
        together = torch.stack([head(x) for head in self.heads], dim=1)
        return together.reshape(batch, seq, -1)


# %% MultiHeadAttentionWrapper right (passed): dstack joins three-dimensional results along the last axis
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList()
        while len(self.heads) < num_heads:
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=qkv_bias))

    def forward(self, x):
        return torch.dstack([head(x) for head in self.heads])


# %% MultiHeadAttentionWrapper right (passed): the heads get an axis between position and entry, which is then flattened
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        args = d_in, d_out, context_length, dropout, qkv_bias
        self.heads = nn.ModuleList(itertools.starmap(CausalAttention, itertools.repeat(args, num_heads)))

    def forward(self, x):
        return torch.stack([head(x) for head in self.heads], dim=2).flatten(2)


# %% split_heads wrong (misconception not-transposed): the axis of the heads stays behind the positions
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return x.unflatten(-1, (num_heads, -1))


# %% split_heads wrong (misconception interleaved): cuts the width into d_head groups of num_heads entries, so each head gets every num_heads-th entry
def split_heads(x, num_heads):
    return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


# %% split_heads wrong (shape): the slice of a head ends one entry early
def split_heads(x, num_heads):
    d_head = x.shape[-1] // num_heads
    return torch.stack([x[:, :, h * d_head : (h + 1) * d_head - 1] for h in range(num_heads)], dim=1)


# %% split_heads wrong (misconception num_heads-and-d_head-swapped): num_heads is passed to split as the size of a piece, which is right only if it equals d_head
def split_heads(x, num_heads):
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


# %% split_heads wrong (misconception width-before-positions): the permutation leaves the entries before the positions
def split_heads(x, num_heads):
    b, s, d = x.shape
    return x.reshape(b, s, num_heads, d // num_heads).permute(0, 2, 3, 1)


# %% split_heads wrong (difference rearranged): reshapes as if there were one text, so the texts of a batch are mixed
def split_heads(x, num_heads):
    seq, d_out = x.shape[1:]
    parts = x.reshape(seq, num_heads, -1).transpose(0, 1)
    return parts.reshape(x.shape[0], num_heads, seq, d_out // num_heads)


# %% split_heads wrong (property lets_gradients_through): fills a new tensor through data, so no gradient flows back to x
def split_heads(x, num_heads):
    d_head = x.shape[-1] // num_heads
    out = x.new_empty(x.shape[0], num_heads, x.shape[1], d_head)
    for h in range(num_heads):
        out[:, h] = x.data[..., h * d_head : (h + 1) * d_head]
    return out


# %% split_heads wrong (raised): chunk cuts the positions instead of the entries
def split_heads(x, num_heads):
    return torch.stack(torch.chunk(x, num_heads, dim=1), dim=1)


# %% split_heads wrong (shape): the width of a head is the number of positions, which fits only by chance
def split_heads(x, num_heads):
    batch, d_head, d_out = x.shape
    return x.reshape(batch, -1, num_heads, d_head).transpose(1, 2)


# %% split_heads right (passed): unfold cuts windows of d_head entries that do not overlap
def split_heads(x, num_heads):
    d_head = x.shape[-1] // num_heads
    return x.unfold(-1, d_head, d_head).movedim(2, 1)


# %% split_heads right (passed): turns the text over first and cuts the axis of entries from behind the batch
def split_heads(x, num_heads):
    batch, seq, d_out = x.shape
    return x.mT.reshape(batch, num_heads, d_out // num_heads, seq).mT


# %% split_heads right (passed): tensor_split into equal pieces that are stacked before the positions
def split_heads(x, num_heads):
    return torch.stack(x.tensor_split(num_heads, dim=2), dim=1)


# %% merge_heads wrong (misconception interleaved): the entries come before the heads when the last axes are flattened
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.permute(0, 2, 3, 1).flatten(2)


# %% merge_heads wrong (misconception texts-side-by-side): puts the texts of the batch side by side instead of the heads
def merge_heads(x):
    return torch.cat(x.unbind(0), dim=-1)


# %% merge_heads wrong (misconception strung-along-the-positions): joins the heads along the positions
def merge_heads(x):
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=1)


# %% merge_heads wrong (misconception added): adds the heads up instead of putting them side by side
def merge_heads(x):
    return torch.einsum("bhsd->bsd", x)


# %% merge_heads wrong (raised): the loop over heads takes its length from the axis of positions
def merge_heads(x):
    return torch.cat([x[:, h] for h in range(x.shape[2])], dim=-1)


# %% merge_heads wrong (raised): written for two heads only
def merge_heads(x):
    first, second = x[:, 0], x[:, 1]
    return torch.cat((first, second), dim=-1)


# %% merge_heads wrong (difference constant): merges the heads of the first text and repeats them for the whole batch
def merge_heads(x):
    text = torch.hstack(list(x[0]))
    return text.expand(x.shape[0], *text.shape)


# %% merge_heads wrong (property lets_gradients_through): copies into a new tensor without recording the gradient
def merge_heads(x):
    batch, heads, seq, d_head = x.shape
    out = torch.zeros(batch, seq, heads * d_head, dtype=x.dtype, device=x.device)
    with torch.no_grad():
        for h in range(heads):
            out[..., h * d_head : (h + 1) * d_head] = x[:, h]
    return out


# %% merge_heads wrong (difference rearranged): reshapes to the merged width first and brings the positions forward only afterwards, so rows are cut up
def merge_heads(x):
    b, h, s, d = x.shape
    return x.reshape(b, h * d, s).transpose(1, 2)


# %% merge_heads right (passed): all heads of one position at a time, flattened and stacked
def merge_heads(x):
    return torch.stack([x[:, :, place].flatten(1) for place in range(x.shape[2])], dim=1)


# %% merge_heads right (passed): unbinds the heads and concatenates their entries
def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


# %% merge_heads right (passed): gathers each entry by the head and the column that it comes from
def merge_heads(x):
    entry = torch.arange(x.shape[1] * x.shape[3], device=x.device)
    head, column = entry // x.shape[3], entry % x.shape[3]
    return x.permute(0, 2, 1, 3)[:, :, head, column]


# %% MultiHeadAttention wrong (difference milestone): scales by the root of d_in / num_heads, which is right only if d_in equals d_out
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
        _, seq, width = x.shape
        q, k, v = (split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value))
        scores = q @ k.transpose(2, 3) / (width / self.num_heads) ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(merge_heads(weights @ v))


# %% MultiHeadAttention wrong (misconception out_proj-first): out_proj is created before the other layers, so a seed gives other values
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{d_out} entries cannot be shared by {num_heads} heads")
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.out_proj = nn.Linear(d_out, d_out)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).tril())

    def forward(self, x):
        b, n, _ = x.shape
        q = self.W_query(x).view(b, n, self.num_heads, self.d_head).transpose(1, 2)
        k = self.W_key(x).view(b, n, self.num_heads, self.d_head).transpose(1, 2)
        v = self.W_value(x).view(b, n, self.num_heads, self.d_head).transpose(1, 2)
        scores = (q @ k.mT).masked_fill(~self.mask[:n, :n], -torch.inf)
        weights = self.dropout((scores / self.d_head**0.5).softmax(dim=-1))
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


# %% MultiHeadAttention wrong (raised): tests whether d_in, not d_out, can be divided among the heads
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_in % num_heads != 0:
            raise ValueError("the width must be divisible by the number of heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        n = x.shape[1]
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        scores = torch.where(self.mask[:n, :n], q @ k.mT, -torch.inf)
        weights = torch.softmax(scores / q.shape[-1] ** 0.5, dim=-1)
        return self.out_proj(merge_heads(self.dropout(weights) @ v))


# %% MultiHeadAttention wrong (property refuses_when_made): the number of heads is tested in forward, so a bad layer can be created
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def split(self, x):
        d_head, rest = divmod(x.shape[-1], self.num_heads)
        if rest:
            raise ValueError("d_out must be divisible by num_heads")
        return x.unflatten(-1, (self.num_heads, d_head)).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.W_query(x)), self.split(self.W_key(x)), self.split(self.W_value(x))
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
        mixed = self.dropout(scores.softmax(-1)) @ v
        return self.out_proj(mixed.transpose(1, 2).flatten(2))


# %% MultiHeadAttention wrong (misconception over-the-heads): the softmax runs across the heads
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out % num_heads")
        self.num_heads = num_heads
        self.d_head = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        n = x.shape[1]
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        scores = q @ k.mT / self.d_head**0.5
        weights = torch.softmax(scores, dim=1).masked_fill(~self.mask[:n, :n], 0.0)
        return self.out_proj(merge_heads(self.dropout(weights) @ v))


# %% MultiHeadAttention wrong (difference places): splits into d_head heads of num_heads entries, which is right only if the two are equal
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be a multiple of num_heads")
        self.d_head = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        n = x.shape[1]
        q, k, v = (split_heads(W(x), self.d_head) for W in (self.W_query, self.W_key, self.W_value))
        scores = (q @ k.mT).masked_fill(~self.mask[:n, :n], -torch.inf)
        weights = self.dropout((scores / self.d_head**0.5).softmax(-1))
        return self.out_proj(merge_heads(weights @ v))


# %% MultiHeadAttention wrong (misconception heads-interleaved): split and merge agree with each other, but neighbouring entries go to different heads
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("the heads do not fit")
        self.num_heads = num_heads
        self.d_head = d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = (W(x).view(b, n, self.d_head, self.num_heads) for W in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("bqdh,bkdh->bhqk", q, k) / self.d_head**0.5
        visible = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        weights = self.dropout(scores.masked_fill(~visible, -torch.inf).softmax(dim=-1))
        return self.out_proj(torch.einsum("bhqk,bkdh->bqdh", weights, v).reshape(b, n, -1))


# %% MultiHeadAttention wrong (property drops_weights): dropout acts on the output of out_proj too, as in GPT-2
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.attn_dropout = nn.Dropout(dropout)
        self.resid_dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        n = x.shape[1]
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~self.mask[:n, :n], -torch.inf)
        weights = self.attn_dropout(scores.softmax(dim=-1))
        return self.resid_dropout(self.out_proj(merge_heads(weights @ v)))


# %% MultiHeadAttention wrong (property drops_weights): Dropout2d drops the whole tables of single heads instead of single weights
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout2d(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x):
        n = x.shape[1]
        q, k, v = (split_heads(W(x), self.num_heads) for W in (self.W_query, self.W_key, self.W_value))
        scores = (q @ k.mT).masked_fill(~self.mask[:n, :n], -torch.inf) / k.shape[-1] ** 0.5
        return self.out_proj(merge_heads(self.dropout(scores.softmax(-1)) @ v))


# %% MultiHeadAttention wrong (property finite_when_scaled): scores are clamped to ten thousand, so large inputs make unequal scores equal
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
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

    def forward(self, x):
        n = x.shape[1]
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        scores = torch.clamp(q @ k.mT / q.shape[-1] ** 0.5, -1e4, 1e4)
        weights = torch.softmax(scores.masked_fill(~self.mask[:n, :n], -torch.inf), dim=-1)
        return self.out_proj(merge_heads(self.dropout(weights) @ v))


# %% MultiHeadAttention right (passed): one head at a time by slices, the merge is a concatenation
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if num_heads < 1 or d_out % num_heads:
            raise ValueError(f"d_out = {d_out} cannot be divided evenly among {num_heads} heads")
        self.d_head = d_out // num_heads
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        place = torch.arange(x.shape[1], device=x.device)
        future = place[None, :] > place[:, None]
        mixed = []
        parts = (W(x).split(self.d_head, dim=-1) for W in (self.W_query, self.W_key, self.W_value))
        for q, k, v in zip(*parts):
            scores = (q @ k.mT / self.d_head**0.5).masked_fill(future, -torch.inf)
            mixed.append(self.drop(scores.softmax(dim=-1)) @ v)
        return self.out_proj(torch.cat(mixed, dim=-1))


# %% MultiHeadAttention right (passed): einsum with the heads behind the positions, no transpose at all
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if num_heads <= 0 or d_out // num_heads * num_heads != d_out:
            raise ValueError("d_out must be a multiple of num_heads")
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, True)
        self.dropout = nn.Dropout(dropout)
        self.shape = (num_heads, d_out // num_heads)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1) > 0, persistent=False)

    def forward(self, x):
        n = x.shape[1]
        q, k, v = (W(x).unflatten(-1, self.shape) for W in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("bqhd,bkhd->bhqk", q * self.shape[1] ** -0.5, k)
        scores = scores.masked_fill(self.mask[:n, :n], float("-inf"))
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2))


# %% MultiHeadAttention right (passed): the heads become part of the batch for two batched products
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        if not num_heads or d_out % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_out} entries evenly")
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        batch, n, _ = x.shape
        q, k, v = (split_heads(W(x), self.num_heads).flatten(0, 1) for W in (self.W_query, self.W_key, self.W_value))
        scores = torch.bmm(q, k.mT).div(q.shape[-1] ** 0.5)
        weights = torch.where(self.mask[:n, :n], scores, -torch.inf).softmax(dim=-1)
        mixed = torch.bmm(self.dropout(weights), v)
        return self.out_proj(merge_heads(mixed.unflatten(0, (batch, self.num_heads))))


# %% all_head_patterns wrong (misconception no-biases): the query bias is forgotten
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, _, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q) @ (x @ W_K + b_K).T
        patterns.append(causal_attn_weights(scores, W_Q.shape[1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception query-and-key-swapped): keys ask and queries answer, so the table of scores is transposed
def all_head_patterns(prompt, n_heads):
    tokens, x = gpt2.get_pre_attn(prompt)
    result = []
    for h in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(h, bias=True)
        q, k = x @ W_Q + b_Q, x @ W_K + b_K
        result.append(causal_attn_weights(k @ q.T, q.size(-1)))
    return torch.stack(result)


# %% all_head_patterns wrong (misconception one-head-late): counts the heads from 1, so head 0 is missing
def all_head_patterns(prompt, n_heads):
    x = gpt2.get_pre_attn(prompt)[1]

    def pattern(head):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, True)
        return causal_attn_weights((x @ W_Q + b_Q) @ (x @ W_K + b_K).mT, W_K.shape[-1])

    return torch.stack([pattern(head) for head in range(1, n_heads + 1)])


# %% all_head_patterns wrong (misconception scaled-twice): divides by the root of d_head before causal_attn_weights does it again
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    out = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries = torch.addmm(b_Q, x, W_Q)
        keys = torch.addmm(b_K, x, W_K)
        scores = queries @ keys.T / source.d_head**0.5
        out.append(causal_attn_weights(scores, source.d_head))
    return torch.stack(out)


# %% all_head_patterns wrong (shape): the tables are joined one below the other instead of stacked
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    tables = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        tables.append(causal_attn_weights((x @ W_Q + b_Q) @ (x @ W_K + b_K).T, d_k=source.d_head))
    return torch.cat(tables)


# %% all_head_patterns wrong (difference): n_heads is used to cut the queries and keys, so fewer heads become wider heads
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    attn = gpt2.load_gpt2()[0].transformer.h[0].attn
    with torch.no_grad():
        packed = x @ attn.c_attn.weight + attn.c_attn.bias
    queries, keys, _ = packed.split(source.d_model, dim=-1)
    q = queries.unflatten(-1, (n_heads, -1)).transpose(0, 1)
    k = keys.unflatten(-1, (n_heads, -1)).transpose(0, 1)
    return causal_attn_weights(q @ k.mT, q.shape[-1])


# %% all_head_patterns wrong (misconception no-biases): multiplies the product out and forgets the two terms with one bias each
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = x @ (W_Q @ W_K.T) @ x.T + b_Q @ b_K
        patterns.append(causal_attn_weights(scores, W_Q.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception all-heads): returns the patterns of all the model's heads, whatever n_heads is
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    n_heads = source.n_heads
    parts = [gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)]
    W_Q, W_K, b_Q, b_K = (torch.stack(part) for part in zip(*parts))
    q = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q[:, None]
    k = torch.einsum("sm,hmd->hsd", x, W_K) + b_K[:, None]
    return causal_attn_weights(q @ k.mT, source.d_head)


# %% all_head_patterns wrong (difference): takes the attentions of the second layer, as if layers were counted from 1
def all_head_patterns(prompt, n_heads):
    model, tokenizer = gpt2.load_gpt2()
    ids = torch.tensor([tokenizer.encode(prompt)])
    with torch.no_grad():
        attentions = model(ids, output_attentions=True).attentions
    return attentions[1][0, :n_heads]


# %% all_head_patterns wrong (shape): the table has a row for each word, but the model has one for each token
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    seq = len(prompt.split())
    patterns = torch.zeros(n_heads, seq, seq)
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T
        patterns[head] = causal_attn_weights(scores, W_Q.shape[-1])[:seq, :seq]
    return patterns


# %% all_head_patterns right (passed): adds a column of ones to x so that weights and biases are one matrix
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    x1 = torch.cat((x, torch.ones_like(x[:, :1])), dim=1)

    def pattern(W_Q, W_K, b_Q, b_K):
        q = x1 @ torch.vstack((W_Q, b_Q))
        k = x1 @ torch.vstack((W_K, b_K))
        return causal_attn_weights(q @ k.T, W_Q.shape[-1])

    return torch.stack([pattern(*gpt2.get_split_l0_heads(head, bias=True)) for head in range(n_heads)])


# %% all_head_patterns right (passed): all heads in one einsum, with the matrices stacked first
def all_head_patterns(prompt, n_heads):
    x = gpt2.get_pre_attn(prompt)[1]
    loaded = (gpt2.get_split_l0_heads(h, bias=True) for h in range(n_heads))
    W_Q, W_K, b_Q, b_K = map(torch.stack, zip(*loaded))
    queries = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q.unsqueeze(1)
    keys = torch.einsum("sm,hmd->hsd", x, W_K) + b_K.unsqueeze(1)
    return causal_attn_weights(torch.einsum("hqd,hkd->hqk", queries, keys), W_Q.shape[2])


# %% all_head_patterns right (passed): multiplies the product out and keeps all four terms
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        both, asks, answers = x @ W_Q @ W_K.T @ x.T, x @ W_Q @ b_K, x @ W_K @ b_Q
        scores = both + asks[:, None] + answers[None, :] + b_Q @ b_K
        patterns.append(causal_attn_weights(scores, len(b_Q)))
    return torch.stack(patterns)


# %% head_kind wrong (misconception row-2-lost-for-previous): the diagonal of the previous positions is cut as if it had all rows, so it begins at row 3
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(-1)[2:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, len(pattern))) / (len(pattern) - 2)
    kind = max(means, key=means.get)
    return kind if means[kind] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception uniform-of-the-mean-row): takes one over the mean number of visible positions as the uniform mean
def head_kind(pattern):
    rows = torch.arange(2, pattern.shape[0])
    means = [pattern[rows, rows - 1].mean(), pattern[rows, rows].mean(), pattern[rows, 0].mean()]
    uniform = 1 / (rows + 1).float().mean()
    best = max(range(3), key=lambda i: means[i])
    return ["previous", "current", "first"][best] if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (property means): uses the uniform mean of a text of four tokens for every text
def head_kind(pattern):
    n = len(pattern)
    previous = sum(pattern[i, i - 1].item() for i in range(2, n)) / (n - 2)
    current = sum(pattern[i, i].item() for i in range(2, n)) / (n - 2)
    first = sum(pattern[i, 0].item() for i in range(2, n)) / (n - 2)
    mean, name = max((previous, "previous"), (current, "current"), (first, "first"))
    return name if mean >= 1.4 * 7 / 24 else "other"


# %% head_kind wrong (misconception first-over-the-bar): returns the first kind over the threshold, not the largest
def head_kind(pattern):
    rows = torch.arange(2, len(pattern))
    threshold = 1.4 * (1 / (rows + 1)).mean()
    if pattern[rows, rows - 1].mean() >= threshold:
        return "previous"
    if pattern[rows, rows].mean() >= threshold:
        return "current"
    if pattern[rows, 0].mean() >= threshold:
        return "first"
    return "other"


# %% head_kind wrong (misconception next-for-previous): looks at the diagonal above the main one, where the next token is
def head_kind(pattern):
    seq = pattern.shape[0]
    looks = torch.stack([
        pattern.diagonal(1)[2:].sum(),
        pattern.diagonal(0)[2:].sum(),
        pattern[2:, 0].sum(),
    ]) / (seq - 2)
    uniform = torch.tensor([1 / (i + 1) for i in range(2, seq)]).mean()
    if looks.max() < 1.4 * uniform:
        return "other"
    return ("previous", "current", "first")[looks.argmax()]


# %% head_kind wrong (misconception row-for-column): reads the first row instead of the first column
def head_kind(pattern):
    rows = range(2, len(pattern))
    mean = lambda values: sum(values) / len(values)
    means = {
        "previous": mean([pattern[i, i - 1].item() for i in rows]),
        "current": mean([pattern[i, i].item() for i in rows]),
        "first": mean([pattern[0, i].item() for i in rows]),
    }
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * mean([1 / (i + 1) for i in rows]) else "other"


# %% head_kind wrong (misconception against-the-second): compares the largest mean with the second largest instead of a uniform head
def head_kind(pattern):
    rows = torch.arange(2, len(pattern))
    looks = torch.stack((pattern[rows, rows - 1], pattern[rows, rows], pattern[rows, 0])).mean(dim=1)
    (largest, second), (kind, _) = looks.topk(2)
    return ("previous", "current", "first")[kind] if largest >= 1.4 * second else "other"


# %% head_kind wrong (misconception mean-of-ratios): averages the ratios to a uniform head row by row instead of taking the ratio of the means
def head_kind(pattern):
    rows = torch.arange(2, len(pattern))
    ratios = pattern * torch.arange(1, len(pattern) + 1)[:, None]
    looks = [ratios[rows, rows - 1].mean(), ratios[rows, rows].mean(), ratios[rows, 0].mean()]
    best = looks.index(max(looks))
    return ("previous", "current", "first")[best] if looks[best] >= 1.4 else "other"


# %% head_kind wrong (property means): the last row is left out
def head_kind(pattern):
    n = len(pattern)
    totals, uniform = {"previous": 0.0, "current": 0.0, "first": 0.0}, 0.0
    for i in range(2, n - 1):
        totals["previous"] += pattern[i, i - 1].item()
        totals["current"] += pattern[i, i].item()
        totals["first"] += pattern[i, 0].item()
        uniform += 1 / (i + 1)
    name = max(totals, key=totals.get)
    return name if totals[name] >= 1.4 * uniform else "other"


# %% head_kind wrong (property means): each row votes for its largest weight, so means do not decide
def head_kind(pattern):
    votes = Counter()
    for i in range(2, len(pattern)):
        target = pattern[i].argmax().item()
        votes["previous" if target == i - 1 else "current" if target == i else "first" if target == 0 else "other"] += 1
    return votes.most_common(1)[0][0]


# %% head_kind right (passed): fancy indexing gives all three columns at once
def head_kind(pattern):
    rows = torch.arange(2, len(pattern), device=pattern.device)
    targets = torch.stack((rows - 1, rows, torch.zeros_like(rows)), dim=1)
    looks = pattern[rows[:, None], targets].mean(dim=0)
    best = int(looks.argmax())
    return ("previous", "current", "first")[best] if looks[best] >= 1.4 * (1 / (rows + 1)).mean() else "other"


# %% head_kind right (passed): sums in plain Python, a uniform head is summed along with them
def head_kind(pattern):
    table = pattern.tolist()
    sums, uniform = defaultdict(float), 0.0
    for i, row in enumerate(table[2:], start=2):
        sums["previous"] += row[i - 1]
        sums["current"] += row[i]
        sums["first"] += row[0]
        uniform += 1 / (i + 1)
    total, name = max((total, name) for name, total in sums.items())
    return name if total / uniform >= 1.4 else "other"
