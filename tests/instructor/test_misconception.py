"""Test misconceptions made from wrong answers, and files of answers with their verdicts."""

import ast
import re
import shutil

import pytest
from typer.testing import CliRunner

from tests.fresh_python import environment_without, run_python
from utils.cli.commands import app
from utils.exercises.exercise import find_exercise
from utils.instructor import misconception as maker
from utils.instructor.answers import Answer, AnswerFactory, format_verdict, judge_all, read_answers, write_answers
from utils.instructor.misconception import StubError, add_stub, make_stub
from utils.lessons import ROOT

COSH = """def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    '''Shares of one.'''
    e = torch.cosh(x - x.amax(dim, keepdim=True))
    return share(e, dim)
"""
SHARE = "\n\ndef share(e, dim):\n    return e / e.sum(dim, keepdim=True)\n"


def called(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def misconception(*arguments):
    """Run the command without isolation, because these answers are our own."""
    return called("misconception", *arguments, "--isolation", "none")


@pytest.fixture
def wrong(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text(COSH + SHARE, encoding="utf-8")
    return path


def test_what_a_learner_reads_now(wrong):
    done = misconception("softmax", wrong)
    assert done.exit_code == 0 and done.stdout.startswith("✗ softmax: ") and "--id" in done.stdout


def test_a_right_answer_is_none(tmp_path, snapshot):
    (tmp_path / "answer.py").write_text("def softmax(x, dim):\n    return torch.softmax(x, dim)\n", encoding="utf-8")
    done = misconception("softmax", tmp_path / "answer.py")
    assert done.exit_code == 1 and done.output == snapshot


def test_what_an_answer_says_is_no_order_to_the_terminal(tmp_path):
    answer = 'def softmax(x, dim):\n    raise ValueError("so \\x1b]0;title\\x07 it is")\n'
    (tmp_path / "answer.py").write_text(answer, encoding="utf-8")
    done = misconception("softmax", tmp_path / "answer.py")
    assert "so \ufffd]0;title\ufffd it is" in done.output


def test_it_is_written_into_the_checks_and_then_recognised(wrong, tmp_path):
    """Another process writes the misconception into a copy of the course, and its check then reports it."""
    root = tmp_path / "checkout"
    for name in ("solutions", "utils"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = ["-m", "utils.cli", "misconception", "softmax", str(wrong), "--isolation", "none"]
    environment = environment_without("PYTEST_") | {"PYTHONPATH": str(root)}
    words = "You took cosh. Softmax takes exp."
    done = run_python(*command, "--id", "takes-cosh", "--message", words, cwd=root, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    done = run_python(*command, cwd=root, env=environment)
    assert f"✗ softmax: {words}" in done.stdout
    done = run_python(*command, "--id", "takes-cosh", cwd=root, env=environment)
    assert done.returncode != 0 and "takes-cosh" in done.stderr


def test_names_that_the_checks_do_not_have_are_told():
    stub = make_stub(find_exercise("softmax"), COSH, "takes-cosh")
    assert stub.free_names == ["share", "torch"] and stub.function_source.startswith(
        "def _softmax_takes_cosh(x, dim):\n    e = "
    )
    assert maker.TODO in stub.table_entry


def test_a_value_becomes_a_function():
    stub = make_stub(find_exercise("attn_scores_2"), "attn_scores_2 = inputs @ inputs[2]", "the-next-word")
    assert (
        stub.function_source
        == "def _attn_scores_2_the_next_word():\n    attn_scores_2 = inputs @ inputs[2]\n    return attn_scores_2"
    )
    assert stub.free_names == ["inputs"]


def test_a_value_loses_its_check_and_its_annotations():
    cell = 'scores: Float[Tensor, "6"] = torch.zeros(6)\nattn_scores_2 = scores\ncheck(attn_scores_2=attn_scores_2)'
    stub = make_stub(find_exercise("attn_scores_2"), cell, "zeros")
    assert stub.free_names == ["torch"] and "check" not in stub.function_source
    result = {}
    exec(f"import torch\n{stub.function_source}\nresult = _attn_scores_2_zeros()", result)
    assert result["result"].tolist() == [0.0] * 6


def test_a_misconception_of_a_transfer_exercise_is_added_by_hand(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text("def mix_texts(x):\n    return x\n", encoding="utf-8")
    where = "by hand, in utils/checks/transfer/simplified_attention.py"
    assert where in misconception("mix_texts/seq-first", path).stdout
    done = misconception("mix_texts/seq-first", path, "--id", "nothing")
    assert done.exit_code == 2 and where in done.stderr


def test_a_future_import_is_left_out():
    """It is allowed only at the top of a file."""
    stub = make_stub(find_exercise("softmax"), f"from __future__ import annotations\n{COSH}", "takes-cosh")
    assert "__future__" not in stub.function_source and "cosh" in stub.function_source


@pytest.mark.parametrize(
    "source, id",
    [
        (COSH, "Takes cosh"),
        ("def soft(x, dim): pass", "takes-cosh"),
        (COSH, find_exercise("softmax").misconceptions[0].id),
    ],
)
def test_what_cannot_be_one(source, id, snapshot):
    with pytest.raises(ValueError) as error:
        make_stub(find_exercise("softmax"), source, id)
    assert str(error.value) == snapshot


def test_an_answer_that_does_not_parse_cannot_be_one():
    with pytest.raises(ValueError, match="does not parse .line 2: "):
        make_stub(find_exercise("softmax"), "def softmax(x, dim):\n    return (x", "takes-cosh")


def test_an_answer_that_does_not_parse_is_not_offered_as_one(tmp_path):
    (tmp_path / "answer.py").write_text("def softmax(x, dim):\n    return (x", encoding="utf-8")
    done = misconception("softmax", tmp_path / "answer.py")
    assert done.stdout.startswith("✗ softmax: ") and "--id" not in done.output
    assert done.exit_code == 2 and "the answer does not parse (line 2: " in done.output


def test_a_table_that_is_not_written_out_is_left_alone(tmp_path, snapshot):
    path = tmp_path / "checks.py"
    path.write_text('exercise("softmax", misconceptions=made())\n', encoding="utf-8")
    with pytest.raises(StubError) as error:
        add_stub(path, find_exercise("softmax"), make_stub(find_exercise("softmax"), COSH, "takes-cosh"))
    assert str(error.value) == snapshot
    assert path.read_text(encoding="utf-8") == 'exercise("softmax", misconceptions=made())\n'


@pytest.mark.parametrize("end", ["", ",", "  # the last"])
def test_a_table_without_a_last_comma_is_extended(tmp_path, end):
    path = tmp_path / "checks.py"
    path.write_text(
        f'import torch\nshare = 1\nexercise("softmax", misconceptions={{\n    "ä": Wrong(1){end}\n}})\n',
        encoding="utf-8",
    )
    add_stub(path, find_exercise("softmax"), make_stub(find_exercise("softmax"), COSH, "takes-cosh"))
    (table,) = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Dict))
    assert [key.value for key in table.keys] == ["ä", "takes-cosh"]


@pytest.mark.parametrize(
    "source",
    [
        "import torch\n\nclass Own(nn.Module): pass\n\ndef softmax(x, dim):\n    return Own()(x)",
        "@jaxtyped\ndef softmax(x, dim):\n    return x",
        "def softmax(x, dim, by=TEN):\n    return x * by",
        "def softmax(x, dim):\n    return share(power(x), dim)",
        "def case(x):\n    return x\n\ndef softmax(x, dim):\n    return case(x)",
    ],
    ids=["a base class", "a decorator", "a default value", "two functions", "a name that is taken"],
)
def test_an_answer_whose_names_do_not_fit_the_checks_is_not_written(tmp_path, source, snapshot):
    path = tmp_path / "simplified_attention.py"
    text = (ROOT / "utils" / "checks" / path.name).read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StubError) as error:
        add_stub(path, find_exercise("softmax"), make_stub(find_exercise("softmax"), source, "takes-cosh"))
    assert str(error.value) == snapshot
    assert path.read_text(encoding="utf-8") == text


def test_a_value_that_needs_the_lesson_s_names_is_not_written(tmp_path):
    path = tmp_path / "simplified_attention.py"
    text = (ROOT / "utils" / "checks" / path.name).read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    exercise = find_exercise("attn_scores")
    source = "attn_scores = inputs @ inputs\ncheck(attn_scores=attn_scores)"
    with pytest.raises(StubError, match="the answer uses inputs, but simplified_attention.py does not define it"):
        add_stub(path, exercise, make_stub(exercise, source, "forgot-transpose"))
    assert path.read_text(encoding="utf-8") == text
    add_stub(path, exercise, make_stub(exercise, source.replace("inputs", "INPUTS"), "forgot-transpose"))
    assert "    attn_scores = INPUTS @ INPUTS\n    return attn_scores\n" in path.read_text(encoding="utf-8")


def test_a_long_message_can_be_laid_out():
    words = " ".join(f"word{n}" for n in range(40))
    entry = make_stub(find_exercise("softmax"), COSH, "takes-cosh", words).table_entry
    parts = [ast.literal_eval(part) for part in re.findall("'[^']*'", entry)]
    assert "".join(parts) == words and max(map(len, parts)) <= 90


# --- files of answers -----------------------------------------------------------------------------------


def test_a_file_of_answers_is_read_judged_and_written_again(tmp_path):
    path = tmp_path / "answers.py"
    path.write_text(
        "# %% row_sums wrong: forgets to return\ndef row_sums(x):\n    x.sum(1)\n\n"
        "# %% row_sums right (passed): as one would\ndef row_sums(x):\n    return x.sum(1)\n"
        "# %% row_sums wrong: raises where it is defined\nraise SystemExit\n",
        encoding="utf-8",
    )
    answers = read_answers(path)
    assert [(a.kind, a.verdict) for a in answers] == [("wrong", ""), ("right", "passed"), ("wrong", "")]
    assert [format_verdict(r) for r in judge_all(answers)] == ["structure", "passed", "raised"]
    done = called("answers", path, "--write")
    assert done.exit_code == 0 and "right: passed 1, wrong: raised 1, wrong: structure 1" in done.output
    assert [a.verdict for a in read_answers(path)] == ["structure", "passed", "raised"]
    written = path.read_text(encoding="utf-8")
    assert written.startswith("# %% row_sums wrong (structure): forgets to return\ndef row_sums(x):\n")


@pytest.mark.parametrize(
    "text",
    [
        "# %% row_sums: nothing\npass\n",
        "def row_sums(x):\n    pass\n",
        "",
        "import torch\n# %% row_sums wrong: nothing\npass\n",
        "# %% row_sums wrong: nothing\npass\n#%% row_sums wrong: all\npass\n",
    ],
)
def test_a_file_in_another_form_is_refused_and_stays(tmp_path, text, snapshot):
    path = tmp_path / "answers.py"
    path.write_text(text, encoding="utf-8")
    done = called("answers", path, "--write")
    assert done.exit_code == 2 and done.stderr == snapshot
    assert path.read_text(encoding="utf-8") == text


def test_one_answer_cannot_change_what_the_next_one_sees():
    answers = AnswerFactory.from_exercise(find_exercise("attn_weights_2"))
    assert not answers.judge("attn_weights_2 = attn_scores_2.zero_()")
    assert answers.judge("attn_weights_2 = torch.softmax(attn_scores_2, 0)")


def test_an_answer_can_use_names_that_demo_cells_define():
    answers = AnswerFactory.from_name("simple_attention")
    assert (
        "`attn_weights`" in answers.judge("def simple_attention(inputs):\n    return attn_weights @ inputs\n").message
    )
    unknown = answers.judge("def simple_attention(inputs):\n    return later_name @ inputs\n")
    assert "`later_name`" in unknown.message and unknown.reason == "raised"


def test_what_is_written_is_read(tmp_path):
    answers = [
        Answer("row_sums", "wrong", "", "a (b) c: d", "pass\n"),
        Answer("row_sums", "right", "passed", "e", "\n"),
    ]
    write_answers(tmp_path / "a.py", answers)
    assert read_answers(tmp_path / "a.py") == answers
