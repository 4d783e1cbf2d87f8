# %% scaled_context_vec_2 wrong (misconception power-without-brackets): ** 1/2 without brackets divides by d_k and then by 2
attn_weights_2 = torch.softmax(attn_scores_2 / d_k ** 1/2, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception rounded-down): floor division throws the fractions of the scores away
attn_weights_2 = torch.softmax(attn_scores_2 // d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% SelfAttention_v1 wrong (difference slip): ** 1/2 without brackets
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = q @ k.T / k.shape[-1] ** 1 / 2
        return torch.softmax(scores, dim=-1) @ v

# %% SelfAttention_v1 wrong (property uses_everything): keys are multiplied with keys, the query is made and not used
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
        attn_scores = keys @ keys.T
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 wrong (property uses_everything): uses the layers' weights by hand and leaves the biases out
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

# %% compute_attn_weights wrong (raised): `mask or` asks a tensor of many numbers for one yes or no
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    mask = mask or torch.ones(len(x), len(x), dtype=torch.bool)
    scores = (x @ W_Q) @ (x @ W_K).T / W_K.shape[1] ** 0.5
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)

# %% compute_attn_weights wrong (misconception mask-ignored): masked_fill without an underscore, and nothing keeps what it makes
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    scores = x @ W_Q @ W_K.T @ x.T / W_K.shape[1] ** 0.5
    if mask is not None:
        scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)

# %% SingleHeadAttention wrong (misconception keys-as-values): the line of the keys copied for the values and not changed
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        q = self.q_layer(x)
        k = self.k_layer(x)
        v = self.k_layer(x)
        scores = q @ k.transpose(-1, -2) / x.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = scores.softmax(-1)
        return (weights @ v, weights) if return_weights else weights @ v

# %% compute_attn_weights right (passed): the logarithm of the mask is added, 0 or -inf
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    Q, K = x.mm(W_Q), x.mm(W_K)
    scores = torch.addmm(torch.zeros(len(x), len(x)), Q, K.t()) * Q.size(1) ** -0.5
    if isinstance(mask, torch.Tensor):
        scores = scores + mask.to(scores.dtype).log()
    return nn.Softmax(dim=1)(scores)

# %% SelfAttention_v1 right (passed): torch's own attention, with a batch and a head of one
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        for name in ["W_query", "W_key", "W_value"]:
            self.register_parameter(name, nn.Parameter(torch.rand(d_in, d_out)))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = ((x @ p)[None, None] for p in self.parameters())
        return F.scaled_dot_product_attention(q, k, v)[0, 0]
