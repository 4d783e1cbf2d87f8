"""Define the exercises of lesson 10: in-context linear regression with one attention layer.

The exercises cover a sampler of prompts, the layer, its QK and OV circuits, and the estimators that describe it.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.checks._attention import (
    attention_mistakes,
    attention_values,
    fix_arguments,
    restrict_to_cases,
    softmax_values,
    torch_attention,
    weigh_scores,
)
from utils.checks._layer_order import made_in_order
from utils.checks._sampling import batches_from_their_generator
from utils.checks._wrong_answers import with_steps, wrong_answer
from utils.exercises.exercise import Facts, Float, Hints, Wrong, case, exercise, layer_parameters
from utils.exercises.observe import collect_tensors
from utils.feedback.phrases import article
from utils.feedback.properties import batch_independent, finite_when_scaled, moves_with_its_module
from utils.feedback.report import format_number
from utils.test_doubles.icl_regression import FakeQueryAttention

# ---------------------------------------------------------------- data


@with_steps
def _sample_prompts(
    n,
    L,
    d,
    noise_std,
    generator=None,
    *,
    spread=torch.randn,
    x_like=None,
    noise=lambda d, s: d**0.5 * s,
    errors=lambda n, L: (n, L, 1),
    question=torch.zeros_like,
    answer_noise=0.0,
    beta_of=lambda n, d, generator: torch.randn(n, d, 1, generator=generator),
    order="xy",
    question_order="xy",
):
    """Sample prompts with the given generator only."""
    x = spread(n, L, d, generator=generator) if x_like is None else x_like(n, L, d, generator)
    x_q = spread(n, 1, d, generator=generator)
    beta = beta_of(n, d, generator)
    y = x @ beta + noise(d, noise_std) * torch.randn(*errors(n, L), generator=generator)
    y_q = x_q @ beta + answer_noise * noise(d, noise_std) * torch.randn(n, 1, 1, generator=generator)
    tokens, questions = {"x": x, "y": y}, {"x": x_q, "y": question(y_q)}
    z, z_q = torch.cat([tokens[i] for i in order], -1), torch.cat([questions[i] for i in question_order], -1)
    return z_q, z, y_q


class _Statistic(NamedTuple):
    """A statistic of the sampled prompts.

    Attributes:
        size: whether the statistic is a magnitude. If so, its deviation is in octaves; otherwise, the deviation is only
            a sign.
        slack: the largest accepted difference. For 1500 prompts, it is at least six standard deviations, so that
            correct answers pass. A test measures the standard deviations.
        words: the template of the message about a deviation.
    """

    size: bool
    slack: float
    words: str


_EXPECTED = "expected {wanted}"
_BETA = "The entries of β, estimated from the examples,"
_FOURTH = "the mean of their fourth powers, divided by the square of their mean square, is {seen}, expected 3"
_INDEPENDENT = f"the mean of their product is {{seen}}, {_EXPECTED}. Sample each entry independently."
_AN_EXAMPLE = (
    "In {percent} % of the prompts the question's x is the x of an example, so these prompts contain their answer."
    " Sample x_q independently."
)
_STATISTICS = {
    "y in front": _Statistic(
        False,
        0.5,
        "In z, the first entry of a token varies more than the last entry. x should come first, and y should come"
        " last.",
    ),
    "end of z_q": _Statistic(
        False,
        1e-6,
        "The last entry of z_q has an absolute value of up to {seen}. It should be 0, because a model should predict"
        " the question's y.",
    ),
    "mean of x": _Statistic(False, 0.08, f"The entries of x have a mean of {{seen}}, {_EXPECTED}."),
    "spread of x": _Statistic(True, 0.08, f"The entries of x have a standard deviation of {{seen}}, {_EXPECTED}."),
    "fourth moment of x": _Statistic(False, 0.25, f"The entries of x are not normally distributed: {_FOURTH}."),
    "likeness in x": _Statistic(False, 0.08, f"The first and the last entry of x are correlated: {_INDEPENDENT}"),
    "x between prompts": _Statistic(
        True,
        0.1,
        f"Across prompts, the entries of the first x have a standard deviation of {{seen}}, {_EXPECTED}. Sample"
        " new x for each prompt.",
    ),
    "x within a prompt": _Statistic(
        True,
        0.08,
        f"Within a prompt, the entries of x have a standard deviation of {{seen}}, {_EXPECTED}. Sample a new x for each"
        " example.",
    ),
    "x_q among x": _Statistic(False, 1e-6, _AN_EXAMPLE),
    "x_q always among x": _Statistic(False, 1e-6, _AN_EXAMPLE),
    "likeness of x_q and x": _Statistic(
        False,
        0.12,
        f"The question's x is correlated with the x of an example: the mean of their products is {{seen}}, {_EXPECTED}."
        " Sample x_q independently.",
    ),
    "x_q between prompts": _Statistic(
        True,
        0.1,
        f"Across prompts, the entries of x_q have a standard deviation of {{seen}}, {_EXPECTED}. Sample a new x_q for"
        " each prompt.",
    ),
    "mean of x_q": _Statistic(False, 0.16, f"The entries of x_q have a mean of {{seen}}, {_EXPECTED}."),
    "spread of x_q": _Statistic(True, 0.1, f"The entries of x_q have a standard deviation of {{seen}}, {_EXPECTED}."),
    "fourth moment of x_q": _Statistic(False, 0.6, f"The entries of x_q are not normally distributed: {_FOURTH}."),
    "likeness in x_q": _Statistic(False, 0.2, f"The first and the last entry of x_q are correlated: {_INDEPENDENT}"),
    "mean of x in a prompt": _Statistic(
        True,
        0.12,
        "The mean x of a prompt, times √L, has a standard deviation of {seen}, expected {wanted}. Do not change x after"
        " it is sampled.",
    ),
    "likeness of β and x_q": _Statistic(
        False,
        0.12,
        f"β is correlated with the question's x: the mean of their products is {{seen}}, {_EXPECTED}. Sample β"
        " independently.",
    ),
    "likeness of β and x": _Statistic(
        False,
        0.14,
        f"β is correlated with the x of an example: the mean of their products is {{seen}}, {_EXPECTED}. Sample β"
        " independently.",
    ),
    "mean of β": _Statistic(False, 0.12, f"{_BETA} have a mean of {{seen}}, {_EXPECTED}."),
    "β between prompts": _Statistic(
        True,
        0.1,
        f"{_BETA} have a standard deviation of {{seen}} across prompts, {_EXPECTED}. Sample a new β with variance 1 for"
        " each prompt.",
    ),
    "fourth moment of β": _Statistic(False, 0.6, f"{_BETA} are not normally distributed: {_FOURTH}."),
    "likeness in β": _Statistic(False, 0.2, f"{_BETA} are correlated, the first and the last: {_INDEPENDENT}"),
    "shared error": _Statistic(
        False,
        0.2,
        "At each position, the errors of y are similar in all prompts: their averages over the prompts have a standard"
        " deviation of {seen} times the size of a single error, expected about 0. Sample new errors for each prompt.",
    ),
    "mean of the errors": _Statistic(False, 0.1, f"The errors of y have a mean of {{seen}}, {_EXPECTED}."),
    "mean error in a prompt": _Statistic(
        True,
        0.2,
        "The mean error of a prompt has a standard deviation of {seen} times the expected one. Sample each error"
        " independently, and do not change the errors afterwards.",
    ),
    "fourth moment of the errors": _Statistic(False, 0.4, f"The errors of y are not normally distributed: {_FOURTH}."),
    "noise within a prompt": _Statistic(
        True,
        0.07,
        "Within a prompt, the errors of y have a standard deviation of {seen}; it should be noise_std · √d = {wanted}.",
    ),
    "noise": _Statistic(
        True,
        0.07,
        "The root mean square of the errors of y is {seen}; it should be noise_std · √d = {wanted}.",
    ),
    "y_q off β·x_q": _Statistic(
        True,
        0.14,
        "The root mean square of y_q - β·x_q is {seen}, expected {wanted} (β is estimated from the examples by least"
        " squares).",
    ),
}
_SIZES = torch.tensor([statistic.size for statistic in _STATISTICS.values()])
SLACK = torch.tensor([statistic.slack for statistic in _STATISTICS.values()], dtype=torch.float64)

_X_STATISTICS = ("mean of x", "spread of x", "fourth moment of x", "likeness in x", "mean of x in a prompt")
_X_Q_STATISTICS = (
    "likeness of x_q and x",
    "x_q between prompts",
    "mean of x_q",
    "spread of x_q",
    "fourth moment of x_q",
    "likeness in x_q",
    "likeness of β and x_q",
)
_BETA_STATISTICS = (
    "likeness of β and x_q",
    "likeness of β and x",
    "mean of β",
    "β between prompts",
    "fourth moment of β",
    "likeness in β",
)
_Y_STATISTICS = (
    "shared error",
    "mean of the errors",
    "mean error in a prompt",
    "fourth moment of the errors",
    "noise within a prompt",
    "noise",
    "y_q off β·x_q",
)
# If the statistic in a key deviates, the statistics in its value deviate as a consequence, so they are ignored.
_CONSEQUENCES = {
    "y in front": (
        *_X_STATISTICS,
        "x between prompts",
        "x within a prompt",
        "likeness of x_q and x",
        *_BETA_STATISTICS,
        *_Y_STATISTICS,
    ),
    "end of z_q": (*_X_Q_STATISTICS, "y_q off β·x_q"),
    "x between prompts": (
        *_X_STATISTICS,
        "x within a prompt",
        "likeness of x_q and x",
        *_BETA_STATISTICS,
        *_Y_STATISTICS,
    ),
    "x within a prompt": (*_X_STATISTICS, "likeness of x_q and x", *_BETA_STATISTICS, *_Y_STATISTICS),
    "mean of x": ("mean of x in a prompt",),
    "spread of x": (
        "x between prompts",
        "x within a prompt",
        "mean of x in a prompt",
        *_BETA_STATISTICS,
        "y_q off β·x_q",
    ),
    "likeness in x": (*_BETA_STATISTICS, *_Y_STATISTICS),
    "x_q among x": ("likeness of x_q and x", "y_q off β·x_q"),
    "x_q between prompts": (*_X_Q_STATISTICS, "y_q off β·x_q"),
    "spread of x_q": ("x_q between prompts", "y_q off β·x_q"),
    "β between prompts": (*_BETA_STATISTICS,),
    "mean of the errors": ("mean error in a prompt",),
    "shared error": (
        "mean of the errors",
        "mean error in a prompt",
        "fourth moment of the errors",
        "noise within a prompt",
        "noise",
        *_BETA_STATISTICS,
        "y_q off β·x_q",
    ),
    "noise within a prompt": ("mean error in a prompt", "fourth moment of the errors", "noise", "y_q off β·x_q"),
    "noise": ("y_q off β·x_q",),
}
# For each of these statistics, the consequences in _CONSEQUENCES follow only if its value is near 0.
_ONLY_IF_NEAR_ZERO = ("x between prompts", "x within a prompt", "x_q between prompts", "β between prompts")
_FLOOR = torch.tensor([2.0 ** (-3 if name in _ONLY_IF_NEAR_ZERO else -12) for name in _STATISTICS], dtype=torch.float64)


def _fourth_moment(t):
    return t.square().square().mean() / t.square().mean().square().clamp_min(1e-9)


def _correlation(t):
    return (t[..., 0] * t[..., -1]).mean()


def _least_squares(x, y):
    return torch.linalg.solve(x.mT @ x + 1e-9 * torch.eye(x.shape[-1], dtype=x.dtype), x.mT @ y)


def measured(z_q, z, y_q, d):
    """Compute the statistics in _STATISTICS. β is estimated by least squares."""
    if 0 in (*z.shape, d):
        return torch.full((len(_STATISTICS),), torch.nan, dtype=torch.float64)
    n, L, _ = z.shape
    x, y, x_q = z[..., :d], z[..., d:], z_q[..., :d]
    beta = _least_squares(x, y)
    residuals = y - x @ beta
    within = residuals - residuals.mean(dim=1, keepdim=True)
    front, end = z[..., 0].std(correction=0), z[..., d].std(correction=0)
    noise = (residuals.square().sum() / (n * (L - d))).sqrt()
    among = (x_q == x).all(-1).any(-1).double()
    statistics = {
        "y in front": (front > 1.2 and abs(end - 1) < 0.1).double(),
        "x between prompts": x[:, 0].std(dim=0, correction=0).mean(),
        "x within a prompt": (x - x.mean(dim=1, keepdim=True)).square().mean().sqrt() * (L / (L - 1)) ** 0.5,
        "likeness in x": _correlation(x),
        "mean of x": x.mean(),
        "mean of x in a prompt": x.mean(dim=1).square().mean().sqrt() * L**0.5,
        "spread of x": x.std(correction=0),
        "fourth moment of x": _fourth_moment(x),
        "x_q among x": among.mean(),
        "x_q always among x": among.min(),
        "likeness of x_q and x": (x_q * x).mean(dim=(0, 2)).abs().max(),
        "likeness in x_q": _correlation(x_q),
        "x_q between prompts": x_q[:, 0].std(dim=0, correction=0).mean(),
        "mean of x_q": x_q.mean(),
        "spread of x_q": x_q.std(correction=0),
        "fourth moment of x_q": _fourth_moment(x_q),
        "likeness of β and x_q": (beta.mT * x_q).mean(),
        "likeness of β and x": (beta.mT * x).mean(dim=(0, 2)).abs().max(),
        "mean of β": beta.mean(),
        "β between prompts": (beta.var(dim=0, correction=0).mean() - noise.square() / (L - d - 1)).clamp_min(0).sqrt(),
        "likeness in β": _correlation(beta.mT),
        "fourth moment of β": _fourth_moment(beta),
        "shared error": residuals.mean(dim=0).std(correction=0) / (1 - d / L) / noise.clamp_min(1e-6),
        "mean of the errors": residuals.mean() / (1 - d / L),  # fitting d slopes removes a fraction d / L of the errors
        # Fitting d slopes also removes a fraction d / L of the variance of a prompt's mean error.
        "mean error in a prompt": residuals.mean(dim=1).square().mean().sqrt() / noise / ((1 - d / L) / L) ** 0.5
        if noise > 1e-3
        else torch.tensor(1.0),
        "fourth moment of the errors": _fourth_moment(residuals) if noise > 1e-3 else torch.tensor(3.0),
        "noise within a prompt": (within.square().sum() / (n * (L - d - 1 + d / L))).sqrt(),
        "noise": noise,
        "end of z_q": z_q[..., d].abs().max(),
        "y_q off β·x_q": (y_q - x_q @ beta).square().mean().sqrt(),
    }
    return torch.stack([statistics[name] for name in _STATISTICS])


def known(L, d, noise_std):
    """Return the expected statistics. They follow from E (XᵀX)⁻¹ = I / (L − d − 1), which holds for normal x."""
    variance = d * noise_std**2
    beta_variance = variance / (L - d - 1)
    ideal = {
        **{name: 1 for name, statistic in _STATISTICS.items() if statistic.size},
        **{name: 3 for name in _STATISTICS if name.startswith("fourth")},
        "noise within a prompt": variance**0.5,
        "noise": variance**0.5,
        "y_q off β·x_q": (d * beta_variance) ** 0.5,
    }
    return torch.tensor([ideal.get(name, 0) for name in _STATISTICS], dtype=torch.float64)


def _deviations(numbers, n, L, d, noise_std):
    """Return how far each statistic deviates from its expected value.

    A deviation within the slack counts as 0. The slack is larger for fewer prompts. If a statistic is a magnitude, a
    larger deviation is a rounded number of octaves. For all other statistics, only the sign is returned.
    """
    ideal = known(L, d, noise_std)
    octaves = torch.log2((numbers / ideal).clamp(_FLOOR, torch.full_like(_FLOOR, 2**8)))
    # Round to multiples of 1/2.6 octaves, because then no misconception is close to a rounding boundary.
    octaves = (octaves * 2.6).round() / 2.6
    octaves = torch.where(octaves == 0, (numbers - ideal).sign() / 4, octaves)
    deviations = torch.where(_SIZES & (ideal > 0), octaves, (numbers - ideal).sign())
    deviations = torch.where((numbers - ideal).abs() <= SLACK * max(1.0, 1500 / n) ** 0.5, 0.0, deviations).float()
    index = {name: i for i, name in enumerate(_STATISTICS)}
    for name, others in _CONSEQUENCES.items():
        if deviations[index[name]] and (name not in _ONLY_IF_NEAR_ZERO or deviations[index[name]] <= -3):
            deviations[[index[other] for other in others if other != name]] = 0.0
    return deviations


def _has_right_sizes(result, case):
    """Return whether the result consists of three floating-point tensors with the right sizes."""
    if not isinstance(result, (tuple, list)) or len(result) != 3 or not all(isinstance(t, Tensor) for t in result):
        return False
    n, L, d = case.args[:3]
    sizes = [[n, 1, d + 1], [n, L, d + 1], [n, 1, 1]]
    return [list(t.shape) for t in result] == sizes and all(t.is_floating_point() for t in result)


def _result_statistics(result, case):
    return measured(*(t.detach().double() for t in result), case.args[2])


def _parse_prompts(result, case):
    """Return zeros with the shapes and dtypes of the result, followed by the deviations of the statistics."""
    if not isinstance(result, (tuple, list)) or not all(isinstance(t, Tensor) for t in result):
        return result
    shapes = tuple(torch.zeros_like(t) for t in result)
    if not _has_right_sizes(result, case):
        return (*shapes, torch.full((len(_STATISTICS),), torch.nan)) if len(shapes) == 3 else result
    return *shapes, _deviations(_result_statistics(result, case), *case.args[:4])


def _drawn_otherwise(probe):
    """Report the first wrong statistic. Check prompts without noise first, because they determine β exactly."""
    for trial in sorted(probe.trials, key=lambda trial: trial.case.args[3]):
        result = probe.run(trial.case).value
        if not _has_right_sizes(result, trial.case):
            continue
        numbers, (n, L, d, noise_std) = _result_statistics(result, trial.case), trial.case.args[:4]
        ideal, deviations = known(L, d, noise_std), _deviations(numbers, n, L, d, noise_std)
        for i, statistic in enumerate(_STATISTICS.values()):
            if deviations[i]:
                value, wanted = numbers[i].item(), ideal[i].item()
                return _describe_uniform_entries(result, trial.case) or statistic.words.format(
                    seen=format_number(value, 2),
                    wanted=f"{wanted:.2f}".removesuffix(".00"),
                    percent=f"{100 * value:.0f}",
                )
    return None


def _describe_uniform_entries(result, case):
    """Return a message if all entries of x, x_q or β are between 0 and 1; otherwise return ""."""
    d, noise_std = case.args[2:4]
    z_q, z, _ = (t.detach().double() for t in result)
    parts = {"x": z[..., :d], "x_q": z_q[..., :d]}
    if not noise_std:
        parts["β"] = _least_squares(z[..., :d], z[..., d:])
    names = [name for name, t in parts.items() if t.min() >= -1e-6 and t.max() <= 1 + 1e-6 and t.std() > 0.2]
    if not names:
        return ""
    entries = " and ".join(names)
    return (
        f"All entries of {entries} are between 0 and 1, like numbers from rand. Use randn for normally distributed"
        " numbers."
    )


@wrong_answer
def _sample_question_from_examples(n, L, d, noise_std, generator=None):
    """The question's x is the x of an example, so the prompt contains its answer and nothing has to be learned. Sample
    x_q as a new point.
    """
    x = torch.randn(n, L, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + d**0.5 * noise_std * torch.randn(n, L, 1, generator=generator)
    return torch.cat((x[:, :1], torch.zeros(n, 1, 1)), -1), torch.cat((x, y), -1), x[:, :1] @ beta


_from_the_generator = batches_from_their_generator(
    "prompts",
    *(6, 5, 3, 0.1),
    elsewhere=(
        ": some numbers do not come from the generator. Pass it to every sampling call, so that an experiment"
        " can be repeated."
    ),
    constant="; without a generator, use torch's global random numbers.",
)


def _errors_from_the_generator(probe):
    """Check that the noise comes from the generator too, by comparing results with and without noise."""

    def sample(seed, noise_std):
        return probe.run(case(6, 5, 3, noise_std, torch.Generator().manual_seed(seed)))

    pairs = [(sample(seed, 0.1), sample(seed, 0.0)) for seed in (1, 2)]
    if any(observation.failure for pair in pairs for observation in pair):
        return None
    noise = [noisy.value[1] - exact.value[1] for noisy, exact in pairs]
    if noise[0].abs().max() > 1e-3 and torch.allclose(*noise, atol=1e-5):
        return (
            "Two generators in different states gave the same noise in y. Sample the noise from generator too:"
            " torch.randn(…, generator=generator)."
        )
    return None


def _few_prompts(probe):
    """Check calls with a single prompt, a single example or a single entry in x."""
    for small_case in (case(1, 1, 1, 0.1), case(2, 1, 3, 0.0), case(1, 2, 1, 0.5)):
        observation = probe.run(small_case)
        call = f"sample_regression{small_case.args}"
        if observation.failure:
            return (
                f"{call}, without a generator, stopped with {article(observation.failure.type)}:"
                f" {observation.failure.text}"
            )
        if not _has_right_sizes(observation.value, small_case):
            shapes = ", ".join(str(list(t.shape)) for t in collect_tensors(observation.value))
            n, L, d = small_case.args[:3]
            return (
                f"{call} returns tensors of shapes {shapes}; expected [{n}, 1, {d + 1}], [{n}, {L}, {d + 1}], [{n},"
                " 1, 1]. Keep axes of size 1."
            )
        if not all(t.isfinite().all() for t in collect_tensors(observation.value)):
            return (
                f"{call} returns nan or inf. Do you compute a statistic, such as a standard deviation, of one number?"
            )
    return None


exercise(
    "sample_regression",
    unswept={"numbers": "the check can estimate β from the examples only if there is little noise"},
    oracle=_sample_prompts,
    cases=lambda rand: [
        # With this noise_std, rounding keeps the standard deviations noise_std and noise_std² · √d apart.
        case(1500, 16, 5, 0.35, torch.Generator().manual_seed(int(rand.integers(1, high=10_000)))),
        case(1500, 10, 2, 0.0, torch.Generator().manual_seed(int(rand.integers(1, high=10_000))), note="without noise"),
    ],
    parse_result=_parse_prompts,
    returns=(
        Float("n 1 d+1", name="z_q"),
        Float("n L d+1", name="z"),
        Float("n 1 1", name="y_q"),
        Facts("how the prompts were sampled"),
    ),
    properties=[_drawn_otherwise, _errors_from_the_generator, _from_the_generator, _few_prompts],
    differentiable=False,
    misconceptions={
        "noise-not-scaled": _sample_prompts.replace(noise=lambda d, s: s).wrong(
            "Your noise has standard deviation noise_std. The noise should be relative to β·x, which has standard"
            " deviation √d: use noise_std times √d."
        ),
        "noise-times-d": _sample_prompts.replace(noise=lambda d, s: d * s).wrong(
            "Your noise has standard deviation noise_std times d. Its variance should be d · noise_std², so its"
            " standard deviation should be the square root of d · noise_std²."
        ),
        "no-noise": _sample_prompts.replace(noise=lambda d, s: 0.0).wrong(
            "The y values of your examples contain no noise. Add noise with standard deviation √d · noise_std to each"
            " y."
        ),
        "one-error-for-a-prompt": _sample_prompts.replace(errors=lambda n, L: (n, 1, 1)).wrong(
            "All examples of a prompt have the same error, which shifts the whole line. Sample one error for each"
            " example: a tensor of shape [n, L, 1]."
        ),
        "one-error-for-all-prompts": _sample_prompts.replace(errors=lambda n, L: (1, L, 1)).wrong(
            "All prompts have the same errors: example 0 has the same error in every prompt. Sample new errors for each"
            " prompt: a tensor of shape [n, L, 1]."
        ),
        "one-number-for-beta": Wrong(
            _sample_prompts.replace(beta_of=lambda n, d, g: torch.randn(n, 1, 1, generator=g).expand(n, d, 1)),
            "All entries of a prompt's β are the same number. Sample each of the d entries independently.",
        ),
        "noisy-answer": _sample_prompts.replace(answer_noise=1.0).wrong(
            "You add noise to y_q too. Answers are compared with y_q, and no method can predict this noise: y_q"
            " should be exactly β·x_q."
        ),
        "answer-given-away": _sample_prompts.replace(question=lambda y_q: y_q).wrong(
            "z_q ends in y_q, so the question contains its own answer, and a model would copy it. Put 0 in the place"
            " of y."
        ),
        "one-beta-for-all": Wrong(
            _sample_prompts.replace(beta_of=lambda n, d, g: torch.randn(1, d, 1, generator=g).expand(n, -1, -1)),
            "All prompts of a batch share one β, so a model could memorise it. Sample a new β for each prompt, so that"
            " a model can find β only from the examples.",
        ),
        "one-x-for-all": Wrong(
            _sample_prompts.replace(x_like=lambda n, L, d, g: torch.randn(1, L, d, generator=g).expand(n, -1, -1)),
            "All prompts share the same x. Sample new examples for each prompt.",
        ),
        "one-x-in-a-prompt": Wrong(
            _sample_prompts.replace(x_like=lambda n, L, d, g: torch.randn(n, 1, d, generator=g).expand(-1, L, -1)),
            "All examples of a prompt have the same x, and nobody can find a slope from a single point. Sample a new"
            " x for each example.",
        ),
        "uniform": _sample_prompts.replace(spread=torch.rand).wrong(
            "You sample x uniformly from 0 to 1. It should be normally distributed with mean 0 and variance 1: use"
            " randn, not rand."
        ),
        "examples-first": Wrong(
            lambda *sizes: tuple(_sample_prompts(*sizes)[i] for i in (1, 0, 2)),
            "You swapped z and z_q. The question comes first: (z_q, z, y_q).",
        ),
        "y-first": _sample_prompts.replace(order="yx", question_order="yx").wrong(
            "y comes before x in your tokens. An example should be (x, y): the first d entries are x, the last entry"
            " is y."
        ),
        "y-first-in-the-examples": _sample_prompts.replace(order="yx").wrong(
            "In z, y comes before x. An example should be (x, y), as in z_q: the first d entries are x, the last"
            " entry is y."
        ),
        "x_q-from-the-examples": _sample_question_from_examples,
        "beta-shrunk": Wrong(
            _sample_prompts.replace(beta_of=lambda n, d, g: torch.randn(n, d, 1, generator=g) / d**0.5),
            "You divide β by √d. Each entry of β should have variance 1; only the noise is multiplied by √d.",
        ),
    },
    hints=Hints(
        "Sample four things for each prompt: L points x, one question x_q, one β, and L small errors. Which shapes do"
        " they have, if n is the first axis?",
        "With β of shape [n, d, 1], x @ β has shape [n, L, 1]: one matrix product for each prompt. torch.cat along"
        " the last axis joins x and y into tokens.",
        "Sample x, x_q, beta and the noise with torch.randn(..., generator=generator). y is x @ beta plus √d ·"
        " noise_std times the noise; concatenate x and y to get z, and x_q and zeros to get z_q; y_q is the product of"
        " x_q and β.",
    ),
)


# ---------------------------------------------------------------- the layer


def _split_heads(p, t, name):
    """Project [n, seq, D] with the weight [heads · D, D] to [n, heads, seq, D]."""
    return torch.einsum("nsd,hed->nhse", t, p[f"{name}_proj.weight"].unflatten(0, (-1, t.shape[-1])))


def _split_across_positions(p, t, name):
    """Split heads wrongly with a single reshape: each head gets whole vectors, but only from a few positions."""
    projected = t @ p[f"{name}_proj.weight"].mT
    return projected.reshape(len(t), -1, *t.shape[1:])


def _split_in_turn(p, t, name):
    """Split heads wrongly: each head gets every n_head-th number instead of a block of adjacent numbers."""
    return (t @ p[f"{name}_proj.weight"].mT).unflatten(-1, (t.shape[-1], -1)).permute(0, 3, 1, 2)


def _merge_heads(heads):
    return heads.transpose(1, 2).flatten(2)


@with_steps
def _layer(p, z_q, z, *, heads=_split_heads, swap=False, merge=_merge_heads, **steps):
    """Compute the forward pass. `steps` replaces steps of `weigh_scores`."""
    q, k = (heads(p, z_q, "k"), heads(p, z, "q")) if swap else (heads(p, z_q, "q"), heads(p, z, "k"))
    weights = weigh_scores.replace(**steps)(q @ k.mT, torch.ones(q.shape[2], z.shape[1], dtype=torch.bool), z.shape[-1])
    return merge(weights @ heads(p, z, "v")) @ p["o_proj.weight"].mT


_wrong = attention_mistakes(_layer.replace, width="n_embd")


def _scaled_by(factor):
    """Return a layer that also multiplies the scores by `factor`."""
    return _layer.replace(scale=lambda d_head, d_in, seq: factor * d_head**-0.5)


def _torch_layer(p, z_q, z):
    mixed = torch_attention(_split_heads(p, z_q, "q"), _split_heads(p, z, "k"), _split_heads(p, z, "v"))
    return F.linear(_merge_heads(mixed), p["o_proj.weight"])


def _initial_parameters(n_embd, n_head, n_out=1, bias=False, width=None, keys_first=False):
    width = width or n_embd
    q, k, v = (nn.Linear(n_embd, n_head * width, bias=bias) for _ in range(3))
    if keys_first:
        q, k = k, q
    return layer_parameters(q_proj=q, k_proj=k, v_proj=v, o_proj=nn.Linear(n_head * width, n_out, bias=bias))


def _prompts_alone(probe):
    """Check that the result for a prompt does not depend on other prompts in the batch."""
    if batch_independent(0)(probe) or batch_independent(1)(probe):
        return (
            "Your prompts affect each other: the answer for prompt 0 changed when only the other prompts changed. Each"
            " prompt has its own β, so the answer should depend only on its own prompt."
        )
    return None


def _filled_batch(case):
    return case.fill and len(case.args[0]) > 1


def _keeps_its_sizes(probe):
    """Check the attributes n_embd, n_head and n_out, because the exercises about circuits read them."""
    sizes = {"n_embd": 6, "n_head": 3, "n_out": 2}
    observation = probe.run(
        case(torch.zeros(1, 1, 6), torch.zeros(1, 2, 6), init=tuple(sizes.values())), attributes=sizes
    )
    for name, size in sizes.items():
        value = (observation.attributes or {}).get(name)
        if value != size:
            problem = f"it has no attribute `{name}`" if value is None else f"its `{name}` is {value}, not {size}"
            return (
                f"QueryAttention(6, 3, 2) works, but {problem}. The next exercises, on circuits, read the three sizes"
                " from the layer."
            )
    return None


def _layer_milestones(p, z_q, z):
    return attention_values(*(_split_heads(p, t, name) for t, name in ((z_q, "q"), (z, "k"), (z, "v"))))


exercise(
    "QueryAttention",
    initial_parameters=_initial_parameters,
    oracle=_torch_layer,
    milestones=_layer_milestones,
    cases=lambda rand: [
        case(rand(3, 2, 4), rand(3, 5, 4), init=(4, 3, 2), note="with two questions and two outputs"),
        case(rand(2, 1, 6), rand(2, 7, 6), init=(6, 2), fill=False, seed=4, note="with its initial weights"),
        case(rand(1, 1, 3), rand(1, 1, 3), init=(3, 1), seed=1, note="with one prompt, one example and one head"),
    ],
    returns=Float("n queries n_out"),
    properties=[
        made_in_order("q_proj", "k_proj", "v_proj", "o_proj"),
        *(
            restrict_to_cases(broken, predicate=_filled_batch)
            for broken in (_prompts_alone, moves_with_its_module, finite_when_scaled())
        ),
        _keeps_its_sizes,
    ],
    misconceptions={
        "not-scaled": _wrong.not_scaled(
            "You do not divide the scores by the square root of the heads' width. Each head is n_embd wide here, so"
            " divide by √n_embd."
        ),
        "multiplied": _wrong.multiplied(),
        "divided-by-the-width": _wrong.divided_by_the_width(),
        "scaled-by-all-heads": Wrong(
            lambda p, z_q, z: _scaled_by(p.init_args["n_head"] ** -0.5)(p, z_q, z),
            "You divide the scores by the square root of the width of all heads together. A score is a dot product over"
            " the n_embd entries of one head, so divide by √n_embd.",
        ),
        "scaled-by-a-part": Wrong(
            lambda p, z_q, z: _scaled_by(p.init_args["n_head"] ** 0.5)(p, z_q, z),
            "You divide the scores by √(n_embd / n_head), as if n_embd were split between the heads. Here each head is"
            " n_embd wide.",
        ),
        "sees-itself": Wrong(
            lambda p, z_q, z: _layer(p, z_q, torch.cat((z, z_q), dim=1)),
            "The question is among the keys, so it attends to itself. The question's y is 0 and carries no information;"
            " the question should attend only to the examples in z.",
        ),
        "roles-swapped": _layer.replace(swap=True).wrong(
            "You use q_proj on the examples and k_proj on the question. The question provides the query, so z_q should"
            " go through q_proj, and z through k_proj and v_proj."
        ),
        "softmax-over-questions": _wrong.wrong_axis(
            "Your softmax runs along the questions. For each question, the weights over the examples (along the last"
            " axis of the scores) should sum to one."
        ),
        "softmax-over-heads": _wrong.second_axis(
            "Your softmax runs along the heads, so the heads compete for each example. In each head, the weights over"
            " the examples should sum to one."
        ),
        "heads-not-moved-back": _layer.replace(merge=lambda heads: heads.reshape(len(heads), heads.shape[2], -1)).wrong(
            "You flatten [n, heads, queries, …] directly, which mixes up the heads if there are several questions. Move"
            " the head axis after the questions' axis first."
        ),
        **{
            f"heads-cut-across-positions{which}": Wrong(
                _layer.replace(heads=_split_across_positions, merge=merge),
                "You split the heads with a single view to [n, heads, seq, n_embd], so each head gets whole vectors of"
                " a few positions instead of its own entries of every position. Split the last axis, then move the head"
                " axis forward.",
            )
            for which, merge in (("", _merge_heads), ("-and-back", lambda t: t.reshape(len(t), t.shape[2], -1)))
        },
        "heads-in-turn": _layer.replace(heads=_split_in_turn).wrong(
            "You assign the entries to the heads alternately: entry 0 to head 0, entry 1 to head 1, and so on. A head's"
            " entries should be adjacent: the first n_embd entries belong to head 0."
        ),
        "averaged-heads": _layer.replace(merge=lambda heads: _merge_heads(heads) / heads.shape[1]).wrong(
            "You divide the heads' results by the number of heads. Only o_proj should weight them."
        ),
        "causal": _layer.replace(change_mask=torch.tril).wrong(
            "Your causal mask hides examples. All examples come before the question, so nothing should be hidden."
        ),
        "squeezed": Wrong(
            lambda p, z_q, z: _layer(p, z_q, z).squeeze(),
            "Your result has lost its axes of size 1. Keep the shape [n, queries, n_out]: if you combine a flat result"
            " with a y_q of shape [n, 1, 1], torch broadcasts both to a larger tensor.",
        ),
        "with-biases": Wrong(
            _torch_layer,
            "Your layers have biases. Without biases, two matrix products describe everything that a head does, so pass"
            " bias=False.",
            initial_parameters=fix_arguments(_initial_parameters, bias=True),
        ),
        "keys-made-first": Wrong(
            _torch_layer,
            "You create k_proj before q_proj. Each layer samples its weights when it is created, so a different order"
            " gives different weights for the same seed: use the order q_proj, k_proj, v_proj, o_proj.",
            initial_parameters=fix_arguments(_initial_parameters, keys_first=True),
        ),
        "heads-share-the-width": Wrong(
            _torch_layer,
            "Your code splits n_embd between the heads. Each head should be as wide as a token, so q_proj, k_proj and"
            " v_proj should each return n_embd · n_head entries.",
            initial_parameters=lambda n_embd, n_head, n_out=1: _initial_parameters(
                n_embd, n_head, n_out, width=max(1, n_embd // n_head)
            ),
        ),
    },
    hints=Hints(
        "This is lesson 05's layer with two differences: the queries come from z_q while keys and values come from z,"
        " and each head is n_embd wide.",
        "unflatten(-1, (n_head, n_embd)) and a transpose split the heads. No mask is needed.",
        "Make q from q_proj(z_q), and k and v from z, each [n, heads, seq, n_embd]. Compute softmax(q @ k.mT / square"
        " root of n_embd) @ v, move the head axis back behind the questions' axis, flatten, and apply o_proj.",
    ),
)


# ---------------------------------------------------------------- circuits


def _qk_by_basis(model):
    """Compute QK with unit vectors: entry [a, b] is the score of the question e_a for the example e_b."""
    eye = torch.eye(model.n_embd)
    q, k = (proj(eye).detach().view(model.n_embd, model.n_head, -1) for proj in (model.q_proj, model.k_proj))
    return torch.stack([q[:, h] @ k[:, h].T for h in range(model.n_head)]) / model.n_embd**0.5


def _ov_by_basis(model):
    """Compute OV with unit vectors: row a is the output of a head that attends only to e_a."""
    values = model.v_proj(torch.eye(model.n_embd)).detach()
    outputs = []
    for h in range(model.n_head):
        head_values = torch.zeros_like(values)
        part = slice(h * model.n_embd, (h + 1) * model.n_embd)
        head_values[:, part] = values[:, part]
        outputs.append(model.o_proj(head_values).detach())
    return torch.stack(outputs)


def _blocks(model, name):
    return getattr(model, f"{name}_proj").weight.detach().view(model.n_head, model.n_embd, model.n_embd)


def _o_blocks(model):
    """Return each head's block of o_proj, transposed: [heads, D, n_out]."""
    return model.o_proj.weight.detach().view(model.n_out, model.n_head, model.n_embd).permute(1, 2, 0)


def _interleaved_blocks(model, name):
    """Split a weight into heads wrongly: each head gets every n_head-th row instead of a block of adjacent rows."""
    return getattr(model, f"{name}_proj").weight.detach().view(model.n_embd, model.n_head, model.n_embd).transpose(0, 1)


def _qk_milestones(model):
    weights = {"the query weights of each head": _blocks(model, "q")}
    weights |= {"the key weights of each head": _blocks(model, "k")}
    return {**weights, "the products of the weights": _qk_by_basis(model) * model.n_embd**0.5}


def _ov_milestones(model):
    return {
        "the value weights of each head": _blocks(model, "v"),
        "the output weights of each head": _o_blocks(model),
    }


_TRANSPOSED_LINEAR = "nn.Linear stores its weight as [out, in] and multiplies by the transpose of this weight"

exercise(
    "qk_circuit",
    oracle=_qk_by_basis,
    milestones=_qk_milestones,
    cases=lambda rand: [
        case(FakeQueryAttention(*sizes, rand)) for sizes in ((4, 3, 1), (3, 2, 2), (6, 1, 1), (2, 11, 1))
    ],
    returns=Float("heads D D"),
    differentiable=False,
    misconceptions={
        "question-and-example-swapped": Wrong(
            lambda model: _blocks(model, "k").mT @ _blocks(model, "q") / model.n_embd**0.5,
            "Rows and columns are swapped: your matrix fits the product z @ QK @ z_q. The question should be on the"
            " left, so the queries' matrix comes first.",
        ),
        "wrong-side": Wrong(
            lambda model: _blocks(model, "q") @ _blocks(model, "k").mT / model.n_embd**0.5,
            "Your matrix product sums over the entries of the tokens instead of the entries of the head."
            f" {_TRANSPOSED_LINEAR}, so transpose the query weight instead of the key weight.",
        ),
        "not-turned": Wrong(
            lambda model: _blocks(model, "q") @ _blocks(model, "k") / model.n_embd**0.5,
            f"You multiply the two weights without transposing either of them. {_TRANSPOSED_LINEAR}, so transpose one"
            " of the two weights.",
        ),
        "both-turned": Wrong(
            lambda model: _blocks(model, "q").mT @ _blocks(model, "k").mT / model.n_embd**0.5,
            "You transpose both weights. The matrix product should sum over the entries of the head, so transpose only"
            " one of the two weights.",
        ),
        "not-scaled": Wrong(
            lambda model: _blocks(model, "q").mT @ _blocks(model, "k"),
            "You do not divide by the square root of n_embd. The layer divides its scores by this root, and QK should"
            " produce the same scores.",
        ),
        "scaled-twice": Wrong(
            lambda model: _blocks(model, "q").mT @ _blocks(model, "k") / model.n_embd,
            "You divide the product by n_embd. Divide it by the square root of n_embd instead, as the layer does.",
        ),
        "scaled-by-all-heads": Wrong(
            lambda model: _blocks(model, "q").mT @ _blocks(model, "k") / (model.n_head * model.n_embd) ** 0.5,
            "You divide the product by the square root of n_embd · n_head, the width of all heads together. Divide it"
            " by the square root of n_embd instead, as the layer does.",
        ),
        "last-row-emptied": Wrong(
            lambda model: _qk_by_basis(model).index_fill(1, torch.tensor([model.n_embd - 1]), 0.0),
            "You set the last row to 0. No score depends on it, because the question ends in 0, but the exercise asks"
            " for the whole product.",
        ),
        "heads-cut-across": Wrong(
            lambda model: _interleaved_blocks(model, "q").mT @ _interleaved_blocks(model, "k") / model.n_embd**0.5,
            "You assign the rows to the heads alternately: row 0 to head 0, row 1 to head 1, and so on. The rows of a"
            " head are adjacent: the first n_embd rows belong to head 0.",
        ),
        "heads-summed": Wrong(
            lambda model: (
                (_blocks(model, "q").mT @ _blocks(model, "k")).sum(0, keepdim=True).expand(model.n_head, -1, -1)
                / model.n_embd**0.5
            ),
            "All heads get the same matrix, the sum over the heads. Each head has its own scores, so split the weights"
            " by heads before you multiply them.",
        ),
        "queries-twice": Wrong(
            lambda model: _blocks(model, "q").mT @ _blocks(model, "q") / model.n_embd**0.5,
            "You multiply the queries' weight by itself. A score is a query times a key.",
        ),
        "values-for-keys": Wrong(
            lambda model: _blocks(model, "q").mT @ _blocks(model, "v") / model.n_embd**0.5,
            "You use the values' weight in place of the keys' weight. A score is a query times a key.",
        ),
    },
    hints=Hints(
        "Write the score of one question and one example as z_q · M · z. What is the matrix M, for one head?",
        "A query is z_q @ W_Q.T, a key is z @ W_K.T, and a score is a query times a key. Substitute the query and the"
        " key into the formula of the score.",
        "Split both weights into [heads, n_embd, n_embd]. For each head, multiply the transposed query weight by the"
        " key weight, and divide by the square root of n_embd.",
    ),
)


exercise(
    "ov_circuit",
    oracle=_ov_by_basis,
    milestones=_ov_milestones,
    cases=lambda rand: [
        case(FakeQueryAttention(*sizes, rand)) for sizes in ((4, 3, 1), (3, 2, 2), (5, 1, 3), (4, 2, 4), (2, 11, 3))
    ],
    returns=Float("heads D n_out"),
    differentiable=False,
    misconceptions={
        "values-not-turned": Wrong(
            lambda model: _blocks(model, "v") @ _o_blocks(model),
            f"You multiply by the value weight without transposing it. {_TRANSPOSED_LINEAR}, so transpose the value"
            " weight; it is square, so torch reports no error.",
        ),
        "output-side-first": Wrong(
            lambda model: (_blocks(model, "v").mT @ _o_blocks(model)).mT.contiguous(),
            "Rows and columns are swapped: your result is [heads, n_out, D]. The product is z @ OV, with"
            " the token on the left, so row i of the matrix belongs to entry i of the token.",
        ),
        "heads-cut-across": Wrong(
            lambda model: (
                _blocks(model, "v").mT
                @ model.o_proj.weight.detach().view(model.n_out, model.n_embd, model.n_head).permute(2, 1, 0)
            ),
            "You assign the columns of o_proj to the heads alternately: column 0 to head 0, column 1 to head 1, and so"
            " on. The columns of a head are adjacent: the first n_embd columns belong to head 0.",
        ),
        "values-cut-across": Wrong(
            lambda model: _interleaved_blocks(model, "v").mT @ _o_blocks(model),
            "You assign the rows of v_proj to the heads alternately: row 0 to head 0, row 1 to head 1, and so on. The"
            " rows of a head are adjacent: the first n_embd rows belong to head 0.",
        ),
        "reshaped": Wrong(
            lambda model: (
                _blocks(model, "v").mT @ model.o_proj.weight.detach().reshape(model.n_head, model.n_embd, model.n_out)
            ),
            "You reshape o_proj's weight to [heads, n_embd, n_out], but its columns belong to the entries of the heads,"
            " and its rows belong to the outputs. With one output, your result happens to be right; with several"
            " outputs, the reshape mixes up the entries.",
        ),
        "scaled": Wrong(
            lambda model: _blocks(model, "v").mT @ _o_blocks(model) / model.n_embd**0.5,
            "You divide the product by the square root of n_embd. Only the scores should be divided by this root, not"
            " the values or the outputs.",
        ),
        "heads-summed": Wrong(
            lambda model: (_blocks(model, "v").mT @ _o_blocks(model)).sum(0, keepdim=True).expand(model.n_head, -1, -1),
            "All heads get the same matrix, the sum over the heads. Each head mixes tokens with its own weights, so"
            " each head needs its own OV.",
        ),
        "keys-for-values": Wrong(
            lambda model: _blocks(model, "k").mT @ _o_blocks(model),
            "You use the keys' weight in place of the values' weight. A head passes on values.",
        ),
        "same-block-for-all": Wrong(
            lambda model: _blocks(model, "v").mT @ _o_blocks(model)[:1],
            "Every head uses head 0's part of o_proj. Head h has its own n_embd columns.",
        ),
    },
    hints=Hints(
        "A head mixes tokens, and the mixture goes through two matrices on its way out. Which two, and in which order?",
        "o_proj gets all heads side by side: its first n_embd columns belong to head 0, the next n_embd columns to"
        " head 1.",
        "Split v_proj's weight into [heads, n_embd, n_embd] and transpose each part; split o_proj's columns by heads"
        " and transpose each part to [n_embd, n_out]. Multiply them in this order.",
    ),
)


# ---------------------------------------------------------------- estimators


@with_steps
def _estimate(
    z_q,
    z,
    w,
    mu,
    *,
    scores=lambda x_q, x: x_q @ x.mT,
    weigh=lambda s, w: torch.softmax(w * s, dim=-1),
    values=lambda z: z[..., -1:],
    combine=sum,
    share=lambda m, t: m * t,
):
    """Compute the kernel estimate."""
    s = scores(z_q[..., :-1], z[..., :-1])
    return combine([share(m, weigh(s, a) @ values(z)) for a, m in zip(w, mu)])


def _mean(terms):
    return sum(terms) / len(terms)


def _softmax_of_all(z_q, z, w, mu, dim):
    """Estimate with one softmax for all heads: it runs along `dim` of their scores [heads, n, queries, L]."""
    scores = torch.stack([a * (z_q[..., :-1] @ z[..., :-1].mT) for a in w])
    weights = torch.exp(scores - scores.logsumexp(dim, keepdim=True))
    return sum(m * (head @ z[..., -1:]) for m, head in zip(mu, weights))


def _nadaraya_watson(z_q, z, w, mu):
    """Compute the kernel estimate Σ K(x_i) y_i / Σ K(x_i). To avoid overflow, K is divided by its maximum first."""
    x_q, x, y = z_q[..., :-1].double(), z[..., :-1].double(), z[..., -1].double()
    total = torch.zeros(*z_q.shape[:-1], dtype=torch.float64)
    for a, m in zip(w, mu):
        scores = float(a) * torch.einsum("nqd,nld->nql", x_q, x)
        k = torch.exp(scores - scores.amax(-1, keepdim=True))
        total = total + float(m) * torch.einsum("nql,nl->nq", k, y) / k.sum(-1)
    return total[..., None].float()


def _question(rand, *shape):
    """Sample z_q: x_q followed by a 0."""
    return torch.cat((rand(*shape), torch.zeros(*shape[:-1], 1)), dim=-1)


def _parts(z_q, z):
    """Return milestones: the x of the questions, and the x and y of the examples."""
    return {"the questions' x": z_q[..., :-1], "the examples' x": z[..., :-1], "the examples' y": z[..., -1:]}


def _kernel_milestones(z_q, z, w, mu):
    x_q, x, y = _parts(z_q, z).values()
    w, mu = (torch.tensor(numbers)[:, None, None, None] for numbers in (w, mu))
    scores = x_q @ x.mT
    weights = F.softmax(w * scores, -1)
    return {
        **_parts(z_q, z),
        "the scores": scores,
        "the scores times w": w * scores,
        **softmax_values(w * scores),
        "the weights times mu?": mu * weights,
        "the weighted means of y?": weights @ y,
        "the terms of the sum over heads": mu * weights @ y,
        "the weights times mu, summed over heads?": (mu * weights).sum(0),
    }


exercise(
    "kernel_estimator",
    oracle=_nadaraya_watson,
    milestones=_kernel_milestones,
    cases=lambda rand: [
        case(_question(rand, 3, 1, 5), rand(3, 7, 6), [0.8, -0.5], [1.5, -2.0]),
        case(_question(rand, 1, 1, 1), rand(1, 4, 2), [0.4], [3.0], note="with one prompt, one entry and one head"),
        case(
            _question(rand, 2, 3, 2),
            rand(2, 8, 3),
            [0.3, -0.9, 1.2],
            [0.7, 1.1, -1.3],
            note="with three questions and three heads",
        ),
        case(_question(rand, 2, 2, 3), rand(2, 1, 4), [0.6, 0.2], [0.5, -1.5], note="with one example"),
        case(
            _question(rand, 2, 1, 4),
            rand(2, 6, 5),
            [0.7, 0.7],
            [1.2, 0.4],
            note="with two heads that have the same w",
        ),
    ],
    returns=Float("n queries 1"),
    properties=[_prompts_alone],
    differentiable=False,
    misconceptions={
        "last-entry-left-out": Wrong(
            lambda z_q, z, w, mu: _estimate(z_q[..., :-1], torch.cat((z[..., :-2], z[..., -1:]), -1), w, mu),
            "The last entry of x does not affect your scores. A token is x followed by y, so x consists of all entries"
            " of the token except the last entry.",
        ),
        "one-head-for-equal-w": Wrong(
            lambda z_q, z, w, mu: _estimate(z_q, z, list(dict(zip(w, mu))), list(dict(zip(w, mu)).values())),
            "If two heads have the same w, your code uses only one of them, as if it stored them in a dict by w. Loop"
            " over the pairs of w and μ instead.",
        ),
        "mu-forgotten": _estimate.replace(share=lambda m, t: t).wrong(
            "Your μ has no effect. It should determine how much each head's weighted mean contributes to the answer."
        ),
        "w-forgotten": _estimate.replace(weigh=lambda s, w: torch.softmax(s, dim=-1)).wrong(
            "Your w has no effect. Multiply x_q·x_i by w before the softmax: a positive w gives more weight to examples"
            " similar to x_q, and a negative w to examples opposite to x_q."
        ),
        "w-after-the-softmax": _estimate.replace(weigh=lambda s, w: w * torch.softmax(s, dim=-1)).wrong(
            "You multiply the weights by w; multiply the scores by w instead. Before the softmax, w sharpens or inverts"
            " the weights; after the softmax, w has the same effect as μ."
        ),
        "not-a-softmax": _estimate.replace(weigh=lambda s, w: torch.exp(w * s)).wrong(
            "You compute exponentials but do not divide them by their sum. The weights of a softmax sum to one."
        ),
        "no-exponential": _estimate.replace(weigh=lambda s, w: w * s / s.shape[-1]).wrong(
            "You use the scores themselves as weights, as the gradient step does later in this lesson. The layer"
            " applies a softmax to the scores."
        ),
        "scaled-again": _estimate.replace(scores=lambda x_q, x: x_q @ x.mT / (x.shape[-1] + 1) ** 0.5).wrong(
            "You divide the scores by √(d + 1) again. w already contains this factor, because it was read from QK."
        ),
        "averaged-heads": _estimate.replace(combine=_mean).wrong(
            "You average the heads. Add their contributions, as o_proj does."
        ),
        "first-head-only": _estimate.replace(combine=lambda terms: terms[0]).wrong(
            "Only the first head contributes to your answer. Sum over all heads."
        ),
        "one-softmax": Wrong(
            lambda z_q, z, w, mu: _estimate(z_q, z, [sum(w)], [sum(mu)]),
            "You use one softmax with the sum of all w, and multiply its weighted mean of y by the sum of all μ. The"
            " softmax of a sum is not a sum of softmaxes: give each head its own softmax and its own μ.",
        ),
        "weights-averaged": Wrong(
            lambda z_q, z, w, mu: sum(mu) * _estimate.replace(share=lambda m, t: t, combine=_mean)(z_q, z, w, mu),
            "You average the weights of the heads, and multiply a single weighted mean of y by the sum of all μ. Each"
            " head should compute a weighted mean of y with its own weights, and multiply this mean by its own μ.",
        ),
        "one-softmax-for-all-heads": Wrong(
            lambda z_q, z, w, mu: _estimate(z_q, z, [sum(w) / len(w)], [sum(mu)]),
            "All heads share one softmax, which uses the mean of their w. Each head needs its own softmax, with its own"
            " w.",
        ),
        "one-softmax-for-heads-and-examples": Wrong(
            lambda z_q, z, w, mu: _softmax_of_all(z_q, z, w, mu, (0, 3)),
            "One softmax runs over heads and examples together, so the weights of all heads together sum to one. In"
            " each head, the weights over the examples should sum to one.",
        ),
        "mu-inside": Wrong(
            lambda z_q, z, w, mu: _estimate(z_q, z, [a * m for a, m in zip(w, mu)], [1.0] * len(w)),
            "You multiply the scores by μ. μ belongs outside the softmax: it determines how much a head's weighted mean"
            " contributes to the answer.",
        ),
        "softmax-over-heads": Wrong(
            lambda z_q, z, w, mu: _softmax_of_all(z_q, z, w, mu, 0),
            "Your softmax runs along the heads, so the heads compete for each example. In each head, the weights over"
            " the examples should sum to one.",
        ),
        "mean-of-examples": _estimate.replace(values=lambda z: z[..., -1:] / z.shape[-2]).wrong(
            "You average the weighted y over the examples, so the answer is L times too small. The weights of a"
            " softmax sum to one, so the weighted sum is already a mean."
        ),
        "wrong-axis": _estimate.replace(weigh=lambda s, w: torch.softmax(w * s, dim=-2)).wrong(
            "Your softmax runs along the questions, so with one question every weight is 1. It should run along the"
            " examples."
        ),
        "distance-kernel": _estimate.replace(scores=lambda x_q, x: -torch.cdist(x_q, x).square() / 2).wrong(
            "You weight the examples by their distance from x_q, as in the classic kernel estimate. Attention uses"
            " inner products: x_q·x_i."
        ),
        "x-mixed-in": _estimate.replace(values=lambda z: z.sum(-1, keepdim=True)).wrong(
            "Your average includes x. Only y, the last entry of an example, should go into the answer."
        ),
        "flat": Wrong(
            lambda z_q, z, w, mu: _estimate(z_q, z, w, mu).squeeze(-1),
            "Your result has lost its last axis. Keep the shape [n, queries, 1] of y_q: if you subtract a y_q of shape"
            " [n, 1, 1] from a result of shape [n, 1], broadcasting gives the shape [n, n, 1].",
        ),
    },
    equivalent={
        "y-in-the-product": lambda z_q, z, w, mu: _estimate.replace(scores=lambda x_q, x: z_q @ z.mT)(z_q, z, w, mu)
    },
    hints=Hints(
        "Start with one head: compute weights over the examples from x_q·x_i, then the average of y with these"
        " weights.",
        "x is z without its last entry, and y is the last entry. The softmax of w · x_q·x_i runs along the examples.",
        "The inner products of x_q with all x have the shape [n, queries, L]. For each pair of w and mu, multiply these"
        " products by w and apply the softmax; multiply the resulting weights by y, of shape [n, L, 1], and by mu; then"
        " add up the results of all pairs.",
    ),
)


def _gradient_step_by_autograd(z_q, z):
    """Take one step of gradient descent from β = 0 with rate 1. The loss is half the mean squared error."""
    with torch.enable_grad():
        beta = torch.zeros(len(z), z.shape[-1] - 1, 1, requires_grad=True)
        x, y = z[..., :-1].detach(), z[..., -1:].detach()
        loss = 0.5 * (x @ beta - y).square().mean(dim=1).sum()
        (step,) = torch.autograd.grad(loss, beta)
    return z_q[..., :-1] @ -step


@with_steps
def _step_from_zero(z_q, z, *, find_beta):
    """Predict with β = find_beta(x, y)."""
    return z_q[..., :-1] @ find_beta(z[..., :-1], z[..., -1:])


def _step_milestones(z_q, z):
    x_q, x, y = _parts(z_q, z).values()
    beta = (x * y).mean(1)[..., None]
    return {
        **_parts(z_q, z),
        "the residuals?": -y,
        "the squared residuals?": y**2,
        "the mean squared residuals?": (y**2).mean(1),
        "the losses?": (y**2).mean(1) / 2,
        "the products of x and y?": x * y,
        "the products of x and the residuals?": -x * y,
        "the sums of x times y?": x.mT @ y,
        "the sums of x times the residuals?": -x.mT @ y,
        "the dot products of the questions' x and the examples' x?": x_q @ x.mT,
        "the gradients?": -beta,
        "beta after the step?": beta,
        "the answer times the number of examples?": x_q @ x.mT @ y,
    }


exercise(
    "gradient_step_estimator",
    oracle=_gradient_step_by_autograd,
    milestones=_step_milestones,
    cases=lambda rand: [
        case(_question(rand, 3, 1, 4), rand(3, 6, 5)),
        case(_question(rand, 5, 1, 2), rand(5, 9, 3)),
        case(_question(rand, 2, 3, 3), rand(2, 4, 4), note="with three questions"),
        case(_question(rand, 1, 1, 1), rand(1, 1, 2), note="with one prompt, one example and one entry"),
    ],
    returns=Float("n queries 1"),
    properties=[_prompts_alone],
    differentiable=False,
    misconceptions={
        "two-steps": Wrong(
            _step_from_zero.replace(
                find_beta=lambda x, y: 2 * x.mT @ y / x.shape[-2] - x.mT @ (x @ (x.mT @ y)) / x.shape[-2] ** 2
            ),
            "You take two steps. Take only the first step, from β = 0.",
        ),
        "not-divided": _step_from_zero.replace(find_beta=lambda x, y: x.mT @ y).wrong(
            "You do not divide the sum over the examples by L, so your answer is L times too large."
        ),
        "factor-two": _step_from_zero.replace(find_beta=lambda x, y: 2 * x.mT @ y / x.shape[-2]).wrong(
            "Your result is twice as large as it should be. The loss is half the mean squared error, so the factor of 2"
            " from the derivative of the square cancels."
        ),
        "uphill": _step_from_zero.replace(find_beta=lambda x, y: -x.mT @ y / x.shape[-2]).wrong(
            "Your step increases the loss, because the sign is wrong. Gradient descent goes against the gradient, and"
            " the gradient at β = 0 is minus the mean of y·x."
        ),
        "divided-by-40": _step_from_zero.replace(find_beta=lambda x, y: x.mT @ y / 40).wrong(
            "You always divide the sum over the examples by 40. A prompt has L examples: read L from z."
        ),
        "averaged-over-prompts": Wrong(
            _step_from_zero.replace(find_beta=lambda x, y: x.mT @ y / (len(x) * x.shape[-2])),
            "You also average over the prompts, so each prompt's step is n times too small. Every prompt has its own"
            " β and its own loss: the mean over its L examples.",
        ),
        "one-beta-for-all-prompts": Wrong(
            _step_from_zero.replace(find_beta=lambda x, y: (x * y).mean(dim=(0, 1))[:, None]),
            "All prompts share one β, the mean over prompts and examples. Each prompt has its own slope, and only its"
            " own examples determine it.",
        ),
        "divided-by-d": _step_from_zero.replace(find_beta=lambda x, y: x.mT @ y / x.shape[-1]).wrong(
            "You divide the sum by d, the number of entries of x. Take the mean over the L examples."
        ),
        "centred": Wrong(
            _step_from_zero.replace(find_beta=lambda x, y: (x - x.mean(-2, keepdim=True)).mT @ y / x.shape[-2]),
            "You subtract the mean of x first. A pair of softmax heads does that, as you will see, but plain gradient"
            " descent does not.",
        ),
        "solved": _step_from_zero.replace(find_beta=lambda x, y: torch.linalg.pinv(x) @ y).wrong(
            "You return the whole least-squares solution. Take a single gradient step from β = 0 instead."
        ),
        "normalised": Wrong(
            _step_from_zero.replace(find_beta=lambda x, y: x.mT @ y / x.square().sum((-2, -1), keepdim=True)),
            "You divide the sum by the sum of the squared lengths of all x. The learning rate is 1 and the loss is a"
            " mean over the examples, so divide by L.",
        ),
        "softmaxed": Wrong(
            lambda z_q, z: torch.softmax(z_q[..., :-1] @ z[..., :-1].mT, -1) @ z[..., -1:],
            "You apply a softmax to the inner products. A gradient step uses them unchanged, including the negative"
            " ones.",
        ),
        "flat": Wrong(
            lambda z_q, z: _gradient_step_by_autograd(z_q, z).squeeze(-1),
            "Your result has lost its last axis. Keep the shape [n, queries, 1] of y_q.",
        ),
    },
    equivalent={"with-the-zero": lambda z_q, z: z_q @ z.mT @ z[..., -1:] / z.shape[-2]},
    hints=Hints(
        "Work out β after one step from 0: each example moves β in the direction of its x, in proportion to its y.",
        "β is the mean of y_i · x_i over the examples, and the answer is β·x_q.",
        "x.mT @ y is the sum of y_i · x_i, of shape [n, d, 1]. Divide it by L, and multiply it by x_q from the left.",
    ),
)
