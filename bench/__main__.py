"""Measure the course, and write docs/bench.md and the table of README from the numbers: `python -m bench`.

python -m bench                  # everything except the long ones: source_loop, suite, grading_class, hub, learning,
                                 # gpu
python -m bench build gpt2       # only these; the other results stay as they are
python -m bench --try imports    # print the results without writing them
python -m bench --render         # write both pages without measuring
"""

import argparse
import datetime
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from bench import report
from bench.measurement import Row, describe_machine, run_benchmark


def run_in_subprocess(name: str) -> list[Row]:
    """Run a benchmark in its own process, so that memory left by other benchmarks has no effect."""
    # Use one thread, as the test suite does, and the bundled GPT-2, but no progress file of a learner.
    os.environ |= {"OMP_NUM_THREADS": "1", "COURSE_GPT2": "bundled", "COURSE_PROGRESS": "off"}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(run_benchmark, name).result()


def write_results(measured: dict) -> None:
    for path, text in report.render_files(measured).items():
        path.write_text(text, encoding="utf-8")


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("names", nargs="*", metavar="name", help=", ".join(report.ALL))
    ask.add_argument("--try", dest="only_try", action="store_true", help="write nothing")
    ask.add_argument("--render", action="store_true", help="measure nothing")
    given = ask.parse_args()
    if unknown := set(given.names) - set(report.ALL):
        ask.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(report.ALL)}")
    measured, load, failed = report.load_results(), round(os.getloadavg()[0], 1), []
    for name in [] if given.render else given.names or report.BENCHMARKS:
        print(f"== {name}", flush=True)
        began = time.perf_counter()
        try:
            rows = run_in_subprocess(name)
        except Exception as error:  # continue with the other benchmarks
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            failed.append(name)
            continue
        for row in rows:
            print(" | ".join(report.table_cells(row)))
        print(f"{time.perf_counter() - began:.0f} s", flush=True)
        today = datetime.date.today().isoformat()
        measured[name] = {
            "date": today,
            "machine": describe_machine(),
            "load": load,
            "rows": [report.row_to_json(row) for row in rows],
        }
        if not given.only_try:
            write_results(measured)
    if given.render:
        write_results(measured)
    if failed:
        sys.exit(f"failed, and left as they were: {', '.join(failed)}")


if __name__ == "__main__":
    main()
