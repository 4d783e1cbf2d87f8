"""What the course costs to execute: every lesson with its answers, from the start of its kernel to its last cell.

Seconds of CPU are counted, those of this process and of the kernel, user and system together: beside a busy neighbour
the clock on the wall has shown four times as much. Everything runs on one thread, as in the suite, so on a quiet
machine a lesson takes little longer than its seconds of CPU.

Machines differ, and so does one machine from hour to hour. So a yardstick is measured before and after each lesson:
200 steps of the usual sorter training, as the source text's loop makes them, in seconds of CPU too. Of three rounds
the fastest counts: a neighbour can only make a round slower, never faster. Beside its seconds here, each lesson has
those that it would take on a slow machine, one that makes 68 such steps a second; these can be compared, and have the
bars: 40 s a lesson, 300 s in all. Names of lessons, as in `python -m bench.course 08 09`, measure these alone.
"""

import os
import sys
import tempfile
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

STEPS, ROUNDS, SLOW = 200, 3, 68  # of the yardstick; and how many steps a second the slow machine makes
A_LESSON, ALL = 40, 300  # seconds on the slow machine


def tree_cpu_seconds() -> float:
    """Of this process, and of those that it has started."""
    here = psutil.Process()
    return sum(sum(each.cpu_times()[:4]) for each in (here, *here.children(recursive=True)))


def machine_speed() -> float:
    """Steps of the usual sorter training in a second of CPU, on one thread, in the fastest round."""
    torch.set_num_threads(1)
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        train_until_sorted(0, STEPS, lambda step: lesson.lr_at(step, 15000, 1e-3, 500), source_loss, STEPS + 1, False)
        rounds.append(time.process_time() - began)
    return STEPS / min(rounds)


def time_lesson(path: Path, folder: Path) -> tuple[float, float]:
    """Execute a lesson; its seconds of CPU, and those on the wall, until its last cell is done."""
    began, cpu, taken = time.perf_counter(), tree_cpu_seconds(), []
    execute_lesson(
        path,
        folder,
        on_notebook_complete=lambda **_: taken.extend((tree_cpu_seconds() - cpu, time.perf_counter() - began)),
    )
    return tuple(taken)


def time_lessons(paths: Iterable[Path]) -> Iterator[tuple[str, float, float, float, float]]:
    """Of each lesson its name, seconds of CPU and on the wall, steps a second, and seconds on the slow machine."""
    machine_speed()  # the first steps of a process are slower
    before = machine_speed()
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            cpu, wall = time_lesson(path, Path(folder))
            after = machine_speed()
            pace, before = (before + after) / 2, after
            yield path.stem, cpu, wall, pace, cpu * pace / SLOW


def rows() -> list[Row]:
    names, cpu, _, _, slow = zip(*time_lessons(lessons.all_lessons()))
    what = "the whole course, all answers in, executed"
    return [
        Row(what, [sum(cpu)], "s of CPU", headline=True),
        Row("a lesson", cpu, "s of CPU", names=names, headline=True),
        Row(f"{what}, on a slow machine", [sum(slow)], "s of CPU", bar=f"at most {ALL} s"),
        Row("a lesson, on a slow machine", slow, "s of CPU", names=names, bar=f"at most {A_LESSON} s"),
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
