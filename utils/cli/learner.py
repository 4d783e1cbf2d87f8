"""Define the commands for learners: open the course, reset lessons, fetch GPT-2, check the installation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import typer

from utils.cli.app import LEARNERS, app, report_errors


@app.command(rich_help_panel=LEARNERS)
def lab(
    port: int | None = typer.Option(None, help="The first port to try.", show_default="8888"),
    no_browser: bool = typer.Option(False, "--no-browser", help="Print the address instead of opening a browser."),
) -> None:
    """Build the course and open it in JupyterLab."""
    from utils.cli import lab as jupyter

    with report_errors():
        jupyter.lab(port=port, browser=not no_browser)


@app.command(rich_help_panel=LEARNERS)
def configure() -> None:
    """Configure Jupyter for the course: lessons open as notebooks, and a short message replaces the traceback of an
    expected error. The settings apply to the whole Python environment, so use it only for the course.
    """
    from utils.cli import configure as configuring

    with report_errors():
        configuring.configure()
        typer.echo(f"Jupyter is configured for the course in {sys.prefix}.")


@app.command(rich_help_panel=LEARNERS)
def reset(
    lesson: str = typer.Argument(..., help="A lesson, such as 02 or 02_simplified_attention."),
    exercise: str | None = typer.Argument(None, help="Reset only the cell of this exercise, even if it was deleted."),
) -> None:
    """Restore a lesson, or one exercise of it, to its original state. Your version is kept in a backup."""
    from utils.cli import reset as resetting

    with report_errors():
        for sentence in resetting.reset(lesson, exercise):
            typer.echo(sentence)


@app.command(rich_help_panel=LEARNERS)
def fetch(
    what: Literal["gpt2"] = typer.Argument(..., help="What to download: gpt2 is the real GPT-2 (550 MB)."),
) -> None:
    """Download the real GPT-2 into the Hugging Face cache, where the lessons find it. No other command for learners
    uses the network.
    """
    from utils.cli import fetch as fetcher

    with report_errors():
        fetcher.fetch_gpt2(typer.echo)
        typer.echo(f"The real GPT-2 is downloaded and verified. {fetcher.next_weights_notice()}")


progress = typer.Typer(no_args_is_help=True, help="Combine records of progress.")
app.add_typer(progress, name="progress", rich_help_panel=LEARNERS)


@progress.callback()
def _group() -> None:
    """Do nothing. A callback makes Typer treat `progress` as a group, although it has only one command."""


@progress.command()
def merge(file: Path = typer.Argument(..., help="The progress file from another machine: .progress.json.")) -> None:
    """Add the progress from a file to the progress on this machine. An exercise is passed if it was passed on either
    machine.

    The task code of this machine stays, unless a transfer exercise was passed only on the other machine.
    """
    from utils.exercises.exercise import all_exercises
    from utils.learner_data import progress
    from utils.learner_data.seed import learner_seed

    with report_errors():
        merged = progress.merge_progress(file, [each.name for each in all_exercises().values() if each.member])
        new = "1 further exercise is" if merged.n_passed == 1 else f"{merged.n_passed or 'No'} further exercises are"
        typer.echo(f"{new} passed. Your progress is in {progress.progress_path()}.")
        seeds, current = {merged.own_seed, merged.other_seed} - {None}, learner_seed()
        if len(seeds) == 2 and current in seeds:  # on a hub, the user name decides
            (other,) = seeds - {current}
            typer.echo(f"Your transfer exercises use the task code {current}, not {other}.")


@app.command(rich_help_panel=LEARNERS)
def doctor() -> None:
    """Check the installation: report what is installed, which GPT-2 is used, and how to install what is missing."""
    from utils.cli import doctor as medic

    findings = medic.collect_findings()
    well, wrong, lacking, arrow = medic.status_symbols(sys.stdout.encoding)
    for finding in findings:
        mark, colour = (
            (well, None)
            if finding.is_ok
            else (wrong, typer.colors.RED)
            if finding.is_required
            else (lacking, typer.colors.YELLOW)
        )
        typer.secho(f"{mark} {finding.subject:13}{finding.result}", fg=colour)
        if finding.remedy:
            typer.secho(f"  {'':13}{arrow} {finding.remedy}", fg=colour)
    if any(finding.is_required and not finding.is_ok for finding in findings):
        raise typer.Exit(1)
