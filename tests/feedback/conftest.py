"""Share the small exercises with the tests of `utils.exercises`."""

from tests.exercises.conftest import affine, declare_exercise, double, pair  # noqa: F401
