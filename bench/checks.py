"""How long `check` takes, for every exercise: on a right answer, on each misconception, and on an answer of no known kind.

The course asks for at most 0.2 s, diagnosis included, on a machine with two cores. Beside it what an assertion would cost
that says right or wrong and no more: answer and oracle, run once on each case, and compared.
"""

import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Callable

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ["COURSE_PROGRESS"] = "off"

import torch

from utils import lessons
from utils.diagnose import diagnose, runnable, same
from utils.exercise import Exercise, all_exercises
from utils.observe import observe

ROUNDS = 5
BAR = 0.2


def right(exercise: Exercise) -> Any:
    """The reference answer, from the lesson."""
    if exercise.kind == "value":
        return exercise.oracle
    return getattr(lessons.load(lessons.find(exercise.lesson)), exercise.name)


def odd(exercise: Exercise) -> Any:
    """A wrong answer that no misconception explains: the right one, and noise on every number."""
    def noisy(result: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(noisy(part) for part in result)
        return result + torch.randn(result.shape) if torch.is_tensor(result) and result.is_floating_point() else result

    answer = right(exercise)
    if exercise.kind == "value":
        return noisy(answer)
    if exercise.kind == "function":
        return lambda *args, **kwargs: noisy(answer(*args, **kwargs))
    return type(answer.__name__, (answer,), {"forward": lambda self, *args, **kwargs: noisy(answer.forward(self, *args, **kwargs))})


def bare(exercise: Exercise, answer: Any) -> bool:
    """Right or wrong, and no more."""
    results = ([observe(exercise, each, case, gradients=False).value for each in (answer, exercise.oracle)] for case in exercise.draw())
    return all(same(*pair, exercise.atol) for pair in results)


def seconds(exercise: Exercise, make: Callable[[], Any], ask: Callable = diagnose) -> float:
    """The median time of one diagnosis, or of what else is asked."""
    taken = []
    for _ in range(ROUNDS):
        answer = make()
        start = time.perf_counter()
        ask(exercise, answer)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main() -> None:
    print(f"{'exercise':<26}{'assertion':>10}{'right':>9}{'misconception':>16}{'odd':>9}   ms, median of {ROUNDS}; misconception: the slowest one")
    everything, bares, rights = [], [], []
    for exercise in all_exercises().values():
        assert bare(exercise, right(exercise)), exercise.name
        bares.append(seconds(exercise, lambda: right(exercise), bare))
        row = [
            seconds(exercise, lambda: right(exercise)),
            max(seconds(exercise, lambda: runnable(exercise, wrong)) for wrong in exercise.misconceptions),
            seconds(exercise, lambda: odd(exercise)),
        ]
        rights.append(row[0])
        everything += row
        print(f"{exercise.name:<26}{bares[-1] * 1e3:>10.1f}{row[0] * 1e3:>9.1f}{row[1] * 1e3:>16.1f}{row[2] * 1e3:>9.1f}")
    ratio = statistics.median(mine / plain for mine, plain in zip(rights, bares))
    print(f"all: median {statistics.median(everything) * 1e3:.1f} ms, worst {max(everything) * 1e3:.1f} ms (at most {BAR * 1e3:.0f}); a right answer takes {ratio:.1f} times the assertion")


if __name__ == "__main__":
    main()
