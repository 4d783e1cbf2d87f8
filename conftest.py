"""How the suite runs: on one thread per worker, with the network cut, and away from the user's own progress."""

import os
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    # Set before anything imports torch: workers share the cores, and kernels inherit it.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# This process, the workers and the kernels that they start: whatever reaches for another machine fails, and is listed.
OFFLINE = str(Path(__file__).resolve().parent / "tests" / "offline")
if OFFLINE not in sys.path:
    sys.path.append(OFFLINE)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), OFFLINE]))
if os.path.isdir(OFFLINE):
    import sitecustomize  # noqa: F401  (does its work when it is imported)

# Lessons print what the small GPT-2 says, whatever is on this machine. What only the real one does is tested where it is.
_real_gpt2 = os.environ.get("COURSE_GPT2")
os.environ["COURSE_GPT2"] = "bundled"

_scratch: Path | None = None


def pytest_configure() -> None:
    """Keep what checks record, and what was asked of the network, in a folder that goes with the run."""
    global _scratch
    _scratch = Path(tempfile.mkdtemp(prefix="coginst-tests-"))
    os.environ["COURSE_PROGRESS"] = str(_scratch / "progress.json")
    if "PYTEST_XDIST_WORKER" not in os.environ:  # one list for all workers
        os.environ["COURSE_OUTBOUND"] = str(_scratch / "outbound.txt")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run in which anything tried to leave this machine has failed, even if the error was swallowed."""
    asked = _scratch / "outbound.txt" if _scratch else None
    if asked and asked.exists():
        print(f"\nThe course must work offline, and something asked for: {', '.join(sorted(set(asked.read_text().split())))}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure() -> None:
    """Remove that folder."""
    if _scratch:
        shutil.rmtree(_scratch, ignore_errors=True)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """The tests of a GPU, of the real nbgrader and of the real GPT-2 exist only where these are."""
    if collection_path.parent.name == "gpu" and collection_path.suffix == ".py":
        import torch

        return not torch.cuda.is_available()
    if collection_path.parent.name == "grader" and collection_path.suffix == ".py":
        return find_spec("nbgrader") is None
    if collection_path.parent.name == "real" and collection_path.suffix == ".py":
        return not _real_one_is_here()
    return None


def _real_one_is_here() -> bool:
    from utils.gpt2.sources import in_cache, resolve

    given = _real_gpt2 if _real_gpt2 and _real_gpt2 != "bundled" else in_cache()[0]
    return given is not None and resolve(given).n_layers == 12


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Compare what cells print; solved notebooks keep text only, and pictures differ between machines."""
    if hasattr(collector, "skip_compare"):
        collector.skip_compare = (*collector.skip_compare, "text/html", "application/vnd.jupyter.widget-view+json")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give each file an environment of its own, before nbval starts its kernel (it inherits this one).

    A solved notebook must pass every check; a student's copy and a unit test meet the checks as a learner does.
    No file sees what another has passed, so the order of the files means nothing.
    """
    solved = item.path.suffix == ".ipynb" and item.path.parent.name == "solved"
    if solved:
        os.environ["COURSE_CHECKS"] = "strict"
    else:
        os.environ.pop("COURSE_CHECKS", None)
    os.environ["COURSE_PROGRESS"] = str(_scratch / f"{item.path.parent.name}-{item.path.name}.json")
    real = item.path.parent.name == "real"
    os.environ["COURSE_GPT2"] = (_real_gpt2 or "") if real else "bundled"
