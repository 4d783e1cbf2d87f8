"""What an instructor calls to take back a class: docs/grading.md walks through them."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import Literal

import typer

from utils.cli.app import INSTRUCTORS, app, print_error, print_warning, report_errors


@app.command(rich_help_panel=INSTRUCTORS)
def collect(
    sources: list[Path] = typer.Argument(..., metavar="SOURCE...", help="Folders, or zips as Moodle and Canvas make."),
    roster: Path = typer.Option(..., help="The class as CSV: columns id and name, or an export of the LMS."),
    out: Path = typer.Option(Path("handed-in"), help="The folder to collect into; what is there already stays."),
) -> None:
    """Sort what a class handed in by student and lesson, and list every oddity in intake.csv."""
    from utils.grading import collect as collector
    from utils.grading.reports.html_parts import format_count

    with report_errors():
        done = collector.collect(sources, roster, out)
        typer.echo(
            f"Collected into {done.folder}: {format_count(done.file_count, 'file')} of {format_count(len(done.students), 'student')},"
            f" lessons {', '.join(stem[:2] for stem in done.lessons) or 'none'}."
        )
        if done.rows:
            told = ", ".join(f"{what} {count}" for what, count in done.oddity_counts.most_common())
            print_warning(
                f"{format_count(len(done.rows), 'line')} to look at in {done.folder / collector.INTAKE}: {told}."
            )
        _print_next_command("grade", out)


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
    from utils.grading.reports.html_parts import format_count

    with report_errors():
        made = maker.make_example_class(out, students, seed, lesson or [])
        typer.echo(
            f"Written: {made.folder}, {format_count(len(made.students), 'student')}, {format_count(made.file_count, 'file')}."
        )
        typer.echo(
            "What goes wrong: " + ", ".join(f"{what} ({count})" for what, count in made.fault_counts.items()) + "."
        )
        _print_next_command(
            "collect", out / maker.SUBMISSIONS, "--roster", out / maker.ROSTER, "--out", out / "handed-in"
        )


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
    from utils.grading.reports import report_writer
    from utils.grading.reports.html_parts import format_count

    with report_errors():
        done = report_writer.write_reports(results, handed_in, out or results.parent / "report", names)
        tally = done.tally
        students, taught = (
            format_count(len(tally.students), "student"),
            format_count(len(tally.points_by_lesson), "lesson"),
        )
        typer.echo(f"Written: {done.folder}, {students}, {taught}.")
        typer.echo(f"For the class: {done.folder / 'class.html'}")
        if tally.incidents:
            print_warning(f"Told in {done.folder / 'incidents.csv'}: {format_count(len(tally.incidents), 'incident')}.")
        if done.unknown_students:
            print_warning(
                f"Results of somebody who is not on the roster, left out: {', '.join(done.unknown_students)}."
            )


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
    from utils.grading import engine, nbgrader_gradebook
    from utils.grading.bubblewrap import UNPROTECTED
    from utils.grading.reports.html_parts import format_count

    out = out or handed_in.parent / "results"
    with report_errors():
        stems = engine.resolve_stems(lesson or []) or engine.submitted_lessons(handed_in)
        if nbgrader:
            nbgrader_gradebook.check_gradebook(nbgrader, stems)
        handed_out = tuple(sorted(engine.resolve_stems(with_answers or [])))
        settings = engine.Settings(engine.parse_limits(limit), isolation, handed_out)
        if isolation == "none":
            print_warning(UNPROTECTED)
        with engine.dask_executor(dask) if dask else contextlib.nullcontext((None, jobs)) as (executor, at_once):
            done = engine.grade(handed_in, out, lesson or [], settings, executor, at_once, progress=not quiet)
        typer.echo(
            f"Graded: {done.graded_count} new in {out}, one for each student and lesson; {done.reused_count} were there already."
        )
        if done.state_counts:
            told = ", ".join(f"{state} {count}" for state, count in done.state_counts.most_common())
            typer.echo(f"Exercises in the new ones: {told}.")
        for number, count in sorted(done.wait_counts.items()):
            print_warning(
                f"Lesson {number} was not handed in or does not pass, and {format_count(count, 'exercise')} of later lessons"
                f" wait for it. Once its answers are handed out, give --with-answers {number} each time you grade."
            )
        if done.lost_submissions:
            print_error("\n".join(f"Not graded, its worker died: {who}" for who in done.lost_submissions))
            print_error("Grade again: what is done stays.")
            raise typer.Exit(1)
        if nbgrader:
            _record_points(nbgrader, handed_in, out, stems)
        there = handed_in == out.parent / "handed-in"  # where `report` looks by itself
        _print_next_command("report", out, *(() if there else ("--handed-in", handed_in)))


def _record_points(path: Path, handed_in: Path, results: Path, stems: list[str]) -> None:
    """Write the points of these lessons into nbgrader's gradebook, and say what somebody has to look at."""
    from utils.grading import nbgrader_gradebook
    from utils.grading.reports.html_parts import format_count
    from utils.grading.results import read_results
    from utils.grading.roster import read_roster

    roster = handed_in / "roster.csv"
    ids = {student.folder: student.id for student in read_roster(roster)} if roster.is_file() else {}
    graded = (r for r in read_results(results) if r.lesson in stems and (handed_in / r.student).is_dir())
    done = nbgrader_gradebook.record_points(path, graded, ids)
    typer.echo(f"Points in {path}: {format_count(done.submission_count, 'submission')}.")
    if done.undecided_count:
        print_warning(
            f"For you to decide in the form grader: {format_count(done.undecided_count, 'exercise')} (stopped, unreadable, waits)."
        )
    if done.without_cell:
        print_warning(f"No cell there, so no points: {', '.join(done.without_cell)}.")


def _print_next_command(*words: object) -> None:
    """Say what to type next, as a shell takes it."""
    typer.echo(f"Next: coginst {shlex.join(map(str, words))}")
