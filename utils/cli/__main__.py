"""Run the `coginst` command: `python -m utils.cli`."""

from utils.cli.commands import app

app()
