"""Define the transfer exercise of lesson 13: a run in which the results of one head are changed."""

import torch
from torch.nn import functional as F

from utils.checks._wrong_answers import with_steps
from utils.checks.where_the_answer_comes_from import (
    DEEP,
    HOOK_LEFT,
    LOGITS_AND_MODEL,
    NARROW,
    WIDE,
    as_it_was,
    head_columns,
    sample_model,
)
from utils.exercises.exercise import Wrong, case
from utils.feedback.transfer_families import LessonTask, member, transfer_family
from utils.test_doubles.where_the_answer_comes_from import view_without_hooks

# --- the changes: functions of the results of one head, [batch, seq, d_head] -------------------------------


def _mean_of_texts(x):
    return x.mean(0, keepdim=True).expand_as(x)


def _next_text(x):
    return x.roll(-1, dims=0)


def _first_position(x):
    return x[:, :1].expand_as(x)


def _zero_at_the_end(x):
    return torch.cat((x[:, :-1], torch.zeros_like(x[:, -1:])), dim=1)


@with_steps
def _change_head(
    model,
    tokens,
    layer,
    head,
    *,
    change=torch.zeros_like,
    columns=head_columns,
    part=lambda attn: attn.out_proj,
    layers=lambda layer, n: [layer],
    leave=False,
):
    """Change a head's entries in the input of `part`, with a hook. By default, the hook sets these entries to zero."""

    def hook(_, inputs):
        x = inputs[0].clone()
        entries = columns(model, head)
        x[..., entries] = change(x[..., entries])
        return x

    handles = [part(model.blocks[i].attn).register_forward_pre_hook(hook) for i in layers(layer, len(model.blocks))]
    logits = model(tokens)
    for handle in [] if leave else handles:
        handle.remove()
    return logits


def _oracle(change):
    """Return an oracle whose hook adds the effect of `change` to the result of out_proj."""

    def answer(model, tokens, layer, head):
        entries = head_columns(model, head)

        def add_change(out_proj, inputs, output):
            results = inputs[0][..., entries]
            return output + F.linear(change(results) - results, out_proj.weight[:, entries])

        handle = model.blocks[layer].attn.out_proj.register_forward_hook(add_change)
        logits = model(tokens)
        handle.remove()
        return logits

    return answer


def _milestones(change):
    """Return the milestones: the head's results and out_proj's input, each before and after the change."""

    def values(model, tokens, layer, head):
        steps, entries = {}, head_columns(model, head)

        def hook(_, inputs):
            x = inputs[0].clone()
            steps["the input of out_proj?"] = inputs[0].clone()
            steps["the results of the head?"] = x[..., entries].clone()
            x[..., entries] = change(x[..., entries])
            steps["the changed results of the head?"] = x[..., entries].clone()
            steps["the input of out_proj after the change?"] = x

        handle = model.blocks[layer].attn.out_proj.register_forward_pre_hook(hook)
        model(tokens)
        handle.remove()
        return steps | {"the logits": _change_head.replace(change=change)(model, tokens, layer, head)}

    return values


def _after_out_proj(change):
    """Change entries in out_proj's result, although the heads are already mixed there."""

    def answer(model, tokens, layer, head):
        entries = head_columns(model, head)

        def hook(_, inputs, output):
            output = output.clone()
            output[..., entries] = change(output[..., entries])
            return output

        handle = model.blocks[layer].attn.out_proj.register_forward_hook(hook)
        logits = model(tokens)
        handle.remove()
        return logits

    return answer


def _wrong_change(change, message):
    return _change_head.replace(change=change).wrong(message)


def _mistakes(change, **more):
    """Return the mistakes common to all tasks, and those in `more`. `change` is the change that the task asks for."""
    right = _change_head.replace(change=change)
    return {
        **more,
        "all-heads": right.replace(columns=lambda model, head: slice(None)).wrong(
            "You change the results of every head of the block. Change only the entries of head `head`."
        ),
        "interleaved": right.replace(columns=lambda model, head: slice(head, None, model.config.n_heads)).wrong(
            "You change every n_heads-th entry. The entries of a head are adjacent: each head has d_model / n_heads"
            " consecutive entries."
        ),
        "one-entry": right.replace(columns=lambda model, head: slice(head, head + 1)).wrong(
            "You change a single entry. A head has d_model / n_heads entries."
        ),
        "as-wide-as-there-are-heads": Wrong(
            right.replace(columns=lambda model, head: slice(head * (n := model.config.n_heads), (head + 1) * n)),
            "You change n_heads entries. A head has d_model / n_heads entries: the number of heads is not the width of"
            " a head.",
        ),
        "in-every-block": right.replace(layers=lambda layer, n: range(n)).wrong(
            "You change head `head` in every block. Change it only in block `layer`."
        ),
        "block-before": right.replace(layers=lambda layer, n: [(layer - 1) % n]).wrong(
            "You change the head in the block before `layer`. Blocks are counted from 0."
        ),
        "before-attention": right.replace(part=lambda attn: attn).wrong(
            "You change entries of attention's input, which all heads read. A head has its own entries only in the"
            " input of out_proj."
        ),
        "after-out_proj": Wrong(
            _after_out_proj(change),
            "You change entries of out_proj's result, where the heads are already mixed. A head has its own entries"
            " only in the input of out_proj.",
        ),
        "nothing-changed": Wrong(
            lambda model, tokens, layer, head: model(tokens),
            "These are the logits of an unchanged run. Does your hook return the changed tensor?",
        ),
        "hook-left": right.replace(leave=True).wrong(HOOK_LEFT),
    }


def _cases(rand):
    return [
        case(sample_model(WIDE, rand), rand.integers(3, 6, high=17), 1, 2),
        case(sample_model(NARROW, rand), rand.integers(2, 5, high=13), 0, 3),
        case(sample_model(WIDE, rand), rand.integers(4, 4, high=17), 2, 1),
        case(sample_model(NARROW, rand), rand.integers(3, 3, high=13), 1, 0, note="the first head"),
        case(sample_model(DEEP, rand), rand.integers(3, 3, high=11), 1, 10, note="with 11 blocks and 11 heads"),
    ]


transfer_family(
    "change_head",
    lesson=LessonTask("the head is switched off at every position", _change_head),
    view=view_without_hooks,
    cases=_cases,
    returns=LOGITS_AND_MODEL,
    differentiable=False,
    atol=1e-4,
    unswept=dict.fromkeys(
        ("zeros", "ties", "large", "signs"), "the inputs are a model and token ids, which this sweep cannot change"
    ),
    properties=[as_it_was],
    members={
        "mean-of-texts": member(
            """
            Measure what a head adds to one text in particular. `model` is your GPT, and `tokens` holds several texts
            of equal length, `[batch, seq]`. Change the results of head `head` in block `layer`; both are counted from
            0. The results of a head are its entries in the input of `out_proj`, as in this lesson.

            Instead of switching the head off, replace its result at each position by a mean: the mean of this head's
            results at the same position, over all texts of the batch. Each position has its own mean.

            The other heads, the bias of `out_proj` and everything else stay as they are. Afterwards, the model
            must have the same parameters, hooks and mode as before. Return the logits of this run,
            `[batch, seq, vocab]`.
            """,
            clause="the results of the head are replaced by their mean over the texts, at each position",
            oracle=_oracle(lambda x: x.sum(0).div(len(x)).repeat(len(x), 1, 1)),
            milestones=_milestones(_mean_of_texts),
            misconceptions=_mistakes(
                _mean_of_texts,
                **{
                    "mean-over-positions": _wrong_change(
                        lambda x: x.mean(1, keepdim=True).expand_as(x),
                        "You take the mean over the positions of each text. Take the mean over the texts, at each"
                        " position.",
                    ),
                    "one-mean": _wrong_change(
                        lambda x: x.mean((0, 1), keepdim=True).expand_as(x),
                        "You take one mean over texts and positions together. Each position should have its own mean.",
                    ),
                    "sum-of-texts": _wrong_change(
                        lambda x: x.sum(0, keepdim=True).expand_as(x),
                        "You add the results of all texts. Take their mean.",
                    ),
                    "mean-subtracted": _wrong_change(
                        lambda x: x - x.mean(0, keepdim=True),
                        "You subtract the mean from the results. Replace the results with the mean.",
                    ),
                },
            ),
        ),
        "next-text": member(
            """
            Measure what a head would do in another text. `model` is your GPT, and `tokens` holds several texts of
            equal length, `[batch, seq]`. Change the results of head `head` in block `layer`; both are counted from 0.
            The results of a head are its entries in the input of `out_proj`, as in this lesson.

            Instead of switching the head off, give each text the results that this head has in the next text of the
            batch, at the same position: text 0 gets the results of text 1, and the last text gets those of text 0.

            The other heads, the bias of `out_proj` and everything else stay as they are. Afterwards, the model
            must have the same parameters, hooks and mode as before. Return the logits of this run,
            `[batch, seq, vocab]`.
            """,
            clause="each text gets the results that the head has in the next text of the batch",
            oracle=_oracle(lambda x: x[[*range(1, len(x)), 0]]),
            milestones=_milestones(_next_text),
            misconceptions=_mistakes(
                _next_text,
                **{
                    "previous-text": _wrong_change(
                        lambda x: x.roll(1, dims=0),
                        "Each text gets the results of the text before it. It should get those of the next text.",
                    ),
                    "reversed-texts": _wrong_change(
                        lambda x: x.flip(0),
                        "You reverse the order of the texts, so the first text gets the results of the last text. Each"
                        " text should get the results of the next text.",
                    ),
                    "next-position": _wrong_change(
                        lambda x: x.roll(-1, dims=1),
                        "Each position gets the results of the next position. It should get the results of the next"
                        " text, at the same position.",
                    ),
                    "last-text-unchanged": _wrong_change(
                        lambda x: torch.cat((x[1:], x[-1:])),
                        "The last text keeps its own results. It should get the results of text 0.",
                    ),
                },
            ),
        ),
        "first-position": member(
            """
            Measure what a head adds after the first position. `model` is your GPT, and `tokens` holds several texts
            of equal length, `[batch, seq]`. Change the results of head `head` in block `layer`; both are counted from
            0. The results of a head are its entries in the input of `out_proj`, as in this lesson.

            Instead of switching the head off, give every position the result that this head has at position 0 of the
            same text. After the change, the head has the same result at all positions of a text.

            The other heads, the bias of `out_proj` and everything else stay as they are. Afterwards, the model
            must have the same parameters, hooks and mode as before. Return the logits of this run,
            `[batch, seq, vocab]`.
            """,
            clause="every position gets the result that the head has at position 0 of the same text",
            oracle=_oracle(lambda x: torch.stack([x[:, 0]] * x.shape[1], dim=1)),
            milestones=_milestones(_first_position),
            misconceptions=_mistakes(
                _first_position,
                **{
                    "last-position": _wrong_change(
                        lambda x: x[:, -1:].expand_as(x),
                        "Every position gets the result of the last position. It should get the result of position 0.",
                    ),
                    "previous-position": _wrong_change(
                        lambda x: torch.cat((x[:, :1], x[:, :-1]), dim=1),
                        "Every position gets the result of the position before it. It should get the result of position"
                        " 0.",
                    ),
                    "first-text": _wrong_change(
                        lambda x: x[:1].expand_as(x),
                        "Every text gets the results of text 0. Every position should get the result of position 0 of"
                        " its own text.",
                    ),
                    "first-position-of-the-first-text": _wrong_change(
                        lambda x: x[:1, :1].expand_as(x),
                        "Every text gets the result at position 0 of the first text. Each text has its own result at"
                        " position 0.",
                    ),
                    "mean-of-positions": _wrong_change(
                        lambda x: x.mean(1, keepdim=True).expand_as(x),
                        "Every position gets the mean over all positions. It should get the result of position 0.",
                    ),
                },
            ),
        ),
        "last-position": member(
            """
            Measure what a head adds at the end of a text. `model` is your GPT, and `tokens` holds several texts of
            equal length, `[batch, seq]`. Change the results of head `head` in block `layer`; both are counted from 0.
            The results of a head are its entries in the input of `out_proj`, as in this lesson.

            Switch the head off only at the last position of each text: there, its result becomes zero. At all other
            positions the head has the same results as before, so later blocks can still read them.

            The other heads, the bias of `out_proj` and everything else stay as they are. Afterwards, the model
            must have the same parameters, hooks and mode as before. Return the logits of this run,
            `[batch, seq, vocab]`.
            """,
            clause="the head is switched off only at the last position",
            oracle=_oracle(lambda x: x * (torch.arange(x.shape[1]) < x.shape[1] - 1)[:, None]),
            milestones=_milestones(_zero_at_the_end),
            misconceptions=_mistakes(
                _zero_at_the_end,
                **{
                    "all-but-the-last": _wrong_change(
                        lambda x: torch.cat((torch.zeros_like(x[:, :-1]), x[:, -1:]), dim=1),
                        "You switch the head off at all positions except the last position. Switch it off only at the"
                        " last position.",
                    ),
                    "first-position": _wrong_change(
                        lambda x: torch.cat((torch.zeros_like(x[:, :1]), x[:, 1:]), dim=1),
                        "You switch the head off at position 0. Switch it off at the last position.",
                    ),
                    "last-text": _wrong_change(
                        lambda x: torch.cat((x[:-1], torch.zeros_like(x[-1:]))),
                        "You switch the head off in the last text, at all of its positions. Switch it off in every"
                        " text, at the last position.",
                    ),
                    "last-position-of-the-last-text": _wrong_change(
                        lambda x: torch.cat((x[:-1], _zero_at_the_end(x[-1:]))),
                        "You switch the head off only at the last position of the last text. Switch it off at the last"
                        " position of every text.",
                    ),
                },
            ),
        ),
    },
)
