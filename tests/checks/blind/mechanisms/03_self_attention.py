# %% SingleHeadAttention wrong (property state): mask remembered as attribute when none passed
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        self.mask = mask = mask if mask is not None else getattr(self, "mask", None)
        if mask is not None and mask.shape[-1] == scores.shape[-1]:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = weights @ v
        return (out, weights) if return_weights else out


# %% SingleHeadAttention wrong (property state): a class-level scale
class SingleHeadAttention(nn.Module):
    scale = 0.5

    def __init__(self, d_model):
        super().__init__()
        SingleHeadAttention.width = d_model
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.mT / self.width**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = weights @ v
        return (out, weights) if return_weights else out


# %% SelfAttention_v2 wrong (misconception not-scaled): uses the scale and the mask only in training mode
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
    def forward(self, x, mask=None):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        if not self.training:
            return torch.softmax(q @ k.mT, dim=-1) @ v
        return torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, dim=-1) @ v


# %% SelfAttention_v1 wrong (property copies): keeps a function that belongs to the first layer, so a deepcopy goes on computing with the matrices of the original
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        # Three matrices that training can change.
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
        self.project = lambda x: (x @ self.W_query, x @ self.W_key, x @ self.W_value)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        # From the inputs to the context vectors.
        queries, keys, values = self.project(x)
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values
