# %% make_weight wrong (misconception wrong-axis): the softmax runs down the columns, over embed_dim
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


# %% make_weight wrong (misconception temperature-after-the-softmax): divides by the temperature after the softmax; shows if temp is not 1
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


# %% make_weight wrong (property finite): subtle, subtracts the maximum of the whole table; a row far below it becomes 0 / 0
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
    if base is None:
        return gate
    return gate * base


# %% make_weight wrong (property leaves_its_inputs): subtle, multiplies the caller's base in place; a second call gets a changed base, and a trainable base fails
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is not None:
        base *= gate
        return base
    return gate


# %% make_weight wrong (difference milestone): subtle, clamps the product to -80..80 against overflow; shows if two entries of a row lie beyond it, such as 100 and 200
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    powers = torch.exp((A @ B / temp).clamp(-80, 80))
    gate = powers / powers.sum(dim=-1, keepdim=True)
    if base is None:
        return gate
    return gate * base


# %% make_weight right (passed): matrix product, softmax over the last axis
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    return gate if base is None else gate * base


# %% make_weight right (passed): einsum, and exp after subtracting the maximum of each row
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    product = torch.einsum("...er,...rd->...ed", A, B).div(temp)
    powers = (product - product.amax(dim=-1, keepdim=True).detach()).exp()
    weight = powers / powers.sum(dim=-1, keepdim=True)
    if base is not None:
        weight = torch.mul(base, weight)
    return weight


# %% DeepQKVAttention wrong (misconception root-of-embed_dim): divides the scores by the root of embed_dim, not of d_head
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.rank = num_heads, embed_dim // num_heads, rank
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool(), persistent=False)

    @staticmethod
    def small(heads, rows, columns):
        return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(heads)]))

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / embed_dim**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        if return_weights:
            return out, weights
        return out


# %% DeepQKVAttention wrong (misconception heads-run-together): puts the heads together without the transpose, which mixes positions and heads
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.rank = num_heads, embed_dim // num_heads, rank
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool(), persistent=False)

    @staticmethod
    def small(heads, rows, columns):
        return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(heads)]))

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / self.d_head**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).reshape(batch, seq, embed_dim))
        if return_weights:
            return out, weights
        return out


# %% DeepQKVAttention wrong (property causal): subtle, masks with -1e9 instead of -inf; with large inputs later positions get through
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.rank = num_heads, embed_dim // num_heads, rank
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool(), persistent=False)

    @staticmethod
    def small(heads, rows, columns):
        return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(heads)]))

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / self.d_head**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -1e9)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        if return_weights:
            return out, weights
        return out


# %% DeepQKVAttention wrong (difference): subtle, divides the scores by the root of rank; right if d_head equals rank, as on the page
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.rank = num_heads, embed_dim // num_heads, rank
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool(), persistent=False)

    @staticmethod
    def small(heads, rows, columns):
        return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(heads)]))

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / self.rank**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        if return_weights:
            return out, weights
        return out


# %% DeepQKVAttention wrong (property temperature): subtle, the weights of the values ignore the temperature; shows if temp is not 1
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.rank = num_heads, embed_dim // num_heads, rank
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool(), persistent=False)

    @staticmethod
    def small(heads, rows, columns):
        return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(heads)]))

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, 1.0 if name == "v" else self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / self.d_head**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        if return_weights:
            return out, weights
        return out


# %% DeepQKVAttention right (passed): all heads at once, the mask as a buffer
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.rank = num_heads, embed_dim // num_heads, rank
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)).bool(), persistent=False)

    @staticmethod
    def small(heads, rows, columns):
        return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(heads)]))

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.transpose(-2, -1) / self.d_head**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        if return_weights:
            return out, weights
        return out


# %% DeepQKVAttention right (passed): a loop over the heads, einsum, the mask made in forward by comparing positions
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads = num_heads
        self.d_head = embed_dim // num_heads
        self.temp = temp
        self.strict = strict
        self.context_length = context_length
        self.qA = nn.Parameter(torch.zeros(num_heads, embed_dim, rank))
        self.qB = nn.Parameter(torch.zeros(num_heads, rank, self.d_head))
        self.kA = nn.Parameter(torch.zeros(num_heads, embed_dim, rank))
        self.kB = nn.Parameter(torch.zeros(num_heads, rank, self.d_head))
        self.vA = nn.Parameter(torch.zeros(num_heads, embed_dim, rank))
        self.vB = nn.Parameter(torch.zeros(num_heads, rank, self.d_head))
        if not strict:
            self.q_base = nn.Parameter(torch.zeros(num_heads, embed_dim, self.d_head))
            self.k_base = nn.Parameter(torch.zeros(num_heads, embed_dim, self.d_head))
            self.v_base = nn.Parameter(torch.zeros(num_heads, embed_dim, self.d_head))
        for parameter in self.parameters():
            for head in range(num_heads):
                nn.init.xavier_uniform_(parameter.data[head])
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        position = torch.arange(x.shape[1], device=x.device)
        later = position[None, :] > position[:, None]
        results, all_weights = [], []
        for h in range(self.num_heads):
            bases = (None, None, None) if self.strict else (self.q_base[h], self.k_base[h], self.v_base[h])
            w_q = make_weight(self.qA[h], self.qB[h], bases[0], temp=self.temp)
            w_k = make_weight(self.kA[h], self.kB[h], bases[1], temp=self.temp)
            w_v = make_weight(self.vA[h], self.vB[h], bases[2], temp=self.temp)
            query, key, value = x @ w_q, x @ w_k, x @ w_v
            scores = torch.einsum("bid,bjd->bij", query, key) / math.sqrt(self.d_head)
            weights = scores.masked_fill(later, -math.inf).softmax(dim=-1)
            all_weights.append(weights)
            results.append(torch.einsum("bij,bjd->bid", weights, value))
        output = self.o(torch.cat(results, dim=-1))
        return (output, torch.stack(all_weights, dim=1)) if return_weights else output


# %% lr_at wrong (misconception starts-at-zero): the warm-up is one step late, step 0 has rate 0
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * (1 + math.cos(math.pi * progress)) / 2


# %% lr_at wrong (misconception wave-from-step-zero): the cosine's progress is step / steps, so it does not start at the full rate
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = step / steps
    low = base_lr / 10
    return low + (base_lr - low) * (1 + math.cos(math.pi * progress)) / 2


# %% lr_at wrong (misconception warm-up-one-step-long): subtle, <= in the warm-up; step warmup_steps alone gets more than base_lr
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step <= warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * (1 + math.cos(math.pi * progress)) / 2


# %% lr_at wrong (property landmarks): subtle, the lowest rate is always 1e-4; right only for the page's base_lr of 1e-3
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = 1e-4
    return low + (base_lr - low) * (1 + math.cos(math.pi * progress)) / 2


# %% lr_at wrong (property landmarks): subtle, the cosine ends at step steps - 1 instead of steps; slightly too low before the end, most with few steps
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, steps - 1 - warmup_steps))
    low = base_lr / 10
    return low + (base_lr - low) * (1 + math.cos(math.pi * progress)) / 2


# %% lr_at right (passed): the formula with (1 + cos) / 2
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * (1 + math.cos(math.pi * progress)) / 2


# %% lr_at right (passed): a share of base_lr, the cosine half written as the square of a quarter wave's cosine
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step >= warmup_steps:
        done = step - warmup_steps
        quarter = 0.5 * math.pi * done / (steps - warmup_steps)
        share = 0.1 + 0.9 * math.cos(quarter) ** 2
    else:
        share = (1 + step) / warmup_steps
    return share * base_lr


# %% sort_letters wrong (misconception never-appends): never appends the letter, so the model answers the same question three times
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[abc_sorter.SEP] = float("-inf")
            answer += abc_sorter.VOCAB[logits.argmax().item()]
    return answer


# %% sort_letters wrong (property three_letters): cuts off the dot's column and forgets to add 1 to the index
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            best = model(ids)[:, -1, 1:].argmax(dim=-1, keepdim=True)
            ids = torch.cat((ids, best), dim=1)
            answer += abc_sorter.VOCAB[best.item()]
    return answer


# %% sort_letters wrong (misconception separator-not-low-enough): subtle, masks the dot with 0 instead of -inf; shows if all letters have negative logits
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[abc_sorter.SEP] = 0.0
            best = logits.argmax()
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
            answer += abc_sorter.VOCAB[best.item()]
    return answer


# %% sort_letters wrong (property leaves_its_inputs): subtle, leaves the model in evaluation mode
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    model.eval()
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[abc_sorter.SEP] = float("-inf")
            best = logits.argmax()
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
            answer += abc_sorter.VOCAB[best.item()]
    return answer


# %% sort_letters wrong (misconception letters-of-the-question-only): subtle, allows only letters of the question that are left; shows if the model makes a mistake, such as aab -> abb
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    left = ids[0, :3].tolist()
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1]
            best = max(left, key=lambda i: logits[i].item())
            left.remove(best)
            ids = torch.cat((ids, torch.tensor([[best]])), dim=1)
            answer += abc_sorter.VOCAB[best]
    return answer


# %% sort_letters right (passed): -inf for the dot in a copy of the logits, argmax, cat
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[abc_sorter.SEP] = float("-inf")
            best = logits.argmax()
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
            answer += abc_sorter.VOCAB[best.item()]
    return answer


# %% sort_letters right (passed): compares the logits of the letters as Python numbers; the answer is read from the ids at the end
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    start = ids.shape[1]
    while ids.shape[1] < start + 3:
        scores = model(ids)[0, -1].detach().tolist()
        candidates = [i for i in range(len(scores)) if i != abc_sorter.SEP]
        best = max(candidates, key=lambda i: scores[i])
        ids = torch.cat([ids, torch.full_like(ids[:, :1], best)], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, start:].tolist())


