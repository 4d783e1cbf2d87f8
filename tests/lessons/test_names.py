"""Test which names code binds and reads. `bound_names` is also tested in test_lessons.py."""

import ast
import dis

import pytest

from utils.lessons import bound_names
from utils.lessons.names import iter_names, nested_code, read_globals, read_names, unread_arguments

SOURCE = """\
total = start

class Base(parent, key=option):
    size = width

    @decorate
    def method(self, n=default):
        local = n + size
        return [element * local + offset for element in self.rows]

helper = lambda x: x + shift
"""


def test_a_cell_binds_what_its_statements_bind():
    assert bound_names(ast.parse(SOURCE)) == ["total", "Base", "helper"]
    cell = ast.parse("import a.b, c as d; x = 1")
    assert bound_names(cell) == ["a", "d", "x"] and bound_names(cell, imports=False) == ["x"]


def test_names_that_code_reads_when_it_runs_and_when_its_functions_are_called():
    now = {"start", "parent", "option", "width", "decorate", "default"}
    assert read_names(SOURCE, in_functions=False) == now
    assert read_names(SOURCE) == now | {"offset", "shift", "size"}  # a method does not see the names of its class
    assert read_names(ast.parse(SOURCE)) == read_names(SOURCE)
    assert read_names(ast.parse(SOURCE).body[-1].value) == {"shift"}


def test_reads_and_assignments_include_functions():
    statements = ast.parse(SOURCE).body[-1:]
    assert list(iter_names(statements, ast.Load)) == ["x", "shift"]
    assert list(iter_names(statements, ast.Store)) == ["helper"]


def outer(unused, used, kept):
    a = used + first_global  # noqa: F821
    b = second_global  # noqa: F821
    return lambda: a + b + kept + inner_global  # noqa: F821


def test_globals_that_a_code_object_reads_everywhere_and_on_one_line():
    code = outer.__code__
    assert read_globals(code) == {"first_global", "second_global"}
    assert read_globals(code, code.co_firstlineno + 1) == {"first_global"}
    assert set().union(*map(read_globals, nested_code(code))) == {"first_global", "second_global", "inner_global"}


def test_an_argument_that_only_an_inner_function_reads_is_read():
    assert unread_arguments(outer.__code__) == ("unused",)


@pytest.mark.parametrize(
    "opname, argval, unread",
    [
        ("LOAD_FAST_LOAD_FAST", ("used", "unused"), ()),
        ("STORE_FAST_LOAD_FAST", ("unused", "used"), ("unused",)),
    ],
)
def test_an_instruction_of_python_3_13_can_name_two_variables(monkeypatch, opname, argval, unread):
    """Simulate the instructions, because older Pythons do not have them."""

    class Instruction:
        pass

    instruction = Instruction()
    instruction.opname, instruction.argval = opname, argval
    monkeypatch.setattr(dis, "get_instructions", lambda code: [instruction])
    assert unread_arguments(outer.__code__) == unread
