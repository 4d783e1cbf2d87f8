# %% gram_determinant wrong (misconception cross-term-once): counts the product of the three dot products once instead of twice
def gram_determinant(q, k, r):
    def dot(a, b):
        return torch.einsum("...d,...d->...", a, b)

    qq, kk, rr = dot(q, q), dot(k, k), dot(r, r)
    qk, kr, rq = dot(q, k), dot(k, r), dot(r, q)
    return qq * kk * rr + qk * kr * rq - qq * kr**2 - kk * rq**2 - rr * qk**2

# %% gram_determinant wrong (property volumes): pairs the squared length of q with the wrong dot product, by a copy-paste slip
def gram_determinant(q, k, r):
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    down = qq * kk * rr + 2 * qk * kr * rq
    up = qq * qk**2 + kk * rq**2 + rr * qk**2
    return down - up

# %% gram_determinant wrong (misconception directions-only): puts cosines instead of dot products into the matrix, so lengths are lost
def gram_determinant(q, k, r):
    cos = nn.functional.cosine_similarity
    a, b, c = cos(q, k, dim=-1), cos(k, r, dim=-1), cos(r, q, dim=-1)
    return 1 + 2 * a * b * c - a**2 - b**2 - c**2

# %% gram_determinant wrong (misconception table-of-entries): puts the vectors into columns and multiplies from the wrong side, a d x d matrix that is right only for d = 3
def gram_determinant(q, k, r):
    box = torch.stack([q, k, r], dim=-1)
    return torch.linalg.det(box @ box.mT)

# %% gram_determinant wrong (raised): uses the cross product, which exists only in three dimensions
def gram_determinant(q, k, r):
    return (q * torch.linalg.cross(k, r, dim=-1)).sum(dim=-1).square()

# %% gram_determinant wrong (raised): leaves the 3 x 3 axes of the Gram matrix in front, so det acts on the last two batch axes
def gram_determinant(q, k, r):
    vectors = torch.stack((q, k, r))
    gram = torch.einsum("i...d,j...d->ij...", vectors, vectors)
    return torch.linalg.det(gram)

# %% gram_determinant wrong (misconception singular-values-of-a-plane): multiplies singular values, of which there are only two if the vectors have two numbers
def gram_determinant(q, k, r):
    return torch.linalg.svdvals(torch.stack([q, k, r], dim=-2)).prod(dim=-1) ** 2

# %% gram_determinant wrong (raised): takes a Cholesky factor, which raises an error if the three vectors lie in a plane
def gram_determinant(q, k, r):
    rows = torch.stack([q, k, r], dim=-2)
    lower = torch.linalg.cholesky(rows @ rows.transpose(-1, -2))
    return lower.diagonal(dim1=-2, dim2=-1).prod(dim=-1).square()

# %% gram_determinant wrong (property finite): divides by the squared length of q, so a query of length 0 gives nan instead of 0
def gram_determinant(q, k, r):
    def remove(a, b):
        return a - (a * b).sum(-1, keepdim=True) / (b * b).sum(-1, keepdim=True) * b

    r1, k1 = remove(r, q), remove(k, q)
    # one 2 x 2 Gram determinant is left, of what is perpendicular to q
    rest = (r1 * r1).sum(-1) * (k1 * k1).sum(-1) - (r1 * k1).sum(-1) ** 2
    return (q * q).sum(-1) * rest

# %% gram_determinant wrong (property lets_gradients_through): goes through numpy, so no gradient flows back
def gram_determinant(q, k, r):
    import numpy as np

    rows = torch.stack([q, k, r], dim=-2).detach()
    found = np.linalg.det((rows @ rows.mT).cpu().numpy())
    return torch.as_tensor(found, dtype=q.dtype, device=q.device)

# %% gram_determinant right (passed): sums over all permutations with their signs, as in the Leibniz formula
def gram_determinant(q, k, r):
    from itertools import permutations

    vectors = (q, k, r)
    gram = [[(a * b).sum(dim=-1) for b in vectors] for a in vectors]
    total = 0
    for a, b, c in permutations(range(3)):
        sign = (b - a) * (c - a) * (c - b) // 2
        total = total + sign * gram[0][a] * gram[1][b] * gram[2][c]
    return total

# %% gram_determinant right (passed): takes the rows of the Gram matrix as three vectors in space, and their triple product
def gram_determinant(q, k, r):
    rows = torch.stack((q, k, r), dim=-2)
    first, second, third = (rows @ rows.mT).unbind(dim=-2)
    return torch.linalg.vecdot(first, torch.linalg.cross(second, third, dim=-1))

# %% gram_scores wrong (misconception reference-of-the-key): takes the reference of the key's position instead of the query's
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq = q.square().sum(-1)[..., :, None]
    kk = k.square().sum(-1)[..., None, :]
    rr = r.square().sum(-1)[..., None, :]
    kr = (k * r).sum(-1)[..., None, :]
    qk, qr = q @ k.mT, q @ r.mT
    return -(qq * kk * rr + 2 * qk * kr * qr - qq * kr**2 - kk * qr**2 - rr * qk**2)

# %% gram_scores wrong (property one_at_a_time): has keys and queries the other way round in the products of key and reference
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    dot = lambda a, b: (a * b).sum(dim=-1)
    qq, rr, qr = dot(q, q).unsqueeze(-1), dot(r, r).unsqueeze(-1), dot(q, r).unsqueeze(-1)
    kk = dot(k, k).unsqueeze(-2)
    qk = q @ k.mT
    kr = k @ r.mT
    return qq * kr**2 + kk * qr**2 + rr * qk**2 - qq * kk * rr - 2 * qk * kr * qr

# %% gram_scores wrong (property one_at_a_time): multiplies the squared height by the area instead of the squared area
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    along = nn.functional.normalize(q, dim=-1)
    rest = r - (r * along).sum(-1, keepdim=True) * along
    across = nn.functional.normalize(rest, dim=-1)
    area = q.norm(dim=-1, keepdim=True) * rest.norm(dim=-1, keepdim=True)
    height2 = (k * k).sum(-1).unsqueeze(-2) - (along @ k.mT) ** 2 - (across @ k.mT) ** 2
    return -area * height2

# %% gram_scores wrong (property one_at_a_time): divides the squared dot product with the remainder by its length instead of its squared length
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True)
    safe = torch.where(qq > 0, qq, 1)
    rest = r - (q * r).sum(-1, keepdim=True) / safe * q
    ss = (rest * rest).sum(-1, keepdim=True)
    length = torch.where(ss > 0, ss, 1).sqrt()
    height2 = (k * k).sum(-1)[..., None, :] - (q @ k.mT) ** 2 / safe - (rest @ k.mT) ** 2 / length
    return -(qq * ss) * height2

# %% gram_scores wrong (misconception cross-term-once): leaves out the factor 2 only in the mixed term of five
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qk = torch.einsum("bhid,bhjd->bhij", q, k)
    rk = torch.einsum("bhid,bhjd->bhij", r, k)
    qq, rr, qr = (torch.einsum("bhid,bhid->bhi", a, b)[..., None] for a, b in ((q, q), (r, r), (q, r)))
    kk = torch.einsum("bhjd,bhjd->bhj", k, k)[:, :, None]
    return -qq * kk * rr - qr * qk * rk + qq * rk**2 + kk * qr**2 + rr * qk**2

# %% gram_scores wrong (property lets_gradients_through): replaces nan by 0 only after the division by a length of 0, so the gradients are nan
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq = q.pow(2).sum(-1, keepdim=True)
    rest = r - (q * r).sum(-1, keepdim=True) / qq * q
    ss = rest.pow(2).sum(-1, keepdim=True)
    height2 = k.pow(2).sum(-1).unsqueeze(-2) - (q @ k.mT).pow(2) / qq - (rest @ k.mT).pow(2) / ss
    return -torch.nan_to_num(qq * ss * height2, nan=0.0)

# %% gram_scores wrong (property by_matrix_products): builds for each pair the vector from the plane up to the key, right numbers with a forbidden tensor
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    along = nn.functional.normalize(q, dim=-1)
    rest = r - (r * along).sum(-1, keepdim=True) * along
    across = nn.functional.normalize(rest, dim=-1)
    a, b = along @ k.mT, across @ k.mT
    up = k[:, :, None] - a[..., None] * along[..., None, :] - b[..., None] * across[..., None, :]
    area2 = q.square().sum(-1) * rest.square().sum(-1)
    return -area2[..., None] * up.square().sum(-1)

# %% gram_scores wrong (dtype): always ends in float32, although float64 vectors stay float64 after upcast
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qk, rk = q @ k.mT, r @ k.mT
    qq, rr, qr = ((a * b).sum(-1, keepdim=True) for a, b in ((q, q), (r, r), (q, r)))
    kk = (k * k).sum(-1, keepdim=True).mT
    det = kk * (qq * rr - qr**2) + 2 * qr * qk * rk - qq * rk**2 - rr * qk**2
    return -det.float()

# %% gram_scores wrong (difference constant): returns zeros for the whole batch as soon as one query and its reference span no plane
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True)
    if (qq == 0).any() or (r == 0).all(-1).any():
        return (q @ k.mT) * 0
    rest = r - (q * r).sum(-1, keepdim=True) / qq * q
    ss = (rest * rest).sum(-1, keepdim=True)
    if (ss == 0).any():
        return (q @ k.mT) * 0
    return -qq * ss * (k * k).sum(-1)[..., None, :] + ss * (q @ k.mT) ** 2 + qq * (rest @ k.mT) ** 2

# %% gram_scores wrong (raised): solves a 2 x 2 system for the component in the plane, which raises an error where there is no plane
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq, rr, qr = ((a * b).sum(-1) for a, b in ((q, q), (r, r), (q, r)))
    gram = torch.stack([torch.stack([qq, qr], -1), torch.stack([qr, rr], -1)], -2)
    inverse = torch.linalg.inv(gram)
    a, b = q @ k.mT, r @ k.mT
    corner = lambda i, j: inverse[..., i, j, None]
    inside = corner(0, 0) * a * a + 2 * corner(0, 1) * a * b + corner(1, 1) * b * b
    return -(qq * rr - qr * qr)[..., None] * ((k * k).sum(-1)[..., None, :] - inside)

# %% gram_scores right (passed): five terms as einsums, collected in the key's dot products
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    own = "bhid,bhid->bhi"
    qq = torch.einsum(own, q, q).unsqueeze(3)
    rr = torch.einsum(own, r, r).unsqueeze(3)
    qr = torch.einsum(own, q, r).unsqueeze(3)
    kk = torch.einsum(own, k, k).unsqueeze(2)
    qk, rk = torch.einsum("xbhid,bhjd->xbhij", torch.stack([q, r]), k)
    return (qr * qr - qq * rr) * kk + rk * (qq * rk - qr * qk) + qk * (rr * qk - qr * rk)

# %% gram_scores right (passed): squared area times squared height with normalize, which turns a vector of length 0 into 0
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    unit = nn.functional.normalize
    east = unit(q, dim=-1)
    rest = r - torch.linalg.vecdot(r, east).unsqueeze(-1) * east
    north = unit(rest, dim=-1)
    area2 = torch.linalg.vecdot(q, q) * torch.linalg.vecdot(rest, rest)
    ground2 = torch.matmul(east, k.mT).square() + torch.matmul(north, k.mT).square()
    return area2.unsqueeze(-1) * (ground2 - torch.linalg.vecdot(k, k).unsqueeze(-2))

# %% TripleProductAttention wrong (difference milestone): rotates the values instead of the references
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model does not give heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights=False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        layers = (self.W_q, self.W_k, self.W_r, self.W_v)
        q, k, r, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in layers)
        q, k, v = apply_rope(q), apply_rope(k), apply_rope(v)
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (misconception scaled-by-d-model): scales by the width of the model instead of the width of a head
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        d_head, left = divmod(d_model, n_head)
        if left or d_head % 2 == 1:
            raise ValueError(f"{d_model} cannot be divided into {n_head} heads of an even width")
        self.d_model, self.n_head, self.max_len = d_model, n_head, max_len
        for name in "qkrvo":
            setattr(self, f"W_{name}", nn.Linear(d_model, d_model, bias=False))

    def forward(self, x, return_weights=False):
        batch, seq, d = x.shape
        if seq > self.max_len:
            raise ValueError(f"{seq} tokens, at most {self.max_len} fit")
        heads = lambda y: y.view(batch, seq, self.n_head, -1).permute(0, 2, 1, 3)
        q, k, r = (apply_rope(heads(w(x))) for w in (self.W_q, self.W_k, self.W_r))
        scores = gram_scores(q, k, r) / self.d_model**1.5
        seen = torch.ones(seq, seq, device=x.device).tril().bool()
        weights = scores.masked_fill(~seen, float("-inf")).softmax(dim=-1).to(x.dtype)
        out = self.W_o((weights @ heads(self.W_v(x))).permute(0, 2, 1, 3).reshape(batch, seq, d))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (misconception heads-not-moved-back): merges the heads with a reshape but without the transpose back
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % (2 * n_head):
            raise ValueError("each head needs an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, return_weights=False):
        if x.size(1) > self.max_len:
            raise ValueError("too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, self.d_head)).transpose(1, 2)
            for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        i = torch.arange(x.size(1), device=x.device)
        weights = scores.masked_fill(i > i[:, None], -torch.inf).softmax(-1).to(v.dtype)
        out = self.W_o((weights @ v).reshape(x.shape))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (property refuses): compares the number of texts with max_len instead of their length
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % n_head != 0 or d_model // n_head % 2 != 0:
            raise ValueError("bad d_model")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = [nn.Linear(d_model, d_model, bias=False) for _ in "qkrvo"]

    def forward(self, x, return_weights=False):
        if len(x) > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(*map(apply_rope, (q, k, r))) / self.d_head**1.5
        future = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (property causal): masks with minus 1e9, which is not below the scores of very large inputs
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("bad d_model")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights=False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        split = lambda w: w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
        q, k, r = (apply_rope(split(w)) for w in (self.W_q, self.W_k, self.W_r))
        v = split(self.W_v)
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, -1e9).softmax(-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (property finite_when_scaled): writes the softmax by hand without subtracting the largest score, so large inputs give 0 / 0
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("bad d_model")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights=False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        split = lambda w: w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
        q, k, r = (apply_rope(split(w)) for w in (self.W_q, self.W_k, self.W_r))
        v = split(self.W_v)
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        # scores are at most 0, so exp cannot overflow
        parts = torch.exp(scores.masked_fill(future, -torch.inf))
        weights = (parts / parts.sum(dim=-1, keepdim=True)).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (property refuses): tests whether d_model is even, not whether the width of a head is even
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % n_head != 0:
            raise ValueError(f"d_model {d_model} is no multiple of n_head {n_head}")
        if d_model % 2 != 0:
            raise ValueError("RoPE needs an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights=False):
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)).div(self.d_head**1.5)
        hidden = torch.full((seq, seq), -torch.inf, device=x.device).triu(1)
        weights = (scores + hidden).softmax(-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (property moves_with_its_module): keeps the mask as a plain attribute, which stays on the CPU when the layer moves
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("bad d_model")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))
        self.mask = torch.zeros(max_len, max_len).masked_fill(torch.ones(max_len, max_len).triu(1) == 1, -torch.inf)

    def forward(self, x, return_weights=False):
        n = x.shape[1]
        if n > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        weights = (scores + self.mask[:n, :n]).softmax(-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (misconception turned-before-the-split): rotates before the heads are split, so that only a layer with one head is right
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("bad d_model")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights=False):
        b, n, d = x.shape
        if n > self.max_len:
            raise ValueError("text too long")
        rotated = [apply_rope(self.W_q(x)), apply_rope(self.W_k(x)), apply_rope(self.W_r(x)), self.W_v(x)]
        q, k, r, v = [y.view(b, n, self.n_head, self.d_head).transpose(1, 2) for y in rotated]
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).reshape(b, n, d))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (raised): rejects a text of exactly max_len tokens
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("bad d_model")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights=False):
        seq = x.shape[1]
        if not seq < self.max_len:
            raise ValueError(f"the text has {seq} tokens, more than {self.max_len}")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(seq, seq, dtype=torch.bool, device=x.device).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention right (passed): a mask in a buffer that is not saved, layers created in a loop, one call of rope on stacked vectors
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % (2 * n_head) != 0:
            raise ValueError(f"{d_model} cannot be divided into {n_head} heads of an even width.")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        for name in ("W_q", "W_k", "W_r", "W_v", "W_o"):
            self.add_module(name, nn.Linear(d_model, d_model, bias=False))
        visible = torch.tril(torch.ones(max_len, max_len, dtype=torch.bool))
        self.register_buffer("visible", visible, persistent=False)

    def forward(self, x, return_weights=False):
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError(f"A text of {seq} tokens is longer than {self.max_len}.")
        parts = torch.stack([w(x) for w in (self.W_q, self.W_k, self.W_r, self.W_v)])
        parts = parts.view(4, batch, seq, self.n_head, self.d_head).transpose(2, 3)
        scores = gram_scores(*apply_rope(parts[:3])) * self.d_head**-1.5
        weights = torch.where(self.visible[:seq, :seq], scores, -torch.inf).softmax(dim=-1)
        mixed = torch.einsum("bhqk,bhkd->bqhd", weights.to(parts.dtype), parts[3])
        out = self.W_o(mixed.reshape(batch, seq, d_model))
        return (out, weights) if return_weights else out

# %% TripleProductAttention right (passed): positions compared for the mask, log_softmax and exp instead of softmax
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        width, left_over = divmod(d_model, n_head)
        if left_over or width & 1:
            raise ValueError(f"no {n_head} heads of even width in {d_model}")
        self.n_head, self.d_head, self.max_len = n_head, width, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def _heads(self, y):
        return torch.stack(y.split(self.d_head, dim=-1), dim=1)

    def forward(self, x, return_weights=False):
        if x.shape[1] > self.max_len:
            raise ValueError(f"at most {self.max_len} tokens, not {x.shape[1]}")
        q, k, r = (apply_rope(self._heads(w(x))) for w in (self.W_q, self.W_k, self.W_r))
        place = torch.arange(x.shape[1], device=x.device)
        scores = gram_scores(q, k, r) / self.d_head**1.5
        scores = scores.masked_fill(place[None, :] > place[:, None], -torch.inf)
        weights = nn.functional.log_softmax(scores, dim=-1).exp()
        mixed = weights.to(x.dtype) @ self._heads(self.W_v(x))
        out = self.W_o(torch.cat(mixed.unbind(dim=1), dim=-1))
        if return_weights:
            return out, weights
        return out

# %% copy_batch wrong (misconception shifted-backwards): returns targets and inputs the other way round
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    first = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = first.repeat(1, 2)
    return text[:, 1:], text[:, :-1]

# %% copy_batch wrong (misconception twice-as-long): repeats a whole text of seq_len tokens, so the text is twice as long as asked
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 != 0:
        raise ValueError(f"{seq_len} is odd")
    half = torch.randint(0, vocab_size, (batch_size, seq_len), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (misconception token-by-token): repeats each token at once instead of the half after the half
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    half, odd = divmod(seq_len, 2)
    if odd:
        raise ValueError("odd length")
    text = torch.randint(vocab_size, (batch_size, half), generator=generator).repeat_interleave(2, dim=1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (shape): shuffles the vocabulary for each text, so no token can occur twice in a half
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError("odd length")
    rows = [torch.randperm(vocab_size, generator=generator)[: seq_len // 2] for _ in range(batch_size)]
    text = torch.stack(rows).tile((1, 2))
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (dtype): returns tokens as float numbers
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 == 1:
        raise ValueError("odd length")
    share = torch.rand(batch_size, seq_len // 2, generator=generator)
    first = torch.floor(share * vocab_size)
    text = torch.hstack([first, first])
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (misconception one-token-missing): never samples the last token, because high is already exclusive
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError("odd length")
    first = torch.randint(low=0, high=vocab_size - 1, size=(batch_size, seq_len // 2), generator=generator)
    text = torch.cat((first, first.clone()), dim=-1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (property draws_from_its_generator): makes a new generator if there is none, which gives the same texts in every call
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError("odd length")
    generator = generator or torch.Generator()
    text = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator).repeat(1, 2)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (property draws_from_its_generator): seeds the global generator instead of drawing from the given one, so each call gives the same batch
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError("odd length")
    if generator is not None:
        torch.manual_seed(generator.initial_seed())
    text = torch.randint(vocab_size, (batch_size, seq_len // 2)).repeat(1, 2)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (misconception one-text-for-all): samples one text and gives it to the whole batch
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError("odd length")
    first = torch.randint(vocab_size, (seq_len // 2,), generator=generator)
    text = torch.cat([first, first]).expand(batch_size, seq_len)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (property few_and_odd): tests whether the half is odd, so a length of 6 is refused and a length of 5 is cut to 4
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    half = seq_len // 2
    if half % 2:
        raise ValueError("the length must be even")
    first = torch.randint(vocab_size, (batch_size, half), generator=generator)
    text = torch.cat([first, first], dim=1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch right (passed): multinomial with replacement, and an index that wraps around
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len & 1:
        raise ValueError(f"seq_len must be even; got {seq_len}")
    half = seq_len // 2
    equal = torch.ones(batch_size, vocab_size)
    first = torch.multinomial(equal, half, replacement=True, generator=generator)
    places = torch.arange(seq_len) % half
    return first[:, places[:-1]], first[:, places[1:]]

# %% copy_batch right (passed): fills an empty tensor in place with random_, then two narrow views
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    half, odd = divmod(seq_len, 2)
    if odd:
        raise ValueError("a text of odd length has no two equal halves")
    text = torch.empty(batch_size, 2, half, dtype=torch.int64)
    text[:, 0].random_(0, vocab_size, generator=generator)
    text[:, 1] = text[:, 0]
    text = text.flatten(1)
    return text.narrow(1, 0, seq_len - 1), text.narrow(1, 1, seq_len - 1)
