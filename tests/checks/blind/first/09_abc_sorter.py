# %% make_weight wrong (misconception wrong-axis): softmax along embed_dim instead of along d_head, so the columns sum to one and not the rows
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax(A @ B / temp, dim=-2)
    if base is None:
        return gate
    return gate * base

# %% make_weight wrong (raised): B is transposed by the habit of q @ k.T; it runs where rank equals d_head, but it is not the product AB
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    product = A @ B.transpose(-2, -1)
    gate = torch.softmax(product / temp, dim=-1)
    return gate if base is None else gate * base

# %% make_weight wrong (misconception temperature-multiplied): multiplies by the temperature, so a high one makes harder gates instead of softer ones
def make_weight(A, B, base=None, temp=1.0):
    gate = ((A @ B) * temp).softmax(dim=-1)
    if base is not None:
        gate = gate * base
    return gate

# %% make_weight wrong (property lets_gradients_through): the gate is detached, so no gradient reaches A and B and they can never be trained
def make_weight(A, B, base=None, temp=1.0):
    with torch.no_grad():
        gate = torch.softmax(A @ B / temp, dim=-1)
    if base is None:
        return gate
    return base * gate

# %% make_weight wrong (property leaves_its_inputs): multiplies the caller's base in place, which changes it at every call (and is refused for an nn.Parameter)
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax(torch.matmul(A, B) / temp, dim=-1)
    if base is None:
        return gate
    base *= gate
    return base

# %% make_weight wrong (misconception zeros-count-as-none): a base of zeros counts as no base and the gate comes back, though gate times zero is zero
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is not None and base.any():
        return gate * base
    return gate

# %% make_weight wrong (raised): counts the axis from the front (dim=2), which raises when the axis of heads is missing, as the text allows
def make_weight(A, B, base=None, temp=1.0):
    logits = A @ B / temp
    gate = nn.functional.softmax(logits, dim=2)
    return gate if base is None else base * gate

# %% make_weight wrong (misconception softmax-after-the-base): the base is multiplied before the softmax, so the weight is a share and can never be negative
def make_weight(A, B, base=None, temp=1.0):
    product = A @ B / temp
    if base is not None:
        product = product * base
    return torch.softmax(product, dim=-1)

# %% make_weight right (passed): einsum and a softmax written by hand with logsumexp
def make_weight(A, B, base=None, temp=1.0):
    logits = torch.einsum("...er,...rd->...ed", A, B) / temp
    gate = torch.exp(logits - torch.logsumexp(logits, dim=-1, keepdim=True))
    return gate if base is None else torch.einsum("...ed,...ed->...ed", gate, base)

# %% make_weight right (passed): recursion over the heads, then a loop over the rows
def make_weight(A, B, base=None, temp=1.0):
    if A.ndim > 2:
        heads = []
        for h in range(A.shape[0]):
            heads.append(make_weight(A[h], B[h], None if base is None else base[h], temp))
        return torch.stack(heads)
    rows = []
    for i in range(A.shape[0]):
        row = torch.softmax(A[i] @ B / temp, dim=0)
        if base is not None:
            row = row * base[i]
        rows.append(row)
    return torch.stack(rows)

# %% make_weight right (passed): a sum of outer products over the rank, and 1 as the default base
def make_weight(A, B, base=None, temp=1.0):
    product = (A.unsqueeze(-1) * B.unsqueeze(-3)).sum(dim=-2)
    scale = 1 if base is None else base
    return scale * nn.functional.log_softmax(product.div(temp), dim=-1).exp()

# %% make_weight right (passed): torch's own attention with A as queries, the columns of B as keys and the identity as values
def make_weight(A, B, base=None, temp=1.0):
    d_head = B.shape[-1]
    one_hot = torch.eye(d_head, dtype=B.dtype, device=B.device).expand(*B.shape[:-2], d_head, d_head)
    gate = nn.functional.scaled_dot_product_attention(A, B.mT, one_hot, scale=1.0 / temp)
    return gate if base is None else gate.mul(base)

# %% DeepQKVAttention wrong (misconception masked-after-the-softmax): the mask zeroes weights after the softmax, so rows do not sum to one and later positions leak through the denominator
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        for name in "qkv":
            setattr(self, name + "A", nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, embed_dim, rank))))
            setattr(self, name + "B", nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_heads, rank, self.d_head))))
            if not strict:
                base = torch.empty(num_heads, embed_dim, self.d_head)
                setattr(self, name + "_base", nn.Parameter(nn.init.xavier_uniform_(base)))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        def project(name):
            base = None if self.strict else getattr(self, name + "_base")
            return x.unsqueeze(1) @ make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

        q, k, v = project("q"), project("k"), project("v")
        scores = q @ k.mT / math.sqrt(self.d_head)
        weights = torch.softmax(scores, dim=-1)
        weights = torch.tril(weights)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (misconception root-of-embed_dim): scores are divided by the root of embed_dim, not of the width of one head
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.temp = temp
        d_head = embed_dim // num_heads

        def new(*shape):
            return nn.Parameter(nn.init.xavier_uniform_(torch.empty(*shape)))

        self.qA, self.kA, self.vA = (new(num_heads, embed_dim, rank) for _ in range(3))
        self.qB, self.kB, self.vB = (new(num_heads, rank, d_head) for _ in range(3))
        if strict:
            self.q_base = self.k_base = self.v_base = None
        else:
            self.q_base, self.k_base, self.v_base = (new(num_heads, embed_dim, d_head) for _ in range(3))
        self.o = nn.Linear(num_heads * d_head, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        q = torch.einsum("bse,hed->bhsd", x, make_weight(self.qA, self.qB, self.q_base, self.temp))
        k = torch.einsum("bse,hed->bhsd", x, make_weight(self.kA, self.kB, self.k_base, self.temp))
        v = torch.einsum("bse,hed->bhsd", x, make_weight(self.vA, self.vB, self.v_base, self.temp))
        scores = q @ k.mT / self.embed_dim**0.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        if return_weights:
            return out, weights
        return out

# %% DeepQKVAttention wrong (property temperature): the temperature is stored but never given to make_weight
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        self.temp = temp
        self.strict = strict
        self.qA = nn.Parameter(torch.empty(num_heads, embed_dim, rank))
        self.qB = nn.Parameter(torch.empty(num_heads, rank, self.d_head))
        self.kA = nn.Parameter(torch.empty(num_heads, embed_dim, rank))
        self.kB = nn.Parameter(torch.empty(num_heads, rank, self.d_head))
        self.vA = nn.Parameter(torch.empty(num_heads, embed_dim, rank))
        self.vB = nn.Parameter(torch.empty(num_heads, rank, self.d_head))
        if not strict:
            self.q_base = nn.Parameter(torch.empty(num_heads, embed_dim, self.d_head))
            self.k_base = nn.Parameter(torch.empty(num_heads, embed_dim, self.d_head))
            self.v_base = nn.Parameter(torch.empty(num_heads, embed_dim, self.d_head))
        for p in self.parameters():
            nn.init.xavier_uniform_(p)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        x1 = x[:, None]
        if self.strict:
            q = x1 @ make_weight(self.qA, self.qB)
            k = x1 @ make_weight(self.kA, self.kB)
            v = x1 @ make_weight(self.vA, self.vB)
        else:
            q = x1 @ make_weight(self.qA, self.qB, self.q_base)
            k = x1 @ make_weight(self.kA, self.kB, self.k_base)
            v = x1 @ make_weight(self.vA, self.vB, self.v_base)
        seq = x.shape[1]
        mask = torch.triu(torch.ones(seq, seq, device=x.device), diagonal=1).bool()
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(self.d_head)
        weights = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(x.shape))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (misconception an-unused-base-in-the-strict-variant): the strict variant still has the bases as parameters that nothing uses, so it counts 480 numbers and not 372
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp, self.strict = temp, strict
        self.d_head = embed_dim // num_heads
        for name in ("q", "k", "v"):
            for suffix, shape in (
                ("A", (num_heads, embed_dim, rank)),
                ("B", (num_heads, rank, self.d_head)),
                ("_base", (num_heads, embed_dim, self.d_head)),
            ):
                self.register_parameter(name + suffix, nn.Parameter(nn.init.xavier_uniform_(torch.empty(shape))))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x, return_weights=False):
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / self.d_head**0.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (misconception heads-run-together): heads are joined by a reshape without putting them behind the positions first, which mixes positions and leaks the future
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp, self.strict = temp, strict
        self.d_head = embed_dim // num_heads
        for name in "qkv":
            setattr(self, f"{name}A", nn.Parameter(torch.empty(num_heads, embed_dim, rank)))
            setattr(self, f"{name}B", nn.Parameter(torch.empty(num_heads, rank, self.d_head)))
            if not strict:
                setattr(self, f"{name}_base", nn.Parameter(torch.empty(num_heads, embed_dim, self.d_head)))
        for p in self.parameters():
            nn.init.xavier_uniform_(p)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1).bool(), persistent=False)

    def forward(self, x, return_weights=False):
        batch, seq, embed_dim = x.shape
        ws = []
        for name in "qkv":
            base = getattr(self, f"{name}_base", None)
            ws.append(make_weight(getattr(self, f"{name}A"), getattr(self, f"{name}B"), base, self.temp))
        q, k, v = (x.unsqueeze(1) @ w for w in ws)
        scores = q @ k.mT / math.sqrt(self.d_head)
        weights = torch.softmax(scores.masked_fill(self.mask[:seq, :seq], -torch.inf), dim=-1)
        context = (weights @ v).reshape(batch, seq, embed_dim)
        out = self.o(context)
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (property starts_somewhere): the B factors start at zero as in LoRA, though A, B and the bases are to start with small random numbers
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp = temp
        self.d_head = embed_dim // num_heads
        for name in "qkv":
            setattr(self, f"{name}A", nn.Parameter(0.1 * torch.randn(num_heads, embed_dim, rank)))
            setattr(self, f"{name}B", nn.Parameter(torch.zeros(num_heads, rank, self.d_head)))
            base = None if strict else nn.Parameter(0.1 * torch.randn(num_heads, embed_dim, self.d_head))
            setattr(self, f"{name}_base", base)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        x1 = x.unsqueeze(1)
        q = x1 @ make_weight(self.qA, self.qB, self.q_base, self.temp)
        k = x1 @ make_weight(self.kA, self.kB, self.k_base, self.temp)
        v = x1 @ make_weight(self.vA, self.vB, self.v_base, self.temp)
        seq = x.shape[1]
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.mT / math.sqrt(self.d_head)).masked_fill(future, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        if return_weights:
            return out, weights
        return out

# %% DeepQKVAttention wrong (property made_anew): the weights are made once in __init__, so they do not follow A, B and base in training, and a second backward raises
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads

        def param(*shape):
            return nn.Parameter(nn.init.xavier_uniform_(torch.empty(*shape)))

        self.qA, self.qB = param(num_heads, embed_dim, rank), param(num_heads, rank, self.d_head)
        self.kA, self.kB = param(num_heads, embed_dim, rank), param(num_heads, rank, self.d_head)
        self.vA, self.vB = param(num_heads, embed_dim, rank), param(num_heads, rank, self.d_head)
        if not strict:
            self.q_base = param(num_heads, embed_dim, self.d_head)
            self.k_base = param(num_heads, embed_dim, self.d_head)
            self.v_base = param(num_heads, embed_dim, self.d_head)
        self.W_query = make_weight(self.qA, self.qB, None if strict else self.q_base, temp)
        self.W_key = make_weight(self.kA, self.kB, None if strict else self.k_base, temp)
        self.W_value = make_weight(self.vA, self.vB, None if strict else self.v_base, temp)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        q, k, v = (x.unsqueeze(1) @ W for W in (self.W_query, self.W_key, self.W_value))
        scores = q @ k.mT / math.sqrt(self.d_head)
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (raised): the mask is not cut to the length of the text, so anything shorter than context_length raises
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp, self.strict = temp, strict
        self.d_head = embed_dim // num_heads
        for name in "qkv":
            setattr(self, name + "A", nn.Parameter(0.3 * torch.randn(num_heads, embed_dim, rank)))
            setattr(self, name + "B", nn.Parameter(0.3 * torch.randn(num_heads, rank, self.d_head)))
            if not strict:
                setattr(self, name + "_base", nn.Parameter(0.3 * torch.randn(num_heads, embed_dim, self.d_head)))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        mask = torch.triu(torch.ones(context_length, context_length), diagonal=1).bool()
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x, return_weights=False):
        made = {}
        for name in "qkv":
            base = None if self.strict else getattr(self, name + "_base")
            made[name] = x.unsqueeze(1) @ make_weight(
                getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp
            )
        scores = made["q"] @ made["k"].mT / self.d_head**0.5
        scores = scores.masked_fill(self.mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ made["v"]).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention right (passed): einsum throughout, the mask as a buffer, None for the bases of the strict variant
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.scale = d_head**-0.5
        self.temp = temp
        for name in ("q", "k", "v"):
            self.register_parameter(f"{name}A", nn.Parameter(torch.empty(num_heads, embed_dim, rank)))
            self.register_parameter(f"{name}B", nn.Parameter(torch.empty(num_heads, rank, d_head)))
            base = None if strict else nn.Parameter(torch.empty(num_heads, embed_dim, d_head))
            self.register_parameter(f"{name}_base", base)
        for p in self.parameters():
            nn.init.xavier_uniform_(p)
        self.o = nn.Linear(num_heads * d_head, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x, return_weights=False):
        q, k, v = (
            torch.einsum("bse,hed->bhsd", x, make_weight(A, B, base, self.temp))
            for A, B, base in (
                (self.qA, self.qB, self.q_base),
                (self.kA, self.kB, self.k_base),
                (self.vA, self.vB, self.v_base),
            )
        )
        scores = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        n = x.shape[1]
        weights = torch.softmax(scores.masked_fill(self.mask[:n, :n], -torch.inf), dim=-1)
        mixed = torch.einsum("bhij,bhjd->bihd", weights, v)
        out = self.o(mixed.reshape(x.shape[0], n, -1))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention right (passed): one head at a time, one position at a time, each position sees a slice of the keys and needs no mask
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads = num_heads
        self.d_head = embed_dim // num_heads
        self.temp = temp
        self.strict = strict
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        for name in "qkv":
            setattr(self, name + "A", nn.Parameter(torch.randn(num_heads, embed_dim, rank) * 0.2))
            setattr(self, name + "B", nn.Parameter(torch.randn(num_heads, rank, self.d_head) * 0.2))
        if not strict:
            for name in "qkv":
                setattr(self, name + "_base", nn.Parameter(torch.randn(num_heads, embed_dim, self.d_head) * 0.2))

    def head_weight(self, name, h):
        base = None
        if not self.strict:
            base = getattr(self, name + "_base")[h]
        return make_weight(getattr(self, name + "A")[h], getattr(self, name + "B")[h], base, self.temp)

    def forward(self, x, return_weights=False):
        seq = x.shape[1]
        outputs, all_weights = [], []
        for h in range(self.num_heads):
            q, k, v = (x @ self.head_weight(name, h) for name in "qkv")
            rows = []
            for i in range(seq):
                scores = (k[:, : i + 1] * q[:, i : i + 1]).sum(-1) / math.sqrt(self.d_head)
                row = torch.softmax(scores, dim=-1)
                rows.append(nn.functional.pad(row, (0, seq - i - 1)))
            weights = torch.stack(rows, dim=1)
            all_weights.append(weights)
            outputs.append(weights @ v)
        out = self.o(torch.cat(outputs, dim=-1))
        if return_weights:
            return out, torch.stack(all_weights, dim=1)
        return out

# %% DeepQKVAttention right (passed): torch's causal attention, asked for the weights themselves by giving it an identity as values
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp = temp
        self.kinds = "q", "k", "v"
        d_head = embed_dim // num_heads
        shapes = {"A": (num_heads, embed_dim, rank), "B": (num_heads, rank, d_head)}
        if not strict:
            shapes["_base"] = (num_heads, embed_dim, d_head)
        for kind in self.kinds:
            for suffix, shape in shapes.items():
                self.register_parameter(kind + suffix, nn.Parameter(nn.init.xavier_normal_(torch.empty(shape))))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        q, k, v = (
            x.unsqueeze(-3)
            @ make_weight(
                getattr(self, kind + "A"), getattr(self, kind + "B"), getattr(self, kind + "_base", None), self.temp
            )
            for kind in self.kinds
        )
        seq = x.shape[-2]
        eye = torch.eye(seq, dtype=v.dtype, device=v.device).expand(*v.shape[:-2], seq, seq)
        weights = nn.functional.scaled_dot_product_attention(q, k, eye, is_causal=True)
        out = self.o((weights @ v).transpose(-3, -2).flatten(-2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention right (passed): all made weights laid side by side in one wide matrix, one matrix product, scale moved to the queries, additive mask
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.h, self.d, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        make = lambda *shape: nn.Parameter(torch.empty(*shape).uniform_(-0.4, 0.4))
        if not strict:
            self.v_base, self.k_base, self.q_base = (make(num_heads, embed_dim, self.d) for _ in range(3))
        self.vA, self.kA, self.qA = (make(num_heads, embed_dim, rank) for _ in range(3))
        self.vB, self.kB, self.qB = (make(num_heads, rank, self.d) for _ in range(3))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def wide(self):
        A = torch.cat([self.qA, self.kA, self.vA])
        B = torch.cat([self.qB, self.kB, self.vB])
        base = None if self.strict else torch.cat([self.q_base, self.k_base, self.v_base])
        W = make_weight(A, B, base, self.temp)
        return W.permute(1, 0, 2).flatten(1)

    def forward(self, x, return_weights=False):
        b, s, _ = x.shape
        q, k, v = (x @ self.wide()).view(b, s, 3, self.h, self.d).permute(2, 0, 3, 1, 4)
        barrier = torch.full((s, s), -torch.inf, dtype=x.dtype, device=x.device).triu(1)
        weights = ((q / self.d**0.5) @ k.transpose(2, 3) + barrier).softmax(-1)
        out = self.o((weights @ v).permute(0, 2, 1, 3).reshape(b, s, self.h * self.d))
        if not return_weights:
            return out
        return out, weights

# %% lr_at wrong (misconception starts-at-zero): step 0 has rate 0 instead of 1 / warmup_steps of base_lr
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * progress))

# %% lr_at wrong (misconception warm-up-one-step-long): the warm-up takes one step too many (<=), so the rate overshoots base_lr at step warmup_steps
def lr_at(step, steps, base_lr, warmup_steps):
    if step <= warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.9 * (1 + math.cos(math.pi * progress)) / 2)

# %% lr_at wrong (misconception wave-from-step-zero): the cosine's progress counts from step 0 and not from the end of the warm-up, so the rate jumps down after the warm-up
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = step / steps
    cosine = 0.5 * (1 + math.cos(math.pi * progress))
    return base_lr / 10 + 0.9 * base_lr * cosine

# %% lr_at wrong (misconception cut-off-at-a-tenth): a cosine down to 0, clamped at a tenth, which is lower all the way and lies flat at the end instead of half a cosine down to a tenth
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    rate = base_lr * 0.5 * (1 + math.cos(math.pi * progress))
    return max(rate, base_lr / 10)

# %% lr_at wrong (misconception ends-one-step-early): the tenth is reached one step early, and at step steps the rate has begun to climb again
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - 1 - warmup_steps)
    return base_lr * (0.55 + 0.45 * math.cos(math.pi * progress))

# %% lr_at wrong (structure): after the warm-up the result is a Tensor in float32 and not a float as the signature says
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = torch.tensor((step - warmup_steps) / (steps - warmup_steps))
    return base_lr / 10 + (base_lr - base_lr / 10) * 0.5 * (1 + torch.cos(torch.pi * progress))

# %% lr_at wrong (misconception full-turn): a whole cosine wave, which is a tenth at half time and back at base_lr at the end
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.45 * (1 + math.cos(2 * math.pi * progress)))

# %% lr_at wrong (misconception falls-to-zero): falls to 0 and not to a tenth
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr / warmup_steps * (step + 1)
    done = step - warmup_steps
    total = steps - warmup_steps
    return base_lr * 0.5 * (1 + math.cos(math.pi * done / total))

# %% lr_at right (passed): one product of a clipped ramp and a clipped cosine, no branches
def lr_at(step, steps, base_lr, warmup_steps):
    ramp = min(1.0, (step + 1) / max(warmup_steps, 1))
    progress = min(1.0, max(0.0, (step - warmup_steps) / max(steps - warmup_steps, 1)))
    if step >= steps:
        progress = 1.0
    return base_lr * ramp * (0.55 + 0.45 * math.cos(math.pi * progress))

# %% lr_at right (passed): the half-angle form, a cosine squared of a quarter turn
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    top, bottom = base_lr, base_lr / 10
    if step < warmup_steps:
        return top * (step + 1) / warmup_steps
    if step >= steps:
        return bottom
    quarter_turn = (step - warmup_steps) / (steps - warmup_steps) * math.pi / 2
    return top * math.cos(quarter_turn) ** 2 + bottom * math.sin(quarter_turn) ** 2

# %% lr_at right (passed): torch's CosineAnnealingLR on a stand-in optimiser, read in closed form
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * ((step + 1) / warmup_steps)
    if step >= steps:
        return base_lr * 0.1
    from torch.optim.lr_scheduler import CosineAnnealingLR

    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=base_lr)
    schedule = CosineAnnealingLR(optimiser, T_max=steps - warmup_steps, eta_min=base_lr / 10)
    schedule.last_epoch = step - warmup_steps
    return float(schedule._get_closed_form_lr()[0])

# %% lr_at right (passed): a linear interpolation by numpy gives the angle, a complex exponential the wave
def lr_at(step, steps, base_lr, warmup_steps):
    import cmath

    import numpy as np

    if step + 1 <= warmup_steps:
        share = np.interp(step + 1, [0, warmup_steps], [0.0, 1.0])
    elif step >= steps:
        share = 0.1
    else:
        angle = np.interp(step, [warmup_steps, steps], [0.0, np.pi])
        wave = cmath.exp(1j * angle).real
        share = np.interp(wave, [-1.0, 1.0], [0.1, 1.0])
    return float(share) * base_lr

# %% sort_letters wrong (misconception separator-not-forbidden): the dot is not forbidden, so a model that likes it best writes a dot into the answer
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    answer = ""
    for _ in range(3):
        with torch.no_grad():
            logits = model(ids)
        best = logits[0, -1].argmax().item()
        answer += abc_sorter.VOCAB[best]
        ids = torch.cat([ids, torch.tensor([[best]])], dim=1)
    return answer

# %% sort_letters wrong (misconception separator-not-low-enough): the dot's logit is set to 0 instead of minus infinity, so it still wins when the letters' logits are negative
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = 0
            ids = torch.cat([ids, logits.argmax(-1, keepdim=True)], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())

# %% sort_letters wrong (property draws_nothing): draws from the softmax instead of taking the likeliest letter
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    answer = []
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[abc_sorter.SEP] = float("-inf")
            probs = torch.softmax(logits, dim=-1)
            next_id = torch.multinomial(probs, num_samples=1)
            answer.append(abc_sorter.VOCAB[next_id.item()])
            ids = torch.cat([ids, next_id.view(1, 1)], dim=1)
    return "".join(answer)

# %% sort_letters wrong (misconception never-appends): the chosen letter is never appended to the ids, so the same question gives the same letter three times
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    answer = ""
    for _ in range(3):
        with torch.no_grad():
            logits = model(ids)[0, -1].clone()
        logits[abc_sorter.SEP] = -torch.inf
        next_id = logits.argmax()
        answer += abc_sorter.VOCAB[int(next_id)]
    return answer

# %% sort_letters wrong (misconception sorts-by-itself): sorts in Python and never asks the model what it writes
def sort_letters(model, letters):
    return "".join(sorted(letters))

# %% sort_letters wrong (misconception sorts-by-itself): asks the lesson's other trained model, usual, instead of the one that was passed
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    for _ in range(3):
        with torch.no_grad():
            logits = usual(ids)[:, -1, :]
        logits[:, abc_sorter.SEP] = -torch.inf
        ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return "".join(abc_sorter.VOCAB[int(i)] for i in ids[0, 4:])

# %% sort_letters wrong (misconception a-second-separator): appends a second dot, though encode has already put one there
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    ids = torch.cat([ids, torch.full((1, 1), abc_sorter.SEP)], dim=1)
    written = []
    with torch.no_grad():
        while len(written) < 3:
            logits = model(ids)[0, -1].clone()
            logits[abc_sorter.SEP] = -torch.inf
            best = logits.argmax().reshape(1, 1)
            written.append(abc_sorter.VOCAB[best.item()])
            ids = torch.cat([ids, best], dim=1)
    return "".join(written)

# %% sort_letters wrong (misconception each-letter-once): forbids every letter that is already written, too, so aab can never come out
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    forbidden = [abc_sorter.SEP]
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[forbidden] = -torch.inf
            best = logits.argmax().item()
            forbidden.append(best)
            answer += abc_sorter.VOCAB[best]
            ids = torch.cat([ids, torch.tensor([[best]])], dim=1)
    return answer

# %% sort_letters right (passed): plain Python, the best id is looked for with max and a key
@torch.no_grad()
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    answer = []
    for _ in range(3):
        last = model(ids)[0, -1].tolist()
        allowed = [i for i in range(len(last)) if i != abc_sorter.SEP]
        best = max(allowed, key=lambda i: last[i])
        answer.append(abc_sorter.VOCAB[best])
        ids = torch.cat((ids, ids.new_tensor([[best]])), dim=1)
    return "".join(answer)

# %% sort_letters right (passed): recursion, masked_fill with a one-hot mask, the string built on the way back
def sort_letters(model, letters):
    def write(ids, missing):
        if missing == 0:
            return ""
        with torch.inference_mode():
            logits = model(ids)[:, -1]
        forbidden = torch.arange(logits.shape[-1], device=logits.device) == abc_sorter.SEP
        best = logits.masked_fill(forbidden, -torch.inf).argmax(dim=-1)
        rest = write(torch.cat([ids, best[:, None]], dim=-1), missing - 1)
        return abc_sorter.VOCAB[best.item()] + rest

    return write(abc_sorter.encode(letters), 3)

# %% sort_letters right (passed): the two best tokens by topk; if the best is the dot, the second is taken
def sort_letters(model: nn.Module, letters: str) -> str:
    text = abc_sorter.encode(letters)
    written = ""
    while len(written) < 3:
        first, second = model(text).detach()[0, -1].topk(2).indices.tolist()
        choice = second if first == abc_sorter.SEP else first
        written += abc_sorter.VOCAB[choice]
        text = torch.cat([text, torch.tensor([[choice]], dtype=text.dtype, device=text.device)], dim=1)
    return written

# %% sort_letters right (passed): functools.reduce over three steps, the dot falls out by an index of the allowed ids
def sort_letters(model, letters):
    from functools import reduce

    start = abc_sorter.encode(letters)
    allowed = torch.tensor([i for i in range(4) if i != abc_sorter.SEP], device=start.device)

    def grow(ids, _):
        with torch.no_grad():
            last = model(ids)[0, -1]
        return torch.hstack([ids, allowed[last[allowed].argmax()].reshape(1, 1).to(ids.dtype)])

    full = reduce(grow, range(3), start)
    return "".join(map(abc_sorter.VOCAB.__getitem__, full[0, start.shape[1]:].tolist()))
