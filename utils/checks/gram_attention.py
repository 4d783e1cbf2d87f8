"""Exercises of lesson 11: the Gram determinant, scores made of it, the layer that uses them, and texts to copy."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.checks._attention import causal_mask, mask_scores, restrict_to_cases, rope, strictly_causal_mask
from utils.checks._layer_order import made_in_order
from utils.checks._sampling import batches_from_their_generator
from utils.feedback.exercise import Facts, Float, Hints, Int, Wrong, case, exercise, layer_parameters
from utils.feedback.observe import collect_tensors
from utils.feedback.phrases import article
from utils.feedback.properties import (
    batch_independent,
    causal,
    finite_when_scaled,
    moves_with_its_module,
    refuses,
    remembers_nothing,
    takes,
)


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
        beside = {
            "right": (kr, rq, qk),
            "own": (qk, kr, rq),
            "other": (rq, qk, kr),
            "q and k swapped": (rq, kr, qk),
            "q and r swapped": (qk, rq, kr),
            "k and r swapped": (kr, qk, rq),
        }[pairs]
        squares = of_q * qq * beside[0] ** power + of_k * kk * beside[1] ** power + of_r * rr * beside[2] ** power
        return first * qq * kk * rr + cross * qk * kr * rq - squares

    return answer


def _table(q, k, r):
    """The products of entries, [d, d], where the Gram matrix has those of vectors."""
    rows = torch.stack((q, k, r), dim=-2)
    return rows.mT @ rows


def _area_times_height(q, k, r):
    """What the key has beyond the plane of query and reference, squared, times the squared area of these two."""
    unit = F.normalize(q, dim=-1)
    rest = r - _dot(r, unit)[..., None] * unit
    other = F.normalize(rest, dim=-1)
    height = k - _dot(k, unit)[..., None] * unit - _dot(k, other)[..., None] * other
    return _dot(q, q) * _dot(rest, rest) * _dot(height, height)


def _rooted(probe):
    """Whether the results are the roots of the right ones. Their rounding errors, of flat bodies, are large."""
    pairs = [(trial.yours.value, trial.expected.value) for trial in probe.trials]
    return not probe.has_correct_values and all(
        isinstance(a, Tensor) and a.shape == b.shape and torch.allclose(a.square(), b.abs(), atol=1e-3, rtol=1e-3)
        for a, b in pairs
    )


_BODIES = (
    ([1, 0, 0], [0, 2, 0], [0, 0, 3], "at right angles, with lengths 1, 2 and 3, they span a box of volume 6"),
    ([1, 0, 0], [1, 1, 0], [0, 0, 2], "q and k span an area of 1, and r stands upright on it with length 2"),
    ([2, 0, 0], [0, 1, 0], [0, 1, 1], "k and r span an area of 1, and q stands upright on it with length 2"),
    ([1, 0, 1], [0, 2, 0], [1, 0, 0], "q and r span an area of 1, and k stands upright on it with length 2"),
    ([1, 2, 0], [0, 1, 1], [1, 3, 1], "r is q + k, so the three lie in one plane and span nothing"),
    ([1, 1, 0], [1, 1, 0], [0, 1, 1], "q and k are the same, so the three lie in one plane and span nothing"),
)


_VOLUME = "This is the volume. The determinant of the Gram matrix is its square, and needs no root."


def _volumes(probe):
    """Bodies whose volume one can see."""
    if _rooted(probe):
        return _VOLUME
    for q, k, r, why in _BODIES:
        given = [torch.tensor(v, dtype=torch.float32) for v in (q, k, r)]
        seen, wanted = probe.run(case(*given)), round(abs(float(_det(*given))), 6)
        if seen.failure or not isinstance(seen.value, torch.Tensor) or seen.value.dim():
            return None
        if abs(float(seen.value) - wanted) > 1e-3:
            return (
                f"For q = {q}, k = {k}, r = {r} yours is {float(seen.value):.4g}, and the squared volume is"
                f" {wanted:.4g}: {why}."
            )
    return None


exercise(
    "gram_determinant",
    oracle=_det,
    cases=lambda rand: [
        case(rand(4), rand(4), rand(4)),
        case(*(rand(5, 3) for _ in range(3))),
        case(*(rand(2, 1, 6, scale=0.7) for _ in range(3))),
        case(*(rand(3, 2, scale=0.7) for _ in range(3)), note="in a plane, where three vectors span no volume"),
    ],
    returns=Float("..."),
    properties=[_volumes],
    differentiable=True,
    atol=5e-5,
    misconceptions={
        "singular-values-of-a-plane": Wrong(
            lambda q, k, r: torch.linalg.svdvals(torch.stack([q, k, r], dim=-2)).prod(dim=-1) ** 2,
            "In two dimensions the product has only two factors, and so is an area. The volume of three vectors in a"
            " plane is 0.",
        ),
        "score-instead": Wrong(
            _terms(-1, -2, -1, -1, -1),
            "The sign is turned round: this is minus the determinant. The score will be that; the determinant is a"
            " squared volume, and never below 0.",
        ),
        "cross-term-once": Wrong(
            _terms(cross=1),
            "The product of the three mixed dot products is counted once. Two of the six terms of the determinant are"
            " that product, so it has a factor of 2.",
        ),
        "cross-term-negative": Wrong(
            _terms(cross=-2),
            "The product of the three mixed dot products has a minus. It comes from the two diagonals that run the"
            " same way as the main one, and these have a plus.",
        ),
        "cross-term-forgotten": Wrong(
            _terms(cross=0),
            "The product of the three mixed dot products is missing. It is 0 only where two of the vectors are at a"
            " right angle.",
        ),
        "squares-beside-their-own": Wrong(
            _terms(pairs="own"),
            "The squares stand beside the wrong norms. A square of a mixed product goes with the norm of the vector"
            " that is not in it: |q|² with (k·r)².",
        ),
        "squares-beside-others": Wrong(
            _terms(pairs="other"),
            "The squares stand beside the wrong norms. |q|² goes with (k·r)²: the term leaves out the row and the"
            " column of q.",
        ),
        **{
            f"squares-of-{a}-and-{b}-swapped": Wrong(
                _terms(pairs=f"{a} and {b} swapped"),
                f"Two squares stand beside the wrong norms, those of {a} and {b}. The square of a mixed product goes"
                " with the norm of the vector that is not in it: |q|² with (k·r)².",
            )
            for a, b in ("qk", "qr", "kr")
        },
        "table-of-entries": Wrong(
            lambda q, k, r: torch.linalg.det(_table(q, k, r).double()).to(q.dtype),
            "The product runs over the three vectors, so that the table is [d, d], one row for each entry. The Gram"
            " matrix is [3, 3]: its product runs over the entries.",
        ),
        "squares-added": Wrong(
            _terms(of_q=-1, of_k=-1, of_r=-1),
            "The three squares were added. They come from the diagonals that run the other way, and these have a"
            " minus.",
        ),
        "not-squared": Wrong(
            _terms(power=1),
            "Mixed products stand beside a norm without being squared. Each of these terms is of degree six, like the"
            " first: two of every vector.",
        ),
        "reference-square-forgotten": Wrong(
            _terms(of_k=0),
            "The term |k|² (q·r)² is missing. Without it query and reference count as if they were at a right angle.",
        ),
        "query-reference-forgotten": Wrong(
            _terms(cross=0, of_k=0),
            "The dot product of query and reference is left out. That would do if they were at a right angle, and they"
            " are as they come.",
        ),
        "volume": Wrong(
            lambda q, k, r: _det(q, k, r).clamp_min(0).sqrt(),
            _VOLUME,
        ),
        "directions-only": Wrong(
            lambda q, k, r: _det(*(F.normalize(t, dim=-1) for t in (q, k, r))),
            "The vectors were brought to length 1 first. Their lengths count: a key twice as long makes a volume twice"
            " as large.",
        ),
        "base-only": Wrong(
            lambda q, k, r: _dot(q, q) * _dot(r, r) - _dot(q, r) ** 2,
            "This is the squared area that query and reference span. The key has no part in it yet.",
        ),
        "only-the-product": Wrong(
            _terms(cross=0, of_q=0, of_k=0, of_r=0),
            "This is the product of the three squared lengths, the volume of a box with right angles. What the angles"
            " take away is missing.",
        ),
        "one-number": Wrong(
            lambda q, k, r: _det(q, k, r).sum(),
            "All triples were summed up into one number. Only the last axis, the entries of a vector, is to go.",
        ),
        "keeps-the-axis": Wrong(
            lambda q, k, r: _det(q, k, r)[..., None],
            "The numbers are right and stand in an axis of size 1. [..., d] becomes [...].",
        ),
    },
    equivalent={"area-times-height": _area_times_height},
    hints=Hints(
        "Write the 3 × 3 table of all dot products, and its determinant by Sarrus' rule: three diagonals down with a"
        " plus, three with a minus.",
        "Six dot products are enough, since the table is symmetric. A dot product along the last axis: multiply and"
        " sum over dim -1.",
        "qq kk rr, plus twice qk kr rq, minus qq kr², minus kk rq², minus rr qk², each of these a sum over the last"
        " axis.",
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


def _divided_by_lengths(q, k, r):
    """Area times height with directions that are 0 / 0 where a length is 0."""
    unit = q / q.norm(dim=-1, keepdim=True)
    rest = r - (r * unit).sum(-1, keepdim=True) * unit
    other = rest / rest.norm(dim=-1, keepdim=True)
    height = _dot(k, k)[..., None, :] - (unit @ k.mT) ** 2 - (other @ k.mT) ** 2
    return -(_dot(q, q) * _dot(rest, rest))[..., None] * height


def _reference_as_it_is(q, k, r):
    """The height above query and reference as if they stood at a right angle, times their true area."""
    area = _dot(q, q) * _dot(r, r) - _dot(q, r) ** 2
    along = [(F.normalize(t, dim=-1) @ k.mT) ** 2 for t in (q, r)]
    return -area[..., None] * (_dot(k, k)[..., None, :] - sum(along))


def _without_a_plane(rand):
    """A query of length 0, a reference of length 0, two references along their queries, a key of length 0."""
    q, k, r = (rand(2, 1, 5, 4, scale=0.5) for _ in range(3))
    q[1, 0, 4] = torch.tensor([0.0, 2.0, 0.0, 0.0])  # here the rest of a reference along it is 0 to the last bit
    q[0, 0, 1], r[0, 0, 2], r[1, 0, 3:], k[1, 0, 0] = 0, 0, 0.5 * q[1, 0, 3:], 0
    return case(q, k, r, note="with a query, a key and a reference of length 0, and references along their queries")


def _by_matrix_products(probe):
    """No loop, and no tensor that holds a vector for each pair."""

    def run(*shape):
        vectors = [torch.randn(*shape, generator=torch.Generator().manual_seed(i)) for i in range(3)]
        return probe.run(case(*vectors), count=True)

    short, long = run(1, 1, 6, 4), run(2, 3, 24, 16)
    if long.operations > short.operations + 12:  # a product of larger tensors may take a copy or two more
        return (
            f"The scores are right, and they are made in a loop: {short.operations} operations for one head with 6"
            f" positions, {long.operations} for 2 times 3 heads with 24. All dot products of queries with keys are one"
            " matrix product."
        )
    if run(1, 1, 64, 16).largest >= 64 * 64 * 16:
        return (
            "The scores are right, and on the way there is a tensor with a whole vector for each pair, [seq, seq,"
            " d_head]. For a long text that is d_head times the memory of the scores; a matrix product sums over d_head"
            " without it."
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
            return (
                f"For one position with q = {q}, k = {k}, r = {r} your score is {float(seen.value):.4g}, and"
                f" {wanted:.4g} is expected: {why}."
            )
    trial = probe.trials[0]
    if trial.yours.value.shape != trial.expected.value.shape:
        return None
    for at, (name, axis, what) in enumerate((("query", -2, "row"), ("key", -1, "column"), ("reference", -2, "row"))):
        args = [a.clone() for a in trial.case.args]
        args[at][..., 0, :] += 1.0
        seen = probe.run(case(*args))
        if seen.failure:
            continue
        after, before = (t.narrow(axis, 1, t.shape[axis] - 1) for t in (seen.value, trial.yours.value))
        if not torch.allclose(after, before, atol=1e-4):
            return (
                f"When only the {name} of position 0 changed, scores outside {what} 0 changed too. Entry [i, j] is made"
                " of query i, key j and reference i alone."
            )
    return None


def _has_room(probe):
    """In float16 a score of long vectors would overflow, so the scores are made in a wider type."""
    given = [
        torch.full((1, 1, 2, 4), 4.0, dtype=torch.float16) * torch.tensor(signs, dtype=torch.float16)
        for signs in ([1, 1, 1, 1], [1, -1, 1, 1], [1, 1, -1, 1])
    ]
    seen = probe.run(case(*given))
    if seen.failure or all(t.isfinite().all() for t in collect_tensors(seen.value)):
        return None
    narrow = any(t.dtype == torch.float16 for t in collect_tensors(seen.value))
    cure = "Leave the scores in the wider type" if narrow else "Let gram_attention.upcast widen q, k and r first"
    return (
        "For vectors of length 8 in float16 your scores are not finite: 8⁶ = 262,144, and float16 ends at 65,504."
        f" {cure}."
    )


exercise(
    "gram_scores",
    oracle=_by_triples,
    cases=lambda rand: [
        case(*(rand(2, 3, 5, 4, scale=0.8) for _ in range(3))),
        case(*(rand(3, 1, 4, 6, scale=0.7) for _ in range(3))),
        case(*(rand(1, 2, 7, 3) for _ in range(3))),
        case(*(rand(1, 1, 1, 2) for _ in range(3)), note="with one position and heads of width 2"),
        _without_a_plane(rand),
        case(*(rand(1, 1, 4, 3, scale=0.7) * far for far in (0.05, 400.0, 0.05)), note="with long keys"),
    ],
    returns=Float("batch heads query key"),
    differentiable=True,
    properties=[batch_independent(), _one_at_a_time, _by_matrix_products, _has_room],
    atol=5e-5,
    misconceptions={
        "not-negative": Wrong(
            _from(_det),
            "These are the determinants, and the largest volume gets the highest score. Wanted is the opposite: the"
            " flatter, the better, so the score is minus the determinant.",
        ),
        "reference-of-the-key": Wrong(
            _from(lambda q, k, r: -_det(q, k, r), by="key"),
            "The reference was taken from the key's position. It belongs to the query: q_i and r_i together ask, and"
            " each k_j answers.",
        ),
        "divided-by-a-length-of-0": Wrong(
            _divided_by_lengths,
            "Where a query or a reference has length 0, or both lie on one line, the result is nan, from 0 / 0. These"
            " scores are 0.",
        ),
        "reference-as-it-is": Wrong(
            _reference_as_it_is,
            "The height is measured above query and reference as if they stood at a right angle, so that what they"
            " share is taken away twice. First take from the reference its part along the query.",
        ),
        "key-norms-along-rows": Wrong(
            _norms_along_rows,
            "The keys' squared lengths run along the queries' axis: |k|² of position i was used for all keys. They"
            " have to lie along the last axis, so that column j has that of key j.",
        ),
        "rows-and-columns-swapped": Wrong(
            lambda q, k, r: _by_triples(q, k, r).mT.contiguous(),
            "Rows and columns have changed places. Row i belongs to query i, column j to key j.",
        ),
        "cross-term-once": Wrong(
            _from(lambda q, k, r: -_terms(cross=1)(q, k, r)),
            "The product of the three mixed dot products is counted once. It has a factor of 2 in the determinant.",
        ),
        "cross-term-sign": Wrong(
            _from(lambda q, k, r: -_terms(cross=-2)(q, k, r)),
            "The product of the three mixed dot products has the wrong sign. It is positive in the determinant, and so"
            " negative in the score.",
        ),
        "squares-swapped": Wrong(
            _from(lambda q, k, r: -_terms(pairs="q and r swapped")(q, k, r)),
            "Two squares stand beside the wrong norms: (q·k)² goes with |r|², and (r·k)² with |q|². Each goes with the"
            " vector that is not in it.",
        ),
        "query-reference-forgotten": Wrong(
            _from(lambda q, k, r: -_terms(cross=0, of_k=0)(q, k, r)),
            "The dot product of query and reference is left out. That would do if they were at a right angle, and they"
            " are as they come.",
        ),
        "volume": Wrong(
            _from(lambda q, k, r: -_det(q, k, r).clamp_min(0).sqrt()),
            "This is minus the volume, not minus its square. A root would also have no slope to learn from where the"
            " body is flat.",
        ),
        "scaled": Wrong(
            lambda q, k, r: _by_triples(q, k, r) / q.shape[-1] ** 1.5,
            "The scores are scaled already. The layer does that; here they are as they are.",
        ),
        "masked": Wrong(
            lambda q, k, r: mask_scores(_by_triples(q, k, r), causal_mask(q.shape[-2])),
            "Later positions are masked already. The layer does that; here all pairs have a score.",
        ),
        "softmaxed": Wrong(
            lambda q, k, r: torch.softmax(_by_triples(q, k, r), dim=-1),
            "These are weights. Asked for are the scores, before the softmax.",
        ),
        "dot-products": Wrong(
            lambda q, k, r: q @ k.mT,
            "These are the scores of ordinary attention. The reference has no part in them.",
        ),
    },
    hints=Hints(
        "Of the six dot products, three belong to one position each (a column for the queries', a row for the keys'),"
        " one to query and reference, two to pairs of positions.",
        "The dot products of all queries with all keys are one matrix product, and so are those of all references with"
        " all keys. The rest is broadcasting.",
        "Norms of q and r, and q·r, are [batch, heads, seq, 1]. Norms of k have to become [batch, heads, 1, seq]. Put"
        " all into the five terms, with a minus in front.",
    ),
)


# ---------------------------------------------------------------- the layer


def _split(t, heads):
    return t.unflatten(-1, (heads, -1)).transpose(1, 2)


def _across_positions(t, heads):
    """The same numbers cut by a view alone, so that a head gets whole vectors of a part of the positions."""
    return t.reshape(len(t), heads, t.shape[1], -1)


def _triple(
    scores=_by_triples,
    turned="qkr",
    scale=lambda d_head, d_model: d_head**-1.5,
    make_mask=causal_mask,
    masked_value=-torch.inf,
    axis=-1,
    split=_split,
    turn=lambda t, heads, split: rope(split(t, heads)),
    merge=lambda mixed: mixed.transpose(1, 2).flatten(2),
    out=lambda p, y: y @ p["W_o.weight"].mT,
    names="qkrv",
):
    """The layer with one piece replaced."""

    def answer(p, x, return_weights=False):
        d_model, heads = x.shape[-1], p.init_args["n_head"]
        made = {to: x @ p[f"W_{name}.weight"].mT for to, name in zip("qkrv", names)}
        q, k, r, v = (turn(t, heads, split) if to in turned else split(t, heads) for to, t in made.items())
        s = scores(q, k, r) * scale(d_model // heads, d_model)
        weights = torch.softmax(mask_scores(s, make_mask(x.shape[1]), masked_value), dim=axis)
        y = out(p, merge(weights @ v))
        return (y, weights) if return_weights else y

    return answer


def _others_but_for_the_first(size):
    mask = strictly_causal_mask(size)
    mask[0, 0] = True
    return mask


def _start(d_model, n_head, max_len=128, bias=False, order="qkrvo"):
    if d_model % n_head or d_model // n_head % 2:
        raise ValueError("d_model must be n_head times an even number")
    return layer_parameters(**{f"W_{name}": nn.Linear(d_model, d_model, bias=bias) for name in order})


exercise(
    "TripleProductAttention",
    initial_parameters=_start,
    oracle=_triple(),
    cases=lambda rand: [
        case(rand(2, 5, 12), init=(12, 3, 5), return_weights=True, note="as long as max_len, with its weights"),
        case(rand(2, 6, 12, scale=1.5), init=(12, 2), fill=False, seed=4, note="as it starts"),
        case(rand(1, 1, 4), init=(4, 1), seed=1, note="with one text, one position and one head"),
    ],
    properties=[
        made_in_order("W_q", "W_k", "W_r", "W_v", "W_o"),
        *(
            restrict_to_cases(broken, predicate=lambda case: bool(case.kwargs))
            for broken in (
                causal(scale=100.0),
                batch_independent(),
                moves_with_its_module,
                remembers_nothing,
                finite_when_scaled(30.0),
            )
        ),
        refuses((9, 2), (2, 3, 9), "9 numbers do not split into 2 heads"),
        refuses((12, 4), (2, 3, 12), "4 heads of 12 numbers are 3 wide, and RoPE turns pairs"),
        refuses((8, 2, 4), (2, 5, 8), "5 positions are more than max_len = 4"),
        refuses((4, 1), (1, 129, 4), "129 positions are more than 128, which max_len is unless it is given"),
        takes((4, 1), (1, 128, 4), "max_len is 128 unless it is given, and a text may be that long."),
    ],
    atol=5e-5,
    misconceptions={
        "largest-volume-wins": Wrong(
            _triple(scores=lambda q, k, r: -_by_triples(q, k, r)),
            "The keys that span the most volume win. The score is minus the determinant: attention goes to keys in the"
            " plane of query and reference.",
        ),
        "not-scaled": Wrong(
            _triple(scale=lambda d, m: 1.0),
            "The scores are not scaled. A determinant of degree six is so large that the softmax picks one key and"
            " learns nothing; divide by d_head to the power 1.5.",
        ),
        "scaled-by-the-root": Wrong(
            _triple(scale=lambda d, m: d**-0.5),
            "The scores are divided by the root of d_head, as dot products are. The determinant is made of three such"
            " products, so the power is 1.5.",
        ),
        **{
            f"scaled-by-the-power-{power}": Wrong(
                _triple(scale=lambda d, m, power=power: d**-power),
                f"The scores are divided by d_head to the power {power}. Here the power is 1.5.",
            )
            for power in (1, 2, 2.5, 3)
        },
        "scaled-by-d-model": Wrong(
            _triple(scale=lambda d, m: m**-1.5),
            "The scores are divided by d_model to the power 1.5. The determinant is taken in one head, which has"
            " d_head numbers.",
        ),
        "scaled-up": Wrong(
            _triple(scale=lambda d, m: d**1.5),
            "The scores are multiplied by d_head to the power 1.5. They are to be divided by it.",
        ),
        "no-mask": Wrong(
            _triple(make_mask=lambda n: None),
            "Positions see what comes after them. In copying, that is the answer itself.",
        ),
        "zero-mask": Wrong(
            _triple(masked_value=0.0),
            "Blocked scores were set to 0. Here 0 is the highest score that there is, so the blocked positions win;"
            " what is blocked gets minus infinity.",
        ),
        "mask-reversed": Wrong(
            _triple(make_mask=lambda n: causal_mask(n).T),
            "Each position sees itself and what comes after it. The mask is the wrong way round.",
        ),
        "not-itself": Wrong(
            _triple(make_mask=_others_but_for_the_first),
            "Positions do not see themselves. The diagonal is allowed, as in every causal layer of this course.",
        ),
        "not-itself-anywhere": Wrong(
            _triple(make_mask=strictly_causal_mask),
            "Positions do not see themselves, so the first one sees nothing at all, and its weights are nan. The"
            " diagonal is allowed, as in every causal layer of this course.",
        ),
        "reference-not-turned": Wrong(
            _triple(turned="qk"),
            "RoPE is missing on the reference. Queries and keys turn with their positions, and the reference has to"
            " turn along with its query, or the three do not fit together.",
        ),
        "keys-not-turned": Wrong(
            _triple(turned="qr"),
            "RoPE is missing on the keys. Scores then depend on where the query stands, and not on how far the key is.",
        ),
        "no-rope": Wrong(
            _triple(turned=""),
            "The scores are those without RoPE: it is missing, or it was applied while the heads stood on the last axis"
            " but one, where it turns by the head's number and not by the position.",
        ),
        "values-turned": Wrong(
            _triple(turned="qkrv"),
            "The values were turned too. Scores need positions; what is passed on is mixed, and vectors turned by"
            " different angles do not add up.",
        ),
        "turned-before-the-split": Wrong(
            _triple(turn=lambda t, heads, split: split(rope(t), heads)),
            "RoPE was applied before the heads were split. Each head has its own pairs and all speeds from fast to"
            " slow, so split first.",
        ),
        "reference-of-the-key": Wrong(
            _triple(scores=lambda q, k, r: -_det(*_all_pairs(q, k, r, by="key"))),
            "The reference was taken from the key's position. It belongs to the query.",
        ),
        "key-and-reference-swapped": Wrong(
            _triple(names="qrkv"),
            "Key and reference have changed places: W_r made the keys, or gram_scores was given them in another order."
            " The reference belongs to the position that asks, the key to the one that answers.",
        ),
        "query-and-key-swapped": Wrong(
            _triple(names="kqrv"),
            "Query and key have changed places. The query belongs to the position that asks, the key to the one that"
            " answers.",
        ),
        **{
            f"heads-cut-across-positions{which}": Wrong(
                _triple(split=_across_positions, **how),
                "The heads were cut by a view alone, straight to [batch, heads, seq, d_head], so that a head gets whole"
                " vectors of a part of the positions. Cut the last axis, then move the heads forward.",
            )
            for which, how in (("", {}), ("-and-back", {"merge": lambda m: m.reshape(len(m), m.shape[2], -1)}))
        },
        "reference-made-last": Wrong(
            _triple(),
            "W_r is made last. Each layer draws its numbers when it is made, so with one seed another order starts with"
            " other weights: W_q, W_k, W_r, W_v, W_o.",
            initial_parameters=lambda d_model, n_head, max_len=128: _start(d_model, n_head, max_len, order="qkvor"),
        ),
        "reference-made-before-the-output": Wrong(
            _triple(),
            "W_r is made after W_v. Each layer draws its numbers when it is made, so with one seed another order starts"
            " with other weights: W_q, W_k, W_r, W_v, W_o.",
            initial_parameters=lambda d_model, n_head, max_len=128: _start(d_model, n_head, max_len, order="qkvro"),
        ),
        "reference-is-the-key": Wrong(
            _triple(names="qkkv"),
            "W_k made the reference as well. Then key and reference of a position are the same vector; W_r has weights"
            " of its own.",
        ),
        "softmax-over-queries": Wrong(
            _triple(axis=-2),
            "The softmax runs along the queries. Each query shares out its attention over the keys, the last axis.",
        ),
        "heads-not-moved-back": Wrong(
            _triple(merge=lambda m: m.reshape(len(m), m.shape[2], -1)),
            "The heads were flattened where they stand. Move their axis behind the positions first, or numbers of"
            " different positions end up in one row.",
        ),
        "no-output-layer": Wrong(
            _triple(out=lambda p, y: y),
            "W_o was not used. It mixes what the heads found.",
        ),
        "dot-products": Wrong(
            _triple(scores=lambda q, k, r: q @ k.mT, scale=lambda d, m: d**-0.5),
            "This is standard attention: the reference has no part in the scores.",
        ),
        "with-biases": Wrong(
            _triple(),
            "The layers have biases. Here they have none, like those of the standard layer beside it.",
            initial_parameters=lambda d_model, n_head, max_len=128: _start(d_model, n_head, max_len, bias=True),
        ),
    },
    hints=Hints(
        "It is a causal multi-head layer with one more projection. What changes are the scores, and their scale.",
        "Project, split into heads, turn q, k and r with apply_rope, take gram_scores, scale, mask, softmax; then as"
        " ever.",
        "unflatten(-1, (n_head, d_head)) and transpose split the heads. Divide gram_scores by d_head to the power 1.5,"
        " fill what lies above the diagonal with minus infinity; flatten the heads after moving them back, and end"
        " with W_o.",
    ),
)


# ---------------------------------------------------------------- texts to copy


def _copies(text=None, low=0, high=0, target=None, halves=1):
    """Texts with one piece replaced."""

    def answer(batch_size, seq_len, vocab_size, generator=None):
        if seq_len % 2 or seq_len < 2:
            raise ValueError("an even length is needed")
        half = torch.randint(low, vocab_size + high, (batch_size, halves * seq_len // 2), generator=generator)
        whole = torch.cat((half, half), dim=1) if text is None else text(half, vocab_size, generator)
        inputs, targets = whole[:, :-1], whole[:, 1:]
        return (inputs, targets) if target is None else target(whole, inputs, targets)

    return answer


_ASKED = (
    "targets are the next tokens",
    "targets are the inputs",
    "targets are the tokens before",
    "targets are two places ahead",
    "the second half repeats the first",
    "the second half runs backwards",
    "smallest token",
    "largest token",
    "tokens are equally likely",
    "each token is drawn by itself",
    "texts differ",
)


def _same(a, b):
    return (a == b).all()  # torch.equal refuses two types, and tokens may have come as floats


def _what_holds(result, case):
    """Shapes and types as they are, and what holds of the texts, as numbers: the answers to _ASKED."""
    if not isinstance(result, (tuple, list)) or len(result) != 2 or not all(isinstance(t, Tensor) for t in result):
        return result
    batch_size, seq_len, vocab_size = case.args[:3]
    inputs, targets = (t.detach() for t in result)
    shapes = torch.zeros_like(inputs), torch.zeros_like(targets)
    if inputs.dim() != 2 or inputs.shape != targets.shape or inputs.shape[1] < seq_len - 1:
        return *shapes, torch.full((len(_ASKED),), torch.nan)
    text = torch.cat((inputs, targets[:, -1:]), dim=1)[:, :seq_len]
    first, second = text[:, : seq_len // 2], text[:, seq_len // 2 :]

    def by_chance(shares, draws):
        """Whether shares of so many draws lie within six standard deviations of one in vocab_size."""
        return (shares - 1 / vocab_size).abs().max() < 6 * (1 / vocab_size / draws) ** 0.5

    again = first[:, 1:] == first[:, :-1]
    answers = [
        _same(targets[:, :-1], inputs[:, 1:]),
        _same(targets, inputs),
        _same(targets[:, 1:], inputs[:, :-1]),
        _same(targets[:, :-2], inputs[:, 2:]),
        _same(second, first),
        _same(second, first.flip(1)),
        text.min(),
        text.max(),
        by_chance(torch.stack([(first == token).double().mean() for token in range(vocab_size)]), first.numel()),
        by_chance(again.double().mean(), again.numel()),
        len(text.unique(dim=0)) == batch_size,
    ]
    return *shapes, torch.tensor([float(a) for a in answers])


def _fact(asked, yours, expected):
    """What holds of yours, beside what should hold: a token's id, or yes and no."""
    if asked.endswith("token"):
        return f"the {asked} is {yours:g}, and {expected:g} is expected"
    return f'"{asked}" {"holds and should not" if yours else "should hold and does not"}'


_from_the_generator = batches_from_their_generator(
    "texts",
    *(8, 12, 9),
    elsewhere=". Pass it on to what draws, so that two layers can be trained on the same texts.",
    constant=".",
)


def _few_and_odd(probe):
    """Few tokens are enough, and an odd length is refused."""
    for few in ((1, 2, 5), (3, 2, 1)):
        failure = probe.run(case(*few)).failure
        if failure:
            return (
                f"copy_batch{few} stopped with {article(failure.type)}: {failure.text}. One text, one token, halves of"
                " one token: few, and nothing is wrong with them."
            )
    failure = probe.run(case(2, 7, 5)).failure
    if failure is None:
        return (
            "copy_batch(2, 7, 5) should be refused with a ValueError: 7 tokens have no two equal halves. Yours gave a"
            " result."
        )
    if "ValueError" not in (failure.type, *failure.bases):
        first = failure.text.splitlines()[:1]
        return (
            "copy_batch(2, 7, 5) should be refused with a ValueError, since 7 tokens have no two equal halves; it"
            f" stopped with {article(failure.type)}{': ' if first else ''}{''.join(first)}."
        )
    return None


exercise(
    "copy_batch",
    oracle=_copies(),
    cases=lambda rand: [
        case(batch, seq, vocab, torch.Generator().manual_seed(int(rand.integers(1, high=10_000))))
        for batch, seq, vocab in ((60, 12, 7), (90, 20, 5), (40, 32, 16))
    ],
    parse_result=_what_holds,
    returns=(
        Int("batch seq-1", name="inputs"),
        Int("batch seq-1", name="targets"),
        Facts("what holds of the texts"),
    ),
    properties=[_from_the_generator, _few_and_odd],
    differentiable=False,
    explain_entry=lambda index, yours, expected: _fact(_ASKED[index[0]], yours, expected) if len(index) == 1 else "",
    misconceptions={
        "targets-not-shifted": Wrong(
            _copies(target=lambda whole, inputs, targets: (inputs, inputs.clone())),
            "The targets are the inputs. A model would then have to say what it sees; the target at each place is the"
            " token that comes next.",
        ),
        "shifted-backwards": Wrong(
            _copies(target=lambda whole, inputs, targets: (targets, inputs)),
            "Inputs and targets have changed places: each target is the token before. The model is asked for the next"
            " one.",
        ),
        "not-cut": Wrong(
            _copies(target=lambda whole, inputs, targets: (whole, whole.clone())),
            "Both are the whole text. The inputs end one token early and the targets begin one token late, so each has"
            " seq_len - 1.",
        ),
        "rolled": Wrong(
            _copies(target=lambda whole, inputs, targets: (whole, whole.roll(-1, dims=1))),
            "The targets are the text rolled by one, so the last target is the first token. Nothing comes after the"
            " last token; cut both to seq_len - 1.",
        ),
        "shifted-by-two": Wrong(
            _copies(target=lambda whole, inputs, targets: (inputs, whole.roll(-2, dims=1)[:, :-1])),
            "The targets are two places ahead. The next token is one place ahead.",
        ),
        "not-a-copy": Wrong(
            _copies(
                text=lambda half, vocab, g: torch.cat((half, torch.randint(vocab, half.shape, generator=g)), dim=1)
            ),
            "The second half is not the first once more: drawn anew, moved or changed. It repeats the first, token for"
            " token, or nothing can be copied.",
        ),
        "reversed": Wrong(
            _copies(text=lambda half, vocab, g: torch.cat((half, half.flip(1)), dim=1)),
            "The second half runs backwards. It repeats the first half in the same order.",
        ),
        "token-by-token": Wrong(
            _copies(text=lambda half, vocab, g: half.repeat_interleave(2, dim=1)),
            "Each token is repeated on the spot. The text is one half, and then that half once more.",
        ),
        "one-text-for-all": Wrong(
            _copies(text=lambda half, vocab, g: torch.cat((half, half), dim=1)[:1].expand(len(half), -1).clone()),
            "All texts of the batch are the same one. Each row is drawn on its own.",
        ),
        "one-token-missing": Wrong(
            _copies(high=-1),
            "The last token of the vocabulary never comes. randint leaves its upper end out by itself.",
        ),
        "one-token-too-many": Wrong(
            _copies(high=1),
            "A token of id vocab_size comes up. Ids run from 0 to vocab_size - 1, and an embedding has no row for"
            " another.",
        ),
        "starts-at-one": Wrong(
            _copies(low=1),
            "Token 0 never comes. Ids run from 0.",
        ),
        "twice-as-long": Wrong(
            _copies(halves=2),
            "The texts are twice as long: each half has seq_len tokens. The whole has seq_len.",
        ),
    },
    hints=Hints(
        "Draw half a text. What makes a whole one of it?",
        "torch.randint draws ids from 0 up to what it is given; torch.cat along dim 1 joins the halves. Inputs leave"
        " out the last token, targets the first.",
        "A ValueError if seq_len is odd. half: randint(vocab_size, (batch_size, seq_len // 2), generator=generator);"
        " twice half, side by side; then all but the last column, and all but the first.",
    ),
)
