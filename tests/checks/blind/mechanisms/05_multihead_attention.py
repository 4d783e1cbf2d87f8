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
