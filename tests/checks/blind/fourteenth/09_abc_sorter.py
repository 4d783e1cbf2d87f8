# %% make_weight wrong (misconception wrong-axis): softmax down the columns instead of along each row
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-2)
    return gate if base is None else gate * base


# %% make_weight wrong (misconception temperature-after-the-softmax): divides by the temperature after the softmax; shows when temp is not 1
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B, dim=-1) / temp
    if base is not None:
        gate = gate * base
    return gate


# %% make_weight wrong (misconception zeros-count-as-none): treats a base of zeros as no base
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = (A @ B / temp).softmax(dim=-1)
    if base is None or not base.any():
        return gate
    return base * gate


# %% make_weight wrong (property finite): subtracts the maximum of the whole tensor, so rows far below it become nan
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


# %% make_weight wrong (raised): uses bmm, which fails for a single head without the first axis
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(torch.bmm(A, B) / temp, dim=-1)
    if base is None:
        return gate
    return base * gate


# %% make_weight right (passed): matmul, softmax along the last axis, times base if it is not None
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax((A @ B) / temp, dim=-1)
    if base is None:
        return gate
    return base * gate


# %% make_weight right (passed): einsum and an own softmax that subtracts the maximum of each row
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    scores = torch.einsum("...er,...rd->...ed", A, B).div(temp)
    powers = (scores - scores.amax(dim=-1, keepdim=True).detach()).exp()
    gate = powers / powers.sum(dim=-1, keepdim=True)
    if base is not None:
        gate = torch.mul(gate, base)
    return gate


# %% DeepQKVAttention wrong (misconception root-of-embed_dim): divides the scores by the root of embed_dim instead of d_head
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        for name in "qkv":
            shapes = {"A": (embed_dim, rank), "B": (rank, self.d_head)}
            if not strict:
                shapes["_base"] = (embed_dim, self.d_head)
            for suffix, shape in shapes.items():
                weight = nn.Parameter(torch.empty(num_heads, *shape))
                for head in weight:
                    nn.init.xavier_uniform_(head)
                self.register_parameter(name + suffix, weight)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length, dtype=torch.bool)))

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        wq, wk, wv = (self.weight(name) for name in "qkv")
        q, k, v = (x.unsqueeze(1) @ w for w in (wq, wk, wv))
        scores = q @ k.transpose(-2, -1) / math.sqrt(embed_dim)
        scores = scores.masked_fill(~self.mask[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        if return_weights:
            return output, weights
        return output


# %% DeepQKVAttention wrong (misconception heads-run-together): joins the heads with reshape alone, without moving the head axis next to d_head
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        for name in "qkv":
            shapes = {"A": (embed_dim, rank), "B": (rank, self.d_head)}
            if not strict:
                shapes["_base"] = (embed_dim, self.d_head)
            for suffix, shape in shapes.items():
                weight = nn.Parameter(torch.empty(num_heads, *shape))
                for head in weight:
                    nn.init.xavier_uniform_(head)
                self.register_parameter(name + suffix, weight)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length, dtype=torch.bool)))

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        wq, wk, wv = (self.weight(name) for name in "qkv")
        q, k, v = (x.unsqueeze(1) @ w for w in (wq, wk, wv))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)
        scores = scores.masked_fill(~self.mask[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = self.o((weights @ v).reshape(batch, seq, embed_dim))
        if return_weights:
            return output, weights
        return output


# %% DeepQKVAttention wrong (property causal): masks with -1e9, so later positions leak in when the scores are below it
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        for name in "qkv":
            shapes = {"A": (embed_dim, rank), "B": (rank, self.d_head)}
            if not strict:
                shapes["_base"] = (embed_dim, self.d_head)
            for suffix, shape in shapes.items():
                weight = nn.Parameter(torch.empty(num_heads, *shape))
                for head in weight:
                    nn.init.xavier_uniform_(head)
                self.register_parameter(name + suffix, weight)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length, dtype=torch.bool)))

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        wq, wk, wv = (self.weight(name) for name in "qkv")
        q, k, v = (x.unsqueeze(1) @ w for w in (wq, wk, wv))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -1e9)
        weights = torch.softmax(scores, dim=-1)
        output = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        if return_weights:
            return output, weights
        return output


# %% DeepQKVAttention wrong (property moves_with_its_module): keeps the three weight matrices of the first call; shows when the parameters change afterwards
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        for name in "qkv":
            shapes = {"A": (embed_dim, rank), "B": (rank, self.d_head)}
            if not strict:
                shapes["_base"] = (embed_dim, self.d_head)
            for suffix, shape in shapes.items():
                weight = nn.Parameter(torch.empty(num_heads, *shape))
                for head in weight:
                    nn.init.xavier_uniform_(head)
                self.register_parameter(name + suffix, weight)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length, dtype=torch.bool)))
        self.made = None

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        if self.made is None:
            self.made = [self.weight(name) for name in "qkv"]
        wq, wk, wv = self.made
        q, k, v = (x.unsqueeze(1) @ w for w in (wq, wk, wv))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)
        scores = scores.masked_fill(~self.mask[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        if return_weights:
            return output, weights
        return output


# %% DeepQKVAttention wrong (property temperature): stores the temperature but does not pass it on; shows when temp is not 1
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        for name in "qkv":
            shapes = {"A": (embed_dim, rank), "B": (rank, self.d_head)}
            if not strict:
                shapes["_base"] = (embed_dim, self.d_head)
            for suffix, shape in shapes.items():
                weight = nn.Parameter(torch.empty(num_heads, *shape))
                for head in weight:
                    nn.init.xavier_uniform_(head)
                self.register_parameter(name + suffix, weight)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length, dtype=torch.bool)))

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        wq, wk, wv = (self.weight(name) for name in "qkv")
        q, k, v = (x.unsqueeze(1) @ w for w in (wq, wk, wv))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d_head)
        scores = scores.masked_fill(~self.mask[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        if return_weights:
            return output, weights
        return output


# %% DeepQKVAttention right (passed): einsum for all heads at once, a mask from compared indices, parameters made one by one
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads

        def new(rows, columns):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(num_heads)]))

        self.qA, self.qB = new(embed_dim, rank), new(rank, d_head)
        self.kA, self.kB = new(embed_dim, rank), new(rank, d_head)
        self.vA, self.vB = new(embed_dim, rank), new(rank, d_head)
        if not strict:
            self.q_base = new(embed_dim, d_head)
            self.k_base = new(embed_dim, d_head)
            self.v_base = new(embed_dim, d_head)
        self.strict, self.temp, self.d_head, self.context_length = strict, temp, d_head, context_length
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        bases = (None, None, None) if self.strict else (self.q_base, self.k_base, self.v_base)
        W_query = make_weight(self.qA, self.qB, bases[0], self.temp)
        W_key = make_weight(self.kA, self.kB, bases[1], self.temp)
        W_value = make_weight(self.vA, self.vB, bases[2], self.temp)
        q = torch.einsum("bse,hed->bhsd", x, W_query)
        k = torch.einsum("bse,hed->bhsd", x, W_key)
        v = torch.einsum("bse,hed->bhsd", x, W_value)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * self.d_head**-0.5
        index = torch.arange(x.shape[1], device=x.device)
        scores = scores.masked_fill(index[None, :] > index[:, None], -torch.inf)
        weights = scores.softmax(dim=-1)
        mixed = torch.einsum("bhqk,bhkd->bqhd", weights, v)
        output = self.o(mixed.flatten(start_dim=2))
        return (output, weights) if return_weights else output


# %% DeepQKVAttention right (passed): a loop over the heads, whose results are concatenated, with a mask buffer of -inf that is added
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.heads, self.temp = num_heads, temp
        self.d_head = embed_dim // num_heads
        for name in ("q", "k", "v"):
            setattr(self, name + "A", nn.Parameter(torch.zeros(num_heads, embed_dim, rank)))
            setattr(self, name + "B", nn.Parameter(torch.zeros(num_heads, rank, self.d_head)))
            base = None if strict else nn.Parameter(torch.zeros(num_heads, embed_dim, self.d_head))
            self.register_parameter(name + "_base", base)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name != "o.weight":
                    for h in range(num_heads):
                        nn.init.xavier_uniform_(parameter[h])
        later = torch.full((context_length, context_length), float("-inf")).triu(diagonal=1)
        self.register_buffer("later", later, persistent=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        seq = x.shape[-2]
        later = self.later[:seq, :seq].to(device=x.device, dtype=x.dtype)
        results, all_weights = [], []
        made = {}
        for name in ("q", "k", "v"):
            A, B, base = (getattr(self, name + suffix) for suffix in ("A", "B", "_base"))
            made[name] = make_weight(A, B, base, temp=self.temp)
        for h in range(self.heads):
            q, k, v = x @ made["q"][h], x @ made["k"][h], x @ made["v"][h]
            scores = torch.matmul(q, k.mT) / math.sqrt(self.d_head)
            w = nn.functional.softmax(scores + later, dim=-1)
            all_weights.append(w)
            results.append(torch.matmul(w, v))
        output = self.o(torch.cat(results, dim=-1))
        if return_weights:
            return output, torch.stack(all_weights, dim=1)
        return output


# %% lr_at wrong (misconception starts-at-zero): the warm-up starts at 0 instead of 1 / warmup_steps
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.45 * (1 + math.cos(math.pi * progress)))


# %% lr_at wrong (misconception falls-to-zero): the cosine falls to 0 instead of a tenth
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return 0.5 * base_lr * (1 + math.cos(math.pi * progress))


# %% lr_at wrong (property landmarks): the lowest rate is the number 1e-4, a tenth only if base_lr is 1e-3
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    min_lr = 1e-4
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return min_lr + 0.5 * (base_lr - min_lr) * (1 + math.cos(math.pi * progress))


# %% lr_at wrong (raised): interpolates the warm-up between its two ends, and divides by zero if warmup_steps is 1
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        first = base_lr / warmup_steps
        return first + (base_lr - first) * step / (warmup_steps - 1)
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.55 + 0.45 * math.cos(math.pi * progress))


# %% lr_at wrong (misconception warm-up-one-step-long): the warm-up lasts one step too long, so step warmup_steps gets more than base_lr
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step <= warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * (1 + math.cos(math.pi * progress)) / 2


# %% lr_at right (passed): the warm-up as a fraction, then the cosine between base_lr / 10 and base_lr
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * (1 + math.cos(math.pi * progress)) / 2


# %% lr_at right (passed): the squared cosine of half the angle
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    angle = math.pi / 2 * max(step - warmup_steps, 0) / (steps - warmup_steps)
    share = min(1.0, (step + 1) / warmup_steps)
    return base_lr * share * (1 - 0.9 * math.sin(angle) ** 2)


# %% sort_letters wrong (misconception whole-sequence): returns the question and the dot in front of the answer
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = float("-inf")
            ids = torch.cat((ids, logits.argmax(dim=-1, keepdim=True)), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0].tolist())


# %% sort_letters wrong (misconception all-at-once): runs the model once and reads the best letters at the last three positions
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        logits = model(ids)[0, -3:].clone()
    logits[:, abc_sorter.SEP] = float("-inf")
    return "".join(abc_sorter.VOCAB[i] for i in logits.argmax(dim=-1).tolist())


# %% sort_letters wrong (misconception separator-not-low-enough): sets the dot's logit to 0 instead of -inf; shows when all letters have negative logits
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[abc_sorter.SEP] = 0.0
            best = logits.argmax().item()
            answer += abc_sorter.VOCAB[best]
            ids = torch.cat((ids, torch.tensor([[best]])), dim=1)
    return answer


# %% sort_letters wrong (property training): eval mode while writing, then always train mode; shows when the model was in eval mode
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    model.eval()
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = float("-inf")
            ids = torch.cat((ids, logits.argmax(dim=-1, keepdim=True)), dim=1)
    model.train()
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())


# %% sort_letters wrong (misconception letters-of-the-question-only): allows only letters of the question that are not used up; shows when the model writes others
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
            answer.append(best)
            ids = torch.cat((ids, torch.tensor([[best]])), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in answer)


# %% sort_letters right (passed): fills the dot's logit with -inf, takes the argmax and appends it
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    dot = torch.arange(len(abc_sorter.VOCAB)) == abc_sorter.SEP
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].masked_fill(dot.to(ids.device), float("-inf"))
            ids = torch.cat((ids, logits.argmax(dim=-1, keepdim=True)), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())


# %% sort_letters right (passed): Python's max over the ids other than the dot, with new_tensor to append
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids, answer = abc_sorter.encode(letters), ""
    candidates = [i for i in range(len(abc_sorter.VOCAB)) if i != abc_sorter.SEP]
    while len(answer) < 3:
        scores = model(ids).detach()[0, ids.shape[1] - 1].tolist()
        best = max(candidates, key=scores.__getitem__)
        answer += abc_sorter.VOCAB[best]
        ids = torch.cat([ids, ids.new_full((1, 1), best)], dim=1)
    return answer


