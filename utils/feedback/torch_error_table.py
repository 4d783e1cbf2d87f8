"""What the errors of torch and Python mean, in a learner's words: a table of patterns."""

from __future__ import annotations

from typing import NamedTuple


class ErrorExplanation(NamedTuple):
    """A pattern in an error's text, and what it means; \\1 in the words is the pattern's first group."""

    pattern: str
    explanation: str


# The first whose pattern is found speaks.
ERROR_EXPLANATIONS = (
    # --- kinds of numbers
    ErrorExplanation(
        r"bitwise_xor|unsupported operand type\(s\) for \^",
        "`^` is no power in Python: it compares the bits of whole numbers. A power is written `**`.",
    ),
    ErrorExplanation(
        r'only implemented on integer and Boolean|"bitwise_\w+" not implemented for',
        "`~`, `&` and `|` work on True and False, and this tensor holds decimal numbers. A comparison, as in"
        " `mask == 0`, makes True and False of them.",
    ),
    ErrorExplanation(
        r"only supports boolean masks|condition to be a boolean tensor",
        "the mask must hold True and False (dtype bool). A comparison, as in `mask == 0`, makes such a mask.",
    ),
    ErrorExplanation(
        r"used as indices must be long",
        "an index holds whole numbers, or is a mask of True and False. A comparison, as in `mask == 0`, makes a mask.",
    ),
    ErrorExplanation(
        r"shape of the mask \[(.*?)\] at index \d+ does not match the shape of the indexed tensor \[(.*?)\]",
        r"a mask as an index must have the sizes of the axes that it picks from, and here [\1] meets [\2].",
    ),
    ErrorExplanation(
        r"'indices' to have one of the following scalar types",
        "an embedding finds its rows by number: what comes in must be whole numbers (dtype long), not decimal ones.",
    ),
    ErrorExplanation(
        r"could not infer output dtype|\" not implemented for '(?:Long|Int|Bool|Byte)'",
        "this works on decimal numbers, and the tensor holds whole ones, or True and False. `.float()` makes them"
        " decimal.",
    ),
    ErrorExplanation(
        r"tuple of ints, ?but (?:got|found element of type) float|'float' object cannot be interpreted as an integer"
        r"|are valid indices \(got float\)",
        "a whole number is wanted here, and a decimal one came. `/` always gives a decimal number; `//` gives a whole"
        " one.",
    ),
    ErrorExplanation(
        r"(sqrt|exp|log|sin|cos|tanh)\(\): argument 'input' .*must be Tensor, not (int|float)",
        r"torch.\1 works on tensors, and this is a plain number (\2). Use `math.\1` for it; a root is also `** 0.5`.",
    ),
    ErrorExplanation(
        r"probability tensor contains either",
        "it draws from probabilities, and these hold a negative number, inf or nan. A softmax makes probabilities of"
        " scores.",
    ),
    ErrorExplanation(
        r"one_hot is only applicable to index",
        "one_hot takes whole numbers (dtype long), such as argmax gives; max gives the values themselves.",
    ),
    ErrorExplanation(
        r"Only Tensors of floating point",
        "only decimal numbers can be trained. What is kept and not trained, as a mask, is a buffer: register_buffer.",
    ),
    # --- the loss over a vocabulary; before the general words on types
    ErrorExplanation(
        r"Expected target size \[(\d+), (\d+)\], got \[(\d+), (\d+)\]",
        r"cross_entropy takes axis 1 of the scores for the vocabulary, wants targets of shape [\1, \2] for these, and"
        r" got [\3, \4]. Flatten both: scores to [batch · positions, vocabulary], targets to [batch · positions].",
    ),
    ErrorExplanation(
        r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)",
        r"cross_entropy wants one target for each row of scores, and here \1 rows meet \2 targets. Flatten both alike.",
    ),
    ErrorExplanation(
        r"multi-target not supported", "cross_entropy wants one number for each row of scores: a vector of targets."
    ),
    ErrorExplanation(
        r"target dtype to be Long|floating point type for target",
        "targets are the numbers of the right classes: a vector of whole numbers (dtype long), one for each row of"
        " scores.",
    ),
    ErrorExplanation(
        r"Target (-?\d+) is out of bounds", r"target \1 has no column among the scores, which are counted from 0."
    ),
    ErrorExplanation(
        r"same dtype|expected scalar type", "two tensors have different types of numbers; bring them to one type first."
    ),
    # --- shapes
    ErrorExplanation(
        r"tri[lu]: input tensor must have at least 2 dim",
        "tril and triu need a matrix, and got a vector. A mask has a row and a column for each position.",
    ),
    ErrorExplanation(
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
        r"a matrix product needs the left one's columns to match the right one's rows, and here \2 meet \3 (\1 × \2"
        r" times \3 × \4).",
    ),
    ErrorExplanation(
        r"size mismatch, got input \(\d+\), mat \((\d+)x(\d+)\), vec \((\d+)\)",
        r"a matrix times a vector needs as many columns as the vector has numbers, and here \2 meet \3.",
    ),
    ErrorExplanation(
        r"Expected size for first two dimensions of batch2 tensor to be: \[(\d+), (\d+)\] but got: \[(\d+), (\d+)\]",
        r"a product of batches needs the left one's last axis to match the right one's last but one, and here \2 meets"
        r" \4.",
    ),
    ErrorExplanation(
        r"batch[12] must be a 3D", "torch.bmm wants two tensors of three axes. `@` takes any number of them."
    ),
    ErrorExplanation(
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)",
        r"sizes \1 and \2 on axis \3 do not fit together element by element.",
    ),
    ErrorExplanation(
        r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at non-singleton .* (\d+)\.",
        r"size \2 cannot be stretched to \1 on axis \3: only an axis of size 1 can.",
    ),
    ErrorExplanation(
        r"number of dimensions in the tensor input does not match the length",
        "permute wants each axis of the tensor once: here are more axes than it has, or fewer.",
    ),
    ErrorExplanation(
        r"view size is not compatible with input",
        "after a transpose the numbers lie in memory in another order than view needs. `.contiguous()` before it copies"
        " them into that order; reshape does so by itself. Do the axes that it joins stand side by side by then?",
    ),
    ErrorExplanation(r"shape '(.*)' is invalid for input of size (\d+)", r"\2 numbers cannot be laid out as \1."),
    ErrorExplanation(
        r"Given normalized_shape=\[(.*?)\], .* got input of size ?\[(.*?)\]",
        r"the layer normalises a last axis of size \1, and what came in has shape [\2].",
    ),
    ErrorExplanation(
        r"number of subscripts in the equation \((\d+)\) does not match the number of dimensions \((\d+)\)",
        r"einsum needs one letter for each axis, and here \1 letters stand for a tensor of \2 axes.",
    ),
    ErrorExplanation(
        r"subscript (\w) has size (\d+) .* previously seen size (\d+)",
        r"a letter of einsum stands for one size wherever it is written, and `\1` stands for \3 and for \2.",
    ),
    ErrorExplanation(
        r"stack expects each tensor to be equal size, but got \[(.*?)\] at entry 0 and \[(.*?)\]",
        r"tensors that are stacked must have one shape, and here [\1] meets [\2].",
    ),
    ErrorExplanation(
        r"Sizes of tensors must match except in dimension (\d+). Expected size (\d+) but got size (\d+)",
        r"tensors that are joined along axis \1 must agree in all others, and here \2 meets \3.",
    ),
    ErrorExplanation(
        r"Tensors must have same number of dimensions: got (\d+) and (\d+)",
        r"tensors that are joined need the same number of axes, and here \1 meet \2. keepdim or a None in an index"
        r" keeps an axis.",
    ),
    ErrorExplanation(
        r"(stack|cat|concat)\(\): argument 'tensors' .*must be tuple of Tensors",
        r"torch.\1 takes its tensors in one list: `torch.\1([a, b])`.",
    ),
    ErrorExplanation(
        r"expects a non-empty TensorList|expected a non-empty list of Tensors",
        "the list that is to be joined is empty: nothing was put into it.",
    ),
    ErrorExplanation(
        r"zero-dimensional tensor .* cannot be concatenated",
        "torch.cat joins along an axis, and a single number has none. torch.stack gives it one.",
    ),
    ErrorExplanation(r"1D tensors expected", "torch.dot takes two vectors, and got something with more axes."),
    ErrorExplanation(r"inconsistent tensor size", "torch.dot takes two vectors of the same length."),
    ErrorExplanation(
        r"linalg.cross: inputs dimension -?\d+ must have length 3. Got (\d+)",
        r"a cross product exists for vectors of 3 numbers only, and here they have \1.",
    ),
    # --- indices and axes
    ErrorExplanation(
        r"Dimension out of range .*got (-?\d+)", r"there is no axis \1: the tensor has fewer axes than that."
    ),
    ErrorExplanation(
        r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)",
        r"there is no index \1 on axis \2, which has size \3 and is counted from 0.",
    ),
    ErrorExplanation(
        r"too many indices for tensor of dimension (\d+)", r"the index names more axes than the tensor has (\1)."
    ),
    ErrorExplanation(
        r"^index out of range in self",
        "an embedding has no row of that number. Its rows are counted from 0, and there are as many as it was made"
        " with.",
    ),
    ErrorExplanation(
        r"list index out of range", "an index runs past the end of a list, which has fewer items than was counted on."
    ),
    ErrorExplanation(
        r"tuple index out of range",
        "an index runs past the end of a tuple. The shape of a tensor is one, with a size for each axis.",
    ),
    ErrorExplanation(
        r"values to unpack \(expected (?:at least )?(\d+)",
        r"\1 names stand left of `=`, and the right side has more or fewer values. A shape has one for each axis, a"
        r" function as many as it returns.",
    ),
    ErrorExplanation(
        r"tuple indices must be integers or slices, not tuple",
        "this is not a tensor but a tuple that holds some. Take the one that you need out of it first.",
    ),
    ErrorExplanation(
        r"unhashable type: '(\w+)'",
        r"a key of a dict must be something that never changes; a \1 can change, a tuple cannot.",
    ),
    # --- something else than what was meant
    ErrorExplanation(r"return_types", "max and min with a dim give a pair, values and indices; take its `.values`."),
    ErrorExplanation(
        r"Boolean value of Tensor with more than one value",
        "`if`, `and`, `or`, `not` and `bool` want one yes or no, and a tensor holds many. To ask whether there is one"
        " at all, compare with None; `~` turns each entry of a mask round.",
    ),
    ErrorExplanation(
        r"bad operand type for unary ~: 'NoneType'|'NoneType' object (?:has no attribute|is not)"
        r"|unsupported operand .*'NoneType'|, not NoneType",
        "something is None here. An argument that was left out may be None, and so is what a call gives that returns"
        " nothing, as register_buffer does.",
    ),
    ErrorExplanation(
        r"only one element tensors can be converted|elements cannot be converted to Scalar",
        "one number is wanted here, and a tensor with several came. The functions of `math` take one number,"
        " torch's own take tensors; torch.stack makes one tensor of many.",
    ),
    ErrorExplanation(
        r"only integer tensors of a single element",
        "a plain whole number is wanted here, and a tensor came. `len(x)` is the size of its first axis. A list times a"
        " tensor asks for one too: make a tensor of the list.",
    ),
    ErrorExplanation(
        r"'torch.Size' object is not callable",
        "shape is no function: `x.shape[0]` gives a size, and so does `x.size(0)`.",
    ),
    ErrorExplanation(
        r"'torch.dtype' object is not callable", "a dtype is no function: `x.bool()` or `x.to(torch.bool)`."
    ),
    ErrorExplanation(
        r"'(\w+)' object is not callable",
        r"round brackets behind a \1 call it like a function, or it stands where a function or a layer should. An index"
        r" is written in [], a matrix product with @.",
    ),
    ErrorExplanation(
        r"(?:method|function)' object is not subsc", "a function is called with round brackets, as in `x.size(0)`."
    ),
    ErrorExplanation(
        r"'(int|float)' object is not iterable", r"a \1 has no items to go through. `range(n)` counts from 0 to n - 1."
    ),
    ErrorExplanation(
        r"(\w+)\(\) received an invalid combination of arguments - got \((.*?)\), but",
        r"\1 cannot take arguments of the types that it got: \2.",
    ),
    ErrorExplanation(
        r"'Tensor' object has no attribute 'append'",
        "a tensor does not grow. torch.cat joins two tensors to a new one.",
    ),
    ErrorExplanation(
        r"'Linear' object has no attribute '(?:T|mT|shape|data|detach|clone|copy_|transpose)'"
        r"|unsupported operand .*'Linear'",
        "an nn.Linear is a layer: it is called with a tensor, and the numbers that it holds are its `.weight`.",
    ),
    ErrorExplanation(
        r"'(list|tuple|dict|str|int|float|bool)' object has no attribute '(\w+)'",
        r"a \1 has no `\2`. Was a tensor meant to stand here, or one item of it?",
    ),
    ErrorExplanation(
        r"'(\w+)' object has no attribute '(\w+)'", r"a \1 has no `\2`. Is the name spelt as where it was made?"
    ),
    ErrorExplanation(r"name '(\w+)' is not defined", r"nothing is called `\1` here."),
    ErrorExplanation(r"maximum recursion depth", "it calls itself without end."),
    ErrorExplanation(
        r"\w+\.\w+\(\) (takes .* but \d+ (?:was|were) given)",
        r"the call and the signature do not fit: it \1, of which self is one.",
    ),
    ErrorExplanation(
        r"(takes .* but \d+ (?:was|were) given|missing \d+ required .*|unexpected keyword argument .*)",
        r"the call and the signature do not fit: \1.",
    ),
    # --- layers, devices, gradients
    ErrorExplanation(r"Module.__init__\(\) call", "`super().__init__()` has to run before anything is stored on self."),
    ErrorExplanation(
        r"\[Module(?:List|Dict)\] is missing the required",
        "an nn.ModuleList is a list of layers, and is not called itself: loop over it, and call each of them.",
    ),
    ErrorExplanation(
        r'missing the required "forward" function',
        "the class has no method called forward. Is it misspelt, or indented into __init__?",
    ),
    ErrorExplanation(
        r"cannot assign '.*nn\.modules.*' as parameter '(\w+)'",
        r"`\1` is a parameter, and a whole layer was to take its place. The numbers of a layer are in its `.weight`.",
    ),
    ErrorExplanation(
        r"cannot assign '.*' as parameter '(\w+)'", r"`self.\1` is a parameter: wrap the tensor in nn.Parameter(...)."
    ),
    ErrorExplanation(
        r"list is not a Module subclass", "nn.Sequential takes its layers one by one: `nn.Sequential(*layers)`."
    ),
    ErrorExplanation(r"ModuleList.extend should be called with", "nn.ModuleList takes its layers in one list."),
    ErrorExplanation(
        r"optimizer got an empty parameter list",
        "the optimizer got no parameters. A layer, or an nn.Parameter, that is stored on self is one; a tensor is not.",
    ),
    ErrorExplanation(
        r"is not on the expected device|on the same device|Torch not compiled with CUDA",
        "it asks for a device that is not the input's. Make new tensors on the device of the input.",
    ),
    ErrorExplanation(
        r"leaf Variable that requires grad is being used in an in-place",
        "an operation (one whose name ends in _, or +=) writes into a parameter that is being trained, and torch keeps"
        " track of those. Compute a new tensor, or, to set a parameter on purpose, do it inside torch.no_grad().",
    ),
    ErrorExplanation(
        r"modified by an inplace operation",
        "a tensor that the gradient still needs was overwritten (an operation ending in _, or an assignment into a"
        " slice).",
    ),
    ErrorExplanation(
        r"does not require grad and does not have a grad_fn",
        "backward finds no parameter that this number was made of, or the way to it is cut (.detach(), .item(),"
        " torch.no_grad()).",
    ),
    ErrorExplanation(
        r"backward through the graph a second time",
        "backward ran twice over one loss. Compute it anew before each call.",
    ),
    ErrorExplanation(
        r"only for scalar outputs",
        "backward starts from one number, and this tensor has several. Take their mean or sum.",
    ),
)
