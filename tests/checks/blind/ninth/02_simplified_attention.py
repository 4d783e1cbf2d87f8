# %% softmax wrong (misconception minimum-for-maximum): subtracts the minimum instead of the maximum, so numbers far apart overflow
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    powers = (x - x.amin(dim=dim, keepdim=True)).exp()
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (difference milestone): divides by the largest number instead of subtracting it, which changes the weights
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    small = x / x.abs().amax(dim, keepdim=True).clamp(min=1e-12)
    e = torch.exp(small)
    return e / e.sum(dim, keepdim=True)


# %% softmax wrong (raised): puts the reduced axis back at the end, whichever axis dim names
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    top = x.max(dim=dim).values.unsqueeze(-1)
    e = torch.exp(x - top)
    return e / e.sum(dim=dim).unsqueeze(-1)


# %% softmax wrong (property finite): shifts only when a number is above 80, so a row of very negative numbers is 0 / 0
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    if x.max() > 80:
        x = x - x.amax(dim=dim, keepdim=True)
    return x.exp() / x.exp().sum(dim=dim, keepdim=True)


# %% softmax wrong (difference milestone): knows only the first and the last axis, so a middle axis and dim=-2 get the softmax of the last
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    axis = 0 if dim == 0 else x.ndim - 1
    shifted = x - torch.max(x, axis, keepdim=True)[0]
    powers = 2.718281828459045**shifted
    return powers / powers.sum(axis, keepdim=True)


# %% softmax right (passed): subtracts the logsumexp; float32 rounding shows only for very large equal numbers
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))


# %% softmax right (passed): moves the axis to the end and divides with einsum
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    rows = x.transpose(dim, -1)
    powers = torch.exp(rows - rows.amax(-1, keepdim=True))
    shares = torch.einsum("...i,...->...i", powers, powers.sum(-1).reciprocal())
    return shares.transpose(dim, -1)


# %% softmax right (passed): one line, with an L1 normalisation of the shifted powers
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    return F.normalize(x.sub(x.amax(dim, keepdim=True)).exp(), p=1, dim=dim)


# %% simple_attention wrong (property finite): hides each token from itself, because it takes "every other token" literally
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    scores = inputs @ inputs.T
    scores.fill_diagonal_(-torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ inputs, weights


# %% simple_attention wrong (difference): the context vectors come from torch's function, which divides the scores by a root, the weights do not
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    context = F.scaled_dot_product_attention(inputs[None], inputs[None], inputs[None])[0]
    return context, weights


# %% simple_attention wrong (structure): takes the softmax of the page's attn_scores instead of the scores of its argument
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    scores = inputs @ inputs.T
    weights = torch.softmax(attn_scores, dim=-1)
    return weights @ inputs, weights


# %% simple_attention wrong (property finite_when_scaled): uses the page's naive softmax, which gives nan for scores of 100
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    scores = inputs.matmul(inputs.t())
    weights = softmax_naive(scores.t()).t()
    return weights.matmul(inputs), weights


# %% simple_attention wrong (property finite_when_scaled): subtracts the largest score of the whole table, so the row of a short vector beside a very long one is 0 / 0
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    scores = torch.einsum("id,jd->ij", inputs, inputs)
    e = (scores - scores.max()).exp()
    weights = e / e.sum(1, keepdim=True)
    return torch.einsum("ij,jd->id", weights, inputs), weights


# %% simple_attention wrong (shape): squeezes the mix, so one token or vectors of width one lose an axis
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    weights = torch.softmax(inputs @ inputs.T, dim=1)
    context = (weights.unsqueeze(-1) * inputs.unsqueeze(0)).sum(dim=1).squeeze()
    return context, weights


# %% simple_attention right (passed): one query at a time, with lists
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    rows = [torch.softmax(inputs @ query, dim=0) for query in inputs]
    mixes = [row @ inputs for row in rows]
    return torch.stack(mixes), torch.stack(rows)


# %% simple_attention right (passed): works on the transposed table, normalises its columns, and turns it back
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    by_query = F.linear(inputs, inputs).log_softmax(dim=0).exp()
    context = torch.tensordot(by_query, inputs, dims=([0], [0]))
    return context, by_query.mT
