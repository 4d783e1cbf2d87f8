# %% MultiHeadAttentionWrapper wrong (raised): the heads run one after the other, each on the result of the one before
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        self.heads = nn.Sequential(
            *[CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        return self.heads(x)

# %% MultiHeadAttention wrong (misconception no-out_proj): the output projection is made and forgotten in forward
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
        n = x.shape[1]
        q = split_heads(self.W_query(x), self.num_heads)
        k = split_heads(self.W_key(x), self.num_heads)
        v = split_heads(self.W_value(x), self.num_heads)
        scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:n, :n], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        context = merge_heads(weights @ v)
        self.out_proj(context)
        return context

# %% all_head_patterns wrong (raised): the four tensors are unpacked in another order, bias and matrix mixed up
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """What each head of layer 0 attends to, biases included: the model's own patterns."""
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, b_Q, W_K, b_K = gpt2.get_split_l0_heads(head, bias=True)
        q = x @ W_Q + b_Q
        k = x @ W_K + b_K
        patterns.append(causal_attn_weights(q @ k.T, k.shape[-1]))
    return torch.stack(patterns)

# %% head_kind wrong (property means): the threshold is a fixed weight of 0.4 and not 1.4 times the uniform head
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """"previous", "current", "first" or "other"."""
    means = {
        "previous": pattern.diagonal(-1)[1:].mean(),
        "current": pattern.diagonal()[2:].mean(),
        "first": pattern[2:, 0].mean(),
    }
    best = max(means, key=means.get)
    return best if means[best] >= 0.4 else "other"

# %% merge_heads right (passed): flatten after the axes are exchanged
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undoes split_heads."""
    return torch.einsum("bhsd->bshd", x).flatten(start_dim=2)

# %% split_heads right (passed): a product with blocks of the identity
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    blocks = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device).chunk(num_heads, dim=1)
    return torch.stack([x @ block for block in blocks], dim=1)
