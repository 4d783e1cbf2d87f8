# %% attn_scores_2 wrong (misconception not-summed): multiplies entry by entry and does not add, so the shape is [6, 3]
# The scores of the query with all six tokens.
attn_scores_2 = inputs * query


# %% attn_scores_2 wrong (misconception all-pairs): the whole table of scores instead of one row
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ inputs.T


# %% attn_scores_2 wrong (misconception counts-from-one): subtle, the vector of starts instead of journey; the numbers are close
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ inputs[2]


# %% attn_scores_2 wrong (shape): subtle, the right numbers in a column of shape [6, 1] instead of a vector
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query[:, None]


# %% attn_scores_2 right (passed): einsum
# The scores of the query with all six tokens.
attn_scores_2 = torch.einsum("td,d->t", inputs, query)


# %% attn_scores_2 right (passed): one dot product at a time
# The scores of the query with all six tokens.
attn_scores_2 = torch.empty(len(inputs))
for i, x_i in enumerate(inputs):
    attn_scores_2[i] = torch.dot(x_i, query)


# %% attn_weights_2 wrong (misconception share-of-the-sum): divides by the sum, without exp
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2 / attn_scores_2.sum()


# %% attn_weights_2 wrong (misconception not-normalised): exp without the division by the sum
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2)


# %% attn_weights_2 wrong (misconception other-base): subtle, powers of 2 instead of e; positive and sum to one, but too even
# Positive weights that sum to one.
attn_weights_2 = 2**attn_scores_2 / (2**attn_scores_2).sum()


# %% attn_weights_2 wrong (misconception scaled-already): subtle, divides the scores by the square root of 3 first, which this lesson does not do
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2 / inputs.shape[1] ** 0.5, dim=0)


# %% attn_weights_2 right (passed): subtracts the maximum, exp, divides by the sum
# Positive weights that sum to one.
powers = torch.exp(attn_scores_2 - attn_scores_2.max())
attn_weights_2 = powers / powers.sum()


# %% attn_weights_2 right (passed): the exp of log_softmax
# Positive weights that sum to one.
attn_weights_2 = F.log_softmax(attn_scores_2, dim=-1).exp()


# %% context_vec_2 wrong (misconception not-summed): scales the vectors but does not add them
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2[:, None] * inputs


# %% context_vec_2 wrong (misconception summed-over-the-width): adds along the wrong axis, one number per token
# The weighted sum of the six vectors.
context_vec_2 = (attn_weights_2[:, None] * inputs).sum(dim=1)


# %% context_vec_2 wrong (misconception without-its-own-word): subtle, leaves out journey itself and shares its weight among the others
# The weighted sum of the six vectors.
others = attn_weights_2.clone()
others[1] = 0
context_vec_2 = others / others.sum() @ inputs


# %% context_vec_2 wrong (shape): subtle, the right numbers in a table of shape [1, 3] instead of a vector
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2.unsqueeze(0) @ inputs


# %% context_vec_2 right (passed): matrix times vector with the transpose
# The weighted sum of the six vectors.
context_vec_2 = inputs.T @ attn_weights_2


# %% context_vec_2 right (passed): loop that adds one weighted vector at a time
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(3)
for weight, x_i in zip(attn_weights_2, inputs):
    context_vec_2 = context_vec_2 + weight * x_i


# %% softmax wrong (misconception overflows): exp of the numbers as they are, so that large numbers overflow
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (raised): keepdim forgotten, so only vectors and dim=0 of a table work
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=dim))
    return powers / powers.sum(dim=dim)


# %% softmax wrong (misconception one-maximum-for-all): subtle, subtracts the maximum of the whole table; rows far below it become 0 / 0
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): subtracts logsumexp; for numbers near 1e9, rounding gives two equal scores the weight 1 each, which the page does not settle
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))


# %% softmax right (passed): subtracts the maximum along dim, keepdim everywhere
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    largest, _ = x.max(dim=dim, keepdim=True)
    powers = (x - largest).exp()
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): moves dim to the front, works along axis 0, moves it back
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    x = x.movedim(dim, 0)
    powers = torch.exp(x - x.amax(dim=0))
    return torch.movedim(powers / powers.sum(dim=0), 0, dim)


# %% attn_scores wrong (misconception coordinates-with-coordinates): the transpose on the wrong side, which gives a table of [3, 3]
# A row of six scores for each query.
attn_scores = inputs.T @ inputs


# %% attn_scores wrong (misconception already-weights): already the weights, softmax applied to the scores
# A row of six scores for each query.
attn_scores = torch.softmax(inputs @ inputs.T, dim=-1)


# %% attn_scores wrong (misconception cosine): subtle, cosines instead of dot products; the vectors are scaled to length 1
# A row of six scores for each query.
attn_scores = F.normalize(inputs, dim=-1) @ F.normalize(inputs, dim=-1).T


# %% attn_scores wrong (difference factor): subtle, divided by the square root of the width, which this lesson does not do
# A row of six scores for each query.
attn_scores = inputs @ inputs.T / inputs.shape[-1] ** 0.5


# %% attn_scores right (passed): einsum
# A row of six scores for each query.
attn_scores = torch.einsum("qd,kd->qk", inputs, inputs)


# %% attn_scores right (passed): products by broadcasting, then a sum over the width
# A row of six scores for each query.
attn_scores = (inputs[:, None, :] * inputs[None, :, :]).sum(dim=-1)


# %% simple_attention wrong (misconception wrong-axis): softmax along the columns instead of the rows
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=0)
    return weights @ inputs, weights


# %% simple_attention wrong (difference milestone): mixes with the scores and returns the weights beside
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    weights = torch.softmax(scores, dim=-1)
    return scores @ inputs, weights


# %% simple_attention wrong (property finite_when_scaled): subtle, exp without subtracting the maximum; nan when a score is above 88
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    powers = torch.exp(inputs @ inputs.T)
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention wrong (property finite_when_scaled): subtle, subtracts the largest score of the whole table; nan in rows far below it
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    powers = torch.exp(scores - scores.max())
    weights = powers / powers.sum(dim=1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention right (passed): einsum and the maximum of each row
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = torch.einsum("qd,kd->qk", inputs, inputs)
    powers = torch.exp(scores - scores.amax(dim=1, keepdim=True))
    weights = powers / powers.sum(dim=1, keepdim=True)
    return torch.einsum("qk,kd->qd", weights, inputs), weights


# %% simple_attention right (passed): one query at a time
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    rows, contexts = [], []
    for query in inputs:
        row = F.softmax(inputs @ query, dim=0)
        rows.append(row)
        contexts.append((row[:, None] * inputs).sum(dim=0))
    return torch.stack(contexts), torch.stack(rows)
