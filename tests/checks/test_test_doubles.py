"""What an answer is run with can be built by name where no oracle is: plain data, or objects of `utils.test_doubles`."""

import dataclasses
import sys
from types import FunctionType

import pytest
import torch

from tests.fresh_python import printed_output
from utils.feedback.exercise import all_exercises

EXERCISES = all_exercises()
PLAIN = (bool, int, float, str, type(None), torch.Tensor, torch.Generator)


def by_name(thing, room="test_doubles"):
    """Whether a function or class is found under its own name in a module of a room, which holds no oracle."""
    if not thing.__module__.startswith(f"utils.{room}."):
        return False
    return getattr(sys.modules[thing.__module__], thing.__qualname__, None) is thing


def strangers(value):
    """What of an argument is neither plain data nor a stand-in."""
    if type(value) in (tuple, list):
        return [s for item in value for s in strangers(item)]
    if isinstance(value, dict):
        return [s for item in value.items() for s in strangers(item)]
    if dataclasses.is_dataclass(value) and by_name(type(value), "models"):  # the sizes of a model
        return strangers(vars(value))
    return [] if type(value) in PLAIN or by_name(type(value)) else [value]


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_an_answer_is_run_with_plain_data_and_test_doubles(exercise):
    assert exercise.view is None or (isinstance(exercise.view, FunctionType) and by_name(exercise.view))
    for case in exercise.sample_cases():
        assert not strangers([case.args, dict(case.kwargs), case.init])


def test_test_doubles_know_neither_checks_nor_solutions():
    code = (
        "import importlib, pkgutil, sys, utils.test_doubles as room\n"
        "for module in pkgutil.iter_modules(room.__path__): importlib.import_module(f'utils.test_doubles.{module.name}')\n"
        "print([name for name in sys.modules if name.startswith(('utils.checks', 'solutions'))])"
    )
    assert printed_output(code) == "[]"
