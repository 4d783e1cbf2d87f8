"""How long the course takes to execute: every lesson with its answers, from the start of its kernel to its last cell.

Machines differ, and so does one machine from hour to hour. So a yardstick is timed before each lesson: 200 steps of the
usual sorter training, as the source text's loop makes them, on one thread. Beside its seconds here, each lesson has
those that it would take on a slow machine, one that makes 68 such steps a second; these can be compared, and have the
bars: 40 s a lesson, 300 s in all. Names of lessons, as in `python bench/course.py 08 09`, time these alone.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ["COURSE_PROGRESS"] = "off"
os.environ.setdefault("COURSE_GPT2", "bundled")

from bench.abc_sorter import every_token, lesson, until_sorted
from utils import lessons
from utils.instructor.solved import solve

STEPS, SLOW = 200, 68  # steps of the yardstick, and how many a second the slow machine makes
A_LESSON, ALL = 40, 300  # seconds on the slow machine


def yardstick() -> float:
    """Steps of the usual sorter training a second, on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    seconds, _ = until_sorted(
        0, STEPS, lambda step: lesson.lr_at(step, 15000, 1e-3, 500), every_token, STEPS + 1, False
    )
    torch.set_num_threads(threads)
    return STEPS / seconds


def main() -> None:
    paths = [lessons.find(name) for name in sys.argv[1:]] or lessons.all_lessons()
    here = slow = 0.0
    yardstick()  # the first steps of a process are slower
    print(f"{'':<28}{'here':>9}{'steps/s':>10}{'slow machine':>15}")
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            pace, began = yardstick(), time.perf_counter()
            solve([path.stem], out=folder)
            seconds = time.perf_counter() - began
            there = seconds * pace / SLOW
            here, slow = here + seconds, slow + there
            over = f"   over {A_LESSON}" if there > A_LESSON else ""
            print(f"{path.stem:<28}{seconds:>7.1f} s{pace:>10.0f}{there:>13.1f} s{over}", flush=True)
    print(f"{'all of them':<28}{here:>7.1f} s{'':>10}{slow:>13.1f} s   bar of the course: {ALL}")


if __name__ == "__main__":
    main()
