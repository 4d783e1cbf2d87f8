# %% attn_scores_2 wrong (misconception not-summed): multiplies number by number and does not add the products
# The scores of the query with all six tokens.
attn_scores_2 = inputs * query


# %% attn_scores_2 wrong (misconception sums-over-tokens): adds the products along the wrong axis, over the tokens
# The scores of the query with all six tokens.
attn_scores_2 = (inputs * query).sum(dim=0)


# %% attn_scores_2 wrong (misconception counts-from-one): near miss, the query is starts (counted from one) instead of journey
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ inputs[2]


# %% attn_scores_2 wrong (difference factor): near miss, the scores are divided by the square root of the width
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query / inputs.shape[1] ** 0.5


# %% attn_scores_2 wrong (difference): near miss, the last number of each vector is left out
# The scores of the query with all six tokens.
attn_scores_2 = inputs[:, :-1] @ query[:-1]


# %% attn_scores_2 right (passed): product of a matrix and a vector
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ query


# %% attn_scores_2 right (passed): a loop of dot products
# The scores of the query with all six tokens.
attn_scores_2 = torch.stack([torch.dot(vector, query) for vector in inputs])


# %% attn_weights_2 wrong (misconception share-of-the-sum): divides the scores by their sum, without exp
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2 / attn_scores_2.sum()


# %% attn_weights_2 wrong (misconception not-normalised): takes exp but forgets to divide by the sum
# Positive weights that sum to one.
attn_weights_2 = torch.exp(attn_scores_2)


# %% attn_weights_2 wrong (misconception scaled-already): near miss, the scores are divided by the square root of 3 before the softmax
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2 / 3**0.5, dim=0)


# %% attn_weights_2 wrong (misconception softmax-twice): near miss, the softmax is applied twice, so the weights are nearly equal
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(torch.softmax(attn_scores_2, dim=0), dim=0)


# %% attn_weights_2 wrong (misconception other-base): near miss, powers of 2 instead of powers of e
# Positive weights that sum to one.
attn_weights_2 = torch.exp2(attn_scores_2) / torch.exp2(attn_scores_2).sum()


# %% attn_weights_2 right (passed): torch.softmax along the only axis
# Positive weights that sum to one.
attn_weights_2 = torch.softmax(attn_scores_2, dim=0)


# %% attn_weights_2 right (passed): the formula by hand, after subtracting the highest score
# Positive weights that sum to one.
powers = (attn_scores_2 - attn_scores_2.max()).exp()
attn_weights_2 = powers / powers.sum()


# %% context_vec_2 wrong (misconception plain-average): the plain mean of the six vectors, without the weights
# The weighted sum of the six vectors.
context_vec_2 = inputs.mean(dim=0)
print(context_vec_2)


# %% context_vec_2 wrong (misconception not-summed): multiplies each vector by its weight but does not add them up
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2[:, None] * inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception shares-for-weights): near miss, mixes with the shares without exp (attn_weights_2_tmp)
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2_tmp @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception last-left-out): near miss, the loop stops before the last vector
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(3)
for i in range(len(tokens) - 1):
    context_vec_2 = context_vec_2 + attn_weights_2[i] * inputs[i]
print(context_vec_2)


# %% context_vec_2 wrong (difference): near miss, a weighted sum with the weights in reverse order
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2.flip(0) @ inputs
print(context_vec_2)


# %% context_vec_2 right (passed): product of the weights and the matrix of inputs
# The weighted sum of the six vectors.
context_vec_2 = attn_weights_2 @ inputs
print(context_vec_2)


# %% context_vec_2 right (passed): a loop that adds each vector times its weight
# The weighted sum of the six vectors.
context_vec_2 = torch.zeros(inputs.shape[1])
for weight, vector in zip(attn_weights_2, inputs):
    context_vec_2 += weight * vector
print(context_vec_2)


# %% softmax wrong (misconception overflows): the formula as it is written, without subtracting a maximum
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (raised): forgets keepdim, so the maximum and the sum do not line up with the table along other axes than 0
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.max(dim=dim).values)
    return powers / powers.sum(dim=dim)


# %% softmax wrong (misconception one-maximum-for-all): subtracts the maximum of the whole tensor; gives nan for a row that is far below another row
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception mean-for-maximum): subtracts the mean instead of the maximum; overflows when one number is far above the mean, as 1000 beside -1000
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.mean(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax wrong (misconception dim-for-the-sum-only): the maximum is always taken along the last axis; shows when dim is another axis
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.amax(dim=-1, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): subtracts the maximum along dim, with keepdim
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    powers = torch.exp(x - x.max(dim=dim, keepdim=True).values)
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): moves the axis to the end, finds the maximum with topk, and moves the axis back
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Numbers of at least 0 that sum to one along dim, up to rounding; finite for every finite x."""
    rows = x.movedim(dim, -1)
    highest = rows.topk(1, dim=-1).values
    powers = (rows - highest).exp()
    total = torch.einsum("...i->...", powers)
    return (powers / total[..., None]).movedim(-1, dim)


# %% attn_scores wrong (misconception coordinates-with-coordinates): the transpose is on the wrong side, which gives a table of 3 by 3
# A row of six scores for each query.
attn_scores = inputs.T @ inputs


# %% attn_scores wrong (difference constant): only the scores of journey, repeated in each row
# A row of six scores for each query.
attn_scores = attn_scores_2.repeat(6, 1)


# %% attn_scores wrong (misconception not-with-itself): near miss, the scores of the tokens with themselves are set to 0
# A row of six scores for each query.
attn_scores = (inputs @ inputs.T).fill_diagonal_(0.0)


# %% attn_scores wrong (difference places): near miss, only the lower triangle, each query with the tokens up to itself
# A row of six scores for each query.
attn_scores = (inputs @ inputs.T).tril()


# %% attn_scores wrong (misconception cosine): near miss, cosines (vectors scaled to length 1) instead of dot products
# A row of six scores for each query.
directions = inputs / inputs.norm(dim=-1, keepdim=True)
attn_scores = directions @ directions.T


# %% attn_scores right (passed): product of inputs and its transpose
# A row of six scores for each query.
attn_scores = inputs @ inputs.T


# %% attn_scores right (passed): all products by broadcasting, then a sum over the last axis
# A row of six scores for each query.
attn_scores = (inputs[:, None, :] * inputs[None, :, :]).sum(dim=-1)


# %% simple_attention wrong (misconception wrong-axis): the softmax normalises the columns instead of the rows
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=0)
    return weights @ inputs, weights


# %% simple_attention wrong (structure): returns the weights first and the context vectors second
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return weights, weights @ inputs


# %% simple_attention wrong (difference milestone): negative scores count as 0; shows when two vectors have a negative dot product
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = (inputs @ inputs.T).clamp(min=0)
    weights = torch.softmax(scores, dim=-1)
    return weights @ inputs, weights


# %% simple_attention wrong (property finite_when_scaled): subtracts each token's score with itself as if it were the highest; overflows when another vector is much longer
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    powers = torch.exp(scores - scores.diagonal()[:, None])
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention wrong (raised): loops over exactly six tokens; shows for a sentence of another length
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = torch.zeros(6, 6)
    for i in range(6):
        for j in range(6):
            scores[i, j] = torch.dot(inputs[i], inputs[j])
    weights = torch.softmax(scores, dim=-1)
    return weights @ inputs, weights


# %% simple_attention right (passed): two matrix products and torch.softmax
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    weights = torch.softmax(scores, dim=-1)
    return weights @ inputs, weights


# %% simple_attention right (passed): one query at a time, with log_softmax and exp
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    rows, contexts = [], []
    for query in inputs:
        row = F.log_softmax(torch.mv(inputs, query), dim=0).exp()
        rows.append(row)
        contexts.append((row[:, None] * inputs).sum(dim=0))
    return torch.stack(contexts), torch.stack(rows)


