# %% make_weight wrong (misconception wrong-axis): the softmax runs down the columns instead of along the rows
def make_weight(A, B, base=None, temp=1.0):
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-2)
    return gate if base is None else gate * base


# %% make_weight wrong (misconception temperature-multiplied): multiplies the product by the temperature instead of dividing
def make_weight(A, B, base=None, temp=1.0):
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax((A @ B) * temp, dim=-1)
    return gate if base is None else gate * base


# %% make_weight wrong (misconception zeros-count-as-none): takes a base without any nonzero entry for no base; shows when base is all zeros
def make_weight(A, B, base=None, temp=1.0):
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is None or not base.any():
        return gate
    return base * gate


# %% make_weight wrong (misconception clamped): clamps the product to -50..50 so that exp cannot overflow; shows when two large products of a row differ
def make_weight(A, B, base=None, temp=1.0):
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    powers = torch.exp((A @ B / temp).clamp(-50, 50))
    gate = powers / powers.sum(dim=-1, keepdim=True)
    return gate if base is None else gate * base


# %% make_weight wrong (raised): an einsum that needs the axis of the heads; shows (an error) for a single head without this axis
def make_weight(A, B, base=None, temp=1.0):
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.einsum("her,hrd->hed", A, B).div(temp).softmax(dim=-1)
    return gate if base is None else torch.einsum("hed,hed->hed", gate, base)


# %% make_weight right (passed): matmul, division, torch.softmax on the last axis
def make_weight(A, B, base=None, temp=1.0):
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is None:
        return gate
    return base * gate


# %% make_weight right (passed): einsum with an ellipsis, subtracts the maximum of each row, then exp and division
def make_weight(A, B, base=None, temp=1.0):
    """Return the gate softmax(A B / temp), whose rows sum to one; multiply it by base if there is a base."""
    product = torch.einsum("...er,...rd->...ed", A, B) / temp
    powers = (product - product.amax(dim=-1, keepdim=True).detach()).exp()
    gate = powers / powers.sum(dim=-1, keepdim=True)
    if base is not None:
        gate = gate.mul(base)
    return gate


# %% DeepQKVAttention wrong (misconception root-of-embed_dim): divides the scores by the root of embed_dim instead of d_head
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        shapes = {"A": (num_heads, embed_dim, rank), "B": (num_heads, rank, self.d_head)}
        if not strict:
            shapes["_base"] = (num_heads, embed_dim, self.d_head)
        for name in "qkv":
            for part, shape in shapes.items():
                parameter = nn.Parameter(torch.empty(shape))
                for head in parameter:
                    nn.init.xavier_uniform_(head)
                setattr(self, name + part, parameter)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).triu(1), persistent=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x, return_weights=False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(embed_dim)
        weights = torch.softmax(scores.masked_fill(self.mask[:seq, :seq], -math.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (misconception heads-run-together): joins the heads without a transpose, so positions and heads get mixed
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        shapes = {"A": (num_heads, embed_dim, rank), "B": (num_heads, rank, self.d_head)}
        if not strict:
            shapes["_base"] = (num_heads, embed_dim, self.d_head)
        for name in "qkv":
            for part, shape in shapes.items():
                parameter = nn.Parameter(torch.empty(shape))
                for head in parameter:
                    nn.init.xavier_uniform_(head)
                setattr(self, name + part, parameter)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).triu(1), persistent=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x, return_weights=False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        weights = torch.softmax(scores.masked_fill(self.mask[:seq, :seq], -math.inf), dim=-1)
        out = self.o((weights @ v).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property causal): hides later positions with -1e9 instead of -inf; shows when scores are below -1e9, as with inputs of a million
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        shapes = {"A": (num_heads, embed_dim, rank), "B": (num_heads, rank, self.d_head)}
        if not strict:
            shapes["_base"] = (num_heads, embed_dim, self.d_head)
        for name in "qkv":
            for part, shape in shapes.items():
                parameter = nn.Parameter(torch.empty(shape))
                for head in parameter:
                    nn.init.xavier_uniform_(head)
                setattr(self, name + part, parameter)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).triu(1), persistent=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x, return_weights=False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        weights = torch.softmax(scores.masked_fill(self.mask[:seq, :seq], -1e9), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property temperature): uses the temperature only for queries and keys; shows when temp is not 1
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        shapes = {"A": (num_heads, embed_dim, rank), "B": (num_heads, rank, self.d_head)}
        if not strict:
            shapes["_base"] = (num_heads, embed_dim, self.d_head)
        for name in "qkv":
            for part, shape in shapes.items():
                parameter = nn.Parameter(torch.empty(shape))
                for head in parameter:
                    nn.init.xavier_uniform_(head)
                setattr(self, name + part, parameter)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).triu(1), persistent=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp if name != "v" else 1.0)

    def forward(self, x, return_weights=False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        weights = torch.softmax(scores.masked_fill(self.mask[:seq, :seq], -math.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property moves_with_its_module): keeps the three matrices of the first call in evaluation mode; shows when parameters change between two such calls
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.made = {}
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        shapes = {"A": (num_heads, embed_dim, rank), "B": (num_heads, rank, self.d_head)}
        if not strict:
            shapes["_base"] = (num_heads, embed_dim, self.d_head)
        for name in "qkv":
            for part, shape in shapes.items():
                parameter = nn.Parameter(torch.empty(shape))
                for head in parameter:
                    nn.init.xavier_uniform_(head)
                setattr(self, name + part, parameter)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).triu(1), persistent=False)

    def weight(self, name):
        if not self.training:
            if name not in self.made:
                self.made[name] = self.make(name)
            return self.made[name]
        return self.make(name)

    def make(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x, return_weights=False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        weights = torch.softmax(scores.masked_fill(self.mask[:seq, :seq], -math.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): a buffer for the mask, matmul over all heads at once
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head, self.temp, self.strict = num_heads, embed_dim // num_heads, temp, strict
        shapes = {"A": (num_heads, embed_dim, rank), "B": (num_heads, rank, self.d_head)}
        if not strict:
            shapes["_base"] = (num_heads, embed_dim, self.d_head)
        for name in "qkv":
            for part, shape in shapes.items():
                parameter = nn.Parameter(torch.empty(shape))
                for head in parameter:
                    nn.init.xavier_uniform_(head)
                setattr(self, name + part, parameter)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).triu(1), persistent=False)

    def weight(self, name):
        base = None if self.strict else getattr(self, name + "_base")
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x, return_weights=False):
        batch, seq, embed_dim = x.shape
        q, k, v = (x.unsqueeze(1) @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        weights = torch.softmax(scores.masked_fill(self.mask[:seq, :seq], -math.inf), dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, embed_dim))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): named parameters one by one, the mask from indices in forward, einsum, and one sum over heads for o
class DeepQKVAttention(nn.Module):
    """Causal attention of several heads whose weights come from make_weight."""

    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads

        def fresh(rows, columns):
            return nn.Parameter(torch.stack([nn.init.xavier_uniform_(torch.empty(rows, columns)) for _ in range(num_heads)]))

        self.qA, self.qB = fresh(embed_dim, rank), fresh(rank, d_head)
        self.kA, self.kB = fresh(embed_dim, rank), fresh(rank, d_head)
        self.vA, self.vB = fresh(embed_dim, rank), fresh(rank, d_head)
        self.has_base = not strict
        if self.has_base:
            self.q_base = fresh(embed_dim, d_head)
            self.k_base = fresh(embed_dim, d_head)
            self.v_base = fresh(embed_dim, d_head)
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.num_heads, self.d_head, self.temp = num_heads, d_head, temp

    def forward(self, x, return_weights=False):
        bases = (self.q_base, self.k_base, self.v_base) if self.has_base else (None, None, None)
        W_query = make_weight(self.qA, self.qB, bases[0], self.temp)
        W_key = make_weight(self.kA, self.kB, bases[1], self.temp)
        W_value = make_weight(self.vA, self.vB, bases[2], self.temp)
        place = torch.arange(x.shape[1], device=x.device)
        later = place[None, :] > place[:, None]
        all_weights, out = [], 0
        for h in range(self.num_heads):
            queries = torch.einsum("bse,ed->bsd", x, W_query[h])
            keys = torch.einsum("bse,ed->bsd", x, W_key[h])
            scores = torch.einsum("bqd,bkd->bqk", queries, keys) * self.d_head**-0.5
            weights = scores.masked_fill(later, float("-inf")).softmax(dim=-1)
            all_weights.append(weights)
            mixed = torch.einsum("bqk,bkd->bqd", weights, x @ W_value[h])
            out = out + mixed @ self.o.weight[:, h * self.d_head : (h + 1) * self.d_head].T
        if return_weights:
            return out, torch.stack(all_weights, dim=1)
        return out


# %% lr_at wrong (misconception starts-at-zero): the warm-up starts at 0 instead of 1 / warmup_steps
def lr_at(step, steps, base_lr, warmup_steps):
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    done = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + (base_lr - low) * (1 + math.cos(math.pi * done)) / 2


# %% lr_at wrong (misconception falls-to-zero): the cosine falls to 0 instead of a tenth
def lr_at(step, steps, base_lr, warmup_steps):
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    done = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (1 + math.cos(math.pi * done)) / 2


# %% lr_at wrong (misconception warm-up-one-step-long): step warmup_steps still belongs to the warm-up; shows only at this step
def lr_at(step, steps, base_lr, warmup_steps):
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step <= warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    done = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2)


# %% lr_at wrong (property landmarks): falls to 1e-4, a tenth of the page's rate; shows when base_lr is not 1e-3
def lr_at(step, steps, base_lr, warmup_steps):
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    done = (step - warmup_steps) / (steps - warmup_steps)
    low = 1e-4
    return low + (base_lr - low) * (1 + math.cos(math.pi * done)) / 2


# %% lr_at wrong (property landmarks): reaches the tenth at step steps - 1 already and stays there; hardly shows in long schedules, shows when few steps follow the warm-up
def lr_at(step, steps, base_lr, warmup_steps):
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    done = min(1.0, (step - warmup_steps) / max(1, steps - 1 - warmup_steps))
    return base_lr * (0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2)


# %% lr_at right (passed): low plus half of the difference times 1 + cos
def lr_at(step, steps, base_lr, warmup_steps):
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    done = (step - warmup_steps) / (steps - warmup_steps)
    low = base_lr / 10
    return low + 0.5 * (base_lr - low) * (1 + math.cos(math.pi * done))


# %% lr_at right (passed): the smaller of ramp and 1 in the warm-up, the square of a sine of half the angle after it
def lr_at(step, steps, base_lr, warmup_steps):
    """Return the rate: a linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    ramp = min(1.0, (step + 1) / warmup_steps)
    after = max(0, step - warmup_steps)
    fall = math.sin(math.pi / 2 * after / (steps - warmup_steps)) ** 2
    return base_lr * ramp * (1 - 0.9 * fall)


# %% sort_letters wrong (misconception separator-not-forbidden): does not mask the dot out
def sort_letters(model, letters):
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            best = model(ids)[0, -1].argmax()
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
            answer += abc_sorter.VOCAB[best.item()]
    return answer


# %% sort_letters wrong (property three_letters): cuts the dot's score off and forgets that all indices are then one too low
def sort_letters(model, letters):
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            best = model(ids)[0, -1, 1:].argmax()
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
            answer += abc_sorter.VOCAB[best.item()]
    return answer


# %% sort_letters wrong (misconception separator-not-low-enough): sets the dot's score to 0 instead of -inf; shows when all three letters have negative scores
def sort_letters(model, letters):
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            scores = model(ids)[0, -1].clone()
            scores[abc_sorter.SEP] = 0
            best = scores.argmax()
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
            answer += abc_sorter.VOCAB[best.item()]
    return answer


# %% sort_letters wrong (property training): switches to evaluation mode and then always to training mode; shows when the model was in evaluation mode
def sort_letters(model, letters):
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    answer = ""
    model.eval()
    with torch.no_grad():
        for _ in range(3):
            scores = model(ids)[0, -1].clone()
            scores[abc_sorter.SEP] = -math.inf
            best = scores.argmax()
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
            answer += abc_sorter.VOCAB[best.item()]
    model.train()
    return answer


# %% sort_letters wrong (misconception letters-of-the-question-only): allows only letters that the question still has left; shows when the model makes a mistake such as aab to abb
def sort_letters(model, letters):
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    left = ids[0, :3].tolist()
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            scores = model(ids)[0, -1]
            best = max(left, key=lambda i: scores[i].item())
            left.remove(best)
            ids = torch.cat((ids, torch.tensor([[best]])), dim=1)
            answer += abc_sorter.VOCAB[best]
    return answer


# %% sort_letters right (passed): -inf for the dot, argmax, cat
@torch.no_grad()
def sort_letters(model, letters):
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids = abc_sorter.encode(letters)
    for _ in range(3):
        scores = model(ids)[0, -1].clone()
        scores[abc_sorter.SEP] = -math.inf
        ids = torch.cat((ids, scores.argmax().view(1, 1)), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())


# %% sort_letters right (passed): chooses among the ids of the letters in plain Python
def sort_letters(model, letters):
    """Return what the model writes, greedily, after the three letters and the separator."""
    ids, answer = abc_sorter.encode(letters), ""
    while len(answer) < 3:
        with torch.no_grad():
            scores = model(ids)[0, ids.shape[1] - 1].tolist()
        allowed = [i for i in range(len(scores)) if i != abc_sorter.SEP]
        best = max(allowed, key=scores.__getitem__)
        answer += abc_sorter.VOCAB[best]
        ids = torch.cat((ids, ids.new_full((1, 1), best)), dim=1)
    return answer


