"""Exercises of lesson 03: attention with weights to train. The oracle is torch's scaled_dot_product_attention."""

import functools
import itertools

import torch
from torch import nn

from utils.checks._attention import (
    INPUTS,
    QKV,
    QKV_LAYERS,
    WORDS,
    attention_weights,
    causal_mask,
    divided_by_width_message,
    fix_arguments,
    hides_with_minus_infinity,
    ignored_qkv_bias_misconceptions,
    initialisation_case,
    invert_mask,
    make_attention,
    mask_scores,
    multiplied_by_root_message,
    project_qkv,
    qkv_parameters,
    scale_by_length,
    torch_attention,
)
from utils.feedback.exercise import Float, Hints, Step, Wrong, case, exercise
from utils.feedback.properties import batch_independent, finite_when_scaled, remembers_nothing, rows_sum_to_one
from utils.test_doubles.self_attention import NAMES, FakeSelfAttentionV1, FakeSelfAttentionV2, view_copied_weights


def _of_the_page():
    """The matrices that the lesson draws with seed 123."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(123)
        return [torch.rand(3, 2) for _ in QKV]


_W = _of_the_page()
_Q, _K, _V = (INPUTS @ W for W in _W)
_HIDES_JOURNEY = torch.eye(6, dtype=torch.bool) | (torch.arange(6) != 1)


_WEIGH = {  # from scores to weights, wrongly
    "not-scaled": Wrong(
        lambda s: s.softmax(-1),
        "The scores went into softmax as they were. Divide by the root of d_k first: dot products grow with the"
        " width, and a softmax of large scores has almost no gradient.",
    ),
    "divided-by-d_k": Wrong(
        lambda s: (s / 2).softmax(-1),
        "You divided by d_k = 2 instead of by its root, 1.414. The spread of a dot product grows with the root of"
        " the width, so the root undoes it; d_k itself overshoots.",
    ),
    "root-of-d_in": Wrong(
        lambda s: (s / 3**0.5).softmax(-1),
        "You divided by the root of 3, the width of the inputs. The dot product runs over queries and keys, so it"
        " is their width d_k = 2 that counts.",
    ),
    "root-of-the-length": Wrong(
        lambda s: (s / 6**0.5).softmax(-1),
        "You divided by the root of 6, the number of tokens. Scores spread with the number of entries in a key,"
        " d_k = 2, and not with the length of the text.",
    ),
    "multiplied": Wrong(
        lambda s: (s * 2**0.5).softmax(-1),
        "The scores were multiplied by the root of d_k. That makes softmax sharper; it was to be kept soft, by"
        " dividing.",
    ),
    "share-of-the-sum": Wrong(
        lambda s: s / s.sum(),
        "You divided each score by the sum of the scores, without exp. With a negative score among them these are"
        " no shares; softmax takes exp first.",
    ),
    "no-softmax": Wrong(
        lambda s: s / 2**0.5,
        "The weights are the scaled scores themselves. Scores can be of any size; softmax first turns"
        " them into shares that sum to one.",
    ),
    "log-softmax": Wrong(
        lambda s: (s / 2**0.5).log_softmax(-1),
        "These weights are logarithms of shares, all of them negative. What mixes the values is the share itself.",
    ),
    "scaled-too-late": Wrong(
        lambda s: s.softmax(-1) / 2**0.5,
        "You divided after the softmax: the weights now sum to 0.71. Scaling has to act on the scores, where it"
        " changes how sharp the softmax is.",
    ),
    "power-without-brackets": Wrong(
        lambda s: (s / 2**1 / 2).softmax(-1),
        "The scores were divided by 4. That is what `d_k ** 1/2` does: Python takes the power first and then divides by"
        " 2. With brackets around 1/2 it is a root.",
    ),
    "rounded-down": Wrong(
        lambda s: (s // 2**0.5).softmax(-1),
        "The scores were rounded down to whole numbers, as // does. Most of what tells them apart was lost; a single /"
        " keeps it.",
    ),
}


def _in_weights(made):
    """The mistakes in the weights of "journey", as they show in what `made(weights)` makes of them."""
    scores = _Q[1] @ _K.T
    return {id: Wrong(lambda w=wrong: made(w.answer(scores)), wrong.message) for id, wrong in _WEIGH.items()}


exercise(
    "scaled_context_vec_2",
    oracle=torch_attention(_Q[1:2], _K, _V)[0],
    returns=Float("d_out"),
    atol=2e-6,  # two of the queries are nearly alike
    steps={"attn_weights_2": Step(torch_attention(_Q[1:2], _K)[0], _in_weights(lambda weights: weights))},
    misconceptions={
        **_in_weights(lambda weights: weights @ _V),
        "another-query": Wrong(
            lambda: torch_attention(_Q[2:3], _K, _V)[0],
            'This is the context vector of "starts", whose query is nearly that of "journey". Python counts from 0, so'
            ' "journey", the second token, is row 1.',
        ),
        "mixes-the-inputs": Wrong(
            lambda: torch_attention(_Q[1:2], _K, INPUTS)[0],
            "The weights are right and mix the raw inputs, so three numbers came out. What a token passes on is its"
            " value vector.",
        ),
        "mixes-the-keys": Wrong(
            lambda: torch_attention(_Q[1:2], _K, _K)[0],
            "The weights are right and mix the keys. A key is what a token is found by; its value is what it passes"
            " on.",
        ),
    },
    hints=Hints(
        "Lesson 02 had three steps: scores, weights, mix. Query and keys make the scores here, and the values are"
        " mixed.",
        "Between scores and softmax stands one division, by the root of the number of entries in a key.",
        "Divide attn_scores_2 by keys.shape[-1] to the power 0.5, take softmax along the last axis, and multiply with"
        " values by @.",
    ),
)


def _matrices(p, x):
    return [x @ p[name] for name in QKV]


def _drawn(make, names=QKV):
    """The three parameters [d_in, d_out], each by `make(d_in, d_out)`."""
    return lambda d_in, d_out: {name: make(d_in, d_out) for name in names}


def _answers(qkv):
    """The right answer and the wrong ones of the two classes, for either way to make queries, keys and values."""
    wrong_by = functools.partial(make_attention, qkv)
    wrong = {
        "not-scaled": Wrong(
            wrong_by(scale=lambda d_k, d_in: 1.0),
            "The scores are not divided by the root of d_k. On wide vectors softmax would then put nearly all weight"
            " on one token, and hardly any gradient would be left to learn from.",
        ),
        "multiplied": Wrong(wrong_by(scale=lambda d_k, d_in: d_k**0.5), multiplied_by_root_message("d_k")),
        "keys-and-values-swapped": Wrong(
            wrong_by(order=(0, 2, 1)),
            "Keys and values have changed places. A key is compared with the queries and says who is listened to; a"
            " value is what is passed on.",
        ),
        "divided-by-d_k": Wrong(
            wrong_by(scale=lambda d_k, d_in: 1 / d_k),
            "You divided by d_k instead of by its root. The spread of a dot product grows with the root of the width;"
            " d_k itself flattens the weights more and more as the layer gets wider.",
        ),
        "root-of-d_in": Wrong(
            wrong_by(scale=lambda d_k, d_in: d_in**-0.5),
            "You divided by the root of d_in, the width of the inputs. The dot product runs over the entries of"
            " queries and keys: their width d_out is the one that counts.",
        ),
        "root-of-the-length": Wrong(
            wrong_by(scale=lambda d_k, d_in: 1.0, transform_scores=scale_by_length), WORDS["root-of-the-length"]
        ),
        "root-of-2": Wrong(wrong_by(scale=lambda d_k, d_in: 2**-0.5), WORDS["root-of-2"]),
        "only-journey": Wrong(
            lambda p, x: torch_attention(*qkv(p, x))[1],
            "Only row 1 was computed, the one of journey. Every token asks: the result has a row for each of them.",
        ),
        "wrong-axis": Wrong(
            wrong_by(axis=-2),
            "Softmax ran down the columns: the weights that each key receives sum to one. Each query shares out one"
            " unit of attention, so it must run along the rows.",
        ),
        "query-and-key-swapped": Wrong(
            wrong_by(order=(1, 0, 2)),
            "Queries and keys have changed places. Row i must hold what token i asks: its query against all keys.",
        ),
        "scaled-too-late": Wrong(
            wrong_by(scale=lambda d_k, d_in: 1.0, mix=lambda p, w, v, x: w @ v / v.shape[-1] ** 0.5),
            "The division comes after the softmax, so the weights no longer sum to one. It has to act on the scores,"
            " where it decides how sharp the softmax is.",
        ),
        "keys-as-values": Wrong(wrong_by(order=(0, 1, 1)), WORDS["keys-as-values"]),
        "inputs-as-values": Wrong(wrong_by(mix=lambda p, w, v, x: w @ x), WORDS["inputs-as-values"]),
    }
    return lambda p, x: torch_attention(*qkv(p, x)), wrong


def _other_orders(right, initial):
    """The right answer with its parameters made in each of the other orders; `initial(order)` makes them."""
    return {
        f"made-in-the-order-{'-'.join(name.removeprefix('W_') for name in order)}": Wrong(
            right,
            "The forward pass is right; the weights are made in another order. Each takes the next random numbers, so"
            " query, key and value must be made in this order to get the numbers that the lesson prints.",
            initial_parameters=initial(order),
        )
        for order in itertools.permutations(QKV)
        if order != QKV
    }


_right_v1, _wrong_v1 = _answers(_matrices)

exercise(
    "SelfAttention_v1",
    initial_parameters=_drawn(torch.rand),
    oracle=_right_v1,
    cases=lambda rand: [
        case(rand(6, 3), init=(3, 2)),
        case(rand(5, 4), init=(4, 7), seed=1),
        case(rand(3, 5), init=(5, 5), seed=2),
        case(rand(1, 2), init=(2, 1), seed=3),
        initialisation_case(rand(4, 3), init=(3, 2), seed=123),
    ],
    returns=Float("seq d_out"),
    properties=[finite_when_scaled()],
    misconceptions={
        **_wrong_v1,
        "normal-weights": Wrong(
            _right_v1,
            "The forward pass is right; the weights come from another distribution than torch.rand. To get the numbers"
            " that this lesson prints, they must be drawn as it draws them.",
            initial_parameters=_drawn(torch.randn),
        ),
        **_other_orders(_right_v1, lambda order: lambda d_in, d_out: _drawn(torch.rand, order)(d_in, d_out)),
        "zero-weights": Wrong(
            _right_v1,
            "The weights start as zeros. Then all scores are equal and all values nothing: every token gets the same"
            " gradient, and queries and keys none at all.",
            initial_parameters=_drawn(torch.zeros),
        ),
    },
    hints=Hints(
        "You wrote every line already, for one query. In the class the weights become attributes and the query becomes"
        " all queries.",
        "__init__ keeps three nn.Parameter of shape [d_in, d_out]; forward multiplies x with each, then does scores,"
        " scaled softmax and mix.",
        "queries @ keys transposed gives [seq, seq]; divide by the root of keys.shape[-1]; softmax along dim -1; then"
        " @ values.",
    ),
)


def _layers(d_in, d_out, qkv_bias=False):
    return qkv_parameters(d_in, d_out, qkv_bias)


_right_v2, _wrong_v2 = _answers(project_qkv)

exercise(
    "SelfAttention_v2",
    initial_parameters=_layers,
    oracle=_right_v2,
    cases=lambda rand: [
        case(rand(6, 3), init=(3, 2)),
        case(rand(5, 4), init={"d_in": 4, "d_out": 7, "qkv_bias": True}, seed=1),
        case(rand(3, 5), init=(5, 5), seed=2),
        case(rand(1, 2), init=(2, 1), seed=3),
        initialisation_case(rand(4, 3), init=(3, 2), seed=789),
    ],
    returns=Float("seq d_out"),
    properties=[finite_when_scaled()],
    misconceptions={
        **_wrong_v2,
        **ignored_qkv_bias_misconceptions(_right_v2, _layers),
        **_other_orders(
            _right_v2,
            lambda order: lambda d_in, d_out, qkv_bias=False: qkv_parameters(d_in, d_out, qkv_bias, order),
        ),
    },
    hints=Hints(
        "Only the three weights change: nn.Linear instead of nn.Parameter. A layer is called like a function.",
        "In __init__: three nn.Linear from d_in to d_out with bias=qkv_bias. In forward: self.W_key(x) instead of x @"
        " self.W_key.",
        "The rest of forward stays as in v1: scores, division by the root of the keys' width, softmax along dim -1, @"
        " values.",
    ),
)


def _copy(names=NAMES, to=lambda name: name, turn=lambda w: w.T.clone()):
    """Copy v2's weights of these names, each turned, to v1's parameter `to(name)`."""

    def answer(v2, v1):
        for name in names:
            setattr(v1, to(name), nn.Parameter(turn(getattr(v2, name).weight.detach())))

    return answer


def _copy_from(source):
    """Copy, with some of v1's parameters from another layer of v2."""

    def answer(v2, v1):
        for name in NAMES:
            setattr(v1, name, nn.Parameter(getattr(v2, source.get(name, name)).weight.detach().T.clone()))

    return answer


def _copy_frozen(v2, v1):
    _copy()(v2, v1)
    v1.requires_grad_(False)


def _turn_v2(v2, v1):
    for name in NAMES:
        getattr(v2, name).weight.data = getattr(v2, name).weight.data.T
        setattr(v1, name, nn.Parameter(getattr(v2, name).weight.detach().clone()))


def _copy_into_v2(v2, v1):
    for name in NAMES:
        getattr(v2, name).weight = nn.Parameter(getattr(v1, name).detach().T.clone())


exercise(
    "copy_weights",
    oracle=_copy(turn=lambda w: torch.einsum("oi->io", w).clone()),
    view=view_copied_weights,
    cases=lambda rand: [
        case(FakeSelfAttentionV2(i, o, rand), FakeSelfAttentionV1(i, o, rand))
        for i, o in ((3, 2), (4, 4), (2, 5), (1, 3))
    ],
    misconceptions={
        "not-transposed": Wrong(
            _copy(turn=lambda w: w.clone()),
            "The matrices were copied as they stand, which nothing complains about where they are square. nn.Linear"
            " keeps its weight as [d_out, d_in] and multiplies by its transpose, so each has to be turned.",
        ),
        "reshaped": Wrong(
            _copy(turn=lambda w: w.reshape(w.shape[1], w.shape[0]).clone()),
            "The shape fits and the numbers stand in the wrong places: reshape (or view) deals the same numbers out"
            " anew, row by row. A transpose swaps rows and columns.",
        ),
        "shares-memory": Wrong(
            _copy(turn=lambda w: w.T),
            "The numbers are right, but v1 and v2 now share the same memory: when v1 is trained, v2 changes with it. A"
            " transpose is only another view; make a copy of it.",
        ),
        "other-way-round": Wrong(
            _copy_into_v2,
            "The weights went from v1 into v2. The first argument, v2, is the one to copy from.",
        ),
        "contiguous": Wrong(
            _copy(turn=lambda w: w.T.contiguous()),
            "contiguous() copies only where numbers have to be laid out anew: a matrix of one row or column stays in"
            " the memory of v2. Make a copy in any case.",
        ),
        "frozen": Wrong(
            _copy_frozen,
            "The numbers are right, but v1 has nothing left to train: its matrices are no parameters any more, or ask"
            " for no gradient (requires_grad=False). Each should be an nn.Parameter, as before.",
        ),
        "v2-turned": Wrong(
            _turn_v2,
            "v2's own matrices are turned, and it no longer computes what it did. Only v1 is to change: turn a copy.",
        ),
        "query-and-key-swapped": Wrong(
            _copy(to=lambda name: {"W_query": "W_key", "W_key": "W_query"}.get(name, name)),
            "Queries and keys have changed places: v2's W_query went into v1's W_key.",
        ),
        "query-copied-twice": Wrong(
            _copy_from({"W_key": "W_query"}),
            "v1's W_key has the numbers of v2's W_query: a line that was copied, and changed on one side only.",
        ),
        "key-copied-twice": Wrong(
            _copy_from({"W_value": "W_key"}),
            "v1's W_value has the numbers of v2's W_key: a line that was copied, and changed on one side only.",
        ),
        "nothing-copied": Wrong(
            lambda v2, v1: None,
            "v1 is as it was before. Assigning to a name inside the function (v1 = ..., or w = ...) binds that name"
            " only; what must change is v1's own attributes.",
        ),
        "only-the-query": Wrong(
            _copy(NAMES[:1]),
            "Only W_query was copied. Key and value still have v1's own numbers.",
        ),
        "value-forgotten": Wrong(
            _copy(NAMES[:2]),
            "Query and key were copied, W_value was not. The weights then agree and the outputs still differ.",
        ),
    },
    hints=Hints(
        "Print v2.W_query.weight.shape beside v1.W_query.shape.",
        "Turn each weight of v2, copy it, and make it v1's parameter of the same name.",
        "For each of the three names: v1's becomes an nn.Parameter of v2's weight, detached, transposed and cloned.",
    ),
)


def _weigh(
    scale=lambda W_K, x: W_K.shape[-1] ** -0.5, read=lambda mask: mask, swap=False, transform_weights=None, **how
):
    """An answer to compute_attn_weights; `after(weights, mask)` comes after the softmax."""

    def answer(W_Q, W_K, x, mask=None):
        q, k = (x @ W_K, x @ W_Q) if swap else (x @ W_Q, x @ W_K)
        found = attention_weights(q, k, read(mask), scale=scale(W_K, x), **how)
        return transform_weights(found, mask) if transform_weights and mask is not None else found

    return answer


def _hidden_scores(W_Q, W_K, x, mask=None):
    return mask_scores(x @ W_Q @ (x @ W_K).T / W_K.shape[-1] ** 0.5, mask)


def _square_head(rand, seq, d_model, d_head, mask=None):
    return case(
        rand(d_model, d_head, scale=d_model**-0.5),
        rand(d_model, d_head, scale=d_model**-0.5),
        rand(seq, d_model),
        **({} if mask is None else {"mask": mask}),
    )


_MASK_WORDS = {
    "true-means-blocked": (
        "Your mask works the other way round: where it is True, attention is blocked. In this course, as in torch's "
        "scaled_dot_product_attention, True means 'may attend'."
    ),
    "mask-after-softmax": (
        "The mask acts after the softmax: blocked weights become 0 and their share is lost, so the rows no longer sum"
        " to one. Hide the scores before the softmax, and the rest shares the whole unit."
    ),
    "hidden-with-zero": (
        "Blocked scores were set to 0, and exp(0) is 1: softmax still gives them weight, and more than to a negative"
        " score. Only a score of -inf gets weight 0."
    ),
    "mask-ignored": "The mask changes nothing: positions that may not be seen still get weight.",
    "mask-transposed": (
        "Rows and columns of the mask have changed places. Its row belongs to the position that asks, as a row of the"
        " scores does."
    ),
    "mask-added": (
        "You added the mask to the scores. True and False count as 1 and 0 there, so a blocked key loses one point and"
        " still gets weight; only a score of minus infinity gets none."
    ),
    "always-causal": (
        "Without a mask the future is hidden all the same. None means that every position may look at every other."
    ),
    "always-causal-too": (
        "The future is hidden whatever the mask says. It is the mask that tells who may look at whom, and without one"
        " everybody may."
    ),
}


def _transposed(mask):
    return None if mask is None else mask.T


exercise(
    "compute_attn_weights",
    # torch's attention gives the weights themselves when the values are the identity
    oracle=lambda W_Q, W_K, x, mask=None: torch_attention(x @ W_Q, x @ W_K, mask=mask),
    cases=lambda rand: [
        _square_head(rand, 2, 3, 4),
        _square_head(rand, 1, 2, 1),
        _square_head(rand, 5, 6, 2),
        _square_head(rand, 4, 3, 3, mask=causal_mask(4)),
        _square_head(rand, 6, 4, 8, mask=rand.mask(6, 6)),
        case(*_W[:2], INPUTS, mask=_HIDES_JOURNEY, page_example="this page's inputs and the mask that hides journey"),
    ],
    returns=Float("seq seq"),
    properties=[rows_sum_to_one(), finite_when_scaled(), hides_with_minus_infinity],
    misconceptions={
        "not-scaled": Wrong(
            _weigh(lambda W_K, x: 1.0),
            "The scores are not divided by the root of d_head. The text of many courses promises it and their code"
            " forgets it: the weights look plausible and are too sharp.",
        ),
        "root-of-d_model": Wrong(
            _weigh(lambda W_K, x: x.shape[-1] ** -0.5),
            "You divided by the root of d_model, the width of x. The dot product runs over the entries of one query"
            " and one key: divide by the root of d_head.",
        ),
        "root-of-the-length": Wrong(_weigh(lambda W_K, x: len(x) ** -0.5), WORDS["root-of-the-length"]),
        "multiplied": Wrong(_weigh(lambda W_K, x: W_K.shape[-1] ** 0.5), multiplied_by_root_message("d_head")),
        "divided-by-d_head": Wrong(_weigh(lambda W_K, x: 1 / W_K.shape[-1]), divided_by_width_message("d_head")),
        "wrong-axis": Wrong(_weigh(axis=-2), WORDS["wrong-axis"]),
        "query-and-key-swapped": Wrong(
            _weigh(swap=True),
            "Queries and keys have changed places: entry (i, j) must be the query of position i with the key of"
            " position j.",
        ),
        "true-means-blocked": Wrong(_weigh(read=invert_mask), _MASK_WORDS["true-means-blocked"]),
        "still-scores": Wrong(_hidden_scores, WORDS["still-scores"]),
        "mask-after-softmax": Wrong(
            _weigh(read=lambda mask: None, transform_weights=torch.mul), _MASK_WORDS["mask-after-softmax"]
        ),
        "hidden-with-zero": Wrong(_weigh(masked_value=0.0), _MASK_WORDS["hidden-with-zero"]),
        "mask-ignored": Wrong(_weigh(read=lambda mask: None), _MASK_WORDS["mask-ignored"]),
        "mask-transposed": Wrong(_weigh(read=_transposed), _MASK_WORDS["mask-transposed"]),
        "always-causal": Wrong(
            lambda W_Q, W_K, x, mask=None: _weigh()(W_Q, W_K, x, causal_mask(len(x)) if mask is None else mask),
            _MASK_WORDS["always-causal"],
        ),
        "always-causal-too": Wrong(
            lambda W_Q, W_K, x, mask=None: _weigh()(
                W_Q, W_K, x, causal_mask(len(x)) if mask is None else mask & causal_mask(len(x))
            ),
            _MASK_WORDS["always-causal-too"],
        ),
        "mask-added": Wrong(
            lambda W_Q, W_K, x, mask=None: (_hidden_scores(W_Q, W_K, x) + (0 if mask is None else mask)).softmax(-1),
            _MASK_WORDS["mask-added"],
        ),
    },
    equivalent={
        "scale-shared-by-both": lambda W_Q, W_K, x, mask=None: attention_weights(
            x @ W_Q / W_Q.shape[-1] ** 0.25, x @ W_K / W_K.shape[-1] ** 0.25, mask, scale=1.0
        ),
    },
    hints=Hints(
        "Three steps: make queries and keys from x, compare every query with every key, turn each row into shares.",
        "The comparison is queries @ keys transposed, divided by the root of d_head. If there is a mask, the scores"
        " where it is False become -inf before softmax.",
        "With masked_fill, fill -inf where the mask is not True; then softmax along dim -1. d_head is W_K.shape[-1].",
    ),
)


def _single_head(d_model, bias=True):
    return qkv_parameters(d_model, d_model, bias, QKV_LAYERS)


_qkv = functools.partial(project_qkv, names=QKV_LAYERS)
_head = functools.partial(make_attention, _qkv)


def _by_torch(p, x, mask=None, return_weights=False):
    q, k, v = _qkv(p, x)
    out = torch_attention(q, k, v, mask)
    return (out, torch_attention(q, k, mask=mask)) if return_weights else out


def _scaled_queries(p, x):
    q, k, v = _qkv(p, x)
    return q / q.shape[-1] ** 0.5, k, v


def _scores_for_weights(p, x, mask=None, return_weights=False):
    q, k, _ = _qkv(p, x)
    out = _by_torch(p, x, mask)
    return (out, mask_scores(q @ k.mT * k.shape[-1] ** -0.5, mask)) if return_weights else out


def _weights_first(p, x, mask=None, return_weights=False):
    found = _by_torch(p, x, mask, return_weights)
    return found[::-1] if return_weights else found


def _mask_added(p, x, mask=None, return_weights=False):
    q, k, v = _qkv(p, x)
    shares = (q @ k.mT * k.shape[-1] ** -0.5 + (0 if mask is None else mask)).softmax(-1)
    return (shares @ v, shares) if return_weights else shares @ v


exercise(
    "SingleHeadAttention",
    initial_parameters=_single_head,
    oracle=_by_torch,
    cases=lambda rand: [
        case(rand(4, 3), init=(3,)),
        case(rand(2, 3, 5), init=(5,), seed=1),
        case(rand(5, 4), init=(4,), seed=2, mask=causal_mask(5), return_weights=True),
        case(rand(3, 4, 6), init=(6,), seed=3, mask=rand.mask(4, 4), return_weights=True),
        case(rand(2, 1, 3, 2), init=(2,), seed=4, return_weights=True),
        case(rand(1, 3), init=(3,), seed=5),
        case(rand(2, 4, 3), init=(3,), seed=6, mask=rand.mask(4, 4)),
    ],
    returns=(Float("seq d_model", name="output"), Float("seq seq", name="weights")),
    properties=[
        rows_sum_to_one(part=1),
        batch_independent(),
        remembers_nothing,
        finite_when_scaled(),
        hides_with_minus_infinity,
    ],
    misconceptions={
        "not-scaled": Wrong(
            _head(scale=lambda d_k, d_in: 1.0),
            "The scores are not divided by the root of the keys' width. The wider the model, the more one token takes"
            " all the weight.",
        ),
        "multiplied": Wrong(_head(scale=lambda d_k, d_in: d_k**0.5), multiplied_by_root_message("the keys' width")),
        "query-and-key-swapped": Wrong(
            _head(order=(1, 0, 2)),
            "Queries and keys have changed places. Row i holds what position i asks: its query, compared with every"
            " key.",
        ),
        "divided-by-the-width": Wrong(
            _head(scale=lambda d_k, d_in: 1 / d_k),
            "You divided by the width instead of by its root. The weights come out nearly equal, the more so the wider"
            " the model.",
        ),
        "root-of-the-length": Wrong(
            _head(scale=lambda d_k, d_in: 1.0, transform_scores=scale_by_length), WORDS["root-of-the-length"]
        ),
        "keys-as-values": Wrong(_head(order=(0, 1, 1)), WORDS["keys-as-values"]),
        "mask-transposed": Wrong(_head(make_mask=lambda mask, n: _transposed(mask)), _MASK_WORDS["mask-transposed"]),
        "mask-added": Wrong(_mask_added, _MASK_WORDS["mask-added"]),
        "always-causal": Wrong(
            _head(make_mask=lambda mask, n: causal_mask(n) if mask is None else mask), _MASK_WORDS["always-causal"]
        ),
        "always-causal-too": Wrong(
            _head(make_mask=lambda mask, n: causal_mask(n) if mask is None else mask & causal_mask(n)),
            _MASK_WORDS["always-causal-too"],
        ),
        "second-axis": Wrong(
            lambda p, x, mask=None, return_weights=False: _head(axis=1)(p, x, mask, return_weights),
            "The softmax runs along dim 1, which is the last axis of a single text only; with a batch in front it"
            " counts the positions that ask. It runs along the last axis, however many stand before it.",
        ),
        "wrong-axis": Wrong(
            _head(axis=-2),
            "Softmax ran down the columns. Each row belongs to a position that asks, and has one unit to share out.",
        ),
        "weights-first": Wrong(
            _weights_first,
            "You return (weights, output). A module of this course that can return its weights returns (output,"
            " weights).",
        ),
        "still-scores": Wrong(
            _scores_for_weights,
            "The output is right, and what stands for the weights are the scores from before the softmax. Weights are"
            " shares: each row sums to one.",
        ),
        "true-means-blocked": Wrong(
            _head(make_mask=lambda mask, n: invert_mask(mask)), _MASK_WORDS["true-means-blocked"]
        ),
        "mask-ignored": Wrong(_head(masked_value=None), _MASK_WORDS["mask-ignored"]),
        "mask-after-softmax": Wrong(
            _head(masked_value=None, transform_weights=lambda p, w, mask: w if mask is None else w * mask),
            _MASK_WORDS["mask-after-softmax"],
        ),
        "hidden-with-zero": Wrong(_head(masked_value=0.0), _MASK_WORDS["hidden-with-zero"]),
        "inputs-as-values": Wrong(
            _head(mix=lambda p, w, v, x: w @ x),
            "The raw inputs are mixed, and v_layer is never used. What a token passes on is its value vector.",
        ),
        "no-bias": Wrong(
            _by_torch,
            "The layers have no bias. Here the three are plain nn.Linear layers, with the bias that a Linear has"
            " unless told otherwise.",
            initial_parameters=fix_arguments(_single_head, bias=False),
        ),
    },
    equivalent={
        "scaled-queries": make_attention(_scaled_queries, scale=lambda d_k, d_in: 1.0),
    },
    hints=Hints(
        "compute_attn_weights is most of the forward pass. What changes is where queries and keys come from, and that"
        " values are mixed at the end.",
        "q_layer, k_layer and v_layer are three nn.Linear from d_model to d_model. For batches, transpose the keys'"
        " last two axes, not all of them.",
        "scores: queries @ keys.transpose(-2, -1), divided by the root of keys.shape[-1]; -inf where mask is False;"
        " softmax dim -1; @ values. Return (output, weights) if return_weights.",
    ),
)
