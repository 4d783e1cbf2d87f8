"""Define the exercises of lesson 03: attention with trainable weights. The oracle is torch's own attention."""

import itertools

import torch
from torch import nn

from utils.checks._attention import (
    INPUTS,
    QKV,
    QKV_LAYERS,
    attention,
    attention_mistakes,
    attention_values,
    attention_weights,
    causal_mask,
    fix_arguments,
    hides_with_minus_infinity,
    ignored_qkv_bias_misconceptions,
    initialisation_case,
    mask_scores,
    project_qkv,
    qkv_parameters,
    torch_attention,
    weigh_scores,
)
from utils.checks._wrong_answers import with_steps, wrong_answer
from utils.exercises.exercise import Float, Hints, Step, Wrong, case, exercise
from utils.feedback.properties import batch_independent, finite_when_scaled, rows_sum_to_one
from utils.test_doubles.self_attention import NAMES, FakeSelfAttentionV1, FakeSelfAttentionV2, view_copied_weights


def _page_matrices():
    """Sample the lesson's three matrices, with seed 123."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(123)
        return [torch.rand(3, 2) for _ in QKV]


_W = _page_matrices()
_Q, _K, _V = (INPUTS @ W for W in _W)
_HIDES_JOURNEY = torch.eye(6, dtype=torch.bool) | (torch.arange(6) != 1)


def _wrong_weights(use_weights):
    """Return the misconceptions about the weights of "journey". Each answer applies `use_weights` to wrong weights."""
    scores = _Q[1] @ _K.T
    wrong = attention_mistakes(
        lambda **steps: lambda: use_weights(weigh_scores.replace(**steps)(scores, None, d_head=2, d_in=3))
    )
    return {
        "not-scaled": wrong.not_scaled(
            "You applied softmax to the scores without scaling them. Divide by the square root of d_k first: dot"
            " products grow with the width, and a softmax of large scores has almost no gradient."
        ),
        "divided-by-d_k": wrong.divided_by_the_width(
            "You divided by d_k = 2 instead of its square root, 1.414. The spread of a dot product grows with the"
            " square root of the width, so dividing by this root cancels the growth; dividing by d_k itself goes too"
            " far."
        ),
        "root-of-d_in": wrong.root_of_d_in(
            "You divided by the square root of 3, the width of the inputs. The dot product runs over the entries of"
            " queries and keys, so divide by the square root of their width, d_k = 2."
        ),
        "root-of-the-length": wrong.root_of_the_length(
            "You divided by the square root of 6, the number of tokens. The spread of the scores grows with the number"
            " of entries in a key, d_k = 2, and not with the length of the text."
        ),
        "multiplied": wrong.multiplied(
            "You multiplied the scores by the square root of d_k, which makes the softmax sharper. Divide by the square"
            " root instead, so that the softmax does not become too sharp."
        ),
        "share-of-the-sum": Wrong(
            lambda: use_weights(scores / scores.sum()),
            "You divided each score by the sum of the scores, without exp. If a score is negative, the results are not"
            " valid weights; softmax takes exp first.",
        ),
        "no-softmax": wrong.still_scores(
            "Your weights are the scaled scores themselves, which can have any size. Softmax turns them into weights"
            " that sum to one."
        ),
        "log-softmax": Wrong(
            lambda: use_weights((scores / 2**0.5).log_softmax(-1)),
            "Your weights are logarithms, all of them negative. Take a plain softmax, and use its result as weights.",
        ),
        "scaled-too-late": wrong.scaled_too_late(
            "You divided after the softmax, so the weights sum to 0.71. Divide the scores before the softmax, so that"
            " the scaling changes how sharp the softmax is."
        ),
        "power-without-brackets": Wrong(
            lambda: use_weights((scores / 2**1 / 2).softmax(-1)),
            "You divided the scores by 4. Dividing by `d_k ** 1/2` does this, because Python takes the power first and"
            " then divides by 2: put brackets around 1/2 to get the square root.",
        ),
        "rounded-down": Wrong(
            lambda: use_weights((scores // 2**0.5).softmax(-1)),
            "You rounded the scores down to whole numbers, as // does, and lost most of the differences between them. A"
            " single / keeps these differences.",
        ),
    }


exercise(
    "scaled_context_vec_2",
    oracle=torch_attention(_Q[1:2], _K, _V)[0],
    milestones=lambda: {
        "the scaled scores": (scaled := _K @ _Q[1] / 2**0.5),
        "the weights": (weights := scaled.softmax(0)),
        "the context vector": weights @ _V,
    },
    returns=Float("d_out"),
    atol=2e-6,  # two queries are almost equal, so their context vectors hardly differ
    steps={"attn_weights_2": Step(torch_attention(_Q[1:2], _K)[0], _wrong_weights(lambda weights: weights))},
    misconceptions={
        **_wrong_weights(lambda weights: weights @ _V),
        "another-query": Wrong(
            lambda: torch_attention(_Q[2:3], _K, _V)[0],
            'This is the context vector of "starts", whose query is almost equal to the query of "journey". Python'
            ' counts from 0, so "journey", the second token, is row 1.',
        ),
        "mixes-the-inputs": Wrong(
            lambda: torch_attention(_Q[1:2], _K, INPUTS)[0],
            "The weights are right, but they mix the raw inputs, so the result has three numbers. Mix the value"
            " vectors instead: a token passes on its value.",
        ),
        "mixes-the-keys": Wrong(
            lambda: torch_attention(_Q[1:2], _K, _K)[0],
            "The weights are right, but they mix the keys. Keys are only compared with queries; the weights should mix"
            " the values.",
        ),
    },
    hints=Hints(
        "Lesson 02 had three steps: scores, weights, mix. Here the scores come from the query and the keys, and the"
        " weights mix the values.",
        "Between the scores and the softmax there is one division: by the square root of the number of entries in a"
        " key.",
        "Divide attn_scores_2 by keys.shape[-1] to the power 0.5, take softmax along the last axis, and multiply the"
        " result by values with @.",
    ),
)


def _matrices(p, x):
    return [x @ p[name] for name in QKV]


def _parameters(init, names=QKV):
    """Return a constructor that calls `init(d_in, d_out)` for each parameter in `names`, in this order."""
    return lambda d_in, d_out: {name: init(d_in, d_out) for name in names}


def _answers(qkv):
    """Return the correct answer and the misconceptions that both classes share.

    Args:
        qkv: function of `(params, x)` that returns queries, keys and values.
    """
    wrong = attention_mistakes(attention.replace(qkv=qkv).replace, width="d_k")
    return lambda p, x: torch_attention(*qkv(p, x)), {
        "not-scaled": wrong.not_scaled(
            "You do not divide the scores by the square root of d_k. For wide vectors, softmax would then give nearly"
            " all weight to one token, and its gradient would be almost zero."
        ),
        "multiplied": wrong.multiplied(),
        "keys-and-values-swapped": wrong.keys_and_values_swapped(
            "You swapped keys and values. Keys are compared with the queries, which gives the weights; the weights"
            " should mix the values."
        ),
        "divided-by-d_k": wrong.divided_by_the_width(
            "You divided by d_k instead of its square root. The spread of a dot product grows with the square root of"
            " the width; dividing by d_k makes the weights more and more uniform as the layer gets wider."
        ),
        "root-of-d_in": wrong.root_of_d_in(
            "You divided by the square root of d_in, the width of the inputs. The dot product runs over the entries of"
            " queries and keys, so divide by the square root of their width, d_out."
        ),
        "root-of-the-length": wrong.root_of_the_length(),
        "root-of-2": wrong.root_of_2(),
        "only-journey": Wrong(
            lambda p, x: torch_attention(*qkv(p, x))[1],
            'You computed only row 1, the row of "journey". Every token is a query, so the result should have a row'
            " for each token.",
        ),
        "wrong-axis": wrong.wrong_axis(
            "You applied softmax down the columns, so the weights that each key receives sum to one. The weights of"
            " each query should sum to one, so softmax must run along the rows."
        ),
        "query-and-key-swapped": wrong.query_and_key_swapped(
            "You swapped queries and keys. Row i should compare the query of token i with all keys."
        ),
        "scaled-too-late": wrong.scaled_too_late(
            "You divided after the softmax, so the weights no longer sum to one. Divide the scores before the softmax"
            " instead, so that the scaling changes how sharp the softmax is."
        ),
        "keys-as-values": wrong.keys_as_values(),
        "inputs-as-values": wrong.inputs_as_values(),
    }


def _other_orders(right, initial):
    """Return one misconception for each wrong order of the weights. `initial(order)` returns the constructor."""
    return {
        f"made-in-the-order-{'-'.join(name.removeprefix('W_') for name in order)}": Wrong(
            right,
            "The forward pass is right, but the weights are created in a different order. Each weight gets the next"
            " numbers from the random generator, so create query, key and value in this order to get the numbers that"
            " the lesson prints.",
            initial_parameters=initial(order),
        )
        for order in itertools.permutations(QKV)
        if order != QKV
    }


_right_v1, _wrong_v1 = _answers(_matrices)

exercise(
    "SelfAttention_v1",
    initial_parameters=_parameters(torch.rand),
    oracle=_right_v1,
    milestones=lambda p, x: attention_values(*_matrices(p, x)),
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
            "The forward pass is right, but the weights do not have the distribution of torch.rand. Sample them with"
            " torch.rand, to get the numbers that this lesson prints.",
            initial_parameters=_parameters(torch.randn),
        ),
        **_other_orders(_right_v1, lambda order: lambda d_in, d_out: _parameters(torch.rand, order)(d_in, d_out)),
        "zero-weights": Wrong(
            _right_v1,
            "The weights start as zeros, so all scores are equal and all values are zero. Queries and keys then get no"
            " gradient, and training never changes them.",
            initial_parameters=_parameters(torch.zeros),
        ),
    },
    hints=Hints(
        "You have already written these steps for a single query. In the class, the weights become attributes, and"
        " every token is a query.",
        "__init__ creates three nn.Parameter of shape [d_in, d_out]; forward multiplies x with each of them, then"
        " computes scores, scaled softmax and mix.",
        "queries @ keys transposed gives [seq, seq]. Divide it by the square root of keys.shape[-1], take softmax along"
        " dim -1, then multiply by values with @.",
    ),
)


def _layers(d_in, d_out, qkv_bias=False):
    return qkv_parameters(d_in, d_out, qkv_bias)


_right_v2, _wrong_v2 = _answers(project_qkv)

exercise(
    "SelfAttention_v2",
    initial_parameters=_layers,
    oracle=_right_v2,
    milestones=lambda p, x: attention_values(*project_qkv(p, x)),
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
        "Only the three weights are different from v1: use nn.Linear instead of nn.Parameter. A layer is called like a"
        " function.",
        "In __init__, create three nn.Linear from d_in to d_out with bias=qkv_bias. In forward, use self.W_key(x)"
        " instead of x @ self.W_key.",
        "The rest of forward stays as in v1: scores, division by the square root of the keys' width, softmax along dim"
        " -1, product with the values.",
    ),
)


def _copy(names=NAMES, to=lambda name: name, transform=lambda w: w.T.clone()):
    """Build an answer that transforms the weight `name` of v2 and copies it into the parameter `to(name)` of v1."""

    def answer(v2, v1):
        for name in names:
            setattr(v1, to(name), nn.Parameter(transform(getattr(v2, name).weight.detach())))

    return answer


def _copy_from(source):
    """Build an answer that fills each parameter `name` of v1 from the layer `source.get(name, name)` of v2."""

    def answer(v2, v1):
        for name in NAMES:
            setattr(v1, name, nn.Parameter(getattr(v2, source.get(name, name)).weight.detach().T.clone()))

    return answer


@wrong_answer
def _copy_frozen(v2, v1):
    """The numbers are right, but v1 has nothing left to train: its matrices are no longer parameters, or they have
    requires_grad=False. Each matrix should be an nn.Parameter, as before.
    """
    _copy()(v2, v1)
    v1.requires_grad_(False)


@wrong_answer
def _transpose_v2(v2, v1):
    """You transposed v2's own matrices, so v2 no longer gives the same results as before. Change only v1: give it
    transposed copies of v2's matrices.
    """
    for name in NAMES:
        getattr(v2, name).weight.data = getattr(v2, name).weight.data.T
        setattr(v1, name, nn.Parameter(getattr(v2, name).weight.detach().clone()))


@wrong_answer
def _copy_into_v2(v2, v1):
    """You copied the weights from v1 into v2. Copy from the first argument, v2, into v1."""
    for name in NAMES:
        getattr(v2, name).weight = nn.Parameter(getattr(v1, name).detach().T.clone())


exercise(
    "copy_weights",
    oracle=_copy(transform=lambda w: torch.einsum("oi->io", w).clone()),
    view=view_copied_weights,
    cases=lambda rand: [
        case(FakeSelfAttentionV2(i, o, rand), FakeSelfAttentionV1(i, o, rand))
        for i, o in ((3, 2), (4, 4), (2, 5), (1, 3))
    ],
    misconceptions={
        "not-transposed": Wrong(
            _copy(transform=lambda w: w.clone()),
            "You copied the matrices without transposing them, which raises no error if they are square. nn.Linear"
            " stores its weight as [d_out, d_in] and multiplies by the transpose, so transpose each matrix.",
        ),
        "reshaped": Wrong(
            _copy(transform=lambda w: w.reshape(w.shape[1], w.shape[0]).clone()),
            "The shape fits, but the numbers are in the wrong places: reshape (or view) fills the new shape with the"
            " same numbers row by row. A transpose swaps rows and columns.",
        ),
        "shares-memory": Wrong(
            _copy(transform=lambda w: w.T),
            "The numbers are right, but v1 and v2 now share the same memory: when v1 is trained, v2 changes with it. A"
            " transpose is only a view, so make a copy of it.",
        ),
        "other-way-round": _copy_into_v2,
        "contiguous": Wrong(
            _copy(transform=lambda w: w.T.contiguous()),
            "contiguous() copies only if the layout in memory has to change, so a matrix with one row or one column"
            " still shares memory with v2. Make a copy in every case.",
        ),
        "frozen": _copy_frozen,
        "v2-turned": _transpose_v2,
        "query-and-key-swapped": Wrong(
            _copy(to=lambda name: {"W_query": "W_key", "W_key": "W_query"}.get(name, name)),
            "You swapped queries and keys: v2's W_query went into v1's W_key. Copy each weight to the parameter of the"
            " same name.",
        ),
        "query-copied-twice": Wrong(
            _copy_from({"W_key": "W_query"}),
            "v1's W_key has the numbers of v2's W_query. Did you copy a line and change the name on one side only?",
        ),
        "key-copied-twice": Wrong(
            _copy_from({"W_value": "W_key"}),
            "v1's W_value has the numbers of v2's W_key. Did you copy a line and change the name on one side only?",
        ),
        "nothing-copied": Wrong(
            lambda v2, v1: None,
            "v1 did not change. Assign to the attributes of the argument v1: assigning to a name (v1 = ..., or w = ...)"
            " changes no layer, and the layers created in the notebook are not the ones that are passed in.",
        ),
        "only-the-query": Wrong(
            _copy(NAMES[:1]),
            "You copied only W_query. W_key and W_value still have v1's own numbers.",
        ),
        "value-forgotten": Wrong(
            _copy(NAMES[:2]),
            "You copied W_query and W_key, but not W_value. v1 and v2 then have the same attention weights, but"
            " different outputs.",
        ),
    },
    hints=Hints(
        "Print v2.W_query.weight.shape next to v1.W_query.shape.",
        "Transpose each weight of v2, copy it, and make it v1's parameter of the same name.",
        "For each of the three names, detach, transpose and clone v2's weight, and assign it to v1's attribute as an"
        " nn.Parameter.",
    ),
)


@with_steps
def _weigh(W_Q, W_K, x, mask=None, **steps):
    """Compute the weights of one head. `steps` replaces steps of `attention`."""
    layer = attention.replace(qkv=lambda p, x: (x @ W_Q, x @ W_K, x), **steps)
    return layer({}, x, mask, return_weights=True)[1]


def _square_head(rand, seq, d_model, d_head, mask=None):
    return case(
        rand(d_model, d_head, scale=d_model**-0.5),
        rand(d_model, d_head, scale=d_model**-0.5),
        rand(seq, d_model),
        **({} if mask is None else {"mask": mask}),
    )


_wrong = attention_mistakes(_weigh.replace, width="d_head")
_MASK_TRANSPOSED = (
    "You swapped the rows and columns of the mask. A row of the mask belongs to a query, like a row of the scores."
)
_MASK_IGNORED = "Your mask changes nothing: blocked positions still get weight."

exercise(
    "compute_attn_weights",
    # Without values, `torch_attention` returns the weights.
    oracle=lambda W_Q, W_K, x, mask=None: torch_attention(x @ W_Q, x @ W_K, mask=mask),
    milestones=lambda W_Q, W_K, x, mask=None: attention_values(x @ W_Q, x @ W_K, mask=mask),
    cases=lambda rand: [
        _square_head(rand, 2, 3, 4),
        _square_head(rand, 1, 2, 1),
        _square_head(rand, 5, 6, 2),
        _square_head(rand, 4, 3, 3, mask=causal_mask(4)),
        _square_head(rand, 6, 4, 8, mask=rand.mask(6, 6)),
        case(*_W[:2], INPUTS, mask=_HIDES_JOURNEY, page_example="this lesson's inputs and the mask that hides journey"),
    ],
    returns=Float("seq seq"),
    properties=[rows_sum_to_one(), hides_with_minus_infinity, finite_when_scaled()],
    misconceptions={
        "not-scaled": _wrong.not_scaled(
            "You do not divide the scores by the square root of d_head, so the weights look plausible but are too"
            " sharp. Many courses describe this division in their text but leave it out of their code."
        ),
        "root-of-d_model": _wrong.root_of_d_in(
            "You divided by the square root of d_model, the width of x. The dot product runs over the entries of one"
            " query and one key, so divide by the square root of d_head."
        ),
        "root-of-the-length": _wrong.root_of_the_length(),
        "multiplied": _wrong.multiplied(),
        "divided-by-d_head": _wrong.divided_by_the_width(),
        "wrong-axis": _wrong.wrong_axis(),
        "query-and-key-swapped": _wrong.query_and_key_swapped(
            "You swapped queries and keys. Entry (i, j) should compare the query of position i with the key of"
            " position j."
        ),
        "true-means-blocked": _wrong.true_means_blocked(),
        "still-scores": _wrong.still_scores(),
        "mask-after-softmax": _wrong.mask_after_softmax(),
        "hidden-with-zero": _wrong.hidden_with_zero(),
        "mask-ignored": _wrong.sees_the_future(_MASK_IGNORED),
        "mask-transposed": _wrong.mirror_image(_MASK_TRANSPOSED),
        "always-causal": _wrong.always_causal(),
        "always-causal-too": _wrong.always_causal_too(),
        "mask-added": _wrong.mask_added(),
    },
    equivalent={
        "scale-shared-by-both": lambda W_Q, W_K, x, mask=None: attention_weights(
            x @ W_Q / W_Q.shape[-1] ** 0.25, x @ W_K / W_K.shape[-1] ** 0.25, mask, scale=lambda *sizes: 1.0
        ),
    },
    hints=Hints(
        "There are three steps: compute queries and keys from x, compare every query with every key, and turn each row"
        " into weights that sum to one.",
        "The comparison is queries @ keys transposed, divided by the square root of d_head. If there is a mask, the"
        " scores at its False entries become -inf before the softmax.",
        "With masked_fill, set the scores to -inf where the mask is not True; then take softmax along dim -1. d_head"
        " is W_K.shape[-1].",
    ),
)


def _single_head(d_model, bias=True):
    return qkv_parameters(d_model, d_model, bias, QKV_LAYERS)


def _qkv(p, x):
    return project_qkv(p, x, QKV_LAYERS)


_layer = attention.replace(qkv=_qkv)
_wrong = attention_mistakes(_layer.replace, width="the keys' width")


def _by_torch(p, x, mask=None, return_weights=False):
    q, k, v = _qkv(p, x)
    out = torch_attention(q, k, v, mask)
    return (out, torch_attention(q, k, mask=mask)) if return_weights else out


def _scaled_queries(p, x):
    q, k, v = _qkv(p, x)
    return q / q.shape[-1] ** 0.5, k, v


@wrong_answer
def _scores_for_weights(p, x, mask=None, return_weights=False):
    """The output is right, but you return the scores before the softmax instead of the weights. Return the weights,
    whose rows each sum to one.
    """
    q, k, _ = _qkv(p, x)
    out = _by_torch(p, x, mask)
    return (out, mask_scores(q @ k.mT * k.shape[-1] ** -0.5, mask)) if return_weights else out


@wrong_answer
def _weights_first(p, x, mask=None, return_weights=False):
    """You return (weights, output). In this course, a module that can return its weights returns (output, weights)."""
    result = _by_torch(p, x, mask, return_weights)
    return result[::-1] if return_weights else result


exercise(
    "SingleHeadAttention",
    initial_parameters=_single_head,
    oracle=_by_torch,
    milestones=lambda p, x, mask=None, return_weights=False: attention_values(*_qkv(p, x), mask),
    cases=lambda rand: [
        case(rand(4, 3), init=(3,)),
        case(rand(2, 3, 5), init=(5,), seed=1),
        case(rand(5, 4), init=(4,), seed=2, mask=causal_mask(5), return_weights=True),
        case(rand(3, 4, 6), init=(6,), seed=3, mask=rand.mask(4, 4), return_weights=True),
        case(rand(1, 3, 2), init=(2,), seed=4, return_weights=True),
        case(rand(1, 3), init=(3,), seed=5),
        case(rand(2, 4, 3), init=(3,), seed=6, mask=rand.mask(4, 4)),
    ],
    returns=(Float("seq d_model", name="output"), Float("seq seq", name="weights")),
    properties=[
        rows_sum_to_one(part=1),
        batch_independent(),
        hides_with_minus_infinity,
        finite_when_scaled(),
    ],
    misconceptions={
        "not-scaled": _wrong.not_scaled(
            "You do not divide the scores by the square root of the keys' width. Without this division, the wider the"
            " model is, the more weight goes to a single token."
        ),
        "multiplied": _wrong.multiplied(),
        "query-and-key-swapped": _wrong.query_and_key_swapped(
            "You swapped queries and keys. Row i should compare the query of position i with every key."
        ),
        "divided-by-the-width": _wrong.divided_by_the_width(
            "You divided by the width instead of its square root. The weights become too uniform, especially in a wide"
            " model."
        ),
        "root-of-the-length": _wrong.root_of_the_length(),
        "keys-as-values": _wrong.keys_as_values(),
        "mask-transposed": _wrong.mirror_image(_MASK_TRANSPOSED),
        "mask-added": _wrong.mask_added(),
        "always-causal": _wrong.always_causal(),
        "always-causal-too": _wrong.always_causal_too(),
        "second-axis": _wrong.second_axis(
            "Your softmax runs along dim 1, which is the last axis of a single text; with a batch in front, dim 1 is"
            " the axis of the queries. Softmax should run along the last axis, however many axes come before it."
        ),
        "wrong-axis": _wrong.wrong_axis(
            "You applied softmax down the columns. Each row belongs to a query, and its weights should sum to one."
        ),
        "weights-first": _weights_first,
        "still-scores": _scores_for_weights,
        "true-means-blocked": _wrong.true_means_blocked(),
        "mask-ignored": _wrong.sees_the_future(_MASK_IGNORED),
        "mask-after-softmax": _wrong.mask_after_softmax(),
        "hidden-with-zero": _wrong.hidden_with_zero(),
        "inputs-as-values": _wrong.inputs_as_values(
            "You mix the raw inputs, and v_layer is never used. Mix the value vectors instead: a position passes on"
            " its value."
        ),
        "no-bias": Wrong(
            _by_torch,
            "Your layers have no bias. The three layers should be plain nn.Linear layers, which have a bias by"
            " default.",
            initial_parameters=fix_arguments(_single_head, bias=False),
        ),
    },
    equivalent={
        "scaled-queries": attention.replace(qkv=_scaled_queries, scale=lambda d_head, d_in, seq: 1.0),
    },
    hints=Hints(
        "compute_attn_weights is most of the forward pass. Two things change: layers now compute queries and keys, and"
        " the weights mix the values at the end.",
        "q_layer, k_layer and v_layer are three nn.Linear from d_model to d_model. For batches, transpose only the"
        " last two axes of the keys, not all of them.",
        "The scores are queries @ keys.transpose(-2, -1), divided by the square root of keys.shape[-1], with -inf where"
        " mask is False. Then take softmax along dim -1, multiply by values with @, and return (output, weights) if"
        " return_weights is True.",
    ),
)
