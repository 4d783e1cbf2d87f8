"""Each question of the engine, proven on small exercises made here."""

import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.feedback.answers import Affine, failure_message, with_name
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose
from utils.feedback.diagnostics import DIAGNOSTICS
from utils.feedback.exercise import Bool, Float, case, layer_parameters
from utils.feedback.properties import rows_sum_to_one
from utils.feedback.report import REASONS, Report
from utils.feedback.runner import to_learner_answer

# --- passing, not attempted --------------------------------------------------------------------------


def test_a_right_answer_passes(double):
    report = check(with_name("double", lambda x: x + x))
    assert report and report.status == "passed" and report.misconception is None


def test_praise_says_on_how_many_inputs(double, declare_exercise):
    """The cases are drawn once more, with other numbers; those that are written down are not."""
    assert diagnose(double, lambda x: x + x).message == "passed, right on all 4 inputs tried."
    written = declare_exercise("written", cases=[case(torch.ones(2)), case(torch.ones(3)), case(torch.zeros(2))])
    assert diagnose(written, lambda x: x + x).message == "passed, right on all 3 inputs tried."


def test_dict_results_name_the_wrong_key(declare_exercise):
    both = declare_exercise("both", oracle=lambda x: {"a": x, "b": x * 2}, cases=lambda rand: [case(rand(2, 2))])
    assert "both(x) with x of shape [2, 2]: `b`, row 0, column 0 is" in failure_message(
        both, lambda x: {"a": x, "b": x * 2 + torch.eye(2)}
    )


def test_a_stub_is_calm(double):
    def double(x):
        # YOUR CODE HERE
        raise NotImplementedError("double")

    report = check(double)
    assert report.status == "todo" and not report
    assert str(report) == "○ double: not attempted yet. `hint(double)` gives a nudge."


def test_an_ellipsis_is_calm_wherever_it_surfaces(double):
    assert check(with_name("double", lambda x: ...)).status == "todo"
    assert check(with_name("double", lambda x: x * ...)).status == "todo"
    assert check(attn_scores_2=...).status == "todo"


def test_a_stub_of_another_exercise_is_named(double):
    def get_mask(size):
        raise NotImplementedError("get_mask")

    report = check(with_name("double", lambda x: get_mask(3)))
    assert report.status == "todo" and "needs `get_mask`" in report.message


def test_torch_own_not_implemented_is_no_stub(double):
    assert "stopped" in failure_message(double, lambda x: torch.softmax(x.long(), 0))


# --- it raised ---------------------------------------------------------------------------------------


def test_an_exception_is_told_with_line_and_shapes(double):
    def double(x):
        y = x * 2
        return y @ y

    message = check(double).message
    line = double.__code__.co_firstlineno + 2
    assert message.startswith(
        f"double(x) with x of shape [2, 3] stopped on line {line} (`return y @ y`) with a RuntimeError: "
    )
    assert "3 meet 2 (2 × 3 times 2 × 3)" in message


@pytest.mark.parametrize(
    "answer, words",
    [
        (lambda x: torch.ones(5).tril(), "tril and triu need a matrix"),
        (lambda x: x + torch.ones(7), "sizes 3 and 7 on axis 1 do not fit"),
        (lambda x: torch.dot(x, x), "torch.dot takes two vectors"),
        (lambda x: x / x.sum(dim=1), "A sum or maximum along an axis loses that axis, unless keepdim keeps it."),
        (lambda x: 1 if x else 2, "To ask whether there is one at all, compare with None;"),
        (lambda x: x * None, "something is None here"),
        (lambda x: x - x.max(dim=1, keepdim=True), "take its `.values`"),
        (lambda x: (lambda f: f(f))(lambda f: f(f)), "it calls itself without end"),
        (lambda x: x.sum(dim=4), "there is no axis 4"),
        (lambda x: x.masked_fill(torch.ones(2, 3), 0), "must hold True and False"),
        (lambda x: x.view(7, 7), "6 numbers cannot be laid out as [7, 7]"),
        (lambda x: x.dubble(), "a tensor has no `dubble`. Did you mean `double`?"),
        (lambda x: x.two_of_a_kind(), "a Tensor has no `two_of_a_kind`. Is the name spelt as where it was made?"),
        (lambda x: torch.sofmax(x, 0), "`torch` has no `sofmax`. Did you mean `softmax`?"),
        (lambda x: nn.linear(3, 3)(x), "`torch.nn` has no `linear`. Did you mean `Linear`?"),
        (lambda x: torch.two_of_a_kind(x), "module 'torch' has no attribute 'two_of_a_kind'"),
        (lambda x: x ^ 2, "`^` is no power in Python"),
        (lambda x: x * 2.0 ^ 1, "`^` is no power in Python"),
        (lambda x: torch.cross(x[:, :2], x[:, :2], dim=-1), "vectors of 3 numbers only, and here they have 2"),
        (lambda x: x or None, "`if`, `and`, `or`, `not` and `bool` want one yes or no"),
        (lambda x: y_undefined * 2, "nothing is called `y_undefined` here"),  # noqa: F821
        (lambda: 3, "the call and the signature do not fit"),
        (lambda x: x.cuda(99) if not torch.cuda.is_available() else x.to("nowhere"), ""),
        (lambda x: 1 / 0, "division by zero."),
    ],
)
def test_common_exceptions_in_a_learners_words(double, answer, words):
    stopped, _, why = failure_message(double, answer).partition(
        "Error: "
    )  # the line that is quoted may hold the words too
    assert "stopped" in stopped and words in why


def test_system_exit_is_caught(double):
    assert "SystemExit" in failure_message(double, lambda x: sys.exit(1))


def test_a_size_in_the_code_is_asked_about_where_it_stops_on_other_sizes(double):
    message = failure_message(double, lambda x: (x * 2).reshape(-1, 3))
    assert "It does run for x of shape [2, 3]: is the 3 in it a size that should be read from the input?" in message
    assert "It does run" not in failure_message(double, lambda x: (x * 2) + torch.ones(x.shape[0] + 1))


@pytest.mark.parametrize(
    "answer, words",
    [
        (lambda x: (x * 2,), "is a tuple of 1, and a tensor is expected. A comma at the end of a line makes a tuple."),
        (
            lambda x: (x * 2).item,
            "is a function, and a tensor is expected. Without brackets behind its name a function",
        ),
        (lambda x: (x * 2, x), "is a tuple of 2, and a tensor is expected."),
        (lambda x: [x * 2], "is a list of 1, and a tensor is expected."),
    ],
)
def test_how_a_result_came_to_be_of_its_kind(double, answer, words):
    message = failure_message(double, answer)
    assert words in message and (words.endswith("expected.") <= message.endswith("expected."))


def test_a_refusal_of_ones_own_is_called_one(double):
    def picky(x):
        if len(x) > 3:
            raise ValueError("too many rows")
        return x * 3

    assert (
        "was refused on line" in (message := failure_message(double, picky))
        and "too many rows. Nothing is wrong with this input" in message
    )


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda x: x.masked_fill(torch.ones(3, 4).tril(-1) == 0, -torch.inf).softmax(-1), "scores that are all -inf"),
        (lambda x: (x + torch.inf).softmax(-1), "the softmax met a score of inf"),
        (lambda x: (1000 * x.abs()).exp() / (1000 * x.abs()).exp().sum(-1, keepdim=True), "inf / inf is nan"),
        (lambda x: (x - 1000).exp() / (x - 1000).exp().sum(-1, keepdim=True), "0 / 0 is nan"),
        (lambda x: (x - x.abs().max()).log(), "the logarithm of a negative number is nan"),
        (lambda x: x / torch.zeros_like(x), "a division by 0, or by a number that is too small, gives inf"),
        (lambda x: (x + 1000).exp(), "exp of a number that is too large overflows to inf"),
        (lambda x: torch.full_like(x, torch.inf) - torch.inf, "inf - inf is nan"),
        (lambda x: x.masked_fill(x > x.min(), -torch.inf) * 0, "0 × inf is nan"),
    ],
)
def test_nan_is_traced_to_what_made_it(declare_exercise, wrong, words):
    shares = declare_exercise("shares", oracle=lambda x: x.softmax(-1), cases=lambda rand: [case(rand(3, 4))])
    message = failure_message(shares, wrong)
    assert words in message and "It begins on line" in message


def test_an_attribute_that_init_did_not_store(affine):
    class Lost(Affine):
        def forward(self, x):
            return self.layr(x)

    Lost.__name__ = Lost.__qualname__ = "Affine"
    assert "the object has no `layr`. Did __init__ store it on self, under this name?" in failure_message(affine, Lost)


def raised(double, answer):
    report = diagnose(double, answer)
    assert report.reason == "raised", str(report)
    return report.message


def test_an_argument_that_another_value_of_the_notebook_stands_for(double):
    names = {"table": {}}
    exec("def double(x):\n    return len(table)", names)
    assert "It uses `table` of the notebook, and never its argument `x`." in failure_message(double, names["double"])
    exec("def double(x):\n    return missing", names)
    assert "nothing is called `missing` here. Its argument `x` is never used." in failure_message(
        double, names["double"]
    )


def test_one_layer_under_two_names(declare_exercise):
    twice = declare_exercise(
        "Twice",
        initial_parameters=lambda d: layer_parameters(first=nn.Linear(d, d), second=nn.Linear(d, d)),
        oracle=lambda p, x: F.linear(
            F.linear(x, p["first.weight"], p["first.bias"]), p["second.weight"], p["second.bias"]
        ),
        cases=lambda rand: [case(rand(2, 3), init=(3,))],
    )

    class Twice(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.first = self.second = nn.Linear(d, d)

        def forward(self, x):
            return self.second(self.first(x))

    assert "one parameter under several names: `second.weight`, `second.bias` among them" in failure_message(
        twice, Twice
    )


def test_what_does_not_load_is_told_by_name_and_size(double):
    layer = nn.Linear(2, 3)
    message = raised(double, lambda x: layer.load_state_dict({"weight": torch.zeros(2, 3)}))
    assert 'Missing key(s) in state_dict: "bias"; `weight` is [2, 3] in what is loaded and [3, 2] here.' in message
    assert "Linear" not in message


def test_an_axis_is_lost_where_one_was_summed_away(double):
    lost = lambda x: x / x.sum(dim=1)
    added = lambda x: x + torch.ones(x.shape[0] + 5)
    assert "unless keepdim keeps it" in raised(double, lost)
    assert "unless" not in raised(double, added)

    self = SimpleNamespace(norm=lambda x, y: x)
    layer = lambda x: self.norm(x, 1) + torch.ones(x.shape[0] + 5)
    assert "unless" not in raised(double, layer)


def test_a_product_is_spoken_of_where_there_is_no_other_operator(double):
    added = lambda x: (x @ x.mT) + torch.ones(x.shape[0] + 5)
    message = raised(double, added)
    assert "product of batches" not in message and "element by element" in message


def test_a_list_where_a_tensor_is_wanted(double):
    assert "a list has no `shape`. Was a tensor meant to stand here" in raised(double, lambda x: x.tolist().shape)
    assert "Is it the right thing that this is called on?" in raised(double, lambda x: x.tolist().decode())


def test_a_product_of_batches_with_too_much_turned(declare_exercise):
    product = declare_exercise("product", oracle=lambda x: x @ x.mT, cases=lambda rand: [case(rand(2, 3, 4))])

    def wrong(x):
        return x @ x.transpose(0, 1)

    assert "in a product of batches all axes before the last two must agree" in failure_message(product, wrong)


# --- None, type, length, order -----------------------------------------------------------------------


def test_a_missing_return(double):
    assert (
        failure_message(double, lambda x: None)
        == "double(x) with x of shape [2, 3] returned None. Did you forget `return`?"
    )


def test_a_wrong_type(double):
    assert failure_message(double, lambda x: (x * 2).tolist()).endswith("is a list of 2, and a tensor is expected.")


def test_a_tuple_in_the_wrong_order(pair):
    assert (
        failure_message(pair, lambda x: (x.sum(-1), x * 2))
        == "The parts are right and their order is not: return (doubled, sums), in this order."
    )


def test_a_tuple_of_the_wrong_length(pair):
    assert "returned 3 things, and 2 are expected: (doubled, sums)" in failure_message(
        pair, lambda x: (x * 2, x.sum(-1), x)
    )
    assert "is a tensor, and a tuple of 2 is expected: (doubled, sums)" in failure_message(pair, lambda x: x * 2)


def test_a_part_of_the_wrong_type_is_named(pair):
    assert "returned a bool as its `doubled`, and a tensor is expected" in failure_message(
        pair, lambda x: (True, x.sum(-1))
    )


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
            assert diagnose(exercise_, lambda x, value=value: value).status == "failed"
            assert diagnose(exercise_, lambda x, value=value: (value, value)).status == "failed"


def test_the_wrong_part_of_a_tuple_is_named(pair):
    assert "`sums`, entry 1 is" in failure_message(pair, lambda x: (x * 2, x.sum(-1) + torch.arange(len(x))))


def test_of_several_wrong_parts_the_last_is_shown(pair):
    """Weights come last in a result and first in the computation: where they are wrong, the rest follows."""
    report = diagnose(pair, lambda x: (x * 3, x.sum(-1) + 1))
    assert report.table.caption == "sums" and "`sums`, entry 0 is" in report.message


# --- shape, type of numbers, device, nan -------------------------------------------------------------


def test_a_wrong_shape_in_the_axes_names(declare_exercise):
    exercise_ = declare_exercise("sums", oracle=lambda x: x.sum(1), returns=Float("rows"))
    assert (
        failure_message(exercise_, lambda x: x.sum(0))
        == "The result of sums(x) with x of shape [2, 3] has shape [3]; expected is [rows = 2]."
    )
    twisted = declare_exercise("sums", oracle=lambda x: x, returns=Float("rows columns"))
    assert "has shape [3, 2], with its last two axes swapped; expected is [rows = 2, columns = 3]." in failure_message(
        twisted, lambda x: x.T
    )


def test_a_hard_coded_size(declare_exercise):
    mask = declare_exercise(
        "grid", oracle=lambda size: torch.eye(size).bool(), cases=[case(2), case(5)], returns=Bool("size size")
    )
    message = failure_message(mask, lambda size: torch.eye(6).bool())
    assert (
        "has shape [6, 6] whatever the input is; here [size = 2, size = 2] is expected" in message
        and "Is a size written down in it that should be read from the argument?" in message
    )


def test_a_sum_over_everything(declare_exercise):
    lengths = declare_exercise(
        "lengths", oracle=lambda x: (x * x).sum(-1), cases=lambda rand: [case(rand(2, 3)), case(rand(4, 5))]
    )
    message = failure_message(lengths, lambda x: (x * x).sum())
    assert "is a single number; here [2] is expected. `sum` without a `dim` takes all the numbers" in message


def test_broadcasting_hides_no_shape(declare_exercise):
    exercise_ = declare_exercise("column", oracle=lambda x: x.sum(1), cases=[case(torch.ones(3, 3))])
    assert "has shape [3, 1]" in failure_message(exercise_, lambda x: x.sum(1, keepdim=True))


def test_a_wrong_dtype(declare_exercise, double):
    whole = declare_exercise("whole", oracle=lambda x: x * 2, cases=[case(torch.ones(2, 3))])
    assert "The numbers are right, their type is not: float16 where float32 is needed" in failure_message(
        whole, lambda x: x.half() * 2
    )
    assert "The type of the numbers is off: int64" in failure_message(double, lambda x: x.long() + 7)


def test_a_function_may_be_more_exact_and_a_layer_hands_on_what_the_next_one_takes(double, affine):
    assert diagnose(double, lambda x: x.double() * 2)

    class Exact(Affine):
        def forward(self, x):
            return super().forward(x).double()

    Exact.__name__ = "Affine"
    assert "float64 where float32 is needed" in failure_message(affine, Exact)


def test_a_float_mask(declare_exercise):
    mask = declare_exercise("grid", oracle=lambda size: torch.eye(size).bool(), cases=[case(2), case(5)])
    assert failure_message(mask, lambda size: torch.eye(size)).endswith("`masked_fill` and `~` want True and False.")


def test_another_device(double):
    """The meta device stands for any other one: it is there on every machine."""
    assert "is on the device meta, its inputs are on cpu" in failure_message(double, lambda x: (x * 2).to("meta"))


def test_nan_and_inf(double):
    message = failure_message(double, lambda x: x * 2 / torch.zeros(()))
    assert "inf at row 0, column 0, where a finite number is expected" in message


# --- modules -----------------------------------------------------------------------------------------


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

    assert (
        failure_message(affine, Missing)
        == "Affine(3, 2) has no parameter `layer.weight`, `layer.bias`; it has `linear.weight`, `linear.bias` instead."
    )

    class TooMany(Affine):
        def __init__(self, d_in, d_out):
            super().__init__(d_in, d_out)
            self.extra = nn.Parameter(torch.zeros(1))

    assert "a parameter too many: `extra`" in failure_message(affine, TooMany)

    class Turned(Affine):
        def __init__(self, d_in, d_out):
            super().__init__(d_in, d_out)
            self.layer.weight = nn.Parameter(torch.zeros(d_in, d_out))

        def forward(self, x):
            return x @ self.layer.weight + self.layer.bias

    assert "has layer.weight of shape [3, 2], and [2, 3] is expected" in failure_message(affine, Turned)


def test_a_parameter_that_no_gradient_reaches(affine):
    class Cut(Affine):
        def forward(self, x):
            return F.linear(x, self.layer.weight, self.layer.bias.detach())

    assert "no gradient reaches `layer.bias`" in failure_message(affine, Cut)


def test_wrong_numbers_in_which_something_has_no_part(declare_exercise, affine):
    product = declare_exercise(
        "product", oracle=lambda a, b: a @ b, cases=lambda rand: [case(rand(n, n), rand(n, n)) for n in (2, 3)]
    )
    assert "`b` has no part in the result" in failure_message(product, lambda a, b: a @ a)
    for silent in (
        lambda a, b: a @ b + 1,
        lambda a, b: (a + a @ b).detach(),
        lambda a, b: a @ a if len(a) == 2 else a @ b,
    ):
        assert "no part" not in failure_message(
            product, silent
        )  # wrong, and all have a part, or none, or it depends on the case

    class Unused(Affine):
        def forward(self, x):
            return 3 * x @ self.layer.weight.T

    assert "`layer.bias` has no part in the result" in failure_message(affine, Unused)


def test_no_super_init_and_no_forward(affine):
    class NoSuper(nn.Module):
        def __init__(self, d_in, d_out):
            self.layer = nn.Linear(d_in, d_out)

    assert "`super().__init__()` has to run before" in failure_message(affine, NoSuper)

    class NoForward(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.layer = nn.Linear(d_in, d_out)

    assert "has no method called forward" in failure_message(affine, NoForward)


def test_half_a_class_is_not_attempted_yet(affine):
    class Half(Affine):
        def forward(self, x):
            raise NotImplementedError("Affine.forward")

    report = diagnose(affine, Half)
    assert report.status == "todo" and report.message == "`forward` is not attempted yet. `hint(Affine)` gives a nudge."


def test_an_oracle_knows_what_its_module_was_built_with(declare_exercise):
    """A rate or a number of heads is no parameter, and forward depends on it."""
    scaled = declare_exercise(
        "Scaled",
        initial_parameters=lambda d, factor=3.0: {"w": torch.ones(d)},
        oracle=lambda p, x: x * p["w"] * p.init_args["factor"],
        cases=lambda rand: [case(rand(2, 4), init=(4,)), case(rand(3, 5), init={"d": 5, "factor": 0.5})],
        misconceptions={"factor-ignored": (lambda p, x: x * p["w"] * 3.0, "The factor is not used.")},
    )

    class Scaled(nn.Module):
        def __init__(self, d, factor=3.0):
            super().__init__()
            self.w, self.factor = nn.Parameter(torch.ones(d)), factor

        def forward(self, x):
            return x * self.w * self.factor

    assert diagnose(scaled, Scaled)
    assert diagnose(scaled, to_learner_answer(scaled, lambda p, x: x * p["w"] * 3.0)).misconception == "factor-ignored"


def test_train_and_eval_are_told_apart(declare_exercise):
    dropped = declare_exercise(
        "Dropped",
        initial_parameters=lambda p: {},
        oracle=lambda p, x: F.dropout(x, 0.5, training=p.training),
        cases=lambda rand: [case(rand(4, 5), init=(0.5,), train=True), case(rand(4, 5), init=(0.5,))],
        misconceptions={"drops-in-eval": (lambda p, x: F.dropout(x, 0.5), "It drops outside training.")},
    )

    class Dropped(nn.Module):
        def __init__(self, p):
            super().__init__()
            self.p = p

        def forward(self, x):
            return F.dropout(x, self.p)  # training=True is its default

    assert diagnose(dropped, Dropped).misconception == "drops-in-eval"

    assert "differs" in failure_message(
        dropped, with_name("Dropped", type("Dropped", (Dropped,), {"forward": lambda self, x: x}))
    )


def test_parameters_are_filled_so_that_a_forgotten_one_shows(declare_exercise):
    """A bias that starts at zero can be left out without a trace, unless the check gives it numbers."""
    shifted = declare_exercise(
        "Shifted",
        initial_parameters=lambda d: {"b": torch.zeros(d)},
        oracle=lambda p, x: x + p["b"],
        cases=lambda rand: [case(rand(2, 3), init=(3,))],
    )

    class Shifted(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.b = nn.Parameter(torch.zeros(d))

        def forward(self, x):
            return x + 0 * self.b

    assert "differs" in failure_message(shifted, Shifted) or "row 0, column 0 is" in failure_message(shifted, Shifted)


def test_refused_input(declare_exercise):
    def parameters(d, n):
        if d % n:
            raise ValueError("d must be divisible by n")
        return {}

    split = declare_exercise(
        "Split",
        initial_parameters=parameters,
        oracle=lambda p, x: x,
        cases=[case(torch.ones(2, 4), init=(4, 2)), case(torch.ones(2, 4), init=(4, 3))],
    )

    class Split(nn.Module):
        def __init__(self, d, n):
            super().__init__()
            assert d % n == 0, "not divisible"

        def forward(self, x):
            return x

    assert "yours raised an AssertionError: not divisible. An `assert` is for what cannot happen" in failure_message(
        split, Split
    )

    class Uneven(ValueError):
        pass

    class Split(nn.Module):
        def __init__(self, d, n):
            super().__init__()
            if d % n:
                raise Uneven

        def forward(self, x):
            return x

    assert diagnose(split, Split)

    class Split(nn.Module):
        def __init__(self, d, n):
            super().__init__()

        def forward(self, x):
            return x

    assert (
        "Split(4, 3)(x) with x of shape [2, 4] should be refused with a ValueError: d must be divisible by n"
        in failure_message(split, Split)
    )

    class Split(Split):
        def __init__(self, d, n):
            super().__init__(d, n)
            d // (d % n - 1)

    assert "should be refused with a ValueError; yours raised a ZeroDivisionError" in failure_message(split, Split)


# --- which reason is given ------------------------------------------------------------------------------


def test_every_question_is_asked_in_order_and_gives_a_known_reason():
    reasons = [question.reason for question in DIAGNOSTICS]
    assert set(reasons) == {"raised", "structure", "shape", "device", "dtype", "property"} < set(REASONS)
    assert all(bool(question.property) == (question.reason == "property") for question in DIAGNOSTICS)
    assert len({question.diagnose for question in DIAGNOSTICS}) == len(DIAGNOSTICS)


@pytest.mark.parametrize(
    "answer, reason, property, relation",
    [
        (lambda x: x * 2, "passed", None, None),
        (lambda x: ..., "todo", None, None),
        (lambda x: x**2, "misconception", None, None),
        (lambda x: x @ x, "raised", None, None),
        (lambda x: None, "structure", None, None),
        (lambda x: (x, x), "structure", None, None),
        (lambda x: x[:1] * 2, "shape", None, None),
        (lambda x: x.to("meta"), "device", None, None),
        (lambda x: (x * 2).double(), "passed", None, None),
        (lambda x: (x * 2).int(), "dtype", None, None),
        (lambda x: x / 0 * 0, "property", "finite", None),
        (lambda x: x.mul_(2), "property", "leaves_its_inputs", None),
        (lambda x: x.detach() * 2, "property", "lets_gradients_through", None),
        (lambda x: x * 2 + x**3, "difference", None, None),
        (lambda x: x * 3, "difference", None, "factor"),
        (lambda x: x * 2 + 1, "difference", None, "offset"),
    ],
)
def test_a_report_says_why_in_one_word(double, answer, reason, property, relation):
    report = diagnose(double, answer)
    assert (report.reason, report.property, report.relation) == (reason, property, relation), str(report)


def test_a_broken_property_is_named(declare_exercise):
    shares = declare_exercise("shares", oracle=lambda x: x.softmax(-1), properties=[rows_sum_to_one()])
    report = diagnose(shares, lambda x: x.exp() / x.exp().sum())
    assert (report.reason, report.property) == ("property", "rows_sum_to_one")


def test_a_report_takes_no_other_reason():
    with pytest.raises(ValueError, match="one of passed, todo, .*; got 'because'"):
        Report("double", "failed", "No.", reason="because")


def test_a_tensor_that_answers_torchs_questions_itself_is_compared_as_torchs_own(double):
    class Agreeable(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in (torch.equal, torch.isclose, torch.allclose):
                return torch.tensor(True)
            return super().__torch_function__(func, types, args, kwargs or {})

    assert not diagnose(double, lambda x: (x * 7).as_subclass(Agreeable))
    assert diagnose(double, lambda x: (x * 2).as_subclass(Agreeable))


def test_every_kind_of_chance_is_seeded(double):
    def lucky(x):
        return x * 2 * (1 + (random.random() < 0.5) + (np.random.rand() < 0.5))

    verdicts = set()
    for seed in range(8):
        random.seed(seed), np.random.seed(seed)
        verdicts.add(diagnose(double, lucky).message)
    assert len(verdicts) == 1


def test_a_tensor_without_numbers_is_asked_for_its_device(double):
    for answer in (lambda x: (x**2).to("meta"), lambda x: torch.empty(x.shape, device="meta")):
        assert diagnose(double, answer).reason == "device"


def test_a_parameter_that_should_be_a_buffer(affine):
    class Masked(Affine):
        def __init__(self, d_in, d_out):
            super().__init__(d_in, d_out)
            self.mask = nn.Parameter(torch.ones(2))

    words = diagnose(affine, Masked).message
    assert "a parameter too many: `mask`. Expected are" in words and "is a buffer (register_buffer)" in words
