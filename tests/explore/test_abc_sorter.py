"""The sorter of lesson 09 in a browser: its results equal torch's for every triple, with heads on and off."""

import re

import pytest
import torch
from torch import nn

from solutions import abc_sorter as lesson
from tests.course.test_abc_sorter import ByEinsum, trained
from utils import explore
from utils.models import abc_sorter as sorting


def fresh(build=lesson.DeepQKVAttention, **options):
    torch.manual_seed(1)
    model = sorting.Sorter(build(6, 2, 7, **options))
    with torch.no_grad():
        for norm in (model.norm1, model.norm2, model.final_norm):  # no parameter has its initial value
            norm.weight += 0.3 * torch.randn(6)
            norm.bias += 0.3 * torch.randn(6)
    return model


MODELS = {
    "trained": lambda: trained()[0],
    "fresh": fresh,
    "strict": lambda: fresh(strict=True),
    "temperature": lambda: fresh(temp=0.3),
    "rank 1": lambda: fresh(rank=1),
    "written differently": lambda: fresh(ByEinsum),
}


def agrees(page, model, letters):
    """The page's steps equal those of `sorting.trace`, and its logits equal torch's."""
    numbers, steps = page.numbers(), sorting.trace(model, letters)
    assert numbers["answer"] == "".join(step.chosen for step in steps)
    assert numbers["right"] == "".join(sorted(letters))
    for shown, step in zip(numbers["steps"], steps):
        with torch.no_grad():
            logits = model(torch.tensor([shown["seen"]]))[0, -1]
        assert torch.tensor(shown["logits"]) == pytest.approx(logits, abs=1e-5)
        assert torch.tensor(shown["weights"]) == pytest.approx(step.weights, abs=1e-5)
        assert shown["probs"] == pytest.approx(list(step.probs.values()), abs=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_every_triple_is_answered_as_by_torch(show_widget, name):
    model = MODELS[name]()
    page = show_widget(explore.sorter(model, "bca"))
    for row in sorting.all_sequences():
        letters = sorting.decode(row[:3])
        page.set_control("letters", letters)
        agrees(page, model, letters)
    assert page.facts()["triples sorted"] == f"{sorting.count_sorted(model)} of 27"


@pytest.mark.parametrize("off", [(0,), (1,), (0, 1)])
def test_a_head_that_is_off_passes_nothing_on(show_widget, off):
    page = show_widget(explore.sorter(MODELS["trained"](), "bca"))
    for head in off:
        page.root.get_by_role("checkbox", name=f"head {head} on").uncheck()
    rest = sorting.without(MODELS["trained"](), *off)
    agrees(page, rest, "bca")
    without = " and ".join(f"head {head}" for head in off)
    assert page.facts() == {"triples sorted": f"{sorting.count_sorted(rest)} of 27", "without": without}
    assert page.state() == {"letters": "bca", "head_0": 0 not in off, "head_1": 1 not in off}


def test_it_follows_what_is_typed_with_the_kernel_gone(show_widget, snapshot):
    page = show_widget(explore.sorter(MODELS["trained"](), "bca"))
    assert page.numbers()["answer"] == "abc"
    assert page.remark() == snapshot(name="answer") and page.picture_label() == snapshot(name="picture")
    page.page.evaluate("() => { window.gone = true; }")
    box = page.root.get_by_role("textbox", name="three letters")
    box.fill("Cab")
    assert page.numbers()["answer"] == "abc" and page.remark().startswith("cab ")
    drawn = page.root.locator("svg rect").count()
    box.press("End")
    box.press("Backspace")
    assert page.remark() == snapshot(name="two letters")
    assert page.root.locator("svg rect").count() == drawn  # the last result stays
    box.press("x")
    assert page.remark() == snapshot(name="wrong letter") and "'cax'" in page.remark()
    box.fill("<b>")
    assert "'<b>'" in page.remark()
    box.fill("\u202e😀" * 5000)
    assert "'" + "\\u202e😀" * 5 + "\\u202e…'" in page.remark()


def test_a_wrong_answer_of_the_model_is_corrected(show_widget, snapshot):
    model = fresh()
    answer = "".join(step.chosen for step in sorting.trace(model, "cba"))
    assert answer != "abc"
    page = show_widget(explore.sorter(model, "cba"))
    assert (page.numbers()["answer"], page.numbers()["right"]) == (answer, "abc")
    assert page.remark().replace(answer, "ANSWER") == snapshot


class Unscaled(ByEinsum):
    """A model with the right parameters that does not divide its scores by √d_head."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.d_head = 1


def test_a_model_that_computes_something_else_gets_no_picture(show_widget, snapshot):
    page = show_widget(explore.sorter(fresh(Unscaled), "bca"))
    assert "check(DeepQKVAttention)" in page.remark()
    assert re.sub(r"\d+\.\d+", "N", page.remark()) == snapshot
    assert page.root.locator("svg rect").count() == 0


def without_output():
    model = fresh()
    model.attention.out = model.attention.o
    del model.attention.o
    return model


def with_bias():
    model = fresh()
    model.attention.o = nn.Linear(6, 6)
    return model


@pytest.mark.parametrize(
    "model, name",
    [
        (without_output, "attention.o.weight"),
        (with_bias, "attention.o.bias"),
        (lambda: nn.Linear(2, 2), "Linear"),
        (lambda: None, "NoneType"),
    ],
)
def test_a_model_with_other_parameters_is_rejected(model, name, snapshot):
    with pytest.raises(ValueError, match=name) as error:
        explore.sorter(model())
    assert str(error.value) == snapshot


def test_it_starts_with_three_letters(snapshot):
    with pytest.raises(ValueError, match="cax"):
        explore.sorter(fresh(), "cax")
    assert repr(explore.sorter(fresh())) == snapshot


@pytest.mark.parametrize("width", [360, 800])
def test_the_picture_fits(show_widget, width):
    page = show_widget(explore.sorter(fresh(), "abc"), width=width)
    assert page.right_edge() <= width - 16
