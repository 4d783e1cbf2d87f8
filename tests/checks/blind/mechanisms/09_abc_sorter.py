# %% make_weight wrong (property numbers): temperatures below 0.05 count as 0.05
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax(A @ B / max(temp, 0.05), dim=-1)
    return gate if base is None else base * gate


# %% DeepQKVAttention wrong (property finite_when_scaled): scores clipped at 1e5
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.temp, self.strict = num_heads, temp, strict
        d_head = embed_dim // num_heads
        for name in "qkv":
            setattr(self, name + "A", nn.Parameter(torch.randn(num_heads, embed_dim, rank) * 0.1))
            setattr(self, name + "B", nn.Parameter(torch.randn(num_heads, rank, d_head) * 0.1))
            if not strict:
                setattr(self, name + "_base", nn.Parameter(torch.randn(num_heads, embed_dim, d_head) * 0.1))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).triu(1))

    def forward(self, x, return_weights=False):
        q, k, v = (
            x[:, None]
            @ make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
            for n in "qkv"
        )
        n = x.shape[1]
        scores = (q @ k.mT / q.shape[-1] ** 0.5).clamp(-1e5, 1e5).masked_fill(self.mask[:n, :n], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% sort_letters wrong (property three_letters): masks the dot after the softmax; if the dot's logit is more than 100 above the others, all probabilities are 0 and the dot wins
@torch.no_grad()
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    for _ in range(3):
        probs = torch.softmax(model(ids)[0, -1], dim=-1)
        probs[abc_sorter.SEP] = 0.0
        ids = torch.cat((ids, probs.argmax().view(1, 1)), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, 4:].tolist())
