# %% attn_scores_2 wrong (misconception not-summed): products number by number, not added up
# The scores of the query with all six tokens.
attn_scores_2 = inputs * query


# %% attn_scores_2 wrong (misconception all-pairs): the whole table of all queries
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ inputs.T


# %% attn_scores_2 wrong (misconception counts-from-one): subtle, the scores of inputs[2], which is starts, instead of journey
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ inputs[2]


# %% attn_scores_2 wrong (misconception cosine): subtle, cosines, so the lengths of the vectors are lost
# The scores of the query with all six tokens.
attn_scores_2 = torch.cosine_similarity(inputs, query.unsqueeze(0), dim=1)


# %% attn_scores_2 wrong (difference factor): subtle, the mean of the products instead of the sum, a third of each score
# The scores of the query with all six tokens.
attn_scores_2 = (inputs * query).mean(dim=1)


# %% attn_scores_2 right (passed): matrix times vector
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query


# %% attn_scores_2 right (passed): six dot products in a loop, stacked
# The scores of the query with all six tokens.
attn_scores_2 = torch.stack([torch.dot(query, x_i) for x_i in inputs])


# %% attn_weights_2 wrong (misconception share-of-the-sum): divides the scores by their sum, without exp
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2 / attn_scores_2.sum()


# %% attn_weights_2 wrong (misconception not-normalised): exp without the division by the sum
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2)


# %% attn_weights_2 wrong (misconception softmax-of-the-shares): subtle, softmax of the scores that were already divided by their sum, nearly even weights
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_weights_2_tmp, dim=0)


# %% attn_weights_2 wrong (misconception other-base): subtle, powers of 2 instead of e
# Positive weights that sum to one.
attn_weights_2 = 2**attn_scores_2 / (2**attn_scores_2).sum()


# %% attn_weights_2 wrong (misconception scaled-already): subtle, divides the scores by the root of 3 before the softmax
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2 / inputs.shape[1] ** 0.5, dim=0)


# %% attn_weights_2 right (passed): torch.softmax along axis 0
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2, dim=0)


# %% attn_weights_2 right (passed): exp of the scores minus their log-sum-exp
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2 - torch.logsumexp(attn_scores_2, dim=0))


# %% context_vec_2 wrong (misconception not-summed): the six weighted vectors, not added up
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2[:, None] * inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception summed-over-the-width): adds along the wrong axis, one number for each token
# The weighted sum of the six vectors.
context_vec_2 = (attn_weights_2.unsqueeze(1) * inputs).sum(dim=1)
print(context_vec_2)


# %% context_vec_2 wrong (misconception shares-for-weights): subtle, mixes with the shares from the first idea, without softmax
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2_tmp @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception last-left-out): subtle, the loop leaves out the last vector
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(3)
for i in range(len(inputs) - 1):
    context_vec_2 += attn_weights_2[i] * inputs[i]
print(context_vec_2)


# %% context_vec_2 wrong (misconception plain-average): subtle, the plain mean of the six vectors, every weight a sixth
# The weighted sum of the six vectors.
context_vec_2 = inputs.mean(dim=0)
print(context_vec_2)


# %% context_vec_2 right (passed): vector of weights times the matrix of inputs
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2 @ inputs
print(context_vec_2)


# %% context_vec_2 right (passed): loop over the weights and vectors
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(inputs.shape[1])
for weight, vector in zip(attn_weights_2, inputs):
    context_vec_2 = context_vec_2 + weight * vector
print(context_vec_2)


# %% softmax wrong (misconception overflows): the formula as it is written, without subtracting the maximum
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception always-the-first-axis): works along axis 0, whatever dim says
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.max(dim=0).values)
    return powers / powers.sum(dim=0)


# %% softmax wrong (raised): subtle, without keepdim; right for a vector and for dim=0, shows for dim=1 of a table
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.max(dim=dim).values)
    return powers / powers.sum(dim=dim)


# %% softmax wrong (misconception one-maximum-for-all): subtle, subtracts the maximum of the whole table; shows when one row is more than 100 below another
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): exp of x minus its log-sum-exp (written as wrong, because numbers of 1e8 are rounded; earlier rounds call this right)
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))


# %% softmax right (passed): subtracts the maximum along dim, keeps the axis
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): moves the axis to the front, where broadcasting needs no keepdim, and moves it back
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    front = x.transpose(0, dim)
    largest, _ = front.max(dim=0)
    powers = (front - largest).exp()
    total = sum(powers.unbind(dim=0))
    return powers.div(total).transpose(0, dim)


# %% attn_scores wrong (misconception coordinates-with-coordinates): inputs.T in front, which compares the three columns
# A row of six scores for each query.
attn_scores = inputs.T @ inputs


# %% attn_scores wrong (shape): only the dot product of each token with itself
# A row of six scores for each query.
attn_scores = (inputs * inputs).sum(dim=1)


# %% attn_scores wrong (misconception not-with-itself): subtle, sets the score of each token with itself to zero
# A row of six scores for each query.
attn_scores = (inputs @ inputs.T).fill_diagonal_(0)


# %% attn_scores wrong (misconception half-a-table): subtle, fills only the upper half of the table
# A row of six scores for each query.
attn_scores = torch.zeros(6, 6)
for i in range(6):
    for j in range(i, 6):
        attn_scores[i, j] = inputs[i] @ inputs[j]


# %% attn_scores wrong (difference factor): subtle, divides by the root of 3
# A row of six scores for each query.
attn_scores = inputs @ inputs.T / inputs.shape[-1] ** 0.5


# %% attn_scores right (passed): inputs times their transpose
# A row of six scores for each query.
attn_scores = inputs @ inputs.T


# %% attn_scores right (passed): einsum over the shared axis
# A row of six scores for each query.
attn_scores = torch.einsum("id,jd->ij", inputs, inputs)


# %% simple_attention wrong (misconception wrong-axis): softmax along the columns
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=0)
    return weights @ inputs, weights


# %% simple_attention wrong (difference milestone): mixes with the scores, the softmax is only in the second result
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    weights = torch.softmax(scores, dim=-1)
    context = scores @ inputs
    return context, weights


# %% simple_attention wrong (structure): subtle, uses the notebook's attn_scores instead of its own; shows for any other inputs
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(attn_scores, dim=-1)
    return weights @ inputs, weights


# %% simple_attention wrong (property zeros): subtle, hides scores that are exactly 0; shows when two vectors are at a right angle
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    scores = scores.masked_fill(scores == 0, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ inputs, weights


# %% simple_attention wrong (property finite_when_scaled): subtle, subtracts the largest score of the whole table; shows when long and short vectors meet
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    powers = torch.exp(scores - scores.max())
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention right (passed): three steps with torch.softmax
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    weights = torch.softmax(scores, dim=-1)
    return weights @ inputs, weights


# %% simple_attention right (passed): one query at a time, powers by hand after subtracting the query's largest score
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    contexts, rows = [], []
    for query in inputs:
        scores = torch.mv(inputs, query)
        powers = torch.exp(scores - scores.max())
        row = powers / powers.sum()
        rows.append(row)
        contexts.append((row[:, None] * inputs).sum(dim=0))
    return torch.stack(contexts), torch.stack(rows)


