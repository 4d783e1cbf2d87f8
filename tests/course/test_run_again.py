"""Check that an exercise still passes if its cell runs again after the last cell of the lesson.

A learner can return to an exercise at any time, in the same kernel.
"""

from __future__ import annotations

import ast

import pytest
import torch

from utils import lessons
from utils.exercises.exercise import all_exercises
from utils.lessons import Cell, Lesson
from utils.lessons.loading import CellRunner
from utils.lessons.names import bound_names, read_names
from utils.lessons.syntax import Definition

LESSONS = [lessons.read_lesson(path) for path in lessons.all_lessons()]
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=[lesson.stem for lesson in LESSONS])


def parse_cells(lesson: Lesson) -> list[tuple[Cell, ast.Module]]:
    """Return the code cells of a lesson, with their syntax trees."""
    return [(cell, tree) for cell in lesson.cells if (tree := lessons.parse_cell(cell))]


def has_check(tree: ast.Module) -> bool:
    """Return whether a cell calls `check`."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(isinstance(call.func, ast.Name) and call.func.id == "check" for call in calls)


def is_definition(node: ast.stmt) -> bool:
    """Return whether a statement is an import, a function or a class."""
    return isinstance(node, (ast.Import, ast.ImportFrom, *Definition))


def find_relevant_cells(lesson: Lesson) -> list[tuple[Cell, ast.Module]]:
    """Return the cells that can change the verdict on an exercise, with their syntax trees.

    Such a cell binds a name that an exercise reads, directly or through other cells, or it reads the value of such a
    name, which it could change in place. All other cells are left out, because some of them train a model.
    """
    cells = parse_cells(lesson)
    values = {name for _, tree in cells for node in tree.body if not is_definition(node) for name in bound_names(node)}
    needed, last_size = {name for _, tree in cells if has_check(tree) for name in read_names(tree)}, -1
    while len(needed) != last_size:
        last_size = len(needed)
        relevant = [
            (cell, tree)
            for cell, tree in cells
            if has_check(tree) or needed & {*bound_names(tree), *(values & read_names(tree))}
        ]
        needed |= {name for _, tree in relevant for name in read_names(tree)}
    return relevant


@each_lesson
def test_each_exercise_passes_again_after_the_last_cell(lesson, monkeypatch):
    monkeypatch.setenv("COURSE_CHECKS", "strict")  # A check that does not pass raises an error.
    runner = CellRunner(lesson, {"__name__": "__main__"})
    relevant = find_relevant_cells(lesson)
    exercises = [(cell, tree) for cell, tree in relevant if has_check(tree)]
    assert len(exercises) == sum(exercise.lesson == lesson.name for exercise in all_exercises().values())
    with torch.random.fork_rng():
        for cell, tree in relevant + exercises:
            runner.run(cell, tree.body)


@each_lesson
def test_later_cells_rebind_no_name_that_an_answer_can_read(lesson):
    """An answer that is a value can read every name of the earlier cells; other answers read only definitions."""
    cells = parse_cells(lesson)
    for i, (cell, tree) in enumerate(cells):
        if not has_check(tree):
            continue
        is_value = not any(isinstance(node, Definition) for node in tree.body)
        usable = {
            name
            for _, earlier in cells[:i]
            for node in earlier.body
            if is_value or is_definition(node)
            for name in bound_names(node)
        }
        rebound = {name for _, later in cells[i + 1 :] for name in bound_names(later, imports=False)}
        assert not usable & rebound, f"{lesson.stem}, line {cell.line}"
