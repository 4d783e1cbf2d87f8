"""`python -m utils.instructor.cli`, as it was called before the command had a room of its own."""

from utils.cli.commands import app

if __name__ == "__main__":
    app()
