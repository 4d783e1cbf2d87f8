# %% gram_determinant wrong (misconception cross-term-once): the product of the three dot products is counted once, though two diagonals hold it
def gram_determinant(q, k, r):
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, qr = (q * k).sum(-1), (k * r).sum(-1), (q * r).sum(-1)
    return qq * kk * rr + qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2

# %% gram_determinant wrong (misconception squares-of-q-and-k-swapped): two of the squared dot products stand with the wrong squared length
def gram_determinant(q, k, r):
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, qr = (q * k).sum(-1), (k * r).sum(-1), (q * r).sum(-1)
    return qq * kk * rr + 2 * qk * kr * qr - qq * qr**2 - kk * kr**2 - rr * qk**2

# %% gram_determinant wrong (shape): the sums run over all axes, so a batch of triples gives a single number
def gram_determinant(q, k, r):
    def dot(a, b):
        return (a * b).sum()

    return (
        dot(q, q) * dot(k, k) * dot(r, r)
        + 2 * dot(q, k) * dot(k, r) * dot(r, q)
        - dot(q, q) * dot(k, r) ** 2
        - dot(k, k) * dot(q, r) ** 2
        - dot(r, r) * dot(q, k) ** 2
    )

# %% gram_determinant wrong (property volumes): takes the root, which is the volume and not the squared volume
def gram_determinant(q, k, r):
    vectors = torch.stack([q, k, r], dim=-2)
    gram = vectors @ vectors.mT
    return torch.linalg.det(gram).clamp_min(0).sqrt()

# %% gram_determinant wrong (misconception table-of-entries): vectors.mT @ vectors is a d by d matrix; its determinant is the same for d = 3 and 0 for every larger d
def gram_determinant(q, k, r):
    vectors = torch.stack([q, k, r], dim=-2)
    gram = vectors.mT @ vectors
    return torch.linalg.det(gram)

# %% gram_determinant wrong (misconception query-reference-forgotten): the dot product of query and reference is left out, which is right only if they stand at a right angle
def gram_determinant(q, k, r):
    qq = (q * q).sum(dim=-1)
    kk = (k * k).sum(dim=-1)
    rr = (r * r).sum(dim=-1)
    area2 = qq * rr
    kq = (k * q).sum(dim=-1)
    kr = (k * r).sum(dim=-1)
    return area2 * kk - rr * kq**2 - qq * kr**2

# %% gram_determinant wrong (misconception keeps-the-axis): keepdim leaves an axis of length 1 at the end, so the result is [..., 1] and not [...]
def gram_determinant(q, k, r):
    def dot(a, b):
        return (a * b).sum(dim=-1, keepdim=True)

    qk, kr, rq = dot(q, k), dot(k, r), dot(r, q)
    plus = dot(q, q) * dot(k, k) * dot(r, r) + 2 * qk * kr * rq
    minus = dot(q, q) * kr**2 + dot(k, k) * rq**2 + dot(r, r) * qk**2
    return plus - minus

# %% gram_determinant wrong (property lets_gradients_through): goes through numpy and cuts the gradient that the page takes right afterwards
def gram_determinant(q, k, r):
    import numpy as np

    vectors = torch.stack([q, k, r], dim=-2).detach().numpy()
    gram = vectors @ np.swapaxes(vectors, -1, -2)
    return torch.as_tensor(np.linalg.det(gram))

# %% gram_determinant right (passed): stacks the vectors, multiplies, and lets torch.linalg.det do the rest
def gram_determinant(q, k, r):
    vectors = torch.stack((q, k, r), dim=-2)
    return torch.linalg.det(vectors @ vectors.mT)

# %% gram_determinant right (passed): the Leibniz formula with a loop over the six permutations
def gram_determinant(q, k, r):
    from itertools import permutations

    vectors = [q, k, r]
    total = 0
    for order in permutations(range(3)):
        swaps = sum(order[a] > order[b] for a in range(3) for b in range(a + 1, 3))
        term = (-1) ** swaps
        for row, column in enumerate(order):
            term = term * torch.einsum("...d,...d->...", vectors[row], vectors[column])
        total = total + term
    return total

# %% gram_determinant right (passed): the rows of the Gram matrix as vectors in space, first times the cross product of the others
def gram_determinant(q, k, r):
    M = torch.stack([q, k, r], dim=-1)
    rows = torch.einsum("...da,...db->...ab", M, M)
    first, second, third = rows.unbind(-2)
    return (first * torch.linalg.cross(second, third, dim=-1)).sum(-1)

# %% gram_determinant right (passed): Cauchy-Binet, the sum of the squares of all 3 by 3 minors, without a single dot product
def gram_determinant(q, k, r):
    d = q.shape[-1]
    if d < 3:
        return (q * k * r).sum(-1) * 0
    a, b, c = torch.combinations(torch.arange(d, device=q.device), r=3).unbind(-1)
    minors = (
        q[..., a] * (k[..., b] * r[..., c] - k[..., c] * r[..., b])
        - q[..., b] * (k[..., a] * r[..., c] - k[..., c] * r[..., a])
        + q[..., c] * (k[..., a] * r[..., b] - k[..., b] * r[..., a])
    )
    return minors.square().sum(-1)

# %% gram_scores wrong (misconception reference-of-the-key): the reference is taken at the key's position, not at the query's
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1)[..., :, None]
    kk = (k * k).sum(-1)[..., None, :]
    rr = (r * r).sum(-1)[..., None, :]
    kr = (k * r).sum(-1)[..., None, :]
    qk = q @ k.mT
    qr = q @ r.mT
    det = qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2
    return -det

# %% gram_scores wrong (misconception not-negative): the minus is forgotten, so the key that sticks out most gets the highest score
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq = q.square().sum(-1).unsqueeze(-1)
    rr = r.square().sum(-1).unsqueeze(-1)
    qr = (q * r).sum(-1).unsqueeze(-1)
    kk = k.square().sum(-1).unsqueeze(-2)
    qk = q @ k.mT
    rk = r @ k.mT
    return qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2

# %% gram_scores wrong (misconception divided-by-a-length-of-0): divides by lengths without a guard, so a query or reference of length 0 makes nan where the score is to be 0
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    q_hat = q / q.norm(dim=-1, keepdim=True)
    rest = r - (r * q_hat).sum(-1, keepdim=True) * q_hat
    r_hat = rest / rest.norm(dim=-1, keepdim=True)
    area2 = q.square().sum(-1, keepdim=True) * rest.square().sum(-1, keepdim=True)
    height2 = k.square().sum(-1).unsqueeze(-2) - (q_hat @ k.mT) ** 2 - (r_hat @ k.mT) ** 2
    return -area2 * height2

# %% gram_scores wrong (misconception reference-as-it-is): the reference is not freed of its part along the query, so what both share is subtracted from the height twice
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    q_hat = nn.functional.normalize(q, dim=-1)
    r_hat = nn.functional.normalize(r, dim=-1)
    area2 = (q * q).sum(-1) * (r * r).sum(-1) - (q * r).sum(-1) ** 2
    height2 = (k * k).sum(-1)[..., None, :] - (q_hat @ k.mT) ** 2 - (r_hat @ k.mT) ** 2
    return -area2[..., :, None] * height2

# %% gram_scores wrong (misconception key-norms-along-rows): |k|² gets its new axis at the end, so row i uses the length of key i and not of key j
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True)
    kk = (k * k).sum(-1, keepdim=True)
    rr = (r * r).sum(-1, keepdim=True)
    qr = (q * r).sum(-1, keepdim=True)
    qk = q @ k.mT
    rk = r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)

# %% gram_scores wrong (property by_matrix_products): broadcasts to [batch, heads, query, key, d_head], the tensor with a vector for each pair that the text rules out
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    q = q.unsqueeze(-2)
    k = k.unsqueeze(-3)
    r = r.unsqueeze(-2)

    def dot(a, b):
        return (a * b).sum(-1)

    qk, kr, rq = dot(q, k), dot(k, r), dot(r, q)
    qq, kk, rr = dot(q, q), dot(k, k), dot(r, r)
    return qq * kr**2 + kk * rq**2 + rr * qk**2 - qq * kk * rr - 2 * qk * kr * rq

# %% gram_scores wrong (property has_room): the line with upcast is gone, so float16 vectors of length 7 overflow
def gram_scores(q, k, r):
    qq, rr, qr = ((a * b).sum(-1, keepdim=True) for a, b in ((q, q), (r, r), (q, r)))
    kk = (k * k).sum(-1).unsqueeze(-2)
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)

# %% gram_scores wrong (property one_at_a_time): the guard against zero is added to every squared length, so short queries or references under long keys get quite another score
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    eps = 1e-3
    qq = q.square().sum(-1, keepdim=True)
    rest = r - (r * q).sum(-1, keepdim=True) / (qq + eps) * q
    ss = rest.square().sum(-1, keepdim=True)
    kk = k.square().sum(-1).unsqueeze(-2)
    height2 = kk - (q @ k.mT) ** 2 / (qq + eps) - (rest @ k.mT) ** 2 / (ss + eps)
    return -qq * ss * height2

# %% gram_scores right (passed): the five terms in einsum
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq = torch.einsum("bhid,bhid->bhi", q, q)
    kk = torch.einsum("bhjd,bhjd->bhj", k, k)
    rr = torch.einsum("bhid,bhid->bhi", r, r)
    qr = torch.einsum("bhid,bhid->bhi", q, r)
    qk = torch.einsum("bhid,bhjd->bhij", q, k)
    rk = torch.einsum("bhid,bhjd->bhij", r, k)
    det = torch.einsum("bhi,bhj->bhij", qq * rr - qr**2, kk)
    det = det - torch.einsum("bhi,bhij->bhij", rr, qk**2)
    det = det - torch.einsum("bhi,bhij->bhij", qq, rk**2)
    det = det + 2 * torch.einsum("bhi,bhij->bhij", qr, qk * rk)
    return -det

# %% gram_scores right (passed): Schur complement with the adjugate of the 2 by 2 Gram matrix, queries and references in one matrix product
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    seq = q.shape[-2]
    qk, rk = (torch.cat([q, r], dim=-2) @ k.mT).split(seq, dim=-2)
    a, b, c = (
        torch.linalg.vecdot(u, w).unsqueeze(-1) for u, w in ((q, q), (q, r), (r, r))
    )
    in_plane = qk * (c * qk - b * rk) + rk * (a * rk - b * qk)
    return in_plane - (a * c - b * b) * torch.linalg.vecdot(k, k).unsqueeze(-2)

# %% gram_scores right (passed): a quadratic form in the key; each query position becomes one d by d matrix, and one product with k kᵀ, flattened, gives all scores
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)

    def outer(a, b):
        return a.unsqueeze(-1) * b.unsqueeze(-2)

    qq, qr, rr = ((a * b).sum(-1)[..., None, None] for a, b in ((q, q), (q, r), (r, r)))
    eye = torch.eye(q.shape[-1], dtype=q.dtype, device=q.device)
    form = (qq * rr - qr**2) * eye - rr * outer(q, q) - qq * outer(r, r) + qr * (outer(q, r) + outer(r, q))
    return -(form.flatten(-2) @ outer(k, k).flatten(-2).mT)

# %% gram_scores right (passed): area times height, with the two directions as real and imaginary part of one complex vector
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    along = nn.functional.normalize(q, dim=-1)
    across = r - torch.sum(r * along, dim=-1, keepdim=True) * along
    plane = torch.complex(along, nn.functional.normalize(across, dim=-1))
    part = torch.view_as_real(plane @ k.to(plane.dtype).mT)
    height2 = k.square().sum(-1).unsqueeze(-2) - part.square().sum(-1)
    area2 = q.square().sum(-1, keepdim=True) * across.square().sum(-1, keepdim=True)
    return -(area2 * height2)

# %% TripleProductAttention wrong (misconception reference-not-turned): RoPE turns queries and keys but not the references
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0 or (d_model // n_head) % 2 != 0:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights=False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (misconception scaled-by-d-model): scores are divided by d_model to the power 1.5, not d_head
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError(f"{d_model} does not split into {n_head} heads of an even width")
        self.n_head = n_head
        self.max_len = max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, return_weights=False):
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError(f"{seq} tokens, but max_len is {self.max_len}")

        def heads(layer):
            return layer(x).view(batch, seq, self.n_head, -1).transpose(1, 2)

        q, k, r = apply_rope(heads(self.W_q)), apply_rope(heads(self.W_k)), apply_rope(heads(self.W_r))
        v = heads(self.W_v)
        scores = gram_scores(q, k, r) / d_model**1.5
        future = torch.triu(torch.ones(seq, seq, dtype=torch.bool, device=x.device), diagonal=1)
        weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).reshape(batch, seq, d_model))
        if return_weights:
            return out, weights
        return out

# %% TripleProductAttention wrong (misconception reference-made-last): W_r is made last and not between W_k and W_v, so the same seed gives other layers
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0 or (d_model // n_head) % 2 != 0:
            raise ValueError("heads need an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.W_r = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, return_weights=False):
        if x.shape[1] > self.max_len:
            raise ValueError("longer than max_len")
        q, k, v, r = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_v, self.W_r)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (property refuses): only the division into heads is tested, heads of an odd width get no ValueError when the layer is made
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0:
            raise ValueError("d_model must be divisible by n_head")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights=False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError("longer than max_len")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        q, k, r = apply_rope(q), apply_rope(k), apply_rope(r)
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (raised): refuses a text of exactly max_len tokens, though only longer ones get the error
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % (2 * n_head):
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        for name in ("W_q", "W_k", "W_r", "W_v", "W_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=False))

    def forward(self, x, return_weights=False):
        seq = x.shape[1]
        if seq >= self.max_len:
            raise ValueError(f"at most {self.max_len} tokens")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(*map(apply_rope, (q, k, r))) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (misconception zero-mask): future scores are set to 0, which is the best score there is, instead of minus infinity
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights=False):
        if x.shape[1] > self.max_len:
            raise ValueError("longer than max_len")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        scores = torch.tril(scores)
        weights = torch.softmax(scores, dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (misconception heads-cut-across-positions-and-back): heads are split by a view straight to [batch, heads, seq, d_head], which cuts across positions
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, return_weights=False):
        b, s, d = x.shape
        if s > self.max_len:
            raise ValueError("longer than max_len")
        shape = (b, self.n_head, s, self.d_head)
        q = apply_rope(self.W_q(x).view(shape))
        k = apply_rope(self.W_k(x).view(shape))
        r = apply_rope(self.W_r(x).view(shape))
        v = self.W_v(x).view(shape)
        scores = gram_scores(q, k, r) / self.d_head**1.5
        mask = torch.ones(s, s, device=x.device).triu(1).bool()
        weights = torch.softmax(scores.masked_fill(mask, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).reshape(b, s, d))
        if return_weights:
            return out, weights
        return out

# %% TripleProductAttention wrong (misconception key-and-reference-swapped): key and reference change places in the call of gram_scores, so keys belong to the query's position
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights=False):
        if x.shape[1] > self.max_len:
            raise ValueError("longer than max_len")
        q, r, k, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_r, self.W_k, self.W_v)
        )
        q, r, k = apply_rope(q), apply_rope(r), apply_rope(k)
        scores = gram_scores(q, r, k) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention right (passed): torch's attention with queries and keys of zeros and the scores handed over as its mask
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        d_head, left = divmod(d_model, n_head)
        if left or d_head % 2:
            raise ValueError(f"d_model={d_model} gives no {n_head} heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_head, max_len
        for name in "qkrvo":
            self.add_module(f"W_{name}", nn.Linear(d_model, d_model, bias=False))

    def forward(self, x, return_weights=False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError(f"a text of {seq} tokens is longer than max_len={self.max_len}")
        q, k, r, v = (
            layer(x).unflatten(-1, (self.n_head, self.d_head)).movedim(-2, 1)
            for layer in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) * self.d_head**-1.5
        barrier = torch.full((seq, seq), -torch.inf, device=x.device, dtype=scores.dtype).triu(1)
        logits = (scores + barrier).to(v.dtype)
        nothing = torch.zeros_like(v)
        mixed = nn.functional.scaled_dot_product_attention(nothing, nothing, v, attn_mask=logits)
        out = self.W_o(mixed.movedim(1, -2).flatten(-2))
        if return_weights:
            return out, logits.softmax(-1)
        return out

# %% TripleProductAttention right (passed): a loop over the heads, each with its own rows of the weight matrices
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0:
            raise ValueError("d_model must be a multiple of n_head")
        if (d_model // n_head) % 2 == 1:
            raise ValueError("the heads must have an even width")
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)
        self.n_head = n_head
        self.d_head = d_model // n_head
        self.max_len = max_len

    def forward(self, x, return_weights=False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError("the text is longer than max_len")
        past = torch.ones(seq, seq, device=x.device).tril() > 0
        q_all, k_all, r_all, v_all = self.W_q(x), self.W_k(x), self.W_r(x), self.W_v(x)
        outs, maps = [], []
        for h in range(self.n_head):
            part = slice(h * self.d_head, (h + 1) * self.d_head)
            q = apply_rope(q_all[:, None, :, part])
            k = apply_rope(k_all[:, None, :, part])
            r = apply_rope(r_all[:, None, :, part])
            scores = gram_scores(q, k, r)[:, 0] / (self.d_head * math_sqrt(self.d_head))
            weights = torch.where(past, scores, -torch.inf).softmax(-1)
            maps.append(weights)
            outs.append(weights.to(v_all.dtype) @ v_all[..., part])
        out = self.W_o(torch.cat(outs, dim=-1))
        return (out, torch.stack(maps, dim=1)) if return_weights else out


def math_sqrt(number):
    return number**0.5

# %% TripleProductAttention right (passed): each vector divided by the fourth root of d_head, which six factors turn into d_head to the power 1.5
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % (2 * n_head):
            raise ValueError("d_model must be a multiple of twice n_head")
        self.n_head, self.max_len = n_head, max_len
        self.shrink = (d_model // n_head) ** -0.25
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in "qkrvo")

    def forward(self, x, return_weights=False):
        b, s, d = x.shape
        if s > self.max_len:
            raise ValueError(f"{s} > {self.max_len}")
        split = lambda t: t.reshape(b, s, self.n_head, -1).permute(0, 2, 1, 3)
        q, k, r = (apply_rope(split(W(x))) * self.shrink for W in (self.W_q, self.W_k, self.W_r))
        scores = gram_scores(q, k, r)
        positions = torch.arange(s, device=x.device)
        scores = scores.masked_fill(positions > positions[:, None], -torch.inf)
        weights = torch.exp(scores - scores.logsumexp(-1, keepdim=True))
        out = self.W_o((weights.to(x.dtype) @ split(self.W_v(x))).permute(0, 2, 1, 3).reshape(b, s, d))
        return (out, weights) if return_weights else out

# %% TripleProductAttention right (passed): einsum with the weights of the layers seen as [heads, d_head, d_model], mask as a buffer that is not saved
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        self.d_head = d_model // n_head
        if self.d_head * n_head != d_model or self.d_head & 1:
            raise ValueError("d_model does not split into heads of an even width")
        self.n_head = n_head
        linears = [nn.Linear(d_model, d_model, bias=False) for _ in range(5)]
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = linears
        self.register_buffer("seen", torch.ones(max_len, max_len, dtype=torch.bool).tril(), persistent=False)

    def project(self, x, layer):
        by_head = layer.weight.view(self.n_head, self.d_head, -1)
        return torch.einsum("bsm,hdm->bhsd", x, by_head)

    def forward(self, x, return_weights=False):
        s = x.shape[1]
        if s > len(self.seen):
            raise ValueError("text longer than max_len")
        turned = [apply_rope(self.project(x, layer)) for layer in (self.W_q, self.W_k, self.W_r)]
        scores = gram_scores(*turned).div(self.d_head**1.5)
        weights = scores.masked_fill(~self.seen[:s, :s], -torch.inf).softmax(-1).type_as(x)
        by_head = self.W_o.weight.view(-1, self.n_head, self.d_head)
        out = torch.einsum("bhij,bhjd,mhd->bim", weights, self.project(x, self.W_v), by_head)
        return (out, weights) if return_weights else out

# %% copy_batch wrong (property draws_from_its_generator): the generator is accepted but never used
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2))
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (property draws_from_its_generator): a fresh generator starts from the seed at every call, so the one that was given never moves on and each batch is the same
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError(f"seq_len must be even, not {seq_len}")
    if generator is not None:
        generator = torch.Generator().manual_seed(generator.initial_seed())
    half = torch.randint(0, vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat(1, 2)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (misconception one-token-missing): randint's upper end is exclusive already, so vocab_size - 1 never draws the last token (and a vocabulary of one raises)
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 == 1:
        raise ValueError("an odd length has no two halves")
    half = torch.randint(0, vocab_size - 1, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat((half, half), dim=-1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (misconception reversed): the second half is the first one backwards
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half.flip(1)], dim=1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (misconception one-text-for-all): one text is drawn and given to every row of the batch
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (seq_len // 2,), generator=generator)
    text = half.repeat(batch_size, 2)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (misconception shifted-backwards): inputs and targets change places, so the model is asked for the token before
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    inputs, targets = text[:, 1:], text[:, :-1]
    return inputs, targets

# %% copy_batch wrong (property few_and_odd): an odd length gets no ValueError, the text is silently one token longer
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    half_len = (seq_len + 1) // 2
    half = torch.randint(vocab_size, (batch_size, half_len), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (misconception rolled): targets are rolled and nothing is cut off, so both have seq_len columns and the last target is the first token
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    inputs = torch.cat([half, half], dim=1)
    targets = torch.roll(inputs, shifts=-1, dims=1)
    return inputs, targets

# %% copy_batch right (passed): places counted modulo half the length pick the tokens of inputs and targets
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    period, odd = divmod(seq_len, 2)
    if odd:
        raise ValueError(f"seq_len must be even, got {seq_len}")
    tokens = torch.randint(high=vocab_size, size=(batch_size, period), generator=generator)
    place = torch.arange(seq_len) % period
    return tokens[:, place[:-1]], tokens[:, place[1:]]

# %% copy_batch right (passed): plain Python lists, one token drawn at a time
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 == 1:
        raise ValueError("The second half cannot repeat the first when the length is odd.")
    inputs, targets = [], []
    for _ in range(batch_size):
        first = []
        for _ in range(seq_len // 2):
            first.append(int(torch.randint(0, vocab_size, (1,), generator=generator)))
        text = first + first
        inputs.append(text[:-1])
        targets.append(text[1:])
    return torch.tensor(inputs, dtype=torch.long), torch.tensor(targets, dtype=torch.long)

# %% copy_batch right (passed): a multinomial draw with even odds, an empty tensor filled half by half, and narrow
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len & 1:
        raise ValueError("odd seq_len")
    n = seq_len // 2
    text = torch.empty(batch_size, seq_len, dtype=torch.long)
    draws = torch.ones(vocab_size).multinomial(batch_size * n, replacement=True, generator=generator)
    text[:, :n] = draws.view(batch_size, n)
    text[:, n:] = text[:, :n]
    return text.narrow(1, 0, seq_len - 1), text.narrow(1, 1, seq_len - 1)

# %% copy_batch right (passed): windows of length seq_len - 1 over the text by unfold, the random numbers filled in place
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len // 2 * 2 != seq_len:
        raise ValueError("seq_len has to be even")
    half = torch.empty(batch_size, 1, seq_len // 2, dtype=torch.int64).random_(0, vocab_size, generator=generator)
    text = half.expand(-1, 2, -1).flatten(1)
    inputs, targets = text.unfold(1, seq_len - 1, 1).unbind(1)
    return inputs.contiguous(), targets.contiguous()
