"""Exercises of lesson 03: attention with weights to train. The oracle is torch's scaled_dot_product_attention."""

import torch
from torch import nn
from torch.nn import functional as F

from utils.checks._journey import INPUTS
from utils.feedback import Float, batch_independent, case, exercise, finite_when_loud, linear, remembers_nothing, rows_sum_to_one


def _sdpa(q, k, v, mask=None, scale=None):
    """torch's attention for any number of leading axes (it wants at least one)."""
    return F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask, scale=scale)[0]


def _projected():
    """Queries, keys and values as seed 123 makes them in the lesson."""
    torch.default_generator.manual_seed(123)
    q, k, v = (INPUTS @ torch.rand(3, 2) for _ in range(3))
    return q, k, v


def _context(weigh):
    """A context vector of "journey" from `weigh(scores, d_k) -> weights`."""
    def answer():
        q, k, v = _sealed_projected()
        return weigh(q[1] @ k.T) @ v
    return answer


def _sealed_projected():
    with torch.random.fork_rng(devices=[]):
        return _projected()


_Q, _K, _V = _sealed_projected()

exercise(
    "scaled_context_vec_2",
    oracle=_sdpa(_Q[1:2], _K, _V)[0],
    returns=Float("d_out"),
    misconceptions={
        "not-scaled": (
            _context(lambda s: s.softmax(-1)),
            "The scores went into softmax as they were. Divide by the root of d_k first: dot products grow with the width, "
            "and a softmax of large scores has almost no gradient.",
        ),
        "divided-by-d_k": (
            _context(lambda s: (s / 2).softmax(-1)),
            "You divided by d_k = 2 instead of by its root, 1.414. "
            "The spread of a dot product grows with the root of the width, so the root undoes it; d_k itself overshoots.",
        ),
        "root-of-d_in": (
            _context(lambda s: (s / 3**0.5).softmax(-1)),
            "You divided by the root of 3, the width of the inputs. The dot product runs over queries and keys, "
            "so it is their width d_k = 2 that counts.",
        ),
        "multiplied": (
            _context(lambda s: (s * 2**0.5).softmax(-1)),
            "The scores were multiplied by the root of d_k. That makes softmax sharper; it was to be kept soft, by dividing.",
        ),
        "no-softmax": (
            _context(lambda s: s / 2**0.5),
            "The values are mixed with the scaled scores themselves. Scores can be of any size; softmax first turns them into shares that sum to one.",
        ),
        "log-softmax": (
            _context(lambda s: (s / 2**0.5).log_softmax(-1)),
            "These weights are logarithms of shares, all of them negative. What mixes the values is the share itself.",
        ),
        "scaled-too-late": (
            _context(lambda s: s.softmax(-1) / 2**0.5),
            "You divided after the softmax: the weights now sum to 0.71. "
            "Scaling has to act on the scores, where it changes how sharp the softmax is.",
        ),
        "mixes-the-inputs": (
            lambda: _sdpa(_Q[1:2], _K, INPUTS)[0],
            "The weights are right and mix the raw inputs, so three numbers came out. "
            "What a token passes on is its value vector.",
        ),
        "mixes-the-keys": (
            lambda: _sdpa(_Q[1:2], _K, _K)[0],
            "The weights are right and mix the keys. A key is what a token is found by; its value is what it passes on.",
        ),
    },
    hints=(
        "Lesson 02 had three steps: scores, weights, mix. Query and keys make the scores here, and the values are mixed.",
        "Between scores and softmax stands one division, by the root of the number of entries in a key.",
        "Divide attn_scores_2 by keys.shape[-1] to the power 0.5, take softmax along the last axis, and multiply with values by @.",
    ),
)


def _qkv(p, x):
    return x @ p["W_query"], x @ p["W_key"], x @ p["W_value"]


def _rand_parameters(d_in, d_out):
    return {name: torch.rand(d_in, d_out) for name in ("W_query", "W_key", "W_value")}


def _unlike_rand(make, names=("W_query", "W_key", "W_value")):
    return lambda d_in, d_out: {name: make(d_in, d_out) for name in names}


def _attention(qkv):
    """Right and wrong answers of the two classes, for either way to make queries, keys and values."""
    right = lambda p, x: _sdpa(*qkv(p, x))  # noqa: E731

    def scaled_by(factor):
        def answer(p, x):
            q, k, v = qkv(p, x)
            return _sdpa(q, k, v, scale=factor(x.shape[-1], k.shape[-1]))
        return answer

    def weights_of(p, x):
        q, k, _ = qkv(p, x)
        return q @ k.mT / k.shape[-1] ** 0.5

    wrong = {
        "not-scaled": (
            scaled_by(lambda d_in, d_k: 1.0),
            "The scores are not divided by the root of d_k. On wide vectors softmax would then put nearly all weight on one token, "
            "and hardly any gradient would be left to learn from.",
        ),
        "multiplied": (
            scaled_by(lambda d_in, d_k: d_k**0.5),
            "The scores were multiplied by the root of d_k and should be divided by it. A dot product grows with that root as it is; now the softmax is sharper still, and picks one token.",
        ),
        "keys-and-values-swapped": (
            lambda p, x: _sdpa(*(qkv(p, x)[i] for i in (0, 2, 1))),
            "Keys and values have changed places. A key is compared with the queries and says who is listened to; a value is what is passed on.",
        ),
        "divided-by-d_k": (
            scaled_by(lambda d_in, d_k: 1 / d_k),
            "You divided by d_k instead of by its root. The spread of a dot product grows with the root of the width; "
            "d_k itself flattens the weights more and more as the layer gets wider.",
        ),
        "root-of-d_in": (
            scaled_by(lambda d_in, d_k: d_in**-0.5),
            "You divided by the root of d_in, the width of the inputs. The dot product runs over the entries of queries and keys: "
            "their width d_out is the one that counts.",
        ),
        "wrong-axis": (
            lambda p, x: F.softmax(weights_of(p, x), dim=-2) @ qkv(p, x)[2],
            "Softmax ran down the columns: the weights that each *key* receives sum to one. "
            "Each query shares out one unit of attention, so it must run along the rows.",
        ),
        "query-and-key-swapped": (
            lambda p, x: _sdpa(*(qkv(p, x)[i] for i in (1, 0, 2))),
            "Queries and keys have changed places. Row i must hold what token i asks: its query against all keys.",
        ),
        "scaled-too-late": (
            lambda p, x: F.softmax(weights_of(p, x) * qkv(p, x)[1].shape[-1] ** 0.5, dim=-1) / qkv(p, x)[1].shape[-1] ** 0.5 @ qkv(p, x)[2],
            "The division comes after the softmax, so the weights no longer sum to one. "
            "It has to act on the scores, where it decides how sharp the softmax is.",
        ),
        "keys-as-values": (
            lambda p, x: _sdpa(*(qkv(p, x)[i] for i in (0, 1, 1))),
            "The keys are mixed instead of the values. A key is what a token is found by; its value is what it passes on.",
        ),
        "inputs-as-values": (
            lambda p, x: F.softmax(weights_of(p, x), dim=-1) @ x,
            "The raw inputs are mixed, so the result has d_in columns. What a token passes on is its value vector, of d_out entries.",
        ),
    }
    return right, wrong


_right_v1, _wrong_v1 = _attention(_qkv)

exercise(
    "SelfAttention_v1",
    initial=_rand_parameters,
    oracle=_right_v1,
    cases=lambda rand: [
        case(rand(6, 3), init=(3, 2)), case(rand(5, 4), init=(4, 7), seed=1), case(rand(3, 5), init=(5, 5), seed=2),
        case(rand(4, 3), init=(3, 2), fill=False, seed=123, note="with the weights as __init__ makes them after manual_seed(123)"),
    ],
    returns=Float("seq d_out"),
    properties=[finite_when_loud()],
    misconceptions={
        **_wrong_v1,
        "normal-weights": (
            _right_v1,
            "The forward pass is right; the weights come from another distribution than torch.rand. "
            "To get the numbers that this lesson prints, they must be drawn as it draws them.",
            _unlike_rand(torch.randn),
        ),
        "other-order": (
            _right_v1,
            "The forward pass is right; the weights are made in another order. Each call of torch.rand takes the next random numbers, "
            "so query, key, value must be made in this order to get the numbers that the lesson prints.",
            lambda d_in, d_out: dict(reversed(_unlike_rand(torch.rand, ("W_value", "W_key", "W_query"))(d_in, d_out).items())),
        ),
        "zero-weights": (
            _right_v1,
            "The weights start as zeros. Then all scores are equal and all values nothing: every token gets the same gradient, "
            "and queries and keys none at all.",
            _unlike_rand(torch.zeros),
        ),
    },
    hints=(
        "You wrote every line already, for one query. In the class the weights become attributes and the query becomes all queries.",
        "__init__ keeps three nn.Parameter of shape [d_in, d_out]; forward multiplies x with each, then does scores, scaled softmax and mix.",
        "queries @ keys transposed gives [seq, seq]; divide by the root of keys.shape[-1]; softmax along dim -1; then @ values.",
    ),
)


def _qkv_linear(p, x):
    return tuple(F.linear(x, p[f"{n}.weight"], p.get(f"{n}.bias")) for n in ("W_query", "W_key", "W_value"))


def _linear_parameters(d_in, d_out, qkv_bias=False):
    return linear(**{name: nn.Linear(d_in, d_out, bias=qkv_bias) for name in ("W_query", "W_key", "W_value")})


_right_v2, _wrong_v2 = _attention(_qkv_linear)

exercise(
    "SelfAttention_v2",
    initial=_linear_parameters,
    oracle=_right_v2,
    cases=lambda rand: [
        case(rand(6, 3), init=(3, 2)), case(rand(5, 4), init={"d_in": 4, "d_out": 7, "qkv_bias": True}, seed=1),
        case(rand(3, 5), init=(5, 5), seed=2),
        case(rand(4, 3), init=(3, 2), fill=False, seed=789, note="with the weights as __init__ makes them after manual_seed(789)"),
    ],
    returns=Float("seq d_out"),
    properties=[finite_when_loud()],
    misconceptions={
        **_wrong_v2,
        "always-a-bias": (
            _right_v2,
            "The layers have biases although qkv_bias is False: nn.Linear adds one unless it is told not to. Pass qkv_bias on as its bias.",
            lambda d_in, d_out, qkv_bias=False: _linear_parameters(d_in, d_out, True),
        ),
        "never-a-bias": (
            _right_v2,
            "The layers have no biases even when qkv_bias is True. Pass qkv_bias on as the layers' bias.",
            lambda d_in, d_out, qkv_bias=False: _linear_parameters(d_in, d_out, False),
        ),
    },
    hints=(
        "Only the three weights change: nn.Linear instead of nn.Parameter. A layer is called like a function.",
        "In __init__: three nn.Linear from d_in to d_out with bias=qkv_bias. In forward: self.W_key(x) instead of x @ self.W_key.",
        "The rest of forward stays as in v1: scores, division by the root of the keys' width, softmax along dim -1, @ values.",
    ),
)


class _V1(nn.Module):
    """The parameters of a SelfAttention_v1, for `copy_weights` to write to."""

    def __init__(self, d_in, d_out, generator):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Parameter(generator(d_in, d_out)))


class _V2(nn.Module):
    """The layers of a SelfAttention_v2, for `copy_weights` to read from."""

    def __init__(self, d_in, d_out, generator):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            layer = nn.Linear(1, 1, bias=False)
            layer.weight = nn.Parameter(generator(d_out, d_in))
            setattr(self, name, layer)


def _after_copying(result, v2, v1):
    """What `copy_weights` left behind: v1's matrices, v2's, and what v2 has after v1 is trained on."""
    names = ("W_query", "W_key", "W_value")
    left = {f"v1.{n}": getattr(v1, n).detach().clone() for n in names}
    left |= {f"v2.{n}.weight": getattr(v2, n).weight.detach().clone() for n in names}
    with torch.no_grad():
        for n in names:
            getattr(v1, n).add_(1.0)
    return left | {f"v2.{n}.weight after v1 has been trained on": getattr(v2, n).weight.detach().clone() for n in names}


def _copy(pairs=(("W_query", "W_query"), ("W_key", "W_key"), ("W_value", "W_value")), turn=lambda w: w.T.clone()):
    def answer(v2, v1):
        for source, target in pairs:
            setattr(v1, target, nn.Parameter(turn(getattr(v2, source).weight.detach())))
    return answer


def _copy_into_v2(v2, v1):
    for name in ("W_query", "W_key", "W_value"):
        getattr(v2, name).weight = nn.Parameter(getattr(v1, name).detach().T.clone())


def _laid_out_anew(v2, v1):
    for name in ("W_query", "W_key", "W_value"):
        weight = getattr(v2, name).weight.detach()
        setattr(v1, name, nn.Parameter(weight.reshape(weight.shape[1], weight.shape[0]).clone()))


def _copied_by_einsum(v2, v1):
    for name in ("W_query", "W_key", "W_value"):
        setattr(v1, name, nn.Parameter(torch.einsum("oi->io", getattr(v2, name).weight.detach()).contiguous()))


exercise(
    "copy_weights",
    oracle=_copied_by_einsum,
    view=_after_copying,
    cases=lambda rand: [case(_V2(i, o, rand), _V1(i, o, rand)) for i, o in ((3, 2), (4, 4), (2, 5))],
    misconceptions={
        "not-transposed": (
            _copy(turn=lambda w: w.clone()),
            "The matrices were copied as they stand. nn.Linear keeps its weight as [d_out, d_in] and multiplies by its transpose, "
            "so each has to be turned. On square matrices nothing complains, and the numbers are wrong.",
        ),
        "reshaped": (
            _laid_out_anew,
            "The shape fits and the numbers stand in the wrong places: reshape (or view) deals the same numbers out anew, row by row. "
            "A transpose swaps rows and columns.",
        ),
        "shares-memory": (
            _copy(turn=lambda w: w.T),
            "The numbers are right, but v1 and v2 now share the same memory: when v1 is trained, v2 changes with it. "
            "A transpose is only another view; make a copy of it.",
        ),
        "other-way-round": (
            _copy_into_v2,
            "The weights went from v1 into v2. The first argument, v2, is the one to copy from.",
        ),
        "query-and-key-swapped": (
            _copy((("W_query", "W_key"), ("W_key", "W_query"), ("W_value", "W_value"))),
            "Queries and keys have changed places: v2's W_query went into v1's W_key.",
        ),
        "nothing-copied": (
            lambda v2, v1: None,
            "v1 is as it was before. Assigning to a name inside the function (v1 = ..., or w = ...) binds that name only; "
            "what must change is v1's own attributes.",
        ),
        "only-the-query": (
            _copy((("W_query", "W_query"),)),
            "Only W_query was copied. Key and value still have v1's own numbers.",
        ),
        "value-forgotten": (
            _copy((("W_query", "W_query"), ("W_key", "W_key"))),
            "Query and key were copied, W_value was not. The weights then agree and the outputs still differ.",
        ),
    },
    hints=(
        "Print v2.W_query.weight.shape beside v1.W_query.shape.",
        "Turn each weight of v2, copy it, and make it v1's parameter of the same name.",
        "For each of the three names: v1's becomes an nn.Parameter of v2's weight, detached, transposed and cloned.",
    ),
)


def _scores(W_Q, W_K, x, scale=True):
    q, k = x @ W_Q, x @ W_K
    return torch.einsum("id,jd->ij", q, k) / (k.shape[-1] ** 0.5 if scale else 1.0)


def _weights(W_Q, W_K, x, mask=None):
    """torch's attention gives the weights themselves when the values are the identity."""
    return _sdpa(x @ W_Q, x @ W_K, torch.eye(len(x)), mask)


def _hide(scores, mask, value=-torch.inf):
    return scores if mask is None else scores.masked_fill(~mask, value)


def _square_head(rand, seq, d_model, d_head, mask=None):
    return case(rand(d_model, d_head, scale=d_model**-0.5), rand(d_model, d_head, scale=d_model**-0.5), rand(seq, d_model), **({} if mask is None else {"mask": mask}))


def _causal(seq):
    return torch.arange(seq)[:, None] >= torch.arange(seq)


def _zeroed(W_Q, W_K, x, mask=None):
    weights = F.softmax(_scores(W_Q, W_K, x), -1)
    return weights if mask is None else weights * mask


_MASK_WORDS = {
    "true-means-blocked":
        "Your mask works the other way round: where it is True, attention is blocked. In this course, as in torch's "
        "scaled_dot_product_attention, True means 'may attend'.",
    "mask-after-softmax":
        "The mask acts after the softmax: blocked weights become 0 and their share is lost, so the rows no longer sum to one. "
        "Hide the scores before the softmax, and the rest shares the whole unit.",
    "hidden-with-zero":
        "Blocked scores were set to 0. exp(0) is 1, so softmax still gives them weight, and more than to a negative score. "
        "Only a score of -inf gets weight 0.",
    "mask-ignored":
        "The mask changes nothing: positions that may not be seen still get weight.",
}

exercise(
    "compute_attn_weights",
    oracle=_weights,
    cases=lambda rand: [
        _square_head(rand, 2, 3, 4), _square_head(rand, 5, 6, 2), _square_head(rand, 4, 3, 3, mask=_causal(4)),
        _square_head(rand, 6, 4, 8, mask=rand.mask(6, 6)),
    ],
    returns=Float("seq seq"),
    properties=[rows_sum_to_one(), finite_when_loud()],
    misconceptions={
        "not-scaled": (
            lambda W_Q, W_K, x, mask=None: F.softmax(_hide(_scores(W_Q, W_K, x, scale=False), mask), -1),
            "The scores are not divided by the root of d_head. The text of many courses promises it and their code forgets it: "
            "the weights look plausible and are too sharp.",
        ),
        "root-of-d_model": (
            lambda W_Q, W_K, x, mask=None: F.softmax(_hide(_scores(W_Q, W_K, x, scale=False) / x.shape[-1] ** 0.5, mask), -1),
            "You divided by the root of d_model, the width of x. The dot product runs over the entries of one query and one key: "
            "divide by the root of d_head.",
        ),
        "multiplied": (
            lambda W_Q, W_K, x, mask=None: F.softmax(_hide(_scores(W_Q, W_K, x, scale=False) * W_K.shape[-1] ** 0.5, mask), -1),
            "The scores were multiplied by the root of d_head and should be divided by it. A dot product grows with that root as it is; now the softmax is sharper still, and picks one token.",
        ),
        "divided-by-d_head": (
            lambda W_Q, W_K, x, mask=None: F.softmax(_hide(_scores(W_Q, W_K, x, scale=False) / W_K.shape[-1], mask), -1),
            "You divided by d_head instead of by its root. The spread of a dot product grows with the root of the width.",
        ),
        "wrong-axis": (
            lambda W_Q, W_K, x, mask=None: F.softmax(_hide(_scores(W_Q, W_K, x), mask), -2),
            "Softmax ran down the columns. A row belongs to the position that asks, and it is the asker who shares out one unit.",
        ),
        "query-and-key-swapped": (
            lambda W_Q, W_K, x, mask=None: F.softmax(_hide(_scores(W_K, W_Q, x), mask), -1),
            "Queries and keys have changed places: entry (i, j) must be the query of position i with the key of position j.",
        ),
        "true-means-blocked": (
            lambda W_Q, W_K, x, mask=None: F.softmax(_hide(_scores(W_Q, W_K, x), None if mask is None else ~mask), -1),
            _MASK_WORDS["true-means-blocked"],
        ),
        "still-scores": (
            lambda W_Q, W_K, x, mask=None: _hide(_scores(W_Q, W_K, x), mask),
            "These are the scores, scaled and masked; the softmax is missing. Weights are shares: each row sums to one.",
        ),
        "mask-after-softmax": (_zeroed, _MASK_WORDS["mask-after-softmax"]),
        "hidden-with-zero": (
            lambda W_Q, W_K, x, mask=None: F.softmax(_hide(_scores(W_Q, W_K, x), mask, 0.0), -1),
            _MASK_WORDS["hidden-with-zero"],
        ),
        "mask-ignored": (lambda W_Q, W_K, x, mask=None: F.softmax(_scores(W_Q, W_K, x), -1), _MASK_WORDS["mask-ignored"]),
        "mask-added": (
            lambda W_Q, W_K, x, mask=None: F.softmax(_scores(W_Q, W_K, x) + (0 if mask is None else mask), -1),
            "You added the mask to the scores. True and False count as 1 and 0 there, so a blocked key loses one point and still gets weight; "
            "only a score of minus infinity gets none.",
        ),
    },
    equivalent={
        # With a finite -1e9 a row that sees anything at all comes out the same.
        "minus-a-billion": lambda W_Q, W_K, x, mask=None: F.softmax(_hide(_scores(W_Q, W_K, x), mask, -1e9), -1),
        "scale-shared-by-both": lambda W_Q, W_K, x, mask=None: F.softmax(
            _hide(_scores(W_Q / W_Q.shape[-1] ** 0.25, W_K / W_K.shape[-1] ** 0.25, x, scale=False), mask), -1
        ),
    },
    hints=(
        "Three steps: make queries and keys from x, compare every query with every key, turn each row into shares.",
        "The comparison is queries @ keys transposed, divided by the root of d_head. If there is a mask, the scores where it is False become -inf before softmax.",
        "With masked_fill, fill -inf where the mask is *not* True; then softmax along dim -1. d_head is W_K.shape[-1].",
    ),
)


def _head(weigh, mix=lambda weights, v, x: weights @ v, order=lambda out, weights: (out, weights)):
    """An answer to SingleHeadAttention from how it weighs and mixes."""
    def answer(p, x, mask=None, return_weights=False):
        q, k, v = (F.linear(x, p[f"{n}_layer.weight"], p.get(f"{n}_layer.bias")) for n in "qkv")
        weights = weigh(q, k, mask)
        out = mix(weights, v, x)
        return order(out, weights) if return_weights else out
    return answer


def _single_head(p, x, mask=None, return_weights=False):
    q, k, v = (F.linear(x, p[f"{n}_layer.weight"], p[f"{n}_layer.bias"]) for n in "qkv")
    eye = torch.eye(x.shape[-2]).expand(*x.shape[:-1], x.shape[-2])
    out = _sdpa(q, k, v, mask)
    return (out, _sdpa(q, k, eye, mask)) if return_weights else out


def _soft(scale=lambda k: k.shape[-1] ** -0.5, axis=-1, hide=_hide):
    return lambda q, k, mask: F.softmax(hide(q @ k.mT * scale(k), mask), axis)


_SINGLE = {f"{n}_layer": None for n in "qkv"}


def _biased(bias):
    return lambda d_model: linear(**{name: nn.Linear(d_model, d_model, bias=bias) for name in _SINGLE})


exercise(
    "SingleHeadAttention",
    initial=_biased(True),
    oracle=_single_head,
    cases=lambda rand: [
        case(rand(4, 3), init=(3,)), case(rand(2, 3, 5), init=(5,), seed=1),
        case(rand(5, 4), init=(4,), seed=2, mask=_causal(5), return_weights=True),
        case(rand(3, 4, 6), init=(6,), seed=3, mask=rand.mask(4, 4), return_weights=True),
    ],
    returns=(Float("seq d_model", name="output"), Float("seq seq", name="weights")),
    properties=[rows_sum_to_one(part=1), batch_independent(), remembers_nothing, finite_when_loud()],
    misconceptions={
        "not-scaled": (
            _head(_soft(lambda k: 1.0)),
            "The scores are not divided by the root of the keys' width. The wider the model, the more one token takes all the weight.",
        ),
        "multiplied": (
            _head(_soft(lambda k: k.shape[-1] ** 0.5)),
            "The scores were multiplied by the root of the keys' width and should be divided by it. A dot product grows with that root as it is; now the softmax is sharper still, and picks one token.",
        ),
        "query-and-key-swapped": (
            _head(lambda q, k, mask: _soft()(k, q, mask)),
            "Queries and keys have changed places. Row i holds what position i asks: its query, compared with every key.",
        ),
        "divided-by-the-width": (
            _head(_soft(lambda k: 1 / k.shape[-1])),
            "You divided by the width instead of by its root. The weights come out nearly equal, the more so the wider the model.",
        ),
        "wrong-axis": (
            _head(_soft(axis=-2)),
            "Softmax ran down the columns. Each row belongs to a position that asks, and has one unit to share out.",
        ),
        "weights-first": (
            _head(_soft(), order=lambda out, weights: (weights, out)),
            "You return (weights, output). A module of this course that can return its weights returns (output, weights).",
        ),
        "true-means-blocked": (
            _head(lambda q, k, mask: _soft()(q, k, None if mask is None else ~mask)), _MASK_WORDS["true-means-blocked"],
        ),
        "mask-ignored": (_head(lambda q, k, mask: _soft()(q, k, None)), _MASK_WORDS["mask-ignored"]),
        "mask-after-softmax": (
            _head(lambda q, k, mask: _soft()(q, k, None) * (1 if mask is None else mask)), _MASK_WORDS["mask-after-softmax"],
        ),
        "hidden-with-zero": (
            _head(_soft(hide=lambda s, mask: _hide(s, mask, 0.0))), _MASK_WORDS["hidden-with-zero"],
        ),
        "inputs-as-values": (
            _head(_soft(), mix=lambda weights, v, x: weights @ x),
            "The raw inputs are mixed, and v_layer is never used. What a token passes on is its value vector.",
        ),
        "no-bias": (
            _head(_soft()),
            "The layers have no bias. Here the three are plain nn.Linear layers, with the bias that a Linear has unless told otherwise.",
            _biased(False),
        ),
    },
    equivalent={
        "minus-a-billion": _head(_soft(hide=lambda s, mask: _hide(s, mask, -1e9))),
        "scaled-queries": _head(lambda q, k, mask: F.softmax(_hide((q / q.shape[-1] ** 0.5) @ k.mT, mask), -1)),
    },
    hints=(
        "compute_attn_weights is most of the forward pass. What changes is where queries and keys come from, and that values are mixed at the end.",
        "q_layer, k_layer and v_layer are three nn.Linear from d_model to d_model. For batches, transpose the keys' last two axes, not all of them.",
        "scores: queries @ keys.transpose(-2, -1), divided by the root of keys.shape[-1]; -inf where mask is False; softmax dim -1; @ values. Return (output, weights) if return_weights.",
    ),
)
