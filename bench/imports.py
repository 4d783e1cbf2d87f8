"""`from utils import check` in a new Python, beside `import torch` in another, by turns, in seconds of CPU."""

from bench.rows import Row, printed

ROUNDS = 9
OURS, THEIRS = STATEMENTS = ("from utils import check", "import torch")
TIMED = "import time; start = time.process_time(); {statement}; print(time.process_time() - start)"


def seconds(statement: str) -> float:
    """What `statement` costs as the first thing that a new Python does."""
    return float(printed("-c", TIMED.format(statement=statement)))


def rows() -> list[Row]:
    for statement in STATEMENTS:
        seconds(statement)  # fills the disk's cache
    ours, theirs = zip(*([seconds(statement) for statement in STATEMENTS] for _ in range(ROUNDS)))
    return [Row(f"`{OURS}`", ours, "s of CPU", f"`{THEIRS}`", theirs, bar="at most 1.3 times", headline=True)]
