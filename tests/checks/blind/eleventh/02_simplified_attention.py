# %% attn_scores_2 wrong (misconception not-summed): multiplies number by number but does not add the products
# The scores of the query with all six tokens.
attn_scores_2 = inputs * query


# %% attn_scores_2 wrong (misconception counts-from-one): the scores of the query starts (row 2), which are close to those of journey
# The scores of the query with all six tokens.
attn_scores_2 = inputs @ inputs[2]


# %% attn_scores_2 wrong (misconception not-with-itself): right for the five other tokens, but the query's score with itself is left at 0
# The scores of the query with all six tokens.
attn_scores_2 = torch.zeros(6)
for i, token_vector in enumerate(inputs):
    if i != 1:
        attn_scores_2[i] = torch.dot(query, token_vector)


# %% attn_scores_2 right (passed): einsum
# The scores of the query with all six tokens.
attn_scores_2 = torch.einsum("d,td->t", query, inputs)


# %% attn_weights_2 wrong (misconception share-of-the-sum): divides by the sum, without exp
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2 / attn_scores_2.sum()


# %% attn_weights_2 wrong (difference milestone): squares the scores to make them positive, instead of exp
# Positive weights that sum to one.
attn_weights_2 = attn_scores_2**2 / (attn_scores_2**2).sum()


# %% attn_weights_2 wrong (difference factor): divides by the sum of the powers plus 1, as if there were one more token with a score of 0
# Positive weights that sum to one.
powers = torch.exp(attn_scores_2)
attn_weights_2 = powers / (1 + powers.sum())


# %% attn_weights_2 right (passed): subtracts the logarithm of the sum of the powers, then exp
# Positive weights that sum to one.
attn_weights_2 = (attn_scores_2 - torch.logsumexp(attn_scores_2, dim=0)).exp()


# %% context_vec_2 wrong (misconception scores-for-weights): mixes with the scores instead of the weights
# The weighted sum of the six vectors.
context_vec_2 = attn_scores_2 @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (difference): the mix for the query starts, which differs from that of journey by about 0.002
# The weighted sum of the six vectors.
context_vec_2 = torch.softmax(inputs @ inputs[2], dim=0) @ inputs
print(context_vec_2)


# %% context_vec_2 wrong (misconception without-its-own-word): leaves out the query's own vector and rescales the other five weights
# The weighted sum of the six vectors.
others = attn_weights_2.clone()
others[1] = 0
context_vec_2 = (others / others.sum()) @ inputs
print(context_vec_2)


# %% context_vec_2 right (passed): scales each row, then adds up the rows
# The weighted sum of the six vectors.
context_vec_2 = torch.mul(inputs, attn_weights_2.unsqueeze(-1)).sum(dim=0)
print(context_vec_2)


# %% softmax wrong (misconception over-everything): divides by the sum of the whole table instead of the sum along dim
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x - x.max())
    return powers / powers.sum()


# %% softmax wrong (misconception mean-for-maximum): subtracts the mean along dim instead of the maximum, so exp still overflows when the numbers are far apart
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    powers = torch.exp(x - x.mean(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)


# %% softmax right (passed): subtracts the logsumexp and takes exp (written as wrong, because numbers of 1e8 are rounded; earlier rounds call this right)
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))


# %% softmax right (passed): moves the axis to the front, works there, and moves it back
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    front = x.movedim(dim, 0)
    powers = (front - front.amax(dim=0)).exp()
    return (powers / powers.sum(dim=0)).movedim(0, dim)


# %% attn_scores wrong (misconception coordinates-with-coordinates): transposes the first factor, which compares the three columns
# A row of six scores for each query.
attn_scores = inputs.T @ inputs


# %% attn_scores wrong (misconception cosine): compares the vectors after scaling them to length 1
# A row of six scores for each query.
directions = inputs / inputs.norm(dim=-1, keepdim=True)
attn_scores = directions @ directions.T


# %% attn_scores wrong (misconception mean-taken-away): subtracts the mean vector first, so the scores are those of the differences from the mean
# A row of six scores for each query.
centred = inputs - inputs.mean(dim=0)
attn_scores = centred @ centred.T


# %% attn_scores right (passed): a linear map whose rows are the inputs
# A row of six scores for each query.
attn_scores = F.linear(inputs, inputs)


# %% simple_attention wrong (misconception wrong-axis): the softmax runs down the columns
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=0)
    return weights @ inputs, weights


# %% simple_attention wrong (misconception weights-transposed): mixes with the transposed table, so each token gets what others give it
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return weights.T @ inputs, weights


# %% simple_attention wrong (property finite_when_scaled): subtracts the largest score of the whole table; shows (nan) when one row's scores are far below another row's
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    powers = torch.exp(scores - scores.max())
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights


# %% simple_attention right (passed): one query at a time
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Return the context vectors and the weights that mixed them."""
    rows, mixes = [], []
    for query in inputs:
        row = torch.softmax((inputs * query).sum(dim=-1), dim=0)
        rows.append(row)
        mixes.append((row[:, None] * inputs).sum(dim=0))
    return torch.stack(mixes), torch.stack(rows)


# %% mix_texts/seq-first wrong (misconception as-in-the-lesson): treats the first axis as the batch, as in most of the course: tokens attend across texts
def mix_texts(x: Tensor) -> Tensor:
    """Return the context vectors of all texts, as your task says."""
    scores = x @ x.transpose(-2, -1)
    return torch.softmax(scores, dim=-1) @ x


# %% mix_texts/seq-first wrong (property finite): subtle, its own softmax subtracts the largest score of all texts: a row far below it becomes 0 / 0, nan
def mix_texts(x: Tensor) -> Tensor:
    """Return the context vectors of all texts, as your task says."""
    x = x.transpose(0, 1)
    scores = x @ x.mT
    powers = torch.exp(scores - scores.max())
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return (weights @ x).transpose(0, 1)


# %% mix_texts/seq-first right (passed): einsum on the axes as they are, torch's softmax over the keys
def mix_texts(x: Tensor) -> Tensor:
    """Return the context vectors of all texts, as your task says."""
    scores = torch.einsum("ibd,jbd->bij", x, x)
    weights = scores.softmax(dim=-1)
    return torch.einsum("bij,jbd->ibd", weights, x)


# %% mix_texts/centred wrong (misconception mixes-centred-vectors): the weights mix the centred vectors
def mix_texts(x: Tensor) -> Tensor:
    """Return the context vectors of all texts, as your task says."""
    x = x - x.mean(dim=1, keepdim=True)
    return torch.softmax(x @ x.transpose(1, 2), dim=-1) @ x


# %% mix_texts/centred wrong (difference milestone): subtle, one mean for all texts together: right for a batch of one text, or if all texts have the same mean
def mix_texts(x: Tensor) -> Tensor:
    """Return the context vectors of all texts, as your task says."""
    centred = x - x.mean(dim=(0, 1))
    weights = torch.softmax(centred @ centred.transpose(-2, -1), dim=-1)
    return weights @ x


# %% mix_texts/centred right (passed): a loop over the texts
def mix_texts(x: Tensor) -> Tensor:
    """Return the context vectors of all texts, as your task says."""
    results = []
    for text in x:
        centred = text - text.mean(dim=0)
        weights = torch.softmax(centred @ centred.T, dim=1)
        results.append(weights @ text)
    return torch.stack(results)


# %% mix_texts/mean-product wrong (misconception root-of-d): divides by the square root of d
def mix_texts(x: Tensor) -> Tensor:
    """Return the context vectors of all texts, as your task says."""
    scores = x @ x.transpose(-2, -1) / x.shape[-1] ** 0.5
    return torch.softmax(scores, dim=-1) @ x


# %% mix_texts/mean-product wrong (misconception mean-over-tokens): subtle, divides by the number of tokens instead of the width: right if both are equal
def mix_texts(x: Tensor) -> Tensor:
    """Return the context vectors of all texts, as your task says."""
    scores = x @ x.transpose(1, 2)
    scores = scores / scores.shape[-1]
    return torch.softmax(scores, dim=-1) @ x


# %% mix_texts/mean-product right (passed): all products of numbers, then their mean
def mix_texts(x: Tensor) -> Tensor:
    """Return the context vectors of all texts, as your task says."""
    products = x.unsqueeze(2) * x.unsqueeze(1)
    weights = torch.softmax(products.mean(dim=-1), dim=-1)
    return torch.bmm(weights, x)


# %% mix_texts/distances wrong (misconception far-is-high): forgets to change the sign: distant tokens get the weight
def mix_texts(x: Tensor) -> Tensor:
    """Return the context vectors of all texts, as your task says."""
    scores = (x[:, :, None] - x[:, None, :]).pow(2).sum(dim=-1)
    return torch.softmax(scores, dim=-1) @ x


# %% mix_texts/distances wrong (difference milestone): subtle, leaves out the squared lengths of the keys: right if all vectors of a text are equally long
def mix_texts(x: Tensor) -> Tensor:
    """Return the context vectors of all texts, as your task says."""
    lengths = (x**2).sum(dim=-1, keepdim=True)
    scores = 2 * x @ x.transpose(1, 2) - 2 * lengths
    return torch.softmax(scores, dim=-1) @ x


# %% mix_texts/distances right (passed): differences of all pairs
def mix_texts(x: Tensor) -> Tensor:
    """Return the context vectors of all texts, as your task says."""
    differences = x.unsqueeze(2) - x.unsqueeze(1)
    scores = -differences.square().sum(dim=-1)
    return torch.einsum("bij,bjd->bid", scores.softmax(dim=-1), x)
