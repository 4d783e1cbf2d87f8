"""`python -m utils.cli` is `coginst`."""

from utils.cli.commands import app

app()
