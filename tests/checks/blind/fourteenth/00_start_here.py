# %% row_sums wrong (misconception sums-columns): adds down the columns (dim=0), so there is one sum for each column
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=0)


# %% row_sums wrong (structure): computes the sums, but does not return them
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    x.sum(dim=1)


# %% row_sums wrong (misconception drops-the-row-axis): squeeze() removes the row axis too; shows for a table with one row (shape [] instead of [1])
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    sums = x.sum(dim=1, keepdim=True)
    return sums.squeeze()


# %% row_sums wrong (difference): adds the absolute values (norm with p=1); shows if the table has negative numbers
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.norm(p=1, dim=1)


# %% row_sums wrong (raised): adds the first three columns only; shows if the table has more (or fewer) than three columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x[:, 0] + x[:, 1] + x[:, 2]


# %% row_sums right (passed): einsum that drops the column axis
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.einsum("rc->r", x)


# %% row_sums right (passed): turns the table, then adds down the columns of the transpose
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    columns_first = x.transpose(0, 1)
    return torch.sum(columns_first, 0)
