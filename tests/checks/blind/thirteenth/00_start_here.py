# %% row_sums wrong (misconception keeps-the-axis): keeps the summed axis, so the shape is [rows, 1]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=1, keepdim=True)


# %% row_sums wrong (misconception sums-columns): loops over the columns and sums each column
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    sums = []
    for i in range(x.shape[1]):
        sums.append(x[:, i].sum())
    return torch.stack(sums)


# %% row_sums wrong (raised): adds exactly three columns, which shows with more (or fewer) than three columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x[:, 0] + x[:, 1] + x[:, 2]


# %% row_sums wrong (misconception drops-the-row-axis): squeeze removes the axis of the rows too when the table has a single row
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=1, keepdim=True).squeeze()


# %% row_sums wrong (property leaves_its_inputs): adds in place into a view of the first column, so it changes x and a second call gives other sums
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    total = x[:, 0]
    for j in range(1, x.shape[1]):
        total += x[:, j]
    return total


# %% row_sums right (passed): einsum
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.einsum("rc->r", x)


# %% row_sums right (passed): starts from zeros and adds one column after the other, out of place
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    total = x.new_zeros(x.shape[0])
    for column in x.unbind(dim=1):
        total = total + column
    return total


