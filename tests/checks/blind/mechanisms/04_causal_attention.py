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
