# %% make_weight wrong (misconception wrong-axis): the softmax runs over the rows (dim=-2), so columns sum to one
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-2)
    return gate if base is None else gate * base


# %% make_weight wrong (misconception temperature-multiplied): multiplies the product by the temperature instead of dividing
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(temp * (A @ B), dim=-1)
    if base is None:
        return gate
    return base * gate


# %% make_weight wrong (misconception zeros-count-as-none): subtle, a base of zeros counts as no base
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is not None and base.any():
        gate = gate * base
    return gate


# %% make_weight wrong (property lets_gradients_through): subtle, multiplies the gate in place (gate *= base); the values are right, but backward raises an error
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is not None:
        gate *= base
    return gate


# %% make_weight wrong (property finite): subtle, a softmax by hand that subtracts the maximum of the whole tensor; it shows as nan in rows far below this maximum
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
    return gate if base is None else gate * base


# %% make_weight right (passed): matmul and torch's softmax
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    weight = torch.matmul(A, B).div(temp).softmax(dim=-1)
    if base is not None:
        weight = torch.mul(weight, base)
    return weight


# %% make_weight right (passed): einsum, and a softmax by hand that subtracts the maximum of each row
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    product = torch.einsum("...er,...rd->...ed", A, B) / temp
    powers = torch.exp(product - product.amax(dim=-1, keepdim=True).detach())
    total = powers.sum(dim=-1, keepdim=True)
    if base is None:
        return powers / total
    return powers * base / total


# %% DeepQKVAttention wrong (misconception heads-run-together): the heads are merged by a reshape without a transpose
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head, self.temp, self.strict = embed_dim // num_heads, temp, strict
        for name in "qkv":
            shapes = {"A": (embed_dim, rank), "B": (rank, self.d_head)}
            if not strict:
                shapes["_base"] = (embed_dim, self.d_head)
            for end, shape in shapes.items():
                parameter = nn.Parameter(torch.empty(num_heads, *shape))
                for head in parameter:
                    nn.init.xavier_uniform_(head)
                setattr(self, name + end, parameter)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / self.d_head**0.5
        mask = torch.ones(seq, seq, dtype=torch.bool, device=x.device).tril()
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
        out = self.o((weights @ v).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property made_anew): the three weights are made once, in __init__, so they do not follow the parameters
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads

        def new(rows, columns):
            parameter = nn.Parameter(torch.empty(num_heads, rows, columns))
            for head in parameter:
                nn.init.xavier_uniform_(head)
            return parameter

        self.qA, self.qB = new(embed_dim, rank), new(rank, self.d_head)
        self.kA, self.kB = new(embed_dim, rank), new(rank, self.d_head)
        self.vA, self.vB = new(embed_dim, rank), new(rank, self.d_head)
        if not strict:
            self.q_base = new(embed_dim, self.d_head)
            self.k_base = new(embed_dim, self.d_head)
            self.v_base = new(embed_dim, self.d_head)
        self.W_q = make_weight(self.qA, self.qB, None if strict else self.q_base, temp)
        self.W_k = make_weight(self.kA, self.kB, None if strict else self.k_base, temp)
        self.W_v = make_weight(self.vA, self.vB, None if strict else self.v_base, temp)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril().bool(), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q, k, v = x[:, None] @ self.W_q, x[:, None] @ self.W_k, x[:, None] @ self.W_v
        scores = q @ k.mT / self.d_head**0.5
        weights = torch.softmax(scores.masked_fill(~self.mask[:seq, :seq], -torch.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (difference): subtle, divides the scores by the root of rank; it shows when rank differs from the width of a head
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.rank, self.temp, self.strict = rank, temp, strict
        for name in "qkv":
            shapes = {"A": (embed_dim, rank), "B": (rank, d_head)}
            if not strict:
                shapes["_base"] = (embed_dim, d_head)
            for end, shape in shapes.items():
                parameter = nn.Parameter(torch.empty(num_heads, *shape))
                for head in parameter:
                    nn.init.xavier_uniform_(head)
                setattr(self, name + end, parameter)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q, k, v = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / self.rank**0.5
        mask = torch.ones(seq, seq, dtype=torch.bool, device=x.device).tril()
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property causal): subtle, hides the future with -1e9; it shows with inputs near a million, whose scores can be lower than that
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head, self.temp, self.strict = embed_dim // num_heads, temp, strict
        for name in "qkv":
            shapes = {"A": (embed_dim, rank), "B": (rank, self.d_head)}
            if not strict:
                shapes["_base"] = (embed_dim, self.d_head)
            for end, shape in shapes.items():
                parameter = nn.Parameter(torch.empty(num_heads, *shape))
                for head in parameter:
                    nn.init.xavier_uniform_(head)
                setattr(self, name + end, parameter)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool(), persistent=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q, k, v = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / self.d_head**0.5
        weights = torch.softmax(scores.masked_fill(self.mask[:seq, :seq], -1e9), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property temperature): subtle, forgets to pass temp to make_weight; it shows when temp is not 1
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head, self.temp, self.strict = embed_dim // num_heads, temp, strict
        for name in "qkv":
            shapes = {"A": (embed_dim, rank), "B": (rank, self.d_head)}
            if not strict:
                shapes["_base"] = (embed_dim, self.d_head)
            for end, shape in shapes.items():
                parameter = nn.Parameter(torch.empty(num_heads, *shape))
                for head in parameter:
                    nn.init.xavier_uniform_(head)
                setattr(self, name + end, parameter)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q, k, v = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / self.d_head**0.5
        mask = torch.ones(seq, seq, dtype=torch.bool, device=x.device).tril()
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): parameters made in a loop, broadcast matmul, mask created in forward
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head, self.temp, self.strict = embed_dim // num_heads, temp, strict
        for name in "qkv":
            shapes = {"A": (embed_dim, rank), "B": (rank, self.d_head)}
            if not strict:
                shapes["_base"] = (embed_dim, self.d_head)
            for end, shape in shapes.items():
                parameter = nn.Parameter(torch.empty(num_heads, *shape))
                for head in parameter:
                    nn.init.xavier_uniform_(head)
                setattr(self, name + end, parameter)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q, k, v = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / self.d_head**0.5
        mask = torch.ones(seq, seq, dtype=torch.bool, device=x.device).tril()
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): one head after another with einsum, a buffer of -inf added to the scores, heads concatenated
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads = num_heads
        self.d_head = embed_dim // num_heads
        self.temp = temp

        def fresh(rows, columns):
            heads = [nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(num_heads)]
            return nn.Parameter(torch.stack(heads))

        self.qA = fresh(embed_dim, rank)
        self.qB = fresh(rank, self.d_head)
        self.kA = fresh(embed_dim, rank)
        self.kB = fresh(rank, self.d_head)
        self.vA = fresh(embed_dim, rank)
        self.vB = fresh(rank, self.d_head)
        if strict:
            self.q_base = self.k_base = self.v_base = None
        else:
            self.q_base = fresh(embed_dim, self.d_head)
            self.k_base = fresh(embed_dim, self.d_head)
            self.v_base = fresh(embed_dim, self.d_head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        hide = torch.full((context_length, context_length), -torch.inf).triu(diagonal=1)
        self.register_buffer("hide", hide, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        W_q = make_weight(self.qA, self.qB, self.q_base, self.temp)
        W_k = make_weight(self.kA, self.kB, self.k_base, self.temp)
        W_v = make_weight(self.vA, self.vB, self.v_base, self.temp)
        results, patterns = [], []
        for h in range(self.num_heads):
            q, k, v = (torch.einsum("bse,ed->bsd", x, W[h]) for W in (W_q, W_k, W_v))
            scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.d_head)
            pattern = (scores + self.hide[:seq, :seq]).softmax(dim=-1)
            results.append(torch.einsum("bqk,bkd->bqd", pattern, v))
            patterns.append(pattern)
        output = self.o(torch.cat(results, dim=-1))
        if return_weights:
            return output, torch.stack(patterns, dim=1)
        return output


# %% lr_at wrong (misconception starts-at-zero): the warm-up starts at 0, step / warmup_steps
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * progress))


# %% lr_at wrong (misconception wave-from-step-zero): the cosine runs over all steps instead of starting after the warm-up
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    low = base_lr / 10
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * step / steps))


# %% lr_at wrong (misconception warm-up-one-step-long): subtle, <= instead of <; it shows only at step warmup_steps, where the rate is above base_lr
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step <= warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * progress))


# %% lr_at wrong (property landmarks): subtle, the lowest rate is always 1e-4; it shows when base_lr is not 1e-3
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = 1e-4
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * progress))


# %% lr_at wrong (misconception cut-off-at-a-tenth): subtle, a cosine down to 0 that is cut off at a tenth; both ends are right, the steps between are not
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return max(base_lr * 0.5 * (1 + math.cos(math.pi * progress)), base_lr / 10)


# %% lr_at right (passed): 0.55 plus 0.45 times the cosine
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    angle = math.pi * (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.55 + 0.45 * math.cos(angle))


# %% lr_at right (passed): the square of the cosine of half the angle, and the full rate minus what is still missing in the warm-up
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    missing = warmup_steps - 1 - step
    if missing >= 0:
        return base_lr - base_lr * missing / warmup_steps
    left = steps - step
    share = math.sin(0.5 * math.pi * left / (steps - warmup_steps)) ** 2
    return share * base_lr + (1 - share) * base_lr / 10


# %% sort_letters wrong (misconception separator-not-forbidden): the dot is not masked out
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            new = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            ids = torch.cat([ids, new], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, 4:].tolist())


# %% sort_letters wrong (misconception never-appends): the written letter is not appended to the ids, so every pass is the first pass
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[abc_sorter.SEP] = -torch.inf
            answer += abc_sorter.VOCAB[logits.argmax().item()]
    return answer


# %% sort_letters wrong (misconception separator-not-low-enough): subtle, the dot's logit becomes 0 instead of -inf; it shows when the logits of all letters are negative
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = 0.0
            ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, 4:].tolist())


# %% sort_letters wrong (misconception letters-of-the-question-only): subtle, allows only letters of the question that are not yet used up; it shows when the model writes other letters
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    left = ids[0, :3].tolist()
    answer = ""
    for _ in range(3):
        logits = model(ids)[0, -1].tolist()
        best = max(left, key=lambda i: logits[i])
        left.remove(best)
        answer += abc_sorter.VOCAB[best]
        ids = torch.cat([ids, torch.tensor([[best]])], dim=1)
    return answer


# %% sort_letters wrong (property leaves_its_inputs): subtle, leaves the model in evaluation mode; it shows when the model was in training mode
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    model.eval()
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = -torch.inf
            ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, 4:].tolist())


# %% sort_letters right (passed): no_grad, masked_fill with -inf, concatenates tensors
@torch.no_grad()
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    start = ids.shape[1]
    while ids.shape[1] < start + 3:
        logits = model(ids)[:, -1]
        is_dot = torch.arange(logits.shape[-1], device=logits.device) == abc_sorter.SEP
        new = logits.masked_fill(is_dot, -torch.inf).argmax(dim=-1, keepdim=True)
        ids = torch.cat((ids, new), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, start:].tolist())


# %% sort_letters right (passed): Python's max over the ids that are not the dot
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    known = abc_sorter.encode(letters)
    answer = []
    for _ in range(3):
        scores = model(known).detach()[0, -1].tolist()
        candidates = [i for i in range(len(scores)) if i != abc_sorter.SEP]
        best = max(candidates, key=scores.__getitem__)
        answer.append(abc_sorter.VOCAB[best])
        known = torch.hstack((known, known.new_full((1, 1), best)))
    return "".join(answer)


