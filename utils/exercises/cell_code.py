"""Rerun the notebook cell that computed a value, and record its torch calls."""

from __future__ import annotations
import __future__

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from utils.exercises.call_trace import CallRecorder, TracedCall
from utils.exercises.observe import Observation, build_failure, preserve_global_state, to_plain_tensors
from utils.exercises.side_effects import values_identical


@dataclass(frozen=True)
class CellCode:
    """The cell that computed a value.

    Attributes:
        file: the name of the file that the cell was compiled with.
        source: the source of the cell.
        names: the notebook's variables.
    """

    file: str
    source: str
    names: Mapping[str, Any]

    def trace(self, name: str, value: Any) -> list[TracedCall]:
        """Rerun the cell on copies of the notebook's tensors, and return its torch calls.

        Only assignments, imports, and `for`, `if` and `with` blocks run. Return [] if a statement raises an exception,
        or if the rerun does not set the variable `name` to `value` again.
        """
        recorder = CallRecorder({self.file})
        try:
            result = self._run(name, recorder)
        except (Exception, SystemExit):
            return []
        return recorder.calls if values_identical(result, value) else []

    def run_with_values(self, name: str, values: Mapping[int, Tensor]) -> Observation:
        """Rerun the cell as `trace` does, but replace the results of some calls, and observe the variable `name`.

        `values` maps the index of each of these calls to the tensor that replaces its result.
        """
        try:
            return Observation(to_plain_tensors(self._run(name, CallRecorder({self.file}, values))))
        except (Exception, SystemExit) as error:
            return Observation(failure=build_failure(error, None))

    def _run(self, name: str, recorder: CallRecorder) -> Any:
        tree = ast.parse(self.source)
        tree.body = [statement for statement in tree.body if isinstance(statement, _ASSIGNMENTS)]
        names = {n: v.detach().clone() if type(v) is Tensor else v for n, v in self.names.items()}
        with preserve_global_state(), recorder:
            exec(compile(tree, self.file, "exec", __future__.annotations.compiler_flag), names)
        return names.get(name)


_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.For, ast.If, ast.With, ast.Import, ast.ImportFrom)
