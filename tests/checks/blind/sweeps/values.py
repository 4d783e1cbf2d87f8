# %% softmax wrong (misconception absolute-for-maximum): the largest absolute value is subtracted, so scores such as -100 and -99 underflow to 0 / 0
def softmax(x, dim):
    powers = torch.exp(x - x.abs().amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)

# %% compute_attn_weights wrong (property zeros): with a mask, a visible score of exactly 0 is hidden too (a token of zeros gives nan)
def compute_attn_weights(W_Q, W_K, x, mask=None):
    scores = (x @ W_Q) @ (x @ W_K).T / W_Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores * mask
        scores = scores.masked_fill(scores == 0, -torch.inf)
    return torch.softmax(scores, dim=-1)

# %% inverted_dropout wrong (difference factor): the factor is rounded to two decimals: right for p = 0.5 and 0.2, but 1.11 instead of 1.1111 for 0.1
def inverted_dropout(x, keep, p):
    factor = round(1 / (1 - p), 2)
    return torch.where(keep, x * factor, 0.0)

# %% head_kind wrong (property means): the means are rounded to two decimals before they are compared, so near ties go to the first name
def head_kind(pattern):
    rows = torch.arange(2, len(pattern))
    seen = {"previous": pattern[rows, rows - 1], "current": pattern[rows, rows], "first": pattern[rows, 0]}
    means = {kind: round(weights.mean().item(), 2) for kind, weights in seen.items()}
    uniform = (1 / (rows + 1)).mean().item()
    kind = max(means, key=means.get)
    return kind if means[kind] >= 1.4 * uniform else "other"

# %% positional_encoding wrong (misconception cut-to-whole): positions index a table, so fractions are cut off and negative positions count from its end
def positional_encoding(position, d_model, base=100.0):
    places = torch.arange(int(position.max()) + 1, dtype=position.dtype, device=position.device)
    speed = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angle = places[:, None] * speed
    table = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)
    return table[position.long()]

# %% answer_loss wrong (misconception stop-left-out): token 0 is treated as padding, but the stop token that is asked for has the id 0
def answer_loss(logits, tokens, asked):
    wanted = tokens[:, 1:].masked_fill(~asked[:, 1:], 0)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), wanted.flatten(), ignore_index=0)

# %% make_weight wrong (misconception clamped): the product is clamped to 50, so entries of 55 and 60 get the same gate and no gradient
def make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax((A @ B / temp).clamp(-50, 50), dim=-1)
    return gate if base is None else gate * base

# %% kernel_estimator right (passed): the score is a product of whole tokens; the last entry of a question is 0, so y drops out
def kernel_estimator(z_q, z, w, mu):
    scores = z_q @ z.transpose(-2, -1)
    return sum(m * torch.softmax(a * scores, dim=-1) @ z[..., -1:] for a, m in zip(w, mu))

# %% gram_scores wrong (difference milestone): squared lengths are clamped at 1e-3 before they divide, so a short query or a short remainder is projected wrongly
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq = q.square().sum(dim=-1, keepdim=True)
    rest = r - (q * r).sum(dim=-1, keepdim=True) / qq.clamp(min=1e-3) * q
    ss = rest.square().sum(dim=-1, keepdim=True)
    kk = k.square().sum(dim=-1).unsqueeze(-2)
    height = kk - (q @ k.mT).square() / qq.clamp(min=1e-3) - (rest @ k.mT).square() / ss.clamp(min=1e-3)
    return -(qq * ss * height.clamp(min=0))

# %% gelu wrong (property finite_when_scaled): tanh is written with exp, which overflows: nan from about x = 10.1 on
def gelu(x):
    inner = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    power = torch.exp(2 * inner)
    return x / 2 * (1 + (power - 1) / (power + 1))

# %% kernel_estimator right (passed): softmax by hand without subtracting the maximum; the page promises no large scores here
def kernel_estimator(z_q, z, w, mu):
    scores = z_q[..., :-1] @ z[..., :-1].transpose(-2, -1)
    answer = torch.zeros_like(z_q[..., :1])
    for a, m in zip(w, mu):
        powers = torch.exp(a * scores)
        answer = answer + m * (powers @ z[..., -1:]) / powers.sum(dim=-1, keepdim=True)
    return answer

# %% gelu right (passed): (1 + tanh u) / 2 is the sigmoid of 2u
def gelu(x):
    return x * torch.sigmoid(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))

# %% causal_attn_weights right (passed): the logarithm of the mask, 0 or minus infinity, is added to the scores
def causal_attn_weights(scores, d_k):
    mask = get_mask(scores.shape[-1]).to(scores.device, scores.dtype)
    return torch.softmax(scores / d_k**0.5 + mask.log(), dim=-1)
