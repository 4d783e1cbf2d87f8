# %% make_weight wrong (property finite): a softmax by hand with the largest number of all heads and rows subtracted; a row that lies far below becomes 0 / 0
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    product = A @ B / temp
    powers = torch.exp(product - product.max())
    gate = powers / powers.sum(dim=-1, keepdim=True)
    return gate if base is None else gate * base

# %% make_weight wrong (misconception zeros-count-as-none): takes a base of zeros for no base and returns the gate; the page says a base of zeros is one, too
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is not None and base.any():
        return base * gate
    return gate

# %% make_weight wrong (misconception axis-from-the-front): softmax over axis 1, which is the last one only without an axis of heads; with heads the columns sum to one
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    gate = torch.softmax(torch.matmul(A, B) / temp, dim=1)
    if base is None:
        return gate
    return base * gate

# %% make_weight wrong (misconception temperature-after-the-softmax): divides by the temperature after the softmax, so rows sum to 1 / temp and are no softer
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    gate = torch.softmax(A @ B, dim=-1) / temp
    if base is not None:
        gate = gate * base
    return gate

# %% make_weight wrong (property lets_gradients_through): the gate is detached where it multiplies a base, so no gradient reaches A and B
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is None:
        return gate
    return base * gate.detach()

# %% make_weight wrong (raised): the einsum demands an axis of heads and raises for a single head, where it may be missing
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    gate = torch.einsum("her,hrd->hed", A, B).div(temp).softmax(dim=-1)
    return gate if base is None else base * gate

# %% make_weight wrong (misconception clamped): clamps to plus and minus 50 so that exp does not overflow; two large numbers in a row become equal
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    powers = (A @ B / temp).clamp(-50, 50).exp()
    gate = powers / powers.sum(-1, keepdim=True)
    return gate if base is None else base * gate

# %% make_weight wrong (misconception softmax-after-the-base): the base is multiplied in before the softmax, so the result is always shares and never a gated base
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    product = A @ B / temp
    if base is not None:
        product = product * base
    return torch.softmax(product, dim=-1)

# %% make_weight right (passed): einsum with dots, softmax as exp of x minus logsumexp
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    logits = torch.einsum("...er,...rd->...ed", A, B) / temp
    gate = torch.exp(logits - torch.logsumexp(logits, dim=-1, keepdim=True))
    return gate if base is None else torch.einsum("...ed,...ed->...ed", gate, base)

# %% make_weight right (passed): scaled_dot_product_attention with the unit matrix as values is a softmax of a product
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    d = B.shape[-1]
    unit = torch.eye(d, dtype=B.dtype, device=B.device).expand(*B.shape[:-2], d, d)
    gate = nn.functional.scaled_dot_product_attention(A, B.transpose(-1, -2), unit, scale=1 / temp)
    return gate if base is None else base * gate

# %% make_weight right (passed): outer products summed over the rank, the softmax by hand with each row's own maximum
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    total = 0
    for r in range(A.shape[-1]):
        total = total + A[..., :, r].unsqueeze(-1) * B[..., r, :].unsqueeze(-2)
    total = total / temp
    powers = (total - total.amax(-1, keepdim=True)).exp()
    if base is not None:
        return powers * base / powers.sum(-1, keepdim=True)
    return powers / powers.sum(-1, keepdim=True)

# %% make_weight right (passed): recursion over heads, then one row at a time
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    if A.ndim > 2:
        bases = [None] * len(A) if base is None else base
        return torch.stack([make_weight(a, b, free, temp) for a, b, free in zip(A, B, bases)])
    rows = []
    for i, row in enumerate(A):
        gate = nn.Softmax(dim=0)((B.T @ row) / temp)
        rows.append(gate if base is None else gate * base[i])
    return torch.stack(rows)

# %% DeepQKVAttention wrong (misconception root-of-embed_dim): scores are divided by the root of the whole width and not of one head's
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp = temp
        for name in "qkv":
            setattr(self, name + "A", nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, embed_dim, rank))))
            setattr(self, name + "B", nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, rank, d_head))))
            base = None if strict else nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, embed_dim, d_head)))
            setattr(self, name + "_base", base)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        x4 = x.unsqueeze(1)
        q = x4 @ make_weight(self.qA, self.qB, self.q_base, self.temp)
        k = x4 @ make_weight(self.kA, self.kB, self.k_base, self.temp)
        v = x4 @ make_weight(self.vA, self.vB, self.v_base, self.temp)
        scores = q @ k.transpose(-2, -1) / math.sqrt(embed_dim)
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (property causal): hides the future with -1e9 instead of -inf, so that for large inputs it shows through
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        self.temp = temp
        for name in "qkv":
            setattr(self, name + "A", nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, embed_dim, rank))))
            setattr(self, name + "B", nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, rank, self.d_head))))
            base = None if strict else nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, embed_dim, self.d_head)))
            setattr(self, name + "_base", base)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q, k, v = (
            torch.einsum("bse,hed->bhsd", x, make_weight(A, B, base, self.temp))
            for A, B, base in (
                (self.qA, self.qB, self.q_base), (self.kA, self.kB, self.k_base), (self.vA, self.vB, self.v_base),
            )
        )
        scores = q @ k.mT / self.d_head**0.5
        may = torch.tril(torch.ones(seq, seq, device=x.device))
        scores = scores.masked_fill(may == 0, -1e9)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        if return_weights:
            return out, weights
        return out

# %% DeepQKVAttention wrong (property made_anew): the weights are made once in __init__; forward should make them anew, so training A, B and base changes nothing
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        for name in "qkv":
            A = nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, embed_dim, rank)))
            B = nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, rank, self.d_head)))
            base = None if strict else nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, embed_dim, self.d_head)))
            setattr(self, name + "A", A)
            setattr(self, name + "B", B)
            setattr(self, name + "_base", base)
        self.W_q = make_weight(self.qA, self.qB, self.q_base, temp)
        self.W_k = make_weight(self.kA, self.kB, self.k_base, temp)
        self.W_v = make_weight(self.vA, self.vB, self.v_base, temp)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q, k, v = x[:, None] @ self.W_q, x[:, None] @ self.W_k, x[:, None] @ self.W_v
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.d_head)
        future = torch.triu(torch.ones(seq, seq, dtype=torch.bool, device=x.device), diagonal=1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(-2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (property moves_with_its_module): the mask is always made on the CPU and not on x.device, so the layer fails on a GPU
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.heads, self.d_head, self.temp = num_heads, embed_dim // num_heads, temp
        for name in "qkv":
            setattr(self, name + "A", nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, embed_dim, rank))))
            setattr(self, name + "B", nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, rank, self.d_head))))
            if not strict:
                free = torch.empty(num_heads, embed_dim, self.d_head)
                setattr(self, name + "_base", nn.Parameter(nn.init.xavier_uniform_(free)))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def project(self, x, name):
        base = getattr(self, name + "_base", None)
        return x.unsqueeze(1) @ make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.size(1)
        q, k, v = self.project(x, "q"), self.project(x, "k"), self.project(x, "v")
        mask = torch.full((seq, seq), float("-inf")).triu(diagonal=1)
        weights = torch.softmax(q @ k.mT / math.sqrt(self.d_head) + mask, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (property temperature): temp is stored but never reaches make_weight, so every temperature gives the same gates
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        self.temp = temp
        self.strict = strict
        small = lambda *shape: nn.Parameter(nn.init.xavier_uniform_(torch.empty(*shape)))
        self.qA, self.qB = small(num_heads, embed_dim, rank), small(num_heads, rank, self.d_head)
        self.kA, self.kB = small(num_heads, embed_dim, rank), small(num_heads, rank, self.d_head)
        self.vA, self.vB = small(num_heads, embed_dim, rank), small(num_heads, rank, self.d_head)
        if not strict:
            self.q_base = small(num_heads, embed_dim, self.d_head)
            self.k_base = small(num_heads, embed_dim, self.d_head)
            self.v_base = small(num_heads, embed_dim, self.d_head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        if self.strict:
            W_q, W_k, W_v = make_weight(self.qA, self.qB), make_weight(self.kA, self.kB), make_weight(self.vA, self.vB)
        else:
            W_q = make_weight(self.qA, self.qB, self.q_base)
            W_k = make_weight(self.kA, self.kB, self.k_base)
            W_v = make_weight(self.vA, self.vB, self.v_base)
        q, k, v = (torch.einsum("bse,hed->bhsd", x, W) for W in (W_q, W_k, W_v))
        scores = q @ k.transpose(-1, -2) / self.d_head**0.5
        seq = x.shape[1]
        scores = scores.masked_fill(torch.ones(seq, seq, device=x.device).triu(1).bool(), -math.inf)
        weights = scores.softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (misconception an-unused-base-in-the-strict-variant): the strict variant has bases too, only unused; it should have none (372 numbers in all, not 480)
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        self.temp = temp
        self.strict = strict
        for name in "qkv":
            for part, shape in (
                ("A", (num_heads, embed_dim, rank)),
                ("B", (num_heads, rank, self.d_head)),
                ("_base", (num_heads, embed_dim, self.d_head)),
            ):
                self.register_parameter(name + part, nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape))))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        q, k, v = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).tril()
        weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (misconception heads-run-together): heads are joined by a reshape without moving the axis of heads back, so positions get mixed and the future leaks
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        self.temp = temp
        for name in "qkv":
            setattr(self, name + "A", nn.Parameter(0.1 * torch.randn(num_heads, embed_dim, rank)))
            setattr(self, name + "B", nn.Parameter(0.1 * torch.randn(num_heads, rank, self.d_head)))
            base = None if strict else nn.Parameter(0.1 * torch.randn(num_heads, embed_dim, self.d_head))
            setattr(self, name + "_base", base)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q = x[:, None] @ make_weight(self.qA, self.qB, self.q_base, self.temp)
        k = x[:, None] @ make_weight(self.kA, self.kB, self.k_base, self.temp)
        v = x[:, None] @ make_weight(self.vA, self.vB, self.v_base, self.temp)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)
        future = torch.triu(torch.ones(seq, seq, device=x.device), 1).bool()
        weights = torch.softmax(scores.masked_fill(future, float("-inf")), dim=-1)
        heads = weights @ v
        out = self.o(heads.reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (property finite_when_scaled): softmax first, then future weights zeroed and the rest divided by its sum; for large inputs 0 / 0 gives nan
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        self.temp = temp
        for name in "qkv":
            setattr(self, name + "A", nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, embed_dim, rank))))
            setattr(self, name + "B", nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, rank, self.d_head))))
            base = None if strict else nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, embed_dim, self.d_head)))
            setattr(self, name + "_base", base)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q = torch.einsum("bse,hed->bhsd", x, make_weight(self.qA, self.qB, self.q_base, self.temp))
        k = torch.einsum("bse,hed->bhsd", x, make_weight(self.kA, self.kB, self.k_base, self.temp))
        v = torch.einsum("bse,hed->bhsd", x, make_weight(self.vA, self.vB, self.v_base, self.temp))
        weights = torch.softmax(q @ k.mT / math.sqrt(self.d_head), dim=-1)
        weights = weights * torch.tril(torch.ones(seq, seq, device=x.device))
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention right (passed): straight einsum, positions side by side, the future by comparing places
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        self.temp = temp
        for name in ("q", "k", "v"):
            sizes = {"A": (embed_dim, rank), "B": (rank, self.d_head), "_base": (embed_dim, self.d_head)}
            for part, size in sizes.items():
                values = None
                if not (strict and part == "_base"):
                    values = nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(size)) for _ in range(num_heads)]))
                self.register_parameter(name + part, values)
        self.o = nn.Linear(num_heads * self.d_head, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        made = {n: make_weight(*(getattr(self, n + part) for part in ("A", "B", "_base")), self.temp) for n in "qkv"}
        queries, keys, values = (torch.einsum("bse,hed->bshd", x, made[n]) for n in "qkv")
        scores = torch.einsum("bqhd,bkhd->bhqk", queries, keys) / math.sqrt(self.d_head)
        place = torch.arange(x.shape[1], device=x.device)
        scores = torch.where(place[:, None] >= place, scores, -math.inf)
        weights = scores.softmax(-1)
        out = self.o(torch.einsum("bhqk,bkhd->bqhd", weights, values).flatten(-2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention right (passed): scaled_dot_product_attention does it all; the weights are what it returns for the unit matrix as values
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp = temp

        def small(*shape):
            return nn.Parameter(torch.empty(num_heads, *shape).normal_(std=0.2))

        self.qA, self.kA, self.vA = (small(embed_dim, rank) for _ in range(3))
        self.qB, self.kB, self.vB = (small(rank, d_head) for _ in range(3))
        if not strict:
            self.q_base, self.k_base, self.v_base = (small(embed_dim, d_head) for _ in range(3))
        self.o = nn.Linear(num_heads * d_head, embed_dim, bias=False)

    def made(self, letter):
        base = getattr(self, f"{letter}_base", None)
        return make_weight(getattr(self, f"{letter}A"), getattr(self, f"{letter}B"), base=base, temp=self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        attend = nn.functional.scaled_dot_product_attention
        q, k, v = (x.unsqueeze(1) @ self.made(letter) for letter in "qkv")
        out = self.o(attend(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        if not return_weights:
            return out
        seq = x.shape[1]
        unit = torch.eye(seq, dtype=v.dtype, device=x.device).expand(*v.shape[:2], seq, seq)
        return out, attend(q, k, unit, is_causal=True)

# %% DeepQKVAttention right (passed): no mask at all; loops over heads and positions, each position sees only what it is given, in double precision
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads = num_heads
        self.d_head = embed_dim // num_heads
        self.temp = temp
        self.strict = strict
        self.o = nn.Linear(num_heads * self.d_head, embed_dim, bias=False)
        for name in "vkq":
            setattr(self, name + "A", nn.Parameter((torch.rand(num_heads, embed_dim, rank) - 0.5) / 2))
            setattr(self, name + "B", nn.Parameter((torch.rand(num_heads, rank, self.d_head) - 0.5) / 2))
            if not strict:
                setattr(self, name + "_base", nn.Parameter((torch.rand(num_heads, embed_dim, self.d_head) - 0.5) / 2))

    def one_head(self, x, h):
        made = []
        for name in "qkv":
            A, B = getattr(self, name + "A")[h], getattr(self, name + "B")[h]
            base = None if self.strict else getattr(self, name + "_base")[h]
            made.append(x.double() @ make_weight(A, B, base, self.temp).double())
        queries, keys, values = made
        outs, rows = [], []
        seq = x.shape[1]
        for i in range(seq):
            past_keys, past_values = keys[:, : i + 1], values[:, : i + 1]
            scores = (past_keys * queries[:, i : i + 1]).sum(-1) / self.d_head**0.5
            shares = torch.softmax(scores, dim=-1)
            outs.append((shares.unsqueeze(-1) * past_values).sum(1))
            rows.append(nn.functional.pad(shares, (0, seq - 1 - i)))
        return torch.stack(outs, dim=1), torch.stack(rows, dim=1)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        outs, weights = zip(*[self.one_head(x, h) for h in range(self.num_heads)])
        out = self.o(torch.cat(outs, dim=-1).to(x.dtype))
        if return_weights:
            return out, torch.stack(weights, dim=1).to(x.dtype)
        return out

# %% DeepQKVAttention right (passed): other algebra; each head has one matrix for its scores (queries times keys) and one for its output (values times its part of o)
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.h, self.d, self.temp = num_heads, embed_dim // num_heads, temp
        self.o = nn.Linear(self.h * self.d, embed_dim, bias=False)
        for letter in "qkv":
            self.register_parameter(f"{letter}A", nn.Parameter(torch.empty(self.h, embed_dim, rank)))
            self.register_parameter(f"{letter}B", nn.Parameter(torch.empty(self.h, rank, self.d)))
            base = None if strict else nn.Parameter(torch.empty(self.h, embed_dim, self.d))
            self.register_parameter(f"{letter}_base", base)
        for name, parameter in self.named_parameters(recurse=False):
            nn.init.xavier_uniform_(parameter)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        W_q, W_k, W_v = (
            make_weight(getattr(self, c + "A"), getattr(self, c + "B"), getattr(self, c + "_base"), self.temp) for c in "qkv"
        )
        ask = W_q @ W_k.mT / self.d**0.5
        bring = W_v @ self.o.weight.T.reshape(self.h, self.d, -1)
        scores = torch.einsum("bqe,hef,bkf->bhqk", x, ask, x)
        hidden = torch.full(scores.shape[-2:], -math.inf, dtype=x.dtype, device=x.device).triu(1)
        weights = nn.functional.softmax(scores + hidden, dim=-1)
        out = torch.einsum("bhqk,bke,hef->bqf", weights, x, bring)
        return (out, weights) if return_weights else out

# %% lr_at wrong (misconception starts-at-zero): the warm-up starts from 0 at step 0; it should have 1 / warmup_steps there, and all at warmup_steps - 1
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    t = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * t))

# %% lr_at wrong (misconception warm-up-one-step-long): <= takes step warmup_steps into the warm-up too, where the rate shoots above base_lr
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step <= warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    t = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * t))

# %% lr_at wrong (misconception cut-off-at-a-tenth): the cosine falls to 0 and is cut off at a tenth; both ends are right, everything between is too low
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    t = (step - warmup_steps) / (steps - warmup_steps)
    return max(base_lr / 10, base_lr * (1 + math.cos(math.pi * t)) / 2)

# %% lr_at wrong (misconception wave-from-step-zero): the cosine is counted from step 0 and not from the end of the warm-up, so it does not start at base_lr
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = step / steps
    return base_lr * (0.1 + 0.45 * (1 + math.cos(math.pi * progress)))

# %% lr_at wrong (misconception ends-one-step-early): the cosine ends at step steps - 1, so at step steps it is on its way up again and no longer a tenth
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - 1 - warmup_steps)
    return base_lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress)))

# %% lr_at wrong (structure): returns a tensor where the signature promises a float
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return torch.tensor(base_lr * (step + 1) / warmup_steps)
    progress = torch.tensor((step - warmup_steps) / (steps - warmup_steps))
    return base_lr * (0.1 + 0.9 * (1 + torch.cos(torch.pi * progress)) / 2)

# %% lr_at wrong (property landmarks): the lowest rate is fixed at 1e-4, a tenth of the page's first example, and not a tenth of base_lr
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    min_lr = 1e-4
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    t = (step - warmup_steps) / (steps - warmup_steps)
    return min_lr + 0.5 * (base_lr - min_lr) * (1 + math.cos(math.pi * t))

# %% lr_at wrong (property landmarks): a quarter of a cosine wave (0 to pi / 2) instead of half a wave; the ends are right, the way down is not
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    t = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr / 10 + 0.9 * base_lr * math.cos(t * math.pi / 2)

# %% lr_at right (passed): midpoint plus amplitude times cosine
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step + 1 <= warmup_steps:
        return (step + 1) / warmup_steps * base_lr
    angle = math.pi * (step - warmup_steps) / (steps - warmup_steps)
    middle, amplitude = 0.55 * base_lr, 0.45 * base_lr
    return middle + amplitude * math.cos(angle)

# %% lr_at right (passed): half angles, one minus nine tenths of a squared sine
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    still_to_climb = warmup_steps - (step + 1)
    if still_to_climb >= 0:
        return base_lr - base_lr * still_to_climb / warmup_steps
    gone = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (1 - 0.9 * math.sin(gone * math.pi / 2) ** 2)

# %% lr_at right (passed): no branch; a climb that stays at 1 times a fall that waits, the cosine as a turning complex number
import cmath


def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    climb = min(1.0, (step + 1) / max(1, warmup_steps))
    turn = max(0, step - warmup_steps) / max(1, steps - warmup_steps)
    fall = (11 + 9 * cmath.rect(1, cmath.pi * turn).real) / 20
    return base_lr * climb * fall

# %% lr_at right (passed): the whole plan as a table, made once and kept in a cache
from functools import lru_cache


@lru_cache(maxsize=None)
def plan(steps, warmup_steps):
    up = [(i + 1) / warmup_steps for i in range(warmup_steps)]
    down_steps = steps - warmup_steps
    down = [0.1 + 0.9 * (math.cos(math.pi * i / max(1, down_steps)) + 1) / 2 for i in range(down_steps + 1)]
    return up + down


def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    return plan(steps, warmup_steps)[step] * base_lr

# %% sort_letters wrong (misconception separator-not-forbidden): the dot is not forbidden, so it can stand in the answer
def sort_letters(model: nn.Module, letters: str) -> str:
    """What the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            ids = torch.cat([ids, best], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())

# %% sort_letters wrong (misconception separator-not-low-enough): the dot's logit is set to 0 instead of -inf, which does not forbid it when all logits are negative
def sort_letters(model: nn.Module, letters: str) -> str:
    """What the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[abc_sorter.SEP] = 0
            best = logits.argmax()
            answer += abc_sorter.VOCAB[best.item()]
            ids = torch.cat([ids, best.view(1, 1)], dim=1)
    return answer

# %% sort_letters wrong (property three_letters): cuts the dot's logit off and forgets that every index is then one too small
def sort_letters(model: nn.Module, letters: str) -> str:
    """What the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1, 1:]
            best = logits.argmax(dim=-1, keepdim=True)
            ids = torch.cat([ids, best], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())

# %% sort_letters wrong (misconception all-at-once): a single pass, the answer is read at the last three places of the question; nothing is appended and asked again
def sort_letters(model: nn.Module, letters: str) -> str:
    """What the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        logits = model(ids)[0].clone()
    logits[:, abc_sorter.SEP] = float("-inf")
    best = logits[-3:].argmax(dim=-1)
    return "".join(abc_sorter.VOCAB[i] for i in best.tolist())

# %% sort_letters wrong (misconception forgets-the-question): the next pass gets the new letter alone and no longer the question
def sort_letters(model: nn.Module, letters: str) -> str:
    """What the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = []
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = float("-inf")
            ids = logits.argmax(dim=-1, keepdim=True)
            answer.append(abc_sorter.VOCAB[ids.item()])
    return "".join(answer)

# %% sort_letters wrong (misconception sorts-by-itself): sorts the letters itself and never asks the model what it would write
def sort_letters(model: nn.Module, letters: str) -> str:
    """What the model writes, greedily, after the three letters and the separator."""
    return "".join(sorted(letters))

# %% sort_letters wrong (misconception letters-of-the-question-only): allows only letters that are left of the question; only the dot is forbidden, so a model's mistakes are covered up
def sort_letters(model: nn.Module, letters: str) -> str:
    """What the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    left = ids[0, :3].tolist()
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1]
            best = max(left, key=lambda i: logits[i].item())
            left.remove(best)
            answer += abc_sorter.VOCAB[best]
            ids = torch.cat([ids, torch.tensor([[best]])], dim=1)
    return answer

# %% sort_letters wrong (property draws_nothing): draws the letter by its probability instead of taking the likeliest
def sort_letters(model: nn.Module, letters: str) -> str:
    """What the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = -torch.inf
            drawn = torch.multinomial(logits.softmax(dim=-1), 1)
            ids = torch.cat([ids, drawn], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, 4:].tolist())

# %% sort_letters right (passed): a row of zeros with -inf at the dot is added to the logits
def sort_letters(model: nn.Module, letters: str) -> str:
    """What the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    start = ids.shape[1]
    with torch.inference_mode():
        while ids.shape[1] < start + 3:
            logits = model(ids)[:, -1, :]
            forbid = torch.zeros_like(logits)
            forbid[:, abc_sorter.SEP] = -math.inf
            ids = torch.hstack([ids, (logits + forbid).argmax(-1, keepdim=True)])
    return "".join(map(abc_sorter.VOCAB.__getitem__, ids[0, start:].tolist()))

# %% sort_letters right (passed): plain Python lists and max with a key, gradients left on
def sort_letters(model: nn.Module, letters: str) -> str:
    """What the model writes, greedily, after the three letters and the separator."""
    known = abc_sorter.encode(letters)[0].tolist()
    written = []
    while len(written) < 3:
        row = model(torch.tensor([known + written]))[0][-1].tolist()
        candidates = [i for i in range(len(row)) if i != abc_sorter.SEP]
        written.append(max(candidates, key=row.__getitem__))
    return "".join(abc_sorter.VOCAB[i] for i in written)

# %% sort_letters right (passed): the two likeliest tokens; the second where the first is the dot
@torch.no_grad()
def sort_letters(model: nn.Module, letters: str) -> str:
    """What the model writes, greedily, after the three letters and the separator."""
    ids, answer = abc_sorter.encode(letters), ""
    for _ in range(3):
        first, second = model(ids)[0, -1].topk(2).indices.tolist()
        choice = second if first == abc_sorter.SEP else first
        answer += abc_sorter.VOCAB[choice]
        ids = nn.functional.pad(ids, (0, 1), value=choice)
    return answer

# %% sort_letters right (passed): recursion over what is still to be written
def sort_letters(model: nn.Module, letters: str) -> str:
    """What the model writes, greedily, after the three letters and the separator."""

    def go_on(ids, left):
        if left == 0:
            return ""
        with torch.no_grad():
            logits = model(ids)[:, -1]
        dot = torch.arange(logits.shape[-1], device=logits.device) == abc_sorter.SEP
        best = logits.masked_fill(dot, float("-inf")).argmax(-1)
        return abc_sorter.VOCAB[int(best)] + go_on(torch.cat((ids, best[:, None]), 1), left - 1)

    return go_on(abc_sorter.encode(letters), 3)

