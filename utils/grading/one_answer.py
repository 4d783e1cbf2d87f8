"""One answer by itself, such as a student's that no misconception describes yet: what its author reads.

It runs as a class's answers do, apart from everything else: an instructor is about to read it, and has not.
"""

from __future__ import annotations

from utils import lessons
from utils.feedback.exercise import find_exercise
from utils.feedback.report import Report
from utils.grading import engine
from utils.grading.judge import Submission, exercises_by_lesson, solution_notebook


def report_answer(name: str, source: str) -> Report:
    """What `check` says of the answer that `source` defines, in its lesson and with the course's answers to all else.

    Raises:
        UnknownExercise: no exercise is called `name`.
        LessonError: the solutions are not here.
        SandboxError: this machine cannot keep the answer apart.
    """
    find_exercise(name)
    stem = next(stem for stem, found in exercises_by_lesson().items() if name in found)
    own = lessons.definition_source(lessons.find_lesson(stem), name)
    pages = {f"{other}.ipynb": solution_notebook(other) for other in exercises_by_lesson() if other < stem}
    pages[f"{stem}.ipynb"] = solution_notebook(stem, lambda text: text.replace(own, source))
    return engine.report_exercise(Submission("", stem, pages, ""), name, engine.Settings())
