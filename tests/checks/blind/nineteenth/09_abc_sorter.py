# %% make_weight wrong (misconception axis-from-the-front): softmax along axis 1, which is embed_dim when there are several heads
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax(A @ B / temp, dim=1)
    return gate if base is None else gate * base


# %% make_weight wrong (misconception softmax-after-the-base): multiplies by the base before the softmax instead of after it
def make_weight(A, B, base=None, temp=1.0):
    product = A @ B / temp
    if base is not None:
        product = product * base
    return torch.softmax(product, dim=-1)


# %% make_weight wrong (misconception zeros-count-as-none): treats a base of zeros as no base; shows only with such a base
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is None or not base.any():
        return gate
    return gate * base


# %% make_weight wrong (misconception temperature-multiplied): multiplies by the temperature instead of dividing; shows when temp is not 1
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax(temp * (A @ B), dim=-1)
    return gate if base is None else gate * base


# %% make_weight wrong (difference milestone): cuts the scores at 80 before exp; shows when a row has two scores above 80
def make_weight(A, B, base=None, temp=1.0):
    powers = torch.exp((A @ B / temp).clamp(-80, 80))
    gate = powers / powers.sum(dim=-1, keepdim=True)
    return gate if base is None else gate * base


# %% make_weight right (passed): matmul and torch.softmax
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax(A @ B / temp, dim=-1)
    if base is None:
        return gate
    return gate * base


# %% make_weight right (passed): einsum, and a softmax by hand that subtracts the maximum of each row
def make_weight(A, B, base=None, temp=1.0):
    scores = torch.einsum("...er,...rd->...ed", A, B) / temp
    powers = (scores - scores.amax(dim=-1, keepdim=True).detach()).exp()
    weight = powers / powers.sum(dim=-1, keepdim=True)
    if base is not None:
        weight = base * weight
    return weight


# %% DeepQKVAttention wrong (misconception root-of-embed_dim): divides the scores by the root of embed_dim instead of d_head
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        later = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("later", later, persistent=False)

    def small(self, heads, rows, columns):
        made = torch.empty(heads, rows, columns)
        for head in made:
            nn.init.xavier_uniform_(head)
        return nn.Parameter(made)

    def weight(self, name):
        base = getattr(self, name + "_base", None)
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x, return_weights=False):
        batch, seq, width = x.shape
        x_heads = x[:, None]
        q, k, v = (x_heads @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(width)
        scores = scores.masked_fill(self.later[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, width))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (misconception heads-run-together): joins the heads without moving the head axis next to the head width
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        later = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("later", later, persistent=False)

    def small(self, heads, rows, columns):
        made = torch.empty(heads, rows, columns)
        for head in made:
            nn.init.xavier_uniform_(head)
        return nn.Parameter(made)

    def weight(self, name):
        base = getattr(self, name + "_base", None)
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x, return_weights=False):
        batch, seq, width = x.shape
        x_heads = x[:, None]
        q, k, v = (x_heads @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        scores = scores.masked_fill(self.later[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).reshape(batch, seq, width))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property temperature): does not pass the temperature to make_weight; shows when temp is not 1
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        later = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("later", later, persistent=False)

    def small(self, heads, rows, columns):
        made = torch.empty(heads, rows, columns)
        for head in made:
            nn.init.xavier_uniform_(head)
        return nn.Parameter(made)

    def weight(self, name):
        base = getattr(self, name + "_base", None)
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base)

    def forward(self, x, return_weights=False):
        batch, seq, width = x.shape
        x_heads = x[:, None]
        q, k, v = (x_heads @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        scores = scores.masked_fill(self.later[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, width))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property causal): masks with -1e9 instead of -inf; shows with inputs near a million
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        later = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("later", later, persistent=False)

    def small(self, heads, rows, columns):
        made = torch.empty(heads, rows, columns)
        for head in made:
            nn.init.xavier_uniform_(head)
        return nn.Parameter(made)

    def weight(self, name):
        base = getattr(self, name + "_base", None)
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x, return_weights=False):
        batch, seq, width = x.shape
        x_heads = x[:, None]
        q, k, v = (x_heads @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        scores = scores.masked_fill(self.later[:seq, :seq], -1e9)
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, width))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention wrong (property moves_with_its_module): in eval mode it reuses the weights of the first call; shows when the parameters change later
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        later = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("later", later, persistent=False)
        self.kept = {}

    def small(self, heads, rows, columns):
        made = torch.empty(heads, rows, columns)
        for head in made:
            nn.init.xavier_uniform_(head)
        return nn.Parameter(made)

    def weight(self, name):
        if not self.training and name in self.kept:
            return self.kept[name]
        base = getattr(self, name + "_base", None)
        made = make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)
        if not self.training:
            self.kept[name] = made
        return made

    def forward(self, x, return_weights=False):
        batch, seq, width = x.shape
        x_heads = x[:, None]
        q, k, v = (x_heads @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        scores = scores.masked_fill(self.later[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, width))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): all heads at once, with the mask as a buffer
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.num_heads, self.d_head = num_heads, embed_dim // num_heads
        self.temp, self.strict = temp, strict
        for name in "qkv":
            setattr(self, name + "A", self.small(num_heads, embed_dim, rank))
            setattr(self, name + "B", self.small(num_heads, rank, self.d_head))
            if not strict:
                setattr(self, name + "_base", self.small(num_heads, embed_dim, self.d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        later = torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        self.register_buffer("later", later, persistent=False)

    def small(self, heads, rows, columns):
        made = torch.empty(heads, rows, columns)
        for head in made:
            nn.init.xavier_uniform_(head)
        return nn.Parameter(made)

    def weight(self, name):
        base = getattr(self, name + "_base", None)
        return make_weight(getattr(self, name + "A"), getattr(self, name + "B"), base, self.temp)

    def forward(self, x, return_weights=False):
        batch, seq, width = x.shape
        x_heads = x[:, None]
        q, k, v = (x_heads @ self.weight(name) for name in "qkv")
        scores = q @ k.mT / math.sqrt(self.d_head)
        scores = scores.masked_fill(self.later[:seq, :seq], float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        out = self.o((weights @ v).transpose(1, 2).reshape(batch, seq, width))
        return (out, weights) if return_weights else out


# %% DeepQKVAttention right (passed): a loop over the heads, and a mask made in forward on the device of x
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.heads = num_heads
        self.width = embed_dim // num_heads
        self.context_length = context_length
        self.temp = temp
        self.strict = strict
        self.qA = nn.Parameter(torch.empty(num_heads, embed_dim, rank))
        self.qB = nn.Parameter(torch.empty(num_heads, rank, self.width))
        self.kA = nn.Parameter(torch.empty(num_heads, embed_dim, rank))
        self.kB = nn.Parameter(torch.empty(num_heads, rank, self.width))
        self.vA = nn.Parameter(torch.empty(num_heads, embed_dim, rank))
        self.vB = nn.Parameter(torch.empty(num_heads, rank, self.width))
        made = [self.qA, self.qB, self.kA, self.kB, self.vA, self.vB]
        if not strict:
            self.q_base = nn.Parameter(torch.empty(num_heads, embed_dim, self.width))
            self.k_base = nn.Parameter(torch.empty(num_heads, embed_dim, self.width))
            self.v_base = nn.Parameter(torch.empty(num_heads, embed_dim, self.width))
            made += [self.q_base, self.k_base, self.v_base]
        for parameter in made:
            for h in range(num_heads):
                nn.init.xavier_uniform_(parameter[h])
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        if self.strict:
            bases = (None, None, None)
        else:
            bases = (self.q_base, self.k_base, self.v_base)
        W_q = make_weight(self.qA, self.qB, bases[0], temp=self.temp)
        W_k = make_weight(self.kA, self.kB, bases[1], temp=self.temp)
        W_v = make_weight(self.vA, self.vB, bases[2], temp=self.temp)
        places = torch.arange(x.shape[1], device=x.device)
        allowed = places[None, :] <= places[:, None]
        results, all_weights = [], []
        for h in range(self.heads):
            queries, keys, values = x @ W_q[h], x @ W_k[h], x @ W_v[h]
            scores = torch.einsum("bqd,bkd->bqk", queries, keys) * self.width**-0.5
            scores = torch.where(allowed, scores, torch.full_like(scores, -torch.inf))
            weights = scores.softmax(dim=-1)
            all_weights.append(weights)
            results.append(weights @ values)
        output = self.o(torch.cat(results, dim=-1))
        if return_weights:
            return output, torch.stack(all_weights, dim=1)
        return output


# %% lr_at wrong (misconception starts-at-zero): the warm-up starts at 0, step / warmup_steps
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * step / warmup_steps
    t = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * t)))


# %% lr_at wrong (misconception falls-to-zero): the cosine falls to 0 instead of a tenth
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    t = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * 0.5 * (1 + math.cos(math.pi * t))


# %% lr_at wrong (misconception cut-off-at-a-tenth): a cosine to 0 that is cut off at a tenth; right at both ends, shows between them
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    t = (step - warmup_steps) / (steps - warmup_steps)
    return max(base_lr * 0.5 * (1 + math.cos(math.pi * t)), base_lr / 10)


# %% lr_at wrong (property landmarks): the lowest rate is always 1e-4; shows when base_lr is not 1e-3
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    t = (step - warmup_steps) / (steps - warmup_steps)
    lowest = 1e-4
    return lowest + (base_lr - lowest) * 0.5 * (1 + math.cos(math.pi * t))


# %% lr_at wrong (misconception cosine-one-step-early): the cosine begins one step too early; right in the warm-up and at the last step, shows between them
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    t = (step - warmup_steps + 1) / (steps - warmup_steps + 1)
    return base_lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * t)))


# %% lr_at right (passed): a branch for the warm-up, then a tenth plus nine tenths of half a cosine
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    t = (step - warmup_steps) / (steps - warmup_steps)
    lowest = base_lr / 10
    return lowest + (base_lr - lowest) * 0.5 * (1 + math.cos(math.pi * t))


# %% lr_at right (passed): the square of the cosine of half the angle, blended with the end rate
def lr_at(step, steps, base_lr, warmup_steps):
    if step >= warmup_steps:
        angle = math.pi / 2 * (step - warmup_steps) / (steps - warmup_steps)
        share = math.cos(angle) ** 2
        return share * base_lr + (1 - share) * 0.1 * base_lr
    return (step + 1) * (base_lr / warmup_steps)


# %% sort_letters wrong (misconception never-appends): does not append the letter, so all three passes see the same text
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            scores = model(ids)[0, -1].clone()
            scores[abc_sorter.SEP] = float("-inf")
            answer += abc_sorter.VOCAB[scores.argmax().item()]
    return answer


# %% sort_letters wrong (misconception separator-not-forbidden): does not mask out the dot; shows when the dot has the highest score
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            best = model(ids)[0, -1].argmax()
            answer += abc_sorter.VOCAB[best.item()]
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
    return answer


# %% sort_letters wrong (misconception separator-not-low-enough): sets the dot's logit to 0 instead of -inf; shows when all letters have negative logits
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    answer = ""
    with torch.no_grad():
        for _ in range(3):
            scores = model(ids)[0, -1].clone()
            scores[abc_sorter.SEP] = 0.0
            best = scores.argmax()
            answer += abc_sorter.VOCAB[best.item()]
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
    return answer


# %% sort_letters wrong (misconception sorts-by-itself): sorts the letters itself and never runs the model; shows with a model that does not sort
def sort_letters(model, letters):
    return "".join(sorted(letters))


# %% sort_letters wrong (property training): always leaves the model in training mode; shows when it was in eval mode
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    answer = ""
    model.eval()
    with torch.no_grad():
        for _ in range(3):
            scores = model(ids)[0, -1].clone()
            scores[abc_sorter.SEP] = float("-inf")
            best = scores.argmax()
            answer += abc_sorter.VOCAB[best.item()]
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
    model.train()
    return answer


# %% sort_letters right (passed): sets the dot's logit to -inf in a copy, argmax, append
@torch.no_grad()
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    for _ in range(3):
        scores = model(ids)[:, -1].clone()
        scores[:, abc_sorter.SEP] = -torch.inf
        ids = torch.cat((ids, scores.argmax(dim=-1, keepdim=True)), dim=1)
    return "".join(abc_sorter.VOCAB[i] for i in ids[0, -3:].tolist())


# %% sort_letters right (passed): compares the scores of the three letters in a Python list
def sort_letters(model, letters):
    ids = abc_sorter.encode(letters)
    candidates = [i for i in range(4) if i != abc_sorter.SEP]
    written = []
    while len(written) < 3:
        with torch.no_grad():
            scores = model(ids)[0, -1].tolist()
        best = max(candidates, key=lambda i: scores[i])
        written.append(abc_sorter.VOCAB[best])
        ids = torch.cat([ids, torch.tensor([[best]], dtype=ids.dtype, device=ids.device)], dim=1)
    return "".join(written)
