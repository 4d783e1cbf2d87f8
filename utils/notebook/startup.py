"""Register the exception hook before the first cell of a `coginst lab` kernel runs."""

import utils.notebook.exception_hooks  # importing `utils` registers the hook

del utils
