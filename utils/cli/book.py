"""`coginst book` and `coginst vendor`: the course as a web site, and what its pages need from npm."""

from __future__ import annotations

from pathlib import Path

import typer

from utils.cli.app import INSTRUCTORS, MAINTAINERS, app, report_errors


@app.command(rich_help_panel=INSTRUCTORS)
def book(
    lesson: list[str] = typer.Argument(
        None, help="Only these lessons, such as 02; the links of others then lead away."
    ),
    out: Path | None = typer.Option(None, help="The folder for the site.", show_default="build/book"),
    with_solutions: list[str] = typer.Option([], help="A lesson whose answers it shows; may be given again."),
) -> None:
    """Make the course into a web site that is read, and moved, with nothing installed."""
    from utils.book import site

    with report_errors():
        made = site.build_book(out or site.OUT, lesson or (), with_solutions, log=typer.echo)
        typer.echo(f"{made.page_count} pages, {made.size_bytes / 1e6:.1f} MB. Open {made.path / 'index.html'}")


@app.command(rich_help_panel=MAINTAINERS)
def vendor() -> None:
    """Fetch what the book's pages need from npm, once, and check it; the book does so by itself."""
    from utils.book import vendor as vendoring

    with report_errors():
        for line in vendoring.fetch_packages():
            typer.echo(f"Fetched {line}")
        for package in vendoring.PACKAGES:
            size = sum(map(len, vendoring.package_files(package).values()))
            typer.echo(
                f"{package.name} {package.version}, {package.licence}: {size / 1e6:.1f} MB of it go into the book"
            )
