"""The writer of lesson 08, in a browser: its logits are torch's, its text is the lesson's own."""

import copy
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
    """A model that was not trained, in which no bias and no norm is at its start."""
    generator = torch.Generator().manual_seed(1)
    model = build(*sizes or (55, 16, 2)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.5 * torch.randn(parameter.shape, generator=generator)
    return model


def torchs(model, text, written):
    """The logits of each new token and of what follows the last, in float64."""
    ids = TOKENIZER.encode(text) + [toy.ALPHABET.index(character) + 1 for character in written]
    with torch.no_grad():
        return copy.deepcopy(model).double()(torch.tensor([ids]))[0, len(text) - 1 :]


@pytest.mark.parametrize("name", ["shipped", "fresh", "written otherwise", "one layer"])
def test_its_logits_and_its_text_are_torchs(show_widget, name):
    model = {
        "shipped": lambda: SHIPPED,
        "fresh": fresh,
        "written otherwise": lambda: fresh(ByParts),
        "one layer": lambda: fresh(lesson.CogModel, 55, 8, 1),
    }[name]()
    page = show_widget(explore.writer(model, TOKENIZER, "a"))
    for text in ("strawberry upper", "minecraft echo", "Minecraft echo", "x", "abc de.F", "a" * 29):
        page.set("prompt", text)
        found = page.numbers()
        expected = torchs(model, text, found["written"])[: len(found["logits"])]
        assert torch.tensor(found["logits"], dtype=torch.float64).sub(expected).abs().max() < 1e-5
        chances = expected.softmax(-1).amax(-1)
        assert torch.tensor(found["chances"], dtype=torch.float64).sub(chances).abs().max() < 1e-5
        assert page.state() == {"prompt": text}
        if len(found["written"]) < 28 or name != "shipped":
            with torch.no_grad():
                assert text + found["written"] == lesson.generate_text(model, TOKENIZER, text)


def test_it_follows_the_hand_with_the_kernel_gone(show_widget):
    page = show_widget(explore.writer(SHIPPED, TOKENIZER))
    assert page.remark() == "strawberry upper STRAWBERRY.\nRight to the last letter, and it stops."
    assert "strawberry upper STRAWBERRY." in page.said() and float(page.facts()["least sure of"][-5:]) > 0.9
    page.page.evaluate("() => { window.gone = true; }")
    box = page.root.get_by_role("textbox", name="prompt")
    box.fill("journal echo")
    assert page.remark().startswith("journal echo journal.")
    box.press("End")
    box.press("Backspace")  # no command: nothing is right or wrong
    assert "says whether the answer is right" in page.remark()
    box.fill("Minecraft echo")
    assert page.remark().endswith("pinecraft.\nRight would be: Minecraft echo Minecraft.")


@pytest.mark.parametrize(
    "typed, told",
    [
        ("mine7raft echo", "not '7'."),
        ("<b>x", "not '<', '>'."),
        ("  ", "Type a word of 5 to 10 letters"),
        ("a" * 30, "has 30 characters"),
        ("mine\u202ecraft", "not '\\u202e'."),
        ("שלום עולם" * 1000, "not 'ו', 'ל', 'ם' and others."),
    ],
)
def test_what_it_cannot_read_is_said_as_the_tokenizer_says_it(show_widget, typed, told):
    page = show_widget(explore.writer(SHIPPED, TOKENIZER))
    page.root.get_by_role("textbox", name="prompt").fill(typed)
    assert told in page.remark() and page.root.locator("b", has_text="x").count() == 0
    with pytest.raises(ValueError):
        TOKENIZER.encode(typed.strip())


class Unmasked(lesson.CogModel):
    """Its parts have the right names; it looks into the future."""

    def forward(self, src):
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x)
        return self.decoder(self.norm(x))


def test_a_model_that_computes_something_else_is_not_spoken_for(show_widget):
    page = show_widget(explore.writer(fresh(Unmasked), TOKENIZER))
    assert "does not compute what its parts should" in page.remark() and "check(CogModel)" in page.remark()
    assert "chances" not in page.said() and page.numbers()["logits"] == []


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
    "model, message",
    [
        (renamed, r"decoder.weight of the shape \[55, 8\]; it is missing"),
        (wider, r"norm.w of the shape \[8\]; it is missing"),
        (more, "this one has a parameter mlp.bias"),
        (lambda: lesson.CogModel(50, 8, 1), r"embed.weight of the shape \[55, 8\]; it is \[50, 8\]"),
        (lambda: SimpleNamespace(), "lesson 08's CogModel, with the parts embed and layers; got SimpleNamespace"),
        (lambda: nn.Linear(2, 2), "with the parts embed and layers; got Linear"),
    ],
)
def test_a_model_without_the_parts_is_refused_by_name(model, message):
    with pytest.raises(ValueError, match=message):
        explore.writer(model(), TOKENIZER)


def test_only_a_text_and_a_tokenizer_are_taken():
    with pytest.raises(ValueError, match="prompt must be a string"):
        explore.writer(SHIPPED, TOKENIZER, 3)
    with pytest.raises(ValueError, match="tokenizer must have decode"):
        explore.writer(SHIPPED, "gpt2")
    assert explore.writer(SHIPPED, TOKENIZER, "").state == {"prompt": ""}


def test_in_a_terminal_it_is_a_sentence():
    assert repr(explore.writer(SHIPPED, TOKENIZER)).endswith("letter by letter right or wrong.")


@pytest.mark.parametrize("width", [360, 800])
def test_the_longest_text_fits(show_widget, width):
    page = show_widget(explore.writer(fresh(), TOKENIZER, "a" * 29), width=width)
    assert page.right_edge() <= width - 16
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= width
