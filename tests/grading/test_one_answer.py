"""Test `report_answer`: it gives the report of `check`, and runs the answer in isolation."""

import pytest

from utils.exercises.exercise import UnknownExercise, find_exercise
from utils.grading import engine
from utils.grading.engine import report_answer
from utils.grading.judge.verdicts import Judge
from utils.grading.runner.isolation import ResourceLimits
from utils.instructor.answers import AnswerFactory

WRONG = {
    "softmax": "def softmax(x, dim):\n    return share(torch.cosh(x))\n\n\ndef share(e):\n    return e / e.sum()",
    "attn_weights_2": "attn_weights_2 = attn_scores_2.zero_()",
    "MultiHeadAttentionWrapper": "class MultiHeadAttentionWrapper(nn.Module):\n    pass",
}


@pytest.fixture(autouse=True)
def judge(sandbox, monkeypatch):
    """Use the sandbox of the session, whose fork server is already running."""
    judge = Judge(sandbox, ResourceLimits())
    monkeypatch.setattr(engine, "_get_judge", lambda settings: {"bwrap": judge}[settings.isolation])


@pytest.mark.parametrize("name", WRONG)
def test_it_says_what_check_says(name):
    """The sandbox does not run the cell of a value again, so its report names no step of the cell."""
    said, expected = report_answer(name, WRONG[name]), AnswerFactory.from_name(name).judge(WRONG[name])
    assert not said and said.reason == expected.reason and expected.message.startswith(said.message)
    assert str(said) == str(expected) or find_exercise(name).kind == "value"


def test_the_course_s_own_answer_does_not_stand_in_for_one_that_is_none():
    assert report_answer("softmax", "def softmax(x, dim):\n    return torch.softmax(x, dim)")
    for source in ("def softmax(x dim):\n    return x", "def soft(x, dim):\n    return torch.softmax(x, dim)"):
        assert "softmax" in report_answer("softmax", source).message and not report_answer("softmax", source)
    with pytest.raises(UnknownExercise):
        report_answer("softmacks", "")


def test_the_error_of_a_value_is_explained_as_in_the_notebook():
    message = report_answer("attn_scores", "attn_scores = inputs @ inputs").message
    own, _, explanation = message.partition(" This means: ")
    assert own == "RuntimeError: mat1 and mat2 shapes cannot be multiplied (6x3 and 6x3)."
    assert explanation.startswith("a matrix product needs ")
    assert "This means" not in report_answer("attn_scores", "attn_scores = int('x')").message


@pytest.mark.parametrize(
    "name, source", [("softmax", "def softmax(x, dim):\n    return (x"), ("attn_scores", "attn_scores = (inputs")]
)
def test_a_syntax_error_is_reported_with_its_line(name, source):
    """The cell of `attn_scores` has another line above the answer."""
    assert report_answer(name, source).message == (
        f"The cell of `{name}` in 02_simplified_attention.ipynb cannot be run, because it is not valid Python:"
        f" line 2, `{source.splitlines()[-1].strip()}`: '(' was never closed."
    )


def test_it_does_not_run_as_who_reads_it(tmp_path):
    evil = f"import os\nos.mkdir({str(tmp_path / 'made')!r})\ndef row_sums(x):\n    return x.sum(dim=0)"
    assert AnswerFactory.from_name("row_sums").judge(evil).misconception == "sums-columns"
    (tmp_path / "made").rmdir()  # In this process, the answer can do anything.
    assert not report_answer("row_sums", evil)
    assert not (tmp_path / "made").exists()
