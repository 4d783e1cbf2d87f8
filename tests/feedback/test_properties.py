"""Side effects, gradients and properties."""

import textwrap
from collections import Counter

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.feedback.answers import failure_message, with_name
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import case, layer_parameters
from utils.feedback.properties import (
    batch_independent,
    causal,
    moves_with_its_module,
    remembers_nothing,
    rows_sum_to_one,
    slopes_agree,
    works_where_its_input_is,
)
from utils.feedback.runner import to_learner_answer


def test_a_modified_input(double):
    def in_place(x):
        x *= 2
        return x

    assert "it changed its input `x`" in failure_message(double, in_place)


def test_what_is_read_may_depend_on_the_case_and_inputs_are_watched_all_the_same(declare_exercise):
    noisy = declare_exercise(
        "noisy",
        oracle=lambda x, generator: x + torch.rand(x.shape, generator=generator),
        differentiable=False,
        cases=lambda rand: [case(rand(2, 3), torch.Generator().manual_seed(1))],
        parse_result=lambda result, case: (result - case.args[0]).round(decimals=-1),
    )
    assert diagnose(noisy, lambda x, generator: x + 1 - torch.rand(x.shape, generator=generator))
    in_place = lambda x, generator: x.add_(torch.rand(x.shape, generator=generator))
    assert "it changed its input `x`" in failure_message(noisy, in_place)


def test_a_wrong_counter_is_told_by_its_entries(declare_exercise):
    tally = declare_exercise("tally", oracle=lambda ids: {i: ids.count(i) for i in ids}, cases=[case([1, 2, 1])])
    assert diagnose(tally, lambda ids: Counter(ids))
    assert failure_message(tally, lambda ids: Counter(ids[1:])) == "tally([1, 2, 1]): at key 1 yours is 1, expected 2."
    assert failure_message(tally, lambda ids: [2, 1]) == "tally([1, 2, 1]) is a list of 2, and a dict is expected."


def test_a_detached_result(double):
    assert "no gradient reaches `x`" in failure_message(double, lambda x: (x * 2).detach())
    assert "no gradient reaches `x`" in failure_message(double, lambda x: torch.tensor((x * 2).tolist()))


def test_an_input_on_which_nothing_hangs_need_not_be_connected(declare_exercise):
    flat = declare_exercise("flat", oracle=lambda x: (x - x).sum(-1), differentiable=True)
    assert diagnose(flat, lambda x: torch.zeros(len(x)))


def test_a_gradient_that_is_no_number(declare_exercise):
    """The result is mended where it would be nan; its gradient is not."""
    safe = declare_exercise("safe", oracle=lambda x: x * x, cases=lambda rand: [case(torch.zeros(2, 3)), case(rand(2, 3))],
                differentiable=True)  # fmt: skip
    message = failure_message(safe, lambda x: (x * x / x).nan_to_num() * x)
    assert "the gradient for `x` holds nan or inf" in message


def test_gradients_are_asked_of_a_function_only_where_its_text_asks(declare_exercise):
    assert diagnose(declare_exercise(), lambda x: torch.tensor((x * 2).tolist()))


def test_gradients_may_be_no_matter(declare_exercise):
    assert diagnose(declare_exercise(differentiable=False), lambda x: torch.tensor((x * 2).tolist()))


def test_a_gradient_that_breaks(double):
    def overwritten(x):
        y = x.exp()
        z = y.log() * 2
        y.mul_(0)
        return z

    assert "gradients cannot flow back: a tensor that the gradient still needs was overwritten" in failure_message(
        double, overwritten
    )


def test_numbers_written_down_are_found_out(declare_exercise):
    exercise_ = declare_exercise(cases=lambda rand: [case(rand(2, 2))])
    written = exercise_.sample_cases()[0].args[0] * 2
    assert failure_message(exercise_, lambda x: written * x / x).startswith(
        "Right for one set of numbers and wrong for another"
    )


def test_a_broken_property_fails_right_numbers(declare_exercise):
    assert (
        failure_message(declare_exercise(properties=[lambda probe: "It breaks a promise."]), lambda x: x * 2)
        == "It breaks a promise."
    )


def test_a_property_is_asked_where_other_cases_are_refused(declare_exercise):
    """A case that the oracle refuses must not silence the properties: they are asked of the cases that gave a
    result."""

    def halves(x):
        if x.shape[-1] % 2:
            raise ValueError("odd")
        return x / 2

    asked = []
    even = declare_exercise(
        "halves",
        oracle=halves,
        cases=[case(torch.ones(3)), case(torch.ones(4))],
        properties=[lambda probe: asked.append([len(t.case.args[0]) for t in probe.trials]) or "It breaks a promise."],
    )
    assert failure_message(even, halves) == "It breaks a promise." and asked == [[4]]
    asked.clear()

    def only_odd(x):
        if not x.shape[-1] % 2:
            raise ValueError("even")
        return x / 2

    assert (
        "It breaks a promise." not in failure_message(even, only_odd) and not asked
    )  # it stopped where it should have run


def test_a_property_may_run_the_answer_again(declare_exercise):
    seen = []
    again = declare_exercise(properties=[lambda probe: seen.append(probe.run(case(torch.ones(1))).value)])
    assert diagnose(again, lambda x: x * 2) and seen[0].tolist() == [2.0]


def test_rows_that_do_not_sum_to_one(declare_exercise):
    weigh = declare_exercise("weigh", oracle=lambda x: x.softmax(-1), properties=[rows_sum_to_one()])
    assert "do not sum to one: row 1 sums to 1.2" in failure_message(weigh, lambda x: x.sigmoid())
    columns = failure_message(weigh, lambda x: x.softmax(-2))
    assert "The columns do: the shares were made along the other axis." in columns


@pytest.fixture
def running_mean(declare_exercise):
    def oracle(x):
        return x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None]

    return declare_exercise(
        "running_mean",
        oracle=oracle,
        cases=lambda rand: [case(rand(4, 3)), case(rand(2, 5, 3))],
        properties=[causal(), batch_independent()],
    )


def test_a_future_that_changes_the_past(running_mean):
    assert "when the last of 4 tokens changed, position 0 changed too" in failure_message(
        running_mean, lambda x: x.mean(-2, keepdim=True).expand_as(x)
    )


def _blocked(x, with_):
    n = x.shape[-2]
    return (x @ -x.mT / x.shape[-1] ** 0.5).masked_fill(torch.ones(n, n).triu(1).bool(), with_)


def test_a_future_that_is_hidden_by_some_low_number(declare_exercise):
    def oracle(x):
        return torch.softmax(_blocked(x, -torch.inf), -1) @ x

    look = declare_exercise(
        "look", oracle=oracle, cases=lambda rand: [case(rand(2, 4, 3)), case(rand(1, 5, 2))], properties=[causal()]
    )
    assert diagnose(look, lambda x: torch.softmax(_blocked(x, -torch.inf), -1) @ x)
    for low in (-100.0, -1e4):
        assert "With inputs 1,000,000 times as large the future changes the past" in failure_message(
            look, lambda x, low=low: torch.softmax(_blocked(x, low), -1) @ x
        )
    assert diagnose(look, lambda x: torch.softmax(_blocked(x, torch.finfo(x.dtype).min), -1) @ x)

    def renormalised(x):
        weights = torch.softmax(x @ -x.mT / x.shape[-1] ** 0.5, -1) * torch.ones(x.shape[-2], x.shape[-2]).tril()
        return F.normalize(weights, p=1, dim=-1) @ x

    assert diagnose(look, renormalised)  # its weights vanish where scores are huge, which lets nothing through


def test_a_refusal_that_is_asked_for_does_not_switch_properties_off(declare_exercise):
    def oracle(x):
        if len(x) == 1:
            raise ValueError("two rows at least")
        return x.cumsum(-2)

    rows = declare_exercise(
        "rows",
        oracle=oracle,
        cases=lambda rand: [case(rand(4, 3)), case(rand(1, 3))],
        properties=[lambda probe: "Never right." if len(probe.trials) == 1 else None],
    )
    assert failure_message(rows, oracle) == "Never right."


def test_wrong_numbers_beside_a_right_refusal_are_what_is_spoken_of(declare_exercise):
    def oracle(x):
        if len(x) == 1:
            raise ValueError("two rows at least")
        return x.cumsum(-2)

    rows = declare_exercise("rows", oracle=oracle, cases=lambda rand: [case(rand(4, 3)), case(rand(1, 3))])
    words = failure_message(rows, lambda x: oracle(x) ** 2)
    assert "should be refused" not in words and "In 1 of 2 cases the result differs" in words
    assert "should be refused with a ValueError" in failure_message(rows, lambda x: x.cumsum(-2) ** 2)


def test_what_is_kept_from_an_earlier_call(declare_exercise):
    turned = declare_exercise(
        "Turned",
        initial_parameters=lambda d_in, d_out: layer_parameters(layer=nn.Linear(d_in, d_out)),
        oracle=lambda p, x: F.linear(x, p["layer.weight"], p["layer.bias"]),
        cases=lambda rand: [case(rand(4, 3), init=(3, 2))],
        properties=[remembers_nothing],
    )

    class First(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.layer, self.kept = nn.Linear(d_in, d_out), None

        def forward(self, x):
            self.kept = self.layer.weight * 1.0 if self.kept is None else self.kept
            return x @ self.kept.T + self.layer.bias

    assert "An object that was called before answers differently" in failure_message(turned, First)
    First.forward = lambda self, x: self.layer(x)
    assert diagnose(turned, First)


def test_a_slope_that_is_not_the_right_one(declare_exercise):
    centred = declare_exercise(
        "Centred",
        initial_parameters=lambda d: {"w": torch.ones(d)},
        oracle=lambda p, x: (x - x.mean(-1, keepdim=True)) * p["w"],
        cases=lambda rand: [case(rand(4, 3), init=(3,))],
        properties=[slopes_agree],
    )
    assert diagnose(centred, to_learner_answer(centred, lambda p, x: p["w"] * x - p["w"] * x.mean(-1, keepdim=True)))
    assert "the gradient for the input is not" in failure_message(
        centred, to_learner_answer(centred, lambda p, x: (x - x.mean(-1, keepdim=True).detach()) * p["w"])
    )


def test_batch_items_that_leak(running_mean):
    def leaking(x):
        right = x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None]
        return right + (x.mean(0, keepdim=True) if x.dim() > 2 else 0)

    assert "Batch items leak into each other" in failure_message(running_mean, leaking)


def test_a_tensor_that_stays_behind_when_its_module_moves(declare_exercise):
    cumulative = declare_exercise(
        "Cumulative",
        initial_parameters=lambda size: {"w": torch.ones(size)},
        oracle=lambda p, x: (x * p["w"]).cumsum(-1),
        cases=lambda rand: [case(rand(2, 4), init=(4,)), case(rand(3, 5), init={"size": 5})],
        properties=[moves_with_its_module],
    )

    class Kept(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.w = nn.Parameter(torch.ones(size))
            self.keep(torch.ones(size, size).triu())

        def keep(self, table):
            self.register_buffer("table", table)

        def forward(self, x):
            return (x * self.w) @ self.table

    def variant(**methods):
        return with_name("Cumulative", type("Cumulative", (Kept,), methods))

    by_hand = variant(
        forward=lambda self, x: (x * self.w) @ torch.ones(x.shape[-1], x.shape[-1], device=x.device).triu()
    )
    for right in (
        variant(),
        by_hand,
        variant(keep=lambda self, table: self.register_buffer("table", table, persistent=False)),
    ):
        assert diagnose(cumulative, right)
    assigned = variant(keep=lambda self, table: setattr(self, "table", table))
    assert "`self.table` stayed behind when the module moved to another device" in failure_message(cumulative, assigned)
    assert "`self.tables` stayed behind" in failure_message(
        cumulative,
        variant(keep=lambda self, table: [self.register_buffer("table", table), setattr(self, "tables", [table])]),
    )
    made_there = variant(forward=lambda self, x: (x * self.w) @ torch.ones(x.shape[-1], x.shape[-1]).triu())
    assert "It works on the CPU only" in failure_message(cumulative, made_there)
    in_place = variant(
        forward=lambda self, x: ((x * self.w) @ self.table).masked_fill_(torch.zeros(x.shape, dtype=torch.bool), 1.0)
    )
    assert "It works on the CPU only" in failure_message(cumulative, in_place)


def test_a_function_works_where_its_input_is(declare_exercise):
    counted = declare_exercise(
        "counted",
        oracle=lambda x, base=1.0: x + torch.arange(x.shape[-1], device=x.device) * base,
        properties=[works_where_its_input_is],
        cases=lambda rand: [case(rand(2, 4)), case(rand(3, 5), base=2.0)],
    )
    steps = lambda x, **where: torch.arange(x.shape[-1], **where)
    for right in (
        lambda x, base=1.0: x + steps(x, device=x.device) * base,
        lambda x, base=1.0: x + (steps(x) * base).to(x),
        lambda x, base=1.0: torch.stack([x[..., i] + i * base for i in range(x.shape[-1])], -1),
    ):
        assert diagnose(counted, with_name("counted", right))
    for left_behind in (
        lambda x, base=1.0: x + steps(x) * base,
        lambda x, base=1.0: x + torch.eye(len(steps(x))) @ steps(x).float() * base,
    ):
        assert "It works on the CPU only: on another device it mixes" in failure_message(counted, left_behind)


def test_a_tensor_of_the_notebook(double):
    namespace = {"inputs": torch.randn(2, 3)}
    exec("def double(x):\n    return inputs * 2", namespace)
    assert (
        "It uses `inputs`, a tensor of the notebook. All that it needs should come from its argument `x`"
        in check(namespace["double"]).message
    )
    namespace["d_k"] = 3
    exec("def double(x):\n    return x * d_k", namespace)
    assert "It uses `d_k`, a number of the notebook" in check(namespace["double"]).message


def test_a_parameter_without_self(affine):
    namespace = {"nn": nn, "layer": torch.ones(3, 2)}
    exec(
        textwrap.dedent("""
        class Affine(nn.Module):
            def __init__(self, d_in, d_out):
                super().__init__()
                self.layer = nn.Linear(d_in, d_out)

            def forward(self, x):
                return x @ layer
    """),
        namespace,
    )
    assert "`layer` without `self.` is a tensor of the notebook" in failure_message(affine, namespace["Affine"])


@pytest.fixture
def centred(declare_exercise):
    return declare_exercise(
        "centred",
        initial_parameters=lambda d: {"w": torch.ones(d), "b": torch.zeros(d)},
        oracle=lambda p, x: p["w"] * (x - x.mean(-1, keepdim=True)) + p["b"],
        cases=lambda rand: [case(rand(4, 3), init=(3,))],
        properties=[slopes_agree],
    )


@pytest.mark.parametrize(
    "forward",
    [
        lambda p, x: p["w"] * (x - x.mean(-1, keepdim=True)) + 1.1 * p["b"],
        lambda p, x: (p["w"] * (x - x.mean(-1, keepdim=True)) + 1.1 * p["b"]).detach(),
        lambda p, x: x * 0 + x,
    ],
)
def test_of_wrong_numbers_it_is_not_said_that_they_are_right(centred, forward):
    report = diagnose(centred, to_learner_answer(centred, forward))
    assert report.status == "failed" and "are right" not in report.message and "compared" not in report.message


def fails_itself(probe):
    raise KeyError("nothing there")


def test_a_property_that_fails_by_itself_is_no_mistake_of_the_learners(declare_exercise):
    report = diagnose(declare_exercise(properties=[fails_itself]), lambda x: x * 2)
    assert (report.reason, report.property) == ("property", "fails_itself")
    assert "The check itself failed, in fails_itself (KeyError" in report.message
