# %% row_sums wrong (misconception sums-columns): Python's sum adds the rows to each other, which gives the sum of each column
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return sum(x)


# %% row_sums wrong (misconception first-row-only): returns inside the loop, so only the first row's sum comes back
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    for row in x:
        return row.sum()


# %% row_sums wrong (raised): adds exactly three columns (shows with two, four or more columns)
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x[:, 0] + x[:, 1] + x[:, 2]


# %% row_sums wrong (shape): sums along the longer axis (shows for tables with more rows than columns)
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    longer = 0 if x.shape[0] > x.shape[1] else 1
    return x.sum(dim=longer)


# %% row_sums wrong (difference): the 1-norm of each row, which adds absolute values (shows with negative numbers)
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.norm(p=1, dim=1)


# %% row_sums right (passed): transposes the table and adds along axis 0
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.T.sum(dim=0)


# %% row_sums right (passed): einsum drops the column axis
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.einsum("rc->r", x)


