"""Define the transfer exercise of lesson 11: scores from volumes for all pairs, with one changed rule."""

import torch

from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Wrong, case
from utils.feedback.properties import batch_independent
from utils.feedback.transfer_families import LessonTask, member, transfer_family


def _dot(a, b):
    return (a * b).sum(-1)


def _squared_volume(*vectors):
    """Compute the Gram determinant of the vectors with `torch.linalg.det`, in float64."""
    rows = torch.stack(torch.broadcast_tensors(*vectors), dim=-2).double()
    return torch.linalg.det(rows @ rows.mT).to(vectors[0].dtype)


def _of_query(r):
    return r[:, :, None]


def _of_key(r):
    return r[:, None]


def _of_previous(r):
    return r.roll(1, dims=1)[:, :, None]


def _mean(r):
    return r.mean(1)[:, None, None]


@with_steps
def _score(q, k, r, *, size=_squared_volume, reference=_of_query, change=torch.neg):
    """Compute the score [batch, i, j] of query i, key j and a reference; all inputs are [batch, seq, d]."""
    return change(size(q[:, :, None], k[:, None], reference(r)))


def _seq_first(answer):
    """Let an answer for inputs [batch, seq, d] accept inputs [seq, batch, d]. The result stays [batch, query, key]."""
    return lambda q, k, r: answer(*(t.transpose(0, 1) for t in (q, k, r)))


@with_steps
def _five_terms(q, k, r, *, cross=2, squares=lambda qq, kk, rr, qk, kr, rq: qq * kr**2 + kk * rq**2 + rr * qk**2):
    qq, kk, rr, qk, kr, rq = _dot(q, q), _dot(k, k), _dot(r, r), _dot(q, k), _dot(k, r), _dot(r, q)
    return qq * kk * rr + cross * qk * kr * rq - squares(qq, kk, rr, qk, kr, rq)


def _root(sizes):
    return -sizes.clamp(min=0).sqrt()


def _zero_case(rand):
    """Return a case with a query, a key and references of length 0."""
    q, k, r = (rand(4, 4, 3) for _ in range(3))
    q[0, 1], k[2, 0], r[1] = 0, 0, 0
    return case(q, k, r, note="with a query, a key and references of length 0")


def _by_loop(reference, turn=lambda t: t):
    """Return an oracle that computes one score at a time. `reference` returns the reference of a pair."""

    def answer(q, k, r):
        q, k, r = turn(q), turn(k), turn(r)
        if q.shape[-1] < 2:  # the task excludes this width, so no case may have it
            raise ValueError("d must be at least 2; got 1")
        seq = range(q.shape[1])
        rows = [torch.stack([-_squared_volume(q[:, i], k[:, j], reference(r, i, j)) for j in seq], -1) for i in seq]
        return torch.stack(rows, dim=1)

    return answer


def _milestones(reference=_of_query, turn=lambda t: t):
    """Return the milestones of a task with this reference. `turn` converts the inputs to [batch, seq, d]."""

    def values(q, k, r):
        q, k, r = turn(q), turn(k), turn(r)
        pair = q[:, :, None], k[:, None], reference(r)
        vectors = {"queries": q, "keys": k, "references": pair[2].squeeze()}
        steps = {f"the {name}?": value for name, value in vectors.items()}
        steps |= {f"the squared numbers of the {name}?": value * value for name, value in vectors.items()}
        steps |= {f"the squared lengths of the {name}?": _dot(value, value) for name, value in vectors.items()}
        products = {
            "queries and keys": (q @ k.mT, q, k),
            "keys and references": (_dot(pair[1], pair[2]).squeeze(), k, vectors["references"]),
            "queries and references": (_dot(pair[0], pair[2]).squeeze(), q, vectors["references"]),
        }
        for name, (dots, a, b) in products.items():
            if a.shape == b.shape:
                steps[f"the element-wise products of {name}?"] = a * b
            steps |= {f"the dot products of {name}?": dots, f"the squared dot products of {name}?": dots * dots}
        return steps | {"the sizes?": _squared_volume(*pair), "the scores": -_squared_volume(*pair)}

    return values


def _mistakes(right, wrap=lambda answer: answer, **more):
    """Return the mistakes common to all tasks, and those in `more`.

    Args:
        right: the answer with replaceable steps.
        wrap: changes the inputs of an answer, for another order of the axes.
        more: further misconceptions by id.
    """
    terms = {
        "cross-term-once": _five_terms.replace(cross=1).wrong(
            "You count the product of the three dot products only once. In the determinant, it has a factor of 2."
        ),
        "cross-term-sign": _five_terms.replace(cross=-2).wrong(
            "The product of the three dot products has the wrong sign. The determinant adds it."
        ),
        "squares-swapped": _five_terms.replace(
            squares=lambda qq, kk, rr, qk, kr, rq: qq * qk**2 + kk * kr**2 + rr * rq**2
        ).wrong(
            "You multiply the squared dot products by the wrong squared lengths. Multiply each squared dot product by"
            " the squared length of the vector that is not part of it."
        ),
    }
    return {
        **{id: Wrong(wrap(right.replace(size=size)), message) for id, (size, message, *_) in terms.items()},
        "not-squared": Wrong(
            wrap(right.replace(change=_root)), "Your score is minus the volume. It should be minus the squared volume."
        ),
        **more,
        "not-negative": Wrong(
            wrap(right.replace(change=lambda sizes: sizes)),
            "Your scores are positive, so the largest volume gets the highest score. The scores should be negative.",
        ),
        "rows-and-columns-swapped": Wrong(
            wrap(lambda q, k, r: right(q, k, r).mT),
            "Rows and columns are swapped. Row i should belong to query i, and column j to key j.",
        ),
    }


_key_reference = _score.replace(reference=_of_key)
_shared = _score.replace(reference=_mean)
_previous = _score.replace(reference=_of_previous)


def _previous_or(start):
    """Return an answer in which query i uses reference i - 1, and query 0 uses `start(r)`, [batch, d]."""
    return lambda q, k, r: _score(q, k, torch.cat([start(r)[:, None], r[:, :-1]], 1))


def _mean_of_scores(q, k, r):
    return torch.stack([_score(q, k, r[:, i : i + 1].expand_as(r)) for i in range(r.shape[1])]).mean(0)


transfer_family(
    "span_scores",
    lesson=LessonTask("the score is minus the squared volume of query i, key j and reference i", _score),
    cases=lambda rand: [
        *(case(*(rand(*shape) for _ in range(3))) for shape in ((2, 3, 4), (3, 2, 5), (4, 5, 3), (2, 6, 3))),
        _zero_case(rand),
    ],
    returns=Float("batch query key"),
    properties=[batch_independent()],
    atol=5e-5,
    members={
        "key-reference": member(
            """
            Compute attention scores for several texts, without heads. `q`, `k` and `r` hold the queries, keys and
            references of all positions and have the shape `[batch, seq, d]`. `d` can be any number from 2 on.

            Each score is minus the squared volume of three vectors, as in this lesson. But the reference comes from the
            position of the key, not from the position of the query: entry `[i, j]` combines query `i`, key `j` and
            reference `j` of the same text.

            There is no scale, no mask and no softmax. If one of the three vectors is zero, the score must be 0.
            Return the scores in the shape `[batch, query, key]`.
            """,
            clause="the reference comes from the position of the key",
            oracle=_by_loop(lambda r, i, j: r[:, j]),
            milestones=_milestones(_of_key),
            misconceptions=_mistakes(
                _key_reference,
                **{
                    "query-at-the-key": Wrong(
                        lambda q, k, r: -_squared_volume(q[:, None], k[:, :, None], r[:, None]),
                        "Entry [i, j] combines query j, key i and reference j. It should combine query i, key j and"
                        " reference j.",
                    ),
                },
            ),
        ),
        "shared-reference": member(
            """
            Compute attention scores for several texts, without heads. `q`, `k` and `r` hold the queries, keys and
            references of all positions and have the shape `[batch, seq, d]`. `d` can be any number from 2 on.

            Each score is minus the squared volume of three vectors, as in this lesson. But a text has only one
            reference for all pairs of positions: the mean vector of its references. Entry `[i, j]` combines query `i`,
            key `j` and this mean reference of the same text.

            There is no scale, no mask and no softmax. If one of the three vectors is zero, the score must be 0.
            Return the scores in the shape `[batch, query, key]`.
            """,
            clause="all pairs of a text use the same reference, the mean of its references",
            oracle=_by_loop(lambda r, i, j: r.sum(1) / r.shape[1]),
            milestones=_milestones(_mean),
            misconceptions=_mistakes(
                _shared,
                **{
                    "mean-of-scores": Wrong(
                        _mean_of_scores,
                        "You compute the scores with each reference and take the mean of the scores. Take the mean of"
                        " the references first, then compute one score for each pair.",
                    ),
                    "sum-of-references": _score.replace(reference=lambda r: r.sum(1)[:, None, None]).wrong(
                        "You add the references of a text. Take their mean."
                    ),
                    "mean-over-texts": _score.replace(reference=lambda r: r.mean((0, 1))).wrong(
                        "You take the mean of the references of all texts. Each text has its own mean reference."
                    ),
                    "first-reference": _score.replace(reference=lambda r: r[:, :1, None]).wrong(
                        "All pairs use the reference of position 0. They should use the mean of all references of the"
                        " text."
                    ),
                },
            ),
        ),
        "seq-first": member(
            """
            Compute attention scores for several texts, without heads. `q`, `k` and `r` hold the queries, keys and
            references of all positions and have the shape `[seq, batch, d]`: the first axis is the position in a text,
            and the second axis says which text it is. `d` can be any number from 2 on.

            Each score is minus the squared volume of three vectors, as in this lesson: entry `[i, j]` of a text
            combines query `i`, key `j` and reference `i` of this text.

            There is no scale, no mask and no softmax. If one of the three vectors is zero, the score must be 0.
            Return the scores with the text on the first axis, in the shape `[batch, query, key]`.
            """,
            clause="the first axis of the inputs is the position and the second axis is the text",
            oracle=_by_loop(lambda r, i, j: r[:, i], lambda t: t.transpose(0, 1)),
            milestones=_milestones(turn=lambda t: t.transpose(0, 1)),
            properties=[],  # batch_independent needs the batch on the first axis, but here it is on the second
            misconceptions=_mistakes(
                _score,
                _seq_first,
                **{
                    "text-last": Wrong(
                        lambda q, k, r: _seq_first(_score)(q, k, r).movedim(0, -1),
                        "The scores are right, but their axes are in the order [query, key, batch]. Return them in the"
                        " order [batch, query, key].",
                    ),
                    "text-second": Wrong(
                        lambda q, k, r: _seq_first(_score)(q, k, r).transpose(0, 1),
                        "The scores are right, but their axes are in the order [query, batch, key]. Return them in the"
                        " order [batch, query, key].",
                    ),
                    "reference-of-the-key": Wrong(
                        _seq_first(_key_reference),
                        "You take the reference from the key's position. Entry [i, j] should use reference i.",
                    ),
                },
            ),
        ),
        "previous-reference": member(
            """
            Compute attention scores for several texts, without heads. `q`, `k` and `r` hold the queries, keys and
            references of all positions and have the shape `[batch, seq, d]`. `d` can be any number from 2 on.

            Each score is minus the squared volume of three vectors, as in this lesson. But the reference comes from the
            position before the query: entry `[i, j]` combines query `i`, key `j` and reference `i - 1` of the same
            text. Nothing is before position 0, so query 0 uses the reference of the last position.

            There is no scale, no mask and no softmax. If one of the three vectors is zero, the score must be 0.
            Return the scores in the shape `[batch, query, key]`.
            """,
            clause="the reference comes from the position before the query",
            oracle=_by_loop(lambda r, i, j: r[:, i - 1]),
            milestones=_milestones(_of_previous),
            misconceptions=_mistakes(
                _previous,
                **{
                    "next-reference": _score.replace(reference=lambda r: r.roll(-1, dims=1)[:, :, None]).wrong(
                        "You take the reference from the position after the query. Entry [i, j] should use reference"
                        " i - 1."
                    ),
                    "before-the-key": _score.replace(reference=lambda r: r.roll(1, dims=1)[:, None]).wrong(
                        "You take the reference from the position before the key. Entry [i, j] should use reference"
                        " i - 1, not reference j - 1."
                    ),
                    "previous-text": _score.replace(reference=lambda r: r.roll(1, dims=0)[:, :, None]).wrong(
                        "You take the reference from the previous text. It should come from the position before the"
                        " query, in the same text."
                    ),
                    "two-before": _score.replace(reference=lambda r: r.roll(2, dims=1)[:, :, None]).wrong(
                        "You take the reference from two positions before the query. Take it from the"
                        " position directly before the query."
                    ),
                    "entries-moved": _score.replace(reference=lambda r: r.roll(1, dims=2)[:, :, None]).wrong(
                        "You moved the entries within each reference. Move whole references, along the second axis."
                    ),
                    "moved-without-axes": _score.replace(reference=lambda r: r.roll(1)[:, :, None]).wrong(
                        "You moved every number of r by one place, as if r had only one axis. Move whole references,"
                        " along the second axis."
                    ),
                    "query-moved-too": Wrong(
                        lambda q, k, r: _score(q, k, r).roll(1, dims=1),
                        "You moved the queries together with the references. Entry [i, j] should combine query i with"
                        " reference i - 1.",
                    ),
                    "no-reference-at-the-start": Wrong(
                        _previous_or(lambda r: torch.zeros_like(r[:, 0])),
                        "The scores of query 0 are 0. Query 0 should use the reference of the last position.",
                    ),
                    "own-reference-at-the-start": Wrong(
                        _previous_or(lambda r: r[:, 0]),
                        "Query 0 uses reference 0. It should use the reference of the last position.",
                    ),
                },
            ),
        ),
    },
)
