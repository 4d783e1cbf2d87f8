# %% MultiHeadAttentionWrapper wrong (misconception in-a-plain-list): heads are kept in a plain Python list, so they are no submodules: no parameters, no .to(), no eval() reaches them, although the layer is to hold heads with weights of their own
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = [
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        ]

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)

# %% MultiHeadAttentionWrapper wrong (misconception one-head-repeated): one CausalAttention repeated num_heads times, so the heads share their weights instead of each having its own
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)] * num_heads)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)

# %% MultiHeadAttentionWrapper wrong (misconception split-d_out): each head gets d_out // num_heads, while the page gives each the full d_out (the result should be num_heads * d_out wide)
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

# %% MultiHeadAttentionWrapper wrong (misconception in-a-row): concatenates along the positions (axis 1) instead of the last axis
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

# %% MultiHeadAttentionWrapper wrong (misconception interleaved): stacks on a new last axis and flattens it, so the heads' columns are interleaved (the page: first columns head 0, last columns the last head)
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        results = torch.stack([head(x) for head in self.heads], dim=-1)
        return results.flatten(start_dim=2)

# %% MultiHeadAttentionWrapper wrong (misconception dropout-and-bias-swapped): dropout and qkv_bias are handed on in swapped order; unnoticed with 0.0 and False, but dropout 0.5 gives biases and no dropout
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, qkv_bias, dropout))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.cat([head(x) for head in self.heads], dim=-1)

# %% MultiHeadAttentionWrapper wrong (misconception never-a-bias): qkv_bias is not handed on to the heads, so qkv_bias=True is ignored
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.num_heads = num_heads
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        outs = []
        for i in range(self.num_heads):
            outs.append(self.heads[i](x))
        return torch.cat(outs, dim=2)

# %% MultiHeadAttentionWrapper wrong (misconception averaged): averages the heads instead of putting them side by side (the page: nothing was averaged)
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return torch.stack([head(x) for head in self.heads]).mean(dim=0)

# %% MultiHeadAttentionWrapper right (passed): ModuleList filled by a loop, concatenated step by step
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
        for i in range(1, len(self.heads)):
            result = torch.cat((result, self.heads[i](x)), dim=-1)
        return result

# %% MultiHeadAttentionWrapper right (passed): nn.Sequential only as a container, torch.dstack for the last of three axes
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        make = lambda: CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.Sequential(*(make() for _ in range(num_heads)))

    def forward(self, x):
        return torch.dstack([head(x) for head in self.heads])

# %% MultiHeadAttentionWrapper right (passed): a ModuleList subclass that is called itself, wrapper only delegates
class SideBySide(nn.ModuleList):
    def forward(self, x):
        return torch.cat(tuple(module(x) for module in self), -1)


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        config = dict(d_in=d_in, d_out=d_out, context_length=context_length, dropout=dropout, qkv_bias=qkv_bias)
        self.heads = SideBySide(CausalAttention(**config) for _ in range(num_heads))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return self.heads(x)

# %% MultiHeadAttentionWrapper right (passed): stack on an axis before the features, then flatten the two last axes
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        all_heads = []
        while len(all_heads) < num_heads:
            all_heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))
        self.add_module("heads", nn.ModuleList(all_heads))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        per_head = torch.stack([head.forward(x) for head in self.heads], dim=-2)
        return per_head.flatten(-2, -1)

# %% split_heads wrong (misconception view-without-transpose): view straight to the target shape, deals out whole positions instead of cutting each position's entries
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, num_heads, seq, d_out // num_heads)

# %% split_heads wrong (misconception interleaved): head h gets every num_heads-th entry, not the neighbouring entries h * d_head to (h + 1) * d_head
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    x = x.reshape(batch, seq, d_out // num_heads, num_heads)
    return x.permute(0, 3, 1, 2)

# %% split_heads wrong (misconception not-transposed): the transpose is forgotten, gives [batch, seq, num_heads, d_head]
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    return x.view(batch, seq, num_heads, d_head)

# %% split_heads wrong (misconception num_heads-and-d_head-swapped): torch.split takes the size of a piece, not their number, so there are d_out / num_heads heads of num_heads entries (agrees only if d_out = num_heads squared)
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return torch.stack(torch.split(x, num_heads, dim=-1), dim=1)

# %% split_heads wrong (misconception texts-and-heads-mixed): heads are put in front of the batch and a view then reads them batch first, so texts and heads get mixed as soon as the batch has two texts
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    pieces = torch.cat(x.chunk(num_heads, dim=-1), dim=0)
    return pieces.view(batch, num_heads, seq, d_out // num_heads)

# %% split_heads wrong (misconception heads-in-front): heads stacked on axis 0, gives [num_heads, batch, seq, d_head] instead of batch first
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    d_head = x.shape[-1] // num_heads
    heads = [x[:, :, h * d_head:(h + 1) * d_head] for h in range(num_heads)]
    return torch.stack(heads)

# %% split_heads wrong (property leaves_its_inputs): works in place, the caller's tensor has another shape afterwards, so the page's comparison of merge_heads(split_heads(wide, 4)) with wide fails
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    x.resize_(batch, seq, num_heads, d_out // num_heads)
    x.transpose_(1, 2)
    return x

# %% split_heads wrong (raised): takes d_out itself for the width of a head, so the view raises for more than one head
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_head = x.shape
    return x.view(batch, seq, num_heads, d_head).transpose(1, 2)

# %% split_heads right (passed): explicit loops over texts, heads, positions and entries
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    out = x.new_zeros((batch, num_heads, seq, d_head))
    for b in range(batch):
        for h in range(num_heads):
            for s in range(seq):
                for e in range(d_head):
                    out[b, h, s, e] = x[b, s, h * d_head + e]
    return out

# %% split_heads right (passed): sliding window of width and step d_head (Tensor.unfold), then movedim
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    width = x.size(-1) // num_heads
    return x.unfold(-1, width, width).movedim(-2, 1)

# %% split_heads right (passed): chunk and stack
def split_heads(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)

# %% split_heads right (passed): an index table [num_heads, d_head] picks the entries, swapaxes and contiguous
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    table = torch.arange(x.shape[-1], device=x.device).reshape(num_heads, x.shape[-1] // num_heads)
    return x[:, :, table].swapaxes(1, 2).contiguous()

# %% merge_heads wrong (misconception not-transposed): reshape without bringing the positions to the front first, mixes positions and heads
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.reshape(batch, seq, num_heads * d_head)

# %% merge_heads wrong (misconception view-after-transpose): view after transpose without contiguous; works on what split_heads returns, raises on a contiguous result of the mix
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.transpose(1, 2).view(batch, seq, num_heads * d_head)

# %% merge_heads wrong (misconception interleaved): heads as the fastest axis, so the entries of the heads alternate instead of each head's lying side by side
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.permute(0, 2, 3, 1).reshape(batch, seq, d_head * num_heads)

# %% merge_heads wrong (misconception strung-along-the-positions): heads are joined along the positions, gives [batch, num_heads * seq, d_head]
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    return torch.cat(x.unbind(dim=1), dim=1)

# %% merge_heads wrong (misconception texts-side-by-side): iterating over x walks over the batch, not the heads, so texts are put side by side
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    return torch.cat([head for head in x], dim=-1)

# %% merge_heads wrong (shape): a squeeze too many, the batch axis (or a single position's axis) is lost for a batch of one text
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    x = x.transpose(1, 2).contiguous()
    return x.reshape(x.shape[0], x.shape[1], -1).squeeze()

# %% merge_heads wrong (misconception added): adds the heads up instead of putting them side by side
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    return x.sum(dim=1)

# %% merge_heads wrong (misconception interleaved): transposes positions with entries instead of heads with positions; the shape is right and the entries are scrambled
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.transpose(2, 3).transpose(1, 3).reshape(batch, seq, num_heads * d_head).contiguous()

# %% merge_heads right (passed): transpose and flatten
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    return x.transpose(1, 2).flatten(start_dim=2)

# %% merge_heads right (passed): one head after the other written into an empty tensor
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    n_texts, n_heads, n_positions, width = x.shape
    out = torch.empty(n_texts, n_positions, n_heads * width, dtype=x.dtype, device=x.device)
    for h in range(n_heads):
        out[:, :, h * width:(h + 1) * width] = x[:, h]
    return out

# %% merge_heads right (passed): dstack of the unbound heads
def merge_heads(x):
    return torch.dstack(x.unbind(1))

# %% merge_heads right (passed): index arithmetic, entry e comes from head e // d_head at e % d_head
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    heads, width = x.shape[1], x.shape[3]
    e = torch.arange(heads * width, device=x.device)
    picked = x.permute(1, 3, 0, 2)[e // width, e % width]
    return picked.permute(1, 2, 0)

# %% MultiHeadAttention wrong (misconception root-of-d_out): scores are divided by the root of d_out, not of the head's width
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
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_out**0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ v))

# %% MultiHeadAttention wrong (raised): refuses with an assert, so an AssertionError instead of the ValueError that the page asks for
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        assert d_out % num_heads == 0, "d_out must be divisible by num_heads"
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
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_head**0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ v))

# %% MultiHeadAttention wrong (property moves_with_its_module): the mask is only assigned to self, no buffer as before, so it stays behind when the layer is moved
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
        self.mask = get_mask(context_length)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        scores = q @ k.transpose(2, 3)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_head**0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ v))

# %% MultiHeadAttention wrong (misconception drops-in-eval): F.dropout without training=self.training drops weights after eval() too
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
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        scores = q @ k.transpose(2, 3) / self.d_head**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = nn.functional.dropout(torch.softmax(scores, dim=-1), self.p)
        return self.out_proj(merge_heads(weights @ v))

# %% MultiHeadAttention wrong (misconception merged-without-transpose): the mixed heads are reshaped to [batch, seq, d_out] without putting positions first, so positions and heads are scrambled before out_proj
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
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        batch, seq, _ = x.shape
        q = self.W_query(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        k = self.W_key(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        v = self.W_value(x).view(batch, seq, self.num_heads, self.d_head).transpose(1, 2)
        scores = (q @ k.transpose(2, 3)).masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_head**0.5, dim=-1))
        context = (weights @ v).contiguous().view(batch, seq, self.num_heads * self.d_head)
        return self.out_proj(context)

# %% MultiHeadAttention wrong (misconception out_proj-first): out_proj is made before the other three, the page asks for it after them (another layer from the same seed)
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.out_proj = nn.Linear(d_out, d_out)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        q, k, v = (split_heads(W(x), self.num_heads) for W in (self.W_query, self.W_key, self.W_value))
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(merge_heads(weights @ v))

# %% MultiHeadAttention wrong (misconception mask-not-cut): the mask is not cut to the text's length, so a text shorter than context_length raises
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
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        scores = (q @ k.transpose(2, 3)).masked_fill(~self.mask, -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_head**0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ v))

# %% MultiHeadAttention wrong (misconception out_proj-asks-qkv_bias): out_proj gets bias=qkv_bias, so by default it has no bias; the page asks for a plain nn.Linear and zeroes same.out_proj.bias
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
        self.out_proj = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        scores = (q @ k.transpose(2, 3)).masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_head**0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ v))

# %% MultiHeadAttention right (passed): torch's scaled_dot_product_attention with the mask buffer cut to size
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if num_heads < 1 or d_out % num_heads:
            raise ValueError(f"d_out={d_out} cannot be shared evenly by {num_heads} heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        n = x.size(1)
        q, k, v = (
            layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        mixed = nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=self.mask[:n, :n], dropout_p=self.dropout.p if self.training else 0.0
        )
        return self.out_proj(mixed.transpose(1, 2).flatten(2))

# %% MultiHeadAttention right (passed): einsum, heads stay behind the positions, no transposes
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        if num_heads <= 0 or d_out % num_heads != 0:
            raise ValueError("d_out must be a multiple of num_heads")
        super().__init__()
        self.shape = (num_heads, d_out // num_heads)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool())
        self.drop = nn.Dropout(p=dropout)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        b, s, _ = x.shape
        h, d = self.shape
        queries = self.W_query(x).reshape(b, s, h, d) * d**-0.5
        keys = self.W_key(x).reshape(b, s, h, d)
        values = self.W_value(x).reshape(b, s, h, d)
        scores = torch.einsum("bqhd,bkhd->bhqk", queries, keys)
        scores = torch.where(self.mask[:s, :s], scores, float("-inf"))
        attn = self.drop(scores.softmax(dim=-1))
        return self.out_proj(torch.einsum("bhqk,bkhd->bqhd", attn, values).reshape(b, s, h * d))

# %% MultiHeadAttention right (passed): heads folded into the batch axis, additive mask in baddbmm
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if num_heads < 1 or (d_out // num_heads) * num_heads != d_out:
            raise ValueError("heads of unequal width")
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.n, self.d = num_heads, d_out // num_heads
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def fold(self, y):
        return split_heads(y, self.n).reshape(-1, y.shape[1], self.d)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        size = x.shape[1]
        q, k, v = self.fold(self.W_query(x)), self.fold(self.W_key(x)), self.fold(self.W_value(x))
        penalty = q.new_zeros(size, size).masked_fill(self.mask[:size, :size].logical_not(), -torch.inf)
        scores = torch.baddbmm(penalty, q, k.mT, alpha=1 / self.d**0.5)
        mixed = torch.bmm(self.dropout(nn.functional.softmax(scores, dim=-1)), v)
        return self.out_proj(merge_heads(mixed.reshape(x.shape[0], self.n, size, self.d)))

# %% MultiHeadAttention right (passed): a loop over heads, out_proj cut by columns and the heads' contributions added up, nothing is ever merged
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if num_heads < 1:
            raise ValueError("at least one head, please")
        self.d_head, rest = divmod(d_out, num_heads)
        if rest:
            raise ValueError(f"{num_heads} heads over {d_out} entries leave {rest}")
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.attn_dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq, d = x.shape[1], self.d_head
        hidden = ~self.mask[:seq, :seq]
        Q, K, V = self.W_query(x), self.W_key(x), self.W_value(x)
        total = self.out_proj.bias
        for start in range(0, Q.shape[-1], d):
            part = slice(start, start + d)
            scores = Q[..., part] @ K[..., part].mT / d**0.5
            weights = self.attn_dropout(torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1))
            total = total + weights @ V[..., part] @ self.out_proj.weight[:, part].T
        return total

# %% all_head_patterns wrong (misconception no-biases): the biases are fetched and not used, so these are not the model's own patterns
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        scores = (x @ W_Q) @ (x @ W_K).T
        patterns.append(causal_attn_weights(scores, W_K.shape[-1]))
    return torch.stack(patterns)

# %% all_head_patterns wrong (misconception root-of-d_model): divides by the root of the model's width instead of the head's
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, x.shape[-1]))
    return torch.stack(patterns)

# %% all_head_patterns wrong (misconception query-and-key-swapped): queries and keys are exchanged when unpacking (the order is W_Q, W_K, b_Q, b_K), so the table of scores is transposed
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_K, W_Q, b_K, b_Q = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(patterns)

# %% all_head_patterns wrong (misconception all-heads): n_heads is ignored, always all heads of the model instead of the first n_heads
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(gpt2.source().n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(patterns)

# %% all_head_patterns wrong (structure): returns a list of tables, not one tensor [n_heads, seq, seq]
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return patterns

# %% all_head_patterns wrong (misconception scaled-twice): scales twice, by hand and once more in causal_attn_weights
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        d_k = keys.shape[-1]
        scores = queries @ keys.T / d_k**0.5
        patterns.append(causal_attn_weights(scores, d_k))
    return torch.stack(patterns)

# %% all_head_patterns wrong (misconception mask-after-softmax): zeros after the softmax without renormalising, rows do not sum to one and know the future
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        patterns.append(weights * get_mask(x.shape[0]))
    return torch.stack(patterns)

# %% all_head_patterns wrong (raised): unpacks as W_Q, b_Q, W_K, b_K against the stated order, the shapes do not fit and it raises
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, b_Q, W_K, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
    return torch.stack(patterns)

# %% all_head_patterns right (passed): weights of all heads stacked, einsum over heads, one call of causal_attn_weights
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    x = gpt2.get_pre_attn(prompt)[1]
    parts = [gpt2.get_split_l0_heads(h, bias=True) for h in range(n_heads)]
    W_Q, W_K, b_Q, b_K = (torch.stack(list(part)) for part in zip(*parts))
    queries = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q[:, None, :]
    keys = torch.einsum("sm,hmd->hsd", x, W_K) + b_K[:, None, :]
    return causal_attn_weights(torch.einsum("hqd,hkd->hqk", queries, keys), d_k=keys.shape[-1])

# %% all_head_patterns right (passed): the key bias adds the same to a whole row of scores and cancels in the softmax, so only the query bias is computed
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)

    def pattern(head):
        W_Q, W_K, b_Q, _ = gpt2.get_split_l0_heads(head, bias=True)
        # q . (k + b_K) = q . k + q . b_K, and the second term is the same for all keys
        return causal_attn_weights((x @ W_Q + b_Q) @ W_K.T @ x.T, W_K.shape[1])

    return torch.stack([pattern(head) for head in range(n_heads)])

# %% all_head_patterns right (passed): row by row, each softmax only over what the position may see
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    _, x = gpt2.get_pre_attn(prompt)
    n = len(x)
    result = torch.zeros(n_heads, n, n, dtype=x.dtype, device=x.device)
    for h in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(h, bias=True)
        q, k = x @ W_Q + b_Q, x @ W_K + b_K
        for i in range(n):
            seen = k[: i + 1] @ q[i] / k.shape[1] ** 0.5
            e = torch.exp(seen - seen.max())
            result[h, i, : i + 1] = e / e.sum()
    return result

# %% all_head_patterns right (passed): bias as one more row of the weights (a column of ones beside x), masked softmax by hand in double precision
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    x = gpt2.get_pre_attn(prompt)[1]
    ones = torch.ones_like(x[:, :1])
    x1 = torch.cat((x, ones), dim=1).double()
    future = torch.ones(len(x), len(x), device=x.device).triu(1).bool()
    tables = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = (w.double() for w in gpt2.get_split_l0_heads(head, bias=True))
        A = torch.vstack((W_Q, b_Q)) @ torch.vstack((W_K, b_K)).T
        scores = (x1 @ A @ x1.T / W_Q.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
        tables.append(scores.softmax(-1).to(x.dtype))
    return torch.stack(tables)

# %% head_kind wrong (misconception bar-one-over-seq): takes 1 / seq for the uniform head's weight instead of the mean of 1 / (i + 1) over the rows from 2 on
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    n = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 / n else "other"

# %% head_kind wrong (misconception all-rows-that-have-the-place): the means run over all rows that have the place, rows 0 and 1 included, where the three are not distinct
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    n = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1).mean().item(),
        "current": pattern.diagonal().mean().item(),
        "first": pattern[:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, n)) / (n - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"

# %% head_kind wrong (misconception next-for-previous): reads the diagonal above the main one, that is the next position, for the previous
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    n = pattern.shape[0]
    means = {
        "previous": torch.diagonal(pattern, 1)[1:].mean().item(),
        "current": torch.diagonal(pattern)[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, n)) / (n - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"

# %% head_kind wrong (misconception first-over-the-bar): returns the first habit that passes the threshold, not the one with the largest mean
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    n = pattern.shape[0]
    rows = range(2, n)
    previous = sum(pattern[i, i - 1].item() for i in rows) / len(rows)
    current = sum(pattern[i, i].item() for i in rows) / len(rows)
    first = sum(pattern[i, 0].item() for i in rows) / len(rows)
    uniform = sum(1 / (i + 1) for i in rows) / len(rows)
    if previous >= 1.4 * uniform:
        return "previous"
    if current >= 1.4 * uniform:
        return "current"
    if first >= 1.4 * uniform:
        return "first"
    return "other"

# %% head_kind wrong (misconception row-for-column): row 0 instead of column 0, measures what position 0 attends to, so a first-token head is not found
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    n = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[0, 2:].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, n)) / (n - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"

# %% head_kind wrong (misconception never-other): the comparison with a uniform head is forgotten, "other" never comes
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    previous = pattern.diagonal(offset=-1)[1:].mean()
    current = pattern.diagonal()[2:].mean()
    first = pattern[2:, 0].mean()
    means = torch.stack([previous, current, first])
    return ["previous", "current", "first"][means.argmax().item()]

# %% head_kind wrong (misconception mean-of-ratios): mean of the rows' ratios to uniform instead of the mean weight against 1.4 times the uniform mean, late rows count too much
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    n = pattern.shape[0]
    ratios = pattern * torch.arange(1, n + 1).unsqueeze(1)
    means = {
        "previous": ratios.diagonal(-1)[1:].mean().item(),
        "current": ratios.diagonal()[2:].mean().item(),
        "first": ratios[2:, 0].mean().item(),
    }
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 else "other"

# %% head_kind wrong (misconception against-the-second): asks that the largest mean is 1.4 times the second largest, not 1.4 times a uniform head's
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    ranked = sorted(means, key=means.get, reverse=True)
    if means[ranked[0]] >= 1.4 * means[ranked[1]]:
        return ranked[0]
    return "other"

# %% head_kind right (passed): plain Python on nested lists
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    table = pattern.tolist()
    previous = current = first = uniform = 0.0
    rows = 0
    for i in range(2, len(table)):
        previous += table[i][i - 1]
        current += table[i][i]
        first += table[i][0]
        uniform += 1 / (i + 1)
        rows += 1
    candidates = [(previous / rows, "previous"), (current / rows, "current"), (first / rows, "first")]
    value, name = max(candidates)
    if value >= 1.4 * (uniform / rows):
        return name
    return "other"

# %% head_kind right (passed): a uniform causal head is built as a pattern and measured with the same helper
def habits(pattern):
    return torch.stack(
        (pattern.diagonal(-1)[1:].mean(), pattern.diagonal()[2:].mean(), pattern[2:, 0].mean())
    )


def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    uniform = torch.ones_like(pattern).tril()
    uniform = uniform / uniform.sum(dim=-1, keepdim=True)
    value, place = habits(pattern).max(dim=0)
    if value < 1.4 * habits(uniform)[0]:
        return "other"
    return ("previous", "current", "first")[place]

# %% head_kind right (passed): advanced indexing gathers a [3, rows] table of columns; "other" takes part in a max as a fourth candidate
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    i = torch.arange(2, len(pattern), device=pattern.device)
    columns = torch.stack((i - 1, i, torch.zeros_like(i)))
    previous, current, first = pattern[i, columns].mean(dim=1).tolist()
    bar = 1.4 * (1 / (i + 1)).mean().item()
    scores = {"previous": previous, "current": current, "first": first, "other": bar}
    return max(scores, key=scores.get)

# %% head_kind right (passed): weighted sums with selector matrices, einsum, only differences to the bar are looked at
def head_kind(pattern):
    n = pattern.shape[-1]
    with torch.no_grad():
        eye = torch.eye(n, dtype=pattern.dtype, device=pattern.device)
        first = torch.zeros_like(eye)
        first[:, 0] = 1
        select = torch.stack([eye.roll(-1, dims=1), eye, first])[:, 2:]
        above = torch.einsum("kij,ij->k", select, pattern[2:]) / (n - 2)
        above = above - 1.4 * sum(1 / (row + 1) for row in range(2, n)) / (n - 2)
    best = int(above.argmax())
    return ["previous", "current", "first"][best] if above[best] >= 0 else "other"
