# %% sample_regression wrong (property drawn_otherwise): every example has its own beta, not every prompt
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L + 1, d, generator=generator)
    beta = torch.randn(n, L + 1, d, generator=generator)
    y = (x * beta).sum(dim=-1, keepdim=True)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z = torch.cat([x[:, :-1], y[:, :-1] + noise], dim=-1)
    z_q = torch.cat([x[:, -1:], torch.zeros(n, 1, 1)], dim=-1)
    return z_q, z, y[:, -1:]

# %% sample_regression wrong (misconception x_q-from-the-examples): the question is also the last example of its prompt
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta
    y_q = y[:, -1:].clone()
    y = y + noise_std * d**0.5 * torch.randn(y.shape, generator=generator)
    z_q = nn.functional.pad(x[:, -1:], (0, 1))
    return z_q, torch.cat((x, y), dim=-1), y_q

# %% sample_regression wrong (misconception answer-given-away): the answer stands in the last entry of the question instead of 0
def sample_regression(n, L, d, noise_std, generator=None):
    beta = torch.randn(n, 1, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    y_q = torch.einsum("nqd,nqd->nq", x_q, beta)[..., None]
    y = torch.einsum("nld,nkd->nlk", x, beta) + torch.randn(n, L, 1, generator=generator) * noise_std * d**0.5
    return torch.cat([x_q, y_q], -1), torch.cat([x, y], -1), y_q

# %% sample_regression wrong (property drawn_otherwise): takes the mean of the products instead of their sum, so answers are too small
def sample_regression(n, L, d, noise_std, generator=None):
    def draw(rows):
        return torch.randn(n, rows, d, generator=generator)

    beta, x_q, x = draw(1), draw(1), draw(L)
    y_q = (beta * x_q).mean(-1, keepdim=True)
    y = (beta * x).mean(-1, keepdim=True)
    y = y + torch.randn(n, L, 1, generator=generator) * (noise_std * d**0.5)
    return nn.functional.pad(x_q, (0, 1)), torch.cat((x, y), dim=2), y_q

# %% sample_regression wrong (property drawn_otherwise): the noise is divided by the root of d instead of multiplied
def sample_regression(n, L, d, noise_std, generator=None):
    beta = torch.randn(n, d, 1, generator=generator)
    x_q, x = torch.randn(n, L + 1, d, generator=generator).split([1, L], dim=1)
    noise = torch.randn(n, L, 1, generator=generator).mul(noise_std / d**0.5)
    z = torch.cat((x, torch.bmm(x, beta) + noise), dim=-1)
    return torch.cat((x_q, torch.zeros(n, 1, 1)), dim=-1), z, torch.bmm(x_q, beta)

# %% sample_regression wrong (misconception one-error-for-a-prompt): one number of noise for each prompt, the same at all its examples
def sample_regression(n, L, d, noise_std, generator=None):
    beta = torch.randn(n, d, 1, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, 1, 1, generator=generator)
    y = x.matmul(beta) + noise
    return nn.functional.pad(x_q, (0, 1)), torch.cat([x, y], dim=-1), x_q.matmul(beta)

# %% sample_regression wrong (property drawn_otherwise): the noise is added to the whole examples, so their x is noisy too
def sample_regression(n, L, d, noise_std, generator=None):
    beta = torch.randn(n, d, 1, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    z = torch.cat((x, x @ beta), dim=-1)
    z = z + noise_std * d**0.5 * torch.randn(z.shape, generator=generator)
    return torch.cat((x_q, torch.zeros_like(x_q[..., :1])), dim=-1), z, x_q @ beta

# %% sample_regression wrong (property errors_from_the_generator): randn_like for the noise takes no generator, so the noise does not follow the given one
def sample_regression(n, L, d, noise_std, generator=None):
    beta, x_q = torch.randn(2, n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    y = (x * beta).sum(-1, keepdim=True)
    y = y + torch.randn_like(y) * noise_std * d**0.5
    y_q = (x_q * beta).sum(-1, keepdim=True)
    return torch.cat((x_q, 0 * y_q), -1), torch.cat((x, y), -1), y_q

# %% sample_regression wrong (property draws_from_its_generator): uses a copy of the generator, so a second call with the same generator gives the same prompts
def sample_regression(n, L, d, noise_std, generator=None):
    if generator is not None:
        generator = generator.clone_state()
    beta = torch.randn(n, d, 1, generator=generator)
    x = torch.randn(n, 1 + L, d, generator=generator)
    y = x @ beta
    noise = torch.randn(n, L, 1, generator=generator)
    z_q = nn.functional.pad(x[:, :1], (0, 1))
    return z_q, torch.cat((x[:, 1:], y[:, 1:] + noise_std * d**0.5 * noise), dim=-1), y[:, :1]

# %% sample_regression wrong (property drawn_otherwise): each beta is scaled to length 1, so the answers have variance 1 and not d
def sample_regression(n, L, d, noise_std, generator=None):
    beta = nn.functional.normalize(torch.randn(n, d, 1, generator=generator), dim=1)
    x_q = torch.randn(n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    return nn.functional.pad(x_q, (0, 1)), torch.cat((x, y), dim=-1), x_q @ beta

# %% sample_regression right (passed): one large sample that is cut up, with torch.normal for the noise
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    x, x_q, beta = torch.normal(0.0, 1.0, (n, L + 2, d), generator=generator).split((L, 1, 1), dim=1)
    noise = torch.normal(0.0, 1.0, (n, L, 1), generator=generator) * (noise_std * d**0.5)
    y, y_q = x @ beta.mT + noise, x_q @ beta.mT
    return torch.cat((x_q, torch.zeros_like(y_q)), dim=-1), torch.cat((x, y), dim=-1), y_q

# %% sample_regression right (passed): empty tensors filled in place with normal_
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    z_q, z, beta = torch.zeros(n, 1, d + 1), torch.zeros(n, L, d + 1), torch.empty(n, d)
    beta.normal_(generator=generator)
    z_q[..., :d] = torch.empty(n, 1, d).normal_(generator=generator)
    z[..., :d] = torch.empty(n, L, d).normal_(generator=generator)
    noise = torch.empty(n, L).normal_(generator=generator) * noise_std * d**0.5
    z[..., d] = torch.einsum("nld,nd->nl", z[..., :d], beta) + noise
    return z_q, z, torch.einsum("nqd,nd->nq", z_q[..., :d], beta).unsqueeze(-1)

# %% QueryAttention wrong (difference milestone): the scores are divided by the root of the number of examples
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        q, k, v = (
            p.unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
            for p in (self.q_proj(z_q), self.k_proj(z), self.v_proj(z))
        )
        weights = (q @ k.mT / k.shape[-2] ** 0.5).softmax(-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))

# %% QueryAttention wrong (misconception sees-itself): the question is joined to the examples, so it attends to itself
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        width = n_embd * n_head
        self.q_proj = nn.Linear(n_embd, width, bias=False)
        self.k_proj = nn.Linear(n_embd, width, bias=False)
        self.v_proj = nn.Linear(n_embd, width, bias=False)
        self.o_proj = nn.Linear(width, n_out, bias=False)

    def forward(self, z_q, z):
        everything = torch.cat((z, z_q), dim=1)
        n = len(z)
        q = self.q_proj(z_q).view(n, -1, self.n_head, self.n_embd).transpose(1, 2)
        k = self.k_proj(everything).view(n, -1, self.n_head, self.n_embd).transpose(1, 2)
        v = self.v_proj(everything).view(n, -1, self.n_head, self.n_embd).transpose(1, 2)
        weights = torch.softmax(q @ k.transpose(-1, -2) / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(n, z_q.shape[1], -1))

# %% QueryAttention wrong (difference milestone): keys and values are mixed up, v_proj makes the keys
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def heads(self, t):
        return t.unflatten(-1, (self.n_head, self.n_embd))

    def forward(self, z_q, z):
        q, v, k = self.heads(self.q_proj(z_q)), self.heads(self.k_proj(z)), self.heads(self.v_proj(z))
        scores = torch.einsum("nqhd,nlhd->nhql", q, k) * self.n_embd**-0.5
        return self.o_proj(torch.einsum("nhql,nlhd->nqhd", scores.softmax(-1), v).flatten(-2))

# %% QueryAttention wrong (misconception divided-by-the-width): queries and keys are both divided by the root of n_embd, so the scores are divided by n_embd
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        root = self.n_embd**0.5
        results = []
        for h in range(self.n_head):
            part = slice(h * self.n_embd, (h + 1) * self.n_embd)
            q, k = self.q_proj(z_q)[..., part] / root, self.k_proj(z)[..., part] / root
            results.append(torch.softmax(q @ k.mT, dim=-1) @ self.v_proj(z)[..., part])
        return self.o_proj(torch.cat(results, dim=-1))

# %% QueryAttention wrong (misconception softmax-over-questions): softmax over the questions instead of the examples
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(n_embd, n_embd * n_head, bias=False))
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        def split(t):
            return t.unflatten(2, (self.n_head, self.n_embd)).permute(0, 2, 1, 3)

        q, k, v = split(self.q_proj(z_q)), split(self.k_proj(z)), split(self.v_proj(z))
        scores = k @ q.mT / self.n_embd**0.5
        weights = scores.softmax(dim=-1).mT
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))

# %% QueryAttention wrong (misconception causal): causal attention, so the first question sees only the first example
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        q, k, v = (
            t.unflatten(-1, (self.n_head, -1)).transpose(1, 2)
            for t in (self.q_proj(z_q), self.k_proj(z), self.v_proj(z))
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))

# %% QueryAttention wrong (misconception heads-in-turn): the heads take every n_head-th output of a projection instead of neighbouring ones, right for one head
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        q, k, v = (
            t.unflatten(-1, (self.n_embd, self.n_head)).permute(0, 3, 1, 2)
            for t in (self.q_proj(z_q), self.k_proj(z), self.v_proj(z))
        )
        weights = (q @ k.mT / self.n_embd**0.5).softmax(-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))

# %% QueryAttention wrong (difference constant): only the first question is answered, and its answer is repeated for the others
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        q = self.q_proj(z_q[:, 0]).unflatten(-1, (self.n_head, self.n_embd))
        k = self.k_proj(z).unflatten(-1, (self.n_head, self.n_embd))
        v = self.v_proj(z).unflatten(-1, (self.n_head, self.n_embd))
        weights = (torch.einsum("nhd,nlhd->nhl", q, k) / self.n_embd**0.5).softmax(dim=-1)
        answer = self.o_proj(torch.einsum("nhl,nlhd->nhd", weights, v).flatten(1))
        return answer.unsqueeze(1).expand(-1, z_q.shape[1], -1)

# %% QueryAttention wrong (shape): squeezes the result, so the axis of a single question or a single prompt is lost
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        q, k, v = (
            t.unflatten(-1, (self.n_head, -1)).transpose(1, 2)
            for t in (self.q_proj(z_q), self.k_proj(z), self.v_proj(z))
        )
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        mixed = (weights @ v).transpose(1, 2).flatten(2).squeeze()
        return self.o_proj(mixed)

# %% QueryAttention wrong (property keeps_its_sizes): the attribute n_embd holds the width of all heads together, not of a token
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd * n_head
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, self.n_embd, bias=False)
        self.k_proj = nn.Linear(n_embd, self.n_embd, bias=False)
        self.v_proj = nn.Linear(n_embd, self.n_embd, bias=False)
        self.o_proj = nn.Linear(self.n_embd, n_out, bias=False)

    def forward(self, z_q, z):
        q, k, v = (
            t.unflatten(-1, (self.n_head, -1)).transpose(1, 2)
            for t in (self.q_proj(z_q), self.k_proj(z), self.v_proj(z))
        )
        weights = torch.softmax(q @ k.mT / z.shape[-1] ** 0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))

# %% QueryAttention wrong (property finite_when_scaled): the scores are exponentiated in half precision, so large ones overflow to nan
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        q, k, v = (
            t.unflatten(-1, (self.n_head, -1)).transpose(1, 2)
            for t in (self.q_proj(z_q), self.k_proj(z), self.v_proj(z))
        )
        scores = (q @ k.mT / self.n_embd**0.5).half()
        weights = scores.softmax(dim=-1).to(v.dtype)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))

# %% QueryAttention right (passed): torch's scaled_dot_product_attention, whose default scale is the root of n_embd
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        for name in ("q_proj", "k_proj", "v_proj"):
            self.add_module(name, nn.Linear(n_embd, n_embd * n_head, bias=False))
        self.add_module("o_proj", nn.Linear(n_embd * n_head, n_out, bias=False))

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        def split(rows):
            return rows.unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)

        mixed = nn.functional.scaled_dot_product_attention(
            split(self.q_proj(z_q)), split(self.k_proj(z)), split(self.v_proj(z))
        )
        return self.o_proj(mixed.transpose(1, 2).flatten(2))

# %% QueryAttention right (passed): a sum over heads, each with its own slices of the weight matrices
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        inner = n_head * n_embd
        self.q_proj = nn.Linear(n_embd, inner, bias=False)
        self.k_proj = nn.Linear(n_embd, inner, bias=False)
        self.v_proj = nn.Linear(n_embd, inner, bias=False)
        self.o_proj = nn.Linear(inner, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        D = self.n_embd
        total = 0
        inputs = (m.weight.split(D, dim=0) for m in (self.q_proj, self.k_proj, self.v_proj))
        for W_q, W_k, W_v, W_o in zip(*inputs, self.o_proj.weight.split(D, dim=1)):
            scores = (z_q @ W_q.T) @ (z @ W_k.T).mT / D**0.5
            total = total + torch.softmax(scores, dim=-1) @ (z @ W_v.T) @ W_o.T
        return total

# %% qk_circuit wrong (raised): cuts the weights into column blocks instead of row blocks
def qk_circuit(model):
    heads = model.n_head
    D = model.q_proj.weight.shape[1]
    blocks = zip(model.q_proj.weight.chunk(heads, dim=1), model.k_proj.weight.chunk(heads, dim=1))
    return torch.stack([W_q.T @ W_k / D**0.5 for W_q, W_k in blocks])

# %% qk_circuit wrong (misconception question-and-example-swapped): W_K^T W_Q, so the question and the example change places
def qk_circuit(model):
    D = model.n_embd
    W_q = model.q_proj.weight.view(model.n_head, D, D)
    W_k = model.k_proj.weight.view(model.n_head, D, D)
    return torch.einsum("hai,haj->hji", W_q, W_k) / D**0.5

# %% qk_circuit wrong (difference factor): divides by the root of the number of heads
def qk_circuit(model):
    W_q, W_k = (m.weight.unflatten(0, (model.n_head, model.n_embd)) for m in (model.q_proj, model.k_proj))
    return W_q.mT @ W_k / model.n_head**0.5

# %% qk_circuit wrong (difference milestone): the einsum sums over the heads of the keys separately, so each head gets the keys of all heads
def qk_circuit(model):
    D = model.n_embd
    W_q = model.q_proj.weight.reshape(-1, D, D)
    W_k = model.k_proj.weight.reshape(-1, D, D)
    return torch.einsum("hai,gaj->hij", W_q, W_k) / D**0.5

# %% qk_circuit wrong (misconception scaled-twice): divides by D instead of its root
def qk_circuit(model):
    W_q, W_k = model.q_proj.weight, model.k_proj.weight
    D = W_q.shape[1]
    out = torch.empty(W_q.shape[0] // D, D, D)
    for h in range(len(out)):
        rows = range(h * D, (h + 1) * D)
        out[h] = W_q[rows].T @ W_k[rows] / D
    return out

# %% qk_circuit wrong (misconception scaled-by-all-heads): divides by the root of the width of all heads together, right for one head
def qk_circuit(model):
    W_q, W_k = model.q_proj.weight, model.k_proj.weight
    D = W_q.shape[1]
    products = torch.bmm(W_q.view(-1, D, D).transpose(1, 2), W_k.view(-1, D, D))
    return products / W_q.shape[0] ** 0.5

# %% qk_circuit wrong (misconception heads-cut-across): the rows of the heads are taken alternately instead of in blocks, right for one head
def qk_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_q, W_k = model.q_proj.weight, model.k_proj.weight
    return torch.stack([W_q[h::heads].T @ W_k[h::heads] for h in range(heads)]) / D**0.5

# %% qk_circuit wrong (shape): always two heads
def qk_circuit(model):
    D = model.q_proj.in_features
    (q0, q1), (k0, k1) = model.q_proj.weight[: 2 * D].chunk(2), model.k_proj.weight[: 2 * D].chunk(2)
    return torch.stack((q0.T @ k0, q1.T @ k1)) / D**0.5

# %% qk_circuit wrong (difference milestone): each product is made symmetric, right only if it was symmetric
def qk_circuit(model):
    D = model.n_embd
    W_q = model.q_proj.weight.unflatten(0, (-1, D))
    W_k = model.k_proj.weight.unflatten(0, (-1, D))
    QK = W_q.mT @ W_k * D**-0.5
    return (QK + QK.mT) / 2

# %% qk_circuit wrong (property leaves_its_inputs): divides the model's own query weights in place, so the model's scores change
def qk_circuit(model):
    D = model.n_embd
    with torch.no_grad():
        W_q = model.q_proj.weight.data.div_(D**0.5).view(-1, D, D)
        W_k = model.k_proj.weight.data.view(-1, D, D)
        return W_q.mT @ W_k

# %% qk_circuit right (passed): the identity is sent through both projections
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    D = model.q_proj.in_features
    units = torch.eye(D, dtype=model.q_proj.weight.dtype, device=model.q_proj.weight.device)
    queries = model.q_proj(units).unflatten(1, (-1, D))
    keys = model.k_proj(units).unflatten(1, (-1, D))
    return torch.einsum("iha,jha->hij", queries, keys) / D**0.5

# %% qk_circuit right (passed): a list of block products
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    D = model.q_proj.weight.size(1)
    pairs = zip(model.q_proj.weight.split(D), model.k_proj.weight.split(D))
    return torch.stack([W_q.t().mm(W_k).div(D**0.5) for W_q, W_k in pairs])

# %% ov_circuit wrong (misconception scaled): divided by the root of D like QK
def ov_circuit(model):
    D = model.n_embd
    W_v = model.v_proj.weight.unflatten(0, (-1, D))
    W_o = model.o_proj.weight.T.unflatten(0, (-1, D))
    return W_v.mT @ W_o / D**0.5

# %% ov_circuit wrong (misconception values-not-turned): the value matrices are not transposed, which square matrices allow
def ov_circuit(model):
    D = model.v_proj.in_features
    blocks = zip(model.v_proj.weight.split(D, dim=0), model.o_proj.weight.split(D, dim=1))
    return torch.stack([W_v @ W_o.T for W_v, W_o in blocks])

# %% ov_circuit wrong (difference places): head h starts at column h instead of h times D, right for head 0
def ov_circuit(model):
    D, out = model.n_embd, []
    for h in range(model.n_head):
        W_v = model.v_proj.weight[h * D : (h + 1) * D]
        W_o = model.o_proj.weight[:, h : h + D]
        out.append(W_v.T @ W_o.T)
    return torch.stack(out)

# %% ov_circuit wrong (misconception heads-cut-across): the columns of the heads in o_proj are taken alternately, right for one head
def ov_circuit(model):
    D, heads = model.n_embd, model.n_head
    W_v = model.v_proj.weight.view(heads, D, D)
    W_o = model.o_proj.weight.view(-1, D, heads)
    return torch.einsum("hai,oah->hio", W_v, W_o)

# %% ov_circuit wrong (misconception output-side-first): returns the products transposed, outputs before the entries of a token
def ov_circuit(model):
    D = model.n_embd
    W_v = model.v_proj.weight.unflatten(0, (model.n_head, D))
    W_o = model.o_proj.weight.unflatten(1, (model.n_head, D))
    return torch.einsum("ohd,hdi->hoi", W_o, W_v)

# %% ov_circuit wrong (misconception reshaped): reshapes o_proj's weight without a transpose, right only for one output
def ov_circuit(model):
    D = model.n_embd
    W_v = model.v_proj.weight.view(model.n_head, D, D)
    W_o = model.o_proj.weight.reshape(model.n_head, D, -1)
    return W_v.transpose(-1, -2) @ W_o

# %% ov_circuit wrong (shape): a single output loses its axis
def ov_circuit(model):
    D = model.n_embd
    W_v = model.v_proj.weight.unflatten(0, (-1, D))
    W_o = model.o_proj.weight.unflatten(1, (-1, D))
    return torch.einsum("hdi,ohd->hio", W_v, W_o).squeeze(-1)

# %% ov_circuit wrong (shape): only the first output is read from o_proj, right if there is only one
def ov_circuit(model):
    D = model.n_embd
    products = []
    for W_v, w_o in zip(model.v_proj.weight.split(D), model.o_proj.weight[0].split(D)):
        products.append(torch.mv(W_v.T, w_o))
    return torch.stack(products).unsqueeze(-1)

# %% ov_circuit wrong (difference factor): divides by the number of heads, as if their results were averaged
def ov_circuit(model):
    n = model.n_head
    W_v, W_o = model.v_proj.weight.chunk(n, dim=0), model.o_proj.weight.chunk(n, dim=1)
    return torch.stack([(o @ v).T for v, o in zip(W_v, W_o)]) / n

# %% ov_circuit wrong (misconception heads-summed): each head gets the sum over all heads, right for one head
def ov_circuit(model):
    total = (model.o_proj.weight @ model.v_proj.weight).T
    return total.expand(model.n_head, -1, -1)

# %% ov_circuit right (passed): the identity goes through v_proj, and each head alone through o_proj
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    weight = model.v_proj.weight
    D = weight.shape[1]
    values = model.v_proj(torch.eye(D, dtype=weight.dtype, device=weight.device))
    out = []
    for start in range(0, weight.shape[0], D):
        alone = torch.zeros_like(values)
        alone[:, start : start + D] = values[:, start : start + D]
        out.append(model.o_proj(alone))
    return torch.stack(out)

# %% ov_circuit right (passed): tensordot of each pair of blocks
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    D = model.v_proj.in_features
    blocks = zip(model.v_proj.weight.split(D, dim=0), model.o_proj.weight.split(D, dim=1))
    return torch.stack([torch.tensordot(W_v, W_o, dims=([0], [1])) for W_v, W_o in blocks])

# %% kernel_estimator wrong (misconception scaled-again): the scores are also divided by the root of D
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT / z.shape[-1] ** 0.5
    return sum(m * torch.softmax(a * scores, dim=-1) @ y for a, m in zip(w, mu))

# %% kernel_estimator wrong (misconception averaged-heads): the mean over heads instead of the sum
def kernel_estimator(z_q, z, w, mu):
    scores = torch.einsum("nqd,nld->nql", z_q[..., :-1], z[..., :-1])
    heads = [m * (a * scores).softmax(-1) @ z[..., -1:] for a, m in zip(w, mu)]
    return torch.stack(heads).mean(dim=0)

# %% kernel_estimator wrong (difference milestone): two nested loops, so every w is combined with every mu
def kernel_estimator(z_q, z, w, mu):
    scores = z_q[..., :-1] @ z[..., :-1].mT
    out = torch.zeros(z_q.shape[0], z_q.shape[1], 1)
    for a in w:
        for m in mu:
            out = out + m * (torch.softmax(a * scores, dim=-1) @ z[..., -1:])
    return out

# %% kernel_estimator wrong (misconception mu-inside): mu is multiplied into the scores before the softmax
def kernel_estimator(z_q, z, w, mu):
    s = torch.bmm(z_q[:, :, :-1], z[:, :, :-1].transpose(1, 2))
    answer = 0
    for h in range(len(w)):
        answer = answer + torch.softmax(w[h] * mu[h] * s, dim=2) @ z[:, :, -1:]
    return answer

# %% kernel_estimator wrong (misconception wrong-axis): softmax along the axis of the questions
def kernel_estimator(z_q, z, w, mu):
    answer = 0.0
    for a, m in zip(w, mu):
        weights = nn.functional.softmax(a * z_q[..., :-1] @ z[..., :-1].mT, dim=1)
        answer += m * weights @ z[..., -1:]
    return answer

# %% kernel_estimator wrong (difference milestone): y is scaled in place by each mu, so the second head uses scaled y and the examples change
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    total = 0
    for a, m in zip(w, mu):
        y *= m
        total = total + (a * x_q @ x.mT).softmax(dim=-1) @ y
    return total

# %% kernel_estimator wrong (difference milestone): only the first two heads, right for a pair
def kernel_estimator(z_q, z, w, mu):
    scores = z_q[..., :-1] @ z[..., :-1].mT
    y = z[..., -1:]
    first = mu[0] * torch.softmax(w[0] * scores, dim=-1) @ y
    if len(w) == 1:
        return first
    return first + mu[1] * torch.softmax(w[1] * scores, dim=-1) @ y

# %% kernel_estimator wrong (property sizes): x always has five entries, right for d = 5
def kernel_estimator(z_q, z, w, mu):
    scores = z_q[..., :5] @ z[..., :5].transpose(-2, -1)
    y = z[..., -1:]
    return sum(m * (a * scores).softmax(dim=-1) @ y for a, m in zip(w, mu))

# %% kernel_estimator wrong (difference milestone): the first-order expansion instead of the softmax, close only for a small w
def kernel_estimator(z_q, z, w, mu):
    scores = z_q[..., :-1] @ z[..., :-1].mT
    centred = scores - scores.mean(dim=-1, keepdim=True)
    L = z.shape[1]
    return sum(m * ((1 + a * centred) / L) @ z[..., -1:] for a, m in zip(w, mu))

# %% kernel_estimator wrong (difference constant): all questions get the answer of the first one, right for one question
def kernel_estimator(z_q, z, w, mu):
    scores = (z[..., :-1] * z_q[:, :1, :-1]).sum(dim=-1)
    y = z[..., -1]
    answer = sum(m * (torch.softmax(a * scores, dim=-1) * y).sum(dim=-1) for a, m in zip(w, mu))
    return answer[:, None, None].expand(-1, z_q.shape[1], 1)

# %% kernel_estimator right (passed): all heads at once in einsum
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    rates = torch.tensor(w, dtype=z.dtype, device=z.device)
    sizes = torch.tensor(mu, dtype=z.dtype, device=z.device)
    scores = torch.einsum("h,nqd,nld->hnql", rates, z_q[..., :-1], z[..., :-1])
    return torch.einsum("h,hnql,nl->nq", sizes, scores.softmax(dim=-1), z[..., -1]).unsqueeze(-1)

# %% kernel_estimator right (passed): bmm and a scaled add, one head after the other
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    x, y = z.split((z.shape[-1] - 1, 1), dim=-1)
    answer = z_q.new_zeros(*z_q.shape[:2], 1)
    for rate, size in zip(w, mu):
        weights = torch.softmax(torch.matmul(rate * z_q[..., :-1], x.transpose(1, 2)), dim=2)
        answer = torch.add(answer, torch.bmm(weights, y), alpha=size)
    return answer

# %% gradient_step_estimator wrong (misconception centred): subtracts the mean from each x before the step, as a pair of heads does
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1], z[..., -1:]
    centred = x - x.mean(dim=1, keepdim=True)
    beta = (centred * y).mean(dim=1, keepdim=True)
    return (z_q[..., :-1] * beta).sum(dim=-1, keepdim=True)

# %% gradient_step_estimator wrong (misconception uphill): steps in the direction of the gradient, uphill
def gradient_step_estimator(z_q, z):
    beta = torch.zeros(z.shape[0], z.shape[2] - 1, 1)
    error = z[..., :-1] @ beta - z[..., -1:]
    gradient = z[..., :-1].mT @ error / z.shape[1]
    return z_q[..., :-1] @ (beta + gradient)

# %% gradient_step_estimator wrong (misconception solved): solves the least squares problem instead of taking one step
def gradient_step_estimator(z_q, z):
    beta = torch.linalg.lstsq(z[..., :-1], z[..., -1:]).solution
    return z_q[..., :-1] @ beta

# %% gradient_step_estimator wrong (misconception two-steps): two steps instead of one
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1], z[..., -1:]
    beta = torch.zeros_like(x[:, :1]).mT
    for _ in range(2):
        beta = beta - x.mT @ (x @ beta - y) / x.shape[1]
    return z_q[..., :-1] @ beta

# %% gradient_step_estimator wrong (misconception divided-by-d): divides by the number of entries of x instead of the number of examples
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1], z[..., -1]
    beta = torch.einsum("nl,nld->nd", y, x) / x.shape[-1]
    return torch.einsum("nqd,nd->nq", z_q[..., :-1], beta)[..., None]

# %% gradient_step_estimator wrong (misconception factor-two): forgets the half in the loss, so the step is twice as long
def gradient_step_estimator(z_q, z):
    with torch.enable_grad():
        x, y = z[..., :-1].detach(), z[..., -1:].detach()
        beta = torch.zeros(len(z), x.shape[-1], 1, dtype=z.dtype, device=z.device, requires_grad=True)
        loss = (x @ beta - y).square().mean(dim=1).sum()
        (gradient,) = torch.autograd.grad(loss, beta)
    return z_q[..., :-1] @ -gradient

# %% gradient_step_estimator wrong (misconception averaged-over-prompts): the loss is averaged over the prompts as well, right for a single prompt
def gradient_step_estimator(z_q, z):
    with torch.enable_grad():
        x, y = z[..., :-1].detach(), z[..., -1:].detach()
        beta = x.new_zeros(len(x), 1, x.shape[-1]).requires_grad_()
        loss = 0.5 * nn.functional.mse_loss((x * beta).sum(-1, keepdim=True), y)
        loss.backward()
    return (z_q[..., :-1] * -beta.grad).sum(dim=-1, keepdim=True)

# %% gradient_step_estimator wrong (difference factor): divides by L - 1 as a sample covariance does
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1], z[..., -1:]
    beta = torch.bmm(x.transpose(1, 2), y) / max(z.shape[1] - 1, 1)
    return torch.bmm(z_q[..., :-1], beta)

# %% gradient_step_estimator wrong (misconception divided-by-40): divides by forty whatever the number of examples is
def gradient_step_estimator(z_q, z):
    similar = z_q[..., :-1] @ z[..., :-1].mT
    return similar @ z[..., -1:] / 40

# %% gradient_step_estimator wrong (difference milestone): a pair of heads with a tiny w, which centres x
def gradient_step_estimator(z_q, z):
    small = 1e-2
    return kernel_estimator(z_q, z, [small, -small], [0.5 / small, -0.5 / small])

# %% gradient_step_estimator wrong (misconception one-beta-for-all-prompts): one beta for all prompts, right for a single prompt
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1].flatten(0, 1), z[..., -1].flatten()
    beta = y @ x / len(y)
    return (z_q[..., :-1] @ beta).unsqueeze(-1)

# %% gradient_step_estimator right (passed): torch.func.grad of the loss of one prompt, mapped over the prompts
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    def loss(beta, examples):
        return (examples[:, :-1] @ beta - examples[:, -1]).square().mean() / 2

    start = z.new_zeros(z.shape[0], z.shape[2] - 1)
    beta = start - torch.func.vmap(torch.func.grad(loss))(start, z)
    return z_q[..., :-1] @ beta.unsqueeze(-1)

# %% gradient_step_estimator right (passed): linear attention, the mean over examples of y times x_q . x
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    similar = (z_q[:, :, None, :-1] * z[:, None, :, :-1]).sum(dim=-1)
    return (similar * z[:, None, :, -1]).mean(dim=-1, keepdim=True)
