# %% scaled_context_vec_2 wrong (misconception not-scaled): forgets to divide the scores
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception mixes-the-keys): mixes the keys instead of the values
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ keys


# %% scaled_context_vec_2 wrong (misconception divided-by-d_k): near miss, divides by d_k instead of its root
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception root-of-d_in): near miss, divides by the root of the width of the inputs (3) instead of the keys (2)
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / inputs.shape[-1] ** 0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (difference milestone): near miss, uses the query of another token, with (the fourth)
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(queries[3] @ keys.T / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 right (passed): softmax of the divided scores, times the values
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 right (passed): exp and sum by hand, and an einsum for the mix
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.exp(attn_scores_2 * d_k**-0.5)
attn_weights_2 = attn_weights_2 / attn_weights_2.sum()
scaled_context_vec_2 = torch.einsum("j,jd->d", attn_weights_2, values)


# %% SelfAttention_v1 wrong (misconception wrong-axis): the softmax runs down the columns (dim=0)
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
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=0)
        return weights @ values


# %% SelfAttention_v1 wrong (misconception root-of-d_in): divides by the root of d_in instead of d_out
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


# %% SelfAttention_v1 wrong (property lets_gradients_through): the parameters have requires_grad=False, as in the first cells of the page; shows when the layer is trained
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_key = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_value = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (misconception root-of-2): divides by the root of the page's d_k (2); shows if d_out is not 2
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
        weights = torch.softmax(queries @ keys.T / d_k**0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (property finite_when_scaled): a hand-written exp without the maximum; shows (nan) for very large inputs
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
        return powers @ values / powers.sum(dim=-1, keepdim=True)


# %% SelfAttention_v1 right (passed): matrix products and torch.softmax
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


# %% SelfAttention_v1 right (passed): a loop that makes the parameters, and torch's own attention function
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Parameter(torch.rand(d_in, d_out)))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        q, k, v = (torch.matmul(x, W) for W in (self.W_query, self.W_key, self.W_value))
        return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


# %% SelfAttention_v2 wrong (misconception not-scaled): forgets to divide the scores
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
        return torch.softmax(queries @ keys.T, dim=-1) @ values


# %% SelfAttention_v2 wrong (misconception always-a-bias): leaves out bias=, so the layers always have a bias
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
        return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1) @ values


# %% SelfAttention_v2 wrong (property uses_everything): multiplies by the transposed weights as in v1, so the bias is not used; shows with qkv_bias=True
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
        return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1) @ values


# %% SelfAttention_v2 wrong (structure): the keys come from the page's inputs instead of x; shows for any other input
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = self.W_query(x), self.W_key(inputs), self.W_value(x)
        return torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1) @ values


# %% SelfAttention_v2 wrong (property finite_when_scaled): subtracts the maximum of the whole table; shows (nan) for very large inputs, if a row is far below the highest score
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


# %% SelfAttention_v2 right (passed): three layers, matrix products, softmax method
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
        weights = (queries @ keys.T / keys.shape[-1] ** 0.5).softmax(dim=-1)
        return weights @ values


# %% SelfAttention_v2 right (passed): divides the queries first, einsums, and its own stable softmax
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        scaled = self.W_query(x) / self.d_out**0.5
        scores = torch.einsum("qd,kd->qk", scaled, self.W_key(x))
        powers = torch.exp(scores - scores.amax(dim=1, keepdim=True))
        weights = powers / powers.sum(dim=1, keepdim=True)
        return torch.einsum("qk,kd->qd", weights, self.W_value(x))


# %% copy_weights wrong (misconception not-transposed): forgets the transpose
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().clone())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().clone())
    v1.W_value = nn.Parameter(v2.W_value.weight.detach().clone())


# %% copy_weights wrong (misconception reshaped): reshapes to the right shape instead of transposing
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.reshape(v1.W_query.shape))
        v1.W_key.copy_(v2.W_key.weight.reshape(v1.W_key.shape))
        v1.W_value.copy_(v2.W_value.weight.reshape(v1.W_value.shape))


# %% copy_weights wrong (misconception shares-memory): the parameters are views of the weights of v2, no copies; shows when one of the two layers is changed in place
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.T)
    v1.W_key = nn.Parameter(v2.W_key.weight.T)
    v1.W_value = nn.Parameter(v2.W_value.weight.T)


# %% copy_weights wrong (misconception frozen): the copies have requires_grad=False; shows when v1 is trained
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        copy = getattr(v2, name).weight.detach().T.clone()
        setattr(v1, name, nn.Parameter(copy, requires_grad=False))


# %% copy_weights wrong (shape): copies from the page's sa_v2 instead of v2; shows if another layer is passed
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(sa_v2.W_query.weight.detach().T.clone())
    v1.W_key = nn.Parameter(sa_v2.W_key.weight.detach().T.clone())
    v1.W_value = nn.Parameter(sa_v2.W_value.weight.detach().T.clone())


# %% copy_weights right (passed): new parameters from clones of the transposes
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().T.clone())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().T.clone())
    v1.W_value = nn.Parameter(v2.W_value.weight.detach().T.clone())


# %% copy_weights right (passed): copies into the parameters that v1 has, in place, without gradient
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    with torch.no_grad():
        for name, parameter in v1.named_parameters():
            parameter.copy_(getattr(v2, name).weight.transpose(0, 1))


# %% compute_attn_weights wrong (misconception true-means-blocked): hides where the mask is True
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
    return scores.softmax(dim=-1)


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


# %% compute_attn_weights wrong (property hides_with_minus_infinity): a large negative number instead of -inf; shows in a row where everything is hidden
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
    return scores.softmax(dim=-1)


# %% compute_attn_weights wrong (property zeros): multiplies by the mask and hides every score that is 0; shows if a visible score is exactly 0, as for a zero vector
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
    return scores.softmax(dim=-1)


# %% compute_attn_weights wrong (property finite_when_scaled): masks after the softmax and divides again; shows (nan) if a hidden score is over 100 above all visible scores
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


# %% compute_attn_weights right (passed): masked_fill with -inf before the softmax
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
    return scores.softmax(dim=-1)


# %% compute_attn_weights right (passed): einsum, torch.where, and zeros for a row where everything is hidden
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    d_head = W_K.shape[1]
    scores = torch.einsum("qh,kh->qk", torch.einsum("qm,mh->qh", x, W_Q), torch.einsum("km,mh->kh", x, W_K))
    scores = scores / d_head**0.5
    if mask is None:
        return torch.softmax(scores, dim=1)
    hidden = torch.full_like(scores, float("-inf"))
    weights = torch.softmax(torch.where(mask, scores, hidden), dim=1)
    return torch.where(mask.any(dim=1, keepdim=True), weights, torch.zeros_like(weights))


# %% SingleHeadAttention wrong (misconception no-bias): the layers have no bias
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.q_layer = nn.Linear(d_model, d_model, bias=False)
        self.k_layer = nn.Linear(d_model, d_model, bias=False)
        self.v_layer = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(dim=-1)
        return (weights @ v, weights) if return_weights else weights @ v


# %% SingleHeadAttention wrong (misconception still-scores): with return_weights, returns the scores instead of the weights
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
        weights = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            weights = weights.masked_fill(~mask, float("-inf"))
        output = weights.softmax(dim=-1) @ v
        if return_weights:
            return output, weights
        return output


# %% SingleHeadAttention wrong (misconception second-axis): the softmax has dim=1; right for one text, shows for a batch of texts
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
        weights = scores.softmax(dim=1)
        return (weights @ v, weights) if return_weights else weights @ v


# %% SingleHeadAttention wrong (raised): transposes the axes 1 and 2; right for a batch, shows (IndexError) for one text without a batch axis
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
        scores = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(dim=-1)
        return (weights @ v, weights) if return_weights else weights @ v


# %% SingleHeadAttention wrong (difference): the returned weights are those without the mask; shows with a mask and return_weights together
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
        output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        if return_weights:
            scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
            return output, scores.softmax(dim=-1)
        return output


# %% SingleHeadAttention right (passed): masked_fill with -inf and the last two axes
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
        weights = scores.softmax(dim=-1)
        if return_weights:
            return weights @ v, weights
        return weights @ v


# %% SingleHeadAttention right (passed): einsum with an ellipsis, torch.where, and the scaling on the queries
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.scale = d_model**-0.5
        self.q_layer, self.k_layer, self.v_layer = (nn.Linear(d_model, d_model) for _ in range(3))

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        scores = torch.einsum("...qd,...kd->...qk", self.q_layer(x) * self.scale, self.k_layer(x))
        if mask is not None:
            scores = torch.where(mask, scores, torch.full_like(scores, float("-inf")))
        weights = F.softmax(scores, dim=-1)
        output = torch.einsum("...qk,...kd->...qd", weights, self.v_layer(x))
        return (output, weights) if return_weights else output
