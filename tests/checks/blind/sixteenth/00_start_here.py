# %% row_sums wrong (raised): loops over the number of columns instead of the number of rows
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    sums = []
    for i in range(x.shape[1]):
        sums.append(x[i].sum())
    return torch.stack(sums)


# %% row_sums wrong (misconception keeps-the-axis): keepdim=True leaves a column of shape [rows, 1] instead of [rows]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=1, keepdim=True)


# %% row_sums wrong (raised): always adds exactly three columns; shows for any other number of columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x[:, 0] + x[:, 1] + x[:, 2]


# %% row_sums wrong (difference): the 1-norm adds absolute values; shows when the table has negative numbers
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.linalg.vector_norm(x, ord=1, dim=1)


# %% row_sums wrong (shape): adds along the longer axis; shows when there are at least as many rows as columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    rows, columns = x.shape
    return x.sum(dim=1) if columns > rows else x.sum(dim=0)


# %% row_sums right (passed): product of the table and a vector of ones
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x @ x.new_ones(x.shape[1])


# %% row_sums right (passed): starts with zeros and adds one column after another
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    total = x.new_zeros(x.shape[0])
    for column in x.unbind(dim=1):
        total = total + column
    return total


