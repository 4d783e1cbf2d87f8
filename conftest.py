"""Test settings: one thread per process, no network, and no access to the user's own progress file."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).resolve().parent
OFFLINE = HERE / "tests" / "offline"
SCRATCH, PATCH = pytest.StashKey[Path](), pytest.StashKey[pytest.MonkeyPatch]()

# The slowest files, the slowest first. If they start first, no core is idle at the end while another finishes one.
LONGEST = (
    "tests/solved/test_outputs.py",  # before test_lessons.py, which uses its runs
    "tests/browser/test_lessons.py",  # with all tests in tests/browser
    "tests/checks/test_blind.py",
    "tests/book/test_book.py",
    "tests/explore/test_every_explorer.py",
    "tests/grading/hostile/test_exhausting.py",
    "tests/checks/test_exercises.py",
    "tests/grading/test_engine.py",
    "tests/grading/test_equality.py",
    "tests/instructor/test_release.py",
    "tests/training/test_gpt2_mini.py",
    "tests/instructor/test_first_contribution.py",
)

# Profile `dev` uses new examples in every run; `ci` (`make test`) uses the same examples on every machine; `fuzz`
# (`make fuzz`) searches for minutes. Add a failing example as an @example. No profile tests speed.
_SHARED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("dev", max_examples=100, **_SHARED)
settings.register_profile("ci", max_examples=300, derandomize=True, **_SHARED)
settings.register_profile("fuzz", max_examples=10_000, **_SHARED)
settings.load_profile("dev")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set the environment of this process, the workers and their kernels. It is restored at the end."""
    patch = config.stash[PATCH] = pytest.MonkeyPatch()
    scratch = config.stash[SCRATCH] = Path(tempfile.mkdtemp(prefix="coginst-tests-"))
    patch.setenv("OMP_NUM_THREADS", "1")  # before anything imports torch: workers, kernels and browsers share the cores
    patch.setenv("COURSE_PROGRESS", str(scratch / "progress.json"))
    # The lessons' outputs come from the small GPT-2, even if the real one is on this machine.
    # tests/gpt2/test_real_gpt2.py uses the real one.
    if "COURSE_GPT2_GIVEN" not in os.environ:
        patch.setenv("COURSE_GPT2_GIVEN", os.environ.get("COURSE_GPT2", ""))
    patch.setenv("COURSE_GPT2", "bundled")
    patch.setenv("COURSE_SEED", "fixed")  # the solved notebooks show the first member of each family
    if "PYTEST_XDIST_WORKER" not in os.environ:  # all workers share one list
        patch.setenv("COURSE_OUTBOUND", str(scratch / "outbound.txt"))
    # Every connection to another machine fails and is recorded.
    if OFFLINE.is_dir() and str(OFFLINE) not in sys.path:
        patch.setenv("PYTHONPATH", str(OFFLINE), prepend=os.pathsep)
        patch.syspath_prepend(str(OFFLINE))
        patch.delitem(sys.modules, "sitecustomize", raising=False)  # the system may have its own
        import_module("sitecustomize")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run if anything tried to connect to another machine, even if the error was caught."""
    record = session.config.stash[SCRATCH] / "outbound.txt"
    if record.exists():
        names = ", ".join(sorted(set(record.read_text().split())))
        print(f"\nThe course must work offline, but something tried to reach: {names}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    """Restore the environment, and remove the folder of the run."""
    config.stash[PATCH].undo()
    shutil.rmtree(config.stash[SCRATCH], ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the slowest files; the others keep their order."""
    rank = {HERE / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


def pytest_collection_finish() -> None:
    """Exclude the collected tests and modules from garbage collection, which took 6 % of the CPU time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run the tests in a browser in one worker, because each worker would start its own JupyterLab."""
    from xdist.scheduler import LoadFileScheduling

    class BrowserTogether(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "tests/browser" if nodeid.startswith("tests/browser/") else super()._split_scope(nodeid)

    return BrowserTogether(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Give each file its own environment before nbval starts the kernel, which inherits it.

    Student copies and unit tests run the checks as a learner does. Files do not share progress, so their order does
    not matter.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COURSE_CHECKS", raising=False)
        patch.delenv("PYTHONSTARTUP", raising=False)  # set by a test that starts Lab in this process
        progress = item.config.stash[SCRATCH] / f"{item.path.parent.name}-{item.path.name}.json"
        patch.setenv("COURSE_PROGRESS", str(progress))
        return (yield)
