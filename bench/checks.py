"""How long `check` takes, for every exercise, in CPU seconds and in units of `import torch` in the same process.

First the check of the reference in a fresh process, after `from utils import check`: at most a fifth of torch's import.
Then warm: on a right answer, on each misconception, on an answer of no known kind, and on the right answers in
tests/checks/blind, slow ones among them: a tenth for the first three, one for the last. Beside it what an assertion
would cost that says right or wrong and no more: answer and oracle, run once on each case, and compared.

    python bench/checks.py            # everything, 10 minutes
    python bench/checks.py softmax    # one exercise
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ["COURSE_PROGRESS"] = "off"

import torch

from utils import lessons
from utils.feedback.check import check
from utils.feedback.compare import same
from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import Exercise, all_exercises, find
from utils.feedback.runner import runnable, runner

ROUNDS = 5
FRESH = 3  # processes for the first check
FIRST, WARM, SLOW = 0.2, 0.1, 1.0  # the bars, in units of torch's import
IMPORT = "import time; start = time.process_time(); import torch; print(time.process_time() - start)"
BLIND = Path(__file__).resolve().parent.parent / "tests" / "checks" / "blind"


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
    return type(
        answer.__name__,
        (answer,),
        {"forward": lambda self, *args, **kwargs: noisy(answer.forward(self, *args, **kwargs))},
    )


def bare(exercise: Exercise, answer: Any) -> bool:
    """Right or wrong, and no more."""
    results = (
        [runner(exercise, each).run(case).value for each in (answer, exercise.oracle)] for case in exercise.draw()
    )
    return all(same(*pair, exercise.atol) for pair in results)


def seconds(exercise: Exercise, make: Callable[[], Any], ask: Callable = diagnose) -> float:
    """The median CPU time of one diagnosis, or of what else is asked."""
    taken = []
    for _ in range(ROUNDS):
        answer = make()
        start = time.process_time()
        ask(exercise, answer)
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def first(name: str) -> float:
    """What the first check of a process takes, in CPU seconds; to be run in a fresh one."""
    exercise = find(name)
    answer = right(exercise)
    start = time.process_time()
    passed = check(**{name: answer}) if exercise.kind == "value" else check(answer)
    assert passed, name
    return time.process_time() - start


def in_a_fresh_process(*arguments: str) -> float:
    """The number that another Python prints last."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, encoding="utf-8", check=True)
    return float(done.stdout.splitlines()[-1])


def slowest_blind(exercise: Exercise) -> float:
    """The dearest of the right answers that were written blind."""
    from utils.instructor.answers import Answers, read_answers

    answers = Answers.of(exercise)
    sources = [a.source for path in BLIND.rglob("*.py") for a in read_answers(path)
               if a.exercise == exercise.name and a.kind == "right"]  # fmt: skip
    taken = []
    for source in sources:
        start = time.process_time()
        answers.judge(source)
        taken.append(time.process_time() - start)
    return max(taken, default=0.0)


def main(names: list[str]) -> None:
    unit = statistics.median(in_a_fresh_process("-c", IMPORT) for _ in range(ROUNDS))
    heads = "".join(f"{head:>7}" for head in ("first", "right", "wrong", "odd", "slow"))
    print(f"{'exercise':<27}{heads}   in units of import torch, {unit:.2f} s")
    rows = []
    for exercise in [find(name) for name in names] or list(all_exercises().values()):
        # What is drawn at random is read before it is compared; two honest ways of drawing differ.
        assert exercise.read or bare(exercise, right(exercise)), exercise.name
        plain = seconds(exercise, partial(right, exercise), bare)
        mine = seconds(exercise, partial(right, exercise))
        row = [
            statistics.median(in_a_fresh_process(__file__, "--first", exercise.name) for _ in range(FRESH)) / unit,
            mine / unit,
            max(seconds(exercise, partial(runnable, exercise, wrong)) for wrong in exercise.misconceptions) / unit,
            seconds(exercise, partial(odd, exercise)) / unit,
            slowest_blind(exercise) / unit,
            mine / plain,
        ]
        rows.append(row)
        print(f"{exercise.name:<27}" + "".join(f"{value:>7.3f}" for value in row[:5]), flush=True)
    columns = list(zip(*rows))
    for name, bar, column in zip(("first", "right", "wrong", "odd", "slow"), (FIRST, WARM, WARM, WARM, SLOW), columns):
        print(f"{name}: median {statistics.median(column):.3f}, slowest {max(column):.3f} (bar {bar})")
    print(f"a right answer takes {statistics.median(columns[5]):.1f} times the assertion")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--first"]:
        print(first(sys.argv[2]))
    else:
        main(sys.argv[1:])
