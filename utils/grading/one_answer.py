"""Report on a single answer, such as a student's wrong answer that no misconception describes yet.

The answer runs in the sandbox, because the instructor has not read it yet.
"""

from __future__ import annotations

from utils import lessons
from utils.feedback.exercise import find_exercise
from utils.feedback.report import Report
from utils.grading import engine
from utils.grading.judge import Submission, exercises_by_lesson, solution_notebook


def report_answer(name: str, source: str) -> Report:
    """Return the report of `check` on an answer, with the reference answers to all other exercises.

    Args:
        name: the exercise.
        source: the code of the answer.

    Raises:
        UnknownExercise: no exercise has this name.
        LessonError: the solutions are not available.
        SandboxError: this machine cannot isolate the answer.
    """
    find_exercise(name)
    stem = next(stem for stem, found in exercises_by_lesson().items() if name in found)
    own = lessons.definition_source(lessons.find_lesson(stem), name)
    pages = {f"{other}.ipynb": solution_notebook(other) for other in exercises_by_lesson() if other < stem}
    pages[f"{stem}.ipynb"] = solution_notebook(stem, lambda text: text.replace(own, source))
    return engine.report_exercise(Submission("", stem, pages, ""), name, engine.Settings())
