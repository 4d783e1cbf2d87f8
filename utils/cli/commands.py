"""Assemble the complete `coginst` command: `app` with all its commands."""

from utils.cli import book, grading, instructor, learner
from utils.cli.app import INSTRUCTORS, LEARNERS, MAINTAINERS, app

# `coginst --help` lists the commands for learners first.
app.registered_commands.sort(key=lambda each: (LEARNERS, INSTRUCTORS, MAINTAINERS).index(each.rich_help_panel))

__all__ = ["app", "book", "grading", "instructor", "learner"]

if __name__ == "__main__":
    app()
