# %% MultiHeadAttentionWrapper wrong (property moves_with_its_module): collects results in a list that is never emptied, so the second call returns a wider result
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )
        self.results = []

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        for head in self.heads:
            self.results.append(head(x))
        return torch.cat(self.results, dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception split-d_out): divides d_out among the heads, although each layer should return d_out entries
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out // num_heads, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (structure): only head 0 gets qkv_bias, the other heads are made without it; shows with qkv_bias=True
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)])
        while len(self.heads) < num_heads:
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): stacks the results before the last axis, then flattens
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # A list of layers, whose parameters torch can find.
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout=dropout, qkv_bias=qkv_bias))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq width"]:
        # The results of all heads, side by side.
        return torch.stack([head(x) for head in self.heads], dim=2).flatten(start_dim=2)


# %% split_heads wrong (misconception view-without-transpose): a view directly to the final shape
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    return x.reshape(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (misconception num_heads-and-d_head-swapped): cuts pieces of num_heads entries instead of num_heads pieces; right only if d_head equals num_heads
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


# %% split_heads wrong (shape): returns x unchanged, without an axis for the heads, if num_heads is 1
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    if num_heads == 1:
        return x
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


# %% split_heads right (passed): copies each head's columns into a new tensor
def split_heads(x: Float[Tensor, "batch seq d_out"], num_heads: int) -> Float[Tensor, "batch num_heads seq d_head"]:
    """Head h gets entries h * d_head to (h + 1) * d_head of every position."""
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    heads = x.new_zeros(batch, num_heads, seq, d_head)
    for h in range(num_heads):
        heads[:, h] = x[:, :, h * d_head : (h + 1) * d_head]
    return heads


# %% merge_heads wrong (misconception not-transposed): flattens without moving the heads behind the positions
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    return x.reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (misconception interleaved): puts the heads behind the entries, so the entries of different heads alternate
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return x.permute(0, 2, 3, 1).flatten(2)


# %% merge_heads wrong (difference rearranged): reads the memory as if x were contiguous; shows if x is a transposed view, such as the result of split_heads
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    batch, num_heads, seq, d_head = x.shape
    strides = (num_heads * seq * d_head, d_head, seq * d_head, 1)
    return x.as_strided((batch, seq, num_heads, d_head), strides).flatten(2)


# %% merge_heads right (passed): takes the heads apart and puts them side by side
def merge_heads(x: Float[Tensor, "batch num_heads seq d_head"]) -> Float[Tensor, "batch seq d_out"]:
    """Undo split_heads."""
    return torch.cat(x.unbind(dim=1), dim=-1)


# %% MultiHeadAttention wrong (misconception root-of-d_out): divides the scores by the root of d_out instead of the head's width
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.d_out, self.num_heads = d_out, num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        seq = x.shape[1]
        queries, keys, values = (
            split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value)
        )
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_out**0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (misconception any-width-accepted): raises the error only if there are more heads than entries, and otherwise builds heads that leave entries over; shows with d_out 7 and 2 heads
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        self.d_head = d_out // num_heads
        if self.d_head == 0:
            raise ValueError("there are too few entries for so many heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        seq = x.shape[1]
        queries, keys, values = (
            split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value)
        )
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores / self.d_head**0.5, dim=-1))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention wrong (property drops_weights): one draw of dropout for all heads and texts, so all drop the same weights; shows in training with dropout above 0
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        if d_out % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {d_out} entries evenly")
        self.num_heads, self.d_head = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        seq = x.shape[1]
        queries, keys, values = (
            split_heads(layer(x), self.num_heads) for layer in (self.W_query, self.W_key, self.W_value)
        )
        scores = queries @ keys.transpose(2, 3)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / self.d_head**0.5, dim=-1)
        weights = weights * self.dropout(torch.ones_like(weights[0, 0]))
        return self.out_proj(merge_heads(weights @ values))


# %% MultiHeadAttention right (passed): a loop over the heads, with a mask made in each call
class MultiHeadAttention(nn.Module):
    def __init__(
        self, d_in: int, d_out: int, context_length: int, dropout: float, num_heads: int, qkv_bias: bool = False
    ):
        super().__init__()
        # Four linear layers, dropout, and an error if the heads cannot share d_out evenly.
        d_head, left_over = divmod(d_out, num_heads)
        if left_over:
            raise ValueError(f"d_out = {d_out} is not a multiple of num_heads = {num_heads}")
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.d_head = d_head

    def forward(self, x: Float[Tensor, "batch seq d_in"]) -> Float[Tensor, "batch seq d_out"]:
        # Split, attend in each head, merge, mix.
        places = torch.arange(x.shape[1], device=x.device)
        later = places[None, :] > places[:, None]
        results = []
        for q, k, v in zip(*(layer(x).split(self.d_head, dim=-1) for layer in (self.W_query, self.W_key, self.W_value))):
            scores = torch.einsum("bqd,bkd->bqk", q, k) / self.d_head**0.5
            weights = scores.masked_fill(later, -torch.inf).softmax(dim=-1)
            results.append(self.dropout(weights) @ v)
        return self.out_proj(torch.cat(results, dim=-1))


# %% all_head_patterns wrong (misconception no-biases): leaves out the biases
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        patterns.append(causal_attn_weights((x @ W_Q) @ (x @ W_K).T, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception root-of-d_model): takes the width of the model for d_k
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        patterns.append(causal_attn_weights((x @ W_Q + b_Q) @ (x @ W_K + b_K).T, x.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (property state): remembers the patterns of a prompt; shows when the same prompt is asked for again with more heads
remembered_patterns = {}


def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    if prompt not in remembered_patterns:
        _, x = gpt2.get_pre_attn(prompt)
        patterns = []
        for head in range(n_heads):
            W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
            queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
            patterns.append(causal_attn_weights(queries @ keys.T, keys.shape[-1]))
        remembered_patterns[prompt] = torch.stack(patterns)
    return remembered_patterns[prompt][:n_heads]


# %% all_head_patterns right (passed): all heads in one product
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    x = gpt2.get_pre_attn(prompt)[1]
    parts = [gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)]
    W_Q, W_K, b_Q, b_K = (torch.stack(part) for part in zip(*parts))
    queries = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q[:, None]
    keys = torch.einsum("sm,hmd->hsd", x, W_K) + b_K[:, None]
    return causal_attn_weights(queries @ keys.mT, d_k=keys.shape[2])


# %% all_head_patterns right (passed): leaves out b_K on purpose, because it adds the same number to all scores of a row and changes no weight
def all_head_patterns(prompt: str, n_heads: int) -> Float[Tensor, "n_heads seq seq"]:
    """Return the model's own patterns: what each head of layer 0 attends to, biases included."""
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, _ = gpt2.get_split_l0_heads(head, bias=True)
        patterns.append(causal_attn_weights((x @ W_Q + b_Q) @ (x @ W_K).T, W_K.shape[-1]))
    return torch.stack(patterns)


# %% head_kind wrong (property means): the means include rows 0 and 1
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1).mean().item(),
        "current": pattern.diagonal().mean().item(),
        "first": pattern[:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(seq)) / seq
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception first-over-the-bar): returns the first kind that reaches the threshold; shows when two means reach it and the later one is larger
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    means = {
        "previous": pattern.diagonal(-1)[1:].mean(),
        "current": pattern.diagonal()[2:].mean(),
        "first": pattern[2:, 0].mean(),
    }
    for kind, mean in means.items():
        if mean >= 1.4 * uniform:
            return kind
    return "other"


# %% head_kind wrong (misconception mean-of-ratios): compares each row with its own uniform weight and takes the mean of the factors; shows when the preference is in the early or late rows only
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    seq = pattern.shape[0]
    times_uniform = pattern * torch.arange(1, seq + 1)[:, None]
    factors = {
        "previous": times_uniform.diagonal(-1)[1:].mean().item(),
        "current": times_uniform.diagonal()[2:].mean().item(),
        "first": times_uniform[2:, 0].mean().item(),
    }
    best = max(factors, key=factors.get)
    return best if factors[best] >= 1.4 else "other"


# %% head_kind right (passed): collects the three weights of each row in a loop
def head_kind(pattern: Float[Tensor, "seq seq"]) -> str:
    """Return "previous", "current", "first" or "other"."""
    rows = range(2, len(pattern))
    triples = torch.stack([pattern[i, [i - 1, i, 0]] for i in rows])
    means = triples.mean(dim=0)
    uniform = sum(1 / (i + 1) for i in rows) / len(rows)
    place = means.argmax().item()
    if means[place].item() < 1.4 * uniform:
        return "other"
    return ("previous", "current", "first")[place]


# %% attend_in_heads/true-hides wrong (misconception as-in-the-lesson): True means visible, as in the lesson
def attend_in_heads(q: Tensor, k: Tensor, v: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """Return the result of all heads, as your task says."""
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    return (weights @ v).transpose(1, 2).flatten(2)


# %% attend_in_heads/true-hides wrong (difference milestone): subtle, hides the future too: right for causal masks, wrong if a row may see a later position
def attend_in_heads(q: Tensor, k: Tensor, v: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """Return the result of all heads, as your task says."""
    batch, seq, d = q.shape
    q, k, v = (x.reshape(batch, seq, n_heads, d // n_heads).transpose(1, 2) for x in (q, k, v))
    hidden = mask | torch.ones_like(mask).triu(1)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
    return (weights @ v).transpose(1, 2).reshape(batch, seq, d)


# %% attend_in_heads/true-hides right (passed): a loop over the heads, cut with chunk
def attend_in_heads(q: Tensor, k: Tensor, v: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """Return the result of all heads, as your task says."""
    results = []
    for head_q, head_k, head_v in zip(q.chunk(n_heads, -1), k.chunk(n_heads, -1), v.chunk(n_heads, -1)):
        scores = head_q @ head_k.mT / head_q.shape[-1] ** 0.5
        scores = torch.where(mask, -torch.inf, scores)
        results.append(scores.softmax(dim=-1) @ head_v)
    return torch.cat(results, dim=-1)


# %% attend_in_heads/shared-keys wrong (misconception values-shared-too): every head uses the keys and the values of head 0
def attend_in_heads(q: Tensor, k: Tensor, v: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """Return the result of all heads, as your task says."""
    results = []
    width = q.shape[-1] // n_heads
    for head_q in q.chunk(n_heads, -1):
        scores = head_q @ k[..., :width].transpose(-2, -1) / width**0.5
        results.append(torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1) @ v[..., :width])
    return torch.cat(results, dim=-1)


# %% attend_in_heads/shared-keys wrong (difference milestone): subtle, takes the first n_heads entries as the keys of head 0: right if d_head is n_heads
def attend_in_heads(q: Tensor, k: Tensor, v: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """Return the result of all heads, as your task says."""
    shared = k[..., :n_heads].repeat(1, 1, q.shape[-1])[..., : q.shape[-1]]
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (q, shared, v))
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    return (weights @ v).transpose(1, 2).flatten(2)


# %% attend_in_heads/shared-keys right (passed): einsum with the keys of one head
def attend_in_heads(q: Tensor, k: Tensor, v: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """Return the result of all heads, as your task says."""
    q, k, v = (x.unflatten(-1, (n_heads, -1)) for x in (q, k, v))
    scores = torch.einsum("bihe,bje->bhij", q, k[:, :, 0]) / q.shape[3] ** 0.5
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return torch.einsum("bhij,bjhe->bihe", weights, v).flatten(2)


# %% attend_in_heads/averaged-weights wrong (misconception averages-scores): takes the mean of the scores instead of the weights
def attend_in_heads(q: Tensor, k: Tensor, v: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """Return the result of all heads, as your task says."""
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (q, k, v))
    scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).mean(dim=1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    return (weights @ v).transpose(1, 2).flatten(2)


# %% attend_in_heads/averaged-weights wrong (difference milestone): subtle, hides and renormalises after the mean: right if the mask hides nothing, or for one head
def attend_in_heads(q: Tensor, k: Tensor, v: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """Return the result of all heads, as your task says."""
    q, k = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (q, k))
    weights = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1).mean(dim=1)
    weights = weights * mask
    return weights / weights.sum(dim=-1, keepdim=True) @ v


# %% attend_in_heads/averaged-weights right (passed): adds up the weights head by head; the mean mixes whole values, so these are not split
def attend_in_heads(q: Tensor, k: Tensor, v: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """Return the result of all heads, as your task says."""
    width, total = q.shape[-1] // n_heads, 0
    for h in range(n_heads):
        part = slice(h * width, (h + 1) * width)
        scores = q[..., part] @ k[..., part].mT / width**0.5
        total = total + torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    return total / n_heads @ v


# %% attend_in_heads/summed wrong (misconception scaled-by-d): divides the scores by the root of d instead of d_head
def attend_in_heads(q: Tensor, k: Tensor, v: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """Return the result of all heads, as your task says."""
    scale = q.shape[-1] ** 0.5
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.transpose(-2, -1) / scale
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    return (weights @ v).sum(dim=1)


# %% attend_in_heads/summed wrong (property finite): subtle, its own softmax without subtracting the maximum: nan for scores above 88
def attend_in_heads(q: Tensor, k: Tensor, v: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """Return the result of all heads, as your task says."""
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (q, k, v))
    powers = torch.exp(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5) * mask
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return (weights @ v).sum(dim=1)


# %% attend_in_heads/summed right (passed): torch's own attention, then the sum over the axis of heads
def attend_in_heads(q: Tensor, k: Tensor, v: Tensor, n_heads: int, mask: Tensor) -> Tensor:
    """Return the result of all heads, as your task says."""
    batch, seq, d = q.shape
    q, k, v = (x.reshape(batch, seq, n_heads, d // n_heads).permute(0, 2, 1, 3) for x in (q, k, v))
    return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).sum(dim=1)
