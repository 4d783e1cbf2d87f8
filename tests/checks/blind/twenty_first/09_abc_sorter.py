# %% make_weight wrong (misconception softmax-after-the-base): the base is multiplied into the product before the softmax, so the result is a gate again instead of base times gate
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    product = A @ B
    if base is not None:
        product = product * base
    return torch.softmax(product / temp, dim=-1)


# %% make_weight wrong (misconception temperature-after-the-softmax): divides by the temperature after the softmax instead of before, so with temp other than 1 the rows sum to 1 / temp and do not become more uniform
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B, dim=-1) / temp
    if base is None:
        return gate
    return gate * base


# %% make_weight wrong (property finite): softmax by hand that subtracts the maximum of the whole product instead of each row's; a row far below the largest entry underflows to 0 / 0 = nan with large numbers
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    scores = A @ B / temp
    powers = torch.exp(scores - scores.max())
    gate = powers / powers.sum(dim=-1, keepdim=True)
    return gate if base is None else gate * base


# %% make_weight wrong (property lets_gradients_through): multiplies by base.detach(), so the values are right but no gradient reaches base
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(torch.matmul(A, B) / temp, dim=-1)
    if base is not None:
        return base.detach() * gate
    return gate


# %% make_weight wrong (misconception axis-from-the-front): softmax along dim=1, which is the last axis only for a single head without a head axis; with several heads [heads, embed_dim, d_head] the columns sum to one instead of the rows
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = (A @ B / temp).softmax(dim=1)
    if base is not None:
        gate = gate * base
    return gate


# %% make_weight right (passed): matmul, torch.softmax along the last axis, base only if it is not None
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    return gate if base is None else base * gate


# %% make_weight right (passed): einsum with an ellipsis and a softmax by hand that subtracts each row's maximum
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    scores = torch.einsum("...er,...rd->...ed", A, B) / temp
    exponentials = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    weight = exponentials / exponentials.sum(dim=-1, keepdim=True)
    if base is not None:
        weight = weight * base
    return weight


# %% DeepQKVAttention wrong (misconception root-of-embed_dim): the scores are divided by the square root of embed_dim instead of d_head, the width of one head; wrong as soon as there is more than one head
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.embed_dim = embed_dim
        self.d_head = embed_dim // num_heads
        self.temp = temp
        self.strict = strict
        for name in "qkv":
            setattr(self, name + "A", self.start(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.start(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.start(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), diagonal=1).bool())

    def start(self, heads, rows, columns):
        numbers = torch.empty(heads, rows, columns)
        for h in range(heads):
            nn.init.xavier_uniform_(numbers[h])
        return nn.Parameter(numbers)

    def made(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q, k, v = (x.unsqueeze(1) @ self.made(name) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.embed_dim)
        scores = scores.masked_fill(self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        output = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (output, weights) if return_weights else output


# %% DeepQKVAttention wrong (misconception heads-run-together): the heads' results [batch, heads, seq, d_head] are reshaped to [batch, seq, embed_dim] without exchanging the head and seq axes, so positions and heads are mixed up and later positions leak into earlier ones
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        self.temp = temp
        self.strict = strict
        for name in "qkv":
            setattr(self, name + "A", self.start(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.start(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.start(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def start(self, heads, rows, columns):
        numbers = torch.empty(heads, rows, columns)
        for h in range(heads):
            nn.init.xavier_uniform_(numbers[h])
        return nn.Parameter(numbers)

    def made(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.made(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        later = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(later, -torch.inf).softmax(dim=-1)
        output = self.o((weights @ v).reshape(batch, seq, embed_dim))
        if return_weights:
            return output, weights
        return output


# %% DeepQKVAttention wrong (property moves_with_its_module): the made weights are kept and computed again only in training mode; in eval mode the layer uses the weights of an earlier call, so changed parameters (a step, a loaded checkpoint) have no effect
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        self.temp = temp
        self.strict = strict
        self.kept = None
        for name in "qkv":
            setattr(self, name + "A", self.start(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.start(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.start(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def start(self, heads, rows, columns):
        numbers = torch.empty(heads, rows, columns)
        for h in range(heads):
            nn.init.xavier_uniform_(numbers[h])
        return nn.Parameter(numbers)

    def made(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        if self.training or self.kept is None:
            self.kept = [self.made(name) for name in "qkv"]
        q, k, v = (x.unsqueeze(1) @ weight for weight in self.kept)
        seq = x.shape[1]
        later = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.mT / math.sqrt(self.d_head)).masked_fill(later, -torch.inf)
        weights = scores.softmax(dim=-1)
        output = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (output, weights) if return_weights else output


# %% DeepQKVAttention wrong (property finite_when_scaled): masks after the softmax (zeros above the diagonal, then divides each row by its sum); with large inputs all allowed weights of a row underflow and the row becomes 0 / 0 = nan
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        self.temp = temp
        self.strict = strict
        for name in "qkv":
            setattr(self, name + "A", self.start(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.start(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.start(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def start(self, heads, rows, columns):
        numbers = torch.empty(heads, rows, columns)
        for h in range(heads):
            nn.init.xavier_uniform_(numbers[h])
        return nn.Parameter(numbers)

    def made(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q, k, v = (x.unsqueeze(1) @ self.made(name) for name in "qkv")
        weights = torch.softmax(q @ k.mT / math.sqrt(self.d_head), dim=-1)
        weights = weights * self.mask[:seq, :seq]
        weights = weights / weights.sum(dim=-1, keepdim=True)
        output = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (output, weights) if return_weights else output


# %% DeepQKVAttention wrong (property temperature): the temperature is passed for queries and values but forgotten for the keys, whose weight is always made with temp 1; shows only if temp is not 1
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        self.temp = temp
        self.qA = self.start(num_heads, embed_dim, rank)
        self.qB = self.start(num_heads, rank, self.d_head)
        self.kA = self.start(num_heads, embed_dim, rank)
        self.kB = self.start(num_heads, rank, self.d_head)
        self.vA = self.start(num_heads, embed_dim, rank)
        self.vB = self.start(num_heads, rank, self.d_head)
        self.q_base = None if strict else self.start(num_heads, embed_dim, self.d_head)
        self.k_base = None if strict else self.start(num_heads, embed_dim, self.d_head)
        self.v_base = None if strict else self.start(num_heads, embed_dim, self.d_head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def start(self, heads, rows, columns):
        numbers = torch.empty(heads, rows, columns)
        for h in range(heads):
            nn.init.xavier_uniform_(numbers[h])
        return nn.Parameter(numbers)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        W_q = make_weight(self.qA, self.qB, self.q_base, temp=self.temp)
        W_k = make_weight(self.kA, self.kB, self.k_base)
        W_v = make_weight(self.vA, self.vB, self.v_base, temp=self.temp)
        q, k, v = x[:, None] @ W_q, x[:, None] @ W_k, x[:, None] @ W_v
        seq = x.shape[1]
        later = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.mT / math.sqrt(self.d_head)).masked_fill(later, -torch.inf)
        weights = scores.softmax(dim=-1)
        output = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (output, weights) if return_weights else output


# %% DeepQKVAttention right (passed): parameters set in a loop over q, k, v, broadcast matmul over the heads, mask kept as a buffer
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head = embed_dim // num_heads
        self.temp = temp
        self.strict = strict
        for name in "qkv":
            setattr(self, name + "A", self.start(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.start(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.start(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        later = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("later", later, persistent=False)

    def start(self, heads, rows, columns):
        numbers = torch.empty(heads, rows, columns)
        for h in range(heads):
            nn.init.xavier_uniform_(numbers[h])
        return nn.Parameter(numbers)

    def made(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        q, k, v = (x.unsqueeze(1) @ self.made(name) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)
        scores = scores.masked_fill(self.later[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        output = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (output, weights) if return_weights else output


# %% DeepQKVAttention right (passed): parameters written out one by one, einsum for every product, the mask from a comparison of aranges in forward
def small_numbers(heads, rows, columns):
    per_head = [nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(heads)]
    return nn.Parameter(torch.stack(per_head))


class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.scale = d_head**-0.5
        self.temp = temp
        self.qA, self.qB = small_numbers(num_heads, embed_dim, rank), small_numbers(num_heads, rank, d_head)
        self.kA, self.kB = small_numbers(num_heads, embed_dim, rank), small_numbers(num_heads, rank, d_head)
        self.vA, self.vB = small_numbers(num_heads, embed_dim, rank), small_numbers(num_heads, rank, d_head)
        if strict:
            self.q_base = self.k_base = self.v_base = None
        else:
            self.q_base = small_numbers(num_heads, embed_dim, d_head)
            self.k_base = small_numbers(num_heads, embed_dim, d_head)
            self.v_base = small_numbers(num_heads, embed_dim, d_head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        W_q = make_weight(self.qA, self.qB, self.q_base, self.temp)
        W_k = make_weight(self.kA, self.kB, self.k_base, self.temp)
        W_v = make_weight(self.vA, self.vB, self.v_base, self.temp)
        queries = torch.einsum("bse,hed->bhsd", x, W_q)
        keys = torch.einsum("bse,hed->bhsd", x, W_k)
        values = torch.einsum("bse,hed->bhsd", x, W_v)
        scores = torch.einsum("bhqd,bhkd->bhqk", queries, keys) * self.scale
        place = torch.arange(x.shape[1], device=x.device)
        allowed = place[None, :] <= place[:, None]
        weights = torch.where(allowed, scores, float("-inf")).softmax(dim=-1)
        mixed = torch.einsum("bhqk,bhkd->bqhd", weights, values)
        output = self.o(mixed.reshape(x.shape))
        if not return_weights:
            return output
        return output, weights


# %% lr_at wrong (misconception starts-at-zero): the warm-up starts at 0 (step / warmup_steps), so step 0 has rate 0 and step warmup_steps - 1 has less than base_lr
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * 0.5 * (1 + math.cos(math.pi * progress))


# %% lr_at wrong (misconception falls-to-zero): the cosine goes down to 0 instead of base_lr / 10
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * 0.5 * (1 + math.cos(math.pi * progress))


# %% lr_at wrong (misconception ends-one-step-early): the cosine's length is steps - warmup_steps - 1, so the tenth is reached at step steps - 1 already, step steps lies beyond the half wave, and warmup_steps = steps - 1 divides by zero
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps - 1)
    low = 0.1 * base_lr
    return low + 0.5 * (base_lr - low) * (1 + math.cos(math.pi * progress))


# %% lr_at wrong (misconception warm-up-one-step-long): the warm-up branch includes step warmup_steps (<= instead of <), so this one step gets (warmup_steps + 1) / warmup_steps of base_lr, more than the maximum
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step <= warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * (1 + math.cos(math.pi * progress)) / 2


# %% lr_at wrong (misconception cut-off-at-a-tenth): a cosine to 0 that is cut off at base_lr / 10 with max; both ends are right, but in between the rate is too low (0.5 instead of 0.55 half-way) and flat at the end
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    rate = base_lr * (1 + math.cos(math.pi * progress)) / 2
    return max(rate, base_lr / 10)


# %% lr_at right (passed): an if for the warm-up, then low plus the rest times (1 + cos) / 2
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * (1 + math.cos(math.pi * progress)) / 2


# %% lr_at right (passed): a factor in one expression, with a squared cosine of a quarter turn and weights 0.1 and 0.9
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    done = step - warmup_steps
    if done >= 0:
        height = math.cos(0.5 * math.pi * done / (steps - warmup_steps)) ** 2
        factor = 0.1 + 0.9 * height
    else:
        factor = (step + 1) / warmup_steps
    return factor * base_lr


# %% sort_letters wrong (misconception separator-not-forbidden): the dot is not masked out, so a model whose highest score is the dot's writes a dot as a letter of the answer
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            ids = torch.cat((ids, best), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())


# %% sort_letters wrong (misconception all-at-once): runs the model once and takes the best letters at the last three positions of the question, instead of appending each letter and running the model again
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        logits = model(ids).clone()
    logits[..., abc_sorter.SEP] = -torch.inf
    best = logits[0, -3:].argmax(dim=-1)
    return "".join(abc_sorter.VOCAB[i] for i in best.tolist())


# %% sort_letters wrong (misconception separator-not-low-enough): masks the dot by setting its score to 0 instead of -inf, so the dot still wins if all letters have negative scores
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            scores = model(ids)[0, -1].clone()
            scores[abc_sorter.SEP] = 0
            best = scores.argmax()
            answer += abc_sorter.VOCAB[best.item()]
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
    return answer


# %% sort_letters wrong (misconception letters-of-the-question-only): allows only letters of the question that have not been used up, so a model that writes a letter too often or a foreign letter is corrected instead of shown as it writes
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    left = ids[0, :3].tolist()
    answer = []
    with torch.no_grad():
        for _ in range(3):
            scores = model(ids)[0, -1]
            best = max(left, key=lambda i: scores[i].item())
            left.remove(best)
            answer.append(abc_sorter.VOCAB[best])
            ids = torch.cat((ids, torch.tensor([[best]])), dim=1)
    return "".join(answer)


# %% sort_letters wrong (raised): in each pass the letters and the answer so far are encoded again, so the dot stands after the written letters instead of between question and answer; only the first letter is what the model writes
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    answer = ""
    for _ in range(3):
        ids = abc_sorter.encode(letters + answer)
        with torch.no_grad():
            scores = model(ids)[0, -1].clone()
        scores[abc_sorter.SEP] = float("-inf")
        answer += abc_sorter.VOCAB[int(scores.argmax())]
    return answer


# %% sort_letters right (passed): three passes, the dot's score set to -inf on a copy, argmax, torch.cat
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            scores = model(ids)[:, -1].clone()
            scores[:, abc_sorter.SEP] = -torch.inf
            ids = torch.cat((ids, scores.argmax(dim=-1, keepdim=True)), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, 4:].tolist())


# %% sort_letters right (passed): a while loop on the answer's length, max in Python over the ids that are letters
@torch.no_grad()
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    sequence = abc_sorter.encode(letters)
    candidates = [i for i in range(4) if i != abc_sorter.SEP]
    written = ""
    while len(written) < 3:
        scores = model(sequence)[0, -1].tolist()
        choice = max(candidates, key=lambda i: scores[i])
        written = written + abc_sorter.VOCAB[choice]
        sequence = torch.cat([sequence, sequence.new_tensor([[choice]])], dim=-1)
    return written
