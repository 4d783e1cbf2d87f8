# %% attn_scores_2 wrong (misconception not-summed): multiplies number by number and does not add the products
# The scores of the query with all six tokens.
attn_scores_2 = inputs * query


# %% attn_scores_2 wrong (misconception sums-over-tokens): adds the products along the wrong axis, which leaves three numbers
# The scores of the query with all six tokens.
attn_scores_2 = (inputs * query).sum(dim=0)


# %% attn_scores_2 wrong (misconception counts-from-one): near miss, the query is the vector of starts (counted from 1)
# The scores of the query with all six tokens.
query = inputs[2]
attn_scores_2 = inputs @ query


# %% attn_scores_2 wrong (misconception cosine): near miss, cosine similarity instead of the dot product
# The scores of the query with all six tokens.
attn_scores_2 = F.cosine_similarity(inputs, query[None], dim=1)


# %% attn_scores_2 wrong (difference factor): near miss, the scores are divided by the square root of the width
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query / inputs.shape[1] ** 0.5


# %% attn_scores_2 right (passed): the matrix times the vector
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query


# %% attn_scores_2 right (passed): a dot product for each token, stacked
# The scores of the query with all six tokens.
attn_scores_2 = torch.stack([torch.dot(query, x_i) for x_i in inputs])


# %% attn_weights_2 wrong (misconception share-of-the-sum): divides the scores by their sum, without exp
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2 / attn_scores_2.sum()


# %% attn_weights_2 wrong (misconception not-normalised): takes exp but does not divide by the sum
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2)


# %% attn_weights_2 wrong (misconception scaled-already): near miss, the scores are first divided by the square root of 3
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2 / 3**0.5, dim=0)


# %% attn_weights_2 wrong (misconception other-base): near miss, powers of 2 instead of powers of e
# Positive weights that sum to one.
powers = 2**attn_scores_2
attn_weights_2 = powers / powers.sum()


# %% attn_weights_2 wrong (misconception softmax-twice): near miss, softmax applied twice, so the weights are nearly equal
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(torch.softmax(attn_scores_2, dim=0), dim=0)


# %% attn_weights_2 right (passed): torch.softmax along the only axis
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2, dim=-1)


# %% attn_weights_2 right (passed): the formula by hand, with the largest score subtracted
# Positive weights that sum to one.
powers = (attn_scores_2 - attn_scores_2.max()).exp()
attn_weights_2 = powers / powers.sum()


# %% context_vec_2 wrong (misconception summed-over-the-width): adds along the wrong axis, which leaves a number for each token
# The weighted sum of the six vectors.
context_vec_2 = (attn_weights_2[:, None] * inputs).sum(dim=1)
print(context_vec_2)


# %% context_vec_2 wrong (misconception scores-for-weights): mixes with the scores instead of the weights
# The weighted sum of the six vectors.
context_vec_2 = attn_scores_2 @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception shares-for-weights): near miss, mixes with the scores divided by their sum instead of the softmax weights
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2_tmp @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception plain-average): near miss, the plain mean, the same weight for each vector
# The weighted sum of the six vectors.
context_vec_2 = inputs.mean(dim=0)
print(context_vec_2)


# %% context_vec_2 wrong (misconception last-left-out): near miss, the loop stops before the last vector
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(3)
for i in range(len(inputs) - 1):
    context_vec_2 = context_vec_2 + attn_weights_2[i] * inputs[i]
print(context_vec_2)


# %% context_vec_2 right (passed): the weights times the matrix
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2 @ inputs
print(context_vec_2)


# %% context_vec_2 right (passed): a loop that adds one weighted vector after the other
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(inputs.shape[1])
for weight, vector in zip(attn_weights_2, inputs):
    context_vec_2 = context_vec_2 + weight * vector
print(context_vec_2)


# %% softmax wrong (raised): no keepdim, so the sums are spread along the wrong axis (or do not fit)
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum(dim=dim)


# %% softmax wrong (misconception over-everything): divides by the sum of the whole table, dim is not used
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum()


# %% softmax wrong (misconception one-maximum-for-all): subtle, subtracts the maximum of the whole table; nan for a row that lies far below another row
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception mean-for-maximum): subtle, subtracts the mean instead of the maximum; nan when one number is far above the mean
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.mean(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception dim-for-the-sum-only): subtle, the maximum is always taken along the last axis; wrong numbers for any other dim
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): amax along dim, then powers and their sum
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): subtracts the maximum, then the log of the sum, and takes exp last
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    shifted = x - x.max(dim=dim, keepdim=True).values
    return (shifted - shifted.exp().sum(dim=dim, keepdim=True).log()).exp()


# %% attn_scores wrong (shape): multiplies the table with itself number by number
# A row of six scores for each query.
attn_scores = inputs * inputs


# %% attn_scores wrong (misconception coordinates-with-coordinates): the transpose is on the wrong side, which gives a 3 by 3 table
# A row of six scores for each query.
attn_scores = inputs.T @ inputs


# %% attn_scores wrong (misconception cosine): near miss, vectors of length 1, that is cosines instead of dot products
# A row of six scores for each query.
directions = inputs / inputs.norm(dim=-1, keepdim=True)
attn_scores = directions @ directions.T


# %% attn_scores wrong (difference places): near miss, only the pairs with earlier tokens, zeros above the diagonal
# A row of six scores for each query.
attn_scores = torch.tril(inputs @ inputs.T)


# %% attn_scores wrong (misconception already-weights): near miss, the softmax has already been applied to each row
# A row of six scores for each query.
attn_scores = torch.softmax(inputs @ inputs.T, dim=-1)


# %% attn_scores right (passed): the matrix times its transpose
# A row of six scores for each query.
attn_scores = inputs @ inputs.T


# %% attn_scores right (passed): einsum over the shared axis
# A row of six scores for each query.
attn_scores = torch.einsum("id,jd->ij", inputs, inputs)


# %% simple_attention wrong (misconception wrong-axis): the softmax runs down the columns
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=0)
    return weights @ inputs, weights


# %% simple_attention wrong (misconception weights-transposed): mixes with the transposed weights
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return weights.T @ inputs, weights


# %% simple_attention wrong (property finite_when_scaled): subtle, one maximum for the whole table; nan for a short vector beside a very long one
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    powers = torch.exp(scores - scores.max())
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention wrong (property finite_when_scaled): subtle, scores are cut off at 80 so that exp does not overflow; wrong weights when scores are above 80
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    powers = torch.exp((inputs @ inputs.T).clamp(max=80))
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention wrong (difference milestone): subtle, the dot products use only the first three numbers; shows for vectors of more than three numbers
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = sum(torch.outer(inputs[:, i], inputs[:, i]) for i in range(min(3, inputs.shape[1])))
    weights = torch.softmax(scores, dim=-1)
    return weights @ inputs, weights


# %% simple_attention right (passed): two matrix products and torch.softmax
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    attn_weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return attn_weights @ inputs, attn_weights


# %% simple_attention right (passed): one query after the other, with a softmax by hand
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    contexts, rows = [], []
    for query in inputs:
        scores = (inputs * query).sum(dim=1)
        powers = torch.exp(scores - scores.max())
        row = powers / powers.sum()
        rows.append(row)
        contexts.append((row[:, None] * inputs).sum(dim=0))
    return torch.stack(contexts), torch.stack(rows)


