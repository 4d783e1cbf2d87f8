# %% row_sums wrong (misconception sums-columns): adds down the columns (dim=0)
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=0)


# %% row_sums wrong (structure): forgets the return, so the result is None
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    x.sum(dim=1)


# %% row_sums wrong (raised): subtle, adds exactly the first three columns; shows when a table has more than three columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x[:, 0] + x[:, 1] + x[:, 2]


# %% row_sums wrong (shape): subtle, adds along the longer axis; shows when a table has more rows than columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    rows, columns = x.shape
    axis = 1 if columns >= rows else 0
    return x.sum(dim=axis)


# %% row_sums wrong (difference): subtle, takes the 1-norm of each row; shows when a table has negative numbers
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.linalg.vector_norm(x, ord=1, dim=1)


# %% row_sums right (passed): starts from zeros and adds one column after the other
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    total = torch.zeros_like(x[:, 0])
    for column in x.T:
        total = total + column
    return total


# %% row_sums right (passed): einsum that drops the column axis
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.einsum("rc->r", x)


