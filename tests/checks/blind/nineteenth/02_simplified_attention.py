# %% attn_scores_2 wrong (misconception not-summed): multiplies number by number without adding, which leaves a table of shape [6, 3]
# The scores of the query with all six tokens.
attn_scores_2 = inputs * query


# %% attn_scores_2 wrong (misconception sums-over-tokens): adds along the wrong axis, which leaves three numbers
# The scores of the query with all six tokens.
attn_scores_2 = (inputs * query).sum(dim=0)


# %% attn_scores_2 wrong (misconception cosine): the cosines of the angles, not the dot products
# The scores of the query with all six tokens.
attn_scores_2 = F.cosine_similarity(inputs, query.expand(6, 3), dim=1)


# %% attn_scores_2 wrong (misconception counts-from-one): inputs[2] is starts, not journey; the two vectors are similar
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ inputs[2]


# %% attn_scores_2 wrong (difference factor): divides the dot products by the square root of 3
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query / 3**0.5


# %% attn_scores_2 right (passed): one product of the table and the query
# The scores of the query with all six tokens.
attn_scores_2 = torch.mv(inputs, query)


# %% attn_scores_2 right (passed): a dot product for each row, in a loop
# The scores of the query with all six tokens.
attn_scores_2 = torch.stack([torch.dot(row, query) for row in inputs])


# %% attn_weights_2 wrong (misconception share-of-the-sum): divides the scores by their sum, without exp
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2 / attn_scores_2.sum()


# %% attn_weights_2 wrong (misconception not-normalised): takes the powers but does not divide by their sum
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2)


# %% attn_weights_2 wrong (misconception scaled-already): divides the scores by the square root of 3 before the softmax
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2 / 3**0.5, dim=0)


# %% attn_weights_2 wrong (misconception other-base): powers of 2 instead of powers of e
# Positive weights that sum to one.
powers = 2**attn_scores_2
attn_weights_2 = powers / powers.sum()


# %% attn_weights_2 wrong (difference factor): adds 1 to the sum, so the weights sum to about 0.95
# Positive weights that sum to one.
powers = torch.exp(attn_scores_2)
attn_weights_2 = powers / (1 + powers.sum())


# %% attn_weights_2 right (passed): torch.softmax along the only axis
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2, dim=0)


# %% attn_weights_2 right (passed): the formula by hand, with the largest score subtracted
# Positive weights that sum to one.
powers = torch.exp(attn_scores_2 - attn_scores_2.max())
attn_weights_2 = powers / powers.sum()


# %% context_vec_2 wrong (misconception scores-for-weights): mixes with the scores instead of the weights
# The weighted sum of the six vectors.
context_vec_2 = attn_scores_2 @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception summed-over-the-width): adds the three numbers of each vector, not the six vectors
# The weighted sum of the six vectors.
context_vec_2 = (attn_weights_2[:, None] * inputs).sum(dim=1)
print(context_vec_2)


# %% context_vec_2 wrong (misconception shares-for-weights): mixes with the scores divided by their sum, not with the softmax weights
# The weighted sum of the six vectors.
context_vec_2 = (attn_scores_2 / attn_scores_2.sum()) @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception plain-average): the plain mean, where every vector has the same weight
# The weighted sum of the six vectors.
context_vec_2 = inputs.mean(dim=0)
print(context_vec_2)


# %% context_vec_2 wrong (misconception last-left-out): the loop leaves out the last token
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(3)
for i in range(5):
    context_vec_2 = context_vec_2 + attn_weights_2[i] * inputs[i]
print(context_vec_2)


# %% context_vec_2 right (passed): one product of the weights and the table
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2 @ inputs
print(context_vec_2)


# %% context_vec_2 right (passed): a loop over weights and vectors
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(inputs.shape[1])
for weight, vector in zip(attn_weights_2, inputs):
    context_vec_2 += weight * vector
print(context_vec_2)


# %% softmax wrong (misconception overflows): the formula as it is written, which gives nan for numbers like 1000 and -1000
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception ignores-dim): always works along the last axis, whatever dim says
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    return powers / powers.sum(dim=-1, keepdim=True)


# %% softmax wrong (misconception one-maximum-for-all): subtracts the maximum of the whole table (nan in a row that is far below another row)
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (raised): the sum has no keepdim (right for vectors and along axis 0, wrong along axis 1 of a square table)
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim)


# %% softmax wrong (misconception clamped): clamps the numbers to ±80, so 1000 and 900 get equal shares
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x.clamp(-80, 80))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): subtracts the maximum along dim, with keepdim
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): moves the axis to the front, works along axis 0, and moves it back
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    front = x.movedim(dim, 0)
    largest, _ = front.max(dim=0)
    powers = (front - largest).exp()
    return powers.div(powers.sum(dim=0)).movedim(0, dim)


# %% attn_scores wrong (misconception coordinates-with-coordinates): the transpose is on the wrong side, which leaves a table of shape [3, 3]
# A row of six scores for each query.
attn_scores = inputs.T @ inputs


# %% attn_scores wrong (difference constant): repeats the scores of journey in every row
# A row of six scores for each query.
attn_scores = attn_scores_2.repeat(6, 1)


# %% attn_scores wrong (misconception cosine): scales the vectors to length 1 first, which gives cosines
# A row of six scores for each query.
directions = inputs / inputs.norm(dim=-1, keepdim=True)
attn_scores = directions @ directions.T


# %% attn_scores wrong (difference factor): divides the scores by the square root of 3
# A row of six scores for each query.
attn_scores = inputs @ inputs.T / inputs.shape[-1] ** 0.5


# %% attn_scores wrong (misconception not-with-itself): sets each token's score with itself to 0
# A row of six scores for each query.
attn_scores = (inputs @ inputs.T).fill_diagonal_(0)


# %% attn_scores right (passed): the table times its transpose
# A row of six scores for each query.
attn_scores = inputs @ inputs.T


# %% attn_scores right (passed): einsum over the three numbers of each pair of vectors
# A row of six scores for each query.
attn_scores = torch.einsum("id,jd->ij", inputs, inputs)


# %% simple_attention wrong (misconception wrong-axis): the softmax runs down the columns
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=0)
    return weights @ inputs, weights


# %% simple_attention wrong (structure): returns the weights first
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    context_vecs = weights @ inputs
    return weights, context_vecs


# %% simple_attention wrong (property finite_when_scaled): exp without a shift, which overflows for large vectors
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    powers = torch.exp(inputs @ inputs.T)
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention wrong (structure): takes the table of scores from an earlier cell (shows for any other sentence)
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(attn_scores, dim=-1)
    return weights @ inputs, weights


# %% simple_attention wrong (raised): the loop has exactly six queries (shows for shorter and longer sentences)
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    rows = []
    for i in range(6):
        rows.append(torch.softmax(inputs @ inputs[i], dim=0))
    weights = torch.stack(rows)
    return weights @ inputs, weights


# %% simple_attention right (passed): two matrix products and torch.softmax along the last axis
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = (inputs @ inputs.T).softmax(dim=-1)
    return weights @ inputs, weights


# %% simple_attention right (passed): einsum, and a softmax by hand with each row's maximum
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = torch.einsum("qd,kd->qk", inputs, inputs)
    powers = torch.exp(scores - scores.max(dim=1, keepdim=True).values)
    weights = powers / powers.sum(dim=1, keepdim=True)
    context_vecs = torch.einsum("qk,kd->qd", weights, inputs)
    return context_vecs, weights


