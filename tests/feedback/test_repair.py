"""Repairs: a report names a step only if the answer is right with another result of this step."""

import linecache
import textwrap
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from utils.exercises.cell_code import CellCode
from utils.exercises.exercise import case
from utils.exercises.runner import InProcessRunner
from utils.feedback.diagnose import diagnose


@pytest.fixture
def attend(declare_exercise):
    """Attention without matrices. The logarithms of the weights are optional."""

    def milestones(x, y):
        scores = x @ y.mT
        weights = F.softmax(scores, -1)
        return {"the scores": scores, "the logarithms?": weights.log(), "the weights": weights}

    return declare_exercise(
        "attend",
        oracle=lambda x, y: F.softmax(x @ y.mT, -1) @ y,
        milestones=milestones,
        cases=lambda rand: [case(rand(5, 3), rand(4, 3)), case(rand(4, 2), rand(3, 2)), case(rand(2, 4), rand(3, 4))],
    )


def copied(z):
    return 0.5 * z * 2


def answer(body, name="attend", arguments="x, y"):
    source = f"def {name}({arguments}):\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n"
    file = f"<{name} {hash(source)}>"
    linecache.cache[file] = (len(source), None, [line + "\n" for line in source.splitlines()], file)
    names = {"torch": torch, "copied": copied}
    exec(compile(source, file, "exec"), names)
    return names[name]


@pytest.mark.parametrize(
    "body, end",
    {
        "an extra step": (
            "scores = x @ y.mT\nscores = scores / 2\nreturn scores.softmax(-1) @ y",
            "gives the scores, as it should. Without line 3 (`scores = scores / 2`), this result would be right.",
        ),
        "an extra step on the same line": (
            "return (x @ y.mT / 2).softmax(-1) @ y",
            "gives the scores, as it should. Without the division on the same line, this result would be right.",
        ),
        "a wrong step": (
            "scores = x @ y.mT\nweights = scores.softmax(0)\nreturn weights @ y",
            "be right if line 3 (`weights = scores.softmax(0)`) gave the weights, but it gives different numbers.",
        ),
        "a wrong step that begins on an earlier line": (
            "z = y.mT * 2\na = x @ z\nreturn a.softmax(-1) @ y",
            "from line 2 (`z = y.mT * 2`) to line 3 (`a = x @ z`) gave the scores, but it gives 2 times these numbers.",
        ),
        "a loop": (
            "rows = [(row @ y.mT * row.sum()).softmax(-1) for row in x]\nreturn torch.stack(rows) @ y",
            "Without the multiplication on the same line, this result would be right.",
        ),
    }.values(),
)
def test_the_step_that_makes_the_result_right_is_named(attend, body, end):
    report = diagnose(attend, answer(body))
    assert report.message.endswith(end), report.message


def test_a_step_in_a_loop_is_replaced_in_every_round(declare_exercise):
    """Only without both cumulative sums is the result right."""
    heads = declare_exercise(
        "heads",
        oracle=lambda x, y: sum((x @ y.mT * factor).softmax(-1) for factor in (0.5, 2.0)),
        milestones=lambda x, y: {"the scores": x @ y.mT},
        cases=lambda rand: [case(rand(4, 3), rand(5, 3)), case(rand(3, 2), rand(4, 2))],
    )
    body = "scores = x @ y.mT\nreturn sum((scores.cumsum(-1) * f).softmax(-1) for f in (0.5, 2.0))"
    message = diagnose(heads, answer(body, "heads")).message
    assert "Without `cumsum` on line 3" in message and message.endswith("this result would be right."), message


def test_only_calls_of_one_place_are_rounds_of_a_loop(attend):
    """The functions have equal bytecode, and the multiplications of `total` are on one line."""
    body = """
        def first(z): return z * 2
        def second(z): return z * 2
        total = sum(first(x) * 3 for _ in range(2)) * 5
        return total + second(x)
    """
    calls = InProcessRunner(attend.signature, answer(body)).trace(case(torch.ones(3, 2), torch.ones(3, 2)))
    places = [call.place for call in calls if call.name == "mul"]
    assert places[:2] == places[2:4] and len(set(places)) == 4, calls


def test_a_function_on_the_line_of_a_wrong_step_is_not_replaced(attend):
    """With all multiplications replaced, the result would be right too, and the report would name `copied`."""
    message = diagnose(attend, answer("return (copied(x @ y.mT) * 3).softmax(-1) @ y")).message
    assert message.endswith("Without the multiplication on the same line, this result would be right."), message


def test_right_parts_do_not_use_up_the_search(declare_exercise, monkeypatch):
    """Each intermediate value of `centred` is unknown, but its result is right."""
    monkeypatch.setattr("utils.feedback.wrong_step.repair.MOST_CALLS", 0)
    chained = declare_exercise(
        "chained",
        oracle=lambda x: ((x - x.mean(-1, keepdim=True)) / 7).softmax(-1),
        milestones=lambda x: {
            "the centred numbers": x - x.mean(-1, keepdim=True),
            "the scaled numbers": (x - x.mean(-1, keepdim=True)) / 7,
        },
        cases=lambda rand: [case(rand(4, 4)), case(rand(3, 3))],
    )
    steps = "\n".join(f"z = z + {n} * x" for n in range(1, 12))
    body = f"z = x\n{steps}\nz = z / 67\nz = z - z.mean(-1, keepdim=True)\nreturn (z / 5).softmax(-1)"
    message = diagnose(chained, answer(body, "chained", "x")).message
    assert "would be right if the division" in message, message


def test_the_wrong_part_of_a_stack_is_named(declare_exercise):
    """A column of `y` is part of a right value, but it is the wrong column."""

    def columns(x):
        return torch.stack([x[:, -1], (2 * x)[:, -1]])

    stacked = declare_exercise(
        "stacked",
        oracle=lambda x: columns(x).softmax(-1),
        milestones=lambda x: {"the double": 2 * x, "the last columns": columns(x)},
        cases=lambda rand: [case(rand(4, 3)), case(rand(3, 5))],
    )
    body = "y = x * 2\nrows = [x[:, -1], y[:, 0]]\nreturn torch.stack(rows).softmax(-1)"
    assert diagnose(stacked, answer(body.replace("y[:, 0]", "y[:, -1]"), "stacked", "x"))
    report = diagnose(stacked, answer(body, "stacked", "x"))
    assert "`stack` on line 4" in report.message and "the indexing on line 3" in report.message, str(report)
    assert [line.line for line in report.trace if line.state == "wrong"] == [3]


def test_many_wrong_steps_do_not_use_up_the_search(declare_exercise, monkeypatch):
    """Each of the 20 later steps could be superfluous, but the mistake is in the first step."""
    monkeypatch.setattr("utils.feedback.wrong_step.repair.MOST_CALLS", 0)
    chained = declare_exercise(
        "chained",
        oracle=lambda x: (x.cumsum(-1) + x.square().cumsum(-1)).softmax(-1),
        milestones=lambda x: {"the sums": x.cumsum(-1), "the sums of squares": x.square().cumsum(-1)},
        cases=lambda rand: [case(rand(4, 4)), case(rand(3, 3))],
    )
    steps = "\n".join(f"z = z + {n} * y" for n in range(2, 21))
    body = f"a, b = x.cumsum(-1), x.square().cumsum(0)\ny = (a + b) / 210\nz = y\n{steps}\nreturn z.softmax(-1)"
    assert diagnose(chained, answer(body.replace("cumsum(0)", "cumsum(-1)"), "chained", "x"))
    message = diagnose(chained, answer(body, "chained", "x")).message
    assert "would be right if `cumsum` on line 2" in message, message


def test_a_step_with_later_mistakes_is_not_called_the_only_one(attend):
    """With the right scores, the result would still be wrong."""
    message = diagnose(attend, answer("scores = x @ y.mT / 2\nreturn scores.softmax(0) @ (y + 1)")).message
    assert "would be right" not in message, message


def test_a_repair_has_to_work_on_other_cases_too(attend):
    """In the first case, all weights are below a half, so the right scores make the result right."""
    cases = lambda rand: [case(0.1 * rand(4, 3), rand(5, 3)), case(3 * rand(6, 4), rand(5, 4))]
    body = "scores = x @ y.mT * 2\nweights = scores.softmax(-1)\nreturn weights.clamp(0, 0.5) @ y"
    first_only = replace(attend, cases=lambda rand: cases(rand)[:1])
    assert "Without the multiplication" in diagnose(first_only, answer(body)).message
    message = diagnose(replace(attend, cases=cases), answer(body)).message
    assert "Without" not in message and "to `clamp` on line 4" in message, message


def test_a_repair_has_to_work_on_cases_with_a_note(attend):
    """Without the division, the result is right, except with large numbers, where the exponentials overflow."""
    cases = lambda rand: [
        *(case(rand(n, 3), rand(5, 3)) for n in (2, 3, 4)),
        case(80 * rand(4, 3), rand(5, 3), note="with large numbers"),
    ]
    body = "e = (x @ y.mT / 2).exp()\nreturn e / e.sum(-1, keepdim=True) @ y"
    usual = replace(attend, cases=lambda rand: cases(rand)[:3])
    assert "Without the division" in diagnose(usual, answer(body)).message
    assert "Without" not in diagnose(replace(attend, cases=cases), answer(body)).message


def test_an_optional_value_does_not_replace_a_right_one(attend):
    """With the logarithms instead of the scores, no number would be hidden, and the softmax would be right."""
    body = (
        "scores = x @ y.mT\nscores = scores.masked_fill(scores > 0.5, 0.0) + 0 * y.sum()\nreturn scores.softmax(-1) @ y"
    )
    message = diagnose(attend, answer(body)).message
    assert "gave the logarithms" not in message and "Without" in message, message


def test_a_limit_and_rounding_errors_are_named(declare_exercise):
    """The tolerance hides the change of an intermediate value, but the result is wrong."""
    logs = declare_exercise(
        "logs",
        oracle=lambda x: x.log_softmax(-1),
        milestones=lambda x: {"the probabilities": x.softmax(-1), "the result": x.log_softmax(-1)},
        cases=lambda rand: [case(rand(3, 4)), case(rand(3, 5) * 3)],
    )
    message = diagnose(logs, answer("shares = x.softmax(-1)\nreturn shares.clamp_min(1e-3).log()", "logs", "x")).message
    assert "Without `clamp_min` on line 3" in message, message
    first_two = lambda x: x[:, :2].sum(-1, keepdim=True)
    ratio = declare_exercise(
        "ratio",
        oracle=lambda x: x[:, :2] / first_two(x),
        milestones=lambda x: {"the sums": first_two(x)},
        cases=lambda rand: [case(torch.tensor([[3e-5, 2e-5, 1.0], [0.25, 0.5, 0.7], [0.3, 0.6, 0.2]]))],
    )
    body = "sums = x.sum(-1, keepdim=True) - x[:, 2:]\nreturn x[:, :2] / sums"
    report = diagnose(ratio, answer(body, "ratio", "x"))
    assert "gives the sums, but its rounding errors make later results wrong" in report.message, report.message
    assert [line.line for line in report.trace if line.state == "wrong"] == [2]


def test_a_transposed_value_is_named(declare_exercise):
    """A square matrix fits into the sum with its axes in either order."""
    shifted = declare_exercise(
        "shifted",
        oracle=lambda x, y: (x @ y.mT + x[:, :1]).softmax(-1),
        milestones=lambda x, y: {"the products": x @ y.mT},
        cases=lambda rand: [case(rand(4, 3), rand(4, 3)), case(rand(3, 2), rand(3, 2))],
    )
    message = diagnose(
        shifted, answer("products = y @ x.mT\nreturn (products + x[:, :1]).softmax(-1)", "shifted")
    ).message
    end = "gives the products, transposed. With rows and columns exchanged, this result would be right."
    assert message.endswith(end), message


def test_a_step_without_effect_is_named(declare_exercise):
    """For 2 or 3 columns, the root is rounded down to 1."""
    scaled = declare_exercise(
        "scaled",
        oracle=lambda x, y: (x @ y.mT / x.shape[-1] ** 0.5).softmax(-1),
        milestones=lambda x, y: {"the scores": x @ y.mT, "the scaled scores": x @ y.mT / x.shape[-1] ** 0.5},
        cases=lambda rand: [case(rand(4, 3), rand(5, 3)), case(rand(3, 2), rand(4, 2)), case(rand(4, 6), rand(5, 6))],
    )
    body = "scores = x @ y.mT\nscores = scores / int(x.shape[-1] ** 0.5)\nreturn scores.softmax(-1)"
    message = diagnose(scaled, answer(body, "scaled")).message
    assert message.endswith("leaves the scores unchanged here, but should give the scaled scores."), message


def test_a_step_that_receives_another_value_is_named(declare_exercise):
    """Line 3 is right, but line 5 calls it with the numbers before they are doubled."""

    def milestones(x, y):
        shifted = x + 1
        doubles = shifted * 2
        sums = torch.stack([doubles.cumsum(-1), (x * 2 + 2 * y).cumsum(-1)])
        return {"the shifted numbers": shifted, "the doubles": doubles, "the sums": sums}

    sums = declare_exercise(
        "sums",
        oracle=lambda x, y: torch.stack([(x * 2 + 2).cumsum(-1), (x * 2 + 2 * y).cumsum(-1)]).softmax(-1),
        milestones=milestones,
        cases=lambda rand: [case(rand(4, 3), rand(4, 3)), case(rand(3, 2), rand(3, 2))],
    )
    body = """
    def add(z):
        return z.cumsum(-1)
    a = x + 1
    first = add(a)
    second = add((a - 1 + y) * 2)
    return torch.stack([first, second]).softmax(-1)
    """
    message = diagnose(sums, answer(body, "sums")).message
    assert "line 3 (`return z.cumsum(-1)`), which receives the shifted numbers, gave the sums" in message, message


def test_a_value_is_repaired_in_its_cell(declare_exercise):
    x = torch.tensor([1.0, 2.0, 4.0])
    softmax = declare_exercise(
        "shares",
        oracle=x.softmax(0),
        cases=[case()],
        milestones=lambda: {"the powers of e": x.exp(), "the shares": x.softmax(0)},
    )
    source = "powers = 3**x\nshares = powers / powers.sum()\n"
    names = {"x": x}
    exec(source, names)
    message = diagnose(softmax, names["shares"], CellCode("<cell>", source, {"x": x})).message
    assert "This result would be right if line 1" in message and "gave the powers of e" in message, message


def test_other_results_of_calls(attend):
    """The second call gets other numbers. A call that writes into a tensor is replaced too."""
    x, y = torch.randn(2, 3), torch.randn(4, 3)
    runner = InProcessRunner(attend.signature, answer("a = x * 2\nb = a + 1\nb[0] = 5.0\nreturn b"))
    names = [call.name for call in runner.trace(case(x, y))]
    assert names == ["mul", "add", "setitem"]
    new = torch.arange(6.0).view(2, 3)
    assert torch.equal(runner.run_with_values(case(x, y), [2], [new]).value, new)
    replaced = runner.run_with_values(case(x, y), [1], [new]).value
    assert replaced[0].tolist() == [5.0] * 3 and torch.equal(replaced[1], new[1])
    assert torch.equal(runner.run(case(x, y)).value[1], x[1] * 2 + 1)
