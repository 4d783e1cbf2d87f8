"""Define the transfer exercise of lesson 10: gradient descent on the examples of a prompt, with one changed rule."""

import torch
from torch.nn import functional as F

from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Wrong, case
from utils.feedback.properties import batch_independent
from utils.feedback.transfer_families import LessonTask, member, transfer_family


@with_steps
def _descend(
    x_q,
    x,
    y,
    *,
    offset=0.0,
    intercept=False,
    force=lambda left: left,
    rate=lambda n, L, d: 1 / L,
    gather=lambda x, pull: x.mT @ pull,
):
    """Take one step of gradient descent from β = 0 for the line β·x + offset, then answer the questions.

    `force` maps each example's difference y − offset to the example's weight in the step.
    """
    pull = rate(*x.shape) * force(y - offset)
    return x_q @ gather(x, pull) + (pull.sum(1, keepdim=True) if intercept else offset)


def _clip(left):
    return left.clamp(-1, 1)


_intercept = _descend.replace(intercept=True)
_fixed = _descend.replace(offset=1.0)
_absolute = _descend.replace(force=torch.sign)
_huber = _descend.replace(force=_clip)


def _half_square(error):
    return error.square() / 2


def _huber_loss(error):
    return F.huber_loss(error, torch.zeros_like(error), reduction="none")


def _oracle(loss=_half_square, start=0.0, intercept=False):
    """Return an oracle that takes a step of gradient descent with autograd.

    Args:
        loss: function of the errors.
        start: the value of the intercept at the start.
        intercept: whether the step changes the intercept.
    """

    def answer(x_q, x, y):
        x, y = x.detach(), y.detach()
        beta = torch.zeros(len(x), x.shape[-1], 1, dtype=x.dtype)
        b = torch.full((len(x), 1, 1), start, dtype=x.dtype)
        with torch.enable_grad():
            beta.requires_grad_(), b.requires_grad_()
            of_beta, of_b = torch.autograd.grad(loss(x @ beta + b - y).mean(1).sum(), (beta, b))
        return x_q @ (beta - of_beta).detach() + (b - of_b * intercept).detach()

    return answer


def _milestones(offset=0.0, force=lambda left: left):
    """Return the milestones of a step of gradient descent with this offset and force."""

    def values(x_q, x, y):
        pull = force(y - offset)
        beta = x.mT @ pull / x.shape[1]
        return {
            "the dot products of the questions' x and the examples' x?": x_q @ x.mT,
            "the errors before the step?": offset - y,
            "the sums of x times the errors?": x.mT @ pull,
            "the gradients of beta?": -beta,
            "beta after the step?": beta,
            "the means of y?": y.mean(1),
        }

    return values


def _mistakes(right, **more):
    """Return the mistakes common to all tasks, and those in `more`. `right` is the answer with replaceable steps."""
    return {
        **more,
        "not-divided": right.replace(rate=lambda n, L, d: 1.0).wrong(
            "You do not divide the sum over the examples by L. The loss is a mean over the examples."
        ),
        "uphill": right.replace(rate=lambda n, L, d: -1 / L).wrong(
            "Your step has the wrong sign, so it increases the loss. Gradient descent goes against the gradient."
        ),
        "factor-two": right.replace(rate=lambda n, L, d: 2 / L).wrong(
            "Your step is twice as long as it should be. Compute the derivative of the loss again, and use a learning"
            " rate of 1."
        ),
        "half-rate": right.replace(rate=lambda n, L, d: 0.5 / L).wrong(
            "Your step is half as long as it should be. Compute the derivative of the loss again, and use a learning"
            " rate of 1."
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
    usual = [case(rand(n, queries, d), rand(n, L, d), rand(n, L, 1)) for n, queries, L, d in sizes]
    return [*usual, case(rand(2, 3, 4), rand(2, 5, 4), rand(2, 5, 1, scale=9.0), note="with large y")]


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
                        "You subtract the mean of y from the answers. The gradient of b is minus this mean, so a step"
                        " against the gradient adds the mean.",
                    ),
                    "one-intercept-for-all-prompts": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, y) + y.mean(),
                        "All prompts share one b. Each prompt has its own b, and only its own examples determine it.",
                    ),
                },
            ),
        ),
        "fixed-intercept": member(
            """
            Each of `n` prompts has its own examples and its own line. `x` holds the examples' x, `[n, L, d]`, and `y`
            holds their y, `[n, L, 1]`. `x_q` holds the questions' x, `[n, queries, d]`. These are plain vectors: no
            entry for y is attached to them.

            Every line has the value 1 where x is zero: a line with the slope β predicts β·x + 1. The loss of a prompt
            is half the mean of (β·x_i + 1 − y_i)² over its L examples. Take one step of gradient descent from β = 0
            with the learning rate 1. The step changes only β: the 1 stays as it is.

            Return the answers to the questions after this step, β·x_q + 1, in the shape `[n, queries, 1]`.
            """,
            clause="each line predicts β·x + 1, and the 1 never changes",
            oracle=_oracle(start=1.0),
            milestones=_milestones(offset=1.0),
            misconceptions=_mistakes(
                _fixed,
                **{
                    "one-not-in-the-error": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, y) + 1,
                        "You leave the 1 out of the error. Before the step, the line predicts 1 for every example, so"
                        " the error is 1 − y_i.",
                    ),
                    "one-not-in-the-answer": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, y - 1),
                        "Your answers are β·x_q. The line predicts β·x_q + 1, so add 1 to each answer.",
                    ),
                    "error-with-the-wrong-sign": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, y + 1) + 1,
                        "You add 1 to y. Before the step, the line predicts 1 for every example, so the error is"
                        " 1 − y_i.",
                    ),
                    "intercept-changes": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, x, y - 1) + y.mean(1, keepdim=True),
                        "Your step also changes the intercept. Only β changes; the intercept is always 1.",
                    ),
                    "no-step": Wrong(
                        lambda x_q, x, y: torch.ones_like(x_q[..., :1]),
                        "You answer with β = 0. Take one step first.",
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
                        "You take the sign of the product of x and y. First take the sign of y, then multiply it by x.",
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
        "huber": member(
            """
            Each of `n` prompts has its own examples and its own slope. `x` holds the examples' x, `[n, L, d]`, and `y`
            holds their y, `[n, L, 1]`. `x_q` holds the questions' x, `[n, queries, d]`. These are plain vectors: no
            entry for y is attached to them.

            The loss of a prompt is the mean of h(β·x_i − y_i) over its L examples. If e is between −1 and 1, h(e) is
            e² / 2; otherwise, h(e) is |e| − 1/2. Take one step of gradient descent from β = 0 with the learning rate 1.
            The derivative of h(e) is e between −1 and 1, it is −1 for a smaller e, and 1 for a larger e.

            Return the answers to the questions after this step, β·x_q, in the shape `[n, queries, 1]`.
            """,
            clause="the loss of an example grows linearly where the error is larger than 1",
            oracle=_oracle(loss=_huber_loss),
            milestones=_milestones(force=_clip),
            misconceptions=_mistakes(
                _huber,
                **{
                    "no-lower-limit": _descend.replace(force=lambda left: left.clamp(max=1)).wrong(
                        "You limit y only from above. If y is below −1, the error is larger than 1, so limit y"
                        " from below too."
                    ),
                    "large-errors-dropped": _descend.replace(force=lambda left: left * (left.abs() <= 1)).wrong(
                        "You leave out the examples with large errors. Their derivative is not 0: it is 1 or −1."
                    ),
                    "gradient-limited": Wrong(
                        lambda x_q, x, y: x_q @ _clip(x.mT @ y / x.shape[1]),
                        "You limit the entries of the gradient. Limit each example's error before you multiply by x and"
                        " take the mean.",
                    ),
                    "product-limited": Wrong(
                        lambda x_q, x, y: x_q @ _clip(x * y).mean(1, keepdim=True).mT,
                        "You limit the product of x and y. First limit y, then multiply it by x.",
                    ),
                    "x-limited": Wrong(
                        lambda x_q, x, y: _first_answer(x_q, _clip(x), y),
                        "You limit x. Only the error is limited; x stays as it is.",
                    ),
                    "sum-limited": Wrong(
                        lambda x_q, x, y: x_q @ _clip(x.mT @ y) / x.shape[1],
                        "You limit the sum over the examples. Limit each example's error before you multiply by x and"
                        " take the mean.",
                    ),
                },
            ),
        ),
    },
)
