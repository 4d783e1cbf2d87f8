"""The `coginst` command, whole: `app` with all its commands."""

from utils.cli import instructor, learner
from utils.cli.app import app

__all__ = ["app", "instructor", "learner"]

if __name__ == "__main__":
    app()
