# %% make_weight wrong (misconception axis-from-the-front): softmax along axis 1, which is the row axis only if there is no axis of heads
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=1)
    if base is None:
        return gate
    return gate * base


# %% make_weight wrong (misconception temperature-multiplied): multiplies the product by the temperature instead of dividing
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B * temp, dim=-1)
    if base is None:
        return gate
    return gate * base


# %% make_weight wrong (property finite): subtracts the maximum of the whole tensor (subtle: rows far below it become nan)
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    product = A @ B / temp
    powers = torch.exp(product - product.max())
    gate = powers / powers.sum(dim=-1, keepdim=True)
    return gate if base is None else base * gate


# %% make_weight wrong (property lets_gradients_through): with a base, no gradient reaches A and B (subtle: the values are right)
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = ((A @ B) / temp).softmax(dim=-1)
    if base is not None:
        return base * gate.detach()
    return gate


# %% make_weight wrong (misconception clamped): limits the products to -50 ... 50 before exp (subtle: shows if a row has two larger products)
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    powers = torch.exp((A @ B / temp).clamp(-50, 50))
    gate = powers / powers.sum(dim=-1, keepdim=True)
    return gate if base is None else gate * base


# %% make_weight right (passed): torch.softmax of the quotient along the last axis
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is None:
        return gate
    return gate * base


# %% make_weight right (passed): einsum, and exp after subtracting the maximum of each row
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    product = torch.einsum("...er,...rd->...ed", A, B) / temp
    powers = (product - product.amax(dim=-1, keepdim=True).detach()).exp()
    weight = powers / powers.sum(dim=-1, keepdim=True)
    if base is not None:
        weight = torch.mul(base, weight)
    return weight


# %% DeepQKVAttention wrong (misconception root-of-embed_dim): divides the scores by the root of embed_dim instead of d_head
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.new(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.new(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.new(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        mask = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    @staticmethod
    def new(*shape):
        parameter = nn.Parameter(torch.empty(*shape))
        for head in parameter:
            nn.init.xavier_uniform_(head)
        return parameter

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(embed_dim)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (misconception heads-run-together): merges the heads without moving their axis behind the positions
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.new(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.new(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.new(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        mask = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    @staticmethod
    def new(*shape):
        parameter = nn.Parameter(torch.empty(*shape))
        for head in parameter:
            nn.init.xavier_uniform_(head)
        return parameter

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property causal): masks with -1e9 instead of -inf (subtle: with inputs up to a million, later positions leak)
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.new(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.new(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.new(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        mask = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    @staticmethod
    def new(*shape):
        parameter = nn.Parameter(torch.empty(*shape))
        for head in parameter:
            nn.init.xavier_uniform_(head)
        return parameter

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        scores = scores.masked_fill(self.mask[:seq, :seq], -1e9)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property state): in eval mode without gradients, reuses the matrices of an earlier call (subtle: stale if the parameters have changed)
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.new(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.new(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.new(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        mask = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask, persistent=False)
        self.kept = {}

    @staticmethod
    def new(*shape):
        parameter = nn.Parameter(torch.empty(*shape))
        for head in parameter:
            nn.init.xavier_uniform_(head)
        return parameter

    def weight(self, name):
        if not self.training and not torch.is_grad_enabled() and name in self.kept:
            return self.kept[name]
        base = None if self.strict else getattr(self, name + "_base")
        made = make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)
        if not torch.is_grad_enabled():
            self.kept[name] = made
        return made

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property temperature): the values' matrix ignores the temperature (subtle: shows if temp is not 1)
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.new(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.new(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.new(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        mask = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    @staticmethod
    def new(*shape):
        parameter = nn.Parameter(torch.empty(*shape))
        for head in parameter:
            nn.init.xavier_uniform_(head)
        return parameter

    def weight(self, name):
        A, B = getattr(self, name + "A"), getattr(self, name + "B")
        base = None if self.strict else getattr(self, name + "_base")
        if name == "v":
            return make_weight(A, B, base)
        return make_weight(A, B, base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): all heads at once with broadcasting, the mask as a buffer
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.new(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.new(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.new(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        mask = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask, persistent=False)

    @staticmethod
    def new(*shape):
        parameter = nn.Parameter(torch.empty(*shape))
        for head in parameter:
            nn.init.xavier_uniform_(head)
        return parameter

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): one named parameter after the other, a loop over the heads, and a mask made in forward
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.context_length = context_length
        self.temp = temp

        def small(rows, columns):
            bound = (6 / (rows + columns)) ** 0.5
            return nn.Parameter((2 * torch.rand(num_heads, rows, columns) - 1) * bound)

        self.qA, self.qB = small(embed_dim, rank), small(rank, d_head)
        self.kA, self.kB = small(embed_dim, rank), small(rank, d_head)
        self.vA, self.vB = small(embed_dim, rank), small(rank, d_head)
        if strict:
            self.q_base = self.k_base = self.v_base = None
        else:
            self.q_base = small(embed_dim, d_head)
            self.k_base = small(embed_dim, d_head)
            self.v_base = small(embed_dim, d_head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        w_query = make_weight(self.qA, self.qB, base=self.q_base, temp=self.temp)
        w_key = make_weight(self.kA, self.kB, base=self.k_base, temp=self.temp)
        w_value = make_weight(self.vA, self.vB, base=self.v_base, temp=self.temp)
        place = torch.arange(x.shape[1], device=x.device)
        earlier = place[:, None] >= place[None, :]
        results, tables = [], []
        for wq, wk, wv in zip(w_query, w_key, w_value):
            scores = torch.einsum("bid,bjd->bij", x @ wq, x @ wk) / wq.shape[1] ** 0.5
            scores = torch.where(earlier, scores, float("-inf"))
            table = scores.softmax(dim=2)
            tables.append(table)
            results.append(torch.bmm(table, x @ wv))
        output = self.o(torch.cat(results, dim=-1))
        if return_weights:
            return output, torch.stack(tables, dim=1)
        return output


# %% lr_at wrong (misconception starts-at-zero): the warm-up starts at 0, because step is not increased by one
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * progress))


# %% lr_at wrong (misconception cut-off-at-a-tenth): the cosine falls to 0 and is cut off at a tenth, instead of falling to a tenth
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return max(base_lr * 0.5 * (1 + math.cos(math.pi * progress)), base_lr / 10)


# %% lr_at wrong (property landmarks): step warmup_steps - 1 already belongs to the cosine (subtle: visible only in short schedules)
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step + 1 < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress)))


# %% lr_at wrong (property landmarks): the lowest rate is always 1e-4 (subtle: right for a base_lr of 0.001)
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    min_lr = 1e-4
    return min_lr + 0.5 * (base_lr - min_lr) * (1 + math.cos(math.pi * progress))


# %% lr_at wrong (property landmarks): reaches the tenth one step early, at steps - 1 (subtle: visible only in short schedules)
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, steps - 1 - warmup_steps))
    return base_lr * (0.55 + 0.45 * math.cos(math.pi * progress))


# %% lr_at right (passed): two cases, and half a cosine between base_lr and a tenth of it
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * progress))


# %% lr_at right (passed): the smaller of two factors, with a squared sine instead of a cosine
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    rising = min(1.0, (step + 1) / warmup_steps)
    after = max(0, step - warmup_steps) / (steps - warmup_steps)
    falling = 1.0 - 0.9 * math.sin(0.5 * math.pi * after) ** 2
    return base_lr * min(rising, falling)


# %% sort_letters wrong (misconception separator-not-low-enough): sets the dot's score to 0 instead of -inf, so the dot wins if all letters have negative scores
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    written = ""
    with torch.no_grad():
        for _ in range(3):
            scores = model(ids)[0, -1].clone()
            scores[abc_sorter.SEP] = 0
            best = scores.argmax()
            written += abc_sorter.VOCAB[best.item()]
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
    return written


# %% sort_letters wrong (misconception all-at-once): reads all three letters from the last three positions of a single pass, without appending
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        scores = model(ids)[0, -3:].clone()
    scores[:, abc_sorter.SEP] = -torch.inf
    return "".join(abc_sorter.VOCAB[i] for i in scores.argmax(dim=-1).tolist())


# %% sort_letters wrong (property leaves_its_inputs): leaves the model in eval mode (subtle: shows if the model was in training mode)
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    model.eval()
    ids = abc_sorter.encode(letters)
    written = ""
    with torch.no_grad():
        for _ in range(3):
            scores = model(ids)[0, -1].clone()
            scores[abc_sorter.SEP] = -torch.inf
            best = scores.argmax()
            written += abc_sorter.VOCAB[best.item()]
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
    return written


# %% sort_letters wrong (difference): allows only the letters of the question (subtle: shows if the model prefers another letter)
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    allowed = ids[0, :3].unique()
    with torch.no_grad():
        for _ in range(3):
            scores = torch.full((len(abc_sorter.VOCAB),), -torch.inf)
            scores[allowed] = model(ids)[0, -1, allowed]
            ids = torch.cat((ids, scores.argmax().view(1, 1)), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, 4:].tolist())


# %% sort_letters wrong (property three_letters): masks the dot after the softmax (subtle: if the dot's score is 150 above the letters', all are 0)
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    written = []
    with torch.no_grad():
        for _ in range(3):
            chances = torch.softmax(model(ids)[0, -1], dim=-1)
            chances[abc_sorter.SEP] = 0.0
            best = chances.argmax().item()
            written.append(abc_sorter.VOCAB[best])
            ids = torch.cat((ids, torch.tensor([[best]])), dim=1)
    return "".join(written)


# %% sort_letters right (passed): the dot's score becomes -inf, then argmax and cat
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    written = ""
    with torch.no_grad():
        for _ in range(3):
            scores = model(ids)[0, -1].clone()
            scores[abc_sorter.SEP] = -torch.inf
            best = scores.argmax()
            written += abc_sorter.VOCAB[best.item()]
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
    return written


# %% sort_letters right (passed): the best of the ids other than the dot, found with Python's max
@torch.no_grad()
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    candidates = [i for i in range(len(abc_sorter.VOCAB)) if i != abc_sorter.SEP]
    answer = []
    while len(answer) < 3:
        text = torch.cat((ids, ids.new_tensor(answer).view(1, -1)), dim=1)
        scores = model(text)[0, -1].tolist()
        answer.append(max(candidates, key=lambda i: scores[i]))
    return "".join(abc_sorter.VOCAB[i] for i in answer)


