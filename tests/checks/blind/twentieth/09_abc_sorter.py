# %% make_weight wrong (misconception wrong-axis): the softmax runs over dim=-2 (embed_dim), so the columns of a gate sum to one instead of its rows
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-2)
    if base is None:
        return gate
    return gate * base


# %% make_weight wrong (misconception temperature-multiplied): multiplies the product by temp instead of dividing, so a high temperature makes the gates sharper; shows when temp is not 1
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    product = torch.matmul(A, B)
    gate = torch.softmax(temp * product, dim=-1)
    return gate if base is None else base * gate


# %% make_weight wrong (misconception zeros-count-as-none): tests whether base has a nonzero entry, so a base of zeros counts as not given and the gate is returned instead of zeros
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is not None and base.any():
        return gate * base
    return gate


# %% make_weight wrong (property finite): the hand-written softmax subtracts the maximum of the whole tensor instead of each row's, so rows far below it underflow to 0 / 0 = nan; shows with large numbers
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    scores = A @ B / temp
    e = torch.exp(scores - scores.max())
    gate = e / e.sum(dim=-1, keepdim=True)
    if base is not None:
        gate = gate * base
    return gate


# %% make_weight wrong (raised): softmax over dim=2 works with a heads axis, but crashes (IndexError) for a single head, where the first axis is missing
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = ((A @ B) / temp).softmax(dim=2)
    if base is None:
        return gate
    return base * gate


# %% make_weight right (passed): matrix product, torch.softmax over the last axis, early return
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
    return base * gate


# %% make_weight right (passed): einsum, and a softmax by hand that subtracts each row's maximum
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    scaled = torch.einsum("...er,...rd->...ed", A, B) / temp
    powers = (scaled - scaled.amax(dim=-1, keepdim=True)).exp()
    weight = powers / powers.sum(dim=-1, keepdim=True)
    if base is not None:
        weight = weight * base
    return weight


# %% DeepQKVAttention wrong (misconception root-of-embed_dim): the scores are divided by the root of embed_dim instead of the root of d_head; shows with more than one head
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        # A, B and bases of queries, keys and values, the output layer, and the mask.
        self.temp = temp
        self.embed_dim = embed_dim
        d_head = embed_dim // num_heads
        for name in "qkv":
            shapes = {name + "A": (embed_dim, rank), name + "B": (rank, d_head)}
            if not strict:
                shapes[name + "_base"] = (embed_dim, d_head)
            for key, shape in shapes.items():
                weight = torch.empty(num_heads, *shape)
                for head in weight:
                    nn.init.xavier_uniform_(head)
                setattr(self, key, nn.Parameter(weight))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool(), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        # Three weight matrices, then causal attention.
        batch, seq, _ = x.shape
        q, k, v = (
            x.unsqueeze(1) @ make_weight(
                getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp
            )
            for n in "qkv"
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.embed_dim)
        scores = scores.masked_fill(~self.mask[:seq, :seq], float("-inf"))
        weights = scores.softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, self.embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (misconception heads-run-together): reshapes the heads' results [batch, heads, seq, d_head] to [batch, seq, embed_dim] without exchanging heads and seq first, so positions and heads get mixed up
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        # A, B and bases of queries, keys and values, the output layer, and the mask.
        self.temp = temp
        self.d_head = embed_dim // num_heads

        def new(rows, columns):
            heads = [nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(num_heads)]
            return nn.Parameter(torch.stack(heads))

        self.qA, self.qB = new(embed_dim, rank), new(rank, self.d_head)
        self.kA, self.kB = new(embed_dim, rank), new(rank, self.d_head)
        self.vA, self.vB = new(embed_dim, rank), new(rank, self.d_head)
        self.q_base = None if strict else new(embed_dim, self.d_head)
        self.k_base = None if strict else new(embed_dim, self.d_head)
        self.v_base = None if strict else new(embed_dim, self.d_head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril() == 0, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        # Three weight matrices, then causal attention.
        batch, seq, embed_dim = x.shape
        q = x[:, None] @ make_weight(self.qA, self.qB, self.q_base, self.temp)
        k = x[:, None] @ make_weight(self.kA, self.kB, self.k_base, self.temp)
        v = x[:, None] @ make_weight(self.vA, self.vB, self.v_base, self.temp)
        scores = q @ k.mT / self.d_head**0.5
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).reshape(batch, seq, embed_dim))
        if return_weights:
            return out, weights
        return out


# %% DeepQKVAttention wrong (property moves_with_its_module): makes the three weight matrices in the first call and keeps them; later calls use old weights after A, B or base changed (and a second backward fails)
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        # A, B and bases of queries, keys and values, the output layer, and the mask.
        self.temp = temp
        self.d_head = embed_dim // num_heads
        for name in "qkv":
            shapes = {name + "A": (embed_dim, rank), name + "B": (rank, self.d_head)}
            if not strict:
                shapes[name + "_base"] = (embed_dim, self.d_head)
            for key, shape in shapes.items():
                weight = torch.empty(num_heads, *shape)
                for head in weight:
                    nn.init.xavier_uniform_(head)
                setattr(self, key, nn.Parameter(weight))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool(), persistent=False)
        self.made = None

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        # Three weight matrices, then causal attention.
        if self.made is None:
            self.made = [
                make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
                for n in "qkv"
            ]
        q, k, v = (x.unsqueeze(1) @ weight for weight in self.made)
        seq = x.shape[1]
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)
        scores = scores.masked_fill(~self.mask[:seq, :seq], float("-inf"))
        weights = scores.softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property finite_when_scaled): masks after the softmax and divides by the row sums; with inputs up to a million a later position can take all the weight, and the row becomes 0 / 0 = nan
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        # A, B and bases of queries, keys and values, the output layer, and the mask.
        self.temp = temp
        self.d_head = embed_dim // num_heads

        def new(rows, columns):
            heads = [nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(num_heads)]
            return nn.Parameter(torch.stack(heads))

        self.qA, self.qB = new(embed_dim, rank), new(rank, self.d_head)
        self.kA, self.kB = new(embed_dim, rank), new(rank, self.d_head)
        self.vA, self.vB = new(embed_dim, rank), new(rank, self.d_head)
        self.q_base = None if strict else new(embed_dim, self.d_head)
        self.k_base = None if strict else new(embed_dim, self.d_head)
        self.v_base = None if strict else new(embed_dim, self.d_head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        # Three weight matrices, then causal attention.
        q = x[:, None] @ make_weight(self.qA, self.qB, self.q_base, self.temp)
        k = x[:, None] @ make_weight(self.kA, self.kB, self.k_base, self.temp)
        v = x[:, None] @ make_weight(self.vA, self.vB, self.v_base, self.temp)
        seq = x.shape[1]
        allowed = torch.tril(torch.ones(seq, seq, device=x.device))
        weights = torch.softmax(q @ k.mT / self.d_head**0.5, dim=-1) * allowed
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        if return_weights:
            return out, weights
        return out


# %% DeepQKVAttention wrong (property temperature): the temperature is passed for queries and keys, but forgotten for the values, whose gates always use temp 1; shows when temp is not 1
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        # A, B and bases of queries, keys and values, the output layer, and the mask.
        self.temp = temp
        self.d_head = embed_dim // num_heads

        def new(rows, columns):
            heads = [nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(num_heads)]
            return nn.Parameter(torch.stack(heads))

        self.qA, self.qB = new(embed_dim, rank), new(rank, self.d_head)
        self.kA, self.kB = new(embed_dim, rank), new(rank, self.d_head)
        self.vA, self.vB = new(embed_dim, rank), new(rank, self.d_head)
        self.q_base = None if strict else new(embed_dim, self.d_head)
        self.k_base = None if strict else new(embed_dim, self.d_head)
        self.v_base = None if strict else new(embed_dim, self.d_head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril() == 0, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        # Three weight matrices, then causal attention.
        seq = x.shape[1]
        q = x[:, None] @ make_weight(self.qA, self.qB, self.q_base, temp=self.temp)
        k = x[:, None] @ make_weight(self.kA, self.kB, self.k_base, temp=self.temp)
        v = x[:, None] @ make_weight(self.vA, self.vB, self.v_base)
        scores = q @ k.mT / self.d_head**0.5
        weights = scores.masked_fill(self.mask[:seq, :seq], -torch.inf).softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        if return_weights:
            return out, weights
        return out


# %% DeepQKVAttention right (passed): setattr in a loop over q, k, v; mask as a buffer; batched matrix products
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        # A, B and bases of queries, keys and values, the output layer, and the mask.
        self.temp = temp
        self.d_head = embed_dim // num_heads
        for name in "qkv":
            shapes = {name + "A": (embed_dim, rank), name + "B": (rank, self.d_head)}
            if not strict:
                shapes[name + "_base"] = (embed_dim, self.d_head)
            for key, shape in shapes.items():
                weight = torch.empty(num_heads, *shape)
                for head in weight:
                    nn.init.xavier_uniform_(head)
                setattr(self, key, nn.Parameter(weight))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        mask = torch.ones(context_length, context_length, dtype=torch.bool).tril()
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        # Three weight matrices, then causal attention.
        batch, seq, width = x.shape
        q, k, v = (
            x.unsqueeze(1) @ make_weight(
                getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp
            )
            for n in "qkv"
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)
        scores = scores.masked_fill(~self.mask[:seq, :seq], float("-inf"))
        weights = scores.softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, width))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): every parameter written out, einsum for projections, scores and output, the mask made in forward on x.device
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        # A, B and bases of queries, keys and values, the output layer, and the mask.
        self.context_length = context_length
        self.temp = temp
        d_head = embed_dim // num_heads

        def new(rows, columns):
            heads = [nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(num_heads)]
            return nn.Parameter(torch.stack(heads))

        self.qA, self.qB = new(embed_dim, rank), new(rank, d_head)
        self.kA, self.kB = new(embed_dim, rank), new(rank, d_head)
        self.vA, self.vB = new(embed_dim, rank), new(rank, d_head)
        if strict:
            self.q_base = self.k_base = self.v_base = None
        else:
            self.q_base = new(embed_dim, d_head)
            self.k_base = new(embed_dim, d_head)
            self.v_base = new(embed_dim, d_head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        # Three weight matrices, then causal attention.
        queries = torch.einsum("bse,hed->bhsd", x, make_weight(self.qA, self.qB, self.q_base, self.temp))
        keys = torch.einsum("bse,hed->bhsd", x, make_weight(self.kA, self.kB, self.k_base, self.temp))
        values = torch.einsum("bse,hed->bhsd", x, make_weight(self.vA, self.vB, self.v_base, self.temp))
        scores = torch.einsum("bhqd,bhkd->bhqk", queries, keys) * queries.shape[-1] ** -0.5
        place = torch.arange(x.shape[1], device=x.device)
        later = place[None, :] > place[:, None]
        weights = torch.softmax(scores.masked_fill(later, -math.inf), dim=-1)
        mixed = torch.einsum("bhqk,bhkd->bqhd", weights, values)
        output = self.o(mixed.flatten(start_dim=2))
        if return_weights:
            return output, weights
        return output


# %% lr_at wrong (misconception full-turn): uses a full cosine wave (2 pi) instead of half of one: the rate falls to a tenth halfway and is back at base_lr at step steps
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * 0.5 * (1 + math.cos(2 * math.pi * progress))


# %% lr_at wrong (misconception wave-from-step-zero): the cosine runs over step / steps without subtracting the warm-up, so the rate jumps below base_lr at step warmup_steps
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = step / steps
    return base_lr * (0.1 + 0.9 * (1 + math.cos(math.pi * progress)) / 2)


# %% lr_at wrong (misconception warm-up-one-step-long): step <= warmup_steps still counts as warm-up, so step warmup_steps gets base_lr * (warmup_steps + 1) / warmup_steps, more than base_lr
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step <= warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * (1 + math.cos(math.pi * progress)) / 2


# %% lr_at wrong (misconception cut-off-at-a-tenth): the cosine falls to 0 and is cut off at base_lr / 10 by max, instead of falling to base_lr / 10; both ends are right, the steps between are too low
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    cosine = base_lr * 0.5 * (1 + math.cos(math.pi * progress))
    return max(cosine, base_lr / 10)


# %% lr_at wrong (property landmarks): the lowest rate is the constant 1e-4 instead of base_lr / 10; right only for base_lr = 1e-3
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    min_lr = 1e-4
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return min_lr + 0.5 * (base_lr - min_lr) * (1 + math.cos(math.pi * progress))


# %% lr_at right (passed): early return for the warm-up, then low + (high - low) * (1 + cos) / 2
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * progress))


# %% lr_at right (passed): a share of base_lr, with the squared cosine of half the angle
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    after = step - warmup_steps
    if after >= 0:
        angle = math.pi / 2 * after / (steps - warmup_steps)
        share = 0.1 + 0.9 * math.cos(angle) ** 2
    else:
        share = (step + 1) / warmup_steps
    return share * base_lr


# %% sort_letters wrong (misconception sorts-by-itself): sorts the letters with Python's sorted and never runs the model; shows with any model that makes a mistake
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    return "".join(sorted(letters))


# %% sort_letters wrong (property three_letters): cuts the dot off with logits[1:] but forgets to add 1 to the argmax, so every letter is the one before it (a becomes the dot, b becomes a, c becomes b)
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1]
            best = logits[1:].argmax()
            answer += abc_sorter.VOCAB[best.item()]
            ids = torch.cat([ids, best.view(1, 1)], dim=1)
    return answer


# %% sort_letters wrong (misconception separator-not-low-enough): sets the dot's logit to 0 instead of -inf; the dot is still chosen when all three letters have negative logits
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    written = []
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[abc_sorter.SEP] = 0
            best = logits.argmax()
            written.append(abc_sorter.VOCAB[best.item()])
            ids = torch.cat([ids, best.view(1, 1)], dim=1)
    return "".join(written)


# %% sort_letters wrong (difference prefix): masks the dot for the letter that is returned, but appends the unmasked argmax to the ids; if the model prefers the dot, the dot is fed back instead of the chosen letter
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1]
            allowed = logits.clone()
            allowed[:, abc_sorter.SEP] = float("-inf")
            answer += abc_sorter.VOCAB[allowed.argmax().item()]
            ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return answer


# %% sort_letters wrong (property leaves_its_inputs): calls model.eval() and never restores the mode, so a model in training mode is left in eval mode
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    model.eval()
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = -torch.inf
            ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())


# %% sort_letters right (passed): loop with -inf at the dot, torch.cat, decode the last three ids
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = -torch.inf
            ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())


# %% sort_letters right (passed): Python's max over the allowed ids, the answer grows as a string
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    text = abc_sorter.encode(letters)
    answer = ""
    while len(answer) < 3:
        scores = model(text)[0, -1].tolist()
        allowed = [i for i in range(len(scores)) if i != abc_sorter.SEP]
        best = max(allowed, key=lambda i: scores[i])
        answer += abc_sorter.VOCAB[best]
        text = torch.cat((text, text.new_tensor([[best]])), dim=1)
    return answer
