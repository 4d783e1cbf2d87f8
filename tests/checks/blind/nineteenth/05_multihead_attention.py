# %% MultiHeadAttentionWrapper wrong (misconception in-a-plain-list): a plain Python list, in which torch does not find the parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception one-head-repeated): one layer repeated num_heads times, so that all heads share their parameters
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        head = CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList([head] * num_heads)

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (shape): joins exactly two heads; shows for any other num_heads
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)
        )

    def forward(self, x):
        first, last = self.heads[0], self.heads[-1]
        return torch.cat((first(x), last(x)), dim=-1)


# %% MultiHeadAttentionWrapper wrong (misconception never-a-bias): does not pass qkv_bias on; shows only when it is true
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout) for _ in range(num_heads)
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper wrong (property drops_weights): gives the dropout to the first head only; shows in training with dropout above 0
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)])
        for _ in range(num_heads - 1):
            self.heads.append(CausalAttention(d_in, d_out, context_length, 0.0, qkv_bias))

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): ModuleList from a comprehension, cat along the last axis
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


# %% MultiHeadAttentionWrapper right (passed): appends in a loop; stacks the results before the last axis and flattens
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(
                CausalAttention(
                    d_in=d_in, d_out=d_out, context_length=context_length, dropout=dropout, qkv_bias=qkv_bias
                )
            )

    def forward(self, x):
        results = []
        for head in self.heads:
            results.append(head(x))
        return torch.stack(results, dim=-2).flatten(start_dim=-2)


# %% split_heads wrong (misconception view-without-transpose): a view directly to the final shape, without a transpose
def split_heads(x, num_heads):
    batch, seq, d_out = x.shape
    return x.reshape(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (misconception interleaved): deals the entries out in turn, so that neighbours go to different heads
def split_heads(x, num_heads):
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, d_out // num_heads, num_heads).permute(0, 3, 1, 2)


# %% split_heads wrong (misconception num_heads-and-d_head-swapped): split(num_heads) makes pieces of num_heads entries, not num_heads pieces; right only if d_head equals num_heads
def split_heads(x, num_heads):
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


# %% split_heads wrong (misconception texts-and-heads-mixed): joins the pieces along the batch and views; mixes up texts and heads when the batch is larger than 1
def split_heads(x, num_heads):
    batch, seq, d_out = x.shape
    pieces = x.chunk(num_heads, dim=-1)
    return torch.cat(pieces, dim=0).view(batch, num_heads, seq, d_out // num_heads)


# %% split_heads wrong (property layouts): as_strided with the steps of a contiguous x; wrong entries when x is a slice or a transpose
def split_heads(x, num_heads):
    batch, seq, d_out = x.shape
    d_head = d_out // num_heads
    return x.as_strided((batch, num_heads, seq, d_head), (seq * d_out, d_head, d_out, 1))


# %% split_heads right (passed): cuts the last axis in two, then moves the heads before the positions
def split_heads(x, num_heads):
    batch, seq, d_out = x.shape
    return x.reshape(batch, seq, num_heads, d_out // num_heads).transpose(1, 2)


# %% split_heads right (passed): slices one head after another and stacks them
def split_heads(x, num_heads):
    d_head = x.shape[-1] // num_heads
    heads = [x[:, :, h * d_head : (h + 1) * d_head] for h in range(num_heads)]
    return torch.stack(heads, dim=1)


# %% merge_heads wrong (misconception not-transposed): reshapes without moving the heads behind the positions
def merge_heads(x):
    batch, num_heads, seq, d_head = x.shape
    return x.reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (misconception view-after-transpose): view after a transpose, which raises an error when the memory is not in that order
def merge_heads(x):
    batch, num_heads, seq, d_head = x.shape
    return x.transpose(1, 2).view(batch, seq, num_heads * d_head)


# %% merge_heads wrong (difference rearranged): reads the memory as it was before split_heads; wrong for a tensor that was computed, such as weights @ values
def merge_heads(x):
    batch, num_heads, seq, d_head = x.shape
    d_out = num_heads * d_head
    return x.as_strided((batch, seq, d_out), (seq * d_out, d_out, 1))


# %% merge_heads wrong (difference rearranged): moves the positions before the batch; right for a batch of one text only
def merge_heads(x):
    batch, num_heads, seq, d_head = x.shape
    return x.permute(2, 0, 1, 3).reshape(batch, seq, num_heads * d_head)


# %% merge_heads wrong (property lets_gradients_through): copies the numbers without their history; right values, but no gradient flows
def merge_heads(x):
    batch, num_heads, seq, d_head = x.shape
    out = torch.zeros(batch, seq, num_heads * d_head, device=x.device, dtype=x.dtype)
    for h in range(num_heads):
        out[:, :, h * d_head : (h + 1) * d_head] = x[:, h].data
    return out


# %% merge_heads right (passed): transpose, then flatten the last two axes
def merge_heads(x):
    return x.transpose(1, 2).flatten(start_dim=2)


# %% merge_heads right (passed): takes the heads apart and puts them side by side
def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


# %% MultiHeadAttention wrong (misconception root-of-d_out): divides by the root of d_out instead of the root of the head's width
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.d_out, self.num_heads = d_out, num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        seq = x.shape[1]
        q, k, v = (split_heads(W(x), self.num_heads) for W in (self.W_query, self.W_key, self.W_value))
        scores = q @ k.transpose(2, 3) / self.d_out**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(merge_heads(weights @ v))


# %% MultiHeadAttention wrong (misconception out_proj-asks-qkv_bias): out_proj has a bias only if qkv_bias is true
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        seq = x.shape[1]
        q, k, v = (split_heads(W(x), self.num_heads) for W in (self.W_query, self.W_key, self.W_value))
        scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(merge_heads(weights @ v))


# %% MultiHeadAttention wrong (property causal): hides with -1e9; inputs near a million have scores far below that, and the future leaks
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x):
        seq = x.shape[1]
        q, k, v = (split_heads(W(x), self.num_heads) for W in (self.W_query, self.W_key, self.W_value))
        scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -1e9)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(merge_heads(weights @ v))


# %% MultiHeadAttention wrong (misconception any-width-accepted): the ValueError comes only if there are more heads than entries, not for d_out 5 and 2 heads
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        d_head = d_out // num_heads
        if d_head == 0:
            raise ValueError("too many heads for d_out")
        self.num_heads, self.d_head = num_heads, d_head
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        seq = x.shape[1]
        q, k, v = (split_heads(W(x), self.num_heads) for W in (self.W_query, self.W_key, self.W_value))
        scores = q @ k.transpose(2, 3) / self.d_head**0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = self.dropout(torch.softmax(scores, dim=-1))
        return self.out_proj(merge_heads(weights @ v))


# %% MultiHeadAttention wrong (property drops_weights): applies dropout to the scores before the softmax; shows in training with dropout above 0
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length))

    def forward(self, x):
        seq = x.shape[1]
        q, k, v = (split_heads(W(x), self.num_heads) for W in (self.W_query, self.W_key, self.W_value))
        scores = self.dropout(q @ k.transpose(2, 3) / k.shape[-1] ** 0.5)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return self.out_proj(merge_heads(torch.softmax(scores, dim=-1) @ v))


# %% MultiHeadAttention right (passed): split_heads and merge_heads, mask in a buffer that is not saved
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share {d_out} entries evenly")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x):
        seq = x.shape[1]
        queries = split_heads(self.W_query(x), self.num_heads)
        keys = split_heads(self.W_key(x), self.num_heads)
        values = split_heads(self.W_value(x), self.num_heads)
        scores = queries @ keys.transpose(-2, -1)
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.out_proj(merge_heads(self.dropout(weights) @ values))


# %% MultiHeadAttention right (passed): heads stay behind the positions, einsum for the products, a new mask in each call
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        d_head, rest = divmod(d_out, num_heads)
        if rest:
            raise ValueError("d_out must be a multiple of num_heads")
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))
        self.out_proj = nn.Linear(d_out, d_out, bias=True)
        self.dropout = nn.Dropout(dropout)
        self.num_heads, self.d_head = num_heads, d_head

    def forward(self, x):
        cut = (self.num_heads, self.d_head)
        q, k, v = (layer(x).unflatten(-1, cut) for layer in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / self.d_head**0.5
        place = torch.arange(x.shape[1], device=x.device)
        scores = scores.masked_fill(place[:, None] < place[None, :], -torch.inf)
        weights = self.dropout(scores.softmax(dim=-1))
        mixed = torch.einsum("bhqk,bkhd->bqhd", weights, v)
        return self.out_proj(mixed.flatten(2))


# %% all_head_patterns wrong (misconception no-biases): leaves out the biases
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K = gpt2.get_split_l0_heads(head)
        patterns.append(causal_attn_weights((x @ W_Q) @ (x @ W_K).T, W_K.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (misconception root-of-d_model): divides by the root of d_model instead of the root of d_head
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, x.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns wrong (difference): takes d_model / n_heads as the head's width; shows when fewer than all heads are asked for
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    d_head = x.shape[-1] // n_heads
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, d_head))
    return torch.stack(patterns)


# %% all_head_patterns wrong (difference): returns the last n_heads heads; the same only if all heads are asked for
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(gpt2.source().n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, W_Q.shape[-1]))
    return torch.stack(patterns[-n_heads:])


# %% all_head_patterns wrong (shape): strips the prompt; other tokens when it begins or ends with a space
def all_head_patterns(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt.strip())
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries, keys = x @ W_Q + b_Q, x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, W_Q.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns right (passed): a loop over the heads, stacked at the end
def all_head_patterns(prompt, n_heads):
    tokens, x = gpt2.get_pre_attn(prompt)
    patterns = []
    for head in range(n_heads):
        W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
        queries = x @ W_Q + b_Q
        keys = x @ W_K + b_K
        patterns.append(causal_attn_weights(queries @ keys.T, d_k=keys.shape[-1]))
    return torch.stack(patterns)


# %% all_head_patterns right (passed): stacks the matrices of all heads, then makes all scores with one einsum
def all_head_patterns(prompt, n_heads):
    x = gpt2.get_pre_attn(prompt)[1]
    per_head = [gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)]
    W_Q, W_K, b_Q, b_K = (torch.stack(parts) for parts in zip(*per_head))
    queries = torch.einsum("sm,hmd->hsd", x, W_Q) + b_Q[:, None]
    keys = torch.einsum("sm,hmd->hsd", x, W_K) + b_K[:, None]
    return causal_attn_weights(torch.einsum("hqd,hkd->hqk", queries, keys), W_Q.shape[-1])


# %% head_kind wrong (misconception bar-one-over-seq): takes 1 / seq as the mean weight of a uniform head
def head_kind(pattern):
    seq = pattern.shape[-1]
    rows = range(2, seq)
    means = {
        "previous": sum(pattern[i, i - 1].item() for i in rows) / len(rows),
        "current": sum(pattern[i, i].item() for i in rows) / len(rows),
        "first": sum(pattern[i, 0].item() for i in rows) / len(rows),
    }
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 / seq else "other"


# %% head_kind wrong (misconception row-for-column): for the first token, reads row 0 instead of column 0
def head_kind(pattern):
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1)[1:].mean().item(),
        "current": pattern.diagonal()[2:].mean().item(),
        "first": pattern[0, 2:].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception first-over-the-bar): returns the first kind above the threshold, not the largest; shows when two kinds are above it
def head_kind(pattern):
    seq = pattern.shape[0]
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    if pattern.diagonal(-1)[1:].mean() >= 1.4 * uniform:
        return "previous"
    if pattern.diagonal()[2:].mean() >= 1.4 * uniform:
        return "current"
    if pattern[2:, 0].mean() >= 1.4 * uniform:
        return "first"
    return "other"


# %% head_kind wrong (misconception uniform-of-the-mean-row): one divided by the mean number of visible positions, not the mean of 1 / (i + 1); shows near the threshold
def head_kind(pattern):
    seq = pattern.shape[0]
    i = torch.arange(2, seq, device=pattern.device)
    means = {
        "previous": pattern[i, i - 1].mean().item(),
        "current": pattern[i, i].mean().item(),
        "first": pattern[i, 0].mean().item(),
    }
    uniform = 1 / (i + 1.0).mean().item()
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind wrong (misconception row-2-lost-for-previous): the diagonal of the previous positions starts at row 1, so [2:] leaves out row 2; shows when row 2 decides
def head_kind(pattern):
    seq = pattern.shape[0]
    means = {
        "previous": pattern.diagonal(-1)[2:].mean().item(),
        "current": pattern.diagonal(0)[2:].mean().item(),
        "first": pattern[2:, 0].mean().item(),
    }
    uniform = sum(1 / (i + 1) for i in range(2, seq)) / (seq - 2)
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind right (passed): index lists for the three positions of each row
def head_kind(pattern):
    i = torch.arange(2, pattern.shape[0], device=pattern.device)
    means = {
        "previous": pattern[i, i - 1].mean().item(),
        "current": pattern[i, i].mean().item(),
        "first": pattern[i, 0].mean().item(),
    }
    uniform = (1 / (i + 1.0)).mean().item()
    best = max(means, key=means.get)
    return best if means[best] >= 1.4 * uniform else "other"


# %% head_kind right (passed): sums in a plain loop and compares them with the sum of a uniform head
def head_kind(pattern):
    rows = pattern.tolist()
    previous = current = first = uniform = 0.0
    for i in range(2, len(rows)):
        previous += rows[i][i - 1]
        current += rows[i][i]
        first += rows[i][0]
        uniform += 1 / (i + 1)
    largest = max(previous, current, first)
    if largest < 1.4 * uniform:
        return "other"
    if largest == previous:
        return "previous"
    return "current" if largest == current else "first"


