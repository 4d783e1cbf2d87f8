"""Define the transfer exercise of lesson 09: a base that passes through gates, with one changed convention."""

import torch
from torch.nn import functional as F

from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Wrong, case
from utils.feedback.transfer_families import LessonTask, member, transfer_family


@with_steps
def _weight(
    A,
    B,
    base,
    temp,
    *,
    product=torch.matmul,
    divide=lambda product, temp: product / temp,
    normalise=lambda scaled: F.softmax(scaled, -1),
    change_gate=lambda gate: gate,
    join=torch.mul,
):
    """Compute a weight [heads, embed_dim, d_head] from the gates and the base."""
    return join(change_gate(normalise(divide(product(A, B), temp))), base)


_columns = _weight.replace(normalise=lambda scaled: F.softmax(scaled, -2))
_heads = _weight.replace(normalise=lambda scaled: F.softmax(scaled, 0))
_closing = _weight.replace(change_gate=lambda gate: 1 - gate)
_neutral = _weight.replace(change_gate=lambda gate: gate * gate.shape[-1])


def _gates(A, B, temp, dim):
    """Compute the gates with logsumexp, not with a softmax."""
    scores = torch.einsum("her,hrd->hed", A, B) / temp
    return (scores - scores.logsumexp(dim, keepdim=True)).exp()


def _milestones(dim=-1, change=None):
    """Return the milestones for gates with a softmax along `dim`.

    `change` is a pair: the label of the changed gates, and the function that changes the gates.
    """

    def values(A, B, base, temp):
        product = torch.einsum("her,hrd->hed", A, B)
        gate = (product / temp).softmax(dim)
        changed = {} if change is None else {change[0]: change[1](gate)}
        return {
            "the product of A and B": product,
            "the product divided by the temperature": product / temp,
            "the gates before the last step" if change else "the gates": gate,
            **changed,
        }

    return values


def _mistakes(right, **more):
    """Return the mistakes common to all tasks, and those in `more`. `right` is the answer with replaceable steps."""
    return {
        **more,
        "no-softmax": right.replace(normalise=lambda scaled: scaled).wrong(
            "You use the product of A and B without a softmax, so a gate may be negative or above one. Apply the"
            " softmax that the task asks for."
        ),
        "temperature-ignored": right.replace(divide=lambda product, temp: product).wrong(
            "The temperature has no effect on your result. Divide the product by it before the softmax."
        ),
        "temperature-multiplied": right.replace(divide=lambda product, temp: product * temp).wrong(
            "You multiply by the temperature. A high temperature should make the gates more uniform, so divide by it."
        ),
        "temperature-after-the-softmax": Wrong(
            lambda A, B, base, temp: right(A, B, base, 1.0) / temp,
            "You divided by the temperature after the softmax, so the gates no longer sum to one. Divide the product"
            " before the softmax.",
        ),
        "base-added": right.replace(join=torch.add).wrong(
            "You added the base. A gate decides how much of a base entry passes, so multiply the base by the gates."
        ),
        "base-ignored": right.replace(join=lambda gate, base: gate).wrong(
            "You return only the gates. The gates should multiply the entries of the base."
        ),
        "base-before-the-softmax": Wrong(
            lambda A, B, base, temp: right.replace(product=lambda A, B: A @ B * base)(
                A, B, torch.ones_like(base), temp
            ),
            "You multiplied by the base before the softmax, so your weights have no negative entries. Compute the gates"
            " first, then multiply them by the base.",
        ),
    }


transfer_family(
    "gate_base",
    lesson=LessonTask("the gates of a row sum to one, and they multiply the base", _weight),
    cases=lambda rand: [
        case(rand(heads, embed_dim, rank), rand(heads, rank, d_head), rand(heads, embed_dim, d_head), temp)
        for heads, embed_dim, rank, d_head, temp in (
            (2, 6, 3, 4, 0.5),
            (3, 4, 2, 5, 2.0),
            (4, 3, 5, 2, 1.5),
            (2, 8, 1, 3, 0.7),
        )
    ],
    returns=Float("heads embed_dim d_head"),
    differentiable=True,
    members={
        "columns": member(
            """
            Compute a weight for each head. Here, the gates compete in a different way. `A` has the shape
            `[heads, embed_dim, rank]`, `B` has the shape `[heads, rank, d_head]`, `base` has the shape
            `[heads, embed_dim, d_head]`, and `temp` is a positive number.

            As in this lesson, multiply `A` and `B` of each head, divide the product by the temperature, and turn it
            into gates with a softmax. But here, the gates of each column sum to one: the inputs of one output compete
            with each other. The base is multiplied by the gates, entry by entry.

            Return the weights, in the shape `[heads, embed_dim, d_head]`. The softmax should
            work with large numbers too, and gradients should flow back to `A`, `B` and `base`.
            """,
            clause="the gates of each column sum to one",
            oracle=lambda A, B, base, temp: base * _gates(A, B, temp, 1),
            milestones=_milestones(dim=-2),
            misconceptions=_mistakes(
                _columns,
                **{
                    "columns-of-the-base": _weight.replace(join=lambda gate, base: gate * F.softmax(base, -2)).wrong(
                        "You applied a softmax to the base. Apply the softmax only to the product of A and B."
                    ),
                    "transposed-product": Wrong(
                        lambda A, B, base, temp: _weight(B.mT, A.mT, base.mT, temp),
                        "Your gates are right, but you return the transposed weights. Their shape should be that of the"
                        " base.",
                    ),
                },
            ),
        ),
        "heads-compete": member(
            """
            Compute a weight for each head. Here, the gates compete in a different way. `A` has the shape
            `[heads, embed_dim, rank]`, `B` has the shape `[heads, rank, d_head]`, `base` has the shape
            `[heads, embed_dim, d_head]`, and `temp` is a positive number.

            As in this lesson, multiply `A` and `B` of each head, divide the product by the temperature, and turn it
            into gates with a softmax. But here, the heads compete with each other: for each input and each output, the
            gates of all heads sum to one. The base is multiplied by the gates, entry by entry.

            Return the weights, in the shape `[heads, embed_dim, d_head]`. The softmax should
            work with large numbers too, and gradients should flow back to `A`, `B` and `base`.
            """,
            clause="the gates of all heads sum to one, for each input and each output",
            oracle=lambda A, B, base, temp: base * _gates(A, B, temp, 0),
            milestones=_milestones(dim=0),
            misconceptions=_mistakes(
                _heads,
                **{
                    "summed-over-heads": _heads.replace(join=lambda gate, base: (gate * base).sum(0)).wrong(
                        "You added the weights of the heads. Each head should keep its own weight."
                    ),
                    "all-entries": _weight.replace(
                        normalise=lambda scaled: F.softmax(scaled.flatten(), 0).view_as(scaled)
                    ).wrong(
                        "All your gates together sum to one. For each input and each output, the gates of all heads"
                        " should sum to one."
                    ),
                },
            ),
        ),
        "closing": member(
            """
            Compute a weight for each head. Here, a gate closes where it opened in this lesson. `A` has the shape
            `[heads, embed_dim, rank]`, `B` has the shape `[heads, rank, d_head]`, `base` has the shape
            `[heads, embed_dim, d_head]`, and `temp` is a positive number.

            As in this lesson, multiply `A` and `B` of each head, divide the product by the temperature, and apply a
            softmax, so that each row sums to one. But here, these numbers say which share of an entry of the base is
            blocked: near 1, almost nothing of the entry passes, and near 0, almost everything.

            Return the weights, in the shape `[heads, embed_dim, d_head]`. The softmax should
            work with large numbers too, and gradients should flow back to `A`, `B` and `base`.
            """,
            clause="the softmax determines which share of each entry is blocked",
            oracle=lambda A, B, base, temp: torch.lerp(base, torch.zeros_like(base), _gates(A, B, temp, 2)),
            milestones=_milestones(change=("the shares that pass?", lambda gate: 1 - gate)),
            misconceptions=_mistakes(
                _closing,
                **{
                    "product-negated": _weight.replace(product=lambda A, B: -(A @ B)).wrong(
                        "You changed the sign of the product, so small gates become large, but each row still sums to"
                        " one. The share that passes is one minus the result of the softmax."
                    ),
                    "divided-by-the-gate": _weight.replace(join=lambda gate, base: base / gate).wrong(
                        "You divide by the gates, so an entry that is blocked becomes larger than it was. Multiply by"
                        " the share that passes, which is between 0 and 1."
                    ),
                    "subtracted": _weight.replace(join=lambda gate, base: base - gate).wrong(
                        "You subtract the result of the softmax from the base. This result is a share: subtract that"
                        " share of each entry."
                    ),
                },
            ),
        ),
        "neutral": member(
            """
            Compute a weight for each head. Here, a gate can also enlarge an entry. `A` has the shape
            `[heads, embed_dim, rank]`, `B` has the shape `[heads, rank, d_head]`, `base` has the shape
            `[heads, embed_dim, d_head]`, and `temp` is a positive number.

            As in this lesson, multiply `A` and `B` of each head, divide the product by the temperature, and apply a
            softmax to each row. But here, the gates of a row have a mean of one, not a sum of one: when all gates of a
            row are equal, the base passes unchanged. The base is multiplied by the gates, entry by entry.

            Return the weights, in the shape `[heads, embed_dim, d_head]`. The softmax should
            work with large numbers too, and gradients should flow back to `A`, `B` and `base`.
            """,
            clause="the gates of a row have a mean of one",
            oracle=lambda A, B, base, temp: base * (_gates(A, B, temp, 2) / (1 / base.shape[2])),
            milestones=_milestones(change=("the gates with a mean of one?", lambda gate: gate * gate.shape[-1])),
            misconceptions=_mistakes(
                _neutral,
                **{
                    "times-the-inputs": _weight.replace(change_gate=lambda gate: gate * gate.shape[-2]).wrong(
                        "You multiply by the number of inputs. A row has one gate for each output: multiply by the"
                        " number of outputs."
                    ),
                    "one-added": _weight.replace(change_gate=lambda gate: gate + 1).wrong(
                        "You added one to each gate, so every gate enlarges its entry. The mean of a row should be one."
                    ),
                    "shifted-to-the-mean": _weight.replace(
                        change_gate=lambda gate: gate + 1 - gate.mean(-1, keepdim=True)
                    ).wrong(
                        "You shifted the gates, so their mean is one, but a closed gate is not near 0. Multiply the"
                        " gates instead."
                    ),
                    "divided": _weight.replace(change_gate=lambda gate: gate / gate.shape[-1]).wrong(
                        "You divide by the number of outputs, so the gates become even smaller. Equal gates should all"
                        " be one."
                    ),
                },
            ),
        ),
    },
)
