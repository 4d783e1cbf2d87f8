# %% make_weight wrong (misconception temperature-multiplied): multiplies the product by the temperature instead of dividing
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B * temp, dim=-1)
    return gate if base is None else gate * base


# %% make_weight wrong (misconception wrong-axis): softmax over the embed_dim axis, so columns sum to one instead of rows
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax((A @ B) / temp, dim=-2)
    if base is not None:
        gate = gate * base
    return gate


# %% make_weight wrong (misconception zeros-count-as-none): (subtle) a base of zeros counts as no base, so the gate comes back instead of zeros
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is not None and base.any():
        return base * gate
    return gate


# %% make_weight wrong (property finite): (subtle) subtracts the maximum of the whole table, so rows far below it become 0 / 0 = nan
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


# %% make_weight right (passed): matmul, divide, softmax along the last axis
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(torch.matmul(A, B) / temp, dim=-1)
    if base is None:
        return gate
    return base * gate


# %% make_weight right (passed): einsum and a softmax by hand that subtracts each row's maximum
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
        weight = weight * base
    return weight


# %% DeepQKVAttention wrong (misconception root-of-embed_dim): divides the scores by the root of embed_dim instead of d_head
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.embed_dim, self.num_heads, self.temp, self.strict = embed_dim, num_heads, temp, strict
        d_head = embed_dim // num_heads
        for name in "qkv":
            shapes = {name + "A": (embed_dim, rank), name + "B": (rank, d_head)}
            if not strict:
                shapes[name + "_base"] = (embed_dim, d_head)
            for full, shape in shapes.items():
                parameter = nn.Parameter(torch.empty(num_heads, *shape))
                for head in parameter:
                    nn.init.xavier_uniform_(head)
                setattr(self, full, parameter)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        wq, wk, wv = (
            make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
            for n in "qkv"
        )
        x_ = x[:, None]
        q, k, v = x_ @ wq, x_ @ wk, x_ @ wv
        seq = x.shape[1]
        scores = q @ k.transpose(-2, -1) / self.embed_dim**0.5
        scores = scores.masked_fill(self.mask[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (misconception heads-run-together): merges the heads without moving the head axis behind the positions
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head, self.temp = embed_dim // num_heads, temp

        def made(rows, columns):
            parameter = nn.Parameter(torch.empty(num_heads, rows, columns))
            for head in range(num_heads):
                nn.init.xavier_uniform_(parameter.data[head])
            return parameter

        self.qA, self.kA, self.vA = (made(embed_dim, rank) for _ in range(3))
        self.qB, self.kB, self.vB = (made(rank, self.d_head) for _ in range(3))
        self.q_base = self.k_base = self.v_base = None
        if not strict:
            self.q_base, self.k_base, self.v_base = (made(embed_dim, self.d_head) for _ in range(3))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        q = x[:, None] @ make_weight(self.qA, self.qB, self.q_base, self.temp)
        k = x[:, None] @ make_weight(self.kA, self.kB, self.k_base, self.temp)
        v = x[:, None] @ make_weight(self.vA, self.vB, self.v_base, self.temp)
        batch, seq, width = x.shape
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.mT / self.d_head**0.5).masked_fill(future, -torch.inf)
        weights = scores.softmax(dim=-1)
        out = self.o((weights @ v).reshape(batch, seq, width))
        if return_weights:
            return out, weights
        return out


# %% DeepQKVAttention wrong (property causal): (subtle) masks with -1e9, so later positions leak when scores are below -1e9 (large inputs)
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head, self.temp, self.strict = embed_dim // num_heads, temp, strict
        for name in "qkv":
            self.register_parameter(name + "A", nn.Parameter(torch.empty(num_heads, embed_dim, rank)))
            self.register_parameter(name + "B", nn.Parameter(torch.empty(num_heads, rank, self.d_head)))
            if not strict:
                self.register_parameter(name + "_base", nn.Parameter(torch.empty(num_heads, embed_dim, self.d_head)))
        for parameter in self.parameters():
            for head in parameter:
                nn.init.xavier_uniform_(head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        seq = x.size(1)
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.mT / self.d_head**0.5).masked_fill(future, -1e9)
        weights = scores.softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property moves_with_its_module): (subtle) makes its weights in the first call and keeps them, so later changes of the parameters have no effect
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head, self.temp, self.strict = embed_dim // num_heads, temp, strict
        for name in "qkv":
            self.register_parameter(name + "A", nn.Parameter(torch.empty(num_heads, embed_dim, rank)))
            self.register_parameter(name + "B", nn.Parameter(torch.empty(num_heads, rank, self.d_head)))
            if not strict:
                self.register_parameter(name + "_base", nn.Parameter(torch.empty(num_heads, embed_dim, self.d_head)))
        for parameter in self.parameters():
            for head in parameter:
                nn.init.xavier_uniform_(head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.made = None

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        if self.made is None:
            self.made = [
                make_weight(
                    getattr(self, n + "A"), getattr(self, n + "B"),
                    None if self.strict else getattr(self, n + "_base"), self.temp,
                )
                for n in "qkv"
            ]
        q, k, v = (x.unsqueeze(1) @ weight for weight in self.made)
        seq = x.size(1)
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.mT / self.d_head**0.5).masked_fill(future, -torch.inf)
        weights = scores.softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): explicit parameters, mask in each call, merge with transpose and flatten
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.d_head, self.temp = embed_dim // num_heads, temp

        def made(rows, columns):
            parameter = nn.Parameter(torch.empty(num_heads, rows, columns))
            for head in range(num_heads):
                nn.init.xavier_uniform_(parameter.data[head])
            return parameter

        self.qA, self.kA, self.vA = (made(embed_dim, rank) for _ in range(3))
        self.qB, self.kB, self.vB = (made(rank, self.d_head) for _ in range(3))
        self.q_base = self.k_base = self.v_base = None
        if not strict:
            self.q_base, self.k_base, self.v_base = (made(embed_dim, self.d_head) for _ in range(3))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        q = x[:, None] @ make_weight(self.qA, self.qB, self.q_base, self.temp)
        k = x[:, None] @ make_weight(self.kA, self.kB, self.k_base, self.temp)
        v = x[:, None] @ make_weight(self.vA, self.vB, self.v_base, self.temp)
        seq = x.shape[1]
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        scores = (q @ k.mT / self.d_head**0.5).masked_fill(future, -torch.inf)
        weights = scores.softmax(dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        if return_weights:
            return out, weights
        return out


# %% DeepQKVAttention right (passed): one head at a time in a loop, mask as a buffer
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        for name in "qkv":
            self.register_parameter(name + "A", nn.Parameter(0.3 * torch.randn(num_heads, embed_dim, rank)))
            self.register_parameter(name + "B", nn.Parameter(0.3 * torch.randn(num_heads, rank, self.d_head)))
            if not strict:
                base = nn.Parameter(0.3 * torch.randn(num_heads, embed_dim, self.d_head))
                self.register_parameter(name + "_base", base)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        visible = torch.tril(torch.ones(context_length, context_length)).bool()
        self.register_buffer("visible", visible, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[1]
        results, patterns = [], []
        for h in range(self.num_heads):
            parts = []
            for name in "qkv":
                A, B = getattr(self, name + "A")[h], getattr(self, name + "B")[h]
                base = None if self.strict else getattr(self, name + "_base")[h]
                parts.append(x @ make_weight(A, B, base=base, temp=self.temp))
            queries, keys, values = parts
            scores = torch.einsum("bqd,bkd->bqk", queries, keys) / math.sqrt(self.d_head)
            scores = scores.masked_fill(~self.visible[:seq, :seq], -torch.inf)
            pattern = torch.softmax(scores, dim=-1)
            patterns.append(pattern)
            results.append(pattern @ values)
        output = self.o(torch.cat(results, dim=-1))
        if return_weights:
            return output, torch.stack(patterns, dim=1)
        return output


# %% lr_at wrong (misconception starts-at-zero): the warm-up starts at 0 instead of base_lr / warmup_steps
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.9 * (1 + math.cos(math.pi * progress)) / 2)


# %% lr_at wrong (misconception wave-from-step-zero): the cosine counts from step 0, not from the end of the warm-up
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    return base_lr * (0.1 + 0.9 * (1 + math.cos(math.pi * step / steps)) / 2)


# %% lr_at wrong (misconception warm-up-one-step-long): (subtle) the warm-up lasts one step too long: step warmup_steps gets more than base_lr
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step <= warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.9 * (1 + math.cos(math.pi * progress)) / 2)


# %% lr_at wrong (property landmarks): (subtle) the lowest rate is fixed at 1e-4, a tenth only for base_lr = 1e-3
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    min_lr = 1e-4
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return min_lr + (base_lr - min_lr) * 0.5 * (1 + math.cos(math.pi * progress))


# %% lr_at right (passed): warm-up, then the lowest rate plus a falling part
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    low = base_lr / 10
    done = (step - warmup_steps) / (steps - warmup_steps)
    return low + (base_lr - low) * (1 + math.cos(math.pi * done)) / 2


# %% lr_at right (passed): the squared cosine of half the angle
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step >= warmup_steps:
        angle = math.pi / 2 * (step - warmup_steps) / (steps - warmup_steps)
        share = 0.1 * math.sin(angle) ** 2 + math.cos(angle) ** 2
    else:
        share = (step + 1) / warmup_steps
    return share * base_lr


# %% sort_letters wrong (misconception separator-not-forbidden): does not mask out the dot
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            best = model(ids)[0, -1].argmax()
            answer += abc_sorter.VOCAB[best.item()]
            ids = torch.cat([ids, best.view(1, 1)], dim=1)
    return answer


# %% sort_letters wrong (misconception never-appends): never appends the letter, so the same letter comes three times
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = []
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[abc_sorter.SEP] = -torch.inf
            answer.append(abc_sorter.VOCAB[logits.argmax().item()])
    return "".join(answer)


# %% sort_letters wrong (property leaves_its_inputs): (subtle) switches the model to eval and leaves it there, so a model in training mode changes its mode
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


# %% sort_letters wrong (misconception separator-not-low-enough): (subtle) sets the dot's logit to 0 instead of minus infinity, so the dot wins if all letters' logits are negative
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
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


# %% sort_letters right (passed): sets the dot's logit to minus infinity
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = -torch.inf
            ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())


# %% sort_letters right (passed): compares the letters' scores in a Python loop
@torch.no_grad()
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    while len(answer) < 3:
        scores = model(ids)[0, -1].tolist()
        choices = [i for i in range(len(scores)) if i != abc_sorter.SEP]
        best = max(choices, key=lambda i: scores[i])
        answer += abc_sorter.VOCAB[best]
        ids = torch.cat([ids, ids.new_tensor([[best]])], dim=1)
    return answer
