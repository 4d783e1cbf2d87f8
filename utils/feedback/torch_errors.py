"""Explain the errors of torch and Python to learners."""

from __future__ import annotations

import difflib
import re
import sys

from torch import Tensor

from utils.exercises.observe import Failure
from utils.feedback.failing_line import count_products, explain_none
from utils.feedback.torch_error_table import ERROR_EXPLANATIONS

_KEEPDIM_HINT = " A sum or maximum along an axis removes this axis, unless you pass `keepdim=True`."


_ON_NONE = re.compile(
    r"bad operand type for unary \S+: 'NoneType'|'NoneType' object (?:has no attribute|is not|does not support item)"
    r"|unpack non-iterable NoneType|unsupported operand .*'NoneType'|, not NoneType"
)
_REDUCTION = re.compile(r"(?<!\bself)\.(?:sum|mean|max|amax|min|var|std|norm)\(([^()]+)\)")


def _removes_axis(source: str) -> bool:
    """Tell whether a function reduces a tensor along an axis without `keepdim`, for example with `sum`."""
    return any("keepdim" not in arguments for arguments in _REDUCTION.findall(source))


def _size_mismatch_text(match: re.Match, failure: Failure) -> str:
    """Explain sizes that do not match. Only the failing line shows whether the operation was a matrix product."""
    sizes = f"on axis {match[3]} their sizes are {match[1]} and {match[2]}."
    products, others = count_products(failure)
    if products and others:
        reversal = " `.T` reverses all axes; for a product, swap only the last two." if ".T" in failure.code else ""
        return f"two tensors do not fit together: {sizes}{reversal}"
    if products:
        turns = " If you transpose a tensor for a product, swap only its last two axes." * bool(
            _TRANSPOSITION.search(failure.code)
        )
        return f"a batched matrix product needs matching sizes on all axes before the last two, but {sizes}{turns}"
    earlier = failure.body.partition(failure.code)[0] + (failure.part or failure.code) if failure.code else ""
    hint = _KEEPDIM_HINT if _removes_axis(earlier) else ""
    return f"the tensors cannot be combined element by element: {sizes}{hint}"


_SIZE_MISMATCH = re.compile(
    r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton .* (\d+)"
)
_TRANSPOSITION = re.compile(r"\.m?T\b|transpose|permute|swapaxes")


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
    """Suggest a similar name for an attribute that torch, one of its modules or a tensor does not have.

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


def explain_further(failure: Failure) -> str:
    """Explain an error whose text the learner also sees. Return "" if the explanation would only repeat this text."""
    words = explain_failure(failure, "")
    return "" if not failure.text or words.startswith(failure.text.splitlines()[0][:40]) else words


def explain_failure(failure: Failure, exercise_name: str) -> str:
    """Explain an error to a learner. For an error that is not in the table, return the first line of its own text."""
    missing = re.search(rf"'{exercise_name}' object has no attribute '(\w+)'", failure.text)
    if missing:
        return f"the object has no `{missing[1]}`. Does `__init__` store it on self under this name?"
    if suggestion := _misspelling_message(failure.text):
        return suggestion
    if "loading state_dict" in failure.text:
        return _state_dict_text(failure.text)
    if mismatch := _SIZE_MISMATCH.search(failure.text):
        return _size_mismatch_text(mismatch, failure)
    if _ON_NONE.search(failure.text):
        return explain_none(failure)
    for pattern, explanation in ERROR_EXPLANATIONS:
        if match := re.search(pattern, failure.text):
            if "Should this be a tensor" in explanation and not hasattr(Tensor, match[2]):
                explanation = r"a \1 has no `\2`. Is this the object that you meant?"
            return match.expand(explanation).replace("a int ", "an int ")
    first = failure.text.strip().splitlines()[0] if failure.text.strip() else "no message"
    return first if first.endswith((".", "!", "?")) else first + "."
