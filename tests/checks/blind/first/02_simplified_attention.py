# %% attn_scores_2 wrong (misconception counts-from-one): counts from one, so the query is starts (inputs[2]) and not journey; the numbers are only a little off
attn_scores_2 = inputs @ inputs[2]

# %% attn_scores_2 wrong (misconception not-summed): multiplies but never adds, 6 x 3 products instead of six scores
attn_scores_2 = inputs * query

# %% attn_scores_2 wrong (misconception sums-over-tokens): adds along the wrong axis, three sums over the tokens instead of six scores
attn_scores_2 = (inputs * query).sum(dim=0)

# %% attn_scores_2 wrong (misconception already-weights): a step too many, these are already weights and not the dot products
attn_scores_2 = torch.softmax(inputs @ query, dim=0)

# %% attn_scores_2 wrong (raised): torch.dot takes two vectors and not a matrix and a vector, so it raises
attn_scores_2 = torch.dot(inputs, query)

# %% attn_scores_2 wrong (misconception cosine): cosine similarity, the lengths of the vectors are divided out, but a score is the dot product
attn_scores_2 = torch.nn.functional.cosine_similarity(inputs, query.unsqueeze(0), dim=-1)

# %% attn_scores_2 wrong (misconception not-with-itself): journey's score with itself is left at zero, though six tokens have six scores
attn_scores_2 = torch.zeros(6)
for j in range(6):
    if j == 1:
        continue
    attn_scores_2[j] = torch.dot(query, inputs[j])

# %% attn_scores_2 wrong (structure): a Python list and no tensor, the next cell calls attn_scores_2.sum() and fails
attn_scores_2 = [torch.dot(query, x).item() for x in inputs]

# %% attn_scores_2 right (passed): matrix times vector, the query looked up by its word
attn_scores_2 = inputs.mv(inputs[tokens.index("journey")])

# %% attn_scores_2 right (passed): a loop over the tokens, torch.dot for each
scores_list = []
for x_i in inputs:
    scores_list.append(torch.dot(query, x_i))
attn_scores_2 = torch.stack(scores_list)

# %% attn_scores_2 right (passed): column by column, each feature of all tokens times the query's feature
attn_scores_2 = sum(q * column for q, column in zip(query, inputs.T))

# %% attn_scores_2 right (passed): the inputs taken as the weight matrix of a linear map
import torch.nn.functional as F

attn_scores_2 = F.linear(query, inputs)

# %% attn_weights_2 wrong (misconception share-of-the-sum): divides by the sum without exp, the page's first idea and not the softmax
attn_weights_2 = attn_scores_2 / attn_scores_2.sum()

# %% attn_weights_2 wrong (misconception softmax-of-the-shares): softmax of the temporary shares instead of the scores, sums to one but is nearly flat
attn_weights_2 = torch.softmax(attn_weights_2_tmp, dim=0)

# %% attn_weights_2 wrong (misconception not-normalised): exp but no division, the numbers do not sum to one
attn_weights_2 = torch.exp(attn_scores_2)

# %% attn_weights_2 wrong (misconception other-base): powers of 2 instead of powers of e, sums to one with other shares
attn_weights_2 = 2 ** attn_scores_2 / (2 ** attn_scores_2).sum()

# %% attn_weights_2 wrong (raised): a vector has no axis 1, so it raises
attn_weights_2 = torch.softmax(attn_scores_2, dim=1)

# %% attn_weights_2 wrong (misconception axis-of-one): made into a column and normalised along the axis of size one, every weight is 1
attn_weights_2 = torch.softmax(attn_scores_2.unsqueeze(1), dim=1).squeeze(1)

# %% attn_weights_2 wrong (misconception scaled-already): scores divided by the root of the width, which this lesson's formula does not do
attn_weights_2 = torch.softmax(attn_scores_2 / inputs.shape[-1] ** 0.5, dim=0)

# %% attn_weights_2 right (passed): the module nn.Softmax, last axis
attn_weights_2 = torch.nn.Softmax(dim=-1)(attn_scores_2)

# %% attn_weights_2 right (passed): the formula by hand, shifted by the largest score
shifted = attn_scores_2 - attn_scores_2.max()
powers = shifted.exp()
attn_weights_2 = powers / powers.sum()

# %% attn_weights_2 right (passed): plain Python with math.exp, back to a tensor at the end
import math

powers = [math.exp(s) for s in attn_scores_2.tolist()]
total = sum(powers)
attn_weights_2 = torch.tensor([p / total for p in powers])

# %% attn_weights_2 right (passed): softmax as the gradient of logsumexp
attn_weights_2 = torch.func.grad(lambda s: torch.logsumexp(s, dim=0))(attn_scores_2)

# %% context_vec_2 wrong (raised): the product in the wrong order, shapes 6 x 3 and 6 do not fit, so it raises
context_vec_2 = inputs @ attn_weights_2

# %% context_vec_2 wrong (misconception not-summed): the six weighted rows are not added up, shape 6 x 3
context_vec_2 = attn_weights_2.unsqueeze(1) * inputs

# %% context_vec_2 wrong (misconception mean-for-sum): the mean of the weighted rows, six times too small
context_vec_2 = (attn_weights_2[:, None] * inputs).mean(dim=0)

# %% context_vec_2 wrong (misconception summed-over-the-width): adds along the features, six numbers instead of a vector of three
context_vec_2 = (attn_weights_2[:, None] * inputs).sum(dim=1)

# %% context_vec_2 wrong (misconception scores-for-weights): mixes with the raw scores instead of the weights, far too large
context_vec_2 = attn_scores_2 @ inputs

# %% context_vec_2 wrong (misconception shares-for-weights): mixes with the shares that were made without exp, close to the right vector but another one
context_vec_2 = attn_weights_2_tmp @ inputs

# %% context_vec_2 wrong (misconception query-on-top): adds the query on top of the mix, a step that the page does not have
context_vec_2 = query + attn_weights_2 @ inputs

# %% context_vec_2 wrong (misconception last-left-out): the loop ends one token early, step is never mixed in
context_vec_2 = torch.zeros(3)
for i in range(len(tokens) - 1):
    context_vec_2 += attn_weights_2[i] * inputs[i]

# %% context_vec_2 right (passed): a loop that adds share by share
context_vec_2 = torch.zeros_like(query)
for share, vector in zip(attn_weights_2, inputs):
    context_vec_2 = context_vec_2 + share * vector

# %% context_vec_2 right (passed): einsum
context_vec_2 = torch.einsum("s,sd->d", attn_weights_2, inputs)

# %% context_vec_2 right (passed): plain Python numbers, feature by feature
shares = attn_weights_2.tolist()
context_vec_2 = torch.tensor([sum(w * v for w, v in zip(shares, feature)) for feature in inputs.T.tolist()])

# %% context_vec_2 right (passed): a bag of embeddings with a weight for each row
context_vec_2 = torch.nn.functional.embedding_bag(
    torch.arange(len(inputs)).unsqueeze(0), inputs, per_sample_weights=attn_weights_2.unsqueeze(0), mode="sum"
).squeeze(0)

# %% softmax wrong (misconception one-maximum-for-all): shifts by the largest number of the whole tensor, a row that lies far below it becomes 0 / 0 = nan
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    e = torch.exp(x - x.max())
    return e / e.sum(dim=dim, keepdim=True)

# %% softmax wrong (misconception always-the-first-axis): dim is ignored, it always runs along axis 0
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    top = x.max(dim=0, keepdim=True).values
    e = torch.exp(x - top)
    return e / e.sum(dim=0, keepdim=True)

# %% softmax wrong (raised): no keepdim in the sum, a square table along its last axis is divided by the sums of other rows
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    e = torch.exp(x - x.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim)

# %% softmax wrong (misconception mean-for-maximum): shifts by the mean instead of the largest, a number that lies 100 above the mean still overflows to nan
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    x = x - x.mean(dim=dim, keepdim=True)
    return torch.exp(x) / torch.exp(x).sum(dim=dim, keepdim=True)

# %% softmax wrong (misconception absolute-for-maximum): shifts by the largest absolute value, numbers that are all very negative underflow to 0 / 0 = nan
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    largest = x.abs().amax(dim=dim, keepdim=True)
    powers = torch.exp(x - largest)
    return powers / powers.sum(dim=dim, keepdim=True)

# %% softmax right (passed): exp of x minus its logsumexp, as exact as the type of the numbers
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))

# %% softmax wrong (shape): moves the axis to the front and never moves it back, so other axes come out in another order
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    x = x.movedim(dim, 0)
    e = torch.exp(x - x.amax(dim=0))
    return e / e.sum(dim=0)

# %% softmax wrong (raised): max along an axis returns values and indices, subtracting the pair raises
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    x = x - x.max(dim=dim, keepdim=True)
    e = torch.exp(x)
    return e / e.sum(dim=dim, keepdim=True)

# %% softmax right (passed): the usual three lines
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    m, _ = torch.max(x, dim=dim, keepdim=True)
    e = (x - m).exp()
    return e / e.sum(dim, keepdim=True)

# %% softmax right (passed): one row after another in a loop, with a helper
def softmax_of_row(row):
    powers = torch.exp(row - max(row))
    return powers / sum(powers)


def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    moved = x.movedim(dim, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    out = torch.empty_like(rows)
    for k, row in enumerate(rows):
        out[k] = softmax_of_row(row)
    return out.reshape(moved.shape).movedim(-1, dim)

# %% softmax right (passed): all differences, 1 over the sum of exp(x_j - x_i), no maximum needed
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    x = x.movedim(dim, -1)
    differences = x.unsqueeze(-2) - x.unsqueeze(-1)
    return differences.exp().sum(dim=-1).reciprocal().movedim(-1, dim)

# %% softmax right (passed): F.normalize with the 1-norm does the division
def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """Positive numbers that sum to one along dim; finite for every finite x."""
    return torch.nn.functional.normalize(torch.exp(x - x.amax(dim, keepdim=True)), p=1, dim=dim)

# %% attn_scores wrong (misconception coordinates-with-coordinates): transposes the wrong one, a 3 x 3 table of features
attn_scores = inputs.T @ inputs

# %% attn_scores wrong (raised): no transpose at all, the shapes do not fit and it raises
attn_scores = inputs @ inputs

# %% attn_scores wrong (misconception already-weights): softmax already done, these are weights and not scores
attn_scores = torch.softmax(inputs @ inputs.T, dim=-1)

# %% attn_scores wrong (misconception mean-for-sum): the mean of the products instead of their sum, a third of each dot product
attn_scores = (inputs[:, None] * inputs[None]).mean(dim=-1)

# %% attn_scores wrong (misconception cosine): rows are brought to length one first, these are cosines and not dot products
unit = inputs / inputs.norm(dim=1, keepdim=True)
attn_scores = unit @ unit.T

# %% attn_scores wrong (misconception half-a-table): only the upper half is filled in, the rest of the table stays zero
attn_scores = torch.zeros(6, 6)
for i in range(6):
    for j in range(i, 6):
        attn_scores[i, j] = inputs[i] @ inputs[j]

# %% attn_scores wrong (misconception distances): distances instead of dot products, so likes get the lowest numbers
attn_scores = torch.cdist(inputs, inputs)

# %% attn_scores wrong (misconception not-with-itself): each token's score with itself is wiped out, the page's table has it
attn_scores = (inputs @ inputs.T).fill_diagonal_(0)

# %% attn_scores right (passed): einsum over the feature axis
attn_scores = torch.einsum("id,jd->ij", inputs, inputs)

# %% attn_scores right (passed): a sum of outer products, one for each feature
attn_scores = sum(torch.outer(column, column) for column in inputs.unbind(dim=1))

# %% attn_scores right (passed): nested lists of Python numbers
rows = inputs.tolist()
attn_scores = torch.tensor([[sum(p * q for p, q in zip(r, s)) for s in rows] for r in rows])

# %% attn_scores right (passed): F.linear, which multiplies with the transpose
attn_scores = torch.nn.functional.linear(inputs, inputs)

# %% simple_attention wrong (misconception wrong-axis): softmax down the columns, so the rows of the weights do not sum to one
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    attn_scores = inputs @ inputs.T
    attn_weights = torch.softmax(attn_scores, dim=0)
    return attn_weights @ inputs, attn_weights

# %% simple_attention wrong (structure): returns weights first and context vectors second, the signature has them the other way round
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    context = weights @ inputs
    return weights, context

# %% simple_attention wrong (structure): uses the attn_weights of the cell above, right for the six words of the page and for no other sentence
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    context_vecs = attn_weights @ inputs
    return context_vecs, attn_weights

# %% simple_attention wrong (property finite_when_scaled): exp without a shift, wide vectors have scores near 100 and give nan, but any width is asked for
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    powers = torch.exp(inputs @ inputs.T)
    weights = powers / powers.sum(dim=-1, keepdim=True)
    return weights @ inputs, weights

# %% simple_attention wrong (property leaves_its_inputs): writes the context vectors over the inputs, so a second call on the same sentence gives something else and the shuffle cell below prints False
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    weights = torch.softmax(inputs @ inputs.T, dim=-1)
    inputs[:] = weights @ inputs
    return inputs, weights

# %% simple_attention wrong (misconception scaled-already): divides the scores by the root of the width, which is not among the three steps
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    d = inputs.shape[-1]
    weights = torch.softmax(inputs @ inputs.T / d**0.5, dim=-1)
    return weights @ inputs, weights

# %% simple_attention wrong (misconception scores-beside): the second thing returned is the scores and not the weights
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    scores = inputs @ inputs.T
    context = torch.softmax(scores, dim=-1) @ inputs
    return context, scores

# %% simple_attention wrong (misconception axes-of-one-lost): squeeze drops axes of size one, so a sentence of one word or vectors of one number lose an axis
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    scores = torch.matmul(inputs.unsqueeze(0), inputs.T.unsqueeze(0))
    weights = torch.softmax(scores, dim=-1)
    context = torch.matmul(weights, inputs.unsqueeze(0))
    return context.squeeze(), weights.squeeze()

# %% simple_attention right (passed): einsum twice, with the softmax of this page
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    scores = torch.einsum("qd,kd->qk", inputs, inputs)
    weights = softmax(scores, dim=-1)
    return torch.einsum("qk,kd->qd", weights, inputs), weights

# %% simple_attention right (passed): one query after another, as the page did it for journey
def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    contexts, table = [], []
    for asking in inputs:
        shares = torch.stack([torch.dot(asking, answering) for answering in inputs]).softmax(dim=0)
        table.append(shares)
        contexts.append(sum(share * vector for share, vector in zip(shares, inputs)))
    return torch.stack(contexts), torch.stack(table)

# %% simple_attention right (passed): plain Python on nested lists, tensors only at the end
import math


def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    rows = inputs.tolist()
    mixed, table = [], []
    for q in rows:
        scores = [sum(u * v for u, v in zip(q, k)) for k in rows]
        top = max(scores)
        powers = [math.exp(s - top) for s in scores]
        shares = [p / sum(powers) for p in powers]
        table.append(shares)
        mixed.append([sum(w * v for w, v in zip(shares, feature)) for feature in zip(*rows)])
    like = dict(dtype=inputs.dtype, device=inputs.device)
    return torch.tensor(mixed, **like), torch.tensor(table, **like)

# %% simple_attention right (passed): one call of torch's fused attention, an identity beside the values brings the weights out
import torch.nn.functional as F


def simple_attention(
    inputs: Float[Tensor, "seq d_in"],
) -> tuple[Float[Tensor, "seq d_in"], Float[Tensor, "seq seq"]]:
    """Context vectors and the weights that mixed them."""
    seq, d_in = inputs.shape
    values = torch.cat((inputs, torch.eye(seq, dtype=inputs.dtype, device=inputs.device)), dim=1)
    out = F.scaled_dot_product_attention(inputs[None], inputs[None], values[None], scale=1.0)[0]
    context, weights = out.split([d_in, seq], dim=1)
    return context, weights
