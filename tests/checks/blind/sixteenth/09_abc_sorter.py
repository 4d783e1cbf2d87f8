# %% make_weight wrong (misconception wrong-axis): softmax over the rows' axis (dim=-2), so the columns sum to one, not the rows
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-2)
    return gate if base is None else gate * base


# %% make_weight wrong (misconception softmax-after-the-base): multiplies the product by the base before the softmax, not the gate afterwards
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


# %% make_weight wrong (misconception zeros-count-as-none): subtle, treats a base of zeros as if no base were given
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
    return gate * base


# %% make_weight wrong (misconception clamped): subtle, clamps the scores to ±50 against overflow; shows when products are larger
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    product = (A @ B / temp).clamp(-50.0, 50.0)
    powers = product.exp()
    gate = powers / powers.sum(dim=-1, keepdim=True)
    if base is None:
        return gate
    return gate * base


# %% make_weight wrong (property lets_gradients_through): subtle, computes the gate without gradients; values are right, but A and B get no gradient
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    with torch.no_grad():
        gate = torch.softmax(torch.matmul(A, B) / temp, dim=-1)
    if base is not None:
        gate = gate * base
    return gate


# %% make_weight right (passed): matmul, division by temp, torch.softmax along the last axis
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


# %% make_weight right (passed): einsum, subtracts each row's maximum, and normalises by hand
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    product = torch.einsum("...er,...rd->...ed", A, B) / temp
    powers = torch.exp(product - product.max(dim=-1, keepdim=True).values)
    weight = powers / powers.sum(dim=-1, keepdim=True)
    if base is not None:
        weight = weight * base
    return weight


# %% DeepQKVAttention wrong (misconception root-of-embed_dim): divides the scores by the root of embed_dim instead of the width of one head
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp = num_heads, embed_dim // num_heads, temp
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("hidden", hidden, persistent=False)

    @staticmethod
    def small(*shape):
        parameter = nn.Parameter(torch.empty(*shape))
        for head in parameter:
            nn.init.xavier_uniform_(head)
        return parameter

    def weight(self, name):
        A, B = getattr(self, name + "A"), getattr(self, name + "B")
        return make_weight(A, B, getattr(self, name + "_base", None), self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        queries, keys, values = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = queries @ keys.transpose(-2, -1) / embed_dim**0.5
        scores = scores.masked_fill(self.hidden[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ values).transpose(1, 2).reshape(batch, seq, embed_dim)
        out = self.o(out)
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (misconception heads-run-together): merges the heads without moving the head axis behind the positions
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp = num_heads, embed_dim // num_heads, temp
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("hidden", hidden, persistent=False)

    @staticmethod
    def small(*shape):
        parameter = nn.Parameter(torch.empty(*shape))
        for head in parameter:
            nn.init.xavier_uniform_(head)
        return parameter

    def weight(self, name):
        A, B = getattr(self, name + "A"), getattr(self, name + "B")
        return make_weight(A, B, getattr(self, name + "_base", None), self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        queries, keys, values = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = queries @ keys.transpose(-2, -1) / self.d_head**0.5
        scores = scores.masked_fill(self.hidden[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ values).reshape(batch, seq, embed_dim)
        out = self.o(out)
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property causal): subtle, hides later positions with -1e9; scores of inputs up to a million can be lower, so later positions leak
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp = num_heads, embed_dim // num_heads, temp
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("hidden", hidden, persistent=False)

    @staticmethod
    def small(*shape):
        parameter = nn.Parameter(torch.empty(*shape))
        for head in parameter:
            nn.init.xavier_uniform_(head)
        return parameter

    def weight(self, name):
        A, B = getattr(self, name + "A"), getattr(self, name + "B")
        return make_weight(A, B, getattr(self, name + "_base", None), self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        queries, keys, values = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = queries @ keys.transpose(-2, -1) / self.d_head**0.5
        scores = scores.masked_fill(self.hidden[:seq, :seq], -1e9)
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ values).transpose(1, 2).reshape(batch, seq, embed_dim)
        out = self.o(out)
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property moves_with_its_module): subtle, keeps the three weights in eval mode and does not compute them again; shows when parameters change between two calls
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp = num_heads, embed_dim // num_heads, temp
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("hidden", hidden, persistent=False)
        self.made = None

    @staticmethod
    def small(*shape):
        parameter = nn.Parameter(torch.empty(*shape))
        for head in parameter:
            nn.init.xavier_uniform_(head)
        return parameter

    def weight(self, name):
        A, B = getattr(self, name + "A"), getattr(self, name + "B")
        return make_weight(A, B, getattr(self, name + "_base", None), self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        if self.training or self.made is None:
            self.made = [self.weight(name) for name in "qkv"]
        queries, keys, values = (x[:, None] @ made for made in self.made)
        scores = queries @ keys.transpose(-2, -1) / self.d_head**0.5
        scores = scores.masked_fill(self.hidden[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ values).transpose(1, 2).reshape(batch, seq, embed_dim)
        out = self.o(out)
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property temperature): subtle, does not pass temp on to make_weight; shows when temp is not 1
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("hidden", hidden, persistent=False)

    @staticmethod
    def small(*shape):
        parameter = nn.Parameter(torch.empty(*shape))
        for head in parameter:
            nn.init.xavier_uniform_(head)
        return parameter

    def weight(self, name):
        A, B = getattr(self, name + "A"), getattr(self, name + "B")
        return make_weight(A, B, getattr(self, name + "_base", None))

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        queries, keys, values = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = queries @ keys.transpose(-2, -1) / self.d_head**0.5
        scores = scores.masked_fill(self.hidden[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ values).transpose(1, 2).reshape(batch, seq, embed_dim)
        out = self.o(out)
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): all heads at once, a boolean buffer as the mask, transpose and reshape to merge
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp = num_heads, embed_dim // num_heads, temp
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        hidden = torch.ones(context_length, context_length, dtype=torch.bool).triu(diagonal=1)
        self.register_buffer("hidden", hidden, persistent=False)

    @staticmethod
    def small(*shape):
        parameter = nn.Parameter(torch.empty(*shape))
        for head in parameter:
            nn.init.xavier_uniform_(head)
        return parameter

    def weight(self, name):
        A, B = getattr(self, name + "A"), getattr(self, name + "B")
        return make_weight(A, B, getattr(self, name + "_base", None), self.temp)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        batch, seq, embed_dim = x.shape
        queries, keys, values = (x[:, None] @ self.weight(name) for name in "qkv")
        scores = queries @ keys.transpose(-2, -1) / self.d_head**0.5
        scores = scores.masked_fill(self.hidden[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ values).transpose(1, 2).reshape(batch, seq, embed_dim)
        out = self.o(out)
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): einsum per head in a loop, the mask from comparing positions on x.device, concatenated heads
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp = temp
        self.num_heads = num_heads
        d_head = embed_dim // num_heads

        def heads(rows, columns):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(num_heads)]))

        self.qA, self.qB = heads(embed_dim, rank), heads(rank, d_head)
        self.kA, self.kB = heads(embed_dim, rank), heads(rank, d_head)
        self.vA, self.vB = heads(embed_dim, rank), heads(rank, d_head)
        self.q_base = self.k_base = self.v_base = None
        if not strict:
            self.q_base = heads(embed_dim, d_head)
            self.k_base = heads(embed_dim, d_head)
            self.v_base = heads(embed_dim, d_head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x: Float[Tensor, "batch seq embed_dim"], return_weights: bool = False):
        W_q = make_weight(self.qA, self.qB, self.q_base, temp=self.temp)
        W_k = make_weight(self.kA, self.kB, self.k_base, temp=self.temp)
        W_v = make_weight(self.vA, self.vB, self.v_base, temp=self.temp)
        place = torch.arange(x.shape[1], device=x.device)
        visible = place[:, None] >= place[None, :]
        results, patterns = [], []
        for head in range(self.num_heads):
            queries = torch.einsum("bse,ed->bsd", x, W_q[head])
            keys = torch.einsum("bse,ed->bsd", x, W_k[head])
            values = torch.einsum("bse,ed->bsd", x, W_v[head])
            scores = torch.einsum("bqd,bkd->bqk", queries, keys) / math.sqrt(queries.shape[-1])
            pattern = scores.masked_fill(~visible, float("-inf")).softmax(dim=2)
            patterns.append(pattern)
            results.append(torch.einsum("bqk,bkd->bqd", pattern, values))
        out = self.o(torch.cat(results, dim=-1))
        if return_weights:
            return out, torch.stack(patterns, dim=1)
        return out


# %% lr_at wrong (misconception starts-at-zero): the warm-up is off by one step: step 0 has rate 0
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    done = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done)))


# %% lr_at wrong (misconception falls-to-zero): the cosine falls to 0 instead of a tenth of base_lr
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    done = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * 0.5 * (1 + math.cos(math.pi * done))


# %% lr_at wrong (misconception warm-up-one-step-long): subtle, the warm-up includes step warmup_steps, where the rate exceeds base_lr; all other steps are right
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step <= warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    done = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))


# %% lr_at wrong (property landmarks): subtle, the lowest rate is fixed at 1e-4; right only for base_lr = 1e-3
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    lowest = 1e-4
    done = (step - warmup_steps) / (steps - warmup_steps)
    return lowest + (base_lr - lowest) * (1 + math.cos(math.pi * done)) / 2


# %% lr_at wrong (property landmarks): subtle, multiplies the warm-up by the cosine too; shows in the warm-up, unless it is short compared with the rest
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    warm = min(1.0, (step + 1) / warmup_steps)
    done = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * warm * (0.55 + 0.45 * math.cos(math.pi * done))


# %% lr_at right (passed): two cases, a weighted cosine between base_lr and base_lr / 10
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    done = (step - warmup_steps) / (steps - warmup_steps)
    lowest = base_lr / 10
    return lowest + (base_lr - lowest) * 0.5 * (1 + math.cos(math.pi * done))


# %% lr_at right (passed): the squared cosine of half the angle
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    left = steps - warmup_steps
    after = step - warmup_steps
    if after < 0:
        return (after + warmup_steps + 1) * base_lr / warmup_steps
    share = math.cos(0.5 * math.pi * after / left) ** 2
    return share * base_lr + (1 - share) * 0.1 * base_lr


# %% sort_letters wrong (misconception separator-not-forbidden): does not mask out the dot, so it can be part of the answer
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids, answer = abc_sorter.encode(letters), ""
    with torch.no_grad():
        for _ in range(3):
            best = model(ids)[0, -1].argmax()
            answer += abc_sorter.VOCAB[best]
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
    return answer


# %% sort_letters wrong (misconception never-appends): always reads the logits at the dot (position 3), so it writes the first letter three times
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids, answer = abc_sorter.encode(letters), ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, 3].clone()
            logits[abc_sorter.SEP] = -torch.inf
            best = logits.argmax()
            answer += abc_sorter.VOCAB[best.item()]
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
    return answer


# %% sort_letters wrong (misconception separator-not-low-enough): subtle, masks the dot with logit 0 instead of -inf; shows when the logits of all letters are negative
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids, answer = abc_sorter.encode(letters), ""
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[abc_sorter.SEP] = 0.0
            best = logits.argmax()
            answer += abc_sorter.VOCAB[best.item()]
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
    return answer


# %% sort_letters wrong (misconception letters-of-the-question-only): subtle, allows each letter only as often as in the question; shows when the model writes something else
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids, answer = abc_sorter.encode(letters), ""
    left = list(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[0, -1]
            allowed = [i for i in range(len(logits)) if i != abc_sorter.SEP and abc_sorter.VOCAB[i] in left]
            best = max(allowed, key=lambda i: logits[i].item())
            left.remove(abc_sorter.VOCAB[best])
            answer += abc_sorter.VOCAB[best]
            ids = torch.cat((ids, torch.tensor([[best]])), dim=1)
    return answer


# %% sort_letters wrong (property training): subtle, switches to eval mode, and to training mode at the end; shows when the model was in eval mode
@torch.no_grad()
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    model.eval()
    ids, answer = abc_sorter.encode(letters), ""
    for _ in range(3):
        logits = model(ids)[0, -1].clone()
        logits[abc_sorter.SEP] = -torch.inf
        best = logits.argmax()
        answer += abc_sorter.VOCAB[best.item()]
        ids = torch.cat((ids, best.view(1, 1)), dim=1)
    model.train()
    return answer


# %% sort_letters right (passed): sets the dot's logit to -inf, argmax, append, and reads the answer from the ids
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    with torch.no_grad():
        for _ in range(3):
            logits = model(ids)[:, -1].clone()
            logits[:, abc_sorter.SEP] = -torch.inf
            ids = torch.cat((ids, logits.argmax(dim=-1, keepdim=True)), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())


# %% sort_letters right (passed): selects the columns of the letters, takes the best of them, and prepares all seven places in advance
@torch.no_grad()
def sort_letters(model: nn.Module, letters: str) -> str:
    """Return what the model writes, greedily, after the three letters and the separator."""
    start = abc_sorter.encode(letters)
    length = start.shape[1]
    ids = torch.cat((start, start.new_full((1, 3), abc_sorter.SEP)), dim=1)
    written = ""
    for place in range(length, length + 3):
        logits = model(ids[:, :place]).detach()[0, place - 1]
        candidates = [i for i in range(logits.shape[0]) if i != abc_sorter.SEP]
        choice = candidates[int(logits[candidates].argmax())]
        ids[0, place] = choice
        written = written + abc_sorter.VOCAB[choice]
    return written
