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
