"""Keep `python -m utils.instructor.cli` working, the command's name before the package `utils.cli` existed."""

from utils.cli.commands import app

if __name__ == "__main__":
    app()
