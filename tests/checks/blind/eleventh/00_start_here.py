# %% row_sums wrong (misconception keeps-the-axis): keeps the summed axis, so the result has the shape [rows, 1]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=1, keepdim=True)


# %% row_sums wrong (difference): takes the largest running total of each row; shows when a row has negative numbers
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.cumsum(dim=1).max(dim=1).values


# %% row_sums wrong (property ties): adds each number once; shows when a row holds the same number twice
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.stack([row.unique().sum() for row in x])


# %% row_sums right (passed): einsum
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.einsum("rc->r", x)
