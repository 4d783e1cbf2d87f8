# %% row_sums wrong (misconception sums-columns): Python's own sum adds the rows to each other, so the columns are summed, not the rows
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return sum(x)

# %% row_sums wrong (structure): the result is computed and printed but never returned
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    result = x.sum(dim=1)
    print(result)

# %% row_sums wrong (misconception keeps-the-axis): keepdim leaves the shape [rows, 1], the docstring promises [rows]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=1, keepdim=True)

# %% row_sums wrong (misconception averages): the mean of each row instead of its sum
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.mean(dim=1)

# %% row_sums wrong (raised): only the first three columns are added, so every wider table loses numbers (and a narrower one raises)
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x[:, 0] + x[:, 1] + x[:, 2]

# %% row_sums wrong (dtype): the sums are stored in a tensor of integers, so everything behind the point is cut off
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    totals = torch.zeros(x.shape[0], dtype=torch.long)
    for i in range(x.shape[0]):
        totals[i] = x[i].sum()
    return totals

# %% row_sums wrong (misconception drops-the-row-axis): squeeze takes away the row axis of a table with one row, the shape is [] instead of [1]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=1).squeeze()

# %% row_sums wrong (structure): a Python list of numbers, the docstring promises a tensor
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return [row.sum().item() for row in x]

# %% row_sums right (passed): the last axis by its negative number
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.sum(x, -1)

# %% row_sums right (passed): einsum
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.einsum("rc->r", x)

# %% row_sums right (passed): two plain Python loops
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    totals = []
    for row in x.tolist():
        total = 0
        for number in row:
            total += number
        totals.append(total)
    return torch.tensor(totals, dtype=x.dtype)

# %% row_sums right (passed): matrix times a vector of ones
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x @ x.new_ones(x.shape[1])
