"""Execute every lesson with its answers. The times on a slow machine are estimates.

The unit is CPU time, user and system, of this process and of the kernel. On a busy machine, wall time has been four
times as long. Everything runs on one thread, as in the test suite, so on an idle machine wall time is only slightly
longer than CPU time.

Machines differ in speed, and the speed of one machine changes from hour to hour. Therefore, a reference task is
measured before and after each lesson: 200 steps of the usual training of the sorter, in the loop of the source text.
The fastest of three rounds counts, because other work can only make a round slower. From both measurements, the
benchmark computes the time on the slow scale: on a machine that makes 68 such steps per second. These times are
comparable, and the limits apply to them: 40 s for a lesson, 300 s for the course. `python -m bench.course 08 09`
measures only these lessons.
"""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ["COURSE_PROGRESS"] = "off"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("COURSE_GPT2", "bundled")

import psutil
import torch

from bench.abc_sorter import lesson, source_loss, train_until_sorted
from bench.measurement import Row
from utils import lessons
from utils.instructor.solved_notebooks import execute_lesson

STEPS, ROUNDS, SLOW = 200, 3, 68  # the steps of the reference task; the steps per second that define the slow scale
A_LESSON, ALL = 40, 300  # seconds on the slow scale


def tree_cpu_seconds() -> float:
    """Return the CPU time of this process and of its child processes."""
    here = psutil.Process()
    return sum(sum(each.cpu_times()[:4]) for each in (here, *here.children(recursive=True)))


def machine_speed() -> float:
    """Return the steps of the reference task per CPU second, on one thread, in the fastest round."""
    torch.set_num_threads(1)
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        train_until_sorted(0, STEPS, lambda step: lesson.lr_at(step, 15000, 1e-3, 500), source_loss, STEPS + 1, False)
        rounds.append(time.process_time() - began)
    return STEPS / min(rounds)


def time_lesson(path: Path) -> tuple[float, float]:
    """Execute a lesson, and return its CPU time and wall time until its last cell has finished."""
    began, cpu, taken = time.perf_counter(), tree_cpu_seconds(), []
    execute_lesson(
        path,
        on_notebook_complete=lambda **_: taken.extend((tree_cpu_seconds() - cpu, time.perf_counter() - began)),
    )
    return tuple(taken)


def time_lessons(paths: Iterable[Path]) -> Iterator[tuple[str, float, float, float, float]]:
    """Return for each lesson: name, CPU time, wall time, steps per second, and CPU time on the slow scale."""
    machine_speed()  # warm up: the first steps of a process are slower
    before = machine_speed()
    for path in paths:
        cpu, wall = time_lesson(path)
        after = machine_speed()
        pace, before = (before + after) / 2, after
        yield path.stem, cpu, wall, pace, cpu * pace / SLOW


def rows() -> list[Row]:
    names, cpu, _, _, slow = zip(*time_lessons(lessons.all_lessons()))
    what = "executing the course"
    return [
        Row(what, [sum(cpu)], "s", headline=True),
        Row("executing one lesson", cpu, "s", names=names),
        Row(f"{what}, on a slow machine", [sum(slow)], "s", bar=f"{ALL} s"),
        Row("executing one lesson, on a slow machine", slow, "s", names=names, bar=f"{A_LESSON} s"),
    ]


def main() -> None:
    totals = [0.0, 0.0, 0.0]
    print(f"{'':<32}{'CPU':>8}{'wall':>10}{'steps/s':>10}{'slow machine':>15}")
    for name, cpu, wall, pace, slow in time_lessons(
        [lessons.find_lesson(name) for name in sys.argv[1:]] or lessons.all_lessons()
    ):
        totals = [total + seconds for total, seconds in zip(totals, (cpu, wall, slow))]
        over = f"   over {A_LESSON}" if slow > A_LESSON else ""
        print(f"{name:<32}{cpu:>6.1f} s{wall:>8.1f} s{pace:>10.0f}{slow:>13.1f} s{over}", flush=True)
    cpu, wall, slow = totals
    print(f"{'all of them':<32}{cpu:>6.1f} s{wall:>8.1f} s{'':>10}{slow:>13.1f} s   bar of the course: {ALL}")


if __name__ == "__main__":
    main()
