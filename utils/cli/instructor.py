"""What instructors and maintainers call: write lessons, build and hand them out, train what ships, try the checks."""

from __future__ import annotations

from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from utils import lessons
from utils.cli.app import INSTRUCTORS, MAINTAINERS, app, print_error, print_warning, report_errors

if TYPE_CHECKING:
    from utils.instructor.build import BuildSummary

Outcome = Literal["wrong", "plain", "equal", "explained", "stopped", "named", "endless"]  # as mutants.OUTCOMES


@app.command(rich_help_panel=MAINTAINERS)
def new(
    lesson: str = typer.Argument(
        ..., help="Its name, such as flash_attention; with a number in front to choose that too, 12_flash_attention."
    ),
    title: str | None = typer.Option(None, help="The heading of its page.", show_default="its name"),
    exercise: str | None = typer.Option(None, help="The name of its first exercise.", show_default="most_attended"),
) -> None:
    """Start a lesson: its page, its checks and its test, with one exercise that works."""
    from utils.instructor import scaffold

    with report_errors():
        made = scaffold.create_lesson(lesson, title, exercise)
        for path in made:
            typer.echo(f"Written: {path}")
        stem = made[0].stem[3:]
        typer.echo(
            f"Next: coginst build, coginst solve {stem}, and pytest tests/course/test_{stem}.py"
            f" tests/course/test_voice.py tests/checks -k '{stem} or {exercise or scaffold.EXERCISE}'; then make it"
            " yours."
        )
        typer.echo("What else make test asks of a new lesson stands in CONTRIBUTING.md, under A new lesson.")


@app.command(rich_help_panel=INSTRUCTORS)
def build(
    source: Path | None = typer.Option(None, help="The folder with the lessons.", show_default="solutions"),
    out: Path | None = typer.Option(None, help="The folder for the students' copies.", show_default="course"),
    check: bool = typer.Option(False, "--check", help="Write nothing; exit 1 and name each file that would change."),
    watch: bool = typer.Option(False, "--watch", help="Build again whenever a lesson changes, until Ctrl-C."),
) -> None:
    """Make the students' notebooks from the lessons."""
    from utils.instructor import build as builder

    if check and watch:
        print_error("--check writes nothing and --watch writes again and again; choose one.")
        raise typer.Exit(2)
    with report_errors():
        if watch:
            builder.watch(source, out, _print_build_summary)
        elif check:
            drift = builder.find_drift(source, out)
            if drift:
                print_error("\n".join(drift))
                print_error("Run `coginst build`, and commit what it writes.")
                raise typer.Exit(1)
            typer.echo("The students' copies are what the lessons make.")
        else:
            _print_build_summary(builder.build(source, out))
            _warn_of_another_checkout(source)


def _warn_of_another_checkout(source: Path | None) -> None:
    """`coginst` belongs to the environment that is active, and works on the clone that this was made in, wherever it is
    called."""
    here = Path.cwd()
    if source is None and (here / "solutions").is_dir() and here.resolve() != lessons.ROOT.resolve():
        print_warning(
            f"That was {lessons.ROOT}, to which this `coginst` belongs, and not this folder. Here, use"
            " .venv/bin/coginst, or make build."
        )


def _print_build_summary(outcome: BuildSummary | Exception) -> None:
    """Say what a build did, or what stopped it."""
    if isinstance(outcome, Exception):
        print_error(outcome)
        return
    for line in outcome.kept:
        print_warning(line)
    counted = ((outcome.written, "written"), (outcome.removed, "removed"))
    done = [f"{len(names)} files {what}" for names, what in counted if names]
    if done:
        typer.echo(", ".join(done).capitalize() + ".")
    elif outcome.kept:
        typer.echo("Nothing else to do.")
    else:
        typer.echo("Nothing to do: the students' copies are up to date.")


@app.command(rich_help_panel=MAINTAINERS)
def solve(
    lesson: list[str] | None = typer.Argument(
        None, help="Names or numbers of lessons; all of them when left out.", show_default=False
    ),
) -> None:
    """Run the lessons with their answers, and keep what they print in tests/solved."""
    from utils.instructor import solved_notebooks

    with report_errors():
        for path in solved_notebooks.solve_lessons(lesson or []):
            typer.echo(f"Written: {path}")


@app.command(rich_help_panel=INSTRUCTORS)
def release(
    out: Path = typer.Argument(
        ..., metavar="OUT.zip", help="The zip to write, such as attention.zip; it unzips into a folder of that name."
    ),
    with_solutions: list[str] | None = typer.Option(
        None,
        metavar="LESSON",
        help="A lesson, by number or name, whose answers come along. May be given several times.",
    ),
    book: Path | None = typer.Option(
        None, metavar="FOLDER", help="A web site that `coginst book` made, such as build/book, to come along."
    ),
    replace: bool = typer.Option(False, "--replace", help="Put the new zip in the place of one that is there."),
) -> None:
    """Pack what students get: a zip without the answers that works with `make lab`. Nothing is written if an answer
    would be in it."""
    from utils.instructor import release as packer

    with report_errors():
        made = packer.release(out, with_solutions or [], replace, book=book)
        answers = f"with the answers of {', '.join(made.solved_lessons)}" if made.solved_lessons else "without answers"
        typer.echo(
            f"Written: {made.path}, {len(made.file_names)} files, {made.path.stat().st_size / 1e6:.1f} MB, {answers}."
        )
        for name in made.untracked_files:
            print_warning(f"Left out, because git does not track it: {name}")


@app.command("export-nbgrader", rich_help_panel=INSTRUCTORS)
def export_nbgrader(
    out: Path = typer.Argument(..., metavar="FOLDER", help="nbgrader's course folder, made where there is none."),
    lesson: list[str] | None = typer.Argument(
        None, help="Names or numbers of lessons; all of them when left out.", show_default=False
    ),
    replace: bool = typer.Option(False, "--replace", help="Put the lessons in the place of assignments that differ."),
) -> None:
    """Write lessons as nbgrader assignments, with answers, into FOLDER/source; nbgrader's generate_assignment takes it
    from there."""
    from utils.instructor.nbgrader import export as nbgrader

    with report_errors():
        done = nbgrader.export_lessons(out, lesson or [], replace)
        for line in done.kept:
            print_warning(line)
        for stem, points in done.points.items():
            typer.echo(f"{stem}: {points} point{'s' * (points != 1)}")
        typer.echo(
            f"Written: {out}. These hold the answers: hand out what `nbgrader generate_assignment` makes of them."
        )


@app.command(rich_help_panel=INSTRUCTORS)
def online(
    repository: str | None = typer.Argument(
        None,
        metavar="OWNER/NAME",
        help="The clone's public name on GitHub, to be written into pyproject.toml.",
        show_default=False,
    ),
    notebooks: Path | None = typer.Option(
        None, metavar="FOLDER", help="Write the notebooks that Colab opens into this folder as well."
    ),
) -> None:
    """Make docs/online.md, whose links open the lessons in Binder and Colab."""
    from utils.instructor import online_links as maker

    with report_errors():
        if repository:
            maker.set_repository_name(repository)
        typer.echo(f"Written: {maker.write_links_page()}, for {maker.repository_name()}.")
        if notebooks:
            typer.echo(f"Written: {len(maker.write_colab_notebooks(notebooks))} notebooks in {notebooks}.")


@app.command(rich_help_panel=MAINTAINERS)
def train(
    model: Literal["gpt2-mini", "cogmodel"] = typer.Argument(
        ...,
        help="What to train: gpt2-mini, the small GPT-2 that ships with the course, or cogmodel, the toy of lesson 08.",
    ),
    out: Path | None = typer.Option(
        None, help="The folder to write.", show_default="utils/assets/ and the model's name"
    ),
    replace: bool = typer.Option(False, "--replace", help="Put the new one in the place of one that is there."),
    steps: int | None = typer.Option(None, min=2, help="Train for fewer or more steps than the recipe says."),
    device: str | None = typer.Option(
        None, help="cpu or cuda.", show_default="gpt2-mini: cuda if there is one; cogmodel: cpu"
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
) -> None:
    """Train a model that ships with the course, measure it, and write it with its card."""
    if model == "cogmodel":
        from utils.training import cogmodel as maker
        from utils.training.cogmodel import CogModelRecipe as Recipe
    else:
        from utils.training import gpt2_mini as maker
        from utils.training.gpt2_mini import GPT2MiniRecipe as Recipe

    recipe = Recipe() if steps is None else changed(Recipe(), steps=steps)
    with report_errors():
        folder = out or maker.ASSET
        measured, history = maker.train_and_publish(folder, replace, recipe, device, progress=not quiet)
        typer.echo(measured.summary_text())
        typer.echo(f"Written in {history.seconds / 60:.1f} minutes: {folder}")


@app.command(rich_help_panel=MAINTAINERS)
def mutants(
    exercise: list[str] | None = typer.Argument(
        None, help="Names of exercises; all of them when left out.", show_default=False
    ),
    write: bool = typer.Option(False, "--write", help="Put the table into docs/mutants.md."),
    show: Outcome = typer.Option("wrong", help="List the mutants with this outcome."),
) -> None:
    """Change each reference answer in one place after the other, and count what its check says of it."""
    from utils.instructor import mutation_testing as maker

    def tell(tally: maker.MutantTally) -> None:
        row = maker.table_row(tally)
        typer.echo(
            f"{tally.exercise:28}"
            + ", ".join(f"{count} {what}" for what, count in zip(maker.COLUMNS, row) if count)
            + f": {maker.explained_percent(row)} % told why"
        )
        for mutant, outcome, message in tally.outcomes:
            if outcome == show:
                typer.secho(
                    f"  {mutant.kind}: {mutant.change}\n      {message}",
                    fg=typer.colors.RED if outcome == maker.WRONG else None,
                )

    if write and exercise:
        print_error("--write writes the table of the whole course; name no exercise with it.")
        raise typer.Exit(2)
    with report_errors():
        tallies = maker.run_mutants(exercise or [], tell)
        typer.echo(maker.format_table(tallies))
        if write:
            maker.write_table(tallies)
    if any(tally.count(maker.WRONG) for tally in tallies):
        print_error("A check has a hole: a mutant above passed and is not equal to the answer.")
        raise typer.Exit(1)


@app.command(rich_help_panel=INSTRUCTORS)
def misconception(
    exercise: str = typer.Argument(..., help="The exercise's name, such as softmax."),
    answer: Path = typer.Argument(..., exists=True, dir_okay=False, help="A .py file with a wrong answer to it."),
    id: str | None = typer.Option(None, help="Write it into the checks under this id, such as softmax-of-columns."),
    message: str | None = typer.Option(None, help="What its author is to read.", show_default="a TODO"),
    isolation: Literal["bwrap", "none"] = typer.Option(
        "bwrap", help="How the answer is kept apart from everything else; none is for one that you trust."
    ),
) -> None:
    """Show what a learner reads who answers so; with --id, make it a misconception with words of its own."""
    from utils.grading.bubblewrap import UNPROTECTED
    from utils.grading.one_answer import report_answer
    from utils.instructor import misconception as maker
    from utils.instructor.answers import AnswerFactory, find_exercise

    with report_errors():
        asked = find_exercise(exercise)
        source = answer.read_text(encoding="utf-8")
        made = maker.make_stub(asked, source, id, message or maker.TODO) if id else None
        if isolation == "none":
            print_warning(UNPROTECTED)
        report = (
            report_answer(exercise, source)
            if isolation == "bwrap"
            else AnswerFactory.from_exercise(asked).judge(source)
        )
        typer.echo(_escape_terminal(str(report)))
        if report:
            print_error("This answer passes: it needs a case or a property that tells it from a right one first.")
            raise typer.Exit(1)
        if made is None:
            typer.echo(f"\nA misconception of its own: coginst misconception {exercise} {answer} --id what-is-wrong")
            return
        path = lessons.ROOT / "utils" / "checks" / f"{asked.lesson}.py"
        needs = maker.add_stub(path, asked, made)
        typer.echo(f"\nWritten into {path}: {id}")
        print_warning("Read it there before anything runs: from now on that code is the course's own.")
        if needs:
            print_warning(f"Names of the lesson that the checks do not have: {', '.join(needs)}")
        if not message:
            print_warning("Say there, in the place of TODO, what is wrong.")
        typer.echo(f"Next: make format, pytest tests/checks -k {exercise}, and to use it on a class: coginst grade")


def _escape_terminal(text: str) -> str:
    """A text that a student had a hand in, without what a terminal would obey."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


@app.command(rich_help_panel=MAINTAINERS)
def answers(
    files: list[Path] = typer.Argument(..., exists=True, dir_okay=False, help="Files of answers, see CONTRIBUTING.md."),
    write: bool = typer.Option(False, "--write", help="Write each verdict into the file, beside its answer."),
    quiet: bool = typer.Option(False, "--quiet", help="The counts only."),
) -> None:
    """Check files of answers that were meant to be wrong or right, and count what is said of them."""
    from collections import Counter

    from utils.instructor.answers import format_verdict, judge_all, read_answers, write_answers

    counts: Counter[str] = Counter()
    with report_errors():
        for file in files:
            tried = read_answers(file)
            reports = judge_all(tried)
            for answer, report in zip(tried, reports):
                counts[f"{answer.kind}: {report.reason if answer.kind == 'wrong' else report.status}"] += 1
                if not quiet:
                    typer.echo(
                        f"{answer.exercise} {answer.kind}: {answer.description}\n    {format_verdict(report)}: {report.message}"
                    )
            if write:
                write_answers(file, [changed(a, verdict=format_verdict(r)) for a, r in zip(tried, reports)])
    typer.echo(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
