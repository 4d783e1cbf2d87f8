"""Define the transfer exercise of lesson 10: gradient descent on the examples of a prompt, with one changed rule."""

import torch

from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Wrong, case
from utils.feedback.properties import batch_independent
from utils.feedback.transfer import LessonTask, member, transfer_family


@with_steps
def _descend(
    x_q,
    x,
    y,
    *,
    start=0.0,
    steps=1,
    intercept=False,
    force=lambda left: left,
    rate=lambda n, L, d: 1 / L,
    gather=lambda x, pull: x.mT @ pull,
):
    """Answer the questions after gradient descent.

    `force` maps each example's difference y − β·x − b to the example's weight in the step.
    """
    beta, b = torch.full((len(x), x.shape[-1], 1), start, dtype=x.dtype), 0.0
    for _ in range(steps):
        pull = rate(*x.shape) * force(y - x @ beta - b)
        beta = beta + gather(x, pull)
        b = b + pull.sum(1, keepdim=True) if intercept else b
    return x_q @ beta + b


_intercept = _descend.replace(intercept=True)
_from_ones = _descend.replace(start=1.0)
_absolute = _descend.replace(force=torch.sign)
_two_steps = _descend.replace(steps=2)


def _half_square(error):
    return error.square() / 2


def _oracle(loss=_half_square, start=0.0, steps=1, intercept=False):
    """Return an oracle that takes steps of gradient descent with autograd."""

    def answer(x_q, x, y):
        x, y = x.detach(), y.detach()
        beta = torch.full((len(x), x.shape[-1], 1), start, dtype=x.dtype)
        b = torch.zeros(len(x), 1, 1, dtype=x.dtype)
        for _ in range(steps):
            with torch.enable_grad():
                beta.requires_grad_(), b.requires_grad_()
                error = x @ beta + b - y
                of_beta, of_b = torch.autograd.grad(loss(error).mean(1).sum(), (beta, b))
            beta, b = (beta - of_beta).detach(), (b - of_b * intercept).detach()
        return x_q @ beta + b

    return answer


def _milestones(start=0.0, force=lambda left: left, steps=1):
    """Return the milestones of gradient descent with this start, force and number of steps."""

    def values(x_q, x, y):
        beta = torch.full((len(x), x.shape[-1], 1), start, dtype=x.dtype)
        named = {"the dot products of the questions' x and the examples' x?": x_q @ x.mT}
        for name in ("first", "second")[:steps]:
            guess = x @ beta
            pull = force(y - guess)
            named[f"the examples' answers before the {name} step?"] = guess
            named[f"the errors before the {name} step?"] = guess - y
            named[f"the sums of x times the errors in the {name} step?"] = x.mT @ pull
            named[f"the gradients of beta in the {name} step?"] = -x.mT @ pull / x.shape[1]
            beta = beta + x.mT @ pull / x.shape[1]
            named[f"beta after the {name} step?"] = beta
        return named | {"the means of y?": y.mean(1)}

    return values


def _mistakes(right, **more):
    """Return `more` and the mistakes that every task recognises. `right` is the answer with replaceable steps."""
    return {
        **more,
        "not-divided": right.replace(rate=lambda n, L, d: 1.0).wrong(
            "You do not divide the sum over the examples by L. The loss is a mean over the examples."
        ),
        "uphill": right.replace(rate=lambda n, L, d: -1 / L).wrong(
            "Your step has the wrong sign, so it increases the loss. Gradient descent goes against the gradient."
        ),
        "factor-two": right.replace(rate=lambda n, L, d: 2 / L).wrong(
            "Your step is twice as long as it should be. Compute the derivative of the loss again, and use the rate 1."
        ),
        "half-rate": right.replace(rate=lambda n, L, d: 0.5 / L).wrong(
            "Your step is half as long as it should be. Compute the derivative of the loss again, and use the rate 1."
        ),
        "averaged-over-prompts": right.replace(rate=lambda n, L, d: 1 / (n * L)).wrong(
            "You also average over the prompts. Every prompt has its own loss: the mean over its own L examples."
        ),
        "divided-by-d": right.replace(rate=lambda n, L, d: 1 / d).wrong(
            "You divide the sum by d, the number of entries of x. Take the mean over the L examples."
        ),
        "one-beta-for-all-prompts": right.replace(gather=lambda x, pull: (x.mT @ pull).mean(0, keepdim=True)).wrong(
            "All prompts share one β. Each prompt has its own β, and only its own examples determine it."
        ),
    }


def _centred(y):
    return y - y.mean(1, keepdim=True)


def _first_answer(x_q, x, y):
    """Answer the questions after one step from β = 0, as in the lesson."""
    return x_q @ (x.mT @ y) / x.shape[1]


def _cases(rand):
    sizes = ((3, 2, 6, 4), (4, 1, 7, 2), (2, 3, 4, 3), (5, 2, 5, 1))
    return [case(rand(n, queries, d), rand(n, L, d), rand(n, L, 1)) for n, queries, L, d in sizes]


transfer_family(
    "answer_after_descent",
    lesson=LessonTask("β starts at 0, and one step is taken on half the mean squared error", _descend),
    cases=_cases,
    returns=Float("n queries 1"),
    properties=[batch_independent()],
    members={
        "intercept": member(
            """
            Each of `n` prompts has its own examples and its own line. `x` holds the examples' x, `[n, L, d]`, and `y`
            holds their y, `[n, L, 1]`. `x_q` holds the questions' x, `[n, queries, d]`. These are plain vectors: no
            entry for y is attached to them.

            The line has a slope β and also an intercept, the number b: it predicts β·x + b. The loss of a prompt is
            half the mean of (β·x_i + b − y_i)² over its L examples. β and b start at 0 and change together in one step
            of gradient descent with the learning rate 1: each uses the gradient at the start.

            Return the answers to the questions after this step, β·x_q + b, in the shape `[n, queries, 1]`.
            """,
            clause="the step also changes an intercept b, which is added to every answer",
            oracle=_oracle(intercept=True),
            milestones=_milestones(),
            misconceptions=_mistakes(
                _intercept,
                **{
                    "intercept-first": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, _centred(y)) + y.mean(1, keepdim=True),
                        "You change b first and use the new b in the gradient of β. Both should use the gradient at the"
                        " start, where β and b are 0.",
                    ),
                    "slope-first": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, y) + (y - _first_answer(x, x, y)).mean(1, keepdim=True),
                        "You change β first and use the new β in the gradient of b. Both should use the gradient at the"
                        " start, where β and b are 0.",
                    ),
                    "intercept-only": Wrong(
                        lambda x_q, x, y: y.mean(1, keepdim=True).expand(-1, x_q.shape[1], -1),
                        "Your answers consist of b only. Add β·x_q.",
                    ),
                    "intercept-subtracted": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, y) - y.mean(1, keepdim=True),
                        "You subtract the mean of y from the answers. The gradient of b is minus this mean, so the step"
                        " adds it.",
                    ),
                    "one-intercept-for-all-prompts": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, y) + y.mean(),
                        "All prompts share one b. Each prompt has its own b, and only its own examples determine it.",
                    ),
                },
            ),
        ),
        "from-ones": member(
            """
            Each of `n` prompts has its own examples and its own slope. `x` holds the examples' x, `[n, L, d]`, and `y`
            holds their y, `[n, L, 1]`. `x_q` holds the questions' x, `[n, queries, d]`. These are plain vectors: no
            entry for y is attached to them.

            The slope β does not start at 0, but with the value 1 in each of its d entries, in every prompt. The loss of
            a prompt is half the mean of (β·x_i − y_i)² over its L examples, as in this lesson. Take one step of
            gradient descent with the learning rate 1, and use the gradient at this start.

            Return the answers to the questions after this step, β·x_q, in the shape `[n, queries, 1]`.
            """,
            clause="β starts with the value 1 in each entry",
            oracle=_oracle(start=1.0),
            milestones=_milestones(start=1.0),
            misconceptions=_mistakes(
                _from_ones,
                **{
                    "gradient-at-zero": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, y) + x_q.sum(-1, keepdim=True),
                        "You add the step from β = 0 to the start. From a different start the errors differ, so"
                        " the gradient differs too.",
                    ),
                    "start-not-added": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, y - x.sum(-1, keepdim=True)),
                        "Your β is only the change that the step makes. Add the start, which is 1 in each entry.",
                    ),
                    "error-with-the-wrong-sign": Wrong(
                        lambda x_q, x, y: (
                            _first_answer(x_q, x, y + x.sum(-1, keepdim=True)) + x_q.sum(-1, keepdim=True)
                        ),
                        "You add the examples' answers to y. The error is the difference of β·x_i and y_i.",
                    ),
                    "no-step": Wrong(
                        lambda x_q, x, y: x_q.sum(-1, keepdim=True),
                        "You answer with the β at the start. Take one step first.",
                    ),
                },
            ),
        ),
        "absolute-error": member(
            """
            Each of `n` prompts has its own examples and its own slope. `x` holds the examples' x, `[n, L, d]`, and `y`
            holds their y, `[n, L, 1]`. `x_q` holds the questions' x, `[n, queries, d]`. These are plain vectors: no
            entry for y is attached to them.

            The loss of a prompt is the mean absolute error: the mean of |β·x_i − y_i| over its L examples, without a
            factor of one half. Take one step of gradient descent from β = 0 with the learning rate 1. The derivative of
            |e| is 1 for a positive e and −1 for a negative e; where e is 0, use 0.

            Return the answers to the questions after this step, β·x_q, in the shape `[n, queries, 1]`.
            """,
            clause="the loss is the mean absolute error",
            oracle=_oracle(loss=torch.abs),
            milestones=_milestones(force=torch.sign),
            misconceptions=_mistakes(
                _absolute,
                **{
                    "absolute-y": _descend.replace(force=torch.abs).wrong(
                        "You multiply x by the absolute value of y. The derivative of the absolute error is only a"
                        " sign: it does not grow with the error."
                    ),
                    "sign-of-the-product": Wrong(
                        lambda x_q, x, y: x_q @ (x * y).sign().mean(1, keepdim=True).mT,
                        "You take the sign of the product of x and y. Take the sign of y, and multiply it by x.",
                    ),
                    "sign-of-x": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x.sign(), y),
                        "You take the sign of x. Only the error becomes a sign; x stays as it is.",
                    ),
                    "sign-of-beta": Wrong(
                        lambda x_q, x, y: x_q @ (x.mT @ y).sign(),
                        "You take the sign of the sum over the examples. Take the sign of each example's error before"
                        " you multiply by x and take the mean.",
                    ),
                },
            ),
        ),
        "two-steps": member(
            """
            Each of `n` prompts has its own examples and its own slope. `x` holds the examples' x, `[n, L, d]`, and `y`
            holds their y, `[n, L, 1]`. `x_q` holds the questions' x, `[n, queries, d]`. These are plain vectors: no
            entry for y is attached to them.

            The loss of a prompt is half the mean of (β·x_i − y_i)² over its L examples, as in this lesson, and β starts
            at 0. But take two steps of gradient descent, each with the learning rate 1. The second step uses the
            gradient at the β that the first step has reached.

            Return the answers to the questions after both steps, β·x_q, in the shape `[n, queries, 1]`.
            """,
            clause="two steps are taken, and the second step starts where the first step ends",
            oracle=_oracle(steps=2),
            milestones=_milestones(steps=2),
            misconceptions=_mistakes(
                _two_steps,
                **{
                    "same-step-twice": Wrong(
                        lambda x_q, x, y: 2 * _first_answer(x_q, x, y),
                        "Both of your steps use the gradient at β = 0. The second step should use the gradient at the β"
                        " that the first step has reached.",
                    ),
                    "second-step-only": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, y - _first_answer(x, x, y)),
                        "Your β is only the change that the second step makes. Add the β that the first step has"
                        " reached.",
                    ),
                    "error-with-the-wrong-sign": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, y) + _first_answer(x_q, x, y + _first_answer(x, x, y)),
                        "In the second step, you add the examples' answers to y. The error is the difference of β·x_i"
                        " and y_i.",
                    ),
                    "three-steps": _descend.replace(steps=3).wrong("You take three steps. Take two steps."),
                },
            ),
        ),
    },
)
