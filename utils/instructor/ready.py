"""Prepare a new or changed lesson for a commit: run all automatic steps, and list the tasks that remain for a person.

Each step in `STEPS` depends only on earlier steps. A step writes only generated files, and its result names the changed
files. Stored messages and learners' edits in `course/` stay unchanged.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from utils import lessons
from utils.exercises.exercise import all_exercises, all_members
from utils.instructor import (
    blind_answers,
    build,
    claims,
    lesson_time,
    mutation_testing,
    online_links,
    readme_counts,
    solved_notebooks,
)
from utils.instructor.claims import git_output
from utils.lessons import ROOT, Lesson

NOT_RUN = "Before you push, run `make test`. It also runs the browser tests and the rest of `make lint`."
FOR_LEARNERS = {"hint", "solution"}  # Learners call `hint` and `solution` in their own cells.


@dataclass
class StepResult:
    """The result of one step.

    Attributes:
        problems: a line for each thing that a person must do; the tests fail until it is done.
        reminders: a line for each thing that a person should do; the tests pass without it.
        stops: True if the following steps cannot run.
    """

    problems: list[str] = field(default_factory=list)
    reminders: list[str] = field(default_factory=list)
    stops: bool = False


@dataclass(frozen=True)
class Step:
    """One step: its name, the function that runs it, and advice for the problems that it reports."""

    name: str
    run: Callable[[Lesson, Sequence[str]], StepResult]  # the lesson, and the names of the exercises to test
    remedy: str


@dataclass(frozen=True)
class FinishedStep:
    """A step that has run, its result, and the changed files. Their paths are relative to the repository."""

    step: Step
    result: StepResult
    changed: list[str]


def prepare_lesson(
    name: str, exercises: Sequence[str] = (), on_step: Callable[[FinishedStep], None] = lambda step: None
) -> list[FinishedStep]:
    """Run the steps for one lesson. Stop after a failed step if later steps depend on it.

    Args:
        name: the name or number of the lesson.
        exercises: the exercises whose checks are tested; by default, all exercises of the lesson.
        on_step: called with each step as soon as it has run.

    Raises:
        LessonError: there is no such lesson.
        ValueError: the lesson has no such exercise, or its checks cannot be imported.
    """
    path = lessons.find_lesson(name)
    lesson = lessons.read_lesson(path)
    try:
        known = exercise_names(lesson)
    except Exception as error:  # a half-written module can raise anything
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = "" if isinstance(error, SyntaxError) else f" ({place.filename}, line {place.lineno})"
        raise ValueError(f"The checks cannot be imported: {type(error).__name__}: {error}{where}.") from error
    if unknown := set(exercises) - set(known):
        raise ValueError(
            f"utils/checks/{path.stem[3:]}.py declares no exercise {', '.join(sorted(unknown))}. It declares:"
            f" {', '.join(known)}."
        )
    finished: list[FinishedStep] = []
    for step in STEPS:
        before = _generated_files(path)
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # lessons print notes when they are loaded
                result = step.run(lessons.read_lesson(path), exercises or known)
        except (ValueError, SyntaxError, ImportError) as error:
            result = StepResult(problems=str(error).splitlines(), stops=True)
        after = _generated_files(path)
        changed = [name for name in sorted(before | after) if before.get(name) != after.get(name)]
        finished.append(FinishedStep(step, result, changed))
        on_step(finished[-1])
        if result.stops:
            break
    return finished


def _generated_files(lesson: Path) -> dict[str, bytes]:
    """Return the content of every existing file that a step can write, by path."""
    paths = [
        lesson,
        ROOT / "README.md",
        mutation_testing.TABLE,
        ROOT / "docs" / "online.md",
        ROOT / "docs" / "claims.md",
        blind_answers.blind_folder() / "pending.txt",
        ROOT / "tests" / "solved" / f"{lesson.stem}.ipynb",
        ROOT / "course" / build.MANIFEST,
        *(ROOT / "course").glob("[0-9][0-9]_*.*"),
    ]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths if path.exists()}


def exercise_names(lesson: Lesson) -> list[str]:
    """Return the names of the lesson's exercises in the order of its checks module."""
    return [name for name, exercise in all_exercises().items() if exercise.lesson == lesson.name]


# --- the steps ------------------------------------------------------------------------------------------


def _find_missing_checks(lesson: Lesson, exercises: Sequence[str]) -> StepResult:
    code = "\n".join(cell.source for cell in lesson.cells if cell.kind == "code")
    called = re.findall(r"(?m)^check\((\w+)", code)
    declared = exercise_names(lesson)
    return StepResult(
        [f"{name}: the lesson calls check({name}), but utils/checks declares no exercise {name}" for name in called
         if name not in declared]
        + [f"{name}: utils/checks declares it, but no cell of the lesson calls its check" for name in declared
           if name not in called],
    )  # fmt: skip


def _find_unused_imports(lesson: Lesson, exercises: Sequence[str]) -> StepResult:
    trees = [tree for cell in lesson.cells if (tree := lessons.parse_cell(cell))]
    imported = lessons.bound_names(trees[0]) if trees else []
    used = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return StepResult(
        [f"the first cell imports {name}, but no cell uses it" for name in sorted({*imported} - used - FOR_LEARNERS)]
    )


def _state_time(lesson: Lesson, exercises: Sequence[str]) -> StepResult:
    lesson_time.write_stated_time(lesson.path)
    return StepResult()


def _build_student_copy(lesson: Lesson, exercises: Sequence[str]) -> StepResult:
    return StepResult(build.build().kept)


def _solve(lesson: Lesson, exercises: Sequence[str]) -> StepResult:
    folder = ROOT / "tests" / "solved"
    solved_notebooks.solve_lessons([lesson.stem], folder)
    return StepResult(
        [
            f"tests/solved/{stem}.ipynb differs from solutions/{stem}.md: run `coginst ready {stem}`"
            for stem in solved_notebooks.find_stale(folder)
        ]
    )


def _test_mutants(lesson: Lesson, exercises: Sequence[str]) -> StepResult:
    tallies = mutation_testing.run_mutants(exercises)
    mutation_testing.update_table(tallies)
    return StepResult(
        [
            f"{tally.exercise}: a mutant passes, although it is not equivalent: {mutant.change} ({message})"
            for tally in tallies
            for mutant, outcome, message in tally.outcomes
            if outcome == mutation_testing.WRONG
        ]
    )


def _judge_blind_answers(lesson: Lesson, exercises: Sequence[str]) -> StepResult:
    files = blind_answers.read_blind_answers()
    answers = [answer for file in files.values() for answer in file]
    judged = [answer for answer in answers if answer.exercise.partition("/")[0] in exercises]
    changed = blind_answers.find_changed_verdicts(judged)
    pending = blind_answers.find_pending(all_members(), answers)
    blind_answers.write_pending(pending)
    reminders = [
        f"{name}: ask somebody who has not seen the check for right and wrong answers, written from the student page"
        for name in pending
        if name.partition("/")[0] in exercise_names(lesson)
    ]
    paths = [path.relative_to(ROOT).as_posix() for path, file in files.items() if not changed.keys().isdisjoint(file)]
    command = [f"`coginst answers {shlex.join(paths)} --write` stores the new verdicts"] if paths else []
    return StepResult([*changed.values(), *command], reminders)


def _update_pages(lesson: Lesson, exercises: Sequence[str]) -> StepResult:
    online_links.write_links_page()
    readme_counts.write_counts()
    return StepResult()


def _list_claims(lesson: Lesson, exercises: Sequence[str]) -> StepResult:
    claims.write_page()
    new = claims.find_new_claims(lesson)
    return StepResult(
        claims.find_wrong_quotes(claims.read_claims()),
        [f"a new claim without a marked test (intervention or observation): {sentence}" for sentence in new],
    )


def _lint(lesson: Lesson, exercises: Sequence[str]) -> StepResult:
    names = [name for name in _changed_files(lesson) if (ROOT / name).is_file()]
    commands = [[".ci/lint_prose.py", *names]]
    python_files = [name for name in names if name.endswith(".py")]
    has_ruff = importlib.util.find_spec("ruff") is not None
    if has_ruff and python_files:
        options = ["--force-exclude", "--output-format=concise", *python_files]
        commands += [["-m", "ruff", *ruff, *options] for ruff in (["check", "--quiet"], ["format", "--check"])]
    done = [
        subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, encoding="utf-8")
        for command in commands
    ]
    lines = [line for run in done if run.returncode for line in (run.stdout + run.stderr).splitlines()]
    return StepResult(lines, [] if has_ruff else ["ruff is not installed; `make lint` installs and runs it"])


def _changed_files(lesson: Lesson) -> list[str]:
    """Return the files of the lesson, all files that differ from the last commit, and all untracked files."""
    own = [
        f"solutions/{lesson.path.name}",
        *(f"{folder}/{lesson.name}.py" for folder in ("utils/checks", "utils/checks/transfer")),
        f"tests/course/test_{lesson.name}.py",
    ]
    commands = (["diff", "--name-only", "HEAD"], ["ls-files", "--others", "--exclude-standard"])
    changed = [git_output(ROOT, *command) or "" for command in commands]
    return sorted({*own, *"".join(changed).splitlines()})


def _run_tests(lesson: Lesson, exercises: Sequence[str]) -> StepResult:
    # The program that chooses the tests for `make quick` also chooses the tests for a lesson.
    command = [sys.executable, str(ROOT / ".ci" / "quick_tests.py"), "--files", f"solutions/{lesson.path.name}"]
    command += ["--exercises", *exercises] if len(exercises) < len(exercise_names(lesson)) else []
    command += ["--ignore", "tests/solved"]  # an earlier step has just run the solved notebook
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))},
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode == 0:
        return StepResult()
    failed = re.findall(r"(?m)^(?:FAILED|ERROR) (.+)$", done.stdout)
    return StepResult(failed or [(done.stdout + done.stderr).strip()[-2000:]])


STEPS: Sequence[Step] = (
    Step("exercises", _find_missing_checks, "Declare the exercise, or call its check in the lesson."),
    Step("imports", _find_unused_imports, "Remove the name from the first cell."),
    Step("stated time", _state_time, "Correct solutions/."),
    Step("student copy", _build_student_copy, "Correct solutions/; or move your own work out of course/."),
    Step("solved notebook", _solve, "Correct the answer in solutions/, or its check."),
    Step("mutants", _test_mutants, "Add a case or a property that distinguishes the mutant from a correct answer."),
    Step(
        "blind answers",
        _judge_blind_answers,
        "Read the new messages. If they are right, run this command.",
    ),
    Step("pages", _update_pages, "Add a row to README.md, in the form of the other rows."),
    Step("claims", _list_claims, "Quote the lesson exactly in the mark of the test."),
    Step("lint", _lint, "Run `make format`, and correct what it leaves."),
    Step(
        "tests",
        _run_tests,
        "Read each failure with `pytest NAME`. If only stored messages differ, run `make snapshots` and read the diff.",
    ),
)
