"""One calm line for what is not filled in yet; every other exception as it always looks."""

import pytest
from IPython.testing.globalipapp import get_ipython, start_ipython

from utils.notebook import exception_hooks


@pytest.fixture(scope="module")
def shell():
    shell = start_ipython() or get_ipython()
    shell.run_cell("import utils")
    exception_hooks.register_exception_hook()
    yield shell
    shell.set_custom_exc((), None)


def run(shell, capsys, code):
    result = shell.run_cell(code, store_history=True)  # as a kernel does
    captured = capsys.readouterr()
    return result, captured.out + captured.err


def test_a_stub(shell, capsys):
    result, text = run(shell, capsys, 'def get_mask(size):\n    raise NotImplementedError("get_mask")\nget_mask(3)')
    assert text.strip() == "This needs `get_mask`, from the exercise above."
    assert isinstance(result.error_in_exec, NotImplementedError)  # nbclient and Run All still see it


def test_a_stub_of_a_method_names_the_class(shell, capsys):
    _, text = run(shell, capsys, 'raise NotImplementedError("CausalAttention.__init__")')
    assert text.strip() == "This needs `CausalAttention`, from the exercise above."


@pytest.mark.parametrize(
    "use", ["scores + 1", "scores.shape", "scores[0]", "torch.softmax(scores, dim=0)", "print(scores @ scores)"]
)
def test_an_ellipsis_that_was_used(shell, capsys, use):
    _, text = run(shell, capsys, f"import torch\nother = ...\nscores = ...\n{use}")
    assert text.strip() == "This needs `scores`, from the exercise above."


def test_of_several_gaps_the_one_that_was_used_is_named(shell, capsys):
    _, text = run(shell, capsys, "first = ...\nsecond = first @ 3\nprint(second)")
    assert text.strip() == "This needs `first`, from the exercise above."
    _, text = run(shell, capsys, "first = second = ...\ntotal = first @ 3\nprint(second)")
    assert text.strip() == "This needs `first`, from the exercise above."


def test_what_a_waiting_cell_would_have_made_waits_too(shell, capsys):
    run(shell, capsys, 'def get_mask(size):\n    raise NotImplementedError("get_mask")')
    run(shell, capsys, "table, (rows, _) = get_mask(3), (1, 2)")
    _, text = run(shell, capsys, "total = table.sum()")
    assert (
        text.strip()
        == "This needs `table`. The cell above that makes it waits for `get_mask`: run it again when that is done."
    )
    _, text = run(shell, capsys, "print(total)")
    assert (
        text.strip()
        == "This needs `total`. The cell above that makes it waits for `get_mask`: run it again when that is done."
    )
    run(shell, capsys, "table = 3")
    _, text = run(shell, capsys, "print(table, tabel)")
    assert "NameError: name 'tabel' is not defined" in text


def test_the_sentence_of_yours(shell, capsys):
    _, text = run(
        shell,
        capsys,
        "from utils.feedback.check import UnfinishedExercise\nraise UnfinishedExercise('This needs `LayerNorm` from lesson 06.')",
    )
    assert text.strip() == "This needs `LayerNorm` from lesson 06."


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
    """A lesson whose first cell makes `x`, as the kernel's notebook."""
    import nbformat
    from nbformat.v4 import new_code_cell, new_notebook

    path = tmp_path / "00_page.ipynb"
    cells = [new_code_cell(source) for source in ("%matplotlib inline\nx = 1", "x_squared = x * x", "late = 3")]
    nbformat.write(new_notebook(cells=cells), path)
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    return path


def test_a_cell_that_is_run_too_early_says_what_cures_it(shell, capsys, page):
    shell.user_ns.pop("x", None)
    _, text = run(shell, capsys, "x_squared = x * x")
    assert text.startswith(
        "`x` is not there yet: it is made in a cell above that has not run since the kernel started."
    )
    assert "Run All Above Selected Cell" in text and "Traceback" not in text


@pytest.mark.parametrize("code", ["print(late)", "x_squared = x * x"])
def test_what_no_cell_above_makes_is_an_error(shell, capsys, page, code):
    """`late` is made below the cell that reads it, and of a page that cannot be read nothing is known."""
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
    assert "RuntimeError" in text and text.splitlines()[-1] == "torch.dot takes two vectors of the same length."
    assert run(shell, capsys, cell.replace("check(a=a)", ""))[1].strip().splitlines()[-1].startswith("RuntimeError")


def test_a_name_of_torch_that_is_misspelt_in_such_a_cell_is_told_in_one_line(shell, capsys):
    _, text = run(shell, capsys, "import torch\na = torch.sofmax(torch.ones(2), dim=0)\ncheck(a=a)")
    assert text.splitlines()[-1] == "`torch` has no `sofmax`. Did you mean `softmax`?"


def test_a_cell_that_is_stopped_by_hand(shell, capsys):
    _, text = run(shell, capsys, "raise KeyboardInterrupt")
    assert text.strip() == "Stopped by hand; what this cell had done by then is done."
