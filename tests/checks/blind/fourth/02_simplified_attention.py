# %% attn_scores_2 wrong (misconception squared-distances): distances instead of dot products
attn_scores_2 = -(inputs - query).pow(2).sum(-1)

# %% attn_scores_2 wrong (shape): only the five other words are scored
attn_scores_2 = torch.cat([inputs[:1], inputs[2:]]) @ query

# %% attn_weights_2 wrong (difference rounded): rounded to two places
attn_weights_2 = torch.softmax(attn_scores_2, dim=0).round(decimals=2)

# %% attn_weights_2 wrong (misconception largest-is-one): divided by the largest, so that the favourite gets 1
attn_weights_2 = attn_scores_2.exp() / attn_scores_2.exp().max()

# %% context_vec_2 wrong (misconception last-only): a loop that overwrites the vector instead of adding to it
context_vec_2 = torch.zeros(3)
for i, x_i in enumerate(inputs):
    context_vec_2 = attn_weights_2[i] * x_i

# %% softmax wrong (misconception scaled-down): scales the numbers down by the largest instead of shifting them
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    x = x / x.abs().max()
    return x.exp() / x.exp().sum(dim=dim, keepdim=True)

# %% softmax wrong (misconception nan-replaced): nan_to_num over the naive formula, so a loud row is all zeros
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    e = torch.exp(x)
    return torch.nan_to_num(e / e.sum(dim=dim, keepdim=True))

# %% attn_scores wrong (misconception sums-multiplied): a slip in the letters of einsum, both sums are taken before the product
attn_scores = torch.einsum("id,jk->ij", inputs, inputs)

# %% simple_attention wrong (property rows_sum_to_one): the loop starts from 1, so the first token keeps an empty row
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    n = inputs.shape[0]
    weights = torch.zeros(n, n)
    for i in range(1, n):
        weights[i] = torch.softmax(inputs @ inputs[i], dim=0)
    return weights @ inputs, weights

# %% attn_scores_2 right (passed): F.linear, which multiplies by the transpose
attn_scores_2 = torch.nn.functional.linear(inputs, query[None]).ravel()

# %% softmax right (passed): by way of the logarithm
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    return torch.exp(x - torch.logsumexp(x, dim, True))

# %% softmax right (passed): a scan that stays stable, with the axis moved to the front
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    rows = list(x.unbind(dim))
    top = rows[0]
    for row in rows[1:]:
        top = torch.maximum(top, row)
    powers = [torch.exp(row - top) for row in rows]
    return torch.stack([p / sum(powers) for p in powers], dim=dim)

# %% simple_attention right (passed): cdist and lengths instead of a product
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    square = (inputs**2).sum(-1)
    apart = ((inputs[:, None] - inputs[None]) ** 2).sum(-1)
    scores = (square[:, None] + square[None] - apart) / 2
    weights = torch.nn.functional.softmax(scores, 1)
    return torch.einsum("ij,jd->id", weights, inputs), weights
