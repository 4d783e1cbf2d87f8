"""What the first check of a kernel takes, for each exercise, in seconds of CPU: `bench.checks` runs it and reads
the JSON that it prints.

Torch is imported once. Each check runs in a copy of the process that has imported `check` and nothing else of the
course but the lesson.
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
    """Of a check of the reference, or of a value."""
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
