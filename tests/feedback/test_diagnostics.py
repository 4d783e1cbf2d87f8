"""Each diagnostic of the engine, on small exercises that are declared here."""

import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.feedback.answers import Affine, failure_message, stable, with_name
from utils.exercises.exercise import Bool, Float, case, layer_parameters
from utils.exercises.oracles import to_learner_answer
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose
from utils.feedback.diagnostics import DIAGNOSTICS
from utils.feedback.properties import rows_sum_to_one
from utils.feedback.report import REASONS, Report

# --- passing, not attempted --------------------------------------------------------------------------


def test_a_right_answer_passes(double):
    report = check(with_name("double", lambda x: x + x))
    assert report and report.status == "passed" and report.misconception is None


def test_a_passed_report_counts_the_inputs(double, declare_exercise, snapshot):
    """Random cases are sampled twice, fixed cases run only once."""
    assert diagnose(double, lambda x: x + x).message == snapshot(name="two random cases")
    fixed = declare_exercise("fixed", cases=[case(torch.ones(2)), case(torch.ones(3)), case(torch.zeros(2))])
    assert diagnose(fixed, lambda x: x + x).message == snapshot(name="three fixed cases")


def test_dict_results_name_the_wrong_key(declare_exercise, snapshot):
    both = declare_exercise("both", oracle=lambda x: {"a": x, "b": x * 2}, cases=lambda rand: [case(rand(2, 2))])
    assert stable(failure_message(both, lambda x: {"a": x, "b": x * 2 + torch.eye(2)})) == snapshot


def test_a_stub_is_calm(double, snapshot):
    def double(x):
        # YOUR CODE HERE
        raise NotImplementedError("double")

    report = check(double)
    assert (report.status, report.reason) == ("todo", "todo") and not report
    assert str(report) == snapshot


def test_an_ellipsis_is_calm_wherever_it_surfaces(double):
    assert check(with_name("double", lambda x: ...)).status == "todo"
    assert check(with_name("double", lambda x: x * ...)).status == "todo"
    assert check(attn_scores_2=...).status == "todo"


def test_a_stub_of_another_exercise_is_named(double, snapshot):
    def get_mask(size):
        raise NotImplementedError("get_mask")

    report = check(with_name("double", lambda x: get_mask(3)))
    assert report.status == "todo" and report.message == snapshot


def test_torch_own_not_implemented_is_no_stub(double):
    assert diagnose(double, lambda x: torch.softmax(x.long(), 0)).reason == "raised"


# --- exceptions --------------------------------------------------------------------------------------


def raised_message(exercise, answer):
    report = diagnose(exercise, answer)
    assert report.reason == "raised", str(report)
    return stable(report.message)


def test_an_exception_is_reported_with_line_and_shapes(double, snapshot):
    def double(x):
        y = x * 2
        return y @ y

    report = check(double)
    line = double.__code__.co_firstlineno + 2
    assert report.reason == "raised" and f"line {line} (`return y @ y`)" in report.message
    assert stable(report.message) == snapshot


EXCEPTIONS = {
    "a mask from a vector": lambda x: torch.ones(5).tril(),
    "sizes that do not match": lambda x: x + torch.ones(7),
    "dot of matrices": lambda x: torch.dot(x, x),
    "sum without keepdim": lambda x: x / x.sum(dim=1),
    "if with a tensor": lambda x: 1 if x else 2,
    "product with None": lambda x: x * None,
    "max with a dim": lambda x: x - x.max(dim=1, keepdim=True),
    "endless recursion": lambda x: (lambda f: f(f))(lambda f: f(f)),
    "an axis too far": lambda x: x.sum(dim=4),
    "a float mask": lambda x: x.masked_fill(torch.ones(2, 3), 0),
    "a view of another size": lambda x: x.view(7, 7),
    "a misspelt method": lambda x: x.dubble(),
    "an unknown method": lambda x: x.two_of_a_kind(),
    "a misspelt function of torch": lambda x: torch.sofmax(x, 0),
    "a misspelt layer": lambda x: nn.linear(3, 3)(x),
    "^ on tensors": lambda x: x ^ 2,
    "^ on floats": lambda x: x * 2.0 ^ 1,
    "cross product of pairs": lambda x: torch.cross(x[:, :2], x[:, :2], dim=-1),
    "or with a tensor": lambda x: x or None,
    "an undefined name": lambda x: y_undefined * 2,  # noqa: F821
}


@pytest.mark.parametrize("answer", EXCEPTIONS.values(), ids=EXCEPTIONS)
def test_a_common_exception_is_explained(double, answer, snapshot):
    report = diagnose(double, answer)
    assert report.reason == "raised" and stable(report.message) == snapshot


@pytest.mark.parametrize(
    "answer, words",
    [
        (lambda x: torch.two_of_a_kind(x), "module 'torch' has no attribute 'two_of_a_kind'"),
        (lambda: 3, "takes 0 positional arguments but 1 was given"),
        (lambda x: x.cuda(99) if not torch.cuda.is_available() else x.to("nowhere"), ""),
        (lambda x: 1 / 0, "division by zero."),
    ],
)
def test_an_exception_with_text_of_a_library(double, answer, words):
    report = diagnose(double, answer)
    _, _, explanation = report.message.partition("Error: ")  # the quoted line of code may contain the words too
    assert report.reason == "raised" and words in explanation


def test_system_exit_is_caught(double):
    assert "SystemExit" in failure_message(double, lambda x: sys.exit(1))


def test_a_hard_coded_size_is_asked_about_if_other_sizes_raise(double, snapshot):
    hard_coded = lambda x: (x * 2).reshape(-1, 3)
    computed = lambda x: x + torch.ones(len(x) * len(x) - 1)  # fits the first case, and not the second
    assert raised_message(double, hard_coded) == snapshot(name="hard-coded")
    assert raised_message(double, computed) == snapshot(name="computed")


@pytest.mark.parametrize(
    "answer",
    [lambda x: (x * 2,), lambda x: (x * 2).item, lambda x: (x * 2, x), lambda x: [x * 2]],
    ids=["a comma at the end", "a method that is not called", "a tuple", "a list"],
)
def test_an_unexpected_type_is_explained(double, answer, snapshot):
    report = diagnose(double, answer)
    assert report.reason == "structure" and report.message == snapshot


def test_an_exception_that_the_answer_raises_itself(double, snapshot):
    def picky(x):
        if len(x) > 3:
            raise ValueError("too many rows")
        return x * 3

    report = diagnose(double, picky)
    assert report.reason == "raised" and stable(report.message) == snapshot


NONFINITE = {
    "softmax of a row of -inf": lambda x: x.masked_fill(torch.ones(3, 4).tril(-1) == 0, -torch.inf).softmax(-1),
    "softmax of inf": lambda x: (x + torch.inf).softmax(-1),
    "inf / inf": lambda x: (1000 * x.abs()).exp() / (1000 * x.abs()).exp().sum(-1, keepdim=True),
    "0 / 0": lambda x: (x - 1000).exp() / (x - 1000).exp().sum(-1, keepdim=True),
    "log of a negative number": lambda x: (x - x.abs().max()).log(),
    "division by 0": lambda x: x / torch.zeros_like(x),
    "overflow of exp": lambda x: (x + 1000).exp(),
    "inf - inf": lambda x: torch.full_like(x, torch.inf) - torch.inf,
    "0 × inf": lambda x: x.masked_fill(x > x.min(), -torch.inf) * 0,
}


CAUSES = {  # an answer, and words that must be in the message or, after "not ", must not be in it
    "inf is written": (lambda x: x * torch.inf, "not too large"),
    "inf / inf next to 1 / 0": (
        lambda x: torch.tensor([torch.inf, 1.0]) / torch.tensor([torch.inf, 0.0]),
        "inf / inf is",
    ),
    "a mean with inf": (lambda x: torch.tensor([torch.inf, -torch.inf]).mean() + x, "numbers with inf"),
    "a mean of nothing": (lambda x: x[:0].mean() + x, "mean of no numbers"),
    "std of one row": (lambda x: x[:1].std(0) + x, "n - 1 = 0"),
    "a product with inf": (
        lambda x: (torch.ones(1, 2) @ torch.tensor([[torch.inf], [-torch.inf]])).sum() + x,
        "0 × inf and inf - inf",
    ),
    "a nan elsewhere": (lambda x: (0 * x / (x - x)).nan_to_num() + x * torch.inf, "not 0 / 0"),
    "no exp of a score": (lambda x: (x - 9).log() + 0 * x.exp(), "not torch's own softmax"),
}


@pytest.mark.parametrize("wrong, words", CAUSES.values(), ids=CAUSES)
def test_only_the_cause_of_a_nan_is_named(declare_exercise, wrong, words):
    same = declare_exercise("same", oracle=lambda x: x.clone(), cases=[case(torch.tensor([0.5, 2.0]))])
    report = diagnose(same, wrong)
    message = stable(report.message)
    assert report.property == "finite" and (words.removeprefix("not ") in message) != words.startswith("not "), message


@pytest.mark.parametrize("wrong", NONFINITE.values(), ids=NONFINITE)
def test_nan_is_traced_to_its_origin(declare_exercise, wrong, snapshot):
    weights = declare_exercise("weights", oracle=lambda x: x.softmax(-1), cases=lambda rand: [case(rand(3, 4))])
    report = diagnose(weights, wrong)
    assert report.property == "finite" and stable(report.message) == snapshot


def test_an_attribute_that_init_did_not_store(affine, snapshot):
    class Lost(Affine):
        def forward(self, x):
            return self.layr(x)

    Lost.__name__ = Lost.__qualname__ = "Affine"
    report = diagnose(affine, Lost)
    assert report.reason == "raised" and stable(report.message) == snapshot


def test_a_number_of_the_notebook_may_be_a_setting(double, snapshot):
    names = {"eps": 0.5}
    exec("def double(x):\n    return x * 2 + eps", names)
    assert failure_message(double, names["double"]) == snapshot


def test_a_variable_of_the_notebook_in_place_of_an_argument(double, snapshot):
    names = {"table": {}}
    exec("def double(x):\n    return len(table)", names)
    assert failure_message(double, names["double"]) == snapshot(name="a variable of the notebook")
    exec("def double(x):\n    return missing", names)
    assert raised_message(double, names["double"]) == snapshot(name="an undefined name")


def test_one_layer_under_two_names(declare_exercise, snapshot):
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

    assert failure_message(twice, Twice) == snapshot


def test_a_missing_layer_of_a_list_is_explained_only_if_all_of_it_is_missing(declare_exercise):
    blocks = declare_exercise(
        "Blocks",
        initial_parameters=lambda d: layer_parameters(layers=nn.ModuleList([nn.Linear(d, d), nn.Linear(d, d)])),
        oracle=lambda p, x: x,
        cases=lambda rand: [case(rand(2, 3), init=(3,))],
    )

    def answer(make_layers):
        def __init__(self, d):
            nn.Module.__init__(self)
            self.layers = make_layers(d)

        return type("Blocks", (nn.Module,), {"__init__": __init__, "forward": lambda self, x: x})

    listed = answer(lambda d: [nn.Linear(d, d), nn.Linear(d, d)])
    assert "plain list" in failure_message(blocks, listed)
    no_bias = answer(lambda d: nn.ModuleList([nn.Linear(d, d), nn.Linear(d, d, bias=False)]))
    assert "plain list" not in failure_message(blocks, no_bias)


def test_a_state_dict_that_does_not_match(double):
    """The names of missing parameters are torch's own sentence."""
    layer = nn.Linear(2, 3)
    message = raised_message(double, lambda x: layer.load_state_dict({"weight": torch.zeros(2, 3)}))
    assert 'Missing key(s) in state_dict: "bias"' in message and "`weight` has shape [2, 3]" in message
    assert "Linear" not in message


def test_keepdim_is_suggested_only_after_a_reduction(double, snapshot):
    reduced = lambda x: x / x.sum(dim=1)
    added = lambda x: x + torch.ones(x.shape[0] + 5)
    assert raised_message(double, reduced) == snapshot(name="a reduction")
    assert raised_message(double, added) == snapshot(name="no reduction")

    self = SimpleNamespace(norm=lambda x, y: x)
    layer = lambda x: self.norm(x, 1) + torch.ones(x.shape[0] + 5)
    assert raised_message(double, layer) == snapshot(name="a layer called norm")


def test_an_error_next_to_a_product_is_not_explained_as_a_product(double, snapshot):
    added = lambda x: (x @ x.mT) + torch.ones(x.shape[0] + 5)
    assert raised_message(double, added) == snapshot


def test_reversed_axes_next_to_other_operations_are_named(declare_exercise):
    product = declare_exercise("product", oracle=lambda x: x @ x.mT / 2, cases=lambda rand: [case(rand(2, 3, 4))])
    reversed_axes = lambda x: x @ x.T / 2
    assert "`.T` reverses all axes" in raised_message(product, reversed_axes)


def test_a_list_in_place_of_a_tensor(double, snapshot):
    shape = lambda x: x.tolist().shape
    decoded = lambda x: x.tolist().decode()
    assert raised_message(double, shape) == snapshot(name="an attribute of tensors")
    assert raised_message(double, decoded) == snapshot(name="no attribute of tensors")


def test_a_batched_product_with_the_wrong_axes_transposed(declare_exercise, snapshot):
    product = declare_exercise("product", oracle=lambda x: x @ x.mT, cases=lambda rand: [case(rand(2, 3, 4))])

    def wrong(x):
        return x @ x.transpose(0, 1)

    assert raised_message(product, wrong) == snapshot


# --- None, type, length, order -----------------------------------------------------------------------


def structure_message(exercise, answer):
    report = diagnose(exercise, answer)
    assert report.reason == "structure", str(report)
    return report.message


def test_a_missing_return(double, snapshot):
    assert structure_message(double, lambda x: None) == snapshot


def test_a_wrong_type(double, snapshot):
    assert structure_message(double, lambda x: (x * 2).tolist()) == snapshot


def test_a_tuple_in_the_wrong_order(pair, snapshot):
    assert structure_message(pair, lambda x: (x.sum(-1), x * 2)) == snapshot


def test_a_tuple_of_the_wrong_length(pair, snapshot):
    assert structure_message(pair, lambda x: (x * 2, x.sum(-1), x)) == snapshot(name="three items")
    assert structure_message(pair, lambda x: x * 2) == snapshot(name="no tuple")


def test_a_part_of_the_wrong_type_is_named(pair, snapshot):
    assert structure_message(pair, lambda x: (True, x.sum(-1))) == snapshot


class Evil:
    """An object all of whose methods raise an exception."""

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


def test_the_wrong_part_of_a_tuple_is_named(pair, snapshot):
    assert stable(failure_message(pair, lambda x: (x * 2, x.sum(-1) + torch.arange(len(x))))) == snapshot


def test_the_last_of_several_wrong_parts_is_shown(pair, snapshot):
    """Weights come last in a result but first in the computation: if they are wrong, the rest is wrong too."""
    report = diagnose(pair, lambda x: (x * 3, x.sum(-1) + 1))
    assert report.table.caption == "sums" and stable(report.message) == snapshot


# --- shape, dtype, device, nan -----------------------------------------------------------------------


def test_a_wrong_shape_is_reported_with_the_names_of_the_axes(declare_exercise, snapshot):
    exercise_ = declare_exercise("sums", oracle=lambda x: x.sum(1), returns=Float("rows"))
    assert failure_message(exercise_, lambda x: x.sum(0)) == snapshot(name="another axis")
    swapped = declare_exercise("sums", oracle=lambda x: x, returns=Float("rows columns"))
    assert failure_message(swapped, lambda x: x.T) == snapshot(name="swapped axes")


def test_a_hard_coded_size(declare_exercise, snapshot):
    mask = declare_exercise(
        "grid", oracle=lambda size: torch.eye(size).bool(), cases=[case(2), case(5)], returns=Bool("size size")
    )
    report = diagnose(mask, lambda size: torch.eye(6).bool())
    assert report.reason == "shape" and report.message == snapshot


def test_a_sum_over_everything(declare_exercise, snapshot):
    lengths = declare_exercise(
        "lengths", oracle=lambda x: (x * x).sum(-1), cases=lambda rand: [case(rand(2, 3)), case(rand(4, 5))]
    )
    report = diagnose(lengths, lambda x: (x * x).sum())
    assert report.reason == "shape" and report.message == snapshot


def test_broadcasting_hides_no_shape(declare_exercise):
    exercise_ = declare_exercise("column", oracle=lambda x: x.sum(1), cases=[case(torch.ones(3, 3))])
    report = diagnose(exercise_, lambda x: x.sum(1, keepdim=True))
    assert report.reason == "shape" and "[3, 1]" in report.message


def dtype_message(exercise, answer):
    report = diagnose(exercise, answer)
    assert report.reason == "dtype", str(report)
    return report.message


def test_a_wrong_shape_in_a_dict_or_list_is_named(declare_exercise, snapshot):
    both = declare_exercise("both", oracle=lambda x: {"a": x, "b": x * 2}, cases=lambda rand: [case(rand(2, 3))])
    assert failure_message(both, lambda x: {"a": x, "b": x.T * 2}) == snapshot(name="a key")
    both = declare_exercise("both", oracle=lambda x: [x, x * 2], cases=lambda rand: [case(rand(2, 3))])
    assert failure_message(both, lambda x: [x, x[0]]) == snapshot(name="an item")
    assert "the entry 'b'" in failure_message(
        declare_exercise("both", oracle=lambda x: {"b": x}), lambda x: {"b": x / 0}
    ).replace("The", "the")


def test_a_dtype_is_kept_only_if_an_input_has_it(declare_exercise):
    one_hot = declare_exercise("one_hot", oracle=lambda ids: torch.eye(4)[ids], cases=[case(torch.arange(4))])
    assert "dtype of the input" not in dtype_message(one_hot, lambda ids: torch.eye(4)[ids].half())
    assert "dtype of the input" in dtype_message(declare_exercise(), lambda x: (x * 2).half())


def test_a_wrong_dtype(declare_exercise, double, snapshot):
    integers = declare_exercise("integers", oracle=lambda x: x * 2, cases=[case(torch.ones(2, 3))])
    assert dtype_message(integers, lambda x: x.half() * 2) == snapshot(name="right numbers")
    assert dtype_message(double, lambda x: x.long() + 7) == snapshot(name="wrong numbers")


def test_a_function_may_widen_the_dtype_but_a_layer_may_not(double, affine):
    assert diagnose(double, lambda x: x.double() * 2)

    class Exact(Affine):
        def forward(self, x):
            return super().forward(x).double()

    Exact.__name__ = "Affine"
    assert "float64" in dtype_message(affine, Exact)


def test_a_float_mask(declare_exercise, snapshot):
    mask = declare_exercise("grid", oracle=lambda size: torch.eye(size).bool(), cases=[case(2), case(5)])
    assert dtype_message(mask, lambda size: torch.eye(size)) == snapshot


def test_another_device(double, snapshot):
    """The meta device represents any other device, because it exists on every machine."""
    report = diagnose(double, lambda x: (x * 2).to("meta"))
    assert report.reason == "device" and report.message == snapshot


def test_nan_and_inf(double, snapshot):
    report = diagnose(double, lambda x: x * 2 / torch.zeros(()))
    assert report.property == "finite" and stable(report.message) == snapshot


def test_a_single_nan_has_no_index(declare_exercise):
    total = declare_exercise("total", oracle=lambda x: x.sum())
    message = diagnose(total, lambda x: x.sum() * torch.nan).message
    assert "is nan, but should be finite." in message and "[]" not in message


# --- modules -----------------------------------------------------------------------------------------


def test_a_module_passes_and_a_wrong_forward_is_named(affine):
    assert check(Affine)

    class Wrong(Affine):
        def forward(self, x):
            return x @ self.layer.weight.T

    Wrong.__name__ = "Affine"
    assert check(Wrong).misconception == "no-bias"


def test_parameters_missing_too_many_misshaped(affine, snapshot):
    class Missing(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.linear = nn.Linear(d_in, d_out)

        def forward(self, x):
            return self.linear(x)

    assert structure_message(affine, Missing) == snapshot(name="missing")

    class TooMany(Affine):
        def __init__(self, d_in, d_out):
            super().__init__(d_in, d_out)
            self.extra = nn.Parameter(torch.zeros(1))

    assert structure_message(affine, TooMany) == snapshot(name="too many")

    class Transposed(Affine):
        def __init__(self, d_in, d_out):
            super().__init__(d_in, d_out)
            self.layer.weight = nn.Parameter(torch.zeros(d_in, d_out))

        def forward(self, x):
            return x @ self.layer.weight + self.layer.bias

    assert structure_message(affine, Transposed) == snapshot(name="transposed")


def test_a_parameter_that_no_gradient_reaches(affine, snapshot):
    class Cut(Affine):
        def forward(self, x):
            return F.linear(x, self.layer.weight, self.layer.bias.detach())

    report = diagnose(affine, Cut)
    assert report.property == "lets_gradients_through" and report.message == snapshot


def test_an_unused_input_or_parameter_explains_a_wrong_result(declare_exercise, affine, snapshot):
    product = declare_exercise(
        "product", oracle=lambda a, b: a @ b, cases=lambda rand: [case(rand(n, n), rand(n, n)) for n in (2, 3)]
    )
    report = diagnose(product, lambda a, b: a @ a)
    assert report.property == "uses_everything" and report.message == snapshot(name="an input")
    for other_fault in (
        lambda a, b: a @ b.detach() + a,  # `b` is used without its gradient
        lambda a, b: a * (b > 0),
        lambda a, b: a @ b + 1,  # every input is used
        lambda a, b: (a + a @ b).detach(),  # no input is connected
        lambda a, b: a @ a if len(a) == 2 else a @ b,  # `b` is used on some cases
    ):
        assert diagnose(product, other_fault).property != "uses_everything"

    class Unused(Affine):
        def forward(self, x):
            return 3 * x @ self.layer.weight.T

    report = diagnose(affine, Unused)
    assert report.property == "uses_everything" and report.message == snapshot(name="a parameter")


def test_no_super_init_and_no_forward(affine, snapshot):
    class NoSuper(nn.Module):
        def __init__(self, d_in, d_out):
            self.layer = nn.Linear(d_in, d_out)

    assert raised_message(affine, NoSuper) == snapshot(name="no super().__init__()")

    class NoForward(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.layer = nn.Linear(d_in, d_out)

    assert raised_message(affine, NoForward) == snapshot(name="no forward")


def test_half_a_class_is_not_attempted_yet(affine, snapshot):
    class Half(Affine):
        def forward(self, x):
            raise NotImplementedError("Affine.forward")

    report = diagnose(affine, Half)
    assert report.status == "todo" and report.message == snapshot


def test_an_oracle_knows_the_constructors_arguments(declare_exercise):
    """A dropout rate or a number of heads is not a parameter, but forward depends on it."""
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

    without_dropout = with_name("Dropped", type("Dropped", (Dropped,), {"forward": lambda self, x: x}))
    assert diagnose(dropped, without_dropout).reason == "difference"


def test_parameters_are_filled_so_that_a_forgotten_one_shows(declare_exercise):
    """The result does not show a missing bias of zeros, so the check fills the bias with other numbers."""
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

    assert diagnose(shifted, Shifted).reason == "difference"


def test_invalid_input(declare_exercise, snapshot):
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

    assert raised_message(split, Split) == snapshot(name="an assertion")

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

    assert raised_message(split, Split) == snapshot(name="a result")

    class Split(Split):
        def __init__(self, d, n):
            super().__init__(d, n)
            d // (d % n - 1)

    assert "should raise a ValueError, but raised a ZeroDivisionError" in raised_message(split, Split)


# --- the reason of a report -----------------------------------------------------------------------------


def test_every_diagnostic_has_a_known_reason():
    reasons = [diagnostic.reason for diagnostic in DIAGNOSTICS]
    assert set(reasons) == {"raised", "structure", "shape", "device", "dtype", "property"} < set(REASONS)
    assert all(bool(diagnostic.property) == (diagnostic.reason == "property") for diagnostic in DIAGNOSTICS)
    assert len({diagnostic.diagnose for diagnostic in DIAGNOSTICS}) == len(DIAGNOSTICS)


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
def test_a_report_has_a_reason_a_property_and_a_relation(double, answer, reason, property, relation):
    report = diagnose(double, answer)
    assert (report.reason, report.property, report.relation) == (reason, property, relation), str(report)


def test_a_broken_property_is_named(declare_exercise):
    shares = declare_exercise("shares", oracle=lambda x: x.softmax(-1), properties=[rows_sum_to_one()])
    report = diagnose(shares, lambda x: x.exp() / x.exp().sum())
    assert (report.reason, report.property) == ("property", "rows_sum_to_one")


def test_a_report_takes_no_other_reason():
    with pytest.raises(ValueError, match="one of passed, todo, .*; got 'because'"):
        Report("double", "failed", "No.", reason="because")


def test_a_tensor_subclass_cannot_override_the_comparison(double):
    class Agreeable(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in (torch.equal, torch.isclose, torch.allclose):
                return torch.tensor(True)
            return super().__torch_function__(func, types, args, kwargs or {})

    assert not diagnose(double, lambda x: (x * 7).as_subclass(Agreeable))
    assert diagnose(double, lambda x: (x * 2).as_subclass(Agreeable))


def test_every_random_generator_is_seeded(double):
    def lucky(x):
        return x * 2 * (1 + (random.random() < 0.5) + (np.random.rand() < 0.5))

    verdicts = set()
    for seed in range(8):
        random.seed(seed), np.random.seed(seed)
        verdicts.add(diagnose(double, lucky).message)
    assert len(verdicts) == 1


def test_a_tensor_without_numbers_fails_for_its_device(double):
    for answer in (lambda x: (x**2).to("meta"), lambda x: torch.empty(x.shape, device="meta")):
        assert diagnose(double, answer).reason == "device"


def test_a_parameter_that_should_be_a_buffer(affine, snapshot):
    class Masked(Affine):
        def __init__(self, d_in, d_out):
            super().__init__(d_in, d_out)
            self.mask = nn.Parameter(torch.ones(2))

    assert structure_message(affine, Masked) == snapshot
