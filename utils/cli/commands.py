"""The `coginst` command, whole: `app` with all its commands."""

from utils.cli import book, grading, instructor, learner
from utils.cli.app import app

__all__ = ["app", "book", "grading", "instructor", "learner"]

if __name__ == "__main__":
    app()
