"""The one `app` of the `coginst` command, and how its commands tell an error."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

import typer

# Whom a command is for.
LEARNERS, INSTRUCTORS, MAINTAINERS = "For learners", "For instructors", "For maintainers"

app = typer.Typer(
    help="The attention course: build it, solve it, open it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@contextlib.contextmanager
def report_errors() -> Iterator[None]:
    """One red line for each thing that is wrong, and exit code 2."""
    try:
        yield
    except PermissionError as error:
        print_error(
            f"{error.filename or 'A file'} cannot be written or read: permission denied. Choose another place, or"
            " change its permissions."
        )
        raise typer.Exit(2) from None
    except (ValueError, OSError) as error:
        print_error(_DISKS.get(getattr(error, "errno", None), error))
        raise typer.Exit(2) from None


_FULL = (
    "The disk is full, and nothing that was there has changed. Make room, and run this again: what is done is not done"
    " twice."
)
_DISKS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL.replace("The disk is full", "You may write no more on this disk"),
    errno.EROFS: "This is to be written on a disk that can only be read. Choose another place for it.",
}


def print_error(error: object) -> None:
    """Each line of an error in red, on the error stream."""
    for line in str(error).splitlines():
        typer.secho(line, fg=typer.colors.RED, err=True)


def print_warning(line: object) -> None:
    """A line that needs attention and is no error, on the error stream."""
    typer.secho(line, fg=typer.colors.YELLOW, err=True)
