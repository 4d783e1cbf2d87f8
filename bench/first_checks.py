"""Measure the CPU times of `import torch` and of the first check in a kernel. `bench.checks` runs this module for each
exercise and reads the JSON that it prints: both times in seconds.

Torch is imported once. Each check runs in a fork of the process, which has imported `check` and the lesson, and nothing
else of the course.
"""

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

began = time.process_time()
import torch  # noqa: E402

IMPORT_SECONDS = time.process_time() - began

from utils import check, lessons  # noqa: E402


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
    print(json.dumps([IMPORT_SECONDS, min(time_check_in_fork(*asked) for _ in range(rounds))]))
