# %% attn_scores_2 wrong (misconception not-summed): multiplies number by number and forgets the sum, shape [6, 3]
# The scores of the query with all six tokens.
attn_scores_2 = inputs * query


# %% attn_scores_2 wrong (misconception cosine): divides by the lengths, so these are cosines and not dot products
# The scores of the query with all six tokens.
attn_scores_2 = F.cosine_similarity(inputs, query.unsqueeze(0), dim=-1)


# %% attn_scores_2 wrong (misconception counts-from-one): subtle, takes row 2 (starts) as the query instead of journey; all numbers are close
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ inputs[2]


# %% attn_scores_2 wrong (shape): subtle, the right six numbers as a column of shape [6, 1]
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query.view(3, 1)


# %% attn_scores_2 right (passed): torch.mv, a matrix times a vector
# The scores of the query with all six tokens.
attn_scores_2 = torch.mv(inputs, query)


# %% attn_scores_2 right (passed): einsum
# The scores of the query with all six tokens.
attn_scores_2 = torch.einsum("d,nd->n", query, inputs)


# %% attn_weights_2 wrong (misconception not-normalised): exp without the division by the sum
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2)


# %% attn_weights_2 wrong (misconception share-of-the-sum): divides the scores by their sum, without exp
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2 / attn_scores_2.sum(dim=0)


# %% attn_weights_2 wrong (misconception scaled-already): subtle, divides the scores by the root of 3 first, so the weights sum to one but are more equal
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2 / inputs.shape[1] ** 0.5, dim=0)


# %% attn_weights_2 wrong (shape): subtle, adds an axis for dim=1, so the right numbers have the shape [1, 6]
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2.unsqueeze(0), dim=1)


# %% attn_weights_2 right (passed): torch.softmax along axis 0
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2, dim=0)


# %% attn_weights_2 right (passed): the formula, with the largest score subtracted
# Positive weights that sum to one.
powers = torch.exp(attn_scores_2 - attn_scores_2.max())
attn_weights_2 = powers / powers.sum()


# %% context_vec_2 wrong (misconception not-summed): multiplies each row by its weight but does not add the rows, shape [6, 3]
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2.unsqueeze(1) * inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception mean-for-sum): takes the mean of the weighted rows, so everything is six times too small
# The weighted sum of the six vectors.
context_vec_2 = (attn_weights_2[:, None] * inputs).mean(dim=0)
print(context_vec_2)


# %% context_vec_2 wrong (misconception shares-for-weights): subtle, uses the first attempt at weights (scores divided by their sum), with close numbers
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2_tmp @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception without-its-own-word): subtle, the loop leaves out journey itself and divides by the remaining weights, with close numbers
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(3)
rest = 0.0
for i, x_i in enumerate(inputs):
    if i != 1:
        context_vec_2 += attn_weights_2[i] * x_i
        rest += attn_weights_2[i]
context_vec_2 = context_vec_2 / rest
print(context_vec_2)


# %% context_vec_2 right (passed): vector times matrix
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2 @ inputs
print(context_vec_2)


# %% context_vec_2 right (passed): loop that adds the six weighted rows
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(inputs.shape[1])
for weight, x_i in zip(attn_weights_2, inputs):
    context_vec_2 = context_vec_2 + weight * x_i
print(context_vec_2)


# %% softmax wrong (misconception overflows): exp of the numbers as they are, which overflows or underflows to nan
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception ignores-dim): always works along the last axis and ignores dim
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=-1, keepdim=True)


# %% softmax wrong (misconception one-maximum-for-all): subtle, subtracts the largest number of the whole table, so a row that lies far below it underflows to nan
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): subtracts the maximum along dim
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim; finite for every finite x."""
    shifted = x - x.amax(dim=dim, keepdim=True)
    powers = shifted.exp()
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): moves the axis to the front, where no keepdim is needed, and back at the end
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim; finite for every finite x."""
    front = x.movedim(dim, 0)
    highest, _ = front.max(dim=0)
    powers = torch.exp(front - highest)
    return torch.div(powers, powers.sum(dim=0)).movedim(0, dim)


# %% attn_scores wrong (misconception coordinates-with-coordinates): transposes the wrong factor, shape [3, 3]
# A row of six scores for each query.
attn_scores = inputs.T @ inputs


# %% attn_scores wrong (misconception already-weights): puts a softmax on top, so these are weights and not scores
# A row of six scores for each query.
attn_scores = torch.softmax(inputs @ inputs.T, dim=-1)


# %% attn_scores wrong (misconception cosine): subtle, scores of vectors scaled to length 1 (cosines), symmetric but not the dot products
# A row of six scores for each query.
directions = inputs / inputs.norm(dim=-1, keepdim=True)
attn_scores = directions @ directions.T


# %% attn_scores wrong (misconception half-a-table): subtle, only the upper half of the table is kept, because the other half is "the same anyway"
# A row of six scores for each query.
attn_scores = torch.triu(inputs @ inputs.T)


# %% attn_scores right (passed): F.linear, which multiplies by the transpose
# A row of six scores for each query.
attn_scores = F.linear(inputs, inputs)


# %% attn_scores right (passed): einsum over the numbers of the vectors
# A row of six scores for each query.
attn_scores = torch.einsum("qd,kd->qk", inputs, inputs)


# %% simple_attention wrong (misconception wrong-axis): softmax along the columns, so the rows do not sum to one
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    attn_scores = inputs @ inputs.T
    attn_weights = torch.softmax(attn_scores, dim=0)
    return attn_weights @ inputs, attn_weights


# %% simple_attention wrong (difference milestone): mixes the vectors with the scores, and returns weights that were never used
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    attn_scores = inputs @ inputs.T
    attn_weights = torch.softmax(attn_scores, dim=-1)
    return attn_scores @ inputs, attn_weights


# %% simple_attention wrong (property finite_when_scaled): subtle, cuts scores off at 80 against overflow, so larger scores all count the same
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    attn_scores = (inputs @ inputs.T).clamp(-80, 80)
    powers = torch.exp(attn_scores)
    attn_weights = powers / powers.sum(dim=-1, keepdim=True)
    return attn_weights @ inputs, attn_weights


# %% simple_attention wrong (misconception axes-of-one-lost): subtle, a squeeze removes the axes of size 1, so a sentence of one token gets shapes [] and [d_in]
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    contexts, rows = [], []
    for query in inputs:
        weights = torch.softmax(inputs @ query, dim=0)
        rows.append(weights[None])
        contexts.append(weights[None] @ inputs)
    return torch.stack(contexts).squeeze(), torch.stack(rows).squeeze()


# %% simple_attention right (passed): three matrix steps
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    attn_scores = inputs @ inputs.T
    attn_weights = torch.softmax(attn_scores, dim=-1)
    return attn_weights @ inputs, attn_weights


# %% simple_attention right (passed): einsum, with a softmax by hand that subtracts the maximum of each row
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = torch.einsum("qd,kd->qk", inputs, inputs)
    powers = (scores - scores.amax(dim=1, keepdim=True)).exp()
    weights = powers / powers.sum(dim=1, keepdim=True)
    context = torch.einsum("qk,kd->qd", weights, inputs)
    return context, weights


