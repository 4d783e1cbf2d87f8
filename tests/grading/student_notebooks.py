"""Pages as students hand them in, made from the course's own lessons."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence

from utils import lessons
from utils.feedback.exercise import find_exercise
from utils.lessons.answers import solved_source


def notebook(cells: Sequence[str]) -> bytes:
    """A notebook with these cells of code."""
    made = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made}).encode()


@functools.lru_cache
def lesson_with_sources(name: str, folder: str = "solutions") -> tuple[lessons.Lesson, tuple[str, ...]]:
    """A lesson by its name, and the sources of its cells of code, answers in."""
    found = lessons.read_lesson(lessons.find_lesson(name, lessons.ROOT / folder))
    return found, tuple(solved_source(cell) for cell in found.cells if cell.kind == "code")


def reference_notebook(name: str) -> bytes:
    """A page with the course's own answers."""
    return notebook(lesson_with_sources(name)[1])


def unsolved_notebook(name: str) -> bytes:
    """A page as students get it."""
    return notebook(lesson_with_sources(name, "course")[1])


def notebook_with_answer(exercise: str, source: str) -> bytes:
    """A page with the course's own answers but for one: a value in its place, any other in a cell of its own."""
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
