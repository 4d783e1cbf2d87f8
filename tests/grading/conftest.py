"""What the tests of grading share: sandboxes that are warm, for a warm start takes longest."""

from collections.abc import Iterator

import pytest

from utils.grading.bubblewrap import isolation_problem
from utils.grading.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """A sandbox of bubblewrap's. Where there can be none, what needs it is skipped, and the reason is said."""
    if why := isolation_problem():
        pytest.skip(why)
    with Sandbox() as box:
        yield box


@pytest.fixture(scope="session")
def unisolated_sandbox() -> Iterator[Sandbox]:
    """The same without isolation."""
    with Sandbox("none") as box:
        yield box
