# %% make_weight wrong (misconception temperature-twice): divides both factors by the temperature, so the product is divided by its square
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax((A / temp) @ (B / temp), dim=-1)
    return gate if base is None else base * gate

# %% make_weight wrong (misconception base-added): adds the base to the gate instead of multiplying
def make_weight(A, B, base=None, temp=1.0):
    weight = torch.matmul(A, B).div(temp).softmax(-1)
    if base is not None:
        weight = weight + base
    return weight

# %% make_weight wrong (misconception softmax-after-the-base): multiplies the base into the product before the softmax
def make_weight(A, B, base=None, temp=1.0):
    scores = A @ B / temp
    if base is not None:
        scores = scores * base
    return nn.functional.softmax(scores, dim=-1)

# %% make_weight wrong (property finite_when_scaled): rows are made to sum to one again after the base was multiplied in
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is None:
        return gate
    product = gate * base
    return product / product.sum(dim=-1, keepdim=True)

# %% make_weight wrong (difference milestone): the einsum gives the heads of A and B different letters, so every head gets the sum over all B
def make_weight(A, B, base=None, temp=1.0):
    if A.dim() == 2:
        scores = torch.einsum("er,rd->ed", A, B)
    else:
        scores = torch.einsum("her,grd->hed", A, B)
    gate = (scores / temp).softmax(dim=-1)
    return gate if base is None else gate * base

# %% make_weight wrong (misconception axis-from-the-front): softmax along axis 1, which is the last axis only for a single head
def make_weight(A, B, base=None, temp=1.0):
    gate = nn.Softmax(dim=1)(A @ B / temp)
    return gate if base is None else gate * base

# %% make_weight wrong (misconception zeros-count-as-none): decides by the sum of the base, so a base whose entries sum to zero counts as missing
def make_weight(A, B, base=None, temp=1.0):
    gate = (A @ B / temp).softmax(-1)
    if base is None or float(base.sum()) == 0.0:
        return gate
    return torch.mul(gate, base)

# %% make_weight wrong (property finite): subtracts the largest number of the whole tensor, so rows far below it become 0 / 0
def make_weight(A, B, base=None, temp=1.0):
    scores = (A @ B) / temp
    powers = torch.exp(scores - scores.max())
    gate = powers / powers.sum(dim=-1, keepdim=True)
    return gate if base is None else gate * base

# %% make_weight wrong (misconception clamped): limits the scores to between -50 and 50, so two larger scores get equal gates
def make_weight(A, B, base=None, temp=1.0):
    scores = torch.clamp((A @ B) / temp, min=-50.0, max=50.0)
    powers = scores.exp()
    gate = powers / powers.sum(-1, keepdim=True)
    return gate if base is None else gate * base

# %% make_weight right (passed): subtracts a logsumexp; float32 rounding shows only for huge equal numbers
def make_weight(A, B, base=None, temp=1.0):
    scores = A @ B / temp
    gate = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
    return gate if base is None else gate * base

# %% make_weight wrong (raised): bmm takes only three axes, so a single head without its axis is an error
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.bmm(A, B).div(temp).softmax(dim=2)
    return gate if base is None else gate * base

# %% make_weight wrong (property lets_gradients_through): the base passes through data, so no gradient reaches it
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is None:
        return gate
    return gate.mul(base.data)

# %% make_weight right (passed): softmin of the negative product
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    gate = nn.functional.softmin(torch.einsum("...er,...rd->...ed", A, B).neg() / temp, dim=-1)
    return gate if base is None else torch.mul(base, gate)

# %% make_weight right (passed): stable exponentials by hand, and 1 in place of a missing base
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    scores = (A.unsqueeze(-1) * B.unsqueeze(-3)).sum(dim=-2) / temp
    above = (scores - scores.detach().amax(dim=-1, keepdim=True)).exp()
    return above / above.sum(dim=-1, keepdim=True) * (1.0 if base is None else base)

# %% DeepQKVAttention wrong (property uses_everything): the keys are made from qB instead of kB, a slip in copying
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, d_head, temp, strict

        def small(rows, columns):
            heads = [nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(num_heads)]
            return nn.Parameter(torch.stack(heads))

        self.qA, self.kA, self.vA = (small(embed_dim, rank) for _ in range(3))
        self.qB, self.kB, self.vB = (small(rank, d_head) for _ in range(3))
        if not strict:
            self.q_base, self.k_base, self.v_base = (small(embed_dim, d_head) for _ in range(3))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        bases = (None, None, None) if self.strict else (self.q_base, self.k_base, self.v_base)
        q = x.unsqueeze(1) @ make_weight(self.qA, self.qB, bases[0], self.temp)
        k = x.unsqueeze(1) @ make_weight(self.kA, self.qB, bases[1], self.temp)
        v = x.unsqueeze(1) @ make_weight(self.vA, self.vB, bases[2], self.temp)
        scores = q @ k.mT / self.d_head**0.5
        seq = x.shape[1]
        later = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(later, -math.inf).softmax(-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (property uses_everything): the values are made without their base
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.d_head, self.temp = d_head, temp
        for name in "qkv":
            shapes = {name + "A": (embed_dim, rank), name + "B": (rank, d_head)}
            if not strict:
                shapes[name + "_base"] = (embed_dim, d_head)
            for full, shape in shapes.items():
                heads = [nn.init.xavier_uniform_(torch.empty(shape)) for _ in range(num_heads)]
                self.register_parameter(full, nn.Parameter(torch.stack(heads)))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        W_q = make_weight(self.qA, self.qB, getattr(self, "q_base", None), self.temp)
        W_k = make_weight(self.kA, self.kB, getattr(self, "k_base", None), self.temp)
        W_v = make_weight(self.vA, self.vB, temp=self.temp)
        q, k, v = (torch.einsum("bse,hed->bhsd", x, W) for W in (W_q, W_k, W_v))
        scores = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(self.d_head)
        mask = torch.ones(x.shape[1], x.shape[1], device=x.device, dtype=torch.bool).tril()
        weights = torch.softmax(scores.where(mask, float("-inf")), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(x.shape))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (difference): scores are divided by the root of the rank, right only if the rank equals the width of a head
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.scale, self.temp, self.strict = rank**-0.5, temp, strict

        def factor(*shape):
            return nn.Parameter(0.3 * torch.randn(num_heads, *shape))

        self.qA, self.qB = factor(embed_dim, rank), factor(rank, d_head)
        self.kA, self.kB = factor(embed_dim, rank), factor(rank, d_head)
        self.vA, self.vB = factor(embed_dim, rank), factor(rank, d_head)
        self.q_base = self.k_base = self.v_base = None
        if not strict:
            self.q_base, self.k_base, self.v_base = (factor(embed_dim, d_head) for _ in range(3))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        x4 = x[:, None]
        q = x4 @ make_weight(self.qA, self.qB, self.q_base, self.temp)
        k = x4 @ make_weight(self.kA, self.kB, self.k_base, self.temp)
        v = x4 @ make_weight(self.vA, self.vB, self.v_base, self.temp)
        seq = x.shape[-2]
        later = torch.ones((seq, seq), device=x.device).triu(diagonal=1) > 0
        weights = (q @ k.mT * self.scale).masked_fill(later, -torch.inf).softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(-2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (shape): returns the weights averaged over the heads, without a head axis
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp, self.d_head = temp, d_head
        for n in "qkv":
            setattr(self, n + "A", nn.Parameter(torch.randn(num_heads, embed_dim, rank) / 4))
            setattr(self, n + "B", nn.Parameter(torch.randn(num_heads, rank, d_head) / 4))
            if not strict:
                setattr(self, n + "_base", nn.Parameter(torch.randn(num_heads, embed_dim, d_head) / 4))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def _project(self, n, x):
        W = make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
        return torch.einsum("bse,hed->bhsd", x, W)

    def forward(self, x, return_weights=False):
        q, k, v = (self._project(n, x) for n in "qkv")
        place = torch.arange(x.shape[1], device=x.device)
        scores = (q @ k.transpose(-2, -1)) / self.d_head**0.5
        weights = scores.masked_fill(place > place[:, None], float("-inf")).softmax(-1)
        out = self.o((weights @ v).permute(0, 2, 1, 3).reshape(x.shape))
        return (out, weights.mean(dim=1)) if return_weights else out

# %% DeepQKVAttention wrong (property starts_somewhere): the B factors start at zero, as in LoRA, not at small random numbers
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp, self.d_head = temp, d_head
        for n in "qkv":
            setattr(self, n + "A", nn.Parameter(torch.randn(num_heads, embed_dim, rank) * 0.1))
            setattr(self, n + "B", nn.Parameter(torch.zeros(num_heads, rank, d_head)))
            if not strict:
                setattr(self, n + "_base", nn.Parameter(torch.randn(num_heads, embed_dim, d_head) * 0.1))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        q, k, v = (
            x.unsqueeze(1)
            @ make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
            for n in "qkv"
        )
        seq = x.shape[1]
        allowed = torch.ones(seq, seq, dtype=torch.bool, device=x.device).tril()
        weights = (q @ k.mT / math.sqrt(self.d_head)).masked_fill(~allowed, -math.inf).softmax(-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(*x.shape))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (property finite_when_scaled): future weights are set to 0 after the softmax and the rest divided by its sum, nan if the future had everything
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp, self.d_head = temp, d_head

        def init(*shape):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(*shape)) for _ in range(num_heads)]))

        for n in "qkv":
            setattr(self, n + "A", init(embed_dim, rank))
            setattr(self, n + "B", init(rank, d_head))
            if not strict:
                setattr(self, n + "_base", init(embed_dim, d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        q, k, v = (
            x[:, None]
            @ make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
            for n in "qkv"
        )
        weights = torch.softmax(q @ k.mT / self.d_head**0.5, dim=-1).tril()
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (property moves_with_its_module): in evaluation mode the three weights of the first call are kept, so later changes of the parameters are missed
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp, self.d_head, self.kept = temp, d_head, None

        def init(*shape):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(*shape)) for _ in range(num_heads)]))

        for n in "qkv":
            setattr(self, n + "A", init(embed_dim, rank))
            setattr(self, n + "B", init(rank, d_head))
            if not strict:
                setattr(self, n + "_base", init(embed_dim, d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def made(self):
        return [
            make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
            for n in "qkv"
        ]

    def forward(self, x, return_weights=False):
        if self.training:
            made = self.made()
        else:
            if self.kept is None:
                self.kept = self.made()
            made = self.kept
        q, k, v = (torch.einsum("bse,hed->bhsd", x, W) for W in made)
        seq = x.shape[1]
        later = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = (q @ k.mT / self.d_head**0.5).masked_fill(later, -math.inf).softmax(-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (property temperature): the temperature divides the attention scores and not the products of the factors, right at temperature 1
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp, self.d_head = temp, d_head

        def init(*shape):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(*shape)) for _ in range(num_heads)]))

        for n in "qkv":
            setattr(self, n + "A", init(embed_dim, rank))
            setattr(self, n + "B", init(rank, d_head))
            if not strict:
                setattr(self, n + "_base", init(embed_dim, d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        q, k, v = (
            x[:, None] @ make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None))
            for n in "qkv"
        )
        seq = x.shape[1]
        later = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        scores = q @ k.mT / (self.temp * math.sqrt(self.d_head))
        weights = scores.masked_fill(later, -math.inf).softmax(-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (misconception an-unused-base-in-the-strict-variant): the strict layer still has bases as parameters and only leaves them out of the computation
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp, self.d_head, self.strict = temp, d_head, strict

        def init(*shape):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(*shape)) for _ in range(num_heads)]))

        for n in "qkv":
            setattr(self, n + "A", init(embed_dim, rank))
            setattr(self, n + "B", init(rank, d_head))
            setattr(self, n + "_base", init(embed_dim, d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def heads_of(self, n, x):
        base = None if self.strict else getattr(self, n + "_base")
        return x[:, None] @ make_weight(getattr(self, n + "A"), getattr(self, n + "B"), base, self.temp)

    def forward(self, x, return_weights=False):
        q, k, v = self.heads_of("q", x), self.heads_of("k", x), self.heads_of("v", x)
        seq = x.shape[1]
        later = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = (q @ k.mT / math.sqrt(self.d_head)).masked_fill(later, -math.inf).softmax(-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (raised): the mask always has context_length rows, so shorter texts do not fit
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp, self.d_head = temp, d_head

        def init(*shape):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(*shape)) for _ in range(num_heads)]))

        for n in "qkv":
            setattr(self, n + "A", init(embed_dim, rank))
            setattr(self, n + "B", init(rank, d_head))
            if not strict:
                setattr(self, n + "_base", init(embed_dim, d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("later", torch.ones(context_length, context_length).triu(1).bool(), persistent=False)

    def forward(self, x, return_weights=False):
        q, k, v = (
            x[:, None]
            @ make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
            for n in "qkv"
        )
        weights = (q @ k.mT / self.d_head**0.5).masked_fill(self.later, -math.inf).softmax(-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (property starts_somewhere): draws from its own generator with a fixed seed, so the factors of any two layers start equal
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp, self.d_head = temp, d_head
        own = torch.Generator().manual_seed(0)
        for n in "qkv":
            setattr(self, n + "A", nn.Parameter(0.3 * torch.randn(num_heads, embed_dim, rank, generator=own)))
            setattr(self, n + "B", nn.Parameter(0.3 * torch.randn(num_heads, rank, d_head, generator=own)))
            if not strict:
                base = 0.3 * torch.randn(num_heads, embed_dim, d_head, generator=own)
                setattr(self, n + "_base", nn.Parameter(base))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        q, k, v = (
            x[:, None]
            @ make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
            for n in "qkv"
        )
        seq = x.shape[1]
        later = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = (q @ k.mT / math.sqrt(self.d_head)).masked_fill(later, -math.inf).softmax(-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (difference milestone): the heads' results are interleaved entry by entry instead of side by side, right for one head
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp, self.d_head = temp, d_head

        def init(*shape):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(*shape)) for _ in range(num_heads)]))

        for n in "qkv":
            setattr(self, n + "A", init(embed_dim, rank))
            setattr(self, n + "B", init(rank, d_head))
            if not strict:
                setattr(self, n + "_base", init(embed_dim, d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        q, k, v = (
            x[:, None]
            @ make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
            for n in "qkv"
        )
        seq = x.shape[1]
        later = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = (q @ k.mT / math.sqrt(self.d_head)).masked_fill(later, -math.inf).softmax(-1)
        out = self.o(torch.einsum("bhij,bhjd->bidh", weights, v).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention right (passed): parameters registered in a loop, everything else in einsum
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head, self.temp = embed_dim // num_heads, temp
        sizes = {"A": (embed_dim, rank), "B": (rank, self.d_head)}
        if not strict:
            sizes["_base"] = (embed_dim, self.d_head)
        for letter in "qkv":
            for ending, size in sizes.items():
                start = torch.stack([nn.init.xavier_uniform_(torch.empty(size)) for _ in range(num_heads)])
                self.register_parameter(letter + ending, nn.Parameter(start))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        parts = dict(self.named_parameters())
        q, k, v = (
            torch.einsum(
                "bse,hed->bhsd",
                x,
                make_weight(parts[n + "A"], parts[n + "B"], parts.get(n + "_base"), temp=self.temp),
            )
            for n in "qkv"
        )
        place = torch.arange(x.size(1), device=x.device)
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * self.d_head**-0.5
        weights = torch.where(place[:, None] >= place, scores, -torch.inf).softmax(dim=-1)
        mixed = torch.einsum("bhij,bhjd->bihd", weights, v).reshape(x.shape)
        return (self.o(mixed), weights) if return_weights else self.o(mixed)

# %% DeepQKVAttention right (passed): one head after the other, joined with cat, and an added mask of minus infinity
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.num_heads, self.temp = num_heads, temp
        self.qA, self.kA, self.vA = (nn.Parameter(0.2 * torch.randn(num_heads, embed_dim, rank)) for _ in range(3))
        self.qB, self.kB, self.vB = (nn.Parameter(0.2 * torch.randn(num_heads, rank, d_head)) for _ in range(3))
        self.q_base = self.k_base = self.v_base = None
        if not strict:
            self.q_base = nn.Parameter(torch.rand(num_heads, embed_dim, d_head) - 0.5)
            self.k_base = nn.Parameter(torch.rand(num_heads, embed_dim, d_head) - 0.5)
            self.v_base = nn.Parameter(torch.rand(num_heads, embed_dim, d_head) - 0.5)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def _one(self, x, h, A, B, base):
        return x @ make_weight(A[h], B[h], None if base is None else base[h], self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        future = torch.full((seq, seq), float("-inf"), device=x.device, dtype=x.dtype).triu(diagonal=1)
        mixed, looks = [], []
        for h in range(self.num_heads):
            query = self._one(x, h, self.qA, self.qB, self.q_base)
            key = self._one(x, h, self.kA, self.kB, self.k_base)
            value = self._one(x, h, self.vA, self.vB, self.v_base)
            look = nn.functional.softmax(query @ key.mT / math.sqrt(query.shape[-1]) + future, dim=-1)
            looks.append(look)
            mixed.append(look @ value)
        out = self.o(torch.cat(mixed, dim=-1))
        if return_weights:
            return out, torch.stack(looks, dim=1)
        return out

# %% lr_at wrong (property landmarks): a quarter of a cosine wave instead of half, right at both ends of the fall
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.9 * math.cos(math.pi / 2 * progress))

# %% lr_at wrong (property landmarks): the progress of the fall is divided by all steps, so the end is not reached
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    fraction = (step - warmup_steps) / steps
    low = base_lr / 10
    return low + (base_lr - low) * (1 + math.cos(math.pi * fraction)) / 2

# %% lr_at wrong (misconception warm-up-one-step-long): the warm-up lasts one step too long, so step warmup_steps is above base_lr
def lr_at(step, steps, base_lr, warmup_steps):
    if step <= warmup_steps:
        return base_lr * ((step + 1) / warmup_steps)
    t = math.pi * (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.55 + 0.45 * math.cos(t))

# %% lr_at wrong (property landmarks): whole-number division, so the rate stays at base_lr until the last step
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return (step + 1) * base_lr / warmup_steps
    done = (step - warmup_steps) // (steps - warmup_steps)
    return base_lr * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))

# %% lr_at wrong (misconception degrees): gives degrees to a cosine that takes radians
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr / warmup_steps * (step + 1)
    angle = 180 * (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.9 * (1 + math.cos(angle)) / 2)

# %% lr_at wrong (property landmarks): the warm-up already starts at a tenth of base_lr, the rate of the end
def lr_at(step, steps, base_lr, warmup_steps):
    low = 0.1 * base_lr
    if step < warmup_steps:
        return low + (base_lr - low) * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * progress))

# %% lr_at wrong (misconception cut-off-at-a-tenth): the cosine falls to 0 and is cut off at a tenth, right at the beginning and at the end
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return max(base_lr / 10, base_lr * (1 + math.cos(math.pi * progress)) / 2)

# %% lr_at wrong (property landmarks): the last rate is the constant 1e-4, right only for a base_lr of 1e-3
def lr_at(step, steps, base_lr, warmup_steps):
    min_lr = 1e-4
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    ratio = (step - warmup_steps) / (steps - warmup_steps)
    return min_lr + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (base_lr - min_lr)

# %% lr_at wrong (structure): returns a tensor instead of a float
def lr_at(step, steps, base_lr, warmup_steps):
    step = torch.tensor(float(step), dtype=torch.float64)
    rising = base_lr * (step + 1) / warmup_steps
    falling = base_lr * (0.55 + 0.45 * torch.cos(torch.pi * (step - warmup_steps) / (steps - warmup_steps)))
    return torch.where(step < warmup_steps, rising, falling)

# %% lr_at wrong (misconception cosine-one-step-early): the cosine starts at the last step of the warm-up, so step warmup_steps is already below base_lr
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    start = warmup_steps - 1
    wave = math.cos(math.pi * (step - start) / (steps - start))
    return base_lr * (1.1 + 0.9 * wave) / 2

# %% lr_at right (passed): a product of two factors that are limited to their part of the schedule
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    rise = min(1.0, (step + 1) / warmup_steps)
    fall = max(0.0, (step - warmup_steps) / (steps - warmup_steps))
    return base_lr * rise * (1.0 - 0.45 * (1.0 - math.cos(math.pi * fall)))

# %% lr_at right (passed): the square of the cosine of half the angle, in one expression
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    left = steps - step
    return base_lr * (
        (step + 1) / warmup_steps
        if step < warmup_steps
        else 0.1 + 0.9 * math.sin(math.pi / 2 * left / (steps - warmup_steps)) ** 2
    )

# %% sort_letters wrong (misconception all-at-once): takes the letters of the last three positions of a single pass over the question
def sort_letters(model, letters):
    with torch.no_grad():
        logits = model(abc_sorter.encode(letters))[0]
    best = logits[-3:, 1:].argmax(dim=-1) + 1
    return "".join(abc_sorter.VOCAB[i] for i in best.tolist())

# %% sort_letters wrong (misconception never-appends): never appends the letters that it writes, so all three are predicted from the question
@torch.no_grad()
def sort_letters(model, letters):
    ids, answer = abc_sorter.encode(letters), []
    for _ in range(3):
        logits = model(ids)[0, -1].clone()
        logits[abc_sorter.SEP] = -torch.inf
        answer.append(abc_sorter.VOCAB[int(logits.argmax())])
    return "".join(answer)

# %% sort_letters wrong (difference prefix): writes the three best letters of the first pass
def sort_letters(model, letters):
    with torch.no_grad():
        scores = model(abc_sorter.encode(letters))[0, -1]
    return "".join("abc"[i] for i in scores[1:].topk(3).indices.tolist())

# %% sort_letters wrong (difference prefix): the id that is fed back is one too small, because the dot was cut off before the argmax
@torch.no_grad()
def sort_letters(model, letters):
    ids, answer = abc_sorter.encode(letters), ""
    for _ in range(3):
        best = model(ids)[:, -1, 1:].argmax(dim=-1, keepdim=True)
        answer += abc_sorter.VOCAB[best.item() + 1]
        ids = torch.cat((ids, best), dim=1)
    return answer

# %% sort_letters wrong (property three_letters): returns everything from the separator on, so the text begins with the dot
@torch.no_grad()
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    for _ in range(3):
        scores = model(ids)[:, -1].clone()
        scores[:, abc_sorter.SEP] = float("-inf")
        ids = torch.cat((ids, scores.argmax(-1)[None]), dim=1)
    return abc_sorter.decode(ids[0, 3:])

# %% sort_letters wrong (difference prefix): new letters are put in front of the question, and the last position is always the dot
@torch.no_grad()
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    text = ""
    for _ in range(3):
        best = model(ids)[0, -1, 1:].argmax().item() + 1
        text += abc_sorter.VOCAB[best]
        ids = torch.cat([torch.tensor([[best]]), ids], dim=1)
    return text

# %% sort_letters wrong (misconception sorts-by-itself): sorts the letters itself, so it does not return what the model writes
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        model(ids)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, :-1].sort().values.tolist())

# %% sort_letters wrong (misconception letters-of-the-question-only): chooses only among the letters of the question that are left, so a model that errs seems right
@torch.no_grad()
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    left, answer = ids[0, :3].tolist(), []
    while left:
        scores = model(ids)[0, -1]
        best = max(left, key=lambda i: scores[i].item())
        left.remove(best)
        answer.append(best)
        ids = torch.cat((ids, torch.tensor([[best]])), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in answer)

# %% sort_letters wrong (misconception each-letter-once): a letter that was written once cannot be written again, right if all letters differ
@torch.no_grad()
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    blocked = [abc_sorter.SEP]
    for _ in range(3):
        scores = model(ids)[0, -1].clone()
        scores[blocked] = -math.inf
        best = int(scores.argmax())
        blocked.append(best)
        ids = nn.functional.pad(ids, (0, 1), value=best)
    return abc_sorter.decode(ids[0, -3:])

# %% sort_letters wrong (misconception separator-not-low-enough): sets the dot's logit to 0, which is still the largest if all letters are below 0
@torch.no_grad()
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    for _ in range(3):
        keep = torch.ones(len(abc_sorter.VOCAB))
        keep[abc_sorter.SEP] = 0.0
        best = (model(ids)[:, -1] * keep).argmax(dim=-1, keepdim=True)
        ids = torch.cat((ids, best), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, 4:])

# %% sort_letters wrong (difference): a dot is not masked but replaced by the letter a
@torch.no_grad()
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    for _ in range(3):
        best = model(ids)[:, -1:].argmax(dim=-1).clamp_min(1)
        ids = torch.cat((ids, best), dim=1)
    return abc_sorter.decode(ids[0, 4:])

# %% sort_letters wrong (property leaves_its_inputs): switches to evaluation mode and forgets to switch back
@torch.no_grad()
def sort_letters(model, letters):
    row = abc_sorter.encode(letters)[0].tolist()
    model = model.eval()
    for _ in range(3):
        scores = model(torch.tensor([row]))[0, -1].tolist()
        row.append(max((1, 2, 3), key=scores.__getitem__))
    return "".join(map(abc_sorter.VOCAB.__getitem__, row[4:]))

# %% sort_letters right (passed): recursion that stops at three letters
def sort_letters(model: nn.Module, letters: str) -> str:
    def write(ids, text):
        if len(text) == 3:
            return text
        with torch.no_grad():
            scores = model(ids)[:, -1].index_fill(1, torch.tensor([abc_sorter.SEP]), -torch.inf)
        best = scores.argmax(dim=1, keepdim=True)
        return write(torch.cat((ids, best), dim=1), text + abc_sorter.VOCAB[best.item()])

    return write(abc_sorter.encode(letters), "")

# %% sort_letters right (passed): Python lists, and max over the letters' ids
@torch.no_grad()
def sort_letters(model: nn.Module, letters: str) -> str:
    row = abc_sorter.encode(letters).flatten().tolist()
    candidates = [i for i in range(len(abc_sorter.VOCAB)) if i != abc_sorter.SEP]
    while len(row) < 7:
        scores = model(torch.tensor(row)[None])[0, -1]
        row.append(max(candidates, key=lambda i: float(scores[i])))
    return "".join(abc_sorter.VOCAB[i] for i in row[-3:])

# %% sort_letters right (passed): a row with room for the answer, and the letters found among the last columns of the logits
@torch.no_grad()
def sort_letters(model: nn.Module, letters: str) -> str:
    question = abc_sorter.encode(letters)
    n = question.numel()
    row = torch.cat((question, torch.zeros_like(question[:, :3])), dim=1)
    for end in range(n, n + 3):
        row[:, end] = model(row[:, :end])[:, -1].narrow(-1, 1, 3).max(dim=-1).indices + 1
    return abc_sorter.decode(row[0, n:])
