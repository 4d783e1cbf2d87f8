"""What torch and Python say when they stop, in a learner's words."""

from __future__ import annotations

import ast
import difflib
import re
import sys

from torch import Tensor

from utils.feedback.observe import Failure, tensors
from utils.feedback.probe import Probe, Trial
from utils.feedback.words import inputs_text

# A pattern in the error's text, and what it means; \\1 is the pattern's first group.
EXPLAINED = (
    (
        r"tri[lu]: input tensor must have at least 2 dim",
        "tril and triu need a matrix, and got a vector. A mask has a row and a column for each position.",
    ),
    (
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
        (
            r"a matrix product needs the left one's columns to match the right one's rows, and here \2 meet \3 (\1 × \2"
            r" times \3 × \4)."
        ),
    ),
    (
        r"Expected size for first two dimensions of batch2 tensor to be: \[(\d+), (\d+)\] but got: \[(\d+), (\d+)\]",
        (
            r"a product of batches needs the left one's last axis to match the right one's last but one, and here \2"
            r" meets \4."
        ),
    ),
    (
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)",
        r"sizes \1 and \2 on axis \3 do not fit together element by element.",
    ),
    (
        r"Boolean value of Tensor with more than one value",
        (
            "`if`, `and`, `or` and `not` want one yes or no, and a tensor holds many. To ask whether there is one at"
            " all, compare with None."
        ),
    ),
    (
        (
            r"bad operand type for unary ~: 'NoneType'|'NoneType' object has no attribute|unsupported operand"
            r" .*'NoneType'|, not NoneType"
        ),
        "something is None here. An argument that may be left out is None when it is; look for it first.",
    ),
    (r"return_types", "max and min with a dim give a pair, values and indices; take its `.values`."),
    (r"1D tensors expected", "torch.dot takes two vectors, and got something with more axes."),
    (r"inconsistent tensor size", "torch.dot takes two vectors of the same length."),
    (r"Dimension out of range .*got (-?\d+)", r"there is no axis \1: the tensor has fewer axes than that."),
    (r"only supports boolean masks", "the mask must hold True and False (dtype bool)."),
    (r"shape '(.*)' is invalid for input of size (\d+)", r"\2 numbers cannot be laid out as \1."),
    (r"same dtype|expected scalar type", "two tensors have different types of numbers; bring them to one type first."),
    (
        r"is not on the expected device|on the same device|Torch not compiled with CUDA",
        "it asks for a device that is not the input's. Make new tensors on the device of the input.",
    ),
    (
        r"leaf Variable that requires grad is being used in an in-place",
        (
            "an operation (one whose name ends in _, or +=) writes into a parameter that is being trained, and torch"
            " keeps track of those. Compute a new tensor, or, to set a parameter on purpose, do it inside"
            " torch.no_grad()."
        ),
    ),
    (
        r"modified by an inplace operation",
        (
            "a tensor that the gradient still needs was overwritten (an operation ending in _, or an assignment into a"
            " slice)."
        ),
    ),
    (r"Module.__init__\(\) call", "`super().__init__()` has to run before anything is stored on self."),
    (
        r'missing the required "forward" function',
        "the class has no method called forward. Is it misspelt, or indented into __init__?",
    ),
    (
        r"'(list|tuple|dict|str|int|float|bool)' object has no attribute '(\w+)'",
        r"a \1 has no `\2`. Was a tensor meant to stand here, or one item of it?",
    ),
    (r"'(\w+)' object has no attribute '(\w+)'", r"a \1 has no `\2`. Is the name spelt as where it was made?"),
    (
        r"bitwise_xor|unsupported operand type\(s\) for \^",
        "`^` is no power in Python: it compares the bits of whole numbers. A power is written `**`.",
    ),
    (
        r"linalg.cross: inputs dimension -?\d+ must have length 3. Got (\d+)",
        r"a cross product exists for vectors of 3 numbers only, and here they have \1.",
    ),
    (r"name '(\w+)' is not defined", r"nothing is called `\1` here."),
    (r"list index out of range", "an index runs past the end of a list, which has fewer items than was counted on."),
    (
        r"unhashable type: '(\w+)'",
        r"a key of a dict must be something that never changes; a \1 can change, a tuple cannot.",
    ),
    (
        r"tuple indices must be integers or slices, not tuple",
        "this is not a tensor but a tuple that holds some. Take the one that you need out of it first.",
    ),
    (
        r"probability tensor contains either",
        (
            "it draws from probabilities, and these hold a negative number, inf or nan. A softmax makes probabilities"
            " of scores."
        ),
    ),
    (
        r"Sizes of tensors must match except in dimension (\d+). Expected size (\d+) but got size (\d+)",
        r"tensors that are joined along axis \1 must agree in all others, and here \2 meets \3.",
    ),
    (
        r"Tensors must have same number of dimensions: got (\d+) and (\d+)",
        (
            r"tensors that are joined need the same number of axes, and here \1 meet \2. keepdim or a None in an index"
            r" keeps an axis."
        ),
    ),
    (r"maximum recursion depth", "it calls itself without end."),
    (
        r"(takes .* but \d+ (?:was|were) given|missing \d+ required .*|unexpected keyword argument .*)",
        r"the call and the signature do not fit: \1.",
    ),
)


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


def _state_text(text: str) -> str:
    """What `load_state_dict` misses or cannot place, in its own words but for the class's name."""
    faults = [line.strip().rstrip(". ") for line in text.splitlines()[1:] if line.strip()]
    return f"load_state_dict finds no match. {_SIZES.sub(_sizes_text, '; '.join(faults))}."


_SIZES = re.compile(
    r"size mismatch for (\S+): copying a param with shape torch.Size\((.*?)\) from checkpoint,"
    r" the shape in current model is torch.Size\((.*?)\)"
)


def _sizes_text(found: re.Match) -> str:
    return f"`{found[1]}` is {found[2]} in what is loaded and {found[3]} here"


def _misspelt(text: str) -> str:
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


def explain(failure: Failure, name: str) -> str:
    """An error in a learner's words where we know it, else its own first line. `name` is the exercise's."""
    missing = re.search(rf"'{name}' object has no attribute '(\w+)'", failure.text)
    if missing:
        return f"the object has no `{missing[1]}`. Did __init__ store it on self, under this name?"
    if near := _misspelt(failure.text):
        return near
    if "loading state_dict" in failure.text:
        return _state_text(failure.text)
    if "must match the size of tensor b" in failure.text and _is_product(failure.code):
        return (
            "in a product of batches all axes before the last two must agree; turn only the last two of the right one."
        )
    for pattern, words in EXPLAINED:
        if found := re.search(pattern, failure.text):
            if "Was a tensor meant" in words and not hasattr(Tensor, found[2]):
                words = r"a \1 has no `\2`. Is it the right thing that this is called on?"
            return found.expand(words) + (_LOSES if "element by element" in words and _reduces(failure.body) else "")
    first = failure.text.strip().splitlines()[0] if failure.text.strip() else "no message"
    return first if first.endswith((".", "!", "?")) else first + "."


# --- a size that is written down -----------------------------------------------------------------------

_AXES = re.compile(r"(?:transpose|permute|swapaxes|movedim)\([^()]*\)|\b(?:dim|axis)=-?\d+")


def fixed_size(probe: Probe, stopped: Trial) -> str:
    """A question to add, where the code holds a number that is a size of the very cases on which it runs, and not of
    the one on which it stopped."""
    traits = probe.runner.traits()
    axes = {int(n) for call in _AXES.findall(traits.source) for n in re.findall(r"\d+", call)}
    written = traits.integers - axes - _sizes(probe, stopped)
    for trial in probe.trials:
        sizes = _sizes(probe, trial)
        if trial.yours.failure is None and sizes & written:
            return (
                f" It does run for {inputs_text(probe.exercise, trial.case)}: is the {min(sizes & written)} in it a"
                " size that should be read from the input?"
            )
    return ""


def _sizes(probe: Probe, trial: Trial) -> set[int]:
    return {n for t in tensors([*probe.named(trial.case).values()]) for n in t.shape}
