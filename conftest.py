"""How the suite runs: on one thread a process, with the network cut, and away from the user's own progress."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).resolve().parent
OFFLINE = HERE / "tests" / "offline"
SCRATCH, PATCH = pytest.StashKey[Path](), pytest.StashKey[pytest.MonkeyPatch]()

# What takes longest, the longest first: with these begun at once, no core idles at the end while another finishes one.
LONGEST = (
    "tests/browser/test_lessons.py",
    "tests/checks/test_exercises.py",
    "tests/explore/test_every_explorer.py",
    "tests/book/test_book.py",
    "tests/solved/11_gram_attention.ipynb",
    "tests/training/test_gpt2_mini.py",
    "tests/solved/10_icl_regression.ipynb",
    "tests/solved/08_toy_transformer.ipynb",
    "tests/solved/09_abc_sorter.ipynb",
    "tests/browser/test_tokens.py",
    "tests/browser/test_notebook7.py",
    "tests/browser/test_lab.py",
)

# `dev` tries something new in every run, `ci` (which `make test` takes) the same in every run on every machine, and
# `fuzz` (`make fuzz`) looks for minutes; what it finds becomes an @example. None of them is about speed.
_SHARED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("dev", max_examples=100, **_SHARED)
settings.register_profile("ci", max_examples=300, derandomize=True, **_SHARED)
settings.register_profile("fuzz", max_examples=10_000, **_SHARED)
settings.load_profile("dev")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set what this process, the workers and the kernels that they start inherit; all of it is put back at the end."""
    patch = config.stash[PATCH] = pytest.MonkeyPatch()
    scratch = config.stash[SCRATCH] = Path(tempfile.mkdtemp(prefix="coginst-tests-"))
    patch.setenv("OMP_NUM_THREADS", "1")  # before anything imports torch: workers, kernels and browsers share the cores
    patch.setenv("COURSE_PROGRESS", str(scratch / "progress.json"))
    # Lessons print what the small GPT-2 says, whatever is on this machine; tests/gpt2/test_real_gpt2.py asks for the
    # other one.
    if "COURSE_GPT2_GIVEN" not in os.environ:
        patch.setenv("COURSE_GPT2_GIVEN", os.environ.get("COURSE_GPT2", ""))
    patch.setenv("COURSE_GPT2", "bundled")
    if "PYTEST_XDIST_WORKER" not in os.environ:  # one list for all workers
        patch.setenv("COURSE_OUTBOUND", str(scratch / "outbound.txt"))
    # Whatever reaches for another machine fails, and is listed.
    if OFFLINE.is_dir() and str(OFFLINE) not in sys.path:
        patch.setenv("PYTHONPATH", str(OFFLINE), prepend=os.pathsep)
        patch.syspath_prepend(str(OFFLINE))
        patch.delitem(sys.modules, "sitecustomize", raising=False)  # a system may have one of its own
        import_module("sitecustomize")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run in which anything tried to leave this machine has failed, even if the error was swallowed."""
    asked = session.config.stash[SCRATCH] / "outbound.txt"
    if asked.exists():
        names = ", ".join(sorted(set(asked.read_text().split())))
        print(f"\nThe course must work offline, and something asked for: {names}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    """Put the environment back, and remove the run's folder."""
    config.stash[PATCH].undo()
    shutil.rmtree(config.stash[SCRATCH], ignore_errors=True)


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Compare what cells print; solved notebooks keep text only, and pictures differ between machines."""
    if hasattr(collector, "skip_compare"):
        collector.skip_compare = (*collector.skip_compare, "text/html", "application/vnd.jupyter.widget-view+json")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest; the others keep their order."""
    rank = {HERE / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Give each file an environment of its own, before nbval starts its kernel (it inherits this one).

    A solved notebook must pass every check; a student's copy and a unit test meet the checks as a learner does.
    No file sees what another has passed, so the order of the files means nothing.
    """
    with pytest.MonkeyPatch.context() as patch:
        if item.path.suffix == ".ipynb" and item.path.parent.name == "solved":
            patch.setenv("COURSE_CHECKS", "strict")
        else:
            patch.delenv("COURSE_CHECKS", raising=False)
        patch.delenv("PYTHONSTARTUP", raising=False)  # a test that starts Lab in this process leaves it behind
        progress = item.config.stash[SCRATCH] / f"{item.path.parent.name}-{item.path.name}.json"
        patch.setenv("COURSE_PROGRESS", str(progress))
        return (yield)
