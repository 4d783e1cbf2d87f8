"""What an instructor calls to take back a class: docs/grading.md walks through them."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import Literal

import typer

from utils.cli.app import INSTRUCTORS, app, errors_in_red, red, yellow


@app.command(rich_help_panel=INSTRUCTORS)
def collect(
    sources: list[Path] = typer.Argument(..., metavar="SOURCE...", help="Folders, or zips as Moodle and Canvas make."),
    roster: Path = typer.Option(..., help="The class as CSV: columns id and name, or an export of the LMS."),
    out: Path = typer.Option(Path("handed-in"), help="The folder to collect into; what is there already stays."),
) -> None:
    """Sort what a class handed in by student and lesson, and list every oddity in intake.csv."""
    from utils.grading import collect as collector
    from utils.grading.reports.pages import counted

    with errors_in_red():
        done = collector.collect(sources, roster, out)
        typer.echo(
            f"Collected into {done.folder}: {counted(done.files, 'file')} of {counted(len(done.students), 'student')},"
            f" lessons {', '.join(stem[:2] for stem in done.lessons) or 'none'}."
        )
        if done.rows:
            told = ", ".join(f"{what} {count}" for what, count in done.oddities.most_common())
            yellow(f"{counted(len(done.rows), 'line')} to look at in {done.folder / collector.INTAKE}: {told}.")
        _next("grade", out)


@app.command("class", rich_help_panel=INSTRUCTORS)
def example_class(
    out: Path = typer.Argument(..., metavar="FOLDER", help="The folder to make."),
    lesson: list[str] | None = typer.Argument(
        None, help="Names or numbers of lessons to hand in; all of them when left out.", show_default=False
    ),
    students: int = typer.Option(40, min=2, help="How many stand on the roster."),
    seed: int = typer.Option(1, help="The same number makes the same class."),
) -> None:
    """Make up a class to try grading on: a roster, and a zip of submissions as Moodle packs it."""
    from utils.grading import example_class as maker
    from utils.grading.reports.pages import counted

    with errors_in_red():
        made = maker.make(out, students, seed, lesson or [])
        typer.echo(f"Written: {made.folder}, {counted(len(made.students), 'student')}, {counted(made.files, 'file')}.")
        typer.echo("What goes wrong: " + ", ".join(f"{what} ({count})" for what, count in made.mishaps.items()) + ".")
        _next("collect", out / maker.SUBMISSIONS, "--roster", out / maker.ROSTER, "--out", out / "handed-in")


@app.command(rich_help_panel=INSTRUCTORS)
def report(
    results: Path = typer.Argument(Path("results"), help="The folder that `coginst grade` wrote."),
    handed_in: Path | None = typer.Option(
        None, help="The folder that `coginst collect` wrote.", show_default="handed-in beside the results"
    ),
    out: Path | None = typer.Option(
        None, help="The folder to write; older reports there give way.", show_default="report beside the results"
    ),
    names: bool = typer.Option(False, "--names", help="Name students on the page of the class."),
) -> None:
    """Write a page for each student, tables for the gradebook, and a page for the class. Nothing is run."""
    from utils.grading.reports import write
    from utils.grading.reports.pages import counted

    with errors_in_red():
        done = write.report(results, handed_in, out or results.parent / "report", names)
        tally = done.tally
        students, taught = counted(len(tally.students), "student"), counted(len(tally.lessons), "lesson")
        typer.echo(f"Written: {done.folder}, {students}, {taught}.")
        typer.echo(f"For the class: {done.folder / 'class.html'}")
        if tally.incidents:
            yellow(f"Told in {done.folder / 'incidents.csv'}: {counted(len(tally.incidents), 'incident')}.")
        if done.unknown:
            yellow(f"Results of somebody who is not on the roster, left out: {', '.join(done.unknown)}.")


@app.command(rich_help_panel=INSTRUCTORS)
def grade(
    handed_in: Path = typer.Argument(Path("handed-in"), help="The folder that `coginst collect` wrote."),
    lesson: list[str] | None = typer.Argument(
        None, help="Names or numbers of lessons; all that somebody handed in when left out.", show_default=False
    ),
    out: Path | None = typer.Option(
        None,
        help="The folder for the results; what is there and still holds stays.",
        show_default="results beside what was handed in",
    ),
    jobs: int = typer.Option(1, "--jobs", "-j", min=1, help="How many submissions to grade at once."),
    limit: str = typer.Option("10s,2G", help="CPU time and memory of one exercise."),
    with_answers: list[str] | None = typer.Option(
        None,
        metavar="LESSON",
        help="A lesson whose answers have been handed out: later ones build on these where a student's own do not"
        " pass. May be given several times.",
    ),
    dask: str | None = typer.Option(None, metavar="ADDRESS", help="Grade on the Dask cluster with this scheduler."),
    isolation: Literal["bwrap", "none"] = typer.Option(
        "bwrap", help="How answers are kept apart from everything else; none is for answers that you trust."
    ),
    nbgrader: Path | None = typer.Option(
        None, metavar="GRADEBOOK.DB", help="Write the points into this gradebook of nbgrader as well."
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
) -> None:
    """Grade what a class handed in: one result for each student and lesson. What is graded already is left alone."""
    from utils.grading import engine, gradebook
    from utils.grading.bubblewrap import UNPROTECTED
    from utils.grading.reports.pages import counted

    out = out or handed_in.parent / "results"
    with errors_in_red():
        stems = engine.stems_of(lesson or []) or engine.handed_in(handed_in)
        if nbgrader:
            gradebook.ready(nbgrader, stems)
        handed_out = tuple(sorted(engine.stems_of(with_answers or [])))
        settings = engine.Settings(engine.limits_of(limit), isolation, handed_out)
        if isolation == "none":
            yellow(UNPROTECTED)
        with engine.cluster(dask) if dask else contextlib.nullcontext((None, jobs)) as (executor, at_once):
            done = engine.grade(handed_in, out, lesson or [], settings, executor, at_once, progress=not quiet)
        typer.echo(
            f"Graded: {done.made} new in {out}, one for each student and lesson; {done.kept} were there already."
        )
        if done.states:
            told = ", ".join(f"{state} {count}" for state, count in done.states.most_common())
            typer.echo(f"Exercises in the new ones: {told}.")
        for number, count in sorted(done.waits.items()):
            yellow(
                f"Lesson {number} was not handed in or does not pass, and {counted(count, 'exercise')} of later lessons"
                f" wait for it. Once its answers are handed out, give --with-answers {number} each time you grade."
            )
        if done.lost:
            red("\n".join(f"Not graded, its worker died: {who}" for who in done.lost))
            red("Grade again: what is done stays.")
            raise typer.Exit(1)
        if nbgrader:
            _into_gradebook(nbgrader, handed_in, out, stems)
        there = handed_in == out.parent / "handed-in"  # where `report` looks by itself
        _next("report", out, *(() if there else ("--handed-in", handed_in)))


def _into_gradebook(path: Path, handed_in: Path, results: Path, stems: list[str]) -> None:
    """Write the points of these lessons into nbgrader's gradebook, and say what somebody has to look at."""
    from utils.grading import gradebook
    from utils.grading.reports.pages import counted
    from utils.grading.results import read_results
    from utils.grading.roster import read_roster

    roster = handed_in / "roster.csv"
    ids = {student.folder: student.id for student in read_roster(roster)} if roster.is_file() else {}
    graded = (r for r in read_results(results) if r.lesson in stems and (handed_in / r.student).is_dir())
    done = gradebook.record(path, graded, ids)
    typer.echo(f"Points in {path}: {counted(done.submissions, 'submission')}.")
    if done.undecided:
        yellow(
            f"For you to decide in the form grader: {counted(done.undecided, 'exercise')} (stopped, unreadable, waits)."
        )
    if done.without_cell:
        yellow(f"No cell there, so no points: {', '.join(done.without_cell)}.")


def _next(*words: object) -> None:
    """Say what to type next, as a shell takes it."""
    typer.echo(f"Next: coginst {shlex.join(map(str, words))}")
