"""Provide the fixtures that several tests of releases use."""

import pytest

from tests.instructor.small_course import write_small_course


@pytest.fixture
def small(tmp_path):
    """Return a course with one lesson, in its own git repository."""
    return write_small_course(tmp_path / "small")
