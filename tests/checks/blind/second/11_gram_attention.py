# %% gram_determinant wrong (property volumes): returns the volume, not the squared volume that the docstring promises
def gram_determinant(q, k, r):
    vectors = torch.stack([q, k, r], dim=-2)
    gram = vectors @ vectors.mT
    return torch.linalg.det(gram).clamp(min=0).sqrt()

# %% gram_determinant wrong (misconception cross-term-once): the product of the three mixed dot products counts once, but two diagonals hold it
def gram_determinant(q, k, r):
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    return qq * kk * rr + qk * kr * rq - qq * kr**2 - kk * rq**2 - rr * qk**2

# %% gram_determinant wrong (shape): sums over all axes, so that axes in front are mixed into one number
def gram_determinant(q, k, r):
    def dot(a, b):
        return (a * b).sum()

    qq, kk, rr = dot(q, q), dot(k, k), dot(r, r)
    qk, kr, rq = dot(q, k), dot(k, r), dot(r, q)
    return qq * kk * rr + 2 * qk * kr * rq - qq * kr**2 - kk * rq**2 - rr * qk**2

# %% gram_determinant wrong (raised): the cross product exists in three dimensions only, the page wants any number (raises at 64)
def gram_determinant(q, k, r):
    floor = torch.linalg.cross(q, r, dim=-1)
    return (floor * k).sum(-1) ** 2

# %% gram_determinant wrong (property lets_gradients_through): query and reference are detached as "the floor", so no gradient flows to them
def gram_determinant(q, k, r):
    floor_q, floor_r = q.detach(), r.detach()
    vectors = torch.stack([floor_q, k, floor_r], dim=-2)
    g = vectors @ vectors.mT
    down = g[..., 0, 0] * g[..., 1, 1] * g[..., 2, 2] + 2 * g[..., 0, 1] * g[..., 1, 2] * g[..., 2, 0]
    up = g[..., 0, 0] * g[..., 1, 2] ** 2 + g[..., 1, 1] * g[..., 0, 2] ** 2 + g[..., 2, 2] * g[..., 0, 1] ** 2
    return down - up

# %% gram_determinant wrong (misconception directions-only): compares directions only (cosines), so the lengths are lost from the volume
def gram_determinant(q, k, r):
    q, k, r = (nn.functional.normalize(v, dim=-1) for v in (q, k, r))
    qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    return 1 + 2 * qk * kr * rq - kr**2 - rq**2 - qk**2

# %% gram_determinant wrong (misconception singular-values-of-a-plane): in two dimensions there are only two singular values, and their product is not 0 as the volume is
def gram_determinant(q, k, r):
    body = torch.stack([q, k, r], dim=-2)
    return torch.linalg.svdvals(body).prod(dim=-1) ** 2

# %% gram_determinant wrong (misconception squares-beside-their-own): squared lengths meet the wrong squares (q.q with q.k, k.k with k.r, r.r with r.q)
def gram_determinant(q, k, r):
    qq, kk, rr = (q * q).sum(-1), (k * k).sum(-1), (r * r).sum(-1)
    qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
    return qq * kk * rr + 2 * qk * kr * rq - qq * qk**2 - kk * kr**2 - rr * rq**2

# %% gram_determinant right (passed): six diagonals with einsum
def gram_determinant(q, k, r):
    dot = lambda a, b: torch.einsum("...d,...d->...", a, b)  # noqa: E731
    lengths = dot(q, q) * dot(k, k) * dot(r, r)
    mixed = dot(q, k) * dot(k, r) * dot(r, q)
    up = dot(q, q) * dot(k, r).square() + dot(k, k) * dot(r, q).square() + dot(r, r) * dot(q, k).square()
    return lengths + mixed + mixed - up

# %% gram_determinant right (passed): Leibniz' sum over all permutations of three, in loops
def gram_determinant(q, k, r):
    from itertools import permutations

    vectors = [q, k, r]
    total = 0
    for order in permutations(range(3)):
        inversions = sum(order[a] > order[b] for a in range(3) for b in range(a + 1, 3))
        term = 1
        for row, column in enumerate(order):
            term = term * (vectors[row] * vectors[column]).sum(dim=-1)
        total = total - term if inversions % 2 else total + term
    return total

# %% gram_determinant right (passed): Cauchy-Binet, the sum of the squared 3 x 3 minors over all triples of coordinates
def gram_determinant(q, k, r):
    a, b, c = torch.combinations(torch.arange(q.shape[-1], device=q.device), 3).unbind(-1)
    minors = (
        q[..., a] * (k[..., b] * r[..., c] - k[..., c] * r[..., b])
        - q[..., b] * (k[..., a] * r[..., c] - k[..., c] * r[..., a])
        + q[..., c] * (k[..., a] * r[..., b] - k[..., b] * r[..., a])
    )
    return minors.square().sum(-1)

# %% gram_determinant right (passed): Gram-Schmidt, base times width times height, each squared
def gram_determinant(q, k, r):
    product, basis = 1.0, []
    for vector in (q, r, k):
        for direction in basis:
            vector = vector - (vector * direction).sum(-1, keepdim=True) * direction
        product = product * vector.pow(2).sum(-1)
        basis.append(nn.functional.normalize(vector, dim=-1))
    return product

# %% gram_scores wrong (misconception key-norms-along-rows): the keys' squared lengths are laid along the query axis, so entry [i, j] uses |k_i|
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    qq = (q * q).sum(-1, keepdim=True)
    kk = (k * k).sum(-1, keepdim=True)
    rr = (r * r).sum(-1, keepdim=True)
    qr = (q * r).sum(-1, keepdim=True)
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * qr - qq * rk**2 - kk * qr**2 - rr * qk**2)

# %% gram_scores wrong (property by_matrix_products): broadcasts the vectors, so that products hold a whole vector for each pair, which the page forbids
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    return -gram_determinant(q.unsqueeze(3), k.unsqueeze(2), r.unsqueeze(3))

# %% gram_scores wrong (property lets_gradients_through): nan is replaced in the scores only; with a query or reference of length 0 the gradients are nan
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    e1 = q / q.pow(2).sum(-1, keepdim=True).sqrt()
    rest = r - (r * e1).sum(-1, keepdim=True) * e1
    e2 = rest / rest.pow(2).sum(-1, keepdim=True).sqrt()
    area2 = q.pow(2).sum(-1, keepdim=True) * rest.pow(2).sum(-1, keepdim=True)
    height2 = k.pow(2).sum(-1).unsqueeze(-2) - (e1 @ k.mT) ** 2 - (e2 @ k.mT) ** 2
    return torch.nan_to_num(-area2 * height2, nan=0.0)

# %% gram_scores wrong (misconception divided-by-a-length-of-0): divides by |q| and by the rest's length without a guard, so a query or reference of length 0 gives nan
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    u = q / q.norm(dim=-1, keepdim=True)
    w = r - (r * u).sum(-1, keepdim=True) * u
    area2 = (q**2).sum(-1) * (w**2).sum(-1)
    w = w / w.norm(dim=-1, keepdim=True)
    height2 = (k**2).sum(-1)[:, :, None, :] - (u @ k.mT) ** 2 - (w @ k.mT) ** 2
    return -area2[..., None] * height2

# %% gram_scores wrong (difference constant): an area below 1e-2 counts as "no plane", so short but honest queries and references score 0
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    u = nn.functional.normalize(q, dim=-1)
    w = r - (r * u).sum(-1, keepdim=True) * u
    area2 = (q**2).sum(-1, keepdim=True) * (w**2).sum(-1, keepdim=True)
    w = nn.functional.normalize(w, dim=-1)
    height2 = (k**2).sum(-1).unsqueeze(-2) - (u @ k.mT) ** 2 - (w @ k.mT) ** 2
    return torch.where(area2.sqrt() < 1e-2, torch.zeros_like(height2), -area2 * height2)

# %% gram_scores wrong (property leaves_its_inputs): subtracts from the reference in place, so the caller's tensor changes and gradients cannot flow to it as a leaf
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    u = nn.functional.normalize(q, dim=-1)
    r -= (r * u).sum(-1, keepdim=True) * u
    area2 = (q * q).sum(-1, keepdim=True) * (r * r).sum(-1, keepdim=True)
    w = nn.functional.normalize(r, dim=-1)
    height2 = (k * k).sum(-1).unsqueeze(-2) - (u @ k.mT).square() - (w @ k.mT).square()
    return -area2 * height2

# %% gram_scores wrong (property has_room): goes back to the inputs' number format, so that float16 scores overflow to -inf, which upcast was to prevent
def gram_scores(q, k, r):
    dtype = q.dtype
    q, k, r = gram_attention.upcast(q, k, r)
    u = nn.functional.normalize(q, dim=-1)
    w = r - (r * u).sum(-1, keepdim=True) * u
    area2 = (q * q).sum(-1, keepdim=True) * (w * w).sum(-1, keepdim=True)
    w = nn.functional.normalize(w, dim=-1)
    height2 = (k * k).sum(-1).unsqueeze(-2) - (u @ k.mT).square() - (w @ k.mT).square()
    return (-area2 * height2).to(dtype)

# %% gram_scores wrong (misconception reference-as-it-is): takes away the part along the reference itself, not along what is left of it at a right angle to the query
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    u = nn.functional.normalize(q, dim=-1)
    w = nn.functional.normalize(r, dim=-1)
    area2 = (q * q).sum(-1) * (r * r).sum(-1) - (q * r).sum(-1) ** 2
    height2 = (k * k).sum(-1).unsqueeze(-2) - (u @ k.mT) ** 2 - (w @ k.mT) ** 2
    return -area2.unsqueeze(-1) * height2

# %% gram_scores right (passed): five terms with einsum, worked out in float64
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    dtype = q.dtype
    q, k, r = q.double(), k.double(), r.double()
    qk = torch.einsum("bhid,bhjd->bhij", q, k)
    rk = torch.einsum("bhid,bhjd->bhij", r, k)
    qq = torch.einsum("bhid,bhid->bhi", q, q)[:, :, :, None]
    rr = torch.einsum("bhid,bhid->bhi", r, r)[:, :, :, None]
    qr = torch.einsum("bhid,bhid->bhi", q, r)[:, :, :, None]
    kk = torch.einsum("bhjd,bhjd->bhj", k, k)[:, :, None, :]
    det = qq * kk * rr + 2 * qk * rk * qr - qq * rk.square() - kk * qr.square() - rr * qk.square()
    return (-det).to(dtype)

# %% gram_scores right (passed): area times height with F.normalize, the height kept from falling below 0
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)
    along = nn.functional.normalize(q, dim=-1)
    across = r - (r * along).sum(dim=-1, keepdim=True) * along
    area_squared = q.square().sum(-1) * across.square().sum(-1)
    across = nn.functional.normalize(across, dim=-1)
    height_squared = k.square().sum(-1).unsqueeze(-2) - (along @ k.mT).square() - (across @ k.mT).square()
    return -(area_squared.unsqueeze(-1) * height_squared.clamp(min=0))

# %% gram_scores right (passed): a quadratic form; a d x d matrix for each position meets the outer product of each key with itself in one matrix product
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)

    def outer(a, b):
        return a.unsqueeze(-1) * b.unsqueeze(-2)

    dot = lambda a, b: (a * b).sum(-1)[..., None, None]  # noqa: E731
    qq, rr, qr = dot(q, q), dot(r, r), dot(q, r)
    eye = torch.eye(q.shape[-1], dtype=q.dtype, device=q.device)
    form = (qq * rr - qr * qr) * eye - rr * outer(q, q) - qq * outer(r, r) + qr * (outer(q, r) + outer(r, q))
    return -(form.flatten(-2) @ outer(k, k).flatten(-2).mT)

# %% gram_scores right (passed): the two directions as real and imaginary part of one complex vector, guarded with torch.where
def gram_scores(q, k, r):
    q, k, r = gram_attention.upcast(q, k, r)

    def split(v):
        squared = (v * v).sum(-1, keepdim=True)
        empty = squared == 0
        safe = torch.where(empty, torch.ones_like(squared), squared)
        return squared, torch.where(empty, torch.zeros_like(v), v * safe.rsqrt())

    base, e1 = split(q)
    width, e2 = split(r - (r * e1).sum(-1, keepdim=True) * e1)
    shadow = torch.complex(e1, e2) @ torch.complex(k, torch.zeros_like(k)).mT
    return base * width * (shadow.real**2 + shadow.imag**2 - (k * k).sum(-1).unsqueeze(-2))

# %% TripleProductAttention wrong (property causal): hides the future with -1e9, which loud inputs' scores fall below, so that the future is seen
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -1e9), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (misconception reference-not-turned): the references are not turned by RoPE
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % (2 * n_head) != 0:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (misconception reference-made-last): W_r is made last, not between W_k and W_v, so the order that the page names is broken
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.W_r = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (property refuses): looks only at the width that whole division gives; a d_model of 10 in 4 heads gets no ValueError, and forward fails later with another error
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if (d_model // n_head) % 2 != 0:
            raise ValueError("heads must have an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (property moves_with_its_module): forward makes the additive mask on the default device, not on its input's
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights: bool = False):
        seq = x.shape[1]
        if seq > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        mask = torch.full((seq, seq), -torch.inf).triu(1)
        weights = torch.softmax(scores + mask, dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (misconception no-rope): RoPE is applied before the head axis moves forward, so it turns by the head's number instead of the position
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r = (
            apply_rope(w(x).unflatten(-1, (self.n_head, -1))).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r)
        )
        v = self.W_v(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2)
        scores = gram_scores(q, k, r) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (raised): a text of exactly max_len is refused, though only longer ones should be
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights: bool = False):
        if not x.shape[1] < self.max_len:
            raise ValueError(f"text of {x.shape[1]} tokens, max_len is {self.max_len}")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention wrong (property finite_when_scaled): a softmax by hand without taking off the largest score; for loud inputs every exponential is 0 and the weights are nan
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head or (d_model // n_head) % 2:
            raise ValueError("d_model must split into heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError("text too long")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        volume_weights = torch.exp(scores).tril()
        weights = (volume_weights / volume_weights.sum(-1, keepdim=True)).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention right (passed): the sibling, with positions compared for the mask
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % (2 * n_head):
            raise ValueError(f"{d_model} does not split into {n_head} heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x: Float[Tensor, "batch seq d_model"], return_weights: bool = False):
        if x.shape[1] > self.max_len:
            raise ValueError(f"{x.shape[1]} tokens are more than {self.max_len}")
        q, k, r, v = (
            w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_r, self.W_v)
        )
        place = torch.arange(x.shape[1], device=x.device)
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        scores = torch.where(place[None, :] <= place[:, None], scores, float("-inf"))
        weights = scores.softmax(-1).to(v.dtype)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% TripleProductAttention right (passed): the scale goes into the vectors (each by d_head to -1/4, six of them make -1.5), softmax by log-sum-exp, einsum for the mixing
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        width, remainder = divmod(d_model, n_head)
        if remainder != 0 or width % 2 == 1:
            raise ValueError("heads must have an even width")
        super().__init__()
        self.heads, self.width, self.max_len = n_head, width, max_len
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def _turned(self, layer, x):
        batch, seq, _ = x.shape
        return apply_rope(layer(x).reshape(batch, seq, self.heads, self.width).permute(0, 2, 1, 3)) * self.width**-0.25

    def forward(self, x, return_weights=False):
        batch, seq, d_model = x.shape
        if seq > self.max_len:
            raise ValueError("this text is too long")
        scores = gram_scores(*(self._turned(layer, x) for layer in (self.W_q, self.W_k, self.W_r)))
        scores = scores + torch.full((seq, seq), -torch.inf, dtype=scores.dtype, device=x.device).triu(1)
        weights = torch.exp(scores - scores.logsumexp(-1, keepdim=True)).to(x.dtype)
        values = self.W_v(x).reshape(batch, seq, self.heads, self.width)
        mixed = torch.einsum("bhij,bjhd->bihd", weights, values).reshape(batch, seq, d_model)
        if return_weights:
            return self.W_o(mixed), weights
        return self.W_o(mixed)

# %% TripleProductAttention right (passed): no mask at all; every position's softmax runs over its own past, head by head
class TripleProductAttention(nn.Module):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        super().__init__()
        if d_model % n_head != 0 or d_model // n_head % 2 != 0:
            raise ValueError("d_model must be n_head times an even number")
        self.n_head = n_head
        self.d_head = d_model // n_head
        self.max_len = max_len
        for name in "qkrvo":
            setattr(self, f"W_{name}", nn.Linear(d_model, d_model, bias=False))

    def forward(self, x, return_weights: bool = False):
        seq = x.size(1)
        if seq > self.max_len:
            raise ValueError("too long")
        outs, all_weights = [], []
        parts = [w(x).chunk(self.n_head, dim=-1) for w in (self.W_q, self.W_k, self.W_r, self.W_v)]
        for q, k, r, v in zip(*parts):
            q, k, r = (apply_rope(t.unsqueeze(1)) for t in (q, k, r))
            scores = gram_scores(q, k, r).squeeze(1) / self.d_head ** (3 / 2)
            rows = []
            for i in range(seq):
                past = scores[:, i, : i + 1].softmax(dim=-1)
                rows.append(nn.functional.pad(past, (0, seq - 1 - i)))
            weights = torch.stack(rows, dim=1).to(v.dtype)
            outs.append(weights @ v)
            all_weights.append(weights)
        out = self.W_o(torch.cat(outs, dim=-1))
        return (out, torch.stack(all_weights, dim=1)) if return_weights else out

# %% TripleProductAttention right (passed): inherits from the standard layer, with a mask kept as a buffer that is not saved
class TripleProductAttention(StandardAttention):
    def __init__(self, d_model: int, n_head: int, max_len: int = 128):
        nn.Module.__init__(self)
        if d_model % n_head or (d_model // n_head) & 1:
            raise ValueError(f"d_model={d_model} and n_head={n_head} do not give heads of an even width")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        for name in ("W_q", "W_k", "W_r", "W_v", "W_o"):
            self.add_module(name, nn.Linear(d_model, d_model, bias=False))
        visible = torch.ones(max_len, max_len, dtype=torch.bool).tril()
        self.register_buffer("visible", visible, persistent=False)

    def forward(self, x, return_weights: bool = False):
        b, n, _ = x.shape
        if n > self.max_len:
            raise ValueError(f"at most {self.max_len} tokens, not {n}")

        def heads(w):
            return w(x).view(b, n, self.n_head, self.d_head).transpose(1, 2)

        q, k, r = map(apply_rope, map(heads, (self.W_q, self.W_k, self.W_r)))
        logits = gram_scores(q, k, r).mul(self.d_head**-1.5)
        logits = logits.masked_fill(self.visible[:n, :n].logical_not(), -torch.inf)
        weights = nn.functional.softmax(logits, dim=-1).type_as(x)
        out = self.W_o(torch.matmul(weights, heads(self.W_v)).permute(0, 2, 1, 3).reshape(b, n, -1))
        return (out, weights) if return_weights else out

# %% copy_batch wrong (property draws_from_its_generator): the generator is taken, but never used for the draw
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size, (batch_size, seq_len // 2))
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (misconception one-token-missing): randint's upper end is already exclusive, so the last token of the vocabulary never comes
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 != 0:
        raise ValueError("seq_len must be even")
    half = torch.randint(0, vocab_size - 1, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (misconception token-by-token): repeat_interleave doubles every token in its place, the second half does not repeat the first
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat_interleave(2, dim=1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (property few_and_odd): an odd length gets no ValueError, but a text that is one token shorter
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = half.repeat(1, 2)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (misconception one-text-for-all): one text is drawn and repeated for the whole batch, so the texts of a batch are all the same
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError(f"odd length {seq_len}")
    half = torch.randint(vocab_size, (seq_len // 2,), generator=generator)
    text = torch.cat([half, half]).repeat(batch_size, 1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (difference fact): hides the first half of the targets with -100, but the targets are to be the text without its first token
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    inputs, targets = text[:, :-1].clone(), text[:, 1:].clone()
    targets[:, : seq_len // 2 - 1] = -100
    return inputs, targets

# %% copy_batch wrong (raised): draws without putting back, so no token comes twice in a half, and a half longer than the vocabulary raises
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    chances = torch.ones(batch_size, vocab_size)
    half = torch.multinomial(chances, seq_len // 2, replacement=False, generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch wrong (property draws_from_its_generator): without a generator it makes a fresh one, which always starts from the same seed, so every such call gives the same texts and none is random
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    generator = generator or torch.Generator()
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]

# %% copy_batch right (passed): randint and tile
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    half, odd = divmod(seq_len, 2)
    if odd:
        raise ValueError(f"a text of {seq_len} tokens has no two halves")
    text = torch.randint(vocab_size, size=(batch_size, half), generator=generator).tile(1, 2)
    return text[:, :-1], text[:, 1:]

# %% copy_batch right (passed): plain Python lists, one draw for each token
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 == 1:
        raise ValueError("an odd length cannot be halved")
    inputs, targets = [], []
    for _ in range(batch_size):
        words = [int(torch.randint(0, vocab_size, (), generator=generator)) for _ in range(seq_len // 2)]
        words = words * 2
        inputs.append(words[:-1])
        targets.append(words[1:])
    return torch.tensor(inputs, dtype=torch.long), torch.tensor(targets, dtype=torch.long)

# %% copy_batch right (passed): multinomial with putting back, and positions modulo the half as index
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2 != 0:
        raise ValueError("seq_len has to be even")
    half = seq_len // 2
    drawn = torch.multinomial(torch.ones(vocab_size), batch_size * half, replacement=True, generator=generator)
    drawn = drawn.view(batch_size, half)
    place = torch.arange(seq_len)
    return drawn[:, place[:-1] % half], drawn[:, place[1:] % half]

# %% copy_batch right (passed): fills an empty text in place with random_, then copies; both results own their memory
def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    half = seq_len // 2
    if 2 * half != seq_len:
        raise ValueError("seq_len is odd")
    text = torch.empty(batch_size, 2, half, dtype=torch.int64)
    text[:, 0] = torch.empty(batch_size, half, dtype=torch.int64).random_(0, vocab_size, generator=generator)
    text[:, 1] = text[:, 0]
    text = text.flatten(1)
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()
