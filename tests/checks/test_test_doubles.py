"""The inputs of an answer can be built without an oracle: they are plain data, or objects of `utils.test_doubles`."""

import dataclasses
import sys
from types import FunctionType

import pytest
import torch

from tests.fresh_python import printed_output
from utils.exercises.exercise import all_exercises

EXERCISES = all_exercises()
PLAIN = (bool, int, float, str, type(None), torch.Tensor, torch.Generator)


def is_importable(definition, package="test_doubles"):
    """Tell whether a function or class can be imported by its name from a module of `utils.<package>`."""
    if not definition.__module__.startswith(f"utils.{package}."):
        return False
    return getattr(sys.modules[definition.__module__], definition.__qualname__, None) is definition


def unknown_objects(value):
    """Return the objects in an argument that are neither plain data nor test doubles."""
    if type(value) in (tuple, list):
        return [unknown for item in value for unknown in unknown_objects(item)]
    if isinstance(value, dict):
        return [unknown for item in value.items() for unknown in unknown_objects(item)]
    if dataclasses.is_dataclass(value) and is_importable(type(value), "models"):  # the sizes of a model
        return unknown_objects(vars(value))
    return [] if type(value) in PLAIN or is_importable(type(value)) else [value]


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_an_answer_is_run_with_plain_data_and_test_doubles(exercise):
    assert exercise.view is None or (isinstance(exercise.view, FunctionType) and is_importable(exercise.view))
    for case in exercise.sample_cases():
        assert not unknown_objects([case.args, dict(case.kwargs), case.init])


def test_test_doubles_know_neither_checks_nor_solutions():
    code = (
        "import importlib, pkgutil, sys, utils.test_doubles as package\n"
        "for module in pkgutil.iter_modules(package.__path__):\n"
        "    importlib.import_module(f'utils.test_doubles.{module.name}')\n"
        "print([name for name in sys.modules if name.startswith(('utils.checks', 'solutions'))])"
    )
    assert printed_output(code) == "[]"
