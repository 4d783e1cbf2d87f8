"""Define the Typer `app` of the `coginst` command, and report the errors that commands raise."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

import typer

from utils import lessons

# The groups of commands that `coginst --help` shows.
LEARNERS, INSTRUCTORS, MAINTAINERS = "For learners", "For instructors", "For maintainers"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"coginst {lessons.course_version()}, in {lessons.ROOT}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False,
        "--version",
        is_eager=True,
        callback=_print_version,
        help="Show the version of the course and its folder.",
    ),
) -> None:
    """The attention course. Learners need only the first group of commands."""


@contextlib.contextmanager
def report_errors() -> Iterator[None]:
    """Turn an expected error into red lines on stderr and exit status 2."""
    try:
        yield
    except PermissionError as error:
        print_error(
            f"{error.filename or 'A file'} cannot be read or written: permission denied. Choose another place, or"
            " change"
            " its permissions."
        )
        raise typer.Exit(2) from None
    except OSError as error:
        named = f"{error.filename} cannot be read or written: {error.strerror}. Choose another place."
        print_error(_DISKS.get(error.errno or 0, named if error.filename and error.strerror else error))
        raise typer.Exit(2) from None
    except ValueError as error:
        print_error(error)
        raise typer.Exit(2) from None


_FULL = (
    "The disk is full. Existing files are unchanged. Free some space and run the command again: finished work is not"
    " repeated."
)
_DISKS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL.replace("The disk is full", "Your quota on this disk is used up"),
    errno.EROFS: "The output folder is on a read-only disk. Choose another folder.",
}


def print_error(error: object) -> None:
    """Print each line of an error in red on stderr."""
    for line in str(error).splitlines():
        typer.secho(line, fg=typer.colors.RED, err=True)


def print_warning(line: object) -> None:
    """Print a warning in yellow on stderr."""
    typer.secho(line, fg=typer.colors.YELLOW, err=True)
