# %% make_weight wrong (misconception temperature-twice): both factors are divided by the temperature, so it counts squared
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax((A / temp) @ (B / temp), dim=-1)
    return gate if base is None else gate * base

# %% make_weight wrong (misconception softmax-after-the-base): the base is multiplied in before the softmax
def make_weight(A, B, base=None, temp=1.0):
    product = A @ B / temp
    if base is not None:
        product = product * base
    return product.softmax(dim=-1)

# %% make_weight wrong (difference milestone): divides by the temperature without a remainder, so the scores become whole numbers
def make_weight(A, B, base=None, temp=1.0):
    gate = nn.functional.softmax(A.matmul(B) // temp, dim=-1)
    if base is None:
        return gate
    return base * gate

# %% make_weight wrong (raised): the product names the axis of the heads, so a single head without this axis fails
def make_weight(A, B, base=None, temp=1.0):
    product = torch.einsum("her,hrd->hed", A, B)
    gate = torch.softmax(product / temp, dim=-1)
    return gate if base is None else torch.einsum("hed,hed->hed", gate, base)

# %% make_weight wrong (property finite): subtracts the largest number of the whole table, so rows far below it become 0 / 0
def make_weight(A, B, base=None, temp=1.0):
    product = A @ B / temp
    powers = (product - product.max()).exp()
    gate = powers / powers.sum(dim=-1, keepdim=True)
    if base is not None:
        gate = gate * base
    return gate

# %% make_weight wrong (misconception clamped): cuts the scores off at 50, so two large scores count as equal
def make_weight(A, B, base=None, temp=1.0):
    product = (A @ B / temp).clamp(-50.0, 50.0)  # exp cannot overflow now
    powers = torch.exp(product)
    gate = powers / powers.sum(-1, keepdim=True)
    return gate if base is None else gate * base

# %% make_weight right (passed): exponentials by hand, each row relative to its own largest number
def make_weight(A, B, base=None, temp=1.0):
    product = torch.matmul(A, B).div(temp)
    powers = product.sub(product.amax(dim=-1, keepdim=True).detach()).exp()
    gate = powers.div(powers.sum(dim=-1, keepdim=True))
    return {True: lambda: gate, False: lambda: gate.mul(base)}[base is None]()

# %% make_weight right (passed): einsum with dots, the softmax module, and a factor of 1 where there is no base
def make_weight(A, B, base=None, temp=1.0):
    scores = torch.einsum("...er,...rd->...ed", A, B)
    return nn.Softmax(dim=-1)(scores / temp) * (1.0 if base is None else base)

# %% DeepQKVAttention wrong (property uses_everything): the value weight is made from vA and kB
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp, self.strict, self.d_head = temp, strict, embed_dim // num_heads

        def new(*shape):
            table = torch.empty(num_heads, *shape)
            for head in table:
                nn.init.xavier_uniform_(head)
            return nn.Parameter(table)

        self.qA, self.qB = new(embed_dim, rank), new(rank, self.d_head)
        self.kA, self.kB = new(embed_dim, rank), new(rank, self.d_head)
        self.vA, self.vB = new(embed_dim, rank), new(rank, self.d_head)
        if not strict:
            self.q_base, self.k_base, self.v_base = (new(embed_dim, self.d_head) for _ in range(3))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        W_q = make_weight(self.qA, self.qB, None if self.strict else self.q_base, self.temp)
        W_k = make_weight(self.kA, self.kB, None if self.strict else self.k_base, self.temp)
        W_v = make_weight(self.vA, self.kB, None if self.strict else self.v_base, self.temp)
        q, k, v = (x[:, None] @ W for W in (W_q, W_k, W_v))
        scores = q @ k.mT / self.d_head**0.5
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (difference milestone): the entries of the heads are interleaved where the heads should be side by side
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp = temp
        self.d_head = embed_dim // num_heads
        for name in "qkv":
            shapes = {name + "A": (embed_dim, rank), name + "B": (rank, self.d_head)}
            if not strict:
                shapes[name + "_base"] = (embed_dim, self.d_head)
            for full, shape in shapes.items():
                tables = [nn.init.xavier_uniform_(torch.empty(*shape)) for _ in range(num_heads)]
                self.register_parameter(full, nn.Parameter(torch.stack(tables)))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        q, k, v = (
            torch.einsum(
                "bse,hed->bhsd", x,
                make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp),
            )
            for n in "qkv"
        )
        seq = x.size(1)
        visible = torch.tril(torch.ones(seq, seq, device=x.device)).bool()
        scores = torch.where(visible, q @ k.transpose(-1, -2) / self.d_head**0.5, -torch.inf)
        weights = scores.softmax(dim=-1)
        mixed = torch.einsum("bhqk,bhkd->bqdh", weights, v).flatten(2)
        return (self.o(mixed), weights) if return_weights else self.o(mixed)

# %% DeepQKVAttention wrong (property temperature): the temperature divides the attention scores, not the products in make_weight
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.d_head, self.temp = d_head, temp

        def random(rows, columns):
            p = nn.Parameter(torch.empty(num_heads, rows, columns))
            for h in range(num_heads):
                nn.init.xavier_uniform_(p[h].data)
            return p

        for n in ("q", "k", "v"):
            setattr(self, f"{n}A", random(embed_dim, rank))
            setattr(self, f"{n}B", random(rank, d_head))
            setattr(self, f"{n}_base", None if strict else random(embed_dim, d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        q = x.unsqueeze(1) @ make_weight(self.qA, self.qB, self.q_base)
        k = x.unsqueeze(1) @ make_weight(self.kA, self.kB, self.k_base)
        v = x.unsqueeze(1) @ make_weight(self.vA, self.vB, self.v_base)
        scores = q @ k.mT / (math.sqrt(self.d_head) * self.temp)
        future = torch.full(scores.shape[-2:], -torch.inf, device=x.device).triu(1)
        weights = torch.softmax(scores + future, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(x.shape))
        if return_weights:
            return out, weights
        return out

# %% DeepQKVAttention wrong (difference): divides the scores by the root of rank, which equals d_head only by chance in the page's sorter
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp = temp
        self.scale = rank**-0.5
        d_head = embed_dim // num_heads

        def heads(*shape):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(shape)) for _ in range(num_heads)]))

        for part in "qkv":
            setattr(self, part + "A", heads(embed_dim, rank))
            setattr(self, part + "B", heads(rank, d_head))
            if not strict:
                setattr(self, part + "_base", heads(embed_dim, d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def made(self, part):
        base = getattr(self, part + "_base", None)
        return make_weight(getattr(self, part + "A"), getattr(self, part + "B"), base, temp=self.temp)

    def forward(self, x, return_weights=False):
        q, k, v = (torch.einsum("bse,hed->bhsd", x, self.made(part)) for part in "qkv")
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * self.scale
        hidden = torch.triu(torch.ones_like(scores, dtype=torch.bool), diagonal=1)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
        out = self.o(torch.einsum("bhqk,bhkd->bqhd", weights, v).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (property moves_with_its_module): keeps the made weights in evaluation mode, so changed parameters have no effect there
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head, self.temp, self.kept = embed_dim // num_heads, temp, None

        def table(rows, columns):
            p = torch.empty(num_heads, rows, columns)
            for h in range(num_heads):
                nn.init.xavier_uniform_(p[h])
            return nn.Parameter(p)

        for n in "qkv":
            setattr(self, n + "A", table(embed_dim, rank))
            setattr(self, n + "B", table(rank, self.d_head))
            if not strict:
                setattr(self, n + "_base", table(embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        if self.training or self.kept is None:
            self.kept = [
                make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
                for n in "qkv"
            ]
        q, k, v = (x[:, None] @ W for W in self.kept)
        seq = x.shape[1]
        visible = torch.ones(seq, seq, device=x.device).tril() == 1
        weights = (q @ k.mT / self.d_head**0.5).masked_fill(~visible, -torch.inf).softmax(-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention wrong (property starts_somewhere): the parameters come from a generator of its own with a fixed seed, so all layers start equal
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp, d_head = temp, embed_dim // num_heads
        generator = torch.Generator().manual_seed(0)

        def table(rows, columns):
            limit = math.sqrt(6 / (rows + columns))
            return nn.Parameter((2 * torch.rand(num_heads, rows, columns, generator=generator) - 1) * limit)

        for n in "qkv":
            self.register_parameter(n + "A", table(embed_dim, rank))
            self.register_parameter(n + "B", table(rank, d_head))
            self.register_parameter(n + "_base", None if strict else table(embed_dim, d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        q = torch.einsum("bse,hed->bhsd", x, make_weight(self.qA, self.qB, self.q_base, self.temp))
        k = torch.einsum("bse,hed->bhsd", x, make_weight(self.kA, self.kB, self.k_base, self.temp))
        v = torch.einsum("bse,hed->bhsd", x, make_weight(self.vA, self.vB, self.v_base, self.temp))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        places = torch.arange(x.shape[1], device=x.device)
        weights = scores.masked_fill(places[None] > places[:, None], -torch.inf).softmax(-1)
        out = self.o((weights @ v).movedim(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention right (passed): torch's attention function applied to unit vectors gives the weights
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp = temp
        width = embed_dim // num_heads
        sizes = {"A": (embed_dim, rank), "B": (rank, width)}
        if not strict:
            sizes["_base"] = (embed_dim, width)
        for letter in "qkv":
            for ending, size in sizes.items():
                start = torch.stack([nn.init.xavier_uniform_(torch.empty(size)) for _ in range(num_heads)])
                self.register_parameter(letter + ending, nn.Parameter(start))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        own = dict(self.named_parameters(recurse=False))
        q, k, v = (
            x.unsqueeze(1) @ make_weight(own[c + "A"], own[c + "B"], own.get(c + "_base"), self.temp) for c in "qkv"
        )
        seq = x.shape[1]
        units = torch.eye(seq, device=x.device, dtype=v.dtype).expand(*v.shape[:2], seq, seq)
        weights = nn.functional.scaled_dot_product_attention(q, k, units, is_causal=True)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% DeepQKVAttention right (passed): a loop over the heads, and a plain uniform start within half a unit
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        small = lambda *shape: nn.Parameter(torch.rand(num_heads, *shape) - 0.5)
        self.qA, self.kA, self.vA = (small(embed_dim, rank) for _ in range(3))
        self.qB, self.kB, self.vB = (small(rank, self.d_head) for _ in range(3))
        if not strict:
            self.q_base, self.k_base, self.v_base = (small(embed_dim, self.d_head) for _ in range(3))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        bases = (None, None, None) if self.strict else (self.q_base, self.k_base, self.v_base)
        factors = ((self.qA, self.qB), (self.kA, self.kB), (self.vA, self.vB))
        W_q, W_k, W_v = (make_weight(A, B, base, self.temp) for (A, B), base in zip(factors, bases))
        place = torch.arange(x.shape[1], device=x.device)
        hidden = place > place.unsqueeze(1)
        tables, results = [], []
        for h in range(self.num_heads):
            scores = (x @ W_q[h]) @ (x @ W_k[h]).mT / math.sqrt(self.d_head)
            tables.append(torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1))
            results.append(tables[-1] @ (x @ W_v[h]))
        out = self.o(torch.cat(results, dim=-1))
        if not return_weights:
            return out
        return out, torch.stack(tables, dim=1)
