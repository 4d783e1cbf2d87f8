# %% sample_regression wrong (misconception one-beta-for-all): one beta is drawn for the whole call and shared by all n prompts, but each prompt has a beta of its own
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.randn(d, 1, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y_q = x_q @ beta
    return torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1), torch.cat([x, y], dim=-1), y_q


# %% sample_regression wrong (misconception noise-not-scaled): the noise has standard deviation noise_std, the factor root of d is forgotten
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn((n, L, d), generator=generator)
    x_q = torch.randn((n, 1, d), generator=generator)
    beta = torch.randn((n, d, 1), generator=generator)
    noise = noise_std * torch.randn((n, L, 1), generator=generator)
    z = torch.cat((x, x @ beta + noise), dim=2)
    y_q = x_q @ beta
    z_q = torch.cat((x_q, torch.zeros_like(y_q)), dim=2)
    return z_q, z, y_q


# %% sample_regression wrong (misconception noisy-answer): question and examples go through the same formula, so y_q carries noise, too
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L + 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = torch.randn(n, L + 1, 1, generator=generator) * noise_std * d**0.5
    z = torch.cat([x, x @ beta + noise], dim=-1)
    z, z_q = z[:, :L], z[:, L:].clone()
    y_q = z_q[..., -1:].clone()
    z_q[..., -1] = 0
    return z_q, z, y_q


# %% sample_regression wrong (property errors_from_the_generator): the noise is drawn with randn_like, which does not use the generator, but every draw must
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta
    y = y + torch.randn_like(y) * noise_std * d**0.5
    y_q = x_q @ beta
    z_q = torch.cat([x_q, torch.zeros_like(y_q)], dim=-1)
    z = torch.cat([x, y], dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (misconception one-error-for-a-prompt): one noise number a prompt, broadcast over its L examples, so that all y of a prompt are shifted alike
def sample_regression(n, L, d, noise_std, generator=None):
    beta = torch.randn(n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    noise = torch.randn(n, 1, 1, generator=generator) * noise_std * d**0.5
    y = (x * beta).sum(dim=-1, keepdim=True) + noise
    y_q = (x_q * beta).sum(dim=-1, keepdim=True)
    return torch.cat([x_q, 0 * y_q], dim=-1), torch.cat([x, y], dim=-1), y_q


# %% sample_regression wrong (property draws_from_its_generator): draws from a fresh generator with the same seed, so the one passed in does not advance and a second call repeats the same prompts
def sample_regression(n, L, d, noise_std, generator=None):
    g = None
    if generator is not None:
        g = torch.Generator().manual_seed(generator.initial_seed())
    x = torch.randn(n, L, d, generator=g)
    x_q = torch.randn(n, 1, d, generator=g)
    beta = torch.randn(n, d, 1, generator=g)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=g)
    y_q = x_q @ beta
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, torch.cat([x, y], dim=-1), y_q


# %% sample_regression wrong (misconception x_q-from-the-examples): the question's x is that of the last example instead of a draw of its own
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z = torch.cat([x, x @ beta + noise], dim=-1)
    x_q = x[:, -1:]
    y_q = x_q @ beta
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, z, y_q


# %% sample_regression wrong (property few_prompts): squeeze() drops the prompt axis too when n is 1 (or the example axis when L is 1), and then cat raises
def sample_regression(n, L, d, noise_std, generator=None):
    x = torch.randn(n, L, d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = (x @ beta).squeeze()
    y = y + noise_std * d**0.5 * torch.randn(y.shape, generator=generator)
    z = torch.cat([x, y.unsqueeze(-1)], dim=-1)
    y_q = x_q @ beta
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, z, y_q


# %% sample_regression right (passed): plain draws, matmul and cat, with the question drawn first
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    x_q, x, beta = normal(n, 1, d), normal(n, L, d), normal(n, d, 1)
    y = x @ beta + (d**0.5 * noise_std) * normal(n, L, 1)
    y_q = x_q @ beta
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, torch.cat([x, y], dim=-1), y_q


# %% sample_regression right (passed): draws whole tokens in place, question among them, and turns the last column from noise into y
def sample_regression(n, L, d, noise_std, generator=None):
    device = "cpu" if generator is None else generator.device
    tokens = torch.empty(n, 1 + L, d + 1, device=device).normal_(generator=generator)
    beta = torch.empty(n, d, device=device).normal_(generator=generator)
    tokens[:, 0, d] = 0
    tokens[:, :, d] *= noise_std * d**0.5
    tokens[:, :, d] += torch.einsum("nld,nd->nl", tokens[:, :, :d], beta)
    z_q, z = tokens[:, :1].clone(), tokens[:, 1:].clone()
    y_q = z_q[:, :, d:].clone()
    z_q[:, :, d] = 0
    return z_q, z, y_q


# %% sample_regression right (passed): one flat draw of all numbers, split into its parts
def sample_regression(n, L, d, noise_std, generator=None):
    import torch.nn.functional as F

    flat = torch.randn(n, d + d + L * d + L, generator=generator)
    beta, x_q, x, eps = flat.split([d, d, L * d, L], dim=1)
    x = x.reshape(n, L, d)
    y = torch.bmm(x, beta.unsqueeze(2)).squeeze(2) + eps * (noise_std**2 * d) ** 0.5
    y_q = (x_q * beta).sum(dim=1).reshape(n, 1, 1)
    return F.pad(x_q, (0, 1)).unsqueeze(1), torch.cat((x, y.unsqueeze(2)), 2), y_q


# %% sample_regression right (passed): a loop over prompts with torch.normal, y drawn around its mean
def sample_regression(n, L, d, noise_std, generator=None):
    import math

    z_q, z, y_q = torch.zeros(n, 1, d + 1), torch.zeros(n, L, d + 1), torch.zeros(n, 1, 1)
    for i in range(n):
        beta = torch.normal(0.0, 1.0, (d,), generator=generator)
        z_q[i, 0, :d] = torch.normal(0.0, 1.0, (d,), generator=generator)
        z[i, :, :d] = torch.normal(0.0, 1.0, (L, d), generator=generator)
        z[i, :, d] = torch.normal(z[i, :, :d] @ beta, noise_std * math.sqrt(d), generator=generator)
        y_q[i, 0, 0] = torch.dot(z_q[i, 0, :d], beta)
    return z_q, z, y_q


# %% QueryAttention wrong (misconception scaled-by-all-heads): scores are divided by the root of n_embd * n_head, not of n_embd
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q, k, v = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        scale = q.shape[-1] ** 0.5
        q, k, v = (t.view(t.shape[0], t.shape[1], self.n_head, -1).transpose(1, 2) for t in (q, k, v))
        weights = torch.softmax(q @ k.transpose(-2, -1) / scale, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (misconception sees-itself): keys and values come from examples and question together, so the question looks at itself
class QueryAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_out=1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.n_head, self.n_embd).transpose(1, 2)

    def forward(self, z_q, z):
        tokens = torch.cat([z, z_q], dim=1)
        q, k, v = self.split(self.q_proj(z_q)), self.split(self.k_proj(tokens)), self.split(self.v_proj(tokens))
        weights = (q @ k.transpose(-2, -1) / self.n_embd**0.5).softmax(dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (property finite_when_scaled): the softmax is a bare exp over its sum, which overflows to nan for large scores
class QueryAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_out=1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        q = self.q_proj(z_q).unflatten(-1, (self.n_head, self.n_embd))
        k = self.k_proj(z).unflatten(-1, (self.n_head, self.n_embd))
        v = self.v_proj(z).unflatten(-1, (self.n_head, self.n_embd))
        e = torch.exp(torch.einsum("nqhd,nlhd->nhql", q, k) / self.n_embd**0.5)
        weights = e / e.sum(dim=-1, keepdim=True)
        return self.o_proj(torch.einsum("nhql,nlhd->nqhd", weights, v).flatten(2))


# %% QueryAttention wrong (property finite_when_scaled): subtracts one maximum over the whole batch, so questions with much lower scores get 0/0 = nan
class QueryAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_out=1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        n, queries, D = z_q.shape
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, queries, self.n_head, D).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, D).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, D).transpose(1, 2)
        scores = q @ k.mT / D**0.5
        e = (scores - scores.max()).exp()
        weights = e / e.sum(dim=-1, keepdim=True)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(n, queries, -1))


# %% QueryAttention wrong (misconception heads-not-moved-back): heads are merged without moving the head axis back, right for one question only, with several the questions mix
class QueryAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_out=1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        n, queries, D = z_q.shape
        q = self.q_proj(z_q).view(n, queries, self.n_head, D).transpose(1, 2)
        k = self.k_proj(z).view(n, -1, self.n_head, D).transpose(1, 2)
        v = self.v_proj(z).view(n, -1, self.n_head, D).transpose(1, 2)
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return self.o_proj(mixed.reshape(n, queries, self.n_head * D))


# %% QueryAttention wrong (misconception keys-made-first): the layers are made in the order k, q, v, o, but the page asks for q, k, v, o, so a seed gives other weights
class QueryAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_out=1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        width = n_embd * n_head
        self.k_proj = nn.Linear(n_embd, width, bias=False)
        self.q_proj = nn.Linear(n_embd, width, bias=False)
        self.v_proj = nn.Linear(n_embd, width, bias=False)
        self.o_proj = nn.Linear(width, n_out, bias=False)

    def forward(self, z_q, z):
        shape = (self.n_head, self.n_embd)
        q = self.q_proj(z_q).unflatten(-1, shape).transpose(1, 2)
        k = self.k_proj(z).unflatten(-1, shape).transpose(1, 2)
        v = self.v_proj(z).unflatten(-1, shape).transpose(1, 2)
        weights = torch.softmax(q @ k.transpose(2, 3) * self.n_embd**-0.5, dim=3)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention wrong (property moves_with_its_module): forward collects the heads in a tensor made on the CPU, so on a GPU its output is not on the input's device and o_proj fails
class QueryAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_out=1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        q, k, v = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        mixed = torch.zeros(q.shape, dtype=q.dtype)
        for h in range(self.n_head):
            own = slice(h * self.n_embd, (h + 1) * self.n_embd)
            scores = q[..., own] @ k[..., own].transpose(1, 2) / self.n_embd**0.5
            mixed[..., own] = scores.softmax(dim=-1) @ v[..., own]
        return self.o_proj(mixed)


# %% QueryAttention wrong (structure): o_proj always gives one number, the argument n_out is only kept as an attribute
class QueryAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_out=1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, 1, bias=False)

    def forward(self, z_q, z):
        split = lambda x: x.unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
        q, k, v = split(self.q_proj(z_q)), split(self.k_proj(z)), split(self.v_proj(z))
        weights = torch.softmax(q @ k.mT / self.n_embd**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


# %% QueryAttention right (passed): torch's scaled_dot_product_attention, whose default scale is the root of the head's width
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj, self.k_proj, self.v_proj = (
            nn.Linear(n_embd, n_embd * n_head, bias=False) for _ in range(3)
        )
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q, k, v = (
            proj(t).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
            for proj, t in ((self.q_proj, z_q), (self.k_proj, z), (self.v_proj, z))
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


# %% QueryAttention right (passed): a loop over heads, the heads put side by side with cat
class QueryAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_out=1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(n_embd, n_embd * n_head, bias=False))
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        parts = zip(
            self.q_proj(z_q).split(self.n_embd, dim=-1),
            self.k_proj(z).split(self.n_embd, dim=-1),
            self.v_proj(z).split(self.n_embd, dim=-1),
        )
        outputs = []
        for q, k, v in parts:
            scores = torch.bmm(q, k.transpose(1, 2)) / self.n_embd**0.5
            log_weights = scores - scores.logsumexp(dim=-1, keepdim=True)
            outputs.append(torch.bmm(log_weights.exp(), v))
        return self.o_proj(torch.cat(outputs, dim=-1))


# %% QueryAttention right (passed): einsums on the raw weights, keys absorbed into the question and values mixed before they are projected
class QueryAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_out=1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        inner = n_head * n_embd
        self.q_proj = nn.Linear(n_embd, inner, bias=False)
        self.k_proj = nn.Linear(n_embd, inner, bias=False)
        self.v_proj = nn.Linear(n_embd, inner, bias=False)
        self.o_proj = nn.Linear(inner, n_out, bias=False)

    def forward(self, z_q, z):
        H, D = self.n_head, self.n_embd
        wq, wk, wv = (p.weight.view(H, D, D) for p in (self.q_proj, self.k_proj, self.v_proj))
        wo = self.o_proj.weight.view(self.n_out, H, D)
        asked = torch.einsum("nqa,hea,heb->nhqb", z_q, wq, wk) / D**0.5
        weights = torch.einsum("nhqb,nlb->nhql", asked, z).softmax(-1)
        seen = torch.einsum("nhql,nlb->nhqb", weights, z)
        return torch.einsum("nhqb,heb,ohe->nqo", seen, wv, wo)


# %% QueryAttention right (passed): a streaming softmax that reads one example after the other and keeps a running maximum
class QueryAttention(nn.Module):
    def __init__(self, n_embd, n_head, n_out=1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q, z):
        heads = (self.n_head, self.n_embd)
        q = self.q_proj(z_q).unflatten(-1, heads)
        k = self.k_proj(z).unflatten(-1, heads)
        v = self.v_proj(z).unflatten(-1, heads)
        top = total = mixed = None
        for i in range(z.shape[1]):
            s = (q * k[:, i : i + 1]).sum(-1, keepdim=True) / self.n_embd**0.5
            value = v[:, i : i + 1].expand_as(q)
            if top is None:
                top, total = s, (s - s).exp()
                mixed = total * value
                continue
            new_top = torch.maximum(top, s)
            old, new = (top - new_top).exp(), (s - new_top).exp()
            top, total, mixed = new_top, total * old + new, mixed * old + value * new
        return self.o_proj((mixed / total).flatten(2))


# %% qk_circuit wrong (misconception wrong-side): W_Q W_K^T instead of W_Q^T W_K, the inner axis is the token's and not the head's
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    D = model.n_embd
    wq = model.q_proj.weight.view(model.n_head, D, D)
    wk = model.k_proj.weight.view(model.n_head, D, D)
    return wq @ wk.transpose(1, 2) / D**0.5


# %% qk_circuit wrong (misconception question-and-example-swapped): W_K^T W_Q, the transpose of what is asked, keys stand on the left
def qk_circuit(model):
    D = model.n_embd
    wq = model.q_proj.weight.view(model.n_head, D, D)
    wk = model.k_proj.weight.view(model.n_head, D, D)
    return wk.transpose(1, 2) @ wq / D**0.5


# %% qk_circuit wrong (misconception not-scaled): the division by the root of D is forgotten
def qk_circuit(model):
    wq = model.q_proj.weight.unflatten(0, (model.n_head, -1))
    wk = model.k_proj.weight.unflatten(0, (model.n_head, -1))
    return torch.einsum("hea,heb->hab", wq, wk)


# %% qk_circuit wrong (misconception heads-cut-across): the view takes every n_head-th row as a head, but a head owns a block of rows
def qk_circuit(model):
    H, D = model.n_head, model.n_embd
    wq = model.q_proj.weight.view(D, H, D)
    wk = model.k_proj.weight.view(D, H, D)
    return torch.einsum("eha,ehb->hab", wq, wk) / D**0.5


# %% qk_circuit wrong (misconception heads-summed): multiplies the whole weights, which sums over the heads, and repeats that sum for each head
def qk_circuit(model):
    wq, wk = model.q_proj.weight, model.k_proj.weight
    product = wq.T @ wk / model.n_embd**0.5
    return product.expand(model.n_head, -1, -1)


# %% qk_circuit wrong (difference factor): the size of the token is taken to be 6 for the scale, so any model with another D gets a wrong factor
def qk_circuit(model):
    heads = []
    for wq, wk in zip(model.q_proj.weight.chunk(model.n_head), model.k_proj.weight.chunk(model.n_head)):
        heads.append(wq.T @ wk / 6**0.5)
    return torch.stack(heads)


# %% qk_circuit wrong (property leaves_its_inputs): divides the model's own weight in place, so the model computes something else afterwards and a second call gives another result
def qk_circuit(model):
    D = model.n_embd
    wq = model.q_proj.weight.data.view(-1, D, D)
    wk = model.k_proj.weight.data.view(-1, D, D)
    wq /= D**0.5
    return wq.mT @ wk


# %% qk_circuit wrong (difference milestone): the product is made symmetric, which changes the scores of two different tokens
def qk_circuit(model):
    D = model.n_embd
    wq = model.q_proj.weight.view(-1, D, D)
    wk = model.k_proj.weight.view(-1, D, D)
    product = wq.mT @ wk / D**0.5
    return (product + product.mT) / 2


# %% qk_circuit right (passed): a loop over slices of rows
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    circuits = []
    for start in range(0, model.q_proj.out_features, D):
        rows = slice(start, start + D)
        circuits.append(model.q_proj.weight[rows].T @ model.k_proj.weight[rows] / D**0.5)
    return torch.stack(circuits)


# %% qk_circuit right (passed): one einsum on reshaped weights
def qk_circuit(model):
    wq, wk = (p.weight.unflatten(0, (-1, p.in_features)) for p in (model.q_proj, model.k_proj))
    return torch.einsum("hei,hej->hij", wq, wk).div(model.q_proj.in_features**0.5)


# %% qk_circuit right (passed): sends the unit vectors through the two projections and reads off their scores
@torch.no_grad()
def qk_circuit(model):
    weight = model.q_proj.weight
    D = weight.shape[1]
    units = torch.eye(D, dtype=weight.dtype, device=weight.device)
    q = model.q_proj(units).view(D, -1, D).transpose(0, 1)
    k = model.k_proj(units).view(D, -1, D).transpose(0, 1)
    return torch.bmm(q, k.transpose(1, 2)) * D**-0.5


# %% qk_circuit right (passed): vmap over the heads with the scale shared out to both factors
def qk_circuit(model):
    D = model.q_proj.weight.size(1)
    root = D**0.25
    queries = (model.q_proj.weight.detach() / root).reshape(-1, D, D)
    keys = (model.k_proj.weight.detach() / root).reshape(-1, D, D)
    return torch.vmap(lambda a, b: torch.tensordot(a, b, dims=([0], [0])))(queries, keys)


# %% ov_circuit wrong (misconception reshaped): o_proj's weight is reshaped to [heads, D, n_out] without a transpose, right for n_out = 1 only
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    H, D = model.n_head, model.n_embd
    wv = model.v_proj.weight.view(H, D, D)
    wo = model.o_proj.weight.reshape(H, D, model.n_out)
    return wv.transpose(1, 2) @ wo


# %% ov_circuit wrong (misconception values-not-turned): W_V is not transposed, so the head's axis meets the token's place
def ov_circuit(model):
    H, D = model.n_head, model.n_embd
    wv = model.v_proj.weight.view(H, D, D)
    wo = model.o_proj.weight.T.reshape(H, D, model.n_out)
    return wv @ wo


# %% ov_circuit wrong (misconception heads-cut-across): a head takes every n_head-th column of o_proj, but head 0 owns the first D columns
def ov_circuit(model):
    H, D = model.n_head, model.n_embd
    wv = model.v_proj.weight.view(H, D, D)
    wo = model.o_proj.weight.view(model.n_out, D, H)
    return torch.einsum("hed,oeh->hdo", wv, wo)


# %% ov_circuit wrong (shape): squeezes, so with n_out = 1 the last axis is lost and the result is [heads, D]
def ov_circuit(model):
    D = model.n_embd
    circuits = []
    for h in range(model.n_head):
        wv = model.v_proj.weight[h * D : (h + 1) * D]
        wo = model.o_proj.weight[:, h * D : (h + 1) * D]
        circuits.append((wv.T @ wo.T).squeeze())
    return torch.stack(circuits)


# %% ov_circuit wrong (misconception scaled): divided by the root of D as QK is, but only scores are scaled
def ov_circuit(model):
    D = model.n_embd
    wv = model.v_proj.weight.unflatten(0, (model.n_head, D))
    wo = model.o_proj.weight.unflatten(1, (model.n_head, D))
    return torch.einsum("hed,ohe->hdo", wv, wo) / D**0.5


# %% ov_circuit wrong (misconception output-side-first): returns the transposed product W_O W_V, [heads, n_out, D]
def ov_circuit(model):
    wvs = model.v_proj.weight.chunk(model.n_head, dim=0)
    wos = model.o_proj.weight.chunk(model.n_head, dim=1)
    return torch.stack([wo @ wv for wv, wo in zip(wvs, wos)])


# %% ov_circuit wrong (misconception keys-for-values): the keys' weight stands where the values' weight belongs, a leftover of the exercise before
def ov_circuit(model):
    wvs = model.k_proj.weight.chunk(model.n_head, dim=0)
    wos = model.o_proj.weight.chunk(model.n_head, dim=1)
    return torch.stack([wv.T @ wo.T for wv, wo in zip(wvs, wos)])


# %% ov_circuit wrong (shape): the number of heads is fixed at two, a model with one, four or eight heads gets a wrong number of matrices or an error
def ov_circuit(model):
    D = model.n_embd
    wv, wo = model.v_proj.weight, model.o_proj.weight
    return torch.stack([wv[:D].T @ wo[:, :D].T, wv[D : 2 * D].T @ wo[:, D : 2 * D].T])


# %% ov_circuit right (passed): chunks of rows and columns in a comprehension
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    D = model.v_proj.in_features
    return torch.stack([
        (wo @ wv).T for wv, wo in zip(model.v_proj.weight.split(D, dim=0), model.o_proj.weight.split(D, dim=1))
    ])


# %% ov_circuit right (passed): an einsum on views of both weights, detached
def ov_circuit(model):
    wv, wo = model.v_proj.weight.detach(), model.o_proj.weight.detach()
    D = wv.shape[1]
    return torch.einsum("hei,ohe->hio", wv.reshape(-1, D, D), wo.reshape(wo.shape[0], -1, D))


# %% ov_circuit right (passed): sends unit vectors through v_proj, silences all heads but one and reads o_proj's answer
@torch.no_grad()
def ov_circuit(model):
    weight = model.v_proj.weight
    width, D = weight.shape
    values = model.v_proj(torch.eye(D, dtype=weight.dtype, device=weight.device))
    owner = torch.arange(width, device=weight.device) // D
    return torch.stack([model.o_proj(values * (owner == h)) for h in range(width // D)])


# %% ov_circuit right (passed): plain Python sums over the entries
def ov_circuit(model):
    wv, wo = model.v_proj.weight.tolist(), model.o_proj.weight.tolist()
    D, n_out = len(wv[0]), len(wo)
    circuits = [
        [[sum(wv[h * D + e][i] * wo[o][h * D + e] for e in range(D)) for o in range(n_out)] for i in range(D)]
        for h in range(len(wv) // D)
    ]
    return torch.tensor(circuits, dtype=model.v_proj.weight.dtype, device=model.v_proj.weight.device)


# %% kernel_estimator wrong (misconception scaled-again): scores are divided by the root of D once more, but w stands for the whole factor
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.transpose(1, 2) / z.shape[-1] ** 0.5
    return sum(m * torch.softmax(a * scores, dim=-1) @ y for a, m in zip(w, mu))


# %% kernel_estimator wrong (misconception wrong-axis): the softmax runs over the questions instead of the examples
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    out = torch.zeros_like(z_q[..., :1])
    for a, m in zip(w, mu):
        out = out + m * torch.softmax(a * scores, dim=1) @ y
    return out


# %% kernel_estimator wrong (misconception averaged-heads): the mean over heads instead of the sum
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.mT
    heads = [m * (torch.softmax(a * scores, dim=-1) @ y) for a, m in zip(w, mu)]
    return torch.stack(heads).mean(dim=0)


# %% kernel_estimator wrong (property leaves_its_inputs): values are right but z loses its y column in place, and the page goes on to use z
def kernel_estimator(z_q, z, w, mu):
    y = z[..., -1:].clone()
    z[..., -1] = 0
    scores = z_q @ z.transpose(1, 2)
    return sum(m * torch.softmax(a * scores, dim=-1) @ y for a, m in zip(w, mu))


# %% kernel_estimator wrong (raised): only the first two heads are summed, any others in w and mu are ignored and one alone raises
def kernel_estimator(z_q, z, w, mu):
    scores = z_q[..., :-1] @ z[..., :-1].transpose(1, 2)
    y = z[..., -1:]
    first = mu[0] * torch.softmax(w[0] * scores, dim=-1) @ y
    second = mu[1] * torch.softmax(w[1] * scores, dim=-1) @ y
    return first + second


# %% kernel_estimator wrong (shape): only the first question of each prompt is answered, the others are dropped
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[:, 0, :-1], z[..., :-1], z[..., -1]
    scores = torch.einsum("nd,nld->nl", x_q, x)
    out = 0
    for a, m in zip(w, mu):
        out = out + m * (torch.softmax(a * scores, dim=-1) * y).sum(dim=-1)
    return out[:, None, None]


# %% kernel_estimator wrong (misconception last-entry-left-out): off by one, the last entry of x is left out of the scores
def kernel_estimator(z_q, z, w, mu):
    d = z.shape[-1] - 1
    x_q, x, y = z_q[..., : d - 1], z[..., : d - 1], z[..., d:]
    scores = x_q @ x.transpose(1, 2)
    return sum(m * torch.softmax(a * scores, dim=-1) @ y for a, m in zip(w, mu))


# %% kernel_estimator wrong (misconception w-after-the-softmax): w multiplies the softmax instead of the scores inside it
def kernel_estimator(z_q, z, w, mu):
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    weights = torch.softmax(x_q @ x.transpose(1, 2), dim=-1)
    return sum(m * (a * weights) @ y for a, m in zip(w, mu))


# %% kernel_estimator right (passed): a sum over heads with matmul
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    x, y = z[:, :, :-1], z[:, :, -1:]
    scores = z_q[:, :, :-1] @ x.mT
    answer = torch.zeros_like(z_q[:, :, :1])
    for w_h, mu_h in zip(w, mu):
        answer = answer + mu_h * ((w_h * scores).softmax(dim=-1) @ y)
    return answer


# %% kernel_estimator right (passed): all heads at once with einsum and a head axis
def kernel_estimator(z_q, z, w, mu):
    w, mu = z.new_tensor(w), z.new_tensor(mu)
    logits = torch.einsum("h,nqd,nld->hnql", w, z_q[..., :-1], z[..., :-1])
    return torch.einsum("h,hnql,nl->nq", mu, logits.softmax(-1), z[..., -1])[..., None]


# %% kernel_estimator right (passed): scaled_dot_product_attention with the scale set to 1 and w folded into the question
def kernel_estimator(z_q, z, w, mu):
    import torch.nn.functional as F

    x, y = z[..., :-1].contiguous(), z[..., -1:].contiguous()
    heads = [m * F.scaled_dot_product_attention(a * z_q[..., :-1], x, y, scale=1.0) for a, m in zip(w, mu)]
    return torch.stack(heads, dim=0).sum(dim=0)


# %% kernel_estimator right (passed): the softmax-weighted mean as the slope of logsumexp along y, by forward differentiation
def kernel_estimator(z_q, z, w, mu):
    x, y = z[..., :-1], z[..., -1]
    scores = (z_q[..., :-1].unsqueeze(2) * x.unsqueeze(1)).sum(dim=-1)
    direction = y.unsqueeze(1).expand_as(scores).contiguous()
    total = 0
    for a, m in zip(w, mu):
        _, mean = torch.func.jvp(lambda s: torch.logsumexp(s, dim=-1, keepdim=True), (a * scores,), (direction,))
        total = total + m * mean
    return total


# %% gradient_step_estimator wrong (misconception not-divided): the sum over examples without the division by L, but the loss is a mean
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    x, y = z[..., :-1], z[..., -1:]
    beta = x.transpose(1, 2) @ y
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception factor-two): the half of the loss is forgotten, so the step is twice as long
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1], z[..., -1:]
    beta = torch.zeros(z.shape[0], x.shape[-1], 1, dtype=z.dtype, device=z.device)
    gradient = 2 * x.mT @ (x @ beta - y) / z.shape[1]
    beta = beta - gradient
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception averaged-over-prompts): the loss is averaged over all prompts of the batch too, so each prompt's step is n times too short
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1], z[..., -1:]
    with torch.enable_grad():
        beta = torch.zeros(z.shape[0], x.shape[-1], 1, dtype=z.dtype, device=z.device, requires_grad=True)
        loss = 0.5 * (x @ beta - y).square().mean()
        (gradient,) = torch.autograd.grad(loss, beta)
    return z_q[..., :-1] @ (beta - gradient).detach()


# %% gradient_step_estimator wrong (difference milestone): a pair of kernel heads with small w, which measures x from its mean, and the asked-for step does not
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1], z[..., -1:]
    s = z_q[..., :-1] @ x.transpose(1, 2)
    w = 0.01
    mu = 1 / (2 * w)
    return mu * (torch.softmax(w * s, dim=-1) - torch.softmax(-w * s, dim=-1)) @ y


# %% gradient_step_estimator wrong (misconception divided-by-40): divides by 40, the lesson's number of examples, whatever L the prompts have
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1], z[..., -1]
    beta = torch.einsum("nl,nld->nd", y, x) / 40
    return torch.einsum("nqd,nd->nq", z_q[..., :-1], beta).unsqueeze(-1)


# %% gradient_step_estimator wrong (misconception uphill): steps along the gradient instead of against it, so the sign is turned
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1], z[..., -1:]
    beta = torch.zeros_like(x[:, :1])
    residual = (x * beta).sum(-1, keepdim=True) - y
    gradient = (residual * x).mean(dim=1, keepdim=True)
    beta = beta + gradient
    return (z_q[..., :-1] * beta).sum(-1, keepdim=True)


# %% gradient_step_estimator wrong (misconception two-steps): two steps are taken, the loop runs once too often
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1], z[..., -1:]
    beta = torch.zeros_like(x[:, :1]).mT
    for step in range(2):
        gradient = x.mT @ (x @ beta - y) / x.shape[1]
        beta = beta - gradient
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator wrong (misconception flat): the last axis is summed away, the result is [n, queries] and not [n, queries, 1]
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1], z[..., -1:]
    beta = (x * y).mean(dim=1, keepdim=True)
    return (z_q[..., :-1] * beta).sum(dim=-1)


# %% gradient_step_estimator right (passed): the closed form, the mean of y x dotted with the question
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    beta = (z[..., :-1] * z[..., -1:]).mean(dim=1).unsqueeze(-1)
    return z_q[..., :-1] @ beta


# %% gradient_step_estimator right (passed): autograd with torch.optim.SGD, the losses of all prompts summed
def gradient_step_estimator(z_q, z):
    x, y = z[..., :-1].detach(), z[..., -1].detach()
    with torch.enable_grad():
        beta = torch.zeros_like(x[:, 0]).requires_grad_()
        optimizer = torch.optim.SGD([beta], lr=1.0)
        error = torch.einsum("nld,nd->nl", x, beta) - y
        (error.square().mean(dim=1) / 2).sum().backward()
        optimizer.step()
    return torch.einsum("nqd,nd->nq", z_q[..., :-1], beta.detach()).unsqueeze(-1)


# %% gradient_step_estimator right (passed): linear attention, the question's scores times y, without a beta
def gradient_step_estimator(z_q, z):
    scores = torch.einsum("nqd,nld->nql", z_q[:, :, :-1], z[:, :, :-1])
    return torch.bmm(scores / z.size(1), z[:, :, -1:])


# %% gradient_step_estimator right (passed): loops over prompts, examples and questions
def gradient_step_estimator(z_q, z):
    n, L, D = z.shape
    answers = []
    for i in range(n):
        beta = torch.zeros(D - 1, dtype=z.dtype, device=z.device)
        gradient = torch.zeros_like(beta)
        for token in z[i]:
            x, y = token[:-1], token[-1]
            gradient = gradient + (torch.dot(beta, x) - y) * x / L
        beta = beta - gradient
        answers.append(torch.stack([torch.dot(beta, token[:-1]).reshape(1) for token in z_q[i]]))
    return torch.stack(answers)
