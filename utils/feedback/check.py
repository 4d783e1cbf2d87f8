"""Define the functions that a learner calls: `check`, `hint`, `solution`, `yours`.

check(get_mask)                       # a function or class; its name selects the exercise
check(attn_scores_2=attn_scores_2)    # a value; the keyword selects the exercise
"""

from __future__ import annotations

import inspect
import linecache
import os
import re
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from utils import lessons
from utils.exercises.cell_code import CellCode
from utils.exercises.exercise import Exercise, Misconception, UnknownExercise, all_exercises, find_exercise
from utils.exercises.observe import answer_source
from utils.feedback.diagnose import diagnose
from utils.feedback.phrases import LAMBDA_MESSAGE, library_answer_message, type_text
from utils.feedback.report import Note, Report
from utils.feedback.transfer_families import NO_HINTS, NO_SOLUTION, find_own_exercise
from utils.learner_data.progress import read_progress, record_attempt

STRICT = "COURSE_CHECKS"  # CI sets this variable to "strict"; a check that does not pass then raises CheckFailed


class CheckFailed(AssertionError):
    """A check did not pass, and COURSE_CHECKS is "strict"."""


class UnfinishedExercise(NotImplementedError):
    """A lesson needs an exercise that is not finished. The message names the exercise and its lesson."""


def check(*answers: Any, **values: Any) -> Report:
    """Check one exercise, and explain what is wrong if it does not pass.

    Args:
        answers: one function or class with the name of its exercise.
        values: if the exercise is a value, one keyword argument instead: `check(context_vec_2=context_vec_2)`.

    Returns:
        A `Report` with `.status` ("passed", "failed", "todo"), `.misconception` and `.message`. `bool(report)` is True
        if the exercise passed.

    Raises:
        CheckFailed: the exercise did not pass, and COURSE_CHECKS is "strict". Without "strict", `check` does not raise,
            whatever the answer does.
    """
    try:
        exercise, answer = _resolve_check_call(answers, values)
        report = diagnose(exercise, answer, _cell_of(sys._getframe(1)) if values else None)
        if not report and not report.misconception:
            report.message += _intermediate_messages(exercise, sys._getframe(1).f_globals)
        if (report.reason, report.status) != ("stopped", "todo"):  # an interrupted check is not an attempt
            text = answer_source(answer) + report.message
            record_attempt(exercise.lesson, exercise.name, report.status, text, _logged_findings(exercise, report))
    except _BadCall as error:
        report = Report("check", "failed", str(error), reason="structure")
    if os.environ.get(STRICT) == "strict" and not report:
        raise CheckFailed(str(report))
    return report


def _logged_findings(exercise: Exercise, report: Report) -> dict[str, str]:
    """Return what the log of attempts stores about a verdict.

    The log contains only the course's own texts, nothing that the learner wrote.
    """
    return {
        "member": exercise.member,
        "reason": report.reason,
        "misconception": report.misconception or "",
        "milestone": report.milestone or "",
    }


def _cell_of(frame: types.FrameType) -> CellCode:
    """Return the code of the cell that calls `check`."""
    file = frame.f_code.co_filename
    return CellCode(file, "".join(linecache.getlines(file)), frame.f_globals)


def _intermediate_messages(exercise: Exercise, names: dict[str, Any]) -> str:
    """Check the intermediate values of an exercise. Skip a value if its variable is missing or still `...`.

    Return the messages about these values, each with a leading space.
    """
    messages = ""
    for name, (oracle, misconceptions) in exercise.steps.items():
        if names.get(name, ...) is not ...:
            wrong = tuple(Misconception(id, *entry) for id, entry in misconceptions.items())
            step = replace(exercise, name=name, oracle=oracle, misconceptions=wrong, returns=None)
            report = diagnose(step, names[name])
            messages += f" `{name}` is right." if report else f" `{name}` is not right yet: {report.message}"
    return messages


class _BadCall(ValueError):
    """A call to `check`, `hint` or `solution` does not name an exercise."""


def _resolve_check_call(answers: tuple, values: dict) -> tuple[Exercise, Any]:
    """Return the exercise and the answer that the arguments of `check` specify.

    Raises:
        _BadCall: the call does not pass exactly one answer, or the answer is of the wrong kind.
    """
    if len(answers) + len(values) != 1:
        count = len(answers) + len(values)
        passed = "none" if count == 0 else str(count)
        raise _BadCall(
            f"check takes exactly one answer, but got {passed}: write check(my_function), or check(name=value)."
        )
    if values:
        ((name, answer),) = values.items()
        exercise = _find_exercise(name)
        if exercise.kind != "value":
            raise _BadCall(f"`{name}` is a {_KIND[exercise.kind]}: pass it without a keyword, check({name}).")
        return exercise, answer
    (answer,) = answers
    exercise = _find_exercise(_exercise_name(answer))
    expected = "a class" if exercise.kind == "module" else "a function"
    if inspect.isclass(answer) != (exercise.kind == "module"):
        actual = "a class" if inspect.isclass(answer) else "a function"
        raise _BadCall(
            f"`{exercise.name}` should be {expected}, but got {actual}: define it with"
            f" `{'class' if expected == 'a class' else 'def'} {exercise.name}`."
        )
    return exercise, answer


_KIND = {"function": "function", "module": "class"}


def _exercise_name(answer: Any) -> str:
    """Return the name of the exercise that an answer belongs to.

    Raises:
        _BadCall: the answer is not a named function or class of the learner. The message says what to do.
    """
    if isinstance(answer, str):
        raise _BadCall(f"check got the text {answer!r}: pass the function or class itself, without quotes.")
    if why := library_answer_message(answer):
        raise _BadCall(why)
    if isinstance(answer, torch.nn.Module):
        name = type(answer).__name__
        raise _BadCall(
            f"check got an object of the class {name}: pass the class itself, check({name}), because check creates its"
            " own objects."
        )
    name = getattr(answer, "__name__", None)
    if name == "<lambda>":
        raise _BadCall(LAMBDA_MESSAGE)
    if name is None or not callable(answer):
        value = next(exercise.name for exercise in all_exercises().values() if exercise.kind == "value")
        raise _BadCall(
            f"check got a value ({type(answer).__name__}) and cannot tell which exercise it answers. To check a"
            ' function, leave out the "(x)": check(row_sums), not check(row_sums(x)); to check a value, pass it by its'
            f" name, as in check({value}={value})."
        )
    return name


def _find_exercise(name: str) -> Exercise:
    try:
        return find_own_exercise(name)
    except UnknownExercise as error:
        raise _BadCall(str(error)) from None


# --- hints and solutions ----------------------------------------------------------------------------

_hints_given: dict[str, int] = {}
_GRADES = ("a nudge", "the idea", "almost the code")


def hint(exercise: Any = None, grade: int | None = None, **value: Any) -> Note:
    """Give a hint for an exercise.

    Args:
        exercise: the function, class or value, as in `hint(get_mask)`, or the name of the exercise in quotes.
        grade: 1 for a nudge, 2 for the idea, 3 for almost the code. Without a grade, each call returns the next hint.
        value: instead of `exercise`, a value by keyword, as in `hint(context_vec_2=...)`.
    """
    try:
        named = _resolve_exercise(exercise, value, sys._getframe(1))
    except _BadCall as error:
        return Note("hint", str(error))
    if not named.hints:
        return Note(f"{named.name}: no hints", NO_HINTS.format(named.name))
    if grade is not None and (type(grade) is not int or grade not in (1, 2, 3)):
        return Note("hint", f"The three hints are numbered 1 to 3; there is no hint {grade!r}.")
    requested, grade = grade, grade or min(_hints_given.get(named.name, 0) + 1, 3)
    _hints_given[named.name] = grade
    handle = f'"{named.name}"' if named.kind == "value" else named.name
    next_call = f"`hint({handle}, {grade + 1})` gives" if requested else "Call it again for"
    further = f" ({next_call} {_GRADES[grade]}.)" if grade < 3 else ""
    return Note(f"{named.name}: hint {grade} of 3, {_GRADES[grade - 1]}", named.hints[grade - 1] + further)


def solution(exercise: Any = None, **value: Any) -> Note:
    """Show the course's answer to an exercise, or say where to ask if this copy of the course has no `solutions/`.

    Args:
        exercise, value: the exercise, in one of the forms that `hint` takes.
    """
    try:
        named = _resolve_exercise(exercise, value, sys._getframe(1))
    except _BadCall as error:
        return Note("solution", str(error))
    if named.member:
        return Note(f"{named.name}: no solution", NO_SOLUTION.format(named.name))
    try:
        source = lessons.definition_source(lessons.find_lesson(named.lesson), named.name)
    except lessons.LessonError:
        return Note(
            named.name,
            "This copy of the course contains no solutions. Ask the person who gave it to you;"
            f" hint({named.name}, 3) comes close.",
        )
    return Note(f"{named.name}: one of many right answers", source, code=True)


def _resolve_exercise(exercise: Any, value: dict, caller: types.FrameType) -> Exercise:
    """Return the exercise that a call to `hint` or `solution` names.

    If the caller passes a value, find the caller's variable that contains the value. The exercise has the same name as
    this variable. If several variables contain the value, for example because all of them are still `...`, use the
    variable on the calling line.

    Raises:
        _BadCall: the call does not name exactly one exercise.
    """
    if len(value) == 1 and exercise is None:
        return _find_exercise(next(iter(value)))
    if isinstance(exercise, str):
        return _find_exercise(exercise)
    if exercise is not None and not callable(exercise) and not value:
        values = {each.name for each in all_exercises().values() if each.kind == "value"}
        names = [name for name, held in caller.f_globals.items() if held is exercise and name in values]
        written = re.findall(r"\w+", linecache.getline(caller.f_code.co_filename, caller.f_lineno))
        if names:
            return _find_exercise(next((name for name in names if name in written), names[0]))
        raise _BadCall(
            f"No exercise has this value ({type_text(exercise)}) as its answer: write the name of the exercise in"
            ' quotes, such as "context_vec_2".'
        )
    if not callable(exercise) or value:
        raise _BadCall(
            "Name the exercise: write a function or a class without quotes, such as softmax, and a value in quotes,"
            ' such as "context_vec_2".'
        )
    return _find_exercise(_exercise_name(exercise))


# --- answers from earlier lessons -------------------------------------------------------------------


def yours(name: str) -> Any:
    """Return the learner's own function or class from an earlier lesson, if it passes its check.

    Otherwise, return the reference answer from `solutions/` and print the reason. Look for the learner's lesson in
    three places: the notebook's folder, a sibling folder with the lesson's name, and `course/`. The sibling folder is
    needed because nbgrader gives each lesson its own folder.

    Raises:
        UnknownExercise: no exercise has this name.
        ValueError: the exercise is a value or a transfer exercise. Other lessons cannot use either.
        UnfinishedExercise: the exercise is not finished, and there is no reference answer.
    """
    exercise = find_exercise(name)
    if exercise.member:
        raise ValueError(f"`{name}` is a transfer exercise: learners get different tasks, so no other lesson uses it.")
    if exercise.kind == "value":
        raise ValueError(f"`{name}` is a value of lesson {exercise.lesson}; yours() returns functions and classes.")
    _pending_names.append(name)
    try:
        own, why = _find_own_answer(exercise)
        answer = _load_reference_answer(exercise, why) if own is None else own
    finally:
        _pending_names.pop()
    if own is None and not _pending_names:
        print(f"Using the course's own {name}: {why}")
    return answer


# The exercises in nested calls of `yours`, outermost first: a lesson that `yours` loads may itself call `yours`. Only
# the outermost call prints a note, because only that call is in the learner's current notebook.
_pending_names: list[str] = []


def _load_reference_answer(exercise: Exercise, why: str) -> Any:
    """Return the course's own answer.

    Raises:
        UnfinishedExercise: this copy of the course has no reference answer.
    """
    try:
        return getattr(lessons.load_lesson(lessons.find_lesson(exercise.lesson)), exercise.name)
    except lessons.LessonError:
        raise UnfinishedExercise(
            f"This needs `{exercise.name}` from lesson {exercise.lesson}: {why} Finish it there, save the notebook, and"
            " run this cell again."
        ) from None


def _find_own_answer(exercise: Exercise) -> tuple[Any, str]:
    """Return (the learner's passing answer, ""), or (None, the reason in a sentence)."""
    siblings = sorted(Path.cwd().parent.glob(f"[0-9][0-9]_{exercise.lesson}"))
    for folder in (Path.cwd(), *siblings, lessons.ROOT / "course"):
        try:
            path = lessons.find_lesson(exercise.lesson, folder)
        except lessons.LessonError:
            continue
        try:
            answer = getattr(lessons.load_lesson(path), exercise.name)
        except lessons.LessonError as error:
            return None, str(error)
        except AttributeError as error:  # if an error prevented the definition, it is the __cause__
            return None, f"{error}." if error.__cause__ else f"{path.name} does not define it."
        report = diagnose(exercise, answer)
        if report:
            return answer, ""
        if read_progress().get(exercise.lesson, {}).get(exercise.name, {}).get("status") == "passed":
            return None, f"your answer has passed, but the saved {path.name} does not contain it: save that notebook."
        if report.reason == "todo":
            return None, f"{path.name} contains no answer yet."
        fault = "does not end" if report.reason == "stopped" else "does not pass its check yet"
        return None, f"your answer in {path.name} {fault}."
    return None, f"there is no notebook of lesson {exercise.lesson} next to this one."
