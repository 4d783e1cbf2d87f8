# %% sample_regression wrong (misconception noise-times-d): the noise is scaled by d instead of the root of d, so its standard deviation is off for every d > 1
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x_q = torch.randn(n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    noise = noise_std * d * torch.randn(n, L, 1, generator=generator)
    y = x @ beta + noise
    y_q = x_q @ beta
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    z = torch.cat([x, y], dim=-1)
    return z_q, z, y_q

# %% sample_regression wrong (misconception noisy-answer): the answer y_q gets noise as well, and the page says that it carries none
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.randn(n, d, 1, generator=generator)
    x_all = torch.randn(n, L + 1, d, generator=generator)
    y_all = x_all @ beta + noise_std * d**0.5 * torch.randn(n, L + 1, 1, generator=generator)
    z_all = torch.cat((x_all, y_all), dim=2)
    z, z_q = z_all[:, :L], z_all[:, L:].clone()
    y_q = y_all[:, L:]
    z_q[..., -1] = 0
    return z_q, z, y_q

# %% sample_regression wrong (misconception one-beta-for-all): one beta is drawn for all n prompts, where each prompt has a slope of its own
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    beta = torch.randn(d, generator=generator)
    x_q = torch.randn(n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, generator=generator)
    y_q = (x_q @ beta).unsqueeze(-1)
    z = torch.cat([x, y.unsqueeze(-1)], dim=-1)
    z_q = torch.cat([x_q, torch.zeros_like(y_q)], dim=-1)
    return z_q, z, y_q

# %% sample_regression wrong (property errors_from_the_generator): the noise comes from randn_like without the generator, so the same seed gives other prompts
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x_q = torch.randn(n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    beta = torch.randn(n, 1, d, generator=generator)
    y = (x * beta).sum(-1, keepdim=True)
    y = y + torch.randn_like(y) * noise_std * d**0.5
    y_q = (x_q * beta).sum(-1, keepdim=True)
    z_q = torch.cat([x_q, torch.zeros_like(y_q)], -1)
    z = torch.cat([x, y], -1)
    return z_q, z, y_q

# %% sample_regression wrong (misconception answer-given-away): the question token ends in its own answer instead of 0
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x_q = torch.randn(n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    y_q = x_q @ beta
    z_q = torch.cat([x_q, y_q], dim=-1)
    z = torch.cat([x, y], dim=-1)
    return z_q, z, y_q

# %% sample_regression wrong (misconception one-error-for-a-prompt): one noise number a prompt, broadcast over its examples; each example's y should carry its own
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    sigma = noise_std * d**0.5
    x_q = torch.randn(n, 1, d, generator=generator)
    x = torch.randn(n, L, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    eps = sigma * torch.randn(n, 1, 1, generator=generator)
    z = torch.cat([x, x @ beta + eps], dim=-1)
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    return z_q, z, x_q @ beta

# %% sample_regression wrong (misconception x_q-from-the-examples): the question's x is the first example's x and not a draw of its own, so the answer stands in the prompt
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    x = torch.randn(n, L, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta
    x_q, y_q = x[:, :1], y[:, :1]
    y = y + noise_std * d**0.5 * torch.randn(n, L, 1, generator=generator)
    z_q = torch.cat([x_q, torch.zeros_like(y_q)], dim=-1)
    return z_q, torch.cat([x, y], dim=-1), y_q

# %% sample_regression wrong (property draws_from_its_generator): seeds torch with the generator's seed and draws globally; the generator never moves on, so a second call repeats the first
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    if generator is not None:
        torch.manual_seed(generator.initial_seed())
    x_q = torch.randn(n, 1, d)
    x = torch.randn(n, L, d)
    beta = torch.randn(n, d, 1)
    y = x @ beta + noise_std * d**0.5 * torch.randn(n, L, 1)
    y_q = x_q @ beta
    z_q = torch.cat([x_q, torch.zeros(n, 1, 1)], dim=-1)
    z = torch.cat([x, y], dim=-1)
    return z_q, z, y_q

# %% sample_regression right (passed): helper for the draws, matmul, pad for the question's 0
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    beta, x, x_q, eps = normal(n, d, 1), normal(n, L, d), normal(n, 1, d), normal(n, L, 1)
    y = x @ beta + noise_std * d**0.5 * eps
    return nn.functional.pad(x_q, (0, 1)), torch.cat((x, y), dim=-1), x_q @ beta

# %% sample_regression right (passed): prompt by prompt in a loop, stacked at the end
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    questions, examples, answers = [], [], []
    for _ in range(n):
        slope = torch.randn(d, generator=generator)
        question = torch.randn(d, generator=generator)
        xs = torch.randn(L, d, generator=generator)
        noise = torch.randn(L, generator=generator) * (noise_std * d**0.5)
        ys = xs.mv(slope) + noise
        questions.append(torch.cat([question, torch.zeros(1)])[None])
        examples.append(torch.column_stack([xs, ys]))
        answers.append(question.dot(slope).reshape(1, 1))
    return torch.stack(questions), torch.stack(examples), torch.stack(answers)

# %% sample_regression right (passed): a single draw for everything, cut into pieces, then einsum
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    flat = torch.randn(n, d * (L + 2) + L, generator=generator)
    beta, points, eps = flat.split([d, d * (L + 1), L], dim=1)
    points = points.reshape(n, L + 1, d)
    values = torch.einsum("nld,nd->nl", points, beta)
    tokens = torch.cat([points, values[..., None]], dim=-1)
    z, z_q, y_q = tokens[:, :L].clone(), tokens[:, L:].clone(), values[:, L:, None]
    z[..., d] += eps * noise_std * d**0.5
    z_q[..., d] = 0.0
    return z_q, z, y_q

# %% sample_regression right (passed): fills tokens in place with normal_ on the generator's device, noise by torch.normal around the clean y
def sample_regression(
    n: int, L: int, d: int, noise_std: float, generator: torch.Generator | None = None
) -> tuple[Float[Tensor, "n 1 d+1"], Float[Tensor, "n L d+1"], Float[Tensor, "n 1 1"]]:
    """(z_q, z, y_q): questions (x_q, 0), examples (x, y), and the answers beta . x_q."""
    device = "cpu" if generator is None else generator.device
    z = torch.zeros(n, L, d + 1, device=device)
    z_q = torch.zeros(n, 1, d + 1, device=device)
    z[..., :d].normal_(generator=generator)
    z_q[..., :d].normal_(generator=generator)
    beta = torch.empty(n, d, 1, device=device).normal_(generator=generator)
    clean = torch.bmm(z[..., :d], beta)
    z[..., d:] = torch.normal(clean, noise_std * d**0.5, generator=generator)
    y_q = torch.bmm(z_q[..., :d], beta)
    return z_q, z, y_q

# %% QueryAttention wrong (misconception heads-not-moved-back): the heads are not moved back beside the features before the reshape; with several questions their numbers mix (one question hides it)
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, Q, D = z_q.shape
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, Q, self.n_head, D).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, D).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, D).transpose(1, 2)
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.n_embd**0.5, dim=-1)
        out = (weights @ v).reshape(n, Q, self.n_head * D)
        return self.o_proj(out)

# %% QueryAttention wrong (misconception scaled-by-all-heads): scores are divided by the root of the whole projection's width, n_embd * n_head, instead of the root of n_embd
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, Q, D = z_q.shape
        L = z.shape[1]
        q, k, v = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        scale = q.shape[-1] ** 0.5
        q = q.view(n, Q, self.n_head, D).transpose(1, 2)
        k = k.view(n, L, self.n_head, D).transpose(1, 2)
        v = v.view(n, L, self.n_head, D).transpose(1, 2)
        weights = torch.softmax(q @ k.mT / scale, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))

# %% QueryAttention wrong (misconception sees-itself): keys and values come from question and examples together, so the question looks at itself
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, Q, D = z_q.shape
        everything = torch.cat([z, z_q], dim=1)
        T = everything.shape[1]
        q = self.q_proj(z_q).view(n, Q, self.n_head, D).transpose(1, 2)
        k = self.k_proj(everything).view(n, T, self.n_head, D).transpose(1, 2)
        v = self.v_proj(everything).view(n, T, self.n_head, D).transpose(1, 2)
        weights = torch.softmax(q @ k.transpose(-2, -1) / D**0.5, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(n, Q, -1)
        return self.o_proj(out)

# %% QueryAttention wrong (misconception softmax-over-questions): the softmax runs over the questions instead of the examples, so questions compete and weights do not sum to 1
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, Q, D = z_q.shape
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, Q, self.n_head, D).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, D).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, D).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / self.n_embd**0.5
        weights = torch.softmax(scores, dim=2)
        out = (weights @ v).transpose(1, 2).reshape(n, Q, -1)
        return self.o_proj(out)

# %% QueryAttention wrong (misconception keys-made-first): the layers are made in the order k, q, v, o and not q, k, v, o, so a seed gives other weights
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        width = n_embd * n_head
        self.k_proj = nn.Linear(n_embd, width, bias=False)
        self.q_proj = nn.Linear(n_embd, width, bias=False)
        self.v_proj = nn.Linear(n_embd, width, bias=False)
        self.o_proj = nn.Linear(width, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, Q, D = z_q.shape
        L = z.shape[1]
        k = self.k_proj(z).view(n, L, self.n_head, D).transpose(1, 2)
        q = self.q_proj(z_q).view(n, Q, self.n_head, D).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, D).transpose(1, 2)
        weights = torch.softmax(q @ k.transpose(-2, -1) / D**0.5, dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(n, Q, -1))

# %% QueryAttention wrong (structure): o_proj keeps its default bias, and the page asks for layers without biases
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        def heads(t):
            return t.unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)

        q, k, v = heads(self.q_proj(z_q)), heads(self.k_proj(z)), heads(self.v_proj(z))
        weights = (q @ k.mT / self.n_embd**0.5).softmax(-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))

# %% QueryAttention wrong (property keeps_its_sizes): n_out is used but not kept as an attribute
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, Q, D = z_q.shape
        L = z.shape[1]
        q = self.q_proj(z_q).view(n, Q, self.n_head, D).transpose(1, 2)
        k = self.k_proj(z).view(n, L, self.n_head, D).transpose(1, 2)
        v = self.v_proj(z).view(n, L, self.n_head, D).transpose(1, 2)
        scores = q @ k.transpose(2, 3) / self.n_embd**0.5
        context = torch.softmax(scores, dim=-1) @ v
        return self.o_proj(context.transpose(1, 2).reshape(n, Q, -1))

# %% QueryAttention wrong (property lets_gradients_through): the attention weights are computed under no_grad, so q_proj and k_proj never get a gradient and cannot be trained
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, Q, D = z_q.shape
        L = z.shape[1]
        with torch.no_grad():
            q = self.q_proj(z_q).view(n, Q, self.n_head, D).transpose(1, 2)
            k = self.k_proj(z).view(n, L, self.n_head, D).transpose(1, 2)
            weights = torch.softmax(q @ k.transpose(-2, -1) / D**0.5, dim=-1)
        v = self.v_proj(z).view(n, L, self.n_head, D).transpose(1, 2)
        out = (weights @ v).transpose(1, 2).reshape(n, Q, -1)
        return self.o_proj(out)

# %% QueryAttention right (passed): torch's scaled_dot_product_attention, heads split by unflatten
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        wide = n_embd * n_head
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(n_embd, wide, bias=False) for _ in range(3))
        self.o_proj = nn.Linear(wide, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        q, k, v = (
            layer(tokens).unflatten(-1, (self.n_head, self.n_embd)).transpose(1, 2)
            for layer, tokens in ((self.q_proj, z_q), (self.k_proj, z), (self.v_proj, z))
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.o_proj(mixed.transpose(1, 2).flatten(2))

# %% QueryAttention right (passed): einsum throughout, heads never transposed
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        n, L, D = z.shape
        q = self.q_proj(z_q).reshape(n, -1, self.n_head, D)
        k = self.k_proj(z).reshape(n, L, self.n_head, D)
        v = self.v_proj(z).reshape(n, L, self.n_head, D)
        scores = torch.einsum("nqhd,nlhd->nqhl", q, k) / D**0.5
        out = torch.einsum("nqhl,nlhd->nqhd", scores.softmax(dim=-1), v)
        return self.o_proj(out.reshape(n, -1, self.n_head * D))

# %% QueryAttention right (passed): explicit loops over heads and questions, softmax written out with logsumexp
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        D = self.n_embd
        queries, keys, values = self.q_proj(z_q), self.k_proj(z), self.v_proj(z)
        rows = []
        for i in range(z_q.shape[1]):
            parts = []
            for h in range(self.n_head):
                own = slice(h * D, (h + 1) * D)
                scores = (keys[..., own] * queries[:, i : i + 1, own]).sum(dim=-1) / D**0.5
                log_weights = scores - scores.logsumexp(dim=-1, keepdim=True)
                parts.append((log_weights.exp().unsqueeze(-1) * values[..., own]).sum(dim=1))
            rows.append(self.o_proj(torch.cat(parts, dim=-1)))
        return torch.stack(rows, dim=1)

# %% QueryAttention right (passed): the circuits' algebra, weights multiplied first, then z_q QK z^T and (weights z) OV summed over heads
class QueryAttention(nn.Module):
    def __init__(self, n_embd: int, n_head: int, n_out: int = 1):
        super().__init__()
        self.n_embd = n_embd
        self.n_head = n_head
        self.n_out = n_out
        self.q_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.k_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.v_proj = nn.Linear(n_embd, n_embd * n_head, bias=False)
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def forward(self, z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]) -> Float[Tensor, "n queries n_out"]:
        shape = (self.n_head, self.n_embd, self.n_embd)
        wq, wk, wv = (layer.weight.view(shape) for layer in (self.q_proj, self.k_proj, self.v_proj))
        wo = self.o_proj.weight.view(self.n_out, self.n_head, self.n_embd)
        qk = wq.mT @ wk / self.n_embd**0.5
        ov = torch.einsum("hei,ohe->hio", wv, wo)
        weights = torch.softmax(z_q.unsqueeze(1) @ qk @ z.mT.unsqueeze(1), dim=-1)
        return (weights @ z.unsqueeze(1) @ ov).sum(dim=1)

# %% qk_circuit wrong (misconception wrong-side): W_Q W_K^T, the transpose on the wrong matrix: sums over the inputs instead of the head's features
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    wq = model.q_proj.weight.view(-1, D, D)
    wk = model.k_proj.weight.view(-1, D, D)
    return wq @ wk.transpose(1, 2) / D**0.5

# %% qk_circuit wrong (misconception question-and-example-swapped): W_K^T W_Q, the transpose of what is asked: the question would stand on the right
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    wq = model.q_proj.weight.view(-1, D, D)
    wk = model.k_proj.weight.view(-1, D, D)
    return wk.transpose(1, 2) @ wq / D**0.5

# %% qk_circuit wrong (misconception heads-cut-across): a head takes every n_head-th row of the weights instead of a block of D rows
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    n_head = model.q_proj.out_features // D
    wq = model.q_proj.weight.view(D, n_head, D)
    wk = model.k_proj.weight.view(D, n_head, D)
    return torch.einsum("ehi,ehj->hij", wq, wk) / D**0.5

# %% qk_circuit wrong (misconception scaled-by-all-heads): divides by the root of the projection's width (n_head * D) instead of the root of D
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    width, D = model.q_proj.weight.shape
    wq = model.q_proj.weight.reshape(width // D, D, D)
    wk = model.k_proj.weight.reshape(width // D, D, D)
    return wq.mT @ wk / width**0.5

# %% qk_circuit wrong (property leaves_its_inputs): scales the model's own query weights in place; the result is right once, the model is changed
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    wq = model.q_proj.weight.data.view(-1, D, D)
    wk = model.k_proj.weight.data.view(-1, D, D)
    wq /= D**0.5
    return wq.transpose(1, 2) @ wk

# %% qk_circuit wrong (shape): cuts the weights into two heads whatever the model has
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    q_heads = model.q_proj.weight.chunk(2, dim=0)
    k_heads = model.k_proj.weight.chunk(2, dim=0)
    return torch.stack([q.T @ k / D**0.5 for q, k in zip(q_heads, k_heads)])

# %% qk_circuit wrong (misconception last-row-emptied): sets the last row to 0 because it means nothing for questions; that is not W_Q^T W_K any more
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    wq = model.q_proj.weight.view(-1, D, D)
    wk = model.k_proj.weight.view(-1, D, D)
    qk = wq.transpose(-2, -1) @ wk / D**0.5
    keep = torch.ones(D, 1)
    keep[-1] = 0
    return qk * keep

# %% qk_circuit wrong (misconception not-scaled): forgets to divide by the root of D
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    wq = model.q_proj.weight.view(-1, D, D)
    wk = model.k_proj.weight.view(-1, D, D)
    return torch.bmm(wq.transpose(1, 2), wk)

# %% qk_circuit right (passed): einsum on weights seen as [head, out, in]
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    D = model.q_proj.in_features
    wq, wk = (layer.weight.unflatten(0, (-1, D)) for layer in (model.q_proj, model.k_proj))
    return torch.einsum("hei,hej->hij", wq, wk) * D**-0.5

# %% qk_circuit right (passed): a loop over heads with slices, from the model's own attributes
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    D = model.n_embd
    circuits = torch.empty(model.n_head, D, D, dtype=model.q_proj.weight.dtype, device=model.q_proj.weight.device)
    with torch.no_grad():
        for h in range(model.n_head):
            rows = slice(h * D, (h + 1) * D)
            circuits[h] = model.q_proj.weight[rows].T @ model.k_proj.weight[rows] / D**0.5
    return circuits

# %% qk_circuit right (passed): probes the layers with unit vectors and takes the scores of every pair
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    like = model.q_proj.weight
    D = like.shape[1]
    units = torch.eye(D, dtype=like.dtype, device=like.device)
    q = model.q_proj(units).split(D, dim=-1)
    k = model.k_proj(units).split(D, dim=-1)
    return torch.stack([a @ b.T for a, b in zip(q, k)]) / D**0.5

# %% qk_circuit right (passed): a score's second derivative at z_q = z = 0, by torch.func
def qk_circuit(model: nn.Module) -> Float[Tensor, "heads D D"]:
    """Each head's W_Q^T W_K, divided by the root of D."""
    wq, wk = model.q_proj.weight.detach(), model.k_proj.weight.detach()
    D = wq.shape[1]
    zero = torch.zeros(D, dtype=wq.dtype, device=wq.device)

    def scores(a, b):
        return ((wq @ a) * (wk @ b)).view(-1, D).sum(dim=1) / D**0.5

    return torch.func.jacrev(torch.func.jacrev(scores, argnums=0), argnums=1)(zero, zero)

# %% ov_circuit wrong (misconception reshaped): reshapes o_proj's weight to [heads, D, n_out] without a transpose; the same numbers for one output, scrambled for more
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    D = model.v_proj.in_features
    n_out = model.o_proj.out_features
    wv = model.v_proj.weight.view(-1, D, D)
    wo = model.o_proj.weight.view(-1, D, n_out)
    return wv.transpose(1, 2) @ wo

# %% ov_circuit wrong (misconception heads-cut-across): gives head h every n_head-th column of o_proj, where head 0 owns the first D columns
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    D = model.v_proj.in_features
    wv = model.v_proj.weight.view(-1, D, D)
    n_head = wv.shape[0]
    wo = model.o_proj.weight.T.reshape(D, n_head, -1).transpose(0, 1)
    return wv.transpose(1, 2) @ wo

# %% ov_circuit wrong (misconception values-not-turned): W_V is not transposed, so a token is multiplied from the wrong side
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    D = model.v_proj.in_features
    wv = model.v_proj.weight.view(-1, D, D)
    wo = model.o_proj.weight.T.reshape(-1, D, model.o_proj.out_features)
    return wv @ wo

# %% ov_circuit wrong (shape): squeezes the result, so that for one output the axis n_out is gone
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    D = model.v_proj.in_features
    heads = []
    for h in range(model.v_proj.out_features // D):
        wv = model.v_proj.weight[h * D : (h + 1) * D]
        wo = model.o_proj.weight[:, h * D : (h + 1) * D]
        heads.append(wv.T @ wo.T)
    return torch.stack(heads).squeeze(-1)

# %% ov_circuit wrong (shape): uses o_proj's first row only, so a model with several outputs gets one
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    D = model.v_proj.in_features
    wv = model.v_proj.weight.view(-1, D, D)
    wo = model.o_proj.weight[0].view(-1, D)
    return torch.einsum("hei,he->hi", wv, wo).unsqueeze(-1)

# %% ov_circuit wrong (misconception output-side-first): W_O W_V, of shape [heads, n_out, D], which is the transpose of what is asked
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    D = model.v_proj.in_features
    n_head = model.v_proj.out_features // D
    wv = model.v_proj.weight.view(n_head, D, D)
    wo = model.o_proj.weight.view(-1, n_head, D).transpose(0, 1)
    return wo @ wv

# %% ov_circuit wrong (misconception scaled): divides by the root of D as in QK; nothing on the way out is divided
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    D = model.v_proj.in_features
    wv = model.v_proj.weight.view(-1, D, D)
    wo = model.o_proj.weight.T.reshape(wv.shape[0], D, -1)
    return wv.mT @ wo / D**0.5

# %% ov_circuit wrong (misconception heads-summed): multiplies the whole weights, which sums over the heads, and repeats the sum for each head
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    D = model.v_proj.in_features
    n_head = model.v_proj.out_features // D
    ov = model.v_proj.weight.T @ model.o_proj.weight.T
    return ov.unsqueeze(0).repeat(n_head, 1, 1)

# %% ov_circuit right (passed): views and a batched matrix product
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    D = model.v_proj.in_features
    wv = model.v_proj.weight.view(-1, D, D)
    wo = model.o_proj.weight.view(model.o_proj.out_features, -1, D)
    return wv.transpose(1, 2) @ wo.permute(1, 2, 0)

# %% ov_circuit right (passed): chunks by head and list comprehension, without gradients
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    n_head = model.v_proj.out_features // model.v_proj.in_features
    with torch.no_grad():
        pairs = zip(model.v_proj.weight.chunk(n_head, dim=0), model.o_proj.weight.chunk(n_head, dim=1))
        return torch.stack([(o @ v).T for v, o in pairs])

# %% ov_circuit right (passed): unit vectors through v_proj, all but one head silenced, then through o_proj
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    like = model.v_proj.weight
    width, D = like.shape
    values = model.v_proj(torch.eye(D, dtype=like.dtype, device=like.device))
    owner = torch.arange(width, device=like.device) // D
    return torch.stack([model.o_proj(values * (owner == h)) for h in range(width // D)])

# %% ov_circuit right (passed): plain Python sums over nested lists, slow but honest
def ov_circuit(model: nn.Module) -> Float[Tensor, "heads D n_out"]:
    """Each head's W_V^T W_O^T: from a token to the outputs."""
    wv, wo = model.v_proj.weight.tolist(), model.o_proj.weight.tolist()
    size, outs = len(wv[0]), len(wo)
    result = [
        [
            [sum(wv[h * size + e][i] * wo[o][h * size + e] for e in range(size)) for o in range(outs)]
            for i in range(size)
        ]
        for h in range(len(wv) // size)
    ]
    return torch.tensor(result, dtype=model.v_proj.weight.dtype, device=model.v_proj.weight.device)

# %% kernel_estimator wrong (misconception scaled-again): divides the scores by the root of D once more; w already contains it
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.transpose(1, 2) / z.shape[-1] ** 0.5
    return sum(m * torch.softmax(a * scores, dim=-1) @ y for a, m in zip(w, mu))

# %% kernel_estimator wrong (misconception wrong-axis): softmax over the questions (dim 1) instead of the examples
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.transpose(1, 2)
    out = 0
    for a, m in zip(w, mu):
        weights = torch.softmax(a * scores, dim=1)
        out = out + m * weights @ y
    return out

# %% kernel_estimator wrong (raised): takes the first five numbers as x and the sixth as y, whatever D is
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :5], z[..., :5], z[..., 5:6]
    scores = x_q @ x.transpose(1, 2)
    out = torch.zeros(z_q.shape[0], z_q.shape[1], 1)
    for a, m in zip(w, mu):
        out += m * torch.softmax(a * scores, dim=-1) @ y
    return out

# %% kernel_estimator wrong (property leaves_its_inputs): blanks the examples' y in the caller's own tensor, so that later cells find y = 0
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    y = z[..., -1:].clone()
    z[..., -1] = 0
    scores = z_q @ z.transpose(1, 2)
    out = torch.zeros_like(z_q[..., :1])
    for a, m in zip(w, mu):
        out = out + m * torch.softmax(a * scores, dim=-1) @ y
    return out

# %% kernel_estimator wrong (misconception mean-of-examples): takes the mean over the examples after weighting, so all answers are L times too small
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1]
    scores = torch.einsum("nqd,nld->nql", x_q, x)
    out = torch.zeros(z_q.shape[:2])
    for a, m in zip(w, mu):
        weights = torch.softmax(a * scores, dim=-1)
        out = out + m * (weights * y.unsqueeze(1)).mean(dim=-1)
    return out.unsqueeze(-1)

# %% kernel_estimator wrong (raised): written for two heads exactly; a third is ignored and a single one raises
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    s = x_q @ x.transpose(1, 2)
    first = mu[0] * torch.softmax(w[0] * s, dim=-1) @ y
    second = mu[1] * torch.softmax(w[1] * s, dim=-1) @ y
    return first + second

# %% kernel_estimator wrong (misconception flat): returns [n, queries] without the last axis that y_q has
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1]
    scores = x_q @ x.transpose(1, 2)
    return sum(m * torch.einsum("nql,nl->nq", torch.softmax(a * scores, dim=-1), y) for a, m in zip(w, mu))

# %% kernel_estimator wrong (misconception one-softmax): adds the heads' w inside one softmax and multiplies by the sum of mu, instead of a softmax a head
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    scores = x_q @ x.transpose(1, 2)
    weights = torch.softmax(sum(a * scores for a in w), dim=-1)
    return sum(mu) * (weights @ y)

# %% kernel_estimator right (passed): all heads at once with einsum and tensors for w and mu
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    w, mu = (torch.as_tensor(t, dtype=z.dtype, device=z.device) for t in (w, mu))
    x, y = z[..., :-1], z[..., -1]
    scores = torch.einsum("h,nqd,nld->hnql", w, z_q[..., :-1], x)
    return torch.einsum("h,hnql,nl->nq", mu, scores.softmax(-1), y)[..., None]

# %% kernel_estimator right (passed): scaled_dot_product_attention a head, the question's closing 0 hides y from the scores
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    answer = torch.zeros_like(z_q[..., -1:])
    for a, m in zip(w, mu):
        answer = answer + m * nn.functional.scaled_dot_product_attention(a * z_q, z, z[..., -1:], scale=1.0)
    return answer

# %% kernel_estimator right (passed): loops over prompts, questions and heads, softmax by hand with the largest score taken off
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    result = z.new_zeros(z_q.shape[0], z_q.shape[1], 1)
    for i, (questions, examples) in enumerate(zip(z_q, z)):
        x, y = examples[:, :-1], examples[:, -1]
        for j, question in enumerate(questions):
            similarity = x.mv(question[:-1])
            for w_h, mu_h in zip(w, mu):
                e = (w_h * similarity - (w_h * similarity).max()).exp()
                result[i, j, 0] += mu_h * (e * y).sum() / e.sum()
    return result

# %% kernel_estimator right (passed): builds the page's own QueryAttention with one number on the diagonal and one at y
def kernel_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"], w: list[float], mu: list[float]
) -> Float[Tensor, "n queries 1"]:
    """The sum over heads of mu times the softmax-weighted mean of y."""
    D, n_head = z.shape[-1], len(w)
    layer = QueryAttention(D, n_head).to(z)
    eye = torch.eye(D, dtype=z.dtype, device=z.device)
    on_x = eye.clone()
    on_x[-1, -1] = 0
    at_y = torch.zeros_like(eye)
    at_y[0, -1] = 1
    with torch.no_grad():
        layer.q_proj.weight.copy_(torch.cat([a * D**0.5 * on_x for a in w]))
        layer.k_proj.weight.copy_(on_x.repeat(n_head, 1))
        layer.v_proj.weight.copy_(at_y.repeat(n_head, 1))
        layer.o_proj.weight.copy_(torch.cat([m * eye[:1] for m in mu], dim=1))
    return layer.requires_grad_(False)(z_q, z)

# %% gradient_step_estimator wrong (misconception not-divided): sums over the examples instead of taking their mean, L times too large
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = x.transpose(1, 2) @ y
    return x_q @ beta

# %% gradient_step_estimator wrong (misconception factor-two): the gradient of the squared error without the half, so the step is twice as long
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    L = x.shape[1]
    beta = torch.zeros(x.shape[0], x.shape[2], 1)
    grad = 2 / L * x.transpose(1, 2) @ (x @ beta - y)
    beta = beta - grad
    return x_q @ beta

# %% gradient_step_estimator wrong (misconception centred): measures x from its mean, as the pair of heads does; the loss of the page is not centred
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    x = x - x.mean(dim=1, keepdim=True)
    beta = (x * y).mean(dim=1)
    return (x_q * beta.unsqueeze(1)).sum(dim=-1, keepdim=True)

# %% gradient_step_estimator wrong (misconception averaged-over-prompts): the loss is averaged over all prompts as well, so each prompt's gradient is n times too small
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    with torch.enable_grad():
        beta = torch.zeros(x.shape[0], x.shape[2], 1, requires_grad=True)
        loss = 0.5 * (x @ beta - y).square().mean()
        (grad,) = torch.autograd.grad(loss, beta)
    return x_q @ (beta - grad).detach()

# %% gradient_step_estimator wrong (misconception one-beta-for-all-prompts): averages over prompts and examples, one beta for all prompts (right for n = 1 only)
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = (x * y).mean(dim=(0, 1))
    return (x_q @ beta).unsqueeze(-1)

# %% gradient_step_estimator wrong (misconception uphill): steps along the gradient instead of against it, the answer has the opposite sign
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    grad = x.transpose(1, 2) @ (0 - y) / x.shape[1]
    return x_q @ grad

# %% gradient_step_estimator wrong (shape): answers the first question only, the others are dropped
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[:, 0, :-1], z[..., :-1], z[..., -1:]
    beta = (x * y).mean(dim=1)
    return (x_q * beta).sum(dim=-1).view(-1, 1, 1)

# %% gradient_step_estimator wrong (misconception divided-by-40): divides by 40, the number of examples in this lesson, instead of the L that it is given
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    x_q, x, y = z_q[..., :-1], z[..., :-1], z[..., -1:]
    beta = x.transpose(1, 2) @ y / 40
    return x_q @ beta

# %% gradient_step_estimator right (passed): the mean of x times y, and a product with the question
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    beta = (z[..., :-1] * z[..., -1:]).mean(dim=1)
    return z_q[..., :-1] @ beta.unsqueeze(-1)

# %% gradient_step_estimator right (passed): linear attention on whole tokens, the question's 0 makes the y column harmless
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    return z_q @ z.mT @ z[..., -1:] / z.shape[1]

# %% gradient_step_estimator right (passed): the loss as written, torch.func.grad for each prompt by vmap
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    def loss(beta, examples):
        return 0.5 * (examples[:, :-1] @ beta - examples[:, -1]).square().mean()

    def answer(questions, examples):
        beta = torch.zeros_like(examples[0, :-1])
        beta = beta - 1.0 * torch.func.grad(loss)(beta, examples)
        return questions[:, :-1] @ beta

    return torch.func.vmap(answer)(z_q, z).unsqueeze(-1)

# %% gradient_step_estimator right (passed): example by example, the answer gathered without ever writing beta down
def gradient_step_estimator(
    z_q: Float[Tensor, "n queries D"], z: Float[Tensor, "n L D"]
) -> Float[Tensor, "n queries 1"]:
    """The answer after one step of gradient descent from beta = 0."""
    total, L = torch.zeros_like(z_q[..., :1]), z.shape[1]
    for i in range(L):
        example = z[:, i]
        likeness = torch.einsum("nqd,nd->nq", z_q[..., :-1], example[:, :-1])
        total = total + (likeness * example[:, -1:]).unsqueeze(-1)
    return total / L
