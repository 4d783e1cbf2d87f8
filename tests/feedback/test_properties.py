"""Side effects, gradients and properties."""

import textwrap
from collections import Counter

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.feedback.answers import failure_message, stable, with_name
from utils.exercises.exercise import case
from utils.exercises.oracles import to_learner_answer
from utils.exercises.probe import Probe
from utils.exercises.runner import InProcessRunner
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose
from utils.feedback.properties import (
    batch_independent,
    causal,
    moves_with_its_module,
    rows_sum_to_one,
    works_where_its_input_is,
)


def property_message(exercise, answer, name):
    """Return the message of a report on the broken property `name`."""
    report = diagnose(exercise, answer)
    assert (report.reason, report.property) == ("property", name), str(report)
    return stable(report.message)


def test_a_modified_input(double, snapshot):
    def in_place(x):
        x *= 2
        return x

    assert property_message(double, in_place, "leaves_its_inputs") == snapshot


def test_parse_result_may_use_the_case_and_a_modified_input_is_still_found(declare_exercise):
    noisy = declare_exercise(
        "noisy",
        oracle=lambda x, generator: x + torch.rand(x.shape, generator=generator),
        differentiable=False,
        cases=lambda rand: [case(rand(2, 3), torch.Generator().manual_seed(1))],
        parse_result=lambda result, case: (result - case.args[0]).round(decimals=-1),
    )
    assert diagnose(noisy, lambda x, generator: x + 1 - torch.rand(x.shape, generator=generator))
    in_place = lambda x, generator: x.add_(torch.rand(x.shape, generator=generator))
    assert "`x`" in property_message(noisy, in_place, "leaves_its_inputs")


def test_a_wrong_counter_is_explained_by_its_entries(declare_exercise, snapshot):
    tally = declare_exercise("tally", oracle=lambda ids: {i: ids.count(i) for i in ids}, cases=[case([1, 2, 1])])
    assert diagnose(tally, lambda ids: Counter(ids))
    assert failure_message(tally, lambda ids: Counter(ids[1:])) == snapshot(name="a wrong count")
    assert failure_message(tally, lambda ids: [2, 1]) == snapshot(name="a list")


def test_a_detached_result(double):
    for detached in (lambda x: (x * 2).detach(), lambda x: torch.tensor((x * 2).tolist())):
        assert "`x`" in property_message(double, detached, "lets_gradients_through")


def test_an_input_that_does_not_influence_the_result_need_not_be_connected(declare_exercise):
    flat = declare_exercise("flat", oracle=lambda x: (x - x).sum(-1), differentiable=True)
    assert diagnose(flat, lambda x: torch.zeros(len(x)))


def test_a_gradient_with_nan(declare_exercise, snapshot):
    """The answer repairs a nan in its result, but not in its gradient."""
    safe = declare_exercise(
        "safe",
        oracle=lambda x: x * x,
        cases=lambda rand: [case(torch.zeros(2, 3)), case(rand(2, 3))],
        differentiable=True,
    )
    answer = lambda x: (x * x / x).nan_to_num() * x
    assert property_message(safe, answer, "lets_gradients_through") == snapshot


def test_a_function_needs_gradients_only_if_its_exercise_says_so(declare_exercise):
    assert diagnose(declare_exercise(), lambda x: torch.tensor((x * 2).tolist()))


def test_an_exercise_may_ignore_gradients(declare_exercise):
    assert diagnose(declare_exercise(differentiable=False), lambda x: torch.tensor((x * 2).tolist()))


def test_a_gradient_that_breaks(double, snapshot):
    def overwritten(x):
        y = x.exp()
        z = y.log() * 2
        y.mul_(0)
        return z

    assert property_message(double, overwritten, "lets_gradients_through") == snapshot


def test_hard_coded_numbers_are_found(declare_exercise, snapshot):
    exercise_ = declare_exercise(cases=lambda rand: [case(rand(2, 2))])
    hard_coded = exercise_.sample_cases()[0].args[0] * 2
    assert stable(failure_message(exercise_, lambda x: hard_coded * x / x)) == snapshot


def test_a_broken_property_fails_right_numbers(declare_exercise):
    assert (
        failure_message(declare_exercise(properties=[lambda probe: "It breaks a promise."]), lambda x: x * 2)
        == "It breaks a promise."
    )


def test_a_property_is_checked_on_the_cases_with_a_result(declare_exercise):
    """A case with invalid input does not switch the properties off."""

    def halves(x):
        if x.shape[-1] % 2:
            raise ValueError("odd")
        return x / 2

    checked = []
    even = declare_exercise(
        "halves",
        oracle=halves,
        cases=[case(torch.ones(3)), case(torch.ones(4))],
        properties=[
            lambda probe: checked.append([len(t.case.args[0]) for t in probe.trials]) or "It breaks a promise."
        ],
    )
    assert failure_message(even, halves) == "It breaks a promise." and checked == [[4]]
    checked.clear()

    def only_odd(x):
        if not x.shape[-1] % 2:
            raise ValueError("even")
        return x / 2

    # This answer raises an exception on valid input, so there is no property to check.
    assert diagnose(even, only_odd).reason == "raised" and not checked


def test_a_property_may_run_the_answer_again(declare_exercise):
    results = []
    again = declare_exercise(properties=[lambda probe: results.append(probe.run(case(torch.ones(1))).value)])
    assert diagnose(again, lambda x: x * 2) and results[0].tolist() == [2.0]


def test_rows_that_do_not_sum_to_one(declare_exercise, snapshot):
    weigh = declare_exercise("weigh", oracle=lambda x: x.softmax(-1), properties=[rows_sum_to_one()])
    assert "Row 0 of the weights sums to 1.1392" in failure_message(weigh, lambda x: x.sigmoid())
    assert property_message(weigh, lambda x: x.softmax(-2), "rows_sum_to_one") == snapshot


def test_a_row_of_a_batch_is_named_with_its_item(declare_exercise):
    """The weights may be float64; then the check itself must not fail."""
    weigh = declare_exercise(
        "weigh",
        oracle=lambda x: x.softmax(-1),
        cases=lambda rand: [case(rand(2, 3, 4))],
        properties=[rows_sum_to_one()],
    )
    wide = lambda x: torch.cat([x[:1].softmax(-1), 0.5 * x[1:].softmax(-1)]).double()
    assert "Row 0 of item 1 of the weights sums to 0.5000" in failure_message(weigh, wide)
    assert diagnose(weigh, wide).table.caption.endswith("item 1")


def test_the_table_shows_the_case_that_the_message_is_about(declare_exercise):
    """The rows of the first case sum nearly to one, so the message is about the second case."""
    weigh = declare_exercise(
        "weigh",
        oracle=lambda x: x / x.sum(-1, keepdim=True),
        cases=lambda rand: [case(torch.ones(1, 2)), case(torch.full((3, 2), 1e-3))],
        properties=[rows_sum_to_one()],
    )
    report = diagnose(weigh, lambda x: x / (x.sum(-1, keepdim=True) + 1e-3))
    assert "Row 0 of the weights sums to 0.6667" in report.message, str(report)
    assert report.table.yours[0] == ["0.3333", "0.3333"], str(report)


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


def test_a_future_that_changes_the_past(running_mean, snapshot):
    assert property_message(running_mean, lambda x: x.mean(-2, keepdim=True).expand_as(x), "causal") == snapshot


def _masked_scores(x, value):
    n = x.shape[-2]
    return (x @ -x.mT / x.shape[-1] ** 0.5).masked_fill(torch.ones(n, n).triu(1).bool(), value)


def test_a_future_that_is_masked_with_some_low_number(declare_exercise, snapshot):
    def oracle(x):
        return torch.softmax(_masked_scores(x, -torch.inf), -1) @ x

    look = declare_exercise(
        "look", oracle=oracle, cases=lambda rand: [case(rand(2, 4, 3)), case(rand(1, 5, 2))], properties=[causal()]
    )
    assert diagnose(look, lambda x: torch.softmax(_masked_scores(x, -torch.inf), -1) @ x)
    for low in (-100.0, -1e4):
        answer = lambda x, low=low: torch.softmax(_masked_scores(x, low), -1) @ x
        assert property_message(look, answer, "causal") == snapshot
    assert diagnose(look, lambda x: torch.softmax(_masked_scores(x, torch.finfo(x.dtype).min), -1) @ x)

    def renormalised(x):
        weights = torch.softmax(x @ -x.mT / x.shape[-1] ** 0.5, -1) * torch.ones(x.shape[-2], x.shape[-2]).tril()
        return F.normalize(weights, p=1, dim=-1) @ x

    assert diagnose(look, renormalised)  # with huge scores its weights become 0, which is no leak


def test_a_required_exception_does_not_switch_properties_off(declare_exercise):
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


def test_wrong_numbers_are_reported_if_the_required_exception_is_right(declare_exercise, snapshot):
    def oracle(x):
        if len(x) == 1:
            raise ValueError("two rows at least")
        return x.cumsum(-2)

    rows = declare_exercise("rows", oracle=oracle, cases=lambda rand: [case(rand(4, 3)), case(rand(1, 3))])
    wrong = diagnose(rows, lambda x: oracle(x) ** 2)
    assert wrong.reason == "difference" and "In 1 of 2 cases" in wrong.message
    without_exception = diagnose(rows, lambda x: x.cumsum(-2) ** 2)
    assert without_exception.reason == "raised" and without_exception.message == snapshot


def test_batch_items_that_leak(running_mean, snapshot):
    def leaking(x):
        right = x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None]
        return right + (x.mean(0, keepdim=True) if x.dim() > 2 else 0)

    assert property_message(running_mean, leaking, "batch_independent") == snapshot


@pytest.mark.parametrize("broken", [causal(), batch_independent()])
def test_nan_in_both_results_is_no_influence(declare_exercise, broken):
    """Position 0 has no result in any run, so a change elsewhere does not change it."""

    def without_a_first_position(x):
        return torch.cat([torch.full_like(x[:, :1], torch.nan), x[:, 1:].cumsum(1)], 1)

    held = declare_exercise("held", oracle=lambda x: x.cumsum(-2), cases=[case(torch.ones(2, 4, 2))])
    assert broken(Probe.from_runner(held, InProcessRunner(held.signature, without_a_first_position), seed=0)) is None


@pytest.mark.parametrize("property", [causal(), batch_independent()])
def test_a_result_that_differs_in_each_call_proves_no_influence(declare_exercise, property):
    calls = []

    def counts(x):
        calls.append(1)
        return x.cumsum(-2) * len(calls)

    held = declare_exercise("held", oracle=lambda x: x.cumsum(-2), cases=[case(torch.ones(2, 4, 2))])
    assert property(Probe.from_runner(held, InProcessRunner(held.signature, counts), seed=0)) is None


def test_a_tensor_that_does_not_move_with_its_module(declare_exercise, snapshot):
    cumulative = declare_exercise(
        "Cumulative",
        unswept={"parameters": "the mask may be a saved buffer"},
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
    in_a_list = variant(
        keep=lambda self, table: [self.register_buffer("table", table), setattr(self, "tables", [table])]
    )
    created_on_cpu = variant(forward=lambda self, x: (x * self.w) @ torch.ones(x.shape[-1], x.shape[-1]).triu())
    in_place = variant(
        forward=lambda self, x: ((x * self.w) @ self.table).masked_fill_(torch.zeros(x.shape, dtype=torch.bool), 1.0)
    )
    for name, wrong in {"a tensor on self": assigned, "a tensor in a list": in_a_list,
                        "a tensor of forward": created_on_cpu, "a mask of forward": in_place}.items():  # fmt: skip
        assert property_message(cumulative, wrong, "moves_with_its_module") == snapshot(name=name)


def test_a_function_works_on_the_device_of_its_input(declare_exercise, snapshot):
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
    for created_on_cpu in (
        lambda x, base=1.0: x + steps(x) * base,
        lambda x, base=1.0: x + torch.eye(len(steps(x))) @ steps(x).float() * base,
    ):
        assert property_message(counted, created_on_cpu, "works_where_its_input_is") == snapshot


def test_a_cache_is_not_called_a_tensor_that_was_created_on_the_cpu(declare_exercise, snapshot):
    """An answer with a cache creates its tensors on the right device, and works if the cache is empty."""
    counted = declare_exercise(
        "counted",
        oracle=lambda x: x + torch.arange(x.shape[-1], device=x.device),
        properties=[works_where_its_input_is],
        cases=lambda rand: [case(rand(2, 4)), case(rand(3, 5))],
    )
    cache, tables = {}, {n: torch.arange(n) for n in range(100)}

    def cached(x):
        if x.shape[-1] not in cache:
            cache[x.shape[-1]] = torch.arange(x.shape[-1], device=x.device)
        return x + cache[x.shape[-1]]

    def from_tables(x):
        return x + tables[x.shape[-1]]

    def on_the_cpu_with_a_cache(x):
        cached(x.sum(0, keepdim=True))
        return x + cached(torch.zeros(x.shape))

    assert property_message(counted, cached, "works_where_its_input_is") == snapshot(name="cache")
    assert all(tensor.device.type == "cpu" and len(tensor) == size for size, tensor in cache.items()) and cache
    for created_on_cpu in (from_tables, on_the_cpu_with_a_cache):
        message = property_message(counted, created_on_cpu, "works_where_its_input_is")
        assert "created on the CPU" in message and "earlier call" not in message, message
    assert len(tables) == 100


def test_a_variable_of_the_notebook(double, snapshot):
    namespace = {"inputs": torch.randn(2, 3)}
    exec("def double(x):\n    return inputs * 2", namespace)
    assert check(namespace["double"]).message == snapshot(name="a tensor")
    namespace["d_k"] = 3
    exec("def double(x):\n    return x * d_k", namespace)
    assert check(namespace["double"]).message == snapshot(name="a number")


def test_a_parameter_without_self(affine, snapshot):
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
    assert failure_message(affine, namespace["Affine"]) == snapshot


@pytest.fixture
def centred(declare_exercise):
    return declare_exercise(
        "centred",
        initial_parameters=lambda d: {"w": torch.ones(d), "b": torch.zeros(d)},
        oracle=lambda p, x: p["w"] * (x - x.mean(-1, keepdim=True)) + p["b"],
        cases=lambda rand: [case(rand(4, 3), init=(3,))],
    )


@pytest.mark.parametrize(
    "forward",
    [
        lambda p, x: p["w"] * (x - x.mean(-1, keepdim=True)) + 1.1 * p["b"],
        lambda p, x: (p["w"] * (x - x.mean(-1, keepdim=True)) + 1.1 * p["b"]).detach(),
        lambda p, x: x * 0 + x,
    ],
)
def test_a_message_on_wrong_numbers_does_not_call_them_right(centred, forward):
    report = diagnose(centred, to_learner_answer(centred, forward))
    assert report.status == "failed" and "cannot be compared" not in report.message
    assert "are right" not in report.message and "is right" not in report.message


def fails_itself(probe):
    raise KeyError("nothing there")


def test_an_exception_in_a_property_is_an_error_of_the_check(declare_exercise, snapshot):
    report = diagnose(declare_exercise(properties=[fails_itself]), lambda x: x * 2)
    assert (report.reason, report.property) == ("property", "fails_itself")
    assert report.message == snapshot
