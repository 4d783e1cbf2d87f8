# %% sample_regression wrong (property drawn_otherwise): uniform noise
def sample_regression(n, L, d, noise_std, generator=None):
    x_q = torch.randn(n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * d**0.5 * (torch.rand(n, L, 1, generator=generator) - 0.5) * 12**0.5
    return torch.cat([x_q, torch.zeros(n, 1, 1)], -1), torch.cat([x, y], -1), x_q @ beta


# %% QueryAttention wrong (structure): with one head it has one output
class QueryAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_out=1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, max(n_out, 1) if n_head > 1 else 1, bias=False)

    def forward(self, z_q, z):
        q, k, v = (
            layer(t).unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
            for layer, t in ((self.q_proj, z_q), (self.k_proj, z), (self.v_proj, z))
        )
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))
