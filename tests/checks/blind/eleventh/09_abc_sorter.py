# %% make_weight wrong (misconception softmax-after-the-base): multiplies by the base before the softmax
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    product = A @ B / temp
    if base is not None:
        product = product * base
    return torch.softmax(product, dim=-1)


# %% make_weight wrong (property finite): subtracts the largest number of the whole table instead of each row's own, so rows far below it become 0 / 0 (shows with large numbers)
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


# %% make_weight wrong (property lets_gradients_through): copies the base through a list, so the values are right and no gradient reaches the base
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is not None:
        gate = gate * torch.tensor(base.tolist(), dtype=gate.dtype, device=gate.device)
    return gate


# %% make_weight right (passed): einsum for the product, exp of log_softmax
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    product = torch.einsum("...er,...rd->...ed", A, B)
    gate = nn.functional.log_softmax(product / temp, dim=-1).exp()
    if base is None:
        return gate
    return base * gate


# %% DeepQKVAttention wrong (misconception root-of-embed_dim): scales by the root of embed_dim instead of the root of d_head
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.embed_dim, self.temp, d_head = embed_dim, temp, embed_dim // num_heads

        def made(rows, columns):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(num_heads)]))

        for name in "qkv":
            setattr(self, name + "A", made(embed_dim, rank))
            setattr(self, name + "B", made(rank, d_head))
            setattr(self, name + "_base", None if strict else made(embed_dim, d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("future", torch.ones(context_length, context_length, dtype=torch.bool).triu(1))

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q, k, v = (
            x.unsqueeze(1) @ make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base"), self.temp)
            for n in "qkv"
        )
        scores = q @ k.mT / self.embed_dim**0.5
        weights = scores.masked_fill(self.future[:seq, :seq], -torch.inf).softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property temperature): passes the temperature to queries and keys only, the values always use temperature 1 (shows for temp other than 1)
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp, self.d_head = temp, embed_dim // num_heads

        def made(rows, columns):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(num_heads)]))

        for name in "qkv":
            setattr(self, name + "A", made(embed_dim, rank))
            setattr(self, name + "B", made(rank, self.d_head))
            setattr(self, name + "_base", None if strict else made(embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("future", torch.ones(context_length, context_length, dtype=torch.bool).triu(1))

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        W_q = make_weight(self.qA, self.qB, self.q_base, self.temp)
        W_k = make_weight(self.kA, self.kB, self.k_base, self.temp)
        W_v = make_weight(self.vA, self.vB, self.v_base)
        q, k, v = (x.unsqueeze(1) @ W for W in (W_q, W_k, W_v))
        scores = q @ k.mT / self.d_head**0.5
        weights = scores.masked_fill(self.future[:seq, :seq], -torch.inf).softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property causal): hides the future by adding -1e9 to scores, which large scores (inputs up to a million) overcome, so positions see later ones
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp, self.d_head = temp, embed_dim // num_heads

        def made(rows, columns):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(num_heads)]))

        for name in "qkv":
            setattr(self, name + "A", made(embed_dim, rank))
            setattr(self, name + "B", made(rank, self.d_head))
            setattr(self, name + "_base", None if strict else made(embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("future", torch.ones(context_length, context_length).triu(1))

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q, k, v = (
            x.unsqueeze(1) @ make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base"), self.temp)
            for n in "qkv"
        )
        scores = q @ k.mT / self.d_head**0.5 - 1e9 * self.future[:seq, :seq]
        weights = scores.softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): einsum per head, mask made in forward, bases absent as parameters when strict, result summed over the heads' columns of o
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.context_length, self.temp, self.strict = num_heads, context_length, temp, strict
        self.d_head = embed_dim // num_heads
        for name in ("q", "k", "v"):
            shapes = {name + "A": (embed_dim, rank), name + "B": (rank, self.d_head)}
            if not strict:
                shapes[name + "_base"] = (embed_dim, self.d_head)
            for full_name, (rows, columns) in shapes.items():
                table = nn.Parameter(torch.empty(num_heads, rows, columns))
                for head in range(num_heads):
                    nn.init.xavier_uniform_(table.data[head])
                self.register_parameter(full_name, table)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def made(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base=base, temp=self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.size(1)
        place = torch.arange(seq, device=x.device)
        allowed = place[:, None] >= place[None, :]
        q = torch.einsum("bse,hed->bhsd", x, self.made("q")) / math.sqrt(self.d_head)
        k = torch.einsum("bse,hed->bhsd", x, self.made("k"))
        v = torch.einsum("bse,hed->bhsd", x, self.made("v"))
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        scores = torch.where(allowed, scores, torch.full_like(scores, float("-inf")))
        weights = torch.softmax(scores, dim=-1)
        mixed = torch.einsum("bhqk,bhkd->bqhd", weights, v).reshape(x.shape[0], seq, -1)
        out = self.o(mixed)
        if return_weights:
            return out, weights
        return out


# %% lr_at wrong (misconception starts-at-zero): the warm-up starts at 0 (step / warmup_steps)
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress)))


# %% lr_at wrong (misconception cut-off-at-a-tenth): a cosine down to zero that is cut off at a tenth, right at both ends and in the warm-up
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return max(base_lr / 10, base_lr * 0.5 * (1 + math.cos(math.pi * progress)))


# %% lr_at wrong (property landmarks): the lower end is the fixed rate 1e-4, a tenth of 1e-3 only (shows for other base_lr)
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = 1e-4
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * progress))


# %% lr_at right (passed): cosine squared of half the angle
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step + 1 <= warmup_steps:
        return (step + 1) / warmup_steps * base_lr
    half_angle = 0.5 * math.pi * (step - warmup_steps) / (steps - warmup_steps)
    return base_lr - 0.9 * base_lr * math.sin(half_angle) ** 2


# %% sort_letters wrong (misconception all-at-once): predicts the three letters in one pass from the last three positions of the question
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        logits = model(ids)[0, -3:].clone()
    logits[:, abc_sorter.SEP] = -torch.inf
    return "".join(abc_sorter.VOCAB[i] for i in logits.argmax(dim=-1).tolist())


# %% sort_letters wrong (misconception separator-not-low-enough): gives the dot the score 0 instead of minus infinity, so the dot is written when all letters have negative scores
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    for _ in range(3):
        with torch.no_grad():
            logits = model(ids)[0, -1].clone()
        logits[abc_sorter.SEP] = 0.0
        ids = torch.cat([ids, logits.argmax().view(1, 1)], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, 4:].tolist())


# %% sort_letters wrong (misconception letters-of-the-question-only): never writes a letter more often than the question contains it, so it corrects the model instead of reporting what it writes (shows when the model is wrong)
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    left = ids[0, :3].tolist()
    for _ in range(3):
        with torch.no_grad():
            logits = model(ids)[0, -1]
        best = max(set(left), key=lambda i: logits[i].item())
        left.remove(best)
        ids = torch.cat([ids, torch.tensor([[best]], device=ids.device)], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, 4:].tolist())


# %% sort_letters right (passed): takes the maximum over the ids that are not the dot in Python, collects letters in a string
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids, written = abc_sorter.encode(letters), ""
    choices = [i for i in range(len(abc_sorter.VOCAB)) if i != abc_sorter.SEP]
    with torch.no_grad():
        while len(written) < 3:
            scores = model(ids)[0, -1].tolist()
            best = max(choices, key=scores.__getitem__)
            written += abc_sorter.VOCAB[best]
            ids = torch.cat([ids, ids.new_tensor([[best]])], dim=1)
    return written




# %% gate_base/columns wrong (misconception as-in-the-lesson): the rows sum to one, as in the lesson
def gate_base(A: Tensor, B: Tensor, base: Tensor, temp: float) -> Tensor:
    """Return the weights of all heads, as your task says."""
    return base * torch.softmax(A @ B / temp, dim=-1)


# %% gate_base/columns wrong (property finite): subtle, subtracts the largest number of all: a column far below it becomes 0 / 0, nan
def gate_base(A: Tensor, B: Tensor, base: Tensor, temp: float) -> Tensor:
    """Return the weights of all heads, as your task says."""
    scores = A @ B / temp
    powers = torch.exp(scores - scores.max())
    return base * powers / powers.sum(dim=-2, keepdim=True)


# %% gate_base/columns right (passed): einsum gives the transposed product, so the softmax runs along the last axis
def gate_base(A: Tensor, B: Tensor, base: Tensor, temp: float) -> Tensor:
    """Return the weights of all heads, as your task says."""
    columns = torch.einsum("her,hrd->hde", A, B).div(temp).softmax(dim=-1)
    return base * columns.mT


# %% gate_base/heads-compete wrong (misconception other-task-columns): the softmax runs along the inputs, so the columns of each head sum to one
def gate_base(A: Tensor, B: Tensor, base: Tensor, temp: float) -> Tensor:
    """Return the weights of all heads, as your task says."""
    return base * torch.softmax(A @ B / temp, dim=1)


# %% gate_base/heads-compete wrong (misconception temperature-after-the-softmax): subtle, divides the gates by the temperature, after the softmax: right for temp 1
def gate_base(A: Tensor, B: Tensor, base: Tensor, temp: float) -> Tensor:
    """Return the weights of all heads, as your task says."""
    gates = torch.softmax(A @ B, dim=0) / temp
    return base * gates


# %% gate_base/heads-compete right (passed): writes the softmax over the heads, with the largest head subtracted
def gate_base(A: Tensor, B: Tensor, base: Tensor, temp: float) -> Tensor:
    """Return the weights of all heads, as your task says."""
    scores = torch.bmm(A, B) / temp
    powers = torch.exp(scores - scores.amax(dim=0, keepdim=True))
    return powers / powers.sum(dim=0, keepdim=True) * base


# %% gate_base/closing wrong (misconception as-in-the-lesson): the softmax says how much passes, as in the lesson
def gate_base(A: Tensor, B: Tensor, base: Tensor, temp: float) -> Tensor:
    """Return the weights of all heads, as your task says."""
    return base * torch.softmax(A @ B / temp, dim=-1)


# %% gate_base/closing wrong (misconception product-negated): subtle, a softmax of the negative numbers instead of 1 minus the softmax: right for d_head = 2
def gate_base(A: Tensor, B: Tensor, base: Tensor, temp: float) -> Tensor:
    """Return the weights of all heads, as your task says."""
    return base * torch.softmax(-(A @ B) / temp, dim=-1)


# %% gate_base/closing right (passed): subtracts the blocked part from the base, head by head
def gate_base(A: Tensor, B: Tensor, base: Tensor, temp: float) -> Tensor:
    """Return the weights of all heads, as your task says."""
    results = []
    for a, b, own in zip(A, B, base):
        blocked = torch.softmax(a @ b / temp, dim=1)
        results.append(own - own * blocked)
    return torch.stack(results)


# %% gate_base/neutral wrong (misconception times-the-inputs): multiplies by the number of inputs instead of the number of outputs
def gate_base(A: Tensor, B: Tensor, base: Tensor, temp: float) -> Tensor:
    """Return the weights of all heads, as your task says."""
    gates = torch.softmax(A @ B / temp, dim=-1)
    return base * gates * gates.shape[1]


# %% gate_base/neutral wrong (difference factor): subtle, multiplies by the rank instead of d_head: right if both are equal, such as 3 in the lesson
def gate_base(A: Tensor, B: Tensor, base: Tensor, temp: float) -> Tensor:
    """Return the weights of all heads, as your task says."""
    gates = torch.softmax(A @ B / temp, dim=-1)
    return base * gates * A.shape[-1]


# %% gate_base/neutral right (passed): divides the gates of a row by their mean
def gate_base(A: Tensor, B: Tensor, base: Tensor, temp: float) -> Tensor:
    """Return the weights of all heads, as your task says."""
    gates = torch.softmax(torch.einsum("her,hrd->hed", A, B) / temp, dim=2)
    return base * (gates / gates.mean(dim=2, keepdim=True))
