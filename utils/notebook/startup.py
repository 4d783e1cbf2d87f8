"""What a kernel that `coginst lab` starts runs before any cell: from then on a cell that was run too early is calm."""

import utils.notebook.exception_hooks  # importing utils registers the handler

del utils
