"""The sweeps: properties that the engine tests for every exercise."""

import functools

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.feedback.answers import with_name
from utils.exercises.exercise import all_members, case, layer_parameters
from utils.exercises.oracles import to_learner_answer
from utils.exercises.sweep_limits import MOST
from utils.feedback.diagnose import diagnose
from utils.feedback.sweeps import SWEEPS, applicable_sweeps


@pytest.fixture
def causal_mean(declare_exercise):
    """Each row of the result is the mean of all rows up to it; a masked row does not count."""

    def oracle(x, mask=None):
        allowed = torch.ones(x.shape[-2], x.shape[-2]).tril()
        allowed = allowed if mask is None else allowed * mask
        return (allowed / allowed.sum(-1, keepdim=True)) @ x

    return declare_exercise(
        "causal_mean",
        oracle=oracle,
        differentiable=True,
        cases=lambda rand: [case(rand(2, 4, 3)), case(rand(5, 3), mask=rand.mask(5, 5))],
    )


@pytest.fixture
def centred(declare_exercise):
    return declare_exercise(
        "Centred",
        initial_parameters=lambda width, max_len: layer_parameters(layer=nn.Linear(width, width)),
        oracle=lambda p, x: F.linear(x - x.mean(-1, keepdim=True), p["layer.weight"], p["layer.bias"]),
        cases=lambda rand: [case(rand(4, 3), init=(3, 4)), case(rand(2, 4, 3), init=(3, 6))],
    )


def right(x, mask=None):
    size = x.shape[-2]
    allowed = torch.ones(size, size).tril() * (1 if mask is None else mask)
    return (allowed / allowed.sum(-1, keepdim=True)) @ x


def remembers_the_mask():
    kept = {}

    def answer(x, mask=None):
        if mask is not None:
            kept[x.shape[-2]] = mask
        return right(x, kept.get(x.shape[-2]))

    return answer


def up_to_64(x, mask=None):
    return right(x, mask) if x.shape[-2] <= 64 else x * 0 + right(x[..., :1, :], None)


def up_to_700(x, mask=None):
    return right(x, mask) if x.shape[-2] <= 700 else x * 0


def limits_at_10_000(x, mask=None):
    return right(x.clamp(-1e4, 1e4), mask)


def hides_zeros(x, mask=None):
    return right(x, mask) + (x == 0) * 0.5


def clamped(x, mask=None):
    return right(x.clamp(-5, 5), mask)


def equal_rows(x, mask=None):
    same = (x[..., :1, :] == x[..., -1:, :]).all(-1, keepdim=True)
    return right(x, mask) + same * (x.shape[-2] > 1) * 0.5


def without_gradient(x, mask=None):
    return right(x, mask).detach().requires_grad_()


def half_a_gradient(x, mask=None):
    return right(x, mask) / 2 + right(x.detach(), mask) / 2


def root_of_a_square(x, mask=None):
    return right(x.sign() * x.square().sqrt(), mask)


@pytest.mark.parametrize(
    "answer, found",
    [
        (remembers_the_mask(), "state"),
        (up_to_64, "sizes"),
        (up_to_700, "sizes"),
        (hides_zeros, "zeros"),
        (clamped, "large"),
        (limits_at_10_000, "large"),
        (equal_rows, "ties"),
        (without_gradient, "lets_gradients_through"),
        (half_a_gradient, "gradients"),
        (root_of_a_square, "lets_gradients_through"),
    ],
)
def test_each_sweep_finds_its_kind_of_mistake(causal_mean, answer, found):
    report = diagnose(causal_mean, with_name("causal_mean", answer))
    assert (report.status, report.property) == ("failed", found), str(report)


def test_a_right_answer_passes_all_sweeps(causal_mean):
    assert diagnose(causal_mean, with_name("causal_mean", right))
    assert applicable_sweeps(causal_mean) == [
        *("settings", "state", "gradients", "sizes", "zeros", "ties", "large", "layouts", "small", "signs", "options"),
        *("hidden rows", "finite gradients", "limits"),
    ]


def test_a_number_in_the_code_that_limits_nothing_is_accepted(causal_mean):
    in_chunks = lambda x, mask=None: torch.cat(right(x, mask).split(500, dim=-2), dim=-2)
    assert diagnose(causal_mean, with_name("causal_mean", in_chunks))


TABLE = torch.ones(1024, 1024).tril()
CONTEXT = 1024


def rows_of_a_table(size):
    return TABLE[:size, :size].clone()


def up_to_the_context(size):
    return torch.ones(size, size).tril()[:CONTEXT]


def up_to_a_default(size, most=1024):
    return torch.ones(size, size).tril()[:most]


@pytest.mark.parametrize(
    "answer, name", [(rows_of_a_table, "TABLE"), (up_to_the_context, "CONTEXT"), (up_to_a_default, "most")]
)
def test_a_limit_outside_the_body_is_found(declare_exercise, answer, name):
    lower = declare_exercise("lower", oracle=lambda size: torch.ones(size, size).tril(), cases=[case(3), case(5)])
    report = diagnose(lower, with_name("lower", answer))
    assert report.property == "sizes" and f"Does `{name}` in your code limit" in report.message, str(report)


def test_positions_in_a_narrow_dtype_are_found(declare_exercise):
    declared = declare_exercise("places", oracle=lambda x: torch.arange(len(x)), cases=lambda rand: [case(rand(5))])
    narrow = lambda x: torch.arange(len(x)).to(torch.float16).long()
    report = diagnose(declared, with_name("places", narrow))
    assert report.property == "sizes" and "`float16`" in report.message, str(report)


def test_a_threshold_for_an_argument_is_found(declare_exercise):
    declared = declare_exercise(
        "divided", oracle=lambda x, rate: x / rate, cases=lambda rand: [case(rand(5), 0.5), case(rand(3), 2.0)]
    )
    threshold = lambda x, rate: x / rate if rate > 0.01 else x * 0
    report = diagnose(declared, with_name("divided", threshold))
    assert report.property == "sizes" and "`0.01`" in report.message and "`rate` is 0.009" in report.message, str(
        report
    )
    without_effect = lambda x, rate: x / rate if rate > 0.01 else x * (1 / rate)
    assert diagnose(declared, with_name("divided", without_effect))


def test_a_size_at_which_floats_are_rounded_is_tested(declare_exercise):
    declared = declare_exercise("places", oracle=lambda size: torch.arange(size) / size, cases=[case(4), case(7)])
    rounded = lambda size: torch.arange(0, 1, 1 / size)
    assert diagnose(declared, with_name("places", rounded)).reason == "shape"


def test_a_result_is_computed_again_after_the_argument_has_changed(declare_exercise):
    declared = declare_exercise(
        "sum_of_weights", oracle=lambda layer: layer.weight.sum(0), cases=lambda rand: [case(nn.Linear(3, 2))]
    )
    remembered = functools.lru_cache(lambda layer: layer.weight.sum(0))
    report = diagnose(declared, with_name("sum_of_weights", remembered))
    assert report.property == "state" and "functools.lru_cache" in report.message, str(report)


def test_large_inputs_are_not_tested_where_rounding_changes_the_result(declare_exercise):
    """For inputs of about a million, the sine of 3 * x depends on how the product is rounded."""
    declared = declare_exercise(
        "wave", oracle=lambda x: (3 * x).sin(), cases=lambda rand: [case(rand(6)), case(rand(4))]
    )
    other_rounding = lambda x: 3 * x.sin() - 4 * x.sin() ** 3
    assert diagnose(declared, with_name("wave", other_rounding))


def test_an_exercise_opts_out_of_a_sweep(causal_mean, declare_exercise):
    tolerant = declare_exercise(
        "causal_mean",
        oracle=causal_mean.oracle,
        cases=causal_mean.cases,
        unswept={"large": "the page says that inputs are small"},
    )
    assert diagnose(tolerant, with_name("causal_mean", clamped))
    assert "large" not in applicable_sweeps(tolerant)


class Centred(nn.Module):
    def __init__(self, width, max_len):
        super().__init__()
        self.layer, self.max_len = nn.Linear(width, width), max_len

    def forward(self, x):
        return self.layer(x - x.mean(-1, keepdim=True))


class FirstWeights(Centred):
    def forward(self, x):
        self.kept = getattr(self, "kept", self.layer.weight * 1.0)
        return (x - x.mean(-1, keepdim=True)) @ self.kept.T + self.layer.bias


class FirstWeightsWithoutGradients(FirstWeights):
    def forward(self, x):
        return Centred.forward(self, x) if torch.is_grad_enabled() else FirstWeights.forward(self, x)


class ShrinksItsTable(Centred):
    def __init__(self, width, max_len):
        super().__init__(width, max_len)
        self.ones = torch.ones(max_len, 1)

    def forward(self, x):
        self.ones = self.ones[: x.shape[-2]]
        return super().forward(x * self.ones)


class KeepsItsGraph(Centred):
    def forward(self, x):
        self.result = super().forward(x)
        return self.result


class SetsASeed(Centred):
    def __init__(self, width, max_len):
        torch.manual_seed(0)
        super().__init__(width, max_len)


class DropsInTraining(Centred):
    def forward(self, x):
        return super().forward(F.dropout(x, 0.5, self.training))


class SavesItsLength(Centred):
    def __init__(self, width, max_len):
        super().__init__(width, max_len)
        self.register_buffer("length", torch.tensor(float(max_len)))


@pytest.mark.parametrize(
    "answer, found",
    [
        (FirstWeights, "state"),
        (FirstWeightsWithoutGradients, "state"),
        (ShrinksItsTable, "state"),
        (KeepsItsGraph, "copies"),
        (SetsASeed, "initialisation"),
        (DropsInTraining, "training"),
        (SavesItsLength, "parameters"),
    ],
)
def test_modules_that_keep_something(centred, answer, found):
    report = diagnose(centred, with_name("Centred", answer))
    assert (report.status, report.property) == ("failed", found), str(report)


def test_a_right_module_passes_all_sweeps(centred):
    assert diagnose(centred, with_name("Centred", Centred))


def test_results_that_share_memory(declare_exercise):
    mask = lambda size: torch.ones(size, size, dtype=torch.bool).tril()
    lower = declare_exercise("lower", oracle=mask, cases=[case(3), case(5)])
    table = mask(MOST)
    assert diagnose(lower, with_name("lower", lambda size: table[:size, :size].clone()))
    assert diagnose(lower, with_name("lower", lambda size: table[:size, :size])).property == "state"


def test_a_width_of_one_is_tried_with_a_module_of_this_width(declare_exercise):
    scaled = declare_exercise(
        "Scaled",
        initial_parameters=lambda width: {"w": torch.ones(width)},
        oracle=lambda p, x: x * p["w"],
        cases=lambda rand: [case(rand(4, 3), init=(3,))],
    )
    answer = to_learner_answer(scaled, lambda p, x: x * p["w"] / (x.shape[-1] > 1))
    assert diagnose(scaled, answer).status == "failed"
    assert diagnose(scaled, to_learner_answer(scaled, lambda p, x: p["w"] * x))


def test_without_a_generator_the_global_seed_decides(declare_exercise):
    noise = declare_exercise(
        "noise",
        oracle=lambda size, generator=None: torch.rand(size, generator=generator),
        cases=lambda rand: [case(3, torch.Generator().manual_seed(0))],
    )
    own = torch.Generator().manual_seed(5)
    assert diagnose(noise, with_name("noise", lambda size, generator=None: torch.rand(size, generator=generator)))
    report = diagnose(
        noise, with_name("noise", lambda size, generator=None: torch.rand(size, generator=generator or own))
    )
    assert report.property == "seed"


def test_changes_inside_a_model_are_changes_of_an_argument(declare_exercise):
    class Model(nn.Linear):
        pass

    run = declare_exercise("run", oracle=lambda model, x: model(x), cases=lambda rand: [case(Model(3, 2), rand(4, 3))])

    def answer(model, x):
        model.cache = x.clone()
        return model(x)

    assert diagnose(run, with_name("run", lambda model, x: model(x)))
    assert "`model.cache`" in diagnose(run, with_name("run", answer)).message

    def hooked(model, x):
        model.register_forward_hook(lambda *given: None)
        return model(x)

    assert "`model.hooks`" in diagnose(run, with_name("run", hooked)).message


@pytest.mark.parametrize(
    "answer, found",
    [
        (lambda text, factor=2.0: [len(word) * factor for word in text.strip().split(" ")], "texts"),
        (lambda text, factor=2.0: [len(word) * round(factor) for word in text.split(" ")], "numbers"),
    ],
)
def test_texts_and_settings_vary(declare_exercise, answer, found):
    lengths = declare_exercise(
        "lengths",
        oracle=lambda text, factor=2.0: [len(word) * factor for word in text.split(" ")],
        cases=[case("a few words"), case("one")],
    )
    assert diagnose(lengths, with_name("lengths", lengths.oracle))
    report = diagnose(lengths, with_name("lengths", answer))
    assert (report.status, report.property) == ("failed", found), str(report)


def test_a_model_keeps_its_mode_and_its_hooks(declare_exercise):
    run = declare_exercise(
        "run", oracle=lambda model, x: model(x), cases=lambda rand: [case(nn.Linear(3, 2), rand(4, 3))]
    )

    def ends_in_training_mode(model, x):
        model.train()
        return model(x)

    def removes_hooks(model, x):
        model._forward_hooks.clear()
        return model(x)

    for answer in (ends_in_training_mode, removes_hooks):
        report = diagnose(run, with_name("run", answer))
        assert report.property == "training" and "the call changes" in report.message


def test_every_opt_out_names_a_sweep_and_a_reason():
    for exercise in all_members().values():
        for name, reason in exercise.unswept.items():
            assert name in SWEEPS and len(reason.split()) > 4, (exercise.name, name)


def test_large_whole_numbers_must_be_equal(declare_exercise):
    """A tolerance relative to the number would accept a neighbouring id."""
    exercise = declare_exercise(
        "double_ids",
        oracle=lambda ids: 2 * ids,
        cases=lambda rand: [case(ids=rand.integers(6, low=20_000, high=50_000))],
    )
    answers = [lambda ids: 2 * ids, lambda ids: 2 * ids + 1]
    assert [diagnose(exercise, with_name("double_ids", answer)).status for answer in answers] == ["passed", "failed"]
    totals = declare_exercise(
        "total",
        oracle=lambda ids: sum(ids),
        cases=lambda rand: [case(ids=rand.integers(6, low=20_000, high=50_000).tolist())],
    )
    answers = [lambda ids: sum(ids), lambda ids: sum(ids) + 1]
    assert [diagnose(totals, with_name("total", answer)).status for answer in answers] == ["passed", "failed"]


@pytest.fixture
def report_on_triangle(declare_exercise):
    """Return a function that judges a triangle of ones with larger numbers in the columns after `last`."""

    def report(last, *cases):
        triangle = lambda size: torch.ones(size, size).tril()
        exercise = declare_exercise("triangle", oracle=triangle, cases=lambda rand: list(cases))
        return diagnose(exercise, lambda size: triangle(size) + (torch.arange(size) > last) * 0.3)

    return report


def test_a_report_with_numbers_only_names_a_condition(report_on_triangle):
    """The answer is wrong on the second case, and its size explains when."""
    report = report_on_triangle(5, case(3), case(8))
    assert report.reason == "difference"
    assert report.message.startswith("triangle(3) is right, but the answer is wrong when `size` is 260 instead of 3.")


def test_one_right_number_is_no_condition(report_on_triangle):
    """A table with one number is often right by chance."""
    report = report_on_triangle(0, case(1), case(8))
    assert report.reason == "difference" and "is right, but" not in report.message, report.message


def test_a_note_of_every_wrong_case_is_the_condition(report_on_triangle):
    report = report_on_triangle(5, case(3), case(8, note="with eight rows"))
    assert "(with eight rows)" in report.message and "is right, but" not in report.message, report.message


def test_a_report_with_numbers_only_names_an_option(declare_exercise):
    def shifted(x, reverse=False):
        return x.cumsum(-1) * (2 if reverse else 3)

    exercise = declare_exercise(
        "shifted", oracle=shifted, cases=lambda rand: [case(rand(2, 3), reverse=True), case(rand(4, 2), reverse=True)]
    )
    report = diagnose(exercise, lambda x, reverse=False: shifted(x, reverse) + (torch.sin(x) if reverse else 0))
    assert report.reason == "difference"
    assert report.message.endswith("In the same call, the answer is right when `reverse` is False instead of True.")


def test_a_case_that_is_nearly_right_is_no_condition(declare_exercise):
    """With size 3, the result is off by more than the exercise's tolerance, so the report does not call it right."""
    triangle = declare_exercise(
        "triangle", oracle=lambda size: torch.ones(size, size).tril(), cases=lambda rand: [case(3), case(8)]
    )
    report = diagnose(triangle, lambda size: torch.ones(size, size).tril() + 5e-4 + (torch.arange(size) > 5) * 0.3)
    assert report.reason == "difference" and "is right" not in report.message


@pytest.fixture
def masked_mean(declare_exercise):
    """The mean of each row up to the diagonal. The numbers after the diagonal must not count."""

    def oracle(x):
        return x.tril().sum(-1) / torch.arange(1, x.shape[-1] + 1)

    return declare_exercise("means", oracle=oracle, cases=lambda rand: [case(rand(4, 4)), case(rand(3, 3))])


def test_hidden_numbers_may_be_very_large(masked_mean):
    def means(x, hidden=0.0):
        kept = torch.ones(x.shape).tril()
        return (x * kept - (x.abs() > 1e4) * (1 - kept) * hidden).sum(-1) / torch.arange(1, x.shape[-1] + 1)

    assert diagnose(masked_mean, with_name("means", means))
    report = diagnose(masked_mean, with_name("means", lambda x: means(x, 2.0)))
    assert report.property == "hidden numbers" and "must not count are a million larger" in report.message, str(report)


def test_the_memory_layout_of_an_input_changes_nothing(declare_exercise):
    """An answer may refuse a layout, as `view` does, but may not give other numbers."""
    rows = declare_exercise("rows", oracle=lambda x: x.flatten(1), cases=lambda rand: [case(rand(2, 3, 4))])
    assert diagnose(rows, with_name("rows", lambda x: x.view(len(x), -1)))
    report = diagnose(rows, with_name("rows", lambda x: x.as_strided((x.shape[0], x[0].numel()), (x[0].numel(), 1))))
    assert report.property == "layouts", str(report)


def test_a_whole_number_may_be_1(declare_exercise):
    repeated = declare_exercise("steps", oracle=lambda n: torch.arange(n) * 1.0, cases=lambda rand: [case(4), case(6)])
    assert diagnose(repeated, with_name("steps", lambda n: torch.linspace(0, n - 1, n)))
    report = diagnose(repeated, with_name("steps", lambda n: torch.tensor([(n - 1) * (i / (n - 1)) for i in range(n)])))
    assert report.reason == "raised" and "ZeroDivisionError" in report.message, str(report)


def test_a_gradient_that_should_be_0_is_reported(declare_exercise):
    kept = declare_exercise("kept", oracle=lambda x: x.relu(), cases=lambda rand: [case(rand(6))], differentiable=True)

    def outside(x):
        result = x * 1
        result.data[x < 0] = 0
        return result

    message = diagnose(kept, with_name("kept", outside)).message
    assert "of its 6 numbers should be 0 but are not" in message and "`.data`" in message, message


def test_values_kept_by_a_wrong_answer_are_named(declare_exercise):
    doubled = declare_exercise("doubled", oracle=lambda x: 2 * x, cases=lambda rand: [case(rand(3)), case(rand(4))])
    seen = {}
    report = diagnose(doubled, lambda x: seen.setdefault("first", 2 * x))
    assert report.reason == "shape" and "keeps values from call to call in `seen`" in report.message, str(report)
