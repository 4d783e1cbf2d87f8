# %% scaled_context_vec_2 wrong (misconception divided-by-d_k): divides by d_k itself, not by its root
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2 / d_k, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception scaled-too-late): divides after the softmax, so the weights no longer sum to one and the scores were never scaled
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2, dim=-1) / d_k**0.5
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception mixes-the-keys): mixes the keys, not the values
d_k = keys.shape[-1]
attn_weights_2 = F.softmax(attn_scores_2 / d_k**0.5, dim=0)
scaled_context_vec_2 = attn_weights_2 @ keys

# %% scaled_context_vec_2 wrong (misconception root-of-d_in): takes the root of the width of the inputs (3), not of the keys (2)
d_k = keys.shape[-1]
attn_weights_2 = F.softmax(attn_scores_2 / d_in**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception share-of-the-sum): divides by the sum of the scores in place of a softmax
d_k = keys.shape[-1]
scaled = attn_scores_2 / d_k**0.5
attn_weights_2 = scaled / scaled.sum()
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception another-query): off by one, journey is row 1 and this is the query of starts
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(queries[2] @ keys.T / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (shape): a table of six context vectors, not the one of journey
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(queries @ keys.T / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (raised): six weights times a transposed table of values does not fit, it raises
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values.T

# %% scaled_context_vec_2 right (passed): division by torch.sqrt, functional softmax, weighted rows summed up
d_k = keys.shape[-1]
attn_weights_2 = F.softmax(attn_scores_2 / torch.sqrt(torch.tensor(float(d_k))), dim=0)
scaled_context_vec_2 = (attn_weights_2[:, None] * values).sum(dim=0)

# %% scaled_context_vec_2 right (passed): plain Python with math.exp
import math

d_k = keys.shape[-1]
powers = []
for score in attn_scores_2.tolist():
    powers.append(math.exp(score / math.sqrt(d_k)))
attn_weights_2 = torch.tensor([power / sum(powers) for power in powers])
mixed = [0.0] * d_k
for weight, value in zip(attn_weights_2.tolist(), values.tolist()):
    for j in range(len(value)):
        mixed[j] += weight * value[j]
scaled_context_vec_2 = torch.tensor(mixed)

# %% scaled_context_vec_2 right (passed): torch's fused attention, with the identity as values to read off the weights
d_k = keys.shape[-1]
attn_weights_2 = F.scaled_dot_product_attention(query_2[None], keys, torch.eye(len(keys)))[0]
scaled_context_vec_2 = F.scaled_dot_product_attention(query_2[None], keys, values)[0]

# %% scaled_context_vec_2 right (passed): query scaled first, einsum, logsumexp
d_k = keys.shape[-1]
scaled = torch.einsum("d,kd->k", query_2 * d_k**-0.5, keys)
attn_weights_2 = (scaled - scaled.logsumexp(0)).exp()
scaled_context_vec_2 = torch.einsum("k,kd->d", attn_weights_2, values)

# %% SelfAttention_v1 wrong (misconception made-in-the-order-key-query-value): makes the key matrix before the query matrix, the text gives the order query, key, value
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys = x @ self.W_key
        queries = x @ self.W_query
        values = x @ self.W_value
        attn_scores = queries @ keys.T
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v1 wrong (property lets_gradients_through): copies requires_grad=False from the first cell, so that training can never change the matrices
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_key = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_value = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)

    def forward(self, x):
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        scores = queries @ keys.T / keys.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1) @ values

# %% SelfAttention_v1 wrong (property finite_when_scaled): bare exp over sum overflows to nan for large inputs, which the text says must be borne
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        powers = torch.exp(queries @ keys.T / keys.shape[-1] ** 0.5)
        weights = powers / powers.sum(dim=-1, keepdim=True)
        return weights @ values

# %% SelfAttention_v1 wrong (misconception root-of-2): divides by the root of the page's global d_k, which is 2 whatever the width of this layer
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        attn_weights = torch.softmax(queries @ keys.T / d_k**0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v1 wrong (misconception wrong-axis): softmax down the columns, so that the rows do not sum to one
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=0)
        return attn_weights @ values

# %% SelfAttention_v1 wrong (misconception root-of-d_in): divides by the root of d_in, the width of the inputs, not of the keys
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.scale = d_in**0.5
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        scores = (x @ self.W_query) @ (x @ self.W_key).T
        weights = F.softmax(scores / self.scale, dim=-1)
        return weights @ (x @ self.W_value)

# %% SelfAttention_v1 wrong (raised): matrices made as [d_out, d_in], so that x @ W raises
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_out, d_in))
        self.W_key = nn.Parameter(torch.rand(d_out, d_in))
        self.W_value = nn.Parameter(torch.rand(d_out, d_in))

    def forward(self, x):
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v1 wrong (misconception query-and-key-swapped): keys times queries, the table of scores is transposed and keys do the asking
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        scores = keys @ queries.T
        attn_weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v1 right (passed): textbook, with a softmax module and the root kept as an attribute
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
        self.root = d_out**0.5
        self.to_weights = nn.Softmax(dim=-1)

    def forward(self, x):
        Q = x.matmul(self.W_query)
        K = x.matmul(self.W_key)
        V = x.matmul(self.W_value)
        return self.to_weights(Q.matmul(K.transpose(0, 1)).div(self.root)).matmul(V)

# %% SelfAttention_v1 right (passed): parameters registered in a loop, torch's fused attention
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            self.register_parameter(name, nn.Parameter(torch.rand(d_in, d_out)))

    def forward(self, x):
        return F.scaled_dot_product_attention(*(x @ W for W in (self.W_query, self.W_key, self.W_value)))

# %% SelfAttention_v1 right (passed): one token after the other, the largest score subtracted by hand
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.d_in, self.d_out = d_in, d_out
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys = x @ self.W_key
        values = x @ self.W_value
        result = torch.zeros(len(x), self.d_out, dtype=values.dtype, device=values.device)
        for i in range(len(x)):
            scores = keys @ (x[i] @ self.W_query) / self.d_out**0.5
            powers = (scores - scores.max()).exp()
            result[i] = sum(weight * value for weight, value in zip(powers / powers.sum(), values))
        return result

# %% SelfAttention_v1 right (passed): all three tables from one stacked einsum, weights as the exponential of log_softmax
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        q, k, v = (torch.rand(d_in, d_out) for _ in range(3))
        self.W_query, self.W_key, self.W_value = nn.Parameter(q), nn.Parameter(k), nn.Parameter(v)

    def forward(self, x):
        everything = torch.stack([self.W_query, self.W_key, self.W_value])
        q, k, v = torch.einsum("si,nio->nso", x, everything)
        logits = torch.einsum("qo,ko->qk", q, k) * q.size(1) ** -0.5
        return torch.einsum("qk,ko->qo", logits.log_softmax(1).exp(), v)

# %% SelfAttention_v2 wrong (misconception never-a-bias): qkv_bias is accepted and ignored, there is never a bias
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 wrong (property uses_everything): the layers have their bias, but forward uses only the weights and drops it
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        queries = x @ self.W_query.weight.T
        keys = x @ self.W_key.weight.T
        values = x @ self.W_value.weight.T
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 wrong (structure): qkv_bias reaches queries and keys, the value layer is left without one
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x):
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 wrong (misconception made-in-the-order-value-key-query): made in the order value, key, query, so that a seed gives other numbers
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 wrong (structure): the layers are called W_q, W_k and W_v, the text asks for the same names as in v1
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_q = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_k = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_v = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        return torch.softmax(q @ k.T / k.shape[-1] ** 0.5, dim=-1) @ v

# %% SelfAttention_v2 wrong (raised): x @ layer as in v1, a Linear is called and cannot be multiplied, it raises
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 wrong (property lets_gradients_through): weights computed under no_grad, so that training never reaches W_query and W_key
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        with torch.no_grad():
            queries = self.W_query(x)
            keys = self.W_key(x)
            attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ self.W_value(x)

# %% SelfAttention_v2 wrong (misconception root-of-the-length): wrong index, divides by the root of the number of tokens and not of the width of the keys
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[0] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 right (passed): layers by setattr in a loop, forward split into small methods
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        for part in ["query", "key", "value"]:
            setattr(self, f"W_{part}", nn.Linear(d_in, d_out, bias=qkv_bias))

    def weights(self, x):
        k = self.W_key(x)
        return F.softmax(self.W_query(x) @ k.mT / k.size(-1) ** 0.5, dim=-1)

    def forward(self, x):
        return self.weights(x) @ self.W_value(x)

# %% SelfAttention_v2 right (passed): one fused projection out of the three layers, then torch's own attention
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        layers = self.W_query, self.W_key, self.W_value
        weight = torch.cat([layer.weight for layer in layers])
        bias = None if self.W_query.bias is None else torch.cat([layer.bias for layer in layers])
        q, k, v = F.linear(x, weight, bias).chunk(3, dim=-1)
        return F.scaled_dot_product_attention(q, k, v)

# %% SelfAttention_v2 right (passed): a loop over queries, values mixed by a running sum, rows stacked
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)

    def forward(self, x):
        context = []
        for query in self.W_query(x):
            scores = torch.stack([query.dot(key) for key in self.W_key(x)])
            shares = torch.softmax(scores / torch.tensor(self.d_out, device=x.device).sqrt(), dim=0)
            row = 0
            for share, value in zip(shares, self.W_value(x)):
                row = row + share * value
            context.append(row)
        return torch.stack(context)

# %% SelfAttention_v2 right (passed): scores laid out keys first, softmax over dim 0, transposed at the end
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        linear = lambda: nn.Linear(in_features=d_in, out_features=d_out, bias=qkv_bias)
        self.W_query, self.W_key, self.W_value = linear(), linear(), linear()

    def forward(self, x):
        q, k, v = (layer(x) for layer in (self.W_query, self.W_key, self.W_value))
        by_key = (k * k.shape[1] ** -0.5) @ q.t()
        return (v.t() @ by_key.softmax(dim=0)).t()

# %% copy_weights wrong (misconception not-transposed): no transpose, a Linear keeps [d_out, d_in] and v1 multiplies by [d_in, d_out]
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().clone())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().clone())
    v1.W_value = nn.Parameter(v2.W_value.weight.detach().clone())

# %% copy_weights wrong (misconception shares-memory): .data.T is a view, both layers share one memory
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    v1.W_query.data = v2.W_query.weight.data.T
    v1.W_key.data = v2.W_key.weight.data.T
    v1.W_value.data = v2.W_value.weight.data.T

# %% copy_weights wrong (misconception contiguous): contiguous() copies only where it has to, with d_in or d_out of 1 the memory stays shared
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    v1.W_query.data = v2.W_query.weight.data.T.contiguous()
    v1.W_key.data = v2.W_key.weight.data.T.contiguous()
    v1.W_value.data = v2.W_value.weight.data.T.contiguous()

# %% copy_weights wrong (misconception query-copied-twice): a slip of copy and paste, the key matrix gets the query's numbers
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.T)
        v1.W_key.copy_(v2.W_query.weight.T)
        v1.W_value.copy_(v2.W_value.weight.T)

# %% copy_weights wrong (misconception other-way-round): copies the other way round, v2 gets the numbers of v1
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    with torch.no_grad():
        v2.W_query.weight.copy_(v1.W_query.T)
        v2.W_key.weight.copy_(v1.W_key.T)
        v2.W_value.weight.copy_(v1.W_value.T)

# %% copy_weights wrong (misconception reshaped): reshapes to the right shape where a transpose is needed, the numbers land in other places
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(v2, name).weight.detach()
        target = getattr(v1, name)
        target.data = weight.reshape(target.shape).clone()

# %% copy_weights wrong (misconception v2-turned): t_() transposes the weights of v2 in place, v1 is well and v2 is broken
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            weight = getattr(v2, name).weight.t_()
            setattr(v1, name, nn.Parameter(weight.clone()))

# %% copy_weights wrong (raised): a bare tensor cannot take the place of a parameter, the assignment raises
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    v1.W_query = v2.W_query.weight.T.clone()
    v1.W_key = v2.W_key.weight.T.clone()
    v1.W_value = v2.W_value.weight.T.clone()

# %% copy_weights right (passed): copy_ under no_grad, written out
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.T)
        v1.W_key.copy_(v2.W_key.weight.T)
        v1.W_value.copy_(v2.W_value.weight.T)

# %% copy_weights right (passed): a transposed state dict, loaded
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    state = {key.removesuffix(".weight"): table.T for key, table in v2.state_dict().items() if key.endswith(".weight")}
    v1.load_state_dict(state)

# %% copy_weights right (passed): new parameters out of numbers, cell by cell in plain Python
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    def turned(layer):
        old = layer.weight.tolist()
        rows = [[old[j][i] for j in range(layer.out_features)] for i in range(layer.in_features)]
        return nn.Parameter(torch.tensor(rows, dtype=layer.weight.dtype, device=layer.weight.device))

    v1.W_query = turned(v2.W_query)
    v1.W_key = turned(v2.W_key)
    v1.W_value = turned(v2.W_value)

# %% copy_weights right (passed): sends the identity through each layer, what comes out is the matrix
@torch.no_grad()
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    for name, matrix in v1.named_parameters():
        basis = torch.eye(matrix.shape[0], dtype=matrix.dtype, device=matrix.device)
        matrix.copy_(v2.get_submodule(name)(basis))

# %% compute_attn_weights wrong (misconception mask-after-softmax): masks after the softmax, which leaves holes and rows that do not sum to one
def compute_attn_weights(W_Q, W_K, x, mask=None):
    queries = x @ W_Q
    keys = x @ W_K
    weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights

# %% compute_attn_weights wrong (property hides_with_minus_infinity): -1e9 for -inf, a row where all is hidden shares out weight among what is hidden
def compute_attn_weights(W_Q, W_K, x, mask=None):
    queries = x @ W_Q
    keys = x @ W_K
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (misconception true-means-blocked): fills where mask is True, and True means may
def compute_attn_weights(W_Q, W_K, x, mask=None):
    queries = x @ W_Q
    keys = x @ W_K
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (misconception root-of-d_model): divides by the root of d_model, the rows of W_K, where d_head is meant
def compute_attn_weights(W_Q, W_K, x, mask=None):
    scores = (x @ W_Q) @ (x @ W_K).T / W_K.shape[0] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (property finite_when_scaled): softmax first, then mask and share out anew, 0 / 0 where a hidden score is far above the others
def compute_attn_weights(W_Q, W_K, x, mask=None):
    queries = x @ W_Q
    keys = x @ W_K
    weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights

# %% compute_attn_weights wrong (raised): `if mask` on a table of booleans raises, masks cannot be used
def compute_attn_weights(W_Q, W_K, x, mask=None):
    queries = x @ W_Q
    keys = x @ W_K
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    if mask:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (misconception mask-transposed): the mask is transposed, so its columns do the looking; only symmetric masks come out well
def compute_attn_weights(W_Q, W_K, x, mask=None):
    queries = x @ W_Q
    keys = x @ W_K
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask.T, scores, float("-inf"))
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (property finite_when_scaled): a softmax by hand without subtracting the largest score, nan for large inputs
def compute_attn_weights(W_Q, W_K, x, mask=None):
    queries = x @ W_Q
    keys = x @ W_K
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    powers = scores.exp()
    return powers / powers.sum(dim=-1, keepdim=True)

# %% compute_attn_weights right (passed): boolean indexing into a copy of the scores
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    d_head = W_Q.shape[1]
    scores = (x @ W_Q) @ (x @ W_K).T / d_head**0.5
    if mask is not None:
        scores = scores.clone()
        scores[~mask] = -torch.inf
    return F.softmax(scores, dim=1)

# %% compute_attn_weights right (passed): torch's fused attention with the identity for values gives back the weights
def compute_attn_weights(W_Q, W_K, x, mask=None):
    q, k = x @ W_Q, x @ W_K
    return F.scaled_dot_product_attention(q, k, torch.eye(len(x), dtype=q.dtype, device=q.device), attn_mask=mask)

# %% compute_attn_weights right (passed): two loops over the pairs, hidden pairs never multiplied
def compute_attn_weights(W_Q, W_K, x, mask=None):
    asks, labels = x @ W_Q, x @ W_K
    root = W_K.shape[1] ** 0.5
    table = []
    for i in range(len(x)):
        row = []
        for j in range(len(x)):
            may = True if mask is None else bool(mask[i, j])
            row.append((asks[i] * labels[j]).sum() / root if may else torch.full_like(asks[i, 0], float("-inf")))
        row = torch.stack(row)
        powers = torch.exp(row - row.max())
        table.append(powers / powers.sum())
    return torch.stack(table)

# %% compute_attn_weights right (passed): einsum, a mask turned into numbers to add, and logsumexp
def compute_attn_weights(W_Q, W_K, x, mask=None):
    q = torch.einsum("sm,mh->sh", x, W_Q) / W_Q.size(-1) ** 0.5
    k = torch.einsum("sm,mh->sh", x, W_K)
    logits = torch.einsum("qh,kh->qk", q, k)
    if mask is not None:
        logits = logits + torch.zeros_like(logits).masked_fill_(mask.logical_not(), -float("inf"))
    return (logits - logits.logsumexp(-1, keepdim=True)).exp()

# %% SingleHeadAttention wrong (misconception second-axis): softmax over dim=1, the keys only without a batch, the queries with one
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=1)
        output = weights @ v
        return (output, weights) if return_weights else output

# %% SingleHeadAttention wrong (misconception weights-first): gives (weights, output) on request, the docstring says output first
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        if return_weights:
            return weights, output
        return output

# %% SingleHeadAttention wrong (misconception still-scores): hands out the scores before the softmax as if they were the weights
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.d_model = d_model
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        weights = q @ k.transpose(-2, -1) / self.d_model**0.5
        if mask is not None:
            weights = weights.masked_fill(~mask, float("-inf"))
        output = torch.softmax(weights, dim=-1) @ v
        if return_weights:
            return output, weights
        return output

# %% SingleHeadAttention wrong (misconception mask-added): adds the boolean mask to the scores, which gives what may be seen 1 more and hides nothing
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores + mask
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output

# %% SingleHeadAttention wrong (property uses_everything): takes only the weights of q_layer and k_layer for the scores, their biases are lost
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        q = x @ self.q_layer.weight.T
        k = x @ self.k_layer.weight.T
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ self.v_layer(x)
        return (output, weights) if return_weights else output

# %% SingleHeadAttention wrong (property lets_gradients_through): mixes with detached weights, no gradient reaches q_layer and k_layer and the layer cannot learn where to look
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1).detach()
        output = weights @ v
        return (output, weights) if return_weights else output

# %% SingleHeadAttention wrong (structure): one layer under three names, so that query, key and value of a token are the same vector
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = self.k_layer = self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output

# %% SingleHeadAttention wrong (property hides_with_minus_infinity): the lowest float in place of -inf, a row where all is hidden gets equal weights
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output

# %% SingleHeadAttention right (passed): .mT, torch.where and two returns
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        scores = self.q_layer(x) @ self.k_layer(x).mT
        scores = scores / x.shape[-1] ** 0.5
        if mask is not None:
            scores = torch.where(mask, scores, -torch.inf)
        weights = scores.softmax(dim=-1)
        if not return_weights:
            return weights @ self.v_layer(x)
        return weights @ self.v_layer(x), weights

# %% SingleHeadAttention right (passed): torch's fused attention, run a second time on the identity when the weights are wanted
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer, self.k_layer, self.v_layer = (nn.Linear(d_model, d_model) for _ in range(3))

    def forward(self, x, mask=None, return_weights=False):
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        if not return_weights:
            return output
        seq = x.shape[-2]
        ones = torch.eye(seq, dtype=v.dtype, device=v.device).expand(*x.shape[:-2], seq, seq)
        return output, F.scaled_dot_product_attention(q, k, ones, attn_mask=mask)

# %% SingleHeadAttention right (passed): einsum with dots for the batch, softmax by hand with the largest score taken off
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.scale = d_model**-0.5
        self.q_layer = nn.Linear(d_model, d_model, bias=True)
        self.k_layer = nn.Linear(d_model, d_model, bias=True)
        self.v_layer = nn.Linear(d_model, d_model, bias=True)

    def look(self, x, mask):
        logits = torch.einsum("...qd,...kd->...qk", self.q_layer(x) * self.scale, self.k_layer(x))
        if mask is not None:
            logits = logits.masked_fill(mask.logical_not(), float("-inf"))
        powers = torch.exp(logits - logits.amax(dim=-1, keepdim=True))
        return powers / powers.sum(dim=-1, keepdim=True)

    def forward(self, x, mask=None, return_weights=False):
        weights = self.look(x, mask)
        output = torch.einsum("...qk,...kd->...qd", weights, self.v_layer(x))
        return (output, weights) if return_weights else output

# %% SingleHeadAttention right (passed): the batch flattened and gone through text by text, layers made in another order
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.v_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.q_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        *batch, seq, width = x.shape
        if mask is None:
            mask = torch.ones(seq, seq, dtype=torch.bool, device=x.device)
        masks = mask.expand(*batch, seq, seq).reshape(-1, seq, seq)
        outputs, tables = [], []
        for text, may in zip(x.reshape(-1, seq, width), masks):
            scores = self.q_layer(text) @ self.k_layer(text).t() / width**0.5
            table = torch.softmax(scores.masked_fill(~may, float("-inf")), dim=1)
            tables.append(table)
            outputs.append(table @ self.v_layer(text))
        output = torch.stack(outputs).reshape(x.shape)
        weights = torch.stack(tables).reshape(*batch, seq, seq)
        return (output, weights) if return_weights else output
