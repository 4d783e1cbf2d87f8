"""Run `from utils import check` in a new Python process, and `import torch` in another new process."""

from bench.measurement import Row, last_printed_line

ROUNDS = 9
OURS, THEIRS = STATEMENTS = ("from utils import check", "import torch")
TIMED = "import time; start = time.process_time(); {statement}; print(time.process_time() - start)"


def time_statement(statement: str) -> float:
    """Return the CPU time of `statement` as the first statement in a new Python."""
    return float(last_printed_line("-c", TIMED.format(statement=statement)))


def rows() -> list[Row]:
    for statement in STATEMENTS:
        time_statement(statement)  # fill the disk cache
    ours, theirs = zip(*([time_statement(statement) for statement in STATEMENTS] for _ in range(ROUNDS)))
    return [Row(f"`{OURS}`", ours, "s", f"`{THEIRS}`", theirs, bar="1.3", headline=True)]
