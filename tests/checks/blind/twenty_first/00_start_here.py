# %% row_sums wrong (misconception keeps-the-axis): keepdim=True keeps the summed axis, so the result has shape [rows, 1] instead of [rows]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=1, keepdim=True)


# %% row_sums wrong (misconception first-row-only): the return stands inside the loop, so only the sum of the first row comes back (a single number, shape [])
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    for row in x:
        total = row.sum()
        return total


# %% row_sums wrong (difference factor): the mean of each row is multiplied by the number of rows instead of the number of columns; right only for square tables
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.mean(dim=1) * len(x)


# %% row_sums wrong (dtype): the sums are stored in a tensor of integers, so the fraction is cut off (0.5 + 0.25 becomes 0); right only for whole numbers
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    sums = torch.zeros(x.shape[0], dtype=torch.long)
    for i in range(x.shape[0]):
        sums[i] = x[i].sum()
    return sums


# %% row_sums wrong (difference): only the first three columns are added, so the sums are wrong for a table with more than three columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x[:, :3].sum(dim=1)


# %% row_sums right (passed): einsum that drops the column axis
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.einsum("rc->r", x)


# %% row_sums right (passed): a loop that adds one column after another to a vector of zeros
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    total = x.new_zeros(x.shape[0])
    for column in x.T:
        total = total + column
    return total
