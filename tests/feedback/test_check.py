"""How `check`, `hint`, `solution` and `yours` are called, and what importing them costs."""

import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.feedback.answers import Affine, with_name
from tests.feedback.conftest import HINTS
from tests.fresh_python import printed_output
from tests.lesson_files import HEADER
from utils import lessons
from utils.feedback import check as feedback
from utils.feedback import diagnose as engine
from utils.feedback import exercise as declared
from utils.feedback.check import CheckFailed, UnfinishedExercise, check, hint, solution, yours
from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import Float, Step, Wrong, case
from utils.feedback.phrases import named_shape_text, position_text
from utils.feedback.progress import record_attempt
from utils.feedback.runner import misconception_answer
from utils.lessons import ROOT, files
from utils.lessons.stubs import is_ellipsis_error, unfinished_name

# --- how check is called -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: check(), "was given nothing"),
        (lambda: check(len), "`len` comes with Python or torch"),
        (lambda: check(torch.softmax), "`softmax` comes with Python or torch"),
        (lambda: check(F.softmax), "`softmax` comes with Python or torch"),
        (lambda: check("row_sums"), "pass the thing itself, without quotes"),
        (lambda: check(lambda x: x), "A lambda has no name"),
        (lambda: check(torch.zeros(3)), "pass it by its name, as in check("),
        (lambda: check(3), "pass it by its name"),
        (lambda: check(torch.ones(2, 3).sum(1)), 'leave out the "(x)": check(row_sums), not check(row_sums(x))'),
        (lambda: check(row_sum=1), "No exercise is called row_sum. Did you mean row_sums?"),
        (lambda: check(zzz=1), f"No exercise is called zzz. `progress()` lists all {len(declared.all_exercises())}."),
        (lambda: check(row_sums=1), "`row_sums` is a function: pass it as it is, check(row_sums)."),
        (lambda: check(with_name("simple_attn", lambda x: x)), "Did you mean simple_attention?"),
        (
            lambda: check(type("row_sums", (), {})),
            "`row_sums` should be a function, and a class was given: define it with `def row_sums`.",
        ),
        (
            lambda: check(with_name("SelfAttention_v1", lambda x: x)),
            "`SelfAttention_v1` should be a class, and a function was given",
        ),
        (lambda: check(Affine(2, 2)), "pass the class itself, check(Affine)"),
        (lambda: check(attn_scores_2=1, attn_weights_2=2), "one exercise at a time and was given 2 things"),
    ],
)
def test_a_call_that_names_no_exercise_says_so_in_one_sentence(call, words):
    report = call()
    assert report.status == "failed" and words in report.message and "\n" not in report.message


def test_strict_raises_and_says_the_same(double, monkeypatch):
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


def test_names_are_unique_in_the_course(declare_exercise):
    with pytest.raises(ValueError, match="row_sums is already an exercise of start_here"):
        declare_exercise("row_sums")


@pytest.fixture
def total(declare_exercise):
    """A value whose cell makes another one first, `doubled`."""
    misconceptions = {"squares": Wrong(lambda: torch.tensor([1.0, 4.0, 9.0]), "You squared it.")}
    return declare_exercise(
        "total",
        oracle=torch.tensor(12.0),
        steps={"doubled": Step(torch.tensor([2.0, 4.0, 6.0]), misconceptions)},
        cases=[case()],
    )


@pytest.mark.parametrize(
    "doubled, words",
    [
        (torch.tensor([2.0, 4.0, 6.0]), " `doubled` is right."),
        (torch.tensor([1.0, 4.0, 9.0]), " `doubled` is not right yet: You squared it."),
        (torch.tensor([2.0, 4.0]), " `doubled` is not right yet: `doubled` has shape [2]; expected is [3]."),
        (..., ""),
    ],
)
def test_of_two_values_it_is_said_of_each_what_holds(total, monkeypatch, doubled, words):
    """Whatever name the notebook has for the first is looked up where `check` is called."""
    monkeypatch.setitem(globals(), "doubled", doubled)
    report = check(total=...)
    assert report.status == "todo"
    assert report.message == f'not attempted yet. `hint("total")` gives a nudge.{words}'
    assert check(total=torch.tensor(13.0)).message.endswith(words) and check(total=torch.tensor(12.0))


def test_of_the_lesson_with_two_values_the_first_is_looked_at(monkeypatch):
    found = declared.find_exercise("scaled_context_vec_2")
    monkeypatch.setitem(globals(), "attn_weights_2", found.steps["attn_weights_2"].oracle)
    assert check(scaled_context_vec_2=...).message.endswith("`attn_weights_2` is right.")
    for id, wrong in found.steps["attn_weights_2"].misconceptions.items():
        monkeypatch.setitem(globals(), "attn_weights_2", wrong.answer())
        assert check(scaled_context_vec_2=...).message.endswith(
            f"`attn_weights_2` is not right yet: {wrong.message}"
        ), id


# --- hints and solutions -----------------------------------------------------------------------------


def test_hints_come_in_three_grades(double, monkeypatch):
    monkeypatch.setattr(feedback, "_hints_given", {})
    assert [hint("double").text.split(" (")[0] for _ in range(4)] == [*HINTS, HINTS[2]]
    assert hint("double", 1).text.startswith(HINTS[0])
    assert "There are three grades" in hint("double", 7).text
    assert "No exercise is called dubble" in hint("dubble").text
    assert hint(double=3).title.startswith("double: hint 2") and "in quotes for a value" in hint(torch.ones(2)).text
    assert hint("double", 1).text.endswith("(`hint(double, 2)` gives the idea.)") and hint("double", 3).text == HINTS[2]


def test_solution_shows_the_answer_or_says_where_to_ask(monkeypatch):
    def row_sums(x): ...

    assert "return x.sum(dim=1)" in str(solution(row_sums)) and "COGINST" not in str(solution(row_sums))
    assert "attn_scores_2 = inputs @ query" in str(solution("attn_scores_2"))
    from utils import lessons

    def gone(*_):
        raise lessons.LessonError("none here")

    monkeypatch.setattr(lessons, "find_lesson", gone)
    assert "Ask whoever gave it to you" in str(solution(row_sums))


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
    """A learner's folder, the current one, in which lesson 00 can be written."""
    monkeypatch.chdir(tmp_path)
    for module in (lessons, files):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    return lambda body: (tmp_path / "00_start_here.md").write_text(LESSON.format(body=body), encoding="utf-8")


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


@pytest.mark.parametrize(
    "body, why",
    [
        ("return x.sum(dim=0)", "does not pass its check yet"),
        ('raise NotImplementedError("row_sums")', "is not attempted yet"),
    ],
)
def test_yours_falls_back_to_the_reference_with_a_note(desk, capsys, monkeypatch, body, why):
    desk(body)
    real = lessons.find_lesson
    solutions = ROOT / "solutions"
    monkeypatch.setattr(lessons, "find_lesson", lambda name, folder=None: real(name, folder or solutions))
    assert yours("row_sums")(torch.ones(2, 3)).tolist() == [3.0, 3.0]
    assert f"Using the course's own row_sums: yours in 00_start_here.md {why}." in capsys.readouterr().out


def test_yours_that_has_passed_and_was_not_saved_says_so(desk, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "kept.json"))
    desk('raise NotImplementedError("row_sums")')
    record_attempt("start_here", "row_sums", "passed")
    with pytest.raises(
        UnfinishedExercise, match="yours has passed, and 00_start_here.md as it is saved does not hold it: save"
    ):
        yours("row_sums")


def test_yours_that_does_not_end_says_so(desk, monkeypatch):
    monkeypatch.setattr(engine, "TIME_LIMIT", 0.05)
    desk("while True: pass")
    with pytest.raises(UnfinishedExercise, match="yours in 00_start_here.md does not come to an end"):
        yours("row_sums")


def test_yours_speaks_of_what_was_asked_for_alone(tmp_path, monkeypatch, capsys):
    """The layer is made of two other exercises, for which its lesson asks as it is loaded."""
    for path in lessons.all_lessons(ROOT / "course"):
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    yours("SelfAttentionLayer")
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 1 and said[0].startswith("Using the course's own SelfAttentionLayer: yours in 06_layer_norm.")


def test_yours_without_solutions_says_what_to_finish(desk):
    desk("return x.sum(dim=0)")
    with pytest.raises(UnfinishedExercise, match="This needs `row_sums` from lesson .*start_here.*Finish it there"):
        yours("row_sums")


def test_yours_of_a_value_or_of_nothing():
    with pytest.raises(ValueError, match="`attn_scores_2` is a value"):
        yours("attn_scores_2")
    with pytest.raises(declared.UnknownExercise, match="Did you mean LayerNorm?"):
        yours("LayerNorn")


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
    with pytest.raises(AttributeError, match="There are: check, "):
        utils.chekc
    assert callable(utils.progress)


@pytest.mark.parametrize(
    "axes, shape, place, size",
    [
        ("batch seq d", (4, 5, 6), "batch 0, seq 1, d 2", "[batch = 4, seq = 5, d = 6]"),
        ("... seq d", (4, 5, 6), "axis 0 at 0, seq 1, d 2", "[4, seq = 5, d = 6]"),
        ("...", (4, 5, 6), "axis 0 at 0, axis 1 at 1, axis 2 at 2", "[4, 5, 6]"),
        ("seq", (4, 5, 6), "axis 0 at 0, axis 1 at 1, axis 2 at 2", "[4, 5, 6]"),
        ("... seq d", (), None, "a single number (shape [])"),
    ],
)
def test_axes_go_by_their_names_where_they_have_one(axes, shape, place, size):
    spec = Float(axes)
    assert named_shape_text(shape, spec) == size
    if place:
        assert position_text((0, 1, 2), spec) == place


def test_what_einsum_says_of_an_ellipsis_is_no_gap():
    """torch's error holds the word, and the answer was written."""
    with pytest.raises(RuntimeError) as caught:
        torch.einsum("ij,jk->ik", torch.ones(2, 2, 2), torch.ones(2, 2))
    assert "ellipsis" in str(caught.value) and unfinished_name(caught.value) is None
    for gap in (lambda: torch.ones(2) @ ..., lambda: torch.softmax(..., dim=0), lambda: 1 + ...):
        with pytest.raises(TypeError) as caught:
            gap()
        assert is_ellipsis_error(str(caught.value)) and unfinished_name(caught.value) == ""


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
        found = declared.find_exercise(name)
        said_ = diagnose(found, misconception_answer(found, found.misconceptions[0]))
        assert said_.misconception and said_.table is None


@pytest.mark.parametrize(
    "text, why",
    [
        ("no front matter", "this is not a lesson"),
        (
            LESSON.format(body="return x").replace("def row_sums(x)", "@undefined\ndef row_sums(x)"),
            "NameError: name 'undefined'",
        ),
        (LESSON.format(body="return x.sum("), "does not parse: line"),
    ],
)
def test_yours_says_why_an_earlier_lesson_gives_nothing(desk, tmp_path, monkeypatch, capsys, text, why):
    desk("return x")
    (tmp_path / "00_start_here.md").write_text(text, encoding="utf-8")
    real, solutions = lessons.find_lesson, ROOT / "solutions"
    monkeypatch.setattr(lessons, "find_lesson", lambda name, folder=None: real(name, folder or solutions))
    assert yours("row_sums")(torch.ones(2, 3)).tolist() == [3.0, 3.0]
    assert why in capsys.readouterr().out


def test_a_check_loads_no_other_lesson_s_checks():
    told = "import sys; from utils.feedback.exercise import find_exercise; find_exercise('softmax')"
    loaded = "print(*sorted(m for m in sys.modules if m.startswith('utils.checks.') and m[13] != '_'))"
    assert (
        "utils.checks.simplified_attention" in (found := printed_output(f"{told}; {loaded}").split())
        and len(found) <= 3
    )
