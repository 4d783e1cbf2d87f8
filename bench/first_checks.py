"""Measure the CPU time of the first check in a kernel, for each exercise. `bench.checks` runs this module and reads the
JSON that it prints.

Torch is imported once. Each check runs in a fork of the process, which has imported `check` and the lesson, and nothing
else of the course.
"""

import json
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch

from utils import check, lessons


def time_check(name: str, lesson: str, value: list | None) -> float:
    """Measure a check of the reference answer, or of a value."""
    answers = [] if value else [getattr(lessons.load_lesson(lessons.find_lesson(lesson)), name)]
    values = {name: torch.tensor(value)} if value else {}
    began = time.process_time()
    passed = check(*answers, **values)
    taken = time.process_time() - began
    assert passed, name
    return taken


def time_check_in_fork(*exercise: object) -> float:
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        return pool.submit(time_check, *exercise).result()


if __name__ == "__main__":
    torch.set_num_threads(1)
    asked, rounds = json.loads(sys.argv[1]), int(sys.argv[2])
    print(json.dumps({each[0]: statistics.median(time_check_in_fork(*each) for _ in range(rounds)) for each in asked}))
