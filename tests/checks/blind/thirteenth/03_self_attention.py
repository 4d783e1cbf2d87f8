# %% scaled_context_vec_2 wrong (misconception divided-by-d_k): divides by d_k instead of its square root
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception scaled-too-late): divides after the softmax instead of before it
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2, dim=-1) / d_k**0.5
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception root-of-d_in): divides by the root of d_in, the width of the inputs; the numbers are close
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_in**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception not-scaled): no division at all; the numbers are close
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (shape): the right numbers as a table of shape [1, 2]
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2[None] / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 right (passed): softmax of the divided scores, vector times matrix
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 right (passed): divides the query before the scores, and sums weighted values
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = F.softmax(keys @ (query_2 / torch.tensor(d_k).sqrt()), dim=0)
scaled_context_vec_2 = (attn_weights_2.unsqueeze(1) * values).sum(dim=0)


# %% SelfAttention_v1 wrong (misconception normal-weights): torch.randn instead of torch.rand
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.randn(d_in, d_out))
        self.W_key = nn.Parameter(torch.randn(d_in, d_out))
        self.W_value = nn.Parameter(torch.randn(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (misconception query-and-key-swapped): the table of scores is transposed, with a row for each key
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
        scores = keys @ queries.T
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (property lets_gradients_through): keeps requires_grad=False from the cell above, so the numbers are right but training cannot change the matrices
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


# %% SelfAttention_v1 wrong (misconception root-of-2): forward uses the notebook's d_out, which is 2, also for layers of another width
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
        weights = torch.softmax(queries @ keys.T / d_out**0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (property finite_when_scaled): a softmax that subtracts the largest score of the whole table, so rows with much lower scores become nan
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
        scores = queries @ keys.T / keys.shape[-1] ** 0.5
        powers = torch.exp(scores - scores.max())
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return weights @ values


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


# %% SelfAttention_v1 right (passed): parameters in a loop, einsum, a softmax by hand that subtracts the largest score of each row
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Parameter(torch.rand(d_in, d_out)))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        q, k, v = (torch.einsum("sd,de->se", x, w) for w in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("qe,ke->qk", q, k).div(self.W_key.shape[1] ** 0.5)
        powers = (scores - scores.amax(dim=1, keepdim=True)).exp()
        return torch.einsum("qk,ke->qe", powers / powers.sum(dim=1, keepdim=True), v)


# %% SelfAttention_v2 wrong (misconception always-a-bias): does not pass qkv_bias on, so nn.Linear makes a bias by default
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


# %% SelfAttention_v2 wrong (misconception root-of-d_in): takes d_k from the last axis of the layer's weight, which is d_in
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
        d_k = self.W_key.weight.shape[-1]
        weights = torch.softmax(queries @ keys.T / d_k**0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v2 wrong (property uses_everything): forward multiplies by the transposed weights and leaves out the biases, which shows with qkv_bias=True
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


# %% SelfAttention_v2 wrong (property finite_when_scaled): cuts scores off at 50 so that exp does not overflow; wrong when two scores of a row are above 50
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
        scores = (queries @ keys.T / keys.shape[-1] ** 0.5).clamp(-50, 50)
        weights = torch.softmax(scores, dim=-1)
        return weights @ values


# %% SelfAttention_v2 wrong (property lets_gradients_through): detaches the weights, so the numbers are right but queries and keys get no gradient
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
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1).detach()
        return weights @ values


# %% SelfAttention_v2 right (passed): torch's scaled_dot_product_attention
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.scaled_dot_product_attention(q[None], k[None], v[None])[0]


# %% SelfAttention_v2 right (passed): matrix products, with the queries divided before the scores
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
        queries = self.W_query(x) / self.d_out**0.5
        scores = queries.matmul(self.W_key(x).transpose(-2, -1))
        return scores.softmax(dim=-1).matmul(self.W_value(x))


# %% copy_weights wrong (misconception reshaped): reshapes instead of transposing, which puts the numbers into the wrong places
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.reshape(v1.W_query.shape))
        v1.W_key.copy_(v2.W_key.weight.reshape(v1.W_key.shape))
        v1.W_value.copy_(v2.W_value.weight.reshape(v1.W_value.shape))


# %% copy_weights wrong (misconception key-copied-twice): the value matrix gets the weights of the keys (a slip when copying the line)
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().T.clone())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().T.clone())
    v1.W_value = nn.Parameter(v2.W_key.weight.detach().T.clone())


# %% copy_weights wrong (misconception shares-memory): the parameters are views of v2's weights, so training one layer changes the other
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.T)
    v1.W_key = nn.Parameter(v2.W_key.weight.T)
    v1.W_value = nn.Parameter(v2.W_value.weight.T)


# %% copy_weights wrong (difference transpose): transposes only where the shapes differ, so square matrices are copied without the transpose
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(v2, name).weight.detach().clone()
        if weight.shape != getattr(v1, name).shape:
            weight = weight.T
        setattr(v1, name, nn.Parameter(weight))


# %% copy_weights wrong (misconception frozen): the copies have requires_grad=False, so they cannot be trained
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        copied = getattr(v2, name).weight.detach().T.clone()
        setattr(v1, name, nn.Parameter(copied, requires_grad=False))


# %% copy_weights right (passed): new parameters from clones of the transposed weights
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().T.clone())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().T.clone())
    v1.W_value = nn.Parameter(v2.W_value.weight.detach().T.clone())


# %% copy_weights right (passed): copies in place into the existing parameters
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    with torch.no_grad():
        for name in ["W_query", "W_key", "W_value"]:
            getattr(v1, name).copy_(getattr(v2, name).weight.transpose(0, 1))


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
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (misconception root-of-d_model): divides by the root of d_model instead of d_head
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / x.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (property finite_when_scaled): masks after the softmax and divides by the row sum; nan when a hidden score is far above all visible ones
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


# %% compute_attn_weights wrong (property zeros): multiplies by the mask and hides every 0, so a visible score that is exactly 0 is hidden too
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


# %% compute_attn_weights right (passed): replaces nan by 0 where everything is hidden; its author called it wrong, before the page allowed zeros
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
    return torch.nan_to_num(torch.softmax(scores, dim=-1), nan=0.0)


# %% compute_attn_weights right (passed): masked_fill and torch.softmax
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    queries, keys = x @ W_Q, x @ W_K
    scores = queries @ keys.T / W_Q.shape[1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights right (passed): adds a table of 0 and -inf to the scores, einsum, exp of log_softmax
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    queries = torch.einsum("sd,dh->sh", x, W_Q)
    keys = torch.einsum("sd,dh->sh", x, W_K)
    scores = torch.einsum("qh,kh->qk", queries, keys) * keys.shape[-1] ** -0.5
    if mask is not None:
        hidden = torch.zeros_like(scores)
        hidden[mask.logical_not()] = -torch.inf
        scores = scores + hidden
    return F.log_softmax(scores, dim=-1).exp()


# %% SingleHeadAttention wrong (misconception wrong-axis): the softmax runs along the queries instead of the keys
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
        weights = torch.softmax(scores, dim=-2)
        output = weights @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention wrong (misconception no-bias): layers without a bias
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
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention wrong (shape): squeeze() at the end, which removes the batch axis of a batch with a single text
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        if x.dim() == 2:
            x = x.unsqueeze(0)
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        if return_weights:
            return output.squeeze(0), weights.squeeze(0)
        return output.squeeze(0)


# %% SingleHeadAttention wrong (difference): the output is masked, but the returned weights are those without the mask
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
            weights = torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, dim=-1)
            return output, weights
        return output


# %% SingleHeadAttention wrong (property state): remembers the mask of an earlier call and uses it in later calls without a mask
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
        return (output, weights) if return_weights else output


# %% SingleHeadAttention right (passed): masked_fill, softmax over the last axis
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
            return output, weights
        return output


# %% SingleHeadAttention right (passed): einsum, torch.where and a softmax by hand that subtracts the maximum of each row
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.scale = d_model**-0.5
        self.q_layer = nn.Linear(d_model, d_model, bias=True)
        self.k_layer = nn.Linear(d_model, d_model, bias=True)
        self.v_layer = nn.Linear(d_model, d_model, bias=True)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        scores = torch.einsum("...qd,...kd->...qk", self.q_layer(x) * self.scale, self.k_layer(x))
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        weights = powers / powers.sum(dim=-1, keepdim=True)
        output = torch.einsum("...qk,...kd->...qd", weights, self.v_layer(x))
        return (output, weights) if return_weights else output


