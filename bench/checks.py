"""Measure how long `check` takes for every exercise. The first check runs in a fresh kernel that has imported `check`;
later checks run in the same process. A misconception is a known wrong answer. The unrecognised wrong answer is the
correct answer plus noise; it matches no misconception. The authors of the blind answers had not seen the checks. The
assertion only compares the answer with the oracle. A correct answer takes longest, because only then all sweeps run;
they take about two thirds of the time. The limits keep every check below a second.

    python -m bench.checks softmax    # one exercise
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from bench.measurement import ROOT, Row, last_printed_line
from bench.report import table_cells
from utils import lessons
from utils.exercises.compare import values_equal
from utils.exercises.exercise import Exercise, all_exercises, find_exercise
from utils.exercises.oracles import make_runner, misconception_answer
from utils.feedback.diagnose import diagnose

ROUNDS = 3  # measurements of each check, and of `import torch`
FRESH = 3  # new processes for the first check of each exercise
IMPORT = "import time; start = time.process_time(); import torch; print(time.process_time() - start)"
BLIND = ROOT / "tests" / "checks" / "blind"


def reference_answer(exercise: Exercise) -> Any:
    """Return the reference answer from the lesson."""
    if exercise.kind == "value":
        return exercise.oracle
    return getattr(lessons.load_lesson(lessons.find_lesson(exercise.lesson)), exercise.name)


def noisy_answer(exercise: Exercise) -> Any:
    """Return a wrong answer that no misconception explains: the correct answer plus noise on every number."""

    def noisy(result: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(noisy(part) for part in result)
        return result + torch.randn(result.shape) if torch.is_tensor(result) and result.is_floating_point() else result

    answer = reference_answer(exercise)
    if exercise.kind == "value":
        return noisy(answer)
    if exercise.kind == "function":
        return lambda *args, **kwargs: noisy(answer(*args, **kwargs))
    return type(
        answer.__name__,
        (answer,),
        {"forward": lambda self, *args, **kwargs: noisy(answer.forward(self, *args, **kwargs))},
    )


def matches_oracle(exercise: Exercise, answer: Any) -> bool:
    """Return whether the answer matches the oracle on every case, without any explanation."""
    results = (
        [make_runner(exercise, each).run(case).value for each in (answer, exercise.oracle)]
        for case in exercise.sample_cases()
    )
    return all(values_equal(*pair, exercise.atol) for pair in results)


def median_cpu_seconds(exercise: Exercise, make: Callable[[], Any], action: Callable = diagnose) -> float:
    """Return the median CPU time of one diagnosis, or of another action."""
    taken = []
    for _ in range(ROUNDS):
        answer = make()
        start = time.process_time()
        action(exercise, answer)
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def first_checks(exercises: list[Exercise]) -> dict[str, float]:
    """Return the CPU time of the first check in a process, for each exercise: the median over FRESH processes."""
    asked = [(e.name, e.lesson, e.oracle.tolist() if e.kind == "value" else None) for e in exercises]
    return json.loads(last_printed_line("-m", "bench.first_checks", json.dumps(asked), str(FRESH)))


def slowest_blind_seconds(exercise: Exercise) -> float | None:
    """Return the time of the slowest correct blind answer, or None if the exercise has no such answer."""
    from utils.instructor.answers import AnswerFactory, read_answers

    answers = AnswerFactory.from_exercise(exercise)
    sources = [a.source for path in BLIND.rglob("*.py") for a in read_answers(path)
               if a.exercise == exercise.name and a.kind == "right"]  # fmt: skip
    taken = []
    for source in sources:
        start = time.process_time()
        answers.judge(source)
        taken.append(time.process_time() - start)
    return max(taken, default=None)


def measure_exercise(exercise: Exercise) -> list[float | None]:
    """Measure a correct answer, the slowest misconception, an unrecognised answer, the slowest blind answer, and an
    assertion.
    """
    # Sampled results are parsed before they are compared, because two correct ways of sampling give different numbers.
    assert exercise.parse_result or matches_oracle(exercise, reference_answer(exercise)), exercise.name
    return [
        median_cpu_seconds(exercise, partial(reference_answer, exercise)),
        max(
            median_cpu_seconds(exercise, partial(misconception_answer, exercise, wrong))
            for wrong in exercise.misconceptions
        ),
        median_cpu_seconds(exercise, partial(noisy_answer, exercise)),
        slowest_blind_seconds(exercise),
        median_cpu_seconds(exercise, partial(reference_answer, exercise), matches_oracle),
    ]


def rows(names: Sequence[str] = ()) -> list[Row]:
    torch.set_num_threads(1)
    exercises = [find_exercise(name) for name in names] or list(all_exercises().values())
    torch_import = [statistics.median(float(last_printed_line("-c", IMPORT)) for _ in range(ROUNDS))]
    first = first_checks(exercises)
    right, wrong, odd, blind, assertion = zip(*map(measure_exercise, exercises))
    names = [f"`{exercise.name}`" for exercise in exercises]

    def row(what: str, seconds: Sequence[float | None], bar: str, headline: bool = False) -> Row:
        measured = [(name, each) for name, each in zip(names, seconds) if each is not None]
        found, taken = zip(*measured)
        return Row(what, taken, "s", "`import torch`", torch_import, found, bar, headline)

    return [
        row("first check, correct answer", [first[e.name] for e in exercises], "3/5", True),
        row("later check, correct answer", right, "1/4", True),
        row("later check, slowest misconception", wrong, "1/10"),
        row("later check, unrecognised wrong answer", odd, "1"),
        row("later check, slowest correct blind answer", blind, "3/2"),
        Row("later check, correct answer", right, "s", "an assertion", assertion, names),
    ]


if __name__ == "__main__":
    os.environ["COURSE_PROGRESS"] = "off"
    for each in rows(sys.argv[1:]):
        print(" | ".join(table_cells(each)))
