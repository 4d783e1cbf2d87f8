"""Static findings in the source of an answer, next to similar code that is correct."""

import pytest
import torch

from utils.exercises.source_lint import find_lint
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose

FINDINGS = [
    "scores / d ** 1/2",
    "d ** 1/2",
    "scores.masked_fill(~mask, 0.0)",
    "torch.tril(scores)",
    "x.transpose(1, 2).mul(bias)",
    "optimizer.step",
    "weights == 0",
]
NO_FINDINGS = [
    "scores * d ** -1 / 2",
    "scores / d ** (1/2)",
    "scores / d ** 2 / 2",
    "F.relu(x, inplace=True)",
    "torch.add(x, y, out=x)",
    "scores.masked_fill_(~mask, 0.0)",
    "seen.add(3)",
    "model.to(x.device)",
    "self.softmax(x)",
    "re.sub('a', 'b', text)",
    "queue.put(x)",
    "np.exp(x)",
    "optimizer.step()",
    '"""Words."""',
]


def lint_line(line):
    return find_lint(f"def answer(x):\n    {line}\n    return x\n")


@pytest.mark.parametrize("line", FINDINGS)
def test_a_line_without_the_intended_effect_is_found(line, snapshot):
    assert lint_line(line) == snapshot


@pytest.mark.parametrize("line", NO_FINDINGS)
def test_a_similar_line_is_not_a_finding(line):
    assert lint_line(line) is None


LOOP_FINDINGS = [
    "for row in x:\n    out = row * 2\nreturn out",
    "for row in x:\n    out = out + row\n    return out",
    "while True:\n    return out",
]
NO_LOOP_FINDINGS = [
    "for row in x:\n    out = out + row\nreturn out",
    "for row in x:\n    out = row\n    rows.append(out)\nreturn out",
    "for row in x:\n    if row.any():\n        out = row\nreturn out",
    "for row in x:\n    last = row\nreturn last",  # `last` is not set before the loop: its author may want the last row
    "for row in x:\n    out[0] = row\nreturn out",
    "for row in x:\n    rows[0] = [out for out in row]\nreturn out",
    "for row in x:\n    if row.any():\n        return out",
    "for row in x:\n    if row.any():\n        continue\n    return out",
]


def lint_loop(body):
    lines = ["out, rows = 0, []", *body.splitlines()]
    return find_lint("def answer(x):\n" + "".join(f"    {line}\n" for line in lines))


@pytest.mark.parametrize("body", LOOP_FINDINGS)
def test_a_loop_that_loses_its_result_is_found(body, snapshot):
    assert lint_loop(body) == snapshot


@pytest.mark.parametrize("body", NO_LOOP_FINDINGS)
def test_a_similar_loop_is_not_a_finding(body):
    assert lint_loop(body) is None


def test_an_indented_method_is_read():
    assert "x.exp" in find_lint("    def forward(self, x):\n        x.exp\n        return x\n")


def test_an_incomplete_source_has_no_findings():
    assert find_lint("doubled = (lambda x:") is None


def test_a_finding_is_appended_to_the_message(double, snapshot):
    def double(x):
        x.mul(2)
        return x * x

    report = check(double)
    assert report.misconception == "squares" and report.message == snapshot


def test_a_finding_explains_a_difference_without_another_relation(double):
    def some_wrong(x):
        return torch.where(x > 0, x * 2, x * torch.rand(x.shape))

    def with_finding(x):
        torch.exp(x)
        return some_wrong(x)

    plain, report = diagnose(double, some_wrong), diagnose(double, with_finding)
    assert (plain.reason, plain.relation) == ("difference", None)
    assert (report.reason, report.relation) == ("difference", "slip")
    assert report.message == f"{plain.message} {lint_line('torch.exp(x)')}"
