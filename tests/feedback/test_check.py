"""The functions `check`, `hint`, `solution` and `yours`, and the cost of importing them."""

import random
import shutil

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.exercises.conftest import HINTS
from tests.feedback.answers import Affine, with_name
from tests.fresh_python import printed_output
from tests.lesson_files import HEADER
from utils import lessons
from utils.exercises import exercise as declared
from utils.exercises.exercise import Float, Step, Wrong, case
from utils.exercises.oracles import misconception_answer
from utils.feedback import check as feedback
from utils.feedback import diagnose as engine
from utils.feedback.check import CheckFailed, UnfinishedExercise, check, hint, solution, yours
from utils.feedback.diagnose import diagnose
from utils.feedback.phrases import named_shape_text, position_text
from utils.feedback.transfer_families import task
from utils.learner_data.progress import record_attempt
from utils.lessons import ROOT, files
from utils.lessons.stubs import is_ellipsis_error, unfinished_name

# --- how check is called -----------------------------------------------------------------------------


BAD_CALLS = {
    "no answer": lambda: check(),
    "a builtin": lambda: check(len),
    "a function of torch": lambda: check(torch.softmax),
    "a function of torch.nn.functional": lambda: check(F.softmax),
    "a name in quotes": lambda: check("row_sums"),
    "a lambda": lambda: check(lambda x: x),
    "a tensor": lambda: check(torch.zeros(3)),
    "a number": lambda: check(3),
    "a misspelt keyword": lambda: check(row_sum=1),
    "a function by keyword": lambda: check(row_sums=1),
    "a misspelt function": lambda: check(with_name("simple_attn", lambda x: x)),
    "a class for a function": lambda: check(type("row_sums", (), {})),
    "a function for a class": lambda: check(with_name("SelfAttention_v1", lambda x: x)),
    "an object": lambda: check(Affine(2, 2)),
    "two answers": lambda: check(attn_scores_2=1, attn_weights_2=2),
}


@pytest.mark.parametrize("call", BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_call_that_names_no_exercise_is_explained(call, snapshot):
    report = call()
    assert (report.status, report.reason) == ("failed", "structure") and report.message == snapshot


def test_an_unknown_name_leads_to_the_list_of_exercises():
    assert f"`progress()` lists all {len(declared.all_exercises())}." in check(zzz=1).message


def test_strict_raises_with_the_same_message(double, monkeypatch):
    monkeypatch.setenv("COURSE_CHECKS", "strict")
    assert check(with_name("double", lambda x: x * 2))
    with pytest.raises(CheckFailed, match="You squared it"):
        check(with_name("double", lambda x: x * x))
    with pytest.raises(CheckFailed, match="not attempted"):
        check(with_name("double", lambda x: ...))


def test_prints_of_an_answer_are_not_shown(double, capsys):
    def loud(x):
        print("here")
        return x * 2

    assert diagnose(double, loud) and capsys.readouterr().out == ""


def test_an_answer_does_not_change_the_random_state(double):
    """Afterwards, the generators of Python, numpy and torch continue as if the answer had sampled nothing."""

    def sampling(x):
        random.random(), np.random.rand(), torch.rand(1), torch.manual_seed(1)
        return x * 2

    random.seed(3), np.random.seed(3), torch.manual_seed(3)
    expected = random.random(), np.random.rand(), torch.rand(1)
    random.seed(3), np.random.seed(3), torch.manual_seed(3)
    assert diagnose(double, sampling)
    assert (random.random(), np.random.rand(), torch.rand(1)) == expected


def test_names_are_unique_in_the_course(declare_exercise):
    with pytest.raises(ValueError, match="row_sums is already an exercise of start_here"):
        declare_exercise("row_sums")


@pytest.fixture
def total(declare_exercise):
    """A value whose cell computes another value first, `doubled`."""
    misconceptions = {"squares": Wrong(lambda: torch.tensor([1.0, 4.0, 9.0]), "You squared it.")}
    return declare_exercise(
        "total",
        oracle=torch.tensor(12.0),
        steps={"doubled": Step(torch.tensor([2.0, 4.0, 6.0]), misconceptions)},
        cases=[case()],
    )


STEPS = {
    "right": torch.tensor([2.0, 4.0, 6.0]),
    "a misconception": torch.tensor([1.0, 4.0, 9.0]),
    "wrong shape": torch.tensor([2.0, 4.0]),
    "not attempted": ...,
}


@pytest.mark.parametrize("doubled", STEPS.values(), ids=STEPS)
def test_a_check_of_a_value_also_checks_its_steps(total, monkeypatch, doubled, snapshot):
    """The value of a step is read from the globals of the code that calls `check`."""
    monkeypatch.setitem(globals(), "doubled", doubled)
    report = check(total=...)
    assert report.status == "todo" and report.message == snapshot(name="without a total")
    assert check(total=torch.tensor(13.0)).message == snapshot(name="with a wrong total")
    assert check(total=torch.tensor(12.0))


def test_the_step_of_a_lessons_exercise_is_checked(monkeypatch):
    exercise = declared.find_exercise("scaled_context_vec_2")
    monkeypatch.setitem(globals(), "attn_weights_2", exercise.steps["attn_weights_2"].oracle)
    assert "`attn_weights_2` is right." in check(scaled_context_vec_2=...).message
    for id, wrong in exercise.steps["attn_weights_2"].misconceptions.items():
        monkeypatch.setitem(globals(), "attn_weights_2", wrong.answer())
        assert check(scaled_context_vec_2=...).message.endswith(wrong.message), id


# --- hints and solutions -----------------------------------------------------------------------------


def test_there_are_three_hints(double, monkeypatch, snapshot):
    monkeypatch.setattr(feedback, "_hints_given", {})
    assert [hint("double").text.split(" (")[0] for _ in range(4)] == [*HINTS, HINTS[2]]
    assert hint("double", 3).text == HINTS[2]
    assert str(hint("double", 1)) == snapshot(name="a requested hint")
    assert str(hint(double=3)) == snapshot(name="the next hint")
    assert str(hint("double", 7)) == snapshot(name="an unknown grade")
    assert "no hint 2.0" in str(hint("double", 2.0)) and "no hint True" in str(hint("double", True))
    assert str(hint("dubble")) == snapshot(name="an unknown exercise")
    assert str(hint(torch.ones(2))) == snapshot(name="a tensor")


@pytest.mark.parametrize("value", [torch.ones(6), ...], ids=["computed", "not yet written"])
def test_a_value_of_the_notebook_names_its_exercise(monkeypatch, value):
    """`hint(attn_scores_2)` passes the value, which other variables may share, and not the name."""
    monkeypatch.setattr(feedback, "_hints_given", {})
    for name in ("attn_weights_2", "attn_scores_2", "something_else"):
        monkeypatch.setitem(globals(), name, value)
    first = declared.find_exercise("attn_scores_2").hints[0]
    note = hint(attn_scores_2)  # noqa: F821
    assert note.title == "attn_scores_2: hint 1 of 3, a nudge" and note.text.startswith(first)


def test_a_value_of_no_exercise_is_answered_in_one_sentence(monkeypatch):
    scores = torch.ones(6)
    monkeypatch.setitem(globals(), "something_else", scores)
    for value, kind in ((scores, "a tensor"), (3, "an int"), (..., "an ellipsis")):
        assert f"No exercise has this value ({kind}) as its answer" in hint(value).text
        assert solution(value).text == hint(value).text and "hint" not in solution(value).text
    assert "hint" not in solution().text and "is called ''." in hint("").text


def test_a_value_names_its_exercise(monkeypatch):
    attn_scores_2 = attn_weights_2 = ...
    values = {"attn_scores_2": attn_scores_2, "attn_weights_2": attn_weights_2, "context_vec_2": torch.ones(3)}
    for name, value in values.items():
        monkeypatch.setitem(globals(), name, value)
    assert hint(attn_weights_2).title.startswith("attn_weights_2: hint 1")
    assert hint(globals()["context_vec_2"]).title.startswith("context_vec_2: hint 1")
    assert "context_vec_2 =" in str(solution(globals()["context_vec_2"]))


def test_solution_shows_the_answer_or_says_where_to_ask(monkeypatch, snapshot):
    def row_sums(x): ...

    assert "return x.sum(dim=1)" in str(solution(row_sums)) and "COGINST" not in str(solution(row_sums))
    assert "attn_scores_2 = inputs @ query" in str(solution("attn_scores_2"))
    from utils import lessons

    def gone(*_):
        raise lessons.LessonError("none here")

    monkeypatch.setattr(lessons, "find_lesson", gone)
    assert str(solution(row_sums)) == snapshot


# --- yours -------------------------------------------------------------------------------------------

LESSON = f"""\
{HEADER}# A learner's page

```python
import torch
```

```python
def row_sums(x):
    {{body}}
```

```python
raise RuntimeError("a demo cell must not run")
```
"""


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """Make a learner's folder the current one. Returns a function that writes lesson 00 with a body of `row_sums`."""
    monkeypatch.chdir(tmp_path)
    for module in (lessons, files):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    return lambda body: (tmp_path / "00_start_here.md").write_text(LESSON.format(body=body), encoding="utf-8")


def test_yours_returns_the_learners_answer_if_it_passes(desk, capsys):
    desk("return x.sum(dim=1) + 0")
    assert yours("row_sums").__code__.co_consts[-1] == 0 or "00_start_here" in yours("row_sums").__code__.co_filename
    assert capsys.readouterr().out == ""


def test_yours_finds_a_lesson_in_its_own_folder(desk, tmp_path, monkeypatch, capsys):
    desk("return x.sum(dim=1) + 0")
    (tmp_path / "00_start_here").mkdir()
    (tmp_path / "00_start_here.md").rename(tmp_path / "00_start_here" / "00_start_here.md")
    (tmp_path / "06_layer_norm").mkdir()
    monkeypatch.chdir(tmp_path / "06_layer_norm")
    assert "00_start_here" in yours("row_sums").__code__.co_filename
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "body",
    ["return x.sum(dim=0)", 'raise NotImplementedError("row_sums")'],
    ids=["wrong", "not attempted"],
)
def test_yours_falls_back_to_the_reference_with_a_note(desk, capsys, monkeypatch, body, snapshot):
    desk(body)
    real = lessons.find_lesson
    solutions = ROOT / "solutions"
    monkeypatch.setattr(lessons, "find_lesson", lambda name, folder=None: real(name, folder or solutions))
    assert yours("row_sums")(torch.ones(2, 3)).tolist() == [3.0, 3.0]
    assert capsys.readouterr().out.strip() == snapshot


def test_yours_explains_an_answer_that_passed_but_was_not_saved(desk, tmp_path, monkeypatch, snapshot):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "kept.json"))
    desk('raise NotImplementedError("row_sums")')
    record_attempt("start_here", "row_sums", "passed")
    with pytest.raises(UnfinishedExercise) as error:
        yours("row_sums")
    assert str(error.value) == snapshot


def test_yours_explains_an_answer_that_does_not_end(desk, monkeypatch, snapshot):
    monkeypatch.setattr(engine, "TIME_LIMIT", 0.05)
    desk("while True: pass")
    with pytest.raises(UnfinishedExercise) as error:
        yours("row_sums")
    assert str(error.value) == snapshot


def test_yours_prints_one_note_for_nested_calls(tmp_path, monkeypatch, capsys, snapshot):
    """The lesson of the layer calls `yours` for two other exercises while it is loaded."""
    for path in (ROOT / "course").glob("[0-9][0-9]_*.ipynb"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    yours("SelfAttentionLayer")
    assert capsys.readouterr().out.strip() == snapshot


def test_yours_without_solutions_names_the_exercise_to_finish(desk, snapshot):
    desk("return x.sum(dim=0)")
    with pytest.raises(UnfinishedExercise) as error:
        yours("row_sums")
    assert str(error.value) == snapshot


def test_yours_of_a_value_or_of_an_unknown_name(snapshot):
    with pytest.raises(ValueError) as error:
        yours("attn_scores_2")
    assert str(error.value) == snapshot
    with pytest.raises(declared.UnknownExercise, match="Did you mean LayerNorm?"):
        yours("LayerNorn")
    with pytest.raises(declared.UnknownExercise, match="name the exercise in quotes"):
        yours(torch.nn.LayerNorm)
    assert "in quotes" in str(task(3))


# --- importing ---------------------------------------------------------------------------------------


def test_importing_check_is_lean():
    heavy = "transformers matplotlib ipywidgets jupytext nbformat circuitsvis IPython filelock".split()
    assert (
        printed_output(f"import sys; from utils import check; print([m for m in {heavy} if m in sys.modules])") == "[]"
    )


def test_importing_utils_alone_does_not_import_torch():
    assert printed_output("import sys, utils; print('torch' in sys.modules)") == "False"


def test_the_vocabulary():
    import utils

    assert {"check", "hint", "solution", "yours", "progress", "show", "explore"} <= set(dir(utils))
    with pytest.raises(AttributeError, match="chekc.*: check, "):
        utils.chekc
    assert callable(utils.progress)


@pytest.mark.parametrize(
    "axes, shape, position, size",
    [
        ("batch seq d", (4, 5, 6), "batch 0, seq 1, d 2", "[batch = 4, seq = 5, d = 6]"),
        ("... seq d", (4, 5, 6), "index [0, 1, 2]", "[4, seq = 5, d = 6]"),
        ("...", (4, 5, 6), "index [0, 1, 2]", "[4, 5, 6]"),
        ("seq", (4, 5, 6), "index [0, 1, 2]", "[4, 5, 6]"),
        ("... seq d", (), None, "a single number (shape [])"),
    ],
)
def test_axes_are_called_by_their_names(axes, shape, position, size):
    spec = Float(axes)
    assert named_shape_text(shape, spec) == size
    if position:
        assert position_text((0, 1, 2), spec) == position


def test_an_error_of_einsum_about_an_ellipsis_is_not_a_stub():
    """The error of torch contains the word "ellipsis", although the answer is complete."""
    with pytest.raises(RuntimeError) as caught:
        torch.einsum("ij,jk->ik", torch.ones(2, 2, 2), torch.ones(2, 2))
    assert "ellipsis" in str(caught.value) and unfinished_name(caught.value) is None
    for gap in (lambda: torch.ones(2) @ ..., lambda: torch.softmax(..., dim=0), lambda: 1 + ...):
        with pytest.raises(TypeError) as caught:
            gap()
        assert is_ellipsis_error(str(caught.value)) and unfinished_name(caught.value) == ""


def test_an_unexpected_parameter_of_a_module_without_parameters(snapshot):
    class PositionalEncoding(nn.Module):
        def __init__(self, d_model, max_len=5000):
            super().__init__()
            self.table = nn.Parameter(torch.zeros(max_len, d_model))

        def forward(self, x):
            return x + self.table[: x.shape[-2]]

    assert check(PositionalEncoding).message == snapshot


def test_a_report_about_facts_has_no_table():
    for name in ("copy_batch", "sample_regression"):
        exercise = declared.find_exercise(name)
        report = diagnose(exercise, misconception_answer(exercise, exercise.misconceptions[0]))
        assert report.misconception and report.table is None


@pytest.mark.parametrize(
    "text, why",
    [
        ("no front matter", "not a lesson"),
        (
            LESSON.format(body="return x").replace("def row_sums(x)", "@undefined\ndef row_sums(x)"),
            "NameError: name 'undefined'",
        ),
        (LESSON.format(body="return x.sum("), "is not valid Python: line"),
    ],
)
def test_yours_says_why_an_earlier_lesson_cannot_be_loaded(desk, tmp_path, monkeypatch, capsys, text, why):
    desk("return x")
    (tmp_path / "00_start_here.md").write_text(text, encoding="utf-8")
    real, solutions = lessons.find_lesson, ROOT / "solutions"
    monkeypatch.setattr(lessons, "find_lesson", lambda name, folder=None: real(name, folder or solutions))
    assert yours("row_sums")(torch.ones(2, 3)).tolist() == [3.0, 3.0]
    assert why in capsys.readouterr().out


def test_a_check_loads_no_other_lesson_s_checks():
    find = "import sys; from utils.exercises.exercise import find_exercise; find_exercise('softmax')"
    show = "print(*sorted(m for m in sys.modules if m.startswith('utils.checks.') and m[13] != '_'))"
    loaded = printed_output(f"{find}; {show}").split()
    assert "utils.checks.simplified_attention" in loaded and len(loaded) <= 3
