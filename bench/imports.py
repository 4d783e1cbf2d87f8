"""`from utils import check` in a new Python, beside `import torch` in another, by turns, in seconds of CPU."""

from bench.measurement import Row, last_printed_line

ROUNDS = 9
OURS, THEIRS = STATEMENTS = ("from utils import check", "import torch")
TIMED = "import time; start = time.process_time(); {statement}; print(time.process_time() - start)"


def time_statement(statement: str) -> float:
    """What `statement` costs as the first thing that a new Python does."""
    return float(last_printed_line("-c", TIMED.format(statement=statement)))


def rows() -> list[Row]:
    for statement in STATEMENTS:
        time_statement(statement)  # fills the disk's cache
    ours, theirs = zip(*([time_statement(statement) for statement in STATEMENTS] for _ in range(ROUNDS)))
    return [Row(f"`{OURS}`", ours, "s of CPU", f"`{THEIRS}`", theirs, bar="at most 1.3 times", headline=True)]
