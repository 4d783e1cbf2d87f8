"""Measure how long `check` takes for every exercise. The first check runs in a fresh kernel that has imported `check`;
later checks run in the same process. A misconception is a known wrong answer. The unrecognised wrong answer is the
correct answer plus noise; it matches no misconception. The authors of the blind answers had not seen the checks. The
assertion only compares the answer with the oracle. A correct answer takes longest, because only then all sweeps run;
they take about two thirds of the time. The limits leave room for a busy machine, on which a check becomes slower than
the import does.

    python -m bench.checks softmax    # one exercise
"""

import heapq
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

# Each time is the shortest of several measurements, because other programs can only make a measurement longer. The
# speed of a machine may change during a run, so each exercise has its own measurement of `import torch`.
ROUNDS = 3  # measurements of each check
SLOWEST = 3  # the slowest blind answers of an exercise, which are measured again
FRESH = 3  # new processes for the first check of each exercise
NEIGHBOURS = 2  # exercises before and after an exercise whose measurements of `import torch` count for it too
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


def cpu_seconds(action: Callable[[], Any]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def shortest_check(exercise: Exercise, make: Callable[[], Any], action: Callable = diagnose) -> float:
    """Return the CPU time of one diagnosis, or of another action."""
    return min(cpu_seconds(partial(action, exercise, answer)) for answer in (make() for _ in range(ROUNDS)))


def first_check(exercise: Exercise) -> list[float]:
    """Return the CPU times of `import torch` and of the first check in a process."""
    value = exercise.oracle.tolist() if exercise.kind == "value" else None
    asked = json.dumps([exercise.name, exercise.lesson, value])
    return json.loads(last_printed_line("-m", "bench.first_checks", asked, str(FRESH)))


def median_of_neighbours(numbers: Sequence[float]) -> list[float]:
    """Replace each number by the median of the numbers around it, because a single measurement of an import varies."""
    return [statistics.median(numbers[max(0, i - NEIGHBOURS) : i + NEIGHBOURS + 1]) for i in range(len(numbers))]


def slowest_blind_seconds(exercise: Exercise) -> float | None:
    """Return the time of the slowest correct blind answer, or None if the exercise has no such answer."""
    from utils.instructor.answers import AnswerFactory, read_answers

    answers = AnswerFactory.from_exercise(exercise)
    sources = [a.source for path in BLIND.rglob("*.py") for a in read_answers(path)
               if a.exercise == exercise.name and a.kind == "right"]  # fmt: skip
    taken = [(cpu_seconds(partial(answers.judge, source)), source) for source in sources]
    # The first answer that uses a part of torch also pays for the import of this part, so measure again.
    slowest = heapq.nlargest(SLOWEST, taken)
    return max((min(t, cpu_seconds(partial(answers.judge, source))) for t, source in slowest), default=None)


def measure_exercise(exercise: Exercise) -> list[float | None]:
    """Measure `import torch`, a first check, a correct answer, the slowest misconception, an unrecognised answer, the
    slowest blind answer, and an assertion.
    """
    # Sampled results are parsed before they are compared, because two correct ways of sampling give different numbers.
    assert exercise.parse_result or matches_oracle(exercise, reference_answer(exercise)), exercise.name
    return [
        *first_check(exercise),
        shortest_check(exercise, partial(reference_answer, exercise)),
        max(
            shortest_check(exercise, partial(misconception_answer, exercise, wrong))
            for wrong in exercise.misconceptions
        ),
        shortest_check(exercise, partial(noisy_answer, exercise)),
        slowest_blind_seconds(exercise),
        shortest_check(exercise, partial(reference_answer, exercise), matches_oracle),
    ]


def rows(names: Sequence[str] = ()) -> list[Row]:
    torch.set_num_threads(1)
    exercises = [find_exercise(name) for name in names] or list(all_exercises().values())
    torch_import, first, right, wrong, odd, blind, assertion = zip(*map(measure_exercise, exercises))
    torch_import = median_of_neighbours(torch_import)
    names = [f"`{exercise.name}`" for exercise in exercises]

    def row(what: str, seconds: Sequence[float | None], bar: str, headline: bool = False) -> Row:
        found, taken, imports = zip(*(row for row in zip(names, seconds, torch_import) if row[1] is not None))
        return Row(what, taken, "s", "`import torch`", imports, found, bar, headline)

    return [
        row("first check, correct answer", first, "3/5", True),
        row("later check, correct answer", right, "1/2", True),
        row("later check, slowest misconception", wrong, "1/10"),
        row("later check, unrecognised wrong answer", odd, "1"),
        row("later check, slowest correct blind answer", blind, "2"),
        Row("later check, correct answer", right, "s", "an assertion", assertion, names),
    ]


if __name__ == "__main__":
    os.environ["COURSE_PROGRESS"] = "off"
    for each in rows(sys.argv[1:]):
        print(" | ".join(table_cells(each)))
