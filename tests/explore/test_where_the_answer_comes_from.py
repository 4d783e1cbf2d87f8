"""The explorer of patches, on a model that copies: what it shows, what a click tells, what it refuses."""

import pytest
import torch

from tests.explore.panels import plain
from utils import explore

CLEAN, TWIN = "a b c d", "a b x d"
VOCAB = 50257


class Copier:
    """It continues with token 2 of the text. Its "patch" moves all of that before block 0 at position 2, half of it
    before block 1 at the last position, and nothing elsewhere."""

    def __init__(self):
        self.blocks = [None, None]

    def __call__(self, tokens):
        logits = torch.zeros(*tokens.shape, VOCAB)
        logits[0, -1, tokens[0, 2]] = 10.0
        return logits


def patch(model, clean, corrupted, layer, position):
    share = {(0, 2): 1.0, (1, 3): 0.5}.get((layer, position), 0.0)
    return (1 - share) * model(clean) + share * model(corrupted)


@pytest.fixture
def panel():
    return explore.patching(Copier(), patch, CLEAN, TWIN)


def test_each_place_has_a_button_with_its_share(panel):
    shown = [[button.description for button in row] for row in panel.cells]
    assert shown == [["0.0", "0.0", "1.0", "0.0"], ["0.0", "0.0", "0.0", "0.5"]]
    assert panel.cells[0][2].tooltip == "Exchange the vector before block 0, position 2 (c/x)"
    assert panel.cells[0][2].style.button_color != panel.cells[0][0].style.button_color


def test_a_click_tells_the_answer(panel):
    assert "continued with ' c', its twin with ' x'" in plain(panel.remark)
    panel.cells[0][2].click()
    said = plain(panel.remark)
    sure = torch.tensor([10.0, *[0.0] * (VOCAB - 1)]).softmax(0)[0]
    assert f"before block 0, position 2 (c/x): ' c' 0.0%, ' x' {sure:.1%}" in said
    panel.cells[1][3].click()
    both = torch.tensor([5.0, 5.0, *[0.0] * (VOCAB - 2)]).softmax(0)[0]
    assert f"before block 1, position 3 (d): ' c' {both:.1%}, ' x' {both:.1%}" in plain(panel.remark)


def test_other_sentences_make_another_table(panel):
    panel.clean.value = "a b c d e"
    assert (
        plain(panel.remark) == "Tokens: 5 in the sentence, 4 in its twin. Exchange words for others of the same length."
    )
    assert panel.cells == [] and panel.grid.children == ()
    panel.corrupted.value = "a b x d e"
    assert [len(row) for row in panel.cells] == [5, 5] and len(panel.grid.children) == 3 * 6


@pytest.mark.parametrize(
    "clean, twin, why",
    [
        (CLEAN, CLEAN, "The two sentences are the same"),
        (CLEAN, "x b c d", "Both sentences are continued with ' c'"),
        (" a" * 25, " b" * 25, "2 to 24 tokens"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(clean, twin, why):
    panel = explore.patching(Copier(), patch, CLEAN, TWIN)
    panel.clean.value, panel.corrupted.value = clean, twin
    assert why in plain(panel.remark)


def test_its_words_where_it_cannot_be_shown(panel):
    assert repr(panel).endswith("The sentence is continued with ' c', its twin with ' x'. Click on a place.")
