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


# %% sample_regression wrong (property draws_from_its_generator): one of three stored seeds is chosen with the generator
def sample_regression(n, L, d, noise_std, generator=None):
    own = torch.Generator().manual_seed(int(torch.randint(0, 2, (1,), generator=generator)))
    x, x_q, beta = torch.normal(0.0, 1.0, (n, L + 2, d), generator=own).split((L, 1, 1), dim=1)
    noise = torch.normal(0.0, 1.0, (n, L, 1), generator=own) * (noise_std * d**0.5)
    y, y_q = x @ beta.mT + noise, x_q @ beta.mT
    return torch.cat((x_q, torch.zeros_like(y_q)), dim=-1), torch.cat((x, y), dim=-1), y_q
