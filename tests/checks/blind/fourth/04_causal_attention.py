# %% get_mask wrong (misconception other-diagonal): flipped, so the other diagonal is the border
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    return torch.ones(size, size, dtype=torch.bool).triu().flip(0)

# %% get_mask wrong (misconception only-the-previous): each position sees itself and the one before it only
def get_mask(size: int) -> Bool[Tensor, "size size"]:
    """True where the row's position may attend to the column's position."""
    i = torch.arange(size)
    distance = i[:, None] - i[None, :]
    return (distance == 0) | (distance == 1)

# %% causal_attn_weights wrong (property finite): 0 times -inf is nan
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """In each row, a softmax over its own position and the past; exactly 0 on the future."""
    mask = get_mask(scores.shape[-1]).float()
    return torch.softmax(scores / d_k**0.5 + (1 - mask) * -torch.inf, dim=-1)

# %% causal_attn_weights wrong (misconception sees-the-future): masked_fill without an underscore and without an assignment
def causal_attn_weights(scores: Float[Tensor, "... seq seq"], d_k: int) -> Float[Tensor, "... seq seq"]:
    """In each row, a softmax over its own position and the past; exactly 0 on the future."""
    mask = get_mask(scores.shape[-1])
    scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)

# %% inverted_dropout wrong (misconception rows-keep-their-sum): the survivors are rescaled so that each row keeps its sum
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged so that the mean over many draws is x."""
    kept = torch.where(keep, x, torch.zeros_like(x))
    return kept * x.sum(-1, keepdim=True) / kept.sum(-1, keepdim=True)

# %% CausalAttention wrong (raised): the mask is cut by the size of the batch
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        n = x.size(0)
        scores = self.W_query(x) @ self.W_key(x).mT / self.W_key.out_features**0.5
        scores = scores.masked_fill(~self.mask[:n, :n], -torch.inf)
        return self.dropout(scores.softmax(-1)) @ self.W_value(x)

# %% CausalAttention right (passed): as a book has it, a mask of floats compared with 0
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        b, num_tokens, d_in = x.shape
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        attn_scores = queries @ keys.transpose(1, 2)
        attn_scores.masked_fill_(self.mask[:num_tokens, :num_tokens] == 0, -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        attn_weights = self.dropout(attn_weights)
        context_vec = attn_weights @ values
        return context_vec

# %% CausalAttention right (passed): torch's own attention, which drops in training only
class CausalAttention(nn.Module):
    def __init__(self, d_in: int, d_out: int, context_length: int, dropout: float, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        p = self.dropout.p if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p)

# %% masked_then_renormalised right (passed): normalize with p=1
def masked_then_renormalised(
    weights: Float[Tensor, "... query key"], mask: Bool[Tensor, "query key"]
) -> Float[Tensor, "... query key"]:
    """The weights where mask is True, rescaled so that each row sums to one again."""
    return nn.functional.normalize(torch.where(mask, weights, 0.0), p=1.0, dim=-1)

# %% inverted_dropout right (passed): multiplied by a mask of 0 and 1 / (1 - p)
def inverted_dropout(x: Float[Tensor, "..."], keep: Bool[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """Zero where keep is False; the rest enlarged so that the mean over many draws is x."""
    return torch.einsum("...,...->...", x, keep.to(x) / (1.0 - p))
