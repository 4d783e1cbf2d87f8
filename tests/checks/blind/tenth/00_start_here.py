# %% row_sums wrong (misconception averages): takes the mean of each row instead of the sum
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.mean(dim=1)


# %% row_sums wrong (misconception keeps-the-axis): keeps the summed axis, so the shape is [rows, 1] instead of [rows]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=1, keepdim=True)


# %% row_sums wrong (difference): subtle, adds absolute values; shows when the table has negative numbers
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.linalg.vector_norm(x, ord=1, dim=1)


# %% row_sums wrong (raised): subtle, adds exactly three columns; shows when the table has more than three columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x[:, 0] + x[:, 1] + x[:, 2]


# %% row_sums right (passed): einsum over the columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.einsum("rc->r", x)


# %% row_sums right (passed): transposes first, then adds down the rows
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    columns = x.transpose(0, 1)
    return columns.sum(dim=0)
