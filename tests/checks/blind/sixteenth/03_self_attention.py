# %% scaled_context_vec_2 wrong (misconception not-scaled): forgets the division by the square root
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception mixes-the-keys): mixes the keys instead of the values
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ keys


# %% scaled_context_vec_2 wrong (misconception divided-by-d_k): near miss, divides by d_k instead of its square root
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception root-of-d_in): near miss, divides by the root of d_in (3) instead of d_k (2)
d_k = inputs.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (difference milestone): near miss, compares the key of journey with all queries instead of its query with all keys
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(key_2 @ (inputs @ W_query).T / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 right (passed): softmax of the divided scores, then the product with the values
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 right (passed): divides the query first, softmax by hand, einsum for the mix
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
divided = torch.mv(keys, query_2 / torch.tensor(float(d_k)).sqrt())
powers = torch.exp(divided - divided.max())
attn_weights_2 = powers / powers.sum()
scaled_context_vec_2 = torch.einsum("n,nd->d", attn_weights_2, values)


# %% SelfAttention_v1 wrong (misconception wrong-axis): the softmax normalises the columns instead of the rows
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
        weights = torch.softmax(scores, dim=0)
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
        scores = keys @ queries.T / keys.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (misconception root-of-2): always divides by the root of 2; shows when d_out is not 2
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
        weights = torch.softmax(queries @ keys.T / 2**0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (property lets_gradients_through): the parameters have requires_grad=False, so training cannot change them; shows in backward
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


# %% SelfAttention_v1 wrong (difference milestone): the product of W_query and W_key is computed once in __init__; shows when these weights change later
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
        self.W_scores = self.W_query @ self.W_key.T / d_out**0.5

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        weights = torch.softmax(x @ self.W_scores @ x.T, dim=-1)
        return weights @ (x @ self.W_value)


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


# %% SelfAttention_v1 right (passed): parameters in a loop, divided queries, einsum and a softmax by hand that subtracts each row's maximum
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        for name in ("W_query", "W_key", "W_value"):
            self.register_parameter(name, nn.Parameter(torch.rand(d_in, d_out)))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        q, k, v = (torch.einsum("ni,io->no", x, W) for W in (self.W_query, self.W_key, self.W_value))
        e = torch.einsum("qo,ko->qk", q / q.shape[-1] ** 0.5, k)
        powers = (e - e.amax(dim=1, keepdim=True)).exp()
        return torch.einsum("qk,ko->qo", powers / powers.sum(dim=1, keepdim=True), v)


# %% SelfAttention_v2 wrong (misconception always-a-bias): does not pass on qkv_bias, so the layers always have a bias
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


# %% SelfAttention_v2 wrong (misconception root-of-d_in): divides by the root of the input's width d_in instead of the keys' width
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
        weights = torch.softmax(queries @ keys.T / x.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v2 wrong (property uses_everything): forward uses only the layers' weight matrices; shows with qkv_bias=True
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


# %% SelfAttention_v2 wrong (property finite_when_scaled): softmax by hand that subtracts the highest score of the whole table; gives nan for large inputs
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


# %% SelfAttention_v2 wrong (property lets_gradients_through): the weights are computed without gradient, so training cannot change W_query and W_key; shows in backward
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        with torch.no_grad():
            queries, keys = self.W_query(x), self.W_key(x)
            weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ self.W_value(x)


# %% SelfAttention_v2 right (passed): calls the layers, then matrix products and torch.softmax
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


# %% SelfAttention_v2 right (passed): one query after another, with log_softmax and exp
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        make = lambda: nn.Linear(in_features=d_in, out_features=d_out, bias=qkv_bias)
        self.W_query, self.W_key, self.W_value = make(), make(), make()
        self.scale = d_out**-0.5

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        k, v = self.W_key(x), self.W_value(x)
        contexts = []
        for q in self.W_query(x):
            row = F.log_softmax((k * q).sum(dim=-1) * self.scale, dim=0).exp()
            contexts.append(row @ v)
        return torch.stack(contexts)


# %% copy_weights wrong (misconception not-transposed): forgets the transpose
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().clone())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().clone())
    v1.W_value = nn.Parameter(v2.W_value.weight.detach().clone())


# %% copy_weights wrong (misconception key-copied-twice): a slip after copying a line, W_value gets the weights of W_key
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().T.clone())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().T.clone())
    v1.W_value = nn.Parameter(v2.W_key.weight.detach().T.clone())


# %% copy_weights wrong (difference transpose): transposes only if the shapes differ; shows when d_in equals d_out
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(v2, name).weight.detach().clone()
        if weight.shape != getattr(v1, name).shape:
            weight = weight.T
        setattr(v1, name, nn.Parameter(weight))


# %% copy_weights wrong (misconception contiguous): contiguous() copies only if it must; shares the memory when d_in or d_out is 1
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().T.contiguous())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().T.contiguous())
    v1.W_value = nn.Parameter(v2.W_value.weight.detach().T.contiguous())


# %% copy_weights wrong (misconception frozen): the copies are parameters that need no gradient, so they cannot be trained; shows in backward
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(v2, name).weight.T.clone()
        setattr(v1, name, nn.Parameter(weight.detach(), requires_grad=False))


# %% copy_weights right (passed): a new parameter from a copy of each transposed weight
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().T.clone())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().T.clone())
    v1.W_value = nn.Parameter(v2.W_value.weight.detach().T.clone())


# %% copy_weights right (passed): copies the numbers into the parameters that v1 has already
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    layers = dict(v2.named_children())
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            getattr(v1, name).copy_(layers[name].weight.t())


# %% compute_attn_weights wrong (misconception true-means-blocked): takes the mask the wrong way round and hides where it is True
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (misconception hidden-with-zero): multiplies the scores by the mask, so hidden tokens have the score 0
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
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (property hides_with_minus_infinity): -1e9 instead of -inf; shows for a row in which everything is hidden
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (property zeros): hides every score that is 0 after the product with the mask; shows when a visible score is exactly 0
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


# %% compute_attn_weights wrong (property finite_when_scaled): masks after the softmax and divides again; gives nan when a hidden score is far above all visible scores
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


# %% compute_attn_weights right (passed): masked_fill with -inf, then torch.softmax
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


# %% compute_attn_weights right (passed): einsum, adds a table of 0 and -inf, and a softmax by hand that subtracts each row's maximum
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    q = torch.einsum("sm,mh->sh", x, W_Q) / W_Q.shape[1] ** 0.5
    k = torch.einsum("sm,mh->sh", x, W_K)
    scores = torch.einsum("qh,kh->qk", q, k)
    if mask is not None:
        hidden = torch.zeros_like(scores)
        hidden[mask.logical_not()] = float("-inf")
        scores = scores + hidden
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)


# %% SingleHeadAttention wrong (raised): k.T turns all axes of a batch around, so only a single text works
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
        scores = q @ k.T / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        if return_weights:
            return weights @ v, weights
        return weights @ v


# %% SingleHeadAttention wrong (misconception mask-after-softmax): the mask comes after the softmax, so masked rows do not sum to one
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
        weights = torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(~mask, 0.0)
        if return_weights:
            return weights @ v, weights
        return weights @ v


# %% SingleHeadAttention wrong (difference): the returned weights ignore the mask, while the output uses it; shows with a mask and return_weights
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
        return (output, weights) if return_weights else output


# %% SingleHeadAttention wrong (property state): remembers the mask, and uses it in later calls without a mask; shows in the second call
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
        return (weights @ v, weights) if return_weights else weights @ v


# %% SingleHeadAttention wrong (raised): writes -inf with an index for a batch; raises an error for a single text with a mask
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
            scores[:, ~mask] = float("-inf")
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        if return_weights:
            return output, weights
        return output


# %% SingleHeadAttention right (passed): transposes the last two axes, masked_fill and torch.softmax
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


# %% SingleHeadAttention right (passed): einsum with leading axes, torch.where for the mask, and a softmax by hand
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        for name in ("q_layer", "k_layer", "v_layer"):
            self.add_module(name, nn.Linear(d_model, d_model, bias=True))
        self.root = d_model**0.5

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        scores = torch.einsum("...qd,...kd->...qk", self.q_layer(x) / self.root, self.k_layer(x))
        if mask is not None:
            scores = torch.where(mask, scores, torch.full_like(scores, float("-inf")))
        powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        weights = powers / powers.sum(dim=-1, keepdim=True)
        output = torch.einsum("...qk,...kd->...qd", weights, self.v_layer(x))
        if not return_weights:
            return output
        return output, weights


