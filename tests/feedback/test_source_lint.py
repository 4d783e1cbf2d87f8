"""Slips that the code of an answer shows, beside what looks like one and is none."""

import pytest
import torch

from utils.feedback.check import check
from utils.feedback.diagnose import diagnose
from utils.feedback.source_lint import find_lint

SLIPS = {
    "scores / d ** 1/2": "`** 1 / 2` is no root",
    "d ** 1/2": "`** 1 / 2` is no root",
    "scores * d ** -1 / 2": None,
    "scores / d ** (1/2)": None,
    "scores / d ** 2 / 2": None,
    "scores.masked_fill(~mask, 0.0)": "`scores.masked_fill(~mask, 0.0)` makes a new tensor, and nothing keeps it",
    "torch.tril(scores)": "`torch.tril(scores)` makes a new tensor, and nothing keeps it",
    "x.transpose(1, 2).mul(bias)": "`x.transpose(1, 2).mul(bias)` makes a new tensor",
    "F.relu(x, inplace=True)": None,
    "torch.add(x, y, out=x)": None,
    "scores.masked_fill_(~mask, 0.0)": None,
    "seen.add(3)": None,
    "model.to(x.device)": None,
    "self.softmax(x)": None,
    "optimizer.step()": None,
    "optimizer.step": "`optimizer.step` on a line of its own does nothing",
    "weights == 0": "`weights == 0` compares, and nothing comes of it: a single = assigns.",
    '"""Words."""': None,
}


@pytest.mark.parametrize("line, words", SLIPS.items())
def test_a_line_that_does_something_else_than_it_says(line, words):
    said = find_lint(f"def answer(x):\n    {line}\n    return x\n")
    assert (said is None) if words is None else said.startswith(words)


IN_A_LOOP = {
    "for row in x:\n    out = row * 2\nreturn out": "Each round of the loop makes `out` anew",
    "for row in x:\n    out = out + row\nreturn out": None,
    "for row in x:\n    out = row\n    rows.append(out)\nreturn out": None,
    "for row in x:\n    if row.any():\n        out = row\nreturn out": None,
    "for row in x:\n    last = row\nreturn last": None,  # not begun before: the last one may well be meant
    "for row in x:\n    out[0] = row\nreturn out": None,
    "for row in x:\n    out = out + row\n    return out": "`return` stands inside the loop",
    "while True:\n    return out": "`return` stands inside the loop",
    "for row in x:\n    if row.any():\n        return out": None,
    "for row in x:\n    if row.any():\n        continue\n    return out": None,
}


@pytest.mark.parametrize("body, words", IN_A_LOOP.items())
def test_what_becomes_of_a_loop(body, words):
    lines = ["out, rows = 0, []", *body.splitlines()]
    said = find_lint("def answer(x):\n" + "".join(f"    {line}\n" for line in lines))
    assert (said is None) if words is None else said.startswith(words)


def test_methods_are_read_where_they_stand_and_half_a_source_says_nothing():
    assert find_lint("    def forward(self, x):\n        x.exp\n        return x\n").startswith(
        "`x.exp` on a line of its own"
    )
    assert find_lint("doubled = (lambda x:") is None


def test_a_slip_stands_behind_whatever_is_said(double):
    def double(x):
        x.mul(2)
        return x * x

    squares = check(double)
    assert squares.misconception == "squares" and squares.message.endswith(
        "`x.mul(2)` makes a new tensor, and nothing keeps it: what it was made from stays as it was."
    )


def test_a_difference_that_only_a_slip_explains_is_explained(double):
    def some_wrong(x):
        return torch.where(x > 0, x * 2, x * torch.rand(x.shape))

    def slipped(x):
        torch.exp(x)
        return some_wrong(x)

    plain, report = diagnose(double, some_wrong), diagnose(double, slipped)
    assert (plain.reason, plain.relation) == ("difference", None)
    assert (report.reason, report.relation) == ("difference", "slip")
    assert (
        report.message == f"{plain.message} `torch.exp(x)` makes a new tensor, and nothing keeps it: what it was made"
        " from stays as it was."
    )
