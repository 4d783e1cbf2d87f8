# %% attn_scores_2 wrong (misconception not-summed): multiplies number by number and forgets to add, so the shape is [6, 3]
# The scores of the query with all six tokens.
attn_scores_2 = inputs * query


# %% attn_scores_2 wrong (misconception cosine): cosines of the angles instead of dot products
# The scores of the query with all six tokens.
attn_scores_2 = F.cosine_similarity(inputs, query[None], dim=1)


# %% attn_scores_2 wrong (misconception counts-from-one): takes the vector of starts as the query; the numbers are close because starts is like journey
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ inputs[2]


# %% attn_scores_2 wrong (shape): the right numbers as a table of shape [1, 6]; softmax along axis 0 would make six ones
# The scores of the query with all six tokens.
attn_scores_2 = query.unsqueeze(0) @ inputs.T


# %% attn_scores_2 wrong (structure): the right numbers as a list of floats, so attn_scores_2.sum() in the next cell fails
# The scores of the query with all six tokens.
attn_scores_2 = [torch.dot(x, query).item() for x in inputs]


# %% attn_scores_2 right (passed): matrix times vector
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query


# %% attn_scores_2 right (passed): products number by number, added along the axis of the three numbers
# The scores of the query with all six tokens.
attn_scores_2 = (query * inputs).sum(dim=1)


# %% attn_weights_2 wrong (misconception share-of-the-sum): divides the scores by their sum, without exp
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2 / attn_scores_2.sum()


# %% attn_weights_2 wrong (misconception not-normalised): exp without the division, so the sum is not one
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2)


# %% attn_weights_2 wrong (misconception softmax-of-the-shares): softmax of scores that were already divided by their sum; positive, same order, sum one, but too even
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2 / attn_scores_2.sum(), dim=0)


# %% attn_weights_2 wrong (misconception other-base): powers of 2 instead of e; positive, same order, sum one, but too even
# Positive weights that sum to one.
powers = 2**attn_scores_2
attn_weights_2 = powers / powers.sum()


# %% attn_weights_2 wrong (shape): the right numbers as a row of shape [1, 6]
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2.reshape(1, -1), dim=-1)


# %% attn_weights_2 right (passed): torch.softmax along the only axis
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2, dim=0)


# %% attn_weights_2 right (passed): the formula, with the largest score subtracted first
# Positive weights that sum to one.
powers = (attn_scores_2 - attn_scores_2.max()).exp()
attn_weights_2 = powers / powers.sum()


# %% context_vec_2 wrong (misconception summed-over-the-width): sums along the wrong axis, which leaves a number for each token
# The weighted sum of the six vectors.
context_vec_2 = (attn_weights_2[:, None] * inputs).sum(dim=1)
print(context_vec_2)


# %% context_vec_2 wrong (misconception scores-for-weights): mixes with the scores instead of the weights
# The weighted sum of the six vectors.
context_vec_2 = attn_scores_2 @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception shares-for-weights): mixes with the shares from the first attempt (scores divided by their sum); the numbers are close
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2_tmp @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (shape): the right numbers as a table of shape [1, 3]
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2.unsqueeze(0) @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception without-its-own-word): mixes only the five other words, with their weights scaled up to sum to one
# The weighted sum of the six vectors.
others = [0, 2, 3, 4, 5]
context_vec_2 = attn_weights_2[others] @ inputs[others] / attn_weights_2[others].sum()
print(context_vec_2)


# %% context_vec_2 right (passed): vector times matrix
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2 @ inputs
print(context_vec_2)


# %% context_vec_2 right (passed): a loop that adds one weighted vector after the other
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(inputs.shape[1])
for weight, vector in zip(attn_weights_2, inputs):
    context_vec_2 = context_vec_2 + weight * vector
print(context_vec_2)


# %% softmax wrong (misconception overflows): the formula as it is written; overflows and underflows
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (raised): the sum does not keep its axis, so the division goes along the wrong axis or fails unless dim is the first axis
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim)


# %% softmax wrong (misconception one-maximum-for-all): subtracts the largest number of the whole tensor, so a slice with much lower numbers is 0 / 0
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception mean-for-maximum): subtracts the mean instead of the maximum, so one number far above the mean still overflows
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x - x.mean(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): exp(x - logsumexp(x)); its author called it wrong, because rounding shows from about 1e5
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim; finite for every finite x."""
    return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))


# %% softmax right (passed): subtracts the maximum along dim
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x - x.max(dim=dim, keepdim=True).values)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): moves the axis to the end, works there, and moves it back
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim; finite for every finite x."""
    rows = x.movedim(dim, -1)
    powers = rows.sub(rows.amax(dim=-1, keepdim=True)).exp()
    shares = F.normalize(powers, p=1.0, dim=-1)
    return shares.movedim(-1, dim)


# %% attn_scores wrong (misconception coordinates-with-coordinates): transposes the wrong factor, which gives a 3 by 3 table
# A row of six scores for each query.
attn_scores = inputs.T @ inputs


# %% attn_scores wrong (misconception cosine): the cosines of all pairs instead of the dot products
# A row of six scores for each query.
directions = inputs / inputs.norm(dim=-1, keepdim=True)
attn_scores = directions @ directions.T


# %% attn_scores wrong (difference places): fills half of the table and mirrors it, which counts the diagonal twice
# A row of six scores for each query.
half = torch.tril(inputs @ inputs.T)
attn_scores = half + half.T


# %% attn_scores wrong (difference places): sets the score of each token with itself to 1; all other scores are right
# A row of six scores for each query.
attn_scores = (inputs @ inputs.T).fill_diagonal_(1.0)


# %% attn_scores wrong (shape): the right numbers with an extra axis, shape [1, 6, 6]
# A row of six scores for each query.
attn_scores = inputs[None] @ inputs[None].transpose(1, 2)


# %% attn_scores right (passed): the table times its transpose
# A row of six scores for each query.
attn_scores = inputs @ inputs.T


# %% attn_scores right (passed): einsum
# A row of six scores for each query.
attn_scores = torch.einsum("qd,kd->qk", inputs, inputs)


# %% simple_attention wrong (misconception wrong-axis): the softmax runs down the columns
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    weights = torch.softmax(scores, dim=0)
    return weights @ inputs, weights


# %% simple_attention wrong (structure): returns the weights first
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    context = weights @ inputs
    return weights, context


# %% simple_attention wrong (structure): uses the table attn_scores from the notebook, which is right only for the six words
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(attn_scores, dim=-1)
    return weights @ inputs, weights


# %% simple_attention wrong (property finite_when_scaled): subtracts the largest score of the table, so with vectors of very different lengths the low rows become nan
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    powers = torch.exp(scores - scores.max())
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention wrong (misconception axes-of-one-lost): adds a batch axis for bmm and removes it with squeeze(), which removes more for a sentence of one token
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    x = inputs.unsqueeze(0)
    weights = torch.softmax(torch.bmm(x, x.transpose(1, 2)), dim=-1)
    context = torch.bmm(weights, x)
    return context.squeeze(), weights.squeeze()


# %% simple_attention right (passed): einsum for both products
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = torch.einsum("id,jd->ij", inputs, inputs)
    weights = F.softmax(scores, dim=1)
    return torch.einsum("ij,jd->id", weights, inputs), weights


# %% simple_attention right (passed): one query after the other, stacked at the end
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    contexts, rows = [], []
    for query in inputs:
        row = torch.softmax(inputs @ query, dim=0)
        rows.append(row)
        contexts.append(row @ inputs)
    return torch.stack(contexts), torch.stack(rows)


