# %% row_sums wrong (misconception sums-columns): adds down the columns instead of along the rows
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum(dim=0)


# %% row_sums wrong (misconception sums-everything): forgets dim, so it returns one sum of all numbers
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x.sum()


# %% row_sums wrong (raised): subtle, adds only the first three columns; shows when there are not three columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return x[:, 0] + x[:, 1] + x[:, 2]


# %% row_sums wrong (difference): subtle, takes the largest running sum instead of the last; shows when the last numbers of a row are negative
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    running = x.cumsum(dim=1)
    return running.max(dim=1).values


# %% row_sums wrong (difference): subtle, cuts the numbers to whole numbers; shows when x contains fractions
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    sums = []
    for row in x:
        total = 0
        for number in row:
            total += int(number)
        sums.append(float(total))
    return torch.tensor(sums)


# %% row_sums right (passed): einsum over the columns
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    return torch.einsum("rc->r", x)


# %% row_sums right (passed): a loop that adds one column after the other
def row_sums(x):
    """The sum of each row of a table x of shape [rows, columns], as a tensor of shape [rows]."""
    total = x.new_zeros(x.shape[0])
    for j in range(x.shape[1]):
        total = total + x[:, j]
    return total


