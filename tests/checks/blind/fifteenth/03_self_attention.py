# %% scaled_context_vec_2 wrong (misconception not-scaled): forgets to divide the scores
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception divided-by-d_k): divides by d_k instead of its square root
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception root-of-d_in): near miss, d_k is the width of the inputs (3) instead of the keys (2)
d_k = inputs.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception another-query): near miss, the query of starts instead of journey
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(queries[2] @ keys.T / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception multiplied): near miss, multiplies by the square root, because / d_k**-0.5 divides by its inverse
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**-0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 right (passed): softmax of the divided scores, then the product with the values
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 right (passed): divides the query first, softmax by hand, and mixes by einsum
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
scores = keys @ (query_2 / d_k**0.5)
powers = torch.exp(scores - scores.max())
attn_weights_2 = powers / powers.sum()
scaled_context_vec_2 = torch.einsum("k,kd->d", attn_weights_2, values)


# %% SelfAttention_v1 wrong (misconception wrong-axis): the softmax runs down the columns
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=0)
        return weights @ values


# %% SelfAttention_v1 wrong (misconception query-and-key-swapped): keys and queries are swapped in the scores, so the rows belong to the keys
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        weights = torch.softmax(keys @ queries.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (misconception root-of-2): subtle, divides by the root of the page's d_k (2); shows when d_out is not 2
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        weights = torch.softmax(queries @ keys.T / d_k**0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (property lets_gradients_through): subtle, the parameters are copied from the page with requires_grad=False; shows in training, which cannot change them
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_key = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_value = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (property finite_when_scaled): subtle, exp without subtracting the maximum; nan for very large inputs
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        powers = torch.exp(queries @ keys.T / keys.shape[-1] ** 0.5)
        return powers / powers.sum(dim=-1, keepdim=True) @ values


# %% SelfAttention_v1 right (passed): the formula with torch.softmax
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 right (passed): one query after the other, the query divided first, the softmax with the maximum subtracted
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        keys, values = x @ self.W_key, x @ self.W_value
        contexts = []
        for query in (x @ self.W_query) / self.W_query.shape[1] ** 0.5:
            scores = keys @ query
            powers = torch.exp(scores - scores.max())
            contexts.append((powers / powers.sum()) @ values)
        return torch.stack(contexts)


# %% SelfAttention_v2 wrong (misconception always-a-bias): qkv_bias is not passed on, so the layers always have a bias
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v2 wrong (misconception scaled-too-late): divides the weights by the root instead of the scores
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        weights = torch.softmax(queries @ keys.T, dim=-1) / keys.shape[-1] ** 0.5
        return weights @ values


# %% SelfAttention_v2 wrong (property uses_everything): subtle, forward multiplies by the weights and leaves out the biases; shows with qkv_bias=True
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = x @ self.W_query.weight.T
        keys = x @ self.W_key.weight.T
        values = x @ self.W_value.weight.T
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v2 wrong (property finite_when_scaled): subtle, scores are cut off at 80 so that exp does not overflow; wrong weights when scores are above 80
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.T / keys.shape[-1] ** 0.5
        powers = torch.exp(scores.clamp(-80, 80))
        return powers / powers.sum(dim=-1, keepdim=True) @ values


# %% SelfAttention_v2 wrong (property lets_gradients_through): subtle, the weights are detached, so queries and keys get no gradient; shows in training
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights.detach() @ values


# %% SelfAttention_v2 right (passed): the formula with torch.softmax and a stored root
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.scale = d_out**-0.5

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        scores = queries @ keys.transpose(0, 1) * self.scale
        return scores.softmax(dim=1) @ values


# %% SelfAttention_v2 right (passed): torch's own scaled_dot_product_attention, with a batch axis for the call
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = (layer(x).unsqueeze(0) for layer in (self.W_query, self.W_key, self.W_value))
        return F.scaled_dot_product_attention(q, k, v).squeeze(0)


# %% copy_weights wrong (misconception not-transposed): no transpose, the parameters keep the layout of nn.Linear
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        setattr(v1, name, nn.Parameter(getattr(v2, name).weight.detach().clone()))


# %% copy_weights wrong (misconception reshaped): reshapes instead of transposing, so the numbers are in the wrong places
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        target = getattr(v1, name)
        target.data = getattr(v2, name).weight.detach().clone().reshape(target.shape)


# %% copy_weights wrong (misconception shares-memory): subtle, the transpose is a view, so both layers share memory; shows when one layer is changed in place
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query.data = v2.W_query.weight.data.T
    v1.W_key.data = v2.W_key.weight.data.T
    v1.W_value.data = v2.W_value.weight.data.T


# %% copy_weights wrong (difference transpose): subtle, transposes only if the shapes differ; shows when d_in equals d_out
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        source, target = getattr(v2, name).weight.detach(), getattr(v1, name)
        if source.shape != target.shape:
            source = source.T
        target.data = source.clone()


# %% copy_weights wrong (misconception frozen): subtle, the copies are parameters without a gradient; shows in training, which cannot change them
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        copied = getattr(v2, name).weight.detach().T.clone()
        setattr(v1, name, nn.Parameter(copied, requires_grad=False))


# %% copy_weights right (passed): copies in place into the parameters of v1, without gradient
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.T)
        v1.W_key.copy_(v2.W_key.weight.T)
        v1.W_value.copy_(v2.W_value.weight.T)


# %% copy_weights right (passed): new parameters from cloned transposes
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(v2, name).weight
        setattr(v1, name, nn.Parameter(weight.detach().t().clone(memory_format=torch.contiguous_format)))


# %% compute_attn_weights wrong (misconception mask-after-softmax): the mask comes after the softmax, so masked rows do not sum to one
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights


# %% compute_attn_weights wrong (misconception true-means-blocked): the mask is inverted, hides where it is True
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (property hides_with_minus_infinity): subtle, a large negative number instead of -inf; shows in a row where everything is hidden
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -1e9)
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (property zeros): subtle, multiplies the scores by the mask and hides every 0; shows when a visible score is exactly 0
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores * mask
        scores = scores.masked_fill(scores == 0, float("-inf"))
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (property finite_when_scaled): subtle, zeroes the hidden weights and divides by the rest; nan when the visible scores are far below a hidden one
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights


# %% compute_attn_weights right (passed): masked_fill with -inf before the softmax
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights right (passed): einsum with the queries divided first, and a table of 0 and -inf that is added
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    queries = torch.einsum("sm,mh->sh", x, W_Q) / W_Q.shape[1] ** 0.5
    keys = torch.einsum("sm,mh->sh", x, W_K)
    scores = torch.einsum("qh,kh->qk", queries, keys)
    if mask is not None:
        hidden = torch.zeros_like(scores).masked_fill(mask.logical_not(), -torch.inf)
        scores = scores + hidden
    return F.softmax(scores, dim=1)


# %% SingleHeadAttention wrong (misconception no-bias): the three layers have no bias
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model, bias=False)
        self.k_layer = nn.Linear(d_model, d_model, bias=False)
        self.v_layer = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention wrong (misconception divided-by-the-width): divides by d_model instead of its square root
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1]
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention wrong (misconception second-axis): subtle, the softmax runs along axis 1; right for one text, wrong for a batch
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=1)
        output = weights @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention wrong (difference): subtle, returns the weights before the mask; shows with a mask and return_weights
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        output = torch.softmax(scores, dim=-1) @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention wrong (property state): subtle, remembers the mask of an earlier call; shows in a call without a mask after one with a mask
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)
        self.mask = None

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            self.mask = mask
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention right (passed): the formula with masked_fill, for any number of leading axes
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention right (passed): einsum with an ellipsis, the queries divided first, where for the mask, and the softmax by exp of log_softmax
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        queries = self.q_layer(x) / self.q_layer.out_features**0.5
        scores = torch.einsum("...qd,...kd->...qk", queries, self.k_layer(x))
        if mask is not None:
            scores = torch.where(mask, scores, float("-inf"))
        weights = F.log_softmax(scores, dim=-1).exp()
        output = torch.einsum("...qk,...kd->...qd", weights, self.v_layer(x))
        if return_weights:
            return output, weights
        return output


