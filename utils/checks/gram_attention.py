"""Define the exercises of lesson 11: the Gram determinant, scores computed from it, a layer, and texts to copy."""

import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.checks._attention import (
    attention_mistakes,
    causal_mask,
    fix_arguments,
    mask_scores,
    restrict_to_cases,
    rope,
    weigh_scores,
    weight_values,
)
from utils.checks._layer_order import made_in_order
from utils.checks._sampling import batches_from_their_generator
from utils.checks._wrong_answers import with_steps, wrong_answer
from utils.exercises.exercise import Facts, Float, Hints, Int, Wrong, case, exercise, layer_parameters
from utils.exercises.observe import collect_tensors
from utils.feedback.phrases import article
from utils.feedback.properties import (
    batch_independent,
    causal,
    finite_when_scaled,
    moves_with_its_module,
    refuses,
    takes,
)


def _dot(a, b):
    return (a * b).sum(-1)


def _det(q, k, r):
    """Compute the Gram determinant of three vectors with `torch.linalg.det`."""
    rows = torch.stack(torch.broadcast_tensors(q, k, r), dim=-2).double()
    return torch.linalg.det(rows @ rows.mT).to(q.dtype)


@with_steps
def _determinant(q, k, r, *, first=1, cross=2, of_q=1, of_k=1, of_r=1, pairs="right", power=2):
    """Compute the determinant from its five terms.

    `pairs` selects the dot product that multiplies each squared length.
    """
    qq, kk, rr, qk, kr, rq = _dot(q, q), _dot(k, k), _dot(r, r), _dot(q, k), _dot(k, r), _dot(r, q)
    products = {
        "right": (kr, rq, qk),
        "own": (qk, kr, rq),
        "other": (rq, qk, kr),
        "q and k swapped": (rq, kr, qk),
        "q and r swapped": (qk, rq, kr),
        "k and r swapped": (kr, qk, rq),
    }[pairs]
    squares = of_q * qq * products[0] ** power + of_k * kk * products[1] ** power + of_r * rr * products[2] ** power
    return first * qq * kk * rr + cross * qk * kr * rq - squares


def _entry_table(q, k, r):
    """Return a wrong Gram matrix, [d, d]: the products are summed over the vectors instead of over the entries."""
    rows = torch.stack((q, k, r), dim=-2)
    return rows.mT @ rows


def _area_times_height(q, k, r):
    """Multiply the squared area of query and reference by the squared height of the key above their plane."""
    unit = F.normalize(q, dim=-1)
    rest = r - _dot(r, unit)[..., None] * unit
    other = F.normalize(rest, dim=-1)
    height = k - _dot(k, unit)[..., None] * unit - _dot(k, other)[..., None] * other
    return _dot(q, q) * _dot(rest, rest) * _dot(height, height)


def _are_roots(probe):
    """Return whether the results are the square roots of the expected results. Rounding errors near 0 are accepted."""
    pairs = [(trial.yours.value, trial.expected.value) for trial in probe.trials]
    return not probe.has_correct_values and all(
        isinstance(a, Tensor)
        and a.shape == b.shape
        and (a > -0.05).all()
        and torch.allclose(a.square(), b.abs(), atol=1e-3, rtol=1e-3)
        for a, b in pairs
    )


_BODIES = (
    ([1, 0, 0], [0, 2, 0], [0, 0, 3], "they are perpendicular and have lengths 1, 2 and 3, so their box has volume 6"),
    ([1, 0, 0], [1, 1, 0], [0, 0, 2], "q and k span an area of 1, and r is perpendicular to both and has length 2"),
    ([2, 0, 0], [0, 1, 0], [0, 1, 1], "k and r span an area of 1, and q is perpendicular to both and has length 2"),
    ([1, 0, 1], [0, 2, 0], [1, 0, 0], "q and r span an area of 1, and k is perpendicular to both and has length 2"),
    ([1, 2, 0], [0, 1, 1], [1, 3, 1], "r is q + k, so the three vectors are in one plane and span no volume"),
    ([1, 1, 0], [1, 1, 0], [0, 1, 1], "q and k are the same, so the three vectors are in one plane and span no volume"),
)


_VOLUME = (
    "You return the volume. The determinant of the Gram matrix is the squared volume, so do not take the square root."
)


def _volumes(probe):
    """Check the determinants for vectors that span simple solids."""
    if _are_roots(probe):
        return _VOLUME
    for q, k, r, why in _BODIES:
        vectors = [torch.tensor(v, dtype=torch.float32) for v in (q, k, r)]
        observation, wanted = probe.run(case(*vectors)), round(abs(float(_det(*vectors))), 6)
        if observation.failure or not isinstance(observation.value, torch.Tensor) or observation.value.dim():
            return None
        if abs(float(observation.value) - wanted) > 1e-3:
            return (
                f"For q = {q}, k = {k}, r = {r} you return {float(observation.value):.8g}, but the squared volume is"
                f" {wanted:.8g}: {why}."
            )
    return None


def _optional(values):
    return {f"{label}?": value for label, value in values.items()}


def _expand(qq, kk, rr, qk, kr, rq):
    """Return milestones: the dot products, the terms of the determinant, and sums of some of these terms."""
    dots = {"|q|²": qq, "|k|²": kk, "|r|²": rr, "q·k": qk, "k·r": kr, "r·q": rq}
    product = qk * kr * rq
    terms = {
        "|q|²|k|²|r|²": (1, qq * kk * rr),
        "2(q·k)(k·r)(r·q)": (1, 2 * product),
        "|q|²(k·r)²": (-1, qq * kr**2),
        "|k|²(r·q)²": (-1, kk * rq**2),
        "|r|²(q·k)²": (-1, rr * qk**2),
    }
    sums = {}
    for names in itertools.chain(*(itertools.combinations(terms, n) for n in range(1, len(terms)))):
        # If the first term has a minus sign, negate the sum, so that it starts with a positive term.
        first = terms[names[0]][0]
        label = "".join((" + " if terms[n][0] == first else " − ") + n for n in names).removeprefix(" + ")
        sums[label] = sum(first * terms[n][0] * terms[n][1] for n in names)
    return dots, {"(q·k)(k·r)(r·q)": product, **sums}


def _orthogonalise(q, r):
    """Return milestones: the part of r along q, the part perpendicular to q, and the area that q and r span."""
    unit = F.normalize(q, dim=-1)
    projection = _dot(r, unit)[..., None] * unit
    rest = r - projection
    return {
        "the query's direction": unit,
        "the reference's component along the query": _dot(r, unit),
        "the reference's projection onto the query": projection,
        "the remainder of the reference": rest,
        "the direction of the remainder": F.normalize(rest, dim=-1),
        "the squared length of the remainder": _dot(rest, rest),
        "|q|²|r|²": _dot(q, q) * _dot(r, r),
        "(r·q)²": _dot(r, q) ** 2,
        "the length of the remainder": rest.norm(dim=-1),
        "the area": q.norm(dim=-1) * rest.norm(dim=-1),
        "the squared area": _dot(q, q) * _dot(rest, rest),
    }


def _heights(lengths, along, across):
    """Return the milestones of the squared heights. The first ones are the key's components in the plane of q and r."""
    return {
        "the key's component along the query": along,
        "the key's component along the remainder": across,
        "the squared component along the query": along**2,
        "the squared component along the remainder": across**2,
        "the sum of the squared components": along**2 + across**2,
        "|k|² without the part along the query": lengths - along**2,
        "|k|² without the part along the remainder": lengths - across**2,
        "the squared height": lengths - along**2 - across**2,
    }


def _determinant_milestones(q, k, r):
    rows, values = torch.stack((q, k, r), -2), _orthogonalise(q, r)
    unit, other = values["the query's direction"], values["the direction of the remainder"]
    along, across = _dot(k, unit), _dot(k, other)
    in_plane = {
        "the key's projection onto the query": along[..., None] * unit,
        "the key's projection onto the remainder": across[..., None] * other,
        "the key without its projection onto the query": k - along[..., None] * unit,
        "the part of the key above the plane": k - along[..., None] * unit - across[..., None] * other,
    }
    gram = {"the three vectors": rows, "the Gram matrix": rows @ rows.mT}
    dots, terms = _expand(_dot(q, q), _dot(k, k), _dot(r, r), _dot(q, k), _dot(k, r), _dot(r, q))
    return _optional({**gram, **dots, **values, **in_plane, **_heights(_dot(k, k), along, across), **terms})


exercise(
    "gram_determinant",
    oracle=_det,
    milestones=_determinant_milestones,
    cases=lambda rand: [
        case(rand(4), rand(4), rand(4)),
        case(*(rand(5, 3) for _ in range(3))),
        case(*(rand(2, 1, 6, scale=0.7) for _ in range(3))),
        case(*(rand(3, 2, scale=0.7) for _ in range(3)), note="with vectors in a plane, which span no volume"),
    ],
    returns=Float("..."),
    properties=[_volumes],
    differentiable=True,
    atol=5e-5,
    misconceptions={
        "singular-values-of-a-plane": Wrong(
            lambda q, k, r: torch.linalg.svdvals(torch.stack([q, k, r], dim=-2)).prod(dim=-1) ** 2,
            "In two dimensions, your result is not 0, although three vectors in a plane span no volume. Does your"
            " product have only two factors in this case, so that it measures an area?",
        ),
        "score-instead": _determinant.replace(first=-1, cross=-2, of_q=-1, of_k=-1, of_r=-1).wrong(
            "The sign is wrong: you return minus the determinant. The score will later be minus the determinant, but"
            " the determinant itself is a squared volume, so it is never negative."
        ),
        "cross-term-once": _determinant.replace(cross=1).wrong(
            "You count the product (q·k)(k·r)(r·q) only once. Two of the six terms of the determinant are this product,"
            " so it should have a factor of 2."
        ),
        "cross-term-negative": _determinant.replace(cross=-2).wrong(
            "You subtract the product (q·k)(k·r)(r·q). In Sarrus' rule, this product comes from two descending"
            " diagonals, so it should be added."
        ),
        "cross-term-forgotten": _determinant.replace(cross=0).wrong(
            "The product (q·k)(k·r)(r·q) is missing. It is 0 only if two of the vectors are perpendicular."
        ),
        "squares-beside-their-own": _determinant.replace(pairs="own").wrong(
            "You multiply the squared dot products by the wrong norms. The squared dot product of two vectors should be"
            " multiplied by the squared norm of the third vector: (k·r)² by |q|²."
        ),
        "squares-beside-others": _determinant.replace(pairs="other").wrong(
            "You multiply the squared dot products by the wrong norms. (k·r)² should be multiplied by |q|², because k·r"
            " is neither in the row nor in the column of q."
        ),
        **{
            f"squares-of-{a}-and-{b}-swapped": Wrong(
                _determinant.replace(pairs=f"{a} and {b} swapped"),
                f"You multiply two squared dot products by the wrong norms: the norms of {a} and {b} are swapped. The"
                " squared dot product of two vectors should be multiplied by the squared norm of the third vector:"
                " (k·r)² by |q|².",
            )
            for a, b in ("qk", "qr", "kr")
        },
        "table-of-entries": Wrong(
            lambda q, k, r: torch.linalg.det(_entry_table(q, k, r).double()).to(q.dtype),
            "Your matrix product sums over the three vectors, so your table has the shape [d, d], with one row for each"
            " entry. The Gram matrix should have the shape [3, 3]: each dot product in it is a sum over the entries of"
            " two vectors.",
        ),
        "squares-added": _determinant.replace(of_q=-1, of_k=-1, of_r=-1).wrong(
            "You add the three terms with squared dot products. These terms come from the ascending diagonals of"
            " Sarrus' rule, so they should be subtracted."
        ),
        "not-squared": _determinant.replace(power=1).wrong(
            "You multiply the squared norms by dot products that are not squared. Each of these terms should have"
            " degree six, like the first term: every vector should occur in it twice."
        ),
        "reference-square-forgotten": _determinant.replace(of_k=0).wrong(
            "The term |k|² (q·r)² is missing. It is 0 only if query and reference are perpendicular."
        ),
        "query-reference-forgotten": _determinant.replace(cross=0, of_k=0).wrong(
            "You leave out the dot product of query and reference. This dot product is 0 only if query and reference"
            " are perpendicular, which is not always the case."
        ),
        "volume": Wrong(
            lambda q, k, r: _det(q, k, r).clamp_min(0).sqrt(),
            _VOLUME,
        ),
        "directions-only": Wrong(
            lambda q, k, r: _det(*(F.normalize(t, dim=-1) for t in (q, k, r))),
            "You normalise the vectors to length 1 first, so their lengths have no effect. The lengths should count: a"
            " key that is twice as long makes the volume twice as large.",
        ),
        "base-only": Wrong(
            lambda q, k, r: _dot(q, q) * _dot(r, r) - _dot(q, r) ** 2,
            "You return the squared area that query and reference span. The key does not affect your result yet.",
        ),
        "only-the-product": _determinant.replace(cross=0, of_q=0, of_k=0, of_r=0).wrong(
            "You return the product of the three squared lengths, which is the squared volume of a box with right"
            " angles. The terms for other angles are missing."
        ),
        "one-number": Wrong(
            lambda q, k, r: _det(q, k, r).sum(),
            "You sum the determinants of all triples into one number. Only the last axis, which holds the entries of a"
            " vector, should disappear.",
        ),
        "keeps-the-axis": Wrong(
            lambda q, k, r: _det(q, k, r)[..., None],
            "The numbers are right, but you keep an axis of size 1. [..., d] should become [...].",
        ),
    },
    equivalent={"area-times-height": _area_times_height},
    hints=Hints(
        "Write down the 3 × 3 table of all dot products, and its determinant by Sarrus' rule: add the products of the"
        " three descending diagonals, and subtract the products of the three ascending diagonals.",
        "Six dot products are enough, because the table is symmetric. For a dot product along the last axis, multiply"
        " and sum over dim -1.",
        "Write qk for the dot product q·k, qq for q·q, and so on; each of them is a sum over the last axis. The"
        " determinant is qq · kk · rr + 2 · qk · kr · rq - qq · kr² - kk · rq² - rr · qk².",
    ),
)


# ---------------------------------------------------------------- scores for all pairs


def _all_pairs(q, k, r, by="query"):
    """Combine each query i with each key j. Use reference i if `by` is "query", otherwise reference j."""
    q_, k_ = q[..., :, None, :], k[..., None, :, :]
    r_ = r[..., :, None, :] if by == "query" else r[..., None, :, :]
    return torch.broadcast_tensors(q_, k_, r_)


@with_steps
def _scores_by_triples(q, k, r, *, determinant=_det, by="query"):
    return -determinant(*_all_pairs(q, k, r, by))


@wrong_answer
def _norms_along_rows(q, k, r):
    """You put the keys' squared lengths along the queries' axis, so row i uses |k|² of position i for all keys. Put
    these squared lengths along the last axis, so that column j has the squared length of key j.
    """
    kk = _dot(k, k)[..., :, None]
    qq, rr, rq = _dot(q, q)[..., None], _dot(r, r)[..., None], _dot(r, q)[..., None]
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * rq - qq * rk**2 - kk * rq**2 - rr * qk**2)


@wrong_answer
def _divided_by_lengths(q, k, r):
    """Your result is nan if a query or a reference has length 0, or if the two are parallel. These scores should be 0:
    do you divide by a length that can be 0?
    """
    unit = q / q.norm(dim=-1, keepdim=True)
    rest = r - (r * unit).sum(-1, keepdim=True) * unit
    other = rest / rest.norm(dim=-1, keepdim=True)
    height = _dot(k, k)[..., None, :] - (unit @ k.mT) ** 2 - (other @ k.mT) ** 2
    return -(_dot(q, q) * _dot(rest, rest))[..., None] * height


@wrong_answer
def _reference_not_orthogonalised(q, k, r):
    """You subtract the projections onto query and reference as if these two vectors were perpendicular, so their common
    part is subtracted twice. First subtract from the reference its component along the query.
    """
    area = _dot(q, q) * _dot(r, r) - _dot(q, r) ** 2
    along = [(F.normalize(t, dim=-1) @ k.mT) ** 2 for t in (q, r)]
    return -area[..., None] * (_dot(k, k)[..., None, :] - sum(along))


@wrong_answer
def _area_without_remainder(q, k, r):
    """You multiply by |q|²·|r|², which is the squared area only if query and reference are perpendicular. Replace |r|²
    by the squared length of the part of the reference that is perpendicular to the query.
    """
    # Where the area is 0, the height is the whole distance from the query's line, as in answers that avoid 0 / 0.
    rest = r - (r * F.normalize(q, dim=-1)).sum(-1, keepdim=True) * F.normalize(q, dim=-1)
    along = [(F.normalize(t, dim=-1) @ k.mT) ** 2 for t in (q, rest)]
    return -(_dot(q, q) * _dot(r, r))[..., None] * (_dot(k, k)[..., None, :] - sum(along))


def _degenerate_case(rand):
    """Return a case with vectors of length 0, and with two references parallel to their queries."""
    q, k, r = (rand(2, 1, 5, 4, scale=0.5) for _ in range(3))
    # If a reference is parallel to this query, its perpendicular part is exactly 0, without rounding errors.
    q[1, 0, 4] = torch.tensor([0.0, 2.0, 0.0, 0.0])
    q[0, 0, 1], r[0, 0, 2], r[1, 0, 3:], k[1, 0, 0] = 0, 0, 0.5 * q[1, 0, 3:], 0
    note = "with a query, a key and a reference of length 0, and with references parallel to their queries"
    return case(q, k, r, note=note)


def _by_matrix_products(probe):
    """Check that the answer uses neither a loop nor a tensor with a vector for each pair of positions."""

    def run(*shape):
        vectors = [torch.randn(*shape, generator=torch.Generator().manual_seed(i)) for i in range(3)]
        return probe.run(case(*vectors), count=True)

    short, long = run(1, 1, 6, 4), run(2, 3, 24, 16)
    # A matrix product of larger tensors may copy tensors a few times, and each copy counts as an operation.
    if long.operations > short.operations + 12:
        return (
            "The scores are right, but the number of operations grows with the size of the inputs:"
            f" {short.operations} operations for one head with 6 positions, but {long.operations} operations for 2"
            " texts, 3 heads and 24 positions. Do you use a loop? A single matrix product gives all dot products of"
            " queries with keys."
        )
    largest = run(1, 1, 64, 16).largest
    if largest >= 64 * 64 * 16:
        return (
            f"The scores are right, but for 64 positions and d_head = 16 you create a tensor of {largest:,} numbers:"
            " at least one vector for each pair of positions, [seq, seq, d_head]. A matrix product sums over d_head"
            " without storing such a tensor."
        )
    return None


def _one_at_a_time(probe):
    """Check the scores for vectors that span simple solids. Check that a score depends on only three vectors."""
    for q, k, r, why in _BODIES:
        vectors = [torch.tensor(v, dtype=torch.float32).view(1, 1, 1, 3) for v in (q, k, r)]
        observation, wanted = probe.run(case(*vectors)), -round(abs(float(_det(*vectors))), 6) or 0.0
        value = observation.value
        if observation.failure or not isinstance(value, torch.Tensor) or value.numel() != 1:
            return None
        if abs(float(value) - wanted) > 1e-3:
            return (
                f"For one position with q = {q}, k = {k}, r = {r} your score is {float(value):.4g},"
                f" expected {wanted:.4g}: {why}."
            )
    trial = probe.trials[0]
    if trial.yours.value.shape != trial.expected.value.shape:
        return None
    for at, (name, axis, line) in enumerate((("query", -2, "row"), ("key", -1, "column"), ("reference", -2, "row"))):
        args = [a.clone() for a in trial.case.args]
        args[at][..., 0, :] += 1.0
        observation = probe.run(case(*args))
        if observation.failure:
            continue
        after, before = (t.narrow(axis, 1, t.shape[axis] - 1) for t in (observation.value, trial.yours.value))
        if not torch.allclose(after, before, atol=1e-4):
            return (
                f"When only the {name} of position 0 changed, scores outside {line} 0 changed too. Entry [i, j]"
                " should depend only on query i, key j and reference i."
            )
    return None


def _has_room(probe):
    """Check that the scores of float16 vectors do not overflow. Answers should compute them in a wider dtype."""
    vectors = [
        torch.full((1, 1, 2, 4), 4.0, dtype=torch.float16) * torch.tensor(signs, dtype=torch.float16)
        for signs in ([1, 1, 1, 1], [1, -1, 1, 1], [1, 1, -1, 1])
    ]
    observation = probe.run(case(*vectors))
    scores = collect_tensors(observation.value)
    if observation.failure or all(t.isfinite().all() for t in scores):
        return None
    remedy = "First convert q, k and r to a wider dtype with gram_attention.upcast"
    if any(t.dtype == torch.float16 for t in scores):
        remedy += ", and do not convert the scores back to float16"
    return (
        "For vectors of length 8 in float16 your scores are not finite: 8⁶ = 262,144, but the largest float16 number is"
        f" 65,504. {remedy}."
    )


def _keeps_the_dtype(probe):
    """Check that float32 vectors give float32 scores: the layer multiplies the weights by float32 values."""
    vectors = [torch.randn(1, 1, 3, 4, generator=torch.Generator().manual_seed(i)) for i in range(3)]
    dtypes = {t.dtype for t in collect_tensors(probe.run(case(*vectors)).value)}
    if dtypes <= {torch.float32}:
        return None
    return "The scores of float32 vectors are float64. Return them in the dtype that gram_attention.upcast returns."


def _lengths(vectors):
    """Return milestones: the lengths of vectors. `gram_attention.upcast` computes these lengths too."""
    return {f"the lengths of {name.removeprefix('the ')}": t.norm(dim=-1) for name, t in vectors.items()}


def _score_milestones(q, k, r):
    of_query = [_dot(*pair)[..., None] for pair in ((q, q), (r, r), (r, q))]
    lengths = _dot(k, k)[..., None, :]
    dots, terms = _expand(of_query[0], lengths, of_query[1], q @ k.mT, r @ k.mT, of_query[2])
    values = _orthogonalise(q, r)
    area = values["the squared area"][..., None]
    along, across = (values[name] @ k.mT for name in ("the query's direction", "the direction of the remainder"))
    heights = _heights(lengths, along, across)
    scaled = {
        "the component along the query, times the area": area.sqrt() * along,
        "the component along the remainder, times the area": area.sqrt() * across,
        "|k|², times the squared area": area * lengths,
    }
    scaled |= {f"{label}, times the squared area": area * value for label, value in heights.items()}
    both = {**terms, **scaled}
    negative = {f"minus ({label})": -both[label] for label in list(both)[:-1]}  # the last negative is the result
    inputs = {"the queries": q, "the keys": k, "the references": r}
    return _optional({**inputs, **_lengths(inputs), **dots, **values, **heights, **both, **negative})


exercise(
    "gram_scores",
    oracle=_scores_by_triples,
    milestones=_score_milestones,
    cases=lambda rand: [
        case(*(rand(2, 3, 5, 4, scale=0.8) for _ in range(3))),
        case(*(rand(3, 1, 4, 6, scale=0.7) for _ in range(3))),
        case(*(rand(1, 2, 7, 3) for _ in range(3))),
        case(*(rand(1, 1, 1, 2) for _ in range(3)), note="with one position and heads of width 2"),
        _degenerate_case(rand),
        case(*(rand(1, 1, 4, 3, scale=0.7) * far for far in (0.05, 400.0, 0.05)), note="with long keys"),
        case(*(rand(2, 1, 3, 4, scale=0.8).double() for _ in range(3)), note="with float64 vectors"),
    ],
    returns=Float("batch heads query key"),
    differentiable=True,
    properties=[batch_independent(), _one_at_a_time, _by_matrix_products, _has_room, _keeps_the_dtype],
    atol=5e-5,
    misconceptions={
        "not-negative": Wrong(
            lambda q, k, r: -_scores_by_triples(q, k, r),
            "You return the determinants, so the largest volume gets the highest score. The score should be minus the"
            " determinant: the smaller the volume, the higher the score.",
        ),
        "reference-of-the-key": _scores_by_triples.replace(by="key").wrong(
            "You take the reference from the key's position. It should come from the query's position: entry [i, j]"
            " combines q_i and r_i with k_j."
        ),
        "divided-by-a-length-of-0": _divided_by_lengths,
        "reference-as-it-is": _reference_not_orthogonalised,
        "area-without-remainder": _area_without_remainder,
        "key-norms-along-rows": _norms_along_rows,
        "rows-and-columns-swapped": Wrong(
            lambda q, k, r: _scores_by_triples(q, k, r).mT.contiguous(),
            "Rows and columns are swapped. Row i should belong to query i, and column j to key j.",
        ),
        "cross-term-once": _scores_by_triples.replace(determinant=_determinant.replace(cross=1)).wrong(
            "You count the product (q·k)(k·r)(r·q) only once. It should have a factor of 2, as in the determinant."
        ),
        "cross-term-sign": _scores_by_triples.replace(determinant=_determinant.replace(cross=-2)).wrong(
            "The product (q·k)(k·r)(r·q) has the wrong sign. The determinant adds it, so the score should subtract it."
        ),
        "squares-swapped": _scores_by_triples.replace(determinant=_determinant.replace(pairs="q and r swapped")).wrong(
            "You multiply two squared dot products by the wrong norms: |q|² and |r|² are swapped. Multiply each squared"
            " dot product by the squared norm of the vector that does not occur in it: (q·k)² by |r|², and (r·k)² by"
            " |q|²."
        ),
        "query-reference-forgotten": Wrong(
            _scores_by_triples.replace(determinant=_determinant.replace(cross=0, of_k=0)),
            "You leave out the dot product of query and reference. This dot product is 0 only if query and reference"
            " are perpendicular, which is not always the case.",
        ),
        "volume": _scores_by_triples.replace(determinant=lambda q, k, r: _det(q, k, r).clamp_min(0).sqrt()).wrong(
            "You return minus the volume instead of minus the squared volume. A square root also has no finite gradient"
            " where the volume is 0."
        ),
        "scaled": Wrong(
            lambda q, k, r: _scores_by_triples(q, k, r) / q.shape[-1] ** 1.5,
            "You already scale the scores. The layer scales them later, so return the scores unscaled.",
        ),
        "masked": Wrong(
            lambda q, k, r: mask_scores(_scores_by_triples(q, k, r), causal_mask(q.shape[-2])),
            "You already mask later positions. The layer applies the mask later; here all pairs should have a score.",
        ),
        "softmaxed": Wrong(
            lambda q, k, r: torch.softmax(_scores_by_triples(q, k, r), dim=-1),
            "You return weights. Return the scores instead, without a softmax.",
        ),
        "dot-products": Wrong(
            lambda q, k, r: q @ k.mT,
            "You return the scores of standard attention, which do not use the reference. The score should be minus the"
            " Gram determinant of query, key and reference.",
        ),
    },
    hints=Hints(
        "Of the six dot products, three depend only on position i (make them columns), one depends only on position j"
        " (make it a row), and two depend on both positions.",
        "The dot products of all queries with all keys are one matrix product, and so are the dot products of all"
        " references with all keys. Broadcasting does the rest.",
        "The squared norms of q and r, and the products q·r, have the shape [batch, heads, seq, 1]; the squared norms"
        " of k need the shape [batch, heads, 1, seq]. Insert all dot products into the formula of the determinant, and"
        " return minus the determinant.",
    ),
)


# ---------------------------------------------------------------- the layer


def _split_heads(t, heads):
    return t.unflatten(-1, (heads, -1)).transpose(1, 2)


def _split_across_positions(t, heads):
    """Split heads wrongly with a single reshape: each head gets whole vectors, but only from a few positions."""
    return t.reshape(len(t), heads, t.shape[1], -1)


@with_steps
def _layer(
    p,
    x,
    return_weights=False,
    *,
    scores=_scores_by_triples,
    rotated="qkr",
    scale=lambda d_head, d_model, seq: d_head**-1.5,
    split=_split_heads,
    rotate=lambda t, heads, split: rope(split(t, heads)),
    merge=lambda mixed: mixed.transpose(1, 2).flatten(2),
    out=lambda p, y: y @ p["W_o.weight"].mT,
    names="qkrv",
    **steps,
):
    """Compute the forward pass. `steps` replaces steps of `weigh_scores`."""
    d_model, heads = x.shape[-1], p.init_args["n_head"]
    projected = {to: x @ p[f"W_{name}.weight"].mT for to, name in zip("qkrv", names)}
    q, k, r, v = (rotate(t, heads, split) if to in rotated else split(t, heads) for to, t in projected.items())
    weigh = weigh_scores.replace(scale=scale, **steps)
    weights = weigh(scores(q, k, r), causal_mask(x.shape[1]), d_model // heads, d_model)
    y = out(p, merge(weights @ v))
    return (y, weights) if return_weights else y


_wrong = attention_mistakes(_layer.replace)


def _initial_parameters(d_model, n_head, max_len=128, bias=False, order="qkrvo"):
    if d_model % n_head or d_model // n_head % 2:
        raise ValueError("d_model must be n_head times an even number")
    return layer_parameters(**{f"W_{name}": nn.Linear(d_model, d_model, bias=bias) for name in order})


def _layer_milestones(p, x, return_weights=False):
    projected = {n: _split_heads(x @ p[f"W_{n}.weight"].mT, p.init_args["n_head"]) for n in "qkrv"}
    q, k, r = (rope(projected[n]) for n in "qkr")
    rotated = {"the rotated queries": q, "the rotated keys": k, "the rotated references": r}
    weights = weight_values(_scores_by_triples(q, k, r), q.shape[-1] ** 3, causal_mask(x.shape[1]))
    return {
        **{f"the {name}": projected[name[0]] for name in ("queries", "keys", "references")},
        **rotated,
        **_optional(_lengths(rotated)),
        "the values": projected["v"],
        **weights,
        "the context vectors": weights["the weights"] @ projected["v"],
    }


exercise(
    "TripleProductAttention",
    unswept={"parameters": "the lesson lets the layer save its mask as a buffer"},
    initial_parameters=_initial_parameters,
    oracle=_layer,
    milestones=_layer_milestones,
    cases=lambda rand: [
        case(rand(2, 5, 12), init=(12, 3, 5), return_weights=True, note="as long as max_len, with its weights"),
        case(rand(2, 6, 12, scale=1.5), init=(12, 2), fill=False, seed=4, note="with its initial weights"),
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
                finite_when_scaled(30.0),
            )
        ),
        refuses((9, 2), (2, 3, 9), "9 entries cannot be split evenly into 2 heads"),
        refuses(
            (12, 4), (2, 3, 12), "12 entries in 4 heads give 3 entries per head, but RoPE rotates pairs of entries"
        ),
        refuses((8, 2, 4), (2, 5, 8), "5 positions are more than max_len = 4"),
        refuses((4, 1), (1, 129, 4), "129 positions are more than the default max_len = 128"),
        takes((4, 1), (1, 128, 4), "max_len is 128 by default, so a text of 128 positions is valid."),
    ],
    atol=5e-5,
    misconceptions={
        "largest-volume-wins": _layer.replace(scores=lambda q, k, r: -_scores_by_triples(q, k, r)).wrong(
            "The keys that span the most volume get the most weight. The score should be minus the determinant, so that"
            " keys in the plane of query and reference get the most weight."
        ),
        "not-scaled": _wrong.not_scaled(
            "You do not scale the scores. The determinant is a sum of products of six lengths, so it is large and the"
            " softmax gives nearly all weight to one key; divide the scores by d_head to the power 1.5."
        ),
        "scaled-by-the-root": _layer.replace(scale=lambda d, m, seq: d**-0.5).wrong(
            "You divide the scores by the square root of d_head, as in dot-product attention. Each term of the"
            " determinant is a product of three dot products, so the exponent should be 1.5."
        ),
        **{
            f"scaled-by-the-power-{power}": Wrong(
                _layer.replace(scale=lambda d, m, seq, power=power: d**-power),
                f"You divide the scores by d_head to the power {power}. The exponent should be 1.5.",
            )
            for power in (1, 2, 2.5, 3)
        },
        "scaled-by-d-model": _layer.replace(scale=lambda d, m, seq: m**-1.5).wrong(
            "You divide the scores by d_model to the power 1.5. The determinant is computed within one head, whose"
            " vectors have d_head entries."
        ),
        "scaled-up": _layer.replace(scale=lambda d, m, seq: d**1.5).wrong(
            "You multiply the scores by d_head to the power 1.5. Divide by it instead."
        ),
        "no-mask": _wrong.sees_the_future(
            "Each position sees the positions after it. In the copy task, the later positions contain the answer."
        ),
        "zero-mask": _wrong.hidden_with_zero(
            "You set blocked scores to 0. Here 0 is the highest possible score, so the blocked positions get the most"
            " weight; set their scores to minus infinity."
        ),
        "mask-reversed": _wrong.mirror_image(
            "Your mask is transposed: each position sees itself and the positions after it. It should see itself and"
            " the positions before it."
        ),
        "not-itself": Wrong(
            _layer.replace(change_mask=lambda mask: mask.tril(-1) | (torch.arange(mask.numel()).view_as(mask) == 0)),
            "Positions do not see themselves. The diagonal should be allowed, as in every causal layer of this course.",
        ),
        "not-itself-anywhere": _wrong.blind_to_itself(
            "Positions do not see themselves, so the first position sees nothing at all, and its weights are nan. The"
            " diagonal should be allowed, as in every causal layer of this course."
        ),
        "reference-not-turned": _layer.replace(rotated="qk").wrong(
            "You do not apply RoPE to the references. Queries and keys are rotated by their positions, so each"
            " reference should be rotated by the same angles as its query."
        ),
        "keys-not-turned": _layer.replace(rotated="qr").wrong(
            "You do not apply RoPE to the keys. The scores then depend on the position of the query instead of the"
            " distance between query and key."
        ),
        "no-rope": _layer.replace(rotated="").wrong(
            "Your scores are the same as without RoPE. Is RoPE missing, or is the head axis second to last when you"
            " apply it, so that it rotates by the head index instead of the position?"
        ),
        "values-turned": _layer.replace(rotated="qkrv").wrong(
            "You apply RoPE to the values too. Only the scores need positions, so apply RoPE only to queries, keys and"
            " references."
        ),
        "turned-before-the-split": _layer.replace(rotate=lambda t, heads, split: split(rope(t), heads)).wrong(
            "You apply RoPE before you split the vectors into heads. Each head should have pairs that rotate at all"
            " speeds, from fast to slow, so split into heads before you apply RoPE."
        ),
        "reference-of-the-key": _layer.replace(scores=_scores_by_triples.replace(by="key")).wrong(
            "You take the reference from the key's position. It should come from the query's position."
        ),
        "key-and-reference-swapped": _layer.replace(names="qrkv").wrong(
            "Key and reference are swapped: W_r computes the keys, or you pass keys and references to gram_scores in"
            " the wrong order. The reference belongs to the query's position, and the key belongs to the position that"
            " is attended to."
        ),
        "query-and-key-swapped": _layer.replace(names="kqrv").wrong(
            "Query and key are swapped. The query belongs to the position that attends, and the key belongs to the"
            " position that is attended to."
        ),
        **{
            f"heads-cut-across-positions{which}": Wrong(
                _layer.replace(split=_split_across_positions, **how),
                "You split the heads with a single view to [batch, heads, seq, d_head], so each head gets the complete"
                " vectors of only some positions. Split the last axis, then move the head axis forward.",
            )
            for which, how in (("", {}), ("-and-back", {"merge": lambda m: m.reshape(len(m), m.shape[2], -1)}))
        },
        "reference-made-last": Wrong(
            _layer,
            "You create W_r last. Each layer samples its weights when it is created, so a different order gives"
            " different weights for the same seed: use the order W_q, W_k, W_r, W_v, W_o.",
            initial_parameters=fix_arguments(_initial_parameters, order="qkvor"),
        ),
        "reference-made-before-the-output": Wrong(
            _layer,
            "You create W_r after W_v. Each layer samples its weights when it is created, so a different order gives"
            " different weights for the same seed: use the order W_q, W_k, W_r, W_v, W_o.",
            initial_parameters=fix_arguments(_initial_parameters, order="qkvro"),
        ),
        "reference-is-the-key": _layer.replace(names="qkkv").wrong(
            "W_k also computes the references, so the key and the reference of each position are the same vector. Use"
            " W_r, which has its own weights, for the references."
        ),
        "softmax-over-queries": _wrong.wrong_axis(
            "Your softmax runs along the queries. For each query, the weights over the keys (along the last axis)"
            " should sum to one."
        ),
        "heads-not-moved-back": _layer.replace(merge=lambda m: m.reshape(len(m), m.shape[2], -1)).wrong(
            "You flatten the heads without moving the head axis. Move it after the position axis first; otherwise,"
            " entries of different positions end up in one row."
        ),
        "no-output-layer": _layer.replace(out=lambda p, y: y).wrong(
            "You do not use W_o. It should mix the results of the heads."
        ),
        "dot-products": _layer.replace(scores=lambda q, k, r: q @ k.mT, scale=lambda d, m, seq: d**-0.5).wrong(
            "You compute standard attention, so the reference does not affect the scores. Compute the scores with"
            " gram_scores."
        ),
        "with-biases": Wrong(
            _layer,
            "Your layers have biases. They should have none, like the layers of StandardAttention.",
            initial_parameters=fix_arguments(_initial_parameters, bias=True),
        ),
    },
    hints=Hints(
        "This is a causal multi-head layer with one additional projection. Only the scores and their scale change.",
        "Project, split into heads, rotate q, k and r with apply_rope, and call gram_scores. Then scale, mask, apply"
        " softmax, and go on as in every multi-head layer.",
        "unflatten(-1, (n_head, d_head)) and transpose split the heads. Divide gram_scores by d_head to the power 1.5"
        " and fill the entries above the diagonal with minus infinity; after mixing, move the heads back, flatten"
        " them, and end with W_o.",
    ),
)


# ---------------------------------------------------------------- texts to copy


@with_steps
def _copy_batch(
    batch_size,
    seq_len,
    vocab_size,
    generator=None,
    *,
    low=0,
    high=0,
    halves=1,
    text=lambda half, vocab_size, generator: torch.cat((half, half), dim=1),
    target=lambda tokens, inputs, targets: (inputs, targets),
):
    if seq_len % 2 or seq_len < 2:
        raise ValueError("an even length is needed")
    half = torch.randint(low, vocab_size + high, (batch_size, halves * seq_len // 2), generator=generator)
    tokens = text(half, vocab_size, generator)
    return target(tokens, tokens[:, :-1], tokens[:, 1:])


_CLAIMS = (
    "targets are the next tokens",
    "targets are the inputs",
    "targets are the previous tokens",
    "targets are two positions ahead",
    "in the inputs, the second half repeats the first",
    "the last target is the last token of the first half",
    "the last target is the first token",
    "the second half runs backwards",
    "each token appears twice in a row",
    "smallest token",
    "largest token",
    "tokens are equally likely",
    "each token is sampled independently",
    "all texts differ",
    "all texts are the same",
)


def _all_equal(a, b):
    # Tokens may be floats, and torch.equal raises an error for different dtypes.
    return (a == b).all()


def _evaluate_claims(result, case):
    """Return zeros with the shapes and dtypes of the result, followed by one number for each claim in _CLAIMS."""
    if not isinstance(result, (tuple, list)) or len(result) != 2 or not all(isinstance(t, Tensor) for t in result):
        return result
    batch_size, seq_len, vocab_size = case.args[:3]
    inputs, targets = (t.detach() for t in result)
    shapes = torch.zeros_like(inputs), torch.zeros_like(targets)
    if inputs.dim() != 2 or inputs.shape != targets.shape or inputs.shape[1] < seq_len - 1:
        return *shapes, torch.full((len(_CLAIMS),), torch.nan)
    text = torch.cat((inputs, targets[:, -1:]), dim=1)[:, :seq_len]
    first, second = text[:, : seq_len // 2], text[:, seq_len // 2 :]

    def by_chance(shares, draws):
        """Return whether all `shares` of `draws` samples are within six standard deviations of 1 / vocab_size."""
        return (shares - 1 / vocab_size).abs().max() < 6 * (1 / vocab_size / draws) ** 0.5

    repeated = first[:, 1:] == first[:, :-1]
    answers = [
        _all_equal(targets[:, :-1], inputs[:, 1:]),
        _all_equal(targets, inputs),
        _all_equal(targets[:, 1:], inputs[:, :-1]),
        _all_equal(targets[:, :-2], inputs[:, 2:]),
        _all_equal(second[:, :-1], first[:, :-1]),
        _all_equal(second[:, -1], first[:, -1]),
        _all_equal(targets[:, -1], text[:, 0]),
        _all_equal(second[:, :-1], first.flip(1)[:, :-1]),
        _all_equal(text[:, :-2:2], text[:, 1:-1:2]),
        text.min(),
        text.max(),
        by_chance(torch.stack([(first == token).double().mean() for token in range(vocab_size)]), first.numel()),
        by_chance(repeated.double().mean(), repeated.numel()),
        len(text[:, :-1].unique(dim=0)) == batch_size,
        (text[:, :-1] == text[:1, :-1]).all(),
    ]
    return *shapes, torch.tensor([float(a) for a in answers])


def _describe_claim(claim, yours, expected):
    """Return a clause that compares the value of a claim with its expected value."""
    if claim.endswith("token"):
        return f"the {claim} is {yours:g}, expected {expected:g}"
    return f'"{claim}" is {"true, but should be false" if yours else "false, but should be true"}'


_from_the_generator = batches_from_their_generator(
    "texts",
    *(8, 12, 9),
    elsewhere=". Pass it to every sampling call, so that two layers can be trained on the same texts.",
    constant=".",
)


def _few_and_odd(probe):
    """Check that small sizes work, and that an odd length raises a ValueError."""
    for sizes in ((1, 2, 5), (3, 2, 1)):
        failure = probe.run(case(*sizes)).failure
        if failure:
            return (
                f"copy_batch{sizes}, without a generator, stopped with {article(failure.type)}: {failure.text}. Small"
                " sizes are valid, and `generator` may be None."
            )
    failure = probe.run(case(2, 7, 5)).failure
    if failure is None:
        return (
            "copy_batch(2, 7, 5) should raise a ValueError, because 7 tokens cannot be split into two equal halves."
            " Your function returned a result."
        )
    if "ValueError" not in (failure.type, *failure.bases):
        first = failure.text.splitlines()[:1]
        return (
            "copy_batch(2, 7, 5) should raise a ValueError, because 7 tokens cannot be split into two equal halves;"
            f" your function stopped with {article(failure.type)}{': ' if first else ''}{''.join(first)}."
        )
    return None


exercise(
    "copy_batch",
    unswept={"ones": "the check needs many texts to estimate frequencies"},
    oracle=_copy_batch,
    cases=lambda rand: [
        case(batch, seq, vocab, torch.Generator().manual_seed(int(rand.integers(1, high=10_000))))
        for batch, seq, vocab in ((60, 12, 7), (90, 20, 5), (40, 32, 16))
    ],
    parse_result=_evaluate_claims,
    returns=(
        Int("batch seq-1", name="inputs"),
        Int("batch seq-1", name="targets"),
        Facts("claims about the texts"),
    ),
    properties=[_from_the_generator, _few_and_odd],
    differentiable=False,
    explain_entry=lambda index, yours, expected: (
        _describe_claim(_CLAIMS[index[0]], yours, expected) if len(index) == 1 else ""
    ),
    misconceptions={
        "targets-not-shifted": Wrong(
            _copy_batch.replace(target=lambda whole, inputs, targets: (inputs, inputs.clone())),
            "Your targets are the inputs, so a model would have to predict what it already sees. The target at each"
            " position should be the next token.",
        ),
        "shifted-backwards": _copy_batch.replace(target=lambda whole, inputs, targets: (targets, inputs)).wrong(
            "Inputs and targets are swapped, so each target is the previous token. The model should predict the next"
            " token."
        ),
        "not-cut": _copy_batch.replace(target=lambda whole, inputs, targets: (whole, whole.clone())).wrong(
            "You return the whole text twice. The inputs should leave out the last token, and the targets should leave"
            " out the first token, so that both have seq_len - 1 tokens."
        ),
        "rolled": _copy_batch.replace(target=lambda whole, inputs, targets: (whole, whole.roll(-1, dims=1))).wrong(
            "Your targets are the text rolled by one, so the last target is the first token. Nothing comes after the"
            " last token: slice inputs and targets to seq_len - 1 tokens."
        ),
        "shifted-by-two": Wrong(
            _copy_batch.replace(target=lambda whole, inputs, targets: (inputs, whole.roll(-2, dims=1)[:, :-1])),
            "Each of your targets is the token two positions ahead. It should be the next token, one position ahead.",
        ),
        "not-a-copy": Wrong(
            _copy_batch.replace(
                text=lambda half, vocab, g: torch.cat((half, torch.randint(vocab, half.shape, generator=g)), dim=1)
            ),
            "Your second half does not repeat the first half: it is sampled separately, moved or changed. Repeat the"
            " first half token by token; otherwise, there is nothing to copy.",
        ),
        "last-target-wrong": Wrong(
            _copy_batch.replace(
                target=lambda whole, inputs, targets: (inputs, torch.cat((targets[:, :-1], inputs[:, :1]), dim=1))
            ),
            "Your texts are right, but each last target is the first token of its text. The targets are the text"
            " without its first token, so the last target is the last token of the text.",
        ),
        "reversed": _copy_batch.replace(text=lambda half, vocab, g: torch.cat((half, half.flip(1)), dim=1)).wrong(
            "Your second half is the first half in reverse order. It should repeat the first half in the same order."
        ),
        "token-by-token": _copy_batch.replace(text=lambda half, vocab, g: half.repeat_interleave(2, dim=1)).wrong(
            "You repeat each token immediately. The text should consist of the first half, followed by a copy of the"
            " first half."
        ),
        "one-text-for-all": Wrong(
            _copy_batch.replace(
                text=lambda half, vocab, g: torch.cat((half, half), dim=1)[:1].expand(len(half), -1).clone()
            ),
            "All texts of your batch are the same. Sample each row independently.",
        ),
        "one-token-missing": _copy_batch.replace(high=-1).wrong(
            "The last token of the vocabulary never occurs. randint already excludes its upper end."
        ),
        "one-token-too-many": _copy_batch.replace(high=1).wrong(
            "A token with id vocab_size occurs. Ids run from 0 to vocab_size - 1, and an embedding has no row for any"
            " other id."
        ),
        "starts-at-one": _copy_batch.replace(low=1).wrong("Token 0 never occurs. Ids start at 0."),
        "twice-as-long": _copy_batch.replace(halves=2).wrong(
            "Your texts have 2 * seq_len tokens. The whole text should have seq_len tokens, so each half should have"
            " seq_len / 2 tokens."
        ),
    },
    hints=Hints(
        "Sample half a text. How do you make a whole text from it?",
        "torch.randint samples ids from 0 up to, but not including, its argument; torch.cat along dim 1 joins the"
        " halves. The inputs should leave out the last token, and the targets should leave out the first token.",
        "Raise a ValueError if seq_len is odd. Sample the first half with randint(vocab_size, (batch_size, seq_len //"
        " 2), generator=generator), and join it with itself. The inputs are all columns except the last column, and the"
        " targets are all columns except the first column.",
    ),
)
