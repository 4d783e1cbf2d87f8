"""The errors that torch and Python really raise, in a learner's words: every entry of the table is met by one."""

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from utils.feedback.observe import Failure
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


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = self.register_buffer("mask", X) + 1


RAISED: list[tuple[Callable[[], Any], str]] = [
    (lambda: X ^ 2, "`^` is no power in Python"),
    (lambda: ~FLOATS, "work on True and False, and this tensor holds decimal numbers"),
    (lambda: FLOATS & FLOATS, "A comparison, as in `mask == 0`, makes True and False of them."),
    (lambda: SQUARE.masked_fill(FLOATS, 0), "the mask must hold True and False"),
    (lambda: torch.where(FLOATS, SQUARE, 0), "the mask must hold True and False"),
    (lambda: SQUARE[FLOATS], "an index holds whole numbers, or is a mask of True and False"),
    (lambda: BATCH[torch.ones(2, 5) > 0], "the sizes of the axes that it picks from, and here [2, 5] meets [2, 3, 4]"),
    (lambda: F.one_hot(X), "one_hot takes whole numbers"),
    (lambda: nn.Parameter(X > 0), "only decimal numbers can be trained"),
    (lambda: torch.stack([]), "the list that is to be joined is empty"),
    (lambda: torch.cat([]), "the list that is to be joined is empty"),
    (lambda: torch.cat([X.sum(), X.sum()]), "a single number has none. torch.stack gives it one"),
    (lambda: Keeps(), "as register_buffer does"),
    (lambda: torch.bool(X), "a dtype is no function"),  # type: ignore
    (lambda: X.masked_fill(X > 0, "-inf"), "masked_fill cannot take arguments of the types that it got: Tensor, str."),  # type: ignore
    (lambda: X.append(1), "a tensor does not grow"),  # type: ignore
    (lambda: TRAINED.T, "an nn.Linear is a layer"),
    (lambda: X @ TRAINED, "an nn.Linear is a layer"),  # type: ignore
    (lambda: nn.Identity().forward(1, 2), "but 3 were given, of which self is one"),  # type: ignore
    (lambda: nn.ModuleList([TRAINED])(X), "loop over it, and call each of them"),
    (lambda: setattr(nn.LayerNorm(2), "weight", TRAINED), "The numbers of a layer are in its `.weight`."),
    (lambda: math.sqrt(X), "The functions of `math` take one number"),  # type: ignore
    (lambda: nn.Embedding(3, 2)(X), "an embedding finds its rows by number"),
    (lambda: nn.Embedding(3, 2)(IDS + 3), "an embedding has no row of that number"),
    (lambda: IDS.mean(), "this works on decimal numbers"),
    (lambda: IDS.softmax(-1), "this works on decimal numbers"),
    (lambda: nn.Linear(8 / 2, 2), "`//` gives a whole one"),
    (lambda: X.view(3, 4 / 2), "`//` gives a whole one"),
    (lambda: range(4 / 2), "`//` gives a whole one"),  # type: ignore
    (lambda: X[4 / 2], "`//` gives a whole one"),
    (lambda: torch.sqrt(4), "this is a plain number (int). Use `math.sqrt` for it"),  # type: ignore
    (lambda: torch.multinomial(-X, 1), "it draws from probabilities"),
    (
        lambda: F.cross_entropy(LOGITS, IDS),
        "takes axis 1 of the scores for the vocabulary, wants targets of shape [2, 7] for these, and got [2, 3]",
    ),
    (lambda: F.cross_entropy(LOGITS.flatten(0, 1), IDS.flatten()[:2]), "here 6 rows meet 2 targets"),
    (lambda: F.cross_entropy(torch.ones(6, 7), torch.ones(6, 7, 1)), "a vector of targets"),
    (lambda: F.cross_entropy(torch.ones(6, 7), torch.zeros(6)), "a vector of whole numbers (dtype long)"),
    (lambda: F.cross_entropy(torch.ones(6, 7), torch.ones(6, 7).long()), "a vector of whole numbers (dtype long)"),
    (lambda: F.cross_entropy(torch.ones(6, 7), torch.full((6,), 9)), "target 9 has no column among the scores"),
    (lambda: TRAINED(X.double()), "two tensors have different types of numbers"),
    (lambda: torch.ones(5).tril(), "tril and triu need a matrix"),
    (lambda: X @ X, "here 3 meet 2 (2 × 3 times 2 × 3)"),
    (lambda: X @ torch.ones(4), "as many columns as the vector has numbers, and here 3 meet 4"),
    (lambda: BATCH @ BATCH, "here 4 meets 3"),
    (lambda: torch.bmm(X, X), "torch.bmm wants two tensors of three axes"),
    (lambda: X + torch.ones(7), "sizes 3 and 7 on axis 1 do not fit"),
    (lambda: X.expand(2, 4), "size 3 cannot be stretched to 4 on axis 1"),
    (lambda: BATCH.permute(0, 1), "permute wants each axis of the tensor once"),
    (lambda: BATCH.transpose(1, 2).view(2, 12), "`.contiguous()` before it copies them"),
    (lambda: X.view(7, 7), "6 numbers cannot be laid out as [7, 7]"),
    (lambda: nn.LayerNorm(4)(X), "a last axis of size 4, and what came in has shape [2, 3]"),
    (lambda: torch.einsum("ij,jk->ik", X, BATCH), "here 2 letters stand for a tensor of 3 axes"),
    (lambda: torch.einsum("ij,jk->ik", X, X), "`j` stands for 3 and for 2"),
    (lambda: torch.stack([torch.ones(3), torch.ones(4)]), "here [3] meets [4]"),
    (lambda: torch.cat([X, torch.ones(2, 4)]), "must agree in all others, and here 3 meets 4"),
    (lambda: torch.cat([X, BATCH]), "the same number of axes, and here 2 meet 3"),
    (lambda: torch.cat(X, X), "torch.cat takes its tensors in one list"),  # type: ignore
    (lambda: torch.dot(X, X), "torch.dot takes two vectors, and got something with more axes"),
    (lambda: torch.dot(torch.ones(3), torch.ones(4)), "two vectors of the same length"),
    (lambda: torch.cross(X[:, :2], X[:, :2], dim=-1), "here they have 2"),
    (lambda: X.sum(dim=4), "there is no axis 4"),
    (lambda: X[:, 5], "there is no index 5 on axis 1, which has size 3"),
    (lambda: X[1, 1, 1], "the index names more axes than the tensor has (2)"),
    (lambda: [1][2], "an index runs past the end of a list"),
    (lambda: X.shape[2], "The shape of a tensor is one, with a size for each axis."),
    (lambda: [0 for _ in [X.shape] for _a, _b, _c in [_]], "3 names stand left of `=`"),
    (lambda: [0 for _ in [BATCH.shape] for _a, _b in [_]], "2 names stand left of `=`"),
    (lambda: X.max(dim=1)[0, 1], "not a tensor but a tuple"),  # type: ignore
    (lambda: {[1]: 2}, "a list can change, a tuple cannot"),  # type: ignore
    (lambda: X - X.max(dim=1), "take its `.values`"),  # type: ignore
    (lambda: X or None, "want one yes or no"),
    (lambda: X * None, "something is None here"),  # type: ignore
    (lambda: dict().get(0)[0], "something is None here"),  # type: ignore
    (lambda: float(X), "one number is wanted here, and a tensor with several came"),
    (lambda: X.item(), "one number is wanted here"),
    (lambda: torch.tensor([X, X]), "torch.stack makes one tensor of many"),
    (lambda: range(X), "`len(x)` is the size of its first axis"),  # type: ignore
    (lambda: X.shape(), "`x.shape[0]` gives a size"),  # type: ignore
    (lambda: X(1), "round brackets behind a Tensor call it like a function"),  # type: ignore
    (lambda: X.size[0], "a function is called with round brackets"),  # type: ignore
    (lambda: sum(3), "an int has no items to go through. `range(n)` counts"),  # type: ignore
    (lambda: (3).softmax(0), "an int has no `softmax`. Was a tensor meant to stand here"),  # type: ignore
    (lambda: Nothing().two_of_a_kind, "a Nothing has no `two_of_a_kind`"),  # type: ignore
    (lambda: y_undefined, "nothing is called `y_undefined` here"),  # type: ignore # noqa: F821
    (endless, "it calls itself without end"),
    (lambda: torch.softmax(X), "the call and the signature do not fit"),  # type: ignore
    (lambda: Forgets(), "has to run before anything is stored on self"),
    (lambda: Nothing()(X), "the class has no method called forward"),
    (lambda: setattr(nn.Linear(2, 2), "weight", X), "wrap the tensor in nn.Parameter(...)"),
    (lambda: nn.Sequential([TRAINED]), "`nn.Sequential(*layers)`"),  # type: ignore
    (lambda: nn.ModuleList(TRAINED), "takes its layers in one list"),  # type: ignore
    (lambda: torch.optim.SGD([], 0.1), "the optimizer got no parameters"),
    (lambda: X + torch.ones(2, 3, device="meta"), "it asks for a device that is not the input's"),
    (lambda: TRAINED.weight.fill_(0), "writes into a parameter that is being trained"),
    (overwritten, "a tensor that the gradient still needs was overwritten"),
    (lambda: X.sum().backward(), "backward finds no parameter"),
    (twice_backward, "backward ran twice over one loss"),
    (lambda: TRAINED(X).backward(), "backward starts from one number"),
]


def error_of(code: Callable[[], Any]) -> Failure:
    with pytest.raises(Exception) as raised:
        code()
    return Failure(raised.type.__name__, str(raised.value))


@pytest.mark.parametrize("code, words", RAISED, ids=[words for _, words in RAISED])
def test_what_torch_raises_is_told_in_a_learners_words(code, words):
    assert words in explain_failure(error_of(code), "answer")


def test_every_entry_of_the_table_is_met():
    texts = [error_of(code).text for code, _ in RAISED]
    met = {next((m for m in ERROR_EXPLANATIONS if re.search(m.pattern, text)), None) for text in texts}
    assert [m.pattern for m in ERROR_EXPLANATIONS if m not in met] == []
