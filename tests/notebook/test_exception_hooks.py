"""A cell that needs an unfinished exercise shows one calm line; every other exception looks as usual."""

import re

import pytest

from utils.notebook import exception_hooks


@pytest.fixture(scope="module")
def shell(ipython):
    ipython.run_cell("import utils")
    exception_hooks.register_exception_hook()
    yield ipython
    ipython.set_custom_exc((), None)


def run(shell, capsys, code):
    result = shell.run_cell(code, store_history=True)  # as a kernel does
    captured = capsys.readouterr()
    return result, captured.out + captured.err


def assert_calm(text, *names):
    """The cell shows one line, which names these variables and exercises in order."""
    assert "Traceback" not in text and len(text.strip().splitlines()) == 1
    assert re.findall(r"`(\w+)`", text) == list(names)


def test_a_stub(shell, capsys, snapshot):
    result, text = run(shell, capsys, 'def get_mask(size):\n    raise NotImplementedError("get_mask")\nget_mask(3)')
    assert_calm(text, "get_mask")
    assert text.strip() == snapshot
    assert isinstance(result.error_in_exec, NotImplementedError)  # nbclient and Run All still see the error


def test_a_stub_of_a_method_names_the_class(shell, capsys):
    _, text = run(shell, capsys, 'raise NotImplementedError("CausalAttention.__init__")')
    assert_calm(text, "CausalAttention")


@pytest.mark.parametrize(
    "use", ["scores + 1", "scores.shape", "scores[0]", "torch.softmax(scores, dim=0)", "print(scores @ scores)"]
)
def test_an_ellipsis_that_was_used(shell, capsys, use):
    _, text = run(shell, capsys, f"import torch\nother = ...\nscores = ...\n{use}")
    assert_calm(text, "scores")


def test_an_ellipsis_without_a_name(shell, capsys, snapshot):
    gaps = [name for name, value in shell.user_ns.items() if value is ...]
    for name in gaps:
        del shell.user_ns[name]
    _, text = run(shell, capsys, "print([...][0] + 1)")
    assert_calm(text)
    assert text.strip() == snapshot


def test_of_several_gaps_the_one_that_was_used_is_named(shell, capsys):
    for gaps in ("first = ...\nsecond", "first = second = ...\ntotal"):
        _, text = run(shell, capsys, f"{gaps} = first @ 3\nprint(second)")
        assert_calm(text, "first")


def test_what_a_waiting_cell_would_have_made_waits_too(shell, capsys, snapshot):
    run(shell, capsys, 'def get_mask(size):\n    raise NotImplementedError("get_mask")')
    run(shell, capsys, "table, (rows, _) = get_mask(3), (1, 2)")
    _, text = run(shell, capsys, "total = table.sum()")
    assert_calm(text, "table", "get_mask", "get_mask")
    assert text.strip() == snapshot
    _, text = run(shell, capsys, "print(total)")
    assert_calm(text, "total", "get_mask", "get_mask")
    run(shell, capsys, "table = 3")
    _, text = run(shell, capsys, "print(table, tabel)")
    assert "NameError: name 'tabel' is not defined" in text


def test_the_message_of_an_unfinished_exercise_is_shown(shell, capsys):
    _, text = run(
        shell,
        capsys,
        "from utils.feedback.check import UnfinishedExercise\nraise UnfinishedExercise('`LayerNorm` first.')",
    )
    assert text.strip() == "`LayerNorm` first."


@pytest.mark.parametrize(
    "code, last",
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise NotImplementedError('write this later, please')", "NotImplementedError: write this later, please"),
        ("import torch\ntorch.ones(2) @ torch.ones(3)", "RuntimeError"),
        ("undefined_name", "NameError: name 'undefined_name' is not defined"),
        ("x = (", "SyntaxError"),
    ],
)
def test_a_real_error_is_shown_whole(shell, capsys, code, last):
    _, text = run(shell, capsys, code)
    assert "Traceback" in text or "Cell In" in text or "File" in text
    assert last in text


@pytest.fixture
def page(tmp_path, monkeypatch):
    """The kernel's notebook: a lesson whose first cell defines `x`."""
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook

    path = tmp_path / "00_page.ipynb"
    cells = [new_code_cell(source) for source in ("%matplotlib inline\nx = 1", "x_squared = x * x", "late = 3")]
    nbformat.write(new_notebook(cells=cells), path)
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    return path


def test_a_cell_that_is_run_too_early_says_what_to_do(shell, capsys, page, snapshot):
    shell.user_ns.pop("x", None)
    _, text = run(shell, capsys, "x_squared = x * x")
    assert_calm(text, "x")
    assert "Run All Above Selected Cell" in text and text.strip() == snapshot


@pytest.mark.parametrize("code", ["print(late)", "x_squared = x * x"])
def test_what_no_cell_above_makes_is_an_error(shell, capsys, page, code):
    """`late` is defined below the cell that reads it; the second notebook cannot be read."""
    page.write_text(
        page.read_text(encoding="utf-8").replace("x_squared = x * x", code) if "late" in code else "no notebook",
        encoding="utf-8",
    )
    for name in ("x", "late"):
        shell.user_ns.pop(name, None)
    assert "NameError" in run(shell, capsys, code)[1]


def test_a_gap_shows_what_it_is(shell, capsys):
    assert run(shell, capsys, "...")[1].strip().endswith("... (to be filled in)")


def test_an_error_in_a_cell_that_makes_a_value_is_explained(shell, capsys):
    cell = "import torch\na = torch.ones(2) @ torch.ones(3)\ncheck(a=a)"
    _, text = run(shell, capsys, cell)
    assert "RuntimeError" in text and text.splitlines()[-1].startswith("torch.dot ")
    assert run(shell, capsys, cell.replace("check(a=a)", ""))[1].strip().splitlines()[-1].startswith("RuntimeError")


def test_a_misspelt_name_of_torch_in_such_a_cell_is_explained(shell, capsys):
    _, text = run(shell, capsys, "import torch\na = torch.sofmax(torch.ones(2), dim=0)\ncheck(a=a)")
    assert re.findall(r"`(\w+)`", text.splitlines()[-1]) == ["torch", "sofmax", "softmax"]


def test_a_cell_that_is_stopped_by_hand(shell, capsys, snapshot):
    _, text = run(shell, capsys, "raise KeyboardInterrupt")
    assert_calm(text)
    assert text.strip() == snapshot
