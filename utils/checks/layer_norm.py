"""Exercises of lesson 06: layer norm by hand and as a module, and the layer that adds what attention brought."""

import torch
from torch.nn import functional as F

from utils.checks._attention import (
    attention_weights,
    causal_mask,
    invert_mask,
    project_qkv,
    qkv_parameters,
    torch_attention,
)
from utils.feedback.exercise import Float, Hints, Wrong, case, exercise
from utils.feedback.properties import batch_independent, remembers_nothing, slopes_agree

_X = torch.tensor([2.0, 4.0, 6.0, 8.0])


def _zero_and_one(probe):
    """Mean 0 and variance 1."""
    yours = probe.trials[0].yours.value
    if not isinstance(yours, torch.Tensor) or yours.shape != _X.shape:
        return None
    mean, variance = float(yours.mean()), float(yours.var(correction=0))
    if abs(mean) < 1e-3 and abs(variance - 1) < 1e-3:
        return None
    return (
        f"Your four numbers have the mean {round(mean, 3) + 0.0:g} and the variance {round(variance, 3):g}. They should"
        " have mean 0 and variance 1."
    )


exercise(
    "normalised",
    oracle=torch.tensor([-1.3416, -0.4472, 0.4472, 1.3416]),
    atol=6e-5,  # worked out by hand: (x - 5) / sqrt(5), to four decimals
    returns=Float("d_model"),
    properties=[_zero_and_one],
    misconceptions={
        "not-centred": Wrong(
            lambda: _X / _X.var(correction=0).sqrt(),
            "The mean was not subtracted: your four numbers still have the mean 2.24. Layer norm moves the vector"
            " first, so that its mean is 0, and then scales it.",
        ),
        "not-scaled": Wrong(
            lambda: _X - _X.mean(),
            "The mean is gone, and the spread is as it was: these have the variance 5. Divide by its root.",
        ),
        "divided-by-variance": Wrong(
            lambda: (_X - _X.mean()) / _X.var(correction=0),
            "You divided by the variance, 5, instead of its root, 2.24. The variance is in squared units; after"
            " dividing by it, the new one is 1/5.",
        ),
        "unbiased": Wrong(
            lambda: (_X - _X.mean()) / _X.std(),
            "You divided by the root of 20/3: torch's std divides the squares by n - 1 unless told otherwise. Layer"
            " norm describes these four numbers and estimates nothing, so it divides by n: 20/4.",
        ),
        "mean-alone-divided": Wrong(
            lambda: _X - _X.mean() / _X.var(correction=0).sqrt(),
            "Only the mean was divided: a division comes before a subtraction unless brackets hold the subtraction"
            " together. So the numbers moved by 2.24 and kept their spread.",
        ),
        "mean-distance": Wrong(
            lambda: (_X - _X.mean()) / (_X - _X.mean()).abs().mean(),
            "You divided by 2, the mean distance from the mean. The standard deviation is the root of the mean"
            " square, 2.24.",
        ),
        "wrong-way-round": Wrong(
            lambda: (_X.mean() - _X) / _X.var(correction=0).sqrt(),
            "Mean and variance are right, and the signs are turned: the mean minus x instead of x minus the mean. What"
            " was above the mean has to stay above it.",
        ),
        "minus-one-to-one": Wrong(
            lambda: 2 * (_X - _X.min()) / (_X.max() - _X.min()) - 1,
            "You stretched the numbers to run from -1 to 1. Layer norm asks for mean 0 and variance 1, and lets the"
            " ends fall where they fall.",
        ),
        "min-max": Wrong(
            lambda: (_X - _X.min()) / (_X.max() - _X.min()),
            "You stretched the numbers to run from 0 to 1. Layer norm asks for mean 0 and variance 1, and lets the"
            " ends fall where they fall.",
        ),
        "unit-length": Wrong(
            lambda: (_X - _X.mean()) / (_X - _X.mean()).norm(),
            "Your vector has length 1. With four numbers of variance 1 the squares sum to 4, so the length is 2:"
            " divide by the root of the mean square.",
        ),
    },
    hints=Hints(
        "The mean is 5. Write down how far each number is from it, then the mean of the squares of these distances.",
        "The distances are -3, -1, 1, 3; the mean of their squares is 5. What do you divide by, so that this mean"
        " becomes 1?",
        "Subtract x.mean(), then divide by the root of x.var(correction=0).",
    ),
)


def _parameters(d_model, eps=1e-6):
    return {"w": torch.ones(d_model), "b": torch.zeros(d_model)}


def _norm(x, w, b, eps, centre=True, correction=0, dim=-1, inside=True):
    """Layer norm with its steps to be varied."""
    mean = x.mean(dim, keepdim=True) if centre else 0.0
    variance = x.var(dim, keepdim=True, correction=correction) if centre else x.pow(2).mean(dim, keepdim=True)
    size = (variance + eps).sqrt() if inside else variance.sqrt() + eps
    return (x - mean) / size * w + b


def _mean_and_variance(probe):
    """As __init__ leaves it, a vector of ordinary size comes out with mean 0 and variance 1."""
    for trial in probe.trials:
        if trial.case.fill or not isinstance(trial.yours.value, torch.Tensor):
            continue
        rows = trial.yours.value.detach().flatten(0, -2)
        for i, row in enumerate(rows):
            mean, variance = float(row.mean()), float(row.var(correction=0))
            if not (abs(mean) < 1e-3 and abs(variance - 1) < 1e-3):
                return (
                    f"As __init__ leaves it, the layer gives row {i} the mean {round(mean, 3) + 0.0:g} and the variance"
                    f" {round(variance, 3):g}. With w = 1 and b = 0 every vector has mean 0 and variance 1 afterwards."
                )
    return None


def _far_from_zero(probe):
    """The spread is that of the differences from the mean: a difference of two large numbers would lose it."""
    x = torch.tensor([[3000.0, 3001.0, 3002.0, 3005.0]])
    asked = case(x, init=(4,), fill=False)
    seen = probe.run(asked)
    wanted = F.layer_norm(x.double(), (4,), eps=1e-6).float()
    if seen.failure is None and not torch.allclose(seen.value, wanted, atol=0.02):
        return (
            f"For {x[0].tolist()} yours is {[round(v, 2) for v in seen.value[0].tolist()]}, and"
            f" {[round(v, 2) for v in wanted[0].tolist()]} is right. Is the variance made as the mean of the squares"
            " minus the square of the mean? Far from zero float32 cannot hold the difference of two such numbers."
        )
    return None


def _own_default(d_model, eps=1e-5):
    """The constructor with torch's eps where none is given."""
    return _parameters(d_model)


def _with_eps(forward):
    """A forward pass that knows the eps which its module was built with."""
    return lambda p, residual: forward(residual, p["w"], p["b"], p.init_args["eps"])


def _tiny(rand, *shape):
    """Numbers whose variance is about 1e-4: there eps shows."""
    return rand(*shape) * 0.01


exercise(
    "LayerNorm",
    initial_parameters=_parameters,
    oracle=_with_eps(lambda x, w, b, eps: F.layer_norm(x, x.shape[-1:], w, b, eps=eps)),
    cases=lambda rand: [
        case(rand(5, 4) * 3 + 2, init=(4,)),
        case(rand(2, 3, 6) - 1, init=(6,), seed=1),
        case(rand(7), init=(7,), seed=2),
        case(rand(2, 20) * 2, init=(20,), seed=6),
        case(rand(2, 1, 1, 5), init=(5,), seed=8),
        case(rand(2, 3, 4), init=(4,), seed=7, train=True, note="in training"),
        case(
            _tiny(rand, 4, 5),
            init={"d_model": 5, "eps": 0.01},
            seed=3,
            note="with numbers of tiny variance and a large eps",
        ),
        case(_tiny(rand, 2, 3, 4), init=(4, 1e-3), seed=4, note="with numbers of tiny variance and a large eps"),
        case(rand(3, 8) * 2, init=(8,), fill=False, note="as __init__ leaves it"),
        case(rand(4, 6) * 1e-3, init=(6,), seed=5, note="with numbers of tiny variance and the eps that nobody chose"),
    ],
    returns=Float(),
    properties=[_mean_and_variance, batch_independent(), remembers_nothing, slopes_agree, _far_from_zero],
    misconceptions={
        "unbiased": Wrong(
            _with_eps(lambda x, w, b, eps: _norm(x, w, b, eps, correction=1)),
            "Your variance divides by d_model - 1: torch's var does so unless told otherwise. Layer norm describes the"
            " numbers that are there and estimates nothing; the smaller d_model, the more it matters.",
        ),
        "over-everything": Wrong(
            _with_eps(lambda x, w, b, eps: F.layer_norm(x, x.shape, None, None, eps=eps) * w + b),
            "One mean and one variance were taken over the whole tensor. Each token's vector is normalised by itself:"
            " along the last axis.",
        ),
        "over-the-tokens": Wrong(
            _with_eps(lambda x, w, b, eps: _norm(x, w, b, eps, dim=0)),
            "Mean and variance run down the first axis, over tokens or texts. That is batch norm's idea, and lets"
            " tokens leak into each other; here each vector is normalised by itself, along the last axis.",
        ),
        "along-axis-1": Wrong(
            _with_eps(lambda x, w, b, eps: _norm(x, w, b, eps, dim=1)),
            "Mean and variance run along dim 1, which is the last axis of a table only: in a batch of texts it counts"
            " the tokens. Each vector is normalised by itself, along the last axis, whatever stands in front.",
        ),
        "not-centred": Wrong(
            _with_eps(lambda x, w, b, eps: _norm(x, w, b, eps, centre=False)),
            "The mean is not subtracted: you divide by the root mean square alone. That is RMSNorm, which some newer"
            " models use, and which leaves a shift of the input in.",
        ),
        "eps-outside-the-root": Wrong(
            _with_eps(lambda x, w, b, eps: _norm(x, w, b, eps, inside=False)),
            "eps was added after the root. It belongs to the variance, inside the root: there it weighs little unless"
            " the variance itself is tiny.",
        ),
        "unbiased-deviation-plus-eps": Wrong(
            _with_eps(lambda x, w, b, eps: _norm(x, w, b, eps, correction=1, inside=False)),
            "You divide by torch's std plus eps. That std divides by d_model - 1 unless told otherwise, where layer"
            " norm divides by d_model; and eps belongs to the variance, inside the root.",
        ),
        "eps-as-a-floor": Wrong(
            _with_eps(
                lambda x, w, b, eps: (
                    (x - x.mean(-1, keepdim=True)) / x.var(-1, keepdim=True, correction=0).clamp_min(eps).sqrt() * w + b
                )
            ),
            "You took eps as the smallest value that the variance may have. It is added to every variance, so that"
            " there is no kink where the two are equal.",
        ),
        "eps-forgotten": Wrong(
            _with_eps(lambda x, w, b, eps: _norm(x, w, b, 0.0)),
            "eps is not used. A vector of equal numbers has variance 0, and 0 / 0 is nan.",
        ),
        "eps-fixed": Wrong(
            _with_eps(lambda x, w, b, eps: _norm(x, w, b, 1e-6)),
            "eps is 1e-6 whatever is passed. Keep the argument, and use that.",
        ),
        "eps-of-torch": Wrong(
            _with_eps(lambda x, w, b, eps: _norm(x, w, b, 1e-5)),
            "eps is 1e-5 whatever is passed. That is the default of torch's own layer norm; use the argument.",
        ),
        "eps-of-torch-by-default": Wrong(
            _with_eps(lambda x, w, b, eps: _norm(x, w, b, eps)),
            "Where no eps is passed, yours is 1e-5, as in torch. Here it is 1e-6: read the first line of __init__.",
            initial_parameters=_own_default,
        ),
        "divided-by-variance": Wrong(
            _with_eps(
                lambda x, w, b, eps: (
                    (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + eps) * w + b
                )
            ),
            "You divided by the variance instead of by its root, so large inputs come out small and small ones large.",
        ),
        "weight-and-bias-unused": Wrong(
            _with_eps(lambda x, w, b, eps: _norm(x, torch.ones_like(w), torch.zeros_like(b), eps)),
            "The vector is normalised and returned as it is. w and b come after that: they let the model choose a size"
            " and a place for each entry.",
        ),
        "bias-unused": Wrong(
            _with_eps(lambda x, w, b, eps: _norm(x, w, torch.zeros_like(b), eps)),
            "b is never added. Without it every entry's mean stays 0 when w has done its work.",
        ),
        "bias-before-weight": Wrong(
            _with_eps(lambda x, w, b, eps: (_norm(x, torch.ones_like(w), torch.zeros_like(b), eps) + b) * w),
            "b was added before w multiplied, so the shift is scaled too. First times w, then plus b.",
        ),
        "weight-starts-at-zero": Wrong(
            _with_eps(lambda x, w, b, eps: F.layer_norm(x, x.shape[-1:], w, b, eps=eps)),
            "w starts at 0, so at first the layer answers nothing but b. It starts at 1, and b at 0: in the beginning"
            " the norm is plain.",
            initial_parameters=lambda d_model, eps=1e-6: {"w": torch.zeros(d_model), "b": torch.zeros(d_model)},
        ),
        "not-parameters": Wrong(
            lambda p, x: F.layer_norm(x, x.shape[-1:], eps=p.init_args["eps"]),
            "w and b are not parameters of the module: training would never change them. A tensor becomes one through"
            " nn.Parameter.",
            initial_parameters=lambda d_model, eps=1e-6: {},
        ),
    },
    hints=Hints(
        "You did it for one vector. Now the mean and the variance need an axis, so that each token is treated by"
        " itself.",
        "Along dim -1, with keepdim so that they line up: subtract the mean, divide by the root of variance plus eps."
        " Then w and b.",
        "__init__: self.eps, and w of ones and b of zeros, each an nn.Parameter of d_model numbers. forward: mean and"
        " var(correction=0) along -1, keepdim; the root of var + self.eps; times self.w, plus self.b.",
    ),
)


_LAYERS = tuple(f"self_attn.{n}_layer" for n in "qkv")


def _layer(embed_dim):
    made = qkv_parameters(embed_dim, embed_dim, bias=True, names=_LAYERS)
    return made | {"norm1.w": torch.ones(embed_dim), "norm1.b": torch.zeros(embed_dim)}


def _attend(p, x, mask=None):
    return torch_attention(*project_qkv(p, x, _LAYERS), mask)


def _attend_by_hand(p, x, mask):
    """The same, with nan where a position sees nothing, as a softmax over hidden scores has it."""
    q, k, v = project_qkv(p, x, _LAYERS)
    return attention_weights(q, k, mask) @ v


def _norm1(p, x, eps=1e-6):
    return F.layer_norm(x, x.shape[-1:], p["norm1.w"], p["norm1.b"], eps=eps)


def _new_norm(x):
    """A norm that nobody trains."""
    return F.layer_norm(x, x.shape[-1:], eps=1e-6)


_TURNED_ROUND = (
    "The mask is turned round: each position sees what is hidden from it, and not what it may see. True means may"
    " attend, for this layer as for the one inside; hand the mask on as it comes."
)


def _with_torchs_norm(embed_dim):
    made = _layer(embed_dim)
    return {
        name.replace(".w", ".weight").replace(".b", ".bias") if "norm1" in name else name: v for name, v in made.items()
    }


def _sees(read):
    """The layer with its mask read in another way."""
    return lambda p, src, mask=None: src + _norm1(p, _attend(p, src, None if mask is None else read(mask)))


def _causal_without_a_mask(p, src, mask=None):
    return src + _norm1(p, _attend(p, src, causal_mask(src.shape[-2]) if mask is None else mask))


exercise(
    "SelfAttentionLayer",
    initial_parameters=_layer,
    oracle=_sees(lambda mask: mask),
    cases=lambda rand: [
        case(rand(5, 4), init=(4,)),
        case(rand(2, 3, 6), init=(6,), seed=1),
        case(rand(3, 5, 4), mask=rand.mask(5, 5), init=(4,), seed=3),
        case(rand(4, 8), causal_mask(4), init=(8,), seed=4),
        case(rand(2, 1, 3, 4), init=(4,), seed=5),
        case(rand(1, 1, 6), init=(6,), seed=6, note="of one position"),
        # with this seed v_layer's two biases, of which attention is made here, lie 0.03 apart: there eps shows
        case(rand(3, 2) * 1e-3, init=(2,), seed=3372, note="where attention brings two numbers that hardly differ"),
    ],
    returns=Float("... seq embed_dim"),
    properties=[batch_independent(), remembers_nothing, slopes_agree],
    misconceptions={
        "post-norm": Wrong(
            lambda p, src, mask=None: _norm1(p, src + _attend(p, src, mask)),
            "The norm runs over the sum, so the stream itself is normalised in every layer: that is post-norm, as in"
            " the first transformers. Here the norm stands on what attention brings, and the stream is only added to.",
        ),
        "pre-norm": Wrong(
            lambda p, src, mask=None: src + _attend(p, _norm1(p, src), mask),
            "The norm stands before attention: that is pre-norm, as in GPT-2. It is a good design and another one;"
            " this layer norms what attention brings.",
        ),
        "no-residual": Wrong(
            lambda p, src, mask=None: _norm1(p, _attend(p, src, mask)),
            "src is not added: the layer replaces the stream by what attention brings. What the token itself was is"
            " lost, unless it attends to itself.",
        ),
        "no-norm": Wrong(
            lambda p, src, mask=None: src + _attend(p, src, mask),
            "norm1 is not used. What attention brings can be of any size, and drowns the stream or is drowned by it.",
        ),
        "mask-forgotten": Wrong(
            _sees(lambda mask: None),
            "The mask is not handed on to attention, so every position sees all others, whatever mask says.",
        ),
        "causal-without-a-mask": Wrong(
            _causal_without_a_mask,
            "Without a mask the future is hidden all the same. None means that every position may look at every other;"
            " hand the mask on as it comes.",
        ),
        "true-means-blocked": Wrong(
            _sees(lambda mask: ~mask | torch.eye(len(mask), dtype=torch.bool)),
            "The mask is turned round on its way. True means may attend, for this layer as for the one inside.",
        ),
        "sees-what-is-hidden": Wrong(
            lambda p, src, mask=None: src + _norm1(p, _attend_by_hand(p, src, invert_mask(mask))),
            _TURNED_ROUND,
        ),
        "sees-what-is-hidden-and-0": Wrong(
            _sees(invert_mask), _TURNED_ROUND
        ),  # torch's attention brings 0 instead of nan
        "residual-of-the-normed": Wrong(
            lambda p, src, mask=None: _norm1(p, src) + _attend(p, _norm1(p, src), mask),
            "What is added is the normed src. The stream has to pass through as it is, or later layers cannot read"
            " what earlier ones wrote.",
        ),
        "both-normed": Wrong(
            lambda p, src, mask=None: _norm1(p, src) + _norm1(p, _attend(p, src, mask)),
            "src is normed before it is added, so every layer rescales all that earlier ones wrote. The norm stands on"
            " what attention brings, and on nothing else.",
        ),
        "normed-first": Wrong(
            lambda p, src, mask=None: _norm1(p, src) + _norm1(p, _attend(p, _norm1(p, src), mask)),
            "src is normed first, and all that follows, the sum too, works on the normed one. The stream has to pass"
            " through as it is: attention looks at src, and src is what is added.",
        ),
        "norm-on-the-stream": Wrong(
            lambda p, src, mask=None: _norm1(p, src) + _attend(p, src, mask),
            "The norm stands on src, and what attention brings is added as it is. It is the other way round: src stays"
            " as it is, and what attention brings is normed.",
        ),
        "normed-before-and-after": Wrong(
            lambda p, src, mask=None: src + _norm1(p, _attend(p, _norm1(p, src), mask)),
            "norm1 is used twice, before attention and after it. Attention looks at src as it is; only what it brings"
            " is normed.",
        ),
        "torchs-norm": Wrong(
            lambda p, src, mask=None: (
                src + F.layer_norm(_attend(p, src, mask), src.shape[-1:], p["norm1.weight"], p["norm1.bias"])
            ),
            "norm1 is torch's own layer norm, which names its parameters differently and has another eps. Use the"
            " LayerNorm that you wrote.",
            initial_parameters=_with_torchs_norm,
        ),
        "sum-normed-and-added": Wrong(
            lambda p, src, mask=None: src + _norm1(p, src + _attend(p, src, mask)),
            "src is added twice, once inside the norm. The norm stands on what attention brings alone, and src is added"
            " to that.",
        ),
        "multiplied": Wrong(
            lambda p, src, mask=None: src * _norm1(p, _attend(p, src, mask)),
            "src was multiplied with what the norm gives. It is added: each layer puts something on top of what is"
            " there.",
        ),
        "always-causal": Wrong(
            lambda p, src, mask=None: src + _norm1(p, _attend(p, src, causal_mask(src.shape[-2]))),
            "The future is hidden, whatever mask says. Who may attend to whom is told by mask, and without one"
            " everybody sees everybody.",
        ),
        "another-norm": Wrong(
            lambda p, src, mask=None: src + _new_norm(_attend(p, src, mask)),
            "What attention brings is normed, but not by norm1, whose w and b are not used. A norm that is made anew in"
            " forward starts at 1 and 0 each time, and never learns.",
        ),
        "eps-of-torch": Wrong(
            lambda p, src, mask=None: src + _norm1(p, _attend(p, src, mask), eps=1e-5),
            "The norm works with an eps of 1e-5, which torch's own takes unless told otherwise. norm1 has another:"
            " call norm1 itself.",
        ),
        "attends-to-its-own-output": Wrong(
            lambda p, src, mask=None: src + _norm1(p, _attend(p, _attend(p, src, mask), mask)),
            "Attention ran twice, the second time over its own output. Once is enough: one layer, one look.",
        ),
    },
    hints=Hints(
        "Two parts, and three steps: look around, norm what you found, add it to what was there.",
        "self_attn is a SingleHeadAttention of embed_dim, norm1 your LayerNorm of embed_dim. Only what attention"
        " returns goes through the norm.",
        "forward: self.self_attn with src and the mask; self.norm1 of that; src plus it.",
    ),
)
