"""Define the commands for instructors: write, build and release lessons, train models, test the checks."""

from __future__ import annotations

from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from utils import lessons
from utils.cli.app import INSTRUCTORS, MAINTAINERS, app, print_error, print_warning, report_errors

if TYPE_CHECKING:
    from utils.instructor.build import BuildSummary

Outcome = Literal[
    "wrong", "plain", "equal", "explained", "stopped", "named", "endless"
]  # the same as mutation_testing.OUTCOMES


@app.command(rich_help_panel=MAINTAINERS)
def new(
    lesson: str = typer.Argument(
        ...,
        help="The name of the new lesson, such as flash_attention, or with its number: 12_flash_attention. With"
        " --exercise, also the name or number of an existing lesson.",
    ),
    title: str | None = typer.Option(None, help="The title of the lesson.", show_default="its name"),
    exercise: str | None = typer.Option(None, help="The name of the exercise.", show_default="most_attended"),
) -> None:
    """Create a lesson (page, checks, test and one working exercise), or add an exercise to an existing lesson."""
    from utils.instructor import scaffold

    with report_errors():
        existing = [path.stem for path in lessons.all_lessons() if lesson in (path.stem, path.stem[:2], path.stem[3:])]
        if lesson.isdigit() and not existing:
            lessons.find_lesson(lesson)  # raises an error that names the lessons
        if existing and exercise:
            for path in scaffold.add_exercise(lesson, exercise):
                typer.echo(f"Changed: {path}")
            ready = f"coginst ready {existing[0][:2]} {exercise}"
            typer.echo(f"Next: replace the example with your own exercise, and run make format and {ready}.")
            return
        paths = scaffold.create_lesson(lesson, title, exercise)
        for path in paths:
            typer.echo(f"Written: {path}")
        stem = paths[0].stem[3:]
        typer.echo(
            f"Next: coginst build, coginst solve {stem}, and pytest tests/course/test_{stem}.py"
            f" tests/course/test_voice.py tests/checks -k '{stem} or {exercise or scaffold.EXERCISE}'. Then"
            " replace the example with your own text and exercises."
        )
        typer.echo('CONTRIBUTING.md, section "A new lesson", lists the other pages that make test checks.')


@app.command(rich_help_panel=INSTRUCTORS)
def build(
    source: Path | None = typer.Option(None, help="The folder with the lessons.", show_default="solutions"),
    out: Path | None = typer.Option(None, help="The folder for the student copies.", show_default="course"),
    check: bool = typer.Option(
        False, "--check", help="Write nothing. Name each file that would change, and exit with status 1."
    ),
    watch: bool = typer.Option(False, "--watch", help="Build again whenever a lesson changes, until Ctrl-C."),
) -> None:
    """Build the student notebooks from the lessons."""
    from utils.instructor import build as builder

    if check and watch:
        print_error(
            "--check and --watch cannot be combined: --check writes nothing, and --watch writes on every change."
        )
        raise typer.Exit(2)
    with report_errors():
        if watch:
            builder.watch(source, out, _print_build_summary)
        elif check:
            drift = builder.find_drift(source, out)
            if drift:
                print_error("\n".join(drift))
                print_error("Run `coginst build` and commit the files that it writes.")
                raise typer.Exit(1)
            typer.echo("The student copies are up to date.")
        else:
            _print_build_summary(builder.build(source, out))
            _warn_of_another_checkout(source)


def _warn_of_another_checkout(source: Path | None) -> None:
    """Warn if the current folder and the active environment belong to different clones.

    `coginst` always works on the clone that its environment was installed from.
    """
    here = Path.cwd()
    if source is None and (here / "solutions").is_dir() and here.resolve() != lessons.ROOT.resolve():
        print_warning(
            f"This `coginst` belongs to {lessons.ROOT} and has built that clone, not the current folder. For the"
            " current"
            " folder, use .venv/bin/coginst or make build."
        )


def _print_build_summary(outcome: BuildSummary | Exception) -> None:
    """Print the outcome of a build: the number of files and any warnings, or the error that stopped it."""
    if isinstance(outcome, Exception):
        print_error(outcome)
        return
    for line in outcome.kept:
        print_warning(line)
    changes = ((outcome.written, "written"), (outcome.removed, "removed"))
    done = [f"{len(names)} files {verb}" for names, verb in changes if names]
    if done:
        typer.echo(", ".join(done).capitalize() + ".")
    elif outcome.kept:
        typer.echo("Nothing else to do.")
    else:
        typer.echo("Nothing to do: the student copies are up to date.")


@app.command(rich_help_panel=MAINTAINERS)
def solve(
    lesson: list[str] | None = typer.Argument(
        None, help="The lessons, by name or number (default: all).", show_default=False
    ),
    out: Path = typer.Option(
        lessons.ROOT / "tests" / "solved", help="The folder to write.", show_default="tests/solved of this clone"
    ),
) -> None:
    """Run the lessons with their answers, and store their text outputs."""
    from utils.instructor import solved_notebooks

    with report_errors():
        for path in solved_notebooks.solve_lessons(lesson or [], out):
            typer.echo(f"Written: {path}")


@app.command(rich_help_panel=MAINTAINERS)
def ready(
    lesson: str = typer.Argument(..., help="The lesson, by name or number."),
    exercise: list[str] | None = typer.Argument(
        None, help="Test the checks of only these exercises.", show_default="all of the lesson"
    ),
) -> None:
    """Do everything that a new or changed lesson needs before a commit, and list what is left for you.

    Exit with status 1 if the tests would fail.
    """
    from utils.instructor.ready import NOT_RUN, FinishedStep, prepare_lesson

    def print_step(finished: FinishedStep) -> None:
        result = finished.result
        words = ["stopped" if result.stops else "left for you" if result.problems else "done"]
        words += [f"changed {name}" for name in finished.changed]
        typer.echo(f"{finished.step.name}: {', '.join(words)}")

    with report_errors():
        finished = prepare_lesson(lesson, exercise or [], print_step)
    failed = [step for step in finished if step.result.problems]
    reminders = [line for step in finished for line in step.result.reminders]
    typer.echo("\nLeft for you:")
    for step in failed:
        for line in step.result.problems:
            typer.echo(f"- {line}")
        typer.echo(f"  {step.step.remedy}")
    for line in reminders:
        typer.echo(f"- {line} (the tests pass without it)")
    typer.echo(f"- {NOT_RUN}")
    if failed:
        typer.echo(f"Then run `coginst ready {lesson}` again.")
        raise typer.Exit(1)


@app.command(rich_help_panel=INSTRUCTORS)
def release(
    out: Path = typer.Argument(
        ..., metavar="OUT.zip", help="The zip file to write, such as attention.zip. It contains one folder, attention."
    ),
    with_solutions: list[str] | None = typer.Option(
        None,
        metavar="LESSON",
        help="Include the answers of this lesson (name or number). May be given several times.",
    ),
    book: Path | None = typer.Option(
        None, metavar="FOLDER", help="Include the web site in this folder, built by `coginst book`, such as build/book."
    ),
    replace: bool = typer.Option(False, "--replace", help="Replace an existing zip file."),
) -> None:
    """Pack the course for students in a zip file that works with `make lab`. It contains only
    the answers of the lessons in --with-solutions. Nothing is written if the zip file would contain any other answer.
    """
    from utils.instructor import release as packer

    with report_errors():
        summary = packer.release(out, with_solutions or [], replace, book=book)
        solved = ", ".join(summary.solved_lessons)
        answers = f"with the answers of {solved}" if solved else "without answers"
        typer.echo(
            f"Written: {summary.path}, {len(summary.file_names)} files, {summary.path.stat().st_size / 1e6:.1f} MB,"
            f" {answers}."
        )
        for name in summary.untracked_files:
            print_warning(f"Left out, because git does not track it: {name}")


@app.command(rich_help_panel=INSTRUCTORS)
def publish(
    branch: str = typer.Argument(..., help="A branch that contains only releases, such as hub. It may be new."),
    with_solutions: list[str] | None = typer.Option(
        None,
        metavar="LESSON",
        help="Include the answers of this lesson (name or number). May be given several times.",
    ),
) -> None:
    """Add a release to a branch as one commit, for learners on JupyterHub. Nothing is pushed, and the work tree stays
    as it is.
    """
    from utils.instructor import publish as publisher

    with report_errors():
        done = publisher.publish(branch, with_solutions or [])
        if not done.is_first and not done.changed_files:
            typer.echo(f"Nothing to do: the last commit of {branch} contains the same release.")
        else:
            what = "the first release" if done.is_first else f"a release that changes {len(done.changed_files)} files"
            typer.echo(f"Commit {done.commit[:10]} of the branch {branch} contains {what}.")
        typer.echo(
            f"Next: git push REMOTE {branch}, where REMOTE is a repository that learners can read. For their links:"
            f" coginst link HUB {branch} --repository ADDRESS"
        )


@app.command(rich_help_panel=INSTRUCTORS)
def link(
    hub: str = typer.Argument(..., help="The address of the hub, such as https://hub.example.edu."),
    branch: str = typer.Argument(..., help="The branch that `coginst publish` wrote."),
    lesson: list[str] | None = typer.Argument(
        None, help="The lessons, by name or number (default: all).", show_default=False
    ),
    repository: str | None = typer.Option(
        None,
        metavar="ADDRESS",
        help="The address of the repository that contains the branch.",
        show_default="the repository on GitHub that pyproject.toml names",
    ),
) -> None:
    """Print links for learners. A link pulls the newest release into the learner's home on the hub, and opens a
    lesson.
    """
    from utils.instructor.publish import pull_links

    with report_errors():
        for url in pull_links(hub, branch, lesson or [], repository).values():
            typer.echo(url)


@app.command("export-nbgrader", rich_help_panel=INSTRUCTORS)
def export_nbgrader(
    out: Path = typer.Argument(
        ..., metavar="FOLDER", help="nbgrader's course folder. It is created if it does not exist."
    ),
    lesson: list[str] | None = typer.Argument(
        None, help="The lessons, by name or number (default: all).", show_default=False
    ),
    replace: bool = typer.Option(False, "--replace", help="Replace assignments that differ."),
) -> None:
    """Write lessons as nbgrader assignments, with answers, into FOLDER/source. You then run nbgrader's
    generate_assignment.
    """
    from utils.instructor.nbgrader import export as nbgrader

    with report_errors():
        done = nbgrader.export_lessons(out, lesson or [], replace)
        for line in done.kept:
            print_warning(line)
        for stem, points in done.points.items():
            typer.echo(f"{stem}: {points} point{'s' * (points != 1)}")
        typer.echo(
            f"Written: {out}. These files contain the answers. Hand out the result of `nbgrader generate_assignment`."
        )


@app.command(rich_help_panel=INSTRUCTORS)
def online(
    repository: str | None = typer.Argument(
        None,
        metavar="OWNER/NAME",
        help="The public name of the clone on GitHub. It is written into pyproject.toml.",
        show_default=False,
    ),
    notebooks: Path | None = typer.Option(
        None, metavar="FOLDER", help="Also write the notebooks for Colab into this folder."
    ),
) -> None:
    """Write docs/online.md, the page of links that open the lessons in Binder and Colab."""
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
        help="gpt2-mini is the small GPT-2 that ships with the course; cogmodel is the toy model of lesson 08.",
    ),
    out: Path | None = typer.Option(None, help="The folder to write.", show_default="utils/assets/MODEL"),
    replace: bool = typer.Option(False, "--replace", help="Replace an existing model."),
    steps: int | None = typer.Option(None, min=2, help="Train for this number of steps instead of the recipe's."),
    device: str | None = typer.Option(
        None, help="cpu or cuda.", show_default="gpt2-mini: cuda if there is one; cogmodel: cpu"
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
) -> None:
    """Train a model that ships with the course, evaluate it, and write it with its model card."""
    maker: Any  # `cogmodel` and `gpt2_mini` have the same functions, but different recipe types
    if model == "cogmodel":
        from utils.models import cogmodel as maker

        recipe = maker.CogModelRecipe()
    else:
        from utils.training import gpt2_mini as maker

        recipe = maker.GPT2MiniRecipe()
    recipe = recipe if steps is None else changed(recipe, steps=steps)
    with report_errors():
        folder = out or maker.ASSET
        measured, history = maker.train_and_publish(folder, replace, recipe, device, progress=not quiet)
        typer.echo(measured.summary_text())
        typer.echo(f"Written in {history.seconds / 60:.1f} minutes: {folder}")


@app.command(rich_help_panel=MAINTAINERS)
def mutants(
    exercise: list[str] | None = typer.Argument(None, help="Names of exercises (default: all).", show_default=False),
    write: bool = typer.Option(
        False, "--write", help="Write the rows of these exercises into docs/mutants.md, and the totals into README.md."
    ),
    show: Outcome = typer.Option("wrong", help="List the mutants with this outcome."),
) -> None:
    """Make one change at a time to each reference answer, and count the verdicts on the changed answers."""
    from utils.instructor import mutation_testing as maker
    from utils.instructor.readme_counts import write_counts

    def print_tally(tally: maker.MutantTally) -> None:
        row = maker.table_row(tally)
        typer.echo(
            f"{tally.exercise:28}"
            + ", ".join(f"{count} {column}" for column, count in zip(maker.COLUMNS, row) if count)
            + f": {maker.explained_percent(row)} % told why"
        )
        for mutant, outcome, message in tally.outcomes:
            if outcome == show:
                typer.secho(
                    f"  {mutant.kind}: {mutant.change}\n      {message}",
                    fg=typer.colors.RED if outcome == maker.WRONG else None,
                )

    with report_errors():
        tallies = maker.run_mutants(exercise or [], print_tally)
        typer.echo(maker.format_table({tally.exercise: maker.table_row(tally) for tally in tallies}))
        if write:
            maker.update_table(tallies)
            write_counts()
    if any(tally.count(maker.WRONG) for tally in tallies):
        print_error("A check has a gap: a mutant listed above passed, although it is not equivalent to the answer.")
        raise typer.Exit(1)


@app.command(rich_help_panel=INSTRUCTORS)
def misconception(
    exercise: str = typer.Argument(..., help="The name of the exercise, such as softmax."),
    answer: Path = typer.Argument(..., exists=True, dir_okay=False, help="A Python file with a wrong answer."),
    id: str | None = typer.Option(None, help="Add it to the checks under this id, such as softmax-of-columns."),
    message: str | None = typer.Option(
        None, help="The message for learners who make this mistake.", show_default="a TODO"
    ),
    isolation: Literal["bwrap", "none"] = typer.Option(
        "bwrap", help="How the answer is isolated. Use none only for an answer that you trust."
    ),
) -> None:
    """Show the report that a learner gets for an answer. With --id, turn the answer into a misconception."""
    from utils.grading.engine import report_answer
    from utils.grading.judge.bubblewrap import UNPROTECTED
    from utils.instructor import misconception as maker
    from utils.instructor.answers import AnswerFactory, find_exercise

    with report_errors():
        target = find_exercise(exercise)
        source = lessons.read_text(answer)
        by_hand = f"by hand, in utils/checks/transfer/{target.lesson}.py"
        if target.member and id:
            raise ValueError(f"--id does not work for transfer exercises. Add the misconception {by_hand}.")
        stub = maker.make_stub(target, source, id, message or maker.TODO) if id else None
        if isolation == "none":
            print_warning(UNPROTECTED)
        report = (
            report_answer(exercise, source)
            if isolation == "bwrap"
            else AnswerFactory.from_exercise(target).judge(source)
        )
        typer.echo(_escape_terminal(str(report)))
        if report:
            print_error(
                "This answer passes. First add a case or a property that distinguishes it from a correct answer."
            )
            raise typer.Exit(1)
        if stub is None:
            maker.parse_answer(source)  # an answer that does not parse cannot become a misconception
            command = (
                f"add it {by_hand}"
                if target.member
                else f"coginst misconception {exercise} {answer} --id what-is-wrong"
            )
            typer.echo(f"\nTo make it a misconception: {command}")
            return
        path = lessons.ROOT / "utils" / "checks" / f"{target.lesson}.py"
        maker.add_stub(path, target, stub)
        typer.echo(f"\nWritten into {path}: {id}")
        print_warning("Read the new code before you run anything: from now on it is part of the course.")
        if not message:
            print_warning("Replace the TODO with a message that says what is wrong.")
        typer.echo(f"Next: make format, pytest tests/checks -k {exercise}; to use it on a class: coginst grade")


@app.command(rich_help_panel=MAINTAINERS)
def sweeps(
    exercise: list[str] = typer.Argument(None, help="The names of exercises.", show_default="all exercises"),
) -> None:
    """Print which sweeps test each exercise, and why an exercise opts out of a sweep.

    A sweep tests a correct answer on additional cases. It derives these cases from the exercise's own cases: different
    sizes, special numbers, several calls to one object.
    """
    from utils.exercises.exercise import all_members, find_exercise
    from utils.feedback.sweeps import SWEEPS, applicable_sweeps

    with report_errors():
        rows = [find_exercise(name) for name in exercise] if exercise else all_members().values()
        for name, what in SWEEPS.items():
            typer.echo(f"{name:12} {what}")
        typer.echo()
        for row in rows:
            names = applicable_sweeps(row)
            typer.echo(f"{row.full_name:26} {', '.join(names) or 'none: the answer is a value'}")
            for name, reason in row.unswept.items():
                typer.echo(f"{'':26} not {name}: {reason}")


def _escape_terminal(text: str) -> str:
    """Replace control characters, because a student may have written the text."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


@app.command(rich_help_panel=MAINTAINERS)
def answers(
    files: list[Path] = typer.Argument(
        ..., exists=True, dir_okay=False, help="Files of answers (see CONTRIBUTING.md)."
    ),
    write: bool = typer.Option(
        False,
        "--write",
        help="Write each verdict into the file, next to its answer. The answers then run without isolation, as in the"
        " tests, so use this only for answers that you trust.",
    ),
    quiet: bool = typer.Option(False, "--quiet", help="Print only the counts."),
) -> None:
    """Check files in which each answer is marked as wrong or right, and count the verdicts."""
    from collections import Counter

    from utils.grading.engine import report_answer
    from utils.instructor.answers import format_verdict, judge_all, read_answers, write_answers

    counts: Counter[str] = Counter()
    with report_errors():
        batches = {file: read_answers(file) for file in files}
        everything = [answer for batch in batches.values() for answer in batch]
        reports = judge_all(everything) if write else [report_answer(a.exercise, a.source) for a in everything]
        for answer, report in zip(everything, reports):
            counts[f"{answer.kind}: {report.reason if answer.kind == 'wrong' else report.status}"] += 1
            if not quiet:
                words = f"{answer.exercise} {answer.kind}: {answer.description}\n    {format_verdict(report)}"
                typer.echo(_escape_terminal(f"{words}: {report.message}"))
        verdicts = iter(map(format_verdict, reports))
        for file, batch in batches.items() if write else ():
            write_answers(file, [changed(answer, verdict=next(verdicts)) for answer in batch])
    typer.echo(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
