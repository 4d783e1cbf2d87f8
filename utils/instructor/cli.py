"""Keep the old command `python -m utils.instructor.cli` working."""

from utils.cli.commands import app

if __name__ == "__main__":
    app()
