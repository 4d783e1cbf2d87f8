# %% scaled_context_vec_2 wrong (misconception divided-by-d_k): divides by d_k itself, not by its root, so the weights come out too even
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2 / d_k, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception not-scaled): forgets the division, the context vector is not scaled at all
d_k = keys.shape[-1]
attn_weights_2 = F.softmax(attn_scores_2, dim=0)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception root-of-d_in): divides by the root of d_in (3), the width of the inputs, not of the keys (2)
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2 / d_in**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception another-query): row 2 is "starts", the page asks for "journey" (row 1); the two are nearly alike
d_k = keys.shape[-1]
queries = inputs @ W_query
attn_scores = queries @ keys.T
attn_weights_2 = torch.softmax(attn_scores[2] / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception mixes-the-keys): mixes the keys, not the values; the shape is the same
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ keys

# %% scaled_context_vec_2 wrong (misconception scaled-too-late): scales after the softmax, so the weights do not sum to one and the scores were not scaled
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2, dim=-1) / d_k**0.5
scaled_context_vec_2 = attn_weights_2 @ values

# %% scaled_context_vec_2 wrong (misconception mixes-the-inputs): mixes the inputs as in lesson 02, so three numbers come out where values have two
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ inputs

# %% scaled_context_vec_2 wrong (raised): transposes the values out of habit, six weights do not fit two rows (raises)
d_k = keys.shape[-1]
attn_weights_2 = torch.softmax(attn_scores_2 / d_k**0.5, dim=-1)
scaled_context_vec_2 = attn_weights_2 @ values.T

# %% scaled_context_vec_2 right (passed): plain Python, math.exp and sums
import math

d_k = keys.shape[-1]
powers = [math.exp(score / math.sqrt(d_k)) for score in attn_scores_2.tolist()]
attn_weights_2 = torch.tensor([p / sum(powers) for p in powers])
rows = values.tolist()
scaled_context_vec_2 = torch.tensor(
    [sum(w * row[column] for w, row in zip(attn_weights_2.tolist(), rows)) for column in range(d_out)]
)

# %% scaled_context_vec_2 right (passed): torch's own attention function for a query of one row
d_k = keys.shape[-1]
attn_weights_2 = attn_scores_2.div(d_k**0.5).softmax(-1)
scaled_context_vec_2 = F.scaled_dot_product_attention(query_2.unsqueeze(0), keys, values).squeeze(0)

# %% scaled_context_vec_2 right (passed): other algebra, query and key matrices merged, the values made after the mixing
d_k = keys.shape[-1]
bilinear = W_query @ W_key.T / d_k**0.5
logits = inputs @ (bilinear.T @ x_2)
attn_weights_2 = torch.exp(logits - torch.logsumexp(logits, dim=0))
scaled_context_vec_2 = (attn_weights_2 @ inputs) @ W_value

# %% scaled_context_vec_2 right (passed): an online softmax, one pass over the tokens with a running maximum
d_k = keys.shape[-1]
top, total, mixed = torch.tensor(float("-inf")), torch.tensor(0.0), torch.zeros(d_out)
for k, v in zip(keys, values):
    s = torch.dot(query_2, k) * d_k**-0.5
    new_top = torch.maximum(top, s)
    shrink = torch.exp(top - new_top)
    p = torch.exp(s - new_top)
    total = total * shrink + p
    mixed = mixed * shrink + p * v
    top = new_top
attn_weights_2 = torch.exp(attn_scores_2 * d_k**-0.5 - top) / total
scaled_context_vec_2 = mixed / total

# %% SelfAttention_v1 wrong (misconception wrong-axis): softmax over dim 0, the columns sum to one and not the rows
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
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=0)
        return attn_weights @ values

# %% SelfAttention_v1 wrong (misconception root-of-2): divides by the root of the page's d_k (always 2), not of this layer's own key width
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
        attn_scores = queries @ keys.T
        attn_weights = torch.softmax(attn_scores / d_k**0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v1 wrong (misconception made-in-the-order-query-value-key): value made before key, the page asks for query, key, value in this order, so a seed gives other weights
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v1 wrong (structure): forward forgets self and multiplies by the page's W_query, W_key, W_value, not by the layer's own
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = x @ W_query
        keys = x @ W_key
        values = x @ W_value
        attn_scores = queries @ keys.T
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v1 wrong (structure): plain tensors instead of nn.Parameter, the layer has no weights that training could change
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = torch.rand(d_in, d_out)
        self.W_key = torch.rand(d_in, d_out)
        self.W_value = torch.rand(d_in, d_out)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v1 wrong (property lets_gradients_through): copies requires_grad=False from the top of the page, so the parameters get no gradient; the page asks for nn.Parameter(torch.rand(d_in, d_out))
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_key = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)
        self.W_value = nn.Parameter(torch.rand(d_in, d_out), requires_grad=False)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v1 wrong (misconception only-journey): computes only journey's row, as above on the page; a context vector for every token is promised
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        query = x[1] @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        attn_weights = torch.softmax(query @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v1 wrong (raised): forgets to transpose the keys, [seq, d_out] times [seq, d_out] does not fit (raises)
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
        attn_weights = torch.softmax(queries @ keys / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v1 right (passed): parameters registered in a loop, einsum in forward
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            self.register_parameter(name, nn.Parameter(torch.rand(d_in, d_out)))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q, k, v = (torch.einsum("si,io->so", x, W) for W in (self.W_query, self.W_key, self.W_value))
        A = torch.einsum("qo,ko->qk", q, k).mul(q.size(1) ** -0.5).softmax(1)
        return torch.einsum("qk,ko->qo", A, v)

# %% SelfAttention_v1 right (passed): explicit loops, one token asks after the other
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        contexts = []
        for asking in x:
            query = asking @ self.W_query
            scores = torch.stack([torch.dot(query, other @ self.W_key) for other in x])
            weights = torch.softmax(scores / self.d_out**0.5, dim=0)
            context = sum(weight * (other @ self.W_value) for weight, other in zip(weights, x))
            contexts.append(context)
        return torch.stack(contexts)

# %% SelfAttention_v1 right (passed): torch's scaled_dot_product_attention
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        make = lambda: nn.Parameter(torch.rand(d_in, d_out))
        self.W_query, self.W_key, self.W_value = make(), make(), make()

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        return F.scaled_dot_product_attention(x @ self.W_query, x @ self.W_key, x @ self.W_value)

# %% SelfAttention_v1 right (passed): other algebra, one bilinear form for the scores, softmax by hand through logsumexp, tokens mixed before the value matrix
class SelfAttention_v1(nn.Module):
    def __init__(self, d_in: int, d_out: int):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        scale = self.W_key.shape[1] ** 0.25
        form = (self.W_query / scale) @ (self.W_key / scale).t()
        logits = torch.linalg.multi_dot([x, form, x.t()])
        shares = (logits - logits.logsumexp(dim=1, keepdim=True)).exp()
        return torch.linalg.multi_dot([shares, x, self.W_value])

# %% SelfAttention_v2 wrong (misconception always-a-bias): never passes the bias on, so nn.Linear's default gives a bias where qkv_bias=False promises none
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out)
        self.W_key = nn.Linear(d_in, d_out)
        self.W_value = nn.Linear(d_in, d_out)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 wrong (misconception never-a-bias): hard-codes bias=False as in the text, qkv_bias=True is ignored
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 wrong (property uses_everything): forward multiplies by weight.T itself and so drops the bias when there is one
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
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 wrong (misconception keys-as-values): copy and paste, the values come from W_key and W_value is never used
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_key(x)
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 wrong (property lets_gradients_through): detaches the result inside forward, as the page's print does, so no gradient reaches the weights and the layer cannot learn
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
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return (attn_weights @ values).detach()

# %% SelfAttention_v2 wrong (misconception root-of-d_in): divides by the root of d_in, the width of the inputs, not of the keys
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.d_k = d_in
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        attn_weights = torch.softmax(queries @ keys.T / self.d_k**0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 wrong (structure): query and key share one layer, the table of scores is its own mirror image again
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = self.W_query(x)
        keys = self.W_key(x)
        values = self.W_value(x)
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 wrong (raised): treats the layers like the matrices of v1 (x @ layer), a Linear is called (raises)
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        queries = x @ self.W_query
        keys = x @ self.W_key
        values = x @ self.W_value
        attn_weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attn_weights @ values

# %% SelfAttention_v2 right (passed): the straight way, positional bias argument, methods chained
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        k = self.W_key(x)
        return self.W_query(x).matmul(k.mT).div(k.size(-1) ** 0.5).softmax(-1).matmul(self.W_value(x))

# %% SelfAttention_v2 right (passed): one fused product for query, key and value, then torch's attention
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        parts = (self.W_query, self.W_key, self.W_value)
        weight = torch.cat([p.weight for p in parts])
        bias = None if parts[0].bias is None else torch.cat([p.bias for p in parts])
        q, k, v = F.linear(x, weight, bias).chunk(3, dim=-1)
        return F.scaled_dot_product_attention(q, k, v)

# %% SelfAttention_v2 right (passed): slow loops over pairs of tokens, softmax written out
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.root = d_out**0.5
        for name in ["W_query", "W_key", "W_value"]:
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        seq = x.shape[0]
        qs = [self.W_query(t) for t in x]
        ks = [self.W_key(t) for t in x]
        vs = [self.W_value(t) for t in x]
        out = []
        for i in range(seq):
            s = [(qs[i] * ks[j]).sum() / self.root for j in range(seq)]
            biggest = max(s).detach()
            e = [(value - biggest).exp() for value in s]
            total = sum(e)
            out.append(sum(e[j] / total * vs[j] for j in range(seq)))
        return torch.stack(out, dim=0)

# %% SelfAttention_v2 wrong (misconception made-in-the-order-value-key-query): layers made in an order of its own (value first), where the page asks for that of SelfAttention_v1; right but for that: keys laid out [d_out, seq], softmax down the columns, transposed at the end
class SelfAttention_v2(nn.Module):
    def __init__(self, d_in: int, d_out: int, qkv_bias: bool = False):
        super().__init__()
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x: Float[Tensor, "seq d_in"]) -> Float[Tensor, "seq d_out"]:
        q_t, v_t = self.W_query(x).T, self.W_value(x).T
        by_key = self.W_key(x) @ (q_t / q_t.shape[0] ** 0.5)
        return (v_t @ by_key.softmax(dim=0)).T

# %% copy_weights wrong (misconception shares-memory): transposes but does not copy, v1 and v2 share one memory
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    v1.W_query.data = v2.W_query.weight.data.T
    v1.W_key.data = v2.W_key.weight.data.T
    v1.W_value.data = v2.W_value.weight.data.T

# %% copy_weights wrong (misconception shares-memory): nn.Parameter around a view of the weight, looks new but still shares memory with v2
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(v2, name).weight.detach().t()
        setattr(v1, name, nn.Parameter(weight))

# %% copy_weights wrong (misconception reshaped): reshapes where a transpose is needed, the shape fits but the numbers stand elsewhere
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.reshape(v1.W_query.shape))
        v1.W_key.copy_(v2.W_key.weight.reshape(v1.W_key.shape))
        v1.W_value.copy_(v2.W_value.weight.reshape(v1.W_value.shape))

# %% copy_weights wrong (misconception other-way-round): copies the wrong way round, v2 gets the weights of v1 and v1 stays as it was
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    with torch.no_grad():
        v2.W_query.weight.copy_(v1.W_query.T)
        v2.W_key.weight.copy_(v1.W_key.T)
        v2.W_value.weight.copy_(v1.W_value.T)

# %% copy_weights wrong (misconception nothing-copied): uses the page's sa_v1 and sa_v2, not the layers it is given
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    sa_v1.W_query = nn.Parameter(sa_v2.W_query.weight.detach().T.clone())
    sa_v1.W_key = nn.Parameter(sa_v2.W_key.weight.detach().T.clone())
    sa_v1.W_value = nn.Parameter(sa_v2.W_value.weight.detach().T.clone())

# %% copy_weights wrong (misconception v2-turned): transposes v2's weights in place (t_) before it copies them, v2 itself is broken afterwards and no longer computes what it did
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.t_())
        v1.W_key.copy_(v2.W_key.weight.t_())
        v1.W_value.copy_(v2.W_value.weight.t_())

# %% copy_weights wrong (misconception value-forgotten): forgets W_value, the weights of attention agree but not what is mixed
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.T)
        v1.W_key.copy_(v2.W_key.weight.T)

# %% copy_weights wrong (raised): assigns plain tensors where parameters are registered (raises a TypeError)
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    v1.W_query = v2.W_query.weight.T.clone()
    v1.W_key = v2.W_key.weight.T.clone()
    v1.W_value = v2.W_value.weight.T.clone()

# %% copy_weights right (passed): new parameters of cloned transposes
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    v1.W_query = nn.Parameter(v2.W_query.weight.detach().T.clone())
    v1.W_key = nn.Parameter(v2.W_key.weight.detach().T.clone())
    v1.W_value = nn.Parameter(v2.W_value.weight.detach().T.clone())

# %% copy_weights right (passed): through load_state_dict, which copies
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    v1.load_state_dict({name: getattr(v2, name).weight.mT for name, _ in v1.named_parameters()})

# %% copy_weights right (passed): element by element
@torch.no_grad()
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    pairs = [(v2.W_query, v1.W_query), (v2.W_key, v1.W_key), (v2.W_value, v1.W_value)]
    for linear, matrix in pairs:
        for i in range(linear.in_features):
            for o in range(linear.out_features):
                matrix[i, o] = linear.weight[o, i].item()

# %% copy_weights right (passed): sends the unit vectors through each Linear, what comes out is its matrix
def copy_weights(v2: nn.Module, v1: nn.Module) -> None:
    """Make v1 compute what v2 computes, with weights of its own."""
    with torch.no_grad():
        for name in ("W_query", "W_key", "W_value"):
            layer, mine = getattr(v2, name), getattr(v1, name)
            unit = torch.eye(layer.in_features, dtype=layer.weight.dtype, device=layer.weight.device)
            mine.copy_(layer(unit) - layer(torch.zeros_like(unit)))

# %% compute_attn_weights wrong (misconception true-means-blocked): hides where the mask is True, the page says True means may
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_K.shape[1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (misconception mask-after-softmax): masks after the softmax and leaves holes, rows do not sum to one
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_K.shape[1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights

# %% compute_attn_weights wrong (misconception hidden-with-zero): a hidden score becomes 0 and not -inf, so hidden tokens still get weight
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_K.shape[1] ** 0.5
    if mask is not None:
        scores = scores * mask
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (misconception mask-transposed): the mask is applied transposed, it hides who is looked at instead of who looks; a symmetric mask does not show it
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    queries, keys = x @ W_Q, x @ W_K
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask.T, float("-inf"))
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (misconception always-causal): a causal mask when none is given, but None means that everybody may look at everybody
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    if mask is None:
        mask = torch.tril(torch.ones(len(x), len(x), dtype=torch.bool))
    queries, keys = x @ W_Q, x @ W_K
    scores = queries @ keys.T / keys.shape[-1] ** 0.5
    scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights wrong (structure): divides by the root of the page's d_k (2), not of the width of the matrices that it was given
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    scores = (x @ W_Q) @ (x @ W_K).T
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores / d_k**0.5, dim=-1)

# %% compute_attn_weights wrong (misconception root-of-d_model): scales by the root of W_Q.shape[0], which is d_model and not d_head
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[0] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.softmax(scores, dim=1)

# %% compute_attn_weights wrong (raised): asks `if mask`, which is ambiguous for a tensor of many truths (raises whenever a mask comes)
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    scores = (x @ W_Q) @ (x @ W_K).T / W_K.shape[-1] ** 0.5
    if mask:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)

# %% compute_attn_weights right (passed): einsum and torch.where
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    scores = torch.einsum("qm,mh,nh,kn->qk", x, W_Q, W_K, x) / W_Q.size(1) ** 0.5
    allowed = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    return torch.where(allowed, scores, float("-inf")).softmax(dim=1)

# %% compute_attn_weights right (passed): torch's attention with the unit matrix as values gives back its weights
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    q, k = x @ W_Q, x @ W_K
    one_hot_values = torch.eye(x.shape[0], dtype=q.dtype, device=q.device)
    return F.scaled_dot_product_attention(q, k, one_hot_values, attn_mask=mask)

# %% compute_attn_weights right (passed): loops, each row's softmax runs only over the tokens that it may see
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    n, root = x.shape[0], W_K.shape[1] ** 0.5
    keys = [token @ W_K for token in x]
    table = []
    for i in range(n):
        query = x[i] @ W_Q
        seen = [j for j in range(n) if mask is None or bool(mask[i, j])]
        shares = torch.softmax(torch.stack([query.dot(keys[j]) / root for j in seen]), dim=0)
        row = torch.zeros(n, dtype=shares.dtype, device=shares.device)
        table.append(row.index_put((torch.tensor(seen, device=row.device),), shares))
    return torch.stack(table)

# %% compute_attn_weights right (passed): an additive mask, the logarithm of True and False, and log_softmax
def compute_attn_weights(
    W_Q: Float[Tensor, "d_model d_head"],
    W_K: Float[Tensor, "d_model d_head"],
    x: Float[Tensor, "seq d_model"],
    mask: Bool[Tensor, "seq seq"] | None = None,
) -> Float[Tensor, "seq seq"]:
    """Who looks at whom: scaled, masked where mask is False, each row summing to one."""
    queries = x @ (W_Q * W_Q.shape[-1] ** -0.5)
    penalty = 0.0 if mask is None else mask.to(queries.dtype).log()
    return F.log_softmax(F.linear(queries, x @ W_K) + penalty, dim=-1).exp()

# %% SingleHeadAttention wrong (misconception second-axis): softmax over dim 1, right for one text but over the wrong axis as soon as there is a batch
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=1)
        output = weights @ v
        return (output, weights) if return_weights else output

# %% SingleHeadAttention wrong (raised): transpose(1, 2) fits a batch of texts only, a single text of [seq, d_model] has no axis 2 (raises there)
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(1, 2) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output

# %% SingleHeadAttention wrong (misconception still-scores): returns the masked scores from before the softmax where the weights are asked for
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        weights = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            weights = weights.masked_fill(~mask, float("-inf"))
        output = torch.softmax(weights, dim=-1) @ v
        if return_weights:
            return output, weights
        return output

# %% SingleHeadAttention wrong (misconception weights-first): weights first and output second, the page says the weights come after the output
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.mT / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(-1)
        if return_weights:
            return weights, weights @ v
        return weights @ v

# %% SingleHeadAttention wrong (structure): scales with the page's d_k (2), not with the root of d_model
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        queries = self.q_layer(x)
        keys = self.k_layer(x)
        values = self.v_layer(x)
        scores = queries @ keys.transpose(-1, -2) / d_k**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ values
        return (output, weights) if return_weights else output

# %% SingleHeadAttention wrong (raised): flattens the batch into one long text, so tokens of one text look at those of another
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.d_model = d_model
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        flat = x.reshape(-1, self.d_model)
        q, k, v = self.q_layer(flat), self.k_layer(flat), self.v_layer(flat)
        scores = q @ k.T / self.d_model**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = (weights @ v).reshape(x.shape)
        return (output, weights) if return_weights else output

# %% SingleHeadAttention wrong (misconception no-bias): bias=False carried over from SelfAttention_v2, the page asks for a bias
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model, bias=False)
        self.k_layer = nn.Linear(d_model, d_model, bias=False)
        self.v_layer = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output

# %% SingleHeadAttention wrong (misconception mask-ignored): masks a copy, masked_fill without underscore and without assignment, so the mask has no effect
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        if mask is not None:
            scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        output = weights @ v
        return (output, weights) if return_weights else output

# %% SingleHeadAttention right (passed): einsum with an ellipsis, names of its own
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.temperature = d_model**0.5
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        logits = torch.einsum("...qd,...kd->...qk", self.q_layer(x), self.k_layer(x)) / self.temperature
        if mask is not None:
            logits = torch.where(mask, logits, -torch.inf)
        attention = logits.softmax(dim=-1)
        mixed = torch.einsum("...qk,...kd->...qd", attention, self.v_layer(x))
        return (mixed, attention) if return_weights else mixed

# %% SingleHeadAttention right (passed): torch's attention for the output, the weights only when somebody asks for them
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer, self.k_layer, self.v_layer = [nn.Linear(d_model, d_model) for _ in "qkv"]

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        if not return_weights:
            return output
        eye = torch.eye(x.shape[-2], dtype=q.dtype, device=q.device).expand(*x.shape[:-2], -1, -1)
        return output, F.scaled_dot_product_attention(q, k, eye, attn_mask=mask)

# %% SingleHeadAttention right (passed): a loop over the tokens that ask, one row of weights after the other
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        q, k, v = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        rows, mixtures = [], []
        for i in range(x.shape[-2]):
            scores = (q[..., i : i + 1, :] * k).sum(-1) / q.shape[-1] ** 0.5
            if mask is not None:
                scores = scores.masked_fill(mask[..., i, :].logical_not(), float("-inf"))
            row = torch.softmax(scores, -1)
            rows.append(row)
            mixtures.append((row.unsqueeze(-1) * v).sum(-2))
        output = torch.stack(mixtures, dim=-2)
        if return_weights:
            return output, torch.stack(rows, dim=-2)
        return output

# %% SingleHeadAttention right (passed): torch's multi-head function with one head, an output projection that does nothing, and the mask turned round for it
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.v_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.q_layer = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"], mask=None, return_weights=False):
        """The output [..., seq, d_model]; with return_weights, (output, weights)."""
        *lead, seq, width = x.shape
        tokens_first = x.reshape(-1, seq, width).transpose(0, 1)
        layers = (self.q_layer, self.k_layer, self.v_layer)
        hidden = None
        if mask is not None:
            hidden = ~mask.expand(*lead, seq, seq).reshape(-1, seq, seq)
        out, weights = F.multi_head_attention_forward(
            tokens_first, tokens_first, tokens_first, width, 1,
            torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers]),
            None, None, False, 0.0,
            torch.eye(width, dtype=x.dtype, device=x.device), torch.zeros(width, dtype=x.dtype, device=x.device),
            need_weights=True, attn_mask=hidden,
        )
        out = out.transpose(0, 1).reshape(x.shape)
        if return_weights:
            return out, weights.reshape(*lead, seq, seq)
        return out
