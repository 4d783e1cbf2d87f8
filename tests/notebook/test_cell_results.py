"""Results of the course's functions are displayed wherever they are in a cell; other values only on the last line."""

import pytest

from utils.notebook.cell_results import DisplayCourseResults, register_result_display

DEFINE = "def row_sums(table):\n    return table.sum(dim=0)\n"


@pytest.fixture(scope="module")
def shell(ipython):
    ipython.run_cell("import torch\nfrom utils import check, hint")
    register_result_display()
    yield ipython
    ipython.ast_transformers[:] = [t for t in ipython.ast_transformers if not isinstance(t, DisplayCourseResults)]


def run(shell, capsys, code):
    result = shell.run_cell(code)
    result.raise_error()
    return capsys.readouterr().out


def test_a_report_and_a_hint_above_another_line_are_shown(shell, capsys):
    text = run(shell, capsys, f"{DEFINE}\ncheck(row_sums)\nhint(row_sums)\nprint('end')")
    assert text.index("✗ row_sums") < text.index("hint 1") < text.index("end")


def test_the_last_line_is_shown_once(shell, capsys):
    assert run(shell, capsys, f"{DEFINE}\ncheck(row_sums)").count("✗ row_sums") == 1


@pytest.mark.parametrize("code", ["len('other values')", "report = check(row_sums)", "[check(row_sums)]"])
def test_other_statements_show_nothing(shell, capsys, code):
    assert run(shell, capsys, f"{DEFINE}\n{code}\nprint('end')") == "end\n"


def test_registering_again_changes_nothing(shell, capsys):
    register_result_display()
    assert run(shell, capsys, f"{DEFINE}\ncheck(row_sums)\nprint('end')").count("✗ row_sums") == 1


def test_an_error_names_the_line_of_the_cell(shell, capsys):
    result = shell.run_cell("check(\n    1 / 0,\n)\nprint('end')")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert "1 / 0" in capsys.readouterr().out
