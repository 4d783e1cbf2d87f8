"""`coginst book` builds the course as a web site; `coginst vendor` fetches the npm packages that its pages need."""

from __future__ import annotations

from pathlib import Path

import typer

from utils.cli.app import INSTRUCTORS, MAINTAINERS, app, report_errors


@app.command(rich_help_panel=INSTRUCTORS)
def book(
    lesson: list[str] = typer.Argument(
        None,
        help="Build only these lessons, such as 02. Links to other lessons then lead to the public clone, if any.",
    ),
    out: Path | None = typer.Option(None, help="The folder for the site.", show_default="build/book"),
    with_solutions: list[str] = typer.Option([], help="Show the answers of this lesson. May be given several times."),
) -> None:
    """Build the course as a web site that works from any folder, without an installation."""
    from utils.book import site

    with report_errors():
        summary = site.build_book(out or site.OUT, lesson or (), with_solutions, log=typer.echo)
        typer.echo(f"{summary.page_count} pages, {summary.size_bytes / 1e6:.1f} MB. Open {summary.path / 'index.html'}")


@app.command(rich_help_panel=MAINTAINERS)
def vendor() -> None:
    """Fetch and verify the npm packages that the book needs. `coginst book` does this automatically."""
    from utils.book import vendor as vendoring

    with report_errors():
        for line in vendoring.fetch_packages():
            typer.echo(f"Fetched {line}")
        for package in vendoring.PACKAGES:
            size = sum(map(len, vendoring.package_files(package).values()))
            typer.echo(
                f"{package.name} {package.version}, {package.licence}: {size / 1e6:.1f} MB are copied into the book"
            )
