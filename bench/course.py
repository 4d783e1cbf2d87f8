"""How long the course takes to execute: every lesson with its answers, from the start of its kernel to its last cell.

The course asks for at most 60 s a lesson and 5 minutes in all, on two cores.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ["COURSE_PROGRESS"] = "off"
os.environ.setdefault("COURSE_GPT2", "bundled")

from utils import lessons
from utils.instructor.solved import solve


def main() -> None:
    total = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for path in lessons.all_lessons():
            began = time.perf_counter()
            solve([path.stem], out=folder)
            seconds = time.perf_counter() - began
            total += seconds
            print(f"{path.stem:<28}{seconds:>7.1f} s{'   over 60' if seconds > 60 else ''}", flush=True)
    print(f"{'the whole course':<28}{total:>7.1f} s (bar 300)")


if __name__ == "__main__":
    main()
