# %% scaled_context_vec_2 wrong (misconception no-softmax): forgets the softmax
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = attn_scores_2 / d_k**0.5
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception mixes-the-inputs): mixes the inputs instead of the values
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ inputs


# %% scaled_context_vec_2 wrong (misconception divided-by-d_k): subtle, near miss: divides by d_k instead of its root
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception not-scaled): subtle, near miss: divides the weights after the softmax, and makes them sum to one again
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2, dim=-1) / d_k**0.5
attn_weights_2 = attn_weights_2 / attn_weights_2.sum()
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception mixes-the-keys): subtle, near miss: mixes the keys instead of the values
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ keys


# %% scaled_context_vec_2 right (passed): torch.softmax and a product
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 right (passed): powers of the divided scores, and a sum of weighted rows
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
scaled = attn_scores_2 * d_k**-0.5
powers = (scaled - scaled.max()).exp()
attn_weights_2 = powers / powers.sum()
scaled_context_vec_2 = (attn_weights_2[:, None] * values).sum(dim=0)


# %% SelfAttention_v1 wrong (misconception wrong-axis): the softmax runs down the columns
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = queries @ keys.T / keys.shape[-1] ** 0.5
        return torch.softmax(scores, dim=0) @ values


# %% SelfAttention_v1 wrong (misconception root-of-d_in): divides by the root of d_in
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = torch.softmax(queries @ keys.T / x.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (misconception root-of-2): subtle, always divides by the root of 2; shows when d_out is not 2
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = queries @ keys.T
        weights = torch.softmax(scores / 2**0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (property finite_when_scaled): subtle, hand-written exp without subtracting the maximum; shows for large inputs (nan)
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        powers = torch.exp(queries @ keys.T / keys.shape[-1] ** 0.5)
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return weights @ values


# %% SelfAttention_v1 wrong (property lets_gradients_through): subtle, the matrices have requires_grad=False as in the cell above; shows when the layer is trained
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_key = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_value = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 right (passed): three products, torch.softmax along the rows
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        scores = queries @ keys.T
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 right (passed): a loop makes the matrices, einsum makes the scores and the mix, the queries are divided first
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.d_out = d_out
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Parameter(torch.rand(d_in, d_out)))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries = torch.einsum("si,io->so", x, self.W_query) / self.d_out**0.5
        keys = torch.einsum("si,io->so", x, self.W_key)
        values = torch.einsum("si,io->so", x, self.W_value)
        scores = torch.einsum("qo,ko->qk", queries, keys)
        powers = (scores - scores.amax(dim=1, keepdim=True)).exp()
        weights = powers / powers.sum(dim=1, keepdim=True)
        return torch.einsum("qk,ko->qo", weights, values)


# %% SelfAttention_v2 wrong (misconception always-a-bias): forgets to pass qkv_bias on, so the layers always have a bias
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v2 wrong (misconception made-in-the-order-key-query-value): makes the layers in another order (key, query, value), so a seed gives other weights
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v2 wrong (property uses_everything): subtle, multiplies by the weights and leaves out the biases; shows with qkv_bias=True
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries = x @ self.W_query.weight.T
        keys = x @ self.W_key.weight.T
        values = x @ self.W_value.weight.T
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v2 wrong (property finite_when_scaled): subtle, subtracts the maximum of the whole table of scores; shows for large inputs (nan in rows far below)
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.T / keys.shape[-1] ** 0.5
        powers = torch.exp(scores - scores.max())
        return powers / powers.sum(dim=-1, keepdim=True) @ values


# %% SelfAttention_v2 wrong (property lets_gradients_through): subtle, computes the weights without gradients; shows in training (W_query and W_key get no gradient)
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        with torch.no_grad():
            weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v2 right (passed): three layers called on x, torch.softmax along the rows
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v2 right (passed): one row of the result at a time, through logsoftmax
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        def make():
            return nn.Linear(in_features=d_in, out_features=d_out, bias=qkv_bias)

        self.W_query, self.W_key, self.W_value = make(), make(), make()

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        keys, values = self.W_key(x), self.W_value(x)
        rows = []
        for token in x:
            query = self.W_query(token) / keys.size(-1) ** 0.5
            weights = F.log_softmax(keys.mv(query), dim=0).exp()
            rows.append(values.T.mv(weights))
        return torch.stack(rows)


# %% copy_weights wrong (misconception shares-memory): the new parameters are views, so both layers share their memory
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.T)
    v1.W_key = nn.Parameter(v2.W_key.weight.T)
    v1.W_value = nn.Parameter(v2.W_value.weight.T)


# %% copy_weights wrong (misconception reshaped): reshapes instead of transposing, so the numbers are in the wrong places
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        old = getattr(v1, name)
        weight = getattr(v2, name).weight.detach().clone()
        setattr(v1, name, nn.Parameter(weight.reshape(old.shape)))


# %% copy_weights wrong (difference transpose): subtle, transposes only if the shapes differ; shows when d_in and d_out are equal
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            weight = getattr(v2, name).weight
            if weight.shape != getattr(v1, name).shape:
                weight = weight.T
            getattr(v1, name).copy_(weight)


# %% copy_weights wrong (misconception contiguous): subtle, takes contiguous() for a copy; shows when d_out or d_in is 1, where the memory is shared
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().T.contiguous())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().T.contiguous())
    v1.W_value = nn.Parameter(v2.W_value.weight.detach().T.contiguous())


# %% copy_weights wrong (misconception frozen): subtle, the copies have requires_grad=False; shows when v1 is trained
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.T.clone(), requires_grad=False)
    v1.W_key = nn.Parameter(v2.W_key.weight.T.clone(), requires_grad=False)
    v1.W_value = nn.Parameter(v2.W_value.weight.T.clone(), requires_grad=False)


# %% copy_weights right (passed): copies the transposes into the existing parameters
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.T)
        v1.W_key.copy_(v2.W_key.weight.T)
        v1.W_value.copy_(v2.W_value.weight.T)


# %% copy_weights right (passed): makes new parameters from cloned transposes
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ["W_query", "W_key", "W_value"]:
        layer = getattr(v2, name)
        copy = layer.weight.detach().transpose(0, 1).clone()
        setattr(v1, name, nn.Parameter(copy))


# %% compute_attn_weights wrong (misconception true-means-blocked): hides the tokens where the mask is True
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    queries, keys = x @ W_Q, x @ W_K
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (misconception mask-after-softmax): applies the mask after the softmax, so the rows no longer sum to one
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    queries, keys = x @ W_Q, x @ W_K
    weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights


# %% compute_attn_weights wrong (property hides_with_minus_infinity): subtle, hides with -1e9 instead of -inf; shows in a row where everything is hidden
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    queries, keys = x @ W_Q, x @ W_K
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (property zeros): subtle, hides every score that is 0 after the product with the mask; shows when a visible score is exactly 0
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    queries, keys = x @ W_Q, x @ W_K
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = scores * mask
        scores = scores.masked_fill(scores == 0, float("-inf"))
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (property finite_when_scaled): subtle, hides after the softmax and divides by the new sum; shows when a hidden score is far above the visible ones
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    queries, keys = x @ W_Q, x @ W_K
    weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights


# %% compute_attn_weights right (passed): masked_fill with -inf before torch.softmax
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    queries, keys = x @ W_Q, x @ W_K
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights right (passed): einsum, and a table of 0 and -inf that is added to the scores
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    d_head = W_Q.shape[1]
    scores = torch.einsum("qh,kh->qk", (x @ W_Q) * d_head**-0.5, x @ W_K)
    if mask is not None:
        hidden = torch.zeros_like(scores)
        hidden[~mask] = float("-inf")
        scores = scores + hidden
    return F.softmax(scores, dim=1)


# %% SingleHeadAttention wrong (misconception second-axis): softmax along dim=1, which is the axis of the queries in a batch
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=1)
        output = weights @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention wrong (misconception weights-first): returns the weights before the output
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        if return_weights:
            return weights, output
        return output


# %% SingleHeadAttention wrong (difference): subtle, returns the weights from before the mask; shows with a mask and return_weights
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        if mask is None:
            output = weights @ v
        else:
            output = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ v
        if return_weights:
            return output, weights
        return output


# %% SingleHeadAttention wrong (property finite_when_scaled): subtle, hand-written exp without subtracting the maximum; shows for large inputs (nan)
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        powers = torch.exp(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5)
        if mask is not None:
            powers = powers.masked_fill(~mask, 0.0)
        weights = powers / powers.sum(dim=-1, keepdim=True)
        output = weights @ v
        if return_weights:
            return output, weights
        return output


# %% SingleHeadAttention wrong (property state): subtle, remembers the mask of an earlier call; shows in a call without a mask after a call with one
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)
        self.mask = None

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        if mask is not None:
            self.mask = mask
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        if return_weights:
            return output, weights
        return output


# %% SingleHeadAttention right (passed): products, masked_fill and torch.softmax along the last axis
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention right (passed): einsum with any leading axes, torch.where for the mask
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q = self.q_layer(x) * x.shape[-1] ** -0.5
        scores = torch.einsum("...qd,...kd->...qk", q, self.k_layer(x))
        if mask is not None:
            scores = torch.where(mask, scores, torch.full_like(scores, float("-inf")))
        weights = scores.softmax(-1)
        output = torch.einsum("...qk,...kd->...qd", weights, self.v_layer(x))
        if not return_weights:
            return output
        return output, weights


