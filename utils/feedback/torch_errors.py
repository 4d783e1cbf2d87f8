"""What torch and Python say when they stop, in a learner's words."""

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

_LOSES = " A sum or maximum along an axis loses that axis, unless keepdim keeps it."


_ALONG = re.compile(r"(?<!\bself)\.(?:sum|mean|max|amax|min|var|std|norm)\(([^()]+)\)")


def _reduces(source: str) -> bool:
    """Whether a function takes a sum or the like along an axis, and does not keep it."""
    return any("keepdim" not in arguments for arguments in _ALONG.findall(source))


def _is_product(line: str) -> bool:
    """Whether a line has a matrix product in it, and no other operator that could have met tensors."""
    try:
        nodes = [*ast.walk(ast.parse(line.strip().rstrip(":")))]
    except SyntaxError:
        return False
    operators = [type(node.op) for node in nodes if isinstance(node, ast.BinOp)]
    return bool(operators) and all(op is ast.MatMult for op in operators)


def _state_dict_text(text: str) -> str:
    """What `load_state_dict` misses or cannot place, in its own words but for the class's name."""
    faults = [line.strip().rstrip(". ") for line in text.splitlines()[1:] if line.strip()]
    return f"load_state_dict finds no match. {_SIZES.sub(_sizes_text, '; '.join(faults))}."


_SIZES = re.compile(
    r"size mismatch for (\S+): copying a param with shape torch.Size\((.*?)\) from checkpoint,"
    r" the shape in current model is torch.Size\((.*?)\)"
)


def _sizes_text(found: re.Match) -> str:
    return f"`{found[1]}` is {found[2]} in what is loaded and {found[3]} here"


def _misspelling_message(text: str) -> str:
    """The name that was meant where torch, one of its modules or a tensor has none as it is spelt; "" where none is
    close."""
    found = re.search(r"(?:module '(torch[\w.]*)'|'(Tensor)' object) has no attribute '(\w+)'", text)
    owner = found and (sys.modules.get(found[1]) if found[1] else Tensor)
    if not found or owner is None:
        return ""
    names: dict[str, list[str]] = {}
    for name in dir(owner):
        names.setdefault(name.lower(), []).append(name)
    close = difflib.get_close_matches(found[3].lower(), names, n=1)
    if not close:
        return ""
    meant = max(names[close[0]], key=lambda name: difflib.SequenceMatcher(None, name, found[3]).ratio())
    where = f"`{found[1]}`" if found[1] else "a tensor"
    return f"{where} has no `{found[3]}`. Did you mean `{meant}`?"


def explain_failure(failure: Failure, exercise_name: str) -> str:
    """An error in a learner's words where we know it, else its own first line. `name` is the exercise's."""
    missing = re.search(rf"'{exercise_name}' object has no attribute '(\w+)'", failure.text)
    if missing:
        return f"the object has no `{missing[1]}`. Did __init__ store it on self, under this name?"
    if near := _misspelling_message(failure.text):
        return near
    if "loading state_dict" in failure.text:
        return _state_dict_text(failure.text)
    if "must match the size of tensor b" in failure.text and _is_product(failure.code):
        return (
            "in a product of batches all axes before the last two must agree; turn only the last two of the right one."
        )
    for pattern, words in ERROR_EXPLANATIONS:
        if found := re.search(pattern, failure.text):
            if "Was a tensor meant" in words and not hasattr(Tensor, found[2]):
                words = r"a \1 has no `\2`. Is it the right thing that this is called on?"
            told = found.expand(words).replace("a int ", "an int ")
            return told + (_LOSES if "element by element" in words and _reduces(failure.body) else "")
    first = failure.text.strip().splitlines()[0] if failure.text.strip() else "no message"
    return first if first.endswith((".", "!", "?")) else first + "."


# --- a size that is written down -----------------------------------------------------------------------

_AXES = re.compile(r"(?:transpose|permute|swapaxes|movedim)\([^()]*\)|\b(?:dim|axis)=-?\d+")


def hard_coded_size_hint(probe: Probe, failed_trial: Trial) -> str:
    """A question to add, where the code holds a number that is a size of the very cases on which it runs, and not of
    the one on which it stopped."""
    traits = probe.runner.inspect_code()
    axes = {int(n) for call in _AXES.findall(traits.source) for n in re.findall(r"\d+", call)}
    written = traits.integers - axes - _sizes(probe, failed_trial)
    for trial in probe.trials:
        sizes = _sizes(probe, trial)
        if trial.yours.failure is None and sizes & written:
            return (
                f" It does run for {inputs_text(probe.exercise, trial.case)}: is the {min(sizes & written)} in it a"
                " size that should be read from the input?"
            )
    return ""


def _sizes(probe: Probe, trial: Trial) -> set[int]:
    return {n for t in collect_tensors([*probe.bind_arguments(trial.case).values()]) for n in t.shape}
