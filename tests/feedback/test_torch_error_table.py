"""Raise the errors of the table in torch and Python, and check that each is explained."""

import math
import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from utils.exercises.observe import Failure
from utils.feedback.torch_error_table import ERROR_EXPLANATIONS
from utils.feedback.torch_errors import explain_failure

X = torch.ones(2, 3)
BATCH = torch.ones(2, 3, 4)
FLOATS = torch.tril(torch.ones(3, 3))
IDS = torch.zeros(2, 3, dtype=torch.long)
LOGITS = torch.ones(2, 3, 7)
SQUARE = torch.ones(3, 3)
TRAINED = nn.Linear(3, 2)


class Forgets(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(2, 2)


class Nothing(nn.Module):
    pass


def twice_backward():
    loss = (TRAINED(X) ** 2).sum()
    loss.backward()
    loss.backward()


def overwritten():
    x = X.clone().requires_grad_()
    y = x.exp()
    y += 1
    y.sum().backward()


def endless():
    return endless()


def without_cuda():
    raise AssertionError("Torch not compiled with CUDA enabled")  # torch's own text; this machine may have a GPU


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = self.register_buffer("mask", X) + 1


# Python expressions over the names of this module. Each raises an error of the table.
RAISED = [
    "X ^ 2",
    "~FLOATS",
    "FLOATS & FLOATS",
    "SQUARE.masked_fill(FLOATS, 0)",
    "torch.where(FLOATS, SQUARE, 0)",
    "SQUARE[FLOATS]",
    "BATCH[torch.ones(2, 5) > 0]",
    "F.one_hot(X)",
    "nn.Parameter(X > 0)",
    "torch.stack([])",
    "torch.cat([])",
    "torch.cat([X.sum(), X.sum()])",
    "Keeps()",
    "torch.bool(X)",
    "X.append(1)",
    "TRAINED.T",
    "X @ TRAINED",
    "nn.ModuleList([TRAINED])(X)",
    "setattr(nn.LayerNorm(2), 'weight', TRAINED)",
    "math.sqrt(X)",
    "nn.Embedding(3, 2)(X)",
    "nn.Embedding(3, 2)(IDS + 3)",
    "IDS.mean()",
    "IDS.softmax(-1)",
    "nn.Linear(8 / 2, 2)",
    "X.view(3, 4 / 2)",
    "range(4 / 2)",
    "X[4 / 2]",
    "torch.sqrt(4)",
    "torch.multinomial(-X, 1)",
    "F.cross_entropy(LOGITS, IDS)",
    "F.cross_entropy(LOGITS.flatten(0, 1), IDS.flatten()[:2])",
    "F.cross_entropy(torch.ones(6, 7), torch.ones(6, 7, 1))",
    "F.cross_entropy(torch.ones(6, 7), torch.zeros(6))",
    "F.cross_entropy(torch.ones(6, 7), torch.ones(6, 7).long())",
    "F.cross_entropy(torch.ones(6, 7), torch.full((6,), 9))",
    "TRAINED(X.double())",
    "torch.ones(5).tril()",
    "X @ X",
    "X @ torch.ones(4)",
    "BATCH @ BATCH",
    "torch.bmm(BATCH, torch.ones(5, 4, 2))",
    "torch.bmm(BATCH, torch.ones(2, 5, 4))",
    "torch.bmm(X, X)",
    "X + torch.ones(7)",
    "X.expand(2, 4)",
    "X.clone().add_(torch.ones(4, 2, 3))",
    "BATCH.permute(0, 1)",
    "BATCH.transpose(1, 2).view(2, 12)",
    "X.view(7, 7)",
    "nn.LayerNorm(4)(X)",
    "torch.einsum('ij,jk->ik', X, BATCH)",
    "torch.einsum('ij,jk->ik', X, X)",
    "torch.stack([torch.ones(3), torch.ones(4)])",
    "torch.cat([X, torch.ones(2, 4)])",
    "torch.cat([X, BATCH])",
    "torch.cat(X, X)",
    "torch.dot(X, X)",
    "torch.dot(torch.ones(3), torch.ones(4))",
    "torch.cross(X[:, :2], X[:, :2], dim=-1)",
    "X.sum(dim=4)",
    "X[:, 5]",
    "X[1, 1, 1]",
    "[1][2]",
    "X.shape[2]",
    "[0 for _ in [X.shape] for _a, _b, _c in [_]]",
    "[0 for _ in [BATCH.shape] for _a, _b in [_]]",
    "X.max(dim=1)[0, 1]",
    "[1, 2][0, 1]",
    "X.sort() - X",
    "nn.ModuleList([[TRAINED]])",
    "X.sum().tril()",
    "{[1]: 2}",
    "X - X.max(dim=1)",
    "X or None",
    "X * None",
    "dict().get(0)[0]",
    "float(X)",
    "X.item()",
    "torch.tensor([X, X])",
    "range(X)",
    "X.shape()",
    "X(1)",
    "X.size[0]",
    "sum(3)",
    "3 .softmax(0)",
    "Nothing().two_of_a_kind",
    "y_undefined",
    "endless()",
    "Forgets()",
    "Nothing()(X)",
    "setattr(nn.Linear(2, 2), 'weight', X)",
    "nn.Sequential([TRAINED])",
    "nn.ModuleList(TRAINED)",
    "torch.optim.SGD([], 0.1)",
    "X + torch.ones(2, 3, device='meta')",
    "without_cuda()",
    "TRAINED.weight.fill_(0)",
    "overwritten()",
    "X.sum().backward()",
    "twice_backward()",
    "TRAINED(X).backward()",
]

# Our explanations of these errors quote the text of torch or Python, which differs between versions.
RAISED_WITH_LIBRARY_TEXT = {
    "X.masked_fill(X > 0, '-inf')": "masked_fill does not accept arguments of these types: Tensor, str.",
    "nn.Identity().forward(1, 2)": "but 3 were given (self is counted too)",
    "torch.softmax(X)": "the call does not match the signature: missing 1 required",
}


def error_of(code: str) -> Failure:
    with pytest.raises(Exception) as raised:
        eval(code, globals() | {"F": F, "math": math})
    return Failure(raised.type.__name__, str(raised.value))


@pytest.mark.parametrize("code", RAISED)
def test_an_error_is_explained_to_learners(code, snapshot):
    assert explain_failure(error_of(code), "answer") == snapshot


@pytest.mark.parametrize("code, words", RAISED_WITH_LIBRARY_TEXT.items())
def test_an_explanation_quotes_the_library(code, words):
    assert words in explain_failure(error_of(code), "answer")


def test_every_entry_of_the_table_matches_an_error():
    texts = [error_of(code).text for code in [*RAISED, *RAISED_WITH_LIBRARY_TEXT]]
    matched = {next((e for e in ERROR_EXPLANATIONS if re.search(e.pattern, text)), None) for text in texts}
    assert [e.pattern for e in ERROR_EXPLANATIONS if e not in matched] == []
