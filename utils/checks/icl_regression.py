"""Exercises of lesson 10: prompts of linear regression, a layer that answers them, its circuits, and the estimators it
comes down to."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.checks._attention import (
    divided_by_width_message,
    multiplied_by_root_message,
    restrict_to_cases,
    torch_attention,
)
from utils.checks._layer_order import made_in_order
from utils.checks._sampling import batches_from_their_generator
from utils.feedback.exercise import Facts, Float, Hints, Wrong, case, exercise, layer_parameters
from utils.feedback.observe import collect_tensors
from utils.feedback.phrases import article
from utils.feedback.properties import batch_independent, finite_when_scaled, moves_with_its_module, remembers_nothing
from utils.feedback.report import format_number
from utils.test_doubles.icl_regression import FakeQueryAttention

# ---------------------------------------------------------------- data


def _drawn(
    x_like=None,
    noise=lambda d, s: d**0.5 * s,
    errors=lambda n, L: (n, L, 1),
    spread=torch.randn,
    question=None,
    answer_noise=0.0,
    beta_of=None,
    order="xy",
    examples_alone=False,
):
    """Prompts with one piece replaced. All draws come from the generator."""

    def sample(n, L, d, noise_std, generator=None):
        x = spread(n, L, d, generator=generator) if x_like is None else x_like(n, L, d, generator)
        x_q = spread(n, 1, d, generator=generator)
        beta = torch.randn(n, d, 1, generator=generator) if beta_of is None else beta_of(n, d, generator)
        y = x @ beta + noise(d, noise_std) * torch.randn(*errors(n, L), generator=generator)
        y_q = x_q @ beta + answer_noise * noise(d, noise_std) * torch.randn(n, 1, 1, generator=generator)
        last = torch.zeros_like(y_q) if question is None else question(y_q)
        pairs = ((x, y), (x_q, last))
        z, z_q = (
            torch.cat(pair if turned == "xy" else pair[::-1], dim=-1)
            for pair, turned in zip(pairs, (order, "xy" if examples_alone else order))
        )
        return z_q, z, y_q

    return sample


class _Fact(NamedTuple):
    """What is measured of the prompts.

    Attributes:
        size: whether it is a size, off by octaves rather than by a sign.
        slack: at least six standard deviations at 1500 prompts (a test measures), so that a right answer is never taken
            for a wrong one.
        words: what to say where it is off.
    """

    size: bool
    slack: float
    words: str


_OWN = "and {wanted} is expected"
_FOURTH = "the mean of their fourth powers is {seen} times the square of that of their squares, and 3 is expected"
_BY_ITSELF = f"the mean of their product is {{seen}}, {_OWN}. Each entry is drawn by itself."
_AN_EXAMPLE = "In {percent} % of the prompts the question's x is the x of an example, so that its answer stands in the"
_MEASURED = {
    "y in front": _Fact(
        False, 0.5, "In z, the first number of a token varies more than the last. x comes first, and y last."
    ),
    "end of z_q": _Fact(
        False,
        1e-6,
        "The last entry of z_q goes up to {seen} in size, and 0 stands there: the question's y is what is asked for.",
    ),
    "mean of x and x_q": _Fact(False, 0.08, f"The entries of x and x_q have a mean of {{seen}}, {_OWN}."),
    "spread of x": _Fact(True, 0.08, f"The entries of x have a standard deviation of {{seen}}, {_OWN}."),
    "fourth moment of x": _Fact(False, 0.25, f"The entries of x are not normally distributed: {_FOURTH}."),
    "likeness in x": _Fact(False, 0.08, f"The first and the last entry of x go together: {_BY_ITSELF}"),
    "x between prompts": _Fact(
        True,
        0.1,
        f"From prompt to prompt, the entries of the first x have a standard deviation of {{seen}}, {_OWN}. Each prompt"
        " draws x of its own.",
    ),
    "x within a prompt": _Fact(
        True,
        0.08,
        f"Within a prompt, the entries of x have a standard deviation of {{seen}}, {_OWN}. Each example draws an x of"
        " its own.",
    ),
    "x_q among x": _Fact(False, 1e-6, f"{_AN_EXAMPLE} prompt. x_q is a draw of its own."),
    "x_q always among x": _Fact(False, 1e-6, f"{_AN_EXAMPLE} prompt. x_q is a draw of its own."),
    "likeness of x_q and x": _Fact(
        False,
        0.12,
        f"The question's x goes with the x of an example: the mean of their products is {{seen}}, {_OWN}. x_q is a"
        " draw of its own.",
    ),
    "spread of x_q": _Fact(True, 0.1, f"The entries of x_q have a standard deviation of {{seen}}, {_OWN}."),
    "fourth moment of x_q": _Fact(False, 0.6, f"The entries of x_q are not normally distributed: {_FOURTH}."),
    "likeness in x_q": _Fact(False, 0.2, f"The first and the last entry of x_q go together: {_BY_ITSELF}"),
    "mean of β": _Fact(False, 0.12, f"The entries of β have a mean of {{seen}}, {_OWN}."),
    "β between prompts": _Fact(
        True,
        0.1,
        f"From prompt to prompt, the entries of β have a standard deviation of {{seen}}, {_OWN}. Each prompt draws a β"
        " of its own, with variance 1.",
    ),
    "fourth moment of β": _Fact(False, 0.6, f"The entries of β are not normally distributed: {_FOURTH}."),
    "likeness in β": _Fact(False, 0.2, f"The first and the last entry of β go together: {_BY_ITSELF}"),
    "shared error": _Fact(
        False,
        0.2,
        "At the same place, the errors of y are alike in all prompts: the spread of their means is {seen} of their"
        " size, and next to 0 is expected. Each prompt draws errors of its own.",
    ),
    "mean of the errors": _Fact(False, 0.1, f"The errors of y have a mean of {{seen}}, {_OWN}."),
    "noise within a prompt": _Fact(
        True,
        0.07,
        "Within a prompt, the errors of y have a standard deviation of {seen}, and noise_std · √d = {wanted} is"
        " expected.",
    ),
    "noise": _Fact(
        True,
        0.07,
        "The errors of y are {seen} in size, the root of their mean square, and noise_std · √d = {wanted} is expected.",
    ),
    "y_q off β·x_q": _Fact(
        True,
        0.14,
        "y_q and β·x_q are {seen} apart, the root of the mean square, and {wanted} is expected (β is taken from the"
        " examples, by least squares).",
    ),
}
_SIZES = torch.tensor([fact.size for fact in _MEASURED.values()])
SLACK = torch.tensor([fact.slack for fact in _MEASURED.values()], dtype=torch.float64)

_OF_X = ("mean of x and x_q", "spread of x", "fourth moment of x", "likeness in x")
_OF_X_Q = ("likeness of x_q and x", "spread of x_q", "fourth moment of x_q", "likeness in x_q")
_OF_BETA = ("mean of β", "β between prompts", "fourth moment of β", "likeness in β")
_OF_Y = ("shared error", "mean of the errors", "noise within a prompt", "noise", "y_q off β·x_q")
# Where the first is off, the others say no more: they come out by chance, or as they must.
_FOLLOWS = {
    "y in front": (*_OF_X, "x between prompts", "x within a prompt", "likeness of x_q and x", *_OF_BETA, *_OF_Y),
    "end of z_q": (*_OF_X_Q, "y_q off β·x_q"),
    "x between prompts": (*_OF_X, "x within a prompt", "likeness of x_q and x", *_OF_BETA, *_OF_Y),
    "x within a prompt": (*_OF_X, "likeness of x_q and x", *_OF_BETA, *_OF_Y),
    "spread of x": ("x between prompts", "x within a prompt", *_OF_BETA, "y_q off β·x_q"),
    "likeness in x": (*_OF_BETA, *_OF_Y),
    "x_q among x": ("likeness of x_q and x", "y_q off β·x_q"),
    "β between prompts": ("mean of β", "fourth moment of β", "likeness in β"),
    "shared error": ("mean of the errors", "noise within a prompt", "noise", *_OF_BETA, "y_q off β·x_q"),
    "noise within a prompt": ("noise", "y_q off β·x_q"),
    "noise": ("y_q off β·x_q",),
}
_ONLY_IF_NONE = ("x between prompts", "x within a prompt", "β between prompts")  # where there is next to none of it
_FLOOR = torch.tensor([2.0 ** (-3 if name in _ONLY_IF_NONE else -12) for name in _MEASURED], dtype=torch.float64)


def _fourth_moment(t):
    return t.square().square().mean() / t.square().mean().square().clamp_min(1e-9)


def _likeness(t):
    return (t[..., 0] * t[..., -1]).mean()


def _slopes(x, y):
    return torch.linalg.solve(x.mT @ x + 1e-9 * torch.eye(x.shape[-1], dtype=x.dtype), x.mT @ y)


def measured(z_q, z, y_q, d):
    """The numbers of _MEASURED; β is found again by least squares."""
    n, L, _ = z.shape
    x, y, x_q = z[..., :d], z[..., d:], z_q[..., :d]
    beta = _slopes(x, y)
    left = y - x @ beta
    within = left - left.mean(dim=1, keepdim=True)
    front, end = z[..., 0].std(), z[..., d].std()
    noise = (left.square().sum() / (n * (L - d))).sqrt()
    among = (x_q == x).all(-1).any(-1).double()
    found = {
        "y in front": (front > 1.2 and abs(end - 1) < 0.1).double(),
        "x between prompts": x[:, 0].std(dim=0).mean(),
        "x within a prompt": (x - x.mean(dim=1, keepdim=True)).square().mean().sqrt() * (L / (L - 1)) ** 0.5,
        "likeness in x": _likeness(x),
        "mean of x and x_q": (x.mean() + x_q.mean()) / 2,
        "spread of x": x.std(),
        "fourth moment of x": _fourth_moment(x),
        "x_q among x": among.mean(),
        "x_q always among x": among.min(),
        "likeness of x_q and x": (x_q * x).mean(dim=(0, 2)).abs().max(),
        "likeness in x_q": _likeness(x_q),
        "spread of x_q": x_q.std(),
        "fourth moment of x_q": _fourth_moment(x_q),
        "mean of β": beta.mean(),
        "β between prompts": (beta.var(dim=0).mean() - noise.square() / (L - d - 1)).clamp_min(0).sqrt(),
        "likeness in β": _likeness(beta.mT),
        "fourth moment of β": _fourth_moment(beta),
        "shared error": left.mean(dim=0).std() / (1 - d / L) / noise.clamp_min(1e-6),
        "mean of the errors": left.mean() / (1 - d / L),  # a fit to d slopes takes its part of each error
        "noise within a prompt": (within.square().sum() / (n * (L - d - 1 + d / L))).sqrt(),
        "noise": noise,
        "end of z_q": z_q[..., d].abs().max(),
        "y_q off β·x_q": (y_q - x_q @ beta).square().mean().sqrt(),
    }
    return torch.stack([found[name] for name in _MEASURED])


def known(L, d, noise_std):
    """What these numbers are for infinitely many prompts: E (XᵀX)⁻¹ = I / (L − d − 1) for normal x."""
    variance = d * noise_std**2
    beyond = variance / (L - d - 1)
    ideal = {
        **{name: 1 for name, fact in _MEASURED.items() if fact.size},
        **{name: 3 for name in _MEASURED if name.startswith("fourth")},
        "noise within a prompt": variance**0.5,
        "noise": variance**0.5,
        "y_q off β·x_q": (d * beyond) ** 0.5,
    }
    return torch.tensor([ideal.get(name, 0) for name in _MEASURED], dtype=torch.float64)


def _off(numbers, n, L, d, noise_std):
    """How far each number is off: 0 within the slack, which widens where there are few prompts, else in parts of
    octaves for sizes, and as a sign for the rest."""
    ideal = known(L, d, noise_std)
    octaves = torch.log2((numbers / ideal).clamp(_FLOOR, torch.full_like(_FLOOR, 2**8)))
    octaves = (octaves * 2.6).round() / 2.6  # no misconception lies on the border of two steps (a test measures)
    octaves = torch.where(octaves == 0, (numbers - ideal).sign() / 4, octaves)
    off = torch.where(_SIZES & (ideal > 0), octaves, (numbers - ideal).sign())
    off = torch.where((numbers - ideal).abs() <= SLACK * max(1.0, 1500 / n) ** 0.5, 0.0, off).float()
    places = {name: i for i, name in enumerate(_MEASURED)}
    for name, others in _FOLLOWS.items():
        if off[places[name]] and (name not in _ONLY_IF_NONE or off[places[name]] <= -3):
            off[[places[other] for other in others]] = 0.0
    return off


def _drawn_sizes(result, case):
    """Whether these are three tensors of the right sizes, of floating point."""
    if not isinstance(result, (tuple, list)) or len(result) != 3 or not all(isinstance(t, Tensor) for t in result):
        return False
    n, L, d = case.args[:3]
    sizes = [[n, 1, d + 1], [n, L, d + 1], [n, 1, 1]]
    return [list(t.shape) for t in result] == sizes and all(t.is_floating_point() for t in result)


def _numbers_of(result, case):
    return measured(*(t.detach().double() for t in result), case.args[2])


def _how_drawn(result, case):
    """Shapes and types as they are, and how far the numbers that say how the prompts were drawn are off."""
    if not isinstance(result, (tuple, list)) or not all(isinstance(t, Tensor) for t in result):
        return result
    shapes = tuple(torch.zeros_like(t) for t in result)
    if not _drawn_sizes(result, case):
        return (*shapes, torch.full((len(_MEASURED),), torch.nan)) if len(shapes) == 3 else result
    return *shapes, _off(_numbers_of(result, case), *case.args[:4])


def _drawn_otherwise(probe):
    """What was measured, and what is expected: told of the prompts without noise first, for there β can be read off."""
    for trial in sorted(probe.trials, key=lambda trial: trial.case.args[3]):
        result = probe.run(trial.case).value
        if not _drawn_sizes(result, trial.case):
            continue
        numbers, (n, L, d, noise_std) = _numbers_of(result, trial.case), trial.case.args[:4]
        ideal, off = known(L, d, noise_std), _off(numbers, n, L, d, noise_std)
        for i, fact in enumerate(_MEASURED.values()):
            if off[i]:
                seen, wanted = numbers[i].item(), ideal[i].item()
                return _drawn_evenly(result, trial.case) or fact.words.format(
                    seen=format_number(seen, 2),
                    wanted=f"{wanted:.2f}".removesuffix(".00"),
                    percent=f"{100 * seen:.0f}",
                )
    return None


def _drawn_evenly(result, case):
    """What to say where all entries lie from 0 to 1."""
    d, noise_std = case.args[2:4]
    z_q, z, _ = (t.detach().double() for t in result)
    parts = {"x": z[..., :d], "x_q": z_q[..., :d]}
    if not noise_std:
        parts["β"] = _slopes(z[..., :d], z[..., d:])
    names = [name for name, t in parts.items() if t.min() >= -1e-6 and t.max() <= 1 + 1e-6 and t.std() > 0.2]
    if not names:
        return ""
    entries = " and of ".join(names)
    return f"All entries of {entries} lie between 0 and 1, as rand draws them. Normal numbers come from randn."


def _asks_an_example(n, L, d, noise_std, generator=None):
    """The question repeats the first example's x."""
    x = torch.randn(n, L, d, generator=generator)
    beta = torch.randn(n, d, 1, generator=generator)
    y = x @ beta + d**0.5 * noise_std * torch.randn(n, L, 1, generator=generator)
    return torch.cat((x[:, :1], torch.zeros(n, 1, 1)), -1), torch.cat((x, y), -1), x[:, :1] @ beta


_from_the_generator = batches_from_their_generator(
    "prompts",
    *(6, 5, 3, 0.1),
    elsewhere=": some numbers are drawn elsewhere. Pass the generator on to every call that draws, so that an"
    " experiment can be made again.",
    constant="; draw from torch's own random numbers then.",
)


def _errors_from_the_generator(probe):
    """The noise too: what noise_std adds to the same draws."""

    def drawn(seed, noise_std):
        return probe.run(case(6, 5, 3, noise_std, torch.Generator().manual_seed(seed)))

    pairs = [(drawn(seed, 0.1), drawn(seed, 0.0)) for seed in (1, 2)]
    if any(seen.failure for pair in pairs for seen in pair):
        return None
    noise = [loud.value[1] - exact.value[1] for loud, exact in pairs]
    if noise[0].abs().max() > 1e-3 and torch.allclose(*noise, atol=1e-5):
        return (
            "Two generators in different states gave the same errors of y. They too are drawn from the generator that"
            " is passed in."
        )
    return None


def _few_prompts(probe):
    """One prompt, one example, one entry."""
    for asked in (case(1, 1, 1, 0.1), case(2, 1, 3, 0.0), case(1, 2, 1, 0.5)):
        seen = probe.run(asked)
        call = f"sample_regression{asked.args}"
        if seen.failure:
            return f"{call}, without a generator, stopped with {article(seen.failure.type)}: {seen.failure.text}"
        if not _drawn_sizes(seen.value, asked):
            shapes = ", ".join(str(list(t.shape)) for t in collect_tensors(seen.value))
            n, L, d = asked.args[:3]
            return (
                f"{call} gives tensors of shapes {shapes}; expected are [{n}, 1, {d + 1}], [{n}, {L}, {d + 1}], [{n},"
                " 1, 1]. Axes of size 1 stay."
            )
    return None


exercise(
    "sample_regression",
    oracle=_drawn(),
    cases=lambda rand: [
        case(1500, 16, 5, 0.5, torch.Generator().manual_seed(int(rand.integers(1, high=10_000)))),
        case(1500, 10, 2, 0.0, torch.Generator().manual_seed(int(rand.integers(1, high=10_000))), note="without noise"),
    ],
    parse_result=_how_drawn,
    returns=(
        Float("n 1 d+1", name="z_q"),
        Float("n L d+1", name="z"),
        Float("n 1 1", name="y_q"),
        Facts("how the prompts were drawn"),
    ),
    properties=[_drawn_otherwise, _errors_from_the_generator, _from_the_generator, _few_prompts],
    differentiable=False,
    misconceptions={
        "noise-not-scaled": Wrong(
            _drawn(noise=lambda d, s: s),
            "The noise has standard deviation noise_std. β·x itself has √d, and the noise is given relative to that:"
            " noise_std times √d.",
        ),
        "noise-times-d": Wrong(
            _drawn(noise=lambda d, s: d * s),
            "The noise has standard deviation noise_std times d. Its variance is d · noise_std²; the deviation is the"
            " root of that.",
        ),
        "no-noise": Wrong(
            _drawn(noise=lambda d, s: 0.0),
            "The y of the examples are exact. Each gets noise of its own, √d · noise_std in size.",
        ),
        "one-error-for-a-prompt": Wrong(
            _drawn(errors=lambda n, L: (n, 1, 1)),
            "All examples of a prompt carry the same error. That shifts the whole line; each example has an error of"
            " its own, [n, L, 1] of them.",
        ),
        "one-error-for-all-prompts": Wrong(
            _drawn(errors=lambda n, L: (1, L, 1)),
            "All prompts carry the same errors: example 0 of each is off by one and the same number. Each prompt draws"
            " its own, [n, L, 1] of them.",
        ),
        "one-number-for-beta": Wrong(
            _drawn(beta_of=lambda n, d, g: torch.randn(n, 1, 1, generator=g).expand(n, d, 1)),
            "All entries of a prompt's β are the same number. β has d entries, each drawn for itself.",
        ),
        "noisy-answer": Wrong(
            _drawn(answer_noise=1.0),
            "y_q carries noise too. It is what an answer is compared with, and no method could foresee that noise: y_q"
            " is β·x_q and nothing else.",
        ),
        "answer-given-away": Wrong(
            _drawn(question=lambda y_q: y_q),
            "z_q ends in y_q, so the question holds its own answer. A model would copy it; the place of y stays 0.",
        ),
        "one-beta-for-all": Wrong(
            _drawn(beta_of=lambda n, d, g: torch.randn(1, d, 1, generator=g).expand(n, -1, -1)),
            "All prompts of a batch share one β. A model could then learn that β by heart; each prompt has its own, so"
            " that it can only be found in the examples.",
        ),
        "one-x-for-all": Wrong(
            _drawn(x_like=lambda n, L, d, g: torch.randn(1, L, d, generator=g).expand(n, -1, -1)),
            "All prompts share the same x. Each prompt draws its own examples.",
        ),
        "one-x-in-a-prompt": Wrong(
            _drawn(x_like=lambda n, L, d, g: torch.randn(n, 1, d, generator=g).expand(-1, L, -1)),
            "All examples of a prompt sit at the same x. From one point nobody can tell a slope; each example"
            " is drawn afresh.",
        ),
        "uniform": Wrong(
            _drawn(spread=torch.rand),
            "x is drawn evenly from 0 to 1. It is normal, with mean 0 and variance 1: randn, not rand.",
        ),
        "examples-first": Wrong(
            lambda *sizes: tuple(_drawn()(*sizes)[i] for i in (1, 0, 2)),
            "z and z_q have changed places. The question stands first: (z_q, z, y_q).",
        ),
        "y-first": Wrong(
            _drawn(order="yx"),
            "y stands before x in the tokens. An example reads (x, y): the first d entries are x, the last one is y.",
        ),
        "y-first-in-the-examples": Wrong(
            _drawn(order="yx", examples_alone=True),
            "In z, y stands before x. An example reads (x, y): the first d entries are x, the last one is y, as in"
            " z_q.",
        ),
        "x_q-from-the-examples": Wrong(
            _asks_an_example,
            "The question's x is the x of an example. Its answer then stands in the prompt, and nothing has to be"
            " learned; x_q is a new point.",
        ),
        "beta-shrunk": Wrong(
            _drawn(beta_of=lambda n, d, g: torch.randn(n, d, 1, generator=g) / d**0.5),
            "β was divided by √d. Here each entry of β has variance 1, and it is the noise that takes √d.",
        ),
    },
    hints=Hints(
        "Four things are drawn for each prompt: L points x, one question x_q, one β, and L small errors. What are"
        " their shapes, with n in front?",
        "With β as [n, d, 1], x @ β is [n, L, 1]: a matrix product for each prompt. torch.cat along the last axis"
        " makes tokens of x and y.",
        "Draw x, x_q, beta and the noise with torch.randn(..., generator=generator). y is x @ beta plus √d · noise_std"
        " times the noise; z joins x and y; z_q joins x_q and zeros; y_q is the question's own product with β.",
    ),
)


# ---------------------------------------------------------------- the layer


def _heads(p, t, name):
    """[n, seq, D] through all heads' [heads · D, D] to [n, heads, seq, D]."""
    return torch.einsum("nsd,hed->nhse", t, p[f"{name}_proj.weight"].unflatten(0, (-1, t.shape[-1])))


def _across_positions(p, t, name):
    """The same numbers cut by a view alone, so that a head gets whole vectors of a part of the positions."""
    whole = t @ p[f"{name}_proj.weight"].mT
    return whole.reshape(len(t), -1, *t.shape[1:])


def _in_turn(p, t, name):
    """Every n-th number for a head instead of neighbours."""
    return (t @ p[f"{name}_proj.weight"].mT).unflatten(-1, (t.shape[-1], -1)).permute(0, 3, 1, 2)


def _merge(heads):
    return heads.transpose(1, 2).flatten(2)


def _layer(
    scale=lambda D, H: D**-0.5,
    heads=_heads,
    keys=lambda z_q, z: z,
    swap=False,
    axis=-1,
    merge=_merge,
    mask=lambda scores: scores,
    out=lambda y: y,
):
    """The layer with one piece replaced."""

    def answer(p, z_q, z):
        seen = keys(z_q, z)
        q, k = (heads(p, z_q, "k"), heads(p, z, "q")) if swap else (heads(p, z_q, "q"), heads(p, seen, "k"))
        scores = mask(q @ k.mT * scale(z.shape[-1], q.shape[1]))
        mixed = torch.softmax(scores, dim=axis) @ heads(p, seen, "v")
        return out(merge(mixed) @ p["o_proj.weight"].mT)

    return answer


def _by_torch(p, z_q, z):
    mixed = torch_attention(_heads(p, z_q, "q"), _heads(p, z, "k"), _heads(p, z, "v"))
    return F.linear(_merge(mixed), p["o_proj.weight"])


def _start(n_embd, n_head, n_out=1, bias=False, width=None, keys_first=False):
    width = width or n_embd
    q, k, v = (nn.Linear(n_embd, n_head * width, bias=bias) for _ in range(3))
    if keys_first:
        q, k = k, q
    return layer_parameters(q_proj=q, k_proj=k, v_proj=v, o_proj=nn.Linear(n_head * width, n_out, bias=bias))


def _prompts_alone(probe):
    """What a prompt gives does not depend on the other prompts of its batch."""
    if batch_independent(0)(probe) or batch_independent(1)(probe):
        return (
            "Prompts leak into each other: prompt 0 got another answer when only the others changed. Each has a β of"
            " its own, so none may see another."
        )
    return None


def _filled_batch(case):
    return case.fill and len(case.args[0]) > 1


def _keeps_its_sizes(probe):
    """The circuits read n_embd, n_head and n_out."""
    asked = {"n_embd": 6, "n_head": 3, "n_out": 2}
    kept = probe.run(case(torch.zeros(1, 1, 6), torch.zeros(1, 2, 6), init=tuple(asked.values())), attributes=asked)
    for name, size in asked.items():
        found = (kept.attributes or {}).get(name)
        if found != size:
            has = f"has no attribute `{name}`" if found is None else f"has {found} as its `{name}`, not {size}"
            return (
                f"QueryAttention(6, 3, 2) works, and {has}. The circuits that come next read the three sizes from the"
                " layer."
            )
    return None


exercise(
    "QueryAttention",
    initial_parameters=_start,
    oracle=_by_torch,
    cases=lambda rand: [
        case(rand(3, 2, 4), rand(3, 5, 4), init=(4, 3, 2), note="with two questions and two outputs"),
        case(rand(2, 1, 6), rand(2, 7, 6), init=(6, 2), fill=False, seed=4, note="as it starts"),
        case(rand(1, 1, 3), rand(1, 1, 3), init=(3, 1), seed=1, note="with one prompt, one example and one head"),
    ],
    returns=Float("n queries n_out"),
    properties=[
        made_in_order("q_proj", "k_proj", "v_proj", "o_proj"),
        *(
            restrict_to_cases(broken, predicate=_filled_batch)
            for broken in (_prompts_alone, moves_with_its_module, remembers_nothing, finite_when_scaled())
        ),
        _keeps_its_sizes,
    ],
    misconceptions={
        "not-scaled": Wrong(
            _layer(scale=lambda D, H: 1.0),
            "The scores are not divided by the root of the heads' width. Here each head is n_embd wide, so that is"
            " √n_embd.",
        ),
        "multiplied": Wrong(_layer(scale=lambda D, H: D**0.5), multiplied_by_root_message("n_embd")),
        "divided-by-the-width": Wrong(_layer(scale=lambda D, H: 1 / D), divided_by_width_message("n_embd")),
        "scaled-by-all-heads": Wrong(
            _layer(scale=lambda D, H: (D * H) ** -0.5),
            "The scores are divided by the root of the width of all heads together. A score is a product over one"
            " head's n_embd numbers.",
        ),
        "scaled-by-a-part": Wrong(
            _layer(scale=lambda D, H: (D / H) ** -0.5),
            "The scores are divided by √(n_embd / n_head), as if the heads shared n_embd among them. Here each head is"
            " n_embd wide itself.",
        ),
        "sees-itself": Wrong(
            _layer(keys=lambda z_q, z: torch.cat((z, z_q), dim=1)),
            "The question is among the keys, so that it looks at itself. Its y is 0 and says nothing; it looks at the"
            " examples in z alone.",
        ),
        "roles-swapped": Wrong(
            _layer(swap=True),
            "q_proj was used on the examples and k_proj on the question. The question asks: z_q goes through q_proj, z"
            " through k_proj and v_proj.",
        ),
        "softmax-over-questions": Wrong(
            _layer(axis=-2),
            "The softmax runs along the questions. Each question shares out its attention over the examples, the last"
            " axis of the scores.",
        ),
        "softmax-over-heads": Wrong(
            _layer(axis=1),
            "The softmax runs along the heads, so that heads compete for each example. Every head shares out one unit"
            " of its own over the examples.",
        ),
        "heads-not-moved-back": Wrong(
            _layer(merge=lambda heads: heads.reshape(len(heads), heads.shape[2], -1)),
            "The heads were flattened where they stand, [n, heads, queries, …]. With several questions that mixes them"
            " up; the heads' axis goes behind the questions' first.",
        ),
        **{
            f"heads-cut-across-positions{which}": Wrong(
                _layer(heads=_across_positions, merge=merge),
                "The heads were cut by a view alone, straight to [n, heads, seq, n_embd], so that a head gets whole"
                " vectors of a part of the positions. Cut the last axis, then move the heads forward.",
            )
            for which, merge in (("", _merge), ("-and-back", lambda t: t.reshape(len(t), t.shape[2], -1)))
        },
        "heads-in-turn": Wrong(
            _layer(heads=_in_turn),
            "The numbers were dealt out to the heads in turn. A head's numbers are neighbours: the first n_embd of them"
            " are head 0's.",
        ),
        "averaged-heads": Wrong(
            _layer(merge=lambda heads: _merge(heads) / heads.shape[1]),
            "The heads' results are divided by their number. o_proj weighs them; nothing else does.",
        ),
        "causal": Wrong(
            _layer(mask=lambda s: s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)),
            "A causal mask hides examples. All of them come before the question, so nothing has to be hidden.",
        ),
        "squeezed": Wrong(
            _layer(out=lambda y: y.squeeze()),
            "The result has lost its axes of size 1. Keep [n, queries, n_out]: beside a y_q of [n, 1, 1], a flat one"
            " would be stretched into a table.",
        ),
        "with-biases": Wrong(
            _by_torch,
            "The layers have biases. This experiment has none: all that a head does is then in two matrix products.",
            initial_parameters=lambda n_embd, n_head, n_out=1: _start(n_embd, n_head, n_out, bias=True),
        ),
        "keys-made-first": Wrong(
            _by_torch,
            "k_proj is made before q_proj. Each layer draws its numbers when it is made, so with one seed another"
            " order starts with other weights: q_proj, k_proj, v_proj, o_proj.",
            initial_parameters=lambda n_embd, n_head, n_out=1: _start(n_embd, n_head, n_out, keys_first=True),
        ),
        "heads-share-the-width": Wrong(
            _by_torch,
            "The heads share n_embd among them. Here each head is as wide as a token: the projections give n_embd ·"
            " n_head numbers.",
            initial_parameters=lambda n_embd, n_head, n_out=1: _start(
                n_embd, n_head, n_out, width=max(1, n_embd // n_head)
            ),
        ),
    },
    hints=Hints(
        "It is lesson 05's layer with two differences: queries come from z_q, keys and values from z; and each head is"
        " n_embd wide.",
        "unflatten(-1, (n_head, n_embd)) and a transpose split the heads; no mask is needed.",
        "q from q_proj(z_q), k and v from z, each [n, heads, seq, n_embd]. softmax(q @ k.mT / root of n_embd) @ v;"
        " move the heads' axis back behind the questions', flatten, and send it through o_proj.",
    ),
)


# ---------------------------------------------------------------- circuits


def _qk_by_basis(model):
    """What a head makes of unit vectors: entry [a, b] is the score of question e_a with example e_b."""
    eye = torch.eye(model.n_embd)
    q, k = (proj(eye).detach().view(model.n_embd, model.n_head, -1) for proj in (model.q_proj, model.k_proj))
    return torch.stack([q[:, h] @ k[:, h].T for h in range(model.n_head)]) / model.n_embd**0.5


def _ov_by_basis(model):
    """What comes out of a head that sees nothing but e_a, for each a."""
    values = model.v_proj(torch.eye(model.n_embd)).detach()
    only = []
    for h in range(model.n_head):
        kept = torch.zeros_like(values)
        part = slice(h * model.n_embd, (h + 1) * model.n_embd)
        kept[:, part] = values[:, part]
        only.append(model.o_proj(kept).detach())
    return torch.stack(only)


def _blocks(model, name):
    return getattr(model, f"{name}_proj").weight.detach().view(model.n_head, model.n_embd, model.n_embd)


def _o_blocks(model):
    return (
        model.o_proj.weight.detach().view(model.n_out, model.n_head, model.n_embd).permute(1, 2, 0)
    )  # [heads, D, n_out]


def _mixed(model, name):
    """The heads cut across: every n_head-th row instead of neighbouring ones."""
    return getattr(model, f"{name}_proj").weight.detach().view(model.n_embd, model.n_head, model.n_embd).transpose(0, 1)


_TRANSPOSED_LINEAR = "nn.Linear keeps its weight as [out, in] and multiplies by its transpose"

exercise(
    "qk_circuit",
    oracle=_qk_by_basis,
    cases=lambda rand: [case(FakeQueryAttention(*sizes, rand)) for sizes in ((4, 3, 1), (3, 2, 2), (6, 1, 1))],
    returns=Float("heads D D"),
    differentiable=False,
    misconceptions={
        "question-and-example-swapped": Wrong(
            lambda model: _blocks(model, "k").mT @ _blocks(model, "q") / model.n_embd**0.5,
            "Rows and columns have changed places: yours is to be multiplied as z @ QK @ z_q. The question stands on"
            " the left, so the queries' matrix comes first.",
        ),
        "wrong-side": Wrong(
            lambda model: _blocks(model, "q") @ _blocks(model, "k").mT / model.n_embd**0.5,
            "The product runs over the entries of the tokens instead of over the head's own numbers. "
            + _TRANSPOSED_LINEAR
            + ", so it is the query weight that has to be turned, not the key weight. The sizes agree either way, and"
            " the numbers do not.",
        ),
        "not-turned": Wrong(
            lambda model: _blocks(model, "q") @ _blocks(model, "k") / model.n_embd**0.5,
            "The two weights were multiplied as they stand. "
            + _TRANSPOSED_LINEAR
            + ", so one of the two has to be turned.",
        ),
        "both-turned": Wrong(
            lambda model: _blocks(model, "q").mT @ _blocks(model, "k").mT / model.n_embd**0.5,
            "Both weights were turned. The head's own numbers have to meet in the middle of the product: one weight"
            " brings them as rows, so only one is turned.",
        ),
        "not-scaled": Wrong(
            lambda model: _blocks(model, "q").mT @ _blocks(model, "k"),
            "The root of n_embd is missing. The layer divides its scores by it, and QK is what makes the scores.",
        ),
        "scaled-twice": Wrong(
            lambda model: _blocks(model, "q").mT @ _blocks(model, "k") / model.n_embd,
            "The product was divided by n_embd. The layer divides by its root.",
        ),
        "scaled-by-all-heads": Wrong(
            lambda model: _blocks(model, "q").mT @ _blocks(model, "k") / (model.n_head * model.n_embd) ** 0.5,
            "The product was divided by the root of n_embd · n_head, the width of all heads together. The layer divides"
            " a head's scores by the root of n_embd.",
        ),
        "last-row-emptied": Wrong(
            lambda model: _qk_by_basis(model).index_fill(1, torch.tensor([model.n_embd - 1]), 0.0),
            "The last row was set to 0. No score depends on it, since the question ends in 0, but it is part of the"
            " product that is asked for.",
        ),
        "heads-cut-across": Wrong(
            lambda model: _mixed(model, "q").mT @ _mixed(model, "k") / model.n_embd**0.5,
            "The rows were dealt out to the heads in turn. A head's rows are neighbours: the first n_embd rows are"
            " head 0.",
        ),
        "heads-summed": Wrong(
            lambda model: (
                (_blocks(model, "q").mT @ _blocks(model, "k")).sum(0, keepdim=True).expand(model.n_head, -1, -1)
                / model.n_embd**0.5
            ),
            "All heads have the same matrix, the sum over heads. Each head has scores of its own; cut the weights by"
            " heads before you multiply.",
        ),
        "queries-twice": Wrong(
            lambda model: _blocks(model, "q").mT @ _blocks(model, "q") / model.n_embd**0.5,
            "The queries' weight was multiplied with itself. A score is a query times a key.",
        ),
        "values-for-keys": Wrong(
            lambda model: _blocks(model, "q").mT @ _blocks(model, "v") / model.n_embd**0.5,
            "The values' weight stands where the keys' belongs. Scores are made of queries and keys.",
        ),
    },
    hints=Hints(
        "Write the score of one question with one example as z_q · (something) · z. What is the something, for one"
        " head?",
        "A query is z_q @ W_Q.T, a key is z @ W_K.T, and a score is a query times a key. Put the first into the last.",
        "Cut both weights into [heads, n_embd, n_embd]. For each head: the query weight turned, times the key weight,"
        " divided by the root of n_embd.",
    ),
)


exercise(
    "ov_circuit",
    oracle=_ov_by_basis,
    cases=lambda rand: [
        case(FakeQueryAttention(*sizes, rand)) for sizes in ((4, 3, 1), (3, 2, 2), (5, 1, 3), (4, 2, 4))
    ],
    returns=Float("heads D n_out"),
    differentiable=False,
    misconceptions={
        "values-not-turned": Wrong(
            lambda model: _blocks(model, "v") @ _o_blocks(model),
            "The value weight was multiplied as it stands. "
            + _TRANSPOSED_LINEAR
            + ", so it has to be turned; it is square, and so nothing complains.",
        ),
        "output-side-first": Wrong(
            lambda model: (_blocks(model, "v").mT @ _o_blocks(model)).mT.contiguous(),
            "Rows and columns have changed places: [heads, n_out, D]. A token stands on the left, as in z @ OV, so its"
            " entries are the rows.",
        ),
        "heads-cut-across": Wrong(
            lambda model: (
                _blocks(model, "v").mT
                @ model.o_proj.weight.detach().view(model.n_out, model.n_embd, model.n_head).permute(2, 1, 0)
            ),
            "The columns of o_proj were dealt out to the heads in turn. A head's columns are neighbours: the first"
            " n_embd columns are head 0.",
        ),
        "values-cut-across": Wrong(
            lambda model: _mixed(model, "v").mT @ _o_blocks(model),
            "The rows of v_proj were dealt out to the heads in turn. A head's rows are neighbours: the first n_embd"
            " rows are head 0.",
        ),
        "reshaped": Wrong(
            lambda model: (
                _blocks(model, "v").mT @ model.o_proj.weight.detach().reshape(model.n_head, model.n_embd, model.n_out)
            ),
            "o_proj's weight was reshaped to [heads, n_embd, n_out]. Its columns are the heads' numbers and its rows"
            " the outputs; with one output a reshape happens to be right, with more it deals the numbers out anew.",
        ),
        "scaled": Wrong(
            lambda model: _blocks(model, "v").mT @ _o_blocks(model) / model.n_embd**0.5,
            "The product was divided by the root of n_embd. Only scores are; values and outputs are not.",
        ),
        "heads-summed": Wrong(
            lambda model: (_blocks(model, "v").mT @ _o_blocks(model)).sum(0, keepdim=True).expand(model.n_head, -1, -1),
            "All heads have the same matrix, the sum over heads. Each head mixes tokens by weights of its own, so each"
            " has an OV of its own.",
        ),
        "keys-for-values": Wrong(
            lambda model: _blocks(model, "k").mT @ _o_blocks(model),
            "The keys' weight stands where the values' belongs. What is passed on are values.",
        ),
        "same-block-for-all": Wrong(
            lambda model: _blocks(model, "v").mT @ _o_blocks(model)[:1],
            "Every head goes through head 0's part of o_proj. Head h has its own n_embd columns.",
        ),
    },
    hints=Hints(
        "A head mixes tokens, and what it mixed goes through two matrices on its way out. Which two, and in which"
        " order?",
        "o_proj sees all heads side by side: head 0 owns its first n_embd columns, head 1 the next.",
        "Cut v_proj's weight into [heads, n_embd, n_embd] and turn each; cut o_proj's columns by heads, each part"
        " turned to [n_embd, n_out]. Multiply them in this order.",
    ),
)


# ---------------------------------------------------------------- estimators


def _kernel(
    scores=lambda x_q, x, z_q, z: x_q @ x.mT,
    weigh=lambda s, w: torch.softmax(w * s, dim=-1),
    of=lambda z: z[..., -1:],
    over=sum,
    share=lambda m, t: m * t,
    out=lambda y: y,
):
    """The kernel estimator with one piece replaced."""

    def answer(z_q, z, w, mu):
        s = scores(z_q[..., :-1], z[..., :-1], z_q, z)
        return out(over([share(m, weigh(s, a) @ of(z)) for a, m in zip(w, mu)]))

    return answer


def _mean(terms):
    return sum(terms) / len(terms)


def _softmax_of_all(z_q, z, w, mu, dim):
    """One softmax along an axis of all heads' scores, [heads, n, queries, L]."""
    scores = torch.stack([a * (z_q[..., :-1] @ z[..., :-1].mT) for a in w])
    weights = torch.exp(scores - scores.logsumexp(dim, keepdim=True))
    return sum(m * (head @ z[..., -1:]) for m, head in zip(mu, weights))


def _nadaraya_watson(z_q, z, w, mu):
    """By the definition of a kernel estimate: Σ K(x_i) y_i / Σ K(x_i), with K taken relative to its largest."""
    x_q, x, y = z_q[..., :-1].double(), z[..., :-1].double(), z[..., -1].double()
    total = torch.zeros(*z_q.shape[:-1], dtype=torch.float64)
    for a, m in zip(w, mu):
        near = float(a) * torch.einsum("nqd,nld->nql", x_q, x)
        k = torch.exp(near - near.amax(-1, keepdim=True))
        total = total + float(m) * torch.einsum("nql,nl->nq", k, y) / k.sum(-1)
    return total[..., None].float()


def _question(rand, *shape):
    """z_q with a 0 at its end."""
    return torch.cat((rand(*shape), torch.zeros(*shape[:-1], 1)), dim=-1)


exercise(
    "kernel_estimator",
    oracle=_nadaraya_watson,
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
    ],
    returns=Float("n queries 1"),
    properties=[_prompts_alone],
    differentiable=False,
    misconceptions={
        "last-entry-left-out": Wrong(
            lambda z_q, z, w, mu: _kernel()(z_q[..., :-1], torch.cat((z[..., :-2], z[..., -1:]), -1), w, mu),
            "The last entry of x has no part in the scores. A token is x and then y, so x is all but its last entry.",
        ),
        "mu-forgotten": Wrong(
            _kernel(share=lambda m, t: t),
            "μ has no effect. It says how much of each head's average goes into the answer.",
        ),
        "w-forgotten": Wrong(
            _kernel(weigh=lambda s, w: torch.softmax(s, dim=-1)),
            "w has no effect. It multiplies x_q·x_i before the softmax, and its sign says which examples count: those"
            " alike or those opposite.",
        ),
        "w-after-the-softmax": Wrong(
            _kernel(weigh=lambda s, w: w * torch.softmax(s, dim=-1)),
            "w multiplies the weights instead of the scores. Before the softmax it sharpens or turns them round; after"
            " it, it is a second μ.",
        ),
        "not-a-softmax": Wrong(
            _kernel(weigh=lambda s, w: torch.exp(w * s)),
            "The weights are exponentials that were never divided by their sum. A softmax shares out one unit.",
        ),
        "no-exponential": Wrong(
            _kernel(weigh=lambda s, w: w * s / s.shape[-1]),
            "The scores themselves are the weights. That is the gradient step to come; the layer sends scores through"
            " a softmax.",
        ),
        "scaled-again": Wrong(
            _kernel(scores=lambda x_q, x, z_q, z: x_q @ x.mT / z.shape[-1] ** 0.5),
            "The scores are divided by √(d + 1) once more. That factor is in w already: w was read from QK, which"
            " holds it.",
        ),
        "averaged-heads": Wrong(
            _kernel(over=_mean),
            "The heads are averaged. Their contributions add up, as o_proj adds them.",
        ),
        "first-head-only": Wrong(
            _kernel(over=lambda terms: terms[0]),
            "Only the first head counts. The answer is the sum over all of them.",
        ),
        "one-softmax": Wrong(
            lambda z_q, z, w, mu: _kernel()(z_q, z, [sum(w)], [sum(mu)]),
            "The heads' w were added up within one softmax, and their μ outside of it. The softmax of a sum is no sum"
            " of softmaxes: each head takes one of its own, and its own μ.",
        ),
        "weights-averaged": Wrong(
            lambda z_q, z, w, mu: sum(mu) * _kernel(share=lambda m, t: t, over=_mean)(z_q, z, w, mu),
            "The heads' weights were averaged, and one mix of y was multiplied by the sum of all μ. Each head mixes y"
            " with its own weights, and its own μ says how much of that goes in.",
        ),
        "one-softmax-for-all-heads": Wrong(
            lambda z_q, z, w, mu: _kernel()(z_q, z, [sum(w) / len(w)], [sum(mu)]),
            "All heads share one softmax, made with the mean of their w. Each head takes one of its own.",
        ),
        "one-softmax-for-heads-and-examples": Wrong(
            lambda z_q, z, w, mu: _softmax_of_all(z_q, z, w, mu, (0, 3)),
            "One softmax runs over heads and examples together, so that the heads share out one unit. Every head shares"
            " out a unit of its own over the examples.",
        ),
        "mu-inside": Wrong(
            lambda z_q, z, w, mu: _kernel()(z_q, z, [a * m for a, m in zip(w, mu)], [1.0] * len(w)),
            "μ multiplies the scores. It stands outside of the softmax: so much of a head's average goes into the"
            " answer.",
        ),
        "softmax-over-heads": Wrong(
            lambda z_q, z, w, mu: _softmax_of_all(z_q, z, w, mu, 0),
            "The softmax runs along the heads, so that heads compete for each example. Every head shares out one unit"
            " of its own over the examples.",
        ),
        "mean-of-examples": Wrong(
            _kernel(of=lambda z: z[..., -1:] / z.shape[-2]),
            "The weighted y are averaged over the examples once more, so that the answer is L times too small. The"
            " weights of a softmax sum to one: the weighted sum is a mean already.",
        ),
        "wrong-axis": Wrong(
            _kernel(weigh=lambda s, w: torch.softmax(w * s, dim=-2)),
            "The softmax runs along the questions. With one question every weight is then 1; it runs along the"
            " examples.",
        ),
        "distance-kernel": Wrong(
            _kernel(scores=lambda x_q, x, z_q, z: -torch.cdist(x_q, x).square() / 2),
            "Examples are weighed by their distance from x_q, as in the classic kernel estimate. Attention knows inner"
            " products: x_q·x_i.",
        ),
        "x-mixed-in": Wrong(
            _kernel(of=lambda z: z.sum(-1, keepdim=True)),
            "What is averaged holds x as well. Only y, the last entry of an example, goes into the answer.",
        ),
        "flat": Wrong(
            _kernel(out=lambda y: y.squeeze(-1)),
            "The result has lost its last axis. Keep [n, queries, 1], the shape of y_q: the difference of [n, 1] and"
            " [n, 1, 1] would be a table.",
        ),
    },
    equivalent={
        "y-in-the-product": lambda z_q, z, w, mu: _kernel(scores=lambda x_q, x, z_q, z: z_q @ z.mT)(z_q, z, w, mu)
    },
    hints=Hints(
        "One head first: weights over the examples from x_q·x_i, then the average of y with these weights.",
        "x is z without its last entry, y is the last one. The softmax of w · x_q·x_i runs along the examples.",
        "The inner products of x_q with all x are [n, queries, L]. For each pair of w and mu, add mu times the softmax"
        " of w times these, multiplied by y as [n, L, 1].",
    ),
)


def _by_autograd(z_q, z):
    """One step of gradient descent with rate 1 from β = 0 on half the mean squared error, by automatic
    differentiation."""
    with torch.enable_grad():
        beta = torch.zeros(len(z), z.shape[-1] - 1, 1, requires_grad=True)
        x, y = z[..., :-1].detach(), z[..., -1:].detach()
        loss = 0.5 * (x @ beta - y).square().mean(dim=1).sum()
        (step,) = torch.autograd.grad(loss, beta)
    return z_q[..., :-1] @ -step


def _step(weigh=lambda x, y: x.mT @ y / x.shape[-2], out=lambda y: y):
    return lambda z_q, z: out(z_q[..., :-1] @ weigh(z[..., :-1], z[..., -1:]))


exercise(
    "gradient_step_estimator",
    oracle=_by_autograd,
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
            _step(lambda x, y: 2 * x.mT @ y / x.shape[-2] - x.mT @ (x @ (x.mT @ y)) / x.shape[-2] ** 2),
            "Two steps were taken. The question is about the first, from β = 0.",
        ),
        "not-divided": Wrong(
            _step(lambda x, y: x.mT @ y),
            "The sum over the examples is not divided by L. With 40 examples the answer is then 40 times too large.",
        ),
        "factor-two": Wrong(
            _step(lambda x, y: 2 * x.mT @ y / x.shape[-2]),
            "There is a factor of 2, from the derivative of a square. The loss here is half the mean square, so that"
            " it cancels.",
        ),
        "uphill": Wrong(
            _step(lambda x, y: -x.mT @ y / x.shape[-2]),
            "The step goes up the loss: the sign is wrong. Gradient descent goes against the gradient, and the"
            " gradient at β = 0 is minus the mean of y·x.",
        ),
        "divided-by-40": Wrong(
            _step(lambda x, y: x.mT @ y / 40),
            "The sum over the examples is divided by 40, however many there are. A prompt has L examples; read L from"
            " z.",
        ),
        "averaged-over-prompts": Wrong(
            _step(lambda x, y: x.mT @ y / (len(x) * x.shape[-2])),
            "The mean runs over the prompts as well, so that each prompt's step is n times too small. Every prompt has"
            " a β and a loss of its own: the mean over its L examples.",
        ),
        "one-beta-for-all-prompts": Wrong(
            _step(lambda x, y: (x * y).mean(dim=(0, 1))[:, None]),
            "All prompts share one β, the mean over prompts and examples. Each prompt has a slope of its own, which"
            " its own examples alone tell.",
        ),
        "divided-by-d": Wrong(
            _step(lambda x, y: x.mT @ y / x.shape[-1]),
            "The sum is divided by d, the entries of x. It is the mean over L examples.",
        ),
        "centred": Wrong(
            _step(lambda x, y: (x - x.mean(-2, keepdim=True)).mT @ y / x.shape[-2]),
            "The mean of x was taken off first. That is what a pair of softmax heads does, as you will see; plain"
            " gradient descent does not.",
        ),
        "solved": Wrong(
            _step(lambda x, y: torch.linalg.pinv(x) @ y),
            "This is the whole least-squares solution. Asked for is a single step towards it, from β = 0.",
        ),
        "normalised": Wrong(
            _step(lambda x, y: x.mT @ y / x.square().sum((-2, -1), keepdim=True)),
            "The sum is divided by the squared length of all x. The step's size is 1, over the mean of L examples.",
        ),
        "softmaxed": Wrong(
            lambda z_q, z: torch.softmax(z_q[..., :-1] @ z[..., :-1].mT, -1) @ z[..., -1:],
            "The inner products went through a softmax. A gradient step uses them as they are, negative ones included.",
        ),
        "flat": Wrong(
            _step(out=lambda y: y.squeeze(-1)),
            "The result has lost its last axis. Keep [n, queries, 1], the shape of y_q.",
        ),
    },
    equivalent={"with-the-zero": lambda z_q, z: z_q @ z.mT @ z[..., -1:] / z.shape[-2]},
    hints=Hints(
        "Work out β after one step from 0: each example pulls β along its x, as hard as its y is large.",
        "β is the mean of y_i · x_i over the examples; the answer is β·x_q.",
        "x.mT @ y is the sum of y_i · x_i, [n, d, 1]. Divide it by L and multiply by x_q from the left.",
    ),
)
