# %% MultiHeadAttentionWrapper wrong (structure): bias passed only for more than one head
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [
                CausalAttention(d_in, d_out, context_length, dropout, qkv_bias and num_heads > 1)
                for _ in range(num_heads)
            ]
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% all_head_patterns wrong (shape): first 8 heads only
def all_head_patterns(prompt, n_heads):
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(min(n_heads, 8)):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        q, k = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(q @ k.T, W_K.shape[1]))
    return torch.stack(patterns)


# %% MultiHeadAttentionWrapper right (passed): a plain module as a container
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.Module()
        for i in range(num_heads):
            self.heads.add_module(str(i), CausalAttention(d_in, d_out, context_length, dropout, qkv_bias))

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads.children()], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): a dict of modules
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleDict(
            {str(i): CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for i in range(num_heads)}
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads.values()], dim=-1)


# %% MultiHeadAttentionWrapper wrong (property large): the heads limit scores to 10,000
class Head(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).triu(1), persistent=False)
    def forward(self, x):
        n = x.shape[1]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = (q @ k.mT / k.shape[-1] ** 0.5).clamp(-1e4, 1e4).masked_fill(self.mask[:n, :n], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ v
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList([Head(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)])
    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% split_heads wrong (property state): keeps one result tensor for each shape, so the next call of the same shape overwrites the last result
results = {}


def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    shape = (batch, num_heads, seq, d_out // num_heads)
    if shape not in results:
        results[shape] = torch.empty(shape, dtype=x.dtype, device=x.device)
    out = results[shape].detach_()
    return out.copy_(x.reshape(batch, seq, num_heads, -1).transpose(1, 2))


# %% MultiHeadAttention wrong (property refuses_when_made): raises only if d_out and num_heads have no common divisor, so 6 entries for 4 heads pass __init__
import math


class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        if num_heads > 1 and math.gcd(d_out, num_heads) == 1:
            raise ValueError(f"{num_heads} heads cannot share {d_out} entries")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / queries.shape[-1] ** 0.5, dim=-1)
        weights = self.dropout(weights)
        return self.out_proj(merge_heads(weights @ values))
