# %% attn_scores_2 wrong (misconception not-summed): multiplies number by number, and forgets to add the products
# The scores of the query with all six tokens.
attn_scores_2 = inputs * query


# %% attn_scores_2 wrong (misconception sums-over-tokens): adds the products along the wrong axis
# The scores of the query with all six tokens.
attn_scores_2 = (inputs * query).sum(dim=0)


# %% attn_scores_2 wrong (misconception counts-from-one): subtle, near miss: counts from one, so the query is starts instead of journey
# The scores of the query with all six tokens.
query_2 = inputs[2]
attn_scores_2 = inputs @ query_2


# %% attn_scores_2 wrong (misconception cosine): subtle, near miss: scales all vectors to length 1 first
# The scores of the query with all six tokens.
attn_scores_2 = F.normalize(inputs, dim=-1) @ F.normalize(query, dim=0)


# %% attn_scores_2 wrong (misconception not-with-itself): subtle, near miss: leaves out the score of the query with itself, which stays 0
# The scores of the query with all six tokens.
attn_scores_2 = torch.zeros(6)
for i in range(6):
    if i != 1:
        attn_scores_2[i] = torch.dot(query, inputs[i])


# %% attn_scores_2 right (passed): one product of matrix and vector
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query


# %% attn_scores_2 right (passed): a loop of dot products, stacked
# The scores of the query with all six tokens.
attn_scores_2 = torch.stack([torch.dot(query, x_i) for x_i in inputs])


# %% attn_weights_2 wrong (misconception share-of-the-sum): divides the scores by their sum, without exp
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2 / attn_scores_2.sum()


# %% attn_weights_2 wrong (misconception not-normalised): takes exp but forgets to divide by the sum
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2)


# %% attn_weights_2 wrong (misconception other-base): subtle, near miss: powers of 2 instead of powers of e
# Positive weights that sum to one.
powers = 2**attn_scores_2
attn_weights_2 = powers / powers.sum()


# %% attn_weights_2 wrong (misconception softmax-of-the-shares): subtle, near miss: the softmax of the shares instead of the softmax of the scores
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2 / attn_scores_2.sum(), dim=0)


# %% attn_weights_2 wrong (difference milestone): subtle, near miss: makes the scores positive by squaring them
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2**2 / (attn_scores_2**2).sum()


# %% attn_weights_2 right (passed): torch.softmax along axis 0
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2, dim=0)


# %% attn_weights_2 right (passed): subtracts the logarithm of the sum of the powers, then exp
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2 - torch.logsumexp(attn_scores_2, dim=-1))


# %% context_vec_2 wrong (misconception scores-for-weights): mixes with the scores instead of the weights
# The weighted sum of the six vectors.
context_vec_2 = attn_scores_2 @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception summed-over-the-width): adds along the wrong axis, so there is a number for each token
# The weighted sum of the six vectors.
context_vec_2 = (attn_weights_2[:, None] * inputs).sum(dim=1)
print(context_vec_2)


# %% context_vec_2 wrong (misconception plain-average): subtle, near miss: gives all six vectors the same weight
# The weighted sum of the six vectors.
context_vec_2 = inputs.mean(dim=0)
print(context_vec_2)


# %% context_vec_2 wrong (misconception last-left-out): subtle, near miss: the loop stops before the last token
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(3)
for i in range(len(inputs) - 1):
    context_vec_2 += attn_weights_2[i] * inputs[i]
print(context_vec_2)


# %% context_vec_2 wrong (misconception shares-for-weights): subtle, near miss: mixes with the shares of the first idea instead of the softmax weights
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2_tmp @ inputs
print(context_vec_2)


# %% context_vec_2 right (passed): product of the weights and the matrix
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2 @ inputs
print(context_vec_2)


# %% context_vec_2 right (passed): a loop that adds one weighted vector after the other
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros_like(inputs[0])
for weight, x_i in zip(attn_weights_2, inputs):
    context_vec_2 = context_vec_2 + weight * x_i
print(context_vec_2)


# %% softmax wrong (raised): forgets keepdim, so maxima and sums are lined up with the wrong axis
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x - x.max(dim=dim).values)
    return powers / powers.sum(dim=dim)


# %% softmax wrong (misconception minimum-for-maximum): subtracts the minimum instead of the maximum, so large numbers still overflow
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x - x.amin(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception one-maximum-for-all): subtle, subtracts the maximum of the whole tensor; shows when one row is far below another row
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (difference milestone): subtle, knows only the first and the last axis; shows for a middle axis of three
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    axis = 0 if dim == 0 else -1
    powers = torch.exp(x - x.amax(dim=axis, keepdim=True))
    return powers / powers.sum(dim=axis, keepdim=True)


# %% softmax wrong (misconception nan-replaced): subtle, replaces nan by 0 at the end; shows for numbers such as 1000 or -1000, where the weights do not sum to one
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x)
    return torch.nan_to_num(powers / powers.sum(dim=dim, keepdim=True), nan=0.0)


# %% softmax right (passed): subtracts the maximum along dim, with keepdim
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): moves the axis to the front, where the maximum and the sum need no keepdim, and back
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim if no x is beyond ±1000; finite for every finite x."""
    front = x.movedim(dim, 0)
    powers = front.sub(front.max(dim=0).values).exp()
    total = torch.zeros_like(powers[0])
    for part in powers:
        total = total + part
    return powers.div(total).movedim(0, dim)


# %% attn_scores wrong (misconception coordinates-with-coordinates): transposes the first matrix, which compares the three columns
# A row of six scores for each query.
attn_scores = inputs.T @ inputs


# %% attn_scores wrong (shape): multiplies every pair of vectors number by number, and forgets to add
# A row of six scores for each query.
attn_scores = inputs[:, None, :] * inputs[None, :, :]


# %% attn_scores wrong (misconception cosine): subtle, near miss: scales the vectors to length 1 first
# A row of six scores for each query.
directions = inputs / inputs.norm(dim=-1, keepdim=True)
attn_scores = directions @ directions.T


# %% attn_scores wrong (misconception half-a-table): subtle, near miss: fills only the diagonal and what is above it
# A row of six scores for each query.
attn_scores = torch.zeros(6, 6)
for i in range(6):
    for j in range(i, 6):
        attn_scores[i, j] = inputs[i] @ inputs[j]


# %% attn_scores wrong (difference factor): subtle, near miss: divides the scores by the square root of the width
# A row of six scores for each query.
attn_scores = inputs @ inputs.T / inputs.shape[-1] ** 0.5


# %% attn_scores right (passed): product with the transpose
# A row of six scores for each query.
attn_scores = inputs @ inputs.T


# %% attn_scores right (passed): einsum over the three numbers of each pair of vectors
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


# %% simple_attention wrong (structure): returns the weights first and the context vectors second
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    context = weights @ inputs
    return weights, context


# %% simple_attention wrong (structure): subtle, uses the notebook's attn_scores; shows for every sentence other than the page's
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(attn_scores, dim=-1)
    return weights @ inputs, weights


# %% simple_attention wrong (property finite_when_scaled): subtle, subtracts the maximum of the whole table; shows when one row of scores is far below another row
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    powers = torch.exp(scores - scores.max())
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention wrong (raised): subtle, the loop has six queries; shows when the sentence does not have six tokens
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    rows, vectors = [], []
    for i in range(6):
        weights = torch.softmax(inputs @ inputs[i], dim=0)
        rows.append(weights)
        vectors.append(weights @ inputs)
    return torch.stack(vectors), torch.stack(rows)


# %% simple_attention right (passed): two matrix products and torch.softmax
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return weights @ inputs, weights


# %% simple_attention right (passed): one query at a time, with a softmax that subtracts the row's maximum
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    all_weights, all_context = [], []
    for query in inputs:
        scores = torch.mv(inputs, query)
        powers = torch.exp(scores - scores.max())
        weights = powers / powers.sum()
        all_weights.append(weights)
        all_context.append((weights.unsqueeze(1) * inputs).sum(dim=0))
    return torch.stack(all_context), torch.stack(all_weights)


