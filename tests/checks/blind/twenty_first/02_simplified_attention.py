# %% attn_scores_2 wrong (misconception not-summed): multiplies number by number but does not add the products, so there is a table [6, 3] instead of six scores
# The scores of the query with all six tokens.
attn_scores_2 = inputs * query


# %% attn_scores_2 wrong (misconception counts-from-one): counts the second word as index 2, so these are the scores of starts instead of journey
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ inputs[2]


# %% attn_scores_2 wrong (misconception cosine): cosine similarity instead of the dot product, so the lengths of the vectors are divided out (the score of journey with itself is 1)
# The scores of the query with all six tokens.
attn_scores_2 = F.cosine_similarity(inputs, query.unsqueeze(0), dim=-1)


# %% attn_scores_2 wrong (shape): the result is a table of shape [1, 6] instead of a vector of six scores, so a softmax along axis 0 would make six ones
# The scores of the query with all six tokens.
attn_scores_2 = query.unsqueeze(0) @ inputs.T


# %% attn_scores_2 wrong (misconception not-with-itself): journey is not compared with itself, so its own score stays 0 instead of 1.4950
# The scores of the query with all six tokens.
attn_scores_2 = torch.zeros(6)
for i, x_i in enumerate(inputs):
    if i != 1:
        attn_scores_2[i] = torch.dot(query, x_i)


# %% attn_scores_2 right (passed): einsum over the axis of the vectors
# The scores of the query with all six tokens.
attn_scores_2 = torch.einsum("td,d->t", inputs, query)


# %% attn_scores_2 right (passed): a list of six dot products, stacked
# The scores of the query with all six tokens.
attn_scores_2 = torch.stack([torch.dot(row, query) for row in inputs])


# %% attn_weights_2 wrong (misconception not-normalised): exp without the division, so the weights do not sum to one
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2)


# %% attn_weights_2 wrong (difference factor): the powers are divided by the sum of the scores instead of the sum of the powers, so they do not sum to one
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2) / attn_scores_2.sum()


# %% attn_weights_2 wrong (misconception softmax-twice): softmax is applied twice, so the weights sum to one and have the right ranking but are nearly equal (0.16 to 0.18)
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2, dim=0)
attn_weights_2 = torch.softmax(attn_weights_2, dim=0)


# %% attn_weights_2 wrong (misconception scaled-already): the scores are divided by the root of 3 before the softmax, which this lesson does not do; the weights sum to one but are too equal
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2 / inputs.shape[1] ** 0.5, dim=0)


# %% attn_weights_2 wrong (misconception other-base): powers of 2 instead of powers of e; the weights are positive and sum to one, but are too equal
# Positive weights that sum to one.
powers = 2**attn_scores_2
attn_weights_2 = powers / powers.sum()


# %% attn_weights_2 right (passed): by hand, with the largest score subtracted before exp
# Positive weights that sum to one.
powers = torch.exp(attn_scores_2 - attn_scores_2.max())
attn_weights_2 = powers / powers.sum()


# %% attn_weights_2 right (passed): exp of the scores minus their logsumexp
# Positive weights that sum to one.
attn_weights_2 = (attn_scores_2 - torch.logsumexp(attn_scores_2, dim=0)).exp()


# %% context_vec_2 wrong (misconception not-summed): the six weighted vectors are not added, so there is a table [6, 3] instead of one vector
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2.unsqueeze(1) * inputs


# %% context_vec_2 wrong (misconception mean-for-sum): takes the mean of the weighted vectors instead of their sum, so every number is six times too small
# The weighted sum of the six vectors.
context_vec_2 = (attn_weights_2[:, None] * inputs).mean(dim=0)


# %% context_vec_2 wrong (misconception shares-for-weights): mixes with attn_weights_2_tmp, the scores divided by their sum, instead of the softmax weights attn_weights_2
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2_tmp @ inputs


# %% context_vec_2 wrong (difference milestone): the sum starts with the weighted vector of Your, and the loop adds it again, so the first word counts twice
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2[0] * inputs[0]
for weight, x_i in zip(attn_weights_2, inputs):
    context_vec_2 = context_vec_2 + weight * x_i


# %% context_vec_2 wrong (misconception query-on-top): the vector of journey itself is added to the weighted sum once more (with weight 1), so the numbers are too large
# The weighted sum of the six vectors.
context_vec_2 = query + attn_weights_2 @ inputs


# %% context_vec_2 right (passed): a loop that adds each weighted vector to zeros
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(inputs.shape[1])
for i in range(len(inputs)):
    context_vec_2 = context_vec_2 + attn_weights_2[i] * inputs[i]


# %% context_vec_2 right (passed): einsum over the tokens
# The weighted sum of the six vectors.
context_vec_2 = torch.einsum("t,td->d", attn_weights_2, inputs)


# %% softmax wrong (difference milestone): divides by the sum of all numbers and ignores dim there, so for a table the rows (or columns) do not sum to one; right for a vector
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return powers / powers.sum()


# %% softmax wrong (misconception not-normalised): the division is forgotten, so the largest number along dim becomes 1 and the sum is larger than one
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    largest = x.max(dim=dim, keepdim=True).values
    return torch.exp(x - largest)


# %% softmax wrong (misconception absolute-for-maximum): subtracts the largest absolute value, so if all numbers are very negative ([-1000, -1000]) every power underflows and 0 / 0 gives nan; right for large positive numbers
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    shift = x.abs().amax(dim=dim, keepdim=True)
    powers = torch.exp(x - shift)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception dim-for-the-sum-only): the maximum is taken along the last axis, not along dim, so along any other axis different numbers are subtracted within one sum and the weights are wrong; right for dim=-1
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    largest = x.amax(dim=-1, keepdim=True)
    powers = torch.exp(x - largest)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (property finite): computes in float64 instead of subtracting the largest number; 100 and -200 work, but exp(1000) overflows in float64 too and gives nan
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x.double())
    weights = powers / powers.sum(dim=dim, keepdim=True)
    return weights.to(x.dtype)


# %% softmax right (passed): subtracts amax along dim, with keepdim
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = (x - x.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


# %% softmax right (passed): moves the axis to the end, works there without keepdim, and moves it back
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    moved = x.movedim(dim, -1)
    highest, _ = moved.max(dim=-1)
    shifted = moved - highest[..., None]
    e = torch.exp(shifted)
    total = e.sum(dim=-1)
    return (e / total[..., None]).movedim(-1, dim)


# %% attn_scores wrong (misconception coordinates-with-coordinates): the transpose is on the wrong side, so the table is [3, 3] and compares columns of numbers instead of tokens
# A row of six scores for each query.
attn_scores = inputs.T @ inputs


# %% attn_scores wrong (raised): the transpose is missing, so [6, 3] @ [6, 3] raises a RuntimeError
# A row of six scores for each query.
attn_scores = inputs @ inputs


# %% attn_scores wrong (misconception reshaped): reshape to [3, 6] instead of a transpose: the shape [6, 6] is right, but numbers of different tokens are mixed
# A row of six scores for each query.
attn_scores = inputs @ inputs.reshape(3, 6)


# %% attn_scores wrong (misconception cosine): the vectors are scaled to length 1 first, so the table holds cosines (ones on the diagonal) instead of dot products
# A row of six scores for each query.
directions = inputs / inputs.norm(dim=-1, keepdim=True)
attn_scores = directions @ directions.T


# %% attn_scores wrong (misconception not-with-itself): the scores of the tokens with themselves are set to 0, so the diagonal of the table is wrong
# A row of six scores for each query.
attn_scores = (inputs @ inputs.T).fill_diagonal_(0)


# %% attn_scores right (passed): einsum over the axis of the vectors
# A row of six scores for each query.
attn_scores = torch.einsum("qd,kd->qk", inputs, inputs)


# %% attn_scores right (passed): F.linear, which multiplies by the transpose
# A row of six scores for each query.
attn_scores = F.linear(inputs, inputs)


# %% simple_attention wrong (structure): returns the two results in the wrong order, the weights first and then the context vectors
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    weights = torch.softmax(scores, dim=-1)
    return weights, weights @ inputs


# %% simple_attention wrong (misconception weights-transposed): the mix uses the transposed weights, so each context vector is mixed with a column (which does not sum to one) instead of the row of its query
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    weights = torch.softmax(scores, dim=-1)
    context = weights.T @ inputs
    return context, weights


# %% simple_attention wrong (property finite_when_scaled): subtracts the largest score of the whole table instead of each row's, so with large numbers a row of much lower scores underflows and becomes nan
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    powers = torch.exp(scores - scores.max())
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention wrong (difference places): context is the same tensor as inputs, so each new row overwrites an input: later rows are mixed from changed vectors, and the caller's inputs are changed
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    context = inputs
    for i in range(len(inputs)):
        context[i] = weights[i] @ inputs
    return context, weights


# %% simple_attention wrong (raised): the loop runs over the page's list of six tokens instead of the inputs, so a longer sentence gets only six rows and a shorter one raises an IndexError
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    rows = []
    for i in range(len(tokens)):
        rows.append(torch.softmax(inputs @ inputs[i], dim=0))
    weights = torch.stack(rows)
    return weights @ inputs, weights


# %% simple_attention right (passed): einsum for the scores and the mix, softmax over the last axis
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = torch.einsum("qd,kd->qk", inputs, inputs)
    weights = F.softmax(scores, dim=1)
    return torch.einsum("qk,kd->qd", weights, inputs), weights


# %% simple_attention right (passed): a loop over the queries that collects rows of weights and context vectors
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    all_weights, all_contexts = [], []
    for query in inputs:
        row = torch.softmax(inputs @ query, dim=0)
        all_weights.append(row)
        all_contexts.append((row[:, None] * inputs).sum(dim=0))
    return torch.stack(all_contexts), torch.stack(all_weights)
