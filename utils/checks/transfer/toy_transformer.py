"""Define the transfer exercise of lesson 08: the loss of the marked tokens, with one changed convention."""

import torch
from torch.nn import functional as F

from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Wrong, case
from utils.feedback.transfer_families import LessonTask, member, transfer_family

# --- which row of logits predicts which token: functions of (logits, tokens, marked) that return [batch, n, ...] -----


def _next_token(logits, tokens, marked):
    return logits[:, :-1], tokens[:, 1:], marked[:, 1:]


def _two_ahead(logits, tokens, marked):
    return logits[:, :-2], tokens[:, 2:], marked[:, 2:]


def _same_place(logits, tokens, marked):
    return logits, tokens, marked


def _token_before(logits, tokens, marked):
    return logits[:, 1:], tokens[:, :-1], marked[:, :-1]


def _mean_of_texts(losses, counted):
    return ((losses * counted).sum(1) / counted.sum(1)).mean()


@with_steps
def _loss(
    logits,
    tokens,
    marked,
    *,
    pair=_next_token,
    counts=lambda marked: marked,
    score=lambda logits: -logits.log_softmax(-1),
    reduce=lambda losses, counted: losses[counted].mean(),
):
    """Pair rows of logits with targets, compute the losses, select those that count, and reduce them to one number."""
    rows, targets, marks = pair(logits, tokens, marked)
    return reduce(score(rows).gather(-1, targets[..., None])[..., 0], counts(marks))


_shifted = _loss.replace(pair=_same_place)
_ahead = _loss.replace(pair=_two_ahead)
_hides = _loss.replace(counts=lambda marked: ~marked)
_backwards = _loss.replace(pair=_token_before)


def _milestones(right):
    """Return the milestones of `right`. They are all optional, because cross_entropy does all steps at once."""

    def values(logits, tokens, marked):
        losses = right.replace(reduce=lambda losses, counted: losses)(logits, tokens, marked)
        counted = right.replace(reduce=lambda losses, counted: losses[counted])(logits, tokens, marked)
        return {
            "the logarithms of the probabilities?": logits.log_softmax(-1),
            "the losses of all predicted tokens?": losses,
            "the losses of the tokens that count?": counted,
        }

    return values


def _mistakes(right, **more):
    """Return the mistakes common to all tasks, and those in `more`. `right` is the answer with replaceable steps."""
    return {
        **more,
        "everything-counts": right.replace(counts=torch.ones_like).wrong(
            "You never use the marks: your loss covers all tokens. Only some of them should count."
        ),
        "summed": right.replace(reduce=lambda losses, counted: losses[counted].sum()).wrong(
            "You return a sum over the tokens that count, which grows with the batch. Return the mean that the task"
            " asks for."
        ),
        "shared-among-all": right.replace(reduce=lambda losses, counted: (losses * counted).mean()).wrong(
            "You divide by the number of all tokens. Divide only by the number of tokens that count."
        ),
        "sign": Wrong(
            lambda logits, tokens, marked: -right(logits, tokens, marked),
            "The sign is wrong: a loss is minus the logarithm of a probability, so it is positive.",
        ),
        "not-the-logarithm": right.replace(score=lambda logits: 1 - logits.softmax(-1)).wrong(
            "You return one minus the probability. The loss of a token is minus the logarithm of its probability."
        ),
        "softmax-first": right.replace(score=lambda logits: -logits.softmax(-1).log_softmax(-1)).wrong(
            "You applied a softmax before the cross-entropy, which already includes one. Pass the logits themselves."
        ),
        "one-for-each-token": right.replace(reduce=lambda losses, counted: losses[counted]).wrong(
            "You return one number for each token that counts. Training minimises a single number: their mean."
        ),
    }


def _inverted(right):
    return right.replace(counts=lambda marked: ~marked).wrong(
        "You inverted the marks: your loss covers exactly the tokens that are not marked. A marked token counts."
    )


def _mean_of_means(right):
    return right.replace(reduce=_mean_of_texts).wrong(
        "You average over each text and then over the texts, so a token has more weight if few tokens of its text"
        " count. All tokens that count should have the same weight."
    )


def _cases(rand, start=1, first=False, last=False):
    """Return cases. In each text, an unmarked token follows a marked token, so the correct count is never 0.

    Args:
        rand: the sampler.
        start: the position of this marked token. No earlier token is marked, except perhaps the text's first token.
        first: whether the first token may be marked; in the first text, it is marked.
        last: whether the last token may be marked; in the first text, it is marked.
    """
    cases = []
    for batch, seq, vocab in ((2, 6, 4), (3, 7, 5), (4, 9, 8), (2, 5, 11)):
        marked = rand.mask(batch, seq)
        marked[:, 1:start], marked[:, start], marked[:, start + 1] = False, True, False
        for place, allowed in ((0, first), (-1, last)):
            marked[:, place] &= allowed
            marked[0, place] = allowed
        cases.append(case(2 * rand(batch, seq, vocab), rand.integers(batch, seq, high=vocab), marked))
    return cases


transfer_family(
    "text_loss",
    lesson=LessonTask(
        "the logits at position i - 1 predict the token at position i, and all marked tokens have the same weight",
        _loss,
    ),
    cases=lambda rand: _cases(rand, last=True),
    returns=Float(),
    differentiable=True,
    members={
        "already-shifted": member(
            """
            Write the loss of a batch whose targets are already shifted. `logits` has the shape `[batch, seq, vocab]`.
            `tokens` has the shape `[batch, seq]` and contains the targets: the logits at position `i` of a text
            predict `tokens[b, i]`, at the same position. Many programs prepare their batches in this way.

            `marked` is a bool tensor `[batch, seq]`. It marks targets: a target counts where `marked` is True, at the
            first position too, and only there. All targets that count have the same weight, whatever their text.

            Return the mean cross-entropy of the targets that count, as one number in a tensor. Gradients should flow
            back to the logits.
            """,
            clause="the logits at a position predict the token at the same position",
            cases=lambda rand: _cases(rand, first=True, last=True),
            oracle=lambda logits, tokens, marked: F.cross_entropy(
                logits.flatten(0, 1), tokens.masked_fill(~marked, -100).flatten()
            ),
            milestones=_milestones(_shifted),
            misconceptions=_mistakes(
                _shifted, **{"marks-inverted": _inverted(_shifted), "mean-of-means": _mean_of_means(_shifted)}
            ),
        ),
        "two-ahead": member(
            """
            Write the loss of a model that looks two tokens ahead. `logits` has the shape `[batch, seq, vocab]`, and
            `tokens` has the shape `[batch, seq]`. The model skips the next token, so the logits at position `i - 2` of
            a text predict the token at position `i`. `seq` is at least 3.

            `marked` is a bool tensor `[batch, seq]`. It marks tokens: a token counts where `marked` is True. The first
            two tokens of a text are never marked, because nothing predicts them; the last token may be marked. All
            tokens that count have the same weight, whatever their text.

            Return the mean cross-entropy of the tokens that count, as one number in a tensor. Gradients should flow
            back to the logits.
            """,
            clause="the logits at position i - 2 predict the token at position i",
            cases=lambda rand: _cases(rand, start=2, last=True),
            oracle=lambda logits, tokens, marked: F.cross_entropy(
                logits[:, :-2].mT, tokens[:, 2:].masked_fill(~marked[:, 2:], -100)
            ),
            milestones=_milestones(_ahead),
            misconceptions=_mistakes(
                _ahead,
                **{
                    "marks-inverted": _inverted(_ahead),
                    "mean-of-means": _mean_of_means(_ahead),
                    "marks-of-the-place-before": _ahead.replace(
                        pair=lambda logits, tokens, marked: (logits[:, :-2], tokens[:, 2:], marked[:, 1:-1])
                    ).wrong(
                        "You use the mark one position too early. The marks belong to the tokens that are predicted,"
                        " not to the tokens before them."
                    ),
                    "marks-of-the-logits": _ahead.replace(
                        pair=lambda logits, tokens, marked: (logits[:, :-2], tokens[:, 2:], marked[:, :-2])
                    ).wrong(
                        "You use the mark two positions too early, at the position of the logits. The marks belong to"
                        " the tokens that are predicted."
                    ),
                },
            ),
        ),
        "true-hides": member(
            """
            Write a loss that leaves out marked tokens. `logits` has the shape `[batch, seq, vocab]`, and `tokens` has
            the shape `[batch, seq]`. As in this lesson, the logits at position `i - 1` of a text predict the token at
            position `i`.

            `marked` is a bool tensor `[batch, seq]`. It marks tokens that nobody can predict: where `marked` is True,
            the token does not count. All other tokens count, with the same weight, except for the
            first token of each text: it never counts, whether it is marked or not.

            Return the mean cross-entropy of the tokens that count, as one number in a tensor. Gradients should flow
            back to the logits.
            """,
            clause="a token does not count where its mark is True",
            cases=lambda rand: _cases(rand, first=True, last=True),
            oracle=lambda logits, tokens, marked: F.cross_entropy(
                logits[:, :-1].mT, tokens[:, 1:].masked_fill(marked[:, 1:], -100)
            ),
            milestones=_milestones(_hides),
            misconceptions=_mistakes(
                _hides,
                **{
                    "mean-of-means": _mean_of_means(_hides),
                    "marks-of-the-place-before": _hides.replace(
                        pair=lambda logits, tokens, marked: (logits[:, :-1], tokens[:, 1:], marked[:, :-1])
                    ).wrong(
                        "You use the mark one position too early. The marks belong to the tokens that are predicted,"
                        " not to the positions that predict them."
                    ),
                },
            ),
        ),
        "backwards": member(
            """
            Write the loss of a model that reads texts from right to left. `logits` has the shape
            `[batch, seq, vocab]`, and `tokens` has the shape `[batch, seq]`. The model reads the last token first, so
            the logits at position `i + 1` of a text predict the token at position `i`, the token before it.

            `marked` is a bool tensor `[batch, seq]`. It marks tokens: a token counts where `marked` is True. The last
            token of a text is never marked, because nothing predicts it; the first token may be marked. All tokens
            that count have the same weight, whatever their text.

            Return the mean cross-entropy of the tokens that count, as one number in a tensor. Gradients should flow
            back to the logits.
            """,
            clause="the logits at position i + 1 predict the token at position i",
            cases=lambda rand: _cases(rand, first=True),
            oracle=lambda logits, tokens, marked: F.cross_entropy(
                logits[:, 1:].mT, tokens[:, :-1].masked_fill(~marked[:, :-1], -100)
            ),
            milestones=_milestones(_backwards),
            misconceptions=_mistakes(
                _backwards,
                **{
                    "marks-inverted": _inverted(_backwards),
                    "mean-of-means": _mean_of_means(_backwards),
                    "marks-of-the-place-after": _backwards.replace(
                        pair=lambda logits, tokens, marked: (logits[:, 1:], tokens[:, :-1], marked[:, 1:])
                    ).wrong(
                        "You use the mark one position too late. The marks belong to the tokens that are predicted, not"
                        " to the positions that predict them."
                    ),
                },
            ),
        ),
    },
)
