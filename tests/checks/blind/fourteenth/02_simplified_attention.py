# %% attn_scores_2 wrong (misconception not-summed): multiplies number by number, but does not add the products
# The scores of the query with all six tokens.
attn_scores_2 = inputs * query


# %% attn_scores_2 wrong (misconception counts-from-one): takes starts as the query (counts the tokens from 1)
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ inputs[2]


# %% attn_scores_2 wrong (difference factor): near miss, the length of the shadow on the query: divided by the query's length
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query / query.norm()


# %% attn_scores_2 wrong (difference rearranged): near miss, the right six scores, but sorted from high to low instead of in the order of the tokens
# The scores of the query with all six tokens.
attn_scores_2 = (inputs @ query).sort(descending=True).values


# %% attn_scores_2 wrong (misconception not-with-itself): near miss, the score of the query with itself is set to 0
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query
attn_scores_2[1] = 0.0


# %% attn_scores_2 right (passed): matrix times vector
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query


# %% attn_scores_2 right (passed): the products of each row, added along the row
# The scores of the query with all six tokens.
attn_scores_2 = (inputs * query).sum(dim=1)


# %% attn_weights_2 wrong (misconception share-of-the-sum): divides the scores by their sum, without exp
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2 / attn_scores_2.sum()


# %% attn_weights_2 wrong (misconception not-normalised): takes the exp, but does not divide by the sum
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2)


# %% attn_weights_2 wrong (misconception other-base): near miss, powers of 2 instead of e
# Positive weights that sum to one.
attn_weights_2 = 2**attn_scores_2 / (2**attn_scores_2).sum()


# %% attn_weights_2 wrong (misconception scaled-already): near miss, the scores are divided by the root of 3 before the softmax
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2 / inputs.shape[1] ** 0.5, dim=0)


# %% attn_weights_2 wrong (difference milestone): near miss, shares of the sigmoids of the scores
# Positive weights that sum to one.
attn_weights_2 = torch.sigmoid(attn_scores_2)
attn_weights_2 = attn_weights_2 / attn_weights_2.sum()


# %% attn_weights_2 right (passed): torch.softmax along the only axis
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2, dim=0)


# %% attn_weights_2 right (passed): the formula, with exp and the sum
# Positive weights that sum to one.
powers = torch.exp(attn_scores_2)
attn_weights_2 = powers / powers.sum()


# %% context_vec_2 wrong (misconception not-summed): weighs the vectors, but does not add them up
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2.unsqueeze(1) * inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception scores-for-weights): mixes with the scores instead of the weights
# The weighted sum of the six vectors.
context_vec_2 = attn_scores_2 @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception shares-for-weights): near miss, the weights of the first idea (scores divided by their sum)
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2_tmp @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception plain-average): near miss, the plain average of the six vectors
# The weighted sum of the six vectors.
context_vec_2 = inputs.mean(dim=0)
print(context_vec_2)


# %% context_vec_2 wrong (misconception last-left-out): near miss, the loop ends before the last token
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(3)
for i in range(len(tokens) - 1):
    context_vec_2 += attn_weights_2[i] * inputs[i]
print(context_vec_2)


# %% context_vec_2 right (passed): vector times matrix
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2 @ inputs
print(context_vec_2)


# %% context_vec_2 right (passed): a loop that adds each vector times its weight
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros_like(inputs[0])
for weight, vector in zip(attn_weights_2, inputs):
    context_vec_2 = context_vec_2 + weight * vector
print(context_vec_2)


# %% softmax wrong (misconception overflows): the formula as it is written, without subtracting the maximum: nan at 1000 and at -1000
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    return torch.exp(x) / torch.exp(x).sum(dim=dim, keepdim=True)


# %% softmax wrong (raised): forgets keepdim in the sum: wrong numbers or an error unless dim is the first axis
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim)


# %% softmax wrong (misconception one-maximum-for-all): subtracts the maximum of the whole table; shows if one row is far below another: 0 / 0 is nan
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception dim-for-the-sum-only): always subtracts the maximum of the last axis; shows if dim is another axis
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception clamped): limits the scores to -80 to 80 instead of shifting them; shows for different scores beyond 80, as 1000 and 999
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x.clamp(min=-80, max=80))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): subtracts the maximum along dim, divides by the sum along dim
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): moves dim to the end, divides in the logarithm after the shift, moves the axis back
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    turned = x.movedim(dim, -1)
    shifted = turned - turned.max(dim=-1).values[..., None]
    weights = (shifted - shifted.exp().sum(dim=-1, keepdim=True).log()).exp()
    return weights.movedim(-1, dim)


# %% attn_scores wrong (misconception coordinates-with-coordinates): the transpose is on the wrong side, which gives a table of 3 x 3
# A row of six scores for each query.
attn_scores = inputs.T @ inputs


# %% attn_scores wrong (misconception already-weights): already takes the softmax of the rows, so these are weights
# A row of six scores for each query.
attn_scores = torch.softmax(inputs @ inputs.T, dim=-1)


# %% attn_scores wrong (difference factor): near miss, the scores are divided by the root of the width
# A row of six scores for each query.
attn_scores = inputs @ inputs.T / inputs.shape[-1] ** 0.5


# %% attn_scores wrong (misconception cosine): near miss, the cosines: the vectors are scaled to length 1 first
# A row of six scores for each query.
directions = inputs / inputs.norm(dim=-1, keepdim=True)
attn_scores = directions @ directions.T


# %% attn_scores wrong (difference places): near miss, only the scores on and below the diagonal, zeros above
# A row of six scores for each query.
attn_scores = torch.tril(inputs @ inputs.T)


# %% attn_scores right (passed): the inputs times their transpose
# A row of six scores for each query.
attn_scores = inputs @ inputs.T


# %% attn_scores right (passed): einsum over the three numbers
# A row of six scores for each query.
attn_scores = torch.einsum("id,jd->ij", inputs, inputs)


# %% simple_attention wrong (misconception wrong-axis): the softmax runs down the columns
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    attn_scores = inputs @ inputs.T
    attn_weights = torch.softmax(attn_scores, dim=0)
    return attn_weights @ inputs, attn_weights


# %% simple_attention wrong (structure): returns the weights first, then the context vectors
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    attn_weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return attn_weights, attn_weights @ inputs


# %% simple_attention wrong (structure): uses the weights of the cell before, not those of its argument; shows for any other sentence
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    context_vecs = attn_weights @ inputs
    return context_vecs, attn_weights


# %% simple_attention wrong (property finite_when_scaled): a hand-written exp without the maximum; shows (nan) for vectors with large numbers
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    powers = torch.exp(inputs @ inputs.T)
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention wrong (property finite_when_scaled): subtracts each token's score with itself as if it were the highest of its row; shows (nan) if a longer vector scores over 90 more
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    powers = torch.exp(scores - scores.diagonal()[:, None])
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention right (passed): two products and torch.softmax
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return weights @ inputs, weights


# %% simple_attention right (passed): one query after another, with its own stable softmax, then stacked
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    rows, contexts = [], []
    for query in inputs:
        scores = torch.mv(inputs, query)
        powers = (scores - scores.max()).exp()
        weights = powers / powers.sum()
        rows.append(weights)
        contexts.append((weights[:, None] * inputs).sum(dim=0))
    return torch.stack(contexts), torch.stack(rows)
