"""Lesson 00: right answers of its exercise, and what its prose says."""

import torch

from utils.feedback import check


def with_einsum(x):
    return torch.einsum("ij->i", x)


def with_a_product(x):
    return x @ torch.ones(x.shape[1])


def with_a_loop(x):
    return torch.stack([sum(row) for row in x])


RIGHT = {"row_sums": [with_einsum, with_a_product, with_a_loop]}


def test_the_two_wrong_answers_of_the_page_read_as_it_says():
    def row_sums(x):
        return x.sum(dim=0)

    assert check(row_sums).message.startswith("You added down the columns")

    def row_sums(x):
        x.sum(dim=1)

    assert check(row_sums).message.endswith("returned None. Did you forget `return`?")

    def row_sums(x):
        raise NotImplementedError("row_sums")

    assert str(check(row_sums)) == "○ row_sums: not attempted yet. `hint(row_sums)` gives a nudge."


def test_quiz_and_prediction():
    assert torch.zeros(4, 7).sum(dim=0).shape == (7,)
    assert torch.zeros(4, 7).sum(dim=1).shape == (4,)
    assert torch.zeros(4, 7).sum(dim=0, keepdim=True).shape == (1, 7)
    assert sum([10, 20, 30]) == 60
