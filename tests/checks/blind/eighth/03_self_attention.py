# %% scaled_context_vec_2 wrong (misconception power-without-brackets): 1/2 without parentheses, so the scores are divided by d_k and by 2
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2 / d_k ** 1 / 2, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception not-scaled): the whole-number root of d_k, which is 1
import math

d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2 / math.isqrt(d_k), dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception root-of-the-length): divides by the root of the number of tokens
d_k = keys.shape[0]
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception root-of-d_in): divides by the root of the width of the inputs
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2 / d_in**0.5, dim=0)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception scaled-too-late): divides after the softmax
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2, dim=-1) / d_k**0.5
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception mixes-the-keys): mixes the keys
d_k = keys.shape[-1]
attn_weights_2 = F.softmax(attn_scores_2 * d_k**-0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ keys

# %% scaled_context_vec_2 wrong (shape): a table of one row, not a vector
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2[None] / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception divided-by-d_k): divides the query by the root and the scores once more
d_k = keys.shape[-1]
scaled_query = query_2 / d_k**0.5
attn_weights_2 = torch.softmax(scaled_query @ keys.T / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception multiplied): multiplies by the root
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2.mul(d_k**0.5), dim=-1)
scaled_context_vec_2 = torch.einsum("t,tv->v", attn_weights_2, values)

# %% scaled_context_vec_2 wrong (difference milestone): uses the key of journey as its query
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(keys @ key_2 / d_k**0.5, dim=0)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 right (passed): the context from torch's own attention, with a query table of one row
d_k = keys.shape[-1]
attn_weights_2 = F.softmax(attn_scores_2 * d_k**-0.5, dim=0)
scaled_context_vec_2 = F.scaled_dot_product_attention(query_2[None, None], keys[None], values[None])[0, 0]

# %% scaled_context_vec_2 right (passed): exp by hand and a sum of weighted values
d_k = keys.shape[-1]
attn_weights_2 = torch.exp(attn_scores_2 / torch.tensor(float(d_k)).sqrt())
attn_weights_2 = attn_weights_2 / attn_weights_2.sum()
scaled_context_vec_2 = sum(w * v for w, v in zip(attn_weights_2, values))

# %% SelfAttention_v1 wrong (misconception made-in-the-order-query-value-key): the value matrix is created before the key matrix
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        scores = (x @ self.W_query) @ (x @ self.W_key).T
        return torch.softmax(scores / self.W_key.shape[1] ** 0.5, dim=-1) @ (x @ self.W_value)

# %% SelfAttention_v1 wrong (property lets_gradients_through): the parameters cannot be trained, as in the cell above
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_key = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_value = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return weights @ values

# %% SelfAttention_v1 wrong (difference milestone): the root of d_k is put into W_query, which is then not the matrix that the page asks for
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out) / d_out**0.5)
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        scores = x @ self.W_query @ self.W_key.T @ x.T
        return scores.softmax(dim=-1) @ x @ self.W_value

# %% SelfAttention_v1 wrong (misconception root-of-d_in): divides by the root of the width of the inputs
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries, keys, values = (x @ W for W in (self.W_query, self.W_key, self.W_value))
        return torch.softmax(queries @ keys.T / x.shape[-1] ** 0.5, dim=-1) @ values

# %% SelfAttention_v1 wrong (misconception root-of-2): divides by the root of 2, whatever d_out is
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        keys = x @ self.W_key
        queries = x @ self.W_query
        values = x @ self.W_value
        attn_weights = F.softmax((queries @ keys.T) / 2**0.5, dim=1)
        return attn_weights @ values

# %% SelfAttention_v1 wrong (property finite_when_scaled): subtracts the largest score of the whole table, so with large inputs some rows become nan
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        scores = (x @ self.W_query) @ (x @ self.W_key).T / self.W_key.shape[1] ** 0.5
        powers = torch.exp(scores - scores.max())
        return powers / powers.sum(dim=-1, keepdim=True) @ (x @ self.W_value)

# %% SelfAttention_v1 wrong (property lets_gradients_through): forward keeps no gradient
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    @torch.no_grad()
    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return torch.softmax(q @ k.T * k.shape[-1] ** -0.5, dim=-1) @ v

# %% SelfAttention_v1 wrong (property initialisation): sets the seed inside, so all layers start with the same numbers
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        torch.manual_seed(123)
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v

# %% SelfAttention_v1 wrong (misconception query-and-key-swapped): each key looks for queries, so the table of scores is transposed
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        scores = torch.einsum("kd,qd->kq", k, q) / q.shape[-1] ** 0.5
        return F.softmax(scores, dim=-1) @ v

# %% SelfAttention_v1 wrong (structure): the three names stand for one and the same parameter
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = self.W_key = self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_value
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v

# %% SelfAttention_v1 wrong (property uses_everything): mixes the inputs and multiplies by the query matrix in place of the value matrix
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = x @ self.W_query, x @ self.W_key, x @ self.W_query
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v

# %% SelfAttention_v1 right (passed): a loop registers the parameters, and torch's own attention does the rest
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            self.register_parameter(name, nn.Parameter(torch.rand(d_in, d_out)))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        batch = x.unsqueeze(0)
        return F.scaled_dot_product_attention(batch @ self.W_query, batch @ self.W_key, batch @ self.W_value).squeeze(0)

# %% SelfAttention_v1 right (passed): einsum throughout, with the width kept in the object
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Parameter(torch.rand(d_in, d_out)) for _ in range(3))
        self.root = d_out**0.5

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q = torch.einsum("si,io->so", x, self.W_query) / self.root
        k = torch.einsum("si,io->so", x, self.W_key)
        v = torch.einsum("si,io->so", x, self.W_value)
        return torch.einsum("qk,ko->qo", torch.einsum("qo,ko->qk", q, k).softmax(dim=1), v)

# %% SelfAttention_v2 wrong (structure): only the queries follow qkv_bias, keys and values never have a bias
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v

# %% SelfAttention_v2 wrong (misconception always-a-bias): the default is a layer with biases
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = True):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v

# %% SelfAttention_v2 wrong (property uses_everything): multiplies by the weights only, so the biases exist but are never added
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = (x @ layer.weight.T for layer in (self.W_query, self.W_key, self.W_value))
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v

# %% SelfAttention_v2 wrong (misconception root-of-d_in): reads d_k from the last axis of the weight, which is d_in in this layout
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        d_k = self.W_key.weight.shape[-1]
        scores = self.W_query(x) @ self.W_key(x).T
        return torch.softmax(scores / d_k**0.5, dim=-1) @ self.W_value(x)

# %% SelfAttention_v2 wrong (property lets_gradients_through): the weights are detached, so queries and keys never learn
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        attn_weights = torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1).detach()
        return attn_weights @ v

# %% SelfAttention_v2 wrong (structure): the same layer serves as key and as value
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = self.W_key

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v

# %% SelfAttention_v2 wrong (misconception made-in-the-order-key-query-value): the layers are created in the order key, query, value
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        make = lambda: nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key, self.W_query, self.W_value = make(), make(), make()

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v

# %% SelfAttention_v2 wrong (misconception scaled-too-late): the division by the root comes after the softmax
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        keys, queries, values = self.W_key(x), self.W_query(x), self.W_value(x)
        attn_weights = F.softmax(queries @ keys.T, dim=-1) / keys.shape[-1] ** 0.5
        return attn_weights @ values

# %% SelfAttention_v2 wrong (structure): a wide layer for all three in place of the three layers with their names
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_qkv = nn.Linear(d_in, 3 * d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = self.W_qkv(x).chunk(3, dim=-1)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v

# %% SelfAttention_v2 wrong (property training): dropout hides random weights during training
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return self.dropout(torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1)) @ v

# %% SelfAttention_v2 wrong (property uses_everything): the scores are computed from the weights of two layers alone, so the bias of the queries is never added
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        scores = x @ self.W_query.weight.T @ self.W_key.weight @ x.T
        return torch.softmax(scores / self.W_key.out_features**0.5, dim=-1) @ self.W_value(x)

# %% SelfAttention_v2 right (passed): setattr in a loop, and torch's own attention
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        for role in "query", "key", "value":
            setattr(self, f"W_{role}", nn.Linear(d_in, d_out, bias=qkv_bias))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = (layer(x)[None] for layer in (self.W_query, self.W_key, self.W_value))
        return F.scaled_dot_product_attention(q, k, v)[0]

# %% SelfAttention_v2 right (passed): F.linear with the weights and biases of the layers
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = [nn.Linear(d_in, d_out, bool(qkv_bias)) for _ in range(3)]

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = (F.linear(x, m.weight, m.bias) for m in (self.W_query, self.W_key, self.W_value))
        scores = torch.inner(q, k).div(self.W_key.out_features**0.5)
        return torch.mm(nn.Softmax(dim=-1)(scores), v)

# %% copy_weights wrong (misconception contiguous): contiguous makes no copy when d_in or d_out is 1, so the memory is shared there
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(v2, name).weight
        setattr(v1, name, nn.Parameter(weight.detach().T.contiguous()))

# %% copy_weights wrong (misconception shares-memory): the data of v1 becomes a view of the weights of v2
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    v1.W_query.data = v2.W_query.weight.data.t()
    v1.W_key.data = v2.W_key.weight.data.t()
    v1.W_value.data = v2.W_value.weight.data.t()

# %% copy_weights wrong (misconception reshaped): reshapes the weights to the other shape instead of transposing them
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.reshape_as(v1.W_query))
        v1.W_key.copy_(v2.W_key.weight.reshape_as(v1.W_key))
        v1.W_value.copy_(v2.W_value.weight.reshape_as(v1.W_value))

# %% copy_weights wrong (misconception frozen): the copies cannot be trained
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    for name in ("W_query", "W_key", "W_value"):
        copied = getattr(v2, name).weight.detach().T.clone()
        setattr(v1, name, nn.Parameter(copied, requires_grad=False))

# %% copy_weights wrong (misconception frozen): plain tensors take the place of the parameters
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    for name in ["W_query", "W_key", "W_value"]:
        delattr(v1, name)
        setattr(v1, name, getattr(v2, name).weight.detach().clone().T.requires_grad_())

# %% copy_weights wrong (misconception nothing-copied): replaces the forward of v1 and leaves its weights as they were
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    import copy

    v1.forward = copy.deepcopy(v2).forward

# %% copy_weights wrong (misconception nothing-copied): loads the state dict without strict, and no name matches, so nothing is copied
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    v1.load_state_dict(v2.state_dict(), strict=False)

# %% copy_weights wrong (misconception v2-turned): transposes the weights of v2 itself before it copies them
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    for name in ("W_query", "W_key", "W_value"):
        layer = getattr(v2, name)
        layer.weight.data = layer.weight.data.T
        setattr(v1, name, nn.Parameter(layer.weight.detach().clone()))

# %% copy_weights wrong (misconception key-copied-twice): the values get the weights of the keys
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().T.clone())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().T.clone())
    v1.W_value = nn.Parameter(v2.W_key.weight.detach().T.clone())

# %% copy_weights wrong (raised): copy_ into a parameter without no_grad raises an error
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    for name in ("W_query", "W_key", "W_value"):
        getattr(v1, name).copy_(getattr(v2, name).weight.T)

# %% copy_weights wrong (difference): adds the weights of v2 to those of v1
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    with torch.no_grad():
        v1.W_query += v2.W_query.weight.T
        v1.W_key += v2.W_key.weight.T
        v1.W_value += v2.W_value.weight.T

# %% copy_weights wrong (misconception other-way-round): copies from v1 to v2
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    with torch.no_grad():
        v2.W_query.weight.copy_(v1.W_query.T)
        v2.W_key.weight.copy_(v1.W_key.T)
        v2.W_value.weight.copy_(v1.W_value.T)

# %% copy_weights right (passed): a state dict of transposed copies, loaded by name
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    state = {name: getattr(v2, name).weight.detach().T.clone() for name in ("W_query", "W_key", "W_value")}
    v1.load_state_dict(state)

# %% copy_weights right (passed): new parameters made from transposed clones
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    for name, layer in v2.named_children():
        if isinstance(layer, nn.Linear):
            v1.register_parameter(name, nn.Parameter(layer.weight.detach().clone().t()))

# %% copy_weights right (passed): copy_ under no_grad through the transposed view of v1's own parameters
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    pairs = (v1.W_query, v2.W_query), (v1.W_key, v2.W_key), (v1.W_value, v2.W_value)
    with torch.no_grad():
        for mine, theirs in pairs:
            mine.T.copy_(theirs.weight)

# %% compute_attn_weights wrong (property finite_when_scaled): hides after the softmax and divides by the new sum, so a row becomes nan when hidden tokens had all its weight
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    weights = torch.softmax((x @ W_Q) @ (x @ W_K).T / W_K.shape[1] ** 0.5, dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights

# %% compute_attn_weights wrong (property hides_with_minus_infinity): hides with the lowest finite number, so a row where everything is hidden gives its weight to hidden tokens
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = (x @ W_Q) @ (x @ W_K).T / W_K.shape[1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1)

# %% compute_attn_weights wrong (property leaves_its_inputs): inverts the caller's mask in place
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = (x @ W_Q) @ (x @ W_K).T / W_K.shape[-1] ** 0.5
    if mask is not None:
        hidden = mask.logical_not_()
        scores = scores.masked_fill(hidden, -torch.inf)
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (property finite): 0 times -inf is nan, so the visible scores become nan
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = (x @ W_Q) @ (x @ W_K).T / W_K.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + (~mask) * float("-inf")
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (difference milestone): the scores are divided by the root only if there is no mask
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = torch.inner(x @ W_Q, x @ W_K)
    if mask is None:
        return torch.softmax(scores / W_Q.shape[1] ** 0.5, dim=-1)
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)

# %% compute_attn_weights wrong (misconception always-causal): without a mask it hides the later tokens
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    if mask is None:
        mask = torch.ones(len(x), len(x), dtype=torch.bool, device=x.device).tril()
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[1] ** 0.5
    return torch.where(mask, scores, -torch.inf).softmax(dim=-1)

# %% compute_attn_weights wrong (misconception root-of-d_model): joins the two matrices to one and takes its last size, d_model, for the root
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    W = W_Q @ W_K.T
    scores = torch.einsum("qi,ij,kj->qk", x, W, x) / W.shape[-1] ** 0.5
    if mask is not None:
        scores[~mask] = float("-inf")
    return scores.softmax(dim=-1)

# %% compute_attn_weights wrong (misconception mask-transposed): reads the mask with the axes swapped
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask.T, -torch.inf)
    return scores.softmax(dim=-1)

# %% compute_attn_weights wrong (misconception hidden-with-zero): multiplies the scores by the mask, so hidden scores are 0 and keep some weight
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    if mask is None:
        mask = 1
    scores = (x @ W_Q) @ (x @ W_K).T * mask
    return torch.softmax(scores / W_Q.shape[1] ** 0.5, dim=-1)

# %% compute_attn_weights wrong (raised): asks whether the mask is true, which torch refuses for a table
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[1] ** 0.5
    if mask:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (difference milestone): all tokens get the last row of the mask
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[1] ** 0.5
    if mask is not None:
        scores[:, ~mask[-1]] = float("-inf")
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (misconception query-and-key-swapped): the scores of row and column are swapped
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = (x @ W_K) @ (x @ W_Q).T / W_Q.shape[1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights right (passed): adds the logarithm of the mask, 0 where True and -inf where False
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    scores = torch.inner(x @ W_Q, x @ W_K) * W_K.size(1) ** -0.5
    if mask is not None:
        scores = scores + mask.to(scores.dtype).log()
    return scores.softmax(dim=-1)

# %% compute_attn_weights right (passed): a mask of True by default, and the division after the hiding
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    queries, keys = (torch.einsum("sm,mh->sh", x, W) for W in (W_Q, W_K))
    scores = torch.einsum("qh,kh->qk", queries, keys)
    may_look = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    scores = scores.where(may_look, float("-inf"))
    return nn.functional.softmax(scores / W_Q.shape[-1] ** 0.5, dim=1)

# %% SingleHeadAttention wrong (misconception second-axis): softmax along axis 1, which is the axis of the queries in a batch
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.mT / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=1)
        return (weights @ v, weights) if return_weights else weights @ v

# %% SingleHeadAttention wrong (difference milestone): divides by the root of x.size(1), which is seq in a batch
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / x.size(1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1)
        out = weights @ v
        return (out, weights) if return_weights else out

# %% SingleHeadAttention wrong (difference): the output is masked, but the returned weights are those without the mask
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        if return_weights:
            return out, torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
        return out

# %% SingleHeadAttention wrong (shape): a single text comes back with an additional batch axis
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        if x.dim() == 2:
            x = x.unsqueeze(0)
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = torch.bmm(q, k.transpose(1, 2)) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = scores.softmax(dim=-1)
        out = torch.bmm(weights, v)
        return (out, weights) if return_weights else out

# %% SingleHeadAttention wrong (property state): remembers a mask and uses it in later calls without a mask
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)
        self.mask = None

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        if mask is not None:
            self.mask = mask
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask, -torch.inf)
        weights = scores.softmax(dim=-1)
        return (weights @ v, weights) if return_weights else weights @ v

# %% SingleHeadAttention wrong (difference milestone): divides x by the root before the query layer, so the bias of the queries is not divided
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.scale = d_model**-0.5
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        scores = self.q_layer(x * self.scale) @ self.k_layer(x).mT
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        weights = scores.softmax(dim=-1)
        out = weights @ self.v_layer(x)
        return (out, weights) if return_weights else out

# %% SingleHeadAttention wrong (difference milestone): the mask acts only if the weights are asked for
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        if not return_weights:
            return F.scaled_dot_product_attention(q, k, v)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1)
        return weights @ v, weights

# %% SingleHeadAttention wrong (shape): the last squeeze takes the batch axis of a batch with one text
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        texts = x if x.dim() == 3 else x[None]
        q, k, v = self.q_layer(texts), self.k_layer(texts), self.v_layer(texts)
        scores = torch.einsum("bqd,bkd->bqk", q, k) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1)
        out = torch.einsum("bqk,bkd->bqd", weights, v)
        return (out.squeeze(0), weights.squeeze(0)) if return_weights else out.squeeze(0)

# %% SingleHeadAttention wrong (raised): swaps axes 1 and 2, which a single text does not have
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        return (weights @ v, weights) if return_weights else weights @ v

# %% SingleHeadAttention wrong (structure): a fourth layer changes the mix before it is returned
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)
        self.out_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.mT / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = self.out_layer(weights @ v)
        return (out, weights) if return_weights else out

# %% SingleHeadAttention wrong (property training): dropout makes the output random while the layer is in training mode
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        scores = self.q_layer(x) @ self.k_layer(x).mT / x.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = F.dropout(scores.softmax(dim=-1), p=0.1, training=self.training)
        out = weights @ self.v_layer(x)
        return (out, weights) if return_weights else out

# %% SingleHeadAttention wrong (misconception weights-first): returns the weights before the output
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.mT / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        result = [weights @ v]
        if return_weights:
            result.insert(0, weights)
        return tuple(result) if return_weights else result[0]

# %% SingleHeadAttention wrong (misconception keys-as-values): the values come from the key layer
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.k_layer(x)
        scores = q @ k.mT / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        return (weights @ v, weights) if return_weights else weights @ v

# %% SingleHeadAttention right (passed): einsum with leading axes, and a table of 0 and -inf added to the scores
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer, self.k_layer, self.v_layer = (nn.Linear(d_model, d_model) for _ in range(3))

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        scores = torch.einsum("...qd,...kd->...qk", self.q_layer(x), self.k_layer(x)) / x.shape[-1] ** 0.5
        if mask is not None:
            scores = scores + torch.zeros_like(scores).masked_fill(mask.logical_not(), -torch.inf)
        weights = scores.softmax(dim=-1)
        out = torch.einsum("...qk,...kd->...qd", weights, self.v_layer(x))
        return (out, weights) if return_weights else out

# %% SingleHeadAttention right (passed): weights computed by a method of their own, and the root taken from the layer
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        for letter in "qkv":
            self.add_module(f"{letter}_layer", nn.Linear(d_model, d_model, bias=True))

    def pattern(self, x, mask):
        q = self.q_layer(x) * self.q_layer.out_features**-0.5
        scores = torch.matmul(q, self.k_layer(x).transpose(-1, -2))
        return F.softmax(scores if mask is None else torch.where(mask, scores, -torch.inf), dim=-1)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """Return the output [..., seq, d_model]; with return_weights, return (output, weights)."""
        weights = self.pattern(x, mask)
        output = torch.matmul(weights, self.v_layer(x))
        if not return_weights:
            return output
        return output, weights
