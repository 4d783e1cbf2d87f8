# %% attn_scores_2 wrong (misconception not-summed): multiplies number by number but does not add the products, so it is a table [6, 3] instead of six scores
# The scores of the query with all six tokens.
attn_scores_2 = inputs * query


# %% attn_scores_2 wrong (shape): only the one score of journey with Your (0.9544), not the scores with all six tokens
# The scores of the query with all six tokens.
attn_scores_2 = torch.dot(query, inputs[0])


# %% attn_scores_2 wrong (misconception counts-from-one): takes inputs[2], which is starts, as the query instead of journey (inputs[1])
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ inputs[2]


# %% attn_scores_2 wrong (misconception cosine): cosine similarities instead of dot products, so the lengths of the vectors are divided out and journey scores 1 with itself
# The scores of the query with all six tokens.
attn_scores_2 = F.cosine_similarity(inputs, query.unsqueeze(0), dim=-1)


# %% attn_scores_2 wrong (difference factor): the dot products are divided by the square root of 3, a scaling that this lesson does not have
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query / inputs.shape[-1] ** 0.5


# %% attn_scores_2 right (passed): vector times transposed matrix
# The scores of the query with all six tokens.
attn_scores_2 = query @ inputs.T


# %% attn_scores_2 right (passed): einsum over the width of the vectors
# The scores of the query with all six tokens.
attn_scores_2 = torch.einsum("sd,d->s", inputs, query)


# %% attn_weights_2 wrong (misconception share-of-the-sum): divides the scores by their sum without exp, so it is no softmax
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2 / attn_scores_2.sum()


# %% attn_weights_2 wrong (misconception not-normalised): takes exp of the scores but forgets to divide by the sum, so the weights do not sum to one
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2)


# %% attn_weights_2 wrong (misconception softmax-of-the-shares): softmax of attn_weights_2_tmp, the shares from the cell before, instead of the scores; positive and sums to one, but nearly uniform
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_weights_2_tmp, dim=0)


# %% attn_weights_2 wrong (misconception scaled-already): divides the scores by the square root of 3 before the softmax, so the weights sum to one but are too even
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2 / len(query) ** 0.5, dim=0)


# %% attn_weights_2 wrong (difference factor): F.normalize divides the exponentials by their Euclidean length, not by their sum, so the squares sum to one and the weights sum to more than 2
# Positive weights that sum to one.
attn_weights_2 = F.normalize(torch.exp(attn_scores_2), dim=0)


# %% attn_weights_2 right (passed): torch.softmax along axis 0
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2, dim=0)


# %% attn_weights_2 right (passed): the formula by hand, exp of the scores minus their maximum, divided by the sum
# Positive weights that sum to one.
powers = torch.exp(attn_scores_2 - attn_scores_2.max())
attn_weights_2 = powers / powers.sum()


# %% context_vec_2 wrong (misconception not-summed): multiplies each row by its weight but does not add the rows, so it is a table [6, 3] instead of one vector
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2.unsqueeze(1) * inputs


# %% context_vec_2 wrong (misconception plain-average): the plain mean of the six vectors, without the weights
# The weighted sum of the six vectors.
context_vec_2 = inputs.mean(dim=0)


# %% context_vec_2 wrong (misconception shares-for-weights): mixes with attn_weights_2_tmp, the scores divided by their sum, instead of the softmax weights; the numbers differ by less than 0.01
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2_tmp @ inputs


# %% context_vec_2 wrong (misconception mean-for-sum): takes the mean of the weighted rows instead of their sum, so the vector is six times too short
# The weighted sum of the six vectors.
context_vec_2 = (attn_weights_2[:, None] * inputs).mean(dim=0)


# %% context_vec_2 wrong (misconception query-on-top): the sum in the loop starts from journey's own vector instead of zeros, so journey is added once more with weight 1
# The weighted sum of the six vectors.
context_vec_2 = query.clone()
for weight, vector in zip(attn_weights_2, inputs):
    context_vec_2 = context_vec_2 + weight * vector


# %% context_vec_2 right (passed): vector of weights times the matrix of inputs
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2 @ inputs


# %% context_vec_2 right (passed): a loop that adds each weighted row to zeros
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(inputs.shape[1])
for i in range(len(inputs)):
    context_vec_2 = context_vec_2 + attn_weights_2[i] * inputs[i]


# %% softmax wrong (misconception overflows): the formula without subtracting the maximum, so 1000 overflows and rows of -1000 become 0 / 0: both give nan
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception ignores-dim): ignores the argument dim and always works along the last axis, so dim=0 of a table gives columns that do not sum to one
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    return powers / powers.sum(dim=-1, keepdim=True)


# %% softmax wrong (misconception one-maximum-for-all): subtracts the maximum of the whole tensor instead of the maximum along dim, so a row far below another row (0 beside 1000) underflows to 0 / 0 = nan
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception absolute-for-maximum): subtracts the largest absolute value instead of the maximum, so a row of only very negative numbers moves further down and becomes 0 / 0 = nan
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    largest = x.abs().amax(dim=dim, keepdim=True)
    powers = torch.exp(x - largest)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception nan-replaced): does not subtract the maximum but replaces nan by 0 afterwards, so with 1000 or only -1000 the result is finite but sums to 0 instead of one
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x)
    return torch.nan_to_num(powers / powers.sum(dim=dim, keepdim=True), nan=0.0)


# %% softmax right (passed): subtract the maximum along dim, exp, divide by the sum along dim
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x - x.max(dim=dim, keepdim=True).values)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): move dim to the end, flatten to rows, a loop over the rows, and back
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    moved = x.transpose(dim, -1)
    shares = []
    for row in moved.reshape(-1, moved.shape[-1]):
        shifted = (row - row.max()).exp()
        shares.append(shifted / shifted.sum())
    return torch.stack(shares).reshape(moved.shape).transpose(dim, -1)


# %% attn_scores wrong (misconception coordinates-with-coordinates): the transpose is on the wrong side, so it is a 3 by 3 table of the columns instead of 6 by 6 scores
# A row of six scores for each query.
attn_scores = inputs.T @ inputs


# %% attn_scores wrong (shape): only the score of each token with itself, six numbers instead of a table
# A row of six scores for each query.
attn_scores = (inputs * inputs).sum(dim=-1)


# %% attn_scores wrong (misconception already-weights): applies the softmax already, so the table holds weights instead of scores
# A row of six scores for each query.
attn_scores = torch.softmax(inputs @ inputs.T, dim=-1)


# %% attn_scores wrong (difference places): tril sets the scores with later tokens to 0, as for a causal mask, so the upper triangle is empty
# A row of six scores for each query.
attn_scores = torch.tril(inputs @ inputs.T)


# %% attn_scores wrong (difference constant): repeats the six scores of journey in every row, so only the row of journey is right
# A row of six scores for each query.
attn_scores = torch.stack([attn_scores_2 for _ in tokens])


# %% attn_scores right (passed): einsum with one index for the query and one for the compared token
# A row of six scores for each query.
attn_scores = torch.einsum("id,jd->ij", inputs, inputs)


# %% attn_scores right (passed): torch.matmul with an explicit transpose
# A row of six scores for each query.
attn_scores = torch.matmul(inputs, inputs.transpose(0, 1))


# %% simple_attention wrong (misconception wrong-axis): the softmax runs along axis 0, so the columns of the weights sum to one instead of the rows
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    weights = torch.softmax(scores, dim=0)
    return weights @ inputs, weights


# %% simple_attention wrong (structure): returns (weights, context vectors) instead of (context vectors, weights)
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    context = weights @ inputs
    return weights, context


# %% simple_attention wrong (structure): uses the global table attn_scores of the six words instead of scores of its argument, so any other sentence gets the wrong weights or an error
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(attn_scores, dim=-1)
    context_vecs = weights @ inputs
    return context_vecs, weights


# %% simple_attention wrong (property finite_when_scaled): the hand-written softmax subtracts the maximum of the whole table, so with large numbers the rows of shorter vectors underflow to 0 / 0 = nan
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    powers = torch.exp(scores - scores.max())
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention wrong (misconception weights-transposed): mixes with the transposed weights, so each context vector uses a column of the table, which does not sum to one (the returned weights are right)
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return weights.T @ inputs, weights


# %% simple_attention right (passed): two matrix products with torch.softmax between them
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    weights = torch.softmax(scores, dim=-1)
    context_vecs = weights @ inputs
    return context_vecs, weights


# %% simple_attention right (passed): a loop over the queries, each with scores, a stable hand-written softmax and a weighted sum; the rows are stacked at the end
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    all_contexts, all_weights = [], []
    for query_vector in inputs:
        row = torch.mv(inputs, query_vector)
        powers = torch.exp(row - row.max())
        row_weights = powers / powers.sum()
        all_weights.append(row_weights)
        all_contexts.append((row_weights[:, None] * inputs).sum(dim=0))
    return torch.stack(all_contexts), torch.stack(all_weights)
