"""Prepare a kernel of `coginst lab` before its first cell: a cell that runs too early then shows one calm line."""

import utils.notebook.exception_hooks  # importing utils registers the handler

del utils
