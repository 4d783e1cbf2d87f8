"""Define `grade`, which graded cells call: `grade(get_mask)`. An exercise gets points only if it passes its check."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from utils.feedback.check import CheckFailed, check


def grade(*answers: Any, **values: Any) -> None:
    """Print a message if the exercise passes. Otherwise, raise an error. The arguments are those of `check`.

    nbgrader gives no points to a cell that raises an error or writes to stderr, so the answer's stderr is discarded.

    Raises:
        NotImplementedError: the exercise is not attempted. A notebook shows this error as a single line.
        CheckFailed: the exercise does not pass. The message is the message of the check.
    """
    with contextlib.redirect_stderr(io.StringIO()):
        report = check(*answers, **values)
    if report.status == "todo":
        raise NotImplementedError(report.name)
    if not report:
        raise CheckFailed(str(report))
    print(f"{report.name} passes.")
