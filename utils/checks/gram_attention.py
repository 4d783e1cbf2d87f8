"""Exercises of lesson 11: the Gram determinant, scores made of it, the layer that uses them, and texts to copy."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from utils.feedback import Float, Int, batch_independent, case, causal, exercise, finite_when_loud, linear, moves_with_its_module, refuses, remembers_nothing, takes, works_where_its_input_is
from utils.observe import sealed, tensors


def _dot(a, b):
    return (a * b).sum(-1)


def _det(q, k, r):
    """By torch's own determinant, from the three vectors as rows."""
    rows = torch.stack(torch.broadcast_tensors(q, k, r), dim=-2).double()
    return torch.linalg.det(rows @ rows.mT).to(q.dtype)


def _terms(first=1, cross=2, of_q=1, of_k=1, of_r=1, pairs="right", power=2):
    """The five terms with their factors, and with each square beside its norm or beside another one's."""
    def answer(q, k, r):
        qq, kk, rr, qk, kr, rq = _dot(q, q), _dot(k, k), _dot(r, r), _dot(q, k), _dot(k, r), _dot(r, q)
        beside = {"right": (kr, rq, qk), "own": (qk, kr, rq), "other": (rq, qk, kr)}[pairs]
        squares = of_q * qq * beside[0] ** power + of_k * kk * beside[1] ** power + of_r * rr * beside[2] ** power
        return first * qq * kk * rr + cross * qk * kr * rq - squares
    return answer


def _area_times_height(q, k, r):
    """What the key has beyond the plane of query and reference, squared, times the squared area of these two."""
    unit = F.normalize(q, dim=-1)
    rest = r - _dot(r, unit)[..., None] * unit
    other = F.normalize(rest, dim=-1)
    height = k - _dot(k, unit)[..., None] * unit - _dot(k, other)[..., None] * other
    return _dot(q, q) * _dot(rest, rest) * _dot(height, height)


_BODIES = (
    ([1, 0, 0], [0, 2, 0], [0, 0, 3], "at right angles, with lengths 1, 2 and 3, they span a box of volume 6"),
    ([1, 0, 0], [1, 1, 0], [0, 0, 2], "q and k span an area of 1, and r stands upright on it with length 2"),
    ([2, 0, 0], [0, 1, 0], [0, 1, 1], "k and r span an area of 1, and q stands upright on it with length 2"),
    ([1, 0, 1], [0, 2, 0], [1, 0, 0], "q and r span an area of 1, and k stands upright on it with length 2"),
    ([1, 2, 0], [0, 1, 1], [1, 3, 1], "r is q + k, so the three lie in one plane and span nothing"),
    ([1, 1, 0], [1, 1, 0], [0, 1, 1], "q and k are the same, so the three lie in one plane and span nothing"),
)


def _volumes(probe):
    """Bodies whose volume one can see."""
    for q, k, r, why in _BODIES:
        given = [torch.tensor(v, dtype=torch.float32) for v in (q, k, r)]
        seen, wanted = probe.run(case(*given)), round(abs(float(_det(*given))), 6)
        if seen.failure or not isinstance(seen.value, torch.Tensor) or seen.value.dim():
            return None
        if abs(float(seen.value) - wanted) > 1e-3:
            return f"For q = {q}, k = {k}, r = {r} yours is {float(seen.value):.4g}, and the squared volume is {wanted:.4g}: {why}."
    return None


exercise(
    "gram_determinant",
    oracle=_det,
    cases=lambda rand: [
        case(rand(4), rand(4), rand(4)), case(*(rand(5, 3) for _ in range(3))), case(*(rand(2, 3, 6, scale=0.7) for _ in range(3))),
        case(*(rand(3, 2, scale=0.7) for _ in range(3)), note="in a plane, where three vectors span no volume"),
    ],
    returns=Float("..."),
    properties=[_volumes],
    atol=5e-5,
    misconceptions={
        "score-instead": (
            _terms(-1, -2, -1, -1, -1),
            "The sign is turned round: this is minus the determinant. The score will be that; the determinant is a squared volume, and never below 0.",
        ),
        "cross-term-once": (
            _terms(cross=1),
            "The product of the three mixed dot products is counted once. Two of the six terms of the determinant are that product, so it has a factor of 2.",
        ),
        "cross-term-negative": (
            _terms(cross=-2),
            "The product of the three mixed dot products has a minus. It comes from the two diagonals that run the same way as the main one, and these have a plus.",
        ),
        "cross-term-forgotten": (
            _terms(cross=0),
            "The product of the three mixed dot products is missing. It is 0 only where two of the vectors are at a right angle.",
        ),
        "squares-beside-their-own": (
            _terms(pairs="own"),
            "The squares stand beside the wrong norms. A square of a mixed product goes with the norm of the vector that is not in it: |q|² with (k·r)².",
        ),
        "squares-beside-others": (
            _terms(pairs="other"),
            "The squares stand beside the wrong norms. |q|² goes with (k·r)²: the term leaves out the row and the column of q.",
        ),
        "squares-added": (
            _terms(of_q=-1, of_k=-1, of_r=-1),
            "The three squares were added. They come from the diagonals that run the other way, and these have a minus.",
        ),
        "not-squared": (
            _terms(power=1),
            "Mixed products stand beside a norm without being squared. Each of these terms is of degree six, like the first: two of every vector.",
        ),
        "reference-square-forgotten": (
            _terms(of_k=0),
            "The term |k|² (q·r)² is missing. Without it query and reference count as if they were at a right angle.",
        ),
        "volume": (
            lambda q, k, r: _det(q, k, r).clamp_min(0).sqrt(),
            "This is the volume. The determinant of the Gram matrix is its square, and needs no root.",
        ),
        "directions-only": (
            lambda q, k, r: _det(*(F.normalize(t, dim=-1) for t in (q, k, r))),
            "The vectors were brought to length 1 first. Their lengths count: a key twice as long makes a volume twice as large.",
        ),
        "base-only": (
            lambda q, k, r: _dot(q, q) * _dot(r, r) - _dot(q, r) ** 2,
            "This is the squared area that query and reference span. The key has no part in it yet.",
        ),
        "only-the-product": (
            _terms(cross=0, of_q=0, of_k=0, of_r=0),
            "This is the product of the three squared lengths, the volume of a box with right angles. What the angles take away is missing.",
        ),
        "one-number": (
            lambda q, k, r: _det(q, k, r).sum(),
            "All triples were summed up into one number. Only the last axis, the entries of a vector, is to go.",
        ),
        "keeps-the-axis": (
            lambda q, k, r: _det(q, k, r)[..., None],
            "The numbers are right and stand in an axis of size 1. [..., d] becomes [...].",
        ),
    },
    equivalent={
        "area-times-height": lambda q, k, r: _area_times_height(q, k, r),
    },
    hints=(
        "Write the 3 × 3 table of all dot products, and its determinant by Sarrus' rule: three diagonals down with a plus, three with a minus.",
        "Six dot products are enough, since the table is symmetric. A dot product along the last axis: multiply and sum over dim -1.",
        "qq kk rr, plus twice qk kr rq, minus qq kr², minus kk rq², minus rr qk², each of these a sum over the last axis.",
    ),
)


# ---------------------------------------------------------------- scores for all pairs


def _all_pairs(q, k, r, by="query"):
    """Every triple, made by broadcasting: q at i, k at j, r at i (or at j)."""
    q_, k_ = q[..., :, None, :], k[..., None, :, :]
    r_ = r[..., :, None, :] if by == "query" else r[..., None, :, :]
    return torch.broadcast_tensors(q_, k_, r_)


def _by_triples(q, k, r):
    return -_det(*_all_pairs(q, k, r))


def _from(f, **how):
    return lambda q, k, r: f(*_all_pairs(q, k, r, **how))


def _norms_along_rows(q, k, r):
    """The keys' squared lengths along the queries' axis."""
    kk = _dot(k, k)[..., :, None]
    qq, rr, rq = _dot(q, q)[..., None], _dot(r, r)[..., None], _dot(r, q)[..., None]
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * rq - qq * rk**2 - kk * rq**2 - rr * qk**2)


def _without_a_plane(rand):
    """A query of length 0, a reference of length 0, a reference along its query, a key of length 0."""
    q, k, r = (rand(2, 1, 5, 4, scale=0.5) for _ in range(3))
    q[0, 0, 1], r[0, 0, 2], r[1, 0, 3], k[1, 0, 0] = 0, 0, 0.5 * q[1, 0, 3], 0
    return case(q, k, r, note="with a query, a key and a reference of length 0, and a reference along its query")


class _Largest(TorchDispatchMode):
    """Counts operations, and the numbers of the largest tensor that one of them gives."""

    def __init__(self):
        super().__init__()
        self.calls, self.largest = 0, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        self.calls += 1
        self.largest = max([self.largest, *(t.numel() for t in tensors(made))])
        return made


def _by_matrix_products(probe):
    """No loop over pairs, and no tensor that holds a vector for each pair."""
    def run(seq):
        given = [torch.randn(1, 1, seq, 32, generator=torch.Generator().manual_seed(i)) for i in range(3)]
        with sealed(), _Largest() as counted:
            probe.answer(*given)
        return counted

    short, long = run(12), run(24)
    if long.calls > short.calls:
        return (
            f"The scores are right, and they are made in a loop: {short.calls} operations for 12 positions, {long.calls} for 24. "
            "Every dot product of a query with a key is an entry of one matrix product."
        )
    if long.largest >= 24 * 24 * 32:
        return (
            "The scores are right, and on the way there is a tensor with a whole vector for each pair, [seq, seq, d_head]. "
            "For a long text that is d_head times the memory of the scores; a matrix product sums over d_head without it."
        )
    return None


def _one_at_a_time(probe):
    """Bodies whose volume one can see, and what may change a score: its own query, key and reference, and no other."""
    for q, k, r, why in _BODIES:
        given = [torch.tensor(v, dtype=torch.float32).view(1, 1, 1, 3) for v in (q, k, r)]
        seen, wanted = probe.run(case(*given)), -round(abs(float(_det(*given))), 6) or 0.0
        if seen.failure or not isinstance(seen.value, torch.Tensor) or seen.value.numel() != 1:
            return None
        if abs(float(seen.value) - wanted) > 1e-3:
            return f"For one position with q = {q}, k = {k}, r = {r} your score is {float(seen.value):.4g}, and {wanted:.4g} is expected: {why}."
    trial = probe.trials[0]
    if trial.yours.value.shape != trial.expected.value.shape:
        return None
    for at, (name, axis, what) in enumerate((("query", -2, "row"), ("key", -1, "column"), ("reference", -2, "row"))):
        args = [a.clone() for a in trial.case.args]
        args[at][..., 0, :] += 1.0
        seen = probe.run(case(*args))
        rest = lambda t: t.narrow(axis, 1, t.shape[axis] - 1)  # noqa: E731
        if seen.failure is None and not torch.allclose(rest(seen.value), rest(trial.yours.value), atol=1e-4):
            return f"When only the {name} of position 0 changed, scores outside {what} 0 changed too. Entry [i, j] is made of query i, key j and reference i alone."
    return None


def _has_room(probe):
    """In float16 a score of long vectors would overflow, so the scores are made in a wider type."""
    given = [torch.full((1, 1, 2, 4), 4.0, dtype=torch.float16) * torch.tensor(signs, dtype=torch.float16) for signs in ([1, 1, 1, 1], [1, -1, 1, 1], [1, 1, -1, 1])]
    seen = probe.run(case(*given))
    if seen.failure or all(t.isfinite().all() for t in tensors(seen.value)):
        return None
    return "For vectors of length 8 in float16 your scores are not finite: 8⁶ = 262,144, and float16 ends at 65,504. Let copying.with_room widen q, k and r first."


exercise(
    "gram_scores",
    oracle=_by_triples,
    cases=lambda rand: [
        case(*(rand(2, 3, 5, 4, scale=0.8) for _ in range(3))), case(*(rand(3, 1, 4, 6, scale=0.7) for _ in range(3))), case(*(rand(1, 2, 7, 3) for _ in range(3))),
        _without_a_plane(rand),
    ],
    returns=Float("batch heads query key"),
    properties=[batch_independent(), _one_at_a_time, _by_matrix_products, _has_room],
    atol=5e-5,
    misconceptions={
        "not-negative": (
            _from(_det),
            "These are the determinants, and the largest volume gets the highest score. Wanted is the opposite: the flatter, the better, so the score is minus the determinant.",
        ),
        "reference-of-the-key": (
            _from(lambda q, k, r: -_det(q, k, r), by="key"),
            "The reference was taken from the key's position. It belongs to the query: q_i and r_i together ask, and each k_j answers.",
        ),
        "key-norms-along-rows": (
            _norms_along_rows,
            "The keys' squared lengths run along the queries' axis: |k|² of position i was used for all keys. They have to lie along the last axis, so that column j has that of key j.",
        ),
        "rows-and-columns-swapped": (
            lambda q, k, r: _by_triples(q, k, r).mT.contiguous(),
            "Rows and columns have changed places. Row i belongs to query i, column j to key j.",
        ),
        "cross-term-once": (
            _from(lambda q, k, r: -_terms(cross=1)(q, k, r)),
            "The product of the three mixed dot products is counted once. It has a factor of 2 in the determinant.",
        ),
        "cross-term-sign": (
            _from(lambda q, k, r: -_terms(cross=-2)(q, k, r)),
            "The product of the three mixed dot products has the wrong sign. It is positive in the determinant, and so negative in the score.",
        ),
        "squares-swapped": (
            _from(lambda q, k, r: -(_dot(q, q) * _dot(k, k) * _dot(r, r) + 2 * _dot(q, k) * _dot(k, r) * _dot(r, q)
                                    - _dot(q, q) * _dot(q, k) ** 2 - _dot(k, k) * _dot(r, q) ** 2 - _dot(r, r) * _dot(k, r) ** 2)),
            "Two squares stand beside the wrong norms: (q·k)² goes with |r|², and (r·k)² with |q|². Each goes with the vector that is not in it.",
        ),
        "query-reference-forgotten": (
            _from(lambda q, k, r: -_terms(cross=0, of_k=0)(q, k, r)),
            "The dot product of query and reference is left out. That would do if they were at a right angle, and they are as they come.",
        ),
        "volume": (
            _from(lambda q, k, r: -_det(q, k, r).clamp_min(0).sqrt()),
            "This is minus the volume, not minus its square. A root would also have no slope to learn from where the body is flat.",
        ),
        "scaled": (
            lambda q, k, r: _by_triples(q, k, r) / q.shape[-1] ** 1.5,
            "The scores are scaled already. The layer does that; here they are as they are.",
        ),
        "masked": (
            lambda q, k, r: _by_triples(q, k, r).masked_fill(torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool).triu(1), -torch.inf),
            "Later positions are masked already. The layer does that; here all pairs have a score.",
        ),
        "softmaxed": (
            lambda q, k, r: torch.softmax(_by_triples(q, k, r), dim=-1),
            "These are weights. Asked for are the scores, before the softmax.",
        ),
        "dot-products": (
            lambda q, k, r: q @ k.mT,
            "These are the scores of ordinary attention. The reference has no part in them.",
        ),
    },
    hints=(
        "Of the six dot products, three belong to one position each (a column for the queries', a row for the keys'), one to query and reference, two to pairs of positions.",
        "The dot products of all queries with all keys are one matrix product, and so are those of all references with all keys. The rest is broadcasting.",
        "Norms of q and r, and q·r, are [batch, heads, seq, 1]. Norms of k have to become [batch, heads, 1, seq]. Put all into the five terms, with a minus in front.",
    ),
)


# ---------------------------------------------------------------- the layer


def _rope(x):
    d = x.shape[-1]
    speed = 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    turn = torch.polar(torch.ones(x.shape[-2], d // 2, dtype=torch.float64), torch.arange(x.shape[-2])[:, None] * speed)
    return torch.view_as_real(torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous()) * turn).flatten(-2).to(x.dtype)


def _triple(scores=_by_triples, turned="qkr", scale=lambda d_head, d_model: d_head**-1.5, mask="causal", values=lambda v: v, axis=-1,
            whole=False, merge=None, out=True, names="qkrv"):
    """The layer with one piece replaced."""
    def answer(p, x, return_weights=False):
        d_model, heads = x.shape[-1], p.init["n_head"]
        d_head = d_model // heads
        cut = lambda t: t.unflatten(-1, (heads, d_head)).transpose(1, 2)  # noqa: E731
        made = {to: x @ p[f"W_{name}.weight"].mT for to, name in zip("qkrv", names)}
        if whole:
            made = {name: _rope(t) if name in turned else t for name, t in made.items()}
        made = {name: cut(t) for name, t in made.items()}
        if not whole:
            made = {name: _rope(t) if name in turned else t for name, t in made.items()}
        s = scores(made["q"], made["k"], made["r"]) * scale(d_head, d_model)
        seq = x.shape[1]
        blocked = {"causal": torch.ones(seq, seq).triu(1), "strict": torch.ones(seq, seq).triu(1) + torch.eye(seq) * (torch.arange(seq) > 0),
                   "others": torch.ones(seq, seq).triu(), "future": torch.ones(seq, seq).tril(-1), "none": torch.zeros(seq, seq), "zero": torch.ones(seq, seq).triu(1)}[mask].bool()
        weights = torch.softmax(s.masked_fill(blocked, 0.0 if mask == "zero" else -torch.inf), dim=axis)
        mixed = weights @ values(made["v"])
        joined = mixed.transpose(1, 2).flatten(2) if merge is None else merge(mixed)
        y = joined @ p["W_o.weight"].mT if out else joined
        return (y, weights) if return_weights else y
    return answer


def _start(d_model, n_head, max_len=128, bias=False):
    if d_model % n_head or d_model // n_head % 2:
        raise ValueError("d_model must be n_head times an even number")
    return linear(**{f"W_{name}": nn.Linear(d_model, d_model, bias=bias) for name in "qkrvo"})


exercise(
    "TripleProductAttention",
    initial=_start,
    oracle=_triple(),
    cases=lambda rand: [
        case(rand(2, 5, 8), init=(8, 2)), case(rand(3, 4, 12), init=(12, 3, 7), seed=1), case(rand(1, 6, 8), init=(8, 4, 6), seed=2, note="as long as max_len"),
        case(rand(2, 3, 4), init=(4, 1), seed=3, return_weights=True, note="with its weights"), case(rand(2, 5, 8), init=(8, 2), fill=False, seed=4, note="as it starts"),
        case(rand(2, 7, 12), init=(12, 2), seed=5, return_weights=True, note="with its weights"),
        case(rand(2, 3, 9), init=(9, 2), note="heads that do not divide d_model"), case(rand(2, 3, 12), init=(12, 4), note="heads of odd width"),
    ],
    properties=[
        causal(loud=100.0), batch_independent(), moves_with_its_module, remembers_nothing, finite_when_loud(30.0, alone=True),
        refuses((8, 2, 4), (2, 5, 8), "5 positions are more than max_len = 4"),
        refuses((4, 1), (1, 129, 4), "129 positions are more than 128, which max_len is unless it is given"),
        takes((4, 1), (1, 128, 4), "max_len is 128 unless it is given, and a text may be that long."),
    ],
    atol=5e-5,
    misconceptions={
        "largest-volume-wins": (
            _triple(scores=lambda q, k, r: -_by_triples(q, k, r)),
            "The keys that span the most volume win. The score is minus the determinant: attention goes to keys in the plane of query and reference.",
        ),
        "not-scaled": (
            _triple(scale=lambda d, m: 1.0),
            "The scores are not scaled. A determinant of degree six is so large that the softmax picks one key and learns nothing; divide by d_head to the power 1.5.",
        ),
        "scaled-by-the-root": (
            _triple(scale=lambda d, m: d**-0.5),
            "The scores are divided by the root of d_head, as dot products are. The determinant is made of three such products, so the power is 1.5.",
        ),
        "scaled-by-d-model": (
            _triple(scale=lambda d, m: m**-1.5),
            "The scores are divided by d_model to the power 1.5. The determinant is taken in one head, which has d_head numbers.",
        ),
        "scaled-up": (
            _triple(scale=lambda d, m: d**1.5),
            "The scores are multiplied by d_head to the power 1.5. They are to be divided by it.",
        ),
        "no-mask": (
            _triple(mask="none"),
            "Positions see what comes after them. In copying, that is the answer itself.",
        ),
        "zero-mask": (
            _triple(mask="zero"),
            "Blocked scores were set to 0. Here 0 is the highest score that there is, so the blocked positions win; what is blocked gets minus infinity.",
        ),
        "mask-reversed": (
            _triple(mask="future"),
            "Each position sees itself and what comes after it. The mask is the wrong way round.",
        ),
        "not-itself": (
            _triple(mask="strict"),
            "Positions do not see themselves. The diagonal is allowed, as in every causal layer of this course.",
        ),
        "not-itself-anywhere": (
            _triple(mask="others"),
            "Positions do not see themselves, so the first one sees nothing at all, and its weights are nan. The diagonal is allowed, as in every causal layer of this course.",
        ),
        "reference-not-turned": (
            _triple(turned="qk"),
            "RoPE is missing on the reference. Queries and keys turn with their positions, and the reference has to turn along with its query, or the three do not fit together.",
        ),
        "keys-not-turned": (
            _triple(turned="qr"),
            "RoPE is missing on the keys. Scores then depend on where the query stands, and not on how far the key is.",
        ),
        "no-rope": (
            _triple(turned=""),
            "RoPE is missing. The layer cannot tell near from far then, and nothing else in the model can.",
        ),
        "values-turned": (
            _triple(turned="qkrv"),
            "The values were turned too. Scores need positions; what is passed on is mixed, and vectors turned by different angles do not add up.",
        ),
        "turned-before-the-split": (
            _triple(whole=True),
            "RoPE was applied before the heads were split. Each head has its own pairs and all speeds from fast to slow, so split first.",
        ),
        "reference-of-the-key": (
            _triple(scores=lambda q, k, r: -_det(*_all_pairs(q, k, r, by="key"))),
            "The reference was taken from the key's position. It belongs to the query.",
        ),
        "reference-is-the-key": (
            _triple(names="qkkv"),
            "W_k made the reference as well. Then key and reference of a position are the same vector; W_r has weights of its own.",
        ),
        "softmax-over-queries": (
            _triple(axis=-2),
            "The softmax runs along the queries. Each query shares out its attention over the keys, the last axis.",
        ),
        "heads-not-moved-back": (
            _triple(merge=lambda m: m.reshape(len(m), m.shape[2], -1)),
            "The heads were flattened where they stand. Move their axis behind the positions first, or numbers of different positions end up in one row.",
        ),
        "no-output-layer": (
            _triple(out=False),
            "W_o was not used. It mixes what the heads found.",
        ),
        "dot-products": (
            _triple(scores=lambda q, k, r: q @ k.mT, scale=lambda d, m: d**-0.5),
            "This is standard attention: the reference has no part in the scores.",
        ),
        "with-biases": (
            _triple(),
            "The layers have biases. Here they have none, like those of the standard layer beside it.",
            lambda d_model, n_head, max_len=128: _start(d_model, n_head, max_len, bias=True),
        ),
    },
    hints=(
        "It is a causal multi-head layer with one more projection. What changes are the scores, and their scale.",
        "Project, split into heads, turn q, k and r with apply_rope, take gram_scores, scale, mask, softmax; then as ever.",
        "unflatten(-1, (n_head, d_head)) and transpose split the heads. Divide gram_scores by d_head to the power 1.5, fill what lies above the diagonal with minus infinity; flatten the heads after moving them back, and end with W_o.",
    ),
)


# ---------------------------------------------------------------- texts to copy


def _copies(text=None, low=0, high=0, shift=1, target=None, halves=1):
    """Texts with one piece replaced."""
    def answer(batch_size, seq_len, vocab_size, generator=None):
        if seq_len % 2 or seq_len < 2:
            raise ValueError("an even length is needed")
        half = torch.randint(low, vocab_size + high, (batch_size, halves * seq_len // 2), generator=generator)
        whole = torch.cat((half, half), dim=1) if text is None else text(half, vocab_size, generator)
        inputs, targets = whole[:, : -shift or None], whole[:, shift:]
        return (inputs, targets) if target is None else target(whole, inputs, targets)
    return answer


_ASKED = (
    "targets are the next tokens", "targets are the inputs", "targets are the tokens before", "targets are two places ahead",
    "the second half repeats the first", "the second half runs backwards", "smallest token", "largest token", "texts differ",
    "tokens are equally likely", "neighbours are drawn apart",
)


def _looked_at(result, batch_size, seq_len, vocab_size, generator=None):
    """Shapes and types as they are, and what holds of the texts, as numbers."""
    if not isinstance(result, (tuple, list)) or len(result) != 2 or not all(isinstance(t, torch.Tensor) for t in result):
        return result
    inputs, targets = (t.detach() for t in result)
    shapes = torch.zeros_like(inputs), torch.zeros_like(targets)
    half = seq_len // 2
    if inputs.dim() != 2 or inputs.shape != targets.shape or inputs.shape[1] < seq_len - 1:
        return *shapes, torch.full((len(_ASKED),), torch.nan)
    text = torch.cat((inputs, targets[:, -1:]), dim=1)[:, :seq_len]
    first, second = text[:, :half], text[:, half:]
    share = torch.stack([(first == token).double().mean() for token in range(vocab_size)])
    even = (share - 1 / vocab_size).abs().max() < 6 * (1 / vocab_size / first.numel()) ** 0.5
    apart = first[:, 1:] == first[:, :-1]
    neighbours = (apart.double().mean() - 1 / vocab_size).abs() < 6 * (1 / vocab_size / apart.numel()) ** 0.5
    same = lambda a, b: bool((a == b).all())  # noqa: E731
    flags = [
        same(targets[:, :-1], inputs[:, 1:]), same(targets, inputs), same(targets[:, 1:], inputs[:, :-1]), same(targets[:, :-2], inputs[:, 2:]),
        same(second, first), same(second, first.flip(1)), int(text.min()), int(text.max()),
        len(text.unique(dim=0)) == batch_size, bool(even), bool(neighbours),
    ]
    return *shapes, torch.tensor([float(f) for f in flags])


def _fact(asked, yours, expected):
    """What holds of yours, beside what should hold: a token's id, or yes and no."""
    if asked.endswith("token"):
        return f"the {asked} is {yours:g}, and {expected:g} is expected"
    return f"\"{asked}\" {'holds and should not' if yours else 'should hold and does not'}"


def _from_the_generator(probe):
    """All chance comes from the generator, an odd length is refused, and calls without a generator differ."""
    def run(seed, elsewhere):
        with sealed(elsewhere):
            before = torch.get_rng_state()
            made = probe.answer(8, 12, 9, torch.Generator().manual_seed(seed))
            return torch.cat([t.flatten() for t in made]), torch.equal(before, torch.get_rng_state())

    (first, untouched), (again, _), (other, _) = run(1, 1), run(1, 2), run(2, 1)
    if not torch.equal(first, again):
        return "The same generator in the same state gave other texts the second time. Pass it on to what draws, so that two layers can be trained on the same texts."
    generator = torch.Generator().manual_seed(1)
    with sealed():
        if torch.equal(*(probe.answer(8, 12, 9, generator)[0] for _ in range(2))):
            return "Two calls in a row with one generator gave the same texts: it is copied or seeded anew inside. Draw from it as it is, so that each call goes on where the last one ended."
    if torch.equal(first, other):
        return "Two generators in different states gave the very same texts. Is something seeded inside? Draw from the generator that is passed in."
    if not untouched:
        return "With a generator passed in, torch's global random numbers were used or seeded as well. Draw from the generator alone."
    with sealed(3):
        if torch.equal(probe.answer(8, 12, 9)[0], probe.answer(8, 12, 9)[0]):
            return "Without a generator, two calls gave the same texts. Training would see one batch for ever."
    for few in ((1, 2, 5), (3, 2, 1)):
        try:
            with sealed(4):
                probe.answer(*few)
        except Exception as error:
            return f"copy_batch{few} stopped with a {type(error).__name__}: {error}. One text, one token, halves of one token: few, and nothing is wrong with them."
    failure = probe.run(case(2, 7, 5)).failure
    if failure is None:
        return "copy_batch(2, 7, 5) should be refused with a ValueError: 7 tokens have no two equal halves. Yours gave a result."
    if failure.type not in ("ValueError", "AssertionError"):
        return f"copy_batch(2, 7, 5) should be refused with a ValueError, since 7 tokens have no two equal halves; it stopped with a {failure.type}: {failure.text.splitlines()[0]}"
    return None


exercise(
    "copy_batch",
    oracle=_copies(),
    cases=lambda rand: [
        case(batch, seq, vocab, torch.Generator().manual_seed(int(rand.integers(1, high=10_000)))) for batch, seq, vocab in ((60, 12, 7), (90, 20, 5), (40, 32, 16))
    ],
    view=_looked_at,
    returns=(Int("batch seq-1", name="inputs"), Int("batch seq-1", name="targets"), Float("fact", name="what holds of the texts")),
    properties=[_from_the_generator],
    differentiable=False,
    meaning=lambda index, yours, expected: _fact(_ASKED[index[0]], yours, expected) if len(index) == 1 else "",
    misconceptions={
        "targets-not-shifted": (
            _copies(target=lambda whole, inputs, targets: (inputs, inputs.clone())),
            "The targets are the inputs. A model would then have to say what it sees; the target at each place is the token that comes next.",
        ),
        "shifted-backwards": (
            _copies(target=lambda whole, inputs, targets: (targets, inputs)),
            "Inputs and targets have changed places: each target is the token before. The model is asked for the next one.",
        ),
        "not-cut": (
            _copies(target=lambda whole, inputs, targets: (whole, whole.clone())),
            "Both are the whole text. The inputs end one token early and the targets begin one token late, so each has seq_len - 1.",
        ),
        "rolled": (
            _copies(target=lambda whole, inputs, targets: (whole, whole.roll(-1, dims=1))),
            "The targets are the text rolled by one, so the last target is the first token. Nothing comes after the last token; cut both to seq_len - 1.",
        ),
        "shifted-by-two": (
            _copies(target=lambda whole, inputs, targets: (inputs, whole.roll(-2, dims=1)[:, :-1])),
            "The targets are two places ahead. The next token is one place ahead.",
        ),
        "not-a-copy": (
            _copies(text=lambda half, vocab, g: torch.cat((half, torch.randint(vocab, half.shape, generator=g)), dim=1)),
            "The second half is not the first once more: drawn anew, moved or changed. It repeats the first, token for token, or nothing can be copied.",
        ),
        "reversed": (
            _copies(text=lambda half, vocab, g: torch.cat((half, half.flip(1)), dim=1)),
            "The second half runs backwards. It repeats the first half in the same order.",
        ),
        "token-by-token": (
            _copies(text=lambda half, vocab, g: half.repeat_interleave(2, dim=1)),
            "Each token is repeated on the spot. The text is one half, and then that half once more.",
        ),
        "one-text-for-all": (
            _copies(text=lambda half, vocab, g: torch.cat((half, half), dim=1)[:1].expand(len(half), -1).clone()),
            "All texts of the batch are the same one. Each row is drawn on its own.",
        ),
        "one-token-missing": (
            _copies(high=-1),
            "The last token of the vocabulary never comes. randint leaves its upper end out by itself.",
        ),
        "one-token-too-many": (
            _copies(high=1),
            "A token of id vocab_size comes up. Ids run from 0 to vocab_size - 1, and an embedding has no row for another.",
        ),
        "starts-at-one": (
            _copies(low=1),
            "Token 0 never comes. Ids run from 0.",
        ),
        "twice-as-long": (
            _copies(halves=2),
            "The texts are twice as long: each half has seq_len tokens. The whole has seq_len.",
        ),
    },
    hints=(
        "Draw half a text. What makes a whole one of it?",
        "torch.randint draws ids from 0 up to what it is given; torch.cat along dim 1 joins the halves. Inputs leave out the last token, targets the first.",
        "A ValueError if seq_len is odd. half: randint(vocab_size, (batch_size, seq_len // 2), generator=generator); twice half, side by side; then all but the last column, and all but the first.",
    ),
)
