# %% scaled_context_vec_2 wrong (misconception divided-by-d_k): divides the scores by d_k instead of its square root
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / d_k, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception scaled-too-late): the division comes after the softmax, so the weights sum to 0.71 instead of one
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2, dim=-1) / d_k**0.5
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception not-scaled): d_k**1 / 2 is half of d_k, not its root; here this is 1, so the scores are not divided at all
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / (d_k**1 / 2), dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (misconception root-of-the-length): divides by the root of the number of tokens (6) instead of the root of d_k (2)
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(attn_scores_2 / len(keys) ** 0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 wrong (difference milestone): the scores are computed again with the key of journey in place of its query
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = torch.softmax(keys @ key_2 / d_k**0.5, dim=0)
scaled_context_vec_2 = attn_weights_2 @ values


# %% scaled_context_vec_2 right (passed): multiplies by d_k to the power of -0.5, and adds the weighted values with Python's sum
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
attn_weights_2 = F.softmax(attn_scores_2 * d_k**-0.5, dim=0)
scaled_context_vec_2 = sum(weight * value for weight, value in zip(attn_weights_2, values))


# %% scaled_context_vec_2 right (passed): the softmax by hand from the query and the keys, then einsum
d_k = keys.shape[-1]
# The weights from the divided scores, then the mix of the values.
scaled = (keys @ query_2) / torch.sqrt(torch.tensor(float(d_k)))
powers = torch.exp(scaled - scaled.max())
attn_weights_2 = powers / powers.sum()
scaled_context_vec_2 = torch.einsum("t,td->d", attn_weights_2, values)


# %% SelfAttention_v1 wrong (misconception wrong-axis): the softmax runs along dim=0, so the columns sum to one instead of the rows
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
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=0)
        return weights @ values


# %% SelfAttention_v1 wrong (structure): the matrices are plain tensors instead of nn.Parameter, so the layer has no parameters and training cannot change them
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = torch.rand(d_in, d_out)
        self.W_key = torch.rand(d_in, d_out)
        self.W_value = torch.rand(d_in, d_out)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (structure): forward uses the page's W_query, W_key and W_value without self, so the layer's own parameters are ignored; with seed 123 and size 3 by 2 the numbers are right
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries = x @ W_query
        keys = x @ W_key
        values = x @ W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v1 wrong (misconception root-of-2): divides by the root of the page's d_k, which is always 2, instead of the width of the layer's own keys; right only for d_out = 2
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = q @ k.T
        weights = torch.softmax(scores / d_k**0.5, dim=-1)
        return weights @ v


# %% SelfAttention_v1 wrong (property lets_gradients_through): requires_grad=False is copied from the earlier cell, so the parameters get no gradient and training cannot change them; the output is right
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
        attn_scores = queries @ keys.T
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values


# %% SelfAttention_v1 right (passed): three plain assignments, F.softmax and the method matmul
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
        self.scale = d_out**-0.5

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        q = torch.matmul(x, self.W_query)
        k = torch.matmul(x, self.W_key)
        v = torch.matmul(x, self.W_value)
        attn = F.softmax(torch.matmul(q, k.transpose(0, 1)) * self.scale, dim=1)
        return torch.matmul(attn, v)


# %% SelfAttention_v1 right (passed): the parameters are made in a loop with setattr, forward uses einsum and a softmax by hand with the row's largest score subtracted
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Parameter(torch.rand(d_in, d_out)))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = (x @ W for W in (self.W_query, self.W_key, self.W_value))
        scores = torch.einsum("qd,kd->qk", queries, keys) / keys.shape[1] ** 0.5
        powers = torch.exp(scores - scores.amax(dim=1, keepdim=True))
        weights = powers / powers.sum(dim=1, keepdim=True)
        return torch.einsum("qk,kd->qd", weights, values)


# %% SelfAttention_v2 wrong (raised): multiplies by the weight of each nn.Linear without the transpose (and without bias): raises a RuntimeError if d_in and d_out differ, wrong numbers if they are equal
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries = x @ self.W_query.weight
        keys = x @ self.W_key.weight
        values = x @ self.W_value.weight
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v2 wrong (misconception query-and-key-swapped): the table of scores is transposed (keys @ queries.T), so a row belongs to a key and not to a query
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
        scores = keys @ queries.T
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values


# %% SelfAttention_v2 wrong (property uses_everything): forward uses only the weights of the layers, so with qkv_bias=True the biases exist but have no effect; right without bias
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


# %% SelfAttention_v2 wrong (difference milestone): the root of d_out is rounded down to an integer (1 for d_out = 2), so the scores are divided by too little unless d_out is a square number
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.root = int(d_out**0.5)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        weights = torch.softmax(queries @ keys.T / self.root, dim=-1)
        return weights @ values


# %% SelfAttention_v2 wrong (property finite_when_scaled): exp without subtracting the largest score overflows for large inputs, and nan_to_num then hides the nan as weights of 0, so the row does not sum to one
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
        powers = torch.exp(q @ k.T / k.shape[-1] ** 0.5)
        weights = torch.nan_to_num(powers / powers.sum(dim=-1, keepdim=True))
        return weights @ v


# %% SelfAttention_v2 right (passed): the three layers are called, then matrix products and the method softmax
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        keys = self.W_key(x)
        scores = self.W_query(x) @ keys.mT / keys.shape[-1] ** 0.5
        return scores.softmax(dim=-1) @ self.W_value(x)


# %% SelfAttention_v2 right (passed): torch's own F.scaled_dot_product_attention, with an axis for the batch added and removed
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        # Three linear layers.
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        q, k, v = (layer(x).unsqueeze(0) for layer in (self.W_query, self.W_key, self.W_value))
        return F.scaled_dot_product_attention(q, k, v).squeeze(0)


# %% copy_weights wrong (misconception reshaped): reshapes the weights to [d_in, d_out] instead of transposing them, so the shapes are right but the numbers are in the wrong places
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(v2, name).weight.detach()
        target = getattr(v1, name)
        setattr(v1, name, nn.Parameter(weight.clone().reshape(target.shape)))


# %% copy_weights wrong (misconception key-copied-twice): the third line is copied from the second and W_value gets the weights of v2.W_key
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().T.clone())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().T.clone())
    v1.W_value = nn.Parameter(v2.W_key.weight.detach().T.clone())


# %% copy_weights wrong (misconception shares-memory): the way through numpy copies nothing (numpy and from_numpy share memory), so training one layer changes the other
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        array = getattr(v2, name).weight.detach().numpy()
        setattr(v1, name, nn.Parameter(torch.from_numpy(array.T)))


# %% copy_weights wrong (misconception v2-turned): the transpose is also stored in v2, so v2's own weights have the wrong layout afterwards; v1 is right
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ("W_query", "W_key", "W_value"):
        layer = getattr(v2, name)
        layer.weight.data = layer.weight.data.T
        setattr(v1, name, nn.Parameter(layer.weight.detach().clone()))


# %% copy_weights wrong (misconception frozen): the copies are parameters with requires_grad=False, so v1 computes the same but cannot be trained
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    v1.W_query = nn.Parameter(v2.W_query.weight.T.clone(), requires_grad=False)
    v1.W_key = nn.Parameter(v2.W_key.weight.T.clone(), requires_grad=False)
    v1.W_value = nn.Parameter(v2.W_value.weight.T.clone(), requires_grad=False)


# %% copy_weights right (passed): copies into the existing parameters of v1 with copy_, under no_grad
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.T)
        v1.W_key.copy_(v2.W_key.weight.T)
        v1.W_value.copy_(v2.W_value.weight.T)


# %% copy_weights right (passed): makes new parameters from detached, transposed clones, in a loop over the names
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with its own copies of the weights."""
    for name in ["W_query", "W_key", "W_value"]:
        layer = getattr(v2, name)
        copied = layer.weight.detach().clone().transpose(0, 1)
        setattr(v1, name, nn.Parameter(copied))


# %% compute_attn_weights wrong (misconception true-means-blocked): the mask is read the wrong way round: where it is True the score becomes -inf, so the visible tokens are hidden
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


# %% compute_attn_weights wrong (misconception root-of-d_model): divides by the root of d_model (the width of x) instead of the root of d_head; right only if the two are equal
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    queries, keys = x @ W_Q, x @ W_K
    scores = queries @ keys.T / x.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (property finite_when_scaled): the mask comes after the softmax and the rows are divided again; if a hidden score is much larger than the visible ones, their weights underflow to 0 and 0 / 0 gives nan in a row with visible tokens
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


# %% compute_attn_weights wrong (property leaves_its_inputs): logical_not_ inverts the caller's mask in place, so a second call with the same mask hides the visible tokens
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
        hidden = mask.logical_not_()
        scores = scores.masked_fill(hidden, -torch.inf)
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (difference milestone): the scores are divided by the root of d_head only if there is no mask; with a mask the division is missing
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    queries, keys = x @ W_Q, x @ W_K
    scores = queries @ keys.T
    if mask is None:
        return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
    masked = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(masked, dim=-1)


# %% compute_attn_weights right (passed): torch.where puts -inf where the mask is False, the division is by the root of W_K's second axis
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    d_head = W_K.shape[1]
    scores = (x @ W_Q) @ (x @ W_K).T / d_head**0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.full_like(scores, float("-inf")))
    return scores.softmax(dim=-1)


# %% compute_attn_weights right (passed): einsum for the scores, and the logarithm of the mask (0 or -inf) is added to them
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Return the weights of scaled scores, hidden where mask is False; each row with a visible token sums to one."""
    q = torch.einsum("sm,mh->sh", x, W_Q)
    k = torch.einsum("sm,mh->sh", x, W_K)
    scores = torch.einsum("qh,kh->qk", q, k) * k.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + mask.to(scores.dtype).log()
    return F.softmax(scores, dim=1)


# %% SingleHeadAttention wrong (structure): returns (output, weights) every time, also without return_weights, so layer(x) is a tuple instead of a tensor
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
        return weights @ v, weights


# %% SingleHeadAttention wrong (misconception inputs-as-values): the weights mix the inputs x instead of the values, so v_layer is never used
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q = self.q_layer(x)
        k = self.k_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ x
        return (output, weights) if return_weights else output


# %% SingleHeadAttention wrong (property lets_gradients_through): the weights are detached before the mix, so the output is right but q_layer and k_layer get no gradient and are not trained
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
            scores = scores.masked_fill(mask == False, float("-inf"))
        weights = torch.softmax(scores, dim=-1).detach()
        output = weights @ v
        if return_weights:
            return output, weights
        return output


# %% SingleHeadAttention wrong (property state): the mask is stored in self.mask and never cleared, so a later call without a mask still uses the mask of an earlier call
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
        scores = q @ k.transpose(-1, -2) / k.shape[-1] ** 0.5
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask, float("-inf"))
        weights = scores.softmax(dim=-1)
        output = weights @ v
        if return_weights:
            return output, weights
        return output


# %% SingleHeadAttention wrong (difference milestone): divides by the root of k.shape[1], which is d_model for one text but the number of tokens for a batch of texts
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
        d_k = k.shape[1]
        scores = q @ k.transpose(-2, -1) / d_k**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output


# %% SingleHeadAttention right (passed): matrix products with transpose(-2, -1) and masked_fill
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        queries, keys, values = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        if return_weights:
            return weights @ values, weights
        return weights @ values


# %% SingleHeadAttention right (passed): einsum with ... for the batch, a helper method for the weights, and torch.where for the mask
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        # Three linear layers, each with its bias.
        self.d_model = d_model
        self.q_layer = nn.Linear(d_model, d_model, bias=True)
        self.k_layer = nn.Linear(d_model, d_model, bias=True)
        self.v_layer = nn.Linear(d_model, d_model, bias=True)

    def attention(self, x, mask):
        """Return the weights [..., seq, seq]."""
        scores = torch.einsum("...qd,...kd->...qk", self.q_layer(x), self.k_layer(x)) * self.d_model**-0.5
        if mask is not None:
            scores = torch.where(mask, scores, torch.full_like(scores, float("-inf")))
        return F.softmax(scores, dim=-1)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        attn = self.attention(x, mask)
        out = torch.einsum("...qk,...kd->...qd", attn, self.v_layer(x))
        return (out, attn) if return_weights else out
