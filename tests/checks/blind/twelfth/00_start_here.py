# %% row_sums wrong (misconception keeps-the-axis): keeps the summed axis, so the shape is [rows, 1] instead of [rows]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=1, keepdim=True)


# %% row_sums wrong (raised): adds only as many columns as there are rows (len(x) counts rows)
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    total = torch.zeros(len(x))
    for j in range(len(x)):
        total = total + x[:, j]
    return total


# %% row_sums wrong (misconception drops-the-row-axis): subtle, a table with a single row gives a tensor of shape [] instead of [1]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=1, keepdim=True).squeeze()


# %% row_sums wrong (property leaves_its_inputs): subtle, adds into a view of the first column, so x itself changes and a second call on x gives other sums
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    total = x[:, 0]
    for j in range(1, x.shape[1]):
        total += x[:, j]
    return total


# %% row_sums right (passed): einsum that drops the column index
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.einsum("rc->r", x)


# %% row_sums right (passed): transposes the table and adds down its columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.T.sum(dim=0)


