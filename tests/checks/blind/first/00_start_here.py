# %% row_sums wrong (misconception sums-columns): sums along dim=0, which adds down the columns, so one number a column and not a row
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=0)

# %% row_sums wrong (structure): return is forgotten, so the function gives None
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    x.sum(dim=1)

# %% row_sums wrong (misconception keeps-the-axis): keepdim=True keeps the summed axis, the shape is [rows, 1] and not [rows]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.sum(x, dim=1, keepdim=True)

# %% row_sums wrong (raised): adds the first three columns by name, so a table with more (or fewer) columns is summed wrong or raises
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x[:, 0] + x[:, 1] + x[:, 2]

# %% row_sums wrong (misconception drops-the-row-axis): squeeze() without an axis removes the row axis too when the table has one row: shape [] and not [1]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    sums = x.sum(dim=1, keepdim=True)
    return sums.squeeze()

# %% row_sums wrong (structure): gives a Python list of 0-d tensors, the docstring promises a tensor of shape [rows]
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    result = []
    for row in x:
        result.append(row.sum())
    return result

# %% row_sums wrong (dtype): int() throws the fractions of each sum away
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.tensor([int(row.sum()) for row in x])

# %% row_sums wrong (shape): the result has as many places as there are columns, and the loop runs over as many rows: right for square tables only
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    n = x.shape[1]
    result = torch.zeros(n)
    for i in range(min(n, x.shape[0])):
        result[i] = x[i].sum()
    return result

# %% row_sums right (passed): einsum, the column index is left out on the right
def row_sums(x):
    return torch.einsum("rc->r", x)

# %% row_sums right (passed): a product with a column of ones
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    ones = torch.ones(x.shape[1], dtype=x.dtype, device=x.device)
    return x @ ones

# %% row_sums right (passed): plain loop that adds column after column onto a start of zeros
def row_sums(x):
    n_rows, n_columns = x.shape
    total = x.new_zeros(n_rows)
    for j in range(n_columns):
        total = total + x[:, j]
    return total

# %% row_sums right (passed): vmap of the sum over one row
def row_sums(table):
    return torch.vmap(torch.sum)(table)

