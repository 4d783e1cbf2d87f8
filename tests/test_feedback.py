"""The engine of the checks, proven on small exercises made here: every question that it asks, in its order."""

import json
import random
import re
import subprocess
import sys
import textwrap
from collections import Counter

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from utils import diagnose as engine
from utils import exercise as declared
from utils import feedback
from utils.diagnose import diagnose
from utils.exercise import Bool, Float, case, exercise, linear
from utils.observe import as_module
from utils.feedback import CheckFailed, NotYet, check, hint, solution, yours
from utils.properties import (
    batch_independent, causal, moves_with_its_module, remembers_nothing, rows_sum_to_one, slopes_agree, works_where_its_input_is,
)

HINTS = ("A nudge?", "The idea.", "Almost the code.")


@pytest.fixture
def made(monkeypatch):
    """Declare an exercise for one test only."""
    monkeypatch.setattr(declared, "_exercises", dict(declared.all_exercises()))

    def make(name="double", **given):
        given = {"oracle": lambda x: x * 2, "hints": HINTS, "misconceptions": {}, "cases": lambda rand: [case(rand(2, 3)), case(rand(4, 5))], **given}
        return exercise(name, **given)
    return make


@pytest.fixture
def double(made):
    return made(misconceptions={"squares": (lambda x: x**2, "You squared it. Doubling adds it to itself."), "halves": (lambda x: x / 2, "Half.")})


def named(name, answer):
    answer.__name__ = name
    return answer


def said(exercise_, answer):
    report = diagnose(exercise_, answer)
    assert report.status == "failed", str(report)
    return report.message


# --- passing, not attempted ---------------------------------------------------------------------

def test_a_right_answer_passes(double):
    report = check(named("double", lambda x: x + x))
    assert report and report.status == "passed" and report.misconception is None


def test_dict_results_name_the_wrong_key(made):
    both = made("both", oracle=lambda x: {"a": x, "b": x * 2}, cases=lambda rand: [case(rand(2, 2))])
    assert "both(x) with x of shape [2, 2]: `b`, row 0, column 0 is" in said(both, lambda x: {"a": x, "b": x * 2 + torch.eye(2)})


def test_a_stub_is_calm(double):
    def double(x):
        # YOUR CODE HERE
        raise NotImplementedError("double")

    report = check(double)
    assert report.status == "todo" and not report
    assert str(report) == "○ double: not attempted yet. `hint(double)` gives a nudge."


def test_an_ellipsis_is_calm_wherever_it_surfaces(double):
    assert check(named("double", lambda x: ...)).status == "todo"
    assert check(named("double", lambda x: x * ...)).status == "todo"
    assert check(attn_scores_2=...).status == "todo"


def test_a_stub_of_another_exercise_is_named(double):
    def get_mask(size):
        raise NotImplementedError("get_mask")

    report = check(named("double", lambda x: get_mask(3)))
    assert report.status == "todo" and "needs `get_mask`" in report.message


def test_torch_own_not_implemented_is_no_stub(double):
    assert "stopped" in said(double, lambda x: torch.softmax(x.long(), 0))


# --- it raised --------------------------------------------------------------------------------------

def test_an_exception_is_told_with_line_and_shapes(double):
    def double(x):
        y = x * 2
        return y @ y

    message = check(double).message
    line = double.__code__.co_firstlineno + 2
    assert message.startswith(f"double(x) with x of shape [2, 3] stopped on line {line} (`return y @ y`) with a RuntimeError: ")
    assert "3 meet 2 (2 × 3 times 2 × 3)" in message


@pytest.mark.parametrize("answer, words", [
    (lambda x: torch.ones(5).tril(), "tril and triu need a matrix"),
    (lambda x: x + torch.ones(7), "sizes 3 and 7 on axis 1 do not fit"),
    (lambda x: torch.dot(x, x), "torch.dot takes two vectors"),
    (lambda x: x / x.sum(dim=1), "A sum or maximum along an axis loses that axis, unless keepdim keeps it."),
    (lambda x: 1 if x else 2, "To ask whether there is one at all, compare with None."),
    (lambda x: x * None, "something is None here"),
    (lambda x: x - x.max(dim=1, keepdim=True), "take its `.values`"),
    (lambda x: (lambda f: f(f))(lambda f: f(f)), "it calls itself without end"),
    (lambda x: x.sum(dim=4), "there is no axis 4"),
    (lambda x: x.masked_fill(torch.ones(2, 3), 0), "must hold True and False"),
    (lambda x: x.view(7, 7), "6 numbers cannot be laid out as [7, 7]"),
    (lambda x: x.dubble(), "a Tensor has no `dubble`"),
    (lambda x: y_undefined * 2, "nothing is called `y_undefined` here"),  # noqa: F821
    (lambda: 3, "the call and the signature do not fit"),
    (lambda x: x.cuda(99) if not torch.cuda.is_available() else x.to("nowhere"), ""),
    (lambda x: 1 / 0, "division by zero."),
])
def test_common_exceptions_in_a_learners_words(double, answer, words):
    message = said(double, answer)
    assert "stopped" in message and words in message


def test_system_exit_is_caught_and_interrupt_is_not(double):
    assert "SystemExit" in said(double, lambda x: sys.exit(1))

    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        diagnose(double, interrupted)


def test_a_size_in_the_code_is_asked_about_where_it_stops_on_other_sizes(double):
    message = said(double, lambda x: (x * 2).reshape(-1, 3))
    assert "It does run for x of shape [2, 3]: is the 3 in it a size that should be read from the input?" in message
    assert "It does run" not in said(double, lambda x: (x * 2) + torch.ones(x.shape[0] + 1))


def test_a_refusal_of_ones_own_is_called_one(double):
    def picky(x):
        if len(x) > 3:
            raise ValueError("too many rows")
        return x * 3

    assert "was refused on line" in (message := said(double, picky)) and "too many rows. Nothing is wrong with this input" in message


def test_a_row_that_is_nan_throughout_was_hidden_throughout(made):
    shares = made("shares", oracle=lambda x: x.softmax(-1), cases=lambda rand: [case(rand(3, 4))])
    hidden = lambda x: torch.softmax(x.masked_fill(torch.ones(3, 4).tril(-1) == 0, -torch.inf), -1)  # noqa: E731
    assert "a softmax over a row in which everything is hidden" in said(shares, hidden)
    assert "everything is hidden" not in said(shares, lambda x: x * torch.nan)


def test_an_attribute_that_init_did_not_store(affine):
    class Lost(Affine):
        def forward(self, x):
            return self.layr(x)

    Lost.__name__ = Lost.__qualname__ = "Affine"
    assert "the object has no `layr`. Did __init__ store it on self, under this name?" in said(affine, Lost)


def test_a_product_of_batches_with_too_much_turned(made):
    product = made("product", oracle=lambda x: x @ x.mT, cases=lambda rand: [case(rand(2, 3, 4))])

    def wrong(x):
        return x @ x.transpose(0, 1)

    assert "in a product of batches all axes before the last two must agree" in said(product, wrong)


# --- None, type, length, order ----------------------------------------------------------------------

def test_a_missing_return(double):
    assert said(double, lambda x: None) == "double(x) with x of shape [2, 3] returned None. Did you forget `return`?"


def test_a_wrong_type(double):
    assert said(double, lambda x: (x * 2).tolist()).endswith("is a list of 2, and a tensor is expected.")


@pytest.fixture
def pair(made):
    return made("pair", oracle=lambda x: (x * 2, x.sum(-1)), returns=(Float("rows columns", name="doubled"), Float("rows", name="sums")))


def test_a_tuple_in_the_wrong_order(pair):
    assert said(pair, lambda x: (x.sum(-1), x * 2)) == "The parts are right and their order is not: return (doubled, sums), in this order."


def test_a_tuple_of_the_wrong_length(pair):
    assert "returned 3 things, and 2 are expected: (doubled, sums)" in said(pair, lambda x: (x * 2, x.sum(-1), x))
    assert "is a tensor, and a tuple of 2 is expected: (doubled, sums)" in said(pair, lambda x: x * 2)


def test_a_part_of_the_wrong_type_is_named(pair):
    assert "returned a bool as its `doubled`, and a tensor is expected" in said(pair, lambda x: (True, x.sum(-1)))


class Evil:
    """Fails at whatever is asked of it."""

    def __eq__(self, other):
        raise RuntimeError("no")

    def __len__(self):
        raise RuntimeError("no")

    def __repr__(self):
        raise RuntimeError("no")


def test_no_answer_makes_a_check_raise(double, pair):
    loop = []
    loop.append(loop)
    for value in (Evil(), loop, iter([1]), object, torch.ones(2, 3, dtype=torch.complex64), "text", {1: Evil()}):
        for exercise_ in (double, pair):
            assert diagnose(exercise_, lambda x: value).status == "failed"
            assert diagnose(exercise_, lambda x: (value, value)).status == "failed"


def test_the_wrong_part_of_a_tuple_is_named(pair):
    assert "`sums`, entry 1 is" in said(pair, lambda x: (x * 2, x.sum(-1) + torch.arange(len(x))))


def test_of_several_wrong_parts_the_last_is_shown(pair):
    """Weights come last in a result and first in the computation: where they are wrong, the rest follows."""
    report = diagnose(pair, lambda x: (x * 3, x.sum(-1) + 1))
    assert report.table.caption == "sums" and "`sums`, entry 0 is" in report.message


# --- shape, type of numbers, device, nan ------------------------------------------------------------

def test_a_wrong_shape_in_the_axes_names(made):
    exercise_ = made("sums", oracle=lambda x: x.sum(1), returns=Float("rows"))
    assert said(exercise_, lambda x: x.sum(0)) == "The result of sums(x) with x of shape [2, 3] has shape [3]; expected is [rows = 2]."
    twisted = made("sums", oracle=lambda x: x, returns=Float("rows columns"))
    assert "has shape [3, 2], with its last two axes swapped; expected is [rows = 2, columns = 3]." in said(twisted, lambda x: x.T)


def test_a_hard_coded_size(made):
    mask = made("grid", oracle=lambda size: torch.eye(size).bool(), cases=[case(2), case(5)], returns=Bool("size size"))
    message = said(mask, lambda size: torch.eye(6).bool())
    assert "has shape [6, 6] whatever the input is; here [size = 2, size = 2] is expected" in message and "Read the size from the argument" in message


def test_broadcasting_hides_no_shape(made):
    exercise_ = made("column", oracle=lambda x: x.sum(1), cases=[case(torch.ones(3, 3))])
    assert "has shape [3, 1]" in said(exercise_, lambda x: x.sum(1, keepdim=True))


def test_a_wrong_dtype(double):
    assert "The numbers are right, their type is not: float64 where float32 is needed" in said(double, lambda x: x.double() * 2)
    assert "The type of the numbers is off: int64" in said(double, lambda x: x.long() + 7)


def test_a_float_mask(made):
    mask = made("grid", oracle=lambda size: torch.eye(size).bool(), cases=[case(2), case(5)])
    assert said(mask, lambda size: torch.eye(size)).endswith("`masked_fill` and `~` want True and False.")


def test_another_device(double):
    """The meta device stands for any other one: it is there on every machine."""
    assert "is on the device meta, its inputs are on cpu" in said(double, lambda x: (x * 2).to("meta"))


def test_nan_and_inf(double):
    message = said(double, lambda x: x * 2 / torch.zeros(()))
    assert "inf at row 0, column 0, where a finite number is expected" in message


# --- misconceptions -----------------------------------------------------------------------------

def test_a_misconception_speaks_with_its_table(double):
    report = check(named("double", lambda x: x * x))
    assert (report.misconception, report.message) == ("squares", "You squared it. Doubling adds it to itself.")
    assert len(report.table.yours) == 4 and len(report.table.yours[0]) == 5
    assert len(report.table.wrong) == 20


def test_a_misconception_is_known_through_a_wrong_type(double):
    """Two mistakes at once: the deeper one is named."""
    assert diagnose(double, lambda x: (x * x).double()).misconception == "squares"


def test_a_misconception_must_agree_on_every_case(double):
    assert diagnose(double, lambda x: x * x if len(x) == 2 else x * 3).misconception is None


def test_a_misconception_that_raises_somewhere(made):
    """Right on square input, an exception elsewhere: recognised by both."""
    product = made("product", oracle=lambda x: x @ x.T, cases=lambda rand: [case(rand(3, 3)), case(rand(2, 4))],
                   misconceptions={"no-transpose": (lambda x: x @ x, "Turn one of them.")})
    assert diagnose(product, lambda x: torch.matmul(x, x)).misconception == "no-transpose"


def test_a_value_is_recognised(made):
    value = made("total", oracle=torch.tensor(6.0), cases=(case(),), misconceptions={"mean": (lambda: torch.tensor(2.0), "The mean.")})
    assert check(total=torch.tensor(2.0)).misconception == "mean" and check(total=torch.tensor(6.0))
    assert "it is 5.0000, expected 6.0000" in said(value, torch.tensor(5.0))


# --- side effects, gradients, properties ------------------------------------------------------------

def test_a_modified_input(double):
    def in_place(x):
        x *= 2
        return x

    assert "it changed its input `x`" in said(double, in_place)


def test_a_view_may_ask_for_the_case_and_inputs_are_watched_all_the_same(made):
    noisy = made(
        "noisy", oracle=lambda x, generator: x + torch.rand(x.shape, generator=generator), differentiable=False,
        cases=lambda rand: [case(rand(2, 3), torch.Generator().manual_seed(1))],
        view=lambda result, x, generator, case: (result - case.args[0]).round(decimals=-1),
    )
    assert diagnose(noisy, lambda x, generator: x + 1 - torch.rand(x.shape, generator=generator))
    in_place = lambda x, generator: x.add_(torch.rand(x.shape, generator=generator))  # noqa: E731
    assert "it changed its input `x`" in said(noisy, in_place)


def test_a_wrong_counter_is_told_by_its_entries(made):
    tally = made("tally", oracle=lambda ids: {i: ids.count(i) for i in ids}, cases=[case([1, 2, 1])])
    assert diagnose(tally, lambda ids: Counter(ids))
    assert said(tally, lambda ids: Counter(ids[1:])) == "tally([1, 2, 1]): at key 1 yours is 1, expected 2."
    assert said(tally, lambda ids: [2, 1]) == "tally([1, 2, 1]) is a list of 2, and a dict is expected."


def test_a_detached_result(double):
    assert "no gradient reaches `x`" in said(double, lambda x: (x * 2).detach())
    assert "no gradient reaches `x`" in said(double, lambda x: torch.tensor((x * 2).tolist()))


def test_gradients_may_be_no_matter(made):
    assert diagnose(made(differentiable=False), lambda x: torch.tensor((x * 2).tolist()))


def test_a_gradient_that_breaks(double):
    def overwritten(x):
        y = x.exp()
        z = y.log() * 2
        y.mul_(0)
        return z

    assert "gradients cannot flow back: a tensor that the gradient still needs was overwritten" in said(double, overwritten)


def test_numbers_written_down_are_found_out(made):
    exercise_ = made(cases=lambda rand: [case(rand(2, 2))])
    written = exercise_.draw()[0].args[0] * 2
    assert said(exercise_, lambda x: written * x / x).startswith("Right for one set of numbers and wrong for another")


def test_a_broken_property_fails_right_numbers(made):
    assert said(made(properties=[lambda probe: "It breaks a promise."]), lambda x: x * 2) == "It breaks a promise."


def test_a_property_is_asked_where_other_cases_are_refused(made):
    """A case that the oracle refuses must not silence the properties: they are asked of the cases that gave a result."""
    def halves(x):
        if x.shape[-1] % 2:
            raise ValueError("odd")
        return x / 2

    asked = []
    even = made("halves", oracle=halves, cases=[case(torch.ones(3)), case(torch.ones(4))],
                properties=[lambda probe: asked.append([len(t.case.args[0]) for t in probe.trials]) or "It breaks a promise."])
    assert said(even, halves) == "It breaks a promise." and asked == [[4]]
    asked.clear()

    def only_odd(x):
        if not x.shape[-1] % 2:
            raise ValueError("even")
        return x / 2

    assert "It breaks a promise." not in said(even, only_odd) and not asked  # it stopped where it should have run


def test_a_property_may_run_the_answer_again(made):
    seen = []
    again = made(properties=[lambda probe: seen.append(probe.run(case(torch.ones(1))).value)])
    assert diagnose(again, lambda x: x * 2) and seen[0].tolist() == [2.0]


def test_rows_that_do_not_sum_to_one(made):
    weigh = made("weigh", oracle=lambda x: x.softmax(-1), properties=[rows_sum_to_one()])
    assert "do not sum to one: row 1 sums to 1.2" in said(weigh, lambda x: x.sigmoid())
    columns = said(weigh, lambda x: x.softmax(-2))
    assert "The columns do: the softmax ran along the wrong axis." in columns


@pytest.fixture
def running_mean(made):
    def oracle(x):
        return x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None]
    return made("running_mean", oracle=oracle, cases=lambda rand: [case(rand(4, 3)), case(rand(2, 5, 3))], properties=[causal(), batch_independent()])


def test_a_future_that_changes_the_past(running_mean):
    assert "when the last of 4 tokens changed, position 0 changed too" in said(running_mean, lambda x: x.mean(-2, keepdim=True).expand_as(x))


def _blocked(x, with_):
    n = x.shape[-2]
    return (x @ -x.mT / x.shape[-1] ** 0.5).masked_fill(torch.ones(n, n).triu(1).bool(), with_)


def test_a_future_that_is_hidden_by_some_low_number(made):
    def oracle(x):
        return torch.softmax(_blocked(x, -torch.inf), -1) @ x

    look = made("look", oracle=oracle, cases=lambda rand: [case(rand(2, 4, 3)), case(rand(1, 5, 2))], properties=[causal()])
    assert diagnose(look, lambda x: torch.softmax(_blocked(x, -torch.inf), -1) @ x)
    for low in (-100.0, -1e4):
        assert "With inputs 1000 times as large the future changes the past" in said(look, lambda x: torch.softmax(_blocked(x, low), -1) @ x)
    assert diagnose(look, lambda x: torch.softmax(_blocked(x, torch.finfo(x.dtype).min), -1) @ x)

    def renormalised(x):
        weights = torch.softmax(x @ -x.mT / x.shape[-1] ** 0.5, -1) * torch.ones(x.shape[-2], x.shape[-2]).tril()
        return F.normalize(weights, p=1, dim=-1) @ x

    assert diagnose(look, renormalised)  # its weights vanish where scores are huge, which lets nothing through


def test_a_refusal_that_is_asked_for_does_not_switch_properties_off(made):
    def oracle(x):
        if len(x) == 1:
            raise ValueError("two rows at least")
        return x.cumsum(-2)

    rows = made("rows", oracle=oracle, cases=lambda rand: [case(rand(4, 3)), case(rand(1, 3))], properties=[lambda probe: "Never right." if len(probe.trials) == 1 else None])
    assert said(rows, oracle) == "Never right."


def test_wrong_numbers_beside_a_right_refusal_are_what_is_spoken_of(made):
    def oracle(x):
        if len(x) == 1:
            raise ValueError("two rows at least")
        return x.cumsum(-2)

    rows = made("rows", oracle=oracle, cases=lambda rand: [case(rand(4, 3)), case(rand(1, 3))])
    words = said(rows, lambda x: oracle(x) ** 2)
    assert "should be refused" not in words and "In 1 of 2 cases the result differs" in words
    assert "should be refused with a ValueError" in said(rows, lambda x: x.cumsum(-2) ** 2)


def test_what_is_kept_from_an_earlier_call(made):
    turned = made(
        "Turned", initial=lambda d_in, d_out: linear(layer=nn.Linear(d_in, d_out)), oracle=lambda p, x: F.linear(x, p["layer.weight"], p["layer.bias"]),
        cases=lambda rand: [case(rand(4, 3), init=(3, 2))], properties=[remembers_nothing],
    )

    class First(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.layer, self.kept = nn.Linear(d_in, d_out), None

        def forward(self, x):
            self.kept = self.layer.weight * 1.0 if self.kept is None else self.kept
            return x @ self.kept.T + self.layer.bias

    assert "An object that was called before answers differently" in said(turned, First)
    First.forward = lambda self, x: self.layer(x)
    assert diagnose(turned, First)


def test_a_slope_that_is_not_the_right_one(made):
    centred = made(
        "Centred", initial=lambda d: {"w": torch.ones(d)}, oracle=lambda p, x: (x - x.mean(-1, keepdim=True)) * p["w"],
        cases=lambda rand: [case(rand(4, 3), init=(3,))], properties=[slopes_agree],
    )
    assert diagnose(centred, as_module(centred, lambda p, x: p["w"] * x - p["w"] * x.mean(-1, keepdim=True)))
    assert "the gradient for the input is not" in said(centred, as_module(centred, lambda p, x: (x - x.mean(-1, keepdim=True).detach()) * p["w"]))


def test_batch_items_that_leak(running_mean):
    def leaking(x):
        right = x.cumsum(-2) / torch.arange(1, x.shape[-2] + 1)[:, None]
        return right + (x.mean(0, keepdim=True) if x.dim() > 2 else 0)

    assert "Batch items leak into each other" in said(running_mean, leaking)


def test_a_tensor_that_stays_behind_when_its_module_moves(made):
    cumulative = made("Cumulative", initial=lambda size: {"w": torch.ones(size)}, oracle=lambda p, x: (x * p["w"]).cumsum(-1),
                      cases=lambda rand: [case(rand(2, 4), init=(4,)), case(rand(3, 5), init={"size": 5})], properties=[moves_with_its_module])

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
        return named("Cumulative", type("Cumulative", (Kept,), methods))

    by_hand = variant(forward=lambda self, x: (x * self.w) @ torch.ones(x.shape[-1], x.shape[-1], device=x.device).triu())
    for right in (variant(), by_hand, variant(keep=lambda self, table: self.register_buffer("table", table, persistent=False))):
        assert diagnose(cumulative, right)
    assigned = variant(keep=lambda self, table: setattr(self, "table", table))
    assert "`self.table` stayed behind when the module moved to another device" in said(cumulative, assigned)
    assert "`self.tables` stayed behind" in said(cumulative, variant(keep=lambda self, table: [self.register_buffer("table", table), setattr(self, "tables", [table])]))
    made_there = variant(forward=lambda self, x: (x * self.w) @ torch.ones(x.shape[-1], x.shape[-1]).triu())
    assert "It works on the CPU only" in said(cumulative, made_there)
    in_place = variant(forward=lambda self, x: ((x * self.w) @ self.table).masked_fill_(torch.zeros(x.shape, dtype=torch.bool), 1.0))
    assert "It works on the CPU only" in said(cumulative, in_place)


def test_a_function_works_where_its_input_is(made):
    counted = made("counted", oracle=lambda x, base=1.0: x + torch.arange(x.shape[-1], device=x.device) * base, properties=[works_where_its_input_is],
                   cases=lambda rand: [case(rand(2, 4)), case(rand(3, 5), base=2.0)])
    steps = lambda x, **where: torch.arange(x.shape[-1], **where)
    for right in (lambda x, base=1.0: x + steps(x, device=x.device) * base, lambda x, base=1.0: x + (steps(x) * base).to(x), lambda x, base=1.0: torch.stack([x[..., i] + i * base for i in range(x.shape[-1])], -1)):
        assert diagnose(counted, named("counted", right))
    for left_behind in (lambda x, base=1.0: x + steps(x) * base, lambda x, base=1.0: x + torch.eye(len(steps(x))) @ steps(x).float() * base):
        assert "It works on the CPU only: on another device it mixes" in said(counted, left_behind)


def test_a_tensor_of_the_notebook(double):
    namespace = {"inputs": torch.randn(2, 3)}
    exec("def double(x):\n    return inputs * 2", namespace)
    assert "It uses `inputs`, a tensor of the notebook. All that it needs should come from its arguments `x`" in check(namespace["double"]).message
    namespace["d_k"] = 3
    exec("def double(x):\n    return x * d_k", namespace)
    assert "It uses `d_k`, a number of the notebook" in check(namespace["double"]).message


def test_a_parameter_without_self(affine):
    namespace = {"nn": nn, "layer": torch.ones(3, 2)}
    exec(textwrap.dedent("""
        class Affine(nn.Module):
            def __init__(self, d_in, d_out):
                super().__init__()
                self.layer = nn.Linear(d_in, d_out)

            def forward(self, x):
                return x @ layer
    """), namespace)
    assert "`layer` without `self.` is a tensor of the notebook" in said(affine, namespace["Affine"])


# --- the plain difference ---------------------------------------------------------------------------

def test_the_smallest_failing_case_and_its_first_wrong_number(double):
    def odd(x):
        y = x * 2
        y[1, 2] += 1
        return y

    report = diagnose(double, odd)
    assert report.message.startswith("In 2 of 2 cases the result differs. Smallest: double(x) with x of shape [2, 3]: row 1, column 2 is ")
    assert report.table.wrong == {(1, 2)}


def test_the_table_shows_the_case_that_the_words_are_about(made):
    """The smallest, wherever it stands in the list."""
    exercise_ = made(cases=lambda rand: [case(rand(5, 5)), case(rand(2, 2)), case(rand(3, 3))])
    report = diagnose(exercise_, lambda x: x * 2 + torch.eye(len(x)))
    assert "x of shape [2, 2]" in report.message and len(report.table.yours) == 2


def test_what_one_number_means(made):
    mask = made("grid", oracle=lambda size: torch.eye(size).bool(), cases=[case(2)], meaning=lambda index, a, b: f"{index[0]} sees {index[1]}")
    assert said(mask, lambda size: torch.ones(size, size).bool()) == "grid(2): row 0, column 1 is True, expected False; 0 sees 1."


@pytest.mark.parametrize("wrong, words", [
    (lambda x: x * 3, "Every number is 1.5 times the expected one."),
    (lambda x: x * -2, "All numbers have the wrong sign."),
    (lambda x: x * 2 + 0.25, "Every number is off by the same amount, +0.25"),
    (lambda x: x * x.shape[-1], "off by one factor: 1.5, 2.5"),
])
def test_plain_relations(double, wrong, words):
    assert words in said(double, wrong)


def test_a_transposed_result(made):
    square = made("square", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(3, 3)), case(rand(4, 4))])
    assert "It is the transpose of what is expected" in said(square, lambda x: (x * 2).T)


def test_dicts(made):
    count = made("count", oracle=lambda ids: {(1, 2): 2, (2, 1): 1}, cases=[case([1, 2, 1, 2])])
    assert "at key (1, 2) yours is 3, expected 2" in said(count, lambda ids: {(1, 2): 3, (2, 1): 1})
    assert "the key (2, 1) is missing" in said(count, lambda ids: {(1, 2): 2})
    assert "the key (0, 0) should not be there" in said(count, lambda ids: {(1, 2): 2, (2, 1): 1, (0, 0): 1})


# --- modules ----------------------------------------------------------------------------------------

@pytest.fixture
def affine(made):
    return made("Affine", initial=lambda d_in, d_out: linear(layer=nn.Linear(d_in, d_out)),
                oracle=lambda p, x: F.linear(x, p["layer.weight"], p["layer.bias"]),
                cases=lambda rand: [case(rand(4, 3), init=(3, 2)), case(rand(2, 3), init=(3, 2), fill=False, seed=7)],
                misconceptions={"no-bias": (lambda p, x: F.linear(x, p["layer.weight"]), "The bias is not used.")})


class Affine(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.layer = nn.Linear(d_in, d_out)

    def forward(self, x):
        return self.layer(x)


def test_a_module_passes_and_a_wrong_forward_is_named(affine):
    assert check(Affine)

    class Wrong(Affine):
        def forward(self, x):
            return x @ self.layer.weight.T

    Wrong.__name__ = "Affine"
    assert check(Wrong).misconception == "no-bias"


def test_parameters_missing_too_many_misshaped(affine):
    class Missing(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.linear = nn.Linear(d_in, d_out)

        def forward(self, x):
            return self.linear(x)

    assert said(affine, Missing) == "Affine(3, 2) has no parameter `layer.weight`, `layer.bias`; it has `linear.weight`, `linear.bias`."

    class TooMany(Affine):
        def __init__(self, d_in, d_out):
            super().__init__(d_in, d_out)
            self.extra = nn.Parameter(torch.zeros(1))

    assert "a parameter too many: `extra`" in said(affine, TooMany)

    class Turned(Affine):
        def __init__(self, d_in, d_out):
            super().__init__(d_in, d_out)
            self.layer.weight = nn.Parameter(torch.zeros(d_in, d_out))

        def forward(self, x):
            return x @ self.layer.weight + self.layer.bias

    assert "has layer.weight of shape [3, 2], and [2, 3] is expected" in said(affine, Turned)


def test_a_parameter_that_no_gradient_reaches(affine):
    class Cut(Affine):
        def forward(self, x):
            return F.linear(x, self.layer.weight, self.layer.bias.detach())

    assert "no gradient reaches `layer.bias`" in said(affine, Cut)


def test_wrong_numbers_in_which_something_has_no_part(made, affine):
    product = made("product", oracle=lambda a, b: a @ b, cases=lambda rand: [case(rand(n, n), rand(n, n)) for n in (2, 3)])
    assert "`b` has no part in the result" in said(product, lambda a, b: a @ a)
    for silent in (lambda a, b: a @ b + 1, lambda a, b: (a + a @ b).detach(), lambda a, b: a @ a if len(a) == 2 else a @ b):
        assert "no part" not in said(product, silent)  # wrong, and all have a part, or none, or it depends on the case

    class Unused(Affine):
        def forward(self, x):
            return 3 * x @ self.layer.weight.T

    assert "`layer.bias` has no part in the result" in said(affine, Unused)


def test_no_super_init_and_no_forward(affine):
    class NoSuper(nn.Module):
        def __init__(self, d_in, d_out):
            self.layer = nn.Linear(d_in, d_out)

    assert "`super().__init__()` has to run before" in said(affine, NoSuper)

    class NoForward(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.layer = nn.Linear(d_in, d_out)

    assert "has no method called forward" in said(affine, NoForward)


def test_half_a_class_is_not_attempted_yet(affine):
    class Half(Affine):
        def forward(self, x):
            raise NotImplementedError("Affine.forward")

    report = diagnose(affine, Half)
    assert report.status == "todo" and report.message == "`forward` is not attempted yet. `hint(Affine)` gives a nudge."


def test_an_oracle_knows_what_its_module_was_built_with(made):
    """A rate or a number of heads is no parameter, and forward depends on it."""
    scaled = made("Scaled", initial=lambda d, factor=3.0: {"w": torch.ones(d)}, oracle=lambda p, x: x * p["w"] * p.init["factor"],
                  cases=lambda rand: [case(rand(2, 4), init=(4,)), case(rand(3, 5), init={"d": 5, "factor": 0.5})],
                  misconceptions={"factor-ignored": (lambda p, x: x * p["w"] * 3.0, "The factor is not used.")})

    class Scaled(nn.Module):
        def __init__(self, d, factor=3.0):
            super().__init__()
            self.w, self.factor = nn.Parameter(torch.ones(d)), factor

        def forward(self, x):
            return x * self.w * self.factor

    assert diagnose(scaled, Scaled)
    assert diagnose(scaled, as_module(scaled, lambda p, x: x * p["w"] * 3.0)).misconception == "factor-ignored"


def test_train_and_eval_are_told_apart(made):
    dropped = made("Dropped", initial=lambda p: {}, oracle=lambda p, x: F.dropout(x, 0.5, training=p.training),
                   cases=lambda rand: [case(rand(4, 5), init=(0.5,), train=True), case(rand(4, 5), init=(0.5,))],
                   misconceptions={"drops-in-eval": (lambda p, x: F.dropout(x, 0.5), "It drops outside training.")})

    class Dropped(nn.Module):
        def __init__(self, p):
            super().__init__()
            self.p = p

        def forward(self, x):
            return F.dropout(x, self.p)  # training=True is its default

    assert diagnose(dropped, Dropped).misconception == "drops-in-eval"


    assert "differs" in said(dropped, named("Dropped", type("Dropped", (Dropped,), {"forward": lambda self, x: x})))


def test_parameters_are_filled_so_that_a_forgotten_one_shows(made):
    """A bias that starts at zero can be left out without a trace, unless the check gives it numbers."""
    shifted = made("Shifted", initial=lambda d: {"b": torch.zeros(d)}, oracle=lambda p, x: x + p["b"],
                   cases=lambda rand: [case(rand(2, 3), init=(3,))])

    class Shifted(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.b = nn.Parameter(torch.zeros(d))

        def forward(self, x):
            return x + 0 * self.b

    assert "differs" in said(shifted, Shifted) or "row 0, column 0 is" in said(shifted, Shifted)


def test_refused_input(made):
    def parameters(d, n):
        if d % n:
            raise ValueError("d must be divisible by n")
        return {}

    split = made("Split", initial=parameters, oracle=lambda p, x: x,
                 cases=[case(torch.ones(2, 4), init=(4, 2)), case(torch.ones(2, 4), init=(4, 3))])

    class Split(nn.Module):
        def __init__(self, d, n):
            super().__init__()
            assert d % n == 0, "an assert refuses as well as a ValueError"

        def forward(self, x):
            return x

    assert diagnose(split, Split)

    class Split(nn.Module):
        def __init__(self, d, n):
            super().__init__()

        def forward(self, x):
            return x

    assert "Split(4, 3)(x) with x of shape [2, 4] should be refused with a ValueError: d must be divisible by n" in said(split, Split)

    class Split(Split):
        def __init__(self, d, n):
            super().__init__(d, n)
            d // (d % n - 1)

    assert "should be refused with a ValueError; yours raised a ZeroDivisionError" in said(split, Split)


# --- how check is called ----------------------------------------------------------------------------

@pytest.mark.parametrize("call, words", [
    (lambda: check(), "was given nothing"),
    (lambda: check(len), "`len` comes with Python or torch"),
    (lambda: check(torch.softmax), "`softmax` comes with Python or torch"),
    (lambda: check(F.softmax), "`softmax` comes with Python or torch"),
    (lambda: check("row_sums"), "pass the thing itself, without quotes"),
    (lambda: check(lambda x: x), "A lambda has no name"),
    (lambda: check(torch.zeros(3)), "pass it by its name, as in check("),
    (lambda: check(3), "pass it by its name"),
    (lambda: check(row_sum=1), "No exercise is called row_sum. Did you mean row_sums? There are: "),
    (lambda: check(row_sums=1), "`row_sums` is a function: pass it as it is, check(row_sums)."),
    (lambda: check(named("simple_attn", lambda x: x)), "Did you mean simple_attention?"),
    (lambda: check(type("row_sums", (), {})), "`row_sums` should be a function, and a class was given: define it with `def row_sums`."),
    (lambda: check(named("SelfAttention_v1", lambda x: x)), "`SelfAttention_v1` should be a class, and a function was given"),
    (lambda: check(Affine(2, 2)), "pass the class itself, check(Affine)"),
    (lambda: check(attn_scores_2=1, attn_weights_2=2), "one exercise at a time and was given 2 things"),
])
def test_a_call_that_names_no_exercise_says_so_in_one_sentence(call, words):
    report = call()
    assert report.status == "failed" and words in report.message and "\n" not in report.message


def test_strict_raises_and_says_the_same(double, monkeypatch):
    monkeypatch.setenv("COURSE_CHECKS", "strict")
    assert check(named("double", lambda x: x * 2))
    with pytest.raises(CheckFailed, match="You squared it"):
        check(named("double", lambda x: x * x))
    with pytest.raises(CheckFailed, match="not attempted"):
        check(named("double", lambda x: ...))


def test_prints_of_an_answer_are_not_shown(double, capsys):
    def loud(x):
        print("here")
        return x * 2

    assert diagnose(double, loud) and capsys.readouterr().out == ""


def test_random_numbers_of_an_answer_are_its_own(double):
    """python's, numpy's and torch's generators go on afterwards as if nothing had been drawn."""
    def drawing(x):
        random.random(), np.random.rand(), torch.rand(1), torch.manual_seed(1)
        return x * 2

    random.seed(3), np.random.seed(3), torch.manual_seed(3)
    wanted = random.random(), np.random.rand(), torch.rand(1)
    random.seed(3), np.random.seed(3), torch.manual_seed(3)
    assert diagnose(double, drawing)
    assert (random.random(), np.random.rand(), torch.rand(1)) == wanted


def test_names_are_unique_in_the_course(made):
    with pytest.raises(ValueError, match="row_sums is already an exercise of start_here"):
        made("row_sums")


# --- reports ----------------------------------------------------------------------------------------

def test_text_and_html_say_the_same(double):
    report = check(named("double", lambda x: x * x))
    text, page = str(report), report._repr_html_()
    assert report.message in text and report.message in re.sub("<[^>]*>", "", page)
    for cells in report.table.yours + report.table.expected:
        for cell in cells:
            assert cell in text and f">{cell}</td>" in page
    assert text.count("[") == page.count("outline:2px") == len(report.table.wrong)


def test_backticks_are_code_on_a_page(double):
    page = check(named("double", lambda x: None))._repr_html_()
    assert "<code>return</code>" in page and "`" not in page


def test_html_is_escaped_and_sets_no_background(double):
    page = check(named("double", lambda x: x @ torch.ones(3, 3) if "<script>" else x))._repr_html_()
    assert "<script>" not in page and "background" not in page
    assert "var(--jp-ui-font-color1" in page


@pytest.mark.parametrize("name", ["#2a8f5b", "#d1543a", "#7a7f8a"])
def test_accents_stand_out_on_light_and_dark(name):
    """WCAG asks 3:1 of graphical marks; JupyterLab's backgrounds are white and #111111."""
    def luminance(colour):
        channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        linear_ = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear_[0] + 0.7152 * linear_[1] + 0.0722 * linear_[2]

    from utils.report import ACCENT
    assert name in ACCENT.values()
    for ground in ("#ffffff", "#111111"):
        high, low = sorted((luminance(name), luminance(ground)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 3


def test_a_large_table_is_cut_around_the_first_wrong_cell(made):
    wide = made("wide", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(30, 40))])

    def odd(x):
        y = x * 2
        y[20, 33] = 0
        return y

    report = diagnose(wide, odd)
    assert len(report.table.yours) == len(report.table.yours[0]) == 8
    assert report.table.caption == "rows 16–23, columns 29–36 of 30 × 40" and report.table.wrong == {(4, 4)}


def test_a_batch_shows_the_item_that_is_wrong(made):
    deep = made("deep", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(3, 2, 2))], returns=Float("batch seq d_in"))

    def odd(x):
        y = x * 2
        y[2, 0, 1] = 0
        return y

    assert diagnose(deep, odd).table.caption == "batch 2"
    assert diagnose(made("flat", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(3, 2, 2))]), odd).table.caption == "item 2"


# --- hints and solutions ----------------------------------------------------------------------------

def test_hints_come_in_three_grades(double, monkeypatch):
    monkeypatch.setattr(feedback, "_hints_given", {})
    assert [hint("double").text.split(" (")[0] for _ in range(4)] == [*HINTS, HINTS[2]]
    assert hint("double", 1).text.startswith(HINTS[0])
    assert "There are three grades" in hint("double", 7).text
    assert "No exercise is called dubble" in hint("dubble").text
    assert hint(double=3).title.startswith("double: hint 2") and "in quotes for a value" in hint(torch.ones(2)).text


def test_solution_shows_the_answer_or_says_where_to_ask(monkeypatch):
    def row_sums(x): ...

    assert "return x.sum(dim=1)" in str(solution(row_sums)) and "COGINST" not in str(solution(row_sums))
    assert "attn_scores_2 = inputs @ query" in str(solution("attn_scores_2"))
    from utils import lessons

    def gone(*_):
        raise lessons.LessonError("none here")

    monkeypatch.setattr(feedback.lessons, "find", gone)
    assert "Ask whoever gave it to you" in str(solution(row_sums))


# --- yours ------------------------------------------------------------------------------------------

LESSON = """\
---
jupyter:
  kernelspec:
    display_name: Python 3
    language: python
    name: python3
---

# A learner's page

```python
import torch
```

```python
def row_sums(x):
    {body}
```

```python
raise RuntimeError("a demo cell must not run")
```
"""


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A learner's folder, the current one, in which lesson 00 can be written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(feedback.lessons, "ROOT", tmp_path)
    return lambda body: (tmp_path / "00_start_here.md").write_text(LESSON.format(body=body))


def test_yours_is_the_learners_own_when_it_passes(desk, capsys):
    desk("return x.sum(dim=1) + 0")
    assert yours("row_sums").__code__.co_consts[-1] == 0 or "00_start_here" in yours("row_sums").__code__.co_filename
    assert capsys.readouterr().out == ""


def test_yours_is_found_where_each_lesson_has_a_folder_of_its_own(desk, tmp_path, monkeypatch, capsys):
    desk("return x.sum(dim=1) + 0")
    (tmp_path / "00_start_here").mkdir()
    (tmp_path / "00_start_here.md").rename(tmp_path / "00_start_here" / "00_start_here.md")
    (tmp_path / "06_layer_norm").mkdir()
    monkeypatch.chdir(tmp_path / "06_layer_norm")
    assert "00_start_here" in yours("row_sums").__code__.co_filename
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("body, why", [("return x.sum(dim=0)", "does not pass its check yet"), ('raise NotImplementedError("row_sums")', "is not attempted yet")])
def test_yours_falls_back_to_the_reference_with_a_note(desk, capsys, monkeypatch, body, why):
    desk(body)
    real = feedback.lessons.find
    from pathlib import Path
    solutions = Path(feedback.__file__).parent.parent / "solutions"
    monkeypatch.setattr(feedback.lessons, "find", lambda name, folder=None: real(name, folder or solutions))
    assert yours("row_sums")(torch.ones(2, 3)).tolist() == [3.0, 3.0]
    assert f"Using the course's own row_sums: yours in 00_start_here.md {why}." in capsys.readouterr().out


def test_yours_speaks_of_what_was_asked_for_alone(tmp_path, monkeypatch, capsys):
    """The layer is made of two other exercises, for which its lesson asks as it is loaded."""
    from utils.lessons import ROOT, all_lessons

    for path in all_lessons(ROOT / "course"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    yours("SelfAttentionLayer")
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 1 and said[0].startswith("Using the course's own SelfAttentionLayer: yours in 06_layer_norm.")


def test_yours_without_solutions_says_what_to_finish(desk):
    desk("return x.sum(dim=0)")
    with pytest.raises(NotYet, match="This needs `row_sums` from lesson .*start_here.*Finish it there"):
        yours("row_sums")


def test_yours_of_a_value_or_of_nothing():
    with pytest.raises(ValueError, match="`attn_scores_2` is a value"):
        yours("attn_scores_2")
    with pytest.raises(declared.UnknownExercise, match="There are: "):
        yours("LayerNorn")


# --- importing --------------------------------------------------------------------------------------

def in_a_fresh_python(code):
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def test_importing_check_is_lean():
    heavy = in_a_fresh_python("""
        import sys, json
        from utils import check
        print(json.dumps([m for m in ("transformers", "matplotlib", "ipywidgets", "jupytext", "nbformat", "circuitsvis", "IPython") if m in sys.modules]))
    """)
    assert heavy == []


def test_importing_utils_alone_does_not_import_torch():
    assert in_a_fresh_python("import sys, json, utils; print(json.dumps('torch' in sys.modules))") is False


def test_the_vocabulary():
    import utils
    assert {"check", "hint", "solution", "yours", "progress", "show", "explore"} <= set(dir(utils))
    with pytest.raises(AttributeError, match="There are: check, "):
        utils.chekc
    from utils import progress
    assert callable(progress)


@pytest.mark.parametrize("axes, shape, place, size", [
    ("batch seq d", (4, 5, 6), "batch 0, seq 1, d 2", "[batch = 4, seq = 5, d = 6]"),
    ("... seq d", (4, 5, 6), "axis 0 at 0, seq 1, d 2", "[4, seq = 5, d = 6]"),
    ("...", (4, 5, 6), "axis 0 at 0, axis 1 at 1, axis 2 at 2", "[4, 5, 6]"),
    ("seq", (4, 5, 6), "axis 0 at 0, axis 1 at 1, axis 2 at 2", "[4, 5, 6]"),
    ("... seq d", (), None, "a single number (shape [])"),
])
def test_axes_go_by_their_names_where_they_have_one(axes, shape, place, size):
    spec = Float(axes)
    assert engine._named_size(shape, spec) == size
    if place:
        assert engine._position((0, 1, 2), spec) == place


def test_what_einsum_says_of_an_ellipsis_is_no_gap():
    """torch's error holds the word, and the answer was written."""
    from utils.calm import unfilled
    from utils.observe import not_attempted

    with pytest.raises(RuntimeError) as caught:
        torch.einsum("ij,jk->ik", torch.ones(2, 2, 2), torch.ones(2, 2))
    assert "ellipsis" in str(caught.value) and not_attempted(caught.value) is None
    for gap in (lambda: torch.ones(2) @ ..., lambda: torch.softmax(..., dim=0), lambda: 1 + ...):
        with pytest.raises(TypeError) as caught:
            gap()
        assert unfilled(str(caught.value)) and not_attempted(caught.value) == ""


def test_a_parameter_too_many_where_none_is_expected():
    class PositionalEncoding(nn.Module):
        def __init__(self, d_model, max_len=5000):
            super().__init__()
            self.table = nn.Parameter(torch.zeros(max_len, d_model))

        def forward(self, x):
            return x + self.table[: x.shape[-2]]

    words = check(PositionalEncoding).message
    assert "a parameter too many: `table`. None is expected" in words and "buffer" in words


def test_facts_of_a_result_are_told_in_words_without_a_table():
    for name in ("copy_batch", "sample_regression"):
        found = declared.find(name)
        said_ = diagnose(found, engine.runnable(found, found.misconceptions[0]))
        assert said_.misconception and said_.table is None
