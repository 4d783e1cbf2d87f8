"""Exercise of lesson 00: a warm-up in which todo, wrong and right can all be seen."""

import torch

from utils.feedback.exercise import Float, Hints, Wrong, case, exercise

exercise(
    "row_sums",
    oracle=lambda x: torch.einsum("rc->r", x),
    cases=lambda rand: [case(rand(2, 3)), case(rand(4, 4)), case(rand(5, 2)), case(rand(1, 6)), case(rand(3, 1))],
    returns=Float("rows"),
    differentiable=False,  # a loop that collects numbers is a right answer here
    misconceptions={
        "sums-columns": Wrong(
            lambda x: x.sum(dim=0),
            "You added down the columns: one number per column came out. dim names the axis that disappears, and to"
            " keep the rows it is the columns that must go.",
        ),
        "sums-everything": Wrong(
            lambda x: x.sum(),
            "Everything was added into one number. Without a dim, sum runs over all axes; say which one should"
            " disappear.",
        ),
        "averages": Wrong(
            lambda x: x.mean(dim=1),
            "These are the averages of the rows, not their sums. A mean divides by the number of columns, which hides"
            " how many there were.",
        ),
        "keeps-the-axis": Wrong(
            lambda x: x.sum(dim=1, keepdim=True),
            "The sums are right, but they stand in a column of shape [rows, 1]. keepdim keeps the summed axis with"
            " size 1; here one number per row, shape [rows], is asked for.",
        ),
        "drops-the-row-axis": Wrong(
            lambda x: x.sum(dim=1, keepdim=True).squeeze(),
            "A table with a single row should give one sum, in a tensor of shape [1]. squeeze() drops every axis of"
            " size 1, the axis of the rows too; name the one that is to go, or do not keep it in the first place.",
        ),
        "first-row-only": Wrong(
            lambda x: x[0].sum(),
            "This is the sum of the first row alone. In a loop, a `return` ends the function in the first round; what"
            " is asked for is one sum for each row.",
        ),
        "running-sum": Wrong(
            lambda x: x.cumsum(dim=1),
            "You kept every partial sum along the row. cumsum writes down the way; only its last entry is the sum.",
        ),
    },
    hints=Hints(
        "Take [[1, 2], [3, 4]] and add each row by hand. How many numbers come out?",
        "A tensor's sum method takes dim: the number of the axis that disappears.",
        "Axis 0 runs down the rows, axis 1 across the columns. Sum x so that axis 1 disappears, and return it.",
    ),
)
