# %% row_sums wrong (misconception keeps-the-axis): keeps the summed axis, so the result has shape [rows, 1]
def row_sums(x):
    return x.sum(1, True)

# %% row_sums wrong (raised): sums a fixed number of two rows, so a table with three rows loses one
def row_sums(x):
    return torch.stack([x[0].sum(), x[1].sum()])

# %% row_sums wrong (difference factor): multiplies the mean of each row by the number of rows, not of columns
def row_sums(x):
    return x.mean(dim=1) * len(x)

# %% row_sums wrong (misconception running-sum): returns all running totals of each row, not the last one
def row_sums(x):
    return x.cumsum(dim=1)

# %% row_sums wrong (structure): returns a Python list of numbers, not a tensor
def row_sums(x):
    sums = []
    for row in x:
        total = 0.0
        for number in row:
            total += number.item()
        sums.append(total)
    return sums

# %% row_sums wrong (dtype): cuts each sum down to a whole number
def row_sums(x):
    return torch.tensor([int(row.sum()) for row in x])

# %% row_sums wrong (difference): the loop over the columns begins at 1, so the first column is left out
def row_sums(x):
    total = torch.zeros(x.shape[0])
    for j in range(1, x.shape[1]):
        total = total + x[:, j]
    return total

# %% row_sums wrong (property leaves_its_inputs): adds into a view of the first column, so the table x is changed and a second call gives other sums
def row_sums(x):
    total = x[:, 0]
    for column in range(1, x.shape[1]):
        total += x[:, column]
    return total

# %% row_sums wrong (raised): multiplies by three ones, so only tables with three columns work
def row_sums(x):
    return x @ torch.ones(3)

# %% row_sums wrong (difference): adds the sizes of the numbers, so negative numbers count as positive
def row_sums(x):
    return torch.linalg.vector_norm(x, ord=1, dim=1)

# %% row_sums right (passed): einsum that drops the column letter
def row_sums(x):
    return torch.einsum("rc->r", x)

# %% row_sums right (passed): maps the plain sum over the rows with vmap
def row_sums(x):
    return torch.vmap(torch.sum)(x)

# %% row_sums right (passed): turns the table and sums down the columns of the turned table
def row_sums(x):
    return x.transpose(0, 1).sum(dim=0)
