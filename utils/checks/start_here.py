"""Define the exercise of lesson 00: a warm-up that shows every status of a check: todo, failed and passed."""

import torch

from utils.exercises.exercise import Float, Hints, Wrong, case, exercise

exercise(
    "row_sums",
    oracle=lambda x: torch.einsum("rc->r", x),
    cases=lambda rand: [case(rand(2, 3)), case(rand(4, 4)), case(rand(5, 2)), case(rand(1, 6)), case(rand(3, 1))],
    returns=Float("rows"),
    differentiable=False,  # a correct answer may loop over plain numbers, which have no gradient
    misconceptions={
        "sums-columns": Wrong(
            lambda x: x.sum(dim=0),
            "You added down the columns: your result has one number per column. dim names the axis that disappears, so"
            " to keep the rows, name the axis of the columns.",
        ),
        "sums-everything": Wrong(
            lambda x: x.sum(),
            "You added all entries into one number. Without a dim, sum adds over all axes; name the axis that should"
            " disappear.",
        ),
        "averages": Wrong(
            lambda x: x.mean(dim=1),
            "These are the averages of the rows, not their sums. A mean also divides each sum by the number of columns;"
            " return the sum without this division.",
        ),
        "keeps-the-axis": Wrong(
            lambda x: x.sum(dim=1, keepdim=True),
            "The sums are right, but they form a column of shape [rows, 1]. keepdim keeps the summed axis with size 1;"
            " the exercise asks for one number per row, in the shape [rows].",
        ),
        "drops-the-row-axis": Wrong(
            lambda x: x.sum(dim=1, keepdim=True).squeeze(),
            "A table with a single row should give one sum, in a tensor of shape [1], but your result has lost that"
            " axis. squeeze() removes every axis of size 1, including the axis of the rows: name the axis to remove,"
            " or do not keep it in the first place.",
        ),
        "first-row-only": Wrong(
            lambda x: x[0].sum(),
            "This is the sum of the first row only. In a loop, a `return` ends the function in the first iteration; the"
            " exercise asks for one sum for each row.",
        ),
        "running-sum": Wrong(
            lambda x: x.cumsum(dim=1),
            "You kept every partial sum along the row. cumsum returns all of them; only its last entry is the sum of"
            " the row.",
        ),
    },
    hints=Hints(
        "Take [[1, 2], [3, 4]] and add up the numbers in each row by hand. How many sums do you get?",
        "A tensor's sum method takes dim: the number of the axis that disappears.",
        "Axis 0 runs down the rows, axis 1 across the columns. Sum x so that axis 1 disappears, and return the result.",
    ),
)
