"""Provide sandboxes to the grading tests. A session shares them, because starting a fork server is slow."""

from collections.abc import Iterator

import pytest

from utils.grading.judge.bubblewrap import isolation_problem
from utils.grading.judge.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """A sandbox with bubblewrap. If isolation does not work here, the tests that need it are skipped."""
    if why := isolation_problem():
        pytest.skip(why)
    with Sandbox() as box:
        yield box


@pytest.fixture(scope="session")
def unisolated_sandbox() -> Iterator[Sandbox]:
    """A sandbox without isolation."""
    with Sandbox("none") as box:
        yield box
