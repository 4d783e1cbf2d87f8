# %% compute_attn_weights wrong (misconception mask-added): adds the mask to the scores as a number, so hidden tokens only lose one point
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = (x @ W_Q) @ (x @ W_K).T / W_K.shape[1] ** 0.5
    if mask is not None:
        scores = scores + mask
    return scores.softmax(dim=-1)


# %% compute_attn_weights wrong (misconception query-and-key-swapped): the keys ask and the queries answer, so the table of scores is transposed
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    Q, K = x @ W_Q, x @ W_K
    scores = torch.einsum("id,jd->ij", K, Q) / Q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (misconception root-of-the-length): divides by the root of the number of tokens
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    queries = x @ W_Q
    keys = x @ W_K
    d_k = len(keys)
    scores = queries @ keys.T / d_k**0.5
    if mask is not None:
        scores[mask == False] = float("-inf")
    return F.softmax(scores, dim=-1)


# %% compute_attn_weights wrong (property leaves_its_inputs): inverts the caller's mask in place, so a second call with the same mask hides the wrong tokens
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = x @ W_Q @ W_K.T @ x.T / W_Q.shape[-1] ** 0.5
    if mask is not None:
        hidden = mask.logical_not_()
        scores = scores.masked_fill(hidden, -torch.inf)
    return scores.softmax(-1)


# %% compute_attn_weights wrong (property finite_when_scaled): subtracts the largest score of hidden tokens too, so a row with a far higher hidden score is 0 / 0
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = (x @ W_Q) @ (x @ W_K).mT * W_Q.shape[1] ** -0.5
    powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    if mask is not None:
        powers = powers * mask
    return powers / powers.sum(dim=-1, keepdim=True)


# %% compute_attn_weights wrong (difference milestone): rounds the root of d_head down to a whole number, which is right only for 1, 4, 9, 16 and so on
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    import math

    scores = torch.matmul(x @ W_Q, (x @ W_K).transpose(0, 1))
    scores = scores / math.isqrt(W_Q.shape[1])
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    return torch.softmax(scores, dim=1)


# %% compute_attn_weights right (passed): adds the logarithm of the mask, which is 0 for True and -inf for False
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = torch.einsum("qd,kd->qk", x @ W_Q, x @ W_K).div(W_K.size(1) ** 0.5)
    bias = 0 if mask is None else mask.to(scores).log()
    return (scores + bias).softmax(dim=-1)


# %% compute_attn_weights right (passed): scales the queries first, selects with where, and takes exp of log_softmax
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    _, d_head = W_Q.shape
    table = F.linear(x @ W_Q / d_head**0.5, x @ W_K)
    if mask is not None:
        table = torch.where(mask, table, torch.full_like(table, -torch.inf))
    return F.log_softmax(table, dim=1).exp()


# %% SelfAttention_v2 wrong (structure): one layer with three names, so queries, keys and values are the same vectors
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = self.W_key = self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v


# %% SelfAttention_v2 wrong (misconception root-of-d_in): reads d_k from the last axis of the weight of a Linear, which is d_in
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        d_k = self.W_key.weight.shape[-1]
        scores = self.W_query(x) @ self.W_key(x).T
        weights = torch.softmax(scores / d_k**0.5, dim=-1)
        return weights @ self.W_value(x)


# %% SelfAttention_v2 wrong (misconception made-in-the-order-query-value-key): creates W_value before W_key, so the same seed gives other keys and values
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        values, keys, queries = self.W_value(x), self.W_key(x), self.W_query(x)
        weights = F.softmax(queries @ keys.T / keys.shape[1] ** 0.5, dim=1)
        return weights @ values


# %% SelfAttention_v2 wrong (misconception root-of-2): forward divides by the root of the page's variable d_out, which is 2 for every layer
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
        attn_scores = queries @ keys.T
        attn_weights = torch.softmax(attn_scores / d_out**0.5, dim=-1)
        return attn_weights @ values


# %% SelfAttention_v2 wrong (property uses_everything): multiplies by the weights of the layers and leaves out their bias
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        Q, K, V = (x @ layer.weight.T for layer in (self.W_query, self.W_key, self.W_value))
        return (Q @ K.T / K.shape[-1] ** 0.5).softmax(dim=-1) @ V


# %% SelfAttention_v2 wrong (property lets_gradients_through): computes the weights without gradients, so W_query and W_key cannot learn
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    @torch.no_grad()
    def attention_weights(self, x):
        keys = self.W_key(x)
        return torch.softmax(self.W_query(x) @ keys.T / keys.shape[-1] ** 0.5, dim=-1)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        return self.attention_weights(x) @ self.W_value(x)


# %% SelfAttention_v2 right (passed): makes the layers in a loop over their names and calls torch's attention on a batch of one
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            self.add_module(name, nn.Linear(d_in, d_out, bias=qkv_bias))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = (getattr(self, name)(x).unsqueeze(0) for name in ("W_query", "W_key", "W_value"))
        return F.scaled_dot_product_attention(q, k, v).squeeze(0)


# %% SelfAttention_v2 right (passed): goes through the queries one by one and mixes with a weighted sum
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        make = lambda: nn.Linear(in_features=d_in, out_features=d_out, bias=qkv_bias)
        self.W_query, self.W_key, self.W_value = make(), make(), make()
        self.root = d_out**0.5

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        keys, values = self.W_key(x), self.W_value(x)

        def context(query):
            weights = torch.softmax((keys * query).sum(dim=1) / self.root, dim=0)
            return (weights[:, None] * values).sum(dim=0)

        return torch.stack([context(query) for query in self.W_query(x)])


# %% SingleHeadAttention wrong (structure): always returns a pair, with None in place of the weights, like torch's MultiheadAttention
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.mT / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1)
        return weights @ v, weights if return_weights else None


# %% SingleHeadAttention wrong (misconception mask-added): gives torch's function the mask as numbers, which it adds to the scores
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        bias = None if mask is None else mask.to(q.dtype)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        if not return_weights:
            return out
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if bias is not None:
            scores = scores + bias
        return out, scores.softmax(dim=-1)


# %% SingleHeadAttention wrong (property uses_everything): a copied line makes the keys with q_layer
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.d_model = d_model
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        queries = self.q_layer(x)
        keys = self.q_layer(x)
        values = self.v_layer(x)
        scores = queries @ keys.transpose(-1, -2) / self.d_model**0.5
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ values
        if return_weights:
            return output, weights
        return output


# %% SingleHeadAttention wrong (misconception second-axis): softmax along axis 1, which is the key axis for one text and the query axis for a batch
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer, self.k_layer, self.v_layer = (nn.Linear(d_model, d_model) for _ in range(3))

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = torch.einsum("...qd,...kd->...qk", q, k) / x.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        weights = torch.softmax(scores, dim=1)
        out = torch.einsum("...qk,...kd->...qd", weights, v)
        return (out, weights) if return_weights else out


# %% SingleHeadAttention wrong (property state): remembers the mask, so a later call without a mask still uses the old one
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)
        self.mask = None

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        if mask is not None:
            self.mask = mask
        scores = self.q_layer(x) @ self.k_layer(x).mT / self.q_layer.out_features**0.5
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask, -torch.inf)
        weights = scores.softmax(-1)
        output = weights @ self.v_layer(x)
        return (output, weights) if return_weights else output


# %% SingleHeadAttention wrong (difference milestone): applies the mask only when the weights are asked for
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        if not return_weights:
            return F.scaled_dot_product_attention(q, k, v)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ v, weights


# %% SingleHeadAttention right (passed): einsum, and the logarithm of the mask added to the scores
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        for letter in "qkv":
            setattr(self, f"{letter}_layer", nn.Linear(d_model, d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        scale = x.shape[-1] ** -0.5
        scores = torch.einsum("...id,...jd->...ij", self.q_layer(x) * scale, self.k_layer(x))
        visible = 0.0 if mask is None else mask.to(scores).log()
        weights = (scores + visible).softmax(dim=-1)
        out = torch.einsum("...ij,...jd->...id", weights, self.v_layer(x))
        return (out, weights) if return_weights else out


# %% SingleHeadAttention right (passed): splits the root between queries and keys, and picks the answer from a dict
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.v_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.q_layer = nn.Linear(d_model, d_model)

    def weights(self, x, mask):
        fourth_root = x.size(-1) ** 0.25
        table = torch.matmul(self.q_layer(x) / fourth_root, self.k_layer(x).div(fourth_root).transpose(-2, -1))
        if mask is not None:
            table = table.masked_fill(mask.logical_not(), -torch.inf)
        return F.softmax(table, dim=-1)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        weights = self.weights(x, mask)
        output = weights.matmul(self.v_layer(x))
        return {False: output, True: (output, weights)}[bool(return_weights)]
