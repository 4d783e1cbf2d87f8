"""The writer of lesson 08 in a browser: its logits equal torch's, and its text equals the lesson's."""

import copy
import re
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from solutions import toy_transformer as lesson
from tests.course.test_toy_transformer import ByParts
from utils import explore
from utils.models import toy_transformer as toy

TOKENIZER = toy.CharTokenizer()
SHIPPED = toy.load_cogmodel(build=lesson.CogModel)[0]


def fresh(build=lesson.CogModel, *sizes):
    """Return an untrained model in which no parameter has its initial value."""
    generator = torch.Generator().manual_seed(1)
    model = build(*sizes or (55, 16, 2)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.5 * torch.randn(parameter.shape, generator=generator)
    return model


def torchs(model, text, written):
    """Return torch's logits in float64, for each new token and for the token after them."""
    ids = TOKENIZER.encode(text) + [toy.ALPHABET.index(character) + 1 for character in written]
    with torch.no_grad():
        return copy.deepcopy(model).double()(torch.tensor([ids]))[0, len(text) - 1 :]


@pytest.mark.parametrize("name", ["shipped", "fresh", "written differently", "one layer"])
def test_its_logits_and_its_text_are_torchs(show_widget, name):
    model = {
        "shipped": lambda: SHIPPED,
        "fresh": fresh,
        "written differently": lambda: fresh(ByParts),
        "one layer": lambda: fresh(lesson.CogModel, 55, 8, 1),
    }[name]()
    page = show_widget(explore.writer(model, TOKENIZER, "a"))
    for text in ("strawberry upper", "minecraft echo", "Minecraft echo", "x", "abc de.F", "a" * 29):
        page.set_control("prompt", text)
        numbers = page.numbers()
        expected = torchs(model, text, numbers["written"])[: len(numbers["logits"])]
        assert torch.tensor(numbers["logits"], dtype=torch.float64).sub(expected).abs().max() < 1e-5
        chances = expected.softmax(-1).amax(-1)
        assert torch.tensor(numbers["chances"], dtype=torch.float64).sub(chances).abs().max() < 1e-5
        assert page.state() == {"prompt": text}
        if len(numbers["written"]) < 28 or name != "shipped":
            with torch.no_grad():
                assert text + numbers["written"] == lesson.generate_text(model, TOKENIZER, text)


def test_it_follows_what_is_typed_with_the_kernel_gone(show_widget, snapshot):
    page = show_widget(explore.writer(SHIPPED, TOKENIZER))
    assert page.numbers()["written"] == page.numbers()["right"] and page.remark() == snapshot(name="right")
    assert "strawberry upper STRAWBERRY." in page.picture_label() and float(page.facts()["least sure of"][-5:]) > 0.9
    page.page.evaluate("() => { window.gone = true; }")
    box = page.root.get_by_role("textbox", name="prompt")
    box.fill("journal echo")
    assert page.remark().startswith("journal echo journal.")
    box.press("End")
    box.press("Backspace")  # without a command, there is no right answer
    assert page.numbers()["right"] is None and page.remark().splitlines()[-1] == snapshot(name="no command")
    box.fill("Minecraft echo")
    assert page.numbers()["right"] == " Minecraft." and page.remark() == snapshot(name="wrong")


@pytest.mark.parametrize(
    "typed",
    [
        pytest.param("mine7raft echo", id="a digit"),
        pytest.param("<b>x", id="markup"),
        pytest.param("  ", id="blank"),
        pytest.param("a" * 30, id="too long"),
        pytest.param("mine\u202ecraft", id="invisible"),
        pytest.param("שלום עולם" * 1000, id="many"),
    ],
)
def test_it_rejects_the_same_texts_as_the_tokenizer(show_widget, typed, snapshot):
    page = show_widget(explore.writer(SHIPPED, TOKENIZER))
    page.root.get_by_role("textbox", name="prompt").fill(typed)
    assert page.numbers()["problem"] == page.remark() == snapshot
    assert page.facts() == {}
    assert page.picture_label() == f"How sure the model is of each letter. {page.remark()}"
    assert page.root.locator("b", has_text="x").count() == 0
    with pytest.raises(ValueError):
        TOKENIZER.encode(typed.strip())


class Unmasked(lesson.CogModel):
    """A model with the right parameters that looks into the future."""

    def forward(self, src):
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x)
        return self.decoder(self.norm(x))


def test_a_model_that_computes_something_else_gets_no_picture(show_widget, snapshot):
    page = show_widget(explore.writer(fresh(Unmasked), TOKENIZER))
    assert "check(CogModel)" in page.remark() and re.sub(r"\d+\.\d+", "N", page.remark()) == snapshot
    assert "chances" not in page.picture_label() and page.numbers()["logits"] == []


def renamed():
    model = lesson.CogModel(55, 8, 1)
    model.readout = model.decoder
    del model.decoder
    return model


def wider():
    model = lesson.CogModel(55, 8, 1)
    model.norm = nn.LayerNorm(8)
    return model


def more():
    model = lesson.CogModel(55, 8, 1)
    model.mlp = nn.Linear(8, 8)
    return model


@pytest.mark.parametrize(
    "model, pattern",
    [
        (renamed, "decoder.weight"),
        (wider, "norm.w"),
        (more, "mlp.bias"),
        (lambda: lesson.CogModel(50, 8, 1), r"embed.weight.*\[50, 8\].*\[55, 8\]"),
        (lambda: SimpleNamespace(), "SimpleNamespace"),
        (lambda: nn.Linear(2, 2), "Linear"),
    ],
)
def test_a_model_with_other_parameters_is_rejected(model, pattern, snapshot):
    with pytest.raises(ValueError, match=pattern) as error:
        explore.writer(model(), TOKENIZER)
    assert str(error.value) == snapshot


def test_only_a_text_and_a_tokenizer_are_accepted(snapshot):
    with pytest.raises(ValueError, match="^prompt must ") as error:
        explore.writer(SHIPPED, TOKENIZER, 3)
    assert str(error.value) == snapshot
    with pytest.raises(ValueError, match="^tokenizer must ") as error:
        explore.writer(SHIPPED, "gpt2")
    assert str(error.value) == snapshot
    assert explore.writer(SHIPPED, TOKENIZER, "").state == {"prompt": ""}


def test_in_a_terminal_it_is_a_sentence(snapshot):
    assert repr(explore.writer(SHIPPED, TOKENIZER)) == snapshot


@pytest.mark.parametrize("width", [360, 800])
def test_the_longest_text_fits(show_widget, width):
    page = show_widget(explore.writer(fresh(), TOKENIZER, "a" * 29), width=width)
    assert page.right_edge() <= width - 16
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= width
