"""Run every test with `make suite`, on all cores.

The output goes to build/suite.log.
"""

import re
import time
from pathlib import Path

from bench.measurement import Row, cpu_seconds

LOG = Path(__file__).resolve().parent.parent / "build" / "suite.log"


def rows() -> list[Row]:
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("w", encoding="utf-8") as log:
        began = time.perf_counter()
        cpu = cpu_seconds("make", "suite", capture_output=False, stdout=log)
        wall = time.perf_counter() - began
    passed = re.findall(r"(\d+) passed", LOG.read_text(encoding="utf-8"))[-1]
    what = f"test suite, {int(passed):,} tests"
    return [
        Row(f"{what}, wall time", [wall], "s", bar="15 min", headline=True),
        Row(f"{what}, CPU time", [cpu], "s"),
    ]
