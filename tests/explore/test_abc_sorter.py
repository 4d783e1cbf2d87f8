"""The sorter of lesson 09, in a browser: what it computes is torch's, for every triple, with heads on and off."""

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
        for norm in (model.norm1, model.norm2, model.final_norm):  # nothing is at its start
            norm.weight += 0.3 * torch.randn(6)
            norm.bias += 0.3 * torch.randn(6)
    return model


MODELS = {
    "trained": lambda: trained()[0],
    "fresh": fresh,
    "strict": lambda: fresh(strict=True),
    "temperature": lambda: fresh(temp=0.3),
    "rank 1": lambda: fresh(rank=1),
    "written otherwise": lambda: fresh(ByEinsum),
}


def agrees(page, model, letters):
    """The page's steps are those of `sorting.trace`, and its logits torch's."""
    found, steps = page.numbers(), sorting.trace(model, letters)
    assert found["answer"] == "".join(step.chosen for step in steps)
    assert found["right"] == "".join(sorted(letters))
    for mine, step in zip(found["steps"], steps):
        with torch.no_grad():
            logits = model(torch.tensor([mine["seen"]]))[0, -1]
        assert torch.tensor(mine["logits"]) == pytest.approx(logits, abs=1e-5)
        assert torch.tensor(mine["weights"]) == pytest.approx(step.weights, abs=1e-5)
        assert mine["probs"] == pytest.approx(list(step.probs.values()), abs=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_every_triple_is_answered_as_by_torch(show_widget, name):
    model = MODELS[name]()
    page = show_widget(explore.sorter(model, "bca"))
    for row in sorting.all_sequences():
        letters = sorting.decode(row[:3])
        page.set("letters", letters)
        agrees(page, model, letters)
    assert page.facts()["sorted, of all 27"] == str(sorting.count_sorted(model))


@pytest.mark.parametrize("off", [(0,), (1,), (0, 1)])
def test_a_head_that_is_off_passes_nothing_on(show_widget, off):
    page = show_widget(explore.sorter(MODELS["trained"](), "bca"))
    for head in off:
        page.root.get_by_role("checkbox", name=f"head {head} on").uncheck()
    rest = sorting.without(MODELS["trained"](), *off)
    agrees(page, rest, "bca")
    without = " and ".join(f"head {head}" for head in off)
    assert page.facts() == {"sorted, of all 27": str(sorting.count_sorted(rest)), "without": without}
    assert page.state() == {"letters": "bca", "head_0": 0 not in off, "head_1": 1 not in off}


def test_it_follows_what_is_typed_with_the_kernel_gone(show_widget):
    page = show_widget(explore.sorter(MODELS["trained"](), "bca"))
    assert page.remark() == "bca becomes abc." and "bca becomes abc, one letter at a time" in page.said()
    page.page.evaluate("() => { window.gone = true; }")
    box = page.root.get_by_role("textbox", name="three letters")
    box.fill("Cab")
    assert page.remark() == "cab becomes abc."
    drawn = page.root.locator("svg rect").count()
    box.press("End")
    box.press("Backspace")
    assert page.remark() == "1 more letter: a, b or c."
    assert page.root.locator("svg rect").count() == drawn  # what was sorted last stays
    box.press("x")
    assert "three letters from a, b, c are needed, as in cab; got 'cax'." in page.remark()
    box.fill("<b>")
    assert "got '<b>'." in page.remark()
    box.fill("\u202e😀" * 5000)
    assert page.remark().endswith("got '" + "\\u202e😀" * 5 + "\\u202e…'.")


def test_a_wrong_answer_of_the_model_is_called_so(show_widget):
    model = fresh()
    answer = "".join(step.chosen for step in sorting.trace(model, "cba"))
    assert answer != "abc"
    assert show_widget(explore.sorter(model, "cba")).remark() == f"cba becomes {answer}; sorted it is abc."


class Unscaled(ByEinsum):
    """Its parameters have the right names; its scores are not divided by √d_head."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.d_head = 1


def test_a_model_that_computes_something_else_is_not_spoken_for(show_widget):
    page = show_widget(explore.sorter(fresh(Unscaled), "bca"))
    assert "does not compute what its parts should" in page.remark()
    assert "check(DeepQKVAttention)" in page.remark() and page.root.locator("svg rect").count() == 0


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
    "model, message",
    [
        (without_output, r"attention.o.weight of the shape \[6, 6\]; it is missing"),
        (with_bias, "this one has a parameter attention.o.bias"),
        (lambda: nn.Linear(2, 2), r"attention.qA \[heads, embed_dim, rank\]; got Linear"),
        (lambda: None, "got NoneType"),
    ],
)
def test_a_model_without_the_parts_is_refused_by_name(model, message):
    with pytest.raises(ValueError, match=message):
        explore.sorter(model())


def test_it_starts_with_three_letters():
    with pytest.raises(ValueError, match="three letters from a, b, c are needed"):
        explore.sorter(fresh(), "cax")
    assert repr(explore.sorter(fresh())).endswith("shows where each head looks.")


@pytest.mark.parametrize("width", [360, 800])
def test_the_picture_fits(show_widget, width):
    page = show_widget(explore.sorter(fresh(), "abc"), width=width)
    assert page.right_edge() <= width - 16
