# %% scaled_context_vec_2 wrong (misconception mixes-the-keys): mixes the keys instead of the values
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ keys


# %% scaled_context_vec_2 wrong (misconception scaled-too-late): divides the weights by the root, after the softmax
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2, dim=-1) / d_k**0.5
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception root-of-d_in): subtle, divides by the root of d_in = 3 instead of d_k = 2, with close numbers
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_in**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception power-without-brackets): subtle, d_k ** 1 / 2 divides twice instead of taking a root, so the scores are divided by 4, with close numbers
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k ** 1 / 2, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 right (passed): divide, softmax, vector times matrix
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 right (passed): scales the query first, then sums weighted rows
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = F.softmax(torch.mv(keys, query_2 * d_k**-0.5), dim=0)
scaled_context_vec_2 = (attn_weights_2.unsqueeze(1) * values).sum(dim=0)


# %% SelfAttention_v1 wrong (structure): plain tensors instead of parameters, so training cannot change them
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = torch.rand(d_in, d_out)
        self.W_key = torch.rand(d_in, d_out)
        self.W_value = torch.rand(d_in, d_out)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = queries @ keys.T
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (misconception query-and-key-swapped): keys times queries, so the table of scores is transposed
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
        scores = keys @ queries.T
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (misconception root-of-2): subtle, forward uses the page's global d_out (2), which is wrong for a layer with another d_out
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
        weights = torch.softmax(scores / d_out**0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (property lets_gradients_through): subtle, the keys are computed from W_key.data, so W_key gets no gradient and training cannot change it
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
        keys = x @ self.W_key.data
        values = x @ self.W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 right (passed): the formula step by step
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
        return torch.softmax(scores, dim=-1) @ values


# %% SelfAttention_v1 right (passed): parameters made in a loop, and torch's own attention function
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        for name in ("W_query", "W_key", "W_value"):
            self.register_parameter(name, nn.Parameter(torch.rand(d_in, d_out)))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        q, k, v = (torch.matmul(x, W) for W in (self.W_query, self.W_key, self.W_value))
        return F.scaled_dot_product_attention(q, k, v)


# %% SelfAttention_v2 wrong (misconception always-a-bias): ignores qkv_bias, so the layers always have a bias
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


# %% SelfAttention_v2 wrong (misconception root-of-d_in): the root is taken of the last axis of weight, which is d_in and not d_out
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


# %% SelfAttention_v2 wrong (property uses_everything): subtle, multiplies by weight.T, so a bias is never added; shows with qkv_bias=True
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


# %% SelfAttention_v2 wrong (property finite_when_scaled): subtle, a softmax by hand that subtracts the maximum of the whole table; rows far below it become nan for large inputs
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
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return weights @ values


# %% SelfAttention_v2 right (passed): three layers, then the formula
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
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v2 right (passed): one query at a time, with the scale stored in the layer
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, qkv_bias) for _ in range(3))
        self.scale = d_out**-0.5

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        keys, values = self.W_key(x), self.W_value(x)
        rows = []
        for query in self.W_query(x):
            scores = torch.mv(keys, query) * self.scale
            rows.append(torch.softmax(scores, dim=0) @ values)
        return torch.stack(rows)


# %% copy_weights wrong (misconception shares-memory): gives v1 the transposed views, so both layers share their memory
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.T)
    v1.W_key = nn.Parameter(v2.W_key.weight.T)
    v1.W_value = nn.Parameter(v2.W_value.weight.T)


# %% copy_weights wrong (misconception reshaped): reshapes the weights instead of transposing them, so the numbers land in other places
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.reshape(v1.W_query.shape))
        v1.W_key.copy_(v2.W_key.weight.reshape(v1.W_key.shape))
        v1.W_value.copy_(v2.W_value.weight.reshape(v1.W_value.shape))


# %% copy_weights wrong (difference transpose): subtle, transposes only if the shapes differ, so square matrices (d_in equal to d_out) are copied without a transpose
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(v2, name).weight.detach().clone()
        if weight.shape != getattr(v1, name).shape:
            weight = weight.T
        setattr(v1, name, nn.Parameter(weight))


# %% copy_weights wrong (misconception contiguous): subtle, relies on contiguous() for the copy, which copies nothing if d_in or d_out is 1, so the memory is shared
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(v2, name).weight.detach()
        setattr(v1, name, nn.Parameter(weight.T.contiguous()))


# %% copy_weights right (passed): copy_ into the existing parameters without gradients
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.T)
        v1.W_key.copy_(v2.W_key.weight.T)
        v1.W_value.copy_(v2.W_value.weight.T)


# %% copy_weights right (passed): new parameters from transposed clones
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(v2, name).weight
        setattr(v1, name, nn.Parameter(weight.detach().clone().t()))


# %% compute_attn_weights wrong (misconception mask-after-softmax): the mask comes after the softmax, so the rows no longer sum to one
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
        weights = weights.masked_fill(~mask, 0.0)
    return weights


# %% compute_attn_weights wrong (misconception root-of-d_model): the root of d_model (the width of x) instead of d_head
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / x.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (property hides_with_minus_infinity): subtle, hides with -1e9 instead of -inf, so a row where everything is hidden gets weights instead of nan
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
        scores = scores.masked_fill(mask == False, -1e9)  # noqa: E712
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (property finite_when_scaled): subtle, masks after the softmax and divides by the row sums again; if a hidden score is far above the visible ones, the row becomes nan
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
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights right (passed): einsum, torch.where, and a softmax by hand that subtracts the row's maximum
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    q = torch.einsum("sm,mh->sh", x, W_Q) * W_Q.shape[1] ** -0.5
    k = torch.einsum("sm,mh->sh", x, W_K)
    scores = torch.einsum("qh,kh->qk", q, k)
    if mask is not None:
        scores = torch.where(mask, scores, torch.full_like(scores, -torch.inf))
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)


# %% SingleHeadAttention wrong (misconception true-means-blocked): the mask is used the wrong way round, True is hidden
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
            scores = scores.masked_fill(mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention wrong (raised): transposes axes 0 and 1, which is right for one text only; a batch raises an error or mixes the texts
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
        scores = q @ k.transpose(0, 1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        if return_weights:
            return output, weights
        return output


# %% SingleHeadAttention wrong (shape): subtle, adds a batch axis for one text and squeezes it at the end, so a batch of one text loses its batch axis
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
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        output = (weights @ v).squeeze(0)
        if return_weights:
            return output, weights.squeeze(0)
        return output


# %% SingleHeadAttention wrong (difference): subtle, returns the weights of the unmasked scores; the output is right, the weights are wrong if there is a mask
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
            output = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1) @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention right (passed): transposes the last two axes, masked_fill before the softmax
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
        scores = q @ k.mT / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -torch.inf)
        weights = scores.softmax(dim=-1)
        output = weights @ v
        if return_weights:
            return output, weights
        return output


# %% SingleHeadAttention right (passed): einsum with an ellipsis, and torch.where for the mask
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.q_layer = nn.Linear(d_model, d_model, bias=True)
        self.k_layer = nn.Linear(d_model, d_model, bias=True)
        self.v_layer = nn.Linear(d_model, d_model, bias=True)
        self.root = d_model**0.5

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        queries = self.q_layer(x) / self.root
        scores = torch.einsum("...qd,...kd->...qk", queries, self.k_layer(x))
        if mask is not None:
            hidden = torch.tensor(-torch.inf, dtype=scores.dtype, device=scores.device)
            scores = torch.where(mask, scores, hidden)
        weights = torch.softmax(scores, dim=-1)
        output = torch.einsum("...qk,...kd->...qd", weights, self.v_layer(x))
        return (output, weights) if return_weights else output


