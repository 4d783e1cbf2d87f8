"""Milestones: the step at which a computation departs from the expected one."""

import linecache
import math
import textwrap

import pytest
import torch
from torch.nn import functional as F

from utils.exercises.call_trace import CallRecorder
from utils.exercises.cell_code import CellCode
from utils.exercises.exercise import Float, case
from utils.exercises.runner import InProcessRunner
from utils.feedback.diagnose import diagnose
from utils.feedback.wrong_step.departure_text import constant_factor
from utils.feedback.wrong_step.milestones import match


@pytest.fixture
def mixed(declare_exercise):
    """Weights of scaled scores, and the weighted means of x: the intermediate values have names."""

    def milestones(x):
        scores = x @ x.cumsum(-1).mT
        scaled = scores / x.shape[-1] ** 0.5
        weights = F.softmax(scaled, -1)
        exponentials = {"the exponentials?": scaled.exp()}
        return {"the scores": scores, "the scaled scores": scaled, **exponentials, "the weights": weights}

    return declare_exercise(
        "mixed",
        oracle=lambda x: F.scaled_dot_product_attention(x[None], x[None].cumsum(-1), x[None])[0],
        milestones=milestones,
        cases=lambda rand: [case(rand(1, 2)), case(rand(4, 3)), case(rand(5, 2))],
    )


def answer(body, arguments="x"):
    """Define a function `mixed` with this body, whose lines torch errors and traces can quote."""
    source = f"def mixed({arguments}):\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"
    file = f"<mixed {hash(source)}>"
    linecache.cache[file] = (len(source), None, [line + "\n" for line in source.splitlines()], file)
    names = {"torch": torch, "F": F}
    exec(compile(source, file, "exec"), names)
    return names["mixed"]


RIGHT = """
keys = x.cumsum(-1)
scores = x @ keys.mT
scaled = scores / x.shape[-1] ** 0.5
weights = torch.softmax(scaled, dim=-1)
return weights @ x
"""


def test_a_negation_of_a_right_value_is_not_called_wrong(mixed):
    """The sign may change at any step; here it changes twice."""
    body = "scores = -x @ x.cumsum(-1).mT\nweights = torch.softmax(scores / -(x.shape[-1] ** 0.5), dim=-1)\nreturn "
    assert diagnose(mixed, answer(body + "weights @ x"))
    message = diagnose(mixed, answer(body + "-((-weights).roll(1, 0) @ x)")).message
    assert "minus sign" not in message and "`roll` on" in message, message


@pytest.mark.parametrize(
    "old, new, milestone, departure, line",
    [
        ("x @ keys.mT", "x @ keys.flip(0).mT", None, "the scores", 3),
        ("/ x.shape[-1] ** 0.5", "/ x.shape[-1] ** 0.3", "the scores", "the scaled scores", 4),
        ("torch.softmax(scaled, dim=-1)", "torch.softmax(scaled * 2, dim=-1)", "the scaled scores", "the weights", 5),
        (
            # The exponentials are optional, so they do not count.
            "torch.softmax(scaled, dim=-1)",
            "torch.exp(scaled) / torch.exp(scaled).sum()",
            "the scaled scores",
            "the weights",
            5,
        ),
        ("weights @ x", "weights.square() @ x", "the weights", "the result", 6),
    ],
)
def test_the_first_wrong_line_is_named(mixed, old, new, milestone, departure, line):
    assert diagnose(mixed, answer(RIGHT))
    report = diagnose(mixed, answer(RIGHT.replace(old, new)))
    assert (report.milestone, report.departure) == (milestone, departure), str(report)
    (wrong,) = [t for t in report.trace if t.state == "wrong"]
    assert wrong.line == line and f"line {line} (" in report.message.lower()
    assert all(t.state == "right" for t in report.trace if 2 < t.line < line)


@pytest.fixture
def divided(declare_exercise):
    """Like `mixed`, but the products before the division have no name."""
    return declare_exercise(
        "mixed",
        oracle=lambda x: F.softmax(x @ x.cumsum(-1).mT / 2, -1) @ x,
        milestones=lambda x: {"the scores": (scores := x @ x.cumsum(-1).mT / 2), "the weights": F.softmax(scores, -1)},
        cases=lambda rand: [case(rand(5, 2)), case(rand(4, 3))],
    )


def test_of_several_steps_on_a_line_the_closest_is_shown(divided):
    """The line also computes the products, which are right but have no name, and the weights."""
    report = diagnose(divided, answer("return torch.softmax(x @ x.cumsum(-1).mT / 3, -1) @ x"))
    (x,) = report.trial.case.args
    assert report.departure == "the scores", str(report)
    assert report.table.yours[0][0] == f"{float((x @ x.cumsum(-1).mT)[0, 0]) / 3:.4f}"


def test_a_step_that_gives_multiples_of_an_optional_value_is_named(declare_exercise):
    """Every number of the result is twice as large, so line 3 gives multiples of a milestone too."""
    products = declare_exercise(
        "mixed",
        oracle=lambda x, y: y @ x.mean(0),
        milestones=lambda x, y: {"the sums": x.sum(0), "the means?": x.mean(0), "the result": y @ x.mean(0)},
        cases=lambda rand: [case(rand(4, 8), rand(8, 8)), case(rand(6, 8), rand(8, 8))],
    )
    report = diagnose(products, answer("means = x.sum(0) / 2\nreturn y @ means", "x, y"))
    assert [t.line for t in report.trace if t.state == "wrong"] == [2] and report.departure == "the means", str(report)


@pytest.mark.parametrize(
    "value, expected, factor",
    [
        ([2.0, 4.0, -6.0], [1.0, 2.0, -3.0], 2.0),
        ([-1.0, -2.0], [1.0, 2.0], -1.0),
        ([2.0, math.inf, 4.0], [1.0, math.inf, 2.0], 2.0),
        ([2.0, 3.0, 4.0], [1.0, math.inf, 2.0], None),  # a number instead of infinity
        ([2.0, math.nan, 4.0], [1.0, math.nan, 2.0], None),
        ([2.0, 4.1], [1.0, 2.0], None),
        ([2.0, 0.0], [1.0, 0.0], None),  # a single number is a multiple of any other
        ([1.0005, 2.001], [1.0, 2.0], None),  # rounding errors
        ([0.0, 0.0], [1.0, 2.0], None),
    ],
)
def test_the_factor_between_two_tensors(value, expected, factor):
    found = constant_factor(torch.tensor(value), torch.tensor(expected))
    assert found is None if factor is None else found == pytest.approx(factor)


def test_an_operation_is_named_if_its_line_goes_on(declare_exercise):
    """Line 2 gives the sums, and then the means, which have no name."""
    products = declare_exercise(
        "mixed",
        oracle=lambda x, y: y @ x.mean(0),
        milestones=lambda x, y: {"the sums": x.sum(0), "the result": y @ (x.sum(0) / len(x))},
        cases=lambda rand: [case(rand(4, 8), rand(8, 8)), case(rand(6, 8), rand(8, 8))],
    )
    report = diagnose(products, answer("means = x.sum(0) / len(x)\nreturn y.T @ means", "x, y"))
    assert [t.line for t in report.trace if t.state == "wrong"] == [3], str(report)
    assert "`sum` on line 2" in report.message, report.message


def test_a_right_step_without_a_name_is_not_marked_as_wrong(divided):
    body = "products = x @ x.cumsum(-1).mT\nscores = products / 3\nreturn torch.softmax(scores, -1) @ x"
    report = diagnose(divided, answer(body))
    assert [t.line for t in report.trace if t.state == "wrong"] == [3], str(report)


def test_a_value_without_any_similarity_is_not_compared(divided):
    noise = "torch.tensor([[1.0, -1], [-1, 1]]).repeat(3, 3)[: len(x), : len(x)]"
    report = diagnose(divided, answer(f"noise = {noise}\nreturn (noise + x[:, :1] * 0) @ -x"))
    assert "No line up to line" in report.message and report.departure is None, str(report)


def test_a_single_number_is_similar_to_nothing(declare_exercise):
    """The cosine of two numbers is always 1 or -1. The later sum over all numbers is not taken for the mean."""
    declared = declare_exercise(
        "mixed",
        oracle=lambda x: x - x.mean(),
        milestones=lambda x: {"the mean": x.mean(), "the result": x - x.mean()},
        cases=lambda rand: [case(rand(5)), case(rand(7))],
    )
    report = diagnose(
        declared, answer("middle = x.median()\nextent = (x - middle).square().sum()\nreturn x - middle + extent * 0")
    )
    assert [t.line for t in report.trace if t.state == "wrong"] == [2], str(report)


def test_a_line_with_a_wrong_result_is_not_marked_as_right(mixed):
    """The last line computes the scores once more, rightly, and then uses the wrong weights."""
    body = RIGHT.replace("** 0.5", "** 0.3").replace("weights @ x", "((x @ keys.mT) * 0 + weights) @ x")
    report = diagnose(mixed, answer(body))
    assert [t.state for t in report.trace if t.line == 6] == [""], str(report)


def test_the_tables_show_the_wrong_step(mixed):
    report = diagnose(mixed, answer(RIGHT.replace("** 0.5", "** 0.3")))
    assert "the scaled scores" == report.table.caption and "with x of shape [5, 2]: row" in report.message
    x = mixed.sample_cases(0)[2].args[0]
    assert report.table.expected[0][0] == f"{float((x @ x.cumsum(-1).mT)[0, 0]) / 2**0.5:.4f}"
    assert report.table.yours[0][0] == f"{float((x @ x.cumsum(-1).mT)[0, 0]) / 2**0.3:.4f}"
    assert (
        "does not give the scaled scores" in str(report) and "does not give the scaled scores" in report._repr_html_()
    )


def test_a_result_that_is_never_used(mixed):
    report = diagnose(mixed, answer(RIGHT.replace("torch.softmax(scaled", "torch.softmax(scores")))
    expected = (
        "Line 4 (`scaled = scores / x.shape[-1] ** 0.5`) gives the scaled scores, but no later step uses this result: "
    )
    assert (
        expected + "`softmax` on line 5 (`weights = torch.softmax(scores, dim=-1)`) receives the scores."
        in report.message
    )


def test_a_missing_step(mixed):
    report = diagnose(mixed, answer(RIGHT.replace("return weights @ x", "return weights")))
    assert report.reason == "shape" and "The step that gives the result is missing." in report.message


def test_a_step_after_the_right_result(mixed):
    report = diagnose(mixed, answer(RIGHT.replace("return weights @ x", "y = weights @ x\nreturn y * 1.1")))
    start = "Line 6 (`y = weights @ x`) gives the result, as it should, but the multiplication on line 7 "
    assert start + "(`return y * 1.1`) changes it." in report.message


def test_a_changed_milestone_on_the_same_line(mixed):
    report = diagnose(mixed, answer(RIGHT.replace("dim=-1)", "dim=-1) ** 2")))
    sentence = "`softmax` on line 5 (`weights = torch.softmax(scaled, dim=-1) ** 2`) gives the weights, as it should."
    assert f"{sentence} Without the power on the same line, this result would be right." in report.message


def test_an_empty_intermediate_value_is_compared_too(mixed):
    report = diagnose(mixed, answer(RIGHT.replace("weights @ x", "weights @ (x * x[:, 5:].sum())")))
    assert report.reason == "difference" and report.status == "failed"
    empty = diagnose(mixed, answer(RIGHT.replace("weights @ x", "weights @ x[:, 5:]")))
    assert empty.reason == "shape" and empty.status == "failed"


def test_the_order_of_merged_axes_matters():
    heads = torch.arange(24.0).view(2, 3, 4)
    assert match(heads.transpose(0, 1).reshape(3, 8), heads) == "same"
    assert match(heads.permute(1, 2, 0).reshape(3, 8), heads) is None
    assert match(torch.zeros(3, 0), torch.zeros(0, 3)) is None


def test_constants_are_no_steps(mixed):
    body = RIGHT.replace("scaled = scores /", "factor = torch.tensor(1.3)\nscaled = factor * scores /")
    report = diagnose(mixed, answer(body))
    assert [t.line for t in report.trace if t.state == "wrong"] == [5], str(report)


@pytest.mark.parametrize(
    "body, line",
    [
        (
            """
            rows = []
            for q in x:
                scores = q @ x.cumsum(-1).mT
                weights = torch.softmax(scores / x.shape[-1] ** 0.4, dim=-1)
                rows.append(weights @ x)
            return torch.stack(rows)
            """,
            5,
        ),
        (
            """
            e = torch.exp(x @ x.cumsum(-1).mT / x.shape[-1] ** 0.5)
            w = e / e.sum(0)
            return w @ x
            """,
            3,
        ),
    ],
)
def test_loops_and_other_ways(mixed, body, line):
    report = diagnose(mixed, answer(body))
    assert [t.line for t in report.trace if t.state == "wrong"] == [line], str(report)


def test_a_trace_records_the_calls_of_the_learners_lines(mixed):
    runner = InProcessRunner(mixed.signature, answer(RIGHT))
    calls = runner.trace(mixed.sample_cases(0)[1])
    assert [(c.name, c.line) for c in calls] == [
        ("cumsum", 2),
        ("matmul", 3),
        ("div", 4),
        ("softmax", 5),
        ("matmul", 6),
    ]
    assert [c.inputs for c in calls] == [[], [0], [1], [2], [3]]


@pytest.fixture
def product(declare_exercise):
    """The product of two values that depend only on the arguments."""

    def milestones(x, y):
        sums, squares = x.cumsum(-1), y**2
        return {"the sums": sums, "the squares": squares, "the products": sums @ squares.mT}

    return declare_exercise(
        "mixed",
        oracle=lambda x, y: torch.einsum("ik,jk->ij", x.cumsum(-1), y * y),
        milestones=milestones,
        cases=lambda rand: [case(rand(4, 3), rand(4, 3)), case(rand(5, 2), rand(5, 2))],
    )


def test_a_line_that_repeats_another_value_is_named(product):
    """The second line computes the sums again; the product after it is right for its inputs."""
    report = diagnose(product, answer("a = x.cumsum(-1)\nb = x.cumsum(-1)\nreturn a @ b.mT", "x, y"))
    assert [t.line for t in report.trace if t.state == "wrong"] == [3], str(report)
    assert "gives the sums once too often. With the squares instead, this result would be right." in report.message


def test_a_line_that_gives_one_value_twice_is_named(product):
    """In a loop, one line gives a value row by row. This is no repetition."""
    report = diagnose(product, answer("a, b = x.cumsum(-1), x.cumsum(-1)\nreturn a @ b.mT", "x, y"))
    assert "gives the sums once too often. With the squares instead," in report.message, report.message
    report = diagnose(product, answer("a = torch.stack([row.cumsum(-1) for row in x])\nreturn a @ a.mT", "x, y"))
    assert "once too often" not in report.message, report.message


def test_the_step_that_changes_the_result_is_named_and_not_its_operand(mixed):
    body = RIGHT.replace("return weights @ x", "out = weights @ x\nreturn out - out.mean(-1, keepdim=True)")
    assert "the subtraction on line 7" in diagnose(mixed, answer(body)).message


def test_a_condition_is_not_blamed_for_a_change(product):
    """Line 3 is wrong because it doubles large numbers. `abs` only decides which."""
    body = "a = x.cumsum(-1) @ (y**2).mT\nreturn torch.where(a.abs() > 1, a * 2, a)"
    report = diagnose(product, answer(body, "x, y"))
    assert "gives the products, as it should" in report.message and "`abs`" not in report.message, report.message


def test_a_step_after_the_result_does_not_hide_what_changed_it(product):
    """The last line computes a number that is not returned."""
    body = "a = x.cumsum(-1) @ (y**2).mT\nb = a * 2\nx.sum()\nreturn b"
    message = diagnose(product, answer(body, "x, y")).message
    assert "line 3" in message and "does not return it" not in message, message


def test_a_product_of_two_steps_is_not_taken_for_a_value_of_the_arguments(declare_exercise):
    """Line 3 cuts the rows into two groups, whatever `n` is. Only the products of these groups are computed."""
    split = lambda x, n: x.view(n, -1, x.shape[-1])
    products = declare_exercise(
        "mixed",
        oracle=lambda x, y, n: split(x, n).mT @ split(y, n),
        milestones=lambda x, y, n: {
            "the groups of x": split(x, n),
            "the groups of y": split(y, n),
            "the result": split(x, n).mT @ split(y, n),
        },
        cases=lambda rand: [case(rand(12, 4), rand(12, 4), 3)],
    )
    body = "pairs = zip(x.chunk(2), y.chunk(2))\nreturn torch.stack([a.mT @ b for a, b in pairs]) / 2"
    report = diagnose(products, answer(body, "x, y, n"))
    assert "should lead to the groups of x" not in report.message, report.message


def total_of_squares(tensor):
    return (tensor**2).sum()


def test_a_value_inside_another_function_is_not_noted(product):
    """The function computes the squares, but returns only their sum."""
    body = f"from {__name__} import total_of_squares\na = x.cumsum(-1) + 0 * total_of_squares(y)\nreturn a @ y.mT"
    report = diagnose(product, answer(body, "x, y"))
    assert [t.note for t in report.trace if "total_of" in t.code] == ["the sums"], str(report)


def test_a_tensor_without_entries_is_named(product):
    report = diagnose(product, answer("a = x.cumsum(-1)\nb = y[:, 9:] ** 2\nreturn a[:, 9:] @ b.mT", "x, y"))
    assert [t.line for t in report.trace if t.state == "wrong"] == [3], str(report)
    assert "gives a tensor without entries" in report.message


def test_a_table_that_is_filled_in_a_loop(product):
    """The first iterations of the loop are right. The wrong line is not the one that writes into the table."""
    body = """
    table = torch.zeros(len(x), len(y))
    for i in range(len(x)):
        row = x[i].cumsum(-1) @ {}
        table[i] = row
    return table
    """
    assert diagnose(product, answer(body.format("(y**2).mT"), "x, y"))
    report = diagnose(product, answer(body.format("(y**2 if i < 2 else y).mT"), "x, y"))
    assert [t.line for t in report.trace if t.state == "wrong"] in ([4], []), str(report)


def test_a_nan_is_explained_once(mixed):
    """The message names the line of the first nan, so no other line is marked."""
    report = diagnose(mixed, answer(RIGHT.replace("weights @ x", "weights @ x + 0 * torch.log(x - x)")))
    assert report.property == "finite" and "line 6" in report.message and not report.trace, str(report)


def test_a_value_is_explained_by_the_cell_that_computed_it(declare_exercise):
    numbers = torch.tensor([1.0, 2.0, 4.0])
    weights = declare_exercise(
        "weights",
        oracle=numbers.softmax(0),
        cases=[case()],
        milestones=lambda: {"the powers?": numbers.exp(), "the weights": numbers.softmax(0)},
    )

    def judge(source, **names):
        names = {"torch": torch, "numbers": numbers, **names}
        linecache.cache["<cell>"] = (len(source), None, source.splitlines(keepends=True), "<cell>")
        cell = CellCode("<cell>", source, dict(names))
        exec(compile(source, "<cell>", "exec"), names)
        return diagnose(weights, names["weights"], cell)

    report = judge("powers = numbers.exp()\nweights = powers / powers.max()\nprint(weights)\n")
    assert "Line 1 (`powers = numbers.exp()`) gives the powers" in report.message
    assert "The next step should lead to the weights, but `max` on line 2" in report.message
    assert judge("weights = torch.softmax(numbers, dim=0)\n")
    # The cell is not run again if it does not give the same value again.
    changing = judge("weights = counter.pop() * numbers\n", counter=[2.0, 3.0])
    assert changing.status == "failed" and "Line 1" not in changing.message
    assert diagnose(weights, numbers.exp()).status == "failed"


def test_tracing_a_cell_leaves_its_variables_unchanged():
    x = torch.ones(3)
    cell = CellCode("<cell>", "x[0] = 5.0\ny = x * 2\ncheck(y=y)\n", {"x": x})
    assert [call.name for call in cell.trace("y", torch.tensor([10.0, 2.0, 2.0]))] == ["setitem", "mul"]
    assert x.tolist() == [1.0, 1.0, 1.0]
    assert CellCode("<cell>", "y = 1 / 0\n", {}).trace("y", x) == []


def test_a_wrong_result_without_any_milestone_is_no_step(declare_exercise):
    """A line that computes everything says nothing about the wrong part."""
    summed = declare_exercise(
        "mixed",
        oracle=lambda x: (x[:, 1:] ** 2).sum(),
        milestones=lambda x: {"the result": (x[:, 1:] ** 2).sum()},
        cases=lambda rand: [case(rand(4, 3)), case(rand(5, 2))],
    )
    report = diagnose(summed, answer("return (x[:, :1] ** 2).sum()"))
    assert not report.trace and "should lead to" not in report.message, report.message


def test_a_value_with_another_shape_leads_to_nothing_known(declare_exercise):
    """The squares are no slices of the sums, although a slice of the sums has as many numbers."""
    summed = declare_exercise(
        "mixed",
        oracle=lambda x: x.cumsum(1).mean(),
        milestones=lambda x: {"the sums": (sums := x.cumsum(1)), "the result": sums.mean()},
        cases=lambda rand: [case(rand(3, 4, 2))],
    )
    report = diagnose(summed, answer("return (x[:2, :2, :1] ** 2).view(4, 1, 1).flatten(1).squeeze(1).sum()"))
    assert "the sums" not in report.message, report.message


def test_a_divisor_is_not_blamed_for_the_wrong_result(declare_exercise):
    """The scalar on line 6 is right. Only line 7 computes a vector of the expected size."""
    weighted = declare_exercise(
        "mixed",
        oracle=lambda x, w: (w[:, None] * x).sum(0),
        milestones=lambda x, w: {"the weighted rows?": w[:, None] * x},
        cases=lambda rand: [case(rand(4, 3), rand(4).softmax(0)), case(rand(5, 2), rand(5).softmax(0))],
    )
    wrong = answer(
        """
        total, rest = torch.zeros(x.shape[1]), 0.0
        for i, row in enumerate(x):
            if i != 1:
                total = total + w[i] * row
                rest = rest + w[i]
        return total / rest
        """,
        "x, w",
    )
    report = diagnose(weighted, wrong)
    assert [line.line for line in report.trace if line.state == "wrong"] == [7], report.message


def test_no_step_is_missing_if_only_the_shape_of_the_result_is_wrong(declare_exercise):
    numbers = torch.tensor([1.0, 2.0, 4.0])
    weights = declare_exercise(
        "weights",
        oracle=numbers.softmax(0).round(decimals=4),
        atol=1e-4,
        cases=[case()],
        returns=Float("seq"),
        milestones=lambda: {"the powers?": numbers.exp(), "the weights": numbers.softmax(0)},
    )
    source = "weights = torch.softmax(numbers.unsqueeze(0), dim=1)\n"
    names = {"torch": torch, "numbers": numbers}
    linecache.cache["<cell>"] = (len(source), None, [source], "<cell>")
    cell = CellCode("<cell>", source, dict(names))
    exec(compile(source, "<cell>", "exec"), names)
    report = diagnose(weights, names["weights"], cell)
    assert report.reason == "shape" and "missing" not in report.message


def test_rounding_errors_of_large_numbers_are_no_wrong_step(declare_exercise):
    """The sums are right: another order of operations changes the digits of numbers near 0. Line 3 is wrong."""
    scaled = declare_exercise(
        "mixed",
        oracle=lambda x, y: ((1000 * x) @ y).relu(),
        milestones=lambda x, y: {"the sums": (1000 * x) @ y},
        cases=lambda rand: [case(rand(40, 30), rand(30, 40)), case(rand(50, 30), rand(30, 20))],
    )
    wrong = "sums = x @ (y / 3) * 3000\nreturn sums.abs()"
    report = diagnose(scaled, answer(wrong, "x, y"))
    assert report.milestone == "the sums" and report.trace[-1].state == "wrong", report.message


def test_a_milestone_before_a_result_of_ids_is_not_the_result(declare_exercise):
    """The scores are right, and so is the next line. The answer returns too few ids."""
    best = declare_exercise(
        "mixed",
        oracle=lambda x: (x @ x.mT).argmax(-1),
        milestones=lambda x: {"the scores": x @ x.mT},
        cases=lambda rand: [case(rand(4, 3)), case(rand(5, 2))],
    )
    report = diagnose(best, answer("scores = x @ x.mT\nids = scores.argmax(-1)\nreturn ids[1:]"))
    assert report.status == "failed" and "changes" not in report.message


def test_a_value_that_is_never_computed_comes_before_the_next_value(declare_exercise):
    """The answer mixes x itself. The values are missing, so line 4 should lead to them, not to the mixture."""
    mixture = declare_exercise(
        "mixed",
        oracle=lambda x: (x @ x.mT).softmax(-1) @ x.cumsum(-1).cos(),
        milestones=lambda x: {
            "the sums?": (sums := x.cumsum(-1)),
            "the values": sums.cos(),
            "the scores": (scores := x @ x.mT),
            "the weights": scores.softmax(-1),
        },
        cases=lambda rand: [case(rand(4, 3)), case(rand(5, 2))],
    )
    lines = "sums = x.cumsum(-1)\nweights = (x @ x.mT).softmax(-1)\nvalues = sums.sin()\nreturn weights @ values"
    report = diagnose(mixture, answer(lines))
    assert report.departure == "the values", report.message


# --- layers and functions that a line calls -----------------------------------------------------------


@pytest.fixture
def stack(declare_exercise):
    """Doubled tanh, three times, as a function with a loop and as calls of another function."""

    def milestones(x):
        values = [x]
        for _ in range(3):
            values.append(2 * torch.tanh(values[-1]))
        return {f"the result of step {i}": value for i, value in enumerate(values[1:], 1)}

    return declare_exercise(
        "mixed",
        oracle=lambda x: milestones(x)["the result of step 3"] @ x.mT,
        milestones=lambda x: milestones(x) | {"the product": milestones(x)["the result of step 3"] @ x.mT},
        cases=lambda rand: [case(rand(4, 3)), case(rand(5, 2))],
    )


def step(x):
    return 2 * torch.tanh(x)


def layered(body):
    """Like `answer`, with the function `step`, whose lines are not the learner's."""
    function = answer(body)
    function.__globals__["step"] = step
    return function


@pytest.mark.parametrize(
    "body, sentence",
    [
        (
            "y = step(step(step(x)))\nreturn step(y) @ x.mT",
            "Without the later `step` on line 3 (`return step(y) @ x.mT`), this result would be right.",
        ),
        ("return step(step(step(step(x)))) @ x.mT", "Without the later `step` on the same line, this result would"),
        (
            "y = x\nfor i in range(3):\n    y = step(y)\n    y = y * (1 + (i == 1))\nreturn y @ x.mT",
            "Without the multiplication on line 5 (`y = y * (1 + (i == 1))`) in this pass of the loop, this result",
        ),
    ],
)
def test_only_the_superfluous_step_is_named(stack, body, sentence):
    """Its line also contains steps that are needed."""
    report = diagnose(stack, layered(body))
    assert sentence in report.message, report.message


def test_a_step_that_a_loop_repeats_has_no_rounding_errors(declare_exercise):
    declared = declare_exercise(
        "mixed",
        oracle=lambda x: (x + x.tanh()) @ x.mT,
        milestones=lambda x: {"the sum": x + x.tanh(), "the product": (x + x.tanh()) @ x.mT},
        cases=lambda rand: [case(rand(4, 3)), case(rand(5, 2))],
    )
    report = diagnose(declared, answer("y = x\nfor _ in range(2):\n    y = y + y.tanh()\nreturn y @ x.mT"))
    assert "gives the sum in one pass of the loop. With these numbers in every pass" in report.message, report.message


def test_a_layer_has_the_name_that_the_line_uses():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.rest = torch.nn.Linear(2, 2), torch.nn.ModuleList([torch.nn.Linear(2, 2)])

        def forward(self, x):
            for layer in self.rest:
                x = layer(x)
            return step(self.first(x)) + x.relu()

    model, x = Model(), torch.ones(1, 2)
    with CallRecorder({__file__}) as recorder:
        model(x)
    assert [call.function for call in recorder.calls] == ["layer", "self.first", "", "", "", ""]


def test_an_argument_is_no_step_of_the_computation(declare_exercise):
    """In the first case, the wrong answer returns its argument, which the oracle names as the values."""
    attend = lambda scores, v: {"the weights": scores.softmax(-1), "the values": v, "the sums": scores.softmax(-1) @ v}
    mixed = declare_exercise(
        "mixed",
        oracle=lambda scores, v: scores.softmax(-1) @ v,
        milestones=attend,
        cases=lambda rand: [case(rand(3, 3) * 9, rand(3, 4)), case(rand(5, 5), rand(5, 4))],
    )
    body = "weights = torch.eye(len(scores)) if len(scores) == 3 else scores.softmax(-1) * 2\nreturn weights @ v"
    message = diagnose(mixed, answer(body, "scores, v")).message
    assert "the values" not in message, message
