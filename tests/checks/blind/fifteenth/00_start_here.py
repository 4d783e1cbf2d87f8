# %% row_sums wrong (misconception sums-columns): adds down the columns (axis 0) instead of along each row
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=0)


# %% row_sums wrong (difference): off by one, the last column is never added
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    total = torch.zeros(x.shape[0])
    for column in range(x.shape[1] - 1):
        total = total + x[:, column]
    return total


# %% row_sums wrong (raised): subtle, adds exactly three columns; shows for tables that do not have three columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x[:, 0] + x[:, 1] + x[:, 2]


# %% row_sums wrong (difference): subtle, uses the L1 norm of each row; shows when a table has negative numbers
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.linalg.vector_norm(x, ord=1, dim=1)


# %% row_sums wrong (shape): subtle, sums along the longer axis; shows when a table has more rows than columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    rows, columns = x.shape
    return x.sum(dim=1 if columns >= rows else 0)


# %% row_sums right (passed): einsum that keeps only the row index
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.einsum("rc->r", x)


# %% row_sums right (passed): turns the table over and adds its columns one after the other
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    total = torch.zeros(x.shape[0], dtype=x.dtype, device=x.device)
    for column in x.T:
        total = total + column
    return total


