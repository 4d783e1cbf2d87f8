"""What a graded cell calls: `grade(get_mask)`. An exercise that passes its check gets its points, any other none."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from utils.feedback.check import CheckFailed, check


def grade(*answers: Any, **values: Any) -> None:
    """Say that the exercise passes, or raise. Called as `check` is.

    nbgrader gives no points to a cell that raises or that writes to stderr, so that a warning from an answer is kept
    from it.

    Raises:
        NotImplementedError: the exercise is not attempted; a notebook shows that as a calm line.
        CheckFailed: it does not pass, with the check's own words.
    """
    with contextlib.redirect_stderr(io.StringIO()):
        report = check(*answers, **values)
    if report.status == "todo":
        raise NotImplementedError(report.name)
    if not report:
        raise CheckFailed(str(report))
    print(f"{report.name} passes.")
