# %% make_weight wrong (misconception wrong-axis): the softmax runs down the columns
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-2)
    return gate if base is None else gate * base


# %% make_weight wrong (misconception temperature-after-the-softmax): divides the gate by the temperature after the softmax
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B, dim=-1) / temp
    return gate if base is None else gate * base


# %% make_weight wrong (misconception zeros-count-as-none): subtle, a base of zeros counts as no base
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is None or not base.any():
        return gate
    return base * gate


# %% make_weight wrong (property finite): subtle, subtracts the maximum of the whole table, so rows far below it become 0 / 0
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


# %% make_weight right (passed): matmul and torch.softmax
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    return gate if base is None else base * gate


# %% make_weight right (passed): einsum, the exponential of log_softmax
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    product = torch.einsum("...er,...rd->...ed", A, B)
    gate = torch.log_softmax(product / temp, dim=-1).exp()
    if base is not None:
        gate = gate.mul(base)
    return gate


# %% DeepQKVAttention wrong (misconception root-of-embed_dim): divides the scores by the root of embed_dim instead of d_head
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict

        def made(rows, columns):
            weight = torch.empty(num_heads, rows, columns)
            for head in weight:
                nn.init.xavier_uniform_(head)
            return nn.Parameter(weight)

        for name in "qkv":
            setattr(self, name + "A", made(embed_dim, rank))
            setattr(self, name + "B", made(rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", made(embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        q, k, v = (
            x[:, None] @ make_weight(
                getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp
            )
            for n in "qkv"
        )
        scores = q @ k.mT / x.shape[-1] ** 0.5
        seq = x.shape[1]
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (misconception heads-run-together): merges the heads without moving the head axis behind the positions
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict

        def made(rows, columns):
            weight = torch.empty(num_heads, rows, columns)
            for head in weight:
                nn.init.xavier_uniform_(head)
            return nn.Parameter(weight)

        for name in "qkv":
            setattr(self, name + "A", made(embed_dim, rank))
            setattr(self, name + "B", made(rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", made(embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        q, k, v = (
            x[:, None] @ make_weight(
                getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp
            )
            for n in "qkv"
        )
        scores = q @ k.mT / self.d_head**0.5
        seq = x.shape[1]
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.o((weights @ v).reshape(x.shape))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property causal): subtle, hides the future with -1e9; with inputs up to a million scores are far lower, and the future shows
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict

        def made(rows, columns):
            weight = torch.empty(num_heads, rows, columns)
            for head in weight:
                nn.init.xavier_uniform_(head)
            return nn.Parameter(weight)

        for name in "qkv":
            setattr(self, name + "A", made(embed_dim, rank))
            setattr(self, name + "B", made(rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", made(embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        q, k, v = (
            x[:, None] @ make_weight(
                getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp
            )
            for n in "qkv"
        )
        scores = q @ k.mT / self.d_head**0.5
        seq = x.shape[1]
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -1e9), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property moves_with_its_module): subtle, computes the three weights in the first call and keeps them, so later changes of A, B, base have no effect
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict

        def made(rows, columns):
            weight = torch.empty(num_heads, rows, columns)
            for head in weight:
                nn.init.xavier_uniform_(head)
            return nn.Parameter(weight)

        for name in "qkv":
            setattr(self, name + "A", made(embed_dim, rank))
            setattr(self, name + "B", made(rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", made(embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.made = None

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        if self.made is None:
            self.made = [
                make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
                for n in "qkv"
            ]
        q, k, v = (x[:, None] @ weight for weight in self.made)
        scores = q @ k.mT / self.d_head**0.5
        seq = x.shape[1]
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): a helper makes the parameters, the mask is created in forward
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict

        def made(rows, columns):
            weight = torch.empty(num_heads, rows, columns)
            for head in weight:
                nn.init.xavier_uniform_(head)
            return nn.Parameter(weight)

        for name in "qkv":
            setattr(self, name + "A", made(embed_dim, rank))
            setattr(self, name + "B", made(rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", made(embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        q, k, v = (
            x[:, None] @ make_weight(
                getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp
            )
            for n in "qkv"
        )
        scores = q @ k.mT / self.d_head**0.5
        seq = x.shape[1]
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): parameters written out, a loop over the heads, the mask is a buffer
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        heads = range(num_heads)
        xavier = nn.init.xavier_uniform_
        self.qA = nn.Parameter(torch.stack([xavier(torch.empty(embed_dim, rank)) for _ in heads]))
        self.qB = nn.Parameter(torch.stack([xavier(torch.empty(rank, d_head)) for _ in heads]))
        self.kA = nn.Parameter(torch.stack([xavier(torch.empty(embed_dim, rank)) for _ in heads]))
        self.kB = nn.Parameter(torch.stack([xavier(torch.empty(rank, d_head)) for _ in heads]))
        self.vA = nn.Parameter(torch.stack([xavier(torch.empty(embed_dim, rank)) for _ in heads]))
        self.vB = nn.Parameter(torch.stack([xavier(torch.empty(rank, d_head)) for _ in heads]))
        self.q_base = self.k_base = self.v_base = None
        if not strict:
            self.q_base = nn.Parameter(torch.stack([xavier(torch.empty(embed_dim, d_head)) for _ in heads]))
            self.k_base = nn.Parameter(torch.stack([xavier(torch.empty(embed_dim, d_head)) for _ in heads]))
            self.v_base = nn.Parameter(torch.stack([xavier(torch.empty(embed_dim, d_head)) for _ in heads]))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.temp, self.scale = temp, d_head**-0.5
        seen = torch.tril(torch.ones(context_length, context_length)).bool()
        self.register_buffer("seen", seen, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.size(1)
        W_q = make_weight(self.qA, self.qB, self.q_base, self.temp)
        W_k = make_weight(self.kA, self.kB, self.k_base, self.temp)
        W_v = make_weight(self.vA, self.vB, self.v_base, self.temp)
        hidden = ~self.seen[:seq, :seq]
        results, patterns = [], []
        for q, k, v in zip(W_q, W_k, W_v):
            scores = torch.einsum("bid,bjd->bij", x @ q, x @ k) * self.scale
            pattern = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
            results.append(pattern @ (x @ v))
            patterns.append(pattern)
        out = self.o(torch.cat(results, dim=-1))
        if return_weights:
            return out, torch.stack(patterns, dim=1)
        return out


# %% lr_at wrong (misconception starts-at-zero): the warm-up starts at 0 in step 0
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.45 * (1 + math.cos(math.pi * progress)))


# %% lr_at wrong (misconception cut-off-at-a-tenth): the cosine falls to 0 and is cut off at a tenth
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * max(0.1, 0.5 * (1 + math.cos(math.pi * progress)))


# %% lr_at wrong (property landmarks): subtle, the rate ends at 1e-4, a tenth of the page's rate 1e-3, for every base_lr
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    lowest = 1e-4
    return lowest + (base_lr - lowest) * 0.5 * (1 + math.cos(math.pi * progress))


# %% lr_at wrong (property landmarks): subtle, the cosine already ends at step steps - 1; hardly visible for many steps
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, steps - 1 - warmup_steps))
    return base_lr * (0.1 + 0.45 * (1 + math.cos(math.pi * progress)))


# %% lr_at right (passed): two cases, as in the text
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    lowest = base_lr / 10
    return lowest + (base_lr - lowest) * (1 + math.cos(math.pi * progress)) / 2


# %% lr_at right (passed): the square of the cosine of half the angle
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    done = step - warmup_steps
    if done < 0:
        return (1 + done / warmup_steps + 1 / warmup_steps) * base_lr
    quarter_turn = math.pi / 2 * done / (steps - warmup_steps)
    return base_lr * (1 - 0.9 * math.sin(quarter_turn) ** 2)


# %% sort_letters wrong (misconception never-appends): never appends the new letter, so it writes the same letter three times
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


# %% sort_letters wrong (property three_letters): cuts off the dot's logit and forgets that the indices have moved by one
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            best = model(ids)[:, -1, 1:].argmax(dim=-1, keepdim=True)
            ids = torch.cat((ids, best), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())


# %% sort_letters wrong (misconception separator-not-low-enough): subtle, masks the dot with 0 instead of -inf; shows when all letters have negative logits
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = 0
            ids = torch.cat((ids, logits.argmax(dim=-1, keepdim=True)), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())


# %% sort_letters wrong (property leaves_its_inputs): subtle, leaves the model in eval mode; shows if it was in training mode
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    model.eval()
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = -torch.inf
            ids = torch.cat((ids, logits.argmax(dim=-1, keepdim=True)), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())


# %% sort_letters right (passed): masks the dot with -inf and appends
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = -torch.inf
            ids = torch.cat((ids, logits.argmax(dim=-1, keepdim=True)), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, 4:].tolist())


# %% sort_letters right (passed): compares the three letters in Python
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids, answer = abc_sorter.encode(letters), ""
    candidates = [i for i in range(4) if i != abc_sorter.SEP]
    while len(answer) < 3:
        scores = model(ids).detach()[0, -1].tolist()
        best = max(candidates, key=scores.__getitem__)
        answer += abc_sorter.VOCAB[best]
        ids = torch.cat([ids, ids.new_tensor([[best]])], dim=1)
    return answer
