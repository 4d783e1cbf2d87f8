"""`from utils import check` beside `import torch`, each in fresh processes, by turns. The course asks for at most 1.3
times."""

import statistics
import subprocess
import sys
from pathlib import Path

ROUNDS = 15
BAR = 1.3
ROOT = Path(__file__).resolve().parent.parent
TIMED = "import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"


def seconds(statement: str) -> float:
    """What `statement` costs as the first thing that a new Python does."""
    code = TIMED.format(statement=statement)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    return float(done.stdout)


def main() -> None:
    statements = ("import torch", "from utils import check")
    for statement in statements:
        seconds(statement)  # fills the disk's cache
    pairs = [[seconds(statement) for statement in statements] for _ in range(ROUNDS)]
    torch, check = (statistics.median(column) for column in zip(*pairs))
    ratio = statistics.median(ours / theirs for theirs, ours in pairs)
    print(f"import torch             {torch:6.3f} s  (median of {ROUNDS})")
    print(f"from utils import check  {check:6.3f} s")
    print(f"ratio                    {ratio:6.2f}    (at most {BAR})")


if __name__ == "__main__":
    main()
