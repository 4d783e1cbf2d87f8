# %% row_sums wrong (misconception sums-everything): sums the whole table without dim, so it returns one number (shape []) instead of one sum per row
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum()


# %% row_sums wrong (structure): the sums are right but returned as a Python list of floats, not as a tensor of shape [rows]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    sums = []
    for row in x:
        sums.append(row.sum().item())
    return sums


# %% row_sums wrong (raised): writes out rows 0 and 1 by hand, so a table with three or more rows loses all rows after the second
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.stack([x[0].sum(), x[1].sum()])


# %% row_sums wrong (dtype): stores the sums in an integer tensor, so sums of numbers like 0.5 lose their fraction (and the dtype is int64 instead of float)
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    sums = torch.zeros(x.shape[0], dtype=torch.int64)
    for i in range(x.shape[0]):
        sums[i] = x[i].sum()
    return sums


# %% row_sums wrong (property leaves_its_inputs): total is a view of the first column and += adds into it, so x itself is changed and a second call on the same table gives other sums
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    total = x[:, 0]
    for j in range(1, x.shape[1]):
        total += x[:, j]
    return total


# %% row_sums right (passed): einsum that drops the column axis
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.einsum("rc->r", x)


# %% row_sums right (passed): a loop that adds the columns to a fresh tensor of zeros, not in place
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    total = x.new_zeros(x.shape[0])
    for column in x.T:
        total = total + column
    return total
