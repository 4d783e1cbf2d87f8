"""Define the commands that collect and grade a class's work. docs/grading.md walks through them."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path
from typing import Literal

import typer

from utils.cli.app import INSTRUCTORS, app, print_error, print_warning, report_errors
from utils.grading.runner.isolation import ResourceLimits

LIMIT = f"{ResourceLimits().seconds:g}s,{ResourceLimits().memory >> 30}G"


@app.command(rich_help_panel=INSTRUCTORS)
def collect(
    sources: list[Path] | None = typer.Argument(
        None,
        metavar="[SOURCE]...",
        help="Folders, zip files from Moodle or Canvas, or the folder inbound of nbgrader's exchange.",
        show_default=False,
    ),
    roster: Path = typer.Option(
        ...,
        help="The class as a CSV file with the columns id and name, or an export from the LMS. docs/grading.md lists"
        " all columns.",
    ),
    homes: list[str] | None = typer.Option(
        None,
        metavar="PATTERN",
        help="The lessons in the homes of a hub, in quotes: '/home/*/attention/course'. The * stands for the user name."
        " May be given several times.",
    ),
    out: Path = typer.Option(Path("handed-in"), help="The folder to collect into. Existing files stay."),
) -> None:
    """Sort the submissions of a class by student and lesson, and list every irregularity in intake.csv."""
    from utils.grading.intake import collect as collector
    from utils.grading.reports.html_parts import format_count

    with report_errors():
        if not sources and not homes:
            raise ValueError("There is nothing to collect. Name a folder or a zip file, or add --homes.")
        done = collector.collect(sources or [], roster, out, homes or [])
        typer.echo(
            f"Collected into {done.folder}: {format_count(done.file_count, 'file')} of"
            f" {format_count(len(done.students), 'student')},"
            f" lessons {', '.join(stem[:2] for stem in done.lessons) or 'none'}."
        )
        if done.shared_count:
            typer.echo(f"{format_count(done.shared_count, 'student')} handed in learning.json.")
        if done.rows:
            oddities = ", ".join(f"{oddity} {count}" for oddity, count in done.oddity_counts.most_common())
            lines = format_count(len(done.rows), "line")
            print_warning(f"{lines} to look at in {done.folder / collector.INTAKE}: {oddities}.")
        if done.shared_count and not done.lessons:
            _print_next_command("report", out.parent / "results", "--learning")
        else:
            _print_next_command("grade", out)


@app.command(rich_help_panel=INSTRUCTORS)
def grade(
    handed_in: Path = typer.Argument(Path("handed-in"), help="The folder that `coginst collect` wrote."),
    lesson: list[str] | None = typer.Argument(
        None, help="The lessons to grade, by name or number (default: all that were handed in).", show_default=False
    ),
    out: Path | None = typer.Option(
        None,
        help="The folder for the results. Results that are still valid stay.",
        show_default="results next to the submissions",
    ),
    jobs: int = typer.Option(1, "--jobs", "-j", min=1, help="The number of submissions to grade at the same time."),
    limit: str = typer.Option(LIMIT, help="The CPU time and memory that one exercise may use."),
    with_answers: list[str] | None = typer.Option(
        None,
        metavar="LESSON",
        help="A lesson whose answers have been handed out. Later lessons use them if the student's own answers do not"
        " pass. May be given several times.",
    ),
    seed: int | None = typer.Option(
        None,
        min=0,
        help="The seed of the numbers that answers are tried with. Keep it secret.",
        show_default="the seed of the earlier results, or a random one",
    ),
    dask: str | None = typer.Option(None, metavar="ADDRESS", help="Grade on the Dask cluster with this scheduler."),
    unencrypted: bool = typer.Option(
        False,
        "--unencrypted",
        help="Permit --dask with another machine without TLS. Everyone on the network can use it.",
    ),
    isolation: Literal["bwrap", "container", "none"] = typer.Option(
        "bwrap", help="How answers are isolated. Use none only for answers that you trust."
    ),
    image: str = typer.Option("", help="The image for --isolation container (see docs/grading.md)."),
    nbgrader: Path | None = typer.Option(
        None, metavar="GRADEBOOK.DB", help="Also write the points into this nbgrader gradebook."
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
) -> None:
    """Grade the submissions of a class: one result for each student and lesson. Existing results are kept."""
    from utils.grading import engine, executors
    from utils.grading.judge.bubblewrap import UNPROTECTED
    from utils.grading.judge.shared_folder import keep_seed
    from utils.grading.reports import nbgrader_gradebook
    from utils.grading.reports.html_parts import format_count

    out = out or handed_in.parent / "results"
    with report_errors():
        stems = engine.resolve_stems(lesson or []) or engine.submitted_lessons(handed_in)
        if nbgrader:
            nbgrader_gradebook.check_gradebook(nbgrader, stems)
        handed_out = tuple(sorted(engine.resolve_stems(with_answers or [])))
        limits = parse_limits(limit)
        settings = engine.Settings(limits, isolation, handed_out, keep_seed(out, seed), image)
        if isolation == "none":
            print_warning(UNPROTECTED)
        with (
            executors.dask_executor(dask, unencrypted) if dask else contextlib.nullcontext((None, jobs)) as (
                executor,
                at_once,
            )
        ):
            done = engine.grade(handed_in, out, lesson or [], settings, executor, at_once, progress=not quiet)
        typer.echo(
            f"Graded: {done.graded_count} new results in {out}, one for each student and lesson; {done.reused_count}"
            " existed already."
        )
        if done.state_counts:
            states = ", ".join(f"{state} {count}" for state, count in done.state_counts.most_common())
            typer.echo(f"Exercises in the new results: {states}.")
        for number, count in sorted(done.wait_counts.items()):
            exercises = format_count(count, "exercise")
            print_warning(
                f"Lesson {number} was not handed in or does not pass, so {exercises} of later lessons wait for it."
                f" After you have handed out its answers, pass --with-answers {number} on every run."
            )
        for submission in done.lost_submissions:
            print_error(f"Not graded: {submission}")
        if nbgrader:
            _record_points(nbgrader, handed_in, out, stems)
        is_default = handed_in == out.parent / "handed-in"  # the default of `report`
        _print_next_command("report", out, *(() if is_default else ("--handed-in", handed_in)))
        if done.lost_submissions:
            print_error("To try these submissions again, run the same command: finished results are kept.")
            raise typer.Exit(1)


@app.command(rich_help_panel=INSTRUCTORS)
def report(
    results: Path = typer.Argument(Path("results"), help="The folder written by `coginst grade`."),
    handed_in: Path | None = typer.Option(
        None, help="The folder that `coginst collect` wrote.", show_default="handed-in next to the results"
    ),
    out: Path | None = typer.Option(
        None,
        help="The folder to write. Older reports in it are replaced.",
        show_default="report (with --learning: learning) next to the results",
    ),
    names: bool = typer.Option(
        False, "--names", help="Show the names of students, from the roster, on the class page."
    ),
    learning: bool = typer.Option(
        False,
        "--learning",
        help="Instead, write learning.html: what the class learned, from the records that learners shared.",
    ),
    worst: int | None = typer.Option(
        None, min=1, metavar="N", help="With --learning: list the N messages that most need rewriting."
    ),
) -> None:
    """Write a page for each student, tables for the gradebook, and a page for the class. No student code runs."""
    if learning or worst:
        _report_learning(results, handed_in, out, learning, names, worst)
        return
    from utils.grading.reports import report_writer
    from utils.grading.reports.html_parts import format_count
    from utils.grading.reports.transfer_table import count_noted_cases

    with report_errors():
        done = report_writer.write_reports(results, handed_in, out or results.parent / "report", names)
        tally = done.tally
        students = format_count(len(tally.students), "student")
        typer.echo(f"Written: {done.folder}, {students}, {format_count(len(tally.points_by_lesson), 'lesson')}.")
        typer.echo(f"For the class: {done.folder / 'class.html'}")
        if tally.incidents:
            incidents = format_count(len(tally.incidents), "incident")
            print_warning(f"{incidents}, listed in {done.folder / 'incidents.csv'}.")
        if cases := count_noted_cases(tally):
            need = format_count(cases, "case in the transfer exercises needs", "cases in the transfer exercises need")
            print_warning(f"{need} a look: see {done.folder / 'transfer.csv'}.")
        if done.unknown_students:
            print_warning(f"Left out, because they are not on the roster: {', '.join(done.unknown_students)}.")


def _report_learning(
    results: Path, handed_in: Path | None, out: Path | None, learning: bool, names: bool, worst: int | None
) -> None:
    """Write `learning.html`. If `worst` is given, also list the messages that most need rewriting."""
    from utils.exercises.exercise import all_exercises
    from utils.grading.reports.html_parts import format_count
    from utils.grading.reports.learning import page
    from utils.grading.reports.learning.worst import find_weak_messages, format_weak_messages, read_graded_mistakes

    with report_errors():
        if not learning:
            raise ValueError("--worst lists messages from the records that learners shared. Add --learning.")
        if names:
            raise ValueError("learning.html never names students. Leave out --names.")
        handed_in = handed_in or results.parent / "handed-in"
        records = page.read_class(handed_in)
        result = page.measure_class(records.learners)
        path = page.write_learning_page(result, out or results.parent / "learning")
        typer.echo(f"Written: {path}, from the records of {format_count(len(records.learners), 'learner')}.")
        for sentence in records.refused:
            print_warning(f"Left out: {sentence}")
        if worst:
            mistakes = read_graded_mistakes(results, handed_in)
            weak = find_weak_messages(result.messages, worst, all_exercises(), mistakes)
            typer.echo(f"\n{format_weak_messages(weak)}" if weak else "No message has five readers or more.")


def parse_limits(text: str) -> ResourceLimits:
    """Parse limits such as "10s,2G", "30s" or "500M".

    Raises:
        GradingError: a part of the text is not a limit, or is 0.
    """
    from utils.grading.judge.submissions import GradingError

    seconds, memory = ResourceLimits()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smMG])\s*", part)
        number = float(match[1]) if match else 0.0
        if match is None or not number:
            raise GradingError(
                f"--limit takes CPU time in s or m and memory in M or G, such as 10s,2G. You passed {text!r}."
            )
        if match[2] in "sm":
            seconds = number * (60 if match[2] == "m" else 1)
        else:
            memory = int(number * (1 << (30 if match[2] == "G" else 20)))
    return ResourceLimits(seconds, memory)


def _record_points(path: Path, handed_in: Path, results: Path, stems: list[str]) -> None:
    """Write the points of these lessons into nbgrader's gradebook. Print how many exercises need a decision."""
    from utils.grading.intake.roster import read_roster
    from utils.grading.judge.results import read_results
    from utils.grading.reports import nbgrader_gradebook
    from utils.grading.reports.html_parts import format_count

    roster = handed_in / "roster.csv"
    ids = {student.folder: student.id for student in read_roster(roster)} if roster.is_file() else {}
    graded = (r for r in read_results(results) if r.lesson in stems and (handed_in / r.student).is_dir())
    done = nbgrader_gradebook.record_points(path, graded, ids)
    typer.echo(f"Points in {path}: {format_count(done.submission_count, 'submission')}.")
    if done.undecided_count:
        print_warning(
            f"To be decided by you in nbgrader's formgrader: {format_count(done.undecided_count, 'exercise')} (stopped,"
            " unreadable, waits)."
        )
    if done.without_cell:
        print_warning(f"No points, because the gradebook has no such cell: {', '.join(done.without_cell)}.")


def _print_next_command(*words: object) -> None:
    """Print the next command, quoted for a shell."""
    typer.echo(f"Next: coginst {shlex.join(map(str, words))}")
