"""The sweeps over options: numbers, flags, counts, lists of ids, tokens, widths, dtypes and settings of torch."""

from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.feedback.answers import with_name
from utils.exercises.exercise import case, layer_parameters
from utils.exercises.oracles import to_learner_answer
from utils.feedback.diagnose import diagnose
from utils.feedback.phrases import change_text


@pytest.fixture
def dropped(declare_exercise):
    return declare_exercise(
        "dropped", oracle=lambda x, p=0.5: x / (1 - p), cases=lambda rand: [case(rand(3)), case(rand(4), 0.25)]
    )


@pytest.mark.parametrize("answer", [lambda x, p=0.5: x / max(1 - p, 0.2), lambda x, p=0.5: x / (1 - (p or 0.5))])
def test_other_numbers_than_in_the_cases(dropped, answer):
    report = diagnose(dropped, with_name("dropped", answer))
    assert (report.status, report.property) == ("failed", "numbers"), str(report)
    assert "`p` is " in report.message
    assert diagnose(dropped, with_name("dropped", dropped.oracle))


def test_an_argument_that_changes_nothing_is_reported(dropped):
    def answer(x, p=0.5):
        return x / (1 - (p if p > 0.1 else 0.5))

    assert "Your result is the same as before this change." in diagnose(dropped, with_name("dropped", answer)).message


@pytest.fixture
def normed(declare_exercise):
    return declare_exercise(
        "Normed",
        initial_parameters=lambda width, eps=1e-6: {"w": torch.ones(width)},
        oracle=lambda p, x: F.layer_norm(x, x.shape[-1:], eps=p.init_args["eps"]) * p["w"],
        cases=lambda rand: [case(rand(4, 3), init=(3,)), case(rand(2, 4, 3), init=(3, 0.01))],
    )


class Normed(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.eps, self.w = eps, nn.Parameter(torch.ones(width))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.pow(2).mean(-1, keepdim=True) + self.eps).sqrt() * self.w


class SmallestEps(Normed):
    def __init__(self, width, eps=1e-6):
        super().__init__(width, max(eps, 1e-6))


class ScaledIfWide(Normed):
    def forward(self, x):
        return super().forward(x) * (1 if x.shape[-1] < 512 else 2)


class Narrow(Normed):
    def forward(self, x):
        return super().forward(x).float()


class SharesItsEps(Normed):
    def __init__(self, width, eps=1e-6):
        super().__init__(width, eps)
        type(self).shared = eps

    def forward(self, x):
        self.eps = type(self).shared
        return super().forward(x)


@pytest.mark.parametrize(
    "answer, found", [(SmallestEps, "numbers"), (ScaledIfWide, "widths"), (Narrow, None), (SharesItsEps, "state")]
)
def test_settings_widths_and_dtypes_of_a_module(normed, answer, found):
    report = diagnose(normed, with_name("Normed", answer))
    assert (report.status, report.property) == ("failed", found), str(report)
    assert diagnose(normed, with_name("Normed", Normed))


def test_a_class_attribute_that_calls_change_is_named(normed):
    assert ".shared`" in diagnose(normed, with_name("Normed", SharesItsEps)).message


def test_small_inputs_show_an_additional_constant(declare_exercise):
    root = declare_exercise("root", oracle=lambda x: x / x.abs(), cases=lambda rand: [case(rand(9) + 4)])
    report = diagnose(root, with_name("root", lambda x: x / (x.abs() + 1e-5)))
    assert (report.status, report.property) == ("failed", "small"), str(report)
    assert diagnose(root, with_name("root", lambda x: x.sign()))


class Layers(nn.Module):
    def __init__(self, width, n_heads, bias=False):
        super().__init__()
        self.layer, self.bias = nn.Linear(width, width, bias=bias), bias

    def forward(self, x):
        return self.layer(x)


def test_flags_are_combined_with_a_count_of_one(declare_exercise):
    layers = declare_exercise(
        "Layers",
        initial_parameters=lambda width, n_heads, bias=False: layer_parameters(
            layer=nn.Linear(width, width, bias=bias)
        ),
        oracle=lambda p, x: F.linear(x, p["layer.weight"], p["layer.bias"] if p.init_args["bias"] else None),
        cases=lambda rand: [case(rand(4, 6), init=(6, 2)), case(rand(4, 6), init=(6, 3, True))],
    )

    class WithoutBias(Layers):
        def __init__(self, width, n_heads, bias=False):
            super().__init__(width, n_heads, bias and n_heads > 1)

    assert diagnose(layers, with_name("Layers", Layers))
    report = diagnose(layers, with_name("Layers", WithoutBias))
    assert report.status == "failed" and "Layers(6, 1, True)" in report.message


def test_lists_of_ids(declare_exercise):
    pairs = declare_exercise(
        "pairs", oracle=lambda ids: list(pairwise(ids)), cases=[case([7, 7, 9]), case([5, 6, 7, 8])]
    )
    assert diagnose(pairs, with_name("pairs", lambda ids: [(a, b) for a, b in pairwise(ids)]))
    for answer in (
        lambda ids: [pair for pair in pairwise(ids) if all(pair)],
        lambda ids: [divmod(a * 256 + b, 256) for a, b in pairwise(ids)],
    ):
        assert diagnose(pairs, with_name("pairs", answer)).property == "lists"


def test_token_0_gets_a_gradient(declare_exercise):
    embedding = declare_exercise(
        "Embedded",
        initial_parameters=lambda vocab: layer_parameters(embed=nn.Embedding(vocab, 4)),
        oracle=lambda p, tokens: p["embed.weight"][tokens],
        cases=lambda rand: [case(rand.integers(2, 6, low=1, high=7), init=(7,))],
    )

    class Embedded(nn.Module):
        def __init__(self, vocab):
            super().__init__()
            self.embed = nn.Embedding(vocab, 4, padding_idx=None)

        def forward(self, tokens):
            return self.embed(tokens)

    class Padded(Embedded):
        def __init__(self, vocab):
            super().__init__(vocab)
            self.embed = nn.Embedding(vocab, 4, padding_idx=0)

    assert diagnose(embedding, with_name("Embedded", Embedded))
    assert diagnose(embedding, with_name("Embedded", Padded)).property == "gradients"


def test_gradients_of_every_result(declare_exercise):
    both = declare_exercise(
        "both", oracle=lambda x: (x * 2, x**2), differentiable=True, cases=lambda rand: [case(rand(3))]
    )
    assert diagnose(both, with_name("both", lambda x: (x + x, x * x)))
    assert diagnose(both, with_name("both", lambda x: (x * 2, (x**2).detach()))).property == "gradients"


def test_a_setting_of_torch_that_stays_changed(declare_exercise):
    double = declare_exercise("double", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(3))])

    def answer(x):
        torch.set_grad_enabled(False)
        return x * 2

    report = diagnose(double, with_name("double", answer))
    assert report.property == "settings" and "`torch.is_grad_enabled()`" in report.message
    assert torch.is_grad_enabled()

    def within_a_block(x):
        with torch.no_grad():
            return x * 2

    assert diagnose(double, with_name("double", within_a_block))


def test_numbers_that_a_cache_returns_again(declare_exercise):
    double = declare_exercise("double", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(3)), case(rand(4))])
    cache = {}

    def answer(x):
        return cache.setdefault(len(x), x * 2)

    message = diagnose(double, with_name("double", answer)).message
    assert "keeps values from call to call in `cache`" in message and "hard-coded" not in message


def test_properties_that_compare_cases_see_the_right_cases_too(declare_exercise):
    """A property must not conclude from the single wrong case of a sweep that all results are equal."""

    def depends_on_its_text(probe):
        results = {trial.yours.value for trial in probe.trials}
        return "All results are the same." if len(results) == 1 else None

    upper = declare_exercise(
        "upper",
        oracle=lambda text: text.upper(),
        cases=[case("ab"), case("cd")],
        properties=[depends_on_its_text],
    )
    report = diagnose(upper, with_name("upper", lambda text: text.strip().upper()))
    assert report.property == "texts" and "All results" not in report.message


def test_the_difference_between_two_cases(normed, dropped):
    x = torch.zeros(2, 3)
    assert change_text(normed, case(x, init=(3,)), case(x, init=(3, 0.5))) == "`eps` is 0.5 instead of 1e-06"
    wide = case(torch.zeros(2, 4), init=(4,))
    assert change_text(normed, case(x, init=(3,)), wide) == (
        "`width` is 4 instead of 3 and `x` has the shape [2, 4] instead of [2, 3]"
    )
    assert change_text(dropped, case(x, p=0.2), case(x, note="with zeros")) == (
        "`p` is 0.5 instead of 0.2 and it runs with zeros"
    )


def test_right_answers_of_every_form_pass(normed):
    assert diagnose(normed, to_learner_answer(normed, normed.oracle))
