# %% attn_scores_2 wrong (misconception not-summed): the numbers are multiplied but not added, the shape is [6, 3]
attn_scores_2 = inputs * query

# %% attn_scores_2 wrong (misconception counts-from-one): row 2 is starts, journey is row 1 (counting begins at 0)
attn_scores_2 = inputs @ inputs[2]

# %% attn_scores_2 wrong (misconception cosine): the cosine, the lengths are divided out; the score is the plain dot product
attn_scores_2 = torch.cosine_similarity(inputs, query[None], dim=1)

# %% attn_scores_2 wrong (misconception sums-over-tokens): summed over the tokens, three numbers instead of six
attn_scores_2 = (inputs * query).sum(dim=0)

# %% attn_scores_2 wrong (raised): torch.dot takes two vectors, a matrix raises
attn_scores_2 = torch.dot(inputs, query)

# %% attn_scores_2 wrong (difference factor): divided by the root of the width, which this lesson does not do
attn_scores_2 = inputs @ query / inputs.shape[1] ** 0.5

# %% attn_scores_2 wrong (shape): a matrix of one column, [6, 1], instead of a vector of six scores
attn_scores_2 = inputs @ query[:, None]

# %% attn_scores_2 wrong (structure): a list of Python numbers, which the next cells cannot sum or put through softmax
attn_scores_2 = [torch.dot(x_i, query).item() for x_i in inputs]

# %% attn_scores_2 right (passed): a loop that fills a tensor
attn_scores_2 = torch.empty(inputs.shape[0])
for i, x_i in enumerate(inputs):
    attn_scores_2[i] = torch.dot(x_i, query)

# %% attn_scores_2 right (passed): einsum
attn_scores_2 = torch.einsum("td,d->t", inputs, query)

# %% attn_scores_2 right (passed): the inputs as the weight of a linear layer
attn_scores_2 = torch.nn.functional.linear(query, inputs)

# %% attn_scores_2 right (passed): from lengths and distances alone
attn_scores_2 = (inputs.square().sum(-1) + query.square().sum() - (inputs - query).square().sum(-1)) / 2

# %% attn_weights_2 wrong (misconception share-of-the-sum): the first idea, divided by the sum without exp
attn_weights_2 = attn_scores_2 / attn_scores_2.sum()

# %% attn_weights_2 wrong (misconception softmax-of-the-shares): softmax of the shares that were already divided by the sum, nearly even weights
attn_weights_2 = torch.softmax(attn_weights_2_tmp, dim=0)

# %% attn_weights_2 wrong (misconception not-normalised): exp alone, the division is forgotten
attn_weights_2 = torch.exp(attn_scores_2)

# %% attn_weights_2 wrong (misconception scaled-already): scores divided by the root of the width first, which this lesson does not do
attn_weights_2 = torch.softmax(attn_scores_2 / 3**0.5, dim=0)

# %% attn_weights_2 wrong (difference factor): the shift is in the numerator but not in the sum, so the weights do not sum to one
attn_weights_2 = torch.exp(attn_scores_2 - attn_scores_2.max()) / torch.exp(attn_scores_2).sum()

# %% attn_weights_2 wrong (raised): a vector has no axis 1, IndexError
attn_weights_2 = torch.softmax(attn_scores_2, dim=1)

# %% attn_weights_2 wrong (difference rearranged): the weights are sorted, so they no longer belong to their tokens
attn_weights_2 = torch.softmax(attn_scores_2, dim=0).sort(descending=True).values

# %% attn_weights_2 wrong (shape): a table of shape [1, 6] instead of a vector of six weights
attn_weights_2 = torch.softmax(attn_scores_2[None, :], dim=1)

# %% attn_weights_2 right (passed): the method, last axis
attn_weights_2 = attn_scores_2.softmax(-1)

# %% attn_weights_2 right (passed): the formula with math.exp
import math

powers = [math.exp(score) for score in attn_scores_2.tolist()]
attn_weights_2 = torch.tensor([power / sum(powers) for power in powers])

# %% attn_weights_2 right (passed): each weight as one over a sum of differences
attn_weights_2 = 1 / torch.exp(attn_scores_2[None, :] - attn_scores_2[:, None]).sum(dim=1)

# %% attn_weights_2 right (passed): in logarithms
attn_weights_2 = (attn_scores_2 - torch.logsumexp(attn_scores_2, dim=0)).exp()

# %% context_vec_2 wrong (misconception scores-for-weights): mixed with the scores, whose sum is far from one
context_vec_2 = attn_scores_2 @ inputs

# %% context_vec_2 wrong (misconception shares-for-weights): mixed with the shares of the first idea, not with the softmax weights
context_vec_2 = attn_weights_2_tmp @ inputs

# %% context_vec_2 wrong (misconception not-summed): weighted but not added, the shape is [6, 3]
context_vec_2 = attn_weights_2[:, None] * inputs

# %% context_vec_2 wrong (misconception summed-over-the-width): added along the wrong axis, six numbers instead of three
context_vec_2 = (attn_weights_2[:, None] * inputs).sum(dim=1)

# %% context_vec_2 wrong (shape): a table of one row, [1, 3], instead of a vector
context_vec_2 = attn_weights_2.unsqueeze(0) @ inputs

# %% context_vec_2 wrong (misconception query-on-top): the query is added on top, so journey comes in once too often
context_vec_2 = query + attn_weights_2 @ inputs

# %% context_vec_2 wrong (misconception first-left-out): the loop starts at 1, so the share of Your is missing
context_vec_2 = torch.zeros(3)
for i in range(1, 6):
    context_vec_2 += attn_weights_2[i] * inputs[i]

# %% context_vec_2 wrong (raised): [6, 3] times [6] does not fit, RuntimeError
context_vec_2 = inputs @ attn_weights_2

# %% context_vec_2 right (passed): the transposed matrix times the vector
context_vec_2 = torch.mv(inputs.t(), attn_weights_2)

# %% context_vec_2 right (passed): a Python sum over pairs
context_vec_2 = sum(share * vector for share, vector in zip(attn_weights_2, inputs))

# %% context_vec_2 right (passed): torch's own attention for the one query, without scaling
context_vec_2 = torch.nn.functional.scaled_dot_product_attention(query[None], inputs, inputs, scale=1.0)[0]

# %% context_vec_2 right (passed): a running average that moves towards each vector in turn
total = torch.tensor(0.0)
context_vec_2 = torch.zeros_like(query)
for share, vector in zip(attn_weights_2, inputs):
    total = total + share
    context_vec_2 = torch.lerp(context_vec_2, vector, share / total)
context_vec_2 = context_vec_2 * total

# %% softmax wrong (misconception overflows): no shift, so exp overflows and the result is nan for large numbers
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    e = torch.exp(x)
    return e / e.sum(dim=dim, keepdim=True)

# %% softmax wrong (misconception one-maximum-for-all): shifted by the largest number of the whole table, so a row of much smaller numbers becomes 0 / 0
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    e = torch.exp(x - x.max())
    return e / e.sum(dim=dim, keepdim=True)

# %% softmax wrong (misconception ignores-dim): dim is ignored, the last axis is always taken
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    e = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)

# %% softmax wrong (raised): the sum has lost its axis, so for any dim but the first it does not fit or divides by other rows' sums
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    e = torch.exp(x - x.max(dim=dim, keepdim=True).values)
    return e / e.sum(dim=dim)

# %% softmax wrong (misconception mean-for-maximum): shifted by the mean, so a number far above the others still overflows
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    e = torch.exp(x - x.mean(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)

# %% softmax wrong (misconception clamped): large numbers are cut to 80, so 100 and 99 get equal weights
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    e = torch.exp(x.clamp(-80, 80))
    return e / e.sum(dim=dim, keepdim=True)

# %% softmax wrong (raised): max with a dim gives values and indices, subtracting that pair raises TypeError
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    e = torch.exp(x - x.max(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)

# %% softmax wrong (misconception absolute-for-maximum): shifted by the largest absolute value, so large negative numbers become 0 / 0
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    e = torch.exp(x - x.abs().amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)

# %% softmax right (passed): shifted first, then in logarithms
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    shifted = x - x.max(dim=dim, keepdim=True).values
    log_total = shifted.exp().sum(dim=dim, keepdim=True).log()
    return torch.exp(shifted - log_total)

# %% softmax right (passed): the axis is brought to the end, each row is done in a loop
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    moved = x.movedim(dim, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    done = torch.empty_like(rows)
    for k in range(rows.shape[0]):
        powers = (rows[k] - max(rows[k])).exp()
        done[k] = powers / sum(powers)
    return done.reshape(moved.shape).movedim(-1, dim)

# %% softmax right (passed): one pass with a running maximum and a running sum
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    slices = x.unbind(dim)
    top = slices[0]
    total = torch.ones_like(top)
    for piece in slices[1:]:
        new_top = torch.maximum(top, piece)
        total = total * (top - new_top).exp() + (piece - new_top).exp()
        top = new_top
    return torch.stack([(piece - top).exp() / total for piece in slices], dim)

# %% softmax right (passed): shifted with amax, divided by normalize
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    return torch.nn.functional.normalize((x - x.amax(dim, keepdim=True)).exp(), p=1, dim=dim)

# %% attn_scores wrong (misconception coordinates-with-coordinates): the transpose is on the wrong side, features against features, [3, 3]
attn_scores = inputs.T @ inputs

# %% attn_scores wrong (raised): [6, 3] times [6, 3] does not fit, RuntimeError
attn_scores = inputs @ inputs

# %% attn_scores wrong (misconception reshaped): reshape is no transpose, the numbers of a token are torn apart
attn_scores = inputs @ inputs.reshape(3, 6)

# %% attn_scores wrong (misconception cosine): vectors brought to length one first, so these are cosines
unit = inputs / inputs.norm(dim=1, keepdim=True)
attn_scores = unit @ unit.T

# %% attn_scores wrong (misconception mean-taken-away): the mean of the tokens is taken away first
centred = inputs - inputs.mean(dim=0)
attn_scores = centred @ centred.T

# %% attn_scores wrong (misconception not-with-itself): the scores of the tokens with themselves are set to zero
attn_scores = inputs @ inputs.T
attn_scores.fill_diagonal_(0)

# %% attn_scores wrong (difference factor): divided by the root of the width, the two loops do not do that
attn_scores = inputs @ inputs.T / inputs.shape[-1] ** 0.5

# %% attn_scores wrong (misconception already-weights): a step too many, these are already weights
attn_scores = torch.softmax(inputs @ inputs.T, dim=-1)

# %% attn_scores right (passed): einsum
attn_scores = torch.einsum("id,jd->ij", inputs, inputs)

# %% attn_scores right (passed): one query after the other, stacked
attn_scores = torch.stack([torch.mv(inputs, row) for row in inputs])

# %% attn_scores right (passed): one outer product for each of the three numbers, added
attn_scores = sum(torch.outer(column, column) for column in inputs.unbind(dim=1))

# %% attn_scores right (passed): broadcast, multiply, add
attn_scores = (inputs[:, None, :] * inputs[None, :, :]).sum(dim=-1)

# %% simple_attention wrong (structure): the two results are returned in the wrong order
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    return weights, weights @ inputs

# %% simple_attention wrong (misconception wrong-axis): softmax down the columns, so the rows do not sum to one
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    scores = inputs @ inputs.T
    weights = torch.softmax(scores, dim=0)
    return weights @ inputs, weights

# %% simple_attention wrong (misconception weights-transposed): the mix uses the transposed weights, so the columns and not the rows are the shares
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    scores = inputs @ inputs.T
    weights = torch.softmax(scores, dim=-1)
    return weights.T @ inputs, weights

# %% simple_attention wrong (structure): uses the table of the six words from the page, whatever sentence is handed in
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    weights = torch.softmax(attn_scores, dim=-1)
    return weights @ inputs, weights

# %% simple_attention wrong (property finite_when_scaled): exp without the shift, so large vectors give nan; the page asks for numbers of any size
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    powers = torch.exp(inputs @ inputs.T)
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights

# %% simple_attention wrong (misconception scaled-already): the scores are divided by the root of the width, which is none of the three steps
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    scores = inputs @ inputs.T / inputs.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    return weights @ inputs, weights

# %% simple_attention wrong (raised): squeeze removes an axis for a sentence of one token or vectors of width one
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    scores = (inputs.unsqueeze(0) @ inputs.T.unsqueeze(0)).squeeze()
    weights = torch.softmax(scores, dim=-1)
    context = (weights @ inputs).squeeze()
    return context, weights

# %% simple_attention wrong (raised): six tokens are built in, a shorter sentence raises and a longer one is cut
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    scores = torch.empty(6, 6)
    for i in range(6):
        for j in range(6):
            scores[i, j] = torch.dot(inputs[i], inputs[j])
    weights = torch.softmax(scores, dim=-1)
    context = torch.stack([weights[i] @ inputs[:6] for i in range(6)])
    return context, weights

# %% simple_attention right (passed): einsum and the softmax of the exercise before
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    scores = torch.einsum("qd,kd->qk", inputs, inputs)
    weights = softmax(scores, dim=1)
    return torch.einsum("qk,kd->qd", weights, inputs), weights

# %% simple_attention right (passed): token by token, with lists
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    contexts, shares = [], []
    for asking in inputs:
        scores = torch.stack([(asking * answering).sum() for answering in inputs])
        share = torch.softmax(scores, dim=0)
        shares.append(share)
        contexts.append(sum(s * vector for s, vector in zip(share, inputs)))
    return torch.stack(contexts), torch.stack(shares)

# %% simple_attention right (passed): torch's attention, with the identity beside the values so that the weights come out as well
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    n, width = inputs.shape
    eye = torch.eye(n, dtype=inputs.dtype, device=inputs.device)
    mixed = torch.nn.functional.scaled_dot_product_attention(
        inputs, inputs, torch.cat([inputs, eye], dim=1), scale=1.0
    )
    return mixed[:, :width], mixed[:, width:]

# %% simple_attention right (passed): in double precision inside
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    exact = inputs.double()
    table = exact.matmul(exact.mT)
    weights = table.softmax(1)
    return weights.matmul(exact).to(inputs.dtype), weights.to(inputs.dtype)
