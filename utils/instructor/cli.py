"""The `coginst` command: write lessons, build and hand out the students' copies, open JupyterLab, look after GPT-2."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Iterator, List, Optional

import typer

from utils import lessons

app = typer.Typer(help="The attention course: build it, solve it, open it.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@contextlib.contextmanager
def _errors_in_red() -> Iterator[None]:
    """One red line for each thing that is wrong, and exit code 2."""
    try:
        yield
    except PermissionError as error:
        _red(f"{error.filename or 'A file'} cannot be written or read: permission denied. Choose another place, or change its permissions.")
        raise typer.Exit(2) from None
    except (ValueError, OSError) as error:
        _red(error)
        raise typer.Exit(2) from None


def _red(error: object) -> None:
    for line in str(error).splitlines():
        typer.secho(line, fg=typer.colors.RED, err=True)


@app.command()
def new(
    lesson: str = typer.Argument(..., help="Its name, such as flash_attention; with a number in front to choose that too, 12_flash_attention."),
    title: Optional[str] = typer.Option(None, help="The heading of its page.", show_default="its name"),
    exercise: Optional[str] = typer.Option(None, help="The name of its first exercise.", show_default="most_attended"),
) -> None:
    """Start a lesson: its page, its checks and its test, with one exercise that works."""
    from utils.instructor import scaffold

    with _errors_in_red():
        made = scaffold.new(lesson, title, exercise)
        for path in made:
            typer.echo(f"Written: {path}")
        stem = made[0].stem[3:]
        typer.echo(f"Next: coginst build, coginst solve {stem}, and pytest tests/test_{stem}.py tests/test_voice.py; then make it yours.")
        typer.echo("What else make test asks of a new lesson stands in CONTRIBUTING.md, under A new lesson.")


@app.command()
def build(
    source: Optional[Path] = typer.Option(None, help="The folder with the lessons.", show_default="solutions"),
    out: Optional[Path] = typer.Option(None, help="The folder for the students' copies.", show_default="course"),
    check: bool = typer.Option(False, "--check", help="Write nothing; exit 1 and name each file that would change."),
    watch: bool = typer.Option(False, "--watch", help="Build again whenever a lesson changes, until Ctrl-C."),
) -> None:
    """Make the students' notebooks from the lessons."""
    from utils.instructor import build as builder

    if check and watch:
        _red("--check writes nothing and --watch writes again and again; choose one.")
        raise typer.Exit(2)
    with _errors_in_red():
        if watch:
            builder.watch(source, out, _report)
        elif check:
            drift = builder.check(source, out)
            for line in drift:
                typer.secho(line, fg=typer.colors.RED, err=True)
            if drift:
                _red("Run `coginst build`, and commit what it writes.")
                raise typer.Exit(1)
            typer.echo("The students' copies are what the lessons make.")
        else:
            _report(builder.build(source, out))
            _warn_of_another_checkout(source)


def _warn_of_another_checkout(source: Optional[Path]) -> None:
    """`coginst` belongs to the environment that is active, and works on the clone that this was made in, wherever it is called."""
    here = Path.cwd()
    if source is None and (here / "solutions").is_dir() and here.resolve() != lessons.ROOT.resolve():
        typer.secho(f"That was {lessons.ROOT}, to which this `coginst` belongs, and not this folder. Here, use .venv/bin/coginst, or make build.", fg=typer.colors.YELLOW, err=True)


def _report(outcome: object) -> None:
    """Say what a build did, or what stopped it."""
    if isinstance(outcome, Exception):
        _red(outcome)
        return
    for line in outcome.kept:
        typer.secho(line, fg=typer.colors.YELLOW, err=True)
    done = [f"{len(names)} files {what}" for names, what in ((outcome.written, "written"), (outcome.removed, "removed")) if names]
    typer.echo(", ".join(done).capitalize() + "." if done else "Nothing else to do." if outcome.kept else "Nothing to do: the students' copies are up to date.")


@app.command()
def solve(
    lesson: Optional[List[str]] = typer.Argument(None, help="Names or numbers of lessons; all of them when left out.", show_default=False),
) -> None:
    """Run the lessons with their answers, and keep what they print in tests/solved."""
    from utils.instructor import solved

    with _errors_in_red():
        for path in solved.solve(lesson or []):
            typer.echo(f"Written: {path}")


@app.command()
def release(
    out: Path = typer.Argument(..., metavar="OUT.zip", help="The zip to write, such as attention.zip; it unzips into a folder of that name."),
    with_solutions: Optional[List[str]] = typer.Option(None, metavar="LESSON", help="A lesson, by number or name, whose answers come along. May be given several times."),
    replace: bool = typer.Option(False, "--replace", help="Put the new zip in the place of one that is there."),
) -> None:
    """Pack what students get: a zip without the answers that works with `make lab`. Nothing is written if an answer would be in it."""
    from utils.instructor import release as packer

    with _errors_in_red():
        made = packer.release(out, with_solutions or [], replace)
        answers = f"with the answers of {', '.join(made.solved)}" if made.solved else "without answers"
        typer.echo(f"Written: {made.path}, {len(made.names)} files, {made.path.stat().st_size / 1e6:.1f} MB, {answers}.")


@app.command("export-nbgrader")
def export_nbgrader(
    out: Path = typer.Argument(..., metavar="FOLDER", help="nbgrader's course folder, made where there is none."),
    lesson: Optional[List[str]] = typer.Argument(None, help="Names or numbers of lessons; all of them when left out.", show_default=False),
    replace: bool = typer.Option(False, "--replace", help="Put the lessons in the place of assignments that differ."),
) -> None:
    """Write lessons as nbgrader assignments, with answers, into FOLDER/source; nbgrader's generate_assignment takes it from there."""
    from utils.instructor import nbgrader

    with _errors_in_red():
        done = nbgrader.export(out, lesson or [], replace)
        for line in done.kept:
            typer.secho(line, fg=typer.colors.YELLOW, err=True)
        for stem, points in done.points.items():
            typer.echo(f"{stem}: {points} point{'s' * (points != 1)}")
        typer.echo(f"Written: {out}. These hold the answers: hand out what `nbgrader generate_assignment` makes of them.")


@app.command()
def online(
    repository: Optional[str] = typer.Argument(None, metavar="OWNER/NAME", help="The clone's public name on GitHub, to be written into pyproject.toml.", show_default=False),
    notebooks: Optional[Path] = typer.Option(None, metavar="FOLDER", help="Write the notebooks that Colab opens into this folder as well."),
) -> None:
    """Make docs/online.md, whose links open the lessons in Binder and Colab."""
    from utils.instructor import online as maker

    with _errors_in_red():
        if repository:
            maker.name_it(repository)
        typer.echo(f"Written: {maker.write()}, for {maker.repository()}.")
        if notebooks:
            typer.echo(f"Written: {len(maker.write_notebooks(notebooks))} notebooks in {notebooks}.")


@app.command()
def lab(
    port: Optional[int] = typer.Option(None, help="The first port to try.", show_default="8888"),
    no_browser: bool = typer.Option(False, "--no-browser", help="Print the address, and open nothing."),
) -> None:
    """Build the course and open it in JupyterLab."""
    from utils.instructor import lab as jupyter

    with _errors_in_red():
        jupyter.lab(port=port, browser=not no_browser)


@app.command()
def fetch(what: str = typer.Argument(..., metavar="gpt2", help="What to download: gpt2, the real one, 550 MB.")) -> None:
    """Download the real GPT-2 into the Hugging Face cache, where the lessons find it. Nothing else asks the network."""
    if what != "gpt2":
        _red(f"There is nothing called {what} to fetch. There is: gpt2.")
        raise typer.Exit(2)
    from utils.instructor import fetch as fetcher

    with _errors_in_red():
        fetcher.fetch(typer.echo)
        typer.echo(f"The real GPT-2 is here and checked. {fetcher.from_now_on()}")


@app.command()
def doctor() -> None:
    """Say what this machine has for the course, which GPT-2 is in use, and what cures what is missing."""
    from utils.instructor import doctor as medic

    findings = medic.examine()
    well, wrong, lacking, arrow = medic.marks(sys.stdout.encoding)
    for finding in findings:
        mark, colour = (well, None) if finding.well else (wrong, typer.colors.RED) if finding.needed else (lacking, typer.colors.YELLOW)
        typer.secho(f"{mark} {finding.what:13}{finding.found}", fg=colour)
        if finding.cure:
            typer.secho(f"  {'':13}{arrow} {finding.cure}", fg=colour)
    if any(finding.needed and not finding.well for finding in findings):
        raise typer.Exit(1)


@app.command()
def train(
    model: str = typer.Argument(..., help="What to train: gpt2-mini, the small GPT-2 that ships with the course, or cogmodel, the toy of lesson 08."),
    out: Optional[Path] = typer.Option(None, help="The folder to write.", show_default="utils/assets/ and the model's name"),
    replace: bool = typer.Option(False, "--replace", help="Put the new one in the place of one that is there."),
    steps: Optional[int] = typer.Option(None, min=2, help="Train for fewer or more steps than the recipe says."),
    device: Optional[str] = typer.Option(None, help="cpu or cuda.", show_default="gpt2-mini: cuda if there is one; cogmodel: cpu"),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
) -> None:
    """Train a model that ships with the course, measure it, and write it with its card."""
    if model not in ("gpt2-mini", "cogmodel"):
        _red(f"There is no recipe for {model!r}; there is one for gpt2-mini and one for cogmodel.")
        raise typer.Exit(2)
    from dataclasses import replace as changed

    if model == "cogmodel":
        from utils.instructor import toy as maker
    else:
        from utils.instructor import mini as maker

    recipe = maker.Recipe() if steps is None else changed(maker.Recipe(), steps=steps)
    with _errors_in_red():
        folder = out or maker.ASSET
        measured, history = maker.make(folder, replace, recipe, device, progress=not quiet)
        typer.echo(measured.lines())
        typer.echo(f"Written in {history.seconds / 60:.1f} minutes: {folder}")


@app.command()
def mutants(
    exercise: Optional[List[str]] = typer.Argument(None, help="Names of exercises; all of them when left out.", show_default=False),
    write: bool = typer.Option(False, "--write", help="Put the table into docs/mutants.md."),
    show: str = typer.Option("wrong", help="List the mutants with this outcome: wrong, plain, equal, explained, stopped, named or endless."),
) -> None:
    """Change each reference answer in one place after the other, and count what its check says of it."""
    from utils.instructor import mutants as maker

    def tell(tally: maker.Tally) -> None:
        row = maker.numbers(tally)
        typer.echo(f"{tally.exercise:28}" + ", ".join(f"{count} {what}" for what, count in zip(maker.COLUMNS, row) if count) + f": {maker.share(row)} % told why")
        for mutant, outcome, message in tally.outcomes:
            if outcome == show:
                typer.secho(f"  {mutant.kind}: {mutant.change}\n      {message}", fg=typer.colors.RED if outcome == maker.WRONG else None)

    if show not in maker.OUTCOMES:
        _red(f"--show takes one of {', '.join(maker.OUTCOMES)}, and {show!r} was given.")
        raise typer.Exit(2)
    if write and exercise:
        _red("--write writes the table of the whole course; name no exercise with it.")
        raise typer.Exit(2)
    with _errors_in_red():
        tallies = maker.examine(exercise or [], tell)
        typer.echo(maker.table(tallies))
        if write:
            maker.write(tallies)
    if any(tally.count(maker.WRONG) for tally in tallies):
        _red("A check has a hole: a mutant above passed and is not equal to the answer.")
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
