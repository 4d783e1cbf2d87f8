"""Create answers from their source code, and judge a single answer or a whole file of answers."""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import io
import linecache
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

from torch import Tensor

from utils import explore, lessons
from utils.exercises.cell_code import CellCode
from utils.exercises.exercise import Exercise, family_members, find_exercise
from utils.feedback.diagnose import diagnose
from utils.feedback.report import Report
from utils.lessons.files import write_atomically
from utils.lessons.loading import CellRunner
from utils.lessons.names import read_names


@dataclass
class AnswerFactory:
    """Creates answers to one exercise from their source code.

    Attributes:
        namespace: the names that the lesson defines; an answer can use them.
        source: the source of the reference answer.
    """

    exercise: Exercise
    namespace: dict[str, Any]
    source: str
    _has_demo_names: bool = False

    @classmethod
    def from_exercise(cls, exercise: Exercise) -> AnswerFactory:
        """Create the factory for an exercise. If the answer is a value, run the lesson's earlier cells silently.

        Raises:
            LessonError: `solutions/` does not exist.
        """
        source = reference_source(exercise)
        if exercise.kind == "value":
            names = _run_cells_until(exercise)
            for name in lessons.bound_names(ast.parse(source)):
                names.pop(name)
        else:
            path = lessons.find_lesson(exercise.lesson, lessons.ROOT / "solutions")
            names = dict(vars(lessons.load_lesson(path)))
            names.pop(exercise.name)
        return cls(exercise, names, source, _has_demo_names=exercise.kind == "value")

    @classmethod
    def from_name(cls, exercise: str) -> AnswerFactory:
        """Create the factory for the exercise with this name. Raises `UnknownExercise`."""
        return cls.from_exercise(find_exercise(exercise))

    @property
    def _file(self) -> str:
        return f"<an answer to {self.exercise.name}>"

    def make_answer(self, source: str) -> Any:
        """Run the source and return the answer that it defines. Exceptions from the source are not caught."""
        self._add_demo_names(source)
        names = {name: value.clone() if _is_plain(value) else value for name, value in self.namespace.items()}
        linecache.cache[self._file] = (len(source), None, [line + "\n" for line in source.splitlines()], self._file)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, self._file, "exec", __future__.annotations.compiler_flag), names)
        return names[self.exercise.name]

    def _add_demo_names(self, source: str) -> None:
        """If the source reads unknown names, add the names that the lesson's earlier cells define."""
        unknown = read_names(source) - {*self.namespace, *lessons.bound_names(ast.parse(source)), *dir(builtins)}
        if unknown and not self._has_demo_names:
            self._has_demo_names = True
            demo = _run_cells_until(self.exercise)
            demo.pop(self.exercise.name, None)
            self.namespace = demo | self.namespace

    def judge(self, source: str) -> Report:
        """Return the report of `check` on the answer in `source`. If the source fails, the reason is "raised"."""
        try:
            answer = self.make_answer(source)
        except (Exception, SystemExit) as error:
            return Report(self.exercise.name, "failed", f"{type(error).__name__}: {error}", reason="raised")
        cell = CellCode(self._file, source, {**self.namespace}) if self.exercise.kind == "value" else None
        return diagnose(self.exercise, answer, cell)


def _run_cells_until(exercise: Exercise) -> dict[str, Any]:
    """Return the names that the solved lesson defines up to the exercise's cell. Its cells run silently."""
    names: dict[str, Any] = {}
    lesson = lessons.read_lesson(lessons.find_lesson(exercise.lesson, lessons.ROOT / "solutions"))
    runner = CellRunner(lesson, names)
    silent = {name: MagicMock() for name in ("check", "hint", "show", "solution", "task")}
    silent["explore"] = MagicMock(my_sentence=explore.my_sentence)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), patch.multiple("utils", **silent):
        for cell in lesson.cells:
            if tree := lessons.parse_cell(cell):
                runner.run(cell, tree.body)
            if exercise.name in names:
                break
    return names


def transfer_folder(root: Path = lessons.ROOT) -> Path:
    """Return the folder with the right answers to transfer exercises."""
    return root / "tests" / "checks" / "transfer"


def reference_source(exercise: Exercise) -> str:
    """Return the source of the reference answer.

    The lesson in `solutions/` contains the answer to the first member of a family. For another member, the reference is
    its first right answer in `transfer_folder()`.

    Raises:
        LessonError: `solutions/` does not exist, or there is no answer to this member.
    """
    path = lessons.find_lesson(exercise.lesson, lessons.ROOT / "solutions")
    if exercise is family_members(exercise)[0]:
        return lessons.definition_source(path, exercise.name)
    file = transfer_folder() / f"{path.stem}.py"
    for answer in read_answers(file) if file.exists() else ():
        if (answer.exercise, answer.kind) == (exercise.full_name, "right"):
            return answer.source
    raise lessons.LessonError(f"{file.name} in {file.parent} contains no right answer to {exercise.full_name}.")


def _is_plain(value: Any) -> bool:
    """Return whether the value is a leaf tensor. Leaf tensors are copied, so that an answer cannot change them."""
    return isinstance(value, Tensor) and value.is_leaf


# --- a file of answers ----------------------------------------------------------------------------------

MARK = "# %% "  # each answer is one cell in jupytext's percent format
_HEAD = re.compile(r"(?P<exercise>\w+(/[\w-]+)?) (?P<kind>wrong|right)(?: \((?P<verdict>[^()]*)\))?: (?P<what>.+)")


@dataclass(frozen=True)
class Answer:
    """An answer in a file of answers.

    In the file, a line such as `# %% softmax wrong (misconception wrong-axis): what is wrong` precedes the source.

    Attributes:
        exercise: the exercise's name; for a transfer exercise, also the name of the member, as in `attend/keys-first`.
        kind: "right" or "wrong", as the author of the answer marked it.
        verdict: the verdict of `check` in the format of `format_verdict`, or "" if the answer has not been judged yet.
        description: what is wrong with the answer, or how it is written.
    """

    exercise: str
    kind: str
    verdict: str
    description: str
    source: str

    def __str__(self) -> str:
        verdict = f" ({self.verdict})" if self.verdict else ""
        return f"{MARK}{self.exercise} {self.kind}{verdict}: {self.description}\n{self.source}"


def read_answers(path: Path) -> list[Answer]:
    """Read the answers in a file.

    Raises:
        ValueError: the first line of a cell does not have the form "# %% EXERCISE wrong: what is wrong" or
            "# %% EXERCISE right: how it is written", there is text before the first cell, or there is no cell.
    """
    answers = []
    text = lessons.read_text(path)
    before, *cells = re.split(rf"(?m)^{re.escape(MARK)}", text)
    if before.strip() or len(cells) != len(re.findall(r"(?m)^\s*#\s*%%", text)) or not cells:
        raise ValueError(
            f"{path.name}: each answer, the first too, must begin with a line such as '{MARK}EXERCISE wrong: what is"
            " wrong'."
        )
    for cell in cells:
        head, _, source = cell.partition("\n")
        parts = _HEAD.fullmatch(head)
        if parts is None:
            raise ValueError(
                f"{path.name}: {MARK + head!r} does not have the form '{MARK}EXERCISE wrong: what is wrong'."
            )
        answers.append(Answer(parts["exercise"], parts["kind"], parts["verdict"] or "", parts["what"], source))
    return answers


def write_answers(path: Path, answers: list[Answer]) -> None:
    """Write a file that `read_answers` can read."""
    write_atomically(path, "".join(map(str, answers)))


def format_verdict(report: Report) -> str:
    """Return the reason of a report, and the name of its misconception, property or relation, if any.

    A "difference" report may have no such name, but show which step is wrong. In this case, the name is "milestone".
    """
    step = "milestone" if report.trace and report.reason == "difference" else None
    name = report.misconception or report.property or report.relation or step
    return " ".join(filter(None, (report.reason, name)))


def judge_all(answers: list[Answer]) -> list[Report]:
    """Return the report of `check` on each answer. Answers that differ only in comments or layout share a report.

    The answers to one exercise are judged together, because they share cached results.
    """
    programs = [(answer.exercise, _program(answer.source)) for answer in answers]
    sources = dict(zip(reversed(programs), (answer.source for answer in reversed(answers))))
    reports: dict[tuple[str, str], Report] = {}
    for exercise in dict.fromkeys(answer.exercise for answer in answers):
        factory = AnswerFactory.from_name(exercise)
        reports |= {program: factory.judge(source) for program, source in sources.items() if program[0] == exercise}
    return [reports[program] for program in programs]


def _program(source: str) -> str:
    try:
        return ast.dump(ast.parse(source))
    except SyntaxError:
        return source
