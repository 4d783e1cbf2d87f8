"""Explain the errors of torch and Python to learners."""

from __future__ import annotations

import ast
import difflib
import re
import sys

from torch import Tensor

from utils.feedback.observe import Failure, collect_tensors
from utils.feedback.phrases import inputs_text
from utils.feedback.probe import Probe, Trial
from utils.feedback.torch_error_table import ERROR_EXPLANATIONS

_KEEPDIM_HINT = " A sum or maximum along an axis removes this axis, unless you pass `keepdim=True`."


_REDUCTION = re.compile(r"(?<!\bself)\.(?:sum|mean|max|amax|min|var|std|norm)\(([^()]+)\)")


def _removes_axis(source: str) -> bool:
    """Tell whether a function reduces a tensor along an axis, for example with `sum`, without `keepdim`."""
    return any("keepdim" not in arguments for arguments in _REDUCTION.findall(source))


def _is_product(line: str) -> bool:
    """Tell whether the only binary operator on a line is `@`, so that the error must come from a matrix product."""
    try:
        nodes = [*ast.walk(ast.parse(line.strip().rstrip(":")))]
    except SyntaxError:
        return False
    operators = [type(node.op) for node in nodes if isinstance(node, ast.BinOp)]
    return bool(operators) and all(op is ast.MatMult for op in operators)


def _state_dict_text(text: str) -> str:
    """Combine the errors that `load_state_dict` reports into one sentence, without the name of the class."""
    faults = [line.strip().rstrip(". ") for line in text.splitlines()[1:] if line.strip()]
    return f"the state_dict does not match the model. {_SIZES.sub(_sizes_text, '; '.join(faults))}."


_SIZES = re.compile(
    r"size mismatch for (\S+): copying a param with shape torch.Size\((.*?)\) from checkpoint,"
    r" the shape in current model is torch.Size\((.*?)\)"
)


def _sizes_text(match: re.Match) -> str:
    return f"`{match[1]}` has shape {match[2]} in the state_dict and {match[3]} in the model"


def _misspelling_message(text: str) -> str:
    """Suggest a similar name if an error says that torch, a module of torch or a tensor lacks an attribute.

    Returns "" if no name is similar.
    """
    match = re.search(r"(?:module '(torch[\w.]*)'|'(Tensor)' object) has no attribute '(\w+)'", text)
    owner = match and (sys.modules.get(match[1]) if match[1] else Tensor)
    if not match or owner is None:
        return ""
    names: dict[str, list[str]] = {}
    for name in dir(owner):
        names.setdefault(name.lower(), []).append(name)
    close = difflib.get_close_matches(match[3].lower(), names, n=1)
    if not close:
        return ""
    suggestion = max(names[close[0]], key=lambda name: difflib.SequenceMatcher(None, name, match[3]).ratio())
    where = f"`{match[1]}`" if match[1] else "a tensor"
    return f"{where} has no `{match[3]}`. Did you mean `{suggestion}`?"


def explain_failure(failure: Failure, exercise_name: str) -> str:
    """Explain an error to a learner. An error that is not in the table keeps the first line of its own text."""
    missing = re.search(rf"'{exercise_name}' object has no attribute '(\w+)'", failure.text)
    if missing:
        return f"the object has no `{missing[1]}`. Does `__init__` store it on self under this name?"
    if suggestion := _misspelling_message(failure.text):
        return suggestion
    if "loading state_dict" in failure.text:
        return _state_dict_text(failure.text)
    if "must match the size of tensor b" in failure.text and _is_product(failure.code):
        return (
            "a batched matrix product needs matching sizes on all axes before the last two. Transpose only the last two"
            " axes of the right tensor."
        )
    for pattern, explanation in ERROR_EXPLANATIONS:
        if match := re.search(pattern, failure.text):
            if "Should this be a tensor" in explanation and not hasattr(Tensor, match[2]):
                explanation = r"a \1 has no `\2`. Is this the object that you meant?"
            message = match.expand(explanation).replace("a int ", "an int ")
            return message + (
                _KEEPDIM_HINT if "element by element" in explanation and _removes_axis(failure.body) else ""
            )
    first = failure.text.strip().splitlines()[0] if failure.text.strip() else "no message"
    return first if first.endswith((".", "!", "?")) else first + "."


# --- hard-coded sizes ----------------------------------------------------------------------------------

_AXES = re.compile(r"(?:transpose|permute|swapaxes|movedim)\([^()]*\)|\b(?:dim|axis)=-?\d+")


def hard_coded_size_hint(probe: Probe, failed_trial: Trial) -> str:
    """Ask about a number in the code that matches a size in a successful case but no size in the failed case.

    Returns a sentence with a space before it, or "" if the code has no such number.
    """
    traits = probe.runner.inspect_code()
    axes = {int(n) for call in _AXES.findall(traits.source) for n in re.findall(r"\d+", call)}
    candidates = traits.integers - axes - _sizes(probe, failed_trial)
    for trial in probe.trials:
        sizes = _sizes(probe, trial)
        if trial.yours.failure is None and sizes & candidates:
            return (
                f" It does run for {inputs_text(probe.exercise, trial.case)}: is the {min(sizes & candidates)} in your"
                " code a size that should come from the input?"
            )
    return ""


def _sizes(probe: Probe, trial: Trial) -> set[int]:
    return {n for t in collect_tensors([*probe.bind_arguments(trial.case).values()]) for n in t.shape}
