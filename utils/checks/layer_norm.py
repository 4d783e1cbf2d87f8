"""Define the exercises of lesson 06: layer norm by hand and as a module, and attention with a residual."""

import torch
from torch.nn import functional as F

from utils.checks._attention import (
    attention_values,
    attention_weights,
    causal_mask,
    invert_mask,
    project_qkv,
    qkv_parameters,
    torch_attention,
)
from utils.checks._wrong_answers import with_steps, wrong_answer
from utils.exercises.exercise import Float, Hints, Wrong, case, exercise
from utils.feedback.properties import batch_independent, draws_nothing

_X = torch.tensor([2.0, 4.0, 6.0, 8.0])


def _zero_and_one(probe):
    """Check that the four numbers have mean 0 and variance 1."""
    yours = probe.trials[0].yours.value
    if not isinstance(yours, torch.Tensor) or yours.shape != _X.shape:
        return None
    mean, variance = float(yours.mean()), float(yours.var(correction=0))
    if abs(mean) < 1e-3 and abs(variance - 1) < 1e-3:
        return None
    return (
        f"Your four numbers have a mean of {round(mean, 3) + 0.0:g} and a variance of {round(variance, 3):g}. They"
        " should have mean 0 and variance 1."
    )


exercise(
    "normalised",
    oracle=torch.tensor([-1.3416, -0.4472, 0.4472, 1.3416]),
    milestones=lambda: {
        "the numbers minus their mean": (centred := (x := torch.tensor(_X.tolist())) - x.mean()),
        "the vector of mean 0 and variance 1": centred / x.var(correction=0).sqrt(),
    },
    atol=6e-5,  # the expected values are (x - 5) / sqrt(5), rounded to four decimals
    returns=Float("d_model"),
    properties=[_zero_and_one],
    misconceptions={
        "not-centred": Wrong(
            lambda: _X / _X.var(correction=0).sqrt(),
            "You did not subtract the mean: your four numbers still have a mean of 2.24. Layer norm first shifts the"
            " vector so that its mean is 0, and then scales it.",
        ),
        "not-scaled": Wrong(
            lambda: _X - _X.mean(),
            "You subtracted the mean but did not scale: your numbers have a variance of 5. Divide by the square root of"
            " the variance.",
        ),
        "divided-by-variance": Wrong(
            lambda: (_X - _X.mean()) / _X.var(correction=0),
            "You divided by the variance, 5, instead of its square root, 2.24. The variance is in squared units, so"
            " after this division the new variance is 1/5.",
        ),
        "unbiased": Wrong(
            lambda: (_X - _X.mean()) / _X.std(),
            "You divided by the square root of 20/3, because torch's std divides the sum of the squares by n - 1 by"
            " default. Layer norm needs the variance of exactly these four numbers, not an estimate for a larger"
            " population, so divide the sum by n: 20/4.",
        ),
        "mean-alone-divided": Wrong(
            lambda: _X - _X.mean() / _X.var(correction=0).sqrt(),
            "Python divides before it subtracts, so you divided only the mean: you subtracted 2.24 from each number,"
            " and the spread of the numbers did not change. Put the subtraction in brackets.",
        ),
        "mean-distance": Wrong(
            lambda: (_X - _X.mean()) / (_X - _X.mean()).abs().mean(),
            "You divided by 2, the mean distance from the mean. Divide by the standard deviation instead, which is the"
            " square root of the mean squared distance: 2.24.",
        ),
        "wrong-way-round": Wrong(
            lambda: (_X.mean() - _X) / _X.var(correction=0).sqrt(),
            "Mean and variance are right, but the signs are inverted: you computed the mean minus x instead of x minus"
            " the mean. A number above the mean should stay above it.",
        ),
        "minus-one-to-one": Wrong(
            lambda: 2 * (_X - _X.min()) / (_X.max() - _X.min()) - 1,
            "You rescaled the numbers to the range from -1 to 1. Layer norm should give mean 0 and variance 1 instead;"
            " the smallest and the largest number may have any value.",
        ),
        "min-max": Wrong(
            lambda: (_X - _X.min()) / (_X.max() - _X.min()),
            "You rescaled the numbers to the range from 0 to 1. Layer norm should give mean 0 and variance 1 instead;"
            " the smallest and the largest number may have any value.",
        ),
        "unit-length": Wrong(
            lambda: (_X - _X.mean()) / (_X - _X.mean()).norm(),
            "Your vector has length 1. If four numbers have mean 0 and variance 1, their squares sum to 4 and the"
            " length is 2: divide by the standard deviation.",
        ),
    },
    hints=Hints(
        "The mean is 5. Write down each number's distance from the mean, then compute the mean of the squared"
        " distances.",
        "The distances are -3, -1, 1, 3, and the mean of their squares is 5. By which number must you divide the"
        " distances so that this mean becomes 1?",
        "Subtract x.mean(), then divide by the square root of x.var(correction=0).",
    ),
)


def _parameters(d_model, eps=1e-6):
    return {"w": torch.ones(d_model), "b": torch.zeros(d_model)}


@with_steps
def _norm(
    p,
    x,
    *,
    centre=True,
    correction=0,
    dim=-1,
    change_eps=lambda eps: eps,
    divisor=lambda variance, eps: (variance + eps).sqrt(),
    use=lambda normed, w, b: normed * w + b,
):
    eps = change_eps(p.init_args["eps"])
    mean = x.mean(dim, keepdim=True) if centre else 0.0
    variance = x.var(dim, keepdim=True, correction=correction) if centre else x.pow(2).mean(dim, keepdim=True)
    return use((x - mean) / divisor(variance, eps), p["w"], p["b"])


def _mean_and_variance(probe):
    """Check that with the initial w and b, every vector gets mean 0 and variance 1."""
    for trial in probe.trials:
        if trial.case.fill or not isinstance(trial.yours.value, torch.Tensor):
            continue
        rows = trial.yours.value.detach().flatten(0, -2)
        for i, row in enumerate(rows):
            mean, variance = float(row.mean()), float(row.var(correction=0))
            if not (abs(mean) < 1e-3 and abs(variance - 1) < 1e-3):
                return (
                    f"With its initial w and b, your layer gives row {i} a mean of {round(mean, 3) + 0.0:g} and a"
                    f" variance of {round(variance, 3):g}. With w = 1 and b = 0, every vector should get mean 0 and"
                    " variance 1."
                )
    return None


def _far_from_zero(probe):
    """Check numbers far from zero, for which the formula mean(x²) - mean(x)² is too inaccurate."""
    x = torch.tensor([[3000.0, 3001.0, 3002.0, 3005.0]])
    observation = probe.run(case(x, init=(4,), fill=False))
    expected = F.layer_norm(x.double(), (4,), eps=1e-6).float()
    if observation.failure is None and not torch.allclose(observation.value, expected, atol=0.02):
        return (
            f"For {x[0].tolist()} your layer returns {[round(v, 2) for v in observation.value[0].tolist()]} instead of"
            f" {[round(v, 2) for v in expected[0].tolist()]}. Do you compute the variance as the mean of the squares"
            " minus the square of the mean? Far from zero, both terms are large, and float32 is not precise enough"
            " for their difference."
        )
    return None


def _torch_norm(p, residual):
    return F.layer_norm(residual, residual.shape[-1:], p["w"], p["b"], eps=p.init_args["eps"])


def _norm_values(p, x):
    """Compute the milestones of a layer norm. The variances plus eps are a milestone only if a variance is small."""
    mean, eps = x.mean(-1, keepdim=True), p.init_args["eps"]
    centred = x - mean
    squares = centred**2
    variance = squares.mean(-1, keepdim=True)
    root = (variance + eps).sqrt()
    normalised = centred / root
    return {
        "the sums?": x.sum(-1),
        "the means": mean,
        "the squares of the inputs?": x**2,
        "the means of the squared inputs?": (x**2).mean(-1),
        "the squares of the means?": mean**2,
        "the differences from the means": centred,
        "the squares of the differences?": squares,
        "the sums of the squared differences?": squares.sum(-1),
        "the standard deviations?": variance.sqrt(),
        "the variances": variance,
        **({"the variances plus eps": variance + eps} if variance.min() < 0.01 else {}),
        "the square roots of the variances plus eps?": root,
        "1 divided by these square roots?": 1 / root,
        "the normalised vectors": normalised,
        "the normalised vectors times w": normalised * p["w"],
    }


def _tiny(rand, *shape):
    """Sample numbers with a variance of about 1e-4, which is so small that eps changes the result."""
    return rand(*shape) * 0.01


exercise(
    "LayerNorm",
    initial_parameters=_parameters,
    oracle=_torch_norm,
    milestones=_norm_values,
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
            note="with a large eps and inputs of tiny variance",
        ),
        case(_tiny(rand, 2, 3, 4), init=(4, 1e-3), seed=4, note="with a large eps and inputs of tiny variance"),
        case(rand(3, 8) * 2, init=(8,), fill=False, note="with the initial w and b"),
        case(rand(4, 6) * 1e-3, init=(6,), seed=5, note="with the default eps and inputs of tiny variance"),
    ],
    returns=Float(),
    properties=[_mean_and_variance, batch_independent(), _far_from_zero],
    misconceptions={
        "unbiased": _norm.replace(correction=1).wrong(
            "Your variance divides by d_model - 1, as torch's var does by default. Layer norm needs the variance of"
            " exactly these numbers, not an estimate for a larger population, so divide by d_model."
        ),
        "over-everything": Wrong(
            lambda p, x: F.layer_norm(x, x.shape, eps=p.init_args["eps"]) * p["w"] + p["b"],
            "You computed one mean and one variance over the whole tensor. Normalise each token's vector"
            " independently, along the last axis.",
        ),
        "over-the-tokens": _norm.replace(dim=0).wrong(
            "Your mean and variance run along the first axis, over tokens or texts, so the tokens influence each other,"
            " as in batch norm. Normalise each vector independently, along the last axis."
        ),
        "along-axis-1": _norm.replace(dim=1).wrong(
            "Your mean and variance run along dim 1, which is the last axis of a single table but the token axis in a"
            " batch of texts. Normalise each vector along the last axis, however many axes come before it."
        ),
        "not-centred": _norm.replace(centre=False).wrong(
            "You did not subtract the mean: you divide only by the root mean square. This is RMSNorm, which some newer"
            " models use, but it does not remove a shift of the input."
        ),
        "eps-outside-the-root": _norm.replace(divisor=lambda variance, eps: variance.sqrt() + eps).wrong(
            "You added eps to the square root of the variance. Add eps to the variance itself, before you take the"
            " square root."
        ),
        "unbiased-deviation-plus-eps": Wrong(
            _norm.replace(correction=1, divisor=lambda variance, eps: variance.sqrt() + eps),
            "You divide by torch's std plus eps, but std divides by d_model - 1 by default, and layer norm divides by"
            " d_model. Also, add eps to the variance, before you take the square root.",
        ),
        "eps-as-a-floor": _norm.replace(divisor=lambda variance, eps: variance.clamp_min(eps).sqrt()).wrong(
            "You used eps as the smallest value that the variance may have. Add eps to every variance instead, so that"
            " the result has no kink where the variance equals eps."
        ),
        "eps-forgotten": _norm.replace(change_eps=lambda eps: 0.0).wrong(
            "eps has no effect on your result. Add eps to the variance: a vector of equal numbers has variance 0, and"
            " 0 / 0 is nan."
        ),
        "eps-fixed": _norm.replace(change_eps=lambda eps: 1e-6).wrong(
            "Your eps is always 1e-6. Store the argument and use it."
        ),
        "eps-of-torch": _norm.replace(change_eps=lambda eps: 1e-5).wrong(
            "Your eps is always 1e-5, the default of torch's own layer norm. Use the argument."
        ),
        "eps-of-torch-by-default": Wrong(
            _norm,
            "If no eps is passed, your eps is 1e-5, as in torch. Here the default is 1e-6: read the first line of"
            " __init__.",
            initial_parameters=lambda d_model, eps=1e-5: _parameters(d_model),
        ),
        "divided-by-variance": _norm.replace(divisor=torch.add).wrong(
            "You divided by the variance instead of its square root, so large inputs give small outputs, and small"
            " inputs give large outputs."
        ),
        "weight-and-bias-unused": _norm.replace(use=lambda normed, w, b: normed).wrong(
            "You return the normalised vector without using w and b. Apply them after the normalisation: they let the"
            " model learn a scale and an offset for each entry."
        ),
        "bias-unused": _norm.replace(use=lambda normed, w, b: normed * w).wrong(
            "You never add b. Without b the model cannot shift an entry: for example, a vector of equal numbers always"
            " becomes 0."
        ),
        "bias-before-weight": _norm.replace(use=lambda normed, w, b: (normed + b) * w).wrong(
            "You added b before you multiplied by w, so w scales the shift too. First multiply by w, then add b."
        ),
        "weight-starts-at-zero": Wrong(
            _torch_norm,
            "Your w starts at 0, so at first the layer returns only b. Start w at 1 and b at 0, so that at first the"
            " layer only normalises.",
            initial_parameters=lambda d_model, eps=1e-6: {"w": torch.zeros(d_model), "b": torch.zeros(d_model)},
        ),
        "not-parameters": Wrong(
            lambda p, x: F.layer_norm(x, x.shape[-1:], eps=p.init_args["eps"]),
            "Your module has no parameters, so training would change nothing in it. w and b should be parameters; a"
            " tensor becomes a parameter through nn.Parameter.",
            initial_parameters=lambda d_model, eps=1e-6: {},
        ),
    },
    hints=Hints(
        "You have normalised one vector. Now the mean and the variance need an axis, so that each token is normalised"
        " independently.",
        "Compute the mean and the variance along dim -1, with keepdim so that the shapes fit. Subtract the mean, divide"
        " by the square root of (variance + eps), then apply w and b.",
        "In __init__, store eps and create two nn.Parameter of d_model numbers: w, all ones, and b, all zeros. In"
        " forward, compute mean and var(correction=0) along -1, with keepdim; subtract the mean, divide by the square"
        " root of (var + self.eps), multiply by self.w and add self.b.",
    ),
)


_LAYERS = tuple(f"self_attn.{n}_layer" for n in "qkv")


def _layer_parameters(embed_dim):
    attention = qkv_parameters(embed_dim, embed_dim, bias=True, names=_LAYERS)
    return attention | {"norm1.w": torch.ones(embed_dim), "norm1.b": torch.zeros(embed_dim)}


def _attend(p, x, mask=None):
    return torch_attention(*project_qkv(p, x, _LAYERS), mask)


def _attend_by_hand(p, x, mask):
    """Compute `_attend` with a plain softmax, so that a fully masked row becomes nan."""
    q, k, v = project_qkv(p, x, _LAYERS)
    return attention_weights(q, k, mask) @ v


def _norm1(p, x, eps=1e-6):
    return F.layer_norm(x, x.shape[-1:], p["norm1.w"], p["norm1.b"], eps=eps)


def _norm_without_parameters(x):
    """Apply layer norm without trainable parameters."""
    return F.layer_norm(x, x.shape[-1:], eps=1e-6)


_INVERTED_MASK = (
    "Your mask is inverted: each position sees only the positions that should be hidden from it. True means 'may"
    " attend', both for this layer and for the attention inside it, so pass the mask on unchanged."
)


def _parameters_of_torchs_norm(embed_dim):
    return {
        name.replace(".w", ".weight").replace(".b", ".bias") if "norm1" in name else name: value
        for name, value in _layer_parameters(embed_dim).items()
    }


def _transform_mask(transform):
    """Return the layer with `transform` applied to its mask."""
    return lambda p, src, mask=None: src + _norm1(p, _attend(p, src, None if mask is None else transform(mask)))


@wrong_answer
def _causal_without_a_mask(p, src, mask=None):
    """You hide the future even without a mask. None means that every position may look at every other position; pass
    the mask on unchanged.
    """
    return src + _norm1(p, _attend(p, src, causal_mask(src.shape[-2]) if mask is None else mask))


def _layer_values(p, src, mask=None):
    values = attention_values(*project_qkv(p, src, _LAYERS), mask)
    return {**values, "the normalised context vectors": _norm1(p, values["the context vectors"])}


_NO_DROPOUT = draws_nothing(
    "forward samples random numbers: does it apply dropout? This layer should only attend, normalise and add, in"
    " training mode too."
)


exercise(
    "SelfAttentionLayer",
    initial_parameters=_layer_parameters,
    oracle=_transform_mask(lambda mask: mask),
    milestones=_layer_values,
    cases=lambda rand: [
        case(rand(5, 4), init=(4,)),
        case(rand(2, 3, 6), init=(6,), seed=1),
        case(rand(3, 5, 4), mask=rand.mask(5, 5), init=(4,), seed=3),
        case(rand(4, 8), causal_mask(4), init=(8,), seed=4),
        case(rand(2, 1, 3, 4), init=(4,), seed=5),
        case(rand(1, 1, 6), init=(6,), seed=6, note="of one position"),
        case(rand(2, 4, 4), init=(4,), seed=7, train=True, note="in training"),
        # The inputs are so small that attention returns almost exactly the biases of v_layer. With this seed, the two
        # biases differ by only 0.03, so eps matters.
        case(rand(3, 2) * 1e-3, init=(2,), seed=3372, note="in which attention returns two numbers that hardly differ"),
    ],
    returns=Float("... seq embed_dim"),
    properties=[_NO_DROPOUT, batch_independent()],
    misconceptions={
        "post-norm": Wrong(
            lambda p, src, mask=None: _norm1(p, src + _attend(p, src, mask)),
            "You normalise the sum, so every layer normalises the stream itself: that is post-norm, as in the first"
            " transformers. In this layer, normalise only what attention returns, then add src.",
        ),
        "pre-norm": Wrong(
            lambda p, src, mask=None: src + _attend(p, _norm1(p, src), mask),
            "You normalise before attention: that is pre-norm, as in GPT-2. It is a good design, but this layer should"
            " normalise what attention returns.",
        ),
        "no-residual": Wrong(
            lambda p, src, mask=None: _norm1(p, _attend(p, src, mask)),
            "You do not add src, so the layer replaces the stream with what attention returns. The token's own vector"
            " is lost, unless the token attends to itself.",
        ),
        "no-norm": Wrong(
            lambda p, src, mask=None: src + _attend(p, src, mask),
            "You do not use norm1, so the vectors that attention returns can be much larger or much smaller than the"
            " stream. norm1 should give these vectors a fixed scale before you add them to src.",
        ),
        "mask-forgotten": Wrong(
            _transform_mask(lambda mask: None),
            "The mask has no effect: every position sees all others, whatever the mask says. Pass the mask on to"
            " attention.",
        ),
        "causal-without-a-mask": _causal_without_a_mask,
        "true-means-blocked": Wrong(
            _transform_mask(lambda mask: ~mask | torch.eye(len(mask), dtype=torch.bool)),
            "Your mask is inverted, and each position also sees itself. True means 'may attend', both for this layer"
            " and for the attention inside it, so pass the mask on unchanged.",
        ),
        "sees-what-is-hidden": Wrong(
            lambda p, src, mask=None: src + _norm1(p, _attend_by_hand(p, src, invert_mask(mask))),
            _INVERTED_MASK,
        ),
        "sees-what-is-hidden-and-0": Wrong(
            _transform_mask(invert_mask),  # torch's attention returns 0, not nan, for a fully masked row
            _INVERTED_MASK,
        ),
        "residual-of-the-normed": Wrong(
            lambda p, src, mask=None: _norm1(p, src) + _attend(p, _norm1(p, src), mask),
            "You added the normalised src. The stream should pass through unchanged; otherwise later layers cannot"
            " read what earlier layers wrote.",
        ),
        "both-normed": Wrong(
            lambda p, src, mask=None: _norm1(p, src) + _norm1(p, _attend(p, src, mask)),
            "You normalise src before you add it, so every layer rescales everything that earlier layers wrote."
            " Normalise only what attention returns.",
        ),
        "normed-first": Wrong(
            lambda p, src, mask=None: _norm1(p, src) + _norm1(p, _attend(p, _norm1(p, src), mask)),
            "You normalise src first, so attention and the sum both use the normalised src. The stream should pass"
            " through unchanged: attention should look at src itself, and src itself should be added.",
        ),
        "norm-on-the-stream": Wrong(
            lambda p, src, mask=None: _norm1(p, src) + _attend(p, src, mask),
            "You normalise src and add what attention returns without a norm. Do the opposite: keep src unchanged and"
            " normalise what attention returns.",
        ),
        "normed-before-and-after": Wrong(
            lambda p, src, mask=None: src + _norm1(p, _attend(p, _norm1(p, src), mask)),
            "You use norm1 twice, before attention and after it. Attention should look at src itself; normalise only"
            " what attention returns.",
        ),
        "torchs-norm": Wrong(
            lambda p, src, mask=None: (
                src + F.layer_norm(_attend(p, src, mask), src.shape[-1:], p["norm1.weight"], p["norm1.bias"])
            ),
            "Your norm1 has the parameters weight and bias and an eps of 1e-5, as torch's own layer norm does. Use the"
            " LayerNorm that you wrote, whose parameters have other names and whose eps is different.",
            initial_parameters=_parameters_of_torchs_norm,
        ),
        "sum-normed-and-added": Wrong(
            lambda p, src, mask=None: src + _norm1(p, src + _attend(p, src, mask)),
            "You add src twice, once inside the norm. Normalise only what attention returns, then add src.",
        ),
        "multiplied": Wrong(
            lambda p, src, mask=None: src * _norm1(p, _attend(p, src, mask)),
            "You multiplied src by the output of the norm. Add the two instead: each layer should add something to the"
            " stream.",
        ),
        "always-causal": Wrong(
            lambda p, src, mask=None: src + _norm1(p, _attend(p, src, causal_mask(src.shape[-2]))),
            "You hide the future, whatever the mask says. The mask should decide which positions are visible, and"
            " without a mask every position should see every other position.",
        ),
        "another-norm": Wrong(
            lambda p, src, mask=None: src + _norm_without_parameters(_attend(p, src, mask)),
            "You normalise what attention returns, but not with norm1, so its w and b are not used. If forward creates"
            " a new norm in each call, this norm always has w = 1 and b = 0 and never learns.",
        ),
        "eps-of-torch": Wrong(
            lambda p, src, mask=None: src + _norm1(p, _attend(p, src, mask), eps=1e-5),
            "Your norm uses an eps of 1e-5, the default of torch's own layer norm. Call norm1, and make it a LayerNorm"
            " with its default eps, which is 1e-6.",
        ),
        "attends-to-its-own-output": Wrong(
            lambda p, src, mask=None: src + _norm1(p, _attend(p, _attend(p, src, mask), mask)),
            "You ran attention twice, the second time on its own output. Run it only once in each layer.",
        ),
    },
    hints=Hints(
        "The layer has two parts and three steps: attend, normalise the result, and add it to the input of the layer.",
        "self_attn is a SingleHeadAttention of embed_dim, and norm1 is your LayerNorm of embed_dim. Only what"
        " attention returns goes through the norm.",
        "In forward, call self.self_attn with src and the mask, apply self.norm1 to the result, and add src.",
    ),
)
