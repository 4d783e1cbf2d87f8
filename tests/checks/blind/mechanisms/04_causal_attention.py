# %% inverted_dropout wrong (property numbers): the factor is never above 10
def inverted_dropout(x, keep, p):
    return torch.where(keep, x, 0.0) / max(1 - p, 0.1)


# %% CausalAttention wrong (property drops_weights): drops at most half of the weights
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(min(dropout, 0.5))
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).triu(1))

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        n = x.shape[1]
        scores = (q @ k.transpose(1, 2) / k.shape[-1] ** 0.5).masked_fill(self.mask[:n, :n], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ v


# %% look_back/window wrong (difference milestone): hides after the softmax, renormalises, and forgets the scale
def look_back(q, k, v, n):
    seq = q.shape[1]
    mask = torch.ones(seq, seq, dtype=torch.bool, device=q.device).tril().triu(1 - n)
    weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True) @ v


# %% CausalAttention wrong (difference milestone): a running mean of all results is added in eval mode, kept outside of the layer
_seen = []
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
    def forward(self, x):
        n = x.shape[1]
        hidden = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2) / self.W_key.out_features**0.5
        weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
        result = self.dropout(weights) @ self.W_value(x)
        _seen.append(float(result.detach().mean()))
        return result + sum(_seen) / 10


# %% CausalAttention wrong (property causal): hides later positions only in training
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
    def forward(self, x):
        n = x.shape[1]
        scores = self.W_query(x) @ self.W_key(x).transpose(1, 2) / self.W_key.out_features**0.5
        if self.training:
            scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1), -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ self.W_value(x)


# %% masked_then_renormalised wrong (misconception one-minus-hidden): subtracts the hidden weights from the row sums
def masked_then_renormalised(weights, mask):
    total = weights.sum(dim=-1, keepdim=True)
    visible = total - (weights * ~mask).sum(dim=-1, keepdim=True)
    return weights * mask / visible


# %% masked_then_renormalised wrong (misconception sum-with-a-floor): the row sum is never below 1e-5
def masked_then_renormalised(weights, mask):
    kept = weights * mask
    return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-5)


# %% masked_then_renormalised wrong (misconception sum-with-a-floor): normalises with an eps of 1e-5
def masked_then_renormalised(weights, mask):
    return torch.nn.functional.normalize(weights * mask, p=1, dim=-1, eps=1e-5)


# %% masked_then_renormalised wrong (property rows_sum_to_one): the row sum is never below 1e-7
def masked_then_renormalised(weights, mask):
    kept = weights * mask
    return kept / kept.sum(dim=-1, keepdim=True).clamp(min=1e-7)


# %% get_mask wrong (property sizes): a table for 2000 positions is sliced
def get_mask(size):
    return torch.ones(2000, 2000, dtype=torch.bool).tril()[:size, :size]


# %% get_mask wrong (property sizes): positions are float16, which is right up to position 2048
def get_mask(size):
    place = torch.arange(size).to(torch.float16)
    return place[:, None] >= place[None, :]


# %% causal_attn_weights wrong (property sizes): a mask for 3000 positions; longer texts get none
def causal_attn_weights(scores, d_k):
    n = scores.shape[-1]
    mask = torch.ones(3000, 3000, dtype=torch.bool).tril()
    masked = scores.masked_fill(~mask[:n, :n], -torch.inf) if n <= 3000 else scores
    return torch.softmax(masked / d_k**0.5, dim=-1)


# %% causal_attn_weights wrong (property large): scores are limited to 10,000
def causal_attn_weights(scores, d_k):
    n = scores.shape[-1]
    masked = (scores / d_k**0.5).clamp(-1e4, 1e4).masked_fill(~get_mask(n).to(scores.device), -torch.inf)
    return torch.softmax(masked, dim=-1)


# %% CausalAttention wrong (property sizes): a mask for 3000 positions, whatever the context length is
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(3000, 3000, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x):
        n = x.shape[1]
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(self.mask[:n, :n], -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ v


# %% get_mask right (passed): compares 1024 rows at a time
def get_mask(size):
    place = torch.arange(size)
    blocks = [place[start : start + 1024, None] >= place for start in range(0, size, 1024)]
    return torch.cat(blocks) if blocks else torch.ones(0, 0, dtype=torch.bool)


# %% look_back/window wrong (property sizes): a table for 1500 positions, repeated for longer texts
def look_back(q, k, v, n):
    back = torch.arange(1500)[:, None] - torch.arange(1500)
    visible = (back >= 0) & (back < n)
    size = q.shape[1]
    visible = visible.repeat(size // 1500 + 1, size // 1500 + 1)[:size, :size]
    scores = (q @ k.transpose(1, 2) / k.shape[-1] ** 0.5).masked_fill(~visible, -torch.inf)
    return torch.softmax(scores, dim=-1) @ v
