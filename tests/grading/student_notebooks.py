"""Build submitted notebooks from the course's own lessons."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence

from utils import lessons
from utils.exercises.exercise import find_exercise
from utils.lessons.answers import solved_source


def notebook(cells: Sequence[str]) -> bytes:
    """Return a notebook with these code cells."""
    made = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made}).encode()


@functools.lru_cache
def lesson_with_sources(name: str, folder: str = "solutions") -> tuple[lessons.Lesson, tuple[str, ...]]:
    """Return a lesson and the sources of its code cells with the reference answers."""
    found = lessons.read_lesson(lessons.find_lesson(name, lessons.ROOT / folder))
    return found, tuple(solved_source(cell) for cell in found.cells if cell.kind == "code")


def reference_notebook(name: str) -> bytes:
    """Return a notebook with the reference answers."""
    return notebook(lesson_with_sources(name)[1])


def unsolved_notebook(name: str) -> bytes:
    """Return a notebook as students receive it."""
    return notebook(lesson_with_sources(name, "course")[1])


def notebook_with_answer(exercise: str, source: str) -> bytes:
    """Return a notebook with the reference answers, except for one exercise.

    The answer to a value exercise replaces the reference answer. Any other answer is added in a new cell after it.
    """
    found = find_exercise(exercise)
    page, sources = lesson_with_sources(found.lesson)
    own = lessons.definition_source(page.path, exercise)
    cells: list[str] = []
    for cell, text in zip([c for c in page.cells if c.kind == "code"], sources):
        tree = lessons.parse_cell(cell)
        if exercise not in [name for node in tree.body for name in lessons.bound_names(node)] if tree else True:
            cells.append(text)
            continue
        cells += [text.replace(own, source)] if found.kind == "value" else [text, source]
    return notebook(cells)
