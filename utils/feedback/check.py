"""What a learner calls: `check`, `hint`, `solution`, `yours`.

check(get_mask)                       # a function or class, found by its name
check(attn_scores_2=attn_scores_2)    # a value, by keyword
"""

from __future__ import annotations

import inspect
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from utils import lessons
from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import Exercise, Misconception, UnknownExercise, all_exercises, find_exercise
from utils.feedback.phrases import LAMBDA_MESSAGE, library_answer_message
from utils.feedback.progress import read_progress, record_attempt
from utils.feedback.report import Note, Report

STRICT = "COURSE_CHECKS"  # set to "strict", a report that is not passed raises: what CI wants


class CheckFailed(AssertionError):
    """A check that did not pass while COURSE_CHECKS=strict."""


class UnfinishedExercise(NotImplementedError):
    """A lesson needs an exercise that is not finished; the message says which and where."""


def check(*answers: Any, **values: Any) -> Report:
    """Check one exercise and say what is wrong, if something is.

    Args:
        answers: one function or class, which is found by its name.
        values: or one value, by keyword: `check(context_vec_2=context_vec_2)`.

    Returns:
        A `Report`: `.status` ("passed", "failed", "todo"), `.misconception`, `.message`; true when passed.
        It never raises because of what an answer does, unless COURSE_CHECKS=strict asks for that.
    """
    try:
        exercise, answer = _resolve_check_call(answers, values)
        report = diagnose(exercise, answer)
        if not report and not report.misconception:
            report.message += _intermediate_messages(exercise, sys._getframe(1).f_globals)
        if (report.reason, report.status) != ("stopped", "todo"):  # interrupted by hand: no try
            record_attempt(exercise.lesson, exercise.name, report.status)
    except _BadCall as error:
        report = Report("check", "failed", str(error), reason="structure")
    if os.environ.get(STRICT) == "strict" and not report:
        raise CheckFailed(str(report))
    return report


def _intermediate_messages(exercise: Exercise, names: dict[str, Any]) -> str:
    """What holds of the values that lead to one, among the notebook's names: sentences with a space before them."""
    said = ""
    for name, (oracle, misconceptions) in exercise.steps.items():
        if names.get(name, ...) is not ...:
            wrong = tuple(Misconception(id, *entry) for id, entry in misconceptions.items())
            step = replace(exercise, name=name, oracle=oracle, misconceptions=wrong, returns=None)
            found = diagnose(step, names[name])
            said += f" `{name}` is right." if found else f" `{name}` is not right yet: {found.message}"
    return said


class _BadCall(ValueError):
    """`check`, `hint` or `solution` was called in a way that names no exercise."""


def _resolve_check_call(answers: tuple, values: dict) -> tuple[Exercise, Any]:
    """The exercise that a call of `check` is about, and the answer to it."""
    if len(answers) + len(values) != 1:
        count = len(answers) + len(values)
        given = "nothing" if count == 0 else f"{count} things"
        raise _BadCall(
            f"check takes one exercise at a time and was given {given}: check(my_function), or check(name=value)."
        )
    if values:
        ((name, answer),) = values.items()
        exercise = _find_exercise(name)
        if exercise.kind != "value":
            raise _BadCall(f"`{name}` is a {_KIND[exercise.kind]}: pass it as it is, check({name}).")
        return exercise, answer
    (answer,) = answers
    exercise = _find_exercise(_exercise_name(answer))
    wanted = "a class" if exercise.kind == "module" else "a function"
    if inspect.isclass(answer) != (exercise.kind == "module"):
        given = "a class" if inspect.isclass(answer) else "a function"
        raise _BadCall(
            f"`{exercise.name}` should be {wanted}, and {given} was given: define it with"
            f" `{'class' if wanted == 'a class' else 'def'} {exercise.name}`."
        )
    return exercise, answer


_KIND = {"function": "function", "module": "class"}


def _exercise_name(answer: Any) -> str:
    """The name under which an answer is looked up, or a sentence that says how to call `check`."""
    if isinstance(answer, str):
        raise _BadCall(f"check was given the text {answer!r}: pass the thing itself, without quotes.")
    if why := library_answer_message(answer):
        raise _BadCall(why)
    if isinstance(answer, torch.nn.Module):
        name = type(answer).__name__
        raise _BadCall(
            f"check was given an object made from {name}: pass the class itself, check({name}), and it makes objects of"
            " its own."
        )
    name = getattr(answer, "__name__", None)
    if name == "<lambda>":
        raise _BadCall(LAMBDA_MESSAGE)
    if name is None or not callable(answer):
        value = next(exercise.name for exercise in all_exercises().values() if exercise.kind == "value")
        raise _BadCall(
            f"check was given a value ({type(answer).__name__}) and cannot tell which exercise it answers. If it is"
            ' what a function gave back, leave out the "(x)": check(row_sums), not check(row_sums(x)). If the exercise'
            f" asks for a value, pass it by its name, as in check({value}={value})."
        )
    return name


def _find_exercise(name: str) -> Exercise:
    try:
        return find_exercise(name)
    except UnknownExercise as error:
        raise _BadCall(str(error)) from None


# --- hints and solutions ----------------------------------------------------------------------------

_hints_given: dict[str, int] = {}
_GRADES = ("a nudge", "the idea", "almost the code")


def hint(exercise: Any = None, grade: int | None = None, **value: Any) -> Note:
    """A hint for an exercise: `hint(get_mask)`, for a value `hint("context_vec_2")` or `hint(context_vec_2=...)`.

    Each call gives the next of three grades: a nudge, the idea, almost the code. `grade` 1 to 3 asks for one of them.
    """
    try:
        found = _resolve_exercise(exercise, value)
    except _BadCall as error:
        return Note("hint", str(error))
    if grade is not None and grade not in (1, 2, 3):
        return Note("hint", f"There are three grades, 1 to 3, and {grade!r} was asked for.")
    asked, grade = grade, grade or min(_hints_given.get(found.name, 0) + 1, 3)
    _hints_given[found.name] = grade
    handle = f'"{found.name}"' if found.kind == "value" else found.name
    further = f"`hint({handle}, {grade + 1})` gives" if asked else "Call it again for"
    more = f" ({further} {_GRADES[grade]}.)" if grade < 3 else ""
    return Note(f"{found.name}: hint {grade} of 3, {_GRADES[grade - 1]}", found.hints[grade - 1] + more)


def solution(exercise: Any = None, **value: Any) -> Note:
    """The answer to an exercise, named as for `hint`, when `solutions/` is there, and where to ask when it is not."""
    try:
        found = _resolve_exercise(exercise, value)
    except _BadCall as error:
        return Note("solution", str(error))
    try:
        source = lessons.definition_source(lessons.find_lesson(found.lesson), found.name)
    except lessons.LessonError:
        return Note(
            found.name,
            f"The solutions are not part of this copy of the course. Ask whoever gave it to you; hint({found.name}, 3)"
            " comes close.",
        )
    return Note(f"{found.name}: one right answer of many", source, code=True)


def _resolve_exercise(exercise: Any, value: dict) -> Exercise:
    """The exercise that a call of `hint` or `solution` is about."""
    if len(value) == 1 and exercise is None:
        return _find_exercise(next(iter(value)))
    if isinstance(exercise, str):
        return _find_exercise(exercise)
    if not callable(exercise) or value:
        raise _BadCall(
            "Name the exercise: as it is for a function or a class, hint(softmax), and in quotes for a value,"
            ' hint("context_vec_2").'
        )
    return _find_exercise(_exercise_name(exercise))


# --- what the learner built -------------------------------------------------------------------------


def yours(name: str) -> Any:
    """The learner's own function or class from an earlier lesson, when it passes its check.

    Else the reference from `solutions/`, with a printed note that says why. Without `solutions/`, `UnfinishedExercise` says which
    exercise to finish. The learner's lessons are looked for in the folder that the notebook runs in, in a folder of the
    lesson's name beside that one (nbgrader gives each lesson its own), then in `course/`.

    Raises:
        UnknownExercise: there is no exercise of this name.
        ValueError: it is a value, which no other lesson can use.
        UnfinishedExercise: it is not finished, and there is no reference.
    """
    exercise = find_exercise(name)
    if exercise.kind == "value":
        raise ValueError(f"`{name}` is a value of lesson {exercise.lesson}; yours() gives functions and classes.")
    _asked_for.append(name)
    try:
        own, why = _find_own_answer(exercise)
        answer = _load_reference_answer(exercise, why) if own is None else own
    finally:
        _asked_for.pop()
    if own is None and not _asked_for:
        print(f"Using the course's own {name}: {why}")
    return answer


_asked_for: list[
    str
] = []  # by `yours`, the outermost first: a lesson that is loaded may ask in turn, and that is no news to the learner


def _load_reference_answer(exercise: Exercise, why: str) -> Any:
    """The course's own answer. Raises `UnfinishedExercise` where there is none."""
    try:
        return getattr(lessons.load_lesson(lessons.find_lesson(exercise.lesson)), exercise.name)
    except lessons.LessonError:
        raise UnfinishedExercise(
            f"This needs `{exercise.name}` from lesson {exercise.lesson}: {why} Finish it there, save the notebook, and"
            " run this cell again."
        ) from None


def _find_own_answer(exercise: Exercise) -> tuple[Any, str]:
    """The learner's passing answer, or None and a sentence that says why there is none."""
    beside = sorted(Path.cwd().parent.glob(f"[0-9][0-9]_{exercise.lesson}"))
    for folder in (Path.cwd(), *beside, lessons.ROOT / "course"):
        try:
            path = lessons.find_lesson(exercise.lesson, folder)
        except lessons.LessonError:
            continue
        try:
            answer = getattr(lessons.load_lesson(path), exercise.name)
        except lessons.LessonError as error:
            return None, str(error)
        except AttributeError as error:  # with a cause: what stopped the definition
            return None, f"{error}." if error.__cause__ else f"{path.name} does not define it."
        report = diagnose(exercise, answer)
        if report:
            return answer, ""
        if read_progress().get(exercise.lesson, {}).get(exercise.name, {}).get("status") == "passed":
            return None, f"yours has passed, and {path.name} as it is saved does not hold it: save that notebook."
        what = {"todo": "is not attempted yet", "stopped": "does not come to an end"}.get(report.reason)
        return None, f"yours in {path.name} {what or 'does not pass its check yet'}."
    return None, f"there is no notebook of lesson {exercise.lesson} beside this one."
