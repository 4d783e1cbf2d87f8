"""Define the table of errors that torch and Python raise, each with an explanation for learners."""

from __future__ import annotations

from typing import NamedTuple


class ErrorExplanation(NamedTuple):
    r"""A pattern for the text of an error, and its explanation; `\1` is replaced by the pattern's first group."""

    pattern: str
    explanation: str


_IN_PLACE = "a method whose name ends in _, an operator such as += or *=, or an assignment to an index or a slice"

# The first entry whose pattern matches supplies the explanation, so specific patterns come before general ones.
ERROR_EXPLANATIONS = (
    # --- dtypes
    ErrorExplanation(
        r"bitwise_xor|unsupported operand type\(s\) for \^",
        "`^` is not a power in Python: it compares the bits of integers. Write a power as `**`.",
    ),
    ErrorExplanation(
        r'only implemented on integer and Boolean|"bitwise_\w+" not implemented for \'(?:Float|Double|Half|BFloat16)\'',
        "`~`, `&` and `|` work on boolean tensors, but this tensor holds floating-point numbers. `mask.bool()`"
        " turns a mask of 0 and 1 into a boolean mask.",
    ),
    ErrorExplanation(
        r"only supports boolean masks|condition to be a boolean tensor",
        "the mask must be a boolean tensor (dtype bool). `mask.bool()` turns a mask of 0 and 1 into a boolean mask.",
    ),
    ErrorExplanation(
        r"used as indices must be long",
        "an index must be an integer tensor or a boolean mask. A comparison such as `mask == 0` gives a boolean mask.",
    ),
    ErrorExplanation(
        r"shape of the mask \[(.*?)\] at index \d+ does not match the shape of the indexed tensor \[(.*?)\]",
        r"a mask in an index needs the same sizes as the axes that it selects from, but the mask has shape [\1] and the"
        r" tensor has shape [\2].",
    ),
    ErrorExplanation(
        r"'indices' to have one of the following scalar types",
        "an embedding looks up its rows by number, so its input must hold integers (dtype long).",
    ),
    ErrorExplanation(
        r"could not infer output dtype|\" not implemented for '(?:Long|Int|Short|Char|Bool|Byte)'",
        "this operation does not work on the dtype of this tensor, which holds integers or booleans. `.float()`"
        " converts them to floating-point numbers.",
    ),
    ErrorExplanation(
        r"tuple of ints, ?but (?:got|found element of type) float|'float' object cannot be interpreted as an integer"
        r"|are valid indices \(got float\)",
        "an integer is needed here, but this is a floating-point number. `/` always gives a floating-point number; `//`"
        " between integers gives an integer.",
    ),
    ErrorExplanation(
        r"(sqrt|exp|log|sin|cos|tanh)\(\): argument 'input' .*must be Tensor, not (int|float)",
        r"torch.\1 needs a tensor, but got a plain number (\2). Use `math.\1` for a plain number; a square root can"
        r" also be written as `** 0.5`.",
    ),
    ErrorExplanation(
        r"probability tensor contains either",
        "sampling needs probabilities, but these contain a negative number, inf or nan. A softmax turns scores into"
        " probabilities; if all scores of a row are -inf, it gives nan.",
    ),
    ErrorExplanation(
        r"one_hot is only applicable to index",
        "one_hot needs integers (dtype long), like the indices that argmax returns; max returns the values themselves.",
    ),
    ErrorExplanation(
        r"Only Tensors of floating point",
        "only floating-point numbers can be trained. A tensor that is kept but not trained, such as a mask, should be"
        " a buffer: use register_buffer.",
    ),
    # --- cross_entropy; these entries must come before the general entries on dtypes
    ErrorExplanation(
        r"Expected target size \[(\d+), (\d+)\], got \[(\d+), (\d+)\]",
        r"cross_entropy expects the vocabulary on axis 1 of the scores, so for these scores it needs targets of shape"
        r" [\1, \2], but got [\3, \4]. Flatten both: scores to [batch · positions, vocabulary], targets to [batch ·"
        r" positions].",
    ),
    ErrorExplanation(
        r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)",
        r"cross_entropy needs one target for each row of scores, but got \1 rows and \2 targets. Flatten scores and"
        r" targets in the same way.",
    ),
    ErrorExplanation(
        r"multi-target not supported",
        "cross_entropy needs one class index for each row of scores, so the targets must be a vector.",
    ),
    ErrorExplanation(
        r"target dtype to be Long|floating point type for target",
        "targets must be class indices: a vector of integers (dtype long), one for each row of scores.",
    ),
    ErrorExplanation(
        r"Target (-?\d+) is out of bounds",
        r"target \1 is out of range: the scores have no column with this index (columns are counted from 0).",
    ),
    ErrorExplanation(
        r"same dtype|expected scalar type", "two tensors have different dtypes; convert them to the same dtype first."
    ),
    # --- shapes
    ErrorExplanation(
        r"tri[lu]: input tensor must have at least 2 dim",
        "tril and triu need a matrix, but got a tensor with fewer than two axes. A mask has a row and a column for each"
        " position.",
    ),
    ErrorExplanation(
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
        r"a matrix product needs as many columns on the left as rows on the right, but got \2 columns and \3 rows (\1"
        r" × \2 times \3 × \4).",
    ),
    ErrorExplanation(
        r"size mismatch, got input \(\d+\), mat \((\d+)x(\d+)\), vec \((\d+)\)",
        r"a matrix times a vector needs as many columns as the vector has numbers, but got \2 columns and \3 numbers.",
    ),
    ErrorExplanation(
        r"Expected size for first two dimensions of batch2 tensor to be: \[(\d+), \d+\] but got: \[(?!\1,)(\d+), \d+\]",
        r"a batched matrix product needs the same number of matrices on both sides, but got \1 and \2.",
    ),
    ErrorExplanation(
        r"Expected size for first two dimensions of batch2 tensor to be: \[(\d+), (\d+)\] but got: \[(\d+), (\d+)\]",
        r"a batched matrix product needs the last axis on the left to match the second-to-last axis on the right, but"
        r" their sizes are \2 and \4.",
    ),
    ErrorExplanation(
        r"batch[12] must be a 3D", "torch.bmm needs two tensors with three axes. `@` works with any number of axes."
    ),
    ErrorExplanation(
        r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at non-singleton .* (\d+)\.",
        r"size \2 cannot be expanded to \1 on axis \3: only an axis of size 1 can be expanded.",
    ),
    ErrorExplanation(
        r"output with shape \[(.*?)\] doesn't match the broadcast shape \[(.*?)\]",
        r"an in-place operation, such as +=, cannot change the shape of its tensor, but the tensor has shape [\1] and"
        r" the result has shape [\2].",
    ),
    ErrorExplanation(
        r"number of dimensions in the tensor input does not match the length",
        "permute needs each axis of the tensor exactly once, but got too many or too few axes.",
    ),
    ErrorExplanation(
        r"view size is not compatible with input",
        "view does not fit the memory layout of this tensor: after a transpose, call `.contiguous()` first, or use"
        " reshape. At that point, are the axes that you join adjacent?",
    ),
    ErrorExplanation(
        r"shape '(.*)' is invalid for input of size (\d+)", r"\2 numbers cannot be arranged in the shape \1."
    ),
    ErrorExplanation(
        r"Given normalized_shape=\[(.*?)\], .* got input of size ?\[(.*?)\]",
        r"the layer normalises inputs whose shape ends in [\1], but its input has shape [\2].",
    ),
    ErrorExplanation(
        r"number of subscripts in the equation \((\d+)\) does not match the number of dimensions \((\d+)\)",
        r"einsum needs one letter for each axis, but got \1 letters for a tensor with \2 axes.",
    ),
    ErrorExplanation(
        r"subscript (\w) has size (\d+) .* previously seen size (\d+)",
        r"a letter in einsum must stand for the same size everywhere, but `\1` stands for \3 and for \2.",
    ),
    ErrorExplanation(
        r"stack expects each tensor to be equal size, but got \[(.*?)\] at entry 0 and \[(.*?)\]",
        r"stacked tensors must have the same shape, but got [\1] and [\2].",
    ),
    ErrorExplanation(
        r"Sizes of tensors must match except in dimension (\d+). Expected size (\d+) but got size (\d+)",
        r"tensors that are concatenated along axis \1 must have equal sizes on all other axes, but got the sizes \2 and"
        r" \3.",
    ),
    ErrorExplanation(
        r"Tensors must have same number of dimensions: got (\d+) and (\d+)",
        r"concatenated tensors need the same number of axes, but these tensors have \1 and \2 axes. `keepdim=True`"
        r" keeps an axis, and None in an index adds one.",
    ),
    ErrorExplanation(
        r"(stack|cat|concat)\(\): argument 'tensors' .*must be tuple of Tensors",
        r"torch.\1 takes its tensors in one list: `torch.\1([a, b])`.",
    ),
    ErrorExplanation(
        r"expects a non-empty TensorList|expected a non-empty list of Tensors",
        "the list of tensors to join is empty.",
    ),
    ErrorExplanation(
        r"zero-dimensional tensor .* cannot be concatenated",
        "torch.cat joins tensors along an axis, but a single number has no axis. torch.stack adds one.",
    ),
    ErrorExplanation(r"1D tensors expected", "torch.dot needs two vectors, but got a tensor that is not a vector."),
    ErrorExplanation(r"inconsistent tensor size", "torch.dot needs two vectors of the same length."),
    ErrorExplanation(
        r"linalg.cross: inputs dimension -?\d+ must have length 3. Got (\d+)",
        r"a cross product exists only for vectors of 3 numbers, not for vectors of \1 numbers.",
    ),
    # --- indices and axes
    ErrorExplanation(r"Dimension out of range .*got (-?\d+)", r"there is no axis \1: the tensor has fewer axes."),
    ErrorExplanation(
        r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)",
        r"there is no index \1 on axis \2, which has size \3; indices are counted from 0.",
    ),
    ErrorExplanation(
        r"too many indices for tensor of dimension (\d+)", r"the index has more entries than the tensor has axes (\1)."
    ),
    ErrorExplanation(
        r"^index out of range in self",
        "the embedding has no row with this number. Its rows are numbered from 0 to `num_embeddings - 1`.",
    ),
    ErrorExplanation(
        r"list index out of range",
        "an index is beyond the end of a list: the list has fewer items than your code expects.",
    ),
    ErrorExplanation(
        r"tuple index out of range",
        "an index is beyond the end of a tuple. The shape of a tensor is a tuple with one size for each axis.",
    ),
    ErrorExplanation(
        r"values to unpack \(expected (?:at least )?(\d+)",
        r"your code unpacks \1 values, but there are more or fewer. A shape contains one value for each axis; for a"
        r" function call, count the values that the function returns.",
    ),
    ErrorExplanation(
        r"(tuple|list) indices must be integers or slices, not tuple",
        r"a \1 takes one index at a time; only a tensor takes several. Is it meant to be a tensor, or one item of the"
        r" \1?",
    ),
    ErrorExplanation(
        r"unhashable type: '(list|dict|set)'",
        r"a dict key or a set item must be immutable: a \1 is mutable, but a tuple is immutable.",
    ),
    # --- values of an unexpected type, and names
    ErrorExplanation(
        r"return_types\.(max|min|sort|topk|median|mode|cummax|cummin|kthvalue)\b",
        r"`\1` returns a pair here, values and indices: use `.values` of this pair.",
    ),
    ErrorExplanation(
        r"Boolean value of Tensor with more than one value",
        "`if`, `and`, `or`, `not` and `bool` need a single True or False, but a tensor holds many. To test whether a"
        " tensor was passed at all, compare it with None; to invert a mask, use `~`.",
    ),
    ErrorExplanation(
        r"only one element tensors can be converted|elements cannot be converted to Scalar",
        "one number is needed here, but this tensor does not hold exactly one number. Functions of `math` take"
        " one number, torch's own functions take tensors, and torch.stack combines several tensors into one tensor.",
    ),
    ErrorExplanation(
        r"only integer tensors of a single element",
        "a plain integer is needed here, but a tensor was passed; `len(x)` is the size of the first axis of `x`. If you"
        " multiply a list by a tensor, convert the list to a tensor first.",
    ),
    ErrorExplanation(
        r"'torch.Size' object is not callable",
        "a shape is not a function: `x.shape[0]` gives a size, and so does `x.size(0)`.",
    ),
    ErrorExplanation(
        r"'torch.dtype' object is not callable",
        "a dtype is not a function: to convert to bool, for example, write `x.bool()` or `x.to(torch.bool)`.",
    ),
    ErrorExplanation(
        r"'(\w+)' object is not callable",
        r"parentheses after a \1 would call it, but a \1 is not a function. Write an index with [] and a matrix"
        r" product with @.",
    ),
    ErrorExplanation(
        r"(?:method|function)' object is not subsc", "a function is called with parentheses, as in `x.size(0)`."
    ),
    ErrorExplanation(
        r"'(int|float)' object is not iterable", r"a \1 has no items to loop over. `range(n)` counts from 0 to n - 1."
    ),
    ErrorExplanation(
        r"(\w+)\(\) received an invalid combination of arguments - got \((.*?)\), but",
        r"\1 does not accept arguments of these types: \2.",
    ),
    ErrorExplanation(
        r"'Tensor' object has no attribute 'append'",
        "a tensor cannot grow. torch.cat joins two tensors into a new one.",
    ),
    ErrorExplanation(
        r"'Linear' object has no attribute '(?:T|mT|shape|data|detach|clone|copy_|transpose)'"
        r"|unsupported operand .*'Linear'",
        "an nn.Linear is a layer, not a tensor: call it with a tensor, or use its numbers, `.weight`.",
    ),
    ErrorExplanation(
        r"'(list|tuple|dict|str|int|float|bool)' object has no attribute '(\w+)'",
        r"a \1 has no `\2`. Should this be a tensor, or one item of the \1?",
    ),
    ErrorExplanation(
        r"'(\w+)' object has no attribute '(\w+)'",
        r"a \1 has no `\2`. Is the name spelt as in its definition?",
    ),
    ErrorExplanation(r"name '(\w+)' is not defined", r"the name `\1` is not defined here."),
    ErrorExplanation(
        r"maximum recursion depth", "a function calls itself too many times. Does the recursion ever end?"
    ),
    ErrorExplanation(
        r"\w+\.\w+\(\) (takes .* but \d+ (?:was|were) given)",
        r"the call does not match the signature: the method \1 (self is counted too).",
    ),
    ErrorExplanation(
        r"(takes .* but \d+ (?:was|were) given|missing \d+ required .*|unexpected keyword argument .*)",
        r"the call does not match the signature: \1.",
    ),
    # --- layers, devices, gradients
    ErrorExplanation(r"Module.__init__\(\) call", "`super().__init__()` must run before anything is stored on self."),
    ErrorExplanation(
        r"\[Module(?:List|Dict)\] is missing the required",
        "an nn.ModuleList is a list of layers and cannot be called itself: loop over it and call each layer.",
    ),
    ErrorExplanation(
        r'missing the required "forward" function',
        "the class has no method called forward. Is the name misspelt, or is the method indented into __init__?",
    ),
    ErrorExplanation(
        r"cannot assign '.*nn\.modules.*' as parameter '(\w+)'",
        r"`\1` is a parameter, but your code assigns a whole layer to it. The numbers of a layer are in its `.weight`.",
    ),
    ErrorExplanation(
        r"cannot assign '.*' as parameter '(\w+)'", r"`\1` is a parameter, so its new value must be an nn.Parameter."
    ),
    ErrorExplanation(
        r"list is not a Module subclass",
        "a list is not a layer. nn.Sequential takes its layers as separate arguments, `nn.Sequential(*layers)`, and"
        " nn.ModuleList takes a list whose items are layers.",
    ),
    ErrorExplanation(r"ModuleList.extend should be called with", "nn.ModuleList takes its layers in one list."),
    ErrorExplanation(
        r"optimizer got an empty parameter list",
        "the optimizer got no parameters. A layer or an nn.Parameter that is stored on self provides parameters; a"
        " plain tensor does not.",
    ),
    ErrorExplanation(
        r"Torch not compiled with CUDA",
        "your code asks for a GPU, which torch cannot use here. Create new tensors on the device of the input.",
    ),
    ErrorExplanation(
        r"is not on the expected device|on the same device",
        "one operation got tensors on different devices. Create new tensors on the device of the input.",
    ),
    ErrorExplanation(
        r"leaf Variable that requires grad is being used in an in-place",
        f"an in-place operation ({_IN_PLACE}) changes a tensor that requires a gradient, such as a parameter, and torch"
        " does not allow this. Compute a new tensor or, to set a parameter on purpose, do it inside torch.no_grad().",
    ),
    ErrorExplanation(
        r"modified by an inplace operation",
        f"an in-place operation ({_IN_PLACE}) overwrote a tensor that the gradient still needs.",
    ),
    ErrorExplanation(
        r"does not require grad and does not have a grad_fn",
        "backward cannot start: this number depends on no trainable parameter, or something cuts the gradient"
        " (.detach(), .item(), torch.no_grad()).",
    ),
    ErrorExplanation(
        r"backward through the graph a second time",
        "backward ran twice through the same computation. Before each call of backward, compute the loss again, and"
        " everything that it depends on.",
    ),
    ErrorExplanation(
        r"only for scalar outputs",
        "backward needs a single number, but this tensor has several numbers. Take their mean or sum first.",
    ),
)
